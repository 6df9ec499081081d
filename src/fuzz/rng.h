// The random numbers of the fuzzer: small, seeded, the same on every machine.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

namespace twill {

/// splitmix64: every seed gives a good sequence, and sequences of neighbouring seeds have nothing in common.
class Rng {
 public:
  explicit Rng(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

  /// In [0, n); n > 0.
  int below(int n) { return static_cast<int>(next() % static_cast<std::uint64_t>(n)); }

  /// In [low, high].
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(high - low + 1));
  }

  /// In [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

  /// True in `percent` of a hundred cases.
  bool chance(int percent) { return below(100) < percent; }

  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(below(static_cast<int>(from.size())))];
  }
  template <class T>
  T pick(std::initializer_list<T> from) {
    return from.begin()[below(static_cast<int>(from.size()))];
  }

  /// A position, chosen with probability in proportion to its weight.
  int weighted(std::initializer_list<int> weights) {
    int total = 0;
    for (const int weight : weights) total += weight;
    int at = below(total);
    int position = 0;
    for (const int weight : weights) {
      if (at < weight) break;
      at -= weight;
      ++position;
    }
    return position;
  }

  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t k = items.size(); k > 1; --k) std::swap(items[k - 1], items[next() % k]);
  }

  /// A generator of its own for one part of the work.
  Rng fork() { return Rng(next()); }

 private:
  std::uint64_t state_;
};

}  // namespace twill
