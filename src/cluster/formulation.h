// The choice of clusters as a linear program: some nodes of a fusion graph, of which all others are independent.
//
// Variables
//   p_a       when a runs: nodes of one cluster at the same time, others at least 1 apart
//   y_ab      1 if a and b are in one cluster; for pairs where that may save something
//   w_a       1 if the array of a is made in memory: some reader of it is elsewhere
//   o_a       1 if a makes its array in the order of its label (graph_facts.h), not completely
//   r_a       1 if a makes it from right to left; only if the graph has scans from both ends
//   s_ij      1 if the reads i and j of one array are the same: same cluster, same order
// A cluster reads an array once for every order, so the reads of an array are those of its readers that are
// elsewhere, less those that are the same as an earlier one: sum of (1 - y_ai) - sum of s_ij, where every read i
// is the same as at most one earlier read j.
//
// Times make a solution right, but say little while variables are not yet whole numbers. Three things are said
// about pairs directly, although times imply them:
//   circles     whoever waits for itself by way of pairs that are together cannot: if all pairs on the way from b
//               back to a are together, and b reads a, then a and b are together as well (or not all of the pairs,
//               if a and b never are)
//   triangles   two that are together with a third one are together
//   triples     a read is the same as one of two others at most half as often as it is with the one, with the
//               other, and these are not with each other, all added up, and one more
// There are very many of them, so those that a solution of the relaxed program breaks are added until it breaks
// none. This is what makes the program easy to solve.
#pragma once

#include "cluster/linear.h"
#include "cluster/partition.h"

#include <map>

namespace twill {

class Formulation {
 public:
  Formulation(const GraphFacts& facts, std::span<const int> nodes, GraphCost cost);

  const LinearModel& model() const { return model_; }
  /// Adds rows that all partitions obey and that these values, which need not be whole numbers, do not; says how
  /// many.
  int cut_off(std::span<const double> values);
  /// A partition as values of the variables.
  std::vector<double> values_of(const Partition& partition) const;
  /// Joins the sets of nodes that are in one cluster, and says who runs to the left. `set`: by node.
  void read(std::span<const double> values, std::vector<int>& set, std::vector<bool>& right) const;

 private:
  /// An array read by a node, in the node's own order or in that of a label.
  struct ArrayRead {
    int reader;
    int label;  // 0: the reader's own order
    friend auto operator<=>(const ArrayRead&, const ArrayRead&) = default;
  };
  struct Same {
    int array;
    ArrayRead first, second;
    int variable;
  };

  using Term = LinearModel::Term;

  bool inside(int node) const { return time_.contains(node); }
  bool minimises_reads() const { return cost_ == GraphCost::Reads || cost_ == GraphCost::ReadsWrites; }
  void add_nodes(std::span<const int> nodes);
  void add_pair(const GraphPair& pair);
  void add_reads(int array);
  void add_same(int array, const ArrayRead& first, const ArrayRead& second, std::vector<Term>& once);
  /// The variable of a pair, a new one if need be.
  int together(int a, int b);
  /// The two are equal if the variable, which is 0 or 1, is 1.
  void equal_if(int a, int b, int variable, double distance);
  int cut_circles(std::span<const double> values);
  int cut_triangles(std::span<const double> values);
  int cut_triples(std::span<const double> values);

  const GraphFacts& facts_;
  GraphCost cost_;
  LinearModel model_;
  std::map<int, int> time_, memory_, labelled_, right_;  // variables by node
  std::map<std::pair<int, int>, int> together_;          // by pair, the smaller node first
  std::vector<Same> same_;
  int last_ = -1;  // the highest time
  double span_ = 0;
};

}  // namespace twill
