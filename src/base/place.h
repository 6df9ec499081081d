// Where something came from: a span of a text file, or a line of the caller's C++.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace twill {

/// A named text. `text` is empty when the place is a line of C++ that is not at hand.
struct SourceText {
  std::string name;
  std::string text;
};

/// A span in a source; line and column count from 1, line 0 means "nowhere".
/// Places are carried along and shown; they never take part in comparisons of programs.
struct Place {
  std::shared_ptr<const SourceText> source;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::uint32_t length = 0;

  explicit operator bool() const { return source && line > 0; }
};

/// Whether one span of a line is part of another.
bool lies_within(const Place& part, const Place& whole);

/// "file:line:column", "file:line" without a column, or "" for nowhere.
std::string to_string(const Place& place);

/// The text of the line the place is on, without its end; empty when the text is not at hand.
std::string line_text(const Place& place);

}  // namespace twill
