// Collections in the manner of ranges: xs.map(f).filter(p).flat_map(g).group_by(k).fold("+").
//
//   Def f("orders");
//   auto o = f.input("o", order, {f.size("N")});
//   auto big = range(o).filter([](Value x) { return x["amount"] > 1000.0; });
//   auto total = big.map([](Value x) { return x["amount"]; }).fold("+");
//   auto by_customer = big.group_by([](Value x) { return x["customer"]; })
//                          .map([](Value x) { return x["amount"]; }).fold("+");
//   f.result(total, by_customer);
//
// Every operator is a statement of the definition, and so a loop of its own that makes a collection: that
// they become one loop and no collection is the compiler's work. Inside of a function that an operator is
// given, which stands for what happens with every element, operators make no statements: they describe an
// inner collection, or are the value that a fold of it has.
#pragma once

#include "import/define.h"

#include <concepts>

namespace twill {

class Bucket;
class Grouping;

/// A collection: an array, or what an operator makes of others.
class Range {
 public:
  /// The elements of an array (rows, if it has several dimensions) or of a collection.
  explicit Range(const Var& array);

  template <std::invocable<Value> F>
  Range map(F f, std::string name = {}, Where where = Where::current()) const {
    Description own = describe(where);
    own.element = of_each([&] { return f(own.element); });
    return next("map", std::move(own), std::move(name), where);
  }

  template <std::invocable<Value> F>
  Range filter(F passes, std::string name = {}, Where where = Where::current()) const {
    Description own = describe(where);
    own.generators.push_back(Arg(of_each([&] { return passes(own.element); }), where));
    return next("filter", std::move(own), std::move(name), where);
  }

  /// `f` gives a range for every element; all of their elements follow each other.
  template <std::invocable<Value> F>
  Range flat_map(F f, std::string name = {}, Where where = Where::current()) const {
    Description own = describe(where);
    std::optional<Description> inner;
    inside([&] { inner = Range(f(own.element)).describe(where); });
    own.generators.insert(own.generators.end(), inner->generators.begin(), inner->generators.end());
    own.element = inner->element;
    return next("flat_map", std::move(own), std::move(name), where);
  }

  /// All of it if the condition holds, and nothing otherwise.
  Range when(const Value& condition, std::string name = {}, Where where = Where::current()) const;

  /// Buckets by key, in the order of the first occurrence.
  template <std::invocable<Value> F>
  Grouping group_by(F key, Where where = Where::current()) const;

  /// One value of all elements, in a function of every element as well as in a statement of its own. Without
  /// elements it is the operator's identity.
  Var fold(const Op& op, std::string name = {}, Where where = Where::current()) const;
  Var sum(std::string name = {}, Where where = Where::current()) const {
    return fold("+", std::move(name), where);
  }
  Var count(std::string name = {}, Where where = Where::current()) const;

  /// The running fold, from the first element on.
  Range scan(const Op& op, std::string name = {}, Where where = Where::current()) const;

  /// Prints for every element what `f` makes of it.
  template <std::invocable<Value> F>
  void print(F f, Where where = Where::current()) const {
    const Description own = describe(where);
    add_effect("print", of_each([&] { return f(own.element); }), own, where);
  }
  /// The same for an effect of a kind of its own.
  template <std::invocable<Value> F>
  void effect(const std::string& kind, F f, Where where = Where::current()) const {
    const Description own = describe(where);
    add_effect(kind, of_each([&] { return f(own.element); }), own, where);
  }

  /// The collection by name: for results, for `len`, for elements by position.
  operator Arg() const { return array().arg(); }
  Var array(std::string name = {}, Where where = Where::current()) const;

 private:
  friend class Grouping;
  friend Range iota(const Def& def, const Arg& count, Where where);
  friend Range list(const Def& def, const std::vector<Value>& values, Where where);
  friend Range zip(const Range& a, const Range& b, Where where);
  friend Range zip(const Range& a, const Range& b, const Range& c, Where where);
  friend Range concat(const Range& a, const Range& b, Where where);

  /// `element` for every point of `generators`.
  struct Description {
    std::vector<Arg> generators;
    Value element;
  };

  Range(std::shared_ptr<staged::DefState> def, Description description);

  Description describe(const Where& where) const;
  Range next(const char* what, Description description, std::string name, const Where& where) const;
  /// Runs a function of the user's, in which operators make no statements.
  void inside(const std::function<void()>& f) const;
  Value of_each(const std::function<Value()>& f) const;
  void add_effect(const std::string& kind, const Value& what, const Description& over,
                  const Where& where) const;

  std::shared_ptr<staged::DefState> def_;
  std::optional<Var> array_;                // its elements …
  std::optional<Description> description_;  // … or what was described
};

inline Range range(const Var& array) { return Range(array); }

/// 0, 1, … up to `count`.
Range iota(const Def& def, const Arg& count, Where where = Where::current());

/// These values, one at least.
Range list(const Def& def, const std::vector<Value>& values, Where where = Where::current());

/// Tuples of elements with the same position; as long as the shortest one.
Range zip(const Range& a, const Range& b, Where where = Where::current());
Range zip(const Range& a, const Range& b, const Range& c, Where where = Where::current());

/// The elements of `a`, then those of `b`.
Range concat(const Range& a, const Range& b, Where where = Where::current());

/// One bucket of a group, in the function that `Grouping::map` is given: its key, and folds of its elements.
class Bucket {
 public:
  Value key() const { return key_; }

  template <std::invocable<Value> F>
  Bucket map(F f) const {
    Bucket mapped = *this;
    mapped.element_ = f(element_);
    return mapped;
  }
  template <std::invocable<Value> F>
  Bucket filter(F passes) const {
    Bucket filtered = *this;
    filtered.generators_.push_back(passes(element_));
    return filtered;
  }

  Value fold(const Op& op) const;
  Value sum() const { return fold("+"); }
  Value count() const;

 private:
  friend class Grouping;
  Bucket(Value key, std::vector<Arg> generators, Value element)
      : key_(std::move(key)), generators_(std::move(generators)), element_(std::move(element)) {}

  Value key_;
  std::vector<Arg> generators_;
  Value element_;
};

/// A range whose elements are about to be put into buckets.
class Grouping {
 public:
  /// What is put into the bucket, instead of the element itself.
  template <std::invocable<Value> F>
  Grouping map(F f) const {
    Grouping mapped = *this;
    mapped.value_ = range_.of_each([&] { return f(value_); });
    return mapped;
  }

  /// What `f` makes of every bucket, in the order of the buckets.
  template <std::invocable<Bucket> F>
  Range map(F f, std::string name = {}, Where where = Where::current()) const {
    const auto [generator, bucket] = each_bucket(where);
    const Value made = range_.of_each([&, &of = bucket] { return f(of); });
    return range_.next("buckets", {{generator}, made}, std::move(name), where);
  }

  /// Keys, and one value for each: `g.keys()(b)`, `g(b)`.
  Var fold(const Op& op, std::string name = {}, Where where = Where::current()) const;
  Var sum(std::string name = {}, Where where = Where::current()) const {
    return fold("+", std::move(name), where);
  }
  Var count(std::string name = {}, Where where = Where::current()) const;
  /// Keys, and a collection for each.
  Var buckets(std::string name = {}, Where where = Where::current()) const;

 private:
  friend class Range;
  Grouping(Range range, std::vector<Arg> generators, Value key, Value value)
      : range_(std::move(range)),
        generators_(std::move(generators)),
        key_(std::move(key)),
        value_(std::move(value)) {}

  Var define(const Op* op, const Value& value, std::string name, const Where& where) const;
  std::pair<Arg, Bucket> each_bucket(const Where& where) const;

  Range range_;
  std::vector<Arg> generators_;
  Value key_, value_;
};

template <std::invocable<Value> F>
Grouping Range::group_by(F key, Where where) const {
  Description own = describe(where);
  const Value k = of_each([&] { return key(own.element); });
  return Grouping(*this, std::move(own.generators), k, own.element);
}

}  // namespace twill
