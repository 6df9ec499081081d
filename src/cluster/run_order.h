// Which things have to run before which, kept while some of them become one.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <vector>

namespace twill {

/// Numbered things, each after those that have to run before it. What becomes one never waits for itself.
class RunOrder {
 public:
  /// `before`: what has to run before a thing, now; never the thing itself.
  using Before = std::function<std::set<int>(int)>;

  RunOrder() = default;
  /// `order`: things in an order in which they can run, out of `count` that have numbers.
  RunOrder(std::vector<int> order, std::size_t count);

  /// Does something else have to run after `first` and before `second`?
  bool is_between(int first, int second, const Before& before) const;

  /// `gone` is about to become part of `kept`; there is nothing between them.
  void merge(int gone, int kept, const Before& before);

 private:
  using Row = std::vector<std::uint64_t>;  // a bit for every thing

  void find_rows(const Before& before) const;
  Row& row(int thing) const { return rows_[static_cast<std::size_t>(thing)]; }
  static bool has(const Row& row, int thing) {
    return (row[static_cast<std::size_t>(thing) / 64] >> (thing % 64) & 1) != 0;
  }

  std::vector<int> order_;
  // By thing: all that has to run before it, by way of however many others. Found when it is needed first:
  // many an order is never asked.
  mutable std::vector<Row> rows_;
  mutable bool found_ = false;
};

}  // namespace twill
