#include "cluster/solve.h"

#include "base/error.h"
#include "cluster/at.h"
#include "cluster/chain.h"
#include "cluster/formulation.h"
#include "cluster/parts.h"
#include "cluster/search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>

namespace twill {

namespace {

constexpr int most_rounds = 40;

/// Moves that are tried for every node, before a solver is asked, and at most when it has found no proof.
constexpr int moves_before = 200, moves_after = 100000;
constexpr std::size_t most_moves = 1'000'000'000;

/// When, as a share of the time, moves before the solver end, then rounds of relaxed programs, then the
/// solver itself; the rest is for what it could not prove.
constexpr double first_share = 0.2, relaxed_share = 0.5, solver_share = 0.75;

/// A solver begins with the relaxed program, and does not look at the clock before it has solved that and
/// tried what follows from it: it is not asked if there is less time than this many times what the relaxed
/// one took.
constexpr double solver_needs = 6;

/// What sums of costs are wrong by, at most.
double tolerance(const LinearModel& model) {
  double most = 0;
  for (const LinearModel::Variable& v : model.variables) most += std::abs(v.cost);
  return 1e-6 * (1 + most);
}

}  // namespace

namespace {

/// What the part knows of a choice.
Chosen restricted(const Chosen& chosen, const Part& part) {
  Chosen here;
  std::map<int, int> number;
  for (const int node : part.nodes) {
    here.cluster.push_back(
        number.try_emplace(chosen.cluster[at(node)], static_cast<int>(number.size())).first->second);
    if (!chosen.order.empty()) here.order.push_back(chosen.order[at(node)]);
  }
  return here;
}

/// The choice for one part.
class PartChoice {
 public:
  PartChoice(const Part& part, const Deadline& deadline)
      : part_(part), problem_(part.problem), deadline_(deadline), evaluator_(problem_) {
    set_.resize(part.nodes.size());
    std::iota(set_.begin(), set_.end(), 0);
    left_.resize(part.nodes.size());
  }

  /// Chooses without a solver; says whether that was possible.
  bool is_easy() {
    if (auto cluster = best_of_chain(problem_, deadline_)) {
      take(std::move(*cluster));
      return true;
    }
    formulation_.emplace(part_);
    const LinearModel& model = formulation_->model();
    if (!model.has_choice()) return true;
    if (!model.rows.empty()) return false;
    // Nobody's choice depends on another one's.
    std::vector<double> values;
    for (const LinearModel::Variable& v : model.variables) values.push_back(v.cost < 0 ? v.high : v.low);
    formulation_->read(values, set_, left_);
    return true;
  }

  /// `known`: some choices for all nodes. Says by how much another choice could be better, at most.
  double solve(const LinearSolver& solver, std::span<const Chosen> known, bool whole,
               const std::function<void(const LinearModel&)>& look) {
    const LinearModel& model = formulation_->model();
    std::vector<Chosen> here;
    std::vector<int> start_with = set_;
    double least = evaluator_.cost_of_all(start_with).value_or(std::numeric_limits<double>::infinity());
    for (const Chosen& chosen : known) {
      here.push_back(restricted(chosen, part_));
      if (const auto cost = evaluator_.cost_of_all(here.back().cluster); cost && *cost < least) {
        least = *cost;
        start_with = here.back().cluster;
      }
    }
    // What is found does not depend on the clock, unless there is no time for all moves.
    start_with = improved(problem_, std::move(start_with), moves(moves_before), deadline_.until(first_share),
                          Cooling::ByMoves);
    double bound = relaxed_bound(solver);
    if (look) look(model);
    std::vector<double> values;
    const auto try_values = [&](const Chosen& chosen) {
      std::vector<double> of_this = formulation_->values_of(chosen);
      if (!model.holds(of_this)) return;
      if (values.empty() || model.cost_of(of_this) < model.cost_of(values)) values = std::move(of_this);
    };
    for (const Chosen& chosen : here) try_values(chosen);
    try_values(evaluator_.completed(start_with));
    LinearSolution found{.bound = bound, .values = {}};
    const Deadline solving = deadline_.until(solver_share);
    bool solved = false;
    while (!solved && solving.left() > solver_needs * slowest_relaxed_) {
      found = solver.solve(model, solving.left(), values);
      bound = std::max(bound, found.bound);
      if (found.values.empty()) break;
      solved = formulation_->cut_apart(found.values, deadline_) == 0 && !deadline_.is_over();
      if (solved) break;
      formulation_->cut_off(found.values, deadline_);
      found.values.clear();
    }
    if (solved && !values.empty())
      ensure(!found.proven || model.cost_of(found.values) <= model.cost_of(values) + tolerance(model),
             "nothing is better than what the solver proves to be the best");
    if (solved && (values.empty() || model.cost_of(found.values) < model.cost_of(values)))
      values = found.values;
    if (values.empty()) return std::numeric_limits<double>::infinity();  // everybody stays alone
    formulation_->read(values, set_, left_);
    if (found.proven && solved) return 0;
    if (whole) bound = std::ceil(bound - 1e-6);
    // As the solver's model counts it: a constant lies between that and what clusters cost.
    return std::max(0.0, model.cost_of(values) - saved_by_more_moves() - bound);
  }

  void write_to(BestChoice& best) const {
    std::map<int, int> first;
    for (std::size_t k = 0; k < set_.size(); ++k) {
      const int node = part_.nodes[k];
      best.set[at(node)] = first.try_emplace(set_[k], node).first->second;
      best.left[at(node)] = left_[k];
    }
  }

 private:
  void take(std::vector<int> cluster) {
    const Chosen chosen = evaluator_.completed(std::move(cluster));
    set_ = chosen.cluster;
    for (std::size_t k = 0; k < chosen.order.size(); ++k) left_[k] = chosen.order[k] == 1;
  }

  int moves(int each) const {
    return static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(each) * set_.size(), most_moves));
  }

  /// Every round says more, until it says nothing new or takes too long.
  double relaxed_bound(const LinearSolver& solver) {
    const Deadline relaxing = deadline_.until(relaxed_share);
    double bound = -std::numeric_limits<double>::infinity();
    for (int round = 0; round < most_rounds && !relaxing.is_over(); ++round) {
      const double before = relaxing.left();
      const std::vector<double> relaxed = solver.relax(formulation_->model(), before);
      slowest_relaxed_ = std::max(slowest_relaxed_, before - relaxing.left());
      if (relaxed.empty()) break;
      bound = formulation_->model().cost_of(relaxed);
      if (formulation_->cut_off(relaxed, relaxing) == 0) break;
    }
    return bound;
  }

  /// Goes on where the solver ended.
  double saved_by_more_moves() {
    const auto before = evaluator_.cost_of_all(set_);
    if (!before || deadline_.is_over()) return 0;
    std::vector<int> better =
        improved(problem_, set_, moves(moves_after), deadline_.share(1), Cooling::ByTime);
    const auto now = evaluator_.cost_of_all(better);
    if (!now || *now >= *before) return 0;
    take(std::move(better));
    return *before - *now;
  }

  const Part& part_;
  const ClusterProblem& problem_;
  const Deadline deadline_;
  Evaluator evaluator_;
  std::optional<Formulation> formulation_;
  std::vector<int> set_;
  std::vector<bool> left_;
  double slowest_relaxed_ = 0;  // seconds
};

}  // namespace

BestChoice best_choice(const ClusterProblem& problem, const std::function<std::vector<Chosen>()>& known,
                       bool whole, const SolveOptions& options, const Deadline& deadline) {
  BestChoice best;
  best.set.resize(at(problem.count));
  best.left.resize(at(problem.count));
  std::iota(best.set.begin(), best.set.end(), 0);
  std::unique_ptr<LinearSolver> solver;
  std::vector<Chosen> start_with;
  // The small ones first: they leave most of their time to the others.
  std::vector<Part> parts = independent_parts(problem);
  std::ranges::stable_sort(parts, {}, [](const Part& part) { return part.nodes.size(); });
  double nodes_left = static_cast<double>(problem.count);
  for (const Part& part : parts) {
    const double own_share = static_cast<double>(part.nodes.size()) / nodes_left;
    nodes_left -= static_cast<double>(part.nodes.size());
    if (part.nodes.size() < 2) continue;
    PartChoice choice(part, deadline.share(own_share));
    if (!choice.is_easy()) {
      if (!solver) {
        solver = options.open();
        start_with = known();
      }
      ++best.solved;
      best.may_save += choice.solve(*solver, start_with, whole, options.look);
    }
    choice.write_to(best);
  }
  return best;
}

}  // namespace twill
