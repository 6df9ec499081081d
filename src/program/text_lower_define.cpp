// Lowering of the text language: definitions by formulas, constants and copies.
#include "program/text_lower.h"

#include "program/text_names.h"

#include <algorithm>

namespace twill::text {
namespace {

bool any_name(const std::string&) { return true; }

/// The name that an index declaration on the left or in a fold declares, or "".
std::string index_name(const Generator& g) {
  if (g.kind != Generator::Kind::Test) return g.index_name();
  const auto index = as_index(g.a, any_name);
  return index ? index->name : std::string{};
}

bool mentions(const Ast& ast, const std::function<bool(const Ast&)>& found) {
  if (found(ast)) return true;
  return std::any_of(ast.args.begin(), ast.args.end(),
                     [&](const AstPtr& arg) { return mentions(*arg, found); });
}

}  // namespace

Context Lowering::context_in(Frame& frame, const std::string& base, Sink* point) {
  Context context;
  context.scope = &frame.scope;
  context.sink = frame.sink;
  context.point = point;
  context.base = base;
  return context;
}

/// The name that the array of a target has in the program. Also checks that the name is free.
std::string Lowering::array_name(const Target& target, Frame& frame) {
  const std::string& name = target.name;
  const bool given =
      frame.carried.contains(name) || frame.renamed.contains(name) || frame.exact.contains(name);
  const Binding* known = given ? nullptr : frame.scope.find(name);
  if (frame.defined.contains(name) || known) {
    if (known && std::holds_alternative<Poisoned>(*known)) throw Silent{};
    error("E0203", target.place, "'" + name + "' is already defined",
          "values never change: choose another name, or carry a state with seq");
  }
  if (const auto exact = frame.exact.find(name); exact != frame.exact.end()) return exact->second;
  if (const auto renamed = frame.renamed.find(name); renamed != frame.renamed.end())
    return derived(renamed->second);
  if (!frame.prefix.empty()) return derived(frame.prefix + "_" + name);
  // A result keeps its name, also where a block before it has a local array of that name.
  const bool of_result = frame.sink->level > 0 && results_.contains(name);
  return of_result ? derived(name) : own_name(name);
}

/// Makes a name, and the name of its array where that is another one, known to what follows.
void Lowering::publish(const std::string& name, Binding binding, Frame& frame) {
  if (frame.prefix.empty()) {
    const auto know = [&](ArrayId array) {
      frame.scope.names[program_[array].name] = View{array, {}, {}, {}};
      for (const Expr extent : program_[array].shape)
        if (const auto* size = as<SizeRef>(extent))
          frame.scope.names[program_[size->symbol].name] = Value{extent};
    };
    if (const auto* view = std::get_if<View>(&binding)) know(view->array);
    if (const auto* collection = std::get_if<Collection>(&binding))
      for (const std::optional<ArrayId>& part :
           {std::optional(collection->values), collection->offsets, collection->keys})
        if (part) know(*part);
  }
  frame.scope.names[name] = std::move(binding);
  frame.defined.insert(name);
}

void Lowering::emit(Stage stage, const Statement& statement, Sink& sink) {
  stage.hints = statement.hints;
  if (!stage.place) stage.place = statement.place;
  count_stage(statement.place);
  sink.stages.push_back(std::move(stage));
}

const Target& Lowering::single_target(const Statement& statement) const {
  if (statement.targets.size() != 1)
    error("E0237", statement.place,
          std::to_string(statement.targets.size()) + " names on the left, one value on the right");
  return statement.targets[0];
}

const TypeAst* Lowering::declared(const Target& target, const Frame& frame) const {
  if (target.type) return &*target.type;
  if (frame.carried.contains(target.name)) return nullptr;
  const auto found = results_.find(target.name);
  return found != results_.end() && found->second ? &*found->second : nullptr;
}

std::optional<Type> Lowering::declared_type(const Target& target, const Frame& frame) const {
  if (const TypeAst* type = declared(target, frame)) return vocabulary_.type(*type);
  if (const auto state = frame.carried.find(target.name); state != frame.carried.end())
    return program_[state->second].type;
  return std::nullopt;
}

namespace {

/// Where sizes come from, for a name that is none.
std::string known_sizes(const Context& context) {
  std::vector<std::string> sizes;
  for (const Scope* scope = context.scope; scope; scope = scope->parent)
    for (const auto& [name, binding] : scope->names)
      if (const auto* value = std::get_if<Value>(&binding); value && as<SizeRef>(value->expr))
        sizes.push_back(name);
  return "sizes stand in the shapes of inputs; " +
         (sizes.empty() ? std::string("there are none") : "known here: " + listed(sizes));
}

}  // namespace

std::vector<Expr> Lowering::declared_shape(const TypeAst& type, Context& context) {
  std::vector<Expr> shape;
  Context plain = context;
  plain.point = nullptr;
  for (const AstPtr& extent : type.shape) {
    if (!extent) error("E0207", type.place, "a length is born only in an 'out' of a stage");
    if (extent->kind == AstKind::Name && !context.scope->find(extent->name))
      unknown_name(*extent, context, known_sizes(context));
    shape.push_back(index_value(*extent, plain));
  }
  return shape;
}

void Lowering::define(const Statement& s, Frame& frame) {
  const Ast& value = *s.value;
  switch (value.kind) {
    case AstKind::Collect: return collect(s, frame);
    case AstKind::Group: return group(s, frame);
    case AstKind::Scatter:
    case AstKind::With: return scatter(s, frame);
    case AstKind::List: return list(s, frame);
    default: break;
  }
  if (is_joint(value)) return collect_joint(s, frame);
  if (is_call(value)) return call_statement(s, frame);
  if (is_choice(s, frame)) return choose(as_choice(s), frame);
  if (s.targets.size() == 1 && !s.targets[0].indexed && s.where.empty()) {
    const Target& target = s.targets[0];
    const bool local = !results_.contains(target.name) && !frame.carried.contains(target.name) &&
                       !frame.renamed.contains(target.name);
    if (value.kind == AstKind::Number && !target.type && local) {
      array_name(target, frame);
      frame.scope.names[target.name] = Value{pool_.literal(value.number, value.place), value.weak};
      frame.defined.insert(target.name);
      return;
    }
    Context context = context_in(frame, target.name, nullptr);
    if (const std::optional<View> source = view(value, context);
        source && program_[source->array].shape.size() > source->prefix.size())
      return copy(s, *source, frame);
    if (const Collection* whole = collection(value, context); whole && whole->offsets)
      limit("E0255", value.place, "copying a nested collection is not supported", "use it by its own name");
  }
  formula(s, frame);
}

// ---- formulas -------------------------------------------------------------------------------------------

void Lowering::formula(const Statement& s, Frame& frame) {
  const Ast* value = s.value.get();
  const Ast* seq = nullptr;
  if (s.targets.size() > 1 && value->kind == AstKind::SeqOver) {
    seq = value;
    value = value->args[0].get();
  }
  if (s.targets.size() > 1 && (value->kind != AstKind::Tuple || value->args.size() != s.targets.size()))
    error("E0237", s.place,
          std::to_string(s.targets.size()) + " names on the left, " +
              std::to_string(value->kind == AstKind::Tuple ? value->args.size() : 1) + " on the right");
  std::vector<Piece> pieces(s.targets.size());
  bool recurrent = false;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    Piece& piece = pieces[i];
    piece.target = &s.targets[i];
    const Ast* body = s.targets.size() > 1 ? value->args[i].get() : value;
    if (seq) piece.heads.push_back(seq);
    bool conditional = false;
    while (body->kind == AstKind::SeqOver || body->kind == AstKind::Scan || body->kind == AstKind::Fold) {
      if (body->kind == AstKind::Fold) {
        if (conditional && piece.heads.back()->op != body->op) break;
        for (const Generator& g : body->generators) conditional = conditional || index_name(g).empty();
      }
      piece.heads.push_back(body);
      body = body->args[0].get();
    }
    piece.body = body;
    recurrent = recurrent || std::any_of(piece.heads.begin(), piece.heads.end(),
                                         [](const Ast* h) { return h->kind == AstKind::SeqOver; });
    if (!piece.target->into.empty())
      piece.into = named_array(piece.target->into, piece.target->into_place, frame.scope);
    const auto state = frame.carried.find(piece.target->name);
    if (!piece.into && !s.where.empty() && state != frame.carried.end()) piece.into = state->second;
    piece.type = declared_type(*piece.target, frame);
    if (!piece.type && piece.into) piece.type = program_[*piece.into].type;
  }
  if (recurrent && std::any_of(pieces.begin(), pieces.end(), [](const Piece& p) { return !p.type; }))
    find_own_types(s, frame, pieces);
  formula_stage(s, frame, pieces, false);
}

/// Lowers the recurrence once with its own values taken for plain literals; the type that results is theirs.
void Lowering::find_own_types(const Statement& s, Frame& frame, std::vector<Piece>& pieces) {
  const Program program = program_;
  const auto levels = levels_;
  const auto open = open_;
  const auto taken = taken_;
  const auto stages = stages_;
  const int next_level = next_level_, stage_count = stage_count_;
  const std::size_t emitted = frame.sink->stages.size();
  std::vector<Piece> trial = pieces;
  formula_stage(s, frame, trial, true);
  for (std::size_t i = 0; i < pieces.size(); ++i) pieces[i].type = trial[i].type;
  program_ = program;
  levels_ = levels;
  open_ = open;
  taken_ = taken;
  stages_ = stages;
  next_level_ = next_level;
  stage_count_ = stage_count;
  frame.sink->stages.resize(emitted);
}

/// Declares the dimensions of the stage: the indices on the left, then those of the folds. Conditions of the
/// where clause that bound an index become its range, the others guards.
void Lowering::declare_pieces(const Statement& s, std::vector<Piece>& pieces, Context& context,
                              std::vector<Dim>& dims, std::vector<AstPtr>& guards) {
  elements_.clear();
  std::vector<std::string> order;
  const auto note = [&](const std::string& name) {
    if (!name.empty() && std::find(order.begin(), order.end(), name) == order.end()) order.push_back(name);
  };
  std::vector<AstPtr> walked;
  for (Piece& piece : pieces) {
    for (const Generator& g : piece.target->indices) {
      const std::string name = index_name(g);
      if (name.empty() || g.kind == Generator::Kind::Element)
        error(
            "E0238", g.place, "on the left of a definition stand indices",
            "elements at other places are written by: y = x with { [2*i] <- v[i] | i }, or, where data says "
            "which: y: f32[N] = scatter(+) { k[i] <- v[i] | i }");
      if (std::find(piece.indices.begin(), piece.indices.end(), name) != piece.indices.end())
        error(
            "E0238", g.place, "the index '" + name + "' stands twice on the left",
            "each dimension has an index of its own; one is enough to write a diagonal into an array: y = x "
            "with { [" +
                name + ", " + name + "] <- v[" + name + "] | " + name + " }");
      piece.indices.push_back(name);
      note(name);
      for (const AstPtr& part : {g.a, g.b})
        if (part) walked.push_back(part);
    }
    walked.push_back(std::make_shared<const Ast>(*piece.body));
    for (const Ast* head : piece.heads) {
      for (const std::string& word : head->words) {
        if (std::find(piece.indices.begin(), piece.indices.end(), word) == piece.indices.end())
          error("E0239", head->place, "'" + word + "' is not an index of '" + piece.target->name + "'",
                piece.indices.empty() ? "write it on the left: " + piece.target->name + "[" + word + "]"
                                      : "its indices are " + listed(piece.indices));
        piece.head_of[word] = head;
      }
      if (head->kind == AstKind::Fold)
        for (const Generator& g : head->generators) {
          note(index_name(g));
          note_walked(g, context, walked);
        }
    }
  }
  walked.insert(walked.end(), s.where.begin(), s.where.end());

  std::map<std::string, IndexBounds> bounds;
  for (const AstPtr& item : s.where) {
    const auto position = [&](const std::string& name) {
      return std::find(order.begin(), order.end(), name);
    };
    const auto index = as_index(item, [&](const std::string& name) { return position(name) != order.end(); });
    bool simple = index && item->kind == AstKind::Compare;
    for (const auto* ends : {index ? &index->bounds.lo : nullptr, index ? &index->bounds.hi : nullptr})
      if (ends)
        for (const IndexBounds::Bound& b : *ends)
          simple = simple && !mentions(*b.value, [&](const Ast& a) {
                     return a.kind == AstKind::Subscript || a.kind == AstKind::Fold ||
                            (a.kind == AstKind::Name && position(a.name) >= position(index->name) &&
                             position(a.name) != order.end());
                   });
    if (!simple) {
      guards.push_back(item);
      continue;
    }
    IndexBounds& all = bounds[index->name];
    all.lo.insert(all.lo.end(), index->bounds.lo.begin(), index->bounds.lo.end());
    all.hi.insert(all.hi.end(), index->bounds.hi.begin(), index->bounds.hi.end());
  }

  for (Piece& piece : pieces) {
    for (const Generator& g : piece.target->indices) {
      const std::string name = index_name(g);
      if (std::any_of(dims.begin(), dims.end(), [&](const Dim& d) { return d.name == name; })) continue;
      IndexBounds own = bounds[name];
      if (g.kind == Generator::Kind::Range) {
        own.lo.push_back({g.a, false});
        own.hi.push_back({g.b, true});
      } else {
        const IndexBounds given = as_index(g.a, any_name)->bounds;
        own.lo.insert(own.lo.begin(), given.lo.begin(), given.lo.end());
        own.hi.insert(own.hi.begin(), given.hi.begin(), given.hi.end());
      }
      dims.push_back(declare_index(name, g.place, own, walked, context));
      context.dims.push_back(dims.back());
    }
    for (const Ast* head : piece.heads) {
      if (head->kind != AstKind::Fold) continue;
      const std::size_t first = dims.size();
      declare(head->generators, walked, context, dims, piece.conditions, &bounds);
      for (std::size_t d = first; d < dims.size(); ++d) piece.head_of.emplace(dims[d].name, head);
      for (const Generator& g : head->generators) {
        const std::string name = index_name(g);
        if (std::any_of(dims.begin(), dims.end(), [&](const Dim& d) { return d.name == name; })) {
          if (std::find(piece.indices.begin(), piece.indices.end(), name) != piece.indices.end())
            error("E0239", g.place,
                  "'" + name + "' is an index of '" + piece.target->name + "' and cannot be folded away");
          piece.head_of.emplace(name, head);
        }
      }
    }
  }
}

void Lowering::formula_stage(const Statement& s, Frame& frame, std::vector<Piece>& pieces, bool trial) {
  std::vector<std::string> names;
  for (const Piece& piece : pieces)
    names.push_back(trial ? piece.target->name : array_name(*piece.target, frame));
  Scope scope{&frame.scope};
  Sink point{next_level_++, {}};
  Context context = context_in(frame, names[0], &point);
  context.scope = &scope;
  Stage stage;
  std::vector<AstPtr> guard_asts;
  declare_pieces(s, pieces, context, stage.dims, guard_asts);

  for (std::size_t i = 0; i < pieces.size(); ++i) {
    Piece& piece = pieces[i];
    const bool recurrent = std::any_of(piece.heads.begin(), piece.heads.end(),
                                       [](const Ast* h) { return h->kind == AstKind::SeqOver; });
    if (!recurrent || scope.names.contains(piece.target->name)) continue;
    const ArrayId own = add_array(names[i], piece.type.value_or(Scalar::I64),
                                  shape_of(piece, stage.dims, context), piece.target->place, point.level);
    if (!piece.type) {
      scope.names[piece.target->name] = OwnBinding{own};
      continue;
    }
    piece.array = own;
    scope.names[piece.target->name] = View{piece.array, {}, {}, {}};
    if (names[i] != piece.target->name) scope.names[names[i]] = View{piece.array, {}, {}, {}};
  }
  std::vector<Expr> guards;
  for (const AstPtr& ast : guard_asts) guards.push_back(condition(*ast, context));
  for (Piece& piece : pieces) lower_piece(piece, stage.dims, guards, context, frame);
  if (trial) return;

  for (std::size_t i = 0; i < pieces.size(); ++i) {
    Piece& piece = pieces[i];
    if (!piece.array)
      piece.array = add_array(names[i], *piece.type, shape_of(piece, stage.dims, context),
                              piece.target->place, frame.sink->level);
    levels_[static_cast<std::size_t>(piece.array.value)] = frame.sink->level;
    piece.output.array = piece.array;
    stage.outputs.push_back(piece.output);
  }
  attach_block(stage, std::move(point), names[0]);
  stage.name = stage_name(names[0]);
  emit(std::move(stage), s, *frame.sink);
  for (const Piece& piece : pieces) publish(piece.target->name, View{piece.array, {}, {}, {}}, frame);
}

/// The value, combines and write map of one output.
void Lowering::lower_piece(Piece& piece, const std::vector<Dim>& dims, const std::vector<Expr>& guards,
                           Context& context, const Frame& frame) {
  const Target& target = *piece.target;
  std::vector<Expr> conditions = guards;
  conditions.insert(conditions.end(), piece.conditions.begin(), piece.conditions.end());
  Context inner = context;
  inner.guarded = context.guarded || !conditions.empty();
  const Type* wanted = piece.type ? &*piece.type : nullptr;
  const Ast* combining = nullptr;
  for (const Ast* head : piece.heads)
    if (head->kind != AstKind::SeqOver) combining = head;
  if (combining && operand_type(combining->op)) wanted = operand_type(combining->op);
  const Value value = guarded_value(*piece.body, conditions, inner, wanted);
  if (!piece.type) {
    Type type = settle(value)->type;
    for (auto head = piece.heads.rbegin(); head != piece.heads.rend(); ++head)
      if ((*head)->kind != AstKind::SeqOver) type = fold_type(**head, type);
    piece.type = type;
  }
  const bool declares = declared(target, frame) != nullptr;
  if (combining && !operand_type(combining->op) && piece.type->is_scalar() &&
      is_storage_only(piece.type->scalar()) && declares)
    limit("E0253", target.place, "a fold or scan cannot accumulate in '" + to_string(*piece.type) + "'",
          "accumulate in f32 and convert in a second stage");
  Output& output = piece.output;
  output.place = target.place;
  output.value = convert(value, *piece.type, piece.body->place);
  output.guard = conjunction(conditions);
  output.into = piece.into;
  output.accumulates = target.onto;
  for (const Dim& dim : dims) {
    const bool own = std::find(piece.indices.begin(), piece.indices.end(), dim.name) != piece.indices.end();
    const auto head = piece.head_of.find(dim.name);
    if (head == piece.head_of.end()) {
      if (!own)
        error("E0239", target.place,
              "'" + target.name + "' says nothing about the index '" + dim.name + "' of its stage",
              "give it the index, or fold it away");
      output.combine.emplace_back(Cat{});
    } else if (head->second->kind == AstKind::SeqOver) {
      output.combine.emplace_back(Seq{});
    } else {
      const Operator op = operator_named(head->second->op, *piece.type, head->second->place);
      if (head->second->kind == AstKind::Scan)
        output.combine.emplace_back(
            Scan{op, head->second->name == "scan" ? Direction::Left : Direction::Right});
      else
        output.combine.emplace_back(Fold{op});
    }
  }
  for (const std::string& name : piece.indices)
    output.at.push_back(
        pool_.index(std::find_if(dims.begin(), dims.end(), [&](const Dim& d) { return d.name == name; })->id,
                    target.place));
}

std::vector<Expr> Lowering::shape_of(const Piece& piece, const std::vector<Dim>& dims, Context& context) {
  if (piece.into) return program_[*piece.into].shape;
  const TypeAst* type = piece.target->type ? &*piece.target->type : nullptr;
  if (!type)
    if (const auto found = results_.find(piece.target->name); found != results_.end() && found->second)
      type = &*found->second;
  if (type && type->has_shape) {
    std::vector<Expr> shape = declared_shape(*type, context);
    if (shape.size() != piece.indices.size())
      error("E0232", type->place,
            "'" + piece.target->name + "' has " + std::to_string(piece.indices.size()) +
                (piece.indices.size() == 1 ? " index" : " indices") + ", but its type has " +
                counted(shape.size(), "size"),
            "write one size for each index, or leave them out");
    return shape;
  }
  std::vector<Expr> shape;
  for (const std::string& name : piece.indices) {
    const Dim& dim = *std::find_if(dims.begin(), dims.end(), [&](const Dim& d) { return d.name == name; });
    bool plain = true;
    visit(dim.hi, [&](Expr node) {
      const auto* read = as<Read>(node);
      plain = plain && !as<IndexRef>(node) && !(read && !read->rules.empty());
    });
    if (!plain)
      error("E0235", dim.place,
            "the range of '" + name + "' depends on an index or on data, so it is not an extent of '" +
                piece.target->name + "'",
            "make a new version of an array (into), or collect: [ ... | ... ]");
    shape.push_back(dim.hi);
  }
  return shape;
}

// ---- constants and copies
// -----------------------------------------------------------------------------------

void Lowering::constant(const Target& target, const Ast& value, Frame& frame) {
  const TypeAst* type_ast = declared(target, frame);
  std::optional<Type> type;
  if (type_ast) type = vocabulary_.type(*type_ast);
  Context context = context_in(frame, target.name, nullptr);
  std::vector<Expr> elements;
  std::vector<std::int64_t> shape;
  bool weak = true;
  const std::function<void(const Ast&, std::size_t)> walk = [&](const Ast& ast, std::size_t depth) {
    if (ast.kind != AstKind::List) {
      if (depth != shape.size()) error("E0242", ast.place, "the rows of a constant have different lengths");
      const Value element = this->value(ast, context);
      if (!as<Literal>(element.expr) || element.open)
        error("E0242", ast.place, "the elements of a constant are literals");
      if (!elements.empty() && !element.expr->type.is_number() && element.expr->type != elements[0]->type)
        error("E0242", ast.place, "the elements of a constant have one type");
      if (!element.weak) {
        weak = false;
        if (!type) type = element.expr->type;
      }
      elements.push_back(element.expr);
      return;
    }
    const auto count = static_cast<std::int64_t>(ast.args.size());
    if (shape.size() == depth) {
      if (!elements.empty()) error("E0242", ast.place, "the rows of a constant have different lengths");
      shape.push_back(count);
    } else if (shape[depth] != count) {
      error("E0242", ast.place, "the rows of a constant have different lengths");
    }
    for (const AstPtr& item : ast.args) walk(*item, depth + 1);
  };
  walk(value, 0);
  std::vector<Expr> extents;
  for (const std::int64_t extent : shape) extents.push_back(pool_.integer(extent));
  if (type_ast && type_ast->has_shape) {
    const std::vector<Expr> wanted = declared_shape(*type_ast, context);
    const bool empty =
        elements.empty() &&
        std::all_of(wanted.begin(), wanted.end(), [](Expr e) { return as<Literal>(e) != nullptr; }) &&
        std::any_of(wanted.begin(), wanted.end(),
                    [](Expr e) { return as<Literal>(e) && as<Literal>(e)->value.i == 0; });
    if (wanted != extents && !empty)
      error("E0242", value.place, "the constant does not have the shape that '" + target.name + "' declares",
            "leave out the sizes: " + target.name + ": " + to_string(*type) + " = [ ... ]");
    extents = wanted;
  } else if (elements.empty() && !shape.empty()) {
    error("E0242", value.place, "an empty constant needs a type with its shape",
          "write " + target.name + ": f32[0] = []");
  }
  const bool fractional =
      std::any_of(elements.begin(), elements.end(), [](Expr e) { return e->type.is_float(); });
  const bool open = weak && !type && !elements.empty();
  if (!type) type = fractional ? Type(Scalar::F64) : Type(Scalar::I64);
  Constant constant;
  for (const Expr element : elements)
    constant.elements.push_back(
        as<Literal>(convert_implicitly(pool_, {element, element->type.is_number() && element->type != *type},
                                       *type, element->place))
            ->value);
  constant.array = add_array(array_name(target, frame), *type, std::move(extents), target.place, 0);
  if (open) open_[constant.array.value] = {constant.array};
  publish(target.name, View{constant.array, {}, {}, {}}, frame);
  program_.constants.push_back(std::move(constant));
}

void Lowering::copy(const Statement& s, const View& source, Frame& frame) {
  const Target& target = s.targets[0];
  Context context = context_in(frame, target.name, nullptr);
  Stage stage;
  Output output;
  std::vector<Expr> subscripts = source.prefix, shape;
  const int rank = program_[source.array].rank() - static_cast<int>(source.prefix.size());
  for (int d = 0; d < rank; ++d) {
    Dim dim;
    dim.name = "i" + std::to_string(d);
    dim.id = program_.add_dim(dim.name);
    dim.lo = pool_.integer(0);
    dim.hi = extent(source, d);
    dim.place = target.place;
    const Expr index = pool_.index(dim.id, target.place);
    output.at.push_back(index);
    subscripts.push_back(d == 0 && source.base ? pool_.apply(Prim::Add, {source.base, index}) : index);
    shape.push_back(dim.hi);
    output.combine.emplace_back(Cat{});
    stage.dims.push_back(std::move(dim));
  }
  Type type = program_[source.array].type;
  Value element{pool_.read(source.array, type, std::move(subscripts), s.value->place)};
  if (open_.contains(source.array.value)) decide(source.array, type);
  if (const auto wanted = declared_type(target, frame)) type = *wanted;
  output.value = convert(element, type, s.value->place);
  for (const Expr extent : shape)
    visit(extent, [&](Expr node) {
      const auto* read = as<Read>(node);
      if (as<IndexRef>(node) || (read && !read->rules.empty()))
        error("E0235", s.value->place,
              "the length of this row depends on data, so it is not an extent of '" + target.name + "'",
              "collect it: [ x | x in row ]");
    });
  const std::string name = array_name(target, frame);
  output.array = add_array(name, type, std::move(shape), target.place, frame.sink->level);
  output.place = target.place;
  const ArrayId array = output.array;
  stage.outputs.push_back(std::move(output));
  stage.name = stage_name(name);
  emit(std::move(stage), s, *frame.sink);
  publish(target.name, View{array, {}, {}, {}}, frame);
}

}  // namespace twill::text
