#include "cluster/solve.h"

#include "base/error.h"
#include "cluster/at.h"
#include "cluster/formulation.h"
#include "cluster/search.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

namespace twill {

namespace {

constexpr int most_rounds = 40;

/// Moves that are tried for every node, before a solver is asked, and at most when it has found no proof.
constexpr int moves_before = 200, moves_after = 100000;
constexpr std::size_t most_moves = 1'000'000'000;

/// The solver's share of the time; the rest is for what it could not prove.
constexpr double solver_share = 0.75;

/// The share of the time that moves before that may take.
constexpr double first_share = 0.2;

/// What sums of costs are wrong by, at most.
double tolerance(const LinearModel& model) {
  double most = 0;
  for (const LinearModel::Variable& v : model.variables) most += std::abs(v.cost);
  return 1e-6 * (1 + most);
}

/// Strongly connected components, after Kosaraju, without recursion. `next`: by node.
std::vector<std::vector<int>> circles_of(const std::vector<std::vector<int>>& next) {
  const std::size_t count = next.size();
  std::vector<std::vector<int>> back(count), parts;
  for (std::size_t a = 0; a < count; ++a)
    for (const int b : next[a]) back[at(b)].push_back(static_cast<int>(a));
  std::vector<int> finished;
  std::vector<bool> seen(count);
  for (std::size_t root = 0; root < count; ++root) {
    if (seen[root]) continue;
    std::vector<std::pair<int, std::size_t>> path = {{static_cast<int>(root), 0}};
    seen[root] = true;
    while (!path.empty()) {
      auto& [node, k] = path.back();
      if (k == next[at(node)].size()) {
        finished.push_back(node);
        path.pop_back();
        continue;
      }
      const int other = next[at(node)][k++];
      if (seen[at(other)]) continue;
      seen[at(other)] = true;
      path.push_back({other, 0});
    }
  }
  std::fill(seen.begin(), seen.end(), false);
  for (auto root = finished.rbegin(); root != finished.rend(); ++root) {
    if (seen[at(*root)]) continue;
    std::vector<int> part, open = {*root};
    seen[at(*root)] = true;
    while (!open.empty()) {
      const int node = open.back();
      open.pop_back();
      part.push_back(node);
      for (const int other : back[at(node)])
        if (!seen[at(other)]) {
          seen[at(other)] = true;
          open.push_back(other);
        }
    }
    std::sort(part.begin(), part.end());
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace

/// Nodes on a circle of dependences that is also walked backward where two nodes may end up together. The
/// highest number of a cluster is everybody's business.
std::vector<std::vector<int>> independent_parts(const ClusterProblem& problem) {
  std::vector<std::vector<int>> next(at(problem.count));
  for (const ClusterProblem::Wait& wait : problem.waits) {
    next[at(wait.first)].push_back(wait.second);
    if (!wait.strictly || problem.last > 0) next[at(wait.second)].push_back(wait.first);
  }
  for (const ClusterProblem::Data& data : problem.arrays) {
    if (data.read == 0) continue;
    for (const ClusterProblem::Reading& a : data.readings)
      for (const ClusterProblem::Reading& b : data.readings)
        if (a.reader != b.reader && problem.may_meet(a.reader, b.reader))
          next[at(a.reader)].push_back(b.reader);
  }
  return circles_of(next);
}

BestChoice best_choice(const ClusterProblem& problem, std::span<const Chosen> known, bool whole,
                       const SolveOptions& options) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  const auto left = [&] {
    return std::max(0.0, options.seconds - std::chrono::duration<double>(Clock::now() - start).count());
  };
  BestChoice best;
  best.set.resize(at(problem.count));
  best.left.resize(at(problem.count));
  std::iota(best.set.begin(), best.set.end(), 0);
  const auto in_time = [&] { return left() > 0; };
  const auto take = [&](const std::vector<int>& part, Evaluator& evaluator, std::vector<int> cluster) {
    const Chosen chosen = evaluator.completed(std::move(cluster));
    for (const std::vector<int>& members : members_of(part, chosen.cluster))
      for (const int node : members) {
        best.set[at(node)] = members.front();
        if (!chosen.order.empty()) best.left[at(node)] = chosen.order[at(node)] == 1;
      }
  };
  std::unique_ptr<LinearSolver> solver;
  // The small ones first: they leave most of their time to the others.
  std::vector<std::vector<int>> parts = independent_parts(problem);
  std::ranges::stable_sort(parts, {}, [](const std::vector<int>& part) { return part.size(); });
  double nodes_left = 0;
  for (const std::vector<int>& part : parts) nodes_left += static_cast<double>(part.size());
  for (const std::vector<int>& part : parts) {
    const double own_share = static_cast<double>(part.size()) / nodes_left;
    nodes_left -= static_cast<double>(part.size());
    if (part.size() < 2) continue;
    Evaluator evaluator(problem, part);
    if (auto cluster = best_of_chain(problem, part, in_time)) {
      take(part, evaluator, std::move(*cluster));
      continue;
    }
    Formulation formulation(problem, part);
    const LinearModel& model = formulation.model();
    if (!model.has_choice()) continue;
    if (model.rows.empty()) {  // nobody's choice depends on another one's
      std::vector<double> values;
      for (const LinearModel::Variable& v : model.variables) values.push_back(v.cost < 0 ? v.high : v.low);
      formulation.read(values, best.set, best.left);
      continue;
    }
    if (!solver) solver = options.open();
    ++best.solved;
    std::vector<int> start_with(at(problem.count));
    std::iota(start_with.begin(), start_with.end(), 0);
    double least = evaluator.cost_of_all(start_with).value_or(std::numeric_limits<double>::infinity());
    for (const Chosen& chosen : known)
      if (const auto cost = evaluator.cost_of_all(chosen.cluster); cost && *cost < least) {
        least = *cost;
        start_with = chosen.cluster;
      }
    const auto moves = [&](int each) {
      return static_cast<int>(
          std::min<std::size_t>(static_cast<std::size_t>(each) * part.size(), most_moves));
    };
    const double seconds = left() * own_share, rest_after = left() - seconds;
    const auto used = [&] { return seconds > 0 ? 1 - (left() - rest_after) / seconds : 1.0; };
    const auto for_solver = [&] { return std::max(0.0, (solver_share - used()) * seconds); };
    // What is found does not depend on the clock, unless there is no time for all moves.
    start_with = improved(problem, part, std::move(start_with), moves(moves_before),
                          [&] { return used() < first_share ? 0.0 : 1.0; });
    // Every round says more; when it says nothing new, or takes too long, the solver goes on alone.
    double bound = -std::numeric_limits<double>::infinity();
    for (int round = 0; round < most_rounds && used() < 0.5; ++round) {
      const std::vector<double> relaxed = solver->relax(model, for_solver());
      if (relaxed.empty()) break;
      bound = model.cost_of(relaxed);
      if (formulation.cut_off(relaxed) == 0) break;
    }
    if (options.look) options.look(model);
    std::vector<double> values;
    const auto try_values = [&](const Chosen& chosen) {
      std::vector<double> of_this = formulation.values_of(chosen);
      if (!model.holds(of_this)) return;
      if (values.empty() || model.cost_of(of_this) < model.cost_of(values)) values = std::move(of_this);
    };
    for (const Chosen& chosen : known) try_values(chosen);
    try_values(evaluator.completed(start_with));
    LinearSolution found{.bound = bound, .values = {}};
    if (for_solver() > 0) found = solver->solve(model, for_solver(), values);
    const bool solved = !found.values.empty();
    if (solved && !values.empty())
      ensure(!found.proven || model.cost_of(found.values) <= model.cost_of(values) + tolerance(model),
             "nothing is better than what the solver proves to be the best");
    if (solved && (values.empty() || model.cost_of(found.values) < model.cost_of(values)))
      values = found.values;
    if (values.empty()) {  // everybody stays alone, and nothing is known about it
      best.may_save = std::numeric_limits<double>::infinity();
      continue;
    }
    formulation.read(values, best.set, best.left);
    if (found.proven && solved) continue;
    bound = std::max(bound, found.bound);
    if (whole) bound = std::ceil(bound - 1e-6);
    // As the solver's model counts it: a constant lies between that and what clusters cost.
    double cost = model.cost_of(values);
    const auto before = evaluator.cost_of_all(best.set);
    if (const double from = used(); before && from < 1) {
      const std::vector<int> better =
          improved(problem, part, best.set, moves(moves_after), [&] { return (used() - from) / (1 - from); });
      if (const auto now = evaluator.cost_of_all(better); now && *now < *before) {
        cost += *now - *before;
        take(part, evaluator, better);
      }
    }
    best.may_save += std::max(0.0, cost - bound);
  }
  return best;
}

}  // namespace twill
