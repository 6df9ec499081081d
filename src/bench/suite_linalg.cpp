// Linear algebra and the elementary patterns: products, elementwise stages, reductions, scans, histograms.
#include "bench/arrays.h"
#include "bench/case.h"
#include "bench/loops.h"

#include <fmt/format.h>

namespace twill::bench {

namespace {

const std::string f64_loops = "plain loops in f64";

double as_double(std::int64_t n) { return static_cast<double>(n); }

/// How a number of elements is written: "2^24", "10^7", "576".
std::string count_text(std::int64_t n) {
  if (n == 1 << 24) return "2^24";
  if (n == 10'000'000) return "10^7";
  return fmt::format("{}", n);
}

const float* floats(const Data& data) { return data.as<float>().data(); }
float* floats(Data& data) { return data.as<float>().data(); }

/// Peers that OpenBLAS and BLIS provide, by the same calls.
void add_blas(Case& c, Session& session,
              const std::function<void(const Blas&, std::span<const Data>, std::vector<Data>&)>& run) {
  if (!session.options().installed) return;
  for (const BlasKind kind : {BlasKind::OpenBlas, BlasKind::Blis}) {
    const Blas& blas = session.blas(kind);
    Action action;
    if (blas.available())
      action = [&blas, run](std::span<const Data> in, std::vector<Data>& out) { run(blas, in, out); };
    c.peers.push_back({blas.name(), std::move(action), blas.missing(), blas.own_threads()});
  }
}

// ---- products -------------------------------------------------------------------------------------------

Case dot(Session& s, std::int64_t n) {
  Case c;
  c.size = count_text(n);
  c.program = example("dot", "dot");
  c.inputs.push_back(uniform({n}, 1));
  c.inputs.push_back(uniform({n}, 2));
  c.work = {2 * as_double(n), 8 * as_double(n), 4};
  c.held_to_floor = n >= s.beyond_cache(4);
  c.tolerance = likely_error(Scalar::F32, as_double(n));
  c.reference_name = f64_loops;
  c.reference = [n](std::span<const Data> in, std::vector<Data>& out) {
    const float *x = floats(in[0]), *y = floats(in[1]);
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (std::int64_t i = 0; i < n; ++i) sum += double(x[i]) * double(y[i]);
    *floats(out[0]) = static_cast<float>(sum);
  };
  add_blas(c, s, [n](const Blas& blas, std::span<const Data> in, std::vector<Data>& out) {
    *floats(out[0]) = blas.dot(n, floats(in[0]), floats(in[1]));
  });
  c.peers.push_back(loops(s, "gcc", R"c(
  const float *restrict x = in[0], *restrict y = in[1];
  float sum = 0;
  #pragma omp parallel for simd reduction(+ : sum)
  for (int64_t i = 0; i < n[0]; ++i) sum += x[i] * y[i];
  *(float *)out[0] = sum;
)c",
                          {n}));
  return c;
}

/// c[b] = x[b] · y[b] in f64, for `batch` matrices of m × k and k × n.
void reference_matmul(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k, const float* x,
                      const float* y, float* c) {
#pragma omp parallel for collapse(2)
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t i = 0; i < m; ++i) {
      std::vector<double> row(static_cast<std::size_t>(n));
      for (std::int64_t l = 0; l < k; ++l) {
        const double left = x[(b * m + i) * k + l];
        const float* right = y + (b * k + l) * n;
        for (std::int64_t j = 0; j < n; ++j) row[static_cast<std::size_t>(j)] += left * double(right[j]);
      }
      for (std::int64_t j = 0; j < n; ++j)
        c[(b * m + i) * n + j] = static_cast<float>(row[static_cast<std::size_t>(j)]);
    }
  }
}

Case matvec(Session& s, std::int64_t m, std::int64_t k) {
  Case c;
  c.size = fmt::format("{}x{}", m, k);
  c.program = example("matvec", "matvec");
  c.inputs.push_back(uniform({m, k}, 1));
  c.inputs.push_back(uniform({k}, 2));
  c.work = {2 * as_double(m * k), 4 * as_double(m * k + k), 4 * as_double(m)};
  c.held_to_floor = m * k >= s.beyond_cache(4);
  c.tolerance = likely_error(Scalar::F32, as_double(k));
  c.reference_name = f64_loops;
  c.reference = [m, k](std::span<const Data> in, std::vector<Data>& out) {
    reference_matmul(1, m, 1, k, floats(in[0]), floats(in[1]), floats(out[0]));
  };
  add_blas(c, s, [m, k](const Blas& blas, std::span<const Data> in, std::vector<Data>& out) {
    blas.matvec(m, k, floats(in[0]), floats(in[1]), floats(out[0]));
  });
  c.peers.push_back(onednn_peer(s, [=](const OneDnn& dnn) { return dnn.matmul(1, m, 1, k); }));
  c.peers.push_back(loops(s, "gcc", R"c(
  const float *restrict a = in[0], *restrict x = in[1];
  float *restrict y = out[0];
  #pragma omp parallel for
  for (int64_t i = 0; i < n[0]; ++i) {
    float sum = 0;
    for (int64_t k = 0; k < n[1]; ++k) sum += a[i * n[1] + k] * x[k];
    y[i] = sum;
  }
)c",
                          {m, k}));
  return c;
}

constexpr const char* matmul_loops = R"c(
  const float *restrict x = in[0], *restrict y = in[1];
  float *restrict c = out[0];
  const int64_t I = n[1], J = n[2], K = n[3];
  #pragma omp parallel for collapse(2)
  for (int64_t b = 0; b < n[0]; ++b)
    for (int64_t i = 0; i < I; ++i) {
      float *restrict row = c + (b * I + i) * J;
      for (int64_t j = 0; j < J; ++j) row[j] = 0;
      for (int64_t k = 0; k < K; ++k)
        for (int64_t j = 0; j < J; ++j) row[j] += x[(b * I + i) * K + k] * y[(b * K + k) * J + j];
    }
)c";

enum class Kind { Plain, Batched, Transposed };

Case matmul(Session& s, Kind kind, std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k) {
  const bool transposed = kind == Kind::Transposed;
  Case c;
  c.size = batch == 1 ? fmt::format("{}x{}x{}", m, n, k) : fmt::format("{}x({}x{}x{})", batch, m, n, k);
  switch (kind) {
    case Kind::Plain:
      c.program = example("matmul", "matmul");
      c.inputs.push_back(uniform({m, k}, 1));
      c.inputs.push_back(uniform({k, n}, 2));
      break;
    case Kind::Batched:
      c.program = example("matmul_batched", "matmul_batched");
      c.inputs.push_back(uniform({batch, m, k}, 1));
      c.inputs.push_back(uniform({batch, k, n}, 2));
      break;
    case Kind::Transposed:
      c.program = example("matmul_transposed", "matmul_transposed");
      c.inputs.push_back(uniform({k, m}, 1));
      c.inputs.push_back(uniform({n, k}, 2));
      // The result is stored transposed as well, which makes it the plain product of the second and the
      // first.
      std::swap(m, n);
      break;
  }
  const std::size_t left = transposed ? 1 : 0, right = 1 - left;
  c.work = {2 * as_double(batch * m * n * k), 4 * as_double(batch * (m * k + k * n)),
            4 * as_double(batch * m * n)};
  c.tolerance = likely_error(Scalar::F32, as_double(k));
  c.reference_name = f64_loops;
  c.reference = [=](std::span<const Data> in, std::vector<Data>& out) {
    reference_matmul(batch, m, n, k, floats(in[left]), floats(in[right]), floats(out[0]));
  };
  add_blas(c, s, [=](const Blas& blas, std::span<const Data> in, std::vector<Data>& out) {
    for (std::int64_t b = 0; b < batch; ++b)
      blas.matmul(m, n, k, floats(in[left]) + b * m * k, floats(in[right]) + b * k * n,
                  floats(out[0]) + b * m * n);
  });
  c.peers.push_back(onednn_peer(
      s, [=](const OneDnn& dnn) { return dnn.matmul(batch, m, n, k); }, left, right));
  std::string body = matmul_loops;
  if (transposed) body = "\n  const void *const swapped[] = {in[1], in[0]};\n  in = swapped;" + body;
  c.peers.push_back(loops(s, "gcc", body, {batch, m, n, k}));
  return c;
}

// ---- elementwise ----------------------------------------------------------------------------------------

/// One f32 result of the size of every input; `value` is C for an element, with inputs a and b and the scalar
/// s.
Case elementwise(Session& s, std::shared_ptr<const Program> program, int arrays, bool scalar,
                 double operations, const std::string& value, double (*exact)(double a, double b, double s)) {
  const std::int64_t n = s.beyond_cache(4);
  Case c;
  c.size = fmt::format("{}", n);
  c.program = std::move(program);
  for (int i = 0; i < arrays; ++i) c.inputs.push_back(uniform({n}, static_cast<std::uint64_t>(i + 1)));
  if (scalar) c.inputs.push_back(Data::scalar(Number::of_double(Scalar::F32, 1.5)));
  c.work = {operations * as_double(n), 4 * as_double(n) * arrays, 4 * as_double(n)};
  c.held_to_floor = true;
  c.tolerance = likely_error(Scalar::F32, 1);
  c.reference_name = f64_loops;
  c.reference = [=](std::span<const Data> in, std::vector<Data>& out) {
    const float *a = floats(in[0]), *b = floats(in[arrays > 1 ? 1 : 0]);
    float* to = floats(out[0]);
#pragma omp parallel for
    for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(exact(a[i], b[i], 1.5));
  };
  const std::string names = fmt::format(R"c(
  const float *restrict a = in[0], *restrict b = in[{}];
  const float s = 1.5f;
  float *restrict c = out[0];
  (void)b, (void)s;)c",
                                        arrays > 1 ? 1 : 0);
  c.peers.push_back(loops(s, "gcc",
                          names + fmt::format(R"c(
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n[0]; ++i) c[i] = {};
)c",
                                              value),
                          {n}));
  c.peers.push_back(loops(s, "hand",
                          names + fmt::format(R"c(
  #pragma omp parallel for
  for (int64_t o = 0; o < n[0]; o += 1024) {{
    float row[1024] __attribute__((aligned(64)));
    const int64_t count = n[0] - o < 1024 ? n[0] - o : 1024;
    for (int64_t i = 0; i < count; ++i) row[i] = {};
    stream_row(c + o, row, count);
  }}
)c",
                                              [&] {
                                                std::string at = value;
                                                for (std::size_t p = 0;
                                                     (p = at.find("[i]", p)) != std::string::npos; p += 7)
                                                  at.replace(p, 3, "[o + i]");
                                                return at;
                                              }()),
                          {n}));
  return c;
}

Case copy(Session& s) {
  return elementwise(s, program_from("copy", "def copy(a: f32[N]) -> c { c[i] = a[i] }"), 1, false, 0, "a[i]",
                     [](double a, double, double) { return a; });
}

Case map(Session& s) {
  return elementwise(s, example("map", "map"), 1, false, 3, "(a[i] - 32) * 5 / 9",
                     [](double a, double, double) { return (a - 32) * 5 / 9; });
}

Case triad(Session& s) {
  return elementwise(
      s, program_from("triad", "def triad(a: f32[N], b: f32[N], s: f32) -> c { c[i] = a[i] + s * b[i] }"), 2,
      true, 2, "a[i] + s * b[i]", [](double a, double b, double t) { return a + t * b; });
}

// ---- reductions and scans -------------------------------------------------------------------------------

Case reduce(Session& s) {
  const std::int64_t n = s.beyond_cache(4);
  Case c;
  c.size = fmt::format("{}", n);
  c.program = program_from("total", "def total(x: f32[N]) -> s { s = sum(i) x[i] }");
  c.inputs.push_back(uniform({n}, 1));
  c.work = {as_double(n), 4 * as_double(n), 4};
  c.held_to_floor = true;
  c.tolerance = likely_error(Scalar::F32, as_double(n));
  c.reference_name = f64_loops;
  c.reference = [n](std::span<const Data> in, std::vector<Data>& out) {
    const float* x = floats(in[0]);
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (std::int64_t i = 0; i < n; ++i) sum += x[i];
    *floats(out[0]) = static_cast<float>(sum);
  };
  c.peers.push_back(loops(s, "gcc", R"c(
  const float *restrict x = in[0];
  float sum = 0;
  #pragma omp parallel for simd reduction(+ : sum)
  for (int64_t i = 0; i < n[0]; ++i) sum += x[i];
  *(float *)out[0] = sum;
)c",
                          {n}));
  return c;
}

Case row_sums(Session& s) {
  const std::int64_t k = s.extent(4096), m = s.beyond_cache(4) / k;
  Case c;
  c.size = fmt::format("{}x{}", m, k);
  c.program = program_from("row_sums", "def row_sums(x: f32[N, M]) -> s { s[i] = sum(j) x[i, j] }");
  c.inputs.push_back(uniform({m, k}, 1));
  c.work = {as_double(m * k), 4 * as_double(m * k), 4 * as_double(m)};
  c.held_to_floor = true;
  c.tolerance = likely_error(Scalar::F32, as_double(k));
  c.reference_name = f64_loops;
  c.reference = [m, k](std::span<const Data> in, std::vector<Data>& out) {
    const float* x = floats(in[0]);
    float* to = floats(out[0]);
#pragma omp parallel for
    for (std::int64_t i = 0; i < m; ++i) {
      double sum = 0;
      for (std::int64_t j = 0; j < k; ++j) sum += x[i * k + j];
      to[i] = static_cast<float>(sum);
    }
  };
  c.peers.push_back(loops(s, "gcc", R"c(
  const float *restrict x = in[0];
  float *restrict y = out[0];
  #pragma omp parallel for
  for (int64_t i = 0; i < n[0]; ++i) {
    float sum = 0;
    for (int64_t j = 0; j < n[1]; ++j) sum += x[i * n[1] + j];
    y[i] = sum;
  }
)c",
                          {m, k}));
  return c;
}

/// A scan, what reads its elements, and a fold of that: one pass, in parallel. From the right it is the same.
Case scan_map_fold(Session& s, bool from_right) {
  const std::int64_t n = s.extent(1 << 24);
  Case c;
  c.size = count_text(n);
  c.program =
      program_from("scan map fold", fmt::format("def scan_map_fold(x: f32[N]) -> m {{ c[i] = {}(+, i) x[i]\n"
                                                " d[i] = c[i] * 0.5 + x[i]\n m = max(i) d[i] }}",
                                                from_right ? "scan_right" : "scan"));
  c.inputs.push_back(uniform({n}, 1));
  c.work = {4 * as_double(n), 4 * as_double(n), 0};
  c.tolerance = likely_error(Scalar::F32, as_double(n));
  c.reference_name = f64_loops;
  c.reference = [=](std::span<const Data> in, std::vector<Data>& out) {
    double sum = 0, most = -std::numeric_limits<double>::infinity();
    for (std::int64_t k = 0; k < n; ++k) {
      const float x = floats(in[0])[from_right ? n - 1 - k : k];
      sum += x;
      most = std::max(most, sum * 0.5 + x);
    }
    floats(out[0])[0] = static_cast<float>(most);
  };
  c.ways.push_back(unfused());
  // The same by hand: the parts' sums, where they begin, and once more over the elements.
  c.peers.push_back(loops(s, "hand",
                          fmt::format(R"c(
  const float *restrict x = in[0];
  const int parts = omp_get_max_threads();
  float sums[256], most = -INFINITY;
  #define AT(k) ({})
  #pragma omp parallel reduction(max : most)
  {{
    const int p = omp_get_thread_num();
    const int64_t from = n[0] * p / parts, to = n[0] * (p + 1) / parts;
    float sum = 0;
    #pragma omp simd reduction(+ : sum)
    for (int64_t k = from; k < to; ++k) sum += x[AT(k)];
    sums[p] = sum;
    #pragma omp barrier
    sum = 0;
    for (int q = 0; q < p; ++q) sum += sums[q];
    for (int64_t k = from; k < to; ++k) {{
      sum += x[AT(k)];
      const float d = sum * 0.5f + x[AT(k)];
      most = d > most ? d : most;
    }}
  }}
  #undef AT
  *(float *)out[0] = most;
)c",
                                      from_right ? "n[0] - 1 - (k)" : "k"),
                          {n}));
  return c;
}

Case scan(Session& s) {
  const std::int64_t n = s.extent(1 << 24);
  Case c;
  c.size = count_text(n);
  c.program = program_from("scan", "def scan_sum(x: f32[N]) -> c { c[i] = scan(+, i) x[i] }");
  c.inputs.push_back(uniform({n}, 1));
  c.work = {as_double(n), 4 * as_double(n), 4 * as_double(n)};
  c.tolerance = likely_error(Scalar::F32, as_double(n));
  c.reference_name = f64_loops;
  c.reference = [n](std::span<const Data> in, std::vector<Data>& out) {
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i) floats(out[0])[i] = static_cast<float>(sum += floats(in[0])[i]);
  };
  c.peers.push_back(loops(s, "gcc", R"c(
  const float *restrict x = in[0];
  float *restrict y = out[0];
  float sum = 0;
  for (int64_t i = 0; i < n[0]; ++i) y[i] = sum += x[i];
)c",
                          {n}));
  return c;
}

Case histogram(Session& s) {
  const std::int64_t n = s.extent(1 << 24);
  Case c;
  c.size = count_text(n) + " u8";
  c.program = example("histogram", "histogram");
  c.inputs.push_back(random_bytes({n}, 1));
  c.work = {as_double(n), as_double(n), 256 * 8};
  c.reference_name = "plain loop";
  c.reference = [](std::span<const Data> in, std::vector<Data>& out) {
    const std::span<std::int64_t> bins = out[0].as<std::int64_t>();
    std::fill(bins.begin(), bins.end(), 0);
    for (const std::uint8_t x : in[0].as<std::uint8_t>()) ++bins[x];
  };
  c.peers.push_back(loops(s, "gcc", R"c(
  const uint8_t *restrict x = in[0];
  int64_t *h = out[0];
  int64_t bins[256] = {0};
  #pragma omp parallel for reduction(+ : bins)
  for (int64_t i = 0; i < n[0]; ++i) ++bins[x[i]];
  memcpy(h, bins, sizeof bins);
)c",
                          {n}));
  c.peers.push_back(loops(s, "hand", R"c(
  const uint8_t *restrict x = in[0];
  int64_t *h = out[0];
  memset(h, 0, 256 * sizeof *h);
  #pragma omp parallel
  {
    int64_t bins[4][256] = {{0}};
    #pragma omp for schedule(static)
    for (int64_t o = 0; o < n[0] / 8; ++o) {
      uint64_t w;
      memcpy(&w, x + 8 * o, 8);
      for (int b = 0; b < 8; ++b) ++bins[b % 4][w >> 8 * b & 255];
    }
    #pragma omp critical
    for (int b = 0; b < 256; ++b) h[b] += bins[0][b] + bins[1][b] + bins[2][b] + bins[3][b];
  }
  for (int64_t i = n[0] / 8 * 8; i < n[0]; ++i) ++h[x[i]];
)c",
                          {n}));
  return c;
}

}  // namespace

std::vector<Entry> linalg_entries() {
  const auto product = [](std::string name, Kind kind, std::int64_t b, std::int64_t m, std::int64_t n,
                          std::int64_t k) {
    return entry(std::move(name), [=](Session& s) {
      return matmul(s, kind, s.extent(b), s.extent(m), s.extent(n), s.extent(k));
    });
  };
  return {
      entry("dot", [](Session& s) { return dot(s, s.extent(1 << 24)); }),
      entry("dot", [](Session& s) { return dot(s, s.extent(10'000'000)); }),
      entry("dot", [](Session& s) { return dot(s, s.beyond_cache(4)); }),
      entry("matvec", [](Session& s) { return matvec(s, s.extent(4096), s.extent(4096)); }),
      entry("matvec", [](Session& s) { return matvec(s, s.extent(8192), s.extent(8192)); }),
      product("matmul", Kind::Plain, 1, 1024, 1024, 1024),
      product("matmul", Kind::Plain, 1, 16, 1000, 2048),
      product("matmul", Kind::Plain, 1, 1, 1000, 2048),
      product("matmul", Kind::Plain, 1, 10, 500, 64),
      product("matmul batched", Kind::Batched, 16, 10, 500, 64),
      product("matmul transposed", Kind::Transposed, 1, 10, 500, 64),
      product("matmul transposed", Kind::Transposed, 1, 1024, 1024, 1024),
      entry("copy", copy),
      entry("map", map),
      entry("triad", triad),
      entry("reduce", reduce),
      entry("row sums", row_sums),
      entry("scan", scan),
      entry("scan map fold", [](Session& s) { return scan_map_fold(s, false); }),
      entry("scan map fold from the right", [](Session& s) { return scan_map_fold(s, true); }),
      entry("histogram", histogram),
  };
}

}  // namespace twill::bench
