#include "machine/time_model.h"

#include "machine/machine.h"

#include <algorithm>

namespace twill {

namespace {

/// A function of the C library takes as long as so many operations at their peak, in lanes.
constexpr double operations_of_a_call = 500;

}  // namespace

const TimeModel::Layer& TimeModel::layer_of(double bytes, bool known) const {
  const auto found = std::find_if(layers.begin(), layers.end(),
                                  [&](const Layer& layer) { return known && bytes <= layer.bytes; });
  return found == layers.end() ? layers.back() : *found;
}

std::vector<std::reference_wrapper<double>> TimeModel::coefficients() {
  std::vector<std::reference_wrapper<double>> all;
  for (Layer& layer : layers) {
    all.push_back(layer.read_ns);
    all.push_back(layer.write_ns);
  }
  all.push_back(operation_ns);
  all.push_back(call_ns);
  all.push_back(array_ns);
  return all;
}

TimeModel time_model_of(const Machine& machine) {
  if (machine.fitted) return *machine.fitted;
  TimeModel model;
  TimeModel::Layer& memory = model.layers.back();
  const Rates& rates = machine.rates;
  if (rates.read_gbs > 0) memory.read_ns = memory.write_ns = 1 / rates.read_gbs;
  // To copy is to read as many bytes as to write.
  if (rates.copy_gbs > 0) memory.write_ns = std::max(memory.read_ns, 2 / rates.copy_gbs - memory.read_ns);
  const MemoryLayer* cache = machine.last_level_cache();
  // Half of the cache: something else is in it, too. It is never slower than memory, whatever was measured
  // on a machine that was busy.
  if (cache && cache->read_gbs > 0) {
    const double ns = std::min(1 / cache->read_gbs, memory.read_ns);
    const double bytes = static_cast<double>(cache->bytes) * cache->instances / 2;
    model.layers.insert(model.layers.begin(), {bytes, ns, ns});
  }
  // Few operations are fused multiply-adds, and none costs anything while its loop waits for memory. That an
  // operation counts as much as at the peak is what fits say (`twill machine --fit`).
  if (rates.f32_gflops > 0) model.operation_ns = 1 / rates.f32_gflops;
  model.call_ns = operations_of_a_call * model.operation_ns;
  model.array_ns = 1000 * std::min(machine.launch_us, 50.0);
  return model;
}

}  // namespace twill
