// Runs many seeds, several at a time, each in a process of its own, and collects the failures.
#include "fuzz/fuzz.h"

#include "base/error.h"

#include "cluster/cluster.h"
#include "driver/compile.h"
#include "driver/tiling.h"
#include "fuzz/random_plan.h"
#include "fuzz/shrink.h"
#include "plan/default_plan.h"
#include "program/text.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <list>
#include <set>
#include <thread>

namespace twill {

namespace {

/// Do its effects see elements of a collection?
bool goes_through_collection(const Program& program, const Stage& stage) {
  bool found = false;
  for (const Effect& effect : stage.effects) {
    for (const auto& argument : effect.arguments) {
      const Expr* e = std::get_if<Expr>(&argument);
      if (!e) continue;
      visit(*e, [&](Expr node) {
        const auto* read = as<Read>(node);
        const auto* length = read && program[read->array].rank() == 1
                                 ? as<SizeRef>(program[read->array].shape.front())
                                 : nullptr;
        found = found || (length && program[length->symbol].origin == Symbol::Origin::Born);
      });
    }
  }
  return found;
}

/// What a program uses, for the table of counts.
void count_features(const Program& program, std::map<std::string, int>& counts) {
  std::set<ArrayId> row_starts;
  for_each_stage(program.stages, [&](const Stage& stage) {
    for (const Output& output : stage.outputs)
      if (output.offsets && is<Append>(output.combine.back())) {
        row_starts.insert(*output.offsets);
        ++counts["rows"];
      }
  });
  for (const Stage& stage : program.stages)
    if (stage.outputs.empty() && !stage.dims.empty() && !stage.effects.empty()) ++counts["effect alone"];
  for_each_stage(program.stages, [&](const Stage& stage) {
    ++counts["stages"];
    if (stage.dims.empty()) ++counts["stage without dimensions"];
    if (stage.outputs.size() > 1) ++counts["several outputs"];
    if (!stage.effects.empty()) ++counts["effect"];
    if (!stage.hints.empty()) ++counts["hint"];
    if (std::holds_alternative<Branch>(stage.body)) ++counts["branch"];
    if (const auto* nested = std::get_if<Nested>(&stage.body))
      ++counts[nested->block->carries.empty() ? "block" : "loop with states"];
    std::set<ArrayId> own;
    for (const Output& output : stage.outputs) own.insert(output.array);
    for_each_stage({&stage, 1}, [&](const Stage& inner) {
      bool reads = false;
      for_each_expr(inner, [&](Expr root) {
        visit(root, [&](Expr node) {
          const auto* read = as<Read>(node);
          reads = reads || (read && own.contains(read->array));
        });
      });
      if (reads) ++counts[&inner == &stage ? "own past" : "own past in a block"];
    });
    if (!stage.effects.empty() && goes_through_collection(program, stage))
      ++counts["effect over a collection"];
    for (const Dim& dim : stage.dims) {
      if (dim.condition) ++counts["while"];
      const auto* start = as<Read>(dim.lo);
      if (start && row_starts.contains(start->array)) ++counts["rows gone through"];
      if (reads_data(dim.lo) || (dim.hi && reads_data(dim.hi))) ++counts["extent from data"];
      bool depends = false;
      for (const Expr bound : {dim.lo, dim.hi})
        if (bound) visit(bound, [&](Expr node) { depends = depends || as<IndexRef>(node); });
      if (depends) ++counts["extent from an index"];
    }
    for (const Output& output : stage.outputs) {
      for (const Combine& combine : output.combine) {
        ++counts["combine " + std::string(name_of(combine))];
        const auto* fold = std::get_if<Fold>(&combine);
        if (fold && !fold->op.prim) ++counts["user's operator"];
      }
      if (output.into) ++counts[output.accumulates ? "into, accumulating" : "into"];
      if (output.guard) ++counts["guard"];
      if (output.force) ++counts["force"];
    }
    for_each_expr(stage, [&](Expr root) {
      visit(root, [&](Expr node) {
        if (const auto* read = as<Read>(node)) {
          for (std::size_t k = 0; k < read->rules.size(); ++k) {
            static constexpr const char* names[] = {"inside", "clamp", "mirror", "wrap", "constant"};
            ++counts[std::string("read ") + names[static_cast<std::size_t>(read->rules[k])]];
            if (reads_data(node->args[k])) ++counts["gather"];
          }
        }
        if (as<Invoke>(node)) ++counts["call"];
        if (as<Select>(node)) ++counts["select"];
      });
    });
  });
}

/// Schedules of more stages, those of blocks included, take longer to find than all other plans together.
constexpr int most_stages_for_isl = 4;

/// A case from generation to verdict, in the process that it is run in.
std::string run_seed(std::uint64_t seed, const FuzzOptions& options) {
  FuzzCase one;
  Verdict early;
  try {
    one = fuzz_case(seed, options);
  } catch (const Error& error) {
    const Diagnostic& first = error.diagnostics().front();
    if (first.fault == Fault::Limit) {
      // The program is fine, but nothing can run it.
      ++early.counts["not supported: " + first.code];
    } else {
      early.kind = "generator";
      early.detail = error.what();
    }
    return to_text(early);
  }
  Verdict verdict = judge(one, options.judge);
  std::map<std::string, int> features;
  count_features(*one.program, features);
  for (const auto& [name, count] : features) verdict.counts["program: " + name] += count;
  return to_text(verdict);
}

/// Can the case be made, in a process of its own?
bool survives(std::uint64_t seed, const FuzzOptions& options) {
  const auto make = [&]() -> std::string {
    fuzz_case(seed, options);
    return "made";
  };
  return Isolation(make, options.judge.patience).wait().text == "made";
}

FuzzFailure failure_of(std::uint64_t seed, Verdict verdict, const FuzzOptions& options) {
  FuzzFailure failure{seed, std::move(verdict), {}};
  // What could not be planned may at least be generated.
  FuzzOptions no_plans = options;
  no_plans.plans = -1;
  if (!survives(seed, options)) {
    if (survives(seed, no_plans)) failure.one = fuzz_case(seed, no_plans);
    return failure;
  }
  failure.one = fuzz_case(seed, options);
  if (!options.shrink) return failure;
  Shrunk shrunk = shrink(failure.one, failure.verdict, options.judge);
  failure.one = std::move(shrunk.one);
  failure.verdict = std::move(shrunk.verdict);
  return failure;
}

}  // namespace

FuzzCase fuzz_case(std::uint64_t seed, const FuzzOptions& options) {
  Rng rng(seed);
  Budget budget = options.budget;
  budget.strict = rng.chance(50);
  FuzzCase one;
  Rng for_program = rng.fork(), for_inputs = rng.fork(), for_plans = rng.fork();
  one.program = std::make_shared<const Program>(random_program(for_program, budget));
  for (int k = 0; k < options.inputs; ++k) one.inputs.push_back(random_inputs(*one.program, for_inputs));
  if (options.plans < 0) return one;
  // What the C means is seen without any optimisation as well, and three times as fast.
  const int level = options.optimise ? 2 : rng.weighted({90, 8, 2});
  if (level < 2) one.compiler_flags = {level == 0 ? "-O0" : "-O1"};
  one.simplify = for_plans.chance(75);
  const std::shared_ptr<const Program> planned = one.planned();
  const Machine& machine = options.judge.machine;
  // Every way to choose clusters, where it makes a difference.
  const PlannedTiling tiling(planned, machine);
  std::vector<Clustering> clusterings = {cluster_greedy(*planned), cluster_pairs(*planned, Greed::TopDown),
                                         cluster_pairs(*planned, Greed::BottomUp),
                                         cluster_optimal(*planned, ByTime{time_model_of(machine), {}, &tiling})};
  for (const GraphCost cost : graph_costs) clusterings.push_back(cluster_optimal(*planned, cost));
  int stages = 0;
  for_each_stage(planned->stages, [&](const Stage&) { ++stages; });
  if (stages <= most_stages_for_isl)
    clusterings.push_back(cluster_by_schedule(
        *planned, for_plans.pick({poly::Fusion::Min, poly::Fusion::Smart, poly::Fusion::Max})));
  const auto add = [&](Plan plan) {
    if (std::find(one.plans.begin(), one.plans.end(), plan) == one.plans.end())
      one.plans.push_back(std::move(plan));
  };
  // What users get: the pipeline also thinks again about what is in memory.
  Options usual;
  usual.simplify = false;
  usual.stop_after = "plan";
  add(*compile(planned, machine, usual).plan);
  for (const Clustering& clustering : clusterings) add(default_plan(planned, machine, clustering.lists).plan);
  for (int k = 0; k < options.plans; ++k) one.plans.push_back(random_plan(planned, machine, for_plans));
  return one;
}

FuzzReport fuzz(const FuzzOptions& options) {
  FuzzReport report;
  struct Job {
    std::uint64_t seed;
    Isolation work;
  };
  std::list<Job> jobs;
  const auto most_jobs = static_cast<std::size_t>(
      options.jobs > 0 ? options.jobs : std::max(1U, std::thread::hardware_concurrency()));
  int started = 0;
  const auto finished = [&](Job& job) {
    Verdict verdict = verdict_from(job.work.result());
    ++report.programs;
    for (const auto& [name, count] : verdict.counts) report.counts[name] += count;
    // Others may have been under way when the last one that is wanted failed.
    const bool wanted = static_cast<int>(report.failures.size()) < options.most_failures;
    if (verdict.failed() && wanted)
      report.failures.push_back(failure_of(job.seed, std::move(verdict), options));
    if (options.progress)
      options.progress(report.programs, options.count, static_cast<int>(report.failures.size()));
  };
  while (true) {
    const bool enough = static_cast<int>(report.failures.size()) >= options.most_failures;
    while (!enough && started < options.count && jobs.size() < most_jobs) {
      const std::uint64_t seed = options.seed + static_cast<std::uint64_t>(started++);
      jobs.push_back({seed, Isolation([&] { return run_seed(seed, options); }, options.judge.patience)});
    }
    if (jobs.empty()) return report;
    // Wait until one of them has something to say, or has said nothing for too long.
    std::vector<pollfd> waiting;
    auto deadline = jobs.front().work.deadline();
    for (const Job& job : jobs) {
      waiting.push_back({job.work.descriptor(), POLLIN, 0});
      deadline = std::min(deadline, job.work.deadline());
    }
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    ::poll(waiting.data(), waiting.size(), static_cast<int>(std::max<std::int64_t>(0, left.count())));
    std::size_t k = 0;
    for (auto job = jobs.begin(); job != jobs.end(); ++k) {
      const bool ready = waiting[k].revents != 0 || job->work.deadline() <= std::chrono::steady_clock::now();
      if (!ready || !job->work.collect()) {
        ++job;
        continue;
      }
      finished(*job);
      job = jobs.erase(job);
    }
  }
}

namespace {

std::string text_of(const Data& data) {
  constexpr std::int64_t most = 64;
  std::string text;
  const std::vector<TypeLeaf> leaves = leaves_of(data.type());
  const std::size_t bytes = byte_size(data.type());
  for (std::int64_t k = 0; k < std::min(most, data.count()); ++k) {
    std::vector<std::string> numbers;
    for (const TypeLeaf& leaf : leaves) {
      const Number number =
          load(leaf.scalar, data.bytes() + static_cast<std::size_t>(k) * bytes + leaf.offset);
      numbers.push_back(is_float(leaf.scalar)      ? fmt::format("{}", number.f)
                        : is_unsigned(leaf.scalar) ? fmt::format("{}", number.u)
                                                   : fmt::format("{}", number.i));
    }
    text += (k == 0 ? "" : ", ") +
            (leaves.size() == 1 ? numbers[0] : fmt::format("({})", fmt::join(numbers, ", ")));
  }
  return fmt::format("{}[{}] = [{}{}]", to_string(data.type()), fmt::join(data.shape(), ", "), text,
                     data.count() > most ? ", …" : "");
}

}  // namespace

std::string to_string(const FuzzFailure& failure) {
  std::string text =
      fmt::format("seed {}: {}\n{}\n", failure.seed, failure.verdict.kind, failure.verdict.detail);
  if (failure.one.program) {
    const Program& program = *failure.one.program;
    text += "\n" + print(program);
    for (const auto& inputs : failure.one.inputs) {
      text += "\ninputs:\n";
      for (std::size_t k = 0; k < inputs.size(); ++k)
        text += fmt::format("  {}: {}\n", program[program.inputs[k].array].name, text_of(inputs[k]));
    }
    for (const Plan& plan : failure.one.plans) text += "\nplan:\n" + to_json(plan) + "\n";
  }
  return text + fmt::format("\nreplay: twill fuzz --seed {} --count 1\n", failure.seed);
}

std::string to_string(const FuzzReport& report) {
  std::string text = fmt::format("{:>8}  programs\n", report.programs);
  for (const auto& [name, count] : report.counts) text += fmt::format("{:>8}  {}\n", count, name);
  return text;
}

}  // namespace twill
