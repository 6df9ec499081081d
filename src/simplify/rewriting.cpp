#include "simplify/rewriting.h"

#include "fuse/join.h"
#include "fuse/region.h"
#include "program/edit.h"

#include <algorithm>
#include <unordered_set>

namespace twill {

void edit_lists(Program& program, const std::function<void(std::vector<Stage>&, bool nested)>& action) {
  action(program.stages, false);
  edit_blocks(program.stages, [&](const Stage&, int, Block& block) { action(block.stages, true); });
}

void replace_everywhere(Program& program, const std::function<Expr(Expr)>& replace) {
  ExprPool& pool = *program.pool;
  edit_stages(program.stages, [&](Stage& stage) {
    for_each_slot(stage, [&](Expr& slot) { slot = rewrite(pool, slot, replace); });
  });
  for (Array& array : program.arrays)
    for (Expr& extent : array.shape) extent = rewrite(pool, extent, replace);
}

void replace_in(ExprPool& pool, Stage& stage, const std::function<Expr(Expr)>& replace) {
  std::vector<Stage> alone;
  alone.push_back(std::move(stage));
  edit_stages(alone, [&](Stage& inner) {
    for_each_slot(inner, [&](Expr& slot) { slot = rewrite(pool, slot, replace); });
  });
  stage = std::move(alone.front());
}

Expr Rewriter::operator()(Expr root) {
  if (!root) return root;
  std::vector<Expr> waiting = {root};
  while (!waiting.empty()) {
    const Expr node = waiting.back();
    if (done_.contains(node.get())) {
      waiting.pop_back();
      continue;
    }
    std::vector<Expr> args;
    for (const Expr arg : node->args) {
      const auto found = done_.find(arg.get());
      if (found == done_.end())
        waiting.push_back(arg);
      else
        args.push_back(found->second);
    }
    if (args.size() < node->args.size()) continue;
    waiting.pop_back();
    const Expr built = pool_.with_args(node, args);
    const bool is_operand = built->kind.index() != node->kind.index() || built->args != args;
    done_.emplace(node.get(), is_operand ? built : step_(built));
  }
  return done_.at(root.get());
}

Expr Renaming::of(ExprPool& pool, Expr node) const {
  if (const auto* size = as<SizeRef>(node)) return pool.size(of(size->symbol), node->place);
  const auto* read = as<Read>(node);
  if (!read || of(read->array) == read->array) return node;
  std::vector<Expr> subscripts(node->args.begin(),
                               node->args.begin() + static_cast<std::ptrdiff_t>(read->rules.size()));
  const Expr fallback = node->args.size() > subscripts.size() ? node->args.back() : Expr{};
  return pool.read(of(read->array), node->type, std::move(subscripts), read->rules, fallback, node->place);
}

void rename_in(ExprPool& pool, std::vector<Stage>& stages, const Renaming& renaming) {
  Rewriter rewriter(pool, [&](Expr node) { return renaming.of(pool, node); });
  edit_stages(stages, [&](Stage& stage) {
    for_each_slot(stage, [&](Expr& slot) { slot = rewriter(slot); });
    for (Output& output : stage.outputs)
      if (output.into) output.into = renaming.of(*output.into);
  });
  edit_blocks(stages, [&](const Stage&, int, Block& block) {
    for (Carry& carry : block.carries) carry.init = renaming.of(carry.init);
    for (ArrayId& result : block.results) result = renaming.of(result);
  });
}

void rename_reads(Program& program, std::vector<Stage>& stages, const Renaming& renaming) {
  rename_in(*program.pool, stages, renaming);
  Rewriter rewriter(*program.pool, [&](Expr node) { return renaming.of(*program.pool, node); });
  for (Array& array : program.arrays)
    for (Expr& extent : array.shape) extent = rewriter(extent);
}

void add_needs(const Program& program, const Stage& stage, std::set<ArrayId>& arrays,
               std::set<SymbolId>& sizes) {
  const auto look = [&](Expr root) {
    visit(root, [&](Expr node) {
      if (const auto* size = as<SizeRef>(node)) sizes.insert(size->symbol);
    });
  };
  for (const ArrayId array : reads_of(program, stage)) arrays.insert(array);
  for_each_stage({&stage, 1}, [&](const Stage& inner) {
    for_each_expr(inner, look);
    for (const Output& output : inner.outputs)
      for (const ArrayId array : defined_arrays(output))
        for (const Expr extent : program[array].shape) look(extent);
  });
}

std::optional<std::size_t> bring_before(const Program& program, std::vector<Stage>& stages,
                                        std::size_t position, std::set<ArrayId> arrays,
                                        std::set<SymbolId> sizes) {
  const auto defines = [&](const Stage& stage) {
    for (const Output& output : stage.outputs)
      for (const ArrayId array : defined_arrays(output))
        if (arrays.contains(array)) return true;
    const std::set<SymbolId> born = lengths_born_in(program, stage);
    return std::any_of(born.begin(), born.end(), [&](SymbolId length) { return sizes.contains(length); });
  };
  std::vector<bool> moves(stages.size(), false);
  for (std::size_t s = stages.size(); s-- > position + 1;) {
    if (!defines(stages[s])) continue;
    if (has_effects(stages[s])) return std::nullopt;
    moves[s] = true;
    add_needs(program, stages[s], arrays, sizes);
  }
  if (defines(stages[position])) return std::nullopt;
  std::vector<Stage> before, after;
  for (std::size_t s = position; s < stages.size(); ++s)
    (moves[s] ? before : after).push_back(std::move(stages[s]));
  std::move(after.begin(), after.end(),
            std::move(before.begin(), before.end(), stages.begin() + static_cast<std::ptrdiff_t>(position)));
  return position + before.size();
}

bool join_siblings(Region& region, std::size_t first, std::size_t second) {
  Program& program = region.program;
  if (has_effects(region.stages[first]) || has_effects(region.stages[second]) ||
      why_not_join({program, region.stages[first], region.stages[second], {}}))
    return false;
  std::set<ArrayId> arrays;
  std::set<SymbolId> sizes;
  const Stage later = region.stages[second];
  add_needs(program, later, arrays, sizes);
  for (const SymbolId length : lengths_born_in(program, later)) sizes.erase(length);
  const auto position = bring_before(program, region.stages, first, std::move(arrays), std::move(sizes));
  if (!position) return false;
  region.stages.erase(std::find_if(region.stages.begin(), region.stages.end(),
                                   [&](const Stage& stage) { return stage.name == later.name; }));
  region.stages[*position] = joined(program, region.stages[*position], later, {});
  return true;
}

Expr at_points_of(const Program& program, const Stage& first, const Stage& second, Expr e) {
  if (!e) return e;
  return rewrite(*program.pool, e, [&](Expr node) -> Expr {
    const auto* index = as<IndexRef>(node);
    for (std::size_t d = 0; index && d < std::min(first.dims.size(), second.dims.size()); ++d)
      if (index->dim == second.dims[d].id) return program.pool->index(first.dims[d].id, node->place);
    return {};
  });
}

void keep_outputs(Stage& stage, const std::vector<bool>& stay) {
  const auto keep = [&](auto& list) {
    std::size_t k = 0;
    std::erase_if(list, [&](const auto&) { return !stay[k++]; });
  };
  const auto keep_results = [&](std::shared_ptr<const Block>& held) {
    Block block = *held;
    keep(block.results);
    held = std::make_shared<const Block>(std::move(block));
  };
  keep(stage.outputs);
  if (auto* nested = std::get_if<Nested>(&stage.body)) keep_results(nested->block);
  if (auto* branch = std::get_if<Branch>(&stage.body)) {
    keep_results(branch->then);
    keep_results(branch->otherwise);
  }
}

NewNames::NewNames(const Program& program) {
  for (const Array& array : program.arrays) taken_.insert(array.name);
  for (const Symbol& symbol : program.symbols) taken_.insert(symbol.name);
  taken_.insert(program.dim_names.begin(), program.dim_names.end());
  for_each_stage(program.stages, [&](const Stage& stage) { stages_.insert(stage.name); });
}

namespace {

std::string free_name(std::set<std::string>& taken, const std::string& wish) {
  std::string name = wish;
  for (int k = 2; !taken.insert(name).second; ++k) name = wish + "_" + std::to_string(k);
  return name;
}

}  // namespace

std::string NewNames::like(const std::string& wish) { return free_name(taken_, wish); }

std::string NewNames::stage_like(const std::string& wish) { return free_name(stages_, wish); }

void Defined::add(const Program& program, const Stage& stage) {
  for (const Output& output : stage.outputs)
    for (const ArrayId array : defined_arrays(output)) arrays.insert(array);
  sizes.merge(lengths_born_in(program, stage));
}

bool depends_on(const Program& program, const Stage& stage, const Defined& defined) {
  bool found = false;
  const auto look = [&](Expr root) {
    visit(root, [&](Expr node) {
      const auto* index = as<IndexRef>(node);
      const auto* size = as<SizeRef>(node);
      const auto* read = as<Read>(node);
      found = found || (index && defined.dims.contains(index->dim)) ||
              (size && defined.sizes.contains(size->symbol)) ||
              (read && defined.arrays.contains(read->array));
    });
  };
  for (const ArrayId array : reads_of(program, stage)) found = found || defined.arrays.contains(array);
  for_each_stage({&stage, 1}, [&](const Stage& inner) {
    for_each_expr(inner, look);
    for (const Output& output : inner.outputs)
      for (const ArrayId array : defined_arrays(output))
        for (const Expr extent : program[array].shape) look(extent);
  });
  return found;
}

std::vector<Hint> hints_of_both(const std::vector<Hint>& a, const std::vector<Hint>& b) {
  const auto has = [](const std::vector<Hint>& hints, Hint hint) {
    return std::ranges::find(hints, hint) != hints.end();
  };
  std::vector<Hint> both;
  for (const Hint hint : {Hint::Always, Hint::Recompute, Hint::Remember})
    if ((has(a, hint) && has(b, hint)) || (hint == Hint::Always && (has(a, hint) || has(b, hint))))
      both.push_back(hint);
  return both;
}

bool is_count(Expr root) {
  std::unordered_set<const Node*> counts;
  visit(root, [&](Expr e) {
    const auto number = integer_of(e);
    const auto* apply = as<Apply>(e);
    const auto is = [&](std::size_t k) { return counts.contains(e->args[k].get()); };
    bool count = as<SizeRef>(e) || (number && *number >= 0);
    if (apply && (apply->prim == Prim::Add || apply->prim == Prim::Mul)) count = count || (is(0) && is(1));
    if (apply && apply->prim == Prim::Div) count = count || (is(0) && integer_of(e->args[1]).value_or(0) > 0);
    if (apply && apply->prim == Prim::Max) count = count || is(0) || is(1);
    if (count) counts.insert(e.get());
  });
  return counts.contains(root.get());
}

Expr zero_of(ExprPool& pool, const Type& type) {
  if (type.is_scalar()) return pool.literal(Number::of(type.scalar(), 0));
  std::vector<Expr> fields;
  for (const Field& field : type.record().fields) fields.push_back(zero_of(pool, field.type));
  return pool.make(type, std::move(fields));
}

Stage defined_by(Program& program, NewNames& names, std::string name, ArrayId array,
                 const std::function<Expr(const std::vector<Expr>&)>& value, const Place& place) {
  ExprPool& pool = *program.pool;
  Stage stage;
  stage.name = std::move(name);
  stage.place = place;
  Output output;
  output.array = array;
  output.place = place;
  const std::vector<Expr> shape = program[array].shape;
  for (const Expr extent : shape) {
    const std::string index = names.like("i" + std::to_string(output.at.size()));
    const DimId dim = program.add_dim(index);
    stage.dims.push_back({dim, index, pool.integer(0), extent, {}, place});
    output.combine.push_back(Cat{});
    output.at.push_back(pool.index(dim));
  }
  output.value = value(output.at);
  stage.outputs.push_back(std::move(output));
  return stage;
}

}  // namespace twill
