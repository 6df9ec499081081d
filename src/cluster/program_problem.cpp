#include "cluster/program_problem.h"

#include "cluster/at.h"
#include "fuse/join.h"
#include "program/index_use.h"
#include "program/regroup.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace twill {

namespace {

/// What the most expensive array costs: solvers like numbers of a middling size.
constexpr double largest_cost = 1000;

/// Is what the expression reads another element in every iteration?
bool moves_along(const Stage& stage, Expr e) {
  return std::ranges::any_of(stage.dims, [&](const Dim& dim) { return mentions(e, dim.id); });
}

/// Are all of the nodes in the same cluster?
bool is_one(std::span<const int> nodes, std::span<const int> cluster) {
  return std::ranges::all_of(nodes,
                             [&](int node) { return cluster[at(node)] == cluster[at(nodes.front())]; });
}

}  // namespace

SliceShares::SliceShares(const ClusterCost& cost) {
  if (const ByTime* by_time = std::get_if<ByTime>(&cost)) tiling_ = by_time->tiling;
}

std::optional<double> SliceShares::operator()(const Program& program, const Stage& first,
                                              const Stage& second) {
  if (!tiling_) return std::nullopt;
  Known known;
  for (const Stage* stage : {&first, &second})
    for_each_expr(*stage, [&](Expr e) { known.parts.push_back(e); });
  Parts parts;
  for (const Expr e : known.parts) parts.push_back(e.get());
  const auto [found, is_new] =
      known_.try_emplace({first.name, second.name, std::move(parts)}, std::move(known));
  if (is_new) found->second.share = tiling_->again(program, first, second);
  return found->second.share;
}

ProgramProblem::ProgramProblem(Region& region, const ClusterCost& cost, SliceShares& shares) : cost_(cost) {
  Clustering nothing;
  ClusterBuilder builder(region, {.gathers = true}, nothing);
  problem.count = static_cast<int>(region.stages.size());
  for (int s = 0; s < problem.count; ++s) before_.push_back(builder.before(s));
  for (const Stage& stage : region.stages)
    for (const SymbolId symbol : lengths_born_in(region.program, stage)) born_.insert(symbol);
  const GraphCost* counted = std::get_if<GraphCost>(&cost);
  const bool writes = !counted || *counted == GraphCost::Manifest || *counted == GraphCost::ReadsWrites;
  const bool reads = !counted || *counted == GraphCost::Reads || *counted == GraphCost::ReadsWrites;
  if (counted && *counted == GraphCost::Clusters) problem.last = 1;
  const ByTime* by_time = std::get_if<ByTime>(&cost);
  const Guess guess(region.program, by_time ? by_time->known : KnownSizes{});
  for (const Stage& stage : region.stages) problem.runs_left.push_back(direction_of(region, stage));
  problem.both_ways = std::ranges::find(problem.runs_left, 0) != problem.runs_left.end() &&
                      std::ranges::find(problem.runs_left, 1) != problem.runs_left.end();
  std::set<ArrayId> seen;
  const auto add = [&](ArrayId array, int maker) {
    if (!seen.insert(array).second) return;
    const bool is_array = region.program[array].rank() > 0;
    double write = (is_array || counted) && writes ? 1 : 0, read = is_array && reads ? 1 : 0;
    if (by_time) {
      const Array& what = region.program[array];
      write *= by_time->model.write_time(guess.bytes(what), guess.knows(what));
      read *= by_time->model.read_time(guess.bytes(what), guess.knows(what));
    }
    ClusterProblem::Data data{
        maker, maker < 0 || builder.uses().is_held(array), maker < 0 ? 0 : write, read, {}};
    for (const int reader : builder.uses().readers(array))
      if (reader != maker)
        for (const int label : orders_of(region.stages[at(reader)], array))
          data.readings.push_back({reader, label});
    problem.arrays.push_back(std::move(data));
  };
  for (int s = 0; s < problem.count; ++s) {
    for (const Output& output : region.stages[at(s)].outputs)
      for (const ArrayId array : defined_arrays(output)) add(array, s);
    for (const ArrayId array : builder.uses().reads(s))
      if (builder.uses().definer(array) < 0) add(array, -1);
  }
  if (counted) return;
  for (const Stage& stage : region.stages) work_ += work_time(guess, stage);
  for (const ClusterProblem::Data& data : problem.arrays)
    unit_ = std::max({unit_, data.write / largest_cost, data.read / largest_cost});
  for (ClusterProblem::Data& data : problem.arrays) {
    data.write /= unit_;
    data.read /= unit_;
  }
  work_ /= unit_;
  for (const Stage& stage : region.stages) work_by_stage_.push_back(work_time(guess, stage) / unit_);
  find_slices(region, guess, builder.uses(), shares);
  for (int reader = 0; reader < problem.count; ++reader) {
    std::set<int> makers;
    for (const ArrayId array : builder.uses().reads(reader)) makers.insert(builder.uses().definer(array));
    for (const int maker : makers) {
      if (maker < 0 || maker == reader) continue;
      const bool only_in_slices = sliced_.contains({maker, reader}) && builder.why_apart(maker, reader);
      if (!only_in_slices) charge_for_gather(region, guess, maker, reader);
    }
  }
}

/// Whose arrays only readers in the same list need may be computed in slices, for tiles of these. What tiles
/// compute again is counted once, for the reader of which there is the most.
void ProgramProblem::find_slices(const Region& region, const Guess& guess, const UseTable& uses,
                                 SliceShares& shares) {
  for (int maker = 0; maker < problem.count; ++maker) {
    const Stage& stage = region.stages[at(maker)];
    if (!std::holds_alternative<Formula>(stage.body)) continue;
    std::set<int> readers;
    bool only_here = true;
    for (const Output& output : stage.outputs) {
      only_here = only_here && !uses.is_held(output.array) && !output.force;
      readers.insert(uses.readers(output.array).begin(), uses.readers(output.array).end());
    }
    readers.erase(maker);
    if (!only_here) continue;
    double most = 0;
    int charged = -1;
    for (const int reader : readers) {
      const auto share = shares(region.program, stage, region.stages[at(reader)]);
      if (!share) continue;
      sliced_[{maker, reader}] = *share;
      if (*share <= most) continue;
      most = *share;
      charged = reader;
    }
    if (most == 0) continue;
    const double more = most * work_time(guess, stage) / unit_;
    problem.saves[{maker, charged}] -= more;
    charged_[{maker, charged}] = more;
    work_ += more;  // of which the two save nothing, together
  }
}

/// Slices are for all readers of a stage: where one of them cannot be with it, none is sliced. Otherwise a
/// reader that needs slices is with the stage if all others are, too.
void ProgramProblem::allow_slices(const UseTable& uses, const Region& region, Refusals& apart) {
  for (int maker = 0; maker < problem.count; ++maker) {
    std::set<int> readers, sliced;
    for (const Output& output : region.stages[at(maker)].outputs)
      for (const int reader : uses.readers(output.array))
        if (reader != maker) readers.insert(reader);
    for (const int reader : readers)
      if (apart.contains({maker, reader}) && sliced_.contains({maker, reader})) sliced.insert(reader);
    const bool all = std::ranges::all_of(readers, [&](int reader) {
      return sliced.contains(reader) || !apart.contains({maker, reader});
    });
    if (!all) continue;
    for (const int reader : sliced) {
      apart.erase({maker, reader});
      for (const int other : readers)
        if (other != reader) problem.needs.push_back({maker, reader, {{maker, other}}});
    }
  }
}

bool ProgramProblem::find_pairs(Region& region, std::span<const std::vector<int>> known,
                                const std::function<bool()>& in_time) {
  Clustering nothing;
  ClusterBuilder builder(region, {.many_arrays = is_whole(), .gathers = true}, nothing);
  const std::size_t count = at(problem.count);
  const auto why_not = [&](int a, int b) -> std::optional<Reason> {
    const bool met = std::any_of(known.begin(), known.end(), [&](const std::vector<int>& cluster) {
      return cluster[at(a)] == cluster[at(b)];
    });
    return met ? std::nullopt : builder.why_apart(a, b);
  };
  const GraphCost* counted = std::get_if<GraphCost>(&cost_);
  std::vector<std::vector<bool>> after(count, std::vector<bool>(count));
  problem.later = problem.never = after;
  Refusals apart;
  for (int b = 0; b < problem.count; ++b) {
    if (!in_time()) return false;
    for (const int a : before(b))
      if (auto why = why_not(a, b)) apart.emplace(std::pair(a, b), std::move(*why));
  }
  allow_slices(builder.uses(), region, apart);
  // Stages are in an order in which they can run.
  for (int b = 0; b < problem.count; ++b) {
    for (const int a : before(b)) {
      const auto why = apart.find({a, b});
      const bool strictly = why != apart.end();
      if (counted && *counted == GraphCost::Unfused) {
        // Who else reads what the first makes is no matter of the two.
        const auto alone = strictly ? std::optional(why->second) : builder.why_apart(a, b);
        const bool open = !alone || alone->code == "shared";
        if (open && strictly) work_ += 1;
        if (open && !strictly) problem.saves[{a, b}] = 1;
      }
      problem.waits.push_back({a, b, strictly});
      after[at(a)][at(b)] = true;
      if (strictly) problem.later[at(a)][at(b)] = true;
      for (std::size_t c = 0; c < count; ++c) {
        if (c != at(a) && !after[c][at(a)]) continue;
        after[c][at(b)] = true;
        if (problem.later[c][at(a)] || (strictly && c != at(a))) problem.later[c][at(b)] = true;
      }
    }
  }
  why_never = std::move(apart);
  // Two that read the same array and do not need each other. Those that go through a collection may become
  // something else, and those that are sliced, for readers that are with them, have loops of their own.
  std::map<int, std::pair<int, int>> slices;
  for (const auto& [pair, share] : sliced_)
    if (!why_never.contains(pair)) slices.emplace(pair.first, pair);
  const auto becomes_other = [&](int s) { return goes_through_collection(region.stages[at(s)]); };
  std::set<std::pair<int, int>> asked;
  for (const ClusterProblem::Data& data : problem.arrays)
    for (const ClusterProblem::Reading& x : data.readings) {
      if (!in_time()) return false;
      for (const ClusterProblem::Reading& y : data.readings) {
        const int a = x.reader, b = y.reader;
        if (a >= b || after[at(a)][at(b)] || becomes_other(a) || becomes_other(b)) continue;
        if (!asked.emplace(a, b).second || !why_not(a, b)) continue;
        std::vector<std::pair<int, int>> one_of;
        for (const int s : {a, b})
          if (const auto slice = slices.find(s); slice != slices.end()) one_of.push_back(slice->second);
        if (one_of.empty())
          problem.never[at(a)][at(b)] = problem.never[at(b)][at(a)] = true;
        else
          problem.needs.push_back({a, b, std::move(one_of)});
      }
    }
  return true;
}

double ProgramProblem::work_time(const Guess& guess, const Stage& stage) const {
  const Work work = guess.work(stage);
  return std::get<ByTime>(cost_).model.work_time(work.operations, work.calls);
}

/// In one loop, the first computes its elements as often as the second reads them.
void ProgramProblem::charge_for_gather(const Region& region, const Guess& guess, int a, int b) {
  const Stage &maker = region.stages[at(a)], &reader = region.stages[at(b)];
  const std::vector<const Output*> gathered = gathered_outputs(maker, reader);
  if (gathered.empty()) return;
  const double elements = std::max(1.0, guess.elements(region.program[gathered.front()->array]));
  const double more = (guess.points(reader) / elements - 1) * work_time(guess, maker) / unit_;
  problem.saves[{a, b}] -= more;
  work_ += more;  // of which the two save nothing, together
}

/// The orders in which a stage reads an array: its own, or one that data say; backward is another one than
/// forward. Subscripts in which no loop occurs name single elements.
std::set<int> ProgramProblem::orders_of(const Stage& reader, ArrayId array) {
  constexpr ArrayId backward{-1};  // who reads backward asks no array
  std::set<int> orders;
  const auto label = [&](std::set<ArrayId> said_by) {
    return labels_.try_emplace(std::move(said_by), 2 + static_cast<int>(labels_.size())).first->second;
  };
  const auto order = [&](std::span<const Expr> subscripts) {
    std::set<ArrayId> said_by;
    bool moves = false, forward = false, turns = false;
    for (const Expr e : subscripts) {
      visit(e, [&](Expr node) {
        if (const auto* read = as<Read>(node); read && moves_along(reader, node)) said_by.insert(read->array);
      });
      for (const Dim& dim : reader.dims) {
        if (!mentions(e, dim.id)) continue;
        moves = true;
        const auto factor = factor_of(e, dim.id);
        (factor && *factor < 0 ? turns : forward) = true;
      }
    }
    if (!said_by.empty()) return label(std::move(said_by));
    if (!moves) return ClusterProblem::Reading::elements;
    return turns && !forward ? label({backward}) : 0;
  };
  for_each_expr(reader, [&](Expr root) {
    visit(root, [&](Expr node) {
      if (const auto* read = as<Read>(node); read && read->array == array)
        orders.insert(order(std::span(node->args).first(read->rules.size())));
    });
  });
  return orders;
}

/// The direction in which a stage has to run, whoever it shares its loop with: 0 to the right, 1 to the left;
/// -1 if it can do both. Of several loops they may share others, and what goes through a collection may
/// become something else.
int ProgramProblem::direction_of(const Region& region, const Stage& stage) const {
  if (stage.dims.size() != 1 || goes_through_collection(stage)) return -1;
  if (runs_from_right(stage)) return 1;
  const bool in_order =
      !stage.effects.empty() || std::ranges::any_of(stage.outputs, [&](const Output& output) {
        return !runs_either_way(region.program, output, 0);
      });
  return in_order ? 0 : -1;
}

bool ProgramProblem::goes_through_collection(const Stage& stage) const {
  return std::any_of(stage.dims.begin(), stage.dims.end(), [&](const Dim& dim) {
    const SizeRef* size = as<SizeRef>(dim.hi);
    return !size || born_.contains(size->symbol);
  });
}

double ProgramProblem::cost_of(const std::vector<int>& cluster) const {
  double cost = problem.last > 0 ? highest_number(cluster) : 0;
  for (const ClusterProblem::Data& data : problem.arrays) {
    std::set<std::pair<int, int>> reads;  // cluster, order
    bool apart = false;
    for (const ClusterProblem::Reading& reading : data.readings) {
      const int own = cluster[at(reading.reader)];
      if (data.maker >= 0 && own == cluster[at(data.maker)]) continue;
      apart = true;
      if (reading.costs()) reads.emplace(own, reading.label);
    }
    cost += data.read * static_cast<double>(reads.size());
    if (data.kept || apart) cost += data.write;
  }
  for (const auto& [pair, saved] : problem.saves)
    if (cluster[at(pair.first)] != cluster[at(pair.second)]) cost += saved;
  for (const ClusterProblem::More& more : problem.more)
    if (is_one(more.nodes, cluster)) cost += more.cost;
  return cost;
}

double ProgramProblem::charged_for_tiles(const std::vector<int>& cluster) const {
  double charged = 0;
  for (const auto& [pair, cost] : charged_)
    if (cluster[at(pair.first)] == cluster[at(pair.second)]) charged += cost;
  for (const ClusterProblem::More& more : problem.more)
    if (is_one(more.nodes, cluster)) charged += more.cost;
  return charged;
}

/// Clusters are counted from 1, each after those that it waits for.
double ProgramProblem::highest_number(const std::vector<int>& cluster) const {
  std::map<int, std::set<int>> before;
  for (const int c : cluster) before[c];
  for (const ClusterProblem::Wait& wait : problem.waits)
    if (const int a = cluster[at(wait.first)], b = cluster[at(wait.second)]; a != b) before[b].insert(a);
  std::map<int, double> number;
  std::set<int> open;
  const std::function<double(int)> number_of = [&](int c) {
    if (const auto found = number.find(c); found != number.end()) return found->second;
    ensure(open.insert(c).second, "highest_number: no clusters wait for each other");
    double highest = 0;
    for (const int other : before[c]) highest = std::max(highest, number_of(other));
    return number[c] = highest + 1;
  };
  double highest = 0;
  for (const auto& [c, others] : before) highest = std::max(highest, number_of(c));
  return highest;
}

double ProgramProblem::least_cost() const {
  double least = 0;
  // What is in memory anyway, and read by somebody who is never with its maker.
  for (const ClusterProblem::Data& data : problem.arrays) {
    std::set<int> orders;
    bool apart = false;
    for (const ClusterProblem::Reading& reading : data.readings) {
      if (data.maker >= 0 && !problem.later[at(data.maker)][at(reading.reader)]) continue;
      apart = true;
      if (reading.costs()) orders.insert(reading.label);
    }
    if (data.kept || apart) least += data.write;
    least += data.read * static_cast<double>(orders.size());
  }
  for (const auto& [pair, saved] : problem.saves)
    least += problem.may_meet(pair.first, pair.second) ? std::min(0.0, saved) : saved;
  if (problem.last > 0) {
    // The longest way along stages that are never together.
    std::vector<double> number(at(problem.count), 1);
    for (int b = 0; b < problem.count; ++b) {
      for (const ClusterProblem::Wait& wait : problem.waits)
        if (wait.second == b)
          number[at(b)] = std::max(number[at(b)], number[at(wait.first)] + (wait.strictly ? 1 : 0));
      least = std::max(least, number[at(b)]);
    }
  }
  return least;
}

}  // namespace twill
