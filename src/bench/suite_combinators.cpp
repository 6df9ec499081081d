// Programs of many stages under every way to choose clusters: how long the choice takes, and what it is
// worth.
#include "base/error.h"
#include "bench/arrays.h"
#include "bench/case.h"
#include "cluster/optimal.h"
#include "driver/fusion_report.h"
#include "driver/tiling.h"
#include "program/interpret.h"
#include "simplify/simplify.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <random>

namespace twill::bench {

namespace {

using Clock = std::chrono::steady_clock;

/// A solution within this time is what an interactive user waits for.
constexpr double solve_limit_ms = 1000;
constexpr int solve_samples = 3;

// ---- run times -------------------------------------------------------------------------------------------

/// Predicted time is ours; everything else is a peer. Those of the literature take the program as it is
/// written: what is simplified is fused already where that needs no decision.
std::vector<Way> all_ways() {
  std::vector<Way> ways = {{"none", {}}, {"top", {}}, {"bottom", {}}, {"greedy", {}}};
  ways[0].options.clusters = Clusters::None;
  ways[1].options.clusters = Clusters::TopDown;
  ways[2].options.clusters = Clusters::BottomUp;
  for (std::size_t w = 0; w < 3; ++w) ways[w].options.simplify = false;
  ways[3].options.clusters = Clusters::Greedy;
  for (const GraphCost cost : graph_costs) {
    ways.push_back({std::string(1, letter_of(cost)), {}});
    ways.back().options.clusters = Clusters::Optimal;
    ways.back().options.cost = cost;
  }
  return ways;
}

/// The program compared with itself under other clusters; what it computes is verified with every stage in a
/// pass of its own.
Case under_all_ways(Session& session, std::shared_ptr<const Program> program, std::vector<Data> inputs,
                    std::string size, double tolerance) {
  Case c;
  c.program = std::move(program);
  c.inputs = std::move(inputs);
  c.size = std::move(size);
  c.tolerance = tolerance;
  c.ours.clusters = Clusters::Optimal;
  c.ways = all_ways();
  // To see whether everything works, two of them do: compiling takes its time.
  if (session.options().small) c.ways = {c.ways.front(), c.ways.back()};
  Options unfused = c.ways.front().options;
  unfused.compiler = session.options().compiler;
  const Kernel kernel = *compile(c.program, session.machine(), unfused).kernel;
  c.reference = [kernel](std::span<const Data> in, std::vector<Data>& out) { out = kernel.run(in).results; };
  c.reference_name = "none";
  return c;
}

Data number(Scalar type, double value) {
  Data data(type, {});
  data.set(0, is_float(type) ? Number::of_double(type, value)
                             : Number::of(type, static_cast<std::int64_t>(value)));
  return data;
}

Case flash_attention(Session& session) {
  const std::int64_t rows = session.extent(8), block = session.extent(128), columns = session.extent(256);
  const std::int64_t depth = session.extent(64);
  std::vector<Data> inputs;
  inputs.push_back(uniform({rows, block, depth}, 1));
  inputs.push_back(uniform({4, columns, depth}, 2));
  inputs.push_back(uniform({4, columns, depth}, 3));
  return under_all_ways(session, example("attention", "flash"), std::move(inputs),
                        fmt::format("{} x {} x {}", rows * block, 4 * columns, depth), 1e-4);
}

std::vector<Data> blast(std::int64_t edge) {
  std::vector<Data> edges;
  edges.push_back(number(Scalar::I64, static_cast<double>(edge)));
  std::vector<Data> made = interpret(*example("lulesh", "sedov"), edges).results;
  const auto filled = [&](double value) {
    Data data(Scalar::F64, {edge, edge, edge});
    for (double& element : data.as<double>()) element = value;
    return data;
  };
  const Data volume = made[4];
  std::vector<Data> inputs = {made[0],   made[1],   made[2],   made[3], filled(0),
                              filled(0), filled(1), filled(0), volume,  volume};
  inputs.push_back(number(Scalar::I64, 0));
  for (const double value : {0.0, made[5].get(0).f, HUGE_VAL, HUGE_VAL, 1e-2})
    inputs.push_back(number(Scalar::F64, value));
  return inputs;
}

Case lulesh_step(Session& session) {
  const std::int64_t edge = session.extent(64);
  return under_all_ways(session, example("lulesh", "lulesh_step"), blast(edge), fmt::format("{}^3", edge),
                        1e-9);
}

Case multigrid(Session& session) {
  const std::int64_t n = session.options().small ? 1 : 4, edge = 16 * n;
  std::vector<Data> inputs;
  inputs.push_back(number(Scalar::I64, static_cast<double>(n)));
  for (const std::uint64_t seed : {1, 2, 3})
    inputs.push_back(random_integers(Scalar::F64, {edge, edge, edge}, seed, -1000, 1000, 1000));
  return under_all_ways(session, example("multigrid", "vcycle"), std::move(inputs), fmt::format("{}^3", edge),
                        1e-9);
}

Case bottom_up_bad(Session& session) {
  const std::int64_t n = session.extent(256), m = session.options().small ? 50 : 1'000'000;
  std::vector<Data> inputs;
  // The product of a million other numbers is infinite, or too small for the processor to be quick.
  Data signs = uniform({n}, 1);
  for (float& x : signs.as<float>()) x = x < 0.5f ? -1.0f : 1.0f;
  inputs.push_back(std::move(signs));
  inputs.push_back(number(Scalar::I64, static_cast<double>(m)));
  return under_all_ways(session, example("clusters", "bottom_up_bad"), std::move(inputs),
                        fmt::format("{} x {}", n, m), 0.1);  // a million numbers in one order or another
}

Case top_down_bad(Session& session) {
  const std::int64_t n = session.extent(1 << 24);
  std::vector<Data> inputs;
  inputs.push_back(uniform({n}, 1));
  return under_all_ways(session, example("clusters", "top_down_bad"), std::move(inputs), fmt::format("{}", n),
                        1e-2);
}

// ---- solve times -----------------------------------------------------------------------------------------

Row solve_row(const Session& session, std::string size) {
  Row row;
  row.size = std::move(size);
  row.threads = 1;
  row.reference = "rules";
  row.floor_ms = std::nullopt;
  row.limit_ms = session.options().small ? std::nullopt : std::optional(solve_limit_ms);
  return row;
}

template <class Solve>
void time_solving(Row& row, const Session& session, const Solve& solve) {
  std::vector<double> samples;
  for (int k = 0; k < (session.options().small ? 1 : solve_samples); ++k) {
    const auto start = Clock::now();
    solve();
    samples.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  row.ours = summarize(samples);
}

Row solve_program(Session& session, const std::shared_ptr<const Program>& written,
                  std::optional<GraphCost> counted) {
  const auto program = simplify(written).program;
  int stages = 0, left = 0;
  for_each_stage(written->stages, [&](const Stage&) { ++stages; });
  for_each_stage(program->stages, [&](const Stage&) { ++left; });
  const PlannedTiling tiling(program, session.machine());
  const ClusterCost cost =
      counted ? ClusterCost(*counted) : ClusterCost(ByTime{time_model_of(session.machine()), {}, &tiling});
  Row row = solve_row(session, fmt::format("{} stages", stages));
  Clustering found;
  time_solving(row, session, [&] { found = cluster_optimal(*program, cost); });
  std::size_t clusters = 0;
  for (const ClusterSets& list : found.lists) clusters += list.clusters.size();
  row.max_error = found.proof->gap();
  row.tolerance = 1;
  row.verified = static_cast<bool>(fuse_clusters(program, found.lists));
  row.notes.push_back(fmt::format("{} stages after simplification, {} clusters; {}", left, clusters,
                                  proof_text(*found.proof, counted)));
  return row;
}

/// Maps of one to three of the last arrays and sums of some, as programs have them.
std::string many_stages(int count) {
  std::mt19937 rng(static_cast<unsigned>(count));
  const auto any = [&](std::size_t n) { return static_cast<std::size_t>(rng() % n); };
  std::vector<std::string> arrays = {"x", "y", "z"}, sums = {"1"};
  std::string text;
  for (int k = 0; k + 2 < count; ++k) {
    const auto recent = [&] {
      return arrays[arrays.size() - 1 - any(std::min<std::size_t>(arrays.size(), 6))];
    };
    if (any(4) == 0) {
      sums.push_back(fmt::format("s{}", k));
      text += fmt::format("  s{} = sum(i) {}[i] * 0.25\n", k, recent());
    } else {
      text += fmt::format("  a{}[i] = 0.5 * {}[i] + 0.25 * {}[i] + {}\n", k, recent(), recent(),
                          sums[sums.size() - 1 - any(std::min<std::size_t>(sums.size(), 3))]);
      arrays.push_back(fmt::format("a{}", k));
    }
  }
  text += fmt::format("  last[i] = {}[i]\n  total = sum(i) {}[i] * {}\n", arrays.back(),
                      arrays[arrays.size() - 2], sums.back());
  std::string inputs;
  for (const char* input : {"x", "y", "z"})
    if (text.find(fmt::format(" {}[i]", input)) != std::string::npos)
      inputs += fmt::format("{}{}: f64[N]", inputs.empty() ? "" : ", ", input);
  return fmt::format("def many({}) -> (last, total) {{\n{}}}\n", inputs, text);
}

/// Nodes of all kinds that read each other without any locality.
FusionGraph dense_graph(int count) {
  std::mt19937 rng(static_cast<unsigned>(count));
  std::string nodes = R"({"id": 0, "name": "xs", "kind": "input"})", edges;
  for (int k = 1; k < count; ++k) {
    const char* kind = rng() % 5 == 0 ? "scanl" : "map";
    nodes += fmt::format(R"(, {{"id": {0}, "name": "n{0}", "kind": "{1}"{2}}})", k, kind,
                         k + 3 >= count ? R"(, "out": 1)" : "");
    std::vector<int> read;
    for (int e = 0; e < 3; ++e) {
      const int from = static_cast<int>(rng() % static_cast<unsigned>(k));
      if (std::find(read.begin(), read.end(), from) != read.end()) continue;
      read.push_back(from);
      edges += fmt::format(R"({}{{"s": {}, "d": {}, "port": "arg"{}}})", edges.empty() ? "" : ", ", from, k,
                           rng() % 6 == 0 ? R"(, "forced": 1)" : "");
    }
  }
  return graph_from_json("a dense graph", fmt::format(R"({{"nodes": [{}], "edges": [{}]}})", nodes, edges));
}

Row solve_dense(Session& session, int count) {
  const FusionGraph graph = dense_graph(count);
  const GraphFacts facts(graph);
  Row row = solve_row(session, fmt::format("{} nodes", count));
  row.limit_ms = std::nullopt;  // such graphs stay hard
  Optimum found;
  time_solving(row, session, [&] { found = optimal_partition(facts, GraphCost::ReadsWrites, {}); });
  double greedy = std::numeric_limits<double>::infinity();
  for (const Greed greed : {Greed::TopDown, Greed::BottomUp})
    greedy = std::min(greedy, cost_of(facts, greedy_partition(facts, greed), GraphCost::ReadsWrites));
  row.max_error = found.cost - greedy;
  row.verified = found.cost <= greedy;
  row.reference = "greedy";
  row.notes.push_back(
      fmt::format("cost {}, at least {}; the better greedy one: {}", found.cost, found.bound, greedy));
  return row;
}

Entry solving(std::string name, std::function<Row(Session&)> solve) {
  return {name, [name, solve = std::move(solve)](Session& session) {
            Row row = solve(session);
            row.name = name;
            return row;
          }};
}

}  // namespace

std::vector<Entry> combinators_entries() {
  std::vector<Entry> entries = {entry("FlashAttention", flash_attention), entry("LULESH step", lulesh_step),
                                entry("multigrid cycle", multigrid), entry("bottom up bad", bottom_up_bad),
                                entry("top down bad", top_down_bad)};
  const std::vector<std::pair<std::string, std::function<std::shared_ptr<const Program>()>>> large = {
      {"FlashAttention", [] { return example("attention", "flash"); }},
      {"LULESH step", [] { return example("lulesh", "lulesh_step"); }},
      {"multigrid cycle", [] { return example("multigrid", "vcycle"); }}};
  for (const auto& [name, program] : large)
    for (const std::optional<GraphCost> cost :
         {std::optional(GraphCost::ReadsWrites), std::optional<GraphCost>()})
      entries.push_back(solving(
          fmt::format("solve {} ({})", name, cost ? letter_of(*cost) : 'f'),
          [program = program, cost](Session& session) { return solve_program(session, program(), cost); }));
  for (const int count : {50, 100, 200, 400})
    entries.push_back(solving(fmt::format("solve {} stages", count), [count](Session& session) {
      const int stages = static_cast<int>(session.options().small ? count / 10 + 3 : count);
      return solve_program(session, program_from("many", many_stages(stages)), GraphCost::ReadsWrites);
    }));
  for (const int count : {50, 100, 200, 400})
    entries.push_back(solving(fmt::format("solve dense graph {}", count), [count](Session& session) {
      return solve_dense(session, session.options().small ? count / 10 + 3 : count);
    }));
  return entries;
}

}  // namespace twill::bench
