// Plan: how a program is computed. Decisions only, never consequences.
//
// A plan names stages and dimensions of a program and says which loops run them, in which order,
// who runs the iterations, and which memory holds what. It is plain data: it prints, round-trips
// through JSON, is edited and searched. Whether it is legal, and what follows from it, is derived by
// `elaborate` (elaborate.h). Every legal plan of a program computes the same result.
#pragma once

#include "program/program.h"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace twill {

/// Who runs the iterations of a loop.
enum class By : std::uint8_t { Seq, Unroll, Simd, Core, Block, Warp, Thread, Node };

/// Into how large pieces a loop cuts the range of its axis: pieces of `count` indices (1: the points),
/// or `count` pieces of nearly equal size, which workers take in turns (0: as many as there are workers).
struct Cut {
  enum class Kind : std::uint8_t { Step, Parts };
  Kind kind = Kind::Step;
  std::int64_t count = 1;
  friend bool operator==(const Cut&, const Cut&) = default;
};

/// One execution of stages inside a cluster: those named here, in the order of the program, are joined into
/// one (fuse/sets.h), under the name of the last of them. `clone` tells copies apart (an unrolled time step,
/// a producer that is computed in several places).
struct Instance {
  std::vector<std::string> stages;
  int clone = 0;
  friend bool operator==(const Instance&, const Instance&) = default;

  const std::string& name() const { return stages.back(); }
};

/// Dimension `dim` of instance `instance` of the cluster, both by position.
struct Axis {
  int instance = 0;
  int dim = 0;
  friend auto operator<=>(const Axis&, const Axis&) = default;
};

struct Loop;

/// The body of an instance stands here.
struct Leaf {
  int instance = 0;
  friend bool operator==(const Leaf&, const Leaf&) = default;
};

using LoopTree = std::vector<std::variant<Loop, Leaf>>;

/// A loop over one axis per instance below it, all with the same range. An axis may be cut by several
/// loops, from outer to inner; the innermost visits the points (a step of 1). A loop by Unroll is written
/// out: its points are known in advance, or as many as the step of the loop around it over the same axis.
/// Several items in `body` are phases that run one after the other in every iteration. An instance that has
/// no axis in the loops around the phases is sliced: every iteration computes, of it, what the phases after
/// it read (slice/slice.h).
struct Loop {
  std::vector<Axis> axes;
  Cut cut;
  By by = By::Seq;
  LoopTree body;
  friend bool operator==(const Loop& a, const Loop& b);
};

/// Which memory holds an output.
enum class Keep : std::uint8_t {
  Full,   // the whole array, in memory of its own
  Alias,  // in place: in the memory of another array
  Local,  // what one iteration of the shared loops computes: only the other instances inside of them read it
  Ring,   // the same, and what the next iterations of the innermost shared loop need of it as well: they
          // compute only what is new
};

/// Does the array live inside of the shared loops only?
constexpr bool is_local(Keep keep) { return keep == Keep::Local || keep == Keep::Ring; }

struct Store {
  int instance = 0;
  int output = 0;
  Keep keep = Keep::Full;
  /// Written past the caches if the array has at least this many bytes; negative: never.
  std::int64_t stream_above = -1;
  /// Of what is in place: the array that nobody needs any more and in whose memory it is; empty: the one that
  /// it is `into`.
  std::string over = {};
  friend bool operator==(const Store&, const Store&) = default;
};

/// How the parts of a dimension that is cut for several workers are put together again.
enum class How : std::uint8_t {
  Partial,  // every part has a result of its own (a value, a table, a buffer); combined in order
  TwoPass,  // a first pass learns what each part needs from those before it, a second one writes
};

struct Merge {
  int instance = 0;
  int output = 0;
  How how = How::Partial;
  friend bool operator==(const Merge&, const Merge&) = default;
};

/// Accumulators in registers: during one iteration of loop number `loop` (counted from the outermost one),
/// the elements of a folded output that it visits are held in local variables and written when it ends. The
/// Cat dimensions inside of that loop have a known number of points, so the variables are as many as the tile
/// has elements; folded dimensions run inside as often as they like.
struct Tile {
  int instance = 0;
  int output = 0;
  int loop = 0;
  friend bool operator==(const Tile&, const Tile&) = default;
};

/// Reading ahead: while an instance runs along a row, the rows that it reads for the first time `points`
/// further along dimension `dim` are brought into the caches, from arrays of at least `above` bytes. Hardware
/// fetches ahead along a row by itself, but does not know where the next one begins.
struct Ahead {
  int instance = 0;
  int dim = 0;
  std::int64_t points = 1;
  std::int64_t above = 0;
  friend bool operator==(const Ahead&, const Ahead&) = default;
};

/// Stages that share a pass over memory. Several instances share the outer loops and run one after the other
/// in every iteration of them, each with inner loops of its own.
struct Cluster {
  std::vector<Instance> instances;
  LoopTree loops;
  std::vector<Store> stores;  // outputs that are not listed: in full, with ordinary stores
  std::vector<Merge> merges;  // one per output of which a dimension other than Cat is cut into parts
  std::vector<Tile> tiles;    // at most one per output
  std::vector<Ahead> ahead;   // at most one per instance
  std::int64_t grain = 0;     // a cluster with fewer points than this is left to one worker
  friend bool operator==(const Cluster&, const Cluster&) = default;
};

/// The clusters of one list of stages, in order: the program's own (owner is empty) or those of a block
/// nested in a stage (`branch`: 0 for a nested block or `then`, 1 for `otherwise`). A stage that is in none
/// of them is computed again wherever it is read.
struct BlockPlan {
  std::string owner;
  int branch = 0;
  std::vector<Cluster> clusters;
  friend bool operator==(const BlockPlan&, const BlockPlan&) = default;
};

struct Plan {
  std::string program;  // name of the program it is for
  std::string machine;  // name of the machine it was made for
  std::vector<BlockPlan> blocks;
  friend bool operator==(const Plan&, const Plan&) = default;

  const BlockPlan* find(std::string_view owner, int branch) const;
};

/// "seq", "core", … and "partial", "two-pass"; the JSON form uses the same words.
std::string_view name_of(By by);
std::string_view name_of(Keep keep);
std::string_view name_of(How how);

/// JSON text; plan_from_json(to_json(p)) == p. Throws E0401 for text that is not a plan.
std::string to_json(const Plan& plan);
Plan plan_from_json(const std::string& text);

}  // namespace twill
