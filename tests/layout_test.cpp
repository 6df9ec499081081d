// Arrays that are stored as lanes read them: which ones, what becomes of the loops, and that every size gives
// the interpreter's result.
#include "simplify/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "driver/agree.h"
#include "driver/compile.h"
#include "program/describe.h"
#include "programs.h"

namespace twill {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using Sizes = std::map<std::string, std::int64_t>;

std::string loops_of(const std::string& text) {
  Options options;
  options.stop_after = "nest";
  return print_loops(*compile(program_of(text), two_cores(), options).nest);
}

/// For all of these sizes of its inputs.
void agrees(const std::string& text, const std::vector<Sizes>& all) {
  const auto program = program_of(text);
  const Compilation compilation = compile(program, two_cores());
  for (const Sizes& sizes : all) {
    std::vector<Data> inputs;
    for (const Input& input : program->inputs) {
      std::vector<std::int64_t> shape;
      for (const Expr extent : (*program)[input.array].shape)
        shape.push_back(sizes.at((*program)[as<SizeRef>(extent)->symbol].name));
      inputs.push_back(random_data((*program)[input.array].type, shape, 1 + inputs.size()));
    }
    const Agreement found =
        agreement(*program, reference_of(*program, inputs), compilation.kernel->run(inputs));
    EXPECT_EQ(found.difference, "") << ::testing::PrintToString(sizes);
  }
}

/// The shapes of all arrays between stages, and what was decided.
std::string laid_out(const std::string& body) {
  const auto program = program_of(
      "type Best = { k: i64, value: i64 }\n"
      "op better(a: Best, b: Best) -> Best associative commutative {\n"
      "  identity { k: max(i64), value: min(i64) }\n"
      "  if a.value > b.value or (a.value == b.value and a.k < b.k) then a else b\n}\n" +
      body);
  const Simplified result = lay_out(program);
  std::string text;
  for (const Stage& stage : result.program->stages) {
    const Array& array = (*result.program)[stage.outputs.front().array];
    text += array.name + "[";
    for (const Expr extent : array.shape)
      text += (extent == array.shape.front() ? "" : ", ") + describe(*result.program, extent);
    text += "] ";
  }
  for (const Reason& reason : result.done) text += reason.text + "; ";
  return text;
}

TEST(Layout, WhatAUsersOperatorFoldsIsStoredForItsResults) {
  EXPECT_EQ(
      laid_out("def f(x: i64[N, D], c: i64[K, D]) -> b {\n"
               "  d[i, k] = sum(j) x[i, j] * c[k, j]\n"
               "  b[i] = fold(better, k) { k: k, value: d[i, k] }\n}"),
      "x_across[D, N] d[K, N] b[N] 'd' is stored for lanes along 'i', because 'b' folds with an operator "
      "that lanes cannot put together; 'x_across' is a copy of 'x' for lanes of 'd'; ");
}

TEST(Layout, OperatorsThatLanesKnowNeedNothing) {
  EXPECT_EQ(laid_out("def f(x: i64[N, D], c: i64[K, D]) -> b {\n"
                     "  d[i, k] = sum(j) x[i, j] * c[k, j]\n"
                     "  b[i] = max(k) d[i, k]\n}"),
            "d[N, K] b[N] ");
}

TEST(Layout, ResultsAndWhatOthersReadOtherwiseStayAsTheyAre) {
  EXPECT_EQ(laid_out("def f(x: i64[N, D], c: i64[K, D]) -> (b, d) {\n"
                     "  d[i, k] = sum(j) x[i, j] * c[k, j]\n"
                     "  b[i] = fold(better, k) { k: k, value: d[i, k] }\n}"),
            "d[N, K] b[N] ");
  EXPECT_EQ(laid_out("def f(x: i64[N, D], c: i64[K, D]) -> (b, s) {\n"
                     "  d[i, k] = sum(j) x[i, j] * c[k, j]\n"
                     "  b[i] = fold(better, k) { k: k, value: d[i, k] }\n"
                     "  s[i] = sum(k) d[i, k]\n}"),
            "d[N, K] b[N] s[N] ");
}

TEST(Layout, WhatIsReadOnceIsNotCopied) {
  EXPECT_EQ(laid_out("def f(x: i64[N, K, D]) -> b {\n"
                     "  d[i, k] = sum(j) x[i, k, j]\n"
                     "  b[i] = fold(better, k) { k: k, value: d[i, k] }\n}"),
            "d[K, N] b[N] 'd' is stored for lanes along 'i', because 'b' folds with an operator that lanes "
            "cannot put together; ");
}

const std::string kmeans =
    "type Near = { centre: i32, distance: f32 }\n"
    "op nearer(a: Near, b: Near) -> Near associative commutative {\n"
    "  identity { centre: max(i32), distance: inf }\n"
    "  if a.distance < b.distance or (a.distance == b.distance and a.centre < b.centre) then a else b\n}\n"
    "def step(p: f32[N, D], c: f32[K, D]) -> (total, count) {\n"
    "  distance[i, k] = sum(j) (p[i, j] - c[k, j]) * (p[i, j] - c[k, j])\n"
    "  near[i] = fold(nearer, k) { centre: i32(k), distance: distance[i, k] }\n"
    "  total: f64[K, D] = scatter(+) { [near[i].centre, j] <- f64(p[i, j]) | i, j }\n"
    "  count: i64[K] = scatter(+) { near[i].centre <- 1 | i }\n}";

/// All readers of 'near' run in tiles that compute what they need of it, and so on.
TEST(Layout, AStepOfKMeansIsOnePass) {
  const Compilation c = compile(program_of(kmeans), two_cores());
  EXPECT_EQ(c.schedule->passes, 1);
  EXPECT_EQ(c.schedule->buffers, 0);
  const std::string loops = loops_of(kmeans);
  EXPECT_THAT(loops, HasSubstr("box p_across[D, "));
  EXPECT_THAT(loops, HasSubstr("box distance[K, "));
  // Records inside of the tile are one array for each field.
  EXPECT_THAT(loops, HasSubstr("box near_centre["));
  EXPECT_THAT(loops, HasSubstr("var near_distance_next = if near_distance[i] < distance[k, i] or "));
  agrees(kmeans, {{{"N", 0}, {"D", 3}, {"K", 4}},
                  {{"N", 1}, {"D", 1}, {"K", 1}},
                  {{"N", 63}, {"D", 4}, {"K", 16}},
                  {{"N", 64}, {"D", 16}, {"K", 8}},
                  {{"N", 65}, {"D", 17}, {"K", 9}},
                  {{"N", 1000}, {"D", 33}, {"K", 5}},
                  {{"N", 5000}, {"D", 0}, {"K", 3}}});
}

/// Without a centre, there is none that is nearest.
TEST(Layout, PlacesOutsideAreAskedForOnceAndFail) {
  const auto program = program_of(kmeans);
  const Compilation c = compile(program, two_cores());
  EXPECT_THAT(c.source->text, Not(HasSubstr("worst")));
  const std::vector<Data> inputs = {random_data(Scalar::F32, {3, 2}, 1), random_data(Scalar::F32, {0, 2}, 2)};
  try {
    c.kernel->run(inputs);
    FAIL() << "an error is expected";
  } catch (const Error& error) {
    EXPECT_THAT(
        error.what(),
        HasSubstr("error[E0506]: stage 'total' writes 'total' outside: subscript 0 is 2147483647, but "
                  "dimension 0 has 0 elements (at i = 0, j = 0)"));
  }
}

/// Rows of a tile that are made of columns are read and written in blocks.
TEST(Layout, WhatIsTransposedInATileIsTransposedInBlocks) {
  const std::string text =
      "def f(a: f32[M, L], b: f32[N, L]) -> c {\n  bt[k, j] = b[j, k] * 2\n  c[i, j] = sum(k) a[i, k] * "
      "bt[k, j]\n}";
  const std::string loops = loops_of(text);
  EXPECT_THAT(loops, HasSubstr("bt_block[j_lane, k_lane] = b[j_block + j_lane, k_block + k_lane] * 2.0"));
  EXPECT_THAT(loops, HasSubstr("bt[k_block + k_lane, j_block + j_lane] = bt_block[j_lane, k_lane]"));
  std::vector<Sizes> all;
  for (const std::int64_t n : {0, 1, 15, 16, 17, 300})
    for (const std::int64_t l : {0, 1, 16, 35}) all.push_back({{"M", 3}, {"N", n}, {"L", l}});
  agrees(text, all);
}

/// What the stages compute, after the layout was decided.
std::string outputs_of(const std::string& text) {
  const Simplified result = lay_out(program_of(text));
  std::string all;
  for (const Stage& stage : result.program->stages)
    for (const Output& output : stage.outputs) all += (*result.program)[output.array].name + " ";
  return all;
}

const std::string point = "type P = { x: f64, at: (i64, i32), unused: f32 }\n";

TEST(Records, BetweenStagesAreOneArrayForEachFieldThatIsRead) {
  const std::string text = point +
                           "def f(a: f64[N], b: i64[N]) -> (s, d, e) {\n"
                           "  p[i] = if b[i] > 0 then { x: a[i], at: (b[i] - i, i32(i)), unused: 1f32 }\n"
                           "         else { x: -a[i], at: (i, 3i32), unused: 2f32 }\n"
                           "  force(p)\n"
                           "  s = max(i) p[i].x\n"
                           "  d[i] = p[clamp(i - 1)].x + s\n"
                           "  e[i] = p[pad(i + 1, { x: 9, at: (7, 8i32), unused: 0 })].at.0\n"
                           "}";
  EXPECT_EQ(outputs_of(text), "p_x p_at_0 s d e ");
  agrees(text, {{{"N", 0}}, {{"N", 1}}, {{"N", 77}}, {{"N", 5000}}});
  const auto reasons = lay_out(program_of(text)).done;
  ASSERT_FALSE(reasons.empty());
  EXPECT_EQ(reasons.front().text, "'p' is stored as one array for each field");
}

/// Filtered records have one length, and fields that nobody reads are not collected.
TEST(Records, ThatAreFilteredShareTheirLength) {
  const std::string text = point +
                           "def f(a: f64[N], b: i64[N]) -> (s, d) {\n"
                           "  p = [ { x: a[i], at: (b[i], i32(i)), unused: 1f32 } | i, b[i] % 3 == 0 ]\n"
                           "  force(p)\n"
                           "  s = sum(k) p[k].x\n"
                           "  d[k] = p[clamp(k - 1)].at.1 + i32(len(p))\n"
                           "}";
  EXPECT_EQ(outputs_of(text), "p_x p_at_1 s d ");
  agrees(text, {{{"N", 0}}, {{"N", 1}}, {{"N", 77}}, {{"N", 5000}}});
}

/// Results and records that are gathered, or folded together, stay as they are.
TEST(Records, StayWholeWhereTheyAreSeenOrNeededAsAWhole) {
  EXPECT_EQ(outputs_of(point + "def f(a: f64[N]) -> (p, s) {\n"
                               "  p[i] = { x: a[i], at: (i, 1i32), unused: 1f32 }\n"
                               "  s = max(i) p[i].x\n}"),
            "p s ");
  EXPECT_EQ(outputs_of(point + "def f(a: f64[N], k: i64[M]) -> s {\n"
                               "  p[i] = { x: a[i], at: (i, 1i32), unused: 1f32 }\n"
                               "  s[j] = p[clamp(k[j])].x + f64(p[clamp(k[j])].at.0)\n}"),
            "p s ");
  EXPECT_EQ(
      outputs_of("op better(a: (f64, i64), b: (f64, i64)) -> (f64, i64) associative commutative {\n"
                 "  identity (-inf, -1)\n  if a.0 > b.0 or (a.0 == b.0 and a.1 < b.1) then a else b\n}\n"
                 "def f(a: f64[N, M]) -> s {\n"
                 "  p[i] = fold(better, j) (a[i, j], j)\n"
                 "  force(p)\n"
                 "  s[i] = p[i].1\n}"),
      "p s ");
}

}  // namespace
}  // namespace twill
