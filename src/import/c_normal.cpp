// Normal form of loop nests: folds, composed assignments, and scalars that give way to their values.
#include "import/c_normal.h"

#include "import/c_depend.h"
#include "import/c_scalars.h"

#include <algorithm>

namespace twill::c {

using poly::Affine;
using poly::Condition;

namespace {

class Normalizer {
 public:
  explicit Normalizer(Nest& nest) : nest_(nest), ask_(nest) {}

  /// Guards without what the loops around ensure anyway; assignments that never happen go.
  void tidy_guards(std::vector<Item>& items) {
    std::vector<Item> kept;
    for (Item& item : items) {
      if (auto* inner = std::get_if<std::shared_ptr<For>>(&item)) {
        open_.push_back((*inner)->loop);
        tidy_guards((*inner)->body);
        open_.pop_back();
      } else if (auto& assign = std::get<Assign>(item); assign.guard) {
        std::vector<Tree> parts;
        split_conjunction(assign.guard, parts);
        assign.guard = nullptr;
        Condition known = outside();
        for (const Tree& part : parts) {
          const Known says = condition_of(nest_, part);
          if (says.exact && ask_.implies(known, says.condition)) continue;
          assign.guard = both(assign.guard, part);
          known = std::move(known) && says.condition;
        }
        if (!ask_.is_possible(known)) continue;
      }
      kept.push_back(std::move(item));
    }
    items = std::move(kept);
  }

  void list(std::vector<Item>& items) {
    std::vector<Item> result;
    // The list stays whole meanwhile: what becomes of scalars below is decided by looking at everything.
    for (const Item& item : items) {
      if (const auto* inner = std::get_if<std::shared_ptr<For>>(&item)) {
        open_.push_back((*inner)->loop);
        list((*inner)->body);
        open_.pop_back();
        for (Item& part : split(**inner)) append(result, folded(std::move(part)));
      } else {
        append(result, item);
      }
    }
    items = std::move(result);
    while (substitute_scalar(nest_, items) || carry_scalar(nest_, ask_, items, outside())) recompose(items);
    while (concatenate(items)) {}
  }

 private:
  static void split_conjunction(const Tree& tree, std::vector<Tree>& parts) {
    if (tree->kind == Kind::Apply && tree->op == "and") {
      for (const Tree& arg : tree->args) split_conjunction(arg, parts);
    } else {
      parts.push_back(tree);
    }
  }

  Condition outside() const {
    Condition all;
    for (const int loop : open_) all = std::move(all) && range_of(nest_, loop).condition;
    return all;
  }

  static std::set<int> writes(const Item& item) {
    std::set<int> written;
    written_arrays({item}, written);
    return written;
  }
  std::set<int> reads(const Item& item) const { return arrays_read(nest_, {item}); }

  /// Whether the order of the two may matter.
  bool interact(const Item& a, const Item& b) const {
    const std::set<int> wa = writes(a), wb = writes(b), ra = reads(a), rb = reads(b);
    const auto meet = [](const std::set<int>& x, const std::set<int>& y) {
      return std::ranges::any_of(x, [&](int id) { return y.contains(id); });
    };
    return meet(wa, wb) || meet(wa, rb) || meet(ra, wb);
  }

  // ---- folds ----------------------------------------------------------------------------------------------

  /// A loop whose statements have nothing to do with each other is one loop for each.
  std::vector<Item> split(const For& loop) {
    bool apart = loop.body.size() > 1;
    for (std::size_t a = 0; a < loop.body.size(); ++a)
      for (std::size_t b = 0; b < a && apart; ++b) apart = !interact(loop.body[a], loop.body[b]);
    std::vector<Item> parts;
    if (!apart) {
      parts.emplace_back(std::make_shared<For>(loop));
      return parts;
    }
    for (const Item& item : loop.body) {
      auto part = std::make_shared<For>();
      part->loop = parts.empty() ? loop.loop : nest_.add_loop(Loop(nest_.loop(loop.loop)));
      part->body.push_back(item);
      if (!parts.empty())
        rename_loop(nest_, part->body, loop.loop, index_of(part->loop, nest_.loop(loop.loop).place));
      parts.emplace_back(std::move(part));
    }
    return parts;
  }

  /// `for (k) X[f] op= e` becomes `X[f] op= fold(k) e`, if no step reads what others write.
  Item folded(Item item) const {
    const For& loop = *std::get<std::shared_ptr<For>>(item);
    if (loop.body.size() != 1) return item;
    const auto* assign = std::get_if<Assign>(&loop.body[0]);
    if (!assign) return item;
    const auto accumulation = accumulation_of(nest_, *assign);
    if (!accumulation) return item;
    for (const Tree& at : assign->at)
      if (mentions_loop(nest_, at, loop.loop) || !affine_of(nest_, at)) return item;
    for (const Tree& end : {nest_.loop(loop.loop).lo, nest_.loop(loop.loop).hi})
      if (reads_array(nest_, end, assign->array)) return item;
    const Tree fold = make({.kind = Kind::Reduce,
                            .type = assign->value->type,
                            .place = assign->place,
                            .op = accumulation->op,
                            .args = {assign->guard, accumulation->value},
                            .loops = {loop.loop}});
    if (touches(fold, assign->array, assign->at)) return item;
    Assign whole = *assign;
    whole.guard = nullptr;
    Tree merged = fold;
    const Tree& inner = accumulation->value;
    if (!assign->guard && inner->kind == Kind::Reduce && inner->op == fold->op) {
      Node node = *fold;
      node.loops.insert(node.loops.end(), inner->loops.begin(), inner->loops.end());
      node.args = inner->args;
      merged = make(std::move(node));
    }
    const Tree old = read_of(nest_, assign->array, assign->at, assign->place);
    whole.value = apply(accumulation->minus ? "-" : accumulation->op, {old, merged}, assign->value->type,
                        assign->place);
    return whole;
  }

  /// Whether a tree may read the element in the same step of the loops around.
  bool touches(const Tree& tree, int array, const std::vector<Tree>& at) const {
    bool found = false;
    each_read(nest_, tree, outside(), [&](const Tree& read, const Condition& path) {
      if (!found && read->id == array) found = ask_.is_possible(path && ask_.same_element(read->args, at));
    });
    return found;
  }

  // ---- composed assignments -------------------------------------------------------------------------------

  void append(std::vector<Item>& items, Item item) {
    if (auto* later = std::get_if<Assign>(&item)) {
      for (std::size_t p = items.size(); p-- > 0;) {
        if (auto* earlier = std::get_if<Assign>(&items[p]);
            earlier && earlier->array == later->array && same(earlier->at, later->at)) {
          if (auto one = composed(*earlier, *later)) {
            items[p] = std::move(*one);
            return;
          }
          break;
        }
        if (interact(items[p], item)) break;
      }
    }
    items.push_back(std::move(item));
  }

  void recompose(std::vector<Item>& items) {
    std::vector<Item> result;
    for (Item& item : items) append(result, std::move(item));
    items = std::move(result);
  }

  /// Both assignments, to the same element, as one.
  std::optional<Assign> composed(const Assign& first, const Assign& second) {
    for (const Tree& at : first.at)
      if (!affine_of(nest_, at)) return std::nullopt;
    const auto is_old = [&](const Tree& tree) {
      return tree->kind == Kind::Read && tree->id == first.array && same(tree->args, first.at);
    };
    // Other reads of the array must be of other elements.
    bool clean = true;
    int uses = 0;
    each_read(nest_, second, outside(), [&](const Tree& read, const Condition& path) {
      if (read->id != first.array) return;
      if (is_old(read))
        ++uses;
      else
        clean = clean && !ask_.is_possible(path && ask_.same_element(read->args, first.at));
    });
    if (!clean) return std::nullopt;
    // A while loop and a fold would compute the value in every step.
    bool inside = false;
    visit(nest_, second.value, [&](const Tree& node) {
      if (node->kind == Kind::Reduce || node->kind == Kind::While)
        visit(nest_, node, [&](const Tree& part) { inside = inside || is_old(part); });
    });
    if (inside && !is_light(first.value)) return std::nullopt;
    if (first.guard && second.guard && same(negated(first.guard), second.guard) &&
        !reads_array(nest_, first.guard, first.array)) {
      Assign either = second;
      either.value = choose(first.guard, first.value, second.value);
      either.guard = nullptr;
      return either;
    }
    if (auto whole = with_else(first, second)) return whole;
    const Tree old = read_of(nest_, first.array, first.at, first.place);
    const Tree value = first.guard ? choose(first.guard, first.value, old) : first.value;
    if (second.guard) ++uses;
    Tree name = value;
    const bool named = uses > 1 && !is_light(value);
    if (named)
      name = make({.kind = Kind::Local, .type = value->type, .place = first.place, .id = nest_.locals++});
    const auto put = [&](const Tree& tree) {
      return rewrite(tree, [&](const Tree& node) { return is_old(node) ? name : Tree(); });
    };
    Assign one = second;
    one.value = simplified(put(second.value));
    if (second.guard) one.value = choose(put(second.guard), one.value, name);
    if (named)
      one.value = make({.kind = Kind::Let,
                        .type = one.value->type,
                        .place = first.place,
                        .id = name->id,
                        .args = {value, one.value}});
    one.guard = first.guard && second.guard
                    ? apply("or", {first.guard, second.guard}, Scalar::Bool, first.place)
                    : nullptr;
    if (one.guard && reads_array(nest_, one.guard, one.array)) return std::nullopt;
    return one;
  }

  /// `X = c ? a : b`, followed by `if (!c) X = e(X)`: it is `X = c ? a : e(b)`.
  std::optional<Assign> with_else(const Assign& first, const Assign& second) const {
    if (first.guard || !second.guard || reads_array(nest_, second.guard, first.array)) return std::nullopt;
    const bool named = first.value->kind == Kind::Let;
    const Tree& choice = named ? first.value->args[1] : first.value;
    if (choice->kind != Kind::Choose || !same(negated(choice->args[0]), second.guard)) return std::nullopt;
    const Tree& before = choice->args[2];
    int uses = 0;
    const Tree after = rewrite(second.value, [&](const Tree& node) {
      const bool old = node->kind == Kind::Read && node->id == first.array && same(node->args, first.at);
      uses += old ? 1 : 0;
      return old ? before : Tree();
    });
    if (uses > 1 && !is_light(before)) return std::nullopt;
    Assign one = second;
    one.guard = nullptr;
    one.value = choose(choice->args[0], choice->args[1], after);
    if (named) {
      Node let = *first.value;
      let.args[1] = one.value;
      one.value = make(std::move(let));
    }
    return one;
  }

  /// What a fold starts with need not be added.
  static Tree simplified(const Tree& tree) {
    if (tree->kind != Kind::Apply || tree->args.size() != 2) return tree;
    const bool sum = tree->op == "+" && is_number(tree->args[0], 0) && tree->args[1]->kind == Kind::Reduce;
    const bool product =
        tree->op == "*" && is_number(tree->args[0], 1) && tree->args[1]->kind == Kind::Reduce;
    return sum || product ? tree->args[1] : tree;
  }

  // ---- adjacent loops -------------------------------------------------------------------------------------

  /// A piece of a recurrence: an assignment over a range of one loop, or a single one.
  struct Piece {
    const Assign* assign;
    const Loop* loop;  // null: a single step
    int id = -1;
  };

  std::optional<Piece> piece(const Item& item) const {
    if (const auto* assign = std::get_if<Assign>(&item))
      return assign->guard ? std::optional<Piece>() : Piece{assign, nullptr};
    const For& loop = *std::get<std::shared_ptr<For>>(item);
    if (loop.body.size() != 1) return std::nullopt;
    const auto* assign = std::get_if<Assign>(&loop.body[0]);
    if (!assign || assign->guard || !range_of(nest_, loop.loop).exact) return std::nullopt;
    return Piece{assign, &nest_.loop(loop.loop), loop.loop};
  }

  /// Whether an assignment is a step of a recurrence: it reads other elements of the array that it writes.
  bool continues(const Assign& assign) const {
    bool found = false;
    visit(nest_, assign.value, [&](const Tree& node) {
      found = found || (node->kind == Kind::Read && node->id == assign.array && !same(node->args, assign.at));
    });
    return found;
  }

  /// `X[f(a-1)] = u; for (k = a; …) X[f(k)] = v` and its like, where v continues what u began, becomes one
  /// loop.
  bool concatenate(std::vector<Item>& items) {
    for (std::size_t p = 0; p + 1 < items.size(); ++p) {
      const auto a = piece(items[p]), b = piece(items[p + 1]);
      if (!a || !b || (!a->loop && !b->loop) || a->assign->array != b->assign->array || a->assign->at.empty())
        continue;
      if (!continues(*b->assign)) continue;
      const int id = b->loop ? b->id : a->id;
      const Loop& main = nest_.loop(id);
      const Place& place = b->assign->place;
      const Tree one = integer(1, place);
      // Where the pieces meet, and what the index of a single step is.
      const Tree seam = b->loop ? b->loop->lo : a->loop->hi;
      const Tree lo = tidy(nest_, a->loop ? a->loop->lo : apply("-", {seam, one}, Scalar::I64, place));
      const Tree hi = tidy(nest_, b->loop ? b->loop->hi : apply("+", {seam, one}, Scalar::I64, place));
      const auto la = affine_of(nest_, lo), lm = affine_of(nest_, seam), lh = affine_of(nest_, hi);
      if (!la || !lm || !lh) continue;
      if (a->loop && b->loop && affine_of(nest_, a->loop->hi) != lm) continue;
      if (!ask_.implies(outside(), poly::at_most(*la, *lm) && poly::at_most(*lm, *lh))) continue;
      const Tree index = index_of(id, place);
      const auto moved = [&](const Tree& tree) {
        return a->loop && b->loop ? rename_index(nest_, tree, a->id, index) : tree;
      };
      // In one of them the single step stands for the index.
      bool fits = a->assign->at.size() == b->assign->at.size();
      for (std::size_t k = 0; fits && k < a->assign->at.size(); ++k) {
        Tree x = moved(a->assign->at[k]), y = b->assign->at[k];
        if (!a->loop) y = replace_index(y, id, lo);
        if (!b->loop) x = replace_index(x, id, seam);
        const auto ax = affine_of(nest_, x), ay = affine_of(nest_, y);
        fits = ax && ay && *ax == *ay;
      }
      if (!fits) continue;
      Assign whole = *b->assign;
      whole.at = b->loop ? b->assign->at : a->assign->at;
      whole.value =
          choose(apply("<", {index, seam}, Scalar::Bool, place), moved(a->assign->value), b->assign->value);
      Loop range{main.name, lo, hi, main.place};
      auto loop = std::make_shared<For>();
      loop->loop = nest_.add_loop(std::move(range));
      const Tree fresh = index_of(loop->loop, place);
      for (Tree& at : whole.at) at = rename_index(nest_, at, id, fresh);
      whole.value = rename_index(nest_, whole.value, id, fresh);
      loop->body.emplace_back(std::move(whole));
      items[p] = Item(std::move(loop));
      items.erase(items.begin() + static_cast<std::ptrdiff_t>(p) + 1);
      return true;
    }
    return false;
  }

  Nest& nest_;
  Questions ask_;
  std::vector<int> open_;
};

}  // namespace

void normalize(Nest& nest) {
  Normalizer normalizer(nest);
  normalizer.tidy_guards(nest.items);
  normalizer.list(nest.items);
  privatize(nest);
}

}  // namespace twill::c
