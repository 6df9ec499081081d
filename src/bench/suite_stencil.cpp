// Stencils and the stages of image pipelines, each stage alone and the pipelines as they are before any
// fusion.
#include "bench/arrays.h"
#include "bench/case.h"
#include "bench/loops.h"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>

namespace twill::bench {

namespace {

const std::string f64_loops = "plain loops in f64";

double as_double(std::int64_t n) { return static_cast<double>(n); }

const float* floats(const Data& data) { return data.as<float>().data(); }
float* floats(Data& data) { return data.as<float>().data(); }

/// The side of a square or cube of floats that is `beyond_cache`, a multiple of 64.
std::int64_t side_beyond_cache(const Session& s, int dimensions) {
  const auto elements = as_double(s.beyond_cache(4));
  const auto side = static_cast<std::int64_t>(std::ceil(std::pow(elements, 1.0 / dimensions)));
  return s.options().small ? s.extent(side) : (side + 63) / 64 * 64;
}

/// A result of h × w whose elements are computed in f64.
template <class Value>
void fill_rows(Data& out, std::int64_t h, std::int64_t w, const Value& value) {
  float* to = floats(out);
#pragma omp parallel for
  for (std::int64_t y = 0; y < h; ++y)
    for (std::int64_t x = 0; x < w; ++x) to[y * w + x] = static_cast<float>(value(y, x));
}

/// What every case here has: one f32 input read once and one f32 result of as many elements.
Case picture_case(std::shared_ptr<const Program> program, std::vector<std::int64_t> shape,
                  double operations_per_element, const Session& s) {
  Case c;
  for (const std::int64_t extent : shape) c.size += (c.size.empty() ? "" : "x") + std::to_string(extent);
  c.program = std::move(program);
  c.inputs.push_back(uniform(shape, 1));
  const double n = as_double(c.inputs[0].count());
  c.work = {operations_per_element * n, 4 * n, 4 * n};
  c.held_to_floor = c.inputs[0].count() >= s.beyond_cache(4);
  c.tolerance = likely_error(Scalar::F32, operations_per_element);
  c.reference_name = f64_loops;
  return c;
}

// ---- Jacobi ---------------------------------------------------------------------------------------------

Case jacobi1d(Session& s) {
  const std::int64_t n = s.beyond_cache(4) + 2;
  Case c = picture_case(example("jacobi1d", "jacobi1d"), {n}, 3, s);
  c.reference = [n](std::span<const Data> in, std::vector<Data>& out) {
    const float* x = floats(in[0]);
    fill_rows(out[0], 1, n - 2,
              [=](std::int64_t, std::int64_t i) { return (double(x[i]) + x[i + 1] + x[i + 2]) / 3; });
  };
  c.peers.push_back(loops(s, "gcc", R"c(
  const float *restrict x = in[0];
  float *restrict y = out[0];
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n[0] - 2; ++i) y[i] = (x[i] + x[i + 1] + x[i + 2]) / 3;
)c",
                          {n}));
  return c;
}

Case jacobi2d(Session& s, std::int64_t side) {
  const std::int64_t h = side, w = side;
  Case c = picture_case(example("jacobi2d", "jacobi2d"), {h, w}, 5, s);
  c.reference = [h, w](std::span<const Data> in, std::vector<Data>& out) {
    const float* u = floats(in[0]);
    fill_rows(out[0], h, w, [=](std::int64_t y, std::int64_t x) -> double {
      const std::int64_t at = y * w + x;
      if (y == 0 || x == 0 || y == h - 1 || x == w - 1) return u[at];
      return 0.2 * (double(u[at]) + u[at - w] + u[at + w] + u[at - 1] + u[at + 1]);
    });
  };
  const std::string body = R"c(
  const float *restrict u = in[0];
  float *restrict v = out[0];
  const int64_t H = n[0], W = n[1];
  #pragma omp parallel for
  for (int64_t y = 0; y < H; ++y) {
    if (y == 0 || y == H - 1) {
      memcpy(v + y * W, u + y * W, sizeof *v * W);
      continue;
    }
    const float *restrict r = u + y * W;
    TARGET
    to[0] = r[0];
    for (int64_t x = 1; x < W - 1; ++x) to[x] = 0.2f * (r[x] + r[x - W] + r[x + W] + r[x - 1] + r[x + 1]);
    to[W - 1] = r[W - 1];
    DONE
  }
)c";
  const auto with = [&](const std::string& target, const std::string& done) {
    std::string text = body;
    text.replace(text.find("TARGET"), 6, target);
    text.replace(text.find("DONE"), 4, done);
    return text;
  };
  c.peers.push_back(loops(s, "gcc", with("float *restrict to = v + y * W;", ""), {h, w}));
  c.peers.push_back(loops(s, "hand", with("float to[W];", "stream_row(v + y * W, to, W);"), {h, w}));
  return c;
}

Case jacobi3d(Session& s, std::int64_t side) {
  const std::int64_t d = side;
  Case c = picture_case(example("jacobi3d", "jacobi3d"), {d, d, d}, 13, s);
  c.inputs.push_back(uniform({7}, 2));
  c.reference = [d](std::span<const Data> in, std::vector<Data>& out) {
    const float *u = floats(in[0]), *w = floats(in[1]);
    fill_rows(out[0], d * d, d, [=](std::int64_t row, std::int64_t x) -> double {
      const std::int64_t z = row / d, y = row % d, at = row * d + x, inner = d - 1;
      if (x == 0 || y == 0 || z == 0 || x == inner || y == inner || z == inner) return u[at];
      return double(w[0]) * u[at] + double(w[1]) * u[at - 1] + double(w[2]) * u[at + 1] +
             double(w[3]) * u[at - d] + double(w[4]) * u[at + d] + double(w[5]) * u[at - d * d] +
             double(w[6]) * u[at + d * d];
    });
  };
  c.peers.push_back(loops(s, "gcc", R"c(
  const float *restrict u = in[0], *restrict w = in[1];
  float *restrict v = out[0];
  const int64_t N = n[0], P = N * N;
  #pragma omp parallel for collapse(2)
  for (int64_t z = 0; z < N; ++z)
    for (int64_t y = 0; y < N; ++y) {
      const float *restrict r = u + z * P + y * N;
      float *restrict to = v + z * P + y * N;
      if (z == 0 || y == 0 || z == N - 1 || y == N - 1) {
        memcpy(to, r, sizeof *to * N);
        continue;
      }
      to[0] = r[0];
      for (int64_t x = 1; x < N - 1; ++x)
        to[x] = w[0] * r[x] + w[1] * r[x - 1] + w[2] * r[x + 1] + w[3] * r[x - N] + w[4] * r[x + N] + w[5] * r[x - P] +
                w[6] * r[x + P];
      to[N - 1] = r[N - 1];
    }
)c",
                          {d}));
  return c;
}

// ---- convolution ----------------------------------------------------------------------------------------

Case conv2d(Session& s, std::int64_t side) {
  const std::int64_t h = side, w = side, r = 5;
  Case c = picture_case(example("conv2d", "conv2d"), {h, w}, 2 * as_double(r * r), s);
  c.inputs.push_back(uniform({r, r}, 2));
  c.reference = [=](std::span<const Data> in, std::vector<Data>& out) {
    const float *x = floats(in[0]), *f = floats(in[1]);
    fill_rows(out[0], h - r + 1, w - r + 1, [=](std::int64_t p, std::int64_t q) {
      double sum = 0;
      for (std::int64_t i = 0; i < r; ++i)
        for (std::int64_t j = 0; j < r; ++j) sum += double(x[(p + i) * w + q + j]) * double(f[i * r + j]);
      return sum;
    });
  };
  c.peers.push_back(onednn_peer(s, [=](const OneDnn& dnn) { return dnn.convolution(h, w, r, r); }));
  c.peers.push_back(loops(s, "gcc", R"c(
  const float *restrict x = in[0], *restrict f = in[1];
  float *restrict y = out[0];
  const int64_t W = n[1], P = n[0] - 4, Q = n[1] - 4;
  #pragma omp parallel for
  for (int64_t p = 0; p < P; ++p)
    for (int64_t q = 0; q < Q; ++q) {
      float sum = 0;
      #pragma GCC unroll 5
      for (int64_t r = 0; r < 5; ++r)
        #pragma GCC unroll 5
        for (int64_t s = 0; s < 5; ++s) sum += x[(p + r) * W + q + s] * f[5 * r + s];
      y[p * Q + q] = sum;
    }
)c",
                          {h, w}));
  return c;
}

// ---- image pipelines ------------------------------------------------------------------------------------

std::int64_t clamped(std::int64_t i, std::int64_t n) { return std::clamp<std::int64_t>(i, 0, n - 1); }

Case blur_x(Session& s, std::int64_t side) {
  Case c = picture_case(program_from("blur_x", R"(
def blur_x(img: f32[H, W]) -> bx {
  w = [0.25, 0.5, 0.25]
  bx[y, x] = sum(k < 3) w[k] * img[y, clamp(x + k - 1)]
})"),
                        {side, side}, 6, s);
  c.reference = [side](std::span<const Data> in, std::vector<Data>& out) {
    const float* u = floats(in[0]);
    fill_rows(out[0], side, side, [=](std::int64_t y, std::int64_t x) {
      const float* r = u + y * side;
      return 0.25 * r[clamped(x - 1, side)] + 0.5 * r[x] + 0.25 * r[clamped(x + 1, side)];
    });
  };
  c.peers.push_back(loops(s, "gcc", R"c(
  const float *restrict u = in[0];
  float *restrict v = out[0];
  const int64_t W = n[0];
  #pragma omp parallel for
  for (int64_t y = 0; y < W; ++y) {
    const float *restrict r = u + y * W;
    float *restrict to = v + y * W;
    to[0] = 0.75f * r[0] + 0.25f * r[W > 1];
    for (int64_t x = 1; x < W - 1; ++x) to[x] = 0.25f * r[x - 1] + 0.5f * r[x] + 0.25f * r[x + 1];
    if (W > 1) to[W - 1] = 0.25f * r[W - 2] + 0.75f * r[W - 1];
  }
)c",
                          {side}));
  return c;
}

Case blur_y(Session& s, std::int64_t side) {
  Case c = picture_case(program_from("blur_y", R"(
def blur_y(bx: f32[H, W]) -> by {
  w = [0.25, 0.5, 0.25]
  by[y, x] = sum(k < 3) w[k] * bx[clamp(y + k - 1), x]
})"),
                        {side, side}, 6, s);
  c.reference = [side](std::span<const Data> in, std::vector<Data>& out) {
    const float* u = floats(in[0]);
    fill_rows(out[0], side, side, [=](std::int64_t y, std::int64_t x) {
      return 0.25 * u[clamped(y - 1, side) * side + x] + 0.5 * u[y * side + x] +
             0.25 * u[clamped(y + 1, side) * side + x];
    });
  };
  c.peers.push_back(loops(s, "gcc", R"c(
  const float *restrict u = in[0];
  float *restrict v = out[0];
  const int64_t W = n[0];
  #pragma omp parallel for
  for (int64_t y = 0; y < W; ++y) {
    const float *restrict a = u + (y > 0 ? y - 1 : 0) * W, *restrict b = u + y * W;
    const float *restrict c = u + (y < W - 1 ? y + 1 : y) * W;
    for (int64_t x = 0; x < W; ++x) v[y * W + x] = 0.25f * a[x] + 0.5f * b[x] + 0.25f * c[x];
  }
)c",
                          {side}));
  return c;
}

constexpr const char* sharpen_value = "fabsf(a[i] - b[i]) < 0.001f ? a[i] : 2.5f * a[i] - 1.5f * b[i]";

/// The last stage of unsharp masking: two pictures in, one out.
Case sharpen(Session& s, std::int64_t side) {
  Case c = picture_case(program_from("sharpen", R"(
def sharpen(img: f32[H, W], by: f32[H, W], amount: f32 = 1.5, threshold: f32 = 0.001) -> sharp {
  sharp[y, x] = if abs(img[y, x] - by[y, x]) < threshold then img[y, x]
                else (1 + amount) * img[y, x] - amount * by[y, x]
})"),
                        {side, side}, 6, s);
  c.inputs.push_back(uniform({side, side}, 2));
  c.work.bytes_read *= 2;
  // Where the threshold decides, a rounding error may decide otherwise and then makes a difference of this
  // size.
  c.tolerance = 1.5 * 0.001 + likely_error(Scalar::F32, 6);
  c.reference = [side](std::span<const Data> in, std::vector<Data>& out) {
    const float *u = floats(in[0]), *b = floats(in[1]);
    fill_rows(out[0], side, side, [=](std::int64_t y, std::int64_t x) {
      const double p = u[y * side + x], q = b[y * side + x];
      return std::abs(p - q) < 0.001 ? p : 2.5 * p - 1.5 * q;
    });
  };
  c.peers.push_back(loops(s, "gcc",
                          fmt::format(R"c(
  const float *restrict a = in[0], *restrict b = in[1];
  float *restrict v = out[0];
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n[0] * n[0]; ++i) v[i] = {};
)c",
                                      sharpen_value),
                          {side}));
  return c;
}

/// The rows of a separable filter of five taps, from u to v along x and along y, as C.
constexpr const char* five_taps = R"c(
  const float w[5] = {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f};
  #define CLAMP(i, n) ((i) < 0 ? 0 : (i) < (n) ? (i) : (n) - 1)
)c";

/// Unsharp masking with its three stages one after the other; the peer keeps its buffers.
Case unsharp(Session& s, std::int64_t colours, std::int64_t side) {
  Case c = picture_case(example("unsharp", "unsharp"), {colours, side, side}, 26, s);
  c.held_to_floor = false;
  c.tolerance = 1.5 * 0.001 + likely_error(Scalar::F32, 26);
  c.reference = [=](std::span<const Data> in, std::vector<Data>& out) {
    const float* u = floats(in[0]);
    constexpr double w[] = {0.0625, 0.25, 0.375, 0.25, 0.0625};
    std::vector<double> bx(static_cast<std::size_t>(colours * side * side));
#pragma omp parallel for
    for (std::int64_t y = 0; y < colours * side; ++y) {
      for (std::int64_t x = 0; x < side; ++x) {
        double sum = 0;
        for (std::int64_t k = 0; k < 5; ++k) sum += w[k] * u[y * side + clamped(x + k - 2, side)];
        bx[static_cast<std::size_t>(y * side + x)] = sum;
      }
    }
    fill_rows(out[0], colours * side, side, [&](std::int64_t row, std::int64_t x) {
      const std::int64_t y = row % side, first = row - y;
      double by = 0;
      for (std::int64_t k = 0; k < 5; ++k)
        by += w[k] * bx[static_cast<std::size_t>((first + clamped(y + k - 2, side)) * side + x)];
      const double p = u[row * side + x];
      return std::abs(p - by) < 0.001 ? p : 2.5 * p - 1.5 * by;
    });
  };
  c.peers.push_back(loops(s, "unfused",
                          std::string(five_taps) + fmt::format(R"c(
  const int64_t C = n[0], W = n[1], P = W * W;
  static float *bx, *by;
  static int64_t held;
  if (held != C * P) {{
    free(bx), free(by);
    bx = aligned_alloc(64, (sizeof *bx * C * P + 63) / 64 * 64);
    by = aligned_alloc(64, (sizeof *by * C * P + 63) / 64 * 64);
    held = C * P;
  }}
  float *restrict t = bx, *restrict b = by, *restrict v = out[0];
  const float *restrict a = in[0];
  #pragma omp parallel for
  for (int64_t y = 0; y < C * W; ++y) {{
    const float *restrict r = a + y * W;
    for (int64_t x = 0; x < W; ++x) {{
      float sum = 0;
      if (x >= 2 && x < W - 2) continue;
      for (int k = 0; k < 5; ++k) sum += w[k] * r[CLAMP(x + k - 2, W)];
      t[y * W + x] = sum;
    }}
    for (int64_t x = 2; x < W - 2; ++x)
      t[y * W + x] = w[0] * r[x - 2] + w[1] * r[x - 1] + w[2] * r[x] + w[3] * r[x + 1] + w[4] * r[x + 2];
  }}
  #pragma omp parallel for collapse(2)
  for (int64_t c = 0; c < C; ++c)
    for (int64_t y = 0; y < W; ++y) {{
      const float *restrict r0 = t + c * P + CLAMP(y - 2, W) * W, *restrict r1 = t + c * P + CLAMP(y - 1, W) * W;
      const float *restrict r2 = t + c * P + y * W, *restrict r3 = t + c * P + CLAMP(y + 1, W) * W;
      const float *restrict r4 = t + c * P + CLAMP(y + 2, W) * W;
      float *restrict to = b + c * P + y * W;
      for (int64_t x = 0; x < W; ++x) to[x] = w[0] * r0[x] + w[1] * r1[x] + w[2] * r2[x] + w[3] * r3[x] + w[4] * r4[x];
    }}
  #pragma omp parallel for simd
  for (int64_t i = 0; i < C * P; ++i) v[i] = {};
)c",
                                                               sharpen_value),
                          {colours, side}));
  return c;
}

}  // namespace

std::vector<Entry> stencil_entries() {
  using Make = Case (*)(Session&, std::int64_t);
  const auto sized = [](std::string name, Make make, std::int64_t side) {
    return entry(std::move(name), [=](Session& s) { return make(s, s.extent(side)); });
  };
  const auto large = [](std::string name, Make make, int dimensions) {
    return entry(std::move(name), [=](Session& s) { return make(s, side_beyond_cache(s, dimensions)); });
  };
  return {
      entry("jacobi1d", jacobi1d),
      large("jacobi2d", jacobi2d, 2),
      sized("jacobi3d", jacobi3d, 256),
      large("jacobi3d", jacobi3d, 3),
      sized("conv2d 5x5", conv2d, 4096),
      large("conv2d 5x5", conv2d, 2),
      sized("blur: along x", blur_x, 4096),
      large("blur: along x", blur_x, 2),
      sized("blur: along y", blur_y, 4096),
      large("blur: along y", blur_y, 2),
      sized("unsharp: last stage", sharpen, 4096),
      large("unsharp: last stage", sharpen, 2),
      entry("unsharp: all stages", [](Session& s) { return unsharp(s, s.extent(3), s.extent(2048)); }),
      entry("unsharp: all stages", [](Session& s) { return unsharp(s, 1, s.extent(4096)); }),
  };
}

}  // namespace twill::bench
