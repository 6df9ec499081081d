// Printing of programs: expressions.
#include "program/text_lex.h"
#include "program/text_printer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace twill::text {
namespace {

constexpr int level_choice = 0, level_not = 3, level_sum = 5, level_unary = 7, level_postfix = 8;
constexpr std::size_t large_tree = 400;

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

}  // namespace

std::string quoted(const std::string& name) {
  if (is_plain_name(name) && name != "from" && name != "onto") return name;
  std::string safe = name.empty() ? "_" : name;
  std::replace_if(
      safe.begin(), safe.end(), [](char c) { return c == '`' || c == '\n'; }, '_');
  return "`" + safe + "`";
}

std::string Printer::expr(Expr e, int level, bool plain) {
  if (const auto found = shared_.find(e.get()); found != shared_.end()) return found->second;
  if (shared_.empty()) {
    std::map<const Node*, std::size_t> sizes;
    if (tree_size(e, sizes) > large_tree) {
      std::map<const Node*, int> uses;
      visit(e, [&](Expr node) {
        for (const Expr arg : node->args) ++uses[arg.get()];
      });
      std::vector<Expr> often;
      visit(e, [&](Expr node) {
        if (uses[node.get()] > 1 && sizes[node.get()] > 6 && node != e) often.push_back(node);
      });
      std::string lets;
      for (const Expr node : often) {
        const std::string value = expr(node);
        std::string fresh;
        for (std::size_t n = shared_.size() + 1; fresh.empty() || taken_.contains(fresh); ++n)
          fresh = "t" + std::to_string(n);
        taken_.insert(fresh);
        shared_[node.get()] = fresh;
        lets += "let " + fresh + " = " + value + " in ";
      }
      if (!often.empty()) {
        const std::string body = expr(e, level_choice, plain);
        for (const Expr node : often) taken_.erase(shared_[node.get()]);
        shared_.clear();
        return parenthesised(lets + body, level > level_choice);
      }
    }
  }
  if (const auto* value = as<Literal>(e)) {
    const std::string text = literal(value->value, plain);
    return parenthesised(text, level > level_unary && text[0] == '-');
  }
  if (const auto* ref = as<IndexRef>(e)) return dims_[static_cast<std::size_t>(ref->dim.value)];
  if (const auto* ref = as<SizeRef>(e)) return symbols_[static_cast<std::size_t>(ref->symbol.value)];
  if (const auto* ref = as<ArgRef>(e))
    return function_ ? quoted(function_->parameters[static_cast<std::size_t>(ref->position)].name) : "?";
  if (const auto* kind = as<Read>(e)) return read(*kind, e);
  if (const auto* kind = as<Apply>(e)) return apply(*kind, e, level, plain);
  if (as<Select>(e)) {
    const bool then_literal = as<Literal>(e->args[1]), else_literal = as<Literal>(e->args[2]);
    return parenthesised("if " + expr(e->args[0]) + " then " + expr(e->args[1], 0, plain || !else_literal) +
                             " else " + expr(e->args[2], 0, plain || !then_literal),
                         level > level_choice);
  }
  if (as<Cast>(e)) return to_string(e->type) + "(" + expr(e->args[0]) + ")";
  if (as<Make>(e)) return make(e);
  if (const auto* get = as<GetField>(e)) {
    const std::string& field = e->args[0]->type.record().fields[static_cast<std::size_t>(get->field)].name;
    return expr(e->args[0], level_postfix) + "." +
           (std::isdigit(static_cast<unsigned char>(field[0])) ? field : quoted(field));
  }
  const auto* invoke = as<Invoke>(e);
  std::string text = quoted(program_[invoke->function].name) + "(";
  for (std::size_t i = 0; i < e->args.size(); ++i) text += (i ? ", " : "") + expr(e->args[i], 0, true);
  return text + ")";
}

std::string Printer::literal(const Number& value, bool plain) {
  const std::string type(info(value.type).name);
  if (value.type == Scalar::Bool) return value.i ? "true" : "false";
  if (is_integer(value.type)) {
    const bool large = value.type == Scalar::U64 && value.i < 0;
    const std::string text = is_unsigned(value.type) ? std::to_string(value.u) : std::to_string(value.i);
    return value.type == Scalar::I64 || (plain && !large) ? text : text + type;
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
  if (as<Cast>(e) && e->type.is(Scalar::I64) && e->args[0]->type.is_integer()) return expr(e->args[0], level);
  return expr(e, level);
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
      case Boundary::Inside: text += subscript; break;
      case Boundary::Clamp: text += "clamp(" + subscript + ")"; break;
      case Boundary::Mirror: text += "mirror(" + subscript + ")"; break;
      case Boundary::Wrap: text += "wrap(" + subscript + ")"; break;
      case Boundary::Constant: {
        const Expr value = e->args[read.rules.size()];
        const auto* number = as<Literal>(value);
        const bool is_zero = number && number->value == Number::of(number->value.type, 0);
        text += "pad(" + subscript + (fallback || is_zero ? "" : ", " + expr(value, 0, true)) + ")";
        fallback = true;
      }
    }
  }
  return text + "]";
}

std::string Printer::apply(const Apply& apply, Expr e, int level, bool plain) {
  const PrimInfo& prim = info(apply.prim);
  // A plain literal takes the type of another operand that has one of its own.
  std::vector<std::string> operands;
  const auto is_literal = [](Expr arg) { return as<Literal>(arg) != nullptr; };
  const bool typed = !std::all_of(e->args.begin(), e->args.end(), is_literal);
  const bool adapts = prim.prim_class == PrimClass::Arithmetic && plain;
  const int binds = prim.precedence;
  for (std::size_t i = 0; i < e->args.size(); ++i) {
    int wanted = 0;
    if (binds > 0)
      wanted = prim.arity == 1                            ? binds
               : prim.prim_class == PrimClass::Comparison ? level_sum
                                                          : binds + (i > 0 ? 1 : 0);
    if (apply.prim == Prim::Neg) wanted = is_literal(e->args[i]) ? level_postfix : level_unary;
    operands.push_back(expr(e->args[i], wanted, (typed && prim.arity > 1) || adapts));
    if (apply.prim == Prim::Neg && is_literal(e->args[i]) && operands.back()[0] != '(')
      operands.back() = "(" + operands.back() + ")";
  }
  if (binds == 0) {
    std::string text(prim.name);
    text += "(";
    for (std::size_t i = 0; i < operands.size(); ++i) text += (i ? ", " : "") + operands[i];
    return text + ")";
  }
  if (prim.arity == 1)
    return parenthesised((apply.prim == Prim::Not ? "not " : "-") + operands[0],
                         level > (apply.prim == Prim::Not ? level_not : level_unary));
  return parenthesised(operands[0] + " " + std::string(prim.name) + " " + operands[1], level > binds);
}

std::string Printer::make(Expr e) {
  const Record& record = e->type.record();
  if (record.name.empty()) {
    std::string text = "(";
    for (std::size_t i = 0; i < e->args.size(); ++i) text += (i ? ", " : "") + expr(e->args[i]);
    return text + (e->args.size() == 1 ? ",)" : ")");
  }
  std::string text = quoted(record.name) + " { ";
  for (std::size_t i = 0; i < e->args.size(); ++i)
    text += (i ? ", " : "") + quoted(record.fields[i].name) + ": " + expr(e->args[i], 0, true);
  return text + " }";
}

}  // namespace twill::text
