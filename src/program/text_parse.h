// From tokens to the syntax tree.
#pragma once

#include "program/text_ast.h"
#include "program/text_lex.h"

namespace twill::text {

/// Parses a file. Errors are appended to `errors`; parsing goes on at the next statement.
File parse_file(const std::shared_ptr<const SourceText>& source, std::vector<Diagnostic>& errors);

}  // namespace twill::text
