// Random texts for the parser: whatever it is given, it answers with a module or with an Error.
#pragma once

#include "fuzz/rng.h"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace twill {

/// A text of one of three kinds: bytes, a soup of the language's tokens, or one of `seeds` with changes
/// (parts left out, repeated, moved, exchanged with another text's, single characters replaced).
std::string random_text(Rng& rng, const std::vector<std::string>& seeds);

/// What is wrong with how the parser takes a text; nothing if it parses, prints and parses again, or throws
/// an Error that is no bug. A crash or an endless loop is not caught here.
std::optional<std::string> parse_complaint(const std::string& text);

struct TextFuzzOptions {
  std::uint64_t seed = 1;  // of the first text; the k-th has seed + k
  int count = 2000;
  std::vector<std::string> seeds;     // texts to start from
  std::chrono::seconds patience{10};  // for one text
  bool isolate = true;                // each batch of texts in a process of its own
};

struct TextFuzzFailure {
  std::uint64_t seed = 0;
  std::string what;
  std::string text;  // as small as it became
};

/// The texts that the parser does not take well, at most ten.
std::vector<TextFuzzFailure> fuzz_text(const TextFuzzOptions& options);

}  // namespace twill
