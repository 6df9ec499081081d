// Questions about the layers of a machine.
#include "machine/machine.h"

#include <fmt/format.h>

#include <algorithm>

namespace twill {

int Machine::count(CoreKind kind) const {
  // A unit of this kind lies inside a unit of every coarser layer.
  int units = 1;
  for (const CoreLayer& layer : cores) {
    units *= layer.count;
    if (layer.kind == kind) return units;
  }
  return 1;
}

int Machine::lanes(int element_bytes) const {
  for (const CoreLayer& layer : cores)
    if (layer.kind == CoreKind::Simd) return std::max(1, layer.count * 4 / element_bytes);
  return 1;
}

const MemoryLayer* Machine::find_memory(std::string_view layer) const {
  const auto found = std::ranges::find(memory, layer, &MemoryLayer::name);
  return found == memory.end() ? nullptr : &*found;
}

const MemoryLayer* Machine::last_level_cache() const {
  const auto found = std::ranges::find(memory, true, &MemoryLayer::automatic);
  return found == memory.end() ? nullptr : &*found;
}

double Machine::floor_ms(double operations, double bytes_read, double bytes_written,
                         int element_bytes) const {
  // 10^9 per second are 10^6 per millisecond.
  const auto ms = [](double amount, double giga_per_second) {
    return giga_per_second > 0 ? amount / (giga_per_second * 1e6) : 0.0;
  };
  return std::max({ms(operations, element_bytes > 4 ? rates.f64_gflops : rates.f32_gflops),
                   ms(bytes_read, rates.read_gbs), ms(bytes_read + bytes_written, rates.copy_gbs)});
}

namespace {

std::string size_text(std::int64_t bytes) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto size = static_cast<double>(bytes);
  int unit = 0;
  for (; size >= 1024 && unit < 4; ++unit) size /= 1024;
  return fmt::format("{:.{}f} {}", size, size < 10 && size != static_cast<int>(size) ? 2 : 0, units[unit]);
}

std::string rate_text(double rate, const char* unit) {
  return rate > 0 ? fmt::format("{:.{}f} {}", rate, rate < 10 ? 2 : 1, unit) : "unknown";
}

}  // namespace

std::string to_string(const Machine& machine) {
  std::string text = machine.name + "\n\nmemory layer      size   instances         read\n";
  for (const MemoryLayer& layer : machine.memory) {
    const double read = &layer == &machine.memory.front() ? machine.rates.read_gbs : layer.read_gbs;
    text += fmt::format("{:12}{:>10}{:>12}", layer.name, size_text(layer.bytes), layer.instances);
    if (read > 0) text += fmt::format("{:>13}", rate_text(read, "GB/s"));
    text += "\n";
  }
  text += "\ncore layer       count\n";
  for (const CoreLayer& layer : machine.cores) text += fmt::format("{:12}{:>10}\n", layer.name, layer.count);
  text += fmt::format("\n{:36}{:>16}{:>16}\n", "rate", "all cores", "one core");
  const auto row = [&](const char* what, double Rates::*rate, const char* unit) {
    text += fmt::format("{:36}{:>16}{:>16}\n", what, rate_text(machine.rates.*rate, unit),
                        rate_text(machine.single.*rate, unit));
  };
  row("read", &Rates::read_gbs, "GB/s");
  row("copy, streaming stores", &Rates::copy_gbs, "GB/s");
  row("triad, ordinary stores", &Rates::triad_gbs, "GB/s");
  row("multiply-add f32", &Rates::f32_gflops, "GFLOP/s");
  row("multiply-add f64", &Rates::f64_gflops, "GFLOP/s");
  text += fmt::format("{:36}{:>16}\n", "launch of a parallel region", rate_text(machine.launch_us, "us"));
  return text;
}

}  // namespace twill
