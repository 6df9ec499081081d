// A complete program: defines a filter, compiles it and runs it. docs/cpp.md shows it and says how to build it.
// [smooth]
#include "driver/compile.h"
#include "import/twill.h"

#include <cstdio>
#include <iostream>
#include <vector>

using namespace twill;

int main() try {
  Def f("smooth");
  auto N = f.size("N");
  auto x = f.input("x", f32, {N});
  auto y = f.array("y");
  Index i("i");
  y(i) = (x(clamp(i - 1)) + x(i) + x(clamp(i + 1))) / 3;
  f.result(y);

  const Kernel kernel = compile(f.program());  // compiled by the system's C compiler, once
  Data data(Scalar::F32, {5});
  for (std::int64_t k = 0; k < 5; ++k) data.as<float>()[static_cast<std::size_t>(k)] = static_cast<float>(k * k);
  const Outcome outcome = kernel.run(std::vector{data});
  for (const float value : outcome.results[0].as<float>()) std::printf("%g\n", value);
} catch (const Error& error) {
  std::cerr << error.what();
  return 1;
}
// [end]
