// A list of stages as a choice of clusters: who waits for whom, who may be together, and what that costs.
#pragma once

#include "cluster/builder.h"
#include "cluster/problem.h"
#include "fuse/guess.h"

#include <functional>
#include <span>
#include <string>
#include <tuple>

namespace twill {

/// What tiles compute again, as often as it is asked of the same two stages.
class SliceShares {
 public:
  explicit SliceShares(const ClusterCost& cost);

  /// The share of `first` if it is sliced for tiles of `second`; nothing if it is not.
  std::optional<double> operator()(const Program& program, const Stage& first, const Stage& second);

 private:
  const Tiling* tiling_ = nullptr;
  struct Known {
    std::vector<Expr> parts;  // kept, so that no other one gets its address
    std::optional<double> share;
  };
  using Parts = std::vector<const Node*>;
  std::map<std::tuple<std::string, std::string, Parts>, Known>
      known_;  // by the two and what they are made of
};

class ProgramProblem {
 public:
  /// The arrays of the region and what they cost; `find_pairs` does the rest.
  ProgramProblem(Region& region, const ClusterCost& cost, SliceShares& shares);
  ProgramProblem(Region& region, const ClusterCost& cost, SliceShares&& shares)
      : ProgramProblem(region, cost, shares) {}
  ProgramProblem(Region& region, const ClusterCost& cost) : ProgramProblem(region, cost, SliceShares(cost)) {}

  /// What may be together is asked of the rules, two stages at a time. Stages that one of the known
  /// clusterings (by stage) has together can be together. Says whether all were asked, as long as there is
  /// time.
  bool find_pairs(
      Region& region, std::span<const std::vector<int>> known,
      const std::function<bool()>& in_time = [] { return true; });

  /// What a clustering costs: by stage, the number of its cluster.
  double cost_of(const std::vector<int>& cluster) const;
  /// The part of that which is for what tiles compute again.
  double charged_for_tiles(const std::vector<int>& cluster) const;
  /// What it costs to compute all of a stage once.
  double work_of(int stage) const { return work_by_stage_[static_cast<std::size_t>(stage)]; }
  /// What no clustering costs less than.
  double least_cost() const;
  /// Are all costs whole numbers?
  bool is_whole() const { return std::holds_alternative<GraphCost>(cost_); }
  /// Nanoseconds that are one unit of the cost.
  double unit() const { return unit_; }
  /// Stages that have to run before a stage.
  const std::set<int>& before(int stage) const { return before_[static_cast<std::size_t>(stage)]; }
  /// What it costs whatever is chosen: to compute everything once; pairs that would share a loop if nobody
  /// else read what the first makes.
  double work() const { return work_; }

  using Refusals = std::map<std::pair<int, int>, Reason>;

  ClusterProblem problem;
  /// Of two stages that wait for each other, why they are never together.
  Refusals why_never;

 private:
  std::set<int> orders_of(const Stage& reader, ArrayId array);
  bool goes_through_collection(const Stage& stage) const;
  double work_time(const Guess& guess, const Stage& stage) const;
  int direction_of(const Region& region, const Stage& stage) const;
  void charge_for_gather(const Region& region, const Guess& guess, int a, int b);
  void find_slices(const Region& region, const Guess& guess, const UseTable& uses, SliceShares& shares);
  void allow_slices(const UseTable& uses, const Region& region, Refusals& apart);
  double highest_number(const std::vector<int>& cluster) const;

  ClusterCost cost_;
  std::vector<std::set<int>> before_;  // by stage
  std::vector<double> work_by_stage_;
  std::map<std::pair<int, int>, double>
      charged_;  // by maker and reader: for what tiles of the two compute again
  std::map<std::pair<int, int>, double> sliced_;  // by maker and reader: what tiles compute again, as a share
  std::set<SymbolId> born_;                       // lengths of collections
  std::map<std::set<ArrayId>, int> labels_;       // of orders, by the arrays that say where elements are
  double work_ = 0, unit_ = 1;
};

}  // namespace twill
