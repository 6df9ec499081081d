// Declarations: record types, functions and operators, and what an expression that uses them refers to.
#include "import/inside.h"
#include "import/staged.h"

namespace twill {

using staged::Declaration;
using staged::Uses;
using text::Ast;
using text::AstKind;

namespace staged {

std::shared_ptr<const Uses> uses_of(const DeclarationPtr& declaration) {
  return std::make_shared<const Uses>(Uses{{}, {declaration}});
}

std::shared_ptr<const Uses> uses_of(const Type& type, const Place& place) {
  if (type.is_scalar()) return nullptr;
  const Record& record = type.record();
  std::shared_ptr<const Uses> uses;
  for (const Field& field : record.fields) uses = join(uses, uses_of(field.type, place), place);
  if (record.name.empty()) return uses;
  return uses_of(std::make_shared<const Declaration>(Declaration{record.name, place, type, uses}));
}

text::TypeAst type_ast(const Type& type, const Place& place) {
  text::TypeAst ast;
  ast.place = place;
  if (type.is_scalar()) {
    ast.name = info(type.scalar()).name;
  } else if (!type.record().name.empty()) {
    ast.name = type.record().name;
  } else {
    for (const Field& field : type.record().fields) ast.elements.push_back(type_ast(field.type, place));
  }
  return ast;
}

void wrong_lambda(const std::string& what, std::size_t count, const Where& where) {
  fail(Fault::User, "E0275", place_of(where),
       "the lambda of " + what + " does not take " + std::to_string(count) +
           (count == 1 ? " value" : " values") + ", or does not give a Value",
       "give it one parameter of type Value for each argument");
}

void wrong_view(const std::string& array, std::size_t count, const Where& where) {
  fail(Fault::User, "E0275", place_of(where),
       "the lambda of the view of '" + array + "' does not take " + std::to_string(count) +
           (count == 1 ? " value" : " values") + ", or does not give subscripts",
       "give it one parameter of type Value for each index, and return at(...)");
}

namespace {

/// Functions see their parameters only.
void check_closed(const std::string& what, const std::shared_ptr<const Uses>& uses, const Place& place) {
  if (uses && uses->home)
    fail(Fault::User, "E0276", place,
         what + " uses an array or a size of the definition '" + *uses->home + "'",
         "pass it as an argument: functions and operators see their parameters only");
}

}  // namespace

}  // namespace staged

Value ScalarType::operator()(const Arg& value) const {
  return staged::build({.kind = AstKind::Call, .name = std::string(info(scalar).name)}, value.place(),
                       {value});
}

RecordType record(std::string name, std::vector<Field> fields) {
  return RecordType(std::make_shared<const Record>(Record{std::move(name), std::move(fields)}));
}

Type tuple_type(std::vector<Type> elements) {
  Record record;
  for (Type& element : elements)
    record.fields.push_back({std::to_string(record.fields.size()), std::move(element)});
  return std::make_shared<const Record>(std::move(record));
}

Value RecordType::operator()(std::initializer_list<FieldValue> fields, Where where) const {
  const Place place = place_of(where);
  Ast node{.kind = AstKind::Record, .name = type_.record().name};
  std::vector<Arg> values;
  for (const FieldValue& field : fields) {
    node.words.push_back(field.name);
    values.push_back(field.value);
  }
  return staged::build(std::move(node), place, values, {}, staged::uses_of(type_, place));
}

// ---- operators ------------------------------------------------------------------------------------------

Op staged_op(std::string name, const Type& type, const Arg* identity,
             const std::function<Value(Value, Value)>& body, const Where& where) {
  const Place place = place_of(where);
  text::FunctionDecl decl;
  decl.place = place;
  decl.name = name;
  decl.is_operator = true;
  decl.parameters = {{place, "a", staged::type_ast(type, place)},
                     {place, "b", staged::type_ast(type, place)}};
  decl.result = staged::type_ast(type, place);
  const Value value = [&] {
    const staged::Inside scope("the operator '" + name + "'");
    return body(staged::name("a", place), staged::name("b", place));
  }();
  decl.body = value.arg().tree();
  std::shared_ptr<const Uses> uses = staged::join(staged::uses_of(type, place), value.arg().uses(), place);
  if (identity) {
    decl.identity = identity->tree();
    uses = staged::join(uses, identity->uses(), place);
  }
  staged::check_closed("the operator '" + name + "'", uses, place);
  Op op("");
  op.name_ = name;
  op.declaration_ =
      std::make_shared<const Declaration>(Declaration{std::move(name), place, std::move(decl), uses});
  return op;
}

namespace {

/// The same operator with other properties.
staged::DeclarationPtr changed(const Op& op, bool text::FunctionDecl::*property, const Where& where) {
  if (!op.declaration())
    fail(Fault::User, "E0284", place_of(where), "'" + op.name() + "' is built in; its properties are known",
         "only operators made by op() declare properties");
  const Declaration& declaration = *op.declaration();
  text::FunctionDecl decl = std::get<text::FunctionDecl>(declaration.what);
  decl.*property = true;
  return std::make_shared<const Declaration>(
      Declaration{declaration.name, declaration.place, std::move(decl), declaration.uses});
}

}  // namespace

Op Op::associative(Where where) const {
  Op copy = *this;
  copy.declaration_ = changed(*this, &text::FunctionDecl::associative, where);
  return copy;
}

Op Op::commutative(Where where) const {
  Op copy = *this;
  copy.declaration_ = changed(*this, &text::FunctionDecl::commutative, where);
  return copy;
}

Value Op::operator()(const Arg& a, const Arg& b) const {
  return staged::build({.kind = AstKind::Call, .name = name_}, a.place(), {a, b}, {},
                       declaration_ ? staged::uses_of(declaration_) : nullptr);
}

// ---- functions ------------------------------------------------------------------------------------------

Fn staged_fn(std::string name, const std::vector<Field>& parameters, const Value& body, const Where& where) {
  const Place place = place_of(where);
  text::FunctionDecl decl;
  decl.place = place;
  decl.name = name;
  decl.body = body.arg().tree();
  std::shared_ptr<const Uses> uses = body.arg().uses();
  for (const Field& parameter : parameters) {
    decl.parameters.push_back({place, parameter.name, staged::type_ast(parameter.type, place)});
    uses = staged::join(uses, staged::uses_of(parameter.type, place), place);
  }
  staged::check_closed("the function '" + name + "'", uses, place);
  Fn fn;
  fn.declaration_ =
      std::make_shared<const Declaration>(Declaration{std::move(name), place, std::move(decl), uses});
  return fn;
}

Value Fn::operator()(const Arg& a, const Arg& b, const Arg& c, const Arg& d, const Arg& e, const Arg& f,
                     const Arg& g, const Arg& h, Where where) const {
  return staged::build({.kind = AstKind::Call, .name = declaration_->name}, place_of(where),
                       staged::given({&a, &b, &c, &d, &e, &f, &g, &h}), {}, staged::uses_of(declaration_));
}

}  // namespace twill
