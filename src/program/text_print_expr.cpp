// Printing of programs: expressions.
#include "base/error.h"
#include "program/text_lex.h"
#include "program/text_printer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace twill::text {
namespace {

constexpr int level_choice = 0, level_not = 3, level_sum = 5, level_unary = 7, level_postfix = 8;
constexpr std::size_t large_tree = 400;
constexpr int deepest = 32;

std::string parenthesised(std::string text, bool needed) { return needed ? "(" + text + ")" : text; }

/// The number of nodes that the expression has as a tree, up to a limit; `sizes` remembers.
std::size_t tree_size(Expr e, std::map<const Node*, std::size_t>& sizes) {
  std::size_t total = 0;
  visit(e, [&](Expr node) {
    std::size_t size = 1;
    for (const Expr arg : node->args) size += sizes[arg.get()];
    sizes[node.get()] = std::min<std::size_t>(size, 1U << 20U);
    total = sizes[node.get()];
  });
  return total;
}

/// A plain integer is an i64.
bool has_suffix_always(const Number& value) { return value.type == Scalar::U64 && value.i < 0; }

}  // namespace

std::string quoted(const std::string& name) {
  // Words that mean something where a name may stand.
  static const std::set<std::string, std::less<>> words = {"carry",  "const", "def", "extern",   "fn",
                                                           "from",   "onto",  "op",  "schedule", "stage",
                                                           "strict", "test",  "type"};
  if (is_plain_name(name) && !words.contains(name) && !scalar_named(name)) return name;
  return "`" + name + "`";
}

// ---- what a text means ------------------------------------------------------------------------------------
//
// A literal without a suffix is plain: it takes the type of what it meets. The printer leaves suffixes out
// where that gives the same node, and finds out by doing what the parser does: every spelling carries its
// meaning.

/// Does a value with this meaning become the expression where its type is wanted?
bool Printer::becomes(const Operand& meaning, Expr e) const {
  if (meaning.expr == e) return true;
  if (!meaning.weak) return false;
  try {
    return convert_implicitly(*program_.pool, meaning, e->type, e->place) == e;
  } catch (const Error&) {
    return false;
  }
}

std::string Printer::expr(Expr e, int level, bool converted) {
  const bool outermost = !std::exchange(inside_, true);
  const std::string lets = outermost ? share(e) : std::string{};
  Spelling text = spell(e, converted);
  if (converted && !becomes(text.meaning, e)) text = spell(e, false);
  if (outermost) {
    for (const auto& [node, name] : shared_) taken_.erase(name.text);
    shared_.clear();
    spellings_.clear();
    inside_ = false;
  }
  if (!lets.empty()) text = {lets + text.text, text.meaning, level_choice};
  return parenthesised(text.text, level > text.level);
}

/// Gives names to what a large expression uses often, and to parts of a deep one.
std::string Printer::share(Expr e) {
  std::map<const Node*, std::size_t> sizes;
  if (tree_size(e, sizes) <= large_tree) return {};
  std::map<const Node*, int> uses, depths;
  visit(e, [&](Expr node) {
    int& depth = depths[node.get()];
    for (const Expr arg : node->args) {
      ++uses[arg.get()];
      depth = std::max(depth, depths[arg.get()] + 1);
    }
  });
  std::vector<Expr> named;
  visit(e, [&](Expr node) {
    const bool often = uses[node.get()] > 1 && sizes[node.get()] > 6;
    const bool deep = (depths[node.get()] + 1) % deepest == 0;
    if ((often || deep) && node != e) named.push_back(node);
  });
  std::string lets;
  for (const Expr node : named) {
    const Spelling value = spell(node, false);
    std::string fresh;
    for (std::size_t n = shared_.size() + 1; fresh.empty() || taken_.contains(fresh); ++n)
      fresh = "t" + std::to_string(n);
    taken_.insert(fresh);
    shared_[node.get()] = {fresh, value.meaning, level_postfix};
    lets += "let " + fresh + " = " + value.text + " in ";
    spellings_.clear();
  }
  return lets;
}

/// With `plain`, literals have no suffix and the meaning may be another type's; without, it is the
/// expression.
Printer::Spelling Printer::spell(Expr e, bool plain) {
  if (const auto found = shared_.find(e.get()); found != shared_.end()) return found->second;
  const std::pair key(e.get(), plain);
  if (const auto found = spellings_.find(key); found != spellings_.end()) return found->second;
  Spelling text = spell_node(e, plain);
  spellings_.emplace(key, text);
  return text;
}

Printer::Spelling Printer::spell_node(Expr e, bool plain) {
  const auto simple = [&](std::string text) { return Spelling{std::move(text), {e, false}, level_postfix}; };
  const auto operand = [&](std::size_t i, int level) {
    const Spelling text = spell(e->args[i], false);
    return parenthesised(text.text, level > text.level);
  };
  if (const auto* kind = as<Literal>(e)) return spell_literal(kind->value, e, plain);
  if (const auto* ref = as<IndexRef>(e)) return simple(dims_[static_cast<std::size_t>(ref->dim.value)]);
  if (const auto* ref = as<SizeRef>(e)) return simple(symbols_[static_cast<std::size_t>(ref->symbol.value)]);
  if (const auto* ref = as<ArgRef>(e))
    return simple(function_ ? quoted(function_->parameters[static_cast<std::size_t>(ref->position)].name)
                            : "?");
  if (const auto* kind = as<Read>(e)) return simple(read(*kind, e));
  if (const auto* kind = as<Apply>(e)) return spell_apply(kind->prim, e, plain);
  if (as<Select>(e)) return spell_select(e, plain);
  if (as<Cast>(e)) return simple(to_string(e->type) + "(" + operand(0, level_choice) + ")");
  if (as<Make>(e)) return simple(make(e));
  if (const auto* get = as<GetField>(e)) {
    const std::string& field = e->args[0]->type.record().fields[static_cast<std::size_t>(get->field)].name;
    return simple(operand(0, level_postfix) + "." +
                  (std::isdigit(static_cast<unsigned char>(field[0])) ? field : quoted(field)));
  }
  const auto* invoke = as<Invoke>(e);
  std::string text = quoted(program_[invoke->function].name) + "(";
  for (std::size_t i = 0; i < e->args.size(); ++i) text += (i ? ", " : "") + wanted(e->args[i]);
  return simple(text + ")");
}

/// An operand whose type is known where it stands.
std::string Printer::wanted(Expr e) {
  const Spelling text = spell(e, true);
  return becomes(text.meaning, e) ? text.text : spell(e, false).text;
}

Printer::Spelling Printer::spell_literal(const Number& value, Expr e, bool plain) {
  std::string text = literal(value, plain);
  const int level = text[0] == '-' ? level_unary : level_postfix;
  const bool is_plain =
      (plain && !has_suffix_always(value)) || value.type == Scalar::I64 || value.type == Scalar::F64;
  if (!is_plain || value.type == Scalar::Bool) return {std::move(text), {e, false}, level};
  const Number written = is_integer(value.type)   ? Number::of(Scalar::I64, value.i)
                         : std::isfinite(value.f) ? Number::of_double(Scalar::F64, std::stod(text))
                                                  : Number::of_double(Scalar::F64, value.f);
  return {std::move(text), {program_.pool->literal(written), true}, level};
}

Printer::Spelling Printer::spell_select(Expr e, bool plain) {
  const std::string condition = spell(e->args[0], false).text;
  Spelling text;
  for (const auto& [then_plain, else_plain] : {std::pair(true, true), {false, true}, {false, false}}) {
    const Spelling then = spell(e->args[1], then_plain), otherwise = spell(e->args[2], else_plain);
    text = {"if " + condition + " then " + then.text + " else " + otherwise.text, {e, false}, level_choice};
    try {
      text.meaning = select_promoted(*program_.pool, e->args[0], then.meaning, otherwise.meaning, e->place);
    } catch (const Error&) {
      continue;
    }
    if (plain ? becomes(text.meaning, e) : text.meaning.expr == e) break;
  }
  return text;
}

std::string Printer::literal(const Number& value, bool plain) {
  const std::string type(info(value.type).name);
  if (value.type == Scalar::Bool) return value.i ? "true" : "false";
  if (is_integer(value.type)) {
    const std::string text = is_unsigned(value.type) ? std::to_string(value.u) : std::to_string(value.i);
    return value.type == Scalar::I64 || (plain && !has_suffix_always(value)) ? text : text + type;
  }
  const bool bare = plain || value.type == Scalar::F64;
  if (std::isnan(value.f) || std::isinf(value.f)) {
    const std::string text = std::isnan(value.f) ? "nan" : value.f < 0 ? "-inf" : "inf";
    return bare ? text : type + "(" + text + ")";
  }
  std::string text =
      value.type == Scalar::F64 ? fmt::format("{}", value.f) : fmt::format("{}", static_cast<float>(value.f));
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return bare ? text : text + type;
}

/// A subscript, bound or size: integers become i64 by themselves there.
std::string Printer::index(Expr e, int level) {
  const bool implied = as<Cast>(e) && e->type.is(Scalar::I64) && e->args[0]->type.is_integer();
  return expr(implied ? e->args[0] : e, level);
}

std::string Printer::extent(Expr e) { return index(e); }

std::string Printer::read(const Read& read, Expr e) {
  std::string text = name(read.array);
  if (nested_.contains(read.array)) text += ".values";
  if (read.rules.empty()) {
    const bool hidden = std::any_of(visible_.begin(), visible_.end(), [&](DimId dim) {
      return dims_[static_cast<std::size_t>(dim.value)] == text;
    });
    return hidden ? text + "[]" : text;
  }
  text += "[";
  bool fallback = false;
  for (std::size_t i = 0; i < read.rules.size(); ++i) {
    if (i) text += ", ";
    const std::string subscript = index(e->args[i]);
    switch (read.rules[i]) {
      case Boundary::Inside:
      case Boundary::Checked: text += subscript; break;
      case Boundary::Clamp: text += "clamp(" + subscript + ")"; break;
      case Boundary::Mirror: text += "mirror(" + subscript + ")"; break;
      case Boundary::Wrap: text += "wrap(" + subscript + ")"; break;
      case Boundary::Constant: {
        const Expr value = e->args[read.rules.size()];
        const auto* number = as<Literal>(value);
        const bool is_zero = number && number->value == Number::of(number->value.type, 0);
        text += "pad(" + subscript + (fallback || is_zero ? "" : ", " + wanted(value)) + ")";
        fallback = true;
      }
    }
  }
  return text + "]";
}

Printer::Spelling Printer::spell_apply(Prim prim, Expr e, bool plain) {
  const PrimInfo& what = info(prim);
  std::vector<Spelling> operands;
  Operand meaning;
  for (const bool bare : {true, false}) {
    operands.clear();
    std::vector<Operand> meanings;
    for (const Expr arg : e->args) {
      operands.push_back(spell(arg, bare));
      meanings.push_back(operands.back().meaning);
    }
    try {
      meaning = apply_promoted(*program_.pool, prim, std::move(meanings), e->place);
    } catch (const Error&) {
      meaning = {e, false};
      continue;
    }
    if (plain ? becomes(meaning, e) : meaning.expr == e) break;
  }
  const int binds = what.precedence;
  if (binds == 0) {
    std::string text(what.name);
    text += "(";
    for (std::size_t i = 0; i < operands.size(); ++i) text += (i ? ", " : "") + operands[i].text;
    return {text + ")", meaning, level_postfix};
  }
  const auto part = [&](std::size_t i, int level) {
    return parenthesised(operands[i].text, level > operands[i].level);
  };
  if (prim == Prim::Not) return {"not " + part(0, level_not), meaning, level_not};
  // A minus before a number belongs to the number.
  if (prim == Prim::Neg)
    return {"-" + parenthesised(part(0, level_unary), as<Literal>(e->args[0])), meaning, level_unary};
  const bool compares = what.prim_class == PrimClass::Comparison;
  return {part(0, compares ? level_sum : binds) + " " + std::string(what.name) + " " +
              part(1, compares ? level_sum : binds + 1),
          meaning, binds};
}

std::string Printer::make(Expr e) {
  const Record& record = e->type.record();
  if (record.name.empty()) {
    std::string text = "(";
    for (std::size_t i = 0; i < e->args.size(); ++i) text += (i ? ", " : "") + spell(e->args[i], false).text;
    return text + (e->args.size() == 1 ? ",)" : ")");
  }
  std::string text = quoted(record.name) + " { ";
  for (std::size_t i = 0; i < e->args.size(); ++i)
    text += (i ? ", " : "") + quoted(record.fields[i].name) + ": " + wanted(e->args[i]);
  return text + " }";
}

}  // namespace twill::text
