// Lowering of the text language: tests, their data and their expectations.
#include "program/text_module.h"
#include "program/text_names.h"

#include <algorithm>
#include <cmath>

namespace twill::text {
namespace {

/// Names in an expression that nothing binds, in order.
void free_names(const Ast& ast, std::set<std::string> bound, std::vector<const Ast*>& names) {
  if (ast.kind == AstKind::Name && !bound.contains(ast.name)) names.push_back(&ast);
  if (ast.kind == AstKind::Let) {
    free_names(*ast.args[0], bound, names);
    bound.insert(ast.name);
    return free_names(*ast.args[1], bound, names);
  }
  for (const Generator& g : ast.generators) {
    bound.insert(g.parts.begin(), g.parts.end());
    if (g.kind != Generator::Kind::Test)
      bound.insert(g.name);
    else if (const auto index = as_index(g.a, [&](const std::string& name) { return !bound.contains(name); }))
      bound.insert(index->name);
    for (const AstPtr& part : {g.a, g.b})
      if (part) free_names(*part, bound, names);
  }
  for (const AstPtr& arg : ast.args) free_names(*arg, bound, names);
}

bool is_subscript_of(const Ast& ast, const std::string& name) {
  for (std::size_t i = 0; i < ast.args.size(); ++i) {
    if (ast.kind == AstKind::Subscript && i > 0 && ast.args[i]->kind == AstKind::Name &&
        ast.args[i]->name == name)
      return true;
    if (is_subscript_of(*ast.args[i], name)) return true;
  }
  return false;
}

}  // namespace

Program Lowering::expectation(const AstPtr& value, const std::vector<TestInput>& inputs, const Place& place) {
  program_.name = "expect";
  program_.place = place;
  Sink sink;
  Frame frame;
  frame.sink = &sink;
  std::set<std::string> used;
  const std::function<void(const Ast&)> use = [&](const Ast& ast) {
    if (ast.kind == AstKind::Name) used.insert(ast.name);
    for (const AstPtr& arg : ast.args) use(*arg);
    for (const Generator& g : ast.generators)
      for (const AstPtr& part : {g.a, g.b})
        if (part) use(*part);
  };
  use(*value);
  std::map<std::string, Collection> collections;
  for (const TestInput& input : inputs) {
    reserved_.insert(input.name);
    if (!used.contains(input.name) && (input.of.empty() || !used.contains(input.of))) continue;
    taken_.insert(input.name);
    std::vector<Expr> shape;
    for (std::size_t d = 0; d < input.shape.size(); ++d)
      shape.push_back(input.shape[d]
                          ? pool_.integer(*input.shape[d])
                          : pool_.size(program_.add_symbol(derived(input.name + "_" + std::to_string(d)),
                                                           Symbol::Origin::Input)));
    const ArrayId array = add_array(input.name, input.type, shape, place, 0);
    program_.inputs.push_back({array, {}});
    frame.scope.names[input.name] = View{array, {}, {}, {}};
    if (input.of.empty()) continue;
    Collection& collection = collections[input.of];
    if (input.part == "values") collection.values = array;
    if (input.part == "offsets") {
      collection.offsets = array;
      collection.rows = {pool_.apply(Prim::Sub, {shape[0], pool_.integer(1)})};
    }
    if (input.part == "keys") {
      collection.keys = array;
      collection.rows = {shape[0]};
    }
  }
  for (const auto& [name, collection] : collections) frame.scope.names[name] = collection;

  std::vector<Statement> list;
  const auto define = [&](std::string name, std::vector<Generator> indices, AstPtr right) {
    Statement s;
    s.place = place;
    Target target;
    target.place = place;
    target.name = std::move(name);
    target.indexed = !indices.empty();
    target.indices = std::move(indices);
    s.targets.push_back(std::move(target));
    s.value = std::move(right);
    list.push_back(std::move(s));
  };

  // Whole arrays: the same shape, and all elements equal. Reads outside give 0, so that shapes may differ.
  const auto whole = [&](const Ast& ast) -> std::optional<ArrayId> {
    const bool is_part = ast.kind == AstKind::Field && ast.args[0]->kind == AstKind::Name;
    const Binding* binding = is_part || ast.kind == AstKind::Name
                                 ? frame.scope.find(is_part ? ast.args[0]->name : ast.name)
                                 : nullptr;
    if (!binding) return std::nullopt;
    if (const auto* collection = std::get_if<Collection>(binding); collection && is_part)
      return ast.name == "values"    ? collection->values
             : ast.name == "offsets" ? collection->offsets
             : ast.name == "keys"    ? collection->keys
                                     : std::nullopt;
    const auto* array = std::get_if<View>(binding);
    if (is_part || !array || program_[array->array].shape.empty()) return std::nullopt;
    return array->array;
  };
  const bool comparison = value->kind == AstKind::Compare && value->args.size() == 2 &&
                          (value->words[0] == "==" || value->words[0] == "~");
  if (comparison && whole(*value->args[0]) &&
      (whole(*value->args[1]) || value->args[1]->kind == AstKind::List)) {
    const AstPtr a = value->args[0];
    AstPtr b = value->args[1];
    const Array left = program_[*whole(*a)];
    const std::size_t rank = left.shape.size();
    if (b->kind == AstKind::List) {
      const std::string name = derived("expected");
      define(name, {}, b);
      TypeAst type;
      type.place = b->place;
      type.name = to_string(left.type);
      if (b->args.empty()) {
        type.has_shape = true;
        type.shape.assign(rank, integer(0, b->place));
        type.born.assign(rank, "");
      }
      list.back().targets[0].type = type;
      taken_.erase(name);
      b = node(AstKind::Name, name, {}, b->place);
      std::size_t depth = 1;
      for (const Ast* row = value->args[1].get(); !row->args.empty() && row->args[0]->kind == AstKind::List;
           row = row->args[0].get())
        ++depth;
      if (depth != rank && !value->args[1]->args.empty())
        error("E0265", place,
              "'" + left.name + "' has " + counted(rank, "dimension") + ", the expected values have " +
                  std::to_string(depth));
    } else if (program_[*whole(*b)].shape.size() != rank) {
      error("E0265", place,
            "'" + left.name + "' has " + counted(rank, "dimension") + ", '" + program_[*whole(*b)].name +
                "' has " + std::to_string(program_[*whole(*b)].shape.size()));
    }
    AstPtr sizes;
    Ast all{.kind = AstKind::Fold, .place = place, .name = "all", .op = "and"};
    std::vector<AstPtr> left_read = {a}, right_read = {b};
    for (std::size_t d = 0; d < rank; ++d) {
      const AstPtr dimension = integer(static_cast<std::int64_t>(d), place);
      const AstPtr end = node(AstKind::Call, "size", {b, dimension}, place);
      const AstPtr fits = comparison_of(node(AstKind::Call, "size", {a, dimension}, place), "==", end, place);
      sizes = sizes ? node(AstKind::Binary, "and", {sizes, fits}, place) : fits;
      const AstPtr index = node(AstKind::Name, "i" + std::to_string(d), {}, place);
      Generator g;
      g.place = place;
      g.a = comparison_of(index, "<", end, place);
      all.generators.push_back(g);
      left_read.push_back(node(AstKind::Call, "pad", {index}, place));
      right_read.push_back(index);
    }
    all.args = {comparison_of(node(AstKind::Subscript, "", left_read, place), value->words[0],
                              node(AstKind::Subscript, "", right_read, place), place)};
    define("elements", {}, std::make_shared<const Ast>(std::move(all)));
    define("holds", {},
           node(AstKind::Binary, "and", {sizes, node(AstKind::Name, "elements", {}, place)}, place));
  } else {
    std::set<std::string> bound;
    for (const auto& [name, binding] : frame.scope.names) bound.insert(name);
    std::vector<const Ast*> names;
    free_names(*value, bound, names);
    std::vector<Generator> indices;
    std::set<std::string> seen;
    for (const Ast* ast : names) {
      if (!is_subscript_of(*value, ast->name)) {
        Context context = context_in(frame, "holds", nullptr);
        unknown_name(*ast, context);
      }
      if (!seen.insert(ast->name).second) continue;
      Generator g;
      g.place = ast->place;
      g.a = node(AstKind::Name, ast->name, {}, ast->place);
      indices.push_back(g);
    }
    define("holds", indices, value);
  }
  results_["holds"] = std::nullopt;
  reserve(list);
  const std::size_t before = errors_.size();
  statements(list, frame);
  if (errors_.size() > before) throw Silent{};
  const Binding* holds = frame.scope.find("holds");
  if (!holds || !std::holds_alternative<View>(*holds)) throw Silent{};
  const ArrayId result = std::get<View>(*holds).array;
  if (!program_[result].type.is(Scalar::Bool))
    error("E0222", place, "an expectation is a bool, not '" + to_string(program_[result].type) + "'");
  for (const auto& [array, elements] : std::map(open_))
    decide(ArrayId{array}, program_.arrays[static_cast<std::size_t>(array)].type);
  program_.results = {result};
  rename_hiding_indices(sink.stages);
  program_.stages = std::move(sink.stages);
  return std::move(program_);
}

// ---- tests ------------------------------------------------------------------------------------------------

namespace {

class TestBuilder {
 public:
  TestBuilder(const TestDecl& declaration, const Vocabulary& vocabulary, const Module& module,
              std::vector<Diagnostic>& errors)
      : declaration_(declaration), vocabulary_(vocabulary), module_(module), errors_(errors) {}

  Test run() {
    test_.name = declaration_.name;
    test_.place = declaration_.place;
    for (const TestStatement& s : declaration_.statements)
      if (s.kind == TestStatement::Kind::Bind) attempt([&] { bind(in_order(s)); });
    for (auto& [name, literal] : literals_)
      attempt([&, &name = name, &literal = literal] {
        if (!literal.type) settle(name, literal, own_type(*literal.value));
      });
    for (const TestStatement& s : declaration_.statements)
      if (s.kind != TestStatement::Kind::Bind) attempt([&] { expect(s); });
    return std::move(test_);
  }

 private:
  /// Literal data bound to a name: its type may come from the call that uses it.
  struct LiteralData {
    const Ast* value = nullptr;
    std::optional<Type> type;
    std::vector<std::int64_t> shape;
    std::size_t step = 0;
  };

  void attempt(const std::function<void()>& action) {
    try {
      action();
    } catch (const Error& e) {
      errors_.insert(errors_.end(), e.diagnostics().begin(), e.diagnostics().end());
      failed_ = true;
    } catch (const Silent&) {
      failed_ = true;
    }
  }

  [[noreturn]] static void error(std::string code, const Place& place, std::string message,
                                 std::string help = {}) {
    fail(Fault::User, std::move(code), place, std::move(message), std::move(help));
  }

  /// The statement, with calls inside of arguments bound before it and scalars in the place of their names.
  const TestStatement& in_order(const TestStatement& s) {
    const bool is_call = s.value->kind == AstKind::Call;
    const std::function<AstPtr(const AstPtr&, int)> rewritten = [&](const AstPtr& ast, int depth) -> AstPtr {
      const bool argument = is_call && depth == 1;
      if (depth > 0 && ast->kind == AstKind::Call && module_.find(ast->name)) return called(ast);
      if (ast->kind == AstKind::Name && !argument) {
        const auto literal = literals_.find(ast->name);
        if (literal == literals_.end() || !literal->second.shape.empty()) return ast;
        return std::make_shared<const Ast>(*literal->second.value);
      }
      Ast copy = *ast;
      for (AstPtr& part : copy.args) part = rewritten(part, depth + 1);
      return copy.args == ast->args ? ast : std::make_shared<const Ast>(std::move(copy));
    };
    const AstPtr value = rewritten(s.value, 0);
    if (value == s.value) return s;
    made_.push_back(std::make_unique<TestStatement>(s));
    made_.back()->value = value;
    return *made_.back();
  }

  /// The name that a call inside of another one is bound to.
  AstPtr called(const AstPtr& call) {
    auto inner = std::make_unique<TestStatement>();
    inner->place = call->place;
    inner->value = call;
    Target target;
    target.place = call->place;
    const auto is_taken = [&](const std::string& name) {
      return std::any_of(inputs_.begin(), inputs_.end(),
                         [&](const auto& known) { return known.name == name; }) ||
             std::any_of(declaration_.statements.begin(), declaration_.statements.end(),
                         [&](const TestStatement& s) {
                           return std::any_of(s.targets.begin(), s.targets.end(),
                                              [&](const Target& t) { return t.name == name; });
                         });
    };
    for (int k = 1; target.name.empty() || is_taken(target.name); ++k)
      target.name = call->name + "_" + std::to_string(k);
    inner->targets.push_back(target);
    made_.push_back(std::move(inner));
    bind(in_order(*made_.back()));
    return node(AstKind::Name, target.name, {}, call->place);
  }

  void bind(const TestStatement& s) {
    const Ast& value = *s.value;
    for (const Target& target : s.targets) {
      if (target.indexed || !target.into.empty())
        error("E0244", target.place, "names in a test stand without indices",
              "write " + target.name + " = ...");
      if (std::any_of(inputs_.begin(), inputs_.end(),
                      [&](const auto& input) { return input.name == target.name; }))
        error("E0203", target.place, "'" + target.name + "' is already defined", "choose another name");
    }
    if (value.kind == AstKind::Call) return call(s);
    if (s.targets.size() != 1)
      error("E0237", s.place,
            std::to_string(s.targets.size()) + " names on the left, one value on the right");
    const Target& target = s.targets[0];
    if (value.kind == AstKind::Random) {
      const RandomData data = random(value);
      inputs_.push_back({target.name, data.type, {data.shape.begin(), data.shape.end()}, "", ""});
      test_.steps.emplace_back(TestBinding{target.name, data});
      return;
    }
    LiteralData literal;
    literal.value = &value;
    literal.shape = shape_of(value);
    literal.step = test_.steps.size();
    test_.steps.emplace_back(TestBinding{target.name, Data()});
    inputs_.push_back({target.name, Type(), {literal.shape.begin(), literal.shape.end()}, "", ""});
    LiteralData& kept = literals_[target.name] = literal;
    if (target.type) {
      const std::vector<std::int64_t> declared = literal_shape(*target.type);
      if (target.type->has_shape && declared != kept.shape &&
          element_count(declared) + element_count(kept.shape) > 0)
        error("E0242", value.place, "the data do not have the shape that '" + target.name + "' declares");
      if (target.type->has_shape) kept.shape = declared;
      inputs_.back().shape.assign(kept.shape.begin(), kept.shape.end());
      settle(target.name, kept, vocabulary_.type(*target.type));
    }
  }

  void settle(const std::string& name, LiteralData& literal, const Type& type) {
    literal.type = type;
    std::get<TestBinding>(test_.steps[literal.step]).value = data(*literal.value, type, literal.shape);
    for (Lowering::TestInput& input : inputs_)
      if (input.name == name) input.type = type;
  }

  std::vector<std::int64_t> literal_shape(const TypeAst& type) {
    std::vector<std::int64_t> shape;
    for (const AstPtr& extent : type.shape) {
      if (!extent || extent->kind != AstKind::Number || !is_integer(extent->number.type) ||
          extent->number.i < 0)
        error("E0266", type.place, "the sizes of test data are numbers");
      shape.push_back(extent->number.i);
    }
    constexpr double most = 1e9;
    double count = 1;
    for (const std::int64_t extent : shape) count *= static_cast<double>(extent);
    if (count > most) error("E0266", type.place, "test data have at most a billion elements");
    return shape;
  }

  RandomData random(const Ast& ast) {
    RandomData data;
    data.type = vocabulary_.type(ast.type);
    data.shape = literal_shape(ast.type);
    data.seed = ast.number.u;
    return data;
  }

  static std::vector<std::int64_t> shape_of(const Ast& ast) {
    std::vector<std::int64_t> shape;
    for (const Ast* row = &ast; row->kind == AstKind::List; row = row->args[0].get()) {
      shape.push_back(static_cast<std::int64_t>(row->args.size()));
      if (row->args.empty()) break;
    }
    return shape;
  }

  /// The type of literal data that nothing else decides.
  static Type own_type(const Ast& ast) {
    std::optional<Type> type;
    bool fractional = false;
    const std::function<void(const Ast&)> walk = [&](const Ast& a) {
      if (a.kind == AstKind::List) {
        for (const AstPtr& item : a.args) walk(*item);
        return;
      }
      if (a.kind != AstKind::Number)
        error("E0266", a.place, "nothing tells the type of these data", "declare it: x: Type[3] = [ ... ]");
      fractional = fractional || is_float(a.number.type);
      if (!a.weak) type = a.number.type;
    };
    walk(ast);
    if (!type) type = fractional ? Type(Scalar::F64) : Type(Scalar::I64);
    return *type;
  }

  Data data(const Ast& ast, const Type& type, const std::vector<std::int64_t>& shape) {
    Data result(type, shape);
    std::size_t position = 0;
    const std::function<void(const Ast&, std::size_t)> walk = [&](const Ast& a, std::size_t depth) {
      if (depth == shape.size() || a.kind != AstKind::List) {
        if (depth != shape.size()) error("E0242", a.place, "the rows of the data have different lengths");
        element(a, type, result.bytes() + position++ * byte_size(type));
        return;
      }
      if (static_cast<std::int64_t>(a.args.size()) != shape[depth])
        error("E0242", a.place, "the rows of the data have different lengths");
      for (const AstPtr& item : a.args) walk(*item, depth + 1);
    };
    if (result.count() > 0) walk(ast, 0);
    return result;
  }

  void element(const Ast& ast, const Type& type, std::byte* at) {
    Lowering lowering(vocabulary_, errors_);
    store_value(lowering.constant_value(ast, type), at, ast.place);
  }

  static void store_value(Expr value, std::byte* at, const Place& place) {
    if (const auto* literal = as<Literal>(value)) return store(literal->value, at);
    if (!as<Make>(value)) error("E0266", place, "the elements of test data are literals");
    for (std::size_t i = 0; i < value->args.size(); ++i)
      store_value(value->args[i], at + field_offset(value->type.record(), static_cast<int>(i)), place);
  }

  // ---- calls

  void call(const TestStatement& s) {
    const Ast& ast = *s.value;
    const Program* program = module_.find(ast.name);
    const auto definition = vocabulary_.definitions.find(ast.name);
    if (!program || definition == vocabulary_.definitions.end()) {
      if (vocabulary_.broken.contains(ast.name)) throw Silent{};
      std::vector<std::string> candidates;
      for (const auto& [name, d] : vocabulary_.definitions) candidates.push_back(name);
      const std::string near = did_you_mean(ast.name, candidates);
      error("E0202", ast.place, "unknown definition '" + ast.name + "'",
            near.empty() && !candidates.empty() ? "there is " + listed(candidates) : near);
    }
    if (ast.args.size() > program->inputs.size())
      error("E0221", ast.place,
            "'" + ast.name + "' takes " + counted(program->inputs.size(), "argument") + ", not " +
                std::to_string(ast.args.size()));
    TestCall call;
    call.definition = ast.name;
    call.place = ast.place;
    std::map<SymbolId, std::int64_t> sizes;
    for (std::size_t i = 0; i < program->inputs.size(); ++i) {
      const Array& parameter = (*program)[program->inputs[i].array];
      if (i >= ast.args.size()) {
        if (!program->inputs[i].fallback)
          error("E0221", ast.place,
                "the call of '" + ast.name + "' lacks the argument '" + parameter.name + "'");
        continue;
      }
      const Ast& argument = *ast.args[i];
      std::vector<std::optional<std::int64_t>> shape;
      Type type = parameter.type;
      if (argument.kind == AstKind::Random) {
        const RandomData made = random(argument);
        type = made.type;
        shape.assign(made.shape.begin(), made.shape.end());
        call.arguments.emplace_back(made);
      } else if (argument.kind == AstKind::Name) {
        const auto input = std::find_if(inputs_.begin(), inputs_.end(),
                                        [&](const auto& known) { return known.name == argument.name; });
        if (input == inputs_.end()) {
          if (failed_) throw Silent{};
          std::vector<std::string> candidates;
          for (const auto& known : inputs_) candidates.push_back(known.name);
          error("E0201", argument.place, "unknown name '" + argument.name + "'",
                did_you_mean(argument.name, candidates));
        }
        if (const auto literal = literals_.find(argument.name);
            literal != literals_.end() && !literal->second.type)
          settle(argument.name, literal->second, parameter.type);
        type = input->type;
        shape = input->shape;
        call.arguments.emplace_back(argument.name);
      } else {
        const std::vector<std::int64_t> extents = shape_of(argument);
        shape.assign(extents.begin(), extents.end());
        call.arguments.emplace_back(data(argument, type, extents));
      }
      if (type != parameter.type)
        error("E0263", argument.place,
              "the argument '" + parameter.name + "' of '" + ast.name + "' is '" + to_string(parameter.type) +
                  "', not '" + to_string(type) + "'");
      if (shape.size() != parameter.shape.size())
        error("E0263", argument.place,
              "the argument '" + parameter.name + "' of '" + ast.name + "' has " +
                  counted(parameter.shape.size(), "dimension") + ", not " + std::to_string(shape.size()));
      for (std::size_t d = 0; d < shape.size(); ++d)
        if (shape[d]) bind_size(parameter.shape[d], *shape[d], sizes);
    }
    bind_results(s, *program, *definition->second, sizes, call);
    test_.steps.emplace_back(std::move(call));
  }

  void bind_results(const TestStatement& s, const Program& program, const Definition& definition,
                    const std::map<SymbolId, std::int64_t>& sizes, TestCall& call) {
    if (definition.results.size() != s.targets.size())
      error("E0237", s.place,
            "'" + definition.name + "' has " + counted(definition.results.size(), "result") + ", but " +
                std::to_string(s.targets.size()) + (s.targets.size() == 1 ? " name stands" : " names stand") +
                " on the left");
    std::size_t next = 0;
    const auto add = [&](const std::string& name, const std::string& of, const std::string& part) {
      const Array& array = program[program.results[next++]];
      Lowering::TestInput input{name, array.type, {}, of, part};
      for (const Expr extent : array.shape) {
        const std::optional<std::int64_t> known = evaluate(extent, sizes);
        input.shape.push_back(known ? std::optional(std::max<std::int64_t>(0, *known)) : std::nullopt);
      }
      inputs_.push_back(std::move(input));
      call.results.push_back(name);
    };
    for (std::size_t i = 0; i < s.targets.size(); ++i) {
      const std::string& name = s.targets[i].name;
      const Output* output =
          definition.results[i].part.empty() ? output_of(program, program.results[next]) : nullptr;
      const bool collection = output && (output->offsets || output->keys);
      add(name, collection ? name : "", collection ? "values" : "");
      if (output && output->offsets) add(name + "_offsets", name, "offsets");
      if (output && output->keys) add(name + "_keys", name, "keys");
    }
  }

  static const Output* output_of(const Program& program, ArrayId array) {
    for (const Stage& stage : program.stages)
      for (const Output& output : stage.outputs)
        if (output.array == array) return &output;
    return nullptr;
  }

  static void bind_size(Expr extent, std::int64_t actual, std::map<SymbolId, std::int64_t>& sizes) {
    if (const auto* size = as<SizeRef>(extent)) {
      sizes.emplace(size->symbol, actual);
      return;
    }
    const auto* apply = as<Apply>(extent);
    if (!apply || (apply->prim != Prim::Add && apply->prim != Prim::Sub)) return;
    const auto* literal = as<Literal>(extent->args[1]);
    const std::int64_t sign = apply->prim == Prim::Add ? -1 : 1;
    if (literal && std::abs(static_cast<double>(literal->value.i)) < 1e15)
      bind_size(extent->args[0], actual + sign * literal->value.i, sizes);
  }

  static std::optional<std::int64_t> evaluate(Expr e, const std::map<SymbolId, std::int64_t>& sizes) {
    if (const auto* literal = as<Literal>(e)) return literal->value.i;
    if (const auto* size = as<SizeRef>(e)) {
      const auto found = sizes.find(size->symbol);
      return found == sizes.end() ? std::nullopt : std::optional(found->second);
    }
    const auto* apply = as<Apply>(e);
    if (!apply || e->args.size() != 2) return std::nullopt;
    const auto a = evaluate(e->args[0], sizes), b = evaluate(e->args[1], sizes);
    constexpr std::int64_t bound = std::int64_t{1} << 31;
    if (!a || !b || *a > bound || *a < -bound || *b > bound || *b < -bound) return std::nullopt;
    switch (apply->prim) {
      case Prim::Add: return *a + *b;
      case Prim::Sub: return *a - *b;
      case Prim::Mul: return *a * *b;
      case Prim::Min: return std::min(*a, *b);
      case Prim::Max: return std::max(*a, *b);
      case Prim::Div: return *b > 0 && *a >= 0 ? std::optional(*a / *b) : std::nullopt;
      case Prim::Mod: return *b > 0 && *a >= 0 ? std::optional(*a % *b) : std::nullopt;
      default: return std::nullopt;
    }
  }

  // ---- expectations

  void expect(const TestStatement& s) {
    if (s.kind == TestStatement::Kind::ExpectError) {
      test_.expectations.emplace_back(ErrorExpectation{s.text, s.place});
      return;
    }
    const Ast& ast = *s.value;
    static const std::set<std::string, std::less<>> quantities = {"passes", "buffers", "stages", "loops"};
    const bool structure = ast.kind == AstKind::Compare && ast.args.size() == 2 &&
                           ast.args[0]->kind == AstKind::Name && ast.words[0] != "~" &&
                           quantities.contains(ast.args[0]->name) &&
                           std::none_of(inputs_.begin(), inputs_.end(),
                                        [&](const auto& input) { return input.name == ast.args[0]->name; });
    if (structure) {
      const Ast& number = *ast.args[1];
      if (number.kind != AstKind::Number || !is_integer(number.number.type))
        error("E0267", number.place, "'" + ast.args[0]->name + "' is compared with an integer");
      test_.expectations.emplace_back(
          StructureExpectation{ast.args[0]->name, *prim_named(ast.words[0]), number.number.i, s.place});
      return;
    }
    if (failed_) throw Silent{};
    Lowering lowering(vocabulary_, errors_);
    test_.expectations.emplace_back(
        ValueExpectation{s.text, lowering.expectation(s.value, inputs_, s.place), s.place});
  }

  const TestDecl& declaration_;
  const Vocabulary& vocabulary_;
  const Module& module_;
  std::vector<Diagnostic>& errors_;
  Test test_;
  std::vector<Lowering::TestInput> inputs_;
  std::map<std::string, LiteralData> literals_;
  std::vector<std::unique_ptr<TestStatement>> made_;  // statements that nobody wrote
  bool failed_ = false;
};

}  // namespace

Test test_of(const TestDecl& declaration, const Vocabulary& vocabulary, const Module& module,
             std::vector<Diagnostic>& errors) {
  return TestBuilder(declaration, vocabulary, module, errors).run();
}

}  // namespace twill::text
