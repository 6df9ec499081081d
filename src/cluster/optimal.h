// The best way to cut a fusion graph into clusters.
#pragma once

#include "cluster/linear.h"
#include "cluster/partition.h"

#include <functional>

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

/// How the solver is asked. `open` is called when there is something to solve.
struct SolveOptions {
  double seconds = 2;
  std::function<std::unique_ptr<LinearSolver>()> open = [] { return open_cbc(); };
  std::function<void(const LinearModel&)> look = {};  // sees every model before it is solved
};

Optimum optimal_partition(const GraphFacts& facts, GraphCost cost, const SolveOptions& options = {});

/// Pairs that may share a loop do so, one after the other, wherever that is still possible: from the first nodes
/// of the graph on, or from the last ones.
enum class Greed { TopDown, BottomUp };
Partition greedy_partition(const GraphFacts& facts, Greed greed);

/// Every combinator by itself.
Partition no_fusion(const GraphFacts& facts);

}  // namespace twill
