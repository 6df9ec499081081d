// What runs twice: loops that are cut into parts, or fill collections, may first learn how much every part
// will leave behind.
#pragma once

#include "program/program.h"

#include <functional>
#include <optional>
#include <set>
#include <span>

namespace twill {

/// What a first pass does for an output: nothing, it counts its points, or it computes its values as well.
enum class InFirstPass : std::uint8_t { Nothing, Counts, Computes };

/// Is it better not to count before writing: because only a running value of the stage tells what is kept?
bool decides_by_running(const Stage& stage, const Output& output);

/// What a first pass does for an output by itself: for the stage's and the output's position.
using FirstPass = std::function<InFirstPass(std::size_t stage, std::size_t output)>;

/// The arrays of these stages, which run in the same loops, that others need in the first pass; none if
/// there is no such pass.
std::set<ArrayId> needed_in_first_pass(std::span<const Stage* const> stages, const FirstPass& does);

/// A running fold among these that its first pass has not learnt yet: `in_parts` says of which scans each
/// part starts with what the first pass has learnt.
std::optional<ArrayId> not_learnt_yet(std::span<const Stage* const> stages, const FirstPass& does,
                                      const std::function<bool(std::size_t stage, std::size_t output)>& in_parts);

}  // namespace twill
