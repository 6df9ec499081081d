// How far floats may be off when values are regrouped, contracted or computed by another libm: a bound for
// every array of a program, from the magnitude of its inputs and the number of values that are combined.
//
// What is known about a number is abstract (Fact); a stage maps facts of what it reads to facts of what it
// defines. Loops are followed step by step, so a recurrence that amplifies errors shows.
#pragma once

#include "program/data.h"
#include "program/program.h"

#include <map>

namespace twill {

/// What is known about a number whatever the order of evaluation.
struct Fact {
  double magnitude = 0;  // it is at most this, in absolute value
  double error = 0;      // it differs from the interpreter's number by at most this
  bool integral = true;  // it is an integer, so that sums and products of small ones are exact
  friend bool operator==(const Fact&, const Fact&) = default;
};

/// Of the numbers that a value consists of, in order of their fields; one for a scalar.
using Facts = std::vector<Fact>;

class ErrorBounds {
 public:
  /// `sizes` are the largest values that size symbols have; one that is missing may be up to `unknown`, as
  /// may an extent that nothing bounds.
  ErrorBounds(const Program& program, std::map<SymbolId, std::int64_t> sizes, std::int64_t unknown = 64);

  /// What a scalar or record of a type can be without further knowledge.
  static Facts anything(const Type& type);
  static Facts of(const Data& data);

  void set(ArrayId array, Facts facts) { arrays_[array] = std::move(facts); }
  void set(SymbolId symbol, std::int64_t most) { sizes_[symbol] = most; }
  void set(DimId dim, std::int64_t low, std::int64_t high) {
    ranges_[dim] = {static_cast<double>(low), static_cast<double>(high)};
  }
  const Facts& operator[](ArrayId array) const { return arrays_.at(array); }
  bool knows(ArrayId array) const { return arrays_.contains(array); }

  /// Facts about the constants of the program.
  void constants();

  /// Derives facts about everything that a stage defines.
  void stage(const Stage& stage);

  /// Facts about an expression over arrays that are known.
  Facts of(Expr expr);

  /// The most iterations of a dimension.
  std::int64_t most(const Dim& dim);

  /// False once a condition, an index or an integer was found to depend on a float that may be off: then
  /// results can differ arbitrarily and mean nothing.
  bool decided() const { return decided_; }
  void forget_undecided() { decided_ = true; }

 private:
  struct Range {
    double low = 0, high = 0;
  };
  struct Frame {  // of one evaluation: arguments of a function, and what has been computed
    std::vector<Facts> arguments;
    std::map<const Node*, Facts> known;
  };

  Facts evaluate(Expr expr, Frame& frame);
  Facts compute(Expr expr, Frame& frame);
  Fact apply(Prim prim, Scalar type, const std::vector<Fact>& operands);
  Fact cast(const Fact& fact, Scalar from, Scalar to);
  Fact fold(Prim prim, Scalar type, const Fact& value, double count);
  Facts combine(const Operator& op, const Facts& values, double count);
  Facts output(const Stage& stage, const Output& output, const Facts& value);
  void block(const Block& block);
  Range range(Expr expr);

  const Program& program_;
  std::map<SymbolId, std::int64_t> sizes_;
  std::int64_t unknown_;
  std::map<ArrayId, Facts> arrays_;
  std::map<DimId, Range> ranges_;
  bool decided_ = true;
};

}  // namespace twill
