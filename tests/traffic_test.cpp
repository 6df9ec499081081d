// The bytes that the passes of a schedule move.
#include "plan/traffic.h"

#include "plan/default_plan.h"
#include "program/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace twill {
namespace {

/// The traffic of a program's default plan, with sizes and scalar inputs by name.
Traffic traffic(const std::string& text, const std::map<std::string, std::int64_t>& sizes,
                const std::map<std::string, std::int64_t>& scalars = {}) {
  const auto program = std::make_shared<Program>(parse_program("t.twill", text));
  const Machine machine = machine_from_json(R"({
    "memory": [{"name": "memory", "bytes": 1073741824}],
    "cores": [{"kind": "core", "count": 2}]
  })",
                                            "two.json");
  const auto schedule = elaborate(program, machine, default_plan(*program, machine).plan);
  EXPECT_TRUE(schedule);
  std::map<SymbolId, std::int64_t> bound;
  for (const Symbol& symbol : program->symbols)
    if (const auto found = sizes.find(symbol.name); found != sizes.end()) bound[symbol.id] = found->second;
  std::map<ArrayId, Number> given;
  for (const Input& input : program->inputs)
    if (const auto found = scalars.find((*program)[input.array].name); found != scalars.end())
      given[input.array] = Number::of((*program)[input.array].type.scalar(), found->second);
  return traffic_of(*schedule, {bound, given});
}

TEST(Traffic, EveryArrayOfAPassCountsOnce) {
  const Traffic t =
      traffic("def axpy(x: f32[N], y: f32[N]) -> z { z[i] = 2 * x[i] + y[i] * x[i] }", {{"N", 100}});
  ASSERT_EQ(t.passes.size(), 1U);
  EXPECT_EQ(t.passes[0].stages, std::vector<std::string>{"z"});
  EXPECT_EQ(t.read, 800);
  EXPECT_EQ(t.written, 400);
  EXPECT_EQ(t.least, 1200);
  EXPECT_EQ(t.footprint, 1200);
  EXPECT_TRUE(t.complete);
}

TEST(Traffic, IntermediateArraysAreWrittenAndReadAgain) {
  const Traffic t =
      traffic("def norm(x: f64[N]) -> y {\n  @never\n  s[i] = x[i] * x[i]\n  @never\n  y = sum(i) s[i]\n}",
              {{"N", 10}});
  ASSERT_EQ(t.passes.size(), 2U);
  EXPECT_EQ(t.passes[0].written, 80);
  EXPECT_EQ(t.passes[1].read, 80);
  EXPECT_EQ(t.read, 160);
  EXPECT_EQ(t.written, 88);
  EXPECT_EQ(t.least, 88);
  EXPECT_EQ(t.footprint, 168);
}

TEST(Traffic, APassInALoopRunsOften) {
  const Traffic t =
      traffic("def f(u0: f32[N], T: i32) -> u { u = seq t < T from u0 { u[i] = 0.5 * u[clamp(i - 1)] } }",
              {{"N", 8}}, {{"T", 5}});
  EXPECT_TRUE(t.complete);
  ASSERT_FALSE(t.passes.empty());
  EXPECT_EQ(t.passes.back().times, 5);
  EXPECT_EQ(t.passes.back().read, 32);
  EXPECT_EQ(t.passes.back().written, 32);
  EXPECT_EQ(t.least, 32 + 4 + 32);
}

TEST(Traffic, WhatIsBornAtRunTimeIsLeftOut) {
  const Traffic t = traffic("def f(x: f32[N]) -> y { y = [ v | v in x, v > 0 ] }", {{"N", 8}});
  EXPECT_FALSE(t.complete);
  EXPECT_EQ(t.read, 32);
  EXPECT_EQ(t.written, 0);
}

TEST(Traffic, ALoopWithAConditionIsNotCounted) {
  EXPECT_FALSE(traffic("def f(a: f64) -> r { r = seq while r > 1 from a { r = 0.5 * r } }", {}).complete);
}

TEST(Traffic, NegativeExtentsAreEmpty) {
  const Traffic t = traffic("def f(x: f32[N]) -> y { y[i < N - 4] = x[i] }", {{"N", 2}});
  EXPECT_EQ(t.written, 0);
  EXPECT_EQ(t.read, 8);
}

}  // namespace
}  // namespace twill
