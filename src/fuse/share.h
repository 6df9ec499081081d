// share: stages run in the same outer loops, one after the other in every iteration of them.
//
// The rules, not the choice. Unlike stages that are joined (fuse/join.h), they keep their own inner loops: a
// fold over a row and the broadcast of its result over the same row, a collection of several elements per
// point next to a value per point. What one of them computes in an iteration, the next one reads in the same
// iteration, so that nothing but a part of the array has to be remembered.
#pragma once

#include "base/error.h"
#include "program/program.h"
#include "program/reason.h"

#include <optional>
#include <set>
#include <span>

namespace twill {

/// Why the `depth` outermost dimensions of the two cannot be the same loops, with the work of `first` before
/// that of `second` in every iteration; nothing if they can. Looks at the two alone.
std::optional<Reason> why_not_share(const Program& program, const Stage& first, const Stage& second,
                                    int depth);

/// Why stages cannot share loops that are cut into parts: how much some of them leave behind would depend on
/// a running fold, which the parts only learn when they count. Nothing if that is not so.
std::optional<Reason> why_decides_too_early(const Program& program, std::span<const Stage* const> stages);

/// The subscripts of the output's write map, by position, that are the indices of the stage's `depth`
/// outermost dimensions; nothing if one of them is not there by itself, or if the elements of an iteration
/// are not complete when it ends. (Those of a scan are, if it has no other dimensions than folded ones.)
std::optional<std::vector<int>> places_of_shared(const Stage& stage, const Output& output, int depth);

/// The second stage, which goes through a collection that the first one fills, as a stage that visits the
/// points of the first and computes what is in the collection by itself; nothing if it does not go through
/// one, or the reason why it cannot be.
std::optional<Result<Stage, Reason>> over_points_of(Program& program, const Stage& first,
                                                    const Stage& second);

/// Does so for stages that are to share their loops, each with all before it. `passed`: the collections that
/// are not gone through any more.
std::optional<Reason> visit_points(Program& program, std::span<Stage> stages, std::set<ArrayId>& passed);

/// How many of the outermost dimensions all of the stages can share, each with all before it; 0: none.
int most_shared(const Program& program, std::span<const Stage* const> stages);

}  // namespace twill
