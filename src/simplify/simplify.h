// simplify: rewrites a program into one with the same meaning and less to do.
//
// In: a checked program. Out: a checked program with the same inputs and results, the same values in them and
// the same effects in the same order, and a record of what was done and what was not. An element that nobody
// needs is not computed, so an error that only its computation would have met may not happen any more.
//
// Stages are fused here only where there is no choice: a producer that one stage reads, each element at most
// once, becomes part of that stage. Everything that trades one thing for another is left to the plan.
#pragma once

#include "program/program.h"
#include "program/reason.h"

#include <memory>

namespace twill {

struct Simplified {
  std::shared_ptr<const Program> program;
  std::vector<Reason> done;      // what was fused or removed
  std::vector<Reason> not_done;  // why neighbours stayed apart
};

/// Runs all passes until none of them changes anything.
Simplified simplify(std::shared_ptr<const Program> program);

}  // namespace twill
