// The checker: finds what is wrong with a program before anything runs.
#pragma once

#include "base/error.h"
#include "program/program.h"

#include <set>
#include <utility>

namespace twill {

/// All that is wrong, in program order; empty if the program is well-formed. Every message names the
/// stage, and the dimension and index where there is one. docs/errors.md lists the codes.
std::vector<Diagnostic> diagnose(const Program& program);

/// Throws Error with all diagnostics if there are any.
void check(const Program& program);

/// Subscripts under rule Inside that the checker leaves to the run time, because they depend on data (or
/// are not affine) and nothing proves that they stay inside. Everything else that passed the check is
/// proven and needs no test in a kernel.
struct RunTimeChecks {
  std::set<std::pair<const Node*, int>> reads;  // the Read and the position of the subscript
  std::set<std::pair<ArrayId, int>> writes;     // the output's array and the position in `at`
};
RunTimeChecks run_time_checks(const Program& program);

}  // namespace twill
