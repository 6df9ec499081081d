// Random choices: products of all rows of two tables, the best of each row by an operator of the user's, and
// what is summed up by what was chosen.
#include "fuzz/generator.h"
#include "program/typing.h"

namespace twill {

void Generator::choices(const Surroundings& around, std::vector<Stage>& into) {
  const Scalar type = rng_.pick({Scalar::I64, Scalar::I32});
  const Extent rows = any_extent(), others = any_extent(), columns = any_extent();
  const auto next_dim = [&](Stage& stage, const char* name, const Extent& e, Surroundings& inside) {
    const NewDim dim = rectangular_dim(index_name(name, inside), e, 0);
    use(dim, inside);
    stage.dims.push_back(dim.dim);
    return pool_.index(dim.dim.id);
  };
  const ArrayId points = computed(type, {rows, columns}, around, into);
  const ArrayId centres = computed(type, {others, columns}, around, into);

  // How far every row is from every other one.
  Stage product;
  Surroundings inside = around;
  const Expr i = next_dim(product, "i", rows, inside), k = next_dim(product, "k", others, inside),
             j = next_dim(product, "j", columns, inside);
  Output far;
  far.combine = {Cat{}, Cat{},
                 Fold{builtin_operator(pool_, rng_.pick({Prim::Add, Prim::Add, Prim::Max}), type)}};
  far.at = {i, k};
  far.array = array(array_name("d"), type, {rows, others});
  const Expr left = pool_.read(points, type, {i, j}), right = pool_.read(centres, type, {k, j});
  far.value = rng_.chance(50) ? pool_.apply(Prim::Mul, {left, right})
                              : pool_.apply(Prim::Sub, {left, rng_.chance(80) ? right : left});
  const ArrayId distance = far.array;
  if (rng_.chance(90)) passing_.insert(distance);
  product.outputs.push_back(std::move(far));
  finish(std::move(product), into);

  // The best of each row.
  const Type chosen = rng_.chance(70)
                          ? Type(std::make_shared<const Record>(Record{"", {{"0", type}, {"1", type}}}))
                          : Type(type);
  Stage fold;
  inside = around;
  const Expr row = next_dim(fold, "i", rows, inside), other = next_dim(fold, "k", others, inside);
  Output best;
  Operator op = user_operator(chosen);
  for (int tries = 0; tries < 8 && !op.identity; ++tries) op = user_operator(chosen);
  if (!op.identity) return;
  best.combine = {Cat{}, Fold{op}};
  best.at = {row};
  best.array = array(array_name("b"), chosen, {rows});
  const Expr element = pool_.read(distance, type, {row, other});
  best.value = chosen.is_scalar() ? element : pool_.make(chosen, {pool_.cast(type, other), element});
  const ArrayId bests = best.array;
  if (rng_.chance(70)) passing_.insert(bests);
  fold.outputs.push_back(std::move(best));
  finish(std::move(fold), into);

  // By what was chosen.
  for (int more = rng_.below(3); more > 0; --more) {
    Stage stage;
    inside = around;
    const Expr point = next_dim(stage, "i", rows, inside);
    const Expr found = pool_.read(bests, chosen, {point});
    const Expr place = pool_.cast(Scalar::I64, chosen.is_scalar() ? found : pool_.field(found, 0));
    const bool wide = rng_.chance(50);
    const Expr column = wide ? next_dim(stage, "j", columns, inside) : Expr{};
    Output sum;
    sum.combine.assign(stage.dims.size(), Cat{});
    sum.combine[0] = Scatter{any_operator(type, true)};
    sum.at = {place};
    std::vector<Extent> shape = {others};
    if (wide) {
      sum.at.push_back(column);
      shape.push_back(columns);
    }
    sum.guard = pool_.apply(Prim::And, {pool_.apply(Prim::Le, {pool_.integer(0), place}),
                                        pool_.apply(Prim::Lt, {place, others.expr})});
    sum.array = array(array_name("t"), type, shape);
    sum.value = wide ? pool_.read(points, type, {point, column}) : pool_.literal(Number::of(type, 1));
    stage.outputs.push_back(std::move(sum));
    finish(std::move(stage), into);
  }
}

/// Rows of equal length that lie one after the other, and stages that read elements of a row.
void Generator::flat_rows(const Surroundings& around, std::vector<Stage>& into) {
  const std::int64_t length = rng_.between(1, 5);
  const Extent rows = any_extent(), row = extent({}, 0, length),
               all = extent(rows.base, length * rows.mul, length * rows.add);
  const Type type = any_type();
  const auto next_dim = [&](Stage& stage, const char* name, const Extent& e, Surroundings& inside) {
    const NewDim dim = rectangular_dim(index_name(name, inside), e, 0);
    use(dim, inside);
    stage.dims.push_back(dim.dim);
    return pool_.index(dim.dim.id);
  };
  const auto place = [&](Expr i, Expr k) {
    return pool_.apply(Prim::Add, {pool_.apply(Prim::Mul, {i, pool_.integer(length)}), k});
  };
  Stage stage;
  Surroundings inside = around;
  const Expr i = next_dim(stage, "i", rows, inside), k = next_dim(stage, "k", row, inside);
  Output output;
  output.combine = {Cat{}, Cat{}};
  output.at = {place(i, k)};
  output.array = array(array_name("c"), type, {all});
  output.value = value(type, inside);
  const ArrayId flat = output.array;
  if (rng_.chance(90)) passing_.insert(flat);
  stage.outputs.push_back(std::move(output));
  finish(std::move(stage), into);
  for (int more = static_cast<int>(rng_.between(1, 2)); more > 0; --more) {
    Stage reader;
    inside = around;
    const Expr at = next_dim(reader, "i", rows, inside);
    Output made;
    made.combine = {Cat{}};
    made.at = {at};
    Expr which = pool_.integer(rng_.below(static_cast<int>(length)));
    if (rng_.chance(50)) {
      which = next_dim(reader, "k", row, inside);
      made.combine.push_back(Fold{some_operator(type, true)});
    }
    made.array = array(array_name("r"), type, {rows});
    made.value = pool_.read(flat, type, {place(at, which)});
    reader.outputs.push_back(std::move(made));
    finish(std::move(reader), into);
  }
}

}  // namespace twill
