// What conditions in expressions say about indices, as facts for proofs.
#include "program/conditions.h"

#include "program/affine_of.h"

#include <algorithm>
#include <set>
#include <stdexcept>

namespace twill {

using poly::Affine;
using poly::Condition;
using poly::Var;

namespace {

bool is_i64(Expr expr) { return expr->type.is(Scalar::I64); }

/// Numbers so far from overflow that no sum of conditions reaches it.
bool is_small(const Affine& affine) {
  constexpr std::int64_t limit = std::int64_t{1} << 48;
  const auto small = [](std::int64_t n) { return -limit < n && n < limit; };
  return small(affine.constant()) && std::ranges::all_of(affine.terms(), [&](const Affine::Term& term) {
           const auto* division = std::get_if<std::shared_ptr<const Affine::Division>>(&term.atom);
           return small(term.factor) && (!division || small((*division)->divisor));
         });
}

}  // namespace

Affine Conditions::value(Expr expr) {
  if (const auto at = values_.find(expr.get()); at != values_.end()) return at->second;
  // Operands come first, so that the depth of an expression is not the depth of a recursion.
  visit(expr, [&](Expr node) {
    if (!is_i64(node) || values_.contains(node.get())) return;
    std::optional<Affine> result;
    try {
      result = compute(node);
    } catch (const std::overflow_error&) {
      result.reset();
    }
    if (!result || !is_small(*result)) result = Affine(var_of(node));
    if (result->as_var() == var_of(node)) terms_.emplace(node->number, node);
    values_.emplace(node.get(), *result);
  });
  return values_.at(expr.get());
}

Affine Conditions::define(Expr expr, Condition condition, bool exact) {
  definitions_.insert_or_assign(expr->number, Definition{std::move(condition), exact});
  return Affine(var_of(expr));
}

std::optional<Affine> Conditions::compute(Expr expr) {
  if (const auto* literal = as<Literal>(expr)) return Affine(literal->value.i);
  if (const auto* index = as<IndexRef>(expr)) return Affine(var_of(index->dim));
  if (const auto* size = as<SizeRef>(expr)) return Affine(var_of(size->symbol));
  if (const auto* apply = as<Apply>(expr)) return compute(apply->prim, expr);
  const Affine result(var_of(expr));
  if (as<Select>(expr)) {
    const Condition then = when(expr->args[0], true) && equal(result, value(expr->args[1]));
    const Condition otherwise = when(expr->args[0], false) && equal(result, value(expr->args[2]));
    return define(expr, then || otherwise, !reads_data(expr->args[0]));
  }
  if (as<Cast>(expr)) {
    const Type& from = expr->args[0]->type;
    if (from.is(Scalar::Bool)) return define(expr, between(0, result, 2), false);
    if (from.is_integer() && info(from.scalar()).bytes < 8)
      return define(
          expr, between(lowest(from.scalar()).as_int(), result, highest(from.scalar()).as_int() + 1), false);
  }
  return std::nullopt;
}

std::optional<Affine> Conditions::compute(Prim prim, Expr expr) {
  std::vector<Affine> operands;
  for (const Expr arg : expr->args) {
    if (!is_i64(arg)) return std::nullopt;
    operands.push_back(value(arg));
  }
  const Affine result(var_of(expr));
  switch (prim) {
    case Prim::Min:
    case Prim::Max: {
      const Affine &a = operands[0], &b = operands[1];
      const Condition bound = prim == Prim::Min ? at_most(result, a) && at_most(result, b)
                                                : at_most(a, result) && at_most(b, result);
      return define(expr, bound && (equal(result, a) || equal(result, b)), true);
    }
    case Prim::Abs: {
      const Affine& a = operands[0];
      return define(expr, Condition::non_negative(result) && (equal(result, a) || equal(result, -a)), true);
    }
    default: break;
  }
  if (auto affine = apply_affine(prim, operands)) return affine;
  if (prim == Prim::Mod) {
    const Affine& n = operands[1];
    const Condition positive = at_most(0, result) && less(result, n);
    const Condition negative = at_most(result, 0) && less(n, result);
    return define(expr, quickly_non_negative({}, n) ? positive : positive || negative, false);
  }
  return std::nullopt;
}

Expr Conditions::expr_of(Var term) const {
  const auto at = terms_.find(term.id);
  return at == terms_.end() ? Expr() : at->second;
}

Condition Conditions::when(Expr condition, bool truth) {
  int budget = 256;
  return when(condition, truth, budget);
}

Condition Conditions::when(Expr condition, bool truth, int& budget) {
  if (--budget < 0) return {};
  if (const auto* literal = as<Literal>(condition))
    return (literal->value.i != 0) == truth ? Condition() : Condition::never();
  const auto* apply = as<Apply>(condition);
  if (!apply) return {};
  const auto& args = condition->args;
  switch (apply->prim) {
    case Prim::Not: return when(args[0], !truth, budget);
    case Prim::And:
    case Prim::Or: {
      Condition a = when(args[0], truth, budget);
      Condition b = when(args[1], truth, budget);
      return (apply->prim == Prim::And) == truth ? std::move(a) && std::move(b)
                                                 : std::move(a) || std::move(b);
    }
    case Prim::Eq:
    case Prim::Ne:
    case Prim::Lt:
    case Prim::Le:
    case Prim::Gt:
    case Prim::Ge: break;
    default: return {};
  }
  if (!is_i64(args[0]) || !is_i64(args[1])) return {};
  try {
    const Affine a = value(args[0]);
    const Affine b = value(args[1]);
    Condition holds;
    switch (apply->prim) {
      case Prim::Eq: holds = equal(a, b); break;
      case Prim::Ne: holds = !equal(a, b); break;
      case Prim::Lt: holds = less(a, b); break;
      case Prim::Le: holds = at_most(a, b); break;
      case Prim::Gt: holds = less(b, a); break;
      default: holds = at_most(b, a); break;
    }
    return truth ? holds : !holds;
  } catch (const std::overflow_error&) {
    return {};
  }
}

Condition Conditions::definitions(const Condition& condition) const {
  Condition all;
  std::set<Var> seen;
  std::vector<Var> waiting = condition.variables();
  while (!waiting.empty()) {
    const Var var = waiting.back();
    waiting.pop_back();
    if (var.kind != Var::Kind::Term || !seen.insert(var).second) continue;
    const auto at = definitions_.find(var.id);
    if (at == definitions_.end()) continue;
    const std::vector<Var> more = at->second.condition.variables();
    waiting.insert(waiting.end(), more.begin(), more.end());
    all = std::move(all) && at->second.condition;
  }
  return all;
}

bool Conditions::depends_on_free_term(const Affine& affine) const {
  std::set<Var> seen;
  std::vector<Var> waiting = affine.variables();
  while (!waiting.empty()) {
    const Var var = waiting.back();
    waiting.pop_back();
    if (var.kind != Var::Kind::Term || !seen.insert(var).second) continue;
    const auto at = definitions_.find(var.id);
    if (at == definitions_.end() || !at->second.exact) return true;
    const std::vector<Var> more = at->second.condition.variables();
    waiting.insert(waiting.end(), more.begin(), more.end());
  }
  return false;
}

}  // namespace twill
