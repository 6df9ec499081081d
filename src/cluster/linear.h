// Linear programs in which some variables are integers, and who solves them.
//
// No solver is linked: their libraries are opened when the first problem needs one, because a command that
// has nothing to solve should not wait for them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace twill {

/// Minimise the sum of cost * value, with every row's sum of factor * value between its bounds.
struct LinearModel {
  struct Variable {
    std::string name;
    double low, high, cost;
    bool integer;
  };
  struct Term {
    int variable;
    double factor;
  };
  struct Row {
    std::vector<Term> terms;
    double low, high;
  };

  std::vector<Variable> variables;
  std::vector<Row> rows;

  int add(std::string name, double low, double high, double cost = 0);
  int add_integer(std::string name, double low, double high, double cost = 0);
  /// The sum of the terms is at most `high`, or at least `low`.
  void at_most(std::vector<Term> terms, double high);
  void at_least(std::vector<Term> terms, double low);

  bool has_choice() const;  // is there an integer variable?
  bool holds(std::span<const double> values) const;
  double cost_of(std::span<const double> values) const;
};

/// The model in the LP format of CPLEX, which all solvers read.
std::string to_lp(const LinearModel& model);

struct LinearSolution {
  bool proven = false;         // nothing is better, or there is no solution at all
  double bound = 0;            // no solution costs less
  std::vector<double> values;  // by variable; empty if none was found
};

class LinearSolver {
 public:
  virtual ~LinearSolver() = default;
  virtual std::string name() const = 0;
  /// `start`: values of a solution that is known; may be empty.
  virtual LinearSolution solve(const LinearModel& model, double seconds,
                               std::span<const double> start) const = 0;
  /// The same without asking for integers; no values if that takes longer.
  virtual std::vector<double> relax(const LinearModel& model, double seconds) const = 0;
};

/// COIN-OR's CBC. Throws an Error if its library is not installed.
std::unique_ptr<LinearSolver> open_cbc(const std::string& library = "libCbcSolver.so.3");

/// HiGHS. Throws an Error if its library is not installed.
std::unique_ptr<LinearSolver> open_highs(const std::string& library = "libhighs.so.1");

/// CBC, which Debian has; HiGHS where only that is installed.
std::unique_ptr<LinearSolver> open_any_solver();

}  // namespace twill
