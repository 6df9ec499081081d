// Whole image pipelines, on one thread and on all: as they are planned, with a pass for each stage, by hand
// with rings of rows where that is a loop one would write, and in Halide under every schedule there is for
// them. Small pictures are verified with the interpreter, the others with Halide's result if it is there.
#include "bench/arrays.h"
#include "bench/case.h"
#include "bench/halide.h"
#include "bench/loops.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <array>

namespace twill::bench {

namespace {

double as_double(std::int64_t n) { return static_cast<double>(n); }

double bytes_of(const std::vector<Data>& arrays) {
  double bytes = 0;
  for (const Data& data : arrays) bytes += as_double(static_cast<std::int64_t>(data.byte_count()));
  return bytes;
}

/// What a pipeline is made of. Operations: as the program has them, for all pixels; of the large pipelines,
/// the floor is that of memory alone.
struct Picture {
  std::string example;              // examples/NAME.twill, the definition in it, and peers/NAME.cpp
  std::vector<std::int64_t> sizes;  // what the size is called by
  std::vector<Data> inputs;
  double result_bytes = 0;
  double operations = 0;
  double tolerance = 0;
};

Case start(Session& s, Picture picture, int threads) {
  Case c;
  c.program = example(picture.example, picture.example);
  c.size = fmt::format("{}", fmt::join(picture.sizes, "x"));
  c.inputs = std::move(picture.inputs);
  c.work = {picture.operations, bytes_of(c.inputs), picture.result_bytes};
  c.tolerance = picture.tolerance;
  c.threads = threads;
  Way none = unfused();
  none.name = "none";
  c.ways = {none};
  // To see whether everything works, ours does: compiling takes its time, and tiles want larger pictures.
  if (s.options().small) return c;
  c.peers = halide_peers(s, picture.example, picture.sizes, threads > 0 ? threads : s.threads());
  if (c.peers[0].run) {
    c.reference = c.peers[0].run;
    c.reference_name = "halide";
  } else {
    none.options.compiler = s.options().compiler;
    const Kernel kernel = *compile(c.program, s.machine(), none.options).kernel;
    c.reference = [kernel](std::span<const Data> in, std::vector<Data>& out) {
      out = kernel.run(in).results;
    };
    c.reference_name = "none";
  }
  return c;
}

/// Rows of memory that threads of the loops below keep.
constexpr const char* rows_of_a_thread = R"c(
static float *rows_of_a_thread(int64_t count) {
  static _Thread_local float *kept;
  static _Thread_local int64_t held;
  if (held < count) {
    free(kept);
    kept = aligned_alloc(64, (sizeof *kept * count + 63) / 64 * 64);
    held = count;
  }
  return kept;
}

static inline int64_t clamp(int64_t i, int64_t n) { return i < 0 ? 0 : i < n ? i : n - 1; }
)c";

Case blur(Session& s, std::int64_t side, int threads) {
  const std::int64_t h = s.extent(side), w = h;
  Picture picture{"blur", {h, w}, {}, 4 * as_double(h * w), 10 * as_double(h * w)};
  picture.inputs.push_back(uniform({h, w}, 1));
  picture.tolerance = likely_error(Scalar::F32, 10);
  Case c = start(s, std::move(picture), threads);
  c.peers.push_back(hand_loops(s, std::string("#include <omp.h>\n") + rows_of_a_thread + R"c(
static void along_x(float *restrict to, const float *restrict r, int64_t W) {
  to[0] = 0.75f * r[0] + 0.25f * r[W > 1];
  for (int64_t x = 1; x < W - 1; ++x) to[x] = 0.25f * r[x - 1] + 0.5f * r[x] + 0.25f * r[x + 1];
  if (W > 1) to[W - 1] = 0.25f * r[W - 2] + 0.75f * r[W - 1];
}

static void along_y(float *restrict to, const float *restrict a, const float *restrict b, const float *restrict c,
                    int64_t W) {
  for (int64_t x = 0; x < W; ++x) to[x] = 0.25f * a[x] + 0.5f * b[x] + 0.25f * c[x];
}
)c",
                               R"c(
  const float *img = in[0];
  float *by = out[0];
  const int64_t H = n[0], W = n[1];
  #pragma omp parallel
  {
    const int64_t first = H * omp_get_thread_num() / omp_get_num_threads();
    const int64_t last = H * (omp_get_thread_num() + 1) / omp_get_num_threads();
    float *ring = rows_of_a_thread(4 * W), *line = ring + 3 * W;
    int64_t next = clamp(first - 1, H);
    for (int64_t y = first; y < last; ++y) {
      for (; next <= clamp(y + 1, H); ++next) along_x(ring + next % 3 * W, img + next * W, W);
      along_y(line, ring + clamp(y - 1, H) % 3 * W, ring + y % 3 * W, ring + clamp(y + 1, H) % 3 * W, W);
      stream_row(by + y * W, line, W);
    }
  }
)c",
                               {h, w}));
  return c;
}

Case unsharp(Session& s, std::int64_t side, int threads) {
  const std::int64_t colours = 3, h = s.extent(side), w = h;
  const double n = as_double(colours * h * w);
  Picture picture{"unsharp", {colours, h, w}, {}, 4 * n, 24 * n};
  picture.inputs.push_back(uniform({colours, h, w}, 1));
  // Where the threshold decides, a rounding error may decide otherwise and makes a difference of this size.
  picture.tolerance = 1.5 * 0.001 + likely_error(Scalar::F32, 24);
  Case c = start(s, std::move(picture), threads);
  c.peers.push_back(hand_loops(s, std::string("#include <omp.h>\n") + rows_of_a_thread + R"c(
static const float w[5] = {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f};

static void along_x(float *restrict to, const float *restrict r, int64_t W) {
  for (int64_t x = 2; x < W - 2; ++x)
    to[x] = w[0] * r[x - 2] + w[1] * r[x - 1] + w[2] * r[x] + w[3] * r[x + 1] + w[4] * r[x + 2];
  for (int64_t k = 0; k < 4 && k < W; ++k) {
    const int64_t x = k < 2 ? k : W - 1 - (k - 2);
    to[x] = 0;
    for (int64_t l = 0; l < 5; ++l) to[x] += w[l] * r[clamp(x + l - 2, W)];
  }
}

static void sharpen(float *restrict to, const float *restrict r, const float *restrict a, const float *restrict b,
                    const float *restrict c, const float *restrict d, const float *restrict e, int64_t W) {
  for (int64_t x = 0; x < W; ++x) {
    const float by = w[0] * a[x] + w[1] * b[x] + w[2] * c[x] + w[3] * d[x] + w[4] * e[x];
    to[x] = fabsf(r[x] - by) < 0.001f ? r[x] : 2.5f * r[x] - 1.5f * by;
  }
}
)c",
                               R"c(
  const int64_t C = n[0], H = n[1], W = n[2];
  #pragma omp parallel
  for (int64_t c = 0; c < C; ++c) {
    const float *img = (const float *)in[0] + c * H * W;
    float *sharp = (float *)out[0] + c * H * W;
    const int64_t first = H * omp_get_thread_num() / omp_get_num_threads();
    const int64_t last = H * (omp_get_thread_num() + 1) / omp_get_num_threads();
    float *ring = rows_of_a_thread(6 * W), *line = ring + 5 * W;
    int64_t next = clamp(first - 2, H);
    for (int64_t y = first; y < last; ++y) {
      for (; next <= clamp(y + 2, H); ++next) along_x(ring + next % 5 * W, img + next * W, W);
      const float *row[5];
      for (int k = 0; k < 5; ++k) row[k] = ring + clamp(y + k - 2, H) % 5 * W;
      sharpen(line, img + y * W, row[0], row[1], row[2], row[3], row[4], W);
      stream_row(sharp + y * W, line, W);
    }
  }
)c",
                               {colours, h, w}));
  return c;
}

Case harris(Session& s, std::int64_t side, int threads) {
  const std::int64_t h = s.extent(side), w = h;
  Picture picture{"harris", {h, w}, {}, 4 * as_double(h * w), 50 * as_double(h * w)};
  picture.inputs.push_back(uniform({h, w}, 1));
  picture.tolerance = likely_error(Scalar::F32, 50);
  Case c = start(s, std::move(picture), threads);
  // The windows are summed along x when a row of products enters the rings, and along y when it is used.
  c.peers.push_back(hand_loops(s, std::string("#include <omp.h>\n") + rows_of_a_thread + R"c(
/* The products of the slopes in a row, with a pixel more at both ends. */
static void products(float *restrict xx, float *restrict xy, float *restrict yy, const float *restrict a,
                     const float *restrict b, const float *restrict c, int64_t W) {
  const float u = 1.0f / 12, v = 2.0f / 12;
  for (int64_t x = 1; x < W - 1; ++x) {
    const float ix = u * (a[x + 1] - a[x - 1]) + v * (b[x + 1] - b[x - 1]) + u * (c[x + 1] - c[x - 1]);
    const float iy = u * (c[x - 1] - a[x - 1]) + v * (c[x] - a[x]) + u * (c[x + 1] - a[x + 1]);
    xx[x + 1] = ix * ix, xy[x + 1] = ix * iy, yy[x + 1] = iy * iy;
  }
  for (int64_t k = 0; k < 2; ++k) {
    const int64_t x = k == 0 ? 0 : W - 1, l = clamp(x - 1, W), r = clamp(x + 1, W);
    const float ix = u * (a[r] - a[l]) + v * (b[r] - b[l]) + u * (c[r] - c[l]);
    const float iy = u * (c[l] - a[l]) + v * (c[x] - a[x]) + u * (c[r] - a[r]);
    xx[x + 1] = ix * ix, xy[x + 1] = ix * iy, yy[x + 1] = iy * iy;
  }
  xx[0] = xx[1], xy[0] = xy[1], yy[0] = yy[1];
  xx[W + 1] = xx[W], xy[W + 1] = xy[W], yy[W + 1] = yy[W];
}

static void sum_x(float *restrict to, const float *restrict p, int64_t W) {
  for (int64_t x = 0; x < W; ++x) to[x] = p[x] + p[x + 1] + p[x + 2];
}

static void respond(float *restrict to, const float *restrict a, const float *restrict b, const float *restrict c,
                    int64_t W) {
  for (int64_t x = 0; x < W; ++x) {
    const float xx = a[x] + b[x] + c[x];
    const float xy = a[x + W] + b[x + W] + c[x + W];
    const float yy = a[x + 2 * W] + b[x + 2 * W] + c[x + 2 * W];
    to[x] = xx * yy - xy * xy - 0.04f * (xx + yy) * (xx + yy);
  }
}
)c",
                               R"c(
  const float *img = in[0];
  float *corner = out[0];
  const int64_t H = n[0], W = n[1], P = 3 * W;
  #pragma omp parallel
  {
    const int64_t first = H * omp_get_thread_num() / omp_get_num_threads();
    const int64_t last = H * (omp_get_thread_num() + 1) / omp_get_num_threads();
    float *ring = rows_of_a_thread(13 * W + 6), *line = ring + 3 * P, *p = line + W;
    int64_t next = clamp(first - 1, H);
    for (int64_t y = first; y < last; ++y) {
      for (; next <= clamp(y + 1, H); ++next) {
        products(p, p + W + 2, p + 2 * (W + 2), img + clamp(next - 1, H) * W, img + next * W,
                 img + clamp(next + 1, H) * W, W);
        for (int64_t k = 0; k < 3; ++k) sum_x(ring + next % 3 * P + k * W, p + k * (W + 2), W);
      }
      respond(line, ring + clamp(y - 1, H) % 3 * P, ring + y % 3 * P, ring + clamp(y + 1, H) % 3 * P, W);
      stream_row(corner + y * W, line, W);
    }
  }
)c",
                               {h, w}));
  return c;
}

Case local_laplacian(Session& s, std::int64_t width, int threads) {
  const std::int64_t h = s.extent(1536), w = s.extent(width), n = 3 * h * w;
  Picture picture{"local_laplacian", {3, h, w}, {}, 2 * as_double(n)};
  picture.inputs.push_back(random_integers(Scalar::U16, {3, h, w}, 1, 0, 1 << 16));
  picture.tolerance = 1e-4;
  return start(s, std::move(picture), threads);
}

Case bilateral_grid(Session& s, std::int64_t width, int threads) {
  const std::int64_t h = s.extent(1536), w = s.extent(width);
  Picture picture{"bilateral_grid", {h, w}, {}, 4 * as_double(h * w)};
  // Of 256 intensities, for which no rounding error decides about the cell of a pixel.
  picture.inputs.push_back(random_integers(Scalar::F32, {h, w}, 1, 0, 256, 256));
  picture.tolerance = 1e-4;
  return start(s, std::move(picture), threads);
}

Case interpolate(Session& s, std::int64_t width, int threads) {
  const std::int64_t h = s.extent(1536), w = s.extent(width);
  Picture picture{"interpolate", {4, h, w}, {}, 4 * as_double(4 * h * w)};
  picture.inputs.push_back(uniform({4, h, w}, 1));
  picture.tolerance = 1e-4;
  return start(s, std::move(picture), threads);
}

Case camera_pipe(Session& s, std::int64_t width, int threads) {
  const std::int64_t h = s.extent(1968), w = s.extent(width);
  Picture picture{"camera_pipe", {h, w}, {}, 3 * as_double(h * w)};
  picture.inputs.push_back(random_integers(Scalar::U16, {h, w}, 1, 0, 1024));
  // The matrices of the Frankencamera's sensor for the light of 3200 and of 7000 K.
  for (const std::array<float, 12>& matrix :
       {std::array{1.6697F, -0.2693F, -0.4004F, -42.4346F, -0.3576F, 1.0615F, 1.5949F, -37.1158F, -0.2175F,
                   -1.8751F, 6.9640F, -26.6970F},
        std::array{2.2997F, -0.4478F, 0.1706F, -39.0923F, -0.3826F, 1.5906F, -0.2080F, -25.4311F, -0.0888F,
                   -0.7344F, 2.2832F, -20.0826F}}) {
    Data& data = picture.inputs.emplace_back(Scalar::F32, std::vector<std::int64_t>{3, 4});
    std::copy(matrix.begin(), matrix.end(), data.as<float>().begin());
  }
  picture.tolerance =
      2.5 / 255;  // an entry of the tone curve may be another one by rounding, and is sharpened
  return start(s, std::move(picture), threads);
}

}  // namespace

std::vector<Entry> pipelines_entries() {
  using Make = Case (*)(Session&, std::int64_t size, int threads);
  std::vector<Entry> entries;
  // How long the paper on tile-and-slice fusion needs to plan them, in seconds.
  const auto add = [&](const std::string& name, Make make, std::int64_t size, double published) {
    for (const int threads : {1, 0})
      entries.push_back(entry(name, [=](Session& s) {
        Case c = make(s, size, threads);
        c.published_plan_ms = 1e3 * published;
        return c;
      }));
  };
  add("blur", blur, 4096, 0);
  add("unsharp", unsharp, 2048, 0.05);
  add("harris", harris, 2048, 435);
  add("harris", harris, 6400, 435);
  add("local laplacian", local_laplacian, 2560, 89);
  add("bilateral grid", bilateral_grid, 2560, 0.86);
  add("interpolate", interpolate, 2560, 3.3);
  add("camera", camera_pipe, 2592, 4560);
  return entries;
}

}  // namespace twill::bench
