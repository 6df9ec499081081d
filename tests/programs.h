// Programs and machines that tests share.
#pragma once

#include "machine/machine.h"
#include "program/text.h"

#include <memory>
#include <string>

namespace twill {

/// Two cores with sixteen lanes, whatever the tests run on.
inline Machine two_cores() {
  Machine machine;
  machine.name = "two cores";
  machine.memory = {{"memory", std::int64_t{1} << 34}, {"L3", 1 << 24, 1, 64, true}};
  machine.cores = {{CoreKind::Core, "core", 2}, {CoreKind::Simd, "simd", 16}};
  return machine;
}

inline std::shared_ptr<const Program> program_of(const std::string& text) {
  return std::make_shared<const Program>(parse_program("test.twill", text));
}

}  // namespace twill
