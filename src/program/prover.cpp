// Proves that subscripts stay inside: quickly by bounds, else by integer sets.
#include "program/prover.h"

#include "program/affine_of.h"
#include "program/describe.h"

#include <set>

namespace twill {

using poly::Affine;
using poly::Answer;
using poly::Condition;
using poly::Var;

namespace {

/// Integer sets of more pieces than this take too long: nothing is known of them.
constexpr double most_pieces = 128;

/// How many conjunctions a condition is, at most, if it is written as a choice between them.
double pieces_of(const Condition& condition) {
  double all = 1, any = 0;
  for (const Condition& part : condition.parts()) {
    const double pieces = pieces_of(part);
    all *= pieces;
    any += pieces;
  }
  return condition.kind() == Condition::Kind::Any ? any : all;
}

}  // namespace

Condition Prover::range(const Dim& dim) {
  const Affine index(var_of(dim.id));
  Condition inside = at_most(conditions_.value(dim.lo), index);
  return dim.hi ? std::move(inside) && less(index, conditions_.value(dim.hi)) : inside;
}

void Prover::learn(SymbolId symbol, const Condition& fact) {
  Condition& known = learned_[var_of(symbol)];
  known = known && fact;
}

Condition Prover::complete(const Condition& condition) const {
  Condition all = condition && conditions_.definitions(condition);
  std::set<Var> seen;
  for (bool grown = true; grown;) {
    grown = false;
    for (const Var var : all.variables()) {
      if (var.kind != Var::Kind::Size || !seen.insert(var).second) continue;
      all = std::move(all) && Condition::non_negative(var);
      if (const auto at = learned_.find(var); at != learned_.end()) {
        all = std::move(all) && at->second && conditions_.definitions(at->second);
        grown = true;
      }
    }
  }
  return all;
}

const poly::Context& Prover::context() {
  if (!context_) context_.emplace();
  return *context_;
}

bool Prover::is_plainly_non_negative(const Condition& facts, const Affine& affine) const {
  if (quickly_non_negative(facts, affine)) return true;
  if (!affine.mentions(Var::Kind::Term)) return false;
  return quickly_non_negative(facts && conditions_.definitions(Condition::non_negative(affine)), affine);
}

Answer Prover::is_non_negative(const Condition& facts, const Affine& affine) {
  if (is_plainly_non_negative(facts, affine)) return Answer::Yes;
  const Condition otherwise = complete(facts && Condition::non_negative(-affine - 1));
  if (pieces_of(otherwise) > most_pieces) return Answer::Unknown;
  return poly::Set(context(), {}, otherwise).is_empty();
}

Answer Prover::is_possible(const Condition& condition) {
  const Condition all = complete(condition);
  if (all.is_never()) return Answer::No;
  if (pieces_of(all) > most_pieces) return Answer::Unknown;
  switch (poly::Set(context(), {}, all).is_empty()) {
    case Answer::Yes: return Answer::No;
    case Answer::No: return Answer::Yes;
    case Answer::Unknown: return Answer::Unknown;
  }
  return Answer::Unknown;
}

std::optional<poly::Point> Prover::example(const Condition& condition) {
  const Condition all = complete(condition);
  if (pieces_of(all) > most_pieces) return std::nullopt;
  // Coordinates in the order sizes, terms, indices: the example has the smallest sizes.
  std::vector<Var> tuple;
  for (const Var::Kind kind : {Var::Kind::Size, Var::Kind::Index, Var::Kind::Element, Var::Kind::Term})
    for (const Var var : all.variables())
      if (var.kind == kind) tuple.push_back(var);
  return poly::Set(context(), tuple, all).sample();
}

std::string Prover::describe(Var var) const {
  switch (var.kind) {
    case Var::Kind::Index: return name_of(program_, DimId{var.id});
    case Var::Kind::Size: return name_of(program_, SymbolId{var.id});
    case Var::Kind::Term: return twill::describe(program_, conditions_.expr_of(var));
    case Var::Kind::Element: return "subscript " + std::to_string(var.id + 1);
  }
  return {};
}

std::string Prover::describe(const Affine& affine) const {
  return to_string(affine, [this](Var var) { return describe(var); });
}

}  // namespace twill
