// From a C file to a module.
#include "import/c_import.h"

#include "import/c_normal.h"
#include "import/c_read.h"
#include "import/c_text.h"
#include "program/text_module.h"

namespace twill {

namespace {

CFunction function_of(const c::Nest& nest, const c::Steps& steps, const c::Written& written) {
  CFunction function{nest.name, nest.prototype, {}};
  const auto find = [](const std::map<int, int>& map, int id) {
    const auto found = map.find(id);
    return found == map.end() ? -1 : found->second;
  };
  for (const c::Nest::Argument& argument : nest.arguments) {
    CArgument made;
    made.is_array = argument.is_array;
    made.c_type = argument.c_type;
    if (argument.is_array) {
      const c::Array& array = nest.array(argument.id);
      made.name = array.name;
      made.type = array.type;
      for (const c::Tree& extent : array.shape) made.shape.push_back(c::to_c(nest, extent));
      made.input = find(written.array_inputs, argument.id);
      for (std::size_t k = 0; k < steps.written.size(); ++k)
        if (steps.written[k] == argument.id) made.result = static_cast<int>(k);
    } else {
      const c::Param& param = nest.params[static_cast<std::size_t>(argument.id)];
      made.name = param.name;
      made.type = param.type;
      made.input = find(written.param_inputs, argument.id);
    }
    function.arguments.push_back(std::move(made));
  }
  return function;
}

}  // namespace

CImport import_c(const CFile& file, const std::string& function) {
  text::File module;
  CImport result;
  for (c::Nest& nest : c::read_nests({file.name, file.text, file.preprocessed, file.libclang}, function)) {
    c::normalize(nest);
    c::Steps steps = c::stages_of(nest);
    c::Written written = c::definition_of(nest, steps);
    result.functions.push_back(function_of(nest, steps, written));
    module.definitions.push_back(std::move(written.definition));
  }
  result.module = text::module_of(module);
  return result;
}

}  // namespace twill
