// Module: what one text file holds. Its definitions become programs; its tests say what is true of them.
#pragma once

#include "program/data.h"
#include "program/program.h"

#include <map>

namespace twill {

/// A value made up for a test: `random(f32[5, 7], seed: 1)`, `[1, 2, 3]`, a number.
struct RandomData {
  Type type;
  std::vector<std::int64_t> shape;
  std::uint64_t seed = 0;
};

/// `y = softmax(x, …)` in a test: runs a definition; arguments are made-up data, literal data or
/// names bound by earlier steps.
struct TestCall {
  std::string definition;
  std::vector<std::variant<RandomData, Data, std::string>> arguments;
  std::vector<std::string> results;  // names the results are bound to, in order
  Place place;
};

/// `x = random(…)` in a test: binds a name to data.
struct TestBinding {
  std::string name;
  std::variant<RandomData, Data> value;
};

/// `expect sum(j) y[i, j] ~ 1.0`: a program whose inputs are names bound by the test's steps and whose
/// single result is an array of bool, true everywhere if the expectation holds.
struct ValueExpectation {
  std::string text;   // as written
  Program holds;
  Place place;
};

/// `expect passes == 1`: about the plan of the definitions the test calls.
/// Quantities: passes, buffers, stages, loops.
struct StructureExpectation {
  std::string quantity;
  Prim compare;       // Eq, Ne, Lt, Le, Gt, Ge
  std::int64_t value;
  Place place;
};

/// `expect error "text"`: the last call must fail at run time with a message that contains the text.
struct ErrorExpectation {
  std::string text;
  Place place;
};

struct Test {
  std::string name;
  std::vector<std::variant<TestBinding, TestCall>> steps;
  std::vector<std::variant<ValueExpectation, StructureExpectation, ErrorExpectation>> expectations;
  Place place;
};

struct Module {
  std::vector<Program> programs;  // in the order of the file
  std::vector<Test> tests;

  /// Null when there is none of that name.
  const Program* find(std::string_view name) const;
};

}  // namespace twill
