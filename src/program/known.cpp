#include "program/known.h"

#include "program/evaluate.h"
#include "program/interpret.h"

#include <unordered_map>
#include <vector>

namespace twill {

KnownSizes known_sizes(const Program& program, std::span<const Data> inputs) {
  KnownSizes known{bind_sizes(program, inputs), {}, {}};
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].shape().empty() && inputs[i].type().is_scalar())
      known.scalars[program.inputs[i].array] = inputs[i].get(0);
  return known;
}

namespace {

/// Of an operation whose operands are known.
std::optional<Number> value_of(Expr e, const std::vector<Number>& operands) {
  if (as<Cast>(e)) return convert(operands[0], e->type.scalar());
  if (as<Select>(e)) return operands[operands[0].i != 0 ? 1 : 2];
  const auto* apply = as<Apply>(e);
  if (!apply || !is_defined(apply->prim, operands)) return std::nullopt;
  return evaluate(apply->prim, operands);
}

}  // namespace

std::optional<Number> known_value(Expr root, const KnownSizes& known) {
  std::unordered_map<const Node*, Number> values;
  visit(root, [&](Expr e) {
    std::optional<Number> value;
    if (const auto* literal = as<Literal>(e)) {
      value = literal->value;
    } else if (const auto* size = as<SizeRef>(e)) {
      const auto found = known.sizes.find(size->symbol);
      if (found != known.sizes.end()) value = Number::of(Scalar::I64, found->second);
    } else if (const auto* index = as<IndexRef>(e)) {
      const auto found = known.indices.find(index->dim);
      if (found != known.indices.end()) value = Number::of(Scalar::I64, found->second);
    } else if (const auto* read = as<Read>(e)) {
      const auto found = known.scalars.find(read->array);
      if (found != known.scalars.end()) value = found->second;
    } else {
      std::vector<Number> operands;
      for (const Expr arg : e->args)
        if (const auto operand = values.find(arg.get()); operand != values.end())
          operands.push_back(operand->second);
      if (operands.size() == e->args.size()) value = value_of(e, operands);
    }
    if (value) values.emplace(e.get(), *value);
  });
  const auto found = values.find(root.get());
  return found == values.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace twill
