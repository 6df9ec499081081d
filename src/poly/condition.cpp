// Builds conditions with their negations pushed down, and proves the easy ones.
#include "poly/condition.h"

#include <algorithm>
#include <set>
#include <stdexcept>

namespace twill::poly {

Condition Condition::non_negative(Affine affine) {
  if (affine.is_constant()) return affine.constant() >= 0 ? Condition() : never();
  return Condition(Kind::NonNegative, std::move(affine));
}

Condition Condition::zero(Affine affine) {
  if (affine.is_constant()) return affine.constant() == 0 ? Condition() : never();
  return Condition(Kind::Zero, std::move(affine));
}

Condition Condition::join(Kind kind, Condition a, Condition b) {
  const auto neutral = [&](const Condition& f) { return f.kind_ == kind && f.parts_.empty(); };
  const auto absorbing = [&](const Condition& f) {
    return f.kind_ == (kind == Kind::All ? Kind::Any : Kind::All) && f.parts_.empty();
  };
  if (neutral(a) || absorbing(b)) return b;
  if (neutral(b) || absorbing(a)) return a;
  std::vector<Condition> parts;
  for (Condition* side : {&a, &b}) {
    if (side->kind_ == kind) {
      std::ranges::move(side->parts_, std::back_inserter(parts));
    } else {
      parts.push_back(std::move(*side));
    }
  }
  return Condition(kind, std::move(parts));
}

Condition operator!(const Condition& a) {
  switch (a.kind_) {
    case Condition::Kind::NonNegative: return Condition::non_negative(-a.affine_ - 1);
    case Condition::Kind::Zero:
      return Condition::non_negative(a.affine_ - 1) || Condition::non_negative(-a.affine_ - 1);
    case Condition::Kind::All: {
      Condition none = Condition::never();
      for (const Condition& part : a.parts_) none = std::move(none) || !part;
      return none;
    }
    case Condition::Kind::Any: {
      Condition all;
      for (const Condition& part : a.parts_) all = std::move(all) && !part;
      return all;
    }
  }
  return {};
}

std::vector<Var> Condition::variables() const {
  std::set<Var> all;
  for (const Var v : affine_.variables()) all.insert(v);
  for (const Condition& part : parts_)
    for (const Var v : part.variables()) all.insert(v);
  return {all.begin(), all.end()};
}

Condition less(const Affine& a, const Affine& b) { return Condition::non_negative(b - a - 1); }
Condition at_most(const Affine& a, const Affine& b) { return Condition::non_negative(b - a); }
Condition equal(const Affine& a, const Affine& b) { return Condition::zero(a - b); }
Condition between(const Affine& lo, const Affine& a, const Affine& hi) {
  return at_most(lo, a) && less(a, hi);
}

Condition substitute(const Condition& condition, Var var, const Affine& by) {
  switch (condition.kind()) {
    case Condition::Kind::NonNegative: return Condition::non_negative(condition.affine().substitute(var, by));
    case Condition::Kind::Zero: return Condition::zero(condition.affine().substitute(var, by));
    case Condition::Kind::All: {
      Condition all;
      for (const Condition& part : condition.parts()) all = std::move(all) && substitute(part, var, by);
      return all;
    }
    case Condition::Kind::Any: {
      Condition any = Condition::never();
      for (const Condition& part : condition.parts()) any = std::move(any) || substitute(part, var, by);
      return any;
    }
  }
  return {};
}

bool holds(const Condition& condition, const std::function<std::int64_t(Var)>& value_of) {
  const auto part_holds = [&](const Condition& part) { return holds(part, value_of); };
  switch (condition.kind()) {
    case Condition::Kind::NonNegative: return condition.affine().evaluate(value_of) >= 0;
    case Condition::Kind::Zero: return condition.affine().evaluate(value_of) == 0;
    case Condition::Kind::All: return std::ranges::all_of(condition.parts(), part_holds);
    case Condition::Kind::Any: return std::ranges::any_of(condition.parts(), part_holds);
  }
  return false;
}

namespace {

/// Searches for affine = sum of (factor * fact) + something obviously non-negative.
class QuickProver {
 public:
  explicit QuickProver(const Condition& facts) { collect(facts); }

  bool non_negative(const Affine& affine, int depth) {
    if (obvious(affine)) return true;
    if (depth == 0 || ++steps_ > 400) return false;
    // d*floor(a/d) lies between a - (d-1) and a: a multiple of it gives way to its bound.
    for (const Affine::Term& term : affine.terms()) {
      const auto* held = std::get_if<std::shared_ptr<const Affine::Division>>(&term.atom);
      if (!held) continue;
      const auto& [numerator, divisor] = **held;
      if (term.factor % divisor != 0) continue;
      const std::int64_t multiple = term.factor / divisor;
      const Affine bound = affine + floor_mod(numerator, divisor) * multiple;
      if (non_negative(multiple > 0 ? bound - (divisor - 1) * multiple : bound, depth - 1)) return true;
    }
    for (const Affine::Term& term : affine.terms()) {
      for (const Affine& fact : facts_) {
        const std::int64_t in_fact = factor_in(fact, term.atom);
        if (in_fact == 0 || (in_fact > 0) != (term.factor > 0) || term.factor % in_fact != 0) continue;
        if (non_negative(affine - fact * (term.factor / in_fact), depth - 1)) return true;
      }
    }
    return false;
  }

 private:
  void collect(const Condition& facts) {
    switch (facts.kind()) {
      case Condition::Kind::NonNegative: facts_.push_back(facts.affine()); break;
      case Condition::Kind::Zero:
        facts_.push_back(facts.affine());
        facts_.push_back(-facts.affine());
        break;
      case Condition::Kind::All:
        for (const Condition& part : facts.parts()) collect(part);
        break;
      case Condition::Kind::Any: break;
    }
  }

  static std::int64_t factor_in(const Affine& affine, const Affine::Atom& atom) {
    for (const Affine::Term& term : affine.terms())
      if (compare(term.atom, atom) == 0) return term.factor;
    return 0;
  }

  /// A non-negative constant plus non-negative multiples of sizes and of divisions of such sums.
  static bool obvious(const Affine& affine) {
    return affine.constant() >= 0 && std::ranges::all_of(affine.terms(), [](const Affine::Term& term) {
             if (term.factor < 0) return false;
             if (const Var* v = std::get_if<Var>(&term.atom)) return v->kind == Var::Kind::Size;
             return obvious(std::get<1>(term.atom)->numerator);
           });
  }

  std::vector<Affine> facts_;
  int steps_ = 0;
};

}  // namespace

namespace {

/// By cases, where a choice that the facts leave concerns the claim; at most `splits` of them at once.
bool by_cases(const Condition& facts, const Affine& affine, int splits) {
  if (QuickProver(facts).non_negative(affine, 5)) return true;
  if (splits == 0 || facts.kind() != Condition::Kind::All) return false;
  for (std::size_t k = 0; k < facts.parts().size(); ++k) {
    const Condition& choice = facts.parts()[k];
    if (choice.kind() != Condition::Kind::Any || choice.parts().size() > 3) continue;
    if (std::ranges::none_of(choice.variables(), [&](Var v) { return affine.mentions(v); })) continue;
    Condition rest;
    for (std::size_t other = 0; other < facts.parts().size(); ++other)
      if (other != k) rest = std::move(rest) && facts.parts()[other];
    if (std::ranges::all_of(choice.parts(), [&](const Condition& part) {
          return by_cases(rest && part, affine, splits - 1);
        }))
      return true;
  }
  return false;
}

}  // namespace

bool quickly_non_negative(const Condition& facts, const Affine& affine) {
  try {
    return by_cases(facts, affine, 2);
  } catch (const std::overflow_error&) {
    return false;
  }
}

}  // namespace twill::poly
