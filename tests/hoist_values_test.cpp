// Values that cost much are computed once: where, under which conditions, and that every size gives the
// interpreter's result.
#include <gmock/gmock.h>

#include "loops.h"

namespace twill {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<std::int64_t> sizes = {0, 1, 7, 128, 5000};

std::size_t times(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// What a filter computes of an element is computed once, however many elements a flatMap makes of it.
TEST(HoistValues, OfAnElementOnceForAllThatIsMadeOfIt) {
  const char* const text =
      "def f(x: f64[N]) -> h {\n"
      "  p = [ log(v) | v in x, v > 0.1 ]\n"
      "  h = [ v * k | v in p, k < 50, k != 2 ]\n}";
  EXPECT_THAT(loops_of(text), HasSubstr("    var kept = 0.0\n"
                                        "    var is_kept = false\n"
                                        "    for k in 0 .. if x[v] > 0.1 then 50 else 0:\n"
                                        "      if x[v] > 0.1 and k != 2:\n"
                                        "        if not is_kept:\n"
                                        "          kept = log(x[v])\n"
                                        "          is_kept = true\n"
                                        "        h[h_at] = kept * f64(k)\n"));
  agrees(text, sizes);
}

TEST(HoistValues, WhateverIsMadeOfIt) {
  for (const char* const text : {
           "def f(x: f64[N]) -> s {\n"
           "  p = [ log(v) | v in x, v > 0.1 ]\n  s = sum [ v * k | v in p, k < 50, k % 3 != 2 ]\n}",
           "def f(x: f64[N]) -> h {\n"
           "  p = [ log(v) | v in x, v > 0.1 ]\n"
           "  h = group(+) [ (k % 3, v * k) | v in p, k < 50, k % 7 != 2 ]\n}",
           "def f(x: f64[N]) -> h {\n"
           "  p = [ log(v) + j | v in x, j < 3 ]\n  h = [ v * k | v in p, k < 5, v > k ]\n}",
           "def f(x: f64[N]) -> h {\n  h = [ log(v) * k | v in x, k < 5, k != 2 ]\n}",
       }) {
    const std::string loops = loops_of(text);
    EXPECT_EQ(times(loops, "kept = log("), 1U) << loops;
    EXPECT_EQ(times(loops, "log("), 1U) << loops;
    agrees(text, sizes);
  }
}

/// A condition, the bounds of the loop that it guards, and what stands in the loop ask for the same value.
TEST(HoistValues, ConditionsAndBounds) {
  const char* const text =
      "def f(x: f64[N]) -> h {\n"
      "  p = [ v | v in x, log(v) > -0.5 ]\n  h = [ v * j | v in p, j < i64(3 * v) ]\n}";
  EXPECT_THAT(loops_of(text), HasSubstr("    var kept = log(x[v]) > -0.5\n"
                                        "    for j in 0 .. if kept then i64(3.0 * x[v]) else 0:\n"
                                        "      if kept:\n"));
  agrees(text, sizes);
}

/// What a choice decides about is computed for the condition, and for what is kept, together.
TEST(HoistValues, OfConditionsAndWhatTheyKeep) {
  const char* const text =
      "def f(x: f64[N], y: f64[N]) -> r {\n"
      "  a = [ log(v) | v in x, v > 0.2 ]\n  r = [ v + 2 | v in concat(a, y), v > -0.5, v < 0.9 ]\n}";
  const std::string loops = loops_of(text);
  EXPECT_EQ(times(loops, "log("), 1U) << loops;
  agrees(text, sizes);
}

TEST(HoistValues, KeysAndValues) {
  const char* const text =
      "def f(x: f64[N]) -> g {\n  p[i] = log(x[i] + 1)\n  g = group [ (i64(9 * v) % 3, v) | v in p ]\n}";
  EXPECT_THAT(loops_of(text), HasSubstr("    var kept = log(x[i] + 1.0)\n"
                                        "    g_number = number of i64(9.0 * kept) % 3 in g_table\n"
                                        "    append g_number to g_numbers\n"
                                        "    append kept to g_values\n"));
  agrees(text, sizes);
}

/// What does not depend on anything that a run changes is computed once in it.
TEST(HoistValues, OutOfAllLoops) {
  const char* const text =
      "def f(x: f64[N], w: f64[5], a: f64) -> p { p = [ u * log(a + 2.0) | v in x, u in w, u > v ] }";
  EXPECT_THAT(loops_of(text), HasSubstr("\nif 0 < parts:\n  kept = log(a + 2.0)\ncores for part in"));
  agrees(text, sizes);
}

/// A division by zero happens at no point that nobody asks for.
TEST(HoistValues, WhatMayFailStaysBehindItsCondition) {
  const char* const text =
      "fn part(a: i64, b: i64) -> i64 = a / b + i64(sqrt(f64(a)))\n"
      "def f(x: i64[N]) -> h { h = [ part(100, v) * k | v in x, k < 5, v * k > 0 ] }";
  const std::string loops = loops_of(text);
  EXPECT_THAT(loops, HasSubstr("        if not is_kept:\n          kept = part(100, x[v])\n"));
  agrees(text, sizes);
}

/// A loop in lanes computes what it is told to at all of its points, so it may as well be done before.
TEST(HoistValues, ForLanesOnlyWhatCannotFail) {
  const char* const text =
      "def f(x: f64[N], w: f64[N], a: f64) -> y { y[i] = if w[i] > 0.5 then exp(a) * x[i] else x[i] }";
  EXPECT_THAT(loops_of(text), HasSubstr("kept = exp(a)\n"));
  agrees(text, sizes);
  const char* const fails =
      "fn part(a: i64, b: i64) -> i64 = a / b + i64(sqrt(f64(a)))\n"
      "def f(x: i64[N], a: i64) -> y { y[i] = if x[i] > 0 then part(7, a) else x[i] }";
  EXPECT_THAT(loops_of(fails), Not(HasSubstr("kept")));
  agrees(fails, sizes);
}

/// What a loop changes is none of this.
TEST(HoistValues, WhatChangesIsComputedAgain) {
  const char* const text =
      "def f(x: f64[N]) -> y {\n"
      "  y = seq t < 3 from x { y[i] = exp(0.1 * y[0]) * y[i] where 0 < i < N }\n}";
  agrees(text, {1, 7, 128});
  const char* const running =
      "def f(x: f64[N]) -> y { y[i] = seq(i) if i > 0 then log(y[i-1] + 2) else x[i] }";
  EXPECT_THAT(loops_of(running), Not(HasSubstr("kept")));
  agrees(running, sizes);
}

}  // namespace
}  // namespace twill
