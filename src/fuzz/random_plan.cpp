// Random changes to the default plan, kept if they are legal.
#include "fuzz/random_plan.h"

#include "cluster/cluster.h"
#include "fuse/share.h"
#include "plan/default_plan.h"
#include "plan/elaborate.h"
#include "plan/legality.h"
#include "program/check.h"

#include <algorithm>

namespace twill {

namespace {

class Proposer {
 public:
  /// `shared`: so many outermost dimensions are not for this stage alone to decide about.
  Proposer(const Stage& stage, Rng& rng, int shared = 0)
      : stage_(stage), rng_(rng), shared_(shared), grows_(rng.chance(40)) {}

  /// Arrays whose memory the outputs may take over.
  void may_take_over(std::vector<std::string> arrays) { over_ = std::move(arrays); }

  Cluster propose() {
    Cluster cluster;
    cluster.instances = {{{stage_.name}, 0}};
    std::vector<ChainLevel> levels;
    const int folded = pick_folded();
    if (folded >= 0 && rng_.chance(50)) {
      levels = register_tile(folded, cluster);
    } else {
      levels = points();
      tile(levels);
      if (rng_.chance(20)) rows(levels);
    }
    lanes(levels);
    const std::size_t before = levels.size();
    workers(levels, cluster);
    growing(cluster);
    for (Tile& t : cluster.tiles) t.loop += static_cast<int>(levels.size() - before);
    for (std::size_t o = 0; o < stage_.outputs.size(); ++o) store(static_cast<int>(o), cluster);
    cluster.grain = rng_.pick({0, 0, 0, 5, 1000});
    cluster.loops = tree_of({0, {levels}});
    return cluster;
  }

  /// The loops inside of the shared ones.
  std::vector<ChainLevel> inside() {
    std::vector<ChainLevel> levels = points();
    tile(levels);
    lanes(levels);
    return levels;
  }

  /// What becomes of the outputs inside of shared loops; `cut`: the dimension that is cut into parts, or -1.
  /// `local`: how often, in percent, they live inside of the loops only.
  void outputs(int instance, int cut, Cluster& cluster, int local = 70) {
    Cluster alone;
    if (cut >= 0) merges(cut, alone);
    growing(alone);
    for (std::size_t o = 0; o < stage_.outputs.size(); ++o) {
      if (rng_.chance(local))
        alone.stores.push_back({0, static_cast<int>(o), Keep::Local, -1});
      else
        store(static_cast<int>(o), alone);
    }
    for (Store& store : alone.stores) store.instance = instance;
    for (Merge& merge : alone.merges) merge.instance = instance;
    cluster.stores.insert(cluster.stores.end(), alone.stores.begin(), alone.stores.end());
    cluster.merges.insert(cluster.merges.end(), alone.merges.begin(), alone.merges.end());
  }

 private:
  std::vector<ChainLevel> points() {
    std::vector<ChainLevel> levels;
    for (int d = shared_; d < static_cast<int>(stage_.dims.size()); ++d) levels.push_back({d, {}, By::Seq});
    if (rng_.chance(45)) rng_.shuffle(levels);
    return levels;
  }

  /// Outer loops in steps, anywhere outside of the loop over the points.
  void tile(std::vector<ChainLevel>& levels) {
    for (int d = shared_; d < static_cast<int>(stage_.dims.size()); ++d) {
      while (rng_.chance(25)) {
        const auto first =
            std::ranges::find_if(levels, [&](const ChainLevel& level) { return level.dim == d; });
        const auto at = rng_.between(0, first - levels.begin());
        levels.insert(levels.begin() + at, {d, {Cut::Kind::Step, rng_.pick({2, 3, 4, 5, 7, 16})}, By::Seq});
      }
    }
  }

  /// Several points of a dimension side by side, inside of all other loops.
  void rows(std::vector<ChainLevel>& levels) {
    if (levels.size() < 2) return;
    const auto at = static_cast<std::size_t>(rng_.below(static_cast<int>(levels.size()) - 1));
    if (levels[at].cut != Cut{}) return;
    const int dim = levels[at].dim;
    levels[at].cut = {Cut::Kind::Step, rng_.pick({2, 3, 4})};
    levels.push_back({dim, {}, By::Unroll});
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
      merges(dim, cluster);
    }
    if (rng_.chance(45)) {
      std::size_t at = static_cast<std::size_t>(rng_.below(static_cast<int>(levels.size())));
      for (; at < levels.size() && levels[at].by == By::Seq; ++at) {
        levels[at].by = By::Core;
        if (rng_.chance(70)) break;
      }
    }
  }

  void merges(int dim, Cluster& cluster) {
    for (std::size_t o = 0; o < stage_.outputs.size(); ++o) {
      const Combine& combine = stage_.outputs[o].combine[static_cast<std::size_t>(dim)];
      if (is<Cat>(combine)) continue;
      const bool two = is<Scan>(combine) || (is<Append>(combine) && !grows_);
      cluster.merges.push_back({0, static_cast<int>(o), two != rng_.chance(5) ? How::TwoPass : How::Partial});
    }
  }

  /// What is appended without parts may grow as well.
  void growing(Cluster& cluster) {
    if (!grows_ || !cluster.merges.empty()) return;
    for (std::size_t o = 0; o < stage_.outputs.size(); ++o)
      if (std::ranges::any_of(stage_.outputs[o].combine, is<Append>))
        cluster.merges.push_back({0, static_cast<int>(o), How::Partial});
  }

  void store(int o, Cluster& cluster) {
    const Output& output = stage_.outputs[static_cast<std::size_t>(o)];
    const bool alias = output.into && rng_.chance(60);
    const bool stream = rng_.chance(30);
    const std::int64_t stream_above = stream ? rng_.pick({0, 0, 64, 4096}) : -1;
    if (!output.into && !over_.empty() && rng_.chance(40))
      cluster.stores.push_back({0, o, Keep::Alias, stream_above, rng_.pick(over_)});
    else if (alias || stream)
      cluster.stores.push_back({0, o, alias ? Keep::Alias : Keep::Full, stream_above});
  }

  const Stage& stage_;
  Rng& rng_;
  int shared_;
  bool grows_;  // what is appended goes into buffers that grow
  std::vector<std::string> over_;
};

/// Takes some stages out of a set, into a cluster of their own before or after it.
void split_set(std::vector<std::vector<StageSet>>& clusters, std::size_t c, Rng& rng) {
  const auto set = static_cast<std::size_t>(rng.below(static_cast<int>(clusters[c].size())));
  StageSet out, in;
  for (const std::string& stage : clusters[c][set]) (rng.chance(50) ? out : in).push_back(stage);
  if (out.empty() || in.empty()) return;
  clusters[c][set] = in;
  clusters.insert(clusters.begin() + static_cast<std::ptrdiff_t>(c) + (rng.chance(50) ? 0 : 1), {out});
}

/// Takes a stage out of all sets: who reads it computes it again.
void leave_out(std::vector<std::vector<StageSet>>& clusters, Rng& rng) {
  auto& cluster = clusters[static_cast<std::size_t>(rng.below(static_cast<int>(clusters.size())))];
  StageSet& set = cluster[static_cast<std::size_t>(rng.below(static_cast<int>(cluster.size())))];
  set.erase(set.begin() + rng.below(static_cast<int>(set.size())));
  std::erase_if(cluster, [](const StageSet& s) { return s.empty(); });
  std::erase_if(clusters, [](const std::vector<StageSet>& c) { return c.empty(); });
}

/// The greedy clusters, changed: stages that are left out, sets that are cut in two, clusters that are
/// several or one.
std::vector<ClusterSets> random_clusters(const std::shared_ptr<const Program>& program, Rng& rng) {
  if (rng.chance(10)) return cluster_none(*program).lists;
  std::vector<ClusterSets> lists = cluster_greedy(*program).lists;
  for (ClusterSets& list : lists) {
    auto& clusters = list.clusters;
    while (!clusters.empty() && rng.chance(50)) {
      const std::vector<std::vector<StageSet>> before = clusters;
      leave_out(clusters, rng);
      if (!can_cluster(program, lists)) clusters = before;
    }
    for (std::size_t c = 0; c < clusters.size(); ++c) {
      const std::vector<ClusterSets> before = lists;
      if (rng.chance(30)) split_set(clusters, c, rng);
      if (clusters[c].size() > 1 && rng.chance(15)) {
        std::vector<StageSet> last{clusters[c].back()};
        clusters[c].pop_back();
        clusters.insert(clusters.begin() + static_cast<std::ptrdiff_t>(c) + 1, std::move(last));
      }
      if (!can_cluster(program, lists)) lists = before;
    }
    for (std::size_t c = 0; c + 1 < clusters.size(); ++c) {
      if (!rng.chance(50)) continue;
      const std::vector<std::vector<StageSet>> before = clusters;
      clusters[c].insert(clusters[c].end(), clusters[c + 1].begin(), clusters[c + 1].end());
      clusters.erase(clusters.begin() + static_cast<std::ptrdiff_t>(c) + 1);
      if (!can_cluster(program, lists)) clusters = before;
    }
  }
  return lists;
}

/// Random loops for stages that share the outer ones.
Cluster random_together(const Program& program, const std::vector<const Stage*>& stages, Rng& rng) {
  const int depth = static_cast<int>(rng.between(1, most_shared(program, stages)));
  Cluster cluster;
  cluster.grain = rng.pick({0, 0, 0, 5, 1000});
  std::vector<ChainLevel> shared;
  for (int d = 0; d < depth; ++d) shared.push_back({d, {}, By::Seq});
  if (rng.chance(25)) rng.shuffle(shared);
  int cut = -1;
  if (rng.chance(50)) {
    cut = rng.chance(80) ? shared.front().dim : rng.below(depth);
    shared.insert(shared.begin(),
                  {cut, {Cut::Kind::Parts, rng.pick({0, 1, 2, 3, 7})}, rng.chance(75) ? By::Core : By::Seq});
  } else if (rng.chance(40)) {
    shared.front().by = By::Core;
  }
  ClusterLoops loops{shared.size(), {}};
  for (std::size_t i = 0; i < stages.size(); ++i) {
    Proposer proposer(*stages[i], rng, depth);
    loops.chains.push_back(shared);
    for (const ChainLevel& level : proposer.inside()) loops.chains.back().push_back(level);
    proposer.outputs(static_cast<int>(i), cut, cluster);
  }
  cluster.loops = tree_of(loops);
  return cluster;
}

/// Could all but the last stage be sliced, for what they are?
bool can_slice(const Program& program, const std::vector<const Stage*>& stages) {
  return std::all_of(stages.begin(), stages.end() - 1,
                     [&](const Stage* stage) { return !why_not_slice(program, *stage); });
}

/// Some outputs of a stage live as long as an iteration.
void hand_on(const Stage& stage, int instance, Rng& rng, Cluster& cluster) {
  for (int o = 0; o < static_cast<int>(stage.outputs.size()); ++o) {
    if (!rng.chance(75)) continue;
    std::erase_if(cluster.stores, [&](const Store& s) { return s.instance == instance && s.output == o; });
    cluster.stores.push_back({instance, o, Keep::Local, -1});
  }
}

/// Random tiles of the last stages, with slices of those before.
Cluster random_tiles(const std::vector<const Stage*>& stages, Rng& rng) {
  const auto sliced = static_cast<std::size_t>(rng.chance(75) ? static_cast<int>(stages.size()) - 1
                                                              : rng.below(static_cast<int>(stages.size())));
  const Stage& leader = *stages[sliced];
  std::vector<ChainLevel> shared;
  std::set<int> taken;
  std::size_t most = leader.dims.size();
  for (std::size_t i = sliced; i < stages.size(); ++i) most = std::min(most, stages[i]->dims.size());
  for (int d = 0; d < static_cast<int>(most); ++d) {
    if (!rng.chance(70)) continue;
    shared.push_back({d, {Cut::Kind::Step, rng.pick({1, 1, 2, 3, 4, 8, 16})}, By::Seq});
    if (shared.back().cut.count == 1) taken.insert(d);
  }
  if (rng.chance(40)) rng.shuffle(shared);
  Cluster cluster;
  int cut = -1;
  if (!shared.empty() && rng.chance(50)) {
    cut = rng.chance(70) ? shared.front().dim : shared.back().dim;
    shared.insert(shared.begin(),
                  {cut, {Cut::Kind::Parts, rng.pick({0, 1, 2, 3})}, rng.chance(75) ? By::Core : By::Seq});
  } else if (!shared.empty() && rng.chance(30)) {
    shared.front().by = By::Core;
  }
  ClusterLoops loops{shared.size(), {}, std::vector<bool>(stages.size(), false)};
  for (std::size_t i = 0; i < stages.size(); ++i) {
    Proposer proposer(*stages[i], rng);
    std::vector<ChainLevel> own = proposer.inside();
    if (i < sliced) {
      loops.sliced[i] = true;
      const Keep keep = rng.chance(50) ? Keep::Ring : Keep::Local;
      for (std::size_t o = 0; o < stages[i]->outputs.size(); ++o)
        cluster.stores.push_back({static_cast<int>(i), static_cast<int>(o), keep, -1});
      loops.chains.push_back(std::move(own));
    } else {
      std::erase_if(own, [&](const ChainLevel& level) { return taken.contains(level.dim); });
      loops.chains.push_back(shared);
      loops.chains.back().insert(loops.chains.back().end(), own.begin(), own.end());
      proposer.outputs(static_cast<int>(i), cut, cluster, 0);
      if (i + 1 < stages.size() && rng.chance(40)) hand_on(*stages[i], static_cast<int>(i), rng, cluster);
    }
  }
  cluster.grain = rng.pick({0, 0, 0, 5, 1000});
  cluster.loops = tree_of(loops);
  return cluster;
}

}  // namespace

bool can_cluster(const std::shared_ptr<const Program>& program, std::span<const ClusterSets> lists) {
  const auto fused = fuse_clusters(program, lists);
  if (!fused || !diagnose(**fused, rewritten).empty()) return false;
  std::map<std::string, const Stage*> by_name;
  for_each_stage((*fused)->stages, [&](const Stage& stage) { by_name[stage.name] = &stage; });
  for (const ClusterSets& list : lists) {
    for (const std::vector<StageSet>& cluster : list.clusters) {
      std::vector<const Stage*> stages;
      for (const StageSet& set : cluster) stages.push_back(by_name.at(set.back()));
      if (stages.size() > 1 && most_shared(**fused, stages) == 0) return false;
    }
  }
  return true;
}

Plan random_plan(const std::shared_ptr<const Program>& program, const Machine& machine, Rng& rng) {
  const std::vector<ClusterSets> clusters = random_clusters(program, rng);
  const std::shared_ptr<const Program> fused = *fuse_clusters(program, clusters);
  Plan plan = default_plan(program, machine, clusters).plan;
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
      std::vector<const Stage*> members;
      for (const Instance& instance : instances) members.push_back(stages.at(instance.name()));
      for (int tries = 0; tries < 12; ++tries) {
        const bool share = members.size() > 1 && most_shared(*fused, members) > 0 && rng.chance(70);
        const auto alone = [&] {
          Proposer proposer(*members.front(), rng);
          std::vector<std::string> read;
          if (std::holds_alternative<Formula>(members.front()->body))
            for (const ArrayId array : reads_of(*fused, *members.front()))
              read.push_back((*fused)[array].name);
          proposer.may_take_over(std::move(read));
          return proposer.propose();
        };
        Cluster cluster = share                ? random_together(*fused, members, rng)
                          : members.size() > 1 ? random_tiles(members, rng)
                                               : alone();
        cluster.instances = instances;
        if (keep_if_legal([&](Plan& p) { p.blocks[b].clusters[c] = cluster; })) break;
      }
    }
    // A cluster becomes part of the next one, in slices.
    for (std::size_t c = 0; c + 1 < plan.blocks[b].clusters.size(); ++c) {
      if (rng.chance(40)) continue;
      std::vector<Instance> instances = plan.blocks[b].clusters[c].instances;
      const std::vector<Instance>& next = plan.blocks[b].clusters[c + 1].instances;
      instances.insert(instances.end(), next.begin(), next.end());
      std::vector<const Stage*> members;
      for (const Instance& instance : instances) members.push_back(stages.at(instance.name()));
      if (!can_slice(*fused, members)) continue;
      for (int tries = 0; tries < 12; ++tries) {
        Cluster cluster = random_tiles(members, rng);
        cluster.instances = instances;
        const bool legal = keep_if_legal([&](Plan& p) {
          p.blocks[b].clusters[c + 1] = cluster;
          p.blocks[b].clusters.erase(p.blocks[b].clusters.begin() + static_cast<std::ptrdiff_t>(c));
        });
        if (legal) break;
      }
    }
    for (std::size_t c = 0; c < plan.blocks[b].clusters.size(); ++c) {
      const std::vector<Instance> instances = plan.blocks[b].clusters[c].instances;
      for (std::size_t i = 0; i < instances.size(); ++i) {
        const int dims = static_cast<int>(stages.at(instances[i].name())->dims.size());
        if (dims < 2 || !rng.chance(40)) continue;
        const Ahead ahead{static_cast<int>(i), rng.below(dims), rng.pick({1, 2, 3, 8}),
                          rng.pick({0, 0, 4096})};
        keep_if_legal([&](Plan& p) {
          std::vector<Ahead>& list = p.blocks[b].clusters[c].ahead;
          std::erase_if(list, [&](const Ahead& other) { return other.instance == ahead.instance; });
          list.push_back(ahead);
        });
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
      for (const Instance& instance : cluster.instances)
        if (instance.stages.size() > 1) ++features["several stages"];
      if (cluster.instances.size() > 1) ++features["shared loops"];
      const auto loops = loops_of(cluster);
      if (!loops) continue;
      if (loops->is_sliced(0)) ++features["sliced"];
      for (const Store& store : cluster.stores)
        if (loops->tiles() && is_local(store.keep) &&
            !loops->is_sliced(static_cast<std::size_t>(store.instance)))
          ++features["part of a tile"];
      int previous = -1;
      bool reordered = false;
      for (const ChainLevel& level : loops->chains.front()) {
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
        if (store.keep != Keep::Full) ++features[std::string(name_of(store.keep))];
        if (!store.over.empty()) ++features["takes over"];
        if (store.stream_above >= 0) ++features["stream"];
      }
      if (!cluster.tiles.empty()) ++features["tile in registers"];
      if (!cluster.ahead.empty()) ++features["read ahead"];
      for (const Merge& merge : cluster.merges) ++features["merge " + std::string(name_of(merge.how))];
    }
  }
  return features;
}

}  // namespace twill
