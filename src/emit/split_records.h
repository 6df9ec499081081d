// Arrays of records inside of shared loops, as one array for each field.
#pragma once

#include "emit/tables.h"

namespace twill::nest {

/// Records that lie side by side have to be taken apart and put together again for lanes. What lives inside
/// of shared loops only, nobody else has seen: it becomes one array for each field, and the operators that
/// records are folded with become formulas for each of them.
void split_records(Tables& tables, Code& code);

}  // namespace twill::nest
