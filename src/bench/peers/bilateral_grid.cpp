// examples/bilateral_grid.twill in Halide. At the border of the picture the nearest pixel is repeated;
// outside of the grid there is nothing.
#include "bench/peers/program.h"

Built build(const std::vector<int>& sizes, bool manual) {
  ImageParam img(Float(32), 2, "img");
  Var x("x"), y("y"), z("z"), c("c");
  const int width = (sizes[1] + 7) / 8 + 1, height = (sizes[0] + 7) / 8 + 1, depth = 12;
  const Func in = edge(img, sizes[1], sizes[0]);

  // c: the sum of a cell's pixels, and how many they are.
  RDom r(0, 8, 0, 8);
  Func grid("grid"), bz("bz"), bx("bx"), by("by"), smooth("smooth");
  const Expr v = clamp(in(8 * x + r.x - 4, 8 * y + r.y - 4), 0.0f, 1.0f);
  grid(x, y, z, c) = 0.0f;
  grid(x, y, clamp(cast<int>(10.0f * v + 0.5f), 0, depth - 1), c) += mux(c, {v, 1.0f});

  const auto filter = [](const std::function<Expr(int)>& at) {
    return at(-2) + 4.0f * at(-1) + 6.0f * at(0) + 4.0f * at(1) + at(2);
  };
  const auto nothing_outside = [](const Func& f, int from, int to, int axis) {
    Region box(4, Range(Expr(), Expr()));
    box[axis] = Range(from, to - from);
    return BoundaryConditions::constant_exterior(f, 0.0f, box);
  };
  bz(x, y, z, c) = filter([&](int k) { return grid(x, y, z + k, c); });
  const Func row = nothing_outside(bz, 0, width, 0);
  bx(x, y, z, c) = filter([&](int k) { return row(x + k, y, z, c); });
  const Func column = nothing_outside(bx, 0, height, 1);
  by(x, y, z, c) = filter([&](int k) { return column(x, y + k, z, c); });

  const Expr at = 10.0f * clamp(img(x, y), 0.0f, 1.0f), zi = clamp(cast<int>(at), 0, depth - 2);
  const Expr tx = cast<float>(x % 8) / 8.0f, ty = cast<float>(y % 8) / 8.0f, tz = at - cast<float>(zi);
  const Expr xi = x / 8, yi = y / 8;
  Func between("between");
  between(x, y, c) = lerp(lerp(lerp(by(xi, yi, zi, c), by(xi + 1, yi, zi, c), tx),
                               lerp(by(xi, yi + 1, zi, c), by(xi + 1, yi + 1, zi, c), tx), ty),
                          lerp(lerp(by(xi, yi, zi + 1, c), by(xi + 1, yi, zi + 1, c), tx),
                               lerp(by(xi, yi + 1, zi + 1, c), by(xi + 1, yi + 1, zi + 1, c), tx), ty),
                          tz);
  smooth(x, y) = between(x, y, 0) / between(x, y, 1);

  set_size(img, sizes);
  set_result_size(smooth, sizes);
  if (manual) {
    bz.bound(c, 0, 2).compute_root().reorder(c, z, x, y).parallel(y).vectorize(x, lanes()).unroll(c);
    grid.compute_at(bz, y);
    grid.update().reorder(c, r.x, r.y, x, y).unroll(c);
    for (Func f : {bx, by})
      f.bound(c, 0, 2).compute_root().reorder(c, x, z, y).parallel(y).vectorize(x, lanes()).unroll(c);
    smooth.parallel(y, 8).vectorize(x, lanes());
  }
  return {smooth, {img}};
}
