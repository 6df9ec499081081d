// Looks for dimensions along which a stage reads the same values at several points.
#include "plan/register_tile.h"

#include "plan/legality.h"
#include "program/index_use.h"

#include <algorithm>

namespace twill {

namespace {

/// Vectors of lanes in a row of the tile: two, because a multiply-add takes several cycles to finish.
constexpr std::int64_t vectors_in_row = 2;
/// More rows make more code but save little.
constexpr std::int64_t most_rows = 8;
/// A fold of fewer steps is short.
constexpr std::int64_t few_steps = 16;
/// Rows that share lanes of a sum.
constexpr std::int64_t few_rows = 4;
/// Of a window that slides over rows: rows of the result, and rows of the window that are summed up at once.
/// Ten rows are loaded for thirty products then, and filters of five rows, which are common, leave no rest.
constexpr std::int64_t rows_under_window = 6, rows_of_window = 5;

class Search {
 public:
  Search(const Program& program, const Machine& machine, const Stage& stage, int vector,
         const std::vector<int>& small, const std::set<int>& taken)
      : program_(program), machine_(machine), stage_(stage), vector_(vector), small_(small), taken_(taken) {}

  std::optional<RegisterTile> run() {
    if (vector_ < 0 || stage_.outputs.empty() || !stage_.effects.empty() ||
        !std::holds_alternative<Formula>(stage_.body))
      return std::nullopt;
    bool long_fold = false;
    arithmetic_ = true;
    for (const Output& output : stage_.outputs) {
      if (output.guard) return std::nullopt;
      const Operator* op = nullptr;
      for (std::size_t d = 0; d < output.combine.size(); ++d) {
        const Fold* fold = std::get_if<Fold>(&output.combine[d]);
        // All outputs are tiles of the same dimensions.
        if ((!fold && !is<Cat>(output.combine[d])) || !fold != is_cat(static_cast<int>(d)))
          return std::nullopt;
        if (!fold) continue;
        if (op && !(*op == fold->op)) return std::nullopt;
        op = &fold->op;
        long_fold = long_fold || is_long(static_cast<int>(d));
      }
      if (!op || !op->prim || !op->identity) return std::nullopt;
      arithmetic_ = arithmetic_ && is_arithmetic(output.value);
      ops_.push_back(op);
      visit(output.value, [&](Expr node) {
        if (const Read* read = as<Read>(node); read && !read->rules.empty()) reads_.push_back(node);
      });
    }
    if (!long_fold) return std::nullopt;
    if (const auto few = all_points()) return few;
    if (!arithmetic_) return std::nullopt;
    return is_cat(vector_) ? across() : along();
  }

 private:
  DimId index(int d) const { return stage_.dims[static_cast<std::size_t>(d)].id; }
  bool is_small(int d) const { return std::find(small_.begin(), small_.end(), d) != small_.end(); }
  /// Is a folded dimension worth accumulators? Inside of loops with others, tiles are set up again and again.
  bool is_long(int d) const {
    const Dim& dim = stage_.dims[static_cast<std::size_t>(d)];
    const Literal *lo = as<Literal>(dim.lo), *hi = as<Literal>(dim.hi);
    const bool few = lo && hi && hi->value.i - lo->value.i < few_steps;
    return !is_small(d) && !taken_.contains(d) && (taken_.empty() || !few);
  }
  bool is_cat(int d) const { return is<Cat>(stage_.outputs.front().combine[static_cast<std::size_t>(d)]); }
  int dims() const { return static_cast<int>(stage_.dims.size()); }

  /// Sums and products of elements that lie side by side along the vector dimension, or do not move with it.
  bool is_arithmetic(Expr root) const {
    const auto moving = mentioning(root, index(vector_));
    bool all = true;
    descend(root, [&](Expr e) {
      all = all && e->type.is_scalar() && !is_storage_only(e->type.scalar()) && !e->type.is(Scalar::Bool);
      if (!all || !moving.contains(e.get())) return false;
      if (const Read* read = as<Read>(e)) {
        all = lies_side_by_side(*read, e);
        return false;
      }
      const bool widens = as<Cast>(e) && !(e->args[0]->type.is_float() && !e->type.is_float());
      all = widens || is_sum_or_product(e);
      return all;
    });
    return all;
  }

  bool lies_side_by_side(const Read& read, Expr e) const {
    for (std::size_t s = 0; s < read.rules.size(); ++s) {
      const bool last = s + 1 == read.rules.size();
      if (read.rules[s] != Boundary::Inside || reads_data(e->args[s]) ||
          factor_of(e->args[s], index(vector_)) != (last ? 1 : 0))
        return false;
    }
    return true;
  }

  bool is_free(int d) const {
    for (int e = 0; e < dims(); ++e) {
      if (bounds_depend(stage_, e, d) || bounds_depend(stage_, d, e)) return false;
    }
    return true;
  }

  /// A dimension of too few points for lanes is held as a whole: there is nothing else for registers to do.
  std::optional<RegisterTile> all_points() const {
    const Dim& dim = stage_.dims[static_cast<std::size_t>(vector_)];
    const Literal *lo = as<Literal>(dim.lo), *hi = as<Literal>(dim.hi);
    if (!is_cat(vector_) || !lo || !hi || !is_free(vector_)) return std::nullopt;
    const std::int64_t points = hi->value.i - lo->value.i;
    if (points < 2 || points > few_rows) return std::nullopt;
    RegisterTile tile;
    tile.rows.push_back({vector_, points});
    return tile;
  }

  /// Dimensions of the output with how much its points share; those that share most first, inner ones first.
  std::vector<int> sharing(bool only_vectors) const {
    std::vector<std::pair<int, int>> found;
    for (int d = dims() - 1; d >= 0; --d) {
      if (d == vector_ || taken_.contains(d) || !is_cat(d) || !is_free(d)) continue;
      int score = 0;
      for (Expr read : reads_) {
        if (mentions(read, index(d))) continue;
        const bool moves = mentions(read, index(vector_));
        score += moves ? 2 : only_vectors ? 0 : 1;
      }
      if (score > 0) found.emplace_back(score, d);
    }
    std::stable_sort(found.begin(), found.end(), [](auto a, auto b) { return a.first > b.first; });
    std::vector<int> result;
    for (const auto& [score, d] : found) result.push_back(d);
    return result;
  }

  /// Lanes along the output, folds run inside.
  std::optional<RegisterTile> across() const {
    if (!is_free(vector_)) return std::nullopt;
    RegisterTile tile;
    std::int64_t widest = 1, bytes = 0;  // of an element; of a point, all outputs together
    for (const Operator* op : ops_) {
      const auto size = static_cast<std::int64_t>(byte_size(op->type));
      widest = std::max(widest, size);
      bytes += size;
    }
    const std::int64_t in_vector = machine_.lanes(static_cast<int>(widest)),
                       lanes = vectors_in_row * in_vector;
    if (lanes < 2) return std::nullopt;
    tile.lanes = {vector_, lanes};
    const std::vector<int> rows = sharing(false);
    const MemoryLayer* registers = machine_.find_memory("registers");
    const std::int64_t room = registers ? registers->bytes / 2 / bytes : few_rows * lanes;  // for points
    if (rows.empty()) {
      // As many points as there is room for hide how long an operation takes.
      if (stays()) tile.lanes->points = std::max(lanes, room / lanes * lanes);
      return stays() || slides() ? std::optional(tile) : std::nullopt;
    }
    if (room < 2 * lanes) return std::nullopt;
    tile.rows.push_back({rows.front(), std::clamp<std::int64_t>(room / lanes, 2, most_rows)});
    const DimId row = index(rows.front());
    tile.panel = std::any_of(reads_.begin(), reads_.end(), [&](Expr read) {
      return mentions(read, index(vector_)) && !mentions(read, row);
    });
    if (std::any_of(ops_.begin(), ops_.end(), [&](const Operator* op) { return keeps_order(program_, *op); }))
      return tile;
    // A window that slides over the rows: a step of it at one row reads what the next step reads at the row
    // before.
    for (int d = 0; d < dims() && !tile.chunk; ++d) {
      if (is_cat(d) || is_small(d) || !is_free(d)) continue;
      for (Expr read : reads_) {
        for (std::size_t s = 0; s + 1 < as<Read>(read)->rules.size(); ++s) {
          if (mentions(read->args[s], row) && mentions(read->args[s], index(d)))
            tile.chunk = RegisterTile::Side{d, rows_of_window};
        }
      }
    }
    if (tile.chunk) tile.rows.front().points = std::min(tile.rows.front().points, rows_under_window);
    return tile;
  }

  /// Does what moves along the vector dimension stay the same while folds run?
  bool stays() const {
    return std::none_of(reads_.begin(), reads_.end(), [&](Expr read) {
      if (!mentions(read, index(vector_))) return false;
      for (int d = 0; d < dims(); ++d)
        if (!is_cat(d) && mentions(read, index(d))) return true;
      return false;
    });
  }

  /// Does a window slide along the vector dimension, so that lanes read again what others have read?
  bool slides() const {
    return std::any_of(reads_.begin(), reads_.end(), [&](Expr read) {
      const Expr last = read->args[as<Read>(read)->rules.size() - 1];
      if (!mentions(last, index(vector_))) return false;
      for (int d = 0; d < dims(); ++d) {
        if (!is_cat(d) && mentions(last, index(d))) return true;
      }
      return false;
    });
  }

  /// Lanes along a fold: rows share what moves along it.
  std::optional<RegisterTile> along() const {
    RegisterTile tile;
    for (int d : sharing(true)) {
      if (tile.rows.size() < 2) tile.rows.push_back({d, few_rows});
    }
    return tile.rows.empty() ? std::nullopt : std::optional(tile);
  }

  const Program& program_;
  const Machine& machine_;
  const Stage& stage_;
  int vector_;
  const std::vector<int>& small_;
  const std::set<int>& taken_;
  std::vector<const Operator*> ops_;  // by output
  std::vector<Expr> reads_;
  bool arithmetic_ = false;  // nothing but sums and products of what lies side by side
};

}  // namespace

std::optional<RegisterTile> find_register_tile(const Program& program, const Machine& machine,
                                               const Stage& stage, int vector, const std::vector<int>& small,
                                               const std::set<int>& taken) {
  return Search(program, machine, stage, vector, small, taken).run();
}

}  // namespace twill
