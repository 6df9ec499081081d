// Every program in docs/language.md parses, checks, and comes back from its printed text as the same program.
#include "program/text.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace twill {
namespace {

std::vector<std::string> programs_of_page() {
  std::ifstream file(TWILL_ROOT "/docs/language.md");
  std::stringstream buffer;
  buffer << file.rdbuf();
  const std::string page = buffer.str();
  const std::string open = "```twill\n";
  std::vector<std::string> blocks;
  for (std::size_t at = page.find(open); at != std::string::npos; at = page.find(open, at)) {
    at += open.size();
    blocks.push_back(page.substr(at, page.find("```", at) - at));
  }
  return blocks;
}

TEST(LanguagePage, HasPrograms) { EXPECT_GE(programs_of_page().size(), 20U); }

TEST(LanguagePage, ProgramsRoundTrip) {
  for (const std::string& block : programs_of_page()) {
    SCOPED_TRACE(block);
    Module module;
    ASSERT_NO_THROW(module = parse("language.md", block));
    for (const Program& program : module.programs) {
      const std::string text = print(program);
      SCOPED_TRACE(text);
      Program again;
      ASSERT_NO_THROW(again = parse_program("printed", text));
      EXPECT_TRUE(same(program, again));
      EXPECT_EQ(print(again), text);
    }
  }
}

}  // namespace
}  // namespace twill
