// From the syntax tree to programs. `Vocabulary` is what a file declares (types, functions, operators);
// `Lowering` builds the program of one definition. Its methods are spread over text_lower_*.cpp:
// expressions, indices, definitions, collections, statements, calls.
#pragma once

#include "base/error.h"
#include "program/program.h"
#include "program/text_ast.h"
#include "program/typing.h"

#include <map>
#include <set>

namespace twill::text {

/// Thrown where an error that was reported already makes going on pointless.
struct Silent {};

/// An operator by name: built in, or declared by the user.
struct DeclaredOperator {
  FunctionId function;
  std::optional<Prim> prim;
  std::optional<Type> type;  // of a user's operator
  Expr identity;
  bool associative = false, commutative = false;
};

/// What the declarations of a file mean, in expressions of one pool.
struct Vocabulary {
  std::shared_ptr<ExprPool> pool = std::make_shared<ExprPool>();
  std::map<std::string, Type, std::less<>> types;
  std::vector<Function> functions;
  std::map<std::string, FunctionId, std::less<>> function_names;
  std::map<std::string, DeclaredOperator, std::less<>> operators;
  std::map<std::string, const Definition*, std::less<>> definitions;  // those above
  std::set<std::string, std::less<>> later;                           // those below
  std::set<std::string, std::less<>> broken;                          // declarations with errors

  Type type(const TypeAst& ast) const;  // without its shape
};

/// A scalar on its way: an expression, plain (weak) or not. A weak value made from a constant array
/// whose type is open names it.
struct Value {
  Expr expr = {};
  bool weak = false;
  ArrayId open = {};

  Operand operand() const { return {expr, weak}; }
};

/// An array, or a row of one: leading subscripts are given; with `base`, the next dimension starts at
/// `base` and has `length` elements.
struct View {
  ArrayId array;
  std::vector<Expr> prefix;
  Expr base, length;
};

/// A nested collection (offsets) or a group (keys, and offsets without operator).
struct Collection {
  ArrayId values;
  std::optional<ArrayId> offsets, keys;
  std::vector<Expr> rows;  // extents of the indices that number the rows
};

struct IndexBinding {
  DimId dim;
};
/// The array being defined by a recurrence while its type is not known: only the shape of `array` counts.
struct OwnBinding {
  ArrayId array;
};
struct Poisoned {};  // its definition had an error

using Binding = std::variant<View, Collection, IndexBinding, Value, OwnBinding, Poisoned>;

struct Scope {
  Scope* parent = nullptr;
  std::map<std::string, Binding, std::less<>> names = {};

  const Binding* find(std::string_view name) const;
  const Binding* find_array(std::string_view name) const;  // past indices and values of the same name
};

/// A list of stages being built. Arrays know the level of the list that defines them.
struct Sink {
  int level = 0;
  std::vector<Stage> stages;
};

/// What an expression is lowered in.
struct Context {
  Scope* scope = nullptr;
  Sink* sink = nullptr;   // lifted folds become stages here …
  std::vector<Dim> dims;  // … over those of these dimensions that they use
  Sink* point = nullptr;  // the block at each point, for folds that cannot be lifted; null: none
  bool guarded = false;   // a condition decides whether the expression is evaluated
  std::string base;       // for derived names
};

/// One index declaration, its bounds gathered from all places.
struct IndexBounds {
  struct Bound {
    AstPtr value;
    bool strict = false;
  };
  std::vector<Bound> lo, hi;
};

/// A subscript that an index takes part in: `x[i]`, `x[i + 1]` (shift), `x[clamp(i - k)]` (no shift).
struct Walk {
  ArrayId array;
  std::size_t dimension = 0;
  Expr extent;
  std::optional<std::int64_t> shift;
};

/// The range of an index that walks arrays like this; null if they do not tell.
Expr range_of(ExprPool& pool, const std::vector<Walk>& walks);

class Lowering {
 public:
  Lowering(const Vocabulary& vocabulary, std::vector<Diagnostic>& errors);

  /// The program of a definition; nothing if it has errors, of its own or of what it calls.
  std::optional<Program> definition(const Definition& definition);

  /// A function or operator of the user, and the identity of an operator.
  Function function(const FunctionDecl& declaration);
  Expr constant_value(const Ast& ast, const Type& type);

  /// An array that a test has bound, with extents as far as they are known; `of` and `part` say which part
  /// of a collection it is.
  struct TestInput {
    std::string name;
    Type type;
    std::vector<std::optional<std::int64_t>> shape;
    std::string of, part;
  };
  /// `expect e`: a program over those inputs that it uses, with one result of bool.
  Program expectation(const AstPtr& value, const std::vector<TestInput>& inputs, const Place& place);

 private:
  // ---- names (text_lower.cpp)
  [[noreturn]] void error(std::string code, const Place& place, std::string message,
                          std::string help = {}) const;
  [[noreturn]] void limit(std::string code, const Place& place, std::string message,
                          std::string help = {}) const;
  /// `help`: what to say where no known name is near.
  [[noreturn]] void unknown_name(const Ast& ast, const Context& context, const std::string& help = {}) const;
  [[noreturn]] void unknown_function(const Ast& ast, const Context& context) const;
  [[noreturn]] void unknown_field(const Type& type, const std::string& name, const Place& place) const;
  [[noreturn]] void used_above(const Ast& ast, const std::vector<Statement>& list, std::size_t current,
                               std::size_t definition) const;
  /// Is it a function, a definition or a word that is called like one?
  bool is_callable(const std::string& name) const;
  const Statement* current_statement() const;
  [[noreturn]] void array_without_subscripts(const Ast& ast, Context& context);
  std::string derived(const std::string& base);
  std::string own_name(const std::string& name);
  std::string stage_name(const std::string& name);
  ArrayId add_array(const std::string& name, Type type, std::vector<Expr> shape, const Place& place,
                    int level);
  DimId add_index(const std::string& name, const Place& place, const Scope& scope);
  void rename_hiding_indices(std::vector<Stage>& stages);
  int level_of(ArrayId array) const { return levels_[static_cast<std::size_t>(array.value)]; }
  void reserve(const std::vector<Statement>& statements);
  void count_stage(const Place& place);

  // ---- expressions (text_lower_expr.cpp)
  Value value(const Ast& ast, Context& context, const Type* wanted = nullptr);
  Value name(const Ast& ast, Context& context);
  Value field(const Ast& ast, Context& context);
  Value subscript(const Ast& ast, Context& context);
  Value call(const Ast& ast, Context& context);
  Value binary(const Ast& ast, Context& context);
  Value compare(const Ast& ast, Context& context);
  Value choice(const Ast& ast, Context& context, const Type* wanted);
  Value record(const Ast& ast, Context& context, const Type* wanted);
  Value tuple(const Ast& ast, Context& context, const Type* wanted);
  Value read(const View& view, const std::vector<AstPtr>& subscripts, std::size_t first, const Ast& ast,
             Context& context);
  Value equal(const Value& a, const Value& b, bool approximately, const Place& place);
  Value apply(Prim prim, std::vector<Value> operands, const Place& place);
  std::optional<View> view(const Ast& ast, Context& context);
  const Collection* collection(const Ast& ast, const Context& context) const;
  Expr length(const Ast& ast, Context& context);
  Expr condition(const Ast& ast, Context& context);
  Expr truth(const Value& value, const Place& place);
  Expr index_value(const Ast& ast, Context& context);
  Expr to_index(const Value& value, const Place& place);
  Expr in_row(const View& row, Expr k, const Context& context);
  Expr extent(const View& view, int dimension) const;
  Expr settle(Value value);                                       // decides open constants
  Expr convert(Value value, const Type& to, const Place& place);  // implicitly
  void decide(ArrayId open, const Type& type);
  void share_type(ArrayId a, ArrayId b);
  Expr retype(Expr expr, ArrayId open, const Type& type);
  Value meet(Value value, const Type& other);
  Expr zero(const Type& type);

  // ---- folds and choices inside expressions (text_lower_fold.cpp)
  Value fold(const Ast& ast, Context& context);
  Value guarded_choice(Expr condition, const Ast* then, const Ast* otherwise, const Place& place,
                       Context& context, const Type* wanted);
  /// The value of a point under conditions: folds in it must not run where these fail.
  Value guarded_value(const Ast& ast, const std::vector<Expr>& conditions, Context& context,
                      const Type* wanted);
  Value branch(Expr condition, Sink then, Value then_value, Sink otherwise, Value otherwise_value,
               const Place& place, Context& context);
  ArrayId scalar_stage(const std::string& name, Expr value, const Place& place, Sink& sink);
  bool can_lift(const Stage& stage, const std::vector<Dim>& used, const Context& context) const;
  std::vector<Dim> used_dims(const Stage& stage, const std::vector<Dim>& candidates) const;
  void replace_indices(Stage& stage, const std::map<DimId, Expr>& replacements);
  Operator operator_named(const std::string& name, const Type& type, const Place& place);
  const Type* operand_type(const std::string& op) const;
  /// The type in which a fold with this word accumulates values of a type.
  Type fold_type(const Ast& head, const Type& type) const;
  void attach_block(Stage& stage, Sink point, const std::string& base);

  // ---- indices (text_lower_index.cpp)
  Dim declare_index(const std::string& name, const Place& place, const IndexBounds& bounds,
                    const std::vector<AstPtr>& walked, Context& context);
  /// Declares the generators' indices, which are appended to `dims` and to the context's; conditions are
  /// appended to `conditions`. With `shared`, an index that the scope itself declares already is the same
  /// one, and bounds given elsewhere are added.
  void declare(const std::vector<Generator>& generators, std::vector<AstPtr> walked, Context& context,
               std::vector<Dim>& dims, std::vector<Expr>& conditions,
               const std::map<std::string, IndexBounds>* shared = nullptr);
  void declare_element(const Generator& generator, Context& context, std::vector<Dim>& dims,
                       const std::vector<Expr>& conditions);
  void declare_inner(const Generator& generator, const std::vector<Generator>& all, Context& context,
                     std::vector<Dim>& dims, std::vector<Expr>& conditions);
  bool is_made_here(const Ast& ast) const;
  /// `bound`: names that mean something there, besides those of the context.
  AstPtr as_comprehension(const AstPtr& ast, const Context& context, const std::set<std::string>& bound = {});
  /// A choice between two collections as one comprehension (text_lower_sides.cpp).
  class Sides;
  AstPtr sides_as_one(const Ast& choice, const Context& context, const std::set<std::string>& bound);
  /// `zip(a, b)` or `concat(a, b)`, unless the file has a function of that name.
  bool is_joint(const Ast& ast) const;
  void declare_joint(const Generator& generator, const std::vector<Generator>& all, Context& context,
                     std::vector<Dim>& dims, std::vector<Expr>& conditions);
  void declare_zip(const Generator& generator, Context& context, std::vector<Dim>& dims,
                   const std::vector<Expr>& conditions);
  void declare_parts(const Generator& generator, Context& context);
  void report_unknown(const Ast& ast, Context& context);
  /// Adds what of a generator may tell how far an index runs.
  static void note_walked(const Generator& generator, const Context& context, std::vector<AstPtr>& walked);
  void guard_bounds(Dim& dim, const std::vector<Expr>& conditions);
  void for_each_walk(const std::string& index, const Ast& ast, Context& context,
                     const std::function<void(const Walk&)>& found);
  Expr walked_extent(const std::string& index, const std::vector<AstPtr>& walked, Context& context);
  Expr bound(const std::vector<IndexBounds::Bound>& bounds, bool upper, Context& context);
  Expr conjunction(const std::vector<Expr>& conditions);

  // ---- definitions (text_lower_define.cpp, text_lower_collect.cpp)
  struct Frame;
  struct Piece;
  void define(const Statement& statement, Frame& frame);
  void formula(const Statement& statement, Frame& frame);
  void formula_stage(const Statement& statement, Frame& frame, std::vector<Piece>& pieces, bool trial);
  void declare_pieces(const Statement& statement, std::vector<Piece>& pieces, Context& context,
                      std::vector<Dim>& dims, std::vector<AstPtr>& guards);
  void find_own_types(const Statement& statement, Frame& frame, std::vector<Piece>& pieces);
  void lower_piece(Piece& piece, const std::vector<Dim>& dims, const std::vector<Expr>& guards,
                   Context& context, const Frame& frame);
  std::vector<Expr> shape_of(const Piece& piece, const std::vector<Dim>& dims, Context& context);
  std::optional<Type> declared_type(const Target& target, const Frame& frame) const;
  const TypeAst* declared(const Target& target, const Frame& frame) const;
  void list(const Statement& statement, Frame& frame);
  bool is_literal(const Ast& ast, Context& context);
  void constant(const Target& target, const Ast& value, Frame& frame);
  void copy(const Statement& statement, const View& source, Frame& frame);
  void collect(const Statement& statement, Frame& frame);
  void collect_joint(const Statement& statement, Frame& frame);
  void group(const Statement& statement, Frame& frame);
  void scatter(const Statement& statement, Frame& frame);
  std::vector<Expr> declared_shape(const TypeAst& type, Context& context);
  std::string array_name(const Target& target, Frame& frame);
  void publish(const std::string& name, Binding binding, Frame& frame);
  Context context_in(Frame& frame, const std::string& base, Sink* point);
  void emit(Stage stage, const Statement& statement, Sink& sink);
  const Target& single_target(const Statement& statement) const;

  // ---- statements (text_lower_statement.cpp)
  void statements(const std::vector<Statement>& list, Frame& frame);
  void statement(const Statement& statement, Frame& frame);
  void loop(const Statement& statement, Frame& frame);
  ArrayId truth_stage(const std::string& name, const Ast& condition, Scope& scope, Sink& sink);
  void effects(const Statement& statement, Frame& frame);
  void force(const Statement& statement, Frame& frame);
  void general(const Statement& statement, Frame& frame);
  struct OpenBlock;
  OpenBlock general_block(const BlockAst& ast, Scope& scope, Frame& outer);
  Output general_output(const OutAst& out, const Stage& stage, ArrayId own, Context& context, Frame& frame,
                        std::vector<OpenBlock>& blocks);
  ArrayId general_array(const std::string& name, const TypeAst& type, const Place& place, Frame& frame);
  Effect effect(const PrintAst& print, const std::vector<Expr>& guards, Context& context);
  Combine combine(const CombineAst& ast, const Type& type);
  ArrayId named_array(const std::string& name, const Place& place, const Scope& scope) const;

  // ---- choices (text_lower_choice.cpp)
  struct Choice;
  void choose(const Statement& statement, Frame& frame);
  /// `y = if c then a else b`, where a or b is a whole array or collection; and what it stands for.
  bool is_choice(const Statement& statement, Frame& frame);
  static Statement as_choice(const Statement& statement);
  Binding chosen_value(Choice& choice, const std::string& shown, const std::string& name, const Binding& then,
                       const Binding& otherwise);
  ArrayId chosen_array(Choice& choice, const std::string& name, const std::string& suffix, ArrayId then,
                       ArrayId otherwise);

  // ---- calls (text_lower_call.cpp)
  bool is_call(const Ast& ast) const;
  void call_statement(const Statement& statement, Frame& frame);
  std::vector<Binding> inline_call(const Ast& call, Frame& frame, const std::vector<std::string>& names);
  Binding argument(const InputAst& input, const Ast* given, const Ast& call, Frame& frame,
                   const std::string& base);
  void bind_shape(const InputAst& input, const View& view, const Definition& callee, Frame& inner,
                  const Place& place);
  std::vector<std::pair<ArrayId, Place>> results(const Definition& definition, const Scope& scope);

  const Vocabulary& vocabulary_;
  std::vector<Diagnostic>& errors_;
  Program program_;
  ExprPool& pool_;
  std::vector<int> levels_;                    // by ArrayId
  std::map<int, std::vector<ArrayId>> open_;   // constants whose type is open, by ArrayId: all that share it
  std::map<std::string, Generator> elements_;  // what the indices of the statement's folds run over
  std::set<std::string, std::less<>> taken_;   // names of arrays and sizes
  std::set<std::string, std::less<>> stages_;  // names of stages
  std::set<std::string, std::less<>> reserved_;            // names that the user defines somewhere
  std::map<std::string, std::optional<TypeAst>> results_;  // of the definition being lowered
  /// The lists of statements being lowered, outermost first, and where in them.
  std::vector<std::pair<const std::vector<Statement>*, std::size_t>> lists_;
  int next_level_ = 1;
  int stage_count_ = 0;
  bool failed_ = false;  // some statement could not be lowered
};

/// A list of statements being lowered, and what its names become.
struct Lowering::Frame {
  Scope scope = {};
  Sink* sink = nullptr;
  std::string prefix;  // of names, inside a call
  std::map<std::string, std::string>
      renamed;  // outputs of a loop or choice: base of the name that `u` has in it
  std::map<std::string, std::string> exact;  // results of a call: the name that `y` has in the caller
  std::map<std::string, ArrayId> carried;    // states of the loop
  std::set<std::string> defined;
};

/// One output of a formula: `y[i] = heads body`.
struct Lowering::Piece {
  const Target* target = nullptr;
  std::vector<const Ast*> heads;  // SeqOver, Scan, Fold, outermost first
  const Ast* body = nullptr;
  std::vector<std::string> indices;           // on the left, in order
  std::map<std::string, const Ast*> head_of;  // index → the head that treats it
  std::vector<Expr> conditions;               // of its folds
  std::optional<Type> type;
  std::optional<ArrayId> into;
  ArrayId array;
  Output output;
};

/// An index with bounds, if the expression is one: `i`, `i < n`, `0 < i <= n`, for a name that `is_new`
/// accepts.
struct DeclaredIndex {
  std::string name;
  IndexBounds bounds;
};
std::optional<DeclaredIndex> as_index(const AstPtr& ast,
                                      const std::function<bool(const std::string&)>& is_new);

/// Every name that occurs.
void add_names(const Ast& ast, std::set<std::string>& names);

/// The wish, or the wish with a number, that does not occur.
std::string unused_name(const std::set<std::string>& names, const std::string& wish);
std::string unused_name(const Ast& ast, const std::string& wish);

bool is_empty_list(const Ast& ast);

/// `[ x | x in collection, false ]`: an empty collection whose elements have a type.
AstPtr none_of(const AstPtr& collection, const Place& place);

/// For each dimension of a scatter: does its index alone choose one subscript, and so keep its values apart?
/// Without data in the subscripts and without operator a new version is written like a formula: all are.
std::vector<bool> kept_apart(const std::vector<Expr>& at, const std::vector<Dim>& dims, bool has_operator,
                             bool fresh);

/// Names that a list of statements defines for what follows it.
void defined_names(const std::vector<Statement>& list, std::vector<std::string>& names);

/// Does a fold occur in the expression?
bool contains_fold(const Ast& ast);

/// Is it a built-in function, or a word that is called like one?
bool is_function_word(std::string_view word);

/// What the declarations of a file mean; errors are appended.
Vocabulary vocabulary_of(const File& file, std::vector<Diagnostic>& errors);

}  // namespace twill::text
