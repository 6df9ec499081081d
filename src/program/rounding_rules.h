// The rules of the model of rounding errors (error_bounds.h): what an operation makes of facts.
#pragma once

#include "program/error_bounds.h"
#include "program/prim.h"

namespace twill::rounding_rules {

inline constexpr double infinite = std::numeric_limits<double>::infinity();

/// Recurrences are followed so far; behind that, nothing is known about their floats.
inline constexpr double most_steps = 4096;
/// And so far in all, where loops are nested.
inline constexpr double most_steps_in_all = 50'000;

double highest_magnitude(Scalar type);

/// A number that is known.
Fact exactly(double value);

/// One or the other.
Fact join(const Fact& a, const Fact& b);
Facts join(const Facts& a, const Facts& b);

/// The fact about a number that is among those that were seen.
Fact within(Fact fact, const Fact& seen);

/// The number as a float of type `to`.
Fact converted(const Fact& fact, Scalar from, Scalar to);

/// An operation on operands of a type; comparisons and questions have no floats as results.
Fact float_operation(Prim prim, Scalar type, const std::vector<Fact>& operands);
Fact integer_operation(Prim prim, Scalar type, const std::vector<Fact>& operands);

/// At most `count` values, combined in any order.
Fact folded(Prim prim, Scalar type, const Fact& value, double count);

}  // namespace twill::rounding_rules
