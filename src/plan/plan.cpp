// Words for the choices of a plan, and finding the plan of a block.
#include "plan/plan.h"

#include <algorithm>
#include <array>

namespace twill {

namespace {

template <class E, std::size_t N>
std::string_view word(const std::array<std::string_view, N>& words, E value) {
  return words[static_cast<std::size_t>(value)];
}

}  // namespace

bool operator==(const Loop& a, const Loop& b) {
  return a.axes == b.axes && a.cut == b.cut && a.by == b.by && a.body == b.body;
}

const BlockPlan* Plan::find(std::string_view owner, int branch) const {
  const auto found = std::find_if(blocks.begin(), blocks.end(), [&](const BlockPlan& block) {
    return block.owner == owner && block.branch == branch;
  });
  return found == blocks.end() ? nullptr : &*found;
}

std::string_view name_of(By by) {
  static constexpr std::array<std::string_view, 8> words{"seq",   "unroll", "simd",   "core",
                                                         "block", "warp",   "thread", "node"};
  return word(words, by);
}

std::string_view name_of(Keep keep) {
  static constexpr std::array<std::string_view, 4> words{"full", "alias", "local", "ring"};
  return word(words, keep);
}

std::string_view name_of(How how) {
  static constexpr std::array<std::string_view, 2> words{"partial", "two-pass"};
  return word(words, how);
}

}  // namespace twill
