// What is said about programs that are wrong, word by word: tests/errors/*.txt hold programs (the lines that
// begin with '>') and, below each of them, everything that is reported. And: every error code is explained in
// docs/errors.md and its text is tested.
#include "base/error.h"
#include "base/files.h"
#include "program/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <set>
#include <sstream>

namespace twill {
namespace {

namespace fs = std::filesystem;

struct Case {
  std::string file;
  int line = 0;
  std::string program;
  std::string report;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The cases of a file. Blank lines separate them; lines that begin with '#' between them are remarks.
std::vector<Case> cases_in(const fs::path& path) {
  std::vector<Case> cases;
  bool inside = false;
  int number = 0;
  for (const std::string& line : lines_of(read_file(path.string()))) {
    ++number;
    if (line.empty()) {
      inside = false;
    } else if (line[0] == '>') {
      if (!inside) cases.push_back({path.filename().string(), number, "", ""});
      inside = true;
      cases.back().program += line.substr(std::min<std::size_t>(2, line.size())) + "\n";
    } else if (inside) {
      cases.back().report += line + "\n";
    }
  }
  return cases;
}

std::vector<Case> all_cases() {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(TWILL_ROOT) / "tests/errors"))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<Case> all;
  for (const fs::path& file : files)
    for (Case& c : cases_in(file)) all.push_back(std::move(c));
  return all;
}

std::string report_of(const std::string& program) {
  try {
    parse("t.twill", program);
  } catch (const Error& e) {
    return e.what();
  }
  return "no error\n";
}

TEST(Errors, AreReportedWordByWord) {
  const std::vector<Case> cases = all_cases();
  EXPECT_GT(cases.size(), 150U);
  for (const Case& c : cases) {
    SCOPED_TRACE(c.file + ":" + std::to_string(c.line));
    EXPECT_EQ(report_of(c.program), c.report);
  }
}

TEST(Errors, AreAboutOneDefinitionWhereOneIsExpected) {
  try {
    parse_program("t.twill", "def f() -> y { y = 1 }\ndef g() -> y { y = 2 }\n");
    FAIL() << "it was accepted";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(),
                 "t.twill:2:5: error[E0130]: expected one definition, found 2\n"
                 "    def g() -> y { y = 2 }\n"
                 "        ^\n");
  }
}

TEST(Errors, OfOursSayWhatToDo) {
  try {
    ensure(1 + 1 == 3, "one and one is not three");
    FAIL() << "it was accepted";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(),
                 "bug in Twill[B0001]: one and one is not three\n"
                 "  help: please report it with the program that caused it\n");
  }
}

// ---- codes ----------------------------------------------------------------------------------------------

/// What the first group of the expression matches in files with these endings, below a folder.
std::set<std::string> matches(const fs::path& below, const std::set<std::string>& endings,
                              const std::regex& expression) {
  std::set<std::string> found;
  const auto search = [&](const fs::path& file) {
    for (const std::string& line : lines_of(read_file(file.string())))
      for (std::sregex_iterator at(line.begin(), line.end(), expression), end; at != end; ++at)
        found.insert((*at)[1]);
  };
  if (!fs::is_directory(below)) {
    search(below);
    return found;
  }
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(below))
    if (entry.is_regular_file() && endings.contains(entry.path().extension().string())) search(entry.path());
  return found;
}

std::vector<std::string> without(const std::set<std::string>& all, const std::set<std::string>& these) {
  std::vector<std::string> rest;
  std::set_difference(all.begin(), all.end(), these.begin(), these.end(), std::back_inserter(rest));
  return rest;
}

class ErrorCodes : public testing::Test {
 protected:
  const fs::path root = TWILL_ROOT;
  const std::set<std::string> raised =
      matches(root / "src", {".cpp", ".h"}, std::regex("\"([BE]0[0-9]{3})\""));
  const std::set<std::string> explained =
      matches(root / "docs/errors.md", {}, std::regex("^\\| ([BE]0[0-9]{3}) \\|"));
};

TEST_F(ErrorCodes, AreExplained) {
  EXPECT_THAT(without(raised, explained), testing::IsEmpty()) << "not in docs/errors.md";
  EXPECT_THAT(without(explained, raised), testing::IsEmpty()) << "in docs/errors.md, but never raised";
}

TEST_F(ErrorCodes, AreExplainedInOrder) {
  std::vector<std::string> codes;
  const std::regex row("^\\| ([BE]0[0-9]{3}) \\|.*");
  std::smatch match;
  for (const std::string& line : lines_of(read_file((root / "docs/errors.md").string())))
    if (std::regex_match(line, match, row)) codes.push_back(match[1]);
  EXPECT_TRUE(std::is_sorted(codes.begin(), codes.end(), std::less_equal<>()));
}

/// A code counts as tested where its message stands behind it: "error[E0201]: unknown …" or "E0301 it reads
/// …".
TEST_F(ErrorCodes, AreTestedWithTheirText) {
  const std::set<std::string> tested =
      matches(root / "tests", {".cpp", ".txt"}, std::regex("([BE]0[0-9]{3})(?:\\]: | ['\\w])"));
  EXPECT_THAT(without(raised, tested), testing::IsEmpty()) << "no test knows the words";
}

}  // namespace
}  // namespace twill
