// What a benchmark found, as a table for people and as JSON for programs.
#pragma once

#include "bench/bench.h"
#include "bench/contest.h"

#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace twill::bench {

struct Row {
  std::string suite, name, size;
  std::string target = "openmp";
  int threads = 1;
  double load =
      0;  // threads of other programs that wanted a core, when the case began; they spoil its figures
  std::optional<Timing> ours;           // nothing: it did not run
  std::map<std::string, Timing> peers;  // those whose results are right
  double plan_ms = 0;                   // of that, until it was known how to compute it
  double compile_ms = 0;           // from the program to a loaded kernel, whether it was in the cache or not
  std::optional<double> floor_ms;  // what the machine's measured rates allow
  std::optional<double> limit_ms;  // what the case must stay under, where that is a time of its own
  bool held_to_floor = false;
  double max_error = 0, tolerance = 0;
  bool verified = false;
  std::string reference;           // what the result was compared with
  std::vector<std::string> notes;  // peers that are missing or wrong; why ours did not run
};

/// One line of JSON, without its end.
std::string to_json(const Row& row);

/// Writes rows one by one, with a heading for each suite and a summary at the end.
class Table {
 public:
  explicit Table(std::ostream& out) : out_(out) {}
  void add(const Row& row);
  void finish();

 private:
  std::ostream& out_;
  std::string suite_;
  std::string worst_name_;
  double worst_ratio_ = 0;
  double busiest_ = 0;
  int held_ = 0, wrong_ = 0;
};

}  // namespace twill::bench
