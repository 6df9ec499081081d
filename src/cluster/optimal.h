// The best way to cut a fusion graph into clusters.
#pragma once

#include "cluster/partition.h"
#include "cluster/solve.h"

namespace twill {

struct Optimum {
  Partition partition;
  double cost = 0, bound = 0;  // nothing costs less than `bound`
  int solved = 0;              // problems that a solver had to be asked about
  double seconds = 0;

  bool proven() const { return cost <= bound + 1e-6; }
  /// How much of the cost might be saved, at most.
  double gap() const { return proven() ? 0 : (cost - bound) / cost; }
};

/// The graph as a choice: a node makes one array, its own.
ClusterProblem problem_of(const GraphFacts& facts, GraphCost cost);

Optimum optimal_partition(const GraphFacts& facts, GraphCost cost, const SolveOptions& options = {});

/// Pairs that may share a loop do so, one after the other, wherever that is still possible: from the first
/// nodes of the graph on, or from the last ones.
Partition greedy_partition(const GraphFacts& facts, Greed greed);

/// Every combinator by itself.
Partition no_fusion(const GraphFacts& facts);

}  // namespace twill
