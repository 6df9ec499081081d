// The pipeline: one table, in the order in which data moves.
#include "cluster/cluster.h"
#include "driver/compile.h"
#include "driver/kept_plans.h"
#include "driver/tiling.h"
#include "plan/default_plan.h"
#include "plan/predict.h"
#include "simplify/layout.h"
#include "simplify/simplify.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <set>

namespace twill {

namespace {

void simplify_program(Compilation& c) {
  if (!c.options.simplify) return;
  Simplified simplified = simplify(c.program);
  c.program = std::move(simplified.program);
  c.fused = std::move(simplified.done);
  c.apart = std::move(simplified.not_done);
}

void lay_out_arrays(Compilation& c) {
  if (!c.options.simplify) return;
  Simplified arranged = lay_out(c.program);
  c.program = std::move(arranged.program);
  c.reasons = std::move(arranged.done);
}

/// Rounds of thinking again about what is in memory.
constexpr int most_rounds = 3;

/// Are the clusters those of which the predicted time is least?
bool is_by_time(const Options& options) { return options.clusters == Clusters::Optimal && !options.cost; }

Clustering clusters(const Compilation& c, const Program& program, Clusters how) {
  // The time limit is one for all choices.
  SolveOptions solve = c.options.solve;
  solve.seconds -= 1e-3 * c.cluster_ms;
  switch (how) {
    case Clusters::None: return {};
    case Clusters::Greedy: return cluster_greedy(program);
    case Clusters::TopDown: return cluster_pairs(program, Greed::TopDown);
    case Clusters::BottomUp: return cluster_pairs(program, Greed::BottomUp);
    case Clusters::MinFuse: return cluster_by_schedule(program, poly::Fusion::Min);
    case Clusters::SmartFuse: return cluster_by_schedule(program, poly::Fusion::Smart);
    case Clusters::MaxFuse: return cluster_by_schedule(program, poly::Fusion::Max);
    case Clusters::Optimal: {
      if (c.options.cost) return cluster_optimal(program, *c.options.cost, solve);
      const PlannedTiling tiling(c.program, c.machine);
      return cluster_optimal(program, ByTime{time_model_of(c.machine), c.options.known, &tiling}, solve);
    }
  }
  return {};
}

/// A choice of clusters, and what becomes of it.
struct Choice {
  Clustering clustering;
  Planned planned;
};

/// Does the plan have slices that the lists do not know of?
bool more_is_sliced(std::span<const ClusterSets> lists, const Plan& plan) {
  std::set<std::string> known;
  for (const ClusterSets& list : lists) known.insert(list.sliced.begin(), list.sliced.end());
  return std::ranges::any_of(
      sets_of(plan), [&](const ClusterSets& list) { return !std::ranges::includes(known, list.sliced); });
}

/// `rest`: the program, perhaps without stages that are computed again where they are read.
Choice choose(Compilation& c, const Program& rest, Clusters how) {
  const auto start = std::chrono::steady_clock::now();
  Clustering clustering = clusters(c, rest, how);
  c.cluster_ms += 1e3 * std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  // isl's schedules are what they are.
  std::optional<Slices> slices;
  if (c.options.clusters < Clusters::MinFuse) slices = Slices::All;
  // Slices that overlap have been chosen. Those of which nothing is computed twice cost nothing.
  if (is_by_time(c.options)) slices = Slices::NothingTwice;
  Planned planned = default_plan(c.program, c.machine, clustering.lists, slices);
  if (clustering.proof) clustering.proof->before_slices = more_is_sliced(clustering.lists, planned.plan);
  return {std::move(clustering), std::move(planned)};
}

/// What is in memory between passes is known when all is planned. What it would take less time to compute
/// again is left out, and all is planned anew.
void think_again(Compilation& c, Choice& choice) {
  const TimeModel model = time_model_of(c.machine);
  std::set<std::string> left_out;
  for (int round = 0; round < most_rounds; ++round) {
    const auto schedule = elaborate(c.program, c.machine, choice.planned.plan);
    if (!schedule) return;  // that is found out again, and said
    const auto better = better_recomputed(*c.program, *schedule, model, c.options.known);
    if (better.empty()) return;
    std::set<std::string> more = left_out;
    for (const Reason& reason : better) more.insert(reason.stages.begin(), reason.stages.end());
    const auto rest = without_stages(c.program, more);
    if (!rest) return;
    Choice other = choose(c, *rest, c.options.clusters);
    const auto others = elaborate(c.program, c.machine, other.planned.plan);
    if (!others ||
        predicted_time(*others, model, c.options.known) >= predicted_time(*schedule, model, c.options.known))
      return;
    choice = std::move(other);
    left_out = std::move(more);
    c.fused.insert(c.fused.end(), better.begin(), better.end());
  }
}

/// Does the plan name the stages in different clusters?
bool are_apart(const Plan& plan, const std::vector<std::string>& stages) {
  std::set<const Cluster*> where;
  for (const BlockPlan& block : plan.blocks)
    for (const Cluster& cluster : block.clusters)
      for (const Instance& instance : cluster.instances)
        for (const std::string& stage : instance.stages)
          if (std::ranges::find(stages, stage) != stages.end()) where.insert(&cluster);
  return where.size() > 1;
}

/// Of two stages that do not meet point by point, slices are what could be: why there are none says more than
/// that they do not.
void say_why_whole(std::vector<Reason> whole, std::vector<Reason>& apart) {
  std::erase_if(whole, [&](const Reason& reason) {
    const auto known = std::ranges::find(apart, reason.stages, &Reason::stages);
    return known != apart.end() && known->code != "other-element" && known->code != "range" &&
           known->code != "scalar";
  });
  apart.insert(apart.begin(), whole.begin(), whole.end());
}

void choose_plan(Compilation& c) {
  Choice choice = choose(c, *c.program, c.options.clusters);
  if (is_by_time(c.options) || c.options.clusters == Clusters::Greedy) think_again(c, choice);
  auto& [clustering, planned] = choice;
  c.proof = clustering.proof;
  // What was to be together may have no loops.
  if (!planned.apart.empty())
    std::erase_if(clustering.done,
                  [&](const Reason& reason) { return are_apart(planned.plan, reason.stages); });
  c.fused.insert(c.fused.end(), clustering.done.begin(), clustering.done.end());
  // What the last choice says about two stages counts more than what was said before.
  c.apart.insert(c.apart.begin(), clustering.not_done.begin(), clustering.not_done.end());
  c.apart.insert(c.apart.begin(), planned.apart.begin(), planned.apart.end());
  say_why_whole(planned.whole, c.apart);
  c.fused.insert(c.fused.end(), planned.sliced.begin(), planned.sliced.end());
  // Nor is there anything to say about a stage that is not run.
  std::set<std::string> left_out;
  for (const Reason& reason : c.fused)
    if (reason.code == "recomputed") left_out.insert(reason.stages.begin(), reason.stages.end());
  std::erase_if(c.apart, [&](const Reason& reason) {
    return std::ranges::any_of(reason.stages, [&](const std::string& s) { return left_out.contains(s); });
  });
  c.plan = std::move(planned.plan);
  c.reasons.insert(c.reasons.end(), planned.reasons.begin(), planned.reasons.end());
}

void plan(Compilation& c) {
  if (c.options.plan) {
    c.plan = c.options.plan;
    return;
  }
  std::optional<KeptPlans> kept;
  if (c.options.keep_plans && c.options.clusters == Clusters::Optimal) kept.emplace(c);
  if (auto found = kept ? kept->find() : std::nullopt)
    if (auto schedule = elaborate(c.program, c.machine, *found)) {
      c.plan = std::move(found);
      c.schedule = std::move(schedule).value();
      return;
    }
  choose_plan(c);
  if (kept) kept->add(*c.plan);
}

void elaborate_plan(Compilation& c) {
  if (c.schedule) return;  // of a plan that was kept
  auto result = elaborate(c.program, c.machine, *c.plan);
  if (!result) {
    const std::string why = "the plan is illegal (" + result.why().code + "): " + result.why().text;
    ensure(c.options.plan.has_value(), ("of its own making, " + why).c_str());
    fail(Fault::User, "E0402", result.why().place, why,
         "`twill show --as plan` writes the default plan to start from");
  }
  c.schedule = std::move(result).value();
}

void lower(Compilation& c) { c.nest = build_nest(*c.schedule); }

void print(Compilation& c) { c.source = print_c(*c.nest); }

void load(Compilation& c) {
  CompileOptions options = c.options.compiler;
  options.flags = kernel_flags(c.program->strict);
  // What goes wrong is explained in terms of the program as it was written.
  c.kernel.emplace(c.source_program, *c.source, options);
}

constexpr std::array passes = {
    PipelinePass{"simplify", "rewrites the program: less to compute, fewer stages, the same meaning",
                 simplify_program},
    PipelinePass{"layout", "stores arrays between stages as lanes read them", lay_out_arrays},
    PipelinePass{"plan", "decides passes, loops, cores and memory: the given plan, or the default one", plan},
    PipelinePass{"elaborate", "derives what follows from the plan, or refuses it", elaborate_plan},
    PipelinePass{"nest", "loops, buffers and statements", lower},
    PipelinePass{"c", "C source", print},
    PipelinePass{"kernel", "compiles the source, or finds it in the cache, and loads it", load},
};

}  // namespace

std::span<const PipelinePass> pipeline() { return passes; }

}  // namespace twill
