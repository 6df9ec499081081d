#include "cluster/solve.h"

#include "base/error.h"
#include "cluster/at.h"
#include "cluster/formulation.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

namespace twill {

namespace {

constexpr int most_rounds = 40;

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
  std::unique_ptr<LinearSolver> solver;
  for (const std::vector<int>& part : independent_parts(problem)) {
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
    // Every round says more; when it says nothing new, or takes too long, the solver goes on alone.
    for (int round = 0; round < most_rounds && left() > options.seconds / 2; ++round) {
      const std::vector<double> relaxed = solver->relax(model, left());
      if (relaxed.empty() || formulation.cut_off(relaxed) == 0) break;
    }
    if (options.look) options.look(model);
    std::vector<double> values;
    for (const Chosen& chosen : known) {
      std::vector<double> of_this = formulation.values_of(chosen);
      if (!model.holds(of_this)) continue;
      if (values.empty() || model.cost_of(of_this) < model.cost_of(values)) values = std::move(of_this);
    }
    const LinearSolution found = solver->solve(model, left(), values);
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
    const double bound = whole ? std::ceil(found.bound - 1e-6) : found.bound;
    if (!found.proven || !solved) best.may_save += std::max(0.0, model.cost_of(values) - bound);
    formulation.read(values, best.set, best.left);
  }
  return best;
}

}  // namespace twill
