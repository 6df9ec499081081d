// The layers of the machine we run on, from hwloc, and where its measured rates are kept.
#include "base/error.h"
#include "base/files.h"
#include "machine/cpu.h"
#include "machine/plausible.h"

#include <fmt/format.h>
#include <hwloc.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <memory>

namespace twill {

namespace fs = std::filesystem;

namespace {

struct Destroy {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, Destroy>;

/// Only what this process may use: of the cores, those that its CPU binding leaves.
Topology load_topology() {
  hwloc_topology_t raw = nullptr;
  ensure(hwloc_topology_init(&raw) == 0, "hwloc can be initialised");
  Topology topology(raw);
  hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_flags(raw,
                           HWLOC_TOPOLOGY_FLAG_RESTRICT_TO_CPUBINDING | HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM);
  ensure(hwloc_topology_load(raw) == 0, "hwloc can read the topology");
  return topology;
}

std::string machine_name(const Cpu& cpu) { return fmt::format("{} × {}", cpu.model, cpu.cpus); }

/// "machine-intel-r-xeon-r-processor-2-80ghz-x-2.json"
std::string file_name(const Cpu& cpu) {
  std::string name = "machine";
  for (char c : fmt::format("-{}-x-{}", cpu.model, cpu.cpus)) {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (name.back() != '-') {
      name += '-';
    }
  }
  return name + ".json";
}

}  // namespace

Machine detect_machine() {
  const Cpu cpu = identify_cpu();
  const Topology topology = load_topology();
  const int cores = std::max(1, hwloc_get_nbobjs_by_type(topology.get(), HWLOC_OBJ_CORE));

  Machine machine;
  machine.name = machine_name(cpu);
  // Not hwloc's total: it adds up NUMA nodes, which leave out memory that was plugged in later.
  const std::int64_t total = std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  machine.memory.push_back({.name = "memory", .bytes = total});
  const std::pair<hwloc_obj_type_t, const char*> caches[] = {{HWLOC_OBJ_L5CACHE, "L5"},
                                                             {HWLOC_OBJ_L4CACHE, "L4"},
                                                             {HWLOC_OBJ_L3CACHE, "L3"},
                                                             {HWLOC_OBJ_L2CACHE, "L2"},
                                                             {HWLOC_OBJ_L1CACHE, "L1"}};
  for (const auto& [type, name] : caches) {
    const int instances = hwloc_get_nbobjs_by_type(topology.get(), type);
    if (instances < 1) continue;
    const auto& cache = hwloc_get_obj_by_type(topology.get(), type, 0)->attr->cache;
    machine.memory.push_back({.name = name,
                              .bytes = static_cast<std::int64_t>(cache.size),
                              .instances = instances,
                              .line_bytes = cache.linesize ? static_cast<int>(cache.linesize) : 64,
                              .automatic = true});
  }
  machine.memory.push_back({.name = "registers",
                            .bytes = std::int64_t{cpu.vector_bytes} * cpu.vector_registers,
                            .instances = cores,
                            .line_bytes = cpu.vector_bytes});
  machine.cores = {{CoreKind::Core, "core", cores}, {CoreKind::Simd, "simd", cpu.vector_bytes / 4}};
  return machine;
}

KnownMachine this_machine(const fs::path& directory, Measure when, const MeasureOptions& options) {
  const Cpu cpu = identify_cpu();
  KnownMachine known;
  known.file = directory / file_name(cpu);
  bool found = false;
  std::error_code ignored;
  if (fs::exists(known.file, ignored)) {
    try {
      known.machine = machine_from_json(read_file(known.file), known.file.string());
      found = known.machine.name == machine_name(cpu);
      MemoryLayer& memory = known.machine.memory.front();  // its rate may stand among the rates alone
      if (memory.read_gbs == 0) memory.read_gbs = known.machine.rates.read_gbs;
    } catch (const Error&) {
      // Damaged: made anew and replaced.
    }
  }
  if (!found) known.machine = detect_machine();
  const bool missing = known.machine.rates.read_gbs == 0;
  if (when == Measure::Again || (when == Measure::IfMissing && missing)) {
    if (found) known.machine = detect_machine();
    measure_plausibly(known.machine, options);
    known.measured = true;
  }
  if (!found || known.measured) keep(known);
  return known;
}

void keep(KnownMachine& known) {
  try {
    std::error_code ignored;
    fs::create_directories(known.file.parent_path(), ignored);
    write_file(known.file, to_json(known.machine));
  } catch (const Error& error) {
    known.warning = error.diagnostics().front().message;
  }
}

}  // namespace twill
