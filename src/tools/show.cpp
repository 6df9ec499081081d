// `twill show`: a program at any point of its way to a kernel.
#include "base/error.h"
#include "base/files.h"
#include "driver/compile.h"
#include "program/text.h"
#include "program/text_names.h"
#include "tools/command.h"
#include "tools/dot.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

namespace twill {

namespace {

constexpr const char* examples =
    "Forms:\n"
    "  text    the program as it was understood, every size and type derived\n"
    "  dot     its stages as a graph, for Graphviz; with --after plan, what shares a pass is in one box\n"
    "  plan    the decisions (JSON, the same as json): edit them and run them with twill run --plan\n"
    "  loops   the loops, buffers and statements\n"
    "  c       the C source\n\n"
    "Examples:\n"
    "  twill show examples/softmax.twill\n"
    "  twill show examples/blur.twill --as loops\n"
    "  twill show examples/blur.twill --as plan > plan.json\n"
    "  twill show examples/unsharp.twill --as dot | dot -Tsvg > unsharp.svg\n"
    "  twill show examples/lulesh.twill --def lulesh_step --as dot --after plan --cluster optimal";

struct ShowOptions {
  Source source;
  std::string after, as, plan;
  ClusterWish wish;
  std::vector<std::string> sizes;
  bool strict = false;
};

/// A form in which a compilation can be shown, and the first pass after which it is there (empty: always).
struct Form {
  const char* name;
  const char* since;
  std::string (*text)(const Compilation&);
};

std::string plan_text(const Compilation& c) {
  std::string text = to_json(*c.plan);
  if (!text.ends_with('\n')) text += '\n';
  return text;
}

constexpr Form forms[] = {
    {"text", "", [](const Compilation& c) { return print(c.schedule ? *c.schedule->program : *c.program); }},
    {"dot", "", [](const Compilation& c) { return dot_of(*c.program, c.plan ? &*c.plan : nullptr); }},
    {"plan", "plan", plan_text},
    {"json", "plan", plan_text},
    {"loops", "nest", [](const Compilation& c) { return print_loops(*c.nest); }},
    {"c", "c", [](const Compilation& c) { return c.source->text; }},
};

int position_of(std::string_view pass) {
  const auto passes = pipeline();
  return static_cast<int>(std::ranges::find(passes, pass, &PipelinePass::name) - passes.begin());
}

const Form& form_named(const std::string& name) {
  std::vector<std::string> names;
  for (const Form& form : forms) {
    if (name == form.name) return form;
    names.emplace_back(form.name);
  }
  const std::string help = text::did_you_mean(name, names);
  usage("E0711", fmt::format("a program cannot be shown as '{}'", name),
        help.empty() ? fmt::format("one of: {}", fmt::join(names, ", ")) : help);
}

/// The form that says most about what a pass did.
const Form& form_after(std::string_view pass) {
  const Form* best = &forms[0];
  for (const Form& form : forms)
    if (*form.since && position_of(form.since) <= position_of(pass) &&
        (!*best->since || position_of(form.since) > position_of(best->since)))
      best = &form;
  return *best;
}

void refuse_unknown_pass(const std::string& pass) {
  std::vector<std::string> names;
  for (const PipelinePass& known : pipeline()) names.emplace_back(known.name);
  if (std::ranges::find(names, pass) != names.end()) return;
  const std::string help = text::did_you_mean(pass, names);
  usage("E0710", fmt::format("there is no pass '{}'", pass),
        help.empty() ? fmt::format("in order: {}", fmt::join(names, ", ")) : help);
}

int show(const ShowOptions& options) {
  if (!options.after.empty()) refuse_unknown_pass(options.after);
  const Form& form = !options.as.empty()     ? form_named(options.as)
                     : options.after.empty() ? forms[0]
                                             : form_after(options.after);
  if (!options.after.empty() && *form.since && position_of(form.since) > position_of(options.after))
    usage("E0711",
          fmt::format("after the pass '{}' a program cannot be shown as '{}' yet", options.after, form.name),
          fmt::format("use --after {}, or leave it out", form.since));

  const Module module = read_module(options.source);
  auto program = std::make_shared<Program>(find_definition(module, options.source));
  program->strict = program->strict || options.strict;
  Compilation compilation;
  compilation.program = program;
  if (*form.since || !options.after.empty()) {
    Options compile_options;
    if (!options.plan.empty()) compile_options.plan = plan_from_json(read_file(options.plan));
    set_clusters(options.wish, compile_options);
    compile_options.keep_plans = true;
    compile_options.known = known_sizes(options.sizes, *program);
    compile_options.stop_after = !options.after.empty() ? options.after : form.since;
    compilation = compile(program, this_machine(cache_directory(), Measure::Never).machine, compile_options);
  }
  fmt::print("{}", form.text(compilation));
  return 0;
}

}  // namespace

Action add_show(CLI::App& app) {
  auto options = std::make_shared<ShowOptions>();
  add_source(app, options->source);
  std::string passes;
  for (const PipelinePass& pass : pipeline())
    passes += fmt::format("\n  {:<10}{}", pass.name, pass.description);
  app.add_option("--as", options->as, "text, dot, plan, json, loops or c; text if left out")
      ->type_name("FORM");
  app.add_option("--after", options->after, "Stop after this pass, and show what it made")->type_name("PASS");
  app.add_option("--plan", options->plan, "Use this plan instead of the default one")->type_name("FILE");
  add_clusters(app, options->wish);
  add_sizes(app, options->sizes, "Choose for this size");
  app.add_flag("--strict", options->strict, "Floats bit by bit as the interpreter computes them");
  app.footer(fmt::format("Passes, in order:{}\n\n{}", passes, examples));
  return [options] { return show(*options); };
}

}  // namespace twill
