// Promotion, adaptation of plain literals, and implicit conversion.
#include "program/typing.h"

#include "base/error.h"
#include "program/evaluate.h"
#include "program/program.h"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>

namespace twill {

namespace {

std::string name(const Type& type) { return "'" + to_string(type) + "'"; }

// ---- plain literals
// ---------------------------------------------------------------------------------------- A weak expression
// is a literal, or operations and choices over weak expressions; its type is i64 or f64 until it adapts.

bool holds(Scalar type, const Number& value) {
  if (is_float(type)) return std::isinf(value.as_double()) || !std::isinf(convert(value, type).f);
  if (!is_integer(type) || !is_integer(value.type) || (is_unsigned(type) && value.i < 0)) return false;
  return convert(convert(value, type), Scalar::I64) == value;
}

/// Can a weak expression become one of this type? Conditions of choices stay as they are.
bool can_adapt(Expr weak, Scalar to) {
  if (to == Scalar::Bool || !weak->type.is_number()) return weak->type.is(to);
  if (const auto* literal = as<Literal>(weak)) return holds(to, literal->value);
  if (as<Select>(weak)) return can_adapt(weak->args[1], to) && can_adapt(weak->args[2], to);
  return weak->type.is_integer() || is_float(to);
}

/// Fractional operations move to the new type; integer ones keep their meaning and are converted.
Expr adapt(ExprPool& pool, Expr weak, Scalar to) {
  if (as<Select>(weak))
    return pool.select(weak->args[0], adapt(pool, weak->args[1], to), adapt(pool, weak->args[2], to),
                       weak->place);
  const auto* applied = as<Apply>(weak);
  if (applied && weak->type.is_float() && !is_storage_only(to) &&
      result_type(applied->prim, Scalar::F64) == Scalar::F64) {
    std::vector<Expr> operands;
    for (Expr operand : weak->args) operands.push_back(adapt(pool, operand, to));
    return pool.apply(applied->prim, std::move(operands), weak->place);
  }
  return pool.cast(to, weak, weak->place);
}

Expr to_type(ExprPool& pool, const Operand& operand, const Type& type) {
  if (operand.weak) return adapt(pool, operand.expr, type.scalar());
  return pool.cast(type, operand.expr, operand.expr->place);
}

std::string literal_text(Expr e) {
  const auto* literal = as<Literal>(e);
  if (!literal) return "the value";
  if (is_float(literal->value.type)) return fmt::format("{}", literal->value.f);
  return std::to_string(literal->value.i);
}

// ---- promotion
// ------------------------------------------------------------------------------------------------

/// The type that arithmetic happens in; of numbers.
Scalar promoted(Scalar s) {
  if (is_storage_only(s)) return Scalar::F32;
  return is_narrow(s) ? Scalar::I32 : s;
}

Scalar common(Scalar a, Scalar b) {
  a = promoted(a);
  b = promoted(b);
  if (is_float(a) && is_float(b)) return std::max(a, b);
  if (is_float(a) || is_float(b)) return is_float(a) ? a : b;
  const bool wide = std::max(info(a).bytes, info(b).bytes) == 8;
  if (is_signed(a) || is_signed(b)) return wide ? Scalar::I64 : Scalar::I32;
  return wide ? Scalar::U64 : Scalar::U32;
}

/// The type a weak operand and one of a given type meet in.
Scalar meet(const Operand& weak, Scalar other) {
  const Scalar target = promoted(other);
  return can_adapt(weak.expr, target) ? target : common(weak.expr->type.scalar(), other);
}

[[noreturn]] void refuse(Prim prim, const std::vector<Operand>& operands, const Place& place) {
  std::string types;
  for (const Operand& operand : operands) types += (types.empty() ? "" : " and ") + name(operand.expr->type);
  std::string help;
  const bool has_bool = std::ranges::any_of(operands, [](auto& o) { return o.expr->type.is(Scalar::Bool); });
  const bool all_bool = std::ranges::all_of(operands, [](auto& o) { return o.expr->type.is(Scalar::Bool); });
  const PrimClass prim_class = info(prim).prim_class;
  if (prim_class == PrimClass::Logic) {
    help = "compare numbers first, for example x != 0";
  } else if (all_bool && (prim == Prim::BitAnd || prim == Prim::BitOr || prim == Prim::BitNot)) {
    help = prim == Prim::BitAnd ? "use 'and'" : prim == Prim::BitOr ? "use 'or'" : "use 'not'";
  } else if (prim_class == PrimClass::Bits) {
    help = "bit operations are for integers";
  } else if (prim_class == PrimClass::Place) {
    help = "an index and a number of elements are integers";
  } else if (has_bool) {
    help = "bool is not a number: convert it, for example i32(x)";
  }
  fail(Fault::User, "E0220", place, fmt::format("'{}' does not take {}", info(prim).name, types), help);
}

}  // namespace

std::optional<Type> arithmetic_type(const Operand& a) {
  if (!a.expr->type.is_number()) return std::nullopt;
  return promoted(a.expr->type.scalar());
}

std::optional<Type> common_type(const Operand& a, const Operand& b) {
  if (!a.expr->type.is_number() || !b.expr->type.is_number()) return std::nullopt;
  const Scalar left = a.expr->type.scalar();
  const Scalar right = b.expr->type.scalar();
  if (a.weak == b.weak) return common(left, right);
  return a.weak ? meet(a, right) : meet(b, left);
}

Type accumulator_type(const Type& value) {
  switch (value.scalar()) {
    case Scalar::F64: return Scalar::F64;
    case Scalar::F16:
    case Scalar::BF16:
    case Scalar::F32: return Scalar::F32;
    default: return is_unsigned(value.scalar()) ? Scalar::U64 : Scalar::I64;
  }
}

Operand apply_promoted(ExprPool& pool, Prim prim, std::vector<Operand> operands, const Place& place) {
  const PrimInfo& what = info(prim);
  if (static_cast<int>(operands.size()) != what.arity)
    fail(Fault::User, "E0221", place,
         fmt::format("'{}' takes {} operand{}, not {}", what.name, what.arity, what.arity == 1 ? "" : "s",
                     operands.size()));
  const bool weak = std::ranges::all_of(operands, &Operand::weak);

  // The common type of all operands, found by letting strong ones meet first.
  std::optional<Type> type = operands[0].expr->type;
  const bool numbers = std::ranges::all_of(operands, [](auto& o) { return o.expr->type.is_number(); });
  const bool bools = std::ranges::all_of(operands, [](auto& o) { return o.expr->type.is(Scalar::Bool); });
  if (numbers) {
    std::optional<Scalar> strong;
    for (const Operand& o : operands)
      if (!o.weak) strong = strong ? common(*strong, o.expr->type.scalar()) : promoted(o.expr->type.scalar());
    std::optional<Scalar> met = strong;
    for (const Operand& o : operands) {
      if (!o.weak) continue;
      met = !met ? o.expr->type.scalar() : strong ? meet(o, *met) : common(*met, o.expr->type.scalar());
    }
    if (what.prim_class == PrimClass::Function && is_integer(*met)) met = Scalar::F64;
    if (what.prim_class == PrimClass::Place && is_integer(*met)) met = Scalar::I64;
    type = *met;
  } else if (!bools) {
    refuse(prim, operands, place);
  }
  if (!accepts(prim, type->scalar())) refuse(prim, operands, place);

  std::vector<Expr> converted;
  for (const Operand& operand : operands) converted.push_back(to_type(pool, operand, *type));
  const bool stays_weak = weak && result_type(prim, type->scalar()) != Scalar::Bool;
  return {pool.apply(prim, std::move(converted), place), stays_weak};
}

Operand select_promoted(ExprPool& pool, Expr condition, Operand then, Operand otherwise, const Place& place) {
  if (!condition->type.is(Scalar::Bool))
    fail(Fault::User, "E0222", place, fmt::format("the condition is {}, not 'bool'", name(condition->type)),
         condition->type.is_number() ? "compare it, for example x != 0" : "");
  const bool weak = then.weak && otherwise.weak;
  if (then.expr->type == otherwise.expr->type && then.weak == otherwise.weak)
    return {pool.select(condition, then.expr, otherwise.expr, place), weak};
  const std::optional<Type> type = common_type(then, otherwise);
  if (!type)
    fail(Fault::User, "E0223", place,
         fmt::format("the branches have different types: {} and {}", name(then.expr->type),
                     name(otherwise.expr->type)));
  return {pool.select(condition, to_type(pool, then, *type), to_type(pool, otherwise, *type), place), weak};
}

Expr convert_implicitly(ExprPool& pool, Operand value, const Type& to, const Place& place) {
  const Type& from = value.expr->type;
  if (from == to) return value.expr;
  if (value.weak && to.is_number()) {
    if (can_adapt(value.expr, to.scalar())) return adapt(pool, value.expr, to.scalar());
    const std::string help =
        from.is_float() ? fmt::format("convert it explicitly: {}(...)", to_string(to)) : std::string{};
    fail(Fault::User, "E0224", place, fmt::format("{} does not fit {}", literal_text(value.expr), name(to)),
         help);
  }
  std::string help;
  if (from.is_number() && to.is_number()) {
    const Scalar a = from.scalar();
    const Scalar b = to.scalar();
    const bool widens = info(b).bytes > info(a).bytes && (is_unsigned(a) || is_signed(b));
    if (is_float(b) || (is_integer(a) && widens)) return pool.cast(to, value.expr, place);
  }
  if (from.is_scalar() && to.is_scalar())
    help = to.is(Scalar::Bool) ? "compare it, for example x != 0"
                               : fmt::format("convert it explicitly: {}(...)", to_string(to));
  fail(Fault::User, "E0225", place, fmt::format("{} does not become {} by itself", name(from), name(to)),
       help);
}

Operator builtin_operator(ExprPool& pool, Prim prim, const Type& type) {
  Operator op;
  op.type = type;
  if (!type.is_scalar() || !combines(prim, type.scalar())) return op;
  op.prim = prim;
  op.identity = pool.literal(identity(prim, type.scalar()));
  op.associative = true;
  op.commutative = true;
  return op;
}

Expr combined(ExprPool& pool, const Operator& op, Expr a, Expr b) {
  if (!op.prim) return pool.invoke(op.function, op.type, {a, b});
  const Scalar type = op.type.scalar();
  if (!is_narrow(type)) return pool.apply(*op.prim, {a, b});
  // No operator can tell the bits that wrapping around loses.
  return pool.cast(type, pool.apply(*op.prim, {pool.cast(Scalar::I32, a), pool.cast(Scalar::I32, b)}));
}

}  // namespace twill
