// Peers that are loops in C, compiled by the system's compiler.
#include "bench/loops.h"

#include "base/error.h"

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

)c";

constexpr const char* heading =
    "void peer(const void *const *in, void *const *out, const int64_t *n, const int64_t *room) {\n";

using Function = void(const void* const* in, void* const* out, const std::int64_t* n,
                      const std::int64_t* room);

constexpr std::size_t most_arrays = 8;

Peer compiled(Session& session, const std::string& name, std::vector<std::string> flags,
              const std::string& functions, const std::string& body, std::vector<std::int64_t> sizes) {
  CompileOptions options = session.options().compiler;
  options.flags = std::move(flags);
  const Library library = compile_and_load(prelude + functions + heading + body + "}\n", options);
  Function* function = library.function<Function>("peer");
  return {name,
          [library, function, sizes = std::move(sizes)](std::span<const Data> inputs,
                                                        std::vector<Data>& results) {
            const void* in[most_arrays];
            void* out[most_arrays];
            std::int64_t room[most_arrays];
            ensure(inputs.size() <= most_arrays && results.size() <= most_arrays, "a loop sees all arrays");
            for (std::size_t i = 0; i < inputs.size(); ++i) in[i] = inputs[i].bytes();
            for (std::size_t i = 0; i < results.size(); ++i) {
              out[i] = results[i].bytes();
              room[i] = results[i].count();
            }
            function(in, out, sizes.data(), room);
          },
          {},
          false};
}

}  // namespace

Peer loops(Session& session, const std::string& name, const std::string& body,
           std::vector<std::int64_t> sizes) {
  return compiled(session, name, {"-std=gnu11", "-O3", "-march=native", "-fopenmp", "-ffast-math"}, {}, body,
                  std::move(sizes));
}

Peer hand_loops(Session& session, const std::string& functions, const std::string& body,
                std::vector<std::int64_t> sizes) {
  return compiled(session, "hand", kernel_flags(false), functions, body, std::move(sizes));
}

}  // namespace twill::bench
