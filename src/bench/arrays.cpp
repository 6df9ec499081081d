// Random inputs of benchmarks, and poison for their results.
#include "bench/arrays.h"

#include "base/error.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace twill::bench {

namespace {

/// The i-th number of the splitmix64 generator.
std::uint64_t random_bits(std::uint64_t seed, std::int64_t i) {
  std::uint64_t z = (seed << 40) + static_cast<std::uint64_t>(i + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

template <class T>
void fill_integers(std::span<T> to, std::uint64_t seed, std::int64_t low, std::int64_t high, double divisor) {
  const auto count = static_cast<std::int64_t>(to.size());
  const auto values = static_cast<std::uint64_t>(high - low);
#pragma omp parallel for
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t value = low + static_cast<std::int64_t>((random_bits(seed, i) >> 16) % values);
    to[static_cast<std::size_t>(i)] = static_cast<T>(static_cast<double>(value) / divisor);
  }
}

/// max_error for arrays of f32 or f64.
template <class T>
double float_error(std::span<const T> a, std::span<const T> reference) {
  double worst = 0;
  bool incomparable = false;
  const auto count = static_cast<std::int64_t>(a.size());
#pragma omp parallel for reduction(max : worst) reduction(|| : incomparable)
  for (std::int64_t i = 0; i < count; ++i) {
    const double x = static_cast<double>(a[static_cast<std::size_t>(i)]);
    const double y = static_cast<double>(reference[static_cast<std::size_t>(i)]);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    if (!std::isfinite(x) || !std::isfinite(y))
      incomparable = true;
    else
      worst = std::max(worst, std::abs(x - y) / std::max(1.0, std::abs(y)));
  }
  return incomparable ? std::numeric_limits<double>::infinity() : worst;
}

/// By how much of their range arrays of u8 or u16 differ.
template <class T>
double picture_error(std::span<const T> a, std::span<const T> reference) {
  int worst = 0;
  const auto count = static_cast<std::int64_t>(a.size());
#pragma omp parallel for reduction(max : worst)
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    worst = std::max(worst, std::abs(int{a[at]} - int{reference[at]}));
  }
  return static_cast<double>(worst) / std::numeric_limits<T>::max();
}

double error_of(const Data& a, const Data& reference) {
  if (a.type() != reference.type() || a.shape() != reference.shape() || !a.type().is_scalar())
    return max_error(a, reference);
  switch (a.type().scalar()) {
    case Scalar::F32: return float_error(a.as<float>(), reference.as<float>());
    case Scalar::F64: return float_error(a.as<double>(), reference.as<double>());
    case Scalar::U8: return picture_error(a.as<std::uint8_t>(), reference.as<std::uint8_t>());
    case Scalar::U16: return picture_error(a.as<std::uint16_t>(), reference.as<std::uint16_t>());
    default: return max_error(a, reference);
  }
}

}  // namespace

Data uniform(std::vector<std::int64_t> shape, std::uint64_t seed) {
  Data data(Scalar::F32, std::move(shape));
  float* to = data.as<float>().data();
  const std::int64_t count = data.count();
#pragma omp parallel for
  for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(random_bits(seed, i) >> 40) * 0x1p-24f;
  return data;
}

Data random_integers(Scalar type, std::vector<std::int64_t> shape, std::uint64_t seed, std::int64_t low,
                     std::int64_t high, double divisor) {
  Data data(type, std::move(shape));
  switch (type) {
    case Scalar::U8: fill_integers(data.as<std::uint8_t>(), seed, low, high, divisor); break;
    case Scalar::U16: fill_integers(data.as<std::uint16_t>(), seed, low, high, divisor); break;
    case Scalar::I32: fill_integers(data.as<std::int32_t>(), seed, low, high, divisor); break;
    case Scalar::F32: fill_integers(data.as<float>(), seed, low, high, divisor); break;
    case Scalar::F64: fill_integers(data.as<double>(), seed, low, high, divisor); break;
    default: ensure(false, "random integers are u8, u16, i32, f32 or f64");
  }
  return data;
}

Data random_bytes(std::vector<std::int64_t> shape, std::uint64_t seed) {
  Data data(Scalar::U8, std::move(shape));
  std::uint8_t* to = data.as<std::uint8_t>().data();
  const std::int64_t count = data.count();
#pragma omp parallel for
  for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<std::uint8_t>(random_bits(seed, i) >> 56);
  return data;
}

void poison(std::vector<Data>& results) {
  for (Data& data : results)
    if (data.bytes()) std::memset(data.bytes(), 0xff, data.byte_count());
}

double worst_error(const std::vector<Data>& results, const std::vector<Data>& reference) {
  double worst = results.size() == reference.size() ? 0 : std::numeric_limits<double>::infinity();
  for (std::size_t r = 0; r < std::min(results.size(), reference.size()); ++r)
    worst = std::max(worst, error_of(results[r], reference[r]));
  return worst;
}

}  // namespace twill::bench
