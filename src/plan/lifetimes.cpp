// Which arrays nobody needs after a stage.
#include "plan/lifetimes.h"

#include "program/choice.h"

#include <algorithm>

namespace twill {

bool depends_on_run_time(const Program& program, const Array& array) {
  return std::any_of(array.shape.begin(), array.shape.end(), [&](Expr extent) {
    bool found = false;
    visit(extent, [&](Expr node) {
      if (as<Read>(node)) found = true;
      if (const SizeRef* size = as<SizeRef>(node);
          size && program[size->symbol].origin == Symbol::Origin::Born)
        found = true;
    });
    return found;
  });
}

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

Lifetimes::Lifetimes(const Program& program, const StageList& list, std::span<const Stage* const> order)
    : ending_(order.size()) {
  for (const Carry& carry : list.carries) until_[carry.inside] = 0;
  for (std::size_t s = 0; s < order.size(); ++s) {
    const auto need = [&](ArrayId array) {
      if (const auto found = until_.find(array); found != until_.end()) found->second = s + 1;
    };
    for (const ArrayId array : reads_of(program, *order[s])) need(array);
    for (const Output& output : order[s]->outputs) {
      for (const ArrayId array : defined_arrays(output)) {
        until_[array] = s + 1;
        // Sizes are read with the arrays they belong to.
        for (const Expr extent : program[array].shape) {
          visit(extent, [&](Expr node) {
            if (const Read* read = as<Read>(node)) need(read->array);
          });
        }
      }
    }
  }
  for (const ArrayId result : list.results) until_.erase(result);
  for (const Carry& carry : list.carries) until_.erase(carry.next);
  for (const auto& [array, done] : until_)
    if (done > 0) ending_[done - 1].push_back(array);
}

bool Lifetimes::is_over(ArrayId array, std::size_t done) const {
  const auto found = until_.find(array);
  return found != until_.end() && found->second <= done;
}

std::vector<ArrayId> Lifetimes::ending(std::size_t first, std::size_t count) const {
  std::vector<ArrayId> arrays;
  for (std::size_t s = first; s < first + count; ++s)
    arrays.insert(arrays.end(), ending_[s].begin(), ending_[s].end());
  std::sort(arrays.begin(), arrays.end());
  return arrays;
}

}  // namespace twill
