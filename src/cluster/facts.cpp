#include "cluster/facts.h"

#include "cluster/builder.h"
#include "fuse/share.h"
#include "program/affine_of.h"
#include "program/index_use.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace twill {

namespace {

constexpr std::array demand_names = {"identity", "shifted", "halo", "strided", "whole", "indexed", "opaque"};

/// How one subscript moves with the points of the reader.
struct Subscript {
  Demand demand = Demand::Whole;
  std::optional<Reach> reach = {};
};

/// Is the dimension one that every output has an element for?
bool is_kept(const Stage& stage, std::size_t d) {
  return std::ranges::all_of(stage.outputs, [&](const Output& output) {
    return !is<Fold>(output.combine[d]) && !is<Scatter>(output.combine[d]) && !is<Group>(output.combine[d]);
  });
}

Subscript subscript_of(const Stage& reader, Expr e) {
  if (reads_data(e)) return {Demand::Indexed};
  const auto affine = affine_of(e);
  if (!affine) return {Demand::Indexed};
  std::int64_t lo = affine->constant(), hi = affine->constant();
  bool moves = false, strided = false, whole = false;
  for (std::size_t d = 0; d < reader.dims.size(); ++d) {
    const poly::Var index = var_of(reader.dims[d].id);
    if (!affine->mentions(index)) continue;
    const std::int64_t factor = affine->factor_of(index);
    if (is_kept(reader, d)) {
      strided = strided || moves || factor != 1;
      moves = true;
      continue;
    }
    // A window of known size, or all that is folded.
    const auto from = integer_of(reader.dims[d].lo), to = integer_of(reader.dims[d].hi);
    if (!from || !to || factor == 0) {
      whole = true;
      continue;
    }
    const std::int64_t last = std::max(*from, *to - 1);
    lo += std::min(factor * *from, factor * last);
    hi += std::max(factor * *from, factor * last);
  }
  if (whole || !moves) return {Demand::Whole};
  // A distance that only sizes tell.
  strided = strided || affine->mentions(poly::Var::Kind::Size) || affine->mentions(poly::Var::Kind::Term);
  if (strided) return {Demand::Strided};
  const Reach reach{std::max<std::int64_t>(0, -lo), std::max<std::int64_t>(0, hi)};
  if (lo == 0 && hi == 0) return {Demand::Identity, reach};
  return {lo == hi ? Demand::Shifted : Demand::Halo, reach};
}

void add_demand(EdgeFacts& facts, const Program& program, const Stage& reader) {
  std::vector<std::optional<Subscript>> all(program[facts.array].shape.size());
  bool found = false;
  for_each_expr(reader, [&](Expr root) {
    visit(root, [&](Expr node) {
      const auto* read = as<Read>(node);
      if (!read || read->array != facts.array) return;
      found = true;
      for (std::size_t k = 0; k < read->rules.size(); ++k) {
        const Subscript own = subscript_of(reader, node->args[k]);
        if (!all[k]) {
          all[k] = own;
          continue;
        }
        Subscript& known = *all[k];
        const bool differs = known.reach != own.reach;
        known.demand = std::max(known.demand, own.demand);
        if (known.reach && own.reach)
          known.reach = Reach{std::max(known.reach->before, own.reach->before),
                              std::max(known.reach->after, own.reach->after)};
        else
          known.reach.reset();
        if (differs && known.reach) known.demand = std::max(known.demand, Demand::Halo);
      }
    });
  });
  facts.demand = all.empty() && found ? Demand::Whole : Demand::Identity;
  for (const auto& subscript : all) {
    facts.demand = std::max(facts.demand, subscript ? subscript->demand : Demand::Whole);
    facts.reach.push_back(subscript ? subscript->reach : std::nullopt);
  }
}

}  // namespace

std::string_view name_of(Demand demand) { return demand_names[static_cast<std::size_t>(demand)]; }

std::optional<double> EdgeFacts::again(std::int64_t points_along_each) const {
  double all = 1;
  for (const auto& along : reach) {
    if (!along) return std::nullopt;
    const auto points = static_cast<double>(points_along_each);
    all *= (points + static_cast<double>(along->before + along->after)) / points;
  }
  return reach.empty() ? std::nullopt : std::optional(all - 1);
}

std::vector<EdgeFacts> facts_of(Region& region, const KnownSizes& known) {
  Clustering nothing;
  ClusterBuilder builder(region, {.many_arrays = true, .gathers = true}, nothing);
  const Joiner joiner(region);
  const Guess guess(region.program, known);
  std::map<ArrayId, std::set<int>> in_blocks;  // who reads it in a block
  for (std::size_t s = 0; s < region.stages.size(); ++s)
    if (!std::holds_alternative<Formula>(region.stages[s].body))
      for (const ArrayId array : reads_of(region.program, region.stages[s]))
        in_blocks[array].insert(static_cast<int>(s));
  std::vector<EdgeFacts> all;
  for (int maker = 0; maker < static_cast<int>(region.stages.size()); ++maker) {
    const Stage& made_by = region.stages[static_cast<std::size_t>(maker)];
    for (const Output& output : made_by.outputs)
      for (const ArrayId array : defined_arrays(output)) {
        std::set<int> readers = builder.uses().readers(array);
        readers.merge(in_blocks[array]);
        for (const int reader : readers) {
          if (reader <= maker) continue;
          const Stage& read_by = region.stages[static_cast<std::size_t>(reader)];
          const Array& what = region.program[array];
          EdgeFacts facts{maker, reader, array, Demand::Opaque, guess.bytes(what), guess.knows(what),
                          {},    0,      {}};
          if (std::holds_alternative<Formula>(read_by.body)) {
            add_demand(facts, region.program, read_by);
            const std::array pair = {&made_by, &read_by};
            facts.depth = most_shared(region.program, pair);
          }
          facts.why = builder.why_apart(maker, reader);
          // Why two are not one says more than that they have no outer loops to share instead.
          if (facts.why && facts.why->code == "scalar")
            if (auto not_one = joiner.why_not(maker, reader)) facts.why = std::move(not_one);
          all.push_back(std::move(facts));
        }
      }
  }
  return all;
}

}  // namespace twill
