// Is this cluster a legal way to run its stage, and if not, why? The one judge that plans are made and
// elaborated with.
#pragma once

#include "plan/plan.h"
#include "program/reason.h"
#include "program/regroup.h"

#include <optional>
#include <set>

namespace twill {

/// What the cluster's surroundings allow.
struct Site {
  bool inside_parallel = false;  // a loop around the block is run by several cores already
  std::set<ArrayId> disposable;  // arrays with memory of their own that nobody needs after this stage
};

/// Nothing if the cluster is a legal way to run the stage.
std::optional<Reason> why_illegal(const Program& program, const Stage& stage, const Cluster& cluster,
                                  const Site& site);

/// Does a bound or the condition of dimension `d` mention the index of dimension `e`?
bool bounds_depend(const Stage& stage, int d, int e);

/// The most elements that a tile of accumulators has.
constexpr std::int64_t most_held = 1024;

/// The cluster's loops as a list, outermost first; nothing if they are not one chain that ends in the stage.
struct ChainLevel {
  int dim;
  Cut cut;
  By by;
};
std::optional<std::vector<ChainLevel>> chain_of(const Cluster& cluster);

}  // namespace twill
