// Says which stages share a pass, what was fused, and why neighbours stay apart.
#pragma once

#include "driver/compile.h"

#include <map>

namespace twill {

/// Whether the clusters are the best ones: "no other clusters take less time", "they cost 14 by (e), and no
/// others less".
std::string proof_text(const Proof& proof, std::optional<GraphCost> cost);

/// For a compilation that went at least as far as `elaborate`.
std::string fusion_report(const Compilation& compilation);

/// Bytes between memory and the passes, beside those of the same program with nothing fused, for the sizes
/// that are given by name and `assumed` for all others.
std::string traffic_report(const Compilation& compilation, const Compilation& unfused,
                           const std::map<std::string, std::int64_t>& sizes, std::int64_t assumed);

}  // namespace twill
