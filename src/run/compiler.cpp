// Calls the system's C compiler, keeps what it made, and loads it.
#include "run/compiler.h"

#include "base/error.h"
#include "machine/cpu.h"
#include "program/prim.h"
#include "run/process.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <sstream>

namespace twill {

namespace fs = std::filesystem;

namespace {

constexpr int shown_lines = 12;  // of what a failing compiler says

/// How to call the compiler, and a text that changes whenever another compiler is behind that call.
struct Compiler {
  std::vector<std::string> command;
  std::string identity;
};

std::vector<std::string> words(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

/// The words of the command with the programs among them resolved.
std::vector<std::string> find_compiler(const std::string& wanted) {
  const char* variable = std::getenv("CC");
  std::vector<std::string> command = words(!wanted.empty() ? wanted : variable ? variable : "");
  if (!command.empty()) {
    const auto path = find_program(command[0]);
    if (!path) {
      fail(Fault::System, "E0610", {},
           fmt::format("the C compiler '{}'{} was not found", command[0],
                       wanted.empty() ? " named by $CC" : ""),
           "install it, or name another one in $CC");
    }
    command[0] = path->string();
    return command;
  }
  for (const char* name : {"cc", "gcc", "clang"})
    if (const auto path = find_program(name)) return {path->string()};
  fail(Fault::System, "E0610", {}, "there is no C compiler: none of 'cc', 'gcc' and 'clang' is in $PATH",
       "install one (on Debian: apt-get install gcc), or name one in $CC");
}

/// Path, size and time of the programs in a command: cheap to ask, and different after an update. Words after
/// the first count too, because $CC may be a launcher with the compiler as its argument.
std::string stamp_of(const std::vector<std::string>& command) {
  std::string stamp;
  for (const std::string& word : command) {
    stamp += word + "\n";
    const auto program = find_program(word);
    struct stat status {};
    if (!program || ::stat(program->c_str(), &status) != 0) continue;
    std::error_code ignored;
    stamp += fmt::format("{} {} {}.{}\n", fs::canonical(*program, ignored).string(), status.st_size,
                         status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
  }
  return stamp;
}

/// The compiler with its version. Asking for that takes longer than a whole cached run, so the answer is kept
/// under the compiler's stamp.
Compiler identify_compiler(const CompileOptions& options) {
  Compiler compiler{find_compiler(options.compiler), {}};
  const std::string stamp = stamp_of(compiler.command);
  const fs::path memo = options.cache / ("compiler-" + hash_of({stamp}) + ".txt");
  std::error_code ignored;
  std::string version;
  try {
    if (fs::exists(memo, ignored)) version = read_file(memo);
  } catch (const Error&) {
    // Asked again.
  }
  if (version.empty()) {
    std::vector<std::string> ask = compiler.command;
    ask.emplace_back("--version");
    version = run_program(ask, {{"LC_ALL", "C"}}).output;
    try {
      fs::create_directories(options.cache, ignored);
      write_file(memo, version);
    } catch (const Error&) {
      // Asked again next time; that the cache cannot be written is reported with the kernel.
    }
  }
  compiler.identity = stamp + version;
  return compiler;
}

std::string first_lines(const std::string& text) {
  std::istringstream lines(text);
  std::string result;
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count)
    if (count < shown_lines) result += "\n    " + line;
  if (count > shown_lines) result += fmt::format("\n    … and {} more lines", count - shown_lines);
  return result;
}

bool is_full(const fs::path& directory) {
  struct statvfs status {};
  return ::statvfs(directory.c_str(), &status) == 0 && status.f_bavail == 0;
}

/// Where the source of a failed compilation stays for the user to look at: the cache or, if that cannot be
/// written, the directory of temporary files.
std::string keep_failed_source(const std::string& source, const CompileOptions& options) {
  const std::string name = KernelCache::failed_prefix + hash_of({source}) + ".c";
  for (const fs::path& directory : {options.cache / "kernels", temporary_directory()}) {
    try {
      std::error_code ignored;
      fs::create_directories(directory, ignored);
      write_file(directory / name, source);
      return (directory / name).string();
    } catch (const Error&) {
      continue;
    }
  }
  return {};
}

/// Runs one step of a compilation, which makes a file, in a work directory.
void run_step(const std::vector<std::string>& command, const fs::path& directory, const fs::path& made,
              const std::string& source, const CompileOptions& options) {
  const ExitReport result = run_program(command, {{"LC_ALL", "C"}, {"TMPDIR", directory.string()}});
  std::error_code ignored;
  if (result.status == 0 && fs::exists(made, ignored)) return;
  if (result.status == 0)
    fail(Fault::System, "E0611", {},
         fmt::format("a kernel was not compiled: '{}' ended well, but wrote no file{}", command[0],
                     first_lines(result.output)),
         "is it a C compiler? name another one in $CC");
  if (is_full(directory) || result.output.find("No space left on device") != std::string::npos) {
    fail(Fault::System, "E0602", {},
         fmt::format("cannot write in '{}': No space left on device", directory.parent_path().string()));
  }
  const std::string kept = keep_failed_source(source, options);
  const std::string how = result.status > 128 ? fmt::format("was ended by signal {}", result.status - 128)
                                              : fmt::format("ended with status {}", result.status);
  fail(Fault::System, "E0611", {},
       fmt::format("a kernel was not compiled: '{}' {}{}", command[0], how, first_lines(result.output)),
       kept.empty() ? "" : fmt::format("the C source is kept in '{}'", kept));
}

/// -Bsymbolic: a program may be called like a function of libc (link, read) and must still reach itself.
const std::vector<std::string> shared_flags = {"-fPIC", "-shared", "-Wl,-Bsymbolic"};

/// Compiles `source` in a directory to `kernel.so` there.
fs::path compile_shared(const Compiler& compiler, const std::string& source, const fs::path& directory,
                        const CompileOptions& options) {
  const fs::path input = directory / "kernel.c";
  fs::path output = directory / "kernel.so";
  write_file(input, source);
  std::vector<std::string> command = compiler.command;
  command.insert(command.end(), options.flags.begin(), options.flags.end());
  command.insert(command.end(), shared_flags.begin(), shared_flags.end());
  command.insert(command.end(), {"-o", output.string(), input.string()});
  command.insert(command.end(), options.libraries.begin(), options.libraries.end());
  run_step(command, directory, output, source, options);
  return output;
}

/// The OpenMP runtime that a kernel brought along keeps threads that run its code, so it must stay in memory
/// when the kernel goes.
void keep_openmp_loaded(void* kernel) {
  Dl_info runtime{};
  void* function = ::dlsym(kernel, "omp_get_max_threads");
  if (!function || ::dladdr(function, &runtime) == 0) return;
  if (void* handle = ::dlopen(runtime.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE)) ::dlclose(handle);
}

/// Whether another directory may do better: this one cannot be written, or programs there must not be run.
bool is_about_directory(const Error& error) {
  const std::string& code = error.diagnostics().front().code;
  return code == "E0602" || code == "E0612";
}

}  // namespace

std::vector<std::string> kernel_flags(bool strict) {
  std::vector<std::string> flags = {"-std=c11", "-O3", "-march=native", "-fopenmp", "-fwrapv"};
  // Nobody asks for errno or for the processor's flags; values are the same with both.
  flags.insert(flags.end(), {"-fno-math-errno", "-fno-trapping-math"});
  if (strict) {
    flags.emplace_back("-ffp-contract=off");
    // The compiler's own value of a function of constants is not always that of the library.
    for (const PrimInfo& prim : all_prims()) {
      const bool rounds = prim.prim_class == PrimClass::Function || prim.prim == Prim::Pow;
      if (!rounds || is_exact(prim.prim)) continue;
      flags.push_back("-fno-builtin-" + std::string(prim.name));
      flags.push_back("-fno-builtin-" + std::string(prim.name) + "f");
    }
  } else {
    flags.emplace_back("-ffp-contract=fast");
  }
  return flags;
}

Library::Library(const fs::path& object)
    : handle_(::dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL), [](void* handle) {
        if (handle) ::dlclose(handle);
      }) {
  if (!handle_)
    fail(Fault::System, "E0612", {}, fmt::format("cannot load a compiled kernel: {}", ::dlerror()));
  keep_openmp_loaded(handle_.get());
}

void* Library::symbol(const std::string& name) const {
  void* address = ::dlsym(handle_.get(), name.c_str());
  if (!address) fail(Fault::Bug, "E0614", {}, fmt::format("the compiled kernel has no function '{}'", name));
  return address;
}

Library compile_and_load(const std::string& c_source, const CompileOptions& options) {
  const Compiler compiler = identify_compiler(options);
  const Cpu cpu = identify_cpu();
  const std::string key =
      hash_of({c_source, compiler.identity, fmt::format("{}", fmt::join(options.flags, "\n")),
               fmt::format("{}", fmt::join(shared_flags, "\n")),
               fmt::format("{}", fmt::join(options.libraries, "\n")), cpu.model, cpu.features});
  const KernelCache cache(options.cache / "kernels", options.cache_bytes);

  if (const auto object = cache.find(key)) {
    try {
      Library library(*object);
      library.cached = true;
      library.source = cache.source_path(key);
      return library;
    } catch (const Error&) {
      // Removed since, or made for another C library: built again.
    }
  }
  std::string warning;
  try {
    std::error_code ignored;
    fs::create_directories(cache.directory(), ignored);
    const WorkDirectory work(cache.directory());
    const fs::path made = compile_shared(compiler, c_source, work.path(), options);
    Library library(cache.add(key, made, work.path() / "kernel.c"));
    library.source = cache.source_path(key);
    cache.prune();
    return library;
  } catch (const Error& error) {
    if (!is_about_directory(error)) throw;
    warning = "compiled kernels are not kept: " + error.diagnostics().front().message;
  }
  const WorkDirectory work(temporary_directory());
  Library library(compile_shared(compiler, c_source, work.path(), options));
  library.warning = warning;
  return library;
}

void compile_static_library(const std::string& c_source, const fs::path& archive,
                            const CompileOptions& options) {
  const std::vector<std::string> compiler = find_compiler(options.compiler);
  const auto ar = find_program("ar");
  if (!ar) {
    fail(Fault::System, "E0610", {}, "the archiver 'ar' is not in $PATH",
         "install it (on Debian: apt-get install binutils)");
  }
  const WorkDirectory work(temporary_directory());
  const fs::path input = work.path() / "kernel.c", object = work.path() / archive.stem().concat(".o");
  const fs::path made = work.path() / "kernel.a";
  write_file(input, c_source);
  std::vector<std::string> command = compiler;
  command.insert(command.end(), options.flags.begin(), options.flags.end());
  command.insert(command.end(), {"-fPIC", "-c", "-o", object.string(), input.string()});
  run_step(command, work.path(), object, c_source, options);
  run_step({ar->string(), "rcsD", made.string(), object.string()}, work.path(), made, c_source, options);
  write_file(archive, read_file(made));
}

std::string preprocess(const fs::path& file, const std::vector<std::string>& flags,
                       const CompileOptions& options) {
  if (fs::is_regular_file(file) && read_file(file).find('\0') != std::string::npos)
    fail(Fault::User, "E0615", {},
         "the C preprocessor would not understand '" + file.string() + "': it is no text",
         "give the C file, not what was made of it");
  std::vector<std::string> command = find_compiler(options.compiler);
  const WorkDirectory work(temporary_directory());
  const fs::path made = work.path() / "preprocessed.i";
  command.insert(command.end(), flags.begin(), flags.end());
  command.insert(command.end(), {"-x", "c", "-E", "-o", made.string(), file.string()});
  const ExitReport report = run_program(command);
  if (report.status != 0)
    fail(Fault::User, "E0615", {}, "the C preprocessor refuses '" + file.string() + "'",
         first_lines(report.output));
  return read_file(made);
}

}  // namespace twill
