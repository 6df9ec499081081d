// How long a schedule takes, as far as a choice between schedules needs to know (machine/time_model.h).
#pragma once

#include "machine/time_model.h"
#include "plan/elaborate.h"
#include "program/known.h"

namespace twill {

/// In nanoseconds: what every pass reads and writes, and all that is computed.
double predicted_time(const Schedule& schedule, const TimeModel& model, const KnownSizes& known);

/// Stages of the program that the schedule keeps in memory, although it would take less time to compute them
/// again wherever they are read, each with a reason that says so. None of them reads another one.
std::vector<Reason> better_recomputed(const Program& program, const Schedule& schedule,
                                      const TimeModel& model, const KnownSizes& known);

}  // namespace twill
