// One list of stages that a pass rewrites, and who uses what in it.
#pragma once

#include "program/program.h"
#include "program/reason.h"

#include <map>
#include <set>

namespace twill {

/// The program's own list of stages, or a block's.
struct Scope {
  Program& program;
  std::vector<Stage>& stages;
  std::set<ArrayId> kept;  // needed after the last stage: results, and the next states of a loop
};

/// What a pass says about its decisions.
struct Notes {
  std::vector<Reason> done, not_done;
};

/// Who defines and uses the arrays of a scope. Stages are named by their position.
class Uses {
 public:
  explicit Uses(const Scope& scope);

  /// The stage that defines the array here; -1 if none does.
  int definer(ArrayId array) const;
  /// Stages that read elements of it in their own expressions.
  const std::set<int>& readers(ArrayId array) const;
  /// Does anything else need the array: the surroundings, a nested block, a shape, a new version?
  bool is_held(ArrayId array) const { return held_.contains(array); }
  /// Stages that use a size, in blocks and in the shapes of what they define as well.
  const std::set<int>& users(SymbolId symbol) const;
  /// Arrays that a stage reads in its own expressions.
  const std::set<ArrayId>& reads(int stage) const { return reads_[static_cast<std::size_t>(stage)]; }

  /// The producer has become part of the consumer.
  void merge(int producer, int consumer);

 private:
  std::map<ArrayId, int> definer_;
  std::map<ArrayId, std::set<int>> readers_;
  std::map<SymbolId, std::set<int>> users_;
  std::set<ArrayId> held_;
  std::vector<std::set<ArrayId>> reads_;
  std::vector<std::set<SymbolId>> sizes_;
};

/// Applies a pass to the program's stages and to all blocks; says whether any call changed something.
bool in_all_scopes(Program& program, const std::function<bool(Scope&)>& pass);

}  // namespace twill
