// Which tile of a folded output's elements is worth holding in registers, so that one value that is read
// serves several of them.
#pragma once

#include "machine/machine.h"
#include "program/program.h"

#include <optional>
#include <set>
#include <vector>

namespace twill {

struct RegisterTile {
  /// So many points of a dimension belong to the tile.
  struct Side {
    int dim;
    std::int64_t points;
  };
  std::optional<Side> lanes;  // the innermost dimension, if it is one of the output's
  std::vector<Side> rows;     // dimensions along which points share what they read, or have few points
  std::optional<Side> chunk;  // a folded dimension: steps of it share what they read with neighbouring rows
  bool panel = false;  // what the lanes read is the same for all rows: it is read again for each of them
};

/// Nothing if no tile pays: `vector` is the dimension whose neighbours are neighbours in memory, `small` are
/// folded dimensions that are written out anyway, and `taken` those whose points loops around the stage
/// visit.
std::optional<RegisterTile> find_register_tile(const Program& program, const Machine& machine,
                                               const Stage& stage, int vector, const std::vector<int>& small,
                                               const std::set<int>& taken);

}  // namespace twill
