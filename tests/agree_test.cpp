// When a kernel and the interpreter agree, what is said when they do not, and the model of rounding errors.
#include "driver/agree.h"

#include "base/error.h"
#include "program/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace twill {
namespace {

constexpr double unit = 0x1.0p-23;  // what two roundings of an f32 can differ by

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

/// A fraction for each number below `count`, in no order.
Data fractions(std::int64_t count) {
  std::vector<double> values;
  for (std::int64_t k = 0; k < count; ++k)
    values.push_back(0.1 + static_cast<double>(k * 7919 % 1000) / 1000);
  return floats(values);
}

/// The interpreter's outcome of a program, and one in which an element differs.
class Computed {
 public:
  Computed(const std::string& text, std::vector<Data> inputs)
      : program_(parse_program("t.twill", text)), reference_(reference_of(program_, inputs)) {}

  double value(std::size_t result, std::int64_t element) const {
    return reference_.outcome.results[result].get(element).as_double();
  }
  double allowed(std::size_t result, std::int64_t element) const {
    return allowed_error(reference_.bounds[program_.results[result]][0], Scalar::F32, value(result, element));
  }
  /// An element of a result is another number.
  Agreement with(std::size_t result, std::int64_t element, double value) const {
    Outcome actual = reference_.outcome;
    Data& data = actual.results[result];
    data.set(element, Number::of_double(data.type().scalar(), value));
    return agreement(program_, reference_, actual);
  }
  bool accepts(std::size_t result, std::int64_t element, double value) const {
    return with(result, element, value).difference.empty();
  }
  const Program& program() const { return program_; }
  const Reference& reference() const { return reference_; }

 private:
  const Program program_;
  const Reference reference_;
};

const std::string shifted = "def shifted(x: f32[N]) -> y { y[i] = x[i] + 0.1 }";

TEST(Agree, TheSameIsIdentical) {
  const Computed run(shifted, {floats({1, NAN})});
  const Agreement result = agreement(run.program(), run.reference(), run.reference().outcome);
  EXPECT_TRUE(result.identical);
  EXPECT_EQ(to_string(result), "identical to the interpreter, bit by bit");
}

TEST(Agree, FloatsMayDifferByRoundings) {
  const Computed run(shifted, {floats({1, 8})});
  const Agreement near = run.with(0, 0, 1.1 * (1 + unit));
  EXPECT_EQ(near.difference, "");
  EXPECT_FALSE(near.identical);
  EXPECT_EQ(to_string(near), "the interpreter's, up to an error of 1.2e-07 (1.3e-07 is allowed)");
  EXPECT_EQ(run.with(0, 0, 1.1 * (1 + 4 * unit)).difference,
            "'y[0]' is 1.1000005, the interpreter says 1.1 (1 of 2 elements differ)");
}

TEST(Agree, WhatStandsBesideALongSumIsHeldToItsOwnRoundings) {
  const Computed run(
      "def f(x: f32[N]) -> (y, s, z) { y[i] = sqrt(x[i]) * 0.3 + x[i]; s = sum(i) x[i]; z[i] = x[i] / s }",
      {fractions(100000)});
  EXPECT_FALSE(run.accepts(0, 5, run.value(0, 5) * (1 + 1e-4)));
  EXPECT_FALSE(run.accepts(0, 5, run.value(0, 5) * (1 - 1e-5)));
  EXPECT_TRUE(run.accepts(0, 5, run.value(0, 5) * (1 + 2e-7)));
  EXPECT_TRUE(run.accepts(1, 0, run.value(1, 0) * (1 + 1e-4)));
  EXPECT_TRUE(run.accepts(2, 7, run.value(2, 7) * (1 + 1e-4)));
  EXPECT_FALSE(run.accepts(1, 0, run.value(1, 0) * 1.1));
}

TEST(Agree, SmallElementsAreHeldToTheirOwnSize) {
  const Computed run("def f(x: f32[N]) -> y { y[i] = exp(x[i]) }", {floats({-12, 3})});
  EXPECT_TRUE(run.accepts(0, 0, run.value(0, 0) * (1 + 4 * unit)));
  EXPECT_FALSE(run.accepts(0, 0, run.value(0, 0) * (1 + 1e-4)));
}

TEST(Agree, CancellationLeavesTheErrorsOfItsTerms) {
  const Computed run("def f(x: f32[N], z: f32[N]) -> y { y[i] = x[i] * x[i] - z[i] * z[i] }",
                     {floats({1.1, 2.2}), floats({1.1, 2.1})});
  EXPECT_GT(run.allowed(0, 0), 4 * unit);
  EXPECT_LT(run.allowed(0, 0), 40 * unit);
}

TEST(Agree, SoftmaxIsHeldToTheLengthOfItsSum) {
  const Computed run(
      "def f(x: f32[N]) -> y { m = max(i) x[i]; e[i] = exp(x[i] - m); s = sum(i) e[i]; y[i] = e[i] / s }",
      {fractions(1000)});
  EXPECT_LT(run.allowed(0, 3), 3000 * unit * run.value(0, 3));
  EXPECT_GT(run.allowed(0, 3), 100 * unit * run.value(0, 3));
}

TEST(Agree, LoopsAddTheirSteps) {
  const std::string heat =
      "def heat(u0: f32[N], T: i32) -> u { u = seq t < T from u0 { u[i] = 0.25 * u[clamp(i-1)] + 0.5 * u[i] "
      "+ "
      "0.25 * u[clamp(i+1)] } }";
  const auto steps = [&](std::int64_t count) {
    return Computed(heat, {fractions(50), Data::scalar(Number::of(Scalar::I32, count))}).allowed(0, 20);
  };
  EXPECT_GT(steps(100), 5 * steps(10));
  EXPECT_LT(steps(100), 1000 * unit);
}

TEST(Agree, HalfOfTheDigitsAgreeWhereErrorsGrowBeyondBounds) {
  const Computed run("def f(x: f32[N]) -> y { y[i] = seq(i) 3.7 * x[i] * (if i > 0 then 3 * y[i-1] else 1) }",
                     {floats(std::vector<double>(100, 0.09))});
  EXPECT_TRUE(run.accepts(0, 99, run.value(0, 99) * (1 + 1e-5)));
  EXPECT_FALSE(run.accepts(0, 99, run.value(0, 99) * (1 + 1e-2)));
}

TEST(Agree, WideResultsAreAsGoodAsTheNarrowNumbersTheyAreMadeOf) {
  const Computed mean("def f(x: f32[N]) -> m { m = f64(sum(i) x[i]) / N }", {fractions(10000)});
  EXPECT_TRUE(mean.accepts(0, 0, mean.value(0, 0) * (1 + 2e-6)));
  EXPECT_FALSE(mean.accepts(0, 0, mean.value(0, 0) * 1.01));
  const Computed each("def f(x: f32[N]) -> y { y[i] = f64(x[i] * x[i] + 0.1 * x[i]) }", {fractions(10)});
  EXPECT_TRUE(each.accepts(0, 3, each.value(0, 3) * (1 + unit / 2)));
  EXPECT_FALSE(each.accepts(0, 3, each.value(0, 3) * (1 + 16 * unit)));
}

TEST(Agree, WhatIsComputedFromASumMayAmplifyItsError) {
  const Computed run("def f(x: f32[N]) -> y { a = sum(i) x[i]; y = sin(a * 100) }", {fractions(1000)});
  EXPECT_TRUE(run.accepts(0, 0, run.value(0, 0) + 0.01));
}

TEST(Agree, SizesAreKnownWhereSomethingIsDividedByThem) {
  const Computed run(
      "def f(x: f32[N]) -> y { a = sum(i) x[i]; b = sum(i) x[i] * x[i]; y = b / N - (a / N) * (a / N) }",
      {fractions(1000)});
  EXPECT_TRUE(run.accepts(0, 0, run.value(0, 0) + 1e-6));
  EXPECT_FALSE(run.accepts(0, 0, run.value(0, 0) + 0.01));
}

TEST(Agree, AnOperatorOfTheUsersIsHeldToTheSizeOfItsValues) {
  const Computed run(
      "type C = { re: f64, im: f64 }\n"
      "op cmul(a: C, b: C) -> C associative { identity { re: 1.0, im: 0.0 }\n"
      "  { re: a.re * b.re - a.im * b.im, im: a.re * b.im + a.im * b.re } }\n"
      "def f(x: f32[N]) -> y { p = fold(cmul, i) C { re: f64(x[i]), im: f64(x[i]) / 2 }; y = p.re }",
      {fractions(200)});
  EXPECT_LT(run.allowed(0, 0), 1);
}

TEST(Agree, StrictProgramsAreIdentical) {
  const Computed run("strict " + shifted, {floats({0.9})});
  EXPECT_EQ(run.with(0, 0, 1 + unit).difference,
            "'y[0]' is 1.0000001, the interpreter says 1 (1 of 1 elements differ)");
}

TEST(Agree, IntegersInFloatsHaveNoErrorToHideIn) {
  const Computed run("def f(x: f32[N]) -> s { s = sum(i) x[i] }", {floats({2, 2, 2})});
  EXPECT_FALSE(run.accepts(0, 0, 6 * (1 + unit)));
}

TEST(Agree, SignsOfZerosCountOnlyInStrictPrograms) {
  const Computed loose("def f(x: f32[N]) -> y { y[i] = x[i] * 2 }", {floats({0})});
  EXPECT_EQ(to_string(loose.with(0, 0, -0.0)), "the interpreter's, up to the signs of zeros");
  const Computed strict("strict def f(x: f32[N]) -> y { y[i] = x[i] * 2 }", {floats({0})});
  EXPECT_FALSE(strict.accepts(0, 0, -0.0));
}

TEST(Agree, NothingIsNearInfinityAndNan) {
  const Computed run(shifted, {floats({1, NAN, HUGE_VAL})});
  for (const double wrong : {HUGE_VAL, std::nan("")}) EXPECT_FALSE(run.accepts(0, 0, wrong));
  EXPECT_FALSE(run.accepts(0, 1, 1));
  EXPECT_FALSE(run.accepts(0, 2, 1));
}

const std::string counted = "def counted(x: i64[N]) -> y { y[i] = 2 * x[i] }";

TEST(Agree, IntegersAreTheSame) {
  const Computed run(counted, {integers({1, 2, 3})});
  EXPECT_EQ(run.with(0, 1, 5).difference, "'y[1]' is 5, the interpreter says 4 (1 of 3 elements differ)");
}

TEST(Agree, ShapesAreTheSame) {
  const Computed run(counted, {integers({1, 2})});
  Outcome actual = run.reference().outcome;
  actual.results[0] = integers({2});
  EXPECT_EQ(agreement(run.program(), run.reference(), actual).difference,
            "'y' has the shape [1], the interpreter says [2]");
}

TEST(Agree, EffectsAreTheSameInTheirOrder) {
  const Computed run("def f(n: i64) -> y { y = n; print(\"a\"); print(\"b\") }",
                     {Data::scalar(Number::of(Scalar::I64, 1))});
  Outcome actual = run.reference().outcome;
  actual.effects[1].text = "a";
  EXPECT_EQ(agreement(run.program(), run.reference(), actual).difference,
            "effect 2 is 'a', the interpreter says 'b'");
  actual.effects.clear();
  EXPECT_EQ(agreement(run.program(), run.reference(), actual).difference,
            "effect 1 is nothing, the interpreter says 'a'");
}

TEST(Agree, FloatsThatEffectsShowMayDifferByRoundings) {
  const Computed run("def f(x: f32[N]) { s = sum(i) x[i]; print(\"sum\", s) }", {fractions(1000)});
  const auto with = [&](const std::string& text) {
    Outcome actual = run.reference().outcome;
    actual.effects[0].text = text;
    return agreement(run.program(), run.reference(), actual);
  };
  const std::string exact = run.reference().outcome.effects[0].text;
  const double sum = std::stod(exact.substr(4));
  EXPECT_TRUE(with(exact).identical);
  const Agreement near = with("sum " + std::to_string(sum * (1 + 1e-6)));
  EXPECT_EQ(near.difference, "");
  EXPECT_FALSE(near.identical);
  EXPECT_NE(with("sum " + std::to_string(sum * 1.1)).difference, "");
  EXPECT_NE(with("total " + std::to_string(sum)).difference, "");
  EXPECT_NE(with(exact + " 1").difference, "");
}

TEST(Agree, IntegersBesideFloatsInEffectsAreTheSame) {
  const Computed run("def f(x: f32[N]) { s = sum(i) x[i]; print(N, s) }", {fractions(1000)});
  Outcome actual = run.reference().outcome;
  std::string& text = actual.effects[0].text;
  ASSERT_EQ(text.substr(0, 5), "1000 ");
  text.replace(0, 4, "1001");
  EXPECT_NE(agreement(run.program(), run.reference(), actual).difference, "");
}

TEST(Agree, ARemainderMayBeAWholeDivisorApart) {
  const Computed run("def f(x: f32[N]) -> y { a = sum(i) x[i]; y = a % 0.1 }", {fractions(1000)});
  EXPECT_TRUE(run.accepts(0, 0, run.value(0, 0) > 0.05 ? 0.001 : 0.099));
  EXPECT_FALSE(run.accepts(0, 0, run.value(0, 0) + 0.2));
}

std::string complaint(const Computed& run, double value) {
  Outcome actual = run.reference().outcome;
  Data& data = actual.results[0];
  data.set(0, Number::of_double(data.type().scalar(), value));
  try {
    require_agreement(run.program(), run.reference(), actual);
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(Agree, DisagreementIsABugOfOurs) {
  const Computed exact("strict def exact(x: f32[N]) -> y { y[i] = 2 * x[i] }", {floats({0.5})});
  EXPECT_EQ(complaint(exact, 1), "no error");
  EXPECT_EQ(complaint(exact, 2),
            "t.twill:1:12: bug in Twill[B0002]: the kernel and the interpreter disagree: 'y[0]' is 2, the "
            "interpreter says 1 (1 of 1 elements differ)\n"
            "    strict def exact(x: f32[N]) -> y { y[i] = 2 * x[i] }\n"
            "               ^^^^^\n"
            "  help: please report it with the program and its inputs\n");
  EXPECT_EQ(
      complaint(Computed(shifted, {floats({0.9})}), 2),
      "t.twill:1:5: bug in Twill[B0002]: the kernel and the interpreter disagree: 'y[0]' is 2, the "
      "interpreter says 1 (1 of 1 elements differ)\n"
      "    def shifted(x: f32[N]) -> y { y[i] = x[i] + 0.1 }\n"
      "        ^^^^^^^\n"
      "  help: a condition that depends on a rounding can do this, and so can a recurrence that amplifies "
      "roundings: with --strict the results must be identical\n");
}

}  // namespace
}  // namespace twill
