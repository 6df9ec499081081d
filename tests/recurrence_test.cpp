// Recurrences whose blocks read what the recurrence has computed so far: what they mean, what is refused, how
// they are printed, and how their plans run them.
#include "base/error.h"
#include "fuzz/fuzz.h"
#include "fuzz/random_plan.h"
#include "import/twill.h"
#include "plan/default_plan.h"
#include "plan/elaborate.h"
#include "program/interpret.h"
#include "program/text.h"

#include "api_testing.h"
#include "programs.h"

#include <gtest/gtest.h>

namespace twill {
namespace {

const char* const solve = R"(def solve(l: f64[N, N], b: f64[N]) -> x {
  x[i] = seq(i) (b[i] - sum(j < i) l[i, j] * x[j]) / l[i, i]
})";

/// The elements of a result of integers.
std::vector<std::int64_t> integers(const Data& data) {
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < data.count(); ++i) values.push_back(data.get(i).as_int());
  return values;
}

Data integers(std::vector<std::int64_t> shape, const std::vector<std::int64_t>& values) {
  std::vector<Number> numbers;
  for (const std::int64_t value : values) numbers.push_back(Number::of(Scalar::I64, value));
  return Data::of(Scalar::I64, std::move(shape), numbers);
}

/// The code and the message of the first error, behind its column.
std::string error_in(const std::string& text) {
  try {
    parse_program("test.twill", text);
  } catch (const Error& error) {
    const Diagnostic& first = error.diagnostics().front();
    return std::to_string(first.place.column) + " " + first.code +
           (first.fault == Fault::Limit ? " limit " : " ") + first.message + " (" + first.help + ")";
  }
  return "no error";
}

// ---- meaning
// ------------------------------------------------------------------------------------------------

struct Meaning {
  const char* name;
  const char* text;
  std::vector<Data> inputs;
  std::vector<std::int64_t> result;
};

void PrintTo(const Meaning& meaning, std::ostream* out) { *out << meaning.name; }

const Meaning meanings[] = {
    {"AFoldInALargerExpression",
     "def f(b: i64[N]) -> x { x[i] = seq(i) b[i] + 2 * sum(j < i) x[j] }",
     {integers({4}, {1, 2, 3, 4})},
     {1, 4, 13, 40}},
    {"NoPoints",
     "def f(b: i64[N]) -> x { x[i] = seq(i) b[i] + 2 * sum(j < i) x[j] }",
     {integers({0}, {})},
     {}},
    {"TheRangeOfAWholeEarlierRow",
     "def f(b: i64[N, M]) -> x { x[i, j] = seq(i) b[i, j] - sum(s < i) sum(k) x[s, k] }",
     {integers({3, 2}, {1, 2, 3, 4, 5, 6})},
     {1, 2, 0, 1, 1, 2}},
    {"AnIndependentIndexBeforeTheRecurrence",
     "def f(b: i64[M, N]) -> x { x[m, i] = seq(i) b[m, i] + 2 * sum(j < i) x[m, j] }",
     {integers({2, 3}, {1, 2, 3, 3, 2, 1})},
     {1, 4, 13, 3, 8, 23}},
    {"TwoSequencesThatFoldEachOther",
     R"(def f(b: i64[N]) -> z {
        (x[i], y[i]) = seq(i) (b[i] + sum(j < i) y[j], b[i] * (1 + sum(j < i) x[j]))
        z[i] = 100 * x[i] + y[i]
      })",
     {integers({3}, {1, 2, 3})},
     {101, 304, 815}},
    {"BothIndicesInOrder",
     R"(def f(a: i64[N, N]) -> x {
        x[i, j] = seq(i, j) a[i, j] + (sum(k < j) x[i, k]) - sum(k < i) x[k, j]
      })",
     {integers({2, 2}, {1, 2, 3, 4})},
     {1, 3, 2, 3}},
    {"AFoldInAFold",
     "def f(b: i64[N]) -> x { x[i] = seq(i) b[i] + sum(j < i) x[j] * (1 + sum(k < j) x[k]) }",
     {integers({3}, {1, 1, 1})},
     {1, 2, 6}},
    {"AChoiceWithAFoldInOneBranch",
     R"(def f(b: i64[N]) -> x {
        x[i] = seq(i) if i == 0 then b[i] else if any(j < i) x[j] == 4 then x[i-1] + (sum(j < i) x[j]) else b[i]
      })",
     {integers({4}, {1, 4, 3, 5})},
     {1, 4, 9, 23}},
    {"ANewVersionIsReadBeforeItIsWritten",
     "def f(b: i64[N]) -> x { x[i < N] into b = seq(i) (max(j < i) x[j]) + 1 where i > 1 }",
     {integers({4}, {5, 1, 7, 9})},
     {5, 1, 6, 7}},
    {"InsideOfATimeLoop",
     R"(def f(b: i64[N], n: i64) -> u {
        u = seq t < n from b { u[i] = seq(i) u_now[i] + (sum(j < i) u_next[j]) % 7 }
      })",
     {integers({3}, {1, 2, 3}), integers({}, {2})},
     {1, 4, 12}},
    {"ASubscriptThatIsDataAndWasTested",
     R"(def f(p: i64[N], b: i64[N]) -> x {
        x[i] = seq(i) b[i] + sum(j < i, 0 <= p[j] < i) x[p[j]]
      })",
     {integers({4}, {0, 0, 7, 1}), integers({4}, {1, 2, 3, 4})},
     {1, 3, 5, 6}},
    {"ALoopThatCarriesAStateAndKeepsItsSteps",
     R"(def f(b: i64[N], z: i64[T, N], n: i64) -> r {
        stage loop(t < T) {
          block {
            carry now: i64[N] from b next later
            later[i] = 2 * now[i]
            row[i] = now[i] + 1
            more[i] = now[i] + 2
            past = sum(s < t) h[s, pad(0)] * g[s]
          }
          out u: i64[N] = last(t) later
          out h: i64[T, N] at [t] into z = seq(t) row where t < n
          out g: i64[T] at [t] = seq(t) past + more[pad(0)]
          print("at", t, more[pad(0)]) where t % 2 == 0
        }
        r[t] = 100 * g[t] + h[t, pad(0)] + (sum(i) u[i])
      })",
     {integers({2}, {1, 2}), integers({3, 2}, {9, 9, 8, 8, 7, 7}), integers({}, {2})},
     {326, 1027, 4231}},
    {"ACollectionOfWhatTheRecurrenceReaches",
     R"(def f(b: i64[N]) -> r {
        stage x(i < N) {
          block { most = max(j < i) x[j] }
          out x: i64[N] at [i] into b = seq(i) b[i] + (if i > 0 then x[i-1] else 0)
          out c: i64[born L] = append(i) 100 * most + i where most > 2
        }
        r[k] = c[k] + x[clamp(k)]
      })",
     {integers({4}, {1, 2, 3, 4})},
     {303, 606}},
    {"TheGeneralStage",
     R"(def f(b: i64[N, 2]) -> x {
        stage x(i < N) {
          block { row[k < 2] = b[i, k] + sum(j < i) x[j, 1 - k] }
          out x: i64[N, 2] at [i] = seq(i) row
        }
      })",
     {integers({3, 2}, {1, 2, 3, 4, 5, 6})},
     {1, 2, 5, 5, 12, 12}},
};

class Recurrence : public testing::TestWithParam<Meaning> {};

TEST_P(Recurrence, Interpreted) {
  const Meaning& meaning = GetParam();
  const auto program = program_of(meaning.text);
  EXPECT_EQ(integers(interpret(*program, meaning.inputs).results[0]), meaning.result);
}

TEST_P(Recurrence, CompiledUnderManyPlans) {
  FuzzCase one;
  one.simplify = false;
  one.program = program_of(GetParam().text);
  JudgeOptions options;
  options.machine = detect_machine();
  options.compiler_flags = {"-O1"};
  Rng rng(1);
  one.inputs.push_back(GetParam().inputs);
  for (int k = 0; k < 3; ++k) one.inputs.push_back(random_inputs(*one.program, rng));
  one.plans.push_back(default_plan(*one.program, options.machine).plan);
  for (int k = 0; k < 3; ++k) one.plans.push_back(random_plan(one.program, options.machine, rng));
  const Verdict verdict = judge_isolated(one, options);
  EXPECT_EQ(verdict.kind, "") << verdict.detail;
}

TEST_P(Recurrence, PrintedAndReadAgain) {
  const auto program = program_of(GetParam().text);
  const std::string text = print(*program);
  EXPECT_TRUE(same(*program, parse_program("printed", text))) << text;
}

INSTANTIATE_TEST_SUITE_P(All, Recurrence, testing::ValuesIn(meanings),
                         [](const testing::TestParamInfo<Meaning>& one) { return one.param.name; });

TEST(RecurrenceText, IsPrintedAsAStageWithABlock) {
  EXPECT_EQ(print(*program_of(solve)), R"(def solve(l: f64[N, N], b: f64[N]) -> x {
  stage x(i < N) {
    block {
      x_sum = sum(j < i) l[i, j] * x[j]
      x_at = (b[i] - x_sum) / l[i, i]
    }
    out x: f64[N] at [i] = seq(i) x_at
  }
}
)");
}

TEST(RecurrenceApi, BuildsTheSame) {
  Def f("solve");
  auto [N] = f.sizes("N");
  auto l = f.input("l", f64, {N, N});
  auto b = f.input("b", f64, {N});
  auto x = f.array("x");
  Index i("i"), j("j");
  x(i) = seq(i, (b(i) - sum(j < i, l(i, j) * x(j))) / l(i, i));
  f.result(x);
  expect_same(f.program(), solve);
}

// ---- mistakes
// -----------------------------------------------------------------------------------------------

TEST(RecurrenceErrors, AFoldThatReachesThePointItself) {
  EXPECT_EQ(
      error_in("def f(l: f64[N, N], b: f64[N]) -> x { x[i] = seq(i) b[i] - sum(j <= i) l[i, j] * x[j] }"),
      "82 E0315 in stage 'x_sum': x[j] is no earlier result: i = 0, j = 0 reads what i = 0 writes (a seq "
      "stage "
      "may read what earlier steps of its seq dimensions wrote)");
}

TEST(RecurrenceErrors, AFoldAlongAnIndependentIndex) {
  EXPECT_EQ(
      error_in("def f(b: f64[N, M]) -> x { x[i, j] = seq(i) b[i, j] - sum(k < j) x[i, k] }"),
      "66 E0315 in stage 'x_sum': x[i, k] is no earlier result: i = 0, j = 1, k = 0 reads what i = 0, j = 0 "
      "writes (a seq stage may read what earlier steps of its seq dimensions wrote)");
}

TEST(RecurrenceErrors, ASubscriptThatIsData) {
  EXPECT_EQ(error_in("def f(p: i32[N], b: f64[N]) -> x { x[i] = seq(i) b[i] - sum(j < i) x[p[j]] }"),
            "68 E0330 limit in stage 'x_sum': cannot prove that x[p[j]] was written by an earlier step: that "
            "depends "
            "on data (read it under a condition that says so (if … < … then …))");
}

TEST(RecurrenceErrors, AStageThatIsNotInOrderDoesNotReadItself) {
  EXPECT_EQ(
      error_in(R"(def f(b: f64[N]) -> x {
    stage x(i < N) {
      block { y = b[i] + sum(j < i) x[j] }
      out x: f64[N] at [i] = cat(i) y
    }
  })"),
      "37 E0201 'x' is defined by itself (compute its elements in order: x[i] = seq(i) ..., or repeat with "
      "seq t < T from ...)");
}

TEST(RecurrenceErrors, AFoldInAnOutputOfAGeneralStage) {
  EXPECT_EQ(
      error_in(R"(def f(b: f64[N]) -> x {
    stage x(i < N) { out x: f64[N] at [i] = seq(i) b[i] + sum(j < i) x[j] }
  })"),
      "59 E0252 limit a fold that depends on an index or on a condition is not supported here (name it in "
      "a statement of its own)");
}

// ---- plans
// --------------------------------------------------------------------------------------------------

/// The loops of every stage, by name: "x: seq i; x_sum: core parts j / simd j".
std::string default_loops(const std::string& text) {
  const auto program = program_of(text);
  std::string all;
  for (const BlockPlan& block : default_plan(*program, two_cores()).plan.blocks)
    for (const Cluster& cluster : block.clusters) {
      const std::string& name = cluster.instances.front().name();
      all += (all.empty() ? "" : "; ") + name + ":";
      for_each_stage(program->stages, [&](const Stage& stage) {
        if (stage.name != name) return;
        const LoopTree* tree = &cluster.loops;
        while (const Loop* loop = std::get_if<Loop>(&tree->front())) {
          all += std::string(" ") + std::string(name_of(loop->by)) +
                 (loop->cut.kind == Cut::Kind::Parts ? " parts " : " ") +
                 stage.dims[static_cast<std::size_t>(loop->axes.front().dim)].name;
          tree = &loop->body;
        }
      });
    }
  return all;
}

TEST(RecurrencePlan, RunsInOrderAndParallelInside) {
  EXPECT_EQ(default_loops(solve), "x: seq i; x_sum: core parts j simd j; x_at:");
}

TEST(RecurrencePlan, IndependentIndicesAreParallelInsideOrOutside) {
  EXPECT_EQ(default_loops("def f(b: i64[N, M]) -> x { x[i, m] = seq(i) b[i, m] + 2 * sum(j < i) x[j, m] }"),
            "x: seq i core m; x_sum: simd j; x_at:");
  EXPECT_EQ(default_loops("def f(b: i64[M, N]) -> x { x[m, i] = seq(i) b[m, i] + 2 * sum(j < i) x[m, j] }"),
            "x: core m seq i; x_sum: simd j; x_at:");
}

TEST(RecurrencePlan, TheOrderIsKept) {
  const auto program = program_of(solve);
  Plan plan = default_plan(*program, two_cores()).plan;
  std::get<Loop>(plan.blocks.front().clusters.front().loops.front()).by = By::Core;
  const auto result = elaborate(program, two_cores(), plan);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.why().text, "'i' is a seq dimension of 'x' and is only parallel when cut into parts");
}

}  // namespace
}  // namespace twill
