// The machine model: layers, JSON, floors, detection, and rates that are measured once.
#include "machine/machine.h"
#include "base/error.h"
#include "base/files.h"
#include "machine/cpu.h"
#include "machine/plausible.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace twill {
namespace {

namespace fs = std::filesystem;

std::string message_of(const std::string& json) {
  try {
    machine_from_json(json, "m.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

/// A GPU as a user would write it down.
const char* gpu = R"({
  "name": "GPU",
  "memory": [
    {"name": "device", "bytes": 150000000000, "line_bytes": 128},
    {"name": "L2", "bytes": 52428800, "automatic": true, "line_bytes": 128},
    {"name": "shared", "bytes": 233472, "instances": 132},
    {"name": "registers", "bytes": 262144, "instances": 132}
  ],
  "cores": [{"kind": "block", "count": 132}, {"kind": "warp", "count": 64}, {"kind": "thread", "count": 32}],
  "rates": {"copy_gbs": 4250, "f32_gflops": 51000}
})";

TEST(Machine, DescribesAGpu) {
  const Machine machine = machine_from_json(gpu, "gpu.json");
  EXPECT_EQ(machine.count(CoreKind::Block), 132);
  EXPECT_EQ(machine.count(CoreKind::Thread), 132 * 64 * 32);
  EXPECT_EQ(machine.count(CoreKind::Node), 1);
  EXPECT_EQ(machine.lanes(4), 1);
  EXPECT_EQ(machine.cores[1].name, "warp");
  ASSERT_NE(machine.find_memory("shared"), nullptr);
  EXPECT_EQ(machine.find_memory("shared")->bytes, 233472);
  EXPECT_EQ(machine.find_memory("L1"), nullptr);
  EXPECT_EQ(machine.last_level_cache()->name, "L2");
}

TEST(Machine, DescribesACluster) {
  const Machine machine = machine_from_json(R"({
    "memory": [{"name": "nodes", "bytes": 1000}, {"name": "memory", "bytes": 100, "instances": 4}],
    "cores": [{"kind": "node", "count": 4}, {"kind": "core", "count": 8}, {"kind": "simd", "count": 16}]
  })",
                                            "cluster.json");
  EXPECT_EQ(machine.count(CoreKind::Core), 32);
  EXPECT_EQ(machine.lanes(8), 8);
  EXPECT_EQ(machine.lanes(1), 64);
}

TEST(Machine, FloorIsTheLargestOfThree) {
  Machine machine;
  machine.rates = {.read_gbs = 30, .copy_gbs = 46, .f32_gflops = 363, .f64_gflops = 181.5};
  EXPECT_DOUBLE_EQ(machine.floor_ms(363e6, 0, 0), 1.0);
  EXPECT_DOUBLE_EQ(machine.floor_ms(363e6, 0, 0, 8), 2.0);
  EXPECT_DOUBLE_EQ(machine.floor_ms(1, 30e6, 0), 1.0);
  EXPECT_DOUBLE_EQ(machine.floor_ms(1, 23e6, 23e6), 1.0);
  EXPECT_DOUBLE_EQ(Machine{}.floor_ms(1, 1, 1), 0.0);
}

TEST(Machine, JsonRoundTrips) {
  for (const Machine& machine : {machine_from_json(gpu, "gpu.json"), detect_machine()})
    EXPECT_EQ(machine_from_json(to_json(machine), "again.json"), machine);
}

TEST(Machine, TheExampleInTheDocumentsIsRight) {
  const std::string text = read_file(fs::path(TWILL_ROOT) / "docs/files.md");
  const std::size_t begin = text.find("```json\n") + 8;
  const Machine machine =
      machine_from_json(text.substr(begin, text.find("```", begin) - begin), "docs/files.md");
  EXPECT_EQ(machine.count(CoreKind::Warp), 132 * 64);
}

TEST(Machine, AFittedModelIsKeptAndUsed) {
  Machine machine = machine_from_json(gpu, "gpu.json");
  EXPECT_EQ(time_model_of(machine).operation_ns, 1.0 / 51000);
  machine.fitted = TimeModel{{{1e6, 0.1, 0.2}, {.read_ns = 0.3, .write_ns = 0.4}}, 0.5, 50, 6};
  const Machine kept = machine_from_json(to_json(machine), "kept.json");
  EXPECT_EQ(kept, machine);
  EXPECT_EQ(time_model_of(kept), *machine.fitted);
  EXPECT_DOUBLE_EQ(time_model_of(kept).write_time(1e6, true), 0.2 * 1e6 + 6);
  EXPECT_DOUBLE_EQ(time_model_of(kept).read_time(2e6, true), 0.3 * 2e6);
}

TEST(Machine, JsonErrors) {
  EXPECT_EQ(message_of("{"), "error[E0620]: machine file 'm.json': this is not JSON\n");
  EXPECT_EQ(message_of("[]"), "error[E0620]: machine file 'm.json': the machine is not an object\n");
  EXPECT_EQ(message_of("{}"), "error[E0620]: machine file 'm.json': 'memory' must be a list of layers\n");
  EXPECT_EQ(message_of(R"({"memory": [{"name": "m"}]})"),
            "error[E0620]: machine file 'm.json': 'bytes' in memory layer 0 must be given\n");
  EXPECT_EQ(message_of(R"({"memory": [{"name": "m", "bytes": -1}]})"),
            "error[E0620]: machine file 'm.json': 'bytes' in memory layer 0 must be a positive integer\n");
  EXPECT_EQ(
      message_of(R"({"memory": [{"name": "m", "bytes": 1, "instances": 3000000000}]})"),
      "error[E0620]: machine file 'm.json': 'instances' in memory layer 0 must be a positive integer\n");
  EXPECT_EQ(message_of(R"({"memory": [{"name": "m", "bytes": 1, "lines": 64}]})"),
            "error[E0620]: machine file 'm.json': unknown key 'lines' in memory layer 0\n");
  EXPECT_EQ(
      message_of(R"({"memory": [{"name": "m", "bytes": 1}], "cores": [{"kind": "cpu"}]})"),
      "error[E0620]: machine file 'm.json': 'kind' in core layer 0 must be node, device, core, block, warp, "
      "thread or simd\n");
  EXPECT_EQ(
      message_of(R"({"memory": [{"name": "m", "bytes": 1}], "cores": [{"kind": "core"}],
                           "rates": {"read_gbs": "fast"}})"),
      "error[E0620]: machine file 'm.json': 'read_gbs' in 'rates' must be a number that is not negative\n");
  EXPECT_EQ(
      message_of(R"({"memory": [{"name": "m", "bytes": 1}], "cores": [{"kind": "core"}],
                           "fitted": {"layers": [{"bytes": 100, "read_ns": 1, "write_ns": 2}]}})"),
      "error[E0620]: machine file 'm.json': the last of the layers in 'fitted' holds everything: it has no "
      "'bytes'\n");
}

TEST(Machine, DetectsThisOne) {
  const Machine machine = detect_machine();
  EXPECT_EQ(machine.memory.front().name, "memory");
  EXPECT_GT(machine.memory.front().bytes, 100'000'000);
  EXPECT_EQ(machine.memory.back().name, "registers");
  EXPECT_GE(machine.count(CoreKind::Core), 1);
  EXPECT_LE(machine.count(CoreKind::Core), identify_cpu().cpus);
  EXPECT_GE(machine.lanes(4), 4);
  for (std::size_t k = 1; k < machine.memory.size(); ++k)
    EXPECT_LT(machine.memory[k].bytes, machine.memory[k - 1].bytes) << machine.memory[k].name;
}

TEST(Machine, IdentityIsStable) {
  const Cpu a = identify_cpu(), b = identify_cpu();
  EXPECT_FALSE(a.model.empty());
  EXPECT_EQ(a.model, b.model);
  EXPECT_EQ(a.features, b.features);
}

class Kept : public testing::Test {
 protected:
  void SetUp() override {
    directory = fs::path(testing::TempDir()) / ("twill-machine-" + std::to_string(getpid()));
  }
  void TearDown() override {
    std::error_code ignored;
    fs::remove_all(directory, ignored);
  }

  KnownMachine ask(Measure when = Measure::IfMissing) {
    return this_machine(directory, when, {.progress = {}, .patience = 0});
  }

  fs::path directory;
};

TEST_F(Kept, IsMeasuredOnce) {
  std::vector<std::string> steps;
  const Progress progress = [&](std::string_view step, int done, int total) {
    if (done == 0) steps.clear();  // once more, because the rates are implausible
    EXPECT_EQ(done, static_cast<int>(steps.size()));
    EXPECT_LT(done, total);
    steps.emplace_back(step);
  };
  const KnownMachine first =
      this_machine(directory, Measure::IfMissing, {.progress = progress, .patience = 0});
  EXPECT_TRUE(first.measured);
  EXPECT_EQ(first.warning, "");
  EXPECT_THAT(steps, testing::IsSupersetOf(
                         {"read, all cores", "copy, one core", "multiply-add f64, all cores", "launch"}));
  const Rates& rates = first.machine.rates;
  for (double rate :
       {rates.read_gbs, rates.copy_gbs, rates.triad_gbs, rates.f32_gflops, rates.f64_gflops,
        first.machine.single.read_gbs, first.machine.single.f64_gflops, first.machine.launch_us})
    EXPECT_GT(rate, 0);

  const KnownMachine second = ask();
  EXPECT_FALSE(second.measured);
  EXPECT_EQ(second.machine, first.machine);
  EXPECT_EQ(second.file, first.file);

  EXPECT_EQ(ask(Measure::Never).machine, first.machine);

  // A damaged file is measured again and replaced.
  write_file(first.file, read_file(first.file).substr(0, 100));
  EXPECT_TRUE(ask().measured);
  EXPECT_FALSE(ask().measured);
}

TEST_F(Kept, LayersAreKeptWithoutRates) {
  const KnownMachine first = ask(Measure::Never);
  EXPECT_FALSE(first.measured);
  EXPECT_EQ(first.machine, detect_machine());
  EXPECT_EQ(machine_from_json(read_file(first.file), "kept"), first.machine);
  // What is kept counts, so that it is not detected at every start.
  Machine changed = first.machine;
  changed.launch_us = 123;
  write_file(first.file, to_json(changed));
  EXPECT_EQ(ask(Measure::Never).machine, changed);
  // Rates that are missing are measured when somebody asks for them.
  const KnownMachine second = ask();
  EXPECT_TRUE(second.measured);
  EXPECT_GT(second.machine.rates.read_gbs, 0);
  EXPECT_EQ(ask(Measure::Never).machine, second.machine);
}

TEST_F(Kept, WarnsWhenItCannotBeKept) {
  directory = "/dev/null/twill";
  const KnownMachine known = ask(Measure::Never);
  EXPECT_EQ(known.machine, detect_machine());
  EXPECT_EQ(known.warning, "cannot write '" + known.file.string() + "': Not a directory");
}

/// A machine whose rates are in order.
Machine measured_machine() {
  Machine machine;
  machine.memory = {{.name = "memory", .bytes = 1 << 30},
                    {.name = "L2", .bytes = 1 << 20, .automatic = true, .read_gbs = 60},
                    {.name = "L1", .bytes = 1 << 15, .automatic = true, .read_gbs = 200},
                    {.name = "registers", .bytes = 2048}};
  machine.rates = {.read_gbs = 30, .copy_gbs = 28, .triad_gbs = 26, .f32_gflops = 300, .f64_gflops = 150};
  machine.single = {.read_gbs = 15, .copy_gbs = 14, .triad_gbs = 13, .f32_gflops = 160, .f64_gflops = 80};
  machine.launch_us = 2;
  return machine;
}

TEST(Plausible, RatesThatAreInOrderOrUnknown) {
  EXPECT_THAT(implausible(measured_machine()), testing::IsEmpty());
  EXPECT_THAT(implausible(machine_from_json(gpu, "gpu.json")), testing::IsEmpty());
  EXPECT_THAT(implausible(Machine{}), testing::IsEmpty());
  Machine noisy = measured_machine();
  noisy.single.copy_gbs = 30;
  noisy.memory[2].read_gbs = 57;
  EXPECT_THAT(implausible(noisy), testing::IsEmpty());
}

TEST(Plausible, AllCoresAreNotSlowerThanOneNorInnerLayersThanOuterOnes) {
  Machine machine = measured_machine();
  machine.rates.copy_gbs = 7;
  machine.single.f64_gflops = 200;
  machine.memory[1].read_gbs = 20;
  machine.memory[2].read_gbs = 25.5;
  EXPECT_THAT(implausible(machine),
              testing::ElementsAre("copy: 7.0 GB/s with all cores, 14.0 with one",
                                   "multiply-add f64: 150.0 GFLOP/s with all cores, 200.0 with one",
                                   "read: 20.0 GB/s from L2, 30.0 from memory",
                                   "read: 25.5 GB/s from L1, 30.0 from memory"));
}

TEST(Plausible, MeasuresAgainAndKeepsTheBest) {
  int times = 0;
  Machine machine;
  measure_plausibly(machine, {}, [&](Machine& m, const MeasureOptions&) {
    m = measured_machine();
    if (++times == 1) m.memory[1].read_gbs = 20, m.rates.triad_gbs = 27, m.launch_us = 1;
  });
  EXPECT_EQ(times, 2);
  Machine best = measured_machine();
  best.rates.triad_gbs = 27;
  best.launch_us = 1;
  EXPECT_EQ(machine, best);
}

TEST(Plausible, GivesUpAfterThreeTimes) {
  int times = 0;
  Machine machine;
  measure_plausibly(machine, {}, [&](Machine& m, const MeasureOptions&) {
    ++times;
    m = measured_machine();
    m.rates.read_gbs = 1;
  });
  EXPECT_EQ(times, 3);
  EXPECT_THAT(implausible(machine), testing::ElementsAre("read: 1.0 GB/s with all cores, 15.0 with one"));
}

TEST(Machine, SaysThatThereIsNoMemoryToMeasureWith) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer ends the program instead of letting the allocation fail";
#endif
  Machine machine = machine_from_json(R"({
    "memory": [{"name": "memory", "bytes": 4611686018427387904}, {"name": "L2", "bytes": 1152921504606846976, "automatic": true}],
    "cores": [{"kind": "core", "count": 1}]
  })",
                                      "huge.json");
  try {
    measure(machine);
    FAIL() << "it was measured";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "failed[E0621]: not enough memory to measure the machine\n");
  }
}

TEST(Machine, PrintsForPeople) {
  const std::string text = to_string(machine_from_json(gpu, "gpu.json"));
  EXPECT_THAT(text, testing::HasSubstr("shared         228 KiB         132"));
  EXPECT_THAT(text,
              testing::HasSubstr("copy, streaming stores                   4250.0 GB/s         unknown"));
}

}  // namespace
}  // namespace twill
