// Tiles and slices: what a tile needs of the stages before it, which plans may say so, and that every size
// gives the interpreter's result.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "driver/agree.h"
#include "driver/compile.h"
#include "driver/fusion_report.h"
#include "plan/default_plan.h"
#include "plan/elaborate.h"
#include "plan/legality.h"
#include "program/affine_of.h"
#include "program/text.h"
#include "programs.h"

#include <fmt/format.h>

#include <map>

namespace twill {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// The slices of all stages but the last, whose dimensions are cut into tiles of these sizes (0: not cut), as
/// "y-1 .. y+16, all": y is the first index of the tile.
std::map<std::string, std::string> slices(const std::string& text, const std::vector<std::int64_t>& tile) {
  const auto program = program_of(text);
  std::vector<const Stage*> stages;
  std::vector<std::optional<Slice>> tiled;
  for (const Stage& stage : program->stages) {
    stages.push_back(&stage);
    tiled.emplace_back();
  }
  const Stage& last = *stages.back();
  tiled.back().emplace(last.dims.size());
  for (std::size_t d = 0; d < tile.size(); ++d) {
    const poly::Affine first = var_of(last.dims[d].id);
    if (tile[d] > 0) (*tiled.back())[d] = Span{first, first + (tile[d] - 1)};
  }
  const std::vector<Slice> found = slice_backward(stages, tiled);
  const poly::Namer name = [&](poly::Var var) {
    return var.kind == poly::Var::Kind::Size ? (*program)[SymbolId{var.id}].name
                                             : program->dim_names[static_cast<std::size_t>(var.id)];
  };
  std::map<std::string, std::string> result;
  for (std::size_t i = 0; i + 1 < stages.size(); ++i) {
    std::string& words = result[stages[i]->name];
    for (const std::optional<Span>& span : found[i])
      words += (words.empty() ? "" : ", ") +
               (span ? to_string(span->lo, name) + " .. " + to_string(span->hi, name) : "all");
  }
  return result;
}

using Slices = std::map<std::string, std::string>;

TEST(Slice, OfAStencilHasItsHalo) {
  EXPECT_EQ(slices("def f(u: f32[H, W]) -> b { a[y, x] = 2 * u[y, x]\n"
                   "b[y, x] = a[clamp(y - 1), x] + a[clamp(y + 1), clamp(x + 2)] }",
                   {16, 64}),
            (Slices{{"a", "y-1 .. y+16, x .. x+65"}}));
}

TEST(Slice, GrowsFromStageToStage) {
  EXPECT_EQ(slices("def f(u: f32[N]) -> d { a[i] = 2 * u[i]\n"
                   "b[i] = sum(k < 3) a[clamp(i + k - 1)]\n"
                   "c[i] = sum(k < 5) b[clamp(i + k - 2)]\n"
                   "d[i] = c[i] - a[i] }",
                   {32}),
            (Slices{{"a", "i-3 .. i+34"}, {"b", "i-2 .. i+33, all"}, {"c", "i .. i+31, all"}}));
}

/// A span that ends up behind the last element means that one, and what it reads lies before what the span
/// itself would read.
TEST(Slice, ReachesBackFromTheBorder) {
  const char* const text =
      "def f(u: f32[N]) -> c { a[i] = 2 * u[i]\n"
      "b[i] = a[pad(i - 2, 0)] + a[clamp(i + 5)]\n"
      "c[i] = b[clamp(i + 1)] }";
  EXPECT_EQ(slices(text, {4}), (Slices{{"a", "i-2 .. i+9"}, {"b", "i+1 .. i+4"}}));
  EXPECT_EQ(slices("def f(u: f32[N]) -> c { a[i] = 2 * u[i]\n"
                   "b[i] = a[clamp(i + 3)]\n"
                   "c[i] = b[clamp(i - 6)] }",
                   {4}),
            (Slices{{"a", "i-3 .. i+3"}, {"b", "i-6 .. i-3"}}));
  EXPECT_EQ(slices("def f(u: f32[N], v: f32[M]) -> c { a[i] = 2 * u[i]\n"
                   "b[i] = a[clamp(i + 1)]\n"
                   "c[i < M] = v[i] * b[clamp(i)] }",
                   {4}),
            (Slices{{"a", "all"}, {"b", "all"}}))
      << "nobody knows how far M is behind N";
}

/// What lies outside of the range is reflected to its border.
TEST(Slice, IsReflectedAtTheBorder) {
  const auto of = [](const std::string& c) {
    return slices("def f(u: f32[N], v: f32[M]) -> c { a[i] = 2 * u[i]\n" + c + " }", {4}).at("a");
  };
  EXPECT_EQ(of("c[i] = v[clamp(i)] * a[mirror(i - 1)] + a[mirror(i + 2)] + a[i]"), "i-1 .. i+5");
  EXPECT_EQ(of("c[i < N] = v[clamp(i)] * a[mirror(i + 2)]"), "i-1 .. i+5") << "N + 1 means N - 2";
  EXPECT_EQ(of("c[i < N] = v[clamp(i)] * a[mirror(i - 5)]"), "i-5 .. i+4") << "-5 means 4";
  EXPECT_EQ(of("c[i < N / 2] = v[clamp(i)] * a[mirror(2 * i - 1)]"), "2*i-1 .. 2*i+5");
  EXPECT_EQ(of("c[i < N] = v[clamp(i)] * a[mirror(N - 1 - i)]"), "N-i-4 .. N-i-1");
  EXPECT_EQ(of("c[i] = v[i] * a[mirror(i)]"), "all") << "nobody knows how far M is behind N";
}

TEST(Slice, OfPyramidsIsStridedOrHalved) {
  EXPECT_EQ(slices("def f(u: f32[N]) -> c { a[i] = 2 * u[i]\n"
                   "c[i < N / 2] = a[2 * i] + a[2 * i + 1] }",
                   {8}),
            (Slices{{"a", "2*i .. 2*i+15"}}));
  EXPECT_EQ(slices("def f(u: f32[N]) -> c { a[i] = 2 * u[i]\n"
                   "c[i < 2 * N] = a[i / 2] + a[clamp(i / 2 + 1)] }",
                   {8}),
            (Slices{{"a", "i/2 .. (i+1)/2+4"}}));
  // At the border of a level whose size was rounded up, the nearest element inside is one further back.
  EXPECT_EQ(slices("def f(u: f32[N]) -> c { a[i] = 2 * u[i]\n"
                   "b[i < (N + 1) / 2] = a[clamp(2 * i - 1)] + a[clamp(2 * i + 1)]\n"
                   "c[i < ((N + 1) / 2 + 1) / 2] = b[clamp(2 * i)] + b[clamp(2 * i + 1)] }",
                   {8}),
            (Slices{{"a", "4*i-1 .. 4*i+31"}, {"b", "2*i .. 2*i+15"}}));
}

/// Quantise, convolve, activate: a tile of two by two results needs four by four quantised pixels, and tiles
/// next to each other share two columns of them.
const char* const running_example =
    "def f(img: f32[H, W], b: f32[3, 3]) -> r {\n"
    "  a[h, w] = round(img[h, w] * 16) / 16\n"
    "  c[h < H - 2, w < W - 2] = sum(kh < 3, kw < 3) a[h + kh, w + kw] * b[kh, kw]\n"
    "  r[h, w] = max(c[h, w], 0.0)\n}";

TEST(Slice, OfTheRunningExampleIsTheFootprintOfTheConvolution) {
  EXPECT_EQ(slices(running_example, {2, 2}),
            (Slices{{"a", "h .. h+3, w .. w+3"}, {"c", "h .. h+1, w .. w+1, all, all"}}));
}

/// A stage of a chain reads the one before it at (mul * i + add) / div, for each of these.
struct Step {
  std::int64_t mul, add, div;
};
using Chain = std::vector<std::vector<Step>>;

/// Every slice is as narrow as it can be: it begins and ends with an index that a tile needs, whatever tile
/// that is. (Bounds that are found stage by stage, from the least and the greatest distance, are wider.)
TEST(Slice, OfChainsOfStencilsAndPyramidsIsTight) {
  const std::vector<Chain> chains = {
      // Down, then up, with stencils before, between and after.
      {{{1, -1, 1}, {1, 1, 1}}, {{2, -1, 1}, {2, 1, 1}}, {{1, -1, 1}, {1, 1, 1}}, {{1, 0, 2}, {1, 1, 2}}},
      {{{2, 0, 1}, {2, 1, 1}}, {{2, 0, 1}, {2, 1, 1}}, {{1, 0, 2}}, {{1, 0, 2}}, {{1, 0, 1}, {1, 3, 1}}},
      // Up twice, with reads that do not begin at the same place.
      {{{1, 0, 2}, {1, 1, 2}}, {{1, 1, 2}, {1, 2, 2}}, {{1, -2, 1}, {1, 0, 1}, {1, 5, 1}}},
      {{{3, -4, 1}, {3, 2, 1}}, {{1, 0, 3}, {1, 2, 3}}, {{1, -1, 1}, {1, 0, 1}}},
      {{{1, 3, 1}}, {{4, 0, 1}, {4, 3, 1}}, {{1, 1, 4}, {1, -1, 4}}},
  };
  for (const Chain& chain : chains) {
    // Each stage is as long as the next one needs it, and a little longer.
    std::vector<std::string> extents = {"N"};
    for (std::size_t k = chain.size(); k-- > 0;)
      extents.insert(extents.begin(),
                     fmt::format("({} * ({})) / {} + 9", chain[k][0].mul, extents.front(), chain[k][0].div));
    std::string text =
        fmt::format("def f(u: i64[N]) -> s{} {{\n  s0[i < {}] = 2 * i\n", chain.size(), extents[0]);
    for (std::size_t k = 0; k < chain.size(); ++k) {
      std::string sum = k + 1 == chain.size() ? "u[i]" : "0";
      for (const Step& step : chain[k])
        sum += fmt::format(" + s{}[clamp(({} * i + {}) / {})]", k, step.mul, step.add, step.div);
      text += fmt::format("  s{}[i < {}] = {}\n", k + 1, extents[k + 1], sum);
    }
    const auto program = program_of(text + "}");
    std::vector<const Stage*> stages;
    for (const Stage& stage : program->stages) stages.push_back(&stage);
    for (const std::int64_t tile : {1, 2, 5, 8}) {
      std::vector<std::optional<Slice>> tiled(stages.size());
      const poly::Var origin = var_of(stages.back()->dims[0].id);
      tiled.back() = Slice{Span{origin, poly::Affine(origin) + (tile - 1)}};
      const std::vector<Slice> found = slice_backward(stages, tiled);
      for (std::int64_t first = 1000; first < 1012; ++first) {
        std::set<std::int64_t> needed;
        for (std::int64_t i = 0; i < tile; ++i) needed.insert(first + i);
        for (std::size_t k = chain.size(); k-- > 0;) {
          std::set<std::int64_t> before;
          for (const std::int64_t i : needed)
            for (const Step& step : chain[k])
              before.insert(poly::floor_div(step.mul * i + step.add, step.div));
          needed = std::move(before);
          ASSERT_TRUE(found[k][0]) << text << "s" << k;
          const Span& span = *found[k][0];
          const auto at = [&](const poly::Affine& e) { return e.evaluate([&](poly::Var) { return first; }); };
          EXPECT_EQ(at(span.lo), *needed.begin())
              << text << "s" << k << ", tile of " << tile << " at " << first;
          EXPECT_EQ(at(span.hi), *needed.rbegin())
              << text << "s" << k << ", tile of " << tile << " at " << first;
        }
      }
    }
  }
}

TEST(Slice, OfATransposedReadIsTransposed) {
  EXPECT_EQ(slices("def f(u: f32[N, M]) -> c { a[i, j] = 2 * u[i, j]\n"
                   "c[i < M, j < N] = a[j, i] }",
                   {8, 32}),
            (Slices{{"a", "j .. j+31, i .. i+7"}}));
}

TEST(Slice, IsAllWhereNothingElseIsKnown) {
  const char* const gather =
      "def f(u: f32[N], is: i64[N]) -> c { a[i] = 2 * u[i]\n"
      "c[i] = a[clamp(is[i])] }";
  EXPECT_EQ(slices(gather, {8}), (Slices{{"a", "all"}}));
  EXPECT_EQ(slices("def f(u: f32[N]) -> c { a[i] = 2 * u[i]\nc[i] = a[wrap(i + 1)] }", {8}),
            (Slices{{"a", "all"}}));
  EXPECT_EQ(slices("def f(u: f32[N]) -> c { a[i] = 2 * u[i]\nc[i] = a[N - 1 - i] + a[i] }", {8}),
            (Slices{{"a", "all"}}))
      << "from both ends, tiles have no width that is known";
  EXPECT_EQ(slices("def f(u: f32[N]) -> c { a[i] = 2 * u[i]\n"
                   "c[i < N] = a[clamp(4611686018427387904 * i + 4611686018427387904)] }",
                   {8}),
            (Slices{{"a", "all"}}))
      << "too far to count";
  EXPECT_EQ(slices("def f(u: f32[N]) -> c { a[i] = 2 * u[i]\nc[i < N] = a[N - 1 - i] }", {8}),
            (Slices{{"a", "N-i-8 .. N-i-1"}}));
}

TEST(Slice, NeedsAStageWithoutSurprises) {
  const auto refused = [](const std::string& text) {
    const auto program = program_of(text);
    const auto reason = why_not_slice(*program, program->stages.front());
    return reason ? reason->code + ": " + reason->text : "none";
  };
  EXPECT_EQ(refused("def f(x: f32[N]) -> a { a[i] = 2 * x[i] }"), "none");
  EXPECT_EQ(refused("def f(x: f32[N]) -> a { a[i] = scan(+, i) x[i] }"),
            "combine: 'a' has no slices: 'a' is combined along 'i'");
  EXPECT_EQ(refused("def f(x: f32[N]) -> a { a = [ v | v in x, v > 0 ] }"),
            "guard: 'a' has no slices: not every element of 'a' is computed, or not in its place");
  EXPECT_EQ(
      refused("def f(x: f32[N]) -> a { stage a(i < N) { out a: f32[N] at [N - 1 - i] = cat(i) x[i] } }"),
      "write-map: 'a' has no slices: an element of 'a' does not have the index of a point");
  EXPECT_EQ(refused("def f(x: i64[N], y: i64[N]) -> a { a[i] = x[i] / y[i] }"),
            "checked: 'a' has no slices: it may fail, and would not fail where it is not needed");
  const std::string circle = "op circle(a: i64, b: i64) -> i64 associative { a + b + a * b }\n";
  EXPECT_EQ(
      refused(circle + "def f(x: i64[N, M]) -> a { a[i] = fold(circle, j) x[i, j] }"),
      "empty: 'a' has no slices: 'a' may have nothing to fold, which would go unnoticed where it is not "
      "needed");
  EXPECT_EQ(refused(circle + "def f(x: i64[N, 3]) -> a { a[i] = fold(circle, j) x[i, j] }"), "none");
  EXPECT_EQ(refused("def f(x: f32[N]) -> b { b = x with { i <- 2 * x[i] | i in 1 .. N } }"),
            "version: 'b' has no slices: 'b' is a new version of an array");
}

// ---- plans ---------------------------------------------------------------------------------------------

const char* const blur =
    "def blur(u: f32[H, W]) -> b { a[y, x] = u[y, clamp(x - 1)] + u[y, clamp(x + 1)]\n"
    "b[y, x] = a[clamp(y - 1), x] + a[clamp(y + 1), x] }";

/// The two stages of a blur in one cluster: `shared` loops around both over the second one's dimensions.
Plan plan_of(const std::vector<ChainLevel>& shared, Keep keep) {
  std::set<int> visited;
  for (const ChainLevel& level : shared)
    if (level.cut == Cut{}) visited.insert(level.dim);
  ClusterLoops loops{shared.size(), {{{0, {}, By::Seq}, {1, {}, By::Seq}}, shared}, {true, false}};
  for (int d = 0; d < 2; ++d)
    if (!visited.contains(d)) loops.chains.back().push_back({d, {}, By::Seq});
  Cluster cluster;
  cluster.instances = {{{"a"}, 0}, {{"b"}, 0}};
  cluster.loops = tree_of(loops);
  cluster.stores = {{0, 0, keep, -1}};
  return {"blur", "two cores", {{"", 0, {cluster}}}};
}

std::string refusal(const Plan& plan) {
  const auto result = elaborate(program_of(blur), two_cores(), plan);
  return result ? "legal" : result.why().code + ": " + result.why().text;
}

const Cut step4{Cut::Kind::Step, 4}, parts{Cut::Kind::Parts, 0};

TEST(SlicedPlan, RoundTripsThroughJson) {
  const Plan plan = plan_of({{0, parts, By::Core}, {1, step4, By::Seq}, {0, {}, By::Seq}}, Keep::Ring);
  EXPECT_EQ(plan_from_json(to_json(plan)), plan);
  EXPECT_EQ(refusal(plan), "legal");
}

TEST(SlicedPlan, IsRefusedWithAReason) {
  EXPECT_EQ(refusal(plan_of({{0, step4, By::Seq}}, Keep::Full)),
            "illegal-local: what is sliced lives as long as an iteration, or in a ring");
  EXPECT_EQ(refusal(plan_of({{0, step4, By::Seq}}, Keep::Ring)),
            "illegal-ring: a ring slides along a loop over points that runs in order");
  EXPECT_EQ(refusal(plan_of({{1, {}, By::Seq}}, Keep::Ring)),
            "illegal-ring: what is needed of 'a' does not move row by row");
  Plan plan = plan_of({{0, step4, By::Seq}}, Keep::Local);
  EXPECT_EQ(refusal(plan), "legal");
  plan.blocks.front().clusters.front().stores.push_back({1, 0, Keep::Local, -1});
  EXPECT_EQ(refusal(plan), "illegal-local: 'b' is needed after the shared loops");
  plan = plan_of({{0, step4, By::Seq}}, Keep::Local);
  std::get<Loop>(plan.blocks.front().clusters.front().loops.front()).axes = {{0, 0}};
  EXPECT_EQ(refusal(plan), "illegal-loops: stages that are sliced come before those that are not");
}

/// Runs a compiled program on inputs of many sizes.
void agrees(const Compilation& compilation, const std::vector<std::vector<std::int64_t>>& sizes) {
  const Program& program = *compilation.source_program;
  for (const auto& extents : sizes) {
    std::map<SymbolId, std::int64_t> known;
    std::vector<Data> inputs;
    for (const Input& input : program.inputs) {
      std::vector<std::int64_t> shape;
      for (Expr extent : program[input.array].shape) {
        const SizeRef* size = as<SizeRef>(extent);
        shape.push_back(
            size ? known.emplace(size->symbol, extents[known.size() % extents.size()]).first->second
                 : as<Literal>(extent)->value.i);
      }
      inputs.push_back(random_data(program[input.array].type, shape, 1 + inputs.size()));
    }
    const Agreement found =
        agreement(program, reference_of(program, inputs), compilation.kernel->run(inputs));
    EXPECT_EQ(found.difference, "") << "at " << ::testing::PrintToString(extents);
  }
}

const std::vector<std::vector<std::int64_t>> rectangles = {
    {0, 5}, {5, 0}, {1, 1}, {1, 40}, {40, 1}, {3, 4}, {4, 3}, {17, 19}, {33, 64}, {9, 1030}, {70, 7}};

TEST(SlicedPlan, EverySizeAgrees) {
  const Cut step3{Cut::Kind::Step, 3}, step16{Cut::Kind::Step, 16}, three{Cut::Kind::Parts, 3};
  const std::vector<std::pair<std::vector<ChainLevel>, Keep>> all = {
      {{{0, step4, By::Seq}}, Keep::Local},
      {{{0, step4, By::Core}, {1, step16, By::Seq}}, Keep::Local},
      {{{1, step3, By::Seq}, {0, step3, By::Seq}}, Keep::Local},
      {{{0, {}, By::Seq}}, Keep::Local},
      {{{0, {}, By::Seq}}, Keep::Ring},
      {{{0, parts, By::Core}, {0, {}, By::Seq}}, Keep::Ring},
      {{{0, three, By::Core}, {1, step16, By::Seq}, {0, {}, By::Seq}}, Keep::Ring},
      {{{1, step3, By::Core}, {0, {}, By::Seq}}, Keep::Ring},
      {{{1, {}, By::Seq}, {0, {}, By::Seq}}, Keep::Ring}};
  for (const auto& [shared, keep] : all) {
    Options options;
    options.plan = plan_of(shared, keep);
    SCOPED_TRACE(to_json(*options.plan));
    agrees(compile(program_of(blur), two_cores(), options), rectangles);
  }
}

// ---- the default plan ----------------------------------------------------------------------------------

struct Shape {
  int passes, buffers;
  friend bool operator==(const Shape&, const Shape&) = default;
  friend void PrintTo(const Shape& s, std::ostream* out) {
    *out << s.passes << " passes, " << s.buffers << " buffers";
  }
};

struct Fused {
  const char* name;
  Shape shape;
  const char* text;
  std::vector<std::vector<std::int64_t>> sizes;
};

class InTiles : public ::testing::TestWithParam<Fused> {};

TEST_P(InTiles, AgreesWithTheInterpreter) {
  const Compilation compilation = compile(program_of(GetParam().text), two_cores());
  EXPECT_EQ((Shape{compilation.schedule->passes, compilation.schedule->buffers}), GetParam().shape)
      << print_loops(*compilation.nest);
  agrees(compilation, GetParam().sizes);
}

const Fused fused[] = {
    {"AChainOfStencils",
     {1, 0},
     R"(
      def f(u: f32[H, W]) -> d { a[y, x] = u[y, clamp(x - 1)] + u[y, clamp(x + 1)]
                                 b[y, x] = sum(k < 5) a[clamp(y + k - 2), x]
                                 c[y, x] = b[clamp(y - 1), clamp(x - 1)] + b[clamp(y + 1), clamp(x + 1)]
                                 d[y, x] = c[y, x] - b[y, x] + u[y, x] })",
     rectangles},
    // Rows of products, their largest elements and what is made of both are parts of one tile.
    {"RowsThatTilesShare",
     {1, 0},
     R"(
      def f(q: f32[N, D], k: f32[M, D]) -> l { s[i, j] = sum(d) q[i, d] * k[j, d]
                                               m[i] = max(j) s[i, j]
                                               p[i, j] = exp(s[i, j] - m[i])
                                               l[i] = sum(j) p[i, j] * p[i, j] })",
     {{7, 5, 9}, {64, 33, 17}, {100, 3, 70}, {1, 1, 1}}},
    {"AForkAndAJoin",
     {1, 0},
     R"(
      def f(u: f32[H, W]) -> d { a[y, x] = 2 * u[y, x]
                                 b[y, x] = a[clamp(y - 1), x] + a[y, x]
                                 c[y, x] = a[y, clamp(x + 1)] - a[clamp(y + 2), x]
                                 d[y, x] = b[clamp(y + 1), x] * c[y, clamp(x - 1)] })",
     rectangles},
    {"OneDimension",
     {1, 0},
     R"(
      def f(u: f64[N]) -> c { a[i] = u[i] * u[i]
                              b[i] = sum(k < 3) a[clamp(i + k - 1)]
                              c[i] = b[clamp(i - 1)] - b[clamp(i + 1)] })",
     {{0}, {1}, {2}, {1023}, {1024}, {1025}, {5000}}},
    {"HalfTheSize",
     {1, 0},
     R"(
      def f(u: f32[H, W]) -> b { a[y, x] = 2 * u[y, x] + 1
                                 b[y < H / 2, x < W / 2] = a[2 * y, 2 * x] + a[2 * y + 1, clamp(2 * x + 2)] })",
     rectangles},
    {"HalfTheSizeRoundedUp",
     {1, 0},
     R"(
      def f(u: f32[H, W]) -> (b, c) {
        a[y, x < (W + 1) / 2] = u[y, clamp(2 * x - 1)] + u[y, 2 * x]
        b[y < (H + 1) / 2, x] = sum(l < 4) (l + 1) * a[clamp(2 * y + l - 1), x]
        c[y, x < ((W + 1) / 2 + 1) / 2] = b[y, clamp(2 * x - 1)] + b[y, clamp(2 * x + 1)] })",
     rectangles},
    {"WhatCostsLessThanMemoryIsComputedAgain",
     {2, 0},
     R"(
      def f(u: f32[H, W]) -> v {
        a[y, x] = (u[y, x] * u[y, x] + 1) * u[y, x]
        s = sum(y, x) a[y, x]
        v[y, x] = a[y, x] - s })",
     rectangles},
    {"WhatTheLargestIsChosenFromIsComputedOnce",
     {2, 1},
     R"(
      def f(u: f32[H, W]) -> v {
        a[y, x] = (u[y, x] * u[y, x] + 1) * u[y, x]
        s = max(y, x) a[y, x]
        v[y, x] = if a[y, x] == s then 1 else 0 })",
     rectangles},
    {"WhatCostsMoreThanMemoryIsKept",
     {2, 1},
     R"(
      def f(u: f32[H, W]) -> v {
        a[y, x] = exp(sin(u[y, x])) + exp(cos(u[y, x]))
        s = sum(y, x) a[y, x]
        v[y, x] = a[y, x] - s })",
     rectangles},
    {"TheRunningExample", {1, 0}, running_example, {{2, 2}, {3, 3}, {6, 6}, {40, 70}, {70, 40}}},
    {"TwiceTheSize",
     {1, 0},
     R"(
      def f(u: f32[H, W]) -> b { a[y, x] = u[y, clamp(x - 1)] + u[y, x]
                                 b[y < 2 * H, x < 2 * W] = a[y / 2, x / 2] + a[clamp(y / 2 + 1), x / 2] })",
     rectangles},
    {"Planes",
     {1, 0},
     R"(
      def f(u: f32[K, H, W]) -> b { a[z, y, x] = u[z, y, clamp(x - 1)] + u[z, y, clamp(x + 1)]
                                    b[z, y, x] = a[clamp(z - 1), y, x] + a[z, clamp(y + 1), x] + a[clamp(z + 1), y, x] })",
     {{3, 4, 5}, {1, 1, 1}, {0, 4, 4}, {5, 40, 33}, {20, 3, 300}}},
    {"BordersThatAreConstant",
     {1, 0},
     R"(
      def f(u: f32[H, W]) -> b { a[y, x] = 2 * u[y, x]
                                 b[y, x] = a[pad(y - 1, 7.0), x] + a[y, pad(x + 3, 1.0)] })",
     rectangles},
    {"BordersThatAreMirrored",
     {1, 0},
     R"(
      def f(u: f32[H, W]) -> c { a[y, x] = exp(u[y, x]) + sqrt(u[y, x])
                                 b[y, x] = exp(a[mirror(y - 1), x] + a[y, mirror(x + 3)]) + a[mirror(y + 2), mirror(x - 1)]
                                 c[y, x] = b[mirror(y - 3), x] * b[y, mirror(x - 2)] })",
     rectangles},
    {"WhatMayFailIsNotSliced",
     {2, 1},
     R"(
      def f(u: f32[H, W]) -> b { a[y, x < W] = u[y, x * y / max(y, 1)]
                                 b[y, x] = a[clamp(y - 1), x] + a[y, clamp(x + 1)] })",
     rectangles},
    {"ASumOfTheLast",
     {1, 0},
     R"(
      def f(u: f32[H, W]) -> s { a[y, x] = u[y, x] * u[y, x]
                                 s = sum(y, x) a[y, x] * a[clamp(y + 1), x] })",
     rectangles},
    {"AProductAndItsActivation",
     {1, 0},
     R"(
      def f(a: f32[N, K], b: f32[K, M]) -> y { c[i, j] = sum(k) a[i, k] * b[k, j]
                                               y[i, j] = max(c[i, j], 0.0) })",
     {{5, 7, 9}, {33, 3, 40}, {0, 3, 3}, {3, 0, 3}, {1, 1, 1}, {70, 65, 300}}},
    {"TwoProductsByBlocksOfRows",
     {1, 0},
     R"(
      def f(a: f32[N, K], b: f32[K, M], d: f32[M, L]) -> y { c[i, j] = sum(k) a[i, k] * b[k, j]
                                                             y[i, l] = sum(j) c[i, j] * d[j, l] })",
     {{5, 7, 9, 4}, {33, 3, 40, 20}}},
    {"WhatIsNeededElsewhereStaysInMemory",
     {2, 0},
     R"(
      def f(u: f32[H, W]) -> (a, b) { a[y, x] = 2 * u[y, x]
                                      b[y, x] = a[clamp(y - 1), x] + a[clamp(y + 1), x] })",
     rectangles},
    {"InABlockThatRunsTwice",
     {2, 0},
     R"(
      def f(x: f64[N, M]) -> c {
        stage c(i < N) {
          block {
            a[k < M] = x[i, k] * x[i, k]
            b = sum(k < M) a[k] * a[clamp(k + 1)]
          }
          out c: f64[born n] = append(i) b where b > 0.5
        }
      })",
     {{0, 4}, {3, 5}, {20, 40}, {5, 3000}}},
    {"ANewVersionNeedsAll",
     {2, 1},
     R"(
      def f(u: f32[N]) -> v { a[i] = 2 * u[i] + 1
                              v = a with { i <- a[i - 1] + a[i + 1] | i in 1 .. N - 1 } })",
     {{2}, {10}, {3000}}},
    {"ADataSubscriptNeedsAll",
     {2, 1},
     R"(
      def f(u: f32[N], is: i64[N]) -> b { a[i] = exp(sin(u[i])) + exp(cos(u[i])) + exp(tan(u[i]))
                                          b[i] = a[clamp(is[i])] + a[i] })",
     {{1}, {10}, {3000}}},
};

INSTANTIATE_TEST_SUITE_P(All, InTiles, ::testing::ValuesIn(fused),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(InTiles, LanesAreFilledByWhatASliceHasMostOf) {
  // Neighbours of 'a' are along 'k', of which a tile has one: in its box, they are along 'x'.
  const Compilation compilation = compile(
      program_of("def f(u: f32[H, W], v: f32[H, W]) -> b {\n"
                 "a[y, x, k < 8] = exp(u[y, x]) * f32(k) + v[y, x]\n"
                 "b[k, y, x] = a[clamp(y - 1), x, k] + a[clamp(y + 1), x, k] + a[y, clamp(x + 1), k] }"),
      two_cores());
  const std::string loops = print_loops(*compilation.nest);
  EXPECT_THAT(loops, HasSubstr("          for k in a_k .. a_k_end:\n"
                               "            simd for x in a_x .. a_x_end:\n"
                               "              a[y, x, k] = exp(u[y, x]) * f32(k) + v[y, x]\n"));
  EXPECT_THAT(loops, Not(HasSubstr("simd for k")));
  agrees(compilation, rectangles);
}

/// What explain says about stages that are not in one pass.
std::string apart(const std::string& text, Options options = {}) {
  options.stop_after = "elaborate";
  const std::string report = fusion_report(compile(program_of(text), two_cores(), options));
  const std::string title = "\napart, and why\n";
  const std::size_t at = report.find(title);
  return at == std::string::npos ? "" : report.substr(at + title.size());
}

TEST(InTiles, ExplainSaysWhyThereAreNoSlices) {
  const std::string map = "def f(u: f32[H, W]) -> b { a[y, x] = sqrt(u[y, x]) + exp(u[y, x])\n",
                    row = "def f(u: f32[N]) -> b { a[i] = sqrt(u[i]) + exp(u[i])\n";
  EXPECT_EQ(apart(map + "b[y, x] = a[wrap(y - 1), wrap(x - 1)] + a[wrap(y + 1), wrap(x + 1)] }"),
            "  a | b  tiles of 'b' would need all of 'a', which is wrapped around (whole)\n");
  EXPECT_EQ(apart("def f(u: f32[N]) -> (a, b) { a[i] = sqrt(u[i]) + exp(u[i])\n"
                  "b[i] = a[clamp(i - 1)] + a[clamp(i + 1)] }"),
            "  a | b  'a' has no slices: 'a' is a result (result)\n");
  EXPECT_EQ(apart("def f(u: f32[N], p: i64[N]) -> b { a[i] = f32(7 / p[i]) + sqrt(u[i]) + exp(u[i])\n"
                  "b[i] = a[clamp(i - 1)] + a[clamp(i + 1)] }"),
            "  a | b  'a' has no slices: it may fail, and would not fail where it is not needed (checked)\n");
  EXPECT_THAT(
      apart("def f(u: f32[N]) -> (e, c) { a[i] = sqrt(u[i]) + exp(u[i])\n"
            "b[i] = a[clamp(i - 1)] + a[clamp(i + 1)]\nm = sum(i) b[i]\n"
            "c[i] = exp(u[i]) * m + u[clamp(i + 1)]\ne[i] = a[clamp(i + 1)] * c[clamp(i + 2)] }"),
      testing::StartsWith(
          "  a | m  tiles of all readers of 'a' are one pass, and what is computed between them needs "
          "the one and is needed by the other (between)\n"));
  EXPECT_THAT(apart("def f(u: f32[N]) -> e { a[i] = sqrt(u[i]) + exp(u[i])\n"
                    "m = sum(i) a[clamp(i - 1)] * a[clamp(i + 1)]\ne[i] = a[clamp(i + 1)] * m }"),
              testing::StartsWith("  a | m  no outer dimension of 'm' could be cut into tiles (tiles)\n"));
  EXPECT_EQ(
      apart(map + "b[y, x] = sum(k < 2000) a[clamp(y + k), x] * f32(k) }"),
      "  a | b  tiles of 'b' would need 2048 kB for slices, and the cache of a core has room for 131 kB "
      "(room)\n");
  EXPECT_EQ(apart(row + "b[i] = sum(k < 9000) a[clamp(i + k)] * f32(k) }"),
            "  a | b  878.8 % of 'a' would be computed twice (twice)\n");
}

TEST(InTiles, EverySecondPointIsComputedWhereItIsRead) {
  // Four of four points for each of the reader's: slices would have no fewer, and have to be stored.
  const auto compiled = [](const std::string& more) {
    return compile(program_of("def f(u: f32[H, W]) -> b { a[y, x] = exp(u[y, x]) + exp(u[clamp(y + 1), x])\n"
                              "b[y < H / 2, x < W / 2] = a[2 * y, 2 * x] + a[2 * y + 1, clamp(2 * x + 2)] + "
                              "a[2 * y + 1, 2 * x] + a[2 * y, clamp(2 * x - 2)]" +
                              more + " }"),
                   two_cores());
  };
  const Compilation few = compiled(""), many = compiled(" + a[2 * y, 2 * x + 1]");
  EXPECT_EQ(few.program->stages.size(), 1U);
  EXPECT_EQ(many.program->stages.size(), 2U);
  EXPECT_THAT(print_loops(*many.nest), testing::HasSubstr("for y in a_y .. a_y_end:"));
  agrees(few, rectangles);
  agrees(many, rectangles);
}

/// Of a chain, two boxes are needed at a time.
TEST(InTiles, BoxesWhoseLivesAreDisjointShareMemory) {
  const std::string chain =
      "def f(u: f32[N]) -> e { a[i] = exp(u[clamp(i - 1)]) + u[i]\n"
      "b[i] = exp(a[clamp(i - 1)]) + a[clamp(i + 1)]\nc[i] = exp(b[clamp(i - 1)]) + b[clamp(i + 1)]\n"
      "d[i] = exp(c[clamp(i - 1)]) + c[clamp(i + 1)]\ne[i] = exp(d[clamp(i - 1)]) + d[clamp(i + 1)]";
  const Compilation two = compile(program_of(chain + " }"), two_cores()),
                    three = compile(program_of(chain + " + a[i] }"), two_cores());
  EXPECT_THAT(print_loops(*two.nest), HasSubstr("  box a[1032]\n"
                                                "  box c[1028] in the memory of a\n"
                                                "  box b[1030]\n"
                                                "  box d[1026] in the memory of b\n"
                                                "  for i_tile in i_begin .. i_end step 1024:\n"));
  EXPECT_THAT(print_loops(*three.nest), HasSubstr("  box a[1032]\n"
                                                  "  box b[1030]\n"
                                                  "  box d[1026] in the memory of b\n"
                                                  "  box c[1028]\n"));
  const std::vector<std::vector<std::int64_t>> lengths = {{0}, {1}, {2}, {5}, {1023}, {1030}, {5000}};
  agrees(two, lengths);
  agrees(three, lengths);
}

/// What is small lives in local variables of C.
TEST(InTiles, SmallBoxesAreOnTheStack) {
  Options options;
  options.plan = plan_of({{0, step4, By::Seq}, {1, {Cut::Kind::Step, 16}, By::Seq}}, Keep::Local);
  const Compilation compilation = compile(program_of(blur), two_cores(), options);
  EXPECT_THAT(print_loops(*compilation.nest), HasSubstr("    var a[6, 16]\n"));
  EXPECT_THAT(compilation.source->text, HasSubstr("float a[6 * 16];"));
  agrees(compilation, rectangles);
}

TEST(InTiles, RowsAreKeptInARing) {
  Options options;
  options.stop_after = "nest";
  const std::string loops = print_loops(*compile(program_of(blur), two_cores(), options).nest);
  EXPECT_THAT(loops, HasSubstr("ring a[4, "));
  EXPECT_THAT(loops, HasSubstr("let a_y = max(a_done, max(min(y - 1, H - 1), 0))"));
  EXPECT_THAT(loops, Not(HasSubstr("buffer a")));
}

}  // namespace
}  // namespace twill
