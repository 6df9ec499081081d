// Buckets: what the groups of one stage have in common.
//
// Groups that take values at the same points (equal guards) by the same key have the same buckets. They may
// say so by sharing the length of their keys; then one table of keys serves all of them. The first one has
// the keys, and the others need none.
#pragma once

#include "program/program.h"

namespace twill {

/// Does the output put values into buckets?
bool is_group(const Output& output);

/// The operator that folds each bucket; null: values are collected.
const Operator* bucket_operator(const Output& group);

/// The number of buckets: the extent of the keys.
Expr bucket_count(const Program& program, const Output& group);

/// Have the two groups of one stage the same points and keys, so that they can share their buckets?
bool have_same_buckets(const Output& a, const Output& b);

/// Do they share them?
bool share_buckets(const Program& program, const Output& a, const Output& b);

/// Do two collections of one stage share their length, because they take their values at the same points?
bool share_length(const Program& program, const Output& a, const Output& b);

}  // namespace twill
