// The text language: what statements mean in the program model, and that general programs round-trip.
#include "program/text.h"
#include "program/interpret.h"

#include <gtest/gtest.h>

namespace twill {
namespace {

Program program_of(const std::string& text) { return parse_program("t.twill", text); }

void round_trips(const Program& program) {
  const std::string text = print(program);
  SCOPED_TRACE(text);
  EXPECT_TRUE(same(program, program_of(text)));
}

std::string printed(const std::string& text) {
  const Program program = program_of(text);
  round_trips(program);
  return print(program);
}

Data floats(std::vector<double> values) {
  std::vector<Number> numbers;
  for (const double v : values) numbers.push_back(Number::of_double(Scalar::F64, v));
  return Data::of(Scalar::F64, {static_cast<std::int64_t>(values.size())}, numbers);
}

std::vector<double> run(const std::string& text, std::vector<Data> inputs) {
  const Outcome outcome = interpret(program_of(text), inputs);
  std::vector<double> values;
  for (std::int64_t i = 0; i < outcome.results[0].count(); ++i)
    values.push_back(outcome.results[0].get(i).as_double());
  return values;
}

TEST(Text, FoldsAreLiftedOverTheIndicesTheyUse) {
  EXPECT_EQ(printed("def f(x: f64[N, M]) -> y { y[i, j] = x[i, j] / sum(k) x[i, k] }"),
            "def f(x: f64[N, M]) -> y {\n"
            "  y_sum[i] = sum(k) x[i, k]\n"
            "  y[i, j] = x[i, j] / y_sum[i]\n"
            "}\n");
}

TEST(Text, GuardedFoldsStayAtTheirPoint) {
  const Program p = program_of(
      "def f(ptr: i32[R + 1], v: i64[Z]) -> m {\n"
      "  m[r] = if ptr[r] < ptr[r + 1] then sum(p in ptr[r] .. ptr[r + 1]) 10 / v[p] else 0\n}");
  ASSERT_EQ(p.stages.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<Nested>(p.stages[0].body));
  round_trips(p);
}

TEST(Text, FoldsOfTruthsReachOverComparisons) {
  EXPECT_EQ(printed("def f(x: f64[N]) -> s { s = all(i < N - 1) x[i] <= x[i + 1] }"),
            "def f(x: f64[N]) -> s {\n"
            "  s = all(i < N - 1) x[i] <= x[i + 1]\n"
            "}\n");
  EXPECT_EQ(printed("def f(x: f64[N, M]) -> s { s[i] = all(j) any(k) 0 < x[i, j] + x[i, k] < 1 }"),
            "def f(x: f64[N, M]) -> s {\n"
            "  s[i] = all(j) any(k) (0.0 < x[i, j] + x[i, k] and x[i, j] + x[i, k] < 1.0)\n"
            "}\n");
  EXPECT_EQ(printed("def f(x: bool[N]) -> s { s[i] = scan(or, i) not x[i] }"),
            "def f(x: bool[N]) -> s {\n"
            "  s[i] = scan(or, i) not x[i]\n"
            "}\n");
}

TEST(Text, FoldsOfTruthsEndBeforeAndAndOr) {
  const std::string ends = "def f(x: i64[N], b: bool) -> s { s = any(i) x[i] > 3 and b or all(i) x[i] == 0 }";
  const std::string same_thing =
      "def f(x: i64[N], b: bool) -> s { s = ((any(i) (x[i] > 3)) and b) or (all(i) (x[i] == 0)) }";
  round_trips(program_of(ends));
  EXPECT_TRUE(same(program_of(ends), program_of(same_thing)));
  EXPECT_EQ(printed("def f(x: bool[N], y: bool[N]) -> s { s = any(i) (x[i] and y[i]) }"),
            "def f(x: bool[N], y: bool[N]) -> s {\n"
            "  s = any(i) (x[i] and y[i])\n"
            "}\n");
}

TEST(Text, OtherFoldsEndBeforeComparisons) {
  EXPECT_TRUE(same(program_of("def f(x: i64[N]) -> s { s = sum(i) x[i] > 3 }"),
                   program_of("def f(x: i64[N]) -> s { s = (sum(i) x[i]) > 3 }")));
}

TEST(Text, RecurrencesFoldTheirOwnPast) {
  const std::string text =
      "def f(a: f64[N]) -> x { x[i] = seq(i) sum(k <= i) (if k < i then x[k] else a[i]) }";
  round_trips(program_of(text));
  EXPECT_EQ(run(text, {floats({1, 1, 1, 1})}), (std::vector<double>{1, 2, 4, 8}));
}

TEST(Text, WhereBoundsBecomeRanges) {
  EXPECT_EQ(printed("def f(x: f64[N]) -> s { s = sum(i) x[i] where 2 <= i, i < N - 1, x[i] > 0 }"),
            "def f(x: f64[N]) -> s {\n"
            "  s = sum(i in 2 .. N - 1) x[i] where x[i] > 0.0\n"
            "}\n");
}

TEST(Text, ConstantsTakeTheTypeTheyMeet) {
  EXPECT_EQ(printed("def f(x: f32[N]) -> y { w = [1, 2]; y[i] = sum(k < 2) (2 * w[k] + 1) * x[i] }"),
            "def f(x: f32[N]) -> y {\n"
            "  const w: f32[2] = [1.0, 2.0]\n"
            "  y[i] = sum(k) (2.0 * w[k] + 1.0) * x[i]\n"
            "}\n");
}

TEST(Text, LoopsCarryStates) {
  EXPECT_EQ(
      run("def f(x: f64[N]) -> y { y = seq t < 3 from x { y[i] = y[i] * 2 where 0 < i } }", {floats({1, 1})}),
      (std::vector<double>{1, 8}));
  EXPECT_EQ(run("def f(b: f64) -> r { r = seq while r * r < b from 0.0 { r = r + 1 } }",
                {Data::scalar(Number::of_double(Scalar::F64, 10))}),
            (std::vector<double>{4}));
}

TEST(Text, CollectionsGroupsAndRows) {
  EXPECT_EQ(run("def f(x: f64[N]) -> y { y = [ 2 * v | v in x, v > 1 ] }", {floats({1, 2, 3})}),
            (std::vector<double>{4, 6}));
  EXPECT_EQ(run("def f(x: f64[N]) -> m { g = group [ (i64(v) % 2, v) | v in x ]; m[b] = sum(j) g[b][j] }",
                {floats({1, 2, 3, 4})}),
            (std::vector<double>{4, 6}));
  EXPECT_EQ(run("def f(x: f64[N]) -> s { c = [ [ v | j < i + 1 ] | i < 3, v in x ]; s[r] = sum [ e | e in "
                "c[r, 0] ] where r < 3 }",
                {floats({5})}),
            (std::vector<double>{5, 10, 15}));
}

TEST(Text, OperatorsWithPropertiesOfTheirOwnRoundTrip) {
  EXPECT_EQ(printed("fn pick(a: f64, b: f64) -> f64 = if a > b then a else b\n"
                    "op most = pick associative commutative { identity -inf }\n"
                    "op plus(f64) = + associative { identity 1.0 }\n"
                    "def f(x: f64[N]) -> (m, s) { m = fold(most, i) x[i]; s = fold(plus, i) pick(x[i], 0) }"),
            "op pick(a: f64, b: f64) -> f64 associative commutative {\n"
            "  identity -inf\n"
            "  if a > b then a else b\n"
            "}\n"
            "op combine(f64) = + associative { identity 1.0 }\n"
            "\n"
            "def f(x: f64[N]) -> (m, s) {\n"
            "  m = fold(pick, i) x[i]\n"
            "  s = fold(combine, i) pick(x[i], 0.0)\n"
            "}\n");
}

TEST(Text, BoundsOnTheLeftTellHowFarAnIndexRuns) {
  EXPECT_EQ(printed("def f(ptr: i64[M + 1], x: i64[M, N]) -> v {\n"
                    "  v[i, j < ptr[i + 1] - ptr[i]] into x = ptr[i]\n}"),
            "def f(ptr: i64[M + 1], x: i64[M, N]) -> v {\n"
            "  v[i, j < ptr[i + 1] - ptr[i]] into x = ptr[i]\n"
            "}\n");
  EXPECT_EQ(printed("def f(ptr: i64[M + 1], x: i64[M, N]) -> v {\n"
                    "  v[i < M, j < ptr[i]] into x = ptr[i]\n}"),
            "def f(ptr: i64[M + 1], x: i64[M, N]) -> v {\n"
            "  v[i < M, j < ptr[i]] into x = ptr[i]\n"
            "}\n");
}

TEST(Text, IndicesOfCalledDefinitionsKeepAwayFromSizes) {
  const Module module = parse("t.twill",
                              "def total(x: f64[N]) -> s { s = sum(k) x[k] }\n"
                              "def f(x: f64[k]) -> (s, n) { s = total(x); n = k }\n");
  EXPECT_EQ(print(module.programs[1]),
            "def f(x: f64[k]) -> (s, n) {\n"
            "  s = sum(k_2) x[k_2]\n"
            "  n = k\n"
            "}\n");
  round_trips(module.programs[1]);
}

TEST(Text, TheStepOfALoopHidesNothing) {
  EXPECT_EQ(run("def f(x: f64[N], step: f64) -> y { a = seq while a < 4 from 0.0 { a = a + step }\n"
                "  y[i] = a + x[i] }",
                {floats({1, 2}), Data::scalar(Number::of_double(Scalar::F64, 2))}),
            (std::vector<double>{5, 6}));
}

TEST(Text, ConditionsOfLoopsMayFold) {
  const std::string text =
      "def f(u0: f64[N]) -> u { u = seq n while n < 3 and any(i) u[i] > 1 from u0 { u[i] = 0.5 * u[i] } }";
  EXPECT_EQ(printed(text),
            "def f(u0: f64[N]) -> u {\n"
            "  u_while_init_any = any(i) u0[i] > 1.0\n"
            "  u_while_init = true and u_while_init_any\n"
            "  (u, u_while) = seq n while u_while_now from (u0, u_while_init) {\n"
            "    u_next[i] = 0.5 * u_now[i]\n"
            "    u_while_next_any = any(i) u_next[i] > 1.0\n"
            "    u_while_next = n + 1 < 3 and u_while_next_any\n"
            "  }\n"
            "}\n");
  EXPECT_EQ(run(text, {floats({1, 3})}), (std::vector<double>{0.25, 0.75}));
  EXPECT_EQ(run(text, {floats({1, 64})}), (std::vector<double>{0.125, 8}));
  EXPECT_EQ(run(text, {floats({1, 0.5})}), (std::vector<double>{1, 0.5}));
  // The next state may be named; the condition is about it, and what it guards is not evaluated elsewhere.
  EXPECT_EQ(run("def f(u0: f64[N], p: i64[M]) -> u {\n"
                "  u = seq while N > 0 and sum(j) u0[p[j]] < sum(i) u[i] from u0 { u_next[i] = u[i] - 1 }\n}",
                {floats({}), Data::of(Scalar::I64, {1}, std::vector<Number>{Number::of(Scalar::I64, 5)})}),
            std::vector<double>{});
}

TEST(Text, EffectsMayFold) {
  const Program p = program_of(
      "def f(ptr: i64[R + 1], v: f64[Z]) {\n"
      "  for r { print(r, max(p in ptr[r] .. ptr[r + 1]) v[p]) where ptr[r] < ptr[r + 1] }\n"
      "  for x in v, x > 1 { print(x, sum(i) v[i] * x) where any(i) v[i] == 10 / x }\n}");
  round_trips(p);
  std::vector<Number> ends;
  for (const int end : {0, 2, 2, 3}) ends.push_back(Number::of(Scalar::I64, end));
  const Outcome outcome = interpret(p, std::vector{Data::of(Scalar::I64, {4}, ends), floats({2, 5, 1})});
  std::string text;
  for (const EffectEvent& effect : outcome.effects) text += effect.text + "\n";
  EXPECT_EQ(text, "0 5\n2 1\n2 16\n5 40\n");
}

TEST(Text, WhatStandsBeforeAFoldIsKnownBehindIt) {
  EXPECT_EQ(run("def f(x: f64[N], p: i64[N]) -> y {\n"
                "  y[i < N] = if i > 0 and any(j) x[p[j]] > 2 then x[i-1] else if i == 0 or all(j) x[p[j]] > "
                "i then -1 "
                "else x[i-1] }",
                {floats({1, 3}),
                 Data::of(Scalar::I64, {2},
                          std::vector<Number>{Number::of(Scalar::I64, 1), Number::of(Scalar::I64, 0)})}),
            (std::vector<double>{-1, 1}));
}

TEST(Text, LiteralsOfEveryTypeRoundTrip) {
  round_trips(program_of(
      "def f() -> (a, b, c, d, e, g, h) { a: i64 = -9223372036854775808; b: u64 = 18446744073709551615u64\n"
      "c: f32 = 0.1; d: f64 = -inf; e: f32 = nan; g: bool = true; h: u8 = 255 }"));
}

TEST(Text, NarrowIntegersAreComputedInI32) {
  EXPECT_EQ(printed("def f(x: u8[N]) -> (y, m, s) {\n"
                    "  y[i] = u8(x[i] + 1)\n"
                    "  m = max(i) x[i]\n"
                    "  s[i] = scan(+, i) x[i]\n"
                    "}"),
            "def f(x: u8[N]) -> (y, m, s) {\n"
            "  y[i] = u8(i32(x[i]) + 1)\n"
            "  m = max(i) x[i]\n"
            "  s[i] = scan(+, i) x[i]\n"
            "}\n");
}

TEST(Text, OperationsOnLiteralsAreLiterals) {
  EXPECT_EQ(
      printed("def f(x: f32[N]) -> y { y[i] = ceil(1.5) * x[i] + (if 2 < 1 then -(0.5f32) else 1i32 + 1) }"),
      "def f(x: f32[N]) -> y {\n"
      "  y[i] = 2.0 * x[i] + (if false then -0.5 else 2.0)\n"
      "}\n");
}

TEST(Text, SuffixesStandWhereNothingElseTellsTheType) {
  EXPECT_EQ(printed("def f(x: i32[N], c: bool[N]) -> (y, z, u) {\n"
                    "  y[i] = i32(if c[i] then 1 else 2)\n"
                    "  z[i] = if c[i] then 1i32 else 2i32\n"
                    "  u[i] = x[i] + (if c[i] then 1 else -2) + i32(f32(if c[i] then 0.5 else nan))\n"
                    "}"),
            "def f(x: i32[N], c: bool[N]) -> (y, z, u) {\n"
            "  y[i] = i32(if c[i] then 1 else 2)\n"
            "  z[i] = if c[i] then 1i32 else 2\n"
            "  u[i] = x[i] + (if c[i] then 1 else -2) + i32(f32(if c[i] then 0.5 else nan))\n"
            "}\n");
}

TEST(Text, AnIndexThatSeveralOutputsFoldIsDeclaredOnce) {
  EXPECT_EQ(printed("def f(x: f64[N]) -> (s, p) { (s[i < N], p[i]) = (sum(k < i) x[k], product(k) x[k]) }"),
            "def f(x: f64[N]) -> (s, p) {\n"
            "  (s[i < N], p[i]) = (sum(k < i) x[k], product(k) x[k])\n"
            "}\n");
}

TEST(Text, OutputsOfAGeneralStageReadEachOthersPast) {
  const std::string text =
      "def f(n: i64) -> (a, b) {\n"
      "  stage both(i < n) {\n"
      "    out a: i64[n] at [i] = seq(i) if i >= 1 then b[i - 1] else 0\n"
      "    out b: i64[n] at [i] = seq(i) if i >= 1 then a[i - 1] + b[i - 1] else 1\n"
      "  }\n"
      "}\n";
  EXPECT_EQ(printed(text), text);
}

TEST(Text, AValueOfAStageWithABlockIsNotItsResult) {
  const std::string text =
      "def f(x: i64[N], n: i64) -> (a, b, c, d) {\n"
      "  stage every(i < N) {\n"
      "    block {\n"
      "      t = x[i] + 1\n"
      "    }\n"
      "    out a: i64[N] at [i] = cat(i) t\n"
      "    out b: i64 = fold(+, i) t[]\n"
      "    out c: i64 = fold(+, i) i\n"
      "    out d: i64 = fold(+, i) n[]\n"
      "  }\n"
      "}\n";
  EXPECT_EQ(printed(text), text);
}

TEST(Text, ABraceBehindAConditionBeginsABlock) {
  EXPECT_EQ(run("def f(x: f64[N], n: i64) -> y {\n"
                "  if 1 < min(n, 2) { y[i] = x[i] } else { y[i] = -x[i] }\n"
                "}",
                {floats({1, 2}), Data::scalar(Number::of(Scalar::I64, 1))}),
            (std::vector<double>{-1, -2}));
}

TEST(Text, AFoldWithAnOperatorEndsWithItsLine) {
  EXPECT_EQ(printed("def f(x: i64[N]) -> (a, b) {\n"
                    "  a = fold(bit_or, i) max(x[i], 0)\n"
                    "  (b[i], s) = (x[i], sum(i) x[i])\n"
                    "}"),
            "def f(x: i64[N]) -> (a, b) {\n"
            "  a = fold(bit_or, i) max(x[i], 0)\n"
            "  (b[i], s) = (x[i], sum(i) x[i])\n"
            "}\n");
}

TEST(Text, AnIndexWalksInsideACollectionThatItBounds) {
  EXPECT_EQ(printed("def f(x: f64[N]) -> c { c[i] = [ x[i] | j < i ] }"),
            "def f(x: f64[N]) -> c {\n"
            "  c[i] = [ x[i] | j < i ]\n"
            "}\n");
}

TEST(Text, NamesOfTypesAreQuoted) {
  EXPECT_EQ(printed("def f(x: f64[N]) -> `f32` { `f32` = max(`i32`) x[`i32`] }"),
            "def f(x: f64[N]) -> `f32` {\n"
            "  `f32` = max(`i32`) x[`i32`]\n"
            "}\n");
}

TEST(Text, AnOperatorOfTheUserCombinesHalfFloats) {
  const std::string text =
      "op last(a: f16, b: f16) -> f16 associative {\n"
      "  b\n"
      "}\n"
      "\n"
      "def f(x: f16[N]) -> y {\n"
      "  y = fold(last, i) x[i]\n"
      "}\n";
  EXPECT_EQ(printed(text), text);
}

TEST(Text, TestsBecomeStepsAndExpectations) {
  const Module m = parse(
      "t.twill",
      "def f(x: f32[N]) -> y { y[i] = 2 * x[i] }\n"
      "test \"doubles\" { x = [1, 2]; y = f(x); expect y ~ [2, 4]; expect y[i] == x[i] + x[i], passes <= 1\n"
      "  expect error \"never\" }");
  ASSERT_EQ(m.tests.size(), 1U);
  const twill::Test& t = m.tests[0];
  ASSERT_EQ(t.steps.size(), 2U);
  const auto& x = std::get<Data>(std::get<TestBinding>(t.steps[0]).value);
  EXPECT_TRUE(x.type().is(Scalar::F32));
  ASSERT_EQ(t.expectations.size(), 4U);
  const auto& whole = std::get<ValueExpectation>(t.expectations[0]);
  EXPECT_EQ(whole.text, "y ~ [2, 4]");
  Data y(Scalar::F32, {2});
  y.set(0, Number::of_double(Scalar::F32, 2));
  y.set(1, Number::of_double(Scalar::F32, 4));
  EXPECT_EQ(interpret(whole.holds, std::vector<Data>{y}).results[0].get(0).as_int(), 1);
  y.set(1, Number::of_double(Scalar::F32, 5));
  EXPECT_EQ(interpret(whole.holds, std::vector<Data>{y}).results[0].get(0).as_int(), 0);
  EXPECT_EQ(std::get<StructureExpectation>(t.expectations[2]).quantity, "passes");
  EXPECT_EQ(std::get<StructureExpectation>(t.expectations[2]).compare, Prim::Le);
  EXPECT_EQ(std::get<ErrorExpectation>(t.expectations[3]).text, "never");
}

TEST(Text, ArgumentsInTestsAreCallsAndScalars) {
  const Module module =
      parse("t.twill",
            "def g(k: i32) -> y { y = k * 2 }\n"
            "def f(x: i32[N]) -> y { y[i] = x[i] + 1 }\n"
            "test \"all\" { n = 3; j = g(n + 1); h = g(g(n)); y = f(f([1, n])); x = [n, 2]\n"
            "  expect j == 8, h == 12, y == [3, 5], x[0] == 3 }\n");
  ASSERT_EQ(module.tests.size(), 1U);
  int calls = 0;
  for (const auto& step : module.tests[0].steps) calls += std::holds_alternative<TestCall>(step);
  EXPECT_EQ(calls, 5);
}

TEST(Text, AByteOrderMarkIsSkipped) {
  const Module module = parse("t.twill",
                              "\xef\xbb\xbf"
                              "def f(n: i64) -> y { y = n }\n");
  EXPECT_EQ(module.programs.size(), 1U);
}

TEST(Text, DeepExpressionsPrintInParts) {
  Program p;
  p.name = "f";
  const ArrayId x = p.add_array("x", Scalar::F64, {}), y = p.add_array("y", Scalar::F64, {});
  p.inputs.push_back({x, {}});
  Expr value = p.pool->read(x, Scalar::F64, {});
  for (int i = 0; i < 300; ++i) value = p.pool->apply(Prim::Neg, {p.pool->apply(Prim::Sqrt, {value})});
  Output output;
  output.array = y;
  output.value = value;
  Stage stage;
  stage.name = "y";
  stage.outputs.push_back(output);
  p.stages.push_back(stage);
  p.results = {y};
  round_trips(p);
  for (int i = 0; i < 100'000; ++i) value = p.pool->apply(Prim::Sqrt, {value});
  EXPECT_GT(print(p, value).size(), 600'000U);
}

TEST(Text, ConstantsThatMeetTakeOneType) {
  const auto types = [](const std::string& text) {
    const Program p = program_of(text);
    std::string all;
    for (const Constant& constant : p.constants) all += to_string(p[constant.array].type) + " ";
    return all + "-> " + to_string(p[p.results[0]].type);
  };
  const std::string sobel = "def f(x: f32[N, M]) -> y { s = [1, 2, 1]; d = [-0.5, 0, 0.5]; y[i, j] = ";
  EXPECT_EQ(types(sobel + "sum(k < 3, l < 3) s[k] * d[l] * x[clamp(i + k - 1), clamp(j + l - 1)] }"),
            "f32 f32 -> f32");
  EXPECT_EQ(types(sobel + "x[i, j] * (if i > 0 then s[1] else d[1]) }"), "f32 f32 -> f32");
  EXPECT_EQ(types(sobel + "let w = s[0] + d[0] * s[1] in w * x[i, j] }"), "f32 f32 -> f32");
  EXPECT_EQ(types("def f(n: i32) -> y { s = [1, 2]; d = [3, 4]; y[i < 2] = s[i] * d[i] * n }"),
            "i32 i32 -> i32");
  EXPECT_EQ(types("def f(n: i32) -> y { s = [1, 2]; d = [0.5, 4]; y[i < 2] = s[i] * d[i] * n }"),
            "f64 f64 -> f64");
  EXPECT_EQ(types("def f() -> y { s = [1, 2]; d = [0.5, 4]; y[i] = s[i] * d[i] }"), "f64 f64 -> f64");
  EXPECT_EQ(types("def f(x: f32[2]) -> y { s = [1, 2]; d = [0.5, 4]; a[i] = s[i] + x[i]; y[i] = a[i] * s[i] "
                  "* d[i] }"),
            "f32 f32 -> f32");
}

TEST(Text, SharedExpressionsPrintInReasonableSize) {
  std::string text = "fn f(x: f64) -> f64 {\n  a0 = x + 1\n";
  for (int i = 1; i <= 40; ++i) {
    const std::string before = "a" + std::to_string(i - 1);
    text += "  a" + std::to_string(i) + " = " + before + " * " + before + "\n";
  }
  text += "  a40\n}\ndef g(v: f64[N]) -> y { y[i] = f(v[i]) }\n";
  const Program p = program_of(text);
  EXPECT_LT(print(p).size(), 4000U);
  round_trips(p);
}

}  // namespace
}  // namespace twill
