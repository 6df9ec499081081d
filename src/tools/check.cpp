// `twill check`: runs the tests and structure expectations that are written in program files.
#include "base/error.h"
#include "base/files.h"
#include "driver/agree.h"
#include "driver/compile.h"
#include "driver/module_tests.h"
#include "tools/command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

namespace twill {

namespace {

constexpr const char* examples =
    "Every call in a test runs twice, by the interpreter and as a compiled kernel, and both must agree.\n"
    "Expectations about values, structure (passes, buffers, stages, loops) and errors follow;\n"
    "docs/language.md explains how tests are written.\n\n"
    "Examples:\n"
    "  twill check examples/*.twill\n"
    "  twill check mine.twill --target interp    the interpreter alone: no C compiler is needed\n"
    "  twill check mine.twill --test edge        only tests with 'edge' in their names";

struct CheckCall {
  std::vector<std::string> files;
  std::string target = "openmp", test;
};

/// The kernels of one file, compiled when they are first called.
class Kernels {
 public:
  explicit Kernels(const Machine& machine) : machine_(machine) {}

  const Kernel& of(const Program& program) {
    auto& held = held_[program.name];
    Options options;
    options.keep_plans = true;
    if (!held) held = std::move(compile(std::make_shared<Program>(program), machine_, options).kernel);
    return *held;
  }

 private:
  const Machine& machine_;
  std::map<std::string, std::optional<Kernel>> held_;
};

/// What the interpreter says, after the kernel has said the same.
Outcome run_both(const Kernel& kernel, std::span<const Data> inputs) {
  std::optional<Outcome> actual;
  std::optional<Error> failure;
  try {
    actual = kernel.run(inputs);
  } catch (const Error& error) {
    failure = error;
  }
  std::optional<Reference> expected;
  try {
    expected.emplace(reference_of(kernel.program(), inputs));
  } catch (const Error& error) {
    if (actual)
      fail_disagreement(kernel.program(),
                        "the kernel runs, the interpreter says: " + error.diagnostics().front().message);
    throw;
  }
  if (!actual)
    fail_disagreement(kernel.program(),
                      "the interpreter runs, the kernel says: " + failure->diagnostics().front().message);
  require_agreement(kernel.program(), *expected, *actual);
  return std::move(expected->outcome);
}

struct Counts {
  int passed = 0, failed = 0;
  std::vector<std::string> left_out;  // names of tests that were not asked for
};

void check_file(const std::string& file, const CheckCall& options, const Machine& machine, Counts& counts) {
  const Module module = read_module(file);
  Kernels kernels(machine);
  const Runner run = [&](const Program& program, std::span<const Data> inputs) {
    return options.target == "interp" ? interpret(program, inputs) : run_both(kernels.of(program), inputs);
  };
  std::vector<const Test*> chosen;
  for (const Test& test : module.tests) {
    if (test.name.find(options.test) != std::string::npos)
      chosen.push_back(&test);
    else
      counts.left_out.push_back(test.name);
  }
  if (chosen.empty() && !options.test.empty()) return;
  fmt::print("{}\n", file);
  if (chosen.empty()) fmt::print("  no tests\n");
  for (const Test* each : chosen) {
    const Test& test = *each;
    const TestResult result = run_test(module, test, machine, run);
    ++(result.passed() ? counts.passed : counts.failed);
    fmt::print("  {}  {}\n", result.passed() ? "ok  " : "FAIL", test.name);
    for (const Diagnostic& failure : result.failures) fmt::print("{}", to_string(failure));
    std::fflush(stdout);
  }
}

int check(const CheckCall& options) {
  const Machine machine = this_machine(cache_directory(), Measure::Never).machine;
  Counts counts;
  int broken = 0;
  for (const std::string& file : options.files) {
    try {
      check_file(file, options, machine, counts);
    } catch (const Error& error) {
      if (options.files.size() == 1) throw;
      std::fflush(stdout);
      fmt::print(stderr, "{}", error.what());
      ++broken;
    }
  }
  if (counts.passed + counts.failed + broken == 0 && !options.test.empty())
    usage("E0713", fmt::format("no test has '{}' in its name", options.test),
          counts.left_out.empty() ? "there are no tests"
                                  : fmt::format("the tests are: {}", fmt::join(counts.left_out, ", ")));
  fmt::print("{} passed, {} failed", counts.passed, counts.failed);
  if (broken > 0) fmt::print(", {} of {} files could not be read", broken, options.files.size());
  fmt::print("\n");
  return counts.failed + broken > 0 ? 1 : 0;
}

}  // namespace

Action add_check(CLI::App& app) {
  auto options = std::make_shared<CheckCall>();
  app.add_option("FILE", options->files, "Program files")->required()->type_name("");
  app.add_option("--target", options->target,
                 "openmp (compiled kernels too) or interp (the interpreter alone)")
      ->type_name("NAME")
      ->check(CLI::IsMember({"openmp", "interp"}, CLI::ignore_case).description(""));
  app.add_option("--test", options->test, "Only tests with this in their names")->type_name("TEXT");
  app.footer(examples);
  return [options] { return check(*options); };
}

}  // namespace twill
