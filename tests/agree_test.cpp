// When a kernel and the interpreter agree, and what is said when they do not.
#include "driver/agree.h"

#include "base/error.h"
#include "program/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace twill {
namespace {

Data floats(const std::vector<double>& values) {
  Data data(Scalar::F32, {static_cast<std::int64_t>(values.size())});
  for (std::size_t k = 0; k < values.size(); ++k)
    data.set(static_cast<std::int64_t>(k), Number::of_double(Scalar::F32, values[k]));
  return data;
}

Data integers(const std::vector<std::int64_t>& values) {
  Data data(Scalar::I64, {static_cast<std::int64_t>(values.size())});
  for (std::size_t k = 0; k < values.size(); ++k)
    data.set(static_cast<std::int64_t>(k), Number::of(Scalar::I64, values[k]));
  return data;
}

Outcome outcome(Data result, std::vector<EffectEvent> effects = {}) {
  Outcome made;
  made.results.push_back(std::move(result));
  made.sizes = {{"N", made.results[0].count()}};
  made.effects = std::move(effects);
  return made;
}

const Program doubled = parse_program("t.twill", "def doubled(x: f32[N]) -> y { y[i] = 2 * x[i] }");
const Program exact = parse_program("t.twill", "strict def exact(x: f32[N]) -> y { y[i] = 2 * x[i] }");
const Program counted = parse_program("t.twill", "def counted(x: i64[N]) -> y { y[i] = 2 * x[i] }");

TEST(Agree, TheSameIsIdentical) {
  const Agreement result = agreement(doubled, outcome(floats({1, NAN})), outcome(floats({1, NAN})));
  EXPECT_TRUE(result.identical);
  EXPECT_EQ(to_string(result), "identical to the interpreter, bit by bit");
}

TEST(Agree, FloatsMayDifferByRoundings) {
  // 32 roundings for the formula and 4 for the one value, relative to the largest element.
  const double unit = 0x1.0p-24;
  const Agreement near = agreement(doubled, outcome(floats({1, 8})), outcome(floats({1 + 64 * unit, 8})));
  EXPECT_EQ(near.difference, "");
  EXPECT_FALSE(near.identical);
  EXPECT_DOUBLE_EQ(near.error, 8 * unit);
  EXPECT_DOUBLE_EQ(near.tolerance, 36 * unit);
  EXPECT_EQ(to_string(near), "the interpreter's, up to an error of 4.8e-07 (2.1e-06 is allowed)");
  const Agreement far = agreement(doubled, outcome(floats({0, 1})), outcome(floats({0, 1 + 64 * unit})));
  EXPECT_EQ(far.difference, "'y[1]' is 1.0000038, the interpreter says 1 (1 of 2 elements differ)");
}

TEST(Agree, LongSumsMayDifferByMore) {
  const Program sum = parse_program("t.twill", "def sum_of(x: f32[N]) -> s { s = sum(i) x[i] }");
  Outcome expected = outcome(Data::scalar(Number::of_double(Scalar::F32, 1)));
  expected.sizes = {{"N", 1000}};
  EXPECT_DOUBLE_EQ(agreement(sum, expected, expected).tolerance, (32 + 4 * 1000) * 0x1.0p-24);
}

TEST(Agree, StrictProgramsAreIdentical) {
  EXPECT_EQ(agreement(exact, outcome(floats({1})), outcome(floats({1 + 0x1.0p-23}))).difference,
            "'y[0]' is 1.0000001, the interpreter says 1 (1 of 1 elements differ)");
}

TEST(Agree, NothingIsNearInfinityAndNan) {
  for (const double wrong : {HUGE_VAL, std::nan("")})
    EXPECT_NE(agreement(doubled, outcome(floats({1})), outcome(floats({wrong}))).difference, "");
  EXPECT_NE(agreement(doubled, outcome(floats({NAN})), outcome(floats({1}))).difference, "");
}

TEST(Agree, IntegersAreTheSame) {
  EXPECT_EQ(agreement(counted, outcome(integers({1, 2, 3})), outcome(integers({1, 5, 4}))).difference,
            "'y[1]' is 5, the interpreter says 2 (2 of 3 elements differ)");
}

TEST(Agree, ShapesAreTheSame) {
  EXPECT_EQ(agreement(counted, outcome(integers({1, 2})), outcome(integers({1}))).difference,
            "'y' has the shape [1], the interpreter says [2]");
}

TEST(Agree, EffectsAreTheSameInTheirOrder) {
  const EffectEvent a{"print", "a"}, b{"print", "b"};
  EXPECT_EQ(agreement(counted, outcome(integers({}), {a, b}), outcome(integers({}), {a, a})).difference,
            "effect 2 is 'a', the interpreter says 'b'");
  EXPECT_EQ(agreement(counted, outcome(integers({}), {a}), outcome(integers({}))).difference,
            "effect 1 is nothing, the interpreter says 'a'");
}

std::string complaint(const Program& program, const Outcome& expected, const Outcome& actual) {
  try {
    require_agreement(program, expected, actual);
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(Agree, DisagreementIsABugOfOurs) {
  EXPECT_EQ(complaint(exact, outcome(floats({1})), outcome(floats({1}))), "no error");
  EXPECT_EQ(complaint(exact, outcome(floats({1})), outcome(floats({2}))),
            "t.twill:1:12: bug in Twill[B0002]: the kernel and the interpreter disagree: 'y[0]' is 2, the "
            "interpreter says 1 (1 of 1 elements differ)\n"
            "    strict def exact(x: f32[N]) -> y { y[i] = 2 * x[i] }\n"
            "               ^^^^^\n"
            "  help: please report it with the program and its inputs\n");
  EXPECT_EQ(complaint(counted, outcome(integers({1})), outcome(integers({2}))),
            "t.twill:1:5: bug in Twill[B0002]: the kernel and the interpreter disagree: 'y[0]' is 2, the "
            "interpreter says 1 (1 of 1 elements differ)\n"
            "    def counted(x: i64[N]) -> y { y[i] = 2 * x[i] }\n"
            "        ^^^^^^^\n"
            "  help: a condition that depends on a rounding can do this: with --strict the results must be "
            "identical\n");
}

}  // namespace
}  // namespace twill
