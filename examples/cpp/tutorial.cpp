// The examples of docs/cpp.md: each region between two marks is one block of that page.
#include "import/twill.h"

namespace tutorial {

using namespace twill;

// [blur]
Program blur() {
  Def f("blur");
  auto [H, W] = f.sizes("H", "W");
  auto img = f.input("img", f32, {H, W});
  auto w = f.constant("w", {0.0625, 0.25, 0.375, 0.25, 0.0625});
  auto [bx, by] = f.arrays("bx", "by");

  Index y("y"), x("x"), k("k");
  bx(y, x) = sum(k < 5, w(k) * img(y, clamp(x + k - 2)));
  by(y, x) = sum(k < 5, w(k) * bx(clamp(y + k - 2), x));

  f.result(by);
  return f.program();
}
// [end]

// [softmax]
Program softmax() {
  Def f("softmax");
  auto [N, M] = f.sizes("N", "M");
  auto x = f.input("x", f32, {N, M});
  auto [m, e, s, y] = f.arrays("m", "e", "s", "y");

  Index i("i"), j("j");
  m(i) = maximum(j, x(i, j));
  e(i, j) = exp(x(i, j) - m(i));
  s(i) = sum(j, e(i, j));
  y(i, j) = e(i, j) / s(i);

  f.result(y);
  return f.program();
}
// [end]

// [spmv]
Program spmv() {
  Def f("spmv");
  auto [R, Z, C] = f.sizes("R", "Z", "C");
  auto ptr = f.input("ptr", i32, {R + 1});
  auto col = f.input("col", i32, {Z});
  auto val = f.input("val", f32, {Z});
  auto x = f.input("x", f32, {C});
  auto y = f.array("y");

  Index r("r"), p("p");
  y(r) = sum(in(p, ptr(r), ptr(r + 1)), val(p) * x(col(p)));  // data extents, a gather

  f.result(y);
  return f.program();
}
// [end]

// [link]
Program link() {
  const RecordType match = record("Match", {{"id", i64}, {"weight", f64}});
  const Op better = op("better", match, match({{"id", highest(i64)}, {"weight", -inf}}), [](Value a, Value b) {
                      const Value first = a["weight"] > b["weight"] || (a["weight"] == b["weight"] && a["id"] < b["id"]);
                      return select(first, a, b);
                    }).associative().commutative();

  Def f("link");
  auto [N, M] = f.sizes("N", "M");
  auto w = f.input("w", f64, {N, M});
  auto id = f.input("id", i64, {M});
  auto best = f.array("best");

  Index n("n"), e("e");
  best(n) = fold(better, e, match({{"id", id(e)}, {"weight", w(n, e)}}));

  f.result(best);
  return f.program();
}
// [end]

// [running]
Program running() {
  Def f("running");
  auto N = f.size("N");
  auto b = f.input("b", f32, {N});
  auto [c, r, x] = f.arrays("c", "r", "x");

  Index i("i");
  c(i) = scan("+", i, b(i));
  r(i) = scan_right("max", i, b(i));
  x(i) = seq(i, 0.5 * (b(i) + select(i > 0, x(i - 1), 0)));  // reads its own past

  f.result(c, r, x);
  return f.program();
}
// [end]

// [heat]
Program heat() {
  Def f("heat");
  auto [H, W] = f.sizes("H", "W");
  auto u0 = f.input("u0", f32, {H, W});
  auto T = f.input("T", i32);
  auto u = f.array("u");

  Index t("t"), y("y"), x("x");
  f.seq(t < T, {{u, u0}}, [&] {
    u(y, x).where(0 < y, y < H - 1, 0 < x, x < W - 1) =
        0.25 * (u(y - 1, x) + u(y + 1, x) + u(y, x - 1) + u(y, x + 1));
  });

  f.result(u);
  return f.program();
}
// [end]

// [newton]
Program newton() {
  Def f("newton");
  auto a = f.input("a", f64);
  auto r = f.array("r");
  f.seq_while(abs(r * r - a) > 1e-12, {{r, a}}, [&] { r() = 0.5 * (r + a / r); });
  f.result(r);
  return f.program();
}
// [end]

// [histogram]
Program histogram() {
  Def f("histogram");
  auto N = f.size("N");
  auto x = f.input("x", u8, {N});
  auto h = f.array("h");
  Index i("i");
  h().as(i64, {256}) = scatter("+", at(x(i)), 1, i);
  f.result(h);
  return f.program();
}
// [end]

// [orders]
Program orders() {
  const RecordType order = record("Order", {{"id", i64}, {"customer", i32}, {"amount", f64}});
  Def f("orders");
  auto o = f.input("o", order, {f.size("N")});
  auto [big, by_customer] = f.arrays("big", "by_customer");

  Index x("x");
  big() = collect(x["id"], in(x, o), x["amount"] > 1000.0);
  by_customer() = group("+", x["customer"], x["amount"], in(x, o));

  f.result(big, by_customer);
  return f.program();
}
// [end]

// [revenue]
Program revenue() {
  const RecordType order = record("Order", {{"id", i64}, {"customer", i32}, {"amount", f64}});
  Def f("revenue");
  auto o = f.input("o", order, {f.size("N")});

  auto big = range(o).filter([](Value x) { return x["amount"] > 1000.0; }, "big");
  auto amounts = big.map([](Value x) { return x["amount"]; }, "amounts");
  auto by_customer = big.group_by([](Value x) { return x["customer"]; })
                         .map([](Value x) { return x["amount"]; })
                         .fold("+", "by_customer");

  f.result(amounts.sum("total"), by_customer);
  return f.program();
}
// [end]

// [sums]
Program sums() {
  Def f("sums");
  auto [N, M] = f.sizes("N", "M");
  auto x = f.input("x", f64, {N, M});
  auto [s, p] = f.arrays("s", "p");
  Index i("i"), j("j");
  together(s(i), p(i)) = tuple(sum(j, x(i, j)), product(j, x(i, j)));
  f.result(s, p);
  return f.program();
}
// [end]

// [matmul]
Program matmul() {
  Def f("matmul");
  auto [I, J, K] = f.sizes("I", "J", "K");
  auto a = f.input("a", f32, {I, K});
  auto b = f.input("b", f32, {K, J});
  auto c = f.array("c");

  Index i("i"), j("j"), k("k");
  md_hom(f, {i, j, k}, {view(a, {i, k}), view(b, {k, j})}, [](Value x, Value y) { return x * y; },
         {cat, cat, fold("+")}, {view(c, {i, j}).as(f32)});

  f.result(c);
  return f.program();
}
// [end]

}  // namespace tutorial
