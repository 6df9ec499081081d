// guess: how large arrays are and how much work stages do, before the program runs.
#pragma once

#include "program/known.h"

namespace twill {

/// Sizes that are known, and guesses for the others.
class Guess {
 public:
  Guess(const Program& program, KnownSizes known);

  /// Is the size of the array known?
  bool knows(const Array& array) const;
  double bytes(const Array& array) const;
  double points(const Stage& stage) const;
  /// Operations on four bytes and elements that are read, in all points of a formula; those of a block are
  /// counted where its stages are.
  double work(const Stage& stage) const;

 private:
  double extent(Expr e) const;

  KnownSizes known_;
  KnownSizes guessed_;  // with something for every size
};

/// Operations on four bytes (others count as many as they take) and elements that are read for one point: not
/// where elements are, and not what is the same for all points of the innermost loop.
double work_at_point(const Stage& stage);

}  // namespace twill
