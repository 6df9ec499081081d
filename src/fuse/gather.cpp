#include "fuse/gather.h"

#include "fuse/profit.h"
#include "program/check.h"
#include "program/edit.h"
#include "program/index_use.h"

#include <algorithm>
#include <map>

namespace twill {

namespace {

/// The reads of the first stage's arrays in the second's expressions.
std::vector<Expr> reads_of_first(const Stage& first, const Stage& second) {
  std::set<ArrayId> made;
  for (const Output& output : first.outputs)
    for (const ArrayId array : defined_arrays(output)) made.insert(array);
  std::vector<Expr> found;
  std::set<const Node*> seen;
  for_each_expr(second, [&](Expr root) {
    visit(root, [&](Expr node) {
      const auto* read = as<Read>(node);
      if (read && made.contains(read->array) && seen.insert(node.get()).second) found.push_back(node);
    });
  });
  return found;
}

std::vector<Expr> subscripts_of(Expr node) {
  const std::size_t count = as<Read>(node)->rules.size();
  return {node->args.begin(), node->args.begin() + static_cast<std::ptrdiff_t>(count)};
}

Reason refusal(const Stage& first, const Stage& second, std::string code, const std::string& why) {
  return {std::move(code),
          {first.name, second.name},
          "'" + first.name + "' is not computed in the order of '" + second.name + "': " + why,
          second.place};
}

std::string quoted(const Program& program, ArrayId array) { return "'" + program[array].name + "'"; }

/// Does the output have one element for each point, or one for each that is left when dimensions are folded,
/// at the point's own place?
bool is_elementwise(const Stage& stage, const Output& output) {
  if (output.into || output.offsets || output.keys || is_running(output)) return false;
  std::set<DimId> kept, written;
  bool folds = false;
  for (std::size_t d = 0; d < stage.dims.size(); ++d) {
    if (is<Cat>(output.combine[d]))
      kept.insert(stage.dims[d].id);
    else if (is<Fold>(output.combine[d]))
      folds = true;
    else
      return false;
  }
  for (const Expr at : output.at) {
    const auto* index = as<IndexRef>(at);
    if (!index || !written.insert(index->dim).second) return false;
  }
  return kept == written && (folds || !output.guard);
}

/// The first stage in the order of the second, and the second reading its own places.
class InOrder {
 public:
  InOrder(Program& program, const Stage& first, const Stage& second)
      : program_(program), pool_(*program.pool), first_(first), second_(second) {}

  std::optional<Reason> why_not() const {
    const auto no = [&](std::string code, const std::string& why) {
      return refusal(first_, second_, std::move(code), why);
    };
    for (const Stage* stage : {&first_, &second_}) {
      if (has_hint(*stage, Hint::Never)) return no("never", "'" + stage->name + "' says never");
      if (!std::holds_alternative<Formula>(stage->body))
        return no("block", "'" + stage->name + "' is a block");
    }
    if (!first_.effects.empty()) return no("effect", "it has effects of its own");
    for (const Output& output : first_.outputs) {
      if (output.force) return no("forced", quoted(program_, output.array) + " is forced");
      if (!is_elementwise(first_, output))
        return no("not-a-map", quoted(program_, output.array) + " is not computed element by element");
      if (output.at != first_.outputs.front().at)
        return no("not-a-map", "its results have different places for an index");
      for (const Output& version : second_.outputs)
        if (version.into == output.array)
          return no("version", "it makes a new version of " + quoted(program_, output.array));
    }
    for (const Dim& dim : second_.dims) {
      bool plain = integer_of(dim.lo) == 0 && dim.hi && !dim.condition;
      if (plain) visit(dim.hi, [&](Expr node) { plain = plain && !as<IndexRef>(node) && !as<Read>(node); });
      if (!plain) return no("range", "the range of '" + dim.name + "' is not known before");
    }
    for (const Expr node : reads_of_first(first_, second_))
      for (const Boundary rule : as<Read>(node)->rules)
        if (rule != Boundary::Inside) return no("boundary", "it is read beyond its boundary");
    if (!is_read_everywhere()) return no("guard", "it is not read at every point");
    return std::nullopt;
  }

  /// Changes both.
  void rewrite_both(Stage& first, Stage& second) {
    place();
    std::map<ArrayId, ArrayId> own;
    std::vector<Expr> shape, at;
    for (const Dim& dim : second_.dims) {
      shape.push_back(dim.hi);
      at.push_back(pool_.index(dim.id));
    }
    for (const Output& output : first_.outputs) {
      const Array array = program_[output.array];
      own[output.array] =
          program_.add_array(new_array_name(program_, array.name), array.type, shape, array.place);
    }
    second = read_own(second_, own, at);
    first = reordered(own);
  }

 private:
  /// Then nothing is computed that was not needed before, and no error happens that did not.
  bool is_read_everywhere() const {
    return std::any_of(second_.outputs.begin(), second_.outputs.end(), [&](const Output& output) {
      if (output.guard) return false;
      bool found = false;
      visit_surely(output.value, [&](Expr node) {
        const auto* read = as<Read>(node);
        found = found || (read && std::any_of(first_.outputs.begin(), first_.outputs.end(),
                                              [&](const Output& o) { return o.array == read->array; }));
      });
      return found;
    });
  }

  /// Where the second stage reads, by subscript; and whether that is an element at all.
  void place() {
    const Expr node = reads_of_first(first_, second_).front();
    const ArrayId array = as<Read>(node)->array;
    const auto unproven = unproven_reads(program_, second_, array);
    places_ = subscripts_of(node);
    for (std::size_t k = 0; k < places_.size(); ++k) {
      if (!unproven.contains({node.get(), static_cast<int>(k)})) continue;
      places_[k] = pool_.apply(Prim::Within, {places_[k], program_[array].shape[k]}, node->place);
      const Expr is_one = pool_.apply(Prim::Le, {pool_.integer(0), places_[k]});
      exists_ = exists_ ? pool_.apply(Prim::And, {exists_, is_one}) : is_one;
    }
  }

  /// Reads at the own point; the index is still looked at, whatever the first stage makes of it.
  Stage read_own(Stage stage, const std::map<ArrayId, ArrayId>& own, const std::vector<Expr>& at) {
    for_each_slot(stage, [&](Expr& slot) {
      if (!slot) return;
      slot = rewrite(pool_, slot, [&](Expr node) -> Expr {
        const auto* read = as<Read>(node);
        const auto found = read ? own.find(read->array) : own.end();
        if (found == own.end()) return {};
        const Expr element = pool_.read(found->second, node->type, at, node->place);
        return exists_ ? pool_.select(exists_, element, element) : element;
      });
    });
    return stage;
  }

  Stage reordered(const std::map<ArrayId, ArrayId>& own) {
    Stage stage = first_;
    std::map<DimId, Expr> index;  // of dimensions of both
    std::vector<Dim> dims;
    for (const Dim& dim : second_.dims) {
      dims.push_back(dim);
      dims.back().id = program_.add_dim(dim.name);
      index[dim.id] = pool_.index(dims.back().id);
    }
    const auto moved = [&](Expr e) {
      return e ? rewrite(pool_, e,
                         [&](Expr node) -> Expr {
                           const auto* ref = as<IndexRef>(node);
                           const auto found = ref ? index.find(ref->dim) : index.end();
                           return found == index.end() ? Expr{} : found->second;
                         })
               : e;
    };
    const Output& any = first_.outputs.front();
    for (std::size_t k = 0; k < places_.size(); ++k) index[as<IndexRef>(any.at[k])->dim] = moved(places_[k]);
    std::vector<Dim> folded;
    for (const Dim& dim : first_.dims)
      if (!index.contains(dim.id)) folded.push_back(dim);
    rename_inside(program_, folded, dims);
    std::vector<Expr> at;
    for (const Dim& dim : dims) at.push_back(pool_.index(dim.id));
    dims.insert(dims.end(), folded.begin(), folded.end());
    stage.dims = std::move(dims);
    for_each_slot(stage, [&](Expr& slot) { slot = moved(slot); });
    for (std::size_t o = 0; o < stage.outputs.size(); ++o) {
      Output& output = stage.outputs[o];
      output.array = own.at(output.array);
      output.at = at;
      std::vector<Combine> combine(second_.dims.size(), Cat{});
      for (const Combine& old : output.combine)
        if (is<Fold>(old)) combine.push_back(old);
      output.combine = std::move(combine);
    }
    return stage;
  }

  Program& program_;
  ExprPool& pool_;
  const Stage& first_;
  const Stage& second_;
  std::vector<Expr> places_;
  Expr exists_;
};

/// Does the second stage read what the first one makes at one place for each of its points, which data
/// decide?
bool gathers(const Stage& first, const Stage& second) {
  if (first.dims.empty() || second.dims.empty()) return false;
  const std::vector<Expr> reads = reads_of_first(first, second);
  if (reads.empty()) return false;
  const std::vector<Expr> place = subscripts_of(reads.front());
  return std::any_of(place.begin(), place.end(), reads_data) &&
         std::all_of(reads.begin(), reads.end(), [&](Expr node) { return subscripts_of(node) == place; });
}

}  // namespace

std::optional<Reason> take_order_of_readers(Program& program, std::span<Stage> stages,
                                            const std::function<std::set<int>(ArrayId)>& readers,
                                            const std::function<bool(int)>& shares) {
  for (std::size_t k = stages.size(); k-- > 1;) {
    for (std::size_t i = k; i-- > 0;) {
      if (!shares(static_cast<int>(i)) || !gathers(stages[i], stages[k])) continue;
      for (const Output& output : stages[i].outputs)
        if (readers(output.array) != std::set<int>{static_cast<int>(k)})
          return refusal(stages[i], stages[k], "shared",
                         quoted(program, output.array) + " is needed elsewhere as well");
      Stage first = stages[i], second = stages[k];
      InOrder in_order(program, first, second);
      if (auto reason = in_order.why_not()) return reason;
      in_order.rewrite_both(stages[i], stages[k]);
    }
  }
  return std::nullopt;
}

}  // namespace twill
