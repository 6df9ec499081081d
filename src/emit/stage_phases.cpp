// The innermost loop in steps of several points, where what they read depends on an index divided by a small
// number: a[x / 2] is one row of elements for the even x and the same row for the odd ones.
#include "emit/phases.h"
#include "emit/stage_nest.h"

#include <algorithm>
#include <numeric>

namespace twill::nest {

namespace {

/// The body is written out for every point of a step.
constexpr std::int64_t most_phases = 4;

}  // namespace

/// How many points a step of the innermost loop should have.
std::int64_t StageNest::phases_of(int level) {
  const ChainLevel& here = levels_[level];
  const DimId index = stage_.dims[here.dim].id;
  const bool plain = level == point_level_ && here.by != By::Core && stage_.effects.empty() &&
                     std::holds_alternative<Formula>(stage_.body) && !fixed_.contains(index) &&
                     std::all_of(roles_.begin(), roles_.end(), [&](const Role& role) {
                       return role.tile_loop < 0 && is<Cat>(role.output->combine[here.dim]);
                     });
  std::int64_t phases = 1;
  if (!plain) return phases;
  at_all_unrolled(level + 1, [&] {
    for_each_expr(stage_, [&](Expr e) {
      if (phases <= most_phases) phases = std::lcm(phases, period_of(at_point(e), index));
    });
  });
  return phases <= most_phases ? phases : 1;
}

/// Runs `action` for each point of a step, with the dimension's index in terms of the step's number.
void StageNest::at_all_phases(int level, DimId step, std::int64_t phases,
                              const std::function<void()>& action) {
  const DimId index = stage_.dims[levels_[level].dim].id;
  step_ = step;
  for (std::int64_t phase = 0; phase < phases; ++phase) {
    fixed_[index] = t_.add(t_.mul(t_.number(phases), t_.index(step)), t_.number(phase));
    action();
  }
  fixed_.erase(index);
  step_.reset();
}

/// The loop from lo to hi: whole steps in which no boundary rule bites, and single points before and after
/// them.
Code StageNest::phased(int level, Expr lo, Expr hi, std::int64_t phases) {
  const std::string& name = stage_.dims[levels_[level].dim].name;
  const Expr size = t_.number(phases);
  const DimId step = t_.new_index(name + "_step");
  Interior interior;
  at_all_phases(level, step, phases, [&] {
    at_all_unrolled(level + 1, [&] {
      for_each_expr(stage_, [&](Expr e) { find_interior(t_, at_point(e), step, interior); });
    });
  });
  Expr first = t_.div(t_.add(lo, t_.number(phases - 1)), size), last = t_.div(hi, size);
  for (Expr e : interior.lower) first = t_.max(first, e);
  for (Expr e : interior.upper) last = t_.min(last, e);
  const DimId from = t_.new_index(name + "_from"), to = t_.new_index(name + "_to");
  const DimId begin = t_.new_index(name + "_in"), end = t_.new_index(name + "_out");
  Code code;
  code.push_back({Let{from, first}});
  code.push_back({Let{to, t_.max(last, t_.index(from))}});
  code.push_back({Let{begin, t_.min(t_.mul(size, t_.index(from)), hi)}});
  code.push_back({Let{end, t_.max(t_.min(t_.mul(size, t_.index(to)), hi), t_.index(begin))}});
  append(code, point_loop(level, lo, t_.index(begin)));
  For loop{.index = step, .lo = t_.index(from), .hi = t_.index(to), .by = levels_[level].by};
  interior_ = true;
  interior_index_ = step;
  at_all_phases(level, step, phases, [&] { loop.body.push_back({Within{{}, this->from(level + 1)}}); });
  interior_ = false;
  code.push_back({std::move(loop)});
  append(code, point_loop(level, t_.index(end), hi));
  return code;
}

}  // namespace twill::nest
