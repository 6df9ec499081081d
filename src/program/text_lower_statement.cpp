// Lowering of the text language: lists of statements, loops, effects and the general stage.
#include "program/text_lower.h"

#include "program/buckets.h"
#include "program/text_names.h"

#include <algorithm>

namespace twill::text {

void defined_names(const std::vector<Statement>& list, std::vector<std::string>& names) {
  for (const Statement& s : list) {
    for (const Target& target : s.targets) names.push_back(target.name);
    if (s.stage)
      for (const OutAst& out : s.stage->outs) names.push_back(out.name);
    if (s.kind != Statement::Kind::If) continue;
    std::vector<std::string> then, otherwise;
    defined_names(s.body, then);
    defined_names(s.otherwise, otherwise);
    for (const std::string& name : then)
      if (std::count(otherwise.begin(), otherwise.end(), name)) names.push_back(name);
  }
}

void Lowering::statements(const std::vector<Statement>& list, Frame& frame) {
  lists_.emplace_back(&list, 0);
  for (const Statement& s : list) {
    lists_.back().second = static_cast<std::size_t>(&s - list.data());
    const auto poison = [&] {
      failed_ = true;
      std::vector<std::string> names;
      defined_names({s}, names);
      for (const std::string& name : names) {
        if (frame.defined.contains(name)) continue;
        frame.scope.names[name] = Poisoned{};
      }
    };
    try {
      statement(s, frame);
    } catch (const Error& e) {
      errors_.insert(errors_.end(), e.diagnostics().begin(), e.diagnostics().end());
      poison();
      if (e.diagnostics()[0].code == "E0250") throw Silent{};
    } catch (const Silent&) {
      poison();
    }
  }
  lists_.pop_back();
}

void Lowering::statement(const Statement& s, Frame& frame) {
  switch (s.kind) {
    case Statement::Kind::Define: return define(s, frame);
    case Statement::Kind::Const: return constant(s.targets[0], *s.value, frame);
    case Statement::Kind::Loop: return loop(s, frame);
    case Statement::Kind::If: return choose(s, frame);
    case Statement::Kind::For: return effects(s, frame);
    case Statement::Kind::Force: return force(s, frame);
    case Statement::Kind::Stage: return general(s, frame);
  }
}

ArrayId Lowering::named_array(const std::string& name, const Place& place, const Scope& scope) const {
  const Binding* binding = scope.find(name);
  if (!binding) {
    Context context;
    Scope copy = scope;
    context.scope = &copy;
    unknown_name(Ast{.kind = AstKind::Name, .place = place, .name = name}, context);
  }
  if (std::holds_alternative<Poisoned>(*binding)) throw Silent{};
  if (const auto* view = std::get_if<View>(binding); view && view->prefix.empty() && !view->base)
    return view->array;
  if (const auto* collection = std::get_if<Collection>(binding)) return collection->values;
  error("E0248", place, "'" + name + "' is not an array");
}

// ---- loops ------------------------------------------------------------------------------------------------

namespace {

/// What to do about a loop that does not define a state.
std::string next_state_help(const Statement& loop, const std::set<std::string>& defined,
                            const std::string& state) {
  std::vector<std::string> others;
  for (const std::string& name : defined)
    if (std::none_of(loop.targets.begin(), loop.targets.end(),
                     [&](const Target& target) { return target.name == name; }))
      others.push_back(name);
  const std::string near = did_you_mean(state, others);
  return near.empty() ? "define it in the braces: " + state + " = ..." : near;
}

}  // namespace

void Lowering::loop(const Statement& s, Frame& frame) {
  if (s.from.size() != s.targets.size())
    error("E0237", s.place,
          counted(s.targets.size(), "state") + " on the left, " + std::to_string(s.from.size()) +
              (s.from.size() == 1 ? " initial value" : " initial values"));
  std::vector<std::string> names;
  for (const Target& target : s.targets) {
    if (target.indexed || target.type || !target.into.empty())
      error("E0244", target.place,
            "the state of a loop is named without indices and type; it has those of its initial value",
            "write " + target.name + " = seq ...");
    names.push_back(array_name(target, frame));
  }
  Sink sink{next_level_++, {}};
  Frame inner;
  inner.scope.parent = &frame.scope;
  inner.sink = &sink;
  inner.prefix = frame.prefix;
  Block block;
  for (std::size_t i = 0; i < s.targets.size(); ++i) {
    const Ast& from = *s.from[i];
    Context context = context_in(frame, names[i], nullptr);
    std::optional<View> init;
    if (from.kind == AstKind::Name || from.kind == AstKind::Subscript || from.kind == AstKind::Field)
      init = view(from, context);
    Carry carry;
    if (init && init->prefix.empty() && !init->base) {
      carry.init = init->array;
      if (open_.contains(carry.init.value)) decide(carry.init, program_[carry.init].type);
    } else if (init && program_[init->array].shape.size() > init->prefix.size()) {
      error("E0248", from.place, "a loop starts from a whole array",
            "name the row in a statement of its own");
    } else {
      const Expr value = settle(this->value(from, context));
      carry.init = scalar_stage(derived(names[i] + "_init"), value, from.place, *frame.sink);
    }
    const Array initial = program_[carry.init];
    const std::string inside = derived(names[i] + "_now");
    carry.inside = add_array(inside, initial.type, initial.shape, s.targets[i].place, sink.level);
    inner.scope.names[s.targets[i].name] = View{carry.inside, {}, {}, {}};
    inner.scope.names[inside] = View{carry.inside, {}, {}, {}};
    inner.carried[s.targets[i].name] = carry.inside;
    inner.renamed[s.targets[i].name] = names[i] + "_next";
    block.carries.push_back(carry);
  }
  Stage stage;
  Dim dim;
  dim.name = s.name.empty() ? "step" : s.name;
  dim.place = s.place;
  Context bounds = context_in(frame, names[0], nullptr);
  dim.lo = s.lo ? index_value(*s.lo, bounds) : pool_.integer(0);
  if (s.hi) dim.hi = index_value(*s.hi, bounds);
  const bool hides = s.name.empty() && frame.scope.find(dim.name);
  dim.id = s.name.empty() ? program_.add_dim(dim.name) : add_index(dim.name, s.place, frame.scope);
  if (!hides) inner.scope.names[dim.name] = IndexBinding{dim.id};
  // A condition that folds is a state: its value for the next step is computed at the end of each.
  const bool folds = s.value && contains_fold(*s.value);
  const std::string goes_on = folds ? derived(names[0] + "_while") : "";
  if (folds) {
    Scope before{&frame.scope};
    for (std::size_t i = 0; i < s.targets.size(); ++i)
      before.names[s.targets[i].name] = View{block.carries[i].init, {}, {}, {}};
    before.names[dim.name] = Value{dim.lo};
    Carry carry;
    carry.init = truth_stage(derived(goes_on + "_init"), *s.value, before, *frame.sink);
    carry.inside = add_array(derived(goes_on + "_now"), Scalar::Bool, {}, s.value->place, sink.level);
    block.carries.push_back(carry);
    dim.condition = pool_.read(carry.inside, Scalar::Bool, {}, s.value->place);
  } else if (s.value) {
    Context condition_context = context_in(inner, names[0], nullptr);
    dim.condition = condition(*s.value, condition_context);
  }
  stage.dims.push_back(dim);
  statements(s.body, inner);
  for (std::size_t i = 0; i < s.targets.size(); ++i) {
    const std::string& name = s.targets[i].name;
    const Binding* next = inner.scope.find(inner.defined.contains(name) ? name : name + "_next");
    if (inner.scope.names.contains(name) && std::holds_alternative<Poisoned>(inner.scope.names[name]))
      throw Silent{};
    const auto* view = next ? std::get_if<View>(next) : nullptr;
    if (!view)
      error("E0241", s.targets[i].place, "the body of the loop does not define the next '" + name + "'",
            next_state_help(s, inner.defined, name));
    block.carries[i].next = view->array;
    block.results.push_back(view->array);
    Output output;
    output.place = s.targets[i].place;
    output.combine.emplace_back(Seq{true});
    const Array initial = program_[block.carries[i].init];
    output.array = add_array(names[i], initial.type, initial.shape, s.targets[i].place, frame.sink->level);
    stage.outputs.push_back(std::move(output));
  }
  if (folds) {
    Scope after{&inner.scope};
    for (std::size_t i = 0; i < s.targets.size(); ++i)
      after.names[s.targets[i].name] = View{block.carries[i].next, {}, {}, {}};
    after.names[dim.name] = Value{pool_.apply(Prim::Add, {pool_.index(dim.id), pool_.integer(1)})};
    const ArrayId next = truth_stage(derived(goes_on + "_next"), *s.value, after, sink);
    block.carries.back().next = next;
    block.results.push_back(next);
    Output output;
    output.place = s.value->place;
    output.combine.emplace_back(Seq{true});
    output.array = add_array(goes_on, Scalar::Bool, {}, s.value->place, frame.sink->level);
    stage.outputs.push_back(std::move(output));
  }
  block.stages = std::move(sink.stages);
  stage.body = Nested{std::make_shared<const Block>(std::move(block))};
  stage.name = stage_name(names[0]);
  const std::vector<Output> outputs = stage.outputs;
  emit(std::move(stage), s, *frame.sink);
  for (std::size_t i = 0; i < s.targets.size(); ++i)
    publish(s.targets[i].name, View{outputs[i].array, {}, {}, {}}, frame);
}

/// A stage that computes a condition, folds and all.
ArrayId Lowering::truth_stage(const std::string& name, const Ast& ast, Scope& scope, Sink& sink) {
  Sink point{next_level_++, {}};
  Context context;
  context.scope = &scope;
  context.sink = &sink;
  context.point = &point;
  context.base = name;
  Stage stage;
  stage.place = ast.place;
  Output output;
  output.place = ast.place;
  output.value = condition(ast, context);
  stage.outputs.push_back(std::move(output));
  attach_block(stage, std::move(point), name);
  const ArrayId array = add_array(name, Scalar::Bool, {}, ast.place, sink.level);
  stage.outputs[0].array = array;
  stage.name = stage_name(name);
  count_stage(ast.place);
  sink.stages.push_back(std::move(stage));
  return array;
}

// ---- effects
// ------------------------------------------------------------------------------------------------

Effect Lowering::effect(const PrintAst& print, const std::vector<Expr>& guards, Context& context) {
  Effect effect;
  effect.kind = print.kind;
  effect.place = print.place;
  std::vector<Expr> all = guards;
  Context inner = context;
  inner.guarded = context.guarded || print.guard;
  if (print.guard)
    all.push_back(truth(guarded_value(*print.guard, guards, context, nullptr), print.guard->place));
  for (const Argument& argument : print.arguments) {
    if (argument.is_text)
      effect.arguments.emplace_back(argument.text);
    else
      effect.arguments.emplace_back(settle(guarded_value(*argument.value, all, inner, nullptr)));
  }
  effect.guard = conjunction(all);
  return effect;
}

void Lowering::effects(const Statement& s, Frame& frame) {
  Scope scope{&frame.scope};
  Sink point{next_level_++, {}};
  const std::string kind = s.prints.empty() ? "print" : s.prints.front().kind;
  Context context = context_in(frame, kind, &point);
  context.scope = &scope;
  Stage stage;
  std::vector<Expr> conditions;
  std::vector<AstPtr> walked;
  for (const PrintAst& print : s.prints) {
    for (const Argument& argument : print.arguments)
      if (argument.value) walked.push_back(argument.value);
    if (print.guard) walked.push_back(print.guard);
  }
  declare(s.generators, walked, context, stage.dims, conditions);
  context.guarded = !conditions.empty();
  for (const PrintAst& print : s.prints) stage.effects.push_back(effect(print, conditions, context));
  if (stage.effects.empty()) return;
  attach_block(stage, std::move(point), kind);
  stage.name = stage_name(kind);
  emit(std::move(stage), s, *frame.sink);
}

void Lowering::force(const Statement& s, Frame& frame) {
  const ArrayId array = named_array(s.name, s.place, frame.scope);
  for (Stage& stage : frame.sink->stages)
    for (Output& output : stage.outputs)
      if (output.array == array) {
        output.force = true;
        return;
      }
  error("E0249", s.place, "'" + s.name + "' is not defined by a statement of this block",
        "force(x) stands behind the definition of x");
}

// ---- the general stage
// ----------------------------------------------------------------------------------------

/// A block whose results are not known yet.
struct Lowering::OpenBlock {
  Block block;
  Frame frame;
};

Combine Lowering::combine(const CombineAst& ast, const Type& type) {
  const bool needs = ast.word == "fold" || ast.word == "scan" || ast.word == "scan_right";
  const bool may = needs || ast.word == "scatter" || ast.word == "group";
  if ((needs && ast.op.empty()) || (!may && !ast.op.empty()))
    error("E0260", ast.place,
          "'" + ast.word + "' has " +
              (needs ? "an operator: " + ast.word + "(+, " + ast.dim + ")" : "no operator"));
  std::optional<Operator> op;
  if (!ast.op.empty()) op = operator_named(ast.op, type, ast.place);
  if (ast.word == "cat") return Cat{};
  if (ast.word == "fold") return Fold{*op};
  if (ast.word == "scan") return Scan{*op, Direction::Left};
  if (ast.word == "scan_right") return Scan{*op, Direction::Right};
  if (ast.word == "append") return Append{};
  if (ast.word == "scatter") return Scatter{op};
  if (ast.word == "group") return Group{op};
  return Seq{ast.word == "last"};
}

/// An array whose type is written out; born lengths become sizes.
ArrayId Lowering::general_array(const std::string& name, const TypeAst& type, const Place& place,
                                Frame& frame) {
  Target target;
  target.place = place;
  target.name = name;
  const std::string unique = array_name(target, frame);
  Context context = context_in(frame, name, nullptr);
  std::vector<Expr> shape;
  for (std::size_t i = 0; i < type.shape.size(); ++i) {
    if (type.shape[i]) {
      shape.push_back(index_value(*type.shape[i], context));
      continue;
    }
    const std::string& born = type.born[i];
    if (frame.scope.find(born))
      error("E0203", type.place, "'" + born + "' is already defined", "choose another name");
    const SymbolId symbol = program_.add_symbol(
        frame.prefix.empty() ? own_name(born) : derived(frame.prefix + "_" + born), Symbol::Origin::Born);
    shape.push_back(pool_.size(symbol, type.place));
    frame.scope.names[born] = Value{shape.back()};
  }
  return add_array(unique, vocabulary_.type(type), std::move(shape), place, frame.sink->level);
}

Lowering::OpenBlock Lowering::general_block(const BlockAst& ast, Scope& scope, Frame& outer) {
  OpenBlock open;
  Sink sink{next_level_++, {}};
  Frame& frame = open.frame;
  frame.scope.parent = &scope;
  frame.sink = &sink;
  frame.prefix = outer.prefix;
  for (const CarryAst& c : ast.carries) {
    Context context = context_in(outer, c.inside, nullptr);
    Target target;
    target.place = c.place;
    target.name = c.inside;
    Carry carry;
    carry.init = named_array(c.init, c.place, outer.scope);
    std::vector<Expr> shape = declared_shape(c.type, context);
    carry.inside =
        add_array(array_name(target, frame), vocabulary_.type(c.type), std::move(shape), c.place, sink.level);
    publish(c.inside, View{carry.inside, {}, {}, {}}, frame);
    open.block.carries.push_back(carry);
  }
  const std::size_t before = errors_.size();
  statements(ast.statements, frame);
  if (errors_.size() > before) throw Silent{};
  for (std::size_t i = 0; i < ast.carries.size(); ++i)
    open.block.carries[i].next = named_array(ast.carries[i].next, ast.carries[i].place, frame.scope);
  open.block.stages = std::move(sink.stages);
  frame.sink = nullptr;
  return open;
}

/// `own`: the array, if the block could read it already.
Output Lowering::general_output(const OutAst& out, const Stage& stage, ArrayId own, Context& context,
                                Frame& frame, std::vector<OpenBlock>& blocks) {
  Output output;
  output.place = out.place;
  output.force = out.force;
  if (out.keys && !out.keys->type.born.empty())
    output.keys = general_array(out.keys->name, out.keys->type, out.keys->place, frame);
  output.array = own ? own : general_array(out.name, out.type, out.place, frame);
  if (out.offsets)
    output.offsets = general_array(out.offsets->name, out.offsets->type, out.offsets->place, frame);
  const Type type = program_[output.array].type;
  for (const CombineAst& c : out.combines) output.combine.push_back(combine(c, type));
  bool order = out.combines.size() == stage.dims.size();
  for (std::size_t i = 0; order && i < stage.dims.size(); ++i)
    order = out.combines[i].dim == stage.dims[i].name;
  if (!order)
    error("E0261", out.place,
          "'" + out.name + "' does not say for each dimension, in their order, what becomes of it",
          "write = cat(i) fold(+, k) and so on before the value");
  for (const AstPtr& at : out.at) output.at.push_back(index_value(*at, context));
  if (!out.into.empty()) output.into = named_array(out.into, out.into_place, frame.scope);
  output.accumulates = out.onto;
  if (out.key) output.key = settle(value(*out.key, context));
  if (out.guard) output.guard = condition(*out.guard, context);
  bool formula = blocks.empty();
  if (blocks.size() == 1) {
    const Binding* result =
        out.value->kind == AstKind::Name ? blocks[0].frame.scope.find(out.value->name) : nullptr;
    formula =
        !result || std::holds_alternative<IndexBinding>(*result) || std::holds_alternative<Value>(*result);
  }
  if (formula) {
    output.value = convert(value(*out.value, context, &type), type, out.value->place);
    for (OpenBlock& open : blocks) open.block.results.emplace_back();
    return output;
  }
  const AstPtr values[2] = {out.value, out.otherwise};
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (!values[i] || values[i]->kind != AstKind::Name)
      error("E0262", out.place, "the value of '" + out.name + "' is a result of each block",
            blocks.size() == 2 ? "write = a else b" : "");
    blocks[i].block.results.push_back(named_array(values[i]->name, values[i]->place, blocks[i].frame.scope));
  }
  return output;
}

void Lowering::general(const Statement& s, Frame& frame) {
  const StageAst& ast = *s.stage;
  Scope scope{&frame.scope};
  Context context = context_in(frame, ast.name, nullptr);
  context.scope = &scope;
  Stage stage;
  stage.name = frame.prefix.empty() ? stage_name(ast.name) : stage_name(frame.prefix + "_" + ast.name);
  std::vector<std::pair<std::size_t, const Ast*>> conditions;
  for (const DimAst& d : ast.dims) {
    Dim dim;
    dim.name = d.name;
    dim.place = d.place;
    dim.lo = d.lo ? index_value(*d.lo, context) : pool_.integer(0);
    if (d.hi) dim.hi = index_value(*d.hi, context);
    dim.id = add_index(d.name, d.place, scope);
    if (d.condition) conditions.emplace_back(stage.dims.size(), d.condition.get());
    if (scope.names.contains(d.name))
      error("E0203", d.place, "'" + d.name + "' is already defined", "choose another name");
    scope.names[d.name] = IndexBinding{dim.id};
    stage.dims.push_back(std::move(dim));
  }
  // What a recurrence, or a running value, has computed so far is known to the block and to all expressions
  // of the stage, but not to stages before it.
  std::vector<ArrayId> own(ast.outs.size());
  const int own_level = next_level_++;
  for (std::size_t i = 0; i < ast.outs.size(); ++i) {
    const OutAst& out = ast.outs[i];
    const bool known = std::any_of(out.combines.begin(), out.combines.end(), [&](const CombineAst& c) {
      return c.word == "seq" || c.word == "last" || ((c.word == "scan" || c.word == "scan_right") && out.at.empty());
    });
    if (!known || scope.names.contains(out.name)) continue;
    own[i] = general_array(out.name, out.type, out.place, frame);
    levels_[static_cast<std::size_t>(own[i].value)] = own_level;
    scope.names[out.name] = View{own[i], {}, {}, {}};
  }
  std::vector<OpenBlock> blocks;
  Expr branch;
  if (ast.body == StageAst::Body::Branch) branch = condition(*ast.condition, context);
  if (ast.body != StageAst::Body::Formula) blocks.push_back(general_block(ast.block, scope, frame));
  if (ast.body == StageAst::Body::Branch) blocks.push_back(general_block(ast.otherwise, scope, frame));
  Context inner = context;
  Scope inner_scope{&scope};
  inner.scope = &inner_scope;
  if (blocks.size() == 1)
    for (const auto& [name, binding] : blocks[0].frame.scope.names) inner_scope.names[name] = binding;
  for (const auto& [position, ast_condition] : conditions)
    stage.dims[position].condition = condition(*ast_condition, inner);
  for (std::size_t i = 0; i < ast.outs.size(); ++i)
    stage.outputs.push_back(general_output(ast.outs[i], stage, own[i], inner, frame, blocks));
  for (const PrintAst& print : ast.prints) stage.effects.push_back(effect(print, {}, inner));
  if (ast.body == StageAst::Body::Block)
    stage.body = Nested{std::make_shared<const Block>(std::move(blocks[0].block))};
  else if (ast.body == StageAst::Body::Branch)
    stage.body = Branch{branch, std::make_shared<const Block>(std::move(blocks[0].block)),
                        std::make_shared<const Block>(std::move(blocks[1].block))};
  const std::vector<Output> outputs = stage.outputs;
  emit(std::move(stage), s, *frame.sink);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Output& output = outputs[i];
    levels_[static_cast<std::size_t>(output.array.value)] = frame.sink->level;
    for (const auto& companion : {output.offsets, output.keys})
      if (companion)
        publish(companion == output.keys ? ast.outs[i].keys->name : ast.outs[i].offsets->name,
                View{*companion, {}, {}, {}}, frame);
    if (!output.offsets && !output.keys) {
      publish(ast.outs[i].name, View{output.array, {}, {}, {}}, frame);
      continue;
    }
    Collection collection{output.array, output.offsets, output.keys, {}};
    if (is_group(output))
      collection.rows = {bucket_count(program_, output)};
    else
      for (std::size_t d = 0; d < output.combine.size(); ++d) {
        const Dim& dim = frame.sink->stages.back().dims[d];
        if (is<Cat>(output.combine[d])) collection.rows.push_back(pool_.apply(Prim::Sub, {dim.hi, dim.lo}));
      }
    publish(ast.outs[i].name, std::move(collection), frame);
  }
}

}  // namespace twill::text
