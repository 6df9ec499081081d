// What can go wrong at run time. The interpreter and the runtime of compiled kernels report through these
// functions, so that a mistake reads the same wherever it shows.
#pragma once

#include "base/place.h"

#include <cstdint>
#include <string>

namespace twill {

/// The stage and the point at which something went wrong.
struct Where {
  std::string stage;
  std::string point;  // "i = 3, j = 5"; empty when not known
  Place place;
};

/// A read with a subscript outside of the array (E0505).
[[noreturn]] void fail_read_outside(const Where& where, const std::string& array, int dimension,
                                    std::int64_t index, std::int64_t extent);
/// An index that is none of so many (E0505).
[[noreturn]] void fail_index_outside(const Where& where, std::int64_t index, std::int64_t extent);
/// A write outside of the array (E0506).
[[noreturn]] void fail_write_outside(const Where& where, const std::string& array, int dimension,
                                     std::int64_t index, std::int64_t extent);
/// An integer division or modulo by zero (E0507).
[[noreturn]] void fail_division_by_zero(const Where& where, const std::string& operation);
/// A fold or scan of no values with an operator that has no identity (E0508).
[[noreturn]] void fail_nothing_to_fold(const Where& where, const std::string& array);
/// A Seq stage reads an element of its own that no earlier point wrote (E0511).
[[noreturn]] void fail_not_yet_written(const Where& where, const std::string& array, std::int64_t position);
/// An element that no point wrote (E0512).
[[noreturn]] void fail_never_written(const Where& where, const std::string& array,
                                     const std::string& element);
/// A read with a boundary rule that needs a nearest element, of an array that has none (E0513).
[[noreturn]] void fail_empty_array(const Where& where, const std::string& array, int dimension);

}  // namespace twill
