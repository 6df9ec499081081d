// Values that are remembered. An array that its only reader reads at a few neighbouring places need not be
// kept, if the reader goes through it from one end to the other: every element is computed once, a little
// ahead, and carried from step to step until it was read for the last time. The user asks for it
// (`@remember`), because the steps then run one after the other.
#include "simplify/passes.h"

#include "fuse/profit.h"
#include "program/edit.h"
#include "program/index_use.h"
#include "program/typing.h"
#include "simplify/rewriting.h"

#include <algorithm>
#include <map>

namespace twill {

namespace {

/// Beyond this many carried values an array is the better memory.
constexpr std::int64_t most_carried = 16;

class Remember {
 public:
  Remember(Region& region, Notes& notes)
      : region_(region), program_(region.program), pool_(*region.program.pool), notes_(notes) {}

  bool run() {
    bool changed = false;
    for (std::size_t p = 0; p < region_.stages.size(); ++p) {
      if (!has_hint(region_.stages[p], Hint::Remember)) continue;
      if (auto why = carry(static_cast<int>(p))) {
        notes_.not_done.push_back({"remember",
                                   {region_.stages[p].name},
                                   "'" + region_.stages[p].name + "' is not remembered: " + *why,
                                   region_.stages[p].place});
      } else {
        changed = true;
        --p;
      }
    }
    return changed;
  }

 private:
  Stage& stage(int position) { return region_.stages[static_cast<std::size_t>(position)]; }

  /// Does the stage have one value for every step of one loop, and nothing else?
  static bool is_map(const Stage& stage) {
    return std::holds_alternative<Formula>(stage.body) && stage.dims.size() == 1 && stage.effects.empty() &&
           std::all_of(stage.outputs.begin(), stage.outputs.end(), [](const Output& output) {
             return is<Cat>(output.combine.front()) && output.at.size() == 1 && !output.guard &&
                    !output.into && !output.force;
           });
  }

  /// How far from the reader's own place a place is, if that is the same at every step.
  std::optional<std::int64_t> distance(Expr place, DimId own) const {
    if (factor_of(place, own) != 1) return std::nullopt;
    return integer_of(rewrite(pool_, place, [&](Expr node) {
      const auto* index = as<IndexRef>(node);
      return index && index->dim == own ? pool_.integer(0) : Expr{};
    }));
  }

  /// The distances of all elements that it reads; nothing if one of them has none.
  std::optional<std::set<std::int64_t>> distances(const Stage& reader, ArrayId array) const {
    std::set<std::int64_t> found;
    bool fixed = true;
    for_each_expr(reader, [&](Expr root) {
      visit(root, [&](Expr node) {
        const auto* read = as<Read>(node);
        if (!read || read->array != array) return;
        const auto from_here = distance(node->args.front(), reader.dims.front().id);
        fixed = fixed && read->rules.front() == Boundary::Inside && from_here;
        if (fixed) found.insert(*from_here);
      });
    });
    return fixed ? std::optional(found) : std::nullopt;
  }

  /// Nothing if it is done, or why it cannot be.
  std::optional<std::string> carry(int p) {
    const Stage& producer = stage(p);
    if (!producer.effects.empty()) return "it has effects of its own";
    if (!is_map(producer) || producer.outputs.size() != 1 ||
        producer.outputs.front().at.front() != pool_.index(producer.dims.front().id))
      return "it does not have one value for each step of a loop";
    const ArrayId array = producer.outputs.front().array;
    const UseTable uses(region_);
    if (uses.is_held(array) || uses.readers(array).size() != 1)
      return "'" + program_[array].name + "' is needed by other than one stage";
    const int c = *uses.readers(array).begin();
    const std::string reader = "'" + stage(c).name + "'";
    if (!is_map(stage(c))) return reader + " does not have one value for each step of a loop";
    const auto places = distances(stage(c), array);
    if (!places) return reader + " reads it at places that are not at a fixed distance";
    const std::int64_t first = *places->begin(), last = *places->rbegin();
    if (first == last) return reader + " reads every element once";
    if (last - first > most_carried) return reader + " reads it at places that are far apart";
    replace(p, c, first, last);
    return std::nullopt;
  }

  /// The element of the producer at a place, as the array would hold it.
  Expr element(const Stage& producer, Expr at) {
    const DimId own = producer.dims.front().id;
    const Expr value = rewrite(pool_, producer.outputs.front().value, [&](Expr node) {
      const auto* index = as<IndexRef>(node);
      return index && index->dim == own ? at : Expr{};
    });
    return pool_.cast(program_[producer.outputs.front().array].type, value);
  }

  static Stage scalar(std::string name, ArrayId array, Expr value, const Place& place) {
    Stage stage;
    stage.name = std::move(name);
    stage.place = place;
    Output output;
    output.array = array;
    output.value = value;
    output.place = place;
    stage.outputs.push_back(std::move(output));
    return stage;
  }

  void replace(int p, int c, std::int64_t first, std::int64_t last) {
    const Stage producer = stage(p);
    Stage reader = stage(c);
    const Array remembered = program_[producer.outputs.front().array];
    const Dim& dim = reader.dims.front();
    const Expr index = pool_.index(dim.id);
    NewNames names(program_);
    const auto new_scalar = [&](const std::string& suffix) {
      return program_.add_array(names.like(remembered.name + suffix), remembered.type, {}, remembered.place);
    };
    const auto shifted = [&](Expr e, std::int64_t by) {
      return pool_.apply(Prim::Add, {e, pool_.integer(by)});
    };

    Block block;
    std::vector<Stage> before;
    std::map<std::int64_t, ArrayId> at;  // by distance
    // Without a step nothing is computed.
    const Expr runs = pool_.apply(Prim::Lt, {dim.lo, dim.hi});
    for (std::int64_t k = first; k < last; ++k) {
      const ArrayId start = new_scalar("_first"), inside = new_scalar("_before");
      before.push_back(
          scalar(names.stage_like(program_[start].name), start,
                 pool_.select(runs, element(producer, shifted(dim.lo, k)), zero_of(pool_, remembered.type)),
                 producer.place));
      block.carries.push_back({inside, start, {}});
      at[k] = inside;
    }
    at[last] = new_scalar("_now");
    block.stages.push_back(scalar(names.stage_like(program_[at[last]].name), at[last],
                                  element(producer, shifted(index, last)), producer.place));
    for (std::size_t k = 0; k < block.carries.size(); ++k)
      block.carries[k].next = at.at(first + static_cast<std::int64_t>(k) + 1);
    for (Output& output : reader.outputs) {
      output.combine = {Seq{}};
      output.value = rewrite(pool_, output.value, [&](Expr node) -> Expr {
        const auto* read = as<Read>(node);
        if (!read || read->array != remembered.id) return {};
        return pool_.read(at.at(*distance(node->args.front(), dim.id)), remembered.type, {});
      });
      block.results.push_back({});
    }
    reader.body = Nested{std::make_shared<const Block>(std::move(block))};
    notes_.done.push_back({"remembered",
                           {producer.name, reader.name},
                           "'" + reader.name + "' computes '" + producer.name + "' once and carries it along",
                           producer.place});
    stage(c) = std::move(reader);
    region_.stages.insert(region_.stages.begin() + c, std::make_move_iterator(before.begin()),
                          std::make_move_iterator(before.end()));
    region_.stages.erase(region_.stages.begin() + p);
  }

  Region& region_;
  Program& program_;
  ExprPool& pool_;
  Notes& notes_;
};

}  // namespace

bool remember_values(Region& region, Notes& notes) { return Remember(region, notes).run(); }

}  // namespace twill
