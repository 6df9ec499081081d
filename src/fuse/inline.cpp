#include "fuse/inline.h"

#include "base/error.h"
#include "fuse/profit.h"
#include "program/affine_of.h"
#include "program/check.h"
#include "program/edit.h"
#include "program/index_use.h"
#include "program/prover.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace twill {

namespace {

/// What is no more than a multiplication is computed again for so many readers of an element.
constexpr std::int64_t most_reads_of_each = 16;

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

/// Where the index of a dimension is found in a subscript of the element that has been written there: rows
/// that lie one behind the other in one dimension are divided out.
struct Digit {
  std::size_t subscript = 0;
  std::int64_t stride = 1;
  std::int64_t extent = 0;  // 0: nothing is left out above it
};

/// By dimension, if the output writes every point of the stage at a place of its own, and all places.
std::optional<std::map<DimId, Digit>> digits_of(const Stage& stage, const Output& output) {
  if (output.guard || output.into || !std::all_of(output.combine.begin(), output.combine.end(), is<Cat>))
    return std::nullopt;
  std::map<DimId, Digit> digits;
  for (std::size_t s = 0; s < output.at.size(); ++s) {
    std::vector<std::pair<std::int64_t, const Dim*>> by_stride;
    for (const Dim& dim : stage.dims) {
      const auto factor = factor_of(output.at[s], dim.id);
      if (!factor || *factor < 0) return std::nullopt;
      if (*factor > 0) by_stride.emplace_back(*factor, &dim);
    }
    std::sort(by_stride.begin(), by_stride.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    const bool is_index = by_stride.size() == 1 && as<IndexRef>(output.at[s]);
    poly::Affine sum;
    std::int64_t stride = 1;
    for (std::size_t k = 0; k < by_stride.size(); ++k) {
      const Dim& dim = *by_stride[k].second;
      const bool outermost = k + 1 == by_stride.size();
      const std::int64_t extent = outermost ? 0 : integer_of(dim.hi).value_or(0);
      if (by_stride[k].first != stride || (!is_index && integer_of(dim.lo) != 0) ||
          (!outermost && (extent <= 0 || stride > (std::int64_t{1} << 30) / extent)) ||
          !digits.emplace(dim.id, Digit{s, stride, extent}).second)
        return std::nullopt;
      sum = sum + poly::Affine(var_of(dim.id)) * stride;
      if (!outermost) stride *= extent;
    }
    const auto affine = affine_of(output.at[s]);
    if (by_stride.empty() || !affine || *affine != sum) return std::nullopt;
  }
  return digits.size() == stage.dims.size() ? std::optional(std::move(digits)) : std::nullopt;
}

/// May a subscript of the producer's array that a boundary rule bends be bent in the producer's own reads
/// instead? If the producer uses the index to read elements of arrays that are as long, and for nothing else.
bool hands_rule_on(const Program& program, const Output& output, std::size_t subscript) {
  if (!as<IndexRef>(output.at[subscript])) return false;
  const DimId index = as<IndexRef>(output.at[subscript])->dim;
  const Expr extent = program[output.array].shape[subscript];
  const auto is_index = [&](Expr e) {
    const auto* ref = as<IndexRef>(e);
    return ref && ref->dim == index;
  };
  bool only_reads = !is_index(output.value);
  visit(output.value, [&](Expr e) {
    const auto* read = as<Read>(e);
    for (std::size_t s = 0; s < e->args.size(); ++s) {
      const bool plain = read && s < read->rules.size() && read->rules[s] == Boundary::Inside &&
                         program[read->array].shape[s] == extent;
      if (is_index(e->args[s]) && !plain) only_reads = false;
    }
  });
  return only_reads;
}

bool bends(Boundary rule) {
  return rule == Boundary::Clamp || rule == Boundary::Mirror || rule == Boundary::Wrap;
}

/// Who finds out that a subscript that nobody has proven is outside of the producer's array, if the producer
/// computes the element where it is read?
enum class Finds : std::uint8_t {
  Read,    // a read of its own, of an array that is as long
  Within,  // the index, where it is used
  Nobody,  // the index may not be used at all
};
Finds who_finds(const Program& program, const Output& output, std::size_t subscript) {
  const Expr place = output.at[subscript], extent = program[output.array].shape[subscript];
  Finds finds = Finds::Nobody;
  visit_surely(output.value, [&](Expr node) {
    const auto* ref = as<IndexRef>(node);
    if (ref && mentions(place, ref->dim) && finds == Finds::Nobody) finds = Finds::Within;
    const auto* read = as<Read>(node);
    for (std::size_t s = 0; read && s < read->rules.size(); ++s) {
      if (node->args[s] == place && read->rules[s] == Boundary::Inside &&
          program[read->array].shape[s] == extent)
        finds = Finds::Read;
    }
  });
  return finds;
}

using Unproven = std::set<std::pair<const Node*, int>>;

/// The value of the element that a read means.
Expr value_at(Program& program, const std::map<DimId, Digit>& digits, const Output& output, Expr node,
              const Unproven& unproven) {
  ExprPool& pool = *program.pool;
  std::vector<Expr> places;
  for (std::size_t k = 0; k < output.at.size(); ++k) {
    const bool checks = unproven.contains({node.get(), static_cast<int>(k)}) &&
                        who_finds(program, output, k) == Finds::Within;
    places.push_back(
        checks ? pool.apply(Prim::Within, {node->args[k], program[output.array].shape[k]}, node->place)
               : node->args[k]);
  }
  const auto& rules = as<Read>(node)->rules;
  const auto found = [&](Expr e) -> const Digit* {
    const auto* index = as<IndexRef>(e);
    const auto digit = index ? digits.find(index->dim) : digits.end();
    return digit == digits.end() ? nullptr : &digit->second;
  };
  const auto place_of = [&](const Digit& digit) {
    Expr place = places[digit.subscript];
    if (digit.stride != 1) place = pool.apply(Prim::Div, {place, pool.integer(digit.stride)});
    if (digit.extent > 0) place = pool.apply(Prim::Mod, {place, pool.integer(digit.extent)});
    return place;
  };
  const std::function<Expr(Expr)> moved = [&](Expr e) {
    return rewrite(*program.pool, e, [&](Expr inner) -> Expr {
      if (const Digit* digit = found(inner)) return place_of(*digit);
      const auto* read = as<Read>(inner);
      if (!read) return {};
      std::vector<Boundary> bent = read->rules;
      std::vector<Expr> subscripts;
      for (std::size_t s = 0; s < bent.size(); ++s) {
        const Digit* digit = found(inner->args[s]);
        if (digit && bends(rules[digit->subscript])) bent[s] = rules[digit->subscript];
        subscripts.push_back(moved(inner->args[s]));
      }
      const Expr fallback = inner->args.size() > bent.size() ? moved(inner->args.back()) : Expr{};
      return program.pool->read(read->array, inner->type, std::move(subscripts), std::move(bent), fallback);
    });
  };
  return moved(output.value);
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
  for (const Output& running : producer.outputs)
    if (is_running(running) && mentions(output.value, running.array))
      return no("not-a-map", array + " goes on with a value from point to point");
  if (!digits_of(producer, output)) return no("not-a-map", array + " is not one value for each point");
  for (const Output& version : consumer.outputs)
    if (version.into == output.array) return no("version", "it makes a new version of " + array);
  for (const Expr node : reads_of(consumer, output.array)) {
    const auto& rules = as<Read>(node)->rules;
    for (std::size_t k = 0; k < rules.size(); ++k)
      if (rules[k] != Boundary::Inside && !(bends(rules[k]) && hands_rule_on(program, output, k)))
        return no("boundary", array + " is read beyond its boundary");
  }
  for (const auto& [node, subscript] : unproven_reads(program, consumer, output.array))
    if (who_finds(program, output, static_cast<std::size_t>(subscript)) == Finds::Nobody)
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

bool reads_few(const Program& program, const Stage& producer, const Output& output, const Stage& consumer,
               std::int64_t times) {
  const std::vector<Expr> reads = reads_of(consumer, output.array);
  // Where neighbours are read from anywhere, one array to go to is better than several.
  for (const Expr node : reads)
    if (!as<Read>(node)->rules.empty() && reads_data(node->args[as<Read>(node)->rules.size() - 1]))
      return false;
  std::int64_t computed = times, read = static_cast<std::int64_t>(reads.size());
  std::vector<Expr> there, here;
  const auto count = [](const Dim& dim, std::int64_t& known, std::vector<Expr>& unknown) {
    const Literal *lo = as<Literal>(dim.lo), *hi = as<Literal>(dim.hi);
    if (!lo || lo->value.i != 0 || !dim.hi || reads_data(dim.hi)) return false;
    if (hi && hi->value.i > 0 && known < (std::int64_t{1} << 30) / hi->value.i)
      known *= hi->value.i;
    else
      unknown.push_back(dim.hi);
    return true;
  };
  for (const Dim& dim : producer.dims)
    if (!count(dim, computed, there)) return false;
  for (const Dim& dim : consumer.dims)
    if (!count(dim, read, here)) return false;
  for (const Expr extent : std::vector<Expr>(here)) {
    const auto same = std::find(there.begin(), there.end(), extent);
    if (same == there.end()) continue;
    there.erase(same);
    here.erase(std::find(here.begin(), here.end(), extent));
  }
  if (there.empty() && here.empty()) return read <= computed;
  if (there.size() != here.size()) return false;
  Prover prover(program);
  const auto are_enough = [&](Expr points, std::int64_t factor, Expr uses, std::int64_t times_used) {
    auto& conditions = prover.conditions();
    return prover.is_non_negative({}, conditions.value(points) * factor -
                                          conditions.value(uses) * times_used) == poly::Answer::Yes;
  };
  if (there.size() == 1) return are_enough(there.front(), computed, here.front(), read);
  // Every second point of several dimensions: for each of them, another one has so many times the points.
  const auto pair = [&](Expr extent) {
    const Apply* apply = as<Apply>(extent);
    const Literal* divisor = apply && apply->prim == Prim::Div ? as<Literal>(extent->args[1]) : nullptr;
    for (const std::int64_t factor : {divisor ? divisor->value.i : 1, std::int64_t{1}}) {
      if (factor < 1 || computed > (std::int64_t{1} << 30) / factor) continue;
      const auto enough =
          std::ranges::find_if(there, [&](Expr points) { return are_enough(points, 1, extent, factor); });
      if (enough == there.end()) continue;
      computed *= factor;
      there.erase(enough);
      return true;
    }
    return false;
  };
  return std::ranges::all_of(here, pair) && read <= computed;
}

bool is_as_quick_as_reading(Program& program, const Stage& producer, const Output& output,
                            const Stage& consumer) {
  if (operations_of(producer) > 1 || !reads_few(program, producer, output, consumer, most_reads_of_each))
    return false;
  const auto reads = [](const Stage& stage) {
    std::set<const Node*> found;
    for_each_expr(stage, [&](Expr root) {
      visit(root, [&](Expr node) {
        if (const auto* read = as<Read>(node); read && !read->rules.empty()) found.insert(node.get());
      });
    });
    return found.size();
  };
  Stage again = consumer;
  inline_reads(program, producer, output, again);
  return reads(again) <= reads(consumer);
}

void inline_reads(Program& program, const Stage& producer, const Output& output, Stage& consumer) {
  ExprPool& pool = *program.pool;
  std::map<const Node*, Expr> values;
  const std::vector<Expr> nodes = reads_of(consumer, output.array);
  if (nodes.empty()) return;
  const auto digits = digits_of(producer, output);
  ensure(digits.has_value(), "inline_reads: the elements of the array have places of their own");
  const Unproven unproven = unproven_reads(program, consumer, output.array);
  for (const Expr node : nodes) {
    values[node.get()] =
        pool.cast(program[output.array].type, value_at(program, *digits, output, node, unproven));
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

bool is_chosen_from(const Region& region, const UseTable& uses, int position) {
  const auto chooses = [&](const Output& output) {
    return std::any_of(output.combine.begin(), output.combine.end(), [&](const Combine& combine) {
      const Operator* op = operator_of(combine);
      return op && op->prim != Prim::Add && op->prim != Prim::Mul;
    });
  };
  for (const Output& output : region.stages[static_cast<std::size_t>(position)].outputs) {
    if (region.program[output.array].type.is_integer()) continue;
    for (const int reader : uses.readers(output.array)) {
      const std::vector<Output>& outputs = region.stages[static_cast<std::size_t>(reader)].outputs;
      if (std::any_of(outputs.begin(), outputs.end(), chooses)) return true;
    }
  }
  return false;
}

Reason recomputed(const Stage& stage) {
  return {"recomputed",
          {stage.name},
          "'" + stage.name +
              "' is computed again where it is read: that costs less than to write it and to read it back",
          stage.place};
}

void recompute(Region& region, const UseTable& uses, int position) {
  Stage stage = std::exchange(region.stages[static_cast<std::size_t>(position)], Stage{});
  for (const Output& output : stage.outputs)
    for (const int reader : uses.readers(output.array))
      inline_reads(region.program, stage, output, region.stages[static_cast<std::size_t>(reader)]);
}

}  // namespace twill
