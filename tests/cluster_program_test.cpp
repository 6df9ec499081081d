// The best clusters of programs: where greedy choices are not the best, and never more bytes than theirs.
#include "base/files.h"
#include "cluster/cluster.h"
#include "cluster/facts.h"
#include "cluster/program_problem.h"
#include "cluster/run_order.h"
#include "driver/agree.h"
#include "driver/compile.h"
#include "plan/traffic.h"
#include "program/text.h"
#include "programs.h"
#include "simplify/simplify.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

namespace twill {
namespace {

struct Structure {
  int passes, buffers;
  friend bool operator==(const Structure&, const Structure&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Structure& s) {
    return out << s.passes << " passes, " << s.buffers << " buffers";
  }
};

Compilation compiled(const std::shared_ptr<const Program>& program, Clusters clusters,
                     const std::string& stop_after = "") {
  Options options;
  options.clusters = clusters;
  options.stop_after = stop_after;
  return compile(program, two_cores(), options);
}

/// What is left of a program, whose results are those of the interpreter.
Structure structure_of(const std::shared_ptr<const Program>& program, Clusters clusters) {
  const Compilation c = compiled(program, clusters);
  std::vector<Data> inputs;
  for (const Input& input : program->inputs) {
    const std::vector<std::int64_t> shape(program->operator[](input.array).shape.size(), 100);
    inputs.push_back(random_data(program->operator[](input.array).type.scalar(), shape, inputs.size() + 1));
  }
  EXPECT_EQ(agreement(*program, reference_of(*program, inputs), c.kernel->run(inputs)).difference, "");
  return {c.schedule->passes, c.schedule->buffers};
}

std::string why_apart(const Compilation& c, const std::string& code) {
  const auto found =
      std::find_if(c.apart.begin(), c.apart.end(), [&](const Reason& reason) { return reason.code == code; });
  return found == c.apart.end() ? "" : found->text;
}

TEST(GreedyClusters, LanesComputeWhatIsLookedUpInASmallTable) {
  const auto program = program_of(R"(
    def f(a: i16[H, W], b: i16[H, W], table: u8[N]) -> c {
      at[y, x] = (3 * a[y, x] + 2 * b[y, x] + 7) / 256
      c[y, x] = table[clamp(at[y, x])]
    })");
  // One pass, but a loop for the places and one for the elements.
  EXPECT_EQ(structure_of(program, Clusters::Greedy), (Structure{1, 0}));
  const Compilation c = compiled(program, Clusters::Greedy, "elaborate");
  EXPECT_EQ(c.schedule->plan.blocks.front().clusters.front().instances.size(), 2U);
  EXPECT_EQ(why_apart(c, "lanes"),
            "'at' is not part of 'c': lanes do not look up elements of 'table', which are so small");
}

TEST(GreedyClusters, AShortLoopIsNotAllThatRunsInParallel) {
  const auto program = program_of(R"(
    def f(m: f32[3, K], a: f32[H, W]) -> c {
      s[k] = sum(l) m[k, l]
      c[k, y, x] = s[k] * a[y, x]
    })");
  const Compilation c = compiled(program, Clusters::Greedy, "elaborate");
  EXPECT_EQ(c.schedule->passes, 2);
  EXPECT_EQ(why_apart(c, "short"),
            "'s' and 'c' share no loop: the loop over 'k' is too short to be all that runs in parallel");
}

/// A matrix is read along its rows by one of them and along its columns by the other.
TEST(GreedyClusters, StagesThatWalkInDifferentDirectionsStayApart) {
  const auto program = program_of(R"(
    def f(a: f64[N, N], x: f64[N], y: f64[N]) -> (p, q) {
      p[i] = sum(j) a[i, j] * x[j]
      q[i] = sum(j) a[j, i] * y[j]
    })");
  EXPECT_EQ(structure_of(program, Clusters::Greedy), (Structure{2, 0}));
  EXPECT_EQ(why_apart(compiled(program, Clusters::Greedy, "plan"), "jumps"),
            "'p' and 'q' stay apart: one of them would jump through memory in the order of the other");
}

/// Sums of columns and what is computed from them share tiles of columns, not single columns.
TEST(GreedyClusters, ColumnsAreSummedSideBySide) {
  const auto program = program_of(R"(
    def f(a: f64[N, M]) -> mean {
      total[j] = sum(i) a[i, j]
      mean[j] = total[j] / (1 + j)
    })");
  EXPECT_EQ(structure_of(program, Clusters::Greedy), (Structure{1, 0}));
  const Compilation c = compiled(program, Clusters::Greedy);
  EXPECT_THAT(c.source->text, testing::HasSubstr("a[i * M + j]"));
  EXPECT_THAT(print_loops(*c.nest), testing::HasSubstr("simd for j in"));
}

/// The strategies of polyhedral compilers: nothing, what stays parallel, all.
TEST(ScheduleClusters, AreThoseOfMinfuseSmartfuseAndMaxfuse) {
  const auto program = program_of(R"(
    def f(x: f32[N, M]) -> d {
      a[i, j] = 2 * x[i, j]
      b[i, j] = a[i, j] + 1
      c[i, j] = b[i, clamp(j - 1)] + b[i, j]
      d[i, j] = c[clamp(i + 1), j] * a[i, j]
    })");
  const auto structure = [&](Clusters clusters) {
    Options options;
    options.clusters = clusters;
    options.simplify = false;
    const Compilation c = compile(program, two_cores(), options);
    const std::vector<Data> inputs = {random_data(Scalar::F32, {37, 50}, 1)};
    EXPECT_EQ(agreement(*program, reference_of(*program, inputs), c.kernel->run(inputs)).difference, "");
    return Structure{c.schedule->passes, c.schedule->buffers};
  };
  EXPECT_EQ(structure(Clusters::MinFuse), (Structure{4, 3}));
  EXPECT_EQ(structure(Clusters::SmartFuse), (Structure{3, 3}));
  EXPECT_EQ(structure(Clusters::MaxFuse), (Structure{2, 2}));
  EXPECT_EQ(structure(Clusters::Greedy), (Structure{1, 0}));
}

TEST(OptimalClusters, AProducerGoesWithItsReadersRatherThanWithItsProducer) {
  const auto program = program_of(R"(
    def f(x: f64[N], y: f64[N]) -> (b, e, f) {
      b[i] = x[i] * 2
      s = sum(i) b[i]
      c[i] = exp(sin(b[i])) + exp(cos(b[i])) + exp(tan(y[i]))
      e[i] = c[i] * s
      f[i] = c[i] - s
    })");
  // b is a result. With c in its loop, c would have to be kept for the second one.
  EXPECT_EQ(structure_of(program, Clusters::Greedy), (Structure{2, 1}));
  EXPECT_EQ(structure_of(program, Clusters::Optimal), (Structure{2, 0}));
}

TEST(OptimalClusters, TakeAlongWhatSavesOnlyAPass) {
  const auto program = program_of(R"(
    def f(x: f64[N], y: f64[N], z: f64[N]) -> (b, e, f, g) {
      b[i] = x[i] * 2
      s = sum(i) b[i]
      c[i] = exp(sin(b[i])) + exp(cos(b[i])) + exp(tan(y[i]))
      e[i] = c[i] * s
      f[i] = c[i] - s
      g[i] = 3 * z[i]
    })");
  EXPECT_EQ(structure_of(program, Clusters::Greedy), (Structure{2, 1}));
  EXPECT_EQ(structure_of(program, Clusters::Optimal), (Structure{2, 0}));
}

/// One stage after the other, scans from both ends among them, which cannot all be one loop.
TEST(OptimalClusters, OfAPipelineOfScansNeedNoSolver) {
  std::string text = "def f(x: f64[N]) -> y {\n", last = "x";
  for (int k = 0; k < 60; ++k) {
    const std::string name = k == 59 ? "y" : fmt::format("a{}", k);
    const char* const scan = k % 10 == 3 ? "scan(+, i) " : k % 10 == 7 ? "scan_right(+, i) " : "";
    text += fmt::format("  {}[i] = {}{}[i]{}\n", name, scan, last, *scan ? "" : " * 0.5 + 1");
    last = name;
  }
  const auto program = program_of(text + "}");
  SolveOptions options;
  options.open = []() -> std::unique_ptr<LinearSolver> { throw std::logic_error("a solver was opened"); };
  for (const auto& cost :
       {ClusterCost(ByTime{}), ClusterCost(GraphCost::ReadsWrites), ClusterCost(GraphCost::Clusters)}) {
    const Clustering found = cluster_optimal(*program, cost, options);
    EXPECT_EQ(found.proof->gap(), 0);
    EXPECT_EQ(found.lists.front().clusters.size(), 12U);
  }
}

/// What a choice costs can be asked of any choice, and of the best one it is what it was chosen for.
TEST(OptimalClusters, CostWhatTheyWereChosenFor) {
  for (const char* const text : {"def f(x: f64[N], y: f64[N]) -> (b, e, f) {\n"
                                 "  b[i] = x[i] * 2\n  s = sum(i) b[i]\n  c[i] = b[i] + y[i]\n"
                                 "  e[i] = c[i] * s\n  f[i] = c[i] - s\n}",
                                 "def f(x: f64[N], p: i64[M]) -> (y, z) {\n  a[i] = x[i] * 2 + 1\n"
                                 "  y[j] = a[p[j]]\n  s = sum(i) x[i]\n  z[i] = a[i] - s\n}"}) {
    const auto program = program_of(text);
    std::vector<ClusterCost> costs = {ByTime{}};
    for (const GraphCost cost : graph_costs) costs.emplace_back(cost);
    for (const ClusterCost& cost : costs) {
      const Clustering best = cluster_optimal(*program, cost);
      EXPECT_NEAR(cost_of(program, best.lists, cost), best.proof->cost, 1e-6 * best.proof->cost);
      for (const Clustering& other :
           {cluster_none(*program), cluster_greedy(*program), cluster_pairs(*program, Greed::TopDown),
            cluster_pairs(*program, Greed::BottomUp)})
        EXPECT_GE(cost_of(program, other.lists, cost), best.proof->cost * (1 - 1e-9));
    }
  }
}

TEST(OptimalClusters, OfAPipelineNeedNoSolver) {
  std::string text = "def f(x: f64[N]) -> y {\n  a0[i] = x[i] + 1\n";
  for (int k = 1; k < 50; ++k) text += fmt::format("  a{}[i] = sqrt(a{}[i]) + a{}[i]\n", k, k - 1, k - 1);
  const auto program = program_of(text + "  y[i] = a49[i] }");
  SolveOptions options;
  options.open = []() -> std::unique_ptr<LinearSolver> { throw std::logic_error("a solver was opened"); };
  for (const auto& planned : {program, simplify(program).program}) {
    const Clustering clustering = cluster_optimal(*planned, {}, options);
    EXPECT_EQ(clustering.proof->gap(), 0);
    EXPECT_EQ(clustering.lists.front().clusters.size(), 1u);
  }
}

/// Maps and sums over the same range, each of arrays and of sums before it.
std::string random_text(std::mt19937& rng, int stages) {
  const auto any = [&](int n) { return static_cast<int>(rng() % static_cast<unsigned>(n)); };
  std::vector<std::string> arrays = {"x", "y", "z"}, sums, results;
  std::string text;
  for (int k = 0; k < stages; ++k) {
    const auto one_of = [&](const std::vector<std::string>& all, std::size_t last) {
      return all[all.size() - 1 - rng() % std::min(all.size(), last)];
    };
    const std::string a = one_of(arrays, 5), b = one_of(arrays, 5);
    if (any(4) == 0) {
      sums.push_back(fmt::format("s{}", k));
      text += fmt::format("  {} = sum(i) {}[i] * 0.25\n", sums.back(), a);
    } else {
      const std::string more = sums.empty() || any(3) > 0 ? "1" : one_of(sums, sums.size());
      text += fmt::format("  a{}[i] = 0.5 * {}[i] + 0.25 * {}[i] + {}\n", k, a, b, more);
      arrays.push_back(fmt::format("a{}", k));
      if (any(4) == 0) results.push_back(arrays.back());
    }
  }
  results.push_back(arrays.back());
  if (!sums.empty()) results.push_back(sums.back());
  std::sort(results.begin(), results.end());
  results.erase(std::unique(results.begin(), results.end()), results.end());
  std::string names;
  for (const std::string& name : results) names += (names.empty() ? "" : ", ") + name;
  std::string inputs;
  for (const char* input : {"x", "y", "z"})
    if (text.find(fmt::format(" {}[i]", input)) != std::string::npos)
      inputs += fmt::format("{}{}: f64[N]", inputs.empty() ? "" : ", ", input);
  return fmt::format("def f({}) -> ({}) {{\n{}}}", inputs, names, text);
}

/// What the passes read and write if all sizes are 1000.
double bytes_moved(const Compilation& c) {
  std::map<SymbolId, std::int64_t> sizes;
  for (std::size_t s = 0; s < c.schedule->program->symbols.size(); ++s)
    sizes[SymbolId{static_cast<int>(s)}] = 1000;
  const Traffic traffic = traffic_of(*c.schedule, {sizes, {}});
  EXPECT_TRUE(traffic.complete);
  return traffic.read + traffic.written;
}

TEST(OptimalClusters, OfRandomProgramsAreProvenAndMoveNoMoreThanGreedyOnes) {
  std::mt19937 rng(7);
  int better = 0;
  for (int k = 0; k < 40; ++k) {
    const std::string text = random_text(rng, 14);
    SCOPED_TRACE(text);
    const auto program = program_of(text);
    EXPECT_EQ(cluster_optimal(*simplify(program).program, {}, {.seconds = 60}).proof->gap(), 0);
    const double best = bytes_moved(compiled(program, Clusters::Optimal, "elaborate"));
    const double greedy = bytes_moved(compiled(program, Clusters::Greedy, "elaborate"));
    for (const Clusters pairs : {Clusters::TopDown, Clusters::BottomUp})
      EXPECT_LE(best, bytes_moved(compiled(program, pairs, "elaborate")));
    EXPECT_LE(best, greedy);
    if (best < greedy && ++better <= 5) structure_of(program, Clusters::Optimal);
  }
  EXPECT_GT(better, 5);
}

TEST(OptimalClusters, ComputeAgainWhatCostsLessThanToKeep) {
  const auto program = program_of(R"(
    def f(x: f32[N]) -> s {
      b[i] = x[i] * 2 + 1
      d[i < N] = f32(i) + (if N > 0 then b[0] else 0.0f32)
      s = sum(i) (b[i] + d[i])
    })");
  // Whoever reads b[0] waits for all of b, unless it is computed again.
  for (const Clusters clusters : {Clusters::Greedy, Clusters::Optimal}) {
    EXPECT_EQ(structure_of(program, clusters), (Structure{1, 0}));
    const Compilation c = compiled(program, clusters, "elaborate");
    const auto again = std::find_if(c.fused.begin(), c.fused.end(),
                                    [](const Reason& reason) { return reason.code == "recomputed"; });
    ASSERT_NE(again, c.fused.end());
    EXPECT_EQ(again->text,
              "'b' is computed again where it is read: that costs less than to write it and to read it back");
  }
}

TEST(OptimalClusters, KeepWhatIsDearToCompute) {
  const auto program = program_of(R"(
    def f(x: f32[N]) -> s {
      b[i] = exp(sin(x[i])) * sqrt(x[i])
      d[i < N] = f32(i) + (if N > 0 then b[0] else 0.0f32)
      s = sum(i, k < 8) (b[(i + k) % N] + d[i])
    })");
  EXPECT_EQ(structure_of(program, Clusters::Optimal).buffers, 1);
}

/// By stage of the program's own list, the number of its cluster.
std::vector<int> numbers_of(const Program& program, const Clustering& clustering) {
  std::map<std::string, int> number;
  int next = 0;
  for (const std::vector<StageSet>& cluster : clustering.lists.front().clusters) {
    for (const StageSet& set : cluster)
      for (const std::string& stage : set) number[stage] = next;
    ++next;
  }
  std::vector<int> numbers;
  for (const Stage& stage : program.stages) numbers.push_back(number.at(stage.name));
  return numbers;
}

TEST(OptimalClusters, NoOthersCostLessUnderAnyOfTheCosts) {
  std::mt19937 rng(11);
  int better = 0;
  for (int k = 0; k < 25; ++k) {
    const std::string text = random_text(rng, 12);
    SCOPED_TRACE(text);
    const auto program = simplify(program_of(text)).program;
    std::vector<std::vector<int>> all = {numbers_of(*program, cluster_greedy(*program)),
                                         numbers_of(*program, cluster_pairs(*program, Greed::TopDown)),
                                         numbers_of(*program, cluster_pairs(*program, Greed::BottomUp))};
    for (const GraphCost cost : graph_costs) {
      const Clustering best = cluster_optimal(*program, cost, {.seconds = 60});
      EXPECT_EQ(best.proof->gap(), 0);
      all.push_back(numbers_of(*program, best));
    }
    for (std::size_t c = 0; c < graph_costs.size(); ++c) {
      Program scratch = *program;
      in_all_regions(scratch, [&](Region& region) {
        const ClusterCost cost = graph_costs[c];
        ProgramProblem problem(region, cost);
        problem.find_pairs(region, all);
        const double least = problem.cost_of(all[3 + c]);
        for (const std::vector<int>& other : all) {
          EXPECT_LE(least, problem.cost_of(other)) << letter_of(graph_costs[c]);
          better += least < problem.cost_of(other) ? 1 : 0;
        }
        return false;
      });
    }
  }
  EXPECT_GT(better, 20);
}

/// All ways to put stages together, by number of their cluster.
void for_each_partition(std::size_t count, const std::function<void(const std::vector<int>&)>& action) {
  std::vector<int> cluster(count);
  const std::function<void(std::size_t, int)> place = [&](std::size_t k, int clusters) {
    if (k == count) return action(cluster);
    for (int c = 0; c <= clusters; ++c) {
      cluster[k] = c;
      place(k + 1, std::max(clusters, c + 1));
    }
  };
  place(0, 0);
}

struct AllWays {
  double least = std::numeric_limits<double>::infinity(), alone = 0;  // `alone`: every stage by itself
};

/// What all ways cost to put stages together that the rules allow.
AllWays least_of_all_ways(const Program& program, const ClusterCost& cost) {
  const auto shared = std::make_shared<const Program>(program);
  const std::size_t count = program.stages.size();
  const bool by_time = std::holds_alternative<ByTime>(cost);
  AllWays ways;
  Program scratch = program;
  in_all_regions(scratch, [&](Region& region) {
    for_each_partition(count, [&](const std::vector<int>& cluster) {
      Clustering built;
      const std::vector<int> made =
          built_clusters(region, {.cluster = cluster, .many_arrays = !by_time, .gathers = true}, built);
      for (std::size_t a = 0; a < count; ++a)
        for (std::size_t b = 0; b < a; ++b)
          if ((made[a] == made[b]) != (cluster[a] == cluster[b])) return;
      const double costs = cost_of(shared, built.lists, cost);
      if (std::set<int>(cluster.begin(), cluster.end()).size() == count) ways.alone = costs;
      ways.least = std::min(ways.least, costs);
    });
    return false;
  });
  return ways;
}

/// Another way to find the best: all ways to put stages together that the rules allow, one by one.
TEST(OptimalClusters, AreThoseOfASearchThroughAllWays) {
  std::mt19937 rng(5);
  int programs = 0, gained = 0;
  while (programs < 25) {
    const std::string text = random_text(rng, 8);
    const auto program = simplify(program_of(text)).program;
    const std::size_t count = program->stages.size();
    if (count < 4 || count > 7) continue;
    ++programs;
    SCOPED_TRACE(text);
    std::vector<ClusterCost> costs = {ByTime{}};
    for (const GraphCost cost : graph_costs) costs.emplace_back(cost);
    for (const ClusterCost& cost : costs) {
      const bool by_time = std::holds_alternative<ByTime>(cost);
      const auto [least, alone] = least_of_all_ways(*program, cost);
      const Proof best = *cluster_optimal(*program, cost, {.seconds = 60}).proof;
      EXPECT_EQ(best.gap(), 0);
      // By time, stages may also be computed again, which this search does not try.
      if (by_time)
        EXPECT_LE(best.cost, least * (1 + 1e-9));
      else
        EXPECT_EQ(best.cost, least);
      gained += best.cost < alone;
    }
  }
  EXPECT_GT(gained, 50);
}

/// Scans from both ends, of which the first and the last have nothing in common with each other.
TEST(OptimalClusters, RunInOneDirection) {
  const auto program = program_of(R"(
    def f(x: i64[N], z: i64[N]) -> (c, s) {
      a[i] = scan_right(+, i) x[i]
      b[i] = scan(+, i) z[i]
      c[i] = b[i] - a[i]
      s = sum(i) (a[i] - z[i])
    })");
  std::vector<ClusterCost> costs = {ByTime{}};
  for (const GraphCost cost : graph_costs) costs.emplace_back(cost);
  for (const ClusterCost& cost : costs) {
    int solved = 0;
    SolveOptions options;
    options.seconds = 60;
    options.look = [&](const LinearModel&) { ++solved; };
    const Clustering best = cluster_optimal(*program, cost, options);
    EXPECT_EQ(best.proof->gap(), 0);
    EXPECT_FALSE(best.proof->out_of_time);
    EXPECT_LE(solved, 2);  // directions are known to the linear program, and not found out by refusals
  }
}

/// Many readers of two arrays, of which some must not be together: not by way of others either.
TEST(OptimalClusters, AreNotTogetherByWayOfOthers) {
  const auto program = simplify(program_of(R"(
    def f(x: f64[N, M], p: i64[N]) -> (same, left, both, window, part, row, column, at, one) {
      a[i, j] = exp(x[i, j]) * 2
      same[i, j] = a[i, j] + 1
      left[i, j] = a[i, clamp(j - 1)]
      both[i, j] = a[clamp(i - 1), j] + a[clamp(i + 2), j]
      window[i, j] = sum(k < 5) a[i, clamp(j + k - 2)]
      part[i < N / 2, j < M] = a[2 * i, j]
      row[i] = sum(j) a[i, j]
      column[j] = sum(i) a[i, j]
      at[i] = a[p[i], clamp(0)]
      one[i < N] = a[clamp(0), clamp(0)]
    })"))
                           .program;
  int solved = 0;
  SolveOptions options;
  options.seconds = 60;
  options.look = [&](const LinearModel&) { ++solved; };
  const Clustering best = cluster_optimal(*program, GraphCost::ReadsWrites, options);
  EXPECT_EQ(best.proof->gap(), 0);
  EXPECT_EQ(best.proof->cost, 16);
  EXPECT_LE(solved, 10);
}

/// Maps, sums and scans from both ends, each of arrays before it.
TEST(OptimalClusters, OfRandomScansAreThoseOfASearchThroughAllWays) {
  std::mt19937 rng(9);
  const auto any = [&](int n) { return static_cast<int>(rng() % static_cast<unsigned>(n)); };
  for (int k = 0; k < 40; ++k) {
    std::vector<std::string> arrays = {"x", "z"};
    std::string text = "def f(x: i64[N], z: i64[N]) -> (s, t, last) {\n";
    const auto one = [&] {
      return arrays[arrays.size() - 1 - rng() % std::min<std::size_t>(arrays.size(), 3)];
    };
    for (int stage = 0; stage < 4; ++stage) {
      const std::string name = fmt::format("a{}", stage), from = one(), other = one();
      const char* const scan = std::array{"", "scan(+, i) ", "scan_right(+, i) "}[rng() % 3];
      text += *scan ? fmt::format("  {}[i] = {}{}[i]\n", name, scan, from)
                    : fmt::format("  {}[i] = {}[i] - 3 * {}[i]\n", name, from, other);
      arrays.push_back(name);
    }
    text += fmt::format("  s = sum(i) {}[i]\n  t = sum(i) z[i] * {}[i]\n  last[i] = a3[i] + x[i]\n}}", one(),
                        arrays[static_cast<std::size_t>(any(6))]);
    SCOPED_TRACE(text);
    const auto program = simplify(program_of(text)).program;
    const std::size_t count = program->stages.size();
    if (count > 7) continue;
    for (const GraphCost cost : {GraphCost::Clusters, GraphCost::Manifest, GraphCost::ReadsWrites}) {
      const Proof best = *cluster_optimal(*program, cost, {.seconds = 60}).proof;
      EXPECT_EQ(best.gap(), 0);
      EXPECT_EQ(best.cost, least_of_all_ways(*program, cost).least);
    }
  }
}

/// What is read in the order of other data is read once more; single elements are not.
TEST(OptimalClusters, CountOrders) {
  const auto program = program_of(R"(
    def f(x: f32[N], w: f32[N], z: f32[N], p: i32[N]) -> (a, c, s) {
      a[i] = x[i] * w[i] + z[i]
      s = sum(i) z[i] * z[i]
      c[i] = x[p[i]] - w[p[i]] * s
    })");
  const Clustering best = cluster_optimal(*program, GraphCost::Reads);
  EXPECT_EQ(best.proof->gap(), 0);
  EXPECT_EQ(best.proof->cost, 6);
  const std::vector<int> numbers = numbers_of(*program, best);
  EXPECT_EQ(numbers[0], numbers[1]);  // z is read once; with c nothing would be
  EXPECT_NE(numbers[0], numbers[2]);
  const auto reads = [](const std::string& text) {
    return cluster_optimal(*program_of(text), GraphCost::Reads).proof->cost;
  };
  EXPECT_EQ(reads("def f(x: f32[N]) -> y { y[i] = x[i] + x[clamp(i - 1)] }"), 1);
  EXPECT_EQ(reads("def f(x: f32[N]) -> y { y[i] = x[i] + x[N - 1 - i] }"), 2);
  EXPECT_EQ(reads("def f(x: f32[N], p: i32[N]) -> y { y[i] = x[p[i]] + x[p[i] + 1] }"), 2);
  EXPECT_EQ(reads("def f(x: f32[N], p: i32[N], q: i32[N]) -> y { y[i] = x[p[i]] + x[q[i]] }"), 4);
  EXPECT_EQ(reads("def f(x: f32[N], z: f32[K]) -> y { y[i] = x[i] + z[clamp(0)] }"), 1);
}

/// A cost of a choice does not depend on who has chosen it.
TEST(OptimalClusters, CountPairsThatCouldShareALoopByThemselves) {
  // a is a result, and so never made in the order of b.
  const auto program =
      program_of("def f(x: f32[N], p: i32[M]) -> (a, b) {\n  a[i] = x[i] * 2\n  b[j] = a[p[j]]\n}");
  EXPECT_EQ(cluster_optimal(*program, GraphCost::Unfused).proof->cost, 1);
  EXPECT_EQ(cost_of(program, cluster_none(*program).lists, GraphCost::Unfused), 1);
}

/// What every reader needs of the array `a`: the demand, the reach, what tiles of 10 compute again in
/// percent.
std::map<std::string, std::string> demands_of(const std::string& text) {
  Program program = *program_of(text);
  std::map<std::string, std::string> found;
  in_all_regions(program, [&](Region& region) {
    for (const EdgeFacts& facts : facts_of(region, {})) {
      std::string text_of = std::string(name_of(facts.demand));
      for (const auto& along : facts.reach)
        text_of += along ? fmt::format(" {}:{}", along->before, along->after) : " all";
      if (const auto again = facts.again(10)) text_of += fmt::format(" {:.0f}%", 100 * *again);
      found[region.stages[static_cast<std::size_t>(facts.reader)].name] =
          text_of + fmt::format(" depth {}{}", facts.depth, facts.why ? ", " + facts.why->code : "");
    }
    return false;
  });
  return found;
}

TEST(EdgeFacts, SayWhatReadersNeed) {
  using testing::ElementsAre, testing::Pair;
  EXPECT_THAT(
      demands_of(R"(
    def f(x: f64[N, M], p: i64[N]) -> (same, left, both, window, part, row, column, at, one, inside) {
      a[i, j] = x[i, j] * 2
      same[i, j] = a[i, j] + 1
      left[i, j] = a[i, clamp(j - 1)]
      both[i, j] = a[clamp(i - 1), j] + a[clamp(i + 2), j]
      window[i, j] = sum(k < 5) a[i, clamp(j + k - 2)]
      part[i < N / 2, j < M] = a[2 * i, j]
      row[i] = sum(j) a[i, j]
      column[j] = sum(i) a[i, j]
      at[i] = a[p[i], clamp(0)]
      one[i < N] = a[clamp(0), clamp(0)]
      stage inside(i < N) {
        out inside: f64[N] at [i] = cat(i) s
        block { s = sum(j) a[i, j] }
      }
    })"),
      ElementsAre(Pair("at", "indexed all all depth 0, shared"),
                  Pair("both", "halo 1:2 0:0 30% depth 0, other-element"),
                  Pair("column", "whole all 0:0 depth 0, range"), Pair("inside", "opaque depth 0, block"),
                  Pair("left", "shifted 0:0 1:0 10% depth 1"),
                  Pair("one", "whole all all depth 0, other-element"),
                  Pair("part", "strided all 0:0 depth 0, range"), Pair("row", "whole 0:0 all depth 2"),
                  Pair("same", "identity 0:0 0:0 0% depth 2"), Pair("window", "halo 0:0 2:2 40% depth 1")));
}

/// The three programs of the literature, for the costs (e) and (f).
TEST(OptimalClusters, OfTheLargeProgramsAreProven) {
  for (const auto& [file, name] : {std::pair("attention", "flash"), std::pair("lulesh", "lulesh_step"),
                                   std::pair("multigrid", "vcycle")}) {
    const std::string path = fmt::format("{}/examples/{}.twill", TWILL_ROOT, file);
    const Module module = parse(path, read_file(path));
    const auto program = simplify(std::make_shared<const Program>(*module.find(name))).program;
    for (const ClusterCost& cost : {ClusterCost(ByTime{}), ClusterCost(GraphCost::ReadsWrites)}) {
      const Clustering best = cluster_optimal(*program, cost, {.seconds = 60});
      EXPECT_EQ(best.proof->gap(), 0) << name;
      EXPECT_FALSE(best.proof->out_of_time) << name;
    }
  }
}

}  // namespace

/// Things 0 … 4, of which 1 waits for 0, 2 for 1, and 4 for 3.
TEST(RunOrder, WhatIsOneWaitsForWhatItsPartsWaitFor) {
  std::map<int, std::set<int>> before = {{1, {0}}, {2, {1}}, {4, {3}}};
  const RunOrder::Before ask = [&](int thing) { return before[thing]; };
  RunOrder order({0, 1, 2, 3, 4}, 5);
  EXPECT_TRUE(order.is_between(0, 2, ask));
  EXPECT_FALSE(order.is_between(3, 2, ask));
  order.merge(0, 4, ask);
  before = {{1, {4}}, {2, {1}}, {4, {3}}};
  EXPECT_TRUE(order.is_between(3, 2, ask)) << "2 waits for 1, that for 0 and 4, and these for 3";
  EXPECT_TRUE(order.is_between(3, 1, ask));
  EXPECT_TRUE(order.is_between(4, 2, ask));
  EXPECT_FALSE(order.is_between(2, 3, ask));
}

}  // namespace twill
