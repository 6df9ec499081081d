// Memory for arrays.
#pragma once

#include <cstddef>

namespace twill {

/// At least `bytes` (also for none), aligned to a cache line; large blocks to a huge page, which the system
/// is asked for. Contents are arbitrary. Ended by free(); null if there is no memory.
void* allocate_aligned(std::size_t bytes) noexcept;

inline constexpr std::size_t cache_line = 64;
inline constexpr std::size_t huge_page = std::size_t{2} << 20;

}  // namespace twill
