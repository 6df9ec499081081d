// `twill fuzz`: random programs, plans and inputs against the interpreter; random texts against the parser.
#include "fuzz/fuzz.h"
#include "base/files.h"
#include "fuzz/text_fuzz.h"
#include "run/compiler.h"
#include "tools/command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <memory>

namespace twill {

namespace {

constexpr const char* examples =
    "A failure is shrunk to a small program that fails in the same way and printed with its plan and "
    "inputs.\n"
    "The k-th program has the seed N + k: every one can be replayed alone.\n\n"
    "Examples:\n"
    "  twill fuzz                            200 programs\n"
    "  twill fuzz --seed 4711 --count 1      one of them again\n"
    "  twill fuzz --count 20000 --stats      many, with a table of what they covered\n"
    "  twill fuzz --count 20000 --no-kernels many, but nothing is compiled\n"
    "  twill fuzz --text examples/*.twill    the parser on changed texts";

struct FuzzCommand {
  FuzzOptions options;
  std::vector<std::string> texts;
  bool text = false, stats = false, no_shrink = false, no_round_trip = false, no_kernels = false;
};

/// One line that is drawn over and over, on terminals only.
void draw(int done, int total, int failures) {
  constexpr int width = 30;
  const int filled = total > 0 ? width * done / total : 0;
  fmt::print(stderr, "\r[{}{}] {}/{}, {} failed ", std::string(static_cast<std::size_t>(filled), '#'),
             std::string(static_cast<std::size_t>(width - filled), '.'), done, total, failures);
  std::fflush(stderr);
}

int run_texts(const FuzzCommand& command) {
  TextFuzzOptions options;
  options.seed = command.options.seed;
  options.count = command.options.count;
  for (const std::string& file : command.texts) options.seeds.push_back(read_file(file));
  const std::vector<TextFuzzFailure> failures = fuzz_text(options);
  for (const TextFuzzFailure& failure : failures)
    fmt::print("seed {}: {}\n{}\n\n", failure.seed, failure.what, failure.text);
  if (failures.empty()) fmt::print("{} texts, and the parser had an answer to each\n", options.count);
  return failures.empty() ? 0 : 1;
}

/// Without a compiler that works every program would fail: that is said once, here.
void try_compiler(const std::filesystem::path& cache) {
  CompileOptions options;
  options.cache = cache;
  compile_and_load("int twill_tried;\n", options);
}

int run_programs(FuzzCommand command) {
  FuzzOptions& options = command.options;
  options.shrink = !command.no_shrink;
  options.judge.round_trip = !command.no_round_trip;
  if (command.no_kernels) options.plans = -1;
  options.judge.machine = detect_machine();
  // Thousands of kernels that nobody runs again have no place in the cache of the user.
  options.judge.cache = cache_directory() / "fuzz";
  if (!command.no_kernels) try_compiler(options.judge.cache);
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  if (terminal) options.progress = draw;
  const FuzzReport report = fuzz(options);
  if (terminal) fmt::print(stderr, "\r{:75}\r", "");
  for (const FuzzFailure& failure : report.failures) fmt::print("{}\n", to_string(failure));
  if (command.stats) fmt::print("{}\n", to_string(report));
  const auto runs = report.counts.find("runs");
  fmt::print("{} programs, {} runs of kernels, {} failed\n", report.programs,
             runs == report.counts.end() ? 0 : runs->second, report.failures.size());
  return report.failures.empty() ? 0 : 1;
}

}  // namespace

Action add_fuzz(CLI::App& app) {
  auto command = std::make_shared<FuzzCommand>();
  app.add_option("--seed", command->options.seed, "Seed of the first program")->capture_default_str();
  const auto number = [&](const char* option, int& value, const std::string& help, int least, int most) {
    return app.add_option(option, value, help)->check(CLI::Range(least, most).description(""));
  };
  number("--count", command->options.count, "Programs to try", 1, 1'000'000'000)->capture_default_str();
  number("--plans", command->options.plans, "Random plans for each, beside the default plan", 0, 1000)
      ->capture_default_str();
  number("--jobs", command->options.jobs, "Processes at a time (0: one per core)", 0, 1000);
  number("--most-failures", command->options.most_failures, "End after so many failures", 1, 1'000'000)
      ->capture_default_str();
  app.add_flag("--stats", command->stats, "Print how often each feature of programs and plans occurred");
  app.add_flag("--no-shrink", command->no_shrink, "Print failures as they were found");
  app.add_flag("--no-round-trip", command->no_round_trip, "Do not print and parse the programs");
  app.add_flag("--no-kernels", command->no_kernels,
               "Check, print, parse, interpret and simplify the programs, but compile nothing");
  app.add_flag("--optimise", command->options.optimise,
               "Compile all kernels with the usual flags; otherwise most of them without optimisation");
  app.add_flag("--text", command->text, "Try the parser on random texts instead");
  app.add_option("FILES", command->texts, "With --text: texts to start from")->check(CLI::ExistingFile);
  app.footer(examples);
  return [command] { return command->text ? run_texts(*command) : run_programs(*command); };
}

}  // namespace twill
