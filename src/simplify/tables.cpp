// Tables. Groups that take values at the same points by the same key have the same buckets: they become
// outputs of one stage with one length and one array of keys, and so one table while they are filled.
#include "simplify/passes.h"

#include "program/buckets.h"
#include "simplify/rewriting.h"

#include <algorithm>

namespace twill {

namespace {

SymbolId length_of(const Program& program, const Output& group) {
  return as<SizeRef>(bucket_count(program, group))->symbol;
}

/// The second group of a stage gets the buckets of the first; false if it has them already, or if both arrays
/// of keys have to stay.
bool give_buckets(Region& region, Output& first, Output& second) {
  const SymbolId length = length_of(region.program, first), other = length_of(region.program, second);
  if (region.kept_sizes.contains(other)) return false;
  Renaming renaming;
  if (length != other) renaming.sizes[other] = length;
  if (second.keys && !region.kept.contains(*second.keys)) {
    renaming.arrays[*second.keys] = *first.keys;
    second.keys.reset();
  } else if (second.keys && !region.kept.contains(*first.keys)) {
    renaming.arrays[*first.keys] = *second.keys;
    first.keys = second.keys;
    second.keys.reset();
  }
  if (renaming.sizes.empty() && renaming.arrays.empty()) return false;
  rename_reads(region.program, region.stages, renaming);
  return true;
}

bool share_in(Region& region, std::size_t position, Notes& notes) {
  bool changed = false;
  const auto outputs = [&]() -> std::vector<Output>& { return region.stages[position].outputs; };
  for (std::size_t a = 0; a < outputs().size(); ++a) {
    for (std::size_t b = a + 1; b < outputs().size(); ++b) {
      Output &first = outputs()[a], &second = outputs()[b];
      if (!first.keys || !have_same_buckets(first, second) || !give_buckets(region, first, second)) continue;
      const std::string one = region.program[outputs()[a].array].name,
                        other = region.program[outputs()[b].array].name;
      notes.done.push_back({"table",
                            {region.stages[position].name},
                            "'" + one + "' and '" + other + "' have the same buckets and share a table",
                            region.stages[position].place});
      changed = true;
    }
  }
  return changed;
}

/// Would two groups of the stages have the same buckets if their loops were the same?
bool have_common_buckets(const Program& program, const Stage& first, const Stage& second) {
  if (first.dims.size() != second.dims.size()) return false;
  for (const Output& output : second.outputs) {
    Output there = output;
    there.key = at_points_of(program, first, second, output.key);
    there.guard = at_points_of(program, first, second, output.guard);
    if (std::any_of(first.outputs.begin(), first.outputs.end(),
                    [&](const Output& other) { return have_same_buckets(other, there); }))
      return true;
  }
  return false;
}

/// Makes one stage of two if that gives groups a common table.
bool join(Region& region, std::size_t first, std::size_t second) {
  return have_common_buckets(region.program, region.stages[first], region.stages[second]) &&
         join_siblings(region, first, second);
}

bool groups(const Stage& stage) { return std::any_of(stage.outputs.begin(), stage.outputs.end(), is_group); }

bool join_any(Region& region) {
  for (std::size_t first = 0; first < region.stages.size(); ++first) {
    if (!groups(region.stages[first])) continue;
    for (std::size_t second = first + 1; second < region.stages.size(); ++second)
      if (groups(region.stages[second]) && join(region, first, second)) return true;
  }
  return false;
}

}  // namespace

bool share_tables(Region& region, Notes& notes) {
  bool changed = false;
  while (join_any(region)) changed = true;
  for (std::size_t s = 0; s < region.stages.size(); ++s) changed = share_in(region, s, notes) || changed;
  return changed;
}

}  // namespace twill
