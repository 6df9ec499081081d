// Memory that kernels give back and ask for again.
#include "run/pool.h"

#include "base/memory.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace twill {

namespace {

std::size_t round_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

Pool::~Pool() {
  for (const auto& [size, unused] : unused_) std::free(unused.block);
}

void* Pool::take(std::size_t bytes) noexcept {
  if (bytes > SIZE_MAX - huge_page) return nullptr;
  const std::size_t size =
      round_up(std::max<std::size_t>(bytes, 1), bytes < huge_page ? alignment : huge_page);
  const std::scoped_lock lock(mutex_);
  try {
    // The smallest block that is large enough, unless it would waste more than a quarter of itself.
    if (const auto found = unused_.lower_bound(size);
        found != unused_.end() && found->first - size <= found->first / 4) {
      void* block = found->second.block;
      used_.emplace(block, found->first);
      used_bytes_ += found->first;
      unused_bytes_ -= found->first;
      unused_.erase(found);
      return block;
    }
    void* block = allocate_aligned(size);
    if (!block && !unused_.empty()) {
      // What lies here unused may be just what the system lacks.
      for (const auto& [unused_size, unused] : unused_) std::free(unused.block);
      unused_.clear();
      unused_bytes_ = 0;
      block = allocate_aligned(size);
    }
    if (!block) return nullptr;
    used_.emplace(block, size);
    used_bytes_ += size;
    return block;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void Pool::give(void* block) noexcept {
  if (!block) return;
  const std::scoped_lock lock(mutex_);
  const auto found = used_.find(block);
  if (found == used_.end()) std::abort();  // not ours: memory is corrupt already
  const std::size_t size = found->second;
  used_.erase(found);
  used_bytes_ -= size;
  try {
    unused_.emplace(size, Unused{block, returns_++});
    unused_bytes_ += size;
    trim();
  } catch (const std::bad_alloc&) {
    std::free(block);
  }
}

void* Pool::release(void* block) noexcept {
  if (!block) return nullptr;
  const std::scoped_lock lock(mutex_);
  const auto found = used_.find(block);
  if (found == used_.end()) std::abort();  // not ours: memory is corrupt already
  used_bytes_ -= found->second;
  used_.erase(found);
  return block;
}

void Pool::trim() {
  while (unused_bytes_ > most_unused_) {
    const auto oldest =
        std::ranges::min_element(unused_, {}, [](const auto& entry) { return entry.second.since; });
    unused_bytes_ -= oldest->first;
    std::free(oldest->second.block);
    unused_.erase(oldest);
  }
}

std::size_t Pool::used_bytes() const {
  const std::scoped_lock lock(mutex_);
  return used_bytes_;
}

std::size_t Pool::unused_bytes() const {
  const std::scoped_lock lock(mutex_);
  return unused_bytes_;
}

}  // namespace twill
