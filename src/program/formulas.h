// Expressions made ready for repeated evaluation, and the state they are evaluated in: the interpreter's
// scalar half.
//
// A value is a run of numbers, its leaves (see leaves_of): one for a scalar, several for a record. Every
// node has a home for its value in a frame. What is evaluated together is a list: all nodes that are
// needed whenever its root is, operands first. Operands that are needed only sometimes (the branches of a
// Select, the second operand of `and` and `or`, the fallback of a read) are roots of lists of their own. A
// node is evaluated at most once until `forget` is called.
#pragma once

#include "program/data.h"
#include "program/fault.h"
#include "program/program.h"

#include <optional>
#include <unordered_map>

namespace twill {

class Formulas;

/// The values of everything that expressions refer to.
struct Environment {
  explicit Environment(const Program& program);
  ~Environment();

  const Program& program;
  std::vector<Data> arrays;                        // by ArrayId
  std::vector<std::optional<std::int64_t>> sizes;  // by SymbolId
  std::vector<std::int64_t> indices;               // by DimId
  std::vector<const std::vector<bool>*> written;   // by ArrayId: of arrays that may be read while they are
                                                   // written, which elements are; null for others

  struct Body {
    std::unique_ptr<Formulas> formulas;
    int root;
  };
  std::vector<Body> functions;  // by FunctionId

  struct Active {
    const Stage* stage;
    std::size_t dims;  // how many of its dimensions have an index now
  };
  std::vector<Active> active;  // the stages around the current point, outermost first

  Data& operator[](ArrayId id) { return arrays[static_cast<std::size_t>(id.value)]; }
  std::int64_t& operator[](DimId id) { return indices[static_cast<std::size_t>(id.value)]; }

  /// For messages: the innermost stage, the indices around, and a place if the given one is nowhere.
  Where where(const Place& place) const;

  /// Applies a function of the program to the leaves of its arguments, one after the other.
  std::span<const Number> call(FunctionId function, std::span<const Number> arguments);
};

class Formulas {
 public:
  /// `parameters` are those of the function whose body is added.
  explicit Formulas(Environment& environment, std::span<const Parameter> parameters = {})
      : environment_(environment), parameters_(parameters) {}

  /// Makes an expression ready and returns its number.
  int add(Expr root);

  /// The value of an expression that was added; valid until the next evaluation after `forget`.
  std::span<const Number> value(int root);
  std::int64_t integer(int root) { return value(root)[0].i; }
  bool truth(int root) { return value(root)[0].i != 0; }

  /// Indices, sizes, arrays or arguments have changed.
  void forget() { ++now_; }

  /// The arguments of a function's body.
  void set_arguments(std::span<const Number> leaves) { arguments_.assign(leaves.begin(), leaves.end()); }

 private:
  struct Step {
    const Node* node;
    std::size_t home;               // of its first leaf in the frame
    std::vector<TypeLeaf> leaves;   // of its type
    std::vector<int> operands;      // steps
    std::size_t offset = 0;         // GetField: first leaf in the record; ArgRef: in the arguments
    std::vector<TypeLeaf> stored;   // Read: leaves of the array's element type
    std::size_t element_bytes = 0;  // Read
    std::vector<int> list;          // once it is a root: steps to do, in order
    bool is_root = false;
  };

  int step_of(Expr node);
  void make_root(int root);
  void run(int root);
  void execute(Step& step);
  void execute_read(const Step& step, const Read& read);
  std::optional<std::int64_t> position(const Step& step, const Read& read, const Data& data);
  void copy(int from, std::size_t first, std::size_t count, std::size_t to);

  Environment& environment_;
  std::span<const Parameter> parameters_;
  std::vector<Step> steps_;
  std::unordered_map<const Node*, int> numbers_;
  std::vector<std::uint64_t> done_;  // by step: when it was evaluated
  std::uint64_t now_ = 1;
  std::vector<Number> frame_;
  std::vector<Number> arguments_;
  std::vector<Number> scratch_;
};

/// a = op(a, b), on the leaves of two values.
void accumulate(Environment& environment, const Operator& op, std::span<Number> a, std::span<const Number> b);

}  // namespace twill
