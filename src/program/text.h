// The text form of programs: parse and print. docs/language.md defines the language.
#pragma once

#include "program/module.h"

#include <string>

namespace twill {

/// Parses a text, builds its programs and checks them. Throws Error with every error found.
Module parse(std::string name, std::string text);

/// Parses one definition.
Program parse_program(std::string name, std::string text);

/// Text that parses to the same program: same(parse(print(p)), p) for every checked program.
std::string print(const Program& program);

/// An expression as it would stand in the program's text.
std::string print(const Program& program, Expr expr);

}  // namespace twill
