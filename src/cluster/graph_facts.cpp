#include "cluster/graph_facts.h"

#include "cluster/at.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace twill {

namespace {

/// Why a reader needs all of what it reads before it starts; empty if it does not.
std::string why_whole(const FusionGraph& graph, const GraphEdge& edge) {
  const std::string &from = graph[edge.from].name, &to = graph[edge.to].name;
  if (graph[edge.from].kind == Combinator::Input) return fmt::format("'{}' is an input", from);
  if (graph[edge.from].kind == Combinator::Scatter)
    return fmt::format("all of '{}' is scattered before an element of it is final", from);
  if (edge.forced) return fmt::format("'{}' is forced", from);
  if (edge.port == Port::Destination) return fmt::format("'{}' changes '{}' anywhere", to, from);
  if (edge.port == Port::Element) return fmt::format("'{}' reads elements of '{}' anywhere", to, from);
  return {};
}

}  // namespace

GraphFacts::GraphFacts(const FusionGraph& all) : graph(all) {
  std::map<std::pair<int, int>, std::size_t> known;
  for (std::size_t e = 0; e < graph.edges().size(); ++e) {
    const GraphEdge& edge = graph.edges()[e];
    const auto [found, first] = known.try_emplace({edge.from, edge.to}, pairs.size());
    if (first) pairs.push_back({edge.from, edge.to, {}, true, {}});
    GraphPair& pair = pairs[found->second];
    pair.edges.push_back(static_cast<int>(e));
    if (const std::string why = why_whole(graph, edge); !why.empty()) {
      pair.open = false;
      if (pair.why.empty()) pair.why = why;
    }
  }
  do {
    close_paths();
  } while (find_labels());
}

void GraphFacts::close_paths() {
  const std::size_t count = at(graph.size());
  std::vector<std::vector<bool>> after(count, std::vector<bool>(count));
  apart_.assign(count, std::vector<bool>(count));
  std::vector<std::vector<std::pair<int, bool>>> next(count);  // (node, is it strictly later?)
  for (const GraphPair& pair : pairs) next[at(pair.from)].push_back({pair.to, !pair.fusible()});
  for (const FusionGraph::Before& pair : graph.before()) next[at(pair.first)].push_back({pair.second, true});
  const auto add = [count](std::vector<bool>& to, const std::vector<bool>& from) {
    for (std::size_t k = 0; k < count; ++k)
      if (from[k]) to[k] = true;
  };
  for (auto node = graph.sorted().rbegin(); node != graph.sorted().rend(); ++node) {
    for (const auto& [other, strictly] : next[at(*node)]) {
      after[at(*node)][at(other)] = true;
      add(after[at(*node)], after[at(other)]);
      add(apart_[at(*node)], strictly ? after[at(other)] : apart_[at(other)]);
      if (strictly) apart_[at(*node)][at(other)] = true;
    }
  }
  for (GraphPair& pair : pairs)
    if (pair.fusible() && apart_[at(pair.from)][at(pair.to)])
      pair.why = fmt::format(
          "what is computed between '{}' and '{}' needs all of the one and is needed by the other",
          graph[pair.from].name, graph[pair.to].name);
}

/// Going back from the last nodes, so that what reads an array is known. Says whether a pair turned out not
/// to be fusible.
bool GraphFacts::find_labels() {
  const std::size_t count = at(graph.size());
  label.assign(count, 0);
  manifest.assign(count, false);
  std::vector<std::vector<GraphPair*>> readers(count);
  for (GraphPair& pair : pairs) readers[at(pair.from)].push_back(&pair);
  bool changed = false;
  for (auto node = graph.sorted().rbegin(); node != graph.sorted().rend(); ++node) {
    const Combinator kind = graph[*node].kind;
    manifest[at(*node)] = kind == Combinator::Input || graph[*node].result ||
                          std::any_of(readers[at(*node)].begin(), readers[at(*node)].end(),
                                      [](const GraphPair* pair) { return !pair->fusible(); });
    const bool free = !manifest[at(*node)] && kind != Combinator::ScanLeft && kind != Combinator::ScanRight &&
                      kind != Combinator::Scatter;
    int common = -1;  // -1: no reader seen
    for (const GraphPair* pair : readers[at(*node)])
      for (const int e : pair->edges) {
        const GraphEdge& edge = graph.edge(e);
        const bool same = edge.port == Port::Argument || edge.port == Port::Index;
        const int wanted = edge.port == Port::Source ? graph[edge.to].label : same ? label[at(edge.to)] : 0;
        common = common < 0 || common == wanted ? wanted : 0;
      }
    label[at(*node)] = free ? std::max(common, 0) : 0;
    for (GraphPair* pair : readers[at(*node)])
      for (const int e : pair->edges) {
        const GraphEdge& edge = graph.edge(e);
        if (edge.port != Port::Source || !pair->fusible() || graph[edge.to].label == label[at(*node)])
          continue;
        pair->why =
            fmt::format("'{}' cannot be made in the order in which '{}' reads it{}", graph[edge.from].name,
                        graph[edge.to].name, free ? ": others read it in another order" : "");
        changed = true;
      }
  }
  return changed;
}

}  // namespace twill
