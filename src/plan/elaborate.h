// elaborate: derives what follows from a plan, or says why the plan is illegal.
#pragma once

#include "base/error.h"
#include "fuse/sets.h"
#include "machine/machine.h"
#include "plan/legality.h"
#include "program/reason.h"

#include <memory>

namespace twill {

struct BlockSchedule;

/// Where an output of a pass lives and how its parts meet.
struct OutputSchedule {
  Keep keep = Keep::Full;
  std::optional<ArrayId> over;  // in place: the array in whose memory it is
  std::int64_t stream_above = -1;
  std::optional<How> merge;  // set if one of its dimensions other than Cat is cut into parts
  std::optional<int> tile;   // the loop whose iterations hold its accumulators in local variables
  bool keys_unread = false;  // of a group: nobody looks at its keys, so they are no array

  /// What the output leaves in memory, if it is not local.
  std::vector<ArrayId> arrays(const Output& output) const;
};

/// One stage of a pass.
struct StageSchedule {
  const Stage* stage = nullptr;         // of Schedule::program
  std::vector<OutputSchedule> outputs;  // as in the stage
  std::vector<BlockSchedule> blocks;    // none for a formula, one for a nested block, two for a branch
  std::optional<Ahead> ahead;           // which rows are brought into the caches before they are read
};

/// A cluster whose loops are known to be legal.
struct Pass {
  std::vector<std::string> names;     // of the stages that share it, as in the plan
  std::vector<StageSchedule> stages;  // what they were joined to, one for each instance
  ClusterLoops loops;
  std::int64_t grain = 0;
  std::vector<ArrayId> dies;  // intermediate arrays of this block that nobody needs after this pass
};

struct BlockSchedule {
  std::vector<Pass> passes;
};

/// What a plan leads to; everything that reads it may rely on it being legal.
struct Schedule {
  std::shared_ptr<const Program> program;
  Plan plan;
  BlockSchedule body;

  // Consequences that people ask for (nested blocks counted once).
  int passes = 0;  // walks over memory: clusters with at least one loop
  int loops = 0;
  int buffers = 0;  // intermediate arrays that live in memory
};

/// The clusters of a plan, without their loops. All instances have stages.
std::vector<ClusterSets> sets_of(const Plan& plan);

/// Legal means that this succeeds.
Result<Schedule, Reason> elaborate(std::shared_ptr<const Program> program, const Machine& machine,
                                   const Plan& plan);

}  // namespace twill
