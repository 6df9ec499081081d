// Which way a stage walks through memory: the dimension along which what it reads and writes lies side by
// side.
#pragma once

#include "program/program.h"

#include <optional>

namespace twill {

/// Of the stage's widest reads and writes (those that move with most of its dimensions): does each dimension
/// step from element to neighbouring element (positive), or jump (negative)? By dimension.
std::vector<int> ease_of_steps(const Stage& stage);

/// The dimension that is best innermost; nothing if none walks through memory.
std::optional<int> direction_of(const Stage& stage);

/// Would one of two stages jump through memory in loops over both, whichever dimension is innermost?
bool walk_apart(const Stage& first, const Stage& second);

/// Would the stage jump through memory if loops around it visited the points of its first dimensions?
bool jumps_inside(const Stage& stage, int first_dims);

}  // namespace twill
