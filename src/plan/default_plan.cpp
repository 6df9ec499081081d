// The default plan: proposals from the most to the least ambitious one; the first legal one wins.
#include "plan/default_plan.h"

#include "base/error.h"
#include "fuse/profit.h"
#include "fuse/share.h"
#include "plan/growing.h"
#include "plan/legality.h"
#include "plan/lifetimes.h"
#include "plan/register_tile.h"
#include "plan/reuse.h"
#include "plan/tiles.h"
#include "program/check.h"
#include "program/index_use.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace twill {

namespace {

/// What a proposal tries to use. The first legal one wins, the most valuable wishes being given up last.
struct Wishes {
  bool cores, lanes, reorder, unroll, in_place, stream, blocks, tiles;

  static constexpr int count = 8;
  /// Wish 0 is the first to be given up.
  static Wishes of(int mask) {
    const auto has = [mask](int wish) { return (mask >> wish & 1) != 0; };
    return {has(7), has(6), has(5), has(4), has(3), has(2), has(1), has(0)};
  }
};

constexpr const char* wish_names[Wishes::count] = {"tile in registers", "blocks for the caches",
                                                   "streaming stores",  "an update in place",
                                                   "unrolling",         "a loop order for contiguous access",
                                                   "SIMD lanes",        "several cores"};

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

/// Of a dimension with so few points, known in advance, all are held in registers at once.
constexpr std::int64_t most_held_points = 4;

/// Every worker gets so many parts of a triangle, from the broad side to the narrow one.
constexpr std::int64_t parts_of_triangle = 16;

/// Shorter rows begin and end in lines that they share with their neighbours.
constexpr std::int64_t shortest_row_past = 64;

/// Of rows with fewer points, the processor fetches several by itself.
constexpr std::int64_t shortest_row_ahead = 256;

/// The share of the points of a slice that may be computed again in a neighbouring tile.
constexpr double most_again = 0.5;

/// Beyond this many copies of a body, code gets longer but not faster.
constexpr std::int64_t most_copies = 64;

std::optional<std::int64_t> literal_extent(const Dim& dim) {
  const Literal *lo = as<Literal>(dim.lo), *hi = as<Literal>(dim.hi);
  if (!lo || !hi) return std::nullopt;
  return std::max<std::int64_t>(0, hi->value.i - lo->value.i);
}

/// The innermost loop that is not unrolled; -1 if there is none.
int point_level(const std::vector<ChainLevel>& levels) {
  int point = static_cast<int>(levels.size()) - 1;
  while (point >= 0 && levels[point].by == By::Unroll) --point;
  return point;
}

class Proposer {
 public:
  /// `taken`: loops around the stage visit the points of these dimensions.
  Proposer(const Program& program, const Machine& machine, const Stage& stage, std::set<int> taken = {})
      : program_(program), machine_(machine), stage_(stage), taken_(std::move(taken)) {
    vector_dim_ = find_vector_dim();
    find_small_folds();
    tile_ =
        find_register_tile(program, machine, stage, is_small(vector_dim_) ? -1 : vector_dim_, small_, taken_);
  }

  /// One worker, one point after the other.
  Cluster in_order(const std::vector<int>& dims) const {
    Cluster cluster;
    cluster.instances.push_back({{stage_.name}, 0});
    std::vector<ChainLevel> levels;
    for (const int d : dims) levels.push_back({d, {}, By::Seq});
    cluster.loops = chain(levels);
    return cluster;
  }

  /// Inside of given loops.
  Cluster propose_inside(const Wishes& wishes, std::vector<ChainLevel> levels) const {
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

  /// Along the loop around the innermost one, which runs along rows.
  void read_ahead(Cluster& cluster) const {
    const std::vector<ChainLevel> levels = loops_of(cluster)->chains.front();
    const int point = point_level(levels);
    if (point < 1) return;
    const auto row = literal_extent(stage_.dims[levels[point].dim]);
    if (row && *row < shortest_row_ahead) return;
    cluster.ahead.push_back({0, levels[point - 1].dim, 1, ahead_limit()});
  }

  int vector_dim() const { return vector_dim_; }

  bool is_short(int d) const {
    const auto extent = literal_extent(stage_.dims[d]);
    return extent && *extent < 4 * machine_.count(CoreKind::Core);
  }

  bool all_are_cat(int d) const {
    return std::all_of(stage_.outputs.begin(), stage_.outputs.end(),
                       [&](const Output& o) { return is<Cat>(o.combine[d]); }) &&
           stage_.effects.empty();
  }

  Cluster propose(const Wishes& wishes) const {
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

 private:
  void store(const Wishes& wishes, Cluster& cluster) const {
    for (std::size_t o = 0; o < stage_.outputs.size(); ++o) {
      Store store{0, static_cast<int>(o), Keep::Full, -1};
      if (wishes.in_place && stage_.outputs[o].into) store.keep = Keep::Alias;
      if (wishes.stream && streams(stage_.outputs[o])) store.stream_above = stream_limit();
      if (store.keep != Keep::Full || store.stream_above >= 0) cluster.stores.push_back(store);
    }
  }
  bool any_is_seq(int d) const {
    return std::any_of(stage_.outputs.begin(), stage_.outputs.end(),
                       [&](const Output& o) { return is<Seq>(o.combine[d]); });
  }
  bool is_small(int d) const { return std::find(small_.begin(), small_.end(), d) != small_.end(); }

  /// The dimension whose neighbours are neighbours in memory, for most of what is read and written.
  int find_vector_dim() const {
    int best = -1, best_score = 0;
    // Outside of a dimension that runs in order is the better place for an independent one.
    int first = 0;
    for (int d = first; d < static_cast<int>(stage_.dims.size()); ++d) {
      if (any_is_seq(d)) first = d;
    }
    for (int d = first; d < static_cast<int>(stage_.dims.size()); ++d) {
      const bool vectorisable =
          !taken_.contains(d) && !is_short_fold(d) &&
          std::all_of(stage_.outputs.begin(), stage_.outputs.end(),
                      [&](const Output& o) { return is<Cat>(o.combine[d]) || is<Fold>(o.combine[d]); });
      if (!vectorisable) continue;
      int score = 1;
      for (const Output& output : stage_.outputs) {
        if (is<Cat>(output.combine[d])) score += 2 * contiguity(output.at, stage_.dims[d].id);
      }
      for_each_expr(stage_, [&](Expr root) {
        visit(root, [&](Expr node) {
          if (const Read* read = as<Read>(node))
            score += contiguity(std::span(node->args).first(read->rules.size()), stage_.dims[d].id);
        });
      });
      if (best < 0 || score >= best_score) {
        best = d;
        best_score = score;
      }
    }
    return best;
  }

  /// Lanes along a fold of a few points are a waste, if there is another dimension.
  bool is_short_fold(int d) const {
    const auto extent = literal_extent(stage_.dims[d]);
    return extent && *extent < machine_.lanes(4) && folds(d) &&
           std::any_of(stage_.outputs.begin(), stage_.outputs.end(), [](const Output& o) {
             return std::any_of(o.combine.begin(), o.combine.end(), is<Cat>);
           });
  }

  /// Fold dimensions with few points, known in advance, that are written out in the innermost loop.
  void find_small_folds() {
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

  /// A fold that is the only dimension stays a loop.
  int vector_only() const {
    if (stage_.dims.size() != taken_.size() + 1) return -1;
    int only = 0;
    while (taken_.contains(only)) ++only;
    return only;
  }

  std::vector<ChainLevel> order(const Wishes& wishes) const {
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

  /// The loops of a register tile: all others of the output, those over tiles, folds, and the tile itself.
  std::vector<ChainLevel> around_tile() const {
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

  void hold_tiles(const std::vector<ChainLevel>& levels, Cluster& cluster) const {
    for (std::size_t o = 0; o < stage_.outputs.size(); ++o)
      cluster.tiles.push_back({0, static_cast<int>(o), last_cut_of_tile(levels)});
  }

  /// The accumulators of rows side by side, at a point of them.
  void hold_rows(const std::vector<ChainLevel>& levels, Cluster& cluster) const {
    for (std::size_t o = 0; o < stage_.outputs.size(); ++o)
      cluster.tiles.push_back({0, static_cast<int>(o), point_level(levels)});
  }

  /// The innermost loop over tiles.
  int last_cut_of_tile(const std::vector<ChainLevel>& levels) const {
    int last = 0;
    for (std::size_t l = 0; l < levels.size(); ++l) {
      if (levels[l].cut.kind == Cut::Kind::Step && levels[l].cut.count > 1 && !folds(levels[l].dim))
        last = static_cast<int>(l);
    }
    return last;
  }

  bool folds(int d) const {
    return std::any_of(stage_.outputs.begin(), stage_.outputs.end(),
                       [&](const Output& o) { return is<Fold>(o.combine[d]); });
  }

  /// Cuts the outermost dimension along which the stage reads neighbours, and the one inside of it, so that
  /// the loops run through small blocks, several rows at once; if those are folds, `hold`: each row's
  /// accumulator is held in a register. Returns that dimension.
  std::optional<int> cut_blocks(std::vector<ChainLevel>& levels, bool hold) const {
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

  void give_to_cores(std::vector<ChainLevel>& levels, std::optional<int> blocked, Cluster& cluster) const {
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

  void merge_parts(int dim, Cluster& cluster) const {
    for (std::size_t o = 0; o < stage_.outputs.size(); ++o) {
      const Combine& combine = stage_.outputs[o].combine[dim];
      if (is<Cat>(combine)) continue;
      const bool two =
          is<Scan>(combine) || (is<Append>(combine) && !decides_by_running(stage_, stage_.outputs[o]));
      cluster.merges.push_back({0, static_cast<int>(o), two ? How::TwoPass : How::Partial});
    }
  }

  bool streams(const Output& output) const {
    const auto row = vector_dim_ >= 0 ? literal_extent(stage_.dims[vector_dim_]) : std::nullopt;
    if (row && *row < shortest_row_past) return false;
    return std::all_of(output.combine.begin(), output.combine.end(),
                       [](const Combine& c) { return is<Cat>(c) || is<Fold>(c); }) &&
           !output.at.empty();
  }

  /// Arrays that do not fit into the last-level cache are out of it before anybody reads them again.
  std::int64_t stream_limit() const {
    const MemoryLayer* cache = machine_.last_level_cache();
    return cache ? cache->bytes / 2 : std::int64_t{1} << 24;
  }

  /// How far to read ahead along the rows, or the planes, of a block.
  static std::int64_t rows_ahead(const std::vector<ChainLevel>& levels, int blocked) {
    return levels[point_level(levels) - 1].dim == blocked ? rows_at_once : 1;
  }

  /// What fits into the second-level cache of a core is near enough.
  std::int64_t ahead_limit() const {
    const MemoryLayer* cache = machine_.find_memory("L2");
    return cache ? cache->bytes : std::int64_t{1} << 20;
  }

  /// Work that is done before the other cores have woken up: about two points per nanosecond.
  std::int64_t grain() const {
    // A launch that seems to take longer was measured while the machine was busy with something else.
    const double launch_us = machine_.launch_us > 0 ? std::min(machine_.launch_us, 50.0) : 5.0;
    return std::max<std::int64_t>(2048, static_cast<std::int64_t>(launch_us * 2000.0));
  }

  static LoopTree chain(std::vector<ChainLevel> levels) { return tree_of({0, {std::move(levels)}}); }

  const Program& program_;
  const Machine& machine_;
  const Stage& stage_;
  std::set<int> taken_;
  int vector_dim_ = -1;
  std::vector<int> small_;
  std::optional<RegisterTile> tile_;
};

class Planner {
 public:
  /// `lists`: which stages of the program share loops.
  Planner(const Program& program, const Machine& machine, std::span<const ClusterSets> lists, Slicing slicing)
      : program_(program), machine_(machine), lists_(lists), slicing_(slicing) {
    planned_.plan.program = program.name;
    planned_.plan.machine = machine.name;
  }

  Planned run() {
    block("", 0, stages_of(program_), false);
    return std::move(planned_);
  }

  /// The first stages of clusters for which there are no loops: nothing is planned for them.
  const std::set<std::string>& refused() const { return refused_; }

 private:
  void block(const std::string& owner, int branch, const StageList& list, bool inside_parallel) {
    BlockPlan plan{owner, branch, {}};
    const std::size_t position = planned_.plan.blocks.size();
    planned_.plan.blocks.push_back({});
    std::vector<const Stage*> order;
    for (const Stage& stage : list.stages) order.push_back(&stage);
    std::vector<Group> groups;
    std::size_t first = 0;
    for (const std::size_t count : cluster_sizes(owner, branch, order.size())) {
      groups.emplace_back();
      groups.back().stages.assign(order.begin() + static_cast<std::ptrdiff_t>(first),
                                  order.begin() + static_cast<std::ptrdiff_t>(first + count));
      first += count;
    }
    if (!lists_.empty() && slicing_ == Slicing::WhereItPays) merge_in_tiles(groups, list, inside_parallel);
    order = in_order(groups);
    const Lifetimes lifetimes(program_, list, order);
    first = 0;
    for (Group& group : groups) {
      const std::size_t count = group.stages.size();
      const Site site{inside_parallel, lifetimes, first + count};
      if (count > 1) {
        // Stages with blocks share no loops.
        if (!group.tiles && most_shared(program_, group.stages) == 0)
          group.tiles = in_tiles(group.stages, site);
        if (group.tiles) {
          plan.clusters.push_back(std::move(group.tiles->cluster));
          planned_.sliced.insert(planned_.sliced.end(), group.tiles->sliced.begin(),
                                 group.tiles->sliced.end());
        } else if (auto cluster = together(group.stages, site)) {
          let_appends_grow(program_, group.stages, site, *cluster);
          plan.clusters.push_back(std::move(*cluster));
        } else {
          refused_.insert(group.stages.front()->name);
        }
        first += count;
        continue;
      }
      const Stage& last = *order[first++];
      plan.clusters.push_back(stage(last, site));
      take_over(last, site, plan.clusters.back());
      let_appends_grow(program_, group.stages, site, plan.clusters.back());
      const std::vector<ChainLevel> levels = loops_of(plan.clusters.back())->chains.front();
      const bool parallel =
          inside_parallel ||
          std::any_of(levels.begin(), levels.end(), [](const ChainLevel& l) { return l.by == By::Core; });
      const std::vector<const Block*> blocks = blocks_of(last);
      for (std::size_t b = 0; b < blocks.size(); ++b)
        block(last.name, static_cast<int>(b), stages_of(last, *blocks[b]), parallel);
    }
    planned_.plan.blocks[position] = std::move(plan);
  }

  /// What a stage makes of an array that nobody else needs can be in the memory of that: it is in the caches
  /// already, and less memory is touched.
  void take_over(const Stage& stage, const Site& site, Cluster& cluster) const {
    if (!std::holds_alternative<Formula>(stage.body)) return;
    for (std::size_t o = 0; o < stage.outputs.size(); ++o) {
      const auto of_this = [&](const Store& store) { return store.output == static_cast<int>(o); };
      const auto known = std::ranges::find_if(cluster.stores, of_this);
      if (stage.outputs[o].into || (known != cluster.stores.end() && known->keep != Keep::Full)) continue;
      for (const ArrayId old : reads_of(program_, stage)) {
        if (program_[old].type != program_[stage.outputs[o].array].type || program_[old].rank() == 0)
          continue;
        Cluster other = cluster;
        std::erase_if(other.stores, of_this);
        other.stores.push_back({0, static_cast<int>(o), Keep::Alias, -1, program_[old].name});
        if (why_illegal(program_, stage, other, site)) continue;
        cluster = std::move(other);
        break;
      }
    }
  }

  /// A cluster that is computed tile by tile.
  struct Tiled {
    Cluster cluster;
    std::vector<Reason> sliced;
  };

  /// Stages that become one cluster.
  struct Group {
    std::vector<const Stage*> stages;
    std::optional<Tiled> tiles;  // its plan, if it is computed in tiles
  };

  static std::vector<const Stage*> in_order(const std::vector<Group>& groups) {
    std::vector<const Stage*> order;
    for (const Group& group : groups) order.insert(order.end(), group.stages.begin(), group.stages.end());
    return order;
  }

  /// Groups whose results later groups read become part of them, where tiles of these need slices of the
  /// results and little is computed again: of one reader, or of all of them together. The last ones come
  /// first.
  void merge_in_tiles(std::vector<Group>& groups, const StageList& list, bool inside_parallel) {
    std::optional<Lifetimes> lifetimes;  // of the groups as they are now
    for (std::size_t g = groups.size(); g-- > 1;) {
      for (std::size_t p = g; p-- > 0;) {
        if (!uses(groups[g], groups[p])) continue;
        if (!lifetimes) lifetimes.emplace(program_, list, in_order(groups));
        const std::vector<std::size_t> readers = readers_of(groups, p, *lifetimes);
        if (readers.empty() || readers.back() != g || !could_meet(groups, readers)) continue;
        Group all;
        all.stages = groups[p].stages;
        for (const std::size_t r : readers)
          all.stages.insert(all.stages.end(), groups[r].stages.begin(), groups[r].stages.end());
        std::size_t done = 0;
        for (std::size_t k = 0; k <= g; ++k) done += groups[k].stages.size();
        all.tiles = in_tiles(all.stages, {inside_parallel, *lifetimes, done});
        if (!all.tiles) continue;
        lifetimes.reset();
        groups[g] = std::move(all);
        for (std::size_t r = readers.size() - 1; r-- > 0;)
          groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(readers[r]));
        groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(p));
        g -= readers.size();
        p = g;
      }
    }
  }

  /// The groups that read what the stages of a group compute, if nobody else does and it could be computed in
  /// slices.
  std::vector<std::size_t> readers_of(const std::vector<Group>& groups, std::size_t p,
                                      const Lifetimes& lifetimes) {
    std::vector<std::size_t> readers;
    for (std::size_t k = 0; k < groups.size(); ++k)
      if (k != p && uses(groups[k], groups[p])) readers.push_back(k);
    std::size_t all = 0;
    for (const Group& group : groups) all += group.stages.size();
    const bool sliced =
        std::all_of(groups[p].stages.begin(), groups[p].stages.end(), [&](const Stage* stage) {
          return !why_not_slice(program_, *stage) &&
                 std::all_of(stage->outputs.begin(), stage->outputs.end(),
                             [&](const Output& output) { return lifetimes.is_over(output.array, all); });
        });
    return sliced ? readers : std::vector<std::size_t>{};
  }

  /// Can all of these groups, which are in order, run where the last one does? None of those in between may
  /// need what they compute (lengths that are born would be that, too), and none may have effects.
  bool could_meet(const std::vector<Group>& groups, const std::vector<std::size_t>& members) {
    for (std::size_t m = 0; m + 1 < members.size(); ++m) {
      const Group& moved = groups[members[m]];
      if (std::any_of(moved.stages.begin(), moved.stages.end(), [](const Stage* stage) {
            return has_effects(*stage) || any_is<Append>(*stage) || any_is<twill::Group>(*stage);
          }))
        return false;
      for (std::size_t k = members[m] + 1; k < members.back(); ++k)
        if (std::find(members.begin(), members.end(), k) == members.end() && uses(groups[k], moved))
          return false;
    }
    return true;
  }

  /// Does a stage of the one group need what the other computes?
  bool uses(const Group& group, const Group& producer) {
    return std::any_of(group.stages.begin(), group.stages.end(), [&](const Stage* stage) {
      return std::any_of(producer.stages.begin(), producer.stages.end(),
                         [&](const Stage* other) { return uses(*stage, *other); });
    });
  }

  /// Does the stage need what the other computes, blocks included?
  bool uses(const Stage& stage, const Stage& producer) {
    const auto [found, is_new] = needed_.try_emplace(&stage);
    if (is_new)
      for (const ArrayId array : reads_of(program_, stage)) found->second.insert(array);
    return std::any_of(producer.outputs.begin(), producer.outputs.end(),
                       [&](const Output& output) { return found->second.contains(output.array); });
  }

  /// How many stages each cluster of a list has.
  std::vector<std::size_t> cluster_sizes(const std::string& owner, int branch, std::size_t stages) const {
    for (const ClusterSets& list : lists_) {
      if (list.owner != owner || list.branch != branch) continue;
      std::vector<std::size_t> sizes;
      for (const std::vector<StageSet>& cluster : list.clusters) sizes.push_back(cluster.size());
      return sizes;
    }
    return std::vector<std::size_t>(stages, 1);
  }

  /// Stages that share their outer loops; nothing if no order of loops is good for all of them.
  std::optional<Cluster> together(std::span<const Stage* const> stages, const Site& site) {
    int depth = most_shared(program_, stages);
    if (depth == 0) return std::nullopt;
    // Rather a part of an array between loops for SIMD lanes than single values in a loop without.
    const bool lanes = std::any_of(stages.begin(), stages.end(), [&](const Stage* stage) {
      return static_cast<int>(stage->dims.size()) == depth && takes_lanes(*stage, depth - 1);
    });
    if ((lanes || holds_all_points(stages, depth)) && depth > 1) --depth;
    for (const bool cores : {true, false}) {
      if (cores && site.inside_parallel) continue;
      if (auto cluster = inside(stages, shared_levels(stages, depth, cores), depth, site)) return cluster;
    }
    planned_.reasons.push_back({"order",
                                {stages.front()->name, stages.back()->name},
                                "no order of loops is right for '" + stages.front()->name + "' and '" +
                                    stages.back()->name + "' together",
                                stages.back()->place});
    return std::nullopt;
  }

  /// Has the innermost loop that stages could share so few points that a stage with loops inside, which reads
  /// the same for all of them, had better hold all of its results at once?
  static bool holds_all_points(std::span<const Stage* const> stages, int depth) {
    const auto points = literal_extent(stages.front()->dims[depth - 1]);
    if (!points || *points > most_held_points) return false;
    return std::any_of(stages.begin(), stages.end(), [&](const Stage* stage) {
      const bool folds_inside =
          std::all_of(stage->outputs.begin(), stage->outputs.end(), [&](const Output& output) {
            return is<Cat>(output.combine[depth - 1]) &&
                   std::any_of(output.combine.begin() + depth, output.combine.end(), is<Fold>);
          });
      if (!folds_inside) return false;
      bool same = false;
      for_each_expr(*stage, [&](Expr root) {
        visit(root, [&](Expr node) {
          if (!as<Read>(node) || mentions(node, stage->dims[depth - 1].id)) return;
          same = same || std::any_of(stage->dims.begin() + depth, stage->dims.end(),
                                     [&](const Dim& dim) { return mentions(node, dim.id); });
        });
      });
      return same;
    });
  }

  /// Stages that are computed tile by tile: the last ones in tiles, the others in the slices that these need.
  std::optional<Tiled> in_tiles(std::span<const Stage* const> stages, const Site& site) {
    const std::size_t sliced = could_be_sliced(program_, stages, site);
    std::optional<Reason> reason;
    const int vector = Proposer(program_, machine_, *stages[sliced]).vector_dim();
    if (sliced == 0) return std::nullopt;
    for (TileLoops& tiles : tile_loops(program_, machine_, stages, sliced, vector)) {
      if (*std::max_element(tiles.again.begin(), tiles.again.end()) > most_again) continue;
      for (const bool cores : {true, false}) {
        if (cores && site.inside_parallel) continue;
        if (!cores) tiles.shared.erase(tiles.shared.begin());
        if (auto cluster = in_tiles(stages, tiles, site, reason))
          return Tiled{std::move(*cluster), what_is_sliced(stages, tiles)};
      }
    }
    if (reason) planned_.reasons.push_back(std::move(*reason));
    return std::nullopt;
  }

  static std::vector<Reason> what_is_sliced(std::span<const Stage* const> stages, const TileLoops& tiles) {
    std::vector<Reason> reasons;
    for (std::size_t i = 0; i < tiles.sliced; ++i) {
      std::string text =
          "'" + stages[i]->name + "' is computed in slices for tiles of '" + stages.back()->name + "'";
      if (tiles.keep == Keep::Ring) text += ", row by row in a ring";
      if (tiles.again[i] > 0) text += fmt::format("; {:.1f} % of it twice", 100 * tiles.again[i]);
      reasons.push_back(
          {"sliced", {stages[i]->name, stages.back()->name}, std::move(text), stages[i]->place});
    }
    return reasons;
  }

  std::optional<Cluster> in_tiles(std::span<const Stage* const> stages, const TileLoops& tiles,
                                  const Site& site, std::optional<Reason>& reason) const {
    std::set<int> taken;
    for (const ChainLevel& level : tiles.shared)
      if (level.cut == Cut{}) taken.insert(level.dim);
    Cluster cluster;
    ClusterLoops loops{tiles.shared.size(), {}, {}};
    for (std::size_t i = 0; i < stages.size(); ++i) {
      const bool slice = i < tiles.sliced;
      const Proposer proposer(program_, machine_, *stages[i], slice ? std::set<int>{} : taken);
      std::optional<Cluster> best;
      for (int mask = (1 << Wishes::count) - 1; mask >= 0 && !best; --mask) {
        Wishes wishes = Wishes::of(mask);
        if (slice && (wishes.stream || wishes.in_place)) continue;
        Cluster alone = proposer.propose_inside(wishes, slice ? std::vector<ChainLevel>{} : tiles.shared);
        if (slice)
          for (std::size_t o = 0; o < stages[i]->outputs.size(); ++o)
            alone.stores.push_back({0, static_cast<int>(o), tiles.keep, -1});
        // What the judge of a whole cluster says about this stage alone.
        if (why_illegal(program_, *stages[i], alone, site)) continue;
        best = std::move(alone);
      }
      if (!best) return std::nullopt;
      // Rows that data say where to put are hardly long.
      if (!scatters(*stages[i])) proposer.read_ahead(*best);
      if (why_illegal(program_, *stages[i], *best, site)) best->ahead.clear();
      cluster.instances.push_back(best->instances.front());
      cluster.grain = best->grain;
      loops.chains.push_back(loops_of(*best)->chains.front());
      loops.sliced.push_back(slice);
      const auto take = [&](const auto& from, auto& to) {
        for (auto item : from) {
          item.instance = static_cast<int>(i);
          to.push_back(item);
        }
      };
      take(best->stores, cluster.stores);
      take(best->merges, cluster.merges);
      take(best->tiles, cluster.tiles);
      take(best->ahead, cluster.ahead);
    }
    cluster.loops = tree_of(loops);
    auto illegal = why_illegal(program_, stages, cluster, site);
    if (!illegal) return cluster;
    if (!reason) reason = std::move(illegal);
    return std::nullopt;
  }

  static bool scatters(const Stage& stage) {
    return std::any_of(stage.outputs.begin(), stage.outputs.end(), [](const Output& output) {
      return std::any_of(output.combine.begin(), output.combine.end(), is<Scatter>);
    });
  }

  static std::set<int> first_dims(int depth) {
    std::set<int> dims;
    for (int d = 0; d < depth; ++d) dims.insert(d);
    return dims;
  }

  /// Could the dimension be given to SIMD lanes?
  static bool takes_lanes(const Stage& stage, int d) {
    const auto extent = literal_extent(stage.dims[d]);
    return (!extent || *extent >= 8) && stage.effects.empty() &&
           std::all_of(stage.outputs.begin(), stage.outputs.end(),
                       [&](const Output& o) { return is<Cat>(o.combine[d]) || is<Fold>(o.combine[d]); });
  }

  std::vector<ChainLevel> shared_levels(std::span<const Stage* const> stages, int depth, bool cores) const {
    std::vector<ChainLevel> levels;
    for (int d = 0; d < depth; ++d) levels.push_back({d, {}, By::Seq});
    if (!cores) return levels;
    // How many points the outermost one has is rarely known: the two outermost ones have enough for all. But
    // a worker that keeps rows between the stages gets memory for them once, for a part.
    const bool rows = std::any_of(stages.begin(), stages.end(), [&](const Stage* stage) {
      return std::any_of(stage->outputs.begin(), stage->outputs.end(), [&](const Output& output) {
        return program_[output.array].rank() > depth &&
               std::any_of(stages.begin(), stages.end(),
                           [&](const Stage* other) { return other != stage && reads(*other, output.array); });
      });
    });
    const bool two_dims = depth > 1 && !(rows && !literal_extent(stages.front()->dims[0])) &&
                          std::all_of(stages.begin(), stages.end(), [&](const Stage* stage) {
                            const Proposer proposer(program_, machine_, *stage, first_dims(depth));
                            return (proposer.is_short(0) || !literal_extent(stage->dims[0])) &&
                                   proposer.all_are_cat(0) && proposer.all_are_cat(1) &&
                                   !bounds_depend(*stage, 1, 0);
                          });
    if (two_dims) {
      levels[0].by = levels[1].by = By::Core;
      return levels;
    }
    // Of a triangle, parts of equal height are not of equal size. But results of parts that have to be put
    // together should be few.
    const bool triangle =
        std::any_of(stages.begin(), stages.end(),
                    [](const Stage* stage) {
                      for (int d = 1; d < static_cast<int>(stage->dims.size()); ++d)
                        if (bounds_depend(*stage, d, 0)) return true;
                      return false;
                    }) &&
        std::all_of(stages.begin(), stages.end(), [](const Stage* stage) {
          return std::all_of(stage->outputs.begin(), stage->outputs.end(),
                             [](const Output& output) { return is<Cat>(output.combine.front()); });
        });
    const std::int64_t parts = triangle ? parts_of_triangle * machine_.count(CoreKind::Core) : 0;
    levels.insert(levels.begin(), {0, {Cut::Kind::Parts, parts}, By::Core});
    return levels;
  }

  /// Each stage with the best loops of its own that are legal inside of the shared ones.
  std::optional<Cluster> inside(std::span<const Stage* const> stages, const std::vector<ChainLevel>& shared,
                                int depth, const Site& site) const {
    Cluster cluster;
    ClusterLoops loops{shared.size(), {}};
    for (std::size_t i = 0; i < stages.size(); ++i) {
      const Proposer proposer(program_, machine_, *stages[i], first_dims(depth));
      std::optional<Cluster> best;
      for (int mask = (1 << Wishes::count) - 1; mask >= 0 && !best; --mask) {
        Cluster alone = proposer.propose_inside(Wishes::of(mask), shared);
        if (!why_illegal(program_, *stages[i], alone, site) && may_share(alone, stages, i, shared.size()))
          best = std::move(alone);
      }
      if (!best) return std::nullopt;
      cluster.instances.push_back(best->instances.front());
      cluster.grain = best->grain;
      loops.chains.push_back(loops_of(*best)->chains.front());
      const auto take = [&](const auto& from, auto& to) {
        for (auto item : from) {
          item.instance = static_cast<int>(i);
          to.push_back(item);
        }
      };
      keep_local(*stages[i], stages, depth, site, best->stores);
      take(best->stores, cluster.stores);
      take(best->merges, cluster.merges);
      take(best->tiles, cluster.tiles);
      take(best->ahead, cluster.ahead);
    }
    cluster.loops = tree_of(loops);
    if (why_illegal(program_, stages, cluster, site)) return std::nullopt;
    return cluster;
  }

  /// What only holds for a stage that is alone in its loops.
  bool may_share(const Cluster& alone, std::span<const Stage* const> stages, std::size_t i,
                 std::size_t shared) const {
    const bool inner = loops_of(alone)->chains.front().size() > shared;
    return std::all_of(alone.stores.begin(), alone.stores.end(), [&](const Store& store) {
      if (store.stream_above >= 0 && !inner) return false;
      if (store.keep != Keep::Alias) return true;
      const ArrayId old = *stages[i]->outputs[static_cast<std::size_t>(store.output)].into;
      for (std::size_t k = 0; k < stages.size(); ++k)
        if (k != i && needs(program_, *stages[k], old)) return false;
      return true;
    });
  }

  /// What only the other stages of the cluster read lives as long as an iteration.
  static void keep_local(const Stage& stage, std::span<const Stage* const> stages, int depth,
                         const Site& site, std::vector<Store>& stores) {
    for (std::size_t o = 0; o < stage.outputs.size(); ++o) {
      const Output& output = stage.outputs[o];
      const bool read = std::any_of(stages.begin(), stages.end(), [&](const Stage* other) {
        return other != &stage && reads(*other, output.array);
      });
      if (!read || !site.is_disposable(output.array) || output.into || output.force ||
          !places_of_shared(stage, output, depth))
        continue;
      std::erase_if(stores, [&](const Store& store) { return store.output == static_cast<int>(o); });
      stores.push_back({0, static_cast<int>(o), Keep::Local, -1});
    }
  }

  Cluster stage(const Stage& stage, const Site& site) {
    const Nested* nested = std::get_if<Nested>(&stage.body);
    const bool carries = nested && !nested->block->carries.empty();
    const Proposer proposer(program_, machine_, stage);
    std::vector<std::optional<Reason>> refusals(Wishes::count);
    for (int mask = carries ? 0 : (1 << Wishes::count) - 1; mask >= 0; --mask) {
      Cluster cluster = proposer.propose(Wishes::of(mask));
      auto reason = why_illegal(program_, stage, cluster, site);
      if (!reason) {
        for (int wish = Wishes::count - 1; wish >= 0; --wish) {
          if ((mask >> wish & 1) == 0 && refusals[wish]) note(*refusals[wish], wish);
        }
        return cluster;
      }
      // The wish that is given up next is what this refusal is held against.
      for (int wish = 0; wish < Wishes::count; ++wish) {
        if ((mask >> wish & 1) == 0) continue;
        if (!refusals[wish]) refusals[wish] = reason;
        break;
      }
    }
    // Not in the order of the program, then: any order in which one worker can run it.
    std::vector<int> order(stage.dims.size());
    std::iota(order.begin(), order.end(), 0);
    std::optional<Reason> reason;
    do {
      Cluster cluster = proposer.in_order(order);
      std::optional<Reason> refusal = why_illegal(program_, stage, cluster, site);
      if (!refusal) return cluster;
      if (!reason) reason = std::move(refusal);
    } while (order.size() <= 6 && std::next_permutation(order.begin(), order.end()));
    fail(Fault::Limit, "E0403", stage.place,
         "no order of loops computes all outputs of stage '" + stage.name + "': " + reason->text,
         "make it several stages");
  }

  void note(Reason reason, int wish) {
    reason.text = std::string("no ") + wish_names[wish] + ": " + reason.text;
    planned_.reasons.push_back(std::move(reason));
  }

  const Program& program_;
  const Machine& machine_;
  std::span<const ClusterSets> lists_;
  Slicing slicing_;
  Planned planned_;
  std::set<std::string> refused_;
  std::map<const Stage*, std::set<ArrayId>> needed_;  // by stages, where that was asked
};

/// The clusters with one of these stages as their first are cut into their sets.
std::vector<ClusterSets> cut_apart(std::span<const ClusterSets> lists, const std::set<std::string>& firsts) {
  std::vector<ClusterSets> result(lists.begin(), lists.end());
  for (ClusterSets& list : result) {
    std::vector<std::vector<StageSet>> clusters;
    for (std::vector<StageSet>& cluster : list.clusters) {
      if (!firsts.contains(cluster.front().back())) {
        clusters.push_back(std::move(cluster));
        continue;
      }
      for (StageSet& set : cluster) clusters.push_back({std::move(set)});
    }
    list.clusters = std::move(clusters);
  }
  return result;
}

}  // namespace

Planned default_plan(const Program& program, const Machine& machine) {
  return Planner(program, machine, {}, Slicing::Never).run();
}

Planned default_plan(const std::shared_ptr<const Program>& program, const Machine& machine,
                     std::span<const ClusterSets> lists, Slicing slicing) {
  const auto fused = fuse_clusters(program, lists);
  if (!fused) ensure(false, ("default_plan: the sets can be joined, but " + fused.why().text).c_str());
  // What may fail at run time has no slices.
  const auto checked = with_run_time_checks(*fused);
  Planner planner(*checked, machine, lists, slicing);
  Planned planned = planner.run();
  if (!planner.refused().empty()) {
    // Alone, stages may be others than together: they are fused again.
    Planned again = default_plan(program, machine, cut_apart(lists, planner.refused()), slicing);
    again.reasons.insert(again.reasons.begin(), planned.reasons.begin(), planned.reasons.end());
    return again;
  }
  for (BlockPlan& block : planned.plan.blocks) {
    for (const ClusterSets& list : lists) {
      if (list.owner != block.owner || list.branch != block.branch) continue;
      std::map<std::string, StageSet> sets;
      for (const std::vector<StageSet>& cluster : list.clusters)
        for (const StageSet& set : cluster) sets[set.back()] = set;
      for (Cluster& cluster : block.clusters)
        for (Instance& instance : cluster.instances) instance.stages = sets.at(instance.name());
    }
  }
  return planned;
}

}  // namespace twill
