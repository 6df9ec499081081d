// Good choices of clusters without a solver, and without a proof.
#pragma once

#include "cluster/deadline.h"
#include "cluster/evaluate.h"

namespace twill {

/// What tells how much of a search has been done: moves alone, or the clock as well.
enum class Cooling { ByMoves, ByTime };

/// A choice that costs no more than a given one: nodes change clusters and clusters become one, at random,
/// which may also cost a little more for a while. By moves it is the same every time, if there is time for
/// all of them.
std::vector<int> improved(const ClusterProblem& problem, std::vector<int> cluster, int moves,
                          const Deadline& deadline, Cooling cooling);

}  // namespace twill
