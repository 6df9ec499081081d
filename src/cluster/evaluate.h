// What clusters cost and whether they can be run, one cluster at a time: for searches that try many.
//
// What a choice costs is the sum of what its clusters cost, and something for the highest number of a
// cluster. A cluster costs what it reads of others, once for every order, and what it makes in memory, for
// others or because it has to be there.
#pragma once

#include "cluster/problem.h"

#include <optional>
#include <span>

namespace twill {

class Evaluator {
 public:
  explicit Evaluator(const ClusterProblem& problem);

  /// Of a cluster that has exactly these nodes; nothing if they cannot be one.
  std::optional<double> cost_of(std::span<const int> members);
  /// The highest number of a cluster, from 0; nothing if clusters wait for each other. `cluster`: by node.
  std::optional<int> highest(std::span<const int> cluster) const;
  /// All of it, for a choice by node; nothing if it cannot be run.
  std::optional<double> cost_of_all(std::span<const int> cluster);
  /// With the orders of all nodes, and clusters numbered in the order in which they run, for a choice that
  /// can be run.
  Chosen completed(std::vector<int> cluster);

  /// Nodes that wait for a node, that it waits for, or that read what it reads: who it may gain to be with.
  const std::vector<int>& neighbours(int node) const;

 private:
  struct Reads {
    int array, label;
  };

  struct Sequence {
    std::vector<int>
        clusters;  // in an order in which they can run; fewer than there are, if there is a circle
    std::size_t count = 0;
    int highest = 0;
  };

  Sequence sequence_of(std::span<const int> cluster) const;
  bool is_here(int node) const { return mark_[static_cast<std::size_t>(node)] == stamp_; }
  bool have_orders(std::span<const int> members);
  bool is_in_memory(int array) const;
  int group_of(int node);

  const ClusterProblem& problem_;
  std::vector<std::vector<int>> waits_, arrays_, never_, sets_, needs_, more_, neighbours_;  // by node
  std::vector<std::vector<Reads>> reads_;                                                    // by node
  std::vector<std::vector<std::pair<int, double>>> saves_;  // by the smaller node
  bool ordered_;

  // Of the cluster that is looked at.
  struct ReadIn {
    int stamp = 0, order = 0;
  };
  std::vector<int> mark_, group_, fixed_, order_;
  std::vector<ReadIn> read_in_;  // by array: in an order that is fixed
  std::vector<std::pair<int, int>> found_;
  int stamp_ = 0;
};

/// The members of every cluster of a choice.
std::vector<std::vector<int>> members_of(std::span<const int> cluster);

}  // namespace twill
