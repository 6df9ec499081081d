// Judges one case: well-formed, round trip, and every plan against the interpreter.
#include "fuzz/verdict.h"

#include "base/isolate.h"
#include "driver/agree.h"
#include "driver/compile.h"
#include "fuzz/random_plan.h"
#include "program/check.h"
#include "program/text.h"
#include "simplify/layout.h"
#include "simplify/simplify.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace twill {

namespace {

/// Thrown inside of this file: the case has failed.
struct Failed {
  std::string kind, detail;
};

const Diagnostic& first(const Error& error) { return error.diagnostics().front(); }

bool is_run_time(const Error& error) {
  return first(error).fault == Fault::User && first(error).code.starts_with("E05");
}

void check_round_trip(const Program& program) {
  const std::string text = print(program);
  try {
    const Program again = parse_program("fuzz", text);
    if (!same(again, program))
      throw Failed{"round trip", "it prints to\n" + text + "\nand that to\n" + print(again)};
  } catch (const Error& error) {
    throw Failed{"round trip: " + first(error).code, std::string(error.what()) + "\nin\n" + text};
  }
}

/// What the interpreter says about one set of inputs.
struct Expected {
  std::optional<Reference> reference;  // nothing: a run-time error …
  std::string error;                   // … with this message
};

std::optional<Expected> interpreted(const Program& program, std::span<const Data> inputs, Verdict& verdict) {
  try {
    return Expected{reference_of(program, inputs), {}};
  } catch (const Error& error) {
    if (first(error).fault == Fault::Limit) {
      ++verdict.counts["not supported: " + first(error).code];
      return std::nullopt;
    }
    if (!is_run_time(error)) throw Failed{"interpreter: " + first(error).code, error.what()};
    ++verdict.counts["run-time errors"];
    return Expected{std::nullopt, error.what()};
  }
}

std::optional<Kernel> compiled(const FuzzCase& one, const Plan& plan, const JudgeOptions& options,
                               Verdict& verdict) {
  try {
    Options compile_options;
    compile_options.plan = plan;
    compile_options.simplify = one.simplify;
    compile_options.stop_after = "c";
    Compilation compilation = compile(one.program, options.machine, compile_options);
    CompileOptions compiler;
    compiler.flags = kernel_flags(one.program->strict);
    for (const auto* more : {&one.compiler_flags, &options.compiler_flags})
      compiler.flags.insert(compiler.flags.end(), more->begin(), more->end());
    if (!options.cache.empty()) compiler.cache = options.cache;
    compiler.cache_bytes = std::int64_t{16} << 20;  // few of these kernels are ever run again
    return Kernel(one.program, std::move(*compilation.source), compiler);
  } catch (const Error& error) {
    if (first(error).fault != Fault::Limit) throw Failed{"compile: " + first(error).code, error.what()};
    ++verdict.counts["not supported: " + first(error).code];
    return std::nullopt;
  }
}

/// Does the plan leave stages out, and with them errors at points that nobody reads?
bool leaves_out(const Plan& plan, const Program& program) {
  std::size_t stages = 0, run = 0;
  for_each_stage(program.stages, [&](const Stage&) { ++stages; });
  for (const BlockPlan& block : plan.blocks)
    for (const Cluster& cluster : block.clusters)
      for (const Instance& instance : cluster.instances) run += instance.stages.size();
  return run < stages;
}

/// What is computed where it is read is not computed at points that nobody reads: does the program with its
/// stages joined run, although the one as it was written fails?
bool runs_joined(const std::shared_ptr<const Program>& program, const Plan& plan, const Machine& machine,
                 std::span<const Data> inputs) {
  const auto schedule = elaborate(program, machine, plan);
  if (!schedule || schedule->program->stages.size() == program->stages.size()) return false;
  try {
    interpret(*schedule->program, inputs);
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// `may_run`: although the interpreter fails.
void compare(const Kernel& kernel, const Program& program, std::span<const Data> inputs,
             const Expected& expected, const std::function<bool()>& may_run) {
  const std::optional<Reference>& reference = expected.reference;
  try {
    const Outcome actual = kernel.run(inputs);
    if (!reference && may_run()) return;
    if (!reference)
      throw Failed{"error missing", "the kernel runs, but the interpreter says\n" + expected.error};
    // Where a condition hangs on a float that may be off, there is nothing to compare.
    if (!program.strict && !reference->bounds.decided()) return;
    const Agreement result = agreement(program, *reference, actual);
    if (!result.difference.empty()) throw Failed{"different", result.difference};
  } catch (const Error& error) {
    if (reference || !is_run_time(error)) throw Failed{"error: " + first(error).code, error.what()};
  }
}

/// The simplified program does the same. What nobody needs is not computed in it, nor are errors met there:
/// if the program fails, what the simplified one does is expected from now on.
void judge_simplified(const FuzzCase& one, const std::shared_ptr<const Program>& simplified,
                      std::vector<std::optional<Expected>>& expected, Verdict& verdict) {
  ++verdict.counts["simplified"];
  const auto failed = [&](std::string kind, const std::string& detail) {
    throw Failed{std::move(kind), detail + "\nsimplified, it is\n" + print(*simplified)};
  };
  if (const std::vector<Diagnostic> wrong = diagnose(*simplified, rewritten); !wrong.empty())
    failed("simplified: " + wrong.front().code, Error(wrong).what());
  if (lay_out(simplified).program != simplified) failed("fixpoint", "laying it out again changes it");
  for (std::size_t k = 0; k < one.inputs.size(); ++k) {
    if (!expected[k]) continue;
    verdict.inputs = static_cast<int>(k);
    std::optional<Expected> now = interpreted(*simplified, one.inputs[k], verdict);
    if (!expected[k]->reference) {
      expected[k].reset();
      if (now) expected[k].emplace(std::move(*now));
      continue;
    }
    if (!now) {  // a stage that is not supported, and that did not run before
      expected[k].reset();
      continue;
    }
    if (!now->reference) failed("simplified: error", now->error);
    const Agreement found = agreement(*one.program, *expected[k]->reference, now->reference->outcome);
    if (!found.difference.empty()) failed("simplified: different", found.difference);
  }
  verdict.inputs = -1;
}

void judge(const FuzzCase& one, const JudgeOptions& options, Verdict& verdict) {
  const Program& program = *one.program;
  if (const std::vector<Diagnostic> wrong = diagnose(program); !wrong.empty())
    throw Failed{"ill-formed: " + wrong.front().code, Error(wrong).what()};
  if (options.round_trip) check_round_trip(program);
  std::vector<std::optional<Expected>> expected;
  for (std::size_t k = 0; k < one.inputs.size(); ++k) {
    verdict.inputs = static_cast<int>(k);
    expected.push_back(interpreted(program, one.inputs[k], verdict));
  }
  verdict.inputs = -1;
  if (one.simplify) {
    const Simplified simplified = simplify(one.program);
    for (const Reason& reason : simplified.done) ++verdict.counts["simplify: " + reason.code];
    if (simplify(simplified.program).program != simplified.program)
      throw Failed{"fixpoint",
                   "simplifying it again changes it\nsimplified, it is\n" + print(*simplified.program)};
    const Simplified laid_out = lay_out(simplified.program);
    for (const Reason& reason : laid_out.done) ++verdict.counts["simplify: " + reason.code];
    if (laid_out.program != one.program) judge_simplified(one, laid_out.program, expected, verdict);
  }
  const std::shared_ptr<const Program> planned = one.planned();
  for (std::size_t p = 0; p < one.plans.size(); ++p) {
    verdict.plan = static_cast<int>(p);
    verdict.inputs = -1;
    const std::optional<Kernel> kernel = compiled(one, one.plans[p], options, verdict);
    if (!kernel) continue;
    ++verdict.counts["kernels"];
    for (const auto& [feature, count] : features_of(one.plans[p]))
      verdict.counts["plan: " + feature] += count;
    for (std::size_t k = 0; k < one.inputs.size(); ++k) {
      if (!expected[k]) continue;
      verdict.inputs = static_cast<int>(k);
      compare(*kernel, program, one.inputs[k], *expected[k], [&] {
        return leaves_out(one.plans[p], *planned) ||
               runs_joined(planned, one.plans[p], options.machine, one.inputs[k]);
      });
      ++verdict.counts["runs"];
    }
  }
  verdict.plan = verdict.inputs = -1;
  if (options.complaint)
    if (const auto complaint = options.complaint(one)) throw Failed{"complaint", *complaint};
}

}  // namespace

std::shared_ptr<const Program> FuzzCase::planned() const {
  return simplify ? lay_out(twill::simplify(program).program).program : program;
}

Verdict judge(const FuzzCase& one, const JudgeOptions& options) {
  Verdict verdict;
  try {
    judge(one, options, verdict);
  } catch (const Failed& failed) {
    verdict.kind = failed.kind;
    verdict.detail = failed.detail;
  } catch (const Error& error) {
    verdict.kind = "error: " + first(error).code;
    verdict.detail = error.what();
  } catch (const std::exception& error) {
    verdict.kind = "exception";
    verdict.detail = error.what();
  }
  return verdict;
}

Verdict judge_isolated(const FuzzCase& one, const JudgeOptions& options) {
  const Isolated end = Isolation([&] { return to_text(judge(one, options)); }, options.patience).wait();
  return verdict_from(end);
}

Verdict verdict_from(const Isolated& end) {
  if (end.died) {
    Verdict verdict;
    verdict.kind = end.late ? "no end" : "crash";
    verdict.detail = *end.died;
    return verdict;
  }
  return verdict_from_text(end.text);
}

std::string to_text(const Verdict& verdict) {
  // Messages may quote bytes that are no text.
  return nlohmann::json{{"kind", verdict.kind},
                        {"detail", verdict.detail},
                        {"plan", verdict.plan},
                        {"inputs", verdict.inputs},
                        {"counts", verdict.counts}}
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Verdict verdict_from_text(const std::string& text) {
  Verdict verdict;
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded()) {
    verdict.kind = "exception";
    verdict.detail = text;
    return verdict;
  }
  verdict.kind = json.at("kind");
  verdict.detail = json.at("detail");
  verdict.plan = json.at("plan");
  verdict.inputs = json.at("inputs");
  verdict.counts = json.at("counts").get<std::map<std::string, int>>();
  return verdict;
}

}  // namespace twill
