#include "simplify/lost_sizes.h"

#include "program/edit.h"

#include <algorithm>

namespace twill {

namespace {

bool mentions(Expr root, SymbolId size) {
  bool found = false;
  visit(root, [&](Expr node) {
    const auto* symbol = as<SizeRef>(node);
    found = found || (symbol && symbol->symbol == size);
  });
  return found;
}

/// Does the stage use the size only as a number: in values, and where a range that starts at zero ends?
/// Proofs do not know that a number which was computed is not negative, or that it is the length of an array.
bool is_number_in(const Program& program, const Stage& stage, SymbolId size,
                  const std::function<Expr(Expr)>& seen) {
  bool number = true;
  for_each_stage({&stage, 1}, [&](const Stage& inner) {
    for (const Dim& dim : inner.dims)
      number = number && !mentions(seen(dim.lo), size) &&
               ((as<SizeRef>(seen(dim.hi)) && integer_of(dim.lo) == 0) || !mentions(seen(dim.hi), size));
    for (const Output& output : inner.outputs) {
      for (const Expr at : output.at) number = number && !mentions(seen(at), size);
      for (const ArrayId array : defined_arrays(output))
        for (const Expr extent : program[array].shape) number = number && !mentions(seen(extent), size);
    }
    for_each_expr(inner, [&](Expr root) {
      visit(root, [&](Expr node) {
        const auto* read = as<Read>(node);
        for (std::size_t k = 0; read && k < read->rules.size(); ++k)
          number = number && !mentions(seen(node->args[k]), size);
      });
    });
  });
  return number;
}

}  // namespace

std::optional<LostSizes> lost_sizes(const Region& region, const UseTable& uses, const Stage& after,
                                    const std::set<int>& positions) {
  const Program& program = region.program;
  LostSizes lost;
  std::vector<ChosenSize> before;
  std::set<ArrayId> made;  // by the stage that becomes part of the choice
  for (const int position : positions) {
    const Stage& stage = region.stages[static_cast<std::size_t>(position)];
    const std::vector<ChosenSize> born = chosen_sizes(program, stage);
    before.insert(before.end(), born.begin(), born.end());
    if (!std::holds_alternative<Branch>(stage.body))
      for (const Output& output : stage.outputs)
        for (const ArrayId array : defined_arrays(output)) made.insert(array);
  }
  const std::vector<ChosenSize> left = chosen_sizes(program, after);
  const auto knows = [&](SymbolId size, std::size_t output) {
    return std::ranges::any_of(
        left, [&](const ChosenSize& one) { return one.size == size && one.output <= output; });
  };
  for (std::size_t o = 0; o < after.outputs.size(); ++o)
    for (const Expr extent : program[after.outputs[o].array].shape) {
      const bool unknown = std::ranges::any_of(
          before, [&](const ChosenSize& one) { return mentions(extent, one.size) && !knows(one.size, o); });
      if (!unknown) continue;
      if (!made.contains(after.outputs[o].array) || reads_data(extent)) return std::nullopt;
      if (std::ranges::find(lost.extents, extent) == lost.extents.end()) lost.extents.push_back(extent);
    }
  const auto seen = [&](Expr root) {
    if (lost.extents.empty() || !root) return root;
    return rewrite(*program.pool, root, [&](Expr node) -> Expr {
      const bool is_one = std::ranges::find(lost.extents, node) != lost.extents.end();
      return is_one ? program.pool->integer(0) : Expr{};
    });
  };
  for (const ChosenSize& one : before) {
    if (knows(one.size, after.outputs.size())) continue;
    bool needed = false;
    for (const int user : uses.users(one.size)) {
      if (positions.contains(user)) continue;
      const Stage& stage = region.stages[static_cast<std::size_t>(user)];
      if (!is_number_in(program, stage, one.size, seen)) return std::nullopt;
      for_each_stage({&stage, 1}, [&](const Stage& inner) {
        for_each_expr(inner, [&](Expr root) { needed = needed || mentions(seen(root), one.size); });
      });
    }
    if (uses.is_held(one.size)) return std::nullopt;
    if (needed) lost.counts.push_back(one);
  }
  return lost;
}

void say_lost_sizes(Region& region, const LostSizes& lost, const Stage& before, Stage& after,
                    NewNames& names) {
  if (lost.empty()) return;
  Program& program = region.program;
  ExprPool& pool = *program.pool;
  std::map<const Node*, Expr> instead;
  for (const Expr extent : lost.extents) {
    const auto owner = std::ranges::find_if(after.outputs, [&](const Output& output) {
      return std::ranges::find(program[output.array].shape, extent) != program[output.array].shape.end();
    });
    instead[extent.get()] =
        pool.size(program.add_symbol(names.like(program[owner->array].name + "_len"), Symbol::Origin::Born));
  }
  const Branch branch = std::get<Branch>(after.body);
  Block blocks[] = {*branch.then, *branch.otherwise};
  for (const ChosenSize& one : lost.counts) {
    const std::string name = program[before.outputs[one.output].array].name + "_count";
    const auto add = [&](const std::string& wish) {
      return program.add_array(names.like(wish), Scalar::I64, {}, before.place);
    };
    const ArrayId number = add(name);
    for (const bool then : {true, false}) {
      const Expr size = then ? one.then : one.otherwise;
      const ArrayId own = add(name + (then ? "_then" : "_else"));
      Block& block = blocks[then ? 0 : 1];
      block.stages.push_back(defined_by(
          program, names, names.stage_like(program[own].name), own,
          [&](const std::vector<Expr>&) {
            return is_count(size) ? size : pool.apply(Prim::Max, {size, pool.integer(0)});
          },
          before.place));
      block.results.push_back(own);
    }
    Output output;
    output.array = number;
    output.place = before.place;
    after.outputs.push_back(std::move(output));
    instead[pool.size(one.size).get()] = pool.read(number, Scalar::I64, {});
  }
  after.body = Branch{branch.condition, std::make_shared<const Block>(std::move(blocks[0])),
                      std::make_shared<const Block>(std::move(blocks[1]))};
  // In one step: an extent may mention a size that is counted elsewhere.
  const auto replace = [&](Expr root) {
    for (const Expr extent : lost.extents)
      root =
          rewrite(pool, root, [&](Expr node) { return node == extent ? instead.at(extent.get()) : Expr{}; });
    return rewrite(pool, root, [&](Expr node) {
      const auto found = as<SizeRef>(node) ? instead.find(node.get()) : instead.end();
      return found == instead.end() ? Expr{} : found->second;
    });
  };
  edit_stages(region.stages,
              [&](Stage& stage) { for_each_slot(stage, [&](Expr& slot) { slot = replace(slot); }); });
  for (Array& array : program.arrays)
    for (Expr& extent : array.shape) extent = replace(extent);
}

}  // namespace twill
