// Random gathers: what a stage makes is read at places that data decide, perhaps by stages that are gathered
// from in turn. An element may then be computed where it is read.
#include "fuzz/generator.h"

#include <algorithm>

namespace twill {

/// A map, or a fold along further dimensions, of one or two arrays' elements at the point's own place.
ArrayId Generator::gathered_from(const Type& type, const std::vector<Extent>& shape, const Surroundings& around,
                                 std::vector<Stage>& into) {
  Surroundings inside = around;
  std::vector<NewDim> dims;
  for (const Extent& extent : shape) {
    dims.push_back(rectangular_dim(index_name("i", inside), extent, 0));
    use(dims.back(), inside);
  }
  const bool folds = rng_.chance(35);
  if (folds)
    for (NewDim& dim : new_dims(1, inside)) dims.push_back(std::move(dim));
  Stage stage;
  for (const NewDim& dim : dims) stage.dims.push_back(dim.dim);
  const int outputs = 1 + rng_.weighted({80, 20});
  for (int k = 0; k < outputs; ++k) {
    Output output;
    output.combine.assign(dims.size(), Cat{});
    if (folds) output.combine.back() = Fold{some_operator(type, true)};
    for (std::size_t d = 0; d < shape.size(); ++d) output.at.push_back(pool_.index(dims[d].dim.id));
    output.array = array(array_name("g"), type, shape);
    output.value = value(type, inside);
    if (folds && rng_.chance(25)) output.guard = condition(inside, 4);
    passing_.insert(output.array);
    stage.outputs.push_back(std::move(output));
  }
  const ArrayId made = rng_.pick(stage.outputs).array;
  finish(std::move(stage), into);
  return made;
}

void Generator::gathers(const Surroundings& around, std::vector<Stage>& into) {
  const Type any = number_type(), type = is_narrow(any.scalar()) ? Type(Scalar::I64) : any;
  std::vector<Extent> shape = {any_extent()};
  if (rng_.chance(30)) shape.push_back(any_extent());
  ArrayId source = gathered_from(type, shape, around, into);
  for (auto steps = rng_.between(1, 3); steps > 0; --steps) {
    // Where it is read is mostly an array itself.
    const std::vector<Extent> range = {rng_.chance(30) ? shape[0] : any_extent()};
    const ArrayId places = rng_.chance(70) ? computed(Scalar::I64, range, around, into) : ArrayId{};
    Surroundings inside = around;
    const NewDim dim = rectangular_dim(index_name("j", inside), range[0], 0);
    use(dim, inside);
    const Expr j = pool_.index(dim.dim.id);
    std::vector<Expr> subscripts;
    std::vector<Boundary> rules;
    Expr there;
    for (const Extent& extent : held_.at(source).shape) {
      Expr at = places ? pool_.read(places, Scalar::I64, {j}) : index_value(inside, 4);
      Boundary rule = Boundary::Inside;
      // What is known before it runs has to be inside, and that nothing is inside is known as well.
      const bool is_empty = !extent.base && extent.add <= 0;
      switch (reads_data(at) && !is_empty ? rng_.weighted({45, 15, 25, 15}) : 2) {
        case 0:  // an element, if there is any
          at = pool_.apply(Prim::Mod, {at, pool_.apply(Prim::Max, {extent.expr, pool_.integer(1)})});
          break;
        case 1: {  // perhaps outside
          at = rng_.chance(50) ? pool_.apply(Prim::Mod, {at, pool_.integer(3)}) : at;
          break;
        }
        case 2: {
          const Expr inside_of =
              pool_.apply(Prim::And, {pool_.apply(Prim::Le, {pool_.integer(0), at}),
                                      pool_.apply(Prim::Lt, {at, extent.expr})});
          there = there ? pool_.apply(Prim::And, {there, inside_of}) : inside_of;
          break;
        }
        default: rule = rng_.pick({Boundary::Clamp, Boundary::Wrap, Boundary::Constant});
      }
      subscripts.push_back(at);
      rules.push_back(rule);
    }
    const bool falls_back = std::ranges::count(rules, Boundary::Constant) > 0;
    Expr element = pool_.read(source, type, subscripts, rules, falls_back ? literal(type) : Expr{});
    if (there) element = pool_.select(there, element, literal(type));
    Stage stage;
    stage.dims.push_back(dim.dim);
    Output output;
    const bool folds = steps == 1 && rng_.chance(30);
    output.combine = {folds ? Combine(Fold{some_operator(type, true)}) : Combine(Cat{})};
    if (!folds) output.at = {j};
    output.array = array(array_name("g"), type, folds ? std::vector<Extent>{} : range);
    output.value = rng_.chance(40) ? element : pool_.apply(Prim::Add, {element, value(type, inside)});
    if (!folds) passing_.insert(output.array);
    const ArrayId made = output.array;
    stage.outputs.push_back(std::move(output));
    finish(std::move(stage), into);
    if (rng_.chance(70) && !folds) {
      source = made;
      shape = range;
    }
  }
}

}  // namespace twill
