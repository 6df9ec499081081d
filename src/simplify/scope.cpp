#include "simplify/scope.h"

#include "program/edit.h"

namespace twill {

namespace {

const std::set<int> nobody;

}  // namespace

Uses::Uses(const Scope& scope) : held_(scope.kept), reads_(scope.stages.size()), sizes_(scope.stages.size()) {
  const Program& program = scope.program;
  for (std::size_t s = 0; s < scope.stages.size(); ++s) {
    const Stage& stage = scope.stages[s];
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
    for (const ArrayId array : own) readers_[array].insert(position);
    for_each_stage({&stage, 1}, [&](const Stage& inner) {
      if (&inner != &stage) for_each_expr(inner, sizes_in);
      for (const Output& output : inner.outputs) {
        if (output.into) held_.insert(*output.into);
        for (const ArrayId array : defined_arrays(output)) {
          if (&inner == &stage) definer_[array] = position;
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

int Uses::definer(ArrayId array) const {
  const auto found = definer_.find(array);
  return found == definer_.end() ? -1 : found->second;
}

const std::set<int>& Uses::readers(ArrayId array) const {
  const auto found = readers_.find(array);
  return found == readers_.end() ? nobody : found->second;
}

const std::set<int>& Uses::users(SymbolId symbol) const {
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

void Uses::merge(int producer, int consumer) {
  const auto from = static_cast<std::size_t>(producer), to = static_cast<std::size_t>(consumer);
  move_uses(readers_, reads_[from], reads_[to], producer, consumer);
  move_uses(users_, sizes_[from], sizes_[to], producer, consumer);
}

bool in_all_scopes(Program& program, const std::function<bool(Scope&)>& pass) {
  Scope own{program, program.stages, {program.results.begin(), program.results.end()}};
  bool changed = pass(own);
  edit_blocks(program.stages, [&](Block& block) {
    Scope scope{program, block.stages, {block.results.begin(), block.results.end()}};
    for (const Carry& carry : block.carries) scope.kept.insert(carry.next);
    changed = pass(scope) || changed;
  });
  return changed;
}

}  // namespace twill
