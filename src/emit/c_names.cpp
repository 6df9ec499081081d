// C names for arrays, indices, sizes and types: readable, legal, and different from each other.
#include "emit/c_names.h"

#include "base/system_functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <set>
#include <sstream>

namespace twill {

namespace {

/// Keywords of C and of C++, which reads our headers, macros and types of the headers that we include,
/// functions that we call, and names of our own. Patterns are below.
constexpr const char* reserved_words =
    "auto break case char const continue default do double else enum extern float for goto if inline "
    "int long register restrict return short signed sizeof static struct switch typedef union "
    "unsigned void volatile while asm linux unix bool true false NULL NAN INFINITY EOF BUFSIZ FILE "
    "EXIT_FAILURE EXIT_SUCCESS MB_CUR_MAX fpclassify isfinite isgreater isgreaterequal isinf isless "
    "islessequal islessgreater isnan isnormal isunordered signbit math_errhandling offsetof stdin "
    "stdout stderr errno signgam alloca main free malloc calloc realloc aligned_alloc memcpy memset "
    "memmove printf abs labs omp frame bad host workers_wanted "
    "alignas alignof and and_eq bitand bitor catch class compl concept consteval constexpr constinit "
    "const_cast co_await co_return co_yield decltype delete dynamic_cast explicit export friend mutable "
    "namespace new noexcept not not_eq nullptr operator or or_eq private protected public "
    "reinterpret_cast requires static_assert static_cast template this thread_local throw try typeid "
    "typename typeof typeof_unqual using virtual xor xor_eq ";

const std::set<std::string, std::less<>>& reserved() {
  static const std::set<std::string, std::less<>> words = [] {
    std::istringstream text(reserved_words);
    return std::set<std::string, std::less<>>(std::istream_iterator<std::string>(text), {});
  }();
  return words;
}

bool is_upper(std::string_view name) {
  return std::none_of(name.begin(), name.end(), [](unsigned char c) { return std::islower(c) != 0; });
}

/// Could the name mean something to the compiler, as a macro, a type or a word of C?
bool means_something(std::string_view name) {
  if (reserved().contains(name) || name.ends_with("_t") || name.starts_with("omp_")) return true;
  if (name.starts_with("L_")) return true;  // L_tmpnam
  if (!is_upper(name)) return false;
  constexpr std::string_view beginnings[] = {"INT",   "UINT",  "FP_",      "M_",
                                             "SEEK_", "MATH_", "HUGE_VAL", "TWILL_"};
  return name.ends_with("_MAX") || name.ends_with("_MIN") ||
         std::any_of(std::begin(beginnings), std::end(beginnings),
                     [&](std::string_view beginning) { return name.starts_with(beginning); });
}

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
  const bool number =
      std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  if (number) return "_" + std::string(name);
  // Different names stay different: what is not a letter is spelt out, and who has the name of something else
  // with underscores behind it or before it gets one more.
  if (identifier(name) != name) {
    std::string text = "_f_";
    for (const unsigned char c : name)
      text += c == '_'               ? "__"
              : std::isalnum(c) != 0 ? std::string(1, static_cast<char>(c))
                                     : fmt::format("_{:02x}", c);
    return text;
  }
  const std::string_view stem = name.substr(0, name.find_last_not_of('_') + 1);
  const std::string_view word = name.substr(
      name.find_first_not_of('_') == std::string_view::npos ? name.size() : name.find_first_not_of('_'));
  const bool like_ours =
      name.starts_with('_') &&
      (word.starts_with("f_") || (!word.empty() && std::isdigit(static_cast<unsigned char>(word[0])) != 0));
  return (like_ours ? "_" : "") + std::string(name) + (means_something(stem) ? "_" : "");
}

CNames::CNames(const nest::Nest& nest) : nest_(nest), program_(*nest.program), taken_{"frame_"} {
  for (const PrimInfo& prim : all_prims()) {
    if (prim.c_name.empty() || std::isalpha(static_cast<unsigned char>(prim.c_name.front())) == 0) continue;
    taken_.insert(std::string(prim.c_name));
    taken_.insert(std::string(prim.c_name) + "f");
  }
}

std::string CNames::fresh(const std::string& wish) {
  std::string base = identifier(wish);
  if (base.starts_with("twill_") || base.starts_with("_")) base = "v" + base;
  if (means_something(base)) base += "_";
  std::string name = base;
  for (int n = 2; !taken_.insert(name).second; ++n) name = base + "_" + std::to_string(n);
  return name;
}

std::string CNames::fresh_global(const std::string& wish) {
  return fresh(is_system_function(identifier(wish)) ? wish + "_" : wish);
}

const std::string& CNames::of(ArrayId array) {
  array = memory(array);
  std::string& name = arrays_[array];
  if (name.empty())
    name = is_constant(array) ? fresh_global(program_[array].name) : fresh(program_[array].name);
  return name;
}

bool CNames::is_constant(ArrayId array) const {
  return std::ranges::any_of(program_.constants, [&](const Constant& one) { return one.array == array; });
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
  // The library's functions have no other beginning than their own.
  if (name.empty()) name = fresh("fn_" + program_[function].name);
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
    return records_.emplace_back(type, fresh(wish)).second;
  }
  // Types of the library that begin with a capital letter are few; its functions are many.
  const bool could_be_function = std::islower(static_cast<unsigned char>(wish.front())) != 0;
  const std::string name = fresh(could_be_function ? wish + "_record" : wish);
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
