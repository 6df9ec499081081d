// The algebra of expressions as data: what may be written more simply, and when.
//
// Every rule is exact: for all values that its condition admits, both sides are the same number, bit by bit,
// and fail in the same cases. So there is no rule for 0.0 + x (it is not x for -0.0), none for x - x of
// floats (NaN), and none that compares a sum of integers (sums wrap around).
#pragma once

#include "program/program.h"

#include <array>
#include <optional>
#include <vector>

namespace twill {

/// One side of a rule.
struct Pattern {
  enum class Kind {
    Any,       // a variable: any expression; the same one wherever it stands
    Constant,  // a variable: a literal
    Number,    // this number, in the type of what it stands beside
    Apply,     // an operation; of one that commutes, the operands in any order
    Select,
    Cast,  // to the type of the whole, or to any type below
  };
  Kind kind = Kind::Any;
  int variable = 0;
  double number = 0;
  Prim prim = Prim::Add;
  std::vector<Pattern> args;
};

inline constexpr int pattern_variables = 5;  // x, y, z, c, d

/// What the variables of a pattern stand for.
using Match = std::array<Expr, pattern_variables>;

/// The types of x for which a rule holds. Signed: signed integers, and floats.
enum class Of { Integers, Floats, Numbers, Signed, Bools, Scalars, Anything };

struct Rule {
  Pattern from, to;
  Of of;
  /// Another condition on the expression that matched; null: none.
  bool (*when)(Expr root) = nullptr;
};

/// All rules. None of them grows an expression, and none undoes another.
const std::vector<Rule>& rules();

/// Is every value of the first type a value of the second?
bool loses_nothing(Scalar from, Scalar to);

/// The expression in a simpler form by one rule or several; the same one if there is none. Its operands have
/// to be in their simplest form already. `functions`: of the program, which tell what may fail.
Expr simplified(ExprPool& pool, Expr node, std::span<const Function> functions);

/// One side of a rule with variables replaced.
Expr instantiated(ExprPool& pool, const Pattern& pattern, const Match& match, const Type& type);

}  // namespace twill
