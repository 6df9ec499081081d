// Measures a machine's rates: each is the best of many runs, because other work on the machine only ever
// slows one.
#include "base/error.h"
#include "machine/machine.h"
#include "machine/rates.h"

#include <omp.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <vector>

namespace twill {

namespace {

constexpr std::size_t piece = 1024;  // buffers are cut into multiples of this
constexpr std::size_t huge_page = std::size_t{2} << 20;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Free {
  void operator()(std::byte* memory) const { std::free(memory); }
};

/// Memory whose pages lie near the threads that will use them: every thread touches its own share first.
class Buffer {
 public:
  Buffer(std::size_t bytes, int threads) : bytes_(bytes) {
    const std::size_t rounded = (bytes + huge_page - 1) / huge_page * huge_page;
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(huge_page, rounded)));
    if (!memory_) fail(Fault::System, "E0621", {}, "not enough memory to measure the machine");
    madvise(memory_.get(), rounded, MADV_HUGEPAGE);
#pragma omp parallel num_threads(threads)
    {
      const Share share = of(omp_get_thread_num(), omp_get_num_threads());
      std::fill_n(memory_.get() + share.begin, share.bytes, std::byte{1});
    }
  }

  struct Share {
    std::size_t begin, bytes;
  };
  Share of(int thread, int threads) const {
    const std::size_t each = bytes_ / static_cast<std::size_t>(threads) / piece * piece;
    return {each * static_cast<std::size_t>(thread), each};
  }
  std::byte* at(std::size_t offset) const { return memory_.get() + offset; }

 private:
  std::size_t bytes_;
  std::unique_ptr<std::byte, Free> memory_;
};

/// The shortest time of `work(thread, threads)` on all threads together, in seconds: at least 10 runs, and as
/// many as fit into the given time. The clock starts before any thread does: a clock that the first thread
/// reads inside of the region may start after the others are done, and the best of many finds just that run.
template <class Work>
double best_seconds(int threads, double patience, const Work& work) {
  double best = 1e30;
  const double start = now();
  for (int run = 0; run < 10 || now() - start < patience; ++run) {
    const double begin = now();
#pragma omp parallel num_threads(threads)
    work(omp_get_thread_num(), omp_get_num_threads());
    best = std::min(best, now() - begin);
  }
  return best;
}

/// Keeps the results of the loops alive.
class Sink {
 public:
  void operator()(double value) const {
    volatile double kept = value;
    static_cast<void>(kept);
  }
};

double fma_gflops(int threads, double patience, double (*loop)(long), double operations) {
  constexpr long rounds = 200'000;
  const double seconds = best_seconds(threads, patience, [&](int, int) { Sink{}(loop(rounds)); });
  return static_cast<double>(rounds) * operations * threads / seconds * 1e-9;
}

double launch_us(int threads, double patience) {
  constexpr int launches = 100;
  double best = 1e30;
  const double start = now();
  for (int run = 0; run < 10 || now() - start < patience; ++run) {
    const double begin = now();
    for (int k = 0; k < launches; ++k) {
#pragma omp parallel num_threads(threads)
      Sink{}(k);
    }
    best = std::min(best, (now() - begin) / launches);
  }
  return best * 1e6;
}

/// Reads a piece of a cache's size again and again. A shared cache is cut among the threads.
double cache_read_gbs(const MemoryLayer& layer, int threads, double patience, const RateLoops& loops) {
  const auto capacity = static_cast<std::size_t>(layer.bytes) * static_cast<std::size_t>(layer.instances);
  const std::size_t bytes = std::max(capacity / 2, piece * static_cast<std::size_t>(threads));
  const Buffer buffer(bytes, threads);
  const std::size_t rounds = std::max<std::size_t>(1, (std::size_t{32} << 20) / bytes);
  const double seconds = best_seconds(threads, patience, [&](int thread, int all) {
    const auto share = buffer.of(thread, all);
    for (std::size_t k = 0; k < rounds; ++k) Sink{}(loops.read(buffer.at(share.begin), share.bytes));
  });
  return static_cast<double>(buffer.of(0, threads).bytes * rounds) * threads / seconds * 1e-9;
}

}  // namespace

void measure(Machine& machine, const MeasureOptions& options) {
  const double patience = options.patience;
  const RateLoops loops = rate_loops();
  const int cores = machine.count(CoreKind::Core);
  const MemoryLayer* cache = machine.last_level_cache();
  const int caches = static_cast<int>(std::ranges::count(machine.memory, true, &MemoryLayer::automatic));
  const int steps = 12 + caches;
  int done = 0;
  const auto step = [&](const std::string& what) {
    if (options.progress) options.progress(what, done, steps);
    ++done;
  };

  // Four times the last-level cache, but the three buffers together no more than a quarter of the memory.
  const std::int64_t last = cache ? cache->bytes * cache->instances : std::int64_t{32} << 20;
  const std::int64_t most = machine.memory.front().bytes / 4 / 3;
  const auto bytes = static_cast<std::size_t>(std::max<std::int64_t>(std::min(4 * last, most), 1 << 20));
  {
    step("allocate");
    const Buffer a(bytes, cores), b(bytes, cores), c(bytes, cores);
    const auto floats = [](const Buffer& buffer, std::size_t at) {
      return reinterpret_cast<float*>(buffer.at(at));
    };
    const auto memory_rates = [&](Rates& rates, int threads, const std::string& who) {
      const double moved = static_cast<double>(a.of(0, threads).bytes) * threads * 1e-9;
      step("read, " + who);
      rates.read_gbs = moved / best_seconds(threads, patience, [&](int thread, int all) {
                         const auto share = a.of(thread, all);
                         Sink{}(loops.read(a.at(share.begin), share.bytes));
                       });
      step("copy, " + who);
      rates.copy_gbs = 2 * moved / best_seconds(threads, patience, [&](int thread, int all) {
                         const auto share = a.of(thread, all);
                         loops.copy(b.at(share.begin), a.at(share.begin), share.bytes);
                       });
      step("triad, " + who);
      rates.triad_gbs =
          3 * moved / best_seconds(threads, patience, [&](int thread, int all) {
            const auto share = a.of(thread, all);
            loops.triad(floats(c, share.begin), floats(a, share.begin), floats(b, share.begin), share.bytes);
          });
    };
    memory_rates(machine.rates, cores, "all cores");
    memory_rates(machine.single, 1, "one core");
  }
  const auto arithmetic_rates = [&](Rates& rates, int threads, const std::string& who) {
    step("multiply-add, " + who);
    rates.f32_gflops = fma_gflops(threads, patience, loops.fma_f32, loops.f32_operations);
    step("multiply-add f64, " + who);
    rates.f64_gflops = fma_gflops(threads, patience, loops.fma_f64, loops.f64_operations);
  };
  arithmetic_rates(machine.rates, cores, "all cores");
  arithmetic_rates(machine.single, 1, "one core");
  machine.memory.front().read_gbs = machine.rates.read_gbs;
  for (MemoryLayer& layer : machine.memory) {
    if (!layer.automatic) continue;
    step("read " + layer.name);
    layer.read_gbs = cache_read_gbs(layer, cores, patience, loops);
  }
  step("launch");
  machine.launch_us = launch_us(cores, patience);
}

}  // namespace twill
