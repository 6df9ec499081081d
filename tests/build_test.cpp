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

constexpr const char* shared_types = R"(type P = { key: i32, weight: f64 }
type Q = { p: P, n: i64 }
def keys(x: P[N]) -> s { s = sum(i) x[i].key }
def quotients(x: Q[N], d: i64[N]) -> (c, e) {
  c = [ x[i].n | i < N, x[i].p.key > 0 ]
  e = [ 10 / d[i] | i < N, x[i].n > 0 ]
}
)";

constexpr const char* owner_main = R"(#include "keys.h"
#include "quotients.h"
#include <stdio.h>
#include <stdlib.h>

static void *take(void *self, size_t bytes) { return *(int *)self += 1, aligned_alloc(64, bytes); }

int main(void) {
  const P p[2] = {{1, 0.5}, {2, 2.5}};
  const Q q[2] = {{p[0], 5}, {p[1], 6}};
  int64_t d[2] = {5, 2}, *c, *e, c_shape[1], e_shape[1];
  int64_t sum;
  int taken = 0;
  const twill_host half = {&taken, take, NULL, NULL};
  keys(NULL, p, 2, &sum);
  int32_t code = quotients(&half, q, d, 2, &c, c_shape, &e, e_shape);
  printf("%d, %s: %d %d of %d, %d %d of %d\n", (int)sum, quotients_error(code), (int)c[0], (int)c[1],
         (int)c_shape[0], (int)e[0], (int)e[1], (int)e_shape[0]);
  free(c);
  free(e);
  d[1] = 0;
  code = quotients(NULL, q, d, 2, &c, c_shape, &e, e_shape);
  printf("%s: %d %d, %d %d, %d\n", quotients_error(code), c == NULL, (int)c_shape[0], e == NULL, (int)e_shape[0],
         taken);
  return 0;
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

constexpr const char* replaced = R"(void relax(int n, int steps, double u[n], double sum[1]) {
  double s;
#pragma scop
  for (int t = 0; t < steps; t++)
    for (int i = 1; i < n - 1; i++) u[i] = 0.5 * (u[i - 1] + u[i + 1]);
  s = 0;
  for (int i = 0; i < n; i++) s += u[i];
  sum[0] = s;
#pragma endscop
}
)";

constexpr const char* calls_it = R"(#include "relax.h"
#include <stdio.h>

int main(void) {
  double u[6] = {0, 1, 5, 2, 7, 8}, sum[1] = {-1};
  relax(6, 3, u, sum);
  printf("%g %g %g %g %g %g, %g\n", u[0], u[1], u[2], u[3], u[4], u[5], sum[0]);
  return 0;
}
)";

TEST_F(Build, ALibraryTakesThePlaceOfACFunction) {
  line_.file("relax.c", replaced);
  line_.file("main.c", calls_it);
  EXPECT_EQ(shell("build/twill build relax.c -o out"), "out/relax.c\nout/relax.h\nout/librelax.a\n");
  shell("cc -std=c11 -Wall -Wextra -Werror -Wno-unknown-pragmas -Iout main.c relax.c -o plain");
  shell("cc -std=c11 -Wall -Wextra -Werror -Iout main.c -Lout -lrelax -lm -fopenmp -o main");
  EXPECT_EQ(shell("./main"), shell("./plain"));
  EXPECT_EQ(shell("./main"), "0 1.4375 3.01562 4.65625 6.32812 8, 23.4375\n");
}

TEST_F(Build, HeadersShareTypesAndErrorsLeaveNothingToFree) {
  line_.file("types.twill", shared_types);
  shell(
      "build/twill build types.twill --def keys -o out; build/twill build types.twill --def quotients -o "
      "out");
  line_.file("main.c", owner_main);
  shell("cc -std=c11 -Wall -Wextra -Werror main.c -Iout -Lout -lkeys -lquotients -lm -fopenmp -o main");
  EXPECT_EQ(shell("./main"),
            "3, no error: 5 6 of 2, 2 5 of 2\nstage 'e' divides an integer by zero: 1 0, 1 0, 0\n");
  const std::string header = read_file(line_.path("out/quotients.h"));
  EXPECT_THAT(header, HasSubstr("     c_out: i64[c_len], set to memory that the caller gives to free\n"));
  EXPECT_THAT(
      header,
      HasSubstr("   After an error the results may hold anything, but nothing is left to be freed: memory "
                "that would have been\n   the caller's is null, with extents 0. */\n"));
  EXPECT_THAT(header,
              HasSubstr("   allocate and release belong together: if either is null, memory comes from "
                        "aligned_alloc and goes to free.\n"));
}

TEST_F(Build, TheHeaderSaysWhichEffectsThereAre) {
  line_.file("watch.twill",
             "effect alarm\ndef watch(x: f32[N]) { for i < N { print(\"v\", i, x[i]) where x[i] > 1 }\n"
             "                               for v in x, v < 0 { alarm(v) } }\n");
  shell("build/twill build watch.twill -o out");
  EXPECT_THAT(
      read_file(line_.path("out/watch.h")),
      HasSubstr("   Effects, by the number that host->effect is told; it is given the numbers in them, in "
                "order:\n     0: print(\"v\", i64, f32)\n     1: alarm(f32)\n"));
}

TEST_F(Build, TypesOfOneNameThatDifferAreAnError) {
  line_.file("types.twill", shared_types);
  line_.file("others.twill", "type P = { key: i64 }\ndef other(x: P[N]) -> s { s = sum(i) x[i].key }\n");
  shell("build/twill build types.twill --def keys -o out; build/twill build others.twill -o out");
  line_.file("main.c", "#include \"keys.h\"\n#include \"other.h\"\n");
  const ExitReport report = line_.shell("cc -std=c11 -c main.c -Iout");
  EXPECT_NE(report.status, 0);
  EXPECT_THAT(report.output, HasSubstr("other.h"));
}

TEST_F(Build, TheSourceSaysThatItNeedsC11) {
  shell("build/twill build program.twill --def analyse -o out");
  const ExitReport report = line_.shell("cc -std=c99 -c out/analyse.c -o old.o");
  EXPECT_NE(report.status, 0);
  EXPECT_THAT(report.output, HasSubstr("this needs C11: compile it with -std=c11"));
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

TEST_F(Build, NamesThatMeanSomethingInCAreRefused) {
  line_.file("main.twill", "def main(x: f64[N]) -> y { y[i] = 2 * x[i] }\n");
  const ExitReport report = line_.shell("build/twill build main.twill -o out");
  EXPECT_EQ(report.status, 2);
  EXPECT_EQ(report.output,
            "error[E0712]: the name 'main' means something in C, or in the code around the function\n"
            "  help: rename the definition, or let its name begin with something: --prefix my_ makes it "
            "'my_main'\n");
  EXPECT_EQ(shell("build/twill build main.twill -o out --prefix my_"),
            "out/my_main.c\nout/my_main.h\nout/libmy_main.a\n");
}

TEST_F(Build, FunctionsOfTheCLibraryAreNotHidden) {
  line_.file("link.twill", "def link(x: f64[N]) -> y { y[i] = 2 * x[i] }\n");
  const ExitReport report = line_.shell("build/twill build link.twill -o out");
  EXPECT_EQ(report.status, 2);
  EXPECT_EQ(report.output,
            "error[E0712]: the function 'link' would hide one of the C library\n"
            "  help: rename the definition, or let its name begin with something: --prefix my_ makes it "
            "'my_link'\n");
  EXPECT_FALSE(std::filesystem::exists(line_.path("out")));

  EXPECT_EQ(shell("build/twill build link.twill -o out --prefix my_"),
            "out/my_link.c\nout/my_link.h\nout/libmy_link.a\n");
  line_.file("main.c", R"(#include "my_link.h"
#include <stdio.h>
#include <unistd.h>
int main(void) {
  const double x[2] = {1, 2};
  double y[2];
  const int32_t code = my_link(NULL, x, 2, y);
  printf("%s: %g %g, %d\n", my_link_error(code), y[0], y[1], link("main.c", "other.c"));
}
)");
  shell("cc -std=gnu11 -Wall -Werror main.c -Iout -Lout -lmy_link -lm -fopenmp -o main");
  EXPECT_EQ(shell("./main"), "no error: 2 4, 0\n");
  EXPECT_TRUE(std::filesystem::exists(line_.path("other.c")));
}

TEST_F(Build, APrefixIsPartOfACName) {
  const ExitReport report = line_.shell("build/twill build program.twill --def pick -o out --prefix my-");
  EXPECT_EQ(report.status, 2);
  EXPECT_EQ(report.output,
            "error[E0703]: --prefix: 'my-' cannot begin the name of a C function\n"
            "  help: `twill build --help` shows how it is called\n");
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
