// examples/blur.twill in Halide. A row filter whose rows are repeated is the row filter of repeated rows, so
// that the picture is the only thing with a border.
#include "bench/peers/program.h"

Built build(const std::vector<int>& sizes, bool manual) {
  ImageParam img(Float(32), 2, "img");
  Var x("x"), y("y"), yi("yi");
  const Func in = edge(img, sizes[1], sizes[0]);
  Func bx("bx"), by("by");
  bx(x, y) = 0.25f * in(x - 1, y) + 0.5f * in(x, y) + 0.25f * in(x + 1, y);
  by(x, y) = 0.25f * bx(x, y - 1) + 0.5f * bx(x, y) + 0.25f * bx(x, y + 1);

  set_size(img, sizes);
  set_result_size(by, sizes);
  if (manual) {
    by.split(y, y, yi, 32).parallel(y).vectorize(x, lanes());
    bx.store_at(by, y).compute_at(by, yi).vectorize(x, lanes());
  }
  return {by, {img}};
}
