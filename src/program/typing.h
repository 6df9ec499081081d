// The promotion rules that all front ends share.
//
// Arithmetic: bool is not a number. Integers narrower than 32 bits become i32; then the wider of two
// integer types, signed if either is signed (i64 for u64 with a signed one). An integer meets a
// float: the float's type. f16 and bf16 become f32. f32 meets f64: f64. A plain (weak) literal takes
// the type of the other operand, if that can hold it: an integer literal any number type, a
// fractional one any float type; a fractional literal next to an integer makes both f64. On its own
// a plain literal is i64 or f64.
#pragma once

#include "program/expr.h"

namespace twill {

/// An operand on its way into an expression: `weak` if it is made of plain literals only and adapts.
struct Operand {
  Expr expr;
  bool weak = false;
};

/// The common arithmetic type, or nothing if one of them is not a number.
std::optional<Type> common_type(const Operand& a, const Operand& b);

/// Type of arithmetic on one operand (Neg, Abs).
std::optional<Type> arithmetic_type(const Operand& a);

/// What `sum` and `product` accumulate values of a type in: i64 for signed and bool, u64 for
/// unsigned, f32 for f16, bf16 and f32, f64 for f64.
Type accumulator_type(const Type& value);

/// Applies a primitive with promotion: casts operands to their common type and adapts weak literals;
/// the result is weak if all operands are. Functions of floats turn integers into f64. Throws a user
/// error (E02xx) that names the operation and the types.
Operand apply_promoted(ExprPool& pool, Prim prim, std::vector<Operand> operands, const Place& place);

/// `if`: the branches get a common type. Records must be equal.
Operand select_promoted(ExprPool& pool, Expr condition, Operand then, Operand otherwise, const Place& place);

/// To the given type where the language converts by itself: weak literals that fit, integer to wider
/// integer, integer to float, f32 to f64, any float to f16, bf16 and f32 storage of an array that is
/// declared so. Otherwise throws a user error that suggests the explicit conversion.
Expr convert_implicitly(ExprPool& pool, Operand value, const Type& to, const Place& place);

/// The operator that a prim means on a type, with its identity; one without prim if it does not combine
/// such values.
struct Operator builtin_operator(ExprPool& pool, Prim prim, const Type& type);

/// What an operator makes of two values.
Expr combined(ExprPool& pool, const struct Operator& op, Expr a, Expr b);

}  // namespace twill
