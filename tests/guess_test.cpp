// What is guessed of sizes that nobody knows, by what conditions leave of a range.
#include "fuse/guess.h"

#include "programs.h"

#include <gtest/gtest.h>

namespace twill {
namespace {

/// The guess for an array of a program that takes N = 1000, or nothing of the sizes.
double elements(const std::string& text, const std::string& name, bool known = true) {
  const auto program = program_of(text);
  KnownSizes sizes;
  if (known)
    for (std::size_t s = 0; s < program->symbols.size(); ++s)
      if (program->symbols[s].name == "N") sizes.sizes[SymbolId{static_cast<int>(s)}] = 10000;
  const Guess guess(*program, sizes);
  for (std::size_t a = 0; a < program->arrays.size(); ++a)
    if (const Array& array = program->arrays[a]; array.name == name) {
      EXPECT_EQ(guess.knows(array), known);
      return guess.elements(array);
    }
  ADD_FAILURE() << "no array " << name;
  return 0;
}

TEST(Guess, AFilterLeavesAShare) {
  EXPECT_EQ(elements("def f(x: f64[N]) -> p { p = [ v | v in x, v > 0 ] }", "p"), 5000);
  EXPECT_EQ(elements("def f(x: f64[N]) -> p { p = [ v | v in x, v > 0, v < 9 ] }", "p"), 2500);
  EXPECT_EQ(elements("def f(x: f64[N]) -> p { p = [ v | v in x, v < 0 or v > 9 ] }", "p"), 7500);
  EXPECT_EQ(elements("def f(x: i64[N]) -> p { p = [ v | v in x, v == 3 ] }", "p"), 1000);
  EXPECT_EQ(elements("def f(x: i64[N]) -> p { p = [ v | v in x, v != 3 ] }", "p"), 9000);
  EXPECT_EQ(elements("def f(x: i64[N]) -> p { p = [ v | v in x, v % 4 == 1 ] }", "p"), 2500);
}

TEST(Guess, CollectionsOfCollectionsAreGuessedFromWhatTheyGoThrough) {
  const std::string text = R"(
    def f(x: i64[N]) -> (q, t, g.keys, h) {
      p = [ v | v in x, v > 0 ]
      q = [ 2 * v | v in p, v != 8 ]
      t = [ i * j | i < N / 100, j < i ]
      g = group(+) [ (v % 7, v) | v in x ]
      h = if len(p) > 3 then p else q
    })";
  EXPECT_EQ(elements(text, "q"), 4500);
  EXPECT_EQ(elements(text, "t"), 100 * 50);
  EXPECT_EQ(elements(text, "g"), 7);
  EXPECT_EQ(elements(text, "g_keys"), 7);
  EXPECT_EQ(elements(text, "h"), 5000);
}

/// Who knows how long a collection is need not guess.
TEST(Guess, LengthsThatAreGivenStay) {
  const auto program = program_of(
      "def f(x: f64[N]) -> q { p = [ v | v in x, v > 0 ]\n  q = [ 2 * v | v in p, v < 9 ] }");
  KnownSizes sizes;
  for (std::size_t s = 0; s < program->symbols.size(); ++s) {
    const std::string& name = program->symbols[s].name;
    if (name == "N") sizes.sizes[SymbolId{static_cast<int>(s)}] = 10000;
    if (name == "p_len") sizes.sizes[SymbolId{static_cast<int>(s)}] = 6;
  }
  ASSERT_EQ(sizes.sizes.size(), 2U);
  const Guess guess(*program, sizes);
  for (const Array& array : program->arrays) {
    if (array.name != "p" && array.name != "q") continue;
    EXPECT_EQ(guess.elements(array), array.name == "p" ? 6 : 3);
  }
}

/// A condition with sixty parts that are used twice each has 2^60 paths.
TEST(Guess, SharedConditionsAreLookedAtOnce) {
  std::string condition = "let c0 = x[i] > 0 in ";
  for (int k = 1; k < 60; ++k) {
    const std::string before = "c" + std::to_string(k - 1), bound = std::to_string(k);
    condition += "let c" + bound + " = (" + before + " and x[i] > " + bound + ") or (not " + before +
                 " and x[i] < " + bound + ") in ";
  }
  EXPECT_GT(elements("def f(x: i64[N]) -> p { p = [ x[i] | i < N, (" + condition + "c59) ] }", "p"), 1);
}

TEST(Guess, WithoutSizesSomethingIsTaken) {
  EXPECT_EQ(elements("def f(x: f64[N]) -> p { p = [ v | v in x, v > 0 ] }", "p", false), 500);
  EXPECT_EQ(elements("def f(x: f64[N]) -> x2 { x2[i] = 2 * x[i] }", "x2", false), 1000);
}

}  // namespace
}  // namespace twill
