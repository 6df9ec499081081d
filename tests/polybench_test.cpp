// The thirty kernels of PolyBench, written as plain C in examples/polybench: each is imported, printed and
// parsed again, interpreted, compiled and run, and compared with what the C compiler makes of the same file,
// in-place arrays included.
#include "c_testing.h"
#include "driver/agree.h"
#include "driver/compile.h"
#include "program/interpret.h"
#include "program/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace twill {
namespace {

namespace fs = std::filesystem;

const fs::path folder = fs::path(TWILL_ROOT) / "examples/polybench";

struct Kernel30 {
  std::string file;
  std::map<std::string, std::int64_t> sizes;       // all integer arguments
  std::size_t stages;                              // of the program as it was imported
  std::size_t loops = 0;                           // stages that are loops in time
  std::map<std::string, std::int64_t> least = {};  // for smaller sizes the C function makes no sense
};

const std::vector<Kernel30> kernels = {
    {"2mm", {{"ni", 5}, {"nj", 6}, {"nk", 7}, {"nl", 4}}, 3},
    {"3mm", {{"ni", 5}, {"nj", 6}, {"nk", 7}, {"nl", 4}, {"nm", 3}}, 3},
    {"adi", {{"tsteps", 3}, {"n", 7}}, 3, 1},
    {"atax", {{"m", 5}, {"n", 7}}, 2},
    {"bicg", {{"m", 5}, {"n", 7}}, 2},
    {"cholesky", {{"n", 8}}, 1},
    {"correlation", {{"m", 5}, {"n", 7}}, 10, 0, {{"m", 1}}},
    {"covariance", {{"m", 5}, {"n", 7}}, 6},
    {"deriche", {{"w", 6}, {"h", 9}}, 7},
    {"doitgen", {{"nr", 3}, {"nq", 4}, {"np", 5}}, 3},
    {"durbin", {{"n", 9}}, 6, 1, {{"n", 1}}},
    {"fdtd-2d", {{"tmax", 4}, {"nx", 6}, {"ny", 7}}, 1, 1},
    {"floyd-warshall", {{"n", 9}}, 1, 1},
    {"gemm", {{"ni", 5}, {"nj", 6}, {"nk", 7}}, 2},
    {"gemver", {{"n", 8}}, 4},
    {"gesummv", {{"n", 8}}, 3},
    {"gramschmidt", {{"m", 7}, {"n", 5}}, 1, 1, {{"m", 5}}},
    {"heat-3d", {{"tsteps", 3}, {"n", 6}}, 1, 1},
    {"jacobi-1d", {{"tsteps", 4}, {"n", 11}}, 1, 1},
    {"jacobi-2d", {{"tsteps", 3}, {"n", 7}}, 1, 1},
    {"lu", {{"n", 8}}, 1},
    {"ludcmp", {{"n", 8}}, 3},
    {"mvt", {{"n", 8}}, 2},
    {"nussinov", {{"n", 12}}, 1},
    {"seidel-2d", {{"tsteps", 3}, {"n", 7}}, 1, 1},
    {"symm", {{"m", 6}, {"n", 7}}, 3},
    {"syr2k", {{"n", 6}, {"m", 5}}, 2},
    {"syrk", {{"n", 6}, {"m", 5}}, 2},
    {"trisolv", {{"n", 8}}, 1},
    {"trmm", {{"m", 6}, {"n", 7}}, 2},
};

/// Numbers that are small and different; matrices are well conditioned, and square ones positive definite.
Data example_data(const CArgument& argument, const std::map<std::string, std::int64_t>& sizes,
                  std::int64_t seed) {
  if (!argument.is_array) {
    if (const auto size = sizes.find(argument.name); size != sizes.end())
      return Data::scalar(Number::of(argument.type, size->second));
    return Data::scalar(Number::of_double(argument.type, argument.name == "float_n" ? 7.0
                                                         : argument.type == Scalar::F32
                                                             ? 0.25
                                                             : 1.25 + 0.25 * static_cast<double>(seed % 3)));
  }
  std::vector<std::int64_t> shape;
  for (const std::string& extent : argument.shape) shape.push_back(sizes.at(extent));
  Data data(argument.type, shape);
  const std::int64_t columns = std::max<std::int64_t>(shape.back(), 1);
  for (std::int64_t k = 0; k < data.count(); ++k) {
    const std::int64_t i = k / columns, j = k % columns;
    if (is_float(argument.type)) {
      const double value = static_cast<double>((3 * (i + j) + i * j + seed) % 13) / 13.0 + 0.05;
      const bool diagonal = shape.size() == 2 && i == j;
      data.set(
          k, Number::of_double(argument.type, value + (diagonal ? 4.0 * static_cast<double>(columns) : 0.0)));
    } else {
      data.set(k, Number::of(argument.type,
                             argument.type == Scalar::I8 ? (5 * k + k / 3) % 4 : 1 + (7 * k + seed) % 29));
    }
  }
  return data;
}

std::size_t loops_in_time(const Program& program) {
  return static_cast<std::size_t>(std::ranges::count_if(program.stages, [](const Stage& stage) {
    const auto* nested = std::get_if<Nested>(&stage.body);
    return nested && !nested->block->carries.empty();
  }));
}

class PolyBench : public testing::TestWithParam<Kernel30> {};

TEST_P(PolyBench, ComputesWhatTheCFunctionDoes) {
  const Kernel30& kernel = GetParam();
  const fs::path file = folder / (kernel.file + ".c");
  const CImport imported = import_file(file);
  ASSERT_EQ(imported.functions.size(), 1U);
  const CFunction& function = imported.functions[0];
  const Program& program = imported.module.programs[0];
  EXPECT_EQ(program.stages.size(), kernel.stages) << print(program);
  EXPECT_EQ(loops_in_time(program), kernel.loops) << print(program);
  EXPECT_TRUE(same(parse_program("printed", print(program)), program)) << print(program);

  const PlainC plain(read_file(file), imported.functions);
  // The sizes of the table; and each of them 0 and 1: what C computes where loops are empty, it must compute
  // here.
  std::vector<std::map<std::string, std::int64_t>> cases = {kernel.sizes};
  for (const auto& [name, unused] : kernel.sizes)
    for (const std::int64_t small : {0, 1, 2}) {
      if (const auto least = kernel.least.find(name); least != kernel.least.end() && small < least->second)
        continue;
      cases.push_back(kernel.sizes);
      cases.back()[name] = small;
    }
  const Kernel compiled_program = compile(program);
  for (const auto& sizes : cases) {
    SCOPED_TRACE(fmt::format("{}", fmt::join(sizes, ", ")));
    std::vector<Data> arguments;
    for (const CArgument& argument : function.arguments)
      arguments.push_back(example_data(argument, sizes, static_cast<std::int64_t>(arguments.size())));
    const std::vector<Data> inputs = inputs_among(function, program, arguments);
    plain.call(0, arguments);
    const Reference reference = reference_of(program, inputs);
    const Outcome compiled = compiled_program.run(inputs);
    EXPECT_EQ(agreement(program, reference, compiled).difference, "");
    for (std::size_t k = 0; k < arguments.size(); ++k) {
      const int result = function.arguments[k].result;
      if (result < 0) continue;
      const double limit = function.arguments[k].type == Scalar::F32 ? 1e-4 : 1e-9;
      EXPECT_LE(max_error(reference.outcome.results[static_cast<std::size_t>(result)], arguments[k]), limit)
          << function.arguments[k].name << " interpreted\n"
          << print(program);
      EXPECT_LE(max_error(compiled.results[static_cast<std::size_t>(result)], arguments[k]), limit)
          << function.arguments[k].name << " compiled\n"
          << print(program);
    }
  }
}

/// Sizes at which plans cut tiles and share work; too large for the interpreter.
TEST_P(PolyBench, DoesSoForLargerSizes) {
  const Kernel30& kernel = GetParam();
  const fs::path file = folder / (kernel.file + ".c");
  const CImport imported = import_file(file);
  const CFunction& function = imported.functions.at(0);
  const Program& program = imported.module.programs.at(0);
  std::map<std::string, std::int64_t> sizes = kernel.sizes;
  for (auto& [name, size] : sizes) size = name.starts_with("t") ? size : 9 * size + 1;
  std::vector<Data> arguments;
  for (const CArgument& argument : function.arguments)
    arguments.push_back(example_data(argument, sizes, static_cast<std::int64_t>(arguments.size())));
  const Outcome compiled = compile(program).run(inputs_among(function, program, arguments));
  PlainC(read_file(file), imported.functions).call(0, arguments);
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    const int result = function.arguments[k].result;
    if (result < 0) continue;
    EXPECT_LE(max_error(compiled.results[static_cast<std::size_t>(result)], arguments[k]),
              function.arguments[k].type == Scalar::F32 ? 1e-3 : 1e-8)
        << function.arguments[k].name;
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, PolyBench, testing::ValuesIn(kernels), [](const auto& which) {
  std::string name = which.param.file;
  std::ranges::replace(name, '-', '_');
  return name;
});

TEST(PolyBenchFolder, HasAllThirty) {
  std::set<std::string> files, listed;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".c") files.insert(entry.path().stem());
  for (const Kernel30& kernel : kernels) listed.insert(kernel.file);
  EXPECT_EQ(files, listed);
  EXPECT_EQ(files.size(), 30U);
}

}  // namespace
}  // namespace twill
