// C loop nests as programs: the functions of a C file that have a `#pragma scop`. docs/c.md says what is understood.
#pragma once

#include "program/module.h"

#include <string>

namespace twill {

/// A C file: as it was written, and preprocessed with its line markers and pragmas kept.
struct CFile {
  std::string name;
  std::string text;
  std::string preprocessed;
};

/// The programs of a file's functions with a `#pragma scop`, in order; with a name, of that function only. Throws Error
/// with places in the C file (E08xx) for what is no loop nest, and E0904 where libclang is missing.
Module import_c(const CFile& file, const std::string& function = {});

}  // namespace twill
