// `twill build`: C source, header and static library for builds that know nothing of Twill.
#include "base/error.h"
#include "base/files.h"
#include "base/system_functions.h"
#include "driver/compile.h"
#include "emit/c_names.h"
#include "run/process.h"
#include "tools/command.h"
#include "tools/drop_in.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <memory>

namespace twill {

namespace fs = std::filesystem;

namespace {

constexpr const char* examples =
    "Writes NAME.c, NAME.h and libNAME.a, where NAME is the definition. The header needs nothing of Twill "
    "and\n"
    "explains the function; link with -lm -fopenmp. All three files are written, or none. A function that "
    "is\n"
    "called like one of the C library would hide that: give it another name with --prefix.\n\n"
    "Of a function of a C file the library takes the place: it has the same name and arguments, and changes "
    "the "
    "same arrays.\n\n"
    "Examples:\n"
    "  twill build examples/blur.twill -o out\n"
    "  cc main.c -Iout -Lout -lblur -lm -fopenmp\n"
    "  twill build examples/polybench/gemm.c -o out";

struct BuildOptions {
  Source source;
  std::string directory, plan, prefix, architecture = "native";
  bool strict = false;
};

/// Moves finished files to their places: all of them, or none.
class Delivery {
 public:
  explicit Delivery(fs::path directory) : directory_(std::move(directory)) {
    std::error_code error;
    for (fs::path at = directory_; !at.empty() && !fs::exists(at, error); at = at.parent_path()) made_ = at;
    fs::create_directories(directory_, error);
    if (error)
      fail(Fault::System, "E0602", {},
           fmt::format("cannot create the directory '{}': {}", directory_.string(), error.message()));
  }
  Delivery(const Delivery&) = delete;
  Delivery& operator=(const Delivery&) = delete;
  ~Delivery() {
    std::error_code ignored;
    if (!done_ && !made_.empty()) fs::remove_all(made_, ignored);
  }

  /// `work` is in the same file system.
  void move(const fs::path& work, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      std::error_code error;
      if (fs::is_directory(directory_ / name, error))
        fail(Fault::System, "E0602", {},
             fmt::format("cannot write '{}': Is a directory", (directory_ / name).string()));
    }
    for (const std::string& name : names) fs::rename(work / name, directory_ / name);
    done_ = true;
  }

 private:
  fs::path directory_;
  fs::path made_;  // the outermost directory that was not there before
  bool done_ = false;
};

/// Some names mean something in C. And a program that is linked with a function of the name of one of the
/// system would call it where it means that, or the other way round.
void check_name(const std::string& wish, const std::string& name) {
  const auto refuse = [&](const std::string& why) {
    fail(Fault::User, "E0712", {}, why,
         fmt::format("rename the definition, or let its name begin with something: --prefix my_ makes it "
                     "'my_{}'",
                     wish));
  };
  for (const char* ending : {"", "_error", "_call"})
    if (is_system_function(wish + ending))
      refuse(fmt::format("the function '{}{}' would hide one of the C library", wish, ending));
  if (name != wish)
    refuse(fmt::format("the name '{}' means something in C, or in the code around the function", wish));
}

/// The function of a C file that is meant; the last one if none is named.
CFunction c_function(const BuildOptions& options, Program& program) {
  const CImport imported = read_c(options.source);
  program = imported.module.programs.back();
  return imported.functions.back();
}

int build(const BuildOptions& options) {
  auto program = std::make_shared<Program>();
  std::optional<CFunction> replaced;
  if (options.source.is_c()) {
    replaced = c_function(options, *program);
  } else {
    const Module module = read_module(options.source);
    *program = find_definition(module, options.source);
  }
  program->strict = program->strict || options.strict;
  program->name = options.prefix + program->name;
  const std::string wish = program->name;
  if (replaced) program->name += "_twill";
  Options compile_options;
  if (!options.plan.empty()) compile_options.plan = plan_from_json(read_file(options.plan));
  compile_options.stop_after = "c";
  compile_options.keep_plans = true;
  const Compilation compilation =
      compile(program, this_machine(cache_directory(), Measure::Never).machine, compile_options);
  CSource source = *compilation.source;
  std::string name = source.function;
  check_name(identifier(program->name), name);
  if (replaced) {
    replaced->name = wish;
    name = wish;
    source.text += drop_in_text(*replaced, *program, source);
    source.header = drop_in_header(*replaced, options.prefix);
  }
  const std::string library = "lib" + name + ".a";
  CompileOptions compiler;
  compiler.flags = kernel_flags(program->strict);
  std::ranges::replace(compiler.flags, std::string("-march=native"), "-march=" + options.architecture);
  Delivery delivery(options.directory);
  const WorkDirectory work(options.directory);
  compile_static_library(source.text, work.path() / library, compiler);
  write_file(work.path() / (name + ".c"), source.text);
  write_file(work.path() / (name + ".h"), source.header);
  delivery.move(work.path(), {name + ".c", name + ".h", library});
  fmt::print("{0}/{1}.c\n{0}/{1}.h\n{0}/lib{1}.a\n", options.directory, name);
  return 0;
}

}  // namespace

Action add_build(CLI::App& app) {
  auto options = std::make_shared<BuildOptions>();
  add_source(app, options->source);
  app.add_option("-o,--output", options->directory,
                 "The directory for the files; it is made if it is not there")
      ->required()
      ->type_name("DIR");
  app.add_option("--plan", options->plan, "Use this plan instead of the default one")->type_name("FILE");
  app.add_option("--arch", options->architecture,
                 "The CPU to compile for, as the compiler's -march takes it; native if left out")
      ->type_name("NAME");
  app.add_option("--prefix", options->prefix, "What the names of the function and the files begin with")
      ->type_name("TEXT")
      ->check(CLI::Validator(
          [](std::string& text) {
            const bool fits =
                std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
            return fits && (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])) == 0)
                       ? std::string()
                       : "'" + text + "' cannot begin the name of a C function";
          },
          ""));
  app.add_flag("--strict", options->strict, "Floats bit by bit as the interpreter computes them");
  app.footer(examples);
  return [options] { return build(*options); };
}

}  // namespace twill
