// Solvers agree: graphs that are too large for a search through all partitions have the same optima whoever
// solves them, GLPK by way of the text that models are dumped as.
#include "base/error.h"
#include "base/files.h"
#include "cluster/optimal.h"
#include "random_graph.h"

#include <fmt/format.h>
#include <glpk.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <limits>

using namespace twill;

namespace {

class Glpk : public LinearSolver {
 public:
  std::string name() const override { return "GLPK"; }

  LinearSolution solve(const LinearModel& model, double seconds, std::span<const double>) const override {
    const Problem problem = load(model);
    glp_iocp how;
    glp_init_iocp(&how);
    how.msg_lev = GLP_MSG_OFF;
    how.presolve = GLP_ON;
    how.tm_lim = static_cast<int>(1e3 * seconds);
    LinearSolution solution;
    solution.bound = -std::numeric_limits<double>::infinity();
    solution.proven = glp_intopt(problem.get(), &how) == 0;
    const int status = glp_mip_status(problem.get());
    if (status != GLP_OPT && status != GLP_FEAS) return solution;
    for (const LinearModel::Variable& v : model.variables) {
      const int column = glp_find_col(problem.get(), v.name.c_str());
      const double value = column == 0 ? v.low : glp_mip_col_val(problem.get(), column);
      solution.values.push_back(v.integer ? std::round(value) : value);
    }
    if (solution.proven) solution.bound = model.cost_of(solution.values);
    return solution;
  }

  /// Nothing is cut off before it starts.
  std::vector<double> relax(const LinearModel&, double) const override { return {}; }

 private:
  struct Close {
    void operator()(glp_prob* problem) const { glp_delete_prob(problem); }
  };
  using Problem = std::unique_ptr<glp_prob, Close>;

  static Problem load(const LinearModel& model) {
    glp_term_out(GLP_OFF);
    const std::filesystem::path file =
        std::filesystem::temp_directory_path() / fmt::format("twill_solver_test_{}.lp", getpid());
    write_file(file, to_lp(model));
    Problem problem(glp_create_prob());
    EXPECT_EQ(glp_read_lp(problem.get(), nullptr, file.c_str()), 0) << to_lp(model);
    std::filesystem::remove(file);
    glp_create_index(problem.get());
    return problem;
  }
};

/// Graphs of 12 to 24 nodes.
int agree(int graphs, const std::function<std::unique_ptr<LinearSolver>()>& other) {
  std::mt19937 rng(7);
  int solved = 0;
  while (graphs > 0) {
    std::optional<FusionGraph> graph;
    try {
      graph.emplace(random_graph(rng, 12 + static_cast<int>(rng() % 13)));
    } catch (const Error&) {
      continue;  // a scatter changes what is read later
    }
    --graphs;
    const GraphFacts facts(*graph);
    for (const GraphCost cost : graph_costs) {
      const Optimum one = optimal_partition(facts, cost, {.seconds = 60});
      const Optimum two = optimal_partition(facts, cost, {.seconds = 60, .open = other});
      EXPECT_TRUE(one.proven() && two.proven()) << text_of(*graph);
      EXPECT_EQ(why_invalid(*graph, two.partition), std::nullopt);
      EXPECT_EQ(one.cost, two.cost) << "cost " << letter_of(cost) << text_of(*graph);
      solved += two.solved;
    }
  }
  return solved;
}

TEST(Solver, GlpkAgreesWithCbc) {
  EXPECT_GT(agree(40, [] { return std::make_unique<Glpk>(); }), 60);
}

TEST(Solver, HighsAgreesWithCbc) {
  try {
    open_highs();
  } catch (const Error&) {
    GTEST_SKIP() << "HiGHS is not installed";
  }
  EXPECT_GT(agree(40, [] { return open_highs(); }), 60);
}

template <class Open>
std::string error_of(const Open& open) {
  try {
    open("libNobody.so.3");
  } catch (const Error& error) {
    return error.what();
  }
  return "it was opened";
}

TEST(Solver, ThatIsNotThereIsNamed) {
  EXPECT_EQ(error_of(open_cbc),
            "failed[E0903]: the solver CBC cannot be opened: libNobody.so.3: cannot open shared object file: "
            "No such file or directory\n"
            "  help: install Debian's package coinor-libcbc3, or choose clusters without a solver: --cluster "
            "greedy\n");
  EXPECT_EQ(
      error_of(open_highs),
      "failed[E0903]: the solver HiGHS cannot be opened: libNobody.so.3: cannot open shared object file: "
      "No such file or directory\n"
      "  help: install its library libhighs.so.1, or take the other solver: --solver cbc\n");
}

}  // namespace
