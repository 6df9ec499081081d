// Rows of equal length. A collection of collections that all have the same length is one array in which they
// lie one after the other. Where it is written and read by row and by place in the row, it is an array of
// rows, and who reads an element is known to read just that.
#include "simplify/passes.h"

#include "program/edit.h"
#include "simplify/rewriting.h"

#include <algorithm>

namespace twill {

namespace {

/// row * length + place.
struct Split {
  Expr row, place;
};

class Rows {
 public:
  Rows(Region& region, Notes& notes)
      : region_(region), program_(region.program), pool_(*region.program.pool), notes_(notes) {}

  bool run() {
    bool changed = false;
    for (Stage& stage : region_.stages) changed = begin_at_zero(stage) || changed;
    for (const Stage& stage : region_.stages)
      for (const Output& output : stage.outputs)
        for (std::size_t d = 0; d < output.at.size(); ++d)
          if (split(stage, output, d)) {
            changed = true;
            break;  // its subscripts have changed
          }
    return changed;
  }

 private:
  /// Loops over one of several rows of equal length run over the places in the row.
  bool begin_at_zero(Stage& stage) {
    if (!std::holds_alternative<Formula>(stage.body)) return false;
    bool changed = false;
    for (std::size_t d = 1; d < stage.dims.size(); ++d) {
      Dim& dim = stage.dims[d];
      const Expr length = dim.hi && !dim.condition ? length_of_row(dim.lo, dim.hi) : Expr{};
      if (!length) continue;
      const Expr begin = dim.lo, place = pool_.index(dim.id);
      const bool written = std::ranges::any_of(stage.outputs, [&](const Output& output) {
        return is<Scan>(output.combine[d]) || is<Seq>(output.combine[d]);
      });
      if (written) continue;
      for_each_slot(stage, [&](Expr& slot) {
        if (!slot) return;
        slot = rewrite(pool_, slot, [&](Expr node) {
          return node == place ? pool_.apply(Prim::Add, {begin, place}) : Expr{};
        });
      });
      dim.lo = pool_.integer(0);
      dim.hi = length;
      changed = true;
    }
    return changed;
  }

  /// The length, if a range goes from row * length to where the next row begins; null if it does not.
  Expr length_of_row(Expr lo, Expr hi) const {
    const Apply* product = as<Apply>(lo);
    if (!product || product->prim != Prim::Mul) return {};
    for (const std::size_t k : {0, 1}) {
      const Expr row = lo->args[k], length = lo->args[1 - k];
      if (!as<IndexRef>(row)) continue;
      const Expr next = divided(hi, length);
      const Apply* sum = as<Apply>(next ? next : hi);
      if (!sum || sum->prim != Prim::Add) continue;
      const Expr more = next ? pool_.integer(1) : length, from = next ? row : lo;
      const auto& parts = (next ? next : hi)->args;
      if ((parts[0] == from && parts[1] == more) || (parts[1] == from && parts[0] == more)) return length;
    }
    return {};
  }

  /// Does a condition say nothing but that a place is in a row?
  bool is_inside_row(Expr condition, Expr place, Expr length) const {
    const Apply* both = as<Apply>(condition);
    if (!both || both->prim != Prim::And) return false;
    const auto is = [&](Expr e) {
      return e == pool_.apply(Prim::Le, {pool_.integer(0), place}) ||
             e == pool_.apply(Prim::Ge, {place, pool_.integer(0)}) ||
             e == pool_.apply(Prim::Lt, {place, length});
    };
    return is(condition->args[0]) && is(condition->args[1]);
  }

  /// A product with this length, without it; null if it is none.
  static Expr divided(Expr e, Expr length) {
    const Apply* apply = as<Apply>(e);
    if (!apply || apply->prim != Prim::Mul) return {};
    if (e->args[1] == length) return e->args[0];
    return e->args[0] == length ? e->args[1] : Expr{};
  }

  /// Takes a subscript apart, if it is seen that the place is in the row.
  std::optional<Split> taken_apart(Expr subscript, Expr length, const Stage& stage) const {
    if (const Expr row = divided(subscript, length)) return Split{row, pool_.integer(0)};
    if (as<Select>(subscript)) {
      const auto there = taken_apart(subscript->args[1], length, stage);
      return there && is_inside_row(subscript->args[0], there->place, length) ? there : std::nullopt;
    }
    const Apply* apply = as<Apply>(subscript);
    if (!apply || apply->prim != Prim::Add) return std::nullopt;
    for (const std::size_t k : {0, 1}) {
      const Expr row = divided(subscript->args[k], length), place = subscript->args[1 - k];
      if (row && is_place(place, length, stage)) return Split{row, place};
    }
    return std::nullopt;
  }

  /// Is it certain that 0 <= place < length?
  static bool is_place(Expr place, Expr length, const Stage& stage) {
    const auto most = integer_of(length);
    if (const auto number = integer_of(place)) return most && *number >= 0 && *number < *most;
    const IndexRef* index = as<IndexRef>(place);
    const auto dim = std::find_if(stage.dims.begin(), stage.dims.end(),
                                  [&](const Dim& d) { return index && d.id == index->dim; });
    if (dim == stage.dims.end() || !dim->hi || integer_of(dim->lo).value_or(-1) < 0) return false;
    const auto end = integer_of(dim->hi);
    return dim->hi == length || (end && most && *end <= *most);
  }

  bool split(const Stage& stage, const Output& output, std::size_t d) {
    const Apply* sum = as<Apply>(output.at[d]);
    if (!sum || sum->prim != Prim::Add || output.into || output.force ||
        !std::holds_alternative<Formula>(stage.body))
      return false;
    // The length of a row is the range of the index that is added.
    for (const Expr place : output.at[d]->args) {
      const IndexRef* index = as<IndexRef>(place);
      const auto dim = std::find_if(stage.dims.begin(), stage.dims.end(),
                                    [&](const Dim& each) { return index && each.id == index->dim; });
      if (dim == stage.dims.end() || !dim->hi || integer_of(dim->lo) != 0) continue;
      const Expr rows = divided(program_[output.array].shape[d], dim->hi);
      if (rows && taken_apart(output.at[d], dim->hi, stage) && all_read_it_so(output.array, d, dim->hi)) {
        notes_.done.push_back({"rows",
                               {stage.name},
                               "'" + program_[output.array].name + "' has rows of equal length",
                               stage.place});
        make_rows(output.array, d, rows, dim->hi);
        return true;
      }
    }
    return false;
  }

  bool all_read_it_so(ArrayId array, std::size_t d, Expr length) const {
    const UseTable uses(region_);
    if (uses.is_held(array)) return false;
    bool all = true;
    for (const int reader : uses.readers(array)) {
      const Stage& stage = region_.stages[static_cast<std::size_t>(reader)];
      all = all && std::holds_alternative<Formula>(stage.body);
      for_each_expr(stage, [&](Expr root) {
        visit(root, [&](Expr node) {
          const Read* read = as<Read>(node);
          if (read && read->array == array)
            all = all && read->rules[d] == Boundary::Inside && taken_apart(node->args[d], length, stage);
        });
      });
    }
    return all && !uses.readers(array).empty();
  }

  void make_rows(ArrayId array, std::size_t d, Expr rows, Expr length) {
    const auto position = static_cast<std::ptrdiff_t>(d);
    Array& stored = program_.arrays[static_cast<std::size_t>(array.value)];
    stored.shape[d] = rows;
    stored.shape.insert(stored.shape.begin() + position + 1, length);
    for (Stage& stage : region_.stages) {
      const auto apart = [&](std::vector<Expr>& subscripts) {
        const Split found = *taken_apart(subscripts[d], length, stage);
        subscripts[d] = found.row;
        subscripts.insert(subscripts.begin() + position + 1, found.place);
      };
      Rewriter rewriter(pool_, [&](Expr node) {
        const Read* read = as<Read>(node);
        if (!read || read->array != array) return node;
        const auto end = node->args.begin() + static_cast<std::ptrdiff_t>(read->rules.size());
        std::vector<Expr> subscripts(node->args.begin(), end);
        std::vector<Boundary> rules = read->rules;
        apart(subscripts);
        rules.insert(rules.begin() + position + 1, Boundary::Inside);
        const Expr fallback = end == node->args.end() ? Expr{} : *end;
        return pool_.read(array, node->type, std::move(subscripts), std::move(rules), fallback, node->place);
      });
      for_each_slot(stage, [&](Expr& slot) { slot = rewriter(slot); });
      for (Output& output : stage.outputs)
        if (output.array == array) apart(output.at);
    }
  }

  Region& region_;
  Program& program_;
  ExprPool& pool_;
  Notes& notes_;
};

}  // namespace

bool find_rows(Region& region, Notes& notes) { return Rows(region, notes).run(); }

}  // namespace twill
