// Tables for people and JSON lines for programs.
#include "bench/report.h"

#include <fmt/format.h>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

namespace twill::bench {

namespace {

/// Four significant digits: more is noise.
double rounded(double x) { return std::stod(fmt::format("{:.4g}", x)); }

std::string milliseconds(double ms) {
  if (ms >= 100) return fmt::format("{:.0f}", ms);
  if (ms >= 10) return fmt::format("{:.1f}", ms);
  if (ms >= 1) return fmt::format("{:.2f}", ms);
  return fmt::format("{:.4f}", ms);
}

std::string ratio(double ours, double other) {
  return other > 0 ? fmt::format("{:.2f}x", ours / other) : "-";
}

}  // namespace

std::string to_json(const Row& row) {
  nlohmann::ordered_json json;
  json["suite"] = row.suite;
  json["name"] = row.name;
  json["size"] = row.size;
  json["target"] = row.target;
  json["threads"] = row.threads;
  json["load"] = rounded(row.load);
  json["ours_ms"] = nullptr;
  if (row.ours) json["ours_ms"] = rounded(row.ours->best);
  json["peers"] = nlohmann::ordered_json::object();
  for (const auto& [name, timing] : row.peers) json["peers"][name] = rounded(timing.best);
  json["floor_ms"] = nullptr;
  if (row.floor_ms) json["floor_ms"] = rounded(*row.floor_ms);
  if (row.limit_ms) json["limit_ms"] = *row.limit_ms;
  json["held_to_floor"] = row.held_to_floor;
  json["max_error"] = row.max_error;
  json["tolerance"] = row.tolerance;
  json["verified"] = row.verified;
  json["reference"] = row.reference;
  json["compile_ms"] = rounded(row.compile_ms);
  json["plan_ms"] = rounded(row.plan_ms);
  if (row.ours) {
    json["ours_median_ms"] = rounded(row.ours->median);
    json["ours_spread"] = rounded(row.ours->spread);
    json["samples"] = row.ours->samples;
  }
  json["peers_median_ms"] = nlohmann::ordered_json::object();
  for (const auto& [name, timing] : row.peers) json["peers_median_ms"][name] = rounded(timing.median);
  json["notes"] = row.notes;
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void Table::add(const Row& row) {
  if (row.suite != suite_) {
    if (!suite_.empty()) out_ << '\n';
    suite_ = row.suite;
    out_ << fmt::format("{}: milliseconds, best of many\n", suite_);
    out_ << fmt::format("{:<22} {:>14} {:>7} {:>9} {:>9} {:>5} {:>9} {:>8} {:>8}  {}\n", "", "size",
                        "threads", "ours", "median", "±%", "floor", "/floor", "/peer", "peers");
  }
  const auto fastest = std::min_element(row.peers.begin(), row.peers.end(), [](const auto& a, const auto& b) {
    return a.second.best < b.second.best;
  });
  std::string peers;
  for (const auto& [name, timing] : row.peers)
    peers += fmt::format("{}{} {}", peers.empty() ? "" : ", ", name, milliseconds(timing.best));
  const double bound = row.floor_ms.value_or(row.limit_ms.value_or(0));
  const std::string bound_text = bound > 0 ? milliseconds(bound) : "-";
  if (row.ours) {
    out_ << fmt::format(
        "{:<22} {:>14} {:>7} {:>9} {:>9} {:>5.0f} {:>9} {:>8} {:>8}  {}",
        row.name + (row.held_to_floor ? " *" : ""), row.size, row.threads, milliseconds(row.ours->best),
        milliseconds(row.ours->median), 50 * row.ours->spread, bound_text, ratio(row.ours->best, bound),
        fastest == row.peers.end() ? "-" : ratio(row.ours->best, fastest->second.best), peers);
  } else {
    out_ << fmt::format("{:<22} {:>14} {:>7} {:>9}", row.name, row.size, row.threads, "failed");
  }
  if (row.ours && !row.verified)
    out_ << fmt::format("  WRONG: error {:.2g} > {:.2g} against {}", row.max_error, row.tolerance,
                        row.reference);
  out_ << '\n';
  for (const std::string& note : row.notes) out_ << "    " << note << '\n';
  out_.flush();
  busiest_ = std::max(busiest_, row.load);

  if (!row.verified) ++wrong_;
  if (!row.held_to_floor || !row.verified || !row.floor_ms || *row.floor_ms <= 0) return;
  ++held_;
  if (row.ours->best / *row.floor_ms > worst_ratio_) {
    worst_ratio_ = row.ours->best / *row.floor_ms;
    worst_name_ = row.name + " " + row.size;
  }
}

void Table::finish() {
  if (held_ > 0) {
    out_ << fmt::format(
        "\n* an elementwise, stencil or reduction stage on arrays that no cache holds: {} of them are at "
        "most "
        "{:.2f} times the floor ({})\n",
        held_, worst_ratio_, worst_name_);
  }
  if (busiest_ >= 1) {
    out_ << fmt::format(
        "\nthe machine was busy with other programs (up to {:.0f} threads): these figures say little\n",
        busiest_);
  }
  if (wrong_ > 0) out_ << fmt::format("\n{} results are wrong or missing\n", wrong_);
}

}  // namespace twill::bench
