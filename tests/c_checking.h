// Imported C functions, run in all ways and compared with what the C compiler makes of them.
#pragma once

#include "c_testing.h"
#include "driver/agree.h"
#include "driver/compile.h"
#include "program/interpret.h"
#include "program/text.h"

#include <gtest/gtest.h>

namespace twill {

/// An array of the first of these values; zero where they are not enough.
inline Data data(Scalar type, std::vector<std::int64_t> shape, const std::vector<double>& values) {
  Data result(type, std::move(shape));
  for (std::size_t k = 0; k < values.size() && k < static_cast<std::size_t>(result.count()); ++k)
    result.set(static_cast<std::int64_t>(k), is_float(type)
                                                 ? Number::of_double(type, values[k])
                                                 : Number::of(type, static_cast<std::int64_t>(values[k])));
  return result;
}

inline Data integer(std::int64_t value) { return Data::scalar(Number::of(Scalar::I32, value)); }

/// Imports a text with one function, runs it in all ways, and compares. The program's text.
inline std::string check(const std::string& text, std::vector<Data> arguments) {
  const CImport imported = import_text(text);
  const CFunction& function = imported.functions.at(0);
  const Program& program = imported.module.programs.at(0);
  const std::string printed = print(program);
  EXPECT_TRUE(same(parse_program("printed", printed), program)) << printed;
  const std::vector<Data> inputs = inputs_among(function, program, arguments);
  PlainC(text, imported.functions).call(0, arguments);
  const Reference reference = reference_of(program, inputs);
  const Outcome compiled = compile(program).run(inputs);
  EXPECT_EQ(agreement(program, reference, compiled).difference, "") << printed;
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    const int result = function.arguments[k].result;
    if (result < 0) continue;
    EXPECT_LE(max_error(reference.outcome.results[static_cast<std::size_t>(result)], arguments[k]), 1e-9)
        << function.arguments[k].name << " interpreted\n"
        << printed;
    EXPECT_LE(max_error(compiled.results[static_cast<std::size_t>(result)], arguments[k]), 1e-9)
        << function.arguments[k].name << " compiled\n"
        << printed;
  }
  return printed;
}

inline const std::vector<double> numbers = {3, -1, 4, 1, -5, 9, 2, -6, 5, 3.5, 5, -8};

}  // namespace twill
