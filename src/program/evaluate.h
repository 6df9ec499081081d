// One scalar operation on numbers: what every back end must compute, bit for bit under `strict`.
#pragma once

#include "program/prim.h"
#include "program/type.h"

#include <span>

namespace twill {

/// False for integer division and modulo by zero, which have no value.
bool is_defined(Prim prim, std::span<const Number> operands);

/// The result of an operation on operands of one type that it accepts and is defined for. f32 operations
/// round after each operation and call the float functions of libm; nothing is contracted.
Number evaluate(Prim prim, std::span<const Number> operands);

/// The value that changes nothing: combine(identity, x) == x. Of a combiner (see is_combiner) that combines
/// the type.
Number identity(Prim prim, Scalar type);

}  // namespace twill
