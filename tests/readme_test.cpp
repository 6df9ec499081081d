// The README's programs are parsed, and its commands are run and must print what the README says.
#include "command.h"
#include "program/text.h"

#include <gtest/gtest.h>

#include <sstream>

namespace twill {
namespace {

struct Block {
  std::string language, text;
};

std::vector<Block> code_blocks(const std::string& markdown) {
  std::vector<Block> blocks;
  bool inside = false;
  std::istringstream lines(markdown);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) {
      inside = !inside;
      if (inside) blocks.push_back({line.substr(3), {}});
    } else if (inside) {
      blocks.back().text += line + "\n";
    }
  }
  return blocks;
}

/// "smooth.twill" if a program begins with "# smooth.twill: …".
std::string file_name(const std::string& program) {
  const std::size_t end = program.find(':');
  const std::string name = program.substr(0, end);
  return name.starts_with("# ") && name.ends_with(".twill") ? name.substr(2) : "";
}

TEST(Readme, IsTrue) {
  CommandLine line;
  int programs = 0, commands = 0;
  for (const Block& block : code_blocks(read_file(TWILL_ROOT "/README.md"))) {
    if (block.language == "twill") {
      EXPECT_NO_THROW(parse("README.md", block.text)) << block.text;
      if (const std::string name = file_name(block.text); !name.empty()) line.file(name, block.text);
      ++programs;
    }
    if (block.language != "console") continue;
    std::istringstream lines(block.text);
    std::string command, expected;
    const auto run = [&] {
      if (command.empty()) return;
      const ExitReport report = line.shell(command);
      EXPECT_EQ(report.output, expected) << command;
      EXPECT_EQ(report.status, 0) << command;
      ++commands;
    };
    for (std::string text; std::getline(lines, text);) {
      if (text.starts_with("$ ")) {
        run();
        command = text.substr(2);
        expected.clear();
      } else {
        expected += text + "\n";
      }
    }
    run();
  }
  EXPECT_EQ(programs, 2);
  EXPECT_EQ(commands, 5);
}

TEST(Readme, LinksExist) {
  const std::string text = read_file(TWILL_ROOT "/README.md");
  int links = 0;
  for (std::size_t at = 0; (at = text.find("](", at)) != std::string::npos; ++at) {
    const std::string target = text.substr(at + 2, text.find(')', at) - at - 2);
    EXPECT_TRUE(std::filesystem::exists(TWILL_ROOT "/" + target)) << target;
    ++links;
  }
  EXPECT_GE(links, 5);
}

}  // namespace
}  // namespace twill
