// examples/harris.twill in Halide. The slopes have borders of their own: the windows at the border see the
// nearest slope again, not the slope of the picture's repeated border.
#include "bench/peers/program.h"

Built build(const std::vector<int>& sizes, bool manual) {
  ImageParam img(Float(32), 2, "img");
  Var x("x"), y("y"), yi("yi");
  // The slopes at the nearest pixel of the picture. Its neighbour in turn, clamp(clamp(x) + 1), is written as
  // one clamp: only then Halide has loops without clamps for the inside of the picture.
  const auto at = [](const Expr& i, int step, int n) {
    return clamp(likely(i + step), step > 0 ? 1 : 0, step < 0 ? n - 2 : n - 1);
  };
  const auto in = [&](int dx, int dy) { return img(at(x, dx, sizes[1]), at(y, dy, sizes[0])); };
  Func ix("ix"), iy("iy"), corner("corner");
  const float w0 = 1.0f / 12, w1 = 2.0f / 12;
  ix(x, y) = w0 * (in(1, -1) - in(-1, -1)) + w1 * (in(1, 0) - in(-1, 0)) + w0 * (in(1, 1) - in(-1, 1));
  iy(x, y) = w0 * (in(-1, 1) - in(-1, -1)) + w1 * (in(0, 1) - in(0, -1)) + w0 * (in(1, 1) - in(1, -1));
  const auto box = [&](const Func& f, const Func& g) {
    Expr sum = f(x - 1, y - 1) * g(x - 1, y - 1);
    for (int k = 1; k < 9; ++k) {
      const Expr column = x + (k % 3 - 1), row = y + (k / 3 - 1);
      sum += f(column, row) * g(column, row);
    }
    return sum;
  };
  Func sxx("sxx"), sxy("sxy"), syy("syy");
  sxx(x, y) = box(ix, ix);
  sxy(x, y) = box(ix, iy);
  syy(x, y) = box(iy, iy);
  const Expr trace = sxx(x, y) + syy(x, y);
  corner(x, y) = sxx(x, y) * syy(x, y) - sxy(x, y) * sxy(x, y) - 0.04f * trace * trace;

  set_size(img, sizes);
  set_result_size(corner, sizes);
  if (manual) {
    corner.split(y, y, yi, 32).parallel(y).vectorize(x, lanes());
    for (Func f : {ix, iy}) f.store_at(corner, y).compute_at(corner, yi).vectorize(x, lanes());
    ix.compute_with(iy, x);
  }
  return {corner, {img}};
}
