// What all benchmarks of a run share: the machine, its caches, the options.
#include "bench/session.h"

#include <omp.h>
#include <algorithm>

namespace twill::bench {

namespace {

constexpr std::int64_t largest_small_extent = 24;
constexpr std::int64_t usual_cache = std::int64_t{32} << 20;  // where the machine does not tell

}  // namespace

Session::Session(BenchOptions options, Machine machine)
    : options_(std::move(options)), machine_(std::move(machine)), threads_(omp_get_max_threads()) {}

const Blas& Session::blas(BlasKind kind) { return blas_.try_emplace(kind, kind, threads_).first->second; }

const OneDnn& Session::onednn() {
  if (!onednn_) onednn_ = std::make_unique<OneDnn>(options_.compiler);
  return *onednn_;
}

std::int64_t Session::extent(std::int64_t n) const {
  return options_.small ? std::min(n, largest_small_extent) : n;
}

std::int64_t Session::beyond_cache(std::int64_t element_bytes) const {
  if (options_.small) return largest_small_extent * largest_small_extent;
  const MemoryLayer* cache = machine_.last_level_cache();
  const std::int64_t all = cache ? cache->bytes * cache->instances : usual_cache;
  return 4 * all / element_bytes;
}

}  // namespace twill::bench
