// Builds the clusters of one list of stages step by step, by the rules of fuse/.
//
// Vertical before horizontal: a sibling must not take the place of a producer or a consumer. Sets never wait
// for each other in a circle, through however many others.
#pragma once

#include "cluster/cluster.h"
#include "cluster/run_order.h"

#include <functional>
#include <map>

namespace twill {

/// What a builder may do.
struct Freedom {
  std::vector<int> cluster = {};  // by stage: only stages with the same number are fused; empty: all may be
  bool from_below = false;        // the last stages choose first
  bool many_arrays = false;       // a loop may walk through any number of arrays
  bool gathers = false;           // what is read where data say may be computed there, however often
};

class ClusterBuilder {
 public:
  ClusterBuilder(Region& region, Freedom freedom, Clustering& result);

  /// Fuses all that can be fused, and writes down what has become of it.
  void run();

  // Before anything is fused, about stages by their position:
  /// Why two stages, of which the second comes later, would not be in one cluster by themselves; nothing if
  /// they would. What runs between them is not looked at.
  std::optional<Reason> why_apart(int first, int second);
  /// Stages that have to run before a stage.
  const std::set<int>& before(int stage) const { return before_[index(stage)]; }
  const UseTable& uses() const { return joiner_.uses(); }

 private:
  /// Stages that are one. `holder`: the position that holds the joined stage. `gathers`: some of them compute
  /// what they read where data say. `in_turn`: they were joined one by one, in the order of the program.
  struct Set {
    std::vector<int> members;
    int holder;
    bool gathers = false;
    bool in_turn = true;
  };

  static std::size_t index(int position) { return static_cast<std::size_t>(position); }

  void explain_blocks();
  void find_dependences();
  std::set<int> sets_before(int set) const;
  bool is_set_between(int first, int second) const;
  Reason reason(std::string code, int a, int b, const std::string& why) const;
  bool loses_parallelism(int x, int y) const;
  bool may_fuse(int a, int b) const;
  std::optional<Reason> why_not_one(const Set& first, const Set& second, int a, int b, bool siblings) const;
  std::optional<Reason> why_more_work(int first, int second) const;
  std::optional<Reason> why_not_in_turn(const Set& first, const Set& second) const;
  std::optional<Reason> why_not_before_readers(int a, int b);
  std::optional<Reason> join(int a, int b, bool siblings);
  std::size_t streams(int first, int second) const;
  bool walks_too_many(int first, int second) const;
  std::set<int> producers_of(int stage) const;
  void join_producers(int stage);
  void join_sibling(int set, std::vector<int>& candidates);
  void find_order();
  std::set<int> groups_before(int group) const;
  bool is_group_between(int first, int second) const;
  void share_with_producers(int set);
  void share_with_siblings();
  std::optional<Reason> gather_in_order(const std::vector<int>& sets, std::vector<Stage>& stages) const;
  /// Are the sets, in the order in which they run, worth a loop that they share? `stages`: what they become.
  std::optional<Reason> why_not_shared(const std::vector<int>& sets, std::vector<Stage>& stages,
                                       const std::function<bool(int, int)>& already) const;
  std::optional<Reason> share(int a, int b);
  void write_down();
  void explain_neighbours(const ClusterSets& list);

  Region& region_;
  Freedom freedom_;
  Clustering& result_;
  std::vector<Stage> written_;  // the stages, before anything is fused
  Joiner joiner_;
  std::vector<std::string> names_;
  std::vector<Set> sets_;
  std::vector<int> set_of_;  // by stage
  RunOrder set_order_, group_order_;
  std::vector<int> order_;            // sets that have members
  std::vector<int> rank_, group_of_;  // by set: its place in that order, and its group
  std::vector<std::vector<int>> groups_;
  std::vector<int> operations_;        // by holder
  std::vector<bool> in_order_;         // by holder
  std::map<SymbolId, int> born_;       // by length: the stage that has it
  std::vector<std::set<int>> before_;  // by stage: stages that have to run before
};

/// What a builder makes of the stages of a region: by stage, the number of its cluster. The stages stay as
/// they are.
std::vector<int> built_clusters(Region& region, Freedom freedom, Clustering& result);

}  // namespace twill
