// Whether measured rates can be right, and measuring until they are.
#pragma once

#include "machine/machine.h"

namespace twill {

/// What cannot be in a machine's rates, for people: all cores that are slower than one core, and a layer of
/// memory that is slower than one farther away. Differences below a tenth are noise; a rate that is not known
/// contradicts nothing.
std::vector<std::string> implausible(const Machine& machine);

using Measurement = std::function<void(Machine& machine, const MeasureOptions& options)>;

/// Measures, and as long as the rates are implausible again, three times at most. Each rate is the best of
/// all times, because other work on the machine only ever slows one.
void measure_plausibly(Machine& machine, const MeasureOptions& options,
                       const Measurement& measure_once = measure);

}  // namespace twill
