// Loops that go to places that data say: what lanes compute of them, and that every size gives the
// interpreter's result.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "loops.h"
#include "program/text.h"

namespace twill {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<std::int64_t> sizes = {0, 1, 7, 127, 128, 129, 1000};

TEST(SplitLoops, PlacesOfSmallElementsAreFoundInLanes) {
  const char* const text = "def f(t: u8[256], x: i16[N]) -> y { y[i] = t[clamp(3 * x[i] - 5)] }";
  const std::string loops = loops_of(text);
  EXPECT_THAT(loops, HasSubstr("t_at[i - i_chunk] = i32(min(max("));
  EXPECT_THAT(loops, HasSubstr("= t[t_at[i - i_chunk]]"));
  EXPECT_THAT(loops, Not(HasSubstr("t_element")));
  agrees(text, sizes);
}

TEST(SplitLoops, WhatIsMadeOfThemIsComputedInLanesAgain) {
  const char* const text =
      "def f(t: u8[16], s: i16[256], x: i32[N]) -> y {\n"
      "  y[i] = i32(s[clamp(t[clamp(x[i] / 7)] * 3)]) * x[i] + i32(t[clamp(x[i])])\n}";
  const std::string loops = loops_of(text);
  EXPECT_THAT(loops, HasSubstr("t_element"));
  EXPECT_THAT(loops, HasSubstr("s_element"));
  agrees(text, sizes);
}

/// An expression with sixty values that are used twice each has 2^60 paths.
TEST(SplitLoops, SharedValuesAreLookedAtOnce) {
  std::string value = "let a0 = x[i] in ";
  for (int k = 1; k < 60; ++k) {
    const std::string before = "a" + std::to_string(k - 1);
    value += "let a" + std::to_string(k) + " = " + before + " * " + before + " + 1 in ";
  }
  const std::string text = "def f(t: u8[16], x: i64[N]) -> y { y[i] = " + value + "a59 + t[clamp(x[i])] }";
  EXPECT_THAT(loops_of(text.c_str()), HasSubstr("t_element"));
  agrees(text.c_str(), {0, 1, 200});
}

TEST(SplitLoops, ElementsBecomeFieldsOfRecords) {
  agrees("def f(t: u8[16], x: i64[N]) -> y { y[i] = (t[clamp(x[i])], x[i]) }", sizes);
  agrees("def f(t: u8[16], x: i64[N]) -> y { y[i] = i64(t[clamp(x[i])]) }", sizes);
}

/// A choice between two numbers, where what is added is there at all points.
TEST(SplitLoops, PointsThatAreLeftOutOfASumAddNothing) {
  const char* const chosen = "def f(x: f64[N]) -> s { s = sum [ v * v | v in x, v * v > 0.25 ] }";
  EXPECT_THAT(loops_of(chosen), HasSubstr("s_acc += if x[v] * x[v] > 0.25 then x[v] * x[v] else -0.0"));
  agrees(chosen, sizes);
  const char* const guarded =
      "def f(x: i64[N], y: i64[N]) -> s { s = sum [ 100 / x[i] + y[i] | i, x[i] != 0 ] }";
  EXPECT_THAT(loops_of(guarded), Not(HasSubstr("then 100 / x[i]")));
  agrees(guarded, sizes);
}

TEST(SplitLoops, WhereThereMayBeNoElementNothingIsLookedUp) {
  const char* const text =
      "def f(t: u8[16], x: i32[N]) -> y { y[i] = if 0 <= x[i] and x[i] < 16 then t[x[i]] else 7 }";
  EXPECT_THAT(loops_of(text), Not(HasSubstr("_chunk")));
  agrees(text, sizes);
}

TEST(SplitLoops, LanesLookUpLargerElementsThemselves) {
  EXPECT_THAT(loops_of("def f(t: f32[256], x: i16[N]) -> y { y[i] = t[clamp(3 * x[i] - 5)] }"),
              Not(HasSubstr("_chunk")));
}

TEST(SplitLoops, WhatIsScatteredIsComputedInLanes) {
  const char* const text =
      "type Cell = { value: i64, weight: i64 }\n"
      "fn plus(a: Cell, b: Cell) -> Cell = { value: a.value + b.value, weight: a.weight + b.weight }\n"
      "op add = plus associative commutative { identity { value: 0, weight: 0 } }\n"
      "def f(x: i64[N]) -> c: Cell[12] {\n"
      "  c = scatter(add) { [min(max(x[i] * 3 / 7 + 5, 0), 11)] <- Cell { value: x[i] * x[i] + 1, weight: 1 "
      "} | i }\n"
      "}";
  EXPECT_THAT(loops_of(text), HasSubstr("c_part"));
  agrees(text, sizes);
}

TEST(SplitLoops, AHistogramOfIndicesIsOneLoop) {
  EXPECT_THAT(loops_of("def f(x: i64[N]) -> h: i64[10] { h = scatter(+) { [x[i] % 10] <- 1 | i } }"),
              Not(HasSubstr("_chunk")));
}

/// Whether there is a row at all is asked once for the lanes.
TEST(SplitLoops, WhetherAnArrayIsEmptyIsAskedOnce) {
  const char* const text =
      "def f(x: i64[N]) -> y { y[i < (N + 7) / 8 + 1] = x[clamp(8 * i - 3)] + x[clamp(8 * i + 2)] }";
  EXPECT_THAT(loops_of(text), HasSubstr("if N > 0:"));
  agrees(text, {1, 7, 8, 9, 1000});
  const auto program = program_of(text);
  const std::vector<Data> empty = {Data(Scalar::I64, {0})};
  EXPECT_THROW(compile(program, two_cores()).kernel->run(empty), Error);
}

/// A scan waits for one addition in four points; what it is made of, and what is made of it, is computed in
/// lanes.
TEST(SplitLoops, OnlyTheFoldOfAScanGoesFromPointToPoint) {
  const char* const text =
      "def f(x: f32[N]) -> (m, d) {\n"
      "  c[i] = scan(+, i) (x[i] * x[i] + 1)\n  d[i] = c[i] * 0.5 + x[i]\n  m = max(i) d[i]\n}";
  const std::string loops = loops_of(text);
  EXPECT_THAT(loops, HasSubstr("    simd for i in i_chunk .. i_end:\n"
                               "      c_run_in[i - i_chunk] = x[i] * x[i] + 1.0\n"
                               "    for i in i_chunk .. i_end - 3 step 4:\n"
                               "      var c_run_0 = c_run_in[i - i_chunk]\n"
                               "      var c_run_1 = c_run_0 + c_run_in[i + 1 - i_chunk]\n"));
  EXPECT_THAT(loops, HasSubstr("      c_run = c_run + c_run_3\n"));
  EXPECT_THAT(loops, HasSubstr("m_acc_lanes[i - i_chunk] = max(m_acc_lanes[i - i_chunk], "));
  agrees(text, sizes);
}

TEST(SplitLoops, AScanFromTheRightGoesUpwardsWithAnotherIndex) {
  const char* const text =
      "def f(x: i32[N]) -> (s, d) {\n"
      "  c[i] = scan_right(max, i) x[i]\n  d[i] = c[i] - x[i]\n  s = sum(i) d[i] % 100\n}";
  const std::string loops = loops_of(text);
  EXPECT_THAT(loops, HasSubstr("for i_up in i_chunk .. i_end - 3 step 4:"));
  EXPECT_THAT(loops, Not(HasSubstr("down:\n      var c\n")));
  agrees(text, sizes);
}

TEST(SplitLoops, AStrictScanOfFloatsKeepsItsOrder) {
  const char* const text =
      "strict def f(x: f64[N]) -> d { c[i] = scan(+, i) x[i]\n d[i] = sqrt(abs(c[i])) + x[i] }";
  const std::string loops = loops_of(text);
  EXPECT_THAT(loops, Not(HasSubstr("step 4")));
  EXPECT_THAT(loops, HasSubstr("c_run += x[i]"));
  agrees(text, sizes);
}

}  // namespace
}  // namespace twill
