// Pictures: read and written as another implementation does it, converted exactly, and safe against damage.
#include "run/image.h"
#include "base/error.h"
#include "base/files.h"
#include "run/data_files.h"
#include "run/npy.h"
#include "run/process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <functional>
#include <random>

namespace twill {
namespace {

namespace fs = std::filesystem;
using Shape = std::vector<std::int64_t>;

/// A PNG reader and writer of a few lines, without libpng: unfiltered, not interlaced.
const char* const python_png = R"(
import os, struct, zlib, numpy as np
def chunk(kind, body): return struct.pack('>I', len(body)) + kind + body + struct.pack('>I', zlib.crc32(kind + body))
def write(name, width, height, depth, colour, rows, extra=b''):
    data = b''.join(b'\0' + row for row in rows)
    open(name, 'wb').write(b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', width, height, depth, colour, 0, 0, 0))
        + extra + chunk(b'IDAT', zlib.compress(data)) + chunk(b'IEND', b''))
)";

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

template <class T>
Data image_of(Scalar type, Shape shape, const std::vector<T>& samples) {
  Data data(type, std::move(shape));
  std::ranges::copy(samples, data.as<T>().begin());
  return data;
}

Data bytes_image(Shape shape, const std::vector<std::uint8_t>& samples) {
  return image_of(Scalar::U8, std::move(shape), samples);
}

class Image : public testing::Test {
 protected:
  void SetUp() override {
    directory = fs::path(testing::TempDir()) / ("twill-image-" + std::to_string(getpid()));
    fs::create_directories(directory);
  }
  void TearDown() override { fs::remove_all(directory); }

  std::string python(const std::string& code) const {
    return run_program(
               {"/usr/bin/python3", "-c", python_png + ("os.chdir('" + directory.string() + "')\n") + code})
        .output;
  }
  Data load(const std::string& name) const {
    const std::string bytes = read_file(directory / name);
    return is_png(bytes) ? png_from_bytes(bytes, name) : pnm_from_bytes(bytes, name).samples;
  }

  fs::path directory;
};

TEST_F(Image, ReadsEveryKindOfPng) {
  EXPECT_EQ(python(R"(
write('grey8', 3, 2, 8, 0, [bytes([0, 1, 255]), bytes([7, 8, 9])])
write('grey16', 2, 1, 16, 0, [struct.pack('>HH', 0x1234, 65535)])
write('grey1', 3, 1, 1, 0, [bytes([0b10100000])])
write('rgb8', 1, 2, 8, 2, [bytes([1, 2, 3]), bytes([4, 5, 6])])
write('rgba16', 1, 1, 16, 6, [struct.pack('>HHHH', 1, 2, 3, 4)])
write('greyalpha', 2, 1, 8, 4, [bytes([1, 2, 3, 4])])
write('palette', 2, 1, 4, 3, [bytes([0x10])], chunk(b'PLTE', bytes([9, 8, 7, 30, 20, 10])))
write('clear', 2, 1, 8, 3, [bytes([1, 0])], chunk(b'PLTE', bytes([9, 8, 7, 30, 20, 10])) + chunk(b'tRNS', bytes([0])))
)"),
            "");
  EXPECT_TRUE(identical(load("grey8"), bytes_image({2, 3}, {0, 1, 255, 7, 8, 9})));
  EXPECT_TRUE(identical(load("grey16"), image_of<std::uint16_t>(Scalar::U16, {1, 2}, {0x1234, 65535})));
  EXPECT_TRUE(identical(load("grey1"), bytes_image({1, 3}, {255, 0, 255})));
  EXPECT_TRUE(identical(load("rgb8"), bytes_image({2, 1, 3}, {1, 2, 3, 4, 5, 6})));
  EXPECT_TRUE(identical(load("rgba16"), image_of<std::uint16_t>(Scalar::U16, {1, 1, 4}, {1, 2, 3, 4})));
  EXPECT_TRUE(identical(load("greyalpha"), bytes_image({1, 2, 2}, {1, 2, 3, 4})));
  EXPECT_TRUE(identical(load("palette"), bytes_image({1, 2, 3}, {30, 20, 10, 9, 8, 7})));
  EXPECT_TRUE(identical(load("clear"), bytes_image({1, 2, 4}, {30, 20, 10, 255, 9, 8, 7, 0})));
}

TEST_F(Image, PngRoundTrips) {
  for (Scalar type : {Scalar::U8, Scalar::U16}) {
    for (const Shape& shape : {Shape{5, 7}, {5, 7, 2}, {5, 7, 3}, {5, 7, 4}, {1, 1}}) {
      const Data image = random_data(type, shape, 3);
      save_data(directory / "a.png", image);
      EXPECT_TRUE(identical(load("a.png"), image));
    }
  }
}

TEST_F(Image, PnmRoundTrips) {
  for (Scalar type : {Scalar::U8, Scalar::U16}) {
    for (const Shape& shape : {Shape{5, 7}, {5, 7, 3}}) {
      const Data image = random_data(type, shape, 3);
      save_data(directory / "a.ppm", image);
      EXPECT_TRUE(identical(load("a.ppm"), image));
    }
  }
  EXPECT_EQ(pnm_bytes(bytes_image({1, 2}, {65, 66}), "x"), "P5\n2 1\n255\nAB");
  EXPECT_EQ(pnm_bytes(image_of<std::uint16_t>(Scalar::U16, {1, 1}, {0x4142}), "x"), "P5\n1 1\n65535\nAB");
}

TEST_F(Image, ReadsPnmText) {
  const auto parse = [](const std::string& text) { return pnm_from_bytes(text, "a.ppm").samples; };
  EXPECT_TRUE(
      identical(parse("P2 # a comment\n# another\n3 1\n255 0 17\n255"), bytes_image({1, 3}, {0, 17, 255})));
  EXPECT_TRUE(identical(parse("P3 1 1 255 1 2 3"), bytes_image({1, 1, 3}, {1, 2, 3})));
  EXPECT_TRUE(identical(parse("P2 3 1 15 0 1 15"), bytes_image({1, 3}, {0, 1, 15})));
  EXPECT_TRUE(
      identical(parse("P2 2 1 1000 500 1000"), image_of<std::uint16_t>(Scalar::U16, {1, 2}, {500, 1000})));
  EXPECT_TRUE(identical(parse("P6 1 1 255 ABC"), bytes_image({1, 1, 3}, {65, 66, 67})));
}

TEST_F(Image, EveryMaximumIsScaledExactly) {
  const auto as = [](const std::string& text, Scalar type) {
    return as_image_of(pnm_from_bytes(text, "a.pgm"), type, 2, "a.pgm");
  };
  EXPECT_THAT(as("P2 3 1 100 0 50 100", Scalar::F64).as<double>(), testing::ElementsAre(0, 0.5, 1));
  EXPECT_THAT(as("P2 3 1 1000 1 500 1000", Scalar::F64).as<double>(), testing::ElementsAre(0.001, 0.5, 1));
  EXPECT_TRUE(identical(as("P2 4 1 10 0 1 7 10", Scalar::U8), bytes_image({1, 4}, {0, 26, 179, 255})));
  EXPECT_THAT(as("P2 3 1 100 1 50 100", Scalar::U16).as<std::uint16_t>(),
              testing::ElementsAre(655, 32768, 65535));
  EXPECT_DOUBLE_EQ(as("P3 1 1 100 100 0 50", Scalar::F64).as<double>()[0], 0.299 + 0.114 * 0.5);
}

TEST_F(Image, BecomesWhatIsWanted) {
  const Data rgb = bytes_image({1, 2, 3}, {255, 0, 51, 0, 255, 102});
  const Data planes = as_image_of(rgb, Scalar::F32, 3, "a");
  EXPECT_EQ(planes.shape(), (Shape{3, 1, 2}));
  EXPECT_THAT(planes.as<float>(), testing::ElementsAre(1, 0, 0, 1, 51 / 255.0f, 102 / 255.0f));
  const Data grey = as_image_of(rgb, Scalar::F64, 2, "a");
  EXPECT_EQ(grey.shape(), (Shape{1, 2}));
  EXPECT_DOUBLE_EQ(grey.as<double>()[0], (0.299 * 255 + 0.114 * 51) / 255);
  EXPECT_TRUE(identical(as_image_of(rgb, Scalar::U8, 3, "a"), rgb));
  EXPECT_THAT(as_image_of(rgb, Scalar::U16, 3, "a").as<std::uint16_t>(),
              testing::ElementsAre(65535, 0, 51 * 257, 0, 65535, 102 * 257));
  const Data one = as_image_of(bytes_image({2, 1}, {3, 4}), Scalar::F16, 3, "a");
  EXPECT_EQ(one.shape(), (Shape{1, 2, 1}));
  EXPECT_EQ(one.get(0), convert(Number::of_double(Scalar::F64, 3 / 255.0), Scalar::F16));
  EXPECT_EQ(as_image_of(bytes_image({2, 1}, {3, 4}), Scalar::U8, 3, "a").shape(), (Shape{2, 1, 1}));
  for (int value = 0; value < 256; ++value) {
    const Data small = bytes_image({1, 1}, {static_cast<std::uint8_t>(value)});
    EXPECT_TRUE(identical(as_file_image(as_image_of(small, Scalar::F32, 2, "a"), "a"), small));
    EXPECT_TRUE(identical(as_image_of(as_image_of(small, Scalar::U16, 2, "a"), Scalar::U8, 2, "a"), small));
  }
}

TEST_F(Image, FloatsAreClampedAndRounded) {
  const float nan = std::nanf("");
  const Data data = image_of<float>(Scalar::F32, {1, 6}, {-1, 0.5f, 2, nan, 0.001f, INFINITY});
  EXPECT_TRUE(identical(as_file_image(data, "a"), bytes_image({1, 6}, {0, 128, 255, 0, 0, 255})));
  const Data mask = image_of<std::uint8_t>(Scalar::Bool, {1, 2}, {1, 0});
  EXPECT_TRUE(identical(as_file_image(mask, "a"), bytes_image({1, 2}, {255, 0})));
}

TEST_F(Image, LayoutOfChannels) {
  EXPECT_EQ(as_file_image(Data(Scalar::F32, {3, 5, 7}), "a").shape(), (Shape{5, 7, 3}));
  EXPECT_EQ(as_file_image(Data(Scalar::F32, {5, 7, 3}), "a").shape(), (Shape{5, 7, 3}));
  EXPECT_EQ(as_file_image(Data(Scalar::F32, {3, 4, 4}), "a").shape(), (Shape{4, 4, 3}));
  EXPECT_EQ(as_file_image(Data(Scalar::U8, {3, 5, 4}), "a").shape(), (Shape{3, 5, 4}));
  EXPECT_EQ(as_file_image(Data(Scalar::U8, {3, 5, 7}), "a").shape(), (Shape{5, 7, 3}));
  EXPECT_EQ(as_file_image(Data(Scalar::U16, {5, 7, 1}), "a").shape(), (Shape{5, 7}));
}

TEST_F(Image, WhatIsNoPicture) {
  EXPECT_EQ(
      message_of([] {
        as_file_image(Data(Scalar::I32, {2, 2}), "a.png");
      }),
      "error[E0606]: an array of i32 with shape [2, 2] cannot be saved as the picture 'a.png'\n"
      "  help: a picture has u8, u16, bool or floats, shape [height, width], [height, width, channels] or "
      "[channels, height, width], and 1 to 4 channels; .npy files hold every array\n");
  EXPECT_THAT(message_of([] {
                as_file_image(Data(Scalar::F32, {5, 5, 5}), "a.png");
              }),
              testing::HasSubstr("E0606"));
  EXPECT_THAT(message_of([] {
                as_file_image(Data(Scalar::F32, {0, 5}), "a.png");
              }),
              testing::HasSubstr("E0606"));
  EXPECT_EQ(message_of([] {
              as_image_of(Data(Scalar::U8, {2, 2}), Scalar::I32, 2, "a.png");
            }),
            "error[E0606]: the picture 'a.png' cannot become an array of i32 with 2 dimensions\n"
            "  help: pictures are arrays of u8 or u16, [height, width] or [height, width, channels], or of "
            "floats, [height, width] or [channels, height, width]\n");
  EXPECT_EQ(message_of([&] {
              save_data("a.pgm", Data(Scalar::F32, {3, 2, 2}));
            }),
            "error[E0606]: a picture with 3 channels cannot be saved as 'a.pgm'\n"
            "  help: PGM files are grey: let the name end in .ppm or .png\n");
  EXPECT_EQ(message_of([] {
              pnm_bytes(Data(Scalar::U8, {2, 2, 4}), "a.ppm");
            }),
            "error[E0606]: the picture 'a.ppm' cannot have 4 channels\n"
            "  help: PPM and PGM files have 1 or 3 channels; PNG files have up to 4\n");
}

TEST_F(Image, DamagedPnm) {
  const auto wrong = [](const std::string& text) {
    return message_of([&] { pnm_from_bytes(text, "a.ppm"); });
  };
  EXPECT_EQ(wrong("P7"), "error[E0605]: 'a.ppm' is not a PPM or PGM file\n");
  EXPECT_EQ(wrong("P5 2"), "error[E0605]: the picture 'a.ppm' is damaged: it ends before its last pixel\n");
  EXPECT_EQ(wrong("P5 2 2 255 abc"),
            "error[E0605]: the picture 'a.ppm' is damaged: it ends before its last pixel\n");
  EXPECT_EQ(wrong("P5 1000000000 1000000000 65535 abc"),
            "error[E0605]: the picture 'a.ppm' is damaged: it ends before its last pixel\n");
  EXPECT_EQ(wrong("P5 0 2 255 abc"),
            "error[E0605]: the picture 'a.ppm' is damaged: the width at byte 3 is not a number from 1 to "
            "1073741824\n");
  EXPECT_EQ(
      wrong("P2 2 1 9 3 10"),
      "error[E0605]: the picture 'a.ppm' is damaged: the sample at byte 11 is not a number from 0 to 9\n");
  EXPECT_EQ(wrong(std::string("P5 1 1 9 \x0a", 10)),
            "error[E0605]: the picture 'a.ppm' is damaged: a sample is 10, but the maximum is 9\n");
  EXPECT_EQ(wrong("P2 # no end"),
            "error[E0605]: the picture 'a.ppm' is damaged: it ends before its last pixel\n");
}

TEST_F(Image, DamagedPng) {
  const std::string good = png_bytes(random_data(Scalar::U8, {20, 30, 3}, 1), "a.png");
  const auto wrong = [](const std::string& bytes) {
    return message_of([&] { png_from_bytes(bytes, "a.png"); });
  };
  EXPECT_EQ(wrong(good), "no error");
  EXPECT_EQ(wrong("hello"), "error[E0605]: 'a.png' is not a PNG file\n");
  EXPECT_EQ(wrong(good.substr(0, 100)), "error[E0605]: the picture 'a.png' is damaged: it ends too early\n");
  std::string changed = good;
  changed[200] = static_cast<char>(changed[200] ^ 255);
  EXPECT_THAT(wrong(changed), testing::StartsWith("error[E0605]: the picture 'a.png' is damaged: "));
  EXPECT_EQ(python("write('bomb', 100000, 100000, 16, 6, [])"), "");
  EXPECT_EQ(message_of([&] { load("bomb"); }),
            "error[E0605]: the picture 'bomb' is damaged: it ends too early\n");
}

TEST_F(Image, RandomDamageNeverCrashes) {
  const std::string png = png_bytes(random_data(Scalar::U16, {6, 5, 4}, 1), "a.png");
  const std::string pnm = "P3\n# c\n2 2 255\n1 2 3 4 5 6\n7 8 9 10 11 12\n";
  std::mt19937 random(1);
  int errors = 0;
  for (int round = 0; round < 5'000; ++round) {
    for (const std::string& good : {png, pnm}) {
      std::string bytes = good;
      for (unsigned k = random() % 3; k <= 2; ++k)
        bytes[2 + random() % (bytes.size() - 2)] = static_cast<char>(random());
      if (random() % 3 == 0) bytes.resize(random() % bytes.size());
      errors += message_of([&] {
                  is_png(bytes) ? png_from_bytes(bytes, "a") : pnm_from_bytes(bytes, "a");
                }) != "no error";
    }
  }
  EXPECT_GT(errors, 5'000);
}

TEST_F(Image, FilesByFormat) {
  const Data data = random_data(Scalar::F32, {2, 3}, 4);
  save_data(directory / "a.npy", data);
  EXPECT_TRUE(identical(load_data(directory / "a.npy", Scalar::F32, 2), data));
  save_data(directory / "a.png", data);
  const Data read = load_data(directory / "a.png", Scalar::F32, 2);
  for (int k = 0; k < 6; ++k) EXPECT_NEAR(read.as<float>()[k], data.as<float>()[k], 0.5 / 255 + 1e-6);
  write_file(directory / "a.txt", "1 2 3");
  EXPECT_EQ(message_of([&] { load_data(directory / "a.txt", Scalar::F32, 2); }),
            "error[E0607]: '" + (directory / "a.txt").string() +
                "' is neither a .npy file nor a PNG, PPM or PGM picture\n");
  EXPECT_EQ(message_of([&] { save_data("a.txt", data); }),
            "error[E0607]: the name 'a.txt' does not say in which format to write\n"
            "  help: let it end in .npy, .png, .ppm or .pgm\n");
}

}  // namespace
}  // namespace twill
