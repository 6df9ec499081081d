// Imported C functions beside the same functions as the system's compiler makes them.
#pragma once

#include "base/files.h"
#include "import/c_import.h"
#include "program/data.h"
#include "run/compiler.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <map>
#include <stdexcept>

namespace twill {

inline CImport import_file(const std::filesystem::path& file, const std::string& function = {}) {
  return import_c({file.string(), read_file(file), preprocess(file)}, function);
}

/// A C function of a text, called with data for its arguments.
class PlainC {
 public:
  PlainC(const std::string& text, const CFunction& function) : function_(function) {
    std::vector<std::string> arguments;
    for (std::size_t k = 0; k < function.arguments.size(); ++k)
      arguments.push_back(function.arguments[k].is_array
                              ? fmt::format("p[{}]", k)
                              : fmt::format("*({} *)p[{}]", function.arguments[k].c_type, k));
    CompileOptions options;
    options.flags = {"-std=gnu11", "-O1", "-ffp-contract=off", "-w"};
    library_.emplace(compile_and_load(
        text + fmt::format("\nvoid twill_call(void **p) {{ {}({}); }}\n", function.name, fmt::join(arguments, ", ")),
        options));
  }

  /// Arrays are changed in place.
  void operator()(std::vector<Data>& arguments) const {
    std::vector<void*> pointers;
    for (Data& data : arguments) pointers.push_back(data.bytes());
    library_->function<void(void**)>("twill_call")(pointers.data());
  }

 private:
  CFunction function_;
  std::optional<Library> library_;
};

/// The inputs of the program among the arguments of the function.
inline std::vector<Data> inputs_among(const CFunction& function, const Program& program, const std::vector<Data>& arguments) {
  std::vector<Data> inputs(program.inputs.size());
  for (std::size_t k = 0; k < function.arguments.size(); ++k)
    if (function.arguments[k].input >= 0) inputs[static_cast<std::size_t>(function.arguments[k].input)] = arguments[k];
  return inputs;
}

}  // namespace twill
