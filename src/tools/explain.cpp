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
  std::vector<std::string> sizes;
};

/// Of a size that nobody gives.
constexpr std::int64_t assumed_size = 1024;

int explain(const ExplainOptions& options) {
  const Module module = read_module(options.source);
  auto program = std::make_shared<Program>(find_definition(module, options.source));
  program->strict = program->strict || options.strict;
  Options compile_options;
  set_clusters(options.wish, compile_options);
  compile_options.stop_after = "elaborate";
  const Machine machine = this_machine(cache_directory(), Measure::Never).machine;
  const std::map<std::string, std::int64_t> sizes = named_sizes(options.sizes, *program);
  compile_options.known = known_sizes(options.sizes, *program);
  const Compilation compilation = compile(program, machine, compile_options);
  Options apart = compile_options;
  apart.clusters = Clusters::None;
  apart.simplify = false;
  fmt::print("{}{}", fusion_report(compilation),
             traffic_report(compilation, compile(program, machine, apart), sizes, assumed_size));
  return 0;
}

}  // namespace

Action add_explain(CLI::App& app) {
  auto options = std::make_shared<ExplainOptions>();
  add_source(app, options->source);
  add_clusters(app, options->wish);
  app.add_flag("--strict", options->strict, "Floats bit by bit as the interpreter computes them");
  add_sizes(app, options->sizes,
            "Count bytes for this size (1024 for all that are left out), and choose for it");
  app.footer(
      "Examples:\n"
      "  twill explain examples/softmax.twill\n"
      "  twill explain examples/filter.twill --def upper_mean\n"
      "  twill explain examples/unsharp.twill --size H=2048 --size W=3072");
  return [options] { return explain(*options); };
}

}  // namespace twill
