// From a parsed file to its module: programs and tests.
#pragma once

#include "program/module.h"
#include "program/text_lower.h"

namespace twill::text {

/// Builds the programs and tests of a file and checks them. Throws Error with every error found. The file
/// comes from the parser, or from the C++ front end, which builds the same syntax tree.
Module module_of(const File& file);

/// The test that a declaration means, given the definitions of the file and their programs.
Test test_of(const TestDecl& declaration, const Vocabulary& vocabulary, const Module& module,
             std::vector<Diagnostic>& errors);

}  // namespace twill::text
