// Stages: dimensions, blocks and carried states, effects, and what a stage leaves behind.
#include "program/affine_of.h"
#include "program/checker.h"

#include <algorithm>

namespace twill {

void Checker::check_stages(std::span<const Stage> stages, Scope& scope) {
  for (const Stage& stage : stages) check_stage(stage, scope);
}

void Checker::check_stage(const Stage& stage, Scope& outer) {
  const Stage* around = std::exchange(stage_, &stage);
  reported_.clear();
  if (stage.outputs.empty() && stage.effects.empty() && !has_effects(stage))
    report("E0336", stage.place, "it has neither outputs nor effects",
           "take the stage out, or give it an output");
  Scope scope = outer;
  bool good = check_dims(stage, scope);
  scope.running.push_back({&stage, &outer});
  const bool blocks = check_blocks(stage, scope, outer);
  if (blocks) {
    for (std::size_t k = 0; k < stage.outputs.size(); ++k) {
      good = check_output(stage, k, scope, outer) && good;
      if (good && is_running(stage.outputs[k])) scope.add(stage.outputs[k].array);
    }
  } else {
    good = false;  // outputs rely on the results of blocks
  }
  const std::size_t before = diagnostics.size();
  check_effects(stage, scope);
  if (good && diagnostics.size() == before) {
    check_inside(stage, scope, outer);
    check_writes(stage, outer);
  }
  define_outputs(stage, outer);
  if (blocks)
    for (const ChosenSize& chosen : chosen_sizes(program_, stage)) outer.add(chosen.size);
  stage_ = around;
}

bool Checker::check_dims(const Stage& stage, Scope& scope) {
  bool good = true;
  for (std::size_t k = 0; k < stage.dims.size(); ++k) {
    const Dim& dim = stage.dims[k];
    const std::string name = name_of(program_, dim.id);
    const Place place = first_place({dim.place, stage.place});
    const Site site{&scope, nullptr, program_.functions.size(), place};
    bool bounds = check_typed(dim.lo, Scalar::I64, fmt::format("the lower bound of {}", name), site);
    if (dim.hi) {
      bounds = check_typed(dim.hi, Scalar::I64, fmt::format("the upper bound of {}", name), site) && bounds;
    } else if (!dim.condition) {
      report("E0322", place, fmt::format("dimension {} has no end", name),
             "give it an upper bound, or a condition");
      bounds = false;
    }
    if (dim.condition) {
      const auto* nested = std::get_if<Nested>(&stage.body);
      const bool carried = nested && !nested->block->carries.empty();
      const bool sequential = std::ranges::all_of(
          stage.outputs, [&](const Output& o) { return k < o.combine.size() && is<Seq>(o.combine[k]); });
      if (!carried || !sequential) {
        report("E0322", place,
               fmt::format("dimension {} ends by a condition, but the stage carries no state", name),
               "only a seq dimension of a stage that carries a state can be a while loop");
        bounds = false;
      } else {
        Scope state = scope;
        state.dims.push_back(dim);
        for (const Carry& carry : nested->block->carries)
          if (has(carry.inside)) state.add(carry.inside);
        const Site inside{&state, nullptr, program_.functions.size(), place};
        bounds = check_typed(dim.condition, Scalar::Bool, fmt::format("the condition of {}", name), inside) &&
                 bounds;
      }
    }
    scope.dims.push_back(dim);
    if (bounds) scope.facts = std::move(scope.facts) && prover_.range(dim);
    good = good && bounds;
  }
  return good;
}

// ---- blocks -------------------------------------------------------------------------------------------

bool Checker::check_blocks(const Stage& stage, Scope& scope, const Scope& outer) {
  if (const auto* nested = std::get_if<Nested>(&stage.body))
    return check_block(stage, *nested->block, scope, outer);
  const auto* branch = std::get_if<Branch>(&stage.body);
  if (!branch) return true;
  const Site site{&scope, nullptr, program_.functions.size(), stage.place};
  bool good = check_typed(branch->condition, Scalar::Bool, "the condition of the branches", site);
  for (const bool truth : {true, false}) {
    const Block& block = truth ? *branch->then : *branch->otherwise;
    Scope inside = scope;
    if (good) inside.facts = std::move(inside.facts) && prover_.conditions().when(branch->condition, truth);
    if (!block.carries.empty()) {
      report("E0321", stage.place, "a branch carries a state", "put the loop into a stage of the branch");
      good = false;
    }
    good = check_block(stage, block, inside, outer) && good;
  }
  if (!good) return false;
  const std::vector<ChosenSize> chosen = chosen_sizes(program_, stage);
  for (const ChosenSize& one : chosen) {
    if (!outer.sees(one.size) && born_.insert(one.size).second) continue;
    report("E0325", stage.place,
           fmt::format("size {} is born twice, the second time with a choice", name_of(program_, one.size)),
           "every born length is a size of its own");
    good = false;
  }
  for (std::size_t k = 0; k < stage.outputs.size(); ++k) {
    if (stage.outputs[k].value) continue;
    const Array& a = program_[branch->then->results[k]];
    const Array& b = program_[branch->otherwise->results[k]];
    const std::vector<Expr>& shape = program_[stage.outputs[k].array].shape;
    bool same = a.type == b.type && a.rank() == b.rank();
    for (std::size_t d = 0; d < a.shape.size() && same; ++d) {
      // Sides that disagree have a size that says which one it was.
      const bool fits = !chosen.empty() && shape.size() == a.shape.size() &&
                        same_size(on_side(*program_.pool, chosen, true, shape[d]), a.shape[d]) &&
                        same_size(on_side(*program_.pool, chosen, false, shape[d]), b.shape[d]);
      same = fits || same_size(a.shape[d], b.shape[d]);
    }
    if (same) continue;
    report("E0323", stage.outputs[k].place,
           fmt::format("the branches disagree about {}: {} or {}", quoted(stage.outputs[k].array),
                       describe_type(program_, a), describe_type(program_, b)),
           "both branches have to give the same type and shape; a length that differs is declared where it "
           "stands: [born L]");
    good = false;
  }
  return good;
}

bool Checker::check_block(const Stage& stage, const Block& block, Scope& scope, const Scope& outer) {
  bool good = true;
  if (!block.carries.empty()) {
    const bool one_seq = stage.dims.size() == 1 && std::ranges::all_of(stage.outputs, [](const Output& o) {
                           return o.combine.size() == 1 && is<Seq>(o.combine[0]);
                         });
    if (!one_seq) {
      report("E0321", stage.place, "it carries a state, but is not a single seq dimension",
             "a loop with a state has exactly one dimension, and seq in all outputs");
      good = false;
    }
  }
  for (const Carry& carry : block.carries) {
    if (!has(carry.inside) || !has(carry.init) || !has(carry.next)) {
      report("E0301", stage.place, "a carried state refers to an array that the program does not have");
      good = false;
      continue;
    }
    if (!outer.sees(carry.init)) {
      report("E0304", stage.place,
             fmt::format("state {} starts from {}, which is not defined before the stage",
                         quoted(carry.inside), quoted(carry.init)));
      good = false;
    }
    const Array& inside = program_[carry.inside];
    good = check_shape(inside, outer) && good;
    for (const ArrayId other : {carry.init, carry.next}) {
      const Array& array = program_[other];
      if (array.type == inside.type &&
          std::ranges::equal(array.shape, inside.shape, [](Expr a, Expr b) { return same_size(a, b); }))
        continue;
      report("E0321", first_place({inside.place, stage.place}),
             fmt::format("state '{}' is {}, but {} '{}' is {}", inside.name, describe_type(program_, inside),
                         other == carry.init ? "its initial value" : "its next value", array.name,
                         describe_type(program_, array)),
             "a state keeps its type and shape from step to step");
      good = false;
    }
    scope.add(carry.inside);
  }
  check_stages(block.stages, scope);
  stage_ = &stage;
  for (const Carry& carry : block.carries) {
    if (!has(carry.next) || scope.sees(carry.next)) continue;
    report("E0304", stage.place,
           fmt::format("the next value {} of state {} is not defined in the block", quoted(carry.next),
                       quoted(carry.inside)));
    good = false;
  }
  if (block.results.size() != stage.outputs.size()) {
    report(
        "E0332", stage.place,
        fmt::format("its block has {} results for {} outputs", block.results.size(), stage.outputs.size()));
    return false;
  }
  for (std::size_t k = 0; k < block.results.size(); ++k) {
    const Output& output = stage.outputs[k];
    if (output.value) continue;
    const ArrayId result = block.results[k];
    if (!has(result) || !scope.sees(result)) {
      report("E0332", first_place({output.place, stage.place}),
             fmt::format("result {} of its block is not defined there", quoted(result)));
      good = false;
      continue;
    }
    const bool last = std::ranges::any_of(output.combine, [](const Combine& c) {
      const auto* seq = std::get_if<Seq>(&c);
      return seq && seq->last;
    });
    const bool carried = std::ranges::any_of(block.carries, [&](const Carry& c) { return c.next == result; });
    if (last && !carried) {
      report(
          "E0321", first_place({output.place, stage.place}),
          fmt::format("the last value of {} is kept, but {} is not carried: after no steps it has no value",
                      quoted(output.array), quoted(result)),
          "carry it from step to step");
      good = false;
    }
  }
  return good;
}

// ---- effects ------------------------------------------------------------------------------------------

void Checker::check_effects(const Stage& stage, const Scope& scope) {
  for (const Effect& effect : stage.effects) {
    const Site site{&scope, nullptr, program_.functions.size(), first_place({effect.place, stage.place})};
    if (effect.kind.empty()) report("E0327", site.place, "an effect has no kind", "\"print\" is one");
    if (effect.guard)
      check_typed(effect.guard, Scalar::Bool, fmt::format("the condition of {}", effect.kind), site);
    for (const auto& argument : effect.arguments) {
      const Expr* value = std::get_if<Expr>(&argument);
      if (value && !*value)
        report("E0327", site.place, fmt::format("an argument of {} is missing", effect.kind));
      else if (value)
        check_expr(*value, site);
    }
  }
}

// ---- what comes after ---------------------------------------------------------------------------------

void Checker::define_outputs(const Stage& stage, Scope& outer) {
  for (const Output& output : stage.outputs) {
    if (is_running(output)) continue;
    for (const ArrayId array : defined_arrays(output)) outer.add(array);
    if (is_dense(output)) continue;
    for (const ArrayId array : defined_arrays(output)) {
      const auto* size = program_[array].rank() == 1 ? as<SizeRef>(program_[array].shape[0]) : nullptr;
      if (!size || !has(size->symbol) || outer.sees(size->symbol)) continue;
      outer.add(size->symbol);
      // What is collected from one dimension is no longer than the dimension.
      if (!outer.dims.empty() || stage.dims.size() != 1 || !stage.dims[0].hi || !stage.dims[0].lo) continue;
      const poly::Affine length(var_of(size->symbol));
      const poly::Affine extent =
          prover_.conditions().value(stage.dims[0].hi) - prover_.conditions().value(stage.dims[0].lo);
      prover_.learn(size->symbol, at_most(length, extent) || at_most(length, 0));
    }
  }
}

}  // namespace twill
