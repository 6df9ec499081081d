// Walks a plan and its program together: order, legality, lifetimes, and what they add up to.
#include "plan/elaborate.h"

#include "fuse/sets.h"
#include "plan/legality.h"
#include "plan/lifetimes.h"
#include "program/check.h"
#include "program/choice.h"

#include <algorithm>

namespace twill {

namespace {

struct Refusal {
  Reason reason;
};

class Elaboration {
 public:
  /// `plan`: with one stage in each instance.
  Elaboration(Schedule& schedule, const Plan& plan)
      : schedule_(schedule), program_(*schedule.program), plan_(plan) {}

  void run() {
    schedule_.body = block("", 0, stages_of(program_), false);
    if (used_blocks_ != plan_.blocks.size())
      refuse("unknown-block", {}, "the plan has clusters for a block that the program does not have");
  }

 private:
  [[noreturn]] static void refuse(std::string code, std::vector<std::string> stages, std::string text) {
    throw Refusal{{std::move(code), std::move(stages), std::move(text), {}}};
  }

  /// The stages of one cluster in the order of all.
  struct Here {
    const StageList& list;
    std::span<const Stage* const> order;
    const Lifetimes& lifetimes;
    std::size_t first, count;

    std::span<const Stage* const> stages() const { return order.subspan(first, count); }
  };

  BlockSchedule block(const std::string& owner, int branch, const StageList& list, bool inside_parallel) {
    const BlockPlan* plan = plan_.find(owner, branch);
    if (!plan)
      refuse("missing-block", {owner},
             owner.empty() ? "the plan has no clusters for the program"
                           : "the plan has no clusters for the block of '" + owner + "'");
    ++used_blocks_;
    const std::vector<const Stage*> order = order_of(*plan, list);
    const Lifetimes lifetimes(program_, list, order);
    BlockSchedule result;
    std::size_t first = 0;
    for (std::size_t c = 0; c < plan->clusters.size(); ++c) {
      const Cluster& cluster = plan->clusters[c];
      const Here here{list, order, lifetimes, first, cluster.instances.size()};
      const Site site{inside_parallel, lifetimes, here.first + here.count};
      if (auto reason = why_illegal(program_, here.stages(), cluster, site))
        throw Refusal{std::move(*reason)};
      result.passes.push_back(pass(cluster, here, inside_parallel));
      for (const Instance& instance : schedule_.plan.find(owner, branch)->clusters[c].instances)
        for (const std::string& name : instance.stages) result.passes.back().names.push_back(name);
      first += cluster.instances.size();
    }
    return result;
  }

  /// The lengths that are born in a list of stages, with an array that has it.
  std::map<SymbolId, ArrayId> born_in(const StageList& list) const {
    std::map<SymbolId, ArrayId> lengths;
    const auto length_of = [&](ArrayId array) {
      if (const SizeRef* size = as<SizeRef>(program_[array].shape.front()))
        lengths.emplace(size->symbol, array);
    };
    for (const Stage& stage : list.stages) {
      for (const Output& output : stage.outputs) {
        const bool collects = std::any_of(output.combine.begin(), output.combine.end(),
                                          [](const Combine& c) { return is<Append>(c) || is<Group>(c); });
        if (!collects) continue;
        length_of(output.array);
        if (output.keys) length_of(*output.keys);
      }
      for (const ChosenSize& chosen : chosen_sizes(program_, stage))
        lengths.emplace(chosen.size, stage.outputs[chosen.output].array);
    }
    return lengths;
  }

  /// The sizes that a stage uses, in its blocks and in the shapes of what it defines as well.
  std::set<SymbolId> sizes_of(const Stage& stage) const {
    std::set<SymbolId> sizes;
    const auto use = [&](Expr root) {
      visit(root, [&](Expr node) {
        if (const SizeRef* size = as<SizeRef>(node)) sizes.insert(size->symbol);
      });
    };
    for_each_stage(std::span(&stage, 1), [&](const Stage& inner) {
      for_each_expr(inner, use);
      for (const Output& output : inner.outputs) {
        for (ArrayId array : defined_arrays(output)) {
          for (Expr extent : program_[array].shape) use(extent);
        }
      }
    });
    return sizes;
  }

  static bool defines(const Stage& stage, ArrayId array) {
    for (const Output& output : stage.outputs) {
      for (ArrayId defined : defined_arrays(output)) {
        if (defined == array) return true;
      }
    }
    return false;
  }

  /// The stages in the order of the clusters; every one once, after what it reads, effects in order.
  std::vector<const Stage*> order_of(const BlockPlan& plan, const StageList& list) const {
    std::map<std::string_view, std::size_t> position;
    std::set<ArrayId> missing;
    for (std::size_t s = 0; s < list.stages.size(); ++s) {
      position[list.stages[s].name] = s;
      for (const Output& output : list.stages[s].outputs) {
        for (ArrayId array : defined_arrays(output)) missing.insert(array);
      }
    }
    const std::map<SymbolId, ArrayId> lengths = born_in(list);
    std::vector<const Stage*> order;
    std::map<std::string, std::size_t> last_effect;  // of each kind
    std::vector<std::string_view> names;
    for (const Cluster& cluster : plan.clusters) {
      if (cluster.instances.empty()) refuse("no-stage", {}, "a cluster without a stage");
      for (const Instance& instance : cluster.instances) names.push_back(instance.name());
    }
    for (const std::string_view known_as : names) {
      const std::string name(known_as);
      const auto found = position.find(name);
      if (found == position.end())
        refuse("unknown-stage", {name},
               "the program has no stage '" + name + "' here, or the plan runs it twice");
      const Stage& stage = list.stages[found->second];
      for (ArrayId array : reads_of(program_, stage)) {
        if (missing.contains(array))
          refuse("illegal-order", {name},
                 "'" + name + "' runs before '" + program_[array].name + "', which it reads, is computed");
      }
      for (SymbolId symbol : sizes_of(stage)) {
        const auto length = lengths.find(symbol);
        if (length != lengths.end() && missing.contains(length->second) && !defines(stage, length->second)) {
          refuse("illegal-order", {name},
                 "'" + name + "' runs before the length of '" + program_[length->second].name +
                     "', which it needs, is known");
        }
      }
      for_each_stage({&stage, 1}, [&](const Stage& inner) {
        for (const Effect& effect : inner.effects) {
          std::size_t& last = last_effect[effect.kind];
          if (found->second < last)
            refuse("effect", {name}, "the effects of '" + name + "' would happen too late");
          last = found->second;
        }
      });
      for (const Output& output : stage.outputs) {
        for (ArrayId array : defined_arrays(output)) missing.erase(array);
      }
      position.erase(found);
      order.push_back(&stage);
    }
    if (!position.empty())
      refuse("missing-stage", {std::string(position.begin()->first)},
             "the plan does not run '" + std::string(position.begin()->first) + "'");
    return order;
  }

  Pass pass(const Cluster& cluster, const Here& here, bool inside_parallel) {
    Pass result;
    result.loops = *loops_of(cluster);
    result.grain = cluster.grain;
    bool any_loop = false;
    schedule_.loops += static_cast<int>(result.loops.shared);
    for (std::size_t i = 0; i < here.count; ++i) {
      const Stage& stage = *here.stages()[i];
      const std::vector<ChainLevel>& levels = result.loops.chains[i];
      any_loop = any_loop || !levels.empty();
      schedule_.loops += static_cast<int>(levels.size() - result.loops.outside(i));
      const bool parallel =
          inside_parallel ||
          std::any_of(levels.begin(), levels.end(), [](const ChainLevel& l) { return l.by == By::Core; });
      result.stages.push_back(scheduled(cluster, static_cast<int>(i), stage, parallel));
    }
    if (any_loop) ++schedule_.passes;
    result.dies = deaths(result, here);
    find_unread_keys(result);
    for (const StageSchedule& scheduled : result.stages)
      for (std::size_t o = 0; o < scheduled.outputs.size(); ++o)
        count_buffers(scheduled.stage->outputs[o], scheduled.outputs[o]);
    return result;
  }

  /// The array in whose memory an output is; the judge has found it there.
  ArrayId memory_over(const Store& store, const Stage& stage) const {
    if (store.over.empty()) return *stage.outputs[static_cast<std::size_t>(store.output)].into;
    for (const ArrayId array : reads_of(program_, stage))
      if (program_[array].name == store.over) return array;
    ensure(false, "elaborate: what is taken over is read");
    return {};
  }

  StageSchedule scheduled(const Cluster& cluster, int instance, const Stage& stage, bool inside_parallel) {
    StageSchedule result;
    result.stage = &stage;
    result.outputs.resize(stage.outputs.size());
    for (const Store& store : cluster.stores) {
      if (store.instance != instance) continue;
      result.outputs[store.output].keep = store.keep;
      result.outputs[store.output].stream_above = store.stream_above;
      if (store.keep == Keep::Alias) result.outputs[store.output].over = memory_over(store, stage);
    }
    for (const Merge& merge : cluster.merges)
      if (merge.instance == instance) result.outputs[merge.output].merge = merge.how;
    for (const Tile& tile : cluster.tiles)
      if (tile.instance == instance) result.outputs[tile.output].tile = tile.loop;
    for (const Ahead& ahead : cluster.ahead)
      if (ahead.instance == instance) result.ahead = ahead;
    const std::vector<const Block*> blocks = blocks_of(stage);
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      for (std::size_t o = 0; o < stage.outputs.size(); ++o)
        if (is_made_in_place(program_, stage, *blocks[b], o)) in_place_.insert(blocks[b]->results[o]);
      result.blocks.push_back(
          block(stage.name, static_cast<int>(b), stages_of(stage, *blocks[b]), inside_parallel));
    }
    return result;
  }

  /// Keys of buckets that nobody looks at: the buckets alone are wanted.
  void find_unread_keys(Pass& pass) const {
    for (StageSchedule& scheduled : pass.stages) {
      for (std::size_t o = 0; o < scheduled.outputs.size(); ++o) {
        const std::optional<ArrayId> keys = scheduled.stage->outputs[o].keys;
        if (!keys || std::ranges::find(pass.dies, *keys) == pass.dies.end()) continue;
        scheduled.outputs[o].keys_unread = std::ranges::none_of(
            pass.stages, [&](const StageSchedule& other) { return needs(program_, *other.stage, *keys); });
        if (scheduled.outputs[o].keys_unread) std::erase(pass.dies, *keys);
      }
    }
  }

  void count_buffers(const Output& output, const OutputSchedule& scheduled) {
    // What takes over memory is an array of its own all the same.
    if (is_local(scheduled.keep) || (scheduled.keep == Keep::Alias && output.into)) return;
    for (ArrayId array : scheduled.arrays(output)) {
      const bool is_result =
          std::find(program_.results.begin(), program_.results.end(), array) != program_.results.end();
      if (!is_result && !in_place_.contains(array) && program_[array].rank() > 0) ++schedule_.buffers;
    }
  }

  /// Arrays that are needed by this pass or defined by it, but not afterwards, and that have memory of their
  /// own that no new version has taken over.
  std::vector<ArrayId> deaths(const Pass& pass, const Here& here) {
    std::set<ArrayId> elsewhere;
    for (const StageSchedule& scheduled : pass.stages) {
      for (std::size_t o = 0; o < scheduled.outputs.size(); ++o) {
        const Output& output = scheduled.stage->outputs[o];
        if (scheduled.outputs[o].over) elsewhere.insert(*scheduled.outputs[o].over);
        if (is_local(scheduled.outputs[o].keep)) elsewhere.insert(output.array);
      }
    }
    for (const Carry& carry : here.list.carries) elsewhere.insert(carry.inside);
    std::vector<ArrayId> dead = here.lifetimes.ending(here.first, here.count);
    std::erase_if(dead, [&](ArrayId array) { return elsewhere.contains(array); });
    return dead;
  }

  Schedule& schedule_;
  std::set<ArrayId> in_place_;  // results of blocks in the memory of the stage around
  const Program& program_;
  const Plan& plan_;
  std::size_t used_blocks_ = 0;
};

}  // namespace

std::vector<ArrayId> OutputSchedule::arrays(const Output& output) const {
  std::vector<ArrayId> arrays = is_running(output) ? std::vector<ArrayId>{} : defined_arrays(output);
  if (keys_unread) std::erase(arrays, *output.keys);
  return arrays;
}

std::vector<ClusterSets> sets_of(const Plan& plan) {
  std::vector<ClusterSets> lists;
  for (const BlockPlan& block : plan.blocks) {
    ClusterSets& list = lists.emplace_back(ClusterSets{block.owner, block.branch, {}});
    for (const Cluster& cluster : block.clusters) {
      list.clusters.emplace_back();
      const auto loops = loops_of(cluster);
      for (std::size_t i = 0; i < cluster.instances.size(); ++i) {
        list.clusters.back().push_back(cluster.instances[i].stages);
        if (loops && loops->is_sliced(i)) list.sliced.insert(cluster.instances[i].name());
      }
    }
  }
  return lists;
}

Result<Schedule, Reason> elaborate(std::shared_ptr<const Program> program, const Machine&, const Plan& plan) {
  Plan joined = plan;
  for (BlockPlan& block : joined.blocks)
    for (Cluster& cluster : block.clusters)
      for (Instance& instance : cluster.instances) {
        if (instance.stages.empty()) return Reason{"no-stage", {}, "an instance without a stage", {}};
        instance.stages = {instance.name()};
      }
  auto fused = fuse_clusters(program, sets_of(plan));
  if (!fused) return fused.why();
  Schedule schedule;
  schedule.program = with_run_time_checks(std::move(fused).value());
  schedule.plan = plan;
  try {
    Elaboration(schedule, joined).run();
  } catch (Refusal& refusal) {
    return std::move(refusal.reason);
  }
  return schedule;
}

}  // namespace twill
