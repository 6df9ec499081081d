// Collections, flat or of rows, and stages that go through their elements: maps, filters, folds, rows of
// rows, buckets, and effects.
#include "fuzz/generator.h"

#include <algorithm>

namespace twill {

/// A collection that a stage fills: which one, and what says where its rows begin, if it has rows.
Generator::Collection Generator::collection(const Type& type, const Surroundings& around,
                                            std::vector<Stage>& into) {
  Surroundings inside = around;
  Stage stage;
  const Extent some = any_extent();
  const NewDim outer = rectangular_dim(index_name("r", inside), some, 0);
  use(outer, inside);
  stage.dims.push_back(outer.dim);
  // Rows are counted in a size, which must not be negative.
  const bool rows = rng_.chance(60) && some.add >= 0 && !(some.base && reads_data(some.base));
  Surroundings alone = around;
  if (rows || rng_.chance(60)) {
    const NewDim inner = rng_.chance(50) ? rectangular_dim(index_name("j", inside), any_extent(), 0)
                                         : new_dim(index_name("j", inside), inside);
    use(inner, inside);
    use(inner, alone);
    stage.dims.push_back(inner.dim);
  }
  Output output;
  const std::string name = array_name("c");
  output.array = born(name, type, name + "_len");
  output.combine.assign(stage.dims.size(), Append{});
  std::optional<ArrayId> offsets;
  if (rows) {
    output.combine[0] = Cat{};
    offsets = array(name + "_offsets", Scalar::I64, {extent(some.base, some.mul, some.add + 1)});
    held_[*offsets].rows_of = held_.at(output.array).shape[0];
    output.offsets = offsets;
  }
  output.value = value(type, inside);
  // Conditions on an element, on where it stands in its row, which may be the same for all rows, or on both.
  if (rng_.chance(40)) output.guard = condition(alone, 4);
  if (rng_.chance(40)) {
    const Expr more = condition(inside, 4);
    output.guard = output.guard ? pool_.apply(Prim::And, {output.guard, more}) : more;
  }
  const Collection made{output.array, offsets, some};
  stage.outputs.push_back(std::move(output));
  finish(std::move(stage), into);
  return made;
}

/// A stage that goes through all elements, row by row if there are rows, or through one of each row; and the
/// element at its points.
Stage Generator::through(const Collection& collection, Surroundings& inside, Expr& element) {
  const ArrayId values = collection.values;
  const Extent all = held_.at(values).shape[0];
  Stage stage;
  Expr place;
  const auto offset = [&](Expr at) { return pool_.read(*collection.offsets, Scalar::I64, {at}); };
  if (collection.offsets && rng_.chance(20)) {
    // An element of each row: the program fails where one is too short.
    const NewDim row = rectangular_dim(index_name("r", inside), collection.rows, 0);
    use(row, inside);
    stage.dims.push_back(row.dim);
    const Expr r = pool_.index(row.dim.id), first = offset(r);
    const Expr end = offset(pool_.apply(Prim::Add, {r, pool_.integer(1)}));
    const Expr which = pool_.integer(rng_.between(0, 2));
    const Expr is_there = pool_.apply(Prim::Lt, {which, pool_.apply(Prim::Sub, {end, first})});
    const Expr at = pool_.select(is_there, pool_.apply(Prim::Add, {first, which}), pool_.integer(-1));
    element = pool_.read(values, program_[values].type, {at});
    return stage;
  }
  if (!collection.offsets || rng_.chance(15)) {
    const NewDim dim = rectangular_dim(index_name("k", inside), all, 0);
    use(dim, inside);
    stage.dims.push_back(dim.dim);
    place = pool_.index(dim.dim.id);
  } else {
    const NewDim row = rectangular_dim(index_name("r", inside), collection.rows, 0);
    use(row, inside);
    stage.dims.push_back(row.dim);
    const Expr r = pool_.index(row.dim.id);
    const Expr first = offset(r), end = offset(pool_.apply(Prim::Add, {r, pool_.integer(1)}));
    const bool counted = rng_.chance(50);
    const std::string name = index_name("j", inside);
    const DimId inner = program_.add_dim(name);
    const Expr j = pool_.index(inner);
    stage.dims.push_back({inner,
                          name,
                          counted ? pool_.integer(0) : first,
                          counted ? pool_.apply(Prim::Sub, {end, first}) : end,
                          {},
                          {}});
    use({stage.dims.back(), all, {}, false}, inside);
    place = counted ? pool_.apply(Prim::Add, {first, j}) : j;
  }
  element = pool_.read(values, program_[values].type, {place});
  return stage;
}

void Generator::collections(const Surroundings& around, std::vector<Stage>& into) {
  const Type type = rng_.chance(75) ? Type(integer_type()) : any_type();
  std::vector<Collection> made = {collection(type, around, into)};
  passing_.insert(made.front().values);
  for (auto readers = rng_.between(1, 3); readers > 0; --readers) {
    const Collection from = rng_.pick(made);
    Surroundings inside = around;
    Expr element;
    Stage stage = through(from, inside, element);
    const Expr number = type.is_integer() ? pool_.cast(Scalar::I64, element) : Expr{};
    const auto small = [&] {
      return number ? pool_.apply(Prim::Lt, {number, pool_.integer(rng_.between(-3, 6))})
                    : condition(inside, 4);
    };
    const bool effects_only = rng_.chance(30);
    if (effects_only || rng_.chance(15)) {
      Effect seen = effect(inside);
      if (number) seen.arguments.emplace_back(number);
      if (rng_.chance(60)) seen.guard = small();
      stage.effects.push_back(std::move(seen));
    }
    if (effects_only) {
      finish(std::move(stage), into);
      continue;
    }
    const bool by_row = stage.dims.size() > 1;
    Output output;
    output.value = rng_.chance(60) ? element : pool_.select(small(), value(type, inside), element);
    std::optional<Collection> next;
    switch (rng_.below(4)) {
      case 0: {
        if (rng_.chance(40)) {
          const NewDim more = rectangular_dim(index_name("m", inside), extent({}, 0, rng_.between(0, 3)), 0);
          use(more, inside);
          stage.dims.push_back(more.dim);
        }
        const std::string name = array_name("c");
        output.array = born(name, type, name + "_len");
        output.combine.assign(stage.dims.size(), Append{});
        next = Collection{output.array, {}, from.rows};
        if (by_row && rng_.chance(60)) {
          output.combine[0] = Cat{};
          output.offsets = array(name + "_offsets", Scalar::I64,
                                 {extent(from.rows.base, from.rows.mul, from.rows.add + 1)});
          held_[*output.offsets].rows_of = held_.at(output.array).shape[0];
          next->offsets = output.offsets;
        }
        break;
      }
      case 1: {
        const Operator op = some_operator(type, true);
        output.combine.assign(stage.dims.size(), Fold{op});
        std::vector<Extent> shape;
        if (by_row && rng_.chance(70)) {
          output.combine[0] = Cat{};
          output.at = {pool_.index(stage.dims[0].id)};
          shape = {from.rows};
        }
        output.array = array(array_name("f"), type, shape);
        if (!op.identity) output.guard = {};
        break;
      }
      case 2: {
        const Extent bins = extent({}, 0, rng_.between(1, 9));
        output.combine.assign(stage.dims.size(), Scatter{any_operator(type, true)});
        output.array = array(array_name("h"), type, {bins});
        output.at = {pool_.apply(Prim::Mod, {number ? number : index_value(inside, 3), bins.expr})};
        break;
      }
      default: {
        const std::optional<Operator> op = any_operator(type, true);
        const std::string name = array_name("g");
        output.combine.assign(stage.dims.size(), Group{op});
        output.key = pool_.apply(Prim::Mod, {number ? number : index_value(inside, 3), pool_.integer(4)});
        if (op) {
          output.keys = born(name + "_keys", Scalar::I64, name + "_len");
          output.array = array(name, type, held_.at(*output.keys).shape);
        } else {
          output.array = born(name, type, name + "_total");
          output.keys = born(name + "_keys", Scalar::I64, name + "_len");
          const Extent buckets = held_.at(*output.keys).shape[0];
          output.offsets = array(name + "_offsets", Scalar::I64, {extent(buckets.base, 1, 1)});
          held_[*output.offsets].rows_of = held_.at(output.array).shape[0];
        }
        break;
      }
    }
    const auto* fold = output.combine.empty() ? nullptr : std::get_if<Fold>(&output.combine.back());
    if ((!fold || fold->op.identity) && rng_.chance(50)) output.guard = small();
    if (next) made.push_back(*next);
    stage.outputs.push_back(std::move(output));
    finish(std::move(stage), into);
  }
}

}  // namespace twill
