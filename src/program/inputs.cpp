// Binding size symbols from the shapes of inputs.
#include "program/inputs.h"

#include "base/error.h"
#include "program/describe.h"
#include "program/evaluate.h"
#include "program/interpret.h"

#include <fmt/format.h>
#include <algorithm>

namespace twill {

namespace {

std::string shape_text(std::span<const std::int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::int64_t arithmetic(Prim prim, std::int64_t x, std::int64_t y) {
  const Number operands[] = {Number::of(Scalar::I64, x), Number::of(Scalar::I64, y)};
  return evaluate(prim, operands).i;
}

/// a * symbol + b, where the symbol is the only size that is not known yet; without symbol: the value b.
struct Affine {
  std::int64_t a = 0;
  std::int64_t b = 0;
  SymbolId symbol;
};

class Solver {
 public:
  Solver(const Program& program, Environment& environment) : program_(program), environment_(environment) {}

  /// Entries that are a plain symbol first, then affine ones with one unknown, as long as that helps.
  void solve() {
    for_each_entry([&](const Array& array, int d, Expr entry) {
      if (const auto* size = as<SizeRef>(entry)) bind(size->symbol, extent(array, d), array, d);
    });
    for (std::size_t known = known_count() + 1; known != known_count();) {
      known = known_count();
      for_each_entry([&](const Array& array, int d, Expr entry) {
        const std::optional<Affine> form = affine(entry);
        if (!form || !form->symbol) return;
        if (form->a == 0) return;
        const std::int64_t rest = arithmetic(Prim::Sub, extent(array, d), form->b);
        if (arithmetic(Prim::Mod, rest, form->a) != 0)
          misfit(
              array, d,
              fmt::format("{} is that for no '{}'", describe(program_, entry), program_[form->symbol].name));
        bind(form->symbol, arithmetic(Prim::Div, rest, form->a), array, d);
      });
    }
    for (const Symbol& symbol : program_.symbols)
      if (symbol.origin == Symbol::Origin::Input && !value(symbol.id))
        fail(Fault::User, "E0504", program_.place,
             fmt::format("the shapes of the inputs do not determine the size '{}' of '{}'", symbol.name,
                         program_.name),
             "let it stand alone in the shape of some input");
  }

  /// Every extent is what its entry says.
  void verify() {
    Formulas formulas(environment_);
    for_each_entry([&](const Array& array, int d, Expr entry) {
      const std::int64_t expected = std::max<std::int64_t>(0, formulas.integer(formulas.add(entry)));
      if (expected == extent(array, d)) return;
      misfit(array, d,
             as<Literal>(entry) ? fmt::format("must be {}", expected)
                                : fmt::format("{} is {}", describe(program_, entry), expected));
    });
  }

 private:
  template <class Action>
  void for_each_entry(const Action& action) {
    for (const Input& input : program_.inputs) {
      const Array& array = program_[input.array];
      for (int d = 0; d < array.rank(); ++d) action(array, d, array.shape[static_cast<std::size_t>(d)]);
    }
  }

  std::int64_t extent(const Array& array, int d) {
    return environment_[array.id].shape()[static_cast<std::size_t>(d)];
  }

  std::optional<std::int64_t>& value(SymbolId symbol) {
    return environment_.sizes[static_cast<std::size_t>(symbol.value)];
  }

  std::size_t known_count() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(environment_.sizes, [](const auto& size) { return size.has_value(); }));
  }

  void bind(SymbolId symbol, std::int64_t size, const Array& array, int d) {
    if (size < 0) misfit(array, d, fmt::format("'{}' would be {}", program_[symbol].name, size));
    if (!value(symbol)) value(symbol) = size;
    if (*value(symbol) != size)
      misfit(array, d, fmt::format("'{}' is {} already", program_[symbol].name, *value(symbol)));
  }

  [[noreturn]] void misfit(const Array& array, int d, const std::string& why) {
    fail(Fault::User, "E0503", array.place,
         fmt::format("input '{}' of shape {} does not fit: extent {} in dimension {}, but {}", array.name,
                     shape_text(environment_[array.id].shape()), extent(array, d), d, why));
  }

  /// The form of an entry, if it has one; sums, differences and products with known factors.
  std::optional<Affine> affine(Expr e) {
    if (const auto* literal = as<Literal>(e)) return Affine{0, literal->value.as_int(), {}};
    if (const auto* size = as<SizeRef>(e)) {
      if (value(size->symbol)) return Affine{0, *value(size->symbol), {}};
      return Affine{1, 0, size->symbol};
    }
    const auto* applied = as<Apply>(e);
    if (!applied) return std::nullopt;
    const std::optional<Affine> x = affine(e->args[0]);
    const std::optional<Affine> y = e->args.size() > 1 ? affine(e->args[1]) : x;
    if (!x || !y || (x->symbol && y->symbol && x->symbol != y->symbol)) return std::nullopt;
    const SymbolId symbol = x->symbol ? x->symbol : y->symbol;
    switch (applied->prim) {
      case Prim::Neg: return Affine{arithmetic(Prim::Sub, 0, x->a), arithmetic(Prim::Sub, 0, x->b), symbol};
      case Prim::Add:
      case Prim::Sub:
        return Affine{arithmetic(applied->prim, x->a, y->a), arithmetic(applied->prim, x->b, y->b), symbol};
      case Prim::Mul:
        if (!y->symbol)
          return Affine{arithmetic(Prim::Mul, x->a, y->b), arithmetic(Prim::Mul, x->b, y->b), symbol};
        if (!x->symbol)
          return Affine{arithmetic(Prim::Mul, y->a, x->b), arithmetic(Prim::Mul, y->b, x->b), symbol};
        return std::nullopt;
      default: return std::nullopt;
    }
  }

  const Program& program_;
  Environment& environment_;
};

/// A type with the fields of its records.
std::string written_out(const Type& type) {
  if (type.is_scalar()) return to_string(type);
  std::string text;
  for (const Field& field : type.record().fields)
    text += (text.empty() ? "" : ", ") + field.name + ": " + written_out(field.type);
  return "{ " + text + " }";
}

}  // namespace

void take_inputs(Environment& environment, std::span<const Data> inputs, Elements elements) {
  const Program& program = environment.program;
  if (inputs.size() > program.inputs.size())
    fail(Fault::User, "E0501", program.place,
         fmt::format("'{}' takes {} inputs, not {}", program.name, program.inputs.size(), inputs.size()));
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    const Input& input = program.inputs[i];
    const Array& array = program[input.array];
    if (i >= inputs.size()) {
      if (!input.fallback)
        fail(Fault::User, "E0501", program.place,
             fmt::format("input '{}' of '{}' is missing", array.name, program.name));
      environment[array.id] = Data::scalar(convert(*input.fallback, array.type.scalar()));
      continue;
    }
    if (inputs[i].type() != array.type)
      fail(Fault::User, "E0502", array.place,
           fmt::format("input '{}' is of type '{}', but '{}' was given", array.name, written_out(array.type),
                       written_out(inputs[i].type())),
           array.type.is_record() ? "the fields have the same names and types, in the same order" : "");
    if (static_cast<int>(inputs[i].shape().size()) != array.rank())
      fail(Fault::User, "E0503", array.place,
           fmt::format("input '{}' of shape {} does not fit: '{}' takes {}", array.name,
                       shape_text(inputs[i].shape()), program.name, describe_type(program, array)));
    const bool needed = elements == Elements::Copied || array.rank() == 0;
    environment[array.id] = needed ? inputs[i] : Data::adopt(array.type, inputs[i].shape(), nullptr);
  }
  Solver solver(program, environment);
  solver.solve();
  solver.verify();
}

std::map<SymbolId, std::int64_t> bind_sizes(const Program& program, std::span<const Data> inputs) {
  Environment environment(program);
  take_inputs(environment, inputs, Elements::LeftOut);
  std::map<SymbolId, std::int64_t> sizes;
  for (const Symbol& symbol : program.symbols)
    if (const auto& size = environment.sizes[static_cast<std::size_t>(symbol.id.value)])
      sizes[symbol.id] = *size;
  return sizes;
}

}  // namespace twill
