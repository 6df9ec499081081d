// A random program: inputs, operators, then stages that read what there is.
#include "fuzz/generate.h"

#include "fuzz/generator.h"
#include "fuzz/tidy.h"
#include "program/check.h"

#include <algorithm>

namespace twill {

namespace {

/// The largest size that inputs get.
constexpr std::int64_t largest_size = 33;

}  // namespace

Program random_program(Rng& rng, const Budget& budget) {
  Generator generator(rng, budget);
  Program program = generator.run();
  if (const std::vector<Diagnostic> wrong = diagnose(program); !wrong.empty()) throw Error(wrong);
  return program;
}

Generator::Generator(Rng& rng, const Budget& budget)
    : rng_(rng), budget_(budget), pool_(*program_.pool), bounds_(program_, {}) {
  program_.name = "fuzz";
  program_.strict = budget.strict;
}

Program Generator::run() {
  choose_types();
  choose_sizes();
  choose_inputs();
  choose_functions();
  stages(1 + rng_.below(budget_.stages), {}, budget_.depth, program_.stages);
  choose_results();
  return tidy(program_);
}

// ---- types -----------------------------------------------------------------------------------------------

void Generator::choose_types() {
  scalars_ = {Scalar::I64, rng_.pick({Scalar::F32, Scalar::F64}),
              rng_.pick({Scalar::I32, Scalar::I64, Scalar::U8})};
  for (int k = 0; k < 3; ++k)
    scalars_.push_back(all_scalars()[static_cast<std::size_t>(rng_.below(13))].scalar);
  const int records = rng_.weighted({50, 35, 15});
  for (int k = 0; k < records; ++k) {
    Record record;
    const bool tuple = rng_.chance(30);
    if (!tuple) record.name = "R" + std::to_string(k);
    const int fields = static_cast<int>(rng_.between(tuple ? 2 : 1, 3));
    for (int f = 0; f < fields; ++f) {
      const bool nests = !records_.empty() && rng_.chance(20);
      record.fields.push_back(
          {tuple ? std::to_string(f) : std::string(1, static_cast<char>('a' + f)) + std::to_string(k),
           nests ? rng_.pick(records_) : Type(rng_.pick(scalars_))});
    }
    records_.push_back(std::make_shared<const Record>(std::move(record)));
  }
}

Type Generator::any_type() {
  if (!records_.empty() && rng_.chance(20)) return rng_.pick(records_);
  return rng_.pick(scalars_);
}

Type Generator::number_type() {
  for (int tries = 0; tries < 20; ++tries) {
    const Scalar type = rng_.pick(scalars_);
    if (type != Scalar::Bool && !is_storage_only(type)) return type;
  }
  return Scalar::I64;
}

Scalar Generator::integer_type() {
  for (int tries = 0; tries < 20; ++tries) {
    const Scalar type = rng_.pick(scalars_);
    if (is_integer(type)) return type;
  }
  return Scalar::I64;
}

Type Generator::key_type() {
  if (rng_.chance(15)) return Scalar::Bool;
  if (rng_.chance(20)) {
    return std::make_shared<const Record>(Record{
        "", {{"0", integer_type()}, {"1", rng_.chance(50) ? Type(Scalar::Bool) : Type(integer_type())}}});
  }
  return integer_type();
}

// ---- sizes -----------------------------------------------------------------------------------------------

Extent Generator::extent(Expr base, std::int64_t mul, std::int64_t add) {
  if (!base || mul == 0) return {{}, 0, add, pool_.integer(add)};
  Expr e = pool_.apply(Prim::Mul, {pool_.integer(mul), base});
  if (add > 0) e = pool_.apply(Prim::Add, {e, pool_.integer(add)});
  if (add < 0) e = pool_.apply(Prim::Sub, {e, pool_.integer(-add)});
  return {base, mul, add, e};
}

void Generator::choose_sizes() {
  const int symbols = 1 + rng_.weighted({50, 35, 15});
  static constexpr const char* names[] = {"N", "M", "K"};
  for (int k = 0; k < symbols; ++k) {
    const SymbolId symbol = program_.add_symbol(names[k], Symbol::Origin::Input);
    bounds_.set(symbol, largest_size);
    const Expr size = pool_.size(symbol);
    extents_.push_back(extent(size, 1, 0));
    extents_.push_back(extents_.back());
    if (rng_.chance(40)) extents_.push_back(extent(size, 1, rng_.pick({-1, 1, 1, 2})));
    if (rng_.chance(15)) extents_.push_back(extent(size, 2, rng_.below(2)));
    if (rng_.chance(15)) extents_.push_back(extent(pool_.apply(Prim::Div, {size, pool_.integer(2)}), 1, 0));
  }
  extents_.push_back(extent({}, 0, rng_.pick({1, 2, 3, 4, 5, 8})));
  if (rng_.chance(20)) extents_.push_back(extent({}, 0, rng_.pick({0, 1, 7})));
}

Extent Generator::any_extent() { return rng_.pick(extents_); }

// ---- inputs ----------------------------------------------------------------------------------------------

ArrayId Generator::array(const std::string& name, const Type& type, std::vector<Extent> shape) {
  std::vector<Expr> extents;
  for (const Extent& e : shape) extents.push_back(e.expr);
  const ArrayId id = program_.add_array(name, type, std::move(extents));
  held_[id] = {std::move(shape), {}};
  return id;
}

ArrayId Generator::born(const std::string& name, const Type& type, const std::string& length) {
  const SymbolId symbol = program_.add_symbol(length, Symbol::Origin::Born);
  return array(name, type, {extent(pool_.size(symbol), 1, 0)});
}

std::string Generator::array_name(const char* prefix) {
  if (rng_.chance(3)) {
    static const std::vector<std::string> words = {
        "at",    "block",   "born", "carry", "cat",    "clamp", "const", "def", "exp",
        "f32",   "force",   "from", "i32",   "key",    "keys",  "last",  "len", "max",
        "next",  "offsets", "onto", "op",    "out",    "print", "seed",  "seq", "size",
        "stage", "strict",  "test", "type",  "values", "where", "a b"};
    const std::string& word = rng_.pick(words);
    if (taken_.insert(word).second) return word;
  }
  return fresh(prefix);
}

std::string Generator::fresh(const char* prefix) {
  std::string name;
  do name = prefix + std::to_string(++names_);
  while (!taken_.insert(name).second);
  return name;
}

std::string Generator::index_name(const char* prefix, const Surroundings& around) {
  constexpr std::size_t most_dims = 4;  // of a stage
  const std::string name(1, rng_.pick({'i', 'j', 'k'}));
  const std::vector<std::string>& all = program_.dim_names;
  bool taken = std::find(all.end() - static_cast<std::ptrdiff_t>(std::min(all.size(), most_dims)), all.end(),
                         name) != all.end();
  for (const VisibleIndex& index : around.indices)
    taken = taken || all[static_cast<std::size_t>(index.dim.value)] == name;
  return taken || rng_.chance(40) ? fresh(prefix) : name;
}

void Generator::choose_inputs() {
  const auto input = [&](ArrayId id, std::optional<Number> fallback = {}) {
    program_.inputs.push_back({id, fallback});
    Facts facts = ErrorBounds::anything(program_[id].type);
    for (Fact& fact : facts) fact = Fact::up_to(std::min(fact.magnitude(), 8.0), 0, fact.integral);
    if (held_[id].rows_of) facts = {Fact::up_to(static_cast<double>(largest_size), 0, true)};
    bounds_.set(id, std::move(facts));
    visible_.push_back(id);
  };
  // A scalar that may be a size.
  if (rng_.chance(30)) {
    const Scalar type = rng_.pick({Scalar::I64, Scalar::I32});
    const ArrayId id = array("n", type, {});
    input(id, rng_.chance(30) ? std::optional(Number::of(type, 3)) : std::nullopt);
    extents_.push_back(extent(pool_.cast(Scalar::I64, pool_.read(id, type, {})), 1, 0));
  }
  // Every symbol has an input that binds it.
  std::vector<Extent> binding;
  for (const Symbol& symbol : program_.symbols) binding.push_back(extent(pool_.size(symbol.id), 1, 0));
  for (const Extent& e : binding) input(array(array_name("x"), any_type(), {e}));
  if (rng_.chance(40)) {
    const Extent rows = rng_.pick(binding);
    const ArrayId ptr = array("ptr", rng_.pick({Scalar::I64, Scalar::I32}), {extent(rows.base, 1, 1)});
    held_[ptr].rows_of = rng_.pick(binding);
    input(ptr);
  }
  const int more = rng_.below(4);
  for (int k = 0; k < more; ++k) {
    std::vector<Extent> shape;
    const int rank = rng_.weighted({15, 35, 40, 10});
    for (int d = 0; d < rank; ++d) shape.push_back(any_extent());
    input(array(array_name("x"), any_type(), std::move(shape)));
  }
  // A table to look things up in.
  if (rng_.chance(30)) {
    std::vector<Extent> shape;
    for (int d = rng_.chance(80) ? 1 : 2; d > 0; --d) shape.push_back(extent({}, 0, rng_.between(1, 20)));
    const Scalar type = rng_.pick({Scalar::U8, Scalar::I8, Scalar::I16, Scalar::U16, Scalar::I32});
    tables_.push_back(array(array_name("t"), type, std::move(shape)));
    input(tables_.back());
  }
  if (rng_.chance(30)) {
    const Scalar type = number_type().scalar();
    const std::int64_t count = rng_.between(1, 5);
    const ArrayId id = array(array_name("w"), type, {extent({}, 0, count)});
    Constant constant{id, {}};
    for (std::int64_t k = 0; k < count; ++k)
      constant.elements.push_back(Number::of_double(type, static_cast<double>(rng_.between(-4, 4))));
    program_.constants.push_back(std::move(constant));
    visible_.push_back(id);
    bounds_.constants();
  }
}

void Generator::choose_functions() {
  const int count = rng_.weighted({40, 35, 25});
  for (int k = 0; k < count; ++k) {
    Surroundings around;
    around.in_function = true;
    const int parameters = static_cast<int>(rng_.between(1, 3));
    for (int a = 0; a < parameters; ++a)
      around.parameters.push_back({std::string(1, static_cast<char>('p' + a)), any_type()});
    const Type result = any_type();
    const Expr body = expr(result, around, budget_.nodes);
    functions_.push_back(program_.add_function({fresh("f"), around.parameters, result, body, {}}));
  }
  if (rng_.chance(30)) {
    const Scalar type = integer_type();
    const Expr quotient = apply(rng_.pick({Prim::Div, Prim::Mod}), {pool_.arg(0, type), pool_.arg(1, type)});
    quotients_[type] = program_.add_function({fresh("q"), {{"p", type}, {"q", type}}, type, quotient, {}});
  }
}

// ---- the end ---------------------------------------------------------------------------------------------

void Generator::choose_results() {
  std::vector<ArrayId> candidates = defined_in(program_.stages);
  const bool effects = std::ranges::any_of(program_.stages, has_effects);
  if (effects && rng_.chance(10)) return;
  if (candidates.empty()) return;
  const ArrayId last = candidates.back();
  for (const ArrayId id : candidates)
    if (id == last || rng_.chance(passing_.contains(id) ? 10 : 60)) program_.results.push_back(id);
}

}  // namespace twill
