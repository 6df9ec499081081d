// Stages whose points are independent of each other: formulas, folds inside of formulas, and writes where
// data say.
#include "import/c_stager.h"

#include <algorithm>

namespace twill::c {

using poly::Affine;
using poly::Condition;
using poly::Var;

Step Stager::begin(const Statement& s, int depth) {
  Step step;
  step.place = s.assign.place;
  for (std::size_t d = at(depth); d < s.loops.size(); ++d) {
    fix_bounds(s.loops[d]);
    step.dims.push_back({s.loops[d], "cat", ""});
  }
  for (const Tree& t : s.assign.at) step.at.push_back(versioned(t));
  return step;
}

void Stager::finish(Step step, int array) {
  step.out = new_version(array);
  now_[at(array)] = step.out;
  sink_->push_back(std::move(step));
}

Tree Stager::bounds_guard(const Statement& s) {
  Tree guard = s.assign.guard;
  const Condition points = ask_.domain(s);
  const auto check = [&](int array, const std::vector<Tree>& subscripts, const Condition& path) {
    for (std::size_t k = 0; k < subscripts.size(); ++k) {
      const auto sub = affine_of(nest_, subscripts[k]),
                 extent = affine_of(nest_, nest_.array(array).shape[k]);
      if (!sub || !extent || !is_checkable(s, *sub) || extent->mentions(Var::Kind::Term)) continue;
      const Place& place = subscripts[k]->place;
      const Condition known = path && condition_of(nest_, guard).condition;
      // Only what the sizes decide: a step that leaves its array is a mistake of the program.
      if (sub->mentions(Var::Kind::Index)) continue;
      if (!ask_.implies(known, poly::at_most(0, *sub)))
        guard = both(guard, apply("<=", {integer(0, place), subscripts[k]}, Scalar::Bool, place));
      if (!ask_.implies(known, poly::less(*sub, *extent)))
        guard = both(guard, apply("<", {subscripts[k], nest_.array(array).shape[k]}, Scalar::Bool, place));
    }
  };
  check(s.assign.array, s.assign.at, points);
  each_read(nest_, s.assign.value, points,
            [&](const Tree& read, const Condition& path) { check(read->id, read->args, path); });
  return guard;
}

bool Stager::is_checkable(const Statement& s, const Affine& sub) const {
  for (const Var var : sub.variables()) {
    if (var.kind == Var::Kind::Term) return false;
    if (var.kind == Var::Kind::Index && std::ranges::find(s.loops, var.id) == s.loops.end()) return false;
  }
  return true;
}

void Stager::plain(const Statement& s, int depth) {
  const int array = s.assign.array;
  const Tree guard = bounds_guard(s);
  Statement guarded = s;
  guarded.assign.guard = guard;
  const bool all = ask_.writes_all(guarded, at(depth), {});
  Tree value = s.assign.value;
  // X[f] + fold, X[f] - fold: the fold starts with what is there.
  const auto accumulation = accumulation_of(nest_, s.assign);
  if (accumulation && accumulation->value->kind == Kind::Reduce &&
      accumulation->value->op == accumulation->op && is_simple_fold(accumulation->value)) {
    const bool fresh = !guard && zero_everywhere(array, accumulation->op);
    folding(s, depth, accumulation->value, accumulation->minus, guard, !fresh, all);
    return;
  }
  if (value->kind == Kind::Reduce && !guard && is_simple_fold(value) &&
      (all || s.loops.size() > at(depth) || !may_be_empty(s, value))) {
    folding(s, depth, value, false, guard, false, all);
    return;
  }
  // Folds inside of a formula become stages before it, where nothing decides whether they are computed.
  const int before = all && now_[at(array)] < 0 ? -1 : current(array);
  std::vector<Tree> folds;
  const bool liftable = lift(value, nest_.array(array).type, folds);
  Step step = begin(s, depth);
  if (liftable) {
    std::map<const Node*, Tree> lifted;
    for (const Tree& found : folds) {
      if (s.loops.size() == at(depth) && !guard) {
        lifted[found.get()] = alone(found, s);
        continue;
      }
      // A fold of nothing writes nothing into an array: then its value is said here.
      const Tree some = all ? Tree() : is_not_empty(found);
      folding(s, depth, found, false, guard, false, all, some != nullptr);
      Node read = *read_of(nest_, array, step.at, found->place);
      read.version = now_[at(array)];
      result_.versions[at(read.version)].role = word_of(found->op);
      const Tree value_of_fold = make(std::move(read));
      lifted[found.get()] = some && may_be_empty(s, found)
                                ? choose(versioned(some), value_of_fold,
                                         number(identity_of(found->op, found->type), found->place))
                                : value_of_fold;
      now_[at(array)] = before;
    }
    value = rewrite(value, [&](const Tree& node) {
      const auto found = lifted.find(node.get());
      return found == lifted.end() ? Tree() : found->second;
    });
  }
  step.value = versioned(value);
  step.guard = versioned(guard);
  step.block = !liftable;
  if (!all) step.into = current(array);
  if (!guard && step.dims.size() == s.assign.at.size() && all && step.value->kind == Kind::Number)
    constants_[static_cast<int>(result_.versions.size())] = step.value;
  finish(std::move(step), array);
}

bool Stager::lift(const Tree& tree, Scalar type, std::vector<Tree>& folds) const {
  if (!tree) return true;
  if (tree->kind == Kind::While) return false;
  if (tree->kind == Kind::Reduce) {
    if (tree->type != type || !is_simple_fold(tree)) return false;
    bool local = false;
    visit(nest_, tree, [&](const Tree& node) { local = local || node->kind == Kind::Local; });
    if (local) return false;
    folds.push_back(tree);
    return true;
  }
  const bool decides =
      tree->kind == Kind::Choose || (tree->kind == Kind::Apply && (tree->op == "and" || tree->op == "or"));
  for (std::size_t k = 0; k < tree->args.size(); ++k) {
    const std::size_t before = folds.size();
    if (!lift(tree->args[k], type, folds)) return false;
    if (decides && k > 0 && folds.size() > before) return false;
  }
  return true;
}

bool Stager::is_simple_fold(const Tree& fold) const {
  bool simple = true;
  for (const Tree& arg : fold->args)
    visit(nest_, arg, [&](const Tree& node) {
      simple = simple && node->kind != Kind::Reduce && node->kind != Kind::While;
    });
  return simple;
}

bool Stager::zero_everywhere(int array, const std::string& op) const {
  const auto found = constants_.find(now_[at(array)]);
  return found != constants_.end() && is_number(found->second, op == "*" ? 1 : 0) && (op == "+" || op == "*");
}

void Stager::folding(const Statement& s, int depth, const Tree& fold, bool minus, const Tree& guard,
                     bool onto, bool all, bool may_write_nothing) {
  const int array = s.assign.array;
  if (!onto && !all && !may_write_nothing && may_be_empty(s, fold)) {
    // A fold of nothing writes nothing into an array, but here it has a value.
    Step start = begin(s, depth);
    start.value = number(identity_of(fold->op, fold->type), fold->place);
    start.guard = versioned(guard);
    start.into = current(array);
    const Tree reads_before = versioned(fold);
    finish(std::move(start), array);
    return folding(s, depth, reads_before, minus, versioned(guard), true, all);
  }
  Step step = begin(s, depth);
  const Tree own = versioned(fold);
  for (const int loop : own->loops) step.dims.push_back({loop, "fold", fold->op});
  step.value = minus ? apply("-", {own->args[1]}, fold->type, fold->place) : own->args[1];
  step.guard = both(versioned(guard), own->args[0]);
  step.onto = onto;
  if (onto || !all) step.into = current(array);
  finish(std::move(step), array);
}

bool Stager::may_be_empty(const Statement& s, const Tree& fold) const {
  Condition known = ask_.domain(s);
  for (const int loop : fold->loops) {
    const auto lo = affine_of(nest_, nest_.loop(loop).lo), hi = affine_of(nest_, nest_.loop(loop).hi);
    if (!lo || !hi || !ask_.implies(known, poly::less(*lo, *hi))) return true;
    known = std::move(known) && range_of(nest_, loop).condition;
  }
  return false;
}

Tree Stager::is_not_empty(const Tree& fold) const {
  Tree all;
  for (const int loop : fold->loops) {
    const Loop& range = nest_.loop(loop);
    for (const int other : fold->loops)
      if (mentions_loop(nest_, range.lo, other) || mentions_loop(nest_, range.hi, other)) return nullptr;
    all = both(all, apply("<", {range.lo, range.hi}, Scalar::Bool, fold->place));
  }
  return all;
}

Tree Stager::alone(const Tree& fold, const Statement& s) {
  Array scalar;
  scalar.name = nest_.array(s.assign.array).name + "_" + word_of(fold->op);
  scalar.type = fold->type;
  scalar.place = fold->place;
  const int array = nest_.add_array(std::move(scalar));
  now_.resize(nest_.arrays.size(), -1);
  Statement own{s.loops, {array, {}, fold, nullptr, fold->place}};
  folding(own, static_cast<int>(s.loops.size()), fold, false, nullptr, false, true);
  Node read = *read_of(nest_, array, {}, fold->place);
  read.version = now_[at(array)];
  return make(std::move(read));
}

Number Stager::identity_of(const std::string& op, Scalar type) {
  if (op == "min") return highest(type);
  if (op == "max") return lowest(type);
  const std::int64_t value = op == "*" ? 1 : op == "bit_and" ? -1 : 0;
  return convert(Number::of(Scalar::I64, value), type);
}

void Stager::scattered(const Statement& s, int depth, const Accumulation* accumulation) {
  const int array = s.assign.array;
  Step step = begin(s, depth);
  for (StepDim& dim : step.dims) dim = {dim.loop, "scatter", accumulation ? accumulation->op : ""};
  if (step.dims.empty()) {
    const int loop = nest_.add_loop({"once", integer(0), integer(1), s.assign.place});
    step.dims.push_back({loop, "scatter", accumulation ? accumulation->op : ""});
  }
  Tree value = accumulation ? accumulation->value : s.assign.value;
  std::vector<Tree> folds;
  step.block = !lift(value, nest_.array(array).type, folds) || !folds.empty();
  value = versioned(value);
  step.value = accumulation && accumulation->minus ? apply("-", {value}, value->type, value->place) : value;
  step.guard = versioned(bounds_guard(s));
  step.into = current(array);
  step.onto = accumulation != nullptr;
  finish(std::move(step), array);
}

}  // namespace twill::c
