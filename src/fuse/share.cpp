#include "fuse/share.h"

#include "fuse/first_pass.h"
#include "fuse/join.h"
#include "fuse/profit.h"
#include "fuse/region.h"
#include "program/edit.h"
#include "program/index_use.h"
#include "program/regroup.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace twill {

namespace {

struct Refusal {
  std::string code, text;
};

[[noreturn]] void refuse(std::string code, std::string text) {
  throw Refusal{std::move(code), std::move(text)};
}

class Judge {
 public:
  Judge(const Program& program, const Stage& first, const Stage& second, int depth)
      : program_(program), first_(first), second_(second), depth_(static_cast<std::size_t>(depth)) {}

  void run() const {
    for (const Stage* stage : {&first_, &second_}) alone(*stage);
    directions(first_, second_);
    directions(second_, first_);
    ranges();
    for (const Effect& mine : first_.effects)
      for (const Effect& other : second_.effects)
        if (mine.kind == other.kind)
          refuse("effect-order", "'" + mine.kind + "' happens in both, and keeps its order");
    for (const SymbolId length : lengths_born_in(program_, first_))
      if (uses(second_, length))
        refuse("length", "'" + second_.name + "' needs a length that is only known afterwards");
    for (const Output& output : first_.outputs) handed_on(output);
  }

 private:
  std::string quoted(ArrayId array) const { return "'" + program_[array].name + "'"; }

  /// What a stage says about itself.
  void alone(const Stage& stage) const {
    const std::string name = "'" + stage.name + "'";
    if (has_hint(stage, Hint::Never)) refuse("never", name + " says never");
    if (!std::holds_alternative<Formula>(stage.body)) refuse("block", name + " is a block");
    if (stage.dims.empty()) refuse("no-loop", name + " has no loop");
    if (stage.dims.size() < depth_) refuse("range", name + " has fewer dimensions");
    if (any_is<Seq>(stage)) refuse("sequence", name + " runs step by step");
  }

  /// A shared loop runs from the right if one of them has to; the other one must not mind.
  void directions(const Stage& one, const Stage& other) const {
    for (std::size_t d = 0; d < depth_; ++d) {
      const bool right =
          std::ranges::any_of(one.outputs, [&](const Output& o) { return scans_from_right(o, d); });
      if (!right) continue;
      if (!other.effects.empty())
        refuse("direction",
               "'" + one.name + "' runs from the right, and '" + other.name + "' has effects in order");
      for (const Output& output : other.outputs)
        if (!scans_from_right(output, d) && !runs_either_way(program_, output, d))
          refuse("direction", "'" + one.name + "' runs from the right, and '" + other.name + "' in order");
    }
  }

  Expr renamed(Expr e) const {
    if (!e) return e;
    return rewrite(*program_.pool, e, [&](Expr node) -> Expr {
      const IndexRef* index = as<IndexRef>(node);
      if (!index) return {};
      for (std::size_t d = 0; d < depth_; ++d)
        if (index->dim == second_.dims[d].id) return program_.pool->index(first_.dims[d].id);
      return {};
    });
  }

  void ranges() const {
    for (std::size_t d = 0; d < depth_; ++d) {
      const Dim &a = first_.dims[d], &b = second_.dims[d];
      if (a.lo != renamed(b.lo) || a.hi != renamed(b.hi) || a.condition || b.condition)
        refuse("range", "the ranges of '" + a.name + "' and '" + b.name + "' differ");
      for (const Output& output : first_.outputs)
        for (const ArrayId array : defined_arrays(output))
          if (mentions(b.lo, array) || mentions(b.hi, array))
            refuse("data-extent", quoted(array) + " decides how far '" + second_.name + "' runs");
    }
  }

  bool uses(const Stage& stage, SymbolId symbol) const {
    bool found = false;
    const auto look = [&](Expr root) {
      visit(root, [&](Expr node) {
        const SizeRef* size = as<SizeRef>(node);
        found = found || (size && size->symbol == symbol);
      });
    };
    for_each_expr(stage, look);
    for (const Output& output : stage.outputs)
      for (const ArrayId array : defined_arrays(output))
        for (const Expr extent : program_[array].shape) look(extent);
    return found;
  }

  /// What the second stage sees of an output of the first: elements of the iteration that they share.
  void handed_on(const Output& output) const {
    for (const Output& version : second_.outputs) {
      for (const ArrayId made : defined_arrays(output))
        if (version.into == made)
          refuse("version", quoted(version.array) + " is a new version of " + quoted(made));
      for (const ArrayId array : defined_arrays(version))
        for (const Expr extent : program_[array].shape)
          if (mentions(extent, output.array))
            refuse("data-extent", quoted(output.array) + " decides the shape of " + quoted(array));
    }
    for (const std::optional<ArrayId>& other : {output.offsets, output.keys})
      if (other && reads(second_, *other))
        refuse("whole", "'" + second_.name + "' needs all of " + quoted(*other));
    if (!reads(second_, output.array)) return;
    if (output.force) refuse("forced", quoted(output.array) + " is forced");
    const auto places = places_of_shared(first_, output, static_cast<int>(depth_));
    if (!places || output.offsets)
      refuse("whole", "'" + second_.name + "' needs all of " + quoted(output.array));
    for_each_expr(second_, [&](Expr root) {
      visit(root, [&](Expr node) {
        const Read* read = as<Read>(node);
        if (!read || read->array != output.array) return;
        for (std::size_t d = 0; d < depth_; ++d) {
          const auto place = static_cast<std::size_t>((*places)[d]);
          const IndexRef* index = as<IndexRef>(node->args[place]);
          if (!index || index->dim != second_.dims[d].id || read->rules[place] != Boundary::Inside)
            refuse("other-element", "'" + second_.name + "' reads elements of " + quoted(output.array) +
                                        " that other iterations compute");
        }
      });
    });
  }

  const Program& program_;
  const Stage& first_;
  const Stage& second_;
  std::size_t depth_;
};

}  // namespace

namespace {

/// A scan with nothing but folds inside.
bool is_plain_scan(const Output& output) {
  return is<Scan>(output.combine.front()) &&
         std::all_of(output.combine.begin() + 1, output.combine.end(), is<Fold>) && !output.into;
}

}  // namespace

std::optional<std::vector<int>> places_of_shared(const Stage& stage, const Output& output, int depth) {
  std::vector<int> places;
  for (std::size_t d = 0; d < static_cast<std::size_t>(depth); ++d) {
    if (!is<Cat>(output.combine[d]) && !(depth == 1 && is_plain_scan(output))) return std::nullopt;
    int found = -1;
    for (std::size_t s = 0; s < output.at.size(); ++s) {
      const IndexRef* index = as<IndexRef>(output.at[s]);
      if (index && index->dim == stage.dims[d].id) found = static_cast<int>(s);
    }
    if (found < 0) return std::nullopt;
    places.push_back(found);
  }
  return places;
}

std::optional<Reason> why_decides_too_early(const Program& program, std::span<const Stage* const> stages) {
  const auto scans = [&](std::size_t s, std::size_t o) {
    const Output& output = stages[s]->outputs[o];
    return !output.combine.empty() && is<Scan>(output.combine.front());
  };
  const auto does = [&](std::size_t s, std::size_t o) {
    const Output& output = stages[s]->outputs[o];
    const bool counts = std::ranges::any_of(output.combine, is<Append>) &&
                        (output.offsets || !decides_by_running(*stages[s], output));
    return counts ? InFirstPass::Counts : scans(s, o) ? InFirstPass::Computes : InFirstPass::Nothing;
  };
  const auto array = not_learnt_yet(stages, does, scans);
  if (!array) return std::nullopt;
  const Stage& last = *stages.back();
  return Reason{"whole",
                {stages.front()->name, last.name},
                "'" + stages.front()->name + "' and '" + last.name +
                    "' share no loop: in its first pass a part would need '" + program[*array].name +
                    "', which it knows when those before it are added up",
                last.place};
}

std::optional<Reason> why_not_share(const Program& program, const Stage& first, const Stage& second,
                                    int depth) {
  try {
    Judge(program, first, second, depth).run();
    return std::nullopt;
  } catch (Refusal& refusal) {
    return Reason{std::move(refusal.code),
                  {first.name, second.name},
                  "'" + first.name + "' and '" + second.name + "' share no loop: " + refusal.text,
                  second.place};
  }
}

namespace {

/// What runs along with the points of both stages runs in each of them.
void keep_own_running(Program& program, const Stage& first, Stage& second) {
  for (const Output& mine : first.outputs) {
    const auto copy = std::ranges::find(second.outputs, mine.array, &Output::array);
    if (!is_running(mine) || copy == second.outputs.end()) continue;
    if (!reads(second, mine.array)) {
      second.outputs.erase(copy);
      continue;
    }
    const Array array = program[mine.array];
    copy->array = program.add_array(new_array_name(program, array.name), array.type, {}, array.place);
    const Expr value = program.pool->read(copy->array, array.type, {}, array.place);
    for_each_slot(second, [&](Expr& slot) {
      if (!slot) return;
      slot = rewrite(*program.pool, slot, [&](Expr node) {
        const Read* read = as<Read>(node);
        return read && read->array == mine.array ? value : Expr{};
      });
    });
  }
}

}  // namespace

std::optional<Result<Stage, Reason>> over_points_of(Program& program, const Stage& first,
                                                    const Stage& second) {
  if (second.dims.empty() || !as<SizeRef>(second.dims.front().hi)) return std::nullopt;
  const Expr length = second.dims.front().hi;
  // What the second needs of the first: what has the length that it goes through, and running values.
  Stage filling = first;
  filling.effects.clear();
  const auto has_length = [&](const Output& output) {
    return !output.combine.empty() && is<Append>(output.combine.front()) &&
           program[output.array].shape.front() == length;
  };
  const auto is_read = [&](const Output& output) { return reads(second, output.array); };
  const bool any_read = std::ranges::any_of(
      first.outputs, [&](const Output& output) { return has_length(output) && is_read(output); });
  bool taken = false;  // one of them tells which elements there are
  for (std::size_t o = filling.outputs.size(); o-- > 0;) {
    const Output& output = filling.outputs[o];
    const bool collection = has_length(output) && (any_read ? is_read(output) : !taken);
    taken = taken || collection;
    const bool running =
        is_running(output) &&
        std::any_of(filling.outputs.begin() + static_cast<std::ptrdiff_t>(o) + 1, filling.outputs.end(),
                    [&](const Output& later) {
                      return std::ranges::any_of(std::array{later.value, later.guard},
                                                 [&](Expr e) { return mentions(e, output.array); });
                    });
    if (!collection && !running)
      filling.outputs.erase(filling.outputs.begin() + static_cast<std::ptrdiff_t>(o));
  }
  std::set<ArrayId> gone;
  for (const Output& output : filling.outputs)
    if (has_length(output)) gone.insert(output.array);
  if (gone.empty()) return std::nullopt;
  if (auto reason = why_not_join({program, filling, second, gone})) return std::move(*reason);
  Stage result = joined(program, filling, second, gone);
  for (std::size_t d = 0; d < first.dims.size(); ++d) {
    const DimId own = program.add_dim(first.dims[d].name);
    for_each_slot(result, [&](Expr& slot) {
      if (!slot) return;
      slot = rewrite(*program.pool, slot, [&](Expr node) -> Expr {
        const IndexRef* index = as<IndexRef>(node);
        return index && index->dim == first.dims[d].id ? program.pool->index(own, node->place) : Expr{};
      });
    });
    result.dims[d].id = own;
  }
  keep_own_running(program, first, result);
  return result;
}

std::optional<Reason> visit_points(Program& program, std::span<Stage> stages, std::set<ArrayId>& passed) {
  for (std::size_t k = 1; k < stages.size(); ++k) {
    for (std::size_t i = 0; i < k; ++i) {
      auto over = over_points_of(program, stages[i], stages[k]);
      if (!over) continue;
      if (!*over) return std::move(*over).why();
      for (const Output& output : stages[i].outputs)
        if (reads(stages[k], output.array)) passed.insert(output.array);
      stages[k] = std::move(*over).value();
    }
  }
  return std::nullopt;
}

int most_shared(const Program& program, std::span<const Stage* const> stages) {
  std::size_t most = stages.front()->dims.size();
  for (const Stage* stage : stages) most = std::min(most, stage->dims.size());
  for (int depth = static_cast<int>(most); depth > 0; --depth) {
    bool all = true;
    for (std::size_t a = 0; a < stages.size() && all; ++a)
      for (std::size_t b = a + 1; b < stages.size() && all; ++b)
        all = !why_not_share(program, *stages[a], *stages[b], depth);
    if (all) return depth;
  }
  return 0;
}

}  // namespace twill
