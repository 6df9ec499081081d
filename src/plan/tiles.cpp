#include "plan/tiles.h"

#include "fuse/share.h"
#include "plan/rooms.h"
#include "program/affine_of.h"
#include "program/index_use.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace twill {

namespace {

/// A row of a tile has at least so many elements, if it has that many at all …
constexpr std::int64_t least_row = 256;
/// … or at least these, if there is no room for more along other dimensions …
constexpr std::int64_t shortest_row = 32;
/// … and no more than these …
constexpr std::int64_t most_row = 4096;
/// … of which the cache has to hold more than twice as many, if they are more than these: a long row is read
/// ahead better, but needs more room.
constexpr std::int64_t long_row = 1024;
/// Rows of a tile that does not slide.
constexpr std::int64_t most_rows = 64;
/// Lines of a plane, if rings hold planes.
constexpr std::int64_t lines = 16;
/// The length of a row that nobody knows, and how many rows there are if nobody does.
constexpr std::int64_t guess = 512, guess_rows = 256;
/// What is read again for every tile is used for at least so many of its points.
constexpr std::int64_t least_uses = 16;

/// A slice has rows of at least one in so many elements of a row of the tile.
constexpr std::int64_t narrow = 16;

class Search {
 public:
  Search(const Program& program, const Machine& machine, std::span<const Stage* const> stages,
         std::size_t sliced, int vector)
      : program_(program),
        machine_(machine),
        stages_(stages),
        sliced_(sliced),
        leader_(*stages[sliced]),
        vector_(vector) {}

  Result<std::vector<TileLoops>, Reason> run() {
    if (auto reason = find_dims()) return *reason;
    if (loses_parallelism())
      return no("short", "the dimensions that tiles could be cut along have too few points for all workers");
    std::vector<TileLoops> candidates, found;
    if (auto loops = rings()) candidates.push_back(std::move(*loops));
    candidates.push_back(strips());
    std::optional<Reason> reason;
    for (TileLoops& loops : candidates) {
      if ((reason = why_no_gain(loops))) continue;
      loops.again = computed_again(stages_, cluster_loops(loops.shared), loops.keep);
      loops.again.resize(sliced_);
      loops.overlap = !overlapping_.empty();
      loops.widths = widths(loops.shared);
      found.push_back(std::move(loops));
    }
    if (found.empty()) return *reason;
    return found;
  }

 private:
  Reason no(std::string code, std::string text) const {
    return {std::move(code), {stages_.front()->name, leader_.name}, std::move(text), leader_.place};
  }

  /// Why slices for such tiles save nothing; nothing if they do.
  std::optional<Reason> why_no_gain(const TileLoops& loops) const {
    // Slices that are no longer in a core's own cache when they are read …
    if (const double needed = bytes(loops.shared, loops.keep); needed > room())
      return no("room",
                fmt::format("tiles of '{}' would need {:.0f} kB for slices, and the cache of a core has "
                            "room for {:.0f} kB",
                            leader_.name, std::ceil(needed / 1e3), room() / 1e3));
    if (const Stage* stage = reader_of_all(loops))
      return no("again", "every tile of '" + leader_.name + "' would go through all that '" + stage->name +
                             "' reads again");
    if (const Stage* stage = narrow_slice(loops))
      return no("narrow", "tiles of '" + leader_.name + "' need so little of a row of '" + stage->name +
                              "' that its loops would cost more than its elements");
    return std::nullopt;
  }

  ClusterLoops cluster_loops(const std::vector<ChainLevel>& shared) const {
    ClusterLoops loops;
    loops.shared = shared.size();
    loops.chains.assign(stages_.size(), shared);
    loops.sliced.assign(stages_.size(), false);
    for (std::size_t i = 0; i < sliced_; ++i) {
      loops.sliced[i] = true;
      loops.chains[i].clear();
    }
    return loops;
  }

  /// The slices if the innermost shared loops have so many points in an iteration.
  std::vector<Slice> slices(const std::vector<ChainLevel>& shared) const {
    return slices_of(stages_, cluster_loops(shared),
                     [&](std::size_t level) { return index(shared[level].dim); });
  }

  std::vector<Widths> widths(const std::vector<ChainLevel>& shared) const {
    std::vector<Slice> found = slices(shared);
    found.resize(sliced_);
    std::vector<Widths> result;
    for (const Slice& slice : found) {
      result.emplace_back();
      for (const std::optional<Span>& span : slice)
        result.back().push_back(span ? width_of(*span) : std::nullopt);
    }
    return result;
  }

  poly::Var index(int d) const { return var_of(leader_.dims[static_cast<std::size_t>(d)].id); }

  /// A stage with slices whose rows are so much shorter than those of the tile that they are hardly worth
  /// their loops: coarse levels of a pyramid have such.
  const Stage* narrow_slice(const TileLoops& loops) const {
    const auto level = std::find_if(loops.shared.begin(), loops.shared.end(), [&](const ChainLevel& l) {
      return l.dim == vector_ && l.cut.kind == Cut::Kind::Step && l.cut.count > 1;
    });
    if (level == loops.shared.end()) return nullptr;
    const std::vector<Slice> found = slices(loops.shared);
    for (std::size_t i = 0; i < sliced_; ++i)
      for (const std::optional<Span>& span : found[i])
        if (span && span->lo.mentions(index(vector_)) && *width_of(*span) < level->cut.count / narrow)
          return stages_[i];
    return nullptr;
  }

  /// A stage with a long fold that would read all of an array for every tile, and use it for a few points
  /// only.
  const Stage* reader_of_all(const TileLoops& loops) const {
    const std::vector<Slice> found = slices(loops.shared);
    for (std::size_t i = 0; i < sliced_; ++i) {
      const Stage& stage = *stages_[i];
      std::set<std::size_t> moving;
      for (std::size_t d = 0; d < stage.dims.size(); ++d)
        if (found[i][d] && found[i][d]->lo.mentions(poly::Var::Kind::Index)) moving.insert(d);
      for (std::size_t d = 0; d < stage.dims.size(); ++d) {
        const Literal* extent = as<Literal>(stage.dims[d].hi);
        if (!is<Fold>(stage.outputs.front().combine[d]) || (extent && extent->value.i <= least_row)) continue;
        bool again = false;
        for_each_expr(stage, [&](Expr root) {
          visit(root, [&](Expr node) {
            if (!as<Read>(node) || !mentions(node, stage.dims[d].id)) return;
            std::int64_t points = 1;
            bool moves = false;
            for (const std::size_t e : moving) {
              points *= *width_of(*found[i][e]);
              moves = moves || mentions(node, stage.dims[e].id);
            }
            again = again || (!moves && points < least_uses);
          });
        });
        if (again) return &stage;
      }
    }
    return nullptr;
  }

  /// The dimensions that every slice moves along: tiles along others would compute the same again. And those
  /// along which slices overlap. Or why there are none.
  std::optional<Reason> find_dims() {
    const std::span<const Stage* const> tiled = stages_.subspan(sliced_);
    const int most = tiled.size() == 1 ? static_cast<int>(leader_.dims.size()) : most_shared(program_, tiled);
    std::vector<ChainLevel> points;
    for (int d = 0; d < most; ++d)
      if (std::all_of(tiled.begin(), tiled.end(), [&](const Stage* stage) { return can_cut(*stage, d); }))
        points.push_back({d, {}, By::Seq});
    if (points.empty())
      return no("tiles", "no outer dimension of '" + leader_.name + "' could be cut into tiles");
    const std::vector<Slice> found = slices(points);
    for (const ChainLevel& level : points) {
      bool everywhere = true, overlaps = false;
      for (std::size_t i = 0; i < sliced_; ++i) {
        bool moves = false;
        for (const std::optional<Span>& span : found[i]) {
          if (!span || (!span->lo.mentions(index(level.dim)) && !span->hi.mentions(index(level.dim))))
            continue;
          moves = true;
          overlaps = overlaps || width_of(*span) > 1;
        }
        everywhere = everywhere && moves;
      }
      if (!everywhere) continue;
      dims_.push_back(level.dim);
      if (overlaps) overlapping_.insert(level.dim);
    }
    // Several tiled stages share the outermost dimensions, without gaps.
    if (tiled.size() > 1)
      for (std::size_t k = 0; k < dims_.size(); ++k)
        if (dims_[k] != static_cast<int>(k)) dims_.resize(k);
    if (!dims_.empty()) return std::nullopt;
    for (std::size_t i = sliced_; i-- > 0;)
      if (std::ranges::none_of(found[i], [&](const std::optional<Span>& span) { return span.has_value(); }))
        return no("whole", "tiles of '" + leader_.name + "' would need all of '" + stages_[i]->name + "'" +
                               why_all(i));
    return no("tiles", "no outer dimension of '" + leader_.name + "' cuts all that it reads into parts");
  }

  /// What speaks against parts of a stage in the reads of those after it.
  std::string why_all(std::size_t i) const {
    bool wraps = false, data = false;
    for (const Stage* reader : stages_.subspan(i + 1))
      for_each_expr(*reader, [&](Expr root) {
        visit(root, [&](Expr node) {
          const Read* read = as<Read>(node);
          if (!read || std::ranges::none_of(stages_[i]->outputs,
                                            [&](const Output& o) { return o.array == read->array; }))
            return;
          for (std::size_t k = 0; k < read->rules.size(); ++k) {
            wraps = wraps || read->rules[k] == Boundary::Wrap;
            data = data || reads_data(node->args[k]);
          }
        });
      });
    return wraps ? ", which is wrapped around" : data ? ", of which data decide what is read" : "";
  }

  /// Folds and scatters only where they are the outermost loops: inside, an element of the output is one
  /// tile's.
  static bool can_cut(const Stage& stage, int d) {
    return std::all_of(stage.outputs.begin(), stage.outputs.end(),
                       [&](const Output& output) {
                         const auto end = output.combine.begin() + d + 1;
                         return is<Cat>(output.combine[static_cast<std::size_t>(d)]) ||
                                std::all_of(output.combine.begin(), end, [](const Combine& combine) {
                                  return is<Fold>(combine) || is<Scatter>(combine);
                                });
                       }) &&
           std::none_of(stage.dims.begin(), stage.dims.end(), [&](const Dim& dim) {
             const int e = static_cast<int>(&dim - stage.dims.data());
             return bounds_depend(stage, e, d) || bounds_depend(stage, d, e);
           });
  }

  /// Does the dimension have too few points for all workers?
  bool is_short(int d) const {
    const Literal* extent = as<Literal>(leader_.dims[static_cast<std::size_t>(d)].hi);
    return extent && extent->value.i < 4 * machine_.count(CoreKind::Core);
  }

  /// Are all dimensions that could be cut for workers short, and others, which could not, long?
  bool loses_parallelism() const {
    if (!std::all_of(dims_.begin(), dims_.end(), [&](int d) { return is_short(d); })) return false;
    for (std::size_t d = 0; d < leader_.dims.size(); ++d) {
      const bool cat = std::all_of(leader_.outputs.begin(), leader_.outputs.end(),
                                   [&](const Output& output) { return is<Cat>(output.combine[d]); });
      if (cat && !is_short(static_cast<int>(d))) return true;
    }
    return false;
  }

  bool has(int d) const { return std::find(dims_.begin(), dims_.end(), d) != dims_.end(); }

  /// One row after the other, with what the next ones need of the slices in rings.
  std::optional<TileLoops> rings() const {
    const auto slides = std::find_if(dims_.begin(), dims_.end(),
                                     [&](int d) { return d != vector_ && overlapping_.contains(d); });
    if (slides == dims_.end()) return std::nullopt;
    TileLoops loops{sliced_, {{*slides, {Cut::Kind::Parts, 0}, By::Core}}, Keep::Ring};
    for (const int d : dims_) {
      if (d == *slides || d == vector_) continue;
      loops.shared.push_back({d, {Cut::Kind::Step, overlapping_.contains(d) ? lines : 1}, By::Seq});
    }
    if (has(vector_)) loops.shared.push_back({vector_, {Cut::Kind::Step, least_row}, By::Seq});
    loops.shared.push_back({*slides, {}, By::Seq});
    if (has(vector_)) widen(loops, loops.shared.size() - 2, most_row);
    return loops;
  }

  /// One tile after the other, each computed anew.
  TileLoops strips() const {
    const auto enough = std::find_if(dims_.begin(), dims_.end(), [&](int d) { return !is_short(d); });
    const int parts = enough == dims_.end() ? dims_.front() : *enough;
    TileLoops loops{sliced_, {{parts, {Cut::Kind::Parts, 0}, By::Core}}, Keep::Local};
    for (const int d : dims_)
      loops.shared.push_back({d, {Cut::Kind::Step, d == vector_ ? least_row : 1}, By::Seq});
    if (has(vector_)) {
      // Arrays of unknown width may need more room than there is.
      Cut& row = loops.shared.back().cut;
      while (dims_.size() == 1 && row.count > shortest_row && bytes(loops.shared, loops.keep) > room())
        row.count /= 2;
      for (std::size_t l = 1; l < loops.shared.size(); ++l)
        if (loops.shared[l].dim == vector_) widen(loops, l, dims_.size() == 1 ? long_row : most_row);
    }
    std::int64_t rows = 1;
    for (std::size_t l = loops.shared.size(); l-- > 1;) {
      if (loops.shared[l].dim == vector_) continue;
      widen(loops, l, most_rows / rows);
      rows *= loops.shared[l].cut.count;
    }
    return loops;
  }

  /// Makes the iterations of a loop larger as long as the slices stay in half of a core's own cache.
  void widen(TileLoops& loops, std::size_t level, std::int64_t most) const {
    Cut& cut = loops.shared[level].cut;
    while (cut.count < most) {
      cut.count *= 2;
      const bool is_long = loops.shared[level].dim == vector_ && cut.count > long_row;
      if (bytes(loops.shared, loops.keep) <= (is_long ? room() / 2 : room())) continue;
      cut.count /= 2;
      return;
    }
  }

  /// What an iteration keeps in memory. What is sliced lives until it is read for the last time, but in
  /// rings.
  double bytes(const std::vector<ChainLevel>& shared, Keep keep) const {
    const std::vector<Slice> found = slices(shared);
    std::vector<Life> lives;
    std::vector<double> sizes;
    std::vector<Type> types;
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      const double points = points_in_memory(*stages_[i], found[i]);
      for (const Output& output : stages_[i]->outputs) {
        if (i >= sliced_ && !is_handed_on(output)) continue;
        std::size_t last = stages_.size();
        if (keep != Keep::Ring || i >= sliced_)
          while (--last > i && !reads(*stages_[last], output.array)) continue;
        lives.push_back({i, last});
        types.push_back(program_[output.array].type);
        sizes.push_back(points * static_cast<double>(byte_size(types.back())));
      }
    }
    const std::vector<std::size_t> rooms = rooms_of(lives, [&](std::size_t one, std::size_t other) {
      return types[one] == types[other] && sizes[one] <= sizes[other];
    });
    double sum = 0;
    for (std::size_t k = 0; k < rooms.size(); ++k)
      if (rooms[k] == k) sum += sizes[k];
    return sum;
  }

  static double points_in_memory(const Stage& stage, const Slice& slice) {
    double points = 1, unknown = 1;
    if (stage.outputs.empty()) return points;
    const Output& first = stage.outputs.front();
    for (std::size_t d = 0; d < slice.size(); ++d) {
      if (!is<Cat>(first.combine[d])) continue;
      const Literal* extent = as<Literal>(stage.dims[d].hi);
      const IndexRef* last = first.at.empty() ? nullptr : as<IndexRef>(first.at.back());
      const bool row = !last || last->dim == stage.dims[d].id;
      const std::int64_t likely = row ? guess : guess_rows;
      // A row may be short; a plane of whole rows is not.
      if (!slice[d] && !extent) points *= std::exchange(unknown, likely);
      points *= static_cast<double>(slice[d] ? *width_of(*slice[d]) : extent ? extent->value.i : likely);
    }
    return points;
  }

  /// Does another stage that the shared loops run over read it, in the same iteration?
  bool is_handed_on(const Output& output) const {
    return std::ranges::any_of(stages_.subspan(sliced_),
                               [&](const Stage* stage) { return reads(*stage, output.array); });
  }

  /// The largest cache that a core has for itself.
  double room() const {
    std::int64_t most = 1 << 18;
    for (const MemoryLayer& layer : machine_.memory)
      if (layer.automatic && layer.instances >= machine_.count(CoreKind::Core))
        most = std::max(most, layer.bytes);
    return static_cast<double>(most) / 2;
  }

  const Program& program_;
  const Machine& machine_;
  std::span<const Stage* const> stages_;
  std::size_t sliced_;
  const Stage& leader_;
  int vector_;
  std::vector<int> dims_;
  std::set<int> overlapping_;
};

}  // namespace

std::optional<Reason> why_not_sliced(const Program& program, const Stage& stage, const Site& site) {
  const auto no = [&](std::string code, const std::string& text) {
    return Reason{std::move(code), {stage.name}, "'" + stage.name + "' has no slices: " + text, stage.place};
  };
  for (const Output& output : stage.outputs) {
    const std::string name = "'" + program[output.array].name + "'";
    if (std::ranges::find(program.results, output.array) != program.results.end())
      return no("result", name + " is a result");
    if (!site.is_disposable(output.array)) return no("needed", name + " is needed elsewhere");
  }
  return why_not_slice(program, stage);
}

std::size_t could_be_sliced(const Program& program, std::span<const Stage* const> stages, const Site& site) {
  std::size_t count = 0;
  const auto is_array = [&](const Output& output) { return program[output.array].rank() > 0; };
  while (count + 1 < stages.size() && std::ranges::all_of(stages[count]->outputs, is_array) &&
         !why_not_sliced(program, *stages[count], site))
    ++count;
  return count;
}

Result<std::vector<TileLoops>, Reason> tile_loops(const Program& program, const Machine& machine,
                                                  std::span<const Stage* const> stages, std::size_t sliced,
                                                  int vector) {
  return Search(program, machine, stages, sliced, vector).run();
}

std::vector<double> computed_again(std::span<const Stage* const> stages, const ClusterLoops& loops,
                                   Keep keep) {
  const std::span<const ChainLevel> shared = loops.shared_levels();
  const Stage& leader = *stages[loops.leader()];
  const auto origin_of = [&](std::size_t level) {
    return var_of(leader.dims[static_cast<std::size_t>(shared[level].dim)].id);
  };
  const std::vector<Slice> found = slices_of(stages, loops, origin_of);
  std::vector<double> again;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    double points = 1;
    for (const std::optional<Span>& span : found[i]) {
      if (!span || !loops.is_sliced(i)) continue;
      for (std::size_t l = 0; l < shared.size(); ++l) {
        const bool slides = keep == Keep::Ring && l + 1 == shared.size();
        const poly::Var origin = origin_of(l);
        if (shared[l].cut.kind == Cut::Kind::Parts || slides || !span->lo.mentions(origin)) continue;
        const Span both{span->lo, span->lo.substitute(origin, poly::Affine(origin) + shared[l].cut.count)};
        const auto width = width_of(*span), step = width_of(both);
        if (width && step && *step > 1)
          points *= static_cast<double>(*width) / static_cast<double>(*step - 1);
      }
    }
    again.push_back(std::max(0.0, points - 1));
  }
  return again;
}

}  // namespace twill
