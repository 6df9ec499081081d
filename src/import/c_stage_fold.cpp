// Stages that accumulate over loops that need not be the innermost ones.
#include "import/c_stager.h"

#include <algorithm>

namespace twill::c {

using poly::Affine;
using poly::Condition;
using poly::Var;

bool Stager::folds_apart(const Statement& s, int depth) const {
  Condition meet = ask_.domain(s) && ask_.elsewhere(ask_.domain(s));
  for (const Tree& t : s.assign.at)
    meet = std::move(meet) && poly::equal(*affine_of(nest_, t), ask_.elsewhere(*affine_of(nest_, t)));
  Condition differ = Condition::never();
  for (std::size_t d = 0; d < s.loops.size(); ++d) {
    const Affine x = var_of_loop(s.loops[d]);
    if (d < at(depth))
      meet = std::move(meet) && poly::equal(x, ask_.elsewhere(x));
    else if (names_place(s, s.loops[d]))
      differ = std::move(differ) || !poly::equal(x, ask_.elsewhere(x));
  }
  return !ask_.is_possible(meet && differ);
}

bool Stager::names_place(const Statement& s, int loop) const {
  return std::ranges::any_of(s.assign.at, [&](const Tree& t) { return mentions_loop(nest_, t, loop); });
}

std::optional<Statement> Stager::turned(const Statement& s, int depth) {
  Statement result = s;
  const Condition points = ask_.domain(s);
  std::vector<int> order;
  for (const bool folds : {false, true})
    for (std::size_t d = at(depth); d < s.loops.size(); ++d)
      if (names_place(s, s.loops[d]) != folds) order.push_back(s.loops[d]);
  Condition again;
  for (std::size_t d = 0; d < at(depth); ++d)
    again = std::move(again) && range_of(nest_, s.loops[d]).condition;
  std::vector<Loop> ranges;
  for (std::size_t k = 0; k < order.size(); ++k) {
    if (!range_of(nest_, order[k]).exact) return std::nullopt;
    std::vector<Var> tuple, hidden;
    for (std::size_t l = k; l < order.size(); ++l) {
      tuple.push_back(var_of_loop(order[l]));
      if (l > k) hidden.push_back(tuple.back());
    }
    const poly::Set shadow = poly::Set(ask_.context(), tuple, points).project_out(hidden);
    const auto lo = shadow.lower_bound(tuple[0]), hi = shadow.upper_bound(tuple[0]);
    if (!lo || !hi) return std::nullopt;
    again = std::move(again) && poly::at_most(*lo, tuple[0]) && poly::at_most(tuple[0], *hi);
    const Loop& old = nest_.loop(order[k]);
    const Tree from = tree_of(nest_, *lo, old.place), to = tree_of(nest_, *hi + 1, old.place);
    if (!from || !to) return std::nullopt;
    ranges.push_back({old.name, from, to, old.place});
  }
  if (!ask_.implies(points, again) || !ask_.implies(again, points)) return std::nullopt;
  result.loops.resize(at(depth));
  for (std::size_t k = 0; k < order.size(); ++k) {
    const int id = nest_.add_loop(ranges[k]);
    const Tree index = index_of(id, ranges[k].place);
    for (std::size_t l = k + 1; l < ranges.size(); ++l) {
      ranges[l].lo = replace_index(ranges[l].lo, order[k], index);
      ranges[l].hi = replace_index(ranges[l].hi, order[k], index);
    }
    result.assign.value = rename_index(nest_, result.assign.value, order[k], index);
    result.assign.guard = rename_index(nest_, result.assign.guard, order[k], index);
    for (Tree& t : result.assign.at) t = rename_index(nest_, t, order[k], index);
    result.loops.push_back(id);
  }
  return result;
}

bool Stager::is_crossed(const Statement& s, int depth) const {
  for (std::size_t d = at(depth); d < s.loops.size(); ++d)
    for (std::size_t e = at(depth); e < s.loops.size(); ++e)
      if (names_place(s, s.loops[d]) && !names_place(s, s.loops[e]) &&
          (mentions_loop(nest_, nest_.loop(s.loops[d]).lo, s.loops[e]) ||
           mentions_loop(nest_, nest_.loop(s.loops[d]).hi, s.loops[e])))
        return true;
  return false;
}

bool Stager::fold(const Statement& written, int depth) {
  Statement s = written;
  if (is_crossed(s, depth)) {
    const auto other = turned(s, depth);
    if (!other) return false;
    s = *other;
  }
  const Accumulation accumulation = *accumulation_of(nest_, s.assign);
  const int array = s.assign.array;
  const Tree guard = bounds_guard(s);
  Step step = begin(s, depth);
  for (StepDim& dim : step.dims)
    if (!names_place(s, dim.loop)) dim = {dim.loop, "fold", accumulation.op};
  Tree value = accumulation.value;
  if (value->kind == Kind::Reduce && value->op == accumulation.op && is_simple_fold(value)) {
    const Tree own = versioned(value);
    for (const int loop : own->loops) step.dims.push_back({loop, "fold", accumulation.op});
    step.guard = own->args[0];
    value = own->args[1];
  } else {
    std::vector<Tree> folds;
    step.block = !lift(value, nest_.array(array).type, folds) || !folds.empty();
    value = versioned(value);
  }
  step.value = accumulation.minus ? apply("-", {value}, value->type, value->place) : value;
  step.guard = both(versioned(guard), step.guard);
  Statement whole = s;
  whole.assign.guard = nullptr;
  std::erase_if(whole.loops, [&](int loop) {
    return std::ranges::any_of(step.dims,
                               [&](const StepDim& d) { return d.loop == loop && d.combine == "fold"; });
  });
  step.onto = guard || !zero_everywhere(array, accumulation.op) || !ask_.writes_all(whole, at(depth), {});
  if (step.onto) step.into = current(array);
  finish(std::move(step), array);
  return true;
}

}  // namespace twill::c
