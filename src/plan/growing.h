// How what is appended finds its place: counted first, or collected in buffers that grow.
#pragma once

#include "plan/legality.h"

#include <span>

namespace twill {

/// Lets the appends of a cluster's stages grow where to count first would cost more than to copy afterwards:
/// where conditions and bounds, or what they read in the same loops, are much to compute twice.
void let_appends_grow(const Program& program, std::span<const Stage* const> stages, const Site& site,
                      Cluster& cluster);

}  // namespace twill
