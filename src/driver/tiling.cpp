#include "driver/tiling.h"

#include "plan/in_tiles.h"

namespace twill {

std::optional<double> PlannedTiling::again(const Program& program, const Stage& first,
                                           const Stage& second) const {
  return again_in_tiles(program, machine_, first, second);
}

std::vector<std::optional<TiledSets>> PlannedTiling::tiles(const ClusterSets& list,
                                                           std::span<const std::size_t> clusters) const {
  return tiled_clusters(program_, machine_, list, clusters);
}

ClusterSets PlannedTiling::merged(const ClusterSets& list) const {
  return merged_in_tiles(program_, machine_, list);
}

}  // namespace twill
