// Quasi-affine expressions, conditions, and integer sets and relations.
#include "poly/fusion.h"
#include "poly/set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <set>
#include <stdexcept>

namespace twill::poly {
namespace {

const Var i{Var::Kind::Index, 0}, j{Var::Kind::Index, 1}, k{Var::Kind::Index, 2};
const Var n{Var::Kind::Size, 0}, m{Var::Kind::Size, 1};
const Var o{Var::Kind::Term, 0}, t{Var::Kind::Term, 1};

TEST(Affine, NormalFormMakesEqualSumsEqual) {
  const Affine a = (Affine(i) + Affine(j)) * 2 - i + 3;
  const Affine b = Affine(j) * 2 + i + 3;
  EXPECT_EQ(a, b);
  EXPECT_EQ((Affine(i) - i).is_constant(), true);
  EXPECT_EQ(to_string(a), "i0+2*i1+3");
  EXPECT_EQ(to_string(Affine(n) - i - 1), "n0-i0-1");
  EXPECT_EQ(to_string(-Affine(i)), "-i0");
  EXPECT_EQ(to_string(Affine(0)), "0");
}

TEST(Affine, DivisionKeepsOnlyWhatDoesNotDivide) {
  EXPECT_EQ(floor_div(Affine(i) * 4 + 2, 2), Affine(i) * 2 + 1);
  EXPECT_EQ(floor_div(Affine(i) * 4 + j + 9, 4), Affine(i) + floor_div(Affine(j) + 1, 4) + 2);
  EXPECT_EQ(floor_div(Affine(i) * 2 + 1, 4), floor_div(Affine(i), 2));
  EXPECT_EQ(floor_div(floor_div(Affine(i), 2) + 1, 3), floor_div(Affine(i) + 2, 6));
  EXPECT_EQ(floor_mod(Affine(i) * 6, 3), Affine(0));
  EXPECT_EQ(to_string(floor_div(Affine(n), 2)), "n0/2");
  EXPECT_EQ(to_string(floor_div(Affine(i) + 1, 2) * 3), "3*((i0+1)/2)");
}

TEST(Affine, EvaluatesAsItsArithmeticDoes) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    Affine affine(0);
    std::int64_t value = 0;
    const std::int64_t x = static_cast<int>(random() % 41) - 20, y = static_cast<int>(random() % 41) - 20;
    for (int step = 0; step < 6; ++step) {
      const std::int64_t c = static_cast<int>(random() % 9) - 4, d = 1 + random() % 5;
      switch (random() % 5) {
        case 0:
          affine = affine + Affine(i) * c;
          value += c * x;
          break;
        case 1:
          affine = affine - Affine(j) * c + d;
          value += d - c * y;
          break;
        case 2:
          affine = affine * c;
          value *= c;
          break;
        case 3:
          affine = floor_div(affine, d);
          value = floor_div(value, d);
          break;
        case 4:
          affine = floor_mod(affine, d);
          value = floor_mod(value, d);
          break;
      }
    }
    const auto value_of = [&](Var v) { return v == i ? x : y; };
    ASSERT_EQ(affine.evaluate(value_of), value) << to_string(affine);
    ASSERT_EQ(affine.substitute(i, x).substitute(j, y), Affine(value)) << to_string(affine);
  }
}

TEST(Affine, OverflowIsAnErrorNotAWrap) {
  const Affine large = Affine(i) * std::numeric_limits<std::int64_t>::max();
  EXPECT_THROW(large * 2, std::overflow_error);
  EXPECT_THROW(large + i, std::overflow_error);
  EXPECT_THROW(floor_div(Affine(i), 0), std::domain_error);
}

TEST(Affine, KnowsItsVariables) {
  const Affine a = floor_div(Affine(i) + n, 2) + j;
  EXPECT_THAT(a.variables(), testing::ElementsAre(i, j, n));
  EXPECT_TRUE(a.mentions(i));
  EXPECT_FALSE(a.mentions(k));
  EXPECT_TRUE(a.mentions(Var::Kind::Size));
  EXPECT_FALSE(a.mentions(Var::Kind::Term));
  EXPECT_EQ(a.factor_of(i), 0);
  EXPECT_EQ(a.factor_of(j), 1);
  EXPECT_EQ(Affine(i).as_var(), i);
  EXPECT_EQ((Affine(i) + 1).as_var(), std::nullopt);
}

TEST(Condition, NegationIsExact) {
  const Condition f = (between(0, i, 5) && !equal(i, 2)) || equal(i, 9);
  for (std::int64_t x = -3; x < 12; ++x) {
    const auto value_of = [&](Var) { return x; };
    const bool expected = (x >= 0 && x < 5 && x != 2) || x == 9;
    EXPECT_EQ(holds(f, value_of), expected) << x;
    EXPECT_EQ(holds(!f, value_of), !expected) << x;
  }
  EXPECT_TRUE((Condition() || less(i, j)).is_always());
  EXPECT_TRUE((Condition::never() && less(i, j)).is_never());
  EXPECT_TRUE(less(3, 3).is_never());
}

TEST(QuickProof, SeesTheCommonCases) {
  const Condition domain = between(0, i, n) && between(0, j, m);
  EXPECT_TRUE(quickly_non_negative(domain, i));
  EXPECT_TRUE(quickly_non_negative(domain, Affine(n) - 1 - i));
  EXPECT_TRUE(quickly_non_negative(domain, Affine(n) + m - 2 - i - j));
  EXPECT_TRUE(quickly_non_negative(domain, Affine(n) - 1)) << "the domain is not empty";
  const Condition halves = between(0, i, floor_div(Affine(n), 2));
  EXPECT_TRUE(quickly_non_negative(halves, Affine(n) - 2 - Affine(i) * 2));
  EXPECT_FALSE(quickly_non_negative(halves, Affine(n) - 3 - Affine(i) * 2));
  const Condition least = domain && (equal(t, Affine(i) + 1) || equal(t, Affine(n) - 1));
  EXPECT_TRUE(quickly_non_negative(least, t)) << "by cases";
  EXPECT_FALSE(quickly_non_negative(least, Affine(t) - 1));
  EXPECT_FALSE(quickly_non_negative(domain, Affine(i) - 1));
  EXPECT_FALSE(quickly_non_negative(domain, Affine(n) - 2 - i));
}

TEST(QuickProof, NeverClaimsWhatIsFalse) {
  std::mt19937 random(2);
  int proven = 0;
  for (int round = 0; round < 3000; ++round) {
    const auto small = [&] { return static_cast<std::int64_t>(random() % 5) - 2; };
    const auto any = [&] {
      Affine a = Affine(i) * small() + Affine(j) * small() + Affine(n) * small() + small();
      if (random() % 3 == 0) a = a + floor_div(Affine(i) * small() + n + small(), 2) * small();
      return a;
    };
    Condition facts = between(0, i, n);
    for (int count = 0; count < 3; ++count) facts = facts && Condition::non_negative(any());
    const Affine claim = any();
    if (!quickly_non_negative(facts, claim)) continue;
    ++proven;
    for (std::int64_t x = -4; x <= 6; ++x)
      for (std::int64_t y = -4; y <= 6; ++y)
        for (std::int64_t z = 0; z <= 6; ++z) {
          const auto value_of = [&](Var v) { return v == i ? x : v == j ? y : z; };
          if (!holds(facts, value_of)) continue;
          ASSERT_GE(claim.evaluate(value_of), 0) << to_string(claim);
        }
  }
  EXPECT_GT(proven, 50);
}

TEST(Set, AnswersForAllParameters) {
  const Context context;
  const Set all(context, {i}, between(0, i, n));
  const Set front(context, {i}, between(0, i, floor_div(Affine(n), 2)));
  const Set back = all.subtract(front);
  EXPECT_EQ(front.is_subset_of(all), Answer::Yes);
  EXPECT_EQ(all.is_subset_of(front), Answer::No);
  EXPECT_EQ(front.unite(back).is_equal_to(all), Answer::Yes);
  EXPECT_EQ(front.intersect(back).is_empty(), Answer::Yes);
  EXPECT_EQ(all.is_empty(), Answer::No);
}

TEST(Set, TilesHaveSymbolicOriginAndSize) {
  const Context context;
  const Set tile(context, {i}, between(o, i, Affine(o) + t) && between(0, i, n) && between(0, o, n));
  EXPECT_EQ(tile.lower_bound(i), Affine(o));
  EXPECT_EQ(tile.upper_bound(i), std::nullopt) << "min(o+t, n)-1 is not one expression";
  const Set inner(context, {i}, between(o, i, Affine(o) + t));
  EXPECT_EQ(inner.upper_bound(i), Affine(o) + t - 1);
  EXPECT_EQ(Set(context, {i}, between(0, i, floor_div(Affine(n), 2))).upper_bound(i),
            floor_div(Affine(n), 2) - 1);
}

TEST(Set, SamplesTheSmallestPoint) {
  const Context context;
  const Set outside(context, {i}, between(0, i, n) && at_most(n, Affine(i) + 1) && at_most(2, i));
  const auto point = outside.sample();
  ASSERT_TRUE(point);
  EXPECT_EQ(*point, (Point{{i, 2}, {n, 3}}));
  EXPECT_EQ(Set(context, {i}, less(i, i)).sample(), std::nullopt);
  EXPECT_TRUE(Set(context, {i}, at_most(i, 0)).sample()) << "no smallest point, but points";
}

TEST(Set, ExtremesOfExpressions) {
  const Context context;
  const Set square(context, {i, j}, between(0, i, 4) && between(2, j, 10));
  EXPECT_EQ(square.max(Affine(i) + j), 12);
  EXPECT_EQ(square.min(Affine(i) - j), -9);
  const Set open(context, {i}, between(0, i, n));
  EXPECT_EQ(open.min(i), 0);
  EXPECT_EQ(open.max(i), std::nullopt);
  EXPECT_EQ(open.max(Affine(i) - n), -1);
}

TEST(Set, ProjectsToTheShadow) {
  const Context context;
  const Set triangle(context, {i, j}, between(0, i, n) && between(0, j, i));
  const Set shadow = triangle.project_out(std::vector{i});
  EXPECT_THAT(shadow.tuple(), testing::ElementsAre(j));
  EXPECT_EQ(shadow.is_equal_to(Set(context, {j}, at_most(0, j) && less(Affine(j) + 1, n))), Answer::Yes);
}

TEST(Set, SaysUnknownRatherThanHang) {
  const Context context(5);
  const Set a(context, {i, j}, between(0, i, n) && between(0, j, floor_div(Affine(i) * 7 + m, 5)));
  const Set b(context, {i, j}, between(0, i, m) && between(0, j, floor_div(Affine(i) * 3 + n, 4)));
  const Set c = a.subtract(b);
  EXPECT_EQ(c.is_empty(), Answer::Unknown);
  EXPECT_FALSE(c.is_known());
  EXPECT_EQ(c.sample(), std::nullopt);
  EXPECT_EQ(c.to_string(), "unknown");
}

TEST(Set, Prints) {
  const Context context;
  EXPECT_EQ(Set(context, {i}, between(0, i, n)).to_string(), "[n0] -> { [i0] : 0 <= i0 < n0 }");
}

TEST(Map, FunctionsApplyComposeAndInvert) {
  const Context context;
  const std::vector<Affine> doubled{Affine(i) * 2}, shifted{Affine(i) + 1};
  const Map twice = Map::function(context, {i}, {}, doubled);
  const Map next = Map::function(context, {i}, {}, shifted);
  const Set some(context, {i}, between(0, i, 3));
  EXPECT_EQ(
      twice.then(next).apply(some).is_equal_to(Set(context, {i}, equal(i, 1) || equal(i, 3) || equal(i, 5))),
      Answer::Yes);
  EXPECT_EQ(twice.inverse().is_single_valued(), Answer::Yes);
  EXPECT_EQ(twice.then(twice.inverse()).is_subset_of(Map::function(context, {i}, {}, std::vector<Affine>{i})),
            Answer::Yes);
  EXPECT_EQ(next.intersect_domain(some).range().min(Var{Var::Kind::Element, 0}), 1);
}

TEST(Map, Injectivity) {
  const Context context;
  const Condition domain = between(0, i, n) && between(0, j, 4);
  const auto injective = [&](std::vector<Affine> at) {
    return Map::function(context, {i, j}, domain, at).is_injective();
  };
  EXPECT_EQ(injective({Affine(i) * 4 + j}), Answer::Yes);
  EXPECT_EQ(injective({Affine(i) * 3 + j}), Answer::No);
  EXPECT_EQ(injective({Affine(i), Affine(i) + j}), Answer::Yes);
  EXPECT_EQ(injective({floor_div(Affine(i), 4), floor_mod(Affine(i), 4), j}), Answer::Yes);
  EXPECT_EQ(injective({floor_div(Affine(i), 4), j}), Answer::No);
}

/// Forty statements in a row, each of which needs three points of the one before it.
std::optional<std::vector<int>> groups_of_row(SchedulingLimits limits) {
  std::vector<Domain> domains;
  std::vector<Dependence> dependences;
  for (std::size_t s = 0; s < 40; ++s) {
    const int id = static_cast<int>(s);
    const Var point{Var::Kind::Index, id};
    domains.push_back({{point}, at_most(Affine(0), point) && less(point, Affine(n))});
    if (s == 0) continue;
    const Affine before(Var{Var::Kind::Index, id - 1});
    dependences.push_back(
        {s - 1, s, at_most(Affine(point) - 1, before) && at_most(before, Affine(point) + 1)});
  }
  return fused_groups(domains, dependences, Fusion::Min, limits);
}

TEST(Fusion, EndsWhenTimeIsUp) {
  const auto groups = groups_of_row({.steps = 300'000});
  ASSERT_TRUE(groups);
  EXPECT_EQ(std::set<int>(groups->begin(), groups->end()).size(), 40);
  EXPECT_FALSE(groups_of_row({.steps = 10}));
  EXPECT_FALSE(groups_of_row({.steps = 300'000, .patience = std::chrono::seconds(0)}));
}

}  // namespace
}  // namespace twill::poly
