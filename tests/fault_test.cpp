// What goes wrong at run time: kernels say what the interpreter says, word by word.
#include "base/error.h"
#include "driver/agree.h"
#include "driver/compile.h"
#include "program/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace twill {
namespace {

Data integers(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& values) {
  Data data(Scalar::I32, shape);
  for (std::size_t k = 0; k < values.size(); ++k)
    data.set(static_cast<std::int64_t>(k), Number::of(Scalar::I32, values[k]));
  return data;
}

Data whole(std::int64_t value) {
  Data data(Scalar::I64, {});
  data.set(0, Number::of(Scalar::I64, value));
  return data;
}

template <class Action>
std::string message_of(const Action& action) {
  try {
    action();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error\n";
}

/// What the kernel says about a run, after the interpreter has said the same, and a kernel in which nothing
/// is fused.
std::string fault(const std::string& text, const std::vector<Data>& inputs) {
  const Program program = parse_program("t.twill", text);
  const std::string message = message_of([&] { compile(program).run(inputs); });
  EXPECT_EQ(message, message_of([&] { interpret(program, inputs); }));
  Options unfused;
  unfused.simplify = false;
  unfused.clusters = Clusters::None;
  EXPECT_EQ(
      message, message_of([&] {
        compile(std::make_shared<const Program>(program), detect_machine(), unfused).kernel->run(inputs);
      }));
  return message;
}

TEST(Fault, AReadOutside) {
  EXPECT_EQ(
      fault("def f(x: i32[N], p: i32[M]) -> y { y[j] = x[p[j]] }",
            {integers({2}, {1, 2}), integers({4}, {0, 1, 7, 9})}),
      "t.twill:1:45: error[E0505]: stage 'y' reads 'x' outside: subscript 0 is 7, but dimension 0 has 2 "
      "elements (at j = 2)\n"
      "    def f(x: i32[N], p: i32[M]) -> y { y[j] = x[p[j]] }\n"
      "                                                ^^^^\n"
      "  help: guard the read, or name a boundary: clamp, mirror, wrap or pad\n");
}

TEST(Fault, AReadOutsideInAFold) {
  EXPECT_EQ(
      fault("def f(x: i32[N, M], p: i32[N]) -> y { y[i] = sum(j) x[p[i], j] }",
            {integers({2, 2}, {1, 2, 3, 4}), integers({2}, {0, -1})}),
      "t.twill:1:55: error[E0505]: stage 'y' reads 'x' outside: subscript 0 is -1, but dimension 0 has 2 "
      "elements (at i = 1, j = 0)\n"
      "    def f(x: i32[N, M], p: i32[N]) -> y { y[i] = sum(j) x[p[i], j] }\n"
      "                                                          ^^^^\n"
      "  help: guard the read, or name a boundary: clamp, mirror, wrap or pad\n");
}

TEST(Fault, AWriteOutside) {
  EXPECT_EQ(
      fault("def f(x: i32[N]) -> h: i64[3] { h = scatter(+) { x[i] <- 1 | i } }", {integers({3}, {0, 1, 7})}),
      "t.twill:1:50: error[E0506]: stage 'h' writes 'h' outside: subscript 0 is 7, but dimension 0 has 3 "
      "elements (at i = 2)\n"
      "    def f(x: i32[N]) -> h: i64[3] { h = scatter(+) { x[i] <- 1 | i } }\n"
      "                                                     ^^^^\n"
      "  help: add a condition that keeps such points out\n");
}

TEST(Fault, AnElementOutsideIntoWhichNothingIsFolded) {
  const std::string text =
      "def f(x: i32[N, M], s: i64[M]) -> y { stage y(i < N, j < M) {\n"
      "out y: i64[M] at [j + 1] into s = fold(+, i) cat(j) i64(x[i, j]) where j + 1 < M } }";
  EXPECT_THAT(
      fault(text, {integers({1, 2}, {1, 2}), Data(Scalar::I64, {2})}),
      testing::StartsWith("t.twill:2:5: error[E0506]: stage 'y' writes 'y' outside: subscript 0 is 2, "
                          "but dimension 0 has 2 elements (at i = 0, j = 1)\n"));
}

/// Sums along both dimensions in one pass: one of them is in memory, where checks keep it.
TEST(Fault, SumsInMemoryAreKeptInside) {
  const std::string text =
      "def f(n: i64, m: i64, x: i32[P, R], s: i64[Q], q: i64[P]) -> (y, z) {\n"
      "stage y(i < n, j < m) { out y: i64[Q] at [j] onto s = fold(+, i) cat(j) i64(x[i, j]) }\n"
      "stage z(i < n, j < m) { out z: i64[P] at [i] onto q = cat(i) fold(+, j) i64(x[i, j]) } }";
  const Program program = parse_program("t.twill", text);
  const Compilation compilation = compile(std::make_shared<const Program>(program), detect_machine());
  EXPECT_EQ(compilation.schedule->passes, 1);
  const auto inputs = [](std::int64_t n, std::int64_t m) {
    std::vector<Data> all{whole(n), whole(m), integers({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}),
                          Data(Scalar::I64, {3}), Data(Scalar::I64, {2})};
    all[3].set(1, Number::of(Scalar::I64, 100));
    return all;
  };
  for (const std::int64_t n : {-1, 0, 1, 2})
    for (const std::int64_t m : {-1, 0, 1, 3})
      EXPECT_EQ(agreement(program, reference_of(program, inputs(n, m)), compilation.kernel->run(inputs(n, m)))
                    .difference,
                "")
          << n << " x " << m;
  EXPECT_THAT(fault(text, inputs(2, 4)),
              testing::HasSubstr("error[E0506]: stage 'y' writes 'y' outside: subscript 0 is 3"));
  EXPECT_THAT(fault(text, inputs(3, 3)), testing::HasSubstr("error[E0505]: stage 'y' reads 'x' outside"));
}

TEST(Fault, ADivisionByZero) {
  EXPECT_EQ(fault("def f(x: i32[N, M]) -> y { y[i, j] = 10 / x[i, j] }", {integers({2, 2}, {1, 2, 0, 3})}),
            "t.twill:1:38: error[E0507]: stage 'y' divides by zero: integer '/' (at i = 1, j = 0)\n"
            "    def f(x: i32[N, M]) -> y { y[i, j] = 10 / x[i, j] }\n"
            "                                         ^^^^^^^^^^^^\n"
            "  help: guard it with a condition\n");
}

TEST(Fault, AnExtentDividedByZero) {
  EXPECT_EQ(fault("def f(x: i32[N], z: i32[M]) -> y { y[i < N / M] = x[clamp(i)] + sum(j) z[j] }",
                  {integers({2}, {1, 2}), integers({0}, {})}),
            "t.twill:1:42: error[E0507]: stage 'y' divides by zero: integer '/'\n"
            "    def f(x: i32[N], z: i32[M]) -> y { y[i < N / M] = x[clamp(i)] + sum(j) z[j] }\n"
            "                                             ^^^^^\n"
            "  help: guard it with a condition\n");
}

TEST(Fault, NothingToFold) {
  EXPECT_EQ(fault("op first(a: i32, b: i32) -> i32 associative { a }\n"
                  "def f(x: i32[N]) -> s { s = fold(first, i) x[i] }",
                  {integers({0}, {})}),
            "t.twill:2:25: error[E0508]: stage 's' has no values to fold for 's', and the operator has no "
            "identity\n"
            "    def f(x: i32[N]) -> s { s = fold(first, i) x[i] }\n"
            "                            ^\n"
            "  help: give the operator an identity\n");
}

TEST(Fault, NothingToFoldOfWhatAFilterLeaves) {
  EXPECT_EQ(fault("op first(a: i32, b: i32) -> i32 associative { a }\n"
                  "def f(x: i32[N]) -> s { p = [ v | v in x, v > 5 ]\n"
                  "                        s = fold(first, k) p[k] }",
                  {integers({3}, {1, 2, 5})}),
            "t.twill:3:25: error[E0508]: stage 's' has no values to fold for 's', and the operator has no "
            "identity\n"
            "                            s = fold(first, k) p[k] }\n"
            "                            ^\n"
            "  help: give the operator an identity\n");
}

/// What the checker says about a text.
std::string mistake(const std::string& text) {
  return message_of([&] { parse_program("t.twill", text); });
}

/// Under a condition of its own, that may be is known before.
TEST(Fault, NothingToFoldUnderACondition) {
  EXPECT_EQ(mistake("op first(a: i32, b: i32) -> i32 associative { a }\n"
                    "def f(x: i32[N]) -> s { s = fold(first) [ v | v in x, v > 5 ] }"),
            "t.twill:2:25: error[E0317]: in stage 's': 's' folds under a condition with operator 'first', "
            "which has "
            "no identity: where nothing passes there is no value\n"
            "    def f(x: i32[N]) -> s { s = fold(first) [ v | v in x, v > 5 ] }\n"
            "                            ^\n"
            "  help: give the operator an identity\n");
}

/// How long a collection becomes is not known before: what may be missing is a mistake.
TEST(Fault, AnElementThatACollectionMayNotHave) {
  EXPECT_EQ(
      mistake("def f(x: i32[N]) -> y { c = [ v | v in x, v > 1 ]\n"
              "                        y = c[5] }"),
      "t.twill:2:31: error[E0310]: in stage 'y': read of 'c' at 5 leaves the array: for N = 0, c_len = 0 "
      "the array has no elements\n"
      "                            y = c[5] }\n"
      "                                  ^\n"
      "  help: choose the value outside: if c_len > 5 then c[5] else 0\n");
  EXPECT_EQ(
      mistake("def f(x: i32[N]) -> y { c = [ v | v in x, v > 1 ]\n"
              "                        y[k < N] = c[k] + x[k] }"),
      "t.twill:2:38: error[E0310]: in stage 'y': read of 'c' at k leaves the array: k goes up to N-1, and "
      "the "
      "last element is at c_len-1\n"
      "                            y[k < N] = c[k] + x[k] }\n"
      "                                         ^\n"
      "  help: choose the value outside: if k < c_len then c[k] else 0, or name a boundary: c[clamp(k)]\n");
}

TEST(Fault, AnElementThatACollectionDoesNotHave) {
  EXPECT_EQ(
      fault("def f(x: i32[N], n: i64) -> y { c = [ v | v in x, v > 1 ]\n"
            "                                y = c[n] }",
            {integers({3}, {1, 2, 5}), whole(5)}),
      "t.twill:2:39: error[E0505]: stage 'y' reads 'c' outside: subscript 0 is 5, but dimension 0 has 2 "
      "elements\n"
      "                                    y = c[n] }\n"
      "                                          ^\n"
      "  help: guard the read, or name a boundary: clamp, mirror, wrap or pad\n");
  EXPECT_EQ(
      fault("def f(x: i32[N], p: i32[M]) -> y { c = [ v | v in x, v > 1 ]\n"
            "                                   y[j] = 2 * c[p[j]] }",
            {integers({3}, {1, 2, 5}), integers({2}, {1, 2})}),
      "t.twill:2:49: error[E0505]: stage 'y' reads 'c' outside: subscript 0 is 2, but dimension 0 has 2 "
      "elements (at j = 1)\n"
      "                                       y[j] = 2 * c[p[j]] }\n"
      "                                                    ^^^^\n"
      "  help: guard the read, or name a boundary: clamp, mirror, wrap or pad\n");
}

/// Rows are parts of one array; before its beginning lies what a row does not have.
TEST(Fault, AnElementThatARowDoesNotHave) {
  EXPECT_EQ(
      fault("def f(x: i32[N]) -> y { c = [ [ v + k | k < v ] | v in x ]\n"
            "                        y[i] = c[i][2] }",
            {integers({3}, {4, 2, 5})}),
      "t.twill:2:32: error[E0505]: stage 'y' reads 'c' outside: subscript 0 is -1, but dimension 0 has 11 "
      "elements (at i = 1)\n"
      "                            y[i] = c[i][2] }\n"
      "                                   ^^^^^^^\n"
      "  help: guard the read, or name a boundary: clamp, mirror, wrap or pad\n");
}

TEST(Fault, ABoundaryWithoutElements) {
  EXPECT_EQ(
      fault("def f(x: i32[N]) -> y { y[i < 3] = x[clamp(i)] }", {integers({0}, {})}),
      "t.twill:1:44: error[E0513]: stage 'y' reads 'x' with a boundary rule, but dimension 0 is empty (at "
      "i = 0)\n"
      "    def f(x: i32[N]) -> y { y[i < 3] = x[clamp(i)] }\n"
      "                                               ^\n"
      "  help: guard the read, or use pad, which needs no element\n");
}

TEST(Fault, TheFirstOfSeveralStagesIsNamed) {
  EXPECT_EQ(
      fault("def f(x: i32[N], p: i32[M]) -> y {\n  a[j] = x[p[j]]\n  y[j] = a[j] / (a[j] - 1)\n}",
            {integers({2}, {1, 2}), integers({3}, {0, 2, 0})}),
      "t.twill:2:12: error[E0505]: stage 'a' reads 'x' outside: subscript 0 is 2, but dimension 0 has 2 "
      "elements (at j = 1)\n"
      "      a[j] = x[p[j]]\n"
      "               ^^^^\n"
      "  help: guard the read, or name a boundary: clamp, mirror, wrap or pad\n");
}

/// Places are those of the definition that failed, whatever others of the file look like.
TEST(Fault, PlacesAreOfTheRightDefinition) {
  const Module module = parse("t.twill",
                              "def f(x: i32[N], p: i32[M]) -> y { y[j] = x[p[j]] + 1 }\n"
                              "def g(x: i32[N], p: i32[M]) -> y { y[j] = 2 * x[p[j]] }\n");
  const std::vector<Data> inputs = {integers({1}, {1}), integers({1}, {5})};
  EXPECT_EQ(
      message_of([&] { interpret(module.programs[1], inputs); }),
      "t.twill:2:49: error[E0505]: stage 'y' reads 'x' outside: subscript 0 is 5, but dimension 0 has 1 "
      "element (at j = 0)\n"
      "    def g(x: i32[N], p: i32[M]) -> y { y[j] = 2 * x[p[j]] }\n"
      "                                                    ^^^^\n"
      "  help: guard the read, or name a boundary: clamp, mirror, wrap or pad\n");
}

/// Behind ten million points the interpreter gives up, and the kernel tells what it knows itself.
TEST(Fault, WhatLiesTooDeepIsToldAsTheKernelKnowsIt) {
  const Program program = parse_program(
      "t.twill", "def f(x: i32[N], p: i32[M]) -> y { s = sum(i < 20000000) i % 7; y[j] = s + x[p[j]] }");
  const std::vector<Data> inputs = {integers({1}, {1}), integers({1}, {5})};
  EXPECT_EQ(message_of([&] { compile(program).run(inputs); }),
            "t.twill:1:5: error[E0520]: stage 'y' uses an index outside of 'x'\n"
            "    def f(x: i32[N], p: i32[M]) -> y { s = sum(i < 20000000) i % 7; y[j] = s + x[p[j]] }\n"
            "        ^\n"
            "  help: `twill run --target interp` says at which point\n");
}

/// The code of the error that a kernel of the program as it was written and a fused one both give.
std::string code_of_fault(const std::string& text, const std::vector<Data>& inputs) {
  const auto program = std::make_shared<const Program>(parse_program("t.twill", text));
  const auto code_of = [&](const auto& action) -> std::string {
    try {
      action();
    } catch (const Error& e) {
      return e.diagnostics().front().code;
    }
    return "no error";
  };
  const std::string code = code_of([&] { interpret(*program, inputs); });
  for (const bool fused : {false, true}) {
    Options options;
    options.simplify = fused;
    options.clusters = fused ? Clusters::Greedy : Clusters::None;
    EXPECT_EQ(code_of([&] { compile(program, detect_machine(), options).kernel->run(inputs); }), code)
        << text << (fused ? ", fused" : "");
  }
  return code;
}

TEST(Fault, SubscriptsThatAreNotAffineAreChecked) {
  const Data five = integers({5}, {1, 2, 3, 4, 5}), ten = integers({10}, std::vector<std::int64_t>(10, 1));
  EXPECT_EQ(code_of_fault("def f(u: i32[N]) -> v { v[i < N/2] = u[2*i+1] + u[i*i] }", {ten}), "E0505");
  EXPECT_EQ(code_of_fault("def f(u: i32[N]) -> v { v[i < N] = u[if i > 2 then i*i else 0] }", {five}),
            "E0505");
  EXPECT_EQ(code_of_fault("def f(x: i32[N, M]) -> y { y[k < N*M + 1] = x[k / M, k % M] }",
                          {integers({2, 3}, {1, 2, 3, 4, 5, 6})}),
            "E0505");
  EXPECT_EQ(code_of_fault("def f(x: i32[K], z: i32[N, N]) -> y { y[i, j] = x[i*N + j] + z[i, j] }",
                          {five, integers({3, 3}, std::vector<std::int64_t>(9, 1))}),
            "E0505");
  EXPECT_EQ(code_of_fault("def f(u: i32[N]) -> v { v[i] = u[i] + i32(sum(j < N*N) u[j]) }", {five}), "E0505");
  EXPECT_EQ(code_of_fault("def f(x: i32[N]) -> h: i32[10] { h = scatter(+) { i*i <- x[i] | i } }", {five}),
            "E0506");
  EXPECT_EQ(code_of_fault("def f(x: i32[N]) -> y: i32[N] { y = scatter { shl(i, 1) <- x[i] | i } }", {five}),
            "E0506");
}

TEST(Fault, ArraysAsLongAsANumberSaysAreChecked) {
  const std::vector<Data> inputs = {integers({}, {2}), integers({2}, {8, 9}), integers({4}, {1, 2, 3, 4})};
  EXPECT_EQ(code_of_fault("def f(n: i32, z: i32[n], x: i32[N]) -> y { y[i] = x[i] + z[i] }", inputs),
            "E0505");
  EXPECT_EQ(
      code_of_fault("def f(n: i32, z: i32[n], x: i32[N]) -> y { y = z with { [i] <- x[i] | i } }", inputs),
      "E0506");
  EXPECT_EQ(
      code_of_fault("def f(n: i32, z: i32[n], x: i32[N]) -> y { y[i] into z = x[i] where i < N }", inputs),
      "E0506");
}

TEST(Fault, RowsOfACollectionEndWhereTheNextOneBegins) {
  EXPECT_EQ(code_of_fault("def f(x: i32[N]) -> y { c = [ [ v | v in x, v < k ] | k < 3 ]\n y = c[0][0] }",
                          {integers({1}, {1})}),
            "E0505");
  EXPECT_EQ(code_of_fault("def f(x: i32[N]) -> y { c = [ [ v | v in x, v < k ] | k < 3 ]\n y = c[2][-1] }",
                          {integers({1}, {1})}),
            "E0505");
}

TEST(Fault, WhatIsComputedWhereItIsReadIsNotReadOutside) {
  EXPECT_EQ(code_of_fault("def f(n: i64, m: i64) -> s { y[i < n] = 1.0 + i\n s = sum(i < m) y[i] }",
                          {whole(8), whole(9)}),
            "E0505");
}

TEST(Fault, WhatWasDataBeforeFusionIsStillChecked) {
  const Data three = integers({3}, {1, 2, 3});
  EXPECT_EQ(code_of_fault("def f(x: i32[N]) -> y { is[i < N] = i + 1\n y[i < N] = x[is[i]] }", {three}),
            "E0505");
  EXPECT_EQ(code_of_fault("def f(x: i32[N]) -> y: i32[N] { is[i < N] = i + 1\n"
                          " y = scatter(+) { is[i] <- x[i] | i } }",
                          {three}),
            "E0506");
}

}  // namespace
}  // namespace twill
