// Proofs about the indices of a program: first by adding up inequalities, then, where that does not
// decide, with integer sets.
#pragma once

#include "poly/set.h"
#include "program/conditions.h"

#include <map>
#include <optional>

namespace twill {

class Prover {
 public:
  explicit Prover(const Program& program) : program_(program) {}

  /// The values and conditions of the program's expressions.
  Conditions& conditions() { return conditions_; }
  const Conditions& conditions() const { return conditions_; }

  /// The range of a dimension: lo <= index < hi (no upper bound where a condition decides).
  poly::Condition range(const Dim& dim);

  /// A fact about a size, used in every proof that mentions it.
  void learn(SymbolId symbol, const poly::Condition& fact);

  /// Do the facts imply affine >= 0, for all sizes? `facts` need not contain definitions or sizes' signs.
  poly::Answer is_non_negative(const poly::Condition& facts, const poly::Affine& affine);

  /// The same, as far as it shows without integer sets; false means only that it does not show.
  bool is_plainly_non_negative(const poly::Condition& facts, const poly::Affine& affine) const;

  /// Can the condition hold at all?
  poly::Answer is_possible(const poly::Condition& condition);

  /// The smallest way to make it hold, sizes first; nothing if there is none, or it is too hard to find.
  std::optional<poly::Point> example(const poly::Condition& condition);

  /// The condition, with all that is known about its terms and sizes.
  poly::Condition complete(const poly::Condition& condition) const;

  const poly::Context& context();

  /// "y-1", "H-1": with the program's names.
  std::string describe(const poly::Affine& affine) const;
  std::string describe(poly::Var var) const;

 private:
  const Program& program_;
  Conditions conditions_;
  std::map<poly::Var, poly::Condition> learned_;
  std::optional<poly::Context> context_;  // made when first needed: most programs need none
};

}  // namespace twill
