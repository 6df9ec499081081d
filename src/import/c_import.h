// C loop nests as programs: the functions of a C file that have a `#pragma scop`. docs/c.md says what is
// understood.
#pragma once

#include "program/module.h"

#include <string>
#include <vector>

namespace twill {

/// A C file: as it was written, and preprocessed with its line markers and pragmas kept.
struct CFile {
  std::string name;
  std::string text;
  std::string preprocessed;
  std::string libclang = {};  // which library reads it; empty: the one of the system
};

/// An argument of a C function, and what became of it.
struct CArgument {
  std::string name;
  std::string c_type;  // as it was declared: "double [n][m]"
  Scalar type = Scalar::F64;
  bool is_array = false;
  std::vector<std::string> shape;  // in C, in terms of the other arguments
  int input = -1, result = -1;     // the position among the program's inputs and results; -1: it is none
};

struct CFunction {
  std::string name;
  std::string prototype;  // as it was written, without its body
  std::vector<CArgument> arguments;
};

/// What a file gives: a program for each of the functions, in the same order.
struct CImport {
  Module module;
  std::vector<CFunction> functions;
};

/// The functions of a file with a `#pragma scop`, in order; with a name, that function only. Throws Error
/// with places in the C file (E08xx) for what is no loop nest, and E0904 where libclang is missing.
CImport import_c(const CFile& file, const std::string& function = {});

}  // namespace twill
