// Factors of indices in expressions.
#include "program/index_use.h"

namespace twill {

bool mentions(Expr e, DimId dim) {
  bool found = false;
  visit(e, [&](Expr node) {
    if (const IndexRef* ref = as<IndexRef>(node); ref && ref->dim == dim) found = true;
  });
  return found;
}

std::optional<std::int64_t> factor_of(Expr e, DimId dim) {
  if (const IndexRef* ref = as<IndexRef>(e)) return ref->dim == dim ? 1 : 0;
  if (!mentions(e, dim)) return 0;
  const Apply* apply = as<Apply>(e);
  if (!apply) return std::nullopt;
  const auto a = factor_of(e->args[0], dim);
  const auto b = e->args.size() > 1 ? factor_of(e->args[1], dim) : std::optional<std::int64_t>(0);
  if (!a || !b) return std::nullopt;
  switch (apply->prim) {
    case Prim::Add: return *a + *b;
    case Prim::Sub: return *a - *b;
    case Prim::Neg: return -*a;
    case Prim::Mul:
      if (const Literal* left = as<Literal>(e->args[0])) return left->value.i * *b;
      if (const Literal* right = as<Literal>(e->args[1])) return right->value.i * *a;
      return std::nullopt;
    default: return std::nullopt;
  }
}

int contiguity(std::span<const Expr> subscripts, DimId dim) {
  int result = 0;
  for (std::size_t s = 0; s < subscripts.size(); ++s) {
    const auto factor = factor_of(subscripts[s], dim);
    if (factor == 0) continue;
    const bool last = s + 1 == subscripts.size();
    if (last && factor && (*factor == 1 || *factor == -1) && result == 0)
      result = 1;
    else
      result = -2;
  }
  return result;
}

}  // namespace twill
