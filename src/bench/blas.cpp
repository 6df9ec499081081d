// OpenBLAS and BLIS as peers: found at run time, called through cblas.
#include "bench/blas.h"

#include "base/error.h"

#include <array>

namespace twill::bench {

namespace {

constexpr int row_major = 101, no_trans = 111, trans = 112;  // of cblas.h
constexpr int parallel_openmp = 2;                           // of openblas_get_parallel

/// What there is to know about an implementation.
struct Facts {
  const char *name, *missing;
  std::array<const char*, 3> files;  // where Debian puts the flavour with OpenMP, and the one chosen here
};

const Facts& facts(BlasKind kind) {
  static constexpr Facts openblas = {
      "openblas",
      "OpenBLAS is not installed (Debian: apt-get install libopenblas0-openmp)",
      {"/usr/lib/x86_64-linux-gnu/openblas-openmp/libopenblas.so.0",
       "/usr/lib/aarch64-linux-gnu/openblas-openmp/libopenblas.so.0", "libopenblas.so.0"}};
  static constexpr Facts blis = {"blis",
                                 "BLIS is not installed (Debian: apt-get install libblis4-openmp)",
                                 {"/usr/lib/x86_64-linux-gnu/blis-openmp/libblis.so.4",
                                  "/usr/lib/aarch64-linux-gnu/blis-openmp/libblis.so.4", "libblis.so.4"}};
  return kind == BlasKind::OpenBlas ? openblas : blis;
}

int as_int(std::int64_t n) { return static_cast<int>(n); }

}  // namespace

Blas::Blas(BlasKind kind, int threads) : kind_(kind) {
  for (const char* file : facts(kind).files)
    if (load(file, threads)) return;
  missing_ = facts(kind).missing;
}

const char* Blas::name() const { return facts(kind_).name; }

bool Blas::load(const char* file, int threads) {
  try {
    Library library{std::filesystem::path(file)};
    dot_ = library.function<Dot>("cblas_sdot");
    matvec_ = library.function<MatVec>("cblas_sgemv");
    matmul_ = library.function<MatMul>("cblas_sgemm");
    if (kind_ == BlasKind::OpenBlas) {
      library.function<void(int)>("openblas_set_num_threads")(threads);
      own_threads_ = library.function<int()>("openblas_get_parallel")() != parallel_openmp;
    } else {
      library.function<void(std::int64_t)>("bli_thread_set_num_threads")(threads);
      own_threads_ = library.function<std::int64_t()>("bli_info_get_enable_openmp")() == 0;
    }
    library_ = std::move(library);
    return true;
  } catch (const Error&) {
    return false;  // not there, or without a function that is needed
  }
}

float Blas::dot(std::int64_t n, const float* x, const float* y) const { return dot_(as_int(n), x, 1, y, 1); }

void Blas::matvec(std::int64_t m, std::int64_t n, const float* a, const float* x, float* y) const {
  matvec_(row_major, no_trans, as_int(m), as_int(n), 1, a, as_int(n), x, 1, 0, y, 1);
}

void Blas::matmul(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b,
                  float* c) const {
  if (m == 1) return matvec_(row_major, trans, as_int(k), as_int(n), 1, b, as_int(n), a, 1, 0, c, 1);
  matmul_(row_major, no_trans, no_trans, as_int(m), as_int(n), as_int(k), 1, a, as_int(k), b, as_int(n), 0, c,
          as_int(n));
}

}  // namespace twill::bench
