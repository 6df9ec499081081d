// Looking up definitions of a module.
#include "program/module.h"

#include <algorithm>

namespace twill {

const Program* Module::find(std::string_view name) const {
  const auto found = std::ranges::find(programs, name, &Program::name);
  return found == programs.end() ? nullptr : &*found;
}

}  // namespace twill
