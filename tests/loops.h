// The loops of programs, and whether they compute what the interpreter says.
#pragma once

#include <gtest/gtest.h>

#include "driver/agree.h"
#include "driver/compile.h"
#include "programs.h"

#include <string>
#include <vector>

namespace twill {

/// The loops that two cores run for a program.
inline std::string loops_of(const char* text) {
  Options options;
  options.stop_after = "nest";
  return print_loops(*compile(program_of(text), two_cores(), options).nest);
}

/// Does its kernel agree with the interpreter, for vectors of these sizes?
inline void agrees(const char* text, const std::vector<std::int64_t>& sizes) {
  const auto program = program_of(text);
  const Compilation compilation = compile(program, two_cores());
  for (const std::int64_t size : sizes) {
    std::vector<Data> inputs;
    for (const Input& input : program->inputs) {
      std::vector<std::int64_t> shape;
      for (const Expr extent : (*program)[input.array].shape)
        shape.push_back(as<Literal>(extent) ? as<Literal>(extent)->value.i : size);
      inputs.push_back(random_data((*program)[input.array].type, shape, 1 + inputs.size()));
    }
    const Agreement found =
        agreement(*program, reference_of(*program, inputs), compilation.kernel->run(inputs));
    EXPECT_EQ(found.difference, "") << "at " << size;
  }
}

}  // namespace twill
