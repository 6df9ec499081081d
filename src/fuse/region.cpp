#include "fuse/region.h"

#include "program/choice.h"
#include "program/edit.h"

namespace twill {

namespace {

const std::set<int> nobody;

}  // namespace

UseTable::UseTable(const Region& region)
    : held_(region.kept),
      held_sizes_(region.kept_sizes),
      reads_(region.stages.size()),
      sizes_(region.stages.size()) {
  const Program& program = region.program;
  for (std::size_t s = 0; s < region.stages.size(); ++s) {
    const Stage& stage = region.stages[s];
    const int position = static_cast<int>(s);
    std::set<ArrayId>& own = reads_[s];
    const auto sizes_in = [&](Expr root) {
      visit(root, [&](Expr node) {
        if (const auto* size = as<SizeRef>(node)) sizes_[s].insert(size->symbol);
      });
    };
    for_each_expr(stage, [&](Expr root) {
      visit(root, [&](Expr node) {
        if (const auto* read = as<Read>(node)) own.insert(read->array);
        if (const auto* size = as<SizeRef>(node)) sizes_[s].insert(size->symbol);
      });
    });
    // Running values are nobody else's.
    for (const Output& output : stage.outputs)
      if (is_running(output)) own.erase(output.array);
    for (const ArrayId array : own) readers_[array].insert(position);
    for_each_stage({&stage, 1}, [&](const Stage& inner) {
      if (&inner != &stage) for_each_expr(inner, sizes_in);
      for (const Output& output : inner.outputs) {
        if (output.into) held_.insert(*output.into);
        for (const ArrayId array : defined_arrays(output)) {
          if (&inner == &stage && !is_running(output)) definer_[array] = position;
          for (const Expr extent : program[array].shape) {
            sizes_in(extent);
            visit(extent, [&](Expr node) {
              if (const auto* read = as<Read>(node)) held_.insert(read->array);
            });
          }
        }
      }
    });
    for (const SymbolId symbol : sizes_[s]) users_[symbol].insert(position);
    // What it reads besides, or in the presence of blocks, may be read by these.
    const bool blocks = !std::holds_alternative<Formula>(stage.body);
    for (const ArrayId array : reads_of(program, stage)) {
      if (blocks || !own.contains(array)) held_.insert(array);
    }
  }
}

int UseTable::definer(ArrayId array) const {
  const auto found = definer_.find(array);
  return found == definer_.end() ? -1 : found->second;
}

const std::set<int>& UseTable::readers(ArrayId array) const {
  const auto found = readers_.find(array);
  return found == readers_.end() ? nobody : found->second;
}

const std::set<int>& UseTable::users(SymbolId symbol) const {
  const auto found = users_.find(symbol);
  return found == users_.end() ? nobody : found->second;
}

namespace {

/// Moves what one stage uses to another one, in both directions of the table.
template <class Id>
void move_uses(std::map<Id, std::set<int>>& users, std::set<Id>& from, std::set<Id>& to, int producer,
               int consumer) {
  for (const Id id : from) {
    users[id].erase(producer);
    users[id].insert(consumer);
  }
  if (from.size() > to.size()) std::swap(from, to);
  to.merge(from);
  from.clear();
}

}  // namespace

void UseTable::merge(int producer, int consumer, const std::set<ArrayId>& gone,
                     const std::set<SymbolId>& lengths) {
  for (const ArrayId array : gone) {
    for (const int reader : readers(array)) reads_[static_cast<std::size_t>(reader)].erase(array);
    readers_.erase(array);
    definer_.erase(array);
  }
  const auto from = static_cast<std::size_t>(producer), to = static_cast<std::size_t>(consumer);
  for (const SymbolId length : lengths) {
    for (const int user : users(length)) sizes_[static_cast<std::size_t>(user)].erase(length);
    users_.erase(length);
  }
  move_uses(readers_, reads_[from], reads_[to], producer, consumer);
  move_uses(users_, sizes_[from], sizes_[to], producer, consumer);
}

void UseTable::share(int producer, int consumer) {
  const auto from = static_cast<std::size_t>(producer), to = static_cast<std::size_t>(consumer);
  for (const ArrayId array : reads_[from]) {
    readers_[array].insert(consumer);
    reads_[to].insert(array);
  }
  for (const SymbolId symbol : sizes_[from]) {
    users_[symbol].insert(consumer);
    sizes_[to].insert(symbol);
  }
}

std::set<SymbolId> lengths_gone(const Program& program, const Stage& producer, const Stage& both) {
  std::set<SymbolId> lengths = lengths_born_in(program, producer);
  for (const SymbolId length : lengths_born_in(program, both)) lengths.erase(length);
  return lengths;
}

std::set<SymbolId> lengths_born_in(const Program& program, const Stage& stage) {
  std::set<SymbolId> lengths;
  for (const Output& output : stage.outputs) {
    if (output.combine.empty() || !(is<Append>(output.combine.back()) || is<Group>(output.combine.back())))
      continue;
    for (const ArrayId array : defined_arrays(output)) {
      if (array == output.offsets) continue;
      if (const auto* size = as<SizeRef>(program[array].shape.front())) lengths.insert(size->symbol);
    }
  }
  for (const ChosenSize& chosen : chosen_sizes(program, stage)) lengths.insert(chosen.size);
  return lengths;
}

namespace {

/// Will the stage have an output of this length, if it goes through the collection that has it now?
bool takes_over(const Program& program, const Stage& stage, Expr length) {
  return stage.dims.size() == 1 &&
         std::any_of(stage.outputs.begin(), stage.outputs.end(), [&](const Output& o) {
           return (is<Cat>(o.combine.front()) || is<Scan>(o.combine.front())) && !o.into &&
                  program[o.array].rank() == 1 && program[o.array].shape.front() == length;
         });
}

}  // namespace

std::set<ArrayId> gone_into(const Region& region, const UseTable& uses, int producer, int consumer) {
  std::set<ArrayId> gone;
  const Stage& stage = region.stages[static_cast<std::size_t>(producer)];
  const Stage& next = region.stages[static_cast<std::size_t>(consumer)];
  const auto needed_by = [&](const std::set<int>& stages) {
    return std::any_of(stages.begin(), stages.end(), [&](int s) { return s != producer && s != consumer; });
  };
  for (const Output& output : stage.outputs) {
    bool needed = false, used = false;
    const bool collects =
        !output.combine.empty() && (is<Append>(output.combine.back()) || is<Group>(output.combine.back()));
    for (const ArrayId array : defined_arrays(output)) {
      needed = needed || uses.is_held(array) || needed_by(uses.readers(array));
      used = used || uses.readers(array).contains(consumer);
      const Expr length = collects ? region.program[array].shape.front() : Expr{};
      const auto* size = as<SizeRef>(length);
      needed = needed || (size && (uses.is_held(size->symbol) || needed_by(uses.users(size->symbol))) &&
                          !takes_over(region.program, next, length));
      used = used || (size && uses.users(size->symbol).contains(consumer));
    }
    // What nobody needs at all is not for fusion to remove.
    if (needed || !used) continue;
    for (const ArrayId array : defined_arrays(output)) gone.insert(array);
  }
  return gone;
}

bool in_all_regions(Program& program, const std::function<bool(Region&)>& pass) {
  Region own{program, program.stages, {program.results.begin(), program.results.end()}, "", 0, {}};
  bool changed = pass(own);
  edit_blocks(program.stages, [&](const Stage& stage, int branch, Block& block) {
    Region region{program, block.stages, {}, stage.name, branch, {}};
    // An output with a value of its own has no result in the block.
    for (const ArrayId result : block.results)
      if (result) region.kept.insert(result);
    for (const Carry& carry : block.carries) region.kept.insert(carry.next);
    // The stage's own expressions run when the block is done.
    for_each_expr(stage, [&](Expr root) {
      visit(root, [&](Expr node) {
        if (const auto* read = as<Read>(node)) region.kept.insert(read->array);
        if (const auto* size = as<SizeRef>(node)) region.kept_sizes.insert(size->symbol);
      });
    });
    for (const Output& output : stage.outputs)
      for (const ArrayId array : defined_arrays(output))
        for (const Expr extent : program[array].shape)
          visit(extent, [&](Expr node) {
            if (const auto* size = as<SizeRef>(node)) region.kept_sizes.insert(size->symbol);
          });
    changed = pass(region) || changed;
  });
  return changed;
}

}  // namespace twill
