// The pipeline: one table, in the order in which data moves.
#include "cluster/cluster.h"
#include "driver/compile.h"
#include "plan/default_plan.h"
#include "simplify/simplify.h"

#include <array>

namespace twill {

namespace {

void simplify_program(Compilation& c) {
  if (!c.options.simplify) return;
  Simplified simplified = simplify(c.program);
  c.program = std::move(simplified.program);
  c.fused = std::move(simplified.done);
  c.apart = std::move(simplified.not_done);
}

Clustering clusters(const Compilation& c) {
  switch (c.options.clusters) {
    case Clusters::None: return {};
    case Clusters::Greedy: return cluster_greedy(*c.program);
    case Clusters::FromBelow: return cluster_from_below(*c.program);
    case Clusters::MinFuse: return cluster_by_schedule(*c.program, poly::Fusion::Min);
    case Clusters::SmartFuse: return cluster_by_schedule(*c.program, poly::Fusion::Smart);
    case Clusters::MaxFuse: return cluster_by_schedule(*c.program, poly::Fusion::Max);
    case Clusters::Optimal:
      return cluster_optimal(*c.program,
                             c.options.cost ? ClusterCost(*c.options.cost)
                                            : ClusterCost(ByTime{time_model_of(c.machine), c.options.known}));
  }
  return {};
}

void plan(Compilation& c) {
  if (c.options.plan) {
    c.plan = c.options.plan;
    return;
  }
  Clustering clustering = clusters(c);
  if (c.options.clusters == Clusters::Optimal) c.cluster_gap = clustering.gap();
  c.fused.insert(c.fused.end(), clustering.done.begin(), clustering.done.end());
  // What the last choice says about two stages counts more than what was said before.
  c.apart.insert(c.apart.begin(), clustering.not_done.begin(), clustering.not_done.end());
  const bool by_isl = c.options.clusters >= Clusters::MinFuse;
  Planned planned =
      default_plan(c.program, c.machine, clustering.lists, by_isl ? Slicing::Never : Slicing::WhereItPays);
  c.fused.insert(c.fused.end(), planned.sliced.begin(), planned.sliced.end());
  c.plan = std::move(planned.plan);
  c.reasons = std::move(planned.reasons);
}

void elaborate_plan(Compilation& c) {
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
    PipelinePass{"plan", "decides passes, loops, cores and memory: the given plan, or the default one", plan},
    PipelinePass{"elaborate", "derives what follows from the plan, or refuses it", elaborate_plan},
    PipelinePass{"nest", "loops, buffers and statements", lower},
    PipelinePass{"c", "C source", print},
    PipelinePass{"kernel", "compiles the source, or finds it in the cache, and loads it", load},
};

}  // namespace

std::span<const PipelinePass> pipeline() { return passes; }

}  // namespace twill
