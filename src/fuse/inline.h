// inline: the value of an element takes the place of its read, wherever in the array that is.
#pragma once

#include "fuse/region.h"
#include "program/reason.h"

#include <optional>

namespace twill {

/// Why reads of the output by the consumer cannot be replaced by what the producer computes there; nothing if
/// they can. The output has to be a map: one value per point, at the point's own place. Boundary rules of the
/// reads become those of the producer's own reads, and a subscript of which nobody knows whether it is inside
/// is checked there.
std::optional<Reason> why_not_inline(const Program& program, const Stage& producer, const Output& output,
                                     const Stage& consumer);

/// Does the consumer read every element of the array at most once?
bool reads_each_once(const Stage& consumer, ArrayId array);

/// Are there at most so many times as many reads of the output by the consumer as the producer has points?
/// With once as many it is not more work to compute it where it is read, however often some elements are.
bool reads_few(const Program& program, const Stage& producer, const Output& output, const Stage& consumer,
               std::int64_t times = 1);

/// Would the consumer, with the output computed where it is read, read no more elements than before, and
/// compute hardly more?
bool is_as_quick_as_reading(Program& program, const Stage& producer, const Output& output,
                            const Stage& consumer);

/// Replaces the reads. Only if nothing speaks against it.
void inline_reads(Program& program, const Stage& producer, const Output& output, Stage& consumer);

/// Why the stage at a position cannot be left out, with all who read what it makes computing that again.
std::optional<Reason> why_not_recompute(const Region& region, const UseTable& uses, int position);

/// Is one of many elements of the stage chosen, the largest perhaps, so that it may be looked for later among
/// all of them? Then all readers should see the same bits, which floats that are computed twice may not have.
bool is_chosen_from(const Region& region, const UseTable& uses, int position);

/// That the stage is left out, and why.
Reason recomputed(const Stage& stage);

/// Does so: the stage is empty afterwards, and `uses` is of the past.
void recompute(Region& region, const UseTable& uses, int position);

}  // namespace twill
