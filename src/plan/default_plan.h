// The plan without a search: one pass per stage, loops ordered for contiguous access, the outermost
// independent dimension for the cores, the innermost contiguous one for SIMD.
#pragma once

#include "machine/machine.h"
#include "plan/plan.h"
#include "program/reason.h"

namespace twill {

struct Planned {
  Plan plan;
  std::vector<Reason> reasons;  // what was decided and what was not possible
};

/// Always legal for a checked program.
Planned default_plan(const Program& program, const Machine& machine);

}  // namespace twill
