// From C to loop nests: the functions of a file that have a `#pragma scop`. Not for users.
#pragma once

#include "import/c_clang.h"
#include "import/c_nest.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace twill::c {

/// A C file, before and after preprocessing.
struct SourceFile {
  std::string name;
  std::string text;          // as it was written
  std::string preprocessed;  // with line markers and pragmas
  std::string libclang;      // empty: the one of the system
};

/// All functions with a `#pragma scop`, in order; with a name, that function only. Throws Error with a place
/// in the C file for what is no loop nest.
std::vector<Nest> read_nests(const SourceFile& file, const std::string& function);

/// Lines of the preprocessed text, and where they come from.
class Lines {
 public:
  explicit Lines(const SourceFile& file);
  Place place(unsigned line, unsigned column, unsigned length) const;
  bool is_own(unsigned line) const {
    return line > 0 && line <= lines_.size() && lines_[line - 1].original > 0;
  }

  struct Region {
    unsigned begin = 0, end = 0;  // offsets; end 0: the pragma that ends it is missing
    unsigned line = 0;
  };
  const std::vector<Region>& regions() const { return regions_; }
  /// The line of a pragma that ends a region where none has begun; 0: there is none.
  unsigned stray_end() const { return stray_end_; }

 private:
  struct Line {
    unsigned original = 0;  // 0: of another file
    std::string text;
  };
  std::shared_ptr<const SourceText> source_;
  std::vector<std::string> written_;
  std::vector<Line> lines_;
  std::vector<Region> regions_;
  unsigned stray_end_ = 0;
};

/// Reads one function.
class Reader {
 public:
  Reader(const Clang& clang, const Lines& lines) : clang_(clang), lines_(lines) {}

  Nest function(CXCursor cursor, const Lines::Region& region);

 private:
  struct Variable {
    enum class Kind { Array, Param, Index, Name } kind = Kind::Array;
    int id = -1;  // of the array or parameter
    Tree value;   // Index: what it is in terms of the loop's own index; null outside of its loop. Name: what
                  // it stands for
  };

  [[noreturn]] void refuse(const char* code, CXCursor at, const std::string& message,
                           const std::string& help = {}, bool limit = true) const;
  Place place(CXCursor cursor) const;
  std::optional<Scalar> scalar(CXType type) const;
  Variable* find(CXCursor reference);
  std::string source(CXCursor cursor) const;

  // ---- declarations (c_read.cpp)
  void parameter(CXCursor cursor);
  void declare(CXCursor cursor, std::vector<Item>& items);
  void declare_variable(CXCursor cursor, std::vector<Item>& items);
  void check_storage(CXCursor variable) const;
  void find_assigned(CXCursor body);
  std::vector<Tree> shape(CXCursor cursor);
  void find_sizes();

  // ---- arrays (c_read_arrays.cpp)
  void find_extents();
  void check_aliases() const;

  // ---- statements (c_read_statement.cpp)
  void statement(CXCursor cursor, std::vector<Item>& items);
  void branch(CXCursor cursor, std::vector<Item>& items);
  bool assigns(CXCursor at, unsigned key) const;
  bool counted_while(CXCursor cursor, std::vector<Item>& items);
  void while_loop(CXCursor cursor, std::vector<Item>& items, bool first_then_test);
  void assign(CXCursor target, const std::string& op, CXCursor value, CXCursor at, std::vector<Item>& items);
  void step(CXCursor cursor, const std::string& op, CXCursor target, std::vector<Item>& items);
  void add(Assign assign, std::vector<Item>& items);

  /// Scalars inside of a while loop, in terms of what they are before a step; null outside of one.
  struct States;
  Tree state_of(int array) const;

  // ---- loops (c_read_loop.cpp; c_read_bounds.cpp: how far they reach)
  struct LoopHead {
    unsigned key = 0;  // of the variable that counts
    std::string name;
    Scalar type = Scalar::I32;
    Tree first;           // its first value
    std::int64_t by = 0;  // what is added in every step
  };
  void loop(CXCursor cursor, std::vector<Item>& items);
  LoopHead loop_start(CXCursor start);
  std::int64_t loop_step(CXCursor advance, const LoopHead& head);
  unsigned changed_by(CXCursor part) const;
  std::vector<CXCursor> operands(CXCursor cursor, const std::string& op) const;
  /// `i < bound`, with the variable to the left.
  struct LoopEnd {
    std::string op;
    Tree bound;
  };
  bool stays_in_type(const LoopEnd& end, const LoopHead& head) const;
  LoopEnd loop_end(CXCursor test, const LoopHead& head);
  std::vector<Tree> among(const Tree& tree, const std::string& word) const;
  Tree loop_range(const std::vector<CXCursor>& tests, const LoopHead& head, int id);
  bool mentions(CXCursor at, unsigned key) const;
  void open(int loop, const Tree& value, Scalar type);
  void close();
  bool is_variable(CXCursor cursor, unsigned key) const;
  void check_bounds_stay(const std::vector<Item>& body, int loop, CXCursor cursor);

  // ---- expressions (c_read_expr.cpp)
  Tree expression(CXCursor cursor);
  Tree reference(CXCursor cursor);
  Tree literal(CXCursor cursor);
  Tree unary(CXCursor cursor);
  Tree binary(CXCursor cursor);
  Tree call(CXCursor cursor);
  Tree subscript(CXCursor cursor);

  // ---- calls of functions of the same text (c_read_call.cpp)
  struct Callee;
  Callee callee(CXCursor call) const;
  void bind(const Callee& callee, CXCursor call, std::vector<Item>* items);
  bool is_seen_alike(CXCursor parameter, const Array& array);
  Tree name_for(const Tree& value);
  Tree inlined(CXCursor call);
  void inline_statement(CXCursor call, std::vector<Item>& items);
  Tree value_of(const std::vector<CXCursor>& statements, Scalar type, CXCursor call);
  Tree operate(const std::string& op, Tree a, Tree b, CXCursor cursor);
  std::string binary_operator(const std::vector<CXCursor>& parts) const;
  CXCursor plain(CXCursor cursor) const;  // without parentheses and implicit conversions
  std::optional<std::int64_t> constant(CXCursor cursor);
  /// The element that an expression names.
  struct Element {
    int array = -1;
    std::vector<Tree> at;
  };
  std::optional<Element> element(CXCursor cursor);
  Tree index(CXCursor cursor, int array);

  // ---- types of integers (c_read_convert.cpp)
  /// What holds where the reader is: loops, guards, and what types say about arguments and indices.
  poly::Condition facts() const;
  bool is_never_negative(const poly::Affine& value) const;
  /// Whether a type holds this value, wherever the reader is.
  bool fits(const poly::Affine& value, Scalar type) const;
  static poly::Condition range_of_type(const poly::Affine& value, Scalar type);
  /// An affine form that is equal to the tree's value modulo 2^(8 bytes).
  std::optional<poly::Affine> modulo(const Tree& tree, int bytes) const;
  /// As C converts; marked as exact if that is known.
  Tree convert(const Tree& tree, Scalar to) const;
  /// An unsigned sum, difference or product as an exact one, if it is known not to wrap around.
  Tree wrap(const Tree& tree) const;
  /// The value of an integer with 64 bits.
  Tree widen(const Tree& tree) const;
  /// The same for a number that is known not to be negative, as subscripts and extents are: one that wraps
  /// around to less than zero, or from there to far beyond all arrays, is undefined in C.
  Tree position(const Tree& tree) const;
  /// The same for the ends of a loop. What has wrapped around to 2^63 or more is, as a lower end, more than
  /// any upper one; no loop reaches it as an upper end.
  Tree lower_end(const Tree& tree) const;
  Tree upper_end(const Tree& tree) const;
  /// Whether two integers are the same, whatever their types.
  bool is_same_value(const Tree& a, const Tree& b) const;
  /// Whether types change a value in it.
  bool is_converted(const Tree& tree) const;
  /// Whether an index that is not affine depends on data, on a choice or on such a type, and is not just a
  /// product.
  bool is_found_when_running(const Tree& tree) const;
  /// Two integers or floats, compared in their common type.
  Tree compare(const std::string& op, const Tree& a, const Tree& b, Scalar type, const Place& at) const;

  const Clang& clang_;
  const Lines& lines_;
  Nest nest_;
  std::map<unsigned, Variable> variables_;  // by the offset of their declaration
  std::map<unsigned, CXCursor> assigned_;   // scalars that are assigned somewhere
  std::vector<int> open_loops_;
  std::vector<poly::Condition> open_ranges_;  // of the variables of open loops, by their types
  std::vector<Tree> guards_;
  States* states_ = nullptr;
  std::vector<unsigned> open_calls_;                   // of which functions: where their definitions are
  std::vector<std::pair<int, Tree>>* lets_ = nullptr;  // values of a call that have names
};

}  // namespace twill::c
