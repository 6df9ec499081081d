// The passes of simplify; each says whether it changed anything.
#pragma once

#include "simplify/scope.h"

namespace twill {

/// Removes stages and outputs that nobody needs.
bool remove_dead(Scope& scope, Notes& notes);

/// Makes producers part of their only consumer.
bool fuse_vertically(Scope& scope, Notes& notes);

}  // namespace twill
