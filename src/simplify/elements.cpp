// Elements of rows. Who reads single elements of rows whose elements are all kept, and knows which, computes
// them where they are read: then nobody has to make the rows. That a row is long enough is still looked at.
#include "simplify/passes.h"

#include "fuse/profit.h"
#include "program/edit.h"
#include "program/index_use.h"
#include "simplify/rewriting.h"

#include <algorithm>
#include <set>

namespace twill {

namespace {

/// A stage that makes rows, one for each index of its first dimension and with an element for each index of
/// its second one.
struct Rows {
  const Stage& maker;
  ArrayId values, offsets;

  const Dim& row() const { return maker.dims[0]; }
  const Dim& place() const { return maker.dims[1]; }
};

std::optional<Rows> rows_of(const Stage& stage) {
  if (!std::holds_alternative<Formula>(stage.body) || !stage.effects.empty() || stage.dims.size() != 2 ||
      stage.outputs.size() != 1 || has_hint(stage, Hint::Never))
    return std::nullopt;
  const Output& output = stage.outputs.front();
  const bool all = output.offsets && !output.guard && !output.force && is<Cat>(output.combine[0]) &&
                   is<Append>(output.combine[1]);
  if (!all) return std::nullopt;
  for (const Dim& dim : stage.dims)
    if (integer_of(dim.lo) != 0 || !dim.hi || dim.condition) return std::nullopt;
  // Otherwise nobody would look whether the row is long enough.
  bool uses_place = false;
  visit_surely(output.value, [&](Expr node) {
    const auto* index = as<IndexRef>(node);
    uses_place = uses_place || (index && index->dim == stage.dims[1].id);
  });
  if (!uses_place) return std::nullopt;
  return Rows{stage, output.array, *output.offsets};
}

class Elements {
 public:
  Elements(Region& region, Notes& notes)
      : region_(region),
        program_(region.program),
        pool_(*region.program.pool),
        notes_(notes),
        uses_(region) {}

  bool run() {
    for (const Stage& stage : region_.stages)
      if (const auto rows = rows_of(stage))
        if (Stage* reader = only_reader(*rows); reader && reads_single_elements(*rows, *reader)) {
          compute(*rows, *reader);
          return true;  // once again, with what is known then
        }
    return false;
  }

 private:
  Stage* only_reader(const Rows& rows) const {
    const std::set<int>& readers = uses_.readers(rows.values);
    if (uses_.is_held(rows.values) || uses_.is_held(rows.offsets) || readers.size() != 1 ||
        uses_.readers(rows.offsets) != readers)
      return nullptr;
    Stage& reader = region_.stages[static_cast<std::size_t>(*readers.begin())];
    const bool plain = std::holds_alternative<Formula>(reader.body) && !has_hint(reader, Hint::Never);
    return plain ? &reader : nullptr;
  }

  /// An element by its row and its place in it.
  struct Element {
    Expr row, place;
  };

  bool is_offset(Expr e, const Rows& rows, Expr row) const {
    const Read* read = as<Read>(e);
    return read && read->array == rows.offsets && read->rules.front() == Boundary::Inside &&
           e->args.front() == row;
  }
  bool is_length(Expr e, const Rows& rows, Expr row) const {
    const Apply* apply = as<Apply>(e);
    return apply && apply->prim == Prim::Sub &&
           is_offset(e->args[0], rows, pool_.apply(Prim::Add, {row, pool_.integer(1)})) &&
           is_offset(e->args[1], rows, row);
  }

  /// `values[if 0 <= place && place < length then begin + place else -1]`, as elements of rows are read; less
  /// is asked of a place that is a number.
  std::optional<Element> element_of(Expr node, const Rows& rows) const {
    const Read* read = as<Read>(node);
    if (!read || read->array != rows.values || read->rules.front() != Boundary::Inside) return std::nullopt;
    const Expr choice = node->args.front();
    if (!as<Select>(choice) || integer_of(choice->args[2]) != -1) return std::nullopt;
    Expr condition = choice->args[0], lower;
    if (const Apply* both = as<Apply>(condition); both && both->prim == Prim::And) {
      lower = condition->args[0];
      condition = condition->args[1];
    }
    const Apply* less = as<Apply>(condition);
    if (!less || less->prim != Prim::Lt) return std::nullopt;
    const Expr place = condition->args[0], length = condition->args[1];
    if (lower ? lower != pool_.apply(Prim::Le, {pool_.integer(0), place})
              : integer_of(place).value_or(-1) < 0)
      return std::nullopt;
    const Read* next = length->args.empty() ? nullptr : as<Read>(length->args.back());
    if (!next) return std::nullopt;
    const Expr row = length->args.back()->args.front();
    const Expr begin = length->args.back();
    if (!is_length(length, rows, row) || choice->args[1] != pool_.apply(Prim::Add, {begin, place}))
      return std::nullopt;
    return Element{row, place};
  }

  /// Are rows read for nothing but elements, and no more of these computed than read?
  bool reads_single_elements(const Rows& rows, const Stage& reader) const {
    std::set<const Node*> found;
    bool only = true;
    for_each_expr(reader, [&](Expr root) {
      const Expr rest = rewrite(pool_, root, [&](Expr node) -> Expr {
        const auto element = element_of(node, rows);
        if (!element || !is_computed_once(*element, rows, reader)) return {};
        found.insert(node.get());
        return pool_.arg(0, node->type);
      });
      only = only && !mentions(rest, rows.values) && !mentions(rest, rows.offsets);
    });
    return only && (found.size() == 1 || (!found.empty() && operations_of(rows.maker) <= cheap_operations));
  }

  /// Is it an element of a row of its own for each index of the reader's first dimension, and another one of
  /// the row for each index of a second one?
  static bool is_computed_once(const Element& element, const Rows& rows, const Stage& reader) {
    const auto is_index = [](Expr e, const Dim& dim) {
      const auto* index = as<IndexRef>(e);
      return index && index->dim == dim.id;
    };
    const auto& dims = reader.dims;
    if (dims.empty() || !is_index(element.row, dims[0]) || integer_of(dims[0].lo) != 0 ||
        dims[0].hi != rows.row().hi)
      return false;
    return dims.size() == 1 || (dims.size() == 2 && is_index(element.place, dims[1]));
  }

  void compute(const Rows& rows, Stage& reader) {
    const auto at = [&](const Element& element, Expr e, Expr place) {
      return rewrite(pool_, e, [&](Expr node) -> Expr {
        const auto* index = as<IndexRef>(node);
        if (index && index->dim == rows.row().id) return element.row;
        return index && index->dim == rows.place().id ? place : Expr{};
      });
    };
    const Expr value = rows.maker.outputs.front().value;
    for_each_slot(reader, [&](Expr& slot) {
      if (!slot) return;
      slot = rewrite(pool_, slot, [&](Expr node) -> Expr {
        const auto element = element_of(node, rows);
        if (!element) return {};
        const Expr length = at(*element, rows.place().hi, {});
        const Expr place = pool_.apply(Prim::Within, {element->place, length}, node->place);
        return pool_.cast(node->type, at(*element, value, place), node->place);
      });
    });
    notes_.done.push_back({"elements",
                           {rows.maker.name, reader.name},
                           "'" + reader.name + "' computes the elements that it reads of the rows of '" +
                               program_[rows.values].name + "'",
                           reader.place});
  }

  Region& region_;
  Program& program_;
  ExprPool& pool_;
  Notes& notes_;
  UseTable uses_;
};

}  // namespace

bool compute_elements(Region& region, Notes& notes) { return Elements(region, notes).run(); }

}  // namespace twill
