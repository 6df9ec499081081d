// Program: what is computed, without a word about how.
//
// A program is a list of stages in dependence order over arrays. An array is a value: it is an
// input, a constant or one output of one stage, and never changes. Names are for people; everything
// refers to arrays, dimensions and size symbols by id, unique in the whole program including the
// blocks nested in its stages.
//
// Meaning of a stage. Its dimensions, outermost first, span the domain: all points with
// lo <= index < hi, where the bounds of a dimension may use the indices of the dimensions before
// it. The points are visited in lexicographic order (a right scan runs its dimension backwards).
// At each point, each output whose guard holds yields its value, and the output's combines, one
// per dimension, say what becomes of it:
//
//   Cat      the value belongs to the index: the index takes part in the write map
//   Fold     values are folded with an operator, from the left, starting with its identity
//   Scan     the running (inclusive) fold up to the index, from the left or from the right
//   Append   every value that passes the guard is appended, in order of the domain
//   Scatter  the value goes to an element that data choose; collisions meet in the operator, or the
//            last one in order wins
//   Group    the value joins the bucket of its key; buckets are ordered by first occurrence
//   Seq      in order; the stage may read what it wrote at earlier points, or carries a state
//
// What shapes of combine an output may have (the checker enforces it):
//   dense    any of Cat, Fold, Scan, Scatter, Seq; write map `at` has one subscript per dimension of
//            the array. Several Fold dimensions with different operators nest: the inner fold is
//            complete before the outer one takes it; then Cat dimensions come first. Fold dimensions
//            come after (inside) Scan and Seq dimensions. Fold and Scatter dimensions that follow each
//            other with the same operator (Cat and Seq dimensions between them do not count) act as one:
//            every value goes straight into the accumulator of the outermost.
//   append   Cat* Append+ : without Cat a flat array of born length; with Cat a nested collection,
//            values plus offsets (row r, in row-major order of the Cat indices, is
//            values[offsets[r] .. offsets[r+1]])
//   group    Group+ : keys, offsets and values; with an operator: keys and one folded value per key
//
// A born length (of append and group) is a size symbol that the stage defines: the extent of values (append),
// of keys and of values (group). Outputs of one stage with equal guards may share it: appends without rows,
// and groups with the same key, of which the first has the keys (buckets.h). A stage without dimensions that
// chooses between two blocks defines sizes as well, where these disagree about an extent (choice.h).
//
// A stage with a Seq dimension that reads its own output sees the current version: the array it is `into`,
// overwritten by all earlier points. The element must have been written by an earlier point or be given
// by `into`. A block runs before the stage's own expressions (guard, key, subscripts, values, effects),
// which may read its arrays; its stages see the current version too, as the point finds it. One output has at
// most one Scan dimension, or runs: a Scan of all dimensions, from the left and with one operator that has an
// identity, into a single value is a running value. It has no memory and is nothing outside of its stage; the
// outputs after it, and the effects, read what it is with their own point. Extents below zero count as zero.
// The order of the stages is also the order of their effects.
//
// Where a guard fails, a Cat, Seq, Append or Group yields nothing, a Fold leaves its accumulator as it is
// (an inner fold of nothing still hands its identity to the outer one), and a Scan repeats its running
// value.
#pragma once

#include "program/expr.h"

#include <optional>

namespace twill {

// ---- operators and functions -------------------------------------------------------------------

struct Parameter {
  std::string name;
  Type type;
};

/// A scalar function. Its body uses ArgRef only (no reads, no indices) and may call functions that
/// come before it in the program's table.
struct Function {
  std::string name;
  std::vector<Parameter> parameters;
  Type result;
  Expr body;
  Place place;
};

/// What folds, scans, scatters and groups combine with: a built-in operation (Add, Mul, Min, Max,
/// And, Or, BitAnd, BitOr, Xor) or a user's function of two values of one type.
struct Operator {
  Type type;                 // of both operands and the result: the accumulator's type
  std::optional<Prim> prim;  // built in …
  FunctionId function;       // … or the user's
  Expr identity;             // null: has none, and folding nothing is an error at run time
  bool associative = false;  // declared by the user; built-in ones are
  bool commutative = false;

  friend bool operator==(const Operator&, const Operator&) = default;
};

// ---- arrays --------------------------------------------------------------------------------------

struct Symbol {
  enum class Origin { Input, Born };  // bound by the shapes of inputs, or by a stage
  SymbolId id;
  std::string name;
  Origin origin = Origin::Input;
};

struct Array {
  ArrayId id;
  std::string name;
  Type type;
  /// i64 expressions over size symbols and rank-0 arrays that are defined earlier; rank 0: a scalar.
  /// A negative extent means 0: the array is empty.
  std::vector<Expr> shape;
  Place place;

  int rank() const { return static_cast<int>(shape.size()); }
};

struct Input {
  ArrayId array;
  std::optional<Number> fallback;  // default of a scalar input
};

/// An array whose elements are written in the program.
struct Constant {
  ArrayId array;
  std::vector<Number> elements;  // row-major; scalars only; shape is literal
};

// ---- stages ---------------------------------------------------------------------------------------

struct Dim {
  DimId id;
  std::string name;
  Expr lo;         // i64: literals, symbols, outer indices, and reads (data extents)
  Expr hi;         // exclusive; hi < lo is an empty range. Null: only `condition` ends the loop
  Expr condition;  // of a while loop (a Seq dimension with carries): evaluated on the carried state before
                   // every step; the loop ends when it fails. Null: not a while loop
  Place place;
};

enum class Direction : std::uint8_t { Left, Right };  // scan from the left or from the right

struct Cat {
  friend bool operator==(const Cat&, const Cat&) = default;
};
struct Fold {
  Operator op;
  friend bool operator==(const Fold&, const Fold&) = default;
};
struct Scan {
  Operator op;
  Direction from = Direction::Left;
  friend bool operator==(const Scan&, const Scan&) = default;
};
struct Append {
  friend bool operator==(const Append&, const Append&) = default;
};
struct Scatter {
  std::optional<Operator> op;
  friend bool operator==(const Scatter&, const Scatter&) = default;
};
struct Group {
  std::optional<Operator> op;
  friend bool operator==(const Group&, const Group&) = default;
};
/// `last`: only the final state is kept, and the index does not take part in the write map.
struct Seq {
  bool last = false;
  friend bool operator==(const Seq&, const Seq&) = default;
};

using Combine = std::variant<Cat, Fold, Scan, Append, Scatter, Group, Seq>;

struct Output {
  ArrayId array;                   // the values
  std::vector<Combine> combine;    // one per dimension of the stage
  std::vector<Expr> at;            // dense: the write map, one i64 subscript per dimension of `array`
  Expr value;                      // null: the result of the same position of the block
  Expr guard;                      // bool; null: always. A point whose guard fails yields nothing
  std::optional<ArrayId> into;     // dense: a new version of this array, unchanged where not written
  bool accumulates = false;        // with `into` and Fold (C += A·B) or Scatter with an operator: what is
                                   // there takes part as the first value. A Scatter with an operator
                                   // that is `into` always accumulates
  Expr key;                        // group: the key of the point, an integer, bool or record of these
  std::optional<ArrayId> offsets;  // append below Cat, and group without operator
  std::optional<ArrayId> keys;     // group; of several with the same buckets, the first
  bool force = false;              // materialise here, whatever the plan would prefer
  Place place;

  // Without `into`, a dense output must be written completely: no guard unless all its elements
  // still get a value (a fold starts from its identity, a scatter from its operator's identity, or
  // zero when it overwrites). An element of a fold is written if the domain has a point for it,
  // whatever the guard says (of folds with several operators, a point of the dimensions of the outermost
  // one; inside of a scan, a point of that); without Fold it is written if the guard holds.
};

/// Something the world can see. Effects of one kind happen in the order of the source program.
struct Effect {
  std::string kind;  // "print"
  std::vector<std::variant<std::string, Expr>> arguments;
  Expr guard;  // null: always
  Place place;
};

struct Stage;

/// State handed from step to step of a Seq dimension: `inside` is what the block reads, `init` is
/// its value before the first step (an array outside), `next` what the block computes for the next.
/// A stage whose block has carries has exactly one dimension, with Seq in all outputs; an output with
/// Seq{last} has a carry's `next` as its result and, after zero steps, that carry's `init` as its value.
struct Carry {
  ArrayId inside;
  ArrayId init;
  ArrayId next;
};

/// A nested program: sees the arrays and indices around it. `results`, one per output of the stage,
/// are arrays visible inside; with outer Cat dimensions the result's shape must not depend on their
/// indices, and its dimensions come after the stage's own in the output.
struct Block {
  std::vector<Carry> carries;
  std::vector<Stage> stages;
  std::vector<ArrayId> results;
};

struct Formula {};  // the values are in the outputs
struct Nested {
  std::shared_ptr<const Block> block;
};
struct Branch {
  Expr condition;
  std::shared_ptr<const Block> then, otherwise;
};  // condition: bool

using Body = std::variant<Formula, Nested, Branch>;

/// What the user knows better: `@never` fuse, `@always` fuse, `@recompute` rather than store, `@remember`
/// from step to step of the loop that reads it.
enum class Hint : std::uint8_t { Never, Always, Recompute, Remember };

struct Stage {
  std::string name;  // stable, unique in the program; plans refer to stages by it
  std::vector<Dim> dims;
  Body body;
  std::vector<Output> outputs;
  std::vector<Effect> effects;  // run at every point, after the outputs, in order
  std::vector<Hint> hints;
  Place place;
};

// ---- the program ------------------------------------------------------------------------------------

/// A program that passed `check` (check.h) is well-formed; everything downstream relies on it.
struct Program {
  std::string name;
  std::shared_ptr<ExprPool> pool = std::make_shared<ExprPool>();
  std::vector<Symbol> symbols;         // by SymbolId
  std::vector<Array> arrays;           // by ArrayId: inputs, constants, outputs, carried states
  std::vector<std::string> dim_names;  // by DimId
  std::vector<Function> functions;     // by FunctionId
  std::vector<Input> inputs;
  std::vector<Constant> constants;
  std::vector<Stage> stages;     // in dependence order
  std::vector<ArrayId> results;  // at least one, unless the program has effects
  bool strict = false;           // floats are not reassociated or contracted, functions are libm's
  Place place;

  const Array& operator[](ArrayId id) const { return arrays[static_cast<std::size_t>(id.value)]; }
  const Symbol& operator[](SymbolId id) const { return symbols[static_cast<std::size_t>(id.value)]; }
  const Function& operator[](FunctionId id) const { return functions[static_cast<std::size_t>(id.value)]; }

  // Tables grow through these, so that ids and positions agree.
  ArrayId add_array(std::string name, Type type, std::vector<Expr> shape, Place place = {});
  SymbolId add_symbol(std::string name, Symbol::Origin origin);
  DimId add_dim(std::string name);
  FunctionId add_function(Function function);
};

// ---- questions about programs ------------------------------------------------------------------------

/// Arrays that an output defines, in order: values, offsets, keys.
std::vector<ArrayId> defined_arrays(const Output& output);

/// The blocks of a stage: none, one, or two for a branch.
std::vector<const Block*> blocks_of(const Stage& stage);

/// The operator of a combine, if it has one.
const Operator* operator_of(const Combine& combine);

/// Is it a running value, which only its own stage knows?
bool is_running(const Output& output);

/// Does the output run over this dimension from the right?
bool scans_from_right(const Output& output, std::size_t dim);
/// Does the output, or one of a stage, run over a dimension from the right?
bool runs_from_right(const Output& output);
bool runs_from_right(const Stage& stage);

/// Every expression a stage holds directly (bounds, conditions, values, guards, keys, subscripts of
/// write maps, effects' arguments, the branch condition); operators' identities, which are constant, and
/// nested blocks are not entered.
void for_each_expr(const Stage& stage, const std::function<void(Expr)>& action);

/// Arrays a stage reads, including those read inside its blocks but defined outside of it, its
/// carries' initial states, `into` targets and scalars in the shapes of the arrays it defines; in order
/// of first mention. Its own outputs (a Seq stage reading its past) are not listed.
std::vector<ArrayId> reads_of(const Program& program, const Stage& stage);
/// Is the array one of these?
bool needs(const Program& program, const Stage& stage, ArrayId array);

/// Does an expression of the stage, or of a stage in its blocks, read the array? Its own outputs count.
bool reads(const Stage& stage, ArrayId array);

/// Every stage including nested ones, outermost first.
void for_each_stage(std::span<const Stage> stages, const std::function<void(const Stage&)>& action);

/// True if some effect happens in the stage or in its blocks.
bool has_effects(const Stage& stage);

template <class C>
bool is(const Combine& combine) {
  return std::holds_alternative<C>(combine);
}

/// "cat", "fold", "scan", …
std::string_view name_of(const Combine& combine);

/// Same program up to ids, places and pools: names, types, shapes, stages and expressions agree. What
/// nothing refers to (an unused function in the table, say) does not count.
bool same(const Program& a, const Program& b);

}  // namespace twill
