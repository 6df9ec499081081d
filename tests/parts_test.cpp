// Loops that are cut into parts: what a part needs of those before it is learnt in a first pass, and nothing
// in that pass may depend on what it has not learnt yet. Every program runs with every choice of clusters.
#include "driver/agree.h"
#include "driver/compile.h"
#include "fuzz/generate.h"
#include "programs.h"
#include "temporary_cache.h"

#include <gtest/gtest.h>

namespace twill {
namespace {

/// Three parts, however few points there are.
void cut_in_three(LoopTree& loops) {
  for (auto& node : loops) {
    auto* loop = std::get_if<Loop>(&node);
    if (!loop) continue;
    if (loop->cut.kind == Cut::Kind::Parts) loop->cut.count = 3;
    cut_in_three(loop->body);
  }
}

struct InParts {
  const char* name;
  const char* text;
};

const InParts programs[] = {
    {"AFilterByAMapOfAScan", R"(
      def f(x: i64[N]) -> z { y[i] = scan(+, i) x[i]
                              w[i] = 2 * y[i] + i
                              z = [ w[i] + j | i < N, j < 3, w[i] % 4 == j ] })"},
    {"RowsByAMapOfAScan", R"(
      def f(x: i64[N]) -> c { y[i] = scan(+, i) x[i]
                              w[i] = (y[i] + x[i] * x[i]) % 4
                              c = [ [ j + w[i] | j < w[i] ] | i < N ] })"},
    {"AFilterByFoldsOfAScan", R"(
      def f(x: i64[N], q: i64[M]) -> (z, s) { y[i] = scan(+, i) x[i]
                                              s[i] = max(j < 5) y[i] * q[pad(j)]
                                              z = [ s[i] + j | i < N, j < 3, s[i] % 4 == j ] })"},
    {"AFilterByAMapOfARunningValue", R"(
      def f(x: i64[N]) -> z {
        stage y(i < N) {
          out r: i64 = scan(+, i) x[i]
          out y: i64[N] at [i] = cat(i) r * 2 + i
        }
        stage z(i < N, j < 3) {
          out z: i64[born L] = append(i) append(j) y[i] + j where y[i] % 4 == j
        }
      })"},
    {"RowsByARunningValue", R"(
      def f(x: i64[N, M]) -> (o, y) {
        stage s(i < N, j < M) {
          out r: i64 = scan(+, i) scan(+, j) x[i, j]
          out y: i64[born L] offsets o: i64[N + 1] = cat(i) append(j) r where r % 2 == 0
        }
      })"},
    {"AFilterByTheGreatestOfRunningValues", R"(
      def f(x: i64[N, M]) -> z {
        stage s(i < N, j < M) {
          out r: i64 = scan(+, i) scan(+, j) x[i, j]
          out y: i64[N, M] at [i, j] = cat(i) cat(j) r % 100
        }
        m[i] = max(j) y[i, j]
        z = [ y[i, j] - m[i] | i < N, j < M, y[i, j] > m[i] % 50 ]
      })"},
    {"AScanOfANewVersionByARunningValue", R"(
      def f(x: i64[N]) -> (y, z) {
        stage s(i < N) {
          out r: i64 = scan(+, i) x[i]
          out y: i64[N] at [i] into x = cat(i) r where r % 2 == 0
        }
        stage t(i < N) {
          out q: i64 = scan(+, i) y[i]
          out z: i64[N] at [i] = cat(i) y[i] + q
        }
      })"},
    {"ARecurrenceThatARunningValueFeedsDecides", R"(
      def f(x: i64[N]) -> (y, z) {
        stage s(i < N) {
          out r: i64 = scan(+, i) x[i]
          out y: i64[N] at [i] = seq(i) (if i > 0 then y[i-1] else 0) + r
          out z: i64[born L] = append(i) r where (if i > 0 then y[i-1] else 0) % 2 == 0
        }
      })"},
    {"ValuesOfRunningValuesAreNotComputedElsewhere", R"(
      def f(x: i64[N]) -> z {
        stage y(i < N) {
          out r: i64 = scan(+, i) x[i]
          out y: i64[N] at [i] = cat(i) r * r % 1001
        }
        z[i] = y[clamp(i - 1)] + y[i] + x[i]
      })"},
    {"AChainOfRunningValuesAndWhatTheyLetPass", R"(
      def f(x: i64[N]) -> (z, t) {
        stage s(i < N) {
          out r: i64 = scan(+, i) x[i]
          out y: i64[N] at [i] = cat(i) r * 3
        }
        stage u(i < N) {
          out q: i64 = scan(+, i) y[i]
          out v: i64[N] at [i] = cat(i) y[i] + q
        }
        z = [ v[i] + y[i] | i < N, v[i] % 2 == 0 ]
        t = sum(i) v[i] * y[i]
      })"},
    {"ARunningValueDecidesWhatIsKeptAndWhatIsSummed", R"(
      def f(x: i64[N]) -> (z, s) { p = [ v % 9 * k | v in x, k < v % 4 ]
                                   a[k] = scan(+, k) p[k]
                                   z = [ v - 1 | v in a, v % 3 == 0 ]
                                   b[k] = scan(max, k) z[k] * (k % 5)
                                   s = sum(k) b[k] })"},
    {"PositionsBehindWhatRunsFromTheRight", R"(
      def f(x: i64[N]) -> (y, s) {
        stage s(i < N) {
          out s: i64[N] at [i] = scan_right(+, i) x[i]
          out p: i64[born L] = append(i) x[i] where x[i] % 3 == 1
        }
        y[k] = p[k] * 100 + k
      })"},
};

class Parts : public testing::TestWithParam<InParts> {};

}  // namespace

TEST_P(Parts, AgreeWithTheInterpreter) {
  const TemporaryCache cache;
  const auto program = program_of(GetParam().text);
  Rng rng(3);
  for (const Clusters clusters : {Clusters::None, Clusters::Greedy, Clusters::BottomUp, Clusters::Optimal}) {
    Options options;
    options.clusters = clusters;
    options.compiler.cache = cache.path();
    options.stop_after = "elaborate";
    options.plan = compile(program, two_cores(), options).plan;
    for (BlockPlan& block : options.plan->blocks)
      for (Cluster& cluster : block.clusters) {
        cluster.grain = 0;
        cut_in_three(cluster.loops);
      }
    options.stop_after = {};
    const Kernel kernel = *compile(program, two_cores(), options).kernel;
    for (int k = 0; k < 6; ++k) {
      const std::vector<Data> inputs = random_inputs(*program, rng);
      EXPECT_EQ(agreement(*program, reference_of(*program, inputs), kernel.run(inputs)).difference, "");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Parts, testing::ValuesIn(programs),
                         [](const testing::TestParamInfo<InParts>& one) { return one.param.name; });

}  // namespace twill
