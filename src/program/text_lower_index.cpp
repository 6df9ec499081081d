// Lowering of the text language: indices, their ranges, and the generators of folds and comprehensions.
#include "program/text_lower.h"

#include <algorithm>

namespace twill::text {
namespace {

bool ascending(const std::string& op) { return op == "<" || op == "<="; }
bool descending(const std::string& op) { return op == ">" || op == ">="; }
bool strict(const std::string& op) { return op == "<" || op == ">"; }

/// Does the generator give the name to an element, or to a part of one?
bool binds(const Generator& g, const std::string& name) {
  return g.name == name || std::ranges::find(g.parts, name) != g.parts.end();
}

bool same(const AstPtr& a, const AstPtr& b);

/// Do both run over the same, and call it the same?
bool same(const Generator& a, const Generator& b) {
  return a.kind == b.kind && a.name == b.name && same(a.a, b.a) && same(a.b, b.b);
}

bool same(const AstPtr& a, const AstPtr& b) {
  if (!a || !b) return !a && !b;
  const auto equal = [](const auto& x, const auto& y) { return same(x, y); };
  return a->kind == b->kind && a->name == b->name && a->op == b->op && a->words == b->words &&
         a->number == b->number && std::ranges::equal(a->args, b->args, equal) &&
         std::ranges::equal(a->generators, b->generators, equal);
}

/// Is the name an index, or a local name, somewhere in the expression?
bool declares_index(const Ast& ast, const std::string& name) {
  const auto here = [&](const Generator& g) {
    if (g.kind != Generator::Kind::Test) return binds(g, name);
    return as_index(g.a, [&](const std::string& word) { return word == name; }).has_value();
  };
  return (ast.kind == AstKind::Let && ast.name == name) ||
         std::any_of(ast.generators.begin(), ast.generators.end(), here) ||
         std::any_of(ast.generators.begin(), ast.generators.end(),
                     [&](const Generator& g) {
                       return (g.a && declares_index(*g.a, name)) || (g.b && declares_index(*g.b, name));
                     }) ||
         std::any_of(ast.args.begin(), ast.args.end(),
                     [&](const AstPtr& arg) { return declares_index(*arg, name); });
}

/// … or of the statement?
bool declares_index(const Statement& s, const std::string& name) {
  Ast all{.kind = AstKind::Tuple};
  if (s.value) all.args.push_back(s.value);
  all.args.insert(all.args.end(), s.where.begin(), s.where.end());
  all.generators = s.generators;
  for (const Target& target : s.targets)
    all.generators.insert(all.generators.end(), target.indices.begin(), target.indices.end());
  for (const PrintAst& print : s.prints)
    for (const Argument& argument : print.arguments)
      if (argument.value) all.args.push_back(argument.value);
  return declares_index(all, name);
}

/// Does the generator declare another index of this name? A comparison with an index that exists is a
/// condition.
bool declares(const Generator& generator, const std::string& name) {
  if (generator.kind != Generator::Kind::Test) return binds(generator, name);
  return generator.a->kind == AstKind::Name && generator.a->name == name;
}

}  // namespace

std::optional<DeclaredIndex> as_index(const AstPtr& ast,
                                      const std::function<bool(const std::string&)>& is_new) {
  const auto fresh = [&](std::size_t i) {
    return ast->args[i]->kind == AstKind::Name && is_new(ast->args[i]->name);
  };
  if (ast->kind == AstKind::Name)
    return is_new(ast->name) ? std::optional(DeclaredIndex{ast->name, {}}) : std::nullopt;
  if (ast->kind != AstKind::Compare) return std::nullopt;
  DeclaredIndex index;
  const auto add = [&](const AstPtr& other, const std::string& op, bool index_first) {
    const bool upper = ascending(op) == index_first;
    (upper ? index.bounds.hi : index.bounds.lo).push_back({other, strict(op)});
  };
  const auto orders = [](const std::string& op) { return ascending(op) || descending(op); };
  if (ast->args.size() == 2 && orders(ast->words[0])) {
    const std::size_t position = fresh(0) ? 0 : fresh(1) ? 1 : 2;
    if (position == 2) return std::nullopt;
    index.name = ast->args[position]->name;
    add(ast->args[1 - position], ast->words[0], position == 0);
    return index;
  }
  if (ast->args.size() != 3 || !fresh(1)) return std::nullopt;
  const bool up = ascending(ast->words[0]) && ascending(ast->words[1]);
  const bool down = descending(ast->words[0]) && descending(ast->words[1]);
  if (!up && !down) return std::nullopt;
  index.name = ast->args[1]->name;
  add(ast->args[0], ast->words[0], false);
  add(ast->args[2], ast->words[1], true);
  return index;
}

/// How often an index occurs in a sum, and whether only with factor 1.
namespace {

bool is_shifted(const Ast& ast, const std::string& index, bool positive, int& uses) {
  if (ast.kind == AstKind::Name && ast.name == index) {
    ++uses;
    return positive;
  }
  if (ast.kind == AstKind::Binary && (ast.name == "+" || ast.name == "-"))
    return is_shifted(*ast.args[0], index, positive, uses) &&
           is_shifted(*ast.args[1], index, positive == (ast.name == "+"), uses);
  const auto free = [&](const Ast& a, const auto& self) -> bool {
    if (a.kind == AstKind::Name && a.name == index) return false;
    return std::all_of(a.args.begin(), a.args.end(), [&](const AstPtr& arg) { return self(*arg, self); });
  };
  return free(ast, free);
}

bool is_boundary(const Ast& ast) {
  return ast.kind == AstKind::Call && !ast.args.empty() &&
         (ast.name == "clamp" || ast.name == "mirror" || ast.name == "wrap" || ast.name == "pad");
}

/// The constant c of `i + c`; nothing for another expression.
std::optional<std::int64_t> shift_of(const Ast& ast, const std::string& index) {
  if (ast.kind == AstKind::Name && ast.name == index) return 0;
  if (ast.kind != AstKind::Binary || ast.name != "+") return std::nullopt;
  for (const int side : {0, 1}) {
    const Ast &a = *ast.args[static_cast<std::size_t>(side)],
              &b = *ast.args[static_cast<std::size_t>(1 - side)];
    if (a.kind == AstKind::Name && a.name == index && b.kind == AstKind::Number && is_integer(b.number.type))
      return b.number.i;
  }
  return std::nullopt;
}

}  // namespace

/// Calls `found` for every subscript of an array in which the index occurs, in order of the text.
void Lowering::for_each_walk(const std::string& index, const Ast& ast, Context& context,
                             const std::function<void(const Walk&)>& found) {
  if (ast.kind == AstKind::Let && ast.name == index)
    return for_each_walk(index, *ast.args[0], context, found);
  for (const Generator& g : ast.generators)
    if (declares(g, index)) return;
  for (std::size_t i = 0; i < ast.args.size(); ++i) {
    const Ast& arg = *ast.args[i];
    if (ast.kind == AstKind::Subscript && i > 0) {
      int uses = 0;
      const bool ruled = is_boundary(arg);
      const std::optional<std::int64_t> shift = ruled ? std::nullopt : shift_of(arg, index);
      const bool shifted = ruled && is_shifted(*arg.args[0], index, true, uses) && uses == 1;
      if (shift || shifted) try {
          const std::size_t dimension = i - 1;
          const Ast& base = *ast.args[0];
          const Collection* c = collection(base, context);
          const Binding* binding =
              base.kind == AstKind::Name ? context.scope->find_array(base.name) : nullptr;
          const auto* own = binding ? std::get_if<OwnBinding>(binding) : nullptr;
          if (own && dimension < program_[own->array].shape.size()) {
            found({own->array, dimension, program_[own->array].shape[dimension], shift});
          } else if (c && c->offsets) {
            const Expr rows = c->keys                      ? program_[*c->keys].shape[0]
                              : dimension < c->rows.size() ? c->rows[dimension]
                                                           : Expr{};
            if (rows) found({c->values, dimension, rows, shift});
          } else if (const std::optional<View> array = view(base, context);
                     array && dimension < program_[array->array].shape.size() - array->prefix.size()) {
            found({array->array, array->prefix.size() + dimension,
                   extent(*array, static_cast<int>(dimension)), shift});
          }
        } catch (const Error&) {}  // what is wrong with it is said when it is lowered
    }
    for_each_walk(index, arg, context, found);
  }
  for (const Generator& g : ast.generators)
    for (const AstPtr& part : {g.a, g.b})
      if (part) for_each_walk(index, *part, context, found);
}

/// The range of an index that the arrays it walks give: the extent of the first dimension that it alone
/// subscripts (less 1 if that is `R + 1` and `i + 1` subscripts it as well), or else of the first that it
/// subscripts with a boundary rule. Null if there is none.
Expr Lowering::walked_extent(const std::string& index, const std::vector<AstPtr>& walked, Context& context) {
  std::vector<Walk> walks;
  for (const AstPtr& ast : walked)
    for_each_walk(index, *ast, context, [&](const Walk& walk) { walks.push_back(walk); });
  return range_of(pool_, walks);
}

Expr range_of(ExprPool& pool, const std::vector<Walk>& walks) {
  const auto first =
      std::find_if(walks.begin(), walks.end(), [](const Walk& w) { return w.shift && *w.shift == 0; });
  if (first != walks.end()) {
    std::int64_t most = 0;
    for (const Walk& w : walks)
      if (w.array == first->array && w.dimension == first->dimension && w.shift)
        most = std::max(most, *w.shift);
    const auto* sum = as<Apply>(first->extent);
    const auto* more = sum && sum->prim == Prim::Add ? as<Literal>(first->extent->args[1]) : nullptr;
    if (more && most > 0 && most <= more->value.i)
      return pool.apply(Prim::Add, {first->extent->args[0], pool.integer(more->value.i - most)});
    return first->extent;
  }
  const auto ruled = std::find_if(walks.begin(), walks.end(), [](const Walk& w) { return !w.shift; });
  return ruled == walks.end() ? Expr{} : ruled->extent;
}

/// The tightest of several bounds: the lower end, or the end that is not reached.
Expr Lowering::bound(const std::vector<IndexBounds::Bound>& bounds, bool upper, Context& context) {
  Expr result;
  for (const IndexBounds::Bound& b : bounds) {
    Expr value = index_value(*b.value, context);
    if (b.strict != upper) value = pool_.apply(Prim::Add, {value, pool_.integer(1)}, value->place);
    if (!result) {
      result = value;
      continue;
    }
    const auto* x = as<Literal>(result);
    const auto* y = as<Literal>(value);
    if (x && y)
      result = (x->value.i < y->value.i) == upper ? result : value;
    else if (result != value)
      result = pool_.apply(upper ? Prim::Min : Prim::Max, {result, value}, value->place);
  }
  return result;
}

/// Where nothing tells how far an index runs, something that does not exist, or that has no subscripts, may
/// be the reason: then that is the mistake.
void Lowering::report_unknown(const Ast& ast, Context& context) {
  const Statement* statement = current_statement();
  const auto is_own = [&](const std::string& name) {
    if (!statement) return false;
    const bool recurrent = statement->value && statement->value->kind == AstKind::SeqOver;
    return (recurrent && std::any_of(statement->targets.begin(), statement->targets.end(),
                                     [&](const Target& target) { return target.name == name; })) ||
           declares_index(*statement, name);
  };
  const Ast* base = ast.kind == AstKind::Subscript ? ast.args[0].get() : nullptr;
  if (base && base->kind == AstKind::Name && !context.scope->find(base->name) && !is_own(base->name))
    unknown_name(*base, context);
  if (ast.kind == AstKind::Call && !is_callable(ast.name)) unknown_function(ast, context);
  if (ast.kind == AstKind::Name) {
    if (!context.scope->find(ast.name) && !is_own(ast.name)) unknown_name(ast, context);
    if (const std::optional<View> array = view(ast, context);
        array && program_[array->array].shape.size() > array->prefix.size())
      array_without_subscripts(ast, context);
  }
  const bool names_array = base || (ast.kind == AstKind::Call && (ast.name == "len" || ast.name == "size"));
  if (is_joint(ast)) return;  // its arrays stand there as a whole
  for (std::size_t i = names_array ? 1 : 0; i < ast.args.size(); ++i) report_unknown(*ast.args[i], context);
}

/// The array of `x in xs` stands there as a whole, which is no mistake.
void Lowering::note_walked(const Generator& g, const Context& context, std::vector<AstPtr>& walked) {
  const bool whole = g.kind == Generator::Kind::Element && g.a->kind == AstKind::Name;
  if (whole && context.scope->find(g.a->name)) return;
  for (const AstPtr& part : {g.a, g.b})
    if (part) walked.push_back(part);
}

Dim Lowering::declare_index(const std::string& name, const Place& place, const IndexBounds& bounds,
                            const std::vector<AstPtr>& walked, Context& context) {
  Context plain = context;
  plain.point = nullptr;
  Dim dim;
  dim.name = name;
  dim.place = place;
  dim.lo = bounds.lo.empty() ? pool_.integer(0) : bound(bounds.lo, false, plain);
  dim.hi = bound(bounds.hi, true, plain);
  dim.id = add_index(name, place, *context.scope);
  context.scope->names[name] = IndexBinding{dim.id};
  if (!dim.hi) dim.hi = walked_extent(name, walked, context);
  if (!dim.hi) {
    for (const AstPtr& ast : walked) report_unknown(*ast, context);
    const auto joint =
        std::ranges::find_if(walked, [&](const AstPtr& ast) { return is_joint(*ast) && ast->name == "zip"; });
    error("E0233", place, "nothing tells how far '" + name + "' runs",
          joint != walked.end() ? "names of the parts of an element stand in parentheses: (a, b) in zip(x, y)"
                                : "no array has '" + name + "' alone as a subscript; write " + name + " < N");
  }
  return dim;
}

void Lowering::declare(const std::vector<Generator>& generators, std::vector<AstPtr> walked, Context& context,
                       std::vector<Dim>& dims, std::vector<Expr>& conditions,
                       const std::map<std::string, IndexBounds>* shared) {
  const auto declared_here = [&](const std::string& name) {
    return shared && std::any_of(dims.begin(), dims.end(), [&](const Dim& dim) { return dim.name == name; });
  };
  const auto with_outside = [&](const std::string& name, IndexBounds bounds) {
    if (const auto found = shared ? shared->find(name) : decltype(shared->find(name)){};
        shared && found != shared->end()) {
      bounds.lo.insert(bounds.lo.end(), found->second.lo.begin(), found->second.lo.end());
      bounds.hi.insert(bounds.hi.end(), found->second.hi.begin(), found->second.hi.end());
    }
    return bounds;
  };
  for (const Generator& g : generators) note_walked(g, context, walked);
  const auto add = [&](Dim dim) {
    guard_bounds(dim, conditions);
    dims.push_back(dim);
    context.dims.push_back(std::move(dim));
  };
  for (const Generator& g : generators) {
    if (g.kind != Generator::Kind::Test && declared_here(g.index_name())) {
      const auto known = elements_.find(g.index_name());
      if (g.kind == Generator::Kind::Element && known != elements_.end() && !same(known->second, g))
        error("E0239", g.place, "'" + g.index_name() + "' is an element of something else in this statement",
              "give one of them another name, or make two statements");
      continue;
    }
    if (g.kind == Generator::Kind::Element) {
      if (shared) elements_[g.index_name()] = g;
      if (is_joint(*g.a)) {
        declare_joint(g, generators, context, dims, conditions);
        continue;
      }
      if (is_made_here(*g.a))
        declare_inner(g, generators, context, dims, conditions);
      else
        declare_element(g, context, dims, conditions);
      declare_parts(g, context);
      continue;
    }
    if (g.kind == Generator::Kind::Range) {
      IndexBounds bounds;
      bounds.lo.push_back({g.a, false});
      bounds.hi.push_back({g.b, true});
      add(declare_index(g.name, g.place, with_outside(g.name, bounds), {}, context));
      continue;
    }
    const bool bare = g.a->kind == AstKind::Name;
    if (bare && declared_here(g.a->name)) continue;
    const auto is_new = [&](const std::string& name) {
      const Binding* binding = context.scope->find(name);
      if (!binding) return true;
      // An element that this list has just named.
      if (std::any_of(generators.data(), &g, [&](const Generator& before) {
            return before.kind == Generator::Kind::Element &&
                   (before.name == name || std::ranges::find(before.parts, name) != before.parts.end());
          }))
        return false;
      if (std::holds_alternative<IndexBinding>(*binding)) return bare && !context.scope->names.contains(name);
      if (const auto* value = std::get_if<Value>(binding)) return bare && !value->expr->type.is(Scalar::Bool);
      if (const auto* array = std::get_if<View>(binding)) {
        const Array& known = program_[array->array];
        return known.shape.size() > array->prefix.size() || (bare && !known.type.is(Scalar::Bool));
      }
      return !std::holds_alternative<Poisoned>(*binding);
    };
    if (const auto index = as_index(g.a, is_new))
      add(declare_index(index->name, g.place, with_outside(index->name, index->bounds), walked, context));
    else
      conditions.push_back(condition(*g.a, context));
  }
}

void add_names(const Ast& ast, std::set<std::string>& names) {
  names.insert(ast.name);
  for (const AstPtr& arg : ast.args) add_names(*arg, names);
  for (const Generator& g : ast.generators) {
    names.insert(g.name);
    names.insert(g.parts.begin(), g.parts.end());
    for (const AstPtr& part : {g.a, g.b})
      if (part) add_names(*part, names);
  }
}

/// `w in [ e | … ]`: the inner generators run here, and w is e at their points. Their indices are not seen
/// outside: if there are others of the same names, they get new ones.
void Lowering::declare_inner(const Generator& g, const std::vector<Generator>& all, Context& context,
                             std::vector<Dim>& dims, std::vector<Expr>& conditions) {
  const AstPtr made = as_comprehension(g.a, context);
  const Ast& element = *made->args[0];
  if (element.kind == AstKind::Collect)
    limit("E0254", g.a->place, "'" + g.name + "' would be a collection that is made in this comprehension",
          "define the collection of collections first, and run over that");
  std::set<std::string> taken;
  for (const Generator& other : all) {
    if (&other == &g) continue;
    taken.insert(other.name);
    taken.insert(other.parts.begin(), other.parts.end());
    for (const AstPtr& part : {other.a, other.b})
      if (part) add_names(*part, taken);
  }
  for (const Dim& dim : dims) taken.insert(dim.name);
  std::set<std::string> own;
  add_names(*made, own);
  Scope scope{context.scope};
  Context inner = context;
  inner.scope = &scope;
  const std::size_t first = dims.size(), first_seen = inner.dims.size();
  declare(made->generators, {made->args[0]}, inner, dims, conditions);
  for (std::size_t d = first; d < dims.size(); ++d) {
    const std::string base = dims[d].name;
    const auto is_free = [&](const std::string& name) {
      return !taken.contains(name) && !context.scope->find(name) && (name == base || !own.contains(name));
    };
    for (int n = 2; !is_free(dims[d].name); ++n) dims[d].name = base + "_" + std::to_string(n);
    taken.insert(dims[d].name);
    inner.dims[first_seen + d - first].name = dims[d].name;
    program_.dim_names[static_cast<std::size_t>(dims[d].id.value)] = dims[d].name;
  }
  inner.guarded = context.guarded || !conditions.empty();
  context.scope->names[g.name] = guarded_value(element, conditions, inner, nullptr);
  context.dims = std::move(inner.dims);
}

/// `x in xs`: an index over the first dimension, and x for the element, the row or the inner collection.
void Lowering::declare_element(const Generator& g, Context& context, std::vector<Dim>& dims,
                               const std::vector<Expr>& conditions) {
  const Collection* nested = collection(*g.a, context);
  if (nested && !nested->offsets) nested = nullptr;
  const std::optional<View> array = nested ? std::nullopt : view(*g.a, context);
  if (!nested && (!array || program_[array->array].shape.size() == array->prefix.size())) {
    if (g.a->kind == AstKind::Name && !context.scope->find(g.a->name)) unknown_name(*g.a, context);
    error("E0234", g.a->place, "'" + g.name + "' runs over an array or a collection",
          "a range is written " + g.name + " in a .. b");
  }
  if (nested && nested->rows.size() != 1)
    limit("E0254", g.a->place, "running over the rows of a collection with several indices is not supported",
          "use indices: c[i, j]");
  Dim dim;
  dim.id = add_index(g.index_name(), g.place, *context.scope);
  dim.name = g.index_name();
  dim.place = g.place;
  const Expr index = pool_.index(dim.id, g.place);
  dim.lo = pool_.integer(0);
  if (nested) {
    dim.hi = length(*g.a, context);
    const Expr base = pool_.read(*nested->offsets, Scalar::I64, {index}, g.place);
    const Expr next = pool_.read(*nested->offsets, Scalar::I64,
                                 {pool_.apply(Prim::Add, {index, pool_.integer(1)})}, g.place);
    const View row{nested->values, {}, base, pool_.apply(Prim::Sub, {next, base})};
    context.scope->names[g.name] = row;
  } else {
    View element = *array;
    if (element.base) dim.lo = element.base;
    dim.hi = element.base ? pool_.apply(Prim::Add, {element.base, element.length}) : extent(element, 0);
    element.base = element.length = {};
    element.prefix.push_back(index);
    context.scope->names[g.name] = std::move(element);
  }
  guard_bounds(dim, conditions);
  dims.push_back(dim);
  context.dims.push_back(std::move(dim));
}

/// Bounds behind a condition are evaluated only where it holds; elsewhere the range is empty.
void Lowering::guard_bounds(Dim& dim, const std::vector<Expr>& conditions) {
  if (conditions.empty()) return;
  for (Expr* end : {&dim.lo, &dim.hi}) {
    bool partial = false;
    visit(*end, [&](Expr node) { partial = partial || is_partial(node, program_.functions); });
    if (!partial) continue;
    const Expr holds = conjunction(conditions);
    for (Expr* e : {&dim.lo, &dim.hi}) *e = pool_.select(holds, *e, pool_.integer(0), dim.place);
    return;
  }
}

Expr Lowering::conjunction(const std::vector<Expr>& conditions) {
  Expr all;
  for (const Expr c : conditions) all = all ? pool_.apply(Prim::And, {all, c}, c->place) : c;
  return all;
}

}  // namespace twill::text
