#include "bench/blas.h"

#include "base/error.h"

namespace twill::bench {

namespace {

constexpr int row_major = 101, no_trans = 111, trans = 112;  // of cblas.h
constexpr int parallel_openmp = 2;                           // of openblas_get_parallel

/// Where Debian puts the flavour with OpenMP, and the one that is chosen on this system.
constexpr const char* candidates[] = {
    "/usr/lib/x86_64-linux-gnu/openblas-openmp/libopenblas.so.0",
    "/usr/lib/aarch64-linux-gnu/openblas-openmp/libopenblas.so.0",
    "libopenblas.so.0",
};

int as_int(std::int64_t n) { return static_cast<int>(n); }

}  // namespace

OpenBlas::OpenBlas(int threads) {
  for (const char* candidate : candidates) {
    try {
      Library library{std::filesystem::path(candidate)};
      dot_ = library.function<Dot>("cblas_sdot");
      matvec_ = library.function<MatVec>("cblas_sgemv");
      matmul_ = library.function<MatMul>("cblas_sgemm");
      library.function<void(int)>("openblas_set_num_threads")(threads);
      own_threads_ = library.function<int()>("openblas_get_parallel")() != parallel_openmp;
      library_ = std::move(library);
      return;
    } catch (const Error&) {
      continue;
    }
  }
  missing_ = "OpenBLAS is not installed (Debian: apt-get install libopenblas0-openmp)";
}

float OpenBlas::dot(std::int64_t n, const float* x, const float* y) const {
  return dot_(as_int(n), x, 1, y, 1);
}

void OpenBlas::matvec(std::int64_t m, std::int64_t n, const float* a, const float* x, float* y) const {
  matvec_(row_major, no_trans, as_int(m), as_int(n), 1, a, as_int(n), x, 1, 0, y, 1);
}

void OpenBlas::matmul(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b,
                      float* c) const {
  if (m == 1) return matvec_(row_major, trans, as_int(k), as_int(n), 1, b, as_int(n), a, 1, 0, c, 1);
  matmul_(row_major, no_trans, no_trans, as_int(m), as_int(n), as_int(k), 1, a, as_int(k), b, as_int(n), 0, c,
          as_int(n));
}

}  // namespace twill::bench
