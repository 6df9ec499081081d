// Groups and appends cut into parts: private tables and buffers that are joined in order, so that every
// number of parts gives the interpreter's elements in the interpreter's order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "driver/agree.h"
#include "driver/compile.h"
#include "plan/default_plan.h"
#include "program/text.h"
#include "programs.h"

namespace twill {
namespace {

/// The default plan's only cluster, with so many parts however few points there are.
Plan plan_in_parts(const Program& program, std::int64_t parts, By by) {
  Plan plan = default_plan(program, two_cores()).plan;
  Cluster& cluster = plan.blocks.front().clusters.front();
  auto& outermost = std::get<Loop>(cluster.loops.front());
  outermost.cut.count = parts;
  outermost.by = by;
  cluster.grain = 0;
  return plan;
}

/// Keys from -keys to keys, in no order, as i32.
Data some_keys(std::int64_t count, std::int64_t keys) {
  Data data(Scalar::I32, {count});
  std::uint64_t state = 12345;
  for (std::int32_t& key : data.as<std::int32_t>()) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    key = static_cast<std::int32_t>(static_cast<std::int64_t>((state >> 33) % (2 * keys + 1)) - keys);
  }
  return data;
}

/// Compares with the interpreter for several numbers of parts and of keys.
void agrees_in_parts(const std::string& text) {
  const auto program = program_of(text);
  for (const std::int64_t parts : {1, 2, 3, 7}) {
    Options options;
    options.plan = plan_in_parts(*program, parts, parts == 3 ? By::Seq : By::Core);
    options.simplify = false;
    const Kernel kernel = *compile(program, two_cores(), options).kernel;
    for (const auto& [count, keys] : {std::pair{0, 5}, {1, 5}, {5, 5}, {200, 3}, {500, 400}, {3000, 20}}) {
      SCOPED_TRACE(testing::Message() << parts << " parts, " << count << " values, " << keys << " keys");
      std::vector<Data> inputs;
      inputs.push_back(some_keys(count, keys));
      inputs.push_back(random_data(Scalar::I32, {count}, 7));
      const Reference expected = reference_of(*program, inputs);
      EXPECT_EQ(agreement(*program, expected, kernel.run(inputs)).difference, "");
    }
  }
}

/// The loops of the same plan with two parts.
std::string loops_in_parts(const std::string& text) {
  const auto program = program_of(text);
  Options options;
  options.plan = plan_in_parts(*program, 2, By::Core);
  options.simplify = false;
  options.stop_after = "nest";
  return print_loops(*compile(program, two_cores(), options).nest);
}

TEST(GroupInParts, Sums) {
  agrees_in_parts("def f(key: i32[N], v: i32[N]) -> g { g = group(+) [ (key[i], v[i]) | i ] }");
}

TEST(GroupInParts, FloatSums) {
  agrees_in_parts("def f(key: i32[N], v: i32[N]) -> g { g = group(+) [ (key[i], 0.1 * v[i]) | i ] }");
}

/// A bucket begins with the operator's identity, which a NaN does not replace.
TEST(GroupInParts, LeastOfNothing) {
  agrees_in_parts(
      "def f(key: i32[N], v: i32[N]) -> g { g = group(min) [ (key[i], if v[i] > 30 then nan else f32(v[i])) "
      "| i ] }");
}

/// Parts meet in order, and none of them needs an identity.
TEST(GroupInParts, TheLastOfEachBucket) {
  agrees_in_parts(
      "op last(a: i32, b: i32) -> i32 associative { b }\n"
      "def f(key: i32[N], v: i32[N]) -> g { g = group(last) [ (key[i], v[i]) | i, v[i] > 20 ] }");
}

TEST(GroupInParts, Records) {
  agrees_in_parts(
      "type Range = { low: i32, high: i32 }\n"
      "op hull(a: Range, b: Range) -> Range associative commutative {\n"
      "  { low: min(a.low, b.low), high: max(a.high, b.high) }\n"
      "}\n"
      "def f(key: i32[N], v: i32[N]) -> g {\n"
      "  g = group(hull) [ ((key[i] % 3, key[i] > 0), { low: v[i], high: v[i] }) | i ]\n"
      "}");
}

/// Keys that have several words.
TEST(GroupInParts, LongKeys) {
  agrees_in_parts(
      "def f(key: i32[N], v: i32[N]) -> g {\n"
      "  g = group(+) [ ((i64(key[i]) * 1000000007, v[i] % 3, key[i] > 2), v[i]) | i ]\n"
      "}");
}

TEST(GroupInParts, CollectedValues) {
  agrees_in_parts("def f(key: i32[N], v: i32[N]) -> g { g = group [ (key[i], v[i]) | i ] }");
}

TEST(GroupInParts, ManyPointsPerElement) {
  agrees_in_parts(
      "def f(key: i32[N], v: i32[N]) -> g { g = group [ (key[i] + k, v[i] - k) | i, k < v[i] % 4 ] }");
}

/// A group beside outputs of other kinds, which count in a first pass or have private copies.
TEST(GroupInParts, BesideOthers) {
  agrees_in_parts(
      "def f(key: i32[N], v: i32[N]) -> (a, b, c, d) {\n"
      "  stage several(i < N) {\n"
      "    out a: i32[born L] = append(i) v[i] where v[i] > 50\n"
      "    out b: i64 = fold(+, i) i64(v[i])\n"
      "    out c: i32[K] keys k: i32[born K] key key[i] = group(max, i) v[i]\n"
      "    out d: i32[born M] offsets o: i64[G + 1] keys k2: i32[born G] key v[i] % 5 = group(i) key[i]\n"
      "  }\n"
      "}");
}

/// One table for several outputs: folds, with and without identity, and collected values.
TEST(GroupInParts, SharedBuckets) {
  agrees_in_parts(
      "op last(a: i32, b: i32) -> i32 associative { b }\n"
      "def f(key: i32[N], v: i32[N]) -> (a, b, k, c, d, o, k2) {\n"
      "  stage several(i < N, j < 2) {\n"
      "    out a: i32[K] keys k: i32[born K] key key[i] + i32(j) = group(max, i) group(max, j) v[i] where "
      "v[i] > 10\n"
      "    out e: i64 = fold(+, i) fold(+, j) i64(v[i])\n"
      "    out b: i32[K] key key[i] + i32(j) = group(last, i) group(last, j) v[i] - i32(j) where v[i] > 10\n"
      "    out c: i32[born L] offsets o: i64[K + 1] key key[i] + i32(j) = group(i) group(j) v[i] where v[i] "
      "> 10\n"
      "    out d: i64[K] keys k2: i32[K] key key[i] + i32(j) = group(+, i) group(+, j) 1 where v[i] > 10\n"
      "  }\n"
      "}");
}

TEST(GroupInParts, SharedBucketsHaveOneTable) {
  const auto program = program_of(
      "def f(key: i32[N], v: i32[N]) -> (a, b) {\n"
      "  stage both(i < N) {\n"
      "    out a: i32[K] keys k: i32[born K] key key[i] = group(max, i) v[i]\n"
      "    out b: i32[K] key key[i] = group(min, i) v[i]\n"
      "  }\n"
      "}");
  Options options;
  options.stop_after = "nest";
  const std::string loops = print_loops(*compile(program, two_cores(), options).nest);
  const auto count = [&](const std::string& what) {
    std::size_t found = 0;
    for (std::size_t at = loops.find(what); at != std::string::npos; at = loops.find(what, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("  table "), 1u) << loops;
  EXPECT_EQ(count("number of key[i] in"), 1u) << loops;
}

TEST(GroupInParts, IsTheDefault) {
  const auto program = program_of("def f(key: i32[N]) -> g { g = group(+) [ (key[i], 1) | i ] }");
  const Cluster cluster = default_plan(*program, two_cores()).plan.blocks.front().clusters.front();
  const auto& outermost = std::get<Loop>(cluster.loops.front());
  EXPECT_EQ(outermost.cut, (Cut{Cut::Kind::Parts, 0}));
  EXPECT_EQ(outermost.by, By::Core);
  EXPECT_EQ(cluster.merges, (std::vector<Merge>{{0, 0, How::Partial}}));
}

TEST(GroupInParts, NotIfFloatsMustMeetInOrder) {
  const auto program =
      program_of("strict def f(key: i32[N], v: f32[N]) -> g { g = group(+) [ (key[i], v[i]) | i ] }");
  const Planned planned = default_plan(*program, two_cores());
  EXPECT_EQ(std::get<Loop>(planned.plan.blocks.front().clusters.front().loops.front()).cut, Cut{});
  ASSERT_FALSE(planned.reasons.empty());
  EXPECT_EQ(planned.reasons.front().text,
            "no several cores: the parts of 'g' cannot be combined: the program is strict about the order of "
            "float operations");
}

/// A scan from the right makes its whole stage run so: buckets and appends have that order, too.
TEST(GroupInParts, NotIfTheStageRunsFromTheRight) {
  for (const char* output : {"out g: i32[K] keys k: i32[born K] key key[i] = group(+, i) key[i]",
                             "out g: i32[born L] = append(i) key[i]"}) {
    const auto program =
        program_of("def f(key: i32[N]) -> (g, s) {\n  stage both(i < N) {\n    " + std::string(output) +
                   "\n    out s: i32[N] at [i] = scan_right(max, i) key[i]\n  }\n}");
    const Planned planned = default_plan(*program, two_cores());
    EXPECT_EQ(std::get<Loop>(planned.plan.blocks.front().clusters.front().loops.front()).cut, Cut{});
    ASSERT_FALSE(planned.reasons.empty());
    EXPECT_EQ(planned.reasons.front().text,
              "no several cores: the parts of 'g' meet from the left, and 'i' runs from the right");
  }
}

TEST(GroupInParts, CollectingNeedsNoOrderOfOperations) {
  const auto program =
      program_of("strict def f(key: i32[N], v: f32[N]) -> g { g = group [ (key[i], v[i]) | i ] }");
  const Planned planned = default_plan(*program, two_cores());
  EXPECT_EQ(std::get<Loop>(planned.plan.blocks.front().clusters.front().loops.front()).by, By::Core);
}

TEST(GroupInParts, NeedsAMergeByTables) {
  const auto program = program_of("def f(key: i32[N]) -> g { g = group(+) [ (key[i], 1) | i ] }");
  Plan plan = default_plan(*program, two_cores()).plan;
  plan.blocks.front().clusters.front().merges.front().how = How::TwoPass;
  const auto result = elaborate(program, two_cores(), plan);
  ASSERT_FALSE(bool(result));
  EXPECT_EQ(result.why().text, "'g' needs a merge by partial: it is cut into parts along a group dimension");
}

/// The condition is costly: parts write to slices of memory for all points.
TEST(AppendInParts, Slices) {
  const std::string text =
      "def f(key: i32[N], v: i32[N]) -> y { y = [ (key[i], v[i]) | i, exp(0.1 * v[i]) > 2 ] }";
  agrees_in_parts(text);
  EXPECT_THAT(loops_in_parts(text), testing::HasSubstr("let y_place be y_slices if parts > 1, else y\n"));
}

TEST(AppendInParts, SlicesOfSeveralPointsAndOutputs) {
  agrees_in_parts(
      "def f(key: i32[N], v: i32[N]) -> (a, b, c) {\n"
      "  stage several(i in 2 .. N + 2, k < 3) {\n"
      "    out a: i32[born A] = append(i) append(k) i32(v[i - 2] * k) where exp(0.1 * v[i - 2]) > k\n"
      "    out b: i64[A] = append(i) append(k) i - k where exp(0.1 * v[i - 2]) > k\n"
      "    out c: i32[born C] = append(i) append(k) i32(key[i - 2] + k) where sin(v[i - 2]) > 0.5\n"
      "  }\n"
      "}");
}

/// How many there can be is not known before: buffers grow.
TEST(AppendInParts, Grows) {
  const std::string text =
      "def f(key: i32[N], v: i32[N]) -> y { y = [ v[i] - k | i, k < v[i] % 4, exp(0.1 * key[i]) > k ] }";
  agrees_in_parts(text);
  EXPECT_THAT(loops_in_parts(text), testing::HasSubstr("growing buffer y_values\n"));
}

TEST(AppendInParts, GrowsBesideOthers) {
  agrees_in_parts(
      "def f(key: i32[N], v: i32[N]) -> (a, b, c, d) {\n"
      "  stage several(i < N, k < v[i] % 4) {\n"
      "    out a: i32[born A] = append(i) append(k) i32(v[i] * k) where exp(0.1 * v[i]) > k\n"
      "    out b: i64[A] = append(i) append(k) i - k where exp(0.1 * v[i]) > k\n"
      "    out c: i32[born C] = append(i) append(k) i32(key[i] + k) where sin(v[i]) > 0.5\n"
      "    out d: i64 = fold(+, i) fold(+, k) v[i] - k\n"
      "  }\n"
      "}");
}

}  // namespace
}  // namespace twill
