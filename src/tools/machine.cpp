// `twill machine`: what is known about the machine, measured the first time.
#include "machine/machine.h"
#include "base/files.h"
#include "bench/fit.h"
#include "machine/plausible.h"
#include "tools/command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <memory>

namespace twill {

namespace {

constexpr const char* examples =
    "Rates are measured once, which takes some seconds, and kept; the machine should be idle meanwhile.\n\n"
    "Examples:\n"
    "  twill machine              what is known; measures if nothing is\n"
    "  twill machine --measure    measures again\n"
    "  twill machine --fit        fits the model of time on measurements, and shows how well\n"
    "  twill machine --json       for programs; docs/files.md explains the fields";

struct MachineOptions {
  bool again = false, fit = false, json = false;
};

/// One line that is drawn over and over, on terminals only.
void draw_progress(std::string_view step, int done, int total) {
  constexpr int width = 30;
  const int filled = total > 0 ? width * done / total : 0;
  fmt::print(stderr, "\r[{}{}] {:<40}", std::string(static_cast<std::size_t>(filled), '#'),
             std::string(static_cast<std::size_t>(width - filled), '.'), step);
  std::fflush(stderr);
}

int show_machine(const MachineOptions& options) {
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  MeasureOptions measure;
  if (terminal) measure.progress = draw_progress;
  KnownMachine known =
      this_machine(cache_directory(), options.again ? Measure::Again : Measure::IfMissing, measure);
  if (terminal && known.measured) fmt::print(stderr, "\r{:75}\r", "");
  if (const auto doubts = implausible(known.machine); !doubts.empty())
    fmt::print(
        stderr,
        "warning: these rates cannot be right: {}; `twill machine --measure` measures again, best when "
        "the machine is idle\n",
        fmt::join(doubts, "; "));
  if (options.fit) {
    const bench::Fit fit = bench::fit_time_model(known.machine, {.progress = measure.progress});
    if (terminal) fmt::print(stderr, "\r{:75}\r", "");
    if (!options.json) fmt::print("{}\n", to_string(fit));
    if (const std::string why = bench::why_not_kept(fit); !why.empty()) {
      fmt::print(stderr, "warning: the fit is not kept: {}; try again when the machine is idle\n", why);
    } else {
      known.machine.fitted = fit.fitted;
      keep(known);
    }
  }
  if (!known.warning.empty()) fmt::print(stderr, "warning: the rates are not kept: {}\n", known.warning);
  if (options.json) {
    fmt::print("{}\n", to_json(known.machine));
  } else {
    fmt::print("{}\n{} {}\n", to_string(known.machine),
               known.measured ? "measured now, kept in" : "known from", known.file.string());
  }
  return 0;
}

}  // namespace

Action add_machine(CLI::App& app) {
  auto options = std::make_shared<MachineOptions>();
  app.add_flag("--measure", options->again, "Measure again, even if the rates are known");
  app.add_flag(
      "--fit", options->fit,
      "Run some thirty small programs as well, and fit the model of time that clusters are chosen by");
  app.add_flag("--json", options->json, "Print JSON");
  app.footer(examples);
  return [options] { return show_machine(*options); };
}

}  // namespace twill
