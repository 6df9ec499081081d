// The one judge of loops, cuts, workers, stores and merges of a stage.
#include "plan/legality.h"

#include "plan/two_passes.h"
#include "program/check.h"
#include "program/index_use.h"

#include <algorithm>
#include <limits>

namespace twill {

bool bounds_depend(const Stage& stage, int d, int e) {
  const Dim& dim = stage.dims[d];
  const DimId other = stage.dims[e].id;
  return (dim.lo && mentions(dim.lo, other)) || (dim.hi && mentions(dim.hi, other)) ||
         (dim.condition && mentions(dim.condition, other));
}

bool may_write_outside(const Program& program, const Stage& stage, const Output& output) {
  const std::vector<bool> unproven = unproven_writes(program, stage, output);
  return std::find(unproven.begin(), unproven.end(), true) != unproven.end();
}

namespace {

/// Thrown inside this file only; why_illegal turns it into its result.
struct Refusal {
  std::string code, text;
};

[[noreturn]] void refuse(std::string code, std::string text) {
  throw Refusal{std::move(code), std::move(text)};
}

class Judge {
 public:
  Judge(const Program& program, const Stage& stage, const Cluster& cluster, const Site& site)
      : program_(program), stage_(stage), cluster_(cluster), site_(site) {}

  void run() {
    auto loops = loops_of(cluster_);
    if (!loops || loops->chains.size() != 1)
      refuse("illegal-loops", "the loops of a cluster of one stage form one chain");
    levels_ = std::move(loops->chains.front());
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      if (levels_[l].dim < 0 || levels_[l].dim >= static_cast<int>(stage_.dims.size())) {
        refuse("illegal-loops", "the stage has no dimension " + std::to_string(levels_[l].dim));
      }
      if (levels_[l].by != By::Unroll) point_level_ = static_cast<int>(l);
    }
    cuts();
    bounds();
    if (has_carries()) return carried();
    workers();
    tiles();
    merge_of(-1);  // all of them name outputs, even if there is none
    for (std::size_t o = 0; o < stage_.outputs.size(); ++o) output(stage_.outputs[o], static_cast<int>(o));
    if (has_effects(stage_)) {
      in_order("an effect happens in it");
      if (!levels_.empty() && levels_.front().cut.kind == Cut::Kind::Parts && runs_from_right(stage_))
        refuse("direction", "an effect happens in it, and its parts do not run from the right as it does");
    }
    lanes();
    unrolled();
    stores();
    reads_ahead();
  }

 private:
  const std::string& dim_name(int d) const { return stage_.dims[d].name; }
  const std::string& array_name(const Output& output) const { return program_[output.array].name; }

  bool has_carries() const {
    const Nested* nested = std::get_if<Nested>(&stage_.body);
    return nested && !nested->block->carries.empty();
  }

  /// Levels of a dimension, outer ones first.
  std::vector<int> levels_of(int dim) const {
    std::vector<int> found;
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      if (levels_[l].dim == dim) found.push_back(static_cast<int>(l));
    }
    return found;
  }

  void cuts() const {
    for (std::size_t d = 0; d < stage_.dims.size(); ++d) {
      const std::vector<int> found = levels_of(static_cast<int>(d));
      if (found.empty()) refuse("illegal-loops", "no loop runs over '" + dim_name(static_cast<int>(d)) + "'");
      for (int l : found) {
        const ChainLevel& level = levels_[l];
        const bool last = l == found.back();
        if (level.cut.kind == Cut::Kind::Parts) {
          if (l != 0 || last || level.cut.count < 0) {
            refuse("illegal-cut", "only the outermost loop can cut '" + dim_name(level.dim) +
                                      "' into parts, with another loop inside of it");
          }
        } else if (level.cut.count < 1 || (level.cut.count == 1) != last) {
          refuse("illegal-cut", "the innermost loop over '" + dim_name(level.dim) +
                                    "' visits its points and the others have steps above 1");
        }
        if (!last && (level.by == By::Simd || level.by == By::Unroll)) {
          refuse("illegal-cut", "only the innermost loop over '" + dim_name(level.dim) + "' can be " +
                                    std::string(name_of(level.by)));
        }
        if (level.by > By::Core)
          refuse("not-supported", "loops by " + std::string(name_of(level.by)) + " are not for this target");
      }
    }
  }

  void bounds() const {
    for (std::size_t d = 0; d < stage_.dims.size(); ++d) {
      for (std::size_t e = 0; e < stage_.dims.size(); ++e) {
        if (!bounds_depend(stage_, static_cast<int>(d), static_cast<int>(e))) continue;
        if (levels_of(static_cast<int>(e)).back() > levels_of(static_cast<int>(d)).front()) {
          refuse("illegal-order", "the bounds of '" + dim_name(static_cast<int>(d)) + "' depend on '" +
                                      dim_name(static_cast<int>(e)) + "', which must be further out");
        }
      }
    }
  }

  void carried() const {
    for (const ChainLevel& level : levels_) {
      if (level.cut != Cut{} || level.by != By::Seq) {
        refuse("carried-state",
               "'" + dim_name(level.dim) + "' hands a state from step to step and runs in order");
      }
    }
    if (!cluster_.merges.empty() || !cluster_.stores.empty() || !cluster_.tiles.empty() ||
        !cluster_.ahead.empty())
      refuse("carried-state", "the state of a loop has no store, merge or tile of its own");
  }

  void workers() const {
    int cores = 0;
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      const ChainLevel& level = levels_[l];
      if (level.cut.kind == Cut::Kind::Parts && level.by != By::Core && level.by != By::Seq) {
        refuse("illegal-cut", "parts are run by cores or one after the other");
      }
      if (level.by != By::Core) continue;
      if (site_.inside_parallel) refuse("nested-parallel", "a loop around this stage is parallel already");
      if (has_effects(stage_)) refuse("effect", "effects happen in order");
      const bool neighbour = l > 0 && levels_[l - 1].by == By::Core;
      if (cores > 0 && !neighbour)
        refuse("nested-parallel", "parallel loops must follow each other directly");
      ++cores;
      if (level.cut.kind == Cut::Kind::Parts) continue;
      for (const Output& output : stage_.outputs) {
        const Combine& combine = output.combine[level.dim];
        if (!is<Cat>(combine)) {
          refuse("not-parallel", "'" + dim_name(level.dim) + "' is a " + std::string(name_of(combine)) +
                                     " dimension of '" + array_name(output) +
                                     "' and is only parallel when cut into parts");
        }
      }
    }
  }

  /// How many points the loop at a level has whenever it runs to its end: those that are known in advance, or
  /// the step of the loop around it over the same dimension.
  std::optional<std::int64_t> known_points(int l) const {
    const std::vector<int> found = levels_of(levels_[l].dim);
    if (found.back() != l) return std::nullopt;
    if (found.size() > 1) {
      const Cut& around = levels_[found[found.size() - 2]].cut;
      return around.kind == Cut::Kind::Step ? std::optional(around.count) : std::nullopt;
    }
    const Dim& dim = stage_.dims[levels_[l].dim];
    const Literal *lo = as<Literal>(dim.lo), *hi = as<Literal>(dim.hi);
    if (!lo || !hi) return std::nullopt;
    return std::max<std::int64_t>(0, hi->value.i - lo->value.i);
  }

  const Tile* tile_of(const Output& output) const {
    for (const Tile& tile : cluster_.tiles) {
      if (&stage_.outputs[static_cast<std::size_t>(tile.output)] == &output) return &tile;
    }
    return nullptr;
  }

  void tiles() const {
    std::set<int> seen;
    for (const Tile& tile : cluster_.tiles) {
      if (tile.instance != 0 || tile.output < 0 || tile.output >= static_cast<int>(stage_.outputs.size()) ||
          !seen.insert(tile.output).second)
        refuse("illegal-tile", "a tile names an output that does not exist, or twice");
      if (tile.loop < 0 || tile.loop >= static_cast<int>(levels_.size()))
        refuse("illegal-tile", "a tile names a loop that does not exist");
      tiled(stage_.outputs[static_cast<std::size_t>(tile.output)], tile.loop);
    }
  }

  /// The accumulators of an output are held in local variables while loop number `loop` makes a step.
  void tiled(const Output& output, int loop) const {
    const std::string name = "'" + array_name(output) + "'";
    for (const Combine& combine : output.combine) {
      if (!is<Cat>(combine) && !is<Fold>(combine)) refuse("illegal-tile", name + " is not only folded");
    }
    if (!std::holds_alternative<Formula>(stage_.body)) refuse("illegal-tile", "the body is a block");
    if (may_write_outside(program_, stage_, output))
      refuse("illegal-tile", "data decide where " + name + " is written");
    replaced_before(output, loop + 1, "illegal-tile");
    const Fold* fold = nullptr;
    bool inside = false;
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      const Fold* here = std::get_if<Fold>(&output.combine[levels_[l].dim]);
      if (!here) continue;
      inside = inside || static_cast<int>(l) > loop;
      if (fold && !(fold->op == here->op)) refuse("illegal-tile", name + " folds with different operators");
      fold = here;
    }
    if (!inside) refuse("illegal-tile", "nothing is folded into " + name + " inside of that loop");
    if (!fold->op.identity)
      refuse("no-identity", name + " cannot be held in a tile: its operator has no identity");
    std::int64_t held = 1;
    for (int l = loop + 1; l < static_cast<int>(levels_.size()); ++l) {
      const int d = levels_[l].dim;
      if (levels_[l].by == By::Core) refuse("illegal-tile", "workers would share the tile of " + name);
      if (!is<Cat>(output.combine[d])) continue;
      for (const Output& other : stage_.outputs) {
        if (!is<Cat>(other.combine[d]) && !is<Fold>(other.combine[d]))
          refuse("illegal-tile", "'" + dim_name(d) + "' is a " + std::string(name_of(other.combine[d])) +
                                     " dimension of '" + array_name(other) + "'");
      }
      const std::optional<std::int64_t> points = known_points(l);
      const std::vector<int> found = levels_of(d);
      if (!points || (found.size() > 1 && found[found.size() - 2] > loop))
        refuse("illegal-tile", "the loops over '" + dim_name(d) + "' inside of the tile of " + name +
                                   " have no number of points that is known");
      held *= std::max<std::int64_t>(1, *points);
      if (held > most_held)
        refuse("illegal-tile",
               "the tile of " + name + " has more than " + std::to_string(most_held) + " elements");
    }
  }

  std::optional<How> merge_of(int output) const {
    std::optional<How> how;
    for (const Merge& merge : cluster_.merges) {
      if (merge.instance != 0 || merge.output < 0 ||
          merge.output >= static_cast<int>(stage_.outputs.size())) {
        refuse("illegal-merge", "a merge names an output that does not exist");
      }
      if (merge.output == output) how = merge.how;
    }
    return how;
  }

  /// All loops in the order of the dimensions, none of them tiled; parts are those of the outermost one.
  void in_order(const std::string& why) const {
    int previous = -1;
    for (const ChainLevel& level : levels_) {
      const bool tiled = level.cut.kind == Cut::Kind::Step && level.cut.count != 1;
      if (tiled || level.dim < previous)
        refuse("illegal-order", "the points of the stage are visited in order: " + why);
      previous = level.dim;
    }
  }

  void output(const Output& output, int position) const {
    const std::optional<How> how = merge_of(position);
    const bool parts = !levels_.empty() && levels_.front().cut.kind == Cut::Kind::Parts;
    const Combine* cut = parts ? &output.combine[levels_.front().dim] : nullptr;
    // Without parts, what is appended can grow, too.
    const bool appends = std::ranges::any_of(output.combine, is<Append>);
    if (how && (!cut || is<Cat>(*cut)) && !(appends && how == How::Partial))
      refuse("illegal-merge",
             "no dimension of '" + array_name(output) + "' is cut into parts that have to be merged");
    if (cut && !is<Cat>(*cut)) merged(output, *cut, how);
    if (appends && how == How::Partial) grows(output);
    if (cut) meets_in_order(output, *cut);
    folds(output);
    for (std::size_t d = 0; d < stage_.dims.size(); ++d) {
      const Combine& combine = output.combine[d];
      if (const Scan* scan = std::get_if<Scan>(&combine)) scanned(output, static_cast<int>(d), *scan);
      if (const Scatter* scatter = std::get_if<Scatter>(&combine)) {
        if (!scatter->op || keeps_order(program_, *scatter->op))
          in_order("the last value that is scattered to an element counts");
      }
      if (is<Append>(combine)) in_order("'" + array_name(output) + "' is appended to");
      if (is<Group>(combine))
        in_order("the groups of '" + array_name(output) + "' have the order of their first elements");
      if (is<Seq>(combine)) sequential(static_cast<int>(d));
    }
  }

  /// Parts meet from the left; where a scan makes the stage run from the right, order must not matter.
  void meets_in_order(const Output& output, const Combine& cut) const {
    const auto* fold = std::get_if<Fold>(&cut);
    const auto* scatter = std::get_if<Scatter>(&cut);
    const Operator* op = fold ? &fold->op : scatter && scatter->op ? &*scatter->op : nullptr;
    if (!is<Append>(cut) && !is<Group>(cut) && !(op && keeps_order(program_, *op))) return;
    const int dim = levels_.front().dim;
    for (const Output& other : stage_.outputs) {
      const auto* scan = std::get_if<Scan>(&other.combine[static_cast<std::size_t>(dim)]);
      if (scan && scan->from == Direction::Right)
        refuse("illegal-merge", "the parts of '" + array_name(output) + "' meet from the left, and '" +
                                    dim_name(dim) + "' runs from the right");
    }
  }

  /// Into buffers that grow, all that have the length together.
  void grows(const Output& output) const {
    const std::string name = "'" + array_name(output) + "'";
    if (output.offsets)
      refuse("illegal-merge", name + " has rows, whose lengths are counted before they are written");
    for (std::size_t o = 0; o < stage_.outputs.size(); ++o) {
      const Output& other = stage_.outputs[o];
      if (std::ranges::any_of(other.combine, is<Append>) && !other.offsets &&
          program_[other.array].shape == program_[output.array].shape &&
          merge_of(static_cast<int>(o)) != How::Partial)
        refuse("illegal-merge",
               "'" + array_name(other) + "' has the length of " + name + ", and only one of them grows");
    }
  }

  void merged(const Output& output, const Combine& cut, std::optional<How> how) const {
    const std::string name = "'" + array_name(output) + "'";
    const auto need = [&](How wanted) {
      if (how != wanted)
        refuse("illegal-merge", name + " needs a merge by " + std::string(name_of(wanted)) +
                                    ": it is cut into parts along a " + std::string(name_of(cut)) +
                                    " dimension");
    };
    const auto regroup_parts = [&](const Operator& op) {
      if (!regroups(program_, op))
        refuse("not-associative",
               "the parts of " + name + " cannot be combined: " +
                   (program_.strict ? "the program is strict about the order of float operations"
                                    : "its operator is not associative"));
    };
    const auto combine_parts = [&](const Operator& op) {
      regroup_parts(op);
      if (!op.identity)
        refuse("no-identity", "the parts of " + name + " cannot be combined: its operator has no identity");
    };
    if (const Fold* fold = std::get_if<Fold>(&cut)) {
      need(How::Partial);
      combine_parts(fold->op);
      if (output.into && !output.accumulates)
        refuse("illegal-merge",
               name + " is a new version of an array and would be overwritten where it must stay unchanged");
      for (const Combine& other : output.combine) {
        const Fold* inner = std::get_if<Fold>(&other);
        if (inner && !(inner->op == fold->op))
          refuse("illegal-merge", name + " folds with different operators");
        if (is<Scan>(other) || is<Scatter>(other)) refuse("illegal-merge", name + " is not only folded");
      }
    } else if (const Scan* scan = std::get_if<Scan>(&cut)) {
      need(How::TwoPass);
      combine_parts(scan->op);
      for (const Combine& other : output.combine) {
        if (!is<Scan>(other) && !is<Fold>(other))
          refuse("illegal-merge",
                 "a scan in two passes has no dimensions beside the scanned and folded ones");
      }
    } else if (const Scatter* scatter = std::get_if<Scatter>(&cut)) {
      need(How::Partial);
      if (!scatter->op)
        refuse("last-wins", "the last value that is scattered to an element of " + name + " counts");
      combine_parts(*scatter->op);
      if (std::any_of(output.combine.begin(), output.combine.end(),
                      [](const Combine& c) { return is<Fold>(c); })) {
        refuse("illegal-merge", name + " is folded as well as scattered");
      }
    } else if (is<Append>(cut)) {
      if (how != How::Partial) need(How::TwoPass);
      if (output.offsets) refuse("illegal-merge", "the rows of " + name + " are not cut into parts");
    } else if (const Group* group = std::get_if<Group>(&cut)) {
      need(How::Partial);
      if (group->op) regroup_parts(*group->op);  // every bucket of a part has a value: no identity is needed
    } else {
      refuse("not-parallel", "a " + std::string(name_of(cut)) + " dimension cannot be cut into parts");
    }
  }

  void folds(const Output& output) const {
    int first = -1;
    std::vector<int> order;  // dimensions folded, as the loops meet them
    bool cat_inside = false;
    std::vector<const Operator*> operators;
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      const Fold* fold = std::get_if<Fold>(&output.combine[levels_[l].dim]);
      if (levels_[l].cut.kind == Cut::Kind::Parts) {
        if (fold) order.push_back(levels_[l].dim);
        continue;
      }
      if (fold) {
        if (first < 0) first = static_cast<int>(l);
        order.push_back(levels_[l].dim);
        if (operators.empty() || !(*operators.back() == fold->op)) operators.push_back(&fold->op);
        if (keeps_order(program_, fold->op) && !std::is_sorted(order.begin(), order.end())) {
          refuse("illegal-order", "the values folded into '" + array_name(output) + "' must meet in order");
        }
      } else if (first >= 0) {
        cat_inside = true;
      }
    }
    if (first < 0) return;
    // Different operators nest: each one's loops are inside of the loops of those before.
    if (operators.size() > 1 && (!std::is_sorted(order.begin(), order.end()) || cat_inside)) {
      refuse("illegal-order",
             "'" + array_name(output) +
                 "' folds with different operators, the inner ones inside, and nothing else inside of them");
    }
    if (!cat_inside) return;
    const Operator& op = *operators.front();
    const std::string name = "'" + array_name(output) + "'";
    const Tile* tile = tile_of(output);
    const bool in_memory = !tile || first <= tile->loop;
    if (in_memory && std::any_of(output.combine.begin(), output.combine.end(), is<Scatter>))
      refuse("data-extent", name + " cannot accumulate in memory: data decide where it is written");
    if (in_memory && !op.identity)
      refuse("no-identity", name + " cannot accumulate in memory: its operator has no identity");
    const bool partial =
        levels_.front().cut.kind == Cut::Kind::Parts && is<Fold>(output.combine[levels_.front().dim]);
    if (in_memory && !(op.type == program_[output.array].type) && !partial) {
      refuse("accumulator-type",
             name + " cannot accumulate in memory: its elements are narrower than the accumulator");
    }
    if (!std::holds_alternative<Formula>(stage_.body))
      refuse("illegal-order", "the values of " + name + " come from a block");
    for (std::size_t l = static_cast<std::size_t>(first); l < levels_.size(); ++l) {
      const int d = levels_[l].dim;
      if (is<Fold>(output.combine[d])) continue;
      if (!is<Cat>(output.combine[d]))
        refuse("illegal-order", "the loops over folded dimensions of " + name +
                                    " are inside of the loop over '" + dim_name(d) + "'");
      for (std::size_t e = 0; e < stage_.dims.size(); ++e) {
        if (is<Fold>(output.combine[e]) && bounds_depend(stage_, d, static_cast<int>(e))) {
          refuse("illegal-order", "the bounds of '" + dim_name(d) + "' depend on the folded '" +
                                      dim_name(static_cast<int>(e)) + "'");
        }
      }
    }
    replaced_before(output, first, "illegal-order");
  }

  /// A fold that replaces elements leaves those alone that have no point: whether they have one must be known
  /// before the loops from a level on.
  void replaced_before(const Output& output, int level, const char* code) const {
    if (!output.into || output.accumulates) return;
    for (int e = 0; e < static_cast<int>(stage_.dims.size()); ++e) {
      if (!is<Fold>(output.combine[e])) continue;
      for (int d = 0; d < static_cast<int>(stage_.dims.size()); ++d) {
        if (bounds_depend(stage_, e, d) && levels_of(d).back() >= level)
          refuse(code, "'" + array_name(output) + "' keeps its old value where there is nothing to fold");
      }
    }
  }

  void scanned(const Output& output, int d, const Scan& scan) const {
    if (is_running(output)) {
      in_order("'" + array_name(output) + "' runs along with them");
      for (const ChainLevel& level : levels_) {
        const bool parts = level.cut.kind == Cut::Kind::Parts;
        if (level.dim == d && !parts && level.by != By::Seq && level.by != By::Unroll)
          refuse("not-parallel", "the scan along '" + dim_name(d) + "' runs in order");
      }
      return;
    }
    const std::string name = "'" + array_name(output) + "'";
    int point = -1;
    bool inside = false;
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      if (levels_[l].cut.kind == Cut::Kind::Parts) continue;
      if (levels_[l].dim == d) {
        if (point >= 0 || levels_[l].cut.count != 1)
          refuse("illegal-cut", "the scanned dimension '" + dim_name(d) + "' is not tiled");
        point = static_cast<int>(l);
        if (levels_[l].by != By::Seq)
          refuse("not-parallel", "the scan along '" + dim_name(d) + "' runs in order");
      } else if (is<Fold>(output.combine[levels_[l].dim])) {
        if (point < 0)
          refuse("illegal-order", "the loops over folded dimensions of " + name +
                                      " are inside of the loop over '" + dim_name(d) + "'");
      } else if (point >= 0) {
        inside = true;
        if (bounds_depend(stage_, levels_[l].dim, d))
          refuse("illegal-order", "the bounds of '" + dim_name(levels_[l].dim) + "' depend on the scanned '" +
                                      dim_name(d) + "'");
      }
    }
    if (!inside) return;
    if (may_write_outside(program_, stage_, output))
      refuse("data-extent", name + " cannot be scanned in memory: data decide where it is written");
    if (!(scan.op.type == program_[output.array].type))
      refuse("accumulator-type",
             name + " cannot be scanned in memory: its elements are narrower than the accumulator");
    const bool folds_too = std::any_of(output.combine.begin(), output.combine.end(),
                                       [](const Combine& c) { return is<Fold>(c); });
    if (folds_too || output.guard) refuse("illegal-order", name + " is folded or guarded as well as scanned");
  }

  /// Own reads stay within an index of the Cat dimensions before the Seq dimension (the checker says so), so
  /// their loops may run outside of it as well as inside.
  void sequential(int d) const {
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      const ChainLevel& level = levels_[l];
      if (level.dim == d) {
        if (level.cut != Cut{} || level.by != By::Seq)
          refuse("sequential", "'" + dim_name(d) + "' runs in order");
        continue;
      }
      const bool other_seq = std::any_of(stage_.outputs.begin(), stage_.outputs.end(),
                                         [&](const Output& o) { return is<Seq>(o.combine[level.dim]); });
      const bool independent = std::all_of(stage_.outputs.begin(), stage_.outputs.end(),
                                           [&](const Output& o) { return is<Cat>(o.combine[level.dim]); });
      const bool before = static_cast<int>(l) < levels_of(d).front();
      if (before && !((other_seq || independent) && level.dim < d))
        refuse("sequential", "the loop over '" + dim_name(d) + "' runs in order, outside of that over '" +
                                 dim_name(level.dim) + "'");
      if (!before && other_seq && level.dim < d)
        refuse("sequential",
               "'" + dim_name(level.dim) + "' and '" + dim_name(d) + "' run in the order of the program");
    }
  }

  void lanes() const {
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      if (levels_[l].by != By::Simd) continue;
      if (static_cast<int>(l) != point_level_)
        refuse("illegal-simd", "only the innermost loop is run by SIMD lanes");
      if (!std::holds_alternative<Formula>(stage_.body)) refuse("illegal-simd", "the body is a block");
      if (has_effects(stage_)) refuse("illegal-simd", "an effect happens in the stage");
      for (const Output& output : stage_.outputs) {
        const Combine& combine = output.combine[levels_[l].dim];
        if (is<Cat>(combine)) {
          const bool scattered = std::any_of(output.combine.begin(), output.combine.end(),
                                             [](const Combine& c) { return is<Scatter>(c); });
          if (scattered && std::none_of(output.at.begin(), output.at.end(), [&](Expr at) {
                return mentions(at, stage_.dims[levels_[l].dim].id);
              })) {
            refuse("illegal-simd", "lanes would meet in one element of '" + array_name(output) + "'");
          }
          continue;
        }
        const Fold* fold = std::get_if<Fold>(&combine);
        if (!fold || !fold->op.prim || !fold->op.identity || !regroups(program_, fold->op) ||
            (output.into && !output.accumulates)) {
          refuse("illegal-simd", "the lanes of '" + dim_name(levels_[l].dim) + "' cannot be combined for '" +
                                     array_name(output) + "'");
        }
        // Lanes have copies of variables, not of elements.
        const Tile* tile = tile_of(output);
        bool folded = false;
        for (std::size_t k = 0; k < levels_.size(); ++k) {
          const bool folds = is<Fold>(output.combine[levels_[k].dim]);
          folded = folded || (folds && levels_[k].cut.kind == Cut::Kind::Step);
          const bool element = tile && static_cast<int>(k) > tile->loop ? levels_[k].by != By::Unroll
                               : tile                                   ? false
                                                                        : folded;
          if (!folds && element)
            refuse("illegal-simd", "lanes would meet in one element of '" + array_name(output) + "'");
        }
      }
    }
  }

  void unrolled() const {
    int first = -1;
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      const ChainLevel& level = levels_[l];
      if (level.by != By::Unroll) {
        if (first >= 0) refuse("illegal-unroll", "only the innermost loops can be unrolled");
        continue;
      }
      if (first < 0) first = static_cast<int>(l);
      const std::optional<std::int64_t> points = known_points(static_cast<int>(l));
      if (!points || *points > 64)
        refuse("illegal-unroll", "'" + dim_name(level.dim) + "' has no small number of points that is known");
      if (!std::holds_alternative<Formula>(stage_.body)) refuse("illegal-unroll", "the body is a block");
      for (const Output& output : stage_.outputs) {
        const Combine& combine = output.combine[level.dim];
        if (!is<Cat>(combine) && !is<Fold>(combine))
          refuse("illegal-unroll",
                 "'" + dim_name(level.dim) + "' is a " + std::string(name_of(combine)) + " dimension");
      }
    }
    if (first < 0) return;
    for (const Output& output : stage_.outputs) {
      // Accumulators are opened outside of all unrolled loops.
      const Operator* before = nullptr;
      for (std::size_t l = 0; l < levels_.size(); ++l) {
        const Fold* fold = std::get_if<Fold>(&output.combine[levels_[l].dim]);
        if (!fold || levels_[l].cut.kind == Cut::Kind::Parts) continue;
        const bool opens = !before || !(*before == fold->op);
        if (opens && static_cast<int>(l) > first)
          refuse("illegal-unroll",
                 "an accumulator of '" + array_name(output) + "' would be opened inside of an unrolled loop");
        before = &fold->op;
      }
    }
  }

  void stores() const {
    std::set<int> seen;
    for (const Store& store : cluster_.stores) {
      if (store.instance != 0 || store.output < 0 ||
          store.output >= static_cast<int>(stage_.outputs.size()) || !seen.insert(store.output).second) {
        refuse("illegal-store", "a store names an output that does not exist, or twice");
      }
      const Output& output = stage_.outputs[store.output];
      if (store.keep == Keep::Alias && store.over.empty()) aliased(output);
      if (!store.over.empty()) takes_over(store, output);
      if (store.stream_above >= 0) streamed(output);
    }
  }

  /// The stage updates the array in place: nobody needs the old version, and no point reads an element that
  /// another point writes.
  void aliased(const Output& output) const {
    const std::string name = "'" + array_name(output) + "'";
    if (!output.into) refuse("illegal-alias", name + " is not a new version of an array");
    const std::string& old = program_[*output.into].name;
    if (!site_.is_disposable(*output.into))
      refuse("illegal-alias", "the old version of '" + old + "' is still needed");
    if (!std::holds_alternative<Formula>(stage_.body)) refuse("illegal-alias", "the body is a block");
    for (const Combine& combine : output.combine) {
      if (is<Fold>(combine)) refuse("illegal-alias", name + " is folded");
    }
    for_each_expr(stage_, [&](Expr root) {
      visit(root, [&](Expr node) {
        const Read* read = as<Read>(node);
        if (!read || read->array != *output.into) return;
        const std::vector<Expr> subscripts(
            node->args.begin(), node->args.begin() + static_cast<std::ptrdiff_t>(read->rules.size()));
        if (subscripts != output.at)
          refuse("illegal-alias", "'" + old + "' is read at other elements than the one that is written");
        if (std::any_of(output.combine.begin(), output.combine.end(), is<Scatter>))
          refuse("illegal-alias", "'" + old + "' is read, and other points may write the same element");
      });
    });
    bool twice = false;
    for (std::size_t o = 0; o < stage_.outputs.size(); ++o)
      twice = twice || (std::ranges::any_of(stage_.outputs[o].combine, is<Append>) &&
                        merge_of(static_cast<int>(o)) != How::Partial);
    if (twice && reads(stage_, output.array))
      refuse("illegal-alias", name + " is read by its own stage, which runs twice: first it counts");
    for (const Output& other : stage_.outputs) {
      if (&other != &output && other.into == output.into)
        refuse("illegal-alias", "two outputs are versions of '" + old + "'");
    }
    not_read_after(output, *output.into);
  }

  /// What follows the output at a point would see the new element.
  void not_read_after(const Output& output, ArrayId old) const {
    Stage after;
    after.outputs.assign(stage_.outputs.begin() + (&output - stage_.outputs.data()) + 1,
                         stage_.outputs.end());
    after.effects = stage_.effects;
    for_each_expr(after, [&](Expr root) {
      visit(root, [&](Expr node) {
        const Read* read = as<Read>(node);
        if (read && read->array == old)
          refuse("illegal-alias", "'" + program_[old].name + "' is read after it was overwritten");
      });
    });
  }

  /// The output is in the memory of an array of the same form that the stage reads, and that nobody needs
  /// after it: every point reads the element that it overwrites, and no other one.
  void takes_over(const Store& store, const Output& output) const {
    const std::string name = "'" + array_name(output) + "'";
    const auto no = [&](const std::string& why) {
      refuse("illegal-alias", name + " is not in the memory of '" + store.over + "': " + why);
    };
    if (store.keep != Keep::Alias) no("it is not in place");
    if (output.into) no("it is a new version of another array");
    if (!std::holds_alternative<Formula>(stage_.body)) no("the body is a block");
    if (output.guard || output.offsets || output.keys || !std::ranges::all_of(output.combine, is<Cat>))
      no("it is no map");
    std::optional<ArrayId> old;
    for (const ArrayId array : reads_of(program_, stage_))
      if (program_[array].name == store.over) old = array;
    if (!old) no("its stage does not read that");
    bool made = false;  // by a formula, beside it
    for_each_stage(program_.stages, [&](const Stage& stage) {
      for (const Output& other : stage.outputs)
        made = made || (other.array == *old && std::holds_alternative<Formula>(stage.body) &&
                        !other.offsets && std::ranges::none_of(other.combine, [](const Combine& combine) {
                          return is<Append>(combine) || is<Group>(combine);
                        }));
    });
    if (!made || !site_.is_disposable(*old)) no("that is needed for something else");
    const auto& results = program_.results;
    const bool handed_on = std::ranges::find(results, output.array) == results.end() &&
                           !site_.lifetimes.is_over(output.array, std::numeric_limits<std::size_t>::max());
    if (handed_on) no("its block hands it on");
    if (program_[*old].type != program_[output.array].type ||
        program_[*old].shape != program_[output.array].shape)
      no("they have different forms");
    if (depends_on_run_time(program_, program_[output.array])) no("its size is known only when it is made");
    for_each_expr(stage_, [&](Expr root) {
      visit(root, [&](Expr node) {
        const Read* read = as<Read>(node);
        if (!read || read->array != *old) return;
        const auto subscripts = std::span(node->args).first(read->rules.size());
        if (!std::ranges::equal(subscripts, output.at) ||
            std::ranges::any_of(read->rules, [](Boundary rule) { return rule != Boundary::Inside; }))
          no("other elements of that are read");
      });
    });
    for (const Store& other : cluster_.stores)
      if (&other != &store && other.over == store.over) no("another output is there");
    for (const Output& other : stage_.outputs)
      if (other.into == old) no("a new version of that is made");
    not_read_after(output, *old);
  }

  void streamed(const Output& output) const {
    const std::string name = "'" + array_name(output) + "'";
    if (point_level_ < 0) refuse("illegal-stream", name + " is a single value");
    if (!std::holds_alternative<Formula>(stage_.body)) refuse("illegal-stream", "the body is a block");
    const ChainLevel& point = levels_[point_level_];
    if (point.by == By::Core) refuse("illegal-stream", "the innermost loop is run by the cores");
    for (const Tile& tile : cluster_.tiles) {
      if (point_level_ > tile.loop &&
          is<Cat>(stage_.outputs[static_cast<std::size_t>(tile.output)].combine[point.dim]))
        refuse("illegal-stream", "the innermost loop runs over a tile");
    }
    for (const Output& other : stage_.outputs) {
      const auto* scan = std::get_if<Scan>(&other.combine[static_cast<std::size_t>(point.dim)]);
      if (scan && scan->from == Direction::Right)
        refuse("illegal-stream", "'" + dim_name(point.dim) + "' runs from the right");
    }
    if (may_write_outside(program_, stage_, output))
      refuse("illegal-stream", "data decide where " + name + " is written");
    if (output.guard) refuse("illegal-stream", name + " is written where its guard holds only");
    const bool scans = std::any_of(stage_.outputs.begin(), stage_.outputs.end(), [](const Output& other) {
      return std::any_of(other.combine.begin(), other.combine.end(), is<Scan>);
    });
    for (std::size_t d = 0; d < output.combine.size(); ++d) {
      const Combine& combine = output.combine[d];
      if (scans && is<Cat>(combine) && levels_of(static_cast<int>(d)).back() > point_level_)
        refuse("illegal-stream", "'" + dim_name(static_cast<int>(d)) + "' is unrolled inside of a scan");
      const bool unrolled_fold = is<Fold>(combine) && levels_of(static_cast<int>(d)).front() > point_level_;
      if (!is<Cat>(combine) && !unrolled_fold)
        refuse("illegal-stream", name + " is combined along '" + dim_name(static_cast<int>(d)) + "'");
    }
    bool folds = false;
    for (const ChainLevel& level : levels_) {
      folds = folds || is<Fold>(output.combine[level.dim]);
      if (folds && is<Cat>(output.combine[level.dim]) && !tile_of(output))
        refuse("illegal-stream", name + " accumulates in memory");
    }
    const DimId index = stage_.dims[point.dim].id;
    for (std::size_t s = 0; s < output.at.size(); ++s) {
      const auto factor = factor_of(output.at[s], index);
      if (factor != (s + 1 == output.at.size() ? 1 : 0))
        refuse("illegal-stream", name + " is not contiguous along '" + dim_name(point.dim) + "'");
    }
    if (output.at.empty()) refuse("illegal-stream", name + " is a single value");
  }

  /// Rows are cut into strips, and what the next strips need is fetched between them.
  void reads_ahead() const {
    if (cluster_.ahead.empty()) return;
    const Ahead& ahead = cluster_.ahead.front();
    const auto no = [&](const std::string& why) { refuse("illegal-ahead", why); };
    if (cluster_.ahead.size() > 1 || ahead.instance != 0) no("only one dimension of a stage is read ahead");
    if (ahead.dim < 0 || ahead.dim >= static_cast<int>(stage_.dims.size()))
      no("a dimension that does not exist is read ahead");
    if (ahead.points < 1 || ahead.points > most_ahead)
      no("rows are read " + std::to_string(ahead.points) + " points ahead, not 1 to " +
         std::to_string(most_ahead));
    if (!std::holds_alternative<Formula>(stage_.body)) no("the body is a block");
    if (point_level_ < 0 || levels_[point_level_].by == By::Core) no("no row is run along in order");
    const int row = levels_[point_level_].dim;
    if (row == ahead.dim) no("the rows run along '" + dim_name(row) + "' themselves");
    for (const Output& output : stage_.outputs)
      if (!is<Cat>(output.combine[row]))
        no("'" + array_name(output) + "' is combined along '" + dim_name(row) + "'");
    for (const Tile& tile : cluster_.tiles)
      if (point_level_ > tile.loop) no("the innermost loop runs over a tile");
  }

  const Program& program_;
  const Stage& stage_;
  const Cluster& cluster_;
  const Site& site_;
  std::vector<ChainLevel> levels_;
  int point_level_ = -1;
};

}  // namespace

std::optional<Reason> why_illegal(const Program& program, const Stage& stage, const Cluster& cluster,
                                  const Site& site) {
  try {
    Judge(program, stage, cluster, site).run();
    const Stage* const alone = &stage;
    return why_not_learnt(program, {&alone, 1}, cluster);
  } catch (const Refusal& refusal) {
    return Reason{refusal.code, {stage.name}, refusal.text, stage.place};
  }
}

}  // namespace twill
