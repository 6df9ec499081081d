// Says which stages share a pass, what was fused, and why neighbours stay apart.
#pragma once

#include "driver/compile.h"

namespace twill {

/// For a compilation that went at least as far as `elaborate`.
std::string fusion_report(const Compilation& compilation);

}  // namespace twill
