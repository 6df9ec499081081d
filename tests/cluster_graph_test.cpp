// Fusion graphs: the examples of the literature, and random graphs against a search through all partitions.
#include "base/error.h"
#include "cluster/optimal.h"
#include "cluster/search.h"
#include "random_graph.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <set>

using namespace twill;

namespace {

struct Example {
  const char* name;
  const char* json;
  std::array<int, 5> optima;
  std::vector<std::set<std::string>> passes;  // of the optimum of (e)
};

// Nodes and edges in the words of the graph format.
const Example examples[] = {
    {"singleLoop",
     R"({"nodes": [{"id": 0, "name": "as", "kind": "input"}, {"id": 1, "name": "inds", "kind": "generate"},
                   {"id": 2, "name": "bs", "kind": "gather", "label": 2}, {"id": 3, "name": "cs", "kind": "map"},
                   {"id": 4, "name": "ds", "kind": "map"}, {"id": 5, "name": "result", "kind": "map", "out": 1}],
         "edges": [{"s": 1, "d": 2, "port": "gidx"}, {"s": 0, "d": 2, "port": "gsrc"}, {"s": 0, "d": 3, "port": "arg"},
                   {"s": 3, "d": 4, "port": "arg"}, {"s": 2, "d": 5, "port": "arg"}, {"s": 3, "d": 5, "port": "arg"},
                   {"s": 4, "d": 5, "port": "arg"}]})",
     {1, 0, 1, 2, 3},
     {{"inds", "bs", "cs", "ds", "result"}}},
    {"simple1",
     R"({"nodes": [{"id": 0, "name": "is", "kind": "input"}, {"id": 1, "name": "xs", "kind": "input"},
                   {"id": 2, "name": "as", "kind": "map"}, {"id": 3, "name": "bs", "kind": "gather", "label": 2, "out": 1}],
         "edges": [{"s": 1, "d": 2, "port": "arg"}, {"s": 0, "d": 3, "port": "gidx"}, {"s": 2, "d": 3, "port": "gsrc"}]})",
     {1, 0, 1, 2, 3},
     {{"as", "bs"}}},
    {"simple2",
     R"({"nodes": [{"id": 0, "name": "is1", "kind": "input"}, {"id": 1, "name": "is2", "kind": "input"},
                   {"id": 2, "name": "xs", "kind": "input"}, {"id": 3, "name": "as", "kind": "gather", "label": 2},
                   {"id": 4, "name": "bs", "kind": "gather", "label": 3, "out": 1}],
         "edges": [{"s": 0, "d": 3, "port": "gidx"}, {"s": 2, "d": 3, "port": "gsrc"}, {"s": 1, "d": 4, "port": "gidx"},
                   {"s": 3, "d": 4, "port": "gsrc"}]})",
     {1, 0, 1, 3, 4},
     {{"as", "bs"}}},
    {"simple3",
     R"({"nodes": [{"id": 0, "name": "is", "kind": "input"}, {"id": 1, "name": "xs", "kind": "input"},
                   {"id": 2, "name": "as", "kind": "map", "out": 1}, {"id": 3, "name": "bs", "kind": "gather", "label": 2, "out": 1}],
         "edges": [{"s": 1, "d": 2, "port": "arg"}, {"s": 0, "d": 3, "port": "gidx"}, {"s": 2, "d": 3, "port": "gsrc"}]})",
     {2, 1, 2, 3, 5},
     {{"as"}, {"bs"}}},
    {"simple4",
     R"({"nodes": [{"id": 0, "name": "is", "kind": "input"}, {"id": 1, "name": "xs", "kind": "input"},
                   {"id": 2, "name": "as", "kind": "fold"}, {"id": 3, "name": "bs", "kind": "gather", "label": 2, "out": 1}],
         "edges": [{"s": 1, "d": 2, "port": "arg"}, {"s": 0, "d": 3, "port": "gidx"}, {"s": 2, "d": 3, "port": "gsrc"}]})",
     {1, 0, 1, 2, 3},
     {{"as", "bs"}}},
    {"simple5",
     R"({"nodes": [{"id": 0, "name": "is", "kind": "input"}, {"id": 1, "name": "xs", "kind": "input"},
                   {"id": 2, "name": "as", "kind": "map"}, {"id": 3, "name": "bs", "kind": "gather", "label": 2},
                   {"id": 4, "name": "cs", "kind": "map", "out": 1}],
         "edges": [{"s": 1, "d": 2, "port": "arg"}, {"s": 0, "d": 3, "port": "gidx"}, {"s": 1, "d": 3, "port": "gsrc"},
                   {"s": 2, "d": 4, "port": "arg"}, {"s": 3, "d": 4, "port": "arg"}]})",
     {1, 0, 1, 3, 4},
     {{"as", "bs", "cs"}}},
    {"scatterExample",
     R"({"nodes": [{"id": 0, "name": "xs", "kind": "input"}, {"id": 1, "name": "as", "kind": "map"},
                   {"id": 2, "name": "bs", "kind": "map"}, {"id": 3, "name": "result", "kind": "scatter", "out": 1}],
         "edges": [{"s": 0, "d": 1, "port": "arg"}, {"s": 0, "d": 2, "port": "arg"}, {"s": 1, "d": 3, "port": "ssrc"},
                   {"s": 2, "d": 3, "port": "dest"}]})",
     {2, 0, 2, 2, 4},
     {{"bs"}, {"as", "result"}}},
    {"greedyBottomUpBad",
     R"({"nodes": [{"id": 0, "name": "xs", "kind": "input"}, {"id": 1, "name": "is", "kind": "generate"},
                   {"id": 2, "name": "large", "kind": "gather", "label": 2}, {"id": 3, "name": "ys", "kind": "fold"},
                   {"id": 4, "name": "zs", "kind": "fold"}, {"id": 5, "name": "result", "kind": "map", "out": 1}],
         "edges": [{"s": 1, "d": 2, "port": "gidx"}, {"s": 0, "d": 2, "port": "gsrc"}, {"s": 2, "d": 3, "port": "arg"},
                   {"s": 2, "d": 4, "port": "arg"}, {"s": 3, "d": 5, "port": "arg"}, {"s": 4, "d": 5, "port": "index"}]})",
     {2, 1, 3, 2, 5},
     {{"is", "large", "ys", "zs"}, {"result"}}},
    {"greedyTopDownBad",
     R"({"nodes": [{"id": 0, "name": "as", "kind": "input"}, {"id": 1, "name": "bs", "kind": "map"},
                   {"id": 2, "name": "cs", "kind": "map"}, {"id": 3, "name": "ds", "kind": "generate"},
                   {"id": 4, "name": "es", "kind": "map"}, {"id": 5, "name": "result", "kind": "fold", "out": 1}],
         "edges": [{"s": 0, "d": 1, "port": "arg"}, {"s": 1, "d": 2, "port": "arg"}, {"s": 1, "d": 3, "port": "index"},
                   {"s": 2, "d": 4, "port": "arg"}, {"s": 3, "d": 4, "port": "arg"}, {"s": 4, "d": 5, "port": "arg"}]})",
     {2, 1, 2, 2, 4},
     {{"bs"}, {"cs", "ds", "es", "result"}}},
};

const Example& example(const std::string& name) {
  return *std::find_if(std::begin(examples), std::end(examples),
                       [&](const Example& e) { return e.name == name; });
}

std::vector<std::set<std::string>> names_of(const FusionGraph& graph, const Partition& partition) {
  std::vector<std::set<std::string>> result;
  for (const std::vector<int>& pass : passes_of(graph, partition)) {
    result.emplace_back();
    for (const int node : pass) result.back().insert(graph[node].name);
  }
  return result;
}

class GraphExample : public testing::TestWithParam<Example> {};

TEST_P(GraphExample, HasTheKnownOptima) {
  const FusionGraph graph = graph_from_json("test", GetParam().json);
  const GraphFacts facts(graph);
  for (const GraphCost cost : graph_costs) {
    const Optimum found = optimal_partition(facts, cost);
    EXPECT_TRUE(found.proven());
    EXPECT_EQ(why_invalid(graph, found.partition), std::nullopt);
    EXPECT_EQ(found.cost, GetParam().optima[static_cast<std::size_t>(cost)]) << "cost " << letter_of(cost);
    if (cost == GraphCost::ReadsWrites) {
      EXPECT_EQ(names_of(graph, found.partition), GetParam().passes);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, GraphExample, testing::ValuesIn(examples),
                         [](const auto& one) { return std::string(one.param.name); });

std::set<std::string> in_memory(const std::string& name, Greed greed) {
  const FusionGraph graph = graph_from_json("test", example(name).json);
  const GraphFacts facts(graph);
  const Partition partition = greedy_partition(facts, greed);
  EXPECT_EQ(why_invalid(graph, partition), std::nullopt);
  std::set<std::string> names;
  const std::vector<bool> manifest = manifest_of(facts, partition);
  for (int node = 0; node < graph.size(); ++node)
    if (manifest[static_cast<std::size_t>(node)] && graph[node].kind != Combinator::Input)
      names.insert(graph[node].name);
  return names;
}

TEST(GraphGreedy, FallsIntoItsTraps) {
  using testing::UnorderedElementsAre;
  // From below: the map goes with ys, and so the folds cannot share the loop that makes the large array.
  EXPECT_THAT(in_memory("greedyBottomUpBad", Greed::BottomUp), UnorderedElementsAre("large", "zs", "result"));
  EXPECT_THAT(in_memory("greedyBottomUpBad", Greed::TopDown), UnorderedElementsAre("ys", "zs", "result"));
  // From above: cs goes with bs, and has to be kept for es.
  EXPECT_THAT(in_memory("greedyTopDownBad", Greed::TopDown), UnorderedElementsAre("bs", "cs", "result"));
  EXPECT_THAT(in_memory("greedyTopDownBad", Greed::BottomUp), UnorderedElementsAre("bs", "result"));
}

// ---- random graphs

/// All partitions, all orders, and the definitions of the costs: nothing of the linear program.
class Search {
 public:
  explicit Search(const FusionGraph& graph) : graph_(graph) {
    best.fill(std::numeric_limits<double>::infinity());
    for (int n = 0; n < graph.size(); ++n) {
      if (graph[n].kind != Combinator::Input) nodes_.push_back(n);
      left_ = left_ || graph[n].kind == Combinator::ScanLeft;
      right_ = right_ || graph[n].kind == Combinator::ScanRight;
    }
    block_.assign(static_cast<std::size_t>(graph.size()), -1);
    partition(0, 0);
  }

  std::array<double, 5> best;

 private:
  static std::size_t at(int n) { return static_cast<std::size_t>(n); }

  void partition(std::size_t k, int blocks) {
    if (k == nodes_.size()) return judge(blocks);
    for (int block = 0; block <= blocks; ++block) {
      block_[at(nodes_[k])] = block;
      partition(k + 1, std::max(blocks, block + 1));
    }
  }

  bool same(int a, int b) const { return block_[at(a)] >= 0 && block_[at(a)] == block_[at(b)]; }

  static bool may_fuse(const FusionGraph& graph, const GraphEdge& edge) {
    return !edge.forced && is_ordered(edge.port) && graph[edge.from].kind != Combinator::Input &&
           graph[edge.from].kind != Combinator::Scatter;
  }

  void judge(int blocks) {
    for (const GraphEdge& edge : graph_.edges())
      if (same(edge.from, edge.to) && !may_fuse(graph_, edge)) return;
    for (const auto& pair : graph_.before())
      if (same(pair.first, pair.second)) return;
    // Levels, by going over all edges as often as there are blocks.
    std::vector<int> level(at(blocks), 1);
    for (int round = 0; round <= blocks; ++round) {
      bool changed = false;
      const auto after = [&](int a, int b) {
        if (block_[at(a)] < 0 || same(a, b)) return;
        const int least = level[at(block_[at(a)])] + 1;
        if (level[at(block_[at(b)])] >= least) return;
        level[at(block_[at(b)])] = least;
        changed = true;
      };
      for (const GraphEdge& edge : graph_.edges()) after(edge.from, edge.to);
      for (const auto& pair : graph_.before()) after(pair.first, pair.second);
      if (!changed) break;
      if (round == blocks) return;  // a circle
    }
    order_.assign(at(graph_.size()), 0);
    orders(static_cast<int>(graph_.sorted().size()) - 1, *std::max_element(level.begin(), level.end()));
  }

  /// From the last node back: in-block readers say in which order an array is made, otherwise it is a choice.
  void orders(int k, int highest) {
    if (k < 0) return count(highest);
    const int node = graph_.sorted()[at(k)];
    if (block_[at(node)] < 0) return orders(k - 1, highest);
    std::set<int> wanted;
    bool memory = graph_[node].result;
    for (const int e : graph_.out_of(node)) {
      const GraphEdge& edge = graph_.edge(e);
      if (same(node, edge.to))
        wanted.insert(edge.port == Port::Source ? graph_[edge.to].label : order_[at(edge.to)]);
      else
        memory = true;
    }
    if (wanted.empty())
      wanted = left_ && right_ ? std::set{0, 1} : std::set{right_ ? 1 : 0};
    else if (wanted.size() > 1)
      return;
    for (const int order : wanted) {
      if (order > 1 && (memory || graph_[node].kind == Combinator::Scatter)) continue;
      if (graph_[node].kind == Combinator::ScanLeft && order != 0) continue;
      if (graph_[node].kind == Combinator::ScanRight && order != 1) continue;
      order_[at(node)] = order;
      orders(k - 1, highest);
    }
  }

  void count(int highest) {
    std::set<std::pair<int, int>> unfused;
    std::set<int> memory;
    std::set<std::array<int, 3>> reads;
    std::map<std::pair<int, int>, bool> may;
    for (const GraphEdge& edge : graph_.edges()) {
      const auto found = may.try_emplace({edge.from, edge.to}, true).first;
      found->second = found->second && may_fuse(graph_, edge);
      if (same(edge.from, edge.to)) continue;
      unfused.insert({edge.from, edge.to});
      if (block_[at(edge.from)] >= 0) memory.insert(edge.from);
      if (is_ordered(edge.port))
        reads.insert({edge.from, block_[at(edge.to)],
                      edge.port == Port::Source ? graph_[edge.to].label : order_[at(edge.to)]});
    }
    for (const int node : nodes_)
      if (graph_[node].result) memory.insert(node);
    const double b = static_cast<double>(
        std::count_if(unfused.begin(), unfused.end(), [&](const auto& pair) { return may.at(pair); }));
    const double c = static_cast<double>(memory.size()), d = static_cast<double>(reads.size());
    const std::array<double, 5> costs = {static_cast<double>(highest), b, c, d, c + d};
    for (std::size_t k = 0; k < costs.size(); ++k) best[k] = std::min(best[k], costs[k]);
  }

  const FusionGraph& graph_;
  std::vector<int> nodes_, block_, order_;
  bool left_ = false, right_ = false;
};

TEST(GraphRandom, OptimaAreThoseOfASearchThroughAllPartitions) {
  std::mt19937 rng(1);
  int graphs = 0, solved = 0;
  while (graphs < 500) {
    std::optional<FusionGraph> graph;
    try {
      graph.emplace(random_graph(rng, graphs % 10 == 0 ? 9 : 4 + static_cast<int>(rng() % 5)));
    } catch (const Error&) {
      continue;
    }
    ++graphs;
    const Search search(*graph);
    const GraphFacts facts(*graph);
    for (const GraphCost cost : graph_costs) {
      const Optimum found = optimal_partition(facts, cost, {.seconds = 60});
      solved += found.solved;
      ASSERT_TRUE(found.proven()) << "graph " << graphs;
      ASSERT_EQ(why_invalid(*graph, found.partition), std::nullopt) << "graph " << graphs;
      ASSERT_EQ(found.cost, search.best[static_cast<std::size_t>(cost)])
          << "graph " << graphs << ", cost " << letter_of(cost) << text_of(*graph);
    }
    for (const Greed greed : {Greed::TopDown, Greed::BottomUp}) {
      const Partition partition = greedy_partition(facts, greed);
      ASSERT_EQ(why_invalid(*graph, partition), std::nullopt) << "graph " << graphs;
      for (const GraphCost cost : graph_costs)
        ASSERT_GE(cost_of(facts, partition, cost), search.best[static_cast<std::size_t>(cost)]);
    }
  }
  EXPECT_GT(solved, 100);  // the test is about the solver
}

/// Sets of nodes as the graph's own partition; by definition what it costs.
double cost_of_sets(const GraphFacts& facts, const Chosen& chosen, GraphCost cost) {
  std::vector<bool> left;
  for (const int order : chosen.order) left.push_back(order == 1);
  const auto partition = complete(facts, chosen.cluster, left, cost == GraphCost::Clusters);
  EXPECT_TRUE(partition.has_value());
  return partition ? cost_of(facts, *partition, cost) : -1;
}

/// The search counts as the definitions do, and knows of small graphs what is best.
TEST(GraphRandom, TheSearchFindsTheOptimaOfSmallGraphs) {
  std::mt19937 rng(2);
  int graphs = 0, found = 0, asked = 0;
  while (graphs < 150) {
    std::optional<FusionGraph> graph;
    try {
      graph.emplace(random_graph(rng, 5 + static_cast<int>(rng() % 5)));
    } catch (const Error&) {
      continue;
    }
    ++graphs;
    const GraphFacts facts(*graph);
    for (const GraphCost cost : graph_costs) {
      const ClusterProblem problem = problem_of(facts, cost);
      std::vector<int> alone(static_cast<std::size_t>(graph->size()));
      std::iota(alone.begin(), alone.end(), 0);
      Evaluator evaluator(problem);
      const std::vector<int> better = improved(problem, alone, 3000, Deadline(60), Cooling::ByMoves);
      const auto before = evaluator.cost_of_all(alone), after = evaluator.cost_of_all(better);
      ASSERT_TRUE(before && after);
      const double first = cost_of_sets(facts, evaluator.completed(alone), cost),
                   last = cost_of_sets(facts, evaluator.completed(better), cost);
      ASSERT_EQ(first - last, *before - *after)
          << "graph " << graphs << ", cost " << letter_of(cost) << text_of(*graph);
      const double least = optimal_partition(facts, cost, {.seconds = 60}).cost;
      ASSERT_GE(last, least);
      ++asked;
      found += last == least;
    }
  }
  EXPECT_GT(found, asked * 97 / 100);
}

TEST(GraphPipeline, NeedsNoSolver) {
  std::vector<GraphNode> nodes = {{"xs", Combinator::Input, false, 0}};
  std::vector<GraphEdge> edges;
  for (int n = 1; n < 400; ++n) {
    nodes.push_back({fmt::format("n{}", n), Combinator::Map, n == 399, 0});
    edges.push_back({n - 1, n, Port::Argument, false});
  }
  const FusionGraph graph(std::move(nodes), std::move(edges));
  const GraphFacts facts(graph);
  for (const GraphCost cost : graph_costs) {
    const Optimum found = optimal_partition(facts, cost);
    EXPECT_EQ(found.solved, 0) << "cost " << letter_of(cost);
    EXPECT_TRUE(found.proven());
    EXPECT_EQ(passes_of(graph, found.partition).size(), 1u);
  }
}

/// Nodes that each read the one before, of all kinds, some edges forced; sometimes they read earlier ones as
/// well.
FusionGraph random_chain(std::mt19937& rng, int count) {
  const auto any = [&](int n) { return static_cast<int>(rng() % static_cast<unsigned>(n)); };
  std::vector<GraphNode> nodes = {{"xs", Combinator::Input, false, 0}};
  std::vector<GraphEdge> edges;
  for (int n = 1; n < count; ++n) {
    GraphNode node{fmt::format("n{}", n), Combinator::Map, n + 1 == count || any(8) == 0, 0};
    Port port = Port::Argument;
    switch (any(6)) {
      case 0: node.kind = Combinator::ScanLeft; break;
      case 1: node.kind = Combinator::ScanRight; break;
      case 2:
        node.kind = Combinator::Gather;
        node.label = n + 1;
        port = Port::Source;
        break;
      default: break;
    }
    edges.push_back({n - 1, n, port, any(8) == 0});
    nodes.push_back(std::move(node));
  }
  return {std::move(nodes), std::move(edges)};
}

/// Nobody has to be asked about a chain, whatever it is made of.
SolveOptions without_solver() {
  return {.seconds = 60, .open = []() -> std::unique_ptr<LinearSolver> { throw std::logic_error("asked"); }};
}

TEST(GraphPipeline, NeedsNoSolverWhateverItDoes) {
  std::mt19937 rng(3);
  for (int k = 0; k < 300; ++k) {
    const FusionGraph graph = random_chain(rng, 2 + static_cast<int>(rng() % 7));
    const Search search(graph);
    const GraphFacts facts(graph);
    for (const GraphCost cost : graph_costs) {
      const Optimum found = optimal_partition(facts, cost, without_solver());
      ASSERT_TRUE(found.proven());
      ASSERT_EQ(why_invalid(graph, found.partition), std::nullopt) << text_of(graph);
      ASSERT_EQ(found.cost, search.best[static_cast<std::size_t>(cost)])
          << "chain " << k << ", cost " << letter_of(cost) << text_of(graph);
    }
  }
  const FusionGraph graph = random_chain(rng, 1000);
  const GraphFacts facts(graph);
  for (const GraphCost cost : graph_costs) {
    const Optimum found = optimal_partition(facts, cost, without_solver());
    EXPECT_EQ(found.solved, 0);
    EXPECT_TRUE(found.proven());
  }
}

/// Ranges that are long and of which few end for the same reason cost no more time than short ones: nothing
/// looks at all of them.
TEST(GraphPipeline, OfManyNodesIsProvenToBeTheBest) {
  for (const int every : {10, 100, 5000}) {
    std::vector<GraphNode> nodes = {{"xs", Combinator::Input, false, 0}};
    std::vector<GraphEdge> edges;
    constexpr int count = 10000;
    int turns = 0;  // where a scan is not in the direction of the one before
    for (int n = 1; n < count; ++n) {
      const bool right = n % every == every / 2, left = n % every == 0;
      turns += n > every / 2 && (left || right);
      nodes.push_back({fmt::format("n{}", n),
                       right  ? Combinator::ScanRight
                       : left ? Combinator::ScanLeft
                              : Combinator::Map,
                       n + 1 == count, 0});
      edges.push_back({n - 1, n, Port::Argument, false});
    }
    const FusionGraph graph(std::move(nodes), std::move(edges));
    const Optimum found = optimal_partition(GraphFacts(graph), GraphCost::ReadsWrites, without_solver());
    EXPECT_EQ(found.gap(), 0);
    EXPECT_EQ(found.cost, 2 * (turns + 1));
    EXPECT_LT(found.seconds, 10);  // far less than it takes to look at all ranges
  }
}

/// A solver that is never asked: what it would need is more than there is.
class Slow : public LinearSolver {
 public:
  std::string name() const override { return "slow"; }
  LinearSolution solve(const LinearModel&, double, std::span<const double>) const override {
    ADD_FAILURE() << "it would not look at the clock";
    return {};
  }
  std::vector<double> relax(const LinearModel& model, double seconds) const override {
    const Deadline deadline(seconds / 2);
    while (!deadline.is_over()) {}
    return std::vector<double>(model.variables.size(), 0.5);
  }
};

TEST(GraphTime, IsKeptByWhatComesAfterTheSolver) {
  std::mt19937 rng(4);
  const FusionGraph graph = [&] {
    while (true) try {
        return random_graph(rng, 120);
      } catch (const Error&) {}
  }();
  const GraphFacts facts(graph);
  const Optimum found = optimal_partition(facts, GraphCost::ReadsWrites,
                                          {.seconds = 0.4, .open = [] { return std::make_unique<Slow>(); }});
  EXPECT_EQ(why_invalid(graph, found.partition), std::nullopt);
  EXPECT_GT(found.gap(), 0);
  EXPECT_LT(found.seconds, 2);
}

TEST(Deadline, HasPartsThatEndBeforeIt) {
  const Deadline all(1000), over(0);
  EXPECT_EQ(over.left(), 0);
  EXPECT_EQ(over.used(), 1);
  EXPECT_TRUE(over.share(1).is_over());
  EXPECT_TRUE(over.until(1).is_over());
  EXPECT_FALSE(all.is_over());
  EXPECT_LT(all.used(), 0.5);
  const Deadline half = all.share(0.5), rest = all.share(1);
  EXPECT_LE(half.left(), 500);
  EXPECT_GT(half.left(), 400);
  EXPECT_LE(rest.left(), 1000);
  EXPECT_GT(half.until(0.5).left(), 200);
  EXPECT_LE(half.until(0.5).left(), 250);
  EXPECT_TRUE(half.until(0).is_over());
  EXPECT_EQ(Deadline(-1).left(), 0);
  EXPECT_GT(Deadline(1e300).left(), 1e6);
}

// ---- errors
// ----------------------------------------------------------------------------------------------------

std::string error_of(const std::string& json) {
  try {
    graph_from_json("'g.json'", json);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(GraphErrors, NameWhatIsWrong) {
  const std::string help = "\n  help: `twill cluster --help` shows one\n";
  EXPECT_EQ(error_of("{"), "error[E0902]: the graph 'g.json' is not JSON" + help);
  EXPECT_EQ(error_of("{}"), "error[E0902]: the graph 'g.json' has no list \"nodes\"" + help);
  EXPECT_EQ(error_of(R"({"nodes": [{"id": 0}], "edges": []})"),
            "error[E0902]: the graph 'g.json' has {\"id\":0} without \"kind\"" + help);
  EXPECT_EQ(
      error_of(R"({"nodes": [{"id": 0, "kind": "mop"}], "edges": []})"),
      "error[E0902]: the graph 'g.json' has {\"id\":0,\"kind\":\"mop\"}: \"kind\" is one of fold, gather, "
      "generate, input, map, scanl, scanr, scatter" +
          help);
  EXPECT_EQ(error_of(R"({"nodes": [], "edges": [{"s": 3, "d": 4, "port": "arg"}]})"),
            "error[E0902]: the graph 'g.json' has an edge with an unknown node 3" + help);
  EXPECT_EQ(
      error_of(R"({"nodes": [{"id": 0, "kind": "map"}, {"id": 1, "kind": "map"}],
                        "edges": [{"s": 0, "d": 1, "port": "arg"}, {"s": 1, "d": 0, "port": "arg"}]})"),
      "error[E0901]: 'n0' has to wait for itself\n"
      "  help: a graph has no circles, and all readers of what a scatter changes come before the scatter\n");
  EXPECT_EQ(error_of(R"({"nodes": [{"id": 0, "kind": "map"}, {"id": 1, "kind": "map"}],
                        "edges": [{"s": 0, "d": 1, "port": "gsrc"}]})"),
            "error[E0901]: edge 0 enters 'n1' at a port that it does not have\n");
}

}  // namespace
