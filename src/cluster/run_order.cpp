#include "cluster/run_order.h"

#include <algorithm>

namespace twill {

namespace {

void add(std::vector<std::uint64_t>& row, int thing) {
  row[static_cast<std::size_t>(thing) / 64] |= std::uint64_t{1} << (thing % 64);
}

void add(std::vector<std::uint64_t>& row, const std::vector<std::uint64_t>& other) {
  for (std::size_t k = 0; k < row.size(); ++k) row[k] |= other[k];
}

}  // namespace

RunOrder::RunOrder(std::vector<int> order, std::size_t count)
    : order_(std::move(order)), rows_(count, Row((count + 63) / 64)) {}

void RunOrder::find_rows(const Before& before) const {
  if (found_) return;
  found_ = true;
  for (const int thing : order_)
    for (const int other : before(thing)) {
      add(row(thing), other);
      add(row(thing), row(other));
    }
}

bool RunOrder::is_between(int first, int second, const Before& before) const {
  find_rows(before);
  if (!has(row(second), first)) return false;
  const std::set<int> needs = before(second);
  return std::any_of(needs.begin(), needs.end(),
                     [&](int other) { return other != first && has(row(other), first); });
}

void RunOrder::merge(int gone, int kept, const Before& before) {
  find_rows(before);
  Row both = row(gone);
  add(both, row(kept));
  for (const int one : {gone, kept})
    both[static_cast<std::size_t>(one) / 64] &= ~(std::uint64_t{1} << (one % 64));
  row(gone) = row(kept) = both;
  // Who waits for the one or the other waits for both, and for all that these wait for.
  for (Row& waits : rows_)
    if (has(waits, gone) || has(waits, kept)) {
      add(waits, both);
      add(waits, kept);
      waits[static_cast<std::size_t>(gone) / 64] &= ~(std::uint64_t{1} << (gone % 64));
    }
}

}  // namespace twill
