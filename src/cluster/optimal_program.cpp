// The best clusters of a program. What may be together is asked of the rules, two stages at a time; the
// linear program chooses; and the builder makes of its choice what the rules allow. Where they refuse a
// cluster as a whole, the choice is made again without it. Where time is what counts, stages may be left out
// and computed again by those who read them.
#include "cluster/at.h"
#include "cluster/program_problem.h"
#include "fuse/inline.h"
#include "fuse/profit.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

namespace twill {

namespace {

/// Clusters that are tried to be one although nothing is saved but a pass.
constexpr int most_merges = 100;

/// Pairs of clusters that are tried to be one, to say why they are not.
constexpr int most_explained = 50;

/// Stages that are tried to be left out; the share of the time that is left that this takes at most, so that
/// there is some for the choice among the others.
constexpr int most_left_out = 200;
constexpr double leaving_out_share = 0.75;

class Choice {
 public:
  Choice(Region& region, const ClusterCost& cost, const SolveOptions& options, Deadline& deadline,
         Clustering& result)
      : deadline_(deadline),
        region_(region),
        cost_(cost),
        options_(options),
        result_(result),
        stages_(region.stages),
        shares_(cost) {
    if (const ByTime* by_time = std::get_if<ByTime>(&cost)) tiling_ = by_time->tiling;
  }

  void run() {
    solve({});
    if (std::holds_alternative<ByTime>(cost_)) {
      while (leave_out_stages(deadline_.share(leaving_out_share))) solve({best_.cluster});
    }
    finish();
  }

 private:
  struct Built {
    Clustering clustering;
    std::vector<int> cluster;  // by stage
    double again = 0;          // what it costs that tiles compute parts of stages more than once
    double cost = 0;
  };
  using Merged =
      std::map<int, std::vector<StageSet>>;  // by wanted cluster: sets of several that share no loop

  /// The best clusters of the stages that are left; `known`: some that are possible.
  void solve(std::vector<std::vector<int>> known) {
    region_.stages = stages_;
    ProgramProblem& problem = problem_.emplace(region_, cost_, shares_);
    unit_ = problem.unit();
    best_ = {};
    std::vector<Built> first;
    for (const std::vector<int>& cluster : known) first.push_back(build(cluster, problem));
    for (const bool from_below : {false, true})
      if (first.empty() || !deadline_.is_over()) first.push_back(build_greedy(from_below, problem));
    known.clear();
    for (const Built& built : first) known.push_back(built.cluster);
    const bool found = problem.find_pairs(region_, known, [&] { return !deadline_.is_over(); });
    for (Built& built : first) take(std::move(built), problem);
    bound_ = problem.least_cost() + problem.work();
    if (!found) return;
    if (stages_.size() < 2 || best_.cost <= bound_ + slack()) return;
    std::vector<Chosen> chosen;
    for (const std::vector<int>& cluster : known) chosen.push_back({cluster});
    // A cluster that is refused as a whole costs another round. Nothing but time ends this without a proof.
    while (!deadline_.is_over()) {
      const BestChoice choice = best_choice(
          problem.problem, [&] { return chosen; }, problem.is_whole(), options_, deadline_);
      // More refusals only make it cost more, so what no choice costs less than still holds after them.
      bound_ = std::max(bound_, problem.cost_of(choice.set) + problem.work() - choice.may_save);
      Built built = build(choice.set, problem);
      const std::vector<int> cluster = built.cluster;
      const double again = built.again;
      chosen.push_back({cluster});
      take(std::move(built), problem);
      const bool charged = charge_for_tiles(cluster, again - problem.charged_for_tiles(cluster), problem);
      if (!forbid_refused(choice.set, cluster, problem.problem) && !charged) break;
      if (best_.cost <= bound_ + slack()) break;
    }
    merge_what_costs_nothing(problem);
    bound_ = std::min(bound_, best_.cost);
  }

  Built join_and_share(Freedom freedom) {
    region_.stages = stages_;
    // What counts arrays, and not time, does not ask how many of them a loop walks.
    freedom.many_arrays = std::holds_alternative<GraphCost>(cost_);
    freedom.gathers = true;
    Built built;
    built.cluster = built_clusters(region_, std::move(freedom), built.clustering);
    return built;
  }

  /// What the rules, and tiles, make of a choice.
  Built build(const std::vector<int>& wanted, const ProgramProblem& problem) {
    Built built = join_and_share({.cluster = wanted});
    if (tiling_) merge_in_tiles(wanted, problem, built);
    return built;
  }

  Built build_greedy(bool from_below, const ProgramProblem& problem) {
    Built built = join_and_share({.from_below = from_below});
    if (!tiling_) return built;
    take(tiling_->merged(built.clustering.lists.back()), built);
    return build(built.cluster, problem);
  }

  /// By stage, the position of its cluster in the list.
  std::vector<int> positions_in(const ClusterSets& list) const {
    std::map<std::string_view, int> number;
    for (std::size_t c = 0; c < list.clusters.size(); ++c)
      for (const StageSet& set : list.clusters[c])
        for (const std::string& name : set) number[name] = static_cast<int>(c);
    std::vector<int> positions;
    for (const Stage& stage : stages_) positions.push_back(number.at(stage.name));
    return positions;
  }

  void take(ClusterSets list, Built& built) const {
    built.cluster = positions_in(list);
    built.clustering.lists.back() = std::move(list);
  }

  /// Clusters that share no loop, but are wanted to be one, become one if they can be computed in tiles.
  void merge_in_tiles(const std::vector<int>& wanted, const ProgramProblem& problem, Built& built) {
    const ClusterSets& list = built.clustering.lists.back();
    const std::vector<int> position = positions_in(list);
    std::map<int, std::set<int>> parts;  // by wanted cluster: positions in the list
    for (std::size_t s = 0; s < stages_.size(); ++s) parts[wanted[s]].insert(position[s]);
    Merged merged;
    for (const auto& [number, clusters] : parts) {
      if (clusters.size() == 1) continue;
      std::vector<StageSet>& all = merged[number];
      for (const int c : clusters)
        all.insert(all.end(), list.clusters[at(c)].begin(), list.clusters[at(c)].end());
    }
    if (merged.empty()) return;
    ask_for_tiles(wanted, problem, list, merged);
    std::erase_if(merged, [&](const auto& one) { return !tiles_.at(one.second); });
    if (merged.empty()) return;
    std::vector<int> cluster = position;
    for (std::size_t s = 0; s < stages_.size(); ++s)
      if (merged.contains(wanted[s])) cluster[s] = problem.problem.count + wanted[s];
    const auto order = order_of(cluster, problem);
    if (!order) return;  // a choice that nobody can run
    ClusterSets with_tiles{list.owner, list.branch, {}, {}};
    for (const int s : *order) {
      const auto found = merged.find(wanted[at(s)]);
      if (found == merged.end()) {
        with_tiles.clusters.push_back(list.clusters[at(position[at(s)])]);
        continue;
      }
      const TiledSets& tiles = *tiles_.at(found->second);
      built.again += again_in(tiles, problem);
      with_tiles.clusters.push_back(tiles.sets);
      with_tiles.sliced.insert(tiles.sliced.begin(), tiles.sliced.end());
    }
    take(std::move(with_tiles), built);
  }

  /// What it costs that several tiles compute the same.
  double again_in(const TiledSets& tiles, const ProgramProblem& problem) const {
    std::map<std::string_view, double> share;  // by stage
    for (std::size_t k = 0; k < tiles.sets.size(); ++k)
      for (const std::string& name : tiles.sets[k]) share[name] = tiles.again[k];
    double cost = 0;
    for (std::size_t s = 0; s < stages_.size(); ++s)
      if (const auto found = share.find(stages_[s].name); found != share.end())
        cost += found->second * problem.work_of(static_cast<int>(s));
    return cost;
  }

  /// For each cluster, in an order in which they can run, its first stage; nothing if there is none.
  std::optional<std::vector<int>> order_of(const std::vector<int>& cluster,
                                           const ProgramProblem& problem) const {
    std::map<int, std::set<int>> before;
    std::map<int, int> first;
    for (int s = 0; s < problem.problem.count; ++s) {
      const int own = cluster[at(s)];
      first.try_emplace(own, s);
      for (const int other : problem.before(s))
        if (cluster[at(other)] != own) before[own].insert(cluster[at(other)]);
    }
    std::set<std::pair<int, int>> left;  // in the order of the program, as far as possible
    for (const auto& [own, s] : first) left.emplace(s, own);
    std::vector<int> order;
    std::set<int> done;
    while (!left.empty()) {
      const auto next = std::ranges::find_if(left, [&](const auto& one) {
        return std::ranges::all_of(before[one.second], [&](int other) { return done.contains(other); });
      });
      if (next == left.end()) return std::nullopt;
      order.push_back(next->first);
      done.insert(next->second);
      left.erase(next);
    }
    return order;
  }

  /// Learns which of the merged clusters can be computed in tiles. What has been asked once is known.
  void ask_for_tiles(const std::vector<int>& wanted, const ProgramProblem& problem, const ClusterSets& list,
                     const Merged& merged) {
    const bool all_known =
        std::ranges::all_of(merged, [&](const auto& one) { return tiles_.contains(one.second); });
    if (all_known) return;
    for (const auto& [number, sets] : merged) tiles_[sets] = std::nullopt;
    const auto order = order_of(wanted, problem);
    if (!order) return;
    const std::vector<int> position = positions_in(list);
    ClusterSets with_merged{list.owner, list.branch, {}, {}};
    std::vector<std::size_t> asked;
    std::vector<const std::vector<StageSet>*> about;
    for (const int s : *order) {
      const auto found = merged.find(wanted[at(s)]);
      if (found != merged.end()) {
        asked.push_back(with_merged.clusters.size());
        about.push_back(&found->second);
      }
      with_merged.clusters.push_back(found != merged.end() ? found->second
                                                           : list.clusters[at(position[at(s)])]);
    }
    const std::vector<std::optional<TiledSets>> answers = tiling_->tiles(with_merged, asked);
    for (std::size_t k = 0; k < asked.size(); ++k) tiles_[*about[k]] = answers[k];
  }

  double cost_of(const Built& built, const ProgramProblem& problem) const {
    return problem.cost_of(built.cluster) + problem.work() - problem.charged_for_tiles(built.cluster) +
           built.again;
  }

  void take(Built built, const ProgramProblem& problem) {
    built.cost = cost_of(built, problem);
    if (best_.cluster.empty() || built.cost < best_.cost) best_ = std::move(built);
  }

  void finish() {
    Clustering& own = best_.clustering;
    result_.lists.insert(result_.lists.end(), own.lists.begin(), own.lists.end());
    result_.done.insert(result_.done.end(), left_out_.begin(), left_out_.end());
    result_.done.insert(result_.done.end(), own.done.begin(), own.done.end());
    result_.not_done.insert(result_.not_done.end(), own.not_done.begin(), own.not_done.end());
    if (!result_.proof) result_.proof.emplace();
    Proof& proof = *result_.proof;
    proof.cost += best_.cost * unit_;
    proof.bound += bound_ * unit_;
    proof.out_of_time = proof.out_of_time || best_.cost > bound_ + slack();
    proof.left_out = proof.left_out || !left_out_.empty();
    // To say why takes its own time.
    const auto chosen = std::chrono::steady_clock::now();
    explain_cuts();
    deadline_.pause_since(chosen);
  }

  /// Why stages of which one waits for the other are not together.
  void explain_cuts() {
    std::set<std::pair<int, int>> said;  // clusters
    for (const ClusterProblem::Wait& wait : problem_->problem.waits) {
      const int from = best_.cluster[at(wait.first)], to = best_.cluster[at(wait.second)];
      if (from == to || !said.insert({from, to}).second) continue;
      const auto never = problem_->why_never.find({wait.first, wait.second});
      result_.not_done.push_back(never != problem_->why_never.end() ? never->second
                                                                    : why_cut(wait.first, wait.second));
    }
    // Loops over the same range that run one after the other, whoever waits for whom.
    int before = -1;
    for (const std::vector<StageSet>& cluster : best_.clustering.lists.back().clusters) {
      const int own = position_of(cluster.back().back());
      if (stages_[at(own)].dims.empty()) continue;
      if (before >= 0 && same_range(before, own) &&
          said.insert({best_.cluster[at(before)], best_.cluster[at(own)]}).second)
        result_.not_done.push_back(why_cut(before, own));
      before = own;
    }
  }

  int position_of(const std::string& name) const {
    const auto found = std::ranges::find(stages_, name, &Stage::name);
    return static_cast<int>(found - stages_.begin());
  }

  /// Two stages that could share a loop, but do not, because of those that they are with.
  Reason why_cut(int a, int b) {
    const Stage &first = stages_[at(a)], &second = stages_[at(b)];
    const auto reason = [&](const std::string& why) {
      return Reason{"chosen",
                    {first.name, second.name},
                    "'" + first.name + "' and '" + second.name + "' stay apart: " + why,
                    second.place};
    };
    const std::string with = "what they share loops with does not all fit into one";
    if (++tried_to_explain_ > most_explained) return reason(with);
    const int from = best_.cluster[at(a)], to = best_.cluster[at(b)];
    std::vector<int> wanted = best_.cluster;
    std::replace(wanted.begin(), wanted.end(), from, to);
    const Built built = build(wanted, *problem_);
    std::set<int> parts;
    for (int s = 0; s < problem_->problem.count; ++s)
      if (wanted[at(s)] == to) parts.insert(built.cluster[at(s)]);
    if (parts.size() == 1) {
      const double more = cost_of(built, *problem_) - best_.cost;
      if (more <= slack()) return reason("nothing is saved by having them in one loop");
      const GraphCost* counted = std::get_if<GraphCost>(&cost_);
      return reason(counted ? fmt::format("in one loop they cost {} more by ({})", more, letter_of(*counted))
                            : fmt::format("in one loop, all takes {:.1f} % longer", 100 * more / best_.cost));
    }
    std::map<std::string, int> part_of;
    for (std::size_t s = 0; s < stages_.size(); ++s)
      if (wanted[s] == to) part_of[stages_[s].name] = built.cluster[s];
    for (const Reason& why : built.clustering.not_done) {
      if (why.stages.size() != 2) continue;
      const auto x = part_of.find(why.stages[0]), y = part_of.find(why.stages[1]);
      if (x == part_of.end() || y == part_of.end() || x->second == y->second) continue;
      if (why.stages == std::vector{first.name, second.name}) return why;
      return reason("all that is with them would be in one loop, but " + why.text);
    }
    return reason(with);
  }

  double slack() const { return 1e-9 * (1 + std::abs(best_.cost)); }

  /// Fewer passes, if that costs no more: clusters that read nothing in common may still share a loop.
  void merge_what_costs_nothing(const ProgramProblem& problem) {
    int tries = 0;
    std::set<std::pair<int, int>> tried;
    for (int a = 0; a < problem.problem.count; ++a)
      for (int b = a + 1; b < problem.problem.count && tries < most_merges && !deadline_.is_over(); ++b) {
        const int from = best_.cluster[at(b)], to = best_.cluster[at(a)];
        if (from == to || tried.contains({from, to}) || problem.problem.later[at(a)][at(b)] ||
            !same_range(a, b))
          continue;
        std::vector<int> wanted = best_.cluster;
        std::replace(wanted.begin(), wanted.end(), from, to);
        Built built = build(wanted, problem);
        ++tries;
        tried.insert({from, to});
        const bool together = built.cluster[at(a)] == built.cluster[at(b)];
        built.cost = cost_of(built, problem);
        if (!together || built.cost > best_.cost + slack()) continue;
        best_ = std::move(built);
        tried.clear();  // clusters have other numbers now
      }
  }

  bool same_range(int a, int b) const {
    const std::vector<Dim>&x = stages_[at(a)].dims, &y = stages_[at(b)].dims;
    return !x.empty() && !y.empty() && x.front().lo == y.front().lo && x.front().hi == y.front().hi;
  }

  /// Clusters that have fallen apart are not chosen again; says whether there are any.
  bool forbid_refused(const std::vector<int>& wanted, const std::vector<int>& built,
                      ClusterProblem& problem) {
    std::map<int, std::vector<int>> clusters;
    for (int s = 0; s < problem.count; ++s) clusters[wanted[at(s)]].push_back(s);
    bool refused = false;
    for (const auto& [number, members] : clusters) {
      const bool whole = std::all_of(members.begin(), members.end(),
                                     [&](int s) { return built[at(s)] == built[at(members.front())]; });
      if (whole) continue;
      std::vector<int> smallest = smallest_refused(members, problem);
      if (smallest.size() == 2) {
        const std::size_t a = at(smallest.front()), b = at(smallest.back());
        problem.never[a][b] = problem.never[b][a] = true;
      } else {
        problem.not_all.push_back(std::move(smallest));
      }
      refused = true;
    }
    return refused;
  }

  /// Clusters whose tiles compute more again than pairs of their stages do are charged for that from now on.
  bool charge_for_tiles(const std::vector<int>& cluster, double missing, ProgramProblem& problem) {
    if (missing <= slack()) return false;
    bool charged = false;
    std::map<int, std::vector<int>> clusters;
    for (int s = 0; s < problem.problem.count; ++s) clusters[cluster[at(s)]].push_back(s);
    for (auto& [number, members] : clusters) {
      const double more = missing_for(members, problem);
      if (more <= slack()) continue;
      problem.problem.more.push_back({std::move(members), more});
      charged = true;
    }
    return charged;
  }

  /// What is not charged yet for what tiles compute again if these stages are a cluster.
  double missing_for(const std::vector<int>& members, const ProgramProblem& problem) {
    if (members.size() < 2) return 0;
    const std::vector<int> wanted = one_cluster(members);
    const Built built = build(wanted, problem);
    return built.again - problem.charged_for_tiles(built.cluster);
  }

  /// These stages in one cluster, everybody else alone.
  std::vector<int> one_cluster(const std::vector<int>& members) const {
    std::vector<int> wanted(stages_.size());
    std::iota(wanted.begin(), wanted.end(), 0);
    for (const int s : members) wanted[at(s)] = members.front();
    return wanted;
  }

  /// The part of a refused cluster that is refused already: stages that nobody else of it needs, or that need
  /// nobody else, are taken away as long as the rest is refused. The smaller it is, the more it says.
  std::vector<int> smallest_refused(std::vector<int> members, const ClusterProblem& problem) {
    for (std::size_t k = 0; k < members.size() && members.size() > 2 && !deadline_.is_over();) {
      std::vector<int> rest = members;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(k));
      if (is_between(members[k], rest, problem) || !is_connected(rest, problem) || !falls_apart(rest)) {
        ++k;
        continue;
      }
      members = std::move(rest);
      k = 0;
    }
    return members;
  }

  /// Does the stage need one of the others, and another one of them it?
  static bool is_between(int stage, const std::vector<int>& others, const ClusterProblem& problem) {
    bool needs = false, needed = false;
    for (const ClusterProblem::Wait& wait : problem.waits) {
      const auto has = [&](int s) { return std::find(others.begin(), others.end(), s) != others.end(); };
      needs = needs || (wait.second == stage && has(wait.first));
      needed = needed || (wait.first == stage && has(wait.second));
    }
    return needs && needed;
  }

  /// Is everybody with the others by way of pairs that the linear program knows?
  static bool is_connected(const std::vector<int>& members, const ClusterProblem& problem) {
    std::map<int, std::set<int>> next;
    for (const ClusterProblem::Wait& wait : problem.waits) {
      if (wait.strictly) continue;
      next[wait.first].insert(wait.second);
      next[wait.second].insert(wait.first);
    }
    for (const ClusterProblem::Data& data : problem.arrays) {
      if (data.read == 0) continue;
      for (const ClusterProblem::Reading& x : data.readings)
        for (const ClusterProblem::Reading& y : data.readings)
          if (x.reader != y.reader && problem.may_meet(x.reader, y.reader)) next[x.reader].insert(y.reader);
    }
    std::set<int> seen = {members.front()};
    std::vector<int> open = {members.front()};
    while (!open.empty()) {
      const int node = open.back();
      open.pop_back();
      for (const int other : members)
        if (next[node].contains(other) && seen.insert(other).second) open.push_back(other);
    }
    return seen.size() == members.size();
  }

  /// Do the rules refuse to have these stages in one cluster?
  bool falls_apart(const std::vector<int>& members) {
    const std::vector<int> cluster = build(one_cluster(members), *problem_).cluster;
    return std::any_of(members.begin(), members.end(),
                       [&](int s) { return cluster[at(s)] != cluster[at(members.front())]; });
  }

  /// One after the other, as long as that costs less: stages whose arrays are in memory for their readers
  /// alone. Says whether there was any.
  bool leave_out_stages(const Deadline& deadline) {
    bool any = false;
    for (bool again = true; again;) {
      again = false;
      region_.stages = stages_;
      auto uses = std::make_unique<UseTable>(region_);
      for (int s = 0; s < static_cast<int>(stages_.size()) && !deadline.is_over();) {
        if (!leave_out(s, *uses)) {
          ++s;
          continue;
        }
        any = again = true;
        uses = std::make_unique<UseTable>(region_);
      }
    }
    return any;
  }

  bool leave_out(int stage, const UseTable& uses) {
    if (tried_left_out_ >= most_left_out || !is_in_memory(stage, uses)) return false;
    if (has_hint(stages_[at(stage)], Hint::Remember)) return false;
    if (why_not_recompute(region_, uses, stage) || is_chosen_from(region_, uses, stage)) return false;
    ++tried_left_out_;
    const std::vector<Stage> before = stages_;
    const Built best = best_;
    const double unit = unit_;
    recompute(region_, uses, stage);
    region_.stages.erase(region_.stages.begin() + stage);
    stages_ = region_.stages;
    std::vector<int> wanted = best.cluster;
    wanted.erase(wanted.begin() + stage);
    const ProgramProblem problem(region_, cost_, shares_);
    auto tiles = std::exchange(tiles_, {});
    Built built = build(wanted, problem);
    built.cost = cost_of(built, problem);
    if (built.cost * problem.unit() < best.cost * unit - slack() * unit) {
      left_out_.push_back(recomputed(before[at(stage)]));
      best_ = std::move(built);
      unit_ = problem.unit();
      region_.stages = stages_;
      return true;
    }
    stages_ = before;
    region_.stages = stages_;
    tiles_ = std::move(tiles);
    return false;
  }

  /// Is an array that the stage makes read by another cluster?
  bool is_in_memory(int stage, const UseTable& uses) const {
    for (const Output& output : stages_[at(stage)].outputs)
      for (const int reader : uses.readers(output.array))
        if (region_.program[output.array].rank() > 0 && best_.cluster[at(reader)] != best_.cluster[at(stage)])
          return true;
    return false;
  }

  Deadline& deadline_;  // of all lists of a program
  Region& region_;
  const ClusterCost& cost_;
  const SolveOptions& options_;
  Clustering& result_;
  std::vector<Stage> stages_;  // those that are not left out
  std::vector<Reason> left_out_;
  int tried_left_out_ = 0, tried_to_explain_ = 0;
  SliceShares shares_;
  const Tiling* tiling_ = nullptr;
  std::map<std::vector<StageSet>, std::optional<TiledSets>>
      tiles_;                              // of the stages that are left: what is known
  std::optional<ProgramProblem> problem_;  // of the stages that are left
  Built best_;
  double bound_ = 0, unit_ = 1;
};

}  // namespace

Clustering cluster_optimal(const Program& program, const ClusterCost& cost, const SolveOptions& options) {
  Clustering result;
  Program scratch = program;
  Deadline deadline(options.seconds);
  in_all_regions(scratch, [&](Region& region) {
    Choice(region, cost, options, deadline, result).run();
    return false;
  });
  return result;
}

double cost_of(const std::shared_ptr<const Program>& program, std::span<const ClusterSets> lists,
               const ClusterCost& cost) {
  std::set<std::string> left_out;
  std::map<std::string, int> cluster_of;
  int next = 0;
  for (const ClusterSets& list : lists)
    for (const std::vector<StageSet>& cluster : list.clusters) {
      for (const StageSet& set : cluster)
        for (const std::string& name : set) cluster_of[name] = next;
      ++next;
    }
  for_each_stage(program->stages, [&](const Stage& stage) {
    if (!cluster_of.contains(stage.name)) left_out.insert(stage.name);
  });
  const auto rest = left_out.empty() ? program : without_stages(program, left_out);
  ensure(rest != nullptr, "cost_of: what is in no cluster can be computed where it is read");
  double sum = 0;
  Program scratch = *rest;
  in_all_regions(scratch, [&](Region& region) {
    std::vector<int> cluster;
    for (const Stage& stage : region.stages) cluster.push_back(cluster_of.at(stage.name));
    ProgramProblem problem(region, cost);
    problem.find_pairs(region, {{cluster}});
    sum += (problem.cost_of(cluster) + problem.work()) * problem.unit();
    return false;
  });
  return sum;
}

}  // namespace twill
