// Words for messages.
#include "program/text_names.h"

#include <algorithm>
#include <cctype>

namespace twill::text {
namespace {

/// Insertions, deletions, replacements and swaps of neighbours; a change of case costs nothing.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  const auto same = [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  };
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] =
          std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (same(a[i - 1], b[j - 1]) ? 0 : 1)});
      if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::string did_you_mean(const std::string& name, const std::vector<std::string>& candidates) {
  constexpr std::size_t longest = 64;
  if (name.size() > longest) return {};
  const std::string* best = nullptr;
  std::size_t best_distance = std::max<std::size_t>(1, name.size() / 3);
  for (const std::string& candidate : candidates) {
    if (candidate == name || candidate.size() > longest) continue;
    const std::size_t d = distance(name, candidate);
    const bool near = d == 0 || (d <= best_distance && d < std::max(name.size(), candidate.size()));
    const auto shared = [&](const std::string& other) {
      return std::mismatch(name.begin(), name.end(), other.begin(), other.end()).first - name.begin();
    };
    if (near && (!best || d < best_distance || (d == best_distance && shared(candidate) > shared(*best)))) {
      best = &candidate;
      best_distance = d;
    }
  }
  return best ? "did you mean '" + *best + "'?" : std::string{};
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + ("'" + names[i] + "'");
  return text;
}

std::string example_subscripts(std::size_t rank) {
  std::string text = "i";
  for (std::size_t d = 1; d < rank; ++d) text += d == 1 ? ", j" : d == 2 ? ", k" : d == 3 ? ", l" : ", ...";
  return text;
}

std::string counted(std::size_t count, const std::string& thing) {
  return std::to_string(count) + " " + thing + (count == 1 ? "" : "s");
}

}  // namespace twill::text
