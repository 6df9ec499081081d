// What simplify makes of a program, as text; and that both mean the same, with the interpreter and compiled.
#include "simplify/simplify.h"
#include "driver/agree.h"
#include "driver/compile.h"
#include "fuzz/generate.h"
#include "program/check.h"
#include "program/text.h"
#include "temporary_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace twill {
namespace {

struct Case {
  const char* name;
  const char* before;
  const char* after;
};

/// Without the first line break and the indentation that all lines share.
std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \n");
  if (first == std::string::npos) return "";
  const std::string indent = text.substr(0, first);
  std::string result = text.substr(first);
  for (std::size_t at = result.find(indent); at != std::string::npos; at = result.find(indent, at + 1))
    result.replace(at, indent.size(), "\n");
  return result + "\n";
}

const Case cases[] = {
    // ---- lengths
    {"ACollectionOfAllPointsIsAnArray",
     R"(
      def f(x: f64[N]) -> y { y = [ 2 * v | v in x ] })",
     R"(
      def f(x: f64[N]) -> y {
        y[v] = 2.0 * x[v]
      })"},
    {"TheLengthOfARangeMayBeNegative",
     R"(
      def f(n: i64) -> (y, m) { y = [ i * i | i in 2 .. n ]
                                m = len(y) })",
     R"(
      def f(n: i64) -> (y, m) {
        stage y(i in 2 .. n) {
          out y: i64[n - 2] at [i - 2] = cat(i) i * i
        }
        m = max(n - 2, 0)
      })"},
    {"AFlatMapOfFixedWidth",
     R"(
      def f(n: i64) -> y { y = [ i * j | i < n, j < 3 ] })",
     R"(
      def f(n: i64) -> y {
        stage y(i < n, j < 3) {
          out y: i64[n * 3] at [i * 3 + j] = cat(i) cat(j) i * j
        }
      })"},
    {"RowsOfFixedWidthNeedNoOffsets",
     R"(
      def f(x: i64[N]) -> (c.values, s) { c = [ [ x[i] + k | k < 4 ] | i < N ]
                                          s[i < N] = c[i][0] })",
     R"(
      def f(x: i64[N]) -> (c, s) {
        stage c(i < N, k < 4) {
          out c: i64[N * 4] at [i * 4 + k] = cat(i) cat(k) x[i] + k
        }
        s[i < N] = c[i * 4]
      })"},
    {"OnlyTheLengthOfAMapIsUsed",
     R"(
      def f(x: f64[N]) -> y { p = [ 2 * v | v in x ]
                              y[i < len(p)] = i })",
     R"(
      def f(x: f64[N]) -> y {
        y[i < N] = i
      })"},
    {"OnlyTheLengthOfAFilterIsUsed",
     R"(
      def f(x: f64[N]) -> (n, y) { p = [ 2 * v | v in x, v > 0.5 ]
                                   n = len(p) + 1
                                   y[i < len(p)] = i })",
     R"(
      def f(x: f64[N]) -> (n, y) {
        stage p(v < N) {
          out p_count: i64 = fold(+, v) 1 where x[v] > 0.5
        }
        n = p_count + 1
        y[i < p_count] = i
      })"},
    {"TheMeanOfAFlatMap",
     R"(
      def f(x: f64[N], y: f64[M]) -> m { p = [ a * b | a in x, b in y ]
                                         m = (sum(k) p[k]) / len(p) })",
     R"(
      def f(x: f64[N], y: f64[M]) -> m {
        m_sum = sum(a, b) x[a] * y[b]
        m = m_sum / f64(N * M)
      })"},
    {"TheLengthOfATriangleIsNotKnown",
     R"(
      def f(n: i64) -> (y, m) { y = [ i * j | i < n, j < i ]
                                m = len(y) })",
     R"(
      def f(n: i64) -> (y, m) {
        y = [ i * j | i < n, j < i ]
        m = y_len
      })"},
    // ---- no points
    {"NothingPasses",
     R"(
      def f(x: i64[N]) -> (s, h, c) { e = [ v | v in x, 1 > 2 ]
                                      m[k] = e[k] * 2
                                      s = sum(k) m[k]
                                      for v in m { print(v) }
                                      h: i64[4] = scatter(+) { [v % 4] <- 1 | v in m }
                                      c = m })",
     R"(
      def f(x: i64[N]) -> (s, h, c) {
        c[i0_2 < 0] = 0
        s: i64 = 0
        h[i0_3 < 4] = 0
      })"},
    {"AFoldOfNothingInsideOfAnother",
     R"(
      def f(x: i64[N]) -> m { m = max(i) sum(j < 0) x[i] })",
     R"(
      def f(x: i64[N]) -> m {
        m: i64 = max(i < N) 0
      })"},
    {"AFoldOfNothingWithoutIdentityStays",
     R"(
      op left(a: i64, b: i64) -> i64 associative { a }
      def f(x: i64[N]) -> m { m = fold(left, j < 0) N })",
     R"(
      op left(a: i64, b: i64) -> i64 associative {
        a
      }

      def f(x: i64[N]) -> m {
        m = fold(left, j < 0) N
      })"},
    {"AVersionWithoutChanges",
     R"(
      def f(x: i64[N], y: i64[N]) -> z { p = x with { [0 * i] <- 1 | i < 0 }
                                         z[i] = p[i] + y[i] })",
     R"(
      def f(x: i64[N], y: i64[N]) -> z {
        z[i] = x[i] + y[i]
      })"},
    {"GroupsOfNothing",
     R"(
      def f(x: i64[N]) -> (g, n) { g = group [ (v % 4, v) | v in x, 1 > 2 ]
                                   n = len(g) })",
     R"(
      def f(x: i64[N]) -> (g, g_offsets, g_keys, n) {
        g[i0 < 0] = 0
        stage g_offsets() {
          out g_offsets: i64[1] at [0] = 0
        }
        g_keys[i0_3 < 0] = 0
        n: i64 = 0
      })"},
    // ---- one point
    {"OneStepIsNoLoop",
     R"(
      def f(x: i64[N]) -> t { one[i < 1] = x[pad(0)] + i
                              two[i] = one[i] * 2
                              for i < 1 { print("two", i) }
                              t = sum(i) two[i] })",
     R"(
      def f(x: i64[N]) -> t {
        t = x[pad(0)] * 2
        print("two", 0)
      })"},
    {"OneStepOfAFoldUnderACondition",
     R"(
      def f(x: f64[N]) -> t { t[i] = sum(j < 1) x[i] where x[i] > 0.5 })",
     R"(
      def f(x: f64[N]) -> t {
        t[i] = if x[i] > 0.5 then 0.0 + x[i] else 0.0
      })"},
    {"OneStepAroundABlock",
     R"(
      def f(x: f64[N], c: f64) -> t { t[i < 1, k < N] = if c > 0.5 then sum(j < k) x[j] * i else 1 })",
     R"(
      def f(x: f64[N], c: f64) -> t {
        stage t(k < N) {
          block {
            stage t_if() {
              if c > 0.5 {
                t_if_then = sum(j < k) x[j] * 0.0
              } else {
                t_if_else: f64 = 1.0
              }
              out t_if: f64 = t_if_then else t_if_else
            }
          }
          out t: f64[1, N] at [0, k] = cat(k) t_if
        }
      })"},
    // ---- invariant work
    {"AStageOfALoopThatIsTheSameAtEveryStep",
     R"(
      def f(x: f64[N], u0: f64[N], T: i64) -> u { u = seq t < T from u0 { k[i] = x[i] * x[i]
                                                                          s = sum(i) k[i]
                                                                          u[i] = u[i] * k[i] + s } })",
     R"(
      def f(x: f64[N], u0: f64[N], T: i64) -> u {
        k[i] = x[i] * x[i]
        s = sum(i) k[i]
        u = seq t < T from u0 {
          u_next[i] = u_now[i] * k[i] + s
        }
      })"},
    {"OutOfTwoLoopsAndFusedThere",
     R"(
      def f(x: f64[N], u0: f64[N], T: i64) -> u { u = seq t < T from u0 { v = seq r < T from u0 { a[i] = x[i] * 2
                                                                                                  k[i] = a[i] + 1
                                                                                                  v[i] = v[i] * k[i] }
                                                                          u[i] = u[i] + v[i] } })",
     R"(
      def f(x: f64[N], u0: f64[N], T: i64) -> u {
        k[i] = x[i] * 2.0 + 1.0
        v = seq r < T from u0 {
          v_next[i] = v_now[i] * k[i]
        }
        u = seq t < T from u0 {
          u_next[i] = u_now[i] + v[i]
        }
      })"},
    {"WhatMayFailStaysInALoopThatMayNotRun",
     R"(
      def f(n: i64, T: i64) -> u { s = 0 * T
                                   u = seq t < T from s { k = 100 / n
                                                          u = u + k + t } })",
     R"(
      def f(n: i64, T: i64) -> u {
        s: i64 = 0
        u = seq t < T from s {
          u_next = u_now + 100 / n + t
        }
      })"},
    {"WhatMayFailLeavesALoopThatRuns",
     R"(
      def f(n: i64) -> u { s = 0 * n
                           u = seq t < 3 from s { k = 100 / n
                                                  u = u + k + t } })",
     R"(
      def f(n: i64) -> u {
        s: i64 = 0
        k = 100 / n
        u = seq t < 3 from s {
          u_next = u_now + k + t
        }
      })"},
    {"AnElementThatOnlyTheLoopProvesToBeThere",
     R"(
      def f(x: i64[N]) -> y { y[i < N] = sum(j < 30) x[0] * j })",
     R"(
      def f(x: i64[N]) -> y {
        y[i < N] = sum(j < 30) x[0] * j
      })"},
    {"AFoldThatIsTheSameForAllRows",
     R"(
      def f(x: f64[N], w: f64[M]) -> y { y[i < N] = sum(j) w[j] * w[j] })",
     R"(
      def f(x: f64[N], w: f64[M]) -> y {
        y_fold = sum(j) w[j] * w[j]
        y[i < N] = y_fold
      })"},
    {"AFoldThatIsTheSameForAllColumns",
     R"(
      def f(x: f64[N, M], k: i64) -> y { y[i, c < k] = sum(j) x[i, j] where x[i, j] > 0.25 })",
     R"(
      def f(x: f64[N, M], k: i64) -> y {
        y_fold[i] = sum(j) x[i, j] where x[i, j] > 0.25
        y[i, c < k] = y_fold[i]
      })"},
    {"AFoldWithoutIdentityStaysWithItsRows",
     R"(
      op first(a: i64, b: i64) -> i64 associative { a }
      def f(x: i64[N]) -> y { y[i < N] = fold(first, j) x[j] })",
     R"(
      op first(a: i64, b: i64) -> i64 associative {
        a
      }

      def f(x: i64[N]) -> y {
        y[i < N] = fold(first, j) x[j]
      })"},
    {"ACheapMapIsComputedWhereItIsRead",
     R"(
      def f(u0: f64[N], T: i64) -> u { u = seq t < T from u0 { k[i < N] = 0.5 * i
                                                               u[i] = u[i] * k[i] } })",
     R"(
      def f(u0: f64[N], T: i64) -> u {
        u = seq t < T from u0 {
          u_next[i] = u_now[i] * (0.5 * f64(i))
        }
      })"},
    {"ALengthThatOnlyTheStageAroundNeeds",
     R"(
      def f(x: i64[N]) -> y {
        stage s(i < N) {
          block { c = [ v | v in x, v > i ] }
          out y: i64[N] at [i] = cat(i) c_len
        }
      })",
     R"(
      def f(x: i64[N]) -> y {
        stage s(i < N) {
          block {
            stage c(v < N) {
              out c_count: i64 = fold(+, v) 1 where x[v] > i
            }
          }
          out y: i64[N] at [i] = cat(i) c_count[]
        }
      })"},
    {"FusionMakesALoopInvariant",
     R"(
      def f(x: f64[N], w: f64[M]) -> (y, z) { a[i < N] = 3
                                              y[i] = x[i] * sum(j) w[j] * a[i]
                                              z = sum(j) w[j] })",
     R"(
      def f(x: f64[N], w: f64[M]) -> (y, z) {
        y_sum_fold = sum(j) w[j] * 3.0
        y[i] = x[i] * y_sum_fold
        z = sum(j) w[j]
      })"},
    // ---- constants and expressions
    {"ConstantArraysAreRead",
     R"(
      def f(x: i64[N]) -> (y, z) { w: i64[3] = [4, 5, 6]
                                   k = 7
                                   ones[i < N] = 1
                                   y[i] = x[i] * w[1] + ones[i]
                                   z[i] = x[i] + w[i % 3] })",
     R"(
      def f(x: i64[N]) -> (y, z) {
        const w: i64[3] = [4, 5, 6]
        y[i] = x[i] * 5 + 1
        z[i] = x[i] + w[i % 3]
      })"},
    {"CallsWithLiteralsAreValues",
     R"(
      fn power(a: i64, n: i64) -> i64 = if n == 0 then 1 else a * (if n > 1 then pow(a, n - 1) else 1)
      fn share(a: i64, n: i64) -> i64 = a / n
      def f(x: i64[N]) -> y { y[i] = x[i] * power(2, 5) + (if x[i] > 5 then share(1, 0) else 0) })",
     R"(
      fn power(a: i64, n: i64) -> i64 = if n == 0 then 1 else a * (if n > 1 then pow(a, n - 1) else 1)
      fn share(a: i64, n: i64) -> i64 = a / n

      def f(x: i64[N]) -> y {
        y[i] = x[i] * 32 + (if x[i] > 5 then share(1, 0) else 0)
      })"},
    {"ConditionsThatAreKnown",
     R"(
      def f(x: i64[N]) -> (y, s) { y[i] = if N == N then x[i] + 1 - 1 else x[i] * 7
                                   if N >= N { s = sum(i) x[i] where x[i] == x[i] } else { s = max(i) x[i] } })",
     R"(
      def f(x: i64[N]) -> (y, s) {
        y[i] = x[i]
        s = sum(i) x[i]
      })"},
    {"ADivisionByZeroIsNotForgotten",
     R"(
      def f(x: i64[N], n: i64) -> (y, z) { y[i] = x[i] / n - x[i] / n
                                           z = 1 / 0 })",
     R"(
      def f(x: i64[N], n: i64) -> (y, z) {
        y[i] = x[i] / n - x[i] / n
        z = 1 / 0
      })"},
    // ---- the same twice
    {"TheSameStageTwice",
     R"(
      def f(x: f64[N]) -> (y, z) { a[i] = x[i] * 2
                                   b[j] = x[j] * 2
                                   y[i] = a[i] + a[N - 1 - i]
                                   z[i] = b[i] - b[N - 1 - i] })",
     R"(
      def f(x: f64[N]) -> (y, z) {
        a[i] = x[i] * 2.0
        y[i] = a[i] + a[N - 1 - i]
        z[i] = a[i] - a[N - 1 - i]
      })"},
    {"TheSameCollectionTwice",
     R"(
      def f(x: f64[N]) -> (y, z, n) { a = [ v * 2 | v in x, v > 0.5 ]
                                      b = [ w * 2 | w in x, w > 0.5 ]
                                      y[k] = a[k] + k
                                      z[k] = b[k] * k
                                      n = len(a) + len(b) })",
     R"(
      def f(x: f64[N]) -> (y, z, n) {
        a = [ x[v] * 2.0 | v, x[v] > 0.5 ]
        y[k] = a[k] + f64(k)
        z[k] = a[k] * f64(k)
        n = a_len + a_len
      })"},
    {"TheLaterOneIsAResult",
     R"(
      def f(x: f64[N]) -> (s, t) { m = sum(i) x[i]
                                   t = sum(j) x[j]
                                   s[i] = x[i] / m })",
     R"(
      def f(x: f64[N]) -> (s, t) {
        t = sum(j) x[j]
        s[i] = x[i] / t
      })"},
    {"TwoResultsStayTwo",
     R"(
      def f(x: f64[N]) -> (s, t) { s = sum(i) x[i]
                                   t = sum(j) x[j] })",
     R"(
      def f(x: f64[N]) -> (s, t) {
        s = sum(i) x[i]
        t = sum(j) x[j]
      })"},
    {"WhatIsForcedStays",
     R"(
      def f(x: f64[N]) -> (y, z) { a[i] = x[i] * 2 + 1
                                   b[i] = x[i] * 2 + 1
                                   force(b)
                                   y[i] = a[i] + a[N - 1 - i]
                                   z[i] = b[i] - b[N - 1 - i] })",
     R"(
      def f(x: f64[N]) -> (y, z) {
        a[i] = x[i] * 2.0 + 1.0
        b[i] = x[i] * 2.0 + 1.0
        force(b)
        y[i] = a[i] + a[N - 1 - i]
        z[i] = b[i] - b[N - 1 - i]
      })"},
    {"TheSameInALoop",
     R"(
      def f(x: f64[N], T: i64) -> (y, u) { a[i] = x[i] * 2
                                           y[i] = a[i] + a[N - 1 - i]
                                           u = seq t < T from x { b[i] = x[i] * 2
                                                                  u[i] = u[i] + b[N - 1 - i] } })",
     R"(
      def f(x: f64[N], T: i64) -> (y, u) {
        a[i] = x[i] * 2.0
        y[i] = a[i] + a[N - 1 - i]
        u = seq t < T from x {
          u_next[i] = u_now[i] + a[N - 1 - i]
        }
      })"},
    // ---- copies
    {"ACopyIsAnotherName",
     R"(
      def f(x: i64[N]) -> (y, z, s) { p[i] = x[i] % 7
                                      q[i] = p[i]
                                      y = q
                                      z[i] = q[i] + p[N - 1 - i]
                                      t = sum(i) x[i]
                                      s = t })",
     R"(
      def f(x: i64[N]) -> (y, z, s) {
        y[i] = x[i] % 7
        z[i] = y[i] + y[N - 1 - i]
        s = sum(i) x[i]
      })"},
    {"AResultIsAnArrayOfItsOwn",
     R"(
      def f(x: i64[N]) -> (y, z, w) { y[i] = x[i] % 7
                                      z[i] = y[i]
                                      w[i] = x[i] })",
     R"(
      def f(x: i64[N]) -> (y, z, w) {
        y[i] = x[i] % 7
        z[i] = y[i]
        w[i] = x[i]
      })"},
    {"EqualOutputsOfAStage",
     R"(
      def f(x: i64[N]) -> (s, t) {
        stage two(i < N) {
          out s: i64 = fold(+, i) x[i] % 10
          out a: i64 = fold(max, i) x[i]
          out b: i64 = fold(max, i) x[i]
        }
        t = a * b })",
     R"(
      def f(x: i64[N]) -> (s, t) {
        stage two(i < N) {
          out s: i64 = fold(+, i) x[i] % 10
          out a: i64 = fold(max, i) x[i]
        }
        t = a * a
      })"},
    // ---- buckets
    {"AFoldOfEachBucket",
     R"(
      def f(key: i64[N], v: f64[N]) -> (k, s) { g = group [ (key[i], v[i]) | i ]
                                                k[b] = g.keys[b]
                                                s[b] = sum(j) g[b][j] })",
     R"(
      def f(key: i64[N], v: f64[N]) -> (k, s.values) {
        stage g(i < N) {
          out s: f64[g_len] keys k: i64[born g_len] key key[i] = group(+, i) v[i]
        }
      })"},
    {"TheMeanOfEachBucket",
     R"(
      def f(key: i64[N], v: f64[N]) -> (k, m) { g = group [ (key[i], v[i]) | i ]
                                                k[b] = g.keys[b]
                                                m[b] = (sum(j) g[b][j]) / len(g[b]) })",
     R"(
      def f(key: i64[N], v: f64[N]) -> (k, m) {
        stage g(i < N) {
          out m_sum: f64[g_len] keys k: i64[born g_len] key key[i] = group(+, i) v[i]
          out g_count: i64[g_len] key key[i] = group(+, i) 1
        }
        m[b] = m_sum[b] / f64(g_count[b])
      })"},
    {"SomeElementsOfEachBucket",
     R"(
      def f(key: i64[N], v: i64[N]) -> (n, m) { g = group [ (key[i] % 5, v[i]) | i, v[i] != 3 ]
                                                n[b] = sum [ 100 / x | x in g[b], x > 0 ]
                                                m = [ max [ x + g.keys[b] | x in g[b] ] | b < len(g) ] })",
     R"(
      def f(key: i64[N], v: i64[N]) -> (n.values, m) {
        stage g(i < N) {
          out n: i64[g_len] keys g_keys: i64[born g_len] key key[i] % 5 = group(+, i) if v[i] > 0 then 100 / v[i] else 0 where v[i] != 3
          out m: i64[g_len] key key[i] % 5 = group(max, i) v[i] + key[i] % 5 where v[i] != 3
        }
      })"},
    {"FoldsOfBucketsAreFolded",
     R"(
      def f(key: i64[N], v: i64[N]) -> (a, b) { g = group [ ((key[i] + j) % 5, v[i] - j) | i, j < 3 ]
                                                a = max(b < len(g)) sum(j) g[b][j]
                                                b[i < min(len(g), 2)] = sum(j) g[i][j] % 10 })",
     R"(
      def f(key: i64[N], v: i64[N]) -> (a, b) {
        stage g(i < N, j < 3) {
          out g_fold: i64[g_len] keys g_keys: i64[born g_len] key (key[i] + j) % 5 = group(+, i) group(+, j) v[i] - j
          out g_fold_2: i64[g_len] key (key[i] + j) % 5 = group(+, i) group(+, j) (v[i] - j) % 10
        }
        a = max(b in 0 .. g_len) g_fold[b]
        b[i < min(g_len, 2)] = g_fold_2[i]
      })"},
    {"KeysWithoutValues",
     R"(
      def f(key: i64[N]) -> (n, k) { g = group [ (key[i] % 5, i) | i ]
                                     n = len(g)
                                     k[b] = 2 * g.keys[b] })",
     R"(
      def f(key: i64[N]) -> (n, k) {
        stage g(i < N) {
          out g_any: bool[g_len] keys g_keys: i64[born g_len] key key[i] % 5 = group(or, i) true
        }
        n = g_len
        k[b] = 2 * g_keys[b]
      })"},
    {"WhatFoldsOfBucketsNeedComesFirst",
     R"(
      def f(key: i64[N], v: i64[N]) -> (k, s) { g = group [ (key[i] % 5, v[i]) | i ]
                                                k[b] = g.keys[b] + 1
                                                m = max(i) v[i]
                                                s[b] = sum(j) abs(g[b][j] - m) })",
     R"(
      def f(key: i64[N], v: i64[N]) -> (k, s.values) {
        m = max(i) v[i]
        stage g(i < N) {
          out s: i64[g_len] keys g_keys: i64[born g_len] key key[i] % 5 = group(+, i) abs(v[i] - m)
        }
        k[b] = g_keys[b] + 1
      })"},
    {"BucketsOfRecordsWithAnOperatorWithoutIdentity",
     R"(
      type P = { a: i64, b: i64 }
      op hull(x: P, y: P) -> P associative { { a: min(x.a, y.a), b: max(x.b, y.b) } }
      def f(key: i64[N], v: i64[N]) -> h { g = group [ ((key[i] % 3, v[i] > 0), { a: v[i], b: v[i] }) | i ]
                                           h[b] = fold(hull, j) g[b][j] })",
     R"(
      type P = { a: i64, b: i64 }
      op hull(x: P, y: P) -> P associative {
        P { a: min(x.a, y.a), b: max(x.b, y.b) }
      }

      def f(key: i64[N], v: i64[N]) -> h.values {
        stage g(i < N) {
          out h: P[g_len] keys g_keys: (i64, bool)[born g_len] key (key[i] % 3, v[i] > 0) = group(hull, i) P { a: v[i], b: v[i] }
        }
      })"},
    // ---- buckets that stay
    {"ThePositionInABucketIsUsed",
     R"(
      def f(key: i64[N], v: i64[N]) -> s { g = group [ (key[i] % 5, v[i]) | i ]
                                           s[b] = sum(j) j * g[b][j] })",
     R"(
      def f(key: i64[N], v: i64[N]) -> s {
        g = group [ (key[i] % 5, v[i]) | i ]
        s[b] = sum(j < g_offsets[b + 1] - g_offsets[b]) j * g.values[g_offsets[b] + j]
      })"},
    {"AMeanIsNeededForTheVariance",
     R"(
      def f(key: i64[N], v: f64[N]) -> d { g = group [ (key[i] % 5, v[i]) | i ]
                                           m[b] = sum(j) g[b][j] / len(g[b])
                                           d[b] = sum(j) (g[b][j] - m[b]) * (g[b][j] - m[b]) })",
     R"(
      def f(key: i64[N], v: f64[N]) -> d {
        g = group [ (key[i] % 5, v[i]) | i ]
        m[b] = sum(j < g_offsets[b + 1] - g_offsets[b]) g.values[g_offsets[b] + j] / f64(g_offsets[b + 1] - g_offsets[b])
        d[b] = sum(j < g_offsets[b + 1] - g_offsets[b]) (g.values[g_offsets[b] + j] - m[b]) * (g.values[g_offsets[b] + j] - m[b])
      })"},
    {"AFoldThatMayFailStaysInItsBucket",
     R"(
      def f(key: i64[N], v: i64[N]) -> s { g = group [ (key[i] % 5, v[i]) | i ]
                                           s[b < min(len(g), 1)] = sum(j) 100 / g[b][j] })",
     R"(
      def f(key: i64[N], v: i64[N]) -> s {
        g = group [ (key[i] % 5, v[i]) | i ]
        s[b < min(g_len, 1)] = sum(j < g_offsets[b + 1] - g_offsets[b]) 100 / g.values[g_offsets[b] + j]
      })"},
    {"AnOperatorOfTheUsersLeavesOutElements",
     R"(
      op either(a: i64, b: i64) -> i64 associative { identity 7
                                                     if a == 7 then b else a }
      def f(key: i64[N], v: i64[N]) -> s { g = group [ (key[i] % 5, v[i]) | i ]
                                           s[b] = fold(either) [ x | x in g[b], x > 2 ] })",
     R"(
      op either(a: i64, b: i64) -> i64 associative {
        identity 7
        if a == 7 then b else a
      }

      def f(key: i64[N], v: i64[N]) -> s {
        g = group [ (key[i] % 5, v[i]) | i ]
        s[b] = fold(either, x in g_offsets[b] .. g_offsets[b + 1]) g.values[x] where g.values[x] > 2
      })"},
    {"AllElementsOfAllBucketsInOrder",
     R"(
      strict def f(key: i64[N], v: f64[N]) -> s { g = group [ (key[i] % 5, v[i]) | i ]
                                                  s = sum(b < len(g), j < len(g[b])) g[b][j] })",
     R"(
      strict def f(key: i64[N], v: f64[N]) -> s {
        g = group [ (key[i] % 5, v[i]) | i ]
        s = sum(b, j < g_offsets[b + 1] - g_offsets[b]) g.values[g_offsets[b] + j]
      })"},
    // ---- elements that are computed where they are read
    {"AFewOfManyPlanes",
     R"(
      def f(u: f32[8, N], k: i64[N]) -> y { a[p, x] = 2 * u[p, x]
                                            y[x] = a[max(min(k[x], 6), 0), x] + a[max(min(k[x], 6), 0) + 1, x] })",
     R"(
      def f(u: f32[8, N], k: i64[N]) -> y {
        y[x] = 2.0 * u[max(min(k[x], 6), 0), x] + 2.0 * u[max(min(k[x], 6), 0) + 1, x]
      })"},
    {"BordersAreThoseOfWhatIsRead",
     R"(
      def f(u: f32[N]) -> y { a[i] = 2 * u[i]
                              y[i < N / 2] = a[clamp(2 * i - 1)] + a[mirror(2 * i + 5)] })",
     R"(
      def f(u: f32[N]) -> y {
        y[i < N / 2] = 2.0 * u[clamp(2 * i - 1)] + 2.0 * u[mirror(2 * i + 5)]
      })"},
    {"BordersOfWhatIsNotReadStay",
     R"(
      def f(u: f32[N]) -> y { a[i] = u[i] + i
                              y[i < N / 2] = a[clamp(2 * i - 1)] + a[2 * i] })",
     R"(
      def f(u: f32[N]) -> y {
        a[i] = u[i] + f32(i)
        y[i < N / 2] = a[clamp(2 * i - 1)] + a[2 * i]
      })"},
    {"MoreReadsThanElements",
     R"(
      def f(u: f32[N]) -> y { a[i] = 2 * u[i] + 1
                              y[i < N / 2] = a[2 * i] + a[2 * i + 1] + a[0] })",
     R"(
      def f(u: f32[N]) -> y {
        a[i] = 2.0 * u[i] + 1.0
        y[i < N / 2] = a[2 * i] + a[2 * i + 1] + a[0]
      })"},
    // ---- windows
    {"AWindowIsFoldedOverItsRowsFirst",
     R"(
      def f(a: f32[H, W]) -> s { s[y, x] = sum(k < 3, l < 4) a[clamp(y + k - 1), clamp(x + l - 1)] })",
     R"(
      def f(a: f32[H, W]) -> s {
        s_k[y_2, x_2] = a[clamp(y_2 - 1), x_2] + a[clamp(y_2), x_2] + a[clamp(y_2 + 1), x_2]
        s[y, x] = s_k[y, clamp(x - 1)] + s_k[y, clamp(x)] + s_k[y, clamp(x + 1)] + s_k[y, clamp(x + 2)]
      })"},
    {"WeightsOfColumnsStayOutside",
     R"(
      def f(a: f32[H, W], v: f32[20], w: f32[20]) -> s {
        s[y, x] = sum(k < 12, l < 13) v[k] * w[l] * a[mirror(y + k), mirror(x + l)]
      })",
     R"(
      def f(a: f32[H, W], v: f32[20], w: f32[20]) -> s {
        s_k[y_2, x_2] = sum(k_2 < 12) v[k_2] * a[mirror(y_2 + k_2), x_2]
        s[y, x] = sum(l < 13) w[l] * s_k[y, mirror(x + l)]
      })"},
    {"WeightsOfPointsDoNotSeparate",
     R"(
      def f(a: f32[H, W], w: f32[20, 20]) -> s {
        s[y, x] = sum(k < 12, l < 13) w[k, l] * a[clamp(y + k), clamp(x + l)]
      })",
     R"(
      def f(a: f32[H, W], w: f32[20, 20]) -> s {
        s[y, x] = sum(k < 12, l < 13) w[k, l] * a[clamp(y + k), clamp(x + l)]
      })"},
    {"StrictSumsKeepTheirOrder",
     R"(
      strict def f(a: f32[H, W]) -> s { s[y, x] = sum(k < 4, l < 4) a[clamp(y + k), clamp(x + l)] })",
     R"(
      strict def f(a: f32[H, W]) -> s {
        s[y, x] = sum(k < 4, l < 4) a[clamp(y + k), clamp(x + l)]
      })"},
    {"ShortFoldsAreWrittenOut",
     R"(
      strict def f(a: f32[N], w: f32[3]) -> s { s[i < N] = sum(k < 3) w[k] * a[clamp(i + k)] })",
     R"(
      strict def f(a: f32[N], w: f32[3]) -> s {
        s[i] = 0.0 + w[0] * a[clamp(i)] + w[1] * a[clamp(i + 1)] + w[2] * a[clamp(i + 2)]
      })"},
    // ---- tables
    {"GroupsByTheSameKeyShareATable",
     R"(
      def f(key: i64[N], v: i64[N]) -> (k, a, b, l) { g = group(+) [ (key[i] % 5, v[i]) | i ]
                                                      h = group(max) [ (key[x] % 5, v[x] % 10) | x ]
                                                      k[b] = h.keys[b]
                                                      a[b] = g.keys[b] * g[b]
                                                      b[b] = h.keys[b] * h[b]
                                                      l = len(g) * len(h) })",
     R"(
      def f(key: i64[N], v: i64[N]) -> (k, a, b, l) {
        stage h(i < N) {
          out g: i64[g_len] keys k: i64[born g_len] key key[i] % 5 = group(+, i) v[i]
          out h: i64[g_len] key key[i] % 5 = group(max, i) v[i] % 10
        }
        a[b in 0 .. g_len] = k[b] * g[b]
        b[b in 0 .. g_len] = k[b] * h[b]
        l = g_len * g_len
      })"},
    {"ACollectingGroupSharesATableWithAFoldingOne",
     R"(
      def f(key: i64[N], v: i64[N]) -> (g, h) { g = group [ (key[i] % 5, v[i]) | i, v[i] > 2 ]
                                                h = group(+) [ (key[i] % 5, v[i]) | i, v[i] > 2 ] })",
     R"(
      def f(key: i64[N], v: i64[N]) -> (g, h) {
        stage h(i < N) {
          out g: i64[born g_total] offsets g_offsets: i64[g_len + 1] keys g_keys: i64[born g_len] key key[i] % 5 = group(i) v[i] where v[i] > 2
          out h: i64[g_len] keys h_keys: i64[g_len] key key[i] % 5 = group(+, i) v[i] where v[i] > 2
        }
      })"},
    {"OtherConditionsAreOtherBuckets",
     R"(
      def f(key: i64[N], v: i64[N]) -> (a, b) { g = group(+) [ (key[i] % 5, v[i]) | i, v[i] > 2 ]
                                                h = group(+) [ (key[i] % 5, v[i]) | i ]
                                                a[b] = g[b] + 1
                                                b[b] = h[b] + 1 })",
     R"(
      def f(key: i64[N], v: i64[N]) -> (a, b) {
        g = group(+) [ (key[i] % 5, v[i]) | i, v[i] > 2 ]
        h = group(+) [ (key[i] % 5, v[i]) | i ]
        a[b in 0 .. g_len] = g[b] + 1
        b[b in 0 .. h_len] = h[b] + 1
      })"},
    {"AGroupThatNeedsAnotherOneComesLater",
     R"(
      def f(key: i64[N], v: i64[N]) -> (a, b) { g = group(+) [ (key[i] % 5, v[i]) | i ]
                                                m = max(b) g[b]
                                                h = group(+) [ (key[i] % 5, v[i] - m) | i ]
                                                a[b] = g[b] + 1
                                                b[b] = h[b] + 1 })",
     R"(
      def f(key: i64[N], v: i64[N]) -> (a, b) {
        g = group(+) [ (key[i] % 5, v[i]) | i ]
        m = max(b in 0 .. g_len) g[b]
        h = group(+) [ (key[i] % 5, v[i] - m) | i ]
        a[b in 0 .. g_len] = g[b] + 1
        b[b in 0 .. h_len] = h[b] + 1
      })"},
    {"NobodyNeedsTheValuesOfTheFirst",
     R"(
      def f(key: i64[N], v: i64[N]) -> (k, h) {
        stage two(i < N) {
          out g: i64[K] keys k: i64[born K] key key[i] % 5 = group(+, i) v[i]
          out h: i64[K] key key[i] % 5 = group(max, i) v[i]
        } })",
     R"(
      def f(key: i64[N], v: i64[N]) -> (k, h.values) {
        stage two(i < N) {
          out h: i64[K] keys k: i64[born K] key key[i] % 5 = group(max, i) v[i]
        }
      })"},
};

std::string name_of_case(const testing::TestParamInfo<Case>& one) { return one.param.name; }

class Simplify : public testing::TestWithParam<Case> {};

}  // namespace

TEST_P(Simplify, MeansTheSameAndIsSimpler) {
  const TemporaryCache cache;
  const auto program = std::make_shared<const Program>(parse_program("case", GetParam().before));
  const auto simplified = simplify(program).program;
  EXPECT_EQ(print(*simplified), trimmed(GetParam().after));
  EXPECT_THAT(diagnose(*simplified, {.unused_inputs = false}), testing::IsEmpty());
  EXPECT_EQ(simplify(simplified).program, simplified) << "a second time changes it again";
  Options options;
  options.compiler.cache = cache.path();
  const Compilation compilation = compile(program, detect_machine(), options);
  Rng rng(1);
  for (int k = 0; k < 5; ++k) {
    const std::vector<Data> inputs = random_inputs(*program, rng);
    std::optional<Reference> expected;
    try {
      expected.emplace(reference_of(*program, inputs));
    } catch (const Error& error) {
      EXPECT_THROW(interpret(*simplified, inputs), Error) << error.what();
      EXPECT_THROW(compilation.kernel->run(inputs), Error) << error.what();
      continue;
    }
    EXPECT_EQ(agreement(*program, *expected, interpret(*simplified, inputs)).difference, "");
    EXPECT_EQ(agreement(*program, *expected, compilation.kernel->run(inputs)).difference, "");
  }
}

/// A value of sixty parts that are used twice each has 2^60 paths; what it begins with is collected once.
TEST(SimplifySifts, SharedValuesAreLookedAtOnce) {
  std::string value = "let a0 = u in ";
  for (int k = 1; k < 60; ++k) {
    const std::string before = "a" + std::to_string(k - 1);
    value += "let a" + std::to_string(k) + " = " + before + " * " + before + " + 1 in ";
  }
  const auto program = std::make_shared<const Program>(
      parse_program("case", "def f(x: i64[N], n: i64) -> p {\n  p = [ " + value +
                                "a59 + i | i < n, u in x, u * u * u * u * u % 7 == 1, x[clamp(u % 3)] > 2, "
                                "u * u * u * u % 5 < 2, u % 3 * u % 11 > 1 ]\n}"));
  const auto simplified = simplify(program).program;
  ASSERT_EQ(simplified->stages.size(), 2U);
  EXPECT_EQ(simplified->stages.front().name, "p_kept");
}

INSTANTIATE_TEST_SUITE_P(All, Simplify, testing::ValuesIn(cases), name_of_case);

}  // namespace twill
