// Lowering of the text language: choices between lists of statements.
#include "program/affine_of.h"
#include "program/choice.h"
#include "program/text_lower.h"

#include <algorithm>
#include <functional>

namespace twill::text {

/// A choice whose outputs are being found.
struct Lowering::Choice {
  Stage& stage;
  Block* blocks[2];
  std::vector<ChosenSize> sizes;
  int level;  // of the list of stages that it stands in
  Place place;
};

void Lowering::choose(const Statement& s, Frame& frame) {
  Context context = context_in(frame, "if", nullptr);
  std::vector<std::string> then_names, other_names, shared;
  defined_names(s.body, then_names);
  defined_names(s.otherwise, other_names);
  for (const std::string& name : then_names)
    if (std::count(other_names.begin(), other_names.end(), name) &&
        !std::count(shared.begin(), shared.end(), name))
      shared.push_back(name);
  std::vector<std::string> names;
  for (const std::string& name : shared) {
    Target target;
    target.place = s.place;
    target.name = name;
    names.push_back(array_name(target, frame));
  }
  if (!names.empty()) context.base = names[0];
  Stage stage;
  const Expr c = condition(*s.value, context);
  Block blocks[2];
  std::vector<Binding> sides[2];
  for (int side = 0; side < 2; ++side) {
    Sink sink{next_level_++, {}};
    Frame inner;
    inner.scope.parent = &frame.scope;
    inner.sink = &sink;
    inner.prefix = frame.prefix;
    for (std::size_t i = 0; i < shared.size(); ++i)
      inner.renamed[shared[i]] = names[i] + (side == 0 ? "_then" : "_else");
    statements(side == 0 ? s.body : s.otherwise, inner);
    for (const std::string& name : shared) {
      const Binding* binding = inner.scope.find(name);
      if (!binding || std::holds_alternative<Poisoned>(*binding)) throw Silent{};
      sides[side].push_back(*binding);
    }
    blocks[side].stages = std::move(sink.stages);
  }
  Choice choice{stage, {&blocks[0], &blocks[1]}, {}, frame.sink->level, s.place};
  std::vector<Binding> chosen;
  for (std::size_t i = 0; i < shared.size(); ++i)
    chosen.push_back(chosen_value(choice, shared[i], names[i], sides[0][i], sides[1][i]));
  stage.body = Branch{c, std::make_shared<const Block>(std::move(blocks[0])),
                      std::make_shared<const Block>(std::move(blocks[1]))};
  stage.name = stage_name(names.empty() ? "if" : names[0]);
  emit(std::move(stage), s, *frame.sink);
  for (std::size_t i = 0; i < shared.size(); ++i) publish(shared[i], std::move(chosen[i]), frame);
}

bool Lowering::is_choice(const Statement& s, Frame& frame) {
  if (s.value->kind != AstKind::If || s.targets.size() != 1 || s.targets[0].indexed || !s.where.empty())
    return false;
  Context context = context_in(frame, s.targets[0].name, nullptr);
  const std::function<bool(const Ast&)> is_whole = [&](const Ast& ast) {
    if (ast.kind == AstKind::If) return is_whole(*ast.args[1]) || is_whole(*ast.args[2]);
    if (ast.kind == AstKind::Collect || ast.kind == AstKind::Group || ast.kind == AstKind::List) return true;
    if (is_joint(ast)) return true;
    if (ast.kind != AstKind::Name && ast.kind != AstKind::Subscript) return false;
    const std::optional<View> whole = view(ast, context);
    return whole && program_[whole->array].shape.size() > whole->prefix.size();
  };
  return is_whole(*s.value);
}

Statement Lowering::as_choice(const Statement& s) {
  const auto side = [&](const AstPtr& value) {
    Statement define;
    define.place = value->place;
    define.targets = s.targets;
    define.value = value;
    return std::vector<Statement>{std::move(define)};
  };
  Statement choice;
  choice.kind = Statement::Kind::If;
  choice.place = s.place;
  choice.hints = s.hints;
  choice.value = s.value->args[0];
  const AstPtr &then = s.value->args[1], &otherwise = s.value->args[2];
  choice.body = side(is_empty_list(*then) ? none_of(otherwise, then->place) : then);
  choice.otherwise = side(is_empty_list(*otherwise) ? none_of(then, otherwise->place) : otherwise);
  return choice;
}

namespace {

std::string form_of(const Binding& binding) {
  const auto* collection = std::get_if<Collection>(&binding);
  if (!collection) return std::holds_alternative<View>(binding) ? "an array" : "a number";
  if (collection->keys) return collection->offsets ? "a group" : "a group whose buckets are folded";
  return collection->rows.size() == 1
             ? "a collection of collections"
             : "a collection of collections with " + std::to_string(collection->rows.size()) + " indices";
}

}  // namespace

/// What a name means after a choice: an array of the side that was chosen, or a collection.
Binding Lowering::chosen_value(Choice& choice, const std::string& shown, const std::string& name,
                               const Binding& then, const Binding& otherwise) {
  const auto whole = [](const Binding& binding) -> const View* {
    const auto* view = std::get_if<View>(&binding);
    return view && view->prefix.empty() && !view->base ? view : nullptr;
  };
  if (whole(then) && whole(otherwise))
    return View{chosen_array(choice, name, "_len", whole(then)->array, whole(otherwise)->array), {}, {}, {}};
  const std::string forms[] = {form_of(then), form_of(otherwise)};
  if (forms[0] != forms[1])
    error("E0258", choice.place,
          "the sides of a choice give '" + shown + "' different forms: on one it is " + forms[0] +
              ", on the other " + forms[1],
          "let both sides give it the same form");
  const auto *a = std::get_if<Collection>(&then), *b = std::get_if<Collection>(&otherwise);
  const bool same_rows = a && b && a->rows.size() == b->rows.size() &&
                         std::equal(a->rows.begin(), a->rows.end(), b->rows.begin(),
                                    [](Expr x, Expr y) { return same_size(x, y); });
  if (!a || !b || (!same_rows && a->rows.size() != 1))
    limit("E0257", choice.place,
          "a part of an array, or a collection whose rows have several indices that run differently far on "
          "the two sides, as the value '" +
              shown + "' of a choice is not supported",
          "copy the part, or number the rows with one index");
  Collection result;
  result.values = chosen_array(choice, name, a->keys && a->offsets ? "_total" : "_len", a->values, b->values);
  if (a->keys) result.keys = chosen_array(choice, derived(name + "_keys"), "_len", *a->keys, *b->keys);
  if (a->offsets)
    result.offsets = chosen_array(choice, derived(name + "_offsets"), "_ends", *a->offsets, *b->offsets);
  if (result.keys)
    result.rows = {program_[*result.keys].shape[0]};
  else if (same_rows)
    result.rows = a->rows;
  else
    result.rows = {pool_.apply(Prim::Sub, {program_[*result.offsets].shape[0], pool_.integer(1)})};
  return result;
}

/// An output of a choice. An extent that its sides disagree about is a size that is born with the choice.
ArrayId Lowering::chosen_array(Choice& choice, const std::string& name, const std::string& suffix,
                               ArrayId then, ArrayId otherwise) {
  const Array a = program_[then], b = program_[otherwise];
  std::vector<Expr> shape = a.shape;
  for (std::size_t d = 0; d < shape.size() && a.rank() == b.rank(); ++d) {
    if (same_size(a.shape[d], b.shape[d])) continue;
    // A size that is known already may be a part of it.
    shape[d] = rewrite(pool_, a.shape[d], [&](Expr node) -> Expr {
      for (const ChosenSize& known : choice.sizes)
        if (known.then == node && as<SizeRef>(node)) return pool_.size(known.size);
      return {};
    });
    if (shape[d] != a.shape[d] && same_size(on_side(pool_, choice.sizes, false, shape[d]), b.shape[d]))
      continue;
    const SymbolId size = program_.add_symbol(derived(name + suffix), Symbol::Origin::Born);
    choice.sizes.push_back({size, a.shape[d], b.shape[d], choice.stage.outputs.size()});
    shape[d] = pool_.size(size);
  }
  Output output;
  output.place = choice.place;
  output.array = add_array(name, a.type, std::move(shape), choice.place, choice.level);
  choice.blocks[0]->results.push_back(then);
  choice.blocks[1]->results.push_back(otherwise);
  choice.stage.outputs.push_back(output);
  return output.array;
}

}  // namespace twill::text
