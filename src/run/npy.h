// NumPy's .npy files.
//
// Numbers and bools of all widths, and structured types (also nested) as records; versions 1 to 3, C and
// Fortran order, both byte orders. NumPy has no bf16: it is stored as the u2 of its bits.
#pragma once

#include "program/data.h"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace twill {

/// Whether bytes begin like a .npy file.
bool is_npy(std::string_view bytes);

/// The array in a .npy file. A file does not know the names of records, nor that its u2 are bf16; `wanted`
/// tells. Where the file holds something else than is wanted, the result has the file's type. A record that
/// nobody named is called "Record", or is a tuple if its fields are called "0", "1", … Throws E0601 (cannot
/// be read), E0603 (damaged), E0604 (a type that Twill does not have).
Data load_npy(const std::filesystem::path& path, const std::optional<Type>& wanted = {});

/// The same from bytes in memory; `name` is for messages.
Data npy_from_bytes(std::string_view bytes, const std::string& name, const std::optional<Type>& wanted = {});

/// Throws E0602.
void save_npy(const std::filesystem::path& path, const Data& data);

}  // namespace twill
