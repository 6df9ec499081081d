// From a case that fails to a small case that fails in the same way.
#pragma once

#include "fuzz/rng.h"
#include "fuzz/verdict.h"

namespace twill {

struct Shrunk {
  FuzzCase one;      // with a single plan and a single set of inputs where these matter
  Verdict verdict;   // about it
  int attempts = 0;  // how many smaller cases were tried
};

/// Tries to leave out results, stages, outputs, dimensions, guards and effects, to turn what earlier stages
/// compute into inputs, to replace expressions by their parts or by numbers, to take smaller inputs and the
/// default plan, as long as the verdict stays of the same kind. Deterministic.
Shrunk shrink(const FuzzCase& one, const Verdict& verdict, const JudgeOptions& options,
              int most_attempts = 600);

}  // namespace twill
