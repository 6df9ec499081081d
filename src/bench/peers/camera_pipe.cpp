// examples/camera_pipe.twill in Halide. The planes of the four kinds of pixels, what is interpolated between
// them and the picture before it is sharpened have borders of their own.
#include "bench/peers/program.h"

namespace {

Var x("x"), y("y"), c("c");

Expr mean(const Expr& a, const Expr& b) { return cast<int16_t>((cast<int>(a) + b + 1) / 2); }
Expr gap(const Expr& a, const Expr& b) { return absd(a, b); }

Expr flatter(const Expr& a, const Expr& b, const Expr& p, const Expr& q) {
  return select(gap(a, b) < gap(p, q), mean(a, b), mean(p, q));
}

Expr carried(const Expr& g, const Expr& g1, const Expr& g2, const Expr& c1, const Expr& c2) {
  return mean(c1, c2) + g - mean(g1, g2);
}

Expr middle(const Expr& a, const Expr& b) { return cast<uint8_t>((cast<uint16_t>(a) + b + 1) / 2); }
Expr soft(const Expr& a, const Expr& m, const Expr& b) { return middle(middle(a, b), m); }

}  // namespace

Built build(const std::vector<int>& sizes, bool manual) {
  ImageParam raw(UInt(16), 2, "raw"), m3200(Float(32), 2, "m3200"), m7000(Float(32), 2, "m7000");
  const int height = sizes[0] / 2, width = sizes[1] / 2;  // of a plane
  std::vector<Func> stages;                               // between the planes and the colours
  const auto stage = [&](const std::string& name, const Expr& value) {
    Func f(name);
    f(x, y) = value;
    stages.push_back(f);
    return edge(f, width, height);
  };

  // Plane c = 2 a + b has the pixels (a, b) of all blocks. A pixel brighter than its neighbours is broken.
  Func plane("plane"), quiet("quiet");
  plane(x, y, c) = cast<int16_t>(raw(2 * x + c % 2, 2 * y + c / 2));
  const Func p = edge(plane, width, height);
  quiet(x, y, c) =
      min(p(x, y, c), max(max(p(x - 1, y, c), p(x + 1, y, c)), max(p(x, y - 1, c), p(x, y + 1, c))));
  const Func q = edge(quiet, width, height);
  const auto gr = [&](const Expr& i, const Expr& j) { return q(i, j, 0); };
  const auto r = [&](const Expr& i, const Expr& j) { return q(i, j, 1); };
  const auto b = [&](const Expr& i, const Expr& j) { return q(i, j, 2); };
  const auto gb = [&](const Expr& i, const Expr& j) { return q(i, j, 3); };

  const Func g_r = stage("g_r", flatter(gr(x, y), gr(x + 1, y), gb(x, y - 1), gb(x, y)));
  const Func g_b = stage("g_b", flatter(gb(x - 1, y), gb(x, y), gr(x, y), gr(x, y + 1)));
  const Expr r_gr = carried(gr(x, y), g_r(x - 1, y), g_r(x, y), r(x - 1, y), r(x, y));
  const Expr b_gr = carried(gr(x, y), g_b(x, y - 1), g_b(x, y), b(x, y - 1), b(x, y));
  const Expr r_gb = carried(gb(x, y), g_r(x, y), g_r(x, y + 1), r(x, y), r(x, y + 1));
  const Expr b_gb = carried(gb(x, y), g_b(x, y), g_b(x + 1, y), b(x, y), b(x + 1, y));
  const Expr r_b = select(gap(r(x, y), r(x - 1, y + 1)) < gap(r(x - 1, y), r(x, y + 1)),
                          carried(g_b(x, y), g_r(x, y), g_r(x - 1, y + 1), r(x, y), r(x - 1, y + 1)),
                          carried(g_b(x, y), g_r(x - 1, y), g_r(x, y + 1), r(x - 1, y), r(x, y + 1)));
  const Expr b_r = select(gap(b(x, y), b(x + 1, y - 1)) < gap(b(x + 1, y), b(x, y - 1)),
                          carried(g_r(x, y), g_b(x, y), g_b(x + 1, y - 1), b(x, y), b(x + 1, y - 1)),
                          carried(g_r(x, y), g_b(x + 1, y), g_b(x, y - 1), b(x + 1, y), b(x, y - 1)));

  // Red, green and blue of the pixels of each plane, and then of the picture.
  Func red("red"), green("green"), blue("blue"), mosaic("mosaic");
  red(x, y, c) = mux(c, {r_gr, r(x, y), r_b, r_gb});
  green(x, y, c) = mux(c, {gr(x, y), g_r(x, y), g_b(x, y), gb(x, y)});
  blue(x, y, c) = mux(c, {b_gr, b_r, b(x, y), b_gb});
  const auto woven = [&](const Func& f) {
    return select(y % 2 == 0, select(x % 2 == 0, f(x / 2, y / 2, 0), f(x / 2, y / 2, 1)),
                  select(x % 2 == 0, f(x / 2, y / 2, 2), f(x / 2, y / 2, 3)));
  };
  mosaic(x, y, c) = mux(c, {woven(red), woven(green), woven(blue)});

  // x and y are the column and the row of the matrix, x is an intensity of the curve.
  Func matrix("matrix"), curve("curve"), rgb("rgb"), toned("toned");
  const float t = (1 / 3700.0f - 1 / 3200.0f) / (1 / 7000.0f - 1 / 3200.0f);
  matrix(x, y) = cast<int>(round(strict_float(256.0f * ((1.0f - t) * m3200(x, y) + t * m7000(x, y)))));
  const Expr v = clamp(strict_float(cast<float>(x - 25) / 998.0f), 0.0f, 1.0f);
  const float steep = 2 - std::exp2(50.0f / 100), square = 2 - 2 * steep;
  const Expr g = sqrt(v);  // gamma is 2
  const Expr bent = select(g > 0.5f, 1.0f - (square * (1.0f - g) * (1.0f - g) + steep * (1.0f - g)),
                           square * g * g + steep * g);
  curve(x) = cast<uint8_t>(clamp(255.0f * bent + 0.5f, 0.0f, 255.0f));
  const Expr sum = matrix(0, c) * mosaic(x, y, 0) + matrix(1, c) * mosaic(x, y, 1) +
                   matrix(2, c) * mosaic(x, y, 2) + matrix(3, c);
  rgb(x, y, c) = cast<int16_t>(sum / 256);
  toned(x, y, c) = curve(clamp(cast<int>(rgb(x, y, c)), 0, 1023));

  Func sy("sy"), sx("sx"), picture("picture");
  const Func e = edge(toned, 2 * width, 2 * height);
  sy(x, y, c) = soft(e(x, y - 1, c), e(x, y, c), e(x, y + 1, c));
  sx(x, y, c) = soft(sy(x - 1, y, c), sy(x, y, c), sy(x + 1, y, c));
  const Expr own = cast<int16_t>(toned(x, y, c));
  picture(x, y, c) = cast<uint8_t>(clamp(own + (own - sx(x, y, c)), 0, 255));

  set_size(raw, sizes);
  set_size(m3200, {3, 4});
  set_size(m7000, {3, 4});
  set_result_size(picture, {3, 2 * height, 2 * width});
  if (manual) {
    Var yo("yo"), yi("yi");
    const int vector = 2 * lanes();  // 16 bits
    matrix.compute_root();
    curve.bound(x, 0, 1024).compute_root();
    picture.bound(c, 0, 3).reorder(x, c, y).split(y, y, yi, 2).split(y, yo, y, 16).parallel(yo);
    picture.vectorize(x, vector);
    plane.store_at(picture, yo).compute_at(picture, y).vectorize(x, vector);
    quiet.store_at(picture, yo).compute_at(picture, y).vectorize(x, vector);
    for (Func f : stages) f.store_at(picture, yo).compute_at(picture, y).vectorize(x, vector);
    for (Func f : {red, green, blue}) f.compute_at(picture, y).bound(c, 0, 4).vectorize(x, vector).unroll(c);
    toned.store_at(picture, yo).compute_at(picture, y).bound(c, 0, 3).reorder(c, x, y).unroll(c);
    toned.vectorize(x, vector);
  }
  return {picture, {raw, m3200, m7000}};
}
