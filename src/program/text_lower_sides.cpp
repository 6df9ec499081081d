// Lowering of the text language: `w in (if c then [ … ] else [ … ])`, a choice between two collections that a
// generator runs over. It becomes one comprehension: its first range is as long as the first one of the side
// that is chosen, its second one as long as the second one there, and so on. Where a side has no range left,
// it has one point.
#include "program/text_lower.h"

#include <algorithm>

namespace twill::text {

class Lowering::Sides {
 public:
  Sides(Lowering& lowering, const Context& context, const Ast& choice, std::set<std::string> bound)
      : lowering_(lowering), context_(context), choice_(choice), bound_(std::move(bound)), taken_(bound_) {
    add_names(choice, taken_);
  }

  AstPtr joined() {
    const Side then = side_of(choice_.args[1]), otherwise = side_of(choice_.args[2]);
    const Place& place = choice_.place;
    const auto chosen = [&](AstPtr a, AstPtr b) {
      return choice_of(choice_.args[0], std::move(a), std::move(b), place);
    };
    std::vector<Generator> generators;
    for (std::size_t level = 0; level <= indices_.size(); ++level) {
      if (level > 0)
        generators.push_back(counting(
            indices_[level - 1], chosen(then.count(level, place), otherwise.count(level, place)), place));
      const AstPtr a = then.condition(level), b = otherwise.condition(level);
      if (!a && !b) continue;
      generators.push_back(test_of(chosen(a ? a : boolean(true, place), b ? b : boolean(true, place))));
    }
    return collect_of(chosen(then.element, otherwise.element), std::move(generators), place);
  }

 private:
  /// Names and what they mean, each in terms of the indices and of those before it.
  using Names = std::vector<std::pair<std::string, AstPtr>>;

  /// One side, over indices that count from zero and that it shares with the other one.
  struct Side {
    std::vector<AstPtr> counts;                               // of its ranges
    std::vector<AstPtr> conditions = std::vector<AstPtr>(1);  // before the first range, behind it, …; or null
    AstPtr element;

    AstPtr count(std::size_t level, const Place& place) const {
      return level <= counts.size() ? counts[level - 1] : integer(1, place);
    }
    AstPtr condition(std::size_t level) const {
      return level < conditions.size() ? conditions[level] : nullptr;
    }
  };

  static AstPtr under(const Names& names, AstPtr body, std::size_t first = 0) {
    for (std::size_t n = names.size(); n-- > first;)
      body = node(AstKind::Let, names[n].first, {names[n].second, body}, body->place);
    return body;
  }

  Side side_of(const AstPtr& ast) {
    Side side;
    Names names;
    const AstPtr all = made(ast, names);
    read(*all, names, side);
    if (side.counts.empty())
      lowering_.error("E0246", all->place, "this comprehension runs over nothing",
                      "give it a generator: [ e | x in xs ]");
    side.element = under(names, all->args[0]);
    return side;
  }

  /// A list or a choice as a comprehension.
  AstPtr made(const AstPtr& ast, const Names& names) {
    std::set<std::string> bound = bound_;
    bound.insert(indices_.begin(), indices_.end());
    for (const auto& [name, value] : names) bound.insert(name);
    const AstPtr all = lowering_.as_comprehension(ast, context_, bound);
    if (all->args[0]->kind == AstKind::Collect || all->args[0]->kind == AstKind::List)
      lowering_.limit("E0254", all->args[0]->place,
                      "the elements of a side of this choice are collections that are made there",
                      "define the collection of collections first, and run over that");
    add_names(*all, taken_);
    return all;
  }

  /// The generators of a comprehension; what they name is appended to the names.
  void read(const Ast& all, Names& names, Side& side) {
    for (const Generator& g : all.generators) {
      if (g.kind == Generator::Kind::Element) {
        element(g, names, side);
        continue;
      }
      if (g.kind == Generator::Kind::Range) {
        IndexBounds bounds;
        bounds.lo.push_back({g.a, false});
        bounds.hi.push_back({g.b, true});
        range({g.name, bounds}, g.place, names, side);
        continue;
      }
      if (const auto index = as_index(g.a, [&](const std::string& name) { return is_new(name, names); })) {
        range(*index, g.place, names, side);
        continue;
      }
      AstPtr& condition = side.conditions.back();
      const AstPtr holds = under(names, g.a);
      condition = condition ? node(AstKind::Binary, "and", {condition, holds}, g.place) : holds;
    }
  }

  /// A name that means nothing yet, or an array that an index of its name hides.
  bool is_new(const std::string& name, const Names& names) const {
    if (bound_.contains(name) || means(names, name)) return false;
    const Binding* binding = context_.scope->find(name);
    const auto* array = binding ? std::get_if<View>(binding) : nullptr;
    return !binding || (array && rank_of(*array) > 0);
  }

  /// The index that counts through the next range of this side.
  AstPtr next_index(AstPtr count, const Place& place, Side& side) {
    side.counts.push_back(std::move(count));
    side.conditions.emplace_back();
    if (indices_.size() < side.counts.size()) {
      indices_.push_back(unused_name(taken_, "k"));
      taken_.insert(indices_.back());
    }
    return node(AstKind::Name, indices_[side.counts.size() - 1], {}, place);
  }

  void range(const DeclaredIndex& index, const Place& place, Names& names, Side& side) {
    if (index.bounds.hi.empty())
      lowering_.limit("E0254", place,
                      "'" + index.name + "' has no end that is written there, on a side of a choice",
                      "write " + index.name + " < N");
    const AstPtr lo = end_of(index.bounds.lo, false, place), hi = end_of(index.bounds.hi, true, place);
    const AstPtr count = lo ? node(AstKind::Binary, "-", {hi, lo}, place) : hi;
    const AstPtr k = next_index(under(names, count), place, side);
    names.emplace_back(index.name, lo ? node(AstKind::Binary, "+", {lo, k}, place) : k);
  }

  /// The tightest bound: the first index, or the one behind the last; null if there is none.
  static AstPtr end_of(const std::vector<IndexBounds::Bound>& bounds, bool upper, const Place& place) {
    AstPtr end;
    for (const IndexBounds::Bound& bound : bounds) {
      const AstPtr value = bound.strict == upper
                               ? bound.value
                               : node(AstKind::Binary, "+", {bound.value, integer(1, place)}, place);
      end = end ? node(AstKind::Call, upper ? "min" : "max", {end, value}, place) : value;
    }
    return end;
  }

  void element(const Generator& g, Names& names, Side& side) {
    const AstPtr& from = g.a;
    if (lowering_.is_made_here(*from)) {
      const AstPtr inner = made(from, names);
      Names own = names;  // what it names is not seen outside
      read(*inner, own, side);
      names.emplace_back(g.name, under(own, inner->args[0], names.size()));
    } else {
      if (lowering_.is_joint(*from))
        lowering_.limit("E0254", from->place, "'" + from->name + "' on a side of a choice is not supported",
                        "define it in a statement of its own: c = " + from->name + "(...)");
      check_walked(g, names);
      const AstPtr k = next_index(under(names, node(AstKind::Call, "len", {from}, g.place)), g.place, side);
      names.emplace_back(g.name, node(AstKind::Subscript, "", {from, k}, g.place));
    }
    const AstPtr whole = node(AstKind::Name, g.name, {}, g.place);
    for (std::size_t p = 0; p < g.parts.size(); ++p)
      names.emplace_back(g.parts[p], node(AstKind::Field, std::to_string(p), {whole}, g.place));
  }

  /// What has a length, and elements that are no rows.
  void check_walked(const Generator& g, const Names& names) const {
    const Ast& from = *g.a;
    if (from.kind == AstKind::Subscript || from.kind == AstKind::Field) return;
    const bool named = from.kind == AstKind::Name && !means(names, from.name);
    const Binding* binding = named ? context_.scope->find(from.name) : nullptr;
    if (named && !binding) lowering_.unknown_name(from, context_);
    const auto* array = binding ? std::get_if<View>(binding) : nullptr;
    const auto* nested = binding ? std::get_if<Collection>(binding) : nullptr;
    const std::size_t rank = array ? rank_of(*array) : nested ? 1 : 0;
    if (rank == 0)
      lowering_.error("E0234", from.place, "'" + g.name + "' runs over an array or a collection",
                      "a range is written " + g.name + " in a .. b");
    if (rank > 1 || (nested && nested->offsets))
      lowering_.limit("E0254", from.place, "'" + g.name + "' would be a row, on a side of a choice",
                      "number the rows with an index: i < len(" + from.name + ")");
  }

  std::size_t rank_of(const View& view) const {
    return lowering_.program_[view.array].shape.size() - view.prefix.size();
  }

  static bool means(const Names& names, const std::string& name) {
    return std::ranges::any_of(names, [&](const auto& known) { return known.first == name; });
  }

  Lowering& lowering_;
  const Context& context_;
  const Ast& choice_;
  std::set<std::string> bound_;       // around the choice
  std::set<std::string> taken_;       // that the indices must not have
  std::vector<std::string> indices_;  // of both sides
};

AstPtr Lowering::sides_as_one(const Ast& choice, const Context& context, const std::set<std::string>& bound) {
  return Sides(*this, context, choice, bound).joined();
}

}  // namespace twill::text
