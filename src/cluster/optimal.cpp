#include "cluster/optimal.h"

#include "base/error.h"
#include "cluster/at.h"
#include "cluster/parts.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

namespace twill {

namespace {

std::vector<int> each_by_itself(const FusionGraph& graph) {
  std::vector<int> set(at(graph.size()));
  std::iota(set.begin(), set.end(), 0);
  return set;
}

}  // namespace

ClusterProblem problem_of(const GraphFacts& facts, GraphCost cost) {
  const FusionGraph& graph = facts.graph;
  const std::size_t count = at(graph.size());
  ClusterProblem problem;
  problem.count = graph.size();
  problem.later.assign(count, std::vector<bool>(count));
  for (int a = 0; a < graph.size(); ++a)
    for (int b = 0; b < graph.size(); ++b) problem.later[at(a)][at(b)] = facts.is_apart(a, b);
  const bool writes = cost == GraphCost::Manifest || cost == GraphCost::ReadsWrites;
  const bool reads = cost == GraphCost::Reads || cost == GraphCost::ReadsWrites;
  problem.last = cost == GraphCost::Clusters ? 1 : 0;
  for (const GraphPair& pair : facts.pairs) {
    if (graph[pair.from].kind == Combinator::Input) continue;
    ClusterProblem::Wait wait{pair.from, pair.to, !pair.fusible()};
    for (const int e : pair.edges)
      (graph.edge(e).port == Port::Source ? wait.by_label : wait.same_order) = true;
    problem.waits.push_back(wait);
    if (cost == GraphCost::Unfused && pair.fusible()) problem.saves[std::minmax(pair.from, pair.to)] = 1;
  }
  for (const FusionGraph::Before& pair : graph.before())
    problem.waits.push_back({pair.first, pair.second, true});
  problem.both_ways = graph.has(Combinator::ScanLeft) && graph.has(Combinator::ScanRight);
  problem.label = facts.label;
  for (int node = 0; node < graph.size(); ++node) {
    const Combinator kind = graph[node].kind;
    problem.runs_left.push_back(kind == Combinator::ScanLeft ? 0 : kind == Combinator::ScanRight ? 1 : -1);
    ClusterProblem::Data data;
    data.maker = kind == Combinator::Input ? -1 : node;
    data.kept = facts.manifest[at(node)];
    data.write = writes ? 1 : 0;
    data.read = reads ? 1 : 0;
    for (const int e : graph.out_of(node)) {
      const GraphEdge& edge = graph.edge(e);
      if (is_ordered(edge.port))
        data.readings.push_back({edge.to, edge.port == Port::Source ? graph[edge.to].label : 0});
    }
    problem.arrays.push_back(std::move(data));
  }
  return problem;
}

namespace {

/// What no partition can do without.
double least_cost(const GraphFacts& facts, GraphCost cost) {
  const FusionGraph& graph = facts.graph;
  double least = 0;
  if (cost == GraphCost::Clusters) {
    std::vector<int> number(at(graph.size()));
    std::map<int, std::vector<std::pair<int, int>>> after;
    for (const GraphPair& pair : facts.pairs) after[pair.from].push_back({pair.to, pair.fusible() ? 0 : 1});
    for (const FusionGraph::Before& pair : graph.before()) after[pair.first].push_back({pair.second, 1});
    for (const int node : graph.sorted()) {
      if (graph[node].kind != Combinator::Input) number[at(node)] = std::max(number[at(node)], 1);
      least = std::max(least, static_cast<double>(number[at(node)]));
      for (const auto& [other, later] : after[node])
        number[at(other)] = std::max(number[at(other)], number[at(node)] + later);
    }
  }
  if (cost == GraphCost::Unfused)
    for (const GraphPair& pair : facts.pairs) least += pair.open && !pair.fusible();
  if (cost == GraphCost::Manifest || cost == GraphCost::ReadsWrites)
    for (int node = 0; node < graph.size(); ++node)
      least += facts.manifest[at(node)] && graph[node].kind != Combinator::Input;
  if (cost == GraphCost::Reads || cost == GraphCost::ReadsWrites)
    for (int node = 0; node < graph.size(); ++node) {
      // Reads of labels are different from each other; one of those that stay does for all others.
      std::set<int> labels;
      bool read = false;
      for (const GraphPair& pair : facts.pairs) {
        if (pair.from != node || pair.fusible()) continue;
        for (const int e : pair.edges) {
          const GraphEdge& edge = graph.edge(e);
          read = read || is_ordered(edge.port);
          if (edge.port == Port::Source) labels.insert(graph[edge.to].label);
        }
      }
      least += read ? std::max(1.0, static_cast<double>(labels.size())) : 0;
    }
  return least;
}

}  // namespace

Partition no_fusion(const GraphFacts& facts) { return *complete(facts, each_by_itself(facts.graph)); }

Partition greedy_partition(const GraphFacts& facts, Greed greed) {
  const FusionGraph& graph = facts.graph;
  std::vector<int> place(at(graph.size()));
  for (std::size_t k = 0; k < graph.sorted().size(); ++k) place[at(graph.sorted()[k])] = static_cast<int>(k);
  std::vector<const GraphPair*> pairs;
  for (const GraphPair& pair : facts.pairs)
    if (pair.fusible()) pairs.push_back(&pair);
  std::stable_sort(pairs.begin(), pairs.end(), [&](const GraphPair* a, const GraphPair* b) {
    return greed == Greed::TopDown ? std::pair(place[at(a->from)], place[at(a->to)]) <
                                         std::pair(place[at(b->from)], place[at(b->to)])
                                   : std::pair(place[at(a->to)], place[at(a->from)]) >
                                         std::pair(place[at(b->to)], place[at(b->from)]);
  });
  std::vector<int> set = each_by_itself(graph);
  Partition best = *complete(facts, set);
  for (const GraphPair* pair : pairs) {
    const int from = set[at(pair->from)], to = set[at(pair->to)];
    if (from == to) continue;
    std::vector<int> tried = set;
    std::replace(tried.begin(), tried.end(), from, to);
    if (auto partition = complete(facts, tried)) {
      best = std::move(*partition);
      set = std::move(tried);
    }
  }
  return best;
}

Optimum optimal_partition(const GraphFacts& facts, GraphCost cost, const SolveOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const Deadline deadline(options.seconds);
  const bool few = cost == GraphCost::Clusters;
  const double least = least_cost(facts, cost);
  Optimum result;
  const auto take = [&](std::optional<Partition> partition, double saved) {
    ensure(partition.has_value(), "a solution of the linear program is a partition");
    result.partition = std::move(*partition);
    result.cost = cost_of(facts, result.partition, cost);
    result.bound = std::max(least, std::ceil(result.cost - saved - 1e-6));  // costs are whole numbers
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return result;
  };
  const ClusterProblem problem = problem_of(facts, cost);

  // All that may be together in one cluster is often possible, and then nothing is better.
  std::vector<int> set = each_by_itself(facts.graph);
  for (const std::vector<int>& part : independent_nodes(problem))
    for (const int node : part) set[at(node)] = part.front();
  if (auto together = complete(facts, set, {}, few); together && cost_of(facts, *together, cost) <= least)
    return take(std::move(together), 0);

  const auto known = [&] {
    std::vector<Chosen> chosen;
    for (const Greed greed : {Greed::TopDown, Greed::BottomUp}) {
      Partition partition = greedy_partition(facts, greed);
      chosen.push_back({std::move(partition.cluster), std::move(partition.order)});
    }
    return chosen;
  };
  const BestChoice best = best_choice(problem, known, true, options, deadline);
  result.solved = best.solved;
  return take(complete(facts, best.set, best.left, few), best.may_save);
}

}  // namespace twill
