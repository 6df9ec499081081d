// A program as a graph for graphviz.
#pragma once

#include "plan/plan.h"
#include "program/program.h"

#include <string>

namespace twill {

/// Inputs and stages as nodes, arrays as edges; results are drawn bold, blocks as boxes around their stages.
/// With a plan, stages that share a pass are in one filled box, those that are computed where they are read
/// are dashed, and arrays that are in memory between passes are bold edges.
std::string dot_of(const Program& program, const Plan* plan = nullptr);

}  // namespace twill
