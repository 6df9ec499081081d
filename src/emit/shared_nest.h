// Lowers stages that share their outer loops: one after the other in every iteration, each with inner loops
// and merges of its own (stage_nest.h).
#pragma once

#include "emit/stage_nest.h"

#include <deque>
#include <memory>

namespace twill::nest {

class SharedNest {
 public:
  SharedNest(Tables& tables, const Pass& pass, Surroundings surroundings);

  Code lower();

 private:
  void use_one_index(const Pass& pass);
  void keep_local(const Pass& pass);
  void keep_slices(const Pass& pass);
  ArrayId in_box(ArrayId array, Box box);
  Expr read_instead(Expr root, const std::map<ArrayId, ArrayId>& arrays);
  void find_early();
  void share_rooms();
  Code loops(bool first_pass);
  Code from(std::size_t level);
  StageNest::Range parts_to_learn() const;
  For part_loop(std::size_t level);
  For tile_loop(std::size_t level);
  For point_loop(std::size_t level);
  Code iteration();
  Code slice(std::size_t member);
  bool is_on_stack(ArrayId array) const;
  const std::vector<Expr>& extents_of(ArrayId array) const;
  bool has_room(ArrayId array, ArrayId other) const;
  Expr enough_points();
  const Dim& dim_of(const ChainLevel& level) const;

  /// The part of a member that an iteration computes.
  struct Part {
    Slice slice;
    std::vector<DimId> origin;  // by dimension: the first index in memory
    std::optional<int> slides;  // the dimension of a ring
    ArrayId done;               // how far that is computed
  };

  Tables& t_;
  std::int64_t grain_;
  ClusterLoops loops_;
  std::vector<ChainLevel> shared_;
  int depth_;                   // dimensions
  std::size_t leader_;          // the first stage that the shared loops run over
  std::vector<DimId> origins_;  // of the iterations, by shared loop
  std::deque<Stage> stages_;    // with one index for a shared dimension, and local arrays by iteration
  std::vector<StageSchedule> schedules_;
  std::deque<StageNest> members_;
  std::map<std::size_t, Part> parts_of_;  // by member: those that are sliced
  std::vector<ArrayId> locals_;
  std::set<ArrayId> early_;       // what the first pass of a member needs of others
  std::size_t memory_level_ = 0;  // local arrays get memory just outside of this loop: one for every worker
  bool first_pass_ = false;
  std::optional<DimId> part_;
  Expr parts_;
};

}  // namespace twill::nest
