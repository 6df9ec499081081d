// Choices that need no solver.
#include "cluster/builder.h"

namespace twill {

namespace {

Clustering cluster_by(const Program& program, const Freedom& freedom) {
  Clustering result;
  Program scratch = program;
  in_all_regions(scratch, [&](Region& region) {
    // Blocks of joined stages do not exist, so every list is looked at as it is.
    ClusterBuilder(region, freedom, result).run();
    return false;
  });
  return result;
}

}  // namespace

Clustering cluster_greedy(const Program& program) { return cluster_by(program, {}); }

Clustering cluster_from_below(const Program& program) { return cluster_by(program, {.from_below = true}); }

Clustering cluster_none(const Program& program) {
  Clustering result;
  Program scratch = program;
  in_all_regions(scratch, [&](Region& region) {
    ClusterSets list{region.owner, region.branch, {}};
    for (const Stage& stage : region.stages) list.clusters.push_back({{stage.name}});
    result.lists.push_back(std::move(list));
    return false;
  });
  return result;
}

}  // namespace twill
