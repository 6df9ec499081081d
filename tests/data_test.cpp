// Arrays in memory.
#include "program/data.h"

#include "base/error.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace twill {
namespace {

TEST(Data, StartsZeroedAndAligned) {
  const Data data(Scalar::F32, {3, 5});
  EXPECT_EQ(data.count(), 15);
  EXPECT_EQ(data.byte_count(), 60u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data.bytes()) % 64, 0u);
  for (float x : data.as<float>()) EXPECT_EQ(x, 0.0f);
}

TEST(Data, EmptyArraysAreFine) {
  Data data(Scalar::F64, {0, 5});
  EXPECT_EQ(data.count(), 0);
  EXPECT_NE(data.bytes(), nullptr);
  const Data copy = data;
  EXPECT_TRUE(identical(copy, data));
}

TEST(Data, ElementsOfEveryTypeRoundTrip) {
  for (const ScalarInfo& s : all_scalars()) {
    Data data(s.scalar, {3});
    const Number one = Number::of(s.scalar, 1);
    data.set(1, one);
    data.set(2, lowest(s.scalar));
    EXPECT_EQ(data.get(0), Number::of(s.scalar, 0)) << s.name;
    EXPECT_EQ(data.get(1), one) << s.name;
    EXPECT_EQ(data.get(2), lowest(s.scalar)) << s.name;
  }
}

TEST(Data, SetConverts) {
  Data data(Scalar::F16, {1});
  data.set(0, Number::of_double(Scalar::F64, 1.0 + 0x1p-11));
  EXPECT_EQ(data.get(0).f, 1.0);
}

TEST(Data, CopiesShareNothing) {
  Data a = Data::scalar(Number::of(Scalar::I32, 7));
  Data b = a;
  b.set(0, Number::of(Scalar::I32, 8));
  EXPECT_EQ(a.get(0).i, 7);
  a = b;
  EXPECT_EQ(a.get(0).i, 8);
}

TEST(Data, TooManyElements) {
  const std::int64_t big[] = {std::int64_t{1} << 40, std::int64_t{1} << 40};
  const auto message_of = [](const auto& action) -> std::string {
    try {
      action();
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_EQ(message_of([&] { element_count(big); }),
            "error[E0509]: an array has more elements than 64 bits can count\n");
  EXPECT_EQ(message_of([] { Data(Scalar::F64, {std::int64_t{1} << 61}); }),
            "error[E0509]: an array has more bytes than 64 bits can count\n");
#ifndef __SANITIZE_ADDRESS__  // which ends the program instead of letting the allocation fail
  EXPECT_EQ(message_of([] { Data(Scalar::U8, {std::int64_t{1} << 61}); }),
            "failed[E0510]: no memory for an array of 2305843009213693952 bytes\n");
#endif
  const std::int64_t none[] = {std::int64_t{1} << 40, std::int64_t{1} << 40, 0};
  EXPECT_EQ(element_count(none), 0);
}

TEST(Data, RandomIsDeterministicAndInRange) {
  for (const ScalarInfo& s : all_scalars()) {
    const Data data = random_data(s.scalar, {1000}, 3);
    EXPECT_TRUE(identical(data, random_data(s.scalar, {1000}, 3))) << s.name;
    EXPECT_FALSE(identical(data, random_data(s.scalar, {1000}, 4))) << s.name;
    for (std::int64_t i = 0; i < data.count(); ++i) {
      EXPECT_GE(data.get(i).as_double(), 0) << s.name;
      EXPECT_LT(data.get(i).as_double(), is_float(s.scalar)         ? 1
                                         : s.scalar == Scalar::Bool ? 2
                                                                    : 100)
          << s.name;
    }
  }
}

TEST(Data, RandomRecordsAndPadding) {
  const Type record(std::make_shared<Record>(Record{"R", {{"a", Scalar::U8}, {"b", Scalar::F64}}}));
  Data a = random_data(record, {4}, 1);
  const Data b = random_data(record, {4}, 1);
  a.bytes()[3] = std::byte{1};  // padding does not count
  EXPECT_TRUE(identical(a, b));
  a.bytes()[8] ^= std::byte{1};
  EXPECT_FALSE(identical(a, b));
}

Data doubles(std::initializer_list<double> values) {
  Data data(Scalar::F64, {static_cast<std::int64_t>(values.size())});
  std::copy(values.begin(), values.end(), data.as<double>().begin());
  return data;
}

TEST(Data, MaxError) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(max_error(doubles({1, 2, 3}), doubles({1, 2, 3})), 0);
  EXPECT_EQ(max_error(doubles({0.5, 8}), doubles({0.25, 4})), 1);
  EXPECT_EQ(max_error(doubles({NAN, inf}), doubles({NAN, inf})), 0);
  EXPECT_EQ(max_error(doubles({NAN}), doubles({1})), inf);
  EXPECT_EQ(max_error(doubles({1}), doubles({NAN})), inf);
  EXPECT_EQ(max_error(doubles({inf}), doubles({1})), inf);
  EXPECT_EQ(max_error(doubles({1}), doubles({-inf})), inf);
  EXPECT_EQ(max_error(doubles({1}), doubles({1, 1})), inf);
  const Data one = Data::scalar(Number::of(Scalar::I32, 1));
  EXPECT_EQ(max_error(one, Data::scalar(Number::of(Scalar::I32, 2))), inf);
  EXPECT_EQ(max_error(one, one), 0);
}

}  // namespace
}  // namespace twill
