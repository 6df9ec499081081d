#include "simplify/total.h"

#include <algorithm>

namespace twill {

using poly::Answer;
using poly::Condition;

bool Totality::is_inside(Expr subscript, Expr extent, const Condition& facts) {
  const poly::Affine at = prover_.conditions().value(subscript);
  const poly::Affine size = prover_.conditions().value(extent);
  return prover_.is_non_negative(facts, at) == Answer::Yes &&
         prover_.is_non_negative(facts, size - 1 - at) == Answer::Yes;
}

bool Totality::is_total(Expr root, const Condition& facts) {
  bool total = true;
  visit(root, [&](Expr node) {
    if (!total || !is_partial(node, program_.functions)) return;
    const auto* read = as<Read>(node);
    total = static_cast<bool>(read);
    for (std::size_t k = 0; total && k < read->rules.size(); ++k) {
      const Expr extent = program_[read->array].shape[k];
      if (read->rules[k] == Boundary::Inside)
        total = is_inside(node->args[k], extent, facts);
      else if (read->rules[k] != Boundary::Constant)
        total = is_inside(program_.pool->integer(0), extent, facts);
    }
  });
  return total;
}

bool Totality::is_total(const Block& block, const Condition& facts) {
  return std::all_of(block.stages.begin(), block.stages.end(),
                     [&](const Stage& stage) { return is_total(stage, facts); });
}

bool Totality::is_total(const Stage& stage, const Condition& facts) {
  Condition here = facts;
  for (const Dim& dim : stage.dims) {
    if (!dim.hi || dim.condition) return false;
    if (!is_total(dim.lo, here) || !is_total(dim.hi, here)) return false;
    here = std::move(here) && prover_.range(dim);
  }
  if (const auto* nested = std::get_if<Nested>(&stage.body))
    if (!is_total(*nested->block, here)) return false;
  if (const auto* branch = std::get_if<Branch>(&stage.body)) {
    if (!is_total(branch->condition, here) || !is_total(*branch->then, here) ||
        !is_total(*branch->otherwise, here))
      return false;
  }
  for (const Output& output : stage.outputs) {
    const bool fails = std::any_of(output.combine.begin(), output.combine.end(), [](const Combine& combine) {
      const auto* fold = std::get_if<Fold>(&combine);
      return fold && !fold->op.identity;
    });
    if (fails) return false;
    Condition passed = here;
    if (output.guard) {
      if (!is_total(output.guard, here)) return false;
      passed = std::move(passed) && prover_.conditions().when(output.guard, true);
    }
    // A fold writes where it has points, whatever its guard says.
    for (std::size_t k = 0; k < output.at.size(); ++k)
      if (!is_total(output.at[k], here) ||
          !is_inside(output.at[k], program_[output.array].shape[k],
                     std::any_of(output.combine.begin(), output.combine.end(), is<Fold>) ? here : passed))
        return false;
    for (const Expr e : {output.value, output.key})
      if (e && !is_total(e, passed)) return false;
  }
  for (const Effect& effect : stage.effects) {
    if (effect.guard) return false;
    for (const auto& argument : effect.arguments)
      if (const Expr* e = std::get_if<Expr>(&argument); e && !is_total(*e, here)) return false;
  }
  return true;
}

}  // namespace twill
