// Peers that are loops in C, compiled by the system's compiler with the flags of our kernels.
#include "bench/loops.h"

namespace twill::bench {

namespace {

constexpr const char* prelude = R"c(#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__AVX__)
#include <immintrin.h>
#endif

static inline void stream_row(float *restrict to, const float *restrict from, int64_t count) {
  int64_t i = 0;
#if defined(__AVX__)
  for (; i < count && ((uintptr_t)(to + i) & 31) != 0; ++i) to[i] = from[i];
  for (; i + 8 <= count; i += 8) _mm256_stream_ps(to + i, _mm256_loadu_ps(from + i));
#endif
  for (; i < count; ++i) to[i] = from[i];
}

void peer(const void *const *in, void *const *out, const int64_t *n) {
)c";

using Function = void(const void* const* in, void* const* out, const std::int64_t* n);

}  // namespace

Peer loops(Session& session, const std::string& name, const std::string& body,
           std::vector<std::int64_t> sizes) {
  CompileOptions options = session.options().compiler;
  options.flags = {"-std=gnu11", "-O3", "-march=native", "-fopenmp", "-ffast-math"};
  const Library library = compile_and_load(prelude + body + "}\n", options);
  Function* function = library.function<Function>("peer");
  return {name,
          [library, function, sizes = std::move(sizes)](std::span<const Data> inputs,
                                                        std::vector<Data>& results) {
            const void* in[8];
            void* out[8];
            for (std::size_t i = 0; i < inputs.size(); ++i) in[i] = inputs[i].bytes();
            for (std::size_t i = 0; i < results.size(); ++i) out[i] = results[i].bytes();
            function(in, out, sizes.data());
          },
          {},
          false};
}

}  // namespace twill::bench
