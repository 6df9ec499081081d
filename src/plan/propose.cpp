// Proposals for single stages: the order of loops, what is unrolled, and what lanes and cores take.
#include "plan/propose.h"

#include "fuse/first_pass.h"
#include "fuse/profit.h"
#include "plan/reuse.h"
#include "program/index_use.h"

#include <algorithm>

namespace twill {

namespace {

/// Elements of an accumulating row that stay in the first-level cache.
constexpr std::int64_t accumulator_tile = 1024;

/// A stage that reads neighbours runs in blocks of so many rows …
constexpr std::int64_t block_rows = 16;
/// … and so many elements of them, or so many rows of a plane, if its rows are planes: what a row reads is
/// still in the first-level cache when the next row reads it again.
constexpr std::int64_t block_elements = 512, block_lines = 4;

/// So many rows of a block are computed side by side, if the body is no longer than this: a row that is read
/// for one of them serves its neighbours from a register.
constexpr std::int64_t rows_at_once = 4;
constexpr int most_operations_of_rows = 32, most_of_folds = 128;

/// Shorter rows begin and end in lines that they share with their neighbours.
constexpr std::int64_t shortest_row_past = 64;

/// Of rows with fewer points, the processor fetches several by itself.
constexpr std::int64_t shortest_row_ahead = 256;

/// Lanes that load every second element, or every fourth one, use most of every line.
constexpr std::int64_t small_stride = 4;

/// Beyond this many copies of a body, code gets longer but not faster.
constexpr std::int64_t most_copies = 64;

/// The innermost loop that is not unrolled; -1 if there is none.
int point_level(const std::vector<ChainLevel>& levels) {
  int point = static_cast<int>(levels.size()) - 1;
  while (point >= 0 && levels[point].by == By::Unroll) --point;
  return point;
}

}  // namespace

std::optional<std::int64_t> literal_extent(const Dim& dim) {
  const Literal *lo = as<Literal>(dim.lo), *hi = as<Literal>(dim.hi);
  if (!lo || !hi) return std::nullopt;
  return std::max<std::int64_t>(0, hi->value.i - lo->value.i);
}

Proposer::Proposer(const Program& program, const Machine& machine, const Stage& stage, std::set<int> taken,
                   Widths widths)
    : program_(program),
      machine_(machine),
      stage_(stage),
      taken_(std::move(taken)),
      widths_(std::move(widths)) {
  vector_dim_ = find_vector_dim();
  find_small_folds();
  tile_ =
      find_register_tile(program, machine, stage, is_small(vector_dim_) ? -1 : vector_dim_, small_, taken_);
}

Cluster Proposer::in_order(const std::vector<int>& dims) const {
  Cluster cluster;
  cluster.instances.push_back({{stage_.name}, 0});
  std::vector<ChainLevel> levels;
  for (const int d : dims) levels.push_back({d, {}, By::Seq});
  cluster.loops = chain(levels);
  return cluster;
}

Cluster Proposer::propose_inside(const Wishes& wishes, std::vector<ChainLevel> levels) const {
  Cluster cluster;
  cluster.instances.push_back({{stage_.name}, 0});
  cluster.grain = grain();
  if (!levels.empty() && levels.front().cut.kind == Cut::Kind::Parts)
    merge_parts(levels.front().dim, cluster);
  const bool tiles = wishes.tiles && wishes.reorder && wishes.unroll && tile_;
  for (ChainLevel level : tiles ? around_tile() : order(wishes)) {
    if (taken_.contains(level.dim)) continue;
    if (wishes.lanes && level.dim == vector_dim_ && level.cut == Cut{} && level.by == By::Seq)
      level.by = By::Simd;
    levels.push_back(level);
  }
  if (tiles) hold_tiles(levels, cluster);
  store(wishes, cluster);
  cluster.loops = chain(levels);
  return cluster;
}

void Proposer::read_ahead(Cluster& cluster) const {
  const std::vector<ChainLevel> levels = loops_of(cluster)->chains.front();
  const int point = point_level(levels);
  if (point < 1) return;
  const auto row = literal_extent(stage_.dims[levels[point].dim]);
  if (row && *row < shortest_row_ahead) return;
  cluster.ahead.push_back({0, levels[point - 1].dim, 1, ahead_limit()});
}

bool Proposer::is_short(int d) const {
  const auto extent = literal_extent(stage_.dims[d]);
  return extent && *extent < 4 * machine_.count(CoreKind::Core);
}

bool Proposer::all_are_cat(int d) const {
  return std::all_of(stage_.outputs.begin(), stage_.outputs.end(),
                     [&](const Output& o) { return is<Cat>(o.combine[d]); }) &&
         stage_.effects.empty();
}

Cluster Proposer::propose(const Wishes& wishes) const {
  Cluster cluster;
  cluster.instances.push_back({{stage_.name}, 0});
  cluster.grain = grain();
  const bool tiles = wishes.tiles && wishes.reorder && wishes.unroll && tile_;
  std::vector<ChainLevel> levels = tiles ? around_tile() : order(wishes);
  const std::optional<int> blocked =
      wishes.blocks && !tiles ? cut_blocks(levels, wishes.tiles) : std::nullopt;
  if (blocked && std::holds_alternative<Formula>(stage_.body))
    cluster.ahead.push_back({0, *blocked, rows_ahead(levels, *blocked), ahead_limit()});
  if (wishes.lanes && vector_dim_ >= 0) {
    for (ChainLevel& level : levels) {
      if (level.dim == vector_dim_ && level.cut == Cut{} && level.by == By::Seq) level.by = By::Simd;
    }
  }
  if (wishes.cores && tiles && tile_->panel && levels.front().dim == tile_->lanes->dim)
    levels.insert(levels.begin(), {tile_->lanes->dim, {Cut::Kind::Parts, 0}, By::Core});
  else if (wishes.cores)
    give_to_cores(levels, blocked, cluster);
  if (tiles) hold_tiles(levels, cluster);
  if (blocked && !small_.empty() && levels.back().dim == *blocked) hold_rows(levels, cluster);
  store(wishes, cluster);
  cluster.loops = chain(levels);
  return cluster;
}

void Proposer::store(const Wishes& wishes, Cluster& cluster) const {
  for (std::size_t o = 0; o < stage_.outputs.size(); ++o) {
    Store store{0, static_cast<int>(o), Keep::Full, -1};
    if (wishes.in_place && stage_.outputs[o].into) store.keep = Keep::Alias;
    if (wishes.stream && streams(stage_.outputs[o])) store.stream_above = stream_limit();
    if (store.keep != Keep::Full || store.stream_above >= 0) cluster.stores.push_back(store);
  }
}

bool Proposer::any_is_seq(int d) const {
  return std::any_of(stage_.outputs.begin(), stage_.outputs.end(),
                     [&](const Output& o) { return is<Seq>(o.combine[d]); });
}

bool Proposer::is_small(int d) const { return std::find(small_.begin(), small_.end(), d) != small_.end(); }

int Proposer::find_vector_dim() const {
  // Outside of a dimension that runs in order is the better place for an independent one.
  int first = 0;
  for (int d = first; d < static_cast<int>(stage_.dims.size()); ++d) {
    if (any_is_seq(d)) first = d;
  }
  std::vector<int> dims;
  for (int d = first; d < static_cast<int>(stage_.dims.size()); ++d) {
    if (!taken_.contains(d) && !is_short_fold(d) &&
        std::all_of(stage_.outputs.begin(), stage_.outputs.end(),
                    [&](const Output& o) { return is<Cat>(o.combine[d]) || is<Fold>(o.combine[d]); }))
      dims.push_back(d);
  }
  // Lanes that have no point are a waste, if another dimension fills them.
  if (!std::ranges::all_of(dims, [&](int d) { return is_narrow(d); }))
    std::erase_if(dims, [&](int d) { return is_narrow(d); });
  // Of dimensions along which everything is stored, that of the stores, whatever the reads say: an element is
  // stored once and alone, where lines that are read may be in the caches for others. Where some are folded,
  // nobody stores in the innermost loop, and all have a say.
  int stored = -1, folded = -1;
  for (const int d : dims) {
    int& best = all_are_stored(d) ? stored : folded;
    if (best < 0 || ease_of(d) >= ease_of(best)) best = d;
  }
  if (stored < 0 || folded < 0) return std::max(stored, folded);
  const int a = ease_of(stored).sum(), b = ease_of(folded).sum();
  return a > b || (a == b && stored > folded) ? stored : folded;
}

Proposer::Ease Proposer::ease_of(int d) const {
  const DimId dim = stage_.dims[static_cast<std::size_t>(d)].id;
  const auto ease = [&](std::span<const Expr> subscripts) {
    const int steps = contiguity(subscripts, dim);
    if (steps >= 0 || subscripts.empty() || contiguity(subscripts.first(subscripts.size() - 1), dim) != 0)
      return steps;
    const auto factor = factor_of(subscripts.back(), dim);
    return factor && std::abs(*factor) <= small_stride ? 0 : steps;
  };
  Ease result;
  for (const Output& output : stage_.outputs)
    if (is<Cat>(output.combine[static_cast<std::size_t>(d)])) result.stores += 2 * ease(output.at);
  for_each_expr(stage_, [&](Expr root) {
    visit(root, [&](Expr node) {
      if (const Read* read = as<Read>(node))
        result.reads += ease(std::span(node->args).first(read->rules.size()));
    });
  });
  return result;
}

bool Proposer::all_are_stored(int d) const {
  return std::ranges::all_of(
      stage_.outputs, [&](const Output& o) { return is<Cat>(o.combine[static_cast<std::size_t>(d)]); });
}

bool Proposer::is_narrow(int d) const {
  const auto at = static_cast<std::size_t>(d);
  return at < widths_.size() && widths_[at] && *widths_[at] < machine_.lanes(4);
}

bool Proposer::is_short_fold(int d) const {
  const auto extent = literal_extent(stage_.dims[d]);
  return extent && *extent < machine_.lanes(4) && folds(d) &&
         std::any_of(stage_.outputs.begin(), stage_.outputs.end(), [](const Output& o) {
           return std::any_of(o.combine.begin(), o.combine.end(), is<Cat>);
         });
}

void Proposer::find_small_folds() {
  std::int64_t copies = 1;
  for (int d = static_cast<int>(stage_.dims.size()) - 1; d >= 0 && !taken_.contains(d); --d) {
    const bool folds =
        !stage_.outputs.empty() && std::all_of(stage_.outputs.begin(), stage_.outputs.end(),
                                               [&](const Output& o) { return is<Fold>(o.combine[d]); });
    const auto extent = literal_extent(stage_.dims[d]);
    if (!folds || !extent || d == vector_only()) break;
    if (copies * std::max<std::int64_t>(1, *extent) > most_copies) break;
    copies *= std::max<std::int64_t>(1, *extent);
    small_.insert(small_.begin(), d);
  }
}

int Proposer::vector_only() const {
  if (stage_.dims.size() != taken_.size() + 1) return -1;
  int only = 0;
  while (taken_.contains(only)) ++only;
  return only;
}

std::vector<ChainLevel> Proposer::order(const Wishes& wishes) const {
  std::vector<ChainLevel> levels;
  const int n = static_cast<int>(stage_.dims.size());
  const int v = is_small(vector_dim_) ? -1 : vector_dim_;
  const auto unrolls = [&](int d) { return wishes.unroll && is_small(d); };
  if (!wishes.reorder || v < 0) {
    for (int d = 0; d < n; ++d) levels.push_back({d, {}, unrolls(d) ? By::Unroll : By::Seq});
    return levels;
  }
  bool folds_outside = false;
  for (int d = 0; d < n; ++d) {
    if (d != v && !is_small(d) && !folds(d)) levels.push_back({d, {}, By::Seq});
  }
  for (int d = 0; d < n; ++d) {
    if (d != v && !is_small(d) && folds(d)) folds_outside = true;
  }
  if (folds_outside && !folds(v)) levels.push_back({v, {Cut::Kind::Step, accumulator_tile}, By::Seq});
  for (int d = 0; d < n; ++d) {
    if (d != v && !is_small(d) && folds(d)) levels.push_back({d, {}, By::Seq});
  }
  levels.push_back({v, {}, By::Seq});
  for (int d : small_) levels.push_back({d, {}, wishes.unroll ? By::Unroll : By::Seq});
  return levels;
}

std::vector<ChainLevel> Proposer::around_tile() const {
  std::vector<ChainLevel> levels;
  const auto is_row = [&](int d) {
    return std::any_of(tile_->rows.begin(), tile_->rows.end(),
                       [&](const RegisterTile::Side& row) { return row.dim == d; });
  };
  const int n = static_cast<int>(stage_.dims.size());
  for (int d = 0; d < n; ++d) {
    if (!folds(d) && d != vector_dim_ && !is_row(d)) levels.push_back({d, {}, By::Seq});
  }
  std::vector<RegisterTile::Side> cuts = tile_->rows;
  if (tile_->lanes) cuts.insert(tile_->panel ? cuts.begin() : cuts.end(), *tile_->lanes);
  for (const auto& [d, points] : cuts) levels.push_back({d, {Cut::Kind::Step, points}, By::Seq});
  if (tile_->chunk) levels.push_back({tile_->chunk->dim, {Cut::Kind::Step, tile_->chunk->points}, By::Seq});
  for (int d = 0; d < n; ++d) {
    const bool in_chunks = tile_->chunk && tile_->chunk->dim == d;
    if (folds(d) && d != vector_dim_ && !is_small(d) && !in_chunks) levels.push_back({d, {}, By::Seq});
  }
  if (!is_row(vector_dim_)) levels.push_back({vector_dim_, {}, By::Seq});
  for (int d : small_) levels.push_back({d, {}, By::Unroll});
  for (const auto& [d, points] : tile_->rows) levels.push_back({d, {}, By::Unroll});
  if (tile_->chunk) levels.push_back({tile_->chunk->dim, {}, By::Unroll});
  return levels;
}

void Proposer::hold_tiles(const std::vector<ChainLevel>& levels, Cluster& cluster) const {
  for (std::size_t o = 0; o < stage_.outputs.size(); ++o)
    cluster.tiles.push_back({0, static_cast<int>(o), last_cut_of_tile(levels)});
}

void Proposer::hold_rows(const std::vector<ChainLevel>& levels, Cluster& cluster) const {
  for (std::size_t o = 0; o < stage_.outputs.size(); ++o)
    cluster.tiles.push_back({0, static_cast<int>(o), point_level(levels)});
}

int Proposer::last_cut_of_tile(const std::vector<ChainLevel>& levels) const {
  int last = 0;
  for (std::size_t l = 0; l < levels.size(); ++l) {
    if (levels[l].cut.kind == Cut::Kind::Step && levels[l].cut.count > 1 && !folds(levels[l].dim))
      last = static_cast<int>(l);
  }
  return last;
}

bool Proposer::folds(int d) const {
  return std::any_of(stage_.outputs.begin(), stage_.outputs.end(),
                     [&](const Output& o) { return is<Fold>(o.combine[d]); });
}

std::optional<int> Proposer::cut_blocks(std::vector<ChainLevel>& levels, bool hold) const {
  std::size_t points = 0;  // loops that are not unrolled
  for (const ChainLevel& level : levels) {
    if (level.by == By::Unroll) continue;
    if (!all_are_cat(level.dim) || level.cut != Cut{}) return std::nullopt;
    ++points;
  }
  const auto unrolled = [&](DimId dim) {
    return std::any_of(levels.begin() + static_cast<std::ptrdiff_t>(points), levels.end(),
                       [&](const ChainLevel& level) { return stage_.dims[level.dim].id == dim; });
  };
  for (std::size_t l = 0; l + 1 < points; ++l) {
    const int rows = levels[l].dim, inner = levels[l + 1].dim;
    if (!reads_neighbours(stage_, rows, unrolled)) continue;
    if (bounds_depend(stage_, inner, rows)) return std::nullopt;
    const std::int64_t width = inner == vector_dim_ ? block_elements : block_lines;
    levels.insert(
        levels.begin() + static_cast<std::ptrdiff_t>(l),
        {{rows, {Cut::Kind::Step, block_rows}, By::Seq}, {inner, {Cut::Kind::Step, width}, By::Seq}});
    std::int64_t operations = operations_of(stage_);
    for (const int d : small_) operations *= *literal_extent(stage_.dims[d]);
    if (inner == vector_dim_ && operations <= (small_.empty() ? most_operations_of_rows : most_of_folds) &&
        (small_.empty() || hold)) {
      levels[l + 2].cut = {Cut::Kind::Step, rows_at_once};
      levels.push_back({rows, {}, By::Unroll});
    }
    return rows;
  }
  return std::nullopt;
}

void Proposer::give_to_cores(std::vector<ChainLevel>& levels, std::optional<int> blocked,
                             Cluster& cluster) const {
  // Blocks are too few to share: every worker has its own range of rows.
  if (blocked && (levels.front().dim == *blocked || is_short(levels.front().dim))) {
    levels.insert(levels.begin(), {*blocked, {Cut::Kind::Parts, 0}, By::Core});
    return;
  }
  // The outermost independent loop, after those that run in order; its neighbour too if it is short.
  for (std::size_t l = 0; l < levels.size(); ++l) {
    ChainLevel& level = levels[l];
    if (any_is_seq(level.dim)) continue;
    if (!all_are_cat(level.dim)) break;
    const bool innermost = l + 1 == levels.size() || levels[l + 1].by == By::Unroll;
    if (innermost && l == 0) {
      levels.insert(levels.begin(), {level.dim, {Cut::Kind::Parts, 0}, By::Core});
      return;
    }
    // Tiles of many points are few: every worker has its own range of them.
    if (l == 0 && level.cut.count >= accumulator_tile) {
      levels.insert(levels.begin(), {level.dim, {Cut::Kind::Parts, 0}, By::Core});
      return;
    }
    level.by = By::Core;
    if (is_short(level.dim) && level.cut == Cut{} && l + 2 < levels.size()) {
      ChainLevel& next = levels[l + 1];
      if (all_are_cat(next.dim) && next.cut == Cut{} && next.by == By::Seq &&
          !bounds_depend(stage_, next.dim, level.dim))
        next.by = By::Core;
    }
    return;
  }
  // None: the outermost dimension is cut into parts whose results are combined.
  if (levels.empty() || any_is_seq(levels.front().dim)) return;
  const int dim = levels.front().dim;
  if (levels.front().by == By::Unroll) return;
  levels.insert(levels.begin(), {dim, {Cut::Kind::Parts, 0}, By::Core});
  merge_parts(dim, cluster);
}

void Proposer::merge_parts(int dim, Cluster& cluster) const {
  for (std::size_t o = 0; o < stage_.outputs.size(); ++o) {
    const Combine& combine = stage_.outputs[o].combine[dim];
    if (is<Cat>(combine)) continue;
    const bool two =
        is<Scan>(combine) || (is<Append>(combine) && !decides_by_running(stage_, stage_.outputs[o]));
    cluster.merges.push_back({0, static_cast<int>(o), two ? How::TwoPass : How::Partial});
  }
}

bool Proposer::streams(const Output& output) const {
  const auto row = vector_dim_ >= 0 ? literal_extent(stage_.dims[vector_dim_]) : std::nullopt;
  if (row && *row < shortest_row_past) return false;
  return std::all_of(output.combine.begin(), output.combine.end(),
                     [](const Combine& c) { return is<Cat>(c) || is<Fold>(c); }) &&
         !output.at.empty();
}

std::int64_t Proposer::stream_limit() const {
  const MemoryLayer* cache = machine_.last_level_cache();
  return cache ? cache->bytes / 2 : std::int64_t{1} << 24;
}

std::int64_t Proposer::rows_ahead(const std::vector<ChainLevel>& levels, int blocked) {
  return levels[point_level(levels) - 1].dim == blocked ? rows_at_once : 1;
}

std::int64_t Proposer::ahead_limit() const {
  const MemoryLayer* cache = machine_.find_memory("L2");
  return cache ? cache->bytes : std::int64_t{1} << 20;
}

std::int64_t Proposer::grain() const {
  // A launch that seems to take longer was measured while the machine was busy with something else.
  const double launch_us = machine_.launch_us > 0 ? std::min(machine_.launch_us, 50.0) : 5.0;
  return std::max<std::int64_t>(2048, static_cast<std::int64_t>(launch_us * 2000.0));
}

LoopTree Proposer::chain(std::vector<ChainLevel> levels) { return tree_of({0, {std::move(levels)}}); }

}  // namespace twill
