// Elements that a condition keeps or drops alike at every step of the loops around are collected once, before
// these loops: a filter inside of a flatMap that does not depend on what the flatMap goes through.
#include "simplify/passes.h"

#include "fuse/profit.h"
#include "program/index_use.h"
#include "simplify/rewriting.h"
#include "simplify/total.h"

#include <algorithm>
#include <map>
#include <unordered_set>

namespace twill {

namespace {

/// Loops with fewer points than these, all known, are walked again rather than collected.
constexpr std::int64_t few_points = 16;

/// What is kept of an element, at most: so many values.
constexpr std::size_t most_values = 3;

/// What a condition asks, one after the other, each thing once.
std::vector<Expr> split(Expr condition) {
  std::vector<Expr> parts;
  descend(condition, [&](Expr e) {
    const auto* apply = as<Apply>(e);
    const bool both = apply && apply->prim == Prim::And;
    if (!both) parts.push_back(e);
    return both;
  });
  std::ranges::reverse(parts);  // the last operand is entered first
  return parts;
}

Expr all_of(ExprPool& pool, const std::vector<Expr>& parts) {
  Expr all;
  for (const Expr part : parts) all = all ? pool.apply(Prim::And, {all, part}) : part;
  return all;
}

/// The number of points, if it is known.
std::optional<std::int64_t> points_of(std::span<const Dim> dims) {
  std::int64_t points = 1;
  for (const Dim& dim : dims) {
    const auto lo = integer_of(dim.lo), hi = integer_of(dim.hi);
    if (!lo || !hi || *hi - *lo > few_points) return std::nullopt;
    points *= std::max<std::int64_t>(0, *hi - *lo);
  }
  return points;
}

/// A stage cut in two: the loops from one on inwards, and those around them.
class Sieve {
 public:
  Sieve(Program& program, const Stage& stage, std::size_t outer)
      : program_(program), pool_(*program.pool), stage_(stage), outer_(outer) {}

  /// The stage that collects, before one that goes through what it has collected; nothing if the loops inside
  /// and their conditions depend on those around, or little would be gained.
  std::optional<std::pair<Stage, Stage>> run() {
    const Output& output = stage_.outputs.front();
    const Combine& inner = output.combine[outer_];
    for (std::size_t d = outer_; d < stage_.dims.size(); ++d) {
      const Dim& dim = stage_.dims[d];
      if (dim.condition || moves(dim.lo) || moves(dim.hi) || output.combine[d] != inner) return std::nullopt;
    }
    if (points_of(inside()).value_or(few_points) < few_points || points_of(around()).value_or(2) < 2)
      return std::nullopt;
    for (const Expr part : split(output.guard)) (is_inner(part) ? kept_if_ : rest_).push_back(part);
    if (!std::any_of(kept_if_.begin(), kept_if_.end(), reads_data)) return std::nullopt;
    for (const Expr at : output.at)
      if (runs(at)) return std::nullopt;
    for (const Expr part : rest_) gather(part);
    gather(output.value);
    gather(output.key);
    if (elements_.size() < values_.size()) values_ = elements_;
    if (!possible_ || values_.size() > most_values) return std::nullopt;
    return make();
  }

 private:
  std::span<const Dim> around() const { return std::span(stage_.dims).first(outer_); }
  std::span<const Dim> inside() const { return std::span(stage_.dims).subspan(outer_); }

  static bool mentions_any(Expr e, std::span<const Dim> dims) {
    return e && std::ranges::any_of(dims, [&](const Dim& dim) { return mentions(e, dim.id); });
  }
  bool moves(Expr e) const { return mentions_any(e, around()); }
  bool runs(Expr e) const { return mentions_any(e, inside()); }
  bool is_inner(Expr e) const { return runs(e) && !moves(e); }

  /// Finds the largest parts of an expression that belong to the element alone. Where the element says what
  /// is read of something else, nothing is gained.
  void gather(Expr root) {
    if (!root) return;
    const Nodes running = mentioning_any(root, inside()), moving = mentioning_any(root, around());
    descend(root, [&](Expr e) {
      if (!running.contains(e.get())) return false;
      if (moving.contains(e.get())) {
        if (as<Read>(e)) possible_ = false;
        return true;
      }
      values_.try_emplace(e.get(), values_.size());
      descend(e, [&](Expr part) {
        if (!running.contains(part.get())) return false;
        const bool is_element = as<Read>(part) || as<IndexRef>(part);
        if (is_element) elements_.try_emplace(part.get(), elements_.size());
        return !is_element;
      });
      return false;
    });
  }

  using Nodes = std::unordered_set<const Node*>;
  static Nodes mentioning_any(Expr root, std::span<const Dim> dims) {
    Nodes all;
    for (const Dim& dim : dims) all.merge(mentioning(root, dim.id));
    return all;
  }

  std::pair<Stage, Stage> make() {
    NewNames names(program_);
    const Output& output = stage_.outputs.front();
    const std::string name = names.like(program_[output.array].name + "_kept");
    const SymbolId length = program_.add_symbol(names.like(name + "_len"), Symbol::Origin::Born);
    Stage collects;
    collects.name = names.stage_like(name);
    collects.dims.assign(inside().begin(), inside().end());
    collects.place = stage_.place;
    std::vector<Expr> values(values_.size());
    for (const auto& [node, number] : values_) values[number] = Expr(node);
    // If nothing is needed of an element, it counts.
    if (values.empty()) values.push_back(pool_.integer(1));
    std::vector<ArrayId> arrays;
    for (std::size_t v = 0; v < values.size(); ++v) {
      Output kept;
      kept.array = program_.add_array(v == 0 ? name : names.like(name), values[v]->type, {pool_.size(length)},
                                      output.place);
      kept.combine.assign(collects.dims.size(), Append{});
      kept.value = values[v];
      kept.guard = all_of(pool_, kept_if_);
      kept.place = output.place;
      arrays.push_back(kept.array);
      collects.outputs.push_back(std::move(kept));
    }

    Stage goes = stage_;
    Dim dim = goes.dims[outer_];
    dim.id = program_.add_dim(dim.name);
    dim.lo = pool_.integer(0);
    dim.hi = pool_.size(length);
    goes.dims.resize(outer_);
    goes.dims.push_back(dim);
    const Expr at = pool_.index(dim.id);
    const auto now = [&](Expr e) {
      return e ? rewrite(pool_, e,
                         [&](Expr node) -> Expr {
                           const auto found = values_.find(node.get());
                           return found == values_.end()
                                      ? Expr{}
                                      : pool_.read(arrays[found->second], node->type, std::vector{at});
                         })
               : e;
    };
    Output& result = goes.outputs.front();
    result.combine.resize(outer_ + 1, Append{});
    result.value = now(result.value);
    result.key = now(result.key);
    result.guard = now(all_of(pool_, rest_));
    return {std::move(collects), std::move(goes)};
  }

  Program& program_;
  ExprPool& pool_;
  const Stage& stage_;
  const std::size_t outer_;  // so many loops are around
  std::vector<Expr> kept_if_, rest_;
  std::map<const Node*, std::size_t> values_, elements_;  // and what these are made of
  bool possible_ = true;
};

/// Does it collect, fold, or send elements somewhere, without anything besides?
bool can_be_sifted(const Stage& stage) {
  if (!std::holds_alternative<Formula>(stage.body) || stage.outputs.size() != 1 || !stage.effects.empty() ||
      !stage.hints.empty() || stage.dims.size() < 2)
    return false;
  const Output& output = stage.outputs.front();
  if (output.into || !output.value || !output.guard) return false;
  // A fold that has rows of its own is computed for several of them at once.
  const bool has_rows = std::any_of(output.combine.begin(), output.combine.end(), is<Cat>);
  return std::all_of(output.combine.begin(), output.combine.end(), [&](const Combine& combine) {
    return is<Append>(combine) || is<Group>(combine) || is<Scatter>(combine) || is<Cat>(combine) ||
           (is<Fold>(combine) && !has_rows);
  });
}

class Sift {
 public:
  Sift(Region& region, Notes& notes) : region_(region), program_(region.program), notes_(notes) {}

  bool run() {
    bool changed = false;
    for (std::size_t s = 0; s < region_.stages.size(); ++s) {
      if (!can_be_sifted(region_.stages[s]) || !sift(s)) continue;
      changed = true;
      ++s;
    }
    return changed;
  }

 private:
  /// The fewest loops that depend on nothing around them.
  bool sift(std::size_t s) {
    const Stage stage = region_.stages[s];
    for (std::size_t outer = stage.dims.size(); outer-- > 1;) {
      if (is<Cat>(stage.outputs.front().combine[outer])) return false;
      const std::size_t arrays = program_.arrays.size(), symbols = program_.symbols.size(),
                        dims = program_.dim_names.size();
      auto both = Sieve(program_, stage, outer).run();
      if (!both) continue;
      // Lanes look at a cheap condition again for less than a collection costs. And what collects may run
      // although nothing goes through what it has collected, and at points where others fail.
      const bool is_cheap = !takes_single_points(stage) && operations_of(both->first) <= cheap_operations;
      if (is_cheap || !Totality(program_).is_total(both->first, {}) || !is_total_without_values(stage)) {
        program_.arrays.resize(arrays);
        program_.symbols.resize(symbols);
        program_.dim_names.resize(dims);
        return false;
      }
      notes_.done.push_back({"hoisted",
                             {stage.name},
                             "what '" + stage.name + "' keeps is the same along '" + stage.dims.front().name +
                                 "' and is collected once",
                             stage.place});
      region_.stages[s] = std::move(both->second);
      region_.stages.insert(region_.stages.begin() + static_cast<std::ptrdiff_t>(s), std::move(both->first));
      return true;
    }
    return false;
  }

  /// Is it certain that none of its conditions fails?
  bool is_total_without_values(const Stage& stage) {
    Stage conditions = stage;
    conditions.outputs.front().value = program_.pool->boolean(true);
    conditions.outputs.front().key = {};
    conditions.outputs.front().at.clear();
    for (Combine& combine : conditions.outputs.front().combine)
      if (is<Fold>(combine)) combine = Append{};
    return Totality(program_).is_total(conditions, {});
  }

  Region& region_;
  Program& program_;
  Notes& notes_;
};

}  // namespace

bool sift_invariant(Region& region, Notes& notes) { return Sift(region, notes).run(); }

}  // namespace twill
