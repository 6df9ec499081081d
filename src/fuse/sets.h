// Sets of stages that become one stage each: what a clustering decides and a plan's clusters say.
#pragma once

#include "base/error.h"
#include "fuse/region.h"
#include "program/reason.h"

#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace twill {

/// Stages that become one, under the name of the last of them, in the order of the program.
using StageSet = std::vector<std::string>;

/// The stages of one list (the program's own if `owner` is empty, or those of a block of that stage;
/// `branch`: 1 for `otherwise`) as sets, in the order in which they run. The sets of a cluster share their
/// outer loops (fuse/share.h). A stage that is in no set is not run: who reads what it makes computes that
/// again (fuse/inline.h).
struct ClusterSets {
  std::string owner;
  int branch = 0;
  std::vector<std::vector<StageSet>> clusters;
  std::set<std::string> sliced =
      {};  // sets, by their names, that share no loop: tiles of others need parts of them
};

/// The sets of a cluster that is computed tile by tile, in the order in which they run.
struct TiledSets {
  std::vector<StageSet> sets;
  std::set<std::string> sliced;  // by name
  std::vector<double> again;     // by set: the share of it that several tiles compute
};

/// The program with the sets as its stages, or the reason why that is not possible. Lists that are not
/// mentioned stay as they are. A set that goes through a collection that another one of its cluster fills
/// visits the points of that.
Result<std::shared_ptr<const Program>, Reason> fuse_clusters(const std::shared_ptr<const Program>& program,
                                                             std::span<const ClusterSets> lists);

/// The program without some of its stages: who reads what they make computes that again. Nothing if that is
/// not possible.
std::shared_ptr<const Program> without_stages(const std::shared_ptr<const Program>& program,
                                              const std::set<std::string>& names);

/// Why some stages of a list, by position in the order of the program, cannot be one set; nothing if they
/// can.
std::optional<Reason> why_not_one_set(const Region& region, const std::vector<Stage>& stages,
                                      const std::vector<int>& members);

/// Joins stages of a list, step by step.
class Joiner {
 public:
  explicit Joiner(Region& region) : region_(region), uses_(region) {}

  /// Why the stage at position `first` cannot become part of the one at `second`, which comes after it.
  std::optional<Reason> why_not(int first, int second) const;
  /// Makes it so: the stage at `second` does the work of both, and the one at `first` is empty.
  void join(int first, int second);

  const Stage& operator[](int position) const { return region_.stages[static_cast<std::size_t>(position)]; }
  /// The stage at a position computes the same in another way.
  void replace(int position, Stage stage) {
    region_.stages[static_cast<std::size_t>(position)] = std::move(stage);
  }
  const UseTable& uses() const { return uses_; }

 private:
  Region& region_;
  UseTable uses_;
};

}  // namespace twill
