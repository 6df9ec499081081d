// Emitted C is clean: a careful compiler has nothing to say about what the examples become. It also keeps
// clear of a bug of GCC 12.
#include "base/files.h"
#include "driver/compile.h"
#include "program/text.h"
#include "programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>

namespace twill {
namespace {

namespace fs = std::filesystem;

/// What the compiler says about a file.
std::string warnings_about(const fs::path& file) {
  // What a program computes and nobody reads is computed all the same.
  const std::string command =
      "gcc -std=gnu11 -fopenmp -Wall -Wextra -Wno-unused-variable -Wno-unused-but-set-variable "
      "-fsyntax-only " +
      file.string() + " 2>&1";
  std::string output;
  FILE* pipe = ::popen(command.c_str(), "r");
  if (!pipe) return "there is no compiler";
  for (char buffer[256]; std::fgets(buffer, sizeof buffer, pipe);) output += buffer;
  return ::pclose(pipe) == 0 ? output : "it failed:\n" + output;
}

TEST(EmittedC, OfAllExamplesIsFreeOfWarnings) {
  const fs::path file = fs::path(TWILL_BINARY).parent_path() / "emitted_c_test.c";
  const Machine machine = detect_machine();
  int sources = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(TWILL_ROOT) / "examples")) {
    if (entry.path().extension() != ".twill") continue;
    const Module module = parse(entry.path().filename().string(), read_file(entry.path()));
    for (const Program& program : module.programs) {
      SCOPED_TRACE(entry.path().filename().string() + ": " + program.name);
      Options options;
      options.stop_after = "c";
      const Compilation compilation = compile(std::make_shared<const Program>(program), machine, options);
      const std::string& text = compilation.source->text;
      EXPECT_THAT(text, testing::Not(testing::HasSubstr("+ 1 - 1")));
      write_file(file, text);
      EXPECT_EQ(warnings_about(file), "");
      ++sources;
    }
  }
  EXPECT_GT(sources, 60);
  fs::remove(file);
}

/// Both fields of a pair lie in one word: where data say which pair, lanes gather half as often.
/// Whatever things are called, their C is compiled.
TEST(EmittedC, NamesMayMeanSomethingInC) {
  const Module module = parse("names.twill", R"(
    type FILE = { EOF: f64, SIZE_MAX: i64 }
    type point = { `a b`: f32, a_b: i32, int: f32, int_: i32 }
    type fields = { `0`: f32, _0: i32, `a b`: i32, _f_a_20b: f32 }
    fn cbrt(a: f64) -> f64 = pow(a, 1.0 / 3)
    fn strlen(a: f64, b: f64) -> f64 = a + b
    op fmax(a: FILE, b: FILE) -> FILE associative commutative {
      identity { EOF: 0, SIZE_MAX: 0 }
      { EOF: a.EOF + b.EOF, SIZE_MAX: max(a.SIZE_MAX, b.SIZE_MAX) }
    }
    def rename(x: f64[EOF], int64_t: f64[SIZE_MAX], omp_get_max_threads: f64[PTRDIFF_MAX], INT32_MAX: i64[size_t],
          memcpy: i64[M_PI], frame_: f64[class]) -> (y, z, w, v, index, index_room, frame, puts) {
      y[i] = strlen(cbrt(x[i]), 1)
      z = fold(fmax, j) { EOF: int64_t[j], SIZE_MAX: j }
      w[j] = { `a b`: f32(omp_get_max_threads[j]), a_b: 1, int: 2, int_: 3 }
      v[k] = INT32_MAX[k] + 1
      index = [ printf + 1 | printf in memcpy, printf > 0 ]
      index_room = group(+) [ (i8(printf), 1) | printf in memcpy ]
      gamma = [1.0, 2.0, 3.0]
      frame[i] = frame_[i] * gamma[clamp(i)]
      puts[i] = fields{ `0`: f32(frame_[i]), _0: 1, `a b`: 2, _f_a_20b: 3 }
    })");
  const fs::path file = fs::path(TWILL_BINARY).parent_path() / "emitted_names_test.c";
  Options options;
  options.stop_after = "c";
  const auto program = std::make_shared<const Program>(module.programs.front());
  const CSource source = *compile(program, detect_machine(), options).source;
  EXPECT_EQ(source.function, "rename_");
  write_file(file, source.text);
  EXPECT_EQ(warnings_about(file), "");
  fs::remove(file);
}

TEST(EmittedC, OfAppendsInOnePassIsFreeOfWarnings) {
  const fs::path file = fs::path(TWILL_BINARY).parent_path() / "emitted_appends_test.c";
  Options options;
  options.stop_after = "c";
  for (const char* text :
       {"def f(x: f64[N]) -> y { y = [ exp(v) | v in x, exp(v) > 2 ] }",
        "def f(n: i64[N]) -> y { y = [ i | i < N, k < n[i], exp(0.1 * k) * sin(1.0 * i) > 0.5 ] }"}) {
    SCOPED_TRACE(text);
    const auto program = std::make_shared<const Program>(parse_program("f", text));
    write_file(file, compile(program, detect_machine(), options).source->text);
    EXPECT_EQ(warnings_about(file), "");
  }
  fs::remove(file);
}

TEST(EmittedC, PairsAreGatheredInOneGo) {
  Options options;
  options.stop_after = "c";
  const auto c_of = [&](const char* text) {
    return compile(std::make_shared<const Program>(parse_program("pairs", text)), detect_machine(), options)
        .source->text;
  };
  const std::string pairs = c_of(R"(
      type Pair = { a: f32, b: i32 }
      def f(x: Pair[N], p: i64[M]) -> y { y[i < M] = x[clamp(p[i])].a * f32(x[clamp(p[i])].b) })");
  EXPECT_THAT(pairs, testing::HasSubstr("static inline Pair Pair_at(const Pair *place) {"));
  EXPECT_THAT(pairs, testing::HasSubstr("? Pair_at(&x[twill_clamp("));
  // Not where neighbours are read, and not of records that are no pairs of equal numbers.
  EXPECT_THAT(c_of(R"(
      type Pair = { a: f32, b: i32 }
      def f(x: Pair[N]) -> y { y[i < N] = x[i].a * f32(x[i].b) })"),
              testing::Not(testing::HasSubstr("_at(")));
  EXPECT_THAT(c_of(R"(
      type Wide = { a: f64, b: i32 }
      def f(x: Wide[N], p: i64[M]) -> y { y[i < M] = x[clamp(p[i])].a * f64(x[clamp(p[i])].b) })"),
              testing::Not(testing::HasSubstr("_at(")));
}

// GCC 12 reads lanes that do not exist where a vectorised iteration reduces several failures under
// conditions.
TEST(EmittedC, AnIterationReducesItsFailuresOnce) {
  Options options;
  options.stop_after = "c";
  const auto program = program_of(R"(
    def f(n: i64, x: f64[N], y: f64[M]) -> z { z[i < n] = x[i] / y[i] })");
  const Compilation compilation = compile(program, two_cores(), options);
  const std::string& text = compilation.source->text;
  EXPECT_THAT(text, testing::HasSubstr("#pragma omp simd reduction(max : worst)"));
  EXPECT_THAT(text, testing::HasSubstr("worst = bad > worst ? bad : worst;"));
}

std::string c_of(const std::string& text) {
  Options options;
  options.stop_after = "c";
  return compile(program_of(text), two_cores(), options).source->text;
}

// Lanes load rows: where every second point reads the next element, there are two points in a step.
TEST(EmittedC, AHalvedIndexIsNotDividedInTheLoop) {
  const std::string text = c_of(R"(
    def f(a: f32[N]) -> b { b[x < 2 * N] = a[x / 2] + a[clamp(x / 2 - 1 + 2 * (x % 2))] })");
  EXPECT_THAT(text, testing::HasSubstr("for (int64_t x_step = x_from; x_step < x_to; ++x_step) {"));
  EXPECT_THAT(text, testing::HasSubstr("= a[x_step] + a[x_step - 1];"));
  EXPECT_THAT(text, testing::HasSubstr("= a[x_step] + a[x_step + 1];"));
}

TEST(EmittedC, AChoiceByTheRemainderIsMadeOnce) {
  const std::string text = c_of(R"(
    def f(a: f32[N], b: f32[N]) -> c { c[x < 3 * N] = if x % 3 == 1 then a[x / 3] else b[x / 3] })");
  EXPECT_THAT(text, testing::HasSubstr("[3 * x_step + 1 - x_strip] = a[x_step];"));
}

// Five points in a step would be more code than they are worth, and a sum has no places of its own.
TEST(EmittedC, OtherLoopsGoPointByPoint) {
  EXPECT_THAT(c_of("def f(a: f32[N]) -> b { b[x < 5 * N] = a[x / 5] }"),
              testing::Not(testing::HasSubstr("_step")));
  EXPECT_THAT(c_of("def f(a: f32[N]) -> s { s = sum(x < 2 * N) a[x / 2] }"),
              testing::Not(testing::HasSubstr("_step")));
}

/// `count` definitions by two uses of the one before each, from `first` on; the last one is called `last`.
std::string doubled(const std::string& indices, const std::string& first, int count) {
  std::string text, before = first;
  for (int n = 1; n <= count; ++n) {
    const std::string name = n == count ? "last" : "c" + std::to_string(n);
    const std::string use = before + "[" + indices + "]";
    text += name + "[" + indices + "] = " + use + " * " + use + " % 1000 + 1\n";
    before = name;
  }
  return text;
}

/// Written as a tree, these would have more than 2^60 leaves.
TEST(EmittedC, ValuesThatAreSharedAreWrittenOnce) {
  const std::string line = "def f(x: i64[N]) -> r { " + doubled("i", "x", 60);
  const std::string plane = "def f(x: i64[H, W], w: i64[W, M]) -> r { " + doubled("i, j", "x", 60);
  const std::string picture = "def f(x: i64[H, W]) -> r { " + doubled("i, j", "x", 60);
  const Machine machine = detect_machine();
  for (const std::string& text : {
           line + "r[i] = last[i] + 1 }",
           line + "r = sum(i) last[i] }",
           line + "r = max(i) last[i] }",
           line + "r[i] = scan(+, i) last[i] }",
           line + "r = [ v | v in last, v * v > 100 ] }",
           line + "r = [ v + j | v in last, j < v ] }",
           line + "r = group(+) [ (v % 7, v) | v in last ] }",
           line + "r: i64[2000] = scatter(+) { v <- 1 | v in last } }",
           line + "r[i < N - 2] = last[i] + last[i + 1] + last[i + 2] }",
           line + "r[i] = last[clamp(i - 1)] + last[clamp(i + 1)] }",
           line + "r[i] = x[last[i] % N] }",
           line + "k[j < 9] = j; r[i] = sum(j) last[i] * k[j] }",
           plane + "r[i, k] = sum(j) last[i, j] * w[j, k] }",
           plane + "r[k, i] = sum(j) last[i, j] * w[j, k] }",
           picture + "r[i < H - 4, j < W - 4] = sum(k < 5, l < 5) last[i + k, j + l] }",
           "def f(t: i64[1000]) -> r { x[i < 9] = i; " + doubled("i", "x", 60) + "r[i] = t[last[i] % 1000] }",
       }) {
    SCOPED_TRACE(text.substr(text.rfind('\n') + 1));
    Options options;
    options.stop_after = "c";
    const Module module = parse("doubled.twill", text);
    const auto program = std::make_shared<const Program>(module.programs.back());
    EXPECT_LT(compile(program, machine, options).source->text.size(), 200'000);
  }
}

}  // namespace
}  // namespace twill
