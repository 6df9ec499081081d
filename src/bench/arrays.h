// Large arrays: filled, poisoned and compared by all cores.
#pragma once

#include "program/data.h"

#include <cstdint>
#include <vector>

namespace twill::bench {

/// Pseudo-random floats in [0, 1), the same for the same seed.
Data uniform(std::vector<std::int64_t> shape, std::uint64_t seed);

/// Pseudo-random integers from low up to high, exclusive, divided by something; the same for the same seed.
/// For u8, u16, i32, f32 and f64.
Data random_integers(Scalar type, std::vector<std::int64_t> shape, std::uint64_t seed, std::int64_t low,
                     std::int64_t high, double divisor = 1);

/// Pseudo-random bytes.
Data random_bytes(std::vector<std::int64_t> shape, std::uint64_t seed);

/// Makes every element something that no case computes: NaN, or an integer of ones.
void poison(std::vector<Data>& results);

/// The largest max_error of any result; pictures of u8 or u16 may be wrong by a part of their range, 0 to 1.
double worst_error(const std::vector<Data>& results, const std::vector<Data>& reference);

}  // namespace twill::bench
