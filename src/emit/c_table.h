// The hash table of a group stage, as C for one type of key.
#pragma once

#include "emit/c_expr.h"

namespace twill {

/// Defines a function that finds the number of a key or gives it the next one; -1 if there is no memory.
std::string table_lookup(const std::string& function, const Type& key, CContext& context);

}  // namespace twill
