// Scalar operations on numbers.
#include "program/evaluate.h"

#include "base/error.h"

#include <algorithm>
#include <cmath>

namespace twill {

namespace {

// ---- integers: computed modulo 2^64 and then wrapped to their width ----------------------------------

std::uint64_t power(std::uint64_t base, std::uint64_t exponent) {
  std::uint64_t result = 1;
  for (; exponent > 0; exponent >>= 1, base *= base)
    if (exponent & 1) result *= base;
  return result;
}

std::uint64_t signed_power(std::int64_t base, std::int64_t exponent) {
  if (exponent >= 0) return power(static_cast<std::uint64_t>(base), static_cast<std::uint64_t>(exponent));
  if (base == 1) return 1;
  if (base == -1) return exponent % 2 == 0 ? 1 : ~std::uint64_t{0};
  return 0;
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  if (b == -1) return static_cast<std::int64_t>(-static_cast<std::uint64_t>(a));  // lowest / -1 wraps
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

std::int64_t floor_mod(std::int64_t a, std::int64_t b) {
  if (b == -1) return 0;
  const std::int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

Number signed_result(Prim prim, Scalar type, std::int64_t a, std::int64_t b) {
  const auto ua = static_cast<std::uint64_t>(a);
  const auto ub = static_cast<std::uint64_t>(b);
  const auto count = ub % static_cast<std::uint64_t>(8 * info(type).bytes);
  const auto wrapped = [&](std::uint64_t bits) { return Number::of(type, static_cast<std::int64_t>(bits)); };
  switch (prim) {
    case Prim::Neg: return wrapped(-ua);
    case Prim::Add: return wrapped(ua + ub);
    case Prim::Sub: return wrapped(ua - ub);
    case Prim::Mul: return wrapped(ua * ub);
    case Prim::Div: return Number::of(type, floor_div(a, b));
    case Prim::Mod: return Number::of(type, floor_mod(a, b));
    case Prim::Min: return Number::of(type, std::min(a, b));
    case Prim::Max: return Number::of(type, std::max(a, b));
    case Prim::Abs: return wrapped(a < 0 ? -ua : ua);
    case Prim::Pow: return wrapped(signed_power(a, b));
    case Prim::BitAnd: return wrapped(ua & ub);
    case Prim::BitOr: return wrapped(ua | ub);
    case Prim::Xor: return wrapped(ua ^ ub);
    case Prim::Shl: return wrapped(ua << count);
    case Prim::Shr: return Number::of(type, a >> count);
    case Prim::BitNot: return wrapped(~ua);
    case Prim::Within: return Number::of(type, a);
    default: ensure(false, "evaluate: not an operation on integers"); return {};
  }
}

Number unsigned_result(Prim prim, Scalar type, std::uint64_t a, std::uint64_t b) {
  const auto count = b % static_cast<std::uint64_t>(8 * info(type).bytes);
  const auto wrapped = [&](std::uint64_t bits) { return Number::of(type, static_cast<std::int64_t>(bits)); };
  switch (prim) {
    case Prim::Neg: return wrapped(-a);
    case Prim::Add: return wrapped(a + b);
    case Prim::Sub: return wrapped(a - b);
    case Prim::Mul: return wrapped(a * b);
    case Prim::Div: return wrapped(a / b);
    case Prim::Mod: return wrapped(a % b);
    case Prim::Min: return wrapped(std::min(a, b));
    case Prim::Max: return wrapped(std::max(a, b));
    case Prim::Abs: return wrapped(a);
    case Prim::Pow: return wrapped(power(a, b));
    case Prim::BitAnd: return wrapped(a & b);
    case Prim::BitOr: return wrapped(a | b);
    case Prim::Xor: return wrapped(a ^ b);
    case Prim::Shl: return wrapped(a << count);
    case Prim::Shr: return wrapped(a >> count);
    case Prim::BitNot: return wrapped(~a);
    default: ensure(false, "evaluate: not an operation on integers"); return {};
  }
}

// ---- floats: computed in their own width ---------------------------------------------------------------

/// `F` is float or double; the overloads of <cmath> are then expf or exp.
template <class F>
F float_result(Prim prim, F a, F b, F c) {
  switch (prim) {
    case Prim::Neg: return -a;
    case Prim::Add: return a + b;
    case Prim::Sub: return a - b;
    case Prim::Mul: return a * b;
    case Prim::Div: return a / b;
    case Prim::Mod: return a - b * std::floor(a / b);
    case Prim::Min: return std::isnan(b) || a < b ? a : b;
    case Prim::Max: return std::isnan(b) || a > b ? a : b;
    case Prim::Abs: return std::fabs(a);
    case Prim::Pow: return std::pow(a, b);
    case Prim::Sqrt: return std::sqrt(a);
    case Prim::Exp: return std::exp(a);
    case Prim::Exp2: return std::exp2(a);
    case Prim::Log: return std::log(a);
    case Prim::Log2: return std::log2(a);
    case Prim::Log10: return std::log10(a);
    case Prim::Sin: return std::sin(a);
    case Prim::Cos: return std::cos(a);
    case Prim::Tan: return std::tan(a);
    case Prim::Asin: return std::asin(a);
    case Prim::Acos: return std::acos(a);
    case Prim::Atan: return std::atan(a);
    case Prim::Sinh: return std::sinh(a);
    case Prim::Cosh: return std::cosh(a);
    case Prim::Tanh: return std::tanh(a);
    case Prim::Erf: return std::erf(a);
    case Prim::Floor: return std::floor(a);
    case Prim::Ceil: return std::ceil(a);
    case Prim::Round: return std::round(a);
    case Prim::Trunc: return std::trunc(a);
    case Prim::Atan2: return std::atan2(a, b);
    case Prim::Hypot: return std::hypot(a, b);
    case Prim::Fma: return std::fma(a, b, c);
    default: ensure(false, "evaluate: not an operation on floats"); return {};
  }
}

template <class T>
bool compare(Prim prim, T a, T b) {
  switch (prim) {
    case Prim::Eq: return a == b;
    case Prim::Ne: return a != b;
    case Prim::Lt: return a < b;
    case Prim::Le: return a <= b;
    case Prim::Gt: return a > b;
    case Prim::Ge: return a >= b;
    default: ensure(false, "evaluate: not a comparison"); return false;
  }
}

Number boolean(bool value) { return Number::of(Scalar::Bool, value); }

Number bool_result(Prim prim, bool a, bool b) {
  switch (prim) {
    case Prim::Not: return boolean(!a);
    case Prim::And: return boolean(a && b);
    case Prim::Or: return boolean(a || b);
    case Prim::Xor: return boolean(a != b);
    default: ensure(false, "evaluate: not an operation on bools"); return {};
  }
}

}  // namespace

bool is_defined(Prim prim, std::span<const Number> operands) {
  if (prim == Prim::Within) return 0 <= operands[0].i && operands[0].i < operands[1].i;
  const bool divides = prim == Prim::Div || prim == Prim::Mod;
  return !divides || is_float(operands[1].type) || operands[1].u != 0;
}

Number evaluate(Prim prim, std::span<const Number> operands) {
  const Number& a = operands[0];
  const Number b = operands.size() > 1 ? operands[1] : a;
  const Number c = operands.size() > 2 ? operands[2] : a;
  switch (info(prim).prim_class) {
    case PrimClass::Comparison:
      if (is_float(a.type)) return boolean(compare(prim, a.f, b.f));
      return boolean(is_unsigned(a.type) ? compare(prim, a.u, b.u) : compare(prim, a.i, b.i));
    case PrimClass::Question: return boolean(prim == Prim::IsNan ? std::isnan(a.f) : std::isinf(a.f));
    default: break;
  }
  if (a.type == Scalar::F64) return Number::of_double(a.type, float_result<double>(prim, a.f, b.f, c.f));
  if (a.type == Scalar::F32)
    return Number::of_double(a.type, float_result<float>(prim, static_cast<float>(a.f),
                                                         static_cast<float>(b.f), static_cast<float>(c.f)));
  if (a.type == Scalar::Bool) return bool_result(prim, a.i != 0, b.i != 0);
  return is_signed(a.type) ? signed_result(prim, a.type, a.i, b.i) : unsigned_result(prim, a.type, a.u, b.u);
}

Number identity(Prim prim, Scalar type) {
  switch (prim) {
    case Prim::Mul:
    case Prim::And: return Number::of(type, 1);
    case Prim::Min: return highest(type);
    case Prim::Max: return lowest(type);
    case Prim::BitAnd: return Number::of(type, -1);
    default: ensure(is_combiner(prim), "identity: not a combiner"); return Number::of(type, 0);
  }
}

}  // namespace twill
