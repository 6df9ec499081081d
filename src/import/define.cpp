// Statements of a definition built in C++: each becomes a statement of the syntax tree.
#include "import/def_state.h"
#include "import/inside.h"

#include <algorithm>

namespace twill {

using staged::DefState;
using staged::RefState;
using text::Ast;
using text::AstKind;
using text::AstPtr;
using text::Statement;

// ---- the state --------------------------------------------------------------------------------------------

namespace staged {

namespace {

/// Does the definition stand among the definitions that are called, directly or by one of them?
bool calls(const Uses& uses, const DefState* def) {
  return std::any_of(uses.declarations.begin(), uses.declarations.end(),
                     [&](const DeclarationPtr& declaration) {
                       const auto* called = std::get_if<std::shared_ptr<const DefState>>(&declaration->what);
                       return called && (called->get() == def || calls(*(*called)->uses, def));
                     });
}

}  // namespace

void DefState::use(const std::shared_ptr<const Uses>& more, const Place& place) {
  if (more && calls(*more, this))
    fail(Fault::User, "E0277", place, "the definition '" + *home + "' calls itself",
         "repeat with seq or seq_while");
  uses = join(uses, more, place);
}

AstPtr DefState::tree(const Arg& arg) {
  use(arg.uses(), arg.place());
  return arg.tree();
}

text::TypeAst DefState::type(const Type& type, const std::vector<Arg>* shape, const Place& place) {
  use(uses_of(type, place), place);
  text::TypeAst ast = type_ast(type, place);
  if (!shape) return ast;
  ast.has_shape = true;
  for (const Arg& extent : *shape) {
    ast.shape.push_back(tree(extent));
    ast.born.emplace_back();
  }
  return ast;
}

void DefState::add(Statement statement) {
  if (const Inside* inside = Inside::now())
    fail(Fault::User, "E0285", statement.place, "a statement cannot stand in " + inside->what(),
         "a function gives a value; let the statement stand before it");
  blocks.back().push_back(std::move(statement));
}

std::vector<Statement> DefState::block(const std::function<void()>& body) {
  blocks.emplace_back();
  try {
    body();
  } catch (...) {
    blocks.pop_back();
    throw;
  }
  std::vector<Statement> made = std::move(blocks.back());
  blocks.pop_back();
  return made;
}

text::DimAst dimension(const Arg& arg) {
  text::DimAst dim;
  dim.place = arg.place();
  const text::Generator g = arg.generator();
  if (g.kind == text::Generator::Kind::Range) {
    dim.name = g.name;
    dim.lo = g.a;
    dim.hi = g.b;
    return dim;
  }
  const Ast& tree = *g.a;
  if (g.kind == text::Generator::Kind::Test && tree.kind == AstKind::Name) {
    dim.name = tree.name;
    return dim;
  }
  if (g.kind == text::Generator::Kind::Test && tree.kind == AstKind::Compare && tree.words[0] == "<" &&
      tree.args[0]->kind == AstKind::Name) {
    dim.name = tree.args[0]->name;
    dim.hi = tree.args[1];
    return dim;
  }
  fail(Fault::User, "E0270", arg.place(), "this is not an index with its range",
       "write i < n, or in(i, a, b)");
}

std::string array_name(const Arg& arg, const char* what) {
  const AstPtr& tree = arg.tree();
  if (tree->kind != AstKind::Name)
    fail(Fault::User, "E0274", arg.place(), std::string(what) + " is an array by name, not an expression",
         "define an array first");
  return tree->name;
}

}  // namespace staged

// ---- the left side ----------------------------------------------------------------------------------------

Ref::Ref(Value read, std::shared_ptr<const RefState> state)
    : Value(std::move(read)), state_(std::move(state)) {}

Ref Ref::changed(const std::function<void(RefState&)>& change) const {
  RefState copy = *state_;
  change(copy);
  return Ref(*this, std::make_shared<const RefState>(std::move(copy)));
}

Ref Ref::as(const Type& type) const {
  return changed([&](RefState& s) { s.type = type; });
}

Ref Ref::as(const Type& type, std::vector<Arg> shape) const {
  return changed([&](RefState& s) {
    s.type = type;
    s.shape = std::move(shape);
  });
}

Ref Ref::into(const Arg& array) const {
  return changed([&](RefState& s) { s.into = array; });
}

Ref Ref::onto(const Arg& array) const {
  return changed([&](RefState& s) {
    s.into = array;
    s.onto = true;
  });
}

Ref Ref::where(const Arg& a, const Arg& b, const Arg& c, const Arg& d, const Arg& e, const Arg& f) const {
  return changed([&](RefState& s) {
    for (const Arg& condition : staged::given({&a, &b, &c, &d, &e, &f})) s.where.push_back(condition);
  });
}

Ref Ref::never() const {
  return changed([](RefState& s) { s.hints.push_back(Hint::Never); });
}
Ref Ref::always() const {
  return changed([](RefState& s) { s.hints.push_back(Hint::Always); });
}
Ref Ref::remember() const {
  return changed([](RefState& s) { s.hints.push_back(Hint::Remember); });
}

Ref Ref::recompute() const {
  return changed([](RefState& s) { s.hints.push_back(Hint::Recompute); });
}

namespace {

void define(const std::vector<Ref>& refs, const Arg& value) {
  DefState& def = *refs[0].state().def;
  Statement statement;
  statement.place = refs[0].state().place;
  for (const Ref& ref : refs) {
    const RefState& s = ref.state();
    text::Target target;
    target.place = s.place;
    target.name = s.name;
    target.indexed = !s.args.empty();
    for (const Arg& index : s.args) {
      def.use(index.uses(), s.place);
      target.indices.push_back(index.generator());
    }
    if (s.type) target.type = def.type(*s.type, s.shape ? &*s.shape : nullptr, s.place);
    if (s.into.given()) {
      def.use(s.into.uses(), s.place);
      target.into = staged::array_name(s.into, "what a new version is made of");
      target.into_place = s.into.place();
      target.onto = s.onto;
    }
    for (const Arg& condition : s.where) staged::split_conjunction(def.tree(condition), statement.where);
    statement.hints.insert(statement.hints.end(), s.hints.begin(), s.hints.end());
    statement.targets.push_back(std::move(target));
  }
  statement.value = def.tree(value);
  def.add(std::move(statement));
}

}  // namespace

void Ref::operator=(const Arg& value) const { define({*this}, value); }
void Ref::operator=(const Ref& value) const { define({*this}, value.arg()); }
void Together::operator=(const Arg& values) const { define(refs_, values); }

Var::Var(Value read, std::string name, std::shared_ptr<DefState> def)
    : Value(std::move(read)), name_(std::move(name)), def_(std::move(def)) {}

Ref Var::ref(const std::vector<Arg>& args, const Place& place) const {
  auto state = std::make_shared<RefState>();
  state->def = def_;
  state->name = name_;
  state->place = place;
  state->args = args;
  for (const Arg& arg : args)
    if (arg.is_generator()) return Ref(arg, std::move(state));
  if (args.empty()) return Ref(staged::name_at_home(name_, place, def_->home), std::move(state));
  std::vector<Arg> operands = {arg_};
  operands.insert(operands.end(), args.begin(), args.end());
  return Ref(staged::build({.kind = AstKind::Subscript}, place, operands), std::move(state));
}

Ref Var::operator()(Where where) const { return ref({}, place_of(where)); }

Ref Var::operator()(const Arg& a, const Arg& b, const Arg& c, const Arg& d, const Arg& e, const Arg& f,
                    const Arg& g, const Arg& h, const Arg& i, const Arg& j, const Arg& k,
                    const Arg& l) const {
  return ref(staged::given({&a, &b, &c, &d, &e, &f, &g, &h, &i, &j, &k, &l}), a.place());
}

Ref Var::operator()(const Subscripts& subscripts, Where where) const {
  return ref(subscripts.list, place_of(where));
}

// ---- inputs, constants, names -----------------------------------------------------------------------------

Def::Def(std::string name, Where where) : state_(std::make_shared<DefState>()) {
  state_->home = std::make_shared<const std::string>(name);
  state_->definition.name = std::move(name);
  state_->definition.place = place_of(where);
  state_->blocks.emplace_back();
  state_->uses = std::make_shared<const staged::Uses>(staged::Uses{state_->home, {}});
}

Value Def::size(std::string name, Where where) const {
  return staged::name_at_home(std::move(name), place_of(where), state_->home);
}

Var staged::array_of(const std::shared_ptr<DefState>& def, std::string name, const Place& place) {
  return Var(name_at_home(name, place, def->home), name, def);
}

Var staged::nameless(const std::shared_ptr<DefState>& def, const Value& value) { return Var(value, "", def); }

Var Def::array(std::string name, Where where) const {
  return staged::array_of(state_, std::move(name), place_of(where));
}

Var Def::input(std::string name, const Type& type, std::initializer_list<Arg> shape, Where where) {
  const std::vector<Arg> extents = shape;
  text::InputAst input;
  input.place = place_of(where);
  input.name = name;
  input.type = state_->type(type, &extents, input.place);
  state_->definition.inputs.push_back(std::move(input));
  return array(std::move(name), where);
}

Var Def::input(std::string name, const Type& type, Where where) {
  text::InputAst input;
  input.place = place_of(where);
  input.name = name;
  input.type = state_->type(type, nullptr, input.place);
  state_->definition.inputs.push_back(std::move(input));
  return array(std::move(name), where);
}

Var Def::input_or(std::string name, const Type& type, const Arg& fallback, Where where) {
  const Var var = input(std::move(name), type, where);
  state_->definition.inputs.back().fallback = state_->tree(fallback);
  return var;
}

Value List::value(const Place& place) const {
  if (number_) return *number_;
  std::vector<Arg> items;
  for (const List& item : items_) items.emplace_back(item.value(place));
  return staged::build({.kind = AstKind::List}, place, items);
}

Var Def::constant(std::string name, const List& numbers, Where where) {
  const Var var = array(std::move(name), where);
  var(where) = numbers.value(place_of(where));
  return var;
}

Var Def::constant(std::string name, const Type& type, const List& numbers, Where where) {
  const Var var = array(std::move(name), where);
  const Value value = numbers.value(place_of(where));
  std::vector<Arg> shape;
  for (const Ast* level = value.arg().tree().get(); level->kind == AstKind::List;
       level = level->args[0].get()) {
    shape.emplace_back(level->args.size());
    if (level->args.empty()) break;
  }
  var(where).as(type, std::move(shape)) = value;
  return var;
}

// ---- statements
// ---------------------------------------------------------------------------------------------

namespace {

void add_loop(DefState& def, Statement loop, const std::vector<Carried>& states,
              const std::function<void()>& body) {
  loop.kind = Statement::Kind::Loop;
  for (const Carried& state : states) {
    text::Target target;
    target.place = loop.place;
    target.name = state.var.name();
    loop.targets.push_back(std::move(target));
    loop.from.push_back(def.tree(state.init));
  }
  if (states.empty())
    fail(Fault::User, "E0282", loop.place, "a loop without a state has no value",
         "name what it computes and what that is before the first step: {{u, u0}}");
  loop.body = def.block(body);
  def.add(std::move(loop));
}

}  // namespace

void Def::seq(const Arg& range, const std::vector<Carried>& states, const std::function<void()>& body) {
  const text::DimAst dim = staged::dimension(range);
  if (!dim.hi)
    fail(Fault::User, "E0270", range.place(), "nothing says how often this loop runs",
         "write " + dim.name + " < n");
  state_->use(range.uses(), range.place());
  Statement loop;
  loop.place = range.place();
  loop.name = dim.name;
  loop.lo = dim.lo;
  loop.hi = dim.hi;
  add_loop(*state_, std::move(loop), states, body);
}

void Def::seq_while(const Arg& condition, const std::vector<Carried>& states,
                    const std::function<void()>& body) {
  Statement loop;
  loop.place = condition.place();
  loop.value = state_->tree(condition);
  add_loop(*state_, std::move(loop), states, body);
}

void Def::seq_while(const Index& step, const Arg& condition, const std::vector<Carried>& states,
                    const std::function<void()>& body) {
  Statement loop;
  loop.place = condition.place();
  loop.name = step.name();
  loop.value = state_->tree(condition);
  add_loop(*state_, std::move(loop), states, body);
}

void Def::choose(const Arg& condition, const std::function<void()>& then,
                 const std::function<void()>& otherwise) {
  Statement statement;
  statement.kind = Statement::Kind::If;
  statement.place = condition.place();
  statement.value = state_->tree(condition);
  statement.body = state_->block(then);
  statement.otherwise = state_->block(otherwise);
  state_->add(std::move(statement));
}

void Def::print(const std::vector<Printed>& what, const std::vector<Arg>& generators, const Arg& guard,
                Where where) {
  staged::add_effect(*state_, "print", what, generators, guard, place_of(where));
}

void Def::effect(const std::string& kind, const std::vector<Printed>& what,
                 const std::vector<Arg>& generators, const Arg& guard, Where where) {
  staged::add_effect(*state_, kind, what, generators, guard, place_of(where));
}

void staged::add_effect(DefState& def, const std::string& kind, const std::vector<Printed>& what,
                        const std::vector<Arg>& generators, const Arg& guard, const Place& place) {
  if (const Inside* inside = Inside::now())
    fail(Fault::User, "E0115", place,
         "the effect '" + kind + "' cannot happen in " + inside->what() + ", which is a value",
         "let a statement of its own go through the elements: xs." +
             std::string(kind == "print" ? "print(...)" : "effect(...)"));
  Statement statement;
  statement.kind = Statement::Kind::For;
  statement.place = place;
  for (const Arg& generator : generators) {
    def.use(generator.uses(), statement.place);
    statement.generators.push_back(generator.generator());
  }
  text::PrintAst print;
  print.kind = kind;
  print.place = statement.place;
  for (const Printed& item : what) {
    text::Argument argument;
    if (const auto* text = std::get_if<std::string>(&item.what())) {
      argument.is_text = true;
      argument.text = *text;
    } else {
      argument.value = def.tree(std::get<Arg>(item.what()));
    }
    print.arguments.push_back(std::move(argument));
  }
  if (guard.given()) print.guard = def.tree(guard);
  statement.prints.push_back(std::move(print));
  def.add(std::move(statement));
}

void Def::force(const Var& array, Where where) {
  Statement statement;
  statement.kind = Statement::Kind::Force;
  statement.place = place_of(where);
  state_->use(array.arg().uses(), statement.place);
  statement.name = array.name();
  state_->add(std::move(statement));
}

void Def::stage(std::string name, std::initializer_list<Arg> dims, const std::vector<StageOutput>& outputs,
                Where where) {
  stage(std::move(name), dims, nullptr, outputs, where);
}

void Def::stage(std::string name, std::initializer_list<Arg> dims, const std::function<void()>& block,
                const std::vector<StageOutput>& outputs, Where where) {
  std::vector<text::DimAst> list;
  for (const Arg& arg : dims) {
    list.push_back(staged::dimension(arg));
    if (!list.back().hi)
      fail(Fault::User, "E0270", arg.place(), "nothing says what '" + list.back().name + "' ranges over",
           "write " + list.back().name + " < n, or in(" + list.back().name + ", a, b)");
    state_->use(arg.uses(), arg.place());
  }
  staged::add_stage(*state_, name, std::move(list), block, outputs, place_of(where));
}

void staged::add_stage(DefState& def, const std::string& name, std::vector<text::DimAst> dims,
                       const std::function<void()>& block, const std::vector<StageOutput>& outputs,
                       const Place& place) {
  text::StageAst stage;
  stage.name = name;
  stage.dims = std::move(dims);
  if (block) {
    stage.body = text::StageAst::Body::Block;
    stage.block.statements = def.block(block);
  }
  for (const StageOutput& output : outputs) {
    const RefState& to = output.to.state();
    if (!to.type)
      fail(Fault::User, "E0278", to.place,
           "the output '" + to.name + "' of this stage needs its type and its shape",
           "write " + to.name + "(...).as(f32, {N, M})");
    if (output.combine.size() != stage.dims.size())
      fail(Fault::User, "E0279", to.place,
           "'" + to.name + "' has " + std::to_string(output.combine.size()) + " combines for " +
               std::to_string(stage.dims.size()) + " dimensions",
           "say for each dimension what becomes of it: cat, fold(op), scan(op), scatter(op), seq(), last");
    text::OutAst out;
    out.place = to.place;
    out.name = to.name;
    out.type = def.type(*to.type, to.shape ? &*to.shape : nullptr, to.place);
    for (const Arg& subscript : to.args) out.at.push_back(def.tree(subscript));
    if (to.into.given()) {
      def.use(to.into.uses(), to.place);
      out.into = staged::array_name(to.into, "what a new version is made of");
      out.into_place = to.into.place();
      out.onto = to.onto;
    }
    for (std::size_t d = 0; d < stage.dims.size(); ++d) {
      const Combiner& combiner = output.combine[d];
      text::CombineAst combine;
      combine.place = to.place;
      combine.word = combiner.word;
      combine.dim = stage.dims[d].name;
      if (combiner.op) {
        combine.op = combiner.op->name();
        if (combiner.op->declaration()) def.use(uses_of(combiner.op->declaration()), to.place);
      }
      out.combines.push_back(std::move(combine));
    }
    out.value = def.tree(output.value);
    if (output.guard.given()) out.guard = def.tree(output.guard);
    stage.outs.push_back(std::move(out));
  }
  Statement statement;
  statement.kind = Statement::Kind::Stage;
  statement.place = place;
  statement.stage = std::make_shared<const text::StageAst>(std::move(stage));
  for (const StageOutput& output : outputs)
    statement.hints.insert(statement.hints.end(), output.to.state().hints.begin(),
                           output.to.state().hints.end());
  def.add(std::move(statement));
}

void Def::strict() { state_->definition.strict = true; }

}  // namespace twill
