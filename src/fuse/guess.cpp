#include "fuse/guess.h"

#include "fuse/profit.h"
#include "fuse/region.h"

#include <algorithm>
#include <set>
#include <unordered_map>

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

double work_at_point(const Stage& stage) {
  // The innermost dimension with an element for each of its indices, and what is folded inside of it.
  std::size_t first = stage.dims.empty() ? 0 : stage.dims.size() - 1;
  while (first > 0 && !stage.outputs.empty() && !is<Cat>(stage.outputs.front().combine[first])) --first;
  std::set<DimId> inner;
  for (std::size_t d = first; d < stage.dims.size(); ++d) inner.insert(stage.dims[d].id);
  Dependences depends(std::move(inner));
  double work = 0;
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
    if (as<Invoke>(e) || anywhere || (apply && info(apply->prim).prim_class == PrimClass::Function))
      work += cheap_operations;
    else if (apply)
      work += lanes_taken(e->args.front()->type);
    else if (read && !read->rules.empty())
      ++work;
  }
  return work;
}

}  // namespace twill
