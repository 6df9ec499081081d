// Reading a C file: the functions with loop nests, their parameters and local variables.
#include "import/c_read.h"
#include "import/c_depend.h"

#include "base/error.h"
#include "poly/set.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <regex>
#include <set>
#include <sstream>

namespace twill::c {

// ---- functions ----------------------------------------------------------------------------------

std::vector<Nest> read_nests(const SourceFile& file, const std::string& function) {
  const Lines lines(file);
  const Clang clang(file.name, file.preprocessed, file.libclang);
  std::vector<Diagnostic> mistakes;
  // What clang does not like about the system's headers does not matter.
  for (const Clang::Mistake& mistake : clang.mistakes())
    if (lines.is_own(mistake.line))
      mistakes.push_back({Fault::User, "E0801", lines.place(mistake.line, mistake.column, 1),
                          "this is no C: " + mistake.message, ""});
  if (!mistakes.empty()) throw Error(std::move(mistakes));

  const auto at_pragma = [&](unsigned line) { return Place{lines.place(0, 0, 0).source, line, 0, 0}; };
  for (const Lines::Region& region : lines.regions())
    if (region.end == 0)
      fail(Fault::User, "E0802", at_pragma(region.line), "this '#pragma scop' has no '#pragma endscop'",
           "write it behind the last statement of the region");
  if (lines.stray_end() > 0)
    fail(Fault::User, "E0802", at_pragma(lines.stray_end()),
         "this '#pragma endscop' has no '#pragma scop' before it",
         "write it before the first statement of the region, or leave this one out");

  std::vector<Nest> nests;
  std::vector<std::string> names;
  std::set<unsigned> used;
  for (const CXCursor cursor : clang.children(clang.root())) {
    if (cursor.kind != CXCursor_FunctionDecl) continue;
    const Clang::Span span = clang.span(cursor);
    const Lines::Region* own = nullptr;
    for (const Lines::Region& region : lines.regions()) {
      if (region.begin < span.begin || region.begin > span.end) continue;
      used.insert(region.begin);
      const bool wanted = function.empty() || function == clang.spelling(cursor);
      if (own && wanted)
        fail(Fault::Limit, "E0802", lines.place(0, 0, 0),
             fmt::format("the function '{}' has two regions '#pragma scop'", clang.spelling(cursor)),
             "put what is between them into the region as well, or make two functions");
      own = &region;
    }
    if (!own) continue;
    if (own->end > span.end)
      fail(Fault::User, "E0802", at_pragma(own->line),
           fmt::format("this '#pragma scop' has its '#pragma endscop' outside of the function '{}'",
                       clang.spelling(cursor)),
           "write it behind the last statement of the region");
    names.push_back(clang.spelling(cursor));
    if (function.empty() || function == names.back())
      nests.push_back(Reader(clang, lines).function(cursor, *own));
  }
  if (!nests.empty()) return nests;
  const Place nowhere = lines.place(0, 0, 0);
  if (!function.empty())
    fail(Fault::User, "E0802", nowhere, fmt::format("no function '{}' has a region '#pragma scop'", function),
         names.empty() ? "write #pragma scop before its loops and #pragma endscop behind them"
                       : fmt::format("there are: {}", fmt::join(names, ", ")));
  fail(Fault::User, "E0802", nowhere, "no function has a region '#pragma scop'",
       "write #pragma scop before the loops of a function and #pragma endscop behind them");
}

void Reader::refuse(const char* code, CXCursor at, const std::string& message, const std::string& help,
                    bool limit) const {
  fail(limit ? Fault::Limit : Fault::User, code, place(at), message, help);
}

Place Reader::place(CXCursor cursor) const {
  const Clang::Span span = clang_.span(cursor);
  const std::string text = clang_.text(span.begin, span.end);
  return lines_.place(span.line, span.column, static_cast<unsigned>(std::min(text.size(), text.find('\n'))));
}

std::string Reader::source(CXCursor cursor) const {
  const Clang::Span span = clang_.span(cursor);
  std::string text;
  for (const char c : clang_.text(span.begin, span.end))
    if (c != '\n' || text.empty() || text.back() != ' ') text += c == '\n' ? ' ' : c;
  return text.size() > 40 ? text.substr(0, 40) + "…" : text;
}

std::optional<Scalar> Reader::scalar(CXType type) const {
  switch (type.kind) {
    case CXType_Bool: return Scalar::Bool;
    case CXType_Char_S:
    case CXType_SChar: return Scalar::I8;
    case CXType_Char_U:
    case CXType_UChar: return Scalar::U8;
    case CXType_Short: return Scalar::I16;
    case CXType_UShort: return Scalar::U16;
    case CXType_Int:
    case CXType_Enum: return Scalar::I32;
    case CXType_UInt: return Scalar::U32;
    case CXType_Long:
    case CXType_LongLong: return Scalar::I64;
    case CXType_ULong:
    case CXType_ULongLong: return Scalar::U64;
    case CXType_Float: return Scalar::F32;
    case CXType_Double: return Scalar::F64;
    default: return std::nullopt;
  }
}

Nest Reader::function(CXCursor cursor, const Lines::Region& region) {
  nest_.name = clang_.spelling(cursor);
  nest_.place = place(cursor);
  if (clang_.result(cursor).kind != CXType_Void)
    refuse(
        "E0803", cursor, fmt::format("the function '{}' returns a value", nest_.name),
        "hand it to the caller through an argument, such as double *result, which is written as *result or "
        "result[0]");
  CXCursor body = cursor;
  std::vector<CXCursor> parameters;
  for (const CXCursor child : clang_.children(cursor)) {
    if (child.kind == CXCursor_ParmDecl) parameters.push_back(child);
    if (child.kind == CXCursor_CompoundStmt) body = child;
  }
  nest_.prototype = clang_.text(clang_.span(cursor).begin, clang_.span(body).begin);
  while (!nest_.prototype.empty() && std::isspace(static_cast<unsigned char>(nest_.prototype.back())) != 0)
    nest_.prototype.pop_back();
  find_assigned(body);
  for (const CXCursor child : parameters) parameter(child);
  find_sizes();
  bool inside = false;
  for (const CXCursor child : clang_.children(body)) {
    const Clang::Span span = clang_.span(child);
    inside = span.begin >= region.begin && span.begin < region.end;
    if (inside || child.kind == CXCursor_DeclStmt) {
      statement(child, nest_.items);
      continue;
    }
    if (child.kind == CXCursor_ReturnStmt && span.begin > region.end) continue;
    if (span.begin < region.begin && span.end > region.begin)
      refuse("E0804", child, "the region '#pragma scop' begins inside of this statement",
             "let it hold whole statements of the function's body");
    refuse("E0804", child, fmt::format("'{}' is outside of the region '#pragma scop'", source(child)),
           "a function is replaced as a whole: only declarations may stand outside of the region");
  }
  find_extents();
  find_sizes();
  check_aliases();
  return std::move(nest_);
}

// ---- declarations -------------------------------------------------------------------------------

/// Which scalars are assigned, increments and loops included.
void Reader::find_assigned(CXCursor body) {
  for (const CXCursor child : clang_.children(body)) {
    const auto parts = clang_.children(child);
    bool assigns = child.kind == CXCursor_CompoundAssignOperator;
    if (child.kind == CXCursor_BinaryOperator && parts.size() == 2) assigns = binary_operator(parts) == "=";
    if (child.kind == CXCursor_UnaryOperator) {
      const std::string text = source(child);
      assigns =
          text.starts_with("++") || text.starts_with("--") || text.ends_with("++") || text.ends_with("--");
    }
    if (assigns && !parts.empty()) {
      const CXCursor target = plain(parts[0]);
      if (target.kind == CXCursor_DeclRefExpr)
        assigned_.emplace(clang_.location(clang_.referenced(target)), target);
    }
    find_assigned(child);
  }
}

std::vector<Tree> Reader::shape(CXCursor cursor) {
  std::vector<CXCursor> sizes;
  const CXCursor first = clang_.initializer(cursor);
  for (const CXCursor child : clang_.children(cursor)) {
    const bool is_initial = clang_.span(child).begin == clang_.span(first).begin &&
                            clang_.span(child).end == clang_.span(first).end;
    if (child.kind != CXCursor_TypeRef && !is_initial) sizes.push_back(child);
  }
  std::ranges::sort(sizes, {}, [&](CXCursor c) { return clang_.span(c).begin; });
  std::vector<Tree> shape;
  CXType type = clang_.declared_type(cursor);
  std::size_t next = 0;
  if (type.kind == CXType_Pointer) {
    shape.emplace_back();
    type = clang_.pointee(type);
  }
  const auto is_array = [](CXType t) {
    return t.kind == CXType_ConstantArray || t.kind == CXType_VariableArray ||
           t.kind == CXType_IncompleteArray;
  };
  for (; is_array(type); type = clang_.element(type)) {
    if (type.kind == CXType_IncompleteArray) {
      shape.emplace_back();
      continue;
    }
    if (type.kind == CXType_ConstantArray) {
      shape.push_back(integer(clang_.array_size(type), place(cursor)));
      ++next;
      continue;
    }
    if (next >= sizes.size())
      refuse("E0805", cursor, fmt::format("the extents of '{}' cannot be read", clang_.spelling(cursor)),
             "write them in brackets: A[n][m]");
    const CXCursor size = sizes[next++];
    // An argument that changes later is what it was when the function began.
    const Tree extent = position(rewrite(expression(size), [&](const Tree& node) -> Tree {
      if (node->kind != Kind::Read || !nest_.array(node->id).is_value) return {};
      return make(
          {.kind = Kind::Param, .type = node->type, .place = node->place, .id = nest_.array(node->id).param});
    }));
    if (!affine_of(nest_, extent))
      refuse("E0805", size,
             fmt::format("the extent '{}' of '{}' is no sum of parameters and constants", source(size),
                         clang_.spelling(cursor)),
             "make it a parameter of its own");
    shape.push_back(extent);
  }
  return shape;
}

void Reader::parameter(CXCursor cursor) {
  const std::string name = clang_.spelling(cursor);
  CXType type = clang_.declared_type(cursor);
  const CXType canonical = clang_.type(cursor);
  const unsigned key = clang_.location(cursor);
  check_storage(cursor);
  if (const auto type_of_scalar = scalar(canonical)) {
    nest_.params.push_back({name, *type_of_scalar, false, place(cursor)});
    const int param = static_cast<int>(nest_.params.size()) - 1;
    nest_.arguments.push_back({false, param, clang_.type_text(type)});
    if (!assigned_.contains(key)) {
      variables_[key] = {Variable::Kind::Param, param, {}};
      return;
    }
    Array array;
    array.name = name;
    array.type = *type_of_scalar;
    array.is_value = true;
    array.param = param;
    array.place = place(cursor);
    variables_[key] = {Variable::Kind::Array, nest_.add_array(std::move(array)), {}};
    return;
  }
  Array array;
  array.name = name;
  array.place = place(cursor);
  array.is_argument = true;
  array.shape = shape(cursor);
  const bool is_pointer = type.kind == CXType_Pointer;
  array.is_pointer = is_pointer;
  array.is_restrict = is_pointer && clang_.is_restrict(type);
  CXType inner = is_pointer ? clang_.pointee(type) : type;
  while (inner.kind == CXType_ConstantArray || inner.kind == CXType_VariableArray ||
         inner.kind == CXType_IncompleteArray)
    inner = clang_.element(inner);
  array.is_const = clang_.is_const(inner);
  array.c_type = clang_.type_text(inner);
  CXType element = inner;
  if (!scalar(element)) {
    // A typedef, or something that is no number.
    const auto resolved = scalar(clang_.canonical(element));
    if (!resolved)
      refuse("E0805", cursor,
             fmt::format("'{}' is {}, which is no array of numbers", name, clang_.type_text(type)),
             "arrays hold integers, floats or doubles: double A[n][m]");
    array.type = *resolved;
  } else {
    array.type = *scalar(element);
  }
  const int id = nest_.add_array(std::move(array));
  nest_.arguments.push_back({true, id, clang_.type_text(type)});
  variables_[key] = {Variable::Kind::Array, id, {}};
}

/// Variables are what the function makes of them, in every call anew.
void Reader::check_storage(CXCursor variable) const {
  const std::string name = clang_.spelling(variable);
  CXType type = clang_.type(variable);
  const auto is_array = [](CXType t) {
    return t.kind == CXType_ConstantArray || t.kind == CXType_VariableArray ||
           t.kind == CXType_IncompleteArray;
  };
  bool is_volatile = clang_.is_volatile(type);
  while (type.kind == CXType_Pointer || is_array(type)) {
    type = type.kind == CXType_Pointer ? clang_.pointee(type) : clang_.canonical(clang_.element(type));
    is_volatile = is_volatile || clang_.is_volatile(type);
  }
  if (is_volatile)
    refuse("E0814", variable,
           fmt::format("'{}' is volatile: every access to it must happen, in the order of the text", name),
           "leave the word out if nothing but this function changes it meanwhile");
  if (clang_.is_static(variable) && !clang_.is_const(type))
    refuse("E0814", variable,
           fmt::format("'{}' is no variable of this call: it has a value before and after it", name),
           "hand it to the function as an argument, such as int *calls");
}

void Reader::declare(CXCursor cursor, std::vector<Item>& items) {
  for (const CXCursor child : clang_.children(cursor)) {
    if (child.kind != CXCursor_VarDecl)
      refuse("E0804", child, fmt::format("'{}' is no declaration of a variable", source(child)));
    declare_variable(child, items);
  }
}

void Reader::declare_variable(CXCursor cursor, std::vector<Item>& items) {
  check_storage(cursor);
  const std::string name = clang_.spelling(cursor);
  const CXType type = clang_.type(cursor);
  const unsigned key = clang_.location(cursor);
  const CXCursor first = clang_.initializer(cursor);
  const bool has_value = first.kind != CXCursor_InvalidFile && clang_.span(first).end > 0;
  Array array;
  array.name = name;
  array.place = place(cursor);
  if (const auto number = scalar(type)) {
    // A name for a number that never changes.
    if (has_value && !assigned_.contains(key) && !is_float(*number) && *number != Scalar::Bool) {
      const Tree value = convert(expression(first), *number);
      if (affine_of(nest_, value)) {
        variables_[key] = {Variable::Kind::Name, -1, exactly(tidy(nest_, widen(value)), *number)};
        return;
      }
    }
    array.type = *number;
    const int id = nest_.add_array(std::move(array));
    variables_[key] = {Variable::Kind::Array, id, {}};
    if (has_value) {
      Assign assign;
      assign.array = id;
      assign.value = convert(expression(first), *number);
      assign.place = place(cursor);
      add(std::move(assign), items);
    }
    return;
  }
  if (type.kind == CXType_Pointer)
    refuse("E0806", cursor,
           fmt::format("'{}' is a pointer: what it leads to may be part of another array", name),
           "use the array that it points to by its own name");
  array.shape = shape(cursor);
  CXType element = clang_.declared_type(cursor);
  while (element.kind == CXType_ConstantArray || element.kind == CXType_VariableArray)
    element = clang_.element(element);
  const auto number = scalar(clang_.canonical(element));
  if (array.shape.empty() || !number)
    refuse("E0805", cursor,
           fmt::format("'{}' is {}, which is neither a number nor an array of numbers", name,
                       clang_.type_text(type)));
  array.type = *number;
  if (has_value)
    refuse("E0805", first, fmt::format("the array '{}' has initial values", name), "assign them in a loop");
  variables_[key] = {Variable::Kind::Array, nest_.add_array(std::move(array)), {}};
}

/// Integer parameters that stand alone as an extent of an argument, or with a constant added, are sizes: the
/// shapes tell what they are.
void Reader::find_sizes() {
  for (const Array& array : nest_.arrays) {
    if (!array.is_argument) continue;
    for (const Tree& extent : array.shape) {
      const auto affine = extent ? affine_of(nest_, extent) : std::nullopt;
      const auto alone = affine ? (*affine - affine->constant()).as_var() : std::nullopt;
      if (alone) nest_.params[static_cast<std::size_t>(alone->id)].is_size = true;
    }
  }
}

}  // namespace twill::c
