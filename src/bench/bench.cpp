// Runs suites: chooses the cases, keeps going when one of them fails, and hands rows to the report.
#include "bench/bench.h"

#include "base/error.h"
#include "bench/case.h"

#include <fmt/format.h>
#include <unistd.h>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <ostream>

namespace twill {

namespace {

using bench::Entry;
using bench::Row;
using bench::Suite;

/// One line on standard error that is written over, if a person looks.
class ProgressLine {
 public:
  ProgressLine() : shown_(::isatty(STDERR_FILENO) != 0) {}
  ~ProgressLine() { clear(); }

  void show(const std::string& text) const {
    if (shown_) fmt::print(stderr, "\r\x1b[K{}", text);
  }
  void clear() const {
    if (shown_) fmt::print(stderr, "\r\x1b[K");
  }

 private:
  bool shown_;
};

std::vector<const Suite*> chosen_suites(const std::vector<std::string>& names) {
  std::vector<const Suite*> chosen;
  for (const Suite& suite : bench::suites()) {
    if (names.empty() || std::find(names.begin(), names.end(), suite.name) != names.end())
      chosen.push_back(&suite);
  }
  for (const std::string& name : names) {
    const auto known = bench::suites();
    if (std::none_of(known.begin(), known.end(), [&](const Suite& s) { return s.name == name; })) {
      std::string all;
      for (const Suite& suite : known) all += (all.empty() ? "" : ", ") + suite.name;
      fail(Fault::User, "E0730", {}, fmt::format("there is no suite '{}'", name), "the suites are " + all);
    }
  }
  return chosen;
}

Machine measured_machine(const BenchOptions& options, const ProgressLine& progress) {
  MeasureOptions measuring;
  measuring.progress = [&](std::string_view step, int done, int total) {
    progress.show(fmt::format("measuring the machine: {} ({}/{})", step, done + 1, total));
  };
  const Measure when = options.measure_again ? Measure::Again
                       : options.small       ? Measure::Never
                                             : Measure::IfMissing;
  return this_machine(options.compiler.cache, when, measuring).machine;
}

/// How many threads of other programs are running or waiting for a core right now, if all of ours are.
double load_of_others(int ours) {
  std::ifstream file("/proc/loadavg");  // "0.20 0.18 0.12 RUNNING/ALL LAST"
  std::string one, five, fifteen;
  double running = 0;
  file >> one >> five >> fifteen >> running;
  return std::max(0.0, running - ours);
}

/// A case that cannot be run is a row without a time.
Row run_entry(const Entry& entry, bench::Session& session) {
  try {
    return entry.run(session);
  } catch (const std::exception& error) {
    Row row;
    row.name = entry.name;
    row.threads = session.threads();
    const std::string text = error.what();
    row.notes.push_back(text.substr(0, text.find('\n')));
    return row;
  }
}

}  // namespace

std::vector<SuiteInfo> bench_suites() {
  std::vector<SuiteInfo> infos;
  for (const Suite& suite : bench::suites()) infos.push_back({suite.name, suite.description});
  return infos;
}

int run_bench(const BenchOptions& options, std::ostream& out) {
  const std::vector<const Suite*> chosen = chosen_suites(options.suites);
  const ProgressLine progress;
  bench::Session session(options, measured_machine(options, progress));
  bench::Table table(out);
  bool fine = true;
  for (const Suite* suite : chosen) {
    std::vector<Entry> entries = suite->entries();
    std::erase_if(entries, [&](const Entry& e) { return e.name.find(options.only) == std::string::npos; });
    for (std::size_t i = 0; i < entries.size(); ++i) {
      progress.show(fmt::format("{}: {} ({}/{})", suite->name, entries[i].name, i + 1, entries.size()));
      const double load = load_of_others(session.threads());
      Row row = run_entry(entries[i], session);
      row.load = load;
      row.suite = suite->name;
      fine = fine && row.verified;
      progress.clear();
      if (options.json)
        out << to_json(row) << '\n' << std::flush;
      else
        table.add(row);
    }
  }
  if (!options.json) table.finish();
  return fine ? 0 : 1;
}

}  // namespace twill
