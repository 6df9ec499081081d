#include "driver/explain.h"

#include "base/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace twill {
namespace {

/// The two sides of a comparison.
struct Sides {
  Expr left, right;
  bool equal = false;  // == or ~
};

void conjuncts(Expr e, std::vector<Expr>& list) {
  if (const Apply* apply = as<Apply>(e); apply && apply->prim == Prim::And) {
    for (Expr arg : e->args) conjuncts(arg, list);
  } else {
    list.push_back(e);
  }
}

std::optional<Sides> sides_of(Expr e) {
  const Apply* apply = as<Apply>(e);
  if (!apply || e->args.size() != 2) return std::nullopt;
  switch (apply->prim) {
    case Prim::Eq: return Sides{e->args[0], e->args[1], true};
    case Prim::Le: {
      // a ~ b is |a - b| <= a tolerance.
      const Apply* size = as<Apply>(e->args[0]);
      const Apply* difference = size && size->prim == Prim::Abs ? as<Apply>(e->args[0]->args[0]) : nullptr;
      if (difference && difference->prim == Prim::Sub)
        return Sides{e->args[0]->args[0]->args[0], e->args[0]->args[0]->args[1], true};
      return Sides{e->args[0], e->args[1]};
    }
    case Prim::Ne:
    case Prim::Lt:
    case Prim::Gt:
    case Prim::Ge: return Sides{e->args[0], e->args[1]};
    default: return std::nullopt;
  }
}

/// The array that a side reads an element or a field of, or nothing.
std::optional<ArrayId> array_read(Expr e) {
  while (as<GetField>(e) || as<Cast>(e)) e = e->args[0];
  const Read* read = as<Read>(e);
  return read ? std::optional(read->array) : std::nullopt;
}

bool reads_nothing(Expr e) {
  bool nothing = true;
  visit(e, [&](Expr node) { nothing = nothing && !as<Read>(node); });
  return nothing;
}

std::string element_text(const Data& data, std::int64_t at) {
  return value_text(data.type(), std::vector{data.get(at)});
}

/// " at [1, 3]" for the element at a flat position; nothing for a scalar.
std::string point_text(const Data& data, std::int64_t position) {
  std::vector<std::int64_t> point(data.shape().size());
  for (std::size_t d = point.size(); d-- > 0; position /= data.shape()[d])
    point[d] = position % data.shape()[d];
  return point.empty() ? "" : fmt::format(" at [{}]", fmt::join(point, ", "));
}

class Explanation {
 public:
  Explanation(const Program& program, std::span<const Data> inputs) : program_(program), inputs_(inputs) {}

  /// Why an element of a bool array is false.
  std::string of(ArrayId array) {
    const auto [stage, output] = definition(array);
    if (!stage) return {};
    std::vector<Expr> parts;
    conjuncts(output->value, parts);
    const std::vector<Data> values = probe(*stage, parts);
    for (std::int64_t at = 0; at < values[0].count(); ++at) {
      for (std::size_t p = 0; p < parts.size(); ++p) {
        if (values[p].get(at).u) continue;
        if (reads_nothing(parts[p])) {
          if (const std::string shapes = different_shapes(parts); !shapes.empty()) return shapes;
        }
        const std::string point = point_text(values[p], at);
        if (const auto sides = sides_of(parts[p])) return point + compared(*stage, *sides, at);
        const Read* read = as<Read>(parts[p]);
        return read && program_[read->array].rank() == 0 ? of(read->array) : point;
      }
    }
    return {};
  }

 private:
  /// A formula over whole ranges whose points meet in nothing but `and`.
  std::pair<const Stage*, const Output*> definition(ArrayId array) const {
    for (const Stage& stage : program_.stages) {
      if (!std::holds_alternative<Formula>(stage.body)) continue;
      for (const Output& output : stage.outputs) {
        if (output.array != array || output.guard || output.into) continue;
        const bool plain = std::ranges::all_of(output.combine, [](const Combine& combine) {
          const Fold* fold = std::get_if<Fold>(&combine);
          return is<Cat>(combine) || (fold && fold->op.prim == Prim::And);
        });
        const bool whole = std::ranges::all_of(stage.dims, [](const Dim& dim) {
          const Literal* lo = as<Literal>(dim.lo);
          return lo && lo->value.i == 0 && dim.hi && !dim.condition;
        });
        if (plain && whole) return {&stage, &output};
      }
    }
    return {nullptr, nullptr};
  }

  /// The values of expressions at all points of a stage, as arrays over its dimensions.
  std::vector<Data> probe(const Stage& stage, const std::vector<Expr>& values) const {
    Program program = program_;
    program.results.clear();
    Stage all;
    all.name = "probe";
    all.dims = stage.dims;
    std::vector<Expr> shape, at;
    for (const Dim& dim : stage.dims) {
      shape.push_back(dim.hi);
      at.push_back(program.pool->index(dim.id));
    }
    for (Expr value : values) {
      Output output;
      output.array = program.add_array("probe", value->type, shape);
      output.combine.assign(stage.dims.size(), Cat{});
      output.at = at;
      output.value = value;
      program.results.push_back(output.array);
      all.outputs.push_back(std::move(output));
    }
    program.stages.push_back(std::move(all));
    return interpret(program, inputs_).results;
  }

  std::string compared(const Stage& stage, const Sides& sides, std::int64_t at) const {
    const std::vector<Data> values = probe(stage, {sides.left, sides.right});
    const std::string left = element_text(values[0], at), right = element_text(values[1], at);
    return sides.equal ? fmt::format(": it is {}, not {}", left, right)
                       : fmt::format(": the left side is {}, the right side {}", left, right);
  }

  /// If extents differ: the arrays whose elements are compared in another of the parts.
  std::string different_shapes(const std::vector<Expr>& parts) const {
    for (Expr part : parts) {
      const Read* read = as<Read>(part);
      const Output* output = read ? definition(read->array).second : nullptr;
      if (!output) continue;
      std::vector<Expr> comparisons;
      conjuncts(output->value, comparisons);
      const auto sides = sides_of(comparisons.front());
      const auto left = sides ? array_read(sides->left) : std::nullopt,
                 right = sides ? array_read(sides->right) : std::nullopt;
      if (!left || !right) continue;
      Program program = program_;
      program.results = {*left, *right};
      const std::vector<Data> arrays = interpret(program, inputs_).results;
      if (arrays[0].shape() != arrays[1].shape())
        return fmt::format(": the shape is [{}], not [{}]", fmt::join(arrays[0].shape(), ", "),
                           fmt::join(arrays[1].shape(), ", "));
    }
    return {};
  }

  const Program& program_;
  std::span<const Data> inputs_;
};

}  // namespace

std::string why_not(const Program& holds, std::span<const Data> inputs) {
  try {
    if (const std::string text = Explanation(holds, inputs).of(holds.results.front()); !text.empty())
      return text;
  } catch (const Error&) {
    // A part that fails where the conjunction before it is false explains nothing.
  }
  const Data result = interpret(holds, inputs).results.front();
  for (std::int64_t at = 0; at < result.count(); ++at)
    if (!result.get(at).u) return point_text(result, at);
  return {};
}

}  // namespace twill
