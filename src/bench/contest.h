// Timing several ways to do the same job so that the figures can be compared.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace twill::bench {

/// Times of one call in milliseconds.
struct Timing {
  double best = 0;
  double median = 0;
  double spread = 0;  // between the quartiles, as a part of the median
  int samples = 0;
};

Timing summarize(std::vector<double> samples);

struct Contender {
  std::string name;
  std::function<void()> run;
  bool own_threads =
      false;  // has threads that are not OpenMP's: the others must be asleep when it runs, and vice versa
};

/// Lets contenders take turns, in an order that rotates, until `seconds` have passed, and at least for a few
/// rounds. A turn is one call that does not count, to bring threads and caches into the same state for
/// everybody, and then as many calls as the clock needs, whose average is one sample. Who needs more than all
/// of the time for one call gets one.
std::vector<Timing> contest(std::span<const Contender> contenders, double seconds);

}  // namespace twill::bench
