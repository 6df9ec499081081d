#include "fuse/guess.h"

#include "fuse/profit.h"
#include "fuse/region.h"
#include "program/index_use.h"

#include <algorithm>
#include <functional>

namespace twill {

namespace {

/// Extents that are not known; those of collections, of which filters leave a part.
constexpr std::int64_t some_extent = 1000, part_of_extent = 500;

}  // namespace

Guess::Guess(const Program& program, KnownSizes known) : known_(std::move(known)), guessed_(known_) {
  std::set<SymbolId> lengths;
  for_each_stage(program.stages, [&](const Stage& stage) {
    for (const SymbolId symbol : lengths_born_in(program, stage)) lengths.insert(symbol);
  });
  for (std::size_t s = 0; s < program.symbols.size(); ++s) {
    const SymbolId symbol{static_cast<int>(s)};
    guessed_.sizes.emplace(symbol, lengths.contains(symbol) ? part_of_extent : some_extent);
  }
}

double Guess::extent(Expr e) const {
  const auto value = known_value(e, guessed_);
  return value ? std::max(1.0, static_cast<double>(value->i)) : some_extent;
}

bool Guess::knows(const Array& array) const {
  return std::all_of(array.shape.begin(), array.shape.end(),
                     [&](Expr e) { return known_value(e, known_).has_value(); });
}

double Guess::bytes(const Array& array) const {
  auto bytes = static_cast<double>(byte_size(array.type));
  for (const Expr e : array.shape) bytes *= extent(e);
  return bytes;
}

double Guess::points(const Stage& stage) const {
  double points = 1;
  for (const Dim& dim : stage.dims) {
    const auto lo = known_value(dim.lo, guessed_);
    const double first = lo ? static_cast<double>(lo->i) : 0;
    points *= dim.hi ? std::max(1.0, extent(dim.hi) - first) : some_extent;
  }
  return points;
}

double Guess::work(const Stage& stage) const {
  return std::holds_alternative<Formula>(stage.body) ? points(stage) * work_at_point(stage) : 0;
}

double work_at_point(const Stage& stage) {
  double work = 0;
  std::set<const Node*> seen;
  // The innermost dimension with an element for each of its indices, and what is folded inside of it.
  std::size_t inner = stage.dims.empty() ? 0 : stage.dims.size() - 1;
  while (inner > 0 && !stage.outputs.empty() && !is<Cat>(stage.outputs.front().combine[inner])) --inner;
  const auto moves = [&](Expr e) {
    return stage.dims.empty() || reads_data(e) ||
           std::any_of(stage.dims.begin() + static_cast<std::ptrdiff_t>(inner), stage.dims.end(),
                       [&](const Dim& dim) { return mentions(e, dim.id); });
  };
  const std::function<void(Expr)> count = [&](Expr e) {
    if (!seen.insert(e.get()).second || !moves(e)) return;
    const auto* read = as<Read>(e);
    const auto* apply = as<Apply>(e);
    // Where it is not known in advance what is read, nothing is fetched in advance.
    const bool anywhere = read && std::any_of(e->args.begin(), e->args.end(), reads_data);
    if (as<Invoke>(e) || anywhere || (apply && info(apply->prim).prim_class == PrimClass::Function))
      work += cheap_operations;
    else if (apply || (read && !read->rules.empty()))
      ++work;
    for (std::size_t k = 0; k < e->args.size(); ++k) {
      const bool subscript = read && k < read->rules.size();
      if (!subscript || reads_data(e->args[k])) count(e->args[k]);
    }
  };
  for_each_expr(stage, count);
  return work;
}

}  // namespace twill
