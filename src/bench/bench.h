// `twill bench`: suites of programs, measured side by side with other people's code and with what the machine
// allows.
#pragma once

#include "run/compiler.h"

#include <filesystem>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

namespace twill {

struct BenchOptions {
  std::vector<std::string> suites;  // by name; empty: all of them
  std::string only;                 // cases whose name contains this; empty: all of them
  bool json = false;                // one object per line instead of a table
  bool small = false;               // small arrays and no patience: to see whether it works, not how fast
  bool measure_again = false;       // the machine's rates, even if they are known
  bool installed = true;            // peers that have to be installed: libraries, Halide, Polly
  double seconds = 1.0;             // to spend on the timed rounds of one case
  std::filesystem::path twill;      // the command, for cases that start it; empty: the running program
  CompileOptions compiler;
};

struct SuiteInfo {
  std::string name;
  std::string description;
};

/// The suites there are, in the order in which they run.
std::vector<SuiteInfo> bench_suites();

/// Runs suites and writes a row for each case as soon as it is known; progress goes to standard error if that
/// is a terminal. Returns 0, or 1 if some result was wrong or some program did not run. Throws E0730 for an
/// unknown suite.
int run_bench(const BenchOptions& options, std::ostream& out);

}  // namespace twill
