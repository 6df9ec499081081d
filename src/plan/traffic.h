// How many bytes the passes of a schedule move.
#pragma once

#include "plan/elaborate.h"
#include "program/known.h"

#include <map>
#include <set>

namespace twill {

/// Bytes between a pass and its arrays. Every array that a pass reads or writes counts once and whole; caches
/// may save some of it when the next pass finds what the last one left.
struct PassTraffic {
  std::vector<std::string> stages;
  double times = 1;  // how often the pass runs, in a loop around it
  double read = 0;   // in one run
  double written = 0;
};

/// Of one array, by all passes together.
struct ArrayTraffic {
  double read = 0, written = 0;
  double moved() const { return read + written; }
};

struct Traffic {
  std::vector<PassTraffic> passes;
  std::map<std::string, ArrayTraffic> arrays;  // by name; single values are none
  double read = 0;                             // all runs of all passes together
  double written = 0;
  double least = 0;      // every input read once and every result written once
  double footprint = 0;  // of all arrays at once
  bool complete = true;  // false: some size is only known at run time, and its arrays are left out
};

/// Arrays in memory that a pass reads, and those that it makes; what blocks inside of it read is left to
/// their own passes.
struct PassArrays {
  std::set<ArrayId> read, written;
};

PassArrays arrays_of(const Program& program, const Pass& pass);

Traffic traffic_of(const Schedule& schedule, const KnownSizes& known);

}  // namespace twill
