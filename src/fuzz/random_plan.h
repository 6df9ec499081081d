// Random legal plans of a program.
#pragma once

#include "fuzz/rng.h"
#include "machine/machine.h"
#include "plan/plan.h"

#include <map>
#include <memory>

namespace twill {

/// Starts from the default plan and replaces cluster by cluster with random ones; `elaborate` decides what is
/// legal.
Plan random_plan(const std::shared_ptr<const Program>& program, const Machine& machine, Rng& rng);

/// How often a plan uses what plans can say: "tile", "parts", "simd", "alias", …
std::map<std::string, int> features_of(const Plan& plan);

}  // namespace twill
