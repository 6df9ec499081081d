// The way from a program to a kernel: one table of passes (pipeline.cpp), run, timed and verified here.
#pragma once

#include "cluster/cluster.h"
#include "plan/elaborate.h"
#include "program/reason.h"
#include "run/kernel.h"

#include <optional>
#include <string_view>

namespace twill {

/// Which stages share a pass.
enum class Clusters { None, Greedy, TopDown, BottomUp, Optimal, MinFuse, SmartFuse, MaxFuse };

struct Options {
  bool simplify =
      true;  // fuse and remove what needs no decision; without it, plans are about the program itself
  Clusters clusters = Clusters::Optimal;
  std::optional<GraphCost> cost;  // what is least where they are optimal; nothing: the predicted time …
  KnownSizes known;               // … for these sizes
  SolveOptions solve;             // how the best ones are looked for
  std::optional<Plan> plan;       // instead of the default plan; refused with E0402 if it is illegal
  bool keep_plans = false;        // the best ones, in the cache; reasons are not kept
  CompileOptions compiler;
  std::string stop_after;  // name of a pass; empty: all of them
};

/// What the pipeline hands from pass to pass; each pass fills in the next part.
struct Compilation {
  std::shared_ptr<const Program> source_program;  // as it was given
  std::shared_ptr<const Program> program;         // simplified
  Machine machine;
  Options options;
  std::optional<Plan> plan;
  std::vector<Reason> fused, apart;  // stages that became one or nothing, and those that stayed apart
  std::optional<Proof> proof;        // of the clusters, if the best ones were asked for
  double cluster_ms = 0;             // how long they took to choose
  std::vector<Reason> reasons;       // what else was decided, and what was not possible
  std::optional<Schedule> schedule;
  std::optional<nest::Nest> nest;
  std::optional<CSource> source;
  std::optional<Kernel> kernel;
  std::vector<std::pair<std::string_view, double>> pass_ms;  // time of every pass
};

struct PipelinePass {
  std::string_view name;
  std::string_view description;
  void (*run)(Compilation&);
};

/// The passes in order.
std::span<const PipelinePass> pipeline();

/// Runs the pipeline on a checked program.
Compilation compile(std::shared_ptr<const Program> program, const Machine& machine, Options options = {});

/// Just the kernel, with the default plan, for the machine we run on.
Kernel compile(const Program& program);

}  // namespace twill
