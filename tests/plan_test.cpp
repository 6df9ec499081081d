// Plans: their JSON form, what makes one illegal, and what the default plan decides.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "driver/agree.h"
#include "driver/compile.h"
#include "driver/fusion_report.h"
#include "emit/nest.h"
#include "plan/default_plan.h"
#include "plan/elaborate.h"
#include "plan/legality.h"
#include "program/text.h"
#include "programs.h"

namespace twill {
namespace {

/// "core i / seq step 1024 j / seq k / simd j"
std::string loops_text(const Program& program, const Cluster& cluster) {
  const Stage* stage = nullptr;
  for_each_stage(program.stages, [&](const Stage& s) {
    if (s.name == cluster.instances.front().name()) stage = &s;
  });
  std::string text;
  const std::vector<ChainLevel> levels = loops_of(cluster)->chains.front();
  for (const ChainLevel& level : levels) {
    if (!text.empty()) text += " / ";
    text += name_of(level.by);
    if (level.cut.kind == Cut::Kind::Parts)
      text += " parts";
    else if (level.cut.count > 1)
      text += " step " + std::to_string(level.cut.count);
    text += " " + stage->dims[level.dim].name;
  }
  return text;
}

std::string default_loops(const std::string& text) {
  const auto program = program_of(text);
  const Planned planned = default_plan(*program, two_cores());
  std::string all;
  for (const BlockPlan& block : planned.plan.blocks) {
    for (const Cluster& cluster : block.clusters)
      all += (all.empty() ? "" : "; ") + loops_text(*program, cluster);
  }
  return all;
}

/// The default plan's only cluster, changed, and the reason why it is illegal then.
std::string refusal(const std::string& text, const std::function<void(Cluster&)>& change) {
  const auto program = program_of(text);
  Plan plan = default_plan(*program, two_cores()).plan;
  change(plan.blocks.front().clusters.front());
  const auto result = elaborate(program, two_cores(), plan);
  return result ? "legal" : result.why().code + ": " + result.why().text;
}

Loop loop(int dim, Cut cut, By by, LoopTree body) { return {{{0, dim}}, cut, by, std::move(body)}; }

const char* const matmul =
    "def matmul(a: f32[I, K], b: f32[K, J]) -> c { c[i, j] = sum(k) a[i, k] * b[k, j] }";
const char* const dot = "def dot(a: f32[N], b: f32[N]) -> s { s = sum(i) a[i] * b[i] }";
const char* const scan = "def running(x: f32[N]) -> c { c[i] = scan(+, i) x[i] }";

TEST(Plan, RoundTripsThroughJson) {
  const auto program = program_of(matmul);
  const Plan plan = default_plan(*program, two_cores()).plan;
  EXPECT_EQ(plan_from_json(to_json(plan)), plan);
}

TEST(Plan, TextThatIsNoPlanIsRefused) {
  const auto refused = [](const std::string& text) -> std::string {
    try {
      plan_from_json(text);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  const auto because = [](const std::string& why) {
    return "error[E0401]: this is not a plan: " + why +
           "\n  help: plans are written by `twill show --as plan`\n";
  };
  const std::string head = R"({"program": "p", "machine": "m", "blocks": )";
  const auto loop = [&](const std::string& step, const std::string& by) {
    return head +
           R"([{"owner": "", "branch": 0, "clusters": [{"instances": [], "loops": [{"axes": [], "step": )" +
           step + R"(, "by": )" + by + R"(, "body": []}], "stores": [], "merges": [], "grain": 0}]}]})";
  };
  EXPECT_EQ(refused(loop("1", R"("magic")")), because("'magic' is no way to run a loop"));
  EXPECT_EQ(refused(loop("1", "2")), because("'by' must be a string"));
  EXPECT_EQ(refused(loop("1.5", R"("seq")")), because("'step' must be an integer"));
  EXPECT_EQ(refused(loop("18446744073709551615", R"("seq")")), because("'step' must be an integer"));
  EXPECT_EQ(refused("[1]"), because("'program' is looked for in something that is no object"));
  EXPECT_EQ(refused(R"({"program": "p"})"), because("the key 'machine' is missing"));
  EXPECT_EQ(refused(head + "1}"), because("'blocks' must be a list"));
  EXPECT_EQ(refused("{\n\"program\": }"), because("it is no JSON from line 2 on"));
}

TEST(DefaultPlan, OrdersLoopsForContiguousAccess) {
  EXPECT_EQ(default_loops("def s(a: f32[I, J]) -> c { c[j] = sum(i) a[i, j] }"),
            "core parts j / seq step 1024 j / seq i / simd j");
  EXPECT_EQ(default_loops("def s(a: f32[I, K]) -> y { y[i] = sum(k) a[i, k] }"), "core i / simd k");
  EXPECT_EQ(default_loops("def t(a: f32[N, M]) -> b { b[j, i] = a[i, j] }"), "core j / simd i");
}

TEST(DefaultPlan, LanesRunAlongWhatIsStored) {
  // Tables of few values are read all over the place, whichever way the lanes go.
  EXPECT_EQ(default_loops("def f(g: i32[H, W], t: f32[T]) -> r { r[k < 8, y, x] = "
                          "t[clamp(g[y, x] - 256 * k)] + t[clamp(g[y, clamp(x + 1)] - k)] + f32(k) }"),
            "core k / seq y / simd x");
  EXPECT_EQ(default_loops("def f(g: i32[H, W], q: i32[H, W], t: f32[T], s: f32[T]) -> r { r[k < 8, y, x] = "
                          "t[clamp(g[y, x])] + s[clamp(g[y, x])] + t[clamp(q[y, x])] + s[clamp(q[y, x])] }"),
            "core k / seq y / simd x");
  // Every second element of a row is no jump.
  EXPECT_EQ(default_loops("def f(a: f32[I, K]) -> y { y[i < I] = sum(k < K / 2) (a[i, 2 * k] + "
                          "a[i, 2 * k + 1]) }"),
            "core i / simd k");
  // What is folded is not stored in the loop: there, reads have the say.
  EXPECT_EQ(default_loops("def f(a: f32[I, K], p: i64[I, K], x: f32[N]) -> y "
                          "{ y[i] = sum(k) a[i, k] * x[clamp(p[i, k])] }"),
            "core i / simd k");
}

TEST(DefaultPlan, HoldsTilesInRegistersWherePointsShareWhatTheyRead) {
  // What the lanes read is the same for all rows.
  EXPECT_EQ(default_loops(matmul), "core parts j / seq step 32 j / seq step 4 i / seq k / simd j / unroll i");
  EXPECT_EQ(default_loops("def f(a: f64[B, I, K], b: f64[B, K, J]) -> c "
                          "{ c[b, i, j] = sum(k) a[b, i, k] * b[b, k, j] }"),
            "core b / seq step 16 j / seq step 4 i / seq k / simd j / unroll i");
  // A window slides over rows: steps of it share them.
  EXPECT_EQ(default_loops("def conv(x: f32[H, W], f: f32[R, S]) -> y "
                          "{ y[p < H - R + 1, q < W - S + 1] = sum(r, s) x[p + r, q + s] * f[r, s] }"),
            "core step 4 p / seq step 32 q / seq step 5 r / seq s / simd q / unroll p / unroll r");
  // Lanes along the sum: rows share the vector, columns share the row.
  EXPECT_EQ(default_loops("def mv(a: f32[I, K], x: f32[K]) -> y { y[i] = sum(k) a[i, k] * x[k] }"),
            "core step 4 i / simd k / unroll i");
  EXPECT_EQ(default_loops("def f(a: f32[I, K], b: f32[J, K]) -> c { c[i, j] = sum(k) a[i, k] * b[j, k] }"),
            "core step 4 j / seq step 4 i / simd k / unroll j / unroll i");
}

TEST(DefaultPlan, CutsIntoPartsWhereNothingIsIndependent) {
  EXPECT_EQ(default_loops(dot), "core parts i / simd i");
  EXPECT_EQ(default_loops(scan), "core parts i / seq i");
  EXPECT_EQ(default_loops("def h(x: u8[N]) -> h: i64[256] { h = scatter(+) { x[i] <- 1 | i } }"),
            "core parts i / seq i");
  EXPECT_EQ(default_loops("def f(x: i32[N]) -> y { y = [ v | v in x, v > 0 ] }"), "core parts v / seq v");
}

TEST(DefaultPlan, WritesOutSmallFolds) {
  EXPECT_EQ(
      default_loops(
          "def blur(x: f32[H, W], w: f32[5]) -> y { y[y, x] = sum(k < 5) w[k] * x[y, clamp(x + k - 2)] }"),
      "core y / simd x / unroll k");
}

TEST(DefaultPlan, RunsThroughNeighboursInBlocks) {
  EXPECT_EQ(default_loops(
                "def v(u: f32[H, W]) -> v { v[y, x] into u = u[y-1, x] + u[y+1, x] where 0 < y < H - 1 }"),
            "core parts y / seq step 16 y / seq step 512 x / seq step 4 y / simd x / unroll y");
  EXPECT_EQ(
      default_loops("def v(u: f32[D, H, W]) -> v { v[z, y, x] = sum(k < 3) u[clamp(z + k - 1), y, x] }"),
      "core parts z / seq step 16 z / seq step 4 y / seq z / seq y / simd x / unroll k");
  // Planes of colours are few, and their rows are shared by the cores.
  EXPECT_EQ(default_loops("def v(u: f32[3, H, W]) -> v { v[c, y, x] = u[c, clamp(y-1), x] + u[c, y, x] }"),
            "core parts y / seq c / seq step 16 y / seq step 512 x / seq step 4 y / simd x / unroll y");
  // Neighbours in a row are no reason.
  EXPECT_EQ(default_loops("def v(u: f32[H, W]) -> v { v[y, x] = u[y, x] + u[y, clamp(x+1)] }"),
            "core y / simd x");
}

TEST(DefaultPlan, RunsRecurrencesInOrder) {
  EXPECT_EQ(
      default_loops("def s(b: f32[N]) -> x { x[i] = seq(i) 0.5 * (b[i] + (if i > 0 then x[i-1] else 0)) }"),
      "seq i");
}

TEST(DefaultPlan, SaysWhatItGaveUp) {
  const auto program = program_of(std::string("strict ") + dot);
  const Planned planned = default_plan(*program, two_cores());
  ASSERT_FALSE(planned.reasons.empty());
  EXPECT_EQ(planned.reasons.front().code, "not-associative");
  EXPECT_EQ(planned.reasons.front().text,
            "no several cores: the parts of 's' cannot be combined: the program is strict about the order of "
            "float operations");
}

TEST(DefaultPlan, CutsApartWhatHasNoLoopsTogether) {
  const auto program = program_of(
      "op circle(a: i64, b: i64) -> i64 associative { a + b + a * b }\n"
      "def f(x: i64[N, M]) -> (t, v) {\n"
      "stage t(i < N, j < M) { out t: i64[M] at [j] = fold(circle, i) cat(j) x[i, j] }\n"
      "stage v(i < N, j < M) { out v: i64[N] at [i] = cat(i) fold(circle, j) x[i, j] } }");
  const Compilation compilation = compile(program, two_cores());
  EXPECT_EQ(compilation.schedule->passes, 2);
  EXPECT_THAT(
      fusion_report(compilation),
      testing::AllOf(
          testing::HasSubstr("\napart, and why\n  t | v  no order of loops computes both 't' and 'v': 't' "
                             "cannot accumulate in memory: its operator has no identity (order)\n"),
          testing::Not(testing::HasSubstr("fused or removed"))));
  std::vector<Data> inputs;
  inputs.push_back(random_data(Scalar::I64, {5, 4}, 1));
  EXPECT_EQ(agreement(*program, reference_of(*program, inputs), compilation.kernel->run(inputs)).difference,
            "");
}

TEST(Legality, RefusesWithAReason) {
  EXPECT_EQ(refusal(matmul,
                    [](Cluster& c) { c.loops = {loop(0, {}, By::Core, {loop(1, {}, By::Seq, {Leaf{0}})})}; }),
            "illegal-loops: no loop runs over 'k'");
  EXPECT_EQ(
      refusal(matmul,
              [](Cluster& c) {
                c.loops = {loop(2, {}, By::Core, {loop(0, {}, By::Seq, {loop(1, {}, By::Seq, {Leaf{0}})})})};
              }),
      "not-parallel: 'k' is a fold dimension of 'c' and is only parallel when cut into parts");
  EXPECT_EQ(refusal(dot, [](Cluster& c) { c.merges.clear(); }),
            "illegal-merge: 's' needs a merge by partial: it is cut into parts along a fold dimension");
  EXPECT_EQ(refusal("def f(x: f32[N]) { for i < N { print(x[i]) } }",
                    [](Cluster& c) {
                      c.merges = {{0, 0, How::Partial}};
                    }),
            "illegal-merge: a merge names an output that does not exist");
  EXPECT_EQ(refusal("def f(x: i64[N]) -> a { stage a(i < N) { out a: i64[N] at [i] = scan_right(+, i) x[i]\n"
                    "print(x[i]) } }",
                    [](Cluster& c) {
                      c.loops = {loop(0, {Cut::Kind::Parts, 2}, By::Seq, {loop(0, {}, By::Seq, {Leaf{0}})})};
                      c.merges = {{0, 0, How::TwoPass}};
                    }),
            "direction: an effect happens in it, and its parts do not run from the right as it does");
  EXPECT_EQ(refusal(scan,
                    [](Cluster& c) {
                      c.loops = {loop(0, {Cut::Kind::Step, 8}, By::Seq, {loop(0, {}, By::Seq, {Leaf{0}})})};
                      c.merges.clear();
                    }),
            "illegal-cut: the scanned dimension 'i' is not tiled");
  EXPECT_EQ(refusal("def tri(a: f32[N, N]) -> s { s[i] = sum(j <= i) a[i, j] }",
                    [](Cluster& c) { c.loops = {loop(1, {}, By::Seq, {loop(0, {}, By::Seq, {Leaf{0}})})}; }),
            "illegal-order: the bounds of 'j' depend on 'i', which must be further out");
  EXPECT_EQ(refusal("def s(b: f32[N]) -> x { x[i] = seq(i) 0.5 * (b[i] + (if i > 0 then x[i-1] else 0)) }",
                    [](Cluster& c) { c.loops = {loop(0, {}, By::Core, {Leaf{0}})}; }),
            "not-parallel: 'i' is a seq dimension of 'x' and is only parallel when cut into parts");
  EXPECT_EQ(refusal("def f(x: f32[N, M]) -> y { y = [ x[i, j] | i, j ] }",
                    [](Cluster& c) {
                      c.loops = {loop(1, {Cut::Kind::Parts, 2}, By::Seq,
                                      {loop(0, {}, By::Seq, {loop(1, {}, By::Seq, {Leaf{0}})})})};
                      c.merges = {{0, 0, How::TwoPass}};
                    }),
            "illegal-order: the points of the stage are visited in order: 'y' is appended to");
  EXPECT_EQ(refusal("def f(x: i64[N]) -> y { y[i < 3] = [ v | v in x, v > i ] }",
                    [](Cluster& c) {
                      c.merges = {{0, 0, How::Partial}};
                    }),
            "illegal-merge: 'y' has rows, whose lengths are counted before they are written");
  EXPECT_EQ(refusal("def f(x: i64[N]) -> (y, z) { stage y(i < N) {\n"
                    "out y: i64[born L] = append(i) x[i] where x[i] > 0\n"
                    "out z: i64[L] = append(i) i where x[i] > 0 } }",
                    [](Cluster& c) {
                      c.merges = {{0, 0, How::Partial}, {0, 1, How::TwoPass}};
                    }),
            "illegal-merge: 'z' has the length of 'y', and only one of them grows");
  EXPECT_EQ(refusal(matmul, [](Cluster& c) { c.instances.front().stages = {"d"}; }),
            "unknown-stage: the program has no stage 'd' here, or the plan runs it twice");
  EXPECT_EQ(refusal(matmul,
                    [](Cluster& c) {
                      c.stores = {{0, 0, Keep::Alias, -1}};
                    }),
            "illegal-alias: 'c' is not a new version of an array");
}

TEST(Legality, TilesHaveAKnownNumberOfElements) {
  const Cut points;
  const auto in_steps = [](std::int64_t step) { return Cut{Cut::Kind::Step, step}; };
  const auto with = [&](Cut rows, LoopTree inside, Tile tile) {
    return [=](Cluster& c) {
      c.loops = {loop(0, rows, By::Seq, inside)};
      c.tiles = {tile};
    };
  };
  const LoopTree product{
      loop(2, points, By::Seq, {loop(1, points, By::Seq, {loop(0, points, By::Unroll, {Leaf{0}})})})};
  EXPECT_EQ(
      refusal(matmul, with(in_steps(4), product, {0, 0, 0})),
      "illegal-tile: the loops over 'j' inside of the tile of 'c' have no number of points that is known");
  EXPECT_EQ(refusal(matmul, with(in_steps(4), product, {0, 0, 7})),
            "illegal-tile: a tile names a loop that does not exist");
  EXPECT_EQ(refusal(matmul, with(in_steps(4), product, {0, 1, 0})),
            "illegal-tile: a tile names an output that does not exist, or twice");
  const LoopTree columns{
      loop(1, in_steps(512), By::Seq,
           {loop(2, points, By::Seq, {loop(1, points, By::Seq, {loop(0, points, By::Unroll, {Leaf{0}})})})})};
  EXPECT_EQ(refusal(matmul, with(in_steps(4), columns, {0, 0, 1})),
            "illegal-tile: the tile of 'c' has more than 1024 elements");
  const LoopTree no_fold{loop(2, points, By::Seq, {loop(1, points, By::Seq, {Leaf{0}})})};
  EXPECT_EQ(refusal(matmul, with(points, no_fold, {0, 0, 1})),
            "illegal-tile: nothing is folded into 'c' inside of that loop");
  // Lanes of a fold are copies of variables.
  EXPECT_EQ(refusal("def mv(a: f32[I, K], x: f32[K]) -> y { y[i] = sum(k) a[i, k] * x[k] }",
                    [&](Cluster& c) {
                      c.loops = {loop(0, in_steps(4), By::Seq,
                                      {loop(0, points, By::Seq, {loop(1, points, By::Simd, {Leaf{0}})})})};
                      c.tiles = {{0, 0, 0}};
                    }),
            "illegal-simd: lanes would meet in one element of 'y'");
  EXPECT_EQ(refusal("def f(x: f32[N]) -> y { y[i] = 2 * x[i] }",
                    [&](Cluster& c) {
                      c.loops = {loop(0, in_steps(4), By::Seq, {loop(0, points, By::Seq, {Leaf{0}})})};
                      c.stores.clear();
                      c.tiles = {{0, 0, 0}};
                    }),
            "illegal-tile: nothing is folded into 'y' inside of that loop");
}

TEST(Schedule, CountsPassesLoopsAndBuffers) {
  const auto program = program_of(
      "def softmax(x: f32[N, M]) -> y { m[i] = max(j) x[i, j]; e[i, j] = exp(x[i, j] - m[i]); s[i] = sum(j) "
      "e[i, j]; "
      "y[i, j] = e[i, j] / s[i] }");
  const auto schedule = elaborate(program, two_cores(), default_plan(*program, two_cores()).plan);
  ASSERT_TRUE(schedule);
  EXPECT_EQ(schedule->passes, 4);
  EXPECT_EQ(schedule->loops, 8);
  EXPECT_EQ(schedule->buffers, 3);
  // m and e are needed by later stages, so they die there: m after e, s after y, which takes e's memory over.
  EXPECT_EQ(schedule->body.passes[1].dies.size(), 1U);
  EXPECT_EQ(schedule->body.passes[3].dies.size(), 1U);
  EXPECT_EQ(schedule->plan.blocks.front().clusters[3].stores,
            (std::vector<Store>{{0, 0, Keep::Alias, -1, "e"}}));
}

TEST(Schedule, UpdatesInPlaceWhereNobodyNeedsTheOldVersion) {
  const auto program =
      program_of("def f(x: f32[N]) -> z { y[i] = 2 * x[i]; z[i] into y = y[i] + 1 where 0 < i < N - 1 }");
  const auto schedule = elaborate(program, two_cores(), default_plan(*program, two_cores()).plan);
  ASSERT_TRUE(schedule);
  EXPECT_EQ(schedule->body.passes[1].stages[0].outputs[0].keep, Keep::Alias);
}

/// Every point of a stage overwrites the element that it reads, of an array that nobody needs any more.
TEST(Plan, OneArrayTakesOverTheMemoryOfAnother) {
  const auto refusal = [](const std::string& text, const std::string& over, int output = 0) {
    const auto program = program_of(text);
    Plan plan = default_plan(*program, two_cores()).plan;
    Cluster& last = plan.blocks.front().clusters.back();
    std::erase_if(last.stores,
                  [&](const Store& store) { return store.output == output || !store.over.empty(); });
    last.stores.push_back({0, output, Keep::Alias, -1, over});
    const auto schedule = elaborate(program, two_cores(), plan);
    return schedule ? "" : schedule.why().code + ": " + schedule.why().text;
  };
  const std::string start = "def f(x: f32[N]) -> y { a[i] = x[i] * 2\n ",
                    no = "illegal-alias: 'y' is not in the memory of ";
  EXPECT_EQ(refusal(start + "y[i] = a[i] + x[i] }", "a"), "");
  EXPECT_EQ(refusal(start + "y[i] = a[i] + x[i] }", "b"), no + "'b': its stage does not read that");
  EXPECT_EQ(refusal(start + "y[i] = a[i] + x[i] }", "x"), no + "'x': that is needed for something else");
  EXPECT_EQ(refusal(start + "y[i] = a[i] + a[clamp(i - 1)] }", "a"),
            no + "'a': other elements of that are read");
  EXPECT_EQ(refusal(start + "y[i] = f64(a[i]) }", "a"), no + "'a': they have different forms");
  EXPECT_EQ(refusal(start + "y[i] = scan(+, i) a[i] }", "a"), no + "'a': it is no map");
  EXPECT_EQ(refusal("def f(x: f32[N]) -> (a, y) { a[i] = x[i] * 2\n y[i] = a[i] + 1 }", "a"),
            no + "'a': that is needed for something else");
  EXPECT_EQ(refusal("def f(x: f32[N]) -> (y, z) { a[i] = x[i] * 2\n stage t(i < N) {\n"
                    " out y: f32[N] at [i] = cat(i) a[i] + 1\n out z: f32[N] at [i] = cat(i) a[i] * 3 } }",
                    "a"),
            "illegal-alias: 'a' is read after it was overwritten");
  EXPECT_EQ(refusal("def f(x: f32[N]) -> (y, z) { a[i] = x[i] * 2\n stage t(i < N) {\n"
                    " out y: f32[N] at [i] = cat(i) a[i] + 1\n out z: f32[N] at [i] = cat(i) a[i] * 3 } }",
                    "a", 1),
            "");
  // A whole chain is in the memory of its result.
  const auto program =
      program_of("def f(x: f32[N]) -> y { a[i] = x[i] * 2\n b[i] = a[i] + 1\n y[i] = b[i] * b[i] }");
  const auto schedule = elaborate(program, two_cores(), default_plan(*program, two_cores()).plan);
  ASSERT_TRUE(schedule);
  EXPECT_EQ(build_nest(*schedule).memory_of.size(), 2U);
  EXPECT_TRUE(plan_from_json(to_json(schedule->plan)) == schedule->plan);
}

/// What becomes of a program if the plan does not mention one of its stages. Its readers need other arrays
/// then, and longer, so nothing is taken over.
Result<Schedule, Reason> without(const std::shared_ptr<const Program>& program, const std::string& stage) {
  Plan plan = default_plan(*program, two_cores()).plan;
  std::erase_if(plan.blocks.front().clusters,
                [&](const Cluster& cluster) { return cluster.instances.front().name() == stage; });
  for (Cluster& cluster : plan.blocks.front().clusters)
    std::erase_if(cluster.stores, [](const Store& store) { return !store.over.empty(); });
  return elaborate(program, two_cores(), plan);
}

TEST(Plan, StagesThatItLeavesOutAreComputedWhereTheyAreRead) {
  const auto program = program_of(
      "def f(x: f32[N]) -> (y, s) { a[i] = x[i] * 2\n b[i] = a[i] + 1\n y[i] = a[i] - b[i]\n s = sum(i) b[i] "
      "}");
  const auto schedule = without(program, "b");
  ASSERT_TRUE(schedule);
  EXPECT_EQ((*schedule).passes, 3);
  EXPECT_EQ((*schedule).buffers, 1);
  const auto reason = without(program, "y");
  ASSERT_FALSE(reason);
  EXPECT_EQ(reason.why().code, "held");
  EXPECT_EQ(reason.why().text, "the plan does not run 'y': 'y' has to be in memory");
  const auto total = without(program_of("def f(x: f32[N]) -> y { s = sum(i) x[i]\n y[i] = x[i] - s }"), "s");
  ASSERT_FALSE(total);
  EXPECT_EQ(
      total.why().text,
      "the plan does not run 's': 's' is not computed inside of 'y': 's' is not one value for each point");
  const auto keys = without(
      program_of(
          "def f(x: i64[N]) -> y { g = group(+) [ (x[i] % 3, x[i]) | i ]\n y[k < len(g)] = g.keys[k] }"),
      "g");
  ASSERT_FALSE(keys);
  EXPECT_EQ(keys.why().text, "the plan does not run 'g': it fills a collection");
}

}  // namespace
}  // namespace twill
