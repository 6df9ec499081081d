// Reads at places that data decide: what is read is computed there, instead of being made, where that costs
// less. Every test states passes and buffers, and compares with the interpreter, errors included.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "driver/agree.h"
#include "driver/compile.h"
#include "programs.h"

#include <algorithm>

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

}  // namespace
}  // namespace twill
