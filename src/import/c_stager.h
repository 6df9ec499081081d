// Inside of c_stages.h: the class that turns statements into steps. Its methods are spread over c_stages.cpp
// (which statements share a loop, versions), c_stage_parallel.cpp (stages whose points are independent),
// c_stage_fold.cpp (accumulation) and c_stage_order.cpp (recurrences).
#pragma once

#include "import/c_stages.h"

#include <map>

namespace twill::c {

/// Every version that a step refers to, except the one it makes.
void each_use(const Nest& nest, const Step& step, const std::function<void(int)>& action);

class Stager {
 public:
  explicit Stager(Nest& nest);
  Steps run();

 private:
  static std::size_t at(int id) { return static_cast<std::size_t>(id); }
  const Statement& statement(int id) const { return all_[at(id)]; }
  static std::string word_of(const std::string& op) { return op == "+" ? "sum" : op == "*" ? "product" : op; }

  // ---- distribution and versions (c_stages.cpp)
  int new_version(int array);
  /// Statements of a list whose loops down to `depth` are fixed.
  void distribute(const std::vector<int>& list, int depth);
  /// A loop in time over loop `depth` of the statements.
  void in_time(const std::vector<int>& members, int depth, const std::function<void()>& make_body);
  /// Whether somebody but these statements may read the array.
  bool is_live_after(int array, const std::vector<int>& members) const;
  /// The version of an array that is current; a local one that nothing has written yet is zero everywhere.
  int current(int array);
  /// A tree that reads current versions.
  Tree versioned(const Tree& tree);
  bool has_data_bounds(const Tree& fold) const;
  /// Lets the bounds of a loop read current versions. Nothing in the loop changes what they read, so that
  /// this is the same for all its statements.
  void fix_bounds(int loop);
  void single(int id, int depth);
  void prune(std::vector<Step>& steps, std::set<int> needed);

  // ---- independent points (c_stage_parallel.cpp)
  /// A step for the statement: its target and, unless it writes everything, what it changes.
  Step begin(const Statement& s, int depth);
  void finish(Step step, int array);
  /// Conditions under which the statement stays inside of its arrays, as far as its loops do not ensure it: C
  /// does not say what happens otherwise.
  Tree bounds_guard(const Statement& s);
  /// Whether a subscript is one of the statement's own indices and sizes: those of folds are not known
  /// outside.
  bool is_checkable(const Statement& s, const poly::Affine& sub) const;
  /// All points side by side.
  void plain(const Statement& s, int depth);
  /// The folds of a value that can be computed before it; false if there are some that cannot.
  bool lift(const Tree& tree, Scalar type, std::vector<Tree>& folds) const;
  /// No fold or while loop inside of it.
  bool is_simple_fold(const Tree& fold) const;
  bool zero_everywhere(int array, const std::string& op) const;
  /// A stage of the statement's loops and those of a fold in it.
  void folding(const Statement& s, int depth, const Tree& fold, bool minus, const Tree& guard, bool onto,
               bool all, bool may_write_nothing = false);
  /// Whether a fold of the statement has no points for some element.
  bool may_be_empty(const Statement& s, const Tree& fold) const;
  /// A condition for the fold to have points; null if that is not said in a few words.
  Tree is_not_empty(const Tree& fold) const;
  /// A fold that is a single number.
  Tree alone(const Tree& fold, const Statement& s);
  static Number identity_of(const std::string& op, Scalar type);
  /// Where data say what is written.
  void scattered(const Statement& s, int depth, const Accumulation* accumulation);

  // ---- accumulation (c_stage_fold.cpp)
  /// Whether points that accumulate in one element differ in nothing but loops that its subscripts do not
  /// mention.
  bool folds_apart(const Statement& s, int depth) const;
  bool names_place(const Statement& s, int loop) const;
  /// The same statement with the loops that say where it writes outside, and those that accumulate inside.
  /// Nothing if the bounds cannot be turned around.
  std::optional<Statement> turned(const Statement& s, int depth);
  /// Whether the range of a loop that says where the statement writes depends on one that accumulates.
  bool is_crossed(const Statement& s, int depth) const;
  /// Accumulation over loops that are not the innermost ones.
  bool fold(const Statement& written, int depth);

  // ---- recurrences (c_stage_order.cpp)
  /// Points in order, each of which writes an element of its own and may read what earlier ones wrote. False
  /// if it cannot be told which reads are of earlier points.
  bool in_order(const Statement& s, int depth, const Dependence& self);

  Nest& nest_;
  Questions ask_;
  std::vector<Statement> all_;
  std::vector<std::vector<Dependence>> dependences_;
  Steps result_;
  std::vector<Step>* sink_ = nullptr;
  std::vector<int> now_;           // the current version of every array; -1: a local one without a value
  std::map<int, Tree> constants_;  // versions that hold one number everywhere
};

}  // namespace twill::c
