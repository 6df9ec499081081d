// cluster: which stages share a pass over memory.
//
// In: a simplified program. Out: sets of stages, each of which can be joined into one (fuse/sets.h), in an
// order in which they can run, and the reason for every pair of neighbours that stays apart.
#pragma once

#include "cluster/partition.h"
#include "cluster/solve.h"
#include "fuse/sets.h"
#include "machine/time_model.h"
#include "poly/fusion.h"
#include "program/known.h"

#include <memory>
#include <optional>
#include <span>
#include <variant>

namespace twill {

/// How good a choice is: what it costs, and what no choice costs less than.
struct Proof {
  double cost = 0, bound = 0;
  bool out_of_time = false;    // the search was ended
  bool left_out = false;       // it is about the stages that are left when others are computed again
  bool before_slices = false;  // it does not know of slices of which nothing is computed twice

  /// How much of the cost another choice might save, at most; 0: none is better.
  double gap() const { return cost <= bound * (1 + 1e-9) ? 0 : (cost - bound) / cost; }
};

struct Clustering {
  std::vector<ClusterSets> lists;  // one for every list of stages in the program
  std::vector<Reason> done, not_done;
  std::optional<Proof> proof = {};  // if the best choice was asked for
};

/// Every stage by itself.
Clustering cluster_none(const Program& program);

/// Stages join the first set that they can join, in the order of the program: sets with what they read first,
/// then, when all have done so, sets that run over the same range.
Clustering cluster_greedy(const Program& program);

/// What the literature calls greedy, to be compared with: pairs of stages of which one reads the other, and
/// then those that read the same array, are put together, one pair after the other, wherever that is still
/// possible.
Clustering cluster_pairs(const Program& program, Greed greed);

/// Stages that share their outermost loop in the schedule that isl finds for them, as far as they can be
/// fused. This is what polyhedral compilers do; it is here to be compared with.
Clustering cluster_by_schedule(const Program& program, poly::Fusion fusion);

/// Which stages could be computed in slices, for tiles of those that read them? Whoever plans loops knows.
class Tiling {
 public:
  Tiling() = default;
  Tiling(const Tiling&) = delete;
  Tiling& operator=(const Tiling&) = delete;
  virtual ~Tiling() = default;

  /// The share of `first` that is computed again for tiles of `second`, which reads it and whose tiles need
  /// some of the same: of the two alone, in a program that may have changed. Nothing if that is not so.
  virtual std::optional<double> again(const Program& program, const Stage& first,
                                      const Stage& second) const = 0;
  /// Could these clusters of a list, by position, be computed in tiles? Nothing for those that cannot.
  virtual std::vector<std::optional<TiledSets>> tiles(const ClusterSets& list,
                                                      std::span<const std::size_t> clusters) const = 0;
  /// The list with clusters merged, one after the other, as long as tiles of the later ones need slices of
  /// the earlier ones.
  virtual ClusterSets merged(const ClusterSets& list) const = 0;
};

/// What is to be least: the time that arrays take that are made in memory, or read, once for every cluster
/// (sizes that are not known count as equal), and the time of computing what is computed again; or one of the
/// counts that the literature has for bare graphs. Who is asked about slices must live as long; without,
/// nothing is sliced.
struct ByTime {
  TimeModel model = {};
  KnownSizes known = {};
  const Tiling* tiling = nullptr;
};
using ClusterCost = std::variant<ByTime, GraphCost>;

/// The clusters that cost least. What may be together is asked of the rules two stages at a time: `bound` is
/// about that, for the stages that are left when some are computed again where they are read. Where the
/// greedy choice is proven to be the best nothing is solved. The time limit is one for the whole program.
Clustering cluster_optimal(const Program& program, const ClusterCost& cost = {},
                           const SolveOptions& options = {});

/// What clusters cost, whoever has chosen them. Stages that are in none are computed again where they are
/// read.
double cost_of(const std::shared_ptr<const Program>& program, std::span<const ClusterSets> lists,
               const ClusterCost& cost);

}  // namespace twill
