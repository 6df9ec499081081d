// How long the arrays of a list of stages are needed.
#pragma once

#include "program/program.h"

#include <map>
#include <set>
#include <span>

namespace twill {

/// One list of stages with what is needed when it is done.
struct StageList {
  std::span<const Stage> stages;
  std::vector<Carry> carries;  // of the block, if it is one
  std::vector<ArrayId> results;
};

StageList stages_of(const Program& program);
/// The stages of a block; what the expressions of the stage around it read is needed when they are done.
StageList stages_of(const Stage& around, const Block& block);

/// The blocks of a stage: none, one, or two for a branch.
std::vector<const Block*> blocks_of(const Stage& stage);

/// Does the block compute this output of the stage around it in the memory of the output itself? It does if
/// it runs once and one of its stages makes the whole array.
bool is_made_in_place(const Program& program, const Stage& around, const Block& block, std::size_t output);

/// Arrays of the list (outputs of its stages and the states carried into it) that the stages in `later` and
/// the list's results do not need: they can be overwritten by or freed after the stage before.
std::set<ArrayId> disposable_after(const Program& program, const StageList& list,
                                   std::span<const Stage* const> later);

}  // namespace twill
