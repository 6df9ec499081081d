// The plan without a search: one pass per set of stages, loops ordered for contiguous access, the outermost
// independent dimension for the cores, the innermost contiguous one for SIMD.
#pragma once

#include "fuse/sets.h"
#include "machine/machine.h"
#include "plan/plan.h"
#include "program/reason.h"

namespace twill {

struct Planned {
  Plan plan;
  std::vector<Reason>
      sliced;  // by sliced stage and the stage whose tiles need it: in what memory, and how much twice
  std::vector<Reason> reasons;  // what was decided and what was not possible
};

/// May stages of different clusters be computed in slices for the tiles of another one?
enum class Slicing : std::uint8_t { WhereItPays, Never };

/// Always legal for a checked program: a pass for every stage, or for every cluster, whose sets can be joined
/// and can share a loop.
Planned default_plan(const Program& program, const Machine& machine);
Planned default_plan(const std::shared_ptr<const Program>& program, const Machine& machine,
                     std::span<const ClusterSets> lists, Slicing slicing = Slicing::WhereItPays);

}  // namespace twill
