// Choices that need no solver.
#include "cluster/at.h"
#include "cluster/builder.h"
#include "cluster/program_problem.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace twill {

Clustering cluster_greedy(const Program& program) {
  Clustering result;
  Program scratch = program;
  in_all_regions(scratch, [&](Region& region) {
    // Blocks of joined stages do not exist, so every list is looked at as it is.
    ClusterBuilder(region, {}, result).run();
    return false;
  });
  return result;
}

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

namespace {

/// Pairs that may be together, in the order in which they are tried: of which one reads the other, then those
/// that read the same array.
std::vector<std::pair<int, int>> pairs_of(Region& region, Greed greed) {
  ProgramProblem of_region(region, GraphCost::Unfused);
  of_region.find_pairs(region, {});
  const ClusterProblem& problem = of_region.problem;
  std::set<std::pair<int, int>> vertical, horizontal;
  for (const ClusterProblem::Wait& wait : problem.waits)
    if (!wait.strictly) vertical.insert({wait.first, wait.second});
  for (const ClusterProblem::Data& data : problem.arrays)
    for (const ClusterProblem::Reading& x : data.readings)
      for (const ClusterProblem::Reading& y : data.readings)
        if (x.reader < y.reader && problem.may_meet(x.reader, y.reader))
          horizontal.insert({x.reader, y.reader});
  std::vector<std::pair<int, int>> pairs;
  for (const auto& set : {vertical, horizontal}) {
    const auto from = static_cast<std::ptrdiff_t>(pairs.size());
    pairs.insert(pairs.end(), set.begin(), set.end());
    if (greed == Greed::BottomUp)
      std::sort(pairs.begin() + from, pairs.end(), [](const auto& a, const auto& b) {
        return std::pair(a.second, a.first) > std::pair(b.second, b.first);
      });
  }
  return pairs;
}

/// By stage, the number of its cluster.
std::vector<int> pair_by_pair(Region& region, Greed greed) {
  std::vector<int> clusters(region.stages.size());
  std::iota(clusters.begin(), clusters.end(), 0);
  std::size_t count = clusters.size();
  std::map<int, std::set<int>>
      refused;  // by a cluster that gets no larger: those that it was not joined with
  for (const auto& [first, second] : pairs_of(region, greed)) {
    const int from = clusters[at(first)], to = clusters[at(second)];
    if (from == to || refused[from].contains(to)) continue;
    std::vector<int> tried = clusters;
    std::replace(tried.begin(), tried.end(), from, to);
    // Stages with different numbers stay apart, so as many clusters as there are numbers are the same ones.
    Clustering nothing;
    const std::vector<int> built = built_clusters(region, {.cluster = tried}, nothing);
    if (std::set<int>(built.begin(), built.end()).size() != count - 1) {
      refused[from].insert(to);
      refused[to].insert(from);
      continue;
    }
    // It is another one now.
    for (const int other : refused[to]) refused[other].erase(to);
    refused.erase(to);
    clusters = std::move(tried);
    --count;
  }
  return clusters;
}

}  // namespace

Clustering cluster_pairs(const Program& program, Greed greed) {
  Clustering result;
  Program scratch = program;
  in_all_regions(scratch, [&](Region& region) {
    std::vector<int> clusters = pair_by_pair(region, greed);
    ClusterBuilder(region, {.cluster = std::move(clusters)}, result).run();
    return false;
  });
  return result;
}

}  // namespace twill
