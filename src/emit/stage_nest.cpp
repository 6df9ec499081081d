// The skeleton of a stage: roles of its outputs, and the loops around its body.
#include "emit/stage_nest.h"

#include "emit/interior.h"
#include "plan/legality.h"
#include "program/buckets.h"
#include "program/check.h"
#include "program/index_use.h"
#include "program/positive.h"

#include <algorithm>

namespace twill::nest {

namespace {

/// Rows with so few points, known in advance, are not looked at for what lies inside of boundaries; of those
/// with no more than these, only whether all of it does.
constexpr std::int64_t few_points = 4, short_row = 8;

bool has_at_most(Expr lo, Expr hi, std::int64_t points) {
  const Literal *low = as<Literal>(lo), *high = as<Literal>(hi);
  return low && high && high->value.i - low->value.i <= points;
}

}  // namespace

StageNest::StageNest(Tables& tables, const StageSchedule& schedule, std::vector<ChainLevel> levels,
                     std::int64_t grain, Surroundings surroundings)
    : t_(tables),
      schedule_(schedule),
      stage_(*schedule.stage),
      grain_(grain),
      around_(std::move(surroundings)),
      levels_(std::move(levels)) {
  for (int l = 0; l < static_cast<int>(levels_.size()); ++l) {
    if (levels_[l].by != By::Unroll) point_level_ = l;
  }
  for (const Dim& dim : stage_.dims) ranges_.push_back({dim.lo, dim.hi});
  find_roles();
}

void StageNest::find_roles() {
  for (std::size_t i = 0; i < stage_.outputs.size(); ++i) {
    const Output& output = stage_.outputs[i];
    Role role;
    role.output = &output;
    role.schedule = schedule_.outputs[i];
    role.position = static_cast<int>(i);
    role.target = output.array;
    role.checked = unproven_writes(t_.program(), stage_, output);
    if (std::find(role.checked.begin(), role.checked.end(), true) == role.checked.end()) role.checked.clear();
    // Of a scan that lives as long as an iteration, a single value is left as well; others read that.
    role.runs = is_running(output) && !is_local(role.schedule.keep);
    role.read_back = !role.runs && reads(stage_, output.array);
    for (std::size_t d = 0; d < output.combine.size(); ++d) {
      const Combine& combine = output.combine[d];
      if (is<Append>(combine)) role.shape = Shape::Append;
      if (is<Group>(combine)) role.shape = Shape::Group;
      if (is<Scan>(combine) && role.scan_dim < 0) role.scan_dim = static_cast<int>(d);
    }
    find_folds(role);
    const std::string name = t_.program()[output.array].name;
    // A fold inside of a scan has a value for every point of that.
    const bool replaces = !role.folds.empty() && output.into && !output.accumulates && role.scan_dim < 0;
    if (replaces && role.tile_loop < 0 && !role.folds.front().in_memory)
      role.touched = t_.new_variable(name + "_touched", Scalar::Bool);
    for (int l = 0; l < static_cast<int>(levels_.size()); ++l) {
      const bool whole_part = levels_[l].cut.kind == Cut::Kind::Parts;
      if (whole_part) continue;
      const Combine& combine = output.combine[levels_[l].dim];
      if (levels_[l].dim == role.scan_dim && role.scan_level < 0) role.scan_level = role.running_level = l;
      if (is<Append>(combine) && role.running_level < 0) role.running_level = l;
      if (role.scan_level >= 0 && l > role.scan_level && !is<Fold>(combine) && !role.runs)
        role.scan_in_memory = true;
    }
    const bool once = role.shape == Shape::Append && role.schedule.merge == How::Partial;
    role.sliced = once && points_of_iteration(output) > 0;
    role.grows = once && !role.sliced;
    if (role.shape == Shape::Append && !output.offsets) {
      for (std::size_t k = i + 1; k < stage_.outputs.size(); ++k)
        if (is<Append>(stage_.outputs[k].combine.back()) &&
            t_.program()[stage_.outputs[k].array].shape == t_.program()[output.array].shape)
          role.counts_for = static_cast<int>(k);
    }
    for (std::size_t k = 0; k < i && role.table_of < 0; ++k)
      if (share_buckets(t_.program(), stage_.outputs[k], output)) role.table_of = static_cast<int>(k);
    if (role.shape == Shape::Append && role.counts_for < 0 && !role.grows)
      role.running = t_.new_variable(name + "_at", Scalar::I64);
    if (role.scan_dim >= 0 && !role.scan_in_memory) {
      const Operator& op = std::get<Scan>(output.combine[role.scan_dim]).op;
      role.running = t_.new_variable(name + "_run", op.type);
      if (!op.identity) role.running_seen = t_.new_variable(name + "_seen", Scalar::Bool);
    }
    roles_.push_back(std::move(role));
  }
}

void StageNest::find_folds(Role& role) {
  const std::vector<Combine>& combine = role.output->combine;
  const std::string name = t_.program()[role.output->array].name;
  std::vector<int> group(combine.size(), -1);
  for (std::size_t d = 0; d < combine.size(); ++d) {
    const Fold* fold = std::get_if<Fold>(&combine[d]);
    if (!fold) continue;
    if (role.folds.empty() || !(role.folds.back().op == fold->op)) {
      const bool only = role.folds.empty();
      role.folds.push_back(
          {fold->op, -1, false, t_.new_variable(name + (only ? "_acc" : "_inner"), fold->op.type), {}});
      if (!fold->op.identity) role.folds.back().seen = t_.new_variable(name + "_seen", Scalar::Bool);
    }
    group[d] = static_cast<int>(role.folds.size()) - 1;
  }
  for (int l = 0; l < static_cast<int>(levels_.size()); ++l) {
    if (levels_[l].cut.kind == Cut::Kind::Parts) continue;
    const int g = group[levels_[l].dim];
    if (g >= 0 && role.folds[g].first_level < 0) role.folds[g].first_level = l;
    if (g < 0 && !role.folds.empty() && role.folds[0].first_level >= 0) role.folds[0].in_memory = true;
  }
  if (!role.schedule.tile || role.folds.empty()) return;
  FoldGroup& fold = role.folds.front();
  const bool all_inside = fold.first_level > *role.schedule.tile;
  if (all_inside || fold.in_memory) role.tile_loop = *role.schedule.tile;
  if (all_inside) fold.in_memory = false;
}

bool StageNest::active(const Role& role) const { return !first_pass_ || active_first(role); }

bool StageNest::active_first(const Role& role) const {
  if (early_.contains(role.output->array) || role.read_back) return true;
  if (role.grows || role.sliced) return false;
  return role.counts_for < 0 && (role.shape == Shape::Append || role.schedule.merge == How::TwoPass);
}

InFirstPass StageNest::in_first_pass(std::size_t output) const {
  const Role& role = roles_[output];
  if (role.shape == Shape::Append)
    return role.grows || role.sliced ? InFirstPass::Nothing : InFirstPass::Counts;
  return role.schedule.merge == How::TwoPass ? InFirstPass::Computes : InFirstPass::Nothing;
}

bool StageNest::only_learns(const Role& role) const {
  return first_pass_ && !early_.contains(role.output->array);
}

bool StageNest::needs_two_passes() const {
  for (std::size_t o = 0; o < roles_.size(); ++o)
    if (in_first_pass(o) != InFirstPass::Nothing) return true;
  return false;
}

Code StageNest::lower() {
  const Stage* const alone = &stage_;
  early_ = needed_in_first_pass({&alone, 1},
                                [&](std::size_t, std::size_t output) { return in_first_pass(output); });
  Code code = before();
  if (needs_two_passes()) {
    append(code, loops(true));
    code.push_back({Stop{}});  // a part that failed has learnt nothing
    append(code, between());
  }
  append(code, loops(false));
  append(code, after());
  return code;
}

StageNest::Range StageNest::parts_to_learn() const {
  bool left = true, right = true;  // all of them run from there
  for (const Role& role : roles_) {
    if (role.shape == Shape::Append && !role.grows && !role.sliced) return {t_.number(0), parts_};
    if (role.shape != Shape::Dense || role.schedule.merge != How::TwoPass) continue;
    const bool from_left =
        std::get<Scan>(role.output->combine[static_cast<std::size_t>(role.scan_dim)]).from == Direction::Left;
    left = left && from_left;
    right = right && !from_left;
  }
  if (left == right) return {t_.number(0), parts_};
  return left ? Range{t_.number(0), t_.sub(parts_, t_.number(1))} : Range{t_.number(1), parts_};
}

/// What the first pass has learnt.
Code StageNest::between() {
  Code code;
  for (Role& role : roles_) {
    if (role.shape == Shape::Append && !role.grows && !role.sliced)
      append(code, join_counts(role));
    else if (role.schedule.merge == How::TwoPass)
      append(code, join_totals(role));
  }
  return code;
}

Code StageNest::loops(bool first_pass) {
  begin(first_pass);
  Code code = within(0, 0);
  begin(false);
  return code;
}

/// The loops from a level on, which run over the dimensions from `first_dim` on.
Code StageNest::within(int first_dim, int level) {
  Within within;
  for (std::size_t d = static_cast<std::size_t>(first_dim); d < stage_.dims.size(); ++d) {
    const Dim& dim = stage_.dims[d];
    const Literal* lo = as<Literal>(dim.lo);
    if (lo && lo->value.i >= 0 && dim.hi) within.positive.push_back(dim.hi);
  }
  within.body = from(level);
  Code code;
  code.push_back({std::move(within)});
  return code;
}

void StageNest::share(std::size_t levels, std::optional<DimId> part, Expr parts) {
  shared_levels_ = levels;
  part_ = part;
  parts_ = parts;
}

Code StageNest::open_all(int level) {
  Code code;
  for (Role& role : roles_) append(code, open(role, level));
  return code;
}

Code StageNest::close_all(int level) {
  Code code;
  for (Role& role : roles_) append(code, close(role, level));
  return code;
}

Code StageNest::enter_part(int dim, Range range) {
  Code code;
  set_range(dim, range);
  for (Role& role : roles_) {
    // A private copy of a target of which not every element is written starts empty.
    if (!first_pass_ && role.partial && (role.folds.empty() || role.output->into))
      append(code, init_target(role));
  }
  return code;
}

Code StageNest::inside() {
  const bool any = std::any_of(roles_.begin(), roles_.end(), [&](const Role& role) { return active(role); });
  if (!any && (first_pass_ || stage_.effects.empty())) return {};
  int dims = 0;
  for (std::size_t l = 0; l < shared_levels_; ++l) dims = std::max(dims, levels_[l].dim + 1);
  Code code;
  for (const Role& role : roles_)
    if (active(role) && is_local(role.schedule.keep) && scatters(role)) append(code, init_target(role));
  append(code, within(dims, static_cast<int>(shared_levels_)));
  return code;
}

Code StageNest::from(int level) {
  if (splits_before(level)) return split(level);
  Code code;
  const bool parts = level < static_cast<int>(levels_.size()) && levels_[level].cut.kind == Cut::Kind::Parts;
  if (!parts) append(code, open_all(level));
  if (level == static_cast<int>(levels_.size())) {
    append(code, leaf());
  } else {
    append(code, loop(level));
  }
  if (!parts) append(code, close_all(level));
  return code;
}

Code StageNest::loop(int level) {
  const ChainLevel& here = levels_[level];
  if (here.cut.kind == Cut::Kind::Parts) return parts_loop(level);
  if (here.by == By::Unroll) return unrolled(level);
  if (in_lanes(level)) return lanes(level);
  if (cuts_pieces(level) && has_copies(level) && !whole_) return one_by_one(level);
  const Range range = ranges_[here.dim];
  if (here.cut.count == 1) {
    if (level != point_level_) return point_loop(level, range.lo, range.hi);
    return over_whole_ ? around_box(level, range.lo, range.hi) : row(level, range.lo, range.hi);
  }
  // Tiles: the loop variable is the tile's first index.
  const Dim& dim = stage_.dims[here.dim];
  For loop{.index = t_.new_index(dim.name + "_tile"),
           .lo = range.lo,
           .hi = range.hi,
           .step = here.cut.count,
           .by = here.by};
  if (here.by == By::Core)
    loop.enough = grain_ > 0 ? t_.compare(Prim::Ge, total_points(), t_.number(grain_)) : Expr{};
  const DimId end = t_.new_index(dim.name + "_end");
  loop.body.push_back({Let{end, t_.min(t_.add(t_.index(loop.index), t_.number(here.cut.count)), range.hi)}});
  ranges_[here.dim] = {t_.index(loop.index), t_.index(end)};
  if (cuts_pieces(level)) {
    cut_.push_back(here.dim);
    around_piece_[here.dim] = range;
  }
  append(loop.body, from(level + 1));
  pieces_.erase(here.dim);
  ranges_[here.dim] = range;
  Code code;
  code.push_back({std::move(loop)});
  return code;
}

Code StageNest::parts_loop(int level) {
  const ChainLevel& here = levels_[level];
  const Dim& dim = stage_.dims[here.dim];
  const Range range = ranges_[here.dim];
  const Range visited = first_pass_ ? parts_to_learn() : Range{t_.number(0), parts_};
  For loop{.index = *part_, .lo = visited.lo, .hi = visited.hi, .by = here.by};
  if (here.by == By::Core) loop.enough = t_.compare(Prim::Gt, parts_, t_.number(1));
  loop.in_turns = here.cut.count > 0;
  const Expr part = t_.index(*part_);
  const DimId begin = t_.new_index(dim.name + "_begin"), end = t_.new_index(dim.name + "_end");
  loop.body.push_back({Let{begin, t_.start_of_part(range.lo, range.hi, part, parts_)}});
  loop.body.push_back({Let{end, t_.start_of_part(range.lo, range.hi, t_.add(part, t_.number(1)), parts_)}});
  append(loop.body, enter_part(here.dim, {t_.index(begin), t_.index(end)}));
  append(loop.body, from(level + 1));
  ranges_[here.dim] = range;
  Code code;
  code.push_back({std::move(loop)});
  return code;
}

Code StageNest::unrolled(int level) {
  const int dim = levels_[level].dim;
  Code code;
  copy_[dim] = 0;
  for (Expr value : copies_of(dim)) {
    fixed_[stage_.dims[dim].id] = value;
    append(code, from(level + 1));
    ++copy_[dim];
  }
  fixed_.erase(stage_.dims[dim].id);
  copy_.erase(dim);
  return code;
}

Code StageNest::point_loop(int level, Expr lo, Expr hi) {
  return point_loop(level, stage_.dims[levels_[level].dim].id, lo, hi);
}

Code StageNest::point_loop(int level, DimId index, Expr lo, Expr hi) {
  const ChainLevel& here = levels_[level];
  For loop{.index = index, .lo = lo, .hi = hi, .by = here.by};
  if (here.by == By::Core && grain_ > 0)
    loop.enough = t_.compare(Prim::Ge, total_points(), t_.number(grain_));
  // The first pass only counts and adds up: lanes may do that even where the second pass runs in order.
  if (first_pass_ && adds_up(level)) loop.by = By::Simd;
  for (const Role& role : roles_) {
    const Scan* scan = std::get_if<Scan>(&role.output->combine[here.dim]);
    if (scan && scan->from == Direction::Right) loop.down = true;
    if (loop.by != By::Simd || !active(role)) continue;
    if (scan && only_learns(role)) loop.reductions.push_back({role.running, scan->op});
    if (role.tile_loop >= 0) {
      if (is<Fold>(role.output->combine[here.dim])) {
        for (const auto& [copy, variable] : role.held)
          loop.reductions.push_back({variable, role.folds.front().op});
      }
      continue;
    }
    for (std::size_t g = 0; g < role.folds.size(); ++g) {
      const FoldGroup& group = role.folds[g];
      // An outer fold takes the inner one's result when the loop is done.
      const bool outside = g + 1 < role.folds.size() && role.folds[g + 1].first_level <= level;
      if (group.first_level <= level && !group.in_memory && !outside)
        loop.reductions.push_back({group.accumulator, group.op});
    }
    if (role.shape == Shape::Append && first_pass_) {
      loop.reductions.push_back({role.running, t_.plus()});
    }
  }
  loop.body = from(level + 1);
  Code code;
  code.push_back({std::move(loop)});
  return code;
}

/// Is all that the first pass does in this loop a reduction that lanes can share?
bool StageNest::adds_up(int level) const {
  if (level != point_level_ || levels_[level].by != By::Seq || !std::holds_alternative<Formula>(stage_.body))
    return false;
  return std::all_of(roles_.begin(), roles_.end(), [&](const Role& role) {
    if (!active(role)) return true;
    const Scan* scan = std::get_if<Scan>(&role.output->combine[levels_[level].dim]);
    if (scan)
      return only_learns(role) && scan->op.prim && !role.running_seen && regroups(t_.program(), scan->op);
    return role.shape == Shape::Append;
  });
}

/// For every point of the unrolled dimensions.
void StageNest::at_all_unrolled(int level, const std::function<void()>& action) {
  if (level == static_cast<int>(levels_.size())) return action();
  const int dim = levels_[level].dim;
  for (Expr value : copies_of(dim)) {
    fixed_[stage_.dims[dim].id] = value;
    at_all_unrolled(level + 1, action);
  }
  fixed_.erase(stage_.dims[dim].id);
}

/// For every element of an output that the unrolled dimensions lead to.
void StageNest::at_all_rows(const Role& role, int level, const std::function<void()>& action) {
  while (level < static_cast<int>(levels_.size()) && is<Fold>(role.output->combine[levels_[level].dim]))
    ++level;
  if (level == static_cast<int>(levels_.size())) return action();
  const int dim = levels_[level].dim;
  copy_[dim] = 0;
  for (Expr value : copies_of(dim)) {
    fixed_[stage_.dims[dim].id] = value;
    at_all_rows(role, level + 1, action);
    ++copy_[dim];
  }
  fixed_.erase(stage_.dims[dim].id);
  copy_.erase(dim);
}

/// Boundary rules on subscripts that do not move in the innermost loop are applied once, before it.
Code StageNest::settle_rules(int level, DimId index) {
  Code code;
  if (level != point_level_ || !std::holds_alternative<Formula>(stage_.body)) return code;
  const DimId own = stage_.dims[levels_[level].dim].id;
  // Here the loops around have an iteration; the innermost one itself may have none.
  Positive positive;
  for (int l = 0; l < level; ++l) {
    const Dim& dim = stage_.dims[levels_[l].dim];
    const Literal* lo = as<Literal>(dim.lo);
    if (dim.id != own && dim.hi && lo && lo->value.i >= 0) add_positive(dim.hi, positive);
  }
  const auto settle = [&](Expr subscript, Boundary rule, Expr extent) {
    for (const Settled& known : settled_) {
      if (known.subscript == subscript && known.rule == rule && known.extent == extent) return;
    }
    Expr value;
    const Expr last = t_.sub(extent, t_.number(1));
    if (rule == Boundary::Clamp) {
      value = t_.min(t_.max(subscript, t_.number(0)), last);
    } else {
      const Expr period = rule == Boundary::Wrap ? extent : t_.mul(t_.number(2), extent);
      value = t_.pool().apply(Prim::Mod, {subscript, period});
      if (rule == Boundary::Mirror) value = t_.min(value, t_.sub(t_.sub(period, t_.number(1)), value));
    }
    const DimId name = t_.new_index("row");
    code.push_back({Let{name, value}});
    settled_.push_back({subscript, rule, extent, name});
  };
  at_all_unrolled(level + 1, [&] {
    for_each_expr(stage_, [&](Expr root) {
      visit(at_point(root), [&](Expr node) {
        const Read* read = as<Read>(node);
        if (!read) return;
        for (std::size_t s = 0; s < read->rules.size(); ++s) {
          const Boundary rule = read->rules[s];
          const Expr extent = t_.program()[read->array].shape[s];
          const bool bends = rule == Boundary::Clamp || rule == Boundary::Mirror || rule == Boundary::Wrap;
          if (bends && !mentions(node->args[s], index) && !reads_data(node->args[s]) &&
              is_positive(extent, positive))
            settle(node->args[s], rule, extent);
        }
      });
    });
  });
  return code;
}

/// Where the boundary rules on the innermost index hold by themselves; nothing if it is not worth a loop of
/// its own: the loop must be the innermost one, with more than a few points, and in order from the left.
Interior StageNest::interior_of(int level, Expr lo, Expr hi) {
  const ChainLevel& here = levels_[level];
  const DimId index = stage_.dims[here.dim].id;
  const bool is_short = has_at_most(lo, hi, few_points);
  const bool down = std::any_of(roles_.begin(), roles_.end(), [&](const Role& role) {
    const Scan* scan = std::get_if<Scan>(&role.output->combine[here.dim]);
    return scan && scan->from == Direction::Right;
  });
  Interior interior;
  if (level == point_level_ && !is_short && !down && here.by != By::Core &&
      std::holds_alternative<Formula>(stage_.body)) {
    at_all_unrolled(level + 1, [&] {
      for_each_expr(stage_, [&](Expr e) { find_interior(t_, at_point(e), index, interior); });
    });
  }
  return interior;
}

Code StageNest::segmented(int level, Expr lo, Expr hi) {
  const ChainLevel& here = levels_[level];
  if (over_whole_) {
    const Dim& dim = stage_.dims[here.dim];
    const DimId first = t_.new_index(dim.name + "_first"), last = t_.new_index(dim.name + "_last");
    Code code;
    code.push_back({Let{first, t_.min(t_.max(lo, dim.lo), hi)}});
    code.push_back({Let{last, t_.max(t_.min(hi, dim.hi), t_.index(first))}});
    append(code, bring_rows(level, lo, t_.index(first)));
    over_whole_ = false;
    append(code, segmented(level, t_.index(first), t_.index(last)));
    over_whole_ = true;
    append(code, bring_rows(level, t_.index(last), hi));
    return code;
  }
  if (const std::int64_t phases = phases_of(level); phases > 1) return phased(level, lo, hi, phases);
  const Interior interior = interior_of(level, lo, hi);
  if (interior.lower.empty()) return point_loop(level, lo, hi);

  const std::string& name = stage_.dims[here.dim].name;
  const DimId begin = t_.new_index(name + "_in"), end = t_.new_index(name + "_out");
  Expr from_index = lo, to_index = hi;
  for (Expr e : interior.lower) from_index = t_.max(from_index, e);
  for (Expr e : interior.upper) to_index = t_.min(to_index, e);
  Code code;
  if (has_at_most(lo, hi, short_row)) {
    // All of it, or the code would be tripled for a few points.
    If inside{t_.pool().apply(Prim::And,
                              {t_.compare(Prim::Le, from_index, lo), t_.compare(Prim::Le, hi, to_index)}),
              {},
              {}};
    interior_ = true;
    interior_index_ = stage_.dims[here.dim].id;
    inside.then = point_loop(level, lo, hi);
    interior_ = false;
    inside.otherwise = point_loop(level, lo, hi);
    code.push_back({std::move(inside)});
    return code;
  }
  code.push_back({Let{begin, t_.min(from_index, hi)}});
  code.push_back({Let{end, t_.max(to_index, t_.index(begin))}});
  append(code, point_loop(level, lo, t_.index(begin)));
  interior_ = true;
  interior_index_ = stage_.dims[here.dim].id;
  append(code, point_loop(level, t_.index(begin), t_.index(end)));
  interior_ = false;
  append(code, point_loop(level, t_.index(end), hi));
  return code;
}

/// The innermost loop, after the boundary rules that it does not change.
Code StageNest::row(int level, Expr lo, Expr hi) {
  Code code = settle_rules(level, stage_.dims[levels_[level].dim].id);
  const bool stream = !first_pass_ && std::any_of(roles_.begin(), roles_.end(), [](const Role& role) {
    return role.schedule.stream_above >= 0;
  });
  append(code, stream || schedule_.ahead ? in_strips(level, lo, hi) : segmented(level, lo, hi));
  settled_.clear();
  return code;
}

/// The innermost loop over a row of the whole array: what lies in the box is computed.
Code StageNest::around_box(int level, Expr lo, Expr hi) {
  const Role& role = roles_.front();
  const DimId index = stage_.dims[levels_[level].dim].id;
  Expr inside;
  for (Expr at : role.output->at) {
    const DimId other = as<IndexRef>(at)->dim;
    if (other == index) continue;
    const auto dim = std::find_if(stage_.dims.begin(), stage_.dims.end(),
                                  [&](const Dim& candidate) { return candidate.id == other; });
    const auto piece = pieces_.find(static_cast<int>(dim - stage_.dims.begin()));
    if (piece != pieces_.end() && piece->second.kind == Piece::Kind::Whole) continue;  // all of it is
    const Expr within =
        t_.pool().apply(Prim::And, {t_.compare(Prim::Le, dim->lo, at), t_.compare(Prim::Lt, at, dim->hi)});
    inside = inside ? t_.pool().apply(Prim::And, {inside, within}) : within;
  }
  Code computed = row(level, lo, hi);
  if (!inside) return computed;
  If split{inside, std::move(computed), bring_rows(level, lo, hi)};
  Code code;
  code.push_back({std::move(split)});
  return code;
}

}  // namespace twill::nest
