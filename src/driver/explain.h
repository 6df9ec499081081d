// Says why an expectation does not hold: what was compared, where, and with what.
#pragma once

#include "program/interpret.h"

namespace twill {

/// For a program whose one result is a bool or an array of bools that are not all true: " at [1]: it is 4,
/// not 5", ": the shape is [2], not [3]". Follows conjunctions and `all` down to comparisons; where there are
/// others, only the point is known, and of a single bool nothing.
std::string why_not(const Program& holds, std::span<const Data> inputs);

}  // namespace twill
