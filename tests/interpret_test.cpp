// The interpreter: every combine, every boundary, every error. Programs are built by hand, so that nothing
// but the program model stands between a test and what it says.
#include "program/interpret.h"

#include "base/error.h"
#include "program/check.h"
#include "program/text.h"
#include "program/typing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace twill {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using enum Scalar;

/// A program under construction.
struct Builder {
  Program program = [] {
    Program named;
    named.name = "test";
    return named;
  }();
  ExprPool& pool = *program.pool;

  Expr lit(std::int64_t value) { return pool.integer(value); }
  Expr real(double value, Scalar type = F64) { return pool.literal(Number::of_double(type, value)); }
  Expr size(const std::string& name, Symbol::Origin origin = Symbol::Origin::Input) {
    return pool.size(program.add_symbol(name, origin));
  }
  Expr born(const std::string& name) { return size(name, Symbol::Origin::Born); }
  ArrayId array(const std::string& name, Type type, std::vector<Expr> shape) {
    return program.add_array(name, type, std::move(shape));
  }
  ArrayId input(const std::string& name, Type type, std::vector<Expr> shape,
                std::optional<Number> fallback = {}) {
    const ArrayId id = array(name, type, std::move(shape));
    program.inputs.push_back({id, fallback});
    return id;
  }
  Dim dim(const std::string& name, Expr hi, Expr lo = {}) {
    return {program.add_dim(name), name, lo ? lo : lit(0), hi, {}, {}};
  }
  Expr index(const Dim& d) { return pool.index(d.id); }
  Expr read(ArrayId a, std::vector<Expr> subscripts, std::vector<Boundary> rules = {}, Expr fallback = {}) {
    if (rules.empty()) rules.assign(subscripts.size(), Boundary::Inside);
    return pool.read(a, program[a].type, std::move(subscripts), std::move(rules), fallback);
  }
  Expr op(Prim prim, std::vector<Expr> operands) { return pool.apply(prim, std::move(operands)); }
  Expr i64(Expr e) { return pool.cast(I64, e); }
  Operator builtin(Prim prim, Type type) { return builtin_operator(pool, prim, type); }

  static Output output(ArrayId array, std::vector<Combine> combine, std::vector<Expr> at, Expr value,
                       Expr guard = {}) {
    Output out;
    out.array = array;
    out.combine = std::move(combine);
    out.at = std::move(at);
    out.value = value;
    out.guard = guard;
    return out;
  }
  static Stage make_stage(const std::string& name, std::vector<Dim> dims, std::vector<Output> outputs) {
    Stage stage;
    stage.name = name;
    stage.dims = std::move(dims);
    stage.outputs = std::move(outputs);
    return stage;
  }
  Stage& stage(const std::string& name, std::vector<Dim> dims, std::vector<Output> outputs) {
    program.stages.push_back(make_stage(name, std::move(dims), std::move(outputs)));
    return program.stages.back();
  }

  Outcome run(std::vector<Data> inputs) const {
    if (diagnose(program).empty()) {
      EXPECT_TRUE(same(parse_program("test.twill", print(program)), program)) << print(program);
    }
    return interpret(program, inputs);
  }
  std::string error(std::vector<Data> inputs) const {
    try {
      run(std::move(inputs));
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  }
};

template <class T>
Data data(Scalar type, std::vector<T> values, std::vector<std::int64_t> shape = {-1}) {
  if (shape == std::vector<std::int64_t>{-1}) shape = {static_cast<std::int64_t>(values.size())};
  Data d(type, shape);
  std::copy(values.begin(), values.end(), d.as<T>().begin());
  return d;
}
Data longs(std::vector<std::int64_t> values, std::vector<std::int64_t> shape = {-1}) {
  return data(I64, values, shape);
}
Data doubles(std::vector<double> values, std::vector<std::int64_t> shape = {-1}) {
  return data(F64, values, shape);
}
Data floats(std::vector<float> values, std::vector<std::int64_t> shape = {-1}) {
  return data(F32, values, shape);
}
Data scalar(std::int64_t value) { return Data::scalar(Number::of(I64, value)); }

std::vector<std::int64_t> integers(const Data& d) {
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < d.count(); ++i) values.push_back(d.get(i).as_int());
  return values;
}
std::vector<double> reals(const Data& d) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < d.count(); ++i) values.push_back(d.get(i).as_double());
  return values;
}

// ---- cat and reads
// -----------------------------------------------------------------------------------------

TEST(Interpret, TransposeByWriteMap) {
  Builder b;
  const Expr n = b.size("N"), m = b.size("M");
  const ArrayId x = b.input("x", I64, {n, m});
  const ArrayId y = b.array("y", I64, {m, n});
  const Dim i = b.dim("i", n), j = b.dim("j", m);
  b.stage("y", {i, j},
          {b.output(y, {Cat{}, Cat{}}, {b.index(j), b.index(i)}, b.read(x, {b.index(i), b.index(j)}))});
  b.program.results = {y};
  const Outcome out = b.run({longs({1, 2, 3, 4, 5, 6}, {2, 3})});
  EXPECT_THAT(integers(out.results[0]), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(out.results[0].shape(), ElementsAre(3, 2));
  EXPECT_EQ(out.sizes.at("N"), 2);
  EXPECT_EQ(b.run({longs({}, {0, 3})}).results[0].count(), 0);
}

/// y[i] = x[rule(i - 5)] for i < 15, x of extent N.
Builder boundary(Boundary rule) {
  Builder b;
  const Expr n = b.size("N");
  const ArrayId x = b.input("x", I64, {n});
  const ArrayId y = b.array("y", I64, {b.lit(15)});
  const Dim i = b.dim("i", b.lit(15));
  const Expr fallback = rule == Boundary::Constant ? b.lit(-9) : Expr{};
  b.stage("y", {i},
          {b.output(y, {Cat{}}, {b.index(i)},
                    b.read(x, {b.op(Prim::Sub, {b.index(i), b.lit(5)})}, {rule}, fallback))});
  b.program.results = {y};
  return b;
}

TEST(Interpret, BoundaryRules) {
  const Data x = longs({10, 11, 12});
  EXPECT_THAT(integers(boundary(Boundary::Clamp).run({x}).results[0]),
              ElementsAre(10, 10, 10, 10, 10, 10, 11, 12, 12, 12, 12, 12, 12, 12, 12));
  EXPECT_THAT(integers(boundary(Boundary::Wrap).run({x}).results[0]),
              ElementsAre(11, 12, 10, 11, 12, 10, 11, 12, 10, 11, 12, 10, 11, 12, 10));
  EXPECT_THAT(integers(boundary(Boundary::Mirror).run({x}).results[0]),
              ElementsAre(11, 12, 12, 11, 10, 10, 11, 12, 12, 11, 10, 10, 11, 12, 12));
  EXPECT_THAT(integers(boundary(Boundary::Constant).run({x}).results[0]),
              ElementsAre(-9, -9, -9, -9, -9, 10, 11, 12, -9, -9, -9, -9, -9, -9, -9));
}

TEST(Interpret, BoundariesOfTinyArrays) {
  for (Boundary rule : {Boundary::Clamp, Boundary::Wrap, Boundary::Mirror}) {
    EXPECT_THAT(integers(boundary(rule).run({longs({7})}).results[0]), testing::Each(7));
    EXPECT_EQ(boundary(rule).error({longs({})}),
              "error[E0513]: stage 'y' reads 'x' with a boundary rule, but dimension 0 is empty (at i = 0)\n"
              "  help: guard the read, or use pad, which needs no element\n");
  }
  EXPECT_THAT(integers(boundary(Boundary::Constant).run({longs({})}).results[0]), testing::Each(-9));
}

TEST(Interpret, ReadsOutsideNameStageArrayAndIndex) {
  Builder b;
  const Expr n = b.size("N"), m = b.size("M");
  const ArrayId x = b.input("x", I64, {n});
  const ArrayId p = b.input("p", I32, {m});
  const ArrayId y = b.array("y", I64, {m});
  const Dim j = b.dim("j", m);
  b.stage("gather", {j}, {b.output(y, {Cat{}}, {b.index(j)}, b.read(x, {b.i64(b.read(p, {b.index(j)}))}))});
  b.program.results = {y};
  EXPECT_THAT(integers(b.run({longs({5, 6}), data<std::int32_t>(I32, {1, 0, 1})}).results[0]),
              ElementsAre(6, 5, 6));
  EXPECT_EQ(b.error({longs({5, 6}), data<std::int32_t>(I32, {1, -1})}),
            "error[E0505]: stage 'gather' reads 'x' outside: subscript 0 is -1, but dimension 0 has 2 "
            "elements (at j = 1)\n"
            "  help: guard the read, or name a boundary: clamp, mirror, wrap or pad\n");
}

TEST(Interpret, ChoicesAreLazyEvenForSharedNodes) {
  // y[i] = if x[i] != 0 then 6 / x[i] else -1, and the quotient is shared with a second, guarded output.
  Builder b;
  const Expr n = b.size("N");
  const ArrayId x = b.input("x", I64, {n});
  const ArrayId y = b.array("y", I64, {n});
  const ArrayId s = b.array("s", I64, {});
  const Dim i = b.dim("i", n);
  const Expr xi = b.read(x, {b.index(i)});
  const Expr nonzero = b.op(Prim::Ne, {xi, b.lit(0)});
  const Expr quotient = b.op(Prim::Div, {b.lit(6), xi});
  const Expr both = b.op(Prim::And, {nonzero, b.op(Prim::Gt, {quotient, b.lit(1)})});
  b.stage("y", {i},
          {b.output(y, {Cat{}}, {b.index(i)}, b.pool.select(nonzero, quotient, b.lit(-1))),
           b.output(s, {Fold{b.builtin(Prim::Add, I64)}}, {}, quotient, both)});
  b.program.results = {y, s};
  const Outcome out = b.run({longs({0, 2, 6, -4})});
  EXPECT_THAT(integers(out.results[0]), ElementsAre(-1, 3, 1, -2));
  EXPECT_THAT(integers(out.results[1]), ElementsAre(3));
}

TEST(Interpret, DivisionByZeroIsAnError) {
  Builder b;
  const ArrayId x = b.input("x", I64, {});
  const ArrayId y = b.array("y", I64, {});
  b.stage("y", {}, {b.output(y, {}, {}, b.op(Prim::Mod, {b.lit(1), b.read(x, {})}))});
  b.program.results = {y};
  EXPECT_EQ(b.error({scalar(0)}),
            "error[E0507]: stage 'y' divides by zero: integer '%'\n  help: guard it with a condition\n");
  EXPECT_EQ(b.run({scalar(-3)}).results[0].get(0).i, -2);
}

TEST(Interpret, FloatsRoundAfterEveryOperation) {
  Builder b;
  const Expr n = b.size("N");
  const ArrayId x = b.input("x", F32, {n});
  const ArrayId s = b.array("s", F32, {});
  const Dim i = b.dim("i", n);
  const Expr xi = b.read(x, {b.index(i)});
  b.stage("s", {i},
          {b.output(s, {Fold{b.builtin(Prim::Add, F32)}}, {}, b.op(Prim::Exp, {b.op(Prim::Mul, {xi, xi})}))});
  b.program.results = {s};
  const Data values = random_data(F32, {1000}, 5);
  float expected = 0;
  for (float v : values.as<float>()) expected += std::exp(v * v);
  EXPECT_EQ(b.run({values}).results[0].as<float>()[0], expected);
}

TEST(Interpret, SmallFloatsAreStorage) {
  Builder b;
  const Expr n = b.size("N");
  const ArrayId x = b.input("x", F16, {n});
  const ArrayId y = b.array("y", BF16, {n});
  const ArrayId s = b.array("s", F16, {});
  const Dim i = b.dim("i", n);
  const Expr wide = b.pool.cast(F32, b.read(x, {b.index(i)}));
  b.stage("y", {i},
          {b.output(y, {Cat{}}, {b.index(i)}, b.pool.cast(BF16, wide)),
           b.output(s, {Fold{b.builtin(Prim::Add, F32)}}, {}, wide)});
  b.program.results = {y, s};
  Data in(F16, {2049});
  for (std::int64_t k = 0; k < in.count(); ++k)
    in.set(k, Number::of_double(F32, k == 0 ? 1.0 + 0x1p-10 : 1.0));
  const Outcome out = b.run({in});
  EXPECT_EQ(out.results[0].get(0).f, 1.0);
  EXPECT_EQ(out.results[1].get(0).f,
            2050.0);  // 2049.001 rounded once; accumulating in f16 would stop at 2048
}

TEST(Interpret, RecordsFunctionsAndConstants) {
  Builder b;
  const Type match(std::make_shared<Record>(Record{"Match", {{"id", I64}, {"weight", F64}}}));
  const Expr n = b.size("N");
  const ArrayId w = b.input("w", F64, {n});
  const ArrayId ids = b.array("ids", I64, {b.lit(4)});
  b.program.constants.push_back({ids, {}});
  for (int id : {40, 30, 20, 10}) b.program.constants[0].elements.push_back(Number::of(I64, id));
  const Expr l = b.pool.arg(0, match), r = b.pool.arg(1, match);
  const Expr better =
      b.op(Prim::Or, {b.op(Prim::Gt, {b.pool.field(l, 1), b.pool.field(r, 1)}),
                      b.op(Prim::And, {b.op(Prim::Eq, {b.pool.field(l, 1), b.pool.field(r, 1)}),
                                       b.op(Prim::Lt, {b.pool.field(l, 0), b.pool.field(r, 0)})})});
  Operator best;
  best.type = match;
  best.function =
      b.program.add_function({"best", {{"a", match}, {"b", match}}, match, b.pool.select(better, l, r), {}});
  best.identity = b.pool.make(match, {b.pool.literal(highest(I64)), b.real(-INFINITY)});
  const ArrayId out = b.array("out", match, {});
  const ArrayId all = b.array("all", match, {n});
  const Dim i = b.dim("i", n);
  const Expr value = b.pool.make(match, {b.read(ids, {b.index(i)}), b.read(w, {b.index(i)})});
  b.stage("out", {i}, {b.output(out, {Fold{best}}, {}, value), b.output(all, {Cat{}}, {b.index(i)}, value)});
  const ArrayId id = b.array("id", I64, {});
  b.stage("id", {}, {b.output(id, {}, {}, b.pool.field(b.read(out, {}), 0))});
  b.program.results = {id, all};
  const Outcome found = b.run({doubles({1, 5, 5, 2})});
  EXPECT_EQ(found.results[0].get(0).i, 20);
  EXPECT_EQ(found.results[1].byte_count(), 64u);
  EXPECT_EQ(b.run({doubles({})}).results[0].get(0), highest(I64));
}

// ---- fold
// ----------------------------------------------------------------------------------------------------

TEST(Interpret, FoldsOfDifferentOperatorsNest) {
  Builder b;
  const Expr n = b.size("N"), m = b.size("M"), k = b.size("K");
  const ArrayId x = b.input("x", I64, {n, m, k});
  const ArrayId y = b.array("y", I64, {n});
  const Dim di = b.dim("i", n), dj = b.dim("j", m), dk = b.dim("k", k);
  b.stage("y", {di, dj, dk},
          {b.output(y, {Cat{}, Fold{b.builtin(Prim::Max, I64)}, Fold{b.builtin(Prim::Add, I64)}},
                    {b.index(di)}, b.read(x, {b.index(di), b.index(dj), b.index(dk)}))});
  b.program.results = {y};
  EXPECT_THAT(integers(b.run({longs({1, 2, 3, -4, -5, -6, -7, 1}, {2, 2, 2})}).results[0]),
              ElementsAre(3, -6));
  EXPECT_THAT(integers(b.run({longs({}, {2, 2, 0})}).results[0]), ElementsAre(0, 0));
  EXPECT_THAT(integers(b.run({longs({}, {1, 0, 2})}).results[0]), ElementsAre(lowest(I64).i));
}

TEST(Interpret, FoldsOfOneOperatorAreOneFold) {
  // In f32, (1e8 + 1) + -1e8 is 0; folding the rows first would give the same, the columns first 1.
  Builder b;
  const Expr n = b.size("N"), m = b.size("M");
  const ArrayId x = b.input("x", F32, {n, m});
  const ArrayId y = b.array("y", F32, {});
  const Dim i = b.dim("i", n), j = b.dim("j", m);
  const Operator add = b.builtin(Prim::Add, F32);
  b.stage("y", {i, j}, {b.output(y, {Fold{add}, Fold{add}}, {}, b.read(x, {b.index(i), b.index(j)}))});
  b.program.results = {y};
  EXPECT_EQ(b.run({floats({1e8f, -1e8f, 1, 0}, {2, 2})}).results[0].as<float>()[0], 1.0f);
  EXPECT_EQ(b.run({floats({1e8f, 1, -1e8f, 1}, {2, 2})}).results[0].as<float>()[0], 1.0f);
  EXPECT_EQ(b.run({floats({0, 1e8f, 1, -1e8f}, {2, 2})}).results[0].as<float>()[0], 0.0f);
}

TEST(Interpret, FoldOutsideOfCat) {
  Builder b;
  const Expr n = b.size("N"), m = b.size("M");
  const ArrayId x = b.input("x", I64, {n, m});
  const ArrayId y = b.array("y", I64, {m});
  const Dim i = b.dim("i", n), j = b.dim("j", m);
  b.stage("y", {i, j},
          {b.output(y, {Fold{b.builtin(Prim::Add, I64)}, Cat{}}, {b.index(j)},
                    b.read(x, {b.index(i), b.index(j)}))});
  b.program.results = {y};
  EXPECT_THAT(integers(b.run({longs({1, 2, 3, 4, 5, 6}, {2, 3})}).results[0]), ElementsAre(5, 7, 9));
  EXPECT_THAT(integers(b.run({longs({}, {0, 2})}).results[0]), ElementsAre(0, 0));
}

TEST(Interpret, FoldOfNothing) {
  Builder b;
  const Expr n = b.size("N");
  const ArrayId x = b.input("x", I64, {n});
  const ArrayId y = b.array("y", I64, {});
  const Dim i = b.dim("i", n);
  Operator first;
  first.type = I64;
  first.function = b.program.add_function({"first", {{"a", I64}, {"b", I64}}, I64, b.pool.arg(0, I64), {}});
  b.stage("y", {i}, {b.output(y, {Fold{first}}, {}, b.read(x, {b.index(i)}))});
  b.program.results = {y};
  EXPECT_EQ(b.run({longs({4, 5})}).results[0].get(0).i, 4);
  EXPECT_EQ(b.error({longs({})}),
            "error[E0508]: stage 'y' has no values to fold for 'y', and the operator has no identity\n"
            "  help: give the operator an identity\n");
}

TEST(Interpret, DataExtentsAndTriangles) {
  Builder b;
  const Expr r = b.size("R"), z = b.size("Z");
  const ArrayId ptr = b.input("ptr", I64, {b.op(Prim::Add, {r, b.lit(1)})});
  const ArrayId val = b.input("val", I64, {z});
  const ArrayId y = b.array("y", I64, {r});
  const Dim i = b.dim("r", r);
  const Dim p = b.dim("p", b.read(ptr, {b.op(Prim::Add, {b.index(i), b.lit(1)})}), b.read(ptr, {b.index(i)}));
  b.stage("y", {i, p},
          {b.output(y, {Cat{}, Fold{b.builtin(Prim::Add, I64)}}, {b.index(i)}, b.read(val, {b.index(p)}))});
  b.program.results = {y};
  EXPECT_THAT(integers(b.run({longs({0, 2, 2, 3}), longs({5, 6, 7})}).results[0]), ElementsAre(11, 0, 7));
}

// ---- scan
// ----------------------------------------------------------------------------------------------------

Builder scan(Direction from, bool guarded) {
  Builder b;
  const Expr n = b.size("N");
  const ArrayId x = b.input("x", I64, {n});
  const ArrayId y = b.array("y", I64, {n});
  const Dim i = b.dim("i", n);
  const Expr xi = b.read(x, {b.index(i)});
  const Expr guard = guarded ? b.op(Prim::Gt, {xi, b.lit(0)}) : Expr{};
  b.stage("y", {i}, {b.output(y, {Scan{b.builtin(Prim::Add, I64), from}}, {b.index(i)}, xi, guard)});
  b.program.results = {y};
  return b;
}

TEST(Interpret, ScansFromBothEnds) {
  EXPECT_THAT(integers(scan(Direction::Left, false).run({longs({1, 2, 3, 4})}).results[0]),
              ElementsAre(1, 3, 6, 10));
  EXPECT_THAT(integers(scan(Direction::Right, false).run({longs({1, 2, 3, 4})}).results[0]),
              ElementsAre(10, 9, 7, 4));
  EXPECT_THAT(integers(scan(Direction::Left, true).run({longs({-1, 2, -3, 4})}).results[0]),
              ElementsAre(0, 2, 2, 6));
  EXPECT_EQ(scan(Direction::Left, false).run({longs({})}).results[0].count(), 0);
}

TEST(Interpret, ScansInTwoDimensionsMakeASummedAreaTable) {
  Builder b;
  const Expr n = b.size("N"), m = b.size("M");
  const ArrayId x = b.input("x", I64, {n, m});
  const ArrayId y = b.array("y", I64, {n, m});
  const Dim i = b.dim("i", n), j = b.dim("j", m);
  const Operator add = b.builtin(Prim::Add, I64);
  b.stage(
      "y", {i, j},
      {b.output(y, {Scan{add}, Scan{add}}, {b.index(i), b.index(j)}, b.read(x, {b.index(i), b.index(j)}))});
  b.program.results = {y};
  EXPECT_THAT(integers(b.run({longs({1, 2, 3, 4, 5, 6}, {2, 3})}).results[0]),
              ElementsAre(1, 3, 6, 5, 12, 21));
}

TEST(Interpret, ScanOfFolds) {
  // y[i, c] = scan(max, i) sum(k) x[i, k] * c, for c in 0 .. 2: a Cat dimension between scan and fold.
  Builder b;
  const Expr n = b.size("N"), m = b.size("M");
  const ArrayId x = b.input("x", I64, {n, m});
  const ArrayId y = b.array("y", I64, {n, b.lit(2)});
  const Dim i = b.dim("i", n), c = b.dim("c", b.lit(2)), k = b.dim("k", m);
  b.stage("y", {i, c, k},
          {b.output(y, {Scan{b.builtin(Prim::Max, I64)}, Cat{}, Fold{b.builtin(Prim::Add, I64)}},
                    {b.index(i), b.index(c)},
                    b.op(Prim::Mul, {b.read(x, {b.index(i), b.index(k)}), b.index(c)}))});
  b.program.results = {y};
  EXPECT_THAT(integers(b.run({longs({1, 2, -5, 1, 3, 4}, {3, 2})}).results[0]),
              ElementsAre(0, 3, 0, 3, 0, 7));
}

TEST(Interpret, FoldOutsideOfCatInsideAScan) {
  // y[i, c] = scan(+, i) of max over k, with c innermost.
  Builder b;
  const Expr n = b.size("N"), m = b.size("M");
  const ArrayId x = b.input("x", I64, {n, m});
  const ArrayId y = b.array("y", I64, {n, b.lit(2)});
  const Dim i = b.dim("i", n), k = b.dim("k", m), c = b.dim("c", b.lit(2));
  b.stage("y", {i, k, c},
          {b.output(y, {Scan{b.builtin(Prim::Add, I64)}, Fold{b.builtin(Prim::Max, I64)}, Cat{}},
                    {b.index(i), b.index(c)},
                    b.op(Prim::Add, {b.read(x, {b.index(i), b.index(k)}), b.index(c)}))});
  b.program.results = {y};
  EXPECT_THAT(integers(b.run({longs({1, 2, 5, 1}, {2, 2})}).results[0]), ElementsAre(2, 3, 7, 9));
}

TEST(Interpret, ScanFromBothEndsAtOnceIsNotSupported) {
  Builder b = scan(Direction::Left, false);
  Output other = b.program.stages[0].outputs[0];
  other.array = b.array("z", I64, {b.program.arrays[0].shape[0]});
  other.combine = {Scan{b.builtin(Prim::Add, I64), Direction::Right}};
  b.program.stages[0].outputs.push_back(other);
  EXPECT_EQ(
      b.error({longs({1})}),
      "not supported[E0515]: stage 'y' scans dimension 'i' from both ends\n  help: make it two stages\n");
}

TEST(Interpret, RowsAreNotCollectedWhileTheyAreScannedFromTheRight) {
  Builder b = scan(Direction::Right, false);
  Program& program = b.program;
  Stage& stage = program.stages[0];
  const Expr n = program.arrays[0].shape[0];
  const Dim k = b.dim("k", b.lit(1));
  stage.dims.push_back(k);
  stage.outputs[0].combine.push_back(Fold{b.builtin(Prim::Add, I64)});
  const Expr length = program.pool->size(program.add_symbol("m", Symbol::Origin::Born));
  Output rows;
  rows.array = b.array("z", I64, {length});
  rows.offsets = b.array("z_offsets", I64, {b.op(Prim::Add, {n, b.lit(1)})});
  rows.combine = {Cat{}, Append{}};
  rows.value = b.lit(0);
  stage.outputs.push_back(rows);
  EXPECT_EQ(
      b.error({longs({1})}),
      "not supported[E0515]: stage 'y' scans dimension 'i' from the right, but collects the rows of 'z' in "
      "order\n  help: make it two stages\n");
}

// ---- append and group
// --------------------------------------------------------------------------------------------

TEST(Interpret, AppendKeepsOrderAndBearsALength) {
  Builder b;
  const Expr n = b.size("N"), m = b.size("M"), len = b.born("L");
  const ArrayId x = b.input("x", I64, {n, m});
  const ArrayId y = b.array("y", I64, {len});
  const ArrayId twice = b.array("twice", I64, {len});
  const Dim i = b.dim("i", n), j = b.dim("j", m), k = b.dim("k", len);
  const Expr v = b.read(x, {b.index(i), b.index(j)});
  b.stage("y", {i, j}, {b.output(y, {Append{}, Append{}}, {}, v, b.op(Prim::Gt, {v, b.lit(0)}))});
  b.stage("twice", {k},
          {b.output(twice, {Cat{}}, {b.index(k)}, b.op(Prim::Mul, {b.read(y, {b.index(k)}), b.lit(2)}))});
  b.program.results = {y, twice};
  const Outcome out = b.run({longs({1, -2, 3, -4, 5, 6}, {2, 3})});
  EXPECT_THAT(integers(out.results[0]), ElementsAre(1, 3, 5, 6));
  EXPECT_THAT(integers(out.results[1]), ElementsAre(2, 6, 10, 12));
  EXPECT_EQ(out.sizes.at("L"), 4);
  EXPECT_EQ(b.run({longs({}, {0, 3})}).sizes.at("L"), 0);
}

TEST(Interpret, AppendBelowCatMakesRows) {
  Builder b;
  const Expr n = b.size("N"), m = b.size("M"), len = b.born("L");
  const ArrayId x = b.input("x", I64, {n, m});
  const ArrayId y = b.array("y", I64, {len});
  const ArrayId offsets = b.array("offsets", I64, {b.op(Prim::Add, {n, b.lit(1)})});
  const Dim i = b.dim("i", n), j = b.dim("j", m);
  const Expr v = b.read(x, {b.index(i), b.index(j)});
  Output out = b.output(y, {Cat{}, Append{}}, {}, v, b.op(Prim::Gt, {v, b.lit(0)}));
  out.offsets = offsets;
  b.stage("y", {i, j}, {out});
  b.program.results = {y, offsets};
  const Outcome got = b.run({longs({1, -2, -3, -4, 5, 6}, {3, 2})});
  EXPECT_THAT(integers(got.results[0]), ElementsAre(1, 5, 6));
  EXPECT_THAT(integers(got.results[1]), ElementsAre(0, 1, 1, 3));
  EXPECT_THAT(integers(b.run({longs({}, {0, 2})}).results[1]), ElementsAre(0));
  EXPECT_THAT(integers(b.run({longs({}, {2, 0})}).results[1]), ElementsAre(0, 0, 0));
}

Builder group(bool folded) {
  Builder b;
  const Expr n = b.size("N"), buckets = b.born("B"), total = b.born("T");
  const ArrayId k = b.input("k", I32, {n});
  const ArrayId v = b.input("v", I64, {n});
  const ArrayId y = b.array("y", I64, {folded ? buckets : total});
  const ArrayId keys = b.array("keys", I32, {buckets});
  const ArrayId offsets = b.array("offsets", I64, {b.op(Prim::Add, {buckets, b.lit(1)})});
  const Dim i = b.dim("i", n);
  Group combine;
  if (folded) combine.op = b.builtin(Prim::Add, I64);
  Output out = b.output(y, {combine}, {}, b.read(v, {b.index(i)}));
  out.key = b.read(k, {b.index(i)});
  out.keys = keys;
  if (!folded) out.offsets = offsets;
  b.stage("y", {i}, {out});
  b.program.results = folded ? std::vector{y, keys} : std::vector{y, keys, offsets};
  return b;
}

TEST(Interpret, GroupsInOrderOfFirstOccurrence) {
  const std::vector<Data> in = {data<std::int32_t>(I32, {7, -3, 7, 9, -3}), longs({1, 2, 3, 4, 5})};
  const Outcome folded = group(true).run(in);
  EXPECT_THAT(integers(folded.results[0]), ElementsAre(4, 7, 4));
  EXPECT_THAT(integers(folded.results[1]), ElementsAre(7, -3, 9));
  const Outcome listed = group(false).run(in);
  EXPECT_THAT(integers(listed.results[0]), ElementsAre(1, 3, 2, 5, 4));
  EXPECT_THAT(integers(listed.results[1]), ElementsAre(7, -3, 9));
  EXPECT_THAT(integers(listed.results[2]), ElementsAre(0, 2, 4, 5));
  EXPECT_EQ(listed.sizes.at("B"), 3);
  EXPECT_EQ(listed.sizes.at("T"), 5);
  const Outcome none = group(false).run({data<std::int32_t>(I32, {}), longs({})});
  EXPECT_THAT(integers(none.results[2]), ElementsAre(0));
}

TEST(Interpret, GroupByRecords) {
  Builder b = group(true);
  const Type pair(std::make_shared<Record>(Record{"", {{"0", I64}, {"1", Bool}}}));
  Output& out = b.program.stages[0].outputs[0];
  const Expr i = b.pool.index(b.program.stages[0].dims[0].id);
  out.key = b.pool.make(pair, {b.op(Prim::Mod, {i, b.lit(2)}), b.op(Prim::Lt, {i, b.lit(2)})});
  b.program.arrays[static_cast<std::size_t>(out.keys->value)].type = pair;
  const Outcome got = b.run({data<std::int32_t>(I32, {0, 0, 0, 0, 0}), longs({1, 2, 3, 4, 5})});
  EXPECT_THAT(integers(got.results[0]), ElementsAre(1, 2, 8, 4));
}

// ---- scatter and into
// ------------------------------------------------------------------------------------------------

Builder scatter(std::optional<Prim> prim, bool into) {
  Builder b;
  const Expr n = b.size("N"), m = b.size("M");
  const ArrayId x = b.input("x", I64, {n});
  const ArrayId p = b.input("p", I64, {m});
  const ArrayId v = b.input("v", I64, {m});
  const ArrayId y = b.array("y", I64, {n});
  const Dim j = b.dim("j", m);
  Scatter combine;
  if (prim) combine.op = b.builtin(*prim, I64);
  Output out = b.output(y, {combine}, {b.read(p, {b.index(j)})}, b.read(v, {b.index(j)}));
  if (into) out.into = x;
  b.stage("put", {j}, {out});
  b.program.results = {y};
  return b;
}

TEST(Interpret, Scatter) {
  const std::vector<Data> in = {longs({100, 200, 300}), longs({2, 0, 2}), longs({1, 2, 3})};
  EXPECT_THAT(integers(scatter({}, false).run(in).results[0]), ElementsAre(2, 0, 3));
  EXPECT_THAT(integers(scatter({}, true).run(in).results[0]), ElementsAre(2, 200, 3));
  EXPECT_THAT(integers(scatter(Prim::Add, false).run(in).results[0]), ElementsAre(2, 0, 4));
  EXPECT_THAT(integers(scatter(Prim::Add, true).run(in).results[0]), ElementsAre(102, 200, 304));
  EXPECT_THAT(integers(scatter(Prim::Max, false).run(in).results[0]), ElementsAre(2, lowest(I64).i, 3));
  EXPECT_EQ(scatter(Prim::Add, false).error({longs({0}), longs({1}), longs({1})}),
            "error[E0506]: stage 'put' writes 'y' outside: subscript 0 is 1, but dimension 0 has 1 element "
            "(at j = 0)\n"
            "  help: add a condition that keeps such points out\n");
}

TEST(Interpret, ScatterOfFolds) {
  // h[p[i]] combined with + of max(j) x[i, j]
  Builder b;
  const Expr n = b.size("N"), m = b.size("M");
  const ArrayId x = b.input("x", I64, {n, m});
  const ArrayId p = b.input("p", I64, {n});
  const ArrayId h = b.array("h", I64, {b.lit(2)});
  const Dim i = b.dim("i", n), j = b.dim("j", m);
  b.stage("h", {i, j},
          {b.output(h, {Scatter{b.builtin(Prim::Add, I64)}, Fold{b.builtin(Prim::Max, I64)}},
                    {b.read(p, {b.index(i)})}, b.read(x, {b.index(i), b.index(j)}))});
  b.program.results = {h};
  EXPECT_THAT(integers(b.run({longs({1, 5, 2, 3, 7, 4}, {3, 2}), longs({1, 0, 1})}).results[0]),
              ElementsAre(3, 12));
}

TEST(Interpret, NewVersionsKeepWhatIsNotWritten) {
  Builder b;
  const Expr n = b.size("N");
  const ArrayId x = b.input("x", I64, {n});
  const ArrayId y = b.array("y", I64, {n});
  const Dim i = b.dim("i", b.op(Prim::Sub, {n, b.lit(1)}), b.lit(1));
  Output out = b.output(y, {Cat{}}, {b.index(i)}, b.lit(0));
  out.into = x;
  b.stage("y", {i}, {out});
  b.program.results = {y, x};
  const Outcome got = b.run({longs({1, 2, 3, 4})});
  EXPECT_THAT(integers(got.results[0]), ElementsAre(1, 0, 0, 4));
  EXPECT_THAT(integers(got.results[1]), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(integers(b.run({longs({1})}).results[0]), ElementsAre(1));
}

/// y into x: y[i] = sum over j < M with v[j] > 0 of v[j], for i < 2
Builder fold_into(bool accumulates, bool has_identity = true) {
  Builder b;
  const Expr n = b.size("N"), m = b.size("M");
  const ArrayId x = b.input("x", I64, {n});
  const ArrayId v = b.input("v", I64, {m});
  const ArrayId y = b.array("y", I64, {n});
  const Dim i = b.dim("i", b.lit(2)), j = b.dim("j", m);
  const Expr vj = b.read(v, {b.index(j)});
  Operator add = b.builtin(Prim::Add, I64);
  if (!has_identity) add.identity = {};
  Output out = b.output(y, {Cat{}, Fold{add}}, {b.index(i)}, vj, b.op(Prim::Gt, {vj, b.lit(0)}));
  out.into = x;
  out.accumulates = accumulates;
  b.stage("y", {i, j}, {out});
  b.program.results = {y};
  return b;
}

TEST(Interpret, FoldsIntoAnArrayReplaceOrAccumulate) {
  const Data x = longs({10, 20, 30});
  EXPECT_THAT(integers(fold_into(true).run({x, longs({1, -5, 2})}).results[0]), ElementsAre(13, 23, 30));
  EXPECT_THAT(integers(fold_into(false).run({x, longs({1, -5, 2})}).results[0]), ElementsAre(3, 3, 30));
  EXPECT_THAT(integers(fold_into(true).run({x, longs({-5})}).results[0]), ElementsAre(10, 20, 30));
  EXPECT_THAT(integers(fold_into(false).run({x, longs({-5})}).results[0]), ElementsAre(0, 0, 30));
  EXPECT_THAT(integers(fold_into(false).run({x, longs({})}).results[0]), ElementsAre(10, 20, 30));
  EXPECT_THAT(integers(fold_into(false, false).run({x, longs({-5, 4})}).results[0]), ElementsAre(4, 4, 30));
  EXPECT_THAT(fold_into(false, false).error({x, longs({-5})}), HasSubstr("error[E0508]"));
}

TEST(Interpret, EveryElementMustBeWritten) {
  Builder b;
  const Expr n = b.size("N");
  const ArrayId x = b.input("x", I64, {n});
  const ArrayId y = b.array("y", I64, {n, b.lit(2)});
  const Dim i = b.dim("i", n);
  const Expr xi = b.read(x, {b.index(i)});
  b.stage("y", {i}, {b.output(y, {Cat{}}, {b.index(i), b.lit(1)}, xi, {})});
  b.program.results = {y};
  EXPECT_EQ(b.error({longs({4})}),
            "error[E0512]: stage 'y' never computes element [0, 0] of 'y'\n"
            "  help: make the stage cover the array, or define it into another array\n");
}

// ---- seq, blocks, effects
// -----------------------------------------------------------------------------------------------

TEST(Interpret, SeqReadsItsOwnPast) {
  Builder b;
  const Expr n = b.size("N");
  const ArrayId p = b.input("p", I64, {n});
  const ArrayId y = b.array("y", I64, {n});
  const Dim i = b.dim("i", n);
  const Expr past = b.read(y, {b.read(p, {b.index(i)})});
  const Expr value =
      b.pool.select(b.op(Prim::Gt, {b.index(i), b.lit(0)}), b.op(Prim::Add, {past, b.lit(1)}), b.lit(10));
  b.stage("y", {i}, {b.output(y, {Seq{}}, {b.index(i)}, value)});
  b.program.results = {y};
  EXPECT_THAT(integers(b.run({longs({0, 0, 1, 0})}).results[0]), ElementsAre(10, 11, 12, 11));
  EXPECT_EQ(b.error({longs({0, 2, 0})}),
            "error[E0511]: stage 'y' reads element 2 of 'y' before it is computed (at i = 1)\n"
            "  help: a seq stage reads its own results of earlier points only\n");
}

TEST(Interpret, ForwardSubstitutionFoldsItsOwnPast) {
  // x[i] = seq(i) fold(+, k < i) x[k], started with x[0] = 1 by a guard value.
  Builder b;
  const Expr n = b.size("N");
  b.input("unused", I64, {n});
  const ArrayId x = b.array("x", I64, {n});
  const Dim i = b.dim("i", n);
  const Dim k = b.dim("k", b.op(Prim::Add, {b.index(i), b.lit(1)}));
  const Expr value =
      b.pool.select(b.op(Prim::Lt, {b.index(k), b.index(i)}), b.read(x, {b.index(k)}), b.lit(1));
  b.stage("x", {i, k}, {b.output(x, {Seq{}, Fold{b.builtin(Prim::Add, I64)}}, {b.index(i)}, value)});
  b.program.results = {x};
  EXPECT_THAT(integers(b.run({longs({0, 0, 0, 0})}).results[0]), ElementsAre(1, 2, 4, 8));
}

/// u = seq t < T (or while the sum of the state is below T) from u0 { next[i] = 2 * state[i] }
Builder time_loop(bool by_condition) {
  Builder b;
  const Expr n = b.size("N");
  const ArrayId u0 = b.input("u0", I64, {n});
  const ArrayId limit = b.input("T", I64, {});
  const ArrayId state = b.array("state", I64, {n});
  const ArrayId next = b.array("next", I64, {n});
  const ArrayId u = b.array("u", I64, {n});
  Dim t = b.dim("t", by_condition ? Expr{} : b.read(limit, {}));
  if (by_condition) t.condition = b.op(Prim::Lt, {b.read(state, {b.lit(0)}), b.read(limit, {})});
  const Dim i = b.dim("i", n);
  Stage inner = b.make_stage(
      "next", {i},
      {b.output(next, {Cat{}}, {b.index(i)}, b.op(Prim::Mul, {b.read(state, {b.index(i)}), b.lit(2)}))});
  inner.effects = {{"print", {std::string("step"), b.index(t)}, b.op(Prim::Eq, {b.index(i), b.lit(0)}), {}}};
  Stage& loop = b.stage("u", {t}, {b.output(u, {Seq{true}}, {}, {})});
  loop.body = Nested{std::make_shared<Block>(Block{{{state, u0, next}}, {inner}, {next}})};
  b.program.results = {u};
  return b;
}

TEST(Interpret, TimeLoopsCarryState) {
  const Outcome out = time_loop(false).run({longs({1, 3}), scalar(3)});
  EXPECT_THAT(integers(out.results[0]), ElementsAre(8, 24));
  EXPECT_THAT(out.effects, ElementsAre(EffectEvent{"print", "step 0"}, EffectEvent{"print", "step 1"},
                                       EffectEvent{"print", "step 2"}));
  EXPECT_THAT(integers(time_loop(false).run({longs({1, 3}), scalar(0)}).results[0]), ElementsAre(1, 3));
  EXPECT_EQ(time_loop(false).run({longs({}), scalar(3)}).results[0].count(), 0);
}

TEST(Interpret, WhileLoopsAskBeforeEveryStep) {
  EXPECT_THAT(integers(time_loop(true).run({longs({1, 3}), scalar(5)}).results[0]), ElementsAre(8, 24));
  EXPECT_THAT(integers(time_loop(true).run({longs({9, 3}), scalar(5)}).results[0]), ElementsAre(9, 3));
}

TEST(Interpret, CarriedStatesChangeTogether) {
  // (a, b) = seq t < 5 from (0, 1) { a' = b; b' = a + b }
  Builder b;
  const ArrayId zero = b.input("zero", I64, {}), one = b.input("one", I64, {});
  const ArrayId a = b.array("a", I64, {}), c = b.array("b", I64, {});
  const ArrayId sum = b.array("sum", I64, {});
  const ArrayId fib = b.array("fib", I64, {});
  const Dim t = b.dim("t", b.lit(5));
  const Stage inner =
      b.make_stage("sum", {}, {b.output(sum, {}, {}, b.op(Prim::Add, {b.read(a, {}), b.read(c, {})}))});
  Stage& loop = b.stage("fib", {t}, {b.output(fib, {Seq{true}}, {}, {})});
  loop.body = Nested{std::make_shared<Block>(Block{{{a, zero, c}, {c, one, sum}}, {inner}, {sum}})};
  b.program.results = {fib};
  EXPECT_EQ(b.run({scalar(0), scalar(1)}).results[0].get(0).i, 8);
}

TEST(Interpret, BlocksUnderCatKeepTheirDimensions) {
  // y[i, :] = block { r[j] = x[i, j] + sum }, where sum = sum over j of x[i, j]
  Builder b;
  const Expr n = b.size("N"), m = b.size("M");
  const ArrayId x = b.input("x", I64, {n, m});
  const ArrayId sum = b.array("sum", I64, {});
  const ArrayId r = b.array("r", I64, {m});
  const ArrayId y = b.array("y", I64, {n, m});
  const ArrayId total = b.array("total", I64, {m});
  const Dim i = b.dim("i", n), j = b.dim("j", m), k = b.dim("k", m);
  const Stage first = b.make_stage(
      "sum", {j},
      {b.output(sum, {Fold{b.builtin(Prim::Add, I64)}}, {}, b.read(x, {b.index(i), b.index(j)}))});
  const Stage second =
      b.make_stage("r", {k},
                   {b.output(r, {Cat{}}, {b.index(k)},
                             b.op(Prim::Add, {b.read(x, {b.index(i), b.index(k)}), b.read(sum, {})}))});
  Stage& outer = b.stage(
      "y", {i},
      {b.output(y, {Cat{}}, {b.index(i)}, {}), b.output(total, {Fold{b.builtin(Prim::Add, I64)}}, {}, {})});
  outer.body = Nested{std::make_shared<Block>(Block{{}, {first, second}, {r, r}})};
  b.program.results = {y, total};
  const Outcome out = b.run({longs({1, 2, 3, 4}, {2, 2})});
  EXPECT_THAT(integers(out.results[0]), ElementsAre(4, 5, 10, 11));
  EXPECT_THAT(integers(out.results[1]), ElementsAre(14, 16));
}

TEST(Interpret, BranchesRunOneBlock) {
  // y = if c != 0 { [x | x > 0] } else { x }: the length is born in the branch.
  Builder b;
  const Expr n = b.size("N"), kept = b.born("kept"), len = b.born("L");
  const ArrayId x = b.input("x", I64, {n});
  const ArrayId c = b.input("c", I64, {}, Number::of(I64, 1));
  const ArrayId filtered = b.array("filtered", I64, {kept});
  const ArrayId y = b.array("y", I64, {len});
  const Dim i = b.dim("i", n);
  const Expr xi = b.read(x, {b.index(i)});
  const Stage filter =
      b.make_stage("filtered", {i}, {b.output(filtered, {Append{}}, {}, xi, b.op(Prim::Gt, {xi, b.lit(0)}))});
  Stage& choose = b.stage("y", {}, {b.output(y, {}, {}, {})});
  choose.body = Branch{b.op(Prim::Ne, {b.read(c, {}), b.lit(0)}),
                       std::make_shared<Block>(Block{{}, {filter}, {filtered}}),
                       std::make_shared<Block>(Block{{}, {}, {x}})};
  b.program.results = {y};
  EXPECT_THAT(integers(b.run({longs({1, -2, 3})}).results[0]), ElementsAre(1, 3));
  EXPECT_THAT(integers(b.run({longs({1, -2, 3}), scalar(0)}).results[0]), ElementsAre(1, -2, 3));
  EXPECT_EQ(b.run({longs({1, -2, 3})}).sizes.at("L"), 2);
}

TEST(Interpret, GuardsAndValuesSeeTheBlock) {
  // s = sum over i with q > 5 of 2 * q, where block { q = x[p[i]] }
  Builder b;
  const Expr n = b.size("N"), m = b.size("M");
  const ArrayId x = b.input("x", I64, {n});
  const ArrayId p = b.input("p", I64, {m});
  const ArrayId q = b.array("q", I64, {});
  const ArrayId s = b.array("s", I64, {});
  const Dim i = b.dim("i", m);
  const Stage inner = b.make_stage("q", {}, {b.output(q, {}, {}, b.read(x, {b.read(p, {b.index(i)})}))});
  const Expr value = b.read(q, {});
  Stage& outer = b.stage("s", {i},
                         {b.output(s, {Fold{b.builtin(Prim::Add, I64)}}, {},
                                   b.op(Prim::Mul, {value, b.lit(2)}), b.op(Prim::Gt, {value, b.lit(5)}))});
  outer.body = Nested{std::make_shared<Block>(Block{{}, {inner}, {q}})};
  b.program.results = {s};
  EXPECT_EQ(b.run({longs({5, 6}), longs({1, 0, 1})}).results[0].get(0).i, 24);
  EXPECT_THAT(
      b.error({longs({5, 6}), longs({0, 2})}),
      HasSubstr("stage 'q' reads 'x' outside: subscript 0 is 2, but dimension 0 has 2 elements (at i = 1)"));
}

TEST(Interpret, BlockResultsMustKeepTheirShape) {
  Builder b;
  const Expr n = b.size("N"), kept = b.born("kept");
  const ArrayId x = b.input("x", I64, {n});
  const ArrayId part = b.array("part", I64, {kept});
  const ArrayId y = b.array("y", I64, {n, n});
  const Dim i = b.dim("i", n), j = b.dim("j", b.op(Prim::Add, {b.index(i), b.lit(1)}));
  const Stage inner = b.make_stage("part", {j}, {b.output(part, {Append{}}, {}, b.read(x, {b.index(j)}))});
  Stage& outer = b.stage("y", {i}, {b.output(y, {Cat{}}, {b.index(i)}, {})});
  outer.body = Nested{std::make_shared<Block>(Block{{}, {inner}, {part}})};
  b.program.results = {y};
  EXPECT_EQ(b.error({longs({1, 2})}),
            "error[E0514]: stage 'y' computes 'y' with shape [2, 1], but its shape is [2, 2]\n");
}

TEST(Interpret, EffectsInOrder) {
  Builder b;
  const Type match(std::make_shared<Record>(Record{"Match", {{"id", I64}, {"weight", F32}}}));
  const Type pair(std::make_shared<Record>(Record{"", {{"0", Bool}, {"1", F64}}}));
  const Expr n = b.size("N");
  const ArrayId x = b.input("x", I64, {n});
  const Dim i = b.dim("i", n);
  const Expr xi = b.read(x, {b.index(i)});
  Stage& stage = b.stage("print", {i}, {});
  stage.effects = {
      {"print", {std::string("negative"), xi}, b.op(Prim::Lt, {xi, b.lit(0)}), {}},
      {"print",
       {b.pool.make(match, {xi, b.real(0.1, F32)}), b.pool.make(pair, {b.pool.boolean(true), b.real(0.1)})},
       {},
       {}}};
  const Outcome out = b.run({longs({1, -2})});
  EXPECT_THAT(out.effects, ElementsAre(EffectEvent{"print", "{ id: 1, weight: 0.1 } (true, 0.1)"},
                                       EffectEvent{"print", "negative -2"},
                                       EffectEvent{"print", "{ id: -2, weight: 0.1 } (true, 0.1)"}));
}

TEST(Interpret, SeveralOutputsWithTheirOwnCombines) {
  Builder b;
  const Expr n = b.size("N"), len = b.born("L");
  const ArrayId x = b.input("x", I64, {n});
  const ArrayId run = b.array("run", I64, {n}), sum = b.array("sum", I64, {}),
                odd = b.array("odd", I64, {len});
  const Dim i = b.dim("i", n);
  const Expr xi = b.read(x, {b.index(i)});
  const Operator add = b.builtin(Prim::Add, I64);
  b.stage("all", {i},
          {b.output(run, {Scan{add}}, {b.index(i)}, xi), b.output(sum, {Fold{add}}, {}, xi),
           b.output(odd, {Append{}}, {}, xi, b.op(Prim::Eq, {b.op(Prim::Mod, {xi, b.lit(2)}), b.lit(1)}))});
  b.program.results = {run, sum, odd};
  const Outcome out = b.run({longs({1, 2, 3})});
  EXPECT_THAT(integers(out.results[0]), ElementsAre(1, 3, 6));
  EXPECT_THAT(integers(out.results[1]), ElementsAre(6));
  EXPECT_THAT(integers(out.results[2]), ElementsAre(1, 3));
}

TEST(Interpret, NegativeExtentsAreEmpty) {
  Builder b;
  const Expr n = b.size("N");
  const ArrayId x = b.input("x", I64, {n});
  const Expr inner = b.op(Prim::Sub, {n, b.lit(2)});
  const ArrayId y = b.array("y", I64, {inner});
  const Dim i = b.dim("i", inner);
  b.stage("y", {i}, {b.output(y, {Cat{}}, {b.index(i)}, b.read(x, {b.index(i)}))});
  b.program.results = {y};
  EXPECT_THAT(b.run({longs({1})}).results[0].shape(), ElementsAre(0));
}

// ---- inputs and sizes
// -----------------------------------------------------------------------------------------------------

struct Shapes : Builder {
  Expr n = size("N"), m = size("M");

  std::string bind(std::vector<Data> inputs) {
    try {
      std::string text;
      for (const auto& [symbol, value] : bind_sizes(program, inputs))
        text += program[symbol].name + "=" + std::to_string(value) + " ";
      return text;
    } catch (const Error& e) {
      return e.what();
    }
  }
};

TEST(Sizes, PlainAffineAndVerified) {
  Shapes s;
  s.input("a", F64, {s.op(Prim::Add, {s.op(Prim::Mul, {s.lit(2), s.m}), s.lit(1)})});
  s.input("b", F64, {s.n, s.op(Prim::Sub, {s.m, s.n})});
  s.input("c", F64, {s.op(Prim::Div, {s.n, s.lit(2)})});
  EXPECT_EQ(s.bind({doubles({1, 2, 3, 4, 5, 6, 7}), doubles({}, {3, 0}), doubles({1})}), "N=3 M=3 ");
  EXPECT_EQ(s.bind({doubles({1, 2}), doubles({}, {3, 0}), doubles({1})}),
            "error[E0503]: input 'a' of shape [2] does not fit: extent 2 in dimension 0, but 2*M+1 is that "
            "for no 'M'\n");
  EXPECT_EQ(s.bind({doubles({1, 2, 3, 4, 5, 6, 7}), doubles({}, {3, 0}), doubles({1, 2})}),
            "error[E0503]: input 'c' of shape [2] does not fit: extent 2 in dimension 0, but N/2 is 1\n");
  EXPECT_EQ(s.bind({doubles({1}), doubles({}, {3, 0}), doubles({1})}), "N=3 M=0 ");  // M - N is -3: empty
}

TEST(Sizes, Conflicts) {
  Shapes s;
  s.input("a", F64, {s.n, s.n});
  s.input("b", F64, {s.op(Prim::Add, {s.m, s.lit(3)})});
  EXPECT_EQ(s.bind({doubles({1, 2}, {1, 2}), doubles({1, 2, 3})}),
            "error[E0503]: input 'a' of shape [1, 2] does not fit: extent 2 in dimension 1, but 'N' is 1 "
            "already\n");
  EXPECT_EQ(
      s.bind({doubles({1}, {1, 1}), doubles({1, 2})}),
      "error[E0503]: input 'b' of shape [2] does not fit: extent 2 in dimension 0, but 'M' would be -1\n");
  EXPECT_EQ(s.bind({doubles({1}), doubles({1})}),
            "error[E0503]: input 'a' of shape [1] does not fit: 'test' takes f64[N, N]\n");
  EXPECT_EQ(s.bind({longs({1}, {1, 1}), doubles({1})}),
            "error[E0502]: input 'a' is of type 'f64', but 'i64' was given\n");
}

TEST(Sizes, RecordsOfOtherFields) {
  Shapes s;
  const Type wanted = std::make_shared<const Record>(Record{"P", {{"x", F32}, {"n", I32}}});
  const Type given = std::make_shared<const Record>(Record{"P", {{"x", F64}, {"n", I32}}});
  s.input("p", wanted, {s.n});
  EXPECT_EQ(s.bind({Data(given, {2})}),
            "error[E0502]: input 'p' is of type '{ x: f32, n: i32 }', but '{ x: f64, n: i32 }' was given\n"
            "  help: the fields have the same names and types, in the same order\n");
}

TEST(Sizes, UndeterminedAndMissing) {
  Shapes s;
  s.program.name = "f";
  s.input("a", F64, {s.op(Prim::Div, {s.n, s.lit(2)})});
  s.input("b", F64, {s.m});
  EXPECT_EQ(s.bind({doubles({1}), doubles({1})}),
            "error[E0504]: the shapes of the inputs do not determine the size 'N' of 'f'\n"
            "  help: let it stand alone in the shape of some input\n");
  EXPECT_EQ(s.bind({doubles({1})}), "error[E0501]: input 'b' of 'f' is missing\n");
  EXPECT_EQ(s.bind({doubles({1}), doubles({1}), doubles({1})}), "error[E0501]: 'f' takes 2 inputs, not 3\n");
}

TEST(Sizes, ExtentsFromScalars) {
  Builder b;
  const ArrayId count = b.input("count", I32, {}, Number::of(I64, 2));
  const ArrayId x = b.input("x", F64, {b.i64(b.read(count, {}))});
  b.program.inputs = {{x, {}}, {count, Number::of(I64, 2)}};
  b.program.results = {x};
  EXPECT_EQ(b.run({doubles({1, 2})}).results[0].count(), 2);
  EXPECT_EQ(b.error({doubles({1, 2, 3})}),
            "error[E0503]: input 'x' of shape [3] does not fit: extent 3 in dimension 0, but count is 2\n");
}

TEST(Interpret, DeepExpressions) {
  Builder b;
  const ArrayId x = b.input("x", F64, {});
  const ArrayId y = b.array("y", F64, {});
  Expr value = b.read(x, {});
  for (int i = 0; i < 100'000; ++i) value = b.op(Prim::Add, {value, b.real(1)});
  b.stage("y", {}, {b.output(y, {}, {}, value)});
  b.program.results = {y};
  EXPECT_EQ(reals(interpret(b.program, std::vector{Data::scalar(Number::of_double(F64, 0.5))}).results[0])[0],
            100'000.5);
}

}  // namespace
}  // namespace twill
