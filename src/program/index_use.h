// How an expression uses an index.
#pragma once

#include "program/expr.h"

#include <optional>
#include <span>
#include <unordered_set>

namespace twill {

/// Does the expression mention the index, in subscripts as well?
bool mentions(Expr e, DimId dim);
/// Does the expression, if there is one, read the array?
bool mentions(Expr e, ArrayId array);

/// The nodes of the expression that mention the index.
std::unordered_set<const Node*> mentioning(Expr root, DimId dim);

/// The factor of an index in an expression that is affine in it with a literal factor; 0 if it does not
/// occur; nothing if it occurs otherwise (inside of a division, multiplied by a symbol, as a subscript).
std::optional<std::int64_t> factor_of(Expr e, DimId dim);

/// Of an element with these subscripts: 1 if it moves to its neighbour in memory with the index, 0 if it does
/// not move, negative if it jumps.
int contiguity(std::span<const Expr> subscripts, DimId dim);

}  // namespace twill
