// Is this cluster a legal way to run its stages, and if not, why? The one judge that plans are made and
// elaborated with.
#pragma once

#include "plan/lifetimes.h"
#include "plan/plan.h"
#include "program/reason.h"
#include "program/regroup.h"
#include "slice/slice.h"

#include <optional>
#include <set>
#include <span>

namespace twill {

/// What the cluster's surroundings allow.
struct Site {
  bool inside_parallel;        // a loop around the block is run by several cores already
  const Lifetimes& lifetimes;  // of the arrays of its list
  std::size_t done;            // stages of the list that have run when the cluster has

  /// Does the array have memory of its own that nobody needs after this cluster?
  bool is_disposable(ArrayId array) const { return lifetimes.is_over(array, done); }
};

/// Nothing if the cluster is a legal way to run the stages, one for each of its instances.
std::optional<Reason> why_illegal(const Program& program, std::span<const Stage* const> stages,
                                  const Cluster& cluster, const Site& site);

/// The same for a cluster with one instance.
std::optional<Reason> why_illegal(const Program& program, const Stage& stage, const Cluster& cluster,
                                  const Site& site);

/// Does a bound or the condition of dimension `d` mention the index of dimension `e`?
bool bounds_depend(const Stage& stage, int d, int e);

/// Can a point of the stage write outside of the array, as far as is known before it runs?
bool may_write_outside(const Program& program, const Stage& stage, const Output& output);

/// The most elements that a tile of accumulators has.
constexpr std::int64_t most_held = 1024;

/// The most points that rows are read ahead.
constexpr std::int64_t most_ahead = 64;

/// The loops around an instance as a list, outermost first.
struct ChainLevel {
  int dim;
  Cut cut;
  By by;
};

/// The loops of a cluster: those that all instances share, and inside of them those of each instance alone.
struct ClusterLoops {
  std::size_t shared = 0;
  std::vector<std::vector<ChainLevel>> chains;  // of every instance; those of sliced ones begin inside
  std::vector<bool> sliced = {};                // by instance; empty: none is

  bool is_sliced(std::size_t instance) const { return instance < sliced.size() && sliced[instance]; }
  /// How many loops of the instance's chain are shared ones.
  std::size_t outside(std::size_t instance) const { return is_sliced(instance) ? 0 : shared; }
  /// The first instance that the shared loops run over.
  std::size_t leader() const;
  /// The shared loops, as loops of the leader.
  std::span<const ChainLevel> shared_levels() const { return std::span(chains[leader()]).first(shared); }
  /// Do iterations of the shared loops have several points, or parts of other stages?
  bool tiles() const;
};

/// Nothing if the loops do not have this form. With one instance, no loop is shared.
std::optional<ClusterLoops> loops_of(const Cluster& cluster);

/// The way back.
LoopTree tree_of(const ClusterLoops& loops);

/// The cluster as if this instance were alone in it.
Cluster only(const Cluster& cluster, const ClusterLoops& loops, int instance);

/// The dimensions of shared loops.
std::set<int> shared_dims(const ClusterLoops& loops);

/// What an iteration of the shared loops computes of each stage. `origin` names the first index of a shared
/// loop's iteration.
std::vector<Slice> slices_of(std::span<const Stage* const> stages, const ClusterLoops& loops,
                             const std::function<poly::Var(std::size_t level)>& origin);

/// The dimension along which a ring slides when the innermost shared loop goes on, whose index is `index`;
/// nothing if it does not slide along one, or not in whole rows.
std::optional<int> ring_dim(const Stage& stage, const Slice& slice, poly::Var index);

}  // namespace twill
