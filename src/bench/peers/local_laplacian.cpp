// examples/local_laplacian.twill in Halide: every level of the pyramids has a border of its own. What decides
// about a step of the table of `remap` is computed strictly, as the example does; elsewhere rounding makes
// small differences.
#include "bench/peers/program.h"

namespace {

constexpr int levels = 8, intensities = 8, steps = 256 * (intensities - 1);
Var x("x"), y("y"), k("k"), c("c");

struct Level {
  int width, height;
};

/// The next coarser level of `f`, which is of this size.
Func coarser(const Func& f, Level size) {
  const Func e = edge(f, size.width, size.height);
  Func fx("fx"), g("g");
  fx(x, y, _) = 0.125f * e(2 * x - 1, y, _) + 0.375f * (e(2 * x, y, _) + e(2 * x + 1, y, _)) +
                0.125f * e(2 * x + 2, y, _);
  g(x, y, _) = 0.125f * fx(x, 2 * y - 1, _) + 0.375f * (fx(x, 2 * y, _) + fx(x, 2 * y + 1, _)) +
               0.125f * fx(x, 2 * y + 2, _);
  return g;
}

/// The level `g`, which is of this size, brought to the size of the finer one.
Func finer(const Func& g, Level size) {
  const Func e = edge(g, size.width, size.height);
  Func gy("gy"), f("f");
  gy(x, y, _) = 0.75f * e(x, y / 2, _) + 0.25f * e(x, y / 2 - 1 + 2 * (y % 2), _);
  f(x, y, _) = 0.75f * gy(x / 2, y, _) + 0.25f * gy(x / 2 - 1 + 2 * (x % 2), y, _);
  return f;
}

}  // namespace

Built build(const std::vector<int>& sizes, bool manual) {
  ImageParam img(UInt(16), 3, "img");
  const float alpha = 0.14285714f, beta = 1.0f, eps = 0.01f;
  std::vector<Level> size = {{sizes[2], sizes[1]}};
  for (int j = 1; j < levels; ++j)
    size.push_back({(size[j - 1].width + 1) / 2, (size[j - 1].height + 1) / 2});

  Func colour("colour"), grey("grey"), table("table"), sharp("sharp");
  colour(x, y, c) = strict_float(cast<float>(img(x, y, c)) / 65535.0f);
  grey(x, y) = strict_float(0.299f * colour(x, y, 0) + 0.587f * colour(x, y, 1) + 0.114f * colour(x, y, 2));
  const Expr t = cast<float>(x) / 256.0f;
  table(x) = alpha * t * exp(-t * t / 2.0f);

  std::vector<Func> g(levels), r(levels), l(levels), e(levels);
  for (int j = 0; j < levels; ++j) {
    const std::string level = std::to_string(j);
    g[j] = Func("g" + level), r[j] = Func("r" + level), l[j] = Func("l" + level), e[j] = Func("e" + level);
  }
  const Expr intensity = cast<float>(k) / float(intensities - 1);
  const Expr step = clamp(cast<int>(strict_float(float(steps) * grey(x, y))), 0, steps);
  g[0](x, y) = grey(x, y);
  r[0](x, y, k) = intensity + beta * (grey(x, y) - intensity) + table(step - 256 * k);
  for (int j = 1; j < levels; ++j) {
    g[j](x, y) = coarser(g[j - 1], size[j - 1])(x, y);
    r[j](x, y, k) = coarser(r[j - 1], size[j - 1])(x, y, k);
  }
  for (int j = levels - 1; j >= 0; --j) {
    const bool last = j + 1 == levels;
    l[j](x, y, k) = last ? Expr(r[j](x, y, k)) : r[j](x, y, k) - finer(r[j + 1], size[j + 1])(x, y, k);
    const Expr at = float(intensities - 1) * g[j](x, y);
    const Expr below = clamp(cast<int>(at), 0, intensities - 2), part = at - cast<float>(below);
    const Expr chosen = (1.0f - part) * l[j](x, y, below) + part * l[j](x, y, below + 1);
    e[j](x, y) = last ? chosen : chosen + finer(e[j + 1], size[j + 1])(x, y);
  }
  const Expr value = 65535.0f * e[0](x, y) * (colour(x, y, c) + eps) / (grey(x, y) + eps) + 0.5f;
  sharp(x, y, c) = cast<uint16_t>(clamp(value, 0.0f, 65535.0f));

  set_size(img, sizes);
  set_result_size(sharp, sizes);
  if (manual) {
    Var yo("yo");
    table.bound(x, -steps, 2 * steps + 1).compute_root();
    sharp.bound(c, 0, 3).reorder(c, x, y).split(y, yo, y, 64).parallel(yo).vectorize(x, lanes());
    grey.compute_root().parallel(y, 32).vectorize(x, lanes());
    for (int j = 1; j < 5; ++j) {
      g[j].compute_root().parallel(y, 32).vectorize(x, lanes());
      r[j].compute_root().reorder_storage(x, k, y).reorder(k, y).parallel(y, 8).vectorize(x, lanes());
      e[j].store_at(sharp, yo).compute_at(sharp, y).vectorize(x, lanes());
    }
    e[0].compute_at(sharp, y).vectorize(x, lanes());
    for (int j = 5; j < levels; ++j) {
      g[j].compute_root();
      r[j].compute_root().parallel(k);
      e[j].compute_root();
    }
  }
  return {sharp, {img}};
}
