// Small programs that the fuzzer found and that once went wrong: under the default plan and under random ones
// they agree with the interpreter.
#include "base/error.h"
#include "driver/agree.h"
#include "driver/compile.h"
#include "fuzz/fuzz.h"
#include "fuzz/random_plan.h"
#include "plan/default_plan.h"
#include "plan/elaborate.h"
#include "plan/legality.h"
#include "program/error_bounds.h"
#include "program/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace twill;

namespace {

struct Found {
  const char* name;
  const char* text;
};

const Found found[] = {
    {"TwoReadsOfAnArrayWithOnePlaceBecomeOne", R"(
      def f(x: i64[M]) -> s {
        a[i < 1, j < 3] = sum(k) x[k] * j
        s[j < 3] = max(a[0, j], a[clamp(j), j])
      }
    )"},
    {"AnArrayOfABlockIsMentionedWhereNothingIsComputed", R"(
      op last(a: i64, b: i64) -> i64 associative { b }
      def f(x: i64[N]) -> s {
        stage s(j < N, k < 0) {
          block {
            u[i] = x[i] + j
          }
          out s: i64[N] at [j] = seq(j) fold(last, k) u[mirror(k)]
        }
      }
    )"},
    {"AFilterBeforeAFoldWithoutIdentity", R"(
      op last(a: i64, b: i64) -> i64 associative { b }
      def f(x: i64[N + 1]) -> s {
        p = [ v | v in x, v > -1000000 ]
        s = fold(last, k) p[k]
      }
    )"},
    {"AFunctionOfAConstantUnderStrict", R"(
      strict def f(x: f32[N]) -> v { v[i] = x[i] + cosh(1.0f32) }
    )"},
    {"ABoxThatIsEmptyAndOutsideOfTheArray", R"(
      def f(x: i64[N, M]) -> v { v[i, j] into x = x[i, j-5] where 3 < i < N - 1, 5 < j < M - 1 }
    )"},
    {"PartsOfRowsThatAreAppended", R"(
      def f(x: i64[N, M]) -> v { v = [ x[i, j] | i, j ] }
    )"},
    {"AFoldWithoutIdentityInLanes", R"(
      op times(i64) = * associative commutative
      def f(x: i64[N]) -> a { a: i64 = fold(times, i < N + 1) (1 + i) }
    )"},
    {"PartsOfAFoldOntoAnArrayThatTheyDoNotCover", R"(
      op circle(a: i64, b: i64) -> i64 associative commutative {
        identity 0
        a + b + a * b
      }
      def f(x: i64[3], y: i64[N]) -> v {
        stage v(i < N) { out v: i64[3] at [1] onto x = fold(circle, i) y[i] }
      }
    )"},
    {"AStageThatNeedsALengthOnly", R"(
      def f(x: i64[N]) -> (g, a) {
        g = group [ (x[i] % 3, x[i]) | i ]
        a[k < len(g)] = k
      }
    )"},
    {"ASizeThatStandsWithAConstantOnly", R"(
      def f(p: i64[N + 1]) -> a { a[i < N] = p[i + 1] - p[i] }
    )"},
    {"TwoPassesOfAnAppend", R"(
      def f(x: i64[N], y: i64) -> (c, n) {
        c = [ v + y | v in x, v > 2 ]
        n = len(c)
      }
    )"},
    {"ABoundaryRuleOfAnEmptyArrayInALoopThatNeverRuns", R"(
      def f(x: i64[5, N], y: f32[M]) -> (a, c) {
        a[i] = fold(xor, j < N) x[i, wrap(0)]
        c = [ 0 | k < M, 0.0 <= y[mirror(0)] ]
      }
    )"},
    {"ARowThatOthersWriteOverInOrder", R"(
      def f(c: i64[N], x: f32[M, N]) -> y {
        stage t(i < N, j < M) { out y: f32[2, N + M] at [c[i] % 2, i + j] = scatter(i) cat(j) x[j, i] }
      }
    )"},
    {"ASubscriptWithNoPlaceIn64Bits", R"(
      def f(x: f32[M]) -> (a, y) {
        d[i] = x[i] * 2 + x[clamp(i + 1)]
        a[i < M] = d[pad(-9223372036854775808, -2.5)] + d[clamp(i + 1)]
        y[i < M] = d[clamp(-9223372036854775807 - i)] + d[pad(3 * i - 9223372036854775807, 1.0)]
      }
    )"},
    {"ADivisionOfASumThatWrapsAround", R"(
      def f(x: i64[N]) -> y { y[k] = (-9223372036854775808 - k) / 2 + x[k] }
    )"},
    {"AnEmptyFoldIntoAnArrayLeavesTheElement", R"(
      def f(a: i64[M]) -> s { s[i < M]: i64 into a = seq(i) max(k < i) 0 }
    )"},
    {"AnArrayOfABlockThatOnlyTheStageAroundItReads", R"(
      def f(x: i64[N, 5]) -> s {
        stage s(i < N, j < 5) {
          block {
            h[k < 5] = x[i, k] + 1
            f[k < 5] = x[i, k] + 2
            g[k < 5] = f[k] * f[k]
          }
          out s: i64[N, 5] at [i, j] = cat(i) cat(j) h[j] + g[4 - j]
        }
      }
    )"},
    {"AnExtentBelowZeroIsZero", R"(
      def f(x: i64[N], a: i64[N - 1]) -> (s, y) {
        s = sum(i) x[i]
        y[i < 3] = a[pad(i, 1)]
      }
    )"},
    {"AResultThatTakesOverACollection", R"(
      def f(x: i64[N]) -> s {
        c = [ v | v in x, v > 2 ]
        s[i] into c = seq(i) c[i] + 1
      }
    )"},
    {"EffectsInTheBlockOfAnAppend", R"(
      def f(u: i64[K]) -> c {
        stage b(i < K) {
          block { stage g() { print("at", i) } }
          out c: f32[born c_len] = append(i) 0.0
        }
      }
    )"},
    {"AnOutputThatReadsWhatAnotherOverwrites", R"(
      def f(x: f64[N]) -> s {
        a[i < N]: i16 = 0
        stage v(i < N) {
          out v: i16[N] at [i] into a = seq(i) 1
          out s: f64[N] at [i] into x = seq(i) 0.0 where a[i] == 0i16
        }
      }
    )"},
    {"AScanFromTheRightThatNobodyNeedsButForTheOrderOfPrints", R"(
      def f(x: i64[N]) -> c {
        stage c(i < N) {
          out c: i64[born n] = append(i) x[i]
          out a: i64[N] at [i] = scan_right(+, i) x[i]
          print(x[i])
        }
      }
    )"},
    {"AScanFromTheRightNextToAStreamedOutput", R"(
      def f(x: i64[N]) -> (a, b) {
        (a[i < 40 * N + 1], b[i]) = (scan_right(+, i) i, 2 * i)
      }
    )"},
    {"AUsersFoldAroundASumInLanes", R"(
      op plus(a: f32, b: f32) -> f32 associative commutative { identity 0.0
        a + b }
      def f(x: f32[N]) -> a { a = fold(plus, k < N) sum(i in k .. N) x[i] }
    )"},
    {"AStateThatBecomesAResultInTheSecondPassOfACollection", R"(
      def f(x: i16[M]) -> (c, b) {
        stage c(j < M + 1) {
          block {
            stage u(k < j) {
              block {
                carry s: i16[M] from x next t
                t[i < M] = i16(i32(s[i]) + 1)
              }
              out u: i16[M] = last(k) t
            }
            y[i < M + 2]: i16 = u[pad(i)]
          }
          out c: f64[born n] = append(j) 0.0
          out b: i16[M + 1, M + 2] at [j] = cat(j) y
        }
      }
    )"},
    {"AFoldWithoutIdentityOutsideOfADimension", R"(
      op last(a: i64, b: i64) -> i64 associative { b }
      def f(x: i64[N, 3]) -> a {
        stage a(i < N + 1, j < 3) { out a: i64[3] at [j] = fold(last, i) cat(j) if i < N then x[i, j] else 7 }
      }
    )"},
    {"DataThatLeadOutsideOfTheArrayThatIsWritten", R"(
      def f(p: i64[N + 2]) -> (a, b) {
        a[i < p[1] % 9] into p = 0
        b[i < p[0] % 9] into p = scan(+, i) 1
      }
    )"},
    {"TheStateOfALoopInTheMemoryOfAResult", R"(
      def f(n: i32 = 3, a: i64[n]) -> v {
        u = seq t < 2 from a { u[i] = u[i] + t }
        v[i < 0] into u = 0
      }
    )"},
    {"ANaNThatMeetsTheIdentityOfAGroup", R"(
      op most(a: f64, b: f64) -> f64 associative { identity -inf
                                                   max(a, b) }
      strict def f(x: f64[N]) -> g { g = group(most) [ (0, v / (v - v)) | v in x ] }
    )"},
    {"TheSignOfAZeroBehindAnFma", R"(
      strict def f(x: f64[N]) -> a {
        a[i] = -fma(0.0 * x[i], 0.0, -0.0)
      }
    )"},
    {"AFoldAroundAFoldOfNothingIntoAnArray", R"(
      def f(x: i64[N + 1]) -> (v, w) {
        stage v(i < 1, k in 1 .. 1) { out v: i64[N + 1] at [0] into x = fold(min, i) fold(+, k) 5 }
        stage w(i < 1, k in 1 .. 1) { out w: i64[N + 1] at [0] into x = fold(min, i) fold(min, k) 5 }
      }
    )"},
    {"AScanAroundAFoldOfNothingIntoAnArray", R"(
      def f(x: i64[N]) -> v { stage v(i < N, k in 1 .. 1) { out v: i64[N] at [i] into x = scan(max, i) fold(max, k) 2 } }
    )"},
    {"AConstantWhoseLastElementIsTheSignOfTheOthers", R"(
      def f(x: i64[N]) -> b {
        const w: i64[5] = [-2, -2, -2, -1, 2]
        stage b(i < N) {
          block { v = w with { [1] <- 0 } }
          out b: i64[N, 5] at [i] = cat(i) v
        }
      }
    )"},
    {"AnElementThatIsReadAndWrittenByManyPoints", R"(
      def f(x: i64[N]) -> h { s[i < N + 1] = i % 5
                              stage h(i < N) { out h: i64[N + 1] at [0] into s = scatter(i) s[0] - x[i] % 3 } }
    )"},
    {"AnArgumentThatFailsAndIsNotUsed", R"(
      fn first(p: i64, q: i64) -> i64 = if p != 0 then 7 % p else p
      def f(x: i64[N], y: i64[M]) -> a { a[i < M] = first(y[i], x[mirror(i)]) }
    )"},
    {"TheSignOfAZeroThatWasAnInteger", R"(
      strict def f(x: i64[N]) -> (a, b) {
        a[i] = 0.0f32 - f32(u64(x[i] % 3))
        b[i] = 0.0 - f64(x[i] % 3)
      }
    )"},
    {"AnErrorInWhatNobodyNeedsBesideALoopThatIsNeeded", R"(
      def f(x: f64[N], y: i64[M]) -> s {
        stage s(i < M) {
          block {
            f = sum(k < i) x[clamp(0)]
            g: f64 = product(k < i) 0.0
            a: f64 = 0.0
          }
          out s: f64[M] at [i] = seq(i) a
        }
      }
    )"},
    {"TheFirstPassOfACollectionFails", R"(
      op last(a: f16, b: f16) -> f16 associative { b }
      def f(x: f64[N], y: i64[M]) -> c {
        stage c(i < M) {
          block {
            stage s(t < 4, k < M) {
              block {
                a[j < 2 * N + 1]: f16 = fold(last, m < 0) 0.0f16
                b: f64 = 0.0
              }
              out s: f64[4, M] at [t, k] = seq(t) cat(k) b
            }
          }
          out c: f64[born n] = append(i) 0.0
        }
      }
    )"},
    {"ANewVersionOfOffsetsThatTheLoopWouldStillMake", R"(
      def f(x: i64[M]) -> v {
        stage c(i < M + 2, j < M) {
          out c: f64[born length] offsets starts: i64[M + 3] = cat(i) append(j) 0.0
        }
        stage v(i < M + 2, k < 0) { out v: i64[M + 3] at [i] into starts = scan(+, i) fold(+, k) 0 }
      }
    )"},
    {"AVariableThatALoopForAllCoresWrites", R"(
      def f(w: i32[N], t: i32) -> u {
        u = seq i in 1 .. 6 from t {
          u_next = u_now with { [] <- u_now + w[0] | j in 1 .. i, i < 3, 0 < N }
        }
      }
    )"},
    {"AnArrayOfLessThanNoElements", R"(
      def f(x: i64[N]) -> v {
        stage a(i in 1 .. 0) { out a: i64[-1] at [i - 1] = cat(i) i }
        v = a with { x[i] <- 7 | i, x[i] < 0 }
      }
    )"},
    {"AFilterAndAFoldThatReplaces", R"(
      def f(x: i32[N + 1]) -> v {
        c = [ x[i] | i < N, x[i] > 90 ]
        stage v(k < c_len, i < N) { out v: i32[N + 1] at [i] into x = fold(*, k) cat(i) 0 }
      }
    )"},
    {"AFoldThatReplacesATriangle", R"(
      def f(x: f64[N, M], c: f64[M, M]) -> v { v[i, j] into c = sum(k < N) x[k, i] * x[k, j] where i <= j < M }
    )"},
    {"AFoldThatReplacesATile", R"(
      def f(a: f32[N, K], b: f32[K, M], c: f32[N, M]) -> v { v[i, j] into c = sum(k < K) a[i, k] * b[k, j] }
    )"},
    {"AChoiceThatMakesARowOfAnArray", R"(
      def f(a: i64[N]) -> y {
        stage b(j < 1) {
          if N > 3 { p[i < N] = a[i] } else { q[i < N] = 2 * a[i] }
          out b: i64[1, N] at [j] = cat(j) p else q
        }
        y[i < N] = b[wrap(0), wrap(i)] + 1
      }
    )"},
    {"ASequenceThatReadsAChoiceAndItself", R"(
      def f(x: i64[N], t: i32[11]) -> s {
        stage b() {
          if t[0] != 0 { p[i < N] = (0.0, 0i8) } else { q[i < N] = (1.0, 0i8) }
          out b: (f64, i8)[N] = p else q
        }
        s[i < 5]: i8 = seq(i) i8(t[clamp(if i >= 1 then s[0] else 0i8)] + t[clamp((if i < 0 then b[i] else (0.0, 0i8)).1)])
      }
    )"},
    {"AHistogramThatLivesAsLongAsItsRow", R"(
      def f(x: i64[N, 8]) -> y {
        h: i64[N, 4] = scatter(+) { [i, x[i, j] % 4] <- x[i, j] | i, j }
        y[i, z < 4] = h[i, clamp(z - 1)] + 2 * h[i, z]
      }
    )"},
    {"TheGreatestOfNaNs", R"(
      def f(x: i64[N]) -> (a, b) {
        a[i] = max(j < 3) (if x[i] > j then nan else 0.5 * j)
        b[i] = min(j < 2) (if x[i] > j then nan else 0.5 * j)
      }
    )"},
    {"AShortFoldWithAnIdentityOfItsOwn", R"(
      op at_least(i64) = max associative commutative { identity 0 }
      op plus(f64) = + associative commutative { identity 1.0 }
      def f(x: i64[N]) -> (a, b) {
        a[i] = fold(at_least, j < 3) x[i] * (j + 1)
        b[i] = fold(plus, j < 2) 0.5 * x[i] * (j + 1)
      }
    )"},
    {"PointsWithoutALoopThatReplaceABox", R"(
      def f(x: i64[N + 1]) -> v { v[i < N] into x = 0 }
    )"},
    {"ALengthOfAKnownChoiceThatTheStageAroundMentions", R"(
      def f(x: i64[N]) -> g {
        stage g(i < N) {
          block {
            if 1 > 2 { b = [ v | v in x, v > i ] } else { b = [ v | v in x, v < i ] }
          }
          out g: i64[N] at [i] = cat(i) if i < b_len then i else 0
        }
      }
    )"},
    {"ACollectionAsFarAsTheOneBeforeItIsLong", R"(
      def f(x: i64[N]) -> s {
        a = [ v | v in x, v > 3 ]
        b = [ i + k | i < N, k < len(a) ]
        s = sum [ v | v in concat(a, b) ]
      }
    )"},
    {"AKeyInASmallArrayOfVectors", R"(
      def f(a: i32[N, M]) -> g {
        d[i < N, j < 4] = fold(+, k < M) 0i32
        stage s(k < N, i < N) {
          out g: i64[born total] offsets o: i64[len + 1] keys g_keys: i32[born len] key i32(d[k, 1] != 0) = group(k) group(i) i
        }
      }
    )"},
};

std::string name_of_found(const testing::TestParamInfo<Found>& one) { return one.param.name; }

class FuzzFound : public testing::TestWithParam<Found> {};

/// What a stage with two passes reads is computed in both of them.
TEST(FuzzFoundPlan, WhatIsAddedUpInMemoryIsNotAddedUpTwice) {
  const auto program = std::make_shared<const Program>(parse_program("found", R"(
      def f(x: i32[N, M]) -> (h, a) {
        h: i32[N, 4] = scatter(+) { [i, x[i, k] % 4] <- 1 | i, k, x[i, k] >= 0 }
        a[i] = scan(+, i) h[i, 1]
      })"));
  Cluster both;
  both.instances = {{{"h"}, 0}, {{"a"}, 0}};
  const ChainLevel parts{0, {Cut::Kind::Parts, 0}, By::Core}, rows{0, {}, By::Seq}, row{1, {}, By::Seq};
  both.loops = tree_of({2, {{parts, rows, row}, {parts, rows}}});
  both.merges = {{1, 0, How::TwoPass}};
  const auto result = elaborate(program, detect_machine(), {"f", "here", {{"", 0, {both}}}});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.why().text, "'a' has two passes, and 'h' would change in both of them");
  // Nor what is folded onto something.
  const auto onto = std::make_shared<const Program>(parse_program("found", R"(
      def f(c: i64[N, M], x: i64[N, K], b: i64[K, M]) -> (y, a) {
        y[i, j] onto c = sum(k) x[i, k] * b[k, j]
        a[i] = scan(+, i) y[i, pad(0)]
      })"));
  Cluster folded;
  folded.instances = {{{"y"}, 0}, {{"a"}, 0}};
  folded.loops = tree_of({2, {{parts, rows, {2, {}, By::Seq}, {1, {}, By::Seq}}, {parts, rows}}});
  folded.merges = {{1, 0, How::TwoPass}};
  const auto refused = elaborate(onto, detect_machine(), {"f", "here", {{"", 0, {folded}}}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.why().text, "'a' has two passes, and 'y' would change in both of them");
  // By one worker, one pass is enough.
  both.merges.clear();
  both.loops = tree_of({1, {{rows, row}, {rows}}});
  EXPECT_TRUE(elaborate(program, detect_machine(), {"f", "here", {{"", 0, {both}}}}));
}

}  // namespace

TEST_P(FuzzFound, AgreesWithTheInterpreter) {
  FuzzCase one;
  one.program = std::make_shared<const Program>(parse_program("found", GetParam().text));
  JudgeOptions options;
  options.machine = detect_machine();
  options.compiler_flags = {"-O1"};
  Rng rng(1);
  for (int k = 0; k < 6; ++k) one.inputs.push_back(random_inputs(*one.program, rng));
  for (const bool simplify : {false, true}) {
    one.simplify = simplify;
    const std::shared_ptr<const Program> planned = one.planned();
    one.plans = {default_plan(*planned, options.machine).plan};
    for (int k = 0; k < 3; ++k) one.plans.push_back(random_plan(planned, options.machine, rng));
    const Verdict verdict = judge_isolated(one, options);
    EXPECT_EQ(verdict.kind, "") << verdict.detail;
    EXPECT_EQ(verdict.counts.at("runs"), 24);
  }
}

INSTANTIATE_TEST_SUITE_P(All, FuzzFound, testing::ValuesIn(found), name_of_found);

TEST(FuzzFoundPlan, AStageDoesNotRunBeforeTheLengthItNeeds) {
  const auto one = std::ranges::find(found, std::string_view("AStageThatNeedsALengthOnly"), &Found::name);
  const auto program = std::make_shared<const Program>(parse_program("found", one->text));
  const Machine machine = detect_machine();
  Plan plan = default_plan(*program, machine).plan;
  ASSERT_EQ(plan.blocks[0].clusters.size(), 2U);
  std::swap(plan.blocks[0].clusters[0], plan.blocks[0].clusters[1]);
  const auto result = elaborate(program, machine, plan);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.why().text, "'a' runs before the length of 'g_keys', which it needs, is known");
}

/// The accumulator of a tile goes to memory the way that the plan says.
TEST(FuzzFoundPlan, ATileThatIsStreamed) {
  FuzzCase one;
  one.program = std::make_shared<const Program>(parse_program("found", R"(
      def f(x: i64[M]) -> (v, a) {
        stage v(k < 1, i < M) {
          out v: i64[M] at [i] into x = fold(xor, k) cat(i) 0
          out a: i64[M] at [i] = fold(xor, k) cat(i) k + i
        }
      })"));
  JudgeOptions options;
  options.machine = detect_machine();
  Cluster cluster;
  cluster.instances.push_back({{"v"}, 0});
  cluster.loops = tree_of({0, {{{1, {}, By::Seq}, {0, {}, By::Unroll}}}});
  cluster.stores.push_back({0, 1, Keep::Full, 0});
  cluster.tiles.push_back({0, 1, 0});
  one.plans = {{one.program->name, options.machine.name, {{"", 0, {cluster}}}}};
  one.simplify = false;
  Rng rng(1);
  for (int k = 0; k < 4; ++k) one.inputs.push_back(random_inputs(*one.program, rng));
  const Verdict verdict = judge_isolated(one, options);
  EXPECT_EQ(verdict.kind, "") << verdict.detail;
  EXPECT_EQ(verdict.counts.at("runs"), 4);
}

/// `print` is a scalar here, and what stands on the next line does not call it.
TEST(FuzzFoundText, AScalarWithTheNameOfAnEffectAtTheEndOfALine) {
  const std::string text =
      "def f(p: i64[K], print: i64) -> a {\n  q[i < K] = print\n  (a: i64, b: i64) = (0, 0)\n}\n";
  EXPECT_EQ(print(parse_program("found", text)), text);
}

TEST(FuzzFoundCheck, AScanAroundAFoldHasNoCatInside) {
  try {
    parse_program("found", R"(
      def f(x: i64[N, M, 3]) -> a {
        stage a(i < N, k < M, j < 3) { out a: i64[N, 3] at [i, j] = scan(+, i) fold(+, k) cat(j) x[i, k, j] }
      })");
    FAIL() << "it was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.diagnostics().front().code, "E0318");
    EXPECT_EQ(error.diagnostics().front().message,
              "in stage 'a': output 'a' folds with several operators around a cat dimension");
  }
}

TEST(FuzzFoundPlan, OutputsThatAskForDifferentOrdersAreRefused) {
  const Program program = parse_program("found", R"(
      def f(x: i64[N, M, 3]) -> (a, b) {
        stage a(i < N, j < M, k < 3) {
          out a: i64[N, M] at [i, j] = scan(+, i) cat(j) fold(max, k) x[i, j, k]
          out b: i64[N, M] at [i, j] = cat(i) scan(+, j) fold(max, k) x[i, j, k]
        }
      })");
  try {
    default_plan(program, detect_machine());
    FAIL() << "there is a plan";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "found:3:15: not supported[E0403]: no order of loops computes all outputs of stage 'a': 'a' "
                 "is folded or guarded as well as scanned\n"
                 "            stage a(i < N, j < M, k < 3) {\n"
                 "                  ^\n"
                 "  help: make it several stages\n");
  }
}

/// A recurrence of 4000 steps, each of which folds 4000 values with an operator that is no plain one: to
/// follow all of them would take minutes.
TEST(FuzzFoundBounds, AreGivenUpWhereLoopsAreNested) {
  const Program program = parse_program("found", R"(
      op creep(a: f64, b: f64) -> f64 associative commutative {
        identity 0
        a + b * 0.000000001
      }
      def f() -> y {
        stage y(t < 4000, k < 4000) {
          out y: f64[4000] at [t] = seq(t) fold(creep, k) (if t > 0 then y[t - 1] else 0) + 1
        }
      })");
  ErrorBounds bounds(program, {});
  bounds.program({});
  EXPECT_EQ(bounds[program.stages[0].outputs[0].array][0].error, std::numeric_limits<double>::infinity());
}

/// Nobody reads the new version of `u`, and the stage that makes it is left out: then `u` itself can be.
TEST(FuzzFoundPlan, AStageAndItsNewVersionAreLeftOutTogether) {
  const auto program = std::make_shared<const Program>(parse_program("found", R"(
      def f(x: f64[N]) -> y {
        u[i < N] = x[i] + 1.0
        stage v(i < N) {
          out v: f64[N] at [i] into u = cat(i) 2.0 * u[i]
          out w: f64[N] at [i] = cat(i) u[i] * 3.0
        }
        y[i < N] = w[i] + u[i]
      })"));
  const std::vector<ClusterSets> only_y = {{"", 0, {{{"y"}}}}};
  const auto fused = fuse_clusters(program, only_y);
  ASSERT_TRUE(fused) << fused.why().text;
  ASSERT_EQ((*fused)->stages.size(), 1);
  EXPECT_EQ(print(**fused), "def f(x: f64[N]) -> y {\n  y[i] = (x[i] + 1.0) * 3.0 + (x[i] + 1.0)\n}\n");
}

/// Rows side by side inside of a fold accumulate in memory, so there is nothing to collect for a strip.
TEST(FuzzFoundPlan, WhatAccumulatesInMemoryIsNotStreamed) {
  const auto program = std::make_shared<const Program>(parse_program("found", R"(
      def f(x: f64[N, M]) -> y { y[i < N, j < M] = min(k < 2) x[i, j] * k })"));
  Cluster cluster;
  cluster.instances.push_back({{"y"}, 0});
  const ChainLevel rows{0, {Cut::Kind::Step, 3}, By::Seq}, row{1, {}, By::Seq}, fold{2, {}, By::Unroll},
      copies{0, {}, By::Unroll};
  cluster.loops = tree_of({0, {{rows, row, fold, copies}}});
  const auto refusal = [&] {
    const auto result = elaborate(program, detect_machine(), {"f", "here", {{"", 0, {cluster}}}});
    return result ? "" : result.why().text;
  };
  EXPECT_EQ(refusal(), "");
  cluster.stores = {{0, 0, Keep::Full, 0}};
  EXPECT_EQ(refusal(), "'y' accumulates in memory");
  cluster.tiles = {{0, 0, 1}};
  EXPECT_EQ(refusal(), "");
}

/// What blocks print counts as well, when stages change their order.
TEST(FuzzFoundPlan, EffectsInBlocksStayInOrder) {
  const auto program = std::make_shared<const Program>(parse_program("found", R"(
      def f(x: f64[N]) -> (u, v) {
        u[i] = x[i] + 1
        v[i] = u[i] * 2
        stage first(i < N) {
          block {
            stage says() { print("in a block") }
          }
        }
        stage second() { print("after it") }
      })"));
  const auto why = [&](std::vector<std::vector<StageSet>> clusters) {
    const std::vector<ClusterSets> lists = {{"", 0, std::move(clusters)}};
    const auto fused = fuse_clusters(program, lists);
    return fused ? "" : fused.why().code + ": " + fused.why().text;
  };
  EXPECT_EQ(why({{{"u", "v"}}, {{"first"}}, {{"second"}}}), "");
  EXPECT_EQ(why({{{"u", "v"}}, {{"second"}}, {{"first"}}}),
            "effect: the effects of 'first' would happen too late");
}

/// How far a box goes may be known in an iteration of the shared loops only: then all is brought over before.
TEST(FuzzFoundPlan, ABoxWhoseEndAnIterationKnowsIsNone) {
  const auto program = std::make_shared<const Program>(parse_program("found", R"(
      def f(x: i64[N, N]) -> v {
        stage a(i < N) { out a: i64[N] at [i] = cat(i) i }
        stage v(i < N, j < min(a[i], 3)) { out v: i64[N, N] at [i, j] into x = cat(i) cat(j) 0 }
      })"));
  Cluster both;
  both.instances = {{{"a"}, 0}, {{"v"}, 0}};
  both.loops = tree_of({1, {{{0, {}, By::Seq}}, {{0, {}, By::Seq}, {1, {}, By::Simd}}}});
  both.stores = {{0, 0, Keep::Local, -1}};
  Options options;
  options.simplify = false;
  options.plan = Plan{"f", "here", {{"", 0, {both}}}};
  const Kernel kernel = *compile(program, detect_machine(), options).kernel;
  for (const std::int64_t size : {0, 1, 5}) {
    std::vector<Data> inputs;
    inputs.push_back(twill::random_data(Scalar::I64, {size, size}, 1));
    EXPECT_EQ(agreement(*program, reference_of(*program, inputs), kernel.run(inputs)).difference, "");
  }
}

/// Two new versions of an array cannot both take its memory.
TEST(FuzzFoundPlan, OneOfTwoVersionsInTheSameLoopsIsInPlace) {
  const auto program = std::make_shared<const Program>(parse_program("found", R"(
      def f(x: f64[N]) -> (v, w) {
        u[i] = x[i] + 1
        stage v(i < N) { out v: f64[N] at [i] into u = cat(i) 2.0 }
        stage w(i < N) { out w: f64[N] at [i] into u = cat(i) 3.0 }
      })"));
  Cluster first, both;
  first.instances.push_back({{"u"}, 0});
  first.loops = tree_of({0, {{{0, {}, By::Seq}}}});
  both.instances = {{{"v"}, 0}, {{"w"}, 0}};
  both.loops = tree_of({1, {{{0, {}, By::Seq}}, {{0, {}, By::Seq}}}});
  both.stores = {{0, 0, Keep::Alias, -1}};
  const auto result = elaborate(program, detect_machine(), {"f", "here", {{"", 0, {first, both}}}});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.why().text, "'w' needs the old version of 'v' in the same loops");
}

TEST(FuzzFoundPlan, AnOutputThatNobodyReadsBesideOneThatIsComputedAgain) {
  const auto program = std::make_shared<const Program>(parse_program("found", R"(
    def f(x: i64[N]) -> (y, t) {
      stage p(i < N) {
        out s: i64 = scan(+, i) x[i] where i > 3
        out p: i64[N] at [i] = cat(i) x[i] + 1
      }
      y[i] = p[i] + p[N - 1 - i]
      t[i] = x[i]
    }
  )"));
  Options options;
  options.simplify = false;
  const Compilation compilation = compile(program, detect_machine(), options);
  EXPECT_THAT(to_json(compilation.schedule->plan), testing::Not(testing::HasSubstr("\"p\"")));
}
