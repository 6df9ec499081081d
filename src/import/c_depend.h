// Questions about loop nests: which elements statements touch, and in which order. Not for users.
#pragma once

#include "import/c_nest.h"
#include "poly/set.h"

#include <set>

namespace twill::c {

/// An assignment with the loops around it, outermost first. Statements are numbered in the order of the text.
struct Statement {
  std::vector<int> loops;
  Assign assign;
};

/// All assignments of the nest.
std::vector<Statement> statements_of(const Nest& nest);

/// Where a tree reads, and what is known there: conditions of choices and ranges of folds around the read.
void each_read(const Nest& nest, const Tree& tree, const poly::Condition& path,
               const std::function<void(const Tree& read, const poly::Condition& path)>& action);

/// All that an assignment reads: value, guard, subscripts.
void each_read(const Nest& nest, const Assign& assign, const poly::Condition& path,
               const std::function<void(const Tree& read, const poly::Condition& path)>& action);

std::set<int> arrays_read(const Nest& nest, const Assign& assign);
std::set<int> arrays_read(const Nest& nest, const std::vector<Item>& items);
void written_arrays(const std::vector<Item>& items, std::set<int>& written);

/// `X[f] = X[f] op e`, whatever the order in which C wrote it: `e`, and whether it is taken away.
struct Accumulation {
  std::string op;
  Tree value;
  bool minus = false;
};
std::optional<Accumulation> accumulation_of(const Nest& nest, const Assign& assign);

/// In which ways one statement depends on another.
struct Dependence {
  std::set<int> flow, anti,
      output;  // depths of the loops that carry it; `independent`: within one step of all
  static constexpr int independent = 1000;

  bool any_from(int depth) const {
    const auto within = [&](const std::set<int>& levels) {
      return levels.lower_bound(depth) != levels.end();
    };
    return within(flow) || within(anti) || within(output);
  }
};

/// Answers by integer sets. What takes too long is taken for possible.
class Questions {
 public:
  explicit Questions(const Nest& nest) : nest_(nest) {}

  bool is_possible(const poly::Condition& condition) const;
  bool implies(const poly::Condition& facts, const poly::Condition& claim) const {
    return !is_possible(facts && !claim);
  }
  /// Whether two elements of an array may be the same one.
  poly::Condition same_element(const std::vector<Tree>& a, const std::vector<Tree>& b) const;

  /// The points of a statement as far as they are known, guard included.
  poly::Condition domain(const Statement& statement) const;
  /// The same with the indices of its loops, and of the folds in it, renamed: another point.
  poly::Condition elsewhere(const poly::Condition& condition) const;
  poly::Affine elsewhere(const poly::Affine& affine) const;

  /// How `later` may depend on `earlier`, where both are statements of the list and `earlier` runs first: at
  /// which depths a step of `earlier` precedes one of `later` that touches the same element. `accumulates`:
  /// what `earlier` and `later`, then the same statement, do to the element that it accumulates in does not
  /// count. Arrays in `ignored` do not count.
  Dependence dependence(const std::vector<Statement>& all, int earlier, int later, bool accumulates = false,
                        const std::set<int>& ignored = {}) const;

  /// Whether the elements that a statement writes, with the loops before `depth` fixed, are all of its array.
  bool writes_all(const Statement& statement, std::size_t depth, const poly::Condition& outer) const;

  const poly::Context& context() const { return context_; }

 private:
  const Nest& nest_;
  poly::Context context_;
};

/// How many loops two statements have in common.
int common_depth(const Statement& a, const Statement& b);

}  // namespace twill::c
