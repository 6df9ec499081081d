#include "plan/growing.h"

#include "fuse/profit.h"

#include <algorithm>

namespace twill {

namespace {

bool appends(const Output& output) { return std::ranges::any_of(output.combine, is<Append>); }

/// Does the stage count before it writes? Rows do in any case: their lengths say where they begin.
bool could_grow(const Stage& stage) {
  return std::ranges::any_of(stage.outputs, appends) &&
         std::ranges::all_of(stage.outputs, [](const Output& o) { return !appends(o) || !o.offsets; });
}

/// What counting evaluates at every point.
Stage counted(const Stage& stage) {
  Stage part;
  part.dims = stage.dims;
  for (const Output& output : stage.outputs) {
    if (!appends(output)) continue;
    part.outputs.push_back(output);
    part.outputs.back().value = {};
  }
  return part;
}

/// Operations per point of counting, with those of earlier stages in the same loops that it needs. Loops
/// inside, and blocks, are many.
bool costs_much(std::span<const Stage* const> stages, std::size_t i) {
  if (!std::holds_alternative<Formula>(stages[i]->body)) return true;
  const std::size_t depth = stages[i]->dims.size();
  Stage needed = counted(*stages[i]);
  int operations = operations_of(needed);
  for (std::size_t k = i; k-- > 0;) {
    const bool is_read = std::ranges::any_of(
        stages[k]->outputs, [&](const Output& output) { return reads(needed, output.array); });
    if (!is_read) continue;
    if (stages[k]->dims.size() > depth) return true;
    operations += operations_of(*stages[k]);
    needed.outputs.insert(needed.outputs.end(), stages[k]->outputs.begin(), stages[k]->outputs.end());
  }
  return operations >= cheap_operations;
}

}  // namespace

void let_appends_grow(const Program& program, std::span<const Stage* const> stages, const Site& site,
                      Cluster& cluster) {
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const Stage& stage = *stages[i];
    if (!could_grow(stage) || !costs_much(stages, i)) continue;
    Cluster growing = cluster;
    for (std::size_t o = 0; o < stage.outputs.size(); ++o) {
      if (!appends(stage.outputs[o])) continue;
      const int instance = static_cast<int>(i), output = static_cast<int>(o);
      std::erase_if(growing.merges,
                    [&](const Merge& merge) { return merge.instance == instance && merge.output == output; });
      growing.merges.push_back({instance, output, How::Partial});
    }
    if (!why_illegal(program, stages, growing, site)) cluster = std::move(growing);
  }
}

}  // namespace twill
