// guess: how large arrays are and how much work stages do, before the program runs.
#pragma once

#include "program/known.h"

#include <optional>

namespace twill {

/// The share of the points for which a condition holds, if nothing is known of the data: one of two for most,
/// one of ten for what is equal, one of k for what is equal modulo k.
double share_of(Expr condition);

/// Sizes that are known, and guesses for the others: collections by what their conditions leave of a range,
/// rows of a triangle by the middle one.
class Guess {
 public:
  Guess(const Program& program, KnownSizes known);

  /// Is the size of the array known, or all that it is guessed from?
  bool knows(const Array& array) const;
  double bytes(const Array& array) const;
  double elements(const Array& array) const;
  double points(const Stage& stage) const;
  /// Operations on four bytes and elements that are read, in all points of a formula; those of a block are
  /// counted where its stages are.
  double work(const Stage& stage) const;

 private:
  double extent(Expr e) const;
  void guess_lengths(const Program& program, const Stage& stage);
  /// Sets the size, unless it is given.
  void guess(KnownSizes& sizes, SymbolId symbol, std::int64_t size) const;

  KnownSizes given_;
  KnownSizes known_;    // and what follows from it, but for the share that a condition leaves
  KnownSizes guessed_;  // with something for every size
};

/// Operations on four bytes (others count as many as they take) and elements that are read for one point: not
/// where elements are, and not what is the same for all points of the innermost loop.
double work_at_point(const Stage& stage);

}  // namespace twill
