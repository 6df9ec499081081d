// Sizes that were known by an output of a choice which the choice is about to lose.
#pragma once

#include "fuse/region.h"
#include "program/choice.h"
#include "simplify/rewriting.h"

#include <optional>

namespace twill {

/// What has to be said in another way, so that the outputs can go.
struct LostSizes {
  std::vector<Expr> extents;  // of what the choice makes instead: each becomes a size of its own
  std::vector<ChosenSize>
      counts;  // used by other stages: each becomes a number that the choice leaves behind

  bool empty() const { return extents.empty() && counts.empty(); }
};

/// What a choice loses that becomes `after`, in place of the stages at these positions of the region (the
/// choice and a stage that becomes part of it, or the choice alone); nothing if somebody needs a size as a
/// size.
std::optional<LostSizes> lost_sizes(const Region& region, const UseTable& uses, const Stage& after,
                                    const std::set<int>& positions);

/// Says it in the other way: in `after`, whose outputs have left already, in all other stages of the region
/// and in the shapes of arrays. `before` is the choice as it was.
void say_lost_sizes(Region& region, const LostSizes& lost, const Stage& before, Stage& after,
                    NewNames& names);

}  // namespace twill
