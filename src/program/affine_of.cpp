// Walks index expressions and builds their affine form, and sizes as polynomials.
#include "program/affine_of.h"

#include <algorithm>
#include <stdexcept>
#include <unordered_set>

namespace twill {

using poly::Affine;
using poly::Var;

namespace {

bool is_i64(Expr expr) { return expr->type.is(Scalar::I64); }

/// Are its numbers far from those whose sums have no place in 64 bits? Others never are places in arrays, and
/// sums of them wrap around.
bool is_moderate(const Affine& sum) {
  constexpr std::int64_t most = std::int64_t{1} << 48;
  const auto fits = [](std::int64_t number) { return -most <= number && number <= most; };
  return fits(sum.constant()) && std::ranges::all_of(sum.terms(), [&](const Affine::Term& term) {
           const auto* division = std::get_if<std::shared_ptr<const Affine::Division>>(&term.atom);
           return fits(term.factor) && (!division || is_moderate((*division)->numerator));
         });
}

/// Affine forms of the operands of an expression, by node; no entry where there is none.
using Forms = std::unordered_map<const Node*, Affine>;

std::optional<Affine> form_of(Expr expr, const Forms& forms) {
  if (const auto* literal = as<Literal>(expr)) return Affine(literal->value.i);
  if (const auto* index = as<IndexRef>(expr)) return Affine(var_of(index->dim));
  if (const auto* size = as<SizeRef>(expr)) return Affine(var_of(size->symbol));
  const auto* apply = as<Apply>(expr);
  if (!apply || expr->args.size() > 2) return std::nullopt;
  std::vector<Affine> operands;
  for (const Expr arg : expr->args) {
    const auto at = forms.find(arg.get());
    if (at == forms.end()) return std::nullopt;
    operands.push_back(at->second);
  }
  return apply_affine(apply->prim, operands);
}

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
  if (!expr || !is_i64(expr)) return std::nullopt;
  Forms forms;
  std::unordered_set<const Node*> indexed;  // nodes in which an index occurs
  visit(expr, [&](Expr node) {
    const bool has_index = as<IndexRef>(node) || std::ranges::any_of(node->args, [&](Expr arg) {
                             return indexed.contains(arg.get());
                           });
    if (has_index) indexed.insert(node.get());
    if (!is_i64(node)) return;
    std::optional<Affine> form;
    try {
      form = form_of(node, forms);
    } catch (const std::overflow_error&) {
      form.reset();
    }
    if (form && !is_moderate(*form)) form.reset();
    if (!form && !has_index) form = Affine(var_of(node));
    if (form) forms.emplace(node.get(), *form);
  });
  const auto at = forms.find(expr.get());
  return at == forms.end() ? std::nullopt : std::optional(at->second);
}

bool mentions_index(Expr expr) {
  bool found = false;
  visit(expr, [&](Expr node) { found = found || as<IndexRef>(node); });
  return found;
}

// ---- sizes as polynomials -----------------------------------------------------------------------------

SizePolynomial::SizePolynomial(std::int64_t number) { add({}, number); }

SizePolynomial::SizePolynomial(const Affine& affine) : SizePolynomial(affine.constant()) {
  for (const Affine::Term& term : affine.terms()) {
    const auto* division = std::get_if<std::shared_ptr<const Affine::Division>>(&term.atom);
    add({division ? floor_div((*division)->numerator, (*division)->divisor)
                  : Affine(std::get<Var>(term.atom))},
        term.factor);
  }
}

void SizePolynomial::add(std::vector<Affine> factors, std::int64_t number) {
  constexpr std::size_t too_large = 256;
  std::ranges::sort(factors);
  const auto at = products_.try_emplace(std::move(factors), 0).first;
  at->second = (Affine(at->second) + Affine(number)).constant();
  if (at->second == 0) products_.erase(at);
  if (products_.size() > too_large) throw std::overflow_error("size");
}

SizePolynomial operator+(const SizePolynomial& a, const SizePolynomial& b) {
  SizePolynomial sum = a;
  for (const auto& [factors, number] : b.products_) sum.add(factors, number);
  return sum;
}

SizePolynomial operator-(const SizePolynomial& a, const SizePolynomial& b) {
  return a + b * SizePolynomial(-1);
}

SizePolynomial operator*(const SizePolynomial& a, const SizePolynomial& b) {
  SizePolynomial product;
  for (const auto& [left, m] : a.products_) {
    for (const auto& [right, n] : b.products_) {
      std::vector<Affine> factors = left;
      factors.insert(factors.end(), right.begin(), right.end());
      product.add(std::move(factors), (Affine(m) * n).constant());
    }
  }
  return product;
}

std::optional<SizePolynomial> SizePolynomial::of(Expr expr) {
  std::unordered_map<const Node*, std::optional<SizePolynomial>> known;
  const auto compute = [&](Expr node) -> std::optional<SizePolynomial> {
    const auto* apply = as<Apply>(node);
    if (apply && (apply->prim == Prim::Add || apply->prim == Prim::Sub || apply->prim == Prim::Mul)) {
      const auto& a = known.at(node->args[0].get());
      const auto& b = known.at(node->args[1].get());
      if (!a || !b) return std::nullopt;
      return apply->prim == Prim::Add ? *a + *b : apply->prim == Prim::Sub ? *a - *b : *a * *b;
    }
    const auto affine = affine_of(node);
    return affine ? std::optional(SizePolynomial(*affine)) : std::nullopt;
  };
  visit(expr, [&](Expr node) {
    if (!is_i64(node)) return;
    try {
      known[node.get()] = compute(node);
    } catch (const std::overflow_error&) {
      known[node.get()] = std::nullopt;
    }
  });
  return known[expr.get()];
}

bool same_size(Expr a, Expr b) {
  if (a == b) return true;
  if (!a || !b) return false;
  const auto p = SizePolynomial::of(a);
  return p && p == SizePolynomial::of(b);
}

}  // namespace twill
