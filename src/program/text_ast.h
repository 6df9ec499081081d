// The syntax tree of a Twill text: what was written, before names and types mean anything. Built by the
// parser and by the C++ front end (import/).
#pragma once

#include "base/place.h"
#include "program/program.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace twill::text {

struct Ast;
using AstPtr = std::shared_ptr<const Ast>;

/// `f32[N, 3]`, `Match`, `(i64, f64)[N]`; `born` is parallel to `shape` and names lengths that the
/// stage defines (empty: an ordinary size).
struct TypeAst {
  Place place;
  std::string name;  // empty: a tuple of `elements`
  std::vector<TypeAst> elements;
  bool has_shape = false;
  std::vector<AstPtr> shape;
  std::vector<std::string> born;
};

/// What stands between commas in a fold, a comprehension or on the left of a stage.
struct Generator {
  enum class Kind : std::uint8_t {
    Test,     // `i`, `i < n`, `0 < i < n`: an index if new, a condition if not; or any condition
    Range,    // `i in a .. b`
    Element,  // `x in xs`, `(x, y) in xs`
  };
  Kind kind = Kind::Test;
  Place place;
  std::string name;
  std::vector<std::string> parts = {};  // of the element, if they have names; then `name` lists them
  AstPtr a, b;

  /// What an index over the elements is called.
  const std::string& index_name() const { return parts.empty() ? name : parts.front(); }
};

enum class AstKind : std::uint8_t {
  Number,     // number, weak
  Name,       // name
  Field,      // args[0] . name
  Subscript,  // args[0] [ args[1…] ]
  Call,       // name ( args )
  Unary,      // name: "-", "not"
  Binary,     // name: "+", "-", "*", "/", "%", "and", "or"
  Compare,    // a chain: args and the operators between them in words
  If,         // condition, then, else
  Let,        // name, value, body
  Record,     // name (may be empty) { words: args }
  Tuple,      // ( args )
  List,       // [ args ]
  Limit,      // max(T), min(T): name, type
  Fold,       // name (the word: "sum"), op, generators, args[0]
  Scan,       // name ("scan" or "scan_right"), op, words[0] (the index), args[0]
  SeqOver,    // seq(words) args[0]
  Collect,    // [ args[0] | generators ]
  Group,      // op (may be empty), args[0]: a Collect
  Scatter,    // op (may be empty), args: value, subscripts…; generators
  With,       // name, op (may be empty), args as Scatter
  Random,     // type, number (the seed)
};

struct Ast {
  AstKind kind;
  Place place = {};
  std::string name = {};
  std::string op = {};
  std::vector<std::string> words = {};
  std::vector<Place> word_places = {};  // of the fields of a record
  std::vector<AstPtr> args = {};
  std::vector<Generator> generators = {};
  Number number = {};
  bool weak = false;
  TypeAst type = {};
  int depth = 1;
};

// Expressions that nobody wrote.

inline AstPtr node(AstKind kind, std::string name, std::vector<AstPtr> args, const Place& place) {
  Ast ast{.kind = kind, .place = place, .name = std::move(name), .args = std::move(args)};
  return std::make_shared<const Ast>(std::move(ast));
}

inline AstPtr integer(std::int64_t value, const Place& place) {
  Ast ast{.kind = AstKind::Number, .place = place, .number = Number::of(Scalar::I64, value), .weak = true};
  return std::make_shared<const Ast>(std::move(ast));
}

inline AstPtr comparison_of(AstPtr a, std::string op, AstPtr b, const Place& place) {
  Ast ast{.kind = AstKind::Compare,
          .place = place,
          .words = {std::move(op)},
          .args = {std::move(a), std::move(b)}};
  return std::make_shared<const Ast>(std::move(ast));
}

inline AstPtr boolean(bool value, const Place& place) {
  Ast ast{.kind = AstKind::Number, .place = place, .number = Number::of(Scalar::Bool, value)};
  return std::make_shared<const Ast>(std::move(ast));
}

inline AstPtr choice_of(AstPtr condition, AstPtr then, AstPtr otherwise, const Place& place) {
  return node(AstKind::If, "", {std::move(condition), std::move(then), std::move(otherwise)}, place);
}

inline AstPtr collect_of(AstPtr element, std::vector<Generator> generators, const Place& place) {
  Ast all{.kind = AstKind::Collect, .place = place};
  all.args = {std::move(element)};
  all.generators = std::move(generators);
  return std::make_shared<const Ast>(std::move(all));
}

/// `name in 0 .. end`.
inline Generator counting(const std::string& name, AstPtr end, const Place& place) {
  Generator g;
  g.kind = Generator::Kind::Range;
  g.place = place;
  g.name = name;
  g.a = integer(0, place);
  g.b = std::move(end);
  return g;
}

/// A condition, whatever it looks like.
inline Generator test_of(AstPtr condition) {
  Generator g;
  g.place = condition->place;
  g.a = choice_of(condition, boolean(true, g.place), boolean(false, g.place), g.place);
  return g;
}

struct Argument {  // of an effect
  bool is_text = false;
  std::string text;
  AstPtr value;
};

/// An effect: `print(…)`, or one that the file declares.
struct PrintAst {
  Place place;
  std::string kind = "print";
  std::vector<Argument> arguments;
  AstPtr guard;
};

/// The left side of a definition: `y[i, j < 3]: f32 into x`.
struct Target {
  Place place;
  std::string name;
  bool indexed = false;
  std::vector<Generator> indices;
  std::optional<TypeAst> type;
  std::string into;
  Place into_place;
  bool onto = false;  // `onto x`: what is there takes part
};

struct Statement;

struct CarryAst {
  Place place;
  std::string inside, init, next;
  TypeAst type;
};

struct BlockAst {
  std::vector<CarryAst> carries;
  std::vector<Statement> statements;
};

struct CombineAst {
  Place place;
  std::string word, op, dim;
};

struct NamedType {
  Place place;
  std::string name;
  TypeAst type;
};

struct OutAst {
  Place place;
  bool force = false;
  std::string name;
  TypeAst type;
  std::optional<NamedType> offsets, keys;
  std::vector<AstPtr> at;
  std::string into;
  Place into_place;
  bool onto = false;
  std::vector<CombineAst> combines;
  AstPtr value, otherwise, key, guard;
};

struct DimAst {
  Place place;
  std::string name;
  AstPtr lo, hi, condition;
};

/// The general stage.
struct StageAst {
  enum class Body : std::uint8_t { Formula, Block, Branch };
  std::string name;
  std::vector<DimAst> dims;
  Body body = Body::Formula;
  AstPtr condition;
  BlockAst block, otherwise;
  std::vector<OutAst> outs;
  std::vector<PrintAst> prints;
};

struct Statement {
  enum class Kind : std::uint8_t { Define, Const, Loop, If, For, Force, Stage };
  Kind kind = Kind::Define;
  Place place;
  std::vector<Hint> hints;
  std::vector<Target> targets;             // Define, Const, Loop
  AstPtr value;                            // Define, Const; If: the condition; Loop: the condition of a while
  std::vector<AstPtr> where;               // Define
  std::string name;                        // Force: the array; Loop: the index
  AstPtr lo, hi;                           // Loop
  std::vector<AstPtr> from;                // Loop
  std::vector<Statement> body, otherwise;  // Loop, If
  std::vector<Generator> generators;       // For
  std::vector<PrintAst> prints;            // For
  std::shared_ptr<const StageAst> stage;
};

struct TypeDecl {
  Place place;
  std::string name;
  std::vector<NamedType> fields;
};

/// `fn` and `op`; an operator may be made from another function (`source`).
struct FunctionDecl {
  Place place;
  std::string name;
  bool is_operator = false, associative = false, commutative = false;
  std::vector<NamedType> parameters;
  std::optional<TypeAst> result;
  AstPtr body, identity;
  std::string source;
};

struct InputAst {
  Place place;
  std::string name;
  TypeAst type;
  AstPtr fallback;
};

struct ResultAst {
  Place place;
  std::string name, part;  // part: "", "values", "offsets", "keys"
  std::optional<TypeAst> type;
};

struct Definition {
  Place place;
  std::string name;
  bool strict = false;
  std::vector<InputAst> inputs;
  std::vector<ResultAst> results;
  std::vector<Statement> statements;
};

/// One statement of a test: a binding (targets, value) or an expectation.
struct TestStatement {
  enum class Kind : std::uint8_t { Bind, Expect, ExpectError };
  Kind kind = Kind::Bind;
  Place place;
  std::vector<Target> targets;
  AstPtr value;
  std::string text;  // of an expectation as written, or of the error
};

struct TestDecl {
  Place place;
  std::string name;
  std::vector<TestStatement> statements;
};

/// A file. `functions` holds scalar functions and operators in order; `definitions` and `tests` too.
struct File {
  std::vector<TypeDecl> types;
  std::vector<FunctionDecl> functions;
  std::vector<Definition> definitions;
  std::vector<TestDecl> tests;
};

}  // namespace twill::text
