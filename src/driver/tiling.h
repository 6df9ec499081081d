// Who chooses clusters asks here which stages could be computed in slices, for tiles of others.
#pragma once

#include "cluster/cluster.h"
#include "machine/machine.h"

#include <memory>

namespace twill {

/// About the lists of a program that is to be planned for a machine.
class PlannedTiling : public Tiling {
 public:
  PlannedTiling(std::shared_ptr<const Program> program, const Machine& machine)
      : program_(std::move(program)), machine_(machine) {}

  std::optional<double> again(const Program& program, const Stage& first, const Stage& second) const override;
  std::vector<std::optional<TiledSets>> tiles(const ClusterSets& list,
                                              std::span<const std::size_t> clusters) const override;
  ClusterSets merged(const ClusterSets& list) const override;

 private:
  std::shared_ptr<const Program> program_;
  const Machine& machine_;
};

}  // namespace twill
