// Tiles of accumulators in registers: what becomes of them, and that every size gives the interpreter's
// result.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "driver/compile.h"
#include "plan/default_plan.h"
#include "program/text.h"

#include <sstream>

namespace twill {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Machine two_cores() {
  Machine machine;
  machine.name = "two cores";
  machine.memory = {{"memory", std::int64_t{1} << 34}, {"L3", 1 << 24, 1, 64, true}, {"registers", 2048, 2}};
  machine.cores = {{CoreKind::Core, "core", 2}, {CoreKind::Simd, "simd", 16}};
  return machine;
}

/// Loops from the outermost one: a dimension's number, "/step" for tiles and a letter (c: cores, s: SIMD
/// lanes, u: unrolled). The bar stands after the loop that has the tile: "0/8c 1/32 | 2 1s 0u".
Plan plan_of(const Program& program, const std::string& chain) {
  Plan plan = default_plan(program, two_cores()).plan;
  Cluster& cluster = plan.blocks.front().clusters.front();
  cluster.stores.clear();
  cluster.merges.clear();
  cluster.tiles.clear();
  cluster.grain = 0;
  std::istringstream words(chain);
  std::vector<Loop> loops;
  for (std::string word; words >> word;) {
    if (word == "|") {
      cluster.tiles = {{0, 0, static_cast<int>(loops.size()) - 1}};
      continue;
    }
    Loop loop{{{0, word[0] - '0'}}, {}, By::Seq, {}};
    if (word.size() > 1 && word[1] == '/') loop.cut.count = std::stoi(word.substr(2));
    if (word.back() == 'c') loop.by = By::Core;
    if (word.back() == 's') loop.by = By::Simd;
    if (word.back() == 'u') loop.by = By::Unroll;
    loops.push_back(std::move(loop));
  }
  LoopTree tree{Leaf{0}};
  for (std::size_t l = loops.size(); l-- > 0;) {
    loops[l].body = std::move(tree);
    tree = {};
    tree.push_back(std::move(loops[l]));
  }
  cluster.loops = std::move(tree);
  return plan;
}

Compilation compiled(const std::string& text, const std::string& chain, bool strict, std::string stop = {}) {
  Program program = parse_program("test.twill", text);
  program.strict = strict;
  Options options;
  options.plan = plan_of(program, chain);
  options.stop_after = std::move(stop);
  return compile(std::make_shared<const Program>(program), two_cores(), options);
}

std::string loops_of(const std::string& text, const std::string& chain) {
  return print_loops(*compiled(text, chain, false, "nest").nest);
}

std::string c_of(const std::string& text, const std::string& chain) {
  return compiled(text, chain, false, "c").source->text;
}

/// Runs the program on inputs of many sizes; all sizes of a list stand for the program's symbols in turn.
void agrees(const std::string& text, const std::string& chain, bool strict,
            const std::vector<std::vector<std::int64_t>>& sizes) {
  SCOPED_TRACE(chain + (strict ? ", strict" : ""));
  const Compilation compilation = compiled(text, chain, strict);
  const Program& program = *compilation.program;
  for (const auto& extents : sizes) {
    std::map<SymbolId, std::int64_t> known;
    std::vector<Data> inputs;
    for (const Input& input : program.inputs) {
      std::vector<std::int64_t> shape;
      for (Expr extent : program[input.array].shape) {
        const SymbolId symbol = as<SizeRef>(extent)->symbol;
        shape.push_back(known.emplace(symbol, extents[known.size() % extents.size()]).first->second);
      }
      inputs.push_back(random_data(program[input.array].type, shape, 1 + inputs.size()));
    }
    const Data got = compilation.kernel->run(inputs).results[0], want = interpret(program, inputs).results[0];
    ASSERT_EQ(got.shape(), want.shape());
    const double error = got.count() > 0 ? max_error(got, want) : 0;
    if (strict || want.type().is_integer())
      EXPECT_EQ(error, 0) << "at " << ::testing::PrintToString(extents);
    else
      EXPECT_LT(error, 1e-4) << "at " << ::testing::PrintToString(extents);
  }
}

const std::vector<std::vector<std::int64_t>> cubes = {{0, 5, 40},  {5, 0, 40},  {3, 5, 1},   {1, 1, 1},
                                                      {8, 4, 32},  {9, 7, 33},  {17, 5, 31}, {16, 1, 64},
                                                      {23, 9, 70}, {4, 3, 100}, {2, 6, 7}};

const char* const matmul =
    "def matmul(a: f32[I, K], b: f32[K, J]) -> c { c[i, j] = sum(k) a[i, k] * b[k, j] }";
const char* const conv =
    "def conv(x: f32[H, W], f: f32[R, S]) -> y { y[p < H - R + 1, q < W - S + 1] = "
    "sum(r, s) x[p + r, q + s] * f[r, s] }";

TEST(Tile, HoldsAccumulatorsWhileFoldsRun) {
  EXPECT_EQ(loops_of("def s(x: f32[N, M]) -> y { y[j] = sum(i) x[i, j] }", "0/8 | 1 0s"),
            R"(# y  (test.twill:1:28)
for j_tile in 0 .. M step 8:
  let j_end = min(j_tile + 8, M)
  let j_from = max(0, min(j_tile, M - 8))
  let j_points = j_end - j_from
  if j_points == 8:
    var y_held[8]
    simd for j_lane in 0 .. 8:
      y_held[j_lane] = 0.0f32
    for i in 0 .. N:
      simd for j_lane in 0 .. 8:
        y_held[j_lane] += x[i, j_from + j_lane]
    simd for j_lane in 0 .. 8:
      y[j_from + j_lane] = y_held[j_lane]
  else:
    var y_held[8]
    simd for j_lane in 0 .. j_points:
      y_held[j_lane] = 0.0f32
    for i in 0 .. N:
      simd for j_lane in 0 .. j_points:
        y_held[j_lane] += x[i, j_from + j_lane]
    simd for j_lane in 0 .. j_points:
      y[j_from + j_lane] = y_held[j_lane]
)");
}

TEST(Tile, UnrolledRowsHaveVariablesOfTheirOwn) {
  EXPECT_EQ(loops_of("def mv(a: f32[I, K], x: f32[K]) -> y { y[i] = sum(k) a[i, k] * x[k] }", "0/2c | 1s 0u"),
            R"(# y  (test.twill:1:40)
cores for i_tile in 0 .. I step 2:
  let i_end = min(i_tile + 2, I)
  if i_end - i_tile == 2:
    var y_held_0 = 0.0f32
    var y_held_1 = 0.0f32
    simd for k in 0 .. K:
      y_held_0 += a[i_tile, k] * x[k]
      y_held_1 += a[i_tile + 1, k] * x[k]
    y[i_tile] = y_held_0
    y[i_tile + 1] = y_held_1
  else:
    for i in i_tile .. i_end:
      var y_held_0 = 0.0f32
      simd for k in 0 .. K:
        y_held_0 += a[i, k] * x[k]
      y[i] = y_held_0
)");
}

TEST(Tile, WhatFoldsOutsideHaveSummedUpIsContinued) {
  const std::string loops = loops_of(matmul, "2/16 1/8 0/2 | 2 1s 0u");
  EXPECT_THAT(loops, HasSubstr(R"(
          simd for j_lane in 0 .. 8:
            c_held_0[j_lane] = c[i_tile, j_tile + j_lane]
            c_held_1[j_lane] = c[i_tile + 1, j_tile + j_lane]
)"));
  // Tiles must not overlap then.
  EXPECT_THAT(loops, Not(HasSubstr("j_from")));
}

TEST(Tile, LanesAreVectorsInC) {
  const std::string text = c_of(matmul, "0/2 1/32 | 2 1s 0u");
  EXPECT_THAT(
      text, HasSubstr("typedef float twill_f32x16 __attribute__((vector_size(64), aligned(4), may_alias));"));
  EXPECT_THAT(text, HasSubstr("twill_f32x16 c_held_0_v0, c_held_0_v1;"));
  EXPECT_THAT(text, HasSubstr("c_held_0_v0 = 0.0f - (twill_f32x16){0};"));
  EXPECT_THAT(
      text,
      HasSubstr("c_held_1_v1 += a[(i_tile + 1) * K + k] * *(const twill_f32x16 *)&b[k * J + j_from + 16];"));
  EXPECT_THAT(text, HasSubstr("*(twill_f32x16 *)&c[(i_tile + 1) * J + j_from + 16] = c_held_1_v1;"));
}

TEST(Tile, WiderAccumulatorsNeedNarrowerVectors) {
  const std::string text = c_of("def s(x: f32[N, M]) -> y { y[j] = sum(i) f64(x[i, j]) }", "0/16 | 1 0s");
  EXPECT_THAT(text,
              HasSubstr("y_held_v1 += __builtin_convertvector(*(const twill_f32x8 *)&x[i * M + j_from + 8], "
                        "twill_f64x8);"));
}

TEST(Tile, WhatVectorTypesCannotSayStaysALoop) {
  const std::string text = c_of("def s(x: f32[N, M]) -> y { y[j] = max(i) x[i, j] }", "0/16 | 1 0s");
  EXPECT_THAT(text, HasSubstr("float y_held[16];"));
  EXPECT_THAT(text, Not(HasSubstr("vector_size")));
}

TEST(Tile, EverySizeAgrees) {
  for (const bool strict : {false, true}) {
    for (const char* chain :
         {"0/8c 1/32 | 2 1s 0u", "1/32 0/4 | 2 1s 0u", "0/3 1/4 | 2 0 1", "0/2 1/2 | 2 0u 1u",
          "2/8 0/4 1/16 | 2 1s 0u", "0 1/16 | 2 1s", "0/5 1/3 2 0u 1u"})
      agrees(matmul, chain, strict, cubes);
    for (const char* chain : {"0/4c 1/32 | 2 3 1s 0u", "1/16 0/2 | 2 3 1s 0u"})
      agrees(conv, chain, strict,
             {{40, 70, 5, 5}, {7, 9, 3, 2}, {37, 33, 1, 1}, {4, 100, 4, 3}, {3, 3, 5, 5}});
  }
  agrees(conv, "0/4 1/32 | 2/4 3 1s 0u 2u", false,
         {{40, 70, 5, 5}, {7, 9, 3, 2}, {19, 45, 9, 2}, {3, 3, 5, 5}});
}

TEST(Tile, EveryTypeAgrees) {
  for (const char* type : {"f64", "i32", "u8", "i64"}) {
    const std::string text = "def f(a: " + std::string(type) + "[I, K], b: " + type +
                             "[K, J]) -> c { c[i, j] = sum(k) (a[i, k] * b[k, j] - a[i, k]) }";
    agrees(text, "0/4 1/16 | 2 1s 0u", true, cubes);
  }
  agrees("def f(a: f32[I, K], b: f32[K, J]) -> c { c[i, j] = max(k) min(a[i, k], b[k, j]) }",
         "0/4 1/16 | 2 1s 0u", true, cubes);
}

/// A plan that writes the only output past the caches, whatever its size.
Compilation streamed(const std::string& text, bool strict, std::string stop = {}) {
  Program program = parse_program("test.twill", text);
  program.strict = strict;
  Options options;
  options.plan = default_plan(program, two_cores()).plan;
  options.plan->blocks.front().clusters.front().stores = {{0, 0, Keep::Full, 0}};
  options.stop_after = std::move(stop);
  return compile(std::make_shared<const Program>(program), two_cores(), options);
}

const char* const blur =
    "def blur(x: f32[H, W]) -> y { y[i, j] = 0.25 * x[i, clamp(j-1)] + 0.5 * x[i, j] + 0.25 * x[i, "
    "clamp(j+1)] }";
const char* const border =
    "def step(u: f32[H, W]) -> v { v[y, x] into u = u[y, x-1] + u[y, x+1] where 0 < x < W - 1 }";
const char* const gathered =
    "def step(u: f32[H, W], p: i64[H]) -> v { v[y, x] into u = u[y, x-1] + u[p[y] % 3, x] where 0 < x < W - "
    "1 }";

TEST(Strips, AwayFromBordersHaveAKnownNumberOfPoints) {
  EXPECT_THAT(print_loops(*streamed(blur, false, "nest").nest), HasSubstr(R"(
      simd for j_lane in 0 .. 128:
        y_strip[j_lane] = 0.25 * x[i, j_strip + j_lane - 1] + 0.5 * x[i, j_strip + j_lane] + 0.25 * x[i, j_strip + j_lane + 1]
)"));
  EXPECT_THAT(print_loops(*streamed(gathered, false, "nest").nest),
              HasSubstr("if x_end - x_strip == 128 and 1 <= x_strip and x_end <= W - 1:"));
  // Without borders there is nothing to tell apart.
  EXPECT_THAT(print_loops(*streamed("def f(x: f32[N]) -> y { y[i] = 2 * x[i] }", false, "nest").nest),
              Not(HasSubstr("128:")));
}

TEST(Strips, AtTheBorderOfABoxAreMendedWhereMemoryGoesOn) {
  const std::string loops = print_loops(*streamed(border, false, "nest").nest);
  EXPECT_THAT(loops, HasSubstr("if x_end - x_strip == 128 and (1 < W - 1 and 0 < y and y + 1 < H):"));
  EXPECT_THAT(loops, HasSubstr("for e in x_strip .. min(max(x_strip, 1), x_end):"));
}

TEST(Strips, EverySizeAgrees) {
  for (const char* text : {blur, border}) {
    const Compilation compilation = streamed(text, true);
    for (const std::int64_t width : {0, 1, 2, 5, 127, 128, 129, 130, 257, 400, 1000}) {
      const std::vector<Data> inputs{random_data(Scalar::F32, {3, width}, 1)};
      const Data got = compilation.kernel->run(inputs).results[0],
                 want = interpret(*compilation.program, inputs).results[0];
      EXPECT_EQ(width > 0 ? max_error(got, want) : 0, 0) << text << " at " << width;
    }
  }
}

/// The whole default plan of a program, on a machine whose caches hold nothing.
Compilation planned(const std::string& text, const std::function<void(Cluster&)>& change,
                    std::string stop = {}) {
  Program program = parse_program("test.twill", text);
  program.strict = true;
  Options options;
  options.plan = default_plan(program, two_cores()).plan;
  Cluster& cluster = options.plan->blocks.front().clusters.front();
  for (Store& store : cluster.stores) store.stream_above = 0;
  for (Ahead& ahead : cluster.ahead) ahead.above = 0;
  change(cluster);
  options.stop_after = std::move(stop);
  return compile(std::make_shared<const Program>(program), two_cores(), options);
}

const auto as_it_is = [](Cluster&) {};

const char* const cross =
    "def cross(x: f32[H, W]) -> y { y[i, j] = x[clamp(i-1), j] + x[i, clamp(j+1)] + x[clamp(i+1), j] }";
const char* const planes =
    "def planes(u: f32[Z, H, W]) -> v { v[z, y, x] = u[clamp(z-1), y, x] + u[z, clamp(y-1), x] + "
    "u[z, clamp(y+1), x] + u[clamp(z+1), y, x] }";
const char* const filter =
    "def filter(x: f32[H, W], f: f32[5, 5]) -> y { y[p < H - 4, q < W - 4] = sum(r, s) x[p + r, q + s] * "
    "f[r, s] }";

int count_of(const std::string& text, const std::string& part) {
  int count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// Rows that the next step reads and this one does not: of four rows at a time, four; of planes, the row of
/// the next plane, but not those that the loop over rows leads to.
TEST(Ahead, FetchesWhatIsReadForTheFirstTime) {
  const std::string rows = print_loops(*planned(cross, as_it_is, "nest").nest);
  for (const char* row : {"i_tile + 4 + 1", "i_tile + 1 + 4 + 1", "i_tile + 2 + 4 + 1", "i_tile + 3 + 4 + 1"})
    EXPECT_THAT(rows, HasSubstr("fetch x[max(min(" + std::string(row) + ", H - 1), 0), "));
  // The last of a block's rows are computed one by one.
  EXPECT_EQ(count_of(rows, "fetch "), 5);

  const std::string by_planes = print_loops(*planned(planes, as_it_is, "nest").nest);
  EXPECT_THAT(by_planes, HasSubstr("fetch u[max(min(z + 1 + 1, Z - 1), 0), max(min(y, H - 1), 0), "));
  EXPECT_EQ(count_of(by_planes, "fetch "), 1);

  // Further ahead along the rows of a plane: nothing that another plane has led to.
  const auto along_rows = [](Cluster& cluster) { cluster.ahead = {{0, 1, 3, 0}}; };
  const std::string further = print_loops(*planned(planes, along_rows, "nest").nest);
  EXPECT_THAT(further, HasSubstr("fetch u[max(min(z + 1, Z - 1), 0), max(min(y + 3, H - 1), 0), "));
  EXPECT_EQ(count_of(further, "fetch "), 1);
}

/// A filter whose size is known: four rows at once, each with an accumulator of its own, and no tile of
/// lanes.
TEST(Ahead, RowsOfAFilterAreHeldSideBySide) {
  const std::string loops = print_loops(*planned(filter, as_it_is, "nest").nest);
  EXPECT_THAT(loops, HasSubstr("var y_held_3 = 0.0f32"));
  EXPECT_THAT(loops, HasSubstr("step 4:"));
  EXPECT_EQ(count_of(loops, "fetch "), 5);
}

/// Rows of different lengths, so that cache lines end at different places in rows that are written together.
TEST(Ahead, EverySizeAgrees) {
  for (const char* text : {cross, planes, filter}) {
    const Compilation compilation = planned(text, as_it_is);
    const bool is_filter = compilation.program->inputs.size() > 1;
    const std::size_t rank = (*compilation.program)[compilation.program->inputs[0].array].rank();
    for (const std::int64_t width : {0, 1, 3, 16, 17, 127, 129, 144, 150, 517, 1030}) {
      std::vector<std::int64_t> shape(rank, 11);
      shape.back() = width;
      std::vector<Data> inputs{random_data(Scalar::F32, shape, 1)};
      if (is_filter) inputs.push_back(random_data(Scalar::F32, {5, 5}, 2));
      const Data got = compilation.kernel->run(inputs).results[0],
                 want = interpret(*compilation.program, inputs).results[0];
      EXPECT_EQ(got.count() > 0 ? max_error(got, want) : 0, 0) << text << " at " << width;
    }
  }
}

TEST(Ahead, IsRefusedWhereNoRowsAreRunAlong) {
  const auto refusal = [](const char* text, Ahead ahead) -> std::string {
    try {
      planned(
          text, [&](Cluster& cluster) { cluster.ahead = {ahead}; }, "nest");
    } catch (const Error& error) {
      return error.diagnostics().front().message;
    }
    return "legal";
  };
  EXPECT_EQ(refusal(cross, {0, 0, 2, 0}), "legal");
  EXPECT_EQ(refusal(cross, {0, 1, 2, 0}),
            "the plan is illegal (illegal-ahead): the rows run along 'j' themselves");
  EXPECT_EQ(refusal(cross, {0, 2, 2, 0}),
            "the plan is illegal (illegal-ahead): a dimension that does not exist is read ahead");
  EXPECT_EQ(refusal(cross, {0, 0, 65, 0}),
            "the plan is illegal (illegal-ahead): rows are read 65 points ahead, not 1 to 64");
  EXPECT_EQ(refusal("def f(x: f32[H, W]) -> y { y[i] = sum(j) x[i, j] }", {0, 0, 1, 0}),
            "the plan is illegal (illegal-ahead): 'y' is combined along 'j'");
}

}  // namespace
}  // namespace twill
