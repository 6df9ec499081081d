// Extents that are above zero because others are: where there is an x < W, (W + 1) / 2 is at least 1.
#pragma once

#include "program/program.h"

#include <set>

namespace twill {

/// Expressions that are known to be above zero.
using Positive = std::set<const Node*>;

/// Adds the expression, and what must be above zero if it is.
void add_positive(Expr e, Positive& known);

/// Does it follow that the expression is above zero?
bool is_positive(Expr e, const Positive& known);

/// What is above zero wherever the stage has a point.
Positive positive_in(const Stage& stage);

}  // namespace twill
