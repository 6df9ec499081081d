// Rows in strips: their values on the way past the caches, and what comes next on the way into them.
#include "emit/stage_nest.h"
#include "program/affine_of.h"
#include "program/index_use.h"

#include <algorithm>

namespace twill::nest {

namespace {

/// Elements collected before they are written past the caches: few enough that the processor reads ahead
/// while it writes.
constexpr std::int64_t strip_bytes = 512;

/// Is one list of subscripts behind another one of equal length, by a known distance?
bool is_behind(std::span<const poly::Affine> a, std::span<const poly::Affine> b) {
  for (std::size_t s = 0; s < a.size(); ++s) {
    const poly::Affine distance = b[s] - a[s];
    if (!distance.is_constant()) return false;
    if (distance.constant() != 0) return distance.constant() > 0;
  }
  return false;
}

}  // namespace

/// A strip of which all points are computed, as many as it has room for.
Code StageNest::full_strip(int level, Expr strip, std::int64_t capacity) {
  const Dim& dim = stage_.dims[levels_[level].dim];
  const DimId lane = t_.new_index(dim.name + "_lane");
  view_lane_ = t_.index(lane);
  fixed_[dim.id] = t_.add(strip, view_lane_);
  interior_ = true;
  interior_index_ = lane;
  Code code = point_loop(level, lane, t_.number(0), t_.number(capacity));
  interior_ = false;
  fixed_.erase(dim.id);
  view_lane_ = {};
  return code;
}

/// When may a strip be computed as if all of it lay in the box? If what its points read is in memory, if not
/// in their own rows, and nothing can fail. Null: never.
Expr StageNest::may_leave_box(int level, std::int64_t capacity) {
  const Role& role = roles_.front();
  const DimId index = stage_.dims[levels_[level].dim].id;
  const Expr width = t_.program()[role.output->array].shape.back();
  if (roles_.size() != 1 || !role.folds.empty() || !role.output->value || role.output->guard ||
      !std::holds_alternative<Formula>(stage_.body) || !stage_.effects.empty())
    return {};
  // Where the row has a point of the box, what does not move along it is read there as well.
  const Dim& dim = stage_.dims[levels_[level].dim];
  Expr when = t_.compare(Prim::Lt, dim.lo, dim.hi);
  bool may = true;
  const auto look = [&](Expr node) {
    const Read* read = as<Read>(node);
    may = may && !as<Invoke>(node) && (read || !is_partial(node, t_.program().functions));
    if (!read || read->rules.empty()) return;
    may = may && std::none_of(node->args.begin(), node->args.end(), reads_data);
    if (!mentions(node, index)) return;
    const std::vector<Expr>& shape = t_.program()[read->array].shape;
    Expr row = t_.number(0), rows = t_.number(1);
    for (std::size_t s = 0; s + 1 < shape.size(); ++s) {
      may = may && !mentions(node->args[s], index);
      row = t_.add(t_.mul(row, shape[s]), node->args[s]);
      rows = t_.mul(rows, shape[s]);
    }
    const Expr rest = t_.substitute(node->args[shape.size() - 1], index, t_.number(0));
    const Literal* shift = as<Literal>(rest);
    may = may && shape.back() == width && factor_of(node->args[shape.size() - 1], index) == 1 && shift &&
          std::abs(shift->value.i) <= capacity &&
          std::all_of(read->rules.begin(), read->rules.end(),
                      [](Boundary rule) { return rule == Boundary::Inside; });
    if (!may || shift->value.i == 0) return;
    when = t_.pool().apply(
        Prim::And, {when, shift->value.i < 0 ? t_.compare(Prim::Lt, t_.number(0), row)
                                             : t_.compare(Prim::Lt, t_.add(row, t_.number(1)), rows)});
  };
  at_all_unrolled(level + 1, [&] { visit(at_point(role.output->value), look); });
  return may ? when : Expr{};
}

/// The loop over a strip. Away from all borders, strips have a known number of points; at the border of a box
/// they have too, and what is outside of it is brought over afterwards.
Code StageNest::whole_strip(int level, Expr strip, Expr end, std::int64_t capacity) {
  if (phases_of(level) > 1) return segmented(level, strip, end);
  const Dim& dim = stage_.dims[levels_[level].dim];
  Interior inside = interior_of(level, strip, end);
  const Expr leaves = over_whole_ && inside.lower.empty() && levels_[level].by != By::Core
                          ? may_leave_box(level, capacity)
                          : Expr{};
  if (over_whole_) {
    inside.lower.push_back(dim.lo);
    inside.upper.push_back(dim.hi);
  }
  if (inside.lower.empty() || levels_[level].by == By::Core) return segmented(level, strip, end);
  Expr whole = t_.compare(Prim::Eq, t_.sub(end, strip), t_.number(capacity));
  if (leaves) {
    whole = t_.pool().apply(Prim::And, {whole, leaves});
  } else {
    Expr lower = inside.lower.front(), upper = inside.upper.front();
    for (Expr e : inside.lower) lower = t_.max(lower, e);
    for (Expr e : inside.upper) upper = t_.min(upper, e);
    whole = t_.pool().apply(Prim::And, {whole, t_.compare(Prim::Le, lower, strip)});
    whole = t_.pool().apply(Prim::And, {whole, t_.compare(Prim::Le, end, upper)});
  }
  If choice{whole, {}, segmented(level, strip, end)};
  choice.then = full_strip(level, strip, capacity);
  if (leaves) {
    append(choice.then, bring_rows(level, strip, t_.min(t_.max(strip, dim.lo), end)));
    append(choice.then, bring_rows(level, t_.max(t_.min(end, dim.hi), strip), end));
  }
  Code code;
  code.push_back({std::move(choice)});
  return code;
}

/// A row in strips: what they write past the caches is collected, and what the next rows read is fetched
/// between them.
Code StageNest::in_strips(int level, Expr lo, Expr hi) {
  const ChainLevel& here = levels_[level];
  const Dim& dim = stage_.dims[here.dim];
  const auto streams = [&](const Role& role) { return !first_pass_ && role.schedule.stream_above >= 0; };
  std::int64_t capacity = strip_bytes;
  for (const Role& role : roles_) {
    if (!streams(role) && !schedule_.ahead) continue;
    const auto size = static_cast<std::int64_t>(byte_size(t_.program()[role.output->array].type));
    capacity = std::min(capacity, std::max<std::int64_t>(64, strip_bytes / size));
  }
  Strips strips{.strip = t_.new_index(dim.name + "_strip"),
                .end = t_.new_index(dim.name + "_end"),
                .lo = lo,
                .hi = hi,
                .capacity = capacity};
  const Expr strip = t_.index(strips.strip);
  for (Role& role : roles_) {
    if (!streams(role)) continue;
    const Array array = t_.program()[role.output->array];
    role.view_origin = strip;
    at_all_rows(role, level + 1, [&] {
      Window window{{}, role.target, {}, role.schedule.stream_above};
      for (Expr e : place(role)) window.at.push_back(t_.substitute(e, dim.id, strip));
      window.view = t_.new_array(array.name + "_strip", array.type, {t_.number(capacity)});
      role.views[copy_in(role)] = window.view;
      strips.windows.push_back(std::move(window));
    });
  }
  strips.body = fetches(level, strip, t_.index(strips.end));
  if (strips.windows.empty() && strips.body.empty()) return segmented(level, lo, hi);
  append(strips.body, whole_strip(level, strip, t_.index(strips.end), capacity));
  for (Role& role : roles_) role.views.clear();
  Code code;
  code.push_back({std::move(strips)});
  return code;
}

/// The rows of arrays in memory that the innermost loop reads along, `shift` points further along the
/// dimension that is read ahead.
std::vector<StageNest::RowRead> StageNest::rows_read(int level, std::int64_t shift) {
  const DimId index = stage_.dims[levels_[level].dim].id;
  const DimId ahead = stage_.dims[schedule_.ahead->dim].id;
  std::vector<RowRead> rows;
  const auto look = [&](Expr node) {
    const Read* read = as<Read>(node);
    if (!read || read->rules.size() < 2 || t_.nest().boxes.contains(read->array)) return;
    const Expr last = node->args[read->rules.size() - 1];
    RowRead row{read->array, {}, {}, {}, factor_of(last, index).value_or(0), read->rules.size()};
    if (row.factor < 1 || reads_data(last)) return;
    for (std::size_t s = 0; s + 1 < read->rules.size(); ++s) {
      const Expr subscript = node->args[s];
      if (mentions(subscript, index) || reads_data(subscript)) return;
      if (row.moves == read->rules.size() && factor_of(subscript, ahead).value_or(0) > 0) row.moves = s;
      row.at.push_back(at_copy(t_.substitute(subscript, ahead, t_.add(t_.index(ahead), t_.number(shift)))));
      const auto affine = affine_of(row.at.back());
      if (!affine) return;
      row.place.push_back(*affine);
    }
    row.first = at_copy(t_.substitute(last, index, t_.number(0)));
    const bool known = std::any_of(rows.begin(), rows.end(), [&](const RowRead& other) {
      return other.array == row.array && other.place == row.place;
    });
    if (row.moves < read->rules.size() && !known) rows.push_back(std::move(row));
  };
  at_all_unrolled(level + 1, [&] { for_each_expr(stage_, [&](Expr root) { visit(root, look); }); });
  return rows;
}

/// Fetches what is read for the first time when the dimension that is read ahead has gone on: the rows beyond
/// all that were read before it gets there, and not those that a loop further out has led to already.
Code StageNest::fetches(int level, Expr strip, Expr end) {
  Code code;
  if (!schedule_.ahead || first_pass_) return code;
  const int dim = schedule_.ahead->dim;
  const std::int64_t step = last_level(dim) > level ? static_cast<std::int64_t>(copies_of(dim).size()) : 1;
  const std::int64_t points = std::max(schedule_.ahead->points, step);
  const std::vector<RowRead> before = rows_read(level, points - step), then = rows_read(level, points);
  for (const RowRead& row : then) {
    const auto around = std::span(row.place).first(row.moves);
    const auto led_to = [&](const RowRead& other) {
      return other.array == row.array && other.moves == row.moves &&
             is_behind(around, std::span(other.place).first(row.moves));
    };
    const auto reached = [&](const RowRead& other) {
      if (other.array != row.array || other.moves != row.moves ||
          !std::ranges::equal(around, std::span(other.place).first(row.moves)))
        return false;
      const poly::Affine distance = other.place[row.moves] - row.place[row.moves];
      return distance.is_constant() && distance.constant() >= 0;
    };
    if (std::any_of(then.begin(), then.end(), led_to) || std::any_of(before.begin(), before.end(), reached))
      continue;
    const std::vector<Expr> shape = t_.program()[row.array].shape;
    const auto inside = [&](Expr subscript, Expr extent) {
      return t_.max(t_.min(subscript, t_.sub(extent, t_.number(1))), t_.number(0));
    };
    Fetch fetch{row.array, {}, {}, schedule_.ahead->above};
    for (std::size_t s = 0; s < row.at.size(); ++s) fetch.at.push_back(inside(row.at[s], shape[s]));
    const Expr factor = t_.number(row.factor);
    fetch.at.push_back(inside(t_.add(t_.mul(factor, strip), row.first), shape.back()));
    fetch.count = t_.min(t_.mul(factor, t_.sub(end, strip)), t_.sub(shape.back(), fetch.at.back()));
    code.push_back({std::move(fetch)});
  }
  return code;
}

}  // namespace twill::nest
