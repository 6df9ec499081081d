// Scalars of loop nests, and arrays that serve as such: names for values that come and go. Not for users.
#pragma once

#include "import/c_depend.h"

namespace twill::c {

/// No fold, no while loop, and not large: computing it again costs little.
bool is_light(const Tree& tree);

/// Puts the value of one local scalar, assigned in this list, where the scalar is read, and removes the
/// assignment. False if there is none that allows it.
bool substitute_scalar(Nest& nest, std::vector<Item>& items);

/// Replaces an index, in assignments and in the bounds of loops.
void rename_loop(Nest& nest, std::vector<Item>& items, int loop, const Tree& by);

/// A scalar that a loop of this list carries from one step to the next, `s = 0; for (j) { … s …; s = e(j);
/// }`: where it is read, it is `j > lo ? e(j-1) : 0`. False if there is none.
bool carry_scalar(Nest& nest, const Questions& ask, std::vector<Item>& items, const poly::Condition& outside);

/// Scalars and arrays that every step of a loop computes anew before it reads them get a place for each step,
/// if nothing else makes the steps wait for each other.
void privatize(Nest& nest);

}  // namespace twill::c
