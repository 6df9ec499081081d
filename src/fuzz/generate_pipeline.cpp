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

}  // namespace twill
