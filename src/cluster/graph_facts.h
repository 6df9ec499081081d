// What is known about a fusion graph before anything is chosen.
#pragma once

#include "cluster/graph.h"

namespace twill {

/// A combinator and one that reads its array, by however many ports. `why` is empty if the two can share a
/// loop.
struct GraphPair {
  int from, to;
  std::vector<int> edges;
  bool open;        // nothing about the two speaks against it: no port that needs the whole array
  std::string why;  // why they never share a loop, whatever is chosen

  bool fusible() const { return why.empty(); }
};

struct GraphFacts {
  explicit GraphFacts(const FusionGraph& graph);

  const FusionGraph& graph;
  std::vector<GraphPair> pairs;
  /// By node: the one gather in whose order its array can be made (0: none). It takes readers that all agree
  /// on it, because an array that is made so is not made completely, and so never stays in memory.
  std::vector<int> label;
  /// By node: must be in memory.
  std::vector<bool> manifest;

  /// Is `b` in a later cluster than `a`, whatever is chosen?
  bool is_apart(int a, int b) const {
    return apart_[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)];
  }

 private:
  bool find_labels();
  void close_paths();

  std::vector<std::vector<bool>>
      apart_;  // [a][b]: b runs after something that needs all of a or what follows
};

}  // namespace twill
