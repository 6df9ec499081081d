// Arrays in memory: allocation, access to elements, random contents and comparison.
#include "program/data.h"

#include "base/error.h"
#include "base/memory.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace twill {

std::int64_t element_count(std::span<const std::int64_t> shape) {
  std::int64_t count = 1;
  bool overflow = false;
  for (std::int64_t extent : shape) {
    if (extent <= 0) return 0;
    overflow = __builtin_mul_overflow(count, extent, &count) || overflow;
  }
  if (overflow) fail(Fault::User, "E0509", {}, "an array has more elements than 64 bits can count");
  return count;
}

namespace {

/// Zeroed memory for `free`; never null, also for no bytes.
std::byte* allocate(std::size_t bytes) {
  void* memory = allocate_aligned(bytes);
  if (!memory)
    fail(Fault::System, "E0510", {}, "no memory for an array of " + std::to_string(bytes) + " bytes");
  std::memset(memory, 0, bytes);
  return static_cast<std::byte*>(memory);
}

template <class T>
T load_as(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <class T>
void store_as(T value, std::byte* at) {
  std::memcpy(at, &value, sizeof value);
}

}  // namespace

void Data::Release::operator()(std::byte* memory) const { std::free(memory); }

Data::Data(Type type, std::vector<std::int64_t> shape) : type_(std::move(type)), shape_(std::move(shape)) {
  memory_.reset(allocate(byte_count()));
}

Data::Data(const Data& other) : type_(other.type_), shape_(other.shape_) {
  if (!other.memory_) return;
  memory_.reset(allocate(byte_count()));
  std::memcpy(bytes(), other.bytes(), byte_count());
}

Data& Data::operator=(const Data& other) {
  if (this != &other) *this = Data(other);
  return *this;
}

Data Data::scalar(Number value) {
  Data data(value.type, {});
  data.set(0, value);
  return data;
}

Data Data::of(Scalar type, std::vector<std::int64_t> shape, std::span<const Number> elements) {
  Data data(type, std::move(shape));
  ensure(data.count() == static_cast<std::int64_t>(elements.size()), "Data::of: one number per element");
  for (std::size_t i = 0; i < elements.size(); ++i)
    data.set(static_cast<std::int64_t>(i), convert(elements[i], type));
  return data;
}

Data Data::adopt(Type type, std::vector<std::int64_t> shape, void* memory) {
  Data data;
  data.type_ = std::move(type);
  data.shape_ = std::move(shape);
  data.memory_.reset(static_cast<std::byte*>(memory));
  return data;
}

std::size_t Data::byte_count() const {
  const auto elements = static_cast<std::size_t>(count());
  const std::size_t size = byte_size(type_);
  if (elements > std::numeric_limits<std::size_t>::max() / 2 / size)
    fail(Fault::User, "E0509", {}, "an array has more bytes than 64 bits can count");
  return elements * size;
}

Number Data::get(std::int64_t position) const {
  const Scalar scalar = type_.scalar();
  return load(scalar, bytes() + position * info(scalar).bytes);
}

void Data::set(std::int64_t position, const Number& value) {
  const Scalar scalar = type_.scalar();
  store(value.type == scalar ? value : convert(value, scalar), bytes() + position * info(scalar).bytes);
}

Number load(Scalar type, const std::byte* at) {
  switch (type) {
    case Scalar::Bool: return Number::of(type, load_as<std::uint8_t>(at));
    case Scalar::I8: return Number::of(type, load_as<std::int8_t>(at));
    case Scalar::I16: return Number::of(type, load_as<std::int16_t>(at));
    case Scalar::I32: return Number::of(type, load_as<std::int32_t>(at));
    case Scalar::I64: return Number::of(type, load_as<std::int64_t>(at));
    case Scalar::U8: return Number::of(type, load_as<std::uint8_t>(at));
    case Scalar::U16: return Number::of(type, load_as<std::uint16_t>(at));
    case Scalar::U32: return Number::of(type, load_as<std::uint32_t>(at));
    case Scalar::U64: return Number::of(type, load_as<std::int64_t>(at));
    case Scalar::F16: return Number::of_double(type, from_half_bits(load_as<std::uint16_t>(at)));
    case Scalar::BF16: return Number::of_double(type, from_bfloat_bits(load_as<std::uint16_t>(at)));
    case Scalar::F32: return Number::of_double(type, load_as<float>(at));
    case Scalar::F64: return Number::of_double(type, load_as<double>(at));
  }
  return {};
}

void store(const Number& value, std::byte* at) {
  switch (value.type) {
    case Scalar::Bool: store_as(static_cast<std::uint8_t>(value.i != 0), at); break;
    case Scalar::I8:
    case Scalar::U8: store_as(static_cast<std::uint8_t>(value.u), at); break;
    case Scalar::I16:
    case Scalar::U16: store_as(static_cast<std::uint16_t>(value.u), at); break;
    case Scalar::I32:
    case Scalar::U32: store_as(static_cast<std::uint32_t>(value.u), at); break;
    case Scalar::I64:
    case Scalar::U64: store_as(value.u, at); break;
    case Scalar::F16: store_as(to_half_bits(static_cast<float>(value.f)), at); break;
    case Scalar::BF16: store_as(to_bfloat_bits(static_cast<float>(value.f)), at); break;
    case Scalar::F32: store_as(static_cast<float>(value.f), at); break;
    case Scalar::F64: store_as(value.f, at); break;
  }
}

namespace {

/// The splitmix64 generator.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  Number number(Scalar type) {
    const std::uint64_t bits = next();
    switch (type) {
      case Scalar::Bool: return Number::of(type, static_cast<std::int64_t>(bits >> 63));
      case Scalar::F16: return fraction(type, bits, 11);
      case Scalar::BF16: return fraction(type, bits, 8);
      case Scalar::F32: return fraction(type, bits, 24);
      case Scalar::F64: return fraction(type, bits, 53);
      default: return Number::of(type, static_cast<std::int64_t>((bits >> 32) * 100 >> 32));
    }
  }

 private:
  /// As many random bits as the type's significand holds, so that nothing rounds up to 1.
  static Number fraction(Scalar type, std::uint64_t bits, int digits) {
    return Number::of_double(type, std::ldexp(static_cast<double>(bits >> (64 - digits)), -digits));
  }

  std::uint64_t state_;
};

}  // namespace

Data random_data(const Type& type, std::vector<std::int64_t> shape, std::uint64_t seed) {
  Data data(type, std::move(shape));
  Random random(seed);
  const std::size_t stride = byte_size(type);
  const std::vector<TypeLeaf> leaves = leaves_of(type);
  std::byte* at = data.bytes();
  for (std::int64_t i = 0, count = data.count(); i < count; ++i, at += stride)
    for (const auto& [scalar, offset] : leaves) store(random.number(scalar), at + offset);
  return data;
}

namespace {

/// Calls compare(scalar type, a, b) with the bytes of each pair of numbers, until one returns false.
template <class Compare>
bool all_numbers(const Data& a, const Data& b, const Compare& compare) {
  const std::size_t stride = byte_size(a.type());
  for (const auto& [scalar, offset] : leaves_of(a.type())) {
    for (std::int64_t i = 0, count = a.count(); i < count; ++i) {
      const std::size_t at = static_cast<std::size_t>(i) * stride + offset;
      if (!compare(scalar, a.bytes() + at, b.bytes() + at)) return false;
    }
  }
  return true;
}

}  // namespace

bool identical(const Data& a, const Data& b) {
  if (a.type() != b.type() || a.shape() != b.shape()) return false;
  if (a.type().is_scalar()) return std::memcmp(a.bytes(), b.bytes(), a.byte_count()) == 0;
  return all_numbers(a, b, [](Scalar scalar, const std::byte* x, const std::byte* y) {
    return std::memcmp(x, y, static_cast<std::size_t>(info(scalar).bytes)) == 0;
  });
}

double max_error(const Data& a, const Data& reference) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  if (a.type() != reference.type() || a.shape() != reference.shape()) return infinite;
  double worst = 0;
  const bool comparable =
      all_numbers(a, reference, [&](Scalar scalar, const std::byte* at, const std::byte* right) {
        const Number x = load(scalar, at);
        const Number y = load(scalar, right);
        if (!is_float(scalar)) return x == y;
        if (std::isnan(x.f) || std::isnan(y.f)) return std::isnan(x.f) && std::isnan(y.f);
        if (x.f == y.f) return true;
        worst = std::max(worst, std::abs(x.f - y.f) / std::max(1.0, std::abs(y.f)));
        return std::isfinite(x.f) && std::isfinite(y.f);
      });
  return comparable ? worst : infinite;
}

}  // namespace twill
