// Imported C functions beside the same functions as the system's compiler makes them.
#pragma once

#include "base/files.h"
#include "import/c_import.h"
#include "program/data.h"
#include "run/compiler.h"
#include "run/process.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <map>
#include <stdexcept>

namespace twill {

inline CImport import_file(const std::filesystem::path& file, const std::string& function = {}) {
  return import_c({file.string(), read_file(file), preprocess(file)}, function);
}

/// A text as if it were the file t.c.
inline CImport import_text(const std::string& text, const std::string& libclang = {}) {
  const WorkDirectory work(temporary_directory());
  const std::filesystem::path file = work.path() / "t.c";
  write_file(file, text);
  std::string preprocessed = preprocess(file);
  for (std::size_t at; (at = preprocessed.find(file.string())) != std::string::npos;)
    preprocessed.replace(at, file.string().size(), "t.c");
  return import_c({"t.c", text, preprocessed, libclang});
}

/// The C functions of a text, called with data for their arguments.
class PlainC {
 public:
  PlainC(const std::string& text, const std::vector<CFunction>& functions) {
    std::string all = text;
    for (std::size_t f = 0; f < functions.size(); ++f) {
      std::vector<std::string> arguments;
      for (const CArgument& argument : functions[f].arguments)
        arguments.push_back(argument.is_array
                                ? fmt::format("p[{}]", arguments.size())
                                : fmt::format("*({} *)p[{}]", argument.c_type, arguments.size()));
      all += fmt::format("\nvoid twill_call_{}(void **p) {{ {}({}); }}\n", f, functions[f].name,
                         fmt::join(arguments, ", "));
    }
    CompileOptions options;
    options.flags = {"-std=gnu11", "-O1", "-ffp-contract=off", "-fwrapv", "-w"};
    library_.emplace(compile_and_load(all, options));
  }

  /// Arrays are changed in place.
  void call(std::size_t function, std::vector<Data>& arguments) const {
    std::vector<void*> pointers;
    for (Data& data : arguments) pointers.push_back(data.bytes());
    library_->function<void(void**)>(fmt::format("twill_call_{}", function))(pointers.data());
  }

 private:
  std::optional<Library> library_;
};

/// The inputs of the program among the arguments of the function.
inline std::vector<Data> inputs_among(const CFunction& function, const Program& program,
                                      const std::vector<Data>& arguments) {
  std::vector<Data> inputs(program.inputs.size());
  for (std::size_t k = 0; k < function.arguments.size(); ++k)
    if (function.arguments[k].input >= 0)
      inputs[static_cast<std::size_t>(function.arguments[k].input)] = arguments[k];
  return inputs;
}

}  // namespace twill
