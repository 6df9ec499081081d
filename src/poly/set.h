// Integer sets and relations, exact, with symbolic parameters.
//
// A Set holds the points of a tuple of variables that satisfy a condition; every variable of the condition
// that is not in the tuple is a parameter, and stays what it is in all operations. Tuples are matched
// by position, parameters by name. So `Set(context, {i}, between(o, i, o + T) && between(0, i, N))` is
// one tile with symbolic origin, size and extent.
//
// Integer sets can be arbitrarily hard. Every operation has a limit on its steps; beyond it the result
// is unknown, what is computed from it is unknown as well, and questions answer Unknown.
#pragma once

#include "poly/condition.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace twill::poly {

enum class Answer : std::uint8_t { No, Yes, Unknown };

/// Owns the library's state; sets and relations keep theirs alive. Not thread-safe: one per thread.
class Context {
 public:
  static constexpr unsigned long default_limit = 200'000;
  explicit Context(unsigned long operation_limit = default_limit);

  struct State;
  const std::shared_ptr<State>& state() const { return state_; }

 private:
  std::shared_ptr<State> state_;
};

/// Values of variables.
using Point = std::map<Var, std::int64_t>;

class Map;

class Set {
 public:
  Set(const Context& context, std::vector<Var> tuple, const Condition& condition);

  const std::vector<Var>& tuple() const { return tuple_; }
  bool is_known() const;

  Set intersect(const Set& other) const;
  Set unite(const Set& other) const;
  Set subtract(const Set& other) const;
  /// The points without the given variables of the tuple: their shadow.
  Set project_out(std::span<const Var> variables) const;
  /// One convex set that contains this one, from the constraints it has already.
  Set simple_hull() const;

  /// Whether it is so for all values of the parameters.
  Answer is_empty() const;
  Answer is_subset_of(const Set& other) const;
  Answer is_equal_to(const Set& other) const;

  /// A point and values of the parameters it exists for; the smallest if there is one.
  std::optional<Point> sample() const;

  /// The smallest and largest value of an expression over the tuple, whatever the parameters are;
  /// nothing if it is unbounded, unknown, or the set is empty.
  std::optional<std::int64_t> min(const Affine& affine) const;
  std::optional<std::int64_t> max(const Affine& affine) const;

  /// The bounds of one variable of the tuple as expressions of the parameters, if one expression does.
  std::optional<Affine> lower_bound(Var variable) const;
  std::optional<Affine> upper_bound(Var variable) const;

  std::string to_string() const;

 private:
  friend class Map;
  struct Handle;
  Set(std::vector<Var> tuple, std::shared_ptr<const Handle> handle);

  std::vector<Var> tuple_;
  std::shared_ptr<const Handle> handle_;
};

/// A relation between two tuples.
class Map {
 public:
  Map(const Context& context, std::vector<Var> from, std::vector<Var> to, const Condition& condition);

  /// Each point of `domain` goes to the values of the expressions; `to` is Element 0, 1, …
  static Map function(const Context& context, std::vector<Var> from, const Condition& domain,
                      std::span<const Affine> values);

  const std::vector<Var>& from() const { return from_; }
  const std::vector<Var>& to() const { return to_; }
  bool is_known() const;

  Set domain() const;
  Set range() const;
  Set apply(const Set& points) const;
  Map inverse() const;
  /// First this, then the other.
  Map then(const Map& other) const;
  Map intersect(const Map& other) const;
  Map unite(const Map& other) const;
  Map subtract(const Map& other) const;
  Map intersect_domain(const Set& points) const;
  Map intersect_range(const Set& points) const;

  Answer is_empty() const;
  Answer is_subset_of(const Map& other) const;
  /// No two points go to the same one.
  Answer is_injective() const;
  Answer is_single_valued() const;

  std::string to_string() const;

 private:
  struct Handle;
  Map(std::vector<Var> from, std::vector<Var> to, std::shared_ptr<const Handle> handle);

  std::vector<Var> from_, to_;
  std::shared_ptr<const Handle> handle_;
};

}  // namespace twill::poly
