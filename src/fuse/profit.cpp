#include "fuse/profit.h"

#include "program/regroup.h"

#include <algorithm>

namespace twill {

bool has_hint(const Stage& stage, Hint hint) {
  return std::find(stage.hints.begin(), stage.hints.end(), hint) != stage.hints.end();
}

int operations_of(const Stage& stage) {
  int count = 0;
  for_each_expr(stage, [&](Expr root) {
    visit(root, [&](Expr node) {
      const auto* apply = as<Apply>(node);
      if (as<Invoke>(node) || (apply && info(apply->prim).prim_class == PrimClass::Function))
        count += cheap_operations;
      else if (apply)
        ++count;
    });
  });
  return count;
}

bool runs_in_order(const Program& program, const Stage& stage) {
  if (!stage.effects.empty()) return true;
  return std::any_of(stage.outputs.begin(), stage.outputs.end(), [&](const Output& output) {
    const bool one_result = !output.combine.empty() && !is<Cat>(output.combine.front());
    return std::any_of(output.combine.begin(), output.combine.end(), [&](const Combine& combine) {
      if (is<Seq>(combine) || is<Group>(combine)) return true;
      const auto* scatter = std::get_if<Scatter>(&combine);
      if (scatter && !scatter->op) return true;
      const auto* fold = std::get_if<Fold>(&combine);
      const auto* scan = std::get_if<Scan>(&combine);
      const Operator* op = fold ? &fold->op : scan ? &scan->op : scatter ? &*scatter->op : nullptr;
      // Floats keep their order where the program is strict; rows of them still run side by side.
      return op && one_result && !regroups(program, *op);
    });
  });
}

std::optional<Reason> why_worse(const Program& program, const Stage& producer, int operations,
                                const Stage& consumer) {
  const auto no = [&](std::string code, const std::string& why) {
    return Reason{std::move(code),
                  {producer.name, consumer.name},
                  "'" + producer.name + "' is not part of '" + consumer.name + "': " + why,
                  consumer.place};
  };
  const bool always = has_hint(producer, Hint::Always) || has_hint(consumer, Hint::Always);
  if (always || operations <= cheap_operations) return std::nullopt;
  if (runs_in_order(program, consumer) && !runs_in_order(program, producer))
    return no("parallelism", "'" + consumer.name + "' runs in order, and it does not have to");
  if (any_is<Scan>(consumer))
    return no("twice", "'" + consumer.name + "' would compute its values in both of its passes");
  for (const Output& output : consumer.outputs) {
    if (output.combine.empty() || !is<Append>(output.combine.back()) || !output.guard) continue;
    bool asks = false;
    visit(output.guard, [&](Expr node) {
      const auto* read = as<Read>(node);
      asks = asks || (read && std::any_of(producer.outputs.begin(), producer.outputs.end(),
                                          [&](const Output& o) { return o.array == read->array; }));
    });
    if (asks) return no("twice", "'" + consumer.name + "' would compute its condition in both of its passes");
  }
  return std::nullopt;
}

}  // namespace twill
