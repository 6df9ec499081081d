// Fusion of collections: every case states how many passes and buffers there are without and with fusion, and
// both are run and compared with the interpreter, values and effects.
#include "driver/agree.h"
#include "driver/compile.h"
#include "fuzz/generate.h"
#include "program/text.h"
#include "simplify/simplify.h"
#include "temporary_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace twill {
namespace {

struct Shape {
  int passes;   // loops that are inside of no other
  int nested;   // loops inside of them
  int buffers;  // arrays between them
  friend bool operator==(const Shape&, const Shape&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Shape& shape) {
    return out << "{" << shape.passes << ", " << shape.nested << ", " << shape.buffers << "}";
  }
};

/// Loops over parts of a range and over its points count as one.
void count_loops(const BlockSchedule& block, int around, Shape& shape) {
  for (const Pass& pass : block.passes) {
    std::size_t loops = 0;
    for (std::size_t i = 0; i < pass.stages.size(); ++i) {
      const auto& chain = pass.loops.chains[i];
      const auto own = chain.begin() + static_cast<std::ptrdiff_t>(i == 0 ? 0 : pass.loops.shared);
      loops += static_cast<std::size_t>(
          std::count_if(own, chain.end(), [](const ChainLevel& level) { return level.cut == Cut{}; }));
      for (const BlockSchedule& inner : pass.stages[i].blocks)
        count_loops(inner, around + (chain.empty() ? 0 : 1), shape);
    }
    if (loops == 0) continue;
    if (around == 0) ++shape.passes;
    shape.nested += static_cast<int>(loops) - (around == 0 ? 1 : 0);
  }
}

Shape shape_of(const Schedule& schedule) {
  Shape shape{0, 0, schedule.buffers};
  count_loops(schedule.body, 0, shape);
  return shape;
}

struct Case {
  const char* name;
  Shape before, after;
  const char* text;
  friend std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }
};

const Case cases[] = {
    // ---- vertical
    {"MapOfAMapThatIsUsedAsWell", {2, 0, 0}, {1, 0, 0}, R"(
      def f(x: f64[N]) -> (p, y) { p[i] = 2 * x[i]
                                   y[i] = p[i] + 1 })"},
    {"FilterOfAGenerator", {2, 0, 1}, {1, 0, 0}, R"(
      def f(n: i64) -> y { p[i < n] = 3 * i % 7
                           y = [ 2 * v | v in p, v > 3 ] })"},
    {"OnlyAPartIsRead", {2, 0, 1}, {1, 0, 0}, R"(
      def f(n: i64) -> y { p[i < 100] = n * i
                           y[i < 10] = p[i] + 1 })"},
    {"OnlyAPartIsReadOfWhatIsUsedAsWell", {2, 0, 0}, {2, 0, 0}, R"(
      def f(n: i64) -> (p, y) { p[i < 100] = n * i
                                y[i < 10] = p[i] + 1 })"},
    {"OnlyTheLengthIsUsed", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: f64[N]) -> y { p[i] = 2 * x[i]
                              y[i < len(p)] = i })"},
    {"ElementAndLength", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: f64[N]) -> y { p[i] = 2 * x[i]
                              y[i] = p[i] / len(p) })"},
    {"AShiftedElementIsReadOnce", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: f64[N]) -> y { p[i < N + 1] = i * i
                              y[i < N] = p[i + 1] - x[i] })"},
    // Better than two loops: the two elements are a slice that the consumer's loop keeps, and no array.
    {"TwoElementsAreASlice", {2, 0, 1}, {1, 1, 0}, R"(
      def f(x: f64[N]) -> y { p[i < N + 1] = i * i
                              y[i < N] = p[i + 1] - p[i] * x[i] })"},
    {"TwoFiltersOfOneMap", {3, 0, 1}, {1, 0, 0}, R"(
      def f(x: f64[N]) -> (a, b) { p[i] = 2 * x[i]
                                   a = [ v | v in p, v > 0 ]
                                   b = [ v + 1 | v in p, v < 1 ] })"},
    {"TwoFiltersOfOneMapThatIsUsedAsWell", {3, 0, 0}, {1, 0, 0}, R"(
      def f(x: f64[N]) -> (p, a, b) { p[i] = 2 * x[i]
                                      a = [ v | v in p, v > 0 ]
                                      b = [ v + 1 | v in p, v < 1 ] })"},
    {"GenerateMapFilter", {3, 0, 2}, {1, 0, 0}, R"(
      def f(n: i64) -> y { p[i < n] = i * i
                           q[i] = p[i] % 5
                           y = [ v | v in q, v > 1 ] })"},
    {"ThreeMapsOfOneMap", {4, 0, 1}, {1, 0, 0}, R"(
      def f(x: f64[N]) -> (a, b, c) { p[i] = 2 * x[i]
                                      a[i] = p[i] + 1
                                      b[i] = p[i] + 2
                                      c[i] = p[i] + 3 })"},
    {"FilterThenMap", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: f64[N]) -> y { p = [ v * v | v in x, v > 0 ]
                              y[k] = p[k] + 1 })"},
    {"FilterThenMapBothUsed", {2, 0, 0}, {1, 0, 0}, R"(
      def f(x: f64[N]) -> (p, y) { p = [ v * v | v in x, v > 0 ]
                                   y[k] = p[k] + 1 })"},
    {"FilterThenFilter", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: f64[N]) -> y { p = [ v * v | v in x, v > 0 ]
                              y = [ v | v in p, v < 0.5 ] })"},
    {"FilterThenSum", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> y { p = [ v | v in x, v > 0 ]
                              y = sum(k) p[k] })"},
    {"FilterThenFlatMap", {2, 1, 1}, {1, 1, 0}, R"(
      def f(x: i64[N]) -> y { p = [ v % 5 | v in x, v % 5 > 1 ]
                              y = [ 10 * v + j | v in p, j < v ] })"},
    {"FilterThenScatter", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> y { p = [ v % 8 | v in x, v % 3 == 1 ]
                              y: i64[8] = scatter(+) { [v] <- 1 | v in p } })"},
    {"FilterThenGroup", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> h { p = [ v | v in x, v % 3 == 1 ]
                              h = group(+) [ (v % 4, v) | v in p ] })"},
    {"FilterAndAllItsConsumers", {6, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> (a, b, c, d, e) { p = [ v | v in x, v % 3 == 1 ]
                                            a[k] = p[k] + 1
                                            b = [ v | v in p, v % 2 == 0 ]
                                            c = sum(k) p[k]
                                            d = max(k) i64(p[k] % 10)
                                            e: i64[8] = scatter(+) { [v % 8] <- v | v in p } })"},
    {"FlatMapThenMap", {2, 1, 1}, {1, 1, 0}, R"(
      def f(n: i64) -> y { p = [ i * j | i < n, j < i ]
                           y[k] = p[k] + 1 })"},
    {"FlatMapThenSumAndMax", {3, 1, 1}, {1, 1, 0}, R"(
      def f(n: i64) -> (s, m) { p = [ i * j | i < n, j < i, (i + j) % 2 == 0 ]
                                s = sum(k) p[k]
                                m = max(k) p[k] })"},
    {"ZipOfTwoMaps", {3, 0, 2}, {1, 0, 0}, R"(
      def f(x: f64[N], y: f64[N]) -> z { p[i] = 2 * x[i]
                                         q[i] = y[i] + 1
                                         z[i] = p[i] * q[i] })"},
    {"ConsumerJoinsTwoSetsAndAllIsUsed", {5, 0, 0}, {1, 0, 0}, R"(
      def f(x: f64[N], y: f64[N]) -> (p, q, r, s, z) { p[i] = 2 * x[i]
                                                       q[i] = y[i] + 1
                                                       r[i] = p[i] * p[i]
                                                       s[i] = q[i] * q[i]
                                                       z[i] = r[i] * s[i] })"},
    // To compute it twice would cost more than to write it and to read it back.
    {"AFunctionOfTheLibraryIsComputedOnce", {2, 0, 1}, {2, 0, 1}, R"(
      def f(x: f64[N]) -> y { p[i] = exp(x[i])
                              y[i] = p[i] + p[N - 1 - i] })"},
    // What the filter keeps is in memory: with several elements at a time the loop inside is faster.
    {"AFilterThenAMapWithALoopInside", {3, 1, 2}, {2, 1, 1}, R"(
      def f(x: i64[N], w: i64[M]) -> r { p = [ v | v in x, v > 2 ]
                                         r = [ (sum(j) v * w[j]) | v in p ] })"},
    {"AFilterGuardsADivision", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> y { p = [ v % 3 | v in x, v % 3 != 0 ]
                              y[k] = 100 / p[k] })"},
    // Better than a loop of its own: the position is a number that is counted while the filter runs.
    {"ThePositionOfAnElementIsUsed", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> y { p = [ v | v in x, v > 0 ]
                              y[k] = p[k] + k })"},
    {"ThePositionOfAnElementInAFold", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> y { p = [ v % 100 | v in x, v % 3 == 1 ]
                              y = sum(k) p[k] * k })"},
    {"ThePositionOfAnElementThatIsKept", {3, 0, 2}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> y { p = [ v % 100 | v in x, v % 3 == 1 ]
                              q = [ p[k] - k | k, p[k] > 10 ]
                              y[m] = 2 * q[m] })"},
    {"ThePositionOfAnElementDecidesWhatIsKept", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> y { p = [ v % 100 | v in x, v % 3 == 1 ]
                              y = [ p[k] | k, k % 2 == 0 ] })"},
    {"ThePositionOfAnElementReadsAnotherArray", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N], w: i64[N]) -> y { p = [ v % 100 | v in x, v % 3 == 1 ]
                                         y[k] = p[k] * w[pad(k)] })"},
    {"AFilterWhoseElementsGoWhereTheirPositionsSay", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> h: i64[10] { p = [ v | v in x, v % 3 != 1 ]
                                       h = scatter(+) { k * 3 % 10 <- p[k] % 100 | k } })"},
    {"AFilterWhoseElementsAreGroupedByTheirPositions", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> g { p = [ v | v in x, v % 3 != 1 ]
                              g = group(+) [ (k % 4, p[k] % 100) | k ] })"},
    {"EverySecondElementOfAFilter", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> s { p = [ v % 100 | v in x, v % 3 != 1 ]
                              s = sum(k, k % 2 == 0) p[k] * k })"},
    {"ThePositionOfAnElementIsPrinted", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N]) { p = [ v % 100 | v in x, v % 3 == 1 ]
                         for k < len(p) { print(k, p[k]) } })"},
    // ---- horizontal
    {"IndependentMapsOfOneRange", {3, 0, 0}, {1, 0, 0}, R"(
      def f(x: f64[N]) -> (a, b, s) { a[i] = x[i] + 1
                                      b[i] = x[i] * x[i]
                                      s = sum(i) x[i] })"},
    {"IndependentFlatMapsOfOneRange", {2, 2, 0}, {1, 1, 0}, R"(
      def f(n: i64) -> (a, b) { a = [ i * j | i < n, j < 3 ]
                                b = [ i + j | i < n, j < 3, i != j ] })"},
    // Vertical beats horizontal: the two maps of one range stay apart, because who reads the one goes through
    // it
    // and waits for the other one.
    {"ASiblingThatTheReaderWaitsForStaysOutside", {3, 1, 2}, {2, 1, 1}, R"(
      def f(x: i64[N], y: i64[N]) -> r { a[i] = x[i] % 7
                                         b[i] = y[i] % 5
                                         r = [ a[i] + v | i < N, v in b ] })"},
    {"ASiblingOfWhichAllIsAddedToEachElement", {3, 1, 2}, {2, 1, 1}, R"(
      def f(x: i64[N], y: i64[N]) -> c { a[i] = x[i] % 7
                                         b[i] = y[i] % 5
                                         c[i, j] = a[i] + b[j] })"},
    {"DifferentRanges", {2, 0, 0}, {2, 0, 0}, R"(
      def f(x: f64[N], y: f64[M]) -> (a, b) { a[i] = x[i] + 1
                                              b[i] = y[i] + 1 })"},
    {"ALengthThatChangesIsNotAnEqualLength", {1, 3, 0}, {1, 2, 0}, R"(
      def f(m: i64) -> (n, s) { (n, s) = seq t < 3 from (m % 50, 0) {
                                     a = sum(i < n) i % 7
                                     c = sum(i < n) i % 3
                                     n = n / 2
                                     b = sum(i < n) i % 5
                                     s = s + a * b - c
                                   } })"},
    {"OutputsOfOneStageStayTogether", {3, 0, 2}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> (a, b) { stage both(i < N) {
                                     out p: i64[N] at [i] = cat(i) x[i] % 100
                                     out q: i64[N] at [i] = cat(i) x[i] / 100
                                   }
                                   a[i] = p[i] + 1
                                   b[i] = q[i] * 2 })"},
    {"FourLoopsInTwoPairs", {4, 0, 0}, {2, 0, 0}, R"(
      def f(x: f64[N]) -> (a, b, c, d) { a[i] = x[i] + 1
                                         b[i] = x[i] + a[pad(0)]
                                         c[i] = x[i] + 2
                                         d[i] = x[i] + c[pad(0)] })"},
    {"AChainOfDependencesOverOneRange", {3, 0, 0}, {3, 0, 0}, R"(
      def f(x: f64[N]) -> (a, b, c) { a[i] = x[i] + 1
                                      b[i] = x[i] + a[pad(0)]
                                      c[i] = x[i] + b[pad(0)] })"},
    {"AThirdOneDependsOnBoth", {3, 0, 0}, {2, 0, 0}, R"(
      def f(x: f64[N]) -> (a, b, c) { a[i] = x[i] + 1
                                      b[i] = a[i] * 2
                                      c[i] = a[i] + b[pad(0)] })"},
    {"VerticalBeatsHorizontal", {3, 0, 1}, {2, 0, 0}, R"(
      def f(x: f64[N]) -> (p, y) { o[i < N + 1] = i * i
                                   p[i < N + 1] = 2 * i
                                   y[i < N] = o[i + 1] - o[i] + x[i] })"},
    {"MeanAndVarianceInOnePass", {3, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> (m, v) { p[i] = 3 * (x[i] % 100)
                                   m = sum(i) p[i]
                                   v = sum(i) p[i] * p[i] })"},
    // ---- stages with inner loops of their own
    {"AFlatMapReadsItsProducerInTheOuterLoop", {2, 1, 1}, {1, 1, 0}, R"(
      def f(x: i64[N]) -> y { p[i] = x[i] % 1000
                              y = [ 10 * p[i] + j | i, j < 3 ] })"},
    // Better than 1+3: arrays that are folded are folded element by element, and none is made for a point.
    {"AMapAndItsConsumersOfAllKinds", {6, 2, 1}, {1, 2, 0}, R"(
      def f(x: i64[N], w: i64[M]) -> (a, b, c, d, e) { p[i] = x[i] % 1000
                                                       a[i] = p[i] + 1
                                                       b = [ v | v in p, v % 2 == 0 ]
                                                       c = [ p[i] + j | i, j < 3 ]
                                                       d = sum(i) p[i]
                                                       stage e(i < N, j < M) {
 out e: i64[M] at [j] = fold(+, i) cat(j) p[i] * (w[j] % 100) } })"},
    // Better than 1+4, for the same reason.
    {"AFilterAndItsConsumersOfAllKinds", {6, 2, 1}, {1, 2, 0}, R"(
      def f(x: i64[N], w: i64[M]) -> (a, b, c, d, e) { p = [ v % 1000 | v in x, v % 3 == 1 ]
                                                       a[k] = p[k] + 1
                                                       b = [ v | v in p, v % 2 == 0 ]
                                                       c = [ v + j | v in p, j < 3 ]
                                                       d = sum(k) p[k]
                                                       stage e(k < len(p), j < M) {
 out e: i64[M] at [j] = fold(+, k) cat(j) p[k] * (w[j] % 100) } })"},
    // Better than 1+5, for the same reason.
    {"AFlatMapAndItsConsumersOfAllKinds", {6, 3, 1}, {1, 3, 0}, R"(
      def f(n: i64, w: i64[M]) -> (a, b, c, d, e) { p = [ 10 * i + j | i < n, j < 4 ]
                                                    a[k] = p[k] + 1
                                                    b = [ v | v in p, v % 2 == 0 ]
                                                    c = [ v + l | v in p, l < 3 ]
                                                    d = sum(k) p[k]
                                                    stage e(k < len(p), j < M) {
 out e: i64[M] at [j] = fold(+, k) cat(j) p[k] * (w[j] % 100) } })"},
    {"FlatMapFlatMapMapAllUsed", {3, 2, 0}, {1, 2, 0}, R"(
      def f(n: i64) -> (p, q, y) { p = [ 10 * i + j | i < n, j < 4 ]
                                   q = [ v * k | v in p, k < 3 ]
                                   y[m] = q[m] + 1 })"},
    // Not one loop, as further down where the middle is a flatMap: here it makes a row for each element of a
    // collection, and rows cannot be appended in the loop that finds out how many there will be.
    {"APairInABlockOverAFlatMap", {3, 4, 2}, {2, 2, 0}, R"(
      def f(n: i64) -> (p, q, y) { p = [ 10 * i + j | i < n, j < 4 ]
                                   stage q(m < len(p)) {
                                     block {
                                       a[k < 3] = p[m] * k
                                       b[k < 3] = a[k] + 1
                                     }
                                     out q: i64[len(p), 3] at [m] = cat(m) b
                                   }
                                   y[m, k] = q[m, k] + 1 })"},
    {"ABlockWithAnIndexOfTheSameName", {1, 1, 1}, {1, 1, 0}, R"(
      def f(n: i64) -> q { stage q(k < n) {
                             block { a[k < 3] = k * k }
                             out q: i64[n, 3] at [k] = cat(k) a
                           } })"},
    {"IndependentMapsWithInnerArrays", {3, 3, 0}, {1, 1, 0}, R"(
      def f(x: i64[N], w: i64[M]) -> (a, b, c) { a[i, j] = x[i] + w[j]
                                                 b[i, j] = x[i] * 2 - w[j]
                                                 c[i, j < M] = x[i] % 7 })"},
    {"AFoldOfARowAndAMapOfIt", {2, 1, 1}, {1, 1, 0}, R"(
      def f(x: i64[N, M]) -> y { s[i] = sum(j) x[i, j] % 100
                                 y[i] = 2 * s[i] + 1 })"},
    {"SoftmaxOverRows", {4, 4, 3}, {1, 3, 0}, R"(
      def f(x: f64[N, M]) -> y { m[i] = max(j) x[i, j]
                                 e[i, j] = exp(x[i, j] - m[i])
                                 s[i] = sum(j) e[i, j]
                                 y[i, j] = e[i, j] / s[i] })"},
    {"RowsWithMeanAndDeviation", {5, 3, 4}, {1, 3, 0}, R"(
      def f(x: f64[N, M]) -> z { m[i] = (sum(j) x[i, j]) / M
                                 d[i] = (sum(j) (x[i, j] - m[i]) * (x[i, j] - m[i])) / M
                                 z[i, j] = (x[i, j] - m[i]) / (1.0 + d[i]) })"},
    {"ScanThenMapThenSum", {3, 0, 2}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> y { s[i] = scan(+, i) x[i] % 100
                              p[i] = s[i] * s[i] % 1000
                              y = sum(i) p[i] })"},
    {"AScanDecidesWhatIsKept", {2, 0, 1}, {2, 0, 1}, R"(
      def f(x: i64[N]) -> y { s[i] = scan(+, i) x[i] % 100
                              y = [ v | v in s, v % 3 == 1 ] })"},
    {"AFilterWithARunningSum", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> y { s[i] = scan(+, i) x[i] % 100
                              y = [ s[i] + x[i] | i, x[i] % 3 == 1 ] })"},
    {"AShortScanNextToACollection", {2, 1, 1}, {1, 1, 0}, R"(
      def f(x: i64[N]) -> y { s[i < 7] = scan(+, i) i * i
                              y = [ if s[i] < v % 100 then v else 0 | i < 7, v in x ] })"},
    {"AFoldOfAWholeArrayEndsBeforeItIsUsed", {2, 0, 0}, {2, 0, 0}, R"(
      def f(x: f64[N]) -> y { s = sum(i) x[i]
                              y[i] = x[i] / s })"},
    {"AProductOfMatricesIsATileOfItsReader", {2, 3, 1}, {1, 4, 0}, R"(
      def f(a: f64[N, K], b: f64[K, M]) -> y { c[i, j] = sum(k) a[i, k] * b[k, j]
                                               y[i, j] = max(c[i, j], 0.0) })"},
    // ---- effects
    {"AMapAndAPrintOfIt", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N]) { p[i] = x[i] % 7
                         for i < N { print(p[i]) } })"},
    {"AFilterAndAPrintOfIt", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N]) { p = [ v | v in x, v % 3 == 1 ]
                         for v in p { print(v) } })"},
    {"AFlatMapAndAPrintOfIt", {2, 1, 1}, {1, 1, 0}, R"(
      def f(n: i64) { p = [ 10 * i + j | i < n, j < i ]
                      for v in p { print(v) } })"},
    {"TwoPrintsOfOneRange", {2, 0, 0}, {2, 0, 0}, R"(
      def f(x: i64[N]) { for i < N { print("a", x[i]) }
                         for i < N { print("b", x[i]) } })"},
    {"ThreePrintsOfOneMap", {4, 0, 1}, {3, 0, 0}, R"(
      def f(x: i64[N]) { p[i] = x[i] % 7
                         for i < N { print("a", p[i]) }
                         for i < N { print("b", p[i]) }
                         for i < N { print("c", p[i]) } })"},
    // Better than two loops: nobody can see the order of effects of different kinds.
    {"EffectsOfTwoKinds", {2, 0, 0}, {1, 0, 0}, R"(
      effect note
      def f(x: i64[N]) { for i < N { print("a", x[i]) }
                         for i < N { note("b", x[i]) } })"},
    {"EffectsOfTwoKindsOfOneMap", {4, 0, 1}, {2, 0, 0}, R"(
      effect note
      def f(x: i64[N]) { p[i] = x[i] % 7
                         for i < N { print("a", p[i]) }
                         for i < N { note("b", p[i]) }
                         for i < N { print("c", p[i]) } })"},
    // Not done before: the effect happens in the loop of who reads the value, as often and in the same order.
    {"AnEffectInWhatIsReadAsWell", {3, 0, 2}, {1, 0, 0}, R"(
      effect note
      def f(x: i64[N]) -> y { stage p(i < N) { out p: i64[N] at [i] = cat(i) x[i] % 7
                                               print(i, x[i]) }
                              q[i] = 2 * p[i]
                              stage y(i < N) { out y: i64[N] at [i] = cat(i) q[i] + 1
                                               note(q[i]) } })"},
    // Better than two loops: the effects are of different kinds.
    {"TwoChainsWithEffectsMeet", {5, 0, 4}, {1, 0, 0}, R"(
      effect note
      def f(x: i64[N]) -> z { stage p(i < N) { out p: i64[N] at [i] = cat(i) x[i] % 7
                                               print(i, x[i]) }
                              q[i] = 2 * p[i]
                              stage r(i < N) { out r: i64[N] at [i] = cat(i) x[i] % 5
                                               note(x[i]) }
                              s[i] = 3 * r[i]
                              z[i] = q[i] + s[i] })"},
    {"AnEffectThatIsPrintedAgain", {3, 0, 1}, {2, 0, 0}, R"(
      def f(x: i64[N]) -> y { stage p(i < N) { out p: i64[N] at [i] = cat(i) x[i] % 7
                                               print(i, x[i]) }
                              y[i] = 2 * p[i]
                              for i < N { print(y[i]) } })"},
    // ---- choices
    {"TwoChoicesForOneReason", {4, 0, 0}, {2, 0, 0}, R"(
      def f(x: i64[N], n: i64) -> (y, z) { if n > 3 { y[i] = x[i] + 1 } else { y[i] = x[i] - n }
                                           if n > 3 { z[i] = x[i] * 2 } else { z[i] = x[i] % 7 } })"},
    {"AConsumerOfAChoice", {3, 0, 1}, {2, 0, 0}, R"(
      def f(x: i64[N], n: i64) -> y { if n > 3 { p[i] = x[i] + 1 } else { p[i] = x[i] - n }
                                      y[i] = p[i] * p[i] })"},
    {"AFoldOfPartOfAChoice", {3, 0, 1}, {2, 0, 0}, R"(
      def f(x: i64[N], n: i64) -> y { if n > 3 { p[i] = x[i] % 100 } else { p[i < N] = 7 * i % 10 }
                                      y = sum(i) p[i] where p[i] > 5 })"},
    {"AChoiceInAChoice", {4, 0, 1}, {3, 0, 0}, R"(
      def f(x: i64[N], n: i64) -> y { if n > 3 { p[i] = x[i] + 1 }
                                      else if n > 1 { p[i] = x[i] - n } else { p[i < N] = n }
                                      y[i] = p[i] * 3 })"},
    {"ATooLongConsumerOfAChoice", {3, 0, 1}, {3, 0, 1}, R"(
      def f(x: f64[N], n: i64) -> y { if n > 3 { p[i] = x[i] + 1 } else { p[i] = x[i] - n }
                                      y[i] = exp(p[i]) * sin(p[i]) + cos(p[i]) })"},
    {"AChoiceThatIsReadTwice", {4, 0, 1}, {2, 0, 0}, R"(
      def f(x: i64[N], n: i64) -> (y, z) { if n > 3 { p[i] = x[i] + 1 } else { p[i] = x[i] - n }
                                           y[i] = p[i] * 3
                                           z[i] = p[i] + x[i] })"},
    {"AChoiceThatIsReadAndUsed", {3, 0, 0}, {2, 0, 0}, R"(
      def f(x: i64[N], n: i64) -> (p, y) { if n > 3 { p[i] = x[i] + 1 } else { p[i] = x[i] - n }
                                           y[i] = p[i] * 3 })"},
    {"AnOutputOfAChoiceThatNobodyNeeds", {4, 0, 1}, {2, 0, 0}, R"(
      def f(x: i64[N], n: i64) -> b { if n > 0 { a[i] = x[i] + 1 } else { a[i] = x[i] - 1 }
                                      if n > 0 { b[i] = a[i] * 2 } else { b[i] = a[i] * 3 } })"},
    {"AFilterOfAChoice", {3, 0, 1}, {2, 0, 0}, R"(
      def f(x: i64[N], n: i64) -> y { if n > 3 { p[i] = x[i] % 100 } else { p[i < N] = 7 * i % 10 }
                                      y = [ v + 1 | v in p, v > 5 ] })"},
    {"AFlatMapOfAChoice", {3, 1, 1}, {2, 2, 0}, R"(
      def f(x: i64[N], n: i64) -> y { if n > 3 { p[i] = x[i] % 4 } else { p[i < N] = i % 3 }
                                      y = [ v * j | v in p, j < v ] })"},
    {"AGroupOfAChoice", {3, 0, 1}, {2, 0, 0}, R"(
      def f(x: i64[N], n: i64) -> g { if n > 3 { p[i] = x[i] % 100 } else { p[i < N] = 7 * i % 10 }
                                      g = group [ (v % 3, v) | v in p ] })"},
    {"AGroupWithAnOperatorOfAChoice", {3, 0, 1}, {2, 0, 0}, R"(
      def f(x: i64[N], n: i64) -> g { if n > 3 { p[i] = x[i] % 100 } else { p[i < N] = 7 * i % 10 }
                                      g = group(+) [ (v % 3, v) | v in p ] })"},
    // ---- choices between collections: their length is that of the side that was chosen
    {"AChoiceOfCollections", {2, 1, 0}, {2, 1, 0}, R"(
      def f(x: i64[N], y: i64[M], n: i64) -> p { if n > 3 { p = [ v | v in x, v % 3 == 1 ] }
                                                 else { p = [ v + w | v in y, w < v % 3 ] } })"},
    {"AChoiceOfCollectionsThenAMap", {3, 0, 1}, {2, 0, 0}, R"(
      def f(x: i64[N], y: i64[M], n: i64) -> r { if n > 3 { p = [ v % 100 | v in x, v % 3 == 1 ] }
                                                 else { p = [ v | v in y ] }
                                                 r[k] = 2 * p[k] })"},
    {"AChoiceOfCollectionsThenAFilter", {3, 0, 1}, {2, 0, 0}, R"(
      def f(x: i64[N], n: i64) -> r { if n > 3 { p = [ v % 100 | v in x, v % 3 == 1 ] }
                                      else { p = [ v | v in x, v > 5 ] }
                                      r = [ v | v in p, v % 2 == 0 ] })"},
    {"AChoiceOfCollectionsThenAFlatMap", {3, 1, 1}, {2, 2, 0}, R"(
      def f(x: i64[N], n: i64) -> r { if n > 3 { p = [ v % 5 | v in x, v % 3 == 1 ] }
                                      else { p = [ v % 3 | v in x, v > 5 ] }
                                      r = [ v + j | v in p, j < v ] })"},
    {"AChoiceOfCollectionsThenAPrint", {3, 0, 1}, {2, 0, 0}, R"(
      def f(x: i64[N], n: i64) { if n > 3 { p = [ v % 100 | v in x, v % 3 == 1 ] }
                                 else { p = [ v | v in x, v > 5 ] }
                                 for v in p { print(v) } })"},
    {"AChoiceOfCollectionsThenAFold", {3, 0, 1}, {2, 0, 0}, R"(
      def f(x: i64[N], n: i64) -> s { if n > 3 { p = [ v % 100 | v in x, v % 3 == 1 ] }
                                      else { p = [ v % 7 | v in x, v > 5 ] }
                                      s = sum(k) p[k] })"},
    {"AChoiceOfCollectionsThenAScan", {3, 0, 1}, {2, 0, 0}, R"(
      def f(x: i64[N], n: i64) -> s { if n > 3 { p = [ v % 100 | v in x, v % 3 == 1 ] }
                                      else { p = [ v % 7 | v in x, v > 5 ] }
                                      s[k] = scan(+, k) p[k] })"},
    {"AChoiceOfCollectionsThenAScatter", {3, 0, 1}, {2, 0, 0}, R"(
      def f(x: i64[N], n: i64) -> h { if n > 3 { p = [ v % 100 | v in x, v % 3 == 1 ] }
                                      else { p = [ v % 7 | v in x, v > 5 ] }
                                      h: i64[8] = scatter(+) { [v % 8] <- 1 | v in p } })"},
    {"AChoiceOfCollectionsThenAGroup", {3, 0, 1}, {2, 0, 0}, R"(
      def f(x: i64[N], n: i64) -> g { if n > 3 { p = [ v % 100 | v in x, v % 3 == 1 ] }
                                      else { p = [ v % 7 | v in x, v > 5 ] }
                                      g = group [ (v % 4, v) | v in p ] })"},
    {"AChoiceOfCollectionsThenAGroupWithAnOperator", {3, 0, 1}, {2, 0, 0}, R"(
      def f(x: i64[N], n: i64) -> g { if n > 3 { p = [ v % 100 | v in x, v % 3 == 1 ] }
                                      else { p = [ v % 7 | v in x, v > 5 ] }
                                      g = group(max) [ (v % 4, v) | v in p ] })"},
    {"AChoiceOfCollectionsAndAllItsConsumers", {6, 0, 1}, {2, 0, 0}, R"(
      def f(x: i64[N], n: i64) -> (a, b, c, d) { if n > 3 { p = [ v % 100 | v in x, v % 3 == 1 ] }
                                                 else { p = [ v % 7 | v in x, v > 5 ] }
                                                 a[k] = p[k] + 1
                                                 b = [ v | v in p, v % 2 == 0 ]
                                                 c = sum(k) p[k]
                                                 d: i64[8] = scatter(+) { [v % 8] <- v | v in p } })"},
    {"AChoiceOfACollectionAndNothing", {3, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N], n: i64) -> r { if n > 3 { p = [ v % 100 | v in x, v % 3 == 1 ] }
                                      else { p = [ v | v in x, 1 > 2 ] }
                                      r = sum(k) p[k] * p[k] })"},
    {"AChoiceOfGroups", {4, 0, 2}, {3, 0, 1}, R"(
      def f(x: i64[N], n: i64) -> (k, s) { if n > 3 { g = group(+) [ (v % 4, v) | v in x ] }
                                           else { g = group(+) [ (v % 3, 1) | v in x, v > 5 ] }
                                           k[b] = g.keys[b]
                                           s[b] = g[b] % 100 })"},
    {"AChoiceOfCollectionsOfCollections", {3, 3, 2}, {2, 2, 0}, R"(
      def f(x: i64[N], n: i64) -> s { if n > 3 { c = [ [ v + k | k < v % 3 ] | v in x ] }
                                      else { c = [ [ i * k | k < i ] | i < 4 ] }
                                      s[r] = sum(j) c[r][j] })"},
    {"AChoiceOfAChoiceOfCollections", {4, 0, 1}, {3, 0, 0}, R"(
      def f(x: i64[N], n: i64) -> r { if n > 3 { if n > 9 { p = [ v % 100 | v in x, v % 3 == 1 ] }
                                                 else { p[i] = x[i] % 10 } }
                                      else { p = [ v | v in x, v > 5 ] }
                                      r[k] = p[k] * 2 })"},
    {"AChoiceOfCollectionsThatIsKnown", {3, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> r { if 2 > 1 { p = [ v % 100 | v in x, v % 3 == 1 ] } else { p = [ v | v in x ] }
                              r = [ v + 1 | v in p ] })"},
    {"ArraysOfEqualLengthsOnBothSides", {3, 0, 1}, {2, 0, 0}, R"(
      def f(x: i64[N], n: i64) -> r { if n > 3 { p = [ v % 100 | v in x ] } else { p = [ v % 10 | v in x ] }
                                      r = [ a * b | (a, b) in zip(p, x) ] })"},
    // ---- what the user says
    {"Never", {2, 0, 1}, {2, 0, 1}, R"(
      def f(x: f64[N]) -> y {
        @never
        p[i] = 2 * x[i]
        y[i] = p[i] + 1 })"},
    {"Recompute", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: f64[N]) -> y {
        @recompute
        p[i < N + 1] = i * i
        y[i < N] = p[i + 1] - p[i] * x[i] })"},
    {"Remember", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> y {
        @remember
        p[i < N + 1] = i * i % 7 + len(x)
        y[i < N] = p[i + 1] - p[i] * x[i] })"},
    {"RememberThree", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: f32[N]) -> y {
        @remember
        p[i] = exp(-x[i] * x[i])
        y[i < N - 2] = p[i + 2] - 2 * p[i + 1] + p[i] })"},
    {"RememberWhatIsNeededElsewhere", {3, 0, 1}, {2, 0, 1}, R"(
      def f(x: i64[N]) -> (y, z) {
        @remember
        p[i < N + 1] = i * i % 7
        y[i < N] = p[i + 1] - p[i] * x[i]
        z = sum(i < N) p[N - i] })"},
    {"RecomputeForEveryReader", {3, 0, 0}, {1, 0, 0}, R"(
      def f(x: f64[N]) -> (p, y, z) {
        @recompute
        p[i] = x[i] * x[i]
        y[i] = p[i] + p[N - 1 - i]
        z[i < N] = p[N - 1 - i] })"},
    {"AnExpensiveMapStaysOutOfALoopThatRunsInOrder", {2, 0, 1}, {2, 0, 1}, R"(
      def f(x: f64[N]) { p[i] = exp(x[i]) * sin(x[i])
                         for i < N { print(p[i] > 1) } })"},
    {"Always", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: f64[N]) {
        @always
        p[i] = exp(x[i]) * sin(x[i])
        for i < N { print(p[i] > 1) } })"},
    // ---- lengths
    {"OnlyTheLengthOfACollectionIsUsed", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: f64[N]) -> y { p = [ 2 * v | v in x ]
                              y[i < len(p)] = i })"},
    {"OnlyTheLengthOfAFilterIsUsed", {2, 0, 1}, {2, 0, 0}, R"(
      def f(x: f64[N]) -> y { p = [ 2 * v | v in x, v > 0 ]
                              y[i < len(p)] = i })"},
    {"ElementAndLengthOfACollection", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: f64[N]) -> y { p = [ 2 * v | v in x ]
                              y[i] = p[i] / len(p) })"},
    {"MeanOfAFlatMap", {2, 1, 1}, {1, 1, 0}, R"(
      def f(x: i64[N], w: i64[M]) -> m { p = [ a * b | a in x, b in w ]
                                         m = (sum(k) p[k]) / max(len(p), 1) })"},
    // ---- groups beside others
    {"AGroupBesideAMap", {2, 0, 0}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> (y, g) { y[i] = 2 * x[i]
                                   g = group(+) [ (v % 5, v) | v in x ] })"},
    {"AGroupBesideAFold", {2, 0, 0}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> (s, g) { s = sum(i) x[i]
                                   g = group [ (v % 5, v) | v in x ] })"},
    {"AGroupBesideAFilter", {2, 0, 0}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> (y, g) { y = [ v | v in x, v > 3 ]
                                   g = group [ (v % 5, v) | v in x, v < 3 ] })"},
    {"TwoGroupsWithDifferentKeys", {2, 0, 0}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> (g, h) { g = group(+) [ (v % 5, v) | v in x ]
                                   h = group [ (v % 3, v) | v in x ] })"},
    // It has much to do in lanes, and groups take one point after the other.
    {"AGroupBesideALongMap", {2, 0, 0}, {2, 0, 0}, R"(
      def f(x: i64[N]) -> (y, g) {
        y[i] = ((((((((x[i] + 1) * x[i] + 2) * x[i] + 3) * x[i] + 4) * x[i] + 5) * x[i] + 6) * x[i] + 7) * x[i] + 8) * x[i] + 9
        g = group(+) [ (v % 5, v) | v in x ] })"},
    // ---- siblings of different depth
    {"AFlatMapBesideAMap", {2, 1, 0}, {1, 1, 0}, R"(
      def f(x: i64[N]) -> (y, z) { y[i] = 2 * x[i]
                                   z = [ v + j | v in x, j < v ] })"},
    {"AFlatMapBesideAGroup", {2, 1, 0}, {1, 1, 0}, R"(
      def f(x: i64[N]) -> (g, s) { g = group [ (v % 5, v) | v in x ]
                                   s = sum [ v * j | v in x, j < v ] })"},
    // Nothing is saved by one loop.
    {"AFlatMapBesideAMapOfSomethingElse", {2, 1, 0}, {2, 1, 0}, R"(
      def f(x: i64[N], w: i64[N]) -> (y, z) { y[i] = 2 * w[i]
                                              z = [ v + j | v in x, j < v ] })"},
    // ---- nothing, and one
    // Better than one loop: what is folded is nothing, which is the identity.
    {"EmptyThenMapForeachReduce", {4, 0, 2}, {0, 0, 0}, R"(
      def f(x: i64[N]) -> s { p = [ v | v in x, 1 > 2 ]
                              q[k] = p[k] + 1
                              for v in q { print(v) }
                              s = sum(k) q[k] })"},
    {"EmptyThenForeachAndFilterThenForeach", {4, 0, 2}, {1, 0, 0}, R"(
      def f(x: i64[N]) { p = [ v | v in x, 1 > 2 ]
                         for v in p { print("never", v) }
                         q = [ v | v in x, v % 3 == 1 ]
                         for v in q { print("now", v) } })"},
    // Better than one loop: a fold of one element is that element.
    {"SingletonThenMapForeachReduce", {4, 0, 2}, {0, 0, 0}, R"(
      def f(n: i64) -> s { p[i < 1] = n
                           q[k] = p[k] + 1
                           for k < 1 { print(q[k]) }
                           s = sum(k) q[k] })"},
    {"SingletonThenFilter", {2, 0, 1}, {1, 0, 0}, R"(
      def f(n: i64) -> r { p = [n % 7]
                           r = [ v + 1 | v in p, v > 2 ] })"},
    {"SingletonThenFlatMap", {2, 1, 1}, {1, 0, 0}, R"(
      def f(n: i64) -> r { p = [abs(n % 7)]
                           r = [ v + j | v in p, j < v ] })"},
    {"SingletonThenForeachAndFold", {3, 0, 1}, {0, 0, 0}, R"(
      def f(n: i64) -> s { p = [n % 7]
                           for v in p, v > 0 { print(v) }
                           s = sum [ v * v | v in p, v != 3 ] })"},
    {"SingletonThenScan", {2, 0, 1}, {1, 0, 0}, R"(
      def f(n: i64) -> c { p = [n % 7]
                           c[k] = scan(+, k) p[k] * 2 })"},
    {"SingletonThenScatter", {2, 0, 1}, {1, 0, 0}, R"(
      def f(n: i64) -> h { p = [abs(n % 7)]
                           h: i64[7] = scatter(+) { v <- v + 1 | v in p } })"},
    {"SingletonThenBuckets", {3, 0, 1}, {1, 0, 0}, R"(
      def f(n: i64) -> (g, s) { p = [n % 7]
                                g = group [ (v % 2, v) | v in p ]
                                s = group(+) [ (v, v * v) | v in p ] })"},
    {"RowsOfOneElement", {2, 3, 1}, {1, 2, 0}, R"(
      def f(x: i64[N, M]) -> y { m[i, k < 1] = sum(j) x[i, j]
                                 y[i, j] = x[i, j] - m[i, 0] })"},
    {"OnePlaceThatIsReadAtAnyPlace", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N], n: i64) -> y { p = [n % 7]
                                      y[i] = x[i] + p[clamp(i)] + p[wrap(x[i])] })"},
    {"RowsThatAreReadWithAFallback", {2, 2, 1}, {1, 2, 0}, R"(
      def f(x: i64[N, M]) -> y { p[k < 1, i] = sum(j) x[i, j]
                                 y[i] = p[pad(0, 7), pad(i + 1, 7)] })"},
    // Where data may point outside, the array and its check stay.
    {"OnePlaceThatDataPointTo", {2, 0, 1}, {1, 0, 1}, R"(
      def f(x: i64[N], n: i64) -> y { p = [n % 7]
                                      y[i] = x[i] + p[x[i] % 2 / 2] })"},
    // ---- lists
    {"AListThenMap", {2, 0, 1}, {1, 0, 0}, R"(
      def f(a: i64, b: i64) -> r { p = [a, b, a + b]
                                   r[k] = p[k] * p[2 - k] })"},
    {"AListOfRows", {2, 3, 1}, {2, 2, 1}, R"(
      def f(x: i64[N], a: i64) -> r { m = [[a, 1], [a + 1, 2]]
                                      r[i, j] = sum(k) x[i] * m[k, j] })"},
    {"AListForEachElement", {2, 1, 1}, {1, 1, 0}, R"(
      def f(x: i64[N]) -> s { p = [ w * w | v in x, w in [v, v + 1, 2 * v] ]
                              s = sum(k) p[k] })"},
    {"AListOfOneOrNone", {2, 1, 1}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> r { p = [ w | v in x, w in (if v > 3 then [v] else []) ]
                              r = [ 2 * v | v in p ] })"},
    {"AListOfNoneOrTwo", {2, 1, 1}, {1, 1, 0}, R"(
      def f(x: i64[N]) { p = [ w | v in x, w in (if v > 3 then [] else [v, -v]) ]
                         for v in p { print(v) } })"},
    {"ListsOfDifferentLengths", {2, 1, 1}, {1, 1, 0}, R"(
      def f(x: i64[N]) -> s { p = [ w | v in x, w in (if v > 3 then [v] else [1, v, v * v]) ]
                              s = sum(k) p[k] })"},
    {"ListsUnderTwoConditions", {2, 1, 1}, {1, 1, 0}, R"(
      def f(x: i64[N]) -> s { p = [ w | v in x, w in (if v > 3 then [v, 1] else if v < 0 then [-v] else []) ]
                              s = sum(k) p[k] })"},
    {"CollectionsOnBothSides", {2, 1, 1}, {1, 1, 0}, R"(
      def f(x: i64[N], y: i64[M]) -> r {
        p = [ w | v in x, w in (if v > 3 then [ u + v | u in y, u > 2 ]
                                else if v > 0 then [ v * j | j < 3 ] else [ j | j in 1 .. 3, j != v ]) ]
        r = [ v + 1 | v in p ] })"},
    // `b < v` compares: both names mean something there.
    {"FiltersOnBothSides", {2, 1, 1}, {1, 1, 0}, R"(
      def f(x: i64[N], y: i64[M]) -> s {
        p = [ w | v in x, w in (if v > 5 then [ a | a in y, a > v ] else [ b | b in y, b < v ]) ]
        s = sum(k) p[k] })"},
    {"AFlatMapOnOneSide", {2, 2, 1}, {1, 2, 0}, R"(
      def f(x: i64[N]) -> s { p = [ w | v in x, w in (if v > 3 then [ u | k < 3, u in [k, v] ] else [v]) ]
                              s = sum(k) p[k] })"},
    {"AChoiceInAFlatMapOnOneSide", {2, 2, 1}, {1, 2, 0}, R"(
      def f(x: i64[N], y: i64[M]) -> r {
        p = [ w | v in x, w in (if v > 5 then [ u + k | u in (if v > 6 then [ q | q in y, q < v ] else [v, v]), k < 2 ]
                                else [ a * b / v | v != 0, a in y, b < 10 / v, b != a ]) ]
        r = [ v + 1 | v in p ] })"},
    {"ARowAndTuplesOnBothSides", {3, 3, 3}, {2, 3, 4}, R"(
      def f(x: i64[N], y: i64[M]) -> s {
        c = [ [ a + j | j < a % 3 ] | a in y ]
        t = [ (a, 2 * a) | a in y ]
        s = [ w | v in x, w in (if v > 5 then [ u | r < M, u in c[r], v > u ] else [ a + b | (a, b) in t ]) ] })"},
    // The length of what a choice collects is a number that the choice leaves behind.
    {"AChoiceOfCollectionsThenAFoldAndTheLength", {3, 0, 1}, {2, 0, 0}, R"(
      def f(x: i64[N], n: i64) -> s { p = if n > 3 then [ v | v in x, v > 2 ] else [ 2 * v | v in x ]
                                      s = (sum(k) p[k]) / max(len(p), 1) })"},
    {"AChoiceOfCollectionsThenPrintsAndTheLength", {3, 0, 1}, {2, 0, 0}, R"(
      def f(x: i64[N], n: i64) { p = if n > 3 then [ v | v in x, v > 2 ] else [ 2 * v | v in x ]
                                 for v in p { print(v) }
                                 print("len", len(p)) })"},
    {"AChoiceOfCollectionsThenAMapAndTheLength", {3, 0, 1}, {2, 0, 0}, R"(
      def f(x: i64[N], n: i64) -> (r, l) { p = if n > 3 then [ v | v in x, v > 2 ] else [ v | v in x, v < n ]
                                           r = [ v * v | v in p ]
                                           l = 10 * len(p) })"},
    {"AChoiceInAChoiceThenAFoldAndTheLength", {4, 0, 1}, {3, 0, 0}, R"(
      def f(x: i64[N], n: i64) -> s {
        p = if n > 3 then (if n > 7 then [ v | v in x, v > 2 ] else x) else [ v | v in x, v < n ]
        s = (sum(k) p[k]) + n * len(p) })"},
    {"AChoiceOfCollectionsOfWhichOnlyTheLengthIsRead", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N], n: i64) -> r { p = if n > 3 then [ v | v in x, v > 2 ] else [ 2 * v | v in x ]
                                      r = len(p) })"},
    {"AChoiceOfCollectionsInALoopOfWhichOnlyTheLengthIsRead", {1, 2, 1}, {1, 2, 0}, R"(
      def f(x: i64[N], T: i64) -> s { s = seq t < T % 9 from 0 {
                                        p = if t > 3 then [ v | v in x, v > t ] else [ v | v in x, v < t ]
                                        s = s + len(p) } })"},
    {"AZipOfTwoChoicesForOneReason", {5, 0, 2}, {2, 0, 0}, R"(
      def f(x: i64[N], y: i64[N], n: i64) -> r {
        p = if n > 3 then [ v | v in x, v > 2 ] else [ 2 * v | v in x ]
        q = if n > 3 then [ 2 * v | v in p ] else [ 3 * v | v in y ]
        r = [ a + b | (a, b) in zip(p, q) ] })"},
    // Filters that keep different elements do not fuse with their zip on either side; maps do.
    {"AZipOfFiltersOrMapsForOneReason", {5, 0, 2}, {3, 0, 2}, R"(
      def f(x: i64[N], y: i64[N], n: i64) -> s {
        p = if n > 3 then [ v | v in x, v > 2 ] else [ 2 * v | v in x ]
        q = if n > 3 then [ v | v in y, v > 2 ] else [ 3 * v | v in y ]
        s = (sum [ a * b | (a, b) in zip(p, q) ]) + len(q) })"},
    // A size that another array has, or that a place is computed with, stays one.
    {"AChoiceOfCollectionsWhoseLengthIsASize", {4, 0, 1}, {4, 0, 1}, R"(
      def f(x: i64[N], n: i64) -> (s, y) { p = if n > 3 then [ v | v in x, v > 2 ] else [ 2 * v | v in x ]
                                           s = sum(k) p[k]
                                           y[i < len(p) / 2] = 3 * i })"},
    {"AChoiceOfAListOrNothing", {3, 0, 1}, {2, 0, 0}, R"(
      def f(x: i64[N], n: i64) -> r { p = if n > 3 then [n, N] else []
                                      r = [ v + 1 | v in p ] })"},
    {"AChoiceOfNothingOrAnArray", {3, 0, 1}, {2, 0, 0}, R"(
      def f(x: i64[N], n: i64) -> r { p = if n > 3 then [] else x
                                      r = [ v + 1 | v in p ] })"},
    // Better than two loops: ranges with lengths that are equal by number or by symbol are one range.
    {"ReconstructedProducers", {4, 0, 2}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> (y, z) { p[i < N] = 1
                                   q[i < N] = 1
                                   y[i] = p[i] + x[i]
                                   z[i] = q[i] * x[i] })"},
    // ---- the same at every step
    {"AFoldThatIsTheSameForAllElements", {2, 1, 0}, {2, 0, 0}, R"(
      def f(x: f64[N], w: f64[M]) -> (y, z) { y[i < N] = sum(j) w[j]
                                              z[i] = x[i] * 2 })"},
    {"HoistedOutOfATimeLoopAndFusedThere", {1, 3, 3}, {2, 1, 2}, R"(
      def f(x: f64[N], u0: f64[N], T: i64) -> u { u = seq t < T % 4 from u0 { a[i] = x[i] * 2
                                                                              k[i] = a[i] + exp(x[i])
                                                                              u[i] = u[i] * 0.5 + k[i] } })"},
    // Not done before: what became the same for all points is hoisted and considered again.
    {"FusionMakesALoopInvariantAndThenItFuses", {4, 1, 2}, {2, 0, 0}, R"(
      def f(x: f64[N], w: f64[M]) -> (y, z) { a[i < N] = 3
                                              s[i] = sum(j) w[j] * a[i]
                                              y[i] = x[i] * s[i]
                                              z = max(j) w[j] })"},
    {"TheSameTwice", {4, 0, 2}, {1, 0, 0}, R"(
      def f(x: f64[N]) -> (y, z) { a[i] = x[i] * 2
                                   b[i] = x[i] * 2
                                   y[i] = a[i] + a[N - 1 - i]
                                   z[i] = b[i] - b[N - 1 - i] })"},
    // ---- several kinds together
    {"OnlyTheLengthOfAShiftedConsumerIsUsed", {2, 0, 2}, {0, 0, 0}, R"(
      def f(n: i64) -> y { p[i < 101] = n * i
                           q[i < 100] = p[i + 1]
                           y = len(q) })"},
    {"AZipOfARealAndAReconstructedProducer", {3, 0, 2}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> z { p[i] = x[i] % 100
                              q[i < N] = 3 * i
                              z[i] = p[i] * q[i] })"},
    // Better than three loops: element 0 is a value of its own, and positions are counted.
    {"ElementZeroOfAProducerAndThePositionInAFilter", {4, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> (a, b, c) { p[i < 8] = 3 * i + len(x)
                                      a[i < 8] = p[0] + i
                                      b = [ p[0] * i | i < 8, i % 3 != 1 ]
                                      c[k] = b[k] + k })"},
    // Better than two loops: element 0 is computed where it is needed, so nobody waits for the producer's
    // loop.
    {"ElementZeroOfAProducerAndAMapOverAFilter", {4, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> (a, b, c) { p[i < 8] = 3 * i + len(x)
                                      a = [ p[0] + i | i < 8, i % 2 == 0 ]
                                      b = [ p[0] * i | i < 8, i % 2 == 0 ]
                                      c[k] = b[k] + 1 })"},
    // Better than three loops: the first print shares the loop of what it prints, and stays before the
    // second.
    {"APrintBetweenAProducerAndAnEffect", {3, 0, 1}, {2, 0, 0}, R"(
      def f(x: i64[N]) { p[i] = x[i] % 7
                         for v in p { print("a", v) }
                         for v in p { print("b", v) } })"},
    {"TwoPrintsOfDifferentRanges", {2, 0, 0}, {2, 0, 0}, R"(
      def f(n: i64) { for i < n { print("a", i) }
                      for i < 2 * n { print("b", i) } })"},
    {"AFilterOfRawIndicesAndAMapOfIt", {2, 0, 0}, {1, 0, 0}, R"(
      def f(n: i64) -> (p, y) { p = [ i | i < n, i % 3 == 1 ]
                                y[k] = p[k] * 2 })"},
    {"ASharedSubexpressionOfAFilterAndItsValue", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> y { p = [ x[i] * x[i] % 100 | i, x[i] * x[i] % 100 > 10 ]
                              y[k] = p[k] + 1 })"},
    // Better than 1+5, for the same reason.
    {"AFlatMapWithAConditionAndItsConsumersOfAllKinds", {6, 3, 1}, {1, 3, 0}, R"(
      def f(n: i64, w: i64[M]) -> (a, b, c, d, e) { p = [ 10 * i + j | i < n, j < 4, (i + j) % 3 != 1 ]
                                                    a[k] = p[k] + 1
                                                    b = [ v | v in p, v % 2 == 0 ]
                                                    c = [ v + l | v in p, l < 3 ]
                                                    d = sum(k) p[k]
                                                    stage e(k < len(p), j < M) {
 out e: i64[M] at [j] = fold(+, k) cat(j) p[k] * (w[j] % 100) } })"},
    // Better than 1+6, for the same reason.
    {"AFlatMapOfFlatMapsAndItsConsumersOfAllKinds", {6, 4, 1}, {1, 4, 0}, R"(
      def f(n: i64, w: i64[M]) -> (a, b, c, d, e) { p = [ 10 * i + j + h | i < n, j < 4, h < 3 ]
                                                    a[k] = p[k] + 1
                                                    b = [ v | v in p, v % 2 == 0 ]
                                                    c = [ v + l | v in p, l < 3 ]
                                                    d = sum(k) p[k]
                                                    stage e(k < len(p), j < M) {
 out e: i64[M] at [j] = fold(+, k) cat(j) p[k] * (w[j] % 100) } })"},
    // Better than 2+4: all consumers share the loop over the filter, which is written outside of the flatMap
    // here, and inside further down.
    {"AFlatMapOfAFilterThatIsTheSameForAll", {7, 3, 2}, {2, 3, 1}, R"(
      def f(x: i64[N], w: i64[M], n: i64) -> (a, b, c, d, e) { q = [ v % 100 | v in x, v % 3 == 1 ]
                                                               p = [ v + i | i < n, v in q ]
                                                               a[k] = p[k] + 1
                                                               b = [ v | v in p, v % 2 == 0 ]
                                                               c = [ v + l | v in p, l < 3 ]
                                                               d = sum(k) p[k]
                                                               stage e(k < len(p), j < M) {
 out e: i64[M] at [j] = fold(+, k) cat(j) p[k] * (w[j] % 100) } })"},
    {"AFlatMapOfAFilterThatIsTheSameForAllThenMapThenFilter", {4, 1, 3}, {2, 1, 1}, R"(
      def f(x: i64[N], n: i64) -> c { q = [ v % 100 | v in x, v % 3 == 1 ]
                                      p = [ v + i | i < n, v in q ]
                                      m[k] = p[k] * 2
                                      c = [ v | v in m, v % 4 == 0 ] })"},
    {"ThreeIndependentFlatMapsOfOneRange", {3, 3, 0}, {1, 1, 0}, R"(
      def f(n: i64) -> (a, b, c) { a = [ i * j | i < n, j < 3 ]
                                   b = [ i + j | i < n, j < 3, i != j ]
                                   c = [ i - j | i < n, j < 3 ] })"},
    {"AZipAndAFilterOfIt", {5, 0, 2}, {2, 0, 0}, R"(
      def f(x: i64[N], y: i64[N]) -> (z, c, m) { p[i] = x[i] % 100
                                                 q[i] = y[i] % 100
                                                 z[i] = p[i] * q[i]
                                                 c = [ v | v in z, v > 10 ]
                                                 m[k < N] = c[pad(k)] + 1 })"},
    {"AZipAndTheIdentityOfAThirdLoop", {5, 0, 2}, {1, 0, 0}, R"(
      def f(x: i64[N], y: i64[N]) -> (z, r, s) { p[i] = x[i] % 100
                                                 q[i] = y[i] % 100
                                                 z[i] = p[i] * q[i]
                                                 r[i] = x[i] - y[i]
                                                 s[i] = r[i] })"},
    // Better than two loops: an element further on is computed where it is needed.
    {"AZipAndALaterConsumerAtAnotherElement", {5, 0, 3}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> (z, r) { p[i] = x[i] % 100
                                   q[i < N] = 3 * i
                                   z[i] = p[i] * q[i]
                                   w[i] = z[i] % 7
                                   r[i] = p[N - 1 - i] + w[i] })"},
    // Better than two loops: element 0 is computed where it is needed.
    {"AProducerInASetIsReadAtZeroAsWell", {4, 0, 1}, {1, 0, 0}, R"(
      def f(n: i64) -> (a, b, c) { p[i < 8] = n * i
                                   a[i < 8] = p[i] + 1
                                   b[i < 8] = a[i] * 2
                                   c[i < 8] = p[0] + i })"},
    {"RowsOfARowAreReadAtOnce", {2, 2, 1}, {1, 1, 0}, R"(
      def f(x: i64[N]) -> y { p[i, j < 4] = x[i] % 100 + j
                              y[i, j < 4] = p[i, j] * 2 })"},
    {"AConsumerInsideOfAnotherLoop", {2, 3, 3}, {2, 1, 1}, R"(
      def f(x: i64[N], n: i64) -> y { p[i] = 2 * x[i]
                                      stage y(k < n) {
                                        block {
                                          a[j] = p[j] + k
                                          b[j] = 2 * a[j] - p[N - 1 - j]
                                          s = max(j) b[j]
                                        }
                                        out y: i64[n] at [k] = cat(k) s
                                      } })"},
    {"TwoIndependentInnerLoops", {1, 2, 0}, {1, 1, 0}, R"(
      def f(x: i64[N], n: i64) -> y { stage y(k < n) {
                                        block {
                                          a = sum(j) x[j] % 100 * k
                                          b = max(j) (x[j] - k) % 100
                                          s = a + b
                                        }
                                        out y: i64[n] at [k] = cat(k) s
                                      } })"},
    {"ASiblingAProducerAndAConsumerInsideOfALoop", {1, 3, 1}, {1, 1, 0}, R"(
      def f(x: i64[N], n: i64) -> y { stage y(k < n) {
                                        block {
                                          a[j] = x[j] % 100 + k
                                          b = sum(j) a[j]
                                          c = max(j) x[j] * k
                                          s = b + c
                                        }
                                        out y: i64[n] at [k] = cat(k) s
                                      } })"},
    {"AnArrayAndItsPrintInsideOfALoop", {1, 2, 1}, {1, 1, 0}, R"(
      def f(x: i64[N], n: i64) -> y { stage y(k < n) {
                                        block {
                                          a[j] = x[j] % 100 + k
                                          for j < N { print(a[j]) }
                                        }
                                        out y: i64[n] at [k] = cat(k) 2 * k
                                      } })"},
    // Better than 1+1: an element of an inner array is substituted down to its value.
    {"AnElementOfAnArrayOfArrays", {2, 1, 2}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> s { c = [ [ x[i] % 100 + k | k < 4 ] | i < N ]
                              s[i < N] = c[i][2] })"},
    // Better than 1+1: rows that are known to be equally long are no collections.
    {"AllElementsOfAnArrayOfArrays", {3, 2, 2}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> (s, t) { c = [ [ x[i] % 100 + k | k < 4 ] | i < N ]
                                   s[i < N] = sum(j) c[i][j]
                                   t[i] = len(c[i]) })"},
    {"ARowOfAnArrayOfArrays", {2, 1, 1}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> s { c[i, k < 4] = x[i] % 100 + k
                              s[i] = c[i, 2] })"},
    {"AnInnerAndAnOuterLoopOfOneRange", {2, 1, 1}, {2, 1, 1}, R"(
      def f(n: i64) -> y { p[i < 100] = 3 * i * i + n
                           y[k < n] = sum(j < 100) p[j] % (k + 1) })"},
    {"NestedArraysThatAreTheSameForAllAndSums", {7, 1, 4}, {2, 0, 0}, R"(
      def f(x: i64[N], y: i64[M]) -> (r, t, u) { c[i] = x[i] % 10
                                                 d[j] = y[j] % 10
                                                 p[i < N] = sum(j) d[j]
                                                 q[i] = c[i] * p[i]
                                                 r = sum(i) q[i]
                                                 t = sum(i) c[i]
                                                 u = max(j) d[j] })"},
    {"MeanAndVarianceOfAConstantPlusALine", {6, 0, 4}, {1, 0, 0}, R"(
      def f(n: i64) -> (m, v) { a[i < n] = 5
                                b[i < n] = 3 * i
                                c[i < n] = a[i] + b[i]
                                m = sum(i) c[i]
                                q[i < n] = c[i] * c[i]
                                v = sum(i) q[i] })"},
    {"AFilterACountAndASum", {3, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> (s, n) { p = [ v % 100 | v in x, v > 0 ]
                                   s = sum(k) p[k]
                                   n = sum(k) (if p[k] > 50 then 1 else 0) })"},
    {"APrintOfTwoReconstructedProducers", {3, 0, 2}, {1, 0, 0}, R"(
      def f(n: i64) { p[i < n] = 3 * i
                      q[i < n] = i * i
                      for i < n { print(p[i], q[i]) } })"},
    {"AFlatMapOfNothingOrAMapThenPrint", {2, 1, 1}, {1, 1, 0}, R"(
      def f(n: i64) { p = [ 10 * i + j | i < n, j < (if i % 2 == 0 then 0 else 3) ]
                      for v in p { print(v) } })"},
    {"AFlatMapOfAMapOrNothingThenPrint", {2, 1, 1}, {1, 1, 0}, R"(
      def f(n: i64) { p = [ 10 * i + j | i < n, j < (if i % 2 == 0 then 3 else 0) ]
                      for v in p { print(v) } })"},
    {"OneOrNothingThenMapForeachReduce", {4, 0, 2}, {1, 0, 0}, R"(
      def f(c: i64) -> s { p = [ c % 10 + i | i < (if c % 2 == 0 then 1 else 0) ]
                                      m[k] = p[k] * 2
                                      for v in m { print(v) }
                                      s = sum(k) m[k] })"},
    // Better than 2+1: nothing is left of the inner loop once its length is known.
    {"FusionMakesAnotherLoopDead", {3, 2, 2}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> (y, n) { p[i, j < 3] = x[i] + j
                                   q[i, j < 3] = p[i, j] * 2
                                   y[i] = x[i] + 1
                                   n = len(q) + len(y) })"},
    {"AConcatenationThenAMap", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N], y: i64[M]) -> z { c[i < N + M] = if i < N then x[i] else y[i - N]
                                         z[i] = c[i] * 2 })"},
    {"TwoNeighboursInMemoryOrComputedTwice", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> y {
        @recompute
        p[i < N + 1] = i * i % 7
        y[i < N] = p[i] + p[i + 1] })"},
    // ---- groups
    {"MapThenGroupWithAnOperator", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> h { p[i] = x[i] % 1000
                              h = group(+) [ (v % 4, v) | v in p ] })"},
    {"FilterThenCollectIntoBuckets", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> h { p = [ v | v in x, v % 3 == 1 ]
                              h = group [ (v % 4, v) | v in p ] })"},
    {"MapThenGroupThenFold", {4, 1, 4}, {1, 0, 0}, R"(
      def f(key: i64[N], x: i64[N]) -> (k, s) { p[i] = x[i] % 1000
                                                g = group [ (key[i] % 5, p[i]) | i ]
                                                k[b] = g.keys[b]
                                                s[b] = sum(j) g[b][j] })"},
    {"GroupThenMeanOfEachBucket", {4, 1, 4}, {2, 0, 2}, R"(
      def f(key: i64[N], x: f64[N]) -> (k, m) { g = group [ (key[i] % 5, x[i]) | i ]
                                                k[b] = g.keys[b]
                                                m[b] = (sum(j) g[b][j]) / len(g[b]) })"},
    {"GroupThenFlatMapOfFolds", {3, 1, 4}, {2, 0, 2}, R"(
      def f(key: i64[N], x: i64[N]) -> y { g = group [ (key[i] % 5, x[i]) | i, x[i] % 3 != 1 ]
                                           s[b] = sum [ v % 100 | v in g[b], v % 2 == 0 ]
                                           y = [ (g.keys[b], s[b]) | b < len(g), s[b] > 10 ] })"},
    {"GroupThenPrintOfFolds", {3, 1, 4}, {2, 0, 2}, R"(
      def f(key: i64[N], x: i64[N]) { g = group [ (key[i] % 5, x[i] % 100) | i ]
                                      for b < len(g) { print(g.keys[b], sum(j) g[b][j]) } })"},
    {"BucketsThatAreUsedAsWellStay", {2, 1, 0}, {2, 1, 0}, R"(
      def f(key: i64[N], x: i64[N]) -> (g, s) { g = group [ (key[i] % 5, x[i] % 100) | i ]
                                                s[b] = sum(j) g[b][j] })"},
    {"ThePositionInABucketIsUsed", {2, 1, 2}, {2, 1, 2}, R"(
      def f(key: i64[N], x: i64[N]) -> s { g = group [ (key[i] % 5, x[i] % 100) | i ]
                                           s[b] = sum(j) j * g[b][j] })"},
    {"TwoGroupsByTheSameKey", {4, 0, 4}, {2, 0, 3}, R"(
      def f(key: i64[N], x: i64[N]) -> (a, b) { g = group(+) [ (key[i] % 5, x[i] % 100) | i ]
                                                h = group(max) [ (key[i] % 5, x[i]) | i ]
                                                a[b] = g.keys[b] * g[b]
                                                b[b] = h.keys[b] - h[b] })"},
    {"TwoGroupsByTheSameKeyAndTheirFolds", {6, 2, 5}, {1, 0, 0}, R"(
      def f(key: i64[N], x: i64[N], y: i64[N]) -> (k, l, s, t) { g = group [ (key[i] % 5, x[i] % 100) | i ]
                                                                 h = group [ (key[i] % 5, y[i]) | i ]
                                                                 k[b] = g.keys[b]
                                                                 l[b] = len(h[b])
                                                                 s[b] = sum(j) g[b][j]
                                                                 t[b] = max(j) h[b][j] })"},
    {"AGroupByPairsOfNarrowNumbersAndBooleans", {1, 0, 0}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> y { y = group(+) [ ((v % 3 == 0, i8(v % 5), v % 2 == 0), v % 100) | v in x ] })"},
    {"AGroupByPairsOfBooleansAndNumbers", {1, 0, 0}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> y { y = group(+) [ ((v % 3 == 0, i16(v % 5)), v % 100) | v in x ] })"},
    // ---- scans
    {"AScanOfAFilter", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> y { p = [ v % 7 | v in x, v % 3 != 1 ]
                              y[k] = scan(+, k) p[k] })"},
    {"AScanOfAFilterAndWhatFollowsIt", {4, 0, 2}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> (z, n) { p = [ v % 7 | v in x, v % 3 != 1 ]
                                   y[k] = scan(max, k) p[k] * p[k]
                                   z = [ v - 1 | v in y, v % 2 == 0 ]
                                   n = sum(k) y[k] })"},
    {"AScanOfAFilterFromTheRight", {2, 0, 1}, {2, 0, 1}, R"(
      def f(x: i64[N]) -> y { p = [ v % 7 | v in x, v % 3 != 1 ]
                              y[k] = scan_right(+, k) p[k] })"},
    {"AScanOfAFlatMap", {2, 1, 1}, {1, 1, 0}, R"(
      def f(x: i64[N]) -> y { p = [ v % 9 * k | v in x, k < v % 4 ]
                              y[k] = scan(+, k) p[k] })"},
    {"AScanOfANestedFlatMapWithConditions", {2, 2, 1}, {1, 2, 0}, R"(
      def f(x: i64[N]) -> y { p = [ v % 9 * k - m | v in x, v % 3 != 1, k < v % 4, m < k, m % 2 == 0 ]
                              y[k] = scan(max, k) p[k] * p[k] })"},
    {"AScanOfAFlatMapAndWhatFollowsIt", {4, 1, 3}, {1, 1, 0}, R"(
      def f(x: i64[N]) -> z { p = [ v % 9 * k | v in x, k < v % 4 ]
                              y[k] = scan(+, k) p[k]
                              q[k] = 2 * y[k] + 1
                              z = [ v - 1 | v in q, v % 3 == 0 ] })"},
    {"AScanOfAFlatMapThatIsUsedAsWell", {3, 1, 0}, {1, 1, 0}, R"(
      def f(x: i64[N]) -> (p, y, m) { p = [ v % 9 * k | v in x, k < v % 4 ]
                                      y[k] = scan(+, k) p[k]
                                      m[k] = y[k] * 2 })"},
    {"AScanOfWhatARunningValueLetsPass", {4, 0, 3}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> z { p = [ v % 7 | v in x, v % 3 != 1 ]
                              y[k] = scan(+, k) p[k]
                              q = [ v % 5 | v in y, v % 2 == 0 ]
                              z[k] = scan(+, k) q[k] })"},
    {"TwoScansOfAFilterAndAFoldOfThem", {4, 0, 3}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> s { p = [ v % 7 | v in x, v % 3 != 1 ]
                              a[k] = scan(+, k) p[k]
                              b[k] = scan(max, k) p[k]
                              s = sum(k) (a[k] - b[k]) })"},
    {"BucketsOfARunningValue", {3, 1, 2}, {1, 1, 0}, R"(
      def f(x: i64[N]) -> g { p = [ v % 9 * k | v in x, k < v % 4 ]
                              a[k] = scan(+, k) p[k]
                              g = group(+) [ (a[k] % 5, p[k]) | k < len(p) ] })"},
    {"AForeachOverAScanOfAFlatMap", {3, 1, 2}, {1, 1, 0}, R"(
      def f(x: i64[N]) { p = [ v % 9 * k | v in x, k < v % 4 ]
                         a[k] = scan(+, k) p[k]
                         for v in a, v % 2 == 0 { print(v) } })"},
    // ---- positions
    {"ThePositionInAFlatMap", {2, 1, 1}, {1, 1, 0}, R"(
      def f(x: i64[N]) -> y { p = [ v % 9 * k | v in x, k < v % 4 ]
                              y[k] = p[k] * 100 + k })"},
    {"ThePositionInAFlatMapDecides", {3, 1, 1}, {1, 1, 0}, R"(
      def f(x: i64[N]) -> (y, s) { p = [ v % 9 * k | v in x, k < v % 4 ]
                                   y = [ p[k] + k | k < len(p), k % 3 == 0 ]
                                   s = sum(k) y[k] * k })"},
    {"AZipOfAFilterAndAnArray", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> y { p = [ v % 7 | v in x, v % 3 != 1 ]
                              y[k] = p[k] * x[k] })"},
    {"TwoThatUseThePositionInAFilter", {3, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> (y, s) { p = [ v % 7 | v in x, v % 3 != 1 ]
                                   y[k] = p[k] + k
                                   s = sum(k) p[k] * k })"},
    {"AScatterByThePositionInAFlatMap", {2, 1, 1}, {1, 1, 0}, R"(
      def f(x: i64[N]) -> h { p = [ v % 9 * k | v in x, k < v % 4 ]
                              h: i64[8] = scatter(+) { k % 8 <- p[k] | k < len(p) } })"},
    {"AForeachThatPrintsThePositionInAFlatMap", {2, 1, 1}, {1, 1, 0}, R"(
      def f(x: i64[N]) { p = [ v % 9 * k | v in x, k < v % 4 ]
                         for k < len(p) { print(k, p[k]) } })"},
    {"AFlatMapAsFarAsThePositionInAFilter", {2, 1, 1}, {2, 1, 1}, R"(
      def f(x: i64[N]) -> y { p = [ v % 7 | v in x, v % 3 != 1 ]
                              y = [ p[k] * j | k < len(p), j < k % 3 ] })"},
    {"AFlatMapThatUsesThePositionInAFilter", {2, 1, 1}, {1, 1, 0}, R"(
      def f(x: i64[N]) -> y { p = [ v % 7 | v in x, v % 3 != 1 ]
                              y = [ p[k] * j + k | k < len(p), j < 3 ] })"},
    // ---- zips of collections
    {"AZipOfTwoFiltersWithOneCondition", {3, 0, 2}, {1, 0, 0}, R"(
      def f(x: i64[N], y: i64[N]) -> z { a = [ x[i] % 7 | i < N, x[i] % 3 != 1 ]
                                         b = [ y[i] % 5 | i < N, x[i] % 3 != 1 ]
                                         z = [ u * 10 + v | (u, v) in zip(a, b) ] })"},
    {"AZipOfTwoFiltersWithTwoConditions", {3, 0, 2}, {2, 0, 2}, R"(
      def f(x: i64[N], y: i64[N]) -> z { a = [ x[i] % 7 | i < N, x[i] % 3 != 1 ]
                                         b = [ y[i] % 5 | i < N, x[i] % 3 != 2 ]
                                         z = [ u * 10 + v | (u, v) in zip(a, b) ] })"},
    {"AZipOfThreeFlatMapsWithOneConditionThatAreUsedAsWell", {4, 3, 2}, {1, 1, 0}, R"(
      def f(x: i64[N]) -> (a, s) { a = [ v % 7 * k | v in x, k < v % 4, v % 3 != 1 ]
                                   b = [ v % 5 + k | v in x, k < v % 4, v % 3 != 1 ]
                                   c = [ v - k | v in x, k < v % 4, v % 3 != 1 ]
                                   s = sum [ u * v + w | (u, v, w) in zip(a, b, c) ] })"},
    {"AZipOfAFilterWithItsOwnNeighbour", {3, 0, 2}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> z { a = [ v % 7 | v in x, v % 3 != 1 ]
                              b = [ v + 1 | v in a ]
                              z = [ u * 10 + v | (u, v) in zip(a, b) ] })"},
    // ---- rows of any length
    {"SumsOfRowsOfAnyLength", {2, 2, 2}, {1, 1, 0}, R"(
      def f(x: i64[N]) -> s { c = [ [ v * j | j < v % 5 ] | v in x ]
                              s[i] = sum(j) c[i][j] })"},
    {"TheGreatestOfRowsWithConditions", {2, 3, 2}, {1, 2, 0}, R"(
      def f(x: i64[N]) -> s { c = [ [ v * j - k | j < v % 5, k < j, k != 2 ] | v in x ]
                              s[i] = max(j) c[i][j] })"},
    {"SumsOfRowsThatAreUsedAsWell", {2, 2, 0}, {1, 1, 0}, R"(
      def f(x: i64[N]) -> (c, s) { c = [ [ v * j | j < v % 5, j != 2 ] | v in x ]
                                   s[i] = sum(j) c[i][j] })"},
    {"RowsThatAreJoined", {2, 2, 2}, {1, 1, 0}, R"(
      def f(x: i64[N]) -> y { c = [ [ v * j | j < v % 5, j != 2 ] | v in x ]
                              y = [ w + 1 | r in c, w in r, w % 2 == 0 ] })"},
    {"RowsOfRows", {2, 2, 2}, {1, 1, 0}, R"(
      def f(x: i64[N]) -> m { c = [ [ v * j | j < v % 5, j != 2 ] | v in x ]
                              m = [ [ w + 1 | w in r, w % 2 == 0 ] | r in c ] })"},
    {"ThePlaceInARow", {2, 2, 2}, {1, 1, 0}, R"(
      def f(x: i64[N]) -> s { c = [ [ v * j + 1 | j < v % 5 ] | v in x ]
                              s[i] = sum(j) c[i][j] * j })"},
    {"ThePlaceInARowWithAConditionIsNotCounted", {2, 2, 2}, {2, 2, 2}, R"(
      def f(x: i64[N]) -> s { c = [ [ v * j | j < v % 5, j != 2 ] | v in x ]
                              s[i] = sum(j) c[i][j] * j })"},
    {"BucketsOfTheElementsOfRows", {2, 2, 2}, {1, 1, 0}, R"(
      def f(x: i64[N]) -> g { c = [ [ v * j | j < v % 5, j != 2 ] | v in x ]
                              g = group(+) [ (w % 3, w) | r in c, w in r ] })"},
    {"RowsThatDecideHowFarALoopRuns", {2, 3, 2}, {1, 2, 0}, R"(
      def f(x: i64[N]) -> y { c = [ [ v * j | j < v % 5, j != 2 ] | v in x ]
                              y = [ w * k | r in c, w in r, k < w % 3 ] })"},
    {"AForeachOverTheElementsOfRows", {2, 2, 2}, {1, 1, 0}, R"(
      def f(x: i64[N]) { c = [ [ v * j | j < v % 5, j != 2 ] | v in x ]
                         for r in c, w in r, w % 2 == 0 { print(w) } })"},
    {"TwoThatGoThroughTheSameRows", {3, 3, 2}, {1, 1, 0}, R"(
      def f(x: i64[N]) -> (s, m) { c = [ [ v * j | j < v % 5, j != 2 ] | v in x ]
                                   s[i] = sum(j) c[i][j]
                                   m = [ [ w + 1 | w in r, w % 2 == 0 ] | r in c ] })"},
    // No row is made; that one is too short for its element is found out all the same.
    {"AnElementOfEachRowOfAnyLength", {2, 1, 2}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> s { c = [ [ v * j | j < 1 + v % 5 ] | v in x ]
                              s[i] = c[i][0] })"},
    {"SomeElementsOfEachRow", {4, 3, 4}, {1, 1, 0}, R"(
      def f(x: i64[N]) -> (s, t) { c = [ [ v * j | j < 3 + v % 5 ] | v in x ]
                                   s[i] = c[i][2] - c[i][0]
                                   d = [ [ v + j | j < 2 + v % 3 ] | v in x ]
                                   t[i, k < 2] = d[i][k] })"},
    {"AnElementOfEachRowThatIsUsedAsWell", {2, 1, 0}, {2, 1, 0}, R"(
      def f(x: i64[N]) -> (c, s) { c = [ [ v * j | j < 1 + v % 5 ] | v in x ]
                                   s[i] = c[i][0] })"},
    {"RowsOfEqualLengthThatAreGoneThrough", {2, 2, 2}, {1, 1, 0}, R"(
      def f(x: i64[N]) -> a { c = [ [ v * j | j < 4 ] | v in x ]
                              a = [ w | r in c, w in r, w > 3 ] })"},
    {"ASumOfRowsOfEqualLength", {2, 2, 2}, {1, 1, 0}, R"(
      def f(x: i64[N], m: i64) -> s { c = [ [ v * j | j < m ] | v in x ]
                                      s = sum [ w | r in c, w in r ] })"},
    {"ElementsOfRowsOfEqualLength", {2, 2, 2}, {1, 1, 0}, R"(
      def f(x: i64[N]) -> b { c = [ [ v * j | j < 4 ] | v in x ]
                              b[i, j < 4] = c[i][j] + 1 })"},
    {"TheMeanOfEachRow", {3, 2, 3}, {1, 1, 0}, R"(
      def f(x: i64[N]) -> m { c = [ [ v * j | j < v % 5, j != 2 ] | v in x ]
                              m[i] = (sum(j) c[i][j]) / max(len(c[i]), 1) })"},
    {"SumsAndLengthsOfRows", {3, 2, 2}, {1, 1, 0}, R"(
      def f(x: i64[N]) -> (s, n) { c = [ [ v * j | j < v % 5, j != 2 ] | v in x ]
                                   s[i] = sum(j) c[i][j]
                                   n[i] = len(c[i]) })"},
    {"LengthsOfRowsAndTheirElements", {3, 2, 2}, {1, 1, 0}, R"(
      def f(x: i64[N, M]) -> (a, b) { c = [ [ v | v in row, v > 50 ] | row in x ]
                                      a[i] = len(c[i])
                                      b = [ w | r in c, w in r, w % 2 == 0 ] })"},
    {"LengthsOfRows", {2, 1, 2}, {1, 1, 0}, R"(
      def f(x: i64[N]) -> s { c = [ [ v * j | j < v % 5, j != 2 ] | v in x ]
                              s[i] = len(c[i]) })"},
    // ---- ranges that are computed, and lists made on the spot
    {"AFlatMapThatGoesAsFarAsAComputedElement", {2, 1, 1}, {1, 1, 0}, R"(
      def f(x: i64[N]) -> y { p[i] = x[i] % 7
                              y = [ v * 10 + m | v in p, m < v ] })"},
    {"AFoldThatGoesAsFarAsAComputedElement", {2, 1, 1}, {1, 1, 0}, R"(
      def f(x: i64[N]) -> y { p[i] = x[i] % 7
                              y[i] = sum(m < p[i]) m * x[i] })"},
    {"TheMiddleOneOfThreeFlatMapsMadeOnTheSpot", {1, 2, 0}, {1, 2, 0}, R"(
      def f(x: i64[N]) -> y { y = [ w + k | v in x, w in [ v * k | k < v % 4, k != 1 ], k < w % 3, v > w ] })"},
    {"ASumOverAListMadeOnTheSpot", {1, 2, 0}, {1, 2, 0}, R"(
      def f(x: i64[N]) -> y { y = sum [ w | v in x, w in [ v * k + k_2 | k < 3, k_2 < 2 ] ] })"},
    {"TwoListsMadeOnTheSpotWithTheSameNames", {1, 3, 0}, {1, 3, 0}, R"(
      def f(x: i64[N]) -> y { y = [ u - w | v in x, u in [ v + k | k < 2 ],
                                            w in [ v * k + k_2 | k < 3, k_2 < 2 ] ] })"},
    // ---- costly conditions: points are visited once
    {"AFilterOfWhatALibraryFunctionSays", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: f64[N]) -> y { e[i] = exp(x[i]) * sin(x[i])
                              y = [ v | v in e, v > 0.5 ] })"},
    {"AFilterOfSumsOfRows", {3, 1, 1}, {1, 1, 0}, R"(
      def f(x: i64[N, M]) -> (y, z) { r[i] = sum(j) x[i, j] % 10
                                      y = [ v | v in r, v > 3 ]
                                      z = [ (i, r[i]) | i < N, r[i] % 2 == 0 ] })"},
    {"AFlatMapWithCostlyConditions", {2, 1, 1}, {1, 1, 0}, R"(
      def f(x: f64[N]) -> y { e[i] = exp(x[i]) * sin(x[i])
                              y = [ v * k | v in e, k < 3, exp(v + k) > 5 ] })"},
    {"AFlatMapAsFarAsDataSaysWithCostlyConditions", {2, 1, 1}, {1, 1, 0}, R"(
      def f(x: f64[N], n: i64[N]) -> (y, l) { e[i] = exp(x[i]) * sin(x[i])
                                              y = [ e[i] * k | i < N, k < n[i] % 5, exp(e[i] + k) > 5 ]
                                              l = len(y) })"},
    {"AFilterOfWhatLanesComputeFaster", {2, 0, 1}, {2, 0, 1}, R"(
      def f(x: i64[N]) -> y { p[i] = x[i] * (x[i] + 1) * (x[i] + 2) * (x[i] + 3) * (x[i] + 4) * (x[i] + 5) *
                                     (x[i] + 6) * (x[i] + 7) * (x[i] + 8) * (x[i] + 9)
                              y = [ v | v in p, v % 3 == 0 ] })"},
    {"ReconstructedProducersOfEqualConstantsAndEqualSizes", {4, 0, 2}, {2, 0, 0}, R"(
      def f(x: i64[N]) -> (a, b) { p[i < 100] = 3 * i + len(x)
                                   a[i < 100] = p[i] % 7
                                   q[i < N] = x[i] % 100
                                   b[i < N] = q[i] + 1 })"},
    {"AZipOfTwoReconstructedProducers", {3, 0, 2}, {1, 0, 0}, R"(
      def f(n: i64) -> z { p[i < n] = 3 * i
                           q[i < n] = i * i % 10
                           z = [ a * b | (a, b) in zip(p, q) ] })"},
    {"AnArrayThatIsUsedAndAnEffectOfIt", {2, 0, 0}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> p { p[i] = x[i] % 7
                              for v in p { print(v) } })"},
    // Better than two loops: the effects are of different kinds, and nobody can see their order.
    {"APrintOfAProducerBesideAnEffectOfAnotherKind", {3, 0, 1}, {1, 0, 0}, R"(
      effect note
      def f(x: i64[N]) { p[i] = x[i] % 7
                         for v in p { print(v) }
                         for v in x { note(v) } })"},
    // Better than 2+1: of the loops that nobody needs, and of those that they needed, nothing is left.
    {"FusionMakesAPairOfLoopsDead", {4, 2, 3}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> (y, n) { o[i] = x[i] % 10
                                   p[i, j < 3] = o[i] + j
                                   q[i, j < 3] = p[i, j] * 2
                                   y[i] = x[i] + 1
                                   n = len(q) + len(y) })"},
    // `other` is read at its neighbour by the consumer of `p`: the consumer goes with `p`, and not with
    // `other`.
    {"VerticalBeatsHorizontalWhereTheyConflict", {3, 0, 1}, {2, 0, 0}, R"(
      def f(x: i64[N]) -> (other, y) { other[i] = x[i] * x[i] % 100
                                       p[i] = x[i] % 7
                                       y[i] = p[i] + other[clamp(i + 1)] })"},
    {"AConsumerInsideOfAnIf", {3, 0, 0}, {3, 0, 0}, R"(
      def f(x: i64[N], n: i64) -> (p, y) { p[i] = x[i] % 7
                                           if n > 3 { y[i] = p[i] + 1 } else { y[i] = x[i] } })"},
    {"APairInTheMiddleOfAFlatMap", {3, 2, 1}, {1, 2, 0}, R"(
      def f(n: i64) -> (p, y) { p = [ 10 * i + j | i < n, j < i ]
                                q = [ v * k + 1 | v in p, k < 3 ]
                                y = [ w * 2 | w in q ] })"},
    // ---- collections of which nobody reads the elements any more
    {"TheMeanOfAFilter", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> m { p = [ v % 100 | v in x, v > 5 ]
                              m = f64(sum(k) p[k]) / f64(max(len(p), 1)) })"},
    {"AFilterItsLengthAndItsPrints", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> n { p = [ v % 100 | v in x, v > 5 ]
                              for v in p { print(v) }
                              n = 2 * len(p) })"},
    {"AFilterItsLengthAndAFlatMap", {2, 1, 1}, {1, 1, 0}, R"(
      def f(x: i64[N]) -> (y, n) { p = [ v % 7 | v in x, v % 3 != 1 ]
                                   y = [ v * 10 + j | v in p, j < v ]
                                   n = 2 * len(p) })"},
    {"TwoFlatMapsOfOneFilter", {3, 2, 1}, {1, 1, 0}, R"(
      def f(x: i64[N]) -> (a, b) { p = [ v % 11 | v in x, v % 3 != 1 ]
                                   a = [ v * 10 + j | v in p, j < 3 ]
                                   b = [ v * 10 - j | v in p, j < 3 ] })"},
    {"TwoFoldsOfFlatMapsOfOneFilter", {3, 2, 1}, {1, 2, 0}, R"(
      def f(x: i64[N]) -> (a, b) { p = [ v % 11 | v in x, v % 3 != 1 ]
                                   a = sum [ v * 10 + j | v in p, j < 3 ]
                                   b = sum [ v * 10 - j | v in p, j < 4 ] })"},
    {"AFlatMapAndAScanOfOneFilter", {3, 1, 1}, {1, 1, 0}, R"(
      def f(x: i64[N]) -> (a, b) { p = [ v % 11 | v in x, v % 3 != 1 ]
                                   a = [ v * 10 + j | v in p, j < 3 ]
                                   b[k] = scan(+, k) p[k] })"},
    {"AFlatMapAndThePositionsOfOneFilter", {3, 1, 1}, {1, 1, 0}, R"(
      def f(x: i64[N]) -> (a, b) { p = [ v % 11 | v in x, v % 3 != 1 ]
                                   a = [ v * 10 + j | v in p, j < 3 ]
                                   b[k] = k * p[k] })"},
    {"AFlatMapAsFarAsTheElementWithItsPosition", {2, 1, 1}, {1, 1, 0}, R"(
      def f(x: i64[N]) -> y { p = [ v % 5 | v in x, v % 3 == 1 ]
                              y = [ 100 * k + p[k] + j | k < len(p), j < p[k] ] })"},
    {"AMapOfAFilterThatNobodyNeeds", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> b { b = [ v | v in x, v > 5 ]
                              c[k] = b[k] - k })"},
    {"RowsThatAreReadAsTheyAreMade", {2, 2, 2}, {1, 1, 0}, R"(
      def f(n: i64) -> d { c = [ [ j + n | j < i ] | i < 100 ]
                           d = [ [ c[k][l] * 2 | l < k ] | k < 100 ] })"},
    // An expensive value is kept rather than computed twice by a loop that takes one point after the other.
    {"AnExpensiveNeighbourInAFilter", {2, 0, 1}, {2, 0, 1}, R"(
      def f(x: f64[N]) -> s { p[i] = exp(x[i])
                              s = [ p[i] | i < N - 1, p[i] < p[i + 1] ] })"},
    // ---- several collections at once
    {"AZipOfThree", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N], y: i64[M]) -> z { p[i] = x[i] % 10
                                         z = [ a * b - c | (a, b, c) in zip(p, y, x), a > 2 ] })"},
    {"AZipOfPairsThatIsUsed", {2, 0, 0}, {1, 0, 0}, R"(
      def f(x: i64[N], y: i64[N]) -> (p, q) { p = zip(x, y)
                                              q = [ a - b | (a, b) in p, a > b ] })"},
    {"AConcatenationOfMapsInAFilter", {4, 0, 3}, {1, 0, 0}, R"(
      def f(x: i64[N], y: i64[M]) -> z { p[i] = x[i] % 10
                                         q[i] = y[i] % 7
                                         c = concat(p, q)
                                         z = [ v * v | v in c, v > 2 ] })"},
    {"AConcatenationOfFilters", {4, 0, 3}, {1, 0, 0}, R"(
      def f(x: i64[N], y: i64[M]) -> s { p = [ v | v in x, v > 0 ]
                                         q = [ v + 1 | v in y, v < 5 ]
                                         c = concat(p, q)
                                         s = sum(k) c[k] * 2 })"},
    {"AConcatenationOfFiltersIsTheResult", {3, 0, 2}, {1, 0, 0}, R"(
      def f(x: i64[N], y: i64[M]) -> (c, n) { p = [ v | v in x, v > 0 ]
                                              q = [ v + 1 | v in y, v < 5 ]
                                              c = concat(p, q)
                                              n = len(c) })"},
    {"AConcatenationOfFiltersAndAnArrayAndSeveralConsumers", {6, 0, 2}, {1, 0, 0}, R"(
      def f(x: i64[N], y: i64[M]) -> (c, z, s, t) { p = [ v | v in x, v > 0 ]
                                                    q = [ v + 1 | v in y, v < 5 ]
                                                    c = concat(p, y, q)
                                                    z[k] = c[k] * k
                                                    s = sum(k) c[k]
                                                    t = [ v | v in c, v % 2 == 0 ] })"},
    {"AConcatenationOfAFilterAndAFlatMap", {4, 1, 3}, {1, 1, 0}, R"(
      def f(x: i64[N], y: i64[M]) -> h { p = [ v | v in x, v > 0 ]
                                         q = [ i * v | v in y, i < v % 3 ]
                                         c = concat(p, q)
                                         h = group(+) [ (v % 3, v) | v in c ] })"},
    // Here the length of one of them is needed before the other one.
    {"AConcatenationOfFiltersOneOfWhichIsCounted", {4, 0, 2}, {4, 0, 2}, R"(
      def f(x: i64[N], y: i64[M]) -> (c, r) { p = [ v | v in x, v > 0 ]
                                              q = [ v + 1 | v in y, v < 5 ]
                                              c = concat(p, q)
                                              r = [ i | i < N, i < len(p) ] })"},
    {"AConcatenationOfConcatenations", {7, 0, 6}, {1, 0, 0}, R"(
      def f(x: i64[N], y: i64[M]) -> m { a = [ v | v in x, v > 3 ]
                                         b = [ v | v in y, v > 2 ]
                                         c = concat(a, b)
                                         p[k] = 2 * c[k]
                                         d = [ v | v in x, v > 1 ]
                                         e = concat(d, p)
                                         m = sum(k) e[k] * k })"},
    {"AConcatenationOfMapsOfFilters", {6, 0, 5}, {1, 0, 0}, R"(
      def f(x: i64[N], y: i64[M]) -> z { a = [ v | v in x, v > 3 ]
                                         p[k] = 2 * a[k]
                                         b = [ v | v in y, v > 2 ]
                                         q[k] = b[k] - 1
                                         c = concat(p, q)
                                         z = [ v | v in c, v % 3 != 0 ] })"},
    // Better than a loop for each: the place in a row is the remainder of the place among all.
    {"AConcatenationOfFlatMapsOfFixedWidth", {4, 2, 3}, {1, 0, 0}, R"(
      def f(x: i64[N], y: i64[M]) -> m { a = [ v + k | v in x, k < 3 ]
                                         b = [ v * k | v in y, k < 2 ]
                                         c = concat(a, b)
                                         m = [ v * 2 | v in c ] })"},
    // Only @never takes fusion away.
    {"AConcatenationOfAFilterThatIsAlwaysFused", {4, 0, 3}, {1, 0, 0}, R"(
      def f(x: i64[N], y: i64[M]) -> m { @always
                                         a = [ v | v in x, v > 3 ]
                                         b = [ v | v in y, v > 2 ]
                                         c = concat(a, b)
                                         m = [ 2 * v | v in c ] })"},
    {"AConcatenationOfAFilterThatIsRecomputed", {4, 0, 3}, {1, 0, 0}, R"(
      def f(x: i64[N], y: i64[M]) -> m { @recompute
                                         a = [ v | v in x, v > 3 ]
                                         b = [ v | v in y, v > 2 ]
                                         c = concat(a, b)
                                         m = [ 2 * v | v in c ] })"},
    {"AConcatenationOfAFilterThatIsRemembered", {4, 0, 3}, {1, 0, 0}, R"(
      def f(x: i64[N], y: i64[M]) -> m { @remember
                                         a = [ v | v in x, v > 3 ]
                                         b = [ v | v in y, v > 2 ]
                                         c = concat(a, b)
                                         m = [ 2 * v | v in c ] })"},
    {"AConcatenationOfAFilterThatIsNeverFused", {4, 0, 3}, {2, 0, 1}, R"(
      def f(x: i64[N], y: i64[M]) -> m { @never
                                         a = [ v | v in x, v > 3 ]
                                         b = [ v | v in y, v > 2 ]
                                         c = concat(a, b)
                                         m = [ 2 * v | v in c ] })"},
    {"ALengthOfABucketThatIsAlwaysFused", {3, 1, 2}, {1, 0, 0}, R"(
      def f(k: i64[N], v: i64[N]) -> (a, c) { g = group [ (k[i] % 5, v[i]) | i ]
                                              a[b] = sum(j) g[b][j]
                                              @always
                                              c[b] = len(g[b]) })"},
    {"AConcatenationBesideAnIndexOfItsName", {1, 1, 0}, {1, 1, 0}, R"(
      def f(x: i64[N], y: i64[M]) -> z { z = [ v + k | k < 3, v in concat(x, y) ] })"},
    // ---- every producer with every consumer
    {"AGeneratorThenAFlatMap", {2, 1, 1}, {1, 1, 0}, R"(
      def f(n: i64) -> y { p[i < n] = 3 * i % 7
                           y = [ 10 * v + j | v in p, j < v ] })"},
    {"AGeneratorThenAFold", {2, 0, 1}, {1, 0, 0}, R"(
      def f(n: i64) -> s { p[i < n] = 3 * i % 7
                           s = sum(k) p[k] })"},
    {"AGeneratorThenAScan", {2, 0, 1}, {1, 0, 0}, R"(
      def f(n: i64) -> y { p[i < n] = 3 * i % 7
                           y[k] = scan(+, k) p[k] })"},
    {"AGeneratorThenAScatter", {2, 0, 1}, {1, 0, 0}, R"(
      def f(n: i64) -> h { p[i < n] = 3 * i % 7
                           h: i64[8] = scatter(+) { [v] <- 1 | v in p } })"},
    {"AGeneratorThenAGroupWithAnOperator", {2, 0, 1}, {1, 0, 0}, R"(
      def f(n: i64) -> g { p[i < n] = 3 * i % 7
                           g = group(+) [ (v, v * v) | v in p ] })"},
    {"AGeneratorThenAGroup", {2, 0, 1}, {1, 0, 0}, R"(
      def f(n: i64) -> g { p[i < n] = 3 * i % 7
                           g = group [ (v % 3, v) | v in p ] })"},
    {"AMapThenAScan", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> y { p[i] = x[i] % 100
                              y[i] = scan(+, i) p[i] })"},
    {"AMapThenAScatter", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> h { p[i] = x[i] % 8
                              h: i64[8] = scatter(+) { [v] <- 1 | v in p } })"},
    {"AMapThenAGroup", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> g { p[i] = x[i] % 100
                              g = group [ (v % 3, v) | v in p ] })"},
    {"AFlatMapThenAScatter", {2, 1, 1}, {1, 1, 0}, R"(
      def f(x: i64[N]) -> h { p = [ v % 9 * k | v in x, k < v % 4 ]
                              h: i64[8] = scatter(+) { [v % 8] <- 1 | v in p } })"},
    {"AFlatMapThenAGroupWithAnOperator", {2, 1, 1}, {1, 1, 0}, R"(
      def f(x: i64[N]) -> g { p = [ v % 9 * k | v in x, k < v % 4 ]
                              g = group(+) [ (v % 3, v) | v in p ] })"},
    {"AFlatMapThenAGroup", {2, 1, 1}, {1, 1, 0}, R"(
      def f(x: i64[N]) -> g { p = [ v % 9 * k | v in x, k < v % 4 ]
                              g = group [ (v % 3, v) | v in p ] })"},
    {"ANestedFlatMapThenAForeach", {2, 2, 1}, {1, 2, 0}, R"(
      def f(x: i64[N]) { p = [ v % 9 * k - m | v in x, k < v % 4, m < k ]
                         for v in p { print(v) } })"},
    {"ANestedFlatMapThenAScatter", {2, 2, 1}, {1, 2, 0}, R"(
      def f(x: i64[N]) -> h { p = [ v % 9 * k - m | v in x, k < v % 4, m < k ]
                              h: i64[8] = scatter(+) { [v % 8] <- v | v in p } })"},
    {"ANestedFlatMapThenAGroupWithAnOperator", {2, 2, 1}, {1, 2, 0}, R"(
      def f(x: i64[N]) -> g { p = [ v % 9 * k - m | v in x, k < v % 4, m < k ]
                              g = group(max) [ (v % 5, v) | v in p ] })"},
    {"ANestedFlatMapThenAGroup", {2, 2, 1}, {1, 2, 0}, R"(
      def f(x: i64[N]) -> g { p = [ v % 9 * k - m | v in x, k < v % 4, m < k ]
                              g = group [ (v % 5, v) | v in p ] })"},
    {"AScanOfTheElementsOfRows", {3, 2, 3}, {1, 1, 0}, R"(
      def f(x: i64[N]) -> y { c = [ [ v % 100 * j | j < v % 5, j != 2 ] | v in x ]
                              p = [ w | r in c, w in r ]
                              y[k] = scan(+, k) p[k] })"},
    {"AScatterOfTheElementsOfRows", {2, 2, 2}, {1, 1, 0}, R"(
      def f(x: i64[N]) -> h { c = [ [ v * j | j < v % 5, j != 2 ] | v in x ]
                              h: i64[8] = scatter(+) { [w % 8] <- 1 | r in c, w in r } })"},
    {"AGroupOfTheElementsOfRows", {2, 2, 2}, {1, 1, 0}, R"(
      def f(x: i64[N]) -> g { c = [ [ v * j | j < v % 5, j != 2 ] | v in x ]
                              g = group [ (w % 3, w) | r in c, w in r ] })"},
    // Of what is made of nothing, an array without elements is left, and a loop that takes no step.
    {"NothingThenAFilter", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> y { p = [ v | v in x, 1 > 2 ]
                              y = [ v + 1 | v in p, v > 3 ] })"},
    {"NothingThenAFlatMap", {2, 1, 1}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> y { p = [ v % 7 | v in x, 1 > 2 ]
                              y = [ v + j | v in p, j < v ] })"},
    // A fold of nothing is the identity.
    {"NothingThenAFold", {2, 0, 1}, {0, 0, 0}, R"(
      def f(x: i64[N]) -> s { p = [ v | v in x, 1 > 2 ]
                              s = max(k) p[k] })"},
    {"NothingThenAScan", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> y { p = [ v | v in x, 1 > 2 ]
                              y[k] = scan(+, k) p[k] })"},
    {"NothingThenAScatter", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> h { p = [ v | v in x, 1 > 2 ]
                              h: i64[8] = scatter(+) { [v % 8] <- 1 | v in p } })"},
    {"NothingThenAGroupWithAnOperator", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> g { p = [ v | v in x, 1 > 2 ]
                              g = group(+) [ (v % 3, v) | v in p ] })"},
    {"NothingThenAGroup", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> g { p = [ v | v in x, 1 > 2 ]
                              g = group [ (v % 3, v) | v in p ] })"},
    {"AForeachOverAChoice", {3, 0, 1}, {2, 0, 0}, R"(
      def f(x: i64[N], n: i64) { if n > 3 { p[i] = x[i] % 100 } else { p[i < N] = 7 * i % 10 }
                                 for v in p { print(v) } })"},
    {"AScanOfAChoice", {3, 0, 1}, {2, 0, 0}, R"(
      def f(x: i64[N], n: i64) -> y { if n > 3 { p[i] = x[i] % 100 } else { p[i < N] = 7 * i % 10 }
                                      y[i] = scan(+, i) p[i] })"},
    {"AScatterOfAChoice", {3, 0, 1}, {2, 0, 0}, R"(
      def f(x: i64[N], n: i64) -> h { if n > 3 { p[i] = x[i] % 8 } else { p[i < N] = 7 * i % 8 }
                                      h: i64[8] = scatter(+) { [v] <- 1 | v in p } })"},
    // ---- choices in choices
    {"ChoicesOnBothSidesOfAChoice", {6, 0, 1}, {4, 0, 0}, R"(
      def f(x: i64[N], n: i64) -> (y, z) { if n > 3 { if n > 9 { p[i] = x[i] % 2 } else { p[i] = x[i] % 3 } }
                                           else { if n > 1 { p[i] = x[i] % 4 } else { p[i] = x[i] % 5 } }
                                           y[i] = p[i] * 3
                                           z = [ v + 1 | v in y, v > 2 ] })"},
    // ---- filters inside of a flatMap that are the same for all
    // Better than 2+4: the filter is hoisted, and all consumers share the loop over what it keeps. Conditions
    // are
    // looked at once for each element.
    {"AFilterInsideThatIsTheSameForAll", {6, 3, 1}, {2, 3, 1}, R"(
      def f(x: i64[N], w: i64[M], n: i64) -> (a, b, c, d, e) { p = [ v + i | i < n, v in [ u % 100 | u in x, u % 3 == 1 ] ]
                                                               a[k] = p[k] + 1
                                                               b = [ v | v in p, v % 2 == 0 ]
                                                               c = [ v + l | v in p, l < 3 ]
                                                               d = sum(k) p[k]
                                                               stage e(k < len(p), j < M) {
 out e: i64[M] at [j] = fold(+, k) cat(j) p[k] * (w[j] % 100) } })"},
    {"AFilterInsideThatIsTheSameForAllThenMapThenFilter", {3, 1, 2}, {2, 1, 1}, R"(
      def f(x: i64[N], n: i64) -> c { p = [ v + i | i < n, v in [ u % 100 | u in x, u % 3 == 1 ] ]
                                      m[k] = p[k] * 2
                                      c = [ v | v in m, v % 4 == 0 ] })"},
    {"AFilterInABlockThatIsTheSameForAll", {1, 3, 2}, {2, 1, 1}, R"(
      def f(x: i64[N], n: i64) -> y { stage y(i < n) {
                                        block {
                                          q = [ v % 100 | v in x, v % 3 == 1 ]
                                          a = [ v * i | v in q ]
                                          s = sum(k) a[k]
                                        }
                                        out y: i64[n] at [i] = cat(i) s
                                      } })"},
    // Pairs of which two values are needed, under a condition on both of them and the element outside.
    {"AFilterOfPairsInsideThatIsTheSameForAll", {1, 1, 0}, {2, 1, 2}, R"(
      def f(x: i64[N], y: i64[N], n: i64) -> r { r = [ a * i - b | i < n, (a, b) in zip(x, y), a % 3 != 0, a + b > i ] })"},
    {"OneConditionOutsideOneInsideAndOneOfBoth", {1, 1, 0}, {2, 1, 1}, R"(
      def f(x: i64[N], y: i64[M]) -> r { r = [ a * b | a in x, a > 2, b in y, b % 3 == 1, a + b > 7 ] })"},
    // Nothing is needed of the elements: they are counted.
    {"OnlyHowManyAreTheSameForAll", {1, 1, 0}, {2, 1, 0}, R"(
      def f(x: i64[N], y: i64[M]) -> r { r = [ a | a in x, b in y, b % 3 == 1 ] })"},
    {"BucketsOfAFilterInsideThatIsTheSameForAll", {1, 1, 0}, {2, 1, 1}, R"(
      def f(x: i64[N], y: i64[M]) -> g { g = group(+) [ ((a + b) % 5, a * b) | a in x, b in y, b % 3 == 1 ] })"},
    // Rows that keep the same are equally long.
    {"RowsThatKeepTheSame", {2, 2, 0}, {2, 1, 1}, R"(
      def f(x: i64[N], y: i64[M]) -> (c, s) { c = [ [ a + b | b in y, b % 3 == 1 ] | a in x ]
                                              s[i] = sum(j) c[i][j] })"},
    // Lanes look at it again.
    {"AFoldWithACheapConditionThatIsTheSameForAll", {1, 1, 0}, {1, 1, 0}, R"(
      def f(x: i64[N], n: i64) -> s { s = sum [ v * i | i in 0 .. n, v in x, v % 3 == 1 ] })"},
    {"AFoldWithACostlyConditionThatIsTheSameForAll", {1, 1, 0}, {2, 1, 1}, R"(
      def f(x: f64[N], n: i64) -> s { s = max [ v * i | i in 0 .. n, v in x, exp(v) * sin(v) > 0.5 ] })"},
    // Without a point outside, nobody may divide.
    {"AConditionThatMayFailIsNotTheSameForAll", {1, 1, 0}, {1, 1, 0}, R"(
      def f(x: i64[N], y: i64[M]) -> r { r = [ a * b | a in x, b in y, 100 / (b * b + 1) > 7 ] })"},
    // To read a row at places from a list is not worth it.
    {"PlacesThatAConditionKeepsForAll", {1, 1, 0}, {1, 1, 0}, R"(
      def f(x: i64[N, M], w: i64[M]) -> r { r = [ x[i, j] | i < N, j < M, w[j] % 3 == 1 ] })"},
    {"AShortListWithAConditionThatIsTheSameForAll", {1, 1, 0}, {1, 1, 0}, R"(
      def f(x: i64[N], w: i64[4]) -> r { r = [ v + u | v in x, u in w, u > 3 ] })"},
    // ---- what has effects, and who reads it
    // Its value is pure: the effect happens in the loop of who reads it.
    {"AnEffectfulProducerAndAPureConsumer", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> y { stage p(i < N) { out p: i64[N] at [i] = cat(i) x[i] % 7
                                               print(i, x[i]) }
                              y[i] = 2 * p[i] })"},
    // The effect happens for the elements that the filter drops as well.
    {"AnEffectfulProducerAndAFilter", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> y { stage p(i < N) { out p: i64[N] at [i] = cat(i) x[i] % 7
                                               print(i, x[i]) }
                              y = [ v | v in p, v > 3 ] })"},
    {"AnEffectfulProducerAndAFold", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> s { stage p(i < N) { out p: i64[N] at [i] = cat(i) x[i] % 7
                                               print(i, x[i]) }
                              s = sum(i) p[i] })"},
    {"AnEffectfulFilterAndAMapOfIt", {2, 0, 1}, {1, 0, 0}, R"(
      def f(x: i64[N]) -> y { stage p(i < N) { out p: i64[born L] = append(i) x[i] % 7 where x[i] > 3
                                               print(i, x[i]) where x[i] > 3 }
                              y[k] = 2 * p[k] })"},
    {"AnEffectfulFlatMapAndAFoldOfIt", {2, 1, 1}, {1, 1, 0}, R"(
      def f(x: i64[N]) -> s { stage p(i < N, j < 3) { out p: i64[born L] = append(i) append(j) x[i] % 7 * j where x[i] > j
                                                      print(i, j) where x[i] > j }
                              s = sum(k) p[k] })"},
    // Its effects happen for all of it.
    {"AnEffectfulProducerOfWhichPartIsRead", {2, 0, 1}, {2, 0, 1}, R"(
      def f(x: i64[N]) -> y { stage p(i < 100) { out p: i64[100] at [i] = cat(i) i % 7 + len(x)
                                                 print(i) }
                              y[i < 10] = 2 * p[i] })"},
    // All prints of the one chain come before those of the other: two loops, and what the first hands on.
    {"TwoChainsWithEffectsOfOneKindMeet", {5, 0, 4}, {2, 0, 1}, R"(
      def f(x: i64[N]) -> z { stage p(i < N) { out p: i64[N] at [i] = cat(i) x[i] % 7
                                               print("p", x[i]) }
                              q[i] = 2 * p[i]
                              stage r(i < N) { out r: i64[N] at [i] = cat(i) x[i] % 5
                                               print("r", x[i]) }
                              s[i] = 3 * r[i]
                              z[i] = q[i] + s[i] })"},
    // All prints of the one come before those of the other.
    {"AStageThatPrintsReadByOneThatPrints", {2, 0, 1}, {2, 0, 1}, R"(
      def f(x: i64[N]) { stage p(i < N) { out p: i64[N] at [i] = cat(i) x[i] % 7
                                          print(x[i] % 7) }
                         for v in p { print(v) } })"},
    {"AStageThatPrintsReadByAnEffectOfAnotherKind", {2, 0, 1}, {1, 0, 0}, R"(
      effect note
      def f(x: i64[N]) { stage p(i < N) { out p: i64[N] at [i] = cat(i) x[i] % 7
                                          print(x[i] % 7) }
                         for v in p { note(v) } })"},
    // ---- operators of the user
    {"AFoldOfAFilterWithAnOperatorOfTheUser", {2, 0, 1}, {1, 0, 0}, R"(
      op first(a: i64, b: i64) -> i64 associative { identity -1
                                                    if a == -1 then b else a }
      def f(x: i64[N]) -> s { p = [ v | v in x, v > 3 ]
                              s = fold(first, k) p[k] })"},
    {"AFoldOfAFlatMapWithAnOperatorOfTheUser", {2, 1, 1}, {1, 1, 0}, R"(
      op first(a: i64, b: i64) -> i64 associative { identity -1
                                                    if a == -1 then b else a }
      def f(x: i64[N]) -> s { p = [ abs(v) + j | v in x, j < v % 4 ]
                              s = fold(first, k) p[k] })"},
    {"AFoldOfNothingWithAnOperatorOfTheUser", {2, 0, 1}, {0, 0, 0}, R"(
      op first(a: i64, b: i64) -> i64 associative { identity -1
                                                    if a == -1 then b else a }
      def f(x: i64[N]) -> s { p = [ v | v in x, 1 > 2 ]
                              s = fold(first, k) p[k] })"},
    {"AFoldOfOneElementWithAnOperatorOfTheUser", {2, 0, 1}, {0, 0, 0}, R"(
      op first(a: i64, b: i64) -> i64 associative { identity -1
                                                    if a == -1 then b else a }
      def f(n: i64) -> s { p = [n % 7]
                           s = fold(first, k) p[k] })"},
    {"AFoldOfOneElementWithAnOperatorWithoutIdentity", {2, 0, 1}, {0, 0, 0}, R"(
      op first(a: i64, b: i64) -> i64 associative { a }
      def f(n: i64) -> s { p = [n % 7]
                           s = fold(first, k) p[k] })"},
    // Where the filter drops everything, both say the same.
    {"AFoldOfAFilterWithAnOperatorWithoutIdentity", {2, 0, 1}, {1, 0, 0}, R"(
      op first(a: i64, b: i64) -> i64 associative { a }
      def f(x: i64[N]) -> s { p = [ v | v in x, v % 3 != 1 ]
                              s = fold(first, k) p[k] })"},
    // ---- an if with one element or none
    {"OneOrNothingByAnIfThenAMap", {3, 0, 1}, {1, 0, 0}, R"(
      def f(n: i64) -> m { p = if n > 3 then [n % 100] else []
                           m[k] = p[k] * 2 })"},
    {"OneOrNothingByAnIfThenAForeach", {3, 0, 1}, {0, 0, 0}, R"(
      def f(n: i64) { p = if n > 3 then [n % 100] else []
                      for v in p { print(v) } })"},
    {"OneOrNothingByAnIfThenAFold", {3, 0, 1}, {0, 0, 0}, R"(
      def f(n: i64) -> s { p = if n > 3 then [n % 100] else []
                           s = sum(k) p[k] })"},
    // Better than two ifs and a loop: one if, and no loop.
    {"OneOrNothingByAnIfThenMapForeachReduce", {5, 0, 2}, {0, 0, 0}, R"(
      def f(n: i64) -> s { p = if n > 3 then [n % 100] else []
                           m[k] = p[k] * 2
                           for v in m { print(v) }
                           s = sum(k) m[k] })"},
    // ---- records
    {"AFilterOfRecordsThenAFoldAndAMap", {3, 0, 1}, {1, 0, 0}, R"(
      type P = { x: f64, at: i64, unused: f32 }
      def f(a: f64[N], b: i64[N]) -> (s, d) { p = [ P { x: a[i], at: b[i], unused: 1f32 } | i, b[i] % 3 == 0 ]
                                              s = sum(k) p[k].x
                                              d[k] = p[k].at + 1 })"},
    // One field is kept of the records, for the second loop.
    {"AFilterOfRecordsOfWhichOneFieldIsNeededTwice", {3, 0, 1}, {2, 0, 1}, R"(
      type P = { x: f64, at: i64, unused: f32 }
      def f(a: f64[N], b: i64[N]) -> (s, d) { p = [ P { x: a[i], at: b[i], unused: 1f32 } | i, b[i] % 3 == 0 ]
                                              s = max(k) p[k].x
                                              d[k] = p[k].x + s })"},
    // Two of their three fields are stored, in arrays of their own.
    {"RecordsThatAreNeededInTwoPasses", {3, 0, 1}, {2, 0, 2}, R"(
      type P = { x: f64, at: i64, unused: f32 }
      def f(a: f64[N], b: i64[N]) -> (s, t) { p[i] = P { x: a[i], at: b[i] % 100, unused: 1f32 }
                                              s = max(i) p[i].x
                                              t = sum(i) p[i].at * (if p[i].x < s then 1 else 2) })"},
    {"ArraysOfRecordsInARecord", {4, 0, 2}, {1, 0, 0}, R"(
      type Q = { i: i64, j: i64 }
      type P = { q: Q, r: Q }
      def f(a: i64[N]) -> (y, z) { p[i] = P { q: Q { i: a[i], j: i }, r: Q { i: 2 * a[i], j: i + 1 } }
                                   q[i] = p[i].q
                                   y[i] = q[i].i + q[i].j
                                   z = [ v.r.i | v in p, v.q.i > 3 ] })"},
    // ---- pairs in the middle
    {"APairInTheMiddleOfThreeFlatMapsAllUsed", {4, 2, 0}, {1, 2, 0}, R"(
      def f(n: i64) -> (p, a, q, y) { p = [ 10 * i + j | i < n, j < 4 ]
                                      a = [ v * k | v in p, k < 3 ]
                                      q = [ w + 1 | w in a ]
                                      y[m] = q[m] + 1 })"},
    // The inner pair is part of the flatMap: 'a' of it is a value.
    {"APairInsideOfTheMiddleFlatMapAllUsed", {3, 2, 0}, {1, 2, 0}, R"(
      def f(n: i64) -> (p, q, y) { p = [ 10 * i + j | i < n, j < 4 ]
                                   q = [ b | v in p, b in [ a + 1 | a in [ v * k | k < 3, k != v ] ] ]
                                   y[m] = q[m] + 1 })"},
    // ---- what is computed outside, and read inside
    // Not unless it is asked for.
    {"AConsumerInsideOfAnIfAndNobodyElse", {3, 0, 1}, {3, 0, 1}, R"(
      def f(x: i64[N], n: i64) -> y { p[i] = x[i] % 7
                                      if n > 3 { y[i] = p[i] + 1 } else { y[i] = x[i] } })"},
    {"AConsumerInsideOfAnIfThatSaysAlways", {3, 0, 1}, {2, 0, 0}, R"(
      def f(x: i64[N], n: i64) -> y { p[i] = x[i] % 7
                                      if n > 3 {
                                        @always
                                        y[i] = p[i] + 1
                                      } else { y[i] = x[i] } })"},
    {"AProducerOutsideOfAnIfThatSaysAlways", {3, 0, 1}, {2, 0, 0}, R"(
      def f(x: i64[N], n: i64) -> y {
        @always
        p[i] = x[i] % 7
        if n > 3 { y[i] = p[i] + 1 } else { y[i < N] = p[N - 1 - i] } })"},
    // Its effects happen whatever is chosen.
    {"AConsumerInsideOfAnIfThatSaysAlwaysAndAnEffect", {3, 0, 1}, {3, 0, 1}, R"(
      def f(x: i64[N], n: i64) -> y { stage p(i < N) { out p: i64[N] at [i] = cat(i) x[i] % 7
                                                       print(x[i]) }
                                      if n > 3 {
                                        @always
                                        y[i] = p[i] + 1
                                      } else { y[i] = x[i] } })"},
    // It is needed elsewhere as well.
    {"AConsumerInsideOfAnIfThatSaysAlwaysAndOthers", {4, 0, 1}, {4, 0, 1}, R"(
      def f(x: i64[N], n: i64) -> (y, s) { p[i] = x[i] % 7
                                           if n > 3 {
                                             @always
                                             y[i] = p[i] + 1
                                           } else { y[i] = x[i] }
                                           s[i < N] = p[N - 1 - i] })"},
    // Not unless it is asked for: it would be computed at every step.
    {"AConsumerInsideOfALoop", {2, 1, 2}, {2, 1, 2}, R"(
      def f(x: i64[N], u0: i64[N], t: i64) -> u { p[i] = x[i] % 7
                                                  u = seq k < t % 4 from u0 { u[i] = u[i] + p[i] } })"},
    {"AConsumerInsideOfALoopThatSaysAlways", {2, 1, 2}, {1, 1, 1}, R"(
      def f(x: i64[N], u0: i64[N], t: i64) -> u { p[i] = x[i] % 7
                                                  u = seq k < t % 4 from u0 {
                                                    @always
                                                    u[i] = u[i] + p[i] } })"},
    {"AProducerOutsideOfALoopThatSaysRecompute", {2, 1, 2}, {1, 1, 1}, R"(
      def f(x: i64[N], u0: i64[N], t: i64) -> u {
        @recompute
        p[i] = x[i] % 7
        u = seq k < t % 4 from u0 { u[i] = u[i] + p[i] } })"},
    // Its effects happen once.
    {"AConsumerInsideOfALoopThatSaysAlwaysAndAnEffect", {2, 1, 2}, {2, 1, 2}, R"(
      def f(x: i64[N], u0: i64[N], t: i64) -> u { stage p(i < N) { out p: i64[N] at [i] = cat(i) x[i] % 7
                                                                   print(x[i]) }
                                                  u = seq k < t % 4 from u0 {
                                                    @always
                                                    u[i] = u[i] + p[i] } })"},
    {"APrintInsideOfALoopThatSaysAlways", {2, 1, 1}, {1, 1, 0}, R"(
      def f(x: i64[N], t: i64) { p[i] = x[i] % 7
                                 stage loop(k < t) {
                                   block {
                                     @always
                                     for i < N { print(k, p[i]) }
                                   }
                                 } })"},
};

std::string name_of_case(const testing::TestParamInfo<Case>& one) { return one.param.name; }

class Collections : public testing::TestWithParam<Case> {};

}  // namespace

TEST_P(Collections, FewerPassesAndTheSameResult) {
  const TemporaryCache cache;
  const auto program = std::make_shared<const Program>(parse_program("case", GetParam().text));
  const Machine machine = detect_machine();
  Rng rng(1);
  for (const Clusters clusters : {Clusters::None, Clusters::Greedy, Clusters::Optimal}) {
    Options options;
    options.clusters = clusters;
    options.simplify = clusters != Clusters::None;
    options.compiler.cache = cache.path();
    const Compilation compilation = compile(program, machine, options);
    // The best choice depends on what is known of the machine; its results do not.
    if (clusters != Clusters::Optimal) {
      EXPECT_EQ(shape_of(*compilation.schedule),
                clusters == Clusters::None ? GetParam().before : GetParam().after);
    }
    int compared = 0;
    for (int k = 0; k < 5; ++k) {
      const std::vector<Data> inputs = random_inputs(*program, rng);
      std::optional<Reference> expected;
      try {
        expected.emplace(reference_of(*program, inputs));
      } catch (const Error& error) {
        EXPECT_THROW(compilation.kernel->run(inputs), Error) << error.what();
        continue;
      }
      EXPECT_EQ(agreement(*program, *expected, compilation.kernel->run(inputs)).difference, "");
      ++compared;
    }
    EXPECT_GT(compared, 0) << "no input has a result";
  }
}

TEST_P(Collections, ASecondRunChangesNothing) {
  const Simplified once = simplify(std::make_shared<const Program>(parse_program("case", GetParam().text)));
  const Simplified twice = simplify(once.program);
  EXPECT_EQ(print(*twice.program), print(*once.program));
  EXPECT_THAT(twice.done, testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(All, Collections, testing::ValuesIn(cases), name_of_case);

namespace {

/// How often a call, or a condition, is written in the C of the fused program: where it is written once, it
/// is evaluated once for each point.
struct Written {
  const char* name;
  int times;
  const char* what;
  const char* text;
  friend std::ostream& operator<<(std::ostream& out, const Written& one) { return out << one.name; }
};

const Written written[] = {
    {"TheBodyOfAProducerThatIsUsedAsWell", 1, "exp(", R"(
      def f(x: f64[N]) -> (p, y, s) { p[i] = exp(x[i])
                                      y[i] = p[i] + 1
                                      s = sum(i) p[i] })"},
    {"TheBodyOfAProducerOfThreeConsumers", 1, "exp(", R"(
      def f(x: f64[N]) -> (a, b, c) { p[i] = exp(x[i])
                                      a[i] = p[i] + 1
                                      b[i] = p[i] + 2
                                      c[i] = p[i] + 3 })"},
    {"ASubexpressionOfAConditionAndItsValue", 1, "exp(", R"(
      def f(x: f64[N]) -> y { p = [ exp(x[i]) | i, exp(x[i]) > 2 ]
                              y[k] = p[k] + 1 })"},
    {"ASubexpressionOfAConditionAndItsValueBothUsed", 1, "exp(", R"(
      def f(x: f64[N]) -> (p, y) { p = [ exp(x[i]) | i, exp(x[i]) > 2 ]
                                   y[k] = p[k] + 1 })"},
    {"TheConditionOfAFilterAndAllItsConsumers", 1, "exp(", R"(
      def f(x: f64[N]) -> (y, s, z) { p = [ v | v in x, exp(v) > 2 ]
                                      y[k] = p[k] + 1
                                      s = sum(k) p[k]
                                      z = [ v | v in p, v > 1 ] })"},
    {"TheConditionOfAFilterAndAllItsConsumersIsOneIf", 1, " > 2.0", R"(
      def f(x: f64[N]) -> (y, s, z) { p = [ v | v in x, exp(v) > 2 ]
                                      y[k] = p[k] + 1
                                      s = sum(k) p[k]
                                      z = [ v | v in p, v > 1 ] })"},
    {"TheConditionOfAFilterOfAFilterOfAFilter", 1, "exp(", R"(
      def f(x: f64[N]) -> (p, q, r) { p = [ v | v in x, exp(v) > 2 ]
                                      q = [ v | v in p, v < 3 ]
                                      r = [ v + 1 | v in q, v != 1 ] })"},
    {"TheConditionOfAFlatMapAndItsConsumers", 1, "exp(", R"(
      def f(x: f64[N]) -> (y, s) { p = [ v * k | v in x, k < 3, exp(v * k) > 2 ]
                                   y[k] = p[k] + 1
                                   s = sum(k) p[k] })"},
    {"TwoFiltersWithOneCondition", 1, "exp(", R"(
      def f(x: f64[N]) -> (a, b) { a = [ v | v in x, exp(v) > 2 ]
                                   b = [ v + 1 | v in x, exp(v) > 2 ] })"},
    {"AConditionThatIsTheSameForAllIsLookedAtBefore", 1, "exp(", R"(
      def f(x: f64[N], n: i64) -> y { y = [ v + i | i < n, v in [ u | u in x, exp(u) > 2 ] ] })"},
    {"TwoChoicesForOneReason", 1, "if (n > 3)", R"(
      def f(x: i64[N], n: i64) -> (y, z) { if n > 3 { y[i] = x[i] + 1 } else { y[i] = x[i] - n }
                                           if n > 3 { z[i] = x[i] * 2 } else { z[i] = x[i] % 7 } })"},
    {"RecomputedTwice", 2, "exp(", R"(
      def f(x: f64[N]) -> y {
        @recompute
        p[i < N + 1] = exp(i)
        y[i < N] = p[i] + p[i + 1] * x[i] })"},
    {"Remembered", 1, "exp(", R"(
      def f(x: f64[N]) -> y {
        @remember
        p[i < N + 1] = exp(i)
        y[i < N] = p[i] + p[i + 1] * x[i] })"},
    {"AnElementOfAnArrayOfArrays", 1, "exp(", R"(
      def f(x: f64[N]) -> (s, t) { c = [ [ exp(x[i]) + k | k < 4 ] | i < N ]
                                   s[i < N] = c[i][2]
                                   t[i < N] = c[i][3] })"},
};

class CollectionsWritten : public testing::TestWithParam<Written> {};

}  // namespace

TEST_P(CollectionsWritten, SoOften) {
  Options options;
  options.stop_after = "c";
  const auto program = std::make_shared<const Program>(parse_program("case", GetParam().text));
  const std::string text = compile(program, detect_machine(), options).source->text;
  int times = 0;
  for (auto at = text.find(GetParam().what); at != std::string::npos; at = text.find(GetParam().what, at + 1))
    ++times;
  EXPECT_EQ(times, GetParam().times) << text;
}

INSTANTIATE_TEST_SUITE_P(All, CollectionsWritten, testing::ValuesIn(written),
                         [](const testing::TestParamInfo<Written>& one) -> std::string {
                           return one.param.name;
                         });

namespace {

/// Definitions of p, one of which is chosen: so many choices around each other, on both sides, or one after
/// the other.
std::string nested_choices(int depth, bool both_sides, int& leaves) {
  const auto leaf = [&] { return "p[i] = x[i] % " + std::to_string(2 + leaves++); };
  if (depth == 0) return leaf();
  const std::string deeper = nested_choices(depth - 1, both_sides, leaves);
  return "if n % " + std::to_string(2 * depth + 1) + " == 1 { " + deeper + " } else { " +
         (both_sides ? nested_choices(depth - 1, both_sides, leaves) : leaf()) + " }";
}

}  // namespace

/// What reads a choice is written once for each of its sides, so long as these copies are not too long
/// together; then it stays outside of all of them.
TEST(CollectionsOfManyChoices, StayBounded) {
  const Machine machine = detect_machine();
  for (const bool both_sides : {false, true}) {
    for (const int depth : {1, 2, 4, 6, 8}) {
      int leaves = 0;
      const std::string choice = nested_choices(depth, both_sides, leaves);
      const std::string text = "def f(x: i64[N], n: i64) -> (y, z) { " + choice +
                               "\n y[i] = p[i] * 3\n z = [ v + 1 | v in y, v > 2 ] }";
      const auto program = std::make_shared<const Program>(parse_program("case", text));
      Options options;
      options.stop_after = "nest";
      const Compilation compilation = compile(program, machine, options);
      // The map and the filter are four operations: sixteen copies are few enough.
      const bool all_inside = leaves <= 16;
      const Shape shape = shape_of(*compilation.schedule);
      EXPECT_EQ(shape.nested, 0) << text;
      EXPECT_LE(shape.passes, leaves + 2) << text;
      if (all_inside) {
        EXPECT_EQ(shape, (Shape{leaves, 0, 0})) << text;
      }
      int before = 0, after = 0;
      for_each_stage(program->stages, [&](const Stage&) { ++before; });
      for_each_stage(compilation.program->stages, [&](const Stage&) { ++after; });
      EXPECT_LE(after, before + 64) << text;
    }
  }
}

}  // namespace twill
