// The C compiler and the disk cache: what is compiled once is loaded after that, nothing damaged is ever run,
// and whatever can go wrong around us has a clear message.
#include "run/cache.h"
#include "base/error.h"
#include "base/files.h"
#include "run/compiler.h"
#include "run/process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <thread>

namespace twill {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

std::string source_of(int answer) { return "int answer(void) { return " + std::to_string(answer) + "; }\n"; }

int answer_of(const Library& library) { return library.function<int()>("answer")(); }

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

/// Runs `check` in a child process, where it may change what it likes; its text comes back as the result, and
/// "" means success.
std::string in_child(const std::function<std::string()>& check) {
  int pipe[2];
  if (::pipe(pipe) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    std::string text;
    try {
      text = check();
    } catch (const std::exception& error) {
      text = error.what();
    }
    const bool sent = write(pipe[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
    _exit(sent ? 0 : 1);
  }
  close(pipe[1]);
  std::string text;
  char buffer[1024];
  for (ssize_t got; (got = read(pipe[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  close(pipe[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0 ? text : "the child crashed: " + text;
}

class Cache : public testing::Test {
 protected:
  void SetUp() override {
    unsetenv("CC");
    directory = fs::path(testing::TempDir()) / ("twill-cache-" + std::to_string(getpid()));
    fs::create_directories(directory);
    options.cache = directory / "cache";
    options.flags = {"-O1"};
  }
  void TearDown() override { fs::remove_all(directory); }

  std::vector<fs::path> entries(const std::string& extension) const {
    std::vector<fs::path> found;
    for (const auto& file : fs::directory_iterator(options.cache / "kernels"))
      if (file.path().extension() == extension) found.push_back(file.path());
    return found;
  }

  fs::path script(const std::string& name, const std::string& text) const {
    write_file(directory / name, "#!/bin/sh\n" + text);
    fs::permissions(directory / name, fs::perms::owner_all);
    return directory / name;
  }

  fs::path directory;
  CompileOptions options;
};

TEST_F(Cache, CompilesOnce) {
  const Library first = compile_and_load(source_of(42), options);
  EXPECT_EQ(answer_of(first), 42);
  EXPECT_FALSE(first.cached);
  EXPECT_EQ(first.warning, "");
  const Library second = compile_and_load(source_of(42), options);
  EXPECT_EQ(answer_of(second), 42);
  EXPECT_TRUE(second.cached);
  EXPECT_EQ(read_file(second.source), source_of(42));
  EXPECT_EQ(std::distance(fs::directory_iterator(options.cache / "kernels"), fs::directory_iterator()), 2);
}

TEST_F(Cache, CachedRunsStartNoProgram) {
  const fs::path log = directory / "log";
  options.compiler = script("cc", "echo $* >> " + log.string() + "\nexec cc \"$@\"\n").string();
  EXPECT_FALSE(compile_and_load(source_of(1), options).cached);
  const std::string calls = read_file(log);
  EXPECT_THAT(calls, StartsWith("--version\n-O1 -fPIC -shared"));
  EXPECT_TRUE(compile_and_load(source_of(1), options).cached);
  EXPECT_EQ(read_file(log), calls);
}

TEST_F(Cache, KeyHoldsEverything) {
  compile_and_load(source_of(1), options);
  CompileOptions other = options;
  other.flags = {"-O2"};
  EXPECT_FALSE(compile_and_load(source_of(1), other).cached);
  other = options;
  other.libraries = {};
  EXPECT_FALSE(compile_and_load(source_of(1), other).cached);
  EXPECT_FALSE(compile_and_load(source_of(2), options).cached);
  other = options;
  other.compiler = script("cc", "exec cc \"$@\"\n").string();
  EXPECT_FALSE(compile_and_load(source_of(1), other).cached);
  EXPECT_TRUE(compile_and_load(source_of(1), other).cached);
  script("cc", "# an updated compiler\nexec cc \"$@\"\n");
  EXPECT_FALSE(compile_and_load(source_of(1), other).cached);
  EXPECT_TRUE(compile_and_load(source_of(1), options).cached);
}

TEST_F(Cache, PartsOfAHashDoNotRunTogether) {
  EXPECT_NE(hash_of({"ab", "c"}), hash_of({"a", "bc"}));
  EXPECT_EQ(hash_of({"ab", "c"}), hash_of({"ab", "c"}));
  EXPECT_EQ(hash_of({}).size(), 32u);
}

TEST_F(Cache, TruncatedEntriesAreRebuilt) {
  compile_and_load(source_of(7), options);
  const fs::path object = entries(".so").at(0);
  const std::string whole = read_file(object);
  for (std::size_t size : {std::size_t{0}, std::size_t{10}, whole.size() / 2, whole.size() - 1}) {
    fs::resize_file(object, size);
    const Library library = compile_and_load(source_of(7), options);
    EXPECT_FALSE(library.cached) << size;
    EXPECT_EQ(answer_of(library), 7);
    EXPECT_EQ(fs::file_size(object), whole.size());
  }
}

TEST_F(Cache, TamperedEntriesAreRebuilt) {
  compile_and_load(source_of(7), options);
  const fs::path object = entries(".so").at(0);
  const std::string whole = read_file(object);
  for (std::size_t at = 0; at < whole.size(); at += whole.size() / 19) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    write_file(object, changed);
    const Library library = compile_and_load(source_of(7), options);
    EXPECT_FALSE(library.cached) << at;
    EXPECT_EQ(answer_of(library), 7);
  }
}

TEST_F(Cache, AnEntryUnderAnotherNameIsRebuilt) {
  compile_and_load(source_of(7), options);
  const fs::path seven = entries(".so").at(0);
  compile_and_load(source_of(8), options);
  for (const fs::path& object : entries(".so"))
    if (object != seven) fs::copy_file(object, seven, fs::copy_options::overwrite_existing);
  const Library library = compile_and_load(source_of(7), options);
  EXPECT_FALSE(library.cached);
  EXPECT_EQ(answer_of(library), 7);
}

TEST_F(Cache, ProcessesMayCompileTheSameAtOnce) {
  std::vector<std::thread> threads;
  std::vector<std::string> results(6);
  for (std::string& result : results) {
    threads.emplace_back([&] {
      result =
          in_child([&] { return answer_of(compile_and_load(source_of(5), options)) == 5 ? "" : "wrong"; });
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(results, testing::Each(""));
  EXPECT_EQ(entries(".so").size(), 1u);
  EXPECT_TRUE(compile_and_load(source_of(5), options).cached);
}

TEST_F(Cache, ThreadsMayCompileTheSameAtOnce) {
  std::vector<std::thread> threads;
  std::vector<int> answers(4);
  for (int& answer : answers)
    threads.emplace_back([&] { answer = answer_of(compile_and_load(source_of(6), options)); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(answers, testing::Each(6));
  EXPECT_EQ(entries(".so").size(), 1u);
}

TEST_F(Cache, MissingCompiler) {
  options.compiler = "no-such-cc";
  EXPECT_EQ(message_of([&] { compile_and_load(source_of(1), options); }),
            "failed[E0610]: the C compiler 'no-such-cc' was not found\n"
            "  help: install it, or name another one in $CC\n");
  options.compiler = "";
  EXPECT_EQ(in_child([&] {
              setenv("CC", "/no/such/cc", 1);
              return message_of([&] { compile_and_load(source_of(1), options); });
            }),
            "failed[E0610]: the C compiler '/no/such/cc' named by $CC was not found\n"
            "  help: install it, or name another one in $CC\n");
  EXPECT_EQ(in_child([&] {
              setenv("PATH", "/no/such/directory", 1);
              return message_of([&] { compile_and_load(source_of(1), options); });
            }),
            "failed[E0610]: there is no C compiler: none of 'cc', 'gcc' and 'clang' is in $PATH\n"
            "  help: install one (on Debian: apt-get install gcc), or name one in $CC\n");
}

TEST_F(Cache, CompilerFromTheEnvironmentMayHaveArguments) {
  EXPECT_EQ(in_child([&] {
              setenv("CC", "cc -DANSWER=9", 1);
              const Library library = compile_and_load("int answer(void) { return ANSWER; }\n", options);
              return answer_of(library) == 9 ? std::string() : "wrong";
            }),
            "");
}

TEST_F(Cache, CompilerThatFails) {
  options.compiler =
      script("cc", "for k in 1 2 3 4 5 6 7 8 9 10 11 12 13 14; do echo message $k >&2; done; exit 3\n");
  const fs::path kept = options.cache / "kernels" / ("failed-" + hash_of({"source"}) + ".c");
  std::string lines;
  for (int k = 1; k <= 12; ++k) lines += "    message " + std::to_string(k) + "\n";
  EXPECT_EQ(message_of([&] { compile_and_load("source", options); }),
            "failed[E0611]: a kernel was not compiled: '" + options.compiler + "' ended with status 3\n" +
                lines + "    … and 2 more lines\n  help: the C source is kept in '" + kept.string() + "'\n");
  EXPECT_EQ(read_file(kept), "source");
  EXPECT_THAT(entries(".so"), testing::IsEmpty());
  EXPECT_THAT(entries(".c"), testing::ElementsAre(kept));
}

TEST_F(Cache, CompilerThatWritesNothing) {
  options.compiler = script("cc", "echo done\n");
  EXPECT_EQ(message_of([&] { compile_and_load("source", options); }),
            "failed[E0611]: a kernel was not compiled: '" + options.compiler +
                "' ended well, but wrote no file\n    done\n"
                "  help: is it a C compiler? name another one in $CC\n");
}

TEST_F(Cache, CompilerThatIsKilled) {
  options.compiler = script("cc", "kill -9 $$\n");
  EXPECT_THAT(message_of([&] { compile_and_load("source", options); }),
              StartsWith("failed[E0611]: a kernel was not compiled: '" + options.compiler +
                         "' was ended by signal 9\n"));
}

TEST_F(Cache, WrongSourceShowsTheCompilersWords) {
  EXPECT_THAT(message_of([&] { compile_and_load("int answer(void) { return unknown; }", options); }),
              HasSubstr("'unknown' undeclared"));
}

TEST_F(Cache, UnwritableDirectoryFallsBackWithAWarning) {
  options.cache = "/dev/null/cache";
  const Library library = compile_and_load(source_of(3), options);
  EXPECT_EQ(answer_of(library), 3);
  EXPECT_FALSE(library.cached);
  EXPECT_EQ(library.source, "");
  EXPECT_EQ(library.warning,
            "compiled kernels are not kept: cannot write in '/dev/null/cache/kernels': Not a directory");
}

TEST_F(Cache, NowhereToWrite) {
  options.cache = "/dev/null/cache";
  EXPECT_EQ(in_child([&] {
              setenv("TMPDIR", "/no/such/directory", 1);
              return message_of([&] { compile_and_load(source_of(1), options); });
            }),
            "failed[E0602]: cannot write in '/no/such/directory': No such file or directory\n");
}

TEST_F(Cache, CompilerThatRunsOutOfSpace) {
  // The work directory of the fallback is not full, so the second attempt succeeds.
  options.compiler =
      script("cc", "case $* in *" + options.cache.string() +
                       "*) echo 'ld: final close failed: No space left on device'; exit 1;; esac\n"
                       "exec cc \"$@\"\n");
  const Library library = compile_and_load(source_of(4), options);
  EXPECT_EQ(answer_of(library), 4);
  EXPECT_EQ(library.warning, "compiled kernels are not kept: cannot write in '" +
                                 (options.cache / "kernels").string() + "': No space left on device");
}

/// In a child process: mounts a file system of its own at `at`. False where that is not allowed.
bool mount_disk(const fs::path& at, unsigned long flags, const char* size) {
  fs::create_directory(at);
  return unshare(getuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) == 0 &&
         mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("tmpfs", at.c_str(), "tmpfs", flags, size) == 0;
}

TEST_F(Cache, FullDisk) {
  const std::string result = in_child([&]() -> std::string {
    const fs::path disk = directory / "disk";
    if (!mount_disk(disk, 0, "size=16k")) return "cannot mount";
    options.cache = disk;
    const Library library = compile_and_load(source_of(11), options);
    if (answer_of(library) != 11) return "wrong answer";
    if (library.warning.find("No space left on device") == std::string::npos)
      return "warning: " + library.warning;
    setenv("TMPDIR", disk.c_str(), 1);
    const std::string message = message_of([&] { compile_and_load(source_of(12), options); });
    if (message != "failed[E0602]: cannot write in '" + disk.string() + "': No space left on device\n")
      return message;
    if (!fs::is_empty(disk / "kernels")) return "something partial was left";
    return "";
  });
  if (result == "cannot mount") GTEST_SKIP() << "a small file system cannot be mounted here";
  EXPECT_EQ(result, "");
}

TEST_F(Cache, DirectoryWhereNothingMayRun) {
  const std::string result = in_child([&]() -> std::string {
    if (!mount_disk(directory / "disk", MS_NOEXEC, "size=1m")) return "cannot mount";
    options.cache = directory / "disk";
    const Library library = compile_and_load(source_of(13), options);
    if (answer_of(library) != 13) return "wrong answer";
    return library.warning.starts_with("compiled kernels are not kept: cannot load a compiled kernel: ")
               ? ""
               : library.warning;
  });
  if (result == "cannot mount") GTEST_SKIP() << "a small file system cannot be mounted here";
  EXPECT_EQ(result, "");
}

TEST_F(Cache, LeastRecentlyUsedEntriesGo) {
  for (int k = 0; k < 4; ++k) compile_and_load(source_of(k), options);
  const auto size = static_cast<std::int64_t>(fs::file_size(entries(".so").at(0)) + source_of(0).size());
  const auto now = fs::file_time_type::clock::now();
  std::vector<fs::path> objects = entries(".so");
  for (int k = 0; k < 4; ++k) fs::last_write_time(objects[k], now - std::chrono::hours(4 - k));
  fs::create_directory(options.cache / "kernels/work-crashed");
  fs::last_write_time(options.cache / "kernels/work-crashed", now - std::chrono::hours(2));
  fs::create_directory(options.cache / "kernels/work-busy");

  const KernelCache roomy(options.cache / "kernels", 100 * size);
  roomy.prune();
  EXPECT_EQ(entries(".so").size(), 4u);
  EXPECT_FALSE(fs::exists(options.cache / "kernels/work-crashed"));
  EXPECT_TRUE(fs::exists(options.cache / "kernels/work-busy"));

  const KernelCache tight(options.cache / "kernels", 3 * size);
  tight.find(objects[0].stem());  // the oldest becomes the latest
  tight.prune();
  EXPECT_TRUE(fs::exists(objects[0]));
  EXPECT_FALSE(fs::exists(objects[1]));
  EXPECT_FALSE(fs::exists(objects[1].replace_extension(".c")));
  EXPECT_FALSE(fs::exists(objects[2]));
  EXPECT_TRUE(fs::exists(objects[3]));

  // What was used just now stays, whatever it takes.
  const KernelCache none(options.cache / "kernels", 0);
  none.prune();
  EXPECT_TRUE(fs::exists(objects[0]));
  EXPECT_FALSE(fs::exists(objects[3]));
}

TEST_F(Cache, SourcesThatDidNotCompileGoToo) {
  compile_and_load(source_of(1), options);
  const fs::path kernels = options.cache / "kernels";
  const auto now = fs::file_time_type::clock::now();
  const auto failed = [&](const std::string& name, std::chrono::hours age) {
    write_file(kernels / name, std::string(100'000, ' '));
    fs::last_write_time(kernels / name, now - age);
    return kernels / name;
  };
  const fs::path old = failed("failed-1.c", std::chrono::hours(3));
  const fs::path late = failed("failed-2.c", std::chrono::hours(2));
  const fs::path fresh = failed("failed-3.c", std::chrono::hours(0));
  KernelCache(kernels, 400'000).prune();
  EXPECT_TRUE(fs::exists(old));
  KernelCache(kernels, 290'000).prune();
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(late));
  KernelCache(kernels, 0).prune();
  EXPECT_FALSE(fs::exists(late));
  EXPECT_TRUE(fs::exists(fresh));
  EXPECT_EQ(entries(".so").size(), 1u);
}

TEST_F(Cache, WhatIsNoLibraryIsNotLoaded) {
  const fs::path file = options.cache / "kernel.so";
  fs::create_directories(options.cache);
  write_file(file, "not a library, and long enough to hold the header of one, which has sixty-four bytes");
  EXPECT_EQ(message_of([&] { Library{file}; }),
            "failed[E0612]: cannot load a compiled kernel: " + file.string() + ": invalid ELF header\n");
}

TEST_F(Cache, MissingFunction) {
  const Library library = compile_and_load(source_of(1), options);
  EXPECT_EQ(message_of([&] { library.function<void()>("question"); }),
            "bug in Twill[E0614]: the compiled kernel has no function 'question'\n");
}

TEST_F(Cache, KernelFlagsCompile) {
  for (bool strict : {false, true}) {
    options.flags = kernel_flags(strict);
    const Library library = compile_and_load(
        "#include <math.h>\n#include <omp.h>\ndouble sum(int n) { double s = 0;\n"
        "#pragma omp parallel for reduction(+ : s)\nfor (int i = 0; i < n; ++i) s += sqrt(i);\nreturn s; }\n",
        options);
    EXPECT_DOUBLE_EQ(library.function<double(int)>("sum")(5), 1 + std::sqrt(2) + std::sqrt(3) + 2);
  }
}

TEST_F(Cache, StaticLibrary) {
  const fs::path archive = directory / "libanswer.a";
  compile_static_library(source_of(17), archive, options);
  write_file(directory / "main.c", "int answer(void); int main(void) { return answer(); }\n");
  const std::string program = (directory / "main").string();
  EXPECT_EQ(run_program({find_program("cc")->string(), "-o", program, (directory / "main.c").string(),
                         archive.string()})
                .output,
            "");
  EXPECT_EQ(run_program({program}).status, 17);
  EXPECT_THAT(run_program({find_program("ar")->string(), "t", archive.string()}).output, "libanswer.o\n");
  EXPECT_EQ(message_of([&] { compile_static_library(source_of(1), "/no/such/libx.a", options); }),
            "failed[E0602]: cannot write '/no/such/libx.a': No such file or directory\n"
            "  help: create the directory first\n");
}

}  // namespace
}  // namespace twill
