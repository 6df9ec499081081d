// Staged values: C++ expressions that build the expressions of a Twill program.
//
// A `Value` is an expression of the language of docs/language.md; operators and the functions below build
// larger ones. Nothing is computed and no type is looked at before `Def::program` (define.h), which
// lowers what was built exactly as it lowers a text. Every expression remembers the C++ line that wrote it.
#pragma once

#include "base/place.h"
#include "program/type.h"

#include <array>
#include <concepts>
#include <initializer_list>
#include <limits>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace twill {

namespace text {
struct Ast;
struct Generator;
}  // namespace text

namespace staged {
struct Uses;
}  // namespace staged

class Value;
class Index;
class Op;

using Where = std::source_location;

/// C++ numbers, which are plain literals: they take the type of the number they meet.
template <class T>
concept PlainInteger = std::integral<T> && !std::same_as<T, bool>;
template <class T>
concept PlainNumber = std::integral<T> || std::floating_point<T>;

/// A line of the caller's C++.
Place place_of(const Where& where);

/// What a function of this front end takes: a value, a C++ number (a plain literal, as in the text), or an
/// index with its range (`in`). Made implicitly; knows the line on which it was made.
class Arg {
 public:
  Arg() = default;
  Arg(const Value& value, Where where = Where::current());
  Arg(const Number& number, Where where = Where::current());
  template <std::same_as<bool> T>
  Arg(T truth, Where where = Where::current()) : Arg(Number::of(Scalar::Bool, truth), where) {}
  template <PlainInteger T>
  Arg(T number, Where where = Where::current()) : Arg(integer(number), where) {}
  template <std::floating_point T>
  Arg(T number, Where where = Where::current()) : Arg(Plain{Number::of_double(Scalar::F64, number)}, where) {}

  /// An expression that was built already.
  struct Built {
    std::shared_ptr<const text::Ast> tree;
    std::shared_ptr<const staged::Uses> uses;
    Place place;
    double weight;
  };
  explicit Arg(Built built);

  bool given() const { return tree_ || generator_; }
  bool is_generator() const { return generator_ != nullptr; }
  const Place& place() const { return place_; }

  /// The expression. Throws if this declares an index.
  const std::shared_ptr<const text::Ast>& tree() const;
  /// As it stands in the parentheses of a fold, after the bar of a comprehension or on the left of a stage.
  text::Generator generator() const;
  const std::shared_ptr<const staged::Uses>& uses() const { return uses_; }
  /// Nodes of the expression when it is written out.
  double weight() const { return weight_; }

 private:
  friend Arg in(const Index& index, const Arg& from, const Arg& to);
  friend Arg in(const Index& element, const Arg& collection);

  struct Plain {
    Number number;
  };
  Arg(Plain plain, const Where& where);
  template <std::integral T>
  static Plain integer(T number) {
    if constexpr (std::unsigned_integral<T> && sizeof(T) == 8)
      if (number > static_cast<T>(std::numeric_limits<std::int64_t>::max()))
        return {Number::of(Scalar::U64, static_cast<std::int64_t>(number))};
    return {Number::of(Scalar::I64, static_cast<std::int64_t>(number))};
  }
  static Arg range(const Index& index, const Arg& from, const Arg& to, const Place& place);

  std::shared_ptr<const text::Ast> tree_;
  std::shared_ptr<const text::Generator> generator_;
  std::shared_ptr<const staged::Uses> uses_;
  Place place_;
  double weight_ = 0;
};

/// The name of a field, or the position of a tuple's.
struct FieldName {
  FieldName(const char* field, Where at = Where::current()) : name(field), where(at) {}
  FieldName(std::string field, Where at = Where::current()) : name(std::move(field)), where(at) {}
  template <std::integral T>
  FieldName(T position, Where at = Where::current()) : name(std::to_string(position)), where(at) {}

  std::string name;
  Where where;
};

/// A staged expression.
class Value {
 public:
  Value(const Arg& arg) : arg_(arg) {}
  template <PlainNumber T>
  Value(T number, Where where = Where::current()) : arg_(number, where) {}

  /// An element: of an array, of a row, of a nested collection.
  Value operator()(const Arg& a, const Arg& b = {}, const Arg& c = {}, const Arg& d = {}, const Arg& e = {},
                   const Arg& f = {}, const Arg& g = {}, const Arg& h = {}, const Arg& i = {},
                   const Arg& j = {}, const Arg& k = {}, const Arg& l = {}) const;
  /// A field of a record or, by position, of a tuple.
  Value operator[](const FieldName& field) const;

  /// The parts of a nested collection or a group.
  Value values(Where where = Where::current()) const { return (*this)[{"values", where}]; }
  Value offsets(Where where = Where::current()) const { return (*this)[{"offsets", where}]; }
  Value keys(Where where = Where::current()) const { return (*this)[{"keys", where}]; }

  const Arg& arg() const { return arg_; }

 protected:
  Value() = default;
  Arg arg_;
};

/// An index by name. What it ranges over is said where it is used: by the arrays it walks, or by a bound.
class Index : public Value {
 public:
  explicit Index(std::string name, Where where = Where::current());
  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

/// `p in a .. b`, and `x in xs`: x is an element of the collection or array.
Arg in(const Index& index, const Arg& from, const Arg& to);
Arg in(const Index& element, const Arg& collection);

// ---- operations ----------------------------------------------------------------------------------

Value operator-(const Arg& a);
Value operator+(const Arg& a, const Arg& b);
Value operator-(const Arg& a, const Arg& b);
Value operator*(const Arg& a, const Arg& b);
Value operator/(const Arg& a, const Arg& b);  // integers: rounds down
Value operator%(const Arg& a, const Arg& b);  // integers: the sign of the divisor

Value operator==(const Arg& a, const Arg& b);
Value operator!=(const Arg& a, const Arg& b);
Value operator<(const Arg& a, const Arg& b);
Value operator<=(const Arg& a, const Arg& b);
Value operator>(const Arg& a, const Arg& b);
Value operator>=(const Arg& a, const Arg& b);
Value approximately(const Arg& a, const Arg& b);

Value operator!(const Arg& a);
Value operator&&(const Arg& a, const Arg& b);  // b is evaluated only where a holds
Value operator||(const Arg& a, const Arg& b);

Value operator&(const Arg& a, const Arg& b);
Value operator|(const Arg& a, const Arg& b);
Value operator^(const Arg& a, const Arg& b);
Value operator<<(const Arg& a, const Arg& b);
Value operator>>(const Arg& a, const Arg& b);
Value operator~(const Arg& a);

Value min(const Arg& a, const Arg& b);
Value max(const Arg& a, const Arg& b);
Value abs(const Arg& a);
Value pow(const Arg& a, const Arg& b);
Value sqrt(const Arg& a);
Value exp(const Arg& a);
Value exp2(const Arg& a);
Value log(const Arg& a);
Value log2(const Arg& a);
Value log10(const Arg& a);
Value sin(const Arg& a);
Value cos(const Arg& a);
Value tan(const Arg& a);
Value asin(const Arg& a);
Value acos(const Arg& a);
Value atan(const Arg& a);
Value sinh(const Arg& a);
Value cosh(const Arg& a);
Value tanh(const Arg& a);
Value erf(const Arg& a);
Value floor(const Arg& a);
Value ceil(const Arg& a);
Value round(const Arg& a);
Value trunc(const Arg& a);
Value atan2(const Arg& a, const Arg& b);
Value hypot(const Arg& a, const Arg& b);
Value fma(const Arg& a, const Arg& b, const Arg& c);
Value is_nan(const Arg& a);
Value is_inf(const Arg& a);

inline constexpr double inf = std::numeric_limits<double>::infinity();

/// The first extent of an array or the length of a collection; the extent of a dimension.
Value len(const Arg& array);
Value size(const Arg& array, int dimension);

/// Only the chosen branch is evaluated.
Value select(const Arg& condition, const Arg& then, const Arg& otherwise);

/// `let name = value in body(name)`: says once what is used often.
template <std::invocable<Value> F>
Value let(std::string name, const Arg& value, F body);

Value tuple(const Arg& a, const Arg& b, const Arg& c = {}, const Arg& d = {}, const Arg& e = {},
            const Arg& f = {}, const Arg& g = {}, const Arg& h = {});

// ---- boundary rules of subscripts: x(clamp(i - 1)) ------------------------------------------------

Value clamp(const Arg& subscript);
Value mirror(const Arg& subscript);
Value wrap(const Arg& subscript);
Value pad(const Arg& subscript);
Value pad(const Arg& subscript, const Arg& value);

// ---- folds, scans, recurrences, collections: the last argument of a fold is its body ---------------

Value sum(const Arg& a, const Arg& b, const Arg& c = {}, const Arg& d = {}, const Arg& e = {},
          const Arg& f = {}, const Arg& g = {}, const Arg& h = {});
Value product(const Arg& a, const Arg& b, const Arg& c = {}, const Arg& d = {}, const Arg& e = {},
              const Arg& f = {}, const Arg& g = {}, const Arg& h = {});
Value maximum(const Arg& a, const Arg& b, const Arg& c = {}, const Arg& d = {}, const Arg& e = {},
              const Arg& f = {}, const Arg& g = {}, const Arg& h = {});
Value minimum(const Arg& a, const Arg& b, const Arg& c = {}, const Arg& d = {}, const Arg& e = {},
              const Arg& f = {}, const Arg& g = {}, const Arg& h = {});
Value any(const Arg& a, const Arg& b, const Arg& c = {}, const Arg& d = {}, const Arg& e = {},
          const Arg& f = {}, const Arg& g = {}, const Arg& h = {});
Value all(const Arg& a, const Arg& b, const Arg& c = {}, const Arg& d = {}, const Arg& e = {},
          const Arg& f = {}, const Arg& g = {}, const Arg& h = {});
Value fold(const Op& op, const Arg& a, const Arg& b, const Arg& c = {}, const Arg& d = {}, const Arg& e = {},
           const Arg& f = {}, const Arg& g = {}, const Arg& h = {});

/// The running fold up to the index, which stands on the left as well; from the right: `scan_right`.
Value scan(const Op& op, const Index& index, const Arg& value);
Value scan_right(const Op& op, const Index& index, const Arg& value);

/// `seq(i, e)`: the points are computed in order of i, and e may read what it defines at earlier ones.
Value seq(const Index& index, const Arg& value);
Value seq(const Index& outer, const Index& inner, const Arg& value);
Value seq(const std::vector<Index>& indices, const Arg& value);

/// `[ value | generators ]`: indices, `in(x, xs)`, and conditions.
Value collect(const Arg& value, const Arg& a, const Arg& b = {}, const Arg& c = {}, const Arg& d = {},
              const Arg& e = {}, const Arg& f = {});
Value group(const Arg& key, const Arg& value, const Arg& a, const Arg& b = {}, const Arg& c = {},
            const Arg& d = {}, const Arg& e = {}, const Arg& f = {});
Value group(const Op& op, const Arg& key, const Arg& value, const Arg& a, const Arg& b = {},
            const Arg& c = {}, const Arg& d = {}, const Arg& e = {}, const Arg& f = {});

/// A list of subscripts: where `scatter` and `with` send a value.
struct Subscripts {
  std::vector<Arg> list;
};
Subscripts at(const Arg& a = {}, const Arg& b = {}, const Arg& c = {}, const Arg& d = {}, const Arg& e = {},
              const Arg& f = {}, const Arg& g = {}, const Arg& h = {}, const Arg& i = {}, const Arg& j = {},
              const Arg& k = {}, const Arg& l = {});

/// Sends values to elements that data choose. Without an operator the last one in order wins.
Value scatter(const Op& op, const Subscripts& to, const Arg& value, const Arg& a, const Arg& b = {},
              const Arg& c = {}, const Arg& d = {}, const Arg& e = {}, const Arg& f = {});
Value scatter(const Subscripts& to, const Arg& value, const Arg& a, const Arg& b = {}, const Arg& c = {},
              const Arg& d = {}, const Arg& e = {}, const Arg& f = {});
/// A new version of an array, with elements replaced or combined with what is there.
Value with(const Value& array, const Subscripts& to, const Arg& value, const Arg& a, const Arg& b = {},
           const Arg& c = {}, const Arg& d = {}, const Arg& e = {}, const Arg& f = {});
Value with(const Value& array, const Op& op, const Subscripts& to, const Arg& value, const Arg& a,
           const Arg& b = {}, const Arg& c = {}, const Arg& d = {}, const Arg& e = {}, const Arg& f = {});

namespace staged {
Value name(std::string name, const Place& place);
Value let(std::string name, const Arg& value, const Arg& body);
}  // namespace staged

template <std::invocable<Value> F>
Value let(std::string name, const Arg& value, F body) {
  const Value inside = staged::name(name, value.place());
  return staged::let(std::move(name), value, body(inside));
}

}  // namespace twill
