// Stages whose points run in order and read what earlier ones wrote.
#include "import/c_stager.h"

#include <algorithm>

namespace twill::c {

using poly::Affine;
using poly::Condition;

namespace {

/// The reads that a statement makes of the array it writes: of the version that it makes, where an earlier
/// point wrote the element, and else of the old one.
class OwnReads {
 public:
  OwnReads(const Nest& nest, const Questions& ask, const Statement& statement, std::size_t depth, int own,
           int old)
      : nest_(nest),
        ask_(ask),
        s_(statement),
        first_(depth),
        own_(own),
        old_(old),
        points_(ask.domain(statement)) {
    // Where every index is found in the element that is written.
    for (std::size_t d = first_; d < s_.loops.size(); ++d)
      for (std::size_t k = 0; k < s_.assign.at.size(); ++k) {
        const Affine sub = *affine_of(nest_, s_.assign.at[k]);
        const auto factor = sub.factor_of(var_of_loop(s_.loops[d]));
        bool alone = factor == 1 || factor == -1;
        for (std::size_t e = first_; e < s_.loops.size(); ++e)
          alone = alone && (e == d || !sub.mentions(var_of_loop(s_.loops[e])));
        if (alone) where_[s_.loops[d]] = {k, factor == 1};
      }
  }

  bool good = true;        // every read could be told
  bool reads_old = false;  // some read is of the old version

  /// The tree with the versions that it reads, where `path` is known to hold.
  Tree resolve(const Tree& tree, const Condition& path) {
    if (!tree) return tree;
    Node copy = *tree;
    if (tree->kind == Kind::Choose ||
        (tree->kind == Kind::Apply && (tree->op == "and" || tree->op == "or"))) {
      const Known known = condition_of(nest_, tree->args[0]);
      const Condition fails = known.exact ? !known.condition : Condition();
      const bool then = tree->kind == Kind::Choose || tree->op == "and";
      copy.args[0] = resolve(tree->args[0], path);
      copy.args[1] = resolve(tree->args[1], path && (then ? known.condition : fails));
      if (tree->kind == Kind::Choose) copy.args[2] = resolve(tree->args[2], path && fails);
    } else if (tree->kind == Kind::Reduce) {
      Condition inner = path;
      for (const int loop : tree->loops) {
        for (const Tree& end : {nest_.loop(loop).lo, nest_.loop(loop).hi})
          good = good && !reads_array(nest_, end, s_.assign.array);
        inner = std::move(inner) && range_of(nest_, loop).condition;
      }
      copy.args[0] = resolve(tree->args[0], inner);
      copy.args[1] = resolve(tree->args[1], inner && condition_of(nest_, tree->args[0]).condition);
    } else if (tree->kind == Kind::Read && tree->id == s_.assign.array) {
      return resolve_read(tree, path);
    } else {
      if (tree->kind == Kind::While) good = good && !reads_array(nest_, tree, s_.assign.array);
      for (Tree& arg : copy.args) arg = resolve(arg, path);
    }
    return make(std::move(copy));
  }

 private:
  static Tree version(const Tree& read, int which) {
    Node copy = *read;
    copy.version = which;
    return make(std::move(copy));
  }

  /// The other point writes the element that is read here.
  std::optional<Condition> meeting(const Tree& read, const Condition& path) const {
    Condition same = path && ask_.elsewhere(points_);
    for (std::size_t k = 0; k < read->args.size(); ++k) {
      const auto element = affine_of(nest_, read->args[k]);
      if (!element) return std::nullopt;
      same = std::move(same) && poly::equal(*element, ask_.elsewhere(*affine_of(nest_, s_.assign.at[k])));
    }
    for (std::size_t d = 0; d < first_; ++d) {
      const Affine index = var_of_loop(s_.loops[d]);
      same = std::move(same) && poly::equal(index, ask_.elsewhere(index));
    }
    return same;
  }

  Tree resolve_read(const Tree& read, const Condition& path) {
    const auto meet = meeting(read, path);
    if (!meet) {
      good = false;
      return read;
    }
    Condition earlier = Condition::never(), level;
    for (std::size_t d = first_; d < s_.loops.size(); ++d) {
      const Affine here = var_of_loop(s_.loops[d]), there = ask_.elsewhere(here);
      earlier = std::move(earlier) || (level && poly::less(there, here));
      level = std::move(level) && poly::equal(there, here);
    }
    if (ask_.is_possible(*meet && earlier) && !ask_.is_possible(*meet && !earlier))
      return version(read, own_);
    reads_old = true;
    if (!ask_.is_possible(*meet && earlier)) return version(read, old_);
    const Tree condition = writer_is_earlier(read, path);
    return condition ? choose(condition, version(read, own_), version(read, old_)) : version(read, old_);
  }

  /// An expression for it; null if it never is. An element that no point writes is the same in both versions.
  Tree writer_is_earlier(const Tree& read, const Condition& path) {
    Tree condition, same;
    Condition known = path;
    const Place& place = read->place;
    for (std::size_t d = first_; d < s_.loops.size(); ++d) {
      const int loop = s_.loops[d];
      const auto found = where_.find(loop);
      if (found == where_.end()) {
        good = false;
        return nullptr;
      }
      // at[k] is the index, or minus the index, plus a rest: so the writer's index is what is read without
      // the rest.
      const auto [k, plus] = found->second;
      const Tree rest = replace_index(s_.assign.at[k], loop, integer(0, place));
      const Tree writer = tidy(nest_, plus ? apply("-", {read->args[k], rest}, Scalar::I64, place)
                                           : apply("-", {rest, read->args[k]}, Scalar::I64, place));
      const Tree here = index_of(loop, place);
      const Affine w = *affine_of(nest_, writer), h = *affine_of(nest_, here);
      if (ask_.is_possible(known && poly::less(w, h))) {
        Tree less = same;
        if (!less || !ask_.implies(known, poly::less(w, h)))
          less = both(less, apply("<", {writer, here}, Scalar::Bool, place));
        condition = condition ? apply("or", {condition, less}, Scalar::Bool, place) : less;
      }
      if (!ask_.implies(known, poly::equal(w, h)))
        same = both(same, apply("==", {writer, here}, Scalar::Bool, place));
      known = std::move(known) && poly::equal(w, h);
      if (!ask_.is_possible(known)) break;
    }
    return condition;
  }

  const Nest& nest_;
  const Questions& ask_;
  const Statement& s_;
  std::size_t first_;
  int own_, old_;
  Condition points_;
  std::map<int, std::pair<std::size_t, bool>>
      where_;  // by loop: the subscript, and whether it grows with the index
};

}  // namespace

bool Stager::in_order(const Statement& s, int depth, const Dependence& self) {
  const int array = s.assign.array;
  const Tree guard = bounds_guard(s);
  Statement guarded = s;
  guarded.assign.guard = guard;
  const bool all = ask_.writes_all(guarded, at(depth), {});
  const int old = all && now_[at(array)] < 0 ? -1 : current(array);
  const int own = new_version(array);
  OwnReads reads(nest_, ask_, s, at(depth), own, old);
  const Condition points = ask_.domain(s);
  const Tree value = reads.resolve(s.assign.value, points && condition_of(nest_, guard).condition);
  const Tree own_guard = reads.resolve(guard, points);
  for (const Tree& t : s.assign.at) reads.good = reads.good && !reads_array(nest_, t, array);
  if (!reads.good || (reads.reads_old && old < 0)) return false;
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

}  // namespace twill::c
