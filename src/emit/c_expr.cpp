// Expressions as C: operators, boundary rules, checked subscripts, values with names of their own.
#include "emit/c_expr.h"

#include "base/error.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

namespace twill {

std::string in_parentheses(const CText& text, int binds) {
  return text.binds >= binds ? text.text : "(" + text.text + ")";
}

// ---- what is used several times ------------------------------------------------------------------------

/// Index arithmetic up to this size, counted as text, is written wherever it is used.
constexpr int largest_index = 64;

void CExpressions::expect(Expr root) {
  if (!root) return;
  ++uses_[root.get()];
  if (uses_[root.get()] > 1) return;
  visit(root, [&](Expr node) {
    if (uses_[node.get()] > 0 && node != root) return;
    int& size = sizes_[node.get()] = 1;
    for (Expr arg : node->args) {
      ++uses_[arg.get()];
      size = std::min(size + sizes_[arg.get()], largest_index + 1);
    }
  });
}

bool CExpressions::worth_a_name(Expr e) const {
  const auto found = uses_.find(e.get());
  if (found == uses_.end() || found->second < 2) return false;
  if (as<Literal>(e) || as<IndexRef>(e) || as<SizeRef>(e) || as<ArgRef>(e) || as<GetField>(e)) return false;
  if (const Read* read = as<Read>(e)) return !read->rules.empty();
  const bool index = e->type.is(Scalar::I64) && as<Apply>(e) && !reads_data(e);
  if (index && sizes_.at(e.get()) <= largest_index) return false;
  return true;
}

std::string CExpressions::name_for(const std::string& text, const std::string& type, const char* wish) {
  const std::string name = context_.names.fresh(wish);
  lines_.push_back("const " + type + " " + name + " = " + text + ";");
  return name;
}

std::vector<std::string> CExpressions::take_lines() { return std::exchange(lines_, {}); }

void CExpressions::check(const std::string& condition, const std::string& message) {
  has_checks_ = true;
  auto found = std::find(context_.errors.begin(), context_.errors.end(), message);
  if (found == context_.errors.end()) found = context_.errors.insert(context_.errors.end(), message);
  const auto code = found - context_.errors.begin() + 1;
  lines_.push_back("bad = " + context_.prelude.need("twill_note") + "(bad, " + condition + ", " +
                   std::to_string(code) + ");");
}

// ---- printing ------------------------------------------------------------------------------------------

std::string CExpressions::text(Expr e, int binds) { return in_parentheses(print(e), binds); }

CText CExpressions::print(Expr e) {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (const auto found = scope->find(e.get()); found != scope->end()) return {found->second};
  }
  CText text = print_node(e);
  if (!worth_a_name(e)) return text;
  const std::string name = name_for(text.text, context_.names.type(e->type), "t");
  scopes_.back()[e.get()] = name;
  return {name};
}

std::string CExpressions::literal(const Number& value) {
  const Scalar type = value.type;
  if (type == Scalar::Bool) return value.i != 0 ? "true" : "false";
  if (type == Scalar::F16) return std::to_string(to_half_bits(static_cast<float>(value.f))) + "u";
  if (type == Scalar::BF16) return std::to_string(to_bfloat_bits(static_cast<float>(value.f))) + "u";
  if (is_float(type)) {
    if (std::isnan(value.f)) return type == Scalar::F32 ? "NAN" : "(double)NAN";
    if (std::isinf(value.f)) return value.f > 0 ? "INFINITY" : "-INFINITY";
    char buffer[64];
    const auto end = type == Scalar::F32 ? std::to_chars(buffer, buffer + 64, static_cast<float>(value.f)).ptr
                                         : std::to_chars(buffer, buffer + 64, value.f).ptr;
    std::string text(buffer, end);
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    return type == Scalar::F32 ? text + "f" : text;
  }
  if (is_unsigned(type)) {
    if (type == Scalar::U64) return "UINT64_C(" + std::to_string(value.u) + ")";
    return std::to_string(value.u) + (type == Scalar::U32 ? "u" : "");
  }
  if (value.i == std::numeric_limits<std::int64_t>::min()) return "INT64_MIN";
  if (value.i == std::numeric_limits<std::int32_t>::min())
    return type == Scalar::I64 ? "INT64_C(-2147483648)" : "INT32_MIN";
  const bool is_long = value.i > std::numeric_limits<std::int32_t>::max() ||
                       value.i < std::numeric_limits<std::int32_t>::min();
  return is_long ? "INT64_C(" + std::to_string(value.i) + ")" : std::to_string(value.i);
}

CText CExpressions::print_node(Expr e) {
  if (const Literal* l = as<Literal>(e)) {
    std::string text = literal(l->value);
    const int binds = text.front() == '-' ? 14 : 16;
    return {std::move(text), binds};
  }
  if (const IndexRef* index = as<IndexRef>(e)) return {context_.names.of(index->dim)};
  if (const SizeRef* size = as<SizeRef>(e)) return {context_.names.of(size->symbol)};
  if (const ArgRef* arg = as<ArgRef>(e)) return {"arg" + std::to_string(arg->position)};
  if (as<Read>(e)) return print_read(e);
  if (as<Apply>(e)) return print_apply(e);
  if (as<Select>(e)) return print_lazy(e->args[0], e->args[1], e->args[2], e->type);
  if (as<Cast>(e)) return print_cast(e);
  if (const GetField* field = as<GetField>(e)) {
    return {text(e->args[0], 16) + "." + c_field(e->args[0]->type.record().fields[field->field].name)};
  }
  if (as<Make>(e)) {
    std::string list;
    for (Expr arg : e->args) list += (list.empty() ? "" : ", ") + text(arg);
    return {"(" + context_.names.type(e->type) + "){" + list + "}"};
  }
  const Invoke& invoke = *as<Invoke>(e);
  const Function& function = program_[invoke.function];
  if (is_partial(e, program_.functions)) {
    // Its checks belong here, and so do those of arguments that it may not look at.
    for (Expr arg : e->args) {
      bool reads_or_fails = false;
      visit(arg, [&](Expr node) {
        reads_or_fails = reads_or_fails || as<Read>(node) || is_partial(node, program_.functions);
      });
      if (reads_or_fails) print(arg);
    }
    const Expr body = rewrite(*program_.pool, function.body, [&](Expr node) {
      const ArgRef* arg = as<ArgRef>(node);
      return arg ? e->args[arg->position] : Expr{};
    });
    return print(body);
  }
  std::string list;
  for (Expr arg : e->args) list += (list.empty() ? "" : ", ") + text(arg);
  return {context_.names.of(invoke.function) + "(" + list + ")"};
}

/// Nodes with a name that are evaluated whenever `e` is.
std::set<const Node*> CExpressions::surely_needed(Expr root) {
  std::map<const Node*, std::set<const Node*>> needed;
  visit(root, [&](Expr e) {
    std::set<const Node*>& mine = needed[e.get()];
    const Apply* apply = as<Apply>(e);
    const bool lazy = as<Select>(e) || (apply && (apply->prim == Prim::And || apply->prim == Prim::Or));
    if (worth_a_name(e)) mine.insert(e.get());
    for (std::size_t a = 0; a < e->args.size(); ++a) {
      if (lazy && a > 0) break;
      const auto& theirs = needed[e->args[a].get()];
      mine.insert(theirs.begin(), theirs.end());
    }
    if (as<Select>(e)) {
      const auto& then = needed[e->args[1].get()];
      const auto& otherwise = needed[e->args[2].get()];
      std::set_intersection(then.begin(), then.end(), otherwise.begin(), otherwise.end(),
                            std::inserter(mine, mine.end()));
    }
  });
  return needed[root.get()];
}

CText CExpressions::print_lazy(Expr condition, Expr then, Expr otherwise, const Type& type) {
  const CText test = print(condition);
  // What both branches need is computed before them, once.
  const std::set<const Node*> left = surely_needed(then), right = surely_needed(otherwise);
  std::vector<const Node*> both;
  std::set_intersection(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(both));
  std::sort(both.begin(), both.end(), [](const Node* a, const Node* b) { return a->number < b->number; });
  for (const Node* node : both) print(Expr(node));

  std::vector<std::string> before = take_lines();
  const auto branch = [&](Expr e, std::vector<std::string>& lines) {
    scopes_.emplace_back();
    CText text = print(e);
    scopes_.pop_back();
    lines = take_lines();
    return text;
  };
  std::vector<std::string> then_lines, otherwise_lines;
  const CText a = branch(then, then_lines), b = branch(otherwise, otherwise_lines);
  lines_ = std::move(before);
  if (then_lines.empty() && otherwise_lines.empty()) {
    return {in_parentheses(test, 4) + " ? " + in_parentheses(a, 3) + " : " + in_parentheses(b, 3), 3};
  }
  const std::string name = context_.names.fresh("t");
  lines_.push_back(context_.names.type(type) + " " + name + ";");
  lines_.push_back("if (" + test.text + ") {");
  for (std::string& line : then_lines) lines_.push_back("  " + std::move(line));
  lines_.push_back("  " + name + " = " + a.text + ";");
  lines_.push_back("} else {");
  for (std::string& line : otherwise_lines) lines_.push_back("  " + std::move(line));
  lines_.push_back("  " + name + " = " + b.text + ";");
  lines_.push_back("}");
  return {name};
}

CText CExpressions::print_cast(Expr e) {
  const Expr from = e->args[0];
  const Scalar to = e->type.scalar(), source = from->type.scalar();
  CText value = print(from);
  // Half floats are only stored: everything else sees an f32.
  if (source == Scalar::F16) value = {context_.prelude.need("twill_from_f16") + "(" + value.text + ")"};
  if (source == Scalar::BF16) value = {context_.prelude.need("twill_from_bf16") + "(" + value.text + ")"};
  const bool from_float = is_float(source);
  if (to == Scalar::F16 || to == Scalar::BF16) {
    // A double is rounded once: half floats of doubles go through f32 as everywhere else.
    const std::string single =
        source == Scalar::F32 || is_storage_only(source) ? value.text : "(float)" + in_parentheses(value, 14);
    return {context_.prelude.need(to == Scalar::F16 ? "twill_to_f16" : "twill_to_bf16") + "(" + single + ")"};
  }
  if (to == Scalar::Bool) return {in_parentheses(value, 10) + " != 0", 9};
  if (is_integer(to) && from_float)
    return {context_.prelude.need((source == Scalar::F64 ? "twill_double_to_" : "twill_to_") +
                                  std::string(info(to).name)) +
            "(" + value.text + ")"};
  return {"(" + context_.names.type(e->type) + ")" + in_parentheses(value, 14), 14};
}

// ---- operations ------------------------------------------------------------------------------------------

CText CExpressions::infix(const char* op, int binds, const CText& a, const CText& b, const Type& type) {
  std::string text = in_parentheses(a, binds) + " " + op + " " + in_parentheses(b, binds + 1);
  // C computes narrow integers as int: wrap around here.
  const bool narrow = type.is_integer() && info(type.scalar()).bytes < 4;
  if (narrow) return {"(" + std::string(info(type.scalar()).c_name) + ")(" + text + ")", 14};
  return {std::move(text), binds};
}

CText CExpressions::apply(Prim prim, const Type& type, std::vector<CText> operands) {
  const Scalar scalar = type.scalar();
  const std::string suffix = "_" + std::string(info(scalar).name);
  const CText& a = operands[0];
  const auto call = [&](const std::string& name) {
    std::string list;
    for (const CText& operand : operands) list += (list.empty() ? "" : ", ") + operand.text;
    return CText{name + "(" + list + ")"};
  };
  const auto helper = [&](const std::string& family) { return call(context_.prelude.need(family + suffix)); };
  switch (prim) {
    case Prim::Neg: {
      if (program_.strict && (scalar == Scalar::F32 || scalar == Scalar::F64)) return helper("twill_negate");
      std::string text = "-" + in_parentheses(a, 15);
      if (type.is_integer() && info(scalar).bytes < 4)
        return {"(" + std::string(info(scalar).c_name) + ")(" + text + ")", 14};
      return {std::move(text), 14};
    }
    case Prim::Add: return infix("+", 12, a, operands[1], type);
    case Prim::Sub:
      if (program_.strict && type.is_float() && (a.text == "0.0" || a.text == "0.0f")) {
        operands.erase(operands.begin());
        return helper("twill_from_zero");
      }
      return infix("-", 12, a, operands[1], type);
    case Prim::Mul:
      // The product of two u16 is computed as a signed int in C, and may overflow.
      if (scalar == Scalar::U16)
        return {
            "(uint16_t)((uint32_t)" + in_parentheses(a, 14) + " * " + in_parentheses(operands[1], 14) + ")",
            14};
      return infix("*", 13, a, operands[1], type);
    case Prim::Div:
      if (is_float(scalar)) return infix("/", 13, a, operands[1], type);
      return helper(is_signed(scalar) ? "twill_floor_div" : "twill_divide");
    case Prim::Mod:
      if (is_float(scalar)) return helper("twill_fmod");
      return helper(is_signed(scalar) ? "twill_floor_mod" : "twill_modulo");
    case Prim::Min: return helper(is_float(scalar) ? "twill_fmin" : "twill_min");
    case Prim::Max: return helper(is_float(scalar) ? "twill_fmax" : "twill_max");
    case Prim::Abs:
      if (is_float(scalar)) return call(scalar == Scalar::F32 ? "fabsf" : "fabs");
      return is_signed(scalar) ? helper("twill_abs") : a;
    case Prim::Pow:
      if (is_float(scalar)) return call(scalar == Scalar::F32 ? "powf" : "pow");
      return helper(is_signed(scalar) ? "twill_ipow" : "twill_upow");
    case Prim::Eq: return infix("==", 9, a, operands[1], Scalar::Bool);
    case Prim::Ne: return infix("!=", 9, a, operands[1], Scalar::Bool);
    case Prim::Lt: return infix("<", 10, a, operands[1], Scalar::Bool);
    case Prim::Le: return infix("<=", 10, a, operands[1], Scalar::Bool);
    case Prim::Gt: return infix(">", 10, a, operands[1], Scalar::Bool);
    case Prim::Ge: return infix(">=", 10, a, operands[1], Scalar::Bool);
    case Prim::Not: return {"!" + in_parentheses(a, 15), 14};
    case Prim::And: return {in_parentheses(a, 5) + " && " + in_parentheses(operands[1], 6), 5};
    case Prim::Or: {
      // Compilers want to see that an && in it is meant.
      const auto operand = [&](const CText& text) { return in_parentheses(text, text.binds == 5 ? 6 : 4); };
      return {operand(a) + " || " + operand(operands[1]), 4};
    }
    case Prim::BitAnd: return infix("&", 8, a, operands[1], type);
    case Prim::BitOr: return infix("|", 6, a, operands[1], type);
    case Prim::Xor: return infix("^", 7, a, operands[1], type);
    case Prim::Shl: return helper("twill_shl");
    case Prim::Shr: return helper("twill_shr");
    case Prim::BitNot: return {"(" + std::string(info(scalar).c_name) + ")~" + in_parentheses(a, 14), 14};
    case Prim::IsNan: return {"isnan(" + a.text + ") != 0", 9};
    case Prim::IsInf: return {"isinf(" + a.text + ") != 0", 9};
    default: break;
  }
  return call(std::string(info(prim).c_name) + (scalar == Scalar::F32 ? "f" : ""));
}

namespace {

/// x and 3 for x + 5 - 2: what index arithmetic adds to, and the sum of what it adds.
std::optional<std::pair<Expr, std::int64_t>> shifted(Expr e) {
  constexpr std::int64_t most = 1 << 30;  // so that no sum of a few of these overflows
  const Apply* apply = as<Apply>(e);
  if (!apply || (apply->prim != Prim::Add && apply->prim != Prim::Sub) || !e->type.is(Scalar::I64))
    return std::nullopt;
  const Literal* by = as<Literal>(e->args[1]);
  if (!by || by->value.i > most || by->value.i < -most) return std::nullopt;
  const auto inner = shifted(e->args[0]);
  const std::int64_t step = apply->prim == Prim::Add ? by->value.i : -by->value.i;
  return std::pair(inner ? inner->first : e->args[0], (inner ? inner->second : 0) + step);
}

}  // namespace

/// Can it be computed where nobody asks for it? It reads nothing but elements of inputs that are there at
/// every point.
bool CExpressions::does_no_harm(Expr root) const {
  bool fine = true;
  visit(root, [&](Expr e) {
    const Read* read = as<Read>(e);
    if (!read || read->rules.empty()) {
      fine = fine && !as<Invoke>(e) && (read || !is_partial(e, program_.functions));
      return;
    }
    fine = fine && std::ranges::any_of(program_.inputs,
                                       [&](const Input& input) { return input.array == read->array; });
    for (std::size_t k = 0; k < read->rules.size() && fine; ++k) {
      const IndexRef* index = as<IndexRef>(e->args[k]);
      const auto end = index ? context_.ends.find(index->dim) : context_.ends.end();
      fine = end != context_.ends.end() && end->second == program_[read->array].shape[k];
    }
  });
  return fine;
}

CText CExpressions::print_apply(Expr e) {
  const Prim prim = as<Apply>(e)->prim;
  const Type& type = e->args[0]->type;
  // Lanes would compute the second operand under a mask, which takes longer than to compute it.
  if ((prim == Prim::And || prim == Prim::Or) && context_.in_lanes && does_no_harm(e->args[1])) {
    const CText first = print(e->args[0]), second = print(e->args[1]);
    const bool both = prim == Prim::And;
    return {in_parentheses(first, 11) + (both ? " & " : " | ") + in_parentheses(second, 11), both ? 8 : 6};
  }
  if (prim == Prim::And || prim == Prim::Or) {
    const CText first = print(e->args[0]);
    std::vector<std::string> before = take_lines();
    scopes_.emplace_back();
    const CText second = print(e->args[1]);
    scopes_.pop_back();
    std::vector<std::string> inside = take_lines();
    lines_ = std::move(before);
    if (inside.empty()) return apply(prim, type, {first, second});
    const std::string name = context_.names.fresh("t");
    lines_.push_back("bool " + name + " = " + first.text + ";");
    lines_.push_back(std::string("if (") + (prim == Prim::And ? "" : "!") + name + ") {");
    for (std::string& line : inside) lines_.push_back("  " + std::move(line));
    lines_.push_back("  " + name + " = " + second.text + ";");
    lines_.push_back("}");
    return {name};
  }
  if (const auto sum = shifted(e); sum && as<Apply>(e->args[0])) {
    const std::int64_t by = sum->second;
    if (by == 0) return print(sum->first);
    return apply(by < 0 ? Prim::Sub : Prim::Add, type,
                 {print(sum->first), {std::to_string(by < 0 ? -by : by)}});
  }
  if (prim == Prim::Within) {
    const std::string index =
        as<IndexRef>(e->args[0]) ? text(e->args[0], 16) : name_for(text(e->args[0]), "int64_t", "at");
    const std::string fine = name_for(within(index, e->args[1]), "bool", "fine");
    check(fine, "stage '" + stage_ + "' takes an element outside");
    return {fine + " ? " + index + " : 0", 3};
  }
  std::vector<CText> operands;
  for (Expr arg : e->args) operands.push_back(print(arg));
  if ((prim == Prim::Div || prim == Prim::Mod) && type.is_integer()) {
    const Literal* divisor = as<Literal>(e->args[1]);
    if (!divisor || divisor->value.i == 0) {
      const std::string name = operands[1].binds == 16
                                   ? operands[1].text
                                   : name_for(operands[1].text, context_.names.type(type), "divisor");
      operands[1] = {name};
      check(name + " != 0", "stage '" + stage_ + "' divides an integer by zero");
    }
  }
  return apply(prim, type, std::move(operands));
}

std::string CExpressions::combine(const Operator& op, const CText& a, const CText& b) {
  if (op.prim) return apply(*op.prim, op.type, {a, b}).text;
  return context_.names.of(op.function) + "(" + a.text + ", " + b.text + ")";
}

// ---- elements
// ----------------------------------------------------------------------------------------------

std::span<const Expr> CExpressions::extents_in_memory(ArrayId array) const {
  const auto box = context_.nest.boxes.find(array);
  return box == context_.nest.boxes.end() ? program_[array].shape : box->second.extents;
}

/// A subscript as an index into the memory of the array.
std::string CExpressions::in_memory(ArrayId array, std::size_t dim, const std::string& subscript) {
  const auto box = context_.nest.boxes.find(array);
  if (box == context_.nest.boxes.end()) return subscript;
  if (box->second.ring == static_cast<int>(dim)) {
    const std::int64_t extent = as<Literal>(box->second.extents[dim])->value.i;
    const bool plain = subscript.find(' ') == std::string::npos;
    return "(" + (plain ? subscript : "(" + subscript + ")") + " & " + std::to_string(extent - 1) + ")";
  }
  const Expr origin = box->second.origin[dim];
  return origin ? "(" + subscript + " - " + text(origin, 13) + ")" : subscript;
}

std::string CExpressions::linear(ArrayId array, std::span<const std::string> subscripts) {
  const std::span<const Expr> extents = extents_in_memory(array);
  std::string index = in_memory(array, 0, subscripts[0]);
  for (std::size_t s = 1; s < subscripts.size(); ++s) {
    const std::string left = s == 1 && index.find(' ') == std::string::npos ? index : "(" + index + ")";
    index = left + " * " + text(extents[s], 14) + " + " + in_memory(array, s, subscripts[s]);
  }
  return index;
}

std::string CExpressions::element(ArrayId array, std::span<const Expr> at) {
  const std::string& name = context_.names.of(array);
  if (at.empty()) return context_.pointers.contains(context_.names.memory(array)) ? "(*" + name + ")" : name;
  std::vector<std::string> subscripts;
  for (Expr e : at) subscripts.push_back(text(e, 12));
  return name + "[" + linear(array, subscripts) + "]";
}

namespace {

/// Sizes of inputs are lengths, and sums of lengths are; N - 1 and a scalar of the user may be below zero.
bool is_length(Expr extent) {
  if (const Literal* literal = as<Literal>(extent)) return literal->value.i >= 0;
  if (as<SizeRef>(extent)) return true;
  const Apply* apply = as<Apply>(extent);
  return apply && (apply->prim == Prim::Add || apply->prim == Prim::Mul) && is_length(extent->args[0]) &&
         is_length(extent->args[1]);
}

}  // namespace

/// The condition that a subscript is inside: one comparison where the extent is not below zero.
std::string CExpressions::within(const std::string& subscript, Expr extent) {
  if (is_length(extent) || is_positive(extent, positive_))
    return "(uint64_t)" + subscript + " < (uint64_t)" + text(extent, 14);
  return "0 <= " + subscript + " && " + subscript + " < " + text(extent, 11);
}

std::string CExpressions::checked_element(ArrayId array, std::span<const Expr> at,
                                          const std::vector<bool>& checked, std::string& fine) {
  const Array& a = program_[array];
  std::vector<std::string> subscripts, conditions;
  for (std::size_t s = 0; s < at.size(); ++s) {
    std::string subscript = text(at[s], 12);
    if (checked[s]) {
      if (!as<IndexRef>(at[s])) subscript = name_for(text(at[s]), "int64_t", "at");
      conditions.push_back(within(subscript, a.shape[s]));
    }
    subscripts.push_back(std::move(subscript));
  }
  fine = conditions.empty() ? "true" : "";
  for (const std::string& condition : conditions) fine += (fine.empty() ? "" : " && ") + condition;
  if (!conditions.empty()) {
    fine = name_for(fine, "bool", "fine");
    check(fine, "stage '" + stage_ + "' uses an index outside of '" + a.name + "'");
  }
  return context_.names.of(array) + "[" + linear(array, subscripts) + "]";
}

/// A subscript moved to the inside by its rule. Extents of zero have no inside.
std::string CExpressions::boundary(Boundary rule, Expr subscript, Expr extent, bool lanes) {
  const std::string n = text(extent), i = text(subscript);
  switch (rule) {
    case Boundary::Clamp:
      return context_.prelude.need(lanes ? "twill_clamp" : "twill_clamp_one") + "(" + i + ", " + n + ")";
    case Boundary::Mirror: return context_.prelude.need("twill_mirror") + "(" + i + ", " + n + ")";
    case Boundary::Wrap: return context_.prelude.need("twill_floor_mod_i64") + "(" + i + ", " + n + ")";
    default: return i;
  }
}

namespace {

/// A record of two numbers of four bytes each: both lie in one word of eight.
bool is_pair(const Type& type) {
  if (type.is_scalar() || type.record().fields.size() != 2) return false;
  return std::all_of(type.record().fields.begin(), type.record().fields.end(),
                     [](const Field& field) { return field.type.is_scalar() && byte_size(field.type) == 4; });
}

}  // namespace

/// The element at a place that data decide. Of a pair, lanes would gather each field by itself, and that
/// takes twice as long as to gather both and to take them apart.
std::string CExpressions::gathered(const Type& type, const std::string& element) {
  if (!is_pair(type)) return element;
  const std::string name = context_.names.type(type);
  const auto known = std::find_if(context_.pairs.begin(), context_.pairs.end(),
                                  [&](const auto& pair) { return pair.second == type; });
  const std::string function =
      known == context_.pairs.end() ? context_.names.fresh(name + "_at") : known->first;
  context_.pairs.emplace(function, type);
  return function + "(&" + element + ")";
}

std::string pair_definitions(CContext& context) {
  std::string text;
  for (const auto& [function, type] : context.pairs) {
    const std::string name = context.names.type(type);
    const auto field = [&](std::size_t f) { return c_field(type.record().fields[f].name); };
    text += "/* Loads both fields at once. */\nstatic inline " + name + " " + function + "(const " + name +
            " *place) {\n#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__\n"
            "  uint64_t both;\n  memcpy(&both, place, 8);\n"
            "  const uint32_t first = (uint32_t)both, second = (uint32_t)(both >> 32);\n  " +
            name + " pair;\n  memcpy(&pair." + field(0) + ", &first, 4);\n  memcpy(&pair." + field(1) +
            ", &second, 4);\n  return pair;\n#else\n  return *place;\n#endif\n}\n\n";
  }
  return text;
}

CText CExpressions::print_read(Expr e) {
  const Read& read = *as<Read>(e);
  const Array& array = program_[read.array];
  const std::size_t rank = read.rules.size();
  if (rank == 0) return {element(read.array, {})};
  std::vector<std::string> subscripts, inside, exists;
  for (std::size_t s = 0; s < rank; ++s) {
    const Expr at = e->args[s], extent = array.shape[s];
    switch (read.rules[s]) {
      case Boundary::Inside: subscripts.push_back(text(at, 12)); break;
      case Boundary::Checked:
        subscripts.push_back(as<IndexRef>(at) ? text(at) : name_for(text(at), "int64_t", "at"));
        inside.push_back(within(subscripts.back(), extent));
        break;
      case Boundary::Constant:
        subscripts.push_back(as<IndexRef>(at) ? text(at) : name_for(text(at), "int64_t", "at"));
        exists.push_back(within(subscripts.back(), extent));
        break;
      default:
        subscripts.push_back(
            boundary(read.rules[s], at, extent, byte_size(array.type) >= 4 || !reads_data(at)));
        if (!is_positive(extent, positive_)) inside.push_back(text(extent, 11) + " > 0");
    }
  }
  const auto joined = [](const std::vector<std::string>& conditions) {
    std::string all;
    for (const std::string& condition : conditions) all += (all.empty() ? "" : " && ") + condition;
    return all;
  };
  std::string value = context_.names.of(read.array) + "[" + linear(read.array, subscripts) + "]";
  if (std::any_of(e->args.begin(), e->args.begin() + static_cast<std::ptrdiff_t>(rank), reads_data))
    value = gathered(e->type, value);
  if (inside.empty() && exists.empty()) return {value};
  const std::string nothing = e->type.is_scalar() ? "0" : "(" + context_.names.type(e->type) + "){0}";
  if (exists.empty()) {
    const std::string fine = name_for(joined(inside), "bool", "fine");
    check(fine, "stage '" + stage_ + "' uses an index outside of '" + array.name + "'");
    return {fine + " ? " + value + " : " + nothing, 3};
  }
  // Outside of the array the fallback, which is evaluated only there.
  std::string found = joined(exists);
  if (!inside.empty()) {
    const std::string there = name_for(found, "bool", "there");
    const std::string fine = name_for(joined(inside), "bool", "fine");
    check("!" + there + " || " + fine,
          "stage '" + stage_ + "' uses an index outside of '" + array.name + "'");
    found = there + " && " + fine;
  }
  std::vector<std::string> before = take_lines();
  scopes_.emplace_back();
  const CText fallback = print(e->args.back());
  scopes_.pop_back();
  std::vector<std::string> fallback_lines = take_lines();
  lines_ = std::move(before);
  if (fallback_lines.empty()) return {found + " ? " + value + " : " + in_parentheses(fallback, 3), 3};
  const std::string name = context_.names.fresh("t");
  lines_.push_back(context_.names.type(e->type) + " " + name + ";");
  lines_.push_back("if (" + found + ") {");
  lines_.push_back("  " + name + " = " + value + ";");
  lines_.push_back("} else {");
  for (std::string& line : fallback_lines) lines_.push_back("  " + std::move(line));
  lines_.push_back("  " + name + " = " + fallback.text + ";");
  lines_.push_back("}");
  return {name};
}

std::string CExpressions::extent_of(Expr extent) {
  if (const Literal* literal = as<Literal>(extent); literal && literal->value.i >= 0) return text(extent);
  return context_.prelude.need("twill_extent") + "(" + text(extent) + ")";
}

std::string CExpressions::number_of_elements(ArrayId array) {
  std::string product;
  for (Expr extent : extents_in_memory(array)) product += (product.empty() ? "" : " * ") + extent_of(extent);
  return product.empty() ? "1" : product;
}

std::string CExpressions::elements_wanted(ArrayId array) {
  std::string product;
  for (Expr extent : extents_in_memory(array)) {
    product = product.empty()
                  ? extent_of(extent)
                  : context_.prelude.need("twill_times") + "(" + product + ", " + extent_of(extent) + ")";
  }
  return product.empty() ? "1" : product;
}

}  // namespace twill
