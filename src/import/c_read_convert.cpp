// What C's types do to integers: conversions and unsigned arithmetic that keep a value, and those that do
// not.
//
// A tree is affine where its value is, as an integer without limits. So every conversion is looked at when it
// is read: one that is known to keep its operand is marked as exact, and all others stay what they are,
// operations on data that no integer set knows anything about.
#include "import/c_depend.h"
#include "import/c_read.h"

#include <algorithm>
#include <stdexcept>

namespace twill::c {

using poly::Affine;
using poly::Condition;

namespace {

/// No array is larger, and no loop counts further; sums of a few such numbers are far from 2^63.
constexpr std::int64_t far = std::int64_t{1} << 60;

std::int64_t lowest_of(Scalar type) {
  if (!is_signed(type)) return 0;
  return info(type).bytes == 8 ? -far : -(std::int64_t{1} << (8 * info(type).bytes - 1));
}

std::int64_t highest_of(Scalar type) {
  const int bits = 8 * info(type).bytes - (is_signed(type) ? 1 : 0);
  return bits >= 63 ? far : (std::int64_t{1} << bits) - 1;
}

/// The number between -2^(bits-1) and 2^(bits-1) that is the same modulo 2^bits.
std::int64_t wrapped(std::int64_t value, int bytes) {
  const int unused = 64 - 8 * bytes;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << unused) >> unused;
}

bool is_wrapping(const Tree& tree) {
  return tree->kind == Kind::Apply && is_unsigned(tree->type) &&
         (tree->op == "+" || tree->op == "-" || tree->op == "*");
}

const char* mirrored(const std::string& op) {
  if (op == "<") return ">";
  if (op == "<=") return ">=";
  if (op == ">") return "<";
  if (op == ">=") return "<=";
  return op == "==" ? "==" : "!=";
}

}  // namespace

// ---- what is known ------------------------------------------------------------------------------

Condition Reader::facts() const {
  Condition all;
  for (const int loop : open_loops_) all = std::move(all) && range_of(nest_, loop).condition;
  for (const Tree& guard : guards_) all = std::move(all) && condition_of(nest_, guard).condition;
  for (const Condition& known : open_ranges_) all = std::move(all) && known;
  for (std::size_t k = 0; k < nest_.params.size(); ++k) {
    const Param& param = nest_.params[k];
    if (!is_integer(param.type)) continue;
    const Affine value = var_of_param(nest_, static_cast<int>(k));
    if (param.is_size || is_unsigned(param.type)) all = std::move(all) && poly::at_most(0, value);
    if (param.is_size || info(param.type).bytes < 8)
      all = std::move(all) && poly::at_most(value, highest_of(param.type));
  }
  return all;
}

bool Reader::is_never_negative(const Affine& value) const {
  const Condition known = facts();
  if (poly::quickly_non_negative(known, value)) return true;
  try {
    return Questions(nest_).implies(known, poly::at_most(0, value));
  } catch (const std::overflow_error&) {
    return false;
  }
}

bool Reader::fits(const Affine& value, Scalar type) const {
  // Where the program never comes, everything would follow.
  if (!guards_.empty() && !Questions(nest_).is_possible(facts())) return false;
  try {
    if (!is_never_negative(value - lowest_of(type))) return false;
    if (is_never_negative(Affine(highest_of(type)) - value)) return true;
    // A number of 64 bits may be larger than any that is known here; what is at most such a number fits as
    // well.
    for (std::size_t k = 0; k < nest_.params.size(); ++k)
      if (type == Scalar::U64 && nest_.params[k].type == type &&
          is_never_negative(Affine(var_of_param(nest_, static_cast<int>(k))) - value))
        return true;
  } catch (const std::overflow_error&) {}
  return false;
}

Condition Reader::range_of_type(const Affine& value, Scalar type) {
  return poly::at_most(lowest_of(type), value) && poly::at_most(value, highest_of(type));
}

std::optional<Affine> Reader::modulo(const Tree& tree, int bytes) const {
  if (const auto exact = affine_of(nest_, tree)) return exact;
  if (!is_integer(tree->type) || info(tree->type).bytes < bytes) return std::nullopt;
  if (tree->kind == Kind::Number) return Affine(tree->number.as_int());
  if (tree->kind == Kind::Cast) return modulo(tree->args[0], bytes);
  if (!is_wrapping(tree)) return std::nullopt;
  std::vector<Affine> args;
  for (const Tree& arg : tree->args) {
    const auto value = modulo(arg, bytes);
    if (!value) return std::nullopt;
    args.push_back(*value);
  }
  try {
    Affine result;
    if (tree->op == "+")
      result = args[0] + args[1];
    else if (tree->op == "-")
      result = args.size() == 1 ? -args[0] : args[0] - args[1];
    else if (args[1].is_constant())
      result = args[0] * args[1].constant();
    else if (args[0].is_constant())
      result = args[1] * args[0].constant();
    else
      return std::nullopt;
    return result + (wrapped(result.constant(), bytes) - result.constant());
  } catch (const std::overflow_error&) {
    return std::nullopt;
  }
}

// ---- conversions --------------------------------------------------------------------------------

Tree Reader::convert(const Tree& tree, Scalar to) const {
  if (!is_integer(to) || !is_integer(tree->type) || tree->kind == Kind::Number || keeps(tree->type, to))
    return cast(tree, to);
  const auto value = modulo(tree, info(to).bytes);
  if (!value || !fits(*value, to)) return cast(tree, to);
  if (affine_of(nest_, tree)) return exactly(tree, to);
  const Tree plain = tree_of(nest_, *value, tree->place);
  return plain ? exactly(plain, to) : cast(tree, to);
}

Tree Reader::wrap(const Tree& tree) const {
  if (!is_wrapping(tree)) return tree;
  const auto value = modulo(tree, info(tree->type).bytes);
  if (!value || !fits(*value, tree->type)) return tree;
  if (const Tree plain = tree_of(nest_, *value, tree->place)) return exactly(plain, tree->type);
  std::vector<Tree> args;
  for (const Tree& arg : tree->args) args.push_back(widen(arg));
  const Tree sum = apply(tree->op, std::move(args), Scalar::I64, tree->place);
  return affine_of(nest_, sum) == value ? exactly(sum, tree->type) : tree;
}

Tree Reader::widen(const Tree& tree) const {
  if (is_float(tree->type) || tree->type == Scalar::Bool) return cast(tree, Scalar::I64);
  if (tree->kind == Kind::Number)
    return affine_of(nest_, tree) ? integer(tree->number.as_int(), tree->place) : cast(tree, Scalar::I64);
  if (is_exact(tree)) return widen(tree->args[0]);
  if (tree->kind == Kind::Apply) {
    static const char* const known[] = {"+", "-", "*", "floor_div", "floor_mod", "min", "max"};
    if (std::ranges::find(known, tree->op) != std::end(known) && !is_wrapping(tree)) {
      std::vector<Tree> args;
      for (const Tree& arg : tree->args) args.push_back(widen(arg));
      return apply(tree->op, std::move(args), Scalar::I64, tree->place);
    }
  }
  return affine_of(nest_, tree) ? exactly(tree, Scalar::I64) : cast(tree, Scalar::I64);
}

Tree Reader::position(const Tree& tree) const {
  const int bytes = info(tree->type).bytes;
  if (is_integer(tree->type) && bytes >= 4 && !affine_of(nest_, tree))
    if (const auto value = modulo(tree, bytes))
      if (Tree plain = tree_of(nest_, *value, tree->place)) return plain;
  return tidy(nest_, widen(tree));
}

Tree Reader::upper_end(const Tree& tree) const {
  if (tree->type != Scalar::U64 || affine_of(nest_, tree)) return widen(tree);
  const bool lost_sign = tree->kind == Kind::Cast && is_signed(tree->args[0]->type);
  return position(lost_sign ? tree->args[0] : tree);
}

Tree Reader::lower_end(const Tree& tree) const {
  if (tree->type != Scalar::U64 || affine_of(nest_, tree) || !is_converted(tree)) return widen(tree);
  const bool lost_sign = tree->kind == Kind::Cast && is_signed(tree->args[0]->type);
  const Tree value = widen(lost_sign ? tree->args[0] : tree);
  return choose(apply("<", {value, integer(0, tree->place)}, Scalar::Bool, tree->place),
                integer(far, tree->place), value);
}

bool Reader::is_same_value(const Tree& a, const Tree& b) const {
  const auto x = affine_of(nest_, a), y = affine_of(nest_, b);
  if (x || y) return x == y;
  return same(a, b) || same(widen(a), widen(b));
}

bool Reader::is_converted(const Tree& tree) const {
  bool found = false;
  visit(nest_, tree, [&](const Tree& node) {
    found = found || is_wrapping(node) ||
            (node->kind == Kind::Cast && is_integer(node->type) && is_integer(node->args[0]->type) &&
             !is_exact(node));
  });
  return found;
}

bool Reader::is_found_when_running(const Tree& tree) const {
  bool found = is_converted(tree);
  visit(nest_, tree, [&](const Tree& node) {
    found = found || node->kind == Kind::Read || node->kind == Kind::Local || node->kind == Kind::Choose ||
            node->op == "min" || node->op == "max";
  });
  return found;
}

// ---- comparisons --------------------------------------------------------------------------------

Tree Reader::compare(const std::string& op, const Tree& a, const Tree& b, Scalar type,
                     const Place& at) const {
  const Tree x = convert(a, type), y = convert(b, type);
  if (is_float(type)) return apply(op, {x, y}, Scalar::Bool, at);
  const auto x_value = affine_of(nest_, x), y_value = affine_of(nest_, y);
  if (x_value && y_value) {
    // An argument of 64 bits without a sign may be more than a number with a sign can hold.
    const auto is_huge = [&](const Affine& value) {
      return std::ranges::any_of(value.variables(), [&](poly::Var var) {
        return var.kind == poly::Var::Kind::Term &&
               nest_.params[static_cast<std::size_t>(var.id)].type == Scalar::U64;
      });
    };
    if (is_huge(*x_value) || is_huge(*y_value)) return apply(op, {x, y}, Scalar::Bool, at);
    return apply(op, {tidy(nest_, widen(x)), tidy(nest_, widen(y))}, Scalar::Bool, at);
  }
  // Less than zero is, without its sign, more than any number of the type with a sign.
  const auto signed_part = [&](const Tree& side) {
    const bool converted = is_unsigned(type) && side->kind == Kind::Cast && !is_exact(side) &&
                           is_signed(side->args[0]->type) && affine_of(nest_, side->args[0]);
    return converted ? side->args[0] : Tree();
  };
  const Tree left = signed_part(x), right = signed_part(y);
  const Scalar with_sign = type == Scalar::U64 ? Scalar::I64 : Scalar::I32;
  const auto& other = left ? y_value : x_value;
  if ((left || right) && other && fits(*other, with_sign)) {
    const std::string way = left ? op : mirrored(op);
    const Tree value = tidy(nest_, widen(left ? left : right)), bound = tidy(nest_, widen(left ? y : x));
    const Tree compared = apply(way, {value, bound}, Scalar::Bool, at), zero = integer(0, at);
    if (way[0] == '<') return both(apply(">=", {value, zero}, Scalar::Bool, at), compared);
    if (way[0] == '>')
      return apply("or", {apply("<", {value, zero}, Scalar::Bool, at), compared}, Scalar::Bool, at);
    return compared;
  }
  return apply(op, {x, y}, Scalar::Bool, at);
}

}  // namespace twill::c
