// Dependences between the statements of a loop nest, by integer sets.
#include "import/c_depend.h"

#include <algorithm>

namespace twill::c {

using poly::Affine;
using poly::Answer;
using poly::Condition;
using poly::Var;

namespace {

constexpr int other_point = 1 << 20;

void collect(const std::vector<Item>& items, std::vector<int>& loops, std::vector<Statement>& found) {
  for (const Item& item : items) {
    if (const auto* assign = std::get_if<Assign>(&item)) {
      found.push_back({loops, *assign});
      continue;
    }
    const For& inner = *std::get<std::shared_ptr<For>>(item);
    loops.push_back(inner.loop);
    collect(inner.body, loops, found);
    loops.pop_back();
  }
}

}  // namespace

std::vector<Statement> statements_of(const Nest& nest) {
  std::vector<Statement> found;
  std::vector<int> loops;
  collect(nest.items, loops, found);
  return found;
}

void each_read(const Nest& nest, const Tree& tree, const Condition& path,
               const std::function<void(const Tree&, const Condition&)>& action) {
  if (!tree) return;
  if (tree->kind == Kind::Read) action(tree, path);
  if (tree->kind == Kind::Choose || (tree->kind == Kind::Apply && (tree->op == "and" || tree->op == "or"))) {
    const Known known = condition_of(nest, tree->args[0]);
    const Condition fails = known.exact ? !known.condition : Condition();
    each_read(nest, tree->args[0], path, action);
    if (tree->kind == Kind::Choose) {
      each_read(nest, tree->args[1], path && known.condition, action);
      each_read(nest, tree->args[2], path && fails, action);
    } else {
      each_read(nest, tree->args[1], path && (tree->op == "and" ? known.condition : fails), action);
    }
    return;
  }
  if (tree->kind == Kind::Reduce) {
    Condition inner = path;
    for (const int loop : tree->loops) {
      each_read(nest, nest.loop(loop).lo, inner, action);
      each_read(nest, nest.loop(loop).hi, inner, action);
      inner = std::move(inner) && range_of(nest, loop).condition;
    }
    each_read(nest, tree->args[0], inner, action);
    each_read(nest, tree->args[1], inner && condition_of(nest, tree->args[0]).condition, action);
    return;
  }
  for (const Tree& arg : tree->args) each_read(nest, arg, path, action);
  if (tree->loop) {
    for (const Tree& part : tree->loop->first) each_read(nest, part, path, action);
    for (const Tree& part : tree->loop->next) each_read(nest, part, path, action);
    each_read(nest, tree->loop->condition, path, action);
  }
}

void each_read(const Nest& nest, const Assign& assign, const Condition& path,
               const std::function<void(const Tree&, const Condition&)>& action) {
  each_read(nest, assign.guard, path, action);
  const Condition inside = path && condition_of(nest, assign.guard).condition;
  each_read(nest, assign.value, inside, action);
  for (const Tree& at : assign.at) each_read(nest, at, inside, action);
}

std::set<int> arrays_read(const Nest& nest, const Assign& assign) {
  std::set<int> found;
  each_read(nest, assign, {}, [&](const Tree& read, const Condition&) { found.insert(read->id); });
  return found;
}

std::set<int> arrays_read(const Nest& nest, const std::vector<Item>& items) {
  std::set<int> found;
  for (const Item& item : items) {
    if (const auto* inner = std::get_if<std::shared_ptr<For>>(&item)) {
      found.merge(arrays_read(nest, (*inner)->body));
      for (const Tree& end : {nest.loop((*inner)->loop).lo, nest.loop((*inner)->loop).hi})
        visit(nest, end, [&](const Tree& node) {
          if (node->kind == Kind::Read) found.insert(node->id);
        });
    } else {
      found.merge(arrays_read(nest, std::get<Assign>(item)));
    }
  }
  return found;
}

void written_arrays(const std::vector<Item>& items, std::set<int>& written) {
  for (const Item& item : items)
    if (const auto* inner = std::get_if<std::shared_ptr<For>>(&item))
      written_arrays((*inner)->body, written);
    else
      written.insert(std::get<Assign>(item).array);
}

// ---- accumulation -------------------------------------------------------------------------------

namespace {

struct Term {
  Tree tree;
  bool minus = false;
};

void terms_of(const Tree& tree, bool minus, std::vector<Term>& terms) {
  if (tree->kind == Kind::Apply && tree->args.size() == 2 && (tree->op == "+" || tree->op == "-")) {
    terms_of(tree->args[0], minus, terms);
    terms_of(tree->args[1], minus != (tree->op == "-"), terms);
  } else {
    terms.push_back({tree, minus});
  }
}

void operands_of(const Tree& tree, const std::string& op, std::vector<Tree>& operands) {
  if (tree->kind == Kind::Apply && tree->op == op && tree->args.size() == 2) {
    operands_of(tree->args[0], op, operands);
    operands_of(tree->args[1], op, operands);
  } else {
    operands.push_back(tree);
  }
}

/// What a value does to the element that it is stored in.
class Accumulating {
 public:
  Accumulating(const Nest& nest, const Assign& assign) : nest_(nest), assign_(assign) {}

  std::optional<Accumulation> of(const Tree& value) const {
    if (value->kind == Kind::Choose) return of_choice(value);
    if (value->kind != Kind::Apply || value->args.size() != 2) return std::nullopt;
    return value->op == "+" || value->op == "-" ? of_sum(value) : of_operator(value);
  }

 private:
  bool is_old(const Tree& tree) const {
    return tree->kind == Kind::Read && tree->id == assign_.array && same(tree->args, assign_.at);
  }
  bool has_old(const Tree& tree) const {
    bool found = false;
    visit(nest_, tree, [&](const Tree& node) { found = found || is_old(node); });
    return found;
  }

  std::optional<Accumulation> of_sum(const Tree& value) const {
    Accumulation result{"+", {}, false};
    std::vector<Term> terms;
    terms_of(value, false, terms);
    const auto old = std::ranges::find_if(terms, [&](const Term& t) { return is_old(t.tree) && !t.minus; });
    if (old == terms.end()) return std::nullopt;
    terms.erase(old);
    if (std::ranges::any_of(terms, [&](const Term& t) { return has_old(t.tree); })) return std::nullopt;
    result.minus = std::ranges::all_of(terms, [](const Term& t) { return t.minus; });
    const auto first = std::ranges::find_if(terms, [&](const Term& t) { return t.minus == result.minus; });
    result.value = first->tree;
    for (auto term = terms.begin(); term != terms.end(); ++term)
      if (term != first)
        result.value = apply(term->minus == result.minus ? "+" : "-", {result.value, term->tree}, value->type,
                             value->place);
    return result;
  }

  std::optional<Accumulation> of_operator(const Tree& value) const {
    static const char* const known[] = {"*", "min", "max", "bit_and", "bit_or", "xor"};
    if (std::ranges::find(known, value->op) == std::end(known)) return std::nullopt;
    std::vector<Tree> operands;
    operands_of(value, value->op, operands);
    const auto old = std::ranges::find_if(operands, [&](const Tree& t) { return is_old(t); });
    if (old == operands.end()) return std::nullopt;
    operands.erase(old);
    if (std::ranges::any_of(operands, [&](const Tree& t) { return has_old(t); })) return std::nullopt;
    Accumulation result{value->op, operands[0], false};
    for (std::size_t k = 1; k < operands.size(); ++k)
      result.value = apply(value->op, {result.value, operands[k]}, value->type, value->place);
    return result;
  }

  /// Either way accumulates with the same operator, or leaves the element as it is.
  std::optional<Accumulation> of_choice(const Tree& value) const {
    if (has_old(value->args[0])) return std::nullopt;
    std::optional<Accumulation> sides[2];
    std::string op;
    for (std::size_t k = 0; k < 2; ++k) {
      if (is_old(value->args[k + 1])) continue;
      sides[k] = of(value->args[k + 1]);
      if (!sides[k] || (!op.empty() && op != sides[k]->op)) return std::nullopt;
      op = sides[k]->op;
    }
    if (op.empty()) return std::nullopt;
    const bool minus = (!sides[0] || sides[0]->minus) && (!sides[1] || sides[1]->minus);
    Tree parts[2];
    for (std::size_t k = 0; k < 2; ++k) {
      if (!sides[k] && op != "+" && op != "*") return std::nullopt;
      parts[k] = sides[k]
                     ? sides[k]->value
                     : number(convert(Number::of(Scalar::I64, op == "*" ? 1 : 0), value->type), value->place);
      if (sides[k] && sides[k]->minus && !minus) parts[k] = apply("-", {parts[k]}, value->type, value->place);
    }
    return Accumulation{op, choose(value->args[0], parts[0], parts[1]), minus};
  }

  const Nest& nest_;
  const Assign& assign_;
};

}  // namespace

std::optional<Accumulation> accumulation_of(const Nest& nest, const Assign& assign) {
  return Accumulating(nest, assign).of(assign.value);
}

// ---- questions ----------------------------------------------------------------------------------

bool Questions::is_possible(const Condition& condition) const {
  std::vector<Var> tuple;
  Condition all = condition;
  for (const Var var : condition.variables()) {
    if (var.kind == Var::Kind::Size)
      all = std::move(all) && poly::at_most(0, var);
    else if (var.kind != Var::Kind::Term)
      tuple.push_back(var);
  }
  return poly::Set(context_, tuple, all).is_empty() != Answer::Yes;
}

Condition Questions::same_element(const std::vector<Tree>& a, const std::vector<Tree>& b) const {
  Condition all;
  for (std::size_t k = 0; k < a.size() && k < b.size(); ++k) {
    const auto x = affine_of(nest_, a[k]), y = affine_of(nest_, b[k]);
    if (x && y) all = std::move(all) && poly::equal(*x, *y);
  }
  return all;
}

Condition Questions::domain(const Statement& statement) const {
  Condition all;
  for (const int loop : statement.loops) all = std::move(all) && range_of(nest_, loop).condition;
  return std::move(all) && condition_of(nest_, statement.assign.guard).condition;
}

Condition Questions::elsewhere(const Condition& condition) const {
  Condition moved = condition;
  for (const Var var : condition.variables())
    if (var.kind == Var::Kind::Index)
      moved = substitute(moved, var, Var{Var::Kind::Index, var.id + other_point});
  return moved;
}

Affine Questions::elsewhere(const Affine& affine) const {
  Affine moved = affine;
  for (const Var var : affine.variables())
    if (var.kind == Var::Kind::Index)
      moved = moved.substitute(var, Var{Var::Kind::Index, var.id + other_point});
  return moved;
}

int common_depth(const Statement& a, const Statement& b) {
  std::size_t depth = 0;
  while (depth < a.loops.size() && depth < b.loops.size() && a.loops[depth] == b.loops[depth]) ++depth;
  return static_cast<int>(depth);
}

Dependence Questions::dependence(const std::vector<Statement>& all, int earlier, int later, bool accumulates,
                                 const std::set<int>& ignored) const {
  const Statement& from = all[static_cast<std::size_t>(earlier)];
  const Statement& to = all[static_cast<std::size_t>(later)];
  const int depth = common_depth(from, to);
  struct Access {
    const std::vector<Tree>* at;
    int array;
    Condition path;
    bool accumulator = false;
  };
  const auto accesses_of = [&](const Statement& s, std::vector<Access>& reads) {
    const Condition points = domain(s);
    const auto is_old = [&](const Tree& read) {
      return accumulates && read->id == s.assign.array && same(read->args, s.assign.at);
    };
    const auto note = [&](const Tree& read, const Condition& path) {
      reads.push_back({&read->args, read->id, path});
    };
    // The value accumulates; a condition that looks at what has been accumulated so far does not.
    each_read(nest_, s.assign.value, points, [&](const Tree& read, const Condition& path) {
      reads.push_back({&read->args, read->id, path, is_old(read)});
    });
    each_read(nest_, s.assign.guard, points, note);
    for (const Tree& at : s.assign.at) each_read(nest_, at, points, note);
    Condition before;
    for (const int loop : s.loops) {
      each_read(nest_, nest_.loop(loop).lo, before, note);
      each_read(nest_, nest_.loop(loop).hi, before, note);
      before = std::move(before) && range_of(nest_, loop).condition;
    }
    return Access{&s.assign.at, s.assign.array, points, accumulates};
  };
  std::vector<Access> from_reads, to_reads;
  const Access from_write = accesses_of(from, from_reads), to_write = accesses_of(to, to_reads);
  Dependence result;
  const auto compare = [&](const Access& a, const Access& b, std::set<int>& levels) {
    if (a.array != b.array || ignored.contains(a.array) || (a.accumulator && b.accumulator)) return;
    // The loops of `from` keep their names; those of `to` are renamed.
    Condition meet = a.path && elsewhere(b.path);
    for (std::size_t k = 0; k < a.at->size() && k < b.at->size(); ++k) {
      const auto x = affine_of(nest_, (*a.at)[k]), y = affine_of(nest_, (*b.at)[k]);
      if (x && y) meet = std::move(meet) && poly::equal(*x, elsewhere(*y));
    }
    Condition outer_same;
    for (int level = 0; level <= depth; ++level) {
      const int key = level == depth ? Dependence::independent : level;
      if (level == depth && earlier >= later) break;
      const Affine x =
          level < depth ? Affine(var_of_loop(from.loops[static_cast<std::size_t>(level)])) : Affine(0);
      const Affine y = level < depth ? elsewhere(x) : Affine(1);
      if (!levels.contains(key) && is_possible(meet && outer_same && poly::less(x, y))) levels.insert(key);
      if (level < depth) outer_same = std::move(outer_same) && poly::equal(x, y);
    }
  };
  compare(from_write, to_write, result.output);
  for (const Access& read : to_reads) compare(from_write, read, result.flow);
  for (const Access& read : from_reads) compare(read, to_write, result.anti);
  return result;
}

bool Questions::writes_all(const Statement& statement, std::size_t depth, const Condition& outer) const {
  const Array& array = nest_.array(statement.assign.array);
  if (!condition_of(nest_, statement.assign.guard).exact) return false;
  Condition box = outer, image = outer;
  std::vector<Var> elements, tuple, hidden;
  for (std::size_t d = 0; d < statement.loops.size(); ++d) {
    const Known range = range_of(nest_, statement.loops[d]);
    if (!range.exact) return false;
    image = std::move(image) && range.condition;
    if (d < depth) box = std::move(box) && range.condition;
    if (d >= depth) hidden.push_back(var_of_loop(statement.loops[d]));
  }
  image = std::move(image) && condition_of(nest_, statement.assign.guard).condition;
  for (std::size_t k = 0; k < statement.assign.at.size(); ++k) {
    const auto at = affine_of(nest_, statement.assign.at[k]), extent = affine_of(nest_, array.shape[k]);
    if (!at || !extent) return false;
    elements.push_back({Var::Kind::Element, static_cast<int>(k)});
    image = std::move(image) && poly::equal(elements.back(), *at);
    box = std::move(box) && poly::between(0, elements.back(), *extent);
  }
  for (const Condition* side : {&box, &image})
    for (const Var var : side->variables())
      if (var.kind == Var::Kind::Size) box = std::move(box) && poly::at_most(0, var);
  tuple = elements;
  tuple.insert(tuple.end(), hidden.begin(), hidden.end());
  const poly::Set written = poly::Set(context_, tuple, image).project_out(hidden);
  return poly::Set(context_, elements, box).is_subset_of(written) == Answer::Yes;
}

}  // namespace twill::c
