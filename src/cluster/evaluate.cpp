#include "cluster/evaluate.h"

#include "cluster/at.h"

#include <algorithm>
#include <map>
#include <set>

namespace twill {

namespace {

/// No order is known yet.
constexpr int any_order = -1;

}  // namespace

Evaluator::Evaluator(const ClusterProblem& problem)
    : problem_(problem),
      ordered_(!problem.label.empty()),
      mark_(at(problem.count)),
      group_(at(problem.count)),
      fixed_(at(problem.count)),
      order_(at(problem.count)),
      read_in_(problem.arrays.size()) {
  const std::size_t count = at(problem.count);
  waits_.resize(count);
  arrays_.resize(count);
  never_.resize(count);
  sets_.resize(count);
  needs_.resize(count);
  more_.resize(count);
  neighbours_.resize(count);
  reads_.resize(count);
  saves_.resize(count);
  const auto be_neighbours = [&](int a, int b) {
    if (a == b || !problem.may_meet(a, b)) return;
    neighbours_[at(a)].push_back(b);
    neighbours_[at(b)].push_back(a);
  };
  for (std::size_t w = 0; w < problem.waits.size(); ++w) {
    const ClusterProblem::Wait& wait = problem.waits[w];
    waits_[at(wait.first)].push_back(static_cast<int>(w));
    if (!wait.strictly) be_neighbours(wait.first, wait.second);
  }
  for (std::size_t array = 0; array < problem.arrays.size(); ++array) {
    const ClusterProblem::Data& data = problem.arrays[array];
    if (data.maker >= 0) arrays_[at(data.maker)].push_back(static_cast<int>(array));
    if (data.read == 0) continue;
    for (const ClusterProblem::Reading& reading : data.readings) {
      if (!reading.costs()) continue;
      reads_[at(reading.reader)].push_back({static_cast<int>(array), reading.label});
      for (const ClusterProblem::Reading& other : data.readings)
        if (other.costs() && reading.reader < other.reader) be_neighbours(reading.reader, other.reader);
    }
  }
  if (!problem.never.empty())
    for (int a = 0; a < problem.count; ++a)
      for (int b = a + 1; b < problem.count; ++b)
        if (problem.never[at(a)][at(b)]) never_[at(a)].push_back(b);
  for (std::size_t s = 0; s < problem.not_all.size(); ++s)
    sets_[at(problem.not_all[s].front())].push_back(static_cast<int>(s));
  for (std::size_t m = 0; m < problem.more.size(); ++m)
    more_[at(problem.more[m].nodes.front())].push_back(static_cast<int>(m));
  for (std::size_t n = 0; n < problem.needs.size(); ++n)
    needs_[at(problem.needs[n].first)].push_back(static_cast<int>(n));
  for (const auto& [pair, saved] : problem.saves) saves_[at(pair.first)].push_back({pair.second, saved});
  for (std::vector<int>& list : neighbours_) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
}

const std::vector<int>& Evaluator::neighbours(int node) const { return neighbours_[at(node)]; }

int Evaluator::group_of(int node) {
  while (group_[at(node)] != node) node = group_[at(node)] = group_[at(group_[at(node)])];
  return node;
}

bool Evaluator::is_in_memory(int array) const {
  const ClusterProblem::Data& data = problem_.arrays[at(array)];
  return data.kept || std::ranges::any_of(data.readings, [&](const auto& r) { return !is_here(r.reader); });
}

/// Finds the order of every member: those of one order are a group.
bool Evaluator::have_orders(std::span<const int> members) {
  for (const int node : members) group_[at(node)] = node;
  for (const int node : members)
    for (const int w : waits_[at(node)]) {
      const ClusterProblem::Wait& wait = problem_.waits[at(w)];
      if (wait.same_order && is_here(wait.second)) group_[at(group_of(wait.first))] = group_of(wait.second);
    }
  for (const int node : members) fixed_[at(node)] = any_order;
  const auto fix = [&](int node, int order) {
    int& known = fixed_[at(group_of(node))];
    if (known != any_order && known != order) return false;
    known = order;
    return true;
  };
  for (const int node : members) {
    const int runs = problem_.runs_left[at(node)];
    if (runs >= 0 && !fix(node, runs)) return false;
    for (const int w : waits_[at(node)]) {
      const ClusterProblem::Wait& wait = problem_.waits[at(w)];
      if (wait.by_label && is_here(wait.second) && !fix(node, problem_.label[at(node)])) return false;
    }
  }
  // Who is free goes with somebody that reads the same.
  bool any = false;
  for (const int node : members)
    if (const int known = fixed_[at(group_of(node))]; known == 0 || known == 1)
      for (const Reads& read : reads_[at(node)]) {
        ReadIn& read_in = read_in_[at(read.array)];
        if (read.label != 0 || read_in.stamp == stamp_) continue;
        read_in = {stamp_, known};
        any = true;
      }
  for (const int node : members) {
    int& known = fixed_[at(group_of(node))];
    if (!any || known != any_order) continue;
    for (const Reads& read : reads_[at(node)])
      if (const ReadIn& read_in = read_in_[at(read.array)]; known == any_order && read_in.stamp == stamp_)
        known = read_in.order;
  }
  for (const int node : members) order_[at(node)] = std::max(0, fixed_[at(group_of(node))]);
  return true;
}

std::optional<double> Evaluator::cost_of(std::span<const int> members) {
  ++stamp_;
  for (const int node : members) mark_[at(node)] = stamp_;
  for (const int node : members) {
    for (const int w : waits_[at(node)])
      if (problem_.waits[at(w)].strictly && is_here(problem_.waits[at(w)].second)) return std::nullopt;
    for (const int other : never_[at(node)])
      if (is_here(other)) return std::nullopt;
    for (const int n : needs_[at(node)]) {
      const ClusterProblem::Needs& needs = problem_.needs[at(n)];
      if (is_here(needs.second) && std::ranges::none_of(needs.one_of, [&](const auto& pair) {
            return is_here(pair.first) && is_here(pair.second);
          }))
        return std::nullopt;
    }
    for (const int set : sets_[at(node)])
      if (std::ranges::all_of(problem_.not_all[at(set)], [&](int other) { return is_here(other); }))
        return std::nullopt;
  }
  if (problem_.one_way()) {
    bool right = false, left = false;
    for (const int node : members) {
      right = right || problem_.runs_left[at(node)] == 0;
      left = left || problem_.runs_left[at(node)] == 1;
    }
    if (right && left) return std::nullopt;
  }
  if (ordered_) {
    if (!have_orders(members)) return std::nullopt;
    // In the order of a label only what has that label, and nothing that is in memory.
    for (const int node : members) {
      if (order_[at(node)] <= 1) continue;
      if (order_[at(node)] != problem_.label[at(node)]) return std::nullopt;
      for (const int array : arrays_[at(node)])
        if (is_in_memory(array)) return std::nullopt;
    }
  }
  double cost = 0;
  std::vector<std::pair<int, int>>& reads = found_;  // array, order
  reads.clear();
  for (const int node : members) {
    for (const int array : arrays_[at(node)])
      if (problem_.arrays[at(array)].write != 0 && is_in_memory(array))
        cost += problem_.arrays[at(array)].write;
    for (const Reads& read : reads_[at(node)]) {
      const int maker = problem_.arrays[at(read.array)].maker;
      if (maker < 0 || !is_here(maker))
        reads.emplace_back(read.array, read.label != 0 ? read.label : order_[at(node)]);
    }
    for (const auto& [other, saved] : saves_[at(node)])
      if (is_here(other)) cost -= saved;
    for (const int m : more_[at(node)]) {
      const ClusterProblem::More& more = problem_.more[at(m)];
      if (std::ranges::all_of(more.nodes, [&](int other) { return is_here(other); })) cost += more.cost;
    }
  }
  std::sort(reads.begin(), reads.end());
  reads.erase(std::unique(reads.begin(), reads.end()), reads.end());
  for (const auto& [array, order] : reads) cost += problem_.arrays[at(array)].read;
  return cost;
}

std::optional<int> Evaluator::highest(std::span<const int> cluster) const {
  const Sequence sequence = sequence_of(cluster);
  return sequence.clusters.size() == sequence.count ? std::optional(sequence.highest) : std::nullopt;
}

Evaluator::Sequence Evaluator::sequence_of(std::span<const int> cluster) const {
  std::size_t count = 0;
  for (const int own : cluster) count = std::max(count, at(own) + 1);
  // Who waits for a cluster, all in one list.
  std::vector<int> begin(count + 1), waiting(count), number(count, -1), after;
  const auto each_wait = [&](const auto& action) {
    for (const ClusterProblem::Wait& wait : problem_.waits) {
      const int a = cluster[at(wait.first)], b = cluster[at(wait.second)];
      if (a != b) action(at(a), at(b));
    }
  };
  each_wait([&](std::size_t a, std::size_t b) {
    ++begin[a + 1];
    ++waiting[b];
  });
  for (std::size_t c = 0; c < count; ++c) begin[c + 1] += begin[c];
  after.resize(at(begin.back()));
  std::vector<int> next = begin;
  each_wait([&](std::size_t a, std::size_t b) { after[at(next[a]++)] = static_cast<int>(b); });
  Sequence sequence;
  std::vector<int>& ready = sequence.clusters;
  for (const int one : cluster) {
    int& own = number[at(one)];
    if (own >= 0) continue;
    own = 0;
    ++sequence.count;
    if (waiting[at(one)] == 0) ready.push_back(one);
  }
  for (std::size_t k = 0; k < ready.size(); ++k) {
    const std::size_t own = at(ready[k]);
    sequence.highest = std::max(sequence.highest, number[own]);
    for (int e = begin[own]; e < begin[own + 1]; ++e) {
      const std::size_t other = at(after[at(e)]);
      number[other] = std::max(number[other], number[own] + 1);
      if (--waiting[other] == 0) ready.push_back(after[at(e)]);
    }
  }
  return sequence;
}

std::vector<std::vector<int>> members_of(std::span<const int> cluster) {
  std::map<int, std::vector<int>> clusters;
  for (std::size_t node = 0; node < cluster.size(); ++node)
    clusters[cluster[node]].push_back(static_cast<int>(node));
  std::vector<std::vector<int>> all;
  for (auto& [number, members] : clusters) all.push_back(std::move(members));
  return all;
}

std::optional<double> Evaluator::cost_of_all(std::span<const int> cluster) {
  const auto highest_number = highest(cluster);
  if (!highest_number) return std::nullopt;
  double all = problem_.last * *highest_number;
  for (const std::vector<int>& members : members_of(cluster)) {
    const auto cost = cost_of(members);
    if (!cost) return std::nullopt;
    all += *cost;
  }
  return all;
}

Chosen Evaluator::completed(std::vector<int> cluster) {
  Chosen chosen{std::move(cluster), {}};
  std::map<int, int> place;
  for (const int one : sequence_of(chosen.cluster).clusters)
    place.emplace(one, static_cast<int>(place.size()));
  for (int& one : chosen.cluster) one = place.at(one);
  if (!ordered_) return chosen;
  chosen.order.assign(at(problem_.count), 0);
  for (const std::vector<int>& members : members_of(chosen.cluster)) {
    cost_of(members);
    for (const int node : members) chosen.order[at(node)] = order_[at(node)];
  }
  return chosen;
}

}  // namespace twill
