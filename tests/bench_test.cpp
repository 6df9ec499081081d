// The benchmark as a program: what it prints and what it believes. Never how fast anything is.
#include "bench/bench.h"
#include "base/error.h"
#include "bench/arrays.h"
#include "bench/case.h"
#include "bench/contest.h"
#include "bench/fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <omp.h>
#include <chrono>
#include <filesystem>
#include <sstream>
#include <thread>

namespace twill::bench {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TEST(Fit, FindsTheModelThatMadeTheTimes) {
  TimeModel right{{{1e6, 0.01, 0.02}, {.read_ns = 0.1, .write_ns = 0.3}}, 0.004, 0.6, 900};
  std::vector<FitSample> samples;
  for (int k = 1; k <= 30; ++k) {
    FitSample sample{"", 0, {}};
    // Each of them matters about as much as the others.
    for (const double coefficient : right.coefficients())
      sample.counts.push_back(((k + 3) * static_cast<int>(sample.counts.size() + 1) * 7919) % 1000 /
                              coefficient);
    sample.ns = predicted(sample, right);
    samples.push_back(sample);
  }
  TimeModel start = right;
  for (double& coefficient : start.coefficients()) coefficient *= 1.3;
  TimeModel found = least_squares(samples, start);
  const auto are = found.coefficients(), should_be = right.coefficients();
  for (std::size_t c = 0; c + 1 < are.size(); ++c) EXPECT_NEAR(are[c] / should_be[c], 1, 0.05) << c;
  // What no sample says anything about stays as it is.
  for (FitSample& sample : samples) sample.counts[0] = 0;
  EXPECT_EQ(least_squares(samples, start).layers[0].read_ns, start.layers[0].read_ns);
}

TEST(Fit, OfABusyMachineIsNotKept) {
  TimeModel model;
  FitSample sample{"", 0, std::vector<double>(model.coefficients().size(), 1)};
  sample.ns = predicted(sample, model);
  Fit fit{model, model, {sample, sample}};
  EXPECT_EQ(why_not_kept(fit), "");
  fit.samples.back().ns *= 5;  // the model says a fifth of it
  EXPECT_EQ(why_not_kept(fit), "");
  fit.samples.front().ns *= 5;
  EXPECT_EQ(why_not_kept(fit), "it is wrong by 80 % in the mean, more than 40 %");
}

TEST(Fit, MeasuresEveryCoefficient) {
  const Fit fit = fit_time_model(detect_machine(), {.patience = 0, .small = true});
  std::vector<double> seen(fit.samples.front().counts.size());
  for (const FitSample& sample : fit.samples) {
    EXPECT_GT(sample.ns, 0) << sample.name;
    EXPECT_GT(predicted(sample, fit.fitted), 0) << sample.name;
    for (std::size_t c = 0; c < seen.size(); ++c) seen[c] += sample.counts[c];
  }
  // Small arrays are all in the caches.
  for (const std::size_t c : {0, 1, 4, 5, 6}) EXPECT_GT(seen[c], 0) << c;
  EXPECT_THAT(to_string(fit), HasSubstr("wrong by, in the mean"));
}

BenchOptions small_options() {
  BenchOptions options;
  options.small = true;
  options.installed = false;  // the same tests everywhere
  options.twill = TWILL_BINARY;
  return options;
}

/// The rows of suites on small arrays.
std::vector<json> rows_of(std::vector<std::string> suites, const std::string& only = {}) {
  BenchOptions options = small_options();
  options.suites = std::move(suites);
  options.only = only;
  options.json = true;
  std::ostringstream out;
  run_bench(options, out);
  std::vector<json> rows;
  std::istringstream lines(out.str());
  for (std::string line; std::getline(lines, line);) rows.push_back(json::parse(line));
  return rows;
}

/// A sum of ten numbers with a peer, to be spoilt by tests.
Case sum_case() {
  Case c;
  c.name = "sum";
  c.size = "10";
  c.program = program_from("total", "def total(x: f32[N]) -> s { s = sum(i) x[i] }");
  c.inputs.push_back(uniform({10}, 1));
  c.work = {10, 40, 4};
  c.tolerance = likely_error(Scalar::F32, 10);
  c.reference_name = "a loop";
  c.reference = [](std::span<const Data> in, std::vector<Data>& out) {
    double sum = 0;
    for (const float x : in[0].as<float>()) sum += x;
    out[0].as<float>()[0] = static_cast<float>(sum);
  };
  c.peers.push_back({"hand", c.reference, {}, false});
  return c;
}

Row measure_sum(Case c) {
  BenchOptions options;
  options.seconds = 0;
  Session session(options, detect_machine());
  return measure_case(session, std::move(c));
}

TEST(Bench, EveryCaseOfEverySuiteIsVerified) {
  for (const SuiteInfo& suite : bench_suites()) {
    if (suite.name == "compile") continue;
    const std::vector<json> rows = rows_of({suite.name});
    EXPECT_GE(rows.size(), 10u) << suite.name;
    for (const json& row : rows) EXPECT_TRUE(row.at("verified").get<bool>()) << row.dump(2);
  }
}

TEST(Bench, SmallCasesHaveTheirOwnSizesAndAreNotHeldToTheFloor) {
  const auto sizes = [](const std::string& name) {
    std::vector<std::string> list;
    for (const json& row : rows_of({"linalg"}, name)) {
      EXPECT_FALSE(row.at("held_to_floor").get<bool>()) << row.dump(2);
      list.push_back(row.at("size"));
    }
    return list;
  };
  EXPECT_EQ(sizes("dot"), (std::vector<std::string>{"24", "24", "576"}));
  EXPECT_EQ(sizes("scan"), (std::vector<std::string>{"24", "24", "24"}));
  EXPECT_EQ(sizes("histogram"), (std::vector<std::string>{"24 u8"}));
  BenchOptions options = small_options();
  options.suites = {"stencil"};
  options.only = "jacobi";
  std::ostringstream out;
  EXPECT_EQ(run_bench(options, out), 0);
  EXPECT_THAT(out.str(), HasSubstr("jacobi1d"));
  EXPECT_THAT(out.str(), testing::Not(HasSubstr("*")));
}

TEST(Bench, CompileSuite) {
  std::vector<std::string> names;
  for (const json& row : rows_of({"compile"})) {
    names.push_back(row.at("name"));
    if (names.back() == "cached twill run" && !std::filesystem::exists(TWILL_BINARY)) continue;
    EXPECT_TRUE(row.at("verified").get<bool>()) << row.dump(2);
    EXPECT_GT(row.at("limit_ms").get<double>(), 0);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"fuse a chain", "fuse a chain", "fuse a chain", "first compile",
                                             "cached compile", "cached twill run"}));
}

TEST(Bench, ChainsSayTheTimePerStage) {
  for (const json& row : rows_of({"compile"}, "chain")) {
    ASSERT_EQ(row.at("notes").size(), 1u) << row.dump(2);
    EXPECT_THAT(row.at("notes")[0].get<std::string>(), testing::EndsWith(" us per stage"));
  }
}

TEST(Bench, CollectionsRaceByHandAndUnfusedOnOneThreadAndOnAll) {
  const std::vector<json> rows = rows_of({"collections"});
  ASSERT_EQ(rows.size() % 2, 0u);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    SCOPED_TRACE(rows[r].dump(2));
    EXPECT_TRUE(rows[r].at("peers").contains("hand"));
    EXPECT_TRUE(rows[r].at("peers").contains("unfused"));
    EXPECT_EQ(rows[r].at("threads"), r % 2 == 0 ? 1 : omp_get_max_threads());
    EXPECT_EQ(rows[r].at("name"), rows[r / 2 * 2].at("name"));
    EXPECT_TRUE(rows[r].at("notes").empty());
  }
}

TEST(Bench, PipelinesRaceUnfusedOnOneThreadAndOnAll) {
  const std::vector<json> rows = rows_of({"pipelines"});
  ASSERT_EQ(rows.size() % 2, 0u);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    SCOPED_TRACE(rows[r].dump(2));
    EXPECT_TRUE(rows[r].at("peers").contains("none"));
    EXPECT_EQ(rows[r].at("threads"), r % 2 == 0 ? 1 : omp_get_max_threads());
    EXPECT_EQ(rows[r].at("name"), rows[r / 2 * 2].at("name"));
    for (const json& note : rows[r].at("notes"))
      EXPECT_THAT(note.get<std::string>(), testing::StartsWith("planned in "));
  }
  for (const std::string name : {"blur", "unsharp", "harris"})
    for (const json& row : rows_of({"pipelines"}, name)) EXPECT_TRUE(row.at("peers").contains("hand")) << row;
  EXPECT_THAT(rows_of({"pipelines"}, "unsharp").front().at("notes").at(0).get<std::string>(),
              testing::EndsWith("published: 0.05 s"));
}

TEST(Bench, OfVariantsTheFastestCounts) {
  Case c = sum_case();
  const Action right = c.peers[0].run;
  const Action slow = [right](std::span<const Data> in, std::vector<Data>& out) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    right(in, out);
  };
  c.peers = {{"other", slow, {}, false, "careful"},
             {"other", right, {}, false, "plain"},
             {"other", [](std::span<const Data>, std::vector<Data>&) {}, {}, false, "lazy"},
             {"other", {}, "it found nothing", false, "clever"}};
  const Row row = measure_sum(std::move(c));
  ASSERT_EQ(row.peers.size(), 1u);
  EXPECT_LT(row.peers.at("other").best, 1);
  ASSERT_EQ(row.notes.size(), 3u);
  EXPECT_EQ(row.notes[0], "other (clever): it found nothing");
  EXPECT_EQ(row.notes[1], "other (lazy): its result is wrong by inf");
  EXPECT_THAT(row.notes[2], testing::MatchesRegex("other: plain is the fastest; careful [0-9.]+x"));
}

TEST(Bench, TheNumberOfThreadsIsThatOfTheCase) {
  const int before = omp_get_max_threads();
  Case c = sum_case();
  int seen = 0;
  c.threads = before + 1;
  c.peers.push_back({"counting",
                     [&](std::span<const Data>, std::vector<Data>& out) {
                       seen = omp_get_max_threads();
                       poison(out);
                     },
                     {},
                     false});
  const Row row = measure_sum(std::move(c));
  EXPECT_EQ(row.threads, before + 1);
  EXPECT_EQ(seen, before + 1);
  EXPECT_EQ(omp_get_max_threads(), before);
  EXPECT_FALSE(row.floor_ms.has_value());
}

TEST(Bench, AnUnfusedProgramIsAPeer) {
  Case c = sum_case();
  c.program = program_from("total", "def total(x: f32[N]) -> s { y[i] = 2 * x[i]; s = sum(i) 0.5 * y[i] }");
  c.ways = {unfused()};
  const Row row = measure_sum(std::move(c));
  EXPECT_TRUE(row.verified);
  EXPECT_TRUE(row.peers.contains("unfused"));
  EXPECT_TRUE(row.notes.empty());
}

TEST(Bench, SaysWhyTheCommandFailed) {
  BenchOptions options = small_options();
  options.suites = {"compile"};
  options.only = "cached twill run";
  options.twill = "/bin/false";
  options.json = true;
  std::ostringstream out;
  EXPECT_EQ(run_bench(options, out), 1);
  EXPECT_EQ(json::parse(out.str()).at("notes"),
            json::array({"failed[E0732]: `/bin/false run` failed with status 1"}));
}

TEST(Bench, JsonHasTheFieldsOfTheContract) {
  const std::vector<json> rows = rows_of({"linalg"}, "triad");
  ASSERT_EQ(rows.size(), 1u);
  const json& row = rows[0];
  EXPECT_EQ(row.at("suite"), "linalg");
  EXPECT_EQ(row.at("name"), "triad");
  EXPECT_EQ(row.at("target"), "openmp");
  EXPECT_TRUE(row.at("size").is_string());
  EXPECT_TRUE(row.at("ours_ms").is_number());
  EXPECT_TRUE(row.at("floor_ms").is_number());
  EXPECT_TRUE(row.at("max_error").is_number());
  EXPECT_GT(row.at("tolerance").get<double>(), 0);
  EXPECT_TRUE(row.at("compile_ms").is_number());
  EXPECT_GE(row.at("threads").get<int>(), 1);
  EXPECT_EQ(row.at("reference"), "interpreter");
  EXPECT_TRUE(row.at("peers").at("gcc").is_number());
  EXPECT_TRUE(row.at("peers").at("hand").is_number());
}

TEST(Bench, ARightResultIsVerified) {
  const Row row = measure_sum(sum_case());
  EXPECT_TRUE(row.verified);
  EXPECT_LE(row.max_error, row.tolerance);
  EXPECT_EQ(row.reference, "a loop");
  EXPECT_TRUE(row.peers.contains("hand"));
  EXPECT_TRUE(row.notes.empty());
}

TEST(Bench, AWrongResultIsNotVerified) {
  Case c = sum_case();
  c.program = program_from("total", "def total(x: f32[N]) -> s { s = sum(i) x[i] * 1.001 }");
  Row row = measure_sum(std::move(c));
  row.suite = "test";
  EXPECT_FALSE(row.verified);
  EXPECT_GT(row.max_error, row.tolerance);
  const json printed = json::parse(to_json(row));
  EXPECT_EQ(printed.at("verified"), false);
  std::ostringstream out;
  Table table(out);
  table.add(row);
  table.finish();
  EXPECT_THAT(out.str(), HasSubstr("WRONG: error "));
  EXPECT_THAT(out.str(), HasSubstr("\n1 results are wrong or missing\n"));
}

TEST(Bench, AResultThatWasNotWrittenIsNotVerified) {
  Case c = sum_case();
  c.peers[0].run = [](std::span<const Data>, std::vector<Data>&) {};
  const Row row = measure_sum(std::move(c));
  EXPECT_TRUE(row.verified);
  EXPECT_TRUE(row.peers.empty());
  ASSERT_EQ(row.notes.size(), 1u);
  EXPECT_EQ(row.notes[0], "hand: its result is wrong by inf");
}

TEST(Bench, AMissingPeerSaysHowToGetIt) {
  Case c = sum_case();
  c.peers.push_back(
      {"openblas", {}, "OpenBLAS is not installed (Debian: apt-get install libopenblas0-openmp)", false});
  const Row row = measure_sum(std::move(c));
  EXPECT_TRUE(row.verified);
  ASSERT_EQ(row.notes.size(), 1u);
  EXPECT_EQ(row.notes[0],
            "openblas: OpenBLAS is not installed (Debian: apt-get install libopenblas0-openmp)");
}

TEST(Bench, UnknownSuite) {
  BenchOptions options = small_options();
  options.suites = {"linalg", "lingalg"};
  std::ostringstream out;
  try {
    run_bench(options, out);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "error[E0730]: there is no suite 'lingalg'\n  help: the suites are linalg, stencil, "
                 "pipelines, polybench, collections, "
                 "combinators, compile\n");
  }
}

TEST(Bench, Summary) {
  const Timing timing = summarize({5, 1, 2, 4, 3});
  EXPECT_EQ(timing.best, 1);
  EXPECT_EQ(timing.median, 3);
  EXPECT_DOUBLE_EQ(timing.spread, 2.0 / 3);
  EXPECT_EQ(timing.samples, 5);
}

TEST(Bench, ContendersTakeTurns) {
  std::string order;
  const std::vector<Contender> contenders = {{"a", [&] { order += 'a'; }, false},
                                             {"b", [&] { order += 'b'; }, true}};
  const std::vector<Timing> timings = contest(contenders, 0);
  ASSERT_EQ(timings.size(), 2u);
  EXPECT_EQ(timings[0].samples, timings[1].samples);
  EXPECT_THAT(order, HasSubstr("ab"));
  EXPECT_THAT(order, HasSubstr("ba"));
}

TEST(Bench, PicturesAreWrongByAPartOfTheirRange) {
  Data deep = random_integers(Scalar::U16, {2}, 1, 7, 8), flat = random_integers(Scalar::U8, {2}, 1, 7, 8);
  const std::vector<Data> reference = {deep, flat};
  EXPECT_EQ(worst_error({deep, flat}, reference), 0);
  deep.as<std::uint16_t>()[1] += 13;
  EXPECT_DOUBLE_EQ(worst_error({deep, flat}, reference), 13.0 / 65535);
  flat.as<std::uint8_t>()[0] -= 2;
  EXPECT_DOUBLE_EQ(worst_error({deep, flat}, reference), 2.0 / 255);
}

TEST(Bench, PoisonReachesEveryByte) {
  std::vector<Data> results;
  results.push_back(uniform({3}, 1));
  results.push_back(random_bytes({3}, 1));
  poison(results);
  for (const float x : results[0].as<float>()) EXPECT_NE(x, x);
  for (const std::uint8_t x : results[1].as<std::uint8_t>()) EXPECT_EQ(x, 255);
}

}  // namespace
}  // namespace twill::bench
