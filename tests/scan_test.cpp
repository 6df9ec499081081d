// Scans from either end, and what shares their loop: passes and buffers, and the interpreter's results for
// any number of parts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "driver/agree.h"
#include "driver/compile.h"
#include "programs.h"

#include <algorithm>

namespace twill {
namespace {

struct ScanCase {
  const char* name;
  int passes, buffers;
  const char* text;
  const char* why = "";  // stages stay apart, by code
};

std::ostream& operator<<(std::ostream& out, const ScanCase& one) { return out << one.name; }

const ScanCase cases[] = {
    {"AScanThenAMapThenAFold", 1, 0,
     "def f(x: i64[N]) -> s { c[i] = scan(+, i) x[i]\n d[i] = c[i] * c[i] % 1000\n s = sum(i) d[i] }"},
    {"AScanFromTheRightThenAMapThenAFold", 1, 0,
     "def f(x: i64[N]) -> s { c[i] = scan_right(+, i) x[i]\n d[i] = c[i] * c[i] % 1000\n s = sum(i) d[i] }"},
    {"AMapThenAScanFromTheRightThenWhatIsKept", 1, 0,
     "def f(x: i64[N]) -> (y, m) { a[i] = x[i] % 100\n c[i] = scan_right(max, i) a[i]\n y[i] = c[i] - a[i]\n"
     " m = max(i) y[i] }"},
    {"AScanOfAScanNeedsAllOfIt", 2, 1,
     "def f(x: i64[N]) -> y { c[i] = scan_right(+, i) x[i]\n y[i] = scan_right(max, i) c[i] % 7 }", "whole"},
    {"AScanFromTheRightBesideASum", 1, 0,
     "def f(x: i64[N]) -> (c, s) { c[i] = scan_right(+, i) x[i]\n s = sum(i) x[i] * x[i] }"},
    {"AScanFromTheRightAndAScatter", 1, 0,
     "def f(x: i64[N]) -> h: i64[10] { c[i] = scan_right(+, i) x[i]\n h = scatter(+) { c[i] % 10 <- x[i] | i "
     "} }"},
    {"AScanOfRowsFromTheRightAndTheirSums", 1, 0,
     "def f(x: i64[N, M]) -> t { c[i, j] = scan_right(+, j) x[i, j]\n s[i] = sum(j) c[i, j] % 9\n"
     " t = sum(i) s[i] * s[i] }"},
    {"SumsOfRowsAreNotComputedTwiceForAScan", 2, 1,
     "def f(x: i64[N, M]) -> (c, t) { s[i] = sum(j) x[i, j]\n c[i] = scan_right(+, i) s[i]\n t[i] = c[i] * 2 "
     "}"},
    {"BothDirectionsAreTwoPasses", 2, 1,
     "def f(x: i64[N]) -> y { c[i] = scan(+, i) x[i]\n y[i] = scan_right(+, i) c[i] }", "direction"},
    {"WhatIsCollectedKeepsItsOrder", 2, 1,
     "def f(x: i64[N]) -> p { c[i] = scan_right(+, i) x[i]\n p = [ v | v in c, v % 2 == 0 ] }", "direction"},
    {"FloatsOfStrictProgramsKeepTheirOrder", 2, 1,
     "strict def f(x: f64[N]) -> s { c[i] = scan_right(max, i) x[i]\n s = sum(i) c[i] }", "direction"},
};

class Scans : public testing::TestWithParam<ScanCase> {};

TEST_P(Scans, ShareTheirLoop) {
  const auto program = program_of(GetParam().text);
  for (const Clusters clusters : {Clusters::Greedy, Clusters::Optimal}) {
    Options options;
    options.clusters = clusters;
    const Compilation whole = compile(program, two_cores(), options);
    EXPECT_EQ(whole.schedule->passes, GetParam().passes);
    EXPECT_EQ(whole.schedule->buffers, GetParam().buffers);
    EXPECT_EQ(std::ranges::find(whole.apart, GetParam().why, &Reason::code) != whole.apart.end(),
              *GetParam().why != 0);
    for (const std::int64_t parts : {1, 3}) {
      Options with_plan = options;
      with_plan.plan = whole.plan;
      for (Cluster& cluster : with_plan.plan->blocks.front().clusters) {
        cluster.grain = 0;
        auto* loop = cluster.loops.empty() ? nullptr : std::get_if<Loop>(&cluster.loops.front());
        if (loop && loop->cut.kind == Cut::Kind::Parts && parts > 0) loop->cut.count = parts;
      }
      const Compilation c = compile(program, two_cores(), with_plan);
      for (const std::int64_t count : {0, 1, 5, 1003}) {
        SCOPED_TRACE(testing::Message() << parts << " parts, " << count << " elements");
        std::vector<Data> inputs;
        const Array& x = (*program)[program->inputs.front().array];
        std::vector<std::int64_t> shape = {count};
        if (x.shape.size() > 1) shape.push_back(13);
        inputs.push_back(random_data(x.type.scalar(), shape, 7));
        EXPECT_EQ(agreement(*program, reference_of(*program, inputs), c.kernel->run(inputs)).difference, "");
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Scans, testing::ValuesIn(cases),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace twill
