// .npy files, compared with NumPy itself, and every way in which a file can be wrong.
#include "run/npy.h"
#include "base/error.h"
#include "base/files.h"
#include "run/process.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <random>

namespace twill {
namespace {

namespace fs = std::filesystem;

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

class Npy : public testing::Test {
 protected:
  void SetUp() override {
    directory = fs::path(testing::TempDir()) / ("twill-npy-" + std::to_string(getpid()));
    fs::create_directories(directory);
  }
  void TearDown() override { fs::remove_all(directory); }

  /// Runs Python with NumPy as `np` in the test's directory; what it prints.
  std::string python(const std::string& code) const {
    const auto interpreter = find_program("/usr/bin/python3");
    if (!interpreter) return "no Python";
    const ExitReport result =
        run_program({interpreter->string(), "-c",
                     "import os, numpy as np\nos.chdir('" + directory.string() + "')\n" + code});
    return result.output;
  }

  Data load(const std::optional<Type>& wanted = {}) const { return load_npy(directory / "a.npy", wanted); }

  fs::path directory;
};

Type record(const std::string& name, std::vector<Field> fields) {
  return Type(std::make_shared<const Record>(Record{name, std::move(fields)}));
}

/// A file of version 1 with this header text.
std::string file_with(const std::string& header, const std::string& body = "") {
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size() & 255) +
         static_cast<char>(header.size() >> 8) + header + body;
}

std::string wrong(const std::string& bytes) {
  return message_of([&] { npy_from_bytes(bytes, "a.npy"); });
}

TEST_F(Npy, NumPyReadsWhatWeWrite) {
  for (const ScalarInfo& scalar : all_scalars()) {
    const Data data = random_data(scalar.scalar, {3, 4}, 7);
    save_npy(directory / "a.npy", data);
    EXPECT_EQ(python("a = np.load('a.npy'); np.save('b.npy', a); print(a.dtype.itemsize, a.shape)"),
              std::to_string(scalar.bytes) + " (3, 4)\n");
    EXPECT_TRUE(identical(load_npy(directory / "b.npy", Type(scalar.scalar)), data)) << scalar.name;
  }
}

TEST_F(Npy, BfloatIsKeptAsItsBits) {
  const Data data = random_data(Scalar::BF16, {5}, 1);
  save_npy(directory / "a.npy", data);
  EXPECT_EQ(python("print(np.load('a.npy').dtype)"), "uint16\n");
  EXPECT_TRUE(load().type().is(Scalar::U16));
  EXPECT_TRUE(identical(load(Type(Scalar::BF16)), data));
}

TEST_F(Npy, Shapes) {
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{}, {0}, {1}, {7}, {2, 0, 3}, {2, 3, 4}, {1, 1, 1, 1}}) {
    const Data data = random_data(Scalar::I32, shape, 3);
    save_npy(directory / "a.npy", data);
    EXPECT_TRUE(identical(load(), data));
    EXPECT_EQ(python("a = np.load('a.npy'); np.save('a.npy', a)"), "");
    EXPECT_TRUE(identical(load(), data)) << shape.size();
    EXPECT_EQ(read_file(directory / "a.npy").size() % 64, data.byte_count() % 64);
  }
}

TEST_F(Npy, FortranOrderAndBigEndian) {
  EXPECT_EQ(python("np.save('a.npy', np.asfortranarray(np.arange(24, dtype='>i4').reshape(2, 3, 4)))"), "");
  const Data data = load();
  EXPECT_EQ(data.shape(), (std::vector<std::int64_t>{2, 3, 4}));
  ASSERT_TRUE(data.type().is(Scalar::I32));
  for (int k = 0; k < 24; ++k) EXPECT_EQ(data.as<std::int32_t>()[k], k);
  EXPECT_EQ(python("np.save('a.npy', np.asfortranarray(np.array([[True, False], [False, False]])))"), "");
  EXPECT_EQ(load().get(0), Number::of(Scalar::Bool, 1));
  EXPECT_EQ(load().get(2), Number::of(Scalar::Bool, 0));
}

TEST_F(Npy, Records) {
  const Type match = record("Match", {{"near", Scalar::Bool}, {"id", Scalar::I64}, {"weight", Scalar::F32}});
  const Data data = random_data(match, {6}, 5);
  save_npy(directory / "a.npy", data);
  EXPECT_EQ(python("a = np.load('a.npy'); print(a.dtype.names, a.dtype.itemsize, a['id'].sum())\n"
                   "np.save('b.npy', a.astype([('near', '?'), ('id', '<i8'), ('weight', '>f4')]))"),
            fmt::format("('near', 'id', 'weight') 24 {}\n", [&] {
              std::int64_t sum = 0;
              for (int k = 0; k < 6; ++k) sum += twill::load(Scalar::I64, data.bytes() + 24 * k + 8).i;
              return sum;
            }()));
  EXPECT_TRUE(identical(load(match), data));
  EXPECT_TRUE(identical(load_npy(directory / "b.npy", match), data));  // packed, one field big-endian
  EXPECT_EQ(to_string(load().type()), "Record");
  EXPECT_EQ(load(Type(Scalar::F32)).type().record().fields[1], (Field{"id", Scalar::I64}));
}

TEST_F(Npy, TuplesAndNestedRecords) {
  const Type pair = record("", {{"0", Scalar::I16}, {"1", Scalar::F64}});
  const Type outer = record("Outer", {{"tag", Scalar::U8}, {"pair", pair}, {"last", Scalar::BF16}});
  const Data data = random_data(outer, {2, 2}, 9);
  save_npy(directory / "a.npy", data);
  EXPECT_EQ(python("a = np.load('a.npy'); print(a.dtype['pair'].names, a.shape)\nnp.save('a.npy', a)"),
            "('0', '1') (2, 2)\n");
  EXPECT_TRUE(identical(load(outer), data));
  EXPECT_EQ(load().type().record().fields[1].type, pair);
}

TEST_F(Npy, NamesBeyondAscii) {
  const Type type = record("R", {{"größe", Scalar::I32}});
  save_npy(directory / "a.npy", random_data(type, {2}, 1));
  EXPECT_EQ(read_file(directory / "a.npy")[6], 3);
  EXPECT_EQ(python("print(len(np.load('a.npy').dtype.names[0]))"), "5\n");
  EXPECT_EQ(load(type).type(), type);
}

TEST_F(Npy, VersionTwo) {
  EXPECT_EQ(python("np.lib.format.write_array(open('a.npy', 'wb'), np.arange(3.0), version=(2, 0))"), "");
  EXPECT_EQ(load().as<double>()[2], 2.0);
}

TEST_F(Npy, DamagedFiles) {
  const std::string good = file_with("{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }", "12345678");
  EXPECT_EQ(wrong(good), "no error");
  EXPECT_EQ(wrong("hello"), "error[E0603]: 'a.npy' is not a .npy file\n");
  EXPECT_EQ(wrong(good.substr(0, 9)), "error[E0603]: 'a.npy' is damaged: it ends inside its header\n");
  EXPECT_EQ(wrong(good.substr(0, 30)), "error[E0603]: 'a.npy' is damaged: it ends inside its header\n");
  EXPECT_EQ(wrong(good.substr(0, good.size() - 1)),
            "error[E0603]: 'a.npy' is damaged: its shape needs 8 bytes of elements, it has 7\n");
  EXPECT_EQ(wrong(good + "x"), "error[E0603]: 'a.npy' is damaged: it has 1 bytes after its elements\n");
  EXPECT_EQ(wrong(file_with("{'descr': '<i4', 'shape': (2,), }")),
            "error[E0603]: 'a.npy' is damaged: its header is not complete\n");
  EXPECT_EQ(wrong(file_with("{'descr': '<i4', 'fortran_order': Maybe}")),
            "error[E0603]: 'a.npy' is damaged: its header has neither True nor False at byte 34\n");
  EXPECT_EQ(wrong(file_with("{'shape': (2, -1)}")),
            "error[E0603]: 'a.npy' is damaged: its header has no number at byte 14\n");
  EXPECT_EQ(wrong(file_with("{'shape': (99999999999999999999,)}")),
            "error[E0603]: 'a.npy' is damaged: its shape is too large\n");
  EXPECT_EQ(wrong(file_with(
                "{'descr': '<i4', 'fortran_order': False, 'shape': (4000000000, 4000000000, 4000000000)}")),
            "error[E0603]: 'a.npy' is damaged: its shape needs too many bytes of elements, it has 0\n");
  EXPECT_EQ(wrong(file_with("{'colour': 'red'}")),
            "error[E0603]: 'a.npy' is damaged: its header has an unknown key 'colour'\n");
}

TEST_F(Npy, UnsupportedFiles) {
  const std::string help =
      "  help: bool, i1 to i8, u1 to u8, f2, f4, f8 and structures of these are supported\n";
  const auto type = [&](const std::string& descr) { return wrong(file_with("{'descr': " + descr + "}")); };
  EXPECT_EQ(type("'<c8'"), "not supported[E0604]: 'a.npy' holds elements of type '<c8'\n" + help);
  EXPECT_EQ(type("'|O'"), "not supported[E0604]: 'a.npy' holds elements of type '|O'\n" + help);
  EXPECT_EQ(type("[('m', '<f4', (3,))]"),
            "not supported[E0604]: 'a.npy' holds a field 'm' that is an array\n" + help);
  EXPECT_EQ(type("[('m', '|V3')]"), "not supported[E0604]: 'a.npy' holds a field 'm' of raw bytes\n" + help);
  EXPECT_EQ(type("[(('t', 'm'), '<f4')]"),
            "not supported[E0604]: 'a.npy' holds a structure whose fields have titles\n" + help);
  EXPECT_EQ(type("[]"), "not supported[E0604]: 'a.npy' holds a structure without fields\n" + help);
  EXPECT_EQ(wrong(std::string("\x93NUMPY\x09\x00\x01\x00\x00\x00", 12)),
            "not supported[E0604]: 'a.npy' has version 9 of the .npy format\n  help: versions 1 to 3 are "
            "supported\n");
}

TEST_F(Npy, RandomDamageNeverCrashes) {
  save_npy(directory / "a.npy", random_data(record("R", {{"a", Scalar::I8}, {"b", Scalar::F64}}), {3, 2}, 1));
  const std::string good = read_file(directory / "a.npy");
  std::mt19937 random(1);
  int errors = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = good;
    for (unsigned k = random() % 3; k <= 3; ++k)
      bytes[random() % 160 % bytes.size()] = static_cast<char>(random());
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    errors += wrong(bytes) != "no error";
  }
  EXPECT_GT(errors, 10'000);
}

}  // namespace
}  // namespace twill
