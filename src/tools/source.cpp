// Program files on the command line: finding them and the definition that is meant.
#include "base/error.h"
#include "base/files.h"
#include "program/text.h"
#include "program/text_names.h"
#include "run/compiler.h"
#include "tools/command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

namespace twill {

namespace fs = std::filesystem;

namespace {

/// Programs beside a file that is not there.
std::vector<std::string> programs_near(const fs::path& file) {
  std::vector<std::string> names;
  std::error_code error;
  const fs::path directory = file.parent_path();
  for (const auto& entry : fs::directory_iterator(directory.empty() ? fs::path(".") : directory, error))
    if (entry.path().extension() == ".twill" || entry.path().extension() == ".c")
      names.push_back((directory / entry.path().filename()).string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

void add_source(CLI::App& app, Source& source) {
  app.add_option("FILE", source.file, "The program, a .twill file, or a .c file with loop nests")
      ->required()
      ->type_name("");
  app.add_option("--def", source.definition, "Which definition of the file; the last one if left out")
      ->type_name("NAME");
  add_preprocessor(app, source);
}

void add_preprocessor(CLI::App& app, Source& source) {
  app.add_option("-I", source.includes, "Of a C file: a directory with headers")
      ->type_name("DIR")
      ->allow_extra_args(false);
  app.add_option("-D", source.defines, "Of a C file: a macro")
      ->type_name("NAME[=VALUE]")
      ->allow_extra_args(false);
}

void add_clusters(CLI::App& app, ClusterWish& wish) {
  app.add_option(
         "--cluster", wish.way,
         "Stages that share a pass: optimal, greedy, none to fuse nothing at all, or, to compare, pairs from "
         "the first or the last stages on (greedy-top, greedy-bottom) and what isl's scheduler fuses "
         "(minfuse, "
         "smartfuse, maxfuse)")
      ->type_name("CHOICE")
      ->capture_default_str();
  app.add_option(
         "--cost", wish.cost,
         "What is least where they are optimal: f, predicted time, or a to e (`twill cluster --help`)")
      ->type_name("LETTER")
      ->capture_default_str();
}

void add_sizes(CLI::App& app, std::vector<std::string>& words, const std::string& use) {
  app.add_option("--size", words, use)->type_name("NAME=SIZE");
}

std::map<std::string, std::int64_t> named_sizes(const std::vector<std::string>& words,
                                                const Program& program) {
  std::vector<std::string> known;
  for (const Symbol& symbol : program.symbols) known.push_back(symbol.name);
  std::map<std::string, std::int64_t> sizes;
  for (const auto& [name, text] : named_values(words, "--size", program.name, "size", known)) {
    std::int64_t& size = sizes[name];
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (error != std::errc() || end != text.data() + text.size() || size < 0)
      usage("E0703", fmt::format("'{}' is no size", text), "write --size N=1000");
  }
  return sizes;
}

KnownSizes known_sizes(const std::vector<std::string>& words, const Program& program) {
  const std::map<std::string, std::int64_t> named = named_sizes(words, program);
  KnownSizes known;
  for (std::size_t s = 0; s < program.symbols.size(); ++s)
    if (const auto found = named.find(program.symbols[s].name); found != named.end())
      known.sizes[SymbolId{static_cast<int>(s)}] = found->second;
  return known;
}

std::optional<GraphCost> cost_named(const std::string& letter) {
  for (const GraphCost cost : graph_costs)
    if (letter.size() == 1 && letter[0] == letter_of(cost)) return cost;
  if (letter == "f") return std::nullopt;
  usage("E0715", fmt::format("there is no cost '{}'", letter), "a, b, c, d, e or f: `twill cluster --help`");
}

void set_clusters(const ClusterWish& wish, Options& options) {
  const std::string& clusters = wish.way;
  static const std::map<std::string, Clusters> ways = {
      {"greedy", Clusters::Greedy},          {"greedy-top", Clusters::TopDown},
      {"greedy-bottom", Clusters::BottomUp}, {"optimal", Clusters::Optimal},
      {"minfuse", Clusters::MinFuse},        {"smartfuse", Clusters::SmartFuse},
      {"maxfuse", Clusters::MaxFuse},        {"none", Clusters::None}};
  const auto found = ways.find(clusters);
  if (found == ways.end())
    usage("E0714", fmt::format("there is no way to choose clusters called '{}'", clusters),
          "one of: greedy, greedy-top, greedy-bottom, optimal, minfuse, smartfuse, maxfuse, none");
  options.clusters = found->second;
  // What is simplified is fused already where that needs no decision.
  options.simplify = options.clusters != Clusters::None && options.clusters < Clusters::MinFuse;
  options.cost = cost_named(wish.cost);
}

namespace {

void check_file(const std::string& file) {
  std::error_code error;
  if (!fs::exists(file, error))
    usage("E0704", fmt::format("there is no file '{}'", file), text::did_you_mean(file, programs_near(file)));
  if (fs::is_directory(file, error)) usage("E0704", fmt::format("'{}' is a directory, not a program", file));
}

}  // namespace

bool Source::is_c() const { return fs::path(file).extension() == ".c"; }

Module read_module(const std::string& file) {
  Source source;
  source.file = file;
  return read_module(source);
}

Module read_module(const Source& source) {
  if (source.is_c()) return read_c(source).module;
  check_file(source.file);
  return parse(source.file, read_file(source.file));
}

CImport read_c(const Source& source) {
  check_file(source.file);
  std::vector<std::string> flags;
  for (const std::string& directory : source.includes) flags.push_back("-I" + directory);
  for (const std::string& macro : source.defines) flags.push_back("-D" + macro);
  return import_c({source.file, read_file(source.file), preprocess(source.file, flags)}, source.definition);
}

const Program& find_definition(const Module& module, const Source& source) {
  if (module.programs.empty())
    usage("E0705", fmt::format("'{}' defines nothing that could be run", source.file));
  if (source.definition.empty()) return module.programs.back();
  if (const Program* program = module.find(source.definition)) return *program;
  std::vector<std::string> names;
  for (const Program& program : module.programs) names.push_back(program.name);
  const std::string help = text::did_you_mean(source.definition, names);
  usage("E0705", fmt::format("'{}' has no definition '{}'", source.file, source.definition),
        help.empty() ? fmt::format("it defines: {}", fmt::join(names, ", ")) : help);
}

Named named_values(const std::vector<std::string>& words, const std::string& option,
                   const std::string& definition, const std::string& what,
                   const std::vector<std::string>& known) {
  Named values;
  for (const std::string& word : words) {
    const std::size_t at = word.find('=');
    if (at == std::string::npos || at == 0)
      usage("E0706", fmt::format("'{} {}' is not of the form NAME=VALUE", option, word));
    const std::string name = word.substr(0, at);
    if (std::ranges::find(known, name) == known.end()) {
      std::string help = text::did_you_mean(name, known);
      if (help.empty())
        help = known.empty() ? fmt::format("it has no {}s", what)
                             : fmt::format("its {}s: {}", what, fmt::join(known, ", "));
      usage("E0707", fmt::format("'{}' has no {} '{}'", definition, what, name), help);
    }
    if (!values.emplace(name, word.substr(at + 1)).second)
      usage("E0706", fmt::format("'{}' is given twice", name));
  }
  return values;
}

}  // namespace twill
