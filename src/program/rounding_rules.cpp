// What operations make of ranges and errors.
#include "program/rounding_rules.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace twill {

using namespace rounding_rules;

double Fact::magnitude() const { return std::max(std::abs(low), std::abs(high)); }

Fact Fact::up_to(double magnitude, double error, bool integral) {
  Fact fact;
  fact.low = -magnitude;
  fact.high = magnitude;
  fact.error = error;
  fact.relative = error == 0 ? 0 : infinite;
  fact.integral = integral;
  return fact;
}

double rounding(Scalar type) {
  switch (type) {
    case Scalar::BF16: return 0x1.0p-7;
    case Scalar::F16: return 0x1.0p-10;
    case Scalar::F32: return 0x1.0p-23;
    default: return 0x1.0p-52;
  }
}

double likely_error(Scalar type, double terms) {
  return 2 * rounding(type) * std::max(2.0, std::sqrt(terms));
}

double allowed_error(const Fact& fact, Scalar type, double value) {
  // Below the normal numbers there are fewer digits, or none.
  const double smallest = type == Scalar::F64 ? 0x1.0p-1022 : type == Scalar::F16 ? 0x1.0p-14 : 0x1.0p-126;
  const double bound = std::min(fact.error, fact.relative == 0 ? 0 : fact.relative * std::abs(value));
  if (bound == 0) return fact.error == 0 ? 0 : smallest;
  return std::isfinite(bound) ? bound + smallest : plausible_error(fact, type);
}

double plausible_error(const Fact& fact, Scalar type) {
  const double unit = std::max(rounding(type), fact.unit);
  return std::max(std::sqrt(unit), fact.terms * unit) * std::max(fact.magnitude(), fact.scale);
}

namespace rounding_rules {
namespace {

/// Functions of libm and their vector versions may be off by a few units in the last place.
constexpr double function_error = 8;

/// Integers up to this are exact.
double exact_limit(Scalar type) { return type == Scalar::F32 ? 0x1.0p24 : 0x1.0p53; }

/// 0 * infinity is 0 here: a number that is not there has no error.
double times(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

/// Each of the two errors follows from the other one where that says more.
Fact settled(Fact fact) {
  if (std::isnan(fact.low)) fact.low = -infinite;
  if (std::isnan(fact.high)) fact.high = infinite;
  if (std::isnan(fact.error)) fact.error = infinite;
  if (std::isnan(fact.relative)) fact.relative = infinite;
  fact.least = std::max({fact.least, fact.low, -fact.high});
  if (fact.relative < infinite) fact.error = std::min(fact.error, times(fact.relative, fact.magnitude()));
  if (fact.error == 0)
    fact.relative = 0;
  else if (fact.least > 0)
    fact.relative = std::min(fact.relative, fact.error / fact.least);
  return fact;
}

/// The result of an operation that rounds.
Fact rounded(Fact fact, Scalar type, double units = 1) {
  if (fact.integral && fact.magnitude() <= exact_limit(type)) return settled(fact);
  fact.integral = false;
  // The interpreter's number is a rounded one, too.
  fact.low -= times(units * rounding(type), std::abs(fact.low));
  fact.high += times(units * rounding(type), std::abs(fact.high));
  fact.least *= 1 - units * rounding(type);
  fact.error += times(units * rounding(type), fact.magnitude());
  fact.relative += units * rounding(type);
  return settled(fact);
}

Fact between(double a, double b) {
  Fact fact;
  fact.low = std::min(a, b);
  fact.high = std::max(a, b);
  return fact;
}

Fact unknown() { return Fact::up_to(infinite, infinite, false); }

Fact negated(const Fact& a) {
  Fact fact = a;
  fact.low = -a.high;
  fact.high = -a.low;
  return fact;
}

Fact sum(const Fact& a, const Fact& b, Scalar type) {
  Fact fact;
  fact.low = a.low + b.low;
  fact.high = a.high + b.high;
  fact.error = a.error + b.error;
  // Without cancellation the sum is as good as its terms.
  const bool one_sign = (a.low >= 0 && b.low >= 0) || (a.high <= 0 && b.high <= 0);
  fact.relative = one_sign || fact.error == 0 ? std::max(a.relative, b.relative) : infinite;
  fact.scale = std::max(a.magnitude(), b.magnitude());
  fact.integral = a.integral && b.integral;
  return rounded(fact, type);
}

Fact product(const Fact& a, const Fact& b, Scalar type) {
  const auto [low, high] =
      std::minmax({times(a.low, b.low), times(a.low, b.high), times(a.high, b.low), times(a.high, b.high)});
  Fact fact = between(low, high);
  fact.least = times(a.least, b.least);
  fact.error = times(a.error, b.magnitude()) + times(b.error, a.magnitude()) + times(a.error, b.error);
  fact.relative = a.relative + b.relative + times(a.relative, b.relative);
  fact.integral = a.integral && b.integral;
  return rounded(fact, type);
}

Fact quotient(const Fact& a, const Fact& b, Scalar type) {
  Fact fact = Fact::up_to(b.least > 0 ? a.magnitude() / b.least : infinite, 0, false);
  if (a.low >= 0 && b.low >= 0) fact.low = 0;
  fact.least = b.magnitude() > 0 && std::isfinite(b.magnitude()) ? a.least / b.magnitude() : 0;
  fact.relative = b.relative < 1 ? (a.relative + b.relative) / (1 - b.relative) : infinite;
  fact.error =
      b.least > b.error ? (a.error + times(fact.magnitude(), b.error)) / (b.least - b.error) : infinite;
  return rounded(fact, type);
}

/// A function that grows at most `slope` times as fast as its argument.
Fact smooth(Fact values, const Fact& a, double slope, Scalar type) {
  values.integral = false;
  values.error = times(slope, a.error);
  values.relative = a.error == 0 ? 0 : infinite;
  return rounded(values, type, function_error);
}

/// A function whose relative error is known; it rises with its argument.
Fact rising(double low, double high, double relative, Scalar type) {
  Fact fact = between(low, high);
  fact.integral = false;
  fact.relative = relative;
  fact.error = infinite;
  return rounded(fact, type, function_error);
}

Fact square_root(const Fact& a, Scalar type) {
  Fact fact = between(std::sqrt(std::max(0.0, a.low)), std::sqrt(std::max(0.0, a.high)));
  fact.integral = false;
  fact.error = std::sqrt(a.error);  // worst next to 0
  fact.relative = a.relative < 1 ? 1 - std::sqrt(1 - a.relative) : infinite;
  return rounded(fact, type);
}

/// log, log2 and log10 differ by a factor.
Fact logarithm(double (*log)(double), const Fact& a, double factor, Scalar type) {
  if (a.low < 0 || a.least == 0 || a.relative >= 1) return unknown();
  Fact fact = between(log(a.least), log(a.high));
  fact.integral = false;
  fact.error = -std::log1p(-a.relative) * factor;
  fact.relative = a.error == 0 ? 0 : infinite;
  return rounded(fact, type, function_error);
}

Fact power(const Fact& a, const Fact& b, Scalar type) {
  if (a.low < 0 || a.least == 0 || a.relative >= 1) return unknown();
  const double logs[] = {std::log(a.least), std::log(a.high)};
  const double most = std::max(std::abs(logs[0]), std::abs(logs[1]));
  const auto [low, high] = std::minmax(
      {times(logs[0], b.low), times(logs[0], b.high), times(logs[1], b.low), times(logs[1], b.high)});
  const double argument = times(b.magnitude() + b.error, -std::log1p(-a.relative)) + times(b.error, most);
  return rising(std::exp(low), std::exp(high), std::expm1(argument), type);
}

}  // namespace

double highest_magnitude(Scalar type) {
  switch (type) {
    case Scalar::Bool: return 1;
    case Scalar::F16: return 65504;
    default: return std::max(std::abs(highest(type).as_double()), std::abs(lowest(type).as_double()));
  }
}

Fact exactly(double value) {
  if (std::isnan(value)) return Fact::up_to(infinite, 0, false);
  Fact fact = between(value, value);
  fact.least = std::abs(value);
  fact.integral = std::floor(value) == value;
  return fact;
}

Fact join(const Fact& a, const Fact& b) {
  Fact fact;
  fact.low = std::min(a.low, b.low);
  fact.high = std::max(a.high, b.high);
  fact.least = std::min(a.least, b.least);
  fact.error = std::max(a.error, b.error);
  fact.relative = std::max(a.relative, b.relative);
  fact.integral = a.integral && b.integral;
  fact.scale = std::max(a.scale, b.scale);
  fact.terms = std::max(a.terms, b.terms);
  fact.unit = std::max(a.unit, b.unit);
  return fact;
}

Facts join(const Facts& a, const Facts& b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  Facts joined;
  for (std::size_t k = 0; k < a.size(); ++k) joined.push_back(join(a[k], b[k]));
  return joined;
}

Fact within(Fact fact, const Fact& seen) {
  fact.low = std::max(fact.low, seen.low);
  fact.high = std::min(fact.high, seen.high);
  fact.least = std::max(fact.least, seen.least);
  return settled(fact);
}

Fact converted(const Fact& fact, Scalar from, Scalar to) {
  // A conversion of the same number gives the same number; one that is off can round another way.
  Fact result = fact;
  const bool narrows = !is_float(from) || info(to).bytes < info(from).bytes || is_storage_only(to);
  if (!narrows || fact.error == 0) return result;
  result.error += times(rounding(to), fact.magnitude());
  result.relative += rounding(to);
  result.unit = std::max(fact.unit, rounding(to));
  if (fact.magnitude() > highest_magnitude(to)) result.error = result.relative = infinite;
  return settled(result);
}

Fact integer_operation(Prim prim, Scalar type, const std::vector<Fact>& operands) {
  const double most = highest_magnitude(type);
  const Fact& a = operands[0];
  const Fact& b = operands.size() > 1 ? operands[1] : operands[0];
  Fact fact;
  switch (prim) {
    case Prim::Neg: fact = negated(a); break;
    case Prim::Abs:
      fact.low = a.least;
      fact.high = a.magnitude();
      break;
    case Prim::Add: fact = sum(a, b, Scalar::F64); break;
    case Prim::Sub: fact = sum(a, negated(b), Scalar::F64); break;
    case Prim::Mul: fact = product(a, b, Scalar::F64); break;
    case Prim::Min:
    case Prim::Max: fact = join(a, b); break;
    case Prim::Mod: fact = Fact::up_to(b.magnitude(), 0, true); break;
    case Prim::Within: fact = Fact::up_to(std::min(a.magnitude(), b.magnitude()), 0, true); break;
    case Prim::Div: fact = Fact::up_to(a.magnitude(), 0, true); break;
    default: fact = Fact::up_to(most, 0, true); break;
  }
  // Integers are exact, and wrap around.
  Fact result;
  result.low = fact.magnitude() <= most ? fact.low : -most;
  result.high = fact.magnitude() <= most ? fact.high : most;
  return settled(result);
}

Fact float_operation(Prim prim, Scalar type, const std::vector<Fact>& operands) {
  const Fact& a = operands[0];
  const Fact& b = operands.size() > 1 ? operands[1] : operands[0];
  const double far = a.magnitude() + a.error;
  switch (prim) {
    case Prim::Neg: return negated(a);
    case Prim::Abs: {
      Fact fact = a;
      fact.low = a.least;
      fact.high = a.magnitude();
      return settled(fact);
    }
    case Prim::Add: return sum(a, b, type);
    case Prim::Sub: return sum(a, negated(b), type);
    case Prim::Mul: return product(a, b, type);
    case Prim::Div: return quotient(a, b, type);
    case Prim::Fma: return sum(product(a, b, type), operands[2], type);
    case Prim::Min:
    case Prim::Max: {
      Fact fact = join(a, b);
      const bool least = prim == Prim::Min;
      (least ? fact.high : fact.low) = least ? std::min(a.high, b.high) : std::max(a.low, b.low);
      return settled(fact);
    }
    case Prim::Floor:
    case Prim::Ceil:
    case Prim::Round:
    case Prim::Trunc: {
      Fact fact = between(std::floor(a.low), std::ceil(a.high));
      fact.integral = true;
      return fact;
    }
    case Prim::Sqrt: return square_root(a, type);
    case Prim::Sin:
    case Prim::Cos: return smooth(between(-1, 1), a, 1, type);
    case Prim::Tanh: return smooth(between(std::tanh(a.low), std::tanh(a.high)), a, 1, type);
    case Prim::Erf: return smooth(between(std::erf(a.low), std::erf(a.high)), a, 1.2, type);
    case Prim::Atan: return smooth(between(std::atan(a.low), std::atan(a.high)), a, 1, type);
    case Prim::Asin:
    case Prim::Acos: {
      // Worst next to 1, where the slope is that of a square root.
      Fact fact = between(prim == Prim::Asin ? -2 : 0, prim == Prim::Asin ? 2 : 4);
      fact.integral = false;
      fact.error = 2 * std::sqrt(a.error);
      fact.relative = a.error == 0 ? 0 : infinite;
      return rounded(fact, type, function_error);
    }
    case Prim::Sinh: return smooth(between(std::sinh(a.low), std::sinh(a.high)), a, std::cosh(far), type);
    case Prim::Cosh: return smooth(between(1, std::cosh(far)), a, std::sinh(far), type);
    case Prim::Hypot: {
      Fact fact = between(std::max(a.least, b.least), a.magnitude() + b.magnitude());
      fact.integral = false;
      fact.error = a.error + b.error;
      fact.relative = std::max(a.relative, b.relative);
      return rounded(fact, type, function_error);
    }
    case Prim::Exp: return rising(std::exp(a.low), std::exp(a.high), std::expm1(a.error), type);
    case Prim::Exp2:
      return rising(std::exp2(a.low), std::exp2(a.high), std::expm1(a.error * std::numbers::ln2), type);
    case Prim::Log: return logarithm(std::log, a, 1, type);
    case Prim::Log2: return logarithm(std::log2, a, std::numbers::log2e, type);
    case Prim::Log10: return logarithm(std::log10, a, std::numbers::log10e, type);
    case Prim::Pow: return power(a, b, type);
    case Prim::Mod: {
      // What is off by a little may be a whole divisor apart.
      const bool exact = a.error == 0 && b.error == 0;
      Fact fact = Fact::up_to(b.magnitude(), exact ? 0 : b.magnitude() + b.error, false);
      return rounded(fact, type, function_error);
    }
    default: return unknown();
  }
}

Fact folded(Prim prim, Scalar type, const Fact& value, double count) {
  switch (prim) {
    case Prim::Add: {
      Fact fact;
      fact.low = std::min(0.0, times(count, value.low));
      fact.high = std::max(0.0, times(count, value.high));
      fact.integral = value.integral;
      if (!is_float(type)) return integer_operation(Prim::Add, type, {fact, exactly(0)});
      if (fact.integral && fact.magnitude() <= exact_limit(type) && value.error == 0) return fact;
      fact.integral = false;
      fact.error = times(count, value.error) + times(count * rounding(type), fact.magnitude());
      const bool one_sign = value.low >= 0 || value.high <= 0;
      fact.relative = one_sign ? value.relative + count * rounding(type) : infinite;
      return settled(fact);
    }
    case Prim::Mul: {
      if (!is_float(type)) return Fact::up_to(highest_magnitude(type), 0, true);
      Fact fact = Fact::up_to(std::pow(std::max(1.0, value.magnitude()), count), infinite, value.integral);
      if (fact.integral && fact.magnitude() <= exact_limit(type) && value.error == 0) {
        fact.error = fact.relative = 0;
        return fact;
      }
      fact.integral = false;
      fact.relative = std::expm1(times(count, std::log1p(value.relative) + rounding(type)));
      const double most = std::max(1.0, value.magnitude() + value.error);
      fact.error = times(count * std::pow(most, count), value.error + rounding(type));
      return settled(fact);
    }
    case Prim::Min:
    case Prim::Max: return value;
    default: return Fact::up_to(highest_magnitude(type), 0, true);
  }
}

}  // namespace rounding_rules
}  // namespace twill
