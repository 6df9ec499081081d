// What a plan could do with a single stage: loops, lanes, cores and registers, by wishes that may turn out to
// be illegal. Proposes, and judges nothing.
#pragma once

#include "machine/machine.h"
#include "plan/legality.h"
#include "plan/plan.h"
#include "plan/register_tile.h"
#include "program/program.h"

#include <optional>
#include <set>
#include <vector>

namespace twill {

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

/// The number of points, if it is known in advance.
std::optional<std::int64_t> literal_extent(const Dim& dim);

/// By dimension, how many points at most are visited of it, if that is known in advance and are not all.
using Widths = std::vector<std::optional<std::int64_t>>;

/// What could be done with a stage.
class Proposer {
 public:
  /// `taken`: loops around the stage visit the points of these dimensions. `widths`: of what else is visited
  /// of it at a time, if it is sliced.
  Proposer(const Program& program, const Machine& machine, const Stage& stage, std::set<int> taken = {},
           Widths widths = {});
  /// One worker, one point after the other.
  Cluster in_order(const std::vector<int>& dims) const;
  /// Inside of given loops.
  Cluster propose_inside(const Wishes& wishes, std::vector<ChainLevel> levels) const;
  /// Along the loop around the innermost one, which runs along rows.
  void read_ahead(Cluster& cluster) const;
  /// Along which neighbours are neighbours in memory; -1 if there is none.
  int vector_dim() const { return vector_dim_; }
  bool is_short(int d) const;
  bool all_are_cat(int d) const;
  Cluster propose(const Wishes& wishes) const;

 private:
  void store(const Wishes& wishes, Cluster& cluster) const;
  bool any_is_seq(int d) const;
  bool is_small(int d) const;
  /// The dimension whose neighbours are neighbours in memory, for what is written and most of what is read.
  int find_vector_dim() const;
  /// How easily memory follows the index of a dimension: more if elements are neighbours, less if they jump.
  struct Ease {
    int stores = 0, reads = 0;
    int sum() const { return stores + reads; }
    friend auto operator<=>(const Ease&, const Ease&) = default;
  };
  Ease ease_of(int d) const;
  bool all_are_stored(int d) const;
  /// Has a slice fewer points along the dimension than there are lanes?
  bool is_narrow(int d) const;
  /// Lanes along a fold of a few points are a waste, if there is another dimension.
  bool is_short_fold(int d) const;
  /// Fold dimensions with few points, known in advance, that are written out in the innermost loop.
  void find_small_folds();
  /// A fold that is the only dimension stays a loop.
  int vector_only() const;
  std::vector<ChainLevel> order(const Wishes& wishes) const;
  /// The loops of a register tile: all others of the output, those over tiles, folds, and the tile itself.
  std::vector<ChainLevel> around_tile() const;
  void hold_tiles(const std::vector<ChainLevel>& levels, Cluster& cluster) const;
  /// The accumulators of rows side by side, at a point of them.
  void hold_rows(const std::vector<ChainLevel>& levels, Cluster& cluster) const;
  /// The innermost loop over tiles.
  int last_cut_of_tile(const std::vector<ChainLevel>& levels) const;
  bool folds(int d) const;
  /// Cuts the outermost dimension along which the stage reads neighbours, and the one inside of it, so that
  /// the loops run through small blocks, several rows at once; if those are folds, `hold`: each row's
  /// accumulator is held in a register. Returns that dimension.
  std::optional<int> cut_blocks(std::vector<ChainLevel>& levels, bool hold) const;
  void give_to_cores(std::vector<ChainLevel>& levels, std::optional<int> blocked, Cluster& cluster) const;
  void merge_parts(int dim, Cluster& cluster) const;
  bool streams(const Output& output) const;
  /// Arrays that do not fit into the last-level cache are out of it before anybody reads them again.
  std::int64_t stream_limit() const;
  /// How far to read ahead along the rows, or the planes, of a block.
  static std::int64_t rows_ahead(const std::vector<ChainLevel>& levels, int blocked);
  /// What fits into the second-level cache of a core is near enough.
  std::int64_t ahead_limit() const;
  /// Work that is done before the other cores have woken up: about two points per nanosecond.
  std::int64_t grain() const;
  static LoopTree chain(std::vector<ChainLevel> levels);

  const Program& program_;
  const Machine& machine_;
  const Stage& stage_;
  std::set<int> taken_;
  Widths widths_;
  int vector_dim_ = -1;
  std::vector<int> small_;
  std::optional<RegisterTile> tile_;
};

}  // namespace twill
