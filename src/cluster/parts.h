// The parts of a choice that depend on nothing but themselves, each as a choice of its own.
#pragma once

#include "cluster/problem.h"

namespace twill {

struct Part {
  std::vector<int> nodes, arrays;  // what the whole problem calls them
  ClusterProblem problem;          // with numbers of its own
};

/// Nodes whose choices depend on each other and on nobody else's.
std::vector<std::vector<int>> independent_nodes(const ClusterProblem& problem);

/// The same as problems. What others read is in memory; what others make comes from nobody.
std::vector<Part> independent_parts(const ClusterProblem& problem);

}  // namespace twill
