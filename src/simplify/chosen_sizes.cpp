// Sizes that are born with a choice although both of its sides agree about them, once lengths are known.
#include "simplify/passes.h"

#include "program/affine_of.h"
#include "program/choice.h"
#include "program/describe.h"
#include "simplify/rewriting.h"

namespace twill {

namespace {

/// Is the size made of what is known outside of the stage's blocks?
bool is_known_outside(const Program& program, const Stage& stage, Expr size) {
  Defined inside;
  const auto& branch = std::get<Branch>(stage.body);
  for (const Block* block : {branch.then.get(), branch.otherwise.get()})
    for_each_stage(block->stages, [&](const Stage& inner) { inside.add(program, inner); });
  bool known = true;
  visit(size, [&](Expr node) {
    const auto* symbol = as<SizeRef>(node);
    const auto* read = as<Read>(node);
    known = known && !(symbol && inside.sizes.contains(symbol->symbol)) &&
            !(read && inside.arrays.contains(read->array));
  });
  return known;
}

}  // namespace

bool settle_chosen_sizes(Program& program, Notes& notes) {
  std::map<SymbolId, Expr> same;
  for_each_stage(program.stages, [&](const Stage& stage) {
    for (const ChosenSize& chosen : chosen_sizes(program, stage)) {
      if (!same_size(chosen.then, chosen.otherwise) || !is_known_outside(program, stage, chosen.then))
        continue;
      same.emplace(chosen.size, chosen.then);
      notes.done.push_back(
          {"length",
           {stage.name},
           "both sides of '" + stage.name + "' have " + describe(program, chosen.then) + " elements",
           stage.place});
    }
  });
  if (same.empty()) return false;
  replace_everywhere(program, [&](Expr node) -> Expr {
    const auto* size = as<SizeRef>(node);
    const auto found = size ? same.find(size->symbol) : same.end();
    return found == same.end() ? Expr{} : found->second;
  });
  return true;
}

}  // namespace twill
