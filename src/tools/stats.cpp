// The table of --stats.
#include "tools/stats.h"

#include "plan/traffic.h"
#include "tools/data_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace twill {

namespace {

/// The three most significant digits at least.
std::string ms_text(double ms) { return fmt::format("{:.{}f} ms", ms, ms < 1 ? 3 : ms < 100 ? 2 : 0); }

class Table {
 public:
  explicit Table(const Program& program, std::span<const Data> inputs, const RunStats& stats)
      : program_(program), inputs_(inputs), stats_(stats) {}

  std::string text() {
    row("program", program_.name);
    const KnownSizes known = known_sizes(program_, inputs_);
    std::vector<std::string> size_texts;
    for (const auto& [symbol, size] : known.sizes)
      size_texts.push_back(fmt::format("{} = {}", program_[symbol].name, size));
    if (!size_texts.empty()) row("sizes", fmt::format("{}", fmt::join(size_texts, ", ")));
    if (stats_.compilation) structure();
    timing();
    if (stats_.compilation) traffic(known);
    if (!stats_.verified.empty()) row("verified", stats_.verified);
    if (stats_.compilation) passes();
    steps();
    return text_;
  }

 private:
  void row(std::string_view what, const std::string& value) {
    text_ += fmt::format("{:<20}{}\n", what, value);
  }

  void structure() {
    int stages = 0;
    for_each_stage(program_.stages, [&](const Stage&) { ++stages; });
    const Schedule& schedule = *stats_.compilation->schedule;
    row("stages", std::to_string(stages));
    row("passes over memory", std::to_string(schedule.passes));
    row("intermediate arrays", std::to_string(schedule.buffers));
    row("kernel", stats_.compilation->kernel->library().cached ? "found in the cache" : "compiled now");
  }

  void timing() {
    std::vector<double> runs = stats_.run_ms;
    std::ranges::sort(runs);
    if (runs.size() == 1)
      row("time", ms_text(runs[0]));
    else
      row("time", fmt::format("{} at best, {} in the middle of {} runs", ms_text(runs[0]),
                              ms_text(runs[runs.size() / 2]), runs.size()));
  }

  void traffic(const KnownSizes& known) {
    traffic_ = traffic_of(*stats_.compilation->schedule, known);
    const double moved = traffic_.read + traffic_.written;
    const double best = std::ranges::min(stats_.run_ms);
    const std::string at_least = traffic_.complete ? "" : "at least ";
    row("bytes moved", fmt::format("{}{}; reading inputs and writing results alone would be {}", at_least,
                                   bytes_text(moved), bytes_text(traffic_.least)));
    const double rate = moved / best / 1e6;
    const Machine& machine = stats_.compilation->machine;
    if (machine.rates.copy_gbs == 0) {
      row("rate",
          fmt::format("{}{:.1f} GB/s (`twill machine` measures what the machine can do)", at_least, rate));
      return;
    }
    const auto share = [&](double of) {
      return fmt::format("{}{:.1f} GB/s, {:.0f}%", at_least, rate, 100 * rate / of);
    };
    const MemoryLayer* cache = machine.last_level_cache();
    if (cache && cache->read_gbs > 0 && traffic_.complete &&
        traffic_.footprint < static_cast<double>(cache->bytes)) {
      row("rate",
          fmt::format("{} of the {:.1f} GB/s of the {} cache, where all arrays ({}) fit",
                      share(cache->read_gbs), cache->read_gbs, cache->name, bytes_text(traffic_.footprint)));
    } else {
      row("rate", fmt::format("{} of the machine's {:.1f} GB/s", share(machine.rates.copy_gbs),
                              machine.rates.copy_gbs));
    }
  }

  void passes() {
    text_ += fmt::format("\n{:<6}{:<28}{:>10}{:>12}{:>12}\n", "pass", "stages", "times", "reads", "writes");
    int number = 0;
    for (const PassTraffic& pass : traffic_.passes)
      text_ += fmt::format("{:<6}{:<28}{:>10.0f}{:>12}{:>12}\n", ++number,
                           fmt::format("{}", fmt::join(pass.stages, ", ")), pass.times, bytes_text(pass.read),
                           bytes_text(pass.written));
  }

  void steps() {
    text_ += fmt::format("\n{:<30}{:>12}\n", "step of the command", "time");
    double total = 0;
    for (const auto& [what, ms] : stats_.steps) {
      text_ += fmt::format("{:<30}{:>12}\n", what, ms_text(ms));
      total += ms;
    }
    text_ += fmt::format("{:<30}{:>12}\n", "all", ms_text(total));
  }

  const Program& program_;
  std::span<const Data> inputs_;
  const RunStats& stats_;
  Traffic traffic_;
  std::string text_;
};

}  // namespace

std::string stats_text(const Program& program, std::span<const Data> inputs, const RunStats& stats) {
  return Table(program, inputs, stats).text();
}

}  // namespace twill
