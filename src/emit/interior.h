// Where boundary rules do not bite: the part of a loop in which reads stay inside by themselves.
#pragma once

#include "emit/tables.h"
#include "program/index_use.h"

namespace twill::nest {

struct Interior {
  std::vector<Expr> lower;  // the index is at least each of these …
  std::vector<Expr> upper;  // … and less than each of these
};

/// Adds what the reads in `e` demand of the index so that their boundary rules on subscripts that move
/// with it are never needed.
void find_interior(Tables& tables, Expr e, DimId dim, Interior& interior);

/// The expression with those rules removed.
Expr assume_interior(Tables& tables, Expr e, DimId dim);

}  // namespace twill::nest
