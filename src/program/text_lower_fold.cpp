// Lowering of the text language: folds inside expressions, and what a condition guards.
//
// A fold inside an expression becomes a stage of its own over the indices it uses, before the stage that
// needs it. Where that would evaluate what a condition excludes, or the indices do not span a box, or the
// fold reads what the stage has computed so far, it becomes part of the block at each point instead.
#include "program/text_lower.h"

#include "program/text_names.h"

#include <algorithm>

namespace twill::text {
namespace {

/// Every expression of a stage and of the blocks in it.
void for_each_deep(const Stage& stage, const std::function<void(Expr)>& action) {
  for_each_stage({&stage, 1}, [&](const Stage& inner) { for_each_expr(inner, action); });
}

std::shared_ptr<const Block> sealed(std::vector<Stage> stages, std::vector<ArrayId> results) {
  return std::make_shared<const Block>(Block{{}, std::move(stages), std::move(results)});
}

}  // namespace

Value Lowering::fold(const Ast& ast, Context& context) {
  if (!context.sink)
    error("E0264", ast.place, "a function of scalars cannot fold",
          "fold in a definition, and call the function on the result");
  Scope scope{context.scope};
  Sink local{next_level_++, {}};
  Context inner = context;
  inner.scope = &scope;
  inner.point = &local;
  Stage stage;
  stage.place = ast.place;
  std::vector<Expr> conditions;
  std::vector<std::pair<const Ast*, std::size_t>> heads;  // and the number of their dimensions
  const Ast* body = &ast;
  while (body->kind == AstKind::Fold && (conditions.empty() || body->op == ast.op)) {
    const std::size_t before = stage.dims.size();
    declare(body->generators, {body->args[0]}, inner, stage.dims, conditions);
    heads.emplace_back(body, stage.dims.size() - before);
    body = body->args[0].get();
  }
  inner.guarded = context.guarded || !conditions.empty();
  Value value = guarded_value(*body, conditions, inner, operand_type(heads.back().first->op));
  Type type = settle(value)->type;
  for (auto head = heads.rbegin(); head != heads.rend(); ++head) type = fold_type(*head->first, type);
  Output output;
  output.place = ast.place;
  output.value = convert(value, type, body->place);
  output.guard = conjunction(conditions);
  for (const auto& [head, count] : heads) {
    const Operator op = operator_named(head->op, type, head->place);
    for (std::size_t i = 0; i < count; ++i) output.combine.emplace_back(Fold{op});
  }
  stage.outputs.push_back(std::move(output));
  const std::string name = derived(context.base + "_" + ast.name);
  stage.name = stage_name(name);
  attach_block(stage, std::move(local), name);
  count_stage(ast.place);

  const std::vector<Dim> used = used_dims(stage, context.dims);
  if (can_lift(stage, used, context)) {
    std::map<DimId, Expr> replacements;
    std::vector<Dim> outer;
    std::vector<Expr> shape, at;
    for (const Dim& dim : used) {
      Dim copy = dim;
      copy.id = program_.add_dim(dim.name);
      copy.lo = pool_.integer(0);
      copy.hi = pool_.apply(Prim::Sub, {dim.hi, dim.lo}, dim.place);
      replacements[dim.id] = pool_.apply(Prim::Add, {pool_.index(copy.id), dim.lo});
      shape.push_back(copy.hi);
      at.push_back(pool_.apply(Prim::Sub, {pool_.index(dim.id), dim.lo}));
      stage.outputs[0].at.push_back(pool_.index(copy.id));
      outer.push_back(std::move(copy));
    }
    replace_indices(stage, replacements);
    stage.dims.insert(stage.dims.begin(), outer.begin(), outer.end());
    stage.outputs[0].combine.insert(stage.outputs[0].combine.begin(), outer.size(), Cat{});
    const ArrayId array = add_array(name, type, std::move(shape), ast.place, context.sink->level);
    stage.outputs[0].array = array;
    context.sink->stages.push_back(std::move(stage));
    return {pool_.read(array, type, std::move(at), ast.place)};
  }
  if (!context.point)
    limit("E0252", ast.place, "a fold that depends on an index or on a condition is not supported here",
          "name it in a statement of its own");
  const ArrayId array = add_array(name, type, {}, ast.place, context.point->level);
  stage.outputs[0].array = array;
  context.point->stages.push_back(std::move(stage));
  return {pool_.read(array, type, {}, ast.place)};
}

/// The stages that a point needs become the stage's block; its values become results of that.
void Lowering::attach_block(Stage& stage, Sink point, const std::string& base) {
  if (point.stages.empty()) return;
  std::vector<ArrayId> results;
  for (Output& output : stage.outputs) {
    const auto* read = as<Read>(output.value);
    if (read && read->rules.empty() && level_of(read->array) == point.level)
      results.push_back(read->array);
    else
      results.push_back(scalar_stage(derived(base + "_at"), output.value, output.place, point));
    output.value = {};
  }
  stage.body = Nested{sealed(std::move(point.stages), std::move(results))};
}

ArrayId Lowering::scalar_stage(const std::string& name, Expr value, const Place& place, Sink& sink) {
  count_stage(place);
  Stage stage;
  stage.name = stage_name(name);
  stage.place = place;
  Output output;
  output.array = add_array(name, value->type, {}, place, sink.level);
  output.value = value;
  output.place = place;
  const ArrayId array = output.array;
  stage.outputs.push_back(std::move(output));
  sink.stages.push_back(std::move(stage));
  return array;
}

// ---- choices --------------------------------------------------------------------------------------------

Value Lowering::guarded_choice(Expr condition, const Ast* then, const Ast* otherwise, const Place& place,
                               Context& context, const Type* wanted) {
  Sink sinks[2] = {{next_level_++, {}}, {next_level_++, {}}};
  Value values[2];
  for (int i = 0; i < 2; ++i) {
    Context inner = context;
    inner.guarded = true;
    if (context.point) inner.point = &sinks[i];
    values[i] = value(i == 0 ? *then : *otherwise, inner, wanted);
    values[i] = values[i].open ? Value{settle(values[i])} : values[i];
  }
  if (sinks[0].stages.empty() && sinks[1].stages.empty()) {
    const Operand result = select_promoted(pool_, condition, values[0].operand(), values[1].operand(), place);
    return {result.expr, result.weak};
  }
  return branch(condition, std::move(sinks[0]), values[0], std::move(sinks[1]), values[1], place, context);
}

Value Lowering::guarded_value(const Ast& ast, const std::vector<Expr>& conditions, Context& context,
                              const Type* wanted) {
  if (conditions.empty() || !contains_fold(ast)) return value(ast, context, wanted);
  Sink then{next_level_++, {}};
  Context inner = context;
  inner.point = &then;
  inner.guarded = true;
  Value result = value(ast, inner, wanted);
  if (then.stages.empty()) return result;
  result = {settle(result)};
  return branch(conjunction(conditions), std::move(then), result, Sink{next_level_++, {}},
                {zero(result.expr->type)}, ast.place, context);
}

/// A choice with stages in its branches: a stage without dimensions in the block of the point.
Value Lowering::branch(Expr condition, Sink then, Value then_value, Sink otherwise, Value otherwise_value,
                       const Place& place, Context& context) {
  const Type type =
      select_promoted(pool_, condition, then_value.operand(), otherwise_value.operand(), place).expr->type;
  Stage stage;
  const std::string name = derived(context.base + "_if");
  stage.name = stage_name(name);
  stage.place = place;
  count_stage(place);
  const ArrayId then_result =
      scalar_stage(derived(name + "_then"), convert(then_value, type, place), place, then);
  const ArrayId other_result =
      scalar_stage(derived(name + "_else"), convert(otherwise_value, type, place), place, otherwise);
  stage.body = Branch{condition, sealed(std::move(then.stages), {then_result}),
                      sealed(std::move(otherwise.stages), {other_result})};
  Output output;
  output.place = place;
  output.array = add_array(name, type, {}, place, context.point->level);
  const ArrayId array = output.array;
  stage.outputs.push_back(std::move(output));
  context.point->stages.push_back(std::move(stage));
  return {pool_.read(array, type, {}, place)};
}

// ---- lifting ----------------------------------------------------------------------------------------------

/// The candidates that a stage uses, directly or through the bounds of one another.
std::vector<Dim> Lowering::used_dims(const Stage& stage, const std::vector<Dim>& candidates) const {
  std::set<DimId> used;
  const auto note = [&](Expr e) {
    visit(e, [&](Expr node) {
      if (const auto* index = as<IndexRef>(node)) used.insert(index->dim);
    });
  };
  for_each_deep(stage, note);
  for (auto dim = candidates.rbegin(); dim != candidates.rend(); ++dim)
    if (used.contains(dim->id)) {
      note(dim->lo);
      note(dim->hi);
    }
  std::vector<Dim> list;
  std::copy_if(candidates.begin(), candidates.end(), std::back_inserter(list),
               [&](const Dim& dim) { return used.contains(dim.id); });
  return list;
}

bool Lowering::can_lift(const Stage& stage, const std::vector<Dim>& used, const Context& context) const {
  const int level = context.sink->level;
  std::set<ArrayId> own;
  for_each_stage({&stage, 1}, [&](const Stage& inner) {
    for (const Output& output : inner.outputs)
      if (output.array) own.insert(output.array);
  });
  bool visible = true;
  for_each_deep(stage, [&](Expr e) {
    visit(e, [&](Expr node) {
      if (const auto* read = as<Read>(node))
        visible = visible && (own.contains(read->array) || level_of(read->array) <= level);
    });
  });
  bool box = true;
  for (const Dim& dim : used)
    for (const Expr end : {dim.lo, dim.hi})
      visit(end, [&](Expr node) {
        const auto* read = as<Read>(node);
        if (as<IndexRef>(node) || (read && (!read->rules.empty() || level_of(read->array) > level)))
          box = false;
      });
  if (!visible || !box) return false;
  if (!context.guarded) return true;
  if (!used.empty()) return false;
  // Under a condition: only what cannot fail, reads that walk their arrays included.
  bool total = blocks_of(stage).empty();
  const auto walks = [&](Expr subscript, Expr extent) {
    const auto* index = as<IndexRef>(subscript);
    return index && std::any_of(stage.dims.begin(), stage.dims.end(), [&](const Dim& dim) {
             const auto* lo = as<Literal>(dim.lo);
             return dim.id == index->dim && lo && lo->value.i == 0 && dim.hi == extent;
           });
  };
  for_each_deep(stage, [&](Expr e) {
    visit(e, [&](Expr node) {
      if (const auto* read = as<Read>(node)) {
        const std::vector<Expr>& shape = program_[read->array].shape;
        for (std::size_t i = 0; i < shape.size(); ++i) total = total && walks(node->args[i], shape[i]);
      } else {
        total = total && !is_partial(node, program_.functions);
      }
    });
  });
  return total;
}

void Lowering::replace_indices(Stage& stage, const std::map<DimId, Expr>& replacements) {
  if (replacements.empty()) return;
  const auto replace = [&](Expr& e) {
    if (!e) return;
    e = rewrite(pool_, e, [&](Expr node) {
      const auto* index = as<IndexRef>(node);
      const auto found = index ? replacements.find(index->dim) : replacements.end();
      return found == replacements.end() ? Expr{} : found->second;
    });
  };
  const auto replace_block = [&](std::shared_ptr<const Block>& block) {
    Block copy = *block;
    for (Stage& inner : copy.stages) replace_indices(inner, replacements);
    block = std::make_shared<const Block>(std::move(copy));
  };
  for (Dim& dim : stage.dims)
    for (Expr* e : {&dim.lo, &dim.hi, &dim.condition}) replace(*e);
  for (Output& output : stage.outputs) {
    for (Expr* e : {&output.value, &output.guard, &output.key}) replace(*e);
    for (Expr& e : output.at) replace(e);
  }
  for (Effect& effect : stage.effects) {
    replace(effect.guard);
    for (auto& argument : effect.arguments)
      if (Expr* e = std::get_if<Expr>(&argument)) replace(*e);
  }
  if (auto* nested = std::get_if<Nested>(&stage.body)) replace_block(nested->block);
  if (auto* branch = std::get_if<Branch>(&stage.body)) {
    replace(branch->condition);
    replace_block(branch->then);
    replace_block(branch->otherwise);
  }
}

// ---- operators --------------------------------------------------------------------------------------------

const Type* Lowering::operand_type(const std::string& op) const {
  const auto found = vocabulary_.operators.find(op);
  return found != vocabulary_.operators.end() && found->second.type ? &*found->second.type : nullptr;
}

Type Lowering::fold_type(const Ast& head, const Type& type) const {
  if (const Type* own = operand_type(head.op)) return *own;
  if ((head.name == "sum" || head.name == "product") && type.is_scalar()) return accumulator_type(type);
  return type;
}

Operator Lowering::operator_named(const std::string& name, const Type& type, const Place& place) {
  if (const auto found = vocabulary_.operators.find(name); found != vocabulary_.operators.end()) {
    const DeclaredOperator& declared = found->second;
    if (declared.type && *declared.type != type)
      error("E0226", place,
            "the operator '" + name + "' combines '" + to_string(*declared.type) + "', not '" +
                to_string(type) + "'");
    Operator op;
    op.type = type;
    op.prim = declared.prim;
    op.function = declared.function;
    op.identity = declared.identity;
    op.associative = declared.associative;
    op.commutative = declared.commutative;
    return op;
  }
  const std::optional<Prim> prim = prim_named(name);
  if (!prim || !is_combiner(*prim)) {
    std::vector<std::string> candidates;
    for (const PrimInfo& p : all_prims())
      if (is_combiner(p.prim)) candidates.emplace_back(p.name);
    for (const auto& [other, op] : vocabulary_.operators) candidates.push_back(other);
    if (vocabulary_.broken.contains(name)) throw Silent{};
    const std::string near = did_you_mean(name, candidates);
    const bool function = vocabulary_.function_names.contains(name);
    error("E0227", place,
          function ? "'" + name + "' is a function, not an operator" : "unknown operator '" + name + "'",
          function ? "declare it with op instead of fn, or: op " + name + "_op = " + name + " associative"
                   : near);
  }
  Operator op = builtin_operator(pool_, *prim, type);
  if (!op.prim)
    error("E0226", place, "the operator '" + name + "' does not combine '" + to_string(type) + "'",
          type.is_scalar() && is_storage_only(type.scalar()) ? "convert the values: f32(...)"
          : type.is_number() && (*prim == Prim::And || *prim == Prim::Or)
              ? "it combines truths: compare the values, for example x[i] != 0"
              : "");
  return op;
}

}  // namespace twill::text
