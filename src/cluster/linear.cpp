#include "cluster/linear.h"

#include "base/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace twill {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

std::string sum_text(const LinearModel& model, std::span<const LinearModel::Term> terms) {
  std::string text;
  for (const LinearModel::Term& term : terms)
    text += fmt::format(" {} {} {}", term.factor < 0 ? "-" : "+", std::abs(term.factor),
                        model.variables[static_cast<std::size_t>(term.variable)].name);
  return text;
}

}  // namespace

int LinearModel::add(std::string name, double low, double high, double cost) {
  variables.push_back({std::move(name), low, high, cost, false});
  return static_cast<int>(variables.size()) - 1;
}

int LinearModel::add_integer(std::string name, double low, double high, double cost) {
  const int variable = add(std::move(name), low, high, cost);
  variables.back().integer = true;
  return variable;
}

void LinearModel::at_most(std::vector<Term> terms, double high) {
  rows.push_back({std::move(terms), -infinity, high});
}

void LinearModel::at_least(std::vector<Term> terms, double low) {
  rows.push_back({std::move(terms), low, infinity});
}

bool LinearModel::has_choice() const {
  return std::any_of(variables.begin(), variables.end(), [](const Variable& v) { return v.integer; });
}

bool LinearModel::holds(std::span<const double> values) const {
  const auto between = [](double value, double low, double high) {
    return value >= low - 1e-6 && value <= high + 1e-6;
  };
  for (std::size_t v = 0; v < variables.size(); ++v)
    if (!between(values[v], variables[v].low, variables[v].high)) return false;
  return std::all_of(rows.begin(), rows.end(), [&](const Row& row) {
    double sum = 0;
    for (const Term& term : row.terms) sum += term.factor * values[static_cast<std::size_t>(term.variable)];
    return between(sum, row.low, row.high);
  });
}

double LinearModel::cost_of(std::span<const double> values) const {
  double cost = 0;
  for (std::size_t v = 0; v < variables.size(); ++v) cost += variables[v].cost * values[v];
  return cost;
}

std::unique_ptr<LinearSolver> open_any_solver() {
  try {
    return open_cbc();
  } catch (const Error&) {
    try {
      return open_highs();
    } catch (const Error&) {}
    throw;
  }
}

std::string to_lp(const LinearModel& model) {
  std::vector<LinearModel::Term> costs;
  for (std::size_t v = 0; v < model.variables.size(); ++v)
    if (model.variables[v].cost != 0) costs.push_back({static_cast<int>(v), model.variables[v].cost});
  if (costs.empty() && !model.variables.empty()) costs.push_back({0, 0});  // some readers want one
  std::string text = "Minimize\n cost:" + sum_text(model, costs) + "\nSubject To\n";
  for (std::size_t r = 0; r < model.rows.size(); ++r) {
    const LinearModel::Row& row = model.rows[r];
    const bool least = row.low > -infinity;
    text += fmt::format(" r{}:{} {} {}\n", r, sum_text(model, row.terms),
                        least ? ">=" : "<=", least ? row.low : row.high);
  }
  text += "Bounds\n";
  for (const LinearModel::Variable& v : model.variables)
    text += fmt::format(" {} <= {} <= {}\n", v.low, v.name, v.high);
  text += "Generals\n";
  for (const LinearModel::Variable& v : model.variables)
    if (v.integer) text += " " + v.name + "\n";
  return text + "End\n";
}

}  // namespace twill
