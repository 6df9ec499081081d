// The memory pool: blocks come back, pages stay, and nothing is lost on the way.
#include "run/pool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace twill {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

long page_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

TEST(Pool, BlocksAreAligned) {
  Pool pool;
  for (std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{64}, std::size_t{1000}, 2 * mib, 5 * mib + 1}) {
    void* block = pool.take(bytes);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % (bytes < 2 * mib ? 64 : 2 * mib), 0u) << bytes;
    std::memset(block, 1, bytes);
    pool.give(block);
  }
}

TEST(Pool, TheSameBlockComesBackWithItsPages) {
  Pool pool;
  void* block = pool.take(64 * mib);
  std::memset(block, 1, 64 * mib);
  pool.give(block);
  EXPECT_EQ(pool.used_bytes(), 0u);
  EXPECT_EQ(pool.unused_bytes(), 64 * mib);
  const long before = page_faults();
  for (int run = 0; run < 20; ++run) {
    void* again = pool.take(64 * mib);
    EXPECT_EQ(again, block);
    std::memset(again, run, 64 * mib);
    pool.give(again);
  }
  EXPECT_LT(page_faults() - before, 20);
}

TEST(Pool, ABlockMayServeASlightlySmallerOneOnly) {
  Pool pool;
  void* block = pool.take(64 * mib);
  pool.give(block);
  void* smaller = pool.take(32 * mib);
  EXPECT_NE(smaller, block);
  void* close = pool.take(50 * mib);
  EXPECT_EQ(close, block);
  EXPECT_EQ(pool.used_bytes(), 96 * mib);
  pool.give(smaller);
  pool.give(close);
}

TEST(Pool, KeepsNoMoreThanItMay) {
  Pool pool(10 * mib);
  void* first = pool.take(6 * mib);
  void* second = pool.take(8 * mib);
  pool.give(first);
  pool.give(second);
  EXPECT_EQ(pool.unused_bytes(), 8 * mib);  // the older one went
  EXPECT_EQ(pool.take(8 * mib), second);
  pool.give(second);
}

TEST(Pool, ReleasedBlocksBelongToTheCaller) {
  void* block = nullptr;
  {
    Pool pool;
    block = pool.release(pool.take(1000));
    EXPECT_EQ(pool.used_bytes(), 0u);
    EXPECT_EQ(pool.unused_bytes(), 0u);
  }
  std::memset(block, 7, 1000);
  std::free(block);
}

TEST(Pool, TooMuchIsNull) {
  Pool pool;
  EXPECT_EQ(pool.take(SIZE_MAX), nullptr);
  EXPECT_EQ(Pool::take_for_c(&pool, SIZE_MAX), nullptr);
#ifndef __SANITIZE_ADDRESS__  // which ends the program where the system says no
  EXPECT_EQ(pool.take(std::size_t{1} << 60), nullptr);
#endif
  Pool::give_for_c(&pool, nullptr);
  EXPECT_EQ(pool.used_bytes(), 0u);
}

TEST(Pool, ManyThreads) {
  Pool pool(mib);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&pool, t] {
      for (std::size_t k = 0; k < 2000; ++k) {
        const std::size_t bytes = 64 + (k * 977 + static_cast<std::size_t>(t) * 131) % 50'000;
        auto* block = static_cast<unsigned char*>(pool.take(bytes));
        block[0] = block[bytes - 1] = static_cast<unsigned char>(t);
        std::this_thread::yield();
        if (block[0] != t || block[bytes - 1] != t) ADD_FAILURE() << "two threads share a block";
        pool.give(block);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pool.used_bytes(), 0u);
  EXPECT_LE(pool.unused_bytes(), mib);
}

TEST(PoolDeathTest, ForeignBlocksAreNotTaken) {
  Pool pool;
  int other = 0;
  EXPECT_DEATH(pool.give(&other), "");
}

}  // namespace
}  // namespace twill
