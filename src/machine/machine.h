// The machine: layers of memory and layers of cores, with what they hold and how fast they are.
//
// A Machine describes a CPU (memory, L3, L2, L1, registers; cores, SIMD lanes), a GPU (device memory, shared
// memory, registers; blocks, warps, threads) or nodes of these, all in the same terms: memory layers from
// the far and large to the near and small, and core layers from the coarse to the fine. A cut of a stage's
// dimension is assigned to one of these layers. Plain data; nothing here depends on the CPU one compiles on.
#pragma once

#include "machine/time_model.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace twill {

/// One layer of memory.
struct MemoryLayer {
  std::string name;        // "memory", "L3", "registers"; "device", "shared"
  std::int64_t bytes = 0;  // of one instance
  int instances = 1;       // in the whole machine; cores() / instances cores share one
  int line_bytes = 64;     // the unit of transfer
  bool automatic = false;  // a cache: fills itself; the others hold what the program puts there
  double read_gbs = 0;     // all cores reading what lies in this layer; 0: not known

  friend bool operator==(const MemoryLayer&, const MemoryLayer&) = default;
};

/// How the units of a core layer run side by side.
enum class CoreKind : std::uint8_t { Node, Device, Core, Block, Warp, Thread, Simd };

/// One layer of parallel units.
struct CoreLayer {
  CoreKind kind = CoreKind::Core;
  std::string name;  // "core", "simd"
  int count = 1;     // units in one unit of the layer above; for Simd: lanes of four bytes

  friend bool operator==(const CoreLayer&, const CoreLayer&) = default;
};

/// Measured rates of the outermost memory and of arithmetic; 0: not known.
struct Rates {
  double read_gbs = 0;    // bytes read
  double copy_gbs = 0;    // bytes read and written, with streaming stores
  double triad_gbs = 0;   // a = b + s * c with ordinary stores, bytes read and written by the program
  double f32_gflops = 0;  // fused multiply-adds, two operations each
  double f64_gflops = 0;

  friend bool operator==(const Rates&, const Rates&) = default;
};

struct Machine {
  std::string name;                 // "Intel(R) Xeon(R) … × 2"
  std::vector<MemoryLayer> memory;  // from far to near
  std::vector<CoreLayer> cores;     // from coarse to fine
  Rates rates;                      // all cores together
  Rates single;                     // one core
  double launch_us = 0;             // to start and end a parallel region over all cores
  std::optional<TimeModel> fitted;  // what kernels take on it, if that was measured as well

  /// Units of a kind in the whole machine (1 if it has no such layer).
  int count(CoreKind kind) const;

  /// Elements of a size that one vector register holds (1 if the machine has no SIMD layer).
  int lanes(int element_bytes) const;

  /// The memory layer of a name, or nothing.
  const MemoryLayer* find_memory(std::string_view layer) const;

  /// The outermost layer that fills itself, or nothing.
  const MemoryLayer* last_level_cache() const;

  /// The time that the measured rates allow at best: max(operations / FMA rate, bytes read / read rate,
  /// bytes read and written / copy rate). A rate that is not known limits nothing.
  double floor_ms(double operations, double bytes_read, double bytes_written, int element_bytes = 4) const;

  friend bool operator==(const Machine&, const Machine&) = default;
};

/// For people: layers and rates in a few lines.
std::string to_string(const Machine& machine);

/// JSON, in both directions without loss. A machine file may be written by hand: what is left out has its
/// default. Errors (E0620) name the file and the key.
std::string to_json(const Machine& machine);
Machine machine_from_json(std::string_view text, const std::string& file_name);

/// Called before every step of a measurement.
using Progress = std::function<void(std::string_view step, int done, int total)>;

/// The layers of the machine we run on, without rates.
Machine detect_machine();

struct MeasureOptions {
  Progress progress;
  double patience = 0.3;  // seconds that each of about a dozen rates may take; ten runs are always made
};

/// Measures all rates.
void measure(Machine& machine, const MeasureOptions& options = {});

/// When to measure: when the rates are not known yet, never (they may be unknown), or in any case.
enum class Measure : std::uint8_t { IfMissing, Never, Again };

struct KnownMachine {
  Machine machine;
  bool measured = false;       // just now, rather than read from the directory
  std::filesystem::path file;  // where it is kept
  std::string warning;         // why it could not be kept; usually empty
};

/// The machine we run on. Layers are detected and rates measured once and then kept in `directory` under the
/// CPU's model and the number of CPUs; reading them back takes well under a millisecond, detection ten and
/// measuring thousands. A kept file that cannot be understood is made anew.
KnownMachine this_machine(const std::filesystem::path& directory, Measure when = Measure::IfMissing,
                          const MeasureOptions& options = {});

/// Keeps what is known in its file; a warning if that is not possible.
void keep(KnownMachine& known);

}  // namespace twill
