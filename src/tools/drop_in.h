// A C function in the place of the one that a program was imported from.
#pragma once

#include "emit/print_c.h"
#include "import/c_import.h"

namespace twill {

/// The function with its old name and arguments, which calls the kernel: C text to follow the kernel's.
/// Arrays that are read and written are computed beside and copied back. An error ends the program with its
/// message: C has no way to report it.
std::string drop_in_text(const CFunction& function, const Program& program, const CSource& kernel);

/// Declares the function as it was declared.
std::string drop_in_header(const CFunction& function, const std::string& prefix);

}  // namespace twill
