// Loops in which something is folded from point to point and read at each point.
#pragma once

#include "emit/tables.h"

#include <optional>

namespace twill::nest {

/// A compiler takes one point after the other where something runs along, and waits for every operation of
/// the fold. Here such a loop takes a few points at a time: what is folded is computed in lanes; the fold
/// goes from point to point, in groups of which only the last one is waited for, if it may; and what is made
/// of it is computed in lanes again. A first pass that only adds up is one for lanes. Nothing if the loop is
/// none of these. Sums that are put together from lanes cost as much as a few hundred points: not for every
/// row of an array, which is a loop that mentions the index of one around it.
std::optional<Statement> split_running(Tables& tables, const For& loop, std::span<const DimId> around);

}  // namespace twill::nest
