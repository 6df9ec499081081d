// Whether a kernel and the interpreter agree.
#pragma once

#include "program/interpret.h"

#include <string>

namespace twill {

/// How well two outcomes of one program agree.
struct Agreement {
  std::string difference;  // the first one, for people; empty: they agree
  bool identical = true;   // bit by bit
  double error = 0;        // the largest relative error of a float
  double tolerance = 0;    // the largest that is allowed
};

/// Shapes, integers, bools and effects must be the same. Floats must be the same bit by bit if the program is
/// strict; otherwise they may differ by a rounding for each value that is combined on the way, relative to
/// the largest element of the array or 1. A condition that depends on a float within these roundings may then
/// decide differently, which shows as a difference.
Agreement agreement(const Program& program, const Outcome& expected, const Outcome& actual);

/// The same, but what disagrees is an error (B0002).
Agreement require_agreement(const Program& program, const Outcome& expected, const Outcome& actual);

/// A kernel and the interpreter disagree (B0002); `how` says in what.
[[noreturn]] void fail_disagreement(const Program& program, const std::string& how);

/// "identical to the interpreter, bit by bit", or within which error.
std::string to_string(const Agreement& agreement);

}  // namespace twill
