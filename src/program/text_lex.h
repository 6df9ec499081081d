// Cuts a Twill text into tokens. Never fails: what is no token is reported and skipped.
#pragma once

#include "base/error.h"
#include "program/type.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace twill::text {

enum class TokenKind : std::uint8_t { End, Name, Number, String, Symbol };

/// A number as written: its magnitude, and the type of its suffix if it has one.
struct WrittenNumber {
  bool fraction = false;
  std::uint64_t integer = 0;
  double value = 0;
  std::optional<Scalar> suffix;
};

struct Token {
  TokenKind kind = TokenKind::End;
  std::string text;  // a name without its quotes, a string's contents, or the symbol
  WrittenNumber number;
  bool quoted = false;   // a name in backquotes: never a keyword
  bool newline = false;  // the first token of its line
  Place place;
};

/// The tokens of a text, ending with one of kind End. Errors are appended to `errors`.
std::vector<Token> lex(const std::shared_ptr<const SourceText>& source, std::vector<Diagnostic>& errors);

/// Words that no unquoted name can be.
bool is_reserved(std::string_view word);

/// Can the name be written without backquotes?
bool is_plain_name(std::string_view name);

}  // namespace twill::text
