#include "program/choice.h"

#include <algorithm>

namespace twill {

std::vector<ChosenSize> chosen_sizes(const Program& program, const Stage& stage) {
  std::vector<ChosenSize> sizes;
  const auto* branch = std::get_if<Branch>(&stage.body);
  if (!branch || !stage.dims.empty()) return sizes;
  for (std::size_t k = 0; k < stage.outputs.size(); ++k) {
    if (stage.outputs[k].value || k >= branch->then->results.size() || k >= branch->otherwise->results.size())
      continue;
    const std::vector<Expr>& shape = program[stage.outputs[k].array].shape;
    const std::vector<Expr>& then = program[branch->then->results[k]].shape;
    const std::vector<Expr>& otherwise = program[branch->otherwise->results[k]].shape;
    if (then.size() != shape.size() || otherwise.size() != shape.size()) continue;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const auto* size = as<SizeRef>(shape[d]);
      if (!size || size->symbol.value < 0 ||
          static_cast<std::size_t>(size->symbol.value) >= program.symbols.size() ||
          program[size->symbol].origin != Symbol::Origin::Born)
        continue;
      if (then[d] == shape[d] && otherwise[d] == shape[d]) continue;  // it was known before
      if (std::none_of(sizes.begin(), sizes.end(),
                       [&](const ChosenSize& known) { return known.size == size->symbol; }))
        sizes.push_back({size->symbol, then[d], otherwise[d], k});
    }
  }
  return sizes;
}

bool is_chosen(const Program& program, const Stage& stage, const Output& output) {
  const std::vector<ChosenSize> sizes = chosen_sizes(program, stage);
  bool found = false;
  for (const Expr extent : program[output.array].shape)
    visit(extent, [&](Expr node) {
      const auto* size = as<SizeRef>(node);
      found = found || (size && std::any_of(sizes.begin(), sizes.end(),
                                            [&](const ChosenSize& one) { return one.size == size->symbol; }));
    });
  return found;
}

Expr on_side(ExprPool& pool, const std::vector<ChosenSize>& sizes, bool then, Expr e) {
  if (sizes.empty()) return e;
  return rewrite(pool, e, [&](Expr node) -> Expr {
    const auto* size = as<SizeRef>(node);
    if (!size) return {};
    for (const ChosenSize& chosen : sizes)
      if (chosen.size == size->symbol) return then ? chosen.then : chosen.otherwise;
    return {};
  });
}

}  // namespace twill
