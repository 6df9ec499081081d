// Memory for arrays that live one after the other.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace twill {

/// The first and the last step, both included, in which an array is needed.
struct Life {
  std::size_t first = 0, last = 0;
};

/// By array, the array in whose memory it lives: itself, or one whose life is over before, and that of all
/// others there. The lives come in the order in which they begin. `fits`: is there room for the one in the
/// memory of the other?
std::vector<std::size_t> rooms_of(std::span<const Life> lives,
                                  const std::function<bool(std::size_t one, std::size_t other)>& fits);

}  // namespace twill
