// Reads at places that data decide: what is read is computed there, instead of being made, where that costs
// less. Every test states passes and buffers, and compares with the interpreter, errors included.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "cluster/cluster.h"
#include "driver/agree.h"
#include "driver/compile.h"
#include "programs.h"
#include "simplify/simplify.h"

#include <algorithm>
#include <array>

namespace twill {
namespace {

struct Structure {
  int passes, buffers;
  friend bool operator==(const Structure&, const Structure&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Structure& s) {
    return out << s.passes << " passes, " << s.buffers << " buffers";
  }
};

/// Places among so many elements, in no order, some of them more than once.
Data places(std::int64_t count, std::int64_t elements) {
  Data data(Scalar::I32, {count});
  std::uint64_t state = 12345;
  for (std::int32_t& place : data.as<std::int32_t>()) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    place = static_cast<std::int32_t>((state >> 33) % static_cast<std::uint64_t>(elements));
  }
  return data;
}

Compilation compiled(const std::shared_ptr<const Program>& program, Clusters clusters,
                     std::optional<GraphCost> cost = GraphCost::ReadsWrites) {
  Options options;
  options.clusters = clusters;
  options.cost = cost;
  return compile(program, two_cores(), options);
}

/// Inputs named p, q, … of type i32 are places among 100 elements; all sizes, and inputs of type i64, are
/// 100.
std::vector<Data> inputs_of(const Program& program) {
  std::vector<Data> inputs;
  for (const Input& input : program.inputs) {
    const Array& array = program[input.array];
    const std::vector<std::int64_t> shape(array.shape.size(), 100);
    if (array.type == Type(Scalar::I32))
      inputs.push_back(places(100, 100));
    else if (array.type == Type(Scalar::I64))
      inputs.push_back(Data::scalar(Number::of(Scalar::I64, 100)));
    else
      inputs.push_back(random_data(array.type.scalar(), shape, inputs.size() + 1));
  }
  return inputs;
}

std::string error_of(const Kernel& kernel, std::span<const Data> inputs) {
  try {
    kernel.run(inputs);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// Why stages stay apart, for a reason of this code.
std::string why_apart(const Compilation& c, const std::string& code) {
  const auto found = std::ranges::find(c.apart, code, &Reason::code);
  return found == c.apart.end() ? "" : found->text;
}

/// The structure that a choice of clusters leaves, with the interpreter's results.
Structure structure_of(const std::string& text, Clusters clusters = Clusters::Optimal) {
  const auto program = program_of(text);
  const Compilation c = compiled(program, clusters);
  const std::vector<Data> inputs = inputs_of(*program);
  EXPECT_EQ(agreement(*program, reference_of(*program, inputs), c.kernel->run(inputs)).difference, "");
  return {c.schedule->passes, c.schedule->buffers};
}

const std::string of_map =
    "def f(x: f32[N], p: i32[M]) -> y { a[i] = exp(x[i]) * x[i] + 1\n y[j] = a[p[j]] }";

TEST(Gather, AMapIsComputedWhereItIsRead) { EXPECT_EQ(structure_of(of_map), (Structure{1, 0})); }

TEST(Gather, GreedyComputesNothingMoreOftenThanItIsMade) {
  EXPECT_EQ(structure_of(of_map, Clusters::Greedy), (Structure{2, 1}));
  EXPECT_EQ(why_apart(compiled(program_of(of_map), Clusters::Greedy), "repeated"),
            "'a' and 'y' stay apart: elements of 'a' would be computed as often as they are read");
}

TEST(Gather, WhatIsReadOnlyOnceForEachElementIsComputedWhereItIsRead) {
  const std::string text = "def f(x: f32[N], p: i32[N]) -> y { a[i] = x[i] + 1\n y[j] = a[p[j]] }";
  EXPECT_EQ(structure_of(text), (Structure{1, 0}));
}

TEST(Gather, GeneratorsHaveNoArray) {
  EXPECT_EQ(structure_of("def f(p: i32[M], n: i64) -> y { a[i < n] = i * i + 1\n y[j] = a[p[j]] }"),
            (Structure{1, 0}));
}

TEST(Gather, ThroughOtherGathers) {
  EXPECT_EQ(structure_of("def f(x: f32[N], p: i32[M], q: i32[K]) -> y {"
                         " a[i] = x[i] * x[i] + 1\n b[j] = a[p[j]] - 2\n y[k] = b[q[k]] }"),
            (Structure{1, 0}));
}

TEST(Gather, TheIndexIsComputedInTheSameLoop) {
  EXPECT_EQ(structure_of("def f(x: f32[N], p: i32[M]) -> y {"
                         " a[i] = x[i] * x[i] + 1\n q[j] = (p[j] * 7) % N\n y[j] = a[q[j]] + f32(q[j]) }"),
            (Structure{1, 0}));
}

TEST(Gather, AFoldOfEveryRowRunsInsideOfItsReader) {
  EXPECT_EQ(
      structure_of("def f(x: f32[N, M], p: i32[K]) -> y { s[i] = sum(j) x[i, j]\n y[k] = 2 * s[p[k]] }"),
      (Structure{1, 0}));
}

TEST(Gather, AFoldOfAGatheredMapTakesNoMemory) {
  EXPECT_EQ(structure_of("def f(x: f32[N], p: i32[M]) -> s { a[i] = exp(x[i])\n s = sum(j) a[p[j]] }"),
            (Structure{1, 0}));
}

TEST(Gather, AScatterOfAGatheredMapTakesNoMemory) {
  EXPECT_EQ(structure_of("def f(x: f32[N], p: i32[M], q: i32[M]) -> h: f32[100] {"
                         " a[i] = exp(x[i])\n h = scatter(+) { q[j] <- a[p[j]] | j } }"),
            (Structure{1, 0}));
}

TEST(Gather, TwoOrdersOfOneArrayInOneLoop) {
  EXPECT_EQ(structure_of("def f(x: f32[N], p: i32[N], q: i32[N]) -> (y, z) {"
                         " y[i] = x[i] + x[p[i]]\n z[i] = x[q[i]] * 2 }"),
            (Structure{1, 0}));
}

TEST(Gather, WhatIsReadInTwoOrdersIsMade) {
  const std::string text = "def f(x: f32[N], p: i32[N]) -> y { a[i] = exp(x[i])\n y[i] = a[i] + a[p[i]] }";
  EXPECT_EQ(structure_of(text), (Structure{2, 1}));
  EXPECT_EQ(why_apart(compiled(program_of(text), Clusters::Optimal), "other-element"),
            "'a' and 'y' stay apart: 'a' is read at another point than its own");
}

TEST(Gather, WhatIsNeededElsewhereIsMade) {
  const std::string text = "def f(x: f32[N], p: i32[M]) -> (a, y) { a[i] = exp(x[i])\n y[j] = a[p[j]] }";
  EXPECT_EQ(structure_of(text), (Structure{2, 0}));
  EXPECT_EQ(why_apart(compiled(program_of(text), Clusters::Optimal), "shared"),
            "'a' is not computed in the order of 'y': 'a' is needed elsewhere as well");
}

TEST(Gather, PlacesThatAreNoneAreErrorsAsBefore) {
  for (const std::string& text :
       {of_map, std::string("def f(p: i32[M], n: i64) -> y { a[i < n] = i * i + 1\n y[j] = a[p[j]] }"),
        std::string("def f(x: f32[N, M], p: i32[K]) -> y { s[i] = sum(j) x[i, j]\n y[k] = 2 * s[p[k]] }"),
        std::string(
            "def f(x: f32[N], p: i32[M], b: bool) -> y { a[i] = if b then x[i] else 0\n y[j] = a[p[j]] }")}) {
    const auto program = program_of(text);
    const Compilation c = compiled(program, Clusters::Optimal);
    std::vector<Data> inputs = inputs_of(*program);
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (program->operator[](program->inputs[k].array).type == Type(Scalar::I32))
        inputs[k].as<std::int32_t>()[7] = 100;
    EXPECT_THAT(error_of(*c.kernel, inputs), testing::HasSubstr("E0505")) << text;
    EXPECT_THROW(reference_of(*program, inputs), Error) << text;
  }
}

struct OfThePaper {
  const char* name;
  Structure best;
  std::array<int, 5> optima;
  const char* text;
};

std::ostream& operator<<(std::ostream& out, const OfThePaper& one) { return out << one.name; }

/// The examples of the literature on clusters with gathers, as programs: what is left is what is proven to be
/// best for bare graphs. In the last one we need one pass less: what all wait for is computed again.
const OfThePaper of_the_paper[] = {
    {"singleLoop",
     {1, 0},
     {1, 0, 1, 2, 3},
     "def single_loop(a: f32[N]) -> result {\n  b[i < N] = a[N - 1 - i]\n  c[i] = sqrt(abs(a[i]))\n"
     "  d[i] = c[i] * c[i] + 1\n  result[i] = b[i] + c[i] + d[i]\n}"},
    {"simple1",
     {1, 0},
     {1, 0, 1, 2, 3},
     "def simple1(p: i32[M], x: f32[N]) -> b {\n  a[i] = sqrt(abs(x[i])) + 1\n  b[j] = a[p[j]]\n}"},
    {"simple2",
     {1, 0},
     {1, 0, 1, 3, 4},
     "def simple2(p: i32[M], q: i32[K], x: f32[N]) -> b {\n  a[j] = x[p[j]]\n  b[k] = a[q[k]]\n}"},
    {"simple3",
     {2, 0},
     {2, 1, 2, 3, 5},
     "def simple3(p: i32[M], x: f32[N]) -> (a, b) {\n  a[i] = sqrt(abs(x[i])) + 1\n  b[j] = a[p[j]]\n}"},
    {"simple4",
     {1, 0},
     {1, 0, 1, 2, 3},
     "def simple4(p: i32[K], x: f32[N, M]) -> b {\n  a[i] = sum(j) x[i, j]\n  b[k] = a[p[k]]\n}"},
    {"simple5",
     {1, 0},
     {1, 0, 1, 3, 4},
     "def simple5(p: i32[N], x: f32[N]) -> c {\n  a[i] = sqrt(abs(x[i]))\n  b[i] = x[p[i]]\n  c[i] = a[i] * "
     "b[i]\n}"},
    {"scatterExample",
     {2, 1},
     {2, 0, 2, 2, 4},
     "def scatter_example(x: i32[N]) -> result {\n  b[i] = x[i] + 1\n"
     "  result = b with(+) { x[i] * 2 <- x[i] | i, x[i] * 2 < N }\n}"},
    {"greedyBottomUpBad",
     {2, 2},
     {2, 1, 3, 2, 5},
     "def bottom_up_bad(x: f32[N], m: i64) -> result {\n  p[i < N, j < m] = i\n  large[i, j < m] = x[p[i, "
     "j]]\n"
     "  y[i] = sum(j < m) large[i, j]\n  z[i] = max(j < m) large[i, j]\n  result[i] = y[i] + z[0]\n}"},
    {"greedyTopDownBad",
     {1, 0},
     // Not (2, 1, 2, 2, 4): b[0] is computed again where it is read, and the other stages are one.
     {1, 0, 1, 1, 2},
     "def top_down_bad(x: f32[N]) -> result {\n  b[i] = x[i] * 2\n  c[i] = b[i] + 1\n"
     "  d[i < N] = f32(i) + (if N > 0 then b[0] else 0.0f32)\n  e[i] = c[i] + d[i]\n  result = sum(i) "
     "e[i]\n}"},
};

class Paper : public testing::TestWithParam<OfThePaper> {};

TEST_P(Paper, ExamplesHaveTheirPasses) { EXPECT_EQ(structure_of(GetParam().text), GetParam().best); }

/// The costs (a) to (e), which are those of the graphs.
TEST_P(Paper, ExamplesHaveTheirOptima) {
  const auto program = simplify(program_of(GetParam().text)).program;
  for (const GraphCost cost : graph_costs) {
    const Proof proof = *cluster_optimal(*program, cost).proof;
    EXPECT_EQ(proof.gap(), 0);
    EXPECT_EQ(proof.cost, GetParam().optima[static_cast<std::size_t>(cost)]) << "cost " << letter_of(cost);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Paper, testing::ValuesIn(of_the_paper),
                         [](const auto& one) { return std::string(one.param.name); });

/// Rows of different lengths have loops of their own inside of the one over rows.
TEST(Gather, FoldsOfRowsOfDifferentLengthsAreNotOneLoop) {
  const std::string text =
      "def f(x: f32[N, K], y: f32[N, L]) -> z {\n  s[i] = sum(k) x[i, k]\n  t[i] = sum(l) y[i, l]\n"
      "  z[i] = s[i] * t[i]\n}";
  const auto program = program_of(text);
  std::vector<Data> inputs;
  inputs.push_back(random_data(Scalar::F32, {20, 7}, 1));
  inputs.push_back(random_data(Scalar::F32, {20, 13}, 2));
  for (const Clusters clusters : {Clusters::Greedy, Clusters::Optimal}) {
    const Compilation c = compiled(program, clusters);
    EXPECT_EQ(agreement(*program, reference_of(*program, inputs), c.kernel->run(inputs)).difference, "");
    for (const Stage& stage : c.schedule->program->stages) EXPECT_LE(stage.outputs.size(), 1U);
    EXPECT_EQ(c.schedule->passes, 1);
    EXPECT_EQ(c.schedule->buffers, 0);
  }
}

/// What is forced is in memory before anybody reads it, whatever that costs.
TEST(Gather, WhatIsForcedIsMade) {
  EXPECT_EQ(structure_of("def f(x: f32[N], p: i32[M]) -> y { a[i] = x[i] * 2\n force(a)\n y[j] = a[p[j]] }"),
            (Structure{2, 1}));
  EXPECT_EQ(structure_of("def f(x: f32[N]) -> y { a[i] = x[i] * 2\n force(a)\n y[i] = a[i] + 1 }"),
            (Structure{2, 1}));
}

}  // namespace
}  // namespace twill
