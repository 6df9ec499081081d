// Clusters of several instances: the form of their loops, and when instances may share them.
#include "fuse/profit.h"
#include "fuse/share.h"
#include "plan/legality.h"
#include "plan/two_passes.h"
#include "program/affine_of.h"
#include "program/index_use.h"

#include <algorithm>

namespace twill {

namespace {

void add_level(ClusterLoops& loops, std::size_t instance, const Loop& loop, const Axis& axis) {
  loops.chains[instance].push_back({axis.dim, loop.cut, loop.by});
}

/// The instances that a loop runs over, if it runs over the same dimension of each.
std::optional<std::vector<bool>> runs_over(const Loop& loop, std::size_t instances) {
  std::vector<bool> found(instances, false);
  for (const Axis& axis : loop.axes) {
    const auto i = static_cast<std::size_t>(axis.instance);
    if (axis.instance < 0 || i >= instances || found[i] || axis.dim != loop.axes.front().dim)
      return std::nullopt;
    found[i] = true;
  }
  if (loop.axes.empty()) return std::nullopt;
  return found;
}

}  // namespace

std::size_t ClusterLoops::leader() const {
  std::size_t first = 0;
  while (is_sliced(first)) ++first;
  return first;
}

bool ClusterLoops::tiles() const {
  if (std::find(sliced.begin(), sliced.end(), true) != sliced.end()) return true;
  const std::span<const ChainLevel> levels = shared_levels();
  return std::any_of(levels.begin(), levels.end(), [](const ChainLevel& level) {
    return level.cut.kind == Cut::Kind::Step && level.cut.count != 1;
  });
}

std::optional<ClusterLoops> loops_of(const Cluster& cluster) {
  const std::size_t count = cluster.instances.size();
  ClusterLoops loops;
  loops.chains.resize(count);
  const LoopTree* tree = &cluster.loops;
  while (count > 1 && tree->size() == 1) {
    const Loop* loop = std::get_if<Loop>(&tree->front());
    const auto over = loop ? runs_over(*loop, count) : std::nullopt;
    if (!over) return std::nullopt;
    std::vector<bool> sliced(count);
    for (std::size_t i = 0; i < count; ++i) sliced[i] = !(*over)[i];
    if (loops.shared > 0 && sliced != loops.sliced) return std::nullopt;
    loops.sliced = std::move(sliced);
    for (std::size_t i = 0; i < count; ++i)
      if ((*over)[i]) add_level(loops, i, *loop, loop->axes.front());
    ++loops.shared;
    tree = &loop->body;
  }
  if (tree->size() != count) return std::nullopt;
  for (std::size_t i = 0; i < count; ++i) {
    const std::variant<Loop, Leaf>* item = &(*tree)[i];
    while (const Loop* loop = std::get_if<Loop>(item)) {
      if (loop->axes.size() != 1 || loop->axes.front().instance != static_cast<int>(i) ||
          loop->body.size() != 1)
        return std::nullopt;
      add_level(loops, i, *loop, loop->axes.front());
      item = &loop->body.front();
    }
    if (std::get<Leaf>(*item).instance != static_cast<int>(i)) return std::nullopt;
  }
  return loops;
}

LoopTree tree_of(const ClusterLoops& loops) {
  LoopTree body;
  const auto wrap = [](std::vector<Axis> axes, const ChainLevel& level, LoopTree inside) {
    Loop loop{std::move(axes), level.cut, level.by, std::move(inside)};
    LoopTree tree;
    tree.push_back(std::move(loop));
    return tree;
  };
  for (std::size_t i = 0; i < loops.chains.size(); ++i) {
    const int instance = static_cast<int>(i);
    LoopTree inner{Leaf{instance}};
    for (std::size_t l = loops.chains[i].size(); l-- > loops.outside(i);)
      inner = wrap({{instance, loops.chains[i][l].dim}}, loops.chains[i][l], std::move(inner));
    body.push_back(std::move(inner.front()));
  }
  for (std::size_t l = loops.shared; l-- > 0;) {
    std::vector<Axis> axes;
    for (std::size_t i = 0; i < loops.chains.size(); ++i)
      if (!loops.is_sliced(i)) axes.push_back({static_cast<int>(i), loops.chains[i][l].dim});
    body = wrap(std::move(axes), loops.shared_levels()[l], std::move(body));
  }
  return body;
}

Cluster only(const Cluster& cluster, const ClusterLoops& loops, int instance) {
  Cluster alone;
  alone.instances.push_back(cluster.instances[static_cast<std::size_t>(instance)]);
  alone.grain = cluster.grain;
  ClusterLoops chain;
  chain.chains.push_back(loops.chains[static_cast<std::size_t>(instance)]);
  alone.loops = tree_of(chain);
  const auto take = [&](const auto& from, auto& to) {
    for (auto item : from) {
      if (item.instance != instance) continue;
      item.instance = 0;
      to.push_back(item);
    }
  };
  take(cluster.stores, alone.stores);
  take(cluster.merges, alone.merges);
  take(cluster.tiles, alone.tiles);
  take(cluster.ahead, alone.ahead);
  return alone;
}

std::set<int> shared_dims(const ClusterLoops& loops) {
  std::set<int> dims;
  for (const ChainLevel& level : loops.shared_levels()) dims.insert(level.dim);
  return dims;
}

std::vector<Slice> slices_of(std::span<const Stage* const> stages, const ClusterLoops& loops,
                             const std::function<poly::Var(std::size_t level)>& origin) {
  std::vector<std::optional<Slice>> tiled(stages.size());
  const std::span<const ChainLevel> levels = loops.shared_levels();
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (loops.is_sliced(i)) continue;
    tiled[i].emplace(stages[i]->dims.size());
    for (std::size_t l = 0; l < levels.size(); ++l) {
      if (levels[l].cut.kind == Cut::Kind::Parts) continue;
      const poly::Affine first = origin(l);
      (*tiled[i])[static_cast<std::size_t>(levels[l].dim)] = Span{first, first + (levels[l].cut.count - 1)};
    }
  }
  return slice_backward(stages, tiled);
}

std::optional<int> ring_dim(const Stage& stage, const Slice& slice, poly::Var index) {
  std::optional<int> found;
  for (std::size_t d = 0; d < slice.size(); ++d) {
    if (!slice[d] || (!slice[d]->lo.mentions(index) && !slice[d]->hi.mentions(index))) continue;
    if (found || !slides_along(*slice[d], index)) return std::nullopt;
    found = static_cast<int>(d);
  }
  if (!found) return std::nullopt;
  for (const Output& output : stage.outputs) {
    const IndexRef* last = as<IndexRef>(output.at.back());
    if (last->dim == stage.dims[static_cast<std::size_t>(*found)].id) return std::nullopt;
  }
  return found;
}

namespace {

class Judge {
 public:
  Judge(const Program& program, std::span<const Stage* const> stages, const Cluster& cluster,
        const Site& site, const ClusterLoops& loops)
      : program_(program), stages_(stages), cluster_(cluster), site_(site), loops_(loops) {}

  std::optional<Reason> run() const {
    if (auto reason = form()) return reason;
    const int depth = static_cast<int>(shared_dims(loops_).size());
    for (std::size_t a = 0; a < stages_.size(); ++a)
      for (std::size_t b = a + 1; b < stages_.size(); ++b)
        if (!loops_.is_sliced(a))
          if (auto reason = why_not_share(program_, *stages_[a], *stages_[b], depth)) return reason;
    for (std::size_t i = 0; i < stages_.size(); ++i)
      if (loops_.is_sliced(i))
        if (auto reason = why_not_slice(program_, *stages_[i])) return reason;
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      if (auto reason = loops_.is_sliced(i) ? sliced(i) : tiled(i)) return reason;
      Cluster alone = only(cluster_, loops_, static_cast<int>(i));
      if (loops_.is_sliced(i)) alone.grain = 0;
      if (auto reason = why_illegal(program_, *stages_[i], alone, site_)) return reason;
      if (auto reason = stores(i, alone)) return reason;
      if (auto reason = twice(i)) return reason;
    }
    return why_not_learnt(program_, stages_, cluster_);
  }

 private:
  static Reason no(const Stage& stage, std::string code, std::string text) {
    return {std::move(code), {stage.name}, std::move(text), stage.place};
  }

  std::optional<Reason> form() const {
    if (std::all_of(loops_.sliced.begin(), loops_.sliced.end(), [](bool sliced) { return sliced; }) ||
        loops_.shared == 0)
      return no(*stages_.front(), "illegal-loops", "the instances of a cluster share no loop");
    const Stage& first = *stages_[loops_.leader()];
    const std::set<int> dims = shared_dims(loops_);
    const auto tiled =
        static_cast<std::size_t>(std::count(loops_.sliced.begin(), loops_.sliced.end(), false));
    for (const int d : dims)
      if (d < 0 || d >= static_cast<int>(first.dims.size()))
        return no(first, "illegal-loops", "the stage has no dimension " + std::to_string(d));
    if (tiled > 1 && *dims.rbegin() != static_cast<int>(dims.size()) - 1)
      return no(first, "illegal-loops", "shared loops run over the outermost dimensions");
    for (std::size_t i = loops_.leader(); i < stages_.size(); ++i)
      if (loops_.is_sliced(i))
        return no(*stages_[i], "illegal-loops", "stages that are sliced come before those that are not");
    for (const ChainLevel& level : loops_.shared_levels())
      if (level.by != By::Seq && level.by != By::Core)
        return no(first, "illegal-loops", "a shared loop is run in order or by the cores");
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      for (std::size_t l = loops_.outside(i); l < loops_.chains[i].size(); ++l) {
        const ChainLevel& level = loops_.chains[i][l];
        if (level.by == By::Core) return no(*stages_[i], "nested-parallel", "the cores run the shared loops");
        if (level.cut.kind == Cut::Kind::Parts)
          return no(*stages_[i], "illegal-cut", "only the outermost loop cuts a range into parts");
        if (auto reason = pieces(i, l)) return reason;
      }
    }
    for (const auto& [instance, what] : named())
      if (instance < 0 || instance >= static_cast<int>(stages_.size()))
        return no(first, "illegal-" + what, "a " + what + " names an instance that does not exist");
    for (const Tile& tile : cluster_.tiles)
      if (tile.loop < static_cast<int>(loops_.outside(static_cast<std::size_t>(tile.instance))))
        return no(first, "illegal-tile", "a shared loop holds no tile");
    return std::nullopt;
  }

  /// What is unrolled or held in a tile has a known number of points: not those of an iteration of the shared
  /// loops, at whose borders there are fewer.
  std::optional<Reason> pieces(std::size_t i, std::size_t l) const {
    const std::vector<ChainLevel>& chain = loops_.chains[i];
    const bool cut =
        loops_.is_sliced(i) ? !folds(i, chain[l].dim) : shared_dims(loops_).contains(chain[l].dim);
    if (!cut || chain[l].cut != Cut{}) return std::nullopt;
    const bool held = std::any_of(cluster_.tiles.begin(), cluster_.tiles.end(), [&](const Tile& tile) {
      return tile.instance == static_cast<int>(i) && tile.loop < static_cast<int>(l) &&
             !folds(i, chain[l].dim);
    });
    if (chain[l].by != By::Unroll && !held) return std::nullopt;
    for (std::size_t k = loops_.outside(i); k < l; ++k)
      if (chain[k].dim == chain[l].dim) return std::nullopt;
    return no(*stages_[i], chain[l].by == By::Unroll ? "illegal-unroll" : "illegal-tile",
              "how many points '" + stages_[i]->dims[static_cast<std::size_t>(chain[l].dim)].name +
                  "' has in an iteration of the shared loops is not known");
  }

  bool folds(std::size_t i, int d) const {
    if (d < 0 || d >= static_cast<int>(stages_[i]->dims.size())) return false;
    return std::all_of(stages_[i]->outputs.begin(), stages_[i]->outputs.end(), [&](const Output& output) {
      return is<Fold>(output.combine[static_cast<std::size_t>(d)]);
    });
  }

  std::vector<std::pair<int, std::string>> named() const {
    std::vector<std::pair<int, std::string>> all;
    for (const Store& store : cluster_.stores) all.emplace_back(store.instance, "store");
    for (const Merge& merge : cluster_.merges) all.emplace_back(merge.instance, "merge");
    for (const Tile& tile : cluster_.tiles) all.emplace_back(tile.instance, "tile");
    for (const Ahead& ahead : cluster_.ahead) all.emplace_back(ahead.instance, "wish to read ahead");
    return all;
  }

  /// A stage that the shared loops run over.
  std::optional<Reason> tiled(std::size_t i) const {
    const Stage& stage = *stages_[i];
    if (has_hint(stage, Hint::Never)) return no(stage, "never", "'" + stage.name + "' says never");
    if (!std::holds_alternative<Formula>(stage.body))
      return no(stage, "block", "'" + stage.name + "' is a block");
    if (any_is<Seq>(stage)) return no(stage, "sequence", "'" + stage.name + "' runs step by step");
    for (const Output& output : stage.outputs)
      for (const int d : shared_dims(loops_))
        if (scans_from_right(output, static_cast<std::size_t>(d)) && loops_.tiles())
          return no(stage, "direction", "'" + stage.name + "' runs from the right, and tiles from the left");
    return std::nullopt;
  }

  /// A stage of which every iteration computes what those after it read.
  std::optional<Reason> sliced(std::size_t i) const {
    const Stage& stage = *stages_[i];
    std::set<Keep> kept;
    for (std::size_t o = 0; o < stage.outputs.size(); ++o) {
      const ArrayId array = stage.outputs[o].array;
      const std::string name = "'" + program_[array].name + "'";
      const auto store =
          std::find_if(cluster_.stores.begin(), cluster_.stores.end(), [&](const Store& candidate) {
            return candidate.instance == static_cast<int>(i) && candidate.output == static_cast<int>(o);
          });
      kept.insert(store == cluster_.stores.end() ? Keep::Full : store->keep);
      if (!site_.is_disposable(array))
        return no(stage, "illegal-local", name + " is needed after the shared loops");
      if (program_[array].rank() == 0) return no(stage, "illegal-local", name + " is a single value");
      for (std::size_t k = loops_.leader(); k < stages_.size(); ++k) {
        for (const int d : shared_dims(loops_)) {
          const Dim& dim = stages_[k]->dims[static_cast<std::size_t>(d)];
          if (mentions(dim.lo, array) || mentions(dim.hi, array))
            return no(stage, "data-extent", name + " decides how far the shared loops run");
        }
        for (const Output& output : stages_[k]->outputs)
          if (output.into == array)
            return no(stage, "version",
                      "'" + program_[output.array].name + "' is a new version of " + name + ", of all of it");
        for (const Output& output : stages_[k]->outputs)
          for (const ArrayId defined : defined_arrays(output))
            for (const Expr extent : program_[defined].shape)
              if (mentions(extent, array))
                return no(stage, "data-extent",
                          name + " decides the shape of '" + program_[defined].name + "'");
      }
    }
    if (kept == std::set{Keep::Local}) return std::nullopt;
    if (kept != std::set{Keep::Ring})
      return no(stage, "illegal-local", "what is sliced lives as long as an iteration, or in a ring");
    const ChainLevel& innermost = loops_.shared_levels().back();
    if (innermost.cut != Cut{} || innermost.by != By::Seq)
      return no(stage, "illegal-ring", "a ring slides along a loop over points that runs in order");
    const Stage& leader = *stages_[loops_.leader()];
    const auto origin = [&](std::size_t level) {
      return var_of(leader.dims[static_cast<std::size_t>(loops_.shared_levels()[level].dim)].id);
    };
    const std::vector<Slice> slices = slices_of(stages_, loops_, origin);
    if (!ring_dim(stage, slices[i], origin(loops_.shared - 1)))
      return no(stage, "illegal-ring", "what is needed of '" + stage.name + "' does not move row by row");
    return std::nullopt;
  }

  std::optional<Reason> stores(std::size_t i, const Cluster& alone) const {
    const Stage& stage = *stages_[i];
    const int depth = static_cast<int>(shared_dims(loops_).size());
    for (const Store& store : alone.stores) {
      const Output& output = stage.outputs[static_cast<std::size_t>(store.output)];
      const std::string name = "'" + program_[output.array].name + "'";
      if (store.stream_above >= 0 && loops_.chains[i].size() == loops_.outside(i))
        return no(stage, "illegal-stream", name + " has one element in an iteration of the shared loops");
      if (store.stream_above >= 0 && loops_.is_sliced(i))
        return no(stage, "illegal-stream", name + " is read soon");
      if (!store.over.empty())
        return no(stage, "illegal-alias", name + " takes no memory over: its stage shares its loops");
      if (store.keep == Keep::Alias) {
        for (std::size_t k = 0; k < stages_.size(); ++k)
          if (k != i && needs(program_, *stages_[k], *output.into))
            return no(stage, "illegal-alias",
                      "'" + stages_[k]->name + "' needs the old version of " + name + " in the same loops");
      }
      if (loops_.is_sliced(i)) continue;
      if (store.keep == Keep::Ring) return no(stage, "illegal-ring", "'" + stage.name + "' is not sliced");
      if (store.keep != Keep::Local) continue;
      if (!site_.is_disposable(output.array))
        return no(stage, "illegal-local", name + " is needed after the shared loops");
      const bool whole_tiles = !loops_.tiles() || (*shared_dims(loops_).rbegin() == depth - 1 &&
                                                   std::all_of(output.combine.begin(),
                                                               output.combine.begin() + depth, is<Cat>));
      if (output.into || output.force || output.offsets || output.keys || store.stream_above >= 0 ||
          !whole_tiles || !places_of_shared(stage, output, depth))
        return no(stage, "illegal-local",
                  "the iterations of the shared loops do not have " + name + " in parts");
    }
    return std::nullopt;
  }

  /// Does the stage run through its points twice?
  bool has_two_passes(std::size_t i) const {
    const FirstPass does = first_pass_of(stages_, cluster_);
    for (std::size_t o = 0; o < stages_[i]->outputs.size(); ++o)
      if (does(i, o) != InFirstPass::Nothing) return true;
    return false;
  }

  /// What a stage with two passes reads is computed in both of them. It has to be the same the second time:
  /// not so what values are added to in memory, or what takes the place of what it is made of.
  std::optional<Reason> twice(std::size_t i) const {
    std::size_t last = stages_.size();
    while (last > i + 1 && !has_two_passes(last - 1)) --last;
    const Stage& stage = *stages_[i];
    for (std::size_t o = 0; o < stage.outputs.size(); ++o) {
      const Output& output = stage.outputs[o];
      const auto store =
          std::find_if(cluster_.stores.begin(), cluster_.stores.end(), [&](const Store& candidate) {
            return candidate.instance == static_cast<int>(i) && candidate.output == static_cast<int>(o);
          });
      const Keep keep = store == cluster_.stores.end() ? Keep::Full : store->keep;
      const bool adds = output.accumulates ||
                        std::any_of(output.combine.begin(), output.combine.end(), [](const Combine& combine) {
                          const Scatter* scatter = std::get_if<Scatter>(&combine);
                          return scatter && scatter->op;
                        });
      if (is_local(keep) || (!adds && keep != Keep::Alias)) continue;
      for (std::size_t k = i + 1; k < last; ++k)
        if (reads(*stages_[k], output.array))
          return no(stage, "twice",
                    "'" + stages_[last - 1]->name + "' has two passes, and '" + program_[output.array].name +
                        "' would change in both of them");
    }
    return std::nullopt;
  }

  const Program& program_;
  std::span<const Stage* const> stages_;
  const Cluster& cluster_;
  const Site& site_;
  const ClusterLoops& loops_;
};

}  // namespace

std::optional<Reason> why_illegal(const Program& program, std::span<const Stage* const> stages,
                                  const Cluster& cluster, const Site& site) {
  if (stages.size() == 1) {
    const Stage& stage = *stages.front();
    for (const Store& store : cluster.stores)
      if (store.keep == Keep::Local || store.keep == Keep::Ring)
        return Reason{
            "illegal-local", {stage.name}, "'" + stage.name + "' shares its loops with nobody", stage.place};
    return why_illegal(program, stage, cluster, site);
  }
  const auto loops = loops_of(cluster);
  if (!loops)
    return Reason{"illegal-loops",
                  {stages.front()->name},
                  "the loops of a cluster are those that all instances share, and one chain for each inside",
                  stages.front()->place};
  return Judge(program, stages, cluster, site, *loops).run();
}

}  // namespace twill
