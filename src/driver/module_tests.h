// Runs the tests that a text contains: what they expect of values, of structure and of errors.
#pragma once

#include "base/error.h"
#include "machine/machine.h"
#include "program/interpret.h"
#include "program/module.h"

#include <functional>

namespace twill {

/// How definitions are run: by the interpreter, or as kernels.
using Runner = std::function<Outcome(const Program&, std::span<const Data>)>;

/// What a plan makes of a program; nested blocks are counted once.
struct Structure {
  std::int64_t passes = 0, buffers = 0, stages = 0, loops = 0;
};

/// Under the default plan.
Structure structure_of(const Program& program, const Machine& machine);

struct TestResult {
  std::string name;
  Place place;
  std::vector<Diagnostic> failures;  // none: it passed

  bool passed() const { return failures.empty(); }
};

/// Runs one test of the module. Structure is that of all definitions that the test calls together, each
/// counted once. An expectation that does not hold is an E0530; a call that fails unexpectedly gives its own
/// error.
TestResult run_test(const Module& module, const Test& test, const Machine& machine, const Runner& run);

/// All of them, in order.
std::vector<TestResult> run_tests(const Module& module, const Machine& machine, const Runner& run);

}  // namespace twill
