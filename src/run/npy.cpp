// NumPy's file format, both directions, checked byte by byte.
#include "run/npy.h"

#include "base/error.h"
#include "base/files.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <vector>

namespace twill {

static_assert(std::endian::native == std::endian::little, "data is little-endian in memory and in files");

namespace {

constexpr std::string_view magic = "\x93NUMPY";

/// An element as it lies in the file: numbers at byte offsets.
struct FileField;
struct FileType {
  std::size_t bytes = 0;
  std::optional<Scalar> scalar;   // or
  bool swapped = false;           //   big-endian
  std::vector<FileField> fields;  // a structure
};
struct FileField {
  std::string name;
  std::size_t offset = 0;
  FileType type;
};

struct Header {
  FileType type;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

/// Reads the header: a Python dictionary of texts, bools, tuples and lists.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  Header parse() {
    Header header;
    bool has_type = false, has_order = false, has_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = text();
      expect(':');
      if (key == "descr") {
        header.type = type();
        has_type = true;
      } else if (key == "fortran_order") {
        header.fortran_order = boolean();
        has_order = true;
      } else if (key == "shape") {
        header.shape = tuple();
        has_shape = true;
      } else {
        damaged(fmt::format("its header has an unknown key '{}'", key));
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (!has_type || !has_order || !has_shape) damaged("its header is not complete");
    return header;
  }

  [[noreturn]] void damaged(const std::string& what) const {
    fail(Fault::User, "E0603", {}, fmt::format("'{}' is damaged: {}", file_, what));
  }

 private:
  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }

  bool accept(char c) {
    skip_spaces();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void expect(char c) {
    if (!accept(c)) damaged(fmt::format("its header has no '{}' at byte {}", c, at_));
  }

  std::string text() {
    skip_spaces();
    const char quote = at_ < text_.size() ? text_[at_] : ' ';
    if (quote != '\'' && quote != '"') damaged(fmt::format("its header has no text at byte {}", at_));
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) damaged("its header ends inside a text");
    std::string result(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return result;
  }

  bool boolean() {
    skip_spaces();
    for (const auto& [word, value] : {std::pair<std::string_view, bool>{"True", true}, {"False", false}}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return value;
    }
    damaged(fmt::format("its header has neither True nor False at byte {}", at_));
  }

  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> numbers;
    expect('(');
    while (!accept(')')) {
      skip_spaces();
      std::int64_t number = 0;
      const std::size_t begin = at_;
      for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
        if (number > (std::numeric_limits<std::int64_t>::max() - 9) / 10) damaged("its shape is too large");
        number = number * 10 + (text_[at_] - '0');
      }
      if (at_ == begin) damaged(fmt::format("its header has no number at byte {}", at_));
      numbers.push_back(number);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return numbers;
  }

  [[noreturn]] void unsupported(const std::string& what) const {
    fail(Fault::Limit, "E0604", {}, fmt::format("'{}' holds {}", file_, what),
         "bool, i1 to i8, u1 to u8, f2, f4, f8 and structures of these are supported");
  }

  FileType type() {
    if (++depth_ > 32) unsupported("structures nested more than 32 deep");
    FileType result = accept('[') ? structure() : simple(text());
    --depth_;
    return result;
  }

  /// "<f4" and the like; padding ("|V4") has bytes but neither a scalar nor fields.
  FileType simple(const std::string& name) const {
    static constexpr std::pair<std::string_view, Scalar> scalars[] = {
        {"b1", Scalar::Bool}, {"i1", Scalar::I8},  {"i2", Scalar::I16}, {"i4", Scalar::I32},
        {"i8", Scalar::I64},  {"u1", Scalar::U8},  {"u2", Scalar::U16}, {"u4", Scalar::U32},
        {"u8", Scalar::U64},  {"f2", Scalar::F16}, {"f4", Scalar::F32}, {"f8", Scalar::F64}};
    const std::string_view order = "<>|=";
    if (name.size() < 3 || order.find(name[0]) == std::string_view::npos)
      unsupported(fmt::format("elements of type '{}'", name));
    const std::string_view code = std::string_view(name).substr(1);
    for (const auto& [known, scalar] : scalars) {
      if (code != known) continue;
      const int bytes = info(scalar).bytes;
      return {static_cast<std::size_t>(bytes), scalar, name[0] == '>' && bytes > 1, {}};
    }
    if (code[0] == 'V' && code.size() < 8 &&
        std::ranges::all_of(code.substr(1), [](char c) { return c >= '0' && c <= '9'; }))
      return {static_cast<std::size_t>(std::stoul(std::string(code.substr(1)))), {}, false, {}};
    unsupported(fmt::format("elements of type '{}'", name));
  }

  /// [('x', '<f4'), ('', '|V4'), ('y', [...])] after the bracket.
  FileType structure() {
    FileType result;
    while (!accept(']')) {
      expect('(');
      skip_spaces();
      if (at_ < text_.size() && text_[at_] == '(') unsupported("a structure whose fields have titles");
      FileField field{text(), result.bytes, {}};
      expect(',');
      field.type = type();
      if (!accept(')')) {
        expect(',');
        if (!accept(')')) unsupported(fmt::format("a field '{}' that is an array", field.name));
      }
      result.bytes += field.type.bytes;
      const bool padding = !field.type.scalar && field.type.fields.empty();
      if (padding && !field.name.empty()) unsupported(fmt::format("a field '{}' of raw bytes", field.name));
      if (!padding) result.fields.push_back(std::move(field));
      if (!accept(',')) {
        expect(']');
        break;
      }
    }
    if (result.fields.empty()) unsupported("a structure without fields");
    return result;
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

/// The Twill type of a file's elements, with the names that `wanted` has where it fits.
Type type_of(const FileType& file, const Type* wanted) {
  if (file.scalar) {
    const bool brain = *file.scalar == Scalar::U16 && wanted && wanted->is(Scalar::BF16);
    return brain ? Scalar::BF16 : *file.scalar;
  }
  const Record* named = wanted && wanted->is_record() ? &wanted->record() : nullptr;
  if (named && named->fields.size() != file.fields.size()) named = nullptr;
  for (std::size_t k = 0; named && k < file.fields.size(); ++k)
    if (named->fields[k].name != file.fields[k].name) named = nullptr;
  auto record = std::make_shared<Record>();
  bool tuple = true;
  for (std::size_t k = 0; k < file.fields.size(); ++k) {
    tuple = tuple && file.fields[k].name == std::to_string(k);
    record->fields.push_back(
        {file.fields[k].name, type_of(file.fields[k].type, named ? &named->fields[k].type : nullptr)});
  }
  record->name = named ? named->name : tuple ? "" : "Record";
  return Type(std::move(record));
}

/// One number that must be moved: from an offset in the file's element to one in memory.
struct Move {
  std::size_t from, to, bytes;
  bool swapped, boolean;
};

void list_moves(const FileType& file, const Type& type, std::size_t from, std::size_t to,
                std::vector<Move>& moves) {
  if (file.scalar) {
    moves.push_back({from, to, file.bytes, file.swapped, *file.scalar == Scalar::Bool});
    return;
  }
  for (std::size_t k = 0; k < file.fields.size(); ++k) {
    list_moves(file.fields[k].type, type.record().fields[k].type, from + file.fields[k].offset,
               to + field_offset(type.record(), static_cast<int>(k)), moves);
  }
}

void move_element(const std::vector<Move>& moves, const char* from, std::byte* to) {
  for (const Move& move : moves) {
    std::memcpy(to + move.to, from + move.from, move.bytes);
    if (move.swapped) std::reverse(to + move.to, to + move.to + move.bytes);
    if (move.boolean && to[move.to] != std::byte{0}) to[move.to] = std::byte{1};
  }
}

/// Whether the elements can be copied as they are.
bool is_plain(const FileType& file, const std::vector<Move>& moves, std::size_t memory_bytes) {
  if (file.bytes != memory_bytes) return false;
  return std::ranges::none_of(
      moves, [](const Move& move) { return move.from != move.to || move.swapped || move.boolean; });
}

void read_elements(const Header& header, std::string_view body, Data& data) {
  std::vector<Move> moves;
  list_moves(header.type, data.type(), 0, 0, moves);
  const std::size_t bytes = byte_size(data.type());
  const std::int64_t count = data.count();
  const std::size_t rank = header.shape.size();
  if (!header.fortran_order || rank < 2) {
    if (is_plain(header.type, moves, bytes)) {
      std::memcpy(data.bytes(), body.data(), body.size());
      return;
    }
    for (std::int64_t k = 0; k < count; ++k)
      move_element(moves, body.data() + static_cast<std::size_t>(k) * header.type.bytes,
                   data.bytes() + static_cast<std::size_t>(k) * bytes);
    return;
  }
  // Walks memory in order and steps through the file, whose first dimension is the contiguous one.
  std::vector<std::int64_t> index(rank), stride(rank);
  std::int64_t step = 1;
  for (std::size_t d = 0; d < rank; ++d) {
    stride[d] = step;
    step *= header.shape[d];
  }
  std::int64_t from = 0;
  for (std::int64_t k = 0; k < count; ++k) {
    move_element(moves, body.data() + static_cast<std::size_t>(from) * header.type.bytes,
                 data.bytes() + static_cast<std::size_t>(k) * bytes);
    for (std::size_t d = rank; d-- > 0;) {
      from += stride[d];
      if (++index[d] < header.shape[d]) break;
      from -= stride[d] * header.shape[d];
      index[d] = 0;
    }
  }
}

/// The bytes that the elements take, or nothing if no file can be that long.
std::optional<std::size_t> body_size(const Header& header) {
  if (std::ranges::find(header.shape, 0) != header.shape.end()) return 0;
  std::size_t size = header.type.bytes;
  for (std::int64_t extent : header.shape)
    if (__builtin_mul_overflow(size, static_cast<std::size_t>(extent), &size)) return std::nullopt;
  return size;
}

/// How NumPy writes a type; padding of C layout is named so that NumPy keeps it.
std::string describe(const Type& type) {
  if (type.is_scalar()) {
    const ScalarInfo& scalar = info(type.scalar());
    if (type.is(Scalar::BF16)) return "'<u2'";
    const char letter = scalar.number_class == NumberClass::Bool       ? 'b'
                        : scalar.number_class == NumberClass::Signed   ? 'i'
                        : scalar.number_class == NumberClass::Unsigned ? 'u'
                                                                       : 'f';
    return fmt::format("'{}{}{}'", scalar.bytes == 1 ? '|' : '<', letter, scalar.bytes);
  }
  std::string text = "[";
  std::size_t end = 0;
  const auto pad_to = [&](std::size_t offset) {
    if (offset > end) text += fmt::format("('', '|V{}'), ", offset - end);
  };
  const Record& record = type.record();
  for (std::size_t k = 0; k < record.fields.size(); ++k) {
    const std::size_t offset = field_offset(record, static_cast<int>(k));
    pad_to(offset);
    text += fmt::format("('{}', {}), ", record.fields[k].name, describe(record.fields[k].type));
    end = offset + byte_size(record.fields[k].type);
  }
  pad_to(byte_size(type));
  return text.substr(0, text.size() - 2) + "]";
}

std::string header_of(const Data& data) {
  std::string shape;
  for (std::int64_t extent : data.shape()) shape += fmt::format("{}, ", extent);
  if (data.shape().size() > 1) shape.resize(shape.size() - 2);
  if (data.shape().size() == 1) shape.resize(shape.size() - 1);
  std::string text =
      fmt::format("{{'descr': {}, 'fortran_order': False, 'shape': ({}), }}", describe(data.type()), shape);
  // Version 1 has two bytes for the header's length, version 3 has four and allows UTF-8. The header is
  // padded so that the elements begin at a multiple of 64.
  const bool ascii = std::ranges::all_of(text, [](unsigned char c) { return c < 128; });
  const bool small = ascii && text.size() + 128 < 65536;
  const std::size_t before = magic.size() + 2 + (small ? 2 : 4);
  text.append(63 - (before + text.size()) % 64, ' ');
  text += '\n';
  std::string header(magic);
  header += {static_cast<char>(small ? 1 : 3), '\0'};
  for (int k = 0; k < (small ? 2 : 4); ++k) header += static_cast<char>(text.size() >> (8 * k) & 255);
  return header + text;
}

}  // namespace

bool is_npy(std::string_view bytes) { return bytes.starts_with(magic); }

Data npy_from_bytes(std::string_view bytes, const std::string& name, const std::optional<Type>& wanted) {
  const auto damaged = [&](const std::string& what) {
    fail(Fault::User, "E0603", {}, fmt::format("'{}' is damaged: {}", name, what));
  };
  if (!is_npy(bytes)) fail(Fault::User, "E0603", {}, fmt::format("'{}' is not a .npy file", name));
  const std::size_t length_at = magic.size() + 2;
  const int version = bytes.size() > magic.size() ? bytes[magic.size()] : 0;
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  if (bytes.size() < length_at + length_bytes) damaged("it ends inside its header");
  if (version < 1 || version > 3)
    fail(Fault::Limit, "E0604", {}, fmt::format("'{}' has version {} of the .npy format", name, version),
         "versions 1 to 3 are supported");
  std::size_t length = 0;
  for (std::size_t k = 0; k < length_bytes; ++k)
    length |= static_cast<std::size_t>(static_cast<unsigned char>(bytes[length_at + k])) << (8 * k);
  const std::size_t body_at = length_at + length_bytes + length;
  if (bytes.size() < body_at) damaged("it ends inside its header");

  const Header header = HeaderParser(bytes.substr(length_at + length_bytes, length), name).parse();
  const std::string_view body = bytes.substr(body_at);
  const std::optional<std::size_t> size = body_size(header);
  if (!size || body.size() < *size)
    damaged(fmt::format("its shape needs {} bytes of elements, it has {}",
                        size ? std::to_string(*size) : "too many", body.size()));
  if (body.size() > *size) damaged(fmt::format("it has {} bytes after its elements", body.size() - *size));
  Data data(type_of(header.type, wanted ? &*wanted : nullptr), header.shape);
  if (*size > 0) read_elements(header, body, data);
  return data;
}

Data load_npy(const std::filesystem::path& path, const std::optional<Type>& wanted) {
  return npy_from_bytes(read_file(path), path.string(), wanted);
}

void save_npy(const std::filesystem::path& path, const Data& data) {
  write_file(path, {header_of(data), {reinterpret_cast<const char*>(data.bytes()), data.byte_count()}});
}

}  // namespace twill
