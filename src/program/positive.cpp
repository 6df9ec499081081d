// What is above zero, downwards from known sums, products and quotients, and upwards to others.
#include "program/positive.h"

namespace twill {

namespace {

std::optional<std::int64_t> integer(Expr e) {
  const auto* literal = as<Literal>(e);
  return literal && e->type == Type(Scalar::I64) ? std::optional(literal->value.i) : std::nullopt;
}

/// The expression as a * b, a / b, a + b or a - b with a literal b, by the prim; a literal may come first.
struct WithLiteral {
  Prim prim;
  Expr rest;
  std::int64_t literal;
};

std::optional<WithLiteral> with_literal(Expr e) {
  const auto* apply = as<Apply>(e);
  if (!apply || e->args.size() != 2 || e->type != Type(Scalar::I64)) return std::nullopt;
  if (const auto b = integer(e->args[1])) return WithLiteral{apply->prim, e->args[0], *b};
  const auto a = integer(e->args[0]);
  const bool turns = apply->prim == Prim::Add || apply->prim == Prim::Mul;
  return a && turns ? std::optional(WithLiteral{apply->prim, e->args[1], *a}) : std::nullopt;
}

}  // namespace

void add_positive(Expr e, Positive& known) {
  if (!e || !known.insert(e.get()).second) return;
  const auto form = with_literal(e);
  if (!form) return;
  const auto [prim, rest, n] = *form;
  if ((prim == Prim::Add && n <= 0) || (prim == Prim::Sub && n >= 0) || (prim == Prim::Mul && n > 0) ||
      (prim == Prim::Div && n > 0)) {
    // A quotient is at least 1 if the dividend is at least the divisor, which may have something added to it.
    if (prim != Prim::Div) return add_positive(rest, known);
    const auto sum = with_literal(rest);
    if (sum && sum->prim == Prim::Add && sum->literal < n) add_positive(sum->rest, known);
    add_positive(rest, known);
  }
}

bool is_positive(Expr e, const Positive& known) {
  if (known.contains(e.get())) return true;
  if (const auto number = integer(e)) return *number > 0;
  const auto form = with_literal(e);
  if (!form) return false;
  const auto [prim, rest, n] = *form;
  switch (prim) {
    case Prim::Add: return n >= 0 && is_positive(rest, known);
    case Prim::Mul: return n > 0 && is_positive(rest, known);
    case Prim::Div: {
      if (n == 1) return is_positive(rest, known);
      const auto sum = with_literal(rest);
      return n > 1 && sum && sum->prim == Prim::Add && sum->literal >= n - 1 && is_positive(sum->rest, known);
    }
    default: return false;
  }
}

Positive positive_in(const Stage& stage) {
  Positive known;
  for (const Dim& dim : stage.dims) {
    const auto lo = integer(dim.lo);
    if (lo && *lo >= 0 && dim.hi) add_positive(dim.hi, known);
  }
  return known;
}

}  // namespace twill
