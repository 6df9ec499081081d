// Building the tables of a program, and questions about stages.
#include "program/program.h"

#include <algorithm>
#include <set>

namespace twill {

ArrayId Program::add_array(std::string array_name, Type type, std::vector<Expr> shape, Place array_place) {
  const ArrayId id{static_cast<int>(arrays.size())};
  arrays.push_back({id, std::move(array_name), std::move(type), std::move(shape), std::move(array_place)});
  return id;
}

SymbolId Program::add_symbol(std::string symbol_name, Symbol::Origin origin) {
  const SymbolId id{static_cast<int>(symbols.size())};
  symbols.push_back({id, std::move(symbol_name), origin});
  return id;
}

DimId Program::add_dim(std::string dim_name) {
  const DimId id{static_cast<int>(dim_names.size())};
  dim_names.push_back(std::move(dim_name));
  return id;
}

FunctionId Program::add_function(Function function) {
  const FunctionId id{static_cast<int>(functions.size())};
  functions.push_back(std::move(function));
  return id;
}

const Operator* operator_of(const Combine& combine) {
  if (const auto* fold = std::get_if<Fold>(&combine)) return &fold->op;
  if (const auto* scan = std::get_if<Scan>(&combine)) return &scan->op;
  if (const auto* scatter = std::get_if<Scatter>(&combine)) return scatter->op ? &*scatter->op : nullptr;
  if (const auto* group = std::get_if<Group>(&combine)) return group->op ? &*group->op : nullptr;
  return nullptr;
}

bool is_running(const Output& output) {
  return !output.combine.empty() && output.at.empty() && is<Scan>(output.combine.front());
}

bool scans_from_right(const Output& output, std::size_t dim) {
  const auto* scan = std::get_if<Scan>(&output.combine[dim]);
  return scan && scan->from == Direction::Right;
}

bool runs_from_right(const Output& output) {
  for (std::size_t d = 0; d < output.combine.size(); ++d)
    if (scans_from_right(output, d)) return true;
  return false;
}

bool runs_from_right(const Stage& stage) {
  return std::ranges::any_of(stage.outputs, [](const Output& output) { return runs_from_right(output); });
}

std::vector<ArrayId> defined_arrays(const Output& output) {
  std::vector<ArrayId> arrays = {output.array};
  if (output.offsets) arrays.push_back(*output.offsets);
  if (output.keys) arrays.push_back(*output.keys);
  return arrays;
}

std::vector<const Block*> blocks_of(const Stage& stage) {
  if (const auto* nested = std::get_if<Nested>(&stage.body)) return {nested->block.get()};
  if (const auto* branch = std::get_if<Branch>(&stage.body))
    return {branch->then.get(), branch->otherwise.get()};
  return {};
}

void for_each_expr(const Stage& stage, const std::function<void(Expr)>& action) {
  const auto present = [&](Expr e) {
    if (e) action(e);
  };
  for (const Dim& dim : stage.dims) {
    present(dim.lo);
    present(dim.hi);
    present(dim.condition);
  }
  if (const auto* branch = std::get_if<Branch>(&stage.body)) present(branch->condition);
  for (const Output& output : stage.outputs) {
    present(output.guard);
    present(output.key);
    for (Expr subscript : output.at) present(subscript);
    present(output.value);
  }
  for (const Effect& effect : stage.effects) {
    present(effect.guard);
    for (const auto& argument : effect.arguments)
      if (const Expr* value = std::get_if<Expr>(&argument)) present(*value);
  }
}

namespace {

/// Collects the arrays that stages mention, in order, less those that they define.
class Mentions {
 public:
  explicit Mentions(const Program& program) : program_(program) {}

  void stage(const Stage& stage) {
    for_each_expr(stage, [&](Expr e) { expr(e); });
    for (const Output& output : stage.outputs) {
      if (output.into) mention(*output.into);
      for (ArrayId array : defined_arrays(output)) {
        for (Expr extent : program_[array].shape) expr(extent);
        defined_.insert(array);
      }
    }
    for (const Block* block : blocks_of(stage)) {
      for (const Carry& carry : block->carries) {
        mention(carry.init);
        defined_.insert(carry.inside);
      }
      for (const Stage& inner : block->stages) this->stage(inner);
      for (const Carry& carry : block->carries) mention(carry.next);
      for (ArrayId result : block->results) mention(result);
    }
  }

  std::vector<ArrayId> outside() && {
    std::erase_if(order_, [&](ArrayId array) { return defined_.contains(array); });
    return std::move(order_);
  }

 private:
  void expr(Expr root) {
    visit(root, [&](Expr node) {
      if (const auto* read = as<Read>(node)) mention(read->array);
    });
  }

  void mention(ArrayId array) {
    if (mentioned_.insert(array).second) order_.push_back(array);
  }

  const Program& program_;
  std::vector<ArrayId> order_;
  std::set<ArrayId> mentioned_, defined_;
};

}  // namespace

std::vector<ArrayId> reads_of(const Program& program, const Stage& stage) {
  Mentions mentions(program);
  mentions.stage(stage);
  return std::move(mentions).outside();
}

bool needs(const Program& program, const Stage& stage, ArrayId array) {
  const std::vector<ArrayId> needed = reads_of(program, stage);
  return std::find(needed.begin(), needed.end(), array) != needed.end();
}

bool reads(const Stage& stage, ArrayId array) {
  bool found = false;
  for_each_stage({&stage, 1}, [&](const Stage& inner) {
    for_each_expr(inner, [&](Expr root) {
      visit(root, [&](Expr node) {
        const auto* read = as<Read>(node);
        found = found || (read && read->array == array);
      });
    });
  });
  return found;
}

void for_each_stage(std::span<const Stage> stages, const std::function<void(const Stage&)>& action) {
  for (const Stage& stage : stages) {
    action(stage);
    for (const Block* block : blocks_of(stage)) for_each_stage(block->stages, action);
  }
}

bool has_effects(const Stage& stage) {
  bool found = false;
  for_each_stage({&stage, 1}, [&](const Stage& inner) { found = found || !inner.effects.empty(); });
  return found;
}

std::string_view name_of(const Combine& combine) {
  static constexpr std::string_view names[] = {"cat", "fold", "scan", "append", "scatter", "group", "seq"};
  static_assert(std::size(names) == std::variant_size_v<Combine>);
  return names[combine.index()];
}

}  // namespace twill
