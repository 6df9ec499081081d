// Random pipelines: maps and folds over one range, where it matters which of them share a loop.
#include "fuzz/generator.h"

#include <algorithm>

namespace twill {

void Generator::pipeline(const Surroundings& around, std::vector<Stage>& into) {
  const Extent range = any_extent();
  const Type any = number_type(), type = is_narrow(any.scalar()) ? Type(Scalar::I64) : any;
  std::vector<ArrayId> arrays, totals;
  for (const ArrayId id : visible_) {
    const std::vector<Extent>& shape = held_.at(id).shape;
    if (program_[id].type == type && shape.size() == 1 && shape[0].expr == range.expr) arrays.push_back(id);
  }
  const int count = static_cast<int>(rng_.between(3, 8));
  for (int k = 0; k < count; ++k) {
    Surroundings inside = around;
    const NewDim dim = rectangular_dim(index_name("i", inside), range, 0);
    use(dim, inside);
    const auto element = [&]() -> Expr {
      if (arrays.empty() || rng_.chance(5)) return value(type, inside);
      const std::size_t near = std::min<std::size_t>(arrays.size(), 4);
      const ArrayId id =
          arrays[arrays.size() - 1 - static_cast<std::size_t>(rng_.below(static_cast<int>(near)))];
      return pool_.read(id, type, {pool_.index(dim.dim.id)});
    };
    Stage stage;
    stage.dims.push_back(dim.dim);
    Output output;
    if (rng_.chance(25)) {
      output.combine.push_back(Fold{some_operator(type, true)});
      output.array = array(array_name("t"), type, {});
      output.value = element();
    } else {
      output.combine.push_back(Cat{});
      output.at.push_back(pool_.index(dim.dim.id));
      output.array = array(array_name("p"), type, {range});
      const Expr other =
          totals.empty() || rng_.chance(60) ? element() : pool_.read(rng_.pick(totals), type, {});
      output.value = pool_.apply(rng_.chance(70) ? Prim::Add : Prim::Max, {element(), other});
    }
    const ArrayId made = output.array;
    (is<Fold>(output.combine.front()) ? totals : arrays).push_back(made);
    stage.outputs.push_back(std::move(output));
    finish(std::move(stage), into);
  }
}

/// A histogram for every row, and stages that read the row's bins: they can live as long as the row.
void Generator::histograms(const Surroundings& around, std::vector<Stage>& into) {
  const Extent rows = any_extent(), bins = extent({}, 0, rng_.between(1, 9));
  const Type any = number_type(), type = is_narrow(any.scalar()) ? Type(Scalar::I64) : any;
  const auto row_dim = [&](Surroundings& inside) {
    const NewDim dim = rectangular_dim(index_name("i", inside), rows, 0);
    use(dim, inside);
    return dim;
  };
  Surroundings inside = around;
  Stage first;
  first.dims = {row_dim(inside).dim};
  const Expr row = pool_.index(first.dims[0].id);
  for (int k = rng_.below(2); k >= 0; --k) {
    const NewDim point = rectangular_dim(index_name("k", inside), any_extent(), 0);
    use(point, inside);
    first.dims.push_back(point.dim);
  }
  Output scattered;
  scattered.combine.assign(first.dims.size(), Scatter{any_operator(type, true)});
  scattered.combine[0] = Cat{};
  scattered.array = array(array_name("h"), type, {rows, bins});
  scattered.at = {row, pool_.apply(Prim::Mod, {index_value(inside, 4), bins.expr})};
  scattered.value = value(type, inside);
  if (rng_.chance(30)) scattered.guard = condition(inside, 4);
  std::vector<ArrayId> made = {scattered.array};
  first.outputs.push_back(std::move(scattered));
  finish(std::move(first), into);
  for (int k = rng_.below(3); k >= 0; --k) {
    Surroundings here = around;
    Stage stage;
    stage.dims = {row_dim(here).dim};
    const NewDim bin = rectangular_dim(index_name("j", here), bins, 0);
    use(bin, here);
    stage.dims.push_back(bin.dim);
    const Expr at = pool_.index(stage.dims[0].id), column = pool_.index(bin.dim.id);
    const auto element = [&] {
      const Expr next = pool_.apply(Prim::Add, {column, pool_.integer(rng_.between(-2, 2))});
      return pool_.read(rng_.pick(made), type, {at, next}, {Boundary::Inside, Boundary::Clamp});
    };
    Output output;
    const bool folds = rng_.chance(30);
    output.combine = {Cat{}, Cat{}};
    if (folds) output.combine[1] = Fold{some_operator(type, true)};
    output.at = {at};
    std::vector<Extent> shape = {rows};
    if (!folds) {
      output.at.push_back(column);
      shape.push_back(bins);
    }
    output.array = array(array_name("h"), type, shape);
    output.value = pool_.apply(rng_.chance(60) ? Prim::Add : Prim::Min, {element(), element()});
    if (!folds) made.push_back(output.array);
    stage.outputs.push_back(std::move(output));
    finish(std::move(stage), into);
  }
}

/// Collections, and arrays, that a stage goes through one after the other.
void Generator::concats(const Surroundings& around, std::vector<Stage>& into) {
  const Type any = number_type(), type = is_narrow(any.scalar()) ? Type(Scalar::I64) : any;
  std::vector<ArrayId> candidates, parts;
  for (const ArrayId id : visible_) {
    const std::vector<Extent>& shape = held_.at(id).shape;
    if (program_[id].type == type && shape.size() == 1 && as<SizeRef>(shape[0].expr))
      candidates.push_back(id);
  }
  for (auto count = rng_.between(2, 4); count > 0; --count) {
    const bool fresh_one = candidates.empty() || rng_.chance(75);
    parts.push_back(fresh_one ? collected(type, around, into) : rng_.pick(candidates));
    if (fresh_one) passing_.insert(parts.back());
  }
  std::vector<Expr> ends;
  for (const ArrayId id : parts) {
    const Expr length = program_[id].shape[0];
    ends.push_back(ends.empty() ? length : pool_.apply(Prim::Add, {ends.back(), length}));
  }
  for (auto readers = rng_.between(1, 2); readers > 0; --readers) {
    Surroundings inside = around;
    const NewDim dim = rectangular_dim(index_name("k", inside), extent(ends.back(), 1, 0), 0);
    use(dim, inside);
    const Expr k = pool_.index(dim.dim.id);
    // A part, or several that were put together before, and what is made of its elements.
    const std::function<Expr(std::size_t, std::size_t)> element_of = [&](std::size_t first, std::size_t end) {
      const Expr place = first == 0 ? k : pool_.apply(Prim::Sub, {k, ends[first - 1]});
      Expr own;
      if (end - first == 1) {
        own = pool_.read(parts[first], type, std::vector{place});
      } else {
        const std::size_t middle =
            first + 1 + static_cast<std::size_t>(rng_.below(static_cast<int>(end - first - 1)));
        const bool from_begin = first == 0 || rng_.chance(50);
        const Expr upto =
            from_begin ? ends[middle - 1] : pool_.apply(Prim::Sub, {ends[middle - 1], ends[first - 1]});
        const Expr then = element_of(first, middle), otherwise = element_of(middle, end);
        own = pool_.select(pool_.apply(Prim::Lt, {from_begin ? k : place, upto}), then, otherwise);
      }
      return rng_.chance(75)
                 ? own
                 : pool_.apply(Prim::Max, {own, pool_.cast(type, pool_.integer(rng_.between(0, 3)))});
    };
    const Expr element = element_of(0, parts.size());
    Stage stage;
    stage.dims.push_back(dim.dim);
    Output output;
    switch (rng_.below(3)) {
      case 0:
        output.combine = {Cat{}};
        output.at = {k};
        output.array = array(array_name("p"), type, {dim.cap});
        break;
      case 1: {
        output.combine = {Append{}};
        const std::string name = array_name("c");
        output.array = born(name, type, name + "_len");
        if (rng_.chance(60)) output.guard = condition(inside, 5);
        break;
      }
      default:
        output.combine = {Fold{some_operator(type, true)}};
        output.array = array(array_name("t"), type, {});
        break;
    }
    output.value = rng_.chance(30) ? element : pool_.apply(Prim::Add, {element, value(type, inside)});
    stage.outputs.push_back(std::move(output));
    finish(std::move(stage), into);
  }
}

}  // namespace twill
