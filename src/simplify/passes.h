// The passes of simplify; each says whether it changed anything.
#pragma once

#include "fuse/region.h"
#include "program/reason.h"

namespace twill {

/// What a pass says about its decisions.
struct Notes {
  std::vector<Reason> done, not_done;
};

/// Removes stages and outputs that nobody needs.
bool remove_dead(Region& region, Notes& notes);

/// Makes producers part of their only consumer.
bool fuse_vertically(Region& region, Notes& notes);

}  // namespace twill
