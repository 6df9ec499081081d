// Lowering of the text language: scalar expressions.
#include "program/text_lower.h"

#include "base/error.h"
#include "program/text_names.h"

#include <algorithm>
#include <cmath>

namespace twill::text {

// ---- constants whose type is open -----------------------------------------------------------------------

/// Gives an open constant, and those that share its type, their type.
void Lowering::decide(ArrayId open, const Type& type) {
  const auto found = open_.find(open.value);
  if (found == open_.end()) return;
  for (const ArrayId array : std::vector(found->second)) {
    program_.arrays[static_cast<std::size_t>(array.value)].type = type;
    for (Constant& constant : program_.constants)
      if (constant.array == array)
        for (Number& element : constant.elements) element = twill::convert(element, type.scalar());
    open_.erase(array.value);
  }
}

/// Two open constants meet, as in s[j] * d[k]: what the result meets decides about both.
void Lowering::share_type(ArrayId a, ArrayId b) {
  if (a == b || std::count(open_[a.value].begin(), open_[a.value].end(), b)) return;
  std::vector<ArrayId> all = open_[a.value];
  all.insert(all.end(), open_[b.value].begin(), open_[b.value].end());
  const bool fractional = program_[a].type.is_float() || program_[b].type.is_float();
  for (const ArrayId array : all) {
    open_[array.value] = all;
    if (fractional) program_.arrays[static_cast<std::size_t>(array.value)].type = Scalar::F64;
  }
}

/// A value that reads only open constants of one type and plain literals, in another type.
Expr Lowering::retype(Expr expr, ArrayId open, const Type& type) {
  if (as<Literal>(expr)) return pool_.cast(type, expr, expr->place);
  if (const auto* read = as<Read>(expr))
    return pool_.read(read->array, type, expr->args, read->rules, {}, expr->place);
  if (as<Cast>(expr)) return retype(expr->args[0], open, type);
  std::vector<Expr> args = expr->args;
  const std::size_t first = as<Select>(expr) ? 1 : 0;
  for (std::size_t i = first; i < args.size(); ++i) args[i] = retype(args[i], open, type);
  if (as<Select>(expr)) return pool_.select(args[0], args[1], args[2], expr->place);
  return pool_.apply(as<Apply>(expr)->prim, std::move(args), expr->place);
}

/// The value next to a number of type `other`: an open constant takes that type.
Value Lowering::meet(Value value, const Type& other) {
  if (!value.open || !other.is_number()) return value;
  if (const auto found = open_.find(value.open.value); found != open_.end()) {
    const bool fractional = value.expr->type.is_float();
    Type type = is_storage_only(other.scalar()) ? Type(Scalar::F32) : other;
    if (fractional && !type.is_float()) type = Scalar::F64;
    if (type.is_integer() && is_narrow(type.scalar())) type = Scalar::I32;
    decide(value.open, type);
  }
  return {settle(value)};
}

Expr Lowering::settle(Value value) {
  if (!value.open) return value.expr;
  decide(value.open, program_[value.open].type);
  return retype(value.expr, value.open, program_[value.open].type);
}

Expr Lowering::convert(Value value, const Type& to, const Place& place) {
  value = meet(value, to);
  return convert_implicitly(pool_, value.operand(), to, place);
}

Value Lowering::apply(Prim prim, std::vector<Value> operands, const Place& place) {
  ArrayId open;
  bool undecided = true;
  const Type* strong = nullptr;
  for (const Value& operand : operands) {
    undecided = undecided && (!operand.open || open_.contains(operand.open.value));
    if (operand.open) open = operand.open;
    if (!operand.weak && operand.expr->type.is_number()) strong = &operand.expr->type;
  }
  const bool stays_open = open && undecided && !strong && info(prim).prim_class == PrimClass::Arithmetic;
  if (stays_open)
    for (const Value& operand : operands)
      if (operand.open) share_type(open, operand.open);
  std::vector<Operand> plain;
  for (Value& operand : operands) {
    if (operand.open && strong) operand = meet(operand, *strong);
    if (operand.open && !stays_open) operand = {settle(operand)};
    plain.push_back({operand.expr, operand.weak && !operand.open});
  }
  const Operand result = apply_promoted(pool_, prim, std::move(plain), place);
  if (stays_open) return {result.expr, true, open};
  return {result.expr, result.weak};
}

// ---- values ---------------------------------------------------------------------------------------------

Value Lowering::value(const Ast& ast, Context& context, const Type* wanted) {
  switch (ast.kind) {
    case AstKind::Number: return {pool_.literal(ast.number, ast.place), ast.weak};
    case AstKind::Name: return name(ast, context);
    case AstKind::Field: return field(ast, context);
    case AstKind::Subscript: return subscript(ast, context);
    case AstKind::Call: return call(ast, context);
    case AstKind::Binary: return binary(ast, context);
    case AstKind::Compare: return compare(ast, context);
    case AstKind::If: return choice(ast, context, wanted);
    case AstKind::Record: return record(ast, context, wanted);
    case AstKind::Tuple: return tuple(ast, context, wanted);
    case AstKind::Fold: return fold(ast, context);
    case AstKind::Unary: {
      const Prim prim = ast.name == "not" ? Prim::Not : Prim::Neg;
      return apply(prim, {value(*ast.args[0], context)}, ast.place);
    }
    case AstKind::Let: {
      Scope inner{context.scope};
      inner.names[ast.name] = value(*ast.args[0], context);
      Context nested = context;
      nested.scope = &inner;
      return value(*ast.args[1], nested, wanted);
    }
    case AstKind::Limit: {
      const Type type = vocabulary_.type(ast.type);
      if (!type.is_number())
        error("E0210", ast.type.place, "'" + to_string(type) + "' has no largest and smallest value");
      return {pool_.literal(ast.name == "max" ? highest(type.scalar()) : lowest(type.scalar()), ast.place)};
    }
    case AstKind::Scan:
    case AstKind::SeqOver:
      error("E0211", ast.place,
            "'" + std::string(ast.kind == AstKind::Scan ? ast.name : "seq") +
                "' stands first on the right-hand side",
            "name it in a statement of its own");
    case AstKind::List:
    case AstKind::Collect:
    case AstKind::Group:
    case AstKind::Scatter:
    case AstKind::With:
      error("E0212", ast.place, "an array stands where a number is expected",
            "name it in a statement of its own");
    case AstKind::Random:
      error("E0212", ast.place, "random data belong into a binding or an argument of a test");
  }
  throw Silent{};
}

Value Lowering::name(const Ast& ast, Context& context) {
  const Binding* binding = context.scope->find(ast.name);
  if (!binding) unknown_name(ast, context);
  if (std::holds_alternative<Poisoned>(*binding)) throw Silent{};
  if (const auto* bound = std::get_if<Value>(binding)) return *bound;
  if (const auto* index = std::get_if<IndexBinding>(binding)) return {pool_.index(index->dim, ast.place)};
  if (const auto* bound = std::get_if<View>(binding))
    if (!bound->base && static_cast<int>(bound->prefix.size()) == program_[bound->array].rank())
      return read(*bound, {}, 0, ast, context);
  array_without_subscripts(ast, context);
}

/// Reports a whole array that stands where one of its elements should.
void Lowering::array_without_subscripts(const Ast& ast, Context& context) {
  const std::string name = ast.kind == AstKind::Field ? ast.args[0]->name + "." + ast.name : ast.name;
  const std::optional<View> array = view(ast, context);
  std::string subscripts = "r][k";  // of a nested collection
  if (array) {
    const std::size_t rank = program_[array->array].shape.size() - array->prefix.size();
    subscripts = example_subscripts(rank);
  }
  error("E0231", ast.place, "'" + name + "' is an array; an element of it needs subscripts",
        "write " + name + "[" + subscripts + "]");
}

void Lowering::unknown_field(const Type& type, const std::string& name, const Place& place) const {
  std::vector<std::string> fields;
  for (const Field& f : type.record().fields) fields.push_back(f.name);
  const std::string near = did_you_mean(name, fields);
  error("E0214", place, "'" + to_string(type) + "' has no field '" + name + "'",
        near.empty() ? "it has " + listed(fields) : near);
}

Value Lowering::field(const Ast& ast, Context& context) {
  if (collection(*ast.args[0], context) && view(ast, context)) array_without_subscripts(ast, context);
  const Expr base = settle(value(*ast.args[0], context));
  if (!base->type.is_record())
    error("E0213", ast.place,
          "'" + to_string(base->type) + "' has no field '" + ast.name + "': it is no record");
  const std::optional<int> position = base->type.record().field_named(ast.name);
  if (!position) unknown_field(base->type, ast.name, ast.place);
  return {pool_.field(base, *position, ast.place)};
}

// ---- arrays -----------------------------------------------------------------------------------------------

const Collection* Lowering::collection(const Ast& ast, const Context& context) const {
  if (ast.kind != AstKind::Name) return nullptr;
  const Binding* binding = context.scope->find_array(ast.name);
  return binding ? std::get_if<Collection>(binding) : nullptr;
}

/// The array or row that an expression names; nothing if it is not one.
std::optional<View> Lowering::view(const Ast& ast, Context& context) {
  if (ast.kind == AstKind::Name) {
    const Binding* binding = context.scope->find_array(ast.name);
    if (!binding) return std::nullopt;
    if (std::holds_alternative<Poisoned>(*binding)) throw Silent{};
    if (const auto* bound = std::get_if<View>(binding)) return *bound;
    if (const auto* bound = std::get_if<Collection>(binding))
      if (!bound->offsets) return View{bound->values, {}, {}, {}};
    return std::nullopt;
  }
  if (ast.kind == AstKind::Field) {
    const Collection* c = collection(*ast.args[0], context);
    if (!c) return std::nullopt;
    if (ast.name == "values") return View{c->values, {}, {}, {}};
    if (ast.name == "offsets" && c->offsets) return View{*c->offsets, {}, {}, {}};
    if (ast.name == "keys" && c->keys) return View{*c->keys, {}, {}, {}};
    return std::nullopt;
  }
  if (ast.kind != AstKind::Subscript) return std::nullopt;
  if (const Collection* c = collection(*ast.args[0], context); c && c->offsets) {
    if (ast.args.size() - 1 != c->rows.size())
      error("E0232", ast.place,
            "a row of this collection has " + counted(c->rows.size(), "subscript") + ", not " +
                std::to_string(ast.args.size() - 1),
            "write " + ast.args[0]->name + "[" + example_subscripts(c->rows.size()) + "]");
    Expr row;
    for (std::size_t i = 0; i < c->rows.size(); ++i) {
      const Expr subscript = index_value(*ast.args[i + 1], context);
      row = row ? pool_.apply(Prim::Add, {pool_.apply(Prim::Mul, {row, c->rows[i]}), subscript}) : subscript;
    }
    const Type type = Scalar::I64;
    const Expr base = pool_.read(*c->offsets, type, {row}, ast.place);
    const Expr next =
        pool_.read(*c->offsets, type, {pool_.apply(Prim::Add, {row, pool_.integer(1)})}, ast.place);
    return View{c->values, {}, base, pool_.apply(Prim::Sub, {next, base})};
  }
  std::optional<View> base = view(*ast.args[0], context);
  if (!base) return std::nullopt;
  const std::size_t rest = program_[base->array].shape.size() - base->prefix.size();
  if (ast.args.size() - 1 >= rest) return std::nullopt;  // an element
  for (std::size_t i = 1; i < ast.args.size(); ++i) {
    Expr subscript = index_value(*ast.args[i], context);
    if (base->base) subscript = in_row(*base, subscript, context);
    base->base = base->length = {};
    base->prefix.push_back(subscript);
  }
  return base;
}

/// Where element k of a row is: nowhere, if the row is shorter, although there may be another row. An index
/// that runs over the row is inside anyway.
Expr Lowering::in_row(const View& row, Expr k, const Context& context) {
  const Expr at = pool_.apply(Prim::Add, {row.base, k});
  const auto* index = as<IndexRef>(k);
  const bool runs_over = index && std::any_of(context.dims.begin(), context.dims.end(), [&](const Dim& dim) {
                           const auto* lo = as<Literal>(dim.lo);
                           return dim.id == index->dim && lo && lo->value.i >= 0 && dim.hi == row.length;
                         });
  if (runs_over) return at;
  const Expr inside = pool_.apply(
      Prim::And, {pool_.apply(Prim::Le, {pool_.integer(0), k}), pool_.apply(Prim::Lt, {k, row.length})});
  return pool_.select(inside, at, pool_.integer(-1));
}

Expr Lowering::extent(const View& view, int dimension) const {
  if (view.base && dimension == 0) return view.length;
  return program_[view.array].shape[view.prefix.size() + static_cast<std::size_t>(dimension)];
}

Expr Lowering::length(const Ast& ast, Context& context) {
  if (const Collection* c = collection(ast, context)) {
    if (c->keys) return program_[*c->keys].shape[0];
    Expr rows = c->rows[0];
    for (std::size_t i = 1; i < c->rows.size(); ++i) rows = pool_.apply(Prim::Mul, {rows, c->rows[i]});
    return rows;
  }
  const std::optional<View> array = view(ast, context);
  if (!array || program_[array->array].shape.size() == array->prefix.size()) return {};
  return extent(*array, 0);
}

Value Lowering::subscript(const Ast& ast, Context& context) {
  const Ast& base = *ast.args[0];
  if (base.kind == AstKind::Name) {
    const Binding* binding = context.scope->find_array(base.name);
    if (!binding && !context.scope->find(base.name)) unknown_name(base, context);
    if (binding && std::holds_alternative<OwnBinding>(*binding)) {
      for (std::size_t i = 1; i < ast.args.size(); ++i)
        if (ast.args[i]->kind != AstKind::Call) index_value(*ast.args[i], context);
      return {pool_.integer(0), true};
    }
  }
  if (const Collection* c = collection(base, context); c && c->offsets)
    error("E0231", ast.place,
          "a row of '" + base.name + "' is a collection; an element of it needs another subscript",
          "write " + base.name + "[r][k]");
  const std::optional<View> array = view(base, context);
  if (!array)
    error("E0215", ast.place,
          base.kind == AstKind::Name ? "'" + base.name + "' is not an array, so it has no subscripts"
                                     : "only arrays have subscripts");
  return read(*array, ast.args, 1, ast, context);
}

Value Lowering::read(const View& view, const std::vector<AstPtr>& subscripts, std::size_t first,
                     const Ast& ast, Context& context) {
  const Array array = program_[view.array];
  const std::size_t given = subscripts.size() - std::min(first, subscripts.size());
  const std::size_t rest = array.shape.size() - view.prefix.size();
  if (given != rest)
    error("E0232", ast.place,
          "'" + array.name + "' has " + counted(rest, "dimension") + ", not " + std::to_string(given),
          rest == 0 ? "it is a scalar: write " + array.name
                    : "write " + array.name + "[" + example_subscripts(rest) + "]");
  std::vector<Expr> at = view.prefix;
  std::vector<Boundary> rules(at.size(), Boundary::Inside);
  Expr fallback;
  for (std::size_t i = first; i < subscripts.size(); ++i) {
    const Ast* subscript = subscripts[i].get();
    Boundary rule = Boundary::Inside;
    if (subscript->kind == AstKind::Call) {
      const Ast& word = *subscript;
      rule = word.name == "clamp"    ? Boundary::Clamp
             : word.name == "mirror" ? Boundary::Mirror
             : word.name == "wrap"   ? Boundary::Wrap
             : word.name == "pad"    ? Boundary::Constant
                                     : Boundary::Inside;
      if (rule != Boundary::Inside) {
        const std::size_t most = rule == Boundary::Constant ? 2 : 1;
        if (word.args.empty() || word.args.size() > most)
          error("E0221", word.place,
                "'" + word.name + "' takes " + (most == 2 ? "a subscript and a value" : "one subscript"));
        if (word.args.size() == 2) {
          const Expr given_value =
              convert(value(*word.args[1], context, &array.type), array.type, word.args[1]->place);
          if (fallback && fallback != given_value)
            error("E0216", word.place, "a read has one value outside of its array, not two",
                  "give the value once: x[pad(i, v), pad(j)]");
          fallback = given_value;
        }
        subscript = word.args[0].get();
      }
    }
    Expr index = index_value(*subscript, context);
    if (view.base && i == first) {
      if (rule != Boundary::Inside)
        limit("E0251", subscripts[i]->place,
              "boundary rules on a row of a nested collection are not supported");
      index = in_row(view, index, context);
    }
    at.push_back(index);
    rules.push_back(rule);
  }
  if (!fallback && std::find(rules.begin(), rules.end(), Boundary::Constant) != rules.end())
    fallback = zero(array.type);
  const Expr result =
      pool_.read(view.array, array.type, std::move(at), std::move(rules), fallback, ast.place);
  if (open_.contains(view.array.value)) {
    if (!fallback) return {result, true, view.array};
    decide(view.array, array.type);
  }
  return {result};
}

Expr Lowering::to_index(const Value& value, const Place& place) {
  const Expr expr = settle(value);
  if (!expr->type.is_integer())
    error("E0230", place, "a subscript, bound or size is an integer, not '" + to_string(expr->type) + "'",
          expr->type.is_float() ? "convert it explicitly: i64(...)" : "");
  return pool_.cast(Scalar::I64, expr, place);
}

Expr Lowering::index_value(const Ast& ast, Context& context) {
  return to_index(value(ast, context), ast.place);
}

Expr Lowering::condition(const Ast& ast, Context& context) { return truth(value(ast, context), ast.place); }

Expr Lowering::truth(const Value& value, const Place& place) {
  const Expr expr = settle(value);
  if (!expr->type.is(Scalar::Bool))
    error("E0222", place, "a condition is a bool, not '" + to_string(expr->type) + "'",
          "compare it, for example x != 0");
  return expr;
}

Expr Lowering::zero(const Type& type) {
  if (type.is_scalar()) return pool_.literal(Number::of(type.scalar(), 0));
  std::vector<Expr> fields;
  for (const Field& f : type.record().fields) fields.push_back(zero(f.type));
  return pool_.make(type, std::move(fields));
}

// ---- operations -------------------------------------------------------------------------------------------

Value Lowering::binary(const Ast& ast, Context& context) {
  static const std::map<std::string, Prim, std::less<>> prims = {
      {"+", Prim::Add}, {"-", Prim::Sub},   {"*", Prim::Mul}, {"/", Prim::Div},
      {"%", Prim::Mod}, {"and", Prim::And}, {"or", Prim::Or}};
  const Prim prim = prims.find(ast.name)->second;
  const bool lazy = prim == Prim::And || prim == Prim::Or;
  if (lazy && contains_fold(*ast.args[1])) {
    const Value first{condition(*ast.args[0], context)};
    Sink local{next_level_++, {}};
    Context inner = context;
    inner.guarded = true;
    if (context.point) inner.point = &local;
    Value second{condition(*ast.args[1], inner)};
    if (!local.stages.empty()) {
      Sink other{next_level_++, {}};
      const Value decided{pool_.boolean(prim == Prim::Or, ast.place)};
      second =
          prim == Prim::And
              ? branch(first.expr, std::move(local), second, std::move(other), decided, ast.place, context)
              : branch(first.expr, std::move(other), decided, std::move(local), second, ast.place, context);
    }
    // What the first operand says is said again, so that it is known wherever the whole holds.
    return apply(prim, {first, second}, ast.place);
  }
  const Value left = value(*ast.args[0], context);
  return apply(prim, {left, value(*ast.args[1], context)}, ast.place);
}

Value Lowering::compare(const Ast& ast, Context& context) {
  Expr all;
  Value left = value(*ast.args[0], context);
  for (std::size_t i = 1; i < ast.args.size(); ++i) {
    const Value right = value(*ast.args[i], context);
    const std::string& op = ast.words[i - 1];
    const Value result = op == "~" || op == "==" ? equal(left, right, op == "~", ast.place)
                                                 : apply(*prim_named(op), {left, right}, ast.place);
    all = all ? pool_.apply(Prim::And, {all, settle(result)}, ast.place) : settle(result);
    left = right;
  }
  return {all};
}

/// Equality; records field by field. Approximately: |a - b| <= tolerance * max(1, |b|) for floats.
Value Lowering::equal(const Value& a, const Value& b, bool approximately, const Place& place) {
  if (a.expr->type.is_record() && a.expr->type == b.expr->type) {
    Expr all;
    for (std::size_t i = 0; i < a.expr->type.record().fields.size(); ++i) {
      const int f = static_cast<int>(i);
      const Expr part =
          equal({pool_.field(a.expr, f, place)}, {pool_.field(b.expr, f, place)}, approximately, place).expr;
      all = all ? pool_.apply(Prim::And, {all, part}, place) : part;
    }
    return {all};
  }
  const bool numbers = a.expr->type.is_number() && b.expr->type.is_number();
  const Value difference = numbers && approximately ? apply(Prim::Sub, {a, b}, place) : Value{};
  if (!difference.expr || !difference.expr->type.is_float()) return apply(Prim::Eq, {a, b}, place);
  const Expr x = settle(difference);
  const Expr right = convert(b, x->type, place);
  const Expr one = pool_.literal(Number::of_double(x->type.scalar(), 1));
  const Expr tolerance =
      pool_.literal(Number::of_double(x->type.scalar(), x->type.is(Scalar::F64) ? 1e-9 : 1e-4));
  const Expr size = pool_.apply(Prim::Max, {one, pool_.apply(Prim::Abs, {right}, place)}, place);
  return {pool_.apply(Prim::Le,
                      {pool_.apply(Prim::Abs, {x}, place), pool_.apply(Prim::Mul, {tolerance, size}, place)},
                      place)};
}

Value Lowering::choice(const Ast& ast, Context& context, const Type* wanted) {
  const Expr c = condition(*ast.args[0], context);
  if (contains_fold(*ast.args[1]) || contains_fold(*ast.args[2]))
    return guarded_choice(c, ast.args[1].get(), ast.args[2].get(), ast.place, context, wanted);
  Value then = value(*ast.args[1], context, wanted);
  Value otherwise = value(*ast.args[2], context,
                          wanted                        ? wanted
                          : then.expr->type.is_record() ? &then.expr->type
                                                        : nullptr);
  if (then.open && !otherwise.weak) then = meet(then, otherwise.expr->type);
  if (otherwise.open && !then.weak) otherwise = meet(otherwise, then.expr->type);
  const ArrayId open = then.open ? then.open : otherwise.open;
  if (then.open && otherwise.open && open_.contains(then.open.value) && open_.contains(otherwise.open.value))
    share_type(then.open, otherwise.open);
  const auto is_undecided = [&](const Value& v) { return !v.open || open_.contains(v.open.value); };
  if (open && is_undecided(then) && is_undecided(otherwise)) {
    const Operand result = select_promoted(pool_, c, {then.expr, then.weak && !then.open},
                                           {otherwise.expr, otherwise.weak && !otherwise.open}, ast.place);
    return {result.expr, true, open};
  }
  if (then.open) then = {settle(then)};
  if (otherwise.open) otherwise = {settle(otherwise)};
  const Operand result = select_promoted(pool_, c, then.operand(), otherwise.operand(), ast.place);
  return {result.expr, result.weak};
}

Value Lowering::record(const Ast& ast, Context& context, const Type* wanted) {
  std::optional<Type> type;
  if (!ast.name.empty()) {
    TypeAst written;
    written.place = ast.place;
    written.name = ast.name;
    type = vocabulary_.type(written);
    if (!type->is_record())
      error("E0217", ast.place, "'" + ast.name + "' is no record",
            "a number is converted with parentheses: " + ast.name + "(...)");
  } else if (wanted && wanted->is_record()) {
    type = *wanted;
  } else {
    for (const auto& [name, candidate] : vocabulary_.types) {
      const std::vector<Field>& fields = candidate.record().fields;
      const bool fits =
          fields.size() == ast.words.size() && std::all_of(fields.begin(), fields.end(), [&](const Field& f) {
            return std::count(ast.words.begin(), ast.words.end(), f.name);
          });
      if (!fits) continue;
      if (type)
        error("E0217", ast.place, "several types have these fields",
              "write the name of the type before the brace: " + name + " { ... }");
      type = candidate;
    }
    if (!type)
      error("E0217", ast.place, "no type has exactly these fields", "declare it: type Name = { ... }");
  }
  const Record& fields = type->record();
  std::vector<Expr> values(fields.fields.size());
  for (std::size_t i = 0; i < ast.words.size(); ++i) {
    const std::optional<int> position = fields.field_named(ast.words[i]);
    if (!position) unknown_field(*type, ast.words[i], ast.word_places[i]);
    Expr& slot = values[static_cast<std::size_t>(*position)];
    if (slot) error("E0218", ast.word_places[i], "the field '" + ast.words[i] + "' is given twice");
    const Type& field_type = fields.fields[static_cast<std::size_t>(*position)].type;
    slot = convert(value(*ast.args[i], context, &field_type), field_type, ast.args[i]->place);
  }
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!values[i]) error("E0218", ast.place, "the field '" + fields.fields[i].name + "' is missing");
  return {pool_.make(*type, std::move(values), ast.place)};
}

Value Lowering::tuple(const Ast& ast, Context& context, const Type* wanted) {
  const bool known = wanted && wanted->is_record() && wanted->record().name.empty() &&
                     wanted->record().fields.size() == ast.args.size();
  Record record;
  std::vector<Expr> fields;
  for (std::size_t i = 0; i < ast.args.size(); ++i) {
    const Type* type = known ? &wanted->record().fields[i].type : nullptr;
    const Value item = value(*ast.args[i], context, type);
    fields.push_back(type ? convert(item, *type, ast.args[i]->place) : settle(item));
    record.fields.push_back({std::to_string(i), fields.back()->type});
  }
  return {pool_.make(std::make_shared<const Record>(std::move(record)), std::move(fields), ast.place)};
}

Value Lowering::call(const Ast& ast, Context& context) {
  const std::string& name = ast.name;
  const auto arity = [&](std::size_t n) {
    if (ast.args.size() != n)
      error("E0221", ast.place,
            "'" + name + "' takes " + counted(n, "argument") + ", not " + std::to_string(ast.args.size()));
  };
  if (const auto found = vocabulary_.function_names.find(name); found != vocabulary_.function_names.end()) {
    const Function& function = vocabulary_.functions[static_cast<std::size_t>(found->second.value)];
    arity(function.parameters.size());
    std::vector<Expr> arguments;
    for (std::size_t i = 0; i < ast.args.size(); ++i) {
      const Type& type = function.parameters[i].type;
      arguments.push_back(convert(value(*ast.args[i], context, &type), type, ast.args[i]->place));
    }
    return {pool_.invoke(found->second, function.result, std::move(arguments), ast.place)};
  }
  if (const auto scalar = scalar_named(name)) {
    arity(1);
    const Expr argument = settle(value(*ast.args[0], context));
    if (!argument->type.is_scalar())
      error("E0225", ast.place, "'" + to_string(argument->type) + "' does not become '" + name + "'");
    return {pool_.cast(*scalar, argument, ast.place)};
  }
  if (name == "len") {
    arity(1);
    const Expr result = length(*ast.args[0], context);
    if (!result) error("E0215", ast.args[0]->place, "'len' takes an array or a collection");
    return {result};
  }
  if (name == "size") {
    arity(2);
    const std::optional<View> array = view(*ast.args[0], context);
    if (!array) error("E0215", ast.args[0]->place, "'size' takes an array");
    const Ast& d = *ast.args[1];
    const int rank = program_[array->array].rank() - static_cast<int>(array->prefix.size());
    if (d.kind != AstKind::Number || !is_integer(d.number.type) || d.number.i < 0 || d.number.i >= rank)
      error(
          "E0232", d.place,
          "'" + program_[array->array].name + "' has " + counted(static_cast<std::size_t>(rank), "dimension"),
          "dimensions are counted from 0");
    return {extent(*array, static_cast<int>(d.number.i))};
  }
  if (name == "clamp" || name == "mirror" || name == "wrap" || name == "pad")
    error("E0236", ast.place, "'" + name + "' is the boundary rule of a subscript",
          "use it as in x[" + name + "(i - 1)]");
  const std::optional<Prim> prim = prim_named(name);
  if (prim && info(*prim).precedence == 0) {
    arity(static_cast<std::size_t>(info(*prim).arity));
    std::vector<Value> operands;
    for (const AstPtr& arg : ast.args) operands.push_back(value(*arg, context));
    return apply(*prim, std::move(operands), ast.place);
  }
  if (vocabulary_.definitions.contains(name))
    error("E0219", ast.place, "the definition '" + name + "' is called inside an expression",
          "name its result in a statement of its own, r = " + name +
              "(...), or declare a function of scalars: fn " + name + "(...) = ...");
  unknown_function(ast, context);
}

}  // namespace twill::text
