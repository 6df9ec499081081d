// The default plan: proposals from the most to the least ambitious one; the first legal one wins.
#include "plan/default_plan.h"

#include "base/error.h"
#include "fuse/profit.h"
#include "fuse/share.h"
#include "plan/growing.h"
#include "plan/legality.h"
#include "plan/lifetimes.h"
#include "plan/propose.h"
#include "program/check.h"
#include "program/index_use.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace twill {

namespace {

/// Of a dimension with so few points, known in advance, all are held in registers at once.
constexpr std::int64_t most_held_points = 4;

/// Every worker gets so many parts of a triangle, from the broad side to the narrow one.
constexpr std::int64_t parts_of_triangle = 16;

class Planner {
 public:
  /// `lists`: which stages of the program share loops.
  Planner(const Program& program, const Machine& machine, std::span<const ClusterSets> lists,
          std::optional<Slices> slices)
      : program_(program), machine_(machine), lists_(lists), slices_(slices) {
    planned_.plan.program = program.name;
    planned_.plan.machine = machine.name;
  }

  Planned run() {
    block("", 0, stages_of(program_), false);
    return std::move(planned_);
  }

  /// The first stages of clusters, and sets, for which there are no loops: nothing is planned for them.
  const std::set<std::string>& refused() const { return refused_; }

 private:
  void block(const std::string& owner, int branch, const StageList& list, bool inside_parallel) {
    BlockPlan plan{owner, branch, {}};
    const std::size_t position = planned_.plan.blocks.size();
    planned_.plan.blocks.push_back({});
    std::vector<const Stage*> order;
    for (const Stage& stage : list.stages) order.push_back(&stage);
    std::vector<StageGroup> groups;
    std::size_t first = 0;
    for (const std::size_t count : cluster_sizes(owner, branch, order.size())) {
      groups.emplace_back();
      groups.back().stages.assign(order.begin() + static_cast<std::ptrdiff_t>(first),
                                  order.begin() + static_cast<std::ptrdiff_t>(first + count));
      first += count;
    }
    if (!lists_.empty() && slices_)
      merge_in_tiles(program_, machine_, list, inside_parallel, *slices_, groups, planned_.whole);
    order = in_order(groups);
    const Lifetimes lifetimes(program_, list, order);
    first = 0;
    for (StageGroup& group : groups) {
      const std::size_t count = group.stages.size();
      const Site site{inside_parallel, lifetimes, first + count};
      if (count > 1) {
        // Stages with blocks share no loops.
        if (!group.tiles && (is_sliced(*group.stages.front()) || most_shared(program_, group.stages) == 0))
          group.tiles = in_tiles(program_, machine_, group.stages, site, Slices::All, planned_.whole);
        if (group.tiles) {
          plan.clusters.push_back(std::move(group.tiles->cluster));
          planned_.sliced.insert(planned_.sliced.end(), group.tiles->sliced.begin(),
                                 group.tiles->sliced.end());
        } else if (auto cluster = together(group.stages, site)) {
          let_appends_grow(program_, group.stages, site, *cluster);
          plan.clusters.push_back(std::move(*cluster));
        } else {
          refused_.insert(group.stages.front()->name);
        }
        first += count;
        continue;
      }
      const Stage& last = *order[first++];
      auto alone = stage(last, members_of(owner, branch, last), site);
      if (!alone) {
        refused_.insert(last.name);
        continue;
      }
      plan.clusters.push_back(std::move(*alone));
      take_over(last, site, plan.clusters.back());
      let_appends_grow(program_, group.stages, site, plan.clusters.back());
      const std::vector<ChainLevel> levels = loops_of(plan.clusters.back())->chains.front();
      const bool parallel =
          inside_parallel ||
          std::any_of(levels.begin(), levels.end(), [](const ChainLevel& l) { return l.by == By::Core; });
      const std::vector<const Block*> blocks = blocks_of(last);
      for (std::size_t b = 0; b < blocks.size(); ++b)
        block(last.name, static_cast<int>(b), stages_of(last, *blocks[b]), parallel);
    }
    planned_.plan.blocks[position] = std::move(plan);
  }

  /// What a stage makes of an array that nobody else needs can be in the memory of that: it is in the caches
  /// already, and less memory is touched.
  void take_over(const Stage& stage, const Site& site, Cluster& cluster) const {
    if (!std::holds_alternative<Formula>(stage.body)) return;
    for (std::size_t o = 0; o < stage.outputs.size(); ++o) {
      const auto of_this = [&](const Store& store) { return store.output == static_cast<int>(o); };
      const auto known = std::ranges::find_if(cluster.stores, of_this);
      if (stage.outputs[o].into || (known != cluster.stores.end() && known->keep != Keep::Full)) continue;
      for (const ArrayId old : reads_of(program_, stage)) {
        const Array &there = program_[old], &here = program_[stage.outputs[o].array];
        // Asked first, the judge has more to look at.
        if (there.rank() == 0 || there.type != here.type || there.shape != here.shape ||
            !site.is_disposable(old))
          continue;
        Cluster other = cluster;
        std::erase_if(other.stores, of_this);
        other.stores.push_back({0, static_cast<int>(o), Keep::Alias, -1, program_[old].name});
        if (why_illegal(program_, stage, other, site)) continue;
        cluster = std::move(other);
        break;
      }
    }
  }

  /// Has somebody chosen to have slices of the stage?
  bool is_sliced(const Stage& stage) const {
    return std::ranges::any_of(lists_,
                               [&](const ClusterSets& list) { return list.sliced.contains(stage.name); });
  }

  /// The stages of the program that the stage is made of.
  StageSet members_of(const std::string& owner, int branch, const Stage& stage) const {
    for (const ClusterSets& list : lists_) {
      if (list.owner != owner || list.branch != branch) continue;
      for (const std::vector<StageSet>& cluster : list.clusters)
        for (const StageSet& set : cluster)
          if (set.back() == stage.name) return set;
    }
    return {stage.name};
  }

  /// How many stages each cluster of a list has.
  std::vector<std::size_t> cluster_sizes(const std::string& owner, int branch, std::size_t stages) const {
    for (const ClusterSets& list : lists_) {
      if (list.owner != owner || list.branch != branch) continue;
      std::vector<std::size_t> sizes;
      for (const std::vector<StageSet>& cluster : list.clusters) sizes.push_back(cluster.size());
      return sizes;
    }
    return std::vector<std::size_t>(stages, 1);
  }

  /// Stages that share their outer loops; nothing if no order of loops is good for all of them.
  std::optional<Cluster> together(std::span<const Stage* const> stages, const Site& site) {
    int depth = most_shared(program_, stages);
    if (depth == 0) return std::nullopt;
    // Rather a part of an array between loops for SIMD lanes than single values in a loop without.
    const bool lanes = std::any_of(stages.begin(), stages.end(), [&](const Stage* stage) {
      return static_cast<int>(stage->dims.size()) == depth && takes_lanes(*stage, depth - 1);
    });
    if ((lanes || holds_all_points(stages, depth)) && depth > 1) --depth;
    for (const bool cores : {true, false}) {
      if (cores && site.inside_parallel) continue;
      if (auto cluster = inside(stages, shared_levels(stages, depth, cores), depth, site)) return cluster;
    }
    planned_.apart.push_back({"order",
                              {stages.front()->name, stages.back()->name},
                              "no order of loops is right for '" + stages.front()->name + "' and '" +
                                  stages.back()->name + "' together",
                              stages.back()->place});
    return std::nullopt;
  }

  /// Has the innermost loop that stages could share so few points that a stage with loops inside, which reads
  /// the same for all of them, had better hold all of its results at once?
  static bool holds_all_points(std::span<const Stage* const> stages, int depth) {
    const auto points = literal_extent(stages.front()->dims[depth - 1]);
    if (!points || *points > most_held_points) return false;
    return std::any_of(stages.begin(), stages.end(), [&](const Stage* stage) {
      const bool folds_inside =
          std::all_of(stage->outputs.begin(), stage->outputs.end(), [&](const Output& output) {
            return is<Cat>(output.combine[depth - 1]) &&
                   std::any_of(output.combine.begin() + depth, output.combine.end(), is<Fold>);
          });
      if (!folds_inside) return false;
      bool same = false;
      for_each_expr(*stage, [&](Expr root) {
        visit(root, [&](Expr node) {
          if (!as<Read>(node) || mentions(node, stage->dims[depth - 1].id)) return;
          same = same || std::any_of(stage->dims.begin() + depth, stage->dims.end(),
                                     [&](const Dim& dim) { return mentions(node, dim.id); });
        });
      });
      return same;
    });
  }

  static std::set<int> first_dims(int depth) {
    std::set<int> dims;
    for (int d = 0; d < depth; ++d) dims.insert(d);
    return dims;
  }

  /// Could the dimension be given to SIMD lanes?
  static bool takes_lanes(const Stage& stage, int d) {
    const auto extent = literal_extent(stage.dims[d]);
    return (!extent || *extent >= 8) && stage.effects.empty() &&
           std::all_of(stage.outputs.begin(), stage.outputs.end(),
                       [&](const Output& o) { return is<Cat>(o.combine[d]) || is<Fold>(o.combine[d]); });
  }

  std::vector<ChainLevel> shared_levels(std::span<const Stage* const> stages, int depth, bool cores) const {
    std::vector<ChainLevel> levels;
    for (int d = 0; d < depth; ++d) levels.push_back({d, {}, By::Seq});
    if (!cores) return levels;
    // How many points the outermost one has is rarely known: the two outermost ones have enough for all. But
    // a worker that keeps rows between the stages gets memory for them once, for a part.
    const bool rows = std::any_of(stages.begin(), stages.end(), [&](const Stage* stage) {
      return std::any_of(stage->outputs.begin(), stage->outputs.end(), [&](const Output& output) {
        return program_[output.array].rank() > depth &&
               std::any_of(stages.begin(), stages.end(),
                           [&](const Stage* other) { return other != stage && reads(*other, output.array); });
      });
    });
    const bool two_dims = depth > 1 && !(rows && !literal_extent(stages.front()->dims[0])) &&
                          std::all_of(stages.begin(), stages.end(), [&](const Stage* stage) {
                            const Proposer proposer(program_, machine_, *stage, first_dims(depth));
                            return (proposer.is_short(0) || !literal_extent(stage->dims[0])) &&
                                   proposer.all_are_cat(0) && proposer.all_are_cat(1) &&
                                   !bounds_depend(*stage, 1, 0);
                          });
    if (two_dims) {
      levels[0].by = levels[1].by = By::Core;
      return levels;
    }
    // Of a triangle, parts of equal height are not of equal size. But results of parts that have to be put
    // together should be few.
    const bool triangle =
        std::any_of(stages.begin(), stages.end(),
                    [](const Stage* stage) {
                      for (int d = 1; d < static_cast<int>(stage->dims.size()); ++d)
                        if (bounds_depend(*stage, d, 0)) return true;
                      return false;
                    }) &&
        std::all_of(stages.begin(), stages.end(), [](const Stage* stage) {
          return std::all_of(stage->outputs.begin(), stage->outputs.end(),
                             [](const Output& output) { return is<Cat>(output.combine.front()); });
        });
    const std::int64_t parts = triangle ? parts_of_triangle * machine_.count(CoreKind::Core) : 0;
    levels.insert(levels.begin(), {0, {Cut::Kind::Parts, parts}, By::Core});
    return levels;
  }

  /// Each stage with the best loops of its own that are legal inside of the shared ones.
  std::optional<Cluster> inside(std::span<const Stage* const> stages, const std::vector<ChainLevel>& shared,
                                int depth, const Site& site) const {
    Cluster cluster;
    ClusterLoops loops{shared.size(), {}};
    for (std::size_t i = 0; i < stages.size(); ++i) {
      const Proposer proposer(program_, machine_, *stages[i], first_dims(depth));
      std::optional<Cluster> best;
      for (int mask = (1 << Wishes::count) - 1; mask >= 0 && !best; --mask) {
        Cluster alone = proposer.propose_inside(Wishes::of(mask), shared);
        if (!why_illegal(program_, *stages[i], alone, site) && may_share(alone, stages, i, shared.size()))
          best = std::move(alone);
      }
      if (!best) return std::nullopt;
      cluster.instances.push_back(best->instances.front());
      cluster.grain = best->grain;
      loops.chains.push_back(loops_of(*best)->chains.front());
      const auto take = [&](const auto& from, auto& to) {
        for (auto item : from) {
          item.instance = static_cast<int>(i);
          to.push_back(item);
        }
      };
      keep_local(stages, i, depth, site, best->stores);
      take(best->stores, cluster.stores);
      take(best->merges, cluster.merges);
      take(best->tiles, cluster.tiles);
      take(best->ahead, cluster.ahead);
    }
    cluster.loops = tree_of(loops);
    if (why_illegal(program_, stages, cluster, site)) return std::nullopt;
    return cluster;
  }

  /// What only holds for a stage that is alone in its loops.
  bool may_share(const Cluster& alone, std::span<const Stage* const> stages, std::size_t i,
                 std::size_t shared) const {
    const bool inner = loops_of(alone)->chains.front().size() > shared;
    return std::all_of(alone.stores.begin(), alone.stores.end(), [&](const Store& store) {
      if (store.stream_above >= 0 && !inner) return false;
      if (store.keep != Keep::Alias) return true;
      const ArrayId old = *stages[i]->outputs[static_cast<std::size_t>(store.output)].into;
      for (std::size_t k = 0; k < stages.size(); ++k)
        if (k != i && needs(program_, *stages[k], old)) return false;
      return true;
    });
  }

  /// Nothing if no loops are right for a stage that could as well be several: its `members`.
  std::optional<Cluster> stage(const Stage& stage, const StageSet& members, const Site& site) {
    const Nested* nested = std::get_if<Nested>(&stage.body);
    const bool carries = nested && !nested->block->carries.empty();
    const Proposer proposer(program_, machine_, stage);
    std::vector<std::optional<Reason>> refusals(Wishes::count);
    for (int mask = carries ? 0 : (1 << Wishes::count) - 1; mask >= 0; --mask) {
      Cluster cluster = proposer.propose(Wishes::of(mask));
      auto reason = why_illegal(program_, stage, cluster, site);
      if (!reason) {
        for (int wish = Wishes::count - 1; wish >= 0; --wish) {
          if ((mask >> wish & 1) == 0 && refusals[wish]) note(*refusals[wish], wish);
        }
        return cluster;
      }
      // The wish that is given up next is what this refusal is held against.
      for (int wish = 0; wish < Wishes::count; ++wish) {
        if ((mask >> wish & 1) == 0) continue;
        if (!refusals[wish]) refusals[wish] = reason;
        break;
      }
    }
    // Not in the order of the program, then: any order in which one worker can run it.
    std::vector<int> order(stage.dims.size());
    std::iota(order.begin(), order.end(), 0);
    std::optional<Reason> reason;
    do {
      Cluster cluster = proposer.in_order(order);
      std::optional<Reason> refusal = why_illegal(program_, stage, cluster, site);
      if (!refusal) return cluster;
      if (!reason) reason = std::move(refusal);
    } while (order.size() <= 6 && std::next_permutation(order.begin(), order.end()));
    for (const std::string& member : members)
      if (member != stage.name)
        planned_.apart.push_back(
            {"order",
             {member, stage.name},
             "no order of loops computes both '" + member + "' and '" + stage.name + "': " + reason->text,
             stage.place});
    if (members.size() > 1) return std::nullopt;
    fail(Fault::Limit, "E0403", stage.place,
         "no order of loops computes all outputs of stage '" + stage.name + "': " + reason->text,
         "make it several stages");
  }

  void note(Reason reason, int wish) {
    reason.text = std::string("no ") + wish_names[wish] + ": " + reason.text;
    planned_.reasons.push_back(std::move(reason));
  }

  const Program& program_;
  const Machine& machine_;
  std::span<const ClusterSets> lists_;
  std::optional<Slices> slices_;
  Planned planned_;
  std::set<std::string> refused_;
};

/// The clusters with one of these stages as their first are cut into their sets, and sets into stages.
std::vector<ClusterSets> cut_apart(std::span<const ClusterSets> lists, const std::set<std::string>& firsts) {
  std::vector<ClusterSets> result(lists.begin(), lists.end());
  for (ClusterSets& list : result) {
    std::vector<std::vector<StageSet>> clusters;
    for (std::vector<StageSet>& cluster : list.clusters) {
      if (!firsts.contains(cluster.front().back())) {
        clusters.push_back(std::move(cluster));
        continue;
      }
      for (StageSet& set : cluster) {
        if (cluster.size() > 1)
          clusters.push_back({std::move(set)});
        else
          for (std::string& stage : set) clusters.push_back({{std::move(stage)}});
      }
    }
    list.clusters = std::move(clusters);
  }
  return result;
}

}  // namespace

Planned default_plan(const Program& program, const Machine& machine) {
  return Planner(program, machine, {}, std::nullopt).run();
}

Planned default_plan(const std::shared_ptr<const Program>& program, const Machine& machine,
                     std::span<const ClusterSets> lists, std::optional<Slices> slices) {
  const auto fused = fuse_clusters(program, lists);
  if (!fused) ensure(false, ("default_plan: the sets can be joined, but " + fused.why().text).c_str());
  // What may fail at run time has no slices.
  const auto checked = with_run_time_checks(*fused);
  Planner planner(*checked, machine, lists, slices);
  Planned planned = planner.run();
  if (!planner.refused().empty()) {
    // Alone, stages may be others than together: they are fused again.
    Planned again = default_plan(program, machine, cut_apart(lists, planner.refused()), slices);
    again.apart.insert(again.apart.begin(), planned.apart.begin(), planned.apart.end());
    again.reasons.insert(again.reasons.begin(), planned.reasons.begin(), planned.reasons.end());
    return again;
  }
  for (BlockPlan& block : planned.plan.blocks) {
    for (const ClusterSets& list : lists) {
      if (list.owner != block.owner || list.branch != block.branch) continue;
      std::map<std::string, StageSet> sets;
      for (const std::vector<StageSet>& cluster : list.clusters)
        for (const StageSet& set : cluster) sets[set.back()] = set;
      for (Cluster& cluster : block.clusters)
        for (Instance& instance : cluster.instances) instance.stages = sets.at(instance.name());
    }
  }
  return planned;
}

}  // namespace twill
