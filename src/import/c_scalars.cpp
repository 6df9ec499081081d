// Scalars that give way to their values.
#include "import/c_scalars.h"

#include "import/c_depend.h"

#include <algorithm>

namespace twill::c {

bool is_light(const Tree& tree) {
  int nodes = 0;
  bool heavy = false;
  const std::function<void(const Tree&)> count = [&](const Tree& node) {
    if (!node) return;
    ++nodes;
    heavy = heavy || node->kind == Kind::Reduce || node->kind == Kind::While || node->kind == Kind::Let;
    for (const Tree& arg : node->args) count(arg);
  };
  count(tree);
  return !heavy && nodes <= 12;
}

namespace {

int reads_in(const Nest& nest, const Tree& tree, int scalar) {
  int count = 0;
  visit(nest, tree,
        [&](const Tree& node) { count += node->kind == Kind::Read && node->id == scalar ? 1 : 0; });
  return count;
}

int reads_in(const Nest& nest, const Assign& assign, int scalar) {
  int count = reads_in(nest, assign.value, scalar) + reads_in(nest, assign.guard, scalar);
  for (const Tree& at : assign.at) count += reads_in(nest, at, scalar);
  return count;
}

bool writes(const Item& item, int scalar) {
  std::set<int> written;
  written_arrays({item}, written);
  return written.contains(scalar);
}

/// How often an item reads a scalar, and whether in a loop or in a fold.
struct Uses {
  int count = 0;
  bool repeated = false;
};

void count_uses(const Nest& nest, const Item& item, int scalar, bool inside, Uses& uses) {
  if (const auto* assign = std::get_if<Assign>(&item)) {
    const int count = reads_in(nest, *assign, scalar);
    uses.count += count;
    uses.repeated = uses.repeated || (count > 0 && inside);
    visit(nest, assign->value, [&](const Tree& node) {
      if (node->kind == Kind::Reduce || node->kind == Kind::While)
        uses.repeated = uses.repeated || reads_in(nest, node, scalar) > 0;
    });
    return;
  }
  const For& loop = *std::get<std::shared_ptr<For>>(item);
  uses.count +=
      reads_in(nest, nest.loop(loop.loop).lo, scalar) + reads_in(nest, nest.loop(loop.loop).hi, scalar);
  for (const Item& part : loop.body) count_uses(nest, part, scalar, true, uses);
}

bool contains(const std::vector<Item>& items, const std::vector<Item>* list) {
  if (&items == list) return true;
  return std::ranges::any_of(items, [&](const Item& item) {
    const auto* loop = std::get_if<std::shared_ptr<For>>(&item);
    return loop && contains((*loop)->body, list);
  });
}

/// Whether some read outside of items [from, to) of `list` may see what was assigned before them there.
bool is_seen_elsewhere(const Nest& nest, const std::vector<Item>& items, const std::vector<Item>* list,
                       std::size_t from, std::size_t to, int scalar, bool covered) {
  for (std::size_t p = 0; p < items.size(); ++p) {
    const bool own = &items == list;
    if (own && p >= from && p < to) continue;
    if (const auto* assign = std::get_if<Assign>(&items[p])) {
      if (!covered && reads_in(nest, *assign, scalar) > 0) return true;
      if (assign->array == scalar && !assign->guard && !(own && p + 1 == from)) covered = true;
      continue;
    }
    const For& loop = *std::get<std::shared_ptr<For>>(items[p]);
    const int in_bounds =
        reads_in(nest, nest.loop(loop.loop).lo, scalar) + reads_in(nest, nest.loop(loop.loop).hi, scalar);
    if (!covered && in_bounds > 0) return true;
    const bool around = contains(loop.body, list);
    if (is_seen_elsewhere(nest, loop.body, list, from, to, scalar, covered && !around)) return true;
    if (around) covered = false;
  }
  return false;
}

void replace_reads(Nest& nest, Item& item, int scalar, const Tree& by) {
  const auto put = [&](const Tree& tree) {
    return rewrite(
        tree, [&](const Tree& node) { return node->kind == Kind::Read && node->id == scalar ? by : Tree(); });
  };
  if (auto* assign = std::get_if<Assign>(&item)) {
    // Bounds of folds are part of what it reads.
    for (const Tree& tree : {assign->value, assign->guard})
      visit(nest, tree, [&](const Tree& node) {
        for (const int loop : node->loops) {
          nest.loop(loop).lo = put(nest.loop(loop).lo);
          nest.loop(loop).hi = put(nest.loop(loop).hi);
        }
      });
    assign->value = put(assign->value);
    assign->guard = put(assign->guard);
    for (Tree& at : assign->at) at = put(at);
    return;
  }
  For& loop = *std::get<std::shared_ptr<For>>(item);
  nest.loop(loop.loop).lo = put(nest.loop(loop.loop).lo);
  nest.loop(loop.loop).hi = put(nest.loop(loop.loop).hi);
  for (Item& part : loop.body) replace_reads(nest, part, scalar, by);
}

}  // namespace

void rename_loop(Nest& nest, std::vector<Item>& items, int loop, const Tree& by) {
  for (Item& item : items) {
    if (auto* assign = std::get_if<Assign>(&item)) {
      assign->value = rename_index(nest, assign->value, loop, by);
      assign->guard = rename_index(nest, assign->guard, loop, by);
      for (Tree& at : assign->at) at = rename_index(nest, at, loop, by);
      continue;
    }
    // Loops below are copied: the same ones may still be in use elsewhere.
    auto inner = std::make_shared<For>(*std::get<std::shared_ptr<For>>(item));
    Loop range = nest.loop(inner->loop);
    range.lo = rename_index(nest, range.lo, loop, by);
    range.hi = rename_index(nest, range.hi, loop, by);
    const int old = inner->loop;
    inner->loop = nest.add_loop(std::move(range));
    rename_loop(nest, inner->body, loop, by);
    rename_loop(nest, inner->body, old, index_of(inner->loop, nest.loop(inner->loop).place));
    item = std::move(inner);
  }
}

bool substitute_scalar(Nest& nest, std::vector<Item>& items) {
  for (std::size_t p = 0; p < items.size(); ++p) {
    const auto* assign = std::get_if<Assign>(&items[p]);
    if (!assign || assign->guard || !assign->at.empty() || nest.array(assign->array).is_argument) continue;
    const int scalar = assign->array;
    if (reads_in(nest, *assign, scalar) > 0) continue;
    // Up to the next assignment of the scalar, which may read it.
    std::size_t end = p + 1;
    while (end < items.size() && !writes(items[end], scalar)) ++end;
    const bool ends = end < items.size();
    if (ends) {
      const auto* next = std::get_if<Assign>(&items[end]);
      if (!next || next->guard) continue;
      ++end;
    }
    if (!ends && is_seen_elsewhere(nest, nest.items, &items, p + 1, end, scalar, false)) continue;
    Uses uses;
    std::size_t last = p;
    for (std::size_t q = p + 1; q < end; ++q) {
      const int before = uses.count;
      count_uses(nest, items[q], scalar, false, uses);
      if (uses.count > before) last = q;
    }
    if (!is_light(assign->value) && (uses.count > 1 || uses.repeated)) continue;
    // What the value is computed from must still be the same where it is used.
    std::set<int> changed;
    for (std::size_t q = p + 1; q <= last; ++q)
      if (q < last || std::holds_alternative<std::shared_ptr<For>>(items[q]))
        written_arrays({items[q]}, changed);
    const std::set<int> needed = arrays_read(nest, *assign);
    if (std::ranges::any_of(needed, [&](int id) { return changed.contains(id); })) continue;
    const Tree value = assign->value;
    for (std::size_t q = p + 1; q < end; ++q) replace_reads(nest, items[q], scalar, value);
    items.erase(items.begin() + static_cast<std::ptrdiff_t>(p));
    return true;
  }
  return false;
}

// ---- carried from step to step ------------------------------------------------------------------

namespace {

/// Whether an assignment may change what the tree reads.
bool may_change(const Nest& nest, const Questions& ask, const Assign& by, const Tree& tree,
                const poly::Condition& facts) {
  bool changes = false;
  each_read(nest, tree, facts, [&](const Tree& read, const poly::Condition& path) {
    if (read->id == by.array)
      changes = changes || ask.is_possible(path && ask.same_element(read->args, by.at));
  });
  return changes;
}

bool carry_through(Nest& nest, const Questions& ask, std::vector<Item>& items, std::size_t first,
                   std::size_t position, const poly::Condition& outside) {
  const Assign init = std::get<Assign>(items[first]);
  const int scalar = init.array;
  For& loop = *std::get<std::shared_ptr<For>>(items[position]);
  std::size_t def = loop.body.size();
  for (std::size_t k = 0; k < loop.body.size(); ++k) {
    const auto* assign = std::get_if<Assign>(&loop.body[k]);
    if (!assign) return false;
    if (assign->array != scalar) continue;
    if (def < loop.body.size() || assign->guard) return false;
    def = k;
  }
  if (def == loop.body.size()) return false;
  const Tree value = std::get<Assign>(loop.body[def]).value;
  // It must not be needed behind the loop, be simple, and be made of nothing that the loop carries as well.
  if (!is_light(value) || reads_in(nest, value, scalar) > 0) return false;
  bool carried = false;
  visit(nest, value, [&](const Tree& node) {
    if (node->kind == Kind::Read && node->args.empty() && writes(items[position], node->id)) carried = true;
  });
  if (carried || is_seen_elsewhere(nest, nest.items, &loop.body, 0, loop.body.size(), scalar, false))
    return false;
  const Place place = nest.loop(loop.loop).place;
  const Tree index = index_of(loop.loop, place);
  const Tree before =
      replace_index(value, loop.loop, apply("-", {index, integer(1, place)}, Scalar::I64, place));
  const Tree is_later = apply("<", {nest.loop(loop.loop).lo, index}, Scalar::Bool, place);
  const auto tidied = [&](const Tree& tree) {
    return rewrite(tree, [&](const Tree& node) -> Tree {
      if (node->kind != Kind::Read) return {};
      Node copy = *node;
      for (Tree& at : copy.args) at = tidy(nest, at);
      return make(std::move(copy));
    });
  };
  const Tree earlier = choose(is_later, tidied(before), init.value);
  // What was stored in the step before is still there when it is read, and what is stored now too.
  const poly::Condition facts = outside && range_of(nest, loop.loop).condition;
  const poly::Condition two_steps = facts && condition_of(nest, is_later).condition;
  std::size_t last_old = 0, last_new = def;
  for (std::size_t k = 0; k < loop.body.size(); ++k)
    if (reads_in(nest, std::get<Assign>(loop.body[k]), scalar) > 0) (k < def ? last_old : last_new) = k;
  for (std::size_t k = 0; k < loop.body.size(); ++k) {
    const Assign& by = std::get<Assign>(loop.body[k]);
    if (k < last_old && may_change(nest, ask, by, before, two_steps)) return false;
    if (k > def && k < last_new && may_change(nest, ask, by, value, facts)) return false;
    if (k > def) {
      // In the step before, behind the definition.
      Assign moved = by;
      const Tree previous = apply("-", {index, integer(1, place)}, Scalar::I64, place);
      for (Tree& at : moved.at) at = replace_index(at, loop.loop, previous);
      if (may_change(nest, ask, moved, before, two_steps)) return false;
    }
    if (may_change(nest, ask, by, init.value, facts)) return false;
  }
  for (std::size_t k = first + 1; k < position; ++k) {
    std::set<int> changed;
    written_arrays({items[k]}, changed);
    for (const int id : arrays_read(nest, init))
      if (changed.contains(id)) return false;
  }
  // New loops are not shared: the tree that others look at stays as it is until the list is done.
  for (std::size_t k = 0; k < loop.body.size(); ++k)
    if (k != def) replace_reads(nest, loop.body[k], scalar, k < def ? earlier : value);
  loop.body.erase(loop.body.begin() + static_cast<std::ptrdiff_t>(def));
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(first));
  return true;
}

}  // namespace

bool carry_scalar(Nest& nest, const Questions& ask, std::vector<Item>& items,
                  const poly::Condition& outside) {
  for (std::size_t p = 0; p < items.size(); ++p) {
    if (!std::holds_alternative<std::shared_ptr<For>>(items[p])) continue;
    for (std::size_t q = p; q-- > 0;) {
      const auto* init = std::get_if<Assign>(&items[q]);
      if (!init || init->guard || !init->at.empty() || nest.array(init->array).is_argument ||
          !is_light(init->value))
        continue;
      const int scalar = init->array;
      bool between = false;
      for (std::size_t k = q + 1; k < p; ++k) {
        Uses uses;
        count_uses(nest, items[k], scalar, false, uses);
        between = between || uses.count > 0 || writes(items[k], scalar);
      }
      if (!between && carry_through(nest, ask, items, q, p, outside)) return true;
    }
  }
  return false;
}

}  // namespace twill::c
