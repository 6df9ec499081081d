#include "simplify/rules.h"

#include <algorithm>

namespace twill {

namespace {

// ---- how rules are written
// ---------------------------------------------------------------------------------

Pattern variable(int number) { return {Pattern::Kind::Any, number, 0, {}, {}}; }
Pattern constant(int number) { return {Pattern::Kind::Constant, number, 0, {}, {}}; }
Pattern number(double value) { return {Pattern::Kind::Number, 0, value, {}, {}}; }
Pattern apply(Prim prim, std::vector<Pattern> args) {
  return {Pattern::Kind::Apply, 0, 0, prim, std::move(args)};
}
Pattern select(Pattern c, Pattern a, Pattern b) {
  return {Pattern::Kind::Select, 0, 0, {}, {std::move(c), std::move(a), std::move(b)}};
}
Pattern cast(Pattern a) { return {Pattern::Kind::Cast, 0, 0, {}, {std::move(a)}}; }

Pattern operator+(Pattern a, Pattern b) { return apply(Prim::Add, {std::move(a), std::move(b)}); }
Pattern operator-(Pattern a, Pattern b) { return apply(Prim::Sub, {std::move(a), std::move(b)}); }
Pattern operator*(Pattern a, Pattern b) { return apply(Prim::Mul, {std::move(a), std::move(b)}); }
Pattern operator/(Pattern a, Pattern b) { return apply(Prim::Div, {std::move(a), std::move(b)}); }
Pattern operator%(Pattern a, Pattern b) { return apply(Prim::Mod, {std::move(a), std::move(b)}); }
Pattern operator-(Pattern a) { return apply(Prim::Neg, {std::move(a)}); }
Pattern operator==(Pattern a, Pattern b) { return apply(Prim::Eq, {std::move(a), std::move(b)}); }
Pattern operator!=(Pattern a, Pattern b) { return apply(Prim::Ne, {std::move(a), std::move(b)}); }
Pattern operator<(Pattern a, Pattern b) { return apply(Prim::Lt, {std::move(a), std::move(b)}); }
Pattern operator<=(Pattern a, Pattern b) { return apply(Prim::Le, {std::move(a), std::move(b)}); }
Pattern operator>(Pattern a, Pattern b) { return apply(Prim::Gt, {std::move(a), std::move(b)}); }
Pattern operator>=(Pattern a, Pattern b) { return apply(Prim::Ge, {std::move(a), std::move(b)}); }
Pattern operator!(Pattern a) { return apply(Prim::Not, {std::move(a)}); }
Pattern operator&&(Pattern a, Pattern b) { return apply(Prim::And, {std::move(a), std::move(b)}); }
Pattern operator||(Pattern a, Pattern b) { return apply(Prim::Or, {std::move(a), std::move(b)}); }
Pattern min(Pattern a, Pattern b) { return apply(Prim::Min, {std::move(a), std::move(b)}); }
Pattern max(Pattern a, Pattern b) { return apply(Prim::Max, {std::move(a), std::move(b)}); }
Pattern abs(Pattern a) { return apply(Prim::Abs, {std::move(a)}); }
Pattern bit_and(Pattern a, Pattern b) { return apply(Prim::BitAnd, {std::move(a), std::move(b)}); }
Pattern bit_or(Pattern a, Pattern b) { return apply(Prim::BitOr, {std::move(a), std::move(b)}); }
Pattern exclusive_or(Pattern a, Pattern b) { return apply(Prim::Xor, {std::move(a), std::move(b)}); }
Pattern bit_not(Pattern a) { return apply(Prim::BitNot, {std::move(a)}); }
Pattern shl(Pattern a, Pattern b) { return apply(Prim::Shl, {std::move(a), std::move(b)}); }
Pattern shr(Pattern a, Pattern b) { return apply(Prim::Shr, {std::move(a), std::move(b)}); }

/// Of a cast of a cast. Floats saturate where integers wrap around.
bool inner_loses_nothing(Expr root) {
  const Scalar from = root->args[0]->args[0]->type.scalar(), by = root->args[0]->type.scalar(),
               to = root->type.scalar();
  const bool becomes_float = is_float(by) && !is_float(from);
  return loses_nothing(from, by) &&
         (!becomes_float || is_float(to) || to == Scalar::Bool || loses_nothing(from, to));
}

/// Is one of the operands a literal below zero, and not the lowest one?
bool has_negative_literal(Expr root) {
  return std::any_of(root->args.begin(), root->args.end(), [](Expr arg) {
    const auto* literal = as<Literal>(arg);
    return literal && is_signed(literal->value.type) && literal->value.i < 0 &&
           !(literal->value == lowest(literal->value.type));
  });
}

// ---- the rules
// ---------------------------------------------------------------------------------------------

std::vector<Rule> make_rules() {
  const Pattern x = variable(0), y = variable(1), z = variable(2), c = constant(3), d = constant(4);
  const Pattern zero = number(0), one = number(1), minus_zero = number(-0.0);
  const Pattern no = number(0), yes = number(1);
  return {
      // Sums and products. The expression pool knows x + 0, x - 0, x * 1 and x * 0 of integers.
      {x - x, zero, Of::Integers},
      {zero - x, -x, Of::Integers},
      {-(-x), x, Of::Numbers},
      {x + (-y), x - y, Of::Integers},
      {x - (-y), x + y, Of::Integers},
      {(x + c) + d, x + (c + d), Of::Integers},
      {(x - c) + d, x + (d - c), Of::Integers},
      {(x + c) - d, x + (c - d), Of::Integers},
      {(x - c) - d, x - (c + d), Of::Integers},
      {x + c, x - (-c), Of::Integers, has_negative_literal},
      {x - c, x + (-c), Of::Integers, has_negative_literal},
      {(x + y) - x, y, Of::Integers},
      {(x - y) + y, x, Of::Integers},
      {(x * c) * d, x * (c * d), Of::Integers},
      {x * one, x, Of::Floats},
      {one * x, x, Of::Floats},
      {x - zero, x, Of::Floats},
      {x + minus_zero, x, Of::Floats},
      {minus_zero + x, x, Of::Floats},
      {x / one, x, Of::Numbers},
      {x % one, zero, Of::Integers},
      {min(x, x), x, Of::Floats},
      {max(x, x), x, Of::Floats},
      {min(min(x, c), d), min(x, min(c, d)), Of::Integers},
      {max(max(x, c), d), max(x, max(c, d)), Of::Integers},
      {abs(abs(x)), abs(x), Of::Numbers},
      {abs(-x), abs(x), Of::Signed},
      // Comparisons.
      {x == x, yes, Of::Integers},
      {x != x, no, Of::Integers},
      {x < x, no, Of::Integers},
      {x <= x, yes, Of::Integers},
      {x > x, no, Of::Integers},
      {x >= x, yes, Of::Integers},
      {x + c == d, x == d - c, Of::Integers},
      {x + c != d, x != d - c, Of::Integers},
      {!(x == y), x != y, Of::Scalars},
      {!(x != y), x == y, Of::Scalars},
      {!(x < y), x >= y, Of::Integers},
      {!(x <= y), x > y, Of::Integers},
      {!(x > y), x <= y, Of::Integers},
      {!(x >= y), x < y, Of::Integers},
      // Logic. The second operand is evaluated only if the first does not decide.
      {!!x, x, Of::Bools},
      {x && yes, x, Of::Bools},
      {yes && x, x, Of::Bools},
      {no && x, no, Of::Bools},
      {x && no, no, Of::Bools},
      {x && x, x, Of::Bools},
      {x || no, x, Of::Bools},
      {no || x, x, Of::Bools},
      {yes || x, yes, Of::Bools},
      {x || yes, yes, Of::Bools},
      {x || x, x, Of::Bools},
      // Bits.
      {bit_and(x, x), x, Of::Integers},
      {bit_and(x, zero), zero, Of::Integers},
      {bit_or(x, x), x, Of::Integers},
      {bit_or(x, zero), x, Of::Integers},
      {exclusive_or(x, zero), x, Of::Scalars},
      {exclusive_or(x, x), zero, Of::Scalars},
      {bit_not(bit_not(x)), x, Of::Integers},
      {shl(x, zero), x, Of::Integers},
      {shr(x, zero), x, Of::Integers},
      // Choices.
      {select(yes, x, y), x, Of::Anything},
      {select(no, x, y), y, Of::Anything},
      {select(y, x, x), x, Of::Anything},
      {select(!x, y, z), select(x, z, y), Of::Bools},
      {select(x, yes, no), x, Of::Bools},
      {select(x, no, yes), !x, Of::Bools},
      {select(x, select(x, y, z), variable(4)), select(x, y, variable(4)), Of::Bools},
      {select(x, y, select(x, z, variable(4))), select(x, y, variable(4)), Of::Bools},
      // Conversions.
      {cast(cast(x)), cast(x), Of::Scalars, inner_loses_nothing},
  };
}

// ---- matching
// ----------------------------------------------------------------------------------------------

bool commutes(Prim prim, const Type& operands) {
  switch (prim) {
    case Prim::Add:
    case Prim::Mul:
    case Prim::Min:
    case Prim::Max:
    case Prim::BitAnd:
    case Prim::BitOr: return operands.is_integer();
    case Prim::Xor:
    case Prim::Eq:
    case Prim::Ne: return true;
    default: return false;
  }
}

bool matches(const Pattern& pattern, Expr e, Match& match) {
  switch (pattern.kind) {
    case Pattern::Kind::Constant:
      if (!as<Literal>(e)) return false;
      [[fallthrough]];
    case Pattern::Kind::Any: {
      Expr& bound = match[static_cast<std::size_t>(pattern.variable)];
      if (!bound) bound = e;
      return bound == e;
    }
    case Pattern::Kind::Number: {
      const auto* literal = as<Literal>(e);
      return literal && literal->value == Number::of_double(literal->value.type, pattern.number);
    }
    case Pattern::Kind::Select:
      return as<Select>(e) && matches(pattern.args[0], e->args[0], match) &&
             matches(pattern.args[1], e->args[1], match) && matches(pattern.args[2], e->args[2], match);
    case Pattern::Kind::Cast: return as<Cast>(e) && matches(pattern.args[0], e->args[0], match);
    case Pattern::Kind::Apply: break;
  }
  const auto* applied = as<Apply>(e);
  if (!applied || applied->prim != pattern.prim) return false;
  const Match before = match;
  const auto in_order = [&](std::size_t first) {
    match = before;
    for (std::size_t k = 0; k < pattern.args.size(); ++k)
      if (!matches(pattern.args[k], e->args[k ^ first], match)) return false;
    return true;
  };
  return in_order(0) || (e->args.size() == 2 && commutes(pattern.prim, e->args[0]->type) && in_order(1));
}

bool admits(Of of, const Type& type) {
  switch (of) {
    case Of::Integers: return type.is_integer();
    case Of::Floats: return type.is_float();
    case Of::Numbers: return type.is_number();
    case Of::Signed: return type.is_float() || (type.is_scalar() && is_signed(type.scalar()));
    case Of::Bools: return type.is(Scalar::Bool);
    case Of::Scalars: return type.is_scalar();
    case Of::Anything: return true;
  }
  return false;
}

void mark_variables(const Pattern& pattern, std::array<bool, pattern_variables>& found) {
  if (pattern.kind == Pattern::Kind::Any || pattern.kind == Pattern::Kind::Constant)
    found[static_cast<std::size_t>(pattern.variable)] = true;
  for (const Pattern& arg : pattern.args) mark_variables(arg, found);
}

/// Could the expression divide by zero?
bool may_divide_by_zero(Expr root, std::span<const Function> functions) {
  bool found = false;
  visit(root, [&](Expr node) { found = found || (!as<Read>(node) && is_partial(node, functions)); });
  return found;
}

/// Is the operand evaluated whatever the others are? The only one that a choice may leave out is never
/// needed.
bool is_always_evaluated(const Rule& rule) {
  const Pattern& from = rule.from;
  const bool decided = !from.args.empty() && from.args.front().kind == Pattern::Kind::Number;
  const bool lazy = from.kind == Pattern::Kind::Select ||
                    (from.kind == Pattern::Kind::Apply && (from.prim == Prim::And || from.prim == Prim::Or));
  return !(lazy && decided);
}

/// Would a division by zero happen on the left side only?
bool drops_an_error(const Rule& rule, const Match& match, std::span<const Function> functions) {
  if (!is_always_evaluated(rule)) return false;
  std::array<bool, pattern_variables> stays{};
  mark_variables(rule.to, stays);
  for (std::size_t k = 0; k < match.size(); ++k)
    if (match[k] && !stays[k] && may_divide_by_zero(match[k], functions)) return true;
  return false;
}

/// Rules by what they begin with, so that few are tried.
std::vector<const Rule*> candidates(Expr node) {
  std::vector<const Rule*> found;
  const auto* applied = as<Apply>(node);
  for (const Rule& rule : rules()) {
    const bool fits = applied ? rule.from.kind == Pattern::Kind::Apply && rule.from.prim == applied->prim
                      : as<Select>(node) ? rule.from.kind == Pattern::Kind::Select
                                         : as<Cast>(node) && rule.from.kind == Pattern::Kind::Cast;
    if (fits) found.push_back(&rule);
  }
  return found;
}

/// The type of the first variable in a pattern.
std::optional<Type> type_in(const Pattern& pattern, const Match& match) {
  if (pattern.kind == Pattern::Kind::Any || pattern.kind == Pattern::Kind::Constant)
    return match[static_cast<std::size_t>(pattern.variable)]->type;
  for (const Pattern& arg : pattern.args)
    if (const auto type = type_in(arg, match)) return type;
  return std::nullopt;
}

/// Builds one side; every node that is made passes through `made`.
template <class Made>
Expr build(ExprPool& pool, const Pattern& pattern, const Match& match, const Type& type, const Made& made) {
  switch (pattern.kind) {
    case Pattern::Kind::Any:
    case Pattern::Kind::Constant: return match[static_cast<std::size_t>(pattern.variable)];
    case Pattern::Kind::Number: return pool.literal(Number::of_double(type.scalar(), pattern.number));
    case Pattern::Kind::Cast: return made(pool.cast(type, build(pool, pattern.args[0], match, type, made)));
    case Pattern::Kind::Select:
      return made(pool.select(build(pool, pattern.args[0], match, Scalar::Bool, made),
                              build(pool, pattern.args[1], match, type, made),
                              build(pool, pattern.args[2], match, type, made)));
    case Pattern::Kind::Apply: break;
  }
  const Type operands = type_in(pattern, match).value_or(type);
  std::vector<Expr> args;
  for (const Pattern& arg : pattern.args) args.push_back(build(pool, arg, match, operands, made));
  return made(pool.apply(pattern.prim, std::move(args)));
}

}  // namespace

const std::vector<Rule>& rules() {
  static const std::vector<Rule> all = make_rules();
  return all;
}

bool loses_nothing(Scalar from, Scalar to) {
  if (from == to || from == Scalar::Bool) return true;
  if (to == Scalar::Bool) return false;
  const int a = info(from).bytes, b = info(to).bytes;
  if (is_float(from)) {
    // f16 and bf16 hold numbers that the other does not.
    return is_float(to) && a < b;
  }
  if (is_float(to)) {
    // Integers up to the bits of the significand.
    const int bits = to == Scalar::F64 ? 53 : to == Scalar::F32 ? 24 : 0;
    return a * 8 - (is_signed(from) ? 1 : 0) <= bits;
  }
  if (is_signed(from)) return is_signed(to) && a < b;
  return a < b;
}

Expr simplified(ExprPool& pool, Expr node, std::span<const Function> functions) {
  for (const Rule* rule : candidates(node)) {
    Match match{};
    if (!matches(rule->from, node, match) || !admits(rule->of, match[0]->type)) continue;
    if (rule->when && !rule->when(node)) continue;
    if (drops_an_error(*rule, match, functions)) continue;
    const Expr simpler = build(pool, rule->to, match, node->type,
                               [&](Expr made) { return simplified(pool, made, functions); });
    if (simpler->type == node->type) return simpler;
  }
  return node;
}

Expr instantiated(ExprPool& pool, const Pattern& pattern, const Match& match, const Type& type) {
  return build(pool, pattern, match, type, [](Expr made) { return made; });
}

}  // namespace twill
