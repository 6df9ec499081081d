// The clusters of polyhedral compilers: stages that share their outermost loop in isl's schedule.
#include "cluster/builder.h"
#include "program/affine_of.h"

#include <algorithm>

namespace twill {

namespace {

using poly::Affine;
using poly::Condition;

/// Steps of isl's scheduler, beyond which it takes minutes: a step takes longer the more stages there are.
unsigned long most_steps(std::size_t stages) {
  constexpr unsigned long most = 300'000, squared = 40'000'000;
  return std::min(most, squared / (stages * stages + 1));
}

Condition range_of(const Dim& dim) {
  Condition range;
  const Affine index = var_of(dim.id);
  if (const auto lo = affine_of(dim.lo)) range = range && at_most(*lo, index);
  if (const auto hi = dim.hi ? affine_of(dim.hi) : std::nullopt) range = range && less(index, *hi);
  return range;
}

poly::Domain domain_of(const Stage& stage) {
  poly::Domain domain;
  for (const Dim& dim : stage.dims) {
    domain.tuple.push_back(var_of(dim.id));
    domain.condition = domain.condition && range_of(dim);
  }
  return domain;
}

/// The instances of the producer that write what the consumer reads. False: it reads nothing, and needs the
/// producer for something else.
bool find_dependences(const std::vector<Stage>& stages, std::size_t from, std::size_t to,
                      std::vector<poly::Dependence>& found) {
  bool any = false;
  const auto add = [&](const Output& output, std::span<const Expr> subscripts) {
    Condition condition;
    // What boundary rules bend is left out: it makes the schedule much harder to find, and what is fused in
    // the end is judged by the rules of fuse/.
    for (std::size_t s = 0; s < output.at.size() && s < subscripts.size(); ++s) {
      const auto written = affine_of(output.at[s]), read = affine_of(subscripts[s]);
      if (written && read) condition = condition && equal(*written, *read);
    }
    found.push_back({from, to, std::move(condition)});
    any = true;
  };
  for (const Output& output : stages[from].outputs) {
    for_each_expr(stages[to], [&](Expr root) {
      visit(root, [&](Expr node) {
        const Read* read = as<Read>(node);
        if (read && read->array == output.array) add(output, std::span(node->args).first(read->rules.size()));
      });
    });
    for (const Output& next : stages[to].outputs) {
      if (next.into == output.array) add(output, next.at);
    }
  }
  return any;
}

}  // namespace

Clustering cluster_by_schedule(const Program& program, poly::Fusion fusion) {
  Clustering result;
  Program scratch = program;
  in_all_regions(scratch, [&](Region& region) {
    std::vector<poly::Domain> domains;
    for (const Stage& stage : region.stages) domains.push_back(domain_of(stage));
    std::vector<poly::Dependence> dependences;
    {
      Clustering unused;
      const ClusterBuilder builder(region, {}, unused);
      for (std::size_t to = 0; to < region.stages.size(); ++to) {
        for (const int from : builder.before(static_cast<int>(to))) {
          const auto first = static_cast<std::size_t>(from);
          if (!find_dependences(region.stages, first, to, dependences))
            dependences.push_back({first, to, {}});
        }
      }
    }
    Freedom freedom;
    const poly::SchedulingLimits limits{.steps = most_steps(region.stages.size())};
    const auto groups = fused_groups(domains, dependences, fusion, limits);
    for (std::size_t s = 0; s < region.stages.size(); ++s)
      freedom.cluster.push_back(groups ? (*groups)[s] : static_cast<int>(s));
    if (!groups)
      result.not_done.push_back({"too-hard",
                                 {region.stages.front().name, region.stages.back().name},
                                 "isl found no schedule in " + std::to_string(limits.steps) + " steps and " +
                                     std::to_string(limits.patience.count()) +
                                     " s: every stage has loops of its own",
                                 region.stages.front().place});
    ClusterBuilder(region, std::move(freedom), result).run();
    return false;
  });
  return result;
}

}  // namespace twill
