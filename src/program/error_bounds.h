// How far floats may be off when values are regrouped, contracted or computed by another libm: the one model
// of rounding errors, for `--verify`, for the fuzzer and for benchmarks.
//
// What is known about a number is abstract (Fact); a stage maps facts of what it reads to facts of what it
// defines. Facts are about all elements of an array at once. Loops are followed step by step, so a recurrence
// that amplifies errors shows. Where the interpreter has shown which values an array takes, the facts are
// kept within them: a bound is then about these inputs, not about all.
#pragma once

#include "program/data.h"
#include "program/program.h"

#include <limits>
#include <map>

namespace twill {

/// What is known about a number whatever the order of evaluation. The errors are bounds on its distance from
/// the interpreter's number; both hold.
struct Fact {
  double low = 0, high = 0;  // the interpreter's number lies between these …
  double least = 0;          // … and its absolute value is at least this
  double error = 0;          // absolute
  double relative = 0;       // to the interpreter's number; infinite: not known
  bool integral = true;      // it is an integer, so that sums and products of small ones are exact
  double scale = 0;          // of a sum: the largest magnitude of its terms, which may cancel
  double terms = 0;          // so many values, at most, were combined one after the other on the way to it
  double unit = 0;           // the coarsest rounding on the way to it

  double magnitude() const;
  /// A number of which only the largest magnitude is known.
  static Fact up_to(double magnitude, double error, bool integral);
  /// Is the same known about the number? How it came about does not count.
  friend bool operator==(const Fact& a, const Fact& b) {
    return a.low == b.low && a.high == b.high && a.least == b.least && a.error == b.error &&
           a.relative == b.relative && a.integral == b.integral;
  }
};

/// Of the numbers that a value consists of, in order of their fields; one for a scalar.
using Facts = std::vector<Fact>;

/// How far apart two evaluations of one operation on the same operands may be, relative to the result: each
/// is off by half of this.
double rounding(Scalar type);

/// What a sum of so many numbers is likely to be off, relatively, when it is added up in any order: roundings
/// are as often up as down, so they grow with the square root. With one term: a few operations in a row. (The
/// bounds below are for certain: they assume that no two of them cancel.)
double likely_error(Scalar type, double terms);

/// The most that a number which many values are combined to, or that a recurrence leads to, may be off. The
/// bounds assume the worst of every step, and grow beyond all bounds. So, relative to the largest magnitude
/// of the number or of what it is the sum of, half of the digits have to agree in any case, unless so many
/// values are combined that a rounding of each amounts to more. What is computed from it may amplify the
/// error.
double plausible_error(const Fact& fact, Scalar type);

/// The distance from the interpreter's number that a fact allows a number of a type; where nothing is known
/// about it, half of the digits have to agree.
double allowed_error(const Fact& fact, Scalar type, double value);

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
  /// The size has this value throughout.
  void know(SymbolId symbol, std::int64_t value) { sizes_[symbol] = least_sizes_[symbol] = value; }
  /// About the floats that effects of a kind show.
  Fact shown(const std::string& kind) const;

  /// The interpreter has computed an array: facts about it are kept within the values that were seen. An
  /// array of a block is seen many times.
  void see(ArrayId array, const Data& data);

  /// Facts about the constants of the program.
  void constants();

  /// Facts about constants, inputs (those that are left out have their defaults) and all stages.
  void program(std::span<const Data> inputs);

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
  static void give_up(Facts& facts, const Type& type, bool early);
  Facts combine(const Operator& op, const Facts& values, double count);
  Facts output(const Stage& stage, const Output& output, const Facts& value);
  Facts within_seen(ArrayId array, Facts facts) const;
  void block(const Block& block);
  Range range(Expr expr);

  const Program& program_;
  std::map<SymbolId, std::int64_t> sizes_, least_sizes_;
  std::map<std::string, Fact> shown_;
  std::int64_t unknown_;
  std::map<ArrayId, Facts> arrays_;
  std::map<ArrayId, Facts> seen_;
  std::map<DimId, Range> ranges_;
  bool decided_ = true;
  double steps_ = 0;  // that were followed in all
};

}  // namespace twill
