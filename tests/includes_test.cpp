// Includes only point the way the design says: from a room to the rooms before it, and foreign
// libraries stay behind the doors of the rooms that own them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string>;

/// The rooms each room is built on directly; src/CMakeLists.txt says the same in its twill_room lines.
/// A room may include what it can reach.
const std::map<std::string, Names> arrows = {
    {"base", {}},
    {"poly", {"base"}},
    {"program", {"base", "poly"}},
    {"import", {"program"}},
    {"machine", {"base"}},
    {"fuse", {"program"}},
    {"simplify", {"fuse"}},
    {"cluster", {"fuse", "machine"}},
    {"slice", {"fuse"}},
    {"plan", {"slice", "machine"}},
    {"emit", {"plan"}},
    {"run", {"emit"}},
    {"driver", {"simplify", "cluster", "run"}},
    {"fuzz", {"driver"}},
    {"bench", {"driver", "import"}},
    {"tools", {"import", "driver", "fuzz", "bench"}},
};

/// Foreign headers (by prefix) and the only rooms that may see them.
const std::map<std::string, Names> doors = {
    {"isl/", {"poly"}},
    {"CLI/", {"tools"}},
    {"hwloc", {"machine"}},
    {"png.h", {"run"}},
    {"dlfcn.h", {"base", "run", "cluster", "import"}},
    {"clang-c/", {"import"}},
    {"coin/", {"cluster"}},
    {"spawn.h", {"run"}},
    {"xxhash.h", {"plan", "run"}},
    {"omp.h", {"machine", "run", "bench"}},
};

Names reachable(const std::string& room) {
  Names seen = {room};
  std::vector<std::string> open = {room};
  while (!open.empty()) {
    const std::string next = open.back();
    open.pop_back();
    for (const std::string& other : arrows.at(next))
      if (seen.insert(other).second) open.push_back(other);
  }
  return seen;
}

/// What is wrong with the includes of one file of a room.
std::vector<std::string> violations(const std::string& room, const std::string& text) {
  static const std::regex include(R"(^\s*#\s*include\s*(["<])([^">]+)[">])");
  const Names allowed = reachable(room);
  std::vector<std::string> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (!std::regex_search(line, match, include)) continue;
    const std::string name = match[2];
    if (match[1] == "\"") {
      const std::string target = name.substr(0, name.find('/'));
      if (!arrows.contains(target)) {
        found.push_back("\"" + name + "\" is not named by its room");
      } else if (!allowed.contains(target)) {
        found.push_back(room + "/ must not include " + target + "/: \"" + name + "\"");
      }
    }
    for (const auto& [prefix, rooms] : doors)
      if (name.starts_with(prefix) && !rooms.contains(room))
        found.push_back(room + "/ must not see <" + name + ">");
  }
  return found;
}

std::string read(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Includes, PointOneWay) {
  const fs::path source = fs::path(TWILL_ROOT) / "src";
  int files = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(source)) {
    const std::string extension = entry.path().extension();
    if (extension != ".h" && extension != ".cpp") continue;
    const fs::path relative = fs::relative(entry.path(), source);
    const std::string room = *relative.begin();
    ASSERT_TRUE(arrows.contains(room)) << relative << " is in no room of the table";
    EXPECT_THAT(violations(room, read(entry.path())), testing::IsEmpty()) << "in " << relative;
    ++files;
  }
  EXPECT_GT(files, 10);
}

TEST(Includes, TableMatchesTheBuild) {
  const std::string build = read(fs::path(TWILL_ROOT) / "src/CMakeLists.txt");
  static const std::regex line(R"(\ntwill_room\((\w+)([^)]*)\))");
  static const std::regex link(R"(\btwill_(\w+))");
  std::map<std::string, Names> built;
  for (std::sregex_iterator it(build.begin(), build.end(), line), end; it != end; ++it) {
    const std::string libraries = (*it)[2];
    Names& rooms = built[(*it)[1]];
    for (std::sregex_iterator at(libraries.begin(), libraries.end(), link); at != end; ++at)
      rooms.insert((*at)[1]);
  }
  std::map<std::string, Names> table = arrows;
  table.erase("tools");  // an executable, not a room library
  EXPECT_EQ(built, table);
}

TEST(Includes, HaveNoCycle) {
  for (const auto& [room, direct] : arrows)
    for (const std::string& other : direct)
      EXPECT_FALSE(reachable(other).contains(room)) << room << " and " << other;
}

TEST(Includes, WrongOnesAreFound) {
  EXPECT_THAT(violations("program", "#include \"run/npy.h\"\n"),
              testing::ElementsAre("program/ must not include run/: \"run/npy.h\""));
  EXPECT_THAT(violations("emit", "  # include <isl/cpp.h>\n"),
              testing::ElementsAre("emit/ must not see <isl/cpp.h>"));
  EXPECT_THAT(violations("run", "#include \"npy.h\"\n"),
              testing::ElementsAre("\"npy.h\" is not named by its room"));
  EXPECT_THAT(violations("run", "#include \"program/data.h\"\n#include <dlfcn.h>\n"), testing::IsEmpty());
}

}  // namespace
