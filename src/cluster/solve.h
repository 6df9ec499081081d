// Solves the choice of clusters.
#pragma once

#include "cluster/deadline.h"
#include "cluster/linear.h"
#include "cluster/problem.h"

#include <functional>

namespace twill {

/// How the solver is asked. `open` is called when there is something to solve.
struct SolveOptions {
  double seconds = 2;
  std::function<std::unique_ptr<LinearSolver>()> open = open_any_solver;
  std::function<void(const LinearModel&)> look = {};  // sees every model before it is solved
};

struct BestChoice {
  std::vector<int> set;    // by node: nodes with the same number are together
  std::vector<bool> left;  // by node: runs from right to left, where both are possible
  double may_save = 0;     // by how much another choice could be better, at most
  int solved = 0;          // problems that a solver had to be asked about
};

/// The best choice, at least as good as all that are known already, which are asked for if something has to
/// be solved. `whole`: all costs are whole numbers. The time is that of the deadline.
BestChoice best_choice(const ClusterProblem& problem, const std::function<std::vector<Chosen>()>& known,
                       bool whole, const SolveOptions& options, const Deadline& deadline);

}  // namespace twill
