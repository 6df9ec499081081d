// The C++ front end in index notation: it builds the same programs as the text, and reports mistakes with the
// C++ line.
#include "import/twill.h"

#include "api_testing.h"
#include "program/interpret.h"

namespace twill {
namespace {

TEST(Api, Dot) {
  Def f("dot");
  auto N = f.size("N");
  auto a = f.input("a", f32, {N}), b = f.input("b", f32, {N});
  auto s = f.array("s");
  Index i("i");
  s() = sum(i, a(i) * b(i));
  f.result(s);
  expect_same(f.program(), "def dot(a: f32[N], b: f32[N]) -> s { s = sum(i) a[i] * b[i] }");
}

TEST(Api, Matmul) {
  Def f("matmul");
  auto [I, J, K] = f.sizes("I", "J", "K");
  auto a = f.input("a", f32, {I, K}), b = f.input("b", f32, {K, J});
  auto c = f.array("c");
  Index i("i"), j("j"), k("k");
  c(i, j) = sum(k, a(i, k) * b(k, j));
  f.result(c);
  expect_same(f.program(),
              "def matmul(a: f32[I, K], b: f32[K, J]) -> c { c[i, j] = sum(k) a[i, k] * b[k, j] }");
}

TEST(Api, UnsharpWithDefaultAndChoice) {
  Def f("unsharp");
  auto [H, W] = f.sizes("H", "W");
  auto img = f.input("img", f32, {H, W});
  auto amount = f.input_or("amount", f32, 1.5);
  auto w = f.constant("w", {0.0625, 0.25, 0.375, 0.25, 0.0625});
  auto [bx, by, sharp] = f.arrays("bx", "by", "sharp");
  Index y("y"), x("x"), k("k");
  bx(y, x) = sum(k < 5, w(k) * img(y, clamp(x + k - 2)));
  by(y, x) = sum(k < 5, w(k) * bx(clamp(y + k - 2), x));
  sharp(y, x) =
      select(abs(img(y, x) - by(y, x)) < 0.001, img(y, x), (1 + amount) * img(y, x) - amount * by(y, x));
  f.result(sharp);
  expect_same(f.program(), R"(def unsharp(img: f32[H, W], amount: f32 = 1.5) -> sharp {
    w = [0.0625, 0.25, 0.375, 0.25, 0.0625]
    bx[y, x]    = sum(k < 5) w[k] * img[y, clamp(x + k - 2)]
    by[y, x]    = sum(k < 5) w[k] * bx[clamp(y + k - 2), x]
    sharp[y, x] = if abs(img[y, x] - by[y, x]) < 0.001 then img[y, x]
                  else (1 + amount) * img[y, x] - amount * by[y, x]
  })");
}

TEST(Api, TypedConstantsAndSeveralFoldIndices) {
  Def f("sobel");
  auto [H, W] = f.sizes("H", "W");
  auto img = f.input("img", f32, {H, W});
  auto kx = f.constant("kx", f32, {{-1, 0, 1}, {-2, 0, 2}, {-1, 0, 1}});
  auto g = f.array("g");
  Index y("y"), x("x"), k("k"), l("l");
  g(y, x) = sum(k < 3, l < 3, kx(k, l) * img(clamp(y + k - 1), mirror(x + l - 1)));
  f.result(g);
  expect_same(f.program(), R"(def sobel(img: f32[H, W]) -> g {
    kx: f32[3, 3] = [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]
    g[y, x] = sum(k < 3, l < 3) kx[k, l] * img[clamp(y + k - 1), mirror(x + l - 1)]
  })");
}

TEST(Api, BoundariesRangesAndBounds) {
  Def f("edges");
  auto [H, W] = f.sizes("H", "W");
  auto u = f.input("u", f32, {H, W});
  auto [d, l, e] = f.arrays("d", "l", "e");
  Index y("y"), x("x");
  d(y < H / 2, x < W / 2) = (u(2 * y, 2 * x) + u(2 * y + 1, 2 * x + 1)) / 2;
  l(y, x) = u(wrap(y - 1), x) + u(y, pad(x - 1)) + u(y, pad(x + 1, 2.0)) - 4 * u(y, x);
  e(y, x).into(u).where(0 < y && y < H - 1) = 0.5 * (u(y - 1, x) + u(y + 1, x));
  f.result(d, l, e);
  expect_same(f.program(), R"(def edges(u: f32[H, W]) -> (d, l, e) {
    d[y < H / 2, x < W / 2] = (u[2*y, 2*x] + u[2*y+1, 2*x+1]) / 2
    l[y, x] = u[wrap(y-1), x] + u[y, pad(x-1)] + u[y, pad(x+1, 2.0)] - 4 * u[y, x]
    e[y, x] into u = 0.5 * (u[y-1, x] + u[y+1, x]) where 0 < y < H - 1
  })");
}

TEST(Api, LiftedFoldsGuardsAndTriangles) {
  Def f("folds");
  auto [N, R, Z] = f.sizes("N", "R", "Z");
  auto x = f.input("x", f64, {N});
  auto a = f.input("a", f64, {N, N});
  auto ptr = f.input("ptr", i32, {R + 1});
  auto v = f.input("v", f64, {Z});
  auto [share, lower, positive, mean] = f.arrays("share", "lower", "positive", "mean");
  Index i("i"), j("j"), r("r"), p("p");
  share(i) = x(i) / sum(j, x(j));
  lower(i) = sum(j <= i, a(i, j));
  positive() = sum(i, x(i) > 0, x(i));
  mean(r) = select(ptr(r) < ptr(r + 1), sum(in(p, ptr(r), ptr(r + 1)), v(p)) / (ptr(r + 1) - ptr(r)), 0.0);
  f.result(share, lower, positive, mean);
  expect_same(
      f.program(),
      R"(def folds(x: f64[N], a: f64[N, N], ptr: i32[R + 1], v: f64[Z]) -> (share, lower, positive, mean) {
    share[i] = x[i] / sum(j) x[j]
    lower[i] = sum(j <= i) a[i, j]
    positive = sum(i, x[i] > 0) x[i]
    mean[r] = if ptr[r] < ptr[r + 1] then (sum(p in ptr[r] .. ptr[r + 1]) v[p]) / (ptr[r + 1] - ptr[r]) else 0.0
  })");
}

TEST(Api, RecordsOperatorsAndFunctions) {
  const RecordType match = record("Match", {{"id", i64}, {"weight", f64}});
  const Op better =
      op("better", match, match({{"id", highest(i64)}, {"weight", -inf}}),
         [](Value a, Value b) {
           return select(a["weight"] > b["weight"] || (a["weight"] == b["weight"] && a["id"] < b["id"]), a,
                         b);
         })
          .associative()
          .commutative();
  const Fn square = fn("square", {{"a", f64}}, [](Value a) { return a * a; });
  const Fn norm =
      fn("norm", {{"a", f64}, {"b", f64}}, [&](Value a, Value b) { return sqrt(square(a) + square(b)); });
  Def f("link");
  auto [N, M] = f.sizes("N", "M");
  auto w = f.input("w", f64, {N, M});
  auto id = f.input("id", i64, {M});
  auto [best, pairs] = f.arrays("best", "pairs");
  Index n("n"), e("e");
  best(n) = fold(better, e, match({{"id", id(e)}, {"weight", norm(w(n, e), 2)}}));
  pairs(n) = tuple(best(n)["id"], let("t", best(n)["weight"], [](Value t) { return t * t; }));
  f.result(best, pairs);
  expect_same(f.program(), R"(
    type Match = { id: i64, weight: f64 }
    op better(a: Match, b: Match) -> Match associative commutative {
      identity { id: max(i64), weight: -inf }
      if a.weight > b.weight or (a.weight == b.weight and a.id < b.id) then a else b
    }
    fn square(a: f64) = a * a
    fn norm(a: f64, b: f64) = sqrt(square(a) + square(b))
    def link(w: f64[N, M], id: i64[M]) -> (best, pairs) {
      best[n] = fold(better, e) { id: id[e], weight: norm(w[n, e], 2) }
      pairs[n] = (best[n].id, let t = best[n].weight in t * t)
    })");
}

TEST(Api, ScansAndRecurrences) {
  Def f("running");
  auto [N, M] = f.sizes("N", "M");
  auto b = f.input("b", f32, {N});
  auto cost = f.input("cost", i64, {N, M});
  auto n = f.input("n", i64);
  auto [c, r, x, d, p, q] = f.arrays("c", "r", "x", "d", "p", "q");
  Index i("i"), j("j");
  c(i) = scan("+", i, b(i));
  r(i) = scan_right("max", i, b(i));
  x(i) = seq(i, 0.5 * (b(i) + select(i > 0, x(i - 1), 0)));
  d(i, j) = seq(i, j, cost(i, j) + select(i > 0 && j > 0, min(d(i - 1, j), d(i, j - 1)), 0));
  together(p(i < n), q(i)) = seq(i, tuple(select(i > 0, q(i - 1), 0), select(i > 0, p(i - 1) + q(i - 1), 1)));
  f.result(c, r, x, d, p, q);
  expect_same(f.program(), R"(def running(b: f32[N], cost: i64[N, M], n: i64) -> (c, r, x, d, p, q) {
    c[i] = scan(+, i) b[i]
    r[i] = scan_right(max, i) b[i]
    x[i] = seq(i) 0.5 * (b[i] + (if i > 0 then x[i-1] else 0))
    d[i, j] = seq(i, j) cost[i, j] + (if i > 0 and j > 0 then min(d[i-1, j], d[i, j-1]) else 0)
    (p[i < n], q[i]) = seq(i) (if i > 0 then q[i-1] else 0, if i > 0 then p[i-1] + q[i-1] else 1)
  })");
}

TEST(Api, LoopsWithOneAndSeveralStates) {
  Def f("loops");
  auto N = f.size("N");
  auto u0 = f.input("u0", f32, {N}), v0 = f.input("v0", f32, {N});
  auto T = f.input("T", i32);
  auto a = f.input("a", f64);
  auto [u, v, r, w, n] = f.arrays("u", "v", "r", "w", "n");
  Index t("t"), i("i"), step("step");
  f.seq(t < T, {{u, u0}, {v, v0}}, [&] {
    v(i) = v(i) + 0.1 * (u(clamp(i - 1)) - 2 * u(i) + u(clamp(i + 1)));
    u(i).where(0 < i) = u(i) + 0.1 * v(i);
  });
  f.seq_while(abs(r * r - a) > 1e-12, {{r, a}}, [&] { r() = 0.5 * (r + a / r); });
  f.seq_while(step, step < 3 && n < 10, {{w, u}, {n, 0}}, [&] {
    w(i) = 2 * w(i);
    n() = n + step;
  });
  f.result(u, v, r, w, n);
  expect_same(f.program(), R"(def loops(u0: f32[N], v0: f32[N], T: i32, a: f64) -> (u, v, r, w, n) {
    (u, v) = seq t < T from (u0, v0) {
      v[i] = v[i] + 0.1 * (u[clamp(i-1)] - 2 * u[i] + u[clamp(i+1)])
      u[i] = u[i] + 0.1 * v[i] where 0 < i
    }
    r = seq while abs(r*r - a) > 1e-12 from a { r = 0.5 * (r + a / r) }
    (w, n) = seq step while step < 3 and n < 10 from (u, 0) { w[i] = 2 * w[i]; n = n + step }
  })");
}

TEST(Api, ScattersAndNewVersions) {
  Def f("scatters");
  auto [N, M] = f.sizes("N", "M");
  auto x = f.input("x", u8, {N});
  auto y = f.input("y", f32, {N});
  auto p = f.input("p", i32, {M});
  auto v = f.input("v", f32, {M});
  auto [h, t, put, add, acc] = f.arrays("h", "t", "put", "add", "acc");
  Index i("i"), j("j");
  h().as(i64, {256}) = scatter("+", at(x(i)), 1, i);
  t().as(f32, {16, 16}) = scatter(at(x(i) % 16, x(i) / 16), y(i), i, y(i) > 0);
  put() = with(y, at(p(j)), v(j), j);
  add() = with(y, "+", at(p(j)), v(j), j);
  acc(i).onto(y) = sum(j, y(i) * v(j));
  f.result(h, t, put, add, acc);
  expect_same(f.program(),
              R"(def scatters(x: u8[N], y: f32[N], p: i32[M], v: f32[M]) -> (h, t, put, add, acc) {
    h: i64[256] = scatter(+) { x[i] <- 1 | i }
    t: f32[16, 16] = scatter { [x[i] % 16, x[i] / 16] <- y[i] | i, y[i] > 0 }
    put = y with { p[j] <- v[j] | j }
    add = y with(+) { p[j] <- v[j] | j }
    acc[i] onto y = sum(j) y[i] * v[j]
  })");
}

TEST(Api, CollectionsAndGroups) {
  const RecordType order = record("Order", {{"id", i64}, {"customer", i32}, {"amount", f64}});
  Def f("orders");
  auto o = f.input("o", order, {f.size("N")});
  auto x2 = f.input("x2", i32, {f.size("A"), f.size("B")});
  auto n = f.input("n", i32);
  auto [big, sums, g, m, pairs, rows, count] = f.arrays("big", "sums", "g", "m", "pairs", "rows", "count");
  Index x("x"), b("b"), j("j"), i("i"), row("row"), v("v"), r("r");
  big() = collect(x["id"], in(x, o), x["amount"] > 1000.0);
  sums() = group("+", x["customer"], x["amount"], in(x, o));
  g() = group(x["customer"], x["amount"], in(x, o));
  m(b) = sum(j, g(b)(j)) / len(g(b));
  pairs() = collect(tuple(i, j), in(i, 0, n), in(j, 0, i), (i + j) % 3 == 1);
  rows() = collect(collect(v, in(v, row), v > 0), in(row, x2));
  count(r) = len(rows(r));
  f.result(big, sums, g.keys(), m, pairs, rows, count);
  expect_same(f.program(), R"(
    type Order = { id: i64, customer: i32, amount: f64 }
    def orders(o: Order[N], x2: i32[A, B], n: i32) -> (big, sums, g.keys, m, pairs, rows, count) {
      big = [ x.id | x in o, x.amount > 1000.0 ]
      sums = group(+) [ (x.customer, x.amount) | x in o ]
      g = group [ (x.customer, x.amount) | x in o ]
      m[b] = (sum(j) g[b][j]) / len(g[b])
      pairs = [ (i, j) | i in 0 .. n, j in 0 .. i, (i + j) % 3 == 1 ]
      rows = [ [ v | v in row, v > 0 ] | row in x2 ]
      count[r] = len(rows[r])
    })");
}

TEST(Api, ChoiceEffectsHintsTypesAndForce) {
  Def f("misc");
  f.strict();
  auto N = f.size("N");
  auto x = f.input("x", f32, {N});
  auto k = f.input("k", i32, {N});
  auto how = f.input("how", i32);
  auto [s, y, h, z, any_big, bits] = f.arrays("s", "y", "h", "z", "any_big", "bits");
  Index i("i"), e("e");
  f.choose(
      how == 0,
      [&] {
        s() = sum(i, x(i));
        y(i) = x(i) / s;
      },
      [&] { y(i) = -x(i); });
  f.print({"how", how}, {}, how > 0);
  f.print({"negative", e}, {in(e, k), e < 0});
  h(i).as(f16).never().recompute() = y(i);
  f.force(h);
  z(i) = f64(h(i)) + i32(k(i)) % 3;
  any_big() = (any(i, x(i) > 10) && !all(i, x(i) > 0)) || is_nan(sum(i, x(i)));
  bits(i) = ((k(i) & 255) | (k(i) << 2)) ^ ~(k(i) >> 1);
  f.result(y, z, any_big, bits);
  expect_same(f.program(), R"(strict def misc(x: f32[N], k: i32[N], how: i32) -> (y, z, any_big, bits) {
    if how == 0 { s = sum(i) x[i]; y[i] = x[i] / s } else { y[i] = -x[i] }
    print("how", how) where how > 0
    for e in k, e < 0 { print("negative", e) }
    @never @recompute
    h[i]: f16 = y[i]
    force(h)
    z[i] = f64(h[i]) + i32(k[i]) % 3
    any_big = any(i) x[i] > 10 and not all(i) x[i] > 0 or is_nan(sum(i) x[i])
    bits[i] = xor(bit_or(bit_and(k[i], 255), shl(k[i], 2)), bit_not(shr(k[i], 1)))
  })");
}

TEST(Api, CallsOfOtherDefinitions) {
  Def blur("blur");
  auto x = blur.input("x", f32, {blur.size("N")});
  auto y = blur.array("y");
  Index i("i");
  y(i) = (x(clamp(i - 1)) + x(i) + x(clamp(i + 1))) / 3;
  blur.result(y);
  Def twice("twice");
  auto u = twice.input("u", f32, {twice.size("N")});
  auto z = twice.array("z");
  z() = blur(blur(u));
  twice.result(z);
  const Module module = parse("test.twill", R"(
def blur(x: f32[N]) -> y { y[i] = (x[clamp(i-1)] + x[i] + x[clamp(i+1)]) / 3 }
def twice(u: f32[N]) -> z { z = blur(blur(u)) })");
  EXPECT_TRUE(same(twice.program(), *module.find("twice")));
  EXPECT_TRUE(same(blur.program(), *module.find("blur")));
}

// A while loop at each point: the general stage with a block.
TEST(Api, MandelbrotIsAStageWithABlock) {
  Def f("mandelbrot");
  auto [H, W] = f.sizes("H", "W");
  auto cr = f.input("cr", f64, {H, W}), ci = f.input("ci", f64, {H, W});
  auto [zr, zi, n, steps] = f.arrays("zr", "zi", "n", "steps");
  Index y("y"), x("x");
  f.stage("steps", {y < H, x < W},
          [&] {
            auto [re, im] = f.arrays("re", "im");
            f.seq_while(zr * zr + zi * zi < 4.0 && n < 50, {{zr, 0.0}, {zi, 0.0}, {n, i32(0)}}, [&] {
              re() = zr * zr - zi * zi + cr(y, x);
              im() = 2 * zr * zi + ci(y, x);
              zr() = re;
              zi() = im;
              n() = n + 1;
            });
          },
          {{steps(y, x).as(i32, {H, W}), {cat, cat}, n}});
  f.result(steps);
  const Program program = f.program();
  expect_same(program, R"(def mandelbrot(cr: f64[H, W], ci: f64[H, W]) -> steps {
    stage steps(y < H, x < W) {
      block {
        (zr, zi, n) = seq while zr * zr + zi * zi < 4.0 and n < 50 from (0.0, 0.0, i32(0)) {
          re = zr * zr - zi * zi + cr[y, x]
          im = 2 * zr * zi + ci[y, x]
          zr = re
          zi = im
          n = n + 1
        }
      }
      out steps: i32[H, W] at [y, x] = cat(y) cat(x) n
    }
  })");
}

// ---- values -------------------------------------------------------------------------------------------

Data floats(std::vector<std::int64_t> shape, const std::vector<double>& values) {
  Data data(Scalar::F64, std::move(shape));
  std::copy(values.begin(), values.end(), data.as<double>().begin());
  return data;
}

// Twice: add half of the left neighbour.
TEST(Api, ProgramsRun) {
  Def f("f");
  auto u = f.input("u", f64, {f.size("N")});
  auto n = f.input_or("n", i32, 2);
  auto v = f.array("v");
  Index t("t"), i("i");
  f.seq(t < n, {{v, u}}, [&] { v(i) = v(i) + v(clamp(i - 1)) / 2; });
  f.result(v);
  const std::vector<Data> inputs = {floats({3}, {4, 8, 16})};
  EXPECT_TRUE(identical(interpret(f.program(), inputs).results.at(0), floats({3}, {9, 13, 25})));
}

// ---- places and mistakes ------------------------------------------------------------------------------

TEST(Api, StagesKnowTheirLine) {
  Def f("f");
  auto x = f.input("x", f32, {f.size("N")});
  auto y = f.array("y");
  Index i("i");
  const Value e = exp(x(i));
  y(i) = x(i) + e;
  f.result(y);
  const Program program = f.program();
  ASSERT_EQ(program.stages.size(), 1u);
  EXPECT_EQ(source_line(program.stages[0].place), "y(i) = x(i) + e;");
  const Expr sum = program.stages[0].outputs[0].value;
  EXPECT_EQ(source_line(sum->place), "y(i) = x(i) + e;");
  EXPECT_EQ(source_line(sum->args[1]->place), "const Value e = exp(x(i));");
}

struct Mistakes : testing::Test {
  Def f{"f"};
  Value N = f.size("N");
  Var x = f.input("x", f32, {N, N});
  Var y = f.array("y");
  Index i{"i"}, j{"j"};

  std::string error() {
    return error_of([&] {
      f.result(y);
      f.program();
    });
  }
};

TEST_F(Mistakes, TypeErrorAtTheOperator) {
  y(i, j) = 1 + (x(i, j) > 0);
  EXPECT_EQ(error(),
            "<y(i, j) = 1 + (x(i, j) > 0);>: error[E0220]: '+' does not take 'i64' and 'bool'\n"
            "  help: bool is not a number: convert it, for example i32(x)\n");
}

TEST_F(Mistakes, WrongRank) {
  y(i) = x(i);
  EXPECT_EQ(error(), "<y(i) = x(i);>: error[E0232]: 'x' has 2 dimensions, not 1\n  help: write x[i, j]\n");
}

TEST_F(Mistakes, NothingTellsTheExtent) {
  y(i, j) = x(i + 1, j);
  EXPECT_EQ(error(),
            "<y(i, j) = x(i + 1, j);>: error[E0233]: nothing tells how far 'i' runs\n"
            "  help: no array has 'i' alone as a subscript; write i < N\n");
}

TEST_F(Mistakes, IndexThatIsNotDeclared) {
  Index k("k");
  y(i) = x(i, k);
  EXPECT_EQ(error(),
            "<y(i) = x(i, k);>: error[E0201]: unknown name 'k'\n"
            "  help: an index stands on the left of '=' or in a fold: sum(k) ...\n");
}

TEST_F(Mistakes, ResultThatNothingDefines) {
  EXPECT_EQ(error(),
            "<f.result(y);>: error[E0208]: the result 'y' is never defined\n"
            "  help: define it: y = ...\n");
}

TEST_F(Mistakes, RangeUsedAsAValue) {
  const auto mistake = [&] { y() = exp(in(i, 0, 5)); };
  EXPECT_EQ(error_of(mistake),
            "<y() = exp(in(i, 0, 5));>: error[E0271]: 'in' says what 'i' ranges over; it is not a value\n"
            "  help: use it on the left of a definition, in a fold or in a collection, and 'i' in the "
            "expression\n");
}

TEST_F(Mistakes, ArraysOfTwoDefinitions) {
  Def g("g");
  auto z = g.input("z", f32, {g.size("N")});
  const auto mistake = [&] { y(i) = x(i, i) + z(i); };
  EXPECT_EQ(
      error_of(mistake),
      "<y(i) = x(i, i) + z(i);>: error[E0273]: this expression uses arrays of two definitions, 'f' and 'g'\n"
      "  help: pass the array of the other definition as an input, or call that definition\n");
}

TEST_F(Mistakes, FunctionThatSeesADefinition) {
  const auto mistake = [&] { fn("shift", {{"a", f32}}, [&](Value a) { return a + x(0, 0); }); };
  EXPECT_EQ(error_of(mistake),
            "<fn(\"shift\", {{\"a\", f32}}, [&](Value a) { return a + x(0, 0); });>: error[E0276]: "
            "the function 'shift' uses an array or a size of the definition 'f'\n"
            "  help: pass it as an argument: functions and operators see their parameters only\n");
}

TEST_F(Mistakes, EffectInAnOperator) {
  const auto mistake = [&] { op("bad", f32, [&](Value a, Value b) { return f.print({a}), a + b; }); };
  EXPECT_EQ(error_of(mistake),
            "<op(\"bad\", f32, [&](Value a, Value b) { return f.print({a}), a + b; });>: error[E0115]: "
            "the effect 'print' cannot happen in the operator 'bad', which is a value\n"
            "  help: let a statement of its own go through the elements: xs.print(...)\n");
}

TEST_F(Mistakes, EffectOfAKindOfItsOwnInAnOperator) {
  const auto mistake = [&] { op("bad", f32, [&](Value a, Value b) { return f.effect("log", {a}), a + b; }); };
  EXPECT_EQ(
      error_of(mistake),
      "<op(\"bad\", f32, [&](Value a, Value b) { return f.effect(\"log\", {a}), a + b; });>: error[E0115]: "
      "the effect 'log' cannot happen in the operator 'bad', which is a value\n"
      "  help: let a statement of its own go through the elements: xs.effect(...)\n");
}

TEST_F(Mistakes, StatementInAFunction) {
  const auto mistake = [&] { fn("half", {{"a", f32}}, [&](Value a) { return y() = a, a / 2; }); };
  EXPECT_EQ(error_of(mistake),
            "<fn(\"half\", {{\"a\", f32}}, [&](Value a) { return y() = a, a / 2; });>: error[E0285]: "
            "a statement cannot stand in the function 'half'\n"
            "  help: a function gives a value; let the statement stand before it\n");
}

TEST_F(Mistakes, LambdaWithTooManyParameters) {
  const auto mistake = [&] { fn("add", {{"a", f32}}, [](Value a, Value b) { return a + b; }); };
  EXPECT_EQ(error_of(mistake),
            "<fn(\"add\", {{\"a\", f32}}, [](Value a, Value b) { return a + b; });>: error[E0275]: "
            "the lambda of 'add' does not take 1 value, or does not give a Value\n"
            "  help: give it one parameter of type Value for each argument\n");
}

TEST_F(Mistakes, TwoOperatorsOfOneName) {
  const Op a = op("better", f32, [](Value p, Value q) { return max(p, q); }).associative();
  const Op b = op("better", f32, [](Value p, Value q) { return min(p, q); }).associative();
  y(i) = fold(a, j, x(i, j)) + fold(b, j, x(i, j));
  EXPECT_EQ(error(),
            "<const Op b = op(\"better\", f32, [](Value p, Value q) { return min(p, q); }).associative();>: "
            "error[E0280]: two different things are called 'better'\n"
            "  help: give one of the types, functions and operators another name\n");
}

TEST_F(Mistakes, PropertiesOfABuiltInOperator) {
  const auto mistake = [&] { Op("max").commutative(); };
  EXPECT_EQ(error_of(mistake),
            "<Op(\"max\").commutative();>: error[E0284]: 'max' is built in; its properties are known\n"
            "  help: only operators made by op() declare properties\n");
}

TEST_F(Mistakes, DefinitionThatCallsItself) {
  const auto mistake = [&] { y() = f(x); };
  EXPECT_EQ(error_of(mistake),
            "<y() = f(x);>: error[E0277]: the definition 'f' calls itself\n"
            "  help: repeat with seq or seq_while\n");
}

TEST_F(Mistakes, DefinitionsThatCallEachOther) {
  Def g("g");
  auto z = g.array("z");
  z() = f(g.input("w", f32, {g.size("N"), 2}));
  const auto mistake = [&] { y() = g(x); };
  EXPECT_EQ(error_of(mistake),
            "<y() = g(x);>: error[E0277]: the definition 'f' calls itself\n"
            "  help: repeat with seq or seq_while\n");
}

TEST_F(Mistakes, LoopWithoutRange) {
  const auto mistake = [&] { f.seq(i, {{y, x}}, [&] { y(i, j) = 1; }); };
  EXPECT_EQ(
      error_of(mistake),
      "<f.seq(i, {{y, x}}, [&] { y(i, j) = 1; });>: error[E0270]: nothing says how often this loop runs\n"
      "  help: write i < n\n");
}

TEST_F(Mistakes, NotAnIndex) {
  const auto mistake = [&] { f.seq(i + 1 < 3, {{y, x}}, [&] { y(i, j) = 1; }); };
  EXPECT_EQ(error_of(mistake),
            "<f.seq(i + 1 < 3, {{y, x}}, [&] { y(i, j) = 1; });>: error[E0270]: this is not an index with "
            "its range\n"
            "  help: write i < n, or in(i, a, b)\n");
}

TEST_F(Mistakes, LoopWithoutState) {
  const auto mistake = [&] { f.seq(i < 3, {}, [&] { y(j) = 1; }); };
  EXPECT_EQ(error_of(mistake),
            "<f.seq(i < 3, {}, [&] { y(j) = 1; });>: error[E0282]: a loop without a state has no value\n"
            "  help: name what it computes and what that is before the first step: {{u, u0}}\n");
}

TEST_F(Mistakes, FailedLambdaLeavesNoHalfBlock) {
  EXPECT_THROW(f.seq(i < 3, {{y, x}}, [&] { y(i, j) = exp(in(i, 0, 3)); }), Error);
  y(i, j) = 2 * x(i, j);
  f.result(y);
  EXPECT_EQ(f.program().stages.size(), 1u);
}

TEST_F(Mistakes, StageWithoutType) {
  const auto mistake = [&] { f.stage("y", {i < N}, {{y(i), {cat}, x(i, i)}}); };
  EXPECT_EQ(error_of(mistake),
            "<f.stage(\"y\", {i < N}, {{y(i), {cat}, x(i, i)}});>: error[E0278]: "
            "the output 'y' of this stage needs its type and its shape\n"
            "  help: write y(...).as(f32, {N, M})\n");
}

TEST_F(Mistakes, ExpressionThatDoublesForever) {
  Value v = x(i, i);
  const auto mistake = [&] {
    for (int n = 0; n < 100; ++n) v = v * v;
  };
  EXPECT_EQ(error_of(mistake),
            "<for (int n = 0; n < 100; ++n) v = v * v;>: not supported[E0272]: this expression has more than "
            "a million operations when it "
            "is written out\n"
            "  help: name the parts that are used several times: let(\"a\", part, [&](Value a) { ... })\n");
}

TEST_F(Mistakes, ExpressionThatIsTooDeep) {
  Value v = x(i, i);
  const auto mistake = [&] {
    for (int n = 0; n < 1000; ++n) v = v + 1;
  };
  EXPECT_EQ(
      error_of(mistake),
      "<for (int n = 0; n < 1000; ++n) v = v + 1;>: error[E0111]: this expression is too deeply nested\n"
      "  help: define an array for a part of it, or use a fold\n");
}

TEST_F(Mistakes, NewVersionOfAnExpression) {
  const auto mistake = [&] { y(i, j).into(x + 1) = 2; };
  EXPECT_EQ(error_of(mistake),
            "<y(i, j).into(x + 1) = 2;>: error[E0274]: what a new version is made of is an array by name, "
            "not an expression\n"
            "  help: define an array first\n");
}

TEST_F(Mistakes, EmptyName) {
  const auto mistake = [] { Index k(""); };
  EXPECT_EQ(error_of(mistake),
            "<Index k(\"\");>: error[E0281]: a name is empty\n"
            "  help: arrays, sizes and indices are told apart by their names\n");
}

}  // namespace
}  // namespace twill
