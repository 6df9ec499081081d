// Lowering of the text language: comprehensions, groups, scatters and new versions.
#include "program/text_lower.h"

#include "program/text_names.h"

#include <algorithm>

namespace twill::text {

std::vector<bool> kept_apart(const std::vector<Expr>& at, const std::vector<Dim>& dims, bool has_operator,
                             bool fresh) {
  const bool data = std::any_of(at.begin(), at.end(), reads_data);
  if (!data && !has_operator && !fresh) return std::vector<bool>(dims.size(), true);
  std::vector<bool> apart;
  for (const Dim& dim : dims) {
    apart.push_back(std::any_of(at.begin(), at.end(), [&](Expr e) {
      const auto* index = as<IndexRef>(e);
      return index && index->dim == dim.id;
    }));
  }
  // At least one dimension scatters: what is combined, or where the rest is zero, must be said somewhere.
  if (!apart.empty() && std::find(apart.begin(), apart.end(), false) == apart.end()) apart.back() = false;
  return apart;
}

/// `c = [ e | … ]`, `c[r] = [ e | … ]`, `c = [ [ e | … ] | … ]`: the innermost generators append.
void Lowering::collect(const Statement& s, Frame& frame) {
  const Target& target = single_target(s);
  if (!s.where.empty())
    error("E0245", s.where[0]->place, "conditions of a comprehension stand behind its bar",
          "write [ e | x in xs, condition ]");
  if (!target.into.empty()) error("E0245", target.into_place, "a collection is always new");
  const std::string name = array_name(target, frame);
  Scope scope{&frame.scope};
  Sink point{next_level_++, {}};
  Context context = context_in(frame, name, &point);
  context.scope = &scope;
  Stage stage;
  std::vector<Expr> conditions;
  declare(target.indices, {s.value}, context, stage.dims, conditions);
  const Ast* collection = s.value.get();
  while (collection->args[0]->kind == AstKind::Collect) {
    declare(collection->generators, {collection->args[0]}, context, stage.dims, conditions);
    collection = collection->args[0].get();
  }
  if (!conditions.empty())
    limit("E0256", conditions[0]->place,
          "conditions on the outer indices of a nested collection are not supported",
          "collect what passes them first, and then run over that");
  const std::size_t rows = stage.dims.size();
  for (const Dim& dim : stage.dims)
    for (const Expr end : {dim.lo, dim.hi})
      visit(end, [&](Expr node) {
        if (as<IndexRef>(node) || (as<Read>(node) && !as<Read>(node)->rules.empty()))
          limit("E0268", dim.place,
                "how many rows '" + target.name +
                    "' has depends on an index or on data: collections of three "
                    "levels are supported only if the outer two form a rectangle",
                "join the inner two levels: [ [ e | y in x, z in y ] | x in xs ]");
      });
  declare(collection->generators, {collection->args[0]}, context, stage.dims, conditions);
  if (stage.dims.size() == rows)
    error("E0246", collection->place, "this comprehension runs over nothing",
          "give it a generator: [ e | x in xs ]");
  context.guarded = !conditions.empty();
  const std::optional<Type> wanted = declared_type(target, frame);
  const Value value = guarded_value(*collection->args[0], conditions, context, wanted ? &*wanted : nullptr);
  Output output;
  output.place = target.place;
  output.value = wanted ? convert(value, *wanted, collection->args[0]->place) : settle(value);
  output.guard = conjunction(conditions);
  output.combine.assign(rows, Cat{});
  output.combine.resize(stage.dims.size(), Append{});
  const SymbolId length = program_.add_symbol(derived(name + "_len"), Symbol::Origin::Born);
  output.array = add_array(name, output.value->type, {pool_.size(length)}, target.place, frame.sink->level);
  Binding binding = View{output.array, {}, {}, {}};
  if (rows > 0) {
    Collection nested;
    nested.values = output.array;
    Expr count = pool_.integer(1);
    for (std::size_t i = 0; i < rows; ++i) {
      const Expr extent = pool_.apply(Prim::Sub, {stage.dims[i].hi, stage.dims[i].lo});
      nested.rows.push_back(extent);
      count = pool_.apply(Prim::Mul, {count, extent});
    }
    nested.offsets =
        add_array(derived(name + "_offsets"), Scalar::I64,
                  {pool_.apply(Prim::Add, {count, pool_.integer(1)})}, target.place, frame.sink->level);
    output.offsets = nested.offsets;
    binding = nested;
  }
  stage.outputs.push_back(std::move(output));
  attach_block(stage, std::move(point), name);
  stage.name = stage_name(name);
  emit(std::move(stage), s, *frame.sink);
  publish(target.name, std::move(binding), frame);
}

/// `g = group [ (key, value) | … ]`, with or without an operator.
void Lowering::group(const Statement& s, Frame& frame) {
  const Target& target = single_target(s);
  const Ast& collection = *s.value->args[0];
  if (!s.where.empty())
    error("E0245", s.where[0]->place, "conditions of a comprehension stand behind its bar",
          "write group [ (k, v) | x in xs, condition ]");
  if (target.indexed || !target.into.empty())
    error("E0245", target.place, "a group is a whole: it has no indices on the left");
  if (collection.kind != AstKind::Collect || collection.args[0]->kind != AstKind::Tuple ||
      collection.args[0]->args.size() != 2)
    error("E0247", collection.place, "a group is made of pairs", "write group [ (key, value) | x in xs ]");
  const std::string name = array_name(target, frame);
  Scope scope{&frame.scope};
  Sink point{next_level_++, {}};
  Context context = context_in(frame, name, &point);
  context.scope = &scope;
  Stage stage;
  std::vector<Expr> conditions;
  declare(collection.generators, {collection.args[0]}, context, stage.dims, conditions);
  if (stage.dims.empty())
    error("E0246", collection.place, "this comprehension runs over nothing",
          "give it a generator: [ e | x in xs ]");
  context.guarded = !conditions.empty();
  const Ast& pair = *collection.args[0];
  const std::string& op_name = s.value->op;
  const std::optional<Type> wanted =
      operand_type(op_name) ? std::optional(*operand_type(op_name)) : declared_type(target, frame);
  const Expr key = settle(guarded_value(*pair.args[0], conditions, context, nullptr));
  const Value value = guarded_value(*pair.args[1], conditions, context, wanted ? &*wanted : nullptr);
  Output output;
  output.place = target.place;
  output.key = key;
  output.value = wanted ? convert(value, *wanted, pair.args[1]->place) : settle(value);
  output.guard = conjunction(conditions);
  const Type type = output.value->type;
  Group how;
  if (!op_name.empty()) how.op = operator_named(op_name, type, s.value->place);
  output.combine.assign(stage.dims.size(), how);
  const Expr groups = pool_.size(program_.add_symbol(derived(name + "_len"), Symbol::Origin::Born));
  const Expr total =
      how.op ? groups : pool_.size(program_.add_symbol(derived(name + "_total"), Symbol::Origin::Born));
  const int level = frame.sink->level;
  Collection result;
  result.values = output.array = add_array(name, type, {total}, target.place, level);
  if (!how.op)
    result.offsets = output.offsets =
        add_array(derived(name + "_offsets"), Scalar::I64,
                  {pool_.apply(Prim::Add, {groups, pool_.integer(1)})}, target.place, level);
  result.keys = output.keys = add_array(derived(name + "_keys"), key->type, {groups}, target.place, level);
  result.rows = {groups};
  stage.outputs.push_back(std::move(output));
  attach_block(stage, std::move(point), name);
  stage.name = stage_name(name);
  emit(std::move(stage), s, *frame.sink);
  publish(target.name, std::move(result), frame);
}

/// `h: T[…] = scatter(op) { s <- v | … }` and `y = x with(op) { s <- v | … }`.
void Lowering::scatter(const Statement& s, Frame& frame) {
  const Target& target = single_target(s);
  const Ast& ast = *s.value;
  if (!s.where.empty())
    error("E0245", s.where[0]->place, "conditions of a scatter stand behind its bar",
          "write { s <- v | i, condition }");
  if (target.indexed || !target.into.empty())
    error("E0245", target.place, "a scatter writes a whole array: it has no indices on the left");
  Scope scope{&frame.scope};
  Sink point{next_level_++, {}};
  Context context = context_in(frame, target.name, &point);
  context.scope = &scope;
  Output output;
  std::vector<Expr> shape;
  std::optional<Type> type;
  if (ast.kind == AstKind::With) {
    output.into = named_array(ast.name, ast.place, frame.scope);
    type = program_[*output.into].type;
    if (open_.contains(output.into->value)) decide(*output.into, *type);
    shape = program_[*output.into].shape;
  } else {
    const TypeAst* declaration = declared(target, frame);
    const auto state = frame.carried.find(target.name);
    if (declaration && declaration->has_shape) {
      type = vocabulary_.type(*declaration);
      shape = declared_shape(*declaration, context);
    } else if (!declaration && state != frame.carried.end()) {
      type = program_[state->second].type;
      shape = program_[state->second].shape;
    } else {
      error("E0243", ast.place, "nothing tells the shape of '" + target.name + "'",
            "declare it: " + target.name + ": i64[256] = scatter(+) { ... }");
    }
  }
  const std::string name = array_name(target, frame);
  context.base = name;
  Stage stage;
  std::vector<Expr> conditions;
  declare(ast.generators, ast.args, context, stage.dims, conditions);
  context.guarded = !conditions.empty();
  if (ast.args.size() - 1 != shape.size())
    error("E0232", ast.place,
          "'" + target.name + "' has " + counted(shape.size(), "dimension") + ", but " +
              std::to_string(ast.args.size() - 1) +
              (ast.args.size() == 2 ? " subscript is given" : " subscripts are given"));
  for (std::size_t i = 1; i < ast.args.size(); ++i) {
    output.at.push_back(
        to_index(guarded_value(*ast.args[i], conditions, context, nullptr), ast.args[i]->place));
  }
  output.value = convert(guarded_value(*ast.args[0], conditions, context, &*type), *type, ast.args[0]->place);
  output.guard = conjunction(conditions);
  output.place = target.place;
  Scatter how;
  if (!ast.op.empty()) how.op = operator_named(ast.op, *type, ast.place);
  output.accumulates = output.into && how.op;
  const std::vector<bool> apart = kept_apart(output.at, stage.dims, how.op.has_value(), !output.into);
  for (std::size_t i = 0; i < stage.dims.size(); ++i) {
    if (apart[i])
      output.combine.emplace_back(Cat{});
    else
      output.combine.emplace_back(how);
  }
  if (ast.kind == AstKind::Scatter && stage.dims.empty())
    error("E0246", ast.place, "this scatter runs over nothing", "give it an index: { s <- v | i }");
  output.array = add_array(name, *type, std::move(shape), target.place, frame.sink->level);
  const ArrayId array = output.array;
  stage.outputs.push_back(std::move(output));
  attach_block(stage, std::move(point), name);
  stage.name = stage_name(name);
  emit(std::move(stage), s, *frame.sink);
  publish(target.name, View{array, {}, {}, {}}, frame);
}

}  // namespace twill::text
