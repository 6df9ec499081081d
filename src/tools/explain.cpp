// `twill explain`: what was fused, what was not, and why.
#include "base/files.h"
#include "driver/fusion_report.h"
#include "tools/command.h"

#include <fmt/format.h>

#include <memory>

namespace twill {

namespace {

struct ExplainOptions {
  Source source;
  ClusterWish wish;
  bool strict = false;
};

int explain(const ExplainOptions& options) {
  const Module module = read_module(options.source);
  auto program = std::make_shared<Program>(find_definition(module, options.source));
  program->strict = program->strict || options.strict;
  Options compile_options;
  set_clusters(options.wish, compile_options);
  compile_options.stop_after = "elaborate";
  const Compilation compilation =
      compile(program, this_machine(cache_directory(), Measure::Never).machine, compile_options);
  fmt::print("{}", fusion_report(compilation));
  return 0;
}

}  // namespace

Action add_explain(CLI::App& app) {
  auto options = std::make_shared<ExplainOptions>();
  add_source(app, options->source);
  add_clusters(app, options->wish);
  app.add_flag("--strict", options->strict, "Floats bit by bit as the interpreter computes them");
  app.footer(
      "Examples:\n"
      "  twill explain examples/softmax.twill\n"
      "  twill explain examples/filter.twill --def upper_mean");
  return [options] { return explain(*options); };
}

}  // namespace twill
