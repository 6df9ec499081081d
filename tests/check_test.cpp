// The checker: programs that are in order, and the exact text of every complaint about those that are not.
#include "program/check.h"

#include "program/affine_of.h"
#include "program/typing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace twill {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Short words for building programs.
struct Builder {
  Program p;

  ExprPool& pool() { return *p.pool; }
  Expr n(std::int64_t value) { return pool().integer(value); }
  Expr size(const std::string& name) { return pool().size(p.add_symbol(name, Symbol::Origin::Input)); }
  Expr born(const std::string& name) { return pool().size(p.add_symbol(name, Symbol::Origin::Born)); }
  ArrayId array(const std::string& name, Type type, std::vector<Expr> shape) {
    return p.add_array(name, std::move(type), std::move(shape));
  }
  ArrayId input(const std::string& name, Type type, std::vector<Expr> shape) {
    const ArrayId id = array(name, std::move(type), std::move(shape));
    p.inputs.push_back({id, {}});
    return id;
  }
  Dim dim(const std::string& name, Expr lo, Expr hi) { return {p.add_dim(name), name, lo, hi, {}, {}}; }
  Dim dim(const std::string& name, Expr hi) { return dim(name, n(0), hi); }
  Expr at(const Dim& d) { return pool().index(d.id); }
  Expr op(Prim prim, Expr a, Expr b) { return pool().apply(prim, {a, b}); }
  Expr add(Expr a, Expr b) { return op(Prim::Add, a, b); }
  Expr sub(Expr a, Expr b) { return op(Prim::Sub, a, b); }
  Expr mul(Expr a, Expr b) { return op(Prim::Mul, a, b); }
  Expr div(Expr a, Expr b) { return op(Prim::Div, a, b); }
  Expr read(ArrayId a, std::vector<Expr> subscripts) {
    return pool().read(a, p[a].type, std::move(subscripts));
  }
  Expr read(ArrayId a, std::vector<Expr> subscripts, std::vector<Boundary> rules) {
    return pool().read(a, p[a].type, std::move(subscripts), std::move(rules));
  }
  Expr f(double value) { return pool().literal(Number::of_double(Scalar::F32, value)); }
  Operator plus(Type type = Scalar::F32) { return builtin_operator(pool(), Prim::Add, type); }

  Stage& stage(const std::string& name, std::vector<Dim> dims) {
    Stage s;
    s.name = name;
    s.dims = std::move(dims);
    s.body = Formula{};
    p.stages.push_back(std::move(s));
    return p.stages.back();
  }
  static Output output(ArrayId a, std::vector<Combine> combine, std::vector<Expr> at, Expr value,
                       Expr guard = {}) {
    Output o;
    o.array = a;
    o.combine = std::move(combine);
    o.at = std::move(at);
    o.value = value;
    o.guard = guard;
    return o;
  }
  /// y[dims…] = value, over all of them; a result.
  ArrayId map(const std::string& name, std::vector<Dim> dims, Expr value, std::vector<Expr> shape = {}) {
    std::vector<Expr> subscripts;
    std::vector<Combine> combine;
    for (const Dim& d : dims) {
      subscripts.push_back(at(d));
      combine.push_back(Cat{});
    }
    if (shape.empty())
      for (const Dim& d : dims) shape.push_back(d.hi);
    const ArrayId y = array(name, value->type, shape);
    stage(name, dims).outputs.push_back(output(y, combine, subscripts, value));
    p.results.push_back(y);
    return y;
  }

  std::vector<std::string> errors() const {
    std::vector<std::string> all;
    for (const Diagnostic& d : diagnose(p)) all.push_back(d.code + " " + d.message);
    return all;
  }
  std::vector<std::string> helps() const {
    std::vector<std::string> all;
    for (const Diagnostic& d : diagnose(p)) all.push_back(d.help);
    return all;
  }
};

struct Check : testing::Test, Builder {
  Expr H = size("H"), W = size("W"), N = size("N");
};

// ---- reads --------------------------------------------------------------------------------------------

TEST_F(Check, PlainReadsAreInside) {
  const ArrayId u = input("u", Scalar::F32, {H, W});
  const Dim y = dim("y", H), x = dim("x", W);
  map("v", {y, x}, read(u, {at(y), at(x)}));
  EXPECT_THAT(errors(), IsEmpty());
  EXPECT_THAT(run_time_checks(p).reads, IsEmpty());
}

TEST_F(Check, ReadBeforeTheFirstElement) {
  const ArrayId u = input("u", Scalar::F32, {H, W});
  const Dim y = dim("y", H), x = dim("x", W);
  map("v", {y, x}, read(u, {sub(at(y), n(1)), at(x)}));
  EXPECT_THAT(
      errors(),
      ElementsAre(
          "E0310 in stage 'v': read of 'u' at y-1 leaves the array in dimension 0: y starts at 0, so y-1 can be -1"));
  EXPECT_THAT(
      helps(),
      ElementsAre(
          "choose the value outside: if y > 0 then u[y-1, x] else 0, or name a boundary: u[clamp(y-1), x]"));
}

TEST_F(Check, ReadAfterTheLastElement) {
  const ArrayId u = input("u", Scalar::F32, {N});
  const Dim i = dim("i", N);
  map("v", {i}, read(u, {add(at(i), n(2))}));
  EXPECT_THAT(
      errors(),
      ElementsAre(
          "E0310 in stage 'v': read of 'u' at i+2 leaves the array: i goes up to N-1, so i+2 can be N+1, "
          "and the last element is at N-1"));
  EXPECT_THAT(
      helps(),
      ElementsAre(
          "choose the value outside: if i < N-2 then u[i+2] else 0, or name a boundary: u[clamp(i+2)]"));
}

TEST_F(Check, ReadOfAShorterArray) {
  const ArrayId u = input("u", Scalar::F32, {N}), w = input("w", Scalar::F32, {H});
  const Dim i = dim("i", N);
  map("v", {i}, add(read(u, {at(i)}), read(w, {at(i)})));
  EXPECT_THAT(errors(), ElementsAre("E0310 in stage 'v': read of 'w' at i leaves the array: i goes up to "
                                    "N-1, and the last element is at H-1"));
}

TEST_F(Check, ReadWithAnExample) {
  const ArrayId u = input("u", Scalar::F32, {N});
  const Dim i = dim("i", N);
  map("v", {i}, read(u, {mul(n(2), at(i))}));
  EXPECT_THAT(errors(), ElementsAre("E0310 in stage 'v': read of 'u' at 2*i leaves the array: for i = 1, N = "
                                    "2 it is 2, and the last element is at 1"));
}

TEST_F(Check, HalvesAreExact) {
  const ArrayId u = input("u", Scalar::F32, {H});
  const Dim y = dim("y", div(H, n(2)));
  map("d", {y}, add(read(u, {mul(n(2), at(y))}), read(u, {add(mul(n(2), at(y)), n(1))})));
  EXPECT_THAT(errors(), IsEmpty());
  const Dim z = dim("z", div(H, n(2)));
  map("e", {z}, read(u, {add(mul(n(2), at(z)), n(2))}));
  EXPECT_THAT(errors(), ElementsAre("E0310 in stage 'e': read of 'u' at 2*z+2 leaves the array: for z = 0, H "
                                    "= 2 it is 2, and the last element is at 1"));
}

TEST_F(Check, RoundedUpHalvesNeedIntegerSets) {
  const ArrayId u = input("u", Scalar::F32, {H});
  const Dim y = dim("y", div(add(H, n(1)), n(2)));
  map("d", {y}, read(u, {mul(n(2), at(y))}));
  EXPECT_THAT(errors(), IsEmpty());
}

TEST_F(Check, ConditionsOnTheWayCount) {
  const ArrayId u = input("u", Scalar::F32, {N});
  const Dim i = dim("i", N);
  const Expr left = read(u, {sub(at(i), n(1))});
  map("a", {i}, pool().select(op(Prim::Gt, at(i), n(0)), left, f(0)));
  const Dim j = dim("j", N);
  const Expr before = read(u, {sub(at(j), n(1))});
  const Expr both = op(Prim::And, op(Prim::Ne, at(j), n(0)), op(Prim::Lt, f(0), before));
  map("b", {j}, pool().select(both, before, f(0)));
  const Dim k = dim("k", N);
  const Expr or_else =
      op(Prim::Or, op(Prim::Eq, at(k), n(0)), op(Prim::Lt, f(0), read(u, {sub(at(k), n(1))})));
  map("c", {k}, pool().select(or_else, f(1), f(0)));
  EXPECT_THAT(errors(), IsEmpty());
  const Dim l = dim("l", N);
  map("d", {l}, pool().select(op(Prim::Gt, at(l), n(0)), f(0), read(u, {sub(at(l), n(1))})));
  EXPECT_THAT(
      errors(),
      ElementsAre(
          "E0310 in stage 'd': read of 'u' at l-1 leaves the array: l starts at 0, so l-1 can be -1"));
}

TEST_F(Check, EmptyDomainsReadNothing) {
  const ArrayId u = input("u", Scalar::F32, {N});
  const Dim i = dim("i", N);
  map("v", {i}, read(u, {n(0)}));
  EXPECT_THAT(errors(), IsEmpty());
  const Dim j = dim("j", H);
  const ArrayId h = input("h", Scalar::F32, {H});
  map("w", {j}, add(read(h, {at(j)}), read(u, {n(0)})));
  EXPECT_THAT(errors(), ElementsAre("E0310 in stage 'w': read of 'u' at 0 leaves the array: for j = 0, H = "
                                    "1, N = 0 the array has no elements"));
}

TEST_F(Check, TrianglesAndWindows) {
  const ArrayId a = input("a", Scalar::F32, {N, N});
  const ArrayId s = array("s", Scalar::F32, {N});
  const Dim i = dim("i", N), j = dim("j", add(at(i), n(1)));
  stage("s", {i, j}).outputs.push_back(output(s, {Cat{}, Fold{plus()}}, {at(i)}, read(a, {at(i), at(j)})));
  p.results.push_back(s);
  const Dim k = dim("k", sub(N, n(2))), l = dim("l", n(3));
  const ArrayId w = array("w", Scalar::F32, {sub(N, n(2))});
  stage("w", {k, l})
      .outputs.push_back(output(w, {Cat{}, Fold{plus()}}, {at(k)}, read(s, {add(at(k), at(l))})));
  p.results.push_back(w);
  EXPECT_THAT(errors(), IsEmpty());
}

TEST_F(Check, MinAndMaxAreUnderstood) {
  const ArrayId u = input("u", Scalar::F32, {N});
  const Dim i = dim("i", N);
  map("v", {i}, read(u, {op(Prim::Min, add(at(i), n(1)), sub(N, n(1)))}));
  const Dim r = dim("r", N),
            c = dim("c", op(Prim::Max, n(0), sub(at(r), n(2))), op(Prim::Min, N, add(at(r), n(3))));
  const ArrayId band = array("band", Scalar::F32, {N});
  stage("band", {r, c}).outputs.push_back(output(band, {Cat{}, Fold{plus()}}, {at(r)}, read(u, {at(c)})));
  p.results.push_back(band);
  EXPECT_THAT(errors(), IsEmpty());
}

TEST_F(Check, BoundaryRulesAllowEverything) {
  const ArrayId u = input("u", Scalar::F32, {N});
  const Dim i = dim("i", N);
  map("v", {i}, read(u, {sub(at(i), n(7))}, {Boundary::Clamp}));
  EXPECT_THAT(errors(), IsEmpty());
}

TEST_F(Check, DataSubscriptsAreForTheRunTime) {
  const ArrayId u = input("u", Scalar::F32, {N}), q = input("q", Scalar::I32, {H}),
                b = input("b", Scalar::U8, {H});
  const ArrayId t = input("t", Scalar::F32, {n(256)});
  const Dim i = dim("i", H);
  const Expr gather = read(u, {pool().cast(Scalar::I64, read(q, {at(i)}))});
  const Expr lookup = read(t, {pool().cast(Scalar::I64, read(b, {at(i)}))});
  map("v", {i}, add(gather, lookup));
  EXPECT_THAT(errors(), IsEmpty());
  EXPECT_THAT(run_time_checks(p).reads, ElementsAre(std::pair(gather.get(), 0)))
      << "a u8 never leaves 256 elements";
}

TEST_F(Check, DataExtents) {
  const ArrayId ptr = input("ptr", Scalar::I64, {add(N, n(1))}), val = input("val", Scalar::F32, {W});
  const Dim r = dim("r", N), q = dim("q", read(ptr, {at(r)}), read(ptr, {add(at(r), n(1))}));
  const ArrayId y = array("y", Scalar::F32, {N});
  const Expr element = read(val, {at(q)});
  stage("y", {r, q}).outputs.push_back(output(y, {Cat{}, Fold{plus()}}, {at(r)}, element));
  p.results.push_back(y);
  EXPECT_THAT(errors(), IsEmpty());
  EXPECT_THAT(run_time_checks(p).reads, ElementsAre(std::pair(element.get(), 0)));
}

TEST_F(Check, ScalarExtentsAreSymbols) {
  const ArrayId m = input("m", Scalar::I32, {});
  const Expr extent = pool().cast(Scalar::I64, read(m, {}));
  const Dim i = dim("i", extent), j = dim("j", extent);
  const ArrayId y = map("y", {i}, pool().cast(Scalar::F32, at(i)));
  map("z", {j}, read(y, {at(j)}));
  EXPECT_THAT(errors(), IsEmpty());
  EXPECT_THAT(run_time_checks(p).reads, IsEmpty());
}

// ---- writes -------------------------------------------------------------------------------------------

TEST_F(Check, TransposesAndShiftsWriteEverythingOnce) {
  const ArrayId u = input("u", Scalar::F32, {H, W});
  const ArrayId t = array("t", Scalar::F32, {W, H});
  const Dim y = dim("y", n(1), add(H, n(1))), x = dim("x", W);
  stage("t", {y, x})
      .outputs.push_back(
          output(t, {Cat{}, Cat{}}, {at(x), sub(at(y), n(1))}, read(u, {sub(at(y), n(1)), at(x)})));
  p.results.push_back(t);
  EXPECT_THAT(errors(), IsEmpty());
}

TEST_F(Check, FlattenedBlocksWriteEverythingOnce) {
  const ArrayId u = input("u", Scalar::F32, {N, n(4)});
  const ArrayId t = array("t", Scalar::F32, {mul(N, n(4))});
  const Dim y = dim("y", N), x = dim("x", n(4));
  stage("t", {y, x})
      .outputs.push_back(output(t, {Cat{}, Cat{}}, {add(mul(n(4), at(y)), at(x))}, read(u, {at(y), at(x)})));
  p.results.push_back(t);
  EXPECT_THAT(errors(), IsEmpty());
}

TEST_F(Check, ElementWrittenTwice) {
  const ArrayId u = input("u", Scalar::F32, {N, n(4)});
  const ArrayId t = array("t", Scalar::F32, {mul(N, n(4))});
  const Dim y = dim("y", N), x = dim("x", n(4));
  stage("t", {y, x})
      .outputs.push_back(output(t, {Cat{}, Cat{}}, {add(mul(n(3), at(y)), at(x))}, read(u, {at(y), at(x)})));
  p.results.push_back(t);
  EXPECT_THAT(errors(), ElementsAre("E0312 in stage 't': an element of 't' is written twice: y = 0, x = 3 "
                                    "and y = 1, x = 0 both write t[3]"));
}

TEST_F(Check, DimensionThatGoesNowhere) {
  const ArrayId u = input("u", Scalar::F32, {N});
  const ArrayId t = array("t", Scalar::F32, {});
  const Dim i = dim("i", N);
  stage("t", {i}).outputs.push_back(output(t, {Cat{}}, {}, read(u, {at(i)})));
  p.results.push_back(t);
  EXPECT_THAT(
      errors(),
      ElementsAre("E0312 in stage 't': an element of 't' is written twice: i = 0 and i = 1 both write t"));
}

TEST_F(Check, ShapeLargerThanTheDomain) {
  const ArrayId u = input("u", Scalar::F32, {N});
  const Dim i = dim("i", N);
  map("v", {i}, read(u, {at(i)}), {add(N, n(1))});
  EXPECT_THAT(errors(), ElementsAre("E0313 in stage 'v': 'v' is f32[N+1], but is not written completely: no "
                                    "point writes v[0] when N = 0"));
}

TEST_F(Check, ShapeSmallerThanTheDomain) {
  const ArrayId u = input("u", Scalar::F32, {N});
  const Dim i = dim("i", N);
  map("v", {i}, read(u, {at(i)}), {sub(N, n(1))});
  EXPECT_THAT(errors(), ElementsAre("E0311 in stage 'v': write of 'v' at i leaves the array: i goes up to "
                                    "N-1, and the last element is at N-2"));
}

TEST_F(Check, StridedWritesLeaveHoles) {
  const ArrayId u = input("u", Scalar::F32, {N});
  const ArrayId t = array("t", Scalar::F32, {mul(n(2), N)});
  const Dim i = dim("i", N);
  stage("t", {i}).outputs.push_back(output(t, {Cat{}}, {mul(n(2), at(i))}, read(u, {at(i)})));
  p.results.push_back(t);
  EXPECT_THAT(errors(), ElementsAre("E0313 in stage 't': 't' is f32[2*N], but is not written completely: no "
                                    "point writes t[1] when N = 1"));
  p.stages[0].outputs[0].into = input("old", Scalar::F32, {mul(n(2), N)});
  EXPECT_THAT(errors(), IsEmpty()) << "a new version keeps the rest";
}

TEST_F(Check, GuardOfADenseOutput) {
  const ArrayId u = input("u", Scalar::F32, {N});
  const Dim i = dim("i", N);
  map("v", {i}, read(u, {at(i)}));
  Output& v = p.stages[0].outputs[0];
  v.guard = op(Prim::Lt, f(0), read(u, {at(i)}));
  EXPECT_THAT(errors(), ElementsAre("E0314 in stage 'v': 'v' has no value where its condition fails"));
  v.guard = op(Prim::Lt, at(i), n(5));
  EXPECT_THAT(errors(), ElementsAre("E0314 in stage 'v': 'v' has no value where its condition fails"));
  v.guard = op(Prim::Ge, at(i), n(0));
  EXPECT_THAT(errors(), IsEmpty());
}

TEST_F(Check, GuardedFoldNeedsAnIdentity) {
  const ArrayId u = input("u", Scalar::F32, {N});
  const ArrayId s = array("s", Scalar::F32, {});
  const Dim i = dim("i", N);
  stage("s", {i}).outputs.push_back(
      output(s, {Fold{plus()}}, {}, read(u, {at(i)}), op(Prim::Lt, f(0), read(u, {at(i)}))));
  p.results.push_back(s);
  EXPECT_THAT(errors(), IsEmpty());
  std::get<Fold>(p.stages[0].outputs[0].combine[0]).op.identity = {};
  EXPECT_THAT(errors(), ElementsAre("E0317 in stage 's': 's' folds under a condition with operator '+', "
                                    "which has no identity: where nothing passes "
                                    "there is no value"));
}

TEST_F(Check, WriteMapOfTheWrongRank) {
  const ArrayId u = input("u", Scalar::F32, {N});
  const Dim i = dim("i", N);
  map("v", {i}, read(u, {at(i)}), {N, N});
  EXPECT_THAT(
      errors(),
      ElementsAre("E0309 in stage 'v': the write map of 'v' has 1 subscript, but the array is f32[N, N]"));
}

TEST_F(Check, WriteMapWithAFoldedIndex) {
  const ArrayId u = input("u", Scalar::F32, {N});
  const ArrayId s = array("s", Scalar::F32, {N});
  const Dim i = dim("i", N);
  stage("s", {i}).outputs.push_back(output(s, {Fold{plus()}}, {at(i)}, read(u, {at(i)})));
  p.results.push_back(s);
  EXPECT_THAT(errors(), ElementsAre("E0309 in stage 's': the write map of 's' uses i, which is folded away"));
}

TEST_F(Check, ScatterMayCollideAndIsCheckedAtRunTime) {
  const ArrayId k = input("k", Scalar::I64, {N});
  const ArrayId h = array("h", Scalar::F32, {W});
  input("w", Scalar::F32, {W});
  const Dim i = dim("i", N);
  stage("h", {i}).outputs.push_back(output(h, {Scatter{plus()}}, {read(k, {at(i)})}, f(1)));
  p.results.push_back(h);
  EXPECT_THAT(errors(), IsEmpty());
  EXPECT_THAT(run_time_checks(p).writes, ElementsAre(std::pair(h, 0)));
  p.stages[0].outputs[0].combine[0] = Cat{};
  EXPECT_THAT(errors(),
              ElementsAre("E0331 in stage 'h': the position k[i] at which 'h' is written depends on data"));
}

// ---- seq ----------------------------------------------------------------------------------------------

struct SeqCheck : Check {
  ArrayId b = input("b", Scalar::F32, {N});
  ArrayId x = array("x", Scalar::F32, {N});
  Dim i = dim("i", N);

  /// x[i] = seq(i) b[i] + x[subscript], where the read is guarded by `when` if there is one.
  void recurrence(Expr subscript, Expr when = {}) {
    const Expr past = read(x, {subscript});
    const Expr value = add(read(b, {at(i)}), when ? pool().select(when, past, f(0)) : past);
    stage("x", {i}).outputs.push_back(output(x, {Seq{}}, {at(i)}, value));
    p.results.push_back(x);
  }
};

TEST_F(SeqCheck, EarlierPointsMayBeRead) {
  recurrence(sub(at(i), n(1)), op(Prim::Gt, at(i), n(0)));
  EXPECT_THAT(errors(), IsEmpty());
}

TEST_F(SeqCheck, FixedPointMayBeReadAfterIt) {
  recurrence(n(0), op(Prim::Gt, at(i), n(0)));
  EXPECT_THAT(errors(), IsEmpty());
}

TEST_F(SeqCheck, LaterPoint) {
  recurrence(add(at(i), n(1)), op(Prim::Lt, at(i), sub(N, n(1))));
  EXPECT_THAT(errors(),
              ElementsAre("E0315 in stage 'x': x[i+1] is no earlier result: i = 0 reads what i = 1 writes"));
}

TEST_F(SeqCheck, SamePoint) {
  recurrence(at(i));
  EXPECT_THAT(
      errors(),
      ElementsAre("E0315 in stage 'x': x[i] is no earlier result: i = 0 reads what it writes itself"));
}

TEST_F(SeqCheck, BeforeTheFirst) {
  recurrence(sub(at(i), n(1)));
  EXPECT_THAT(
      errors(),
      ElementsAre(
          "E0310 in stage 'x': read of 'x' at i-1 leaves the array: i starts at 0, so i-1 can be -1"));
}

TEST_F(SeqCheck, ClampedReadOfTheSamePoint) {
  stage("x", {i}).outputs.push_back(
      output(x, {Seq{}}, {at(i)}, add(read(b, {at(i)}), read(x, {sub(at(i), n(1))}, {Boundary::Clamp}))));
  p.results.push_back(x);
  EXPECT_THAT(
      errors(),
      ElementsAre("E0315 in stage 'x': x[i-1] is no earlier result: i = 0 reads what it writes itself"));
}

TEST_F(SeqCheck, TriangularSolve) {
  const ArrayId l = input("l", Scalar::F32, {N, N});
  const Dim j = dim("j", at(i));
  stage("x", {i, j})
      .outputs.push_back(output(x, {Seq{}, Fold{plus()}}, {at(i)},
                                mul(read(l, {at(i), at(j)}), add(read(b, {at(i)}), read(x, {at(j)})))));
  p.results.push_back(x);
  EXPECT_THAT(errors(), IsEmpty());
}

TEST_F(SeqCheck, IndependentDimensionsMayNotBeCrossed) {
  const ArrayId g = array("g", Scalar::F32, {N, N});
  const Dim t = dim("t", N), c = dim("c", N);
  const Expr inside = op(Prim::And, op(Prim::Gt, at(t), n(0)), op(Prim::Gt, at(c), n(0)));
  const Expr past = read(g, {sub(at(t), n(1)), sub(at(c), n(1))});
  const Expr value = add(read(b, {at(c)}), pool().select(inside, past, f(0)));
  stage("g", {t, c}).outputs.push_back(output(g, {Seq{}, Cat{}}, {at(t), at(c)}, value));
  p.results.push_back(g);
  EXPECT_THAT(errors(), IsEmpty());
  p.stages[0].outputs[0].combine = {Cat{}, Seq{}};
  EXPECT_THAT(errors(), ElementsAre("E0315 in stage 'g': g[t-1, c-1] is no earlier result: t = 1, c = 1 "
                                    "reads what t = 0, c = 0 writes"));
}

TEST_F(SeqCheck, OwnReadWithoutSeq) {
  stage("x", {i}).outputs.push_back(output(x, {Cat{}}, {at(i)}, add(read(b, {at(i)}), read(x, {n(0)}))));
  p.results.push_back(x);
  EXPECT_THAT(errors(), ElementsAre("E0304 in stage 'x': 'x' is read by the stage that defines it"));
}

// ---- names, order -------------------------------------------------------------------------------------

TEST_F(Check, OrderAndCycles) {
  const ArrayId u = input("u", Scalar::F32, {N});
  const ArrayId a = array("a", Scalar::F32, {N}), b = array("b", Scalar::F32, {N});
  const Dim i = dim("i", N), j = dim("j", N);
  stage("first", {i}).outputs.push_back(output(a, {Cat{}}, {at(i)}, read(b, {at(i)})));
  stage("second", {j}).outputs.push_back(output(b, {Cat{}}, {at(j)}, read(u, {at(j)})));
  p.results = {a};
  EXPECT_THAT(errors(), ElementsAre("E0304 in stage 'first': 'b' is read, but stage 'second', which defines "
                                    "it, is not before this one"));
  p.stages[1].outputs[0].value = add(read(u, {at(j)}), read(a, {at(j)}));
  EXPECT_THAT(
      errors(),
      ElementsAre("E0304 in stage 'first': 'b' comes from stage 'second', which needs this stage: a cycle"));
}

TEST_F(Check, DanglingIds) {
  const Dim i = dim("i", N), stranger = dim("k", N);
  input("u", Scalar::F32, {N});
  map("a", {i}, pool().cast(Scalar::F32, at(stranger)));
  const Dim j = dim("j", N);
  map("b", {j}, pool().read(ArrayId{99}, Scalar::F32, {at(j)}));
  const Dim l = dim("l", N);
  map("c", {l}, pool().cast(Scalar::F32, pool().size(SymbolId{7})));
  const Dim m = dim("m", N);
  map("d", {m}, pool().invoke(FunctionId{3}, Scalar::F32, {}));
  EXPECT_THAT(errors(),
              ElementsAre("E0301 in stage 'a': k is not an index of this stage",
                          "E0301 in stage 'b': it reads an array that the program does not have (id 99)",
                          "E0301 in stage 'c': the program has no size with id 7",
                          "E0301 in stage 'd': the program has no function with id 3"));
}

TEST_F(Check, DanglingOutput) {
  const Dim i = dim("i", N);
  input("u", Scalar::F32, {N});
  stage("a", {i}).outputs.push_back(output(ArrayId{42}, {Cat{}}, {at(i)}, f(0)));
  EXPECT_THAT(errors(),
              ElementsAre("E0301 stage 'a' defines an array that the program does not have (id 42)"));
}

TEST_F(Check, DefinedTwice) {
  const ArrayId u = input("u", Scalar::F32, {N});
  const Dim i = dim("i", N);
  const ArrayId v = map("v", {i}, read(u, {at(i)}));
  const Dim j = dim("j", N);
  stage("again", {j}).outputs.push_back(output(v, {Cat{}}, {at(j)}, read(u, {at(j)})));
  EXPECT_THAT(errors(), ElementsAre("E0303 'v' is defined twice: by stage 'v' and by stage 'again'"));
}

TEST_F(Check, StageNames) {
  const ArrayId u = input("u", Scalar::F32, {N});
  const Dim i = dim("i", N), j = dim("j", N);
  map("v", {i}, read(u, {at(i)}));
  map("w", {j}, read(u, {at(j)}));
  p.stages[1].name = "v";
  EXPECT_THAT(errors(), ElementsAre("E0302 two stages are called 'v'"));
}

TEST_F(Check, ArraysAndSizesHaveNamesOfTheirOwn) {
  const ArrayId u = input("u", Scalar::F32, {N});
  const Dim i = dim("i", N), j = dim("j", N);
  map("u", {i}, read(u, {at(i)}));
  map("N", {j}, read(u, {at(j)}));
  EXPECT_THAT(errors(),
              ElementsAre("E0337 two arrays are called 'u'", "E0337 a size and an array are called 'N'"));
}

TEST_F(Check, SizesHaveNamesOfTheirOwn) {
  const ArrayId u = input("u", Scalar::F32, {N});
  const ArrayId w = input("w", Scalar::F32, {size("N")});
  const Dim i = dim("i", N);
  map("v", {i}, add(read(u, {at(i)}), read(w, {at(i)}, {Boundary::Clamp})));
  EXPECT_THAT(errors(), ElementsAre("E0337 two sizes are called 'N'"));
}

TEST_F(Check, NamesCanBeWritten) {
  const ArrayId u = input("", Scalar::F32, {N});
  const Dim i = dim("a`b", N);
  map("v", {i}, read(u, {at(i)}));
  EXPECT_THAT(errors(),
              ElementsAre("E0337 an array has no name", "E0337 an index of stage 'v' is called \"a`b\""));
}

TEST_F(Check, FunctionsAndTypesHaveNamesOfTheirOwn) {
  const Type one = std::make_shared<const Record>(Record{"P", {{"a", Scalar::F32}}});
  const Type other = std::make_shared<const Record>(Record{"P", {{"b", Scalar::F32}}});
  const ArrayId u = input("u", one, {N});
  const ArrayId w = input("w", other, {N});
  const Dim i = dim("i", N);
  for (int k = 0; k < 2; ++k)
    p.add_function({"f", {{"x", Scalar::F32}}, Scalar::F32, pool().arg(0, Scalar::F32), {}});
  map("v", {i}, add(pool().field(read(u, {at(i)}), 0), pool().field(read(w, {at(i)}), 0)));
  EXPECT_THAT(errors(),
              ElementsAre("E0337 two different types are called 'P'", "E0337 two functions are called 'f'"));
}

TEST_F(Check, IndicesHideNothing) {
  const ArrayId u = input("u", Scalar::F32, {N});
  const Dim i = dim("N", N);
  map("v", {i}, read(u, {at(i)}));
  EXPECT_THAT(errors(), ElementsAre("E0337 the index 'N' of stage 'v' has the name of a size"));
}

TEST_F(Check, IndicesOfOneStageDiffer) {
  const ArrayId u = input("u", Scalar::F32, {N});
  map("v", {dim("i", N), dim("i", N)}, read(u, {n(0)}, {Boundary::Clamp}));
  EXPECT_THAT(errors(), ElementsAre("E0337 two indices of stage 'v' are called 'i'"));
}

TEST_F(Check, NamesInBlocks) {
  const ArrayId u = input("u", Scalar::F32, {N});
  const Dim outer = dim("i", N), inner = dim("i", N);
  const ArrayId s = array("s", Scalar::F32, {}), t = array("i", Scalar::F32, {}),
                v = array("v", Scalar::F32, {N});
  Block block;
  block.stages.resize(2);
  block.stages[0].name = "s";
  block.stages[0].dims = {inner};
  block.stages[0].outputs = {output(s, {Fold{plus()}}, {}, add(read(u, {at(inner)}), read(u, {at(outer)})))};
  block.stages[1].name = "t";
  block.stages[1].outputs = {output(t, {}, {}, read(s, {}))};
  block.results = {t};
  Stage& stage = this->stage("v", {outer});
  stage.body = Nested{std::make_shared<const Block>(block)};
  stage.outputs = {output(v, {Cat{}}, {at(outer)}, {})};
  p.results = {v};
  EXPECT_THAT(errors(),
              ElementsAre("E0337 the index 'i' of a stage around is used inside of stage 's', which has an "
                          "index of that name",
                          "E0337 the array 'i' has the name of an index around it"));
}

TEST_F(Check, UnusedInput) {
  const ArrayId u = input("u", Scalar::F32, {N});
  input("spare", Scalar::F32, {H});
  input("sized", Scalar::F32, {W});
  const Dim i = dim("i", N), j = dim("j", W);
  map("v", {i}, read(u, {at(i)}));
  map("w", {j}, f(1));
  EXPECT_THAT(errors(), ElementsAre("E0306 input 'spare' is never used")) << "'sized' gives W its value";
}

TEST_F(Check, InputWhoseSizeOthersGive) {
  const ArrayId u = input("u", Scalar::F32, {N});
  input("same", Scalar::F32, {N});
  input("more", Scalar::F32, {add(N, n(1)), H});
  input("late", Scalar::F32, {H});
  const Dim i = dim("i", N), j = dim("j", H);
  map("v", {i}, read(u, {at(i)}));
  map("w", {j}, f(1));
  EXPECT_THAT(errors(), ElementsAre("E0306 input 'same' is never used", "E0306 input 'late' is never used"))
      << "'more' gives H its value";
}

TEST_F(Check, Results) {
  EXPECT_THAT(errors(), ElementsAre("E0305 program '' has neither results nor effects"));
  p.results.push_back(array("ghost", Scalar::F32, {}));
  EXPECT_THAT(errors(), ElementsAre("E0305 result 'ghost' is not defined"));
}

TEST_F(Check, UnboundSize) {
  const ArrayId u = input("u", Scalar::F32, {mul(n(2), N)});
  const Dim i = dim("i", mul(n(2), N));
  map("v", {i}, read(u, {at(i)}));
  EXPECT_THAT(errors(), testing::Contains("E0325 size N is bound by no input"));
}

TEST_F(Check, ConstantElements) {
  const ArrayId c = array("c", Scalar::F32, {n(3)});
  p.constants.push_back({c, {Number::of_double(Scalar::F32, 1), Number::of_double(Scalar::F64, 2)}});
  p.results = {c};
  EXPECT_THAT(errors(), ElementsAre("E0326 constant 'c' is f32[3] and needs 3 elements, but has 2",
                                    "E0308 element 1 of constant 'c' is f64, the array is f32[3]"));
}

// ---- types and operators ------------------------------------------------------------------------------

TEST_F(Check, TypesOfTheParts) {
  const ArrayId u = input("u", Scalar::F32, {N});
  const Dim i = dim("i", N);
  map("v", {i}, read(u, {at(i)}));
  Output& v = p.stages[0].outputs[0];
  v.value = at(i);
  v.guard = n(1);
  EXPECT_THAT(errors(), ElementsAre("E0308 in stage 'v': the value of 'v' is i64, but has to be f32",
                                    "E0308 in stage 'v': the guard of 'v' is i64, but has to be bool"));
  EXPECT_EQ(helps()[0], "convert it: f32(i)");
}

TEST_F(Check, ReadWithTheWrongRank) {
  const ArrayId u = input("u", Scalar::F32, {N, N});
  const Dim i = dim("i", N);
  map("v", {i}, pool().read(u, Scalar::F32, {at(i)}));
  EXPECT_THAT(errors(),
              ElementsAre("E0309 in stage 'v': 'u' is read as f32 with 1 subscripts, but is f32[N, N]"));
}

TEST_F(Check, OperatorsMustBeAssociative) {
  const ArrayId u = input("u", Scalar::F32, {N});
  const Expr a = pool().arg(0, Scalar::F32), b = pool().arg(1, Scalar::F32);
  const FunctionId f2 = p.add_function(
      {"mean", {{"a", Scalar::F32}, {"b", Scalar::F32}}, Scalar::F32, div(add(a, b), f(2)), {}});
  const ArrayId s = array("s", Scalar::F32, {});
  const Dim i = dim("i", N);
  Operator op;
  op.type = Scalar::F32;
  op.function = f2;
  stage("s", {i}).outputs.push_back(output(s, {Fold{op}}, {}, read(u, {at(i)})));
  p.results.push_back(s);
  EXPECT_THAT(errors(),
              ElementsAre("E0316 in stage 's': operator 'mean' of 's' is not declared associative"));
  op.associative = true;
  op.type = Scalar::F64;
  p.stages[0].outputs[0].combine = {Fold{op}};
  EXPECT_THAT(
      errors(),
      ElementsAre("E0333 in stage 's': operator 'mean' of 's' is not a function of two f64 that gives f64"));
  op = plus();
  op.prim = Prim::Sub;
  p.stages[0].outputs[0].combine = {Fold{op}};
  EXPECT_THAT(errors(), ElementsAre("E0333 in stage 's': operator '-' of 's' does not combine f32"));
}

TEST_F(Check, FunctionsSeeTheirParametersOnly) {
  const ArrayId u = input("u", Scalar::F32, {N});
  p.results = {u};
  p.add_function({"f", {{"a", Scalar::F32}}, Scalar::F32, read(u, {n(0)}), {}});
  p.add_function({"g",
                  {{"a", Scalar::F32}},
                  Scalar::F32,
                  pool().invoke(FunctionId{1}, Scalar::F32, {pool().arg(0, Scalar::F32)}),
                  {}});
  p.add_function({"h", {}, Scalar::F32, pool().arg(2, Scalar::F32), {}});
  EXPECT_THAT(errors(), ElementsAre("E0324 function 'f' uses the array 'u'",
                                    "E0324 function 'g' calls 'g', which does not come before it",
                                    "E0324 function 'h' has no parameter 3 of type f32"));
}

// ---- combines and collections -------------------------------------------------------------------------

TEST_F(Check, ShapesOfCombines) {
  const ArrayId u = input("u", Scalar::F32, {N, N});
  const ArrayId s = array("s", Scalar::F32, {N});
  const Dim i = dim("i", N), j = dim("j", N);
  stage("s", {i, j})
      .outputs.push_back(output(s, {Fold{plus()}, Scan{plus()}}, {at(j)}, read(u, {at(i), at(j)})));
  p.results.push_back(s);
  Output& out = p.stages[0].outputs[0];
  EXPECT_THAT(errors(),
              ElementsAre("E0318 in stage 's': output 's' has the scan dimension j inside of a fold"));
  out.combine = {Scan{plus()}, Scan{plus()}};
  EXPECT_THAT(errors(), ElementsAre("E0318 in stage 's': output 's' scans two dimensions"));
  out.combine = {Append{}, Cat{}};
  EXPECT_THAT(errors(), ElementsAre("E0318 in stage 's': output 's' mixes append with other combines"));
  out.combine = {Group{}, Cat{}};
  EXPECT_THAT(errors(), ElementsAre("E0318 in stage 's': output 's' mixes group with other combines"));
  out.combine = {Cat{}};
  EXPECT_THAT(errors(), ElementsAre("E0318 in stage 's': output 's' has 1 combines for 2 dimensions"));
  out.combine = {Fold{plus()}, Fold{builtin_operator(pool(), Prim::Max, Scalar::F32)}};
  out.at = {n(0)};
  EXPECT_THAT(errors(), ElementsAre("E0313 in stage 's': 's' is f32[N], but is not written completely: no "
                                    "point writes s[1] when N = 2"));
  out.accumulates = true;
  EXPECT_THAT(errors(), ElementsAre("E0318 in stage 's': output 's' accumulates, but has nothing to add to"));
}

TEST_F(Check, NestedFoldsPutCatFirst) {
  const ArrayId u = input("u", Scalar::F32, {N, N, N});
  const ArrayId s = array("s", Scalar::F32, {N});
  const Dim i = dim("i", N), j = dim("j", N), k = dim("k", N);
  stage("s", {i, j, k})
      .outputs.push_back(output(s,
                                {Fold{plus()}, Cat{}, Fold{builtin_operator(pool(), Prim::Max, Scalar::F32)}},
                                {at(j)}, read(u, {at(i), at(j), at(k)})));
  p.results.push_back(s);
  EXPECT_THAT(
      errors(),
      ElementsAre("E0318 in stage 's': output 's' folds with several operators around a cat dimension"));
}

struct Collections : Check {
  ArrayId u = input("u", Scalar::F32, {N});
  Expr L = born("L");
  ArrayId c = array("c", Scalar::F32, {L});
  Dim i = dim("i", N);

  void filter() {
    const Expr e = read(u, {at(i)});
    stage("c", {i}).outputs.push_back(output(c, {Append{}}, {}, e, op(Prim::Lt, f(0), e)));
    p.results.push_back(c);
  }
};

TEST_F(Collections, BornLengthIsASize) {
  filter();
  const Dim k = dim("k", L);
  map("d", {k}, add(read(c, {at(k)}), read(u, {at(k)})));
  EXPECT_THAT(errors(), IsEmpty()) << "a filter is no longer than what it filters";
}

TEST_F(Collections, LengthMustBeBorn) {
  filter();
  p.arrays[static_cast<std::size_t>(c.value)].shape = {N};
  EXPECT_THAT(
      errors(),
      ElementsAre("E0325 in stage 'c': collection 'c' is f32[N], but its length is born in the stage"));
}

TEST_F(Collections, LengthIsBornOnce) {
  filter();
  const Dim k = dim("k", N);
  const ArrayId d = array("d", Scalar::F32, {L});
  stage("d", {k}).outputs.push_back(output(d, {Append{}}, {}, read(u, {at(k)})));
  EXPECT_THAT(errors(),
              ElementsAre("E0325 in stage 'd': size L is born twice, the second time as the length of 'd'"));
}

TEST_F(Collections, LengthIsUsedAfterwardsOnly) {
  const Dim k = dim("k", L);
  map("early", {k}, f(0));
  filter();
  EXPECT_THAT(errors(), testing::Contains(
                            "E0325 in stage 'early': size L is used before the stage that it is born in"));
}

TEST_F(Collections, NestedNeedsOffsets) {
  const ArrayId m = input("m", Scalar::F32, {H, W});
  const Dim y = dim("y", H), x = dim("x", W);
  stage("rows", {y, x}).outputs.push_back(output(c, {Cat{}, Append{}}, {}, read(m, {at(y), at(x)})));
  p.results = {c, u};
  EXPECT_THAT(errors(), ElementsAre("E0319 in stage 'rows': output 'c' needs offsets"));
  const ArrayId offsets = array("o", Scalar::I64, {H});
  p.stages[0].outputs[0].offsets = offsets;
  EXPECT_THAT(errors(), ElementsAre("E0319 in stage 'rows': the offsets 'o' of 'c' are i64[H], but have to "
                                    "be i64 with one element more than there are rows"));
  p.arrays[static_cast<std::size_t>(offsets.value)].shape = {add(H, n(1))};
  EXPECT_THAT(errors(), IsEmpty());
}

TEST_F(Collections, Groups) {
  const ArrayId keys = array("k", Scalar::I32, {born("B")});
  const ArrayId key = input("key", Scalar::I32, {N});
  stage("c", {i}).outputs.push_back(output(c, {Group{}}, {}, read(u, {at(i)})));
  Output& g = p.stages[0].outputs[0];
  g.keys = keys;
  p.results = {c, keys, key};
  EXPECT_THAT(errors(), ElementsAre("E0319 in stage 'c': output 'c' needs offsets"));
  g.offsets = array("o", Scalar::I64, {add(p[keys].shape[0], n(1))});
  EXPECT_THAT(errors(), ElementsAre("E0319 in stage 'c': group 'c' has no key"));
  g.key = read(key, {at(i)});
  EXPECT_THAT(errors(), IsEmpty());
  g.key = read(u, {at(i)});
  p.arrays[static_cast<std::size_t>(keys.value)].type = Scalar::F32;
  EXPECT_THAT(errors(), ElementsAre("E0320 in stage 'c': the key of 'c' is f32: floats are no keys"));
  g.key = read(key, {at(i)});
  p.arrays[static_cast<std::size_t>(keys.value)].type = Scalar::I32;
  g.combine = {Group{plus()}};
  g.offsets.reset();
  EXPECT_THAT(
      errors(),
      ElementsAre(
          "E0319 in stage 'c': group 'c' is f32[L], but needs one value for each of its keys, i32[B]"));
  p.arrays[static_cast<std::size_t>(c.value)].shape = p[keys].shape;
  EXPECT_THAT(errors(), IsEmpty());
}

TEST_F(Collections, GroupsShareTheirBuckets) {
  const Expr B = born("B");
  const ArrayId keys = array("k", Scalar::I32, {B}), key = input("key", Scalar::I32, {N});
  const ArrayId first = array("first", Scalar::F32, {B}), second = array("second", Scalar::F32, {B});
  Stage& both = stage("both", {i});
  for (const ArrayId values : {first, second}) {
    both.outputs.push_back(output(values, {Group{plus()}}, {}, read(u, {at(i)})));
    both.outputs.back().key = read(key, {at(i)});
  }
  p.results = {first, second};
  EXPECT_THAT(errors(), ElementsAre("E0319 in stage 'both': output 'first' needs keys"));
  p.stages[0].outputs[0].keys = keys;
  EXPECT_THAT(errors(), IsEmpty());
  Output& later = p.stages[0].outputs[1];
  later.keys = array("again", Scalar::I32, {B});
  EXPECT_THAT(errors(), IsEmpty()) << "it may have the keys once more";
  later.guard = op(Prim::Lt, f(0), read(u, {at(i)}));
  EXPECT_THAT(
      errors(),
      ElementsAre("E0325 in stage 'both': size B is born twice, the second time as the length of 'again'"));
  later.keys.reset();
  EXPECT_THAT(errors(), ElementsAre("E0319 in stage 'both': output 'second' needs keys"));
  later.guard = {};
  later.key = p.pool->cast(Scalar::I32, at(i));
  EXPECT_THAT(errors(), ElementsAre("E0319 in stage 'both': output 'second' needs keys"));
}

TEST_F(Collections, AreAlwaysNew) {
  filter();
  p.stages[0].outputs[0].into = u;
  EXPECT_THAT(
      errors(),
      ElementsAre("E0319 in stage 'c': output 'c' is a collection and has a write map, or is a new version"));
}

TEST_F(Check, ExpectationsLeaveReadsToTheRunTime) {
  const ArrayId u = input("u", Scalar::F32, {N});
  input("spare", Scalar::F32, {N});
  const Expr first = read(u, {n(0)});
  map("v", {}, first);
  const CheckOptions lenient{.prove_inside = false, .unused_inputs = false};
  EXPECT_THAT(diagnose(p, lenient), IsEmpty());
  EXPECT_THAT(run_time_checks(p, lenient).reads, ElementsAre(std::pair(first.get(), 0)));
  EXPECT_THAT(
      errors(),
      ElementsAre(
          "E0310 in stage 'v': read of 'u' at 0 leaves the array: for N = 0 the array has no elements",
          "E0306 input 'spare' is never used"));
}

TEST_F(Check, PlacesOfSharedSubscriptsAreThoseOfTheRead) {
  const auto text = std::make_shared<SourceText>(SourceText{"t.twill", "a[i-1] + b[i-1]"});
  const ArrayId a = input("a", Scalar::F32, {N}), b = input("b", Scalar::F32, {N});
  const Dim i = dim("i", N);
  const Expr shared = pool().apply(Prim::Sub, {at(i), n(1)}, {text, 1, 3, 3});
  const Expr left = pool().read(a, Scalar::F32, {shared}, {text, 1, 1, 6});
  const Expr right = pool().read(b, Scalar::F32, {shared}, {text, 1, 10, 6});
  map("v", {i}, add(left, right));
  const auto found = diagnose(p);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].place.column, 3u);
  EXPECT_EQ(found[1].place.column, 10u);
}

// ---- small mistakes of C++ programs ------------------------------------------------------

TEST_F(Check, SharedDimension) {
  const ArrayId u = input("u", Scalar::F32, {N});
  const Dim i = dim("i", N);
  map("v", {i}, read(u, {at(i)}));
  map("w", {i}, read(u, {at(i)}));
  EXPECT_THAT(errors(), ElementsAre("E0334 dimension i belongs to two stages, 'v' and 'w'"));
}

TEST_F(Check, StageWithoutPurpose) {
  p.results = {input("u", Scalar::F32, {N})};
  stage("idle", {});
  EXPECT_THAT(errors(), ElementsAre("E0336 in stage 'idle': it has neither outputs nor effects"));
}

TEST_F(Check, ShapeThatDependsOnAnIndexOrData) {
  const ArrayId u = input("u", Scalar::I64, {N});
  const Dim i = dim("i", read(u, {n(0)}, {Boundary::Clamp}));
  map("v", {i}, f(1));
  EXPECT_THAT(
      errors(),
      ElementsAre("E0335 in stage 'v': the shape of 'v' depends on more than sizes and scalars: u[0]"));
}

TEST_F(Check, ArgumentsOfACall) {
  const ArrayId u = input("u", Scalar::F32, {N});
  const FunctionId id =
      p.add_function({"same", {{"a", Scalar::F32}}, Scalar::F32, pool().arg(0, Scalar::F32), {}});
  const Dim i = dim("i", N);
  map("v", {i}, pool().invoke(id, Scalar::F32, {at(i)}));
  p.results.push_back(u);
  EXPECT_THAT(
      errors(),
      ElementsAre(
          "E0307 in stage 'v': 'same(i)' does not fit the parameters and the result of function 'same'"));
}

TEST_F(Check, EffectsAreChecked) {
  const ArrayId u = input("u", Scalar::F32, {N});
  const Dim i = dim("i", N);
  Effect effect;
  effect.kind = "print";
  effect.arguments = {std::string("next"), read(u, {add(at(i), n(1))})};
  stage("print", {i}).effects.push_back(effect);
  EXPECT_THAT(
      errors(),
      ElementsAre(
          "E0310 in stage 'print': read of 'u' at i+1 leaves the array: i goes up to N-1, so i+1 can be N, "
          "and the last element is at N-1"));
  p.stages[0].effects[0].guard = op(Prim::Lt, at(i), sub(N, n(1)));
  EXPECT_THAT(errors(), IsEmpty());
  p.stages[0].effects[0].guard = n(1);
  EXPECT_THAT(errors(),
              ElementsAre("E0308 in stage 'print': the condition of print is i64, but has to be bool"));
  p.stages[0].effects[0] = {"print", {Expr()}, {}, {}};
  EXPECT_THAT(errors(), ElementsAre("E0327 in stage 'print': an argument of print is missing"));
}

TEST_F(Check, ConditionsNestedTooDeeply) {
  const ArrayId u = input("u", Scalar::F32, {N});
  const Dim i = dim("i", N);
  Expr value = read(u, {sub(at(i), n(1))});
  for (int k = 0; k < 12; ++k)
    value = pool().select(op(Prim::Lt, at(i), n(k + 5)), add(value, f(1)), add(value, f(2)));
  map("v", {i}, pool().select(op(Prim::Gt, at(i), n(0)), value, f(0)));
  EXPECT_THAT(
      errors(),
      ElementsAre(
          "E0330 in stage 'v': its conditions are nested too deeply to prove that all reads stay inside"));
}

TEST_F(Check, LongSumsAreNoDeepRecursion) {
  const ArrayId u = input("u", Scalar::F32, {N});
  const Dim i = dim("i", N);
  Expr subscript = at(i);
  for (int k = 0; k < 100'000; ++k)
    subscript = add(subscript, k % 2 ? at(i) : pool().apply(Prim::Neg, {at(i)}));
  map("v", {i}, read(u, {subscript}));
  EXPECT_THAT(errors(), IsEmpty());
}

// ---- blocks -------------------------------------------------------------------------------------------

struct Loops : Check {
  ArrayId u0 = input("u0", Scalar::F32, {N});
  ArrayId now = array("now", Scalar::F32, {N}), next = array("next", Scalar::F32, {N}),
          u = array("u", Scalar::F32, {N});
  Dim t = dim("t", H), i = dim("i", N);
  Block block;
  Expr value;

  void SetUp() override {
    input("h", Scalar::F32, {H});
    Stage step;
    step.name = "step";
    step.dims = {i};
    step.outputs.push_back(output(next, {Cat{}}, {at(i)}, add(read(now, {at(i)}), f(1))));
    block.stages.push_back(step);
    block.carries.push_back({now, u0, next});
    block.results = {next};
    p.results = {u};
  }
  std::vector<std::string> built(Output out) {
    p.stages.clear();
    Stage& loop = stage("u", {t});
    loop.body = Nested{std::make_shared<const Block>(block)};
    loop.outputs.push_back(std::move(out));
    return errors();
  }
  std::vector<std::string> built() { return built(output(u, {Seq{true}}, {}, {})); }
};

TEST_F(Loops, TimeLoop) { EXPECT_THAT(built(), IsEmpty()); }

TEST_F(Loops, AllStatesAreKept) {
  const ArrayId all = array("all", Scalar::F32, {H, N});
  p.results = {all};
  EXPECT_THAT(built(output(all, {Seq{}}, {at(t)}, {})), IsEmpty());
}

TEST_F(Loops, StateKeepsItsShape) {
  p.arrays[static_cast<std::size_t>(now.value)].shape = {H};
  EXPECT_THAT(
      built(),
      testing::Contains("E0321 in stage 'u': state 'now' is f32[H], but its initial value 'u0' is f32[N]"));
}

TEST_F(Loops, LastValueMustBeCarried) {
  block.results = {now};
  EXPECT_THAT(built(), ElementsAre("E0321 in stage 'u': the last value of 'u' is kept, but 'now' is not "
                                   "carried: after no steps it has no value"));
}

TEST_F(Loops, CarriesNeedSeq) {
  EXPECT_THAT(built(output(u, {Fold{plus()}}, {}, {})),
              ElementsAre("E0321 in stage 'u': it carries a state, but is not a single seq dimension"));
}

TEST_F(Loops, WhileNeedsAState) {
  t.hi = {};
  t.condition = op(Prim::Lt, read(now, {n(0)}, {Boundary::Clamp}), f(3));
  EXPECT_THAT(built(), ElementsAre("E0306 input 'h' is never used"));
  block.carries.clear();
  EXPECT_THAT(built(),
              testing::Contains(
                  "E0322 in stage 'u': dimension t ends by a condition, but the stage carries no state"));
  t.condition = {};
  EXPECT_THAT(built(), testing::Contains("E0322 in stage 'u': dimension t has no end"));
}

TEST_F(Loops, BlocksAreNotSeenFromOutside) {
  built();
  const Dim k = dim("k", N);
  map("late", {k}, read(next, {at(k)}));
  EXPECT_THAT(errors(), ElementsAre("E0304 in stage 'late': 'next' is read, but stage 'step', which defines "
                                    "it, is not before this one"));
}

TEST_F(Loops, ResultsFitTheOutput) {
  p.arrays[static_cast<std::size_t>(u.value)].shape = {H};
  EXPECT_THAT(built(), ElementsAre("E0332 in stage 'u': the block's result 'next' is f32[N], which does not "
                                   "fit the output 'u', f32[H]"));
  block.results = {};
  EXPECT_THAT(built(), ElementsAre("E0332 in stage 'u': its block has 0 results for 1 outputs"));
}

TEST_F(Check, Branches) {
  const ArrayId u = input("u", Scalar::F32, {N}), how = input("how", Scalar::I64, {});
  const ArrayId a = array("a", Scalar::F32, {N}), b = array("b", Scalar::F32, {N}),
                y = array("y", Scalar::F32, {N});
  const auto block = [&](ArrayId out, const std::string& name, Expr offset) {
    Block result;
    const Dim i = dim("i", N);
    Stage s;
    s.name = name;
    s.dims = {i};
    s.outputs.push_back(output(out, {Cat{}}, {at(i)}, read(u, {add(at(i), offset)})));
    result.stages.push_back(s);
    result.results = {out};
    return std::make_shared<const Block>(result);
  };
  Stage& choice = stage("y", {});
  choice.body = Branch{op(Prim::Eq, read(how, {}), n(0)), block(a, "then", n(0)), block(b, "else", n(0))};
  choice.outputs.push_back(output(y, {}, {}, {}));
  p.results.push_back(y);
  EXPECT_THAT(errors(), IsEmpty());
  p.arrays[static_cast<std::size_t>(b.value)].type = Scalar::F64;
  EXPECT_THAT(errors(),
              testing::Contains("E0323 in stage 'y': the branches disagree about 'y': f32[N] or f64[N]"));
}

// ---- sizes --------------------------------------------------------------------------------------------

TEST_F(Check, SizesCompareAsPolynomials) {
  EXPECT_TRUE(same_size(mul(add(N, n(1)), H), add(mul(H, N), H)));
  EXPECT_TRUE(same_size(div(mul(n(2), N), n(2)), N));
  EXPECT_FALSE(same_size(mul(N, H), mul(N, W)));
  EXPECT_EQ(affine_of(mul(N, H)), poly::Affine(var_of(mul(N, H)))) << "a product is a term";
  const Dim i = dim("i", N);
  EXPECT_EQ(affine_of(mul(N, at(i))), std::nullopt);
  EXPECT_EQ(affine_of(sub(mul(n(3), at(i)), n(1))), poly::Affine(var_of(i.id)) * 3 - 1);
}

TEST_F(Check, HugeNumbersDoNotOverflow) {
  const ArrayId u = input("u", Scalar::F32, {N});
  const Dim i =
      dim("i", n(std::numeric_limits<std::int64_t>::min()), n(std::numeric_limits<std::int64_t>::max()));
  const ArrayId s = array("s", Scalar::F32, {});
  stage("s", {i}).outputs.push_back(
      output(s, {Fold{plus()}}, {}, read(u, {mul(at(i), n(std::int64_t{1} << 62))})));
  p.results.push_back(s);
  EXPECT_THAT(errors(), IsEmpty()) << "left to the run time";
}

}  // namespace
}  // namespace twill
