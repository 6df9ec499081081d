// Where boundary rules hold by themselves: bounds of the interior, and expressions inside of it.
#include "emit/interior.h"

#include <algorithm>

namespace twill::nest {

namespace {

/// Subscripts of a read that have a boundary rule and move with the index by a literal factor.
void for_each_moving(Expr read, DimId dim, const std::function<void(std::size_t, std::int64_t)>& action) {
  const Read& r = *as<Read>(read);
  for (std::size_t s = 0; s < r.rules.size(); ++s) {
    if (r.rules[s] == Boundary::Inside) continue;
    const auto factor = factor_of(read->args[s], dim);
    if (factor && *factor != 0) action(s, *factor);
  }
}

void add_unique(std::vector<Expr>& list, Expr e) {
  if (std::find(list.begin(), list.end(), e) == list.end()) list.push_back(e);
}

}  // namespace

void find_interior(Tables& t, Expr e, DimId dim, Interior& interior) {
  visit(e, [&](Expr node) {
    const Read* read = as<Read>(node);
    if (!read) return;
    for_each_moving(node, dim, [&](std::size_t s, std::int64_t factor) {
      const Expr extent = t.program()[read->array].shape[s];
      const Expr rest = t.substitute(node->args[s], dim, t.number(0));
      // 0 <= factor * i + rest < extent
      const std::int64_t f = factor > 0 ? factor : -factor;
      if (factor > 0) {
        const Expr from = t.sub(t.number(f - 1), rest);
        const Expr to = t.sub(t.sub(extent, t.number(1)), rest);
        add_unique(interior.lower, f == 1 ? from : t.div(from, t.number(f)));
        add_unique(interior.upper, t.add(f == 1 ? to : t.div(to, t.number(f)), t.number(1)));
      } else {
        const Expr to = rest;
        const Expr from = t.add(t.sub(rest, t.sub(extent, t.number(1))), t.number(f - 1));
        add_unique(interior.lower, f == 1 ? from : t.div(from, t.number(f)));
        add_unique(interior.upper, t.add(f == 1 ? to : t.div(to, t.number(f)), t.number(1)));
      }
    });
  });
}

Expr assume_interior(Tables& t, Expr e, DimId dim) {
  return rewrite(t.pool(), e, [&](Expr node) -> Expr {
    const Read* read = as<Read>(node);
    if (!read) return {};
    std::vector<Boundary> rules = read->rules;
    for_each_moving(node, dim, [&](std::size_t s, std::int64_t) { rules[s] = Boundary::Inside; });
    if (rules == read->rules) return {};
    std::vector<Expr> subscripts;
    for (std::size_t s = 0; s < rules.size(); ++s)
      subscripts.push_back(assume_interior(t, node->args[s], dim));
    const bool falls_back = std::find(rules.begin(), rules.end(), Boundary::Constant) != rules.end();
    const Expr fallback = falls_back ? assume_interior(t, node->args.back(), dim) : Expr{};
    return t.pool().read(read->array, node->type, std::move(subscripts), std::move(rules), fallback);
  });
}

}  // namespace twill::nest
