// guess: how large arrays are and how much work stages do, before the program runs.
#pragma once

#include "program/known.h"

#include <optional>

namespace twill {

/// The share of the points for which a condition holds, if nothing is known of the data: one of two for most,
/// one of ten for what is equal, one of k for what is equal modulo k.
double share_of(Expr condition);

/// What there is to compute, in numbers of four bytes: others count as many as they take in vectors.
struct Work {
  double operations = 0;  // and elements that are read
  double calls = 0;       // of functions of the C library, whatever they take

  Work operator*(double times) const { return {operations * times, calls * times}; }
};

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
  /// In all points of a formula; the work of a block is counted where its stages are.
  Work work(const Stage& stage) const;

 private:
  double extent(Expr e) const;
  void guess_lengths(const Program& program, const Stage& stage);
  /// Sets the size, unless it is given.
  void guess(KnownSizes& sizes, SymbolId symbol, std::int64_t size) const;

  KnownSizes given_;
  KnownSizes known_;    // and what follows from it, but for the share that a condition leaves
  KnownSizes guessed_;  // with something for every size
};

/// For one point: not where elements are, and not what is the same for all points of the innermost loop.
Work work_at_point(const Stage& stage);

}  // namespace twill
