#include "program/affine_of.h"

#include <algorithm>
#include <map>
#include <stdexcept>

namespace twill {

using poly::Affine;
using poly::Var;

namespace {

bool is_i64(Expr expr) { return expr->type.is(Scalar::I64); }

class AffineOf {
 public:
  std::optional<Affine> operator()(Expr expr) {
    if (!expr || !is_i64(expr)) return std::nullopt;
    const auto [at, is_new] = seen_.try_emplace(expr.get());
    if (!is_new) return at->second;
    std::optional<Affine> result = compute(expr);
    if (!result && !mentions_index(expr)) result = Affine(var_of(expr));
    return seen_[expr.get()] = result;
  }

 private:
  std::optional<Affine> compute(Expr expr) {
    if (const auto* literal = as<Literal>(expr)) return Affine(literal->value.i);
    if (const auto* index = as<IndexRef>(expr)) return Affine(var_of(index->dim));
    if (const auto* size = as<SizeRef>(expr)) return Affine(var_of(size->symbol));
    const auto* apply = as<Apply>(expr);
    if (!apply || expr->args.size() > 2) return std::nullopt;
    std::vector<Affine> operands;
    for (const Expr arg : expr->args) {
      const std::optional<Affine> operand = (*this)(arg);
      if (!operand) return std::nullopt;
      operands.push_back(*operand);
    }
    return apply_affine(apply->prim, operands);
  }

  std::unordered_map<const Node*, std::optional<Affine>> seen_;
};

}  // namespace

std::optional<Affine> apply_affine(Prim prim, std::span<const Affine> operands) {
  switch (prim) {
    case Prim::Neg: return -operands[0];
    case Prim::Add: return operands[0] + operands[1];
    case Prim::Sub: return operands[0] - operands[1];
    case Prim::Mul:
      if (operands[1].is_constant()) return operands[0] * operands[1].constant();
      if (operands[0].is_constant()) return operands[1] * operands[0].constant();
      return std::nullopt;
    case Prim::Div:
      if (!operands[1].is_constant() || operands[1].constant() <= 0) return std::nullopt;
      return floor_div(operands[0], operands[1].constant());
    case Prim::Mod:
      if (!operands[1].is_constant() || operands[1].constant() <= 0) return std::nullopt;
      return floor_mod(operands[0], operands[1].constant());
    default: return std::nullopt;
  }
}

std::optional<Affine> affine_of(Expr expr) {
  try {
    return AffineOf()(expr);
  } catch (const std::overflow_error&) {
    return std::nullopt;
  }
}

bool mentions_index(Expr expr) {
  bool found = false;
  visit(expr, [&](Expr node) { found = found || as<IndexRef>(node); });
  return found;
}

// ---- sizes as polynomials ------------------------------------------------------------------------

namespace {

/// Sum of products: sorted factors (atoms, each an Affine of one term), with a number each.
using Polynomial = std::map<std::vector<Affine>, std::int64_t>;

constexpr std::size_t max_monomials = 64;

std::int64_t checked_product(std::int64_t a, std::int64_t b) { return (Affine(a) * b).constant(); }

std::optional<Polynomial> polynomial_of(Expr expr) {
  if (const auto* apply = as<Apply>(expr); apply && is_i64(expr)) {
    const bool sum = apply->prim == Prim::Add || apply->prim == Prim::Sub;
    if (sum || apply->prim == Prim::Mul) {
      auto a = polynomial_of(expr->args[0]);
      const auto b = polynomial_of(expr->args[1]);
      if (!a || !b || a->size() * b->size() > max_monomials) return std::nullopt;
      Polynomial result;
      if (sum) {
        result = std::move(*a);
        for (const auto& [factors, number] : *b)
          result[factors] =
              (Affine(result[factors]) + Affine(apply->prim == Prim::Add ? number : -number)).constant();
      } else {
        for (const auto& [left, m] : *a) {
          for (const auto& [right, n] : *b) {
            std::vector<Affine> factors = left;
            factors.insert(factors.end(), right.begin(), right.end());
            std::ranges::sort(factors);
            result[factors] = (Affine(result[factors]) + Affine(checked_product(m, n))).constant();
          }
        }
      }
      std::erase_if(result, [](const auto& entry) { return entry.second == 0; });
      return result;
    }
  }
  const auto affine = affine_of(expr);
  if (!affine) return std::nullopt;
  Polynomial result;
  if (affine->constant() != 0) result[{}] = affine->constant();
  for (const Affine::Term& term : affine->terms()) {
    const Var* var = std::get_if<Var>(&term.atom);
    const Affine atom =
        var ? Affine(*var) : floor_div(std::get<1>(term.atom)->numerator, std::get<1>(term.atom)->divisor);
    result[{atom}] = term.factor;
  }
  return result;
}

}  // namespace

bool same_size(Expr a, Expr b) {
  if (a == b) return true;
  if (!a || !b) return false;
  try {
    const auto p = polynomial_of(a);
    const auto q = polynomial_of(b);
    return p && q && *p == *q;
  } catch (const std::overflow_error&) {
    return false;
  }
}

}  // namespace twill
