// Makes a failing case smaller as long as it fails in the same way.
#include "fuzz/shrink.h"

#include "cluster/cluster.h"
#include "fuzz/generate.h"
#include "fuzz/random_plan.h"
#include "fuzz/tidy.h"
#include "plan/default_plan.h"
#include "plan/elaborate.h"
#include "program/check.h"
#include "program/edit.h"
#include "simplify/rewriting.h"

#include <algorithm>
#include <set>

namespace twill {

namespace {

/// The clusters of a plan without the stages that are gone; every stage by itself if that does not work.
std::vector<ClusterSets> adapted_clusters(const std::shared_ptr<const Program>& program, const Plan& wanted) {
  std::vector<ClusterSets> lists = cluster_none(*program).lists;
  for (ClusterSets& list : lists) {
    const BlockPlan* block = wanted.find(list.owner, list.branch);
    if (!block) continue;
    std::set<std::string> open;
    for (const auto& cluster : list.clusters) open.insert(cluster.front().front());
    ClusterSets changed{list.owner, list.branch, {}};
    for (const Cluster& cluster : block->clusters) {
      std::vector<StageSet> sets;
      for (const Instance& instance : cluster.instances) {
        StageSet set;
        for (const std::string& stage : instance.stages)
          if (open.erase(stage) > 0) set.push_back(stage);
        if (!set.empty()) sets.push_back(std::move(set));
      }
      if (!sets.empty()) changed.clusters.push_back(std::move(sets));
    }
    if (can_cluster(program, std::span(&changed, 1))) list = std::move(changed);
  }
  return lists;
}

/// The clusters of a plan that still make sense for a changed program; the default ones elsewhere.
Plan adapted(const std::shared_ptr<const Program>& program, const Machine& machine, const Plan& wanted) {
  Plan plan = default_plan(program, machine, adapted_clusters(program, wanted)).plan;
  for (std::size_t b = 0; b < plan.blocks.size(); ++b) {
    for (std::size_t c = 0; c < plan.blocks[b].clusters.size(); ++c) {
      const std::vector<Instance> instances = plan.blocks[b].clusters[c].instances;
      for (const BlockPlan& block : wanted.blocks) {
        for (const Cluster& cluster : block.clusters) {
          if (cluster.instances != instances) continue;
          Plan candidate = plan;
          candidate.blocks[b].clusters[c] = cluster;
          if (elaborate(program, machine, candidate)) plan = std::move(candidate);
        }
      }
    }
  }
  return plan;
}

class Shrinker {
 public:
  Shrinker(const FuzzCase& one, const Verdict& verdict, const JudgeOptions& options, int most_attempts)
      : options_(options), kind_(verdict.kind), most_attempts_(most_attempts), best_{one, verdict, 0} {
    // A change may make a loop endless: nobody wants to wait for that again and again.
    if (kind_ != "no end") options_.patience = std::min(options_.patience, std::chrono::seconds(15));
  }

  Shrunk run() {
    focus();
    while (!exhausted()) {
      const bool smaller = drop_results() | drop_stages() | open_blocks() | compute_outside() |
                           drop_outputs() | drop_details() | drop_dimensions() | choose_branches() |
                           simplify_expressions() | smaller_inputs() | simpler_plan();
      if (!smaller) break;
    }
    return std::move(best_);
  }

 private:
  bool exhausted() const { return best_.attempts >= most_attempts_; }
  const Program& program() const { return *best_.one.program; }

  /// Keeps a case if it fails in the same way.
  bool try_case(FuzzCase one) {
    if (exhausted()) return false;
    ++best_.attempts;
    Verdict verdict = judge_isolated(one, options_);
    if (verdict.kind != kind_) return false;
    best_.one = std::move(one);
    best_.verdict = std::move(verdict);
    return true;
  }

  /// Keeps a changed program, with the same inputs as far as it still has them.
  bool try_program(Program changed, const std::map<std::string, Data>& more = {}) {
    // What is left has a result.
    if (changed.results.empty() && !changed.stages.empty())
      for (const Output& output : changed.stages.back().outputs) changed.results.push_back(output.array);
    Program tidied;
    try {
      tidied = tidy(changed);
    } catch (const std::exception&) {
      return false;  // the change left something without a definition
    }
    // Ill-formed programs are of interest only if that is the failure.
    if (!kind_.starts_with("ill-formed") && !diagnose(tidied).empty()) return false;
    FuzzCase one;
    one.simplify = best_.one.simplify;
    one.program = std::make_shared<const Program>(std::move(tidied));
    for (const auto& inputs : best_.one.inputs) {
      std::vector<Data> kept;
      for (const Input& input : one.program->inputs) {
        const std::string& name = (*one.program)[input.array].name;
        if (const auto added = more.find(name); added != more.end()) {
          kept.push_back(added->second);
          continue;
        }
        for (std::size_t k = 0; k < program().inputs.size() && k < inputs.size(); ++k)
          if (program()[program().inputs[k].array].name == name) kept.push_back(inputs[k]);
      }
      if (kept.size() != one.program->inputs.size()) return false;
      one.inputs.push_back(std::move(kept));
    }
    try {
      for (const Plan& plan : best_.one.plans)
        one.plans.push_back(adapted(one.planned(), options_.machine, plan));
    } catch (const std::exception&) {
      return false;
    }
    return try_case(std::move(one));
  }

  /// The plan and the inputs that fail, and no others.
  void focus() {
    FuzzCase one = best_.one;
    const Verdict& verdict = best_.verdict;
    if (verdict.plan >= 0) one.plans = {one.plans[static_cast<std::size_t>(verdict.plan)]};
    if (verdict.inputs >= 0) one.inputs = {one.inputs[static_cast<std::size_t>(verdict.inputs)]};
    if (one.plans.size() != best_.one.plans.size() || one.inputs.size() != best_.one.inputs.size())
      try_case(std::move(one));
    if (best_.one.inputs.size() > 1) {
      for (const auto& inputs : std::vector(best_.one.inputs)) {
        FuzzCase single = best_.one;
        single.inputs = {inputs};
        if (try_case(std::move(single))) break;
      }
    }
    if (kind_.starts_with("round trip") || kind_.starts_with("ill-formed")) {
      FuzzCase bare = best_.one;
      bare.plans.clear();
      try_case(std::move(bare));
    }
  }

  /// Applies a change to each part of a kind, one after the other, last ones first: `change(program, n)`
  /// changes part n and returns false if there is no such part.
  bool try_each(const std::function<bool(Program&, int)>& change) {
    int count = 0;
    for (Program probe = program(); change(probe, count); probe = program()) ++count;
    bool any = false;
    for (int n = count; n-- > 0 && !exhausted();) {
      Program changed = program();
      if (change(changed, n)) any = try_program(std::move(changed)) || any;
    }
    return any;
  }

  bool drop_results() {
    return try_each([](Program& p, int n) {
      if (n >= static_cast<int>(p.results.size())) return false;
      p.results.erase(p.results.begin() + n);
      return true;
    });
  }

  bool drop_stages() {
    return try_each([](Program& p, int n) {
      int seen = 0;
      bool done = false;
      const auto drop = [&](std::vector<Stage>& stages) {
        for (std::size_t k = 0; k < stages.size() && !done; ++k) {
          if (seen++ != n) continue;
          const Stage gone = stages[k];
          stages.erase(stages.begin() + static_cast<std::ptrdiff_t>(k));
          for (const Output& output : gone.outputs)
            for (const ArrayId array : defined_arrays(output)) std::erase(p.results, array);
          done = true;
        }
      };
      drop(p.stages);
      edit_blocks(p.stages, [&](const Stage&, int, Block& block) { drop(block.stages); });
      return done;
    });
  }

  /// Blocks that run once: their stages stand in the place of the stage around them, whose effects are gone.
  bool open_blocks() {
    return try_each([](Program& p, int n) {
      Renaming renaming;
      bool done = false;
      const auto open = [&](std::vector<Stage>& stages) {
        for (std::size_t k = 0; k < stages.size() && !done; ++k) {
          const auto* nested = std::get_if<Nested>(&stages[k].body);
          if (!nested || !stages[k].dims.empty() || !nested->block->carries.empty() || n-- != 0) continue;
          const Stage around = stages[k];
          const std::vector<Stage>& inside = std::get<Nested>(around.body).block->stages;
          for (std::size_t o = 0; o < around.outputs.size(); ++o)
            if (!around.outputs[o].value)
              renaming.arrays[around.outputs[o].array] = std::get<Nested>(around.body).block->results[o];
          const auto at = stages.erase(stages.begin() + static_cast<std::ptrdiff_t>(k));
          stages.insert(at, inside.begin(), inside.end());
          done = true;
        }
      };
      open(p.stages);
      edit_blocks(p.stages, [&](const Stage&, int, Block& block) { open(block.stages); });
      if (!done) return false;
      rename_reads(p, p.stages, renaming);
      for (ArrayId& result : p.results) result = renaming.of(result);
      for (const Stage& stage : p.stages)
        for (const Output& output : stage.outputs)
          if (p.results.empty() && !is_running(output)) p.results.push_back(output.array);
      return true;
    });
  }

  /// What one stage computes comes in as an input instead.
  bool compute_outside() {
    bool any = false;
    for (std::size_t s = program().stages.size(); s-- > 0 && !exhausted();) {
      if (s >= program().stages.size() || best_.one.inputs.size() != 1) continue;
      Program changed = program();
      const Stage gone = changed.stages[s];
      if (has_effects(gone)) continue;
      // Its values, from a program that ends with it.
      Program prefix = changed;
      prefix.stages.resize(s + 1);
      prefix.results.clear();
      for (const Output& output : gone.outputs)
        for (const ArrayId array : defined_arrays(output))
          if (!is_running(output)) prefix.results.push_back(array);
      std::map<std::string, Data> values;
      try {
        const Outcome outcome = interpret(prefix, best_.one.inputs.front());
        for (std::size_t k = 0; k < prefix.results.size(); ++k)
          values[prefix[prefix.results[k]].name] = outcome.results[k];
      } catch (const std::exception&) {
        continue;
      }
      changed.stages.erase(changed.stages.begin() + static_cast<std::ptrdiff_t>(s));
      for (const ArrayId array : prefix.results) {
        std::erase(changed.results, array);
        changed.inputs.push_back({array, {}});
        for (const Expr extent : changed[array].shape)
          if (const auto* size = as<SizeRef>(extent))
            changed.symbols[static_cast<std::size_t>(size->symbol.value)].origin = Symbol::Origin::Input;
      }
      any = try_program(std::move(changed), values) || any;
    }
    return any;
  }

  /// One part of one stage: `change(stage, n)` changes part n of the stage or lowers n by the number of parts
  /// it has.
  bool try_each_in_stages(const std::function<bool(Stage&, int&)>& change) {
    return try_each([&](Program& p, int n) {
      bool done = false;
      edit_stages(p.stages, [&](Stage& stage) {
        if (!done) done = change(stage, n);
      });
      return done;
    });
  }

  bool drop_outputs() {
    return try_each([](Program& p, int n) {
      bool done = false;
      edit_stages(p.stages, [&](Stage& stage) {
        if (done || (stage.outputs.size() < 2 && stage.effects.empty())) return;
        if (n >= static_cast<int>(stage.outputs.size())) {
          n -= static_cast<int>(stage.outputs.size());
          return;
        }
        for (const ArrayId array : defined_arrays(stage.outputs[static_cast<std::size_t>(n)]))
          std::erase(p.results, array);
        stage.outputs.erase(stage.outputs.begin() + n);
        const auto drop = [&](std::shared_ptr<const Block>& held) {
          Block block = *held;
          block.results.erase(block.results.begin() + n);
          held = std::make_shared<const Block>(std::move(block));
        };
        if (auto* nested = std::get_if<Nested>(&stage.body)) drop(nested->block);
        if (auto* branch = std::get_if<Branch>(&stage.body)) {
          drop(branch->then);
          drop(branch->otherwise);
        }
        done = true;
      });
      return done;
    });
  }

  /// Guards, effects, hints, force, versions.
  bool drop_details() {
    return try_each_in_stages([](Stage& stage, int& n) {
      const auto here = [&](bool present) { return present && n-- == 0; };
      if (here(!stage.hints.empty())) return stage.hints.clear(), true;
      if (here(!stage.effects.empty())) return stage.effects.pop_back(), true;
      for (Effect& effect : stage.effects)
        if (here(static_cast<bool>(effect.guard))) return effect.guard = {}, true;
      for (Output& output : stage.outputs) {
        if (here(output.force)) return output.force = false, true;
        if (here(static_cast<bool>(output.guard))) return output.guard = {}, true;
        if (here(output.accumulates)) return output.accumulates = false, true;
        if (here(output.into.has_value())) return output.into.reset(), output.accumulates = false, true;
      }
      return false;
    });
  }

  /// A dimension that leaves no trace in the shape of an output takes its first index only.
  bool drop_dimensions() {
    ExprPool& pool = *program().pool;
    return try_each_in_stages([&](Stage& stage, int& n) {
      for (std::size_t d = 0; d < stage.dims.size(); ++d) {
        const bool traceless = std::ranges::all_of(stage.outputs, [&](const Output& output) {
          const Combine& c = output.combine[d];
          return is<Fold>(c) || is<Append>(c) || is<Group>(c) || is<Scatter>(c);
        });
        if (!traceless || n-- != 0) continue;
        const Expr first = stage.dims[d].lo;
        const DimId gone = stage.dims[d].id;
        stage.dims.erase(stage.dims.begin() + static_cast<std::ptrdiff_t>(d));
        for (Output& output : stage.outputs)
          output.combine.erase(output.combine.begin() + static_cast<std::ptrdiff_t>(d));
        const auto replace = [&](Expr& e) {
          e = rewrite(pool, e, [&](Expr node) {
            const auto* index = as<IndexRef>(node);
            return index && index->dim == gone ? first : Expr{};
          });
        };
        std::vector<Stage> alone = {std::move(stage)};
        edit_stages(alone, [&](Stage& inner) { for_each_slot(inner, replace); });
        stage = std::move(alone.front());
        return true;
      }
      return false;
    });
  }

  bool choose_branches() {
    return try_each_in_stages([](Stage& stage, int& n) {
      const auto* branch = std::get_if<Branch>(&stage.body);
      if (!branch) return false;
      for (const auto& block : {branch->then, branch->otherwise}) {
        if (n-- != 0) continue;
        const std::shared_ptr<const Block> kept = block;
        stage.body = Nested{kept};
        return true;
      }
      return false;
    });
  }

  /// Every expression by a number, or by a part of it of the same type; then its parts in the same way.
  bool simplify_expressions() {
    bool any = false;
    for (int slot = 0; !exhausted(); ++slot) {
      const auto at_slot = [&](Program& p, const std::function<void(Expr&)>& action) {
        int n = slot;
        bool found = false;
        edit_stages(p.stages, [&](Stage& stage) {
          for_each_slot(stage, [&](Expr& e) {
            if (n-- != 0) return;
            found = true;
            action(e);
          });
        });
        return found;
      };
      Expr now;
      Program probe = program();
      if (!at_slot(probe, [&](Expr& e) { now = e; })) break;
      // Larger parts first; a part that was replaced is not looked at again.
      std::vector<Expr> parts;
      visit(now, [&](Expr node) { parts.push_back(node); });
      std::ranges::reverse(parts);
      for (const Expr part : parts) {
        for (const Expr simpler : simpler_than(part)) {
          Program changed = program();
          bool differs = false;
          at_slot(changed, [&](Expr& e) {
            const Expr replaced =
                rewrite(*changed.pool, e, [&](Expr node) { return node == part ? simpler : Expr{}; });
            differs = !(replaced == e);
            e = replaced;
          });
          if (!differs) break;  // it is gone already
          if (exhausted() || !try_program(std::move(changed))) continue;
          any = true;
          break;
        }
      }
    }
    return any;
  }

  std::vector<Expr> simpler_than(Expr part) const {
    ExprPool& pool = *program().pool;
    std::vector<Expr> simpler;
    if (as<Literal>(part)) {
      const Number& number = std::get<Literal>(part->kind).value;
      if (number.type != Scalar::Bool && number.as_double() != 0 && number.as_double() != 1)
        simpler = {zero(part->type), pool.literal(convert(Number::of(Scalar::I64, 1), number.type))};
      return simpler;
    }
    if (!as<IndexRef>(part) && !as<ArgRef>(part)) simpler.push_back(zero(part->type));
    for (const Expr arg : part->args)
      if (arg->type == part->type) simpler.push_back(arg);
    if (part->type.is(Scalar::Bool)) simpler.push_back(pool.boolean(true));
    return simpler;
  }

  Expr zero(const Type& type) const {
    ExprPool& pool = *program().pool;
    if (type.is_scalar()) return pool.literal(convert(Number::of(Scalar::I64, 0), type.scalar()));
    std::vector<Expr> fields;
    for (const Field& field : type.record().fields) fields.push_back(zero(field.type));
    return pool.make(type, std::move(fields));
  }

  static std::int64_t weight(const std::vector<Data>& inputs) {
    std::int64_t sum = 0;
    for (const Data& data : inputs) {
      sum += 2 * data.count();
      // Arrays without elements have extents, too.
      for (const std::int64_t extent : data.shape()) sum += extent;
      for (std::size_t k = 0; k < data.byte_count(); ++k)
        if (data.bytes()[k] != std::byte{0}) {
          ++sum;
          break;
        }
    }
    return sum;
  }

  bool smaller_inputs() {
    if (best_.one.inputs.size() != 1) return false;
    bool any = false;
    for (std::size_t k = 0; k < best_.one.inputs.front().size(); ++k) {
      FuzzCase one = best_.one;
      Data& data = one.inputs.front()[k];
      data = Data(data.type(), data.shape());
      if (weight(one.inputs.front()) < weight(best_.one.inputs.front()))
        any = try_case(std::move(one)) || any;
    }
    Rng rng(best_.attempts);
    for (const std::int64_t points : {4, 10, 30, 100, 300}) {
      for (int tries = 0; tries < 4 && !exhausted(); ++tries) {
        FuzzCase one = best_.one;
        one.inputs = {random_inputs(program(), rng, points)};
        if (weight(one.inputs.front()) < weight(best_.one.inputs.front()) && try_case(std::move(one)))
          any = true;
      }
      if (any) break;
    }
    return any;
  }

  bool simpler_plan() {
    if (best_.one.plans.size() != 1) return false;
    const std::shared_ptr<const Program> planned = best_.one.planned();
    const Plan plain = default_plan(*planned, options_.machine).plan;
    if (best_.one.plans.front() == plain) return false;
    FuzzCase one = best_.one;
    one.plans = {plain};
    if (try_case(std::move(one))) return true;
    bool any = false;
    for (std::size_t b = 0; b < plain.blocks.size(); ++b) {
      for (std::size_t c = 0; c < plain.blocks[b].clusters.size() && !exhausted(); ++c) {
        const Cluster& simple = plain.blocks[b].clusters[c];
        Plan plan = best_.one.plans.front();
        for (BlockPlan& block : plan.blocks)
          for (Cluster& cluster : block.clusters)
            if (cluster.instances == simple.instances) cluster = simple;
        if (plan == best_.one.plans.front() || !elaborate(planned, options_.machine, plan)) continue;
        FuzzCase candidate = best_.one;
        candidate.plans = {std::move(plan)};
        any = try_case(std::move(candidate)) || any;
      }
    }
    return any;
  }

  JudgeOptions options_;
  const std::string kind_;
  int most_attempts_;
  Shrunk best_;
};

}  // namespace

Shrunk shrink(const FuzzCase& one, const Verdict& verdict, const JudgeOptions& options, int most_attempts) {
  return Shrinker(one, verdict, options, most_attempts).run();
}

}  // namespace twill
