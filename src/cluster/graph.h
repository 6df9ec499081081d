// A fusion graph: combinators, each of which makes one array, and who reads which array in which order.
//
// The problem of clustering without a program around it. The array of a combinator is named after it.
//
// Orders. A loop visits the elements of an array from left to right (0), from right to left (1), or as a
// gather reads them (the gather's label, 2 and above). What a combinator reads at its ports:
//   Argument     in the order in which it makes its own array; several: a zip
//   Source       of a gather: in the order of its label
//   Index        of a gather: in the order in which it makes its own array
//   Scattered    of a scatter: from left to right or from right to left
//   Destination  of a scatter: all of it, and nobody reads it afterwards
//   Element      single elements anywhere: all of it has to be there
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace twill {

enum class Combinator { Input, Generate, Map, Gather, Scatter, Fold, ScanLeft, ScanRight };
enum class Port { Argument, Source, Index, Scattered, Destination, Element };

/// Is the array read one element after the other?
bool is_ordered(Port port);

struct GraphNode {
  std::string name;
  Combinator kind = Combinator::Map;
  bool result = false;  // must be in memory at the end
  int label = 0;        // of a gather: at least 2
};

struct GraphEdge {
  int from = 0, to = 0;  // positions of nodes
  Port port = Port::Argument;
  bool forced = false;  // the user wants the array in memory before this reader starts
};

class FusionGraph {
 public:
  /// Throws an Error if the graph makes no sense: a combinator that cannot have such a port, a circle, a
  /// reader of what a scatter has changed.
  FusionGraph(std::vector<GraphNode> nodes, std::vector<GraphEdge> edges);

  int size() const { return static_cast<int>(nodes_.size()); }
  const GraphNode& operator[](int node) const { return nodes_[static_cast<std::size_t>(node)]; }
  std::span<const GraphEdge> edges() const { return edges_; }
  const GraphEdge& edge(int number) const { return edges_[static_cast<std::size_t>(number)]; }
  /// Numbers of edges.
  std::span<const int> out_of(int node) const { return out_[static_cast<std::size_t>(node)]; }
  std::span<const int> into(int node) const { return in_[static_cast<std::size_t>(node)]; }
  bool has(Combinator kind) const;
  /// All nodes, each after those that have to run before it.
  std::span<const int> sorted() const { return sorted_; }

  /// Readers of an array that a scatter changes have to be done before the scatter starts: (reader, scatter).
  struct Before {
    int first, second;
  };
  std::span<const Before> before() const { return before_; }

 private:
  std::vector<GraphNode> nodes_;
  std::vector<GraphEdge> edges_;
  std::vector<std::vector<int>> out_, in_;
  std::vector<Before> before_;
  std::vector<int> sorted_;
};

/// Reads the form that `twill cluster --graph` takes; `where` names the file in errors.
FusionGraph graph_from_json(const std::string& where, const std::string& text);

}  // namespace twill
