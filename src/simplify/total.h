// Can a computation fail?
#pragma once

#include "program/prover.h"

namespace twill {

/// Proves that stages cannot fail wherever they run: no read or write leaves its array, nothing is divided by
/// zero, no fold lacks a value, no loop runs for ever. Conditions inside of expressions are not looked at.
class Totality {
 public:
  explicit Totality(const Program& program) : program_(program), prover_(program) {}

  Prover& prover() { return prover_; }

  /// Under the facts that hold around it.
  bool is_total(const Stage& stage, const poly::Condition& facts);

 private:
  bool is_total(Expr root, const poly::Condition& facts);
  bool is_inside(Expr subscript, Expr extent, const poly::Condition& facts);
  bool is_total(const Block& block, const poly::Condition& facts);

  const Program& program_;
  Prover prover_;
};

}  // namespace twill
