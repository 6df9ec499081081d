// Ranges of no point and of one point. What is computed at no point is what an empty loop leaves behind:
// nothing at all, the identity of a fold, the old version. A loop of one step is no loop.
#include "simplify/passes.h"

#include "program/index_use.h"
#include "program/typing.h"
#include "simplify/rewriting.h"

#include <algorithm>
#include <map>

namespace twill {

namespace {

bool is_empty(const Dim& dim) {
  if (dim.condition) return false;
  const auto lo = integer_of(dim.lo), hi = integer_of(dim.hi);
  return lo && hi ? *hi <= *lo : dim.hi && dim.hi == dim.lo;
}

bool is_single(const Dim& dim) {
  const auto lo = integer_of(dim.lo), hi = integer_of(dim.hi);
  return !dim.condition && lo && hi && *hi - 1 == *lo;
}

bool is_false(Expr e) {
  const auto* literal = as<Literal>(e);
  return literal && literal->value.type == Scalar::Bool && literal->value.i == 0;
}

const Operator* folds(const Combine& combine) {
  const auto* fold = std::get_if<Fold>(&combine);
  return fold ? &fold->op : nullptr;
}

bool carries(const Stage& stage) {
  const auto* nested = std::get_if<Nested>(&stage.body);
  return nested && !nested->block->carries.empty();
}

const Scatter* scatter_of(const Output& output) {
  const auto found = std::find_if(output.combine.begin(), output.combine.end(), is<Scatter>);
  return found == output.combine.end() ? nullptr : &std::get<Scatter>(*found);
}

bool is_formula(const Stage& stage) { return std::holds_alternative<Formula>(stage.body); }

class Ranges {
 public:
  Ranges(Program& program, Notes& notes)
      : program_(program), pool_(*program.pool), notes_(notes), names_(program) {
    for_each_stage(program.stages, [&](const Stage& stage) { effects_ += stage.effects.size(); });
  }

  bool run() {
    edit_lists(program_, [&](std::vector<Stage>& list, bool) {
      std::vector<Stage> result;
      for (Stage& stage : list) settle(std::move(stage), result);
      list = std::move(result);
    });
    if (!empty_.empty()) {
      replace_everywhere(program_, [&](Expr node) {
        const auto* size = as<SizeRef>(node);
        return size && empty_.contains(size->symbol) ? pool_.integer(0) : Expr{};
      });
    }
    return changed_;
  }

 private:
  void settle(Stage stage, std::vector<Stage>& into) {
    const bool nothing = std::any_of(stage.dims.begin(), stage.dims.end(), is_empty);
    if (carries(stage) || (nothing && is_settled(stage))) {
      into.push_back(std::move(stage));
      return;
    }
    silence(stage, nothing);
    const std::string name = stage.name;
    const bool alone = stage.outputs.size() == 1;
    std::vector<Stage> parts;
    std::vector<bool> stay;
    for (Output& output : stage.outputs) {
      std::vector<Stage> part = nothing || (is_formula(stage) && is_false(output.guard))
                                    ? left_behind(stage, output, nothing)
                                    : std::vector<Stage>{};
      stay.push_back(part.empty());
      for (Stage& one : part) parts.push_back(std::move(one));
    }
    keep_outputs(stage, stay);
    const bool stays = !stage.outputs.empty() || has_effects(stage);
    if (!parts.empty() && alone && !stays) parts.front().name = name;
    if (!parts.empty() || !stays) {
      changed_ = true;
      notes_.done.push_back({"empty", {name}, "'" + name + "' has nothing to compute", stage.place});
    }
    for (Stage& part : parts) into.push_back(std::move(part));
    if (!stays) return;
    if (!nothing) straighten(stage);
    into.push_back(std::move(stage));
  }

  // ---- no point

  /// Is it an array without elements, and nothing else?
  bool is_settled(const Stage& stage) const {
    return is_formula(stage) && stage.effects.empty() && stage.outputs.size() == 1 &&
           std::all_of(stage.outputs.front().combine.begin(), stage.outputs.front().combine.end(), is<Cat>) &&
           !stage.outputs.front().into &&
           stage.outputs.front().value == zero_of(pool_, program_[stage.outputs.front().array].type);
  }

  /// Removes effects that never happen.
  void silence(Stage& stage, bool nothing) {
    for (std::size_t e = stage.effects.size(); e-- > 0;) {
      if (!nothing && !is_false(stage.effects[e].guard)) continue;
      // A program has results or effects.
      if (program_.results.empty() && effects_ == 1) continue;
      stage.effects.erase(stage.effects.begin() + static_cast<std::ptrdiff_t>(e));
      --effects_;
      changed_ = true;
    }
    // Where nothing runs, neither do the blocks; but what expressions mention stays, for whatever it is.
    std::size_t inside = 0;
    std::set<ArrayId> of_blocks;
    for_each_stage({&stage, 1}, [&](const Stage& inner) {
      inside += inner.effects.size();
      for (const Output& output : inner.outputs)
        for (const ArrayId array : defined_arrays(output))
          if (inner.name != stage.name) of_blocks.insert(array);
    });
    bool mentioned = false;
    for_each_expr(stage, [&](Expr root) {
      visit(root, [&](Expr node) {
        const auto* read = as<Read>(node);
        mentioned = mentioned || (read && of_blocks.contains(read->array));
      });
    });
    if (inside > 0 && program_.results.empty() && effects_ == inside) return;
    if (nothing && !is_formula(stage) && !mentioned &&
        std::all_of(stage.outputs.begin(), stage.outputs.end(), [](const Output& o) { return o.value; })) {
      stage.body = Formula{};
      effects_ -= inside;
      changed_ = true;
    }
  }

  /// The stages that define what an output defines if its values never arrive; none if that is not simpler.
  std::vector<Stage> left_behind(const Stage& stage, const Output& output, bool nothing) {
    const auto constant = [&](ArrayId array, Expr value) {
      Stage stage_of = defined_by(
          program_, names_, names_.stage_like(program_[array].name), array,
          [&](const std::vector<Expr>&) { return value; }, output.place);
      stage_of.outputs.front().force = output.force;
      return stage_of;
    };
    const auto& combine = output.combine;
    if (output.into) {
      // A fold leaves its identity where it has points, whatever their values.
      if (!nothing && !output.accumulates && std::any_of(combine.begin(), combine.end(), is<Fold>)) return {};
      if (nothing && !has_no_point(stage, output)) return {};
      const ArrayId old = *output.into;
      return {defined_by(
          program_, names_, names_.stage_like(program_[output.array].name), output.array,
          [&](const std::vector<Expr>& at) { return pool_.read(old, program_[old].type, at); },
          output.place)};
    }
    if (combine.empty()) return {};
    if (is<Append>(combine.back()) || is<Group>(combine.back())) {
      std::vector<Stage> parts;
      for (const ArrayId array : defined_arrays(output)) {
        const auto* size = as<SizeRef>(program_[array].shape.front());
        if (size && array != output.offsets) empty_.insert(size->symbol);
        parts.push_back(constant(array, zero_of(pool_, program_[array].type)));
      }
      return parts;
    }
    if (const Scatter* scatter = scatter_of(output)) {
      if (scatter->op && !scatter->op->identity) return {};
      return {constant(output.array,
                       scatter->op ? scatter->op->identity : zero_of(pool_, program_[output.array].type))};
    }
    if (nothing && has_no_elements(stage, output))
      return {constant(output.array, zero_of(pool_, program_[output.array].type))};
    return without_folds(stage, output, nothing);
  }

  /// Is a dimension empty outside of which nothing arrives? An inner fold over nothing has a value, its
  /// identity, that the fold or the scan around it takes.
  static bool has_no_point(const Stage& stage, const Output& output) {
    const auto& combine = output.combine;
    const auto outer = std::find_if(combine.begin(), combine.end(), is<Fold>);
    const bool scans = std::any_of(combine.begin(), combine.end(), is<Scan>);
    for (std::size_t d = 0; d < stage.dims.size(); ++d) {
      const bool outermost = !is<Fold>(combine[d]) || (!scans && combine[d] == *outer);
      if (is_empty(stage.dims[d]) && outermost) return true;
    }
    return false;
  }

  /// Is a dimension empty that elements of the array belong to? It has no elements then.
  static bool has_no_elements(const Stage& stage, const Output& output) {
    for (std::size_t d = 0; d < stage.dims.size(); ++d)
      if (is_empty(stage.dims[d]) && !is<Fold>(output.combine[d])) return true;
    return false;
  }

  /// A fold of nothing is its identity, which an outer fold with another operator still takes.
  std::vector<Stage> without_folds(const Stage& stage, const Output& output, bool nothing) {
    if (!output.value) return {};
    // The folds that act as one with the outermost empty one, and all that are inside of them, are gone.
    const Operator* op = nullptr;
    std::size_t first = 0;
    for (std::size_t d = 0; d < stage.dims.size(); ++d) {
      const Operator* mine = folds(output.combine[d]);
      if (!mine) continue;
      if (!op || !(*op == *mine)) first = d;
      op = mine;
      if (nothing && is_empty(stage.dims[d])) break;
    }
    if (!op || !op->identity) return {};
    Stage part;
    part.name = names_.stage_like(program_[output.array].name);
    part.place = stage.place;
    part.hints = stage.hints;
    Output held = output;
    held.combine.clear();
    held.guard = {};
    held.value = op->identity;
    std::map<DimId, Expr> renamed;
    std::set<DimId> gone;
    for (std::size_t d = 0; d < stage.dims.size(); ++d) {
      if (d >= first && folds(output.combine[d])) {
        gone.insert(stage.dims[d].id);
        continue;
      }
      Dim dim = stage.dims[d];
      for (Expr* bound : {&dim.lo, &dim.hi}) *bound = now(*bound, renamed);
      // Other outputs of the stage may stay where they are.
      dim.id = program_.add_dim(dim.name);
      renamed[stage.dims[d].id] = pool_.index(dim.id);
      part.dims.push_back(std::move(dim));
      held.combine.push_back(output.combine[d]);
    }
    for (Expr& at : held.at) at = now(at, renamed);
    for (const Dim& dim : part.dims)
      for (const Expr bound : {dim.lo, dim.hi})
        for (const DimId other : gone)
          if (mentions(bound, other)) return {};
    part.outputs.push_back(std::move(held));
    return {std::move(part)};
  }

  Expr now(Expr e, const std::map<DimId, Expr>& indices) {
    return rewrite(pool_, e, [&](Expr node) {
      const auto* index = as<IndexRef>(node);
      const auto found = index ? indices.find(index->dim) : indices.end();
      return found == indices.end() ? Expr{} : found->second;
    });
  }

  // ---- one point

  /// Removes dimensions of one point.
  void straighten(Stage& stage) {
    for (std::size_t d = stage.dims.size(); d-- > 0;) {
      if (!is_single(stage.dims[d]) || !can_straighten(stage, d)) continue;
      const DimId id = stage.dims[d].id;
      const Expr only = stage.dims[d].lo;
      notes_.done.push_back({"single",
                             {stage.name},
                             "'" + stage.dims[d].name + "' has one value only: '" + stage.name +
                                 "' does without a loop over it",
                             stage.dims[d].place});
      stage.dims.erase(stage.dims.begin() + static_cast<std::ptrdiff_t>(d));
      for (Output& output : stage.outputs) straighten(output, d);
      replace_in(pool_, stage, [&](Expr node) {
        const auto* index = as<IndexRef>(node);
        return index && index->dim == id ? only : Expr{};
      });
      changed_ = true;
    }
  }

  static bool can_straighten(const Stage& stage, std::size_t d) {
    return std::all_of(stage.outputs.begin(), stage.outputs.end(), [&](const Output& output) {
      const Combine& combine = output.combine[d];
      const auto others = [&](auto is_one) {
        return std::count_if(output.combine.begin(), output.combine.end(), is_one) > 1;
      };
      if (is<Cat>(combine)) return !output.offsets;
      if (is<Append>(combine)) return others(is<Append>);
      if (is<Group>(combine)) return others(is<Group>);
      if (is<Scatter>(combine)) return others(is<Scatter>);
      if (is_running(output)) return others(is<Scan>);
      // A fold that others go on with is none less; the last one becomes a value.
      const Operator* op = folds(combine);
      if (!op) return false;
      const bool same = d > 0 && output.combine[d - 1] == combine;
      const bool same_inside = d + 1 < output.combine.size() && output.combine[d + 1] == combine;
      return same || same_inside ||
             (output.value && !output.into &&
              output.combine.size() == static_cast<std::size_t>(std::count_if(
                                           output.combine.begin(), output.combine.end(), is<Cat>)) +
                                           1);
    });
  }

  void straighten(Output& output, std::size_t d) {
    const Combine combine = output.combine[d];
    output.combine.erase(output.combine.begin() + static_cast<std::ptrdiff_t>(d));
    const Operator* op = folds(combine);
    if (!op || std::any_of(output.combine.begin(), output.combine.end(), is<Fold>)) return;
    const Expr value = op->identity ? combined(pool_, *op, op->identity, output.value) : output.value;
    output.value = output.guard ? pool_.select(output.guard, value, op->identity) : value;
    output.guard = {};
  }

  Program& program_;
  ExprPool& pool_;
  Notes& notes_;
  NewNames names_;
  std::set<SymbolId> empty_;  // lengths that are zero
  std::size_t effects_ = 0;   // in the whole program
  bool changed_ = false;
};

}  // namespace

bool settle_ranges(Program& program, Notes& notes) {
  bool any = false;
  for_each_stage(program.stages, [&](const Stage& stage) {
    for (const Dim& dim : stage.dims) any = any || is_empty(dim) || is_single(dim);
    for (const Output& output : stage.outputs) any = any || is_false(output.guard);
    for (const Effect& effect : stage.effects) any = any || is_false(effect.guard);
  });
  return any && Ranges(program, notes).run();
}

}  // namespace twill
