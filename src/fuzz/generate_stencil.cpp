// Random stencils: stages that read neighbours of each other's elements, at the same, half or twice the size,
// with all kinds of borders; what tiles need of them overlaps.
#include "fuzz/generator.h"

#include <algorithm>

namespace twill {

void Generator::stencils(const Surroundings& around, std::vector<Stage>& into) {
  const std::size_t rank = rng_.chance(40) ? 1 : 2;
  const Type any = number_type(), type = is_narrow(any.scalar()) ? Type(Scalar::I64) : any;
  // By level: the size, and twice the size.
  std::vector<std::vector<Extent>> shapes(2);
  for (std::size_t d = 0; d < rank; ++d) {
    const Extent e = any_extent();
    shapes[0].push_back(e);
    shapes[1].push_back(extent(e.base, 2 * e.mul, 2 * e.add));
  }
  struct Picture {
    ArrayId array;
    std::size_t level;
  };
  std::vector<Picture> pictures;
  for (const ArrayId id : visible_) {
    const std::vector<Extent>& shape = held_.at(id).shape;
    const bool same = program_[id].type == type && shape.size() == rank &&
                      std::equal(shape.begin(), shape.end(), shapes[0].begin(),
                                 [](const Extent& a, const Extent& b) { return a.expr == b.expr; });
    if (same) pictures.push_back({id, 0});
  }
  const int count = static_cast<int>(rng_.between(2, 6));
  for (int k = 0; k < count; ++k) {
    const std::size_t level = rng_.chance(75) ? 0 : 1;
    Surroundings inside = around;
    Stage stage;
    std::vector<Expr> indices;
    for (std::size_t d = 0; d < rank; ++d) {
      const NewDim dim = rectangular_dim(index_name("i", inside), shapes[level][d], 0);
      use(dim, inside);
      stage.dims.push_back(dim.dim);
      indices.push_back(pool_.index(dim.dim.id));
    }
    Output output;
    output.combine.assign(rank, Cat{});
    output.at = indices;
    // None, one that some dimensions share, or one of its own for each.
    std::vector<Expr> window(rank);
    if (rng_.chance(45)) {
      const std::size_t folds = rng_.chance(60) ? 1 : rank;
      const Operator op = some_operator(type, true);
      for (std::size_t f = 0; f < folds; ++f) {
        const NewDim dim = rectangular_dim(index_name("k", inside), extent({}, 0, rng_.between(2, 4)), 0);
        use(dim, inside);
        stage.dims.push_back(dim.dim);
        output.combine.push_back(Fold{op});
        window[f] = pool_.index(dim.dim.id);
      }
      if (folds < rank) window[1] = window[0];
    }
    const auto element = [&]() -> Expr {
      if (pictures.empty() || rng_.chance(5)) return value(type, inside);
      const std::size_t near = std::min<std::size_t>(pictures.size(), 3);
      const Picture& from =
          pictures[pictures.size() - 1 - static_cast<std::size_t>(rng_.below(static_cast<int>(near)))];
      std::vector<Expr> subscripts;
      std::vector<Boundary> rules;
      for (std::size_t d = 0; d < rank; ++d) {
        Expr at = indices[d];
        if (level < from.level) at = pool_.apply(Prim::Mul, {pool_.integer(2), at});
        if (level > from.level) {
          const Expr half = pool_.apply(Prim::Div, {at, pool_.integer(2)});
          const Expr odd = pool_.apply(Prim::Mod, {at, pool_.integer(2)});
          const Expr next =
              pool_.apply(Prim::Div, {pool_.apply(Prim::Add, {at, pool_.integer(1)}), pool_.integer(2)});
          at = rng_.pick({half, half, next, pool_.apply(Prim::Add, {half, odd})});
        }
        const std::int64_t shift = rng_.chance(40) ? 0 : rng_.between(-3, 3);
        if (shift != 0) at = pool_.apply(Prim::Add, {at, pool_.integer(shift)});
        if (window[d] && rng_.chance(70)) at = pool_.apply(Prim::Add, {at, window[d]});
        const bool inside_anyway = at == indices[d];
        subscripts.push_back(at);
        rules.push_back(inside_anyway && rng_.chance(60)
                            ? Boundary::Inside
                            : rng_.pick({Boundary::Clamp, Boundary::Clamp, Boundary::Clamp,
                                         Boundary::Constant, Boundary::Mirror, Boundary::Wrap}));
      }
      const bool falls_back = std::ranges::find(rules, Boundary::Constant) != rules.end();
      return pool_.read(from.array, type, std::move(subscripts), std::move(rules),
                        falls_back ? literal(type) : Expr{});
    };
    output.array = array(array_name("s"), type, shapes[level]);
    output.value = element();
    for (int more = static_cast<int>(rng_.between(0, 2)); more > 0; --more)
      output.value = pool_.apply(rng_.chance(70) ? Prim::Add : Prim::Max, {output.value, element()});
    if (window[0] && rng_.chance(30)) {
      const Expr weight = pool_.cast(type, rng_.chance(50) ? window[0] : window[rank - 1]);
      output.value = pool_.apply(Prim::Mul, {weight, output.value});
    }
    pictures.push_back({output.array, level});
    if (rng_.chance(80)) passing_.insert(output.array);
    stage.outputs.push_back(std::move(output));
    finish(std::move(stage), into);
  }
}

}  // namespace twill
