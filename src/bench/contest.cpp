// Runs contestants in turns, so that what disturbs the machine disturbs all of them.
#include "bench/contest.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

namespace twill::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int least_rounds = 3;
constexpr double least_sample_ms = 0.5;  // shorter than this, calls are timed together
constexpr int most_calls = 1000;
constexpr double least_budget =
    0.5;  // seconds; a call that takes longer than the whole budget is not repeated

/// Longer than idle threads of an OpenMP runtime or of a BLAS keep a core busy waiting for more.
constexpr auto settle = std::chrono::milliseconds(30);

double since_ms(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

double time_calls(const Contender& contender, int calls) {
  const auto start = Clock::now();
  for (int c = 0; c < calls; ++c) contender.run();
  return since_ms(start) / calls;
}

double quantile(const std::vector<double>& sorted, double part) {
  const double at = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], at - static_cast<double>(below));
}

}  // namespace

Timing summarize(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  const double median = quantile(samples, 0.5);
  const double spread = median > 0 ? (quantile(samples, 0.75) - quantile(samples, 0.25)) / median : 0;
  return {samples.front(), median, spread, static_cast<int>(samples.size())};
}

std::vector<Timing> contest(std::span<const Contender> contenders, double seconds) {
  const std::size_t count = contenders.size();
  std::vector<std::vector<double>> samples(count);
  std::vector<int> calls(count);
  for (std::size_t c = 0; c < count; ++c) {
    contenders[c].run();
    const double once = time_calls(contenders[c], 1);
    samples[c].push_back(once);
    calls[c] = once > 1000 * std::max(seconds, least_budget)
                   ? 0
                   : std::clamp(static_cast<int>(least_sample_ms / std::max(once, 1e-6)), 1, most_calls);
  }
  const auto start = Clock::now();
  bool own_threads = false;  // of the contender before
  for (int round = 0; round < least_rounds || since_ms(start) < 1000 * seconds; ++round) {
    for (std::size_t turn = 0; turn < count; ++turn) {
      const std::size_t c = (turn + static_cast<std::size_t>(round)) % count;
      if (calls[c] == 0) continue;
      if (contenders[c].own_threads != own_threads) std::this_thread::sleep_for(settle);
      own_threads = contenders[c].own_threads;
      contenders[c].run();
      samples[c].push_back(time_calls(contenders[c], calls[c]));
    }
  }
  std::vector<Timing> timings;
  for (std::vector<double>& s : samples) timings.push_back(summarize(std::move(s)));
  return timings;
}

}  // namespace twill::bench
