// Reads and copies the arrays of a case as fast as the machine can.
#include "bench/floor.h"

#include "base/error.h"
#include "machine/rates.h"

#include <omp.h>
#include <algorithm>

namespace twill::bench {

namespace {

constexpr std::size_t piece = 1024;  // the loops work on multiples of this

/// A copy of less than this part of the inputs says little about them.
constexpr std::size_t least_part = 4;

/// Calls `work(begin, bytes)` with a share of as many bytes on every thread.
template <class Work>
void share_out(std::size_t bytes, const Work& work) {
#pragma omp parallel
  {
    const auto threads = static_cast<std::size_t>(omp_get_num_threads());
    const std::size_t each = bytes / piece / threads * piece;
    if (each > 0) work(each * static_cast<std::size_t>(omp_get_thread_num()), each);
  }
}

}  // namespace

MemoryFloor::MemoryFloor(std::span<const Data> inputs, std::span<Data> results) {
  const RateLoops loops = rate_loops();
  for (const Data& input : inputs) read_bytes_ += static_cast<double>(input.byte_count());
  contenders_.push_back({"read", [loops, inputs] {
                           for (const Data& input : inputs)
                             share_out(input.byte_count(), [&](std::size_t begin, std::size_t bytes) {
                               volatile double kept = loops.read(input.bytes() + begin, bytes);
                               static_cast<void>(kept);
                             });
                         }});
  if (inputs.empty() || results.empty()) return;
  const auto from = std::ranges::max_element(inputs, {}, &Data::byte_count);
  const auto to = std::ranges::max_element(results, {}, &Data::byte_count);
  const std::size_t bytes = std::min(from->byte_count(), to->byte_count());
  if (bytes * least_part < from->byte_count()) return;
  copied_bytes_ = 2 * static_cast<double>(bytes);
  contenders_.push_back({"copy", [=] {
                           share_out(bytes, [&](std::size_t begin, std::size_t part) {
                             loops.copy(to->bytes() + begin, from->bytes() + begin, part);
                           });
                         }});
}

Machine MemoryFloor::rated(Machine machine, std::span<const Timing> timings) const {
  ensure(timings.size() == contenders_.size(), "every loop of the floor was timed");
  machine.rates.read_gbs = read_bytes_ / timings[0].best * 1e-6;
  machine.rates.copy_gbs = copied_bytes_ > 0 ? copied_bytes_ / timings[1].best * 1e-6 : 0;
  return machine;
}

}  // namespace twill::bench
