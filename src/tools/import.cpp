// `twill import`: the loop nests of a C file as the text of a program.
#include "base/files.h"
#include "program/text.h"
#include "tools/command.h"

#include <fmt/format.h>

#include <memory>

namespace twill {

namespace {

constexpr const char* examples =
    "Every function of the file with loops between '#pragma scop' and '#pragma endscop' becomes a "
    "definition. "
    "Array\n"
    "arguments that it writes are results. What cannot be imported is refused with its line and the "
    "reason.\n\n"
    "Examples:\n"
    "  twill import examples/polybench/gemm.c\n"
    "  twill import kernels.c --function smooth -D N=100 -o smooth.twill\n"
    "  twill explain examples/polybench/gemm.c";

struct ImportOptions {
  Source source;
  std::string output;
};

int import(const ImportOptions& options) {
  const Module module = read_c(options.source).module;
  std::string text;
  for (const Program& program : module.programs) text += (text.empty() ? "" : "\n") + print(program);
  if (options.output.empty())
    fmt::print("{}", text);
  else
    write_file(options.output, text);
  return 0;
}

}  // namespace

Action add_import(CLI::App& app) {
  auto options = std::make_shared<ImportOptions>();
  app.add_option("FILE", options->source.file, "The C file")->required()->type_name("");
  app.add_option("--function", options->source.definition,
                 "Which function; all with a #pragma scop if left out")
      ->type_name("NAME");
  app.add_option("-o,--output", options->output, "Where the text goes; to the screen if left out")
      ->type_name("FILE");
  add_preprocessor(app, options->source);
  app.footer(examples);
  return [options] { return import(*options); };
}

}  // namespace twill
