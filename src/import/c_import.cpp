// From a C file to a module.
#include "import/c_import.h"

#include "import/c_normal.h"
#include "import/c_read.h"
#include "import/c_text.h"
#include "program/text_module.h"

namespace twill {

Module import_c(const CFile& file, const std::string& function) {
  text::File module;
  for (c::Nest& nest : c::read_nests({file.name, file.text, file.preprocessed}, function)) {
    c::normalize(nest);
    c::Steps steps = c::stages_of(nest);
    module.definitions.push_back(c::definition_of(nest, steps));
  }
  return text::module_of(module);
}

}  // namespace twill
