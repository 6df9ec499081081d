// Random expressions of a wanted type.
#include "fuzz/generator.h"
#include "program/affine_of.h"

#include <algorithm>
#include <cmath>

namespace twill {

namespace {

constexpr double largest_magnitude = 1e6;
constexpr double largest_error = 1e-3;  // relative to the magnitude

}  // namespace

// ---- how good an expression has to be --------------------------------------------------------------------

bool Generator::acceptable(const Facts& facts) const {
  return std::ranges::all_of(facts, [](const Fact& fact) {
    return fact.integral || (fact.magnitude() <= largest_magnitude &&
                             fact.error <= largest_error * std::max(1.0, fact.magnitude()));
  });
}

bool Generator::is_exact(Expr e) {
  return std::ranges::all_of(bounds_.of(e), [](const Fact& fact) { return fact.error == 0; });
}

Expr Generator::value(const Type& type, const Surroundings& around) {
  for (int fuel = budget_.nodes; fuel > 0; fuel /= 2) {
    const Expr e = expr(type, around, fuel);
    if (budget_.strict || acceptable(bounds_.of(e))) return e;
  }
  return literal(type);
}

Expr Generator::condition(const Surroundings& around, int fuel) { return bool_expr(around, fuel); }

Expr Generator::index_value(const Surroundings& around, int fuel) {
  return pool_.cast(Scalar::I64, integer_expr(integer_type(), around, fuel));
}

/// A float that conditions and integers may depend on.
Expr Generator::exact_float(Scalar type, const Surroundings& around, int fuel) {
  if (budget_.strict) return float_expr(type, around, fuel);
  if (!around.in_function) {
    for (; fuel > 0; fuel /= 2) {
      const Expr e = float_expr(type, around, fuel);
      if (is_exact(e)) return e;
    }
  }
  return literal(type);
}

// ---- leaves ----------------------------------------------------------------------------------------------

Number Generator::number(Scalar type) {
  if (type == Scalar::Bool) return Number::of(type, rng_.below(2));
  if (is_float(type)) {
    if (budget_.strict && rng_.chance(4))
      return Number::of_double(type, rng_.pick({-0.0, 1e30, 1e-30, HUGE_VAL, -HUGE_VAL, std::nan("")}));
    return Number::of_double(type, static_cast<double>(rng_.between(-8, 8)) * (rng_.chance(50) ? 1.0 : 0.5));
  }
  if (rng_.chance(4)) return rng_.chance(50) ? highest(type) : lowest(type);
  return convert(Number::of(Scalar::I64, rng_.between(-3, 9)), type);
}

Expr Generator::literal(const Type& type) {
  if (type.is_scalar()) return pool_.literal(number(type.scalar()));
  std::vector<Expr> fields;
  for (const Field& field : type.record().fields) fields.push_back(literal(field.type));
  return pool_.make(type, std::move(fields));
}

Expr Generator::leaf(const Type& type, const Surroundings& around, int fuel) {
  if (around.in_function) {
    std::vector<Expr> fitting;
    for (std::size_t k = 0; k < around.parameters.size(); ++k)
      if (around.parameters[k].type == type) fitting.push_back(pool_.arg(static_cast<int>(k), type));
    return fitting.empty() || rng_.chance(20) ? literal(type) : rng_.pick(fitting);
  }
  if (rng_.chance(15)) return literal(type);
  if (fuel > 0 && !tables_.empty() && type.is_integer() && rng_.chance(25))
    return pool_.cast(type, look_up(rng_.pick(tables_), around, fuel / 2));
  for (const OwnPast& past : around.past)
    if (program_[past.array].type == type && rng_.chance(60)) return read_past(past, around);
  if (type.is_scalar() && is_integer(type.scalar()) && !around.indices.empty() && rng_.chance(20))
    return pool_.cast(type, pool_.index(rng_.pick(around.indices).dim));
  std::vector<ArrayId> same;
  std::vector<ArrayId> others;
  for (const ArrayId id : visible_) {
    const Type& held = program_[id].type;
    if (held == type)
      same.push_back(id);
    else if (held.is_record()) {
      const auto& fields = held.record().fields;
      if (std::ranges::any_of(fields, [&](const Field& f) { return f.type == type; })) others.push_back(id);
    } else if (type.is_scalar() && !held.is_float() && !type.is(Scalar::Bool) && is_integer(type.scalar())) {
      others.push_back(id);
    }
  }
  if (!same.empty() && (others.empty() || rng_.chance(75))) return read(rng_.pick(same), around, fuel);
  if (!others.empty()) {
    const Expr e = read(rng_.pick(others), around, fuel);
    if (e->type.is_scalar()) return pool_.cast(type, e);
    const auto& fields = e->type.record().fields;
    for (int k = 0; k < static_cast<int>(fields.size()); ++k)
      if (fields[static_cast<std::size_t>(k)].type == type) return pool_.field(e, k);
  }
  return literal(type);
}

// ---- reads -----------------------------------------------------------------------------------------------

Expr Generator::fitting(const Extent& extent, const Surroundings& around) {
  std::vector<Expr> choices;
  const Extent& s = extent;
  for (const VisibleIndex& index : around.indices) {
    const Extent& e = index.cap;
    const Expr i = pool_.index(index.dim);
    const auto add = [&](std::int64_t factor, std::int64_t room) {
      if (room < 0) return;
      const std::int64_t shift = rng_.chance(60) ? 0 : rng_.between(0, room);
      choices.push_back(
          pool_.apply(Prim::Add, {pool_.apply(Prim::Mul, {pool_.integer(factor), i}), pool_.integer(shift)}));
    };
    const bool literal = !e.base && !s.base;
    for (const std::int64_t factor : {1, 2})
      if (literal || (e.base == s.base && s.mul == factor * e.mul))
        add(factor, s.add - 1 - factor * (e.add - 1));
    if (!e.base && s.base) add(1, s.add - e.add);
    // An index of half a size, N / 2, twice.
    const auto* half = e.base && e.mul == 1 && e.add == 0 ? as<Apply>(e.base) : nullptr;
    if (half && half->prim == Prim::Div && e.base->args[0] == s.base && s.mul == 1 && s.add >= 0) add(2, 1);
    // From the other end.
    if (e.base == s.base && e.mul == s.mul && e.add == s.add && rng_.chance(15))
      choices.push_back(pool_.apply(Prim::Sub, {pool_.apply(Prim::Sub, {s.expr, pool_.integer(1)}), i}));
  }
  if (choices.empty() || rng_.chance(5))
    if (s.add > 0 && s.mul >= 0) choices.push_back(pool_.integer(rng_.between(0, s.add - 1)));
  return choices.empty() ? Expr{} : rng_.pick(choices);
}

Expr Generator::wild_index(const Surroundings& around, int fuel) {
  if (around.indices.empty() || rng_.chance(25))
    return fuel > 1 ? index_value(around, fuel / 2) : pool_.integer(rng_.between(-2, 4));
  const Expr i = pool_.index(rng_.pick(around.indices).dim);
  const Expr j = pool_.index(rng_.pick(around.indices).dim);
  const Expr c = pool_.integer(rng_.between(-2, 2));
  switch (rng_.below(8)) {
    case 0: return pool_.apply(Prim::Add, {pool_.apply(Prim::Mul, {pool_.integer(2), i}), c});
    case 5: return pool_.apply(Prim::Mul, {i, j});
    case 1: return pool_.apply(Prim::Add, {i, j});
    case 2: return pool_.apply(Prim::Sub, {i, j});
    case 3: return pool_.apply(Prim::Div, {i, pool_.integer(rng_.between(2, 3))});
    case 4: return pool_.apply(Prim::Mod, {pool_.apply(Prim::Add, {i, c}), pool_.integer(3)});
    default: return pool_.apply(Prim::Add, {i, c});
  }
}

Expr Generator::read(ArrayId id, const Surroundings& around, int fuel) {
  const Held& held = held_.at(id);
  const Type& type = program_[id].type;
  std::vector<Expr> subscripts;
  std::vector<Boundary> rules;
  std::vector<Expr> guards;
  for (const Extent& extent : held.shape) {
    const Expr inside = rng_.chance(80) ? fitting(extent, around) : Expr{};
    if (inside) {
      subscripts.push_back(inside);
      rules.push_back(Boundary::Inside);
      continue;
    }
    const Expr wild = wild_index(around, fuel);
    subscripts.push_back(wild);
    // A rule that needs a nearest element fails if there is none.
    const bool walks =
        std::ranges::any_of(around.indices, [&](const VisibleIndex& i) { return i.cap.expr == extent.expr; });
    const bool has_element = walks || (extent.add > 0 && extent.mul >= 0);
    // Nothing is proven about products and data: the run fails if they are outside. Of an array that may
    // have no element, it is proven that any place is outside.
    const Expr data = as<Cast>(wild) ? wild->args[0] : wild;
    const auto* product = as<Apply>(wild);
    const bool unknown = as<Read>(data) || (product && product->prim == Prim::Mul && !affine_of(wild));
    if (unknown && has_element && rng_.chance(10)) {
      rules.push_back(Boundary::Inside);
      continue;
    }
    if (has_element ? rng_.chance(65) : rng_.chance(5)) {
      rules.push_back(rng_.pick({Boundary::Clamp, Boundary::Mirror, Boundary::Wrap}));
    } else if (rng_.chance(60)) {
      rules.push_back(Boundary::Constant);
    } else {
      rules.push_back(Boundary::Inside);
      guards.push_back(pool_.apply(Prim::And, {pool_.apply(Prim::Le, {pool_.integer(0), wild}),
                                               pool_.apply(Prim::Lt, {wild, extent.expr})}));
    }
  }
  const bool fallback = std::ranges::count(rules, Boundary::Constant) > 0;
  Expr e = pool_.read(id, type, std::move(subscripts), std::move(rules), fallback ? literal(type) : Expr{});
  if (guards.empty()) return e;
  Expr guard = guards[0];
  for (std::size_t k = 1; k < guards.size(); ++k) guard = pool_.apply(Prim::And, {guard, guards[k]});
  return pool_.select(guard, e, literal(type));
}

/// An element in a place that data say.
Expr Generator::look_up(ArrayId table, const Surroundings& around, int fuel) {
  std::vector<Expr> subscripts;
  for (std::size_t s = 0; s < held_.at(table).shape.size(); ++s)
    subscripts.push_back(index_value(around, fuel));
  const std::vector<Boundary> rules(subscripts.size(), Boundary::Clamp);
  return pool_.read(table, program_[table].type, std::move(subscripts), rules);
}

/// An element that an earlier point of the sequential dimension wrote.
Expr Generator::read_past(const OwnPast& past, const Surroundings& around) {
  const Expr s = pool_.index(past.sequential);
  const bool earlier = past.earlier && rng_.chance(50);
  const std::int64_t back = rng_.chance(75) ? 1 : 2;
  std::vector<Expr> subscripts;
  for (std::size_t k = 0; k < past.at.size(); ++k) {
    if (past.at[k] == past.sequential) {
      subscripts.push_back(earlier ? pool_.index(*past.earlier)
                                   : pool_.apply(Prim::Sub, {s, pool_.integer(back)}));
      continue;
    }
    const Expr inside =
        past.aligned || rng_.chance(60) ? Expr{} : fitting(held_.at(past.array).shape[k], around);
    subscripts.push_back(inside ? inside : pool_.index(past.at[k]));
  }
  const Type& type = program_[past.array].type;
  const Expr element = pool_.read(past.array, type, std::move(subscripts));
  if (earlier) return element;
  return pool_.select(pool_.apply(Prim::Ge, {s, pool_.integer(back)}), element, literal(type));
}

// ---- operations ------------------------------------------------------------------------------------------

Expr Generator::apply(Prim prim, std::vector<Expr> operands) {
  const Type type = operands[0]->type;
  if (!is_narrow(type.scalar())) return pool_.apply(prim, std::move(operands));
  for (Expr& operand : operands) operand = pool_.cast(Scalar::I32, operand);
  const Expr result = pool_.apply(prim, std::move(operands));
  return result->type.is(Scalar::Bool) ? result : pool_.cast(type, result);
}

Expr Generator::expr(const Type& type, const Surroundings& around, int fuel) {
  if (fuel <= 1) return leaf(type, around, fuel);
  if (rng_.chance(10)) return choice(type, around, fuel);
  if (rng_.chance(10))
    if (const Expr e = call(type, around, fuel)) return e;
  if (type.is_record()) return record_expr(type, around, fuel);
  if (type.is(Scalar::Bool)) return bool_expr(around, fuel);
  if (type.is_integer()) return integer_expr(type.scalar(), around, fuel);
  return float_expr(type.scalar(), around, fuel);
}

Expr Generator::choice(const Type& type, const Surroundings& around, int fuel) {
  return pool_.select(condition(around, fuel / 3), expr(type, around, fuel / 3),
                      expr(type, around, fuel / 3));
}

Expr Generator::call(const Type& type, const Surroundings& around, int fuel) {
  std::vector<FunctionId> fitting;
  for (const FunctionId id : functions_)
    if (program_[id].result == type) fitting.push_back(id);
  if (fitting.empty()) return {};
  const FunctionId function = rng_.pick(fitting);
  std::vector<Expr> arguments;
  for (const Parameter& parameter : std::vector(program_[function].parameters))
    arguments.push_back(expr(parameter.type, around, fuel / 3));
  return pool_.invoke(function, type, std::move(arguments));
}

Expr Generator::record_expr(const Type& type, const Surroundings& around, int fuel) {
  if (rng_.chance(35)) return leaf(type, around, fuel);
  std::vector<Expr> fields;
  for (const Field& field : type.record().fields) fields.push_back(expr(field.type, around, fuel / 2));
  return pool_.make(type, std::move(fields));
}

Expr Generator::bool_expr(const Surroundings& around, int fuel) {
  if (fuel <= 1 || rng_.chance(10)) return leaf(Scalar::Bool, around, fuel);
  const int half = fuel / 2;
  switch (rng_.weighted({50, 10, 20, 8, 5, 7})) {
    case 0: {
      const Prim prim = rng_.pick({Prim::Eq, Prim::Ne, Prim::Lt, Prim::Le, Prim::Gt, Prim::Ge});
      const Scalar type = integer_type();
      return apply(prim, {integer_expr(type, around, half), integer_expr(type, around, half)});
    }
    case 1: {
      const Scalar type = rng_.pick({Scalar::F32, Scalar::F64});
      if (around.in_function && !budget_.strict) return leaf(Scalar::Bool, around, fuel);
      return apply(rng_.pick({Prim::Lt, Prim::Le, Prim::Eq, Prim::Ge}),
                   {exact_float(type, around, half), exact_float(type, around, half)});
    }
    case 2:
      return apply(rng_.pick({Prim::And, Prim::Or}), {bool_expr(around, half), bool_expr(around, half)});
    case 3: return apply(Prim::Not, {bool_expr(around, fuel - 1)});
    case 4:
      return apply(rng_.pick({Prim::Xor, Prim::Eq, Prim::Ne}),
                   {bool_expr(around, half), bool_expr(around, half)});
    default: return pool_.cast(Scalar::Bool, integer_expr(integer_type(), around, fuel - 1));
  }
}

Expr Generator::integer_expr(Scalar type, const Surroundings& around, int fuel) {
  if (fuel <= 1 || rng_.chance(15)) return leaf(type, around, fuel);
  const int half = fuel / 2;
  const auto operand = [&] { return integer_expr(type, around, half); };
  switch (rng_.weighted({40, 8, 12, 12, 8, 6, 6, 4, 4})) {
    case 0:
      return apply(rng_.pick({Prim::Add, Prim::Sub, Prim::Mul, Prim::Min, Prim::Max}),
                   {operand(), operand()});
    case 1: return apply(rng_.pick({Prim::Neg, Prim::Abs, Prim::BitNot}), {operand()});
    case 2:
      return apply(rng_.pick({Prim::BitAnd, Prim::BitOr, Prim::Xor, Prim::Shl, Prim::Shr}),
                   {operand(), operand()});
    case 3: {
      std::int64_t divisor = rng_.pick({2, 3, 5, 7, -2, -3, 1, -1});
      if (is_unsigned(type)) divisor = std::abs(divisor);
      return apply(rng_.pick({Prim::Div, Prim::Mod}), {operand(), pool_.literal(Number::of(type, divisor))});
    }
    case 4: {
      // A division by data, under a guard.
      const Expr a = operand(), b = operand();
      const Expr nonzero = apply(Prim::Ne, {b, pool_.literal(Number::of(type, 0))});
      const auto function = quotients_.find(type);
      const Expr quotient = function != quotients_.end() && rng_.chance(50)
                                ? pool_.invoke(function->second, type, {a, b})
                                : apply(rng_.pick({Prim::Div, Prim::Mod}), {a, b});
      return pool_.select(nonzero, quotient, operand());
    }
    case 5: {
      if (rng_.chance(75)) return pool_.cast(type, integer_expr(integer_type(), around, fuel - 1));
      // An index, under a guard.
      const Expr at = integer_expr(Scalar::I64, around, half), count = pool_.integer(rng_.between(1, 40));
      const Expr inside = pool_.apply(Prim::And, {pool_.apply(Prim::Le, {pool_.integer(0), at}),
                                                  pool_.apply(Prim::Lt, {at, count})});
      return pool_.cast(type, pool_.select(inside, pool_.apply(Prim::Within, {at, count}), at));
    }
    case 6: return pool_.cast(type, bool_expr(around, fuel - 1));
    case 7: return apply(Prim::Pow, {operand(), pool_.literal(Number::of(type, rng_.between(0, 3)))});
    default: {
      if (around.in_function && !budget_.strict) return leaf(type, around, fuel);
      return pool_.cast(type, exact_float(rng_.pick({Scalar::F32, Scalar::F64}), around, half));
    }
  }
}

Expr Generator::float_expr(Scalar type, const Surroundings& around, int fuel) {
  if (is_storage_only(type)) {
    if (fuel <= 1 || rng_.chance(40)) return leaf(type, around, fuel);
    return pool_.cast(type, float_expr(Scalar::F32, around, fuel - 1));
  }
  if (fuel <= 1 || rng_.chance(15)) return leaf(type, around, fuel);
  const int half = fuel / 2;
  const auto operand = [&] { return float_expr(type, around, half); };
  const auto number = [&](double value) { return pool_.literal(Number::of_double(type, value)); };
  switch (rng_.weighted({45, 10, 10, 8, 10, 5, 6, 6})) {
    case 0:
      return apply(rng_.pick({Prim::Add, Prim::Sub, Prim::Mul, Prim::Min, Prim::Max}),
                   {operand(), operand()});
    case 1: return apply(rng_.pick({Prim::Neg, Prim::Abs}), {operand()});
    case 2: {
      // A small integer.
      const Scalar from = integer_type();
      const Expr e =
          apply(Prim::Mod, {integer_expr(from, around, half), pool_.literal(Number::of(from, 16))});
      return pool_.cast(type, e);
    }
    case 3: return apply(Prim::Mul, {operand(), number(rng_.pick({0.5, 0.25, -0.75}))});
    case 4: {
      const Expr a = operand();
      const Prim prim = rng_.pick({Prim::Sin, Prim::Cos, Prim::Tanh, Prim::Erf, Prim::Atan, Prim::Exp,
                                   Prim::Sqrt, Prim::Floor, Prim::Trunc, Prim::Round, Prim::Ceil});
      if (budget_.strict) return apply(prim, {a});
      if (prim == Prim::Floor || prim == Prim::Trunc || prim == Prim::Round || prim == Prim::Ceil)
        return around.in_function ? a : apply(prim, {exact_float(type, around, half)});
      if (prim == Prim::Sqrt) return a;
      if (prim == Prim::Exp)
        return apply(prim, {apply(Prim::Max, {apply(Prim::Min, {a, number(2)}), number(-2)})});
      return apply(prim, {a});
    }
    case 5: return apply(Prim::Fma, {operand(), operand(), operand()});
    case 6: {
      const Scalar from = rng_.pick({Scalar::F16, Scalar::BF16, Scalar::F32, Scalar::F64});
      return pool_.cast(type, is_storage_only(from) ? pool_.cast(Scalar::F32, float_expr(from, around, half))
                                                    : float_expr(from, around, half));
    }
    default: {
      if (!budget_.strict) return apply(Prim::Max, {apply(Prim::Min, {operand(), number(8)}), number(-8)});
      switch (rng_.below(4)) {
        case 0:
          return apply(rng_.pick({Prim::Div, Prim::Mod, Prim::Pow, Prim::Atan2, Prim::Hypot}),
                       {operand(), operand()});
        case 1:
          return apply(rng_.pick({Prim::Log, Prim::Log2, Prim::Log10, Prim::Tan, Prim::Asin, Prim::Acos,
                                  Prim::Sinh, Prim::Cosh, Prim::Exp2}),
                       {operand()});
        case 2:
          return pool_.select(apply(rng_.pick({Prim::IsNan, Prim::IsInf}), {operand()}), operand(),
                              operand());
        default: return apply(Prim::Div, {operand(), number(rng_.pick({2.0, 3.0, -5.0}))});
      }
    }
  }
}

}  // namespace twill
