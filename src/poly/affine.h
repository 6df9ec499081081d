// Quasi-affine expressions: integer combinations of variables and of floor divisions by positive
// constants, kept in a normal form. Plain arithmetic; no integer-set library behind it.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace twill::poly {

/// A variable is named by what it stands for and the number that thing has in its own table.
struct Var {
  enum class Kind : std::uint8_t {
    Index,    // an iteration index
    Size,     // a size symbol, never negative
    Term,     // the value of some other integer expression, opaque here
    Element,  // a coordinate of an element of an array
  };
  Kind kind = Kind::Index;
  int id = -1;

  auto operator<=>(const Var&) const = default;
};

using Namer = std::function<std::string(Var)>;

/// "i3", "n3", "t3", "e3": for people who debug.
std::string default_name(Var var);

/// Rounds towards minus infinity; the divisor is positive.
constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
constexpr std::int64_t floor_mod(std::int64_t a, std::int64_t b) { return a - b * floor_div(a, b); }

/// c0 + c1*a1 + c2*a2 + …, each a an atom: a variable, or floor(affine / d) with a constant d > 1.
/// Normal form: atoms are sorted and distinct, factors are not zero, and a division keeps only what
/// does not divide: factors and constant of its numerator are in [0, d) and share no divisor with d,
/// and it is not the mere division of another division. Equal normal forms are equal everywhere; the
/// converse holds without divisions. All arithmetic throws std::overflow_error rather than wrap.
class Affine {
 public:
  struct Division;
  using Atom = std::variant<Var, std::shared_ptr<const Division>>;
  struct Term {
    Atom atom;
    std::int64_t factor;
  };

  Affine(std::int64_t constant = 0) : constant_(constant) {}
  Affine(Var var);

  std::int64_t constant() const { return constant_; }
  std::span<const Term> terms() const { return terms_; }
  bool is_constant() const { return terms_.empty(); }

  /// The variable itself, if this is just one.
  std::optional<Var> as_var() const;

  /// The variable's factor outside of divisions; 0 if it does not occur there.
  std::int64_t factor_of(Var var) const;

  /// Does it occur anywhere, divisions included?
  bool mentions(Var var) const;
  bool mentions(Var::Kind kind) const;

  /// Every variable, divisions included; sorted.
  std::vector<Var> variables() const;

  Affine substitute(Var var, const Affine& by) const;
  std::int64_t evaluate(const std::function<std::int64_t(Var)>& value_of) const;

  friend Affine operator+(const Affine& a, const Affine& b);
  friend Affine operator-(const Affine& a, const Affine& b);
  friend Affine operator*(const Affine& a, std::int64_t factor);
  friend Affine operator-(const Affine& a) { return a * -1; }

  /// floor(a / d) and a - d*floor(a / d), for d > 0.
  friend Affine floor_div(const Affine& a, std::int64_t d);
  friend Affine floor_mod(const Affine& a, std::int64_t d);

  friend std::strong_ordering operator<=>(const Affine& a, const Affine& b);
  friend bool operator==(const Affine& a, const Affine& b) { return (a <=> b) == 0; }

 private:
  Affine(std::int64_t constant, std::vector<Term> terms) : constant_(constant), terms_(std::move(terms)) {}
  static Affine of_atom(Atom atom);

  std::int64_t constant_ = 0;
  std::vector<Term> terms_;
};

struct Affine::Division {
  Affine numerator;
  std::int64_t divisor;
};

std::strong_ordering compare(const Affine::Atom& a, const Affine::Atom& b);

/// Compact: "y-1", "2*x+k-2", "N-i-1", "H/2" (a floor division), "(i+1)/2".
std::string to_string(const Affine& affine, const Namer& name = default_name);

}  // namespace twill::poly
