// examples/interpolate.twill in Halide: every level of the pyramid has a border of its own.
#include "bench/peers/program.h"

Built build(const std::vector<int>& sizes, bool manual) {
  constexpr int levels = 10;
  ImageParam img(Float(32), 3, "img");
  Var x("x"), y("y"), c("c"), yo("yo"), yi("yi");
  std::vector<int> width = {sizes[2]}, height = {sizes[1]};
  std::vector<Func> d = {Func("d0")}, dx(1), b(levels), ux(levels);
  d[0](x, y, c) = select(c < 3, img(x, y, c) * img(x, y, 3), img(x, y, 3));
  for (int l = 1; l < levels; ++l) {
    const Func e = edge(d[l - 1], width[l - 1], height[l - 1]);
    width.push_back((width[l - 1] + 1) / 2), height.push_back((height[l - 1] + 1) / 2);
    dx.emplace_back("dx" + std::to_string(l)), d.emplace_back("d" + std::to_string(l));
    dx[l](x, y, c) = 0.25f * e(2 * x - 1, y, c) + 0.5f * e(2 * x, y, c) + 0.25f * e(2 * x + 1, y, c);
    d[l](x, y, c) =
        0.25f * dx[l](x, 2 * y - 1, c) + 0.5f * dx[l](x, 2 * y, c) + 0.25f * dx[l](x, 2 * y + 1, c);
  }
  b[levels - 1] = d[levels - 1];
  for (int l = levels - 2; l >= 0; --l) {
    const Func e = edge(b[l + 1], width[l + 1], height[l + 1]);
    b[l] = Func("b" + std::to_string(l)), ux[l] = Func("ux" + std::to_string(l));
    ux[l](x, y, c) = (e(x / 2, y, c) + e((x + 1) / 2, y, c)) / 2.0f;
    const Expr u = (ux[l](x, y / 2, c) + ux[l](x, (y + 1) / 2, c)) / 2.0f;
    b[l](x, y, c) = d[l](x, y, c) + (1.0f - d[l](x, y, 3)) * u;
  }
  Func filled("filled");
  filled(x, y, c) = b[0](x, y, c) / b[0](x, y, 3);

  set_size(img, sizes);
  set_result_size(filled, sizes);
  if (manual) {
    for (int l = 1; l < levels; ++l) {
      const int rows = 8, lane_count = width[l] >= 2 * lanes() ? lanes() : 4;
      if (height[l] < 2 * rows) {
        d[l].compute_root();
        b[l].compute_root();
        continue;
      }
      d[l].compute_root().reorder(x, c, y).split(y, yo, yi, rows).parallel(yo).vectorize(x, lane_count);
      dx[l].store_at(d[l], yo).compute_at(d[l], yi).vectorize(x, lane_count);
      b[l].compute_root().reorder(x, c, y).split(y, yo, yi, rows).parallel(yo).vectorize(x, lane_count);
    }
    filled.bound(c, 0, 4).reorder(c, x, y).unroll(c).split(y, yo, yi, 8).parallel(yo).vectorize(x, lanes());
  }
  return {filled, {img}};
}
