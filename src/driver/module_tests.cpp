// Running a test: bind names to data, call definitions, then see whether the expectations hold.
#include "driver/module_tests.h"

#include "driver/compile.h"
#include "driver/explain.h"
#include "program/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace twill {
namespace {

class TestRun {
 public:
  TestRun(const Module& module, const Test& test, const Machine& machine, const Runner& run)
      : module_(module), test_(test), machine_(machine), run_(run) {}

  TestResult result() {
    const bool ran = steps();
    for (const auto& expectation : test_.expectations) {
      if (const auto* value = std::get_if<ValueExpectation>(&expectation)) {
        if (ran) guarded([&] { expect_value(*value); });
      } else if (const auto* structure = std::get_if<StructureExpectation>(&expectation)) {
        guarded([&] { expect_structure(*structure); });
      } else if (ran) {
        const auto& error = std::get<ErrorExpectation>(expectation);
        miss(error.place, fmt::format("expected an error with '{}', but the call succeeded", error.text));
      }
    }
    return {test_.name, test_.place, std::move(failures_)};
  }

 private:
  /// False if a call failed, which one may have expected.
  bool steps() {
    for (const auto& step : test_.steps) {
      if (const auto* binding = std::get_if<TestBinding>(&step)) {
        names_[binding->name] = std::visit([](const auto& value) { return data_of(value); }, binding->value);
        continue;
      }
      try {
        call(std::get<TestCall>(step));
      } catch (const Error& error) {
        failed(error, &step == &test_.steps.back());
        return false;
      }
    }
    return true;
  }

  void call(const TestCall& call) {
    const Program* program = module_.find(call.definition);
    ensure(program != nullptr, "run_test: the definition exists");
    called_.insert(program);
    std::vector<Data> inputs;
    for (const auto& argument : call.arguments) {
      if (const auto* name = std::get_if<std::string>(&argument))
        inputs.push_back(names_.at(*name));
      else if (const auto* data = std::get_if<Data>(&argument))
        inputs.push_back(*data);
      else
        inputs.push_back(data_of(std::get<RandomData>(argument)));
    }
    Outcome outcome = run_(*program, inputs);
    ensure(outcome.results.size() >= call.results.size(), "run_test: a result for every name");
    for (std::size_t i = 0; i < call.results.size(); ++i)
      names_[call.results[i]] = std::move(outcome.results[i]);
  }

  static Data data_of(const RandomData& random) {
    return random_data(random.type, random.shape, random.seed);
  }
  static Data data_of(const Data& data) { return data; }

  /// A call failed. The last one may have been expected to.
  void failed(const Error& error, bool is_last) {
    bool expected = false;
    for (const auto& expectation : test_.expectations) {
      const auto* wanted = std::get_if<ErrorExpectation>(&expectation);
      if (!wanted || !is_last) continue;
      expected = true;
      const bool found = std::ranges::any_of(error.diagnostics(), [&](const Diagnostic& diagnostic) {
        return diagnostic.message.find(wanted->text) != std::string::npos;
      });
      if (!found)
        miss(wanted->place, fmt::format("expected an error with '{}', but it says: {}", wanted->text,
                                        error.diagnostics().front().message));
    }
    if (!expected) failures_.insert(failures_.end(), error.diagnostics().begin(), error.diagnostics().end());
  }

  void expect_value(const ValueExpectation& expectation) {
    std::vector<Data> inputs;
    for (const Input& input : expectation.holds.inputs)
      inputs.push_back(names_.at(expectation.holds[input.array].name));
    const Outcome outcome = interpret(expectation.holds, inputs);
    const Data& holds = outcome.results.front();
    for (std::int64_t i = 0; i < holds.count(); ++i)
      if (!holds.get(i).u)
        return miss(expectation.place, fmt::format("'{}' does not hold{}", expectation.text,
                                                   why_not(expectation.holds, inputs)));
  }

  void expect_structure(const StructureExpectation& expectation) {
    std::int64_t actual = 0;
    for (const Program* program : called_) {
      const Structure structure = structure_of(*program, machine_);
      actual += expectation.quantity == "passes"    ? structure.passes
                : expectation.quantity == "buffers" ? structure.buffers
                : expectation.quantity == "stages"  ? structure.stages
                                                    : structure.loops;
    }
    const Number operands[] = {Number::of(Scalar::I64, actual), Number::of(Scalar::I64, expectation.value)};
    if (!evaluate(expectation.compare, operands).u)
      miss(expectation.place, fmt::format("{} is {}", expectation.quantity, actual));
  }

  void guarded(const std::function<void()>& action) {
    try {
      action();
    } catch (const Error& error) {
      failures_.insert(failures_.end(), error.diagnostics().begin(), error.diagnostics().end());
    }
  }

  void miss(const Place& place, std::string message) {
    failures_.push_back({Fault::User, "E0530", place, std::move(message), {}});
  }

  const Module& module_;
  const Test& test_;
  const Machine& machine_;
  const Runner& run_;
  std::map<std::string, Data> names_;
  std::set<const Program*> called_;
  std::vector<Diagnostic> failures_;
};

}  // namespace

Structure structure_of(const Program& program, const Machine& machine) {
  Options options;
  options.stop_after = "elaborate";
  const Schedule schedule = *compile(std::make_shared<const Program>(program), machine, options).schedule;
  Structure structure{schedule.passes, schedule.buffers, 0, schedule.loops};
  for_each_stage(program.stages, [&](const Stage&) { ++structure.stages; });
  return structure;
}

TestResult run_test(const Module& module, const Test& test, const Machine& machine, const Runner& run) {
  return TestRun(module, test, machine, run).result();
}

std::vector<TestResult> run_tests(const Module& module, const Machine& machine, const Runner& run) {
  std::vector<TestResult> results;
  for (const Test& test : module.tests) results.push_back(run_test(module, test, machine, run));
  return results;
}

}  // namespace twill
