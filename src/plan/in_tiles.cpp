#include "plan/in_tiles.h"

#include "base/error.h"
#include "fuse/profit.h"
#include "fuse/share.h"
#include "plan/propose.h"
#include "plan/tiles.h"
#include "program/check.h"
#include "program/index_use.h"

#include <fmt/format.h>

#include <algorithm>

namespace twill {

void keep_local(std::span<const Stage* const> stages, std::size_t stage, int depth, const Site& site,
                std::vector<Store>& stores) {
  for (std::size_t o = 0; o < stages[stage]->outputs.size(); ++o) {
    const Output& output = stages[stage]->outputs[o];
    const bool read = std::ranges::any_of(
        stages, [&](const Stage* other) { return other != stages[stage] && reads(*other, output.array); });
    if (!read || !site.is_disposable(output.array) || output.into || output.force ||
        !places_of_shared(*stages[stage], output, depth))
      continue;
    std::erase_if(stores, [&](const Store& store) { return store.output == static_cast<int>(o); });
    stores.push_back({0, static_cast<int>(o), Keep::Local, -1});
  }
}

namespace {

bool scatters(const Stage& stage) {
  return std::any_of(stage.outputs.begin(), stage.outputs.end(), [](const Output& output) {
    return std::any_of(output.combine.begin(), output.combine.end(), is<Scatter>);
  });
}

/// The cluster with these loops; nothing, and perhaps a reason, if that is not legal.
std::optional<Cluster> with_loops(const Program& program, const Machine& machine,
                                  std::span<const Stage* const> stages, const TileLoops& tiles,
                                  const Site& site, std::optional<Reason>& reason) {
  std::set<int> taken, shared;
  for (const ChainLevel& level : tiles.shared) {
    shared.insert(level.dim);
    if (level.cut == Cut{}) taken.insert(level.dim);
  }
  const int depth = static_cast<int>(shared.size());
  Cluster cluster;
  ClusterLoops loops{tiles.shared.size(), {}, {}};
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const bool slice = i < tiles.sliced;
    const Proposer proposer = slice ? Proposer(program, machine, *stages[i], {}, tiles.widths[i])
                                    : Proposer(program, machine, *stages[i], taken);
    std::optional<Cluster> best;
    for (int mask = (1 << Wishes::count) - 1; mask >= 0 && !best; --mask) {
      Wishes wishes = Wishes::of(mask);
      if (slice && (wishes.stream || wishes.in_place)) continue;
      Cluster alone = proposer.propose_inside(wishes, slice ? std::vector<ChainLevel>{} : tiles.shared);
      if (slice)
        for (std::size_t o = 0; o < stages[i]->outputs.size(); ++o)
          alone.stores.push_back({0, static_cast<int>(o), tiles.keep, -1});
      // What the judge of a whole cluster says about this stage alone.
      if (why_illegal(program, *stages[i], alone, site)) continue;
      best = std::move(alone);
    }
    if (!best) return std::nullopt;
    // Rows that data say where to put are hardly long.
    if (!scatters(*stages[i])) proposer.read_ahead(*best);
    if (why_illegal(program, *stages[i], *best, site)) best->ahead.clear();
    if (!slice && *shared.rbegin() == depth - 1) keep_local(stages, i, depth, site, best->stores);
    cluster.instances.push_back(best->instances.front());
    cluster.grain = best->grain;
    loops.chains.push_back(loops_of(*best)->chains.front());
    loops.sliced.push_back(slice);
    const auto take = [&](const auto& from, auto& to) {
      for (auto item : from) {
        item.instance = static_cast<int>(i);
        to.push_back(item);
      }
    };
    take(best->stores, cluster.stores);
    take(best->merges, cluster.merges);
    take(best->tiles, cluster.tiles);
    take(best->ahead, cluster.ahead);
  }
  cluster.loops = tree_of(loops);
  auto illegal = why_illegal(program, stages, cluster, site);
  if (illegal && illegal->code == "illegal-local") {
    // What cannot be handed on in parts is in memory as a whole.
    std::erase_if(cluster.stores, [&](const Store& store) {
      return store.keep == Keep::Local && !loops.is_sliced(static_cast<std::size_t>(store.instance));
    });
    illegal = why_illegal(program, stages, cluster, site);
  }
  if (!illegal) return cluster;
  if (!reason) reason = std::move(illegal);
  return std::nullopt;
}

std::vector<Reason> what_is_sliced(std::span<const Stage* const> stages, const TileLoops& tiles) {
  std::vector<Reason> reasons;
  for (std::size_t i = 0; i < tiles.sliced; ++i) {
    std::string text =
        "'" + stages[i]->name + "' is computed in slices for tiles of '" + stages.back()->name + "'";
    if (tiles.keep == Keep::Ring) text += ", row by row in a ring";
    if (tiles.again[i] > 0) text += fmt::format("; {:.1f} % of it twice", 100 * tiles.again[i]);
    reasons.push_back({"sliced", {stages[i]->name, stages.back()->name}, std::move(text), stages[i]->place});
  }
  return reasons;
}

}  // namespace

std::optional<Tiled> in_tiles(const Program& program, const Machine& machine,
                              std::span<const Stage* const> stages, const Site& site, Slices slices,
                              std::vector<Reason>& reasons) {
  const auto no = [&](Reason reason) -> std::optional<Tiled> {
    reason.stages = {stages.front()->name, stages.back()->name};
    reasons.push_back(std::move(reason));
    return std::nullopt;
  };
  const std::size_t sliced = could_be_sliced(program, stages, site);
  if (sliced == 0) {
    auto why = why_not_sliced(program, *stages.front(), site);
    return no(why ? *why : Reason{"single", {}, "'" + stages.front()->name + "' is a single value", {}});
  }
  const int vector = Proposer(program, machine, *stages[sliced]).vector_dim();
  auto candidates = tile_loops(program, machine, stages, sliced, vector);
  if (!candidates) return no(candidates.why());
  std::optional<Reason> reason;
  for (TileLoops& tiles : std::vector(*candidates)) {
    const auto worst = std::ranges::max_element(tiles.again);
    const auto twice = [&](const std::string& text) {
      const std::string& name = stages[static_cast<std::size_t>(worst - tiles.again.begin())]->name;
      if (!reason)
        reason = Reason{"twice", {}, fmt::format("{:.1f} % of '{}' {}", 100 * *worst, name, text), {}};
    };
    if (*worst > most_again) {
      twice("would be computed twice");
      continue;
    }
    if (slices == Slices::NothingTwice && *worst > 0) {
      twice("would be computed twice, which was not chosen");
      continue;
    }
    if (slices == Slices::Overlapping && !tiles.overlap) continue;
    for (const bool cores : {true, false}) {
      if (cores && site.inside_parallel) continue;
      if (!cores) tiles.shared.erase(tiles.shared.begin());
      if (auto cluster = with_loops(program, machine, stages, tiles, site, reason))
        return Tiled{std::move(*cluster), what_is_sliced(stages, tiles), std::move(tiles.again)};
    }
  }
  return no(reason ? *reason : Reason{"tiles", {}, "no loops are right for tiles and slices together", {}});
}

std::optional<double> again_in_tiles(const Program& program, const Machine& machine, const Stage& first,
                                     const Stage& second) {
  const bool arrays = std::ranges::all_of(
      first.outputs, [&](const Output& output) { return program[output.array].rank() > 0; });
  if (!arrays || !std::holds_alternative<Formula>(second.body) || why_not_slice(program, first))
    return std::nullopt;
  const std::array stages = {&first, &second};
  const int vector = Proposer(program, machine, second).vector_dim();
  std::optional<double> least;
  const auto candidates = tile_loops(program, machine, stages, 1, vector);
  if (!candidates) return std::nullopt;
  for (const TileLoops& tiles : *candidates)
    if (const double again = tiles.again.front();
        tiles.overlap && again <= most_again && (!least || again < *least))
      least = again;
  return least;
}

std::vector<const Stage*> in_order(std::span<const StageGroup> groups) {
  std::vector<const Stage*> order;
  for (const StageGroup& group : groups) order.insert(order.end(), group.stages.begin(), group.stages.end());
  return order;
}

namespace {

/// Merges the groups of a list.
class Merger {
 public:
  Merger(const Program& program, const Machine& machine, const StageList& list, bool inside_parallel,
         Slices slices, std::vector<StageGroup>& groups, std::vector<Reason>& reasons)
      : program_(program),
        machine_(machine),
        list_(list),
        inside_parallel_(inside_parallel),
        slices_(slices),
        groups_(groups),
        reasons_(reasons) {}

  void run() {
    std::optional<Lifetimes> lifetimes;  // of the groups as they are now
    for (std::size_t g = groups_.size(); g-- > 1;) {
      for (std::size_t p = g; p-- > 0;) {
        if (!uses(groups_[g], groups_[p])) continue;
        if (!lifetimes) lifetimes.emplace(program_, list_, in_order(groups_));
        if (auto why = why_not_sliced(p, *lifetimes)) {
          note(p, g, std::move(*why));
          continue;
        }
        const std::vector<std::size_t> readers = readers_of(p);
        if (readers.back() != g) continue;
        const auto note_all = [&](const Reason& why) {
          for (const std::size_t r : readers) note(p, r, why);
        };
        if (!could_meet(readers)) {
          note_all({"between",
                    {},
                    "tiles of all readers of '" + groups_[p].stages.back()->name +
                        "' are one pass, and what is computed between them needs the one and is "
                        "needed by the other",
                    {}});
          continue;
        }
        StageGroup all;
        all.stages = groups_[p].stages;
        for (const std::size_t r : readers)
          all.stages.insert(all.stages.end(), groups_[r].stages.begin(), groups_[r].stages.end());
        std::size_t done = 0;
        for (std::size_t k = 0; k <= g; ++k) done += groups_[k].stages.size();
        std::vector<Reason> why;
        all.tiles =
            in_tiles(program_, machine_, all.stages, {inside_parallel_, *lifetimes, done}, slices_, why);
        if (!all.tiles) {
          note_all(why.back());
          continue;
        }
        lifetimes.reset();
        groups_[g] = std::move(all);
        for (std::size_t r = readers.size() - 1; r-- > 0;)
          groups_.erase(groups_.begin() + static_cast<std::ptrdiff_t>(readers[r]));
        groups_.erase(groups_.begin() + static_cast<std::ptrdiff_t>(p));
        g -= readers.size();
        p = g;
      }
    }
    for (auto& [pair, reason] : apart_)
      if (std::ranges::none_of(groups_, [&](const StageGroup& group) {
            return std::ranges::count(group.stages, pair.first) +
                       std::ranges::count(group.stages, pair.second) >
                   1;
          }))
        reasons_.push_back(std::move(reason));
  }

 private:
  /// Why what the one group computes is not computed in slices for the other one, which reads it.
  void note(std::size_t p, std::size_t g, Reason reason) {
    for (const Stage* producer : groups_[p].stages)
      for (const Stage* reader : groups_[g].stages) {
        if (!uses(*reader, *producer)) continue;
        reason.stages = {producer->name, reader->name};
        apart_.insert_or_assign({producer, reader}, reason);
      }
  }

  /// Why what the stages of a group compute, all of it, has no slices.
  std::optional<Reason> why_not_sliced(std::size_t p, const Lifetimes& lifetimes) {
    std::size_t all = 0;
    for (const StageGroup& group : groups_) all += group.stages.size();
    for (const Stage* stage : groups_[p].stages)
      if (auto why = twill::why_not_sliced(program_, *stage, {inside_parallel_, lifetimes, all})) return why;
    return std::nullopt;
  }

  /// The groups that read what the stages of a group compute.
  std::vector<std::size_t> readers_of(std::size_t p) {
    std::vector<std::size_t> readers;
    for (std::size_t k = 0; k < groups_.size(); ++k)
      if (k != p && uses(groups_[k], groups_[p])) readers.push_back(k);
    return readers;
  }

  /// Can all of these groups, which are in order, run where the last one does? None of those in between may
  /// need what they compute (lengths that are born would be that, too), and none may have effects.
  bool could_meet(const std::vector<std::size_t>& members) {
    for (std::size_t m = 0; m + 1 < members.size(); ++m) {
      const StageGroup& moved = groups_[members[m]];
      if (std::any_of(moved.stages.begin(), moved.stages.end(), [](const Stage* stage) {
            return has_effects(*stage) || any_is<Append>(*stage) || any_is<Group>(*stage);
          }))
        return false;
      for (std::size_t k = members[m] + 1; k < members.back(); ++k)
        if (std::find(members.begin(), members.end(), k) == members.end() && uses(groups_[k], moved))
          return false;
    }
    return true;
  }

  /// Does a stage of the one group need what the other computes?
  bool uses(const StageGroup& group, const StageGroup& producer) {
    return std::any_of(group.stages.begin(), group.stages.end(), [&](const Stage* stage) {
      return std::any_of(producer.stages.begin(), producer.stages.end(),
                         [&](const Stage* other) { return uses(*stage, *other); });
    });
  }

  /// Does the stage need what the other computes, blocks included?
  bool uses(const Stage& stage, const Stage& producer) {
    const auto [found, is_new] = needed_.try_emplace(&stage);
    if (is_new)
      for (const ArrayId array : reads_of(program_, stage)) found->second.insert(array);
    return std::any_of(producer.outputs.begin(), producer.outputs.end(),
                       [&](const Output& output) { return found->second.contains(output.array); });
  }

  const Program& program_;
  const Machine& machine_;
  const StageList& list_;
  bool inside_parallel_;
  Slices slices_;
  std::vector<StageGroup>& groups_;
  std::vector<Reason>& reasons_;
  std::map<const Stage*, std::set<ArrayId>> needed_;  // by stages, where that was asked
  /// By stage and reader.
  std::map<std::pair<const Stage*, const Stage*>, Reason> apart_;
};

/// A list whose sets are stages.
struct FusedList {
  std::shared_ptr<const Program> program;
  StageList list;
  std::vector<StageGroup> groups;  // by cluster
};

/// The stages of a list of the program.
std::optional<StageList> list_of(const Program& program, const ClusterSets& which) {
  if (which.owner.empty()) return stages_of(program);
  std::optional<StageList> found;
  for_each_stage(program.stages, [&](const Stage& stage) {
    const std::vector<const Block*> blocks = blocks_of(stage);
    if (stage.name == which.owner && static_cast<std::size_t>(which.branch) < blocks.size())
      found = stages_of(stage, *blocks[static_cast<std::size_t>(which.branch)]);
  });
  return found;
}

std::optional<FusedList> fused_list(const std::shared_ptr<const Program>& program, const ClusterSets& list) {
  auto fused = fuse_clusters(program, {&list, 1});
  if (!fused) return std::nullopt;
  // What may fail at run time has no slices.
  FusedList result{with_run_time_checks(*fused), {}, {}};
  auto stages = list_of(*result.program, list);
  if (!stages) return std::nullopt;
  result.list = std::move(*stages);
  std::size_t next = 0;
  for (const std::vector<StageSet>& cluster : list.clusters) {
    StageGroup& group = result.groups.emplace_back();
    for (std::size_t k = 0; k < cluster.size(); ++k) group.stages.push_back(&result.list.stages[next++]);
  }
  return result;
}

/// The positions of stages in an order in which they can run, those that can be sliced as early as possible.
std::vector<std::size_t> sliced_first(const Program& program, std::span<const Stage* const> stages,
                                      const Site& site) {
  std::vector<std::set<ArrayId>> needs;
  std::vector<bool> slices;
  for (const Stage* stage : stages) {
    const std::vector<ArrayId> reads = reads_of(program, *stage);
    needs.emplace_back(reads.begin(), reads.end());
    slices.push_back(could_be_sliced(program, std::array{stage, stage}, site) > 0);
  }
  std::vector<std::size_t> order, left(stages.size());
  for (std::size_t i = 0; i < stages.size(); ++i) left[i] = i;
  while (!left.empty()) {
    const auto is_ready = [&](std::size_t i) {
      return std::ranges::none_of(left, [&](std::size_t k) {
        return k != i && std::ranges::any_of(stages[k]->outputs, [&](const Output& output) {
                 return needs[i].contains(output.array);
               });
      });
    };
    auto next = std::ranges::find_if(left, [&](std::size_t i) { return slices[i] && is_ready(i); });
    if (next == left.end()) next = std::ranges::find_if(left, is_ready);
    if (next == left.end()) return {};  // they wait for each other
    order.push_back(*next);
    left.erase(next);
  }
  return order;
}

}  // namespace

void merge_in_tiles(const Program& program, const Machine& machine, const StageList& list,
                    bool inside_parallel, Slices slices, std::vector<StageGroup>& groups,
                    std::vector<Reason>& reasons) {
  Merger(program, machine, list, inside_parallel, slices, groups, reasons).run();
}

std::vector<std::optional<TiledSets>> tiled_clusters(const std::shared_ptr<const Program>& program,
                                                     const Machine& machine, const ClusterSets& list,
                                                     std::span<const std::size_t> asked) {
  std::vector<std::optional<TiledSets>> found(asked.size());
  ClusterSets sliced = list;
  for (const std::size_t c : asked)
    for (const StageSet& set : list.clusters[c]) sliced.sliced.insert(set.back());
  const auto fused = fused_list(program, sliced);
  if (!fused) return found;
  const Lifetimes lifetimes(*fused->program, fused->list, in_order(fused->groups));
  for (std::size_t k = 0; k < asked.size(); ++k) {
    const StageGroup& group = fused->groups[asked[k]];
    std::size_t done = 0;
    for (std::size_t c = 0; c <= asked[k]; ++c) done += fused->groups[c].stages.size();
    const Site site{false, lifetimes, done};
    std::vector<const Stage*> stages;
    const std::vector<std::size_t> order = sliced_first(*fused->program, group.stages, site);
    for (const std::size_t i : order) stages.push_back(group.stages[i]);
    if (stages.empty()) continue;
    std::vector<Reason> why;
    const auto tiles = in_tiles(*fused->program, machine, stages, site, Slices::All, why);
    if (!tiles) continue;
    TiledSets& sets = found[k].emplace();
    for (const std::size_t i : order) sets.sets.push_back(list.clusters[asked[k]][i]);
    for (const Reason& reason : tiles->sliced) sets.sliced.insert(reason.stages.front());
    sets.again = tiles->again;
    sets.again.resize(sets.sets.size());
  }
  return found;
}

ClusterSets merged_in_tiles(const std::shared_ptr<const Program>& program, const Machine& machine,
                            const ClusterSets& list) {
  auto fused = fused_list(program, list);
  if (!fused) return list;
  std::vector<Reason> reasons;
  merge_in_tiles(*fused->program, machine, fused->list, false, Slices::Overlapping, fused->groups, reasons);
  std::map<std::string, const StageSet*> sets;
  for (const std::vector<StageSet>& cluster : list.clusters)
    for (const StageSet& set : cluster) sets[set.back()] = &set;
  ClusterSets merged{list.owner, list.branch, {}, list.sliced};
  for (const StageGroup& group : fused->groups) {
    merged.clusters.emplace_back();
    for (const Stage* stage : group.stages) merged.clusters.back().push_back(*sets.at(stage->name));
    if (!group.tiles) continue;
    for (const Reason& reason : group.tiles->sliced) merged.sliced.insert(reason.stages.front());
  }
  return merged;
}

}  // namespace twill
