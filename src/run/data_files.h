// Arrays in files, whatever the format.
#pragma once

#include "program/data.h"

#include <filesystem>

namespace twill {

/// Reads an array that a program wants with this element type and rank. The format is known by the file's
/// first bytes: .npy (the result has the file's type and shape, see load_npy) or a picture (converted, see
/// as_image_of). Throws E0601, E0603 to E0606, and E0607 for other formats.
Data load_data(const std::filesystem::path& path, const Type& wanted, int rank);

/// Writes an array in the format that the name ends in: .npy, .png, .ppm, .pgm or .pnm. Throws E0602, E0606,
/// and E0607 for other endings.
void save_data(const std::filesystem::path& path, const Data& data);

}  // namespace twill
