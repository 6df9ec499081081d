// How diagnostics read: place, code, message, the line of source with a caret, and help.
#include "base/error.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace twill {

bool lies_within(const Place& part, const Place& whole) {
  return part && part.source == whole.source && part.line == whole.line && part.column >= whole.column &&
         part.column + part.length <= whole.column + whole.length;
}

std::string to_string(const Place& place) {
  if (!place) return {};
  std::string text = place.source->name + ":" + std::to_string(place.line);
  if (place.column > 0) text += ":" + std::to_string(place.column);
  return text;
}

std::string line_text(const Place& place) {
  if (!place) return {};
  const std::string& text = place.source->text;
  std::size_t begin = 0;
  for (std::uint32_t line = 1; line < place.line; ++line) {
    begin = text.find('\n', begin);
    if (begin == std::string::npos) return {};
    ++begin;
  }
  return text.substr(begin, text.find('\n', begin) - begin);
}

namespace {

const char* word(Fault fault) {
  switch (fault) {
    case Fault::User: return "error";
    case Fault::Limit: return "not supported";
    case Fault::System: return "failed";
    case Fault::Bug: return "bug in Twill";
  }
  return "error";
}

/// How many characters a piece of UTF-8 text has: bytes that continue a character do not count.
std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

/// A text without what a terminal would obey: control characters become \x1b and the like; tabs and ends of
/// lines stay.
std::string harmless(std::string_view text) {
  constexpr const char* digits = "0123456789abcdef";
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\t' || c == '\n' || (byte >= 0x20 && byte != 0x7f))
      result += c;
    else
      result += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
  }
  return result;
}

/// The line and, under it, carets below the span; tabs are kept so that both lines align.
std::string excerpt(const Place& place) {
  std::string line = line_text(place);
  if (line.ends_with('\r')) line.pop_back();
  if (line.empty() || place.column == 0) return {};
  const std::size_t column = std::min<std::size_t>(place.column - 1, line.size());
  std::string pad;
  for (char c : harmless(line.substr(0, column)))
    if ((c & 0xc0) != 0x80) pad += c == '\t' ? '\t' : ' ';
  const std::size_t room = std::max<std::size_t>(1, line.size() - column);
  const std::size_t length = std::clamp<std::size_t>(place.length, 1, room);
  const std::size_t carets = std::max<std::size_t>(1, characters(harmless(line.substr(column, length))));
  return "    " + harmless(line) + "\n    " + pad + std::string(carets, '^') + "\n";
}

}  // namespace

std::string to_string(const Diagnostic& d) {
  std::string text = to_string(d.place);
  if (!text.empty()) text += ": ";
  text += std::string(word(d.fault)) + "[" + d.code + "]: " + harmless(d.message) + "\n";
  text += excerpt(d.place);
  if (!d.help.empty()) text += "  help: " + harmless(d.help) + "\n";
  return text;
}

Error::Error(std::vector<Diagnostic> diagnostics) : diagnostics_(std::move(diagnostics)) {
  constexpr std::size_t most = 20;  // nobody reads more
  for (std::size_t k = 0; k < std::min(most, diagnostics_.size()); ++k) text_ += to_string(diagnostics_[k]);
  if (diagnostics_.size() > most) text_ += "and " + std::to_string(diagnostics_.size() - most) + " more\n";
}

void fail(Fault fault, std::string code, Place place, std::string message, std::string help) {
  throw Error({fault, std::move(code), std::move(place), std::move(message), std::move(help)});
}

void ensure(bool condition, const char* what) {
  if (!condition) fail(Fault::Bug, "B0001", {}, what, "please report it with the program that caused it");
}

}  // namespace twill
