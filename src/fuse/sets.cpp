#include "fuse/sets.h"

#include "fuse/gather.h"
#include "fuse/inline.h"
#include "fuse/join.h"
#include "fuse/share.h"
#include "fuse/unread.h"
#include "program/edit.h"

#include <algorithm>

namespace twill {

std::optional<Reason> Joiner::why_not(int first, int second) const {
  const std::set<ArrayId> gone = gone_into(region_, uses_, first, second);
  return why_not_join({region_.program, (*this)[first], (*this)[second], gone, true});
}

void Joiner::join(int first, int second) {
  const std::set<ArrayId> gone = gone_into(region_, uses_, first, second);
  Stage& both = region_.stages[static_cast<std::size_t>(second)];
  Stage& empty = region_.stages[static_cast<std::size_t>(first)];
  both = joined(region_.program, empty, both, gone, true);
  const std::set<SymbolId> lengths = lengths_gone(region_.program, empty, both);
  empty = Stage{};
  uses_.merge(first, second, gone, lengths);
}

namespace {

struct Refusal {
  Reason reason;
};

[[noreturn]] void refuse(std::string code, std::vector<std::string> stages, std::string text,
                         Place place = {}) {
  throw Refusal{{std::move(code), std::move(stages), std::move(text), place}};
}

/// Makes one stage of all members, in the place of the last one. Which two of them can be joined first
/// depends on what they are, not on their order.
void join_all(Joiner& joiner, const std::vector<int>& members) {
  std::vector<int> parts;  // in the order of the program
  std::optional<Reason> apart;
  const auto join_last = [&] {
    for (std::size_t k = parts.size() - 1; k-- > 0;) {
      apart = joiner.why_not(parts[k], parts.back());
      if (apart) continue;
      joiner.join(parts[k], parts.back());
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(k));
      k = parts.size() - 1;
    }
  };
  for (const int member : members) {
    parts.push_back(member);
    join_last();
  }
  if (parts.size() > 1) throw Refusal{std::move(*apart)};
}

}  // namespace

std::optional<Reason> why_not_one_set(const Region& region, const std::vector<Stage>& stages,
                                      const std::vector<int>& members) {
  Program program = region.program;
  std::vector<Stage> own = stages;
  Region scratch{program, own, region.kept, region.owner, region.branch, region.kept_sizes};
  Joiner joiner(scratch);
  try {
    join_all(joiner, members);
    return std::nullopt;
  } catch (Refusal& refusal) {
    return std::move(refusal.reason);
  }
}

namespace {

/// Leaves the stages out: who reads what they make computes that again. A stage may have to be in memory only
/// because of another one that is left out as well (a new version of it), so that one goes first.
void recompute_stages(Region& region, std::set<int> positions) {
  while (!positions.empty()) {
    std::optional<Reason> refused;
    const std::size_t before = positions.size();
    for (auto position = positions.begin(); position != positions.end();) {
      const UseTable uses(region);
      if (auto reason = why_not_recompute(region, uses, *position)) {
        if (!refused) refused = std::move(reason);
        ++position;
        continue;
      }
      recompute(region, uses, *position);
      position = positions.erase(position);
    }
    if (positions.size() < before) continue;
    refused->text = "the plan does not run '" + refused->stages.front() + "': " + refused->text;
    throw Refusal{std::move(*refused)};
  }
}

/// Puts the stages of a list into the order of the sets, each set as one stage.
void fuse_list(Region& region, const ClusterSets& list) {
  std::map<std::string_view, int> position;
  for (std::size_t s = 0; s < region.stages.size(); ++s)
    position[region.stages[s].name] = static_cast<int>(s);
  std::vector<int> order;
  std::map<std::string, int> last_effect;
  std::vector<std::vector<int>> sets;
  std::vector<StageSet> all;
  for (const std::vector<StageSet>& cluster : list.clusters)
    all.insert(all.end(), cluster.begin(), cluster.end());
  for (const StageSet& names : all) {
    std::vector<int> members;
    for (const std::string& name : names) {
      const auto found = position.find(name);
      if (found == position.end())
        refuse("unknown-stage", {name},
               "the program has no stage '" + name + "' here, or the plan runs it twice");
      const Stage& stage = region.stages[static_cast<std::size_t>(found->second)];
      for_each_stage({&stage, 1}, [&](const Stage& inner) {
        for (const Effect& effect : inner.effects) {
          auto& before = last_effect.try_emplace(effect.kind, -1).first->second;
          if (found->second < before)
            refuse("effect", {name}, "the effects of '" + name + "' would happen too late", stage.place);
          before = found->second;
        }
      });
      if (!members.empty() && found->second < members.back())
        refuse("illegal-order", {name}, "'" + name + "' comes before the others of its cluster", stage.place);
      members.push_back(found->second);
      position.erase(found);
    }
    sets.push_back(std::move(members));
  }
  std::set<int> left_out;
  for (const auto& [name, where] : position) left_out.insert(where);
  position.clear();
  recompute_stages(region, std::move(left_out));
  std::set<ArrayId> collections = collections_read(region);
  Joiner joiner(region);
  for (const std::vector<int>& members : sets) join_all(joiner, members);
  const auto readers_of = [&](ArrayId array, std::size_t from, std::size_t count) {
    std::set<int> places;
    if (joiner.uses().is_held(array)) places.insert(-1);
    for (const int reader : joiner.uses().readers(array)) {
      int place = -1;
      for (std::size_t s = 0; s < count; ++s)
        if (sets[from + s].back() == reader) place = static_cast<int>(s);
      places.insert(place);
    }
    return places;
  };
  std::vector<Stage> fused;
  for (const std::vector<int>& members : sets)
    fused.push_back(std::move(region.stages[static_cast<std::size_t>(members.back())]));
  std::size_t first = 0;
  std::set<ArrayId> passed;
  for (const std::vector<StageSet>& cluster : list.clusters) {
    const std::span<Stage> stages = std::span(fused).subspan(first, cluster.size());
    if (auto reason = visit_points(region.program, stages, passed)) throw Refusal{std::move(*reason)};
    const auto readers = [&](ArrayId array) { return readers_of(array, first, cluster.size()); };
    const auto shares = [&](int set) {
      return !list.sliced.contains(cluster[static_cast<std::size_t>(set)].back());
    };
    if (auto reason = take_order_of_readers(region.program, stages, readers, shares))
      throw Refusal{std::move(*reason)};
    first += cluster.size();
  }
  region.stages = std::move(fused);
  collections.merge(passed);
  drop_unread(region, collections);
}

}  // namespace

Result<std::shared_ptr<const Program>, Reason> fuse_clusters(const std::shared_ptr<const Program>& program,
                                                             std::span<const ClusterSets> lists) {
  std::size_t stages = 0, alone = 0;
  for_each_stage(program->stages, [&](const Stage&) { ++stages; });
  for (const ClusterSets& list : lists)
    for (const std::vector<StageSet>& cluster : list.clusters)
      alone += cluster.size() == 1 && cluster.front().size() == 1 ? 1 : 0;
  if (lists.empty() || alone == stages) return program;
  auto fused = std::make_shared<Program>(*program);
  try {
    in_all_regions(*fused, [&](Region& region) {
      for (const ClusterSets& list : lists)
        if (list.owner == region.owner && list.branch == region.branch) fuse_list(region, list);
      return false;
    });
  } catch (Refusal& refusal) {
    return std::move(refusal.reason);
  }
  return std::shared_ptr<const Program>(std::move(fused));
}

std::shared_ptr<const Program> without_stages(const std::shared_ptr<const Program>& program,
                                              const std::set<std::string>& names) {
  std::vector<ClusterSets> lists;
  Program scratch = *program;
  in_all_regions(scratch, [&](Region& region) {
    ClusterSets list{region.owner, region.branch, {}};
    for (const Stage& stage : region.stages)
      if (!names.contains(stage.name)) list.clusters.push_back({{stage.name}});
    if (list.clusters.size() < region.stages.size()) lists.push_back(std::move(list));
    return false;
  });
  auto rest = fuse_clusters(program, lists);
  return rest ? *rest : nullptr;
}

}  // namespace twill
