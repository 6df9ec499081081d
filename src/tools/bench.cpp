// `twill bench`: measures suites of programs against peers and the machine's floor.
#include "bench/bench.h"

#include "tools/command.h"

#include <fmt/format.h>

#include <iostream>
#include <memory>

namespace twill {

namespace {

constexpr const char* examples =
    "Ours and the peers run in turns in one process on the same arrays, and every result is compared with a\n"
    "reference. The floor is the time that the machine's measured rates allow (see twill machine).\n"
    "Exit status 1: a result was wrong.\n\n"
    "Examples:\n"
    "  twill bench linalg stencil\n"
    "  twill bench stencil --only jacobi\n"
    "  twill bench --json > results.jsonl";

}  // namespace

Action add_bench(CLI::App& app) {
  auto options = std::make_shared<BenchOptions>();
  std::string suites = "Suites:\n";
  for (const SuiteInfo& suite : bench_suites())
    suites += fmt::format("  {:<13}{}\n", suite.name, suite.description);
  app.add_option("SUITE", options->suites, "Which suites to run; all of them if left out")->type_name("");
  app.add_option("--only", options->only, "Only cases with this in their names")->type_name("TEXT");
  app.add_flag("--json", options->json, "One JSON object per line");
  app.add_flag("--small", options->small, "Tiny arrays: to see whether everything works, not how fast");
  app.add_option("--seconds", options->seconds, "Time to spend on each case; 1 if left out")
      ->type_name("S")
      ->check(CLI::Range(0.001, 3600.0).description(""));
  app.add_flag("--measure", options->measure_again, "Measure the machine's rates again first");
  app.footer(suites + "\n" + examples);
  return [options] { return run_bench(*options, std::cout); };
}

}  // namespace twill
