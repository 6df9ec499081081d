// Work that is the same at every step of a loop is done once, before the loop: stages of a block that do not
// depend on it, and folds that do not depend on all dimensions of their result. What may not run at all must
// not fail if it does.
#include "simplify/passes.h"

#include "fuse/profit.h"
#include "program/index_use.h"
#include "simplify/rewriting.h"
#include "simplify/total.h"

#include <algorithm>
#include <map>

namespace twill {

namespace {

bool runs_at_least_once(const Dim& dim) {
  const auto lo = integer_of(dim.lo), hi = integer_of(dim.hi);
  return !dim.condition && lo && hi && *lo < *hi;
}

class Hoist {
 public:
  Hoist(Program& program, Notes& notes)
      : program_(program), pool_(*program.pool), notes_(notes), names_(program), totality_(program) {}

  bool run() {
    work(program_.stages, {});
    return changed_;
  }

 private:
  /// Inner blocks first: what leaves one may leave the next one as well.
  void work(std::vector<Stage>& list, const poly::Condition& facts) {
    std::vector<Stage> result;
    for (Stage& stage : list) {
      poly::Condition here = facts;
      if (!std::holds_alternative<Formula>(stage.body))
        for (const Dim& dim : stage.dims) here = std::move(here) && totality_.prover().range(dim);
      if (const auto* nested = std::get_if<Nested>(&stage.body)) {
        Block block = *nested->block;
        work(block.stages, here);
        leave(stage, block, facts, result);
        const bool is_left = std::any_of(block.results.begin(), block.results.end(),
                                         [](ArrayId array) { return static_cast<bool>(array); });
        if (block.stages.empty() && block.carries.empty() && !is_left)
          stage.body = Formula{};
        else
          stage.body = Nested{std::make_shared<const Block>(std::move(block))};
      }
      if (const auto* branch = std::get_if<Branch>(&stage.body)) {
        Block then = *branch->then, otherwise = *branch->otherwise;
        Conditions& conditions = totality_.prover().conditions();
        work(then.stages, here && conditions.when(branch->condition, true));
        work(otherwise.stages, here && conditions.when(branch->condition, false));
        stage.body = Branch{branch->condition, std::make_shared<const Block>(std::move(then)),
                            std::make_shared<const Block>(std::move(otherwise))};
      }
      if (auto once = split(stage, facts)) result.push_back(std::move(*once));
      result.push_back(std::move(stage));
    }
    list = std::move(result);
  }

  // ---- stages of a block

  void leave(Stage& owner, Block& block, const poly::Condition& facts, std::vector<Stage>& before) {
    Defined inside;
    for (const Dim& dim : owner.dims) inside.dims.insert(dim.id);
    for (const Carry& carry : block.carries) inside.arrays.insert(carry.inside);
    inside.add(program_, owner);
    const bool certain =
        !has_effects(owner) && std::all_of(owner.dims.begin(), owner.dims.end(), runs_at_least_once);
    std::vector<Stage> stay;
    for (std::size_t s = 0; s < block.stages.size(); ++s) {
      Stage& stage = block.stages[s];
      if (has_effects(stage) || depends_on(program_, stage, inside) || !may_leave(owner, block, stage) ||
          is_better_inside(stage, std::span(block.stages).subspan(s + 1)) ||
          (!certain && !totality_.is_total(stage, facts))) {
        inside.add(program_, stage);
        stay.push_back(std::move(stage));
        continue;
      }
      hand_over(owner, block, stage);
      notes_.done.push_back(
          {"hoisted",
           {stage.name},
           "'" + stage.name + "' is the same at every step of '" + owner.name + "' and is computed once",
           stage.place});
      before.push_back(std::move(stage));
      changed_ = true;
    }
    block.stages = std::move(stay);
  }

  /// Is it cheaper to compute the elements where they are read than to read them from memory? So it is for a
  /// cheap map that is made of less than it makes, if one stage reads it.
  bool is_better_inside(const Stage& stage, std::span<const Stage> after) const {
    if (stage.dims.empty() || !std::holds_alternative<Formula>(stage.body) ||
        operations_of(stage) > cheap_operations)
      return false;
    for (const Output& output : stage.outputs)
      if (!std::all_of(output.combine.begin(), output.combine.end(), is<Cat>)) return false;
    for (const ArrayId array : reads_of(program_, stage))
      if (program_[array].rank() >= static_cast<int>(stage.dims.size())) return false;
    const auto readers = std::count_if(after.begin(), after.end(), [&](const Stage& reader) {
      return std::any_of(stage.outputs.begin(), stage.outputs.end(),
                         [&](const Output& output) { return reads(reader, output.array); });
    });
    return readers == 1;
  }

  /// A state is made by the block, and so is a result that is an array.
  bool may_leave(const Stage& owner, const Block& block, const Stage& stage) const {
    return std::all_of(stage.outputs.begin(), stage.outputs.end(), [&](const Output& output) {
      const bool is_next = std::any_of(block.carries.begin(), block.carries.end(),
                                       [&](const Carry& carry) { return carry.next == output.array; });
      const bool is_result =
          std::find(block.results.begin(), block.results.end(), output.array) != block.results.end();
      const bool is_value = program_[output.array].rank() == 0 && block.carries.empty() &&
                            std::holds_alternative<Nested>(owner.body);
      return !is_next && (!is_result || is_value);
    });
  }

  /// A single number that was the result of the block becomes the value at each point.
  void hand_over(Stage& owner, Block& block, const Stage& stage) {
    for (const Output& output : stage.outputs) {
      for (std::size_t k = 0; k < block.results.size(); ++k) {
        if (block.results[k] != output.array) continue;
        block.results[k] = ArrayId{};
        owner.outputs[k].value = pool_.read(output.array, program_[output.array].type, {});
      }
    }
  }

  // ---- folds

  /// A fold that does not depend on some dimensions of its result becomes a stage without these; the rest
  /// only spreads its values. Nothing if there is no such.
  std::optional<Stage> split(Stage& stage, const poly::Condition& facts) {
    if (!std::holds_alternative<Formula>(stage.body) || stage.outputs.size() != 1 || !stage.effects.empty())
      return std::nullopt;
    Output& output = stage.outputs.front();
    if (output.into || !output.value) return std::nullopt;
    const bool folds = std::any_of(output.combine.begin(), output.combine.end(), is<Fold>);
    const bool plain = std::all_of(output.combine.begin(), output.combine.end(), [](const Combine& combine) {
      return is<Cat>(combine) || is<Fold>(combine);
    });
    if (!folds || !plain) return std::nullopt;
    std::set<DimId> free = free_dims(stage, output);
    if (free.empty()) return std::nullopt;

    Stage once = stage;
    std::erase_if(once.dims, [&](const Dim& dim) { return free.contains(dim.id); });
    Output& inner = once.outputs.front();
    inner.combine.clear();
    inner.at.clear();
    std::vector<Expr> shape;
    for (std::size_t d = 0; d < stage.dims.size(); ++d)
      if (!free.contains(stage.dims[d].id)) inner.combine.push_back(output.combine[d]);
    for (std::size_t k = 0; k < output.at.size(); ++k) {
      if (free.contains(as<IndexRef>(output.at[k])->dim)) continue;
      inner.at.push_back(output.at[k]);
      shape.push_back(program_[output.array].shape[k]);
    }
    const bool certain = std::all_of(stage.dims.begin(), stage.dims.end(), [&](const Dim& dim) {
      return !free.contains(dim.id) || runs_at_least_once(dim);
    });
    const std::string name = program_[output.array].name;
    const Type type = program_[output.array].type;
    inner.array = program_.add_array(names_.like(name + "_fold"), type, shape, program_[output.array].place);
    inner.force = false;
    once.name = names_.stage_like(program_[inner.array].name);
    if (!certain && !totality_.is_total(once, facts)) {
      program_.arrays.pop_back();
      return std::nullopt;
    }
    notes_.done.push_back({"hoisted",
                           {stage.name},
                           "a fold of '" + stage.name + "' is the same along " + names_of(stage, free) +
                               " and is computed once",
                           stage.place});
    spread(stage, inner);
    changed_ = true;
    return once;
  }

  /// Dimensions of the result that neither the value nor the other ranges depend on.
  std::set<DimId> free_dims(const Stage& stage, const Output& output) const {
    std::set<DimId> free;
    for (std::size_t d = 0; d < stage.dims.size(); ++d) {
      const DimId id = stage.dims[d].id;
      bool is_free = is<Cat>(output.combine[d]) && !mentions(output.value, id) &&
                     !(output.guard && mentions(output.guard, id));
      for (const Dim& other : stage.dims)
        is_free = is_free && !mentions(other.lo, id) && !mentions(other.hi, id);
      if (is_free) free.insert(id);
    }
    // Every dimension of the result has a place of its own in it, from its beginning.
    for (const Expr at : output.at)
      if (!as<IndexRef>(at)) return {};
    return free;
  }

  void spread(Stage& stage, const Output& once) {
    Output& output = stage.outputs.front();
    std::vector<Dim> dims;
    std::map<DimId, Expr> renamed;
    const auto now = [&](Expr e) {
      return rewrite(pool_, e, [&](Expr node) {
        const auto* index = as<IndexRef>(node);
        const auto found = index ? renamed.find(index->dim) : renamed.end();
        return found == renamed.end() ? Expr{} : found->second;
      });
    };
    for (std::size_t d = 0; d < stage.dims.size(); ++d) {
      if (!is<Cat>(output.combine[d])) continue;
      Dim dim = stage.dims[d];
      dim.lo = now(dim.lo);
      dim.hi = now(dim.hi);
      dim.id = program_.add_dim(dim.name);
      renamed[stage.dims[d].id] = pool_.index(dim.id);
      dims.push_back(std::move(dim));
    }
    std::vector<Expr> at;
    for (const Expr subscript : once.at) at.push_back(now(subscript));
    for (Expr& subscript : output.at) subscript = now(subscript);
    output.value = pool_.read(once.array, program_[once.array].type, std::move(at));
    output.guard = {};
    output.combine.assign(dims.size(), Cat{});
    stage.dims = std::move(dims);
  }

  static std::string names_of(const Stage& stage, const std::set<DimId>& dims) {
    std::string text;
    for (const Dim& dim : stage.dims)
      if (dims.contains(dim.id)) text += (text.empty() ? "'" : ", '") + dim.name + "'";
    return text;
  }

  Program& program_;
  ExprPool& pool_;
  Notes& notes_;
  NewNames names_;
  Totality totality_;
  bool changed_ = false;
};

}  // namespace

bool hoist_invariant(Program& program, Notes& notes) {
  const bool any = std::any_of(program.stages.begin(), program.stages.end(), [](const Stage& stage) {
    return !std::holds_alternative<Formula>(stage.body) ||
           std::any_of(stage.outputs.begin(), stage.outputs.end(), [](const Output& output) {
             return std::any_of(output.combine.begin(), output.combine.end(), is<Fold>);
           });
  });
  return any && Hoist(program, notes).run();
}

}  // namespace twill
