// Random fusion graphs with all kinds of nodes.
#pragma once

#include "cluster/graph.h"

#include <fmt/format.h>

#include <random>
#include <set>
#include <string>

namespace twill {

inline FusionGraph random_graph(std::mt19937& rng, int count) {
  const auto any = [&](int n) { return static_cast<int>(rng() % static_cast<unsigned>(n)); };
  std::vector<GraphNode> nodes;
  std::vector<GraphEdge> edges;
  std::set<int> gone;  // changed by a scatter
  int label = 1;
  const int inputs = 1 + any(2);
  for (int n = 0; n < count; ++n) {
    GraphNode node{fmt::format("n{}", n), Combinator::Input, false, 0};
    const auto earlier = [&] {
      int found = any(n);
      for (int tries = 0; gone.contains(found) && tries < 20; ++tries) found = any(n);
      return gone.contains(found) ? 0 : found;  // the first input is never changed
    };
    const auto read = [&](int from, Port port) { edges.push_back({from, n, port, any(12) == 0}); };
    if (n >= inputs) {
      switch (any(9)) {
        case 0: node.kind = Combinator::Generate; break;
        case 1:
        case 2:
          node.kind = Combinator::Gather;
          node.label = ++label;
          read(earlier(), Port::Source);
          read(earlier(), Port::Index);
          break;
        case 3: {
          node.kind = Combinator::Scatter;
          read(earlier(), Port::Scattered);
          const int to = earlier();
          if (to == 0) {
            node.kind = Combinator::Map;
            edges.back().port = Port::Argument;
          } else {
            read(to, Port::Destination);
            gone.insert(to);
          }
          break;
        }
        case 4: node.kind = Combinator::Fold, read(earlier(), Port::Argument); break;
        case 5: node.kind = Combinator::ScanLeft, read(earlier(), Port::Argument); break;
        case 6: node.kind = Combinator::ScanRight, read(earlier(), Port::Argument); break;
        default:
          node.kind = Combinator::Map;
          for (int k = any(3); k >= 0; --k) read(earlier(), Port::Argument);
          break;
      }
      if (any(6) == 0) read(earlier(), Port::Element);
      node.result = any(5) == 0;
    }
    nodes.push_back(std::move(node));
  }
  std::set<int> read;
  for (const GraphEdge& edge : edges) read.insert(edge.from);
  for (int n = 0; n < count; ++n)
    if (nodes[static_cast<std::size_t>(n)].kind != Combinator::Input && !read.contains(n))
      nodes[static_cast<std::size_t>(n)].result = true;
  // A scatter may change what is read later, in the order of the nodes: then the graph is none.
  return {std::move(nodes), std::move(edges)};
}

inline std::string text_of(const FusionGraph& graph) {
  std::string text;
  for (int n = 0; n < graph.size(); ++n) {
    text += fmt::format("\n  {} kind {}{}{}", graph[n].name, static_cast<int>(graph[n].kind),
                        graph[n].label ? fmt::format(" label {}", graph[n].label) : "",
                        graph[n].result ? " result" : "");
    for (const int e : graph.into(n))
      text += fmt::format(", port {} of {}{}", static_cast<int>(graph.edge(e).port),
                          graph[graph.edge(e).from].name, graph.edge(e).forced ? " forced" : "");
  }
  return text;
}

}  // namespace twill
