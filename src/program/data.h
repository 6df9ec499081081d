// Data: an array with its elements in memory, row-major and densely packed.
#pragma once

#include "program/type.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace twill {

/// The number of elements of a shape; 1 for rank 0.
std::int64_t element_count(std::span<const std::int64_t> shape);

/// An owned array. Copies share nothing. Storage is aligned to 64 bytes, records have C layout.
class Data {
 public:
  Data() = default;
  Data(Type type, std::vector<std::int64_t> shape);  // zero-filled
  Data(const Data& other);
  Data& operator=(const Data& other);
  Data(Data&&) noexcept = default;
  Data& operator=(Data&&) noexcept = default;

  static Data scalar(Number value);
  static Data of(Scalar type, std::vector<std::int64_t> shape, std::span<const Number> elements);

  /// Takes over memory from malloc.
  static Data adopt(Type type, std::vector<std::int64_t> shape, void* memory);

  const Type& type() const { return type_; }
  const std::vector<std::int64_t>& shape() const { return shape_; }
  std::int64_t count() const { return element_count(shape_); }
  std::size_t byte_count() const;
  std::byte* bytes() { return memory_.get(); }
  const std::byte* bytes() const { return memory_.get(); }

  template <class T>
  std::span<T> as() { return {reinterpret_cast<T*>(bytes()), static_cast<std::size_t>(count())}; }
  template <class T>
  std::span<const T> as() const { return {reinterpret_cast<const T*>(bytes()), static_cast<std::size_t>(count())}; }

  /// The element at a flat position of an array of scalars.
  Number get(std::int64_t position) const;
  void set(std::int64_t position, const Number& value);

 private:
  struct Release { void operator()(std::byte* memory) const; };

  Type type_;
  std::vector<std::int64_t> shape_;
  std::unique_ptr<std::byte, Release> memory_;
};

/// Reads and writes one scalar in memory as `type` is stored.
Number load(Scalar type, const std::byte* at);
void store(const Number& value, std::byte* at);

/// Deterministic pseudo-random data: floats in [0, 1), bools, integers in [0, 100) (small types
/// included); records field by field.
Data random_data(const Type& type, std::vector<std::int64_t> shape, std::uint64_t seed);

/// Same type, shape and bits.
bool identical(const Data& a, const Data& b);

/// The largest relative error of floats, |a-b| / max(1, |b|), over all elements and fields; infinite if
/// types, shapes or any integer differ, or NaNs do not match.
double max_error(const Data& a, const Data& reference);

}  // namespace twill
