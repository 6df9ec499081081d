// PPM and PGM files: P2, P3 (text) and P5, P6 (binary), 8 and 16 bits.
#include "base/error.h"
#include "run/image.h"

#include <fmt/format.h>

#include <cctype>

namespace twill {

namespace {

class Parser {
 public:
  Parser(std::string_view bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  Picture parse() {
    const char kind = bytes_[1];
    at_ = 2;
    const bool binary = kind == '5' || kind == '6';
    const std::int64_t channels = kind == '3' || kind == '6' ? 3 : 1;
    const std::int64_t width = number("width", 1, 1 << 30), height = number("height", 1, 1 << 30);
    const std::int64_t most = number("maximum", 1, 65535);
    if (binary) ++at_;                                                  // exactly one white space
    const std::int64_t bytes_each = binary ? (most > 255 ? 2 : 1) : 2;  // a digit and a space at least
    std::int64_t count = 0, needed = 0;
    if (__builtin_mul_overflow(width * channels, height, &count) ||
        __builtin_mul_overflow(count, bytes_each, &needed) || needed > remaining() + (binary ? 0 : 1)) {
      damaged("it ends before its last pixel");
    }
    std::vector<std::int64_t> shape = {height, width};
    if (channels > 1) shape.push_back(channels);
    Data image(most > 255 ? Scalar::U16 : Scalar::U8, shape);
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t value = binary ? binary_sample(most) : number("sample", 0, most);
      if (value > most) damaged(fmt::format("a sample is {}, but the maximum is {}", value, most));
      image.set(k, Number::of(image.type().scalar(), value));
    }
    return {std::move(image), most};
  }

 private:
  [[noreturn]] void damaged(const std::string& what) const {
    fail(Fault::User, "E0605", {}, fmt::format("the picture '{}' is damaged: {}", name_, what));
  }

  std::int64_t remaining() const {
    return static_cast<std::int64_t>(bytes_.size() - std::min(at_, bytes_.size()));
  }

  std::int64_t binary_sample(std::int64_t most) {
    std::int64_t value = static_cast<unsigned char>(bytes_[at_++]);
    if (most > 255) value = value << 8 | static_cast<unsigned char>(bytes_[at_++]);
    return value;
  }

  /// A number in digits after white space and comments.
  std::int64_t number(const char* what, std::int64_t least, std::int64_t most) {
    while (at_ < bytes_.size() &&
           (std::isspace(static_cast<unsigned char>(bytes_[at_])) || bytes_[at_] == '#')) {
      if (bytes_[at_] == '#') at_ = std::min(bytes_.find('\n', at_), bytes_.size() - 1);
      ++at_;
    }
    if (at_ >= bytes_.size()) damaged("it ends before its last pixel");
    std::int64_t value = 0;
    const std::size_t begin = at_;
    for (; at_ < bytes_.size() && std::isdigit(static_cast<unsigned char>(bytes_[at_])) && value <= most;
         ++at_)
      value = value * 10 + (bytes_[at_] - '0');
    if (at_ == begin || value < least || value > most)
      damaged(fmt::format("the {} at byte {} is not a number from {} to {}", what, begin, least, most));
    return value;
  }

  std::string_view bytes_;
  const std::string& name_;
  std::size_t at_ = 0;
};

}  // namespace

bool is_pnm(std::string_view bytes) {
  return bytes.size() >= 2 && bytes[0] == 'P' &&
         std::string_view("2356").find(bytes[1]) != std::string_view::npos;
}

Picture pnm_from_bytes(std::string_view bytes, const std::string& name) {
  if (!is_pnm(bytes)) fail(Fault::User, "E0605", {}, fmt::format("'{}' is not a PPM or PGM file", name));
  return Parser(bytes, name).parse();
}

std::string pnm_bytes(const Data& image, const std::string& name) {
  const std::vector<std::int64_t>& shape = image.shape();
  const std::int64_t channels = shape.size() == 3 ? shape[2] : 1;
  if (channels != 1 && channels != 3) {
    fail(Fault::User, "E0606", {}, fmt::format("the picture '{}' cannot have {} channels", name, channels),
         "PPM and PGM files have 1 or 3 channels; PNG files have up to 4");
  }
  const bool wide = image.type().is(Scalar::U16);
  std::string bytes =
      fmt::format("P{}\n{} {}\n{}\n", channels == 3 ? 6 : 5, shape[1], shape[0], wide ? 65535 : 255);
  if (!wide) return bytes.append(reinterpret_cast<const char*>(image.bytes()), image.byte_count());
  for (std::uint16_t sample : image.as<std::uint16_t>()) {
    bytes += static_cast<char>(sample >> 8);
    bytes += static_cast<char>(sample & 255);
  }
  return bytes;
}

}  // namespace twill
