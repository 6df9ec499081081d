#include "driver/kept_plans.h"

#include "base/error.h"
#include "base/files.h"
#include "program/text.h"
#include "run/cache.h"

#include <fmt/format.h>

namespace twill {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t most_bytes = std::int64_t{64} << 20;

/// What tells one build of Twill from another: they may choose differently.
std::string build_stamp() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  const auto bytes = fs::file_size(self, error);
  const auto written = fs::last_write_time(self, error);
  return error ? "" : fmt::format("{} {}", bytes, written.time_since_epoch().count());
}

std::string text_of(const Options& options) {
  std::string text = fmt::format("{} {} {}", static_cast<int>(options.clusters),
                                 options.cost ? letter_of(*options.cost) : 'f', options.solve.seconds);
  for (const auto& [symbol, size] : options.known.sizes) text += fmt::format(" {}:{}", symbol.value, size);
  for (const auto& [array, number] : options.known.scalars)
    text += fmt::format(" {}={}:{}", array.value, static_cast<int>(number.type), number.u);
  return text;
}

}  // namespace

KeptPlans::KeptPlans(const Compilation& c)
    : file_(c.options.compiler.cache / "plans" /
            (hash_of({print(*c.program), to_json(c.machine), text_of(c.options), build_stamp()}) + ".json")) {
}

std::optional<Plan> KeptPlans::find() const {
  std::error_code error;
  if (!fs::exists(file_, error)) return std::nullopt;
  try {
    Plan plan = plan_from_json(read_file(file_));
    fs::last_write_time(file_, fs::file_time_type::clock::now(), error);  // it is used now
    return plan;
  } catch (const Error&) {
    return std::nullopt;
  }
}

void KeptPlans::add(const Plan& plan) const {
  std::error_code error;
  fs::create_directories(file_.parent_path(), error);
  try {
    write_file(file_, to_json(plan));
    remove_oldest(file_.parent_path(), most_bytes);
  } catch (const Error&) {}
}

}  // namespace twill
