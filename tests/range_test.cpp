// Collections in the manner of ranges: the programs that they are, how many loops become of them, and what
// they compute.
#include "api_testing.h"
#include "driver/agree.h"
#include "driver/compile.h"
#include "fuzz/generate.h"
#include "import/twill.h"
#include "temporary_cache.h"

namespace twill {
namespace {

/// Compiles the program and compares it with the interpreter on random inputs; the number of passes.
int passes_of(const Program& program) {
  const TemporaryCache cache;
  const auto shared = std::make_shared<const Program>(program);
  Options options;
  options.compiler.cache = cache.path();
  const Compilation compilation = compile(shared, detect_machine(), options);
  Rng rng(1);
  for (int k = 0; k < 5; ++k) {
    const std::vector<Data> inputs = random_inputs(program, rng);
    EXPECT_EQ(agreement(program, reference_of(program, inputs), compilation.kernel->run(inputs)).difference,
              "");
  }
  return compilation.schedule->passes;
}

TEST(Range, MapFilterFold) {
  Def f("pipeline");
  auto x = f.input("x", i64, {f.size("N")});
  f.result(range(x)
               .map([](Value v) { return v % 100; }, "p")
               .filter([](Value v) { return v > 10; }, "q")
               .map([](Value v) { return v * v; }, "r")
               .fold("+", "s"));
  const Program program = f.program();
  expect_same(program, R"(def pipeline(x: i64[N]) -> s {
    p = [ x_1 % 100 | x_1 in x ]
    q = [ x_2 | x_2 in p, x_2 > 10 ]
    r = [ x_3 * x_3 | x_3 in q ]
    s = sum [ x_4 | x_4 in r ]
  })");
  EXPECT_EQ(passes_of(program), 1);
}

TEST(Range, FlatMapDescribesTheInnerCollection) {
  Def f("triangle");
  auto n = f.input("n", i64);
  auto pairs = iota(f, n % 20).flat_map(
      [&](Value i) {
        return iota(f, i).filter([=](Value j) { return (i + j) % 3 == 1; }).map([=](Value j) {
          return i * j;
        });
      },
      "p");
  f.result(pairs, pairs.count("c"));
  const Program program = f.program();
  expect_same(program, R"(def triangle(n: i64) -> (p, c) {
    p = [ i_1 * i_2 | i_1 in 0 .. n % 20, i_2 in 0 .. i_1, (i_1 + i_2) % 3 == 1 ]
    c = sum [ 1 | x_3 in p ]
  })");
  EXPECT_EQ(passes_of(program), 1);
}

/// A pair inside of a flat_map is one loop from the start.
TEST(Range, AProducerAndItsConsumerInsideOfTheMiddleFlatMap) {
  Def f("middle");
  auto n = f.input("n", i64);
  const auto p = iota(f, n % 20).flat_map(
      [&](Value i) { return iota(f, 4).map([=](Value j) { return 10 * i + j; }); }, "p");
  const auto q = p.flat_map(
      [&](Value v) {
        return iota(f, 3).map([=](Value k) { return v * k; }).map([](Value w) { return w + 1; });
      },
      "q");
  f.result(p, q, q.map([](Value w) { return 2 * w; }, "y"));
  const Program program = f.program();
  expect_same(program, R"(def middle(n: i64) -> (p, q, y) {
    p = [ 10 * i_1 + i_2 | i_1 in 0 .. n % 20, i_2 in 0 .. 4 ]
    q = [ x_3 * i_4 + 1 | x_3 in p, i_4 in 0 .. 3 ]
    y = [ 2 * x_5 | x_5 in q ]
  })");
  EXPECT_EQ(passes_of(program), 1);
}

TEST(Range, ListsAndWhatIsThereUnderACondition) {
  Def f("steps");
  auto x = f.input("x", i64, {f.size("N")});
  f.result(range(x).flat_map([&](Value v) { return list(f, {v, v + 1}).when(v > 0); }, "p").fold("+", "s"));
  const Program program = f.program();
  expect_same(program, R"(def steps(x: i64[N]) -> s {
    p = [ if k_2 < 1 then x_1 else x_1 + 1 | x_1 in x, x_1 > 0, k_2 in 0 .. 2 ]
    s = sum [ x_3 | x_3 in p ]
  })");
  EXPECT_EQ(passes_of(program), 1);
}

TEST(Range, AnEmptyListHasNoType) {
  Def f("none");
  try {
    list(f, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.diagnostics().front().code, "E0234");
    EXPECT_EQ(error.diagnostics().front().message, "nothing tells the type of the elements of an empty list");
  }
}

TEST(Range, FoldsInAFunctionOfAnElement) {
  Def f("distances");
  auto x = f.input("x", i64, {f.size("N")});
  auto y = f.input("y", i64, {f.size("M")});
  const auto to_all = [&](Value v) { return range(y).map([=](Value u) { return (u - v) * (u - v); }); };
  const auto p = range(x).map([&](Value v) { return to_all(v).sum(); }, "p");
  const auto q = range(x).filter(
      [&](Value v) { return range(y).filter([=](Value u) { return u < v; }).count() > 1; }, "q");
  const auto g = range(x)
                     .group_by([&](Value v) { return to_all(v).fold("min") % 3; })
                     .map([&](Value v) { return v * range(y).sum(); })
                     .sum("g");
  f.result(p, q, g);
  const Program program = f.program();
  expect_same(program, R"(def distances(x: i64[N], y: i64[M]) -> (p, q, g) {
    p = [ fold(+) [ (x_2 - x_1) * (x_2 - x_1) | x_2 in y ] | x_1 in x ]
    q = [ x_3 | x_3 in x, fold(+) [ 1 | x_4 in y, x_4 < x_3 ] > 1 ]
    g = group(+) [ (fold(min) [ (x_6 - x_5) * (x_6 - x_5) | x_6 in y ] % 3, x_5 * fold(+) [ x_7 | x_7 in y ]) | x_5 in x ]
  })");
  EXPECT_EQ(passes_of(program), 5);  // what is compared with all of y is compared for many x at once
}

/// What is said, and that it is said of a line of this file.
std::string error_of(const std::function<void(Def&, const Var&)>& wrong) {
  Def f("wrong");
  const Var x = f.input("x", i64, {f.size("N")});
  try {
    wrong(f, x);
    f.program();
  } catch (const Error& error) {
    const Diagnostic& first = error.diagnostics().front();
    EXPECT_NE(std::string(error.what()).find("range_test.cpp:"), std::string::npos) << error.what();
    return first.code + ": " + first.message;
  }
  return "no error";
}

TEST(Range, WhatAFunctionOfAnElementCannotDo) {
  EXPECT_EQ(
      error_of([](Def& f, const Var& x) {
        f.result(range(x).map([&](Value v) { return range(x).scan("+").sum() + v; }));
      }),
      "E0234: an array would have to be made in a function of an element, each time that it is computed");
  EXPECT_EQ(
      error_of([](Def& f, const Var& x) {
        f.result(range(x).flat_map([&](Value v) { return concat(range(x), list(f, {v})); }));
      }),
      "E0234: an array would have to be made in a function of an element, each time that it is computed");
  EXPECT_EQ(error_of([](Def& f, const Var& x) {
              f.result(range(x).map([&](Value v) {
                range(x).print([](Value u) { return u; });
                return v;
              }));
            }),
            "E0115: the effect 'print' cannot happen in a function of an element, which is a value");
  EXPECT_EQ(error_of([](Def& f, const Var& x) {
              f.result(range(x).map([&](Value v) {
                f.print({"seen", v});
                return v;
              }));
            }),
            "E0115: the effect 'print' cannot happen in a function of an element, which is a value");
  EXPECT_EQ(error_of([](Def& f, const Var& x) {
              f.result(range(x).map([&](Value v) {
                const Var y = f.array("y");
                y() = v;
                return y;
              }));
            }),
            "E0285: a statement cannot stand in a function of an element");
  EXPECT_EQ(error_of([](Def& f, const Var& x) { f.result(range(x).filter([](Value v) { return v + 1; })); }),
            "E0222: a condition is a bool, not 'i64'");
}

/// An operator is made without a definition; what its function does to one is noticed all the same.
TEST(Range, WhatAnOperatorCannotDo) {
  const auto message_of = [](const std::function<void(Def&, const Var&, const Value&)>& does) {
    return error_of([&](Def& f, const Var& x) {
      const Op bad = op("bad", i64, [&](Value a, Value b) {
                       does(f, x, a);
                       return a + b;
                     }).associative();
      f.result(range(x).fold(bad));
    });
  };
  EXPECT_EQ(message_of([](Def&, const Var& x, const Value&) { range(x).print([](Value u) { return u; }); }),
            "E0115: the effect 'print' cannot happen in the operator 'bad', which is a value");
  EXPECT_EQ(message_of([](Def&, const Var& x, const Value& a) {
              range(x).effect("alarm", [&](Value u) { return a + u; });
            }),
            "E0115: the effect 'alarm' cannot happen in the operator 'bad', which is a value");
  EXPECT_EQ(message_of([](Def& f, const Var&, const Value& a) {
              f.print({"a", a});
            }),
            "E0115: the effect 'print' cannot happen in the operator 'bad', which is a value");
  EXPECT_EQ(message_of([](Def& f, const Var& x, const Value&) { f.force(x); }),
            "E0285: a statement cannot stand in the operator 'bad'");
  EXPECT_EQ(message_of([](Def&, const Var& x, const Value&) { range(x).scan("+"); }),
            "E0234: an array would have to be made in the operator 'bad', each time that it is computed");
  EXPECT_EQ(error_of([](Def& f, const Var& x) {
              const Op bad = op("bad", i64, [&](Value a, Value b) { return a + b + range(x).sum(); });
              f.result(range(x).fold(bad));
            }),
            "E0276: the operator 'bad' uses an array or a size of the definition 'wrong'");
  // Behind the function everything is as before.
  EXPECT_EQ(error_of([](Def& f, const Var& x) {
              EXPECT_THROW(op("bad", i64, [&](Value a, Value) { return f.print({a}), a; }), Error);
              range(x).print([](Value u) { return u; });
              f.result(range(x).sum("s"));
            }),
            "no error");
}

TEST(Range, GroupByFold) {
  const RecordType order = record("Order", {{"customer", i32}, {"amount", i64}});
  Def f("orders");
  auto o = f.input("o", order, {f.size("N")});
  const auto big = range(o).filter([](Value x) { return x["amount"] % 4 != 0; }, "big");
  const auto by_customer = big.group_by([](Value x) { return x["customer"] % 10; });
  f.result(by_customer.map([](Value x) { return x["amount"] % 1000; }).fold("+", "total"),
           by_customer.count("number"));
  EXPECT_EQ(passes_of(f.program()), 1);
}

TEST(Range, FoldsOfEachBucket) {
  Def f("means");
  auto x = f.input("x", i64, {f.size("N")});
  f.result(range(x)
               .group_by([](Value v) { return v % 10; })
               .map([](Value v) { return v % 1000; })
               .map([](Bucket b) { return tuple(b.key(), b.sum() / b.count()); }, "m"));
  const Program program = f.program();
  expect_same(program, R"(def means(x: i64[N]) -> m {
    group_2 = group [ (x_1 % 10, x_1 % 1000) | x_1 in x ]
    m = [ (group_2.keys[b_3], fold(+) [ x_4 | x_4 in group_2[b_3] ] / fold(+) [ 1 | x_4 in group_2[b_3] ])
        | b_3 in 0 .. len(group_2) ]
  })");
  EXPECT_EQ(passes_of(program), 2);
}

TEST(Range, SomeElementsOfEachBucket) {
  Def f("parts");
  auto x = f.input("x", i64, {f.size("N")});
  f.result(range(x).group_by([](Value v) { return v % 10; }).map([](Bucket b) {
    return b.filter([](Value v) { return v > 20; }).map([](Value v) { return v % 7; }).fold("max");
  }));
  EXPECT_EQ(passes_of(f.program()), 1);
}

TEST(Range, ZipMeanAndVariance) {
  Def f("moments");
  auto N = f.size("N");
  auto x = f.input("x", i64, {N}), y = f.input("y", i64, {N});
  const auto a = range(x).map([](Value v) { return v % 50; }),
             b = range(y).map([](Value v) { return v % 30; });
  const auto products = zip(a, b).map([](Value v) { return v[0] * v[1]; });
  f.result(products.sum("m"), products.map([](Value v) { return v * v; }).sum("v"));
  EXPECT_EQ(passes_of(f.program()), 1);
}

TEST(Range, ZipIsAsLongAsTheShortest) {
  Def f("pairs");
  auto x = f.input("x", i64, {f.size("N")}), y = f.input("y", i64, {f.size("M")});
  f.result(zip(range(x), range(y)).map([](Value v) { return v[0] - v[1]; }, "d"));
  EXPECT_EQ(passes_of(f.program()), 1);
}

TEST(Range, ConcatNeedsNoConcatenation) {
  Def f("both");
  auto x = f.input("x", i64, {f.size("N")}), y = f.input("y", i64, {f.size("M")});
  f.result(
      concat(range(x), range(y)).map([](Value v) { return v % 10; }).filter([](Value v) { return v > 3; }));
  EXPECT_EQ(passes_of(f.program()), 1);
}

TEST(Range, ScanOfAMap) {
  Def f("running");
  auto x = f.input("x", i64, {f.size("N")});
  f.result(range(x).map([](Value v) { return v % 100; }).scan("+", "s"));
  EXPECT_EQ(passes_of(f.program()), 1);
}

TEST(Range, PrintsWhatPasses) {
  Def f("shout");
  auto x = f.input("x", i64, {f.size("N")});
  range(x).filter([](Value v) { return v % 3 == 1; }).print([](Value v) { return v * 2; });
  EXPECT_EQ(passes_of(f.program()), 1);
}

TEST(Range, EffectsOfTwoKindsInOnePass) {
  Def f("watch");
  auto x = f.input("x", i64, {f.size("N")});
  const Range small = range(x).map([](Value v) { return v % 10; });
  small.print([](Value v) { return v; });
  small.filter([](Value v) { return v > 7; }).effect("alarm", [](Value v) { return v; });
  const Program program = f.program();
  EXPECT_EQ(program.stages.back().effects.front().kind, "alarm");
  EXPECT_EQ(passes_of(program), 1);
}

TEST(Range, ProductsOfAllPairs) {
  Def f("table");
  auto x = f.input("x", i64, {f.size("N")}), y = f.input("y", i64, {f.size("M")});
  f.result(range(x).flat_map(
      [&](Value a) { return range(y).map([=](Value b) { return (a % 100) * (b % 100); }); }, "t"));
  const Program program = f.program();
  expect_same(
      program,
      "def table(x: i64[N], y: i64[M]) -> t { t = [ (x_1 % 100) * (x_2 % 100) | x_1 in x, x_2 in y ] }");
  EXPECT_EQ(passes_of(program), 1);
}

}  // namespace
}  // namespace twill
