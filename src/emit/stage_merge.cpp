// Before and after the loops of a stage: memory, initial values, and how parts meet again.
#include "emit/interior.h"
#include "emit/stage_nest.h"

#include <algorithm>

namespace twill::nest {

namespace {

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
  Code code = allocate(output.array);
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
  if (role.counts_for >= 0) return code;
  code.push_back({Born{as<SizeRef>(t_.program()[output.array].shape.front())->symbol}});
  const std::string name = t_.program()[output.array].name + "_starts";
  if (output.offsets) {
    append(code, allocate(*output.offsets));
    code.push_back(t_.put(*output.offsets, {t_.number(0)}, t_.number(0)));
  } else if (part_) {
    role.starts = t_.new_array(name, Scalar::I64, {parts_});
    code.push_back({Allocate{role.starts}});
  } else {
    role.starts = t_.new_variable(name, Scalar::I64);
    code.push_back({Local{role.starts, t_.number(0)}});
  }
  return code;
}

/// After counting: where each part or row starts, the length, and memory for it.
Code StageNest::join_counts(Role& role) {
  if (role.counts_for >= 0) return {};
  const Output& output = *role.output;
  const Array array = t_.program()[output.array];
  const SymbolId length = as<SizeRef>(array.shape.front())->symbol;
  const Operator plus{Scalar::I64, Prim::Add, {}, t_.number(0), true, true};
  Code code;
  if (output.offsets) {
    const Expr rows = t_.sub(t_.program()[*output.offsets].shape.front(), t_.number(1));
    For sum{.index = t_.new_index("row"), .lo = t_.number(0), .hi = rows};
    const Expr row = t_.index(sum.index);
    sum.body.push_back(
        t_.accumulate(*output.offsets, {t_.add(row, t_.number(1))}, t_.read(*output.offsets, {row}), plus));
    code.push_back({std::move(sum)});
    code.push_back({SetSize{length, t_.read(*output.offsets, {rows})}});
  } else if (part_) {
    const ArrayId total = t_.new_variable(array.name + "_total", Scalar::I64);
    const DimId count = t_.new_index("count");
    code.push_back({Local{total, t_.number(0)}});
    For sum{.index = t_.new_index("p"), .lo = t_.number(0), .hi = parts_};
    sum.body.push_back({Let{count, t_.read(role.starts, {t_.index(sum.index)})}});
    sum.body.push_back(t_.put(role.starts, {t_.index(sum.index)}, t_.read(total)));
    sum.body.push_back(t_.accumulate(total, {}, t_.index(count), plus));
    code.push_back({std::move(sum)});
    code.push_back({SetSize{length, t_.read(total)}});
  } else {
    code.push_back({SetSize{length, t_.read(role.starts)}});
  }
  append(code, allocate(output.array));
  for (const Role& other : roles_)
    if (other.counts_for == role.position) append(code, allocate(other.output->array));
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
  For join{
      .index = t_.new_index("p"), .lo = t_.number(0), .hi = parts_, .down = scan.from == Direction::Right};
  const Expr p = t_.index(join.index);
  join.body.push_back({Local{total, t_.read(role.starts, {p})}});
  join.body.push_back(t_.put(role.starts, {p}, t_.read(run)));
  join.body.push_back(t_.accumulate(run, {}, t_.read(total), scan.op));
  code.push_back({std::move(join)});
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
  for (Role& role : roles_) {
    if (role.shelf && role.table_of < 0) append(code, join_groups(role));
    if (role.shape == Shape::Group) append(code, finish_group(role));
    if (role.partial) append(code, join_partials(role));
    if (role.starts && t_.program()[role.starts].rank() > 0) code.push_back({Free{role.starts}});
  }
  code.push_back({Stop{}});
  return code;
}

}  // namespace twill::nest
