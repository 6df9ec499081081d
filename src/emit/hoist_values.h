// Values that cost much and stay the same are computed once: outside of loops, or where they are first
// needed.
#pragma once

#include "emit/tables.h"

namespace twill::nest {

/// What a loop computes at every step although it is the same at all of them becomes a variable before the
/// loop, and so does what several statements compute. Only calls of functions are worth it; compilers see to
/// the rest. Nothing is computed that was not needed: where a condition of the loop decides, the variable
/// gets its value at the first step that needs it. In lanes it gets it before, if that cannot fail.
void hoist_values(Tables& tables, Code& code);

}  // namespace twill::nest
