// The inner loops that measure what a machine can do, in the best instruction set of the CPU we run on.
#pragma once

#include <cstddef>

namespace twill {

/// Each loop runs on one core. Buffers are aligned to 64 bytes, `bytes` is a multiple of 1024.
/// Results are returned only so that the work cannot be dropped.
struct RateLoops {
  double (*read)(const void* from, std::size_t bytes);
  void (*copy)(void* to, const void* from, std::size_t bytes);                  // streaming stores
  void (*triad)(float* to, const float* a, const float* b, std::size_t bytes);  // ordinary stores
  double (*fma_f32)(long rounds);
  double (*fma_f64)(long rounds);
  double f32_operations;  // of one round
  double f64_operations;
};

/// The loops for the CPU we run on.
RateLoops rate_loops();

}  // namespace twill
