// Rows that are counted. Who asks for where a row begins and ends only to know how long it is reads a number
// for each row, which the loop that makes the row counts; if nobody needs more of the rows, that is all it
// does.
#include "simplify/passes.h"

#include "program/edit.h"
#include "program/index_use.h"
#include "program/typing.h"
#include "simplify/rewriting.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

namespace twill {

namespace {

class RowLengths {
 public:
  RowLengths(Region& region, Notes& notes)
      : region_(region), program_(region.program), pool_(*region.program.pool), notes_(notes) {}

  bool run() {
    bool changed = false;
    for (Stage& stage : region_.stages)
      for (std::size_t o = 0; o < stage.outputs.size(); ++o)
        if (are_rows(stage, stage.outputs[o])) changed = count(stage, o) || changed;
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

  bool only_lengths(const UseTable& uses, const Stage& stage, const Output& output) const {
    const ArrayId offsets = *output.offsets;
    const auto* total = as<SizeRef>(program_[output.array].shape.front());
    if (uses.is_held(output.array) || !uses.readers(output.array).empty() || uses.is_held(offsets) ||
        uses.readers(offsets).empty() || !total || uses.is_held(total->symbol))
      return false;
    for (const int user : uses.users(total->symbol))
      if (&region_.stages[static_cast<std::size_t>(user)] != &stage) return false;
    return std::ranges::all_of(uses.readers(offsets), [&](int reader) {
      return asks_for_lengths_only(region_.stages[static_cast<std::size_t>(reader)], offsets);
    });
  }

  /// Does a stage ask for the lengths of rows, and for nothing else that their places tell?
  bool asks_for_lengths_only(const Stage& stage, ArrayId offsets) const {
    bool asks = false, only = std::holds_alternative<Formula>(stage.body);
    for_each_expr(stage, [&](Expr root) {
      const Expr rest = rewrite(pool_, root, [&](Expr node) {
        const bool length = is_length_of_row(node, offsets);
        asks = asks || length;
        return length ? pool_.arg(0, Scalar::I64) : Expr{};
      });
      only = only && !mentions(rest, offsets);
    });
    return asks && only;
  }

  bool count(Stage& stage, std::size_t position) {
    const ArrayId array = stage.outputs[position].array, offsets = *stage.outputs[position].offsets;
    const auto asks = [&](int reader) {
      return asks_for_lengths_only(region_.stages[static_cast<std::size_t>(reader)], offsets);
    };
    std::set<int> asking;
    if (!uses_) uses_.emplace(region_);
    std::ranges::copy_if(uses_->readers(offsets), std::inserter(asking, asking.end()), asks);
    if (asking.empty()) return false;
    const bool only = only_lengths(*uses_, stage, stage.outputs[position]);
    uses_.reset();
    NewNames names(program_);
    const std::string name = program_[array].name;
    const Dim& rows = stage.dims.front();
    Output lengths = stage.outputs[position];
    lengths.array = program_.add_array(names.like(name + "_lengths"), Scalar::I64, {rows.hi}, lengths.place);
    lengths.offsets.reset();
    std::fill(lengths.combine.begin() + 1, lengths.combine.end(),
              Combine(Fold{builtin_operator(pool_, Prim::Add, Scalar::I64)}));
    lengths.at = {pool_.index(rows.id)};
    lengths.value = pool_.integer(1);
    const std::function<Expr(Expr)> lengths_of = [&](Expr root) {
      return rewrite(pool_, root, [&](Expr node) -> Expr {
        if (!is_length_of_row(node, offsets)) return {};
        return pool_.read(lengths.array, Scalar::I64, {lengths_of(node->args[1]->args.front())}, node->place);
      });
    };
    for (const int reader : asking)
      for_each_slot(region_.stages[static_cast<std::size_t>(reader)], [&](Expr& slot) {
        if (slot) slot = lengths_of(slot);
      });
    notes_.done.push_back({"length",
                           {stage.name},
                           only
                               ? "nobody needs the elements of '" + name + "': its rows are only counted"
                               : "the elements of the rows of '" + name + "' are counted where they are made",
                           lengths.place});
    if (only)
      stage.outputs[position] = std::move(lengths);
    else
      stage.outputs.push_back(std::move(lengths));
    return true;
  }

  Region& region_;
  Program& program_;
  ExprPool& pool_;
  Notes& notes_;
  std::optional<UseTable> uses_;  // as the region is now
};

}  // namespace

bool count_rows(Region& region, Notes& notes) { return RowLengths(region, notes).run(); }

}  // namespace twill
