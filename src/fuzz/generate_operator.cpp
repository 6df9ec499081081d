// Operators that folds, scans, scatters and groups combine with. All of them are what they claim to be:
// associative, and commutative where they say so.
#include "fuzz/generator.h"
#include "program/evaluate.h"
#include "program/typing.h"

#include <algorithm>

namespace twill {

namespace {

constexpr Prim combiners[] = {Prim::Add, Prim::Mul,    Prim::Min,   Prim::Max, Prim::And,
                              Prim::Or,  Prim::BitAnd, Prim::BitOr, Prim::Xor};

}  // namespace

Operator Generator::declared(const char* name, const Type& type, Expr body, Expr identity, bool commutative) {
  Operator op;
  op.type = type;
  op.function = program_.add_function({fresh(name), {{"a", type}, {"b", type}}, type, body, {}});
  op.identity = identity;
  op.associative = true;
  op.commutative = commutative;
  return op;
}

Expr Generator::field_by_field(const Type& type, Expr a, Expr b) {
  if (type.is_record()) {
    std::vector<Expr> fields;
    const auto& all = type.record().fields;
    for (int k = 0; k < static_cast<int>(all.size()); ++k)
      fields.push_back(
          field_by_field(all[static_cast<std::size_t>(k)].type, pool_.field(a, k), pool_.field(b, k)));
    return pool_.make(type, std::move(fields));
  }
  if (type.is(Scalar::Bool)) return apply(Prim::Or, {a, b});
  if (is_storage_only(type.scalar())) return b;  // the last one
  return apply(is_float(type.scalar()) ? Prim::Max : Prim::Add, {a, b});
}

Expr Generator::field_by_field_identity(const Type& type) {
  if (type.is_record()) {
    std::vector<Expr> fields;
    for (const Field& field : type.record().fields) {
      fields.push_back(field_by_field_identity(field.type));
      if (!fields.back()) return {};
    }
    return pool_.make(type, std::move(fields));
  }
  if (is_storage_only(type.scalar())) return {};
  return pool_.literal(identity(type.is(Scalar::Bool)     ? Prim::Or
                                : is_float(type.scalar()) ? Prim::Max
                                                          : Prim::Add,
                                type.scalar()));
}

Operator Generator::user_operator(const Type& type) {
  const Expr a = pool_.arg(0, type), b = pool_.arg(1, type);
  if (rng_.chance(15)) return declared("last", type, b, {}, false);
  if (type.is_record()) {
    const auto& fields = type.record().fields;
    const auto integer = [&](std::size_t k) { return k < fields.size() && fields[k].type.is_integer(); };
    if (fields.size() == 2 && integer(0) && fields[0].type == fields[1].type && rng_.chance(70)) {
      // Composition of x -> m * x + c: associative, not commutative.
      const auto part = [&](Expr e, int k) { return pool_.field(e, k); };
      const Expr m = apply(Prim::Mul, {part(a, 0), part(b, 0)});
      const Expr c = apply(Prim::Add, {apply(Prim::Mul, {part(a, 1), part(b, 0)}), part(b, 1)});
      const Scalar scalar = fields[0].type.scalar();
      const Expr one = pool_.literal(Number::of(scalar, 1)), zero = pool_.literal(Number::of(scalar, 0));
      return declared("compose", type, pool_.make(type, {m, c}),
                      rng_.chance(80) ? pool_.make(type, {one, zero}) : Expr{}, false);
    }
    if (fields.size() == 2 && integer(0) && fields[1].type.is_integer() && rng_.chance(70)) {
      // The larger weight; of equal ones the smaller id.
      const Expr wa = pool_.field(a, 1), wb = pool_.field(b, 1), ia = pool_.field(a, 0),
                 ib = pool_.field(b, 0);
      const Expr first =
          apply(Prim::Or, {apply(Prim::Gt, {wa, wb}),
                           apply(Prim::And, {apply(Prim::Eq, {wa, wb}), apply(Prim::Lt, {ia, ib})})});
      const Expr none = pool_.make(type, {pool_.literal(highest(fields[0].type.scalar())),
                                          pool_.literal(lowest(fields[1].type.scalar()))});
      return declared("better", type, pool_.select(first, a, b), rng_.chance(80) ? none : Expr{},
                      rng_.chance(70));
    }
    if (fields.size() == 2 && fields[0].type.is(Scalar::Bool) && integer(1)) {
      // A sum that starts again where the flag is set.
      const Expr sum = apply(Prim::Add, {pool_.field(a, 1), pool_.field(b, 1)});
      const Expr body = pool_.make(type, {apply(Prim::Or, {pool_.field(a, 0), pool_.field(b, 0)}),
                                          pool_.select(pool_.field(b, 0), pool_.field(b, 1), sum)});
      const Expr none =
          pool_.make(type, {pool_.boolean(false), pool_.literal(Number::of(fields[1].type.scalar(), 0))});
      return declared("segmented", type, body, none, false);
    }
    const Expr none = field_by_field_identity(type);
    return declared("each", type, field_by_field(type, a, b), rng_.chance(80) ? none : Expr{},
                    none && rng_.chance(70));
  }
  if (type.is_integer()) {
    const Scalar scalar = type.scalar();
    if (rng_.chance(50)) {
      const Expr body = apply(Prim::Add, {apply(Prim::Add, {a, b}), apply(Prim::Mul, {a, b})});
      return declared("circle", type, body, rng_.chance(70) ? pool_.literal(Number::of(scalar, 0)) : Expr{},
                      rng_.chance(60));
    }
    return declared("least", type, pool_.select(apply(Prim::Lt, {a, b}), a, b),
                    rng_.chance(70) ? pool_.literal(highest(scalar)) : Expr{}, rng_.chance(60));
  }
  if (type.is(Scalar::Bool))
    return declared("alike", type, apply(Prim::Eq, {a, b}), pool_.boolean(true), rng_.chance(60));
  if (is_storage_only(type.scalar())) return declared("last", type, b, {}, false);
  return declared("plus", type, apply(Prim::Add, {a, b}),
                  rng_.chance(70) ? pool_.literal(Number::of_double(type.scalar(), 0)) : Expr{},
                  rng_.chance(60));
}

std::optional<Operator> Generator::any_operator(const Type& type, bool with_identity) {
  if (type.is_scalar() && !is_storage_only(type.scalar()) && rng_.chance(75)) {
    std::vector<Prim> prims;
    for (const Prim prim : combiners) {
      const bool grows = prim == Prim::Mul && type.is_float() && !budget_.strict;
      if (combines(prim, type.scalar()) && !grows) prims.push_back(prim);
    }
    Operator op = builtin_operator(pool_, rng_.pick(prims), type);
    if (!with_identity && rng_.chance(10)) op.identity = {};
    return op;
  }
  for (int tries = 0; tries < 8; ++tries) {
    const Operator op = user_operator(type);
    if (op.identity || !with_identity) return op;
  }
  return std::nullopt;
}

Operator Generator::some_operator(const Type& type, bool with_identity) {
  const std::optional<Operator> op = any_operator(type, with_identity);
  return op ? *op : user_operator(type);
}

}  // namespace twill
