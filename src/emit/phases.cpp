// Periods of divided indices, and divisions worked out.
#include "emit/phases.h"

#include "program/index_use.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <unordered_map>
#include <vector>

namespace twill::nest {

namespace {

struct Division {
  std::int64_t factor, divisor;  // (factor * index + …) by divisor
};

/// What indices and sizes, which count steps and elements, never reach.
constexpr double largest_count = 0x1p40;

/// A number that an operation never reaches if its operands do not reach these; infinite if nobody knows.
double limit_of(Prim prim, std::span<const double> operands) {
  const double sum = std::accumulate(operands.begin(), operands.end(), 0.0);
  switch (prim) {
    case Prim::Mul: return std::max(sum, operands[0] * operands[1]);
    case Prim::Neg:
    case Prim::Add:
    case Prim::Sub:
    case Prim::Div:
    case Prim::Mod:
    case Prim::Min:
    case Prim::Max: return sum;
    default: return std::numeric_limits<double>::infinity();
  }
}

/// A number that the expression, and all that it is made of, never reaches. Data may be anything.
double limit_of(Expr root) {
  std::unordered_map<const Node*, double> limits;
  visit(root, [&](Expr e) {
    double& limit = limits[e.get()] = std::numeric_limits<double>::infinity();
    if (as<IndexRef>(e) || as<SizeRef>(e)) limit = largest_count;
    if (const Literal* literal = as<Literal>(e)) limit = std::abs(static_cast<double>(literal->value.i)) + 1;
    if (const Apply* apply = as<Apply>(e)) {
      std::vector<double> operands;
      for (const Expr arg : e->args) operands.push_back(limits.at(arg.get()));
      limit = limit_of(apply->prim, operands);
    }
  });
  return limits.at(root.get());
}

/// Is it certain that no sum or product in this wraps around? Divisions may be taken apart then.
bool cannot_wrap(Expr e) { return limit_of(e) < 0x1p62; }

/// An integer quotient or remainder by a literal of something that moves with the index.
std::optional<Division> division_of(Expr node, DimId dim) {
  const Apply* apply = as<Apply>(node);
  if (!apply || (apply->prim != Prim::Div && apply->prim != Prim::Mod) || node->type != Type(Scalar::I64))
    return std::nullopt;
  const Literal* divisor = as<Literal>(node->args[1]);
  const auto factor = factor_of(node->args[0], dim);
  if (!divisor || divisor->value.i <= 0 || !factor || *factor == 0 || !cannot_wrap(node->args[0]))
    return std::nullopt;
  return Division{*factor, divisor->value.i};
}

}  // namespace

std::int64_t period_of(Expr e, DimId dim) {
  std::int64_t period = 1;
  visit(e, [&](Expr node) {
    if (const auto division = division_of(node, dim))
      period = std::lcm(period, division->divisor / std::gcd(division->factor, division->divisor));
  });
  return period;
}

Expr work_out_divisions(Tables& t, Expr e, DimId dim) {
  return rewrite(t.pool(), e, [&](Expr node) -> Expr {
    if (as<Select>(node)) {
      const Expr condition = work_out_divisions(t, node->args[0], dim);
      const Literal* decided = as<Literal>(condition);
      return decided ? work_out_divisions(t, node->args[decided->value.i != 0 ? 1 : 2], dim) : Expr{};
    }
    const auto division = division_of(node, dim);
    if (!division || division->factor % division->divisor != 0) return {};
    const Expr rest = work_out_divisions(t, t.substitute(node->args[0], dim, t.number(0)), dim);
    const Expr divisor = t.number(division->divisor);
    if (as<Apply>(node)->prim == Prim::Mod) return t.pool().apply(Prim::Mod, {rest, divisor});
    return t.add(t.mul(t.number(division->factor / division->divisor), t.index(dim)), t.div(rest, divisor));
  });
}

}  // namespace twill::nest
