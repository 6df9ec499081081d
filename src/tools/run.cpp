// `twill run`: inputs from files, a kernel (or the interpreter), results to files or the terminal.
#include "base/error.h"
#include "base/files.h"
#include "driver/agree.h"
#include "driver/compile.h"
#include "program/text_names.h"
#include "run/data_files.h"
#include "tools/command.h"
#include "tools/data_text.h"
#include "tools/stats.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

namespace twill {

namespace {

constexpr const char* examples =
    "--in takes a file (.npy, PNG, PPM, PGM), a number, an array, or made-up data:\n"
    "  --in img=photo.png   --in amount=1.5   --in 'x=[1, 2, 3]'   --in a=random:640x480\n"
    "--out writes .npy, .png, .ppm or .pgm, by the ending of the name; other results are printed.\n"
    "A picture becomes what the program takes: floats of rank 3 are planes of red, green and blue\n"
    "from 0 to 1, rank 2 is grey; see docs/files.md.\n\n"
    "Examples:\n"
    "  twill run examples/unsharp.twill --in img=photo.png --out sharp=sharp.png --stats\n"
    "  twill run examples/filter.twill --def positive --in 'x=[3, -1, 4]'\n"
    "  twill run examples/matmul.twill --in a=random:500x300 --in b=random:300x400 --verify";

struct RunOptions {
  Source source;
  std::vector<std::string> inputs, outputs;  // NAME=VALUE
  std::string plan;
  ClusterWish wish;
  std::string target = "openmp";
  bool strict = false, verify = false, stats = false;
  int repeat = 1;
};

std::vector<std::string> input_names(const Program& program) {
  std::vector<std::string> names;
  for (const Input& input : program.inputs) names.push_back(program[input.array].name);
  return names;
}

std::vector<std::string> result_names(const Program& program) {
  std::vector<std::string> names;
  for (ArrayId result : program.results) names.push_back(program[result].name);
  return names;
}

std::vector<Data> load_inputs(const Program& program, const RunOptions& options) {
  const Named given = named_values(options.inputs, "--in", program.name, "input", input_names(program));
  std::vector<Data> inputs;
  for (const Input& input : program.inputs) {
    const Array& array = program[input.array];
    if (const auto found = given.find(array.name); found != given.end()) {
      inputs.push_back(data_from_text(array, found->second, inputs.size() + 1));
    } else if (input.fallback) {
      inputs.push_back(Data::scalar(*input.fallback));
    } else {
      usage("E0709", fmt::format("the input '{}' of '{}' is missing", array.name, program.name),
            fmt::format("give it with --in {}={}", array.name, array.rank() == 0 ? "NUMBER" : "FILE"));
    }
  }
  return inputs;
}

void show_effects(const std::vector<EffectEvent>& effects) {
  for (const EffectEvent& effect : effects)
    fmt::print("{}{}\n", effect.kind == "print" ? "" : effect.kind + " ", effect.text);
}

/// The interpreter. What happened before an error is shown before it.
Outcome run_interpreter(const Program& program, std::span<const Data> inputs) {
  std::vector<EffectEvent> effects;
  try {
    return interpret_watched(program, inputs, {.effects = &effects, .defined = {}});
  } catch (const Error&) {
    show_effects(effects);
    throw;
  }
}

/// Runs the kernel as often as was asked for. What happened before an error is shown before it.
Outcome run_kernel(const Kernel& kernel, std::span<const Data> inputs, int repeat,
                   std::vector<double>& run_ms) {
  Invocation invocation = kernel.prepare(inputs);
  for (int k = 0; k < repeat; ++k) {
    Stopwatch watch;
    try {
      invocation.run();
    } catch (const Error&) {
      show_effects(invocation.effects());
      throw;
    }
    run_ms.push_back(watch.lap());
  }
  return {std::move(invocation.results()), {}, invocation.effects()};
}

void verify(const Program& program, std::span<const Data> inputs, const Outcome& outcome, RunStats& stats) {
  stats.verified = to_string(require_agreement(program, reference_of(program, inputs), outcome));
}

int run(const RunOptions& options) {
  RunStats stats;
  Stopwatch watch;
  const auto lap = [&](std::string_view what) { stats.steps.emplace_back(what, watch.lap()); };

  const Module module = read_module(options.source);
  auto program = std::make_shared<Program>(find_definition(module, options.source));
  program->strict = program->strict || options.strict;
  lap("read and check the program");
  const Named files = named_values(options.outputs, "--out", program->name, "result", result_names(*program));
  const std::vector<Data> inputs = load_inputs(*program, options);
  lap("read the inputs");

  Outcome outcome;
  if (options.target == "interp") {
    outcome = run_interpreter(*program, inputs);
    stats.run_ms.push_back(watch.lap());
    stats.steps.emplace_back("interpret", stats.run_ms.back());
  } else {
    Options compile_options;
    if (!options.plan.empty()) compile_options.plan = plan_from_json(read_file(options.plan));
    set_clusters(options.wish, compile_options);
    compile_options.known = known_sizes(*program, inputs);
    compile_options.keep_plans = true;
    const Machine machine = this_machine(cache_directory(), Measure::Never).machine;
    lap("read the machine");
    Compilation compilation = compile(program, machine, compile_options);
    watch.lap();
    for (const auto& [pass, ms] : compilation.pass_ms) stats.steps.emplace_back(pass, ms);
    const Library& library = compilation.kernel->library();
    if (!library.warning.empty()) fmt::print(stderr, "warning: {}\n", library.warning);
    outcome = run_kernel(*compilation.kernel, inputs, options.repeat, stats.run_ms);
    lap("run");
    stats.compilation = std::move(compilation);
  }

  show_effects(outcome.effects);
  if (options.verify) {
    std::fflush(stdout);
    verify(*program, inputs, outcome, stats);
    lap("verify");
  }
  for (std::size_t r = 0; r < program->results.size(); ++r) {
    const std::string& name = (*program)[program->results[r]].name;
    if (const auto file = files.find(name); file != files.end()) {
      save_data(file->second, outcome.results[r]);
      fmt::print("{}: {} written to {}\n", name, type_text(outcome.results[r]), file->second);
    } else {
      fmt::print("{}", data_text(name, outcome.results[r]));
    }
  }
  lap("write the results");
  if (options.stats)
    fmt::print("\n{}", stats_text(*program, inputs, stats));
  else if (options.verify)
    fmt::print("verified: {}\n", stats.verified);
  return 0;
}

}  // namespace

Action add_run(CLI::App& app) {
  auto options = std::make_shared<RunOptions>();
  add_source(app, options->source);
  app.add_option("--in", options->inputs, "An input: a file, a number, an array or random:SIZExSIZE")
      ->type_name("NAME=VALUE")
      ->expected(1)
      ->take_all();
  app.add_option("--out", options->outputs, "Write this result to a file")
      ->type_name("NAME=FILE")
      ->expected(1)
      ->take_all();
  add_clusters(app, options->wish);
  app.add_option("--plan", options->plan,
                 "Run this plan (see twill show --as plan) instead of the default one")
      ->type_name("FILE");
  app.add_option("--target", options->target, "openmp (a compiled kernel) or interp (the interpreter)")
      ->type_name("NAME")
      ->check(CLI::IsMember({"openmp", "interp"}, CLI::ignore_case).description(""));
  app.add_flag("--strict", options->strict, "Floats bit by bit as the interpreter computes them");
  app.add_flag("--verify", options->verify, "Compare with the interpreter; fail if they disagree");
  app.add_option("--repeat", options->repeat, "Run the kernel so often, for timing")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000).description(""));
  app.add_flag("--stats", options->stats,
               "Show passes, time, bytes moved, and the share of the machine's bandwidth");
  app.footer(examples);
  return [options] { return run(*options); };
}

}  // namespace twill
