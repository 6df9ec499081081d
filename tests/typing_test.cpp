// The promotion rules that front ends share.
#include "program/typing.h"

#include "base/error.h"
#include "program/program.h"

#include <gtest/gtest.h>

#include <limits>

namespace twill {
namespace {

class Typing : public testing::Test {
 protected:
  ExprPool pool;

  Operand value(Scalar type) { return {pool.arg(0, type), false}; }
  Operand whole(std::int64_t number) { return {pool.integer(number), true}; }
  Operand fraction(double number) { return {pool.literal(Number::of_double(Scalar::F64, number)), true}; }
  Operand apply(Prim prim, std::vector<Operand> operands) { return apply_promoted(pool, prim, operands, {}); }
  Type type_of(Prim prim, std::vector<Operand> operands) { return apply(prim, operands).expr->type; }

  template <class Action>
  std::string error(Action action) {
    try {
      action();
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  }
};

TEST_F(Typing, CommonTypes) {
  using enum Scalar;
  const auto common = [&](Scalar a, Scalar b) { return common_type(value(a), value(b))->scalar(); };
  EXPECT_EQ(common(I8, U8), I32);
  EXPECT_EQ(common(U16, U16), I32);
  EXPECT_EQ(common(I32, U32), I32);
  EXPECT_EQ(common(U32, U32), U32);
  EXPECT_EQ(common(U64, I8), I64);
  EXPECT_EQ(common(U32, I64), I64);
  EXPECT_EQ(common(U32, U64), U64);
  EXPECT_EQ(common(I64, F32), F32);
  EXPECT_EQ(common(F16, BF16), F32);
  EXPECT_EQ(common(F16, F64), F64);
  EXPECT_EQ(common_type(value(Bool), value(I32)), std::nullopt);
  EXPECT_EQ(arithmetic_type(value(U8)), Type(I32));
  EXPECT_EQ(arithmetic_type(value(Bool)), std::nullopt);
}

TEST_F(Typing, PlainLiteralsTakeTheOtherType) {
  using enum Scalar;
  const auto with = [&](Scalar a, Operand literal) { return common_type(literal, value(a))->scalar(); };
  EXPECT_EQ(with(F32, whole(1)), F32);
  EXPECT_EQ(with(F32, fraction(0.5)), F32);
  EXPECT_EQ(with(F16, fraction(0.5)), F32);
  EXPECT_EQ(with(F32, fraction(1e300)), F64);
  EXPECT_EQ(with(U8, whole(300)), I32);
  EXPECT_EQ(with(U32, whole(7)), U32);
  EXPECT_EQ(with(U32, whole(-1)), I64);
  EXPECT_EQ(with(U64, whole(-1)), I64);
  EXPECT_EQ(with(I32, whole(5'000'000'000)), I64);
  EXPECT_EQ(with(I32, fraction(0.5)), F64);
  EXPECT_EQ(common_type(whole(1), whole(2)), Type(I64));
  EXPECT_EQ(common_type(whole(1), fraction(2)), Type(F64));
}

TEST_F(Typing, AppliesWithCasts) {
  const Operand sum = apply(Prim::Add, {value(Scalar::U8), whole(1)});
  EXPECT_FALSE(sum.weak);
  EXPECT_EQ(sum.expr->args[0], pool.cast(Scalar::I32, pool.arg(0, Scalar::U8)));
  EXPECT_EQ(sum.expr->args[1], pool.literal(Number::of(Scalar::I32, 1)));
  EXPECT_EQ(type_of(Prim::Lt, {value(Scalar::F32), whole(0)}), Type(Scalar::Bool));
  EXPECT_EQ(type_of(Prim::Sqrt, {value(Scalar::I32)}), Type(Scalar::F64));
  EXPECT_EQ(type_of(Prim::Sqrt, {value(Scalar::BF16)}), Type(Scalar::F32));
  EXPECT_EQ(type_of(Prim::Atan2, {value(Scalar::F32), whole(1)}), Type(Scalar::F32));
  EXPECT_EQ(type_of(Prim::Fma, {whole(2), value(Scalar::F32), fraction(0.5)}), Type(Scalar::F32));
  EXPECT_EQ(type_of(Prim::Eq, {value(Scalar::Bool), value(Scalar::Bool)}), Type(Scalar::Bool));
  EXPECT_EQ(type_of(Prim::Xor, {value(Scalar::Bool), value(Scalar::Bool)}), Type(Scalar::Bool));
}

TEST_F(Typing, ArithmeticOfPlainLiteralsStaysPlain) {
  const Operand product = apply(Prim::Mul, {whole(2), fraction(1.5)});
  EXPECT_TRUE(product.weak);
  EXPECT_EQ(product.expr, pool.literal(Number::of_double(Scalar::F64, 3)));
  const Operand minus = apply(Prim::Neg, {whole(1)});
  EXPECT_TRUE(minus.weak);
  EXPECT_EQ(minus.expr, pool.integer(-1));
  EXPECT_FALSE(apply(Prim::Lt, {whole(1), whole(2)}).weak);
}

TEST_F(Typing, ChoicesOfPlainLiteralsStayPlain) {
  const Expr condition = pool.arg(1, Scalar::Bool);
  const Operand choice = select_promoted(pool, condition, whole(1), fraction(0.5), {});
  EXPECT_TRUE(choice.weak);
  const Operand product = apply(Prim::Mul, {choice, value(Scalar::F32)});
  const auto literal = [&](double x) { return pool.literal(Number::of_double(Scalar::F32, x)); };
  EXPECT_EQ(product.expr->args[0], pool.select(condition, literal(1), literal(0.5)));
  const Operand doubled = apply(Prim::Add, {choice, choice});
  EXPECT_TRUE(doubled.weak);
  EXPECT_EQ(type_of(Prim::Mul, {doubled, value(Scalar::F32)}), Type(Scalar::F32));
}

TEST_F(Typing, BranchesGetACommonType) {
  const Expr condition = pool.arg(1, Scalar::Bool);
  EXPECT_EQ(select_promoted(pool, condition, value(Scalar::F32), whole(0), {}).expr->type, Type(Scalar::F32));
  EXPECT_EQ(select_promoted(pool, condition, value(Scalar::I32), value(Scalar::F64), {}).expr->type,
            Type(Scalar::F64));
  EXPECT_EQ(select_promoted(pool, condition, value(Scalar::U8), value(Scalar::U8), {}).expr->type,
            Type(Scalar::U8));
  EXPECT_EQ(error([&] { select_promoted(pool, condition, value(Scalar::Bool), whole(1), {}); }),
            "error[E0223]: the branches have different types: 'bool' and 'i64'\n");
  EXPECT_EQ(error([&] { select_promoted(pool, pool.integer(1), whole(1), whole(2), {}); }),
            "error[E0222]: the condition is 'i64', not 'bool'\n  help: compare it, for example x != 0\n");
}

TEST_F(Typing, RefusedOperands) {
  EXPECT_EQ(error([&] {
              apply(Prim::Add, {value(Scalar::Bool), whole(1)});
            }),
            "error[E0220]: '+' does not take 'bool' and 'i64'\n"
            "  help: bool is not a number: convert it, for example i32(x)\n");
  EXPECT_EQ(error([&] {
              apply(Prim::And, {value(Scalar::I32), value(Scalar::Bool)});
            }),
            "error[E0220]: 'and' does not take 'i32' and 'bool'\n  help: compare numbers first, for example "
            "x != 0\n");
  EXPECT_EQ(error([&] {
              apply(Prim::BitOr, {value(Scalar::Bool), value(Scalar::Bool)});
            }),
            "error[E0220]: 'bit_or' does not take 'bool' and 'bool'\n  help: use 'or'\n");
  EXPECT_EQ(error([&] {
              apply(Prim::Shl, {value(Scalar::F32), whole(1)});
            }),
            "error[E0220]: 'shl' does not take 'f32' and 'i64'\n  help: bit operations are for integers\n");
  EXPECT_EQ(error([&] { apply(Prim::Atan2, {whole(1)}); }),
            "error[E0221]: 'atan2' takes 2 operands, not 1\n");
}

TEST_F(Typing, ImplicitConversions) {
  const auto convert_to = [&](Operand from, Scalar to) {
    return convert_implicitly(pool, from, to, {})->type;
  };
  EXPECT_EQ(convert_to(value(Scalar::I32), Scalar::I64), Type(Scalar::I64));
  EXPECT_EQ(convert_to(value(Scalar::U8), Scalar::I16), Type(Scalar::I16));
  EXPECT_EQ(convert_to(value(Scalar::I64), Scalar::F32), Type(Scalar::F32));
  EXPECT_EQ(convert_to(value(Scalar::F64), Scalar::F16), Type(Scalar::F16));
  EXPECT_EQ(convert_to(value(Scalar::F64), Scalar::F32), Type(Scalar::F32));
  EXPECT_EQ(convert_implicitly(pool, whole(255), Scalar::U8, {}), pool.literal(Number::of(Scalar::U8, 255)));
  EXPECT_EQ(error([&] { convert_to(whole(256), Scalar::U8); }), "error[E0224]: 256 does not fit 'u8'\n");
  EXPECT_EQ(error([&] { convert_to(fraction(0.5), Scalar::I32); }),
            "error[E0224]: 0.5 does not fit 'i32'\n  help: convert it explicitly: i32(...)\n");
  EXPECT_EQ(error([&] { convert_to(value(Scalar::I64), Scalar::I32); }),
            "error[E0225]: 'i64' does not become 'i32' by itself\n  help: convert it explicitly: i32(...)\n");
  EXPECT_EQ(error([&] { convert_to(value(Scalar::I32), Scalar::U64); }),
            "error[E0225]: 'i32' does not become 'u64' by itself\n  help: convert it explicitly: u64(...)\n");
  EXPECT_EQ(error([&] { convert_to(value(Scalar::I32), Scalar::Bool); }),
            "error[E0225]: 'i32' does not become 'bool' by itself\n  help: compare it, for example x != 0\n");
}

TEST_F(Typing, AccumulatorTypes) {
  EXPECT_EQ(accumulator_type(Scalar::Bool), Type(Scalar::I64));
  EXPECT_EQ(accumulator_type(Scalar::I8), Type(Scalar::I64));
  EXPECT_EQ(accumulator_type(Scalar::U8), Type(Scalar::U64));
  EXPECT_EQ(accumulator_type(Scalar::F16), Type(Scalar::F32));
  EXPECT_EQ(accumulator_type(Scalar::F64), Type(Scalar::F64));
}

TEST_F(Typing, BuiltinOperators) {
  const Operator min = builtin_operator(pool, Prim::Min, Scalar::F32);
  EXPECT_EQ(min.prim, Prim::Min);
  EXPECT_TRUE(min.associative && min.commutative);
  EXPECT_EQ(min.identity,
            pool.literal(Number::of_double(Scalar::F32, std::numeric_limits<double>::infinity())));
  EXPECT_EQ(builtin_operator(pool, Prim::BitAnd, Scalar::U8).identity,
            pool.literal(Number::of(Scalar::U8, 255)));
  EXPECT_FALSE(builtin_operator(pool, Prim::Sub, Scalar::F32).prim);
  EXPECT_FALSE(builtin_operator(pool, Prim::Add, Scalar::Bool).prim);
}

}  // namespace
}  // namespace twill
