// Nest: the loops, buffers and statements that a schedule becomes. Target-neutral, immutable once built.
//
// Expressions are those of the program (program/expr.h) over a copy of its tables that has grown: loop
// variables and integer locals are dimensions (IndexRef), accumulators and buffers are arrays (an array of
// rank 0 is a local variable), `workers` is a size symbol. So a printer needs to know one kind of expression.
#pragma once

#include "plan/elaborate.h"

#include <iterator>
#include <map>
#include <set>
#include <variant>

namespace twill::nest {

struct Statement;
using Code = std::vector<Statement>;

/// The code below belongs to this stage.
struct Remark {
  std::string stage;
  std::string place;
};

/// An integer that does not change any more.
struct Let {
  DimId name;
  Expr value;
};

/// Declares a local: a variable (rank 0) or a small array with literal shape. `init` may be null.
struct Local {
  ArrayId array;
  Expr init;
};

/// Memory of the array's size from the host; `keep`: it outlives the kernel (a result of born size).
struct Allocate {
  ArrayId array;
  bool keep = false;
};
struct Free {
  ArrayId array;
};
/// Declares an array that gets its memory in one of several places: what is allocated there for it, or for an
/// array that lives in its memory, is known outside of them as well.
struct Await {
  ArrayId array;
};

/// array[at] = value, or array[at] = op(array[at], value).
struct Put {
  ArrayId array;
  std::vector<Expr> at;
  Expr value;
  std::optional<Operator> op;
  /// By subscript, or empty: may it be outside of the array? Then nothing is stored, and the run fails.
  std::vector<bool> checked = {};
};

/// A variable that every worker (or SIMD lane) has a copy of, combined when the loop ends.
struct Reduction {
  ArrayId variable;
  Operator op;
};

struct For {
  DimId index;
  Expr lo{}, hi{};  // hi exclusive
  std::int64_t step = 1;
  bool down = false;      // from hi - 1 to lo
  By by = By::Seq;        // Seq, Simd or Core
  Expr enough{};          // Core: the other workers are woken only if this holds; null: always
  int unroll = 1;         // Seq: the compiler is asked to write out so many iterations
  bool in_turns = false;  // Core: the workers take one after the other, not each its own part of the range
  bool learns = false;    // Seq: it runs once more; this time, only what it folds is wanted
  std::vector<Reduction> reductions{};
  Code body{};
};

struct While {
  Expr condition;
  Code body;
};
struct If {
  Expr condition;
  Code then, otherwise;
};

/// Inside of `body` these extents are known to be positive, because the loops there would not run otherwise.
struct Within {
  std::vector<Expr> positive;
  Code body;
};

/// Inside of a strip from `strip` to `end`, `view`[k] stands for array[at[0], …, at[last] + k],
/// 0 <= k < end - strip. If the array has at least `stream_above` bytes, the elements are collected and
/// written past the caches.
struct Window {
  ArrayId view, array;
  std::vector<Expr> at;  // of the strip's first element
  std::int64_t stream_above;
};

/// A range from `lo` to `hi` in strips of at most `capacity` indices. They end where a cache line of the
/// first window's array ends, if there is one, so that no line is written by two strips.
struct Strips {
  DimId strip, end;  // of the current one
  Expr lo{}, hi{};
  std::int64_t capacity = 0;
  std::vector<Window> windows{};
  Code body{};
};

/// Brings elements of an array that has at least `above` bytes into the caches: `count` of them, from `at`
/// on.
struct Fetch {
  ArrayId array;
  std::vector<Expr> at;
  Expr count;
  std::int64_t above;
};

/// Declares an array that is another one: `a` if the condition holds, else `b`.
struct Choose {
  ArrayId array;
  Expr condition;
  ArrayId a, b;
};

/// Exchanges the memory of two arrays of equal shape.
struct Swap {
  ArrayId a, b;
};

/// All elements of `from` to `to`, which have equal shapes.
struct Copy {
  ArrayId to, from;
};

/// Declares a size that is born at run time, and sets it.
struct Born {
  SymbolId symbol;
};
struct SetSize {
  SymbolId symbol;
  Expr value;
};

/// A buffer that grows: `array` has rank 1 and `length` (an i64 variable) counts its elements.
struct Growable {
  ArrayId array, length;
};
struct Push {
  ArrayId array, length;
  Expr value;
};

/// A table from keys to numbers 0, 1, … in order of first occurrence. `keys` and `count` are Growable.
struct Table {
  ArrayId table, keys, count;
};
/// number = the key's number in the table; a new key gets the next one, and then `if_new` happens.
struct Lookup {
  ArrayId table, keys, count;
  Expr key;
  ArrayId number;
  std::vector<Push> if_new;
};

/// Puts a growable buffer (or a table, whose length is its own) away for the code after a loop over parts: it
/// says where the memory is, and how long, in elements `at` and `at` + 1 of `shelf`, which are i64.
struct Shelve {
  ArrayId array, length;
  ArrayId shelf;
  Expr at;
};
/// Declares a buffer or a table that was put away. `length` may be null; only a buffer that `grows` is pushed
/// to.
struct Unshelve {
  ArrayId array, length;
  ArrayId shelf;
  Expr at;
  bool grows = false;
};

/// Hands an effect to the host.
struct Perform {
  Effect effect;
};

/// Leaves the kernel with an error if a check failed so far.
struct Stop {};

/// Fails the run if the condition does not hold; the text says why.
struct Require {
  Expr condition;
  std::string text;
};

struct Statement {
  std::variant<Remark, Let, Local, Allocate, Free, Await, Put, For, While, If, Within, Strips, Fetch, Choose,
               Swap, Copy, Born, SetSize, Growable, Push, Table, Lookup, Shelve, Unshelve, Perform, Stop,
               Require>
      kind;
};

/// Adds code behind other code.
inline void append(Code& code, Code more) {
  code.insert(code.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

/// Memory for a part of an array: the elements from `origin` on (null: from 0 on), `extents` of them along
/// each dimension. In a ring, whose extent is a power of two, the element with index i lies at i modulo the
/// extent.
struct Box {
  std::vector<Expr> origin, extents;
  int ring = -1;  // the dimension, or -1
};

/// The whole kernel.
struct Nest {
  std::shared_ptr<Program> program;  // with the grown tables
  SymbolId workers;
  std::vector<ArrayId> results;  // one per result of the program, all different
  std::set<ArrayId> born;        // those whose size is only known at run time: the kernel allocates them
  std::map<ArrayId, ArrayId> memory_of;  // arrays that live in the memory of another one
  std::map<ArrayId, Box> boxes;          // arrays of which only a part has memory
  Code body;

  /// The array in whose memory this one lives in the end: often itself.
  ArrayId memory(ArrayId array) const;
};

}  // namespace twill::nest

namespace twill {

/// Never fails: what could be illegal was refused by `elaborate`.
nest::Nest build_nest(const Schedule& schedule);

/// Loops as indented pseudo code for people (`twill show --as loops`).
std::string print_loops(const nest::Nest& nest);

}  // namespace twill
