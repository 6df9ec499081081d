// Lengths that need no collecting. A collection that takes a value at every point of a known range has a
// known length, and every value a known place: it is an ordinary array. Of a collection that nobody reads,
// its length alone is counted.
#include "simplify/passes.h"

#include "program/affine_of.h"
#include "program/describe.h"
#include "program/edit.h"
#include "program/typing.h"
#include "simplify/rewriting.h"

#include <algorithm>
#include <map>

namespace twill {

namespace {

/// Where a size stands.
struct SizeUses {
  bool anywhere = false;           // beside the extents of arrays
  bool in_part = false;            // a bound or an extent is an expression of it
  bool walked = false;             // the range of a dimension ends there
  bool in_subscript = false;       // of a read, or of a write map
  std::vector<ArrayId> extent_of;  // these arrays have it as an extent
};

/// The length that a range ends at, or those of which it ends at the shortest.
void for_each_shorter(Expr end, const std::function<void(SymbolId)>& action) {
  const auto* apply = as<Apply>(end);
  if (const auto* size = as<SizeRef>(end)) action(size->symbol);
  if (!apply || apply->prim != Prim::Min) return;
  for (const Expr operand : end->args) for_each_shorter(operand, action);
}

/// Who needs what in the whole program.
class Needs {
 public:
  explicit Needs(const Program& program) : program_(program) {
    for_each_stage(program.stages, [&](const Stage& stage) { look(stage); });
    arrays_.insert(program.results.begin(), program.results.end());
  }

  bool needs(ArrayId array) const { return arrays_.contains(array); }
  const SizeUses& uses(SymbolId symbol) { return sizes_[symbol]; }

 private:
  void look(const Stage& stage) {
    for (const Dim& dim : stage.dims) {
      for_each_shorter(dim.hi, [&](SymbolId length) { sizes_[length].walked = true; });
      look_inside(dim.lo, &SizeUses::in_part);
      look_inside(dim.hi, as<SizeRef>(dim.hi) && integer_of(dim.lo).value_or(-1) >= 0 ? &SizeUses::anywhere
                                                                                      : &SizeUses::in_part);
    }
    for (const Output& output : stage.outputs) {
      for (const Expr at : output.at) look_inside(at, &SizeUses::in_subscript);
      for (const ArrayId array : defined_arrays(output)) look(program_[array]);
      if (output.into) arrays_.insert(*output.into);
    }
    for_each_expr(stage, [&](Expr root) { look_for_reads(root); });
    const auto keep = [&](const Block& block) {
      arrays_.insert(block.results.begin(), block.results.end());
      for (const Carry& carry : block.carries) {
        arrays_.insert({carry.init, carry.next});
        look(program_[carry.inside]);
      }
    };
    if (const auto* nested = std::get_if<Nested>(&stage.body)) keep(*nested->block);
    if (const auto* branch = std::get_if<Branch>(&stage.body)) {
      keep(*branch->then);
      keep(*branch->otherwise);
    }
  }

  void look(const Array& array) {
    for (const Expr extent : array.shape) {
      if (const auto* size = as<SizeRef>(extent)) {
        sizes_[size->symbol].extent_of.push_back(array.id);
      } else {
        look_inside(extent, &SizeUses::in_part);
        look_for_reads(extent);
      }
    }
  }

  void look_for_reads(Expr root) {
    visit(root, [&](Expr node) {
      if (const auto* size = as<SizeRef>(node)) sizes_[size->symbol].anywhere = true;
      const auto* read = as<Read>(node);
      if (!read) return;
      arrays_.insert(read->array);
      for (std::size_t k = 0; k < read->rules.size(); ++k)
        look_inside(node->args[k], &SizeUses::in_subscript);
    });
  }

  void look_inside(Expr root, bool SizeUses::*how) {
    visit(root, [&](Expr node) {
      if (const auto* size = as<SizeRef>(node)) sizes_[size->symbol].*how = true;
    });
  }

  const Program& program_;
  std::set<ArrayId> arrays_;
  std::map<SymbolId, SizeUses> sizes_;
};

bool is_append(const Output& output) { return !output.combine.empty() && is<Append>(output.combine.back()); }

SymbolId length_of(const Program& program, const Output& output) {
  return as<SizeRef>(program[output.array].shape.front())->symbol;
}

/// Is the bound the same wherever the stage runs, and a scalar that a shape may mention?
bool is_fixed(Expr bound) {
  bool fixed = static_cast<bool>(bound);
  visit(bound, [&](Expr node) {
    const auto* read = as<Read>(node);
    fixed = fixed && !as<IndexRef>(node) && !(read && !read->rules.empty());
  });
  return fixed;
}

class Lengths {
 public:
  Lengths(Program& program, Notes& notes)
      : program_(program), pool_(*program.pool), notes_(notes), needs_(program), names_(program) {}

  bool run() {
    edit_lists(program_, [&](std::vector<Stage>& list, bool nested) {
      std::vector<Stage> result;
      for (Stage& stage : list) {
        std::vector<Stage> after = settle(stage, nested);
        if (!stage.outputs.empty() || has_effects(stage)) result.push_back(std::move(stage));
        for (Stage& next : after) result.push_back(std::move(next));
      }
      list = std::move(result);
    });
    const bool changed = replace_in_values();
    if (known_.empty()) return changed;
    edit_stages(program_.stages, [&](Stage& stage) {
      for (Dim& dim : stage.dims)
        if (const Length* length = range_of(dim)) dim.hi = length->plain;
    });
    for (Array& array : program_.arrays)
      for (Expr& extent : array.shape)
        if (const Length* length = known(extent)) extent = length->plain;
    replace_everywhere(program_, [&](Expr node) {
      const Length* length = known(node);
      return length ? length->full : row_start(node);
    });
    return true;
  }

 private:
  /// Ranges and extents do not mind a negative number, everything else does.
  struct Length {
    Expr plain;  // may be below zero, for nothing at all
    Expr full;   // never is
  };

  const Length* known(Expr e) const {
    const auto* size = as<SizeRef>(e);
    const auto found = size ? known_.find(size->symbol) : known_.end();
    return found == known_.end() ? nullptr : &found->second;
  }

  /// The known length that a dimension goes through, from a number that is not negative.
  const Length* range_of(const Dim& dim) const {
    return integer_of(dim.lo).value_or(-1) >= 0 ? known(dim.hi) : nullptr;
  }

  /// What a stage leaves to other stages to define.
  std::vector<Stage> settle(Stage& stage, bool nested) {
    std::vector<Stage> after;
    std::set<ArrayId> gone;
    for (Output& output : stage.outputs) {
      if (!is_append(output)) continue;
      const SymbolId length = length_of(program_, output);
      const bool unread = only_length(stage, output, length, nested);
      if (unread && std::holds_alternative<Formula>(stage.body) &&
          (known_.contains(length) || forget(stage, output, length))) {
        gone.insert(output.array);
      } else if (unread && can_count(length)) {
        count(stage, output, length);
      } else if (!output.guard) {
        takes_all(stage, output, length, nested, after);
      }
    }
    std::erase_if(stage.outputs, [&](const Output& output) { return gone.contains(output.array); });
    return after;
  }

  // ---- a value at every point

  void takes_all(Stage& stage, Output& output, SymbolId length, bool nested, std::vector<Stage>& after) {
    if (runs_from_right(stage) || !is_rectangle(stage)) return;
    const bool dense = std::all_of(stage.dims.begin() + 1, stage.dims.end(), [](const Dim& dim) {
      return integer_of(dim.lo) && integer_of(dim.hi).value_or(0) > *integer_of(dim.lo);
    });
    // A stage that goes through several elements per point can run in the loops that make them, as long as
    // they are a collection; and one that makes several per element, in those of the elements.
    const auto* around = as<SizeRef>(stage.dims.front().hi);
    const bool in_other_loops =
        stage.dims.size() > 1 &&
        ((around && program_[around->symbol].origin == Symbol::Origin::Born) || needs_.uses(length).walked);
    const bool local = nested && (reads_data(stage.dims.front().lo) || reads_data(stage.dims.front().hi)) &&
                       is_extent_elsewhere(stage, length);
    if (!dense || local || in_other_loops) {
      in_values_.emplace(length, points(stage));
      return;
    }
    Length extent = points(stage.dims.front());
    Expr at = pool_.apply(Prim::Sub, {pool_.index(stage.dims.front().id), stage.dims.front().lo});
    std::int64_t per_row = 1;
    for (std::size_t d = 1; d < stage.dims.size(); ++d) {
      const Dim& dim = stage.dims[d];
      const std::int64_t lo = *integer_of(dim.lo), width = *integer_of(dim.hi) - lo;
      const auto step = [&](Expr e) { return pool_.apply(Prim::Mul, {e, pool_.integer(width)}); };
      extent = {step(extent.plain), step(extent.full)};
      at = pool_.apply(Prim::Add,
                       {step(at), pool_.apply(Prim::Sub, {pool_.index(dim.id), pool_.integer(lo)})});
      if (is<Append>(output.combine[d])) per_row *= width;
    }
    // Where the length is part of an expression, all have to agree about it.
    if (needs_.uses(length).in_part || needs_.uses(length).in_subscript) extent.plain = extent.full;
    if (output.offsets) {
      offsets_[*output.offsets] = per_row;
      after.push_back(defined_by(
          program_, names_, names_.stage_like(program_[*output.offsets].name), *output.offsets,
          [&](const std::vector<Expr>& r) {
            return pool_.apply(Prim::Mul, {r.front(), pool_.integer(per_row)});
          },
          output.place));
      output.offsets.reset();
    }
    known_.emplace(length, extent);
    output.combine.assign(stage.dims.size(), Cat{});
    output.at = {at};
    notes_.done.push_back({"length",
                           {stage.name},
                           "'" + program_[output.array].name + "' has " + describe(program_, extent.full) +
                               " elements, one for each point: it is an ordinary array",
                           output.place});
  }

  static bool is_rectangle(const Stage& stage) {
    return std::all_of(stage.dims.begin(), stage.dims.end(),
                       [](const Dim& dim) { return is_fixed(dim.lo) && is_fixed(dim.hi) && !dim.condition; });
  }

  Expr points(const Stage& stage) {
    Expr number = pool_.integer(1);
    for (const Dim& dim : stage.dims) number = pool_.apply(Prim::Mul, {number, points(dim).full});
    return number;
  }

  /// The number of points of a range. Lengths that it mentions were found before.
  Length points(const Dim& dim) {
    const Length* through = range_of(dim);
    if (through && integer_of(dim.lo) == 0) return *through;
    const auto now = [&](Expr bound) {
      return rewrite(pool_, bound, [&](Expr node) {
        const Length* length = known(node);
        return length ? length->full : Expr{};
      });
    };
    const Expr plain = pool_.apply(Prim::Sub, {now(dim.hi), now(dim.lo)});
    if (const auto number = integer_of(plain); number && *number < 0)
      return {pool_.integer(0), pool_.integer(0)};
    return {plain, is_count(plain) ? plain : pool_.apply(Prim::Max, {plain, pool_.integer(0)})};
  }

  bool is_extent_elsewhere(const Stage& stage, SymbolId length) {
    const SizeUses& uses = needs_.uses(length);
    return std::any_of(uses.extent_of.begin(), uses.extent_of.end(), [&](ArrayId array) {
      return std::none_of(stage.outputs.begin(), stage.outputs.end(),
                          [&](const Output& output) { return output.array == array; });
    });
  }

  /// Where rows have one length, the place where a row begins is known as well.
  Expr row_start(Expr node) {
    const auto* read = as<Read>(node);
    const auto found = read ? offsets_.find(read->array) : offsets_.end();
    if (found == offsets_.end() || read->rules.front() != Boundary::Inside) return {};
    const auto row = affine_of(node->args.front());
    if (!row || row->mentions(poly::Var::Kind::Term) || reads_data(node->args.front())) return {};
    return pool_.apply(Prim::Mul, {node->args.front(), pool_.integer(found->second)});
  }

  /// The collection stays, but its length is known where only its value counts.
  bool replace_in_values() {
    if (in_values_.empty()) return false;
    bool changed = false;
    edit_stages(program_.stages, [&](Stage& stage) {
      const auto replace = [&](Expr& root) {
        std::set<SymbolId> in_subscripts;
        visit(root, [&](Expr node) {
          if (!as<Read>(node)) return;
          for (const Expr arg : node->args)
            visit(arg, [&](Expr inner) {
              if (const auto* size = as<SizeRef>(inner)) in_subscripts.insert(size->symbol);
            });
        });
        const Expr before = root;
        root = rewrite(pool_, root, [&](Expr node) -> Expr {
          // Conditions may be what proves that a read is inside.
          const auto* apply = as<Apply>(node);
          if (as<Select>(node) || (apply && (apply->prim == Prim::And || apply->prim == Prim::Or)))
            return node;
          const auto* size = as<SizeRef>(node);
          if (!size || in_subscripts.contains(size->symbol)) return {};
          const auto found = in_values_.find(size->symbol);
          return found == in_values_.end() ? Expr{} : found->second;
        });
        changed = changed || root != before;
      };
      for (Output& output : stage.outputs)
        if (output.value) replace(output.value);
      for (Effect& effect : stage.effects)
        for (auto& argument : effect.arguments)
          if (Expr* e = std::get_if<Expr>(&argument)) replace(*e);
    });
    return changed;
  }

  // ---- nobody reads it

  /// Does nobody need more of a collection than its length?
  bool only_length(const Stage& stage, const Output& output, SymbolId length, bool nested) {
    if (!output.value || (nested && is_extent_elsewhere(stage, length))) return false;
    for (const Output& other : stage.outputs) {
      if (&other == &output || !is_append(other) || length_of(program_, other) != length) continue;
      // The outputs of a block are its results by position.
      if (needs_.needs(other.array) || !std::holds_alternative<Formula>(stage.body)) return false;
    }
    for (const ArrayId array : defined_arrays(output))
      if (needs_.needs(array)) return false;
    return needs_.uses(length).anywhere || needs_.uses(length).in_part || is_extent_elsewhere(stage, length);
  }

  /// Does without a collection whose length is known.
  bool forget(const Stage& stage, const Output& output, SymbolId length) {
    if (output.guard || !is_rectangle(stage)) return false;
    const Expr number = points(stage);
    known_.emplace(length, Length{number, number});
    notes_.done.push_back({"length",
                           {stage.name},
                           "nobody needs the elements of '" + program_[output.array].name +
                               "', and their number is " + describe(program_, number),
                           output.place});
    return true;
  }

  /// A number that was counted is no size: proofs do not know that it is not negative.
  bool can_count(SymbolId length) {
    const SizeUses& uses = needs_.uses(length);
    return !uses.in_part && !uses.in_subscript;
  }

  void count(Stage& stage, Output& output, SymbolId length) {
    const std::string name = names_.like(program_[output.array].name + "_count");
    const ArrayId number = program_.add_array(name, Scalar::I64, {}, program_[output.array].place);
    notes_.done.push_back(
        {"length",
         {stage.name},
         "nobody needs the elements of '" + program_[output.array].name + "': they are only counted",
         output.place});
    output.array = number;
    output.offsets.reset();
    output.combine.assign(stage.dims.size(), Fold{builtin_operator(pool_, Prim::Add, Scalar::I64)});
    output.value = pool_.integer(1);
    const Expr read = pool_.read(number, Scalar::I64, {});
    known_.emplace(length, Length{read, read});
  }

  Program& program_;
  ExprPool& pool_;
  Notes& notes_;
  Needs needs_;
  NewNames names_;
  std::map<SymbolId, Length> known_;
  std::map<SymbolId, Expr> in_values_;
  std::map<ArrayId, std::int64_t> offsets_;  // of rows of so many elements each
};

}  // namespace

bool know_lengths(Program& program, Notes& notes) {
  bool any = false;
  for_each_stage(program.stages, [&](const Stage& stage) {
    any = any || std::any_of(stage.outputs.begin(), stage.outputs.end(), is_append);
  });
  return any && Lengths(program, notes).run();
}

}  // namespace twill
