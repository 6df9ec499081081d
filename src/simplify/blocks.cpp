// Blocks of one stage. What is computed at every point by a single stage is computed by one stage with the
// dimensions of both.
#include "simplify/passes.h"

#include "fuse/profit.h"
#include "simplify/rewriting.h"

#include <algorithm>

namespace twill {

namespace {

/// The only stage of the block of a stage, if the one has nothing else to do and the other gives what it
/// yields.
const Stage* only_stage(const Stage& stage) {
  const Nested* nested = std::get_if<Nested>(&stage.body);
  if (!nested || !nested->block->carries.empty() || nested->block->stages.size() != 1 ||
      stage.outputs.size() != 1 || !stage.effects.empty())
    return nullptr;
  const Output& around = stage.outputs.front();
  const Stage& inner = nested->block->stages.front();
  const bool plain =
      !around.value && !around.guard && !around.into &&
      std::all_of(around.combine.begin(), around.combine.end(), is<Cat>) &&
      std::all_of(around.at.begin(), around.at.end(), [](Expr at) { return as<IndexRef>(at) != nullptr; });
  if (!plain || !std::holds_alternative<Formula>(inner.body) || inner.outputs.size() != 1 ||
      !inner.effects.empty() || has_hint(stage, Hint::Never) || has_hint(inner, Hint::Never))
    return nullptr;
  const Output& output = inner.outputs.front();
  const bool dense = std::all_of(output.combine.begin(), output.combine.end(), [](const Combine& combine) {
    return is<Cat>(combine) || is<Fold>(combine) || is<Scan>(combine) || is<Scatter>(combine);
  });
  const bool yields =
      nested->block->results.front() == output.array && dense && !output.into && !output.force;
  return yields ? &inner : nullptr;
}

}  // namespace

bool open_blocks(Region& region, Notes& notes) {
  bool changed = false;
  for (Stage& stage : region.stages) {
    const Stage* found = only_stage(stage);
    if (!found) continue;
    const Stage inner = *found;  // the block goes
    const Output& from = inner.outputs.front();
    Output& output = stage.outputs.front();
    for (Dim dim : inner.dims) {
      // In a block, an index may have the name of one around it.
      const bool taken = std::any_of(stage.dims.begin(), stage.dims.end(),
                                     [&](const Dim& other) { return other.name == dim.name; });
      if (taken) {
        dim.name = NewNames(region.program).like(dim.name);
        region.program.dim_names[static_cast<std::size_t>(dim.id.value)] = dim.name;
      }
      stage.dims.push_back(std::move(dim));
    }
    stage.hints.insert(stage.hints.end(), inner.hints.begin(), inner.hints.end());
    output.combine.insert(output.combine.end(), from.combine.begin(), from.combine.end());
    output.at.insert(output.at.end(), from.at.begin(), from.at.end());
    output.value = from.value;
    output.guard = from.guard;
    stage.body = Formula{};
    notes.done.push_back({"block",
                          {inner.name, stage.name},
                          "'" + stage.name + "' is '" + inner.name + "' at every point: one stage",
                          inner.place});
    changed = true;
  }
  return changed;
}

}  // namespace twill
