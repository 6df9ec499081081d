// Every definition on the language page and in the examples, compiled with the default plan, agrees with the
// interpreter on many sizes: in its results, its effects and in whether it fails.
#include <gtest/gtest.h>

#include "base/files.h"
#include "driver/agree.h"
#include "driver/compile.h"
#include "program/text.h"

#include <filesystem>

namespace twill {
namespace {

struct Source {
  std::string name, text;
  friend void PrintTo(const Source& source, std::ostream* out) { *out << source.name; }
};

/// The ```twill blocks of a page, each with its number.
std::vector<Source> blocks_of(const std::filesystem::path& page) {
  const std::string text = read_file(page);
  std::vector<Source> blocks;
  const std::string open = "```twill\n", close = "```";
  for (std::size_t at = text.find(open); at != std::string::npos; at = text.find(open, at)) {
    at += open.size();
    const std::size_t end = text.find(close, at);
    blocks.push_back(
        {page.filename().string() + "#" + std::to_string(blocks.size()), text.substr(at, end - at)});
    at = end + close.size();
  }
  return blocks;
}

std::vector<Source> sources() {
  const std::filesystem::path root = TWILL_ROOT;
  std::vector<Source> all = blocks_of(root / "docs/language.md");
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(root / "examples")) {
    if (entry.path().extension() == ".twill") files.insert(entry.path());
  }
  for (const auto& file : files) all.push_back({file.filename().string(), read_file(file)});
  return all;
}

/// Inputs for one choice of sizes. Integers are small, so that some of them are valid subscripts.
std::vector<Data> inputs_for(const Program& program, std::int64_t size) {
  std::vector<Data> inputs;
  for (const Input& input : program.inputs) {
    std::vector<std::int64_t> shape;
    for (Expr extent : program[input.array].shape) {
      if (const Literal* literal = as<Literal>(extent))
        shape.push_back(literal->value.i);
      else if (const SizeRef* symbol = as<SizeRef>(extent))
        shape.push_back(size + symbol->symbol.value % 2);
      else
        shape.push_back(size + 1);
    }
    inputs.push_back(twill::random_data(program[input.array].type, std::move(shape), 7 + inputs.size()));
    const Type& type = inputs.back().type();
    for (std::int64_t i = 0; type.is_integer() && i < inputs.back().count(); ++i) {
      Number value = inputs.back().get(i);
      value = Number::of(type.scalar(), value.i % (size + 1));
      inputs.back().set(i, value);
    }
  }
  return inputs;
}

struct Result {
  std::optional<Outcome> outcome;
  std::string error;
};

Result attempt(const std::function<Outcome()>& run) {
  try {
    return {run(), {}};
  } catch (const Error& error) {
    return {std::nullopt, error.diagnostics().front().code};
  }
}

class Agreement : public testing::TestWithParam<Source> {};

TEST_P(Agreement, KernelsMeanWhatTheInterpreterMeans) {
  const Machine machine = this_machine(cache_directory(), Measure::Never).machine;
  const Module module = parse(GetParam().name, GetParam().text);
  for (const Program& parsed : module.programs) {
    for (const bool strict : {false, true}) {
      if (parsed.strict && !strict) continue;  // it needs every bit
      auto program = std::make_shared<Program>(parsed);
      program->strict = strict;
      const Compilation compiled = compile(program, machine);
      // Ten dimensions of seven are too many for the interpreter.
      std::size_t dims = 0;
      for_each_stage(program->stages, [&](const Stage& stage) { dims = std::max(dims, stage.dims.size()); });
      for (const std::int64_t size : {0, 1, 2, 5, 17}) {
        if (dims > 4 && size > 2) continue;
        SCOPED_TRACE(program->name + (strict ? " (strict)" : "") + ", size " + std::to_string(size));
        const std::vector<Data> inputs = inputs_for(*program, size);
        const Result want = attempt([&] { return interpret(*program, inputs); });
        const Result got = attempt([&] { return compiled.kernel->run(inputs); });
        ASSERT_EQ(want.outcome.has_value(), got.outcome.has_value())
            << "interpreter: " << want.error << ", kernel: " << got.error;
        if (!want.outcome) continue;
        // Numbers that were computed in another order may be written differently.
        EXPECT_EQ(want.outcome->effects.size(), got.outcome->effects.size());
        if (strict) {
          EXPECT_TRUE(want.outcome->effects == got.outcome->effects);
        }
        ASSERT_EQ(want.outcome->results.size(), got.outcome->results.size());
        // Bit by bit, but for the bits of what is no number.
        if (strict) {
          EXPECT_EQ(agreement(*program, reference_of(*program, inputs), *got.outcome).difference, "");
        }
        for (std::size_t r = 0; r < want.outcome->results.size() && !strict; ++r)
          EXPECT_LE(max_error(got.outcome->results[r], want.outcome->results[r]), 1e-4) << "result " << r;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Agreement, testing::ValuesIn(sources()),
                         [](const testing::TestParamInfo<Source>& source) {
                           std::string name;
                           for (char c : source.param.name)
                             name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
                           return name;
                         });

}  // namespace
}  // namespace twill
