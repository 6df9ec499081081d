// Windows: what is folded over a few rows and a few columns is folded over the rows first, once for each
// column, and then over the columns. Nine elements of a window of three by three become three and three.
#include "simplify/passes.h"

#include "fuse/profit.h"
#include "program/index_use.h"
#include "program/regroup.h"
#include "simplify/rewriting.h"

#include <algorithm>
#include <map>
#include <set>

namespace twill {

namespace {

/// Windows are not longer than this along a dimension.
constexpr std::int64_t most_points = 16;

/// The subscript along which a window is wide: all that is read there moves with it.
struct Along {
  Expr subscript;
  Boundary rule;
  Expr extent;
  friend bool operator==(const Along&, const Along&) = default;
};

/// How a window is taken apart: positions of dimensions of the stage.
struct Window {
  std::size_t inner, outer;  // the fold that comes first, and the one over its results
  std::size_t moved;         // the dimension that the outer one moves along
  Along along;
  std::vector<Expr> inside, outside;  // factors of the inner fold's values, and those of the outer one's
};

/// More factors than these are not told apart.
constexpr std::size_t most_factors = 16;

void add_factors(Expr value, std::vector<Expr>& factors) {
  const auto* apply = as<Apply>(value);
  if (!apply || apply->prim != Prim::Mul || factors.size() >= most_factors) return factors.push_back(value);
  add_factors(value->args[0], factors);
  add_factors(value->args[1], factors);
}

class Separate {
 public:
  Separate(Program& program, Notes& notes)
      : program_(program), pool_(*program.pool), notes_(notes), names_(program) {}

  bool run() {
    edit_lists(program_, [&](std::vector<Stage>& list, bool) {
      std::vector<Stage> result;
      for (Stage& stage : list) {
        if (const auto window = window_of(stage)) result.push_back(inner_fold(stage, *window));
        result.push_back(std::move(stage));
      }
      list = std::move(result);
    });
    return changed_;
  }

 private:
  std::optional<Window> window_of(const Stage& stage) const {
    if (!std::holds_alternative<Formula>(stage.body) || !stage.effects.empty() || stage.outputs.size() != 1 ||
        stage.dims.size() < 4 || has_hint(stage, Hint::Never))
      return std::nullopt;
    const Output& output = stage.outputs.front();
    if (!output.value || output.guard || output.into) return std::nullopt;
    std::vector<std::size_t> folds;
    for (std::size_t d = 0; d < stage.dims.size(); ++d) {
      if (is<Cat>(output.combine[d])) {
        // The inner fold has a row for each of its points.
        if (integer_of(stage.dims[d].lo) != 0 || !as_plain_extent(stage.dims[d].hi)) return std::nullopt;
      } else if (is<Fold>(output.combine[d])) {
        folds.push_back(d);
      } else {
        return std::nullopt;
      }
    }
    if (folds.size() != 2) return std::nullopt;
    const Operator& op = std::get<Fold>(output.combine[folds[0]]).op;
    if (!(op == std::get<Fold>(output.combine[folds[1]]).op) || !op.identity || !op.prim ||
        !regroups(program_, op) || output.value->type != op.type)
      return std::nullopt;
    const auto points = [&](std::size_t d) -> std::int64_t {
      const auto lo = integer_of(stage.dims[d].lo), hi = integer_of(stage.dims[d].hi);
      return lo && hi && *hi - *lo <= most_points ? *hi - *lo : 0;
    };
    if (points(folds[0]) * points(folds[1]) <= points(folds[0]) + points(folds[1])) return std::nullopt;
    // Columns last: a row of sums is all that is kept then.
    std::optional<Window> found;
    for (const bool swapped : {false, true}) {
      auto window = apart(stage, folds[swapped ? 1 : 0], folds[swapped ? 0 : 1], op);
      if (window && (!found || window->moved > found->moved)) found = std::move(window);
    }
    return found;
  }

  /// Sizes, or sums and quotients of them.
  static bool as_plain_extent(Expr hi) {
    bool plain = hi && !reads_data(hi);
    if (plain) visit(hi, [&](Expr node) { plain = plain && !as<IndexRef>(node); });
    return plain;
  }

  std::optional<Window> apart(const Stage& stage, std::size_t inner, std::size_t outer,
                              const Operator& op) const {
    const DimId k = stage.dims[inner].id, l = stage.dims[outer].id;
    Window window{inner, outer, stage.dims.size(), {}, {}, {}};
    std::vector<Expr> factors;
    if (op.prim == Prim::Add)
      add_factors(stage.outputs.front().value, factors);
    else if (op.prim == Prim::Min || op.prim == Prim::Max)
      factors.push_back(stage.outputs.front().value);
    else
      return std::nullopt;
    for (const Expr factor : factors)
      (mentions(factor, k) ? window.inside : window.outside).push_back(factor);
    if (window.inside.empty()) return std::nullopt;
    // The only way in which the outer index may occur is one subscript, and the dimension in that as well.
    std::optional<Along> along;
    bool alone = true;
    std::set<const Node*> seen;
    const std::function<void(Expr)> look = [&](Expr e) {
      if (!seen.insert(e.get()).second) return;
      const auto* read = as<Read>(e);
      for (std::size_t s = 0; s < e->args.size(); ++s) {
        if (!mentions(e->args[s], l)) {
          look(e->args[s]);
          continue;
        }
        if (!read || s >= read->rules.size()) {
          if (as<IndexRef>(e->args[s])) alone = false;
          look(e->args[s]);
          continue;
        }
        const Along here{e->args[s], read->rules[s], program_[read->array].shape[s]};
        const bool bends = here.rule == Boundary::Inside || here.rule == Boundary::Clamp ||
                           here.rule == Boundary::Mirror || here.rule == Boundary::Wrap;
        alone = alone && bends && !reads_data(here.subscript) && !mentions(here.subscript, k) &&
                as_plain_extent(here.extent) && (!along || *along == here);
        along = here;
      }
    };
    for (const Expr factor : window.inside) {
      if (as<IndexRef>(factor)) return std::nullopt;
      look(factor);
    }
    if (!alone || !along) return std::nullopt;
    for (std::size_t d = 0; d < stage.dims.size(); ++d) {
      if (d == outer || !mentions(along->subscript, stage.dims[d].id)) continue;
      if (window.moved < stage.dims.size()) return std::nullopt;
      window.moved = d;
    }
    if (window.moved == stage.dims.size()) return std::nullopt;
    window.along = *along;
    const DimId x = stage.dims[window.moved].id;
    const bool elsewhere = std::any_of(window.inside.begin(), window.inside.end(),
                                       [&](Expr factor) { return mentions(column(factor, *along, {}), x); });
    return elsewhere ? std::nullopt : std::optional(std::move(window));
  }

  /// The expression with the column `at` for the subscript, or without that subscript at all.
  Expr column(Expr e, const Along& along, Expr at) const {
    return rewrite(pool_, e, [&](Expr node) -> Expr {
      const auto* read = as<Read>(node);
      if (!read) return {};
      std::vector<Expr> subscripts;
      std::vector<Boundary> rules = read->rules;
      bool found = false;
      for (std::size_t s = 0; s < rules.size(); ++s) {
        const bool here = Along{node->args[s], rules[s], program_[read->array].shape[s]} == along;
        found = found || here;
        if (here) rules[s] = Boundary::Inside;
        subscripts.push_back(here ? (at ? at : pool_.integer(0)) : column(node->args[s], along, at));
      }
      if (!found) return {};
      const bool falls_back = node->args.size() > rules.size();
      return pool_.read(read->array, node->type, std::move(subscripts), std::move(rules),
                        falls_back ? column(node->args.back(), along, at) : Expr{});
    });
  }

  Expr product(const std::vector<Expr>& factors) {
    Expr result = factors.front();
    for (std::size_t f = 1; f < factors.size(); ++f) result = pool_.apply(Prim::Mul, {result, factors[f]});
    return result;
  }

  /// The stage of the inner fold; the given one becomes that of the outer fold.
  Stage inner_fold(Stage& stage, const Window& window) {
    Output& output = stage.outputs.front();
    const Operator op = std::get<Fold>(output.combine[window.inner]).op;
    const std::string wish = program_[output.array].name + "_" + stage.dims[window.inner].name;
    Stage first;
    first.name = names_.stage_like(wish);
    first.place = stage.place;
    Output part;
    part.place = output.place;
    std::map<DimId, Expr> moved;
    std::vector<Expr> shape, subscripts;
    std::vector<Boundary> rules;
    Expr at;
    for (std::size_t d = 0; d < stage.dims.size(); ++d) {
      if (d == window.outer) continue;
      const Dim& dim = stage.dims[d];
      const std::string index = names_.like(dim.name);
      const DimId own = program_.add_dim(index);
      const bool along = d == window.moved;
      first.dims.push_back({own, index, dim.lo, along ? window.along.extent : dim.hi, {}, dim.place});
      part.combine.push_back(output.combine[d]);
      if (along) at = pool_.index(own);
      if (!along) moved[dim.id] = pool_.index(own);
      if (d == window.inner) continue;
      part.at.push_back(pool_.index(own));
      shape.push_back(first.dims.back().hi);
      subscripts.push_back(along ? window.along.subscript : pool_.index(dim.id));
      rules.push_back(along ? window.along.rule : Boundary::Inside);
    }
    part.value = rewrite(pool_, column(product(window.inside), window.along, at), [&](Expr node) {
      const auto* ref = as<IndexRef>(node);
      const auto found = ref ? moved.find(ref->dim) : moved.end();
      return found == moved.end() ? Expr{} : found->second;
    });
    part.array = program_.add_array(names_.like(wish), op.type, std::move(shape), stage.place);
    std::vector<Expr> factors = window.outside;
    factors.push_back(pool_.read(part.array, op.type, std::move(subscripts), std::move(rules), {}));
    output.value = product(factors);
    output.combine.erase(output.combine.begin() + static_cast<std::ptrdiff_t>(window.inner));
    first.outputs.push_back(std::move(part));
    notes_.done.push_back({"separated",
                           {stage.name},
                           "the windows of '" + stage.name + "' are folded over '" +
                               stage.dims[window.inner].name + "' first, once for each column",
                           stage.place});
    stage.dims.erase(stage.dims.begin() + static_cast<std::ptrdiff_t>(window.inner));
    changed_ = true;
    return first;
  }

  Program& program_;
  ExprPool& pool_;
  Notes& notes_;
  NewNames names_;
  bool changed_ = false;
};

}  // namespace

bool separate_windows(Program& program, Notes& notes) { return Separate(program, notes).run(); }

}  // namespace twill
