// The lines of a preprocessed C file, and where they come from.
#include "import/c_read.h"

#include <regex>
#include <sstream>

namespace twill::c {

namespace {

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace

Lines::Lines(const SourceFile& file)
    : source_(std::make_shared<const SourceText>(SourceText{file.name, file.text})),
      written_(split_lines(file.text)) {
  static const std::regex marker(R"(^#\s*(?:line\s+)?(\d+)\s+"([^"]*)\".*)");
  static const std::regex pragma(R"(^\s*#\s*pragma\s+(scop|endscop)\b.*)");
  bool own = true;
  unsigned number = 0, offset = 0;
  for (std::string& line : split_lines(file.preprocessed)) {
    std::smatch match;
    const auto length = static_cast<unsigned>(line.size()) + 1;
    ++number;
    if (line.starts_with("#") && std::regex_match(line, match, marker)) {
      own = match[2] == file.name;
      number = static_cast<unsigned>(std::stoul(match[1])) - 1;
      lines_.push_back({0, ""});
      offset += length;
      continue;
    }
    if (own && std::regex_match(line, match, pragma)) {
      if (match[1] == "scop")
        regions_.push_back({offset + length, 0, number});
      else if (!regions_.empty() && regions_.back().end == 0)
        regions_.back().end = offset;
      else if (stray_end_ == 0)
        stray_end_ = number;
    }
    lines_.push_back({own ? number : 0, std::move(line)});
    offset += length;
  }
}

Place Lines::place(unsigned line, unsigned column, unsigned length) const {
  if (line == 0 || line > lines_.size() || lines_[line - 1].original == 0) return {source_, 1, 0, 0};
  const Line& from = lines_[line - 1];
  const bool unchanged = from.original <= written_.size() && written_[from.original - 1] == from.text;
  return unchanged ? Place{source_, from.original, column, length} : Place{source_, from.original, 0, 0};
}

}  // namespace twill::c
