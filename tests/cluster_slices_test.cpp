// Clusters of which tiles need slices: which ones are chosen, and that no greedy plan is predicted to be
// faster.
#include "base/files.h"
#include "cluster/cluster.h"
#include "driver/agree.h"
#include "driver/compile.h"
#include "driver/tiling.h"
#include "plan/predict.h"
#include "program/text.h"
#include "programs.h"
#include "simplify/simplify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace twill {
namespace {

Compilation compiled(const std::shared_ptr<const Program>& program, Clusters clusters,
                     const std::string& stop_after = "elaborate") {
  Options options;
  options.clusters = clusters;
  options.stop_after = stop_after;
  return compile(program, two_cores(), options);
}

struct Chosen {
  const char* name;
  int passes, buffers;
  const char* text;
  std::vector<std::int64_t> sizes;
};

class ChosenSlices : public testing::TestWithParam<Chosen> {};

/// The structure, a proof, and the interpreter's results.
TEST_P(ChosenSlices, AreTheBestAndAgree) {
  const auto program = program_of(GetParam().text);
  const Compilation c = compiled(program, Clusters::Optimal, "");
  EXPECT_EQ(c.schedule->passes, GetParam().passes);
  EXPECT_EQ(c.schedule->buffers, GetParam().buffers);
  ASSERT_TRUE(c.proof);
  EXPECT_EQ(c.proof->gap(), 0);
  std::vector<Data> inputs;
  for (const Input& input : program->inputs) {
    std::vector<std::int64_t> shape = GetParam().sizes;
    shape.resize(program->operator[](input.array).shape.size());
    inputs.push_back(random_data(Scalar::F32, shape, inputs.size() + 1));
  }
  EXPECT_EQ(agreement(*program, reference_of(*program, inputs), c.kernel->run(inputs)).difference, "");
}

const std::vector<Chosen> chosen = {
    {"Blur",
     1,
     0,
     "def f(u: f32[H, W]) -> b { a[y, x] = u[y, clamp(x - 1)] + u[y, x] + u[y, clamp(x + 1)]\n"
     "b[y, x] = a[clamp(y - 1), x] + a[y, x] + a[clamp(y + 1), x] }",
     {70, 50}},
    // Some rows of the first one would be computed twice, which costs more than memory if it is much …
    {"DearOverlapIsKeptInMemory",
     2,
     1,
     "def f(u: f32[D, H, W]) -> v { a[z, y, x] = exp(sin(u[z, y, x])) + exp(cos(u[z, y, x]))\n"
     "b[z, y, x] = sum(k < 3) a[z, clamp(y + k - 1), x]\n"
     "v[z, y, x] = sum(k < 3) b[clamp(z + k - 1), y, x] }",
     {20, 30, 40}},
    // … and less if it is little.
    {"CheapOverlapIsComputedTwice",
     1,
     0,
     "def f(u: f32[D, H, W]) -> v { a[z, y, x] = u[z, clamp(y - 1), x] + u[z, y, x]\n"
     "b[z, y, x] = sum(k < 3) a[z, clamp(y + k - 1), x]\n"
     "v[z, y, x] = sum(k < 3) b[clamp(z + k - 1), y, x] }",
     {20, 30, 40}},
    // One reader needs neighbours, the other one the same point: both are with what they read, or nobody.
    {"AllReadersOrNone",
     1,
     0,
     "def f(u: f32[H, W]) -> d { a[y, x] = exp(u[y, x])\n"
     "b[y, x] = a[clamp(y - 1), x] + a[clamp(y + 1), x]\n"
     "c[y, x] = a[y, x] * b[y, x]\n"
     "d[y, x] = c[y, clamp(x - 1)] + c[y, clamp(x + 1)] + b[y, x] }",
     {70, 50}},
    // A sum of everything comes before the second reader.
    {"AReaderThatHasToWait",
     3,
     1,
     "def f(u: f32[H, W]) -> (b, c) { a[y, x] = exp(sin(u[y, x])) + exp(cos(u[y, x]))\n"
     "b[y, x] = a[clamp(y - 1), x] + a[clamp(y + 1), x]\n"
     "s = max(y, x) b[y, x]\n"
     "c[y, x] = a[y, x] + s }",
     {70, 50}},
};

INSTANTIATE_TEST_SUITE_P(All, ChosenSlices, testing::ValuesIn(chosen),
                         [](const auto& info) { return info.param.name; });

/// What greedy choices find, slices included, is no better by prediction.
TEST(ChosenSlices, AreNoWorseThanGreedyOnes) {
  const auto pipeline = [](const char* file) {
    const Module module = parse(
        file, read_file(std::filesystem::path(TWILL_ROOT) / "examples" / (std::string(file) + ".twill")));
    return std::make_shared<const Program>(module.programs.back());
  };
  std::vector<std::shared_ptr<const Program>> programs;
  for (const Chosen& one : chosen) programs.push_back(program_of(one.text));
  for (const char* file : {"blur", "unsharp", "harris", "bilateral_grid", "jacobi2d", "softmax"})
    programs.push_back(pipeline(file));
  for (const auto& program : programs) {
    const auto time = [&](Clusters clusters) {
      const Compilation c = compiled(program, clusters);
      return predicted_time(*c.schedule, time_model_of(c.machine), {});
    };
    const double best = time(Clusters::Optimal);
    for (const Clusters other : {Clusters::Greedy, Clusters::TopDown, Clusters::BottomUp})
      EXPECT_LE(best, time(other) * (1 + 1e-6)) << program->name << " " << static_cast<int>(other);
  }
}

}  // namespace
}  // namespace twill
