// OpenBLAS and BLIS as peers. They are loaded when they are there; nothing depends on them.
#pragma once

#include "run/compiler.h"

#include <cstdint>
#include <optional>
#include <string>

namespace twill::bench {

enum class BlasKind { OpenBlas, Blis };

/// Single precision, row-major matrices without gaps.
class Blas {
 public:
  /// Prefers the flavour with OpenMP, whose threads are the ones that kernels use, to others.
  Blas(BlasKind kind, int threads);

  const char* name() const;  // of the peer
  bool available() const { return library_.has_value(); }
  const std::string& missing() const { return missing_; }  // what to install
  bool own_threads() const { return own_threads_; }

  float dot(std::int64_t n, const float* x, const float* y) const;

  /// y = a · x with a of m × n.
  void matvec(std::int64_t m, std::int64_t n, const float* a, const float* x, float* y) const;

  /// c = a · b with a of m × k and b of k × n; by gemv, as one would call it, if a is a single row.
  void matmul(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b, float* c) const;

 private:
  using Dot = float(int, const float*, int, const float*, int);
  using MatVec = void(int order, int trans, int m, int n, float alpha, const float* a, int lda,
                      const float* x, int incx, float beta, float* y, int incy);
  using MatMul = void(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float* a,
                      int lda, const float* b, int ldb, float beta, float* c, int ldc);

  bool load(const char* file, int threads);

  BlasKind kind_;
  std::optional<Library> library_;
  std::string missing_;
  bool own_threads_ = false;
  Dot* dot_ = nullptr;
  MatVec* matvec_ = nullptr;
  MatMul* matmul_ = nullptr;
};

}  // namespace twill::bench
