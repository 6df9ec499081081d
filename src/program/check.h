// The checker: finds what is wrong with a program before anything runs.
#pragma once

#include "base/error.h"
#include "program/program.h"

namespace twill {

/// All that is wrong, in program order; empty if the program is well-formed. Every message names the
/// stage, and the dimension and index where there is one. docs/errors.md lists the codes.
std::vector<Diagnostic> diagnose(const Program& program);

/// Throws Error with all diagnostics if there are any.
void check(const Program& program);

}  // namespace twill
