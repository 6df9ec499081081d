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
  void find_early();
  Code loops(bool first_pass);
  Code from(std::size_t level);
  For part_loop(std::size_t level);
  For point_loop(std::size_t level);
  Code iteration();
  bool is_on_stack(ArrayId array) const;
  Expr enough_points();

  Tables& t_;
  std::int64_t grain_;
  std::vector<ChainLevel> shared_;
  int depth_;                 // dimensions
  std::deque<Stage> stages_;  // with one index for a shared dimension, and local arrays by iteration
  std::vector<StageSchedule> schedules_;
  std::deque<StageNest> members_;
  std::vector<ArrayId> locals_;
  std::set<ArrayId> early_;       // what the first pass of a member needs of others
  std::size_t memory_level_ = 0;  // local arrays get memory just outside of this loop: one for every worker
  bool first_pass_ = false;
  std::optional<DimId> part_;
  Expr parts_;
};

}  // namespace twill::nest
