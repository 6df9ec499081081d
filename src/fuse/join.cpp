#include "fuse/join.h"

#include "base/error.h"

#include "fuse/inline.h"
#include "fuse/profit.h"
#include "fuse/region.h"
#include "program/edit.h"
#include "program/index_use.h"
#include "program/regroup.h"
#include "program/typing.h"

#include <algorithm>
#include <map>
#include <utility>

namespace twill {

namespace {

template <class C>
bool all_are(const Output& output) {
  return std::all_of(output.combine.begin(), output.combine.end(), is<C>);
}

/// Is nothing lost if the loops inside of that one do not run at all?
bool acts_as_one(const Output& output, std::size_t depth) {
  return std::all_of(output.combine.begin() + static_cast<std::ptrdiff_t>(depth), output.combine.end(),
                     [&](const Combine& combine) { return combine == output.combine[depth]; });
}

/// Does the output fold arrays, element by element, along its outermost dimension?
bool folds_arrays(const Output& output) {
  return is<Fold>(output.combine.front()) &&
         std::all_of(output.combine.begin(), output.combine.end(), [&](const Combine& combine) {
           return is<Cat>(combine) || combine == output.combine.front();
         });
}

/// Does the range depend on nothing but sizes?
bool has_plain_range(const Dim& dim) {
  bool plain = true;
  for (const Expr bound : {dim.lo, dim.hi})
    visit(bound, [&](Expr node) { plain = plain && !as<Read>(node) && !as<IndexRef>(node); });
  return plain;
}

/// How the points of the second stage are found among those of the first.
struct Meeting {
  std::map<DimId, DimId> names;        // dimensions of the second that are dimensions of the first
  const Output* collection = nullptr;  // the second goes through this output of the first
  std::size_t depth = 0;               // with this dimension
  bool counts = false;                 // and needs the number of an element in it
  bool runs_inside = false;            // its inner loops run whether the point is in the collection or not
  std::map<const Node*, Expr> values;  // reads of the second, and what they stand for
  std::set<ArrayId> by_index;          // arrays of the first whose elements the second computes itself
  bool same_range = true;              // with these ones alone, the first has no loop any more
};

class Judge {
 public:
  explicit Judge(const Joint& joint)
      : program_(joint.program),
        first_(joint.first),
        second_(joint.second),
        gone_(joint.gone),
        by_index_(joint.by_index) {}

  /// Nothing: they do not meet, and `reason` says why.
  std::optional<Meeting> meet() {
    if (!alone() || !in_order()) return std::nullopt;
    return goes_over()           ? over()
           : goes_through_rows() ? through_rows()
           : by_index_           ? by_index()
                                 : same_points();
  }

  std::optional<Reason> reason;

 private:
  bool no(std::string code, const std::string& why) {
    reason = Reason{std::move(code),
                    {first_.name, second_.name},
                    "'" + first_.name + "' and '" + second_.name + "' stay apart: " + why,
                    second_.place};
    return false;
  }
  std::nullopt_t refuse(std::string code, const std::string& why) {
    no(std::move(code), why);
    return std::nullopt;
  }
  std::string quoted(ArrayId array) const { return "'" + program_[array].name + "'"; }

  /// What each stage says about itself.
  bool alone() {
    for (const Stage* stage : {&first_, &second_}) {
      const std::string name = "'" + stage->name + "'";
      if (has_hint(*stage, Hint::Never)) return no("never", name + " says never");
      if (!std::holds_alternative<Formula>(stage->body)) return no("block", name + " is a block");
      if (stage->dims.empty()) return no("no-loop", name + " has no loop");
      if (any_is<Seq>(*stage)) return no("sequence", name + " runs step by step");
    }
    for (const Output& output : first_.outputs) {
      if (output.force && reads(second_, output.array))
        return no("forced", quoted(output.array) + " is forced");
      for (const Output& version : second_.outputs)
        for (const ArrayId made : defined_arrays(output))
          if (version.into == made)
            return no("version", quoted(version.array) + " is a new version of " + quoted(made));
    }
    return true;
  }

  /// What runs in order: effects, and scans from opposite ends.
  bool in_order() {
    for (const Effect& mine : first_.effects)
      for (const Effect& other : second_.effects)
        if (mine.kind == other.kind)
          return no("effect-order", "'" + mine.kind + "' happens in both, and keeps its order");
    const auto any_order = [](const Stage& stage) {
      return stage.effects.empty() && std::all_of(stage.outputs.begin(), stage.outputs.end(), all_are<Cat>);
    };
    const auto either_way = [&](const Stage& stage) {
      return stage.effects.empty() && std::ranges::all_of(stage.outputs, [&](const Output& output) {
               for (std::size_t d = 0; d < stage.dims.size(); ++d)
                 if (!runs_either_way(program_, output, d)) return false;
               return true;
             });
    };
    const bool first_right = runs_from_right(first_), second_right = runs_from_right(second_);
    if (first_right != second_right && !either_way(first_right ? second_ : first_))
      return no("direction", "one runs from the right, and the other in order");
    // Scans of one loop nest may want its loops in different orders. What goes over a collection has one
    // loop, or is no scan.
    const bool deep = first_.dims.size() > 1 || second_.dims.size() > 1;
    if (deep &&
        ((scans(first_) && !any_order(second_)) || (scans(second_) && !any_order(first_) && !goes_over())))
      return no("order", "one is a scan, and the other wants the loops in an order of its own");
    return true;
  }

  /// Is something scanned along a dimension, with an element for each index?
  static bool scans(const Stage& stage) {
    return std::ranges::any_of(stage.outputs, [](const Output& output) {
      return !is_running(output) && std::ranges::any_of(output.combine, is<Scan>);
    });
  }

  /// The output of the first stage that has the length of the second's outermost dimension.
  const Output* goes_over() const {
    const Dim& outer = second_.dims.front();
    const auto* length = as<SizeRef>(outer.hi);
    if (!length) return nullptr;
    for (const Output& output : first_.outputs) {
      if (!output.combine.empty() && is<Append>(output.combine.front()) && !output.offsets &&
          program_[output.array].shape.front() == outer.hi)
        return &output;
    }
    return nullptr;
  }

  /// The reads of the first stage's arrays in the second's expressions.
  std::vector<Expr> reads_of_first() const {
    std::set<ArrayId> defined;
    for (const Output& output : first_.outputs)
      for (const ArrayId array : defined_arrays(output)) defined.insert(array);
    std::vector<Expr> found;
    std::set<const Node*> seen;
    for_each_expr(second_, [&](Expr root) {
      visit(root, [&](Expr node) {
        const auto* read = as<Read>(node);
        if (read && defined.contains(read->array) && seen.insert(node.get()).second) found.push_back(node);
      });
    });
    return found;
  }

  const Output& output_of(ArrayId array) const {
    return *std::find_if(first_.outputs.begin(), first_.outputs.end(), [&](const Output& output) {
      const auto defined = defined_arrays(output);
      return std::find(defined.begin(), defined.end(), array) != defined.end();
    });
  }

  /// The element as the array would hold it.
  Expr element(const Output& output) const {
    return program_.pool->cast(program_[output.array].type, output.value);
  }

  std::optional<Meeting> by_index() {
    const std::vector<const Output*> outputs = gathered_outputs(first_, second_);
    if (outputs.empty()) return same_points();
    std::set<ArrayId> gathered;
    for (const Output* output : outputs) {
      if (!gone_.contains(output->array))
        no("shared",
           quoted(output->array) + " is needed elsewhere as well, and read in the order of an index here");
      else if (auto apart = why_not_inline(program_, first_, *output, second_))
        reason = std::move(apart);
      else
        gathered.insert(output->array);
    }
    std::optional<Reason> why = std::exchange(reason, std::nullopt);
    const bool all = first_.effects.empty() &&
                     std::all_of(first_.outputs.begin(), first_.outputs.end(),
                                 [&](const Output& output) { return gathered.contains(output.array); });
    auto meeting = all ? std::optional<Meeting>(Meeting{}) : same_points(gathered);
    if (!meeting) {
      if (why) reason = std::move(why);
      return std::nullopt;
    }
    meeting->by_index = std::move(gathered);
    meeting->same_range = !all;
    return meeting;
  }

  /// `others`: arrays of the first that do not matter.
  std::optional<Meeting> same_points(const std::set<ArrayId>& others = {}) {
    if (first_.dims.size() != second_.dims.size())
      return refuse("range", "their loops have different ranges");
    Meeting meeting;
    for (std::size_t d = 0; d < first_.dims.size(); ++d) {
      const Dim &mine = first_.dims[d], &other = second_.dims[d];
      if (renamed(other.lo, meeting.names) != mine.lo || renamed(other.hi, meeting.names) != mine.hi)
        return refuse("range", "their loops have different ranges");
      meeting.names[other.id] = mine.id;
    }
    if (uses_length_of_first())
      return refuse("length", "'" + second_.name + "' needs to know how long a collection has become");
    for (const Expr node : reads_of_first()) {
      const Read& read = *as<Read>(node);
      if (others.contains(read.array)) continue;
      const Output& output = output_of(read.array);
      if (output.array != read.array || !all_are<Cat>(output))
        return refuse("whole", quoted(read.array) + " is complete only after the whole loop");
      if (output.guard) return refuse("whole", quoted(read.array) + " is not computed at every point");
      if (output.at.size() != first_.dims.size() || node->args.size() != output.at.size())
        return refuse("other-element", quoted(read.array) + " is read at another point than its own");
      for (std::size_t k = 0; k < output.at.size(); ++k) {
        if (read.rules[k] != Boundary::Inside || renamed(node->args[k], meeting.names) != output.at[k] ||
            !as<IndexRef>(output.at[k]))
          return refuse("other-element", quoted(read.array) + " is read at another point than its own");
      }
      meeting.values[node.get()] = element(output);
    }
    return meeting;
  }

  std::optional<Meeting> over() {
    Meeting meeting;
    meeting.collection = goes_over();
    const Dim& outer = second_.dims.front();
    const Expr length = outer.hi;
    const auto* from = as<Literal>(outer.lo);
    const std::string elements = "the elements of " + quoted(meeting.collection->array);
    const Expr index = program_.pool->index(outer.id);
    if (!from || from->value.i != 0)
      return refuse("other-element", "'" + second_.name + "' does not go through all of " + elements);
    for (const Expr node : reads_of_first()) {
      const Read& read = *as<Read>(node);
      const Output& output = output_of(read.array);
      const bool together = output.array == read.array && program_[output.array].shape.size() == 1 &&
                            program_[output.array].shape.front() == length;
      if (!together) return refuse("whole", quoted(read.array) + " is complete only after the whole loop");
      if (read.rules.front() != Boundary::Inside || node->args.front() != index)
        return refuse("other-element",
                      "'" + second_.name + "' does not go through " + elements + " one by one");
      meeting.values[node.get()] = element(output);
    }
    if (!loses_position(meeting, elements) || !has_room_inside(meeting)) return std::nullopt;
    return meeting;
  }

  /// If the second stage has loops inside of the one that goes through the collection: can they stand inside
  /// of those that fill it?
  bool has_room_inside(Meeting& meeting) {
    const auto inner = static_cast<std::ptrdiff_t>(meeting.depth) + 1;
    if (second_.dims.begin() + inner == second_.dims.end()) return true;
    const std::string loops = "'" + second_.name + "' has loops inside, and ";
    for (const Output& output : first_.outputs)
      if (!gone_.contains(output.array))
        return no("depth",
                  loops + (is_running(output) ? "'" + first_.name + "' counts element by element"
                                              : quoted(output.array) + " is needed elsewhere as well"));
    if (!first_.effects.empty()) return no("depth", loops + "'" + first_.name + "' has effects");
    const auto act_as_one = [&](const Output& output) { return acts_as_one(output, meeting.depth); };
    if (!meeting.collection->guard || std::all_of(second_.outputs.begin(), second_.outputs.end(), act_as_one))
      return true;
    // Then the loops inside run for elements that are not in the collection as well.
    meeting.runs_inside = true;
    return (meeting.depth == 0 && std::all_of(second_.outputs.begin(), second_.outputs.end(), folds_arrays) &&
            std::all_of(second_.dims.begin() + inner, second_.dims.end(), has_plain_range)) ||
           no("guard", "the loops inside of '" + second_.name + "' have results of their own");
  }

  /// The nested collection of the first stage through the rows of which the second goes.
  const Output* goes_through_rows() const {
    if (second_.dims.size() < 2) return nullptr;
    for (const Output& output : first_.outputs)
      if (output.offsets && is<Append>(output.combine.back()) && second_.dims[1].hi &&
          (mentions(second_.dims[1].hi, *output.offsets) ||
           (reads(second_, output.array) && makes_rows_alike(output))))
        return &output;
    return nullptr;
  }

  /// Does the first stage make an element of a row for each index of the second one's inner loop?
  bool makes_rows_alike(const Output& rows) const {
    const Dim &mine = first_.dims.back(), &inner = second_.dims[1];
    return first_.dims.size() == 2 && !rows.guard && integer_of(mine.lo) == 0 && integer_of(inner.lo) == 0 &&
           !mine.condition && mine.hi &&
           renamed(inner.hi, {{second_.dims.front().id, first_.dims.front().id}}) == mine.hi;
  }

  /// Where the row of the second stage's outermost index begins, or where the one after it does?
  bool is_offset(Expr e, ArrayId offsets, std::int64_t rows_on) const {
    const Read* read = as<Read>(e);
    if (!read || read->array != offsets) return false;
    ExprPool& pool = *program_.pool;
    const Expr row = pool.index(second_.dims.front().id), at = e->args.front();
    if (rows_on == 0) return at == row;
    return at == pool.apply(Prim::Add, {row, pool.integer(rows_on)}) ||
           at == pool.apply(Prim::Add, {pool.integer(rows_on), row});
  }
  bool is_length_of_row(Expr e, ArrayId offsets) const {
    const Apply* apply = as<Apply>(e);
    return apply && apply->prim == Prim::Sub && is_offset(e->args[0], offsets, 1) &&
           is_offset(e->args[1], offsets, 0);
  }
  /// The operand that is added to where the row begins; null if that is not how the place is written.
  Expr after_begin_of_row(Expr e, ArrayId offsets) const {
    const Apply* apply = as<Apply>(e);
    if (!apply || apply->prim != Prim::Add) return {};
    for (const std::size_t k : {0, 1})
      if (is_offset(e->args[k], offsets, 0)) return e->args[1 - k];
    return {};
  }

  /// Does it say no more than that the index of the loop inside is one of the row's?
  bool is_in_row(Expr e, const Output& rows) const {
    const Apply* apply = as<Apply>(e);
    if (!apply) return false;
    const Expr place = program_.pool->index(second_.dims[1].id);
    switch (apply->prim) {
      case Prim::And: return is_in_row(e->args[0], rows) && is_in_row(e->args[1], rows);
      case Prim::Le: return integer_of(e->args[0]) == 0 && e->args[1] == place;
      case Prim::Lt: return e->args[0] == place && is_length_of_row(e->args[1], *rows.offsets);
      default: return false;
    }
  }
  /// What is read at a place in the collection if that is in the row, where it always is.
  Expr place_in_row(Expr at, const Output& rows) const {
    const bool checked = as<Select>(at) && makes_rows_alike(rows) && is_in_row(at->args[0], rows);
    return after_begin_of_row(checked ? at->args[1] : at, *rows.offsets);
  }

  std::optional<Meeting> through_rows() {
    Meeting meeting;
    meeting.collection = goes_through_rows();
    meeting.depth = 1;
    const Output& rows = *meeting.collection;
    const ArrayId offsets = *rows.offsets;
    const Dim &mine = first_.dims.front(), &outer = second_.dims.front(), &inner = second_.dims[1];
    const std::string all = "the rows of " + quoted(rows.array);
    const Expr place = program_.pool->index(inner.id);
    if (is<Cat>(rows.combine[1]) || integer_of(mine.lo) != 0 || outer.lo != mine.lo || outer.hi != mine.hi)
      return refuse("range", "'" + second_.name + "' does not go through all of " + all);
    meeting.names[outer.id] = mine.id;
    // Either the places in the collection, or those in the row.
    const bool from_begin = is_offset(inner.lo, offsets, 0);
    const Expr length = from_begin ? after_begin_of_row(inner.hi, offsets) : inner.hi;
    const bool whole =
        (from_begin && is_offset(inner.hi, offsets, 1)) ||
        ((from_begin || integer_of(inner.lo) == 0) && length && is_length_of_row(length, offsets)) ||
        makes_rows_alike(rows);
    if (!whole) return refuse("other-element", "'" + second_.name + "' goes through parts of " + all);
    if (uses_length_of_first())
      return refuse("length", "'" + second_.name + "' needs to know how long a collection has become");
    for (const Expr node : reads_of_first()) {
      const Read& read = *as<Read>(node);
      if (read.array == offsets) continue;
      if (read.array != rows.array)
        return refuse("whole", quoted(read.array) + " is complete only after the whole loop");
      const Expr at = node->args.front();
      if (read.rules.front() != Boundary::Inside || (from_begin ? at : place_in_row(at, rows)) != place)
        return refuse("other-element", "'" + second_.name + "' does not go through " + all + " one by one");
      meeting.values[node.get()] = element(rows);
    }
    if (!loses_place(meeting, from_begin) || !has_room_inside(meeting)) return std::nullopt;
    return meeting;
  }

  /// Can the second stage do without the place of an element in its row, and without where rows begin?
  bool loses_place(Meeting& meeting, bool from_begin) {
    const Output& rows = *meeting.collection;
    const DimId own = second_.dims[1].id;
    bool place = false, begin = false;
    const auto look = [&](Expr root) {
      if (!root) return;
      const Expr rest = rewrite(*program_.pool, root, [&](Expr node) {
        return meeting.values.contains(node.get()) ? program_.pool->arg(0, node->type) : Expr{};
      });
      place = place || mentions(rest, own);
      begin = begin || mentions(rest, *rows.offsets);
    };
    for (std::size_t d = 0; d < second_.dims.size(); ++d) {
      if (d == 1) continue;
      look(second_.dims[d].lo);
      look(second_.dims[d].hi);
    }
    for (const Output& output : second_.outputs) {
      const Combine& combine = output.combine[1];
      if (!is<Fold>(combine) && !is<Append>(combine) && !is<Scatter>(combine) && !is<Group>(combine))
        return no("combine", quoted(output.array) + " has one element for each in a row");
      if (output.into && !output.accumulates && is<Fold>(combine))
        return no("version", quoted(output.array) + " keeps its old elements where a row is empty");
      for (const Expr e : {output.value, output.guard, output.key}) look(e);
      for (const Expr e : output.at) look(e);
    }
    for (const Effect& effect : second_.effects) {
      look(effect.guard);
      for (const auto& argument : effect.arguments)
        if (const Expr* e = std::get_if<Expr>(&argument)) look(*e);
    }
    if (begin)
      return no("whole", "'" + second_.name + "' needs to know where in memory rows of " +
                             quoted(rows.array) + " begin");
    // Every point of the loop over the row has its element in the row: then its index is the place.
    const bool one_by_one = !rows.guard && first_.dims.size() == 2 && integer_of(first_.dims[1].lo) == 0;
    if (place && (from_begin || !one_by_one))
      return no("position", "the place of an element in a row of " + quoted(rows.array) + " is used");
    if (place) meeting.names[own] = first_.dims[1].id;
    return true;
  }

  /// Can the second stage do without the position of an element, or with counting them, and without the
  /// length?
  bool loses_position(Meeting& meeting, const std::string& elements) {
    const Dim& outer = second_.dims.front();
    const Expr index = program_.pool->index(outer.id);
    const auto* length = as<SizeRef>(outer.hi);
    bool position = false, long_as = false;
    const auto look = [&](Expr root) {
      if (!root) return;
      const Expr rest = rewrite(*program_.pool, root, [&](Expr node) {
        return meeting.values.contains(node.get()) ? program_.pool->arg(0, node->type) : Expr{};
      });
      position = position || mentions(rest, outer.id);
      visit(rest, [&](Expr node) {
        const auto* size = as<SizeRef>(node);
        long_as = long_as || (size && size->symbol == length->symbol);
      });
    };
    for (std::size_t d = 1; d < second_.dims.size(); ++d) {
      look(second_.dims[d].lo);
      look(second_.dims[d].hi);
    }
    for (const Output& output : second_.outputs) {
      for (const Expr e : {output.value, output.guard, output.key}) look(e);
      if (is_map(output, index) || is_scan(output, index) || is_running(output)) continue;
      const Combine& combine = output.combine.front();
      if (const auto* scan = std::get_if<Scan>(&combine); scan && !scan->op.identity)
        return no("identity", quoted(output.array) +
                                  " is scanned by an operator without an identity, which has no "
                                  "value before the first of " +
                                  elements);
      if (!is<Fold>(combine) && !is<Append>(combine) && !is<Scatter>(combine) && !is<Group>(combine))
        return no("combine", quoted(output.array) + " has one element for each of " + elements +
                                 (second_.dims.size() > 1
                                      ? ", and loops inside, which compute several elements at a time"
                                      : ""));
      if (is<Append>(combine) && output.offsets)
        return no("combine", quoted(output.array) + " has rows for " + elements);
      if (meeting.collection && meeting.collection->guard && output.into && !output.accumulates &&
          is<Fold>(combine))
        return no("version",
                  quoted(output.array) + " keeps its old elements if there are none of " + elements);
      for (const Expr e : output.at) look(e);
      for (const Expr extent : program_[output.array].shape) look(extent);
    }
    for (const Effect& effect : second_.effects) {
      look(effect.guard);
      for (const auto& argument : effect.arguments)
        if (const Expr* e = std::get_if<Expr>(&argument)) look(*e);
    }
    // Only loops that are all its own have a counter that goes on with each element.
    meeting.counts = position && second_.dims.size() == 1;
    if (meeting.counts && runs_from_right(first_))
      return no("direction", "'" + first_.name + "' runs from the right, and positions are counted in order");
    if (position && !meeting.counts)
      return no("position", "the position of an element among " + elements + " is used");
    if (long_as) return no("length", "the number of " + elements + " is used");
    return true;
  }

  /// One value for each element of the collection?
  bool is_map(const Output& output, Expr index) const {
    return second_.dims.size() == 1 && is<Cat>(output.combine.front()) && output.at.size() == 1 &&
           output.at.front() == index && !output.guard && !output.into &&
           program_[output.array].shape.front() == second_.dims.front().hi;
  }

  /// One running value for each element of the collection?
  bool is_scan(const Output& output, Expr index) const {
    const auto* scan = std::get_if<Scan>(&output.combine.front());
    return scan && scan->from == Direction::Left && scan->op.identity && second_.dims.size() == 1 &&
           output.at.size() == 1 && output.at.front() == index && !output.guard && !output.into &&
           program_[output.array].shape.front() == second_.dims.front().hi;
  }

  bool uses_length_of_first() const {
    const std::set<SymbolId> born = lengths_born_in(program_, first_);
    bool used = false;
    const auto look = [&](Expr root) {
      visit(root, [&](Expr node) {
        const auto* size = as<SizeRef>(node);
        used = used || (size && born.contains(size->symbol));
      });
    };
    if (born.empty()) return false;
    for_each_expr(second_, look);
    for (const Output& output : second_.outputs)
      for (const ArrayId array : defined_arrays(output))
        for (const Expr extent : program_[array].shape) look(extent);
    return used;
  }

  Expr renamed(Expr e, const std::map<DimId, DimId>& names) const {
    if (!e) return e;
    return rewrite(*program_.pool, e, [&](Expr node) {
      const auto* index = as<IndexRef>(node);
      const auto found = index ? names.find(index->dim) : names.end();
      return found == names.end() ? Expr{} : program_.pool->index(found->second, node->place);
    });
  }

  const Program& program_;
  const Stage& first_;
  const Stage& second_;
  const std::set<ArrayId>& gone_;
  bool by_index_;
};

/// Replaces reads by values and renames dimensions.
void settle(ExprPool& pool, Stage& stage, const Meeting& meeting) {
  for_each_slot(stage, [&](Expr& slot) {
    slot = rewrite(pool, slot, [&](Expr node) -> Expr {
      if (const auto value = meeting.values.find(node.get()); value != meeting.values.end())
        return value->second;
      const auto* index = as<IndexRef>(node);
      const auto name = index ? meeting.names.find(index->dim) : meeting.names.end();
      return name == meeting.names.end() ? Expr{} : pool.index(name->second, node->place);
    });
  });
}

/// A running value of a stage with these dimensions, and what reads it.
struct Runs {
  Output output;
  Expr value;
};
Runs running_value(Program& program, const Stage& stage, const std::string& wish, const Operator& op,
                   Expr value, Expr guard, const Place& place) {
  Output output;
  output.array = program.add_array(new_array_name(program, wish), op.type, {}, place);
  output.combine.assign(stage.dims.size(), Scan{op, Direction::Left});
  output.value = value;
  output.guard = guard;
  output.place = place;
  return {output, program.pool->read(output.array, op.type, {}, place)};
}

/// Makes the loops of a stage that goes over a collection those that fill it.
void go_through(Program& program, Stage& stage, const Stage& first, const Meeting& meeting) {
  ExprPool& pool = *program.pool;
  const Expr passes = meeting.collection->guard;
  const auto both = [&](Expr guard) {
    if (!passes) return guard;
    return guard ? pool.apply(Prim::And, {passes, guard}) : passes;
  };
  const auto depth = static_cast<std::ptrdiff_t>(meeting.depth);
  const DimId outer = stage.dims[meeting.depth].id;
  stage.dims.erase(stage.dims.begin(), stage.dims.begin() + depth + 1);
  for (Dim& inner : stage.dims) {
    if (!passes || meeting.runs_inside) break;
    // Nothing inside happens for an element that is not in the collection.
    if (!as<Literal>(inner.lo)) inner.lo = pool.select(passes, inner.lo, pool.integer(0));
    inner.hi = pool.select(passes, inner.hi, as<Literal>(inner.lo) ? inner.lo : pool.integer(0));
  }
  rename_inside(program, stage.dims, first.dims);
  stage.dims.insert(stage.dims.begin(), first.dims.begin(), first.dims.end());
  std::vector<Output> outputs;
  if (meeting.counts) {
    const Runs count = running_value(program, stage, program[meeting.collection->array].name + "_count",
                                     builtin_operator(pool, Prim::Add, Scalar::I64), pool.integer(1), passes,
                                     meeting.collection->place);
    const Expr number = pool.apply(Prim::Sub, {count.value, pool.integer(1)});
    for_each_slot(stage, [&](Expr& slot) {
      if (!slot) return;
      slot = rewrite(pool, slot, [&](Expr node) {
        const auto* index = as<IndexRef>(node);
        return index && index->dim == outer ? number : Expr{};
      });
    });
    outputs.push_back(count.output);
  }
  for (Output& output : stage.outputs) {
    output.guard = both(output.guard);
    Combine combine = output.combine[meeting.depth];
    const auto* scan = std::get_if<Scan>(&combine);
    if (scan && !is_running(output)) {
      const Runs running = running_value(program, stage, program[output.array].name + "_running", scan->op,
                                         output.value, output.guard, output.place);
      outputs.push_back(running.output);
      output.value = running.value;
    }
    if (is<Cat>(combine) || (scan && !is_running(output))) {
      combine = Append{};
      output.at.clear();
    }
    output.combine.erase(output.combine.begin() + depth);
    output.combine.insert(output.combine.begin() + depth, first.dims.size() - meeting.depth, combine);
    outputs.push_back(std::move(output));
  }
  stage.outputs = std::move(outputs);
  for (Effect& effect : stage.effects) effect.guard = both(effect.guard);
}

}  // namespace

std::vector<const Output*> gathered_outputs(const Stage& first, const Stage& second) {
  std::map<ArrayId, std::pair<Expr, bool>> reads;  // one of them, and whether all are at its place
  const auto subscripts = [](Expr node) { return std::span(node->args).first(as<Read>(node)->rules.size()); };
  for_each_expr(second, [&](Expr root) {
    visit(root, [&](Expr node) {
      const auto* read = as<Read>(node);
      if (!read || std::ranges::find(first.outputs, read->array, &Output::array) == first.outputs.end())
        return;
      auto& [any, same] = reads.try_emplace(read->array, node, true).first->second;
      same = same && std::ranges::equal(subscripts(any), subscripts(node));
    });
  });
  std::vector<const Output*> outputs;
  const auto by_itself = [](const Combine& combine) { return is<Cat>(combine) || is<Fold>(combine); };
  for (const Output& output : first.outputs)
    if (const auto read = reads.find(output.array);
        read != reads.end() && std::ranges::all_of(output.combine, by_itself))
      if (read->second.second && std::ranges::any_of(subscripts(read->second.first), reads_data))
        outputs.push_back(&output);
  return outputs;
}

std::optional<Reason> why_not_join(const Joint& joint) {
  Judge judge(joint);
  if (judge.meet()) return std::nullopt;
  return judge.reason;
}

Stage joined(Program& program, const Stage& first, const Stage& second, const std::set<ArrayId>& gone,
             bool by_index) {
  Judge judge({program, first, second, gone, by_index});
  const std::optional<Meeting> meeting = judge.meet();
  ensure(meeting.has_value(), "joined stages have to meet");
  Stage rest = second;
  for (const Output& output : first.outputs)
    if (meeting->by_index.contains(output.array)) inline_reads(program, first, output, rest);
  if (!meeting->same_range) return rest;
  settle(*program.pool, rest, *meeting);
  if (meeting->collection) {
    go_through(program, rest, first, *meeting);
  } else {
    rest.dims = first.dims;
  }
  Stage both = std::move(rest);
  std::vector<Output> outputs;
  for (const Output& output : first.outputs)
    if (!gone.contains(output.array)) outputs.push_back(output);
  both.outputs.insert(both.outputs.begin(), outputs.begin(), outputs.end());
  both.effects.insert(both.effects.begin(), first.effects.begin(), first.effects.end());
  return both;
}

}  // namespace twill
