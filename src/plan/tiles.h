// Loops for a cluster that is cut into tiles: the last stages decide, the others are sliced.
#pragma once

#include "base/error.h"
#include "machine/machine.h"
#include "plan/legality.h"
#include "plan/propose.h"

namespace twill {

/// Loops around all stages of a cluster, of which the first `sliced` are computed in slices.
struct TileLoops {
  std::size_t sliced = 0;
  std::vector<ChainLevel> shared;
  Keep keep = Keep::Local;  // of what is sliced
  bool overlap = false;     // neighbouring tiles need some of the same of it
  /// By sliced stage: the share of its points that neighbouring tiles compute as well.
  std::vector<double> again = {};
  /// By sliced stage: of its slices.
  std::vector<Widths> widths = {};
};

/// Why the stage cannot be computed in slices that only this cluster reads; nothing if it can.
std::optional<Reason> why_not_sliced(const Program& program, const Stage& stage, const Site& site);

/// How many of the first stages could be sliced: they compute what only the stages after them read.
std::size_t could_be_sliced(const Program& program, std::span<const Stage* const> stages, const Site& site);

/// The better ones first. `vector`: the dimension of the first stage that is not sliced whose neighbours are
/// neighbours in memory. Or why there are none, or none that save anything.
Result<std::vector<TileLoops>, Reason> tile_loops(const Program& program, const Machine& machine,
                                                  std::span<const Stage* const> stages, std::size_t sliced,
                                                  int vector);

/// By instance, what `again` says of clusters that have these loops: 0 for those that are not sliced.
std::vector<double> computed_again(std::span<const Stage* const> stages, const ClusterLoops& loops,
                                   Keep keep);

}  // namespace twill
