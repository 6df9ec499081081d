// The choice of clusters as a linear program.
//
// Variables
//   p_a       when a runs: nodes of one cluster at the same time, others at least 1 apart
//   y_ab      1 if a and b are in one cluster; for pairs where that may save something
//   w_a       1 if the array of a is made in memory: some reader of it is elsewhere
//   o_a       1 if a makes its array in the order of its label, not completely
//   l_a       1 if a makes it from right to left; only if others have to make theirs from left to right.
//   Where
//             orders do not matter it is that of all nodes of a cluster
//   m_k       1 if all nodes of a set are together that costs more then
//   s_ij      1 if the reads i and j of one array are the same: same cluster, same order
// A cluster reads an array once for every order, so the reads of an array are those of its readers that are
// elsewhere, less those that are the same as an earlier one: sum of (1 - y_ai) - sum of s_ij, where every
// read i is the same as at most one earlier read j.
//
// Nodes that must not be together, for reasons that times do not know of, are not so by way of others either:
// of the pairs on the way from one to the other not all are together. These rows are added when a solution
// breaks them.
//
// Times make a solution right, but say little while variables are not yet whole numbers. Three things are
// said about pairs directly, although times imply them:
//   circles     whoever waits for itself by way of pairs that are together cannot: if all pairs on the way
//   from b
//               back to a are together, and b reads a, then a and b are together as well (or not all of the
//               pairs, if a and b never are)
//   triangles   two that are together with a third one are together
//   triples     a read is the same as one of two others at most half as often as it is with the one, with the
//               other, and these are not with each other, all added up, and one more
// There are very many of them, so those that a solution of the relaxed program breaks are added until it
// breaks none. This is what makes the program easy to solve.
#pragma once

#include "cluster/deadline.h"
#include "cluster/linear.h"
#include "cluster/parts.h"

#include <map>
#include <span>

namespace twill {

class Formulation {
 public:
  /// Variables are named after what the whole problem calls nodes and arrays.
  explicit Formulation(const Part& part);

  const LinearModel& model() const { return model_; }
  /// Adds rows that all choices obey and that these values, which need not be whole numbers, do not; says how
  /// many. Some of them, if there is not more time.
  int cut_off(std::span<const double> values, const Deadline& deadline);
  /// The same for nodes that must not be together and are, by way of others. Without these rows the model
  /// does not know of them: a pair that saves nothing has no variable.
  int cut_apart(std::span<const double> values, const Deadline& deadline);
  /// A choice as values of the variables.
  std::vector<double> values_of(const Chosen& chosen) const;
  /// Joins the sets of nodes that are in one cluster, and says who runs to the left. `set`: by node.
  void read(std::span<const double> values, std::vector<int>& set, std::vector<bool>& left) const;

 private:
  using Reading = ClusterProblem::Reading;
  using Term = LinearModel::Term;
  struct Same {
    int array;
    Reading first, second;
    int variable;
  };

  void add_nodes();
  void add_wait(const ClusterProblem::Wait& wait);
  void add_array(int number);
  void add_same(int array, const Reading& first, const Reading& second, std::vector<Term>& once);
  void add_sets();
  std::vector<Term> pairs_of(std::span<const int> set) const;
  /// The variable of a pair, a new one if need be.
  int together(int a, int b);
  /// The two are equal if the variable, which is 0 or 1, is 1.
  void equal_if(int a, int b, int variable, double distance);
  std::map<int, std::pair<int, int>> ways_from(int node, std::span<const double> values) const;
  int cut_circles(std::span<const double> values, const Deadline& deadline);
  int cut_triangles(std::span<const double> values, const Deadline& deadline);
  int cut_triples(std::span<const double> values, const Deadline& deadline);

  const Part& part_;
  const ClusterProblem& problem_;
  LinearModel model_;
  std::map<int, int> time_, labelled_, left_;    // variables by node
  std::map<int, int> memory_;                    // by array
  std::map<std::pair<int, int>, int> together_;  // by pair, the smaller node first
  std::vector<Same> same_;
  std::vector<int> more_;  // by set of nodes that costs more
  int last_ = -1;          // the highest time
  double span_ = 0;
};

}  // namespace twill
