// Reading C expressions.
#include "import/c_read.h"

#include "base/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace twill::c {

namespace {

/// The text between two operands, without parentheses, line markers and spaces: the operator.
std::string squeeze(const std::string& text) {
  std::string result;
  bool marker = false, fresh = false;
  for (const char c : text) {
    if (c == '\n') {
      fresh = true;
      marker = false;
      continue;
    }
    if (fresh && c == '#') marker = true;
    fresh = false;
    if (!marker && c != ' ' && c != '\t' && c != '(' && c != ')') result += c;
  }
  return result;
}

int rank(Scalar type) {
  switch (type) {
    case Scalar::F64: return 6;
    case Scalar::F32: return 5;
    case Scalar::U64: return 4;
    case Scalar::I64: return 3;
    case Scalar::U32: return 2;
    default: return 1;  // everything smaller is promoted to int
  }
}

Scalar promoted(Scalar type) { return rank(type) == 1 ? Scalar::I32 : type; }

struct LibraryFunction {
  const char* c;  // for double; with an f at the end for float
  const char* twill;
  std::size_t arguments;
};

constexpr LibraryFunction library[] = {
    {"sqrt", "sqrt", 1},   {"exp", "exp", 1},     {"exp2", "exp2", 1},   {"log", "log", 1},
    {"log2", "log2", 1},   {"log10", "log10", 1}, {"sin", "sin", 1},     {"cos", "cos", 1},
    {"tan", "tan", 1},     {"asin", "asin", 1},   {"acos", "acos", 1},   {"atan", "atan", 1},
    {"sinh", "sinh", 1},   {"cosh", "cosh", 1},   {"tanh", "tanh", 1},   {"erf", "erf", 1},
    {"floor", "floor", 1}, {"ceil", "ceil", 1},   {"trunc", "trunc", 1}, {"fabs", "abs", 1},
    {"round", "round", 1}, {"pow", "pow", 2},     {"atan2", "atan2", 2}, {"hypot", "hypot", 2},
    {"fmin", "min", 2},    {"fmax", "max", 2},    {"fma", "fma", 3},
};

}  // namespace

CXCursor Reader::plain(CXCursor cursor) const {
  while (cursor.kind == CXCursor_ParenExpr || cursor.kind == CXCursor_UnexposedExpr) {
    const auto parts = clang_.children(cursor);
    if (parts.size() != 1) break;
    cursor = parts[0];
  }
  return cursor;
}

Reader::Variable* Reader::find(CXCursor reference) {
  const auto found = variables_.find(clang_.location(clang_.referenced(reference)));
  return found == variables_.end() ? nullptr : &found->second;
}

Tree Reader::expression(CXCursor cursor) {
  const auto parts = clang_.children(cursor);
  switch (cursor.kind) {
    case CXCursor_ParenExpr: return expression(parts.at(0));
    case CXCursor_UnexposedExpr: {
      if (parts.size() != 1) break;
      Tree inner = expression(parts[0]);
      const auto type = scalar(clang_.type(cursor));
      if (!type) break;
      // C's comparisons are integers, ours are conditions until somebody calculates with them.
      if (inner->type == Scalar::Bool && !is_float(*type)) return inner;
      return convert(inner, *type);
    }
    case CXCursor_DeclRefExpr: return reference(cursor);
    case CXCursor_IntegerLiteral:
    case CXCursor_FloatingLiteral:
    case CXCursor_CharacterLiteral: return literal(cursor);
    case CXCursor_UnaryOperator: return unary(cursor);
    case CXCursor_BinaryOperator: return binary(cursor);
    case CXCursor_ArraySubscriptExpr: return subscript(cursor);
    case CXCursor_CallExpr: return call(cursor);
    case CXCursor_CStyleCastExpr: {
      const auto type = scalar(clang_.type(cursor));
      if (!type || parts.empty()) break;
      const Tree inner = expression(parts.back());
      return *type == Scalar::Bool ? truth(inner) : convert(inner, *type);
    }
    case CXCursor_ConditionalOperator: {
      const Tree condition = truth(expression(parts.at(0)));
      guards_.push_back(condition);
      Tree a = expression(parts.at(1));
      guards_.back() = negated(condition);
      Tree b = expression(parts.at(2));
      guards_.pop_back();
      const auto type = scalar(clang_.type(cursor));
      if (!type) break;
      a = convert(a, *type);
      b = convert(b, *type);
      // The larger or the smaller of two integers; floats that are not numbers would tell the difference.
      if (condition->kind == Kind::Apply && is_comparison(condition->op) && !is_float(*type)) {
        const bool less = condition->op[0] == '<', more = condition->op[0] == '>';
        const auto fits = [&](const Tree& x, const Tree& y) {
          return is_same_value(condition->args[0], x) && is_same_value(condition->args[1], y);
        };
        if ((less || more) && fits(a, b)) return apply(less ? "min" : "max", {a, b}, *type, place(cursor));
        if ((less || more) && fits(b, a)) return apply(less ? "max" : "min", {a, b}, *type, place(cursor));
      }
      return choose(condition, a, b);
    }
    default: break;
  }
  refuse("E0807", cursor, fmt::format("the expression '{}' is not understood", source(cursor)),
         "expressions are numbers, parameters, elements of arrays, operators, ?: and functions of math.h");
}

Tree Reader::reference(CXCursor cursor) {
  const Variable* variable = find(cursor);
  if (!variable) {
    if (const auto value = constant(cursor)) return integer(*value, place(cursor), Scalar::I32);
    refuse("E0807", cursor, fmt::format("'{}' is neither an argument nor a local variable", source(cursor)),
           "hand it to the function as an argument");
  }
  switch (variable->kind) {
    case Variable::Kind::Param:
      return make({.kind = Kind::Param,
                   .type = nest_.params[static_cast<std::size_t>(variable->id)].type,
                   .place = place(cursor),
                   .id = variable->id});
    case Variable::Kind::Index: {
      if (!variable->value)
        refuse("E0807", cursor,
               fmt::format("the loop index '{}' is used outside of its loop", source(cursor)),
               "use the bound of the loop instead");
      const auto type = scalar(clang_.type(cursor));
      return exactly(variable->value, type.value_or(Scalar::I32));
    }
    case Variable::Kind::Name: return variable->value;
    case Variable::Kind::Array: break;
  }
  if (!nest_.array(variable->id).shape.empty())
    refuse("E0806", cursor, fmt::format("the array '{}' is used without subscripts", source(cursor)),
           "what becomes of a pointer to it cannot be followed: write an element of it");
  return element(cursor) ? subscript(cursor) : Tree();
}

Tree Reader::literal(CXCursor cursor) {
  const Clang::Span span = clang_.span(cursor);
  std::string text = clang_.text(span.begin, span.end);
  const Place at = place(cursor);
  const auto type = scalar(clang_.type(cursor));
  if (!type)
    refuse("E0807", cursor, fmt::format("the number '{}' has a type that is not supported", text),
           "use double, float or an integer type");
  if (cursor.kind == CXCursor_FloatingLiteral)
    return number(Number::of_double(*type, *type == Scalar::F32 ? std::strtof(text.c_str(), nullptr)
                                                                : std::strtod(text.c_str(), nullptr)),
                  at);
  if (cursor.kind == CXCursor_CharacterLiteral) {
    if (text.size() == 3) return integer(text[1], at, *type);
    refuse("E0807", cursor, fmt::format("the character {} is not understood", text), "write its number");
  }
  return number(Number::of(*type, static_cast<std::int64_t>(std::strtoull(text.c_str(), nullptr, 0))), at);
}

Tree Reader::unary(CXCursor cursor) {
  const auto parts = clang_.children(cursor);
  const Clang::Span outer = clang_.span(cursor), inner = clang_.span(parts.at(0));
  const std::string op = squeeze(clang_.text(outer.begin, inner.begin));
  if (op == "*") return subscript(cursor);
  const Tree a = op == "-" || op == "+" || op == "!" || op == "~" ? expression(parts[0]) : Tree();
  if (op == "!") return negated(truth(a));
  if (op == "+") return cast(a, promoted(a->type));
  if (op == "-") {
    const Tree value = cast(a, promoted(a->type));
    if (value->kind == Kind::Number) {
      return is_float(value->type)
                 ? number(Number::of_double(value->type, -value->number.as_double()), place(cursor))
                 : integer(-value->number.as_int(), place(cursor), value->type);
    }
    return apply("-", {value}, value->type, place(cursor));
  }
  if (op == "~") return apply("bit_not", {cast(a, promoted(a->type))}, promoted(a->type), place(cursor));
  refuse("E0807", cursor, fmt::format("'{}' is not understood inside of an expression", source(cursor)),
         op == "++" || op == "--" || op.empty() ? "change a variable in a statement of its own" : "");
}

std::string Reader::binary_operator(const std::vector<CXCursor>& parts) const {
  return squeeze(clang_.text(clang_.span(parts[0]).end, clang_.span(parts[1]).begin));
}

Tree Reader::operate(const std::string& op, Tree a, Tree b, CXCursor cursor) {
  const Place at = place(cursor);
  if (op == "&&") return both(truth(a), truth(b));
  if (op == "||") return apply("or", {truth(a), truth(b)}, Scalar::Bool, at);
  const auto number_of = [](const Tree& tree) {
    return tree->type == Scalar::Bool ? cast(tree, Scalar::I32) : tree;
  };
  a = number_of(a);
  b = number_of(b);
  const Scalar x = promoted(a->type), y = promoted(b->type);
  const Scalar type = rank(x) >= rank(y) ? x : y;
  if (is_comparison(op)) return compare(op, a, b, type, at);
  // A shift has the type of what is shifted.
  if (!is_float(type) && (op == "<<" || op == ">>"))
    return apply(op == "<<" ? "shl" : "shr", {convert(a, x), convert(b, x)}, x, at);
  a = convert(a, type);
  b = convert(b, type);
  if (op == "+" || op == "-" || op == "*") return wrap(apply(op, {a, b}, type, at));
  if (op == "/" && is_float(type)) return apply("/", {a, b}, type, at);
  if ((op == "/" || op == "%") && !is_float(type)) {
    // C rounds towards zero, which is the same for numbers that are not negative.
    const auto dividend = affine_of(nest_, a), divisor = affine_of(nest_, b);
    const bool plain_division = is_signed(type) ? dividend && divisor && divisor->is_constant() &&
                                                      divisor->constant() > 0 && is_never_negative(*dividend)
                                                : true;
    if (plain_division) return apply(op == "/" ? "floor_div" : "floor_mod", {a, b}, type, at);
    return apply(op == "/" ? "quot" : "rem", {a, b}, type, at);
  }
  if (!is_float(type)) {
    if (op == "&") return apply("bit_and", {a, b}, type, at);
    if (op == "|") return apply("bit_or", {a, b}, type, at);
    if (op == "^") return apply("xor", {a, b}, type, at);
  }
  refuse("E0807", cursor, fmt::format("the operator '{}' is not understood inside of an expression", op),
         op == "=" || op == "," ? "assign in a statement of its own" : "");
}

Tree Reader::binary(CXCursor cursor) {
  const auto parts = clang_.children(cursor);
  const std::string op = binary_operator(parts);
  if (op == "=" || op == ",")
    refuse("E0807", cursor, fmt::format("the operator '{}' is not understood inside of an expression", op),
           "assign in a statement of its own");
  const Tree a = expression(parts[0]);
  if (op != "&&" && op != "||") return operate(op, a, expression(parts[1]), cursor);
  guards_.push_back(op == "&&" ? truth(a) : negated(truth(a)));
  const Tree b = expression(parts[1]);
  guards_.pop_back();
  return operate(op, a, b, cursor);
}

Tree Reader::call(CXCursor cursor) {
  const auto parts = clang_.children(cursor);
  const std::string name = clang_.spelling(cursor);
  const Place at = place(cursor);
  // The text's own function, even if it has the name of another one.
  if (const Tree value = inlined(cursor)) return value;
  std::vector<Tree> args;
  const auto read_arguments = [&](Scalar type) {
    for (std::size_t i = 1; i < parts.size(); ++i) args.push_back(convert(expression(parts[i]), type));
  };
  if ((name == "abs" || name == "labs") && parts.size() == 2) {
    const Scalar type = name == "abs" ? Scalar::I32 : Scalar::I64;
    read_arguments(type);
    return apply("abs", args, type, at);
  }
  for (const LibraryFunction& known : library) {
    const bool single = name == std::string(known.c) + "f";
    if ((name != known.c && !single) || parts.size() != known.arguments + 1) continue;
    const Scalar type = single ? Scalar::F32 : Scalar::F64;
    read_arguments(type);
    return apply(known.twill, args, type, at);
  }
  refuse("E0809", cursor,
         fmt::format("the function '{}' is not known: what it reads and writes cannot be seen", name),
         "write out what it computes; functions with a body in the file are known, and most of math.h");
}

std::optional<std::int64_t> Reader::constant(CXCursor cursor) {
  const CXCursor target = clang_.referenced(cursor);
  if (target.kind != CXCursor_EnumConstantDecl) return std::nullopt;
  return clang_.enum_value(target);
}

// ---- elements -----------------------------------------------------------------------------------

Tree Reader::index(CXCursor cursor, int array) {
  const Tree tree = position(expression(cursor));
  if (affine_of(nest_, tree)) return tree;
  if (!is_found_when_running(tree))
    refuse("E0808", cursor,
           fmt::format(
               "the subscript '{}' of '{}' is not affine: it is no sum of loop indices and parameters times "
               "constants",
               source(cursor), nest_.array(array).name),
           "give the array more dimensions, A[i][j] instead of A[i*n+j]");
  return tree;
}

std::optional<Reader::Element> Reader::element(CXCursor cursor) {
  std::vector<CXCursor> subscripts;
  CXCursor base = plain(cursor);
  while (base.kind != CXCursor_DeclRefExpr) {
    const auto parts = clang_.children(base);
    if (base.kind == CXCursor_ArraySubscriptExpr && parts.size() == 2) {
      subscripts.insert(subscripts.begin(), parts[1]);
      base = plain(parts[0]);
    } else if (base.kind == CXCursor_UnaryOperator && source(base).starts_with("*")) {
      const CXCursor inner = plain(parts.at(0));
      if (inner.kind != CXCursor_DeclRefExpr)
        refuse("E0806", cursor, fmt::format("'{}' calculates with a pointer", source(cursor)),
               "write an element with its subscripts: a[i]");
      subscripts.insert(subscripts.begin(), inner);
      base = inner;
    } else {
      return std::nullopt;
    }
  }
  const Variable* variable = find(base);
  if (!variable || variable->kind != Variable::Kind::Array) return std::nullopt;
  Element found{variable->id, {}};
  const Array& array = nest_.array(variable->id);
  if (subscripts.size() != array.shape.size())
    refuse("E0806", cursor,
           fmt::format("'{}' has {} subscript{}, but '{}' has {} dimension{}", source(cursor),
                       subscripts.size(), subscripts.size() == 1 ? "" : "s", array.name, array.shape.size(),
                       array.shape.size() == 1 ? "" : "s"),
           "name one element");
  for (const CXCursor at : subscripts)
    found.at.push_back(at.kind == CXCursor_DeclRefExpr && clang_.location(clang_.referenced(at)) ==
                                                              clang_.location(clang_.referenced(base))
                           ? integer(0, place(cursor))
                           : index(at, found.array));
  return found;
}

Tree Reader::subscript(CXCursor cursor) {
  const auto found = element(cursor);
  if (!found)
    refuse("E0806", cursor,
           fmt::format("'{}' is no element of an array that is known by name", source(cursor)),
           "write an element of an argument or of a local array: a[i]");
  if (const Tree state = state_of(found->array)) return state;
  return read_of(nest_, found->array, found->at, place(cursor));
}

}  // namespace twill::c
