// Loop nests in a form that stages can be made of. Not for users.
#pragma once

#include "import/c_nest.h"

namespace twill::c {

/// Rewrites a nest, with the same meaning:
///   a loop that only accumulates in one element becomes a fold in an assignment;
///   assignments to one element, one after the other, become one;
///   a scalar that names a value for a while gives way to the value;
///   loops over adjacent ranges that continue a recurrence become one loop;
///   a scalar that a loop carries from step to step becomes an array over the steps, and one that every step
///   computes anew, or an array, gets a place for each step.
void normalize(Nest& nest);

}  // namespace twill::c
