// What a piece of code uses and defines, so that it can become a function of its own.
#pragma once

#include "emit/nest.h"

#include <functional>
#include <set>

namespace twill::nest {

struct Uses {
  std::set<ArrayId> arrays;  // read or written
  std::set<ArrayId> written;
  std::set<DimId> dims;
  std::set<SymbolId> symbols;
  bool streams = false;    // writes past the caches
  bool allocates = false;  // needs the frame
  bool parallel = false;   // has a loop that is run by the cores
};

/// Every expression of a statement itself; not those of code inside of it.
void for_each_expr(const Statement& statement, const std::function<void(Expr)>& action);

/// Free names only: what is declared inside is not listed.
Uses uses_of(const Nest& nest, const Code& code);

}  // namespace twill::nest
