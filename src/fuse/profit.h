// What fusion may cost: estimates that decide whether a legal fusion is also a good one.
#pragma once

#include "program/program.h"
#include "program/reason.h"

#include <algorithm>
#include <optional>

namespace twill {

/// Operations that cost less than to write an element to memory and to read it back.
inline constexpr int cheap_operations = 16;

/// Operations per point; a call of a function counts as many.
int operations_of(const Stage& stage);

/// Does the stage compute so much at every point, in ways that lanes can share, that it should take many
/// points at once?
bool is_for_lanes(const Program& program, const Stage& stage, int operations);

/// Does an output take one point after the other, as collections and groups do?
bool takes_single_points(const Stage& stage);

/// Why it is worse to compute the producer, with so many operations per point, inside of the consumer's loop
/// than before it; nothing if it is not.
std::optional<Reason> why_worse(const Program& program, const Stage& producer, int operations,
                                const Stage& consumer);

/// Why it is worse to run the two in the same outer loop than one after the other; nothing if it is not.
std::optional<Reason> why_worse_to_share(const Program& program, const Stage& first, const Stage& second);

/// Does the stage use every element that it sums up for many elements of its results, as products of matrices
/// do? Tiles of its sums in registers are worth more to it than a loop with others.
bool is_product(const Program& program, const Stage& stage);

/// Does some output of the stage combine some dimension so?
template <class C>
bool any_is(const Stage& stage) {
  return std::any_of(stage.outputs.begin(), stage.outputs.end(), [](const Output& output) {
    return std::any_of(output.combine.begin(), output.combine.end(), is<C>);
  });
}

/// Does the user say so?
bool has_hint(const Stage& stage, Hint hint);

/// Must the points of the stage be visited one after the other?
bool runs_in_order(const Program& program, const Stage& stage);

}  // namespace twill
