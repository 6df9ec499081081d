// `twill check`: runs the tests and structure expectations that are written in program files.
#include "base/error.h"
#include "base/files.h"
#include "driver/compile.h"
#include "program/evaluate.h"
#include "tools/agree.h"
#include "tools/command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
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

/// What went wrong in a test; ends it.
struct Failed {
  Diagnostic diagnostic;
};

[[noreturn]] void fail_test(const Place& place, std::string message, std::string help = {}) {
  throw Failed{{Fault::User, "E0720", place, std::move(message), std::move(help)}};
}

/// The definitions of one file, compiled when they are first called.
class Compiled {
 public:
  Compiled(const Module& module, const Machine& machine, bool kernels)
      : module_(module), machine_(machine), kernels_(kernels) {}

  const Compilation& operator[](const std::string& definition) {
    auto& held = held_[definition];
    if (!held) {
      Options options;
      if (!kernels_) options.stop_after = "elaborate";
      held = compile(std::make_shared<Program>(*module_.find(definition)), machine_, options);
    }
    return *held;
  }

 private:
  const Module& module_;
  const Machine& machine_;
  bool kernels_;
  std::map<std::string, std::optional<Compilation>> held_;
};

/// One test on its way.
class TestRun {
 public:
  TestRun(const Test& test, Compiled& compiled, bool kernels)
      : test_(test), compiled_(compiled), kernels_(kernels) {}

  void run() {
    for (std::size_t k = 0; k < test_.steps.size(); ++k) {
      const auto& step = test_.steps[k];
      if (error_) fail_test(std::get<TestCall>(*failed_step_).place, "this call fails: " + *error_);
      if (const auto* binding = std::get_if<TestBinding>(&step)) {
        bound_.insert_or_assign(binding->name,
                                std::visit([](const auto& value) { return made(value); }, binding->value));
      } else {
        call(std::get<TestCall>(step));
        if (error_) failed_step_ = &step;
      }
    }
    const bool wants_error = std::ranges::any_of(
        test_.expectations, [](const auto& e) { return std::holds_alternative<ErrorExpectation>(e); });
    if (error_ && !wants_error)
      fail_test(std::get<TestCall>(*failed_step_).place, "this call fails: " + *error_);
    for (const auto& expectation : test_.expectations)
      std::visit([&](const auto& e) { expect(e); }, expectation);
  }

 private:
  static Data made(const RandomData& random) { return random_data(random.type, random.shape, random.seed); }
  static Data made(const Data& data) { return data; }

  void call(const TestCall& call) {
    if (std::ranges::find(called_, call.definition) == called_.end()) called_.push_back(call.definition);
    const Compilation& compilation = compiled_[call.definition];
    const Program& program = *compilation.program;
    std::vector<Data> inputs;
    for (const auto& argument : call.arguments) {
      if (const auto* name = std::get_if<std::string>(&argument))
        inputs.push_back(bound_.at(*name));
      else if (const auto* random = std::get_if<RandomData>(&argument))
        inputs.push_back(made(*random));
      else
        inputs.push_back(std::get<Data>(argument));
    }
    std::optional<Outcome> expected;
    try {
      expected = interpret(program, inputs);
    } catch (const Error& error) {
      error_ = error.diagnostics().front().message;
    }
    if (kernels_) compare(*compilation.kernel, inputs, expected, call);
    if (!expected) return;
    for (std::size_t r = 0; r < call.results.size(); ++r)
      bound_.insert_or_assign(call.results[r], std::move(expected->results[r]));
  }

  void compare(const Kernel& kernel, std::span<const Data> inputs, const std::optional<Outcome>& expected,
               const TestCall& call) {
    std::optional<Outcome> actual;
    std::string error;
    try {
      actual = kernel.run(inputs);
    } catch (const Error& thrown) {
      error = thrown.diagnostics().front().message;
    }
    if (expected && !actual)
      fail_test(call.place, fmt::format("the kernel fails, but the interpreter does not: {}", error));
    if (!expected && actual)
      fail_test(call.place, fmt::format("the kernel runs, but the interpreter fails: {}", *error_));
    if (!expected) return;
    const Agreement result = agreement(kernel.program(), *expected, *actual);
    if (!result.difference.empty())
      fail_test(call.place, "the kernel and the interpreter disagree: " + result.difference);
  }

  void expect(const ValueExpectation& expectation) {
    if (error_) return;  // `expect error` speaks about this test
    const Program& holds = expectation.holds;
    std::vector<Data> inputs;
    for (const Input& input : holds.inputs) inputs.push_back(bound_.at(holds[input.array].name));
    Data truth;
    try {
      truth = std::move(interpret(holds, inputs).results.at(0));
    } catch (const Error& error) {
      fail_test(expectation.place, "this cannot be evaluated: " + error.diagnostics().front().message);
    }
    std::vector<std::int64_t> wrong;
    for (std::int64_t k = 0; k < truth.count(); ++k)
      if (truth.get(k).i == 0) wrong.push_back(k);
    if (wrong.empty()) return;
    if (truth.shape().empty()) fail_test(expectation.place, "this does not hold");
    std::int64_t rest = wrong[0];
    std::vector<std::int64_t> at(truth.shape().size());
    for (std::size_t d = at.size(); d-- > 0; rest /= truth.shape()[d]) at[d] = rest % truth.shape()[d];
    fail_test(expectation.place, fmt::format("this does not hold at [{}]; it fails at {} of {} points",
                                             fmt::join(at, ", "), wrong.size(), truth.count()));
  }

  void expect(const StructureExpectation& expectation) {
    for (const std::string& definition : called_) {
      const Compilation& compilation = compiled_[definition];
      const std::int64_t value = quantity(compilation, expectation.quantity);
      const Number operands[] = {Number::of(Scalar::I64, value), Number::of(Scalar::I64, expectation.value)};
      if (evaluate(expectation.compare, operands).i == 0)
        fail_test(expectation.place,
                  fmt::format("'{}' has {} == {}, expected {} {}", definition, expectation.quantity, value,
                              info(expectation.compare).name, expectation.value));
    }
  }

  static std::int64_t quantity(const Compilation& compilation, const std::string& name) {
    const Schedule& schedule = *compilation.schedule;
    if (name == "passes") return schedule.passes;
    if (name == "loops") return schedule.loops;
    if (name == "buffers") return schedule.buffers;
    std::int64_t stages = 0;
    for_each_stage(compilation.program->stages, [&](const Stage&) { ++stages; });
    return stages;
  }

  void expect(const ErrorExpectation& expectation) {
    if (!error_) fail_test(expectation.place, "the last call does not fail");
    if (error_->find(expectation.text) == std::string::npos)
      fail_test(expectation.place, "the last call fails with another message: " + *error_);
  }

  const Test& test_;
  Compiled& compiled_;
  bool kernels_;
  std::map<std::string, Data> bound_;
  std::vector<std::string> called_;
  std::optional<std::string> error_;  // of the last call
  const std::variant<TestBinding, TestCall>* failed_step_ = nullptr;
};

struct Counts {
  int passed = 0, failed = 0;
};

void check_file(const std::string& file, const CheckCall& options, const Machine& machine, Counts& counts) {
  const Module module = read_module(file);
  const bool kernels = options.target != "interp";
  Compiled compiled(module, machine, kernels);
  fmt::print("{}\n", file);
  if (module.tests.empty()) fmt::print("  no tests\n");
  for (const Test& test : module.tests) {
    if (test.name.find(options.test) == std::string::npos) continue;
    std::string failure;
    try {
      TestRun(test, compiled, kernels).run();
    } catch (const Failed& failed) {
      failure = to_string(failed.diagnostic);
    } catch (const Error& error) {
      failure = error.what();
    }
    ++(failure.empty() ? counts.passed : counts.failed);
    fmt::print("  {}  {}\n{}", failure.empty() ? "ok  " : "FAIL", test.name, failure);
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
