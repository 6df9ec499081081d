// How messages name things: short, with the program's names, on one line.
#pragma once

#include "program/program.h"

#include <string>

namespace twill {

/// "y-1", "ptr[r+1]", "2*x+k-2". Never fails: ids that the program does not have are shown as numbers.
std::string describe(const Program& program, Expr expr);

std::string name_of(const Program& program, ArrayId array);
std::string name_of(const Program& program, SymbolId symbol);
std::string name_of(const Program& program, DimId dim);
std::string name_of(const Program& program, FunctionId function);

/// "+", "max", or the name of the user's function.
std::string name_of(const Program& program, const Operator& op);

/// "f32[H, W]"
std::string describe_type(const Program& program, const Array& array);

}  // namespace twill
