// Scalar expressions: an immutable, hash-consed DAG.
//
// An expression is a value without a time: it says what a point of a stage yields, not when it is
// computed. Two equal expressions built in one pool are the same node, so equality is a pointer
// comparison and common subexpressions are found by construction. Because a node is not an
// evaluation, sharing never moves work across a guard: `Select`, `and`, `or` and an output's guard
// evaluate their guarded operands lazily, the interpreter by definition, and a back end may give a
// node a home outside its guard only if the node is total (see `is_partial`).
//
// Every node has a type; the pool's functions demand operands of the right type and never convert
// silently. Front ends apply the promotion rules of typing.h before they build.
#pragma once

#include "base/id.h"
#include "base/place.h"
#include "program/prim.h"
#include "program/type.h"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace twill {

using ArrayId = Id<struct ArrayTag>;
using DimId = Id<struct DimTag>;
using SymbolId = Id<struct SymbolTag>;
using FunctionId = Id<struct FunctionTag>;

struct Node;

/// A handle to a node of a pool; cheap to copy, null when default-constructed. Valid as long as the
/// pool lives (every Program keeps its pool alive).
class Expr {
 public:
  Expr() = default;
  explicit Expr(const Node* node) : node_(node) {}

  explicit operator bool() const { return node_ != nullptr; }
  const Node* operator->() const { return node_; }
  const Node& operator*() const { return *node_; }
  const Node* get() const { return node_; }

  friend bool operator==(Expr, Expr) = default;

 private:
  const Node* node_ = nullptr;
};

/// What a read does with a subscript outside of the array.
enum class Boundary : std::uint8_t {
  Inside,    // it never is: proven by the checker if affine, checked at run time if data
  Clamp,     // the nearest element
  Mirror,    // reflected, the edge element repeated: -1 reads 0, N reads N-1
  Wrap,      // modulo the extent
  Constant,  // the read yields the fallback value
  Checked,   // only in programs that are about to be emitted (with_run_time_checks): Inside, but not proven
};

// ---- the kinds of node; operands are in Node::args --------------------------------------------

struct Literal {
  Number value;
};  // no operands
struct IndexRef {
  DimId dim;
};  // the value of an iteration index, i64
struct SizeRef {
  SymbolId symbol;
};  // the value of a size symbol, i64
struct ArgRef {
  int position;
};                              // a parameter, inside a function body
struct Read {                   // args: one i64 subscript per dimension of the
  ArrayId array;                // array, then the fallback value if any
  std::vector<Boundary> rules;  // rule is Constant
};
struct Apply {
  Prim prim;
};                 // args: the operands
struct Select {};  // args: condition, then, else (lazy)
struct Cast {};    // args: value; converts to the node's type
struct Make {};    // args: one value per field of the node's type
struct GetField {
  int field;
};  // args: a record
struct Invoke {
  FunctionId function;
};  // args: the arguments

using NodeKind =
    std::variant<Literal, IndexRef, SizeRef, ArgRef, Read, Apply, Select, Cast, Make, GetField, Invoke>;

struct Node {
  NodeKind kind;
  Type type;
  std::vector<Expr> args;
  // Not part of the node's identity: where the node stands in the text. One that stands at several places,
  // perhaps inside of a guard and outside of it, has none; what holds it knows its own.
  mutable Place place;
  std::size_t hash;  // of kind, type and args
  int number;        // order of creation in its pool: operands have smaller numbers

  template <class K>
  const K* as() const {
    return std::get_if<K>(&kind);
  }
};

template <class K>
const K* as(Expr e) {
  return e ? e->as<K>() : nullptr;
}

/// Owns nodes and makes equal ones identical. Not thread-safe. Programs derived from one another
/// share their pool.
class ExprPool {
 public:
  ExprPool() = default;
  ExprPool(const ExprPool&) = delete;
  ExprPool& operator=(const ExprPool&) = delete;

  Expr literal(Number value, Place place = {});        // there is one NaN of each type
  Expr integer(std::int64_t value, Place place = {});  // an i64 literal
  Expr boolean(bool value, Place place = {});
  Expr index(DimId dim, Place place = {});
  Expr size(SymbolId symbol, Place place = {});
  Expr arg(int position, Type type, Place place = {});
  /// `element` is the array's element type; `fallback` is given exactly if a rule is Constant.
  Expr read(ArrayId array, Type element, std::vector<Expr> subscripts, std::vector<Boundary> rules,
            Expr fallback = {}, Place place = {});
  /// All subscripts with rule Inside.
  Expr read(ArrayId array, Type element, std::vector<Expr> subscripts, Place place = {});
  /// An operation on literals that has a value is that value, bit for bit what `evaluate` says, and of
  /// integers x+0, x-0, x*1, min(x, x) and max(x, x) are x and 0*x is 0: index expressions and sizes stay in a
  /// simple form, and there is one way to write a number. Nothing else is simplified here.
  Expr apply(Prim prim, std::vector<Expr> operands, Place place = {});
  Expr select(Expr condition, Expr then, Expr otherwise, Place place = {});
  /// The operand itself when it has the type already; literals are converted at once.
  Expr cast(Type to, Expr value, Place place = {});
  Expr make(Type record, std::vector<Expr> fields, Place place = {});
  /// Field of a Make is the operand itself.
  Expr field(Expr record, int field, Place place = {});
  Expr invoke(FunctionId function, Type result, std::vector<Expr> arguments, Place place = {});

  /// The same node with other operands (as the functions above would build it).
  Expr with_args(Expr node, std::vector<Expr> args);

  /// An expression of another pool, made of nodes of this one.
  Expr adopt(Expr root);

  std::size_t node_count() const { return nodes_.size(); }

 private:
  Expr intern(NodeKind kind, Type type, std::vector<Expr> args, Place place);

  std::vector<std::unique_ptr<const Node>> nodes_;
  std::unordered_multimap<std::size_t, const Node*> by_hash_;
};

/// Visits every node reachable from `root` once, operands before users.
void visit(Expr root, const std::function<void(Expr)>& action);

/// Visits nodes reachable from `root` once, users before operands; `enter` says whether to go on to the
/// operands of a node.
void descend(Expr root, const std::function<bool(Expr)>& enter);

/// Visits what is evaluated whenever `root` is, once: not what a condition may leave out.
void visit_surely(Expr root, const std::function<void(Expr)>& action);

/// Rebuilds bottom-up: `replace` may return a replacement (not visited further) or null to recurse.
/// Returns the same handle if nothing changed.
Expr rewrite(ExprPool& pool, Expr root, const std::function<Expr(Expr)>& replace);

/// Operations that may fail for some operands and therefore never leave their guard: integer division
/// and modulo by anything but a non-zero literal; `within`; reads that have a subscript under another rule than
/// Constant (data may point outside, the proof that an affine subscript is inside may rest on the guard,
/// and an empty array has no nearest element); calls of functions that contain such. Says it of the node
/// alone, not of its operands.
bool is_partial(Expr node, std::span<const struct Function> functions);

/// Is it a sum, a difference, a product or a negation?
bool is_sum_or_product(Expr node);

/// Does the expression (transitively) read an array?
bool reads_data(Expr root);

/// The value of a literal of type i64.
std::optional<std::int64_t> integer_of(Expr e);

}  // namespace twill
