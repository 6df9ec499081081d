// Divisions of an index by small numbers: steps of the loop after which they repeat, and what they are inside
// of a step.
#pragma once

#include "emit/tables.h"

namespace twill::nest {

/// After how many points of the index what `e` divides repeats, up to what moves along: 2 for a[x / 2], 1
/// where nothing is divided.
std::int64_t period_of(Expr e, DimId dim);

/// The expression with quotients and remainders of what moves with the index by whole multiples of the
/// divisor worked out: (2*q + 1) / 2 is q, (2*q + 1) % 2 is 1. Choices that are decided then are taken.
Expr work_out_divisions(Tables& tables, Expr e, DimId dim);

}  // namespace twill::nest
