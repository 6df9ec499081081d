// slice: which part of its producers a tile of a stage needs. Tile the outputs first, then go backward: what
// a tile reads of a producer is the producer's slice, and what that reads is the slice of the next one.
//
// Slices are in terms of the tile's origin, whatever loop it comes from, so they are found once for all tiles
// and all sizes.
#pragma once

#include "poly/affine.h"
#include "program/program.h"
#include "program/reason.h"

#include <optional>
#include <span>
#include <vector>

namespace twill {

/// The indices from `lo` to `hi`, both included, of a dimension. Where they lie outside of its range, the
/// nearest index inside is meant: that is what a clamped read sees there, and others see nothing.
struct Span {
  poly::Affine lo, hi;
  friend bool operator==(const Span&, const Span&) = default;
};

/// How many indices the span has at most; the same for all tiles.
std::optional<std::int64_t> width_of(const Span& span);

/// Do both ends of the span stay or grow when the variable grows, and one of them grows?
bool slides_along(const Span& span, poly::Var var);

/// What is needed of a stage, by dimension; nothing: the whole range. The width of every span is known.
using Slice = std::vector<std::optional<Span>>;

/// Why parts of the stage cannot be computed alone, any number of times; nothing if they can. Then every
/// output has one element for each index of the dimensions that are not folded.
std::optional<Reason> why_not_slice(const Program& program, const Stage& stage);

/// The slices of all stages of a cluster, which come in the order in which they run. `tiled`: those of the
/// stages that are cut into tiles; the others get what the stages after them read.
std::vector<Slice> slice_backward(std::span<const Stage* const> stages,
                                  std::span<const std::optional<Slice>> tiled);

/// The affine sum as an expression.
Expr expr_of(ExprPool& pool, const poly::Affine& affine);

}  // namespace twill
