// Trees of C expressions: making, comparing, rewriting them, and what they say about integers.
#include "import/c_nest.h"

#include "base/error.h"

#include <algorithm>

namespace twill::c {

using poly::Affine;
using poly::Condition;
using poly::Var;

Tree make(Node node) { return std::make_shared<const Node>(std::move(node)); }

Tree integer(std::int64_t value, const Place& place, Scalar type) {
  return make({.kind = Kind::Number, .type = type, .place = place, .number = Number::of(type, value)});
}

Tree number(Number value, const Place& place) {
  return make({.kind = Kind::Number, .type = value.type, .place = place, .number = value});
}

Tree index_of(int loop, const Place& place) {
  return make({.kind = Kind::Index, .type = Scalar::I64, .place = place, .id = loop});
}

Tree read_of(const Nest& nest, int array, std::vector<Tree> at, const Place& place) {
  return make({.kind = Kind::Read,
               .type = nest.array(array).type,
               .place = place,
               .id = array,
               .args = std::move(at)});
}

namespace {

std::optional<std::int64_t> known_integer(const Tree& tree) {
  if (tree->kind != Kind::Number || info(tree->type).number_class == NumberClass::Float) return std::nullopt;
  return tree->number.as_int();
}

}  // namespace

Tree apply(std::string op, std::vector<Tree> args, Scalar type, const Place& place) {
  const bool exact = type == Scalar::I64 || type == Scalar::I32;
  if (exact && args.size() == 2) {
    const auto a = known_integer(args[0]), b = known_integer(args[1]);
    std::int64_t result = 0;
    if (a && b) {
      const bool over = op == "+"   ? __builtin_add_overflow(*a, *b, &result)
                        : op == "-" ? __builtin_sub_overflow(*a, *b, &result)
                        : op == "*" ? __builtin_mul_overflow(*a, *b, &result)
                                    : true;
      if (!over && Number::of(type, result).as_int() == result) return integer(result, place, type);
    }
    if (b && *b == 0 && (op == "+" || op == "-") && args[0]->type == type) return args[0];
    if (a && *a == 0 && op == "+" && args[1]->type == type) return args[1];
    if (op == "*" && ((a && *a == 0) || (b && *b == 0))) return integer(0, place, type);
    if (op == "*" && b && *b == 1 && args[0]->type == type) return args[0];
    if (op == "*" && a && *a == 1 && args[1]->type == type) return args[1];
  }
  return make(
      {.kind = Kind::Apply, .type = type, .place = place, .op = std::move(op), .args = std::move(args)});
}

Tree cast(Tree tree, Scalar type) {
  if (tree->type == type) return tree;
  if (tree->kind == Kind::Number) return number(convert(tree->number, type), tree->place);
  if (tree->type == Scalar::Bool && type != Scalar::Bool)
    return choose(tree, number(convert(Number::of(Scalar::I64, 1), type), tree->place),
                  number(convert(Number::of(Scalar::I64, 0), type), tree->place));
  const Place place = tree->place;
  return make({.kind = Kind::Cast, .type = type, .place = place, .args = {std::move(tree)}});
}

Tree exactly(Tree tree, Scalar type) {
  if (tree->type == type || tree->kind == Kind::Number) return cast(std::move(tree), type);
  const Place place = tree->place;
  return make({.kind = Kind::Cast, .type = type, .place = place, .op = "exact", .args = {std::move(tree)}});
}

bool keeps(Scalar from, Scalar to) {
  if (is_signed(from) == is_signed(to)) return info(from).bytes <= info(to).bytes;
  return is_signed(to) && info(from).bytes < info(to).bytes;
}

bool is_exact(const Tree& tree) {
  return tree->kind == Kind::Cast && is_integer(tree->type) && is_integer(tree->args[0]->type) &&
         (tree->op == "exact" || keeps(tree->args[0]->type, tree->type));
}

Tree choose(Tree condition, Tree a, Tree b) {
  const Scalar type = a->type;
  const Place place = condition->place;
  return make({.kind = Kind::Choose,
               .type = type,
               .place = place,
               .args = {std::move(condition), std::move(a), std::move(b)}});
}

Tree both(const Tree& a, const Tree& b) {
  if (!a || !b) return a ? a : b;
  return apply("and", {a, b}, Scalar::Bool, a->place);
}

Tree negated(const Tree& condition) {
  static const std::pair<const char*, const char*> opposites[] = {{"<", ">="}, {">=", "<"},  {">", "<="},
                                                                  {"<=", ">"}, {"==", "!="}, {"!=", "=="}};
  if (condition->kind == Kind::Apply) {
    const bool whole =
        !condition->args.empty() && info(condition->args[0]->type).number_class != NumberClass::Float;
    for (const auto& [from, to] : opposites)
      if (condition->op == from && (whole || condition->op == "==" || condition->op == "!="))
        return apply(to, condition->args, Scalar::Bool, condition->place);
    if (condition->op == "not") return condition->args[0];
  }
  return apply("not", {condition}, Scalar::Bool, condition->place);
}

Tree truth(const Tree& tree) {
  if (tree->type == Scalar::Bool) return tree;
  // A comparison that C made an integer of.
  if (tree->kind == Kind::Choose && tree->args[0]->type == Scalar::Bool && is_number(tree->args[1], 1) &&
      is_number(tree->args[2], 0))
    return tree->args[0];
  return apply("!=", {tree, number(convert(Number::of(Scalar::I64, 0), tree->type), tree->place)},
               Scalar::Bool, tree->place);
}

bool is_number(const Tree& tree, double value) {
  return tree->kind == Kind::Number && tree->number.as_double() == value;
}

bool is_comparison(const std::string& op) {
  return op == "<" || op == "<=" || op == ">" || op == ">=" || op == "==" || op == "!=";
}

// ---- looking ------------------------------------------------------------------------------------

bool same(const Tree& a, const Tree& b) {
  if (a == b) return true;
  if (!a || !b) return false;
  return a->kind == b->kind && a->type == b->type && a->id == b->id && a->version == b->version &&
         a->op == b->op && a->number == b->number && a->loops == b->loops && a->loop == b->loop &&
         same(a->args, b->args);
}

bool same(const std::vector<Tree>& a, const std::vector<Tree>& b) {
  return std::ranges::equal(a, b, [](const Tree& x, const Tree& y) { return same(x, y); });
}

void visit(const Nest& nest, const Tree& tree, const std::function<void(const Tree&)>& action) {
  if (!tree) return;
  action(tree);
  for (const Tree& arg : tree->args) visit(nest, arg, action);
  for (const int loop : tree->loops) {
    visit(nest, nest.loop(loop).lo, action);
    visit(nest, nest.loop(loop).hi, action);
  }
  if (tree->loop) {
    for (const Tree& part : tree->loop->first) visit(nest, part, action);
    for (const Tree& part : tree->loop->next) visit(nest, part, action);
    visit(nest, tree->loop->condition, action);
  }
}

bool mentions_loop(const Nest& nest, const Tree& tree, int loop) {
  bool found = false;
  visit(nest, tree,
        [&](const Tree& node) { found = found || (node->kind == Kind::Index && node->id == loop); });
  return found;
}

bool reads_array(const Nest& nest, const Tree& tree, int array) {
  bool found = false;
  visit(nest, tree,
        [&](const Tree& node) { found = found || (node->kind == Kind::Read && node->id == array); });
  return found;
}

Tree rewrite(const Tree& tree, const std::function<Tree(const Tree&)>& change) {
  if (!tree) return tree;
  if (Tree changed = change(tree)) return changed;
  Node node = *tree;
  bool differs = false;
  const auto part = [&](Tree& at) {
    Tree now = rewrite(at, change);
    differs = differs || now != at;
    at = std::move(now);
  };
  for (Tree& arg : node.args) part(arg);
  if (node.loop) {
    WhileLoop loop = *node.loop;
    for (Tree& at : loop.first) part(at);
    for (Tree& at : loop.next) part(at);
    part(loop.condition);
    if (differs) node.loop = std::make_shared<const WhileLoop>(std::move(loop));
  }
  if (!differs) return tree;
  if (node.kind == Kind::Apply) return apply(node.op, node.args, node.type, node.place);
  return make(std::move(node));
}

Tree replace_index(const Tree& tree, int loop, const Tree& by) {
  return rewrite(
      tree, [&](const Tree& node) { return node->kind == Kind::Index && node->id == loop ? by : Tree(); });
}

Tree rename_index(Nest& nest, const Tree& tree, int loop, const Tree& by) {
  return rewrite(tree, [&](const Tree& node) -> Tree {
    if (node->kind == Kind::Index && node->id == loop) return by;
    if (node->kind != Kind::Reduce) return {};
    Node copy = *node;
    for (int& inner : copy.loops) {
      Loop range = nest.loop(inner);
      if (!mentions_loop(nest, range.lo, loop) && !mentions_loop(nest, range.hi, loop)) continue;
      range.lo = rename_index(nest, range.lo, loop, by);
      range.hi = rename_index(nest, range.hi, loop, by);
      const int id = nest.add_loop(std::move(range));
      for (Tree& arg : copy.args)
        if (arg) arg = rename_index(nest, arg, inner, index_of(id, node->place));
      for (int& later : copy.loops)
        if (&later > &inner) {
          // Bounds of further loops of the fold may use this one.
          Loop further = nest.loop(later);
          if (!mentions_loop(nest, further.lo, inner) && !mentions_loop(nest, further.hi, inner)) continue;
          further.lo = replace_index(further.lo, inner, index_of(id, node->place));
          further.hi = replace_index(further.hi, inner, index_of(id, node->place));
          const int renewed = nest.add_loop(std::move(further));
          for (Tree& arg : copy.args)
            if (arg) arg = rename_index(nest, arg, later, index_of(renewed, node->place));
          later = renewed;
        }
      inner = id;
    }
    for (Tree& arg : copy.args)
      if (arg) arg = rename_index(nest, arg, loop, by);
    return make(std::move(copy));
  });
}

// ---- integers -----------------------------------------------------------------------------------

Var var_of_loop(int loop) { return {Var::Kind::Index, loop}; }

Var var_of_param(const Nest& nest, int param) {
  return {nest.params[static_cast<std::size_t>(param)].is_size ? Var::Kind::Size : Var::Kind::Term, param};
}

std::optional<Affine> affine_of(const Nest& nest, const Tree& tree) {
  if (!is_integer(tree->type)) return std::nullopt;
  switch (tree->kind) {
    case Kind::Number:
      if (tree->type == Scalar::U64 && tree->number.as_int() < 0) return std::nullopt;  // 2^63 or more
      return Affine(tree->number.as_int());
    case Kind::Index: return Affine(var_of_loop(tree->id));
    case Kind::Param: return Affine(var_of_param(nest, tree->id));
    case Kind::Cast: return is_exact(tree) ? affine_of(nest, tree->args[0]) : std::nullopt;
    case Kind::Apply: break;
    default: return std::nullopt;
  }
  std::vector<Affine> args;
  for (const Tree& arg : tree->args) {
    const auto affine = affine_of(nest, arg);
    if (!affine) return std::nullopt;
    args.push_back(*affine);
  }
  // These wrap around without a sign.
  if (is_unsigned(tree->type) && (tree->op == "+" || tree->op == "-" || tree->op == "*")) return std::nullopt;
  try {
    if (tree->op == "+") return args[0] + args[1];
    if (tree->op == "-") return args.size() == 1 ? -args[0] : args[0] - args[1];
    if (tree->op == "*" && args[1].is_constant()) return args[0] * args[1].constant();
    if (tree->op == "*" && args[0].is_constant()) return args[1] * args[0].constant();
    if (tree->op == "floor_div" && args[1].is_constant() && args[1].constant() > 0)
      return floor_div(args[0], args[1].constant());
    if (tree->op == "floor_mod" && args[1].is_constant() && args[1].constant() > 0)
      return floor_mod(args[0], args[1].constant());
  } catch (const std::overflow_error&) {}
  return std::nullopt;
}

Tree tree_of(const Nest& nest, const Affine& affine, const Place& place) {
  Tree sum;
  const auto add = [&](const Tree& term, bool minus) {
    if (!sum)
      sum = minus ? apply("-", {term}, Scalar::I64, place) : term;
    else
      sum = apply(minus ? "-" : "+", {sum, term}, Scalar::I64, place);
  };
  const std::int64_t constant = affine.constant();
  // What is added stands before what is taken away.
  const bool leads =
      constant > 0 && std::ranges::all_of(affine.terms(), [](const auto& t) { return t.factor < 0; });
  if (leads) add(integer(constant, place), false);
  for (const bool minus : {false, true})
    for (const auto& term : affine.terms()) {
      const auto* var = std::get_if<Var>(&term.atom);
      if (!var) return nullptr;
      if ((term.factor < 0) != minus) continue;
      const Tree atom = var->kind == Var::Kind::Index
                            ? index_of(var->id, place)
                            : exactly(make({.kind = Kind::Param,
                                            .type = nest.params[static_cast<std::size_t>(var->id)].type,
                                            .place = place,
                                            .id = var->id}),
                                      Scalar::I64);
      const std::int64_t size = minus ? -term.factor : term.factor;
      add(size == 1 ? atom : apply("*", {integer(size, place), atom}, Scalar::I64, place), minus);
    }
  if (!sum) return integer(constant, place);
  if (constant != 0 && !leads) add(integer(constant < 0 ? -constant : constant, place), constant < 0);
  return sum;
}

Tree tidy(const Nest& nest, const Tree& tree) {
  if (tree->type != Scalar::I64 || tree->kind != Kind::Apply) return tree;
  const auto affine = affine_of(nest, tree);
  const Tree result = affine ? tree_of(nest, *affine, tree->place) : Tree();
  return result ? result : tree;
}

Known condition_of(const Nest& nest, const Tree& tree) {
  if (!tree) return {};
  if (tree->kind == Kind::Apply) {
    const auto& a = tree->args;
    if (tree->op == "and") {
      const Known x = condition_of(nest, a[0]), y = condition_of(nest, a[1]);
      return {x.condition && y.condition, x.exact && y.exact};
    }
    if (tree->op == "or") {
      const Known x = condition_of(nest, a[0]), y = condition_of(nest, a[1]);
      return {x.condition || y.condition, x.exact && y.exact};
    }
    if (tree->op == "not") {
      const Known x = condition_of(nest, a[0]);
      if (x.exact) return {!x.condition, true};
      return {{}, false};
    }
    if (is_comparison(tree->op)) {
      const auto x = affine_of(nest, a[0]), y = affine_of(nest, a[1]);
      if (!x || !y) return {{}, false};
      if (tree->op == "<") return {poly::less(*x, *y), true};
      if (tree->op == "<=") return {poly::at_most(*x, *y), true};
      if (tree->op == ">") return {poly::less(*y, *x), true};
      if (tree->op == ">=") return {poly::at_most(*y, *x), true};
      if (tree->op == "==") return {poly::equal(*x, *y), true};
      return {!poly::equal(*x, *y), true};
    }
  }
  return {{}, false};
}

Known range_of(const Nest& nest, int id) {
  const Loop& loop = nest.loop(id);
  const Affine index = var_of_loop(id);
  Known known;
  const std::function<void(const Tree&, bool)> look = [&](const Tree& end, bool lower) {
    if (end->kind == Kind::Apply && end->op == (lower ? "max" : "min")) {
      for (const Tree& part : end->args) look(part, lower);
    } else if (const auto bound = affine_of(nest, end)) {
      known.condition =
          std::move(known.condition) && (lower ? poly::at_most(*bound, index) : poly::less(index, *bound));
    } else {
      known.exact = false;
    }
  };
  look(loop.lo, true);
  look(loop.hi, false);
  return known;
}

// ---- as C ---------------------------------------------------------------------------------------

std::string element_text(const Nest& nest, int array, const std::vector<Tree>& at) {
  std::string text = nest.array(array).name;
  for (const Tree& subscript : at) text += "[" + to_c(nest, subscript) + "]";
  return text;
}

std::string to_c(const Nest& nest, const Tree& tree) {
  if (const auto affine = affine_of(nest, tree))
    return poly::to_string(*affine, [&](Var var) {
      return var.kind == Var::Kind::Index ? nest.loop(var.id).name
                                          : nest.params[static_cast<std::size_t>(var.id)].name;
    });
  switch (tree->kind) {
    case Kind::Read: return element_text(nest, tree->id, tree->args);
    case Kind::Cast: return to_c(nest, tree->args[0]);
    case Kind::Param: return nest.params[static_cast<std::size_t>(tree->id)].name;
    case Kind::Apply:
      if (tree->args.size() == 2 && tree->op.find_first_of("abcdefghijklmnopqrstuvwxyz") == std::string::npos)
        return to_c(nest, tree->args[0]) + " " + tree->op + " " + to_c(nest, tree->args[1]);
      return tree->op + "(…)";
    default: return "…";
  }
}

}  // namespace twill::c
