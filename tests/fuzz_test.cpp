// The fuzzer: what it generates, what it finds, and how it makes that small.
#include "fuzz/fuzz.h"
#include "base/files.h"
#include "fuzz/random_plan.h"
#include "fuzz/shrink.h"
#include "fuzz/text_fuzz.h"
#include "plan/elaborate.h"
#include "program/check.h"
#include "program/error_bounds.h"
#include "program/text.h"
#include "temporary_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

using namespace twill;

namespace {

FuzzOptions interpreter_only() {
  FuzzOptions options;
  options.plans = -1;
  options.judge.machine = detect_machine();
  return options;
}

int combine_count(const Program& program, bool (*wanted)(const Combine&)) {
  int count = 0;
  for_each_stage(program.stages, [&](const Stage& stage) {
    for (const Output& output : stage.outputs)
      count += static_cast<int>(std::ranges::count_if(output.combine, wanted));
  });
  return count;
}

}  // namespace

TEST(FuzzGenerate, ProgramsAreWellFormedAndDeterministic) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Budget budget;
    budget.strict = seed % 2 == 0;
    Rng one(seed), two(seed);
    const Program program = random_program(one, budget);
    EXPECT_TRUE(diagnose(program).empty()) << "seed " << seed;
    EXPECT_TRUE(same(program, random_program(two, budget))) << "seed " << seed;
  }
}

TEST(FuzzGenerate, EveryProgramRoundTripsThroughItsText) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    Budget budget;
    budget.strict = seed % 2 == 0;
    Rng rng(seed);
    const Program program = random_program(rng, budget);
    const std::string text = print(program);
    EXPECT_TRUE(same(parse_program("fuzz", text), program)) << "seed " << seed << "\n" << text;
  }
}

TEST(FuzzGenerate, ConditionsNeverHangOnFloatsThatMayBeOff) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed);
    const Program program = random_program(rng, {});
    const std::vector<Data> inputs = random_inputs(program, rng);
    ErrorBounds bounds(program, bind_sizes(program, inputs));
    bounds.program(inputs);
    EXPECT_TRUE(bounds.decided()) << "seed " << seed;
  }
}

TEST(FuzzGenerate, CoversTheModel) {
  FuzzOptions options = interpreter_only();
  options.count = 300;
  options.most_failures = 1;
  const FuzzReport report = fuzz(options);
  for (const FuzzFailure& failure : report.failures) ADD_FAILURE() << to_string(failure);
  for (const char* feature : {"combine cat",
                              "combine fold",
                              "combine scan",
                              "combine append",
                              "combine scatter",
                              "combine group",
                              "combine seq",
                              "read inside",
                              "read clamp",
                              "read mirror",
                              "read wrap",
                              "read constant",
                              "gather",
                              "while",
                              "branch",
                              "block",
                              "loop with states",
                              "into",
                              "into, accumulating",
                              "guard",
                              "effect",
                              "effect alone",
                              "effect over a collection",
                              "rows",
                              "rows gone through",
                              "force",
                              "hint",
                              "extent from data",
                              "extent from an index",
                              "several outputs",
                              "stage without dimensions",
                              "user's operator",
                              "call",
                              "select"})
    EXPECT_GT(report.counts.count("program: " + std::string(feature)), 0U) << feature;
  EXPECT_GT(report.counts.at("run-time errors"), 0);
}

TEST(FuzzPlan, RandomPlansAreLegalAndOfAllKinds) {
  const Machine machine = detect_machine();
  std::map<std::string, int> features;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    FuzzOptions options = interpreter_only();
    options.plans = 2;
    FuzzCase one;
    try {
      one = fuzz_case(seed, options);
    } catch (const Error& error) {
      ASSERT_EQ(error.diagnostics().front().fault, Fault::Limit) << error.what();
      continue;
    }
    for (const Plan& plan : one.plans) {
      const auto schedule = elaborate(one.planned(), machine, plan);
      EXPECT_TRUE(schedule) << "seed " << seed << ": " << schedule.why().text;
      EXPECT_EQ(plan_from_json(to_json(plan)), plan);
      for (const auto& [name, count] : features_of(plan)) features[name] += count;
    }
  }
  for (const char* feature :
       {"tile", "parts", "by core", "by simd", "by unroll", "stream", "alias", "merge partial",
        "merge two-pass", "other order of loops", "several stages", "sliced", "part of a tile"})
    EXPECT_GT(features[feature], 0) << feature;
}

TEST(Fuzz, KernelsAgreeWithTheInterpreter) {
  const TemporaryCache cache;
  FuzzOptions options;
  options.seed = 1000;
  options.count = 200;
  options.plans = 1;
  options.judge.machine = detect_machine();
  options.judge.cache = cache.path();
  options.judge.compiler_flags = {"-O1"};
  options.most_failures = 3;
  const FuzzReport report = fuzz(options);
  for (const FuzzFailure& failure : report.failures) ADD_FAILURE() << to_string(failure);
  EXPECT_EQ(report.programs, 200);
  EXPECT_GT(report.counts.at("runs"), 400);
}

TEST(Fuzz, IsDeterministic) {
  const FuzzOptions options = interpreter_only();
  const FuzzCase a = fuzz_case(7, options), b = fuzz_case(7, options);
  EXPECT_TRUE(same(*a.program, *b.program));
  ASSERT_EQ(a.inputs.size(), b.inputs.size());
  for (std::size_t k = 0; k < a.inputs.size(); ++k)
    for (std::size_t i = 0; i < a.inputs[k].size(); ++i)
      EXPECT_TRUE(identical(a.inputs[k][i], b.inputs[k][i]));
}

/// An invented bug: scans over more than two elements are said to be wrong (but not running values).
TEST(FuzzShrink, AnInventedBugInScansBecomesOneSmallStage) {
  FuzzOptions options = interpreter_only();
  options.inputs = 1;
  options.judge.complaint = [](const FuzzCase& one) -> std::optional<std::string> {
    std::optional<std::string> found;
    const auto sizes = bind_sizes(*one.program, one.inputs.front());
    for_each_stage(one.program->stages, [&](const Stage& stage) {
      for (const Output& output : stage.outputs) {
        for (std::size_t d = 0; d < output.combine.size(); ++d) {
          const bool scans = is<Scan>(output.combine[d]) && !is_running(output);
          const auto* size = scans ? as<SizeRef>(stage.dims[d].hi) : nullptr;
          const auto known = size ? sizes.find(size->symbol) : sizes.end();
          if (known != sizes.end() && known->second > 2) found = "a scan over more than two elements";
        }
      }
    });
    return found;
  };
  options.seed = 40;
  options.count = 100;
  options.most_failures = 1;
  const FuzzReport report = fuzz(options);
  ASSERT_EQ(report.failures.size(), 1U);
  const FuzzFailure& failure = report.failures.front();
  EXPECT_EQ(failure.verdict.kind, "complaint");
  EXPECT_EQ(failure.verdict.detail, "a scan over more than two elements");
  const Program& program = *failure.one.program;
  ASSERT_EQ(program.stages.size(), 1U);
  ASSERT_EQ(program.stages[0].outputs.size(), 1U) << to_string(failure);
  EXPECT_EQ(combine_count(program, is<Scan>), 1);
  EXPECT_EQ(program.results.size(), 1U);
  const std::vector<Combine>& combine = program.stages[0].outputs[0].combine;
  const auto scanned = std::find_if(combine.begin(), combine.end(), is<Scan>) - combine.begin();
  const auto* size = as<SizeRef>(program.stages[0].dims[static_cast<std::size_t>(scanned)].hi);
  ASSERT_TRUE(size) << to_string(failure);
  EXPECT_EQ(bind_sizes(program, failure.one.inputs.front()).at(size->symbol), 3) << to_string(failure);
  const Expr value = program.stages[0].outputs[0].value;
  EXPECT_TRUE(as<Literal>(value) || as<Make>(value)) << print(program, value);
  EXPECT_THAT(to_string(failure),
              testing::HasSubstr("replay: twill fuzz --seed " + std::to_string(failure.seed) + " --count 1"));
}

TEST(FuzzIsolate, CrashesAndEndlessLoopsAreResults) {
  EXPECT_EQ(Isolation([] { return std::string("fine"); }, std::chrono::seconds(20)).wait().text, "fine");
  const Isolated crash = Isolation(
                             []() -> std::string {
                               std::raise(SIGKILL);
                               return "";
                             },
                             std::chrono::seconds(20))
                             .wait();
  EXPECT_EQ(crash.died, "signal 9 (Killed)");
  const Isolated endless = Isolation(
                               []() -> std::string {
                                 while (true) ::pause();
                               },
                               std::chrono::seconds(1))
                               .wait();
  EXPECT_EQ(endless.died, "no end after 1 s");
}

/// A process that waits for another one takes it along when it is killed.
TEST(FuzzIsolate, EndsWithWhoWaitsForIt) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const auto endless = []() -> std::string {
    while (true) ::pause();
  };
  const Isolated outer = Isolation([&] { return Isolation(endless, std::chrono::seconds(60)).wait().text; },
                                   std::chrono::seconds(1))
                             .wait();
  EXPECT_EQ(outer.died, "no end after 1 s");
  ::close(ends[1]);
  pollfd closed{ends[0], POLLIN, 0};
  EXPECT_EQ(::poll(&closed, 1, 20'000), 1) << "somebody still holds the other end";
  ::close(ends[0]);
}

TEST(FuzzIsolate, SaysThatThereIsNoProcess) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  std::string message = "no error";
  try {
    Isolation([] { return std::string(); }, std::chrono::seconds(20));
  } catch (const Error& e) {
    message = e.what();
  }
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(message,
            "failed[E0617]: no pipe to another process: Too many open files\n"
            "  help: too many processes or open files: end some; `twill fuzz` starts fewer with --jobs 1\n");
}

TEST(FuzzText, TheParserTakesEverything) {
  TextFuzzOptions options;
  options.count = 400;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(TWILL_ROOT) / "examples"))
    if (entry.path().extension() == ".twill") options.seeds.push_back(read_file(entry.path()));
  ASSERT_FALSE(options.seeds.empty());
  std::ranges::sort(options.seeds);
  for (const TextFuzzFailure& failure : fuzz_text(options))
    ADD_FAILURE() << "seed " << failure.seed << ": " << failure.what << "\n" << failure.text;
}
