// What a file declares: types, functions of scalars, and operators.
#include "program/text_lower.h"

#include "program/text_names.h"

namespace twill::text {

Function Lowering::function(const FunctionDecl& d) {
  program_.name = d.name;
  Function f;
  f.name = d.name;
  f.place = d.place;
  Scope scope;
  Context context;
  context.scope = &scope;
  context.base = d.name;
  for (const NamedType& parameter : d.parameters) {
    if (scope.names.contains(parameter.name))
      error("E0203", parameter.place, "'" + parameter.name + "' is already defined", "choose another name");
    f.parameters.push_back({parameter.name, vocabulary_.type(parameter.type)});
    const int position = static_cast<int>(f.parameters.size()) - 1;
    scope.names[parameter.name] = Value{pool_.arg(position, f.parameters.back().type, parameter.place)};
  }
  std::optional<Type> result;
  if (d.result) result = vocabulary_.type(*d.result);
  const Value body = value(*d.body, context, result ? &*result : nullptr);
  f.body = result ? convert(body, *result, d.body->place) : settle(body);
  f.result = f.body->type;
  return f;
}

Expr Lowering::constant_value(const Ast& ast, const Type& type) {
  Scope scope;
  Context context;
  context.scope = &scope;
  return convert(value(ast, context, &type), type, ast.place);
}

namespace {

class Builder {
 public:
  Builder(const File& file, std::vector<Diagnostic>& errors) : file_(file), errors_(errors) {}

  Vocabulary run() {
    for (const TypeDecl& d : file_.types) attempt(d.name, [&] { type(d); });
    for (const FunctionDecl& d : file_.functions) vocabulary_.later.insert(d.name);
    for (const Definition& d : file_.definitions) vocabulary_.later.insert(d.name);
    for (const FunctionDecl& d : file_.functions) {
      vocabulary_.later.erase(d.name);
      attempt(d.name, [&] { function(d); });
    }
    return std::move(vocabulary_);
  }

 private:
  /// What uses a declaration that is wrong is not wrong itself: it is passed over in silence.
  void attempt(const std::string& name, const std::function<void()>& action) {
    try {
      action();
      return;
    } catch (const Error& e) {
      errors_.insert(errors_.end(), e.diagnostics().begin(), e.diagnostics().end());
    } catch (const Silent&) {}
    const bool known = vocabulary_.types.contains(name) || vocabulary_.function_names.contains(name) ||
                       vocabulary_.operators.contains(name) || is_function_word(name);
    if (!known) vocabulary_.broken.insert(name);
  }

  void type(const TypeDecl& d) {
    if (scalar_named(d.name) || vocabulary_.types.contains(d.name))
      fail(Fault::User, "E0203", d.place, "the type '" + d.name + "' is already defined",
           "choose another name");
    Record record;
    record.name = d.name;
    for (const NamedType& field : d.fields) {
      if (record.field_named(field.name))
        fail(Fault::User, "E0203", field.place, "the field '" + field.name + "' is already defined",
             "choose another name");
      record.fields.push_back({field.name, vocabulary_.type(field.type)});
    }
    if (record.fields.empty())
      fail(Fault::User, "E0228", d.place, "the type '" + d.name + "' has no fields",
           "write type " + d.name + " = { name: f32 }");
    vocabulary_.types.emplace(d.name, Type(std::make_shared<const Record>(std::move(record))));
  }

  void function(const FunctionDecl& d) {
    if (is_function_word(d.name))
      fail(Fault::User, "E0204", d.place, "'" + d.name + "' is a built-in function", "choose another name");
    if (vocabulary_.function_names.contains(d.name) || vocabulary_.operators.contains(d.name))
      fail(Fault::User, "E0203", d.place, "'" + d.name + "' is already defined", "choose another name");
    if (!d.source.empty()) return derived_operator(d);
    Lowering lowering(vocabulary_, errors_);
    Function f = lowering.function(d);
    const FunctionId id{static_cast<int>(vocabulary_.functions.size())};
    if (d.is_operator) {
      if (f.parameters.size() != 2 || f.parameters[0].type != f.result || f.parameters[1].type != f.result)
        fail(Fault::User, "E0229", d.place,
             "the operator '" + d.name + "' does not combine two values of one type to a value of that type");
      DeclaredOperator op;
      op.function = id;
      op.type = f.result;
      properties(d, op);
      vocabulary_.operators.emplace(d.name, std::move(op));
    }
    vocabulary_.functions.push_back(std::move(f));
    vocabulary_.function_names.emplace(d.name, id);
  }

  void properties(const FunctionDecl& d, DeclaredOperator& op) {
    op.associative = d.associative;
    op.commutative = d.commutative;
    Lowering lowering(vocabulary_, errors_);
    if (d.identity) op.identity = lowering.constant_value(*d.identity, *op.type);
  }

  /// `op name = f …`, `op name(type) = + …`.
  void derived_operator(const FunctionDecl& d) {
    DeclaredOperator op;
    if (const auto found = vocabulary_.function_names.find(d.source);
        found != vocabulary_.function_names.end()) {
      const Function& f = vocabulary_.functions[static_cast<std::size_t>(found->second.value)];
      if (f.parameters.size() != 2 || f.parameters[0].type != f.result || f.parameters[1].type != f.result)
        fail(Fault::User, "E0229", d.place,
             "'" + d.source + "' does not combine two values of one type to a value of that type");
      op.function = found->second;
      op.type = f.result;
    } else {
      const std::optional<Prim> prim = prim_named(d.source);
      if (vocabulary_.broken.contains(d.source)) throw Silent{};
      if (!prim || !is_combiner(*prim))
        fail(Fault::User, "E0227", d.place, "unknown operator '" + d.source + "'");
      if (!d.result)
        fail(Fault::User, "E0229", d.place, "the operator '" + d.name + "' needs the type it combines",
             "write op " + d.name + "(f32) = " + d.source);
      op.prim = prim;
      op.type = vocabulary_.type(*d.result);
    }
    properties(d, op);
    vocabulary_.operators.emplace(d.name, std::move(op));
  }

  const File& file_;
  std::vector<Diagnostic>& errors_;
  Vocabulary vocabulary_;
};

}  // namespace

Vocabulary vocabulary_of(const File& file, std::vector<Diagnostic>& errors) {
  return Builder(file, errors).run();
}

}  // namespace twill::text
