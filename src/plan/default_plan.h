// The plan without a search: one pass per set of stages, loops ordered for contiguous access, the outermost
// independent dimension for the cores, the innermost contiguous one for SIMD.
#pragma once

#include "fuse/sets.h"
#include "machine/machine.h"
#include "plan/in_tiles.h"
#include "plan/plan.h"
#include "program/reason.h"

namespace twill {

struct Planned {
  Plan plan;
  std::vector<Reason>
      sliced;  // by sliced stage and the stage whose tiles need it: in what memory, and how much twice
  std::vector<Reason> apart;    // by pairs of stages: why they are not computed together, as was asked for
  std::vector<Reason> whole;    // by stage and reader: why there are no slices of it for tiles of that
  std::vector<Reason> reasons;  // what was decided and what was not possible
};

/// Always legal for a checked program: a pass for every stage, or for every cluster, whose sets can be joined
/// and can share a loop. `slices`: which stages of different clusters may be computed in slices for tiles of
/// another one; nothing: none.
Planned default_plan(const Program& program, const Machine& machine);
Planned default_plan(const std::shared_ptr<const Program>& program, const Machine& machine,
                     std::span<const ClusterSets> lists, std::optional<Slices> slices = Slices::All);

}  // namespace twill
