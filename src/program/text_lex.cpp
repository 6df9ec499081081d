// Lexer of the text language: names, numbers with suffixes, strings and symbols.
#include "program/text_lex.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace twill::text {
namespace {

constexpr std::array<std::string_view, 28> reserved_words = {
    "all",        "and",     "any", "else", "false", "fold", "for",   "group", "if",      "in",
    "inf",        "into",    "let", "max",  "min",   "nan",  "not",   "or",    "product", "scan",
    "scan_right", "scatter", "seq", "sum",  "then",  "true", "where", "while"};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Bytes of the UTF-8 character that starts here; 0 if it is malformed.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  std::size_t length = byte(0) < 0x80                      ? 1
                       : byte(0) >= 0xc2 && byte(0) < 0xe0 ? 2
                       : (byte(0) & 0xf0) == 0xe0          ? 3
                       : byte(0) >= 0xf0 && byte(0) < 0xf5 ? 4
                                                           : 0;
  if (length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  return length;
}

class Lexer {
 public:
  Lexer(const std::shared_ptr<const SourceText>& source, std::vector<Diagnostic>& errors)
      : source_(source), text_(source->text), errors_(errors) {}

  std::vector<Token> run() {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = line_start_ = 3;  // a byte-order mark
    for (;;) {
      skip_blanks();
      Token token;
      token.newline = newline_ || tokens_.empty();
      newline_ = false;
      start_ = at_;
      start_column_ = column();
      if (at_ >= text_.size()) {
        token.place = place();
        tokens_.push_back(std::move(token));
        return std::move(tokens_);
      }
      if (scan(token)) {
        token.place = place();
        tokens_.push_back(std::move(token));
      } else {
        newline_ = token.newline && !tokens_.empty();
      }
    }
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  std::uint32_t column() const { return static_cast<std::uint32_t>(at_ - line_start_ + 1); }

  Place place() const {
    return {source_, line_, start_column_,
            static_cast<std::uint32_t>(std::max<std::size_t>(1, at_ - start_))};
  }

  void error(std::string code, std::string message, std::string help = {}) {
    errors_.push_back({Fault::User, std::move(code), place(), std::move(message), std::move(help)});
  }

  void next_line() {
    ++at_;
    ++line_;
    line_start_ = at_;
    newline_ = true;
  }

  void skip_blanks() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        next_line();
      } else if (c == ' ' || c == '\t' || c == '\r') {
        ++at_;
      } else if (c == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') step_in_text("a comment");
      } else {
        return;
      }
    }
  }

  /// One character of a comment, string or quoted name, which must be UTF-8.
  void step_in_text(const char* where) {
    const std::size_t length = utf8_length(text_.substr(at_));
    if (length == 0) {
      start_ = at_++;
      start_column_ = column() - 1;
      error("E0105", std::string("a byte in ") + where + " is not UTF-8", "save the file as UTF-8");
      return;
    }
    at_ += length;
  }

  bool scan(Token& token) {
    const char c = peek();
    if (is_letter(c)) return name(token);
    if (is_digit(c)) return number(token);
    if (c == '"') return string(token);
    if (c == '`') return quoted(token);
    return symbol(token);
  }

  bool name(Token& token) {
    while (is_letter(peek()) || is_digit(peek())) ++at_;
    token.kind = TokenKind::Name;
    token.text = text_.substr(start_, at_ - start_);
    return true;
  }

  bool quoted(Token& token) {
    ++at_;
    const std::size_t begin = at_;
    while (at_ < text_.size() && peek() != '`' && peek() != '\n') step_in_text("a name");
    token.kind = TokenKind::Name;
    token.quoted = true;
    token.text = text_.substr(begin, at_ - begin);
    if (peek() != '`') {
      error("E0102", "this name has no closing backquote");
      return false;
    }
    ++at_;
    if (token.text.empty()) {
      error("E0101", "a name in backquotes is empty");
      return false;
    }
    return true;
  }

  bool string(Token& token) {
    token.kind = TokenKind::String;
    ++at_;
    const std::size_t begin = start_;
    const std::uint32_t begin_column = start_column_;
    while (at_ < text_.size() && peek() != '"' && peek() != '\n') {
      if (peek() == '\\') {
        const char escaped = peek(1);
        const std::string_view known = "\"\\nt";
        if (known.find(escaped) == std::string_view::npos || escaped == '\0') {
          start_ = at_++;
          start_column_ = column() - 1;
          if (at_ < text_.size() && peek() != '\n') step_in_text("a string");
          error("E0106",
                "unknown escape '" + std::string(text_.substr(start_, at_ - start_)) + "' in a string",
                "known are \\\", \\\\, \\n and \\t");
          continue;
        }
        token.text += escaped == 'n' ? '\n' : escaped == 't' ? '\t' : escaped;
        at_ += 2;
      } else {
        const std::size_t from = at_;
        step_in_text("a string");
        token.text += text_.substr(from, at_ - from);
      }
    }
    start_ = begin;
    start_column_ = begin_column;
    if (peek() != '"') {
      error("E0102", "this string has no closing quote");
      return false;
    }
    ++at_;
    return true;
  }

  bool number(Token& token) {
    token.kind = TokenKind::Number;
    const bool after_dot = !tokens_.empty() && tokens_.back().kind == TokenKind::Symbol &&
                           tokens_.back().text == "." && tokens_.back().place.line == line_;
    if (after_dot) {  // the field of a tuple: t.0.1 is (t.0).1
      while (is_digit(peek())) ++at_;
      token.text = text_.substr(start_, at_ - start_);
      const auto [end, status] =
          std::from_chars(token.text.data(), token.text.data() + token.text.size(), token.number.integer);
      return status == std::errc() ? true : too_large(token);
    }
    if (peek() == '0' && (peek(1) == 'x' || peek(1) == 'X')) return hexadecimal(token);
    std::string digits = take_digits();
    if (peek() == '.' && is_digit(peek(1))) {
      token.number.fraction = true;
      ++at_;
      digits += "." + take_digits();
    }
    if ((peek() == 'e' || peek() == 'E') &&
        (is_digit(peek(1)) || ((peek(1) == '-' || peek(1) == '+') && is_digit(peek(2))))) {
      token.number.fraction = true;
      digits += 'e';
      ++at_;
      if (!is_digit(peek())) digits += text_[at_++];
      digits += take_digits();
    }
    if (!suffix(token)) return false;
    if (token.number.fraction || (token.number.suffix && is_float(*token.number.suffix)))
      return fraction(token, digits);
    const auto [end, status] =
        std::from_chars(digits.data(), digits.data() + digits.size(), token.number.integer);
    return status == std::errc() ? true : too_large(token);
  }

  bool too_large(Token& token) {
    error("E0104", "this number is too large", "the largest integer is 18446744073709551615u64");
    token.number.integer = 0;
    return true;
  }

  bool fraction(Token& token, const std::string& digits) {
    token.number.fraction = true;
    token.number.value = std::strtod(digits.c_str(), nullptr);
    if (std::isinf(token.number.value)) {
      error("E0104", "this number is too large", "write 'inf' for infinity");
      token.number.value = 0;
    }
    if (token.number.suffix && !is_float(*token.number.suffix)) {
      error("E0103",
            "a fraction cannot have the type '" + std::string(info(*token.number.suffix).name) + "'");
      token.number.suffix.reset();
    }
    return true;
  }

  bool hexadecimal(Token& token) {
    at_ += 2;
    std::string digits;
    const auto is_hex = [](char c) {
      return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    };
    while (is_hex(peek()) || peek() == '_') {
      if (peek() != '_') digits += peek();
      ++at_;
    }
    if (!suffix(token)) return false;
    if (digits.empty()) {
      error("E0103", "this is not a number: digits are missing after 0x");
      return false;
    }
    const auto [end, status] =
        std::from_chars(digits.data(), digits.data() + digits.size(), token.number.integer, 16);
    return status == std::errc() ? true : too_large(token);
  }

  std::string take_digits() {
    std::string digits;
    while (is_digit(peek()) || (peek() == '_' && is_digit(peek(1)))) {
      if (peek() != '_') digits += peek();
      ++at_;
    }
    return digits;
  }

  bool suffix(Token& token) {
    const std::size_t begin = at_;
    while (is_letter(peek()) || is_digit(peek())) ++at_;
    if (at_ == begin) return true;
    const std::string_view word = text_.substr(begin, at_ - begin);
    const std::optional<Scalar> scalar = scalar_named(word);
    if (!scalar || *scalar == Scalar::Bool) {
      error("E0103", "this is not a number: unknown suffix '" + std::string(word) + "'",
            "a suffix is a number type, as in 1.5f32 or 255u8");
      return false;
    }
    token.number.suffix = scalar;
    return true;
  }

  bool symbol(Token& token) {
    static constexpr std::array<std::string_view, 32> symbols = {
        "..", "==", "!=", "<=", ">=", "<-", "->", "(", ")", "[", "]", "{", "}", ",", ";", ":",
        ".",  "=",  "<",  ">",  "+",  "-",  "*",  "/", "%", "|", "~", "@", "&", "^", "!", "?"};
    token.kind = TokenKind::Symbol;
    for (std::string_view candidate : symbols) {
      if (text_.substr(at_, candidate.size()) != candidate) continue;
      token.text = candidate;
      at_ += candidate.size();
      if (candidate == "&" || candidate == "^" || candidate == "!" || candidate == "?")
        return foreign(candidate);
      return true;
    }
    const std::size_t length = utf8_length(text_.substr(at_));
    at_ += std::max<std::size_t>(length, 1);
    if (length == 0)
      error("E0105", "a byte is not UTF-8", "save the file as UTF-8");
    else if (length == 1 && static_cast<unsigned char>(text_[start_]) < 0x20)
      error("E0101", "unexpected control character");
    else
      error("E0101", "unexpected character '" + std::string(text_.substr(start_, length)) + "'");
    return false;
  }

  /// Operators of other languages.
  bool foreign(std::string_view symbol) {
    error("E0101", "unexpected character '" + std::string(symbol) + "'",
          symbol == "&"   ? "write 'and' for conditions, bit_and(a, b) for bits"
          : symbol == "^" ? "write pow(a, b) for powers, xor(a, b) for bits"
          : symbol == "?" ? "a choice is written: if c then a else b"
                          : "write 'not'");
    return false;
  }

  const std::shared_ptr<const SourceText>& source_;
  std::string_view text_;
  std::vector<Diagnostic>& errors_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0, start_ = 0, line_start_ = 0;
  std::uint32_t line_ = 1, start_column_ = 1;
  bool newline_ = false;
};

}  // namespace

std::vector<Token> lex(const std::shared_ptr<const SourceText>& source, std::vector<Diagnostic>& errors) {
  return Lexer(source, errors).run();
}

bool is_reserved(std::string_view word) {
  return word == "with" ||
         std::find(reserved_words.begin(), reserved_words.end(), word) != reserved_words.end();
}

bool is_plain_name(std::string_view name) {
  if (name.empty() || !is_letter(name[0]) || is_reserved(name)) return false;
  return std::all_of(name.begin(), name.end(), [](char c) { return is_letter(c) || is_digit(c); });
}

}  // namespace twill::text
