#include "slice/slice.h"

#include "base/error.h"
#include "fuse/profit.h"
#include "program/affine_of.h"
#include "program/positive.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <stdexcept>

namespace twill {

using poly::Affine;
using poly::Var;

namespace {

/// A bound of the sum: in every division that does not come out even, the remainder is dropped or rounded up,
/// so that sums whose divisions differ by a constant can be compared.
Affine without_remainders(const Affine& sum, bool upper) {
  Affine result = sum.constant();
  for (const Affine::Term& term : sum.terms()) {
    if (const Var* var = std::get_if<Var>(&term.atom)) {
      result = result + Affine(*var) * term.factor;
      continue;
    }
    const Affine::Division& division = *std::get<1>(term.atom);
    const bool up = upper == (term.factor > 0);
    const Affine numerator = without_remainders(division.numerator, up);
    const std::int64_t rest = poly::floor_mod(numerator.constant(), division.divisor);
    Affine even = floor_div(numerator - rest, division.divisor);
    if (up && rest > 0) even = even + 1;
    result = result + even * term.factor;
  }
  return result;
}

/// How many divisions are inside of each other.
int depth_of(const Affine& sum) {
  int depth = 0;
  for (const Affine::Term& term : sum.terms())
    if (const auto* division = std::get_if<1>(&term.atom))
      depth = std::max(depth, 1 + depth_of((*division)->numerator));
  return depth;
}

/// An upper bound of the sum, if that is a number: a division is at most its numerator's share, and at least
/// that of what is left of it when the greatest remainder is taken away.
std::optional<std::int64_t> without_divisions(Affine sum) {
  std::int64_t scale = 1;
  while (const int depth = depth_of(sum)) {
    // The deepest first: what is inside of it may be what other terms have.
    const auto deepest = std::find_if(sum.terms().begin(), sum.terms().end(), [&](const Affine::Term& term) {
      const auto* division = std::get_if<1>(&term.atom);
      return division && 1 + depth_of((*division)->numerator) == depth;
    });
    const Affine::Division division = *std::get<1>(deepest->atom);
    const std::int64_t factor = deepest->factor, more = division.divisor / std::gcd(factor, division.divisor);
    const Affine exact = floor_div(division.numerator, division.divisor) * factor;
    const Affine share = factor > 0 ? division.numerator : division.numerator - (division.divisor - 1);
    sum = (sum - exact) * more + share * (factor * more / division.divisor);
    scale = (Affine(scale) * more).constant();
  }
  return sum.is_constant() ? std::optional(poly::floor_div(sum.constant(), scale)) : std::nullopt;
}

/// The difference of two sums, or an upper bound of it, if that is a number.
std::optional<std::int64_t> most(const Affine& a, const Affine& b) {
  const Affine exact = a - b;
  if (exact.is_constant()) return exact.constant();
  const Affine bound = without_remainders(a, true) - without_remainders(b, false);
  std::optional<std::int64_t> other;
  try {
    other = without_divisions(exact);
  } catch (const std::overflow_error&) {
    // Then there is the first bound at most.
  }
  if (!bound.is_constant()) return other;
  return other ? std::min(bound.constant(), *other) : bound.constant();
}

/// The span that covers both; nothing if they cannot be compared.
std::optional<Span> hull(const Span& a, const Span& b) {
  const auto pick = [](const Affine& x, const Affine& y, bool upper) -> std::optional<Affine> {
    if (const auto above = most(x, y); above && *above <= 0) return upper ? y : x;
    if (const auto above = most(y, x); above && *above <= 0) return upper ? x : y;
    const Affine p = without_remainders(x, upper), q = without_remainders(y, upper);
    const Affine bound = p - q;
    if (!bound.is_constant()) return std::nullopt;
    return (bound.constant() > 0) == upper ? p : q;
  };
  const auto lo = pick(a.lo, b.lo, false), hi = pick(a.hi, b.hi, true);
  if (!lo || !hi) return std::nullopt;
  return Span{*lo, *hi};
}

/// What the expressions of a stage take their values from, if only a slice of the stage runs.
class Values {
 public:
  Values(const Stage& stage, const Slice& slice) : stage_(stage), slice_(slice) {}
  Values(const Stage& stage, Slice&& slice) = delete;  // it is only looked at

  std::optional<Span> of(Expr e) const {
    const auto affine = affine_of(e);
    if (!affine || affine->mentions(Var::Kind::Term)) return std::nullopt;
    const auto lo = bound(*affine, false), hi = bound(*affine, true);
    if (!lo || !hi) return std::nullopt;
    return Span{*lo, *hi};
  }

 private:
  std::optional<Affine> bound(const Affine& sum, bool upper) const {
    Affine result = sum.constant();
    for (const Affine::Term& term : sum.terms()) {
      const bool up = upper == (term.factor > 0);
      std::optional<Affine> value;
      if (const Var* var = std::get_if<Var>(&term.atom)) {
        value = end(*var, up);
      } else {
        const Affine::Division& division = *std::get<1>(term.atom);
        value = bound(division.numerator, up);
        if (value) value = floor_div(*value, division.divisor);
      }
      if (!value) return std::nullopt;
      result = result + *value * term.factor;
    }
    return result;
  }

  /// The least or the greatest value of a variable.
  std::optional<Affine> end(Var var, bool upper) const {
    for (std::size_t d = 0; d < stage_.dims.size(); ++d) {
      const Dim& dim = stage_.dims[d];
      if (!(var_of(dim.id) == var)) continue;
      if (slice_[d]) return upper ? slice_[d]->hi : slice_[d]->lo;
      const auto affine = affine_of(upper ? dim.hi : dim.lo);
      if (!affine || affine->mentions(Var::Kind::Term)) return std::nullopt;
      return bound(upper ? *affine - 1 : *affine, upper);
    }
    return Affine(var);
  }

  const Stage& stage_;
  const Slice& slice_;
};

/// The dimension whose index the subscript is.
int dim_of(const Stage& stage, Expr subscript) {
  const IndexRef* index = as<IndexRef>(subscript);
  for (std::size_t d = 0; d < stage.dims.size(); ++d)
    if (index && stage.dims[d].id == index->dim) return static_cast<int>(d);
  return -1;
}

/// The first and the last origin that a tile has, by the variable that stands for it.
using Origins = std::map<Var, Span>;

Origins origins_of(std::span<const Stage* const> stages, std::span<const std::optional<Slice>> tiled) {
  Origins origins;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (!tiled[i]) continue;
    for (std::size_t d = 0; d < tiled[i]->size(); ++d) {
      const auto& span = (*tiled[i])[d];
      const auto origin = span ? span->lo.as_var() : std::nullopt;
      const Dim& dim = stages[i]->dims[d];
      if (!origin || !dim.hi) continue;
      const auto first = affine_of(dim.lo), end = affine_of(dim.hi);
      if (first && end && !first->mentions(Var::Kind::Term) && !end->mentions(Var::Kind::Term))
        origins.emplace(*origin, Span{*first, *end - 1});
    }
  }
  return origins;
}

/// The least or the greatest value of a sum, whichever tile it is.
Affine extreme(const Affine& sum, bool upper, const Origins& origins) {
  Affine result = sum.constant();
  for (const Affine::Term& term : sum.terms()) {
    const bool up = upper == (term.factor > 0);
    if (const Var* var = std::get_if<Var>(&term.atom)) {
      const auto known = origins.find(*var);
      const Affine value = known == origins.end() ? Affine(*var) : up ? known->second.hi : known->second.lo;
      result = result + value * term.factor;
    } else {
      const Affine::Division& division = *std::get<1>(term.atom);
      result = result + floor_div(extreme(division.numerator, up, origins), division.divisor) * term.factor;
    }
  }
  return result;
}

/// Collects what readers need of a producer.
class Demand {
 public:
  Demand(const Stage& producer, const Origins& origins)
      : producer_(producer),
        origins_(origins),
        spans_(producer.dims.size()),
        whole_(producer.dims.size(), false),
        outside_(producer.dims.size(), false) {}

  void add(const Stage& reader, const Slice& slice) {
    const Slice everything(reader.dims.size());
    const Values values(reader, slice), all(reader, everything);
    for_each_expr(reader, [&](Expr root) {
      visit(root, [&](Expr node) {
        const Read* read = as<Read>(node);
        if (!read) return;
        for (const Output& output : producer_.outputs) {
          if (read->array != output.array) continue;
          for (std::size_t s = 0; s < output.at.size(); ++s)
            add(dim_of(producer_, output.at[s]), node->args[s], read->rules[s], values, all);
        }
      });
    });
  }

  struct Found {
    Slice slice;
    /// The indices that are computed: those of the span and, where it lies outside of the range, the nearest
    /// one inside. What the producer reads itself is found from these.
    Slice reached;
  };

  Found result() const {
    Found found{Slice(producer_.dims.size()), Slice(producer_.dims.size())};
    for (std::size_t d = 0; d < found.slice.size(); ++d) {
      if (whole_[d] || !spans_[d] || !width_of(*spans_[d])) continue;
      found.reached[d] = outside_[d] ? pulled_inside(*spans_[d], producer_.dims[d]) : spans_[d];
      if (found.reached[d]) found.slice[d] = spans_[d];
    }
    return found;
  }

 private:
  /// `all`: the values if all of the reader runs.
  void add(int dim, Expr subscript, Boundary rule, const Values& values, const Values& all) {
    const auto d = static_cast<std::size_t>(dim);
    std::optional<Span> span;
    if (rule != Boundary::Wrap && !whole_[d]) span = values.of(subscript);
    if (span && rule == Boundary::Mirror) span = mirrored(*span, all.of(subscript), producer_.dims[d]);
    if (span && spans_[d]) span = hull(*spans_[d], *span);
    spans_[d] = span;
    whole_[d] = !span;
    outside_[d] = outside_[d] || rule != Boundary::Inside;
  }

  /// A span that contains what its parts outside of the range are reflected to as well, for every tile;
  /// nothing if nobody knows how far outside they lie. `all`: what the reader reads in all tiles together.
  /// What lies so far before the first index, or behind the last one, is reflected to so many of them.
  std::optional<Span> mirrored(const Span& span, const std::optional<Span>& all, const Dim& dim) const {
    const auto end = affine_of(dim.hi);
    const auto before = all ? most(0, all->lo) : std::nullopt;
    const auto behind = all && end ? most(all->hi, *end - 1) : std::nullopt;
    if (!before || !behind) return std::nullopt;
    Span result = span;
    if (*before > 0) {
      const auto more = most(*before - 1, extreme(span.hi, false, origins_));
      if (!more) return std::nullopt;
      result.hi = result.hi + std::max<std::int64_t>(0, *more);
    }
    if (*behind > 0) {
      const auto more = most(extreme(span.lo, true, origins_) + *behind, *end);
      if (!more) return std::nullopt;
      result.lo = result.lo - std::max<std::int64_t>(0, *more);
    }
    return result;
  }

  /// A span that contains the nearest index inside of the range as well, for every tile; nothing if nobody
  /// knows how far outside the span may lie.
  std::optional<Span> pulled_inside(const Span& span, const Dim& dim) const {
    const auto end = affine_of(dim.hi);
    const auto beyond = end ? most(extreme(span.lo, true, origins_), *end - 1) : std::nullopt;
    const auto before = most(0, extreme(span.hi, false, origins_));
    if (!beyond || !before) return std::nullopt;
    return Span{span.lo - std::max<std::int64_t>(0, *beyond), span.hi + std::max<std::int64_t>(0, *before)};
  }

  const Stage& producer_;
  const Origins& origins_;
  std::vector<std::optional<Span>> spans_;
  std::vector<bool> whole_, outside_;
};

/// Could the expression end a run with an error?
bool may_fail(const Program& program, const Positive& positive, Expr root) {
  bool found = false;
  visit(root, [&](Expr node) {
    const Read* read = as<Read>(node);
    if (!read) {
      found = found || is_partial(node, program.functions);
      return;
    }
    for (std::size_t s = 0; s < read->rules.size(); ++s) {
      const Boundary rule = read->rules[s];
      const bool bends = rule == Boundary::Clamp || rule == Boundary::Mirror || rule == Boundary::Wrap;
      found = found || rule == Boundary::Checked ||
              (bends && !is_positive(program[read->array].shape[s], positive));
    }
  });
  return found;
}

/// Could a fold of the stage have nothing to fold, and nothing to say then?
bool may_be_empty(const Stage& stage, const Output& output) {
  for (std::size_t d = 0; d < stage.dims.size(); ++d) {
    const Fold* fold = std::get_if<Fold>(&output.combine[d]);
    if (!fold || fold->op.identity) continue;
    const Literal* lo = as<Literal>(stage.dims[d].lo);
    if (!lo || lo->value.i > 0 || !is_positive(stage.dims[d].hi, {})) return true;
  }
  return false;
}

}  // namespace

std::optional<std::int64_t> width_of(const Span& span) {
  const auto difference = most(span.hi, span.lo);
  return difference ? std::optional(*difference + 1) : std::nullopt;
}

bool slides_along(const Span& span, Var var) {
  const std::function<bool(const Affine&)> grows = [&](const Affine& sum) {
    return std::all_of(sum.terms().begin(), sum.terms().end(), [&](const Affine::Term& term) {
      if (const Var* own = std::get_if<Var>(&term.atom)) return !(*own == var) || term.factor > 0;
      const Affine::Division& division = *std::get<1>(term.atom);
      return !division.numerator.mentions(var) || (term.factor > 0 && grows(division.numerator));
    });
  };
  return (span.lo.mentions(var) || span.hi.mentions(var)) && grows(span.lo) && grows(span.hi);
}

std::optional<Reason> why_not_slice(const Program& program, const Stage& stage) {
  const auto no = [&](std::string code, std::string text) {
    return Reason{std::move(code), {stage.name}, "'" + stage.name + "' has no slices: " + text, stage.place};
  };
  if (has_hint(stage, Hint::Never)) return no("never", "it says never");
  if (!std::holds_alternative<Formula>(stage.body)) return no("block", "it is a block");
  if (!stage.effects.empty()) return no("effect", "an effect happens in it");
  for (const Dim& dim : stage.dims)
    if (dim.condition || !dim.hi) return no("range", "how far '" + dim.name + "' runs is not known");
  bool fails = false;
  const Positive positive = positive_in(stage);
  for_each_expr(stage, [&](Expr root) { fails = fails || may_fail(program, positive, root); });
  if (fails) return no("checked", "it may fail, and would not fail where it is not needed");
  for (const Output& output : stage.outputs) {
    const std::string name = "'" + program[output.array].name + "'";
    if (output.into) return no("version", name + " is a new version of an array");
    if (output.force) return no("forced", name + " is forced");
    if (output.guard || output.offsets || output.keys || output.key)
      return no("guard", "not every element of " + name + " is computed, or not in its place");
    if (may_be_empty(stage, output))
      return no("empty", name + " may have nothing to fold, which would go unnoticed where it is not needed");
    std::vector<bool> placed(stage.dims.size(), false);
    for (std::size_t s = 0; s < output.at.size(); ++s) {
      const int d = dim_of(stage, output.at[s]);
      const bool once = d >= 0 && !placed[static_cast<std::size_t>(d)];
      const Dim* dim = once ? &stage.dims[static_cast<std::size_t>(d)] : nullptr;
      const Literal* lo = dim ? as<Literal>(dim->lo) : nullptr;
      if (!lo || lo->value.i != 0 || dim->hi != program[output.array].shape[s])
        return no("write-map", "an element of " + name + " does not have the index of a point");
      placed[static_cast<std::size_t>(d)] = true;
    }
    for (std::size_t d = 0; d < stage.dims.size(); ++d) {
      if (is<Cat>(output.combine[d]) ? !placed[d] : !is<Fold>(output.combine[d]))
        return no("combine", name + " is combined along '" + stage.dims[d].name + "'");
    }
  }
  if (stage.outputs.empty()) return no("no-output", "it computes nothing");
  return std::nullopt;
}

std::vector<Slice> slice_backward(std::span<const Stage* const> stages,
                                  std::span<const std::optional<Slice>> tiled) {
  std::vector<Slice> slices(stages.size()), reached(stages.size());
  Origins origins;
  try {
    origins = origins_of(stages, tiled);
  } catch (const std::overflow_error&) {
    // Then nobody knows where tiles begin.
  }
  for (std::size_t i = stages.size(); i-- > 0;) {
    if (tiled[i]) {
      slices[i] = reached[i] = *tiled[i];
      continue;
    }
    Demand demand(*stages[i], origins);
    try {
      for (std::size_t k = i + 1; k < stages.size(); ++k) demand.add(*stages[k], reached[k]);
      auto [slice, computed] = demand.result();
      slices[i] = std::move(slice);
      reached[i] = std::move(computed);
    } catch (const std::overflow_error&) {
      slices[i].assign(stages[i]->dims.size(), std::nullopt);  // nobody knows where that is
      reached[i] = slices[i];
    }
  }
  return slices;
}

Expr expr_of(ExprPool& pool, const Affine& affine) {
  Expr sum;
  const auto add = [&](Expr value, std::int64_t factor) {
    const std::int64_t size = factor < 0 ? -factor : factor;
    if (size != 1) value = pool.apply(Prim::Mul, {pool.integer(size), value});
    if (!sum)
      sum = factor < 0 ? pool.apply(Prim::Neg, {value}) : value;
    else
      sum = pool.apply(factor < 0 ? Prim::Sub : Prim::Add, {sum, value});
  };
  for (const Affine::Term& term : affine.terms()) {
    if (const Var* var = std::get_if<Var>(&term.atom)) {
      ensure(var->kind == Var::Kind::Index || var->kind == Var::Kind::Size, "expr_of: an index or a size");
      add(var->kind == Var::Kind::Index ? pool.index(DimId{var->id}) : pool.size(SymbolId{var->id}),
          term.factor);
    } else {
      const Affine::Division& division = *std::get<1>(term.atom);
      add(pool.apply(Prim::Div, {expr_of(pool, division.numerator), pool.integer(division.divisor)}),
          term.factor);
    }
  }
  if (!sum) return pool.integer(affine.constant());
  if (affine.constant() != 0)
    add(pool.integer(affine.constant() < 0 ? -affine.constant() : affine.constant()),
        affine.constant() < 0 ? -1 : 1);
  return sum;
}

}  // namespace twill
