// Whether a kernel and the interpreter agree.
#pragma once

#include "program/error_bounds.h"
#include "program/interpret.h"

#include <string>

namespace twill {

/// What the interpreter says about a run, and how far a kernel may be from it.
struct Reference {
  Outcome outcome;
  ErrorBounds bounds;
};

/// Interprets the program, which must outlive the reference.
Reference reference_of(const Program& program, std::span<const Data> inputs);

/// How well two outcomes of one program agree.
struct Agreement {
  std::string difference;  // the first one, for people; empty: they agree
  bool identical = true;   // bit by bit
  double error = 0;        // of the float that comes closest to what is allowed: its error …
  double allowed = 0;      // … and what is allowed
};

/// Shapes, integers, bools and effects must be the same. Floats must be the same bit by bit if the program is
/// strict; otherwise they may differ by the bounds of error_bounds.h. A condition that depends on a float
/// within these may then decide differently, which shows as a difference.
Agreement agreement(const Program& program, const Reference& expected, const Outcome& actual);

/// The same, but what disagrees is an error (B0002).
Agreement require_agreement(const Program& program, const Reference& expected, const Outcome& actual);

/// A kernel and the interpreter disagree (B0002); `how` says in what.
[[noreturn]] void fail_disagreement(const Program& program, const std::string& how);

/// "identical to the interpreter, bit by bit", or within which error.
std::string to_string(const Agreement& agreement);

}  // namespace twill
