// C functions that are imported: constructs beyond those of PolyBench, each compared with what the C compiler
// makes of it; and what is refused, word by word (tests/errors_c/*.txt: C texts in lines that begin with '>',
// and the report).
#include "base/error.h"
#include "c_checking.h"
#include "driver/compile.h"
#include "program/text.h"
#include "run/process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace twill {
namespace {

namespace fs = std::filesystem;

// ---- data decide --------------------------------------------------------------------------------

/// SpMV with a while loop, and what is computed from it: one pass over the mesh, nothing in memory between.
TEST(CImport, AMeshIsUpdatedInOnePass) {
  const std::string text = read_file(fs::path(TWILL_ROOT) / "examples" / "equake.c");
  const auto some = [&](std::vector<std::int64_t> shape) {
    Data data(Scalar::F64, std::move(shape));
    for (std::int64_t k = 0; k < data.count(); ++k)
      data.set(k, Number::of_double(Scalar::F64, 2 + numbers[static_cast<std::size_t>(k) % numbers.size()]));
    return data;
  };
  const std::string printed =
      check(text, {integer(4), integer(6), data(Scalar::I32, {5}, {0, 2, 2, 5, 6}),
                   data(Scalar::I32, {6}, {1, 3, 0, 2, 3, 0}), some({6, 3, 3}), some({4, 3}), some({4, 3}),
                   some({4, 3}), some({4, 3}), some({4, 3}), some({4, 3}), some({4, 3}),
                   Data::scalar(Number::of_double(Scalar::F64, 0.5))});
  EXPECT_THAT(printed, testing::HasSubstr("stage force(i < n, e in first[i] .. first[i + 1], a < 3, b < 3)"));
  const CImport imported = import_text(text);
  const Compilation compiled =
      compile(std::make_shared<const Program>(imported.module.programs.at(0)), detect_machine(), {});
  EXPECT_EQ(compiled.schedule->passes, 1);
  EXPECT_EQ(compiled.schedule->buffers, 0);
}

TEST(CImport, AWhileLoopThatCountsIsAForLoop) {
  const auto with = [](const std::string& loop) {
    return "void f(int n, int p[n + 1], double x[n], double s[n]) {\n#pragma scop\n"
           "  for (int i = 0; i < n; i++) {\n    double sum = 0;\n    int last = 0;\n" +
           loop + "    s[i] = sum + last;\n  }\n#pragma endscop\n}\n";
  };
  const std::vector<Data> arguments = {integer(3), data(Scalar::I32, {4}, {0, 1, 1, 3}),
                                       data(Scalar::F64, {3}, numbers), data(Scalar::F64, {3}, {})};
  EXPECT_EQ(
      check(with("    int e = p[i];\n    while (e < p[i + 1]) {\n      sum += x[e];\n      e++;\n    }\n"),
            arguments),
      check(with("    for (int e = p[i]; e < p[i + 1]; e++) sum += x[e];\n"), arguments));
  check(with("    int e = i;\n    e = e - 1;\n    while (e < i) {\n      sum += x[i];\n      e++;\n    }\n"),
        arguments);
  // What it has counted to is known behind it; and a bound that changes keeps it a while loop.
  check(with("    int e = p[i];\n    while (e <= p[i]) {\n      sum += x[0];\n      ++e;\n    }\n    last = "
             "e;\n"),
        arguments);
  EXPECT_THAT(check(with("    int e = 0;\n    int end = 9;\n    while (e < end) {\n      end = end - 1;\n"
                         "      e++;\n    }\n    last = e;\n"),
                    arguments),
              testing::HasSubstr("while"));
}

TEST(CImport, SparseRowsAreFoldsOverDataExtents) {
  EXPECT_EQ(
      check(
          R"(void spmv(int rows, int z, int ptr[rows + 1], int col[z], double val[z], int n, double x[n], double y[rows]) {
#pragma scop
  for (int r = 0; r < rows; r++) {
    y[r] = 0;
    for (int p = ptr[r]; p < ptr[r + 1]; p++) y[r] += val[p] * x[col[p]];
  }
#pragma endscop
}
)",
          {integer(3), integer(5), data(Scalar::I32, {4}, {0, 2, 2, 5}),
           data(Scalar::I32, {5}, {0, 3, 1, 2, 3}), data(Scalar::F64, {5}, numbers), integer(4),
           data(Scalar::F64, {4}, numbers), data(Scalar::F64, {3}, {7, 7, 7})}),
      R"(def spmv(ptr: i32[rows + 1], col: i32[z], val: f64[z], x: f64[n]) -> y {
  y[r] = sum(p in ptr[r] .. ptr[r + 1]) val[p] * x[col[p]]
}
)");
}

TEST(CImport, HistogramsAreScatters) {
  EXPECT_THAT(check(R"(void histogram(int n, int m, int x[n], int h[m]) {
#pragma scop
  for (int i = 0; i < n; i++) h[x[i]] += 1;
#pragma endscop
}
)",
                    {integer(6), integer(4), data(Scalar::I32, {6}, {1, 3, 1, 0, 1, 3}),
                     data(Scalar::I32, {4}, {5, 6, 7, 8})}),
              testing::HasSubstr("h_out = h with(+) { [x[i]] <- 1 | i }"));
}

TEST(CImport, TheLastValueStaysWhereDataDecide) {
  check(R"(void put(int n, int m, int p[n], double v[n], double y[m]) {
#pragma scop
  for (int i = 0; i < n; i++) y[p[i]] = v[i];
#pragma endscop
}
)",
        {integer(5), integer(4), data(Scalar::I32, {5}, {1, 3, 1, 0, 3}), data(Scalar::F64, {5}, numbers),
         data(Scalar::F64, {4}, numbers)});
}

TEST(CImport, WhatIsWrittenByDataMayBeReadInOrder) {
  check(R"(void chain(int n, int p[n], double A[n]) {
#pragma scop
  for (int i = 0; i < n; i++) A[p[i]] = A[i] + 1;
#pragma endscop
}
)",
        {integer(5), data(Scalar::I32, {5}, {1, 3, 4, 0, 3}), data(Scalar::F64, {5}, numbers)});
}

TEST(CImport, WhileLoopsArePartsOfAStatement) {
  check(R"(void steps(int n, int x[n], int count[n]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    int v = x[i];
    int c = 0;
    while (v > 1) {
      if (v % 2 == 0) v = v / 2; else v = 3 * v + 1;
      c++;
    }
    count[i] = c;
  }
#pragma endscop
}
)",
        {integer(6), data(Scalar::I32, {6}, {1, 2, 3, 7, 12, 27}), data(Scalar::I32, {6}, {})});
}

TEST(CImport, WhileLoopsUnderAConditionAndWithDo) {
  check(R"(#include <math.h>
void roots(int n, double x[n], double r[n]) {
  double a, b;
#pragma scop
  for (int i = 0; i < n; i++) {
    r[i] = -1;
    if (x[i] > 0) {
      a = x[i];
      do {
        b = a;
        a = 0.5 * (b + x[i] / b);
      } while (fabs(a - b) > 1e-12);
      r[i] = a;
    }
  }
#pragma endscop
}
)",
        {integer(6), data(Scalar::F64, {6}, numbers), data(Scalar::F64, {6}, {})});
}

// ---- conditions ---------------------------------------------------------------------------------

TEST(CImport, ConditionsOnIndicesAndData) {
  check(R"(void both(int n, double x[n], double y[n], int c[n]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    if (i % 2 == 0 && x[i] > 0) {
      y[i] = x[i];
      c[i] = 1;
    } else if (i > 2)
      y[i] = -x[i];
  }
#pragma endscop
}
)",
        {integer(7), data(Scalar::F64, {7}, numbers), data(Scalar::F64, {7}, {1, 2, 3, 4, 5, 6, 7}),
         data(Scalar::I32, {7}, {})});
}

TEST(CImport, AConditionIsWhatItWasBeforeItsStatementsRan) {
  check(R"(void clip(int n, double x[n], double y[n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    if (x[i] > 2) {
      x[i] = 0;
      y[i] = 1;
    }
#pragma endscop
}
)",
        {integer(7), data(Scalar::F64, {7}, numbers), data(Scalar::F64, {7}, {})});
}

TEST(CImport, GuardedSums) {
  check(R"(void positive(int n, double x[n], double s[1], int m[1]) {
#pragma scop
  s[0] = 0;
  m[0] = -100;
  for (int i = 0; i < n; i++) {
    if (x[i] > 0) s[0] += x[i];
    m[0] = m[0] > i ? m[0] : i;
  }
#pragma endscop
}
)",
        {integer(7), data(Scalar::F64, {7}, numbers), data(Scalar::F64, {1}, {9}),
         data(Scalar::I32, {1}, {9})});
}

TEST(CImport, AConditionOnASumIsNoFold) {
  check(
      R"(void until(int n, double x[n], double s[1], double t[n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    if (s[0] < 8) s[0] += x[i];
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      if (t[j] < 5) t[j] += x[i];
#pragma endscop
}
)",
      {integer(7), data(Scalar::F64, {7}, numbers), data(Scalar::F64, {1}, {1}), data(Scalar::F64, {7}, {})});
}

TEST(CImport, SumsWithAChoice) {
  EXPECT_THAT(check(R"(void repel(int n, double x[n], double y[n], double z[n]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    double acc = 0.0;
    for (int j = 0; j < n; j++) {
      double d = x[i] - x[j];
      if (d != 0.0) acc += 1.0 / (d * d); else acc -= 1.0;
    }
    y[i] = acc;
  }
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++) z[i] = x[j] > 0 ? z[i] - x[j] : z[i];
#pragma endscop
}
)",
                    {integer(7), data(Scalar::F64, {7}, numbers), data(Scalar::F64, {7}, {}),
                     data(Scalar::F64, {7}, numbers)}),
              testing::Not(testing::HasSubstr("from")));
}

// ---- scalars ------------------------------------------------------------------------------------

TEST(CImport, ScalarsThatEveryStepComputesAnew) {
  EXPECT_THAT(
      check(R"(void centre(int n, int m, double A[n][m], double y[n][m]) {
  double mean;
#pragma scop
  for (int i = 0; i < n; i++) {
    mean = 0;
    for (int j = 0; j < m; j++) mean += A[i][j];
    mean = mean / m;
    for (int j = 0; j < m; j++) y[i][j] = A[i][j] - mean;
  }
#pragma endscop
}
)",
            {integer(3), integer(4), data(Scalar::F64, {3, 4}, numbers), data(Scalar::F64, {3, 4}, {})}),
      testing::Not(testing::HasSubstr("from")));  // no loop in time
}

TEST(CImport, ScalarsThatGoFromStepToStep) {
  check(
      R"(void running(int n, double x[n], double y[n], double last[1]) {
  double s = 1, before = 0;
#pragma scop
  for (int i = 0; i < n; i++) {
    s = 0.5 * s + x[i];
    y[i] = s - before;
    before = s;
  }
  last[0] = before;
#pragma endscop
}
)",
      {integer(7), data(Scalar::F64, {7}, numbers), data(Scalar::F64, {7}, {}), data(Scalar::F64, {1}, {})});
}

TEST(CImport, AnArgumentThatIsAssigned) {
  check(R"(void scale(int n, double f, double x[n]) {
#pragma scop
  f = f * f + 1;
  for (int i = 0; i < n; i++) x[i] *= f;
#pragma endscop
}
)",
        {integer(5), Data::scalar(Number::of_double(Scalar::F64, 3)), data(Scalar::F64, {5}, numbers)});
}

TEST(CImport, IntegersDivideAsInC) {
  check(R"(void divide(int n, int a[n], int b[n], int q[n], int r[n], unsigned char c[n]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    q[i] = a[i] / b[i];
    r[i] = a[i] % b[i];
    c[i] = c[i] * 3 + (a[i] < b[i]);
  }
#pragma endscop
}
)",
        {integer(6), data(Scalar::I32, {6}, {7, -7, 7, -7, 6, -6}),
         data(Scalar::I32, {6}, {2, 2, -2, -2, 3, 3}), data(Scalar::I32, {6}, {}), data(Scalar::I32, {6}, {}),
         data(Scalar::U8, {6}, {100, 200, 30, 4, 5, 6})});
}

TEST(CImport, LoopsThatCountOtherwise) {
  check(R"(void ways(int n, double x[n], double y[n]) {
  int i, j;
#pragma scop
  for (i = 1; i <= n - 1; i += 3) y[i] = x[i - 1];
  for (i = n - 1; i >= 0; i -= 2) y[i] = y[i] + 1;
  for (j = n; j > 0; --j) x[j - 1] = x[j - 1] + (j < n ? x[j] : 0);
#pragma endscop
}
)",
        {integer(8), data(Scalar::F64, {8}, numbers), data(Scalar::F64, {8}, numbers)});
}

TEST(CImport, PointersWithRestrictGetTheirExtentsFromTheirUses) {
  EXPECT_THAT(
      check(
          R"(void axpy(int n, double a, const double *restrict x, double *restrict y, double *restrict total) {
#pragma scop
  *total = 0;
  for (int i = 0; i < n; i++) {
    y[i] += a * x[i];
    *total += y[i];
  }
#pragma endscop
}
)",
          {integer(5), Data::scalar(Number::of_double(Scalar::F64, 2)), data(Scalar::F64, {5}, numbers),
           data(Scalar::F64, {5}, numbers), data(Scalar::F64, {1}, {})}),
      testing::HasSubstr("x: f64[n], y: f64[n]"));
}

TEST(CImport, ExtentsFromUsesArePlainSums) {
  EXPECT_THAT(check(R"(void rows(int n, double (*restrict A)[n], double (*restrict B)[n]) {
#pragma scop
  for (int i = 1; i < n - 1; i++)
    for (int j = 0; j < n; j++) B[i][j] = A[i - 1][j] + A[i + 1][j];
#pragma endscop
}
)",
                    {integer(3), data(Scalar::F64, {3, 3}, numbers), data(Scalar::F64, {2, 3}, numbers)}),
              testing::HasSubstr("A: f64[n, n], B: f64[n - 1, n]"));
}

TEST(CImport, UnsignedIndicesStayInside) {
  EXPECT_THAT(check(R"(#include <stddef.h>
void differences(size_t n, double x[n], double y[n]) {
#pragma scop
  for (size_t i = 1; i < n; i++) y[i] = x[i] - x[i - 1];
#pragma endscop
}
)",
                    {Data::scalar(Number::of(Scalar::U64, 7)), data(Scalar::F64, {7}, numbers),
                     data(Scalar::F64, {7}, numbers)}),
              testing::HasSubstr("y_out[i in 1 .. n] into y = x[i] - x[i - 1]"));
}

TEST(CImport, FixedSizesAndLocalNames) {
  check(R"(#define N 6
enum { TAPS = 3 };
void filter(double x[N], const double w[TAPS], double y[N - TAPS + 1]) {
#pragma scop
  const int last = N - TAPS;
  for (int i = 0; i <= last; i++) {
    double sum = 0;
    for (int k = 0; k < TAPS; k++) sum += w[k] * x[i + k];
    y[i] = sum;
  }
#pragma endscop
}
)",
        {data(Scalar::F64, {6}, numbers), data(Scalar::F64, {3}, numbers), data(Scalar::F64, {4}, {})});
}

// ---- order --------------------------------------------------------------------------------------

TEST(CImport, StatementsThatDependOnEachOtherShareALoopInTime) {
  check(R"(void pair(int n, double a[n], double b[n]) {
#pragma scop
  for (int i = 1; i < n; i++) {
    a[i] = a[i] + b[i - 1];
    b[i] = b[i] * a[i];
  }
#pragma endscop
}
)",
        {integer(7), data(Scalar::F64, {7}, numbers), data(Scalar::F64, {7}, numbers)});
}

TEST(CImport, AntiDependencesAreNoneForNewVersions) {
  EXPECT_THAT(check(R"(void shift(int n, double a[n]) {
#pragma scop
  for (int i = 0; i < n - 1; i++) a[i] = a[i + 1];
#pragma endscop
}
)",
                    {integer(7), data(Scalar::F64, {7}, numbers)}),
              testing::HasSubstr("a_out[i < n - 1] into a = a[i + 1]"));
}

TEST(CImport, TheSameElementOverAndOver) {
  check(R"(void collapse(int n, double a[n], double b[n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) a[j] = 0.5 * a[j] + b[i] * a[n - 1 - j];
#pragma endscop
}
)",
        {integer(6), data(Scalar::F64, {6}, numbers),
         data(Scalar::F64, {6}, {0.1, 0.2, 0.3, -0.1, -0.2, 0.4})});
}

TEST(CImport, SeveralFunctionsOfAFile) {
  const CImport imported = import_text(R"(void one(int n, double a[n]) {
#pragma scop
  for (int i = 0; i < n; i++) a[i] = 1;
#pragma endscop
}
static int helper(int x) { return x + 1; }
void two(int n, double a[n]) {
#pragma scop
  for (int i = 0; i < n; i++) a[i] = 2;
#pragma endscop
}
)");
  ASSERT_EQ(imported.module.programs.size(), 2U);
  EXPECT_EQ(print(imported.module.programs[1]), "def two(a: f64[n]) -> a_out {\n  a_out[i < n] = 2.0\n}\n");
}

// ---- the page -----------------------------------------------------------------------------------

TEST(CImport, ThePageShowsWhatComesOut) {
  const std::string page = read_file(fs::path(TWILL_ROOT) / "docs/c.md");
  const auto block = [&](const std::string& language) {
    const std::string open = "```" + language + "\n";
    const std::size_t at = page.find(open) + open.size();
    return page.substr(at, page.find("```", at) - at);
  };
  EXPECT_EQ(check(block("c"),
                  {integer(3), integer(4), data(Scalar::F64, {3, 4}, numbers), data(Scalar::F64, {3}, {})}),
            block("twill"));
}

// ---- refused ------------------------------------------------------------------------------------

struct Case {
  int line = 0;
  std::string program, report;
};

std::vector<Case> cases_in(const fs::path& path) {
  std::vector<Case> cases;
  bool inside = false;
  int number = 0;
  std::istringstream stream(read_file(path));
  for (std::string line; std::getline(stream, line);) {
    ++number;
    if (line.empty()) {
      inside = false;
    } else if (line[0] == '>') {
      if (!inside) cases.push_back({number, "", ""});
      inside = true;
      cases.back().program += line.substr(std::min<std::size_t>(2, line.size())) + "\n";
    } else if (inside) {
      cases.back().report += line + "\n";
    }
  }
  return cases;
}

TEST(CImport, RefusesWordByWord) {
  const std::vector<Case> cases = cases_in(fs::path(TWILL_ROOT) / "tests/errors_c/c.txt");
  EXPECT_GT(cases.size(), 25U);
  for (const Case& c : cases) {
    std::string report = "no error\n";
    try {
      import_text(c.program);
    } catch (const Error& e) {
      report = e.what();
    }
    EXPECT_EQ(report, c.report) << "line " << c.line;
  }
}

TEST(CImport, NeedsLibclang) {
  try {
    import_text("void f(void) {}\n", "libclang-of-nowhere.so");
    FAIL() << "it was found";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(),
                 "failed[E0904]: libclang, which reads C, cannot be opened\n"
                 "  help: install Debian's package libclang1-14\n");
  }
}

TEST(CImport, WhatThePreprocessorRefuses) {
  const WorkDirectory work(temporary_directory());
  write_file(work.path() / "t.c", "#include \"nowhere.h\"\n");
  try {
    preprocess(work.path() / "t.c");
    FAIL() << "it was accepted";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("error[E0615]: the C preprocessor refuses '"));
    EXPECT_THAT(e.what(), testing::HasSubstr("nowhere.h"));
  }
  write_file(work.path() / "t.c", std::string("\x7f"
                                              "ELF\0\0",
                                              6));
  try {
    preprocess(work.path() / "t.c");
    FAIL() << "it was accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.what(), "error[E0615]: the C preprocessor would not understand '" +
                            (work.path() / "t.c").string() +
                            "': it is no text\n  help: give the C file, not what was made of it\n");
  }
}

}  // namespace
}  // namespace twill
