// Clusters that are computed tile by tile: which stages of a list could be one, and their plan.
//
// Two ways to decide lead here. Clusters of a list are merged one after the other, from the last one backward
// (`merge_in_tiles`), or somebody else has decided and asks whether that is possible (`tiled_clusters`).
#pragma once

#include "fuse/sets.h"
#include "machine/machine.h"
#include "plan/legality.h"
#include "plan/plan.h"
#include "program/reason.h"

#include <map>
#include <set>
#include <span>
#include <vector>

namespace twill {

/// The share of the points of a slice that may be computed again in a neighbouring tile.
inline constexpr double most_again = 0.5;

/// Which slices are asked for?
enum class Slices {
  All,
  Overlapping,   // neighbouring tiles need some of the same: stencils
  NothingTwice,  // and none computes what another one does: blocks of rows, rings
};

struct Tiled {
  Cluster cluster;
  std::vector<Reason> sliced;  // by sliced stage: in what memory, and how much of it twice
  std::vector<double> again;   // by sliced stage: that, as a share
};

/// What a stage that shares the loops of a cluster, `depth` dimensions, computes for the other ones alone
/// lives as long as an iteration.
void keep_local(std::span<const Stage* const> stages, std::size_t stage, int depth, const Site& site,
                std::vector<Store>& stores);

/// Stages, in the order in which they run, that are computed tile by tile: the last ones in tiles, the first
/// ones in the slices that these need. Nothing if they cannot be, or save nothing so: then `reasons` gets
/// one.
std::optional<Tiled> in_tiles(const Program& program, const Machine& machine,
                              std::span<const Stage* const> stages, const Site& site, Slices slices,
                              std::vector<Reason>& reasons);

/// The share of `first` that is computed again if it is computed in overlapping slices for tiles of `second`,
/// which reads it. About the two alone; nothing if there are no such tiles.
std::optional<double> again_in_tiles(const Program& program, const Machine& machine, const Stage& first,
                                     const Stage& second);

/// Stages that become one cluster.
struct StageGroup {
  std::vector<const Stage*> stages;
  std::optional<Tiled> tiles;  // its plan, if it is computed in tiles
};

std::vector<const Stage*> in_order(std::span<const StageGroup> groups);

/// Merges groups whose results later groups read with these, where tiles of them need slices of the results
/// and little is computed again: of one reader, or of all of them together. The last ones come first.
/// `reasons`: by stage and reader that stay apart, why.
void merge_in_tiles(const Program& program, const Machine& machine, const StageList& list,
                    bool inside_parallel, Slices slices, std::vector<StageGroup>& groups,
                    std::vector<Reason>& reasons);

/// Could these clusters of a list, by position, be computed in tiles? The sets of each need not be in order.
/// Nothing for those that cannot.
std::vector<std::optional<TiledSets>> tiled_clusters(const std::shared_ptr<const Program>& program,
                                                     const Machine& machine, const ClusterSets& list,
                                                     std::span<const std::size_t> asked);

/// The list with its clusters merged where slices overlap, by `merge_in_tiles`.
ClusterSets merged_in_tiles(const std::shared_ptr<const Program>& program, const Machine& machine,
                            const ClusterSets& list);

}  // namespace twill
