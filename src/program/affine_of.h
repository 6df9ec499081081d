// The bridge from index expressions to integer sets: which expressions are quasi-affine, and in what.
//
// Variables: an index is Var{Index, DimId}, a size symbol Var{Size, SymbolId}. Any other i64 expression
// stands for itself as Var{Term, Node::number}: a scalar input, a product of sizes, a read element.
// Expressions are hash-consed, so equal ones are one variable.
#pragma once

#include "poly/affine.h"
#include "program/program.h"

#include <map>
#include <optional>

namespace twill {

inline poly::Var var_of(DimId dim) { return {poly::Var::Kind::Index, dim.value}; }
inline poly::Var var_of(SymbolId symbol) { return {poly::Var::Kind::Size, symbol.value}; }
inline poly::Var var_of(Expr term) { return {poly::Var::Kind::Term, term->number}; }

/// An i64 expression as a quasi-affine one: sums, products with literals, division and modulo by
/// positive literals of indices, sizes and terms that no index occurs in (a scalar that was read, a
/// product of sizes). Nothing if an index occurs in any other way, or a number gets too large.
std::optional<poly::Affine> affine_of(Expr expr);

/// The value of a primitive on quasi-affine operands, where that is quasi-affine again.
std::optional<poly::Affine> apply_affine(Prim prim, std::span<const poly::Affine> operands);

/// Does an index occur, in subscripts of reads as well?
bool mentions_index(Expr expr);

/// A size as a polynomial of symbols and terms, so that (N + 1) * M equals N * M + M.
class SizePolynomial {
 public:
  SizePolynomial(std::int64_t number = 0);
  explicit SizePolynomial(const poly::Affine& affine);

  /// Nothing if the expression mentions indices in a way that is not affine, or grows too large.
  static std::optional<SizePolynomial> of(Expr expr);

  friend SizePolynomial operator+(const SizePolynomial& a, const SizePolynomial& b);
  friend SizePolynomial operator-(const SizePolynomial& a, const SizePolynomial& b);
  friend SizePolynomial operator*(const SizePolynomial& a, const SizePolynomial& b);
  friend bool operator==(const SizePolynomial&, const SizePolynomial&) = default;

 private:
  void add(std::vector<poly::Affine> factors, std::int64_t number);

  std::map<std::vector<poly::Affine>, std::int64_t> products_;  // sorted factors, each a single atom
};

/// Are two sizes equal whatever the symbols are? No is no proof that they differ.
bool same_size(Expr a, Expr b);

}  // namespace twill
