// Random legal plans of a program.
#pragma once

#include "fuse/sets.h"
#include "fuzz/rng.h"
#include "machine/machine.h"
#include "plan/plan.h"

#include <map>
#include <memory>

namespace twill {

/// Can the sets be joined, and those of a cluster share a loop?
bool can_cluster(const std::shared_ptr<const Program>& program, std::span<const ClusterSets> lists);

/// Starts from the default plan and replaces cluster by cluster with random ones; `elaborate` decides what is
/// legal.
Plan random_plan(const std::shared_ptr<const Program>& program, const Machine& machine, Rng& rng);

/// How often a plan uses what plans can say: "tile", "parts", "simd", "alias", …
std::map<std::string, int> features_of(const Plan& plan);

}  // namespace twill
