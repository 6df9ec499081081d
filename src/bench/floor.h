// The floor of memory for one case, measured on the case's own arrays and in turns with the contenders: how
// fast memory is depends on where the pages lie and on what else the machine is doing just now.
#pragma once

#include "bench/contest.h"
#include "machine/machine.h"
#include "program/data.h"

#include <span>
#include <vector>

namespace twill::bench {

/// Loops on all cores that only read the inputs, and that only copy the largest input to the largest result.
/// The copy overwrites that result. Both arrays must outlive the contenders.
class MemoryFloor {
 public:
  MemoryFloor(std::span<const Data> inputs, std::span<Data> results);

  /// One or two: there is no copy if inputs and results are of too different sizes.
  const std::vector<Contender>& contenders() const { return contenders_; }

  /// The machine with the rates of memory that these timings of the contenders mean.
  Machine rated(Machine machine, std::span<const Timing> timings) const;

 private:
  std::vector<Contender> contenders_;
  double read_bytes_ = 0;    // by the first contender
  double copied_bytes_ = 0;  // read and written by the second
};

}  // namespace twill::bench
