// LULESH to its end: the number of steps and the energy at the origin that the reference code is known for,
// however the stages are clustered.
#include "base/files.h"
#include "driver/compile.h"
#include "program/text.h"

#include <gtest/gtest.h>

namespace twill {
namespace {

std::shared_ptr<const Program> lulesh() {
  const Module module =
      parse("lulesh.twill", read_file(std::filesystem::path(TWILL_ROOT) / "examples" / "lulesh.twill"));
  return std::make_shared<const Program>(*module.find("lulesh"));
}

/// At most so many steps on a mesh of edge^3 elements.
void expect_blast(const Kernel& kernel, std::int64_t edge, std::int64_t limit, std::int64_t iterations,
                  double origin_energy) {
  const std::vector<Data> inputs = {Data::scalar(Number::of(Scalar::I64, edge)),
                                    Data::scalar(Number::of_double(Scalar::F64, 1e-2)),
                                    Data::scalar(Number::of(Scalar::I64, limit))};
  const Outcome outcome = kernel.run(inputs);
  EXPECT_EQ(outcome.results[0].get(0).as_int(), iterations);
  EXPECT_NEAR(outcome.results[1].get(0).as_double(), origin_energy, 1e-6 * origin_energy);
}

class Lulesh : public testing::TestWithParam<Clusters> {};

TEST_P(Lulesh, EndsAsPublished) {
  Options options;
  options.clusters = GetParam();
  options.simplify = GetParam() != Clusters::None;
  const Compilation compiled = compile(lulesh(), detect_machine(), options);
  const Kernel& kernel = *compiled.kernel;
  expect_blast(kernel, 8, 1000, 163, 1.788182e4);
  expect_blast(kernel, 24, 3, 3,
               4.986156305677645e6);  // its beginning with rows of several vectors, on all cores
  if (GetParam() == Clusters::Optimal) expect_blast(kernel, 30, 2000, 932, 2.025075e5);
}

std::string choice(const testing::TestParamInfo<Clusters>& info) {
  return info.param == Clusters::None ? "None" : info.param == Clusters::Greedy ? "Greedy" : "Optimal";
}

INSTANTIATE_TEST_SUITE_P(Clustered, Lulesh,
                         testing::Values(Clusters::None, Clusters::Greedy, Clusters::Optimal), choice);

}  // namespace
}  // namespace twill
