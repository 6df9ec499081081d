// C names for arrays, indices, sizes and types: readable, legal, and different from each other.
#include "emit/c_names.h"

#include <algorithm>
#include <cctype>
#include <iterator>

namespace twill {

namespace {

const char* const reserved[] = {
    // C keywords and what the headers we include define
    "auto",
    "break",
    "case",
    "char",
    "const",
    "continue",
    "default",
    "do",
    "double",
    "else",
    "enum",
    "extern",
    "float",
    "for",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "register",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "struct",
    "switch",
    "typedef",
    "union",
    "unsigned",
    "void",
    "volatile",
    "while",
    "bool",
    "true",
    "false",
    "NULL",
    "INFINITY",
    "NAN",
    "main",
    "abs",
    "labs",
    "div",
    "free",
    "malloc",
    "calloc",
    "realloc",
    "exit",
    "abort",
    "rand",
    "index",
    "memcpy",
    "memset",
    "memmove",
    "printf",
    "puts",
    "fputs",
    "stdout",
    "stderr",
    "signgam",
    "gamma",
    "j0",
    "j1",
    "jn",
    "y0",
    "y1",
    "yn",
    "drem",
    "pow10",
    "remainder",
    "time",
    "asm",
    "linux",
    "unix",
    "alloca",
    "errno",
    "omp",
    // ours
    "frame",
    "bad",
    "host",
    "workers_wanted",
};

}  // namespace

bool mentions_word(std::string_view text, std::string_view name) {
  const auto is_part = [&](std::size_t at) {
    return at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_');
  };
  for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1))
    if ((at == 0 || !is_part(at - 1)) && !is_part(at + name.size())) return true;
  return false;
}

std::string identifier(std::string_view name) {
  std::string text;
  for (char c : name) text += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text.front())) != 0) text = "_" + text;
  return text;
}

std::string c_field(std::string_view name) {
  const std::string text = identifier(name);
  const bool clashes = std::find(std::begin(reserved), std::end(reserved), text) != std::end(reserved);
  return clashes ? text + "_" : text;
}

CNames::CNames(const nest::Nest& nest) : nest_(nest), program_(*nest.program) {
  for (const char* word : reserved) taken_.insert(word);
  for (const PrimInfo& prim : all_prims()) {
    if (prim.c_name.empty() || std::isalpha(static_cast<unsigned char>(prim.c_name.front())) == 0) continue;
    taken_.insert(std::string(prim.c_name));
    taken_.insert(std::string(prim.c_name) + "f");
  }
}

std::string CNames::fresh(const std::string& wish) {
  std::string base = identifier(wish);
  if (base.starts_with("twill_") || base.starts_with("_")) base = "v" + base;
  std::string name = base;
  for (int n = 2; !taken_.insert(name).second; ++n) name = base + "_" + std::to_string(n);
  return name;
}

ArrayId CNames::memory(ArrayId array) const {
  for (auto found = nest_.memory_of.find(array); found != nest_.memory_of.end();
       found = nest_.memory_of.find(array)) {
    array = found->second;
  }
  return array;
}

const std::string& CNames::of(ArrayId array) {
  array = memory(array);
  std::string& name = arrays_[array];
  if (name.empty()) name = fresh(program_[array].name);
  return name;
}

const std::string& CNames::of(DimId dim) {
  std::string& name = dims_[dim];
  if (name.empty()) name = fresh(program_.dim_names[static_cast<std::size_t>(dim.value)]);
  return name;
}

const std::string& CNames::of(SymbolId symbol) {
  std::string& name = symbols_[symbol];
  if (name.empty()) name = fresh(program_[symbol].name);
  return name;
}

const std::string& CNames::of(FunctionId function) {
  std::string& name = functions_[function];
  if (name.empty()) name = fresh(program_[function].name);
  return name;
}

std::string CNames::type(const Type& type) {
  if (type.is_scalar()) return std::string(info(type.scalar()).c_name);
  for (const auto& [known, name] : records_) {
    if (known == type) return name;
  }
  for (const Field& field : type.record().fields) this->type(field.type);
  std::string wish = type.record().name;
  if (wish.empty()) {
    wish = "tuple";
    for (const Field& field : type.record().fields) wish += "_" + to_string(field.type);
  }
  const std::string name = fresh(wish);
  records_.push_back({type, name});
  return name;
}

std::string CNames::record_definitions() {
  std::string text;
  for (const auto& [type, name] : records_) {
    // Words with their lengths, so that only equal definitions have equal guards.
    std::string guard = "TWILL_TYPE", fields;
    const auto spell = [&](const std::string& word) { guard += "_" + std::to_string(word.size()) + word; };
    spell(name);
    for (const Field& field : type.record().fields) {
      const std::string field_type = this->type(field.type), field_name = c_field(field.name);
      spell(field_type);
      spell(field_name);
      fields += "  " + field_type + " " + field_name + ";\n";
    }
    text += "#ifndef " + guard + "\n#define " + guard + "\ntypedef struct {\n" + fields + "} " + name +
            ";\n#endif\n\n";
  }
  return text;
}

}  // namespace twill
