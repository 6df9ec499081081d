// An order in which things can run, kept while some of them become one.
#pragma once

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
  int& place(int thing) { return place_[static_cast<std::size_t>(thing)]; }
  int place(int thing) const { return place_[static_cast<std::size_t>(thing)]; }

  std::vector<int> things_;  // by place
  std::vector<int> place_;   // by number
};

}  // namespace twill
