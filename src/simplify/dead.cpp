// Stages and outputs that nobody needs.
#include "simplify/passes.h"

#include "program/buckets.h"
#include "program/choice.h"
#include "simplify/rewriting.h"

#include <algorithm>

namespace twill {

namespace {

/// Does the output make a dimension run from the right, in a stage in which others can tell?
bool sets_direction(const Stage& stage, const Output& output) {
  return runs_from_right(output) &&
         (!stage.effects.empty() ||
          std::any_of(stage.outputs.begin(), stage.outputs.end(), [&](const Output& other) {
            return &other != &output && !std::all_of(other.combine.begin(), other.combine.end(), is<Cat>);
          }));
}

SymbolId length_of(const Program& program, const Output& collection) {
  return as<SizeRef>(program[collection.array].shape.front())->symbol;
}

/// Of the groups of a stage that share their buckets, those that nobody needs for themselves. The keys go to
/// the first that stays; the number of buckets is known to all of them.
std::set<ArrayId> unneeded_buckets(const Program& program, std::vector<Output>& outputs,
                                   const std::function<bool(const Output&)>& has_needed_values) {
  std::set<ArrayId> unneeded;
  for (Output& first : outputs) {
    if (!is_group(first) || unneeded.contains(first.array) || !first.keys) continue;
    std::vector<Output*> others;
    for (Output& other : outputs)
      if (&other > &first && !other.keys && share_buckets(program, first, other)) others.push_back(&other);
    const auto heir = std::find_if(others.begin(), others.end(),
                                   [&](const Output* other) { return has_needed_values(*other); });
    const bool leaves = heir != others.end() && !has_needed_values(first);
    if (leaves) {
      (*heir)->keys = first.keys;
      first.keys.reset();
      unneeded.insert(first.array);
    }
    for (const Output* other : others)
      if (!has_needed_values(*other)) unneeded.insert(other->array);
  }
  return unneeded;
}

/// Takes outputs out of a choice that nobody needs. Those that a size is known by stay.
bool drop_unneeded(const Program& program, Stage& stage,
                   const std::function<bool(const Output&)>& is_needed) {
  if (!std::holds_alternative<Branch>(stage.body) || !stage.dims.empty()) return false;
  std::vector<bool> stay;
  for (const Output& output : stage.outputs) stay.push_back(is_needed(output));
  for (const ChosenSize& chosen : chosen_sizes(program, stage))
    for (std::size_t o = 0; o < stay.size(); ++o)
      for (const Expr extent : program[stage.outputs[o].array].shape)
        visit(extent, [&](Expr node) {
          const auto* size = as<SizeRef>(node);
          if (stay[o] && size && size->symbol == chosen.size) stay[chosen.output] = true;
        });
  if (std::find(stay.begin(), stay.end(), false) == stay.end()) return false;
  keep_outputs(stage, stay);
  return true;
}

}  // namespace

bool remove_dead(Region& region, Notes& notes) {
  std::set<ArrayId> needed = region.kept;
  std::set<SymbolId> sizes = region.kept_sizes;
  const auto need_sizes = [&](Expr root) {
    visit(root, [&](Expr node) {
      if (const auto* size = as<SizeRef>(node)) sizes.insert(size->symbol);
    });
  };
  const auto need_shape = [&](ArrayId array) {
    for (const Expr extent : region.program[array].shape) {
      need_sizes(extent);
      visit(extent, [&](Expr node) {
        if (const auto* read = as<Read>(node)) needed.insert(read->array);
      });
    }
  };
  for (const ArrayId array : region.kept) need_shape(array);
  bool changed = false;
  std::vector<Stage> alive;
  for (std::size_t s = region.stages.size(); s-- > 0;) {
    Stage& stage = region.stages[s];
    const std::set<SymbolId> born = lengths_born_in(region.program, stage);
    const auto is_needed = [&](const Output& output) {
      for (const ArrayId array : defined_arrays(output)) {
        if (needed.contains(array)) return true;
        for (const Expr extent : region.program[array].shape) {
          const auto* size = as<SizeRef>(extent);
          if (size && born.contains(size->symbol) && sizes.contains(size->symbol)) return true;
        }
      }
      return false;
    };
    // The outputs of a block are its results by position, and states are handed on together.
    const bool splits = std::holds_alternative<Formula>(stage.body);
    std::vector<Output> outputs;
    bool any = has_effects(stage);
    for (const Output& output : stage.outputs) any = any || is_needed(output);
    if (!any) {
      notes.done.push_back({"dead", {stage.name}, "nobody needs '" + stage.name + "'", stage.place});
      changed = true;
      continue;
    }
    if (splits) {
      // What a stage reads of its own past stays with it.
      std::set<ArrayId> own;
      for (const Output& output : stage.outputs)
        if (reads(stage, output.array) || sets_direction(stage, output)) own.insert(output.array);
      const std::set<ArrayId> unneeded =
          unneeded_buckets(region.program, stage.outputs, [&](const Output& output) {
            const bool collects = output.offsets && (needed.contains(*output.offsets) ||
                                                     sizes.contains(length_of(region.program, output)));
            return needed.contains(output.array) || collects || own.contains(output.array);
          });
      // A length that another one of them knows as well is no reason to collect values.
      const auto is_known_elsewhere = [&](const Output& output) {
        return !is_group(output) && !needed.contains(output.array) && !own.contains(output.array) &&
               std::any_of(stage.outputs.begin(), stage.outputs.end(), [&](const Output& other) {
                 return &other != &output && needed.contains(other.array) &&
                        share_length(region.program, other, output);
               });
      };
      std::set<ArrayId> known;
      for (const Output& output : stage.outputs)
        if (is_known_elsewhere(output)) known.insert(output.array);
      for (Output& output : stage.outputs) {
        if (!unneeded.contains(output.array) && !known.contains(output.array) &&
            (is_needed(output) || own.contains(output.array))) {
          outputs.push_back(std::move(output));
        } else {
          notes.done.push_back({"dead",
                                {stage.name},
                                "nobody needs '" + region.program[output.array].name + "'",
                                output.place});
          changed = true;
        }
      }
      stage.outputs = std::move(outputs);
    }
    if (drop_unneeded(region.program, stage, is_needed)) {
      notes.done.push_back(
          {"dead", {stage.name}, "nobody needs all that '" + stage.name + "' leaves behind", stage.place});
      changed = true;
    }
    for (const ArrayId array : reads_of(region.program, stage)) needed.insert(array);
    for_each_stage({&stage, 1}, [&](const Stage& inner) {
      for_each_expr(inner, need_sizes);
      for (const Output& output : inner.outputs) {
        for (const ArrayId array : defined_arrays(output)) need_shape(array);
      }
    });
    alive.push_back(std::move(stage));
  }
  region.stages.assign(std::make_move_iterator(alive.rbegin()), std::make_move_iterator(alive.rend()));
  return changed;
}

}  // namespace twill
