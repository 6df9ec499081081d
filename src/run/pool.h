// Memory that kernels use again and again. The system takes a large block back as soon as it is freed and
// hands out zeroed pages, one fault each, the next time; a pool keeps the block with its pages instead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <unordered_map>

namespace twill {

/// Thread-safe. Blocks are aligned to 64 bytes, large ones to 2 MiB and offered to the system for huge pages;
/// their contents are arbitrary. Everything is from aligned_alloc. Must outlive the blocks in use.
class Pool {
 public:
  static constexpr std::size_t alignment = 64;
  static constexpr std::size_t huge_page = std::size_t{2} << 20;

  /// Unused blocks of more than `most_unused` bytes together are given back to the system, the oldest first.
  explicit Pool(std::size_t most_unused = std::size_t{4} << 30) : most_unused_(most_unused) {}
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool();

  /// A block of at least `bytes`; null if the system has no memory for it.
  void* take(std::size_t bytes) noexcept;

  /// Puts back a block that was taken (or null), to be taken again.
  void give(void* block) noexcept;

  /// Lets go of a block that was taken: it now belongs to the caller, who ends it with free().
  void* release(void* block) noexcept;

  std::size_t used_bytes() const;
  std::size_t unused_bytes() const;

  /// The same for C: the pool goes as the first argument.
  static void* take_for_c(void* pool, std::size_t bytes) noexcept {
    return static_cast<Pool*>(pool)->take(bytes);
  }
  static void give_for_c(void* pool, void* block) noexcept { static_cast<Pool*>(pool)->give(block); }

 private:
  struct Unused {
    void* block;
    std::uint64_t since;  // counts the returns
  };

  void trim();

  mutable std::mutex mutex_;
  std::unordered_map<void*, std::size_t> used_;  // block → its size
  std::multimap<std::size_t, Unused> unused_;    // by size
  std::size_t used_bytes_ = 0, unused_bytes_ = 0;
  std::size_t most_unused_;
  std::uint64_t returns_ = 0;
};

}  // namespace twill
