// Clusters of several instances: the form of their loops, and when instances may share them.
#include "fuse/share.h"
#include "plan/legality.h"

#include <algorithm>

namespace twill {

namespace {

void add_level(ClusterLoops& loops, std::size_t instance, const Loop& loop, const Axis& axis) {
  loops.chains[instance].push_back({axis.dim, loop.cut, loop.by});
}

/// Are the axes those of all instances, over the same dimension of each?
bool is_shared(const Loop& loop, std::size_t instances) {
  if (loop.axes.size() != instances) return false;
  for (std::size_t i = 0; i < instances; ++i)
    if (loop.axes[i].instance != static_cast<int>(i) || loop.axes[i].dim != loop.axes.front().dim)
      return false;
  return true;
}

}  // namespace

std::optional<ClusterLoops> loops_of(const Cluster& cluster) {
  const std::size_t count = cluster.instances.size();
  ClusterLoops loops;
  loops.chains.resize(count);
  const LoopTree* tree = &cluster.loops;
  while (count > 1 && tree->size() == 1) {
    const Loop* loop = std::get_if<Loop>(&tree->front());
    if (!loop || !is_shared(*loop, count)) return std::nullopt;
    for (std::size_t i = 0; i < count; ++i) add_level(loops, i, *loop, loop->axes[i]);
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
    for (std::size_t l = loops.chains[i].size(); l-- > loops.shared;)
      inner = wrap({{instance, loops.chains[i][l].dim}}, loops.chains[i][l], std::move(inner));
    body.push_back(std::move(inner.front()));
  }
  for (std::size_t l = loops.shared; l-- > 0;) {
    std::vector<Axis> axes;
    for (std::size_t i = 0; i < loops.chains.size(); ++i)
      axes.push_back({static_cast<int>(i), loops.chains[i][l].dim});
    body = wrap(std::move(axes), loops.chains.front()[l], std::move(body));
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
  return alone;
}

int shared_dims(const ClusterLoops& loops) {
  std::set<int> dims;
  for (std::size_t l = 0; l < loops.shared; ++l) dims.insert(loops.chains.front()[l].dim);
  return static_cast<int>(dims.size());
}

namespace {

class Judge {
 public:
  Judge(const Program& program, std::span<const Stage* const> stages, const Cluster& cluster,
        const Site& site, const ClusterLoops& loops)
      : program_(program), stages_(stages), cluster_(cluster), site_(site), loops_(loops) {}

  std::optional<Reason> run() const {
    if (auto reason = form()) return reason;
    const int depth = shared_dims(loops_);
    for (std::size_t a = 0; a < stages_.size(); ++a)
      for (std::size_t b = a + 1; b < stages_.size(); ++b)
        if (auto reason = why_not_share(program_, *stages_[a], *stages_[b], depth)) return reason;
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      const Cluster alone = only(cluster_, loops_, static_cast<int>(i));
      if (auto reason = why_illegal(program_, *stages_[i], alone, site_)) return reason;
      if (auto reason = stores(i, alone)) return reason;
    }
    return std::nullopt;
  }

 private:
  static Reason no(const Stage& stage, std::string code, std::string text) {
    return {std::move(code), {stage.name}, std::move(text), stage.place};
  }

  std::optional<Reason> form() const {
    const Stage& first = *stages_.front();
    const int depth = shared_dims(loops_);
    if (loops_.shared == 0) return no(first, "illegal-loops", "the instances of a cluster share no loop");
    for (std::size_t l = 0; l < loops_.shared; ++l) {
      const ChainLevel& level = loops_.chains.front()[l];
      if (level.dim < 0 || level.dim >= depth)
        return no(first, "illegal-loops", "shared loops run over the outermost dimensions");
      if (level.by != By::Seq && level.by != By::Core)
        return no(first, "illegal-loops", "a shared loop is run in order or by the cores");
      if (level.cut.kind == Cut::Kind::Step && level.cut.count != 1)
        return no(first, "not-supported", "a shared loop visits points, or is cut into parts");
    }
    for (std::size_t i = 0; i < stages_.size(); ++i)
      for (std::size_t l = loops_.shared; l < loops_.chains[i].size(); ++l) {
        const ChainLevel& level = loops_.chains[i][l];
        if (level.dim < depth)
          return no(*stages_[i], "illegal-loops", "all loops over a shared dimension are shared");
        if (level.by == By::Core) return no(*stages_[i], "nested-parallel", "the cores run the shared loops");
      }
    for (const Tile& tile : cluster_.tiles)
      if (tile.loop < static_cast<int>(loops_.shared))
        return no(first, "illegal-tile", "a shared loop holds no tile");
    for (const auto& [instance, what] : named())
      if (instance < 0 || instance >= static_cast<int>(stages_.size()))
        return no(first, "illegal-" + what, "a " + what + " names an instance that does not exist");
    return std::nullopt;
  }

  std::vector<std::pair<int, std::string>> named() const {
    std::vector<std::pair<int, std::string>> all;
    for (const Store& store : cluster_.stores) all.emplace_back(store.instance, "store");
    for (const Merge& merge : cluster_.merges) all.emplace_back(merge.instance, "merge");
    for (const Tile& tile : cluster_.tiles) all.emplace_back(tile.instance, "tile");
    return all;
  }

  std::optional<Reason> stores(std::size_t i, const Cluster& alone) const {
    const Stage& stage = *stages_[i];
    for (const Store& store : alone.stores) {
      const Output& output = stage.outputs[static_cast<std::size_t>(store.output)];
      const std::string name = "'" + program_[output.array].name + "'";
      if (store.stream_above >= 0 && loops_.chains[i].size() == loops_.shared)
        return no(stage, "illegal-stream", name + " has one element in an iteration of the shared loops");
      if (store.keep == Keep::Alias) {
        for (std::size_t k = 0; k < stages_.size(); ++k)
          if (k != i && reads(*stages_[k], *output.into))
            return no(stage, "illegal-alias",
                      "'" + stages_[k]->name + "' reads the old version of " + name + " in the same loops");
      }
      if (store.keep != Keep::Local) continue;
      if (!site_.disposable.contains(output.array))
        return no(stage, "illegal-local", name + " is needed after the shared loops");
      if (output.into || output.force || output.offsets || output.keys || store.stream_above >= 0 ||
          !places_of_shared(stage, output, shared_dims(loops_)))
        return no(stage, "illegal-local",
                  "the iterations of the shared loops do not have " + name + " in parts");
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
      if (store.keep == Keep::Local)
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
