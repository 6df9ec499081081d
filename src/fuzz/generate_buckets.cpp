// Groups that share their buckets, and stages that go through the buckets of a group.
#include "fuzz/generator.h"
#include "program/buckets.h"

#include <algorithm>

namespace twill {

/// Another group of the same stage with the buckets of one of its outputs.
std::optional<Output> Generator::group_beside(const std::vector<Output>& outputs,
                                              const Surroundings& around) {
  const auto found = std::ranges::find_if(outputs, is_group);
  if (found == outputs.end()) return std::nullopt;
  const Type type = any_type();
  const Extent buckets = held_.at(*found->keys).shape[0];
  const std::optional<Operator> op = any_operator(type, rng_.chance(80));
  Output output = *found;
  output.keys.reset();
  output.offsets.reset();
  output.combine.assign(found->combine.size(), Group{op});
  const std::string name = array_name("g");
  if (rng_.chance(20)) output.keys = array(name + "_keys", program_[*found->keys].type, {buckets});
  if (op) {
    output.array = array(name, type, {buckets});
  } else {
    output.array = born(name, type, name + "_total");
    output.offsets = array(name + "_offsets", Scalar::I64, {extent(buckets.base, 1, 1)});
    held_[*output.offsets].rows_of = held_.at(output.array).shape[0];
    if (rng_.chance(60)) hidden_.insert({output.array, *output.offsets});
  }
  output.value = value(type, around);
  return output;
}

/// A stage that folds the elements of each bucket, or needs to know how many there are.
std::optional<Stage> Generator::bucket_stage(const std::vector<Stage>& stages, Surroundings around) {
  std::vector<const Output*> candidates;
  for (const Stage& stage : stages)
    for (const Output& output : stage.outputs)
      if (is_group(output) && output.offsets && output.keys) candidates.push_back(&output);
  if (candidates.empty()) return std::nullopt;
  const Output& group = *rng_.pick(candidates);
  const ArrayId values = group.array, offsets = *group.offsets, keys = *group.keys;
  const Surroundings outside = around;
  NewDim bucket = rectangular_dim(index_name("b", around), held_.at(keys).shape[0], rng_.chance(8) ? 1 : 0);
  bucket.direction = Direction::Left;
  use(bucket, around);
  const Expr b = pool_.index(bucket.dim.id);
  const auto offset = [&](Expr at) { return pool_.read(offsets, Scalar::I64, {at}); };
  const Expr first = offset(b), end = offset(pool_.apply(Prim::Add, {b, pool_.integer(1)}));
  const Expr size = pool_.apply(Prim::Sub, {end, first});
  Stage stage;
  stage.dims.push_back(bucket.dim);
  if (rng_.chance(25)) {
    Output output;
    output.array = array(array_name("n"), Scalar::I64, {bucket.extent});
    output.combine = {Cat{}};
    output.at = {pool_.apply(Prim::Sub, {b, pool_.integer(bucket.low)})};
    output.value = rng_.chance(50) ? size : apply(Prim::Add, {size, pool_.integer(3)});
    stage.outputs.push_back(std::move(output));
    return stage;
  }
  const bool counted = rng_.chance(50);
  const std::string name = index_name("j", around);
  const DimId inner = program_.add_dim(name);
  stage.dims.push_back({inner, name, counted ? pool_.integer(0) : first, counted ? size : end, {}, {}});
  const Expr j = pool_.index(inner);
  const Expr element =
      pool_.read(values, program_[values].type, {counted ? pool_.apply(Prim::Add, {first, j}) : j});
  use({stage.dims.back(), held_.at(values).shape[0], {}, false}, around);
  const auto number = [&](Expr e) { return e->type.is_integer() ? pool_.cast(Scalar::I64, e) : Expr{}; };
  const int outputs = 1 + rng_.weighted({60, 30, 10});
  for (int k = 0; k < outputs; ++k) {
    const Type type = rng_.chance(60) ? program_[values].type : any_type();
    const Operator op = some_operator(type, rng_.chance(70));
    Output output;
    const int kind = rng_.weighted({80, 12, 8});
    output.combine = {Cat{}, Fold{op}};
    if (kind == 1) output.combine[0] = Fold{rng_.chance(50) ? op : some_operator(type, true)};
    if (kind == 2) output.combine[0] = Scan{op, Direction::Left};
    if (kind == 1) {
      output.array = array(array_name("f"), type, {});
    } else {
      output.array = array(array_name("f"), type, {bucket.extent});
      output.at = {pool_.apply(Prim::Sub, {b, pool_.integer(bucket.low)})};
    }
    // Mostly what can be computed while the bucket is filled.
    const Surroundings& seen = rng_.chance(80) ? outside : around;
    const Expr key = number(pool_.read(keys, program_[keys].type, {b}));
    const Expr asked = number(element) ? number(element) : key;
    const Expr small =
        asked ? pool_.apply(Prim::Lt, {asked, pool_.integer(rng_.between(-2, 4))}) : pool_.boolean(true);
    output.value = type == element->type && rng_.chance(60)
                       ? element
                       : pool_.select(small, value(type, seen), literal(type));
    const bool guardable = std::ranges::all_of(output.combine, [](const Combine& c) {
      const auto* fold = std::get_if<Fold>(&c);
      return is<Cat>(c) || (fold && fold->op.identity);
    });
    if (guardable && rng_.chance(30)) output.guard = rng_.chance(70) ? small : condition(around, 4);
    stage.outputs.push_back(std::move(output));
  }
  return stage;
}

}  // namespace twill
