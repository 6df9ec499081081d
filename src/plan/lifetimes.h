// How long the arrays of a list of stages are needed.
#pragma once

#include "program/program.h"

#include <map>
#include <span>

namespace twill {

/// One list of stages with what is needed when it is done.
struct StageList {
  std::span<const Stage> stages;
  std::vector<Carry> carries;  // of the block, if it is one
  std::vector<ArrayId> results;
};

/// Is the size of the array known only when it is made?
bool depends_on_run_time(const Program& program, const Array& array);

StageList stages_of(const Program& program);
/// The stages of a block; what the expressions of the stage around it read is needed when they are done.
StageList stages_of(const Stage& around, const Block& block);

/// Does the block compute this output of the stage around it in the memory of the output itself? It does if
/// it runs once and one of its stages makes the whole array.
bool is_made_in_place(const Program& program, const Stage& around, const Block& block, std::size_t output);

/// How long the arrays of a list are needed, the outputs of its stages and the states carried into it, if its
/// stages run in this order.
class Lifetimes {
 public:
  Lifetimes(const Program& program, const StageList& list, std::span<const Stage* const> order);

  /// Does nobody need the array when so many stages are done? Then it can be overwritten by the last of them,
  /// or freed after it. What comes from outside of the list, and the list's results, are always needed.
  bool is_over(ArrayId array, std::size_t done) const;

  /// The arrays that these stages of the order are the last ones to need, or that they make for nobody.
  std::vector<ArrayId> ending(std::size_t first, std::size_t count) const;

 private:
  std::map<ArrayId, std::size_t> until_;      // so many stages are done; not there if always needed
  std::vector<std::vector<ArrayId>> ending_;  // by stage
};

}  // namespace twill
