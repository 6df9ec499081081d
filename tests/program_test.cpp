// The program model: types, operations, the expression pool, and questions about programs.
#include "program/program.h"

#include "base/error.h"
#include "program/evaluate.h"
#include "program/module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace twill {
namespace {

using testing::ElementsAre;

Number i64(std::int64_t value) { return Number::of(Scalar::I64, value); }
Number f32(double value) { return Number::of_double(Scalar::F32, value); }
Number f64(double value) { return Number::of_double(Scalar::F64, value); }

Number eval(Prim prim, std::initializer_list<Number> operands) {
  return evaluate(prim, std::span(operands.begin(), operands.size()));
}

// ---- types and numbers
// -------------------------------------------------------------------------------------

TEST(Types, NamesRoundTrip) {
  for (const ScalarInfo& s : all_scalars()) EXPECT_EQ(scalar_named(s.name), s.scalar);
  EXPECT_EQ(scalar_named("float"), std::nullopt);
}

TEST(Types, RecordsCompareByStructureAndHaveCLayout) {
  const auto make = [](Type last) {
    return Type(std::make_shared<Record>(Record{"R", {{"a", Scalar::U8}, {"b", Scalar::F64}, {"c", last}}}));
  };
  EXPECT_EQ(make(Scalar::I16), make(Scalar::I16));
  EXPECT_FALSE(make(Scalar::I16) == make(Scalar::I32));
  const Type r = make(Scalar::I16);
  EXPECT_EQ(byte_size(r), 24u);
  EXPECT_EQ(alignment(r), 8u);
  EXPECT_EQ(field_offset(r.record(), 1), 8u);
  EXPECT_EQ(field_offset(r.record(), 2), 16u);
  EXPECT_EQ(r.record().field_named("c"), 2);
  EXPECT_EQ(r.record().field_named("d"), std::nullopt);
  EXPECT_EQ(to_string(r), "R");
  const Type pair(std::make_shared<Record>(Record{"", {{"0", Scalar::I64}, {"1", r}}}));
  EXPECT_EQ(to_string(pair), "(i64, R)");
}

TEST(Numbers, IntegersWrap) {
  EXPECT_EQ(Number::of(Scalar::U8, 300), Number::of(Scalar::U8, 44));
  EXPECT_EQ(Number::of(Scalar::I8, 200).i, -56);
  EXPECT_EQ(convert(i64(-1), Scalar::U32).u, 0xffffffffu);
  EXPECT_EQ(convert(Number::of(Scalar::U64, -1), Scalar::I64).i, -1);
}

TEST(Numbers, FloatsSaturate) {
  EXPECT_EQ(convert(f64(1e30), Scalar::I32).i, 2147483647);
  EXPECT_EQ(convert(f64(-1e30), Scalar::I64).i, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(convert(f64(9.3e18), Scalar::I64).i, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(convert(f64(1.9e19), Scalar::U64).u, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(convert(f64(-3), Scalar::U8).u, 0u);
  EXPECT_EQ(convert(f64(-2.9), Scalar::I32).i, -2);
  EXPECT_EQ(convert(f64(NAN), Scalar::I32).i, 0);
  EXPECT_EQ(convert(f64(0.1), Scalar::Bool).i, 1);
}

TEST(Numbers, ConversionToF32RoundsOnce) {
  // Rounded to f64 first, this integer would end on a tie and go down.
  const std::int64_t value = (std::int64_t{1} << 60) + (std::int64_t{1} << 36) + 1;
  EXPECT_EQ(convert(i64(value), Scalar::F32).f, static_cast<double>(static_cast<float>(value)));
  EXPECT_EQ(convert(Number::of(Scalar::U64, -1), Scalar::F32).f, 0x1p64);
}

TEST(Numbers, AllHalfAndBfloatPatternsRoundTrip) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto pattern = static_cast<std::uint16_t>(bits);
    const float half = from_half_bits(pattern);
    if (!std::isnan(half)) {
      EXPECT_EQ(to_half_bits(half), pattern);
    }
    const float bfloat = from_bfloat_bits(pattern);
    if (!std::isnan(bfloat)) {
      EXPECT_EQ(to_bfloat_bits(bfloat), pattern);
    }
  }
}

TEST(Numbers, HalvesRoundToNearestEven) {
  EXPECT_EQ(to_half_bits(65519.0f), 0x7bff);  // just below the tie to infinity
  EXPECT_EQ(to_half_bits(65520.0f), 0x7c00);
  EXPECT_EQ(to_half_bits(1.0f + 0x1p-11f), 0x3c00);  // tie to even
  EXPECT_EQ(to_half_bits(1.0f + 0x1.8p-10f), 0x3c02);
  EXPECT_EQ(to_half_bits(0x1p-25f), 0x0000);
  EXPECT_EQ(to_half_bits(0x1.8p-25f), 0x0001);
  EXPECT_EQ(to_half_bits(0x1.8p-24f), 0x0002);
  EXPECT_EQ(to_bfloat_bits(1.0f + 0x1p-8f), 0x3f80);
  EXPECT_TRUE(std::isnan(from_half_bits(to_half_bits(NAN))));
  EXPECT_TRUE(std::isnan(from_bfloat_bits(to_bfloat_bits(NAN))));
}

// ---- operations
// --------------------------------------------------------------------------------------------

TEST(Prims, NamesRoundTrip) {
  for (const PrimInfo& p : all_prims())
    EXPECT_EQ(prim_named(p.name), p.prim == Prim::Neg ? Prim::Sub : p.prim) << p.name;
  EXPECT_EQ(prim_named("nope"), std::nullopt);
}

TEST(Evaluate, IntegerDivisionRoundsDown) {
  EXPECT_EQ(eval(Prim::Div, {i64(-7), i64(2)}), i64(-4));
  EXPECT_EQ(eval(Prim::Mod, {i64(-7), i64(2)}), i64(1));
  EXPECT_EQ(eval(Prim::Div, {i64(7), i64(-2)}), i64(-4));
  EXPECT_EQ(eval(Prim::Mod, {i64(7), i64(-2)}), i64(-1));
  EXPECT_EQ(eval(Prim::Div, {lowest(Scalar::I64), i64(-1)}), lowest(Scalar::I64));
  EXPECT_EQ(eval(Prim::Mod, {lowest(Scalar::I64), i64(-1)}), i64(0));
  EXPECT_EQ(eval(Prim::Div, {lowest(Scalar::I32), Number::of(Scalar::I32, -1)}), lowest(Scalar::I32));
  const Number zero[] = {i64(1), i64(0)};
  EXPECT_FALSE(is_defined(Prim::Div, zero));
  EXPECT_TRUE(is_defined(Prim::Add, zero));
}

TEST(Evaluate, IntegersWrapAround) {
  EXPECT_EQ(eval(Prim::Add, {highest(Scalar::I32), Number::of(Scalar::I32, 1)}), lowest(Scalar::I32));
  EXPECT_EQ(eval(Prim::Mul, {highest(Scalar::I64), i64(2)}), i64(-2));
  EXPECT_EQ(eval(Prim::Neg, {lowest(Scalar::I64)}), lowest(Scalar::I64));
  EXPECT_EQ(eval(Prim::Abs, {lowest(Scalar::I8)}), lowest(Scalar::I8));
  EXPECT_EQ(eval(Prim::Sub, {Number::of(Scalar::U8, 1), Number::of(Scalar::U8, 2)}).u, 255u);
}

TEST(Evaluate, PowersShiftsAndBits) {
  EXPECT_EQ(eval(Prim::Pow, {i64(3), i64(5)}), i64(243));
  EXPECT_EQ(eval(Prim::Pow, {i64(3), i64(-1)}), i64(0));
  EXPECT_EQ(eval(Prim::Pow, {i64(-1), i64(-3)}), i64(-1));
  EXPECT_EQ(eval(Prim::Pow, {i64(0), i64(0)}), i64(1));
  EXPECT_EQ(eval(Prim::Shl, {Number::of(Scalar::I32, 1), Number::of(Scalar::I32, 33)}),
            Number::of(Scalar::I32, 2));
  EXPECT_EQ(eval(Prim::Shr, {i64(-8), i64(1)}), i64(-4));
  EXPECT_EQ(eval(Prim::Shr, {Number::of(Scalar::U8, 0x80), Number::of(Scalar::U8, 9)}).u, 0x40u);
  EXPECT_EQ(eval(Prim::BitNot, {Number::of(Scalar::U8, 1)}).u, 254u);
  EXPECT_EQ(eval(Prim::Xor, {Number::of(Scalar::Bool, 1), Number::of(Scalar::Bool, 1)}).i, 0);
}

TEST(Evaluate, FloatsRoundInTheirOwnWidth) {
  EXPECT_EQ(eval(Prim::Add, {f32(1), f32(0x1p-25)}).f, 1.0);
  EXPECT_EQ(eval(Prim::Exp, {f32(1)}).f, static_cast<double>(std::exp(1.0f)));
  EXPECT_EQ(eval(Prim::Mod, {f64(-1.5), f64(1)}).f, 0.5);
  EXPECT_EQ(eval(Prim::Min, {f64(NAN), f64(3)}).f, 3.0);
  EXPECT_EQ(eval(Prim::Round, {f64(-2.5)}).f, -3.0);
  EXPECT_EQ(eval(Prim::IsNan, {f32(NAN)}), Number::of(Scalar::Bool, 1));
  EXPECT_EQ(eval(Prim::Ne, {f64(NAN), f64(NAN)}), Number::of(Scalar::Bool, 1));
}

TEST(Evaluate, UnsignedNumbersCompareAsSuch) {
  EXPECT_EQ(eval(Prim::Lt, {Number::of(Scalar::U64, 1), Number::of(Scalar::U64, -1)}).i, 1);
}

TEST(Evaluate, IdentitiesChangeNothing) {
  for (const PrimInfo& p : all_prims()) {
    if (!is_combiner(p.prim)) continue;
    for (const ScalarInfo& s : all_scalars()) {
      if (!accepts(p.prim, s.scalar)) continue;
      for (int value : {0, 1, 77}) {
        const Number x = Number::of(s.scalar, value);
        EXPECT_EQ(eval(p.prim, {identity(p.prim, s.scalar), x}), x) << p.name << " " << s.name;
      }
    }
  }
}

// ---- the pool
// ------------------------------------------------------------------------------------------------

TEST(Pool, EqualExpressionsAreOneNode) {
  ExprPool pool;
  const DimId i{0}, j{1};
  const auto sum = [&](DimId a, DimId b) { return pool.apply(Prim::Add, {pool.index(a), pool.index(b)}); };
  EXPECT_EQ(sum(i, j), sum(i, j));
  EXPECT_NE(sum(i, j), sum(j, i));
  EXPECT_NE(pool.literal(f64(0.0)), pool.literal(f64(-0.0)));
  EXPECT_NE(pool.integer(1), pool.literal(Number::of(Scalar::I32, 1)));
  EXPECT_NE(pool.read(ArrayId{0}, Scalar::F32, {pool.index(i)}),
            pool.read(ArrayId{0}, Scalar::F32, {pool.index(i)}, {Boundary::Clamp}));
}

TEST(Pool, KeepsIndexArithmeticSimple) {
  ExprPool pool;
  const Expr i = pool.index(DimId{0});
  EXPECT_EQ(pool.apply(Prim::Add, {i, pool.integer(0)}), i);
  EXPECT_EQ(pool.apply(Prim::Add, {pool.integer(0), i}), i);
  EXPECT_EQ(pool.apply(Prim::Sub, {i, pool.integer(0)}), i);
  EXPECT_EQ(pool.apply(Prim::Mul, {pool.integer(1), i}), i);
  EXPECT_EQ(pool.apply(Prim::Mul, {i, pool.integer(0)}), pool.integer(0));
  EXPECT_EQ(pool.apply(Prim::Sub, {pool.integer(2), pool.integer(5)}), pool.integer(-3));
  EXPECT_EQ(pool.apply(Prim::Div, {pool.integer(-7), pool.integer(2)}), pool.integer(-4));
  EXPECT_TRUE(as<Apply>(pool.apply(Prim::Div, {pool.integer(1), pool.integer(0)})));
  const Expr x = pool.arg(0, Scalar::F64);
  EXPECT_TRUE(as<Apply>(pool.apply(Prim::Add, {x, pool.literal(f64(0))})));
}

TEST(Pool, CastsAndFieldsOfWhatIsKnown) {
  ExprPool pool;
  const Expr i = pool.index(DimId{0});
  EXPECT_EQ(pool.cast(Scalar::I64, i), i);
  EXPECT_EQ(pool.cast(Scalar::F32, pool.integer(3)), pool.literal(f32(3)));
  const Type pair(std::make_shared<Record>(Record{"", {{"0", Scalar::I64}, {"1", Scalar::I64}}}));
  const Expr made = pool.make(pair, {i, pool.integer(7)});
  EXPECT_EQ(pool.field(made, 1), pool.integer(7));
  EXPECT_TRUE(as<GetField>(pool.field(pool.arg(0, pair), 1)));
}

TEST(Pool, RefusesOperandsOfTheWrongType) {
  ExprPool pool;
  EXPECT_THROW(pool.apply(Prim::Add, {pool.integer(1), pool.literal(f32(1))}), Error);
  EXPECT_THROW(pool.apply(Prim::Exp, {pool.integer(1)}), Error);
  EXPECT_THROW(pool.apply(Prim::Add, {pool.arg(0, Scalar::F16), pool.arg(0, Scalar::F16)}), Error);
  EXPECT_THROW(pool.select(pool.integer(1), pool.integer(1), pool.integer(2)), Error);
  EXPECT_THROW(pool.read(ArrayId{0}, Scalar::F32, {pool.integer(1)}, {Boundary::Constant}), Error);
}

TEST(Walks, VisitSeesOperandsFirstAndOnce) {
  ExprPool pool;
  const Expr x = pool.arg(0, Scalar::F64);
  const Expr square = pool.apply(Prim::Mul, {x, x});
  const Expr root = pool.apply(Prim::Add, {square, pool.apply(Prim::Neg, {square})});
  std::vector<Expr> order;
  visit(root, [&](Expr e) { order.push_back(e); });
  EXPECT_THAT(order, ElementsAre(x, square, root->args[1], root));
}

TEST(Walks, RewriteKeepsSharingAndIdentity) {
  ExprPool pool;
  const Expr x = pool.arg(0, Scalar::F64);
  const Expr y = pool.arg(1, Scalar::F64);
  const Expr square = pool.apply(Prim::Mul, {x, x});
  const Expr root = pool.apply(Prim::Add, {square, pool.apply(Prim::Neg, {square})});
  const std::size_t before = pool.node_count();
  EXPECT_EQ(rewrite(pool, root, [](Expr) { return Expr{}; }), root);
  EXPECT_EQ(pool.node_count(), before);
  int calls = 0;
  const Expr changed = rewrite(pool, root, [&](Expr e) {
    ++calls;
    return e == x ? y : Expr{};
  });
  EXPECT_EQ(calls, 4);
  EXPECT_EQ(changed->args[0], pool.apply(Prim::Mul, {y, y}));
  EXPECT_EQ(changed->args[1]->args[0], changed->args[0]);
  EXPECT_EQ(rewrite(pool, root, [&](Expr e) { return e == root ? y : Expr{}; }), y);
}

TEST(Walks, RewriteRebuildsEveryKind) {
  ExprPool pool;
  const Expr i = pool.index(DimId{0});
  const Expr j = pool.index(DimId{1});
  const Type pair(std::make_shared<Record>(Record{"", {{"0", Scalar::F32}, {"1", Scalar::I64}}}));
  const auto build = [&](Expr k) {
    const Expr read = pool.read(ArrayId{0}, Scalar::F32, {k, pool.apply(Prim::Add, {k, pool.integer(1)})},
                                {Boundary::Constant, Boundary::Wrap}, pool.literal(f32(9)));
    const Expr made = pool.make(pair, {read, k});
    const Expr call = pool.invoke(FunctionId{0}, pair, {made});
    const Expr field = pool.cast(Scalar::I64, pool.field(call, 0));
    return pool.select(pool.apply(Prim::Lt, {k, field}), field, k);
  };
  EXPECT_EQ(rewrite(pool, build(i), [&](Expr e) { return e == i ? j : Expr{}; }), build(j));
}

TEST(Walks, DeepChainsDoNotOverflowTheStack) {
  ExprPool pool;
  const Expr x = pool.arg(0, Scalar::F64);
  const Expr y = pool.arg(1, Scalar::F64);
  const auto chain = [&](ExprPool& p, Expr e) {
    for (int n = 0; n < 100'000; ++n) e = p.apply(Prim::Sqrt, {e});
    return e;
  };
  const Expr deep = chain(pool, x);
  int nodes = 0;
  visit(deep, [&](Expr) { ++nodes; });
  EXPECT_EQ(nodes, 100'001);
  EXPECT_EQ(rewrite(pool, deep, [&](Expr e) { return e == x ? y : Expr{}; }), chain(pool, y));
  EXPECT_FALSE(reads_data(deep));
}

TEST(Questions, PartialOperations) {
  Program p;
  ExprPool& pool = *p.pool;
  const Expr a = pool.arg(0, Scalar::I64);
  const Expr quotient = pool.apply(Prim::Div, {pool.integer(1), a});
  const FunctionId risky = p.add_function({"risky", {{"a", Scalar::I64}}, Scalar::I64, quotient, {}});
  const FunctionId calls =
      p.add_function({"calls", {{"a", Scalar::I64}}, Scalar::I64, pool.invoke(risky, Scalar::I64, {a}), {}});
  const FunctionId safe = p.add_function(
      {"safe", {{"a", Scalar::I64}}, Scalar::I64, pool.apply(Prim::Div, {a, pool.integer(2)}), {}});
  EXPECT_TRUE(is_partial(quotient, p.functions));
  EXPECT_FALSE(is_partial(pool.apply(Prim::Mod, {a, pool.integer(2)}), p.functions));
  EXPECT_TRUE(is_partial(pool.apply(Prim::Mod, {a, pool.integer(0)}), p.functions));
  EXPECT_FALSE(
      is_partial(pool.apply(Prim::Div, {pool.arg(0, Scalar::F32), pool.arg(1, Scalar::F32)}), p.functions));
  EXPECT_FALSE(is_partial(pool.apply(Prim::Neg, {quotient}), p.functions));
  EXPECT_TRUE(is_partial(pool.invoke(calls, Scalar::I64, {a}), p.functions));
  EXPECT_FALSE(is_partial(pool.invoke(safe, Scalar::I64, {a}), p.functions));
  const Expr i = pool.index(DimId{0});
  EXPECT_TRUE(is_partial(pool.read(ArrayId{0}, Scalar::F32, {i}), p.functions));
  EXPECT_FALSE(is_partial(pool.read(ArrayId{0}, Scalar::F32, {}), p.functions));
  EXPECT_FALSE(is_partial(pool.read(ArrayId{0}, Scalar::I64, {i}, {Boundary::Constant}, i), p.functions));
}

// ---- programs
// -----------------------------------------------------------------------------------------------------

/// y[i] = x[i] + n, with `spare` unused arrays before it so that ids differ, and a nested block
/// z = seq t < 3 from y { next[i] = state[i] * 2 }.
Program sample(int spare, const std::string& index_name = "i", std::int64_t step = 2) {
  Program p;
  p.name = "sample";
  ExprPool& pool = *p.pool;
  for (int k = 0; k < spare; ++k) {
    p.add_array("spare", Scalar::F32, {});
    p.add_dim("spare");
    pool.integer(1000 + k);
  }
  const Expr n = pool.size(p.add_symbol("N", Symbol::Origin::Input));
  const ArrayId x = p.add_array("x", Scalar::I64, {n});
  const ArrayId offset = p.add_array("offset", Scalar::I64, {});
  p.inputs = {{x, {}}, {offset, i64(5)}};
  const ArrayId y = p.add_array("y", Scalar::I64, {n});
  const DimId i = p.add_dim(index_name);
  const Expr ei = pool.index(i);
  Stage map{"y", {{i, index_name, pool.integer(0), n, {}, {}}}, Formula{}, {}, {}, {}, {}};
  Output out;
  out.array = y;
  out.combine = {Cat{}};
  out.at = {ei};
  out.value = pool.apply(Prim::Add, {pool.read(x, Scalar::I64, {ei}), pool.read(offset, Scalar::I64, {})});
  map.outputs = {out};

  const ArrayId state = p.add_array("state", Scalar::I64, {n});
  const ArrayId next = p.add_array("next", Scalar::I64, {n});
  const ArrayId z = p.add_array("z", Scalar::I64, {n});
  const DimId t = p.add_dim("t");
  const DimId j = p.add_dim("j");
  const Expr ej = pool.index(j);
  Stage inner{"next", {{j, "j", pool.integer(0), n, {}, {}}}, Formula{}, {}, {}, {}, {}};
  Output next_out = out;
  next_out.array = next;
  next_out.at = {ej};
  next_out.value = pool.apply(Prim::Mul, {pool.read(state, Scalar::I64, {ej}), pool.integer(step)});
  inner.outputs = {next_out};
  inner.effects = {{"print", {std::string("step"), pool.index(t)}, {}, {}}};
  auto block = std::make_shared<Block>(Block{{{state, y, next}}, {inner}, {next}});
  Stage loop{"z", {{t, "t", pool.integer(0), pool.integer(3), {}, {}}}, Nested{block}, {}, {}, {}, {}};
  Output z_out;
  z_out.array = z;
  z_out.combine = {Seq{true}};
  loop.outputs = {z_out};
  p.stages = {map, loop};
  p.results = {z};
  return p;
}

ArrayId array_named(const Program& p, std::string_view name) {
  for (const Array& a : p.arrays)
    if (a.name == name) return a.id;
  return {};
}

TEST(Programs, SameIgnoresIdsButNotNamesOrMeaning) {
  EXPECT_TRUE(same(sample(0), sample(0)));
  EXPECT_TRUE(same(sample(0), sample(3)));
  EXPECT_FALSE(same(sample(0), sample(0, "k")));
  EXPECT_FALSE(same(sample(0), sample(0, "i", 3)));

  Program renamed = sample(0);
  renamed.symbols[0].name = "M";
  EXPECT_FALSE(same(sample(0), renamed));
  Program other_default = sample(0);
  other_default.inputs[1].fallback = i64(6);
  EXPECT_FALSE(same(sample(0), other_default));
  Program hinted = sample(0);
  hinted.stages[0].hints = {Hint::Never};
  EXPECT_FALSE(same(sample(0), hinted));
  Program other_result = sample(0);
  other_result.results = {array_named(other_result, "y")};
  EXPECT_FALSE(same(sample(0), other_result));
}

TEST(Programs, SameNeedsAOneToOneMap) {
  // a: x + y, b: x + x, with arrays of one name.
  const auto sum = [](bool twice) {
    Program p;
    const ArrayId x = p.add_array("x", Scalar::F32, {});
    const ArrayId y = p.add_array("x", Scalar::F32, {});
    const ArrayId z = p.add_array("z", Scalar::F32, {});
    ExprPool& pool = *p.pool;
    Stage stage;
    Output out;
    out.array = z;
    out.value =
        pool.apply(Prim::Add, {pool.read(x, Scalar::F32, {}), pool.read(twice ? x : y, Scalar::F32, {})});
    stage.outputs = {out};
    p.stages = {stage};
    return p;
  };
  EXPECT_TRUE(same(sum(false), sum(false)));
  EXPECT_FALSE(same(sum(false), sum(true)));
  EXPECT_FALSE(same(sum(true), sum(false)));
}

TEST(Programs, ReadsOfLooksIntoBlocks) {
  const Program p = sample(2);
  EXPECT_THAT(reads_of(p, p.stages[0]), ElementsAre(array_named(p, "x"), array_named(p, "offset")));
  EXPECT_THAT(reads_of(p, p.stages[1]), ElementsAre(array_named(p, "y")));
}

TEST(Programs, ForEachStageIsOutermostFirst) {
  const Program p = sample(0);
  std::vector<std::string> names;
  for_each_stage(p.stages, [&](const Stage& stage) { names.push_back(stage.name); });
  EXPECT_THAT(names, ElementsAre("y", "z", "next"));
  EXPECT_FALSE(has_effects(p.stages[0]));
  EXPECT_TRUE(has_effects(p.stages[1]));
}

TEST(Programs, DefinedArraysAndCombineNames) {
  Output out;
  out.array = ArrayId{1};
  out.keys = ArrayId{2};
  out.offsets = ArrayId{3};
  EXPECT_THAT(defined_arrays(out), ElementsAre(ArrayId{1}, ArrayId{3}, ArrayId{2}));
  EXPECT_EQ(name_of(Cat{}), "cat");
  EXPECT_EQ(name_of(Group{}), "group");
  EXPECT_EQ(name_of(Seq{}), "seq");
}

TEST(Modules, FindByName) {
  Module module;
  module.programs = {sample(0)};
  EXPECT_EQ(module.find("sample"), &module.programs[0]);
  EXPECT_EQ(module.find("other"), nullptr);
}

}  // namespace
}  // namespace twill
