// Stages and outputs that nobody needs.
#include "simplify/passes.h"

namespace twill {

bool remove_dead(Scope& scope, Notes& notes) {
  std::set<ArrayId> needed = scope.kept;
  std::set<SymbolId> sizes;
  const auto need_sizes = [&](Expr root) {
    visit(root, [&](Expr node) {
      if (const auto* size = as<SizeRef>(node)) sizes.insert(size->symbol);
    });
  };
  const auto need_shape = [&](ArrayId array) {
    for (const Expr extent : scope.program[array].shape) {
      need_sizes(extent);
      visit(extent, [&](Expr node) {
        if (const auto* read = as<Read>(node)) needed.insert(read->array);
      });
    }
  };
  for (const ArrayId array : scope.kept) need_shape(array);
  bool changed = false;
  std::vector<Stage> alive;
  for (std::size_t s = scope.stages.size(); s-- > 0;) {
    Stage& stage = scope.stages[s];
    const auto is_needed = [&](const Output& output) {
      for (const ArrayId array : defined_arrays(output)) {
        if (needed.contains(array)) return true;
        for (const Expr extent : scope.program[array].shape) {
          const auto* size = as<SizeRef>(extent);
          const bool born = size && scope.program[size->symbol].origin == Symbol::Origin::Born;
          if (born && sizes.contains(size->symbol)) return true;
        }
      }
      return false;
    };
    // The outputs of a block are its results by position, and states are handed on together.
    const bool splits = std::holds_alternative<Formula>(stage.body);
    std::vector<Output> outputs;
    bool any = has_effects(stage);
    for (const Output& output : stage.outputs) any = any || is_needed(output);
    if (!any) {
      notes.done.push_back({"dead", {stage.name}, "nobody needs '" + stage.name + "'", stage.place});
      changed = true;
      continue;
    }
    if (splits) {
      for (Output& output : stage.outputs) {
        if (is_needed(output)) {
          outputs.push_back(std::move(output));
        } else {
          notes.done.push_back({"dead",
                                {stage.name},
                                "nobody needs '" + scope.program[output.array].name + "'",
                                output.place});
          changed = true;
        }
      }
      stage.outputs = std::move(outputs);
    }
    for (const ArrayId array : reads_of(scope.program, stage)) needed.insert(array);
    for_each_stage({&stage, 1}, [&](const Stage& inner) {
      for_each_expr(inner, need_sizes);
      for (const Output& output : inner.outputs) {
        for (const ArrayId array : defined_arrays(output)) need_shape(array);
      }
    });
    alive.push_back(std::move(stage));
  }
  scope.stages.assign(std::make_move_iterator(alive.rbegin()), std::make_move_iterator(alive.rend()));
  return changed;
}

}  // namespace twill
