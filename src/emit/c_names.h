// Names and types in emitted C: readable, unique, and never a keyword or a name of the prelude.
#pragma once

#include "emit/nest.h"

#include <map>
#include <set>
#include <string>

namespace twill {

class CNames {
 public:
  explicit CNames(const nest::Nest& nest);

  const std::string& of(ArrayId array);  // of the memory it lives in
  const std::string& of(DimId dim);
  const std::string& of(SymbolId symbol);
  const std::string& of(FunctionId function);

  /// A name nobody has yet, like the wish.
  std::string fresh(const std::string& wish);

  /// One for something outside of functions, where those of the C library are declared.
  std::string fresh_global(const std::string& wish);

  /// The C type of elements: "float", "struct Match"; records are remembered.
  std::string type(const Type& type);

  /// Definitions of all records asked for so far, inner ones first. Headers that share a type can be included
  /// together; types of one name that differ are the compiler's error.
  std::string record_definitions();

  ArrayId memory(ArrayId array) const { return nest_.memory(array); }

 private:
  bool is_constant(ArrayId array) const;

  const nest::Nest& nest_;
  const Program& program_;
  std::set<std::string> taken_;
  std::map<ArrayId, std::string> arrays_;
  std::map<DimId, std::string> dims_;
  std::map<SymbolId, std::string> symbols_;
  std::map<FunctionId, std::string> functions_;
  std::vector<std::pair<Type, std::string>> records_;
};

/// Letters, digits and underscores only, not starting with a digit.
std::string identifier(std::string_view name);

/// Does the name stand in the text of a source?
bool mentions_word(std::string_view text, std::string_view name);

/// The name of a record's field; those of tuples are _0, _1, …
std::string c_field(std::string_view name);

}  // namespace twill
