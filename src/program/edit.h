// Editing programs: every part of a stage, and every stage and block.
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

}  // namespace twill
