// Choices between lists of stages. Two of them with one condition are one choice, and a stage that reads what
// a choice leaves behind belongs to both of its sides, if it can be part of a loop there and is not too long
// to be written twice.
#include "simplify/passes.h"

#include "fuse/inline.h"
#include "fuse/join.h"
#include "fuse/profit.h"
#include "fuse/share.h"
#include "program/choice.h"
#include "program/edit.h"
#include "simplify/lost_sizes.h"
#include "simplify/rewriting.h"

#include <algorithm>
#include <map>

namespace twill {

namespace {

/// Operations that a stage may have in all its copies together.
constexpr int most_operations = 64;

class Branches {
 public:
  Branches(Region& region, Notes& notes) : region_(region), program_(region.program), notes_(notes) {}

  bool run() {
    bool changed = false;
    for (int c = 0; c < static_cast<int>(region_.stages.size()); ++c) {
      // What is merged into an earlier stage leaves its place to the next one.
      if (open(c) || merge(c) || only_count(c) || draw_in(c)) {
        changed = true;
        c = -1;
        apart_.clear();
      }
    }
    notes_.not_done.insert(notes_.not_done.end(), apart_.begin(), apart_.end());
    return changed;
  }

 private:
  Stage& stage(int position) { return region_.stages[static_cast<std::size_t>(position)]; }

  /// The choice that the stage is, and nothing besides; null if it is something else. Its outputs are then
  /// the blocks' results themselves, no parts of larger arrays.
  static const Branch* choice(const Stage& stage) {
    const bool plain =
        stage.dims.empty() && stage.effects.empty() && !has_hint(stage, Hint::Never) &&
        std::all_of(stage.outputs.begin(), stage.outputs.end(), [](const Output& output) {
          return !output.value && !output.guard && !output.into && !output.force && output.at.empty();
        });
    return plain ? std::get_if<Branch>(&stage.body) : nullptr;
  }

  Defined defined_by(const Stage& stage) const {
    Defined defined;
    defined.add(program_, stage);
    return defined;
  }

  /// Where two stages can stand together: at the place of the first (0), or of the second (1).
  std::optional<int> meeting(int first, int second) {
    Defined mine = defined_by(stage(first)), between;
    bool effects = false, needed = false;
    for (int k = first + 1; k < second; ++k) {
      between.add(program_, stage(k));
      effects = effects || has_effects(stage(k));
      needed = needed || depends_on(program_, stage(k), mine);
    }
    if (!depends_on(program_, stage(second), between) && !(effects && has_effects(stage(second)))) return 0;
    if (!needed && !(effects && has_effects(stage(first)))) return 1;
    return std::nullopt;
  }

  /// Do the shapes of what the stage makes, at any depth, depend on what another one defines?
  bool has_shape_of(const Stage& maker, const Stage& definer) const {
    const Defined defined = defined_by(definer);
    bool found = false;
    for_each_stage({&maker, 1}, [&](const Stage& inner) {
      for (const Output& output : inner.outputs)
        for (const ArrayId array : defined_arrays(output))
          for (const Expr extent : program_[array].shape)
            visit(extent, [&](Expr node) {
              const auto* read = as<Read>(node);
              found = found || (read && defined.arrays.contains(read->array));
            });
    });
    return found;
  }

  void replace(int first, int second, int where, Stage both) {
    stage(where == 0 ? first : second) = std::move(both);
    region_.stages.erase(region_.stages.begin() + (where == 0 ? second : first));
  }

  // ---- no choice

  /// The stages of the side that is always taken, in the place of a choice whose sizes they know.
  bool open(int c) {
    const Stage owner = stage(c);
    const Branch* branch = choice(owner);
    const auto* literal = branch ? as<Literal>(branch->condition) : nullptr;
    const std::vector<ChosenSize> sizes = chosen_sizes(program_, owner);
    if (!literal || sizes.empty()) return false;
    // The stage around mentions what would be gone.
    if (std::ranges::any_of(sizes,
                            [&](const ChosenSize& one) { return region_.kept_sizes.contains(one.size); }))
      return false;
    const bool then = literal->value.i != 0;
    Block side = side_of(owner, then);
    const Block& other = side_of(owner, !then);
    if (program_.results.empty() && std::any_of(other.stages.begin(), other.stages.end(), has_effects))
      return false;  // a program has results or effects, even if these never happen
    Defined made;
    for (const Stage& inner : side.stages) made.add(program_, inner);
    for (const ArrayId result : side.results)
      if (!made.arrays.contains(result) || std::count(side.results.begin(), side.results.end(), result) > 1)
        return false;
    Renaming names;
    for (std::size_t o = 0; o < owner.outputs.size(); ++o) {
      const ArrayId output = owner.outputs[o].array;
      names.arrays[side.results[o]] = output;
      program_.arrays[static_cast<std::size_t>(output.value)].shape = program_[side.results[o]].shape;
    }
    rename_in(*program_.pool, side.stages, names);
    for (Stage& inner : side.stages)
      for (Output& output : inner.outputs) {
        output.array = names.of(output.array);
        if (output.offsets) output.offsets = names.of(*output.offsets);
        if (output.keys) output.keys = names.of(*output.keys);
      }
    const auto see = [&](Expr e) { return on_side(*program_.pool, sizes, then, e); };
    edit_stages(region_.stages,
                [&](Stage& later) { for_each_slot(later, [&](Expr& slot) { slot = see(slot); }); });
    for (Array& array : program_.arrays)
      for (Expr& extent : array.shape) extent = see(extent);
    notes_.done.push_back({"branch",
                           {owner.name},
                           "'" + owner.name + "' always takes its " + (then ? "first" : "second") + " branch",
                           owner.place});
    const auto at = region_.stages.erase(region_.stages.begin() + c);
    region_.stages.insert(at, side.stages.begin(), side.stages.end());
    return true;
  }

  // ---- one condition

  bool merge(int second) {
    const Branch* later = choice(stage(second));
    if (!later) return false;
    for (int first = second; first-- > 0;) {
      const Branch* earlier = choice(stage(first));
      if (!earlier || earlier->condition != later->condition || has_shape_of(stage(second), stage(first)))
        continue;
      const auto where = meeting(first, second);
      if (!where) continue;
      Stage both = stage(first);
      both.outputs.insert(both.outputs.end(), stage(second).outputs.begin(), stage(second).outputs.end());
      both.body = Branch{earlier->condition, one_after_the_other(stage(first), true, *later->then),
                         one_after_the_other(stage(first), false, *later->otherwise)};
      notes_.done.push_back({"condition",
                             {stage(first).name, stage(second).name},
                             "'" + stage(first).name + "' and '" + stage(second).name +
                                 "' have one condition: they are one choice",
                             stage(second).place});
      replace(first, second, *where, std::move(both));
      return true;
    }
    return false;
  }

  static const Block& side_of(const Stage& owner, bool then) {
    const Branch& branch = std::get<Branch>(owner.body);
    return then ? *branch.then : *branch.otherwise;
  }

  /// What the outputs of a choice are called on one side of it.
  static Renaming names_on_side(const Stage& owner, bool then) {
    Renaming names;
    for (std::size_t o = 0; o < owner.outputs.size(); ++o)
      names.arrays[owner.outputs[o].array] = side_of(owner, then).results[o];
    return names;
  }

  /// Sizes that are born with a choice are those of the side, in these stages and in what they make.
  void see_sizes(std::vector<Stage>& stages, const Stage& owner, bool then) {
    const std::vector<ChosenSize> sizes = chosen_sizes(program_, owner);
    if (sizes.empty()) return;
    ExprPool& pool = *program_.pool;
    const auto see = [&](Expr e) { return on_side(pool, sizes, then, e); };
    const auto see_shape = [&](ArrayId array) {
      for (Expr& extent : program_.arrays[static_cast<std::size_t>(array.value)].shape) extent = see(extent);
    };
    edit_stages(stages, [&](Stage& stage) {
      for_each_slot(stage, [&](Expr& slot) { slot = see(slot); });
      for (const Output& output : stage.outputs)
        for (const ArrayId array : defined_arrays(output)) see_shape(array);
      if (const auto* nested = std::get_if<Nested>(&stage.body))
        for (const Carry& carry : nested->block->carries) see_shape(carry.inside);
    });
  }

  /// A block of the first choice and then one of a second, which may read the outputs of the first.
  std::shared_ptr<const Block> one_after_the_other(const Stage& owner, bool then, const Block& second) {
    const Renaming names = names_on_side(owner, then);
    Block both = side_of(owner, then);
    std::vector<Stage> rest = second.stages;
    rename_in(*program_.pool, rest, names);
    see_sizes(rest, owner, then);
    both.stages.insert(both.stages.end(), rest.begin(), rest.end());
    for (const ArrayId result : second.results) both.results.push_back(names.of(result));
    return std::make_shared<const Block>(std::move(both));
  }

  // ---- only a length is needed

  /// Takes collections out of a choice of which nobody needs more than their number of elements.
  bool only_count(int c) {
    const Stage owner = stage(c);
    if (!choice(owner)) return false;
    const std::vector<ChosenSize> sizes = chosen_sizes(program_, owner);
    if (sizes.empty()) return false;
    const UseTable uses(region_);
    std::vector<bool> stay;
    std::string gone;
    for (const Output& output : owner.outputs) {
      stay.push_back(uses.is_held(output.array) || !uses.readers(output.array).empty() ||
                     !is_chosen(program_, owner, output));
      if (!stay.back() && gone.empty()) gone = program_[output.array].name;
    }
    if (gone.empty()) return false;
    Stage after = owner;
    keep_outputs(after, stay);
    const auto lost = lost_sizes(region_, uses, after, {c});
    if (!lost || lost->counts.empty()) return false;
    NewNames names(program_);
    say_lost_sizes(region_, *lost, owner, after, names);
    stage(c) = std::move(after);
    notes_.done.push_back({"length",
                           {owner.name},
                           "nobody needs the elements of '" + gone + "': they are only counted",
                           owner.place});
    return true;
  }

  // ---- a consumer on both sides

  static int sides(const Block& block) {
    int count = 0;
    for (const Stage& stage : block.stages)
      if (const Branch* inner = choice(stage)) count += sides(*inner->then) + sides(*inner->otherwise);
    return std::max(count, 1);
  }

  bool draw_in(int c) {
    const Stage& consumer = stage(c);
    if (!std::holds_alternative<Formula>(consumer.body) || consumer.dims.empty() ||
        has_hint(consumer, Hint::Never) ||
        std::any_of(consumer.outputs.begin(), consumer.outputs.end(),
                    [](const Output& output) { return output.into || output.force; }))
      return false;
    for (int s = c; s-- > 0;)
      if (choice(stage(s)) && draw_into(s, c)) return true;
    return false;
  }

  bool draw_into(int s, int c) {
    const Stage &owner = stage(s), &consumer = stage(c);
    const Branch& branch = *choice(owner);
    const UseTable uses(region_);
    std::vector<std::size_t> read;  // positions among the owner's outputs
    std::vector<bool> stay(owner.outputs.size(), true);
    for (std::size_t o = 0; o < owner.outputs.size(); ++o) {
      const ArrayId array = owner.outputs[o].array;
      if (!uses.reads(c).contains(array)) continue;
      read.push_back(o);
      stay[o] = uses.is_held(array) || uses.readers(array).size() > 1;
    }
    if (read.empty()) return false;
    const auto no = [&](std::string code, const std::string& why) {
      apart_.push_back({std::move(code),
                        {owner.name, consumer.name},
                        "'" + consumer.name + "' is not computed on the sides of the if that makes '" +
                            owner.name + "': " + why,
                        consumer.place});
      return false;
    };
    if (has_shape_of(consumer, owner)) return no("length", "its size is computed there");
    const auto where = meeting(s, c);
    if (!where) return no("order", "what comes between them keeps them apart");
    if (operations_of(consumer) * (sides(*branch.then) + sides(*branch.otherwise)) > most_operations)
      return no("long", "it is too long to be written once for each of them");
    NewNames names(program_);
    Side then = with(consumer, owner, true, names);
    Side otherwise = with(consumer, owner, false, names);
    if (!joins(then, *branch.then, read) && !joins(otherwise, *branch.otherwise, read))
      return no("sides", "it would share no loop there");
    Stage both = owner;
    keep_outputs(both, stay);
    Block blocks[] = {side_of(both, true), side_of(both, false)};
    for (const Output& output : consumer.outputs) {
      for (const ArrayId array : made_by(output)) {
        Output left;
        left.array = array;
        left.place = output.place;
        both.outputs.push_back(std::move(left));
      }
    }
    for (auto [block, side] : {std::pair(&blocks[0], &then), std::pair(&blocks[1], &otherwise)}) {
      block->results.insert(block->results.end(), side->results.begin(), side->results.end());
      block->stages.push_back(std::move(side->consumer));
    }
    both.body = Branch{branch.condition, std::make_shared<const Block>(std::move(blocks[0])),
                       std::make_shared<const Block>(std::move(blocks[1]))};
    const auto lost = lost_sizes(region_, uses, both, {s, c});
    if (!lost) return no("length", "the length that is known by it is the size of something else as well");
    say_lost_sizes(region_, *lost, owner, both, names);
    notes_.done.push_back(
        {"branch",
         {owner.name, consumer.name},
         "'" + consumer.name + "' is computed on both sides of '" + owner.name + "', in the loops there",
         consumer.place});
    replace(s, c, *where, std::move(both));
    return true;
  }

  /// What an output makes; the keys of a group come before its offsets, which are one more.
  static std::vector<ArrayId> made_by(const Output& output) {
    std::vector<ArrayId> arrays = {output.array};
    if (output.keys) arrays.push_back(*output.keys);
    if (output.offsets) arrays.push_back(*output.offsets);
    return arrays;
  }

  /// A copy of the consumer for one side, and the arrays that it makes.
  struct Side {
    Stage consumer;
    std::vector<ArrayId> results;
  };

  Side with(const Stage& consumer, const Stage& owner, bool then, NewNames& names) {
    ExprPool& pool = *program_.pool;
    const std::string suffix = then ? "_then" : "_else";
    Side side{consumer, {}};
    side.consumer.name = names.stage_like(consumer.name + suffix);
    Renaming inside = names_on_side(owner, then);
    for (const SymbolId length : lengths_born_in(program_, consumer))
      inside.sizes[length] =
          program_.add_symbol(names.like(program_[length].name + suffix), Symbol::Origin::Born);
    std::map<DimId, Expr> indices;
    for (Dim& dim : side.consumer.dims) {
      const DimId id = program_.add_dim(dim.name);
      indices[dim.id] = pool.index(id);
      dim.id = id;
    }
    const auto copy = [&](ArrayId array) {
      const Array made = program_[array];
      Rewriter inside_of(pool, [&](Expr node) { return inside.of(pool, node); });
      std::vector<Expr> shape;
      for (const Expr extent : made.shape) shape.push_back(inside_of(extent));
      const ArrayId own =
          program_.add_array(names.like(made.name + suffix), made.type, std::move(shape), made.place);
      inside.arrays[array] = own;  // it may read what it has made so far
      return own;
    };
    for (Output& output : side.consumer.outputs) {
      output.array = copy(output.array);
      if (output.keys) output.keys = copy(*output.keys);
      if (output.offsets) output.offsets = copy(*output.offsets);
      for (const ArrayId array : made_by(output)) side.results.push_back(array);
    }
    std::vector<Stage> one;
    one.push_back(std::move(side.consumer));
    rename_in(pool, one, inside);
    see_sizes(one, owner, then);
    for_each_slot(one.front(), [&](Expr& slot) {
      slot = rewrite(pool, slot, [&](Expr node) {
        const auto* index = as<IndexRef>(node);
        const auto found = index ? indices.find(index->dim) : indices.end();
        return found == indices.end() ? Expr{} : found->second;
      });
    });
    side.consumer = std::move(one.front());
    return side;
  }

  /// Can the copy become part of a stage that makes what it reads, at any depth?
  bool joins(const Side& side, const Block& block, const std::vector<std::size_t>& read) {
    return std::any_of(read.begin(), read.end(), [&](std::size_t o) {
      const ArrayId array = block.results[o];
      for (const Stage& maker : block.stages) {
        for (std::size_t m = 0; m < maker.outputs.size(); ++m) {
          const Output& output = maker.outputs[m];
          if (output.array != array) continue;
          if (const Branch* inner = choice(maker))
            return joins_side(side, maker, true, *inner->then, m) ||
                   joins_side(side, maker, false, *inner->otherwise, m);
          return !why_not_join({program_, maker, side.consumer, {array}}) ||
                 (!why_not_inline(program_, maker, output, side.consumer) &&
                  reads_each_once(side.consumer, array)) ||
                 !why_not_share(program_, maker, side.consumer, 1);
        }
      }
      return false;
    });
  }

  /// The same for one side of a choice inside; the copy for it is only asked about.
  bool joins_side(const Side& side, const Stage& owner, bool then, const Block& block, std::size_t output) {
    const std::size_t arrays = program_.arrays.size(), symbols = program_.symbols.size(),
                      dims = program_.dim_names.size();
    NewNames names(program_);
    const bool found = joins(with(side.consumer, owner, then, names), block, {output});
    program_.arrays.resize(arrays);
    program_.symbols.resize(symbols);
    program_.dim_names.resize(dims);
    return found;
  }

  Region& region_;
  Program& program_;
  Notes& notes_;
  std::vector<Reason> apart_;  // of what is there now
};

}  // namespace

bool join_branches(Region& region, Notes& notes) {
  const bool any = std::any_of(region.stages.begin(), region.stages.end(),
                               [](const Stage& stage) { return std::holds_alternative<Branch>(stage.body); });
  return any && Branches(region, notes).run();
}

}  // namespace twill
