// cluster: which stages share a pass over memory.
//
// In: a simplified program. Out: sets of stages, each of which can be joined into one (fuse/sets.h), in an
// order in which they can run, and the reason for every pair of neighbours that stays apart.
#pragma once

#include "fuse/sets.h"

namespace twill {

struct Clustering {
  std::vector<ClusterSets> lists;  // one for every list of stages in the program
  std::vector<Reason> done, not_done;
};

/// Every stage by itself.
Clustering cluster_none(const Program& program);

/// Stages join the first set that they can join, in the order of the program: sets with what they read first,
/// then, when all have done so, sets that run over the same range.
Clustering cluster_greedy(const Program& program);

}  // namespace twill
