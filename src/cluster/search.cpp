#include "cluster/search.h"

#include "cluster/at.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>

namespace twill {

namespace {

/// Nodes in an order in which every one waits for the one before; nothing if there is none.
std::optional<std::vector<int>> chain_of(const ClusterProblem& problem, std::span<const int> nodes) {
  std::map<int, std::set<int>> before, after;
  for (const int node : nodes) before[node];
  for (const ClusterProblem::Wait& wait : problem.waits)
    if (before.contains(wait.first) && before.contains(wait.second)) {
      before[wait.second].insert(wait.first);
      after[wait.first].insert(wait.second);
    }
  std::map<int, std::size_t> waiting;
  std::vector<int> chain;
  for (const auto& [node, others] : before) {
    waiting[node] = others.size();
    if (others.empty()) chain.push_back(node);
  }
  if (chain.size() != 1) return std::nullopt;
  for (std::size_t k = 0; k < chain.size(); ++k) {
    for (const int other : after[chain[k]])
      if (--waiting[other] == 0) chain.push_back(other);
    if (chain.size() > k + 2) return std::nullopt;  // two that do not wait for each other
  }
  for (std::size_t k = 0; k + 1 < chain.size(); ++k)
    if (!before[chain[k + 1]].contains(chain[k])) return std::nullopt;
  return chain;
}

/// Do some nodes that could be together read the same array, in directions that may be chosen?
bool chooses_directions(const ClusterProblem& problem, std::span<const int> nodes) {
  if (problem.label.empty()) return false;
  const bool labels = std::ranges::any_of(nodes, [&](int node) { return problem.label[at(node)] != 0; });
  if (!labels && !problem.both_ways) return false;
  for (const ClusterProblem::Data& data : problem.arrays) {
    std::set<int> readers;
    for (const ClusterProblem::Reading& reading : data.readings)
      if (std::ranges::find(nodes, reading.reader) != nodes.end()) readers.insert(reading.reader);
    if (data.read != 0 && readers.size() > 1) return true;
  }
  return false;
}

}  // namespace

std::optional<std::vector<int>> best_of_chain(const ClusterProblem& problem, std::span<const int> nodes,
                                              const std::function<bool()>& in_time) {
  const auto chain = chain_of(problem, nodes);
  if (!chain || chooses_directions(problem, nodes)) return std::nullopt;
  Evaluator evaluator(problem, nodes);
  const std::size_t count = chain->size();
  // Of the first nodes: the least cost, and where the last cluster begins.
  std::vector<double> least(count + 1, std::numeric_limits<double>::infinity());
  std::vector<std::size_t> begin(count + 1);
  least[0] = 0;
  for (std::size_t from = 0; from < count; ++from) {
    if (!in_time()) return std::nullopt;
    for (std::size_t to = from + 1; to <= count; ++to) {
      bool more_may_help = false;
      const auto cost = evaluator.cost_of(std::span(*chain).subspan(from, to - from), &more_may_help);
      if (!cost && !more_may_help) break;
      const double all = cost ? least[from] + *cost + problem.last : std::numeric_limits<double>::infinity();
      if (all >= least[to]) continue;
      least[to] = all;
      begin[to] = from;
    }
  }
  std::vector<int> cluster(at(problem.count));
  for (std::size_t to = count; to > 0; to = begin[to])
    for (std::size_t k = begin[to]; k < to; ++k) cluster[at((*chain)[k])] = static_cast<int>(begin[to]);
  return cluster;
}

namespace {

/// In the beginning, a move that costs as much more than a middling array is taken one time in this many (e);
/// in the end hardly ever.
constexpr double first_heat = 0.3, last_heat = 0.01;

class Search {
 public:
  /// Clusters have numbers up to that of the nodes; those that have no members are free.
  Search(const ClusterProblem& problem, std::span<const int> nodes, std::vector<int> cluster)
      : problem_(problem),
        nodes_(nodes.begin(), nodes.end()),
        evaluator_(problem, nodes),
        cluster_(std::move(cluster)),
        members_(nodes.size() + 1),
        cost_(nodes.size() + 1) {
    int next = 0;
    for (std::vector<int>& members : twill::members_of(nodes_, cluster_)) {
      for (const int node : members) cluster_[at(node)] = next;
      cost_[at(next)] = evaluator_.cost_of(members).value_or(std::numeric_limits<double>::infinity());
      all_ += cost_[at(next)];
      members_[at(next++)] = std::move(members);
    }
    for (; at(next) <= nodes_.size(); ++next) free_.push_back(next);
    const auto highest = evaluator_.highest(cluster_);
    highest_ = highest.value_or(0);
    all_ += problem_.last * highest_;
    possible_ = highest && std::isfinite(all_);
    scale_ = problem.last;
    for (const ClusterProblem::Data& data : problem.arrays) scale_ = std::max(scale_, data.read + data.write);
    for (const auto& [pair, saved] : problem.saves) scale_ = std::max(scale_, std::abs(saved));
  }

  std::vector<int> run(int moves, const std::function<double()>& time_used) {
    std::vector<int> best = cluster_;
    double least = all_;
    if (!possible_ || nodes_.size() < 2) return best;
    double done = 0;
    for (int move = 0; move < moves && done < 1; ++move) {
      if (move % 64 == 0) {
        done = std::max(static_cast<double>(move) / moves, time_used());
        heat_ = scale_ * first_heat * std::pow(last_heat / first_heat, done);
      }
      step();
      if (all_ < least - 1e-9 * (1 + std::abs(least))) {
        least = all_;
        best = cluster_;
      }
    }
    return best;
  }

 private:
  int below(std::size_t n) { return static_cast<int>(random_() % n); }

  void step() {
    const int node = nodes_[at(below(nodes_.size()))];
    const std::vector<int>& near = evaluator_.neighbours(node);
    const int from = cluster_[at(node)];
    const int kind = below(8);
    if (kind == 0 || near.empty()) {
      if (members_[at(from)].size() > 1) change({node}, from, free_.back());
      return;
    }
    const int to = cluster_[at(near[at(below(near.size()))])];
    if (to == from) return;
    if (kind < 6)
      change({node}, from, to);
    else
      change(members_[at(from)], from, to);
  }

  /// Moves nodes, if that is possible and does not cost too much.
  void change(std::vector<int> moved, int from, int to) {
    std::vector<int> rest, joined = members_[at(to)];
    for (const int node : members_[at(from)])
      if (std::ranges::find(moved, node) == moved.end()) rest.push_back(node);
    joined.insert(joined.end(), moved.begin(), moved.end());
    const auto of_joined = evaluator_.cost_of(joined);
    const auto of_rest = rest.empty() ? std::optional(0.0) : evaluator_.cost_of(rest);
    if (!of_joined || !of_rest) return;
    double more = *of_joined + *of_rest - cost_[at(from)] - cost_[at(to)];
    if (problem_.last == 0 && !accepts(more)) return;
    for (const int node : moved) cluster_[at(node)] = to;
    const auto highest = evaluator_.highest(cluster_);
    if (highest) more += problem_.last * (*highest - highest_);
    if (!highest || (problem_.last != 0 && !accepts(more))) {
      for (const int node : moved) cluster_[at(node)] = from;
      return;
    }
    highest_ = *highest;
    all_ += more;
    if (members_[at(to)].empty()) std::erase(free_, to);
    if (rest.empty()) free_.push_back(from);
    members_[at(to)] = std::move(joined);
    cost_[at(to)] = *of_joined;
    members_[at(from)] = std::move(rest);
    cost_[at(from)] = *of_rest;
  }

  bool accepts(double more) {
    return more <= 0 || static_cast<double>(random_()) < std::exp(-more / heat_) * 4294967296.0;
  }

  const ClusterProblem& problem_;
  std::vector<int> nodes_;
  Evaluator evaluator_;
  std::vector<int> cluster_;
  std::vector<std::vector<int>> members_;  // by cluster
  std::vector<double> cost_;               // by cluster
  std::vector<int> free_;
  std::mt19937 random_;
  double all_ = 0, scale_ = 0, heat_ = 0;
  int highest_ = 0;
  bool possible_ = true;
};

}  // namespace

std::vector<int> improved(const ClusterProblem& problem, std::span<const int> nodes, std::vector<int> cluster,
                          int moves, const std::function<double()>& time_used) {
  return Search(problem, nodes, std::move(cluster)).run(moves, time_used);
}

}  // namespace twill
