// What several passes need to rewrite a program: every list and every expression, new names, constant arrays.
#pragma once

#include "program/program.h"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace twill {

struct Region;

/// Applies an action to every list of stages: the program's own, and those of blocks, outer ones first.
/// `nested`: it belongs to a block.
void edit_lists(Program& program, const std::function<void(std::vector<Stage>&, bool nested)>& action);

/// Replaces nodes (as `rewrite` does) in every expression of every stage, and in the shapes of all arrays.
void replace_everywhere(Program& program, const std::function<Expr(Expr)>& replace);

/// The same for one stage and its blocks.
void replace_in(ExprPool& pool, Stage& stage, const std::function<Expr(Expr)>& replace);

/// Rewrites expressions from the inside out. `step` is given a node whose operands are rewritten already, and
/// returns what takes its place. What was met before is not looked at again, and what is left of an operation
/// that the pool has folded away, `max(a, a)`, was met before.
class Rewriter {
 public:
  Rewriter(ExprPool& pool, std::function<Expr(Expr)> step) : pool_(pool), step_(std::move(step)) {}

  Expr operator()(Expr root);

 private:
  ExprPool& pool_;
  std::function<Expr(Expr)> step_;
  std::unordered_map<const Node*, Expr> done_;
};

/// What takes the place of what: arrays, and lengths.
struct Renaming {
  std::map<ArrayId, ArrayId> arrays;
  std::map<SymbolId, SymbolId> sizes;

  /// What it is called in the end.
  ArrayId of(ArrayId array) const { return end_of(arrays, array); }
  SymbolId of(SymbolId symbol) const { return end_of(sizes, symbol); }
  /// A node that reads or mentions it, under the name that stays.
  Expr of(ExprPool& pool, Expr node) const;

 private:
  template <class Id>
  static Id end_of(const std::map<Id, Id>& names, Id id) {
    for (auto found = names.find(id); found != names.end(); found = names.find(id)) id = found->second;
    return id;
  }
};

/// Renames what the stages of a list, and of the blocks below, read.
void rename_in(ExprPool& pool, std::vector<Stage>& stages, const Renaming& renaming);

/// The same, and the lengths in all shapes.
void rename_reads(Program& program, std::vector<Stage>& stages, const Renaming& renaming);

/// Moves stages that come after the one at `position`, and have to run before these arrays and lengths are
/// known, to before it; its new position, or nothing (and nothing has moved) if they depend on it or have
/// effects.
std::optional<std::size_t> bring_before(const Program& program, std::vector<Stage>& stages,
                                        std::size_t position, std::set<ArrayId> arrays,
                                        std::set<SymbolId> sizes);

/// Makes one stage of two without effects, in the place of the first, and brings what the second needs before
/// it; false, and nothing has changed, if that cannot be.
bool join_siblings(Region& region, std::size_t first, std::size_t second);

/// An expression of the second stage as it is at the points of the first, dimension by dimension; null for
/// null.
Expr at_points_of(const Program& program, const Stage& first, const Stage& second, Expr e);

/// Adds what a stage, with its blocks, has to know before it runs.
void add_needs(const Program& program, const Stage& stage, std::set<ArrayId>& arrays,
               std::set<SymbolId>& sizes);

/// New names for a program: the wish itself if nothing has that name, or with a number added.
class NewNames {
 public:
  explicit NewNames(const Program& program);

  /// Of an array or an index.
  std::string like(const std::string& wish);
  /// Of a stage.
  std::string stage_like(const std::string& wish);

 private:
  std::set<std::string> taken_, stages_;
};

/// What some stages define and what others may depend on.
struct Defined {
  std::set<ArrayId> arrays;
  std::set<SymbolId> sizes;
  std::set<DimId> dims;

  void add(const Program& program, const Stage& stage);
};

/// Does the stage need something of this, in its blocks or for the shapes of what it makes as well?
bool depends_on(const Program& program, const Stage& stage, const Defined& defined);

/// Takes outputs out of a stage, with what its blocks compute for them: these are results by position.
void keep_outputs(Stage& stage, const std::vector<bool>& stay);

/// What is still true of what two stages have become: that it is to be fused, if that was wanted of one of
/// them. What was wanted of the values of one alone cannot be done with those of both.
std::vector<Hint> hints_of_both(const std::vector<Hint>& a, const std::vector<Hint>& b);

/// Can it be seen that a size is never negative?
bool is_count(Expr size);

/// Zero, false, or a record of these.
Expr zero_of(ExprPool& pool, const Type& type);

/// A stage that gives every element of an array the value that belongs to its subscripts.
Stage defined_by(Program& program, NewNames& names, std::string name, ArrayId array,
                 const std::function<Expr(const std::vector<Expr>&)>& value, const Place& place);

}  // namespace twill
