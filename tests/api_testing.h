// What the tests of the C++ front end share.
#pragma once

#include "base/error.h"
#include "program/text.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

namespace twill {

inline void expect_same(const Program& built, const std::string& text) {
  const Program parsed = parse_program("test.twill", text);
  EXPECT_TRUE(same(built, parsed)) << "from C++:\n" << print(built) << "\nfrom text:\n" << print(parsed);
  EXPECT_TRUE(same(built, parse_program("printed.twill", print(built)))) << print(built);
}

/// A line of a source of the tests: the mistake in `const auto mistake = [&] { … };`, or the whole line
/// without the space before it.
inline std::string source_line(const Place& place) {
  std::ifstream file(std::filesystem::path(TWILL_ROOT) / "tests" /
                     std::filesystem::path(place.source->name).filename());
  std::string line;
  for (std::uint32_t i = 0; i < place.line; ++i) std::getline(file, line);
  if (const std::size_t open = line.find("const auto mistake = ["); open != std::string::npos) {
    const std::size_t start = line.find("{ ", open) + 2;
    return line.substr(start, line.rfind(" }") - start);
  }
  return line.substr(line.find_first_not_of(' '));
}

/// The diagnostics that `action` throws, as they are written; the line of C++ itself stands in place of its
/// number.
inline std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    std::string text;
    for (const Diagnostic& diagnostic : error.diagnostics()) {
      const std::string written = to_string(diagnostic);
      const std::string place = to_string(diagnostic.place);
      EXPECT_EQ(written.substr(0, place.size()), place);
      text += "<" + source_line(diagnostic.place) + ">" + written.substr(place.size());
    }
    return text;
  }
  return "no error";
}

}  // namespace twill
