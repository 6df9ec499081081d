// Every rule of simplify's algebra, on values at the edges of every type: both sides are the same number, bit
// by bit, and fail in the same cases. And every rule is found where it applies.
#include "simplify/rules.h"
#include "program/evaluate.h"
#include "program/text.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace twill {
namespace {

std::vector<Number> edges(Scalar type) {
  std::vector<Number> numbers;
  const auto add = [&](Number n) {
    if (std::find(numbers.begin(), numbers.end(), n) == numbers.end()) numbers.push_back(n);
  };
  for (const std::int64_t i : {0, 1, 2, 3, 7, 100, -1, -2, -7}) add(Number::of(type, i));
  add(highest(type));
  add(lowest(type));
  if (is_float(type)) {
    for (const double f : {-0.0, 0.5, -1.5, 1e-40, std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity(), 1e30})
      add(Number::of_double(type, f));
  }
  return numbers;
}

using Values = std::array<Number, pattern_variables>;

/// What a side of a rule yields; nothing if that is an error. `type`: of the whole side.
std::optional<Number> value_of(const Pattern& pattern, const Values& values, Scalar type, Scalar cast_inside);

std::optional<Scalar> type_of(const Pattern& pattern, const Values& values) {
  if (pattern.kind == Pattern::Kind::Any || pattern.kind == Pattern::Kind::Constant)
    return values[static_cast<std::size_t>(pattern.variable)].type;
  for (const Pattern& arg : pattern.args)
    if (const auto type = type_of(arg, values)) return type;
  return std::nullopt;
}

std::optional<Number> value_of(const Pattern& pattern, const Values& values, Scalar type,
                               Scalar cast_inside) {
  switch (pattern.kind) {
    case Pattern::Kind::Any:
    case Pattern::Kind::Constant: return values[static_cast<std::size_t>(pattern.variable)];
    case Pattern::Kind::Number: return Number::of_double(type, pattern.number);
    case Pattern::Kind::Cast: {
      const bool outer = pattern.args[0].kind == Pattern::Kind::Cast;
      const auto inner = outer ? std::optional(convert(values[0], cast_inside)) : std::optional(values[0]);
      return convert(*inner, type);
    }
    case Pattern::Kind::Select: {
      const auto condition = value_of(pattern.args[0], values, Scalar::Bool, cast_inside);
      if (!condition) return std::nullopt;
      return value_of(pattern.args[condition->i != 0 ? 1 : 2], values, type, cast_inside);
    }
    case Pattern::Kind::Apply: break;
  }
  const Scalar operands = type_of(pattern, values).value_or(type);
  std::vector<Number> args;
  for (const Pattern& arg : pattern.args) {
    const auto value = value_of(arg, values, operands, cast_inside);
    if (!value) return std::nullopt;
    args.push_back(*value);
    const bool decided =
        (pattern.prim == Prim::And && value->i == 0) || (pattern.prim == Prim::Or && value->i != 0);
    if (args.size() == 1 && decided) return *value;
  }
  if (!is_defined(pattern.prim, args)) return std::nullopt;
  return evaluate(pattern.prim, args);
}

void find_variables(const Pattern& pattern, std::array<bool, pattern_variables>& used) {
  if (pattern.kind == Pattern::Kind::Any || pattern.kind == Pattern::Kind::Constant)
    used[static_cast<std::size_t>(pattern.variable)] = true;
  for (const Pattern& arg : pattern.args) find_variables(arg, used);
}

/// Can the operations of the pattern take such operands?
bool accepted(const Pattern& pattern, Scalar type) {
  if (pattern.kind == Pattern::Kind::Apply) {
    const PrimClass kind = info(pattern.prim).prim_class;
    const bool logic = kind == PrimClass::Logic;
    // What stands inside of a negation decides about the operands, and is a bool for it.
    if (!accepts(pattern.prim, logic ? Scalar::Bool : type)) return false;
  }
  return std::all_of(pattern.args.begin(), pattern.args.end(),
                     [&](const Pattern& arg) { return accepted(arg, type); });
}

bool admits(Of of, Scalar type) {
  switch (of) {
    case Of::Integers: return is_integer(type);
    case Of::Floats: return is_float(type);
    case Of::Numbers: return type != Scalar::Bool;
    case Of::Signed: return is_signed(type) || is_float(type);
    case Of::Bools: return type == Scalar::Bool;
    case Of::Scalars:
    case Of::Anything: return true;
  }
  return false;
}

std::string text_of(const Pattern& pattern) {
  switch (pattern.kind) {
    case Pattern::Kind::Any:
    case Pattern::Kind::Constant: return std::string(1, "xyzcd"[pattern.variable]);
    case Pattern::Kind::Number: return fmt::format("{}", pattern.number);
    default: break;
  }
  std::string text = pattern.kind == Pattern::Kind::Select ? "select"
                     : pattern.kind == Pattern::Kind::Cast ? "cast"
                                                           : std::string(info(pattern.prim).name);
  text += "(";
  for (const Pattern& arg : pattern.args) text += (text.back() == '(' ? "" : ", ") + text_of(arg);
  return text + ")";
}

/// All values of all variables that a rule uses.
void for_all_values(const Rule& rule, Scalar type, const std::function<void(const Values&)>& action) {
  std::array<bool, pattern_variables> used{};
  find_variables(rule.from, used);
  // A choice has a bool that decides and values of any type.
  const bool chooses = rule.from.kind == Pattern::Kind::Select;
  std::vector<std::vector<Number>> choices;
  for (int k = 0; k < pattern_variables; ++k) {
    const bool decides =
        chooses && rule.of == Of::Anything && k == 1 && rule.from.args[0].kind == Pattern::Kind::Any;
    const bool value = chooses && rule.of == Of::Bools && k > 0;
    choices.push_back(!used[static_cast<std::size_t>(k)] ? std::vector{Number{}}
                      : decides                          ? edges(Scalar::Bool)
                      : value                            ? edges(Scalar::F64)
                                                         : edges(type));
  }
  Values values;
  const std::function<void(std::size_t)> choose = [&](std::size_t k) {
    if (k == choices.size()) {
      action(values);
      return;
    }
    for (const Number& n : choices[k]) {
      values[k] = n;
      choose(k + 1);
    }
  };
  choose(0);
}

std::string text_of(const std::optional<Number>& n) {
  return n ? fmt::format("{} ({:x})", n->as_double(), n->u) : "an error";
}

/// One NaN is as good as another.
bool same(const std::optional<Number>& a, const std::optional<Number>& b) {
  if (a && b && is_float(a->type) && a->type == b->type && std::isnan(a->f) && std::isnan(b->f)) return true;
  return a == b;
}

bool is_negative(const Number& n) { return is_signed(n.type) && n.i < 0 && !(n == lowest(n.type)); }

}  // namespace

TEST(Rules, BothSidesAreTheSameForAllValues) {
  int tried = 0;
  for (const Rule& rule : rules()) {
    if (rule.from.kind == Pattern::Kind::Cast) continue;
    for (const ScalarInfo& scalar : all_scalars()) {
      if (!admits(rule.of, scalar.scalar) || !accepted(rule.from, scalar.scalar)) continue;
      const std::string name =
          text_of(rule.from) + " = " + text_of(rule.to) + " of " + std::string(scalar.name);
      for_all_values(rule, scalar.scalar, [&](const Values& values) {
        if (rule.when && !is_negative(values[3])) return;
        const bool chooses = rule.from.kind == Pattern::Kind::Select;
        const Scalar type = chooses && rule.of == Of::Bools && type_of(rule.to, values) != Scalar::Bool
                                ? Scalar::F64
                            : chooses ? values[0].type
                                      : result_type(rule.from.prim, scalar.scalar);
        const auto a = value_of(rule.from, values, type, type), b = value_of(rule.to, values, type, type);
        ++tried;
        // The error of an operand that is left out is looked for in the expression itself.
        if (!same(a, b) && a)
          ADD_FAILURE() << name << ": " << text_of(a) << " is not " << text_of(b)
                        << " for x = " << text_of(values[0]) << ", y = " << text_of(values[1])
                        << ", c = " << text_of(values[3]) << ", d = " << text_of(values[4]);
      });
    }
  }
  EXPECT_GT(tried, 10000);
}

TEST(Rules, ConversionsThatLoseNothing) {
  ExprPool pool;
  int dropped = 0;
  for (const ScalarInfo& from : all_scalars()) {
    for (const ScalarInfo& by : all_scalars()) {
      for (const ScalarInfo& to : all_scalars()) {
        const Expr x = pool.arg(0, from.scalar);
        const Expr twice = pool.cast(to.scalar, pool.cast(by.scalar, x));
        const Expr once = simplified(pool, twice, {});
        if (once == twice) continue;
        ++dropped;
        EXPECT_EQ(once, pool.cast(to.scalar, x));
        for (const Number& n : edges(from.scalar))
          EXPECT_TRUE(same(convert(n, to.scalar), convert(convert(n, by.scalar), to.scalar)))
              << from.name << " to " << by.name << " to " << to.name << ": " << text_of(std::optional(n));
      }
    }
  }
  EXPECT_GT(dropped, 100);
}

TEST(Rules, EveryRuleIsFound) {
  ExprPool pool;
  for (const Rule& rule : rules()) {
    if (rule.from.kind == Pattern::Kind::Cast) continue;
    for (const Scalar type : {Scalar::I64, Scalar::F64, Scalar::Bool}) {
      if (!admits(rule.of, type) || !accepted(rule.from, type)) continue;
      const bool chooses = rule.from.kind == Pattern::Kind::Select;
      Match match;
      for (int k = 0; k < 3; ++k) match[static_cast<std::size_t>(k)] = pool.arg(k, type);
      if (chooses && rule.of == Of::Anything)
        match[1] =
            pool.arg(1, rule.from.args[0].kind == Pattern::Kind::Any ? Type(Scalar::Bool) : Type(type));
      match[3] = pool.literal(Number::of(type, rule.when ? -5 : 5));
      match[4] = chooses ? pool.arg(4, type) : pool.literal(Number::of(type, 7));
      const Type whole = chooses ? type : result_type(rule.from.prim, type);
      const Expr from = instantiated(pool, rule.from, match, whole);
      const Expr to = instantiated(pool, rule.to, match, whole);
      EXPECT_NE(from, to) << text_of(rule.from);
      EXPECT_EQ(simplified(pool, from, {}), simplified(pool, to, {})) << text_of(rule.from);
    }
  }
}

TEST(Rules, AnErrorIsNotDropped) {
  ExprPool pool;
  const Expr quotient = pool.apply(Prim::Div, {pool.integer(1), pool.arg(0, Scalar::I64)});
  const auto kept = [&](Expr e) { EXPECT_EQ(simplified(pool, e, {}), e); };
  kept(pool.apply(Prim::Sub, {quotient, quotient}));
  kept(pool.apply(Prim::Eq, {quotient, quotient}));
  const Expr truth = pool.apply(Prim::Eq, {quotient, pool.integer(2)});
  kept(pool.apply(Prim::And, {truth, pool.boolean(false)}));
  kept(pool.select(truth, pool.integer(1), pool.integer(1)));
  // What is not evaluated cannot fail.
  EXPECT_EQ(simplified(pool, pool.apply(Prim::And, {pool.boolean(false), truth}), {}), pool.boolean(false));
  EXPECT_EQ(simplified(pool, pool.select(pool.boolean(true), pool.integer(3), quotient), {}),
            pool.integer(3));
}

TEST(Rules, FloatsAreLeftAlone) {
  ExprPool pool;
  const Expr x = pool.arg(0, Scalar::F64), zero = pool.literal(Number::of_double(Scalar::F64, 0));
  for (const Expr e :
       {pool.apply(Prim::Add, {x, zero}), pool.apply(Prim::Sub, {x, x}), pool.apply(Prim::Mul, {x, zero}),
        pool.apply(Prim::Eq, {x, x}), pool.apply(Prim::Not, {pool.apply(Prim::Lt, {x, zero})})})
    EXPECT_EQ(simplified(pool, e, {}), e);
}

}  // namespace twill
