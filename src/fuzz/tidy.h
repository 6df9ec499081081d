// Programs without what nothing refers to.
#pragma once

#include "program/program.h"

namespace twill {

/// The program without inputs, constants, arrays, sizes and functions that nothing refers to. Ids change,
/// names do not.
Program tidy(const Program& program);

}  // namespace twill
