// Stages from statements: which statements share a loop in time, and which version of an array they see.
#include "import/c_stager.h"

#include "base/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

namespace twill::c {

using poly::Affine;
using poly::Condition;
using poly::Var;

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

Stager::Stager(Nest& nest) : nest_(nest), ask_(nest), all_(statements_of(nest)) {
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

Steps Stager::run() {
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
    fail(Fault::User, "E0813", nest_.place,
         fmt::format("the function '{}' writes nothing that its caller sees", nest_.name),
         "let it write to an array that is an argument");
  prune(result_.steps, {result_.results.begin(), result_.results.end()});
  return std::move(result_);
}

int Stager::new_version(int array) {
  result_.versions.push_back({array, false, "", ""});
  return static_cast<int>(result_.versions.size()) - 1;
}

void Stager::distribute(const std::vector<int>& list, int depth) {
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

void Stager::in_time(const std::vector<int>& members, int depth, const std::function<void()>& make_body) {
  const int loop = statement(members[0]).loops[at(depth)];
  Step step;
  fix_bounds(loop);
  step.loop = loop;
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

bool Stager::is_live_after(int array, const std::vector<int>& members) const {
  if (nest_.array(array).is_argument) return true;
  for (std::size_t s = 0; s < all_.size(); ++s) {
    if (std::ranges::find(members, static_cast<int>(s)) != members.end()) continue;
    if (arrays_read(nest_, all_[s].assign).contains(array)) return true;
    for (const int loop : all_[s].loops)
      if (reads_array(nest_, nest_.loop(loop).lo, array) || reads_array(nest_, nest_.loop(loop).hi, array))
        return true;
  }
  return false;
}

int Stager::current(int array) {
  if (now_[at(array)] >= 0) return now_[at(array)];
  const Array& zero = nest_.array(array);
  Step step;
  step.place = zero.place;
  step.value = zero.type == Scalar::Bool
                   ? apply("<", {integer(0, zero.place), integer(0, zero.place)}, Scalar::Bool, zero.place)
                   : number(convert(Number::of(Scalar::I64, 0), zero.type), zero.place);
  for (std::size_t k = 0; k < zero.shape.size(); ++k) {
    const int loop =
        nest_.add_loop({fmt::format("i{}", k), integer(0), nest_.array(array).shape[k], step.place});
    step.dims.push_back({loop, "cat", ""});
    step.at.push_back(index_of(loop, step.place));
  }
  step.out = now_[at(array)] = new_version(array);
  sink_->push_back(std::move(step));
  return now_[at(array)];
}

Tree Stager::versioned(const Tree& tree) {
  return rewrite(tree, [&](const Tree& node) -> Tree {
    if (node->kind == Kind::Read && node->version < 0) {
      Node copy = *node;
      copy.version = current(node->id);
      for (Tree& arg : copy.args) arg = versioned(arg);
      return make(std::move(copy));
    }
    if (node->kind == Kind::Reduce && has_data_bounds(node)) {
      Node copy = *node;
      std::vector<std::pair<int, Tree>> renamed;
      for (int& loop : copy.loops) {
        Loop range = nest_.loop(loop);
        for (const auto& [outer, index] : renamed) {
          range.lo = replace_index(range.lo, outer, index);
          range.hi = replace_index(range.hi, outer, index);
        }
        range.lo = versioned(range.lo);
        range.hi = versioned(range.hi);
        const int id = nest_.add_loop(std::move(range));
        renamed.emplace_back(loop, index_of(id, node->place));
        for (Tree& arg : copy.args) arg = replace_index(arg, loop, renamed.back().second);
        loop = id;
      }
      for (Tree& arg : copy.args) arg = versioned(arg);
      return make(std::move(copy));
    }
    return {};
  });
}

bool Stager::has_data_bounds(const Tree& fold) const {
  return std::ranges::any_of(fold->loops, [&](int loop) { return !range_of(nest_, loop).exact; });
}

void Stager::fix_bounds(int loop) {
  if (range_of(nest_, loop).exact) return;
  nest_.loop(loop).lo = versioned(nest_.loop(loop).lo);
  nest_.loop(loop).hi = versioned(nest_.loop(loop).hi);
}

void Stager::single(int id, int depth) {
  const Statement& s = statement(id);
  const Dependence& self = dependences_[at(id)][at(id)];
  const auto from = [&](const std::set<int>& levels) { return levels.lower_bound(depth) != levels.end(); };
  const bool affine_target =
      std::ranges::all_of(s.assign.at, [&](const Tree& t) { return affine_of(nest_, t).has_value(); });
  const bool flows = from(self.flow), twice = from(self.output);
  // A loop that its subscripts do not mention has one step then, if any: it stays a loop.
  const bool named =
      std::ranges::all_of(s.loops | std::views::drop(depth), [&](int loop) { return names_place(s, loop); });
  if (affine_target && !flows && !twice && named) return plain(s, depth);
  if (const auto accumulation = accumulation_of(nest_, s.assign)) {
    const Dependence rest = ask_.dependence(all_, id, id, true);
    if (!from(rest.flow) && !from(rest.output)) {
      if (!affine_target) return scattered(s, depth, &*accumulation);
      if (folds_apart(s, depth) && fold(s, depth)) return;
    }
  }
  if (!affine_target && !flows) return scattered(s, depth, nullptr);
  if (affine_target && named && !twice && in_order(s, depth, self)) return;
  ensure(at(depth) < s.loops.size(), "a statement without loops depends on itself");
  in_time({id}, depth, [&] { single(id, depth + 1); });
}

void Stager::prune(std::vector<Step>& steps, std::set<int> needed) {
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
      std::erase_if(step.carried,
                    [&](const Carried& c) { return !needed.contains(c.out) && !inside.contains(c.inside); });
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

Steps stages_of(Nest& nest) { return Stager(nest).run(); }

}  // namespace twill::c
