#include "fuse/profit.h"

#include "fuse/direction.h"
#include "fuse/share.h"
#include "program/index_use.h"
#include "program/regroup.h"

#include <algorithm>
#include <array>

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
      if (is<Seq>(combine)) return true;
      const auto* scatter = std::get_if<Scatter>(&combine);
      if (scatter && !scatter->op) return true;
      const Operator* op = operator_of(combine);
      // Floats keep their order where the program is strict; rows of them still run side by side.
      return op && one_result && !regroups(program, *op);
    });
  });
}

namespace {

/// More operations than these are worth lanes.
constexpr int few_operations = 2;

/// An array of narrow elements whose subscripts in the consumer need the producer's values: lanes cannot go
/// to places of their own for elements of less than four bytes.
std::optional<ArrayId> looked_up_with(const Program& program, const Stage& producer, const Stage& consumer) {
  std::optional<ArrayId> found;
  for_each_expr(consumer, [&](Expr root) {
    visit(root, [&](Expr node) {
      const auto* table = as<Read>(node);
      if (!table || byte_size(program[table->array].type) >= 4) return;
      for (std::size_t s = 0; s < table->rules.size(); ++s)
        visit(node->args[s], [&](Expr inner) {
          const auto* read = as<Read>(inner);
          if (read && std::any_of(producer.outputs.begin(), producer.outputs.end(),
                                  [&](const Output& output) { return output.array == read->array; }))
            found = table->array;
        });
    });
  });
  return found;
}

/// Does it call functions of the library, which take one number at a time?
bool calls_library(const Program& program, Expr root) {
  bool found = false;
  visit(root, [&](Expr node) {
    const auto* apply = as<Apply>(node);
    const auto* invoke = as<Invoke>(node);
    found = found || (apply && is_library_function(apply->prim));
    if (invoke) found = found || calls_library(program, program[invoke->function].body);
  });
  return found;
}

}  // namespace

bool is_for_lanes(const Program& program, const Stage& stage, int operations) {
  if (operations <= cheap_operations || !std::holds_alternative<Formula>(stage.body) ||
      takes_single_points(stage))
    return false;
  bool calls = false;
  for_each_expr(stage, [&](Expr root) { calls = calls || calls_library(program, root); });
  return !calls && !runs_in_order(program, stage);
}

bool takes_single_points(const Stage& stage) {
  return std::ranges::any_of(stage.outputs, [](const Output& output) {
    return !output.combine.empty() && (is<Append>(output.combine.back()) || is<Group>(output.combine.back()));
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
  if (has_hint(producer, Hint::Always) || has_hint(consumer, Hint::Always)) return std::nullopt;
  if (const auto table =
          operations > few_operations ? looked_up_with(program, producer, consumer) : std::nullopt)
    return no("lanes", "lanes do not look up elements of '" + program[*table].name + "', which are so small");
  if (operations <= cheap_operations) return std::nullopt;
  if (runs_in_order(program, consumer) && !runs_in_order(program, producer))
    return no("parallelism", "'" + consumer.name + "' runs in order, and it does not have to");
  if (any_is<Scan>(consumer))
    return no("twice", "'" + consumer.name + "' would compute its values in both of its passes");
  if (takes_single_points(consumer) && is_for_lanes(program, producer, operations))
    return no("lanes",
              "'" + consumer.name + "' takes one point after the other, and it many at once, in lanes");
  for (const Output& output : consumer.outputs) {
    // Without rows, it need not count before it writes (plan/growing.h).
    if (output.combine.empty() || !is<Append>(output.combine.back()) || !output.guard || !output.offsets)
      continue;
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

namespace {

/// Arrays with so many elements, known in advance, stay where they are quickly read.
constexpr std::int64_t small_array = 256;

/// Folds over so many points, known in advance, are written out.
constexpr std::int64_t small_fold = 16;

bool is_small(const Array& array) {
  std::int64_t elements = 1;
  for (const Expr extent : array.shape) {
    const auto* literal = as<Literal>(extent);
    if (!literal || literal->value.i > small_array) return false;
    elements *= std::max<std::int64_t>(1, literal->value.i);
  }
  return elements <= small_array;
}

/// Does the stage fold with something that is the same for all iterations of its outermost loop? It is loaded
/// once for several of them, if the stage has that loop for itself.
bool reuses_across(const Program& program, const Stage& stage) {
  const bool folds = std::any_of(stage.outputs.begin(), stage.outputs.end(), [](const Output& output) {
    return is<Cat>(output.combine.front()) &&
           std::any_of(output.combine.begin(), output.combine.end(), is<Fold>);
  });
  if (!folds) return false;
  // An index whose range depends on the outermost one moves with it.
  const DimId outermost = stage.dims.front().id;
  const auto moves = [&](Expr node) {
    return mentions(node, outermost) ||
           std::any_of(stage.dims.begin() + 1, stage.dims.end(), [&](const Dim& dim) {
             return mentions(node, dim.id) && (mentions(dim.lo, outermost) || mentions(dim.hi, outermost));
           });
  };
  bool found = false;
  for_each_expr(stage, [&](Expr root) {
    visit(root, [&](Expr node) {
      const auto* read = as<Read>(node);
      if (!read || read->rules.empty() || moves(node) || is_small(program[read->array])) return;
      found = found || std::any_of(stage.dims.begin() + 1, stage.dims.end(),
                                   [&](const Dim& dim) { return mentions(node, dim.id); });
    });
  });
  return found;
}

}  // namespace

namespace {

/// Loops with fewer points than these, all known, do not keep workers busy.
constexpr std::int64_t few_points = 16;

/// The outermost dimension, if the two share only so few points that one of them would lose a dimension that
/// could run in parallel.
std::optional<std::string> too_short_to_share(const Program& program, const Stage& first,
                                              const Stage& second) {
  const std::array stages = {&first, &second};
  const auto depth = static_cast<std::size_t>(most_shared(program, stages));
  if (depth == 0) return std::nullopt;
  std::int64_t points = 1;
  for (std::size_t d = 0; d < depth; ++d) {
    const Literal* extent = as<Literal>(first.dims[d].hi);
    if (!extent || (points *= std::max<std::int64_t>(extent->value.i, 1)) >= few_points) return std::nullopt;
  }
  const bool loses = std::any_of(stages.begin(), stages.end(), [&](const Stage* stage) {
    return !runs_in_order(program, *stage) && !stage->outputs.empty() && stage->dims.size() > depth &&
           !as<Literal>(stage->dims[depth].hi) &&
           std::all_of(stage->outputs.begin(), stage->outputs.end(),
                       [&](const Output& output) { return is<Cat>(output.combine[depth]); });
  });
  return loses ? std::optional(first.dims.front().name) : std::nullopt;
}

}  // namespace

bool is_product(const Program& program, const Stage& stage) {
  if (!std::holds_alternative<Formula>(stage.body) || stage.outputs.empty()) return false;
  const auto is_long = [](const Dim& dim) {
    const Literal* extent = as<Literal>(dim.hi);
    return !extent || extent->value.i > small_fold;
  };
  bool folds = false, all_reused = true;
  for (const Output& output : stage.outputs) {
    for (std::size_t d = 0; d < stage.dims.size(); ++d) {
      if (!is<Fold>(output.combine[d]) || !is_long(stage.dims[d])) continue;
      visit(output.value, [&](Expr node) {
        const Read* read = as<Read>(node);
        if (!read || read->rules.empty() || !mentions(node, stage.dims[d].id) ||
            is_small(program[read->array]))
          return;
        folds = true;
        bool reused = false;
        for (std::size_t e = 0; e < stage.dims.size(); ++e)
          reused = reused || (is<Cat>(output.combine[e]) && is_long(stage.dims[e]) &&
                              !mentions(node, stage.dims[e].id));
        all_reused = all_reused && reused;
      });
    }
  }
  return folds && all_reused;
}

std::optional<Reason> why_worse_to_share(const Program& program, const Stage& first, const Stage& second) {
  const auto no = [&](std::string code, const std::string& why) {
    return Reason{std::move(code),
                  {first.name, second.name},
                  "'" + first.name + "' and '" + second.name + "' share no loop: " + why,
                  second.place};
  };
  if (has_hint(first, Hint::Always) || has_hint(second, Hint::Always)) return std::nullopt;
  for (const Stage* stage : {&first, &second}) {
    if (reuses_across(program, *stage))
      return no("reuse", "'" + stage->name + "' uses what it reads for several '" + stage->dims.front().name +
                             "' at once");
  }
  if (const auto dim = too_short_to_share(program, first, second))
    return no("short", "the loop over '" + *dim + "' is too short to be all that runs in parallel");
  const std::array stages = {&first, &second};
  const int depth = most_shared(program, stages);
  for (const Stage* stage : stages) {
    if (depth == 1 && jumps_inside(*stage, depth))
      return no("jumps", "in an iteration over '" + stage->dims.front().name + "' alone, '" + stage->name +
                             "' would jump through memory");
  }
  const bool twice = std::any_of(second.outputs.begin(), second.outputs.end(), [](const Output& output) {
    return is<Scan>(output.combine.front()) || (is<Append>(output.combine.back()) && output.offsets);
  });
  const bool reads_first = std::any_of(first.outputs.begin(), first.outputs.end(),
                                       [&](const Output& output) { return reads(second, output.array); });
  if (reads_first && takes_single_points(second) && static_cast<int>(first.dims.size()) == depth &&
      is_for_lanes(program, first, operations_of(first)))
    return no("lanes", "'" + second.name + "' takes one point after the other, and '" + first.name +
                           "' many at once, in lanes");
  if (twice && reads_first && (first.dims.size() > 1 || operations_of(first) > cheap_operations))
    return no("twice", "'" + second.name + "' would compute '" + first.name + "' in both of its passes");
  return std::nullopt;
}

}  // namespace twill
