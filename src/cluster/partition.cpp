#include "cluster/partition.h"

#include "cluster/at.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace twill {

namespace {

class Union {
 public:
  explicit Union(std::size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), 0); }
  int find(int one) {
    while (parent_[at(one)] != one) one = parent_[at(one)] = parent_[at(parent_[at(one)])];
    return one;
  }
  void join(int a, int b) { parent_[at(find(a))] = find(b); }

 private:
  std::vector<int> parent_;
};

bool together(const Partition& partition, int a, int b) {
  return partition.cluster[at(a)] == partition.cluster[at(b)];
}

}  // namespace

char letter_of(GraphCost cost) { return static_cast<char>('a' + static_cast<int>(cost)); }

int order_of_read(const FusionGraph& graph, const Partition& partition, const GraphEdge& edge) {
  if (!is_ordered(edge.port)) return -1;
  return edge.port == Port::Source ? graph[edge.to].label : partition.order[at(edge.to)];
}

std::vector<bool> manifest_of(const GraphFacts& facts, const Partition& partition) {
  std::vector<bool> manifest(at(facts.graph.size()));
  for (int node = 0; node < facts.graph.size(); ++node)
    manifest[at(node)] = facts.graph[node].result || facts.graph[node].kind == Combinator::Input;
  for (const GraphPair& pair : facts.pairs)
    if (!together(partition, pair.from, pair.to)) manifest[at(pair.from)] = true;
  return manifest;
}

std::optional<std::string> why_invalid(const FusionGraph& graph, const Partition& partition) {
  const GraphFacts facts(graph);
  for (int node = 0; node < graph.size(); ++node) {
    const int cluster = partition.cluster[at(node)], order = partition.order[at(node)];
    const Combinator kind = graph[node].kind;
    const std::string& name = graph[node].name;
    if ((cluster == 0) != (kind == Combinator::Input) || cluster < 0)
      return fmt::format("'{}' is in cluster {}", name, cluster);
    const bool linear = order == 0 || order == 1;
    if (kind == Combinator::ScanLeft && order != 0)
      return fmt::format("'{}' does not run to the right", name);
    if (kind == Combinator::ScanRight && order != 1)
      return fmt::format("'{}' does not run to the left", name);
    if (kind == Combinator::Scatter && !linear) return fmt::format("'{}' reads in order {}", name, order);
  }
  const std::vector<bool> manifest = manifest_of(facts, partition);
  for (int node = 0; node < graph.size(); ++node)
    if (manifest[at(node)] && graph[node].kind != Combinator::Input && partition.order[at(node)] > 1)
      return fmt::format("'{}' is in memory and not made completely", graph[node].name);
  for (const GraphPair& pair : facts.pairs) {
    const int first = partition.cluster[at(pair.from)], second = partition.cluster[at(pair.to)];
    const std::string &from = graph[pair.from].name, &to = graph[pair.to].name;
    if (first > second) return fmt::format("'{}' runs before '{}'", to, from);
    if (first < second) continue;
    if (!pair.open) return fmt::format("'{}' and '{}' share a loop: {}", from, to, pair.why);
    for (const int e : pair.edges)
      if (order_of_read(graph, partition, graph.edge(e)) != partition.order[at(pair.from)])
        return fmt::format("'{}' reads '{}' in another order than it is made", to, from);
  }
  for (const FusionGraph::Before& pair : graph.before())
    if (partition.cluster[at(pair.first)] >= partition.cluster[at(pair.second)])
      return fmt::format("'{}' reads what '{}' changes, and not before it", graph[pair.first].name,
                         graph[pair.second].name);
  return std::nullopt;
}

double cost_of(const GraphFacts& facts, const Partition& partition, GraphCost cost) {
  const FusionGraph& graph = facts.graph;
  switch (cost) {
    case GraphCost::Clusters:
      return partition.cluster.empty()
                 ? 0
                 : *std::max_element(partition.cluster.begin(), partition.cluster.end());
    case GraphCost::Unfused:
      return static_cast<double>(std::count_if(
          facts.pairs.begin(), facts.pairs.end(),
          [&](const GraphPair& pair) { return pair.open && !together(partition, pair.from, pair.to); }));
    case GraphCost::Manifest: {
      const std::vector<bool> manifest = manifest_of(facts, partition);
      double count = 0;
      for (int node = 0; node < graph.size(); ++node)
        count += manifest[at(node)] && graph[node].kind != Combinator::Input;
      return count;
    }
    case GraphCost::Reads: {
      std::set<std::array<int, 3>> reads;
      for (const GraphEdge& edge : graph.edges())
        if (is_ordered(edge.port) && !together(partition, edge.from, edge.to))
          reads.insert({edge.from, partition.cluster[at(edge.to)], order_of_read(graph, partition, edge)});
      return static_cast<double>(reads.size());
    }
    case GraphCost::ReadsWrites:
      return cost_of(facts, partition, GraphCost::Manifest) + cost_of(facts, partition, GraphCost::Reads);
  }
  return 0;
}

namespace {

/// Numbers for sets in an order in which they can run; nothing if there is a circle. With as few as possible,
/// a set's is one more than the highest of those that have to run before it.
std::optional<std::vector<int>> number(const GraphFacts& facts, std::span<const int> set, bool as_few) {
  const FusionGraph& graph = facts.graph;
  std::map<int, std::set<int>> next;
  std::map<int, int> waits, level;
  for (int node = 0; node < graph.size(); ++node)
    if (graph[node].kind != Combinator::Input) waits[set[at(node)]] = 0, level[set[at(node)]] = 1;
  const auto order = [&](int first, int second) {
    if (graph[first].kind == Combinator::Input) return;
    const int a = set[at(first)], b = set[at(second)];
    if (a != b && next[a].insert(b).second) ++waits[b];
  };
  for (const GraphPair& pair : facts.pairs) order(pair.from, pair.to);
  for (const FusionGraph::Before& pair : graph.before()) order(pair.first, pair.second);
  std::vector<int> ready;
  for (const auto& [one, count] : waits)
    if (count == 0) ready.push_back(one);
  for (std::size_t k = 0; k < ready.size(); ++k)
    for (const int other : next[ready[k]]) {
      level[other] = std::max(level[other], level[ready[k]] + 1);
      if (--waits[other] == 0) ready.push_back(other);
    }
  if (ready.size() < waits.size()) return std::nullopt;
  if (!as_few)
    for (std::size_t k = 0; k < ready.size(); ++k) level[ready[k]] = static_cast<int>(k) + 1;
  std::vector<int> result(at(graph.size()));
  for (int node = 0; node < graph.size(); ++node)
    result[at(node)] = graph[node].kind == Combinator::Input ? 0 : level[set[at(node)]];
  return result;
}

}  // namespace

std::optional<Partition> complete(const GraphFacts& facts, std::span<const int> set,
                                  const std::vector<bool>& right, bool as_few) {
  const FusionGraph& graph = facts.graph;
  const auto inside = [&](const GraphPair& pair) {
    return graph[pair.from].kind != Combinator::Input && set[at(pair.from)] == set[at(pair.to)];
  };
  for (const GraphPair& pair : facts.pairs)
    if (inside(pair) && !pair.fusible()) return std::nullopt;
  for (const FusionGraph::Before& pair : graph.before())
    if (set[at(pair.first)] == set[at(pair.second)]) return std::nullopt;
  auto cluster = number(facts, set, as_few);
  if (!cluster) return std::nullopt;

  // Nodes of one order, and what that order has to be: -1 if nothing is known yet.
  Union same(at(graph.size()));
  for (const GraphPair& pair : facts.pairs)
    if (inside(pair))
      for (const int e : pair.edges)
        if (graph.edge(e).port != Port::Source) same.join(pair.from, pair.to);
  std::map<int, int> order;
  bool possible = true;
  const auto fix = [&](int node, int value) {
    const auto [known, first] = order.try_emplace(same.find(node), value);
    possible = possible && (first || known->second == value);
  };
  Partition result{std::move(*cluster), std::vector<int>(at(graph.size()))};
  for (int node = 0; node < graph.size(); ++node) {
    if (graph[node].kind == Combinator::ScanLeft) fix(node, 0);
    if (graph[node].kind == Combinator::ScanRight) fix(node, 1);
  }
  for (const GraphPair& pair : facts.pairs)
    if (inside(pair))
      for (const int e : pair.edges)
        if (graph.edge(e).port == Port::Source) fix(pair.from, graph[pair.to].label);
  if (!possible) return std::nullopt;
  const bool all_right = graph.has(Combinator::ScanRight) && !graph.has(Combinator::ScanLeft);
  for (int node = 0; node < graph.size(); ++node) {
    const auto known = order.find(same.find(node));
    const bool choice = all_right || (!right.empty() && right[at(node)]);
    result.order[at(node)] = known != order.end() ? known->second : choice ? 1 : 0;
  }
  // An array that stays in memory is made completely, and a scatter reads all there is.
  const std::vector<bool> manifest = manifest_of(facts, result);
  for (int node = 0; node < graph.size(); ++node) {
    const bool whole = manifest[at(node)] || graph[node].kind == Combinator::Scatter;
    if (whole && graph[node].kind != Combinator::Input && result.order[at(node)] > 1) return std::nullopt;
  }
  return result;
}

std::vector<std::vector<int>> passes_of(const FusionGraph& graph, const Partition& partition) {
  // A node, or an array that a cluster reads in an order.
  Union parts(at(graph.size()) + graph.edges().size());
  std::map<std::array<int, 3>, int> read;
  for (const GraphEdge& edge : graph.edges()) {
    if (!is_ordered(edge.port)) continue;
    if (together(partition, edge.from, edge.to)) {
      parts.join(edge.from, edge.to);
      continue;
    }
    const int fresh = graph.size() + static_cast<int>(read.size());
    const auto [found, first] = read.try_emplace(
        {edge.from, partition.cluster[at(edge.to)], order_of_read(graph, partition, edge)}, fresh);
    parts.join(edge.to, found->second);
  }
  std::map<std::pair<int, int>, std::vector<int>> passes;  // by cluster and part
  for (const int node : graph.sorted())
    if (graph[node].kind != Combinator::Input)
      passes[{partition.cluster[at(node)], parts.find(node)}].push_back(node);
  std::vector<std::vector<int>> result;
  for (auto& [key, nodes] : passes) result.push_back(std::move(nodes));
  return result;
}

}  // namespace twill
