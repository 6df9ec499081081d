// The catalogue: every example against an independent reference in NumPy, run by the interpreter and as a
// compiled kernel, on several sizes; and the tests that the examples contain.
#include "base/error.h"
#include "base/files.h"
#include "driver/compile.h"
#include "driver/module_tests.h"
#include "program/check.h"
#include "program/interpret.h"
#include "program/text.h"
#include "run/image.h"
#include "run/npy.h"
#include "run/process.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

namespace twill {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const fs::path folder = fs::path(TWILL_ROOT) / "examples";

std::vector<std::string> example_files() {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".twill") files.push_back(entry.path().filename().string());
  std::ranges::sort(files);
  return files;
}

Module module_of(const std::string& file) { return parse(file, read_file(folder / file)); }

/// Why the reference cannot run; empty if it can.
std::string missing_numpy() {
  static const std::string missing = [] {
    constexpr const char* remedy = "the reference needs NumPy: apt-get install python3-numpy";
    if (!find_program("/usr/bin/python3")) return std::string(remedy);
    return run_program({"/usr/bin/python3", "-c", "import numpy"}).status == 0 ? std::string()
                                                                               : std::string(remedy);
  }();
  return missing;
}

/// One line of the reference's table: a definition, its inputs, and what should come out.
struct Case {
  std::string name, definition;
  std::vector<fs::path> inputs;
  struct Result {
    std::string name;
    fs::path path;
    double tolerance;
  };
  std::vector<Result> results;
  std::vector<std::string> printed;
};

/// Has the reference write the cases of a file (all of them if it is empty) into a directory.
std::vector<Case> reference_cases(const fs::path& directory, const std::string& file) {
  std::vector<std::string> command = {"/usr/bin/python3", (folder / "reference.py").string(), "write",
                                      directory.string()};
  if (!file.empty()) command.push_back(file);
  const ExitReport report = run_program(command);
  EXPECT_EQ(report.status, 0) << report.output;
  if (report.status != 0) return {};
  std::vector<Case> cases;
  for (const Json& entry : Json::parse(read_file(directory / "cases.json"))) {
    Case c{entry["name"], entry["definition"], {}, {}, entry["effects"]};
    for (const Json& input : entry["inputs"]) c.inputs.emplace_back(input["path"].get<std::string>());
    for (const Json& result : entry["results"])
      c.results.push_back({result["name"], result["path"].get<std::string>(), result["tolerance"]});
    cases.push_back(std::move(c));
  }
  return cases;
}

std::string shape_text(const Data& data) {
  return fmt::format("{}[{}]", to_string(data.type()), fmt::join(data.shape(), ", "));
}

/// Compares what came out with the reference.
void expect_agreement(const Program& program, const Outcome& outcome, const Case& c) {
  ASSERT_EQ(outcome.results.size(), c.results.size());
  for (std::size_t i = 0; i < c.results.size(); ++i) {
    const auto& [name, path, tolerance] = c.results[i];
    const Array& array = program[program.results[i]];
    const Data expected = load_npy(path, array.type);
    EXPECT_EQ(array.name, name);
    EXPECT_EQ(shape_text(outcome.results[i]), shape_text(expected)) << name;
    EXPECT_LE(max_error(outcome.results[i], expected), tolerance) << name;
  }
  std::vector<std::string> printed;
  for (const EffectEvent& effect : outcome.effects) printed.push_back(effect.text);
  EXPECT_EQ(printed, c.printed);
}

class Examples : public testing::TestWithParam<std::string> {
 protected:
  /// Runs every case of the example with run(program, inputs).
  void compare_with_numpy(const Runner& run) {
    if (!missing_numpy().empty()) GTEST_SKIP() << missing_numpy();
    const Module module = module_of(GetParam());
    const WorkDirectory work{fs::path(testing::TempDir())};
    const std::vector<Case> cases = reference_cases(work.path(), GetParam());
    EXPECT_FALSE(cases.empty());
    for (const Case& c : cases) {
      SCOPED_TRACE(c.name);
      const Program* program = module.find(c.definition);
      ASSERT_NE(program, nullptr) << "no definition '" << c.definition << "'";
      ASSERT_EQ(c.inputs.size(), program->inputs.size());
      std::vector<Data> inputs;
      for (std::size_t i = 0; i < c.inputs.size(); ++i)
        inputs.push_back(load_npy(c.inputs[i], (*program)[program->inputs[i].array].type));
      try {
        expect_agreement(*program, run(*program, inputs), c);
      } catch (const Error& error) {
        ADD_FAILURE() << error.what();
      }
    }
  }

  /// Runs the tests in the file.
  void pass_own_tests(const Runner& run) {
    const Module module = module_of(GetParam());
    for (const TestResult& result : run_tests(module, detect_machine(), run))
      for (const Diagnostic& failure : result.failures)
        ADD_FAILURE() << "test \"" << result.name << "\": " << to_string(failure);
  }
};

/// Compiles each program once.
class Kernels {
 public:
  Outcome operator()(const Program& program, std::span<const Data> inputs) {
    auto kernel = kernels_.find(&program);
    if (kernel == kernels_.end()) kernel = kernels_.emplace(&program, compile(program)).first;
    return kernel->second.run(inputs);
  }

 private:
  std::map<const Program*, Kernel> kernels_;
};

Outcome interpreted(const Program& program, std::span<const Data> inputs) {
  return interpret(program, inputs);
}

TEST_P(Examples, InterpretedAgreesWithNumPy) { compare_with_numpy(interpreted); }

TEST_P(Examples, CompiledAgreesWithNumPy) { compare_with_numpy(Kernels()); }

TEST_P(Examples, InterpretedPassesItsTests) { pass_own_tests(interpreted); }

TEST_P(Examples, CompiledPassesItsTests) { pass_own_tests(Kernels()); }

TEST_P(Examples, SurvivesPrintingAndParsing) {
  for (const Program& program : module_of(GetParam()).programs) {
    const std::string text = print(program);
    EXPECT_TRUE(same(parse_program("printed", text), program)) << text;
  }
}

/// The first comment of a file says what it shows, and the catalogue lists it.
TEST_P(Examples, IsIntroduced) {
  EXPECT_EQ(read_file(folder / GetParam()).substr(0, 2), "# ");
  EXPECT_FALSE(module_of(GetParam()).tests.empty());
  EXPECT_THAT(read_file(folder / "README.md"), testing::HasSubstr("](" + GetParam() + ") |"));
}

std::string stem(const testing::TestParamInfo<std::string>& info) {
  return fs::path(info.param).stem().string();
}

INSTANTIATE_TEST_SUITE_P(Catalogue, Examples, testing::ValuesIn(example_files()), stem);

/// Every definition has a reference, and every reference a definition.
TEST(Catalogue, IsCovered) {
  if (!missing_numpy().empty()) GTEST_SKIP() << missing_numpy();
  std::set<std::string> defined, covered;
  for (const std::string& file : example_files())
    for (const Program& program : module_of(file).programs)
      defined.insert(fs::path(file).stem().string() + "." + program.name);
  const WorkDirectory work{fs::path(testing::TempDir())};
  for (const Case& c : reference_cases(work.path(), "")) covered.insert(c.name.substr(0, c.name.rfind('.')));
  EXPECT_EQ(defined, covered);
}

/// The residual that the NAS Parallel Benchmarks publish for class S of MG, within the relative error that
/// they allow, whichever stages share a pass.
TEST(Multigrid, ClassSHasThePublishedResidual) {
  const Module module = module_of("multigrid.twill");
  for (const auto& [name, clusters] :
       {std::pair{"none", Clusters::None}, std::pair{"greedy", Clusters::Greedy},
        std::pair{"greedy-top", Clusters::TopDown},
        std::pair{"greedy-bottom", Clusters::BottomUp}, std::pair{"optimal", Clusters::Optimal}}) {
    SCOPED_TRACE(name);
    Options options;
    options.clusters = clusters;
    options.simplify = clusters != Clusters::None;
    const Compilation compiled =
        compile(std::make_shared<const Program>(*module.find("class_s")), detect_machine(), options);
    const Outcome outcome = compiled.kernel->run({});
    EXPECT_NEAR(outcome.results[0].as<double>()[0], 0.5307707005734e-4, 1e-8 * 0.5307707005734e-4);
  }
}

TEST(Catalogue, HasAPicture) {
  const fs::path path = folder / "pictures" / "landscape.png";
  EXPECT_LE(fs::file_size(path), 200'000u);
  const Data picture = png_from_bytes(read_file(path), "landscape.png");
  EXPECT_EQ(picture.shape(), (std::vector<std::int64_t>{512, 768, 3}));
}

}  // namespace
}  // namespace twill
