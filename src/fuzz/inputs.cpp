// Inputs for any program: sizes, and data that make sense where they are used as sizes or offsets.
#include "fuzz/generate.h"
#include "program/error_bounds.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace twill {

namespace {

std::optional<ArrayId> input_read_in(const Program& program, Expr root) {
  std::optional<ArrayId> found;
  if (!root) return found;
  visit(root, [&](Expr node) {
    const auto* read = as<Read>(node);
    if (read &&
        std::ranges::any_of(program.inputs, [&](const Input& input) { return input.array == read->array; }))
      found = read->array;
  });
  return found;
}

/// What an array is used for besides its values.
struct Uses {
  std::map<ArrayId, std::vector<Expr>> rows;  // offsets: the extents of the arrays whose rows they delimit
  std::set<ArrayId> sizes;                    // scalars that are sizes
};

Uses uses_of(const Program& program) {
  Uses uses;
  std::map<DimId, ArrayId> walks;  // dimensions whose bounds are data of an input
  const auto bound = [&](Expr e, DimId dim) {
    const auto array = input_read_in(program, e);
    if (!array) return;
    if (program[*array].rank() == 0)
      uses.sizes.insert(*array);
    else
      walks[dim] = *array;
  };
  for_each_stage(program.stages, [&](const Stage& stage) {
    for (const Dim& dim : stage.dims) {
      bound(dim.lo, dim.id);
      bound(dim.hi, dim.id);
    }
  });
  for (const auto& [dim, array] : walks) uses.rows[array];
  for_each_stage(program.stages, [&](const Stage& stage) {
    for_each_expr(stage, [&](Expr root) {
      visit(root, [&](Expr node) {
        const auto* read = as<Read>(node);
        for (std::size_t k = 0; read && k < read->rules.size(); ++k) {
          visit(node->args[k], [&](Expr part) {
            const auto* index = as<IndexRef>(part);
            const auto found = index ? walks.find(index->dim) : walks.end();
            if (found != walks.end() && read->rules[k] == Boundary::Inside)
              uses.rows[found->second].push_back(program[read->array].shape[k]);
          });
        }
      });
    });
  });
  for (const Array& array : program.arrays)
    for (const Expr e : array.shape)
      if (const auto scalar = input_read_in(program, e)) uses.sizes.insert(*scalar);
  return uses;
}

/// The value of an extent over input sizes and scalars; nothing if it depends on more.
std::optional<std::int64_t> value_of(Expr e, const std::map<SymbolId, std::int64_t>& sizes,
                                     const std::map<ArrayId, std::int64_t>& scalars) {
  if (const auto* literal = as<Literal>(e)) return literal->value.as_int();
  if (const auto* size = as<SizeRef>(e)) {
    const auto known = sizes.find(size->symbol);
    return known == sizes.end() ? std::nullopt : std::optional(known->second);
  }
  if (const auto* read = as<Read>(e)) {
    const auto known = scalars.find(read->array);
    return known == scalars.end() ? std::nullopt : std::optional(known->second);
  }
  if (as<Cast>(e)) return value_of(e->args[0], sizes, scalars);
  const auto* apply = as<Apply>(e);
  if (!apply || e->args.size() != 2) return std::nullopt;
  const auto a = value_of(e->args[0], sizes, scalars), b = value_of(e->args[1], sizes, scalars);
  if (!a || !b) return std::nullopt;
  switch (apply->prim) {
    case Prim::Add: return *a + *b;
    case Prim::Sub: return *a - *b;
    case Prim::Mul: return *a * *b;
    case Prim::Min: return std::min(*a, *b);
    case Prim::Max: return std::max(*a, *b);
    case Prim::Div:
      return *b > 0 ? std::optional(static_cast<std::int64_t>(
                          std::floor(static_cast<double>(*a) / static_cast<double>(*b))))
                    : std::nullopt;
    default: return std::nullopt;
  }
}

Number random_number(Scalar type, bool strict, bool fractions, Rng& rng) {
  if (type == Scalar::Bool) return Number::of(type, rng.below(2));
  if (is_float(type)) {
    if (strict && rng.chance(2))
      return Number::of_double(type, rng.pick({-0.0, 1e20, -HUGE_VAL, std::nan("")}));
    if (fractions) return convert(Number::of_double(Scalar::F64, (rng.unit() - 0.5) * 8), type);
    return Number::of_double(type, static_cast<double>(rng.between(-8, 8)));
  }
  if (rng.chance(2)) return rng.chance(50) ? highest(type) : lowest(type);
  return convert(Number::of(Scalar::I64, rng.between(-3, 12)), type);
}

}  // namespace

double estimated_points(const Program& program, const std::map<SymbolId, std::int64_t>& sizes) {
  ErrorBounds bounds(program, sizes, 8);
  bounds.constants();
  const Fact small = Fact::up_to(8, 0, true);
  for (const Input& input : program.inputs)
    bounds.set(input.array, Facts(ErrorBounds::anything(program[input.array].type).size(), small));
  const std::function<double(std::span<const Stage>)> points = [&](std::span<const Stage> stages) {
    double sum = 0;
    for (const Stage& stage : stages) {
      bounds.stage(stage);
      double own = 1;
      for (const Dim& dim : stage.dims) own *= static_cast<double>(bounds.most(dim));
      double inner = 1;
      if (const auto* nested = std::get_if<Nested>(&stage.body)) inner += points(nested->block->stages);
      if (const auto* branch = std::get_if<Branch>(&stage.body))
        inner += points(branch->then->stages) + points(branch->otherwise->stages);
      sum += own * inner;
    }
    return sum;
  };
  return points(program.stages);
}

std::vector<Data> random_inputs(const Program& program, Rng& rng, std::int64_t most_points) {
  std::map<SymbolId, std::int64_t> sizes;
  std::vector<std::int64_t> choices = {0, 1, 2, 3, 5, 8, 16, 17, 33};
  for (; !choices.empty(); choices.pop_back()) {
    for (const Symbol& symbol : program.symbols)
      if (symbol.origin == Symbol::Origin::Input) sizes[symbol.id] = rng.pick(choices);
    if (estimated_points(program, sizes) <= static_cast<double>(most_points)) break;
  }
  const Uses uses = uses_of(program);
  std::map<ArrayId, std::int64_t> scalars;
  std::vector<Data> inputs;
  for (const Input& input : program.inputs) {
    const Array& array = program[input.array];
    std::vector<std::int64_t> shape;
    for (const Expr e : array.shape)
      shape.push_back(std::max<std::int64_t>(0, value_of(e, sizes, scalars).value_or(0)));
    Data data(array.type, shape);
    const bool fractions = rng.chance(50);
    const std::size_t bytes = byte_size(array.type);
    for (std::int64_t k = 0; k < data.count(); ++k)
      for (const TypeLeaf& leaf : leaves_of(array.type))
        store(random_number(leaf.scalar, program.strict, fractions, rng),
              data.bytes() + static_cast<std::size_t>(k) * bytes + leaf.offset);
    if (array.rank() == 0 && array.type.is_integer()) {
      if (uses.sizes.contains(input.array))
        data.set(0, Number::of(array.type.scalar(), rng.pick({0, 1, 2, 3, 5})));
      scalars[input.array] = data.get(0).as_int();
    }
    inputs.push_back(std::move(data));
  }
  // Offsets rise from 0 to the extent of what they delimit.
  for (std::size_t p = 0; p < inputs.size(); ++p) {
    const auto rows = uses.rows.find(program.inputs[p].array);
    if (rows == uses.rows.end() || inputs[p].shape().size() != 1 || !inputs[p].type().is_integer()) continue;
    std::int64_t end = rows->second.empty() ? 8 : 33;
    for (const Expr e : rows->second)
      end = std::min(end, std::max<std::int64_t>(0, value_of(e, sizes, scalars).value_or(end)));
    std::vector<std::int64_t> offsets;
    for (std::int64_t k = 0; k < inputs[p].count(); ++k) offsets.push_back(rng.between(0, end));
    std::ranges::sort(offsets);
    if (!offsets.empty()) offsets.front() = 0;
    for (std::size_t k = 0; k < offsets.size(); ++k)
      inputs[p].set(static_cast<std::int64_t>(k), Number::of(inputs[p].type().scalar(), offsets[k]));
  }
  return inputs;
}

}  // namespace twill
