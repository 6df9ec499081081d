// Data on the command line: values as people write them, and results as people read them.
#pragma once

#include "program/data.h"
#include "program/program.h"

#include <string>

namespace twill {

/// The data that `--in NAME=VALUE` means for an input: a number, an array such as [[1, 2], [3, 4]] (records
/// as
/// {"field": value} or [value, …]), made-up data such as random:640x480, or a file (see run/data_files.h).
/// `seed` is for made-up data. Throws E0708 for values that do not fit the input's type and rank.
Data data_from_text(const Array& input, const std::string& value, std::uint64_t seed);

/// "f32[3, 512, 768]"
std::string type_text(const Data& data);

/// A small array in full, a large one as its range: "y: f32[3] = [1, 2, 3]".
std::string data_text(const std::string& name, const Data& data);

/// "12.3 MB"
std::string bytes_text(double bytes);

}  // namespace twill
