// Running values of a collection that is not made. A scan of the elements that a filter lets pass is a scan
// of all of them that stands still where the filter lets none pass, and what it has there is left out: both
// run in one loop, and nothing is in memory between them.
#include "simplify/passes.h"

#include "fuse/profit.h"
#include "program/edit.h"
#include "program/index_use.h"
#include "simplify/rewriting.h"

#include <algorithm>

namespace twill {

namespace {

class FilteredScans {
 public:
  FilteredScans(Region& region, Notes& notes)
      : region_(region), program_(region.program), pool_(*region.program.pool), notes_(notes) {}

  bool run() {
    bool changed = false;
    for (int c = 0; c < static_cast<int>(region_.stages.size()); ++c) {
      if (!scans(stage(c))) continue;
      const UseTable uses(region_);
      for (const ArrayId array : uses.reads(c)) {
        const int p = uses.definer(array);
        if (p < 0 || p >= c || !filters(stage(p)) || !are_only_for_each_other(uses, p, c)) continue;
        if (why_worse(program_, stage(p), operations_of(stage(p)), stage(c))) continue;
        draw_together(p, c);
        changed = true;
        break;
      }
    }
    return changed;
  }

 private:
  Stage& stage(int position) { return region_.stages[static_cast<std::size_t>(position)]; }

  /// One output or more, each a scan from the left or an element of the same place.
  static bool scans(const Stage& consumer) {
    if (consumer.dims.size() != 1 || !consumer.effects.empty() || has_hint(consumer, Hint::Never) ||
        !std::holds_alternative<Formula>(consumer.body) || integer_of(consumer.dims.front().lo) != 0)
      return false;
    const DimId own = consumer.dims.front().id;
    const auto fits = [&](const Output& output) {
      const auto* scan = std::get_if<Scan>(&output.combine.front());
      const auto* at = output.at.size() == 1 ? as<IndexRef>(output.at.front()) : nullptr;
      return at && at->dim == own && !output.into && !output.force && !output.guard &&
             (is<Cat>(output.combine.front()) ||
              (scan && scan->op.identity && scan->from == Direction::Left));
    };
    return std::all_of(consumer.outputs.begin(), consumer.outputs.end(), fits) &&
           std::any_of(consumer.outputs.begin(), consumer.outputs.end(),
                       [](const Output& output) { return is<Scan>(output.combine.front()); });
  }

  static bool filters(const Stage& producer) {
    if (producer.dims.size() != 1 || !producer.effects.empty() || producer.outputs.empty() ||
        has_hint(producer, Hint::Never) || !std::holds_alternative<Formula>(producer.body))
      return false;
    const Dim& dim = producer.dims.front();
    const Expr guard = producer.outputs.front().guard;
    return integer_of(dim.lo) == 0 && dim.hi && !dim.condition && !reads_data(dim.hi) && guard &&
           std::all_of(producer.outputs.begin(), producer.outputs.end(), [&](const Output& output) {
             return is<Append>(output.combine.front()) && output.guard == guard && !output.force;
           });
  }

  /// Does nobody else need what the producer makes, and does the consumer need nothing else by position?
  bool are_only_for_each_other(const UseTable& uses, int p, int c) {
    const Stage &producer = stage(p), &consumer = stage(c);
    const std::set<SymbolId> lengths = lengths_born_in(program_, producer);
    const auto* length = as<SizeRef>(consumer.dims.front().hi);
    if (lengths.size() != 1 || !length || !lengths.contains(length->symbol)) return false;
    for (const int user : uses.users(length->symbol))
      if (user > p && user < c) return false;
    std::set<ArrayId> elements;
    for (const Output& output : producer.outputs) {
      if (uses.is_held(output.array) || uses.readers(output.array) != std::set{c}) return false;
      elements.insert(output.array);
    }
    const Expr index = pool_.index(consumer.dims.front().id);
    bool only = true;
    for (const Output& output : consumer.outputs) {
      const Expr rest = rewrite(pool_, output.value, [&](Expr node) -> Expr {
        const auto* read = as<Read>(node);
        const bool element = read && elements.contains(read->array) && node->args.front() == index &&
                             read->rules.front() == Boundary::Inside;
        return element ? pool_.arg(0, node->type) : Expr{};
      });
      visit(rest, [&](Expr node) {
        const auto* read = as<Read>(node);
        only = only && node != index && !(read && elements.contains(read->array));
        only = only && !(as<SizeRef>(node) && as<SizeRef>(node)->symbol == length->symbol);
      });
    }
    return only;
  }

  /// The producer becomes the scan of everything, and the consumer what is left of it.
  void draw_together(int p, int c) {
    const Stage producer = stage(p), consumer = stage(c);
    NewNames names(program_);
    const auto value_of = [&](Expr value) {
      return rewrite(pool_, value, [&](Expr node) -> Expr {
        const auto* read = as<Read>(node);
        if (!read) return {};
        for (const Output& output : producer.outputs)
          if (output.array == read->array) return output.value;
        return {};
      });
    };
    Stage running = producer, left = consumer;
    running.name = names.stage_like(consumer.name + "_running");
    running.outputs.clear();
    left.dims = producer.dims;
    const DimId fresh = program_.add_dim(producer.dims.front().name);
    left.dims.front().id = fresh;
    const auto at_left = [&](Expr e) {
      return rewrite(pool_, e, [&](Expr node) -> Expr {
        const auto* index = as<IndexRef>(node);
        return index && index->dim == producer.dims.front().id ? pool_.index(fresh) : Expr{};
      });
    };
    for (Output& output : left.outputs) {
      const Expr value = value_of(output.value);
      if (is<Scan>(output.combine.front())) {
        const Array& made = program_[output.array];
        Output scan = output;
        scan.array = program_.add_array(names.like(made.name + "_running"), made.type,
                                        {producer.dims.front().hi}, made.place);
        scan.at = {pool_.index(producer.dims.front().id)};
        scan.value = value;
        scan.guard = producer.outputs.front().guard;
        output.value = pool_.read(scan.array, program_[scan.array].type, {pool_.index(fresh)}, output.place);
        running.outputs.push_back(std::move(scan));
      } else {
        output.value = at_left(value);
      }
      output.combine = {Append{}};
      output.at.clear();
      output.guard = at_left(producer.outputs.front().guard);
    }
    notes_.done.push_back({"scan",
                           {producer.name, consumer.name},
                           "'" + consumer.name + "' goes over all that '" + producer.name +
                               "' goes over, and leaves out what that leaves out",
                           consumer.place});
    stage(p) = std::move(running);
    stage(c) = std::move(left);
  }

  Region& region_;
  Program& program_;
  ExprPool& pool_;
  Notes& notes_;
};

}  // namespace

bool scan_filters(Region& region, Notes& notes) { return FilteredScans(region, notes).run(); }

}  // namespace twill
