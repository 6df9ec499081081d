// PNG files through libpng. libpng reports errors by longjmp, which must not jump over destructors: every
// group of calls runs in `guarded`, inside which no object with a destructor is made.
#include "base/error.h"
#include "run/image.h"

#include <fmt/format.h>
#include <png.h>

#include <csetjmp>
#include <cstring>
#include <vector>

namespace twill {

namespace {

constexpr std::size_t most_deflated = 1100;  // deflate makes data at most about 1030 times smaller

/// A libpng reader or writer with the bytes it works on. libpng keeps its address.
class Png {
 public:
  enum Mode { Read, Write };

  Png(Mode mode, std::string_view input, const std::string& name) : mode_(mode), input_(input), name_(name) {
    const auto on_error = [](png_structp png, png_const_charp message) {
      auto* self = static_cast<Png*>(png_get_error_ptr(png));
      std::strncpy(self->message_, message, sizeof self->message_ - 1);
      std::longjmp(self->jump_, 1);
    };
    const auto on_warning = [](png_structp, png_const_charp) {};
    png_ = mode == Read ? png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error, on_warning)
                        : png_create_write_struct(PNG_LIBPNG_VER_STRING, this, on_error, on_warning);
    ensure(png_ != nullptr, "libpng can be started");
    info_ = png_create_info_struct(png_);
    if (mode == Read) png_set_read_fn(png_, this, read_bytes);
    if (mode == Write) png_set_write_fn(png_, this, write_bytes, [](png_structp) {});
  }
  Png(const Png&) = delete;
  Png& operator=(const Png&) = delete;
  ~Png() {
    mode_ == Read ? png_destroy_read_struct(&png_, &info_, nullptr) : png_destroy_write_struct(&png_, &info_);
  }

  /// Runs calls of libpng; an error of libpng ends them and is thrown from here.
  template <class Calls>
  void guarded(const Calls& calls) {
    if (setjmp(jump_) == 0) {
      calls(png_, info_);
      return;
    }
    if (mode_ == Write)
      fail(Fault::System, "E0606", {}, fmt::format("the picture '{}' cannot be made: {}", name_, message_));
    damaged(message_);
  }

  [[noreturn]] void damaged(const std::string& what) const {
    fail(Fault::User, "E0605", {}, fmt::format("the picture '{}' is damaged: {}", name_, what));
  }

  std::string take_output() { return std::move(output_); }

 private:
  static void read_bytes(png_structp png, png_bytep to, std::size_t count) {
    auto* self = static_cast<Png*>(png_get_io_ptr(png));
    if (self->input_.size() < count) png_error(png, "it ends too early");
    std::memcpy(to, self->input_.data(), count);
    self->input_.remove_prefix(count);
  }

  static void write_bytes(png_structp png, png_bytep from, std::size_t count) {
    static_cast<Png*>(png_get_io_ptr(png))->output_.append(reinterpret_cast<const char*>(from), count);
  }

  Mode mode_;
  std::string_view input_;
  const std::string& name_;
  std::string output_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::jmp_buf jump_{};
  char message_[200] = {};
};

/// Pointers to the rows of a picture.
std::vector<png_bytep> rows_of(std::byte* bytes, std::size_t height, std::size_t row_bytes) {
  std::vector<png_bytep> rows(height);
  for (std::size_t y = 0; y < height; ++y) rows[y] = reinterpret_cast<png_bytep>(bytes + y * row_bytes);
  return rows;
}

}  // namespace

bool is_png(std::string_view bytes) {
  return bytes.size() >= 8 && png_sig_cmp(reinterpret_cast<png_const_bytep>(bytes.data()), 0, 8) == 0;
}

Data png_from_bytes(std::string_view bytes, const std::string& name) {
  if (!is_png(bytes)) fail(Fault::User, "E0605", {}, fmt::format("'{}' is not a PNG file", name));
  Png reader(Png::Read, bytes, name);
  std::size_t width = 0, height = 0, stored_row = 0, row_bytes = 0;
  int channels = 0, depth = 0;
  reader.guarded([&](png_structp png, png_infop info) {
    png_read_info(png, info);
    width = png_get_image_width(png, info);
    height = png_get_image_height(png, info);
    stored_row = png_get_rowbytes(png, info);
  });
  // Before memory is taken for it: can so few bytes hold such a picture?
  if (stored_row * height / most_deflated > bytes.size()) reader.damaged("it ends too early");
  reader.guarded([&](png_structp png, png_infop info) {
    png_set_expand(png);  // palettes, few bits and transparent colours become samples
    png_set_swap(png);    // 16-bit samples are big-endian in files
    png_set_interlace_handling(png);
    png_read_update_info(png, info);
    channels = png_get_channels(png, info);
    depth = png_get_bit_depth(png, info);
    row_bytes = png_get_rowbytes(png, info);
  });
  std::vector<std::int64_t> shape = {static_cast<std::int64_t>(height), static_cast<std::int64_t>(width)};
  if (channels > 1) shape.push_back(channels);
  Data image(depth == 16 ? Scalar::U16 : Scalar::U8, shape);
  ensure(image.byte_count() == row_bytes * height, "libpng delivers the samples it announced");
  std::vector<png_bytep> rows = rows_of(image.bytes(), height, row_bytes);
  reader.guarded([&](png_structp png, png_infop info) {
    png_read_image(png, rows.data());
    png_read_end(png, info);
  });
  return image;
}

std::string png_bytes(const Data& image, const std::string& name) {
  const std::vector<std::int64_t>& shape = image.shape();
  const std::int64_t channels = shape.size() == 3 ? shape[2] : 1;
  static constexpr int colours[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                    PNG_COLOR_TYPE_RGBA};
  const bool wide = image.type().is(Scalar::U16);
  Data copy = image;  // libpng takes rows that it may change
  std::vector<png_bytep> rows = rows_of(copy.bytes(), static_cast<std::size_t>(shape[0]),
                                        static_cast<std::size_t>(shape[1] * channels) * (wide ? 2 : 1));
  Png writer(Png::Write, {}, name);
  writer.guarded([&](png_structp png, png_infop info) {
    png_set_IHDR(png, info, static_cast<png_uint_32>(shape[1]), static_cast<png_uint_32>(shape[0]),
                 wide ? 16 : 8, colours[channels - 1], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_set_compression_level(png, 3);
    png_write_info(png, info);
    png_set_swap(png);
    png_write_image(png, rows.data());
    png_write_end(png, info);
  });
  return writer.take_output();
}

}  // namespace twill
