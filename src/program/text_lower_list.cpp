// Lowering of the text language: lists of values, and choices between a collection that generators run over
// and nothing. Both are written as comprehensions, which exist already.
#include "program/text_lower.h"

#include <algorithm>

namespace twill::text {

namespace {

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

}  // namespace

std::string unused_name(const std::set<std::string>& names, const std::string& wish) {
  std::string name = wish;
  for (int n = 2; names.contains(name); ++n) name = wish + "_" + std::to_string(n);
  return name;
}

std::string unused_name(const Ast& ast, const std::string& wish) {
  std::set<std::string> names;
  add_names(ast, names);
  return unused_name(names, wish);
}

AstPtr none_of(const AstPtr& collection, const Place& place) {
  Generator g;
  g.kind = Generator::Kind::Element;
  g.place = place;
  g.name = unused_name(*collection, "x");
  g.a = collection;
  return collect_of(node(AstKind::Name, g.name, {}, place), {g, test_of(boolean(false, place))}, place);
}

bool is_empty_list(const Ast& ast) { return ast.kind == AstKind::List && ast.args.empty(); }

bool Lowering::is_made_here(const Ast& ast) const {
  if (ast.kind == AstKind::If) return is_made_here(*ast.args[1]) && is_made_here(*ast.args[2]);
  return ast.kind == AstKind::List || ast.kind == AstKind::Collect;
}

AstPtr Lowering::as_comprehension(const AstPtr& ast, const Context& context,
                                  const std::set<std::string>& bound) {
  if (ast->kind == AstKind::Collect) return ast;
  if (ast->kind == AstKind::List) {
    const std::string name = unused_name(*ast, "k");
    const AstPtr k = node(AstKind::Name, name, {}, ast->place);
    if (ast->args.empty())
      error("E0234", ast->place, "nothing tells the type of the elements of an empty list",
            "it may stand on one side of an if: if c then [x] else []");
    for (const AstPtr& item : ast->args)
      if (item->kind == AstKind::List)
        error("E0234", item->place, "the elements of this list are lists",
              "define it in a statement of its own: c = ...");
    const auto count = static_cast<std::int64_t>(ast->args.size());
    return collect_of(picked(*ast, {&k, 1}), {counting(name, integer(count, ast->place), ast->place)},
                      ast->place);
  }
  const AstPtr& condition = ast->args[0];
  for (const bool side : {true, false}) {
    if (!is_empty_list(*ast->args[side ? 2 : 1])) continue;
    Ast other = *as_comprehension(ast->args[side ? 1 : 2], context, bound);
    const AstPtr holds = side ? condition : node(AstKind::Unary, "not", {condition}, condition->place);
    other.generators.insert(other.generators.begin(), test_of(holds));
    return std::make_shared<const Ast>(std::move(other));
  }
  return sides_as_one(*ast, context, bound);
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
        counting(name, integer(static_cast<std::int64_t>(row->args.size()), row->place), row->place));
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
