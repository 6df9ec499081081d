// Stages from statements, by their dependences.
#include "import/c_stages.h"

#include "base/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace twill::c {

using poly::Affine;
using poly::Condition;
using poly::Var;

namespace {

/// Every version that a step refers to, except the one it makes.
void each_use(const Nest& nest, const Step& step, const std::function<void(int)>& action) {
  const auto in_tree = [&](const Tree& tree) {
    visit(nest, tree, [&](const Tree& node) {
      if (node->kind == Kind::Read && node->version >= 0) action(node->version);
    });
  };
  in_tree(step.value);
  in_tree(step.guard);
  for (const Tree& at : step.at) in_tree(at);
  for (const StepDim& dim : step.dims) {
    in_tree(nest.loop(dim.loop).lo);
    in_tree(nest.loop(dim.loop).hi);
  }
  if (step.loop >= 0) {
    in_tree(nest.loop(step.loop).lo);
    in_tree(nest.loop(step.loop).hi);
  }
  if (step.into >= 0) action(step.into);
  for (const Carried& carried : step.carried) {
    if (carried.init >= 0) action(carried.init);
    action(carried.next);
  }
  for (const Step& inner : step.body) each_use(nest, inner, action);
}

class Stager {
 public:
  explicit Stager(Nest& nest) : nest_(nest), ask_(nest), all_(statements_of(nest)) {
    sink_ = &result_.steps;
    now_.assign(nest.arrays.size(), -1);
    for (std::size_t id = 0; id < nest.arrays.size(); ++id) {
      const Array& array = nest.arrays[id];
      if (array.is_argument) {
        now_[id] = new_version(static_cast<int>(id));
        result_.versions.back().is_input = true;
      } else if (array.is_value) {
        Step step;
        step.place = array.place;
        step.value = make({.kind = Kind::Param, .type = array.type, .place = array.place, .id = array.param});
        finish(std::move(step), static_cast<int>(id));
      }
    }
    for (std::size_t a = 0; a < all_.size(); ++a) {
      dependences_.emplace_back();
      for (std::size_t b = 0; b < all_.size(); ++b)
        dependences_.back().push_back(ask_.dependence(all_, static_cast<int>(a), static_cast<int>(b)));
    }
  }

  Steps run() {
    std::vector<int> everything;
    for (std::size_t s = 0; s < all_.size(); ++s) everything.push_back(static_cast<int>(s));
    distribute(everything, 0);
    std::set<int> written;
    written_arrays(nest_.items, written);
    for (const Nest::Argument& argument : nest_.arguments)
      if (argument.is_array && written.contains(argument.id)) {
        result_.results.push_back(now_[at(argument.id)]);
        result_.written.push_back(argument.id);
      }
    if (result_.results.empty())
      fail(Fault::User, "E0813", nest_.place, fmt::format("the function '{}' writes nothing that its caller sees", nest_.name),
           "let it write to an array that is an argument");
    prune(result_.steps, {result_.results.begin(), result_.results.end()});
    return std::move(result_);
  }

 private:
  static std::size_t at(int id) { return static_cast<std::size_t>(id); }
  const Statement& statement(int id) const { return all_[at(id)]; }

  int new_version(int array) {
    result_.versions.push_back({array, false, "", ""});
    return static_cast<int>(result_.versions.size()) - 1;
  }

  // ---- distribution ---------------------------------------------------------------------------------------

  /// Statements of a list whose loops down to `depth` are fixed.
  void distribute(const std::vector<int>& list, int depth) {
    // Which ones reach which, along dependences that still count.
    const std::size_t n = list.size();
    std::vector<std::vector<bool>> reach(n, std::vector<bool>(n, false));
    for (std::size_t a = 0; a < n; ++a)
      for (std::size_t b = 0; b < n; ++b)
        reach[a][b] = a != b && dependences_[at(list[a])][at(list[b])].any_from(depth);
    const auto direct = reach;
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t a = 0; a < n; ++a)
        for (std::size_t b = 0; b < n; ++b) reach[a][b] = reach[a][b] || (reach[a][k] && reach[k][b]);
    std::vector<bool> done(n, false);
    for (std::size_t finished = 0; finished < n;) {
      // The first statement, in the order of the text, whose circle waits for nobody.
      for (std::size_t a = 0; a < n; ++a) {
        if (done[a]) continue;
        std::vector<std::size_t> circle;
        for (std::size_t b = 0; b < n; ++b)
          if (a == b || (reach[a][b] && reach[b][a])) circle.push_back(b);
        bool waits = false;
        for (std::size_t b = 0; b < n; ++b)
          if (!done[b] && std::ranges::find(circle, b) == circle.end())
            for (const std::size_t c : circle) waits = waits || direct[b][c];
        if (waits) continue;
        std::vector<int> members;
        for (const std::size_t c : circle) {
          done[c] = true;
          ++finished;
          members.push_back(list[c]);
        }
        if (members.size() == 1)
          single(members[0], depth);
        else
          in_time(members, depth, [&] { distribute(members, depth + 1); });
        break;
      }
    }
  }

  /// A loop in time over loop `depth` of the statements.
  void in_time(const std::vector<int>& members, int depth, const std::function<void()>& make_body) {
    const int loop = statement(members[0]).loops[at(depth)];
    Step step;
    step.loop = loop_copy(loop, statement(members[0]).loops, depth);
    step.place = nest_.loop(loop).place;
    std::set<int> written;
    for (const int s : members) written.insert(statement(s).assign.array);
    const std::vector<int> before = now_;
    std::map<int, int> inside;
    for (const int array : written) now_[at(array)] = inside[array] = new_version(array);
    std::vector<Step>* outer = sink_;
    sink_ = &step.body;
    make_body();
    sink_ = outer;
    const std::vector<int> after = now_;
    now_ = before;
    now_.resize(nest_.arrays.size(), -1);
    std::set<int> used;
    for (const Step& inner : step.body) each_use(nest_, inner, [&](int version) { used.insert(version); });
    for (const int array : written) {
      if (!used.contains(inside[array]) && !is_live_after(array, members)) continue;
      Carried carried{current(array), inside[array], after[at(array)], new_version(array)};
      now_[at(array)] = carried.out;
      step.carried.push_back(carried);
    }
    if (!step.carried.empty()) sink_->push_back(std::move(step));
  }

  /// Whether somebody but these statements may read the array.
  bool is_live_after(int array, const std::vector<int>& members) const {
    if (nest_.array(array).is_argument) return true;
    for (std::size_t s = 0; s < all_.size(); ++s) {
      if (std::ranges::find(members, static_cast<int>(s)) != members.end()) continue;
      if (arrays_read(nest_, all_[s].assign).contains(array)) return true;
      for (const int loop : all_[s].loops)
        if (reads_array(nest_, nest_.loop(loop).lo, array) || reads_array(nest_, nest_.loop(loop).hi, array)) return true;
    }
    return false;
  }

  // ---- versions -------------------------------------------------------------------------------------------

  /// The version of an array that is current; a local one that nothing has written yet is zero everywhere.
  int current(int array) {
    if (now_[at(array)] >= 0) return now_[at(array)];
    const Array& zero = nest_.array(array);
    Step step;
    step.place = zero.place;
    step.value = zero.type == Scalar::Bool
                     ? apply("<", {integer(0, zero.place), integer(0, zero.place)}, Scalar::Bool, zero.place)
                     : number(convert(Number::of(Scalar::I64, 0), zero.type), zero.place);
    for (std::size_t k = 0; k < zero.shape.size(); ++k) {
      const int loop = nest_.add_loop({fmt::format("i{}", k), integer(0), nest_.array(array).shape[k], step.place});
      step.dims.push_back({loop, "cat", ""});
      step.at.push_back(index_of(loop, step.place));
    }
    step.out = now_[at(array)] = new_version(array);
    sink_->push_back(std::move(step));
    return now_[at(array)];
  }

  /// A tree that reads current versions.
  Tree versioned(const Tree& tree) {
    return rewrite(tree, [&](const Tree& node) -> Tree {
      if (node->kind == Kind::Read && node->version < 0) {
        Node copy = *node;
        copy.version = current(node->id);
        for (Tree& arg : copy.args) arg = versioned(arg);
        return make(std::move(copy));
      }
      if (node->kind == Kind::Reduce && has_data_bounds(node)) {
        Node copy = *node;
        for (int& loop : copy.loops) {
          Loop range = nest_.loop(loop);
          range.lo = versioned(range.lo);
          range.hi = versioned(range.hi);
          const int id = nest_.add_loop(std::move(range));
          for (Tree& arg : copy.args) arg = replace_index(arg, loop, index_of(id, node->place));
          loop = id;
        }
        for (Tree& arg : copy.args) arg = versioned(arg);
        return make(std::move(copy));
      }
      return {};
    });
  }

  bool has_data_bounds(const Tree& fold) const {
    return std::ranges::any_of(fold->loops, [&](int loop) { return !range_of(nest_, loop).exact; });
  }

  /// The loop itself, or a copy whose bounds read current versions.
  int loop_copy(int loop, const std::vector<int>& loops, int depth) {
    (void)loops;
    (void)depth;
    if (range_of(nest_, loop).exact) return loop;
    nest_.loop(loop).lo = versioned(nest_.loop(loop).lo);
    nest_.loop(loop).hi = versioned(nest_.loop(loop).hi);
    return loop;
  }

  // ---- single statements ----------------------------------------------------------------------------------

  void single(int id, int depth) {
    const Statement& s = statement(id);
    const Dependence& self = dependences_[at(id)][at(id)];
    const auto from = [&](const std::set<int>& levels) { return levels.lower_bound(depth) != levels.end(); };
    const bool affine_target =
        std::ranges::all_of(s.assign.at, [&](const Tree& t) { return affine_of(nest_, t).has_value(); });
    const bool flows = from(self.flow), twice = from(self.output);
    if (affine_target && !flows && !twice) return plain(s, depth);
    if (const auto accumulation = accumulation_of(nest_, s.assign)) {
      const Dependence rest = ask_.dependence(all_, id, id, true);
      if (!from(rest.flow) && !from(rest.output)) {
        if (!affine_target) return scattered(s, depth, &*accumulation);
        if (folds_apart(s, depth) && fold(s, depth)) return;
      }
    }
    if (!affine_target && !flows) return scattered(s, depth, nullptr);
    if (affine_target && !twice && in_order(s, depth, self)) return;
    ensure(at(depth) < s.loops.size(), "a statement without loops depends on itself");
    in_time({id}, depth, [&] { single(id, depth + 1); });
  }

  /// A step for the statement: its target and, unless it writes everything, what it changes.
  Step begin(const Statement& s, int depth) {
    Step step;
    step.place = s.assign.place;
    for (std::size_t d = at(depth); d < s.loops.size(); ++d) step.dims.push_back({loop_copy(s.loops[d], s.loops, depth), "cat", ""});
    for (const Tree& t : s.assign.at) step.at.push_back(versioned(t));
    return step;
  }

  void finish(Step step, int array) {
    step.out = new_version(array);
    now_[at(array)] = step.out;
    sink_->push_back(std::move(step));
  }

  /// Conditions under which the statement stays inside of its arrays, as far as its loops do not ensure it: C does
  /// not say what happens otherwise.
  Tree bounds_guard(const Statement& s) {
    Tree guard = s.assign.guard;
    const Condition points = ask_.domain(s);
    const auto check = [&](int array, const std::vector<Tree>& subscripts, const Condition& path) {
      for (std::size_t k = 0; k < subscripts.size(); ++k) {
        const auto sub = affine_of(nest_, subscripts[k]), extent = affine_of(nest_, nest_.array(array).shape[k]);
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

  /// Whether a subscript is one of the statement's own indices and sizes: those of folds are not known outside.
  bool is_checkable(const Statement& s, const Affine& sub) const {
    for (const Var var : sub.variables()) {
      if (var.kind == Var::Kind::Term) return false;
      if (var.kind == Var::Kind::Index && std::ranges::find(s.loops, var.id) == s.loops.end()) return false;
    }
    return true;
  }

  /// All points side by side.
  void plain(const Statement& s, int depth) {
    const int array = s.assign.array;
    const Tree guard = bounds_guard(s);
    Statement guarded = s;
    guarded.assign.guard = guard;
    const bool all = ask_.writes_all(guarded, at(depth), {});
    Tree value = s.assign.value;
    // X[f] + fold, X[f] - fold: the fold starts with what is there.
    const auto accumulation = accumulation_of(nest_, s.assign);
    if (accumulation && accumulation->value->kind == Kind::Reduce && accumulation->value->op == accumulation->op &&
        is_simple_fold(accumulation->value)) {
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
                                  ? choose(versioned(some), value_of_fold, number(identity_of(found->op, found->type), found->place))
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

  /// The folds of a value that can be computed before it; false if there are some that cannot.
  bool lift(const Tree& tree, Scalar type, std::vector<Tree>& folds) const {
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
    const bool decides = tree->kind == Kind::Choose || (tree->kind == Kind::Apply && (tree->op == "and" || tree->op == "or"));
    for (std::size_t k = 0; k < tree->args.size(); ++k) {
      const std::size_t before = folds.size();
      if (!lift(tree->args[k], type, folds)) return false;
      if (decides && k > 0 && folds.size() > before) return false;
    }
    return true;
  }

  /// No fold or while loop inside of it.
  bool is_simple_fold(const Tree& fold) const {
    bool simple = true;
    for (const Tree& arg : fold->args)
      visit(nest_, arg, [&](const Tree& node) {
        simple = simple && node->kind != Kind::Reduce && node->kind != Kind::While;
      });
    return simple;
  }

  bool zero_everywhere(int array, const std::string& op) const {
    const auto found = constants_.find(now_[at(array)]);
    return found != constants_.end() && is_number(found->second, op == "*" ? 1 : 0) && (op == "+" || op == "*");
  }

  /// A stage of the statement's loops and those of a fold in it.
  void folding(const Statement& s, int depth, const Tree& fold, bool minus, const Tree& guard, bool onto, bool all,
               bool may_write_nothing = false) {
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

  /// Whether a fold of the statement has no points for some element.
  bool may_be_empty(const Statement& s, const Tree& fold) const {
    Condition known = ask_.domain(s);
    for (const int loop : fold->loops) {
      const auto lo = affine_of(nest_, nest_.loop(loop).lo), hi = affine_of(nest_, nest_.loop(loop).hi);
      if (!lo || !hi || !ask_.implies(known, poly::less(*lo, *hi))) return true;
      known = std::move(known) && range_of(nest_, loop).condition;
    }
    return false;
  }

  /// A condition for the fold to have points; null if that is not said in a few words.
  Tree is_not_empty(const Tree& fold) const {
    Tree all;
    for (const int loop : fold->loops) {
      const Loop& range = nest_.loop(loop);
      for (const int other : fold->loops)
        if (mentions_loop(nest_, range.lo, other) || mentions_loop(nest_, range.hi, other)) return nullptr;
      all = both(all, apply("<", {range.lo, range.hi}, Scalar::Bool, fold->place));
    }
    return all;
  }

  /// A fold that is a single number.
  Tree alone(const Tree& fold, const Statement& s) {
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

  static std::string word_of(const std::string& op) { return op == "+" ? "sum" : op == "*" ? "product" : op; }

  static Number identity_of(const std::string& op, Scalar type) {
    if (op == "min") return highest(type);
    if (op == "max") return lowest(type);
    const std::int64_t value = op == "*" ? 1 : op == "bit_and" ? -1 : 0;
    return convert(Number::of(Scalar::I64, value), type);
  }

  /// Whether points that accumulate in one element differ in nothing but loops that its subscripts do not mention.
  bool folds_apart(const Statement& s, int depth) const {
    Condition meet = ask_.domain(s) && ask_.elsewhere(ask_.domain(s));
    for (const Tree& t : s.assign.at) meet = std::move(meet) && poly::equal(*affine_of(nest_, t), ask_.elsewhere(*affine_of(nest_, t)));
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

  bool names_place(const Statement& s, int loop) const {
    return std::ranges::any_of(s.assign.at, [&](const Tree& t) { return mentions_loop(nest_, t, loop); });
  }

  /// The same statement with the loops that say where it writes outside, and those that accumulate inside. Nothing if
  /// the bounds cannot be turned around.
  std::optional<Statement> turned(const Statement& s, int depth) {
    Statement result = s;
    const Condition points = ask_.domain(s);
    std::vector<int> order;
    for (const bool folds : {false, true})
      for (std::size_t d = at(depth); d < s.loops.size(); ++d)
        if (names_place(s, s.loops[d]) != folds) order.push_back(s.loops[d]);
    Condition again;
    for (std::size_t d = 0; d < at(depth); ++d) again = std::move(again) && range_of(nest_, s.loops[d]).condition;
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

  /// Whether the range of a loop that says where the statement writes depends on one that accumulates.
  bool is_crossed(const Statement& s, int depth) const {
    for (std::size_t d = at(depth); d < s.loops.size(); ++d)
      for (std::size_t e = at(depth); e < s.loops.size(); ++e)
        if (names_place(s, s.loops[d]) && !names_place(s, s.loops[e]) &&
            (mentions_loop(nest_, nest_.loop(s.loops[d]).lo, s.loops[e]) ||
             mentions_loop(nest_, nest_.loop(s.loops[d]).hi, s.loops[e])))
          return true;
    return false;
  }

  /// Accumulation over loops that are not the innermost ones.
  bool fold(const Statement& written, int depth) {
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
      return std::ranges::any_of(step.dims, [&](const StepDim& d) { return d.loop == loop && d.combine == "fold"; });
    });
    step.onto = guard || !zero_everywhere(array, accumulation.op) || !ask_.writes_all(whole, at(depth), {});
    if (step.onto) step.into = current(array);
    finish(std::move(step), array);
    return true;
  }

  /// Where data say what is written.
  void scattered(const Statement& s, int depth, const Accumulation* accumulation) {
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

  // ---- in order -------------------------------------------------------------------------------------------

  /// Points in order, each of which writes an element of its own and may read what earlier ones wrote. False if it
  /// cannot be told which reads are of earlier points.
  bool in_order(const Statement& s, int depth, const Dependence& self) {
    const int array = s.assign.array;
    const std::size_t first = at(depth);
    const Tree guard = bounds_guard(s);
    Statement guarded = s;
    guarded.assign.guard = guard;
    const Condition points = ask_.domain(s);
    // Where every index is found in the element that is written.
    std::map<int, std::pair<std::size_t, int>> where;  // loop: subscript and sign
    for (std::size_t d = first; d < s.loops.size(); ++d)
      for (std::size_t k = 0; k < s.assign.at.size(); ++k) {
        const Affine sub = *affine_of(nest_, s.assign.at[k]);
        const auto factor = sub.factor_of(var_of_loop(s.loops[d]));
        bool alone = factor == 1 || factor == -1;
        for (std::size_t e = first; e < s.loops.size(); ++e)
          alone = alone && (e == d || !sub.mentions(var_of_loop(s.loops[e])));
        if (alone) where[s.loops[d]] = {k, static_cast<int>(factor)};
      }
    const bool all = ask_.writes_all(guarded, first, {});
    const int old = all && now_[at(array)] < 0 ? -1 : current(array);
    const int own = new_version(array);
    bool good = true;
    bool reads_old = false;
    const std::function<Tree(const Tree&, const Condition&)> resolve = [&](const Tree& tree, const Condition& path) -> Tree {
      if (!tree) return tree;
      if (tree->kind == Kind::Choose || (tree->kind == Kind::Apply && (tree->op == "and" || tree->op == "or"))) {
        const Known known = condition_of(nest_, tree->args[0]);
        const Condition fails = known.exact ? !known.condition : Condition();
        Node copy = *tree;
        copy.args[0] = resolve(tree->args[0], path);
        const bool second = tree->kind == Kind::Choose || tree->op == "and";
        copy.args[1] = resolve(tree->args[1], path && (second ? known.condition : fails));
        if (tree->kind == Kind::Choose) copy.args[2] = resolve(tree->args[2], path && fails);
        return make(std::move(copy));
      }
      if (tree->kind == Kind::Reduce) {
        Condition inner = path;
        for (const int loop : tree->loops) {
          good = good && !reads_array(nest_, nest_.loop(loop).lo, array) && !reads_array(nest_, nest_.loop(loop).hi, array);
          inner = std::move(inner) && range_of(nest_, loop).condition;
        }
        Node copy = *tree;
        copy.args[0] = resolve(tree->args[0], inner);
        copy.args[1] = resolve(tree->args[1], inner && condition_of(nest_, tree->args[0]).condition);
        return make(std::move(copy));
      }
      if (tree->kind != Kind::Read || tree->id != array) {
        if (tree->kind == Kind::While) good = good && !reads_array(nest_, tree, array);
        Node copy = *tree;
        for (Tree& arg : copy.args) arg = resolve(arg, path);
        return make(std::move(copy));
      }
      // The point that writes what is read here.
      const auto meet = [&]() -> std::optional<Condition> {
        Condition same = path && ask_.elsewhere(points);
        for (std::size_t k = 0; k < tree->args.size(); ++k) {
          const auto read = affine_of(nest_, tree->args[k]);
          if (!read) return std::nullopt;
          same = std::move(same) && poly::equal(*read, ask_.elsewhere(*affine_of(nest_, s.assign.at[k])));
        }
        for (std::size_t d = 0; d < first; ++d)
          same = std::move(same) && poly::equal(var_of_loop(s.loops[d]), ask_.elsewhere(Affine(var_of_loop(s.loops[d]))));
        return same;
      }();
      if (!meet) {
        good = false;
        return tree;
      }
      Condition earlier = Condition::never(), level;
      for (std::size_t d = first; d < s.loops.size(); ++d) {
        const Affine here = var_of_loop(s.loops[d]), there = ask_.elsewhere(here);
        earlier = std::move(earlier) || (level && poly::less(there, here));
        level = std::move(level) && poly::equal(there, here);
      }
      const auto version = [&](int which) {
        Node copy = *tree;
        copy.version = which;
        return make(std::move(copy));
      };
      if (!ask_.is_possible(*meet && earlier)) {
        reads_old = true;
        return version(old);
      }
      if (!ask_.is_possible(*meet && !earlier)) return version(own);
      reads_old = true;
      // It depends: an expression for "the writer is earlier".
      Tree condition, same;
      Condition known = path;
      const Place& place = tree->place;
      for (std::size_t d = first; d < s.loops.size(); ++d) {
        const int loop = s.loops[d];
        const auto found = where.find(loop);
        if (found == where.end()) {
          good = false;
          return tree;
        }
        const auto [k, sign] = found->second;
        // at[k] = sign * index + rest, so the writer's index is sign * (read[k] - rest).
        const Tree rest = replace_index(s.assign.at[k], loop, integer(0, place));
        const Tree distance = apply("-", {tree->args[k], rest}, Scalar::I64, place);
        const Tree writer = sign == 1 ? distance : apply("-", {integer(0, place), distance}, Scalar::I64, place);
        const Tree here = index_of(loop, place);
        const Affine w = *affine_of(nest_, writer), h = *affine_of(nest_, here);
        if (ask_.is_possible(known && poly::less(w, h))) {
          Tree less = same;
          if (!ask_.implies(known, poly::less(w, h))) less = both(less, apply("<", {writer, here}, Scalar::Bool, place));
          if (!less) less = apply("==", {here, here}, Scalar::Bool, place);
          condition = condition ? apply("or", {condition, less}, Scalar::Bool, place) : less;
        }
        if (!ask_.implies(known, poly::equal(w, h))) same = both(same, apply("==", {writer, here}, Scalar::Bool, place));
        known = std::move(known) && poly::equal(w, h);
        if (!ask_.is_possible(known)) break;
      }
      if (!condition) return version(old);
      return choose(condition, version(own), version(old));
    };
    const Condition inside = points && condition_of(nest_, guard).condition;
    Tree value = resolve(s.assign.value, inside);
    Tree own_guard = resolve(guard, points);
    for (const Tree& t : s.assign.at) good = good && !reads_array(nest_, t, array);
    if (!good || (reads_old && old < 0)) return false;
    Step step = begin(s, depth);
    for (std::size_t d = 0; d < step.dims.size(); ++d)
      if (self.flow.contains(depth + static_cast<int>(d))) step.dims[d].combine = "seq";
    step.value = versioned(value);
    step.guard = versioned(own_guard);
    visit(nest_, step.value, [&](const Tree& node) {
      step.block = step.block || node->kind == Kind::Reduce || node->kind == Kind::While;
    });
    if (!all) step.into = current(array);
    step.out = own;
    now_[at(array)] = own;
    sink_->push_back(std::move(step));
    return true;
  }

  // ---- what nobody needs ----------------------------------------------------------------------------------

  void prune(std::vector<Step>& steps, std::set<int> needed) {
    for (std::size_t k = steps.size(); k-- > 0;) {
      Step& step = steps[k];
      if (step.loop < 0) {
        if (!needed.contains(step.out)) {
          steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(k));
          continue;
        }
      } else {
        // A state is needed if its last value is, or if a state that is needed is computed from it.
        std::set<int> inside;
        for (std::size_t before = 1000000; inside.size() != before;) {
          before = inside.size();
          std::set<int> wanted = inside;
          for (const Carried& c : step.carried)
            if (needed.contains(c.out) || wanted.contains(c.inside)) wanted.insert(c.next);
          std::vector<Step> body = step.body;
          prune(body, wanted);
          for (const Step& inner : body) each_use(nest_, inner, [&](int v) { wanted.insert(v); });
          inside.insert(wanted.begin(), wanted.end());
        }
        std::erase_if(step.carried, [&](const Carried& c) { return !needed.contains(c.out) && !inside.contains(c.inside); });
        std::set<int> wanted;
        for (const Carried& c : step.carried) wanted.insert(c.next);
        prune(step.body, wanted);
        if (step.carried.empty()) {
          steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(k));
          continue;
        }
      }
      each_use(nest_, step, [&](int version) { needed.insert(version); });
    }
  }

  Nest& nest_;
  Questions ask_;
  std::vector<Statement> all_;
  std::vector<std::vector<Dependence>> dependences_;
  Steps result_;
  std::vector<Step>* sink_ = nullptr;
  std::vector<int> now_;             // the current version of every array; -1: a local one without a value
  std::map<int, Tree> constants_;    // versions that hold one number everywhere
};

}  // namespace

Steps stages_of(Nest& nest) { return Stager(nest).run(); }

}  // namespace twill::c
