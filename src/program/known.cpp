#include "program/known.h"

#include "program/evaluate.h"
#include "program/interpret.h"

namespace twill {

KnownSizes known_sizes(const Program& program, std::span<const Data> inputs) {
  KnownSizes known{bind_sizes(program, inputs), {}};
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].shape().empty() && inputs[i].type().is_scalar())
      known.scalars[program.inputs[i].array] = inputs[i].get(0);
  return known;
}

std::optional<Number> known_value(Expr e, const KnownSizes& known) {
  if (const auto* literal = as<Literal>(e)) return literal->value;
  if (const auto* size = as<SizeRef>(e)) {
    const auto found = known.sizes.find(size->symbol);
    return found == known.sizes.end() ? std::nullopt : std::optional(Number::of(Scalar::I64, found->second));
  }
  if (const auto* read = as<Read>(e)) {
    const auto found = known.scalars.find(read->array);
    return found == known.scalars.end() ? std::nullopt : std::optional(found->second);
  }
  std::vector<Number> operands;
  for (const Expr arg : e->args) {
    const auto operand = known_value(arg, known);
    if (!operand) return std::nullopt;
    operands.push_back(*operand);
  }
  if (as<Cast>(e)) return convert(operands[0], e->type.scalar());
  if (as<Select>(e)) return operands[operands[0].i != 0 ? 1 : 2];
  const auto* apply = as<Apply>(e);
  if (!apply || !is_defined(apply->prim, operands)) return std::nullopt;
  return evaluate(apply->prim, operands);
}

}  // namespace twill
