// Walks a plan and its program together: order, legality, lifetimes, and what they add up to.
#include "plan/elaborate.h"

#include "fuse/sets.h"
#include "plan/legality.h"
#include "plan/lifetimes.h"

#include <algorithm>

namespace twill {

namespace {

struct Refusal {
  Reason reason;
};

class Elaboration {
 public:
  /// `plan`: with one stage in each cluster.
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

  BlockSchedule block(const std::string& owner, int branch, const StageList& list, bool inside_parallel) {
    const BlockPlan* plan = plan_.find(owner, branch);
    if (!plan)
      refuse("missing-block", {owner},
             owner.empty() ? "the plan has no clusters for the program"
                           : "the plan has no clusters for the block of '" + owner + "'");
    ++used_blocks_;
    std::vector<const Stage*> order = order_of(*plan, list);
    BlockSchedule result;
    for (std::size_t c = 0; c < plan->clusters.size(); ++c) {
      const Cluster& cluster = plan->clusters[c];
      const Stage& stage = *order[c];
      const std::set<ArrayId> disposable = disposable_after(program_, list, std::span(order).subspan(c + 1));
      Site site{inside_parallel, disposable};
      if (auto reason = why_illegal(program_, stage, cluster, site)) throw Refusal{std::move(*reason)};
      result.passes.push_back(pass(cluster, stage, list, order, c, inside_parallel));
      for (const Instance& instance : schedule_.plan.find(owner, branch)->clusters[c].instances)
        result.passes.back().names.push_back(instance.stage);
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
    std::size_t last_effect = 0;
    for (const Cluster& cluster : plan.clusters) {
      if (cluster.instances.empty()) refuse("no-stage", {}, "a cluster without a stage");
      const std::string& name = cluster.instances.front().stage;
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
      if (has_effects(stage)) {
        if (found->second < last_effect)
          refuse("effect", {name}, "the effects of '" + name + "' would happen too late");
        last_effect = found->second;
      }
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

  Pass pass(const Cluster& cluster, const Stage& stage, const StageList& list,
            std::span<const Stage* const> order, std::size_t position, bool inside_parallel) {
    Pass result;
    result.loops = cluster.loops;
    result.grain = cluster.grain;
    StageSchedule scheduled;
    scheduled.stage = &stage;
    scheduled.outputs.resize(stage.outputs.size());
    for (const Store& store : cluster.stores) {
      scheduled.outputs[store.output].keep = store.keep;
      scheduled.outputs[store.output].stream_above = store.stream_above;
    }
    for (const Merge& merge : cluster.merges) scheduled.outputs[merge.output].merge = merge.how;
    for (const Tile& tile : cluster.tiles) scheduled.outputs[tile.output].tile = tile.loop;

    const auto levels = *chain_of(cluster);
    const bool parallel =
        inside_parallel ||
        std::any_of(levels.begin(), levels.end(), [](const ChainLevel& l) { return l.by == By::Core; });
    const std::vector<const Block*> blocks = blocks_of(stage);
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      scheduled.blocks.push_back(
          block(stage.name, static_cast<int>(b), stages_of(stage, *blocks[b]), parallel));
    }

    if (!levels.empty()) ++schedule_.passes;
    schedule_.loops += static_cast<int>(levels.size());
    for (std::size_t o = 0; o < stage.outputs.size(); ++o)
      count_buffers(stage.outputs[o], scheduled.outputs[o]);

    result.dies = deaths(cluster, list, order, position);
    result.stages.push_back(std::move(scheduled));
    return result;
  }

  void count_buffers(const Output& output, const OutputSchedule& scheduled) {
    if (scheduled.keep == Keep::Alias) return;
    for (ArrayId array : defined_arrays(output)) {
      const bool is_result =
          std::find(program_.results.begin(), program_.results.end(), array) != program_.results.end();
      if (!is_result && program_[array].rank() > 0) ++schedule_.buffers;
    }
  }

  /// Arrays that are needed by this pass or defined by it, but not afterwards, and whose memory no new
  /// version has taken over.
  std::vector<ArrayId> deaths(const Cluster& cluster, const StageList& list,
                              std::span<const Stage* const> order, std::size_t position) {
    const Stage& stage = *order[position];
    const std::set<ArrayId> over = disposable_after(program_, list, order.subspan(position + 1));
    const std::set<ArrayId> before =
        position == 0 ? std::set<ArrayId>{} : disposable_after(program_, list, order.subspan(position));
    std::set<ArrayId> own;
    for (const Output& output : stage.outputs) {
      for (ArrayId array : defined_arrays(output)) own.insert(array);
    }
    std::set<ArrayId> later;
    for (const Stage* other : order.subspan(position + 1)) {
      for (const Output& output : other->outputs) {
        for (ArrayId array : defined_arrays(output)) later.insert(array);
      }
    }
    std::vector<ArrayId> dead;
    for (ArrayId array : over) {
      if (later.contains(array) || (before.contains(array) && !own.contains(array))) continue;
      const bool taken = std::any_of(cluster.stores.begin(), cluster.stores.end(), [&](const Store& store) {
        return store.keep == Keep::Alias && stage.outputs[store.output].into == array;
      });
      const bool is_state = std::any_of(list.carries.begin(), list.carries.end(),
                                        [&](const Carry& c) { return c.inside == array; });
      if (!taken && !is_state) dead.push_back(array);
    }
    return dead;
  }

  Schedule& schedule_;
  const Program& program_;
  const Plan& plan_;
  std::size_t used_blocks_ = 0;
};

}  // namespace

Result<Schedule, Reason> elaborate(std::shared_ptr<const Program> program, const Machine&, const Plan& plan) {
  Plan joined = plan;
  std::vector<StageSets> lists;
  for (BlockPlan& block : joined.blocks) {
    StageSets list{block.owner, block.branch, {}};
    for (Cluster& cluster : block.clusters) {
      std::vector<std::string> names;
      for (const Instance& instance : cluster.instances) names.push_back(instance.stage);
      if (!names.empty()) cluster.instances = {{names.back(), 0}};
      list.sets.push_back(std::move(names));
    }
    lists.push_back(std::move(list));
  }
  auto fused = fuse_sets(program, lists);
  if (!fused) return fused.why();
  Schedule schedule;
  schedule.program = std::move(fused).value();
  schedule.plan = plan;
  try {
    Elaboration(schedule, joined).run();
  } catch (Refusal& refusal) {
    return std::move(refusal.reason);
  }
  return schedule;
}

}  // namespace twill
