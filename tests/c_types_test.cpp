// C's integer types: conversions that change a value are part of what a function computes, and those that do
// not leave its subscripts and bounds affine.
#include "c_checking.h"

#include <gmock/gmock.h>

namespace twill {
namespace {

Data number(Scalar type, std::int64_t value) { return Data::scalar(Number::of(type, value)); }

/// A function over `int B[n]` and what else is said, whose statements these are.
std::string function(const std::string& arguments, const std::string& statements) {
  return "void f(int n" + arguments + ", int B[n]) {\n#pragma scop\n" + statements + "#pragma endscop\n}\n";
}

TEST(CTypes, ComparisonsWithoutASign) {
  const std::string less =
      function(", unsigned m", "  for (int i = 0; i < n; i++) { if (i - 5 < m) B[i] = 1; else B[i] = 2; }\n");
  check(less, {integer(8), number(Scalar::U32, 2), data(Scalar::I32, {8}, {})});
  check(less, {integer(8), number(Scalar::U32, -2), data(Scalar::I32, {8}, {})});
  check(function("",
                 "  for (int i = 0; i < n; i++)\n"
                 "    if ((unsigned)(i - 2) < (unsigned)(n - 4)) B[i] = B[i] + 1; else B[i] = -1;\n"),
        {integer(8), data(Scalar::I32, {8}, numbers)});
  const std::string sum =
      "void f(unsigned n, int s, int B[n]) {\n#pragma scop\n"
      "  for (unsigned i = 0; i < n; i++) { if (i + s < 4) B[i] = 1; else B[i] = 2; }\n#pragma endscop\n}\n";
  for (const std::int64_t s : {-2, 0, 2})
    check(sum, {number(Scalar::U32, 8), integer(s), data(Scalar::I32, {8}, {})});
  const std::string wide =
      function(", unsigned long z",
               "  for (int i = 0; i < n; i++) B[i] = (i - 3 < z) + 2 * (z - i > 4) + 4 * (i + z < 3);\n");
  for (const std::int64_t z : {-3, 0, 2})
    check(wide, {integer(8), number(Scalar::U64, z), data(Scalar::I32, {8}, {})});
}

/// One comparison for two bounds is what the checker needs.
TEST(CTypes, TheBoundsCheckWithOneComparisonIsAffine) {
  EXPECT_THAT(check(function(", int A[n]",
                             "  for (int i = 0; i < n; i++)\n"
                             "    if ((unsigned)(i - 1) < (unsigned)n) B[i] = A[i - 1];\n"),
                    {integer(6), data(Scalar::I32, {6}, numbers), data(Scalar::I32, {6}, {})}),
              testing::HasSubstr("B_out[i < n] into B = A[i - 1] where i - 1 >= 0"));
  check(function(", int A[n]",
                 "  for (int i = 0; i < n; i++)\n"
                 "    if ((unsigned)n <= (unsigned)(i - 2)) B[i] = 7; else B[i] = A[i - 2];\n"),
        {integer(6), data(Scalar::I32, {6}, numbers), data(Scalar::I32, {6}, {})});
}

TEST(CTypes, SubscriptsThatWrapAround) {
  const std::vector<std::int64_t> shape = {300};
  check(function(", int A[n]", "  for (int i = 0; i < n; i++) B[i] = A[(unsigned char)i];\n"),
        {integer(300), data(Scalar::I32, shape, numbers), data(Scalar::I32, shape, {})});
  check(function(", int A[256]", "  for (int i = 0; i < n; i++) B[i] = A[(unsigned char)(i + 250)];\n"),
        {integer(300), data(Scalar::I32, {256}, numbers), data(Scalar::I32, shape, {})});
  check(function("", "  for (int i = 0; i < n; i++) B[(unsigned char)(2 * i)] = i;\n"),
        {integer(300), data(Scalar::I32, shape, numbers)});
  // A name is as narrow as its type.
  check(function(", int A[n]",
                 "  for (int i = 0; i < n; i++) {\n    const unsigned char k = i;\n"
                 "    B[i] = A[k];\n  }\n"),
        {integer(300), data(Scalar::I32, shape, numbers), data(Scalar::I32, shape, {})});
}

TEST(CTypes, WhatKeepsItsValueStaysAffine) {
  EXPECT_THAT(check(R"(#include <stddef.h>
void f(size_t n, int m, int A[n + 1], int B[n]) {
#pragma scop
  for (size_t i = 0; i < n - 1; i++) B[i] = i > 0 ? A[i - 1] : A[(unsigned char)7 - 7u];
  for (unsigned i = 1; i < n; i++)
    for (unsigned j = i - 1; j < n - i; j++) B[j] += A[(int)(i - 1u) + (long)j];
  for (unsigned i = 2; i < n; i++) B[i + (unsigned)-1] += A[i - 2];
#pragma endscop
}
)",
                    {number(Scalar::U64, 6), integer(3), data(Scalar::I32, {7}, numbers),
                     data(Scalar::I32, {6}, numbers)}),
              testing::AllOf(testing::HasSubstr("if i > 0 then A[i - 1] else A[0]"),
                             testing::HasSubstr("j in i - 1 .. n - i"), testing::HasSubstr("A[i - 2]")));
}

TEST(CTypes, BoundsOfOtherTypes) {
  const std::string loops = R"(#include <stddef.h>
void f(int n, int m, int q[n + 1], int v[n], int B[n]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    B[i] = 0;
    for (size_t e = q[i]; e < q[i + 1]; e++) B[i] += v[e];
  }
  for (int i = 0; i < (unsigned)m; i++) B[i] += 1;
  for (unsigned i = 0; i < m; i++) B[i] += 2;
  for (unsigned i = n; i > m; i--) B[i - 1] += 4;
  for (unsigned char i = 0; i < m; i++) B[i] += 8;
#pragma endscop
}
)";
  // Where a row begins before the first element, it is empty in C, whose index has no sign.
  for (const double first : {0, -1})
    check(loops, {integer(4), integer(3), data(Scalar::I32, {5}, {first, first < 0 ? -1.0 : 1, 1, 3, 4}),
                  data(Scalar::I32, {4}, numbers), data(Scalar::I32, {4}, {})});
}

TEST(CTypes, LoopsThatEndWithAnExactValue) {
  check(R"(void f(unsigned n, unsigned q[n + 1], int B[n], int C[8]) {
#pragma scop
  for (unsigned i = 0; i != n; i++) {
    B[i] = 0;
    for (unsigned e = q[i]; e != q[i + 1]; e++) B[i] += e;
  }
  for (unsigned i = n; i != 0; i--) B[i - 1] += 2;
  for (unsigned short i = 10; i > 3; i -= 3) C[i - 4] += 1;
#pragma endscop
}
)",
        {number(Scalar::U32, 8), data(Scalar::U32, {9}, {0, 1, 1, 3, 4, 4, 4, 5, 9}),
         data(Scalar::I32, {8}, numbers), data(Scalar::I32, {8}, numbers)});
}

TEST(CTypes, ShiftsHaveTheTypeOfWhatIsShifted) {
  check(function(", unsigned x, long k",
                 "  for (int i = 0; i < n; i++) B[i] = ((x << k) >> 3) + (B[i] >> 1u);\n"),
        {integer(6), number(Scalar::U32, -5), number(Scalar::I64, 4), data(Scalar::I32, {6}, numbers)});
}

TEST(CTypes, NarrowNumbersBelowZero) {
  check(
      "void f(int n, short A[n], signed char B[n]) {\n  short s = 4;\n#pragma scop\n"
      "  for (int i = 0; i < n; i++) { A[i] = -s; B[i] = i < 2 ? -7 : -128; }\n#pragma endscop\n}\n",
      {integer(4), data(Scalar::I16, {4}, {}), data(Scalar::I8, {4}, {})});
}

TEST(CTypes, FoldsOverRangesThatDataDecide) {
  check(function(", int p[n], int y[n]",
                 "  int s = 1;\n  for (int i = 1; i < n; i++)\n    for (int j = 1; j < n; j++)\n"
                 "      for (int k = 1; k < p[j]; k++) s += y[k] * j;\n  B[0] = s;\n"),
        {integer(5), data(Scalar::I32, {5}, {0, 3, 5, 1, 2}), data(Scalar::I32, {5}, numbers),
         data(Scalar::I32, {5}, {})});
}

}  // namespace
}  // namespace twill
