// Dimensions that are cut into pieces of known size: their points are written out or become lanes, with other
// code where a piece is not whole; and tiles of accumulators that are held in local variables.
#include "emit/stage_nest.h"

#include "base/memory.h"

#include <algorithm>
#include <numeric>

namespace twill::nest {

/// The loop over the points of a dimension.
int StageNest::last_level(int dim) const {
  int last = -1;
  for (int l = 0; l < static_cast<int>(levels_.size()); ++l) {
    if (levels_[l].dim == dim) last = l;
  }
  return last;
}

/// The innermost loop in steps over a dimension that has one.
int StageNest::piece_level(int dim) const {
  int found = -1;
  for (int l = 0; l < last_level(dim); ++l) {
    if (levels_[l].dim == dim) found = l;
  }
  return found;
}

/// Is this the innermost loop in steps over a dimension whose points are unrolled, or held in a tile?
bool StageNest::cuts_pieces(int level) const {
  const ChainLevel& here = levels_[level];
  if (here.cut.kind != Cut::Kind::Step || here.cut.count == 1) return false;
  if (piece_level(here.dim) != level) return false;
  const int points = last_level(here.dim);
  if (levels_[points].by == By::Unroll) return true;
  return std::any_of(roles_.begin(), roles_.end(), [&](const Role& role) {
    return role.tile_loop >= level && points > role.tile_loop && is<Cat>(role.output->combine[here.dim]);
  });
}

bool StageNest::has_copies(int level) const {
  return levels_[last_level(levels_[level].dim)].by == By::Unroll;
}

/// Loops in steps stand around each other, and what is inside of them once for whole pieces, once for others.
bool StageNest::splits_before(int level) const {
  if (cut_.empty()) return false;
  if (level == static_cast<int>(levels_.size()) || levels_[level].cut == Cut{}) return true;
  return std::any_of(roles_.begin(), roles_.end(),
                     [&](const Role& role) { return role.tile_loop >= 0 && role.tile_loop + 1 == level; });
}

Code StageNest::split(int level) {
  std::vector<int> copies, wide;
  for (int dim : std::exchange(cut_, {}))
    (levels_[last_level(dim)].by == By::Unroll ? copies : wide).push_back(dim);
  return split_copies(std::move(copies), std::move(wide), level);
}

/// When the copies of a whole piece can be written side by side, beyond that it is whole: all of its rows are
/// in the box that is computed. Null: always.
Expr StageNest::rows_belong_together(int dim) {
  if (!over_whole_) return {};
  return t_.pool().apply(Prim::And, {t_.compare(Prim::Le, stage_.dims[dim].lo, ranges_[dim].lo),
                                     t_.compare(Prim::Le, ranges_[dim].hi, stage_.dims[dim].hi)});
}

/// As many copies as the pieces have points or, if one of them is not whole, one point after the other.
Code StageNest::split_copies(std::vector<int> copies, std::vector<int> wide, int level) {
  if (copies.empty()) return split_lanes(std::move(wide), level);
  const std::map<int, Piece> before = pieces_;
  Expr fits;
  for (int dim : copies) {
    const Range range = ranges_[dim];
    const std::int64_t count = levels_[piece_level(dim)].cut.count;
    const Expr whole = t_.compare(Prim::Eq, t_.sub(range.hi, range.lo), t_.number(count));
    fits = fits ? t_.pool().apply(Prim::And, {fits, whole}) : whole;
    if (const Expr together = rows_belong_together(dim)) fits = t_.pool().apply(Prim::And, {fits, together});
    pieces_[dim] = {Piece::Kind::Whole, range.lo, {}, count, {}};
  }
  If choice{fits, {}, {}};
  if (whole_) choice.then = split_lanes(wide, level);
  const bool whole = std::exchange(whole_, false);
  for (int dim : copies) pieces_[dim].kind = Piece::Kind::Single;
  std::map<int, Range> ranges;
  for (int dim : copies) {
    ranges[dim] = ranges_[dim];
    const Expr index = t_.index(stage_.dims[dim].id);
    ranges_[dim] = {index, t_.add(index, t_.number(1))};
  }
  choice.otherwise = split_lanes(std::move(wide), level);
  for (std::size_t c = copies.size(); c-- > 0;) {
    const int dim = copies[c];
    For loop{.index = stage_.dims[dim].id, .lo = ranges[dim].lo, .hi = ranges[dim].hi};
    loop.body = std::exchange(choice.otherwise, {});
    choice.otherwise.push_back({std::move(loop)});
    ranges_[dim] = ranges[dim];
  }
  pieces_ = before;
  whole_ = whole;
  if (!whole) return std::move(choice.otherwise);
  Code code;
  code.push_back({std::move(choice)});
  return code;
}

/// May the points of a dimension be visited twice, by one worker?
bool StageNest::can_repeat(int dim) const {
  return levels_[piece_level(dim)].by != By::Core &&
         std::all_of(roles_.begin(), roles_.end(), [&](const Role& role) {
           const bool adds = !role.folds.empty() && role.folds.front().in_memory;
           return is<Cat>(role.output->combine[dim]) && !adds && role.schedule.keep != Keep::Alias &&
                  !role.read_back;
         });
}

/// A piece that is not whole moves back to where it is, if there is room and its points may be visited twice;
/// otherwise its lanes are fewer.
Code StageNest::split_lanes(std::vector<int> wide, int level) {
  if (wide.empty()) return from(level);
  const int dim = wide.back();
  wide.pop_back();
  const std::int64_t count = levels_[piece_level(dim)].cut.count;
  const std::string& name = stage_.dims[dim].name;
  const Range range = ranges_[dim];
  Code code;
  Expr base = range.lo;
  if (can_repeat(dim)) {
    const DimId moved = t_.new_index(name + "_from");
    const Range around = around_piece_.at(dim);
    code.push_back({Let{moved, t_.max(around.lo, t_.min(base, t_.sub(around.hi, t_.number(count))))}});
    base = t_.index(moved);
  }
  const DimId points = t_.new_index(name + "_points");
  code.push_back({Let{points, t_.sub(range.hi, base)}});
  const Piece whole{Piece::Kind::Whole, base, t_.number(count), count, {}};
  const std::map<int, Piece> before = pieces_;
  If choice{t_.compare(Prim::Eq, t_.index(points), t_.number(count)), {}, {}};
  pieces_[dim] = whole;
  choice.then = split_lanes(wide, level);
  const bool was_whole = std::exchange(whole_, false);
  pieces_[dim].kind = Piece::Kind::Narrow;
  pieces_[dim].points = t_.index(points);
  choice.otherwise = split_lanes(wide, level);
  whole_ = was_whole;
  pieces_ = before;
  code.push_back({std::move(choice)});
  return code;
}

/// Where something around is not whole already, copies are not worth their code.
Code StageNest::one_by_one(int level) {
  const int dim = levels_[level].dim;
  const Range range = ranges_[dim];
  For loop{.index = stage_.dims[dim].id, .lo = range.lo, .hi = range.hi, .by = levels_[level].by};
  const Expr index = t_.index(loop.index);
  pieces_[dim] = {Piece::Kind::Single, {}, {}, 1, {}};
  ranges_[dim] = {index, t_.add(index, t_.number(1))};
  loop.body = from(level + 1);
  ranges_[dim] = range;
  pieces_.erase(dim);
  Code code;
  code.push_back({std::move(loop)});
  return code;
}

/// What the index of an unrolled dimension stands for in each copy.
std::vector<Expr> StageNest::copies_of(int dim) {
  std::vector<Expr> values;
  const auto piece = pieces_.find(dim);
  if (piece == pieces_.end()) {
    const std::int64_t lo = as<Literal>(ranges_[dim].lo)->value.i, hi = as<Literal>(ranges_[dim].hi)->value.i;
    for (std::int64_t i = lo; i < hi; ++i) values.push_back(t_.number(i));
  } else if (piece->second.kind == Piece::Kind::Single) {
    values.push_back(t_.index(stage_.dims[dim].id));
  } else {
    for (std::int64_t i = 0; i < piece->second.count; ++i)
      values.push_back(t_.add(piece->second.base, t_.number(i)));
  }
  return values;
}

bool StageNest::in_lanes(int level) const {
  return levels_[level].cut == Cut{} && pieces_.contains(levels_[level].dim) &&
         levels_[level].by != By::Unroll;
}

/// The points of a piece, counted from 0.
Code StageNest::lanes(int level) {
  const int dim = levels_[level].dim;
  Piece& piece = pieces_.at(dim);
  const DimId own = stage_.dims[dim].id;
  piece.lane = t_.new_index(stage_.dims[dim].name + "_lane");
  const Expr value = fixed_[own] = t_.add(piece.base, t_.index(piece.lane));
  const std::vector<Range> ranges = ranges_;
  for (Range& range : ranges_) {
    // Bounds of loops inside may depend on this index.
    if (range.lo) range.lo = t_.substitute(range.lo, own, value);
    if (range.hi) range.hi = t_.substitute(range.hi, own, value);
  }
  Code code = settle_rules(level, piece.lane);
  append(code, point_loop(level, piece.lane, t_.number(0), piece.points));
  if (level == point_level_) settled_.clear();
  ranges_ = ranges;
  fixed_.erase(own);
  return code;
}

/// For every element of the role's tile: loops over its lanes, and in them all copies.
Code StageNest::over_tile(const Role& role, const std::function<Code()>& body) {
  std::vector<int> wide, copies;
  for (int l = role.tile_loop + 1; l < static_cast<int>(levels_.size()); ++l) {
    const int dim = levels_[l].dim;
    if (is<Cat>(role.output->combine[dim])) (levels_[l].by == By::Unroll ? copies : wide).push_back(dim);
  }
  std::vector<For> loops;
  for (int dim : wide) {
    For loop{.index = t_.new_index(stage_.dims[dim].name + "_lane"), .lo = t_.number(0)};
    Piece& piece = pieces_.at(dim);
    loop.hi = piece.points;
    piece.lane = loop.index;
    fixed_[stage_.dims[dim].id] = t_.add(piece.base, t_.index(piece.lane));
    loops.push_back(std::move(loop));
  }
  Code code;
  const std::function<void(std::size_t)> each_copy = [&](std::size_t c) {
    if (c == copies.size()) return append(code, body());
    const int dim = copies[c];
    copy_[dim] = 0;
    for (Expr value : copies_of(dim)) {
      fixed_[stage_.dims[dim].id] = value;
      each_copy(c + 1);
      ++copy_[dim];
    }
    fixed_.erase(stage_.dims[dim].id);
    copy_.erase(dim);
  };
  each_copy(0);
  for (int dim : wide) fixed_.erase(stage_.dims[dim].id);
  for (std::size_t l = loops.size(); l-- > 0;) {
    loops[l].by = l + 1 == loops.size() ? By::Simd : By::Seq;
    loops[l].body = std::exchange(code, {});
    code.push_back({std::move(loops[l])});
  }
  return code;
}

/// The numbers of the copies of the tile's dimensions that are being written.
std::vector<std::int64_t> StageNest::copy_in(const Role& role) const {
  std::vector<std::int64_t> numbers;
  for (const auto& [dim, number] : copy_) {
    if (last_level(dim) > role.tile_loop && is<Cat>(role.output->combine[dim])) numbers.push_back(number);
  }
  return numbers;
}

/// Where in a variable of the tile the current point is.
std::vector<Expr> StageNest::lane_in(const Role& role) {
  std::vector<Expr> at;
  for (int l = role.tile_loop + 1; l < static_cast<int>(levels_.size()); ++l) {
    const int dim = levels_[l].dim;
    if (is<Cat>(role.output->combine[dim]) && levels_[l].by != By::Unroll)
      at.push_back(t_.index(pieces_.at(dim).lane));
  }
  return at;
}

/// Declares the variables of a tile: they start with the operator's identity, with the element that they
/// continue, or with what loops outside of the tile have accumulated.
Code StageNest::open_tile(Role& role) {
  const FoldGroup& group = role.folds.front();
  const std::string name = t_.program()[role.output->array].name + "_held";
  std::vector<Expr> shape;
  for (int l = role.tile_loop + 1; l < static_cast<int>(levels_.size()); ++l) {
    const int dim = levels_[l].dim;
    if (!is<Cat>(role.output->combine[dim]) || levels_[l].by == By::Unroll) continue;
    if (!pieces_.contains(dim)) {
      // Not cut: all of a known number of points.
      const std::int64_t count =
          as<Literal>(ranges_[dim].hi)->value.i - as<Literal>(ranges_[dim].lo)->value.i;
      pieces_[dim] = {Piece::Kind::Whole, ranges_[dim].lo, t_.number(count), count, {}};
    }
    shape.push_back(t_.number(std::max<std::int64_t>(1, pieces_.at(dim).count)));
  }
  const auto start = [&] {
    if (group.in_memory) return t_.read(role.target, place(role));
    if (role.output->accumulates && !role.partial) return t_.pool().cast(group.op.type, old_value(role));
    return group.op.identity;
  };
  role.held.clear();
  Code declared;
  Code code = over_tile(role, [&] {
    std::string numbered = name;
    for (const std::int64_t number : copy_in(role)) numbered += "_" + std::to_string(number);
    const ArrayId variable = t_.new_array(numbered, group.op.type, shape);
    role.held[copy_in(role)] = variable;
    declared.push_back({Local{variable, shape.empty() ? start() : Expr{}}});
    Code first;
    if (!shape.empty()) first.push_back(t_.put(variable, lane_in(role), start()));
    return first;
  });
  append(declared, std::move(code));
  return declared;
}

Code StageNest::close_tile(Role& role) {
  Code code = over_tile(role, [&] {
    Code store;
    const Expr value = t_.read(role.held.at(copy_in(role)), lane_in(role));
    store.push_back(view_of(role) ? into_view(role, value) : t_.put(role.target, place(role), value));
    return store;
  });
  const Expr replaces = role.folds.front().in_memory ? Expr{} : has_points(role);
  if (!replaces) return code;
  Code guarded;
  guarded.push_back({If{replaces, std::move(code), {}}});
  return guarded;
}

}  // namespace twill::nest
