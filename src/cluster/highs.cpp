// HiGHS behind the interface of solvers. Its headers are not needed: these few functions have been the same
// since its first release.
#include "cluster/linear.h"
#include "cluster/solver_library.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace twill {

namespace {

/// What is used of it. Numbers of rows and columns are ints, unless somebody has built it otherwise.
struct Functions {
  explicit Functions(const SolverLibrary& highs)
      : create(highs.find<void*()>("Highs_create")),
        destroy(highs.find<void(void*)>("Highs_destroy")),
        size_of_int(highs.find<int(const void*)>("Highs_getSizeofHighsInt")),
        set_switch(highs.find<int(void*, const char*, int)>("Highs_setBoolOptionValue")),
        set_count(highs.find<int(void*, const char*, int)>("Highs_setIntOptionValue")),
        set_number(highs.find<int(void*, const char*, double)>("Highs_setDoubleOptionValue")),
        pass(highs.find<Pass>("Highs_passMip")),
        start(highs.find<int(void*, const double*, const double*, const double*, const double*)>(
            "Highs_setSolution")),
        run(highs.find<int(void*)>("Highs_run")),
        status(highs.find<int(const void*)>("Highs_getModelStatus")),
        count(highs.find<int(const void*, const char*, int*)>("Highs_getIntInfoValue")),
        number(highs.find<int(const void*, const char*, double*)>("Highs_getDoubleInfoValue")),
        solution(highs.find<int(const void*, double*, double*, double*, double*)>("Highs_getSolution")) {}

  using Pass = int(void* highs, int columns, int rows, int factors, int format, int sense, double offset,
                   const double* cost, const double* low, const double* high, const double* row_low,
                   const double* row_high, const int* starts, const int* indices, const double* values,
                   const int* integer);

  void* (*create)();
  void (*destroy)(void*);
  int (*size_of_int)(const void*);
  int (*set_switch)(void*, const char*, int);
  int (*set_count)(void*, const char*, int);
  int (*set_number)(void*, const char*, double);
  Pass* pass;
  int (*start)(void*, const double*, const double*, const double*, const double*);
  int (*run)(void*);
  int (*status)(const void*);
  int (*count)(const void*, const char*, int*);
  int (*number)(const void*, const char*, double*);
  int (*solution)(const void*, double*, double*, double*, double*);
};

// Of what it returns and asks for.
constexpr int ok = 0, warning = 1;
constexpr int by_rows = 2, minimize = 1;
constexpr int optimal = 7, infeasible = 8;
constexpr int feasible = 2;

class Highs : public LinearSolver {
 public:
  explicit Highs(const std::string& file)
      : f_(SolverLibrary("HiGHS", file,
                         "install its library libhighs.so.1, or take the other solver: --solver cbc")) {}

  std::string name() const override { return "HiGHS"; }

  LinearSolution solve(const LinearModel& model, double seconds,
                       std::span<const double> start) const override {
    const Handle highs = load(model, seconds, true);
    if (!start.empty()) f_.start(highs.get(), start.data(), nullptr, nullptr, nullptr);
    if (!ran(highs)) return {.bound = -std::numeric_limits<double>::infinity(), .values = {}};
    LinearSolution solution;
    const int status = f_.status(highs.get());
    solution.proven = status == optimal || status == infeasible;
    f_.number(highs.get(), "mip_dual_bound", &solution.bound);
    solution.values = values_of(highs, model);
    for (std::size_t v = 0; v < solution.values.size(); ++v)
      if (model.variables[v].integer) solution.values[v] = std::round(solution.values[v]);
    return solution;
  }

  std::vector<double> relax(const LinearModel& model, double seconds) const override {
    const Handle highs = load(model, seconds, false);
    if (!ran(highs) || f_.status(highs.get()) != optimal) return {};
    return values_of(highs, model);
  }

 private:
  struct Close {
    const Functions* f;
    void operator()(void* highs) const { f->destroy(highs); }
  };
  using Handle = std::unique_ptr<void, Close>;

  Handle load(const LinearModel& model, double seconds, bool integers) const {
    Handle highs(f_.create(), Close{&f_});
    if (f_.size_of_int(highs.get()) != sizeof(int))
      fail(Fault::System, "E0903", {}, "the solver HiGHS counts in other integers than C's int",
           "install a library of it with integers of four bytes, or take the other solver: --solver cbc");
    f_.set_switch(highs.get(), "output_flag", 0);
    f_.set_count(highs.get(), "threads", 1);
    f_.set_number(highs.get(), "time_limit", std::max(seconds, 0.01));
    f_.set_number(highs.get(), "mip_rel_gap", 0);
    std::vector<double> cost, low, high, row_low, row_high, factors;
    std::vector<int> integer, starts, indices;
    for (const LinearModel::Variable& v : model.variables) {
      cost.push_back(v.cost);
      low.push_back(v.low);
      high.push_back(v.high);
      integer.push_back(integers && v.integer);
    }
    for (const LinearModel::Row& row : model.rows) {
      starts.push_back(static_cast<int>(indices.size()));
      row_low.push_back(row.low);
      row_high.push_back(row.high);
      for (const LinearModel::Term& term : row.terms) {
        indices.push_back(term.variable);
        factors.push_back(term.factor);
      }
    }
    const int taken = f_.pass(highs.get(), static_cast<int>(cost.size()), static_cast<int>(row_low.size()),
                              static_cast<int>(indices.size()), by_rows, minimize, 0, cost.data(), low.data(),
                              high.data(), row_low.data(), row_high.data(), starts.data(), indices.data(),
                              factors.data(), integer.data());
    ensure(taken == ok || taken == warning, "HiGHS takes the linear program");
    return highs;
  }

  bool ran(const Handle& highs) const {
    const int result = f_.run(highs.get());
    return result == ok || result == warning;
  }

  /// None if it has found none.
  std::vector<double> values_of(const Handle& highs, const LinearModel& model) const {
    int found = 0;
    f_.count(highs.get(), "primal_solution_status", &found);
    if (found != feasible) return {};
    std::vector<double> values(model.variables.size());
    f_.solution(highs.get(), values.data(), nullptr, nullptr, nullptr);
    return values;
  }

  Functions f_;
};

}  // namespace

std::unique_ptr<LinearSolver> open_highs(const std::string& library) {
  return std::make_unique<Highs>(library);
}

}  // namespace twill
