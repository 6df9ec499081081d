// Editing programs: every part of a stage, and every stage and block.
#pragma once

#include "program/program.h"

#include <functional>

namespace twill {

/// Every expression that a stage holds itself, to be replaced; operators' identities and blocks are not
/// entered.
void for_each_slot(Stage& stage, const std::function<void(Expr&)>& action);

/// Gives dimensions that come to stand inside of others names of their own.
void rename_inside(Program& program, std::vector<Dim>& dims, const std::vector<Dim>& around);

/// A name like this that no array of the program has.
std::string new_array_name(const Program& program, const std::string& wish);

/// Applies an action to every stage of a list and of the blocks below, outer stages first. Blocks are copied.
void edit_stages(std::vector<Stage>& stages, const std::function<void(Stage&)>& action);

/// Applies an action to every block below a list of stages, outer ones first: with the stage that it belongs
/// to and 1 if it is `otherwise`.
void edit_blocks(std::vector<Stage>& stages,
                 const std::function<void(const Stage&, int branch, Block&)>& action);

}  // namespace twill
