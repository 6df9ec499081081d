// gather: a stage that folds is computed in the order in which another one reads it, at places that data decide.
//
// The rules, not the choice. Who reads an array by an index that is data can go to what the array is made of
// instead, if nobody else needs it: an element is then computed as often as it is read, and the array is never
// made. A map becomes part of its reader (fuse/join.h); what folds keeps loops of its own, inside of its
// reader's.
#pragma once

#include "program/program.h"
#include "program/reason.h"

#include <functional>
#include <optional>
#include <set>
#include <span>

namespace twill {

/// For stages that are to share their loops: those that fold, and that a later one gathers, are computed in the
/// order of that one, so that each of its iterations finds the element that it reads. `readers`: the positions
/// of all stages, of the span or -1 for others, that need an array; `shares`: does the stage at a position share
/// the loops? Says why not, if one cannot be.
std::optional<Reason> take_order_of_readers(Program& program, std::span<Stage> stages,
                                            const std::function<std::set<int>(ArrayId)>& readers,
                                            const std::function<bool(int)>& shares);

}  // namespace twill
