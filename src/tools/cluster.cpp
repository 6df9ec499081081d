// `twill cluster`: the best way to cut a program, or a bare fusion graph, into passes.
#include "cluster/cluster.h"
#include "base/files.h"
#include "cluster/facts.h"
#include "cluster/optimal.h"
#include "driver/fusion_report.h"
#include "driver/tiling.h"
#include "simplify/layout.h"
#include "simplify/simplify.h"
#include "tools/command.h"
#include "tools/data_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <memory>

namespace twill {

namespace {

constexpr const char* footer =
    "A program is simplified first. Passes are counted after slices: a stage that tiles of another one need "
    "may\n"
    "be in its pass.\n\n"
    "Costs:\n"
    "  a  the highest number of a cluster (inputs are in 0)\n"
    "  b  pairs of combinators that could share a loop and do not\n"
    "  c  arrays that are made in memory\n"
    "  d  arrays that are read, once for every cluster and order: the reader's own, backward, or one that\n"
    "     other arrays say; single elements are not counted\n"
    "  e  c + d\n"
    "  f  of a program, its default: the time that is predicted for this machine: bytes that are written "
    "and\n"
    "     read, once for every cluster and order, and what is computed again; sizes that are not known count "
    "as "
    "equal\n\n"
    "A graph is a JSON object of nodes and edges:\n"
    "  {\"nodes\": [{\"id\": 0, \"name\": \"xs\", \"kind\": \"input\"},\n"
    "             {\"id\": 1, \"name\": \"ys\", \"kind\": \"map\", \"out\": 1}],\n"
    "   \"edges\": [{\"s\": 0, \"d\": 1, \"port\": \"arg\"}]}\n"
    "  kind  input, generate, map, gather (with a \"label\": 2, 3, …), scatter, fold, scanl or scanr\n"
    "  out   1: a result, which has to be in memory\n"
    "  port  arg    read in the order in which the reader makes its own array\n"
    "        gsrc   a gather's source, read in the order of its label\n"
    "        gidx   a gather's index array\n"
    "        ssrc   what a scatter scatters, read from an end\n"
    "        dest   what a scatter changes\n"
    "        index  single elements anywhere\n"
    "  forced  1: in memory before the reader starts\n\n"
    "Examples:\n"
    "  twill cluster examples/softmax.twill\n"
    "  twill cluster --graph graph.json\n"
    "  twill cluster --graph graph.json --cost d --json\n"
    "  twill cluster --graph graph.json --lp model.lp";

/// Of tiles whose overlap is shown.
constexpr std::int64_t tile_side = 32;

struct ClusterOptions {
  Source source;
  std::vector<std::string> sizes;
  std::string graph, cost, by = "optimal", lp, solver;
  double seconds = 2;
  bool json = false, edges = false;
};

GraphCost graph_cost_named(const std::string& letter) {
  const std::optional<GraphCost> cost = cost_named(letter);
  if (!cost) usage("E0715", "a graph says nothing about time", "a, b, c, d or e: `twill cluster --help`");
  return *cost;
}

[[noreturn]] void unknown_way(const std::string& name) {
  usage("E0714", fmt::format("there is no way to choose clusters called '{}'", name),
        "one of: optimal, greedy-top, greedy-bottom, none");
}

/// How the solver is asked, and what it is asked about.
struct Solving {
  SolveOptions options;
  std::vector<std::string> models;
  std::string file;

  explicit Solving(const ClusterOptions& wanted) : file(wanted.lp) {
    options.seconds = wanted.seconds;
    if (wanted.solver == "cbc")
      options.open = [] { return open_cbc(); };
    else if (wanted.solver == "highs")
      options.open = [] { return open_highs(); };
    else if (!wanted.solver.empty())
      usage("E0716", fmt::format("there is no solver called '{}'", wanted.solver), "cbc or highs");
    if (!file.empty()) options.look = [this](const LinearModel& model) { models.push_back(to_lp(model)); };
  }
  Solving(const Solving&) = delete;

  /// The second one and those after it beside the first: model.lp, model-2.lp, …
  void write_models() const {
    if (file.empty()) return;
    if (models.empty()) fmt::print(stderr, "nothing had to be solved: '{}' is not written\n", file);
    for (std::size_t k = 0; k < models.size(); ++k) {
      std::filesystem::path path = file;
      if (k > 0)
        path.replace_filename(fmt::format("{}-{}{}", path.stem().string(), k + 1, path.extension().string()));
      write_file(path.string(), models[k]);
    }
  }
};

Optimum chosen(const GraphFacts& facts, GraphCost cost, const ClusterOptions& options) {
  if (options.by == "optimal") {
    const Solving solving(options);
    Optimum found = optimal_partition(facts, cost, solving.options);
    solving.write_models();
    return found;
  }
  Optimum found;
  if (options.by == "greedy-top")
    found.partition = greedy_partition(facts, Greed::TopDown);
  else if (options.by == "greedy-bottom")
    found.partition = greedy_partition(facts, Greed::BottomUp);
  else if (options.by == "none")
    found.partition = no_fusion(facts);
  else
    unknown_way(options.by);
  found.cost = cost_of(facts, found.partition, cost);
  return found;
}

std::vector<std::vector<std::string>> clusters_of(const FusionGraph& graph, const Partition& partition) {
  std::map<int, std::vector<std::string>> clusters;
  for (const int node : graph.sorted())
    if (graph[node].kind != Combinator::Input)
      clusters[partition.cluster[static_cast<std::size_t>(node)]].push_back(graph[node].name);
  std::vector<std::vector<std::string>> result;
  for (auto& [number, names] : clusters) result.push_back(std::move(names));
  return result;
}

/// All stages of every cluster.
std::vector<std::vector<std::string>> clusters_of(std::span<const ClusterSets> lists) {
  std::vector<std::vector<std::string>> result;
  for (const ClusterSets& list : lists)
    for (const std::vector<StageSet>& cluster : list.clusters) {
      result.emplace_back();
      for (const StageSet& set : cluster) result.back().insert(result.back().end(), set.begin(), set.end());
    }
  return result;
}

/// A row of facts about an edge, in words.
std::array<std::string, 7> row_of(const Region& region, const EdgeFacts& facts) {
  const auto name = [&](int stage) { return region.stages[static_cast<std::size_t>(stage)].name; };
  std::string reach;
  for (const auto& along : facts.reach) {
    if (!reach.empty()) reach += ", ";
    reach += !along ? "all" : *along == Reach{} ? "0" : fmt::format("-{}..+{}", along->before, along->after);
  }
  const auto again = facts.again(tile_side);
  return {fmt::format("{} -> {}", name(facts.maker), name(facts.reader)),
          region.program[facts.array].name,
          (facts.knows_bytes ? "" : "~") + bytes_text(facts.bytes),
          std::string(name_of(facts.demand)),
          reach.empty() ? "-" : reach + (again && *again > 0 ? fmt::format(" ({:.1f} %)", 100 * *again) : ""),
          std::to_string(facts.depth),
          facts.why ? fmt::format("{} ({})", facts.why->text, facts.why->code) : "may share a loop"};
}

/// What is known of every edge before anything is chosen.
int show_edges(const ClusterOptions& options) {
  const Module module = read_module(options.source);
  auto written = std::make_shared<const Program>(find_definition(module, options.source));
  const KnownSizes known = known_sizes(options.sizes, *written);
  Program program = options.by == "none" ? *written : *lay_out(simplify(written).program).program;
  std::vector<std::array<std::string, 7>> rows = {{"edge", "array", "bytes", "demand",
                                                   fmt::format("reach (again, tiles of {})", tile_side),
                                                   "depth", ""}};
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  in_all_regions(program, [&](Region& region) {
    for (const EdgeFacts& facts : facts_of(region, known)) {
      rows.push_back(row_of(region, facts));
      nlohmann::ordered_json reach = nlohmann::ordered_json::array();
      for (const auto& along : facts.reach) {
        if (along)
          reach.push_back({along->before, along->after});
        else
          reach.push_back(nullptr);
      }
      json.push_back({{"maker", region.stages[static_cast<std::size_t>(facts.maker)].name},
                      {"reader", region.stages[static_cast<std::size_t>(facts.reader)].name},
                      {"array", region.program[facts.array].name},
                      {"demand", name_of(facts.demand)},
                      {"bytes", facts.bytes},
                      {"reach", reach},
                      {"depth", facts.depth},
                      {"fusible", !facts.why},
                      {"why", facts.why ? facts.why->text : ""}});
    }
    return false;
  });
  if (options.json) {
    fmt::print("{}\n", json.dump());
    return 0;
  }
  std::array<std::size_t, 7> widths{};
  for (const auto& row : rows)
    for (std::size_t k = 0; k < row.size(); ++k) widths[k] = std::max(widths[k], row[k].size());
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t k = 0; k + 1 < row.size(); ++k) line += fmt::format("{:<{}}  ", row[k], widths[k]);
    line += row.back();
    line.erase(line.find_last_not_of(' ') + 1);
    fmt::print("{}\n", line);
  }
  return 0;
}

/// The clusters of every list of stages, the program's own first.
int cluster_program(const ClusterOptions& options) {
  const Module module = read_module(options.source);
  auto program = std::make_shared<const Program>(find_definition(module, options.source));
  Options compile_options;
  set_clusters({options.by, options.cost.empty() ? "f" : options.cost}, compile_options);
  const Solving solving(options);
  compile_options.solve = solving.options;
  compile_options.known = known_sizes(options.sizes, *program);
  compile_options.stop_after = "elaborate";
  const Machine machine = this_machine(cache_directory(), Measure::Never).machine;
  const Compilation c = compile(program, machine, compile_options);
  solving.write_models();
  const std::vector<ClusterSets> lists = sets_of(c.schedule->plan);
  const PlannedTiling tiling(c.program, machine);
  const std::optional<GraphCost> counted = compile_options.cost;
  const ClusterCost cost = counted
                               ? ClusterCost(*counted)
                               : ClusterCost(ByTime{time_model_of(machine), compile_options.known, &tiling});
  const double costs = c.proof ? c.proof->cost : cost_of(c.program, lists, cost);
  const std::string letter(1, counted ? letter_of(*counted) : 'f');
  if (options.json) {
    nlohmann::ordered_json in_lists = nlohmann::ordered_json::array();
    for (const ClusterSets& list : lists)
      in_lists.push_back({{"owner", list.owner}, {"branch", list.branch}, {"clusters", list.clusters}});
    const nlohmann::ordered_json json = {{"optimum", costs},
                                         {"cost", letter},
                                         {"proven", c.proof && c.proof->gap() == 0},
                                         {"gap", c.proof ? c.proof->gap() : 1},
                                         {"solve_ms", c.cluster_ms},
                                         {"clusters", clusters_of(lists)},
                                         {"passes", c.schedule->passes},
                                         {"lists", in_lists}};
    fmt::print("{}\n", json.dump());
    return 0;
  }
  const std::string time = fmt::format("{:.3g} ms by prediction", 1e-6 * costs);
  fmt::print("{}: {}{}; {} passes; {:.1f} ms\n", c.program->name,
             c.proof ? proof_text(*c.proof, counted)
                     : fmt::format("clusters by {}{}", options.by,
                                   counted ? fmt::format(", which cost {} by ({})", costs, letter) : ""),
             counted ? "" : ", " + time, c.schedule->passes, c.cluster_ms);
  for (const Reason& reason : c.fused)
    if (reason.code == "recomputed") fmt::print("  -  {}\n", reason.text);
  for (const ClusterSets& list : lists) {
    if (!list.owner.empty()) fmt::print("  in '{}'{}\n", list.owner, list.branch == 1 ? ", otherwise" : "");
    for (std::size_t k = 0; k < list.clusters.size(); ++k) {
      std::vector<std::string> sets;
      for (const StageSet& set : list.clusters[k]) sets.push_back(fmt::format("{}", fmt::join(set, ", ")));
      fmt::print("  {}{}  {}\n", list.owner.empty() ? "" : "  ", k + 1, fmt::join(sets, "; "));
    }
  }
  return 0;
}

int cluster_graph(const ClusterOptions& options) {
  const std::string letter = options.cost.empty() ? "e" : options.cost;
  const GraphCost cost = graph_cost_named(letter);
  const FusionGraph graph = graph_from_json("'" + options.graph + "'", read_file(options.graph));
  const GraphFacts facts(graph);
  const Optimum found = chosen(facts, cost, options);
  const auto clusters = clusters_of(graph, found.partition);
  const std::size_t passes = passes_of(graph, found.partition).size();
  if (options.json) {
    nlohmann::ordered_json json = {{"optimum", found.cost},
                                   {"cost", letter},
                                   {"proven", found.proven()},
                                   {"gap", found.gap()},
                                   {"solve_ms", 1e3 * found.seconds},
                                   {"clusters", clusters},
                                   {"passes", passes}};
    fmt::print("{}\n", json.dump());
    return 0;
  }
  fmt::print("cost ({}) {}", letter, found.cost);
  if (options.by == "optimal" && found.proven())
    fmt::print(", proven to be the least");
  else if (options.by == "optimal")
    fmt::print(": at least {}, so at most {:.1f} % too much; the time limit ended the search", found.bound,
               100 * found.gap());
  fmt::print("; {} passes; {:.1f} ms\n", passes, 1e3 * found.seconds);
  for (std::size_t c = 0; c < clusters.size(); ++c) {
    fmt::print("  {}  ", c + 1);
    for (std::size_t n = 0; n < clusters[c].size(); ++n)
      fmt::print("{}{}", n == 0 ? "" : ", ", clusters[c][n]);
    fmt::print("\n");
  }
  return 0;
}

int cluster(const ClusterOptions& options) {
  if (options.graph.empty() == options.source.file.empty())
    usage("E0703", "either a program or --graph is required",
          "`twill cluster --help` shows how it is called");
  if (!options.graph.empty()) return cluster_graph(options);
  if (options.edges) return show_edges(options);
  return cluster_program(options);
}

}  // namespace

Action add_cluster(CLI::App& app) {
  auto options = std::make_shared<ClusterOptions>();
  add_source(app, options->source);
  app.get_option("FILE")->required(false);
  app.add_option("--graph", options->graph, "Instead of a program a fusion graph, a JSON file")
      ->type_name("FILE");
  app.add_option("--cost", options->cost,
                 "What is to be least: a, b, c, d, e (the default for a graph) or f (for a program)")
      ->type_name("LETTER");
  app.add_option(
         "--cluster", options->by,
         "optimal (the default), greedy-top, greedy-bottom or none; of a program also greedy and others "
         "(`twill explain --help`)")
      ->type_name("CHOICE");
  add_sizes(app, options->sizes,
            "Choose for this size of a program; sizes that are not known count as equal");
  app.add_option("--seconds", options->seconds, "The best that is found in this time; 2 if left out")
      ->type_name("S");
  app.add_option("--solver", options->solver,
                 "cbc or highs; the one that is installed if left out, cbc first")
      ->type_name("NAME");
  app.add_option("--lp", options->lp,
                 "Write the linear program that is solved to this file; if there are more, beside it")
      ->type_name("FILE");
  app.add_flag(
      "--edges", options->edges,
      "Instead of clusters, what is known of a program's edges before anything is chosen; \"~\": bytes "
      "that are guessed, because sizes are not known");
  app.add_flag("--json", options->json, "One JSON object");
  app.footer(footer);
  return [options] { return cluster(*options); };
}

}  // namespace twill
