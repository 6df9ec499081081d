// Copies. A stage that only copies a whole array goes, and so does an output of a stage that is the same as
// another one: one of the two names serves for both.
#include "simplify/passes.h"

#include "fuse/profit.h"
#include "simplify/rewriting.h"

#include <algorithm>

namespace twill {

namespace {

/// The array that the stage is a copy of.
std::optional<ArrayId> copied(const Program& program, const Stage& stage) {
  if (!std::holds_alternative<Formula>(stage.body) || !stage.effects.empty() ||
      has_hint(stage, Hint::Never) || stage.outputs.size() != 1)
    return std::nullopt;
  const Output& output = stage.outputs.front();
  const auto* read = as<Read>(output.value);
  if (!read || output.guard || output.into || output.force || output.value->args != output.at ||
      !std::all_of(output.combine.begin(), output.combine.end(), is<Cat>) ||
      !std::all_of(read->rules.begin(), read->rules.end(),
                   [](Boundary rule) { return rule == Boundary::Inside; }))
    return std::nullopt;
  const Array &copy = program[output.array], &original = program[read->array];
  if (copy.shape != original.shape || !(copy.type == original.type) || stage.dims.size() != copy.shape.size())
    return std::nullopt;
  for (std::size_t d = 0; d < stage.dims.size(); ++d) {
    const auto at = std::find(output.at.begin(), output.at.end(), program.pool->index(stage.dims[d].id));
    if (at == output.at.end() || integer_of(stage.dims[d].lo) != 0 ||
        stage.dims[d].hi != copy.shape[static_cast<std::size_t>(at - output.at.begin())])
      return std::nullopt;
  }
  return read->array;
}

/// Makes a stage define an array in the place of another one.
void redefine(Stage& stage, ArrayId from, ArrayId to) {
  for (Output& output : stage.outputs) {
    if (output.array == from) output.array = to;
    for (std::optional<ArrayId>* array : {&output.offsets, &output.keys})
      if (*array == from) *array = to;
  }
}

/// Do the two outputs of a stage define the same?
bool are_equal(const Program& program, const Output& a, const Output& b) {
  return a.value && a.value == b.value && a.guard == b.guard && a.key == b.key && a.at == b.at &&
         a.combine == b.combine && !a.into && !b.into && !a.force && !b.force &&
         program[a.array].shape == program[b.array].shape && program[a.array].type == program[b.array].type;
}

/// Removes an output that is the same as one before it.
bool remove_equal_output(Region& region, Notes& notes) {
  for (Stage& stage : region.stages) {
    if (!std::holds_alternative<Formula>(stage.body) || any_is<Seq>(stage)) continue;
    for (std::size_t a = 0; a < stage.outputs.size(); ++a) {
      for (std::size_t b = a + 1; b < stage.outputs.size(); ++b) {
        Output &first = stage.outputs[a], &second = stage.outputs[b];
        // What has lengths of its own is not equal to anything; what has keys is asked for them.
        if (second.offsets || second.keys || !are_equal(region.program, first, second)) continue;
        ArrayId stays = first.array, goes = second.array;
        if (region.kept.contains(goes)) std::swap(stays, goes);
        if (region.kept.contains(goes)) continue;
        notes.done.push_back({"same",
                              {stage.name},
                              "'" + region.program[second.array].name + "' is the same as '" +
                                  region.program[first.array].name + "'",
                              second.place});
        first.array = stays;
        stage.outputs.erase(stage.outputs.begin() + static_cast<std::ptrdiff_t>(b));
        Renaming renaming;
        renaming.arrays[goes] = stays;
        rename_reads(region.program, region.stages, renaming);
        return true;
      }
    }
  }
  return false;
}

}  // namespace

bool remove_copies(Region& region, Notes& notes) {
  bool changed = false;
  while (remove_equal_output(region, notes)) changed = true;
  const auto definer = [&](ArrayId array) {
    return std::find_if(region.stages.begin(), region.stages.end(), [&](const Stage& stage) {
      return std::any_of(stage.outputs.begin(), stage.outputs.end(), [&](const Output& output) {
        const auto defined = defined_arrays(output);
        return std::find(defined.begin(), defined.end(), array) != defined.end();
      });
    });
  };
  Renaming renaming;
  std::set<std::size_t> gone;
  for (std::size_t s = 0; s < region.stages.size(); ++s) {
    const Stage& stage = region.stages[s];
    const std::optional<ArrayId> read = copied(region.program, stage);
    if (!read) continue;
    const ArrayId copy = stage.outputs.front().array, original = renaming.of(*read);
    const auto made = definer(original);
    // A block may see another version of what is around it.
    if (made == region.stages.end() && !region.owner.empty()) continue;
    if (!region.kept.contains(copy)) {
      renaming.arrays[copy] = original;
    } else if (made != region.stages.end() && !region.kept.contains(original)) {
      redefine(*made, original, copy);
      if (made->outputs.size() == 1 && made->outputs.front().array == copy) made->name = stage.name;
      renaming.arrays[original] = copy;
    } else {
      continue;
    }
    gone.insert(s);
    notes.done.push_back(
        {"copy",
         {stage.name},
         "'" + region.program[copy].name + "' is '" + region.program[original].name + "' under another name",
         stage.place});
  }
  if (gone.empty()) return changed;
  std::vector<Stage> left;
  for (std::size_t s = 0; s < region.stages.size(); ++s)
    if (!gone.contains(s)) left.push_back(std::move(region.stages[s]));
  region.stages = std::move(left);
  rename_reads(region.program, region.stages, renaming);
  return true;
}

}  // namespace twill
