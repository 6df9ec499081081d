// Editing programs: visiting every part, and dropping what nothing refers to.
#pragma once

#include "program/program.h"

#include <functional>

namespace twill {

/// Every expression that a stage holds itself, to be replaced; operators' identities and blocks are not
/// entered.
void for_each_slot(Stage& stage, const std::function<void(Expr&)>& action);

/// Applies an action to every stage of a list and of the blocks below, outer stages first. Blocks are copied.
void edit_stages(std::vector<Stage>& stages, const std::function<void(Stage&)>& action);

/// Applies an action to every list of stages (the program's own, and each block's), outer ones first.
void edit_blocks(std::vector<Stage>& stages, const std::function<void(Block&)>& action);

/// The program without inputs, constants, arrays, sizes and functions that nothing refers to. Ids change,
/// names do not.
Program tidy(const Program& program);

}  // namespace twill
