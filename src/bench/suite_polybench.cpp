// Kernels of PolyBench as they are imported from C, beside the same files compiled by C compilers.
#include "base/error.h"
#include "base/files.h"
#include "bench/arrays.h"
#include "bench/case.h"
#include "bench/texts.h"
#include "import/c_import.h"
#include "run/process.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <map>

namespace twill::bench {

namespace {

struct Kernel {
  std::string name;
  std::map<std::string, std::int64_t> sizes;  // all integer arguments: PolyBench 4.2, LARGE
};

const std::vector<Kernel> kernels = {
    {"2mm", {{"ni", 800}, {"nj", 900}, {"nk", 1100}, {"nl", 1200}}},
    {"3mm", {{"ni", 800}, {"nj", 900}, {"nk", 1000}, {"nl", 1100}, {"nm", 1200}}},
    {"gemm", {{"ni", 1000}, {"nj", 1100}, {"nk", 1200}}},
    {"gemver", {{"n", 2000}}},
    {"atax", {{"m", 1900}, {"n", 2100}}},
    {"bicg", {{"m", 1900}, {"n", 2100}}},
    {"mvt", {{"n", 2000}}},
    {"doitgen", {{"nr", 150}, {"nq", 140}, {"np", 160}}},
    {"covariance", {{"m", 1200}, {"n", 1400}}},
    {"correlation", {{"m", 1200}, {"n", 1400}}},
    {"jacobi-2d", {{"tsteps", 500}, {"n", 1300}}},
    {"heat-3d", {{"tsteps", 500}, {"n", 120}}},
    {"fdtd-2d", {{"tmax", 500}, {"nx", 1000}, {"ny", 1200}}},
    {"seidel-2d", {{"tsteps", 500}, {"n", 2000}}},
};

using Function = void(void* const* arguments);

/// A call of the C function through pointers to its arguments.
std::string with_call(const std::string& text, const CFunction& function) {
  std::vector<std::string> arguments;
  for (const CArgument& argument : function.arguments)
    arguments.push_back(argument.is_array ? fmt::format("p[{}]", arguments.size())
                                          : fmt::format("*({} *)p[{}]", argument.c_type, arguments.size()));
  return fmt::format("{}\nvoid peer(void *const *p) {{ {}({}); }}\n", text, function.name,
                     fmt::join(arguments, ", "));
}

/// The C function on inputs and results of the program. `own`: its arguments, as they are where the program
/// has neither an input nor a result for them. What it changes in place is copied first.
Action call_of(const Library& library, const CFunction& function, std::vector<Data> own) {
  return [library, f = library.function<Function>("peer"), arguments = function.arguments,
          own = std::make_shared<std::vector<Data>>(std::move(own))](std::span<const Data> inputs,
                                                                     std::vector<Data>& results) {
    std::vector<void*> pointers;
    for (std::size_t k = 0; k < arguments.size(); ++k) {
      const CArgument& argument = arguments[k];
      const Data* input = argument.input < 0 ? nullptr : &inputs[static_cast<std::size_t>(argument.input)];
      Data& place = argument.result < 0 ? (*own)[k] : results[static_cast<std::size_t>(argument.result)];
      if (input && argument.result >= 0)
        std::memcpy(place.bytes(), input->bytes(),
                    static_cast<std::size_t>(input->count()) * byte_size(Type(argument.type)));
      const bool reads_only = input && argument.is_array && argument.result < 0;
      pointers.push_back(reads_only ? const_cast<void*>(static_cast<const void*>(input->bytes()))
                                    : static_cast<void*>(place.bytes()));
    }
    f(pointers.data());
  };
}

CImport imported(const Kernel& kernel, const std::string& text) {
  const WorkDirectory work(temporary_directory());
  const std::filesystem::path file = work.path() / (kernel.name + ".c");
  write_file(file, text);
  return import_c({file.string(), text, preprocess(file)});
}

Case make_case(Session& session, const Kernel& kernel) {
  const std::string text(polybench_text(kernel.name));
  const CImport import = imported(kernel, text);
  const CFunction& function = import.functions.at(0);
  Case c;
  c.program = std::make_shared<const Program>(import.module.programs.at(0));
  std::map<std::string, std::int64_t> sizes;
  for (const auto& [name, size] : kernel.sizes) {
    sizes[name] = session.options().small ? std::min<std::int64_t>(size, 12) : size;
    c.size += fmt::format("{}{}", c.size.empty() ? "" : "x", sizes[name]);
  }
  std::vector<Data> arguments;
  c.inputs.resize(c.program->inputs.size());
  for (const CArgument& argument : function.arguments) {
    const auto size = sizes.find(argument.name);
    std::vector<std::int64_t> shape;
    for (const std::string& extent : argument.shape) shape.push_back(sizes.at(extent));
    if (argument.is_array)
      arguments.push_back(random_integers(argument.type, shape, arguments.size() + 1, 1, 1000, 1000));
    else if (size != sizes.end())
      arguments.push_back(Data::scalar(Number::of(argument.type, size->second)));
    else
      arguments.push_back(Data::scalar(Number::of_double(
          argument.type, argument.name == "float_n" ? static_cast<double>(sizes.at("n")) : 1.25)));
    const Data& data = arguments.back();
    const double bytes = static_cast<double>(data.count()) * byte_size(Type(argument.type));
    if (argument.input >= 0) {
      c.inputs[static_cast<std::size_t>(argument.input)] = data;
      c.work.bytes_read += bytes;
    }
    if (argument.result >= 0) c.work.bytes_written += bytes;
  }
  c.work.element_bytes = 8;
  const auto compiled = [&](std::string compiler, std::vector<std::string> flags,
                            std::vector<std::string> libraries) {
    CompileOptions options = session.options().compiler;
    if (!compiler.empty()) options.compiler = std::move(compiler);
    options.flags = std::move(flags);
    options.libraries = std::move(libraries);
    return call_of(compile_and_load(with_call(text, function), options), function, arguments);
  };
  c.reference = compiled("", {"-std=gnu11", "-O1", "-ffp-contract=off", "-w"}, {"-lm"});
  c.reference_name = "the C function";
  c.tolerance = 1e-9;
  c.peers.push_back({"gcc", compiled("", {"-std=gnu11", "-O3", "-march=native", "-w"}, {"-lm"}), {}, false});
  if (session.options().installed) {
    try {
      c.peers.push_back({"polly",
                         compiled("clang-19",
                                  {"-std=gnu11", "-O3", "-march=native", "-w", "-mllvm", "-polly", "-mllvm",
                                   "-polly-parallel", "-mllvm", "-polly-omp-backend=LLVM"},
                                  {"-lm", "-L/usr/lib/llvm-19/lib", "-lomp"}),
                         {},
                         true});
    } catch (const Error&) {
      c.peers.push_back({"polly", {}, "clang-19 and libomp-19-dev", false});
    }
  }
  c.ways.push_back(unfused());
  return c;
}

}  // namespace

std::vector<Entry> polybench_entries() {
  std::vector<Entry> entries;
  for (const Kernel& kernel : kernels)
    entries.push_back(entry(kernel.name, [kernel](Session& session) { return make_case(session, kernel); }));
  return entries;
}

}  // namespace twill::bench
