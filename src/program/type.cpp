// Scalar types, records, their layout, and conversions between numbers.
#include "program/type.h"

#include "base/error.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace twill {

namespace {

constexpr std::array<ScalarInfo, 13> scalars = {{
    {Scalar::Bool, "bool", "bool", 1, NumberClass::Bool},
    {Scalar::I8, "i8", "int8_t", 1, NumberClass::Signed},
    {Scalar::I16, "i16", "int16_t", 2, NumberClass::Signed},
    {Scalar::I32, "i32", "int32_t", 4, NumberClass::Signed},
    {Scalar::I64, "i64", "int64_t", 8, NumberClass::Signed},
    {Scalar::U8, "u8", "uint8_t", 1, NumberClass::Unsigned},
    {Scalar::U16, "u16", "uint16_t", 2, NumberClass::Unsigned},
    {Scalar::U32, "u32", "uint32_t", 4, NumberClass::Unsigned},
    {Scalar::U64, "u64", "uint64_t", 8, NumberClass::Unsigned},
    {Scalar::F16, "f16", "uint16_t", 2, NumberClass::Float},
    {Scalar::BF16, "bf16", "uint16_t", 2, NumberClass::Float},
    {Scalar::F32, "f32", "float", 4, NumberClass::Float},
    {Scalar::F64, "f64", "double", 8, NumberClass::Float},
}};

constexpr bool in_enum_order() {
  for (std::size_t i = 0; i < scalars.size(); ++i)
    if (scalars[i].scalar != static_cast<Scalar>(i)) return false;
  return true;
}
static_assert(in_enum_order());

/// Keeps the low bits that an integer type has, extended to 64 bits by its sign.
std::uint64_t wrap(Scalar type, std::uint64_t bits) {
  switch (type) {
    case Scalar::I8: return static_cast<std::uint64_t>(static_cast<std::int8_t>(bits));
    case Scalar::I16: return static_cast<std::uint64_t>(static_cast<std::int16_t>(bits));
    case Scalar::I32: return static_cast<std::uint64_t>(static_cast<std::int32_t>(bits));
    case Scalar::U8: return static_cast<std::uint8_t>(bits);
    case Scalar::U16: return static_cast<std::uint16_t>(bits);
    case Scalar::U32: return static_cast<std::uint32_t>(bits);
    default: return bits;
  }
}

Number integer_bits(Scalar type, std::uint64_t bits) {
  Number n;
  n.type = type;
  n.u = wrap(type, bits);
  return n;
}

Number float_value(Scalar type, double exact) {
  Number n;
  n.type = type;
  n.f = exact;
  return n;
}

/// Rounds to a float type; f16 and bf16 are reached through f32, as kernels do.
double round_to(Scalar type, double value) {
  switch (type) {
    case Scalar::F16: return from_half_bits(to_half_bits(static_cast<float>(value)));
    case Scalar::BF16: return from_bfloat_bits(to_bfloat_bits(static_cast<float>(value)));
    case Scalar::F32: return static_cast<float>(value);
    default: return value;
  }
}

/// An integer to a float type in one rounding (f16 and bf16 again through f32).
template <class Integer>
double integer_to_float(Scalar type, Integer value) {
  if (type == Scalar::F64) return static_cast<double>(value);
  return round_to(type, static_cast<float>(value));
}

Number float_to_integer(Scalar type, double value) {
  if (std::isnan(value)) return integer_bits(type, 0);
  const Number low = lowest(type);
  const Number high = highest(type);
  // Both limits as doubles may be rounded up to a power of two that the type cannot hold, so the
  // comparisons include equality.
  if (value <= low.as_double()) return low;
  if (value >= high.as_double()) return high;
  return is_signed(type) ? integer_bits(type, static_cast<std::uint64_t>(static_cast<std::int64_t>(value)))
                         : integer_bits(type, static_cast<std::uint64_t>(value));
}

}  // namespace

std::span<const ScalarInfo> all_scalars() { return scalars; }

const ScalarInfo& info(Scalar scalar) { return scalars[static_cast<std::size_t>(scalar)]; }

std::optional<Scalar> scalar_named(std::string_view name) {
  for (const ScalarInfo& s : scalars)
    if (s.name == name) return s.scalar;
  return std::nullopt;
}

// ---- types -----------------------------------------------------------------------------------------

bool operator==(const Type& a, const Type& b) {
  if (a.held_.index() != b.held_.index()) return false;
  if (a.is_scalar()) return a.scalar() == b.scalar();
  return &a.record() == &b.record() || a.record() == b.record();
}

std::optional<int> Record::field_named(std::string_view wanted) const {
  for (std::size_t i = 0; i < fields.size(); ++i)
    if (fields[i].name == wanted) return static_cast<int>(i);
  return std::nullopt;
}

std::string to_string(const Type& type) {
  if (type.is_scalar()) return std::string(info(type.scalar()).name);
  if (!type.record().name.empty()) return type.record().name;
  std::string text = "(";
  for (const Field& field : type.record().fields) {
    if (text.size() > 1) text += ", ";
    text += to_string(field.type);
  }
  return text + ")";
}

namespace {

std::size_t round_up(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

std::size_t byte_size(const Type& type) {
  if (type.is_scalar()) return static_cast<std::size_t>(info(type.scalar()).bytes);
  std::size_t end = 0;
  for (const Field& field : type.record().fields)
    end = round_up(end, alignment(field.type)) + byte_size(field.type);
  return round_up(end, alignment(type));
}

std::size_t alignment(const Type& type) {
  if (type.is_scalar()) return static_cast<std::size_t>(info(type.scalar()).bytes);
  std::size_t widest = 1;
  for (const Field& field : type.record().fields) widest = std::max(widest, alignment(field.type));
  return widest;
}

std::size_t field_offset(const Record& record, int field) {
  std::size_t end = 0;
  for (int i = 0;; ++i) {
    const Type& type = record.fields.at(static_cast<std::size_t>(i)).type;
    end = round_up(end, alignment(type));
    if (i == field) return end;
    end += byte_size(type);
  }
}

namespace {

void append_leaves(const Type& type, std::size_t offset, std::vector<TypeLeaf>& leaves) {
  if (type.is_scalar()) {
    leaves.push_back({type.scalar(), offset});
    return;
  }
  const Record& record = type.record();
  for (std::size_t i = 0; i < record.fields.size(); ++i)
    append_leaves(record.fields[i].type, offset + field_offset(record, static_cast<int>(i)), leaves);
}

}  // namespace

std::vector<TypeLeaf> leaves_of(const Type& type) {
  std::vector<TypeLeaf> leaves;
  append_leaves(type, 0, leaves);
  return leaves;
}

// ---- numbers ---------------------------------------------------------------------------------------

Number Number::of(Scalar type, std::int64_t value) {
  if (type == Scalar::Bool) return integer_bits(type, value != 0);
  if (is_float(type)) return float_value(type, integer_to_float(type, value));
  return integer_bits(type, static_cast<std::uint64_t>(value));
}

Number Number::of_double(Scalar type, double value) {
  if (type == Scalar::Bool) return integer_bits(type, value != 0);
  if (is_float(type)) return float_value(type, round_to(type, value));
  return float_to_integer(type, value);
}

double Number::as_double() const {
  if (is_float(type)) return f;
  return is_unsigned(type) ? static_cast<double>(u) : static_cast<double>(i);
}

std::int64_t Number::as_int() const { return is_float(type) ? float_to_integer(Scalar::I64, f).i : i; }

Number convert(const Number& value, Scalar to) {
  if (value.type == to) return value;
  if (is_float(value.type)) return Number::of_double(to, value.f);
  if (is_float(to) && is_unsigned(value.type)) return float_value(to, integer_to_float(to, value.u));
  return Number::of(to, value.i);
}

Number highest(Scalar type) {
  switch (type) {
    case Scalar::Bool: return integer_bits(type, 1);
    case Scalar::I8: return integer_bits(type, std::numeric_limits<std::int8_t>::max());
    case Scalar::I16: return integer_bits(type, std::numeric_limits<std::int16_t>::max());
    case Scalar::I32: return integer_bits(type, std::numeric_limits<std::int32_t>::max());
    case Scalar::I64: return integer_bits(type, std::numeric_limits<std::int64_t>::max());
    case Scalar::U8:
    case Scalar::U16:
    case Scalar::U32:
    case Scalar::U64: return integer_bits(type, ~std::uint64_t{0});
    default: return float_value(type, std::numeric_limits<double>::infinity());
  }
}

Number lowest(Scalar type) {
  switch (type) {
    case Scalar::I8:
    case Scalar::I16:
    case Scalar::I32:
    case Scalar::I64: return integer_bits(type, ~highest(type).u);
    case Scalar::F16:
    case Scalar::BF16:
    case Scalar::F32:
    case Scalar::F64: return float_value(type, -std::numeric_limits<double>::infinity());
    default: return integer_bits(type, 0);
  }
}

// ---- 16-bit floats -----------------------------------------------------------------------------------

std::uint16_t to_half_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u)  // NaN: keep the high bits of the payload, stay a (quiet) NaN
    return static_cast<std::uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  if (magnitude >= 0x477ff000u) return sign | 0x7c00u;  // rounds to 65536 or more: infinity
  if (magnitude >= 0x38800000u) {                       // a normal f16
    const std::uint32_t rebiased = magnitude - (112u << 23);
    return static_cast<std::uint16_t>(sign | ((rebiased + 0xfffu + ((rebiased >> 13) & 1u)) >> 13));
  }
  if (magnitude < 0x33000000u) return sign;  // below half of the smallest subnormal
  const std::uint32_t shift = 126u - (magnitude >> 23);
  const std::uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
  const std::uint32_t kept = mantissa >> shift;
  const std::uint32_t rest = mantissa & ((1u << shift) - 1u);
  const std::uint32_t half = 1u << (shift - 1u);
  const bool up = rest > half || (rest == half && (kept & 1u));
  return static_cast<std::uint16_t>(sign | (kept + (up ? 1u : 0u)));
}

float from_half_bits(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fu;
  const std::uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent > 0) return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (mantissa << 13));
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
  return sign ? -magnitude : magnitude;
}

std::uint16_t to_bfloat_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

float from_bfloat_bits(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

}  // namespace twill
