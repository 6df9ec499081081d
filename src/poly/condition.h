// Conditions: what holds between integers. Comparisons of quasi-affine expressions joined by and, or
// and not; and a quick, incomplete prover for the many that follow by adding up a few inequalities.
#pragma once

#include "poly/affine.h"

#include <vector>

namespace twill::poly {

/// An immutable condition. Negation is pushed down to the comparisons when it is built.
class Condition {
 public:
  enum class Kind : std::uint8_t {
    NonNegative,  // affine() >= 0
    Zero,         // affine() == 0
    All,          // every part holds; without parts: true
    Any,          // some part holds; without parts: false
  };

  Condition() = default;  // true
  static Condition never() { return Condition(Kind::Any, std::vector<Condition>{}); }
  static Condition non_negative(Affine affine);
  static Condition zero(Affine affine);

  Kind kind() const { return kind_; }
  const Affine& affine() const { return affine_; }
  const std::vector<Condition>& parts() const { return parts_; }
  bool is_always() const { return kind_ == Kind::All && parts_.empty(); }
  bool is_never() const { return kind_ == Kind::Any && parts_.empty(); }

  /// Every variable, sorted.
  std::vector<Var> variables() const;

  friend Condition operator&&(Condition a, Condition b) {
    return join(Kind::All, std::move(a), std::move(b));
  }
  friend Condition operator||(Condition a, Condition b) {
    return join(Kind::Any, std::move(a), std::move(b));
  }
  friend Condition operator!(const Condition& a);

 private:
  Condition(Kind kind, Affine affine) : kind_(kind), affine_(std::move(affine)) {}
  Condition(Kind kind, std::vector<Condition> parts) : kind_(kind), parts_(std::move(parts)) {}
  static Condition join(Kind kind, Condition a, Condition b);

  Kind kind_ = Kind::All;
  Affine affine_;
  std::vector<Condition> parts_;
};

Condition less(const Affine& a, const Affine& b);
Condition at_most(const Affine& a, const Affine& b);
Condition equal(const Affine& a, const Affine& b);

/// lo <= a < hi
Condition between(const Affine& lo, const Affine& a, const Affine& hi);

/// All variables renamed by substitution.
Condition substitute(const Condition& condition, Var var, const Affine& by);

bool holds(const Condition& condition, const std::function<std::int64_t(Var)>& value_of);

/// True only if the comparisons that `facts` states outright imply affine >= 0. Looks for a sum of few
/// of them, with small factors, that shows it, by cases where they leave a choice; sizes are taken to be
/// non-negative. Fast, and silent (false) where it does not see it: then ask a Set.
bool quickly_non_negative(const Condition& facts, const Affine& affine);

}  // namespace twill::poly
