// Lowering of the text language: lists of values, and choices between collections that generators run over.
// Both are written as comprehensions of one index, which exist already.
#include "program/text_lower.h"

#include <algorithm>

namespace twill::text {

namespace {

AstPtr choice_of(AstPtr condition, AstPtr then, AstPtr otherwise, const Place& place) {
  return node(AstKind::If, "", {std::move(condition), std::move(then), std::move(otherwise)}, place);
}

AstPtr let(const std::string& name, AstPtr value, AstPtr body) {
  const Place place = body->place;
  return node(AstKind::Let, name, {std::move(value), std::move(body)}, place);
}

AstPtr boolean(bool value, const Place& place) {
  Ast ast{.kind = AstKind::Number, .place = place, .number = Number::of(Scalar::Bool, value)};
  return std::make_shared<const Ast>(std::move(ast));
}

/// `if k < 1 then a else if k < 2 then b else c`, for lists of lists by one index for each level.
AstPtr picked(const Ast& list, std::span<const AstPtr> indices) {
  const auto item = [&](std::size_t i) {
    const AstPtr& arg = list.args[i];
    return arg->kind == AstKind::List ? picked(*arg, indices.subspan(1)) : arg;
  };
  AstPtr element = item(list.args.size() - 1);
  for (std::size_t i = list.args.size() - 1; i-- > 0;) {
    const AstPtr end = integer(static_cast<std::int64_t>(i) + 1, list.place);
    element = choice_of(comparison_of(indices[0], "<", end, list.place), item(i), element, list.place);
  }
  return element;
}

Generator range(const std::string& name, AstPtr end, const Place& place) {
  Generator g;
  g.kind = Generator::Kind::Range;
  g.place = place;
  g.name = name;
  g.a = integer(0, place);
  g.b = std::move(end);
  return g;
}

/// A condition, whatever it looks like.
Generator test(AstPtr condition) {
  Generator g;
  g.place = condition->place;
  g.a = choice_of(condition, boolean(true, g.place), boolean(false, g.place), g.place);
  return g;
}

AstPtr collect_of(AstPtr element, std::vector<Generator> generators, const Place& place) {
  Ast all{.kind = AstKind::Collect, .place = place};
  all.args = {std::move(element)};
  all.generators = std::move(generators);
  return std::make_shared<const Ast>(std::move(all));
}

/// A comprehension of one index that counts from zero.
struct Run {
  AstPtr count;
  AstPtr condition;  // or null
  AstPtr element;
};

}  // namespace

std::string unused_name(const Ast& ast, const std::string& wish) {
  std::set<std::string> names;
  add_names(ast, names);
  std::string name = wish;
  for (int n = 2; names.contains(name); ++n) name = wish + "_" + std::to_string(n);
  return name;
}

AstPtr none_of(const AstPtr& collection, const Place& place) {
  Generator g;
  g.kind = Generator::Kind::Element;
  g.place = place;
  g.name = unused_name(*collection, "x");
  g.a = collection;
  return collect_of(node(AstKind::Name, g.name, {}, place), {g, test(boolean(false, place))}, place);
}

bool is_empty_list(const Ast& ast) { return ast.kind == AstKind::List && ast.args.empty(); }

bool Lowering::is_made_here(const Ast& ast) const {
  if (ast.kind == AstKind::If) return is_made_here(*ast.args[1]) && is_made_here(*ast.args[2]);
  return ast.kind == AstKind::List || ast.kind == AstKind::Collect;
}

AstPtr Lowering::as_comprehension(const AstPtr& ast, const Context& context) {
  if (ast->kind == AstKind::Collect) return ast;
  const std::string name = unused_name(*ast, "k");
  const AstPtr k = node(AstKind::Name, name, {}, ast->place);
  if (ast->kind == AstKind::List) {
    if (ast->args.empty())
      error("E0234", ast->place, "nothing tells the type of the elements of an empty list",
            "it may stand on one side of an if: if c then [x] else []");
    for (const AstPtr& item : ast->args)
      if (item->kind == AstKind::List)
        error("E0234", item->place, "the elements of this list are lists",
              "define it in a statement of its own: c = ...");
    const auto count = static_cast<std::int64_t>(ast->args.size());
    return collect_of(picked(*ast, {&k, 1}), {range(name, integer(count, ast->place), ast->place)},
                      ast->place);
  }
  const AstPtr& condition = ast->args[0];
  for (const bool side : {true, false}) {
    if (!is_empty_list(*ast->args[side ? 2 : 1])) continue;
    Ast other = *as_comprehension(ast->args[side ? 1 : 2], context);
    const AstPtr holds = side ? condition : node(AstKind::Unary, "not", {condition}, condition->place);
    other.generators.insert(other.generators.begin(), test(holds));
    return std::make_shared<const Ast>(std::move(other));
  }
  // One index for both sides.
  const auto declares = [&](const Generator& g) {
    const bool names = g.kind == Generator::Kind::Test && g.a->kind == AstKind::Compare &&
                       g.a->words == std::vector<std::string>{"<"} && g.a->args[0]->kind == AstKind::Name;
    return names && !context.scope->find(g.a->args[0]->name);
  };
  const auto run_of = [&](const AstPtr& side) {
    const AstPtr all = as_comprehension(side, context);
    const auto runs = [&](const Generator& g) { return g.kind != Generator::Kind::Test || declares(g); };
    const auto index = std::ranges::find_if(all->generators, runs);
    const bool walks = index != all->generators.end() && std::ranges::count_if(all->generators, runs) == 1 &&
                       (index->kind != Generator::Kind::Element ||
                        (index->parts.empty() && index->a->kind == AstKind::Name));
    if (!walks)
      limit("E0254", all->place, "a side of this choice runs over more than one range or array",
            "define it in a statement of its own: c = ...");
    Run run{{}, {}, all->args[0]};
    std::string inner = index->name;
    AstPtr value = k;
    if (index->kind == Generator::Kind::Range) {
      run.count = node(AstKind::Binary, "-", {index->b, index->a}, index->place);
      value = node(AstKind::Binary, "+", {index->a, k}, index->place);
    } else if (index->kind == Generator::Kind::Element) {
      run.count = node(AstKind::Call, "len", {index->a}, index->place);
      value = node(AstKind::Subscript, "", {index->a, k}, index->place);
    } else {
      inner = index->a->args[0]->name;
      run.count = index->a->args[1];
    }
    for (auto g = all->generators.begin(); g != all->generators.end(); ++g) {
      if (g == index) continue;
      const AstPtr holds = g < index ? g->a : let(inner, value, g->a);
      run.condition = run.condition ? node(AstKind::Binary, "and", {run.condition, holds}, g->place) : holds;
    }
    run.element = let(inner, value, run.element);
    return run;
  };
  const Run then = run_of(ast->args[1]), otherwise = run_of(ast->args[2]);
  const Place& place = ast->place;
  std::vector<Generator> generators = {
      range(name, choice_of(condition, then.count, otherwise.count, place), place)};
  if (then.condition || otherwise.condition) {
    const auto or_true = [&](const AstPtr& c) { return c ? c : boolean(true, place); };
    generators.push_back(
        test(choice_of(condition, or_true(then.condition), or_true(otherwise.condition), place)));
  }
  return collect_of(choice_of(condition, then.element, otherwise.element, place), std::move(generators),
                    place);
}

/// Is it a value that is known now? Only what cannot become a stage is looked at.
bool Lowering::is_literal(const Ast& ast, Context& context) {
  const std::function<bool(const Ast&)> is_plain = [&](const Ast& part) {
    const bool plain = part.kind == AstKind::Number || part.kind == AstKind::Name ||
                       part.kind == AstKind::Unary || part.kind == AstKind::Binary ||
                       part.kind == AstKind::Call || part.kind == AstKind::Limit;
    return plain && std::ranges::all_of(part.args, [&](const AstPtr& arg) { return is_plain(*arg); });
  };
  if (!is_plain(ast)) return false;
  const Value known = value(ast, context);
  return as<Literal>(known.expr) && !known.open;
}

/// `p = [a, b]`: a constant if all of its elements are known, or an array that is computed.
void Lowering::list(const Statement& s, Frame& frame) {
  const Target& target = single_target(s);
  if (target.indexed || !target.into.empty())
    error("E0245", target.place, "a list is a whole array: it has no indices on the left");
  if (!s.where.empty()) error("E0245", s.where[0]->place, "a list has no conditions");
  Context context = context_in(frame, target.name, nullptr);
  const std::function<bool(const Ast&)> is_constant = [&](const Ast& ast) {
    if (ast.kind != AstKind::List) return is_literal(ast, context);
    return std::ranges::all_of(ast.args, [&](const AstPtr& arg) { return is_constant(*arg); });
  };
  if (is_constant(*s.value)) return constant(target, *s.value, frame);
  Statement all = s;
  Target& whole = all.targets.front();
  whole.indexed = true;
  std::vector<AstPtr> indices;
  const std::string base = unused_name(*s.value, "k");
  for (const Ast* row = s.value.get(); row->kind == AstKind::List; row = row->args[0].get()) {
    const std::string name = indices.empty() ? base : base + std::to_string(indices.size());
    indices.push_back(node(AstKind::Name, name, {}, row->place));
    whole.indices.push_back(
        range(name, integer(static_cast<std::int64_t>(row->args.size()), row->place), row->place));
    if (row->args.empty()) break;
  }
  const std::function<void(const Ast&, std::size_t)> check = [&](const Ast& ast, std::size_t depth) {
    const bool is_row = depth < indices.size();
    const auto extent = is_row ? static_cast<std::size_t>(whole.indices[depth].b->number.i) : 0;
    if (is_row != (ast.kind == AstKind::List) || (is_row && ast.args.size() != extent))
      error("E0242", ast.place, "the rows of a list have different lengths");
    if (is_row)
      for (const AstPtr& arg : ast.args) check(*arg, depth + 1);
  };
  check(*s.value, 0);
  all.value = picked(*s.value, indices);
  formula(all, frame);
}

}  // namespace twill::text
