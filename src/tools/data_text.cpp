// Values on the command line, and results as text.
#include "tools/data_text.h"

#include "base/error.h"
#include "program/interpret.h"
#include "run/data_files.h"
#include "tools/source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

namespace twill {

namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

constexpr std::int64_t most_shown = 64;  // elements of an array that is printed in full

/// A value of a type as it can be given: 1.5, or {"id": 1, "weight": 1.5}.
std::string example_of(const Type& type) {
  if (type.is_scalar()) return type.is(Scalar::Bool) ? "true" : type.is_float() ? "1.5" : "1";
  const bool is_tuple = type.record().name.empty();
  std::string text;
  for (const Field& field : type.record().fields)
    text +=
        (text.empty() ? "" : ", ") + (is_tuple ? "" : "\"" + field.name + "\": ") + example_of(field.type);
  return is_tuple ? "[" + text + "]" : "{" + text + "}";
}

std::string dimensions(const Array& input) {
  return input.rank() == 1 ? "one dimension" : fmt::format("{} dimensions", input.rank());
}

/// "a number, such as 1.5"
std::string kind_of(const Type& type) {
  if (type.is(Scalar::Bool)) return "true or false";
  return fmt::format("{}, such as {}",
                     !type.is_scalar() ? "a record"
                     : type.is_float() ? "a number"
                                       : "an integer",
                     example_of(type));
}

/// Says that a value is not what an input takes.
[[noreturn]] void misfit(const Array& input, const std::string& value, const std::string& why) {
  usage("E0708", fmt::format("'{}' is no value for '{}': {}", value, input.name, why),
        input.rank() == 0 ? fmt::format("give {}, or a .npy file", kind_of(input.type))
        : input.type.is_scalar()
            ? "give a file, an array such as [1, 2, 3], or made-up data such as random:640x480"
            : fmt::format("give a file, an array such as [{}], or made-up data such as random:640x480",
                          example_of(input.type)));
}

/// A number as text, if it is one of the type.
std::optional<Number> number_from(Scalar type, std::string_view text) {
  const char* end = text.data() + text.size();
  const auto whole = [&](const std::from_chars_result& r) { return r.ec == std::errc{} && r.ptr == end; };
  if (type == Scalar::Bool) {
    if (text == "true" || text == "1") return Number::of(type, 1);
    if (text == "false" || text == "0") return Number::of(type, 0);
    return std::nullopt;
  }
  if (is_float(type)) {
    double value = 0;
    if (!whole(std::from_chars(text.data(), end, value))) return std::nullopt;
    return convert(Number::of_double(Scalar::F64, value), type);
  }
  Number wide;
  wide.type = is_unsigned(type) ? Scalar::U64 : Scalar::I64;
  if (!(is_unsigned(type) ? whole(std::from_chars(text.data(), end, wide.u))
                          : whole(std::from_chars(text.data(), end, wide.i))))
    return std::nullopt;
  const Number narrow = convert(wide, type);
  if (narrow.u != wide.u) return std::nullopt;  // does not fit
  return narrow;
}

/// Numbers that JSON has no word for.
bool is_special(std::string_view word) { return word == "nan" || word == "inf" || word == "-inf"; }

/// The text as JSON: nan, inf and -inf become strings.
std::string with_specials_quoted(std::string_view text) {
  std::string result;
  bool quoted = false;
  for (std::size_t at = 0; at < text.size();) {
    const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-'; };
    std::size_t end = at;
    while (!quoted && end < text.size() && is_part(text[end])) ++end;
    if (const std::string_view word = text.substr(at, end - at); is_special(word)) {
      result += fmt::format("\"{}\"", word);
    } else {
      end = std::max(end, at + 1);
      if (text[at] == '\\') ++end;  // and what it escapes
      if (text[at] == '"') quoted = !quoted;
      result += text.substr(at, end - at);
    }
    at = end;
  }
  return result;
}

/// Fills arrays and records from JSON.
class Filler {
 public:
  Filler(const Array& input, const std::string& value) : input_(input), value_(value) {}

  Data fill(const Json& json) {
    std::vector<std::int64_t> shape;
    const Json* row = &json;
    for (int d = 0; d < input_.rank(); ++d) {
      if (!row->is_array()) misfit(input_, value_, "it needs " + dimensions(input_));
      shape.push_back(static_cast<std::int64_t>(row->size()));
      if (row->empty()) {
        shape.resize(static_cast<std::size_t>(input_.rank()), 0);
        break;
      }
      row = &row->front();
    }
    Data data(input_.type, shape);
    std::byte* at = data.bytes();
    rows(json, shape, at);
    return data;
  }

 private:
  void rows(const Json& json, std::span<const std::int64_t> shape, std::byte*& at) {
    if (shape.empty()) {
      element(json, input_.type, at);
      at += byte_size(input_.type);
      return;
    }
    if (!json.is_array() || static_cast<std::int64_t>(json.size()) != shape[0])
      misfit(input_, value_, "its rows differ in length");
    for (const Json& row : json) rows(row, shape.subspan(1), at);
  }

  void element(const Json& json, const Type& type, std::byte* at) {
    if (type.is_scalar()) {
      const std::string text =
          json.is_string() && is_special(json.get<std::string>()) ? json.get<std::string>() : json.dump();
      const auto number = number_from(type.scalar(), text);
      if (!number) misfit(input_, value_, fmt::format("{} is not of type {}", text, to_string(type)));
      return store(*number, at);
    }
    const Record& record = type.record();
    for (std::size_t f = 0; f < record.fields.size(); ++f) {
      const Field& field = record.fields[f];
      const bool named = json.is_object() && json.contains(field.name);
      const bool placed = json.is_array() && json.size() == record.fields.size();
      if (!named && !placed)
        misfit(input_, value_, fmt::format("{} lacks the field '{}'", json.dump(), field.name));
      element(named ? json[field.name] : json[f], field.type, at + field_offset(record, static_cast<int>(f)));
    }
  }

  const Array& input_;
  const std::string& value_;
};

Data made_up(const Array& input, const std::string& value, std::string_view extents, std::uint64_t seed) {
  std::vector<std::int64_t> shape;
  for (const char *at = extents.data(), *end = at + extents.size(); at != end;) {
    std::int64_t extent = 0;
    const auto [next, error] = std::from_chars(at, end, extent);
    if (error != std::errc{} || extent < 0 || (next != end && *next != 'x'))
      misfit(input, value, "its extents are not numbers with 'x' between them");
    shape.push_back(extent);
    at = next == end ? end : next + 1;
  }
  if (static_cast<int>(shape.size()) != input.rank()) misfit(input, value, "it needs " + dimensions(input));
  return random_data(input.type, std::move(shape), seed);
}

std::string element_text(const Data& data, std::int64_t position) {
  const std::byte* at = data.bytes() + static_cast<std::size_t>(position) * byte_size(data.type());
  std::vector<Number> leaves;
  for (const TypeLeaf& leaf : leaves_of(data.type())) leaves.push_back(load(leaf.scalar, at + leaf.offset));
  return value_text(data.type(), leaves);
}

/// Rows in brackets, the innermost on one line each; columns aligned.
std::string rows_text(const Data& data, std::size_t width, std::size_t dim, std::int64_t first,
                      std::int64_t count, std::size_t indent) {
  const auto& shape = data.shape();
  if (dim == shape.size()) return fmt::format("{:>{}}", element_text(data, first), width);
  const bool innermost = dim + 1 == shape.size();
  const std::int64_t part = shape[dim] == 0 ? 0 : count / shape[dim];
  std::string text = "[";
  for (std::int64_t k = 0; k < shape[dim]; ++k) {
    if (k > 0) text += innermost ? ", " : ",\n" + std::string(indent + 1, ' ');
    text += rows_text(data, width, dim + 1, first + k * part, part, indent + 1);
  }
  return text + "]";
}

/// "0.1 … 0.9, mean 0.5"
std::string range_text(const Data& data) {
  if (!data.type().is_scalar()) return fmt::format("{}, …", element_text(data, 0));
  double sum = 0, low = INFINITY, high = -INFINITY;
  std::int64_t nans = 0;
  for (std::int64_t k = 0; k < data.count(); ++k) {
    const double value = data.get(k).as_double();
    if (std::isnan(value)) {
      ++nans;
      continue;
    }
    sum += value;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  std::string text = nans == data.count() ? ""
                                          : fmt::format("from {:.6g} to {:.6g}, mean {:.6g}", low, high,
                                                        sum / static_cast<double>(data.count() - nans));
  if (nans > 0) text += fmt::format("{}{} NaN", text.empty() ? "" : ", ", nans);
  return text;
}

}  // namespace

Data data_from_text(const Array& input, const std::string& value, std::uint64_t seed) {
  if (input.rank() == 0 && input.type.is_scalar())
    if (const auto number = number_from(input.type.scalar(), value)) return Data::scalar(*number);
  if (value.starts_with("[") || value.starts_with("{")) {
    const Json json = Json::parse(with_specials_quoted(value), nullptr, false);
    if (json.is_discarded()) misfit(input, value, "brackets, commas and numbers do not make a value");
    return Filler(input, value).fill(json);
  }
  constexpr std::string_view random = "random:";
  if (value.starts_with(random) && input.rank() > 0)
    return made_up(input, value, std::string_view(value).substr(random.size()), seed);
  std::error_code error;
  const bool is_file = value.ends_with(".npy") || fs::exists(value, error);
  if (input.rank() == 0 && !is_file)
    misfit(input, value, fmt::format("it is not of type {}", to_string(input.type)));
  const bool is_number = number_from(Scalar::F64, value) || number_from(Scalar::Bool, value);
  if (is_number && !is_file) misfit(input, value, fmt::format("an array of {} is wanted", dimensions(input)));
  return load_data(value, input.type, input.rank());
}

std::string type_text(const Data& data) {
  const std::string type = to_string(data.type());
  return data.shape().empty() ? type : fmt::format("{}[{}]", type, fmt::join(data.shape(), ", "));
}

std::string data_text(const std::string& name, const Data& data) {
  const std::string head = fmt::format("{}: {}", name, type_text(data));
  if (data.count() > most_shown) return fmt::format("{}  {}\n", head, range_text(data));
  std::size_t width = 0;
  if (data.shape().size() > 1)
    for (std::int64_t k = 0; k < data.count(); ++k) width = std::max(width, element_text(data, k).size());
  const bool lines = data.shape().size() > 1 && data.count() > 0;
  return fmt::format("{} ={}{}\n", head, lines ? "\n  " : " ", rows_text(data, width, 0, 0, data.count(), 2));
}

std::string bytes_text(double bytes) {
  const char* units[] = {"B", "kB", "MB", "GB", "TB"};
  int unit = 0;
  for (; bytes >= 1000 && unit < 4; ++unit) bytes /= 1000;
  return fmt::format("{:.{}f} {}", bytes, unit == 0 || bytes >= 100 ? 0 : 1, units[unit]);
}

}  // namespace twill
