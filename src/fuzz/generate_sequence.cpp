// Random recurrences: stages that read what they have computed so far, also in a block at each point.
#include "fuzz/generator.h"

namespace twill {

/// A stage of the block that folds over the earlier points of the recurrence around it, perhaps along a
/// dimension of its own as well.
void Generator::fold_past(const NewDim& sequential, const Surroundings& around, std::vector<Stage>& into) {
  Surroundings inside = around;
  const DimId s = sequential.dim.id;
  Type type = program_[rng_.pick(around.past).array].type;
  std::optional<Operator> op = any_operator(type, true);
  if (!op) {
    type = number_type();
    op = some_operator(type, true);
  }
  Stage stage;
  Output output;
  std::vector<Extent> shape;
  const auto cross = [&](Combine combine) {
    const NewDim dim = rectangular_dim(index_name("i", inside), any_extent(), 0);
    use(dim, inside);
    stage.dims.push_back(dim.dim);
    if (is<Cat>(combine)) {
      output.at.push_back(pool_.index(dim.dim.id));
      shape.push_back(dim.extent);
    }
    output.combine.push_back(std::move(combine));
  };
  if (rng_.chance(25)) cross(Cat{});
  const std::string name = index_name("k", inside);
  const NewDim earlier{
      {program_.add_dim(name), name, pool_.integer(0), pool_.index(s), {}, {}}, sequential.cap, {}, false};
  use(earlier, inside);
  for (OwnPast& past : inside.past)
    if (past.sequential == s) past.earlier = earlier.dim.id;
  stage.dims.push_back(earlier.dim);
  output.combine.push_back(Fold{*op});
  if (rng_.chance(20)) cross(Fold{*op});
  output.array = array(array_name("f"), type, std::move(shape));
  output.value = value(type, inside);
  if (op->identity && rng_.chance(25)) output.guard = condition(inside, 4);
  stage.outputs.push_back(std::move(output));
  finish(std::move(stage), into);
}

Stage Generator::sequential_stage(Surroundings around, int depth) {
  enum { None, CatInside, FoldInside, SeqInside, CatOutside };
  Stage stage;
  const int second = rng_.weighted({40, 20, 15, 15, 10});
  std::vector<NewDim> dims;
  if (second == CatOutside) dims.push_back(rectangular_dim(index_name("i", around), any_extent(), 0));
  const std::size_t first = dims.size();
  dims.push_back(rectangular_dim(index_name("i", around), any_extent(), 0));
  for (const NewDim& dim : dims) use(dim, around);
  const NewDim sequential = dims[first];
  const DimId s = sequential.dim.id;
  std::optional<DimId> earlier;
  if (second == FoldInside && rng_.chance(50)) {
    const DimId id = program_.add_dim(index_name("k", around));
    dims.push_back({{id, program_.dim_names.back(), pool_.integer(0), pool_.index(s), {}, {}},
                    sequential.cap,
                    {},
                    false});
    earlier = id;
  } else if (second == FoldInside) {
    dims.push_back(new_dim(index_name("i", around), around));
  } else if (second == CatInside || second == SeqInside) {
    dims.push_back(rectangular_dim(index_name("i", around), any_extent(), 0));
  }
  if (dims.size() > first + 1) use(dims.back(), around);
  for (const NewDim& dim : dims) stage.dims.push_back(dim.dim);
  std::vector<std::size_t> written;
  for (std::size_t d = 0; d < dims.size(); ++d)
    if (second != FoldInside || d == first) written.push_back(d);

  const int outputs = 1 + rng_.below(2);
  std::vector<Output> made;
  for (int k = 0; k < outputs; ++k) {
    Type type = any_type();
    while (!may_carry(type)) type = any_type();
    Output output;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      if (d == first || second == SeqInside)
        output.combine.push_back(Seq{});
      else if (second == FoldInside)
        output.combine.push_back(Fold{some_operator(type, true)});
      else
        output.combine.push_back(Cat{});
    }
    std::vector<ArrayId> old;
    std::vector<Extent> shape;
    for (const std::size_t d : written) shape.push_back(dims[d].cap);
    for (const ArrayId id : visible_) {
      if (!(program_[id].type == type) || held_.at(id).shape.size() != shape.size()) continue;
      bool equal = true;
      for (std::size_t d = 0; d < shape.size(); ++d)
        equal = equal && held_.at(id).shape[d].expr == shape[d].expr;
      if (equal) old.push_back(id);
    }
    if (!old.empty() && rng_.chance(50)) output.into = rng_.pick(old);
    output.array = array(array_name("s"), type, shape);
    OwnPast past{output.array, {}, s, earlier, second == CatOutside};
    for (const std::size_t d : written) past.at.push_back(dims[d].dim.id);
    for (const DimId id : past.at) output.at.push_back(pool_.index(id));
    expect(output.array, output.into ? bounds_[*output.into] : Facts{});
    around.past.push_back(std::move(past));
    made.push_back(std::move(output));
  }

  const std::size_t visible = visible_.size();
  const std::size_t extents = extents_.size();
  const bool has_block = depth > 0 && rng_.chance(40);
  Block block;
  if (has_block) {
    stages(rng_.below(2), around, depth - 1, block.stages);
    const int folds = 1 + rng_.below(2);
    for (int k = 0; k < folds; ++k) fold_past(sequential, around, block.stages);
  }
  for (Output& output : made) {
    const Type type = program_[output.array].type;
    const bool result = has_block && rng_.chance(40);
    if (has_block)
      block.results.push_back(result ? computed(type, {}, around, block.stages, true) : ArrayId{});
    if (!result) output.value = bounded(value(type, around));
    if (output.into && second != FoldInside && rng_.chance(40)) output.guard = condition(around, 4);
    stage.outputs.push_back(std::move(output));
  }
  if (has_block) stage.body = Nested{std::make_shared<const Block>(std::move(block))};
  visible_.resize(visible);
  extents_.resize(extents);
  return stage;
}

}  // namespace twill
