// The `twill` command from the outside: what every subcommand prints, and how it fails.
#include "command.h"
#include "machine/machine.h"
#include "run/data_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace twill {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* scale = R"(def scale(x: f32[N], factor: f32 = 2.0) -> (y, total) {
  y[i]  = factor * x[i]
  total = sum(i) y[i]
}
def hello(n: i32) { for i < n { print("hello", i) } }
def pick(x: f64[N], p: i64[M]) -> y { y[j] = x[p[j]] }
)";

class Command : public testing::Test {
 protected:
  void expect(const std::vector<std::string>& arguments, int status, const std::string& output) {
    const ExitReport report = line_.twill(arguments);
    EXPECT_EQ(report.output, output);
    EXPECT_EQ(report.status, status);
  }

  CommandLine line_;
  std::string program_ = line_.file("scale.twill", scale);
};

// ---- calling it wrongly

TEST_F(Command, UnknownCommand) {
  expect({"rum"}, 2, "error[E0701]: there is no command 'rum'\n  help: did you mean 'run'?\n");
  expect({"frobnicate"}, 2,
         "error[E0701]: there is no command 'frobnicate'\n  help: `twill --help` lists the commands\n");
}

TEST_F(Command, UnknownOption) {
  expect({"run", program_, "--verfy"}, 2,
         "error[E0702]: 'twill run' has no option '--verfy'\n  help: did you mean '--verify'?\n");
  expect({"machine", "--colour"}, 2,
         "error[E0702]: 'twill machine' has no option '--colour'\n  help: `twill machine --help` lists the "
         "options\n");
  expect({"--loud"}, 2,
         "error[E0702]: 'twill' has no option '--loud'\n  help: `twill --help` lists the options\n");
  expect({"show", program_, "more"}, 2,
         "error[E0702]: 'twill show' does not know what to do with 'more'\n"
         "  help: `twill show --help` shows how it is called\n");
}

TEST_F(Command, MissingOrWrongValues) {
  expect({"run"}, 2, "error[E0703]: FILE is required\n  help: `twill run --help` shows how it is called\n");
  expect({"run", program_, "--repeat", "0"}, 2,
         "error[E0703]: --repeat: Value 0 not in range 1 to 1000000\n  help: `twill run --help` shows how it "
         "is called\n");
  expect({"run", program_, "--target", "cuda"}, 2,
         "error[E0703]: --target: cuda not in {openmp,interp}\n  help: `twill run --help` shows how it is "
         "called\n");
}

TEST_F(Command, WithoutACommandItExplainsItself) {
  const ExitReport report = line_.twill({});
  EXPECT_EQ(report.status, 2);
  EXPECT_THAT(report.output, HasSubstr("Usage: twill"));
}

TEST_F(Command, UnknownFileAndDefinition) {
  expect({"run", line_.path("scal.twill")}, 2,
         "error[E0704]: there is no file '" + line_.path("scal.twill") + "'\n  help: did you mean '" +
             program_ + "'?\n");
  expect({"run", program_, "--def", "scales"}, 2,
         "error[E0705]: '" + program_ + "' has no definition 'scales'\n  help: did you mean 'scale'?\n");
  expect({"show", program_, "--def", "unrelated"}, 2,
         "error[E0705]: '" + program_ +
             "' has no definition 'unrelated'\n  help: it defines: scale, hello, pick\n");
  const std::string empty = line_.file("empty.twill", "# nothing yet\n");
  expect({"run", empty}, 2, "error[E0705]: '" + empty + "' defines nothing that could be run\n");
}

TEST_F(Command, EveryCommandHasHelpWithExamples) {
  for (const char* command : {"run", "show", "check", "import", "build", "machine", "bench", "fuzz"}) {
    const ExitReport report = line_.twill({command, "--help"});
    EXPECT_EQ(report.status, 0) << command;
    EXPECT_THAT(report.output, HasSubstr(std::string("Usage: twill ") + command));
    EXPECT_THAT(report.output, HasSubstr("Examples:\n  twill ")) << command;
  }
  EXPECT_EQ(line_.twill({"--help"}).status, 0);
  EXPECT_THAT(line_.twill({"--version"}).output, StartsWith("twill "));
}

// ---- import

TEST_F(Command, ImportPrintsWhatAllCommandsTake) {
  const std::string c = line_.file("k.c", R"(#ifndef BY
#define BY 2
#endif
void first(int n, double x[n]) {
#pragma scop
  for (int i = 0; i < n; i++) x[i] = x[i] + BY;
#pragma endscop
}
void second(int n, double x[n], double s[1]) {
#pragma scop
  s[0] = 0;
  for (int i = 0; i < n; i++) s[0] += x[i];
#pragma endscop
}
)");
  const std::string first = "def first(x: f64[n]) -> x_out {\n  x_out[i] = x[i] + 2.0\n}\n";
  expect({"import", c, "--function", "first"}, 0, first);
  expect({"import", c, "--function", "first", "-D", "BY=3"}, 0,
         "def first(x: f64[n]) -> x_out {\n  x_out[i] = x[i] + 3.0\n}\n");
  expect({"import", c, "-o", line_.path("k.twill")}, 0, "");
  EXPECT_THAT(read_file(line_.path("k.twill")), StartsWith(first));
  for (const std::string& file : {c, line_.path("k.twill")})
    expect({"run", file, "--def", "first", "--in", "x=[1, 2]"}, 0, "x_out: f64[2] = [3, 4]\n");
  expect({"run", c, "--in", "x=[1, 2]"}, 0, "s: f64[1] = [3]\n");
  expect({"import", c, "--function", "third"}, 1,
         c + ":1: error[E0802]: no function 'third' has a region '#pragma scop'\n"
             "  help: there are: first, second\n");
}

// ---- run

TEST_F(Command, RunPrintsResults) {
  expect({"run", program_, "--def", "scale", "--in", "x=[1, 2.5, -3]"}, 0,
         "y: f32[3] = [2, 5, -6]\ntotal: f32 = 1\n");
  expect({"run", program_, "--def", "scale", "--in", "x=[1, 2]", "--in", "factor=0.5", "--target", "interp"},
         0, "y: f32[2] = [0.5, 1]\ntotal: f32 = 1.5\n");
  expect({"run", program_, "--def", "scale", "--in", "x=[]", "--verify"}, 0,
         "y: f32[0] = []\ntotal: f32 = 0\nverified: identical to the interpreter, bit by bit\n");
}

TEST_F(Command, RunTakesNumbersThatJsonHasNoWordFor) {
  expect({"run", program_, "--def", "scale", "--in", "x=[nan, 1, -inf, inf]", "--target", "interp"}, 0,
         "y: f32[4] = [nan, 2, -inf, inf]\ntotal: f32 = nan\n");
  expect({"run", program_, "--def", "pick", "--in", "x=[1]", "--in", "p=[nan]"}, 2,
         "error[E0708]: '[nan]' is no value for 'p': nan is not of type i64\n"
         "  help: give a file, an array such as [1, 2, 3], or made-up data such as random:640x480\n");
  expect({"run", program_, "--def", "scale", "--in", "x=[\"1\"]"}, 2,
         "error[E0708]: '[\"1\"]' is no value for 'x': \"1\" is not of type f32\n"
         "  help: give a file, an array such as [1, 2, 3], or made-up data such as random:640x480\n");
}

TEST_F(Command, RunPrintsEffects) {
  for (const char* target : {"openmp", "interp"})
    expect({"run", program_, "--def", "hello", "--in", "n=2", "--target", target}, 0, "hello 0\nhello 1\n");
}

TEST_F(Command, RunPrintsTheEffectsBeforeAFailure) {
  const std::string file =
      line_.file("e.twill", R"(def first(x: i32[N]) -> y { print("before", N); y[i] = 10 / x[i] }
def within(x: i32[N]) { for i < N { print("at", i, 60 / x[i]) } }
def after(x: i32[N]) -> y { y[i] = 70 / x[i]
  print("after", N) }
)");
  const std::string help = "  help: guard it with a condition\n";
  for (const char* target : {"openmp", "interp"}) {
    expect({"run", file, "--def", "first", "--in", "x=[1, 0]", "--target", target}, 1,
           "before 2\n" + file +
               ":1:56: error[E0507]: stage 'y' divides by zero: integer '/' (at i = 1)\n"
               "    def first(x: i32[N]) -> y { print(\"before\", N); y[i] = 10 / x[i] }\n"
               "                                                           ^^^^^^^^^\n" +
               help);
    expect({"run", file, "--def", "within", "--in", "x=[1, 0, 2]", "--target", target}, 1,
           "at 0 60\n" + file +
               ":2:52: error[E0507]: stage 'print' divides by zero: integer '/' (at i = 1)\n"
               "    def within(x: i32[N]) { for i < N { print(\"at\", i, 60 / x[i]) } }\n"
               "                                                       ^^^^^^^^^\n" +
               help);
    expect({"run", file, "--def", "after", "--in", "x=[1, 0]", "--target", target}, 1,
           file +
               ":3:36: error[E0507]: stage 'y' divides by zero: integer '/' (at i = 1)\n"
               "    def after(x: i32[N]) -> y { y[i] = 70 / x[i]\n"
               "                                       ^^^^^^^^^\n" +
               help);
  }
}

TEST_F(Command, RunRefusesResultsThatNoMemoryHolds) {
  const std::string file = line_.file("e.twill", R"(def row(n: i64) -> y { y[i < n] = i * n }
def table(n: i64, m: i64) -> y { y[i < n, j < m] = i * m + j }
)");
  // The bytes, and then the elements, are a little more than 2^64.
  expect({"run", file, "--def", "row", "--in", "n=2305843009213693953"}, 1,
         file +
             ":1:5: failed[E0510]: there is not enough memory\n"
             "    def row(n: i64) -> y { y[i < n] = i * n }\n"
             "        ^^^\n");
  expect({"run", file, "--def", "table", "--in", "n=4294967297", "--in", "m=4294967296"}, 1,
         file +
             ":2:5: failed[E0510]: there is not enough memory\n"
             "    def table(n: i64, m: i64) -> y { y[i < n, j < m] = i * m + j }\n"
             "        ^^^^^\n");
  expect({"run", file, "--def", "table", "--in", "n=0", "--in", "m=4294967296"}, 0,
         "y: i64[0, 4294967296] = []\n");
}

TEST_F(Command, ResultsKeepTheirNames) {
  const std::string file = line_.file("e.twill", R"(def f(x: f64[N]) -> (y, a) {
  a = seq t < 3 from 0.0 { y = sum(i) x[i]; a = a + y }
  y[i] = x[i]
}
)");
  for (const char* target : {"openmp", "interp"})
    expect({"run", file, "--in", "x=[1, 2]", "--target", target}, 0, "y: f64[2] = [1, 2]\na: f64 = 9\n");
  expect({"show", file, "--as", "text"}, 0, R"(def f(x: f64[N]) -> (y, a) {
  a_init: f64 = 0.0
  a = seq t < 3 from a_init {
    y_2 = sum(i) x[i]
    a_next = a_now + y_2
  }
  y[i] = x[i]
}
)");
}

TEST_F(Command, AFileSizeLimitIsAnError) {
  const ExitReport report = line_.shell(
      "ulimit -f 4; build/twill run scale.twill --def scale --in x=random:10000 --target interp --out "
      "y=y.npy");
  EXPECT_EQ(report.status, 1);
  EXPECT_EQ(report.output, "failed[E0602]: cannot write 'y.npy': File too large\n");
}

TEST_F(Command, RunReadsAndWritesFiles) {
  Data x(Scalar::F32, {100});
  for (int k = 0; k < 100; ++k) x.set(k, Number::of_double(Scalar::F32, k));
  save_data(line_.path("x.npy"), x);
  expect({"run", program_, "--def", "scale", "--in", "x=" + line_.path("x.npy"), "--out",
          "y=" + line_.path("y.npy")},
         0, "y: f32[100] written to " + line_.path("y.npy") + "\ntotal: f32 = 9900\n");
  const Data y = load_data(line_.path("y.npy"), Scalar::F32, 1);
  EXPECT_EQ(y.get(99).f, 198);
  expect({"run", program_, "--def", "scale", "--in", "x=" + line_.path("x.npy")}, 0,
         "y: f32[100]  from 0 to 198, mean 99\ntotal: f32 = 9900\n");
}

TEST_F(Command, RunConvertsPictures) {
  const std::string invert = line_.file(
      "invert.twill", "def invert(img: f32[C, H, W]) -> out { out[c, y, x] = 1 - img[c, y, x] }\n");
  Data picture(Scalar::U8, {2, 3, 3});
  for (int k = 0; k < 18; ++k) picture.set(k, Number::of(Scalar::U8, 10 * k));
  save_data(line_.path("in.ppm"), picture);
  const ExitReport report = line_.twill({"run", invert, "--in", "img=" + line_.path("in.ppm"), "--out",
                                         "out=" + line_.path("out.png"), "--verify"});
  EXPECT_EQ(report.status, 0) << report.output;
  const Data out = load_data(line_.path("out.png"), Scalar::U8, 3);
  for (int k = 0; k < 18; ++k) EXPECT_EQ(out.get(k).i, 255 - 10 * k);
}

TEST_F(Command, RunReadsRecordsAndRows) {
  const std::string rows =
      line_.file("rows.twill",
                 "type Point = { x: f64, n: i32 }\n"
                 "def total(p: Point[A, B]) -> s { s[a] = sum(b) p[a, b].x * p[a, b].n }\n");
  expect({"run", rows, "--in", R"(p=[[{"x": 1.5, "n": 2}, [1, 1]], [[0, 0], [2, 3]]])"}, 0,
         "s: f64[2] = [4, 6]\n");
  expect({"run", rows, "--in", "p=[[[1, 1]], []]"}, 2,
         "error[E0708]: '[[[1, 1]], []]' is no value for 'p': its rows differ in length\n"
         "  help: give a file, an array such as [{\"x\": 1.5, \"n\": 1}], or made-up data such as "
         "random:640x480\n");
  const std::string one =
      line_.file("one.twill",
                 "type Point = { x: f64, n: i32 }\n"
                 "def times(p: Point, q: (i64, bool)) -> s { s = if q.1 then p.x * p.n + q.0 else 0 }\n");
  expect({"run", one, "--in", R"(p={"x": 1.5, "n": 2})", "--in", "q=[7, true]"}, 0, "s: f64 = 10\n");
  expect({"run", one, "--in", "p=1.5", "--in", "q=[7, true]"}, 2,
         "error[E0708]: '1.5' is no value for 'p': it is not of type Point\n"
         "  help: give a record, such as {\"x\": 1.5, \"n\": 1}, or a .npy file\n");
  expect({"run", one, "--in", "p=gone.npy", "--in", "q=[7, true]"}, 1,
         "failed[E0601]: cannot read 'gone.npy': No such file or directory\n");
  expect({"run", one, "--in", R"(p={"x": 1.5})", "--in", "q=[7, true]"}, 2,
         "error[E0708]: '{\"x\": 1.5}' is no value for 'p': {\"x\":1.5} lacks the field 'n'\n"
         "  help: give a record, such as {\"x\": 1.5, \"n\": 1}, or a .npy file\n");
}

TEST_F(Command, RunRefusesWhatDoesNotFit) {
  expect({"run", program_, "--def", "scale"}, 2,
         "error[E0709]: the input 'x' of 'scale' is missing\n  help: give it with --in x=FILE\n");
  expect({"run", program_, "--def", "scale", "--in", "x"}, 2,
         "error[E0706]: '--in x' is not of the form NAME=VALUE\n");
  expect({"run", program_, "--def", "scale", "--in", "x=[1]", "--in", "x=[2]"}, 2,
         "error[E0706]: 'x' is given twice\n");
  expect({"run", program_, "--def", "scale", "--in", "y=[1]"}, 2,
         "error[E0707]: 'scale' has no input 'y'\n  help: its inputs: x, factor\n");
  expect({"run", program_, "--def", "scale", "--in", "faktor=1"}, 2,
         "error[E0707]: 'scale' has no input 'faktor'\n  help: did you mean 'factor'?\n");
  expect({"run", program_, "--def", "scale", "--in", "x=[1]", "--out", "sum=s.npy"}, 2,
         "error[E0707]: 'scale' has no result 'sum'\n  help: its results: y, total\n");
  expect({"run", program_, "--def", "scale", "--in", "x=[1]", "--in", "factor=two"}, 2,
         "error[E0708]: 'two' is no value for 'factor': it is not of type f32\n"
         "  help: give a number, such as 1.5, or a .npy file\n");
  expect({"run", program_, "--def", "hello", "--in", "n=3000000000"}, 2,
         "error[E0708]: '3000000000' is no value for 'n': it is not of type i32\n"
         "  help: give an integer, such as 1, or a .npy file\n");
  expect({"run", program_, "--def", "hello", "--in", "n=1.5"}, 2,
         "error[E0708]: '1.5' is no value for 'n': it is not of type i32\n"
         "  help: give an integer, such as 1, or a .npy file\n");
  expect({"run", program_, "--def", "scale", "--in", "x=1"}, 2,
         "error[E0708]: '1' is no value for 'x': an array of one dimension is wanted\n"
         "  help: give a file, an array such as [1, 2, 3], or made-up data such as random:640x480\n");
  expect({"run", program_, "--def", "scale", "--in", "x=random:2x2"}, 2,
         "error[E0708]: 'random:2x2' is no value for 'x': it needs one dimension\n"
         "  help: give a file, an array such as [1, 2, 3], or made-up data such as random:640x480\n");
  expect({"run", program_, "--def", "scale", "--in", "x=gone.npy"}, 1,
         "failed[E0601]: cannot read 'gone.npy': No such file or directory\n");
}

TEST_F(Command, RunTimeErrorsNameThePoint) {
  const ExitReport report = line_.twill(
      {"run", program_, "--def", "pick", "--in", "x=[1, 2]", "--in", "p=[0, 2]", "--target", "interp"});
  EXPECT_EQ(report.status, 1);
  EXPECT_THAT(report.output, HasSubstr("error[E0505]"));
  EXPECT_THAT(report.output, HasSubstr("j = 1"));
  EXPECT_EQ(line_.twill({"run", program_, "--def", "pick", "--in", "x=[1, 2]", "--in", "p=[0, 2]"}).status,
            1);
}

TEST_F(Command, RunShowsWhatItCost) {
  const ExitReport report = line_.twill(
      {"run", program_, "--def", "scale", "--in", "x=random:1000", "--stats", "--repeat", "3", "--verify"});
  EXPECT_EQ(report.status, 0) << report.output;
  EXPECT_THAT(report.output, HasSubstr("sizes               N = 1000\nstages              2\npasses over "
                                       "memory  1\nintermediate arrays 0\n"));
  EXPECT_THAT(
      report.output,
      HasSubstr("bytes moved         8.0 kB; reading inputs and writing results alone would be 8.0 kB\n"));
  EXPECT_THAT(report.output, HasSubstr("1     y, total "));
  // Without fusion, y is read again for the total.
  const ExitReport apart = line_.twill(
      {"run", program_, "--def", "scale", "--in", "x=random:1000", "--stats", "--cluster", "none"});
  EXPECT_THAT(
      apart.output,
      HasSubstr("bytes moved         12.0 kB; reading inputs and writing results alone would be 8.0 kB\n"));
  EXPECT_THAT(report.output, HasSubstr("in the middle of 3 runs"));
}

TEST_F(Command, RunTakesAPlan) {
  const ExitReport plan = line_.twill({"show", program_, "--def", "scale", "--as", "plan"});
  ASSERT_EQ(plan.status, 0);
  const std::string file = line_.file("plan.json", plan.output);
  expect({"run", program_, "--def", "scale", "--in", "x=[1]", "--plan", file}, 0,
         "y: f32[1] = [2]\ntotal: f32 = 2\n");
  std::string other = plan.output;
  other.replace(other.find("\"total\""), 7, "\"tutti\"");
  line_.file("plan.json", other);
  expect({"run", program_, "--def", "scale", "--in", "x=[1]", "--plan", file}, 1,
         "error[E0402]: the plan is illegal (unknown-stage): the program has no stage 'tutti' here, or the "
         "plan runs it twice\n"
         "  help: `twill show --as plan` writes the default plan to start from\n");
  line_.file("plan.json", "{");
  expect({"run", program_, "--def", "scale", "--in", "x=[1]", "--plan", file}, 1,
         "error[E0401]: this is not a plan: it is no JSON from line 1 on\n"
         "  help: plans are written by `twill show --as plan`\n");
}

TEST_F(Command, MistakesInProgramsAreShownWithTheirPlace) {
  const std::string wrong = line_.file("wrong.twill", "def f(x: f32[N]) -> y { y[i] = xx[i] }\n");
  const ExitReport report = line_.twill({"run", wrong});
  EXPECT_EQ(report.status, 1);
  EXPECT_THAT(report.output, StartsWith(wrong + ":1:32: error[E0201]"));
}

// ---- show

TEST_F(Command, ShowForms) {
  expect({"show", program_, "--def", "pick"}, 0,
         "def pick(x: f64[N], p: i64[M]) -> y {\n  y[j] = x[p[j]]\n}\n");
  expect({"show", program_, "--def", "scale", "--as", "dot"}, 0,
         "digraph \"scale\" {\n  node [shape=box, fontname=Helvetica];\n  \"x\" [shape=ellipse];\n"
         "  \"factor\" [shape=ellipse];\n  \"stage y\" [label=\"y\", style=bold];\n"
         "  \"stage total\" [label=\"total\", style=bold];\n"
         "  \"factor\" -> \"stage y\" [label=\"factor\"];\n  \"x\" -> \"stage y\" [label=\"x\"];\n"
         "  \"stage y\" -> \"stage total\" [label=\"y\"];\n}\n");
  const std::vector<std::pair<std::string, std::string>> marks = {
      {"plan", "\"clusters\""},
      {"json", "\"clusters\""},
      {"loops", "# total"},
      {"c", "int32_t scale(const twill_host *host"}};
  for (const auto& [form, mark] : marks)
    EXPECT_THAT(line_.twill({"show", program_, "--def", "scale", "--as", form}).output, HasSubstr(mark))
        << form;
}

TEST_F(Command, ShowAfterAPass) {
  EXPECT_EQ(line_.twill({"show", program_, "--after", "plan"}).output,
            line_.twill({"show", program_, "--as", "plan"}).output);
  EXPECT_EQ(line_.twill({"show", program_, "--after", "nest"}).output,
            line_.twill({"show", program_, "--as", "loops"}).output);
  expect({"show", program_, "--after", "plam"}, 2,
         "error[E0710]: there is no pass 'plam'\n  help: did you mean 'plan'?\n");
  expect({"show", program_, "--after", "plan", "--as", "c"}, 2,
         "error[E0711]: after the pass 'plan' a program cannot be shown as 'c' yet\n  help: use --after c, "
         "or leave it out\n");
  expect({"show", program_, "--as", "loop"}, 2,
         "error[E0711]: a program cannot be shown as 'loop'\n  help: did you mean 'loops'?\n");
  expect({"show", program_, "--as", "c", "--cluster", "best"}, 2,
         "error[E0714]: there is no way to choose clusters called 'best'\n  help: one of: greedy, "
         "greedy-top, greedy-bottom, optimal, minfuse, smartfuse, maxfuse, none\n");
}

// ---- explain

TEST_F(Command, ExplainCountsBytes) {
  const std::string blur = line_.file("blur.twill",
                                      "def blur(x: f32[H, W]) -> y {\n"
                                      "  a[i, j] = x[i, clamp(j - 1)] + x[i, clamp(j + 1)]\n"
                                      "  y[i, j] = a[clamp(i - 1), j] + a[clamp(i + 1), j]\n}\n");
  EXPECT_THAT(line_.twill({"explain", blur, "--size", "H=100"}).output,
              testing::HasSubstr("bytes moved, if H = 100, every other size is 1024\n"
                                 "  stage by stage  1.6 MB in 2 passes, 1.2 MB of memory\n"
                                 "  now             819.2 kB in 1 pass, 819.2 kB of memory\n"
                                 "  at least        819.2 kB of inputs and results\n"));
  expect({"explain", blur, "--size", "D=3"}, 2,
         "error[E0707]: 'blur' has no size 'D'\n  help: its sizes: H, W\n");
  expect({"explain", blur, "--size", "H=much"}, 2,
         "error[E0703]: 'much' is no size\n  help: write --size N=1000\n");
  expect({"explain", blur, "--size", "H"}, 2, "error[E0706]: '--size H' is not of the form NAME=VALUE\n");
}

/// What stands below "apart, and why".
std::string reasons_in(const std::string& report) {
  const std::string title = "\napart, and why\n";
  const std::size_t start = report.find(title);
  if (start == std::string::npos) return "";
  const std::string rest = report.substr(start + title.size());
  return rest.substr(0, rest.find("\n\n") + 1);
}

TEST_F(Command, ExplainSaysWhatAnIfIs) {
  const auto reasons = [&](const std::string& text) {
    return reasons_in(line_.twill({"explain", line_.file("if.twill", text)}).output);
  };
  EXPECT_EQ(
      reasons("def f(x: f64[N], n: i64) -> y {\n"
              "  a[i] = exp(x[i])\n"
              "  if n > 3 { y[i] = a[i] + a[N - 1 - i] } else { y[i] = 2 * a[i] }\n}\n"),
      "  a | y  'a' is not part of 'y', which is an if: what is read on its sides is computed before (if)\n");
  EXPECT_EQ(reasons("def f(x: f64[N], T: i64) -> y {\n"
                    "  a[i] = exp(x[i])\n"
                    "  y = seq t < T from x { y[i] = 0.5 * y[clamp(i + 1)] + a[i] }\n}\n"),
            "  a | y  'a' is not part of 'y', which is a loop: what is read in its steps is computed before "
            "(loop)\n");
  // Why a consumer is not computed on both sides.
  const std::string fifth_powers = "p[i] * p[i] * p[i] * p[i] * p[i] + exp(p[i]) / (1 + p[i])";
  EXPECT_EQ(
      reasons("def f(x: f64[N], n: i64) -> y {\n"
              "  if n > 3 { p[i] = x[i] + 1 } else { p[i] = x[i] - n }\n"
              "  y[i] = (" +
              fifth_powers + ") / (2 + " + fifth_powers + ") + sin(" + fifth_powers + ")\n}\n"),
      "  p | y  'y' is not computed on the sides of the if that makes 'p': it is too long to be written "
      "once for each of them (long)\n");
  EXPECT_EQ(
      reasons("def f(x: i64[N], n: i64) -> (s, y) {\n"
              "  p = if n > 3 then [ v | v in x, v > 2 ] else x\n"
              "  s = sum(k) p[k]\n"
              "  y[i < len(p) / 2] = 3 * i\n}\n"),
      "  p | s  's' is not computed on the sides of the if that makes 'p': the length that is known by it is "
      "the size of something else as well (length)\n"
      "  p | y  'p' and 'y' share no loop: 'p' is an if, and the loops are on its sides (if)\n");
}

TEST_F(Command, ExplainSaysWhichWishesWereNotGranted) {
  const auto reasons = [&](const std::string& hint, const std::string& rest) {
    return reasons_in(
        line_
            .twill({"explain", line_.file("wish.twill",
                                          "def f(x: i64[N], w: i64[M]) -> r {\n  " + hint + "\n  " + rest)})
            .output);
  };
  const std::string loops = "p = [ v | v in x, v > 2 ]\n  r = [ (sum(j) v * w[j]) | v in p ]\n}\n";
  const std::string why =
      "'p' and 'r' stay apart: 'r' has one element for each of the elements of 'p', and loops inside, which "
      "compute several elements at a time";
  const std::string apart = "  p | r  " + why + " (combine)\n";
  EXPECT_EQ(reasons("@always", loops),
            apart + "  p      'p' is to be fused always, and is not: " + why + " (always)\n");
  EXPECT_EQ(
      reasons("@recompute", loops),
      apart +
          "  p      'p' is to be recomputed, and is stored: 'p' is not computed inside of 'r': 'p' is not "
          "one value for each point (recompute)\n");
  EXPECT_EQ(reasons("@always", "r[i] = x[i] * len(w)\n}\n"),
            "  r  'r' is to be fused always, and there is nothing to fuse it with (alone)\n");
  // Those that were granted are nothing to speak of.
  EXPECT_EQ(reasons("@always", "p[i] = 2 * x[i]\n  r[i] = p[i] + p[N - 1 - i] * len(w)\n}\n"), "");
  EXPECT_EQ(reasons("@recompute", "p[i] = 2 * x[i]\n  r[i] = p[i] + p[N - 1 - i] * len(w)\n}\n"), "");
}

// ---- cluster

TEST_F(Command, ClusterCutsGraphs) {
  const std::string graph = line_.file("graph.json", R"({
    "nodes": [{"id": 0, "name": "xs", "kind": "input"}, {"id": 1, "name": "as", "kind": "map"},
              {"id": 2, "name": "bs", "kind": "map"}, {"id": 3, "name": "result", "kind": "scatter", "out": 1}],
    "edges": [{"s": 0, "d": 1, "port": "arg"}, {"s": 0, "d": 2, "port": "arg"}, {"s": 1, "d": 3, "port": "ssrc"},
              {"s": 2, "d": 3, "port": "dest"}]})");
  const ExitReport text = line_.twill({"cluster", "--graph", graph});
  EXPECT_EQ(text.status, 0);
  EXPECT_THAT(text.output, StartsWith("cost (e) 4, proven to be the least; 2 passes; "));
  EXPECT_THAT(text.output, EndsWith(" ms\n  1  bs\n  2  as, result\n"));
  const ExitReport json = line_.twill({"cluster", "--graph", graph, "--cost", "d", "--json"});
  EXPECT_EQ(json.status, 0);
  EXPECT_THAT(json.output, StartsWith(R"({"optimum":2.0,"cost":"d","proven":true,"gap":0.0,"solve_ms":)"));
  const ExitReport none = line_.twill({"cluster", "--graph", graph, "--cluster", "none"});
  EXPECT_THAT(none.output, StartsWith("cost (e) 6; 3 passes; "));
  expect({"cluster", "--graph", graph, "--cost", "z"}, 2,
         "error[E0715]: there is no cost 'z'\n  help: a, b, c, d, e or f: `twill cluster --help`\n");
  expect({"cluster", "--graph", graph, "--cluster", "best"}, 2,
         "error[E0714]: there is no way to choose clusters called 'best'\n"
         "  help: one of: optimal, greedy-top, greedy-bottom, none\n");
  expect({"cluster", "--graph", graph, "--solver", "scip"}, 2,
         "error[E0716]: there is no solver called 'scip'\n  help: cbc or highs\n");
  expect(
      {"cluster"}, 2,
      "error[E0703]: either a program or --graph is required\n  help: `twill cluster --help` shows how it is "
      "called\n");
  expect({"cluster", "--graph", graph, "--cost", "f"}, 2,
         "error[E0715]: a graph says nothing about time\n  help: a, b, c, d or e: `twill cluster --help`\n");
}

/// A greedy choice puts c with b and s, and then writes it.
const char* const trap = R"(def f(x: f64[N], y: f64[N]) -> (b, e, f) {
  b[i] = x[i] * 2
  s = sum(i) b[i]
  c[i] = b[i] + y[i]
  e[i] = c[i] * s
  f[i] = c[i] - s
})";

TEST_F(Command, ClusterCutsPrograms) {
  const std::string file = line_.file("trap.twill", trap);
  const ExitReport text = line_.twill({"cluster", file});
  EXPECT_EQ(text.status, 0);
  EXPECT_THAT(text.output, StartsWith("f: no other clusters take less time, "));
  EXPECT_THAT(text.output, HasSubstr(" ms by prediction; 2 passes; "));
  EXPECT_THAT(text.output, EndsWith(" ms\n  1  b, s\n  2  c, e, f\n"));
  EXPECT_THAT(line_.twill({"cluster", file, "--cluster", "greedy-top"}).output,
              EndsWith(" ms\n  1  b, s, c\n  2  e, f\n"));
  EXPECT_THAT(line_.twill({"cluster", file, "--cluster", "greedy-top", "--cost", "e"}).output,
              StartsWith("f: clusters by greedy-top, which cost 8 by (e); 2 passes; "));
  EXPECT_THAT(line_.twill({"cluster", file, "--cluster", "none", "--cost", "e", "--json"}).output,
              StartsWith(R"({"optimum":11.0,"cost":"e","proven":false,"gap":1.0,"solve_ms":)"));
  EXPECT_THAT(line_.twill({"cluster", file, "--cost", "e", "--json"}).output,
              StartsWith(R"({"optimum":7.0,"cost":"e","proven":true,"gap":0.0,"solve_ms":)"));
  EXPECT_THAT(line_.twill({"cluster", file, "--json", "--size", "N=1000000"}).output,
              EndsWith(R"("clusters":[["b","s"],["c","e","f"]],"passes":2,)"
                       R"("lists":[{"owner":"","branch":0,"clusters":[[["b","s"]],[["c","e","f"]]]}]})"
                       "\n"));
}

TEST_F(Command, ClusterShowsEdges) {
  const std::string file = line_.file("blur.twill", R"(def blur(x: f32[N], p: i32[M]) -> (z, g) {
  y[i] = x[i] * 2
  z[i] = sum(k < 3) y[clamp(i + k - 1)]
  g[j] = z[p[j]]
})");
  expect({"cluster", file, "--edges"}, 0,
         "edge    array  bytes    demand   reach (again, tiles of 32)  depth\n"
         "z -> g  z      ~4.0 kB  indexed  all                         0      'z' is not computed in the "
         "order of "
         "'g': 'z' is "
         "needed elsewhere as well (shared)\n");
  EXPECT_THAT(
      line_.twill({"cluster", file, "--edges", "--json", "--size", "N=1000"}).output,
      StartsWith(
          R"([{"maker":"z","reader":"g","array":"z","demand":"indexed","bytes":4000.0,"reach":[null],)"));
  const std::string forced = line_.file("forced.twill", R"(def f(x: f64[N]) -> (y, u) {
  a[i] = exp(x[i])
  force(a)
  y[i] = a[i] + 1
  s = sum(i) x[i]
  u[i] = x[i] * s
})");
  expect({"cluster", forced, "--edges", "--size", "N=1000"}, 0,
         "edge    array  bytes   demand    reach (again, tiles of 32)  depth\n"
         "a -> y  a      8.0 kB  identity  0                           0      'a' and 'y' stay apart: 'a' is "
         "forced "
         "(forced)\n"
         "s -> u  s      8 B     whole     -                           0      's' and 'u' stay apart: 's' is "
         "complete only after the whole loop (whole)\n");
}

TEST_F(Command, ClusterWritesWhatItSolves) {
  const std::string model = line_.path("model.lp"), nothing = line_.path("nothing.lp");
  EXPECT_EQ(line_.twill({"cluster", line_.file("trap.twill", trap), "--cost", "e", "--lp", model}).status, 0);
  const std::string text = read_file(model);
  EXPECT_THAT(text, StartsWith("Minimize\n"));
  EXPECT_THAT(text, EndsWith("End\n"));
  const std::string map = line_.file("map.twill", "def f(x: f64[N]) -> y { y[i] = x[i] }\n");
  EXPECT_THAT(line_.twill({"cluster", map, "--lp", nothing}).output,
              StartsWith("nothing had to be solved: '" + nothing + "' is not written\n"));
  EXPECT_FALSE(std::filesystem::exists(nothing));
}

/// An edge that the best choice cuts says why, and passes are boxes with the numbers that explain gives them.
TEST_F(Command, TheBestChoiceSaysWhatItCuts) {
  const std::string file = line_.file("trap.twill", std::string(trap));
  EXPECT_THAT(
      line_.twill({"explain", file, "--cluster", "optimal"}).output,
      HasSubstr(
          "  b | c  'b' and 'c' stay apart: all that is with them would be in one loop, but 'c' and 'e' "
          "stay apart: 's' is complete only after the whole loop (chosen)\n"));
  const std::string dot =
      line_.twill({"show", file, "--as", "dot", "--after", "plan", "--cluster", "optimal"}).output;
  EXPECT_THAT(dot, HasSubstr("label=\"pass 2\"; style=\"rounded,filled\"; color=grey90;\n"
                             "    \"stage c\" [label=\"c\"];\n    \"stage e\" [label=\"e\", style=bold];\n"));
  EXPECT_THAT(dot, HasSubstr("  \"stage b\" -> \"stage c\" [label=\"b\", style=bold];\n"));
}

// ---- check

TEST_F(Command, CheckRunsTests) {
  const std::string file = line_.file("t.twill", std::string(scale) + R"(test "doubles" {
  (y, total) = scale([1, 2, 3])
  expect y == [2, 4, 6], total == 12
  expect stages == 2, passes == 1
}
test "outside" {
  y = pick([1, 2], [2])
  expect error "outside"
}
)");
  expect({"check", file}, 0, file + "\n  ok    doubles\n  ok    outside\n2 passed, 0 failed\n");
  expect({"check", file, "--test", "dou", "--target", "interp"}, 0,
         file + "\n  ok    doubles\n1 passed, 0 failed\n");
}

TEST_F(Command, CheckShowsWhatFails) {
  const std::string file = line_.file("t.twill", std::string(scale) + R"(test "value" {
  (y, total) = scale([1, 2, 3])
  expect y[i] < 5
}
test "structure" {
  (y, total) = scale([1, 2, 3])
  expect passes == 2
}
test "no error" {
  y = pick([1, 2], [1])
  expect error "outside"
}
)");
  expect({"check", file}, 1,
         file + "\n  FAIL  value\n" + file +
             ":9:10: error[E0530]: 'y[i] < 5' does not hold at [2]: the left side is 6, the right side 5\n"
             "      expect y[i] < 5\n             ^^^^^^^^\n"
             "  FAIL  structure\n" +
             file +
             ":13:10: error[E0530]: passes is 1\n      expect passes == 2\n       "
             "      ^^^^^^^^^^^\n"
             "  FAIL  no error\n" +
             file +
             ":17:3: error[E0530]: expected an error with 'outside', but the call succeeded\n      expect "
             "error \"outside\"\n      "
             "^^^^^^^^^^^^^^^^^^^^^^\n"
             "0 passed, 3 failed\n");
}

TEST_F(Command, CheckShowsTheFirstDifference) {
  const std::string file = line_.file("t.twill", R"(type P = { a: i32, b: f32 }
def twice(x: i32[N]) -> y { y[i] = 2 * x[i] }
def square(x: f32[N, M]) -> y { y[i, j] = x[i, j] * x[i, j] }
def pairs(x: i32[N]) -> p { p[i] = P { a: 1, b: x[i] } }
def above(x: i32[N]) -> c { c = [ v | v in x, v > 0 ] }
test "all" {
  y = twice([1, 2])
  s = square([[1, 2], [3, 4]])
  p = pairs([1, 2])
  q = pairs([1, 3])
  c = above([1, -1, 2])
  expect y == [2, 5]
  expect y == [2, 4, 0]
  expect s ~ [[1, 4], [9, 17]]
  expect s == [[1, 4]]
  expect p == q
  expect c == [1]
  expect y[1] == 5
  expect y[0] == 2 and s[0, 1] <= 3
  expect all(i) y[i] == 2
  expect not all(i) y[i] < 9
}
)");
  const ExitReport report = line_.twill({"check", file, "--target", "interp"});
  EXPECT_EQ(report.status, 1);
  std::string messages;
  std::istringstream lines(report.output);
  for (std::string line; std::getline(lines, line);)
    if (const std::size_t at = line.find("error[E0530]: "); at != std::string::npos)
      messages += line.substr(at + 14) + "\n";
  EXPECT_EQ(messages,
            "'y == [2, 5]' does not hold at [1]: it is 4, not 5\n"
            "'y == [2, 4, 0]' does not hold: the shape is [2], not [3]\n"
            "'s ~ [[1, 4], [9, 17]]' does not hold at [1, 1]: it is 16, not 17\n"
            "'s == [[1, 4]]' does not hold: the shape is [2, 2], not [1, 2]\n"
            "'p == q' does not hold at [1]: it is 2, not 3\n"
            "'c == [1]' does not hold: the shape is [2], not [1]\n"
            "'y[1] == 5' does not hold: it is 4, not 5\n"
            "'y[0] == 2 and s[0, 1] <= 3' does not hold: the left side is 4, the right side 3\n"
            "'all(i) y[i] == 2' does not hold at [1]: it is 4, not 2\n"
            "'not all(i) y[i] < 9' does not hold\n");
}

TEST_F(Command, CheckRefusesATestThatThereIsNot) {
  const std::string file = line_.file("t.twill", std::string(scale) + R"(test "one" { (y, t) = scale([1]) }
test "other" { (y, t) = scale([2]) }
)");
  expect({"check", file, "--target", "interp", "--test", "nothing"}, 2,
         "error[E0713]: no test has 'nothing' in its name\n  help: the tests are: one, other\n");
  expect({"check", program_, "--target", "interp", "--test", "one"}, 2,
         "error[E0713]: no test has 'one' in its name\n  help: there are no tests\n");
  expect({"check", program_, file, "--target", "interp", "--test", "one"}, 0,
         file + "\n  ok    one\n1 passed, 0 failed\n");
}

TEST_F(Command, CheckGoesOnAfterABrokenFile) {
  const std::string broken = line_.file("broken.twill", "def f( {\n");
  const ExitReport report = line_.twill({"check", broken, program_});
  EXPECT_EQ(report.status, 1);
  EXPECT_THAT(report.output,
              HasSubstr(program_ + "\n  no tests\n0 passed, 0 failed, 1 of 2 files could not be read\n"));
}

// ---- machine, bench and fuzz

TEST_F(Command, MachineIsMeasuredOnceAndKept) {
  // Standard error is for doubts, which a busy machine may raise.
  const ExitReport first = line_.shell("build/twill machine --json 2>doubts");
  ASSERT_EQ(first.status, 0) << first.output;
  const Machine machine = machine_from_json(first.output, "output");
  EXPECT_GT(machine.rates.copy_gbs, 0);
  EXPECT_EQ(machine.memory.front().read_gbs, machine.rates.read_gbs);
  EXPECT_EQ(machine_from_json(line_.shell("build/twill machine --json 2>doubts").output, "output"), machine);
  const ExitReport table = line_.shell("build/twill machine 2>doubts");
  EXPECT_THAT(table.output, StartsWith(machine.name + "\n"));
  EXPECT_THAT(table.output, HasSubstr("\nknown from " + line_.path("cache/machine-")));
}

TEST_F(Command, MachineDoubtsRatesThatCannotBeRight) {
  KnownMachine known = this_machine(line_.path("cache"), Measure::Never);
  known.machine.rates = {.read_gbs = 1, .copy_gbs = 7, .triad_gbs = 5, .f32_gflops = 9, .f64_gflops = 4};
  known.machine.single = {.read_gbs = 1, .copy_gbs = 14, .triad_gbs = 5, .f32_gflops = 9, .f64_gflops = 4};
  write_file(known.file, to_json(known.machine));
  EXPECT_THAT(
      line_.twill({"machine"}).output,
      StartsWith("warning: these rates cannot be right: copy: 7.0 GB/s with all cores, 14.0 with one; "
                 "`twill machine --measure` measures again, best when the machine is idle\n"));
}

TEST_F(Command, UnknownSuite) {
  expect({"bench", "linalgg"}, 2,
         "error[E0730]: there is no suite 'linalgg'\n  help: the suites are linalg, stencil, pipelines, "
         "polybench, "
         "collections, "
         "combinators, compile\n");
}

TEST_F(Command, FuzzSaysWhatItTried) {
  const ExitReport report = line_.twill({"fuzz", "--seed", "1", "--count", "2", "--plans", "1"});
  EXPECT_EQ(report.status, 0) << report.output;
  EXPECT_THAT(report.output, StartsWith("2 programs, "));
  expect({"fuzz", "--no-kernels", "--count", "10"}, 0, "10 programs, 0 runs of kernels, 0 failed\n");
  expect({"fuzz", "--text", "--count", "10"}, 0, "10 texts, and the parser had an answer to each\n");
  expect({"fuzz", "--count", "-1"}, 2,
         "error[E0703]: --count: Value -1 not in range 1 to 1000000000\n"
         "  help: `twill fuzz --help` shows how it is called\n");
}

TEST_F(Command, FuzzNeedsACompiler) {
  const ExitReport report = line_.shell("CC=no-such-cc build/twill fuzz --count 3");
  EXPECT_EQ(report.output,
            "failed[E0610]: the C compiler 'no-such-cc' named by $CC was not found\n"
            "  help: install it, or name another one in $CC\n");
  EXPECT_EQ(report.status, 1);
}

// ---- the cache

TEST_F(Command, AKernelIsCompiledOnce) {
  const std::vector<std::string> call = {"run", program_, "--def", "scale", "--in", "x=[1]", "--stats"};
  EXPECT_THAT(line_.twill(call).output, HasSubstr("kernel              compiled now\n"));
  EXPECT_THAT(line_.twill(call).output, HasSubstr("kernel              found in the cache\n"));
}

}  // namespace
}  // namespace twill
