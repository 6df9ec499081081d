#include "program/edit.h"

#include <algorithm>

#include <set>
#include <string>

namespace twill {

void for_each_slot(Stage& stage, const std::function<void(Expr&)>& action) {
  const auto present = [&](Expr& e) {
    if (e) action(e);
  };
  for (Dim& dim : stage.dims) {
    present(dim.lo);
    present(dim.hi);
    present(dim.condition);
  }
  if (auto* branch = std::get_if<Branch>(&stage.body)) present(branch->condition);
  for (Output& output : stage.outputs) {
    present(output.value);
    present(output.guard);
    present(output.key);
    for (Expr& at : output.at) present(at);
  }
  for (Effect& effect : stage.effects) {
    present(effect.guard);
    for (auto& argument : effect.arguments)
      if (Expr* e = std::get_if<Expr>(&argument)) present(*e);
  }
}

std::string new_array_name(const Program& program, const std::string& wish) {
  const auto is_taken = [&](const std::string& name) {
    return std::ranges::any_of(program.arrays, [&](const Array& array) { return array.name == name; });
  };
  std::string name = wish;
  for (int k = 2; is_taken(name); ++k) name = wish + "_" + std::to_string(k);
  return name;
}

void rename_inside(Program& program, std::vector<Dim>& dims, const std::vector<Dim>& around) {
  std::set<std::string> used;
  for (const Dim& dim : around) used.insert(dim.name);
  for (Dim& dim : dims) {
    const std::string name = dim.name;
    for (int k = 2; !used.insert(dim.name).second; ++k) dim.name = name + "_" + std::to_string(k);
    program.dim_names[static_cast<std::size_t>(dim.id.value)] = dim.name;
  }
}

namespace {

void edit_body(Stage& stage, const std::function<void(int, Block&)>& action) {
  const auto edit = [&](int branch, std::shared_ptr<const Block>& held) {
    Block block = *held;
    action(branch, block);
    held = std::make_shared<const Block>(std::move(block));
  };
  if (auto* nested = std::get_if<Nested>(&stage.body)) edit(0, nested->block);
  if (auto* branch = std::get_if<Branch>(&stage.body)) {
    edit(0, branch->then);
    edit(1, branch->otherwise);
  }
}

}  // namespace

void edit_stages(std::vector<Stage>& stages, const std::function<void(Stage&)>& action) {
  for (Stage& stage : stages) {
    action(stage);
    edit_body(stage, [&](int, Block& block) { edit_stages(block.stages, action); });
  }
}

void edit_blocks(std::vector<Stage>& stages,
                 const std::function<void(const Stage&, int branch, Block&)>& action) {
  for (Stage& stage : stages) {
    edit_body(stage, [&](int branch, Block& block) {
      action(stage, branch, block);
      edit_blocks(block.stages, action);
    });
  }
}

}  // namespace twill
