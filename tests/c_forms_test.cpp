// C as people write it: macros of several statements, tiles, loops with several conditions and variables, and
// calls of small functions.
#include "c_checking.h"

#include <gmock/gmock.h>

namespace twill {
namespace {

using testing::HasSubstr;

std::vector<Data> three_matrices(std::int64_t n) {
  std::vector<Data> all = {integer(n)};
  for (int k = 0; k < 3; ++k) {
    Data matrix(Scalar::F64, {n, n});
    for (std::int64_t at = 0; at < n * n; ++at)
      matrix.set(at, Number::of_double(Scalar::F64, static_cast<double>((3 * at + k) % 7) - 2));
    all.push_back(std::move(matrix));
  }
  return all;
}

TEST(CForms, MacrosOfSeveralStatements) {
  const auto with = [](const std::string& swap) {
    return "#define SWAP(a, b) " + swap +
           "\nvoid f(int n, double A[n], double B[n]) {\n#pragma scop\n  for (int i = 0; i < n; i++)\n"
           "    if (A[i] > 1) SWAP(A[i], B[i]);\n#pragma endscop\n}\n";
  };
  const std::vector<Data> arguments = {integer(7), data(Scalar::F64, {7}, numbers),
                                       data(Scalar::F64, {7}, {})};
  EXPECT_EQ(check(with("do { double t = a; a = b; b = t; } while (0)"), arguments),
            check(with("{ double t = a; a = b; b = t; }"), arguments));
}

TEST(CForms, FunctionsOfMathH) {
  check(
      "#include <math.h>\nvoid f(int n, double A[n], float B[n]) {\n#pragma scop\n"
      "  for (int i = 0; i < n; i++) { A[i] = round(A[i] / 2) + fmax(A[i], 1); B[i] = roundf(B[i] / 4); }\n"
      "#pragma endscop\n}\n",
      {integer(7), data(Scalar::F64, {7}, numbers), data(Scalar::F32, {7}, numbers)});
}

TEST(CForms, TilesWithMinAndMax) {
  const std::string text = R"(#define min(x, y) ((x) < (y) ? (x) : (y))
#define max(x, y) ((x) > (y) ? (x) : (y))
void f(int n, double A[n][n], double B[n][n], double C[n][n]) {
#pragma scop
  for (int ii = 0; ii < n; ii += 2)
    for (int jj = 0; jj < n; jj += 3)
      for (int kk = 0; kk < n; kk += 2)
        for (int i = ii; i < min(n, ii + 2); i++)
          for (int j = jj; j <= min(jj + 2, n - 1); j++)
            for (int k = kk; k < min(kk + 2, n); k++) C[i][j] += A[i][k] * B[k][j];
  for (int t = 0; t <= 2 * n - 2; t++)
    for (int i = max(0, t - n + 1); i <= min(n - 1, t); i++) A[i][t - i] += 1;
  for (int ii = 0; ii < n; ii += 3)
    for (int i = max(1, ii); i < min(n - 1, ii + 3); i++) B[i][0] = C[i - 1][1] + C[i + 1][0];
#pragma endscop
}
)";
  for (const std::int64_t n : {1, 2, 5}) check(text, three_matrices(n));
}

TEST(CForms, SeveralConditionsOfALoop) {
  const std::string text = R"(void f(int n, double A[n][n], double B[n][n], double C[n][n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n && j < i; j++) A[i][0] += B[i][j];
  for (int i = n - 1; i >= 0 && i > n - 4; i--) C[i][0] = A[i][n - 1];
#pragma endscop
}
)";
  EXPECT_THAT(check(text, three_matrices(5)), HasSubstr("j < min(n, i)"));
  check(text, three_matrices(2));
}

TEST(CForms, SeveralVariablesOfALoop) {
  const std::string text = R"(void f(int n, double A[n][n], double B[n][n], double C[n][n]) {
  int k;
#pragma scop
  for (int i = 0, j = 1; i < n - 1; i++, j++) B[i][j] = A[j][i];
  for (int i = 0, last = n - 1; i < last; i++) C[i][i] = A[i][last];
  for (k = 0; k < n; k++) A[k][k] = k;
#pragma endscop
}
)";
  EXPECT_THAT(check(text, three_matrices(5)), HasSubstr("[i, i] <- A[i, n - 1] | i < n - 1 }"));
}

TEST(CForms, CallsOfFunctionsThatReturnAValue) {
  const std::string text = R"(#include <math.h>
static inline double sq(double x) { return x * x; }
static double clip(double x, double lo, double hi) {
  if (x < lo) return lo;
  if (x > hi) return hi;
  return x;
}
static inline int least(int a, int b) { return a < b ? a : b; }
static int next(int i, int n) {
  const int k = i + 1;
  return k < n ? k : 0;
}
static inline double behind(int n, const double *a, int i) { return a[next(i, n)]; }
static inline unsigned char low(int x) { return x; }
static double often(double x) {
  double y = sin(x) * cos(x) + tan(x) * exp(x) + sqrt(x * x);
  if (y > 1) {
    double z = y * y + 1;
    return z + z;
  } else
    return y * y;
}
void f(int n, int m, double A[n], double B[n]) {
#pragma scop
  for (int i = 0; i < least(n, m); i++) A[i] = sq(A[i] + 1) + clip(B[i], -1, 1) + behind(n, B, i) + low(i + 254);
  for (int i = 0; i < n; i++) B[i] = often(often(A[i] / 100));
#pragma endscop
}
)";
  for (const int m : {2, 7})
    check(text, {integer(5), integer(m), data(Scalar::F64, {5}, numbers), data(Scalar::F64, {5}, numbers)});
}

TEST(CForms, CallsInsideOfFoldsAndWhileLoops) {
  check(R"(static double half(double x) {
  double y = x * x + x / 3 + 1 / (x * x + 2) - x * x * x / 7;
  return y > 0 ? y / 2 : -y / 2;
}
static int least(int a, int b) { return a < b ? a : b; }
void f(int n, double A[n], double B[n], int C[n]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    B[i] = 0;
    for (int j = 0, k = i; j <= i; j++, k--) B[i] += half(A[j]) * half(half(A[k]));
    double v = 100;
    while (v > 1) v = v / 2 - half(v) / 1000;
    A[i] = v;
    for (int j = 0; j < n; j++) C[i] = least(C[i], C[j] - i);
  }
#pragma endscop
}
)",
        {integer(5), data(Scalar::F64, {5}, numbers), data(Scalar::F64, {5}, {}),
         data(Scalar::I32, {5}, {5, 4, 9, -3, 7})});
}

TEST(CForms, CallsOfFunctionsThatWrite) {
  check(R"(static inline void put(double *a, int i, double v) {
  v *= 2;
  a[i] = v;
}
static void twice(int n, double a[n], double b[n]) {
  for (int i = 0; i < n; i++) {
    double old = a[i];
    put(a, i, b[i]);
    put(b, i, old);
  }
}
void f(int n, double A[n], double B[n]) {
#pragma scop
  twice(n, A, B);
  twice(n, B, A);
#pragma endscop
}
)",
        {integer(5), data(Scalar::F64, {5}, numbers), data(Scalar::F64, {5}, {1, 2, 3, 4, 5})});
}

TEST(CForms, ASubscriptMayBeChosen) {
  check(
      "void f(int n, double A[n], double B[n]) {\n#pragma scop\n"
      "  for (int i = 0; i < n; i++) B[i] = A[i > 0 ? i - 1 : n - 1] + A[i < 2 ? 0 : i];\n#pragma "
      "endscop\n}\n",
      {integer(5), data(Scalar::F64, {5}, numbers), data(Scalar::F64, {5}, {})});
}

}  // namespace
}  // namespace twill
