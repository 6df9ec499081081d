// `twill build`: foreign programs in C and C++ that know nothing of Twill use what it makes.
#include "command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace twill {
namespace {

using testing::HasSubstr;

constexpr const char* program = R"(type Pair = { key: i32, weight: f64 }
def analyse(x: f32[N], p: Pair[M], shift: f32 = 1.0) -> (moved, big, heaviest) {
  moved[i] = x[i] + shift
  big      = [ v | v in x, v > 10 ]
  heaviest = max(j) p[j].weight
}
def pick(x: f64[N], p: i64[M]) -> y { y[j] = x[p[j]] }
)";

constexpr const char* c_main = R"(#include "analyse.h"
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  const float x[4] = {1, 20, 3, 40};
  const Pair p[2] = {{1, 0.5}, {2, 2.5}};
  float moved[4], *big = NULL;
  int64_t shape[1];
  double heaviest;
  int32_t code = analyse(NULL, x, p, 0.5f, 4, 2, moved, &big, shape, &heaviest);
  printf("%s: %g %g %g %g, %d big: %g %g, %g\n", analyse_error(code), moved[0], moved[1], moved[2], moved[3],
         (int)shape[0], big[0], big[1], heaviest);
  free(big);
  return code;
}
)";

constexpr const char* cpp_main = R"(#include "pick.h"
#include <cstdio>
#include <cstdlib>
#include <vector>

static int taken = 0, given = 0;
static void *take(void *, size_t bytes) { ++taken; return std::aligned_alloc(64, (bytes + 63) / 64 * 64); }
static void give(void *, void *memory) { ++given; std::free(memory); }

int main() {
  const std::vector<double> x = {1.5, 2.5, 3.5};
  std::vector<int64_t> p = {2, 0};
  std::vector<double> y(2);
  const twill_host host = {nullptr, take, give, nullptr};
  int32_t code = pick(&host, x.data(), p.data(), 3, 2, y.data());
  std::printf("%s: %g %g, %d\n", pick_error(code), y[0], y[1], taken - given);
  p[1] = 3;
  code = pick(nullptr, x.data(), p.data(), 3, 2, y.data());
  std::printf("%s\n", pick_error(code));
}
)";

class Build : public testing::Test {
 protected:
  /// Runs a shell line that must succeed, and returns what it printed.
  std::string shell(const std::string& line) {
    const ExitReport report = line_.shell(line);
    EXPECT_EQ(report.status, 0) << line << "\n" << report.output;
    return report.output;
  }

  CommandLine line_;
  std::string file_ = line_.file("program.twill", program);
};

TEST_F(Build, AForeignCProgramUsesIt) {
  EXPECT_EQ(shell("build/twill build program.twill --def analyse -o out/deep"),
            "out/deep/analyse.c\nout/deep/analyse.h\nout/deep/libanalyse.a\n");
  line_.file("main.c", c_main);
  shell("cc -std=c11 -Wall -Wextra -Werror main.c -Iout/deep -Lout/deep -lanalyse -lm -fopenmp -o main");
  EXPECT_EQ(shell("./main"), "no error: 1.5 20.5 3.5 40.5, 2 big: 20 40, 2.5\n");
}

TEST_F(Build, AForeignCppProgramUsesItAndSeesErrors) {
  shell("build/twill build program.twill --def pick -o out --strict --arch x86-64");
  line_.file("main.cpp", cpp_main);
  shell("c++ -std=c++17 -Wall -Wextra -Werror main.cpp -Iout -Lout -lpick -lm -fopenmp -o main");
  const std::string output = shell("./main");
  EXPECT_THAT(output, testing::StartsWith("no error: 3.5 1.5, 0\n"));
  EXPECT_THAT(output, HasSubstr("stage 'y'"));
}

TEST_F(Build, TheSourceAloneIsEnough) {
  shell("build/twill build program.twill --def analyse -o out");
  line_.file("main.c", c_main);
  shell("cc -std=c11 main.c out/analyse.c -Iout -lm -o main");  // without OpenMP
  EXPECT_EQ(shell("./main"), "no error: 1.5 20.5 3.5 40.5, 2 big: 20 40, 2.5\n");
}

TEST_F(Build, LeavesNothingBehindWhenItFails) {
  const ExitReport report =
      line_.shell("CC=/nowhere/cc build/twill build program.twill --def pick -o new/place");
  EXPECT_EQ(report.status, 1);
  EXPECT_EQ(report.output,
            "failed[E0610]: the C compiler '/nowhere/cc' named by $CC was not found\n"
            "  help: install it, or name another one in $CC\n");
  EXPECT_FALSE(std::filesystem::exists(line_.path("new")));
  EXPECT_EQ(line_.shell("CC=false build/twill build program.twill --def pick -o .").status, 1);
  EXPECT_FALSE(std::filesystem::exists(line_.path("pick.c")));
  EXPECT_FALSE(std::filesystem::exists(line_.path("pick.h")));
}

TEST_F(Build, NeedsADirectory) {
  const ExitReport none = line_.shell("build/twill build program.twill");
  EXPECT_EQ(none.status, 2);
  EXPECT_EQ(none.output,
            "error[E0703]: --output is required\n  help: `twill build --help` shows how it is called\n");
  const ExitReport taken = line_.shell("build/twill build program.twill -o program.twill");
  EXPECT_EQ(taken.status, 1);
  EXPECT_THAT(taken.output, HasSubstr("failed[E0602]: cannot create the directory 'program.twill'"));
}

}  // namespace
}  // namespace twill
