// The table of scalar operations and what types they take.
#include "program/prim.h"

#include <algorithm>
#include <array>

namespace twill {

namespace {

using enum PrimClass;

constexpr std::array prims = {
    PrimInfo{Prim::Neg, "-", "-", 1, Arithmetic, 7},
    PrimInfo{Prim::Add, "+", "+", 2, Arithmetic, 5},
    PrimInfo{Prim::Sub, "-", "-", 2, Arithmetic, 5},
    PrimInfo{Prim::Mul, "*", "*", 2, Arithmetic, 6},
    PrimInfo{Prim::Div, "/", "", 2, Arithmetic, 6},
    PrimInfo{Prim::Mod, "%", "", 2, Arithmetic, 6},
    PrimInfo{Prim::Min, "min", "", 2, Arithmetic, 0},
    PrimInfo{Prim::Max, "max", "", 2, Arithmetic, 0},
    PrimInfo{Prim::Abs, "abs", "", 1, Arithmetic, 0},
    PrimInfo{Prim::Pow, "pow", "", 2, Arithmetic, 0},
    PrimInfo{Prim::Eq, "==", "==", 2, Comparison, 4},
    PrimInfo{Prim::Ne, "!=", "!=", 2, Comparison, 4},
    PrimInfo{Prim::Lt, "<", "<", 2, Comparison, 4},
    PrimInfo{Prim::Le, "<=", "<=", 2, Comparison, 4},
    PrimInfo{Prim::Gt, ">", ">", 2, Comparison, 4},
    PrimInfo{Prim::Ge, ">=", ">=", 2, Comparison, 4},
    PrimInfo{Prim::Not, "not", "!", 1, Logic, 3},
    PrimInfo{Prim::And, "and", "&&", 2, Logic, 2},
    PrimInfo{Prim::Or, "or", "||", 2, Logic, 1},
    PrimInfo{Prim::BitAnd, "bit_and", "&", 2, Bits, 0},
    PrimInfo{Prim::BitOr, "bit_or", "|", 2, Bits, 0},
    PrimInfo{Prim::Xor, "xor", "^", 2, Bits, 0},
    PrimInfo{Prim::Shl, "shl", "", 2, Bits, 0},
    PrimInfo{Prim::Shr, "shr", "", 2, Bits, 0},
    PrimInfo{Prim::BitNot, "bit_not", "~", 1, Bits, 0},
    PrimInfo{Prim::Sqrt, "sqrt", "sqrt", 1, PrimClass::Function, 0},
    PrimInfo{Prim::Exp, "exp", "exp", 1, PrimClass::Function, 0},
    PrimInfo{Prim::Exp2, "exp2", "exp2", 1, PrimClass::Function, 0},
    PrimInfo{Prim::Log, "log", "log", 1, PrimClass::Function, 0},
    PrimInfo{Prim::Log2, "log2", "log2", 1, PrimClass::Function, 0},
    PrimInfo{Prim::Log10, "log10", "log10", 1, PrimClass::Function, 0},
    PrimInfo{Prim::Sin, "sin", "sin", 1, PrimClass::Function, 0},
    PrimInfo{Prim::Cos, "cos", "cos", 1, PrimClass::Function, 0},
    PrimInfo{Prim::Tan, "tan", "tan", 1, PrimClass::Function, 0},
    PrimInfo{Prim::Asin, "asin", "asin", 1, PrimClass::Function, 0},
    PrimInfo{Prim::Acos, "acos", "acos", 1, PrimClass::Function, 0},
    PrimInfo{Prim::Atan, "atan", "atan", 1, PrimClass::Function, 0},
    PrimInfo{Prim::Sinh, "sinh", "sinh", 1, PrimClass::Function, 0},
    PrimInfo{Prim::Cosh, "cosh", "cosh", 1, PrimClass::Function, 0},
    PrimInfo{Prim::Tanh, "tanh", "tanh", 1, PrimClass::Function, 0},
    PrimInfo{Prim::Erf, "erf", "erf", 1, PrimClass::Function, 0},
    PrimInfo{Prim::Floor, "floor", "floor", 1, PrimClass::Function, 0},
    PrimInfo{Prim::Ceil, "ceil", "ceil", 1, PrimClass::Function, 0},
    PrimInfo{Prim::Round, "round", "round", 1, PrimClass::Function, 0},
    PrimInfo{Prim::Trunc, "trunc", "trunc", 1, PrimClass::Function, 0},
    PrimInfo{Prim::Atan2, "atan2", "atan2", 2, PrimClass::Function, 0},
    PrimInfo{Prim::Hypot, "hypot", "hypot", 2, PrimClass::Function, 0},
    PrimInfo{Prim::Fma, "fma", "fma", 3, PrimClass::Function, 0},
    PrimInfo{Prim::IsNan, "is_nan", "isnan", 1, Question, 0},
    PrimInfo{Prim::IsInf, "is_inf", "isinf", 1, Question, 0},
    PrimInfo{Prim::Within, "within", "", 2, PrimClass::Place, 0},
};

constexpr bool in_enum_order() {
  for (std::size_t i = 0; i < prims.size(); ++i)
    if (prims[i].prim != static_cast<Prim>(i)) return false;
  return true;
}
static_assert(in_enum_order() && prims.size() == static_cast<std::size_t>(Prim::Within) + 1);

}  // namespace

std::span<const PrimInfo> all_prims() { return prims; }

const PrimInfo& info(Prim prim) { return prims[static_cast<std::size_t>(prim)]; }

bool is_library_function(Prim prim) {
  constexpr std::array instructions = {Prim::Sqrt, Prim::Floor, Prim::Ceil, Prim::Trunc, Prim::Fma};
  return info(prim).prim_class == PrimClass::Function &&
         std::ranges::find(instructions, prim) == instructions.end();
}

std::optional<Prim> prim_named(std::string_view name) {
  const auto found =
      std::ranges::find_if(prims, [&](const PrimInfo& p) { return p.name == name && p.prim != Prim::Neg; });
  return found == prims.end() ? std::nullopt : std::optional(found->prim);
}

bool accepts(Prim prim, Scalar operand) {
  if (is_storage_only(operand) || is_narrow(operand)) return false;
  const bool is_bool = operand == Scalar::Bool;
  switch (info(prim).prim_class) {
    case Arithmetic: return !is_bool;
    case Comparison: return !is_bool || prim == Prim::Eq || prim == Prim::Ne;
    case Logic: return is_bool;
    case Bits: return is_integer(operand) || (is_bool && prim == Prim::Xor);
    case PrimClass::Function:
    case Question: return is_float(operand);
    case PrimClass::Place: return operand == Scalar::I64;
  }
  return false;
}

Scalar result_type(Prim prim, Scalar operand) {
  const PrimClass prim_class = info(prim).prim_class;
  return prim_class == Comparison || prim_class == Question ? Scalar::Bool : operand;
}

bool is_exact(Prim prim) {
  switch (prim) {
    case Prim::Sqrt:
    case Prim::Floor:
    case Prim::Ceil:
    case Prim::Round:
    case Prim::Trunc:
    case Prim::Fma: return true;
    default: return false;
  }
}

bool is_combiner(Prim prim) {
  switch (prim) {
    case Prim::Add:
    case Prim::Mul:
    case Prim::Min:
    case Prim::Max:
    case Prim::And:
    case Prim::Or:
    case Prim::BitAnd:
    case Prim::BitOr:
    case Prim::Xor: return true;
    default: return false;
  }
}

bool combines(Prim prim, Scalar operand) {
  return is_combiner(prim) && accepts(prim, is_narrow(operand) ? Scalar::I32 : operand);
}

}  // namespace twill
