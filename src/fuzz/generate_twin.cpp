// A second stage that computes the same: with dimensions, arrays and lengths of its own.
#include "fuzz/generator.h"
#include "program/buckets.h"
#include "program/edit.h"

#include <algorithm>

namespace twill {

std::optional<Stage> Generator::twin(const std::vector<Stage>& stages) {
  std::vector<const Stage*> candidates;
  for (const Stage& stage : stages) {
    const bool in_order = std::ranges::any_of(
        stage.outputs, [](const Output& output) { return std::ranges::any_of(output.combine, is<Seq>); });
    if (std::holds_alternative<Formula>(stage.body) && stage.effects.empty() && !in_order)
      candidates.push_back(&stage);
  }
  if (candidates.empty()) return std::nullopt;
  if (rng_.chance(50)) {
    std::vector<const Stage*> groups;
    for (const Stage* stage : candidates)
      if (std::ranges::any_of(stage->outputs, is_group)) groups.push_back(stage);
    if (!groups.empty()) candidates = std::move(groups);
  }
  Stage copy = *rng_.pick(candidates);
  copy.hints.clear();
  std::map<DimId, Expr> indices;
  std::map<SymbolId, Expr> lengths;
  std::map<ArrayId, Expr> running;
  const auto now = [&](Expr e) {
    return rewrite(pool_, e, [&](Expr node) -> Expr {
      if (const auto* index = as<IndexRef>(node); index && indices.contains(index->dim))
        return indices.at(index->dim);
      if (const auto* size = as<SizeRef>(node); size && lengths.contains(size->symbol))
        return lengths.at(size->symbol);
      if (const auto* read = as<Read>(node); read && running.contains(read->array))
        return running.at(read->array);
      return {};
    });
  };
  for (Dim& dim : copy.dims) {
    const DimId id = program_.add_dim(dim.name);
    bounds_.set(id, 0, 64);
    indices[dim.id] = pool_.index(id);
    dim.id = id;
  }
  const auto again = [&](ArrayId old, bool is_born) {
    const auto* size = is_born ? as<SizeRef>(program_[old].shape.front()) : nullptr;
    if (size && !lengths.contains(size->symbol))
      lengths[size->symbol] = pool_.size(program_.add_symbol(fresh("twin_len"), Symbol::Origin::Born));
    Held held = held_.at(old);
    const auto settle = [&](Extent& e) {
      e.expr = now(e.expr);
      if (e.base) e.base = now(e.base);
    };
    for (Extent& e : held.shape) settle(e);
    if (held.rows_of) settle(*held.rows_of);
    const ArrayId id = array(fresh("twin"), program_[old].type, held.shape);
    held_[id] = held;
    if (hidden_.contains(old)) hidden_.insert(id);
    return id;
  };
  for (Output& output : copy.outputs) {
    const bool collects =
        !output.combine.empty() && (is<Append>(output.combine.back()) || is<Group>(output.combine.back()));
    // Lengths before what is counted in them.
    if (output.keys) output.keys = again(*output.keys, true);
    const ArrayId old = output.array;
    output.array = again(old, collects);
    if (is_running(output)) running[old] = pool_.read(output.array, program_[old].type, std::vector<Expr>{});
    if (output.offsets) output.offsets = again(*output.offsets, false);
  }
  for_each_slot(copy, [&](Expr& slot) { slot = now(slot); });
  // The same buckets with other values in them.
  for (Output& output : copy.outputs) {
    if (!is_group(output) || !rng_.chance(50)) continue;
    const Type type = program_[output.array].type;
    const std::optional<Operator> op = any_operator(type, true);
    if (bucket_operator(output) && op) output.combine.assign(copy.dims.size(), Group{op});
    if (output.value && rng_.chance(50)) output.value = value(type, {});
  }
  return copy;
}

}  // namespace twill
