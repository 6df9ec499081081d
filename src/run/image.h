// Pictures: PNG and PPM/PGM files as arrays.
//
// As the file has it, a picture is an array of u8 or u16: [height, width] for grey ones, [height, width,
// channels] otherwise (2: grey and alpha, 3: red, green, blue, 4: with alpha). For formulas, floats between 0
// and 1 in planes, [channels, height, width], are handier; `as_image_of` converts.
#pragma once

#include "program/data.h"

#include <filesystem>
#include <string>
#include <string_view>

namespace twill {

/// Whether bytes begin like a PNG or a PPM/PGM file (P2, P3, P5, P6).
bool is_png(std::string_view bytes);
bool is_pnm(std::string_view bytes);

/// A picture as a file has it: samples of u8 or u16, from 0 to `white`. Most use the whole range of the type.
struct Picture {
  Picture(Data whole_range);
  Picture(Data held, std::int64_t most) : samples(std::move(held)), white(most) {}

  Data samples;
  std::int64_t white;
};

/// The picture as the file has it. Palettes become colours; the samples of a PNG file of less than 8 bits are
/// scaled to the whole range. `name` is for messages. Throws E0605 (damaged).
Data png_from_bytes(std::string_view bytes, const std::string& name);
Picture pnm_from_bytes(std::string_view bytes, const std::string& name);

/// The bytes of a file for a picture of u8 or u16 with 1 to 4 channels, [height, width] or [height, width,
/// channels]. PPM/PGM take 1 or 3 channels and throw E0606 for others; `name` is for messages.
std::string png_bytes(const Data& image, const std::string& name);
std::string pnm_bytes(const Data& image, const std::string& name);

/// A picture as the file has it, converted for an array of this type and rank:
///   u8, u16          scaled to the type's range; [height, width] or [height, width, channels]
///   f16, bf16, f32, f64  between 0 and 1; [height, width] or [channels, height, width]
/// Rank 2 makes a colour picture grey (0.299 red + 0.587 green + 0.114 blue) and drops alpha. Throws E0606
/// for others.
Data as_image_of(const Picture& picture, const Type& wanted, int rank, const std::string& name);

/// The way back, for saving: u8 or u16 as the file will have it. Floats are clamped to 0..1 (NaN is 0) and
/// rounded to u8; bools are black and white. Planes are floats' usual layout and interleaved channels
/// integers'; where only the other one has 1 to 4 channels, it is taken. Throws E0606 for arrays that are no
/// picture.
Data as_file_image(const Data& data, const std::string& name);

}  // namespace twill
