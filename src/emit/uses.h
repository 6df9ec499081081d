// What a piece of code uses and defines, so that it can become a function of its own.
#pragma once

#include "emit/nest.h"

#include <functional>
#include <set>
#include <span>

namespace twill::nest {

struct Uses {
  std::set<ArrayId> arrays;  // read or written
  std::set<ArrayId> written;
  std::set<DimId> dims;
  std::set<SymbolId> symbols;
  std::set<SymbolId> set;  // sizes that get their value there
  bool streams = false;    // writes past the caches
  bool allocates = false;  // needs the frame
  bool parallel = false;   // has a loop that is run by the cores
};

/// Every expression that a statement itself computes; not those of code inside of it.
void for_each_expr(const Statement& statement, const std::function<void(Expr)>& action);
/// The same, and what it says of extents.
void edit_expressions(Statement& statement, const std::function<void(Expr&)>& edit);

/// Free names only: what is declared inside is not listed.
Uses uses_of(const Nest& nest, std::span<const Statement> code);

}  // namespace twill::nest
