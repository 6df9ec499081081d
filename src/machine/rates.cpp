// Twill itself is compiled for the oldest CPU of its architecture, so these loops exist once per vector width
// and are chosen at run time. They are written with GNU vectors, which compile everywhere; only streaming
// stores need intrinsics.
#include "machine/rates.h"

#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace twill {

namespace {

/// More independent chains than any current core has multiply-adds in flight, and few enough for 16
/// registers.
constexpr int chains = 12;

/// A core reaches more of the memory's bandwidth when it walks several places at once.
constexpr int streams = 4;
constexpr std::size_t stride = 256;  // bytes copied in one stream before the next has its turn

template <class Element, int bytes>
struct VectorOf {
  typedef Element Type __attribute__((vector_size(bytes), may_alias));
};

template <class Number, int vector_bytes>
struct Loops {
  using Vector = typename VectorOf<Number, vector_bytes>::Type;
  using Words = typename VectorOf<std::uint64_t, vector_bytes>::Type;
  static constexpr double fma_operations = 2.0 * chains * vector_bytes / sizeof(Number);

  /// x = x * a + b has the fixed point b / (1 - a) and stays finite and normal.
  [[gnu::always_inline]] static inline double fma(long rounds) {
    Vector x[chains];
    for (int k = 0; k < chains; ++k) x[k] = Vector{} + static_cast<Number>(k);
    const Vector a = Vector{} + static_cast<Number>(0.75), b = Vector{} + static_cast<Number>(0.125);
    for (long round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
      for (int k = 0; k < chains; ++k) x[k] = x[k] * a + b;
    }
    Vector sum{};
    for (int k = 0; k < chains; ++k) sum += x[k];
    return static_cast<double>(sum[0]);
  }

  [[gnu::always_inline]] static inline double read(const void* from, std::size_t bytes) {
    const auto* words = static_cast<const Words*>(from);
    const std::size_t stream = bytes / vector_bytes / streams;
    Words sum[streams] = {};
    for (std::size_t i = 0; i < stream; ++i) {
#pragma GCC unroll 4
      for (int k = 0; k < streams; ++k) sum[k] ^= words[k * stream + i];
    }
    for (int k = 1; k < streams; ++k) sum[0] ^= sum[k];
    return static_cast<double>(sum[0][0]);
  }

  [[gnu::always_inline]] static inline void triad(float* to, const float* a, const float* b,
                                                  std::size_t bytes) {
    auto* t = reinterpret_cast<Vector*>(to);
    const auto* u = reinterpret_cast<const Vector*>(a);
    const auto* v = reinterpret_cast<const Vector*>(b);
    for (std::size_t i = 0; i < bytes / vector_bytes; ++i) t[i] = u[i] + v[i] * static_cast<Number>(3);
  }
};

using Base32 = Loops<float, 16>;
using Base64 = Loops<double, 16>;

double read_base(const void* from, std::size_t bytes) { return Base32::read(from, bytes); }
void triad_base(float* to, const float* a, const float* b, std::size_t bytes) {
  Base32::triad(to, a, b, bytes);
}
double fma_f32_base(long rounds) { return Base32::fma(rounds); }
double fma_f64_base(long rounds) { return Base64::fma(rounds); }

#if defined(__x86_64__)

void copy_stride_base(char* to, const char* from) {
  for (std::size_t i = 0; i < stride; i += sizeof(__m128i))
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm_load_si128(reinterpret_cast<const __m128i*>(from + i)));
}
void drain_stores() { _mm_sfence(); }

using Avx32 = Loops<float, 32>;
using Avx64 = Loops<double, 32>;
using Wide32 = Loops<float, 64>;
using Wide64 = Loops<double, 64>;

[[gnu::target("avx2,fma")]] double read_avx2(const void* from, std::size_t bytes) {
  return Avx32::read(from, bytes);
}
[[gnu::target("avx2,fma")]] void triad_avx2(float* to, const float* a, const float* b, std::size_t bytes) {
  Avx32::triad(to, a, b, bytes);
}
[[gnu::target("avx2,fma")]] double fma_f32_avx2(long rounds) { return Avx32::fma(rounds); }
[[gnu::target("avx2,fma")]] double fma_f64_avx2(long rounds) { return Avx64::fma(rounds); }
[[gnu::target("avx2,fma")]] void copy_stride_avx2(char* to, const char* from) {
  for (std::size_t i = 0; i < stride; i += sizeof(__m256i))
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + i),
                        _mm256_load_si256(reinterpret_cast<const __m256i*>(from + i)));
}

[[gnu::target("avx512f")]] double read_avx512(const void* from, std::size_t bytes) {
  return Wide32::read(from, bytes);
}
[[gnu::target("avx512f")]] void triad_avx512(float* to, const float* a, const float* b, std::size_t bytes) {
  Wide32::triad(to, a, b, bytes);
}
[[gnu::target("avx512f")]] double fma_f32_avx512(long rounds) { return Wide32::fma(rounds); }
[[gnu::target("avx512f")]] double fma_f64_avx512(long rounds) { return Wide64::fma(rounds); }
[[gnu::target("avx512f")]] void copy_stride_avx512(char* to, const char* from) {
  for (std::size_t i = 0; i < stride; i += sizeof(__m512i))
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i),
                        _mm512_load_si512(reinterpret_cast<const __m512i*>(from + i)));
}

#else

void copy_stride_base(char* to, const char* from) { std::memcpy(to, from, stride); }
void drain_stores() {}

#endif

template <void (*copy_stride)(char*, const char*)>
void copy(void* to, const void* from, std::size_t bytes) {
  const std::size_t stream = bytes / streams;
  for (std::size_t i = 0; i < stream; i += stride) {
    for (std::size_t at = i; at < bytes; at += stream)
      copy_stride(static_cast<char*>(to) + at, static_cast<const char*>(from) + at);
  }
  drain_stores();
}

}  // namespace

RateLoops rate_loops() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) {
    return {read_avx512,    copy<copy_stride_avx512>, triad_avx512,          fma_f32_avx512,
            fma_f64_avx512, Wide32::fma_operations,   Wide64::fma_operations};
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return {read_avx2,    copy<copy_stride_avx2>, triad_avx2,           fma_f32_avx2,
            fma_f64_avx2, Avx32::fma_operations,  Avx64::fma_operations};
  }
#endif
  return {read_base,
          copy<copy_stride_base>,
          triad_base,
          fma_f32_base,
          fma_f64_base,
          Base32::fma_operations,
          Base64::fma_operations};
}

}  // namespace twill
