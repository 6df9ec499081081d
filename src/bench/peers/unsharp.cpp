// examples/unsharp.twill in Halide. As in blur.cpp, the picture is the only thing with a border.
#include "bench/peers/program.h"

Built build(const std::vector<int>& sizes, bool manual) {
  ImageParam img(Float(32), 3, "img");
  Var x("x"), y("y"), c("c"), yi("yi");
  const Func in = edge(img, sizes[2], sizes[1]);
  Func bx("bx"), by("by"), sharp("sharp");
  const auto filter = [](const Expr& a, const Expr& b, const Expr& m, const Expr& d, const Expr& e) {
    return 0.0625f * a + 0.25f * b + 0.375f * m + 0.25f * d + 0.0625f * e;
  };
  bx(x, y, c) = filter(in(x - 2, y, c), in(x - 1, y, c), in(x, y, c), in(x + 1, y, c), in(x + 2, y, c));
  by(x, y, c) = filter(bx(x, y - 2, c), bx(x, y - 1, c), bx(x, y, c), bx(x, y + 1, c), bx(x, y + 2, c));
  sharp(x, y, c) = select(abs(img(x, y, c) - by(x, y, c)) < 0.001f, img(x, y, c),
                          2.5f * img(x, y, c) - 1.5f * by(x, y, c));

  set_size(img, sizes);
  set_result_size(sharp, sizes);
  if (manual) {
    sharp.split(y, y, yi, 32).parallel(y).parallel(c).vectorize(x, lanes());
    bx.store_at(sharp, y).compute_at(sharp, yi).vectorize(x, lanes());
  }
  return {sharp, {img}};
}
