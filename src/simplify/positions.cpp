// Positions in a collection that is not made. A stage that goes through the elements of a collection and uses
// their positions as numbers could be part of the loop that finds them, if that loop knew how many it has
// found so far. That number is a scan: it runs next to the stage, in the same loop, and needs no memory.
#include "simplify/passes.h"

#include "fuse/join.h"
#include "fuse/profit.h"
#include "program/edit.h"
#include "program/index_use.h"
#include "program/typing.h"
#include "simplify/rewriting.h"

#include <algorithm>

namespace twill {

namespace {

class Positions {
 public:
  Positions(Region& region, Notes& notes) : region_(region), program_(region.program), notes_(notes) {}

  bool run() {
    bool changed = false;
    for (int c = 0; c < static_cast<int>(region_.stages.size()); ++c) {
      if (!may_go_over(stage(c))) continue;
      const UseTable uses(region_);
      for (const ArrayId array : uses.reads(c)) {
        const int p = uses.definer(array);
        if (p < 0 || p >= c || !count(uses, p, c)) continue;
        changed = true;
        break;
      }
    }
    return changed;
  }

 private:
  Stage& stage(int position) { return region_.stages[static_cast<std::size_t>(position)]; }

  /// Does the stage go through something whose length is found at run time?
  bool may_go_over(const Stage& consumer) const {
    const auto* length = consumer.dims.empty() ? nullptr : as<SizeRef>(consumer.dims.front().hi);
    return length && program_[length->symbol].origin == Symbol::Origin::Born;
  }

  /// Makes the consumer part of the producer's loop, and the producer the stage that counts.
  bool count(const UseTable& uses, int p, int c) {
    Stage &producer = stage(p), &consumer = stage(c);
    if (!can_be_counted(producer)) return false;
    const std::set<ArrayId> gone = gone_into(region_, uses, p, c);
    for (const Output& output : producer.outputs)
      if (!gone.contains(output.array)) return false;
    for (const SymbolId length : lengths_born_in(program_, producer))
      for (const int user : uses.users(length))
        if (user > p && user < c) return false;
    if (why_worse(program_, producer, operations_of(producer), consumer)) return false;
    const auto apart = why_not_join({program_, producer, consumer, gone});
    if (!apart || apart->code != "position" || !uses_as_number(consumer)) return false;

    NewNames names(program_);
    Stage counter = scan_of(producer, names);
    Stage counted = with_number(consumer, producer.dims.front(), counter.outputs.front().array);
    if (why_not_join({program_, producer, counted, gone})) return false;
    counted = joined(program_, producer, counted, gone);
    notes_.done.push_back({"position",
                           {producer.name, consumer.name},
                           "'" + producer.name + "' is computed inside of '" + consumer.name +
                               "', and its elements are counted in '" + counter.name + "'",
                           consumer.place});
    consumer = std::move(counted);
    producer = std::move(counter);
    return true;
  }

  /// A filter of a range that starts at 0 and has a length of its own.
  static bool can_be_counted(const Stage& producer) {
    if (producer.dims.size() != 1 || !producer.effects.empty() || producer.outputs.empty()) return false;
    const Dim& dim = producer.dims.front();
    bool fixed = integer_of(dim.lo) == 0 && !dim.condition;
    visit(dim.hi, [&](Expr node) {
      const auto* read = as<Read>(node);
      fixed = fixed && !as<IndexRef>(node) && !(read && !read->rules.empty());
    });
    return fixed && producer.outputs.front().guard &&
           std::all_of(producer.outputs.begin(), producer.outputs.end(), [&](const Output& output) {
             return is<Append>(output.combine.front()) && output.guard == producer.outputs.front().guard;
           });
  }

  /// Where an output combines its points in any way that does not have to be counted first, the number of an
  /// element may decide about everything.
  static bool may_decide(const Output& output) {
    return is<Fold>(output.combine.front()) || is<Scatter>(output.combine.front()) ||
           is<Group>(output.combine.front());
  }

  /// Is the position nowhere but in values, or where outputs let it decide, and there in no other subscript
  /// than the collection's?
  bool uses_as_number(const Stage& consumer) const {
    const DimId own = consumer.dims.front().id;
    const Expr length = consumer.dims.front().hi, index = program_.pool->index(own);
    const auto no = [&](Expr e) { return !e || !mentions(e, own); };
    // Everything but reads of the collection itself, element by element.
    const auto elsewhere = [&](Expr root, bool in_subscripts) {
      bool found = false;
      if (!root) return found;
      visit(rewrite(*program_.pool, root,
                    [&](Expr node) {
                      const auto* read = as<Read>(node);
                      const bool element = read && program_[read->array].shape.size() == 1 &&
                                           program_[read->array].shape.front() == length &&
                                           node->args.front() == index;
                      return element ? program_.pool->arg(0, node->type) : Expr{};
                    }),
            [&](Expr node) {
              if (!in_subscripts) found = found || node == index;
              if (!as<Read>(node)) return;
              found = found || std::any_of(node->args.begin(), node->args.end(), std::not_fn(no));
            });
      return found;
    };
    for (std::size_t d = 1; d < consumer.dims.size(); ++d)
      if (elsewhere(consumer.dims[d].lo, true) || elsewhere(consumer.dims[d].hi, true)) return false;
    for (const Output& output : consumer.outputs) {
      if (output.value && elsewhere(output.value, true)) return false;
      const bool decides = may_decide(output);
      for (const Expr e : {output.guard, output.key})
        if (e && elsewhere(e, decides)) return false;
      const bool map = output.at.size() == 1 && output.at.front() == index && !decides;
      const bool fits = std::all_of(output.at.begin(), output.at.end(),
                                    [&](Expr e) { return decides ? !elsewhere(e, true) : no(e); });
      if (!map && !fits) return false;
    }
    for (const Effect& effect : consumer.effects) {
      if (effect.guard && elsewhere(effect.guard, false)) return false;
      for (const auto& argument : effect.arguments)
        if (const Expr* e = std::get_if<Expr>(&argument); e && elsewhere(*e, true)) return false;
    }
    return true;
  }

  /// How many elements there are up to and including a point.
  Stage scan_of(const Stage& producer, NewNames& names) {
    ExprPool& pool = *program_.pool;
    const Dim& old = producer.dims.front();
    const std::string name = names.like(program_[producer.outputs.front().array].name + "_count");
    Stage counter;
    counter.name = names.stage_like(name);
    counter.place = producer.place;
    Dim dim = old;
    dim.id = program_.add_dim(old.name);
    counter.dims.push_back(dim);
    Output output;
    output.array = program_.add_array(name, Scalar::I64, {dim.hi}, producer.place);
    output.at = {pool.index(dim.id)};
    output.combine = {Scan{builtin_operator(pool, Prim::Add, Scalar::I64), Direction::Left}};
    output.value = rewrite(
        pool, pool.select(producer.outputs.front().guard, pool.integer(1), pool.integer(0)), [&](Expr node) {
          const auto* index = as<IndexRef>(node);
          return index && index->dim == old.id ? pool.index(dim.id, node->place) : Expr{};
        });
    output.place = producer.place;
    counter.outputs.push_back(std::move(output));
    return counter;
  }

  /// The consumer with the number of the element, found by the producer's point, for its position.
  Stage with_number(Stage consumer, const Dim& point, ArrayId counts) {
    ExprPool& pool = *program_.pool;
    const Expr index = pool.index(consumer.dims.front().id);
    const Expr length = consumer.dims.front().hi;
    const Expr number =
        pool.apply(Prim::Sub, {pool.read(counts, Scalar::I64, {pool.index(point.id)}), pool.integer(1)});
    const auto counted = [&](Expr root) {
      return rewrite(pool, root, [&](Expr node) -> Expr {
        const auto* read = as<Read>(node);
        if (read && program_[read->array].shape.size() == 1 && program_[read->array].shape.front() == length)
          return node;
        return node == index ? number : Expr{};
      });
    };
    for (Output& output : consumer.outputs) {
      if (output.value) output.value = counted(output.value);
      if (!may_decide(output)) continue;
      for (Expr* e : {&output.guard, &output.key})
        if (*e) *e = counted(*e);
      for (Expr& e : output.at) e = counted(e);
    }
    for (Effect& effect : consumer.effects)
      for (auto& argument : effect.arguments)
        if (Expr* e = std::get_if<Expr>(&argument)) *e = counted(*e);
    return consumer;
  }

  Region& region_;
  Program& program_;
  Notes& notes_;
};

}  // namespace

bool count_positions(Region& region, Notes& notes) { return Positions(region, notes).run(); }

}  // namespace twill
