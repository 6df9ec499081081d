// From steps to the syntax tree of a definition, which lowering and checks take over. Not for users.
#pragma once

#include "import/c_stages.h"
#include "program/text_ast.h"

#include <map>

namespace twill::c {

/// A definition, and which of its inputs the parameters and arrays of the function are.
struct Written {
  text::Definition definition;
  std::map<int, int> param_inputs, array_inputs;
};

/// Gives the versions their names and writes the definition.
Written definition_of(const Nest& nest, Steps& steps);

}  // namespace twill::c
