#include "fuse/inline.h"

#include "fuse/profit.h"
#include "program/check.h"
#include "program/edit.h"
#include "program/index_use.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace twill {

namespace {

std::vector<Expr> reads_of(const Stage& stage, ArrayId array) {
  std::vector<Expr> found;
  std::set<const Node*> seen;
  for_each_expr(stage, [&](Expr root) {
    visit(root, [&](Expr node) {
      const auto* read = as<Read>(node);
      if (read && read->array == array && seen.insert(node.get()).second) found.push_back(node);
    });
  });
  return found;
}

/// Does the output write every point of the stage at the point's own place?
bool is_map(const Stage& stage, const Output& output) {
  if (output.guard || output.into || output.at.size() != stage.dims.size()) return false;
  if (!std::all_of(output.combine.begin(), output.combine.end(), is<Cat>)) return false;
  std::set<DimId> used;
  return std::all_of(output.at.begin(), output.at.end(), [&](Expr at) {
    const auto* index = as<IndexRef>(at);
    return index && used.insert(index->dim).second;
  });
}

}  // namespace

std::optional<Reason> why_not_inline(const Program& program, const Stage& producer, const Output& output,
                                     const Stage& consumer) {
  const std::string array = "'" + program[output.array].name + "'";
  const auto no = [&](std::string code, const std::string& why) {
    return Reason{std::move(code),
                  {producer.name, consumer.name},
                  "'" + producer.name + "' is not computed inside of '" + consumer.name + "': " + why,
                  consumer.place};
  };
  for (const Stage* stage : {&producer, &consumer}) {
    if (has_hint(*stage, Hint::Never)) return no("never", "'" + stage->name + "' says never");
    if (!std::holds_alternative<Formula>(stage->body)) return no("block", "'" + stage->name + "' is a block");
  }
  if (output.force) return no("forced", array + " is forced");
  if (!is_map(producer, output)) return no("not-a-map", array + " is not one value for each point");
  for (const Output& version : consumer.outputs)
    if (version.into == output.array) return no("version", "it makes a new version of " + array);
  for (const Expr node : reads_of(consumer, output.array)) {
    const auto& rules = as<Read>(node)->rules;
    if (std::any_of(rules.begin(), rules.end(), [](Boundary rule) { return rule != Boundary::Inside; }))
      return no("boundary", array + " is read beyond its boundary");
  }
  if (!reads_inside(program, consumer, output.array))
    return no("outside", "nobody knows before it runs that " + array + " has what is read of it");
  return std::nullopt;
}

bool reads_each_once(const Stage& consumer, ArrayId array) {
  const std::vector<Expr> reads = reads_of(consumer, array);
  if (reads.size() != 1) return false;
  std::set<DimId> moved;
  for (const Expr subscript : reads.front()->args) {
    std::size_t found = 0;
    for (const Dim& dim : consumer.dims) {
      const std::optional<std::int64_t> factor = factor_of(subscript, dim.id);
      if (!factor) return false;
      if (*factor == 0) continue;
      ++found;
      moved.insert(dim.id);
    }
    if (found > 1) return false;
  }
  return moved.size() == consumer.dims.size();
}

void inline_reads(Program& program, const Output& output, Stage& consumer) {
  ExprPool& pool = *program.pool;
  std::map<const Node*, Expr> values;
  for (const Expr node : reads_of(consumer, output.array)) {
    std::map<DimId, Expr> at;
    for (std::size_t k = 0; k < output.at.size(); ++k) at[as<IndexRef>(output.at[k])->dim] = node->args[k];
    const Expr value = rewrite(pool, output.value, [&](Expr inner) {
      const auto* index = as<IndexRef>(inner);
      const auto found = index ? at.find(index->dim) : at.end();
      return found == at.end() ? Expr{} : found->second;
    });
    values[node.get()] = pool.cast(program[output.array].type, value);
  }
  // A read may be a subscript of another one: the innermost ones first, until none is left.
  const auto replace = [&](Expr node) {
    const auto found = values.find(node.get());
    return found == values.end() ? Expr{} : found->second;
  };
  for_each_slot(consumer, [&](Expr& slot) {
    while (true) {
      const Expr next = rewrite(pool, slot, replace);
      if (next == slot) break;
      slot = next;
    }
  });
}

std::optional<Reason> why_not_recompute(const Region& region, const UseTable& uses, int position) {
  const auto& stages = region.stages;
  const Stage& stage = stages[static_cast<std::size_t>(position)];
  const auto no = [&](std::string code, const std::string& why) {
    return Reason{std::move(code), {stage.name}, why, stage.place};
  };
  if (!std::holds_alternative<Formula>(stage.body)) return no("block", "it is a block");
  if (has_effects(stage)) return no("effect", "it has effects of its own");
  if (!lengths_born_in(region.program, stage).empty()) return no("length", "it fills a collection");
  if (stage.outputs.empty()) return no("no-output", "it makes nothing");
  for (const Output& output : stage.outputs) {
    const std::string array = "'" + region.program[output.array].name + "'";
    if (uses.is_held(output.array)) return no("held", array + " has to be in memory");
    for (const int reader : uses.readers(output.array))
      if (auto reason =
              why_not_inline(region.program, stage, output, stages[static_cast<std::size_t>(reader)]))
        return reason;
  }
  return std::nullopt;
}

void recompute(Region& region, const UseTable& uses, int position) {
  Stage stage = std::exchange(region.stages[static_cast<std::size_t>(position)], Stage{});
  for (const Output& output : stage.outputs)
    for (const int reader : uses.readers(output.array))
      inline_reads(region.program, output, region.stages[static_cast<std::size_t>(reader)]);
}

}  // namespace twill
