// Factors of indices in expressions.
#include "program/index_use.h"

#include <algorithm>
#include <unordered_map>

namespace twill {

bool mentions(Expr e, DimId dim) {
  bool found = false;
  visit(e, [&](Expr node) {
    if (const IndexRef* ref = as<IndexRef>(node); ref && ref->dim == dim) found = true;
  });
  return found;
}

bool mentions(Expr e, ArrayId array) {
  bool found = false;
  if (e)
    visit(e, [&](Expr node) {
      const Read* read = as<Read>(node);
      found = found || (read && read->array == array);
    });
  return found;
}

std::unordered_set<const Node*> mentioning(Expr root, DimId dim) {
  std::unordered_set<const Node*> found;
  visit(root, [&](Expr node) {
    const IndexRef* ref = as<IndexRef>(node);
    if ((ref && ref->dim == dim) ||
        std::ranges::any_of(node->args, [&](Expr arg) { return found.contains(arg.get()); }))
      found.insert(node.get());
  });
  return found;
}

namespace {

using Factor = std::optional<std::int64_t>;

Factor sum(Factor a, Factor b) {
  std::int64_t result = 0;
  if (!a || !b || __builtin_add_overflow(*a, *b, &result)) return std::nullopt;
  return result;
}

Factor product(Factor a, std::int64_t b) {
  std::int64_t result = 0;
  if (!a || __builtin_mul_overflow(*a, b, &result)) return std::nullopt;
  return result;
}

/// Of an operation, by the factors in its operands, one of which at least is not 0.
Factor factor_in(Prim prim, std::span<const Expr> args, std::span<const Factor> factors) {
  switch (prim) {
    case Prim::Add: return sum(factors[0], factors[1]);
    case Prim::Sub: return sum(factors[0], product(factors[1], -1));
    case Prim::Neg: return product(factors[0], -1);
    case Prim::Mul:
      if (const Literal* left = as<Literal>(args[0])) return product(factors[1], left->value.i);
      if (const Literal* right = as<Literal>(args[1])) return product(factors[0], right->value.i);
      return std::nullopt;
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<std::int64_t> factor_of(Expr e, DimId dim) {
  if (const IndexRef* ref = as<IndexRef>(e)) return ref->dim == dim ? 1 : 0;
  std::unordered_map<const Node*, Factor> known;  // of nodes that mention the index
  visit(e, [&](Expr node) {
    const IndexRef* ref = as<IndexRef>(node);
    if (ref && ref->dim == dim) known[node.get()] = 1;
    std::vector<Factor> factors;
    bool moves = false;
    for (const Expr arg : node->args) {
      const auto found = known.find(arg.get());
      moves = moves || found != known.end();
      factors.push_back(found == known.end() ? 0 : found->second);
    }
    if (!moves) return;
    const Apply* apply = as<Apply>(node);
    known[node.get()] = apply ? factor_in(apply->prim, node->args, factors) : std::nullopt;
  });
  const auto found = known.find(e.get());
  return found == known.end() ? 0 : found->second;
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
