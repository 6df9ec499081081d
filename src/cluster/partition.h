// A way to cut a fusion graph into clusters, what it costs, and why it may be wrong.
#pragma once

#include "cluster/graph_facts.h"

#include <array>

namespace twill {

/// Nodes with the same number share a loop. Clusters run in the order of their numbers; inputs are in 0. The
/// order of a node is the one in which it makes its array (of a scatter: in which it reads).
struct Partition {
  std::vector<int> cluster, order;
};

/// The five costs of the literature.
enum class GraphCost {
  Clusters,    // (a) the highest number of a cluster
  Unfused,     // (b) pairs that could share a loop by themselves and do not
  Manifest,    // (c) arrays that are made in memory
  Reads,       // (d) arrays read, once for every cluster and order
  ReadsWrites  // (e) = (c) + (d)
};
inline constexpr std::array graph_costs = {GraphCost::Clusters, GraphCost::Unfused, GraphCost::Manifest,
                                           GraphCost::Reads, GraphCost::ReadsWrites};
char letter_of(GraphCost cost);

/// Which pairs a greedy choice puts together first: those of the first nodes, or those of the last ones.
enum class Greed { TopDown, BottomUp };

/// What is wrong with it; nothing if it can be run.
std::optional<std::string> why_invalid(const FusionGraph& graph, const Partition& partition);

double cost_of(const GraphFacts& facts, const Partition& partition, GraphCost cost);

/// Does the array have to be in memory?
std::vector<bool> manifest_of(const GraphFacts& facts, const Partition& partition);

/// The order in which an edge's array is read; -1: in none.
int order_of_read(const FusionGraph& graph, const Partition& partition, const GraphEdge& edge);

/// Sets of nodes become clusters, which get their numbers and orders; nothing if they cannot be run. `set`:
/// by node; inputs do not count. Where both directions are possible, `right` says by node which one. Clusters
/// that do not need each other get the same number if `as_few` numbers as possible are wanted.
std::optional<Partition> complete(const GraphFacts& facts, std::span<const int> set,
                                  const std::vector<bool>& right = {}, bool as_few = false);

/// The clusters as loops: nodes that are neither connected nor read the same array in the same order do not
/// share one, although they may share a number.
std::vector<std::vector<int>> passes_of(const FusionGraph& graph, const Partition& partition);

}  // namespace twill
