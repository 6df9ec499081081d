// What is known of every edge of a list of stages before anything is chosen.
#pragma once

#include "fuse/guess.h"
#include "fuse/region.h"
#include "program/reason.h"

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace twill {

/// Which elements of an array a point of its reader needs, from the least to the most.
enum class Demand : std::uint8_t {
  Identity,  // the one at its own place
  Shifted,   // one at a fixed distance
  Halo,      // those around its place
  Strided,   // some at a multiple, a part, or the mirror image of its place
  Whole,     // all along some dimension, or one for all points
  Indexed,   // some that data choose
  Opaque,    // what a block reads of it
};
std::string_view name_of(Demand demand);

/// Along a dimension of the array: of a tile of so many points, the elements before the first, and after the
/// last one, that it needs as well.
struct Reach {
  std::int64_t before = 0, after = 0;
  friend auto operator<=>(const Reach&, const Reach&) = default;
};

struct EdgeFacts {
  int maker, reader;  // positions in the list
  ArrayId array;
  Demand demand;
  double bytes;                             // of the array …
  bool knows_bytes;                         // … or a guess, because sizes are not known
  std::vector<std::optional<Reach>> reach;  // by dimension; nothing: not a few elements around the own place
  int depth = 0;                            // outer loops that the two could share
  std::optional<Reason> why;                // they are in no loop together

  /// What is computed again, as a share, if the maker computes what tiles of the reader need, each by itself.
  /// Nothing if tiles do not need a part.
  std::optional<double> again(std::int64_t points_along_each) const;
};

/// Facts of all edges of a list of stages, by their makers.
std::vector<EdgeFacts> facts_of(Region& region, const KnownSizes& known);

}  // namespace twill
