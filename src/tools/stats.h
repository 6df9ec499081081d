// What a run cost: passes, time, bytes, and the share of what the machine can do.
#pragma once

#include "driver/compile.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace twill {

struct RunStats {
  std::vector<std::pair<std::string_view, double>> steps;  // milliseconds of every step of the command
  std::vector<double> run_ms;                              // of every run of the kernel
  std::optional<Compilation> compilation;                  // not of the interpreter
  std::string verified;                                    // in words; empty: it was not
};

/// A table for people.
std::string stats_text(const Program& program, std::span<const Data> inputs, const RunStats& stats);

}  // namespace twill
