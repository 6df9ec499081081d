// Choices of clusters without a solver: the best one of a chain, and good ones of anything else.
#pragma once

#include "cluster/evaluate.h"

#include <functional>

namespace twill {

/// If every node waits for the one before, in some order: clusters are then ranges of that order, and the
/// best ones are found by looking at all ranges. Nothing if the nodes are no chain, orders leave something to
/// choose that ranges do not tell, or time is up.
std::optional<std::vector<int>> best_of_chain(const ClusterProblem& problem, std::span<const int> nodes,
                                              const std::function<bool()>& in_time);

/// A choice that costs no more than a given one: nodes change clusters and clusters become one, at random,
/// which may also cost a little more for a while. `time_used`: a share of the time there is, up to 1. The
/// same every time, if all moves are made before time matters.
std::vector<int> improved(const ClusterProblem& problem, std::span<const int> nodes, std::vector<int> cluster,
                          int moves, const std::function<double()>& time_used);

}  // namespace twill
