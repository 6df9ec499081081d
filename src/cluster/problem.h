// The choice of clusters, for fusion graphs and for programs alike: nodes, who waits for whom, and what it
// costs to make and to read arrays.
#pragma once

#include <map>
#include <vector>

namespace twill {

struct ClusterProblem {
  /// `second` needs what `first` makes. Never in the same cluster if `strictly`. Otherwise, if they are, and
  /// orders matter: `first` makes its array in the order of the second one's (`same_order`), or in that of
  /// its own label (`by_label`).
  struct Wait {
    int first, second;
    bool strictly;
    bool same_order = false, by_label = false;
  };
  /// A node reads an array, in its own order (0), in that of a label, or single elements of it, which is no
  /// matter of order and costs nothing (`elements`).
  struct Reading {
    static constexpr int elements = -1;
    int reader;
    int label = 0;
    bool costs() const { return label != elements; }
    friend auto operator<=>(const Reading&, const Reading&) = default;
  };
  struct Data {
    int maker = -1;     // -1: nobody here
    bool kept = false;  // in memory whatever is chosen
    double write = 0,
           read = 0;  // what it costs to make it in memory; to read it, once for a cluster and order
    std::vector<Reading> readings;
  };

  /// The two are only together if one of these pairs is, each of which has one of the two.
  struct Needs {
    int first, second;
    std::vector<std::pair<int, int>> one_of;
  };

  /// What it costs more if all of these are together.
  struct More {
    std::vector<int> nodes;
    double cost;
  };

  int count = 0;
  std::vector<Wait> waits;  // one at most for two nodes
  std::vector<Data> arrays;
  std::vector<std::vector<bool>> later;   // [a][b]: b is in a later cluster than a, whatever is chosen
  std::vector<std::vector<bool>> never;   // [a][b], [b][a]: not in one cluster for other reasons
  std::vector<std::vector<int>> not_all;  // sets of nodes that are not all in one cluster
  std::vector<Needs> needs;
  std::vector<More> more;
  double last = 0;                              // what the highest number of a cluster costs
  std::map<std::pair<int, int>, double> saves;  // by pair of nodes: what it saves if they are together

  // Directions, and orders: these only if `label` is not empty. Without them all nodes of a cluster run in
  // the same direction.
  std::vector<int> label;      // by node: the label in whose order it can make its array, or 0
  bool both_ways = false;      // some nodes run to the right and some to the left …
  std::vector<int> runs_left;  // … by node: 0, 1, or -1 if it can do both

  /// Do all nodes of a cluster run in the same direction, and are there some that cannot?
  bool one_way() const { return both_ways && label.empty(); }

  bool may_meet(int a, int b) const {
    const auto i = static_cast<std::size_t>(a), k = static_cast<std::size_t>(b);
    if (one_way() && runs_left[i] >= 0 && runs_left[k] >= 0 && runs_left[i] != runs_left[k]) return false;
    return !later[i][k] && !later[k][i] && (never.empty() || !never[i][k]);
  }
};

/// A way to choose.
struct Chosen {
  std::vector<int> cluster;     // by node
  std::vector<int> order = {};  // by node, if orders matter: 0, 1 or a label
};

}  // namespace twill
