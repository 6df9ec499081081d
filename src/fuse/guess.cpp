#include "fuse/guess.h"

#include "fuse/profit.h"
#include "fuse/region.h"

#include "program/choice.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <unordered_map>

namespace twill {

namespace {

/// Extents that are not known; those of collections of which nothing is known.
constexpr std::int64_t some_extent = 1000, part_of_extent = 500;

/// Shares of points: that two things are equal, and anything else.
constexpr double share_of_equal = 0.1, some_share = 0.5;

/// As many points have a key of their own.
constexpr double share_of_keys = 0.1;

std::int64_t as_count(double points) { return static_cast<std::int64_t>(std::clamp(points, 1.0, 1e18)); }

/// How many keys there are at most.
double most_keys(Expr key) {
  const auto* apply = as<Apply>(key);
  if (apply && apply->prim == Prim::Mod)
    if (const auto* divisor = as<Literal>(key->args[1]))
      return std::abs(static_cast<double>(divisor->value.i));
  if (!key->type.is_scalar()) return std::numeric_limits<double>::infinity();
  if (key->type.scalar() == Scalar::Bool) return 2;
  return std::pow(2.0, 8 * info(key->type.scalar()).bytes);
}

/// Nothing if it depends on more than what is known.
std::optional<double> extent_of(const Dim& dim, const KnownSizes& known) {
  const auto lo = dim.lo ? known_value(dim.lo, known) : std::optional(Number::of(Scalar::I64, 0));
  const auto hi = dim.hi ? known_value(dim.hi, known) : std::nullopt;
  if (!lo || !hi) return std::nullopt;
  return std::max(1.0, static_cast<double>(hi->i) - static_cast<double>(lo->i));
}

/// What is known of the operands is in `shares`.
double share_of(Expr condition, const std::unordered_map<const Node*, double>& shares) {
  if (const auto* literal = as<Literal>(condition)) return literal->value.u ? 1 : 0;
  const auto* apply = as<Apply>(condition);
  if (!apply) return some_share;
  const std::vector<Expr>& args = condition->args;
  const auto share = [&](std::size_t k) { return shares.at(args[k].get()); };
  const auto equal = [&] {
    for (const Expr side : args) {
      const auto* remainder = as<Apply>(side);
      const auto* divisor = remainder && remainder->prim == Prim::Mod ? as<Literal>(side->args[1]) : nullptr;
      if (divisor && divisor->value.i != 0) return 1 / std::abs(static_cast<double>(divisor->value.i));
    }
    return args[0]->type == Type(Scalar::Bool) ? some_share : share_of_equal;
  };
  switch (apply->prim) {
    case Prim::Not: return 1 - share(0);
    case Prim::And: return share(0) * share(1);
    case Prim::Or: return 1 - (1 - share(0)) * (1 - share(1));
    case Prim::Eq: return equal();
    case Prim::Ne: return 1 - equal();
    default: return some_share;
  }
}

}  // namespace

double share_of(Expr condition) {
  if (!condition) return 1;
  std::unordered_map<const Node*, double> shares;
  visit(condition, [&](Expr e) { shares[e.get()] = share_of(e, shares); });
  return shares.at(condition.get());
}

Guess::Guess(const Program& program, KnownSizes known)
    : given_(std::move(known)), known_(given_), guessed_(given_) {
  std::set<SymbolId> lengths;
  for_each_stage(program.stages, [&](const Stage& stage) {
    for (const SymbolId symbol : lengths_born_in(program, stage)) lengths.insert(symbol);
  });
  for (std::size_t s = 0; s < program.symbols.size(); ++s) {
    const SymbolId symbol{static_cast<int>(s)};
    guessed_.sizes.emplace(symbol, lengths.contains(symbol) ? part_of_extent : some_extent);
  }
  for_each_stage(program.stages, [&](const Stage& stage) { guess_lengths(program, stage); });
}

/// Stages are in an order in which they can run, so what they go through has been guessed before.
void Guess::guess_lengths(const Program& program, const Stage& stage) {
  for (KnownSizes* sizes : {&known_, &guessed_}) {
    double all = 1;
    bool known = true;
    for (const Dim& dim : stage.dims) {
      const auto extent = extent_of(dim, *sizes);
      known = known && extent;
      all *= extent.value_or(some_extent);
      // In the middle of its range an index stands for all of them.
      const auto lo = dim.lo ? known_value(dim.lo, *sizes) : std::nullopt;
      if (extent) sizes->indices[dim.id] = (lo ? lo->i : 0) + static_cast<std::int64_t>(*extent / 2);
    }
    if (!known && sizes == &known_) continue;
    for (const Output& output : stage.outputs) {
      const bool appends = !output.combine.empty() && is<Append>(output.combine.back());
      const bool groups = !output.combine.empty() && is<Group>(output.combine.back());
      if (!appends && !groups) continue;
      const double passing = all * share_of(output.guard);
      const double keys = groups ? std::min(passing * share_of_keys, most_keys(output.key)) : 0;
      for (const ArrayId array : defined_arrays(output)) {
        const auto* size = as<SizeRef>(program[array].shape.front());
        if (!size || array == output.offsets) continue;
        const bool by_key = groups && (array == output.keys || std::get<Group>(output.combine.back()).op);
        guess(*sizes, size->symbol, as_count(by_key ? keys : passing));
      }
    }
    for (const ChosenSize& chosen : chosen_sizes(program, stage)) {
      const auto then = known_value(chosen.then, *sizes), otherwise = known_value(chosen.otherwise, *sizes);
      if (then && otherwise) guess(*sizes, chosen.size, std::max(then->i, otherwise->i));
    }
  }
}

void Guess::guess(KnownSizes& sizes, SymbolId symbol, std::int64_t size) const {
  if (!given_.sizes.contains(symbol)) sizes.sizes[symbol] = size;
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
  return static_cast<double>(byte_size(array.type)) * elements(array);
}

double Guess::elements(const Array& array) const {
  double elements = 1;
  for (const Expr e : array.shape) elements *= extent(e);
  return elements;
}

double Guess::points(const Stage& stage) const {
  double points = 1;
  for (const Dim& dim : stage.dims) points *= extent_of(dim, guessed_).value_or(some_extent);
  return points;
}

Work Guess::work(const Stage& stage) const {
  return std::holds_alternative<Formula>(stage.body) ? work_at_point(stage) * points(stage) : Work{};
}

namespace {

/// What an expression depends on.
struct Depends {
  bool on_data = false;   // elements of arrays
  bool on_inner = false;  // indices of the innermost loops
};

/// By node, for whole expressions at once: they may be long.
class Dependences {
 public:
  explicit Dependences(std::set<DimId> inner) : inner_(std::move(inner)) {}

  const Depends& operator[](Expr root) {
    std::vector<std::pair<Expr, std::size_t>> open = {{root, 0}};
    while (!open.empty()) {
      auto& [node, next] = open.back();
      if (known_.contains(node.get())) {
        open.pop_back();
      } else if (next < node->args.size()) {
        const Expr child = node->args[next++];
        if (child) open.push_back({child, 0});
      } else {
        const auto* read = as<Read>(node);
        const auto* index = as<IndexRef>(node);
        Depends own{read != nullptr, index && inner_.contains(index->dim)};
        for (const Expr child : node->args) {
          if (!child) continue;
          const Depends& inside = known_.at(child.get());
          own.on_data = own.on_data || inside.on_data;
          own.on_inner = own.on_inner || inside.on_inner;
        }
        known_[node.get()] = own;
        open.pop_back();
      }
    }
    return known_.at(root.get());
  }

 private:
  std::set<DimId> inner_;
  std::unordered_map<const Node*, Depends> known_;
};

/// Half as many numbers of eight bytes as of four fit into a vector.
double lanes_taken(const Type& type) { return std::max(1.0, static_cast<double>(byte_size(type)) / 4); }

}  // namespace

Work work_at_point(const Stage& stage) {
  // The innermost dimension with an element for each of its indices, and what is folded inside of it.
  std::size_t first = stage.dims.empty() ? 0 : stage.dims.size() - 1;
  while (first > 0 && !stage.outputs.empty() && !is<Cat>(stage.outputs.front().combine[first])) --first;
  std::set<DimId> inner;
  for (std::size_t d = first; d < stage.dims.size(); ++d) inner.insert(stage.dims[d].id);
  Dependences depends(std::move(inner));
  Work work;
  std::set<const Node*> seen;
  std::vector<Expr> open;
  for_each_expr(stage, [&](Expr root) { open.push_back(root); });
  while (!open.empty()) {
    const Expr e = open.back();
    open.pop_back();
    if (!seen.insert(e.get()).second) continue;
    const Depends here = depends[e];
    if (!stage.dims.empty() && !here.on_data && !here.on_inner) continue;
    const auto* read = as<Read>(e);
    const auto* apply = as<Apply>(e);
    bool anywhere = false;
    for (std::size_t k = 0; k < e->args.size(); ++k) {
      if (!e->args[k]) continue;
      const bool subscript = read && k < read->rules.size();
      const bool by_data = subscript && depends[e->args[k]].on_data;
      anywhere = anywhere || by_data;
      if (!subscript || by_data) open.push_back(e->args[k]);
    }
    // Where it is not known in advance what is read, nothing is fetched in advance.
    if (apply && is_library_function(apply->prim))
      ++work.calls;
    else if (as<Invoke>(e) || anywhere || (apply && apply->prim == Prim::Sqrt))
      work.operations += cheap_operations;
    else if (apply)
      work.operations += lanes_taken(e->args.front()->type);
    else if (read && !read->rules.empty())
      ++work.operations;
  }
  return work;
}

}  // namespace twill
