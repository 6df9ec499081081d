// Collections of which nobody reads the elements, because those who did are fused with what finds them.
#pragma once

#include "fuse/region.h"

namespace twill {

/// Takes those of the arrays out of their stages that nobody needs any more. Where the number of elements is
/// needed, as a number, they are counted.
void drop_unread(Region& region, const std::set<ArrayId>& arrays);

/// The collections of a region that some stage reads.
std::set<ArrayId> collections_read(const Region& region);

}  // namespace twill
