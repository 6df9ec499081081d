// The hash table of a group stage, as C for one type of key.
#pragma once

#include "emit/c_expr.h"

namespace twill {

/// How many slots an empty table has: one for every key there can be, if these are few; it never grows then.
std::int64_t first_table_size(const Type& key);

/// Defines a function that finds the number of a key or gives it the next one; -1 if there is no memory.
std::string table_lookup(const std::string& function, const Type& key, CContext& context);

}  // namespace twill
