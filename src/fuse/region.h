// One list of stages that a pass rewrites, and who uses what in it.
#pragma once

#include "program/program.h"

#include <functional>
#include <map>
#include <set>

namespace twill {

/// The program's own list of stages, or a block's.
struct Region {
  Program& program;
  std::vector<Stage>& stages;
  std::set<ArrayId> kept;              // needed after the last stage: results, and the next states of a loop
  std::string owner;                   // the stage whose block it is; empty for the program's own list
  int branch = 0;                      // 1: the block `otherwise`
  std::set<SymbolId> kept_sizes = {};  // those that the stage around mentions
};

/// Who defines and uses the arrays of a region. Stages are named by their position.
class UseTable {
 public:
  explicit UseTable(const Region& region);

  /// The stage that defines the array here; -1 if none does.
  int definer(ArrayId array) const;
  /// Stages that read elements of it in their own expressions.
  const std::set<int>& readers(ArrayId array) const;
  /// Does anything else need the array: the surroundings, a nested block, a shape, a new version?
  bool is_held(ArrayId array) const { return held_.contains(array); }
  /// Do the surroundings need the size?
  bool is_held(SymbolId symbol) const { return held_sizes_.contains(symbol); }
  /// Stages that use a size, in blocks and in the shapes of what they define as well.
  const std::set<int>& users(SymbolId symbol) const;
  /// Arrays that a stage reads in its own expressions.
  const std::set<ArrayId>& reads(int stage) const { return reads_[static_cast<std::size_t>(stage)]; }

  /// The producer has become part of the consumer, and some of its arrays are gone, with these lengths.
  void merge(int producer, int consumer, const std::set<ArrayId>& gone, const std::set<SymbolId>& lengths);
  /// The consumer computes what the producer does as well, and so reads what that reads.
  void share(int producer, int consumer);

 private:
  std::map<ArrayId, int> definer_;
  std::map<ArrayId, std::set<int>> readers_;
  std::map<SymbolId, std::set<int>> users_;
  std::set<ArrayId> held_;
  std::set<SymbolId> held_sizes_;
  std::vector<std::set<ArrayId>> reads_;
  std::vector<std::set<SymbolId>> sizes_;
};

/// The lengths of the collections that a stage fills, and the sizes that are born with a choice.
std::set<SymbolId> lengths_born_in(const Program& program, const Stage& stage);

/// The lengths that are born in the first of two stages and no longer in what became of both.
std::set<SymbolId> lengths_gone(const Program& program, const Stage& producer, const Stage& both);

/// Arrays of the producer that nobody needs if it becomes part of the consumer.
std::set<ArrayId> gone_into(const Region& region, const UseTable& uses, int producer, int consumer);

/// Applies a pass to the program's stages and to all blocks; says whether any call changed something.
bool in_all_regions(Program& program, const std::function<bool(Region&)>& pass);

}  // namespace twill
