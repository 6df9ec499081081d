// Loops that go to places that data say, and what lanes can compute of them.
#pragma once

#include "emit/tables.h"

namespace twill::nest {

/// A compiler that finds something in a loop that lanes cannot do computes all of it one point after the
/// other. Here such loops become several, over a few points at a time:
///   lookups   elements of less than four bytes in places that data say: the places in lanes, their elements
///   one
///             after the other, and what is made of them in lanes again
///   scatters  values that go to places that data say: places and values in lanes, then one after the other
///   columns   that become rows: block by block
/// Loops in lanes that would ask at each point whether an array is empty exist twice, and where they add up
/// some points only, the others add nothing.
void split_loops(Tables& tables, Code& code);

}  // namespace twill::nest
