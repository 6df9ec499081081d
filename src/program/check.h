// The checker: finds what is wrong with a program before anything runs.
#pragma once

#include "base/error.h"
#include "program/program.h"

#include <set>
#include <utility>

namespace twill {

/// What is asked of a program. Expectations of tests are programs about data that only exist when the
/// test runs: they leave reads to the run time, and may mention an array for its size alone.
struct CheckOptions {
  bool prove_inside =
      true;  // an affine read or write that may leave its array is an error, not a run-time check
  bool unused_inputs = true;  // an input that is never used is an error
  bool empty_folds = true;    // a fold under a condition needs an identity; otherwise that nothing passes is
                              // found out at run time
};

/// Of a program that has been rewritten since it was checked: what fusion makes of it can still go wrong when
/// it runs, as the program could before.
inline constexpr CheckOptions rewritten{.prove_inside = false, .unused_inputs = false, .empty_folds = false};

/// All that is wrong, in program order; empty if the program is well-formed. Every message names the
/// stage, and the dimension and index where there is one. docs/errors.md lists the codes.
std::vector<Diagnostic> diagnose(const Program& program, const CheckOptions& options = {});

/// Throws Error with all diagnostics if there are any.
void check(const Program& program, const CheckOptions& options = {});

/// Subscripts under rule Inside that the checker leaves to the run time, because they depend on data (or
/// are not affine) and nothing proves that they stay inside, or because the options say so. Everything else
/// that passed the check is proven and needs no test in a kernel.
struct RunTimeChecks {
  std::set<std::pair<const Node*, int>> reads;  // the Read and the position of the subscript
  std::set<std::pair<ArrayId, int>> writes;     // the output's array and the position in `at`
};
RunTimeChecks run_time_checks(const Program& program, const CheckOptions& options = {});

/// The program with rule Checked instead of Inside where a subscript of a read is left to the run time. Also
/// for programs that were rewritten since they were checked: what was data may be affine now, and was never
/// proven to stay inside.
std::shared_ptr<const Program> with_run_time_checks(std::shared_ptr<const Program> program);

/// Reads of the array in the stage's own expressions, and their subscripts, that are not proven to stay
/// inside.
std::set<std::pair<const Node*, int>> unproven_reads(const Program& program, const Stage& stage,
                                                     ArrayId array);

/// By subscript: may the output write outside of its array?
std::vector<bool> unproven_writes(const Program& program, const Stage& stage, const Output& output);

}  // namespace twill
