#include "cluster/builder.h"

#include "fuse/direction.h"
#include "fuse/gather.h"
#include "fuse/inline.h"
#include "fuse/join.h"
#include "fuse/profit.h"
#include "fuse/share.h"
#include "program/index_use.h"

#include <algorithm>
#include <numeric>

namespace twill {

namespace {

/// Arrays in memory that one loop can walk at the same time before they get into each other's way in the
/// caches.
constexpr std::size_t most_streams = 64;

}  // namespace

ClusterBuilder::ClusterBuilder(Region& region, Freedom freedom, Clustering& result)
    : region_(region),
      freedom_(std::move(freedom)),
      result_(result),
      written_(region.stages),
      joiner_(region) {
  const std::size_t count = region.stages.size();
  for (const Stage& stage : region.stages) names_.push_back(stage.name);
  for (std::size_t s = 0; s < count; ++s) {
    sets_.push_back({{static_cast<int>(s)}, static_cast<int>(s)});
    operations_.push_back(operations_of(region.stages[s]));
    in_order_.push_back(runs_in_order(region.program, region.stages[s]));
  }
  set_of_.resize(count);
  std::iota(set_of_.begin(), set_of_.end(), 0);
  set_order_ = RunOrder(set_of_, count);
  find_dependences();
}

void ClusterBuilder::run() {
  const int count = static_cast<int>(sets_.size());
  for (int s = 0; s < count; ++s) join_producers(freedom_.from_below ? count - 1 - s : s);
  std::map<std::pair<const Node*, const Node*>, std::vector<int>> by_range;
  for (int s = 0; s < count; ++s) {
    if (sets_[index(s)].members.empty()) continue;
    const Stage& stage = joiner_[sets_[index(s)].holder];
    if (stage.dims.empty()) continue;
    auto& same_range = by_range[{stage.dims.front().lo.get(), stage.dims.front().hi.get()}];
    join_sibling(s, same_range);
    if (!sets_[index(s)].members.empty()) same_range.push_back(s);
  }
  // What several siblings read may be read by them alone now.
  const std::size_t said = result_.not_done.size();
  for (int s = 0; s < count; ++s)
    if (sets_[index(s)].members.size() > 1) join_producers(s);
  result_.not_done.resize(said);
  // Why two stages do not even share their outer loops says more than why they are not one; but not if it is
  // that there are no others.
  std::vector<Reason> not_one;
  std::swap(not_one, result_.not_done);
  find_order();
  std::vector<int> sharing = order_;
  if (freedom_.from_below) std::reverse(sharing.begin(), sharing.end());
  for (const int set : sharing) share_with_producers(set);
  share_with_siblings();
  explain_blocks();
  const auto without_inner = std::stable_partition(result_.not_done.begin(), result_.not_done.end(),
                                                   [](const Reason& why) { return why.code != "scalar"; });
  result_.not_done.insert(without_inner, not_one.begin(), not_one.end());
  write_down();
}

namespace {

/// The arrays of which every step over the outermost dimension reads other elements.
std::set<ArrayId> walked_by(const Stage& stage) {
  std::set<ArrayId> arrays;
  for_each_expr(stage, [&](Expr root) {
    visit(root, [&](Expr node) {
      const auto* read = as<Read>(node);
      if (read && mentions(node, stage.dims.front().id)) arrays.insert(read->array);
    });
  });
  return arrays;
}

}  // namespace

/// What is read in a block stays outside of it.
void ClusterBuilder::explain_blocks() {
  for (std::size_t s = 0; s < region_.stages.size(); ++s) {
    const Stage& stage = joiner_[static_cast<int>(s)];
    if (std::holds_alternative<Formula>(stage.body)) continue;
    for (const ArrayId array : reads_of(region_.program, stage)) {
      const int definer = joiner_.uses().definer(array);
      if (definer < 0 || definer == static_cast<int>(s)) continue;
      result_.not_done.push_back({"block",
                                  {names_[index(definer)], stage.name},
                                  "'" + names_[index(definer)] + "' is not part of '" + stage.name + "': '" +
                                      region_.program[array].name +
                                      "' is read in a block, and computed before",
                                  stage.place});
    }
  }
}

void ClusterBuilder::find_dependences() {
  std::map<std::string, int> last_effect;
  for (std::size_t s = 0; s < region_.stages.size(); ++s) {
    const Stage& stage = region_.stages[s];
    std::set<int> before;
    for (const ArrayId array : reads_of(region_.program, stage))
      if (const int definer = joiner_.uses().definer(array); definer >= 0) before.insert(definer);
    for (const auto& [symbol, definer] : born_)
      if (joiner_.uses().users(symbol).contains(static_cast<int>(s))) before.insert(definer);
    for_each_stage({&stage, 1}, [&](const Stage& inner) {
      for (const Effect& effect : inner.effects) {
        if (const auto found = last_effect.find(effect.kind); found != last_effect.end())
          if (found->second != static_cast<int>(s)) before.insert(found->second);
        last_effect[effect.kind] = static_cast<int>(s);
      }
    });
    for (const SymbolId symbol : lengths_born_in(region_.program, stage)) born_[symbol] = static_cast<int>(s);
    before.erase(static_cast<int>(s));
    before_.push_back(std::move(before));
  }
}

/// Sets that have to run before a set.
std::set<int> ClusterBuilder::sets_before(int set) const {
  std::set<int> found;
  for (const int member : sets_[index(set)].members)
    for (const int other : before_[index(member)]) found.insert(set_of_[index(other)]);
  found.erase(set);
  return found;
}

/// Does a set have to run after `first` and before `second`?
bool ClusterBuilder::is_set_between(int first, int second) const {
  return set_order_.is_between(first, second, [&](int set) { return sets_before(set); });
}

Reason ClusterBuilder::reason(std::string code, int a, int b, const std::string& why) const {
  const std::string &first = joiner_[sets_[index(a)].holder].name,
                    &second = joiner_[sets_[index(b)].holder].name;
  return {std::move(code),
          {first, second},
          "'" + first + "' and '" + second + "' stay apart: " + why,
          joiner_[sets_[index(b)].holder].place};
}

/// Would one of two sets that share their loops run in order only because the other one does? It may, where
/// the other one reads what it computes, and that costs less than to keep it.
bool ClusterBuilder::loses_parallelism(int x, int y) const {
  const int first = sets_[index(x)].holder, second = sets_[index(y)].holder;
  if (in_order_[index(first)] == in_order_[index(second)]) return false;
  const Stage &maker = joiner_[first], &user = joiner_[second];
  if (has_hint(maker, Hint::Always) || has_hint(user, Hint::Always)) return false;
  const bool handed_on = std::any_of(maker.outputs.begin(), maker.outputs.end(),
                                     [&](const Output& output) { return reads(user, output.array); });
  return in_order_[index(first)] || !handed_on || maker.dims.size() > 1 ||
         operations_[index(first)] > cheap_operations;
}

bool ClusterBuilder::may_fuse(int a, int b) const {
  const auto cluster = [&](int set) { return freedom_.cluster[index(sets_[index(set)].members.front())]; };
  return freedom_.cluster.empty() || cluster(a) == cluster(b);
}

/// Why two sets cannot become one, or had better not.
std::optional<Reason> ClusterBuilder::why_not_one(const Set& first, const Set& second, int a, int b,
                                                  bool siblings) const {
  // Asked first of siblings: there may be many.
  if (siblings && walks_too_many(first.holder, second.holder) &&
      !has_hint(joiner_[first.holder], Hint::Always) && !has_hint(joiner_[second.holder], Hint::Always))
    return reason("streams", a, b, "one loop would walk too many arrays");
  if (auto apart = joiner_.why_not(first.holder, second.holder)) return apart;
  if (auto more = why_more_work(first.holder, second.holder)) return more;
  const bool always =
      has_hint(joiner_[first.holder], Hint::Always) || has_hint(joiner_[second.holder], Hint::Always);
  if (!always && siblings && in_order_[index(first.holder)] != in_order_[index(second.holder)])
    return reason("parallelism", a, b, "only one of them runs in order");
  if (!always && siblings) {
    for (const auto& [one, other] :
         {std::pair(first.holder, second.holder), std::pair(second.holder, first.holder)})
      if (takes_single_points(joiner_[one]) && !takes_single_points(joiner_[other]) &&
          is_for_lanes(region_.program, joiner_[other], operations_[index(other)]))
        return reason("lanes", a, b,
                      "'" + joiner_[one].name + "' takes one point after the other, and '" +
                          joiner_[other].name + "' many at once, in lanes");
    for (const int holder : {first.holder, second.holder})
      if (is_product(region_.program, joiner_[holder]))
        return reason("tile", a, b, "'" + joiner_[holder].name + "' has tiles of its own in registers");
    if (walk_apart(joiner_[first.holder], joiner_[second.holder]))
      return reason("jumps", a, b, "one of them would jump through memory in the order of the other");
  }
  const bool hands_on =
      std::any_of(joiner_[first.holder].outputs.begin(), joiner_[first.holder].outputs.end(),
                  [&](const Output& output) { return reads(joiner_[second.holder], output.array); });
  if (!siblings || hands_on) {
    if (auto worse = why_worse(region_.program, joiner_[first.holder], operations_[index(first.holder)],
                               joiner_[second.holder]))
      return worse;
  }
  if (!always && walks_too_many(first.holder, second.holder))
    return reason("streams", a, b, "one loop would walk too many arrays");
  return std::nullopt;
}

/// Would elements of the first be computed more often if the second went to what they are made of?
std::optional<Reason> ClusterBuilder::why_more_work(int first, int second) const {
  const Stage &maker = joiner_[first], &reader = joiner_[second];
  if (freedom_.gathers || has_hint(maker, Hint::Always) || has_hint(reader, Hint::Always))
    return std::nullopt;
  for (const Output* output : gathered_outputs(maker, reader))
    if (!reads_few(region_.program, maker, *output, reader))
      return reason("repeated", set_of_[index(first)], set_of_[index(second)],
                    "elements of '" + region_.program[output->array].name +
                        "' would be computed as often as they are read");
  return std::nullopt;
}

/// A plan names the stages of a set, and not which of them were joined first; for most sets that is no
/// matter. Why can they not be joined one by one?
std::optional<Reason> ClusterBuilder::why_not_in_turn(const Set& first, const Set& second) const {
  std::vector<int> members = first.members;
  members.insert(members.end(), second.members.begin(), second.members.end());
  std::sort(members.begin(), members.end());
  return why_not_one_set(region_, written_, members);
}

/// Nothing if the two have become one.
std::optional<Reason> ClusterBuilder::join(int a, int b, bool siblings) {
  // The set that is held later in the program comes second.
  if (sets_[index(a)].holder > sets_[index(b)].holder) std::swap(a, b);
  Set &first = sets_[index(a)], &second = sets_[index(b)];
  if (is_set_between(a, b) || is_set_between(b, a))
    return reason("cycle", a, b, "what is computed between them needs the one and is needed by the other");
  if (sets_before(a).contains(b))
    return reason("cycle", a, b, "the first needs what is computed together with the second");
  if (auto apart = why_not_one(first, second, a, b, siblings)) return apart;
  if (siblings)
    if (auto apart = why_not_before_readers(a, b)) return apart;
  const bool gathers = first.gathers || second.gathers ||
                       !gathered_outputs(joiner_[first.holder], joiner_[second.holder]).empty();
  const bool in_turn =
      first.in_turn && second.members.size() == 1 && first.members.back() < second.members.front();
  if (gathers && !in_turn)
    if (auto apart = why_not_in_turn(first, second)) return apart;
  second.gathers = gathers;
  second.in_turn = in_turn;
  const std::string before = joiner_[first.holder].name, after = joiner_[second.holder].name;
  result_.done.push_back({siblings ? "horizontal" : "vertical",
                          {before, after},
                          "'" + before + "' and '" + after + "' share a loop",
                          joiner_[second.holder].place});
  set_order_.merge(a, b, [&](int set) { return sets_before(set); });
  joiner_.join(first.holder, second.holder);
  operations_[index(second.holder)] += operations_[index(first.holder)];
  in_order_[index(second.holder)] = in_order_[index(second.holder)] || in_order_[index(first.holder)];
  for (const int member : first.members) set_of_[index(member)] = b;
  second.members.insert(second.members.end(), first.members.begin(), first.members.end());
  std::sort(second.members.begin(), second.members.end());
  first.members.clear();
  return std::nullopt;
}

/// A reader that could share its loops with one of two siblings, but waits for all of the other one, could
/// share them with neither if the two were one.
std::optional<Reason> ClusterBuilder::why_not_before_readers(int a, int b) {
  const auto shares = [&](int maker, int reader) {
    std::vector<Stage> stages;
    return !why_not_shared({maker, reader}, stages, [](int, int) { return false; });
  };
  for (const auto& [one, other] : {std::pair(a, b), std::pair(b, a)}) {
    std::set<int> readers;
    for (const Output& output : joiner_[sets_[index(one)].holder].outputs)
      for (const int reader : joiner_.uses().readers(output.array)) readers.insert(set_of_[index(reader)]);
    for (const int reader : readers) {
      if (reader == one || reader == other || !may_fuse(one, reader)) continue;
      const bool waits = is_set_between(other, reader);
      if (!waits && !sets_before(reader).contains(other)) continue;
      if ((waits || !shares(other, reader)) && !is_set_between(one, reader) && shares(one, reader))
        return reason("vertical", a, b,
                      "'" + joiner_[sets_[index(reader)].holder].name + "' goes through '" +
                          joiner_[sets_[index(one)].holder].name + "', and waits for all of '" +
                          joiner_[sets_[index(other)].holder].name + "'");
    }
  }
  return std::nullopt;
}

std::size_t ClusterBuilder::streams(int first, int second) const {
  std::set<ArrayId> arrays = joiner_.uses().reads(first);
  arrays.insert(joiner_.uses().reads(second).begin(), joiner_.uses().reads(second).end());
  for (const int position : {first, second})
    for (const Output& output : joiner_[position].outputs) arrays.insert(output.array);
  // Single values, and what only the two hand to each other, are not in memory.
  const auto is_inside = [&](ArrayId array) {
    if (region_.program[array].rank() == 0) return true;
    const int definer = joiner_.uses().definer(array);
    const std::set<int>& readers = joiner_.uses().readers(array);
    return (definer == first || definer == second) && !joiner_.uses().is_held(array) &&
           std::all_of(readers.begin(), readers.end(), [&](int r) { return r == first || r == second; });
  };
  std::erase_if(arrays, is_inside);
  return arrays.size();
}

bool ClusterBuilder::walks_too_many(int first, int second) const {
  return !freedom_.many_arrays && streams(first, second) > most_streams;
}

/// Stages whose elements, or the places of whose elements, a stage goes through.
std::set<int> ClusterBuilder::producers_of(int stage) const {
  std::set<int> producers;
  for (const ArrayId array : joiner_.uses().reads(stage))
    if (const int definer = joiner_.uses().definer(array); definer >= 0) producers.insert(definer);
  for (const Dim& dim : joiner_[stage].dims) {
    const auto* length = as<SizeRef>(dim.hi);
    const auto born = length ? born_.find(length->symbol) : born_.end();
    if (born != born_.end()) producers.insert(born->second);
  }
  return producers;
}

/// All sets whose elements the stage reads, the nearest first.
void ClusterBuilder::join_producers(int stage) {
  std::set<int> tried;
  while (true) {
    const int own = set_of_[index(stage)];
    int next = -1;
    for (const int definer : producers_of(sets_[index(own)].holder)) {
      if (set_of_[index(definer)] == own || tried.contains(set_of_[index(definer)])) continue;
      if (!may_fuse(set_of_[index(definer)], own)) continue;
      if (next < 0 || sets_[index(set_of_[index(definer)])].holder > sets_[index(next)].holder)
        next = set_of_[index(definer)];
    }
    if (next < 0) return;
    tried.insert(next);
    if (auto apart = join(next, own, false)) result_.not_done.push_back(std::move(*apart));
  }
}

void ClusterBuilder::join_sibling(int set, std::vector<int>& candidates) {
  for (const int other : candidates) {
    if (sets_[index(other)].members.empty() || !may_fuse(other, set)) continue;
    auto apart = join(other, set, true);
    if (!apart) {
      // Its place in the list of candidates is that of the earlier one.
      const int joined = sets_[index(set)].members.empty() ? other : set;
      std::replace(candidates.begin(), candidates.end(), other, joined);
      return;
    }
    result_.not_done.push_back(std::move(*apart));
  }
}

/// The sets, each after those that it needs, otherwise in the order of the program. From here on every set
/// is in a group: sets that share their outer loops.
void ClusterBuilder::find_order() {
  std::vector<int> sets;
  for (int s = 0; s < static_cast<int>(sets_.size()); ++s)
    if (!sets_[index(s)].members.empty()) sets.push_back(s);
  std::sort(sets.begin(), sets.end(),
            [&](int a, int b) { return sets_[index(a)].members.front() < sets_[index(b)].members.front(); });
  std::set<int> done;
  const std::function<void(int)> place = [&](int set) {
    if (!done.insert(set).second) return;
    for (const int other : sets_before(set)) place(other);
    order_.push_back(set);
  };
  for (const int set : sets) place(set);
  rank_.resize(sets_.size());
  group_of_.resize(sets_.size());
  groups_.resize(sets_.size());
  for (std::size_t k = 0; k < order_.size(); ++k) rank_[index(order_[k])] = static_cast<int>(k);
  for (const int set : order_) {
    group_of_[index(set)] = set;
    groups_[index(set)] = {set};
  }
  group_order_ = RunOrder(order_, sets_.size());
}

std::set<int> ClusterBuilder::groups_before(int group) const {
  std::set<int> found;
  for (const int set : groups_[index(group)])
    for (const int other : sets_before(set)) found.insert(group_of_[index(other)]);
  found.erase(group);
  return found;
}

/// Does a group have to run after `first` and before `second`?
bool ClusterBuilder::is_group_between(int first, int second) const {
  return group_order_.is_between(first, second, [&](int group) { return groups_before(group); });
}

void ClusterBuilder::share_with_producers(int set) {
  std::set<int> tried;
  while (true) {
    const int own = group_of_[index(set)];
    int next = -1;
    for (const int definer : producers_of(sets_[index(set)].holder)) {
      const int producer = set_of_[index(definer)], group = group_of_[index(producer)];
      if (group == own || tried.contains(group) || !may_fuse(producer, set)) continue;
      if (next < 0 || rank_[index(producer)] > rank_[index(next)]) next = producer;
    }
    if (next < 0) return;
    tried.insert(group_of_[index(next)]);
    if (auto apart = share(group_of_[index(next)], own)) result_.not_done.push_back(std::move(*apart));
  }
}

/// Groups that walk through the same array, step by step over the same range: it is read once then. What
/// takes many points at once, in lanes, would take one after the other.
void ClusterBuilder::share_with_siblings() {
  std::map<std::pair<const Node*, const Node*>, std::vector<int>> by_range;
  std::map<int, std::set<ArrayId>> walked;
  for (const int set : order_) {
    const Stage& stage = joiner_[sets_[index(set)].holder];
    if (stage.dims.empty()) continue;
    auto& same_range = by_range[{stage.dims.front().lo.get(), stage.dims.front().hi.get()}];
    const std::set<ArrayId>& own = walked[set] = walked_by(stage);
    std::set<int> tried;
    for (const int other : same_range) {
      const int group = group_of_[index(other)];
      if (group == group_of_[index(set)] || tried.contains(group) || !may_fuse(other, set)) continue;
      if (!std::ranges::any_of(walked[other], [&](ArrayId array) { return own.contains(array); })) continue;
      tried.insert(group);
      const auto loses_lanes = [&](int one) {
        const int held = sets_[index(one)].holder;
        return joiner_[held].dims.size() == 1 &&
               is_for_lanes(region_.program, joiner_[held], operations_[index(held)]);
      };
      auto apart =
          loses_lanes(set) || loses_lanes(other)
              ? std::optional(reason("lanes", other, set,
                                     "'" + joiner_[sets_[index(loses_lanes(set) ? set : other)].holder].name +
                                         "' takes many points at once, in lanes"))
              : share(group, group_of_[index(set)]);
      if (apart && apart->code != "cycle")  // that has been said
        result_.not_done.push_back(std::move(*apart));
    }
    same_range.push_back(set);
  }
}

/// What is gathered by a later one of the sets is computed in the order of that.
std::optional<Reason> ClusterBuilder::gather_in_order(const std::vector<int>& sets,
                                                      std::vector<Stage>& stages) const {
  for (std::size_t i = 0; i < sets.size(); ++i)
    for (std::size_t k = i + 1; k < sets.size(); ++k)
      if (auto more = why_more_work(sets_[index(sets[i])].holder, sets_[index(sets[k])].holder)) return more;
  const auto readers = [&](ArrayId array) {
    std::set<int> positions;
    if (joiner_.uses().is_held(array)) positions.insert(-1);
    for (const int reader : joiner_.uses().readers(array)) {
      int position = -1;
      for (std::size_t s = 0; s < sets.size(); ++s)
        if (sets_[index(sets[s])].holder == reader) position = static_cast<int>(s);
      positions.insert(position);
    }
    return positions;
  };
  return take_order_of_readers(region_.program, stages, readers, [](int) { return true; });
}

std::optional<Reason> ClusterBuilder::why_not_shared(const std::vector<int>& sets, std::vector<Stage>& stages,
                                                     const std::function<bool(int, int)>& already) const {
  const int first = sets.front(), second = sets.back();
  for (const int set : sets) stages.push_back(joiner_[sets_[index(set)].holder]);
  std::set<ArrayId> passed;
  if (auto apart = visit_points(region_.program, stages, passed)) return apart;
  if (auto apart = gather_in_order(sets, stages)) return apart;
  std::vector<const Stage*> all;
  for (const Stage& stage : stages) all.push_back(&stage);
  const int depth = most_shared(region_.program, all);
  if (auto early = why_decides_too_early(region_.program, all)) return early;
  // Without loops inside, lanes are worth more than what is not written; a scan has none anyway.
  const bool only_values = std::all_of(stages.begin(), stages.end(),
                                       [](const Stage& s) { return s.dims.size() == 1 && !any_is<Scan>(s); });
  if (only_values)
    return reason("scalar", first, second, "nothing but single values would be computed in an iteration");
  for (std::size_t i = 0; i < sets.size(); ++i) {
    for (std::size_t k = i + 1; k < sets.size(); ++k) {
      const int x = sets[i], y = sets[k];
      if (already(x, y)) continue;
      if (auto apart = why_not_share(region_.program, stages[i], stages[k], 1)) return apart;
      if (auto worse = why_worse_to_share(region_.program, stages[i], stages[k])) return worse;
      for (const Output& output : stages[i].outputs)
        if (reads(stages[k], output.array) && region_.program[output.array].rank() > depth + 1)
          return reason("part", x, y,
                        "an iteration that they share would hand on more than a row of '" +
                            region_.program[output.array].name + "'");
      if (loses_parallelism(x, y)) return reason("parallelism", x, y, "only one of them runs in order");
      if (walks_too_many(sets_[index(x)].holder, sets_[index(y)].holder))
        return reason("streams", x, y, "one loop would walk too many arrays");
    }
  }
  return std::nullopt;
}

/// Nothing if the two groups have become one.
std::optional<Reason> ClusterBuilder::share(int a, int b) {
  std::vector<int> sets = groups_[index(a)];
  sets.insert(sets.end(), groups_[index(b)].begin(), groups_[index(b)].end());
  std::sort(sets.begin(), sets.end(), [&](int x, int y) { return rank_[index(x)] < rank_[index(y)]; });
  const int first = groups_[index(a)].back(), second = groups_[index(b)].back();
  if (is_group_between(a, b) || is_group_between(b, a) || groups_before(a).contains(b))
    return reason("cycle", first, second,
                  "what is computed between them needs the one and is needed by the other");
  std::vector<Stage> stages;
  const auto already = [&](int x, int y) { return group_of_[index(x)] == group_of_[index(y)]; };
  if (auto apart = why_not_shared(sets, stages, already)) return apart;
  const std::string &before = joiner_[sets_[index(first)].holder].name,
                    &after = joiner_[sets_[index(second)].holder].name;
  result_.done.push_back({"shared",
                          {before, after},
                          "'" + before + "' and '" + after + "' share their outer loops",
                          joiner_[sets_[index(second)].holder].place});
  for (std::size_t k = 0; k < sets.size(); ++k)
    joiner_.replace(sets_[index(sets[k])].holder, std::move(stages[k]));
  group_order_.merge(a, b, [&](int group) { return groups_before(group); });
  for (const int set : sets) group_of_[index(set)] = b;
  groups_[index(a)].clear();
  groups_[index(b)] = std::move(sets);
  return std::nullopt;
}

/// The groups, each after those that it needs.
void ClusterBuilder::write_down() {
  ClusterSets list{region_.owner, region_.branch, {}};
  std::set<int> done;
  const std::function<void(int)> place = [&](int group) {
    if (!done.insert(group).second) return;
    for (const int other : groups_before(group)) place(other);
    std::vector<StageSet> cluster;
    for (const int set : groups_[index(group)]) {
      cluster.emplace_back();
      for (const int member : sets_[index(set)].members) cluster.back().push_back(names_[index(member)]);
    }
    list.clusters.push_back(std::move(cluster));
  };
  for (const int set : order_) place(group_of_[index(set)]);
  explain_neighbours(list);
  result_.lists.push_back(std::move(list));
}

/// Loops that run one after the other, and of which nothing has been said.
void ClusterBuilder::explain_neighbours(const ClusterSets& list) {
  std::map<std::string, std::size_t> cluster_of;
  for (std::size_t c = 0; c < list.clusters.size(); ++c)
    for (const StageSet& set : list.clusters[c])
      for (const std::string& name : set) cluster_of[name] = c;
  std::set<std::pair<std::size_t, std::size_t>> said;
  for (const Reason& reason : result_.not_done)
    for (const std::string& a : reason.stages)
      for (const std::string& b : reason.stages)
        if (reason.code != "no-loop" && cluster_of.contains(a) && cluster_of.contains(b))
          said.emplace(cluster_of.at(a), cluster_of.at(b));
  for (std::size_t s = 0; s < names_.size(); ++s) {
    const Stage& stage = region_.stages[s];
    if (stage.name.empty() || !stage.dims.empty()) continue;
    for (const ArrayId array : joiner_.uses().reads(static_cast<int>(s))) {
      const int definer = joiner_.uses().definer(array);
      if (definer < 0 || region_.program[array].rank() == 0) continue;
      const std::string& maker = names_[index(definer)];
      if (said.contains({cluster_of.at(maker), cluster_of.at(stage.name)})) continue;
      result_.not_done.push_back({"single",
                                  {maker, stage.name},
                                  "'" + maker + "' is not part of '" + stage.name +
                                      "': a single value reads '" + region_.program[array].name +
                                      "' after the loop",
                                  stage.place});
    }
  }
  std::map<std::string, int> stage_of;
  for (std::size_t s = 0; s < names_.size(); ++s) stage_of[names_[s]] = static_cast<int>(s);
  for (std::size_t c = 0; c + 1 < list.clusters.size(); ++c) {
    if (said.contains({c, c + 1})) continue;
    const int a = set_of_[index(stage_of.at(list.clusters[c].back().back()))],
              b = set_of_[index(stage_of.at(list.clusters[c + 1].front().back()))];
    const Set &first = sets_[index(a)], &second = sets_[index(b)];
    if (joiner_[first.holder].dims.empty() || joiner_[second.holder].dims.empty() || !may_fuse(a, b))
      continue;
    if (auto apart = why_not_one(first, second, a, b, true)) result_.not_done.push_back(std::move(*apart));
  }
}

std::optional<Reason> ClusterBuilder::why_apart(int first, int second) {
  const bool reads = producers_of(second).contains(first);
  auto not_one = why_not_one(sets_[index(first)], sets_[index(second)], first, second, !reads);
  if (!not_one) return std::nullopt;
  if (!reads || joiner_[first].dims.empty() || joiner_[second].dims.empty()) return not_one;
  std::vector<Stage> stages;
  return why_not_shared({first, second}, stages, [](int, int) { return false; });
}

std::vector<int> built_clusters(Region& region, Freedom freedom, Clustering& result) {
  const std::vector<Stage> stages = region.stages;
  ClusterBuilder(region, std::move(freedom), result).run();
  std::map<std::string, int> number;
  for (const std::vector<StageSet>& cluster : result.lists.back().clusters) {
    const int own = static_cast<int>(number.size());
    for (const StageSet& set : cluster)
      for (const std::string& stage : set) number[stage] = own;
  }
  region.stages = stages;
  std::vector<int> clusters;
  for (const Stage& stage : stages) clusters.push_back(number.at(stage.name));
  return clusters;
}

}  // namespace twill
