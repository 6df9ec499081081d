#include "cluster/run_order.h"

#include <algorithm>

namespace twill {

RunOrder::RunOrder(std::vector<int> order, std::size_t count) : things_(std::move(order)), place_(count, -1) {
  for (std::size_t p = 0; p < things_.size(); ++p) place(things_[p]) = static_cast<int>(p);
}

bool RunOrder::is_between(int first, int second, const Before& before) const {
  // What waits for the first has a place after it.
  if (place(first) > place(second)) return false;
  std::vector<int> open;
  std::set<int> seen = {second, first};
  for (const int one : before(second))
    if (seen.insert(one).second) open.push_back(one);
  while (!open.empty()) {
    const int one = open.back();
    open.pop_back();
    if (place(one) < place(first)) continue;
    for (const int other : before(one)) {
      if (other == first) return true;
      if (seen.insert(other).second) open.push_back(other);
    }
  }
  return false;
}

void RunOrder::merge(int gone, int kept, const Before& before) {
  const int first = std::min(place(gone), place(kept)), last = std::max(place(gone), place(kept));
  // What waits for the earlier one of the two comes after both; nothing of it has to come before the other.
  std::vector<int> others, waiting;
  std::set<int> later = {things_[static_cast<std::size_t>(first)]};
  for (int p = first; p <= last; ++p) {
    const int one = things_[static_cast<std::size_t>(p)];
    if (one == gone || one == kept) continue;
    const std::set<int> needs = before(one);
    const bool waits =
        std::any_of(needs.begin(), needs.end(), [&](int need) { return later.contains(need); });
    if (waits) later.insert(one);
    (waits ? waiting : others).push_back(one);
  }
  others.push_back(gone);
  others.push_back(kept);
  others.insert(others.end(), waiting.begin(), waiting.end());
  for (int p = first; p <= last; ++p) {
    const int one = others[static_cast<std::size_t>(p - first)];
    things_[static_cast<std::size_t>(p)] = one;
    place(one) = p;
  }
}

}  // namespace twill
