#include "cluster/graph.h"

#include "base/error.h"

#include <fmt/format.h>

#include <algorithm>

namespace twill {

namespace {

[[noreturn]] void wrong(const std::string& message, const std::string& help = {}) {
  fail(Fault::User, "E0901", {}, message, help);
}

bool fits(Combinator kind, Port port) {
  switch (port) {
    case Port::Source:
    case Port::Index: return kind == Combinator::Gather;
    case Port::Scattered:
    case Port::Destination: return kind == Combinator::Scatter;
    case Port::Argument:
      return kind == Combinator::Map || kind == Combinator::Fold || kind == Combinator::ScanLeft ||
             kind == Combinator::ScanRight;
    case Port::Element: return kind != Combinator::Input;
  }
  return false;
}

}  // namespace

bool is_ordered(Port port) { return port != Port::Destination && port != Port::Element; }

FusionGraph::FusionGraph(std::vector<GraphNode> nodes, std::vector<GraphEdge> edges)
    : nodes_(std::move(nodes)), edges_(std::move(edges)) {
  out_.resize(nodes_.size());
  in_.resize(nodes_.size());
  for (const GraphNode& node : nodes_) {
    if (node.kind == Combinator::Gather && node.label < 2)
      wrong(fmt::format("gather '{}' has no label", node.name), "labels of gathers are 2, 3, …");
    if (node.kind == Combinator::Input && node.result)
      wrong(fmt::format("input '{}' is a result", node.name),
            "inputs are in memory anyway: leave \"out\" away");
  }
  for (std::size_t e = 0; e < edges_.size(); ++e) {
    const GraphEdge& edge = edges_[e];
    for (const int end : {edge.from, edge.to})
      if (end < 0 || end >= size()) wrong(fmt::format("edge {} leads to a node that does not exist", e));
    if (!fits((*this)[edge.to].kind, edge.port))
      wrong(fmt::format("edge {} enters '{}' at a port that it does not have", e, (*this)[edge.to].name));
    out_[static_cast<std::size_t>(edge.from)].push_back(static_cast<int>(e));
    in_[static_cast<std::size_t>(edge.to)].push_back(static_cast<int>(e));
  }
  for (const GraphEdge& edge : edges_) {
    if (edge.port != Port::Destination) continue;
    for (const int other : out_of(edge.from))
      if (edges_[static_cast<std::size_t>(other)].to != edge.to)
        before_.push_back({edges_[static_cast<std::size_t>(other)].to, edge.to});
  }

  std::vector<std::vector<int>> next(nodes_.size());
  std::vector<int> waits(nodes_.size());
  const auto order = [&](int first, int second) {
    next[static_cast<std::size_t>(first)].push_back(second);
    ++waits[static_cast<std::size_t>(second)];
  };
  for (const GraphEdge& edge : edges_) order(edge.from, edge.to);
  for (const Before& pair : before_) order(pair.first, pair.second);
  for (int node = 0; node < size(); ++node)
    if (waits[static_cast<std::size_t>(node)] == 0) sorted_.push_back(node);
  for (std::size_t k = 0; k < sorted_.size(); ++k)
    for (const int other : next[static_cast<std::size_t>(sorted_[k])])
      if (--waits[static_cast<std::size_t>(other)] == 0) sorted_.push_back(other);
  if (sorted_.size() < nodes_.size()) {
    const auto stuck = std::find_if(waits.begin(), waits.end(), [](int n) { return n > 0; }) - waits.begin();
    wrong(fmt::format("'{}' has to wait for itself", nodes_[static_cast<std::size_t>(stuck)].name),
          "a graph has no circles, and all readers of what a scatter changes come before the scatter");
  }
}

bool FusionGraph::has(Combinator kind) const {
  return std::any_of(nodes_.begin(), nodes_.end(), [&](const GraphNode& node) { return node.kind == kind; });
}

}  // namespace twill
