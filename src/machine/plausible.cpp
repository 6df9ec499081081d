#include "machine/plausible.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

namespace twill {

namespace {

constexpr double noise = 0.1;
constexpr int most_measurements = 3;

struct RateName {
  double Rates::*rate;
  const char* name;
  const char* unit;
};
constexpr std::array rate_names = {
    RateName{&Rates::read_gbs, "read", "GB/s"}, RateName{&Rates::copy_gbs, "copy", "GB/s"},
    RateName{&Rates::triad_gbs, "triad", "GB/s"}, RateName{&Rates::f32_gflops, "multiply-add f32", "GFLOP/s"},
    RateName{&Rates::f64_gflops, "multiply-add f64", "GFLOP/s"}};

bool is_slower(double rate, double than) { return rate > 0 && rate < (1 - noise) * than; }

/// The best of both.
void improve(Machine& machine, const Machine& other) {
  const auto best = [](double& rate, double again) { rate = std::max(rate, again); };
  for (const RateName& r : rate_names) {
    best(machine.rates.*r.rate, other.rates.*r.rate);
    best(machine.single.*r.rate, other.single.*r.rate);
  }
  for (std::size_t k = 0; k < machine.memory.size(); ++k)
    best(machine.memory[k].read_gbs, other.memory[k].read_gbs);
  machine.launch_us = std::min(machine.launch_us, other.launch_us);
}

}  // namespace

std::vector<std::string> implausible(const Machine& machine) {
  std::vector<std::string> list;
  for (const auto& [rate, name, unit] : rate_names) {
    const double all = machine.rates.*rate, one = machine.single.*rate;
    if (is_slower(all, one))
      list.push_back(fmt::format("{}: {:.1f} {} with all cores, {:.1f} with one", name, all, unit, one));
  }
  std::string outer_name = machine.memory.empty() ? "" : machine.memory.front().name;
  double outer = machine.rates.read_gbs;
  for (const MemoryLayer& layer : machine.memory) {
    if (is_slower(layer.read_gbs, outer))
      list.push_back(fmt::format("read: {:.1f} GB/s from {}, {:.1f} from {}", layer.read_gbs, layer.name,
                                 outer, outer_name));
    if (layer.read_gbs > outer) std::tie(outer, outer_name) = std::pair(layer.read_gbs, layer.name);
  }
  return list;
}

void measure_plausibly(Machine& machine, const MeasureOptions& options, const Measurement& measure_once) {
  measure_once(machine, options);
  for (int times = 1; times < most_measurements && !implausible(machine).empty(); ++times) {
    Machine again = machine;
    measure_once(again, options);
    improve(machine, again);
  }
}

}  // namespace twill
