// Says which stages share a pass, what was fused, and why neighbours stay apart.
#pragma once

#include "driver/compile.h"

namespace twill {

/// Whether the clusters are the best ones: "no other clusters take less time".
std::string gap_text(double gap, std::optional<GraphCost> cost);

/// For a compilation that went at least as far as `elaborate`.
std::string fusion_report(const Compilation& compilation);

}  // namespace twill
