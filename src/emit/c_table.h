// The hash table of a group stage, as C for one type of key.
#pragma once

#include "emit/c_expr.h"

namespace twill {

/// How many slots an empty table has: one for every key there can be, if these are few; it never grows then.
std::int64_t first_table_size(const Type& key);

/// The functions of a table with keys of some type.
struct TableFunctions {
  std::string find;  // the number of a key; or -1, and the place where it belongs
  std::string add;   // puts a new key there, returns its number; -1 if there is no memory
  std::string own;   // the type of what `add` is handed: where the table is, and for each buffer where it is,
                     // its room, its length, and the element that a new key adds
  bool direct = false;  // the place says which key it is: `add` does not ask for the key
  std::string text;     // definitions
};

/// `buffers` are the types of elements of buffers that have one for each key, the keys themselves first.
TableFunctions table_functions(const std::string& table, const Type& key,
                               std::span<const std::string> buffers, CContext& context);

}  // namespace twill
