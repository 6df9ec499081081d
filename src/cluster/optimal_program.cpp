// The best clusters of a program. What may be together is asked of the rules, two stages at a time; the
// linear program chooses; and the builder makes of its choice what the rules allow. Where they refuse a
// cluster as a whole, the choice is made again without it.
#include "cluster/at.h"
#include "cluster/builder.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace twill {

namespace {

/// A cluster that is refused as a whole costs another round.
constexpr int most_choices = 8;

/// Clusters that are tried to be one although nothing is saved but a pass.
constexpr int most_merges = 100;

/// Extents that are not known; those of collections, of which filters leave a part.
constexpr double some_extent = 1000, part_of_extent = 500;

class Choice {
 public:
  Choice(Region& region, const SolveOptions& options, Clustering& result)
      : region_(region), options_(options), result_(result), stages_(region.stages) {}

  void run() {
    const Built greedy = build({});
    take(greedy);
    if (stages_.size() < 2) return finish(best_.cost);
    const Built below = build({.from_below = true});
    take(below);
    find_problem({greedy, below});
    const double least = least_cost();
    if (best_.cost <= least + slack()) return finish(least);
    const std::vector<Chosen> known = {{greedy.cluster}, {below.cluster}};
    double bound = least;
    for (int round = 0; round < most_choices; ++round) {
      const BestChoice choice = best_choice(problem_, known, false, options_);
      // More refusals only make it cost more, so the first bound holds for all.
      if (round == 0) bound = std::max(bound, cost_of(choice.set) - choice.may_save);
      const Built built = build({.cluster = choice.set});
      take(built);
      if (!forbid_refused(choice.set, built.cluster)) break;
    }
    merge_what_costs_nothing();
    finish(std::min(bound, best_.cost));
  }

 private:
  struct Built {
    Clustering clustering;
    std::vector<int> cluster;  // by stage
    double cost = 0;
  };

  Built build(Freedom freedom) {
    region_.stages = stages_;
    Built built;
    ClusterBuilder(region_, std::move(freedom), built.clustering).run();
    std::map<std::string, int> number;
    for (const std::vector<StageSet>& cluster : built.clustering.lists.front().clusters) {
      const int own = static_cast<int>(number.size());
      for (const StageSet& set : cluster)
        for (const std::string& stage : set) number[stage] = own;
    }
    for (const Stage& stage : stages_) built.cluster.push_back(number.at(stage.name));
    region_.stages = stages_;
    return built;
  }

  void take(Built built) {
    find_arrays();
    built.cost = cost_of(built.cluster);
    if (best_.cluster.empty() || built.cost < best_.cost) best_ = std::move(built);
  }

  void finish(double bound) {
    Clustering& own = best_.clustering;
    result_.lists.insert(result_.lists.end(), own.lists.begin(), own.lists.end());
    result_.done.insert(result_.done.end(), own.done.begin(), own.done.end());
    result_.not_done.insert(result_.not_done.end(), own.not_done.begin(), own.not_done.end());
    result_.cost += best_.cost;
    result_.bound += bound;
  }

  double slack() const { return 1e-9 * (1 + std::abs(best_.cost)); }

  double bytes_of(const Array& array) const {
    if (array.rank() == 0) return 0;
    double elements = 1;
    for (const Expr extent : array.shape) {
      const Literal* literal = as<Literal>(extent);
      const SizeRef* size = as<SizeRef>(extent);
      const bool born = size && born_.contains(size->symbol);
      elements *= literal ? std::max(1.0, static_cast<double>(literal->value.i))
                  : born  ? part_of_extent
                          : some_extent;
    }
    return elements * static_cast<double>(byte_size(array.type)) / some_extent;
  }

  void find_arrays() {
    if (!problem_.arrays.empty()) return;
    Clustering nothing;
    const ClusterBuilder builder(region_, {}, nothing);
    problem_.count = static_cast<int>(stages_.size());
    for (const Stage& stage : stages_)
      for (const SymbolId symbol : lengths_born_in(region_.program, stage)) born_.insert(symbol);
    std::set<ArrayId> seen;
    const auto add = [&](ArrayId array, int maker) {
      if (!seen.insert(array).second) return;
      ClusterProblem::Data data;
      data.maker = maker;
      data.kept = maker < 0 || builder.uses().is_held(array);
      data.write = maker < 0 ? 0 : bytes_of(region_.program[array]);
      data.read = bytes_of(region_.program[array]);
      for (const int reader : builder.uses().readers(array))
        if (reader != maker) data.readings.push_back({reader});
      problem_.arrays.push_back(std::move(data));
    };
    for (int s = 0; s < problem_.count; ++s) {
      for (const Output& output : stages_[at(s)].outputs)
        for (const ArrayId array : defined_arrays(output)) add(array, s);
      for (const ArrayId array : builder.uses().reads(s))
        if (builder.uses().definer(array) < 0) add(array, -1);
    }
  }

  /// Stages that one of the known clusterings has together can be together.
  void find_problem(const std::vector<Built>& known) {
    find_arrays();
    Clustering nothing;
    ClusterBuilder builder(region_, {}, nothing);
    const std::size_t count = stages_.size();
    const auto may_meet = [&](int a, int b) {
      return std::any_of(known.begin(), known.end(),
                         [&](const Built& built) { return built.cluster[at(a)] == built.cluster[at(b)]; }) ||
             !builder.why_apart(a, b);
    };
    std::vector<std::vector<bool>> after(count, std::vector<bool>(count));
    problem_.later = problem_.never = after;
    // Stages are in an order in which they can run.
    for (int b = 0; b < problem_.count; ++b)
      for (const int a : builder.before(b)) {
        const bool strictly = !may_meet(a, b);
        problem_.waits.push_back({a, b, strictly});
        after[at(a)][at(b)] = true;
        if (strictly) problem_.later[at(a)][at(b)] = true;
        for (std::size_t c = 0; c < count; ++c) {
          if (c != at(a) && !after[c][at(a)]) continue;
          after[c][at(b)] = true;
          if (problem_.later[c][at(a)] || (strictly && c != at(a))) problem_.later[c][at(b)] = true;
        }
      }
    // Two that read the same array and do not need each other. Those that go through a collection may become
    // something else.
    for (const ClusterProblem::Data& data : problem_.arrays)
      for (const ClusterProblem::Reading& x : data.readings)
        for (const ClusterProblem::Reading& y : data.readings) {
          const int a = x.reader, b = y.reader;
          if (a >= b || after[at(a)][at(b)] || goes_through_collection(a) || goes_through_collection(b))
            continue;
          if (!may_meet(a, b)) problem_.never[at(a)][at(b)] = problem_.never[at(b)][at(a)] = true;
        }
  }

  bool goes_through_collection(int stage) const {
    return std::any_of(stages_[at(stage)].dims.begin(), stages_[at(stage)].dims.end(), [&](const Dim& dim) {
      const SizeRef* size = as<SizeRef>(dim.hi);
      return !size || born_.contains(size->symbol);
    });
  }

  double cost_of(const std::vector<int>& cluster) const {
    double cost = 0;
    for (const ClusterProblem::Data& data : problem_.arrays) {
      std::set<int> readers;
      for (const ClusterProblem::Reading& reading : data.readings)
        if (data.maker < 0 || cluster[at(reading.reader)] != cluster[at(data.maker)])
          readers.insert(cluster[at(reading.reader)]);
      cost += data.read * static_cast<double>(readers.size());
      if (data.kept || !readers.empty()) cost += data.write;
    }
    return cost;
  }

  /// What is in memory anyway, and read by somebody who is never with its maker.
  double least_cost() const {
    double least = 0;
    for (const ClusterProblem::Data& data : problem_.arrays) {
      const bool apart = std::any_of(data.readings.begin(), data.readings.end(), [&](const auto& reading) {
        return data.maker < 0 || problem_.later[at(data.maker)][at(reading.reader)];
      });
      if (data.kept || apart) least += data.write;
      if (apart) least += data.read;
    }
    return least;
  }

  /// Fewer passes, if no more bytes are moved: clusters that read nothing in common may still share a loop.
  void merge_what_costs_nothing() {
    int tries = 0;
    std::set<std::pair<int, int>> tried;
    for (int a = 0; a < problem_.count; ++a)
      for (int b = a + 1; b < problem_.count && tries < most_merges; ++b) {
        const int from = best_.cluster[at(b)], to = best_.cluster[at(a)];
        if (from == to || tried.contains({from, to}) || problem_.later[at(a)][at(b)] || !same_range(a, b))
          continue;
        std::vector<int> wanted = best_.cluster;
        std::replace(wanted.begin(), wanted.end(), from, to);
        Built built = build({.cluster = wanted});
        ++tries;
        tried.insert({from, to});
        const bool together = built.cluster[at(a)] == built.cluster[at(b)];
        built.cost = cost_of(built.cluster);
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
  bool forbid_refused(const std::vector<int>& wanted, const std::vector<int>& built) {
    std::map<int, std::vector<int>> clusters;
    for (int s = 0; s < problem_.count; ++s) clusters[wanted[at(s)]].push_back(s);
    bool refused = false;
    for (const auto& [number, members] : clusters) {
      const bool whole = std::all_of(members.begin(), members.end(),
                                     [&](int s) { return built[at(s)] == built[at(members.front())]; });
      if (whole) continue;
      problem_.not_all.push_back(members);
      refused = true;
    }
    return refused;
  }

  Region& region_;
  const SolveOptions& options_;
  Clustering& result_;
  const std::vector<Stage> stages_;
  std::set<SymbolId> born_;
  ClusterProblem problem_;
  Built best_;
};

}  // namespace

Clustering cluster_optimal(const Program& program, const SolveOptions& options) {
  Clustering result;
  Program scratch = program;
  in_all_regions(scratch, [&](Region& region) {
    Choice(region, options, result).run();
    return false;
  });
  return result;
}

}  // namespace twill
