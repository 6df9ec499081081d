// Which arrays nobody needs after a stage.
#include "plan/lifetimes.h"

#include "program/choice.h"

#include <algorithm>

namespace twill {

StageList stages_of(const Program& program) { return {program.stages, {}, program.results}; }

StageList stages_of(const Stage& around, const Block& block) {
  StageList list{block.stages, block.carries, block.results};
  for_each_expr(around, [&](Expr root) {
    visit(root, [&](Expr node) {
      if (const Read* read = as<Read>(node)) list.results.push_back(read->array);
    });
  });
  return list;
}

std::vector<const Block*> blocks_of(const Stage& stage) {
  if (const Nested* nested = std::get_if<Nested>(&stage.body)) return {nested->block.get()};
  if (const Branch* branch = std::get_if<Branch>(&stage.body))
    return {branch->then.get(), branch->otherwise.get()};
  return {};
}

bool is_made_in_place(const Program& program, const Stage& around, const Block& block, std::size_t output) {
  const Output& out = around.outputs[output];
  if (!around.dims.empty() || !block.carries.empty() || out.value || out.guard || out.into) return false;
  const ArrayId result = block.results[output];
  const Array &inside = program[result], &outside = program[out.array];
  if (inside.rank() == 0 || inside.type != outside.type || inside.rank() != outside.rank()) return false;
  const auto* branch = std::get_if<Branch>(&around.body);
  const std::vector<ChosenSize> chosen = chosen_sizes(program, around);
  for (std::size_t d = 0; d < inside.shape.size(); ++d)
    if (inside.shape[d] !=
        on_side(*program.pool, chosen, branch && branch->then.get() == &block, outside.shape[d]))
      return false;
  if (std::count(block.results.begin(), block.results.end(), result) != 1) return false;
  return std::any_of(block.stages.begin(), block.stages.end(), [&](const Stage& stage) {
    return std::any_of(stage.outputs.begin(), stage.outputs.end(), [&](const Output& made) {
      const std::vector<ArrayId> arrays = defined_arrays(made);
      return !made.into && std::find(arrays.begin(), arrays.end(), result) != arrays.end();
    });
  });
}

std::set<ArrayId> disposable_after(const Program& program, const StageList& list,
                                   std::span<const Stage* const> later) {
  std::set<ArrayId> arrays;
  for (const Stage& stage : list.stages) {
    for (const Output& output : stage.outputs) {
      for (ArrayId array : defined_arrays(output)) arrays.insert(array);
    }
  }
  for (const Carry& carry : list.carries) arrays.insert(carry.inside);
  for (ArrayId result : list.results) arrays.erase(result);
  for (const Carry& carry : list.carries) arrays.erase(carry.next);
  for (const Stage* stage : later) {
    for (ArrayId array : reads_of(program, *stage)) arrays.erase(array);
    // Sizes are read with the arrays they belong to.
    for (const Output& output : stage->outputs) {
      for (ArrayId array : defined_arrays(output)) {
        for (Expr extent : program[array].shape) {
          visit(extent, [&](Expr node) {
            if (const Read* read = as<Read>(node)) arrays.erase(read->array);
          });
        }
      }
    }
  }
  return arrays;
}

}  // namespace twill
