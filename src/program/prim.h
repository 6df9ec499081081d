// The scalar operations of the language: one table that the parser, checker, interpreter and
// every back end read.
#pragma once

#include "program/type.h"

#include <optional>
#include <span>
#include <string_view>

namespace twill {

enum class Prim {
  // arithmetic: numbers, same type in and out
  Neg, Add, Sub, Mul, Div, Mod, Min, Max, Abs, Pow,
  // comparison: two of one type, gives bool
  Eq, Ne, Lt, Le, Gt, Ge,
  // logic: bool; And and Or evaluate their second operand only when the first does not decide
  Not, And, Or,
  // bits: integers (Xor on bool as well)
  BitAnd, BitOr, Xor, Shl, Shr, BitNot,
  // functions: f32 or f64, same type in and out
  Sqrt, Exp, Exp2, Log, Log2, Log10, Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Tanh, Erf,
  Floor, Ceil, Round, Trunc, Atan2, Hypot, Fma,
  // questions: f32 or f64, gives bool
  IsNan, IsInf,
  // i64: an index, if it is one of so many; anything else is an error
  Within,
};

enum class PrimClass { Arithmetic, Comparison, Logic, Bits, Function, Question, Place };

struct PrimInfo {
  Prim prim;
  std::string_view name;    // as called: "exp", or the operator: "+"
  std::string_view c_name;  // in C: the function of f64 ("exp"; f32 appends "f"; of a Question a macro of
                            // any float) or an operator that means the same on all types; empty: special
  int arity;
  PrimClass prim_class;
  int precedence;           // binding strength when printed infix; 0 for call syntax
};

/// All operations, in the order of the enum.
/// Meaning: integers wrap around; integer Div and Mod round towards minus infinity (Mod has the
/// divisor's sign) and are undefined for a divisor of zero, which the interpreter and checked
/// kernels report; float Mod is a - b*floor(a/b); Min and Max return the other operand when one is
/// NaN (min(a, b) is a if b is NaN or a < b, else b); Shl and Shr take the count modulo the width; Round goes half away from zero; Pow on
/// integers is by squaring, a negative exponent gives 0 except for bases 1 and -1; Within(i, n) is i where
/// 0 <= i < n, and undefined otherwise, which is reported like a read outside of an array.
std::span<const PrimInfo> all_prims();
const PrimInfo& info(Prim prim);

/// A function of the C library, for which processors have no instruction: it takes one number at a time.
bool is_library_function(Prim prim);

/// By call name ("exp", "min") or operator ("+", "and"); "-" is Sub.
std::optional<Prim> prim_named(std::string_view name);

/// Whether operands of this type (all of one type) are allowed in expressions, and the type of the result.
bool accepts(Prim prim, Scalar operand);
Scalar result_type(Prim prim, Scalar operand);

/// Whether a function of floats has one right result, the nearest to the true value.
bool is_exact(Prim prim);

/// Whether folds, scans, scatters and groups can combine with it: at all, and values of this type. Integers
/// below 32 bits are combined in their own type.
bool is_combiner(Prim prim);
bool combines(Prim prim, Scalar operand);

}  // namespace twill
