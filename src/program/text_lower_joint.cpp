// Lowering of the text language: generators over several arrays at once, and over parts of elements.
#include "program/text_lower.h"

#include <algorithm>

namespace twill::text {

namespace {

/// `[ if k < len(a) then a[k] else b[k - len(a)] | k < len(a) + len(b) ]`.
AstPtr one_after_the_other(const Ast& concat) {
  const Place& place = concat.place;
  const std::string name = unused_name(concat, "k");
  const AstPtr k = node(AstKind::Name, name, {}, place);
  std::vector<AstPtr> ends, elements;
  for (const AstPtr& array : concat.args) {
    const AstPtr length = node(AstKind::Call, "len", {array}, array->place);
    const AstPtr at = ends.empty() ? k : node(AstKind::Binary, "-", {k, ends.back()}, place);
    elements.push_back(node(AstKind::Subscript, "", {array, at}, array->place));
    ends.push_back(ends.empty() ? length : node(AstKind::Binary, "+", {ends.back(), length}, place));
  }
  AstPtr element = elements.back();
  for (std::size_t i = elements.size() - 1; i-- > 0;)
    element = node(AstKind::If, "", {comparison_of(k, "<", ends[i], place), elements[i], element}, place);
  Ast all{.kind = AstKind::Collect, .place = place, .args = {element}};
  Generator g;
  g.kind = Generator::Kind::Range;
  g.place = place;
  g.name = name;
  g.a = integer(0, place);
  g.b = ends.back();
  all.generators.push_back(std::move(g));
  return std::make_shared<const Ast>(std::move(all));
}

}  // namespace

bool Lowering::is_joint(const Ast& ast) const {
  return ast.kind == AstKind::Call && (ast.name == "zip" || ast.name == "concat") &&
         !vocabulary_.function_names.contains(ast.name) && !vocabulary_.definitions.contains(ast.name) &&
         !vocabulary_.later.contains(ast.name);
}

void Lowering::declare_joint(const Generator& g, const std::vector<Generator>& all, Context& context,
                             std::vector<Dim>& dims, std::vector<Expr>& conditions) {
  if (g.a->args.empty())
    error("E0234", g.a->place, "'" + g.a->name + "' joins arrays or collections, and there are none",
          "write " + g.a->name + "(a, b)");
  for (const AstPtr& arg : g.a->args) {
    if (arg->kind == AstKind::Name && !context.scope->find(arg->name)) unknown_name(*arg, context);
    if (arg->kind == AstKind::Collect || arg->kind == AstKind::List || is_joint(*arg))
      error("E0234", arg->place, "'" + g.a->name + "' joins arrays and collections that have names",
            "define it in a statement of its own: c = ...");
    const Collection* nested = collection(*arg, context);
    if (nested && nested->offsets)
      limit("E0254", arg->place, "'" + g.a->name + "' of the rows of a nested collection is not supported",
            "use an index: c[r]");
    const std::optional<View> array = view(*arg, context);
    const std::size_t rank =
        array ? program_[array->array].shape.size() - array->prefix.size() : std::size_t{0};
    if (rank == 0)
      error("E0234", arg->place, "'" + g.a->name + "' joins arrays and collections",
            "each of them has a length");
    if (rank > 1 && (g.a->name == "concat" || g.parts.empty()))
      error("E0234", arg->place, "the elements of this array are rows",
            g.a->name == "zip" ? "give them names of their own: (r, s) in zip(a, b)"
                               : "'concat' joins arrays of one dimension");
  }
  for (std::size_t p = 0; p < g.parts.size(); ++p) {
    if (std::find(g.parts.begin(), g.parts.begin() + static_cast<std::ptrdiff_t>(p), g.parts[p]) !=
        g.parts.begin() + static_cast<std::ptrdiff_t>(p))
      error("E0203", g.place, "'" + g.parts[p] + "' stands twice in '" + g.name + "'",
            "each part has a name of its own");
  }
  if (g.a->name == "zip") return declare_zip(g, context, dims, conditions);
  Generator joined = g;
  joined.a = one_after_the_other(*g.a);
  declare_inner(joined, all, context, dims, conditions);
  declare_parts(g, context);
}

/// One index for all of them, as far as the shortest one goes.
void Lowering::declare_zip(const Generator& g, Context& context, std::vector<Dim>& dims,
                           const std::vector<Expr>& conditions) {
  const std::vector<AstPtr>& args = g.a->args;
  if (!g.parts.empty() && g.parts.size() != args.size())
    error("E0269", g.place,
          "'" + g.name + "' names " + std::to_string(g.parts.size()) + " elements, and 'zip' joins " +
              std::to_string(args.size()) + " arrays",
          "there is one name for each of them");
  Dim dim;
  dim.id = add_index(g.index_name(), g.place, *context.scope);
  dim.name = g.index_name();
  dim.place = g.place;
  dim.lo = pool_.integer(0);
  const Expr index = pool_.index(dim.id, g.place);
  std::vector<View> elements;
  std::vector<Expr> lengths;
  for (const AstPtr& arg : args) {
    std::optional<View> array = view(*arg, context);
    const Expr length = array->base ? array->length : extent(*array, 0);
    if (std::ranges::find(lengths, length) == lengths.end()) lengths.push_back(length);
    array->prefix.push_back(array->base ? pool_.apply(Prim::Add, {array->base, index}) : index);
    array->base = array->length = {};
    elements.push_back(std::move(*array));
  }
  for (const Expr length : lengths) dim.hi = dim.hi ? pool_.apply(Prim::Min, {dim.hi, length}) : length;
  guard_bounds(dim, conditions);
  dims.push_back(dim);
  context.dims.push_back(std::move(dim));
  if (!g.parts.empty()) {
    for (std::size_t p = 0; p < elements.size(); ++p) context.scope->names[g.parts[p]] = elements[p];
    return;
  }
  std::vector<AstPtr> all;
  for (std::size_t p = 0; p < elements.size(); ++p) {
    const std::string hidden = g.name + "." + std::to_string(p);
    context.scope->names[hidden] = elements[p];
    all.push_back(node(AstKind::Name, hidden, {}, args[p]->place));
  }
  const AstPtr tuple = node(AstKind::Tuple, "", std::move(all), g.place);
  context.scope->names[g.name] = guarded_value(*tuple, conditions, context, nullptr);
}

/// `(x, y) in xs`: names for the parts of the element.
void Lowering::declare_parts(const Generator& g, Context& context) {
  if (g.parts.empty()) return;
  const AstPtr whole = node(AstKind::Name, g.name, {}, g.place);
  const Type type = value(*whole, context).expr->type;
  const bool is_tuple =
      !type.is_scalar() && type.record().name.empty() && type.record().fields.size() == g.parts.size();
  if (!is_tuple)
    error("E0269", g.place,
          "'" + g.name + "' names the parts of a tuple, and the elements are '" + to_string(type) + "'",
          "give the element one name: x in xs");
  for (std::size_t p = 0; p < g.parts.size(); ++p)
    context.scope->names[g.parts[p]] =
        value(*node(AstKind::Field, std::to_string(p), {whole}, g.place), context);
}

/// `c = concat(a, b)` and `c = zip(a, b)` collect all elements.
void Lowering::collect_joint(const Statement& s, Frame& frame) {
  if (const Target& target = s.targets.front(); target.indexed)
    error("E0202", s.value->place, "'" + s.value->name + "' is a whole collection",
          "write " + target.name + " = " + s.value->name + "(...)");
  Statement all = s;
  Ast collected{.kind = AstKind::Collect, .place = s.value->place};
  Generator g;
  g.kind = Generator::Kind::Element;
  g.place = s.value->place;
  g.name = unused_name(*s.value, "x");
  g.a = s.value;
  collected.args = {node(AstKind::Name, g.name, {}, s.value->place)};
  collected.generators = {std::move(g)};
  all.value = std::make_shared<const Ast>(std::move(collected));
  collect(all, frame);
}

}  // namespace twill::text
