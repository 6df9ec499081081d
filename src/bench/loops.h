// Loops written by hand in C and compiled on the spot: what somebody without Twill would write.
#pragma once

#include "bench/case.h"

#include <string>
#include <vector>

namespace twill::bench {

/// A peer from the body of a C function that sees `in[i]` and `out[i]` (pointers to the elements of inputs
/// and results, void), `n[i]` (int64_t sizes, given here) and `room[i]` (how many elements a result has,
/// which those that are born at run time must not exceed). The prelude declares `stream_row(to, from,
/// count)`, which copies floats past the caches. Compiled with optimisation for this CPU and OpenMP; sums may
/// be reassociated.
Peer loops(Session& session, const std::string& name, const std::string& body,
           std::vector<std::int64_t> sizes);

/// The same, named "hand", compiled with the flags of our kernels; `functions` stand before the body.
Peer hand_loops(Session& session, const std::string& functions, const std::string& body,
                std::vector<std::int64_t> sizes);

}  // namespace twill::bench
