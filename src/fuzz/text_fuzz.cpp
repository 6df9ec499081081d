// Changed texts against the parser, which must accept them or say what is wrong.
#include "fuzz/text_fuzz.h"

#include "base/error.h"
#include "base/isolate.h"
#include "program/text.h"

#include <algorithm>

namespace twill {

namespace {

const std::vector<std::string> tokens = {
    "def",   "test",   "type",   "fn",    "op",      "const",  "stage",    "out",         "block", "carry",
    "from",  "next",   "at",     "into",  "key",     "where",  "if",       "then",        "else",  "let",
    "in",    "and",    "or",     "not",   "sum",     "max",    "min",      "fold",        "scan",  "seq",
    "last",  "cat",    "append", "group", "scatter", "with",   "while",    "for",         "print", "expect",
    "force", "strict", "f32",    "i64",   "u8",      "bool",   "bf16",     "x",           "y",     "z",
    "i",     "j",      "N",      "M",     "0",       "1",      "2.5",      "1e-9",        "0xff",  "\"s\"",
    "(",     ")",      "[",      "]",     "{",       "}",      ",",        ":",           ";",     "\n",
    "->",    "<-",     "=",      "==",    "<",       "<=",     "..",       "|",           "+",     "-",
    "*",     "/",      "%",      "~",     ".",       "@never", "identity", "associative", "born",  "offsets",
    "keys",  "clamp",  "pad",    "# c\n", "true",    "inf",    "nan",      "`q`"};

std::string bytes(Rng& rng) {
  std::string text;
  const int count = rng.below(200);
  for (int k = 0; k < count; ++k)
    text += static_cast<char>(rng.chance(70) ? rng.between(32, 126) : rng.below(256));
  return text;
}

std::string soup(Rng& rng) {
  std::string text = rng.chance(70) ? "def f(x: f32[N], y: i64[N, M]) -> z {\n" : "";
  const int count = rng.below(60);
  for (int k = 0; k < count; ++k) text += rng.pick(tokens) + (rng.chance(80) ? " " : "");
  return rng.chance(70) ? text + "}\n" : text;
}

/// A part of a text, from one word boundary to another.
std::pair<std::size_t, std::size_t> part_of(const std::string& text, Rng& rng) {
  if (text.empty()) return {0, 0};
  const auto at = static_cast<std::size_t>(rng.between(0, static_cast<std::int64_t>(text.size()) - 1));
  const auto length = static_cast<std::size_t>(rng.chance(70) ? rng.below(12) : rng.below(120));
  return {at, std::min(length, text.size() - at)};
}

std::string mutated(Rng& rng, const std::vector<std::string>& seeds) {
  std::string text = rng.pick(seeds);
  const int changes = static_cast<int>(rng.between(1, 6));
  for (int k = 0; k < changes; ++k) {
    const auto [at, length] = part_of(text, rng);
    switch (rng.below(6)) {
      case 0: text.erase(at, length); break;
      case 1: text.insert(at, text.substr(at, length)); break;
      case 2: text.insert(at, " " + rng.pick(tokens) + " "); break;
      case 3: text.replace(at, length, rng.pick(tokens)); break;
      case 4: {
        const std::string& other = rng.pick(seeds);
        const auto [from, count] = part_of(other, rng);
        text.insert(at, other.substr(from, count));
        break;
      }
      default:
        if (!text.empty())
          text[at] = static_cast<char>(rng.chance(80) ? rng.between(32, 126) : rng.below(256));
    }
  }
  return text;
}

/// What is wrong with how the parser takes a text, crashes included; empty if nothing is.
std::string complaint_in_process(const std::string& text, const TextFuzzOptions& options) {
  if (!options.isolate) return parse_complaint(text).value_or("");
  const Isolated end = Isolation([&] { return parse_complaint(text).value_or(""); }, options.patience).wait();
  return end.died ? *end.died : end.text;
}

/// Leaves out ever smaller parts as long as the complaint stays.
std::string smaller(std::string text, const TextFuzzOptions& options) {
  const auto fails = [&](const std::string& candidate) {
    return !complaint_in_process(candidate, options).empty();
  };
  int attempts = 0;
  for (std::size_t part = std::max<std::size_t>(1, text.size() / 2); part > 0; part /= 2) {
    for (std::size_t at = 0; at < text.size() && attempts < 400;) {
      std::string candidate = text;
      candidate.erase(at, part);
      ++attempts;
      if (fails(candidate))
        text = std::move(candidate);
      else
        at += part;
    }
  }
  return text;
}

}  // namespace

std::string random_text(Rng& rng, const std::vector<std::string>& seeds) {
  switch (rng.weighted({10, 25, seeds.empty() ? 0 : 65})) {
    case 0: return bytes(rng);
    case 1: return soup(rng);
    default: return mutated(rng, seeds);
  }
}

std::optional<std::string> parse_complaint(const std::string& text) {
  try {
    const Module module = parse("fuzz", text);
    for (const Program& program : module.programs) print(program);
    return std::nullopt;
  } catch (const Error& error) {
    const auto bug =
        std::ranges::find_if(error.diagnostics(), [](const Diagnostic& d) { return d.fault == Fault::Bug; });
    if (bug == error.diagnostics().end()) return std::nullopt;
    return "a bug is reported: " + to_string(*bug);
  } catch (const std::exception& error) {
    return std::string("an exception that is no Error: ") + error.what();
  }
}

std::vector<TextFuzzFailure> fuzz_text(const TextFuzzOptions& options) {
  std::vector<TextFuzzFailure> failures;
  const auto text_of = [&](int k) {
    Rng rng(options.seed + static_cast<std::uint64_t>(k));
    return random_text(rng, options.seeds);
  };
  const auto note = [&](int k, const std::string& what) {
    failures.push_back({options.seed + static_cast<std::uint64_t>(k), what,
                        options.isolate ? smaller(text_of(k), options) : text_of(k)});
  };
  constexpr int batch = 50;
  for (int first = 0; first < options.count && failures.size() < 10; first += batch) {
    const int last = std::min(first + batch, options.count);
    if (!options.isolate) {
      for (int k = first; k < last; ++k)
        if (const auto what = parse_complaint(text_of(k))) note(k, *what);
      continue;
    }
    // Many texts in one process; one by one only if something is wrong with the batch.
    const Isolated end = Isolation(
                             [&] {
                               std::string bad;
                               for (int k = first; k < last; ++k)
                                 if (parse_complaint(text_of(k))) bad += "x";
                               return bad;
                             },
                             options.patience + std::chrono::seconds(batch / 5))
                             .wait();
    if (!end.died && end.text.empty()) continue;
    for (int k = first; k < last && failures.size() < 10; ++k)
      if (const std::string what = complaint_in_process(text_of(k), options); !what.empty()) note(k, what);
  }
  return failures;
}

}  // namespace twill
