// Messages of run-time errors.
#include "program/fault.h"

#include "base/error.h"

#include <fmt/format.h>

namespace twill {

namespace {

[[noreturn]] void report(const Where& where, const char* code, const std::string& what,
                         const std::string& help) {
  std::string message = fmt::format("stage '{}' {}", where.stage, what);
  if (!where.point.empty()) message += " (at " + where.point + ")";
  fail(Fault::User, code, where.place, std::move(message), help);
}

std::string plural(std::int64_t extent) {
  return fmt::format("{} element{}", extent, extent == 1 ? "" : "s");
}

}  // namespace

void fail_read_outside(const Where& where, const std::string& array, int dimension, std::int64_t index,
                       std::int64_t extent) {
  report(where, "E0505",
         fmt::format("reads '{}' outside: subscript {} is {}, but dimension {} has {}", array, dimension,
                     index, dimension, plural(extent)),
         "guard the read, or name a boundary: clamp, mirror, wrap or pad");
}

void fail_index_outside(const Where& where, std::int64_t index, std::int64_t extent) {
  report(where, "E0505",
         fmt::format("takes an element outside: the index is {}, but there are {}", index, plural(extent)),
         "guard it with a condition");
}

void fail_write_outside(const Where& where, const std::string& array, int dimension, std::int64_t index,
                        std::int64_t extent) {
  report(where, "E0506",
         fmt::format("writes '{}' outside: subscript {} is {}, but dimension {} has {}", array, dimension,
                     index, dimension, plural(extent)),
         "add a condition that keeps such points out");
}

void fail_division_by_zero(const Where& where, const std::string& operation) {
  report(where, "E0507", fmt::format("divides by zero: integer '{}'", operation),
         "guard it with a condition");
}

void fail_nothing_to_fold(const Where& where, const std::string& array) {
  report(where, "E0508",
         fmt::format("has no values to fold for '{}', and the operator has no identity", array),
         "give the operator an identity");
}

void fail_not_yet_written(const Where& where, const std::string& array, std::int64_t position) {
  report(where, "E0511", fmt::format("reads element {} of '{}' before it is computed", position, array),
         "a seq stage reads its own results of earlier points only");
}

void fail_never_written(const Where& where, const std::string& array, const std::string& element) {
  report(where, "E0512", fmt::format("never computes element {} of '{}'", element, array),
         "make the stage cover the array, or define it into another array");
}

void fail_empty_array(const Where& where, const std::string& array, int dimension) {
  report(where, "E0513",
         fmt::format("reads '{}' with a boundary rule, but dimension {} is empty", array, dimension),
         "guard the read, or use pad, which needs no element");
}

}  // namespace twill
