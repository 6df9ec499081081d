// Compares the directions in which stages walk through memory.
#include "fuse/direction.h"

#include "program/index_use.h"

#include <algorithm>

namespace twill {

std::vector<int> ease_of_steps(const Stage& stage) {
  std::vector<int> ease(stage.dims.size());
  int widest = 0;
  const auto add = [&](std::span<const Expr> subscripts) {
    const auto moves = [&](const Dim& dim) {
      return std::any_of(subscripts.begin(), subscripts.end(), [&](Expr e) { return mentions(e, dim.id); });
    };
    const int width = static_cast<int>(std::count_if(stage.dims.begin(), stage.dims.end(), moves));
    if (width < widest) return;
    if (width > widest) ease.assign(ease.size(), 0);
    widest = width;
    for (std::size_t d = 0; d < ease.size(); ++d) ease[d] += contiguity(subscripts, stage.dims[d].id);
  };
  for (const Output& output : stage.outputs) add(output.at);
  for_each_expr(stage, [&](Expr root) {
    visit(root, [&](Expr node) {
      if (const Read* read = as<Read>(node)) add(std::span(node->args).first(read->rules.size()));
    });
  });
  return ease;
}

std::optional<int> direction_of(const Stage& stage) {
  const std::vector<int> ease = ease_of_steps(stage);
  // Of equals, the inner one.
  const auto best = std::max_element(ease.rbegin(), ease.rend());
  if (best == ease.rend() || *best <= 0) return std::nullopt;
  return static_cast<int>(ease.rend() - best) - 1;
}

bool walk_apart(const Stage& first, const Stage& second) {
  if (first.dims.size() != second.dims.size()) return false;
  const auto a = direction_of(first), b = direction_of(second);
  return a && b && *a != *b && ease_of_steps(first)[static_cast<std::size_t>(*b)] < 0 &&
         ease_of_steps(second)[static_cast<std::size_t>(*a)] < 0;
}

bool jumps_inside(const Stage& stage, int first_dims) {
  const auto direction = direction_of(stage);
  if (!direction || *direction >= first_dims) return false;
  const std::vector<int> ease = ease_of_steps(stage);
  return static_cast<std::size_t>(first_dims) < ease.size() &&
         std::all_of(ease.begin() + first_dims, ease.end(), [](int e) { return e < 0; });
}

}  // namespace twill
