// Choices: sizes that are known only when one of the two sides was chosen.
//
// A choice is a stage without dimensions whose body is a Branch. Where its sides disagree about an extent of
// an output, that extent is a size of its own, which is born with the choice: that of the side that was
// chosen. An extent that is such a size alone says which one; others are made of these (the offsets of a
// group have one element more than there are keys).
#pragma once

#include "program/program.h"

namespace twill {

struct ChosenSize {
  SymbolId size;
  Expr then, otherwise;  // the extent that each side gives it
  std::size_t output;    // the first that has it, by position: those before do not know it
};

/// The sizes that are born with the stage if it is a choice, in order of the outputs.
std::vector<ChosenSize> chosen_sizes(const Program& program, const Stage& stage);

/// Is the size of this output known only when a side was chosen?
bool is_chosen(const Program& program, const Stage& stage, const Output& output);

/// An expression over them as one side of the choice sees it.
Expr on_side(ExprPool& pool, const std::vector<ChosenSize>& sizes, bool then, Expr e);

}  // namespace twill
