// Lowering of the text language: names, and the program of a definition as a whole.
#include "program/text_lower.h"

#include "base/error.h"
#include "program/text_lex.h"
#include "program/text_names.h"

#include <algorithm>

namespace twill::text {

constexpr int max_stages = 20000;

namespace {

std::vector<std::string> names_defined_by(const Statement& s) {
  std::vector<std::string> names;
  defined_names({s}, names);
  return names;
}

/// Does the statement define the name for what follows it?
bool defines(const Statement& s, const std::string& name) {
  const std::vector<std::string> names = names_defined_by(s);
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Does the name alone subscript something?
bool is_subscript(const Ast& ast, const std::string& name) {
  for (std::size_t i = 0; i < ast.args.size(); ++i) {
    const Ast& arg = *ast.args[i];
    if (ast.kind == AstKind::Subscript && i > 0 && arg.kind == AstKind::Name && arg.name == name) return true;
    if (is_subscript(arg, name)) return true;
  }
  return false;
}

void note_names(const AstPtr& ast, std::set<std::string>& names) {
  if (!ast) return;
  if (ast->kind == AstKind::Name || ast->kind == AstKind::With) names.insert(ast->name);
  for (const AstPtr& arg : ast->args) note_names(arg, names);
  for (const Generator& g : ast->generators)
    for (const AstPtr& part : {g.a, g.b}) note_names(part, names);
}

/// Names that stand in the expressions of a statement.
void note_names(const Statement& s, std::set<std::string>& names) {
  for (const Target& target : s.targets) {
    names.insert(target.into);
    for (const Generator& g : target.indices)
      for (const AstPtr& part : {g.a, g.b}) note_names(part, names);
  }
  for (const AstPtr& ast : {s.value, s.lo, s.hi}) note_names(ast, names);
  for (const std::vector<AstPtr>* asts : {&s.where, &s.from})
    for (const AstPtr& ast : *asts) note_names(ast, names);
  for (const std::vector<Statement>* inner : {&s.body, &s.otherwise})
    for (const Statement& each : *inner) note_names(each, names);
}

}  // namespace

const Binding* Scope::find(std::string_view name) const {
  for (const Scope* scope = this; scope; scope = scope->parent)
    if (const auto found = scope->names.find(name); found != scope->names.end()) return &found->second;
  return nullptr;
}

const Binding* Scope::find_array(std::string_view name) const {
  for (const Scope* scope = this; scope; scope = scope->parent)
    if (const auto found = scope->names.find(name); found != scope->names.end())
      if (!std::holds_alternative<IndexBinding>(found->second) &&
          !std::holds_alternative<Value>(found->second))
        return &found->second;
  return nullptr;
}

Lowering::Lowering(const Vocabulary& vocabulary, std::vector<Diagnostic>& errors)
    : vocabulary_(vocabulary), errors_(errors), pool_(*vocabulary.pool) {
  program_.pool = vocabulary.pool;
  program_.functions = vocabulary.functions;
}

void Lowering::error(std::string code, const Place& place, std::string message, std::string help) const {
  fail(Fault::User, std::move(code), place, std::move(message), std::move(help));
}

void Lowering::limit(std::string code, const Place& place, std::string message, std::string help) const {
  fail(Fault::Limit, std::move(code), place, std::move(message), std::move(help));
}

void Lowering::unknown_name(const Ast& ast, const Context& context, const std::string& help) const {
  for (auto list = lists_.rbegin(); list != lists_.rend(); ++list)
    for (std::size_t i = list->second; i < list->first->size(); ++i)
      if (defines((*list->first)[i], ast.name)) used_above(ast, *list->first, list->second, i);
  std::vector<std::string> candidates;
  for (const Scope* scope = context.scope; scope; scope = scope->parent)
    for (const auto& [name, binding] : scope->names) candidates.push_back(name);
  const std::string near = did_you_mean(ast.name, candidates);
  const Statement* statement = current_statement();
  const bool index =
      help.empty() && statement && statement->value && is_subscript(*statement->value, ast.name);
  error("E0201", ast.place, "unknown name '" + ast.name + "'",
        !near.empty()   ? near
        : !help.empty() ? help
        : index         ? "an index stands on the left of '=' or in a fold: sum(" + ast.name + ") ..."
                        : "no input, size or index has this name, and no statement above defines it");
}

/// Reports a name that the statement at `definition` defines, and that stands in the one at `current`, not
/// below it. Names what is defined in a circle.
void Lowering::used_above(const Ast& ast, const std::vector<Statement>& list, std::size_t current,
                          std::size_t definition) const {
  const std::string name = "'" + ast.name + "'";
  if (definition == current)
    error(
        "E0201", ast.place, name + " is defined by itself",
        "compute its elements in order: " + ast.name + "[i] = seq(i) ..., or repeat with seq t < T from ...");
  // The shortest way from the definition back to here.
  std::vector<std::pair<std::size_t, std::size_t>> reached = {{definition, 0}};  // and from which of these
  for (std::size_t k = 0; k < reached.size() && reached.back().first != current; ++k) {
    std::set<std::string> mentioned;
    note_names(list[reached[k].first], mentioned);
    for (std::size_t i = 0; i < list.size() && reached.back().first != current; ++i) {
      const bool seen =
          std::any_of(reached.begin(), reached.end(), [&](const auto& r) { return r.first == i; });
      const bool uses = std::any_of(mentioned.begin(), mentioned.end(),
                                    [&](const std::string& word) { return defines(list[i], word); });
      if (uses && !seen) reached.emplace_back(i, k);
    }
  }
  if (reached.back().first != current)
    error("E0201", ast.place, name + " is used above its definition",
          "put the definition of " + name + " first");
  std::string circle;
  for (std::size_t k = reached.size() - 1;; k = reached[k].second) {
    if (reached[k].first < current) throw Silent{};  // it was reported there
    circle = " needs '" + names_defined_by(list[reached[k].first])[0] + "'" +
             (circle.empty() ? "" : ", which") + circle;
    if (k == 0) break;
  }
  error("E0201", ast.place,
        "'" + names_defined_by(list[current])[0] + "'" + circle + ": they are defined in a circle",
        "compute them together, in order: (a[i], b[i]) = seq(i) (..., ...)");
}

void Lowering::unknown_function(const Ast& ast, const Context& context) const {
  if (vocabulary_.broken.contains(ast.name)) throw Silent{};
  if (ast.name == program_.name)
    error("E0202", ast.place, "'" + ast.name + "' calls itself",
          "repeat with seq t < T from ..., or seq while ...");
  if (vocabulary_.later.contains(ast.name))
    error("E0202", ast.place, "'" + ast.name + "' is used above its definition",
          "put the definition of '" + ast.name + "' first");
  if (ast.name == "zip" || ast.name == "concat")
    error(
        "E0202", ast.place, "'" + ast.name + "' is for generators, and for a statement of its own",
        ast.name == "zip" ? "write [ x + y | (x, y) in zip(a, b) ]" : "write [ x + 1 | x in concat(a, b) ]");
  static const std::map<std::string, std::string, std::less<>> elsewhere = {
      {"ln", "log"},      {"fabs", "abs"},   {"power", "pow"},    {"arctan", "atan"}, {"arcsin", "asin"},
      {"arccos", "acos"}, {"length", "len"}, {"isnan", "is_nan"}, {"isinf", "is_inf"}};
  if (const auto found = elsewhere.find(ast.name); found != elsewhere.end())
    error("E0202", ast.place, "unknown function '" + ast.name + "'", "did you mean '" + found->second + "'?");
  if (context.scope->find_array(ast.name))
    error("E0202", ast.place, "'" + ast.name + "' is no function",
          "an element is written in brackets: " + ast.name + "[...]");
  std::vector<std::string> candidates = {"len", "size"};
  for (const PrimInfo& p : all_prims())
    if (p.precedence == 0) candidates.emplace_back(p.name);
  for (const auto& [other, id] : vocabulary_.function_names) candidates.push_back(other);
  for (const auto& [other, def] : vocabulary_.definitions) candidates.push_back(other);
  const std::string near = did_you_mean(ast.name, candidates);
  error("E0202", ast.place, "unknown function '" + ast.name + "'",
        near.empty() ? "declare it: fn " + ast.name + "(...) = ..." : near);
}

bool Lowering::is_callable(const std::string& name) const {
  return is_function_word(name) || name == "zip" || name == "concat" ||
         vocabulary_.function_names.contains(name) || vocabulary_.definitions.contains(name);
}

const Statement* Lowering::current_statement() const {
  return lists_.empty() ? nullptr : &(*lists_.back().first)[lists_.back().second];
}

// ---- names ------------------------------------------------------------------------------------------

/// A name that Twill makes up: free of everything the user defines and of what exists.
std::string Lowering::derived(const std::string& base) {
  std::string name = base;
  for (int n = 2; taken_.contains(name) || reserved_.contains(name); ++n)
    name = base + "_" + std::to_string(n);
  taken_.insert(name);
  return name;
}

/// A name that the user gave; two blocks may use one name for different local arrays.
std::string Lowering::own_name(const std::string& base) {
  if (taken_.insert(base).second) return base;
  return derived(base);
}

/// Stages are called like their first output, unless another one is.
std::string Lowering::stage_name(const std::string& base) {
  std::string name = base;
  for (int n = 2; !stages_.insert(name).second; ++n) name = base + "_" + std::to_string(n);
  return name;
}

ArrayId Lowering::add_array(const std::string& name, Type type, std::vector<Expr> shape, const Place& place,
                            int level) {
  const ArrayId id = program_.add_array(name, std::move(type), std::move(shape), place);
  levels_.push_back(level);
  return id;
}

/// An index that is written in the text. It must not hide a size.
DimId Lowering::add_index(const std::string& name, const Place& place, const Scope& scope) {
  const Binding* binding = scope.find(name);
  const auto* value = binding ? std::get_if<Value>(binding) : nullptr;
  if (value && as<SizeRef>(value->expr))
    error("E0203", place, "'" + name + "' is already defined: it is a size",
          "choose another name for the index");
  return program_.add_dim(name);
}

/// Indices of definitions that are called may have the names of sizes of the caller: they get a number.
void Lowering::rename_hiding_indices(std::vector<Stage>& stages) {
  const auto is_size = [&](const std::string& name) {
    return std::any_of(program_.symbols.begin(), program_.symbols.end(),
                       [&](const Symbol& symbol) { return symbol.name == name; });
  };
  const auto inside = [&](std::shared_ptr<const Block>& block) {
    Block copy = *block;
    rename_hiding_indices(copy.stages);
    block = std::make_shared<const Block>(std::move(copy));
  };
  for (Stage& stage : stages) {
    for (Dim& dim : stage.dims) {
      if (!is_size(dim.name)) continue;
      const std::string base = dim.name;
      for (int n = 2; is_size(dim.name); ++n) dim.name = base + "_" + std::to_string(n);
      program_.dim_names[static_cast<std::size_t>(dim.id.value)] = dim.name;
    }
    if (auto* nested = std::get_if<Nested>(&stage.body)) inside(nested->block);
    if (auto* branch = std::get_if<Branch>(&stage.body)) {
      inside(branch->then);
      inside(branch->otherwise);
    }
  }
}

/// Collects every name that statements define, so that derived names keep away from them.
void Lowering::reserve(const std::vector<Statement>& statements) {
  for (const Statement& s : statements) {
    for (const Target& target : s.targets) reserved_.insert(target.name);
    reserve(s.body);
    reserve(s.otherwise);
    if (!s.stage) continue;
    reserved_.insert(s.stage->name);
    for (const OutAst& out : s.stage->outs) {
      reserved_.insert(out.name);
      if (out.offsets) reserved_.insert(out.offsets->name);
      if (out.keys) reserved_.insert(out.keys->name);
      for (const TypeAst* type :
           {&out.type, out.offsets ? &out.offsets->type : nullptr, out.keys ? &out.keys->type : nullptr})
        if (type) reserved_.insert(type->born.begin(), type->born.end());
    }
    for (const BlockAst* block : {&s.stage->block, &s.stage->otherwise}) {
      for (const CarryAst& carry : block->carries) reserved_.insert(carry.inside);
      reserve(block->statements);
    }
  }
}

void Lowering::count_stage(const Place& place) {
  if (++stage_count_ > max_stages)
    limit("E0250", place,
          "this definition has more than " + std::to_string(max_stages) +
              " stages after its calls are expanded");
}

// ---- definitions --------------------------------------------------------------------------------------

std::optional<Program> Lowering::definition(const Definition& d) {
  program_.name = d.name;
  program_.strict = d.strict;
  program_.place = d.place;
  for (const InputAst& input : d.inputs) reserved_.insert(input.name);
  reserve(d.statements);
  for (const ResultAst& result : d.results) results_.emplace(result.name, result.type);

  Sink sink;
  Frame frame;
  frame.sink = &sink;
  Context context = context_in(frame, d.name, nullptr);
  for (const InputAst& input : d.inputs) {
    try {
      std::vector<Expr> shape;
      for (const AstPtr& extent : input.type.shape) {
        if (!extent)
          error("E0207", input.type.place,
                "the sizes of the input '" + input.name + "' are not born in a stage",
                "leave out the word 'born'");
        const std::function<void(const Ast&)> declare_sizes = [&](const Ast& ast) {
          if (ast.kind == AstKind::Name && !frame.scope.find(ast.name)) {
            taken_.insert(ast.name);
            reserved_.insert(ast.name);
            const SymbolId symbol = program_.add_symbol(ast.name, Symbol::Origin::Input);
            frame.scope.names[ast.name] = Value{pool_.size(symbol, ast.place)};
          }
          for (const AstPtr& arg : ast.args) declare_sizes(*arg);
        };
        declare_sizes(*extent);
        shape.push_back(index_value(*extent, context));
      }
      if (!taken_.insert(input.name).second)
        error("E0203", input.place, "'" + input.name + "' is already defined", "choose another name");
      const Type type = vocabulary_.type(input.type);
      const ArrayId array = add_array(input.name, type, std::move(shape), input.place, sink.level);
      frame.scope.names[input.name] = View{array, {}, {}, {}};
      Input entry{array, {}};
      if (input.fallback) {
        const Expr value = convert(this->value(*input.fallback, context), type, input.fallback->place);
        const auto* literal = as<Literal>(value);
        if (!literal || input.type.has_shape)
          error("E0206", input.fallback->place,
                input.type.has_shape ? "'" + input.name + "' is an array; only a scalar input has a default"
                                     : "the default of '" + input.name + "' is not a literal");
        entry.fallback = literal->value;
      }
      program_.inputs.push_back(entry);
    } catch (const Error& e) {
      errors_.insert(errors_.end(), e.diagnostics().begin(), e.diagnostics().end());
      frame.scope.names[input.name] = Poisoned{};
      failed_ = true;
    } catch (const Silent&) {
      frame.scope.names[input.name] = Poisoned{};
      failed_ = true;
    }
  }
  try {
    statements(d.statements, frame);
  } catch (const Silent&) {
    failed_ = true;
  }
  for (const auto& [array, elements] : std::map(open_))
    decide(ArrayId{array}, program_.arrays[static_cast<std::size_t>(array)].type);
  rename_hiding_indices(sink.stages);
  program_.stages = std::move(sink.stages);
  try {
    for (const auto& [array, place] : results(d, frame.scope)) program_.results.push_back(array);
  } catch (const Error& e) {
    errors_.insert(errors_.end(), e.diagnostics().begin(), e.diagnostics().end());
    failed_ = true;
  } catch (const Silent&) {
    failed_ = true;
  }
  if (failed_) return std::nullopt;
  return std::move(program_);
}

namespace {

/// What to do about a result that is not defined: the only other name that could be meant, or all of them.
std::string help_for_missing(const ResultAst& missing, const Definition& d) {
  std::vector<std::string> names;
  defined_names(d.statements, names);
  std::erase_if(names, [&](const std::string& name) {
    return std::any_of(d.results.begin(), d.results.end(),
                       [&](const ResultAst& result) { return result.name == name; });
  });
  constexpr std::size_t most = 5;
  if (names.empty() || names.size() > most) return "define it: " + missing.name + " = ...";
  return names.size() == 1 ? "did you mean '" + names[0] + "'?" : "the statements define " + listed(names);
}

}  // namespace

/// The arrays behind the names of results: values, offsets, keys.
std::vector<std::pair<ArrayId, Place>> Lowering::results(const Definition& d, const Scope& scope) {
  std::vector<std::pair<ArrayId, Place>> list;
  for (const ResultAst& result : d.results) {
    const auto is_same = [&](const ResultAst& other) {
      return other.name == result.name && other.part == result.part;
    };
    if (&*std::find_if(d.results.begin(), d.results.end(), is_same) != &result)
      error("E0203", result.place, "the result '" + result.name + "' is given twice", "name it once");
    const Binding* binding = scope.find(result.name);
    if (!binding) {
      std::vector<std::string> candidates;
      for (const auto& [name, other] : scope.names) candidates.push_back(name);
      const std::string near = did_you_mean(result.name, candidates);
      error("E0208", result.place, "the result '" + result.name + "' is never defined",
            near.empty() ? help_for_missing(result, d) : near);
    }
    if (std::holds_alternative<Poisoned>(*binding)) throw Silent{};
    const auto missing = [&] {
      error("E0209", result.place, "'" + result.name + "' has no '" + result.part + "'",
            "nested collections have offsets, groups have keys");
    };
    if (const auto* view = std::get_if<View>(binding)) {
      if (!result.part.empty() && result.part != "values") missing();
      list.emplace_back(view->array, result.place);
    } else if (const auto* collection = std::get_if<Collection>(binding)) {
      const auto add = [&](const char* part, std::optional<ArrayId> array) {
        if (!result.part.empty() && result.part != part) return;
        if (array)
          list.emplace_back(*array, result.place);
        else if (result.part == part)
          missing();
      };
      add("values", collection->values);
      add("offsets", collection->offsets);
      add("keys", collection->keys);
    } else {
      error("E0208", result.place, "the result '" + result.name + "' is not an array");
    }
  }
  return list;
}

Type Vocabulary::type(const TypeAst& ast) const {
  if (ast.name.empty()) {
    Record record;
    for (const TypeAst& element : ast.elements)
      record.fields.push_back({std::to_string(record.fields.size()), type(element)});
    return std::make_shared<const Record>(std::move(record));
  }
  if (const auto scalar = scalar_named(ast.name)) return *scalar;
  if (const auto found = types.find(ast.name); found != types.end()) return found->second;
  std::vector<std::string> candidates;
  for (const ScalarInfo& scalar : all_scalars()) candidates.emplace_back(scalar.name);
  for (const auto& [name, type] : types) candidates.push_back(name);
  if (broken.contains(ast.name)) throw Silent{};
  static const std::map<std::string, std::string, std::less<>> elsewhere = {
      {"float", "f32"},  {"float32", "f32"}, {"double", "f64"}, {"float64", "f64"}, {"half", "f16"},
      {"int", "i32"},    {"int32", "i32"},   {"long", "i64"},   {"int64", "i64"},   {"short", "i16"},
      {"int16", "i16"},  {"int8", "i8"},     {"char", "i8"},    {"byte", "u8"},     {"uint8", "u8"},
      {"uint16", "u16"}, {"uint", "u32"},    {"uint32", "u32"}, {"uint64", "u64"},  {"boolean", "bool"}};
  const auto other = elsewhere.find(ast.name);
  Place place = ast.place;  // the name without the shape
  place.length = std::min(place.length, static_cast<std::uint32_t>(ast.name.size()));
  fail(Fault::User, "E0210", place, "unknown type '" + ast.name + "'",
       other == elsewhere.end() ? did_you_mean(ast.name, candidates)
                                : "did you mean '" + other->second + "'?");
}

bool is_function_word(std::string_view word) {
  static const std::set<std::string, std::less<>> words = {"clamp", "mirror", "wrap", "pad", "len", "size"};
  if (words.contains(word) || scalar_named(word)) return true;
  const std::optional<Prim> prim = prim_named(word);
  return prim && info(*prim).precedence == 0;
}

bool contains_fold(const Ast& ast) {
  if (ast.kind == AstKind::Fold) return true;
  return std::any_of(ast.args.begin(), ast.args.end(), [](const AstPtr& arg) { return contains_fold(*arg); });
}

}  // namespace twill::text
