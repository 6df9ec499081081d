// Types of array elements and scalar expressions: numbers and records of numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace twill {

/// F16 and BF16 are storage only: values of these types can be read, chosen, put in records and
/// converted, but no operation takes them. A Cast to F32 widens (exactly), a Cast to them rounds to
/// nearest even; F64 and integers go through F32.
/// I8, I16, U8 and U16 are for storage as well, and for the operators of folds, scans, scatters and groups, which
/// wrap around: an expression computes in I32 or wider and is converted.
enum class Scalar : std::uint8_t { Bool, I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64 };

enum class NumberClass : std::uint8_t { Bool, Signed, Unsigned, Float };

struct ScalarInfo {
  Scalar scalar;
  std::string_view name;    // in Twill text: "f32"
  std::string_view c_name;  // in emitted C: "float"
  int bytes;
  NumberClass number_class;
};

/// All scalar types, in the order of the enum.
std::span<const ScalarInfo> all_scalars();
const ScalarInfo& info(Scalar scalar);
std::optional<Scalar> scalar_named(std::string_view name);

inline bool is_float(Scalar s) { return info(s).number_class == NumberClass::Float; }
inline bool is_signed(Scalar s) { return info(s).number_class == NumberClass::Signed; }
inline bool is_unsigned(Scalar s) { return info(s).number_class == NumberClass::Unsigned; }
inline bool is_integer(Scalar s) { return is_signed(s) || is_unsigned(s); }
inline bool is_storage_only(Scalar s) { return s == Scalar::F16 || s == Scalar::BF16; }
inline bool is_narrow(Scalar s) { return is_integer(s) && info(s).bytes < 4; }

struct Record;

/// A scalar or a record; a value type, compared by structure.
class Type {
 public:
  Type() : Type(Scalar::Bool) {}
  Type(Scalar scalar) : held_(scalar) {}
  Type(std::shared_ptr<const Record> record) : held_(std::move(record)) {}

  bool is_scalar() const { return held_.index() == 0; }
  bool is_record() const { return held_.index() == 1; }
  Scalar scalar() const { return std::get<0>(held_); }
  const Record& record() const { return *std::get<1>(held_); }

  bool is(Scalar s) const { return is_scalar() && scalar() == s; }
  bool is_number() const { return is_scalar() && scalar() != Scalar::Bool; }
  bool is_integer() const { return is_scalar() && twill::is_integer(scalar()); }
  bool is_float() const { return is_scalar() && twill::is_float(scalar()); }

  friend bool operator==(const Type& a, const Type& b);

 private:
  std::variant<Scalar, std::shared_ptr<const Record>> held_;
};

struct Field {
  std::string name;
  Type type;
  friend bool operator==(const Field&, const Field&) = default;
};

/// A record has a name and at least one field. A pair or tuple `(a, b)` is a record whose name
/// is empty and whose fields are called "0", "1", …
struct Record {
  std::string name;
  std::vector<Field> fields;
  friend bool operator==(const Record&, const Record&) = default;

  std::optional<int> field_named(std::string_view name) const;
};

/// "f32", "Match", or "(i64, f64)".
std::string to_string(const Type& type);

/// Bytes and alignment in memory: C layout (fields in order, naturally aligned).
std::size_t byte_size(const Type& type);
std::size_t alignment(const Type& type);
std::size_t field_offset(const Record& record, int field);

/// One of the numbers that a value consists of, with its byte offset in the value.
struct TypeLeaf {
  Scalar scalar;
  std::size_t offset;
  friend bool operator==(const TypeLeaf&, const TypeLeaf&) = default;
};

/// The numbers of a value in order of their fields; one, at offset 0, for a scalar.
std::vector<TypeLeaf> leaves_of(const Type& type);

/// One number with its type. Integers are held in `i` (unsigned ones in `u`), floats of every
/// width in `f`, where each f16, bf16 and f32 is exact; Bool is 0 or 1 in `i`.
struct Number {
  Scalar type = Scalar::I64;
  union {
    std::int64_t i = 0;
    std::uint64_t u;
    double f;
  };

  static Number of(Scalar type, std::int64_t value);
  static Number of_double(Scalar type, double value);
  double as_double() const;
  std::int64_t as_int() const;

  /// Same type and same bits.
  friend bool operator==(const Number& a, const Number& b) { return a.type == b.type && a.u == b.u; }
};

/// Conversion as every back end does it: integers wrap, floats round to nearest even, a float that
/// an integer type cannot hold saturates, NaN becomes 0; to Bool: is it different from zero.
Number convert(const Number& value, Scalar to);

/// The largest and the smallest finite-or-infinite value: identities of min and max.
Number highest(Scalar type);
Number lowest(Scalar type);

/// f16 and bf16 bit patterns.
std::uint16_t to_half_bits(float value);
float from_half_bits(std::uint16_t bits);
std::uint16_t to_bfloat_bits(float value);
float from_bfloat_bits(std::uint16_t bits);

}  // namespace twill
