// Plans on disk: found again, and never trusted.
#include "base/files.h"
#include "driver/compile.h"
#include "programs.h"
#include "temporary_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace twill {
namespace {

namespace fs = std::filesystem;

const char* const blur =
    "def f(u: f32[H, W]) -> b { a[y, x] = u[y, clamp(x - 1)] + u[y, clamp(x + 1)]\n"
    "b[y, x] = a[clamp(y - 1), x] + a[clamp(y + 1), x] }";

Compilation planned(const std::string& text, const fs::path& cache, const KnownSizes& known = {}) {
  Options options;
  options.keep_plans = true;
  options.known = known;
  options.compiler.cache = cache;
  options.stop_after = "elaborate";
  return compile(program_of(text), two_cores(), options);
}

/// Is the plan one that lay on disk? Then nothing was proven about it.
bool was_kept(const Compilation& c) { return !c.proof; }

std::vector<fs::path> plans_in(const fs::path& cache) {
  std::vector<fs::path> files;
  for (const auto& file : fs::directory_iterator(cache / "plans")) files.push_back(file.path());
  return files;
}

class KeptPlan : public testing::Test {
 protected:
  const TemporaryCache directory_;
  const fs::path cache_ = directory_.path();
};

TEST_F(KeptPlan, IsFoundAgain) {
  const Compilation first = planned(blur, cache_), second = planned(blur, cache_);
  EXPECT_FALSE(was_kept(first));
  EXPECT_TRUE(was_kept(second));
  EXPECT_EQ(*first.plan, *second.plan);
  EXPECT_EQ(second.schedule->passes, 1);
}

TEST_F(KeptPlan, IsThatOfItsProgramAndSizes) {
  planned(blur, cache_);
  EXPECT_FALSE(was_kept(planned("def f(x: f32[N]) -> y { y[i] = 2 * x[i] }", cache_)));
  KnownSizes known;
  known.sizes[SymbolId{0}] = 100;
  EXPECT_FALSE(was_kept(planned(blur, cache_, known)));
  EXPECT_TRUE(was_kept(planned(blur, cache_, known)));
  EXPECT_EQ(plans_in(cache_).size(), 3U);
}

/// What cannot be read, or is the plan of something else, is chosen anew, and right the next time.
TEST_F(KeptPlan, IsNotTrusted) {
  const Compilation first = planned(blur, cache_);
  const fs::path file = plans_in(cache_).front();
  const std::string text = read_file(file);
  Plan none = *first.plan;
  for (BlockPlan& block : none.blocks)
    for (Cluster& cluster : block.clusters) cluster.loops.clear();
  for (const std::string& broken : {std::string(), text.substr(0, text.size() / 2), std::string("{}"),
                                    to_json(Plan{"g", "", {}}), to_json(none)}) {
    write_file(file, broken);
    const Compilation again = planned(blur, cache_);
    EXPECT_FALSE(was_kept(again)) << broken;
    EXPECT_EQ(*again.plan, *first.plan);
    EXPECT_EQ(read_file(file), text);
  }
}

TEST_F(KeptPlan, IsChosenAgainWhereNothingCanBeWritten) {
  write_file(cache_ / "plans", "no directory");
  EXPECT_FALSE(was_kept(planned(blur, cache_)));
  EXPECT_FALSE(was_kept(planned(blur, cache_)));
}

}  // namespace
}  // namespace twill
