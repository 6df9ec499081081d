// Before and after the loops of a stage: memory, initial values, and how parts meet again.
#include "emit/interior.h"
#include "emit/stage_nest.h"
#include "program/choice.h"

#include <algorithm>

namespace twill::nest {

namespace {

/// Memory for so many times the elements that there will be is not asked for.
constexpr std::int64_t most_points = 8;

/// Ranges that numbers in the program say are no longer than this where memory for all of them is.
constexpr std::int64_t longest = 1 << 24;

/// Is it no more than the lengths of a few arrays together? A product, or a number that somebody computed,
/// may be any number.
bool is_length(Expr e) {
  if (as<SizeRef>(e)) return true;
  if (const Literal* literal = as<Literal>(e)) return literal->value.i <= longest;
  const Apply* apply = as<Apply>(e);
  if (!apply) return false;
  switch (apply->prim) {
    case Prim::Min: return is_length(e->args[0]) || is_length(e->args[1]);
    case Prim::Max:
    case Prim::Add: return is_length(e->args[0]) && is_length(e->args[1]);
    case Prim::Sub: {
      const Literal* less = as<Literal>(e->args[1]);
      return is_length(e->args[0]) && (as<SizeRef>(e->args[1]) || (less && less->value.i >= 0));
    }
    default: return false;
  }
}

Code single(Statement statement) {
  Code code;
  code.push_back(std::move(statement));
  return code;
}

const Scatter* scatter_of(const Output& output) {
  for (const Combine& combine : output.combine) {
    if (const Scatter* scatter = std::get_if<Scatter>(&combine)) return scatter;
  }
  return nullptr;
}

}  // namespace

Expr StageNest::total_points(std::span<const ArrayId> unknown) {
  const auto is_unknown = [&](Expr bound) {
    bool found = false;
    visit(bound, [&](Expr node) {
      const Read* read = as<Read>(node);
      found = found || (read && std::find(unknown.begin(), unknown.end(), read->array) != unknown.end());
    });
    return found;
  };
  Expr total = t_.number(1);
  std::vector<std::pair<DimId, Expr>> middles;  // bounds may depend on indices further out
  for (const Dim& dim : stage_.dims) {
    if (!dim.hi || is_unknown(dim.lo) || is_unknown(dim.hi)) continue;
    Expr lo = dim.lo, hi = dim.hi;
    for (const auto& [index, middle] : middles) {
      if (reads_data(lo) || reads_data(hi)) break;
      lo = t_.substitute(lo, index, middle);
      hi = t_.substitute(hi, index, middle);
    }
    const bool depends = std::any_of(stage_.dims.begin(), stage_.dims.end(), [&](const Dim& other) {
      return mentions(lo, other.id) || mentions(hi, other.id);
    });
    if (depends) continue;
    total = t_.mul(total, t_.sub(hi, lo));
    middles.emplace_back(dim.id, t_.div(t_.add(lo, hi), t_.number(2)));
  }
  return total;
}

Code StageNest::allocate(ArrayId array) {
  if (!around_.needs_memory(array)) return {};
  if (t_.program()[array].rank() == 0) return single({Local{array, {}}});
  return single({Allocate{array, around_.outlives(array)}});
}

Code StageNest::prologue() {
  Code code;
  for (const ChainLevel& level : levels_) {
    if (level.cut.kind != Cut::Kind::Parts || part_) continue;
    part_ = t_.new_index("part");
    const DimId parts = t_.new_index("parts");
    const Expr many = level.cut.count > 0 ? t_.number(level.cut.count) : t_.workers();
    const Expr enough = t_.compare(Prim::Ge, total_points(), t_.number(std::max<std::int64_t>(grain_, 1)));
    code.push_back({Let{parts, t_.pool().select(enough, many, t_.number(1))}});
    parts_ = t_.index(parts);
  }
  for (Role& role : roles_) {
    switch (role.shape) {
      case Shape::Dense: append(code, open_dense(role)); break;
      case Shape::Append: append(code, open_append(role)); break;
      case Shape::Group: append(code, open_group(role)); break;
    }
  }
  return code;
}

Code StageNest::open_dense(Role& role) {
  const Output& output = *role.output;
  const Array array = t_.program()[output.array];
  if (is_chosen(t_.program(), stage_, output)) return await(role);
  Code code = role.runs ? Code{} : allocate(output.array);
  if (role.schedule.merge == How::TwoPass) {
    const Operator& op = std::get<Scan>(output.combine[role.scan_dim]).op;
    role.starts = t_.new_array(array.name + "_starts", op.type, {parts_});
    code.push_back({Allocate{role.starts}});
  }
  const Scatter* scatter = scatter_of(output);
  if (role.schedule.merge == How::Partial) {
    std::vector<Expr> shape{parts_};
    shape.insert(shape.end(), array.shape.begin(), array.shape.end());
    const Type type = role.folds.empty() ? scatter->op->type : role.folds.front().op.type;
    role.partial = t_.new_array(array.name + "_part", type, std::move(shape));
    role.target = role.partial;
    role.prefix = {t_.index(*part_)};
    code.push_back({Allocate{role.partial}});
    return code;
  }
  if (output.into && role.schedule.keep != Keep::Alias) append(code, bring_over(role));
  // What lives inside of shared loops only begins there.
  if (scatter && !output.into && !is_local(role.schedule.keep)) append(code, init_target(role));
  return code;
}

/// What the sides of a choice disagree about is known when one of them was chosen.
Code StageNest::await(const Role& role) {
  Code code;
  for (const ChosenSize& chosen : chosen_sizes(t_.program(), stage_))
    if (static_cast<int>(chosen.output) == role.position) code.push_back({Born{chosen.size}});
  if (around_.is_awaited(role.output->array)) code.push_back({Await{role.output->array}});
  return code;
}

/// The sizes of one side of a choice, and memory for what is copied from it.
Code StageNest::settle(const Block& side, bool then) {
  Code code;
  for (const ChosenSize& chosen : chosen_sizes(t_.program(), stage_))
    code.push_back({SetSize{chosen.size, then ? chosen.then : chosen.otherwise}});
  for (const Role& role : roles_)
    if (is_chosen(t_.program(), stage_, *role.output) && !is_made_there(role, side))
      append(code, allocate(role.output->array));
  return code;
}

/// Has the block computed the output where it belongs?
bool StageNest::is_made_there(const Role& role, const Block& block) const {
  const auto home = t_.nest().memory_of.find(block.results[static_cast<std::size_t>(role.position)]);
  return home != t_.nest().memory_of.end() && home->second == role.output->array;
}

bool StageNest::scatters(const Role& role) const { return scatter_of(*role.output) != nullptr; }

/// A scatter's target before the first value arrives: the operator's identity, or zero.
Code StageNest::init_target(const Role& role) {
  const Scatter* scatter = scatter_of(*role.output);
  const Array array = t_.program()[role.output->array];
  Expr value;
  if (!scatter)
    value = role.folds.front().op.identity;
  else if (scatter->op)
    value = scatter->op->identity;
  else
    value = zero_of(array.type);
  return over_elements(t_, "e", array.shape, [&](std::vector<Expr> indices) {
    std::vector<Expr> at = role.prefix;
    at.insert(at.end(), indices.begin(), indices.end());
    return single(t_.put(role.target, at, value));
  });
}

Expr StageNest::zero_of(const Type& type) {
  if (type.is_scalar()) return t_.pool().literal(convert(Number::of(Scalar::I64, 0), type.scalar()));
  std::vector<Expr> fields;
  for (const Field& field : type.record().fields) fields.push_back(zero_of(field.type));
  return t_.pool().make(type, std::move(fields));
}

/// Does every point write its own element of a box of the array, so that only the rest must be brought over?
bool StageNest::writes_box(const Role& role) const {
  const Output& output = *role.output;
  if (output.guard || scatter_of(output) || !role.checked.empty()) return false;
  if (!role.folds.empty() && role.folds.front().in_memory) return false;
  // A fold over nothing leaves its element as it was.
  const bool replaces = !role.folds.empty() && output.into && !output.accumulates && role.scan_dim < 0;
  for (std::size_t d = 0; d < stage_.dims.size() && replaces; ++d) {
    const Literal *lo = as<Literal>(stage_.dims[d].lo), *hi = as<Literal>(stage_.dims[d].hi);
    if (is<Fold>(output.combine[d]) && !(lo && hi && lo->value.i < hi->value.i)) return false;
  }
  std::vector<bool> used(stage_.dims.size(), false);
  for (Expr at : output.at) {
    bool found = false;
    for (std::size_t d = 0; d < stage_.dims.size(); ++d) {
      if (at != Expr{} && as<IndexRef>(at) && as<IndexRef>(at)->dim == stage_.dims[d].id && !used[d]) {
        used[d] = found = true;
      }
    }
    if (!found) return false;
  }
  for (std::size_t d = 0; d < stage_.dims.size(); ++d) {
    if (!used[d]) continue;
    // What decides it may be known in an iteration only.
    if (shared_levels_ > 0 && (reads_data(stage_.dims[d].lo) || reads_data(stage_.dims[d].hi))) return false;
    for (const Dim& other : stage_.dims) {
      if (mentions(stage_.dims[d].lo, other.id) || mentions(stage_.dims[d].hi, other.id)) return false;
    }
  }
  return std::holds_alternative<Formula>(stage_.body) && !output.at.empty();
}

/// The box of the target that the points write, by dimension of the target. An empty one may lie outside.
std::vector<StageNest::Range> StageNest::box_of(const Role& role) {
  std::vector<Range> box;
  for (std::size_t a = 0; a < role.output->at.size(); ++a) {
    const Expr extent = t_.program()[role.output->array].shape[a];
    for (const Dim& dim : stage_.dims) {
      if (as<IndexRef>(role.output->at[a])->dim != dim.id) continue;
      const Expr lo = t_.min(dim.lo, extent);
      box.push_back({lo, t_.max(lo, dim.hi)});
    }
  }
  return box;
}

/// Can the loops run over the whole array, with the box as the part that is computed?
bool StageNest::can_loop_over_whole() const {
  if (roles_.size() != 1 || point_level_ < 0 || shared_levels_ > 0 || levels_[point_level_].cut != Cut{})
    return false;
  const Role& role = roles_.front();
  if (!role.output->into || role.schedule.keep == Keep::Alias || role.tile_loop >= 0 || !writes_box(role))
    return false;
  if (as<IndexRef>(role.output->at.back())->dim != stage_.dims[levels_[point_level_].dim].id) return false;
  return std::all_of(levels_.begin(), levels_.end(), [&](const ChainLevel& level) {
    // Unrolled are folds, and rows in pieces: a piece is in the box as a whole, or one row after the other.
    return level.by != By::Unroll ? is<Cat>(role.output->combine[level.dim])
                                  : is<Fold>(role.output->combine[level.dim]) || piece_level(level.dim) >= 0;
  });
}

/// Elements lo up to hi of a row, from the old version.
Statement StageNest::bring_row(const Role& role, std::vector<Expr> row, Expr lo, Expr hi) {
  For loop{.index = t_.new_index("e"), .lo = lo, .hi = hi, .by = By::Simd};
  row.push_back(t_.index(loop.index));
  const Expr old = t_.read(*role.output->into, row);
  if (const ArrayId view = view_of(role))
    loop.body = single(t_.put(view, {t_.sub(t_.index(loop.index), role.view_origin)}, old));
  else
    loop.body = single(t_.put(role.output->array, row, old));
  return {std::move(loop)};
}

/// The same of the rows of all copies inside of a loop.
Code StageNest::bring_rows(int level, Expr lo, Expr hi) {
  const Role& role = roles_.front();
  Code code;
  at_all_rows(role, level + 1, [&] {
    std::vector<Expr> row = place(role);
    row.pop_back();
    code.push_back(bring_row(role, std::move(row), lo, hi));
  });
  return code;
}

/// What stays unchanged of the array that this output is a new version of.
Code StageNest::bring_over(Role& role) {
  const ArrayId from = *role.output->into, to = role.output->array;
  if (!writes_box(role)) return single({Copy{to, from}});
  const std::vector<Expr> shape = t_.program()[to].shape;
  if (can_loop_over_whole()) {
    over_whole_ = true;
    for (std::size_t a = 0; a < shape.size(); ++a) {
      for (std::size_t d = 0; d < stage_.dims.size(); ++d) {
        if (as<IndexRef>(role.output->at[a])->dim == stage_.dims[d].id) ranges_[d] = {t_.number(0), shape[a]};
      }
    }
    return {};
  }
  const std::vector<Range> box = box_of(role);
  const std::size_t last = shape.size() - 1;
  return over_elements(t_, "r", std::span(shape).first(last), [&](std::vector<Expr> row) {
    Code ends;
    ends.push_back(bring_row(role, row, t_.number(0), box[last].lo));
    ends.push_back(bring_row(role, row, box[last].hi, shape[last]));
    if (last == 0) return ends;
    Expr inside;
    for (std::size_t d = 0; d < last; ++d) {
      const Expr within = t_.pool().apply(
          Prim::And, {t_.compare(Prim::Le, box[d].lo, row[d]), t_.compare(Prim::Lt, row[d], box[d].hi)});
      inside = inside ? t_.pool().apply(Prim::And, {inside, within}) : within;
    }
    return single({If{inside, std::move(ends), single(bring_row(role, row, t_.number(0), shape[last]))}});
  });
}

Code StageNest::open_append(Role& role) {
  const Output& output = *role.output;
  Code code;
  if (role.grows) {
    role.buckets = new_buckets(role, "");
    if (role.counts_for < 0)
      code.push_back({Born{as<SizeRef>(t_.program()[output.array].shape.front())->symbol}});
    append(code, part_ ? open_shelf(role) : open_buckets(role));
    if (part_ && role.counts_for < 0) append(code, open_starts(role));
    return code;
  }
  if (role.counts_for >= 0) return code;
  if (role.sliced) return open_slices(role);
  code.push_back({Born{as<SizeRef>(t_.program()[output.array].shape.front())->symbol}});
  if (output.offsets) {
    append(code, allocate(*output.offsets));
    code.push_back(t_.put(*output.offsets, {t_.number(0)}, t_.number(0)));
  } else {
    append(code, open_starts(role));
  }
  return code;
}

/// For how many elements each part has, and then for where they begin; or for how many there are.
Code StageNest::open_starts(Role& role) {
  const std::string name = t_.program()[role.output->array].name + "_starts";
  if (part_) {
    role.starts = t_.new_array(name, Scalar::I64, {parts_});
    return single({Allocate{role.starts}});
  }
  role.starts = t_.new_variable(name, Scalar::I64);
  return single({Local{role.starts, t_.number(0)}});
}

/// After counting: where each part or row starts, the length, and memory for it.
Code StageNest::join_counts(Role& role) {
  if (role.counts_for >= 0) return {};
  const Output& output = *role.output;
  const Array array = t_.program()[output.array];
  Code code;
  if (output.offsets) {
    const Expr rows = t_.sub(t_.program()[*output.offsets].shape.front(), t_.number(1));
    For sum{.index = t_.new_index("row"), .lo = t_.number(0), .hi = rows};
    const Expr row = t_.index(sum.index);
    sum.body.push_back(t_.accumulate(*output.offsets, {t_.add(row, t_.number(1))},
                                     t_.read(*output.offsets, {row}), t_.plus()));
    code.push_back({std::move(sum)});
    append(code, set_length(role, t_.read(*output.offsets, {rows})));
  } else if (part_) {
    const ArrayId total = t_.new_variable(array.name + "_total", Scalar::I64);
    code.push_back({Local{total, t_.number(0)}});
    code.push_back(starts_from_counts(role, total));
    append(code, set_length(role, t_.read(total)));
  } else {
    append(code, set_length(role, t_.read(role.starts)));
  }
  return code;
}

/// From how many elements each part has to where they begin; `total` is 0 before, and all of them after.
Statement StageNest::starts_from_counts(const Role& role, ArrayId total) {
  const DimId count = t_.new_index("count");
  For sum{.index = t_.new_index("p"), .lo = t_.number(0), .hi = parts_};
  sum.body.push_back({Let{count, t_.read(role.starts, {t_.index(sum.index)})}});
  sum.body.push_back(t_.put(role.starts, {t_.index(sum.index)}, t_.read(total)));
  sum.body.push_back(t_.accumulate(total, {}, t_.index(count), t_.plus()));
  return {std::move(sum)};
}

/// The length of what is appended to, and memory for it and for all that has the same.
Code StageNest::set_length(const Role& role, Expr length) {
  Code code;
  code.push_back({SetSize{as<SizeRef>(t_.program()[role.output->array].shape.front())->symbol, length}});
  append(code, allocate(role.output->array));
  for (const Role& other : roles_)
    if (other.counts_for == role.position) append(code, allocate(other.output->array));
  return code;
}

/// After loops that write once: how many there are, and where those of each part belong.
Code StageNest::length_of_parts(const Role& role) {
  if (role.counts_for >= 0) return {};
  Expr length = role.grows ? t_.read(role.buckets.values_count) : t_.read(role.starts);
  Code code;
  if (part_) {
    const ArrayId total = t_.new_variable(t_.program()[role.output->array].name + "_total", Scalar::I64);
    code.push_back({Local{total, t_.number(0)}});
    code.push_back(starts_from_counts(role, total));
    length = t_.read(total);
  }
  if (role.grows)
    append(code, set_length(role, length));
  else
    code.push_back({SetSize{as<SizeRef>(t_.program()[role.output->array].shape.front())->symbol, length}});
  return code;
}

/// The most elements that an iteration of the outermost loop appends, if they are few and all iterations are
/// known; otherwise 0. Then there is memory for all before the loops: what is not written to costs nothing.
std::int64_t StageNest::points_of_iteration(const Output& output) const {
  if (stage_.dims.empty() || !is<Append>(output.combine[0]) || !is_length(stage_.dims[0].hi)) return 0;
  const Literal* first = as<Literal>(stage_.dims[0].lo);
  if (!first || first->value.i < 0) return 0;
  std::int64_t points = 1;
  for (std::size_t d = 1; d < stage_.dims.size(); ++d) {
    if (is<Fold>(output.combine[d])) continue;
    const Literal *lo = as<Literal>(stage_.dims[d].lo), *hi = as<Literal>(stage_.dims[d].hi);
    if (!lo || !hi || lo->value.i < -longest || hi->value.i > longest) return 0;
    if (hi->value.i - lo->value.i > most_points) return 0;
    points *= std::max<std::int64_t>(1, hi->value.i - lo->value.i);
    if (points > most_points) return 0;
  }
  return points;
}

/// Where the elements begin that are appended from an index of the outermost dimension on.
Expr StageNest::start_of_slice(const Role& role, Expr first) {
  if (first == stage_.dims[0].lo) return t_.number(0);
  return t_.mul(t_.sub(first, stage_.dims[0].lo), t_.number(points_of_iteration(*role.output)));
}

/// Memory for as many elements as there can be. One part writes where they stay; several write to slices of
/// other memory, from which the elements are copied.
Code StageNest::open_slices(Role& counter) {
  const Dim& dim = stage_.dims[0];
  const Expr most = start_of_slice(counter, t_.max(dim.lo, dim.hi));
  Code code;
  code.push_back({Born{as<SizeRef>(t_.program()[counter.output->array].shape.front())->symbol}});
  append(code, set_length(counter, most));
  append(code, open_starts(counter));
  if (!part_) return code;
  const Expr several = t_.compare(Prim::Gt, parts_, t_.number(1));
  for (Role& role : roles_) {
    if (&role != &counter && role.counts_for != counter.position) continue;
    const Array array = t_.program()[role.output->array];
    role.slices =
        t_.new_array(array.name + "_slices", array.type, {t_.pool().select(several, most, t_.number(0))});
    role.target = t_.new_array(array.name + "_place", array.type, {most});
    code.push_back({Allocate{role.slices}});
    code.push_back({Choose{role.target, several, role.slices, role.output->array}});
  }
  return code;
}

/// What parts have written to their slices goes where it belongs.
Code StageNest::join_slices(const Role& role) {
  if (!part_) return {};
  const Dim& dim = stage_.dims[0];
  const Role& counter = role.counts_for < 0 ? role : roles_[static_cast<std::size_t>(role.counts_for)];
  const Expr several = t_.compare(Prim::Gt, parts_, t_.number(1));
  const SymbolId length = as<SizeRef>(t_.program()[role.output->array].shape.front())->symbol;
  For part{.index = t_.new_index("p"), .lo = t_.number(0), .hi = parts_, .by = By::Core};
  const Expr p = t_.index(part.index), next = t_.add(p, t_.number(1));
  const Expr end = t_.pool().select(t_.compare(Prim::Lt, next, parts_),
                                    t_.read(counter.starts, {t_.min(next, t_.sub(parts_, t_.number(1)))}),
                                    t_.pool().size(length));
  For each{.index = t_.new_index("e"), .lo = t_.read(counter.starts, {p}), .hi = end, .by = By::Simd};
  const DimId shift = t_.new_index("shift");
  const Expr from = start_of_slice(counter, t_.start_of_part(dim.lo, dim.hi, p, parts_));
  part.body.push_back({Let{shift, t_.sub(from, t_.read(counter.starts, {p}))}});
  const Expr e = t_.index(each.index);
  each.body.push_back(t_.put(role.output->array, {e}, t_.read(role.slices, {t_.add(e, t_.index(shift))})));
  part.body.push_back({std::move(each)});
  If copy{several, {}, {}};
  copy.then.push_back({std::move(part)});
  Code code;
  code.push_back({std::move(copy)});
  code.push_back({Free{role.slices}});
  return code;
}

/// What the buffers hold, one after the other.
Code StageNest::join_buffers(const Role& role) {
  const ArrayId array = role.output->array;
  const auto copy = [&](const Buckets& from, Expr start) {
    For each{
        .index = t_.new_index("e"), .lo = t_.number(0), .hi = t_.read(from.values_count), .by = By::Simd};
    const Expr e = t_.index(each.index);
    each.body.push_back(t_.put(array, {t_.add(start, e)}, t_.read(from.values, {e})));
    return single({std::move(each)});
  };
  if (!role.shelf) {
    Code code = copy(role.buckets, t_.number(0));
    code.push_back({Free{role.buckets.values}});
    return code;
  }
  const Role& counter = role.counts_for < 0 ? role : roles_[static_cast<std::size_t>(role.counts_for)];
  // All cores copy; then one gives the memory back.
  const auto each_part = [&](By by) {
    const Buckets theirs = new_buckets(role, "_part");
    For loop{.index = t_.new_index("p"), .lo = t_.number(0), .hi = parts_, .by = by};
    const Expr p = t_.index(loop.index);
    if (by == By::Core) loop.enough = t_.compare(Prim::Gt, parts_, t_.number(1));
    const ArrayId length = by == By::Core ? theirs.values_count : ArrayId{};
    loop.body.push_back({Unshelve{theirs.values, length, role.shelf, on_board(p, values_at)}});
    append(loop.body,
           by == By::Core ? copy(theirs, t_.read(counter.starts, {p})) : single({Free{theirs.values}}));
    return Statement{std::move(loop)};
  };
  Code code;
  code.push_back(each_part(By::Core));
  code.push_back(each_part(By::Seq));
  code.push_back({Free{role.shelf}});
  return code;
}

/// After the first pass of a scan: the running fold of the parts' totals, before each part.
Code StageNest::join_totals(Role& role) {
  const Scan& scan = std::get<Scan>(role.output->combine[role.scan_dim]);
  const std::string name = t_.program()[role.output->array].name;
  const ArrayId run = t_.new_variable(name + "_before", scan.op.type);
  const ArrayId total = t_.new_variable(name + "_total", scan.op.type);
  Code code;
  code.push_back({Local{run, scan.op.identity}});
  const bool right = scan.from == Direction::Right;
  const Expr last = t_.sub(parts_, t_.number(1));
  For join{
      .index = t_.new_index("p"), .lo = t_.number(right ? 1 : 0), .hi = right ? parts_ : last, .down = right};
  const Expr p = t_.index(join.index);
  join.body.push_back({Local{total, t_.read(role.starts, {p})}});
  join.body.push_back(t_.put(role.starts, {p}, t_.read(run)));
  join.body.push_back(t_.accumulate(run, {}, t_.read(total), scan.op));
  code.push_back({std::move(join)});
  code.push_back(t_.put(role.starts, {right ? t_.number(0) : last}, t_.read(run)));
  return code;
}

Code StageNest::join_partials(Role& role) {
  const Output& output = *role.output;
  const Array array = t_.program()[output.array];
  const Operator& op = role.folds.empty() ? *scatter_of(output)->op : role.folds.front().op;
  const ArrayId joined = t_.new_variable(array.name + "_joined", op.type);
  Code code = over_elements(t_, "e", array.shape, [&](std::vector<Expr> indices) {
    Code element;
    const Expr start =
        output.accumulates ? t_.pool().cast(op.type, t_.read(*output.into, indices)) : op.identity;
    element.push_back({Local{joined, start}});
    For parts{.index = t_.new_index("p"), .lo = t_.number(0), .hi = parts_};
    std::vector<Expr> at{t_.index(parts.index)};
    at.insert(at.end(), indices.begin(), indices.end());
    parts.body.push_back(t_.accumulate(joined, {}, t_.read(role.partial, at), op));
    element.push_back({std::move(parts)});
    element.push_back(t_.put(output.array, indices, t_.read(joined)));
    return element;
  });
  code.push_back({Free{role.partial}});
  return code;
}

Code StageNest::epilogue() {
  Code code;
  const auto once = [](const Role& role) { return role.grows || role.sliced; };
  // A part that failed has left nothing.
  if (part_ && std::ranges::any_of(roles_, once)) code.push_back({Stop{}});
  for (const Role& role : roles_)
    if (once(role)) append(code, length_of_parts(role));
  for (Role& role : roles_) {
    if (role.grows) append(code, join_buffers(role));
    if (role.sliced) append(code, join_slices(role));
    if (role.shape == Shape::Group && role.shelf && role.table_of < 0) append(code, join_groups(role));
    if (role.shape == Shape::Group) append(code, finish_group(role));
    if (role.partial) append(code, join_partials(role));
    if (role.starts && t_.program()[role.starts].rank() > 0) code.push_back({Free{role.starts}});
  }
  code.push_back({Stop{}});
  return code;
}

}  // namespace twill::nest
