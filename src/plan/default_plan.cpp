// The default plan: proposals from the most to the least ambitious one; the first legal one wins.
#include "plan/default_plan.h"

#include "base/error.h"
#include "plan/legality.h"
#include "plan/lifetimes.h"
#include "plan/register_tile.h"
#include "plan/reuse.h"
#include "program/index_use.h"

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
constexpr std::int64_t block_elements = 512, block_lines = 8;

/// Beyond this many copies of a body, code gets longer but not faster.
constexpr std::int64_t most_copies = 64;

std::optional<std::int64_t> literal_extent(const Dim& dim) {
  const Literal *lo = as<Literal>(dim.lo), *hi = as<Literal>(dim.hi);
  if (!lo || !hi) return std::nullopt;
  return std::max<std::int64_t>(0, hi->value.i - lo->value.i);
}

class Proposer {
 public:
  Proposer(const Program& program, const Machine& machine, const Stage& stage)
      : program_(program), machine_(machine), stage_(stage) {
    vector_dim_ = find_vector_dim();
    find_small_folds();
    tile_ = find_register_tile(program, machine, stage, is_small(vector_dim_) ? -1 : vector_dim_, small_);
  }

  /// One worker, one point after the other.
  Cluster in_order(const std::vector<int>& dims) const {
    Cluster cluster;
    cluster.instances.push_back({stage_.name, 0});
    std::vector<ChainLevel> levels;
    for (const int d : dims) levels.push_back({d, {}, By::Seq});
    cluster.loops = tree(levels);
    return cluster;
  }

  Cluster propose(const Wishes& wishes) const {
    Cluster cluster;
    cluster.instances.push_back({stage_.name, 0});
    cluster.grain = grain();
    const bool tiles = wishes.tiles && wishes.reorder && wishes.unroll && tile_;
    std::vector<ChainLevel> levels = tiles ? around_tile() : order(wishes);
    const std::optional<int> blocked = wishes.blocks && !tiles ? cut_blocks(levels) : std::nullopt;
    if (wishes.lanes && vector_dim_ >= 0) {
      for (ChainLevel& level : levels) {
        if (level.dim == vector_dim_ && level.cut == Cut{}) level.by = By::Simd;
      }
    }
    if (wishes.cores && tiles && tile_->panel && levels.front().dim == tile_->lanes->dim)
      levels.insert(levels.begin(), {tile_->lanes->dim, {Cut::Kind::Parts, 0}, By::Core});
    else if (wishes.cores)
      give_to_cores(levels, blocked, cluster);
    if (tiles) cluster.tiles.push_back({0, 0, last_cut_of_tile(levels)});
    for (std::size_t o = 0; o < stage_.outputs.size(); ++o) {
      Store store{0, static_cast<int>(o), Keep::Full, -1};
      if (wishes.in_place && stage_.outputs[o].into) store.keep = Keep::Alias;
      if (wishes.stream && streams(stage_.outputs[o])) store.stream_above = stream_limit();
      if (store.keep != Keep::Full || store.stream_above >= 0) cluster.stores.push_back(store);
    }
    cluster.loops = tree(levels);
    return cluster;
  }

 private:
  bool all_are_cat(int d) const {
    return std::all_of(stage_.outputs.begin(), stage_.outputs.end(),
                       [&](const Output& o) { return is<Cat>(o.combine[d]); }) &&
           stage_.effects.empty();
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
    for (int d = 0; d < static_cast<int>(stage_.dims.size()); ++d) {
      if (any_is_seq(d)) first = d;
    }
    for (int d = first; d < static_cast<int>(stage_.dims.size()); ++d) {
      const bool vectorisable =
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

  /// 1 if the last subscript alone moves by one with the index, 0 if none moves, negative otherwise.
  static int contiguity(std::span<const Expr> subscripts, DimId dim) {
    int result = 0;
    for (std::size_t s = 0; s < subscripts.size(); ++s) {
      const auto factor = factor_of(subscripts[s], dim);
      if (factor == 0) continue;
      const bool last = s + 1 == subscripts.size();
      if (last && factor && (*factor == 1 || *factor == -1) && result == 0)
        result = 1;
      else
        result = -2;
    }
    return result;
  }

  /// Fold dimensions with few points, known in advance, that are written out in the innermost loop.
  void find_small_folds() {
    std::int64_t copies = 1;
    for (int d = static_cast<int>(stage_.dims.size()) - 1; d >= 0; --d) {
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
  int vector_only() const { return stage_.dims.size() == 1 ? 0 : -1; }

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
    levels.push_back({vector_dim_, {}, By::Seq});
    for (int d : small_) levels.push_back({d, {}, By::Unroll});
    for (const auto& [d, points] : tile_->rows) levels.push_back({d, {}, By::Unroll});
    if (tile_->chunk) levels.push_back({tile_->chunk->dim, {}, By::Unroll});
    return levels;
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
  /// the loops run through small blocks. Returns that dimension.
  std::optional<int> cut_blocks(std::vector<ChainLevel>& levels) const {
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
      return rows;
    }
    return std::nullopt;
  }

  bool is_short(int d) const {
    const auto extent = literal_extent(stage_.dims[d]);
    return extent && *extent < 4 * machine_.count(CoreKind::Core);
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
    for (std::size_t o = 0; o < stage_.outputs.size(); ++o) {
      const Combine& combine = stage_.outputs[o].combine[dim];
      if (is<Cat>(combine)) continue;
      const bool two = is<Scan>(combine) || is<Append>(combine);
      cluster.merges.push_back({0, static_cast<int>(o), two ? How::TwoPass : How::Partial});
    }
  }

  bool streams(const Output& output) const {
    return std::all_of(output.combine.begin(), output.combine.end(),
                       [](const Combine& c) { return is<Cat>(c) || is<Fold>(c); }) &&
           !output.at.empty();
  }

  /// Arrays that do not fit into the last-level cache are out of it before anybody reads them again.
  std::int64_t stream_limit() const {
    const MemoryLayer* cache = machine_.last_level_cache();
    return cache ? cache->bytes / 2 : std::int64_t{1} << 24;
  }

  /// Work that is done before the other cores have woken up: about two points per nanosecond.
  std::int64_t grain() const {
    // A launch that seems to take longer was measured while the machine was busy with something else.
    const double launch_us = machine_.launch_us > 0 ? std::min(machine_.launch_us, 50.0) : 5.0;
    return std::max<std::int64_t>(2048, static_cast<std::int64_t>(launch_us * 2000.0));
  }

  static LoopTree tree(const std::vector<ChainLevel>& levels) {
    LoopTree tree{Leaf{0}};
    for (std::size_t l = levels.size(); l-- > 0;) {
      Loop loop{{{0, levels[l].dim}}, levels[l].cut, levels[l].by, std::move(tree)};
      tree = {};
      tree.push_back(std::move(loop));
    }
    return tree;
  }

  const Program& program_;
  const Machine& machine_;
  const Stage& stage_;
  int vector_dim_ = -1;
  std::vector<int> small_;
  std::optional<RegisterTile> tile_;
};

class Planner {
 public:
  Planner(const Program& program, const Machine& machine) : program_(program), machine_(machine) {
    planned_.plan.program = program.name;
    planned_.plan.machine = machine.name;
  }

  Planned run() {
    block("", 0, stages_of(program_), false);
    return std::move(planned_);
  }

 private:
  void block(const std::string& owner, int branch, const StageList& list, bool inside_parallel) {
    BlockPlan plan{owner, branch, {}};
    const std::size_t position = planned_.plan.blocks.size();
    planned_.plan.blocks.push_back({});
    std::vector<const Stage*> order;
    for (const Stage& stage : list.stages) order.push_back(&stage);
    for (std::size_t s = 0; s < order.size(); ++s) {
      const Site site{inside_parallel, disposable_after(program_, list, std::span(order).subspan(s + 1))};
      plan.clusters.push_back(stage(*order[s], site));
      const auto levels = *chain_of(plan.clusters.back());
      const bool parallel =
          inside_parallel ||
          std::any_of(levels.begin(), levels.end(), [](const ChainLevel& l) { return l.by == By::Core; });
      const std::vector<const Block*> blocks = blocks_of(*order[s]);
      for (std::size_t b = 0; b < blocks.size(); ++b)
        block(order[s]->name, static_cast<int>(b), stages_of(*order[s], *blocks[b]), parallel);
    }
    planned_.plan.blocks[position] = std::move(plan);
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
  Planned planned_;
};

}  // namespace

Planned default_plan(const Program& program, const Machine& machine) {
  return Planner(program, machine).run();
}

Planned default_plan(const std::shared_ptr<const Program>& program, const Machine& machine,
                     std::span<const StageSets> lists) {
  const auto fused = fuse_sets(program, lists);
  ensure(bool(fused), "default_plan: the sets can be joined");
  Planned planned = default_plan(**fused, machine);
  for (BlockPlan& block : planned.plan.blocks) {
    for (const StageSets& list : lists) {
      if (list.owner != block.owner || list.branch != block.branch) continue;
      for (Cluster& cluster : block.clusters) {
        for (const std::vector<std::string>& set : list.sets) {
          if (set.back() != cluster.instances.front().stage) continue;
          cluster.instances.clear();
          for (const std::string& stage : set) cluster.instances.push_back({stage, 0});
          break;
        }
      }
    }
  }
  return planned;
}

}  // namespace twill
