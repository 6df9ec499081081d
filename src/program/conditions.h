// Index expressions and conditions of a program as conditions on integers, for the proofs of the checker.
#pragma once

#include "poly/condition.h"
#include "program/program.h"

#include <optional>
#include <unordered_map>

namespace twill {

/// Every i64 expression has a value here: what is not affine stands for itself as a term (see affine_of.h).
/// min, max, abs and if become terms with a definition, a narrow integer or a modulo a term with a range, and
/// what remains a term that may be anything. Keeps what it has seen, so that the cost of a shared
/// expression is paid once. Meant for one program.
class Conditions {
 public:
  /// Of an i64 expression.
  poly::Affine value(Expr expr);

  /// What holds if a condition is true (or false, for `truth` false), as far as conditions can say it: an
  /// unknown condition says nothing.
  poly::Condition when(Expr condition, bool truth);

  /// What is known about the terms that a condition mentions, and about those that this mentions.
  poly::Condition definitions(const poly::Condition& condition) const;

  /// The expression that a term stands for; null for one that was never met.
  Expr expr_of(poly::Var term) const;

  /// Does it depend on a term that its definition does not determine (data, a product)?
  bool depends_on_free_term(const poly::Affine& affine) const;

 private:
  struct Definition {
    poly::Condition condition;
    bool exact;
  };

  std::optional<poly::Affine> compute(Expr expr);
  std::optional<poly::Affine> compute(Prim prim, Expr expr);
  poly::Affine define(Expr expr, poly::Condition condition, bool exact);
  poly::Condition when(Expr condition, bool truth, int& budget);

  std::unordered_map<const Node*, poly::Affine> values_;
  std::unordered_map<int, Definition> definitions_;  // by number of the term
  std::unordered_map<int, Expr> terms_;              // by number of the term
};

}  // namespace twill
