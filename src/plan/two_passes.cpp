#include "plan/two_passes.h"

#include <algorithm>

namespace twill {

FirstPass first_pass_of(std::span<const Stage* const> stages, const Cluster& cluster) {
  return [stages, &cluster](std::size_t s, std::size_t o) {
    const auto is_meant = [&](const Merge& merge) {
      return merge.instance == static_cast<int>(s) && merge.output == static_cast<int>(o);
    };
    const auto merge = std::ranges::find_if(cluster.merges, is_meant);
    const bool merges = merge != cluster.merges.end();
    if (std::ranges::any_of(stages[s]->outputs[o].combine, is<Append>))
      return merges && merge->how == How::Partial ? InFirstPass::Nothing : InFirstPass::Counts;
    return merges && merge->how == How::TwoPass ? InFirstPass::Computes : InFirstPass::Nothing;
  };
}

std::optional<Reason> why_not_learnt(const Program& program, std::span<const Stage* const> stages,
                                     const Cluster& cluster) {
  const FirstPass does = first_pass_of(stages, cluster);
  const auto array = not_learnt_yet(stages, does, [&](std::size_t s, std::size_t o) {
    return std::ranges::any_of(stages[s]->outputs[o].combine, is<Scan>) &&
           does(s, o) == InFirstPass::Computes;
  });
  if (!array) return std::nullopt;
  return Reason{"illegal-merge",
                {stages.back()->name},
                "the first of two passes would need '" + program[*array].name + "', which it is to learn",
                stages.back()->place};
}

}  // namespace twill
