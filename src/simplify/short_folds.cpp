// Folds over a few points that are known: w[0] * a[x - 1] + w[1] * a[x] + w[2] * a[x + 1] is a formula like
// any other, and what it belongs to can share a loop with whoever reads it.
#include "simplify/passes.h"

#include "fuse/profit.h"
#include "program/index_use.h"
#include "program/regroup.h"
#include "program/typing.h"
#include "simplify/rewriting.h"

#include <algorithm>

namespace twill {

namespace {

/// So many points are written out, …
constexpr std::int64_t most_points = 9;
/// … with no more operations than these in all.
constexpr int most_operations = 96;

class ShortFolds {
 public:
  ShortFolds(Program& program, Notes& notes) : program_(program), pool_(*program.pool), notes_(notes) {}

  bool run() {
    edit_lists(program_, [&](std::vector<Stage>& list, bool) {
      for (Stage& stage : list)
        if (const auto dims = folded(stage); !dims.empty()) write_out(stage, dims);
    });
    return changed_;
  }

 private:
  /// The dimensions that all outputs fold, if they are short and the stage has no others but Cat.
  std::vector<std::size_t> folded(const Stage& stage) const {
    if (!std::holds_alternative<Formula>(stage.body) || !stage.effects.empty() || stage.outputs.empty() ||
        has_hint(stage, Hint::Never))
      return {};
    std::vector<std::size_t> dims;
    std::int64_t points = 1;
    for (std::size_t d = 0; d < stage.dims.size(); ++d) {
      const bool folds = is<Fold>(stage.outputs.front().combine[d]);
      const bool same = std::all_of(stage.outputs.begin(), stage.outputs.end(), [&](const Output& output) {
        return folds ? is<Fold>(output.combine[d]) : is<Cat>(output.combine[d]);
      });
      if (!same) return {};
      if (!folds) continue;
      const auto lo = integer_of(stage.dims[d].lo), hi = integer_of(stage.dims[d].hi);
      if (stage.dims[d].condition || !lo || !hi || *hi <= *lo || *hi - *lo > most_points) return {};
      points *= *hi - *lo;
      dims.push_back(d);
    }
    const bool plain = std::all_of(stage.outputs.begin(), stage.outputs.end(), [&](const Output& output) {
      return output.value && !output.guard && !output.into && one_operator(output, dims);
    });
    const bool bounds = std::any_of(stage.dims.begin(), stage.dims.end(), [&](const Dim& dim) {
      return std::any_of(dims.begin(), dims.end(), [&](std::size_t d) {
        return mentions(dim.lo, stage.dims[d].id) || (dim.hi && mentions(dim.hi, stage.dims[d].id));
      });
    });
    if (!plain || bounds || points > most_points || points * operations_of(stage) > most_operations)
      return {};
    // What has no other dimension is a single value, which a loop computes as well.
    return dims.size() == stage.dims.size() ? std::vector<std::size_t>{} : dims;
  }

  static bool one_operator(const Output& output, const std::vector<std::size_t>& dims) {
    return std::all_of(dims.begin(), dims.end(), [&](std::size_t d) {
      const Operator& op = std::get<Fold>(output.combine[d]).op;
      return op == std::get<Fold>(output.combine[dims.front()]).op && op.identity;
    });
  }

  /// Is a single value what the operator makes of it and its identity? A float's sign of zero may change, if
  /// the program is not strict; but the greatest of NaNs is minus infinity.
  bool begins_with_first(const Operator& op) const {
    if (!op.prim || !op.type.is_scalar()) return false;
    if (op.identity != builtin_operator(pool_, *op.prim, op.type).identity) return false;
    if (!op.type.is_float()) return true;
    return !program_.strict && (op.prim == Prim::Add || op.prim == Prim::Mul);
  }

  void write_out(Stage& stage, const std::vector<std::size_t>& dims) {
    for (Output& output : stage.outputs) {
      const Operator op = std::get<Fold>(output.combine[dims.front()]).op;
      Expr sum;
      for_each_point(stage, dims, 0, output.value, [&](Expr value) {
        value = op.type.is_scalar() ? pool_.cast(op.type, value) : value;
        if (!sum && begins_with_first(op))
          sum = value;
        else
          sum = combined(pool_, op, sum ? sum : op.identity, value);
      });
      const Type& type = program_[output.array].type;
      output.value = type.is_scalar() ? pool_.cast(type, sum) : sum;
      for (std::size_t k = dims.size(); k-- > 0;)
        output.combine.erase(output.combine.begin() + static_cast<std::ptrdiff_t>(dims[k]));
    }
    for (std::size_t k = dims.size(); k-- > 0;)
      stage.dims.erase(stage.dims.begin() + static_cast<std::ptrdiff_t>(dims[k]));
    notes_.done.push_back(
        {"written-out", {stage.name}, "what '" + stage.name + "' folds is written out", stage.place});
    changed_ = true;
  }

  /// The value at each point of the dimensions from number `k` of `dims` on, in order.
  void for_each_point(const Stage& stage, const std::vector<std::size_t>& dims, std::size_t k, Expr value,
                      const std::function<void(Expr)>& action) {
    if (k == dims.size()) return action(value);
    const Dim& dim = stage.dims[dims[k]];
    for (std::int64_t i = *integer_of(dim.lo); i < *integer_of(dim.hi); ++i) {
      const Expr at = pool_.integer(i);
      for_each_point(stage, dims, k + 1,
                     rewrite(pool_, value,
                             [&](Expr node) {
                               const auto* ref = as<IndexRef>(node);
                               return ref && ref->dim == dim.id ? at : Expr{};
                             }),
                     action);
    }
  }

  Program& program_;
  ExprPool& pool_;
  Notes& notes_;
  bool changed_ = false;
};

}  // namespace

bool write_out_short_folds(Program& program, Notes& notes) { return ShortFolds(program, notes).run(); }

}  // namespace twill
