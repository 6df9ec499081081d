// Memory of arrays: aligned for SIMD, and on huge pages where it is large.
#include "base/memory.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>

namespace twill {

void* allocate_aligned(std::size_t bytes) noexcept {
  if (bytes > SIZE_MAX - huge_page) return nullptr;
  const std::size_t unit = bytes < huge_page ? cache_line : huge_page;
  const std::size_t rounded = (bytes / unit + (bytes % unit != 0 || bytes == 0 ? 1 : 0)) * unit;
  void* block = std::aligned_alloc(unit, rounded);
  if (block && unit == huge_page) ::madvise(block, rounded, MADV_HUGEPAGE);  // advice: pages may stay small
  return block;
}

}  // namespace twill
