// Random changes to the default plan, kept if they are legal.
#include "fuzz/random_plan.h"

#include "cluster/cluster.h"
#include "plan/default_plan.h"
#include "plan/elaborate.h"
#include "plan/legality.h"
#include "program/check.h"

#include <algorithm>

namespace twill {

namespace {

class Proposer {
 public:
  Proposer(const Stage& stage, Rng& rng) : stage_(stage), rng_(rng) {}

  Cluster propose() {
    Cluster cluster;
    cluster.instances = {{stage_.name, 0}};
    std::vector<ChainLevel> levels;
    const int folded = pick_folded();
    if (folded >= 0 && rng_.chance(50)) {
      levels = register_tile(folded, cluster);
    } else {
      levels = points();
      tile(levels);
    }
    lanes(levels);
    const std::size_t before = levels.size();
    workers(levels, cluster);
    for (Tile& t : cluster.tiles) t.loop += static_cast<int>(levels.size() - before);
    for (std::size_t o = 0; o < stage_.outputs.size(); ++o) store(static_cast<int>(o), cluster);
    cluster.grain = rng_.pick({0, 0, 0, 5, 1000});
    cluster.loops = tree(levels);
    return cluster;
  }

 private:
  std::vector<ChainLevel> points() {
    std::vector<ChainLevel> levels;
    for (int d = 0; d < static_cast<int>(stage_.dims.size()); ++d) levels.push_back({d, {}, By::Seq});
    if (rng_.chance(45)) rng_.shuffle(levels);
    return levels;
  }

  /// Outer loops in steps, anywhere outside of the loop over the points.
  void tile(std::vector<ChainLevel>& levels) {
    for (int d = 0; d < static_cast<int>(stage_.dims.size()); ++d) {
      while (rng_.chance(25)) {
        const auto first =
            std::ranges::find_if(levels, [&](const ChainLevel& level) { return level.dim == d; });
        const auto at = rng_.between(0, first - levels.begin());
        levels.insert(levels.begin() + at, {d, {Cut::Kind::Step, rng_.pick({2, 3, 4, 5, 7, 16})}, By::Seq});
      }
    }
  }

  /// An output with a folded dimension, or -1.
  int pick_folded() {
    std::vector<int> found;
    for (std::size_t o = 0; o < stage_.outputs.size(); ++o) {
      const auto& combine = stage_.outputs[o].combine;
      if (std::ranges::any_of(combine, [](const Combine& c) { return is<Fold>(c); }))
        found.push_back(static_cast<int>(o));
    }
    return found.empty() ? -1 : found[static_cast<std::size_t>(rng_.below(static_cast<int>(found.size())))];
  }

  /// Some dimensions of an output in pieces, its folds inside of them, and the points of the pieces inside of
  /// those, with accumulators in local variables.
  std::vector<ChainLevel> register_tile(int output, Cluster& cluster) {
    const auto& combine = stage_.outputs[static_cast<std::size_t>(output)].combine;
    std::vector<ChainLevel> outside, cuts, inside, last;
    for (int d = 0; d < static_cast<int>(combine.size()); ++d) {
      const auto step = [&] { return Cut{Cut::Kind::Step, rng_.pick({2, 3, 4, 6, 16})}; };
      const bool is_fold = is<Fold>(combine[static_cast<std::size_t>(d)]);
      if (!is_fold && rng_.chance(25)) {
        outside.push_back({d, {}, By::Seq});
      } else if (!is_fold) {
        if (!as<Literal>(stage_.dims[static_cast<std::size_t>(d)].hi) || rng_.chance(70))
          cuts.push_back({d, step(), By::Seq});
        (rng_.chance(60) ? last : inside).push_back({d, {}, By::Seq});
      } else {
        const bool chunk = rng_.chance(25);
        if (chunk) (rng_.chance(70) ? inside : cuts).push_back({d, step(), By::Seq});
        (chunk ? last : inside).push_back({d, {}, By::Seq});
      }
    }
    if (rng_.chance(50)) rng_.shuffle(cuts);
    if (rng_.chance(30)) rng_.shuffle(inside);
    if (rng_.chance(50)) rng_.shuffle(last);
    std::vector<ChainLevel> levels = outside;
    levels.insert(levels.end(), cuts.begin(), cuts.end());
    if (levels.empty()) return points();
    cluster.tiles.push_back({0, output, static_cast<int>(levels.size()) - 1});
    levels.insert(levels.end(), inside.begin(), inside.end());
    levels.insert(levels.end(), last.begin(), last.end());
    return levels;
  }

  void lanes(std::vector<ChainLevel>& levels) {
    if (levels.empty()) return;
    if (rng_.chance(has_pieces(levels) ? 70 : 25)) {
      for (std::size_t l = levels.size(); l-- > 0 && rng_.chance(80);) {
        const Dim& dim = stage_.dims[static_cast<std::size_t>(levels[l].dim)];
        const bool cut = std::any_of(levels.begin(), levels.begin() + static_cast<std::ptrdiff_t>(l),
                                     [&](const ChainLevel& around) { return around.dim == levels[l].dim; });
        if ((!as<Literal>(dim.hi) && !cut) || levels[l].cut != Cut{}) break;
        levels[l].by = By::Unroll;
      }
    }
    if (rng_.chance(40)) {
      const auto at = std::find_if(levels.rbegin(), levels.rend(),
                                   [](const ChainLevel& level) { return level.by == By::Seq; });
      if (at != levels.rend() && at->cut == Cut{}) at->by = By::Simd;
    }
  }

  static bool has_pieces(const std::vector<ChainLevel>& levels) {
    return std::ranges::any_of(levels, [](const ChainLevel& level) { return level.cut != Cut{}; });
  }

  void workers(std::vector<ChainLevel>& levels, Cluster& cluster) {
    if (levels.empty()) return;
    if (rng_.chance(45)) {
      const int dim = rng_.chance(75) ? levels.front().dim : rng_.below(static_cast<int>(stage_.dims.size()));
      levels.insert(
          levels.begin(),
          {dim, {Cut::Kind::Parts, rng_.pick({0, 1, 2, 3, 7})}, rng_.chance(75) ? By::Core : By::Seq});
      for (std::size_t o = 0; o < stage_.outputs.size(); ++o) {
        const Combine& combine = stage_.outputs[o].combine[static_cast<std::size_t>(dim)];
        if (is<Cat>(combine)) continue;
        const bool two = is<Scan>(combine) || is<Append>(combine);
        cluster.merges.push_back(
            {0, static_cast<int>(o), two != rng_.chance(5) ? How::TwoPass : How::Partial});
      }
    }
    if (rng_.chance(45)) {
      std::size_t at = static_cast<std::size_t>(rng_.below(static_cast<int>(levels.size())));
      for (; at < levels.size() && levels[at].by == By::Seq; ++at) {
        levels[at].by = By::Core;
        if (rng_.chance(70)) break;
      }
    }
  }

  void store(int o, Cluster& cluster) {
    const Output& output = stage_.outputs[static_cast<std::size_t>(o)];
    const bool alias = output.into && rng_.chance(60);
    const bool stream = rng_.chance(30);
    if (alias || stream)
      cluster.stores.push_back({0, o, alias ? Keep::Alias : Keep::Full, stream ? rng_.pick({0, 0, 64}) : -1});
  }

  static LoopTree tree(const std::vector<ChainLevel>& levels) {
    LoopTree tree{Leaf{0}};
    for (std::size_t l = levels.size(); l-- > 0;) {
      Loop loop{{{0, levels[l].dim}}, levels[l].cut, levels[l].by, std::move(tree)};
      tree.clear();
      tree.push_back(std::move(loop));
    }
    return tree;
  }

  const Stage& stage_;
  Rng& rng_;
};

/// The greedy sets, some of them cut in two or without some of their stages.
std::vector<StageSets> random_sets(const std::shared_ptr<const Program>& program, Rng& rng) {
  std::vector<StageSets> lists = cluster_greedy(*program).lists;
  if (rng.chance(20)) return cluster_none(*program).lists;
  for (StageSets& list : lists) {
    for (std::size_t s = 0; s < list.sets.size(); ++s) {
      if (list.sets[s].size() < 2 || !rng.chance(40)) continue;
      const std::vector<StageSets> before = lists;
      std::vector<std::string> out, in;
      for (const std::string& stage : list.sets[s]) (rng.chance(50) ? out : in).push_back(stage);
      if (out.empty() || in.empty()) continue;
      const bool earlier = rng.chance(50);
      list.sets[s] = earlier ? out : in;
      list.sets.insert(list.sets.begin() + static_cast<std::ptrdiff_t>(s) + 1, earlier ? in : out);
      const auto fused = fuse_sets(program, lists);
      if (!fused || !diagnose(**fused, {.unused_inputs = false}).empty()) {
        lists = before;
        return lists;
      }
    }
  }
  return lists;
}

}  // namespace

Plan random_plan(const std::shared_ptr<const Program>& program, const Machine& machine, Rng& rng) {
  const std::vector<StageSets> sets = random_sets(program, rng);
  const std::shared_ptr<const Program> fused = *fuse_sets(program, sets);
  Plan plan = default_plan(program, machine, sets).plan;
  std::map<std::string, const Stage*> stages;
  for_each_stage(fused->stages, [&](const Stage& stage) { stages[stage.name] = &stage; });
  const auto keep_if_legal = [&](auto&& change) {
    Plan candidate = plan;
    change(candidate);
    if (!elaborate(program, machine, candidate)) return false;
    plan = std::move(candidate);
    return true;
  };
  // Innermost blocks last: what is parallel outside decides what can be inside.
  for (std::size_t b = 0; b < plan.blocks.size(); ++b) {
    for (std::size_t c = 0; c < plan.blocks[b].clusters.size(); ++c) {
      if (rng.chance(10)) continue;
      const std::vector<Instance> instances = plan.blocks[b].clusters[c].instances;
      Proposer proposer(*stages.at(instances.back().stage), rng);
      for (int tries = 0; tries < 12; ++tries) {
        Cluster cluster = proposer.propose();
        cluster.instances = instances;
        if (keep_if_legal([&](Plan& p) { p.blocks[b].clusters[c] = cluster; })) break;
      }
    }
    const int count = static_cast<int>(plan.blocks[b].clusters.size());
    for (int k = 0; k + 1 < count; ++k) {
      if (!rng.chance(30)) continue;
      const auto at = static_cast<std::size_t>(k);
      keep_if_legal([&](Plan& p) { std::swap(p.blocks[b].clusters[at], p.blocks[b].clusters[at + 1]); });
    }
  }
  return plan;
}

std::map<std::string, int> features_of(const Plan& plan) {
  std::map<std::string, int> features;
  for (const BlockPlan& block : plan.blocks) {
    for (const Cluster& cluster : block.clusters) {
      ++features["clusters"];
      if (cluster.instances.size() > 1) ++features["several stages"];
      const auto levels = chain_of(cluster);
      if (!levels) continue;
      int previous = -1;
      bool reordered = false;
      for (const ChainLevel& level : *levels) {
        if (level.cut.kind == Cut::Kind::Parts)
          ++features["parts"];
        else if (level.cut.count > 1)
          ++features["tile"];
        if (level.by != By::Seq) ++features[std::string("by ") + std::string(name_of(level.by))];
        if (level.cut == Cut{}) {
          reordered = reordered || level.dim < previous;
          previous = level.dim;
        }
      }
      if (reordered) ++features["other order of loops"];
      for (const Store& store : cluster.stores) {
        if (store.keep == Keep::Alias) ++features["alias"];
        if (store.stream_above >= 0) ++features["stream"];
      }
      if (!cluster.tiles.empty()) ++features["tile in registers"];
      for (const Merge& merge : cluster.merges) ++features["merge " + std::string(name_of(merge.how))];
    }
  }
  return features;
}

}  // namespace twill
