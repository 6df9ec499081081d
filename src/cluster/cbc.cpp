// CBC behind the interface of solvers. Relaxed programs go to CLP, which CBC is built on: CBC's own way to it
// cannot be kept from printing.
#include "cluster/linear.h"
#include "cluster/solver_library.h"

#include <coin/Cbc_C_Interface.h>
#include <coin/Clp_C_Interface.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace twill {

namespace {

SolverLibrary open(const std::string& file) {
  return {"CBC", file,
          "install Debian's package coinor-libcbc3, or choose clusters without a solver: --cluster greedy"};
}

#define TWILL_CBC(function) decltype(::function)* function = cbc.find<decltype(::function)>(#function)
#define TWILL_CLP(function) decltype(::function)* function = clp.find<decltype(::function)>(#function)

/// What is used of the two.
struct Functions {
  explicit Functions(const std::string& library) : cbc(open(library)), clp(open("libClp.so.1")) {}

  SolverLibrary cbc, clp;
  TWILL_CBC(Cbc_newModel);
  TWILL_CBC(Cbc_deleteModel);
  TWILL_CBC(Cbc_addCol);
  TWILL_CBC(Cbc_addRow);
  TWILL_CBC(Cbc_setParameter);
  TWILL_CBC(Cbc_setMIPStart);
  TWILL_CBC(Cbc_solve);
  TWILL_CBC(Cbc_isProvenOptimal);
  TWILL_CBC(Cbc_isProvenInfeasible);
  TWILL_CBC(Cbc_getBestPossibleObjValue);
  TWILL_CBC(Cbc_bestSolution);
  TWILL_CLP(Clp_newModel);
  TWILL_CLP(Clp_deleteModel);
  TWILL_CLP(Clp_loadProblem);
  TWILL_CLP(Clp_setLogLevel);
  TWILL_CLP(Clp_setMaximumSeconds);
  TWILL_CLP(Clp_dual);
  TWILL_CLP(Clp_primalColumnSolution);
};

#undef TWILL_CBC
#undef TWILL_CLP

class Cbc : public LinearSolver {
 public:
  explicit Cbc(const std::string& library) : f_(library) {}

  std::string name() const override { return "CBC"; }

  LinearSolution solve(const LinearModel& model, double seconds,
                       std::span<const double> start) const override {
    const Handle cbc = load(model, seconds);
    if (!start.empty()) {
      std::vector<const char*> names;
      for (const LinearModel::Variable& v : model.variables) names.push_back(v.name.c_str());
      f_.Cbc_setMIPStart(cbc.get(), static_cast<int>(names.size()), names.data(), start.data());
    }
    f_.Cbc_solve(cbc.get());
    LinearSolution solution;
    solution.proven = f_.Cbc_isProvenOptimal(cbc.get()) != 0 || f_.Cbc_isProvenInfeasible(cbc.get()) != 0;
    solution.bound = f_.Cbc_getBestPossibleObjValue(cbc.get());
    const double* values = f_.Cbc_bestSolution(cbc.get());
    if (values && !f_.Cbc_isProvenInfeasible(cbc.get())) {
      solution.values.assign(values, values + model.variables.size());
      for (std::size_t v = 0; v < solution.values.size(); ++v)
        if (model.variables[v].integer) solution.values[v] = std::round(solution.values[v]);
    }
    return solution;
  }

  std::vector<double> relax(const LinearModel& model, double seconds) const override {
    const auto close = [&](Clp_Simplex* clp) { f_.Clp_deleteModel(clp); };
    const std::unique_ptr<Clp_Simplex, decltype(close)> clp(f_.Clp_newModel(), close);
    std::vector<double> low, high, cost, row_low, row_high, factors;
    for (const LinearModel::Variable& v : model.variables) {
      low.push_back(v.low);
      high.push_back(v.high);
      cost.push_back(v.cost);
    }
    // By columns.
    std::vector<std::vector<std::pair<int, double>>> columns(model.variables.size());
    for (const LinearModel::Row& row : model.rows) {
      for (const LinearModel::Term& term : row.terms)
        columns[static_cast<std::size_t>(term.variable)].push_back(
            {static_cast<int>(row_low.size()), term.factor});
      row_low.push_back(row.low);
      row_high.push_back(row.high);
    }
    std::vector<int> rows, starts = {0};
    for (const auto& column : columns) {
      for (const auto& [row, factor] : column) {
        rows.push_back(row);
        factors.push_back(factor);
      }
      starts.push_back(static_cast<int>(rows.size()));
    }
    f_.Clp_setLogLevel(clp.get(), 0);
    f_.Clp_setMaximumSeconds(clp.get(), seconds);
    f_.Clp_loadProblem(clp.get(), static_cast<int>(low.size()), static_cast<int>(row_low.size()),
                       starts.data(), rows.data(), factors.data(), low.data(), high.data(), cost.data(),
                       row_low.data(), row_high.data());
    if (f_.Clp_dual(clp.get(), 0) != 0) return {};
    const double* values = f_.Clp_primalColumnSolution(clp.get());
    return {values, values + model.variables.size()};
  }

 private:
  struct Close {
    const Functions* f;
    void operator()(Cbc_Model* cbc) const { f->Cbc_deleteModel(cbc); }
  };
  using Handle = std::unique_ptr<Cbc_Model, Close>;

  Handle load(const LinearModel& model, double seconds) const {
    Handle cbc(f_.Cbc_newModel(), Close{&f_});
    for (const LinearModel::Variable& v : model.variables)
      f_.Cbc_addCol(cbc.get(), v.name.c_str(), v.low, v.high, v.cost, v.integer, 0, nullptr, nullptr);
    for (const LinearModel::Row& row : model.rows) {
      std::vector<int> columns;
      std::vector<double> factors;
      for (const LinearModel::Term& term : row.terms) {
        columns.push_back(term.variable);
        factors.push_back(term.factor);
      }
      const bool least = row.low > -std::numeric_limits<double>::infinity();
      f_.Cbc_addRow(cbc.get(), "", static_cast<int>(columns.size()), columns.data(), factors.data(),
                    least ? 'G' : 'L', least ? row.low : row.high);
    }
    for (const auto& [name, value] : {std::pair{"log", std::string("0")},
                                      {"slog", "0"},
                                      {"preprocess", "off"},
                                      {"timeMode", "elapsed"},
                                      {"seconds", fmt::format("{:.3f}", std::max(seconds, 0.01))}})
      f_.Cbc_setParameter(cbc.get(), name, value.c_str());
    return cbc;
  }

  Functions f_;
};

}  // namespace

std::unique_ptr<LinearSolver> open_cbc(const std::string& library) { return std::make_unique<Cbc>(library); }

}  // namespace twill
