// Declarations shared by definitions: record types, scalar functions, operators.
#pragma once

#include "import/inside.h"
#include "import/value.h"

#include <functional>
#include <optional>

namespace twill {

namespace staged {
struct Declaration;
using DeclarationPtr = std::shared_ptr<const Declaration>;
}  // namespace staged

/// A type by name, which also converts: `f32(x(i))`.
struct ScalarType {
  Scalar scalar;

  operator Scalar() const { return scalar; }
  operator Type() const { return scalar; }
  Value operator()(const Arg& value) const;
};

inline constexpr ScalarType boolean{Scalar::Bool};
inline constexpr ScalarType i8{Scalar::I8}, i16{Scalar::I16}, i32{Scalar::I32}, i64{Scalar::I64};
inline constexpr ScalarType u8{Scalar::U8}, u16{Scalar::U16}, u32{Scalar::U32}, u64{Scalar::U64};
inline constexpr ScalarType f16{Scalar::F16}, bf16{Scalar::BF16}, f32{Scalar::F32}, f64{Scalar::F64};

/// A field of a record as it is made.
struct FieldValue {
  std::string name;
  Arg value;
};

/// A record type; called with its fields, it makes a record: `match({{"id", 1}, {"weight", w}})`.
class RecordType {
 public:
  explicit RecordType(Type type) : type_(std::move(type)) {}

  operator Type() const { return type_; }
  Value operator()(std::initializer_list<FieldValue> fields, Where where = Where::current()) const;

 private:
  Type type_;
};

RecordType record(std::string name, std::vector<Field> fields);
/// The type of tuples: `tuple_type({i32, f64})` has fields 0 and 1.
Type tuple_type(std::vector<Type> elements);

/// What folds, scans, scatters and groups combine with: the name of a built-in operation ("+", "*", "min",
/// "max", "and", "or", "bit_and", "bit_or", "xor") or an operator made by `op`.
class Op {
 public:
  Op(const char* built_in) : name_(built_in) {}

  /// Declares properties; associativity is what parallel folds rest on.
  Op associative(Where where = Where::current()) const;
  Op commutative(Where where = Where::current()) const;

  /// A user's operator may be called like a function.
  Value operator()(const Arg& a, const Arg& b) const;

  const std::string& name() const { return name_; }
  const staged::DeclarationPtr& declaration() const { return declaration_; }

 private:
  friend Op staged_op(std::string, const Type&, const Arg*, const std::function<Value(Value, Value)>&,
                      const Where&);

  std::string name_;
  staged::DeclarationPtr declaration_;
};

Op staged_op(std::string name, const Type& type, const Arg* identity,
             const std::function<Value(Value, Value)>& body, const Where& where);

/// An operator on values of one type; `identity` is the value of folding nothing.
inline Op op(std::string name, const Type& type, const Arg& identity,
             const std::function<Value(Value, Value)>& body, Where where = Where::current()) {
  return staged_op(std::move(name), type, &identity, body, where);
}
inline Op op(std::string name, const Type& type, const std::function<Value(Value, Value)>& body,
             Where where = Where::current()) {
  return staged_op(std::move(name), type, nullptr, body, where);
}

/// A function of scalars and records; called with values.
class Fn {
 public:
  Value operator()(const Arg& a = {}, const Arg& b = {}, const Arg& c = {}, const Arg& d = {},
                   const Arg& e = {}, const Arg& f = {}, const Arg& g = {}, const Arg& h = {},
                   Where where = Where::current()) const;

 private:
  friend Fn staged_fn(std::string, const std::vector<Field>&, const Value&, const Where&);

  staged::DeclarationPtr declaration_;
};

Fn staged_fn(std::string name, const std::vector<Field>& parameters, const Value& body, const Where& where);

namespace staged {

inline std::vector<Value> as_result(const Value& value) { return {value}; }
inline std::vector<Value> as_result(const std::vector<Value>& values) { return values; }
inline Subscripts as_result(const Subscripts& subscripts) { return subscripts; }

template <class Result, class F, std::size_t... at>
std::optional<Result> call_with(const F& function, const std::vector<Value>& values,
                                std::index_sequence<at...>) {
  if constexpr (requires { Result(as_result(function(values[at]...))); })
    return Result(as_result(function(values[at]...)));
  else
    return std::nullopt;
}

/// Calls a C++ function with as many staged values as there are; nothing if it does not take that many, or
/// gives something else.
template <class Result, class F, std::size_t n = 0>
std::optional<Result> call(const F& function, const std::vector<Value>& values) {
  constexpr std::size_t most = 16;
  if constexpr (n > most)
    return std::nullopt;
  else if (n == values.size())
    return call_with<Result>(function, values, std::make_index_sequence<n>{});
  else
    return call<Result, F, n + 1>(function, values);
}

/// Throws: the lambda of `what` does not take `count` values.
[[noreturn]] void wrong_lambda(const std::string& what, std::size_t count, const Where& where);
/// Throws: the lambda of a view does not take `count` indices.
[[noreturn]] void wrong_view(const std::string& array, std::size_t count, const Where& where);

}  // namespace staged

/// `fn("norm", {{"a", f32}, {"b", f32}}, [](Value a, Value b) { return sqrt(a * a + b * b); })`.
template <class F>
Fn fn(std::string name, const std::vector<Field>& parameters, const F& body, Where where = Where::current()) {
  std::vector<Value> arguments;
  for (const Field& parameter : parameters)
    arguments.push_back(staged::name(parameter.name, place_of(where)));
  const auto result = [&] {
    const staged::Inside scope("the function '" + name + "'");
    return staged::call<std::vector<Value>>(body, arguments);
  }();
  if (!result || result->size() != 1) staged::wrong_lambda("'" + name + "'", parameters.size(), where);
  return staged_fn(std::move(name), parameters, result->front(), where);
}

}  // namespace twill
