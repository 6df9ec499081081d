// Files are replaced as a whole or not at all, and errors say which file and why.
#include "base/files.h"
#include "base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace twill {
namespace {

namespace fs = std::filesystem;

class Files : public testing::Test {
 protected:
  void SetUp() override {
    directory = fs::path(testing::TempDir()) / ("twill-files-" + std::to_string(getpid()));
    fs::create_directories(directory);
  }
  void TearDown() override { fs::remove_all(directory); }

  int entries() const {
    return static_cast<int>(std::distance(fs::directory_iterator(directory), fs::directory_iterator()));
  }

  fs::path directory;
};

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST_F(Files, WritesAndReadsBack) {
  const std::string bytes("a\0b\n", 4);
  write_file(directory / "x", {bytes, "", "tail"});
  EXPECT_EQ(read_file(directory / "x"), bytes + "tail");
  write_file(directory / "x", "short");
  EXPECT_EQ(read_file(directory / "x"), "short");
  EXPECT_EQ(entries(), 1);
}

TEST_F(Files, KeepsModeAndLinks) {
  write_file(directory / "real", "old");
  fs::permissions(directory / "real",
                  fs::perms::owner_read | fs::perms::owner_write | fs::perms::others_read);
  fs::create_symlink("real", directory / "link");
  write_file(directory / "link", "new");
  EXPECT_TRUE(fs::is_symlink(directory / "link"));
  EXPECT_EQ(read_file(directory / "real"), "new");
  EXPECT_EQ(fs::status(directory / "real").permissions(),
            fs::perms::owner_read | fs::perms::owner_write | fs::perms::others_read);
}

TEST_F(Files, ReadingWhatIsNotThere) {
  EXPECT_EQ(message_of([&] { read_file("/no/such/file"); }),
            "failed[E0601]: cannot read '/no/such/file': No such file or directory\n");
  EXPECT_EQ(message_of([&] { read_file(directory); }),
            "failed[E0601]: cannot read '" + directory.string() + "': Is a directory\n");
}

TEST_F(Files, WritingWhereNothingCanBe) {
  EXPECT_EQ(message_of([&] { write_file("/no/such/file", "x"); }),
            "failed[E0602]: cannot write '/no/such/file': No such file or directory\n"
            "  help: create the directory first\n");
  EXPECT_EQ(message_of([&] { write_file(directory, "x"); }),
            "failed[E0602]: cannot write '" + directory.string() + "': Is a directory\n");
}

TEST_F(Files, FullDisk) {
  EXPECT_EQ(message_of([] { write_file("/dev/full", "x"); }),
            "failed[E0602]: cannot write '/dev/full': No space left on device\n"
            "  help: free some space there; nothing was changed\n");
}

TEST_F(Files, FailureInTheMiddleKeepsTheOldFile) {
  write_file(directory / "x", "old");
  // In a child, so that the limit on file sizes stays there.
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{100'000, 100'000};
    setrlimit(RLIMIT_FSIZE, &limit);
    const std::string text = message_of([&] { write_file(directory / "x", std::string(1'000'000, 'n')); });
    _exit(text == "failed[E0602]: cannot write '" + (directory / "x").string() + "': File too large\n" ? 0
                                                                                                       : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read_file(directory / "x"), "old");
  EXPECT_EQ(entries(), 1);
}

TEST_F(Files, CacheDirectory) {
  const auto with = [](const char* own, const char* shared, const char* home) {
    own ? setenv("TWILL_CACHE", own, 1) : unsetenv("TWILL_CACHE");
    shared ? setenv("XDG_CACHE_HOME", shared, 1) : unsetenv("XDG_CACHE_HOME");
    setenv("HOME", home, 1);
    return cache_directory();
  };
  EXPECT_EQ(with("/own", "/shared", "/home/ada"), "/own");
  EXPECT_EQ(with("", "/shared", "/home/ada"), "/shared/twill");
  EXPECT_EQ(with(nullptr, nullptr, "/home/ada"), "/home/ada/.cache/twill");
}

}  // namespace
}  // namespace twill
