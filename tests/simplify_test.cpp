// What simplify makes of a program, as text; and that both mean the same, with the interpreter and compiled.
#include "simplify/simplify.h"
#include "driver/agree.h"
#include "driver/compile.h"
#include "fuzz/generate.h"
#include "program/check.h"
#include "program/text.h"
#include "temporary_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace twill {
namespace {

struct Case {
  const char* name;
  const char* before;
  const char* after;
};

/// Without the first line break and the indentation that all lines share.
std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \n");
  const std::string indent = first == std::string::npos ? "" : text.substr(0, first);
  std::string result = first == std::string::npos ? "" : text.substr(first);
  for (std::size_t at = result.find(indent); at != std::string::npos; at = result.find(indent, at + 1))
    result.replace(at, indent.size(), "\n");
  return result + "\n";
}

const Case cases[] = {
    // ---- lengths
    {"ACollectionOfAllPointsIsAnArray",
     R"(
      def f(x: f64[N]) -> y { y = [ 2 * v | v in x ] })",
     R"(
      def f(x: f64[N]) -> y {
        y[v] = 2.0 * x[v]
      })"},
    {"TheLengthOfARangeMayBeNegative",
     R"(
      def f(n: i64) -> (y, m) { y = [ i * i | i in 2 .. n ]
                                m = len(y) })",
     R"(
      def f(n: i64) -> (y, m) {
        stage y(i in 2 .. n) {
          out y: i64[n - 2] at [i - 2] = cat(i) i * i
        }
        m = max(n - 2, 0)
      })"},
    {"AFlatMapOfFixedWidth",
     R"(
      def f(n: i64) -> y { y = [ i * j | i < n, j < 3 ] })",
     R"(
      def f(n: i64) -> y {
        stage y(i < n, j < 3) {
          out y: i64[n * 3] at [i * 3 + j] = cat(i) cat(j) i * j
        }
      })"},
    {"RowsOfFixedWidthNeedNoOffsets",
     R"(
      def f(x: i64[N]) -> (c.values, s) { c = [ [ x[i] + k | k < 4 ] | i < N ]
                                          s[i < N] = c[i][0] })",
     R"(
      def f(x: i64[N]) -> (c, s) {
        stage c(i < N, k < 4) {
          out c: i64[N * 4] at [i * 4 + k] = cat(i) cat(k) x[i] + k
        }
        s[i < N] = c[i * 4]
      })"},
    {"OnlyTheLengthOfAMapIsUsed",
     R"(
      def f(x: f64[N]) -> y { p = [ 2 * v | v in x ]
                              y[i < len(p)] = i })",
     R"(
      def f(x: f64[N]) -> y {
        y[i < N] = i
      })"},
    {"OnlyTheLengthOfAFilterIsUsed",
     R"(
      def f(x: f64[N]) -> (n, y) { p = [ 2 * v | v in x, v > 0.5 ]
                                   n = len(p) + 1
                                   y[i < len(p)] = i })",
     R"(
      def f(x: f64[N]) -> (n, y) {
        stage p(v < N) {
          out p_count: i64 = fold(+, v) 1 where x[v] > 0.5
        }
        n = p_count + 1
        y[i < p_count] = i
      })"},
    {"TheMeanOfAFlatMap",
     R"(
      def f(x: f64[N], y: f64[M]) -> m { p = [ a * b | a in x, b in y ]
                                         m = (sum(k) p[k]) / len(p) })",
     R"(
      def f(x: f64[N], y: f64[M]) -> m {
        m_sum = sum(a, b) x[a] * y[b]
        m = m_sum / f64(N * M)
      })"},
    {"TheLengthOfATriangleIsNotKnown",
     R"(
      def f(n: i64) -> (y, m) { y = [ i * j | i < n, j < i ]
                                m = len(y) })",
     R"(
      def f(n: i64) -> (y, m) {
        y = [ i * j | i < n, j < i ]
        m = y_len
      })"},
    // ---- no points
    {"NothingPasses",
     R"(
      def f(x: i64[N]) -> (s, h, c) { e = [ v | v in x, 1 > 2 ]
                                      m[k] = e[k] * 2
                                      s = sum(k) m[k]
                                      for v in m { print(v) }
                                      h: i64[4] = scatter(+) { [v % 4] <- 1 | v in m }
                                      c = m })",
     R"(
      def f(x: i64[N]) -> (s, h, c) {
        s: i64 = 0
        h[i0_3 < 4] = 0
        c[i0_4 < 0] = 0
      })"},
    {"AFoldOfNothingInsideOfAnother",
     R"(
      def f(x: i64[N]) -> m { m = max(i) sum(j < 0) x[i] })",
     R"(
      def f(x: i64[N]) -> m {
        m: i64 = max(i < N) 0
      })"},
    {"AFoldOfNothingWithoutIdentityStays",
     R"(
      op left(a: i64, b: i64) -> i64 associative { a }
      def f(x: i64[N]) -> m { m = fold(left, j < 0) N })",
     R"(
      op left(a: i64, b: i64) -> i64 associative {
        a
      }

      def f(x: i64[N]) -> m {
        m = fold(left, j < 0) N
      })"},
    {"AVersionWithoutChanges",
     R"(
      def f(x: i64[N], y: i64[N]) -> z { p = x with { [0 * i] <- 1 | i < 0 }
                                         z[i] = p[i] + y[i] })",
     R"(
      def f(x: i64[N], y: i64[N]) -> z {
        z[i0] = x[i0] + y[i0]
      })"},
    {"GroupsOfNothing",
     R"(
      def f(x: i64[N]) -> (g, n) { g = group [ (v % 4, v) | v in x, 1 > 2 ]
                                   n = len(g) })",
     R"(
      def f(x: i64[N]) -> (g, g_offsets, g_keys, n) {
        g[i0 < 0] = 0
        stage g_offsets() {
          out g_offsets: i64[1] at [0] = 0
        }
        g_keys[i0_3 < 0] = 0
        n: i64 = 0
      })"},
    // ---- one point
    {"OneStepIsNoLoop",
     R"(
      def f(x: i64[N]) -> t { one[i < 1] = x[pad(0)] + i
                              two[i] = one[i] * 2
                              for i < 1 { print("two", i) }
                              t = sum(i) two[i] })",
     R"(
      def f(x: i64[N]) -> t {
        print("two", 0)
        t = x[pad(0)] * 2
      })"},
    {"OneStepOfAFoldUnderACondition",
     R"(
      def f(x: f64[N]) -> t { t[i] = sum(j < 1) x[i] where x[i] > 0.5 })",
     R"(
      def f(x: f64[N]) -> t {
        t[i] = if x[i] > 0.5 then 0.0 + x[i] else 0.0
      })"},
    {"OneStepAroundABlock",
     R"(
      def f(x: f64[N], c: f64) -> t { t[i < 1, k < N] = if c > 0.5 then sum(j < k) x[j] * i else 1 })",
     R"(
      def f(x: f64[N], c: f64) -> t {
        stage t(k < N) {
          block {
            stage t_if() {
              if c > 0.5 {
                t_sum = sum(j < k) x[j] * 0.0
                t_if_then = t_sum
              } else {
                t_if_else: f64 = 1.0
              }
              out t_if: f64 = t_if_then else t_if_else
            }
          }
          out t: f64[1, N] at [0, k] = cat(k) t_if
        }
      })"},
};

std::string name_of_case(const testing::TestParamInfo<Case>& one) { return one.param.name; }

class Simplify : public testing::TestWithParam<Case> {};

}  // namespace

TEST_P(Simplify, MeansTheSameAndIsSimpler) {
  const TemporaryCache cache;
  const auto program = std::make_shared<const Program>(parse_program("case", GetParam().before));
  const auto simplified = simplify(program).program;
  EXPECT_EQ(print(*simplified), trimmed(GetParam().after));
  EXPECT_THAT(diagnose(*simplified, {.unused_inputs = false}), testing::IsEmpty());
  EXPECT_EQ(simplify(simplified).program, simplified) << "a second time changes it again";
  Options options;
  options.compiler.cache = cache.path();
  const Compilation compilation = compile(program, detect_machine(), options);
  Rng rng(1);
  for (int k = 0; k < 5; ++k) {
    const std::vector<Data> inputs = random_inputs(*program, rng);
    std::optional<Reference> expected;
    try {
      expected.emplace(reference_of(*program, inputs));
    } catch (const Error& error) {
      EXPECT_THROW(interpret(*simplified, inputs), Error) << error.what();
      EXPECT_THROW(compilation.kernel->run(inputs), Error) << error.what();
      continue;
    }
    EXPECT_EQ(agreement(*program, *expected, interpret(*simplified, inputs)).difference, "");
    EXPECT_EQ(agreement(*program, *expected, compilation.kernel->run(inputs)).difference, "");
  }
}

INSTANTIATE_TEST_SUITE_P(All, Simplify, testing::ValuesIn(cases), name_of_case);

}  // namespace twill
