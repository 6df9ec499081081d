// From steps to the syntax tree of a definition, which lowering and checks take over. Not for users.
#pragma once

#include "import/c_stages.h"
#include "program/text_ast.h"

namespace twill::c {

/// Gives the versions their names and writes the definition.
text::Definition definition_of(const Nest& nest, Steps& steps);

}  // namespace twill::c
