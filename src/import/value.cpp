// Building of staged values: every function makes one node of the syntax tree.
#include "import/staged.h"

#include <algorithm>

namespace twill {

using text::Ast;
using text::AstKind;
using text::AstPtr;
using text::Generator;

Place place_of(const Where& where) {
  Place place;
  place.source = std::make_shared<const SourceText>(SourceText{where.file_name(), {}});
  place.line = where.line();
  return place;
}

// ---- arguments ----------------------------------------------------------------------------------------

Arg::Arg(const Value& value, Where where) : Arg(value.arg()) {
  place_ = place_of(where);
  if (tree_ && tree_->kind == AstKind::Name) {
    Ast node = *tree_;
    node.place = place_;
    tree_ = std::make_shared<const Ast>(std::move(node));
  }
}

Arg::Arg(const Number& number, Where where) : place_(place_of(where)), weight_(1) {
  tree_ = std::make_shared<const Ast>(Ast{.kind = AstKind::Number, .place = place_, .number = number});
}

Arg::Arg(Plain plain, const Where& where) : place_(place_of(where)), weight_(1) {
  const bool weak = plain.number.type != Scalar::U64;
  tree_ = std::make_shared<const Ast>(
      Ast{.kind = AstKind::Number, .place = place_, .number = plain.number, .weak = weak});
}

Arg::Arg(Built built)
    : tree_(std::move(built.tree)),
      uses_(std::move(built.uses)),
      place_(std::move(built.place)),
      weight_(built.weight) {}

const AstPtr& Arg::tree() const {
  if (generator_)
    fail(Fault::User, "E0271", place_,
         "'in' says what '" + generator_->name + "' ranges over; it is not a value",
         "use it on the left of a definition, in a fold or in a collection, and '" + generator_->name +
             "' in the expression");
  ensure(tree_ != nullptr, "an argument that is not given is not used");
  return tree_;
}

Generator Arg::generator() const {
  if (generator_) return *generator_;
  Generator g;
  g.place = place_;
  g.a = tree();
  return g;
}

Arg Arg::range(const Index& index, const Arg& from, const Arg& to, const Place& place) {
  Generator g;
  g.kind = to.given() ? Generator::Kind::Range : Generator::Kind::Element;
  g.place = place;
  g.name = index.name();
  g.a = from.tree();
  if (to.given()) g.b = to.tree();
  Arg arg;
  arg.generator_ = std::make_shared<const Generator>(std::move(g));
  arg.uses_ = staged::join(from.uses(), to.uses(), place);
  arg.place_ = place;
  arg.weight_ = 1 + from.weight() + to.weight();
  return arg;
}

Arg in(const Index& index, const Arg& from, const Arg& to) {
  return Arg::range(index, from, to, from.place());
}
Arg in(const Index& element, const Arg& collection) {
  return Arg::range(element, collection, {}, collection.place());
}

// ---- nodes ----------------------------------------------------------------------------------------------

namespace staged {

namespace {

constexpr int max_depth = 600;
constexpr double max_weight = 1e6;

Value named(std::string name, const Place& place, std::shared_ptr<const Uses> uses) {
  if (name.empty())
    fail(Fault::User, "E0281", place, "a name is empty",
         "arrays, sizes and indices are told apart by their names");
  return finish({.kind = AstKind::Name, .name = std::move(name)}, place, std::move(uses), 1);
}

}  // namespace

Value finish(Ast node, const Place& place, std::shared_ptr<const Uses> uses, double weight) {
  node.place = place;
  for (const AstPtr& arg : node.args) node.depth = std::max(node.depth, arg->depth + 1);
  for (const Generator& g : node.generators)
    for (const AstPtr& bound : {g.a, g.b})
      if (bound) node.depth = std::max(node.depth, bound->depth + 1);
  if (node.depth > max_depth)
    fail(Fault::User, "E0111", place, "this expression is too deeply nested",
         "define an array for a part of it, or use a fold");
  if (weight > max_weight)
    fail(Fault::Limit, "E0272", place,
         "this expression has more than a million operations when it is written out",
         "name the parts that are used several times: let(\"a\", part, [&](Value a) { ... })");
  return Arg(Arg::Built{std::make_shared<const Ast>(std::move(node)), std::move(uses), place, weight});
}

Value build(Ast node, const Place& place, const std::vector<Arg>& args, const std::vector<Arg>& generators,
            const std::shared_ptr<const Uses>& more) {
  double weight = 1;
  std::shared_ptr<const Uses> uses = more;
  for (const Arg& arg : args) {
    node.args.push_back(arg.tree());
    weight += arg.weight();
    uses = join(uses, arg.uses(), place);
  }
  for (const Arg& arg : generators) {
    node.generators.push_back(arg.generator());
    weight += arg.weight();
    uses = join(uses, arg.uses(), place);
  }
  return finish(std::move(node), place, std::move(uses), weight);
}

Value name(std::string name, const Place& place) { return named(std::move(name), place, nullptr); }

Value name_at_home(std::string name, const Place& place, std::shared_ptr<const std::string> home) {
  return named(std::move(name), place, std::make_shared<const Uses>(Uses{std::move(home), {}}));
}

Value let(std::string name, const Arg& value, const Arg& body) {
  return build({.kind = AstKind::Let, .name = std::move(name)}, value.place(), {value, body});
}

std::vector<Arg> given(std::initializer_list<const Arg*> args) {
  std::vector<Arg> list;
  for (const Arg* arg : args)
    if (arg->given()) list.push_back(*arg);
  return list;
}

std::shared_ptr<const Uses> join(const std::shared_ptr<const Uses>& a, const std::shared_ptr<const Uses>& b,
                                 const Place& place) {
  if (!a || a == b) return b;
  if (!b) return a;
  if (a->home && b->home && a->home != b->home)
    fail(Fault::User, "E0273", place,
         "this expression uses arrays of two definitions, '" + *a->home + "' and '" + *b->home + "'",
         "pass the array of the other definition as an input, or call that definition");
  const auto contains = [](const Uses& uses, const DeclarationPtr& declaration) {
    return std::find(uses.declarations.begin(), uses.declarations.end(), declaration) !=
           uses.declarations.end();
  };
  const auto covers = [&](const Uses& large, const Uses& small) {
    return (!small.home || small.home == large.home) &&
           std::all_of(small.declarations.begin(), small.declarations.end(),
                       [&](const DeclarationPtr& d) { return contains(large, d); });
  };
  if (covers(*a, *b)) return a;
  if (covers(*b, *a)) return b;
  Uses both = *a;
  if (!both.home) both.home = b->home;
  for (const DeclarationPtr& declaration : b->declarations)
    if (!contains(both, declaration)) both.declarations.push_back(declaration);
  return std::make_shared<const Uses>(std::move(both));
}

std::shared_ptr<const Uses> join(const std::vector<Arg>& args, const Place& place) {
  std::shared_ptr<const Uses> uses;
  for (const Arg& arg : args) uses = join(uses, arg.uses(), place);
  return uses;
}

void split_conjunction(const AstPtr& tree, std::vector<AstPtr>& out) {
  if (tree->kind != AstKind::Binary || tree->name != "and") {
    out.push_back(tree);
    return;
  }
  for (const AstPtr& arg : tree->args) split_conjunction(arg, out);
}

}  // namespace staged

namespace {

using staged::build;
using staged::given;

Value binary(const char* op, const Arg& a, const Arg& b) {
  return build({.kind = AstKind::Binary, .name = op}, a.place(), {a, b});
}

Value compare(const char* op, const Arg& a, const Arg& b) {
  return build({.kind = AstKind::Compare, .words = {op}}, a.place(), {a, b});
}

Value call(const char* name, const std::vector<Arg>& args) {
  return build({.kind = AstKind::Call, .name = name}, args[0].place(), args);
}

/// All but the last of the arguments are generators.
Value fold_of(const char* word, const std::string& op, const std::shared_ptr<const staged::Uses>& uses,
              std::vector<Arg> args) {
  const Arg body = args.back();
  args.pop_back();
  return build({.kind = AstKind::Fold, .name = word, .op = op}, args[0].place(), {body}, args, uses);
}

std::shared_ptr<const staged::Uses> uses_of(const Op& op) {
  return op.declaration() ? staged::uses_of(op.declaration()) : nullptr;
}

}  // namespace

// ---- values ---------------------------------------------------------------------------------------------

Value Value::operator()(const Arg& a, const Arg& b, const Arg& c, const Arg& d, const Arg& e, const Arg& f,
                        const Arg& g, const Arg& h, const Arg& i, const Arg& j, const Arg& k,
                        const Arg& l) const {
  std::vector<Arg> args = given({&a, &b, &c, &d, &e, &f, &g, &h, &i, &j, &k, &l});
  args.insert(args.begin(), arg_);
  return build({.kind = AstKind::Subscript}, a.place(), args);
}

Value Value::operator[](const FieldName& field) const {
  return build({.kind = AstKind::Field, .name = field.name}, place_of(field.where), {arg_});
}

Index::Index(std::string name, Where where)
    : Value(staged::name(name, place_of(where))), name_(std::move(name)) {}

Value operator-(const Arg& a) { return build({.kind = AstKind::Unary, .name = "-"}, a.place(), {a}); }
Value operator+(const Arg& a, const Arg& b) { return binary("+", a, b); }
Value operator-(const Arg& a, const Arg& b) { return binary("-", a, b); }
Value operator*(const Arg& a, const Arg& b) { return binary("*", a, b); }
Value operator/(const Arg& a, const Arg& b) { return binary("/", a, b); }
Value operator%(const Arg& a, const Arg& b) { return binary("%", a, b); }

Value operator==(const Arg& a, const Arg& b) { return compare("==", a, b); }
Value operator!=(const Arg& a, const Arg& b) { return compare("!=", a, b); }
Value operator<(const Arg& a, const Arg& b) { return compare("<", a, b); }
Value operator<=(const Arg& a, const Arg& b) { return compare("<=", a, b); }
Value operator>(const Arg& a, const Arg& b) { return compare(">", a, b); }
Value operator>=(const Arg& a, const Arg& b) { return compare(">=", a, b); }
Value approximately(const Arg& a, const Arg& b) { return compare("~", a, b); }

Value operator!(const Arg& a) { return build({.kind = AstKind::Unary, .name = "not"}, a.place(), {a}); }
Value operator&&(const Arg& a, const Arg& b) { return binary("and", a, b); }
Value operator||(const Arg& a, const Arg& b) { return binary("or", a, b); }

Value operator&(const Arg& a, const Arg& b) { return call("bit_and", {a, b}); }
Value operator|(const Arg& a, const Arg& b) { return call("bit_or", {a, b}); }
Value operator^(const Arg& a, const Arg& b) { return call("xor", {a, b}); }
Value operator<<(const Arg& a, const Arg& b) { return call("shl", {a, b}); }
Value operator>>(const Arg& a, const Arg& b) { return call("shr", {a, b}); }
Value operator~(const Arg& a) { return call("bit_not", {a}); }

Value min(const Arg& a, const Arg& b) { return call("min", {a, b}); }
Value max(const Arg& a, const Arg& b) { return call("max", {a, b}); }
Value abs(const Arg& a) { return call("abs", {a}); }
Value pow(const Arg& a, const Arg& b) { return call("pow", {a, b}); }
Value sqrt(const Arg& a) { return call("sqrt", {a}); }
Value exp(const Arg& a) { return call("exp", {a}); }
Value exp2(const Arg& a) { return call("exp2", {a}); }
Value log(const Arg& a) { return call("log", {a}); }
Value log2(const Arg& a) { return call("log2", {a}); }
Value log10(const Arg& a) { return call("log10", {a}); }
Value sin(const Arg& a) { return call("sin", {a}); }
Value cos(const Arg& a) { return call("cos", {a}); }
Value tan(const Arg& a) { return call("tan", {a}); }
Value asin(const Arg& a) { return call("asin", {a}); }
Value acos(const Arg& a) { return call("acos", {a}); }
Value atan(const Arg& a) { return call("atan", {a}); }
Value sinh(const Arg& a) { return call("sinh", {a}); }
Value cosh(const Arg& a) { return call("cosh", {a}); }
Value tanh(const Arg& a) { return call("tanh", {a}); }
Value erf(const Arg& a) { return call("erf", {a}); }
Value floor(const Arg& a) { return call("floor", {a}); }
Value ceil(const Arg& a) { return call("ceil", {a}); }
Value round(const Arg& a) { return call("round", {a}); }
Value trunc(const Arg& a) { return call("trunc", {a}); }
Value atan2(const Arg& a, const Arg& b) { return call("atan2", {a, b}); }
Value hypot(const Arg& a, const Arg& b) { return call("hypot", {a, b}); }
Value fma(const Arg& a, const Arg& b, const Arg& c) { return call("fma", {a, b, c}); }
Value is_nan(const Arg& a) { return call("is_nan", {a}); }
Value is_inf(const Arg& a) { return call("is_inf", {a}); }

Value len(const Arg& array) { return call("len", {array}); }
Value size(const Arg& array, int dimension) { return call("size", {array, dimension}); }

Value select(const Arg& condition, const Arg& then, const Arg& otherwise) {
  return build({.kind = AstKind::If}, condition.place(), {condition, then, otherwise});
}

Value tuple(const Arg& a, const Arg& b, const Arg& c, const Arg& d, const Arg& e, const Arg& f, const Arg& g,
            const Arg& h) {
  return build({.kind = AstKind::Tuple}, a.place(), given({&a, &b, &c, &d, &e, &f, &g, &h}));
}

Value clamp(const Arg& subscript) { return call("clamp", {subscript}); }
Value mirror(const Arg& subscript) { return call("mirror", {subscript}); }
Value wrap(const Arg& subscript) { return call("wrap", {subscript}); }
Value pad(const Arg& subscript) { return call("pad", {subscript}); }
Value pad(const Arg& subscript, const Arg& value) { return call("pad", {subscript, value}); }

// ---- folds ------------------------------------------------------------------------------------------------

Value sum(const Arg& a, const Arg& b, const Arg& c, const Arg& d, const Arg& e, const Arg& f, const Arg& g,
          const Arg& h) {
  return fold_of("sum", "+", {}, given({&a, &b, &c, &d, &e, &f, &g, &h}));
}
Value product(const Arg& a, const Arg& b, const Arg& c, const Arg& d, const Arg& e, const Arg& f,
              const Arg& g, const Arg& h) {
  return fold_of("product", "*", {}, given({&a, &b, &c, &d, &e, &f, &g, &h}));
}
Value maximum(const Arg& a, const Arg& b, const Arg& c, const Arg& d, const Arg& e, const Arg& f,
              const Arg& g, const Arg& h) {
  return fold_of("max", "max", {}, given({&a, &b, &c, &d, &e, &f, &g, &h}));
}
Value minimum(const Arg& a, const Arg& b, const Arg& c, const Arg& d, const Arg& e, const Arg& f,
              const Arg& g, const Arg& h) {
  return fold_of("min", "min", {}, given({&a, &b, &c, &d, &e, &f, &g, &h}));
}
Value any(const Arg& a, const Arg& b, const Arg& c, const Arg& d, const Arg& e, const Arg& f, const Arg& g,
          const Arg& h) {
  return fold_of("any", "or", {}, given({&a, &b, &c, &d, &e, &f, &g, &h}));
}
Value all(const Arg& a, const Arg& b, const Arg& c, const Arg& d, const Arg& e, const Arg& f, const Arg& g,
          const Arg& h) {
  return fold_of("all", "and", {}, given({&a, &b, &c, &d, &e, &f, &g, &h}));
}
Value fold(const Op& op, const Arg& a, const Arg& b, const Arg& c, const Arg& d, const Arg& e, const Arg& f,
           const Arg& g, const Arg& h) {
  return fold_of("fold", op.name(), uses_of(op), given({&a, &b, &c, &d, &e, &f, &g, &h}));
}

Value scan(const Op& op, const Index& index, const Arg& value) {
  return build({.kind = AstKind::Scan, .name = "scan", .op = op.name(), .words = {index.name()}},
               value.place(), {value}, {}, uses_of(op));
}
Value scan_right(const Op& op, const Index& index, const Arg& value) {
  return build({.kind = AstKind::Scan, .name = "scan_right", .op = op.name(), .words = {index.name()}},
               value.place(), {value}, {}, uses_of(op));
}

Value seq(const Index& index, const Arg& value) { return seq(std::vector<Index>{index}, value); }
Value seq(const Index& outer, const Index& inner, const Arg& value) {
  return seq(std::vector<Index>{outer, inner}, value);
}
Value seq(const std::vector<Index>& indices, const Arg& value) {
  Ast node{.kind = AstKind::SeqOver};
  for (const Index& index : indices) node.words.push_back(index.name());
  return build(std::move(node), value.place(), {value});
}

// ---- collections ------------------------------------------------------------------------------------------

Value collect(const Arg& value, const Arg& a, const Arg& b, const Arg& c, const Arg& d, const Arg& e,
              const Arg& f) {
  return build({.kind = AstKind::Collect}, value.place(), {value}, given({&a, &b, &c, &d, &e, &f}));
}

Value group(const Arg& key, const Arg& value, const Arg& a, const Arg& b, const Arg& c, const Arg& d,
            const Arg& e, const Arg& f) {
  return build({.kind = AstKind::Group}, key.place(), {collect(tuple(key, value), a, b, c, d, e, f)});
}

Value group(const Op& op, const Arg& key, const Arg& value, const Arg& a, const Arg& b, const Arg& c,
            const Arg& d, const Arg& e, const Arg& f) {
  return build({.kind = AstKind::Group, .op = op.name()}, key.place(),
               {collect(tuple(key, value), a, b, c, d, e, f)}, {}, uses_of(op));
}

Subscripts at(const Arg& a, const Arg& b, const Arg& c, const Arg& d, const Arg& e, const Arg& f,
              const Arg& g, const Arg& h, const Arg& i, const Arg& j, const Arg& k, const Arg& l) {
  return {given({&a, &b, &c, &d, &e, &f, &g, &h, &i, &j, &k, &l})};
}

namespace {

Value send(Ast node, const Op* op, const Subscripts& to, const Arg& value, const std::vector<Arg>& generators,
           const std::shared_ptr<const staged::Uses>& uses) {
  std::vector<Arg> args = {value};
  args.insert(args.end(), to.list.begin(), to.list.end());
  if (op) node.op = op->name();
  return build(std::move(node), value.place(), args, generators,
               op ? staged::join(uses, uses_of(*op), value.place()) : uses);
}

Ast with_node(const Value& array) {
  const Arg& arg = array.arg();
  if (arg.tree()->kind != AstKind::Name)
    fail(Fault::User, "E0274", arg.tree()->place,
         "'with' makes a new version of an array, not of an expression", "define an array first");
  return {.kind = AstKind::With, .name = arg.tree()->name};
}

}  // namespace

Value scatter(const Op& op, const Subscripts& to, const Arg& value, const Arg& a, const Arg& b, const Arg& c,
              const Arg& d, const Arg& e, const Arg& f) {
  return send({.kind = AstKind::Scatter}, &op, to, value, given({&a, &b, &c, &d, &e, &f}), {});
}
Value scatter(const Subscripts& to, const Arg& value, const Arg& a, const Arg& b, const Arg& c, const Arg& d,
              const Arg& e, const Arg& f) {
  return send({.kind = AstKind::Scatter}, nullptr, to, value, given({&a, &b, &c, &d, &e, &f}), {});
}
Value with(const Value& array, const Subscripts& to, const Arg& value, const Arg& a, const Arg& b,
           const Arg& c, const Arg& d, const Arg& e, const Arg& f) {
  return send(with_node(array), nullptr, to, value, given({&a, &b, &c, &d, &e, &f}), array.arg().uses());
}
Value with(const Value& array, const Op& op, const Subscripts& to, const Arg& value, const Arg& a,
           const Arg& b, const Arg& c, const Arg& d, const Arg& e, const Arg& f) {
  return send(with_node(array), &op, to, value, given({&a, &b, &c, &d, &e, &f}), array.arg().uses());
}

}  // namespace twill
