// The loop nests of a C function, between `#pragma scop` and `#pragma endscop`, as a tree: what was read from
// C and is not yet a program. Not for users.
//
// Every loop counts upwards by one (loops that do not are rewritten when they are read), every condition has
// become a guard of the assignments below it, and scalars that are assigned are arrays without dimensions.
#pragma once

#include "base/place.h"
#include "poly/condition.h"
#include "program/type.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace twill::c {

struct Node;
using Tree = std::shared_ptr<const Node>;

enum class Kind : std::uint8_t {
  Number,  // number
  Index,   // the index of loop `id`
  Param,   // parameter `id`
  Read,    // element args of array `id`; `version`: which version of it, once that is known
  Apply,   // op ( args ): an operator or a function; comparisons, "and", "or" and "not" are bool
  Cast,    // args[0] converted to `type`; op "exact": which is known to keep its value
  Choose,  // if args[0] then args[1] else args[2]
  Reduce,  // args[1] folded with `op` over `loops`, where args[0] (may be null) holds
  While,   // state `id` after a loop (`loop`)
  Local,   // the name `id` of a Let, or a state inside of a While
  Let,     // let local `id` = args[0] in args[1]
};

/// A while loop over scalars: as long as the condition holds, the states become their next values.
struct WhileLoop {
  std::vector<int> locals;         // by which the condition and the next values see the states
  std::vector<std::string> names;  // of the variables, for people
  std::vector<Tree> first, next;
  Tree condition;
};

struct Node {
  Kind kind = Kind::Number;
  Scalar type = Scalar::I32;
  Place place = {};
  Number number = {};
  int id = -1;
  int version = -1;
  std::string op = {};
  std::vector<Tree> args = {};
  std::vector<int> loops = {};
  std::shared_ptr<const WhileLoop> loop = {};
};

/// A scalar argument that nothing assigns to. A size stands alone as an extent of an array argument, so the
/// shapes of the data tell what it is.
struct Param {
  std::string name;
  Scalar type = Scalar::I32;
  bool is_size = false;
  Place place;
};

struct Array {
  std::string name;
  Scalar type = Scalar::F64;
  std::string c_type;        // of an element of an argument, as it was written
  std::vector<Tree> shape;   // of parameters and numbers; a null one (the first only) is found from its uses
  bool is_argument = false;  // the caller's memory
  bool is_value = false;  // a scalar argument that is assigned: the caller's value at first, then a local one
  bool is_const = false;
  bool is_pointer = false;   // declared as a pointer …
  bool is_restrict = false;  // … that nothing else leads to
  int param = -1;            // is_value: the parameter it starts as
  Place place;
};

struct Loop {
  std::string name;
  Tree lo, hi;  // lo <= index < hi; the largest, or the smallest, of several
  Place place;
};

struct Assign {
  int array = -1;
  std::vector<Tree> at;
  Tree value;
  Tree guard;  // bool; null: always
  Place place;
};

struct For;
using Item = std::variant<Assign, std::shared_ptr<For>>;
struct For {
  int loop = -1;
  std::vector<Item> body;
};

/// A function with its loop nests.
struct Nest {
  std::string name;
  std::string prototype;  // as it was written, without its body
  Place place;
  struct Argument {
    bool is_array = false;
    int id = -1;  // of the array or parameter
    std::string c_type;
  };
  std::vector<Argument> arguments;  // in the order of the C function
  std::vector<Param> params;
  std::vector<Array> arrays;
  std::vector<Loop> loops;
  std::vector<Item> items;
  int locals = 0;  // names given out so far

  int add_loop(Loop loop) {
    loops.push_back(std::move(loop));
    return static_cast<int>(loops.size()) - 1;
  }
  int add_array(Array array) {
    arrays.push_back(std::move(array));
    return static_cast<int>(arrays.size()) - 1;
  }
  Loop& loop(int id) { return loops[static_cast<std::size_t>(id)]; }
  const Loop& loop(int id) const { return loops[static_cast<std::size_t>(id)]; }
  Array& array(int id) { return arrays[static_cast<std::size_t>(id)]; }
  const Array& array(int id) const { return arrays[static_cast<std::size_t>(id)]; }
};

// ---- making trees ---------------------------------------------------------------------------------------

Tree make(Node node);
Tree integer(std::int64_t value, const Place& place = {}, Scalar type = Scalar::I64);
Tree number(Number value, const Place& place = {});
Tree index_of(int loop, const Place& place = {});
Tree read_of(const Nest& nest, int array, std::vector<Tree> at, const Place& place);
/// Sums, differences and products of integers that are known are done at once.
Tree apply(std::string op, std::vector<Tree> args, Scalar type, const Place& place = {});
Tree cast(Tree tree, Scalar type);
/// The same, where the value is known to stay what it is.
Tree exactly(Tree tree, Scalar type);
/// Whether an integer type holds all numbers of another one.
bool keeps(Scalar from, Scalar to);
/// A conversion between integers that keeps every value it has.
bool is_exact(const Tree& tree);
Tree choose(Tree condition, Tree a, Tree b);
/// Both conditions; null is "always".
Tree both(const Tree& a, const Tree& b);
Tree negated(const Tree& condition);
/// A condition from what C takes for one.
Tree truth(const Tree& tree);

bool is_number(const Tree& tree, double value);
bool is_comparison(const std::string& op);

// ---- looking at trees -----------------------------------------------------------------------------------

bool same(const Tree& a, const Tree& b);
bool same(const std::vector<Tree>& a, const std::vector<Tree>& b);

/// Every node, outermost first, while loops and bounds of folds included.
void visit(const Nest& nest, const Tree& tree, const std::function<void(const Tree&)>& action);
bool mentions_loop(const Nest& nest, const Tree& tree, int loop);
bool reads_array(const Nest& nest, const Tree& tree, int array);

/// Rebuilds a tree: where `change` returns a tree that takes the place of the node, elsewhere (null) the
/// parts are rebuilt.
Tree rewrite(const Tree& tree, const std::function<Tree(const Tree&)>& change);
Tree replace_index(const Tree& tree, int loop, const Tree& by);
/// The same in the bounds of folds as well, which get loops of their own for it.
Tree rename_index(Nest& nest, const Tree& tree, int loop, const Tree& by);

// ---- integers ---------------------------------------------------------------------------------------------

poly::Var var_of_loop(int loop);
poly::Var var_of_param(const Nest& nest, int param);

/// The tree as an affine form of indices and parameters; nothing if it is none.
std::optional<poly::Affine> affine_of(const Nest& nest, const Tree& tree);
/// An affine form as a tree; null if it has divisions.
Tree tree_of(const Nest& nest, const poly::Affine& affine, const Place& place);
/// The tree's affine form as a tree; the tree itself if it has none.
Tree tidy(const Nest& nest, const Tree& tree);
/// What a condition says for certain where it holds; `exact`: and nothing is lost.
struct Known {
  poly::Condition condition;
  bool exact = true;
};
Known condition_of(const Nest& nest, const Tree& tree);
/// The range of a loop as far as it is affine.
Known range_of(const Nest& nest, int loop);

/// As C, for messages: "A[i][j-1]".
std::string to_c(const Nest& nest, const Tree& tree);
std::string element_text(const Nest& nest, int array, const std::vector<Tree>& at);

}  // namespace twill::c
