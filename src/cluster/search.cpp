#include "cluster/search.h"

#include "cluster/at.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace twill {

namespace {

/// In the beginning, a move that costs as much more than a middling array is taken one time in this many (e);
/// in the end hardly ever.
constexpr double first_heat = 0.3, last_heat = 0.01;

/// Moves after which somebody looks at the clock.
constexpr int moves_between = 64;

class Search {
 public:
  /// Clusters have numbers up to that of the nodes; those that have no members are free.
  Search(const ClusterProblem& problem, std::vector<int> cluster)
      : problem_(problem),
        evaluator_(problem),
        cluster_(std::move(cluster)),
        members_(at(problem.count) + 1),
        cost_(at(problem.count) + 1) {
    int next = 0;
    for (std::vector<int>& members : members_of(cluster_)) {
      for (const int node : members) cluster_[at(node)] = next;
      cost_[at(next)] = evaluator_.cost_of(members).value_or(std::numeric_limits<double>::infinity());
      all_ += cost_[at(next)];
      members_[at(next++)] = std::move(members);
    }
    for (; next <= problem.count; ++next) free_.push_back(next);
    const auto highest = evaluator_.highest(cluster_);
    highest_ = highest.value_or(0);
    all_ += problem_.last * highest_;
    possible_ = highest && std::isfinite(all_);
    scale_ = problem.last;
    for (const ClusterProblem::Data& data : problem.arrays) scale_ = std::max(scale_, data.read + data.write);
    for (const auto& [pair, saved] : problem.saves) scale_ = std::max(scale_, std::abs(saved));
  }

  std::vector<int> run(int moves, const Deadline& deadline, Cooling cooling) {
    std::vector<int> best = cluster_;
    double least = all_;
    if (!possible_ || problem_.count < 2) return best;
    for (int move = 0; move < moves; ++move) {
      if (move % moves_between == 0) {
        const double used = deadline.used();
        if (used >= 1) break;
        double done = static_cast<double>(move) / moves;
        if (cooling == Cooling::ByTime) done = std::max(done, used);
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
    const int node = below(at(problem_.count));
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

std::vector<int> improved(const ClusterProblem& problem, std::vector<int> cluster, int moves,
                          const Deadline& deadline, Cooling cooling) {
  return Search(problem, std::move(cluster)).run(moves, deadline, cooling);
}

}  // namespace twill
