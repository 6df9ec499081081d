// Conversions between pictures as files have them and arrays as programs want them.
#include "run/image.h"

#include "base/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>

namespace twill {

namespace {

constexpr std::int64_t most_channels = 4;

/// Where the samples of a picture lie: element (y, x, c) at y * row + x * column + c * plane.
struct View {
  std::int64_t height, width, channels;
  std::int64_t row, column, plane;

  std::int64_t at(std::int64_t y, std::int64_t x, std::int64_t c) const {
    return y * row + x * column + c * plane;
  }
};

View interleaved(std::int64_t height, std::int64_t width, std::int64_t channels) {
  return {height, width, channels, width * channels, channels, 1};
}

View planar(std::int64_t height, std::int64_t width, std::int64_t channels) {
  return {height, width, channels, width, 1, height * width};
}

View view_of_file_image(const Data& image) {
  const std::vector<std::int64_t>& shape = image.shape();
  return interleaved(shape[0], shape[1], shape.size() == 3 ? shape[2] : 1);
}

std::int64_t full(Scalar type) { return type == Scalar::U8 ? 255 : 65535; }

/// A sample between 0 and 1 as an integer of the whole range.
std::int64_t quantize(double value, std::int64_t range) {
  if (!(value > 0)) return 0;  // NaN too
  return static_cast<std::int64_t>(std::min(value, 1.0) * static_cast<double>(range) + 0.5);
}

/// Reads sample `at` of a picture of u8 or u16.
struct Samples {
  explicit Samples(const Data& image) : bytes(image.bytes()), wide(image.type().is(Scalar::U16)) {}

  std::uint16_t operator[](std::int64_t at) const {
    return wide ? reinterpret_cast<const std::uint16_t*>(bytes)[at]
                : std::to_integer<std::uint16_t>(bytes[at]);
  }

  const std::byte* bytes;
  bool wide;
};

/// Writes each sample as the element that stands for its value in the table. An element is `Bits`, whatever
/// its type.
template <class Bits>
void look_up(const Samples& samples, const View& from, const Data& table, Data& result, const View& to) {
  const auto* elements = reinterpret_cast<const Bits*>(table.bytes());
  auto* out = reinterpret_cast<Bits*>(result.bytes());
  for (std::int64_t c = 0; c < to.channels; ++c)
    for (std::int64_t y = 0; y < to.height; ++y)
      for (std::int64_t x = 0; x < to.width; ++x) out[to.at(y, x, c)] = elements[samples[from.at(y, x, c)]];
}

}  // namespace

Picture::Picture(Data whole_range) : samples(std::move(whole_range)), white(full(samples.type().scalar())) {}

Data as_image_of(const Picture& picture, const Type& wanted, int rank, const std::string& name) {
  const bool integers = wanted.is(Scalar::U8) || wanted.is(Scalar::U16);
  if ((!integers && !wanted.is_float()) || rank < 2 || rank > 3) {
    fail(Fault::User, "E0606", {},
         fmt::format("the picture '{}' cannot become an array of {} with {} dimensions", name,
                     to_string(wanted), rank),
         "pictures are arrays of u8 or u16, [height, width] or [height, width, channels], or of floats, "
         "[height, width] or [channels, height, width]");
  }
  const View from = view_of_file_image(picture.samples);
  const Scalar want = wanted.scalar();
  const std::int64_t white = picture.white;
  const std::int64_t channels = rank == 2 ? 1 : from.channels;
  std::vector<std::int64_t> shape = {from.height, from.width};
  if (rank == 3) shape.insert(integers ? shape.end() : shape.begin(), channels);
  Data result(wanted, shape);
  const View to =
      integers ? interleaved(from.height, from.width, channels) : planar(from.height, from.width, channels);
  const auto element = [&](double value) {
    const double share = value / static_cast<double>(white);
    return integers ? Number::of(want, quantize(share, full(want)))
                    : convert(Number::of_double(Scalar::F64, share), want);
  };
  const Samples samples(picture.samples);
  if (rank == 2 && from.channels >= 3) {
    for (std::int64_t y = 0; y < from.height; ++y) {
      for (std::int64_t x = 0; x < from.width; ++x) {
        const auto sample = [&](std::int64_t c) { return samples[from.at(y, x, c)]; };
        result.set(to.at(y, x, 0), element(0.299 * sample(0) + 0.587 * sample(1) + 0.114 * sample(2)));
      }
    }
    return result;
  }
  Data table(wanted, {white + 1});
  for (std::int64_t value = 0; value <= white; ++value)
    table.set(value, integers ? Number::of(want, (value * full(want) + white / 2) / white)
                              : element(static_cast<double>(value)));
  switch (info(want).bytes) {
    case 1: look_up<std::uint8_t>(samples, from, table, result, to); break;
    case 2: look_up<std::uint16_t>(samples, from, table, result, to); break;
    case 4: look_up<std::uint32_t>(samples, from, table, result, to); break;
    default: look_up<std::uint64_t>(samples, from, table, result, to); break;
  }
  return result;
}

Data as_file_image(const Data& data, const std::string& name) {
  const std::vector<std::int64_t>& shape = data.shape();
  const Type& type = data.type();
  const bool integers = type.is(Scalar::U8) || type.is(Scalar::U16) || type.is(Scalar::Bool);
  const auto are_channels = [](std::int64_t extent) { return extent >= 1 && extent <= most_channels; };
  std::optional<View> from;
  if (shape.size() == 2) from = interleaved(shape[0], shape[1], 1);
  if (shape.size() == 3 && are_channels(shape[2])) from = interleaved(shape[0], shape[1], shape[2]);
  if (shape.size() == 3 && are_channels(shape[0]) && (!integers || !from))
    from = planar(shape[1], shape[2], shape[0]);
  if (!from || (!integers && !type.is_float()) || data.count() == 0) {
    fail(Fault::User, "E0606", {},
         fmt::format("an array of {} with shape [{}] cannot be saved as the picture '{}'", to_string(type),
                     fmt::join(shape, ", "), name),
         "a picture has u8, u16, bool or floats, shape [height, width], [height, width, channels] or "
         "[channels, height, width], and 1 to 4 channels; .npy files hold every array");
  }
  const Scalar out = type.is(Scalar::U16) ? Scalar::U16 : Scalar::U8;
  const View to = interleaved(from->height, from->width, from->channels);
  std::vector<std::int64_t> out_shape = {to.height, to.width};
  if (to.channels > 1) out_shape.push_back(to.channels);
  Data result(out, out_shape);
  const auto* floats = reinterpret_cast<const float*>(data.bytes());
  const auto sample = [&](std::int64_t at) -> std::int64_t {
    if (type.is(Scalar::F32)) return quantize(static_cast<double>(floats[at]), full(out));
    const Number value = data.get(at);
    if (type.is_float()) return quantize(value.f, full(out));
    return type.is(Scalar::Bool) ? value.i * 255 : value.as_int();
  };
  for (std::int64_t y = 0; y < to.height; ++y)
    for (std::int64_t x = 0; x < to.width; ++x)
      for (std::int64_t c = 0; c < to.channels; ++c)
        store(Number::of(out, sample(from->at(y, x, c))), result.bytes() + to.at(y, x, c) * info(out).bytes);
  return result;
}

}  // namespace twill
