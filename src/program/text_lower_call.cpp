// Lowering of the text language: calls of definitions, whose stages become stages of the caller.
#include "program/text_lower.h"

#include "program/affine_of.h"
#include "program/describe.h"
#include "program/text_names.h"

#include <algorithm>

namespace twill::text {

bool Lowering::is_call(const Ast& ast) const {
  return ast.kind == AstKind::Call && !vocabulary_.function_names.contains(ast.name) &&
         (vocabulary_.definitions.contains(ast.name) || vocabulary_.broken.contains(ast.name));
}

namespace {

/// Would it make a function of scalars?
bool of_scalars(const Definition& definition) {
  return definition.results.size() == 1 &&
         std::none_of(definition.inputs.begin(), definition.inputs.end(),
                      [](const InputAst& input) { return input.type.has_shape; });
}

}  // namespace

void Lowering::call_statement(const Statement& s, Frame& frame) {
  const Ast& call = *s.value;
  if (vocabulary_.broken.contains(call.name)) throw Silent{};
  const Definition& callee = *vocabulary_.definitions.find(call.name)->second;
  if (callee.results.size() != s.targets.size())
    error("E0237", s.place,
          "'" + call.name + "' has " + counted(callee.results.size(), "result") + ", but " +
              std::to_string(s.targets.size()) + (s.targets.size() == 1 ? " name stands" : " names stand") +
              " on the left");
  std::vector<std::string> names;
  for (const Target& target : s.targets) {
    if (target.indexed || target.type || !target.into.empty())
      error("E0244", target.place, "the result of a call is named without indices and type",
            of_scalars(callee) && target.indexed
                ? "to compute it at each point, declare a function: fn " + call.name + "(...) = ..."
                : "write " + target.name + " = " + call.name + "(...)");
    names.push_back(array_name(target, frame));
  }
  if (!s.where.empty()) error("E0245", s.where[0]->place, "a call has no conditions");
  const std::size_t before = frame.sink->stages.size();
  const std::vector<Binding> bindings = inline_call(call, frame, names);
  for (std::size_t i = before; i < frame.sink->stages.size(); ++i)
    for (const Hint hint : s.hints) frame.sink->stages[i].hints.push_back(hint);
  for (std::size_t i = 0; i < bindings.size(); ++i) publish(s.targets[i].name, bindings[i], frame);
}

std::vector<Binding> Lowering::inline_call(const Ast& call, Frame& frame,
                                           const std::vector<std::string>& names) {
  if (vocabulary_.broken.contains(call.name)) throw Silent{};
  const Definition& callee = *vocabulary_.definitions.find(call.name)->second;
  if (call.args.size() > callee.inputs.size())
    error("E0221", call.place,
          "'" + call.name + "' takes " + counted(callee.inputs.size(), "argument") + ", not " +
              std::to_string(call.args.size()));
  Frame inner;
  inner.sink = frame.sink;
  inner.prefix = names.empty() ? callee.name : names[0];
  for (std::size_t i = 0; i < callee.inputs.size(); ++i) {
    const InputAst& input = callee.inputs[i];
    const Ast* given = i < call.args.size() ? call.args[i].get() : nullptr;
    Binding binding = argument(input, given, call, frame, inner.prefix);
    if (const auto* view = std::get_if<View>(&binding))
      bind_shape(input, *view, callee, inner, given ? given->place : call.place);
    inner.scope.names[input.name] = std::move(binding);
  }
  for (std::size_t i = 0; i < names.size(); ++i) inner.exact[callee.results[i].name] = names[i];
  auto outer_results = std::exchange(results_, {});
  const auto outer_lists = std::exchange(lists_, {});
  for (const ResultAst& result : callee.results) results_.emplace(result.name, result.type);
  const std::size_t before = errors_.size();
  statements(callee.statements, inner);
  results_ = std::move(outer_results);
  lists_ = outer_lists;
  if (errors_.size() > before) throw Silent{};
  std::vector<Binding> bindings;
  for (const ResultAst& result : callee.results) {
    const Binding* binding = inner.scope.find(result.name);
    if (!binding || std::holds_alternative<Poisoned>(*binding)) throw Silent{};
    const auto* collection = std::get_if<Collection>(binding);
    if (collection && !result.part.empty())
      bindings.emplace_back(View{result.part == "keys"      ? *collection->keys
                                 : result.part == "offsets" ? *collection->offsets
                                                            : collection->values,
                                 {},
                                 {},
                                 {}});
    else
      bindings.push_back(*binding);
  }
  return bindings;
}

/// What a parameter stands for: an array of the caller, or a scalar.
Binding Lowering::argument(const InputAst& input, const Ast* given, const Ast& call, Frame& frame,
                           const std::string& base) {
  const Type type = vocabulary_.type(input.type);
  if (!given && !input.fallback)
    error("E0221", call.place, "the call of '" + call.name + "' lacks the argument '" + input.name + "'");
  const Ast& ast = given ? *given : *input.fallback;
  Context context = context_in(frame, base + "_" + input.name, nullptr);
  std::optional<View> array;
  if (is_call(ast)) {
    const std::vector<Binding> results = inline_call(ast, frame, {derived(base + "_" + input.name)});
    if (results.size() != 1)
      error("E0237", ast.place, "'" + ast.name + "' has " + std::to_string(results.size()) + " results",
            "name them in a statement of its own");
    if (const auto* view = std::get_if<View>(&results[0])) array = *view;
  } else if (given) {
    array = view(ast, context);
  }
  if (input.type.has_shape || (array && array->prefix.empty() && !array->base)) {
    if (!array)
      error("E0263", ast.place, "the argument '" + input.name + "' of '" + call.name + "' is not an array",
            "name an array in a statement of its own: " + input.name + " = ...");
    if (!array->prefix.empty() || array->base)
      limit("E0259", ast.place, "a row as an argument is not supported", "copy it: r = x[i]");
    if (open_.contains(array->array.value)) decide(array->array, type);
    const Array& actual = program_[array->array];
    if (actual.type != type)
      error("E0263", ast.place,
            "the argument '" + input.name + "' of '" + call.name + "' is '" + to_string(type) + "', not '" +
                to_string(actual.type) + "'");
    if (actual.shape.size() != input.type.shape.size())
      error("E0263", ast.place,
            "the argument '" + input.name + "' of '" + call.name + "' has " +
                counted(input.type.shape.size(), "dimension") + ", not " +
                std::to_string(actual.shape.size()));
    return *array;
  }
  const Expr value = convert(this->value(ast, context, &type), type, ast.place);
  if (as<Literal>(value)) return Value{value};
  if (const auto* read = as<Read>(value); read && read->rules.empty()) return View{read->array, {}, {}, {}};
  return View{scalar_stage(derived(base + "_" + input.name), value, ast.place, *frame.sink), {}, {}, {}};
}

namespace {

/// Are two sizes different, at least for some values of their symbols, beyond doubt?
bool differ(Expr a, Expr b) {
  const auto is_plain = [](Expr e) { return as<SizeRef>(e) || as<Literal>(e); };
  if (is_plain(a) && is_plain(b)) return a != b;
  const auto x = affine_of(a), y = affine_of(b);
  return x && y && (*x - *y).is_constant() && *x != *y;
}

}  // namespace

/// The sizes in the shape of a parameter, from the shape of the argument; those that are known already must
/// be the same.
void Lowering::bind_shape(const InputAst& input, const View& view, const Definition& callee, Frame& inner,
                          const Place& place) {
  Context context = context_in(inner, input.name, nullptr);
  for (std::size_t i = 0; i < input.type.shape.size(); ++i) {
    const Ast& ast = *input.type.shape[i];
    const Expr actual = program_[view.array].shape[i];
    const auto unknown = [&](const Ast& a) { return a.kind == AstKind::Name && !inner.scope.find(a.name); };
    if (unknown(ast)) {
      inner.scope.names[ast.name] = Value{actual};
    } else if (ast.kind == AstKind::Binary && (ast.name == "+" || ast.name == "-") && unknown(*ast.args[0])) {
      const Prim back = ast.name == "+" ? Prim::Sub : Prim::Add;
      inner.scope.names[ast.args[0]->name] =
          Value{pool_.apply(back, {actual, index_value(*ast.args[1], context)}, place)};
    } else if (ast.kind == AstKind::Binary && ast.name == "+" && unknown(*ast.args[1])) {
      inner.scope.names[ast.args[1]->name] =
          Value{pool_.apply(Prim::Sub, {actual, index_value(*ast.args[0], context)}, place)};
    } else if (ast.kind == AstKind::Name || ast.kind == AstKind::Number) {
      const Expr expected = index_value(ast, context);
      if (!differ(expected, actual)) continue;
      const std::string size = describe(program_, actual), wanted = describe(program_, expected);
      error("E0263", place,
            ast.kind == AstKind::Name
                ? "the size '" + ast.name + "' of '" + callee.name + "' is " + wanted +
                      " by the arguments before, but " + size + " by '" + input.name + "'"
                : "the argument '" + input.name + "' of '" + callee.name + "' has the size " + size +
                      ", not " + wanted,
            as<SizeRef>(actual) && as<SizeRef>(expected)
                ? "if " + wanted + " and " + size + " are always the same, use one name for both"
                : "");
    }
  }
}

}  // namespace twill::text
