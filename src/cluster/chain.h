// The best clusters of a chain, without a solver.
#pragma once

#include "cluster/deadline.h"
#include "cluster/problem.h"

#include <optional>

namespace twill {

/// If every node waits for the one before, in some order: clusters are then ranges of that order, and what
/// ranges cost changes little from one to the next (unless sets of nodes cost more). By node, the number of
/// its cluster. Nothing if the nodes are no chain, orders leave something to choose that ranges do not tell,
/// or time is up.
std::optional<std::vector<int>> best_of_chain(const ClusterProblem& problem, const Deadline& deadline);

}  // namespace twill
