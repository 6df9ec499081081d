// Rows that are only counted. Of a collection of rows that nobody reads, whose places are only asked for to
// know how long a row is, the lengths of the rows are all that is left.
#include "simplify/passes.h"

#include "program/edit.h"
#include "program/index_use.h"
#include "program/typing.h"
#include "simplify/rewriting.h"

#include <algorithm>

namespace twill {

namespace {

class RowLengths {
 public:
  RowLengths(Region& region, Notes& notes)
      : region_(region), program_(region.program), pool_(*region.program.pool), notes_(notes) {}

  bool run() {
    bool changed = false;
    for (Stage& stage : region_.stages)
      for (Output& output : stage.outputs)
        if (are_rows(stage, output) && only_lengths(stage, output)) {
          count(stage, output);
          changed = true;
        }
    return changed;
  }

 private:
  /// Rows along the outermost dimension.
  static bool are_rows(const Stage& stage, const Output& output) {
    return output.offsets && output.combine.size() > 1 && is<Cat>(output.combine[0]) &&
           is<Append>(output.combine[1]) && output.value && !output.force &&
           std::holds_alternative<Formula>(stage.body) && integer_of(stage.dims.front().lo) == 0;
  }

  /// Where a row begins, and the next one: their difference is the length of the row.
  bool is_length_of_row(Expr node, ArrayId offsets) const {
    const Apply* apply = as<Apply>(node);
    if (!apply || apply->prim != Prim::Sub) return false;
    const auto begin = [&](std::size_t k) {
      const Read* read = as<Read>(node->args[k]);
      const bool plain = read && read->array == offsets && read->rules.front() == Boundary::Inside;
      return plain ? node->args[k]->args.front() : Expr{};
    };
    const Expr next = begin(0), row = begin(1);
    return next && row && next == pool_.apply(Prim::Add, {row, pool_.integer(1)});
  }

  bool only_lengths(const Stage& stage, const Output& output) const {
    const UseTable uses(region_);
    const ArrayId offsets = *output.offsets;
    const auto* total = as<SizeRef>(program_[output.array].shape.front());
    if (uses.is_held(output.array) || !uses.readers(output.array).empty() || uses.is_held(offsets) ||
        uses.readers(offsets).empty() || !total || uses.is_held(total->symbol))
      return false;
    for (const int user : uses.users(total->symbol))
      if (&region_.stages[static_cast<std::size_t>(user)] != &stage) return false;
    for (const int reader : uses.readers(offsets)) {
      bool only = true;
      for_each_expr(region_.stages[static_cast<std::size_t>(reader)], [&](Expr root) {
        const Expr rest = rewrite(pool_, root, [&](Expr node) {
          return is_length_of_row(node, offsets) ? pool_.arg(0, Scalar::I64) : Expr{};
        });
        only = only && !mentions(rest, offsets);
      });
      if (!only) return false;
    }
    return true;
  }

  void count(Stage& stage, Output& output) {
    NewNames names(program_);
    const ArrayId offsets = *output.offsets;
    const std::string name = program_[output.array].name;
    const Dim& rows = stage.dims.front();
    const ArrayId lengths =
        program_.add_array(names.like(name + "_lengths"), Scalar::I64, {rows.hi}, output.place);
    notes_.done.push_back({"length",
                           {stage.name},
                           "nobody needs the elements of '" + name + "': its rows are only counted",
                           output.place});
    const Operator plus = builtin_operator(pool_, Prim::Add, Scalar::I64);
    output.array = lengths;
    output.offsets.reset();
    std::fill(output.combine.begin() + 1, output.combine.end(), Combine(Fold{plus}));
    output.at = {pool_.index(rows.id)};
    output.value = pool_.integer(1);
    const std::function<Expr(Expr)> lengths_of = [&](Expr root) {
      return rewrite(pool_, root, [&](Expr node) -> Expr {
        if (!is_length_of_row(node, offsets)) return {};
        return pool_.read(lengths, Scalar::I64, {lengths_of(node->args[1]->args.front())}, node->place);
      });
    };
    for (Stage& reader : region_.stages)
      for_each_slot(reader, [&](Expr& slot) {
        if (slot) slot = lengths_of(slot);
      });
  }

  Region& region_;
  Program& program_;
  ExprPool& pool_;
  Notes& notes_;
};

}  // namespace

bool count_rows(Region& region, Notes& notes) { return RowLengths(region, notes).run(); }

}  // namespace twill
