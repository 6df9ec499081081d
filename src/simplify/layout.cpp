#include "simplify/layout.h"

#include "fuse/region.h"
#include "program/edit.h"
#include "program/index_use.h"
#include "simplify/passes.h"
#include "simplify/rewriting.h"

#include <algorithm>

namespace twill {

namespace {

/// A dimension of fewer points, known in advance, is not worth a copy.
constexpr std::int64_t few_points = 8;

/// Puts what belongs to dimension `d` last.
template <class T>
std::vector<T> with_last(std::vector<T> items, std::size_t d) {
  const auto at = items.begin() + static_cast<std::ptrdiff_t>(d);
  std::rotate(at, at + 1, items.end());
  return items;
}

class Layouts {
 public:
  Layouts(Region& region, Notes& notes)
      : region_(region),
        program_(region.program),
        pool_(*region.program.pool),
        notes_(notes),
        names_(program_) {}

  bool run() {
    bool changed = false;
    for (std::size_t p = 0; p < region_.stages.size(); ++p) {
      if (!turn(p)) continue;
      changed = true;
      p += copy_what_jumps(p);
    }
    return changed;
  }

 private:
  /// An element of an array, or of another one of the same elements with dimension `d` last.
  Expr turned(Expr read, ArrayId array, std::size_t d) {
    const std::vector<Boundary>& rules = as<Read>(read)->rules;
    const auto end = read->args.begin() + static_cast<std::ptrdiff_t>(rules.size());
    const Expr fallback = end == read->args.end() ? Expr{} : *end;
    return pool_.read(array, read->type, with_last(std::vector<Expr>(read->args.begin(), end), d),
                      with_last(rules, d), fallback, read->place);
  }

  /// Every read of an array, in a stage, becomes one of the turned array.
  void turn_reads(Stage& stage, ArrayId array, ArrayId other, std::size_t d) {
    Rewriter rewriter(pool_, [&](Expr node) {
      const Read* read = as<Read>(node);
      return read && read->array == array ? turned(node, other, d) : node;
    });
    for_each_slot(stage, [&](Expr& slot) { slot = rewriter(slot); });
  }

  /// The dimension whose points are neighbours in the memory of all outputs, if each has one.
  static std::optional<std::size_t> along(const Stage& stage) {
    std::optional<std::size_t> found;
    for (const Output& output : stage.outputs) {
      if (output.at.empty()) return std::nullopt;
      const IndexRef* last = as<IndexRef>(output.at.back());
      if (!last) return std::nullopt;
      const auto dim =
          std::find_if(stage.dims.begin(), stage.dims.end(), [&](const Dim& d) { return d.id == last->dim; });
      const auto d = static_cast<std::size_t>(dim - stage.dims.begin());
      if (d == stage.dims.size() || !is<Cat>(output.combine[d]) || (found && *found != d))
        return std::nullopt;
      found = d;
    }
    return found;
  }

  /// Do all outputs fold, and `does` so of the operators?
  static bool folds(const Stage& stage, const std::function<bool(const Operator&)>& does) {
    return std::holds_alternative<Formula>(stage.body) && stage.effects.empty() && !stage.outputs.empty() &&
           std::all_of(stage.outputs.begin(), stage.outputs.end(), [&](const Output& output) {
             bool any = false;
             for (const Combine& combine : output.combine) {
               const Fold* fold = std::get_if<Fold>(&combine);
               if (!fold && !is<Cat>(combine)) return false;
               if (fold && !does(fold->op)) return false;
               any = any || fold;
             }
             return any && !output.guard && !output.into;
           });
  }

  static std::vector<Expr> reads_in(const Stage& stage, const std::function<bool(ArrayId)>& which) {
    std::vector<Expr> found;
    std::set<const Node*> seen;
    for_each_expr(stage, [&](Expr root) {
      visit(root, [&](Expr node) {
        const Read* read = as<Read>(node);
        if (read && !read->rules.empty() && which(read->array) && seen.insert(node.get()).second)
          found.push_back(node);
      });
    });
    return found;
  }

  /// The subscript that moves with the index, one by one, if it is the only one and nothing else is unusual.
  static std::optional<std::size_t> moving(Expr read, DimId index) {
    const std::size_t rank = as<Read>(read)->rules.size();
    std::optional<std::size_t> found;
    for (std::size_t s = 0; s < rank; ++s) {
      if (reads_data(read->args[s])) return std::nullopt;
      if (!mentions(read->args[s], index)) continue;
      if (found || factor_of(read->args[s], index) != 1 || as<Read>(read)->rules[s] != Boundary::Inside)
        return std::nullopt;
      found = s;
    }
    return found;
  }

  /// Which dimension of the array would a stage have last, because lanes had better be its results?
  static std::optional<std::size_t> wishes(const Stage& reader, ArrayId array) {
    const auto lanes = along(reader);
    if (!lanes || !folds(reader, [](const Operator& op) { return !op.prim; })) return std::nullopt;
    std::optional<std::size_t> wish;
    for (const Expr read : reads_in(reader, [&](ArrayId id) { return id == array; })) {
      const auto moves = moving(read, reader.dims[*lanes].id);
      if (!moves || (wish && *wish != *moves)) return std::nullopt;
      wish = moves;
    }
    return wish;
  }

  /// Stores what the stage makes as its readers wish, if it has one output and they agree.
  bool turn(std::size_t p) {
    Stage& stage = region_.stages[p];
    if (stage.outputs.size() != 1 || !std::holds_alternative<Formula>(stage.body)) return false;
    Output& output = stage.outputs.front();
    const ArrayId array = output.array;
    const std::size_t rank = output.at.size();
    if (rank < 2 || output.into || output.force || !defines_dense(output)) return false;
    const UseTable uses(region_);
    if (uses.is_held(array) || uses.readers(array).empty()) return false;
    std::optional<std::size_t> wish;
    for (const int reader : uses.readers(array)) {
      const auto its = wishes(region_.stages[static_cast<std::size_t>(reader)], array);
      if (!its || *its + 1 == rank || (wish && *wish != *its)) return false;
      wish = its;
    }
    const Stage& reader = region_.stages[static_cast<std::size_t>(*uses.readers(array).begin())];
    notes_.done.push_back({"layout",
                           {stage.name, reader.name},
                           "'" + program_[array].name + "' is stored for lanes along '" +
                               reader.dims[*along(reader)].name + "', because '" + reader.name +
                               "' folds with an operator that lanes cannot put together",
                           stage.place});
    Array& stored = program_.arrays[static_cast<std::size_t>(array.value)];
    stored.shape = with_last(std::move(stored.shape), *wish);
    output.at = with_last(std::move(output.at), *wish);
    for (const int r : uses.readers(array))
      turn_reads(region_.stages[static_cast<std::size_t>(r)], array, array, *wish);
    return true;
  }

  static bool defines_dense(const Output& output) {
    return std::all_of(output.combine.begin(), output.combine.end(),
                       [](const Combine& c) { return is<Cat>(c) || is<Fold>(c); });
  }

  /// Sums and products of what moves with the index.
  static bool is_arithmetic(Expr root, DimId index) {
    const auto moving = mentioning(root, index);
    bool all = true;
    descend(root, [&](Expr e) {
      if (!moving.contains(e.get()) || as<Read>(e)) return false;
      all = all && (as<Cast>(e) || is_sum_or_product(e));
      return all;
    });
    return all;
  }

  /// Is what is read the same for many results of the stage?
  static bool is_used_often(const Stage& stage, Expr read, DimId lanes) {
    for (std::size_t d = 0; d < stage.dims.size(); ++d) {
      const Dim& dim = stage.dims[d];
      const Literal *lo = as<Literal>(dim.lo), *hi = as<Literal>(dim.hi);
      const bool few = lo && hi && hi->value.i - lo->value.i < few_points;
      if (dim.id != lanes && is<Cat>(stage.outputs.front().combine[d]) && !few && !mentions(read, dim.id))
        return true;
    }
    return false;
  }

  /// Arrays that a stage reads again and again, far apart for its lanes, are copied. Tells how many.
  std::size_t copy_what_jumps(std::size_t p) {
    const Stage& stage = region_.stages[p];
    const auto lanes = along(stage);
    if (!lanes || !folds(stage, [](const Operator& op) { return op.prim && op.identity; })) return 0;
    const DimId index = stage.dims[*lanes].id;
    if (!is_arithmetic(stage.outputs.front().value, index)) return 0;
    std::set<std::pair<ArrayId, std::size_t>> jumping;
    for (const Expr read : reads_in(stage, [](ArrayId) { return true; })) {
      if (!mentions(read, index)) continue;
      const auto moves = moving(read, index);
      if (!moves) return 0;
      if (*moves + 1 == as<Read>(read)->rules.size()) continue;
      if (!is_used_often(stage, read, index)) return 0;
      jumping.emplace(as<Read>(read)->array, *moves);
    }
    std::vector<Stage> copies;
    for (const auto& [array, d] : jumping) {
      // All reads of it have to be alike.
      const auto alike = [&, from = array, last = d](Expr read) { return moving(read, index) == last; };
      const auto all = reads_in(stage, [&, from = array](ArrayId id) { return id == from; });
      if (std::all_of(all.begin(), all.end(), alike)) copies.push_back(copy(p, array, d));
    }
    region_.stages.insert(region_.stages.begin() + static_cast<std::ptrdiff_t>(p),
                          std::make_move_iterator(copies.begin()), std::make_move_iterator(copies.end()));
    return copies.size();
  }

  /// The stage at `p` reads a copy of the array, with dimension `d` last, that the returned stage makes.
  Stage copy(std::size_t p, ArrayId from, std::size_t d) {
    Stage& reader = region_.stages[p];
    const Array array = program_[from];
    const ArrayId across = program_.add_array(names_.like(array.name + "_across"), array.type,
                                              with_last(array.shape, d), array.place);
    Stage stage = defined_by(
        program_, names_, names_.stage_like(program_[across].name), across,
        [&](const std::vector<Expr>& at) {
          std::vector<Expr> back = at;
          const auto to = back.begin() + static_cast<std::ptrdiff_t>(d);
          std::rotate(to, back.end() - 1, back.end());
          return pool_.read(from, array.type, std::move(back));
        },
        reader.place);
    stage.hints.push_back(Hint::Remember);  // that is what it is for
    notes_.done.push_back(
        {"layout",
         {stage.name, reader.name},
         "'" + stage.name + "' is a copy of '" + array.name + "' for lanes of '" + reader.name + "'",
         reader.place});
    turn_reads(reader, from, across, d);
    return stage;
  }

  Region& region_;
  Program& program_;
  ExprPool& pool_;
  Notes& notes_;
  NewNames names_;
};

}  // namespace

Simplified lay_out(std::shared_ptr<const Program> program) {
  Notes notes;
  auto current = std::make_shared<Program>(*program);
  const bool changed = in_all_regions(*current, [&](Region& region) {
    const bool split = split_records(region, notes);
    return (region.owner.empty() && Layouts(region, notes).run()) || split;
  });
  if (!changed) return {std::move(program), {}, {}};
  return {std::move(current), std::move(notes.done), std::move(notes.not_done)};
}

}  // namespace twill
