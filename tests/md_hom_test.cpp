// The md_hom form: the same programs as in index notation.
#include "import/twill.h"

#include "api_testing.h"

namespace twill {
namespace {

const auto multiply = [](Value x, Value y) { return x * y; };
const auto identity = [](Value x) { return x; };

TEST(MdHom, Dot) {
  Def f("dot");
  auto N = f.size("N");
  auto a = f.input("a", f32, {N}), b = f.input("b", f32, {N});
  auto s = f.array("s");
  Index i("i");
  md_hom(f, {i}, {view(a, {i}), view(b, {i})}, multiply, {fold("+")}, {view(s, {}).as(f32)});
  f.result(s);
  expect_same(f.program(), "def dot(a: f32[N], b: f32[N]) -> s { s = sum(i) a[i] * b[i] }");
}

TEST(MdHom, MatmulWithSubscriptsAndWithLambdas) {
  const std::string text =
      "def matmul(a: f32[I, K], b: f32[K, J]) -> c { c[i, j] = sum(k) a[i, k] * b[k, j] }";
  for (const bool lambdas : {false, true}) {
    Def f("matmul");
    auto [I, J, K] = f.sizes("I", "J", "K");
    auto a = f.input("a", f32, {I, K}), b = f.input("b", f32, {K, J});
    auto c = f.array("c");
    Index i("i"), j("j"), k("k");
    if (lambdas)
      md_hom(f, {i, j, k},
             {view(a, [](Value p, Value, Value r) { return at(p, r); }),
              view(b, [](Value, Value q, Value r) { return at(r, q); })},
             multiply, {cat, cat, fold("+")},
             {view(c, [](Value p, Value q, Value) { return at(p, q); }).as(f32)});
    else
      md_hom(f, {i, j, k}, {view(a, {i, k}), view(b, {k, j})}, multiply, {cat, cat, fold("+")},
             {view(c, {i, j}).as(f32)});
    f.result(c);
    expect_same(f.program(), text);
  }
}

TEST(MdHom, ConvolutionWithOffsetsAndStrides) {
  Def f("conv");
  auto [K, L] = f.sizes("K", "L");
  auto img = f.input("img", f32, {L});
  auto w = f.input("w", f32, {K});
  auto out = f.array("out");
  Index y("y"), k("k");
  md_hom(f, {y < L / 2, k}, {view(img, {clamp(2 * y + k)}), view(w, {k})}, multiply, {cat, fold("+")},
         {view(out, {y}).as(f32)});
  f.result(out);
  expect_same(
      f.program(),
      "def conv(img: f32[L], w: f32[K]) -> out { out[y < L / 2] = sum(k) img[clamp(2*y + k)] * w[k] }");
}

TEST(MdHom, TransposeIsAWriteMap) {
  Def f("transpose");
  auto [N, M] = f.sizes("N", "M");
  auto x = f.input("x", f32, {N, M});
  auto t = f.array("t");
  Index i("i"), j("j");
  md_hom(f, {i, j}, {view(x, {i, j})}, identity, {cat, cat}, {view(t, {j, i}).as(f32)});
  f.result(t);
  expect_same(f.program(), R"(def transpose(x: f32[N, M]) -> t {
    stage t(i < N, j < M) { out t: f32[M, N] at [j, i] = cat(i) cat(j) x[i, j] }
  })");
}

TEST(MdHom, ScanAndBoundaries) {
  Def f("running");
  auto [N, M] = f.sizes("N", "M");
  auto x = f.input("x", f32, {N, M});
  auto c = f.array("c");
  Index i("i"), j("j");
  md_hom(f, {i, j}, {view(x, {i, j}), view(x, {clamp(i + 1), j})}, [](Value a, Value b) { return a + b; },
         {scan("+"), fold("+")}, {view(c, {i}).as(f32)});
  f.result(c);
  expect_same(f.program(),
              "def running(x: f32[N, M]) -> c { c[i] = scan(+, i) sum(j) (x[i, j] + x[clamp(i + 1), j]) }");
}

TEST(MdHom, SeveralOutputsWithCombinesOfTheirOwn) {
  Def f("sums");
  auto [N, M] = f.sizes("N", "M");
  auto x = f.input("x", f64, {N, M});
  auto [s, p] = f.arrays("s", "p");
  Index i("i"), j("j");
  md_hom(f, {i, j}, {view(x, {i, j})},
         [](Value v) {
           return std::vector<Value>{v, v};
         },
         {cat, fold("+")}, {view(s, {i}).as(f64), view(p, {i}).as(f64).combine({cat, fold("*")})});
  f.result(s, p);
  expect_same(f.program(),
              "def sums(x: f64[N, M]) -> (s, p) { (s[i], p[i]) = (sum(j) x[i, j], product(j) x[i, j]) }");
}

TEST(MdHom, RecordOperator) {
  const RecordType match = record("Match", {{"id", i64}, {"weight", f64}});
  const Op better = op("better", match, [](Value a, Value b) {
                      return select(a["weight"] >= b["weight"], a, b);
                    }).associative();
  Def f("link");
  auto [N, M] = f.sizes("N", "M");
  auto w = f.input("w", f64, {N, M});
  auto id = f.input("id", i64, {M});
  auto best = f.array("best");
  Index n("n"), e("e");
  md_hom(f, {n, e}, {view(id, {e}), view(w, {n, e})},
         [&](Value i, Value v) {
           return match({{"id", i}, {"weight", v}});
         },
         {cat, fold(better)}, {view(best, {n}).as(match)});
  f.result(best);
  expect_same(f.program(), R"(
    type Match = { id: i64, weight: f64 }
    op better(a: Match, b: Match) -> Match associative { if a.weight >= b.weight then a else b }
    def link(w: f64[N, M], id: i64[M]) -> best { best[n] = fold(better, e) { id: id[e], weight: w[n, e] } })");
}

// ---- mistakes -----------------------------------------------------------------------------------------

struct MdHomMistakes : testing::Test {
  Def f{"f"};
  Value N = f.size("N");
  Var x = f.input("x", f32, {N});
  Var y = f.array("y");
  Index i{"i"}, k{"k"};
  View out = view(y, {i});
};

TEST_F(MdHomMistakes, NothingTellsTheExtent) {
  const auto mistake = [&] { md_hom(f, {i, k}, {view(x, {i + k})}, identity, {cat, cat}, {out.as(f32)}); };
  EXPECT_EQ(error_of(mistake),
            "<md_hom(f, {i, k}, {view(x, {i + k})}, identity, {cat, cat}, {out.as(f32)});>: "
            "error[E0270]: nothing says what 'i' ranges over\n"
            "  help: write i < n, or in(i, a, b)\n");
}

TEST_F(MdHomMistakes, TooFewCombines) {
  const auto mistake = [&] {
    md_hom(f, {i, k < 3}, {view(x, {i})}, identity, {cat}, {view(y, {i}).as(f32)});
  };
  EXPECT_EQ(error_of(mistake),
            "<md_hom(f, {i, k < 3}, {view(x, {i})}, identity, {cat}, {view(y, {i}).as(f32)});>: "
            "error[E0279]: 'y' has 1 combines for 2 dimensions\n"
            "  help: say for each dimension what becomes of it: "
            "cat, fold(op), scan(op), scatter(op), seq(), last\n");
}

TEST_F(MdHomMistakes, OutputWithoutType) {
  const auto mistake = [&] { md_hom(f, {i}, {view(x, {i})}, identity, {cat}, {view(y, {i})}); };
  EXPECT_EQ(error_of(mistake),
            "<md_hom(f, {i}, {view(x, {i})}, identity, {cat}, {view(y, {i})});>: "
            "error[E0278]: the output 'y' of this stage needs its type\n"
            "  help: write view(...).as(f32)\n");
}

TEST_F(MdHomMistakes, ShapeThatDoesNotFollow) {
  const auto mistake = [&] { md_hom(f, {i}, {view(x, {i})}, identity, {cat}, {view(y, {2 * i}).as(f32)}); };
  EXPECT_EQ(error_of(mistake),
            "<md_hom(f, {i}, {view(x, {i})}, identity, {cat}, {view(y, {2 * i}).as(f32)});>: "
            "error[E0278]: the shape of 'y' does not follow from its view\n"
            "  help: write .as(type, {N, M})\n");
}

TEST_F(MdHomMistakes, FunctionWithTheWrongNumberOfValues) {
  const auto mistake = [&] { md_hom(f, {i}, {view(x, {i})}, multiply, {cat}, {out.as(f32)}); };
  EXPECT_EQ(error_of(mistake),
            "<md_hom(f, {i}, {view(x, {i})}, multiply, {cat}, {out.as(f32)});>: "
            "error[E0275]: the lambda of this md_hom does not take 1 value, or does not give a Value\n"
            "  help: give it one parameter of type Value for each argument\n");
}

TEST_F(MdHomMistakes, ViewWithTheWrongNumberOfIndices) {
  const auto row = [](Value p) { return at(p); };
  const auto mistake = [&] { md_hom(f, {i, k < 3}, {view(x, row)}, identity, {cat, cat}, {out.as(f32)}); };
  EXPECT_EQ(
      error_of(mistake),
      "<md_hom(f, {i, k < 3}, {view(x, row)}, identity, {cat, cat}, {out.as(f32)});>: "
      "error[E0275]: the lambda of the view of 'x' does not take 2 values, or does not give subscripts\n"
      "  help: give it one parameter of type Value for each index, and return at(...)\n");
}

TEST_F(MdHomMistakes, TooFewValues) {
  const auto mistake = [&] { md_hom(f, {i}, {view(x, {i})}, identity, {cat}, {out.as(f32), out.as(f32)}); };
  EXPECT_EQ(error_of(mistake),
            "<md_hom(f, {i}, {view(x, {i})}, identity, {cat}, {out.as(f32), out.as(f32)});>: "
            "error[E0283]: this md_hom has 2 output views, but its function gives 1 value\n"
            "  help: give one value per output: a Value, or a std::vector<Value>\n");
}

}  // namespace
}  // namespace twill
