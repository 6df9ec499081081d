// A list of stages as a choice of clusters: who waits for whom, who may be together, and what that costs.
#pragma once

#include "cluster/builder.h"
#include "cluster/problem.h"
#include "fuse/guess.h"

#include <functional>
#include <span>

namespace twill {

class ProgramProblem {
 public:
  /// The arrays of the region and what they cost; `find_pairs` does the rest.
  ProgramProblem(Region& region, const ClusterCost& cost);

  /// What may be together is asked of the rules, two stages at a time. Stages that one of the known
  /// clusterings (by stage) has together can be together. Says whether all were asked, as long as there is
  /// time.
  bool find_pairs(
      Region& region, std::span<const std::vector<int>> known,
      const std::function<bool()>& in_time = [] { return true; });

  /// What a clustering costs: by stage, the number of its cluster.
  double cost_of(const std::vector<int>& cluster) const;
  /// What no clustering costs less than.
  double least_cost() const;
  /// Are all costs whole numbers?
  bool is_whole() const { return std::holds_alternative<GraphCost>(cost_); }
  /// Nanoseconds that are one unit of the cost.
  double unit() const { return unit_; }
  /// What it costs whatever is chosen: to compute everything once; pairs that would share a loop if nobody
  /// else read what the first makes.
  double work() const { return work_; }

  ClusterProblem problem;
  /// Of two stages that wait for each other, why they are never together.
  std::map<std::pair<int, int>, Reason> why_never;

 private:
  std::set<int> orders_of(const Stage& reader, ArrayId array);
  bool goes_through_collection(const Stage& stage) const;
  double work_time(const Guess& guess, const Stage& stage) const;
  int direction_of(const Region& region, const Stage& stage) const;
  void charge_for_gather(const Region& region, const Guess& guess, int a, int b);
  double highest_number(const std::vector<int>& cluster) const;

  const ClusterCost& cost_;
  std::set<SymbolId> born_;                  // lengths of collections
  std::map<std::set<ArrayId>, int> labels_;  // of orders, by the arrays that say where elements are
  double work_ = 0, unit_ = 1;
};

}  // namespace twill
