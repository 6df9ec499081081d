// Arithmetic and normal form of quasi-affine expressions.
#include "poly/affine.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace twill::poly {

namespace {

using Division = std::shared_ptr<const Affine::Division>;

std::int64_t plus(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) throw std::overflow_error("affine expression");
  return sum;
}

std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) throw std::overflow_error("affine expression");
  return product;
}

}  // namespace

std::string default_name(Var var) {
  return std::string(1, "inte"[static_cast<int>(var.kind)]) + std::to_string(var.id);
}

std::strong_ordering compare(const Affine::Atom& a, const Affine::Atom& b) {
  if (a.index() != b.index()) return a.index() <=> b.index();
  if (a.index() == 0) return std::get<0>(a) <=> std::get<0>(b);
  const Affine::Division& x = *std::get<1>(a);
  const Affine::Division& y = *std::get<1>(b);
  if (const auto order = x.divisor <=> y.divisor; order != 0) return order;
  return x.numerator <=> y.numerator;
}

std::strong_ordering operator<=>(const Affine& a, const Affine& b) {
  const std::size_t common = std::min(a.terms_.size(), b.terms_.size());
  for (std::size_t k = 0; k < common; ++k) {
    if (const auto order = compare(a.terms_[k].atom, b.terms_[k].atom); order != 0) return order;
    if (const auto order = a.terms_[k].factor <=> b.terms_[k].factor; order != 0) return order;
  }
  if (const auto order = a.terms_.size() <=> b.terms_.size(); order != 0) return order;
  return a.constant_ <=> b.constant_;
}

Affine::Affine(Var var) : terms_{{var, 1}} {}

Affine Affine::of_atom(Atom atom) { return Affine(0, {{std::move(atom), 1}}); }

std::optional<Var> Affine::as_var() const {
  if (constant_ != 0 || terms_.size() != 1 || terms_[0].factor != 1) return std::nullopt;
  const Var* var = std::get_if<Var>(&terms_[0].atom);
  return var ? std::optional(*var) : std::nullopt;
}

std::int64_t Affine::factor_of(Var var) const {
  for (const Term& term : terms_)
    if (const Var* v = std::get_if<Var>(&term.atom); v && *v == var) return term.factor;
  return 0;
}

bool Affine::mentions(Var var) const {
  return std::ranges::any_of(terms_, [&](const Term& term) {
    if (const Var* v = std::get_if<Var>(&term.atom)) return *v == var;
    return std::get<1>(term.atom)->numerator.mentions(var);
  });
}

bool Affine::mentions(Var::Kind kind) const {
  return std::ranges::any_of(terms_, [&](const Term& term) {
    if (const Var* v = std::get_if<Var>(&term.atom)) return v->kind == kind;
    return std::get<1>(term.atom)->numerator.mentions(kind);
  });
}

std::vector<Var> Affine::variables() const {
  std::vector<Var> all;
  for (const Term& term : terms_) {
    if (const Var* v = std::get_if<Var>(&term.atom)) {
      all.push_back(*v);
    } else {
      const std::vector<Var> inner = std::get<1>(term.atom)->numerator.variables();
      all.insert(all.end(), inner.begin(), inner.end());
    }
  }
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

Affine operator+(const Affine& a, const Affine& b) {
  Affine sum(plus(a.constant_, b.constant_));
  sum.terms_.reserve(a.terms_.size() + b.terms_.size());
  auto x = a.terms_.begin();
  auto y = b.terms_.begin();
  while (x != a.terms_.end() || y != b.terms_.end()) {
    if (y == b.terms_.end()) {
      sum.terms_.push_back(*x++);
      continue;
    }
    if (x == a.terms_.end()) {
      sum.terms_.push_back(*y++);
      continue;
    }
    const auto order = compare(x->atom, y->atom);
    if (order < 0) {
      sum.terms_.push_back(*x++);
    } else if (order > 0) {
      sum.terms_.push_back(*y++);
    } else {
      if (const std::int64_t factor = plus(x->factor, y->factor)) sum.terms_.push_back({x->atom, factor});
      ++x;
      ++y;
    }
  }
  return sum;
}

Affine operator*(const Affine& a, std::int64_t factor) {
  if (factor == 0) return 0;
  Affine product(times(a.constant_, factor), a.terms_);
  for (Affine::Term& term : product.terms_) term.factor = times(term.factor, factor);
  return product;
}

Affine operator-(const Affine& a, const Affine& b) { return a + b * -1; }

Affine floor_div(const Affine& a, std::int64_t d) {
  if (d <= 0) throw std::domain_error("floor division by a divisor that is not positive");
  if (d == 1) return a;
  // a = d*whole + rest with every number of rest in [0, d): floor(a/d) = whole + floor(rest/d).
  Affine whole(floor_div(a.constant_, d));
  Affine rest(floor_mod(a.constant_, d));
  std::int64_t common = d;
  for (const Affine::Term& term : a.terms_) {
    if (const std::int64_t q = floor_div(term.factor, d)) whole.terms_.push_back({term.atom, q});
    if (const std::int64_t r = floor_mod(term.factor, d)) {
      rest.terms_.push_back({term.atom, r});
      common = std::gcd(common, r);
    }
  }
  if (rest.is_constant()) return whole;
  if (common > 1) {
    rest.constant_ = floor_div(rest.constant_, common);
    for (Affine::Term& term : rest.terms_) term.factor /= common;
    d /= common;
    if (d == 1) return whole + rest;
  }
  // floor((floor(b/e) + c) / d) = floor((b + c*e) / (d*e))
  if (rest.terms_.size() == 1 && rest.terms_[0].factor == 1) {
    if (const Division* inner = std::get_if<Division>(&rest.terms_[0].atom)) {
      const std::int64_t e = (*inner)->divisor;
      return whole + floor_div((*inner)->numerator + times(rest.constant_, e), times(d, e));
    }
  }
  return whole + Affine::of_atom(std::make_shared<const Affine::Division>(rest, d));
}

Affine floor_mod(const Affine& a, std::int64_t d) { return a - floor_div(a, d) * d; }

Affine Affine::substitute(Var var, const Affine& by) const {
  if (!mentions(var)) return *this;
  Affine result(constant_);
  for (const Term& term : terms_) {
    if (const Var* v = std::get_if<Var>(&term.atom)) {
      result = result + (*v == var ? by : Affine(*v)) * term.factor;
    } else {
      const Affine::Division& division = *std::get<1>(term.atom);
      result = result + floor_div(division.numerator.substitute(var, by), division.divisor) * term.factor;
    }
  }
  return result;
}

std::int64_t Affine::evaluate(const std::function<std::int64_t(Var)>& value_of) const {
  std::int64_t value = constant_;
  for (const Term& term : terms_) {
    const Var* v = std::get_if<Var>(&term.atom);
    const std::int64_t atom =
        v ? value_of(*v)
          : floor_div(std::get<1>(term.atom)->numerator.evaluate(value_of), std::get<1>(term.atom)->divisor);
    value = plus(value, times(term.factor, atom));
  }
  return value;
}

std::string to_string(const Affine& affine, const Namer& name) {
  const auto atom_text = [&](const Affine::Atom& atom) {
    if (const Var* v = std::get_if<Var>(&atom)) return name(*v);
    const Affine::Division& division = *std::get<1>(atom);
    std::string inner = to_string(division.numerator, name);
    if (!division.numerator.as_var()) inner = "(" + inner + ")";
    return inner + "/" + std::to_string(division.divisor);
  };
  std::string text;
  // What is added comes first, so that N - i does not read -i + N.
  for (const bool positive : {true, false}) {
    for (const Affine::Term& term : affine.terms()) {
      if ((term.factor > 0) != positive) continue;
      if (!positive)
        text += "-";
      else if (!text.empty())
        text += "+";
      const std::string size = std::to_string(term.factor);
      const std::string magnitude = positive ? size : size.substr(1);
      const bool division = std::holds_alternative<Division>(term.atom);
      if (magnitude != "1") text += magnitude + "*";
      text += magnitude != "1" && division ? "(" + atom_text(term.atom) + ")" : atom_text(term.atom);
    }
  }
  if (text.empty()) return std::to_string(affine.constant());
  if (affine.constant() > 0) text += "+" + std::to_string(affine.constant());
  if (affine.constant() < 0) text += std::to_string(affine.constant());
  return text;
}

}  // namespace twill::poly
