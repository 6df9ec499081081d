// Runs the pipeline, pass by pass, and times it.
#include "driver/compile.h"

#include "base/files.h"

#include <chrono>

namespace twill {

Compilation compile(std::shared_ptr<const Program> program, const Machine& machine, Options options) {
  Compilation c;
  c.program = c.source_program = std::move(program);
  c.machine = machine;
  c.options = std::move(options);
  for (const PipelinePass& pass : pipeline()) {
    const auto start = std::chrono::steady_clock::now();
    pass.run(c);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    c.pass_ms.push_back({pass.name, took.count()});
    if (pass.name == c.options.stop_after) break;
  }
  return c;
}

Kernel compile(const Program& program) {
  Options options;
  options.keep_plans = true;
  return *compile(std::make_shared<const Program>(program),
                  this_machine(cache_directory(), Measure::Never).machine, options)
              .kernel;
}

}  // namespace twill
