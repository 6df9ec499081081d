// Halide 14 as a peer. Programs in `peers/` are compiled with the system's C++ compiler when a case asks for
// them; each then writes the pipeline under every schedule there is: the one by hand and those of the
// autoschedulers that are installed. Nothing depends on Halide, and nothing of it but the finished pipelines
// runs in this process.
#pragma once

#include "bench/case.h"

#include <string>
#include <vector>

namespace twill::bench {

/// Peers called "halide", one for each schedule, that run peers/NAME.cpp; the first is the schedule by hand.
/// The sizes are what schedulers plan for. What cannot be had says why. Pipelines are kept in the cache.
std::vector<Peer> halide_peers(Session& session, const std::string& name,
                               const std::vector<std::int64_t>& sizes, int threads);

}  // namespace twill::bench
