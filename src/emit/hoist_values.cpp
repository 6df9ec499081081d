#include "emit/hoist_values.h"

#include "emit/uses.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace twill::nest {

namespace {

/// Values are opened so many times, to see what they are made of.
constexpr int most_rounds = 8;

/// How code inside of a list is reached from it.
struct Path {
  std::vector<Expr> conditions = {};  // in the order in which they are asked
  int loops = 0;
  bool lanes = false;          // one of them takes many points at once, or is run by the cores
  const For* first = nullptr;  // the outermost one, if nothing around it decides about its bounds
};

/// Where a list of code, or code inside of it, computes a value.
struct Place {
  std::size_t statement;  // of the list
  Path path;
  bool hidden = false;  // its own expression has conditions, too
  bool asked = false;   // it belongs to a condition, behind the first thing that is asked
  const Code* inner;    // the innermost list that it is in, and where
  std::size_t position;
};

/// A value that becomes a variable.
struct Kept {
  Expr value;
  ArrayId variable{};
  std::size_t first = 0, last = 0;  // statements of the list that use it
  Expr condition{};                 // under which it is computed before the first one; null: always
  std::optional<ArrayId> known{};   // or it is computed where that does not hold yet, in front of these:
  std::vector<std::pair<const Code*, std::size_t>> at{};
};

/// What a condition asks, one thing after the other.
void split(Expr condition, std::vector<Expr>& parts) {
  const auto* apply = as<Apply>(condition);
  if (apply && apply->prim == Prim::And) {
    for (const Expr part : condition->args) split(part, parts);
  } else {
    parts.push_back(condition);
  }
}

/// One list of code.
class Survey {
 public:
  Survey(Tables& tables, const Code& list) : t_(tables), list_(list) {
    for (const Statement& statement : list) uses_.push_back(uses_of(t_.nest(), {&statement, 1}));
  }

  std::vector<Kept> find() {
    for (int round = 0; round < most_rounds; ++round) {
      values_.clear();
      places_.clear();
      for (std::size_t s = 0; s < list_.size(); ++s) {
        same_.clear();
        look(s, list_[s], {}, list_, s);
      }
      if (!open_single_ones()) break;
    }
    std::vector<Kept> all;
    for (const Expr value : values_)
      if (auto kept = keep(value)) all.push_back(std::move(*kept));
    return all;
  }

  /// Values that stay what they are, with all that they are made of.
  bool is_value(Expr e) const { return places_.contains(e.get()); }

 private:
  void look(std::size_t s, const Code& inner, const Path& path) {
    for (std::size_t k = 0; k < inner.size(); ++k) look(s, inner[k], path, inner, k);
  }

  void look(std::size_t s, const Statement& statement, const Path& path, const Code& inner,
            std::size_t position) {
    const auto note = [&](Expr root, const Path& there, bool asked = false) {
      std::unordered_set<const Node*> sure;
      visit_surely(root, [&](Expr node) { sure.insert(node.get()); });
      descend(root, [&](Expr node) {
        if (!costs_much(node)) return false;
        if (!node->type.is_scalar() || opened_.contains(node.get()) || !stays(node, s)) return true;
        std::vector<Place>& places = places_[node.get()];
        if (places.empty()) values_.push_back(node);
        places.push_back({s, there, !sure.contains(node.get()), asked, &inner, position});
        return false;
      });
    };
    if (const If* choice = std::get_if<If>(&statement.kind)) {
      std::vector<Expr> parts;
      split(choice->condition, parts);
      Path then = path;
      for (const Expr part : parts) {
        note(part, then, part != parts.front());
        then.conditions.push_back(part);
      }
      look(s, choice->then, then);
      Path otherwise = path;
      otherwise.conditions.push_back(t_.pool().apply(Prim::Not, {choice->condition}));
      look(s, choice->otherwise, otherwise);
      return;
    }
    Path inside = path;
    if (const For* loop = std::get_if<For>(&statement.kind)) {
      const bool known = path.loops == 0 && stays(loop->lo, s) && stays(loop->hi, s);
      inside.first = known ? loop : path.first;
      inside.lanes = path.lanes || loop->by != By::Seq;
      ++inside.loops;
    } else if (!std::holds_alternative<Within>(statement.kind)) {
      ++inside.loops;
    }
    const bool repeats = std::holds_alternative<While>(statement.kind);
    for_each_expr(statement, [&](Expr root) { note(root, repeats ? inside : path); });
    for_each_code(statement, [&](const Code& code) { look(s, code, inside); });
  }

  /// Does it call a function?
  bool costs_much(Expr root) {
    visit(root, [&](Expr node) {
      const auto [found, is_new] = costly_.try_emplace(node.get());
      if (!is_new) return;
      const auto* apply = as<Apply>(node);
      found->second = as<Invoke>(node) || (apply && info(apply->prim).prim_class == PrimClass::Function);
      for (const Expr operand : node->args) found->second = found->second || costly_.at(operand.get());
    });
    return costly_.at(root.get());
  }

  /// Is it the same wherever the statement, or code inside of it, computes it, and before it?
  bool stays(Expr root, std::size_t s) {
    const Uses& uses = uses_[s];
    visit(root, [&](Expr node) {
      const auto [found, is_new] = same_.try_emplace(node.get());
      if (!is_new) return;
      bool same = true;
      if (const IndexRef* index = as<IndexRef>(node)) same = uses.dims.contains(index->dim);
      if (const SizeRef* size = as<SizeRef>(node))
        same = uses.symbols.contains(size->symbol) && !uses.set.contains(size->symbol);
      if (const Read* read = as<Read>(node)) same = is_untouched(read->array, uses, true);
      for (const Expr operand : node->args) same = same && same_.at(operand.get());
      found->second = same;
    });
    return same_.at(root.get());
  }

  bool is_untouched(ArrayId array, const Uses& uses, bool used) const {
    const ArrayId memory = t_.nest().memory(array);
    return !t_.nest().boxes.contains(array) && !uses.written.contains(memory) &&
           (!used || uses.arrays.contains(memory));
  }

  /// Is it the same behind a statement that does not compute it?
  bool outlives(Expr root, std::size_t s) const {
    bool same = true;
    visit(root, [&](Expr node) {
      if (const SizeRef* size = as<SizeRef>(node)) same = same && !uses_[s].set.contains(size->symbol);
      if (const Read* read = as<Read>(node)) same = same && is_untouched(read->array, uses_[s], false);
    });
    return same;
  }

  /// Values that are computed once, as far as anybody knows, are looked into; says whether there are any.
  bool open_single_ones() {
    bool any = false;
    for (const Expr value : values_) {
      if (is_worth(places_.at(value.get()))) continue;
      const bool inner = std::ranges::any_of(value->args, [&](Expr e) { return costs_much(e); });
      any = (inner && opened_.insert(value.get()).second) || any;
    }
    return any;
  }

  /// Plain statements one after the other are no worry: compilers see what they have in common.
  bool is_worth(const std::vector<Place>& places) const {
    if (std::ranges::any_of(places, [](const Place& place) { return place.path.loops > 0; })) return true;
    if (places.size() < 2) return false;
    for (std::size_t s = places.front().statement; s <= places.back().statement; ++s) {
      const auto& kind = list_[s].kind;
      if (!std::holds_alternative<Put>(kind) && !std::holds_alternative<Local>(kind) &&
          !std::holds_alternative<Let>(kind) && !std::holds_alternative<Remark>(kind))
        return true;
    }
    return false;
  }

  std::optional<Kept> keep(Expr value) {
    std::vector<Place> places = places_.at(value.get());
    std::size_t end = places.front().statement;
    while (end <= places.back().statement && outlives(value, end)) ++end;
    std::erase_if(places, [&](const Place& place) { return place.statement >= end; });
    if (places.empty() || !is_worth(places)) return std::nullopt;
    Kept kept{.value = value, .first = places.front().statement, .last = places.back().statement};
    const std::vector<Expr> common = common_conditions(places, kept.last);
    bool exact = true, lazy = true, lanes = false;
    const For* loop = places.front().path.first;
    for (const Place& place : places) {
      if (place.path.loops == 0 || place.path.first != loop) loop = nullptr;
      lazy = lazy && !place.hidden && !place.asked && !place.path.lanes;
      lanes = lanes || place.path.lanes;
    }
    const auto runs_always = [&](const Place& place) {
      return !place.hidden && place.path.conditions.size() == common.size() &&
             (place.path.loops == 0 || (place.path.loops == 1 && loop));
    };
    exact = std::ranges::any_of(
                places, [&](const Place& place) { return runs_always(place) && place.path.loops == 0; }) ||
            std::ranges::all_of(places, runs_always);
    if (!exact && !lazy && (!lanes || may_fail(value, common))) return std::nullopt;
    kept.variable = t_.new_variable("kept", value->type);
    if (!exact && lazy) {
      kept.known = t_.new_variable("is_kept", Scalar::Bool);
      for (const Place& place : places)
        if (std::ranges::none_of(kept.at, [&](const auto& at) { return at.first == place.inner; }))
          kept.at.push_back({place.inner, place.position});
      return kept;
    }
    const auto also = [&](Expr part) {
      kept.condition = kept.condition ? t_.pool().apply(Prim::And, {kept.condition, part}) : part;
    };
    for (const Expr part : common) also(part);
    if (loop) also(t_.compare(Prim::Lt, loop->lo, loop->hi));
    return kept;
  }

  /// The conditions that all of them begin with, as long as these can be asked before the first statement.
  std::vector<Expr> common_conditions(const std::vector<Place>& places, std::size_t last) {
    std::vector<Expr> common = places.front().path.conditions;
    std::size_t count = common.size();
    for (const Place& place : places) {
      const std::vector<Expr>& own = place.path.conditions;
      const auto end = std::mismatch(common.begin(), common.end(), own.begin(), own.end()).first;
      count = std::min(count, static_cast<std::size_t>(end - common.begin()));
    }
    same_.clear();
    for (std::size_t k = 0; k < count; ++k) {
      bool same = stays(common[k], places.front().statement);
      for (std::size_t s = places.front().statement; s <= last; ++s) same = same && outlives(common[k], s);
      if (!same) count = k;
    }
    common.resize(count);
    return common;
  }

  /// Could it fail, if it is computed where nothing but these conditions is known?
  bool may_fail(Expr value, const std::vector<Expr>& conditions) const {
    std::unordered_set<const Node*> known;
    for (const Expr condition : conditions)
      visit_surely(condition, [&](Expr node) { known.insert(node.get()); });
    bool fails = false;
    visit(value, [&](Expr node) {
      fails = fails || (is_partial(node, t_.program().functions) && !known.contains(node.get()));
    });
    return fails;
  }

  Tables& t_;
  const Code& list_;
  std::vector<Uses> uses_;  // by statement
  std::vector<Expr> values_;
  std::unordered_map<const Node*, std::vector<Place>> places_;
  std::unordered_set<const Node*> opened_;  // values that are looked into
  std::unordered_map<const Node*, bool> same_, costly_;
};

class Hoister {
 public:
  explicit Hoister(Tables& tables) : t_(tables) {}

  void code(Code& list) {
    if (!std::ranges::any_of(list, calls)) return;
    Survey survey(t_, list);
    std::vector<Kept> all = survey.find();
    if (!all.empty()) keep(list, all, survey);
    for (Statement& statement : list) {
      const For* loop = std::get_if<For>(&statement.kind);
      if (loop && loop->by == By::Simd) continue;
      for_each_code(statement, [&](Code& inside) { code(inside); });
    }
  }

 private:
  /// Does the statement, or code inside of it, call a function?
  static bool calls(const Statement& statement) {
    bool found = false;
    for_each_expr(statement, [&](Expr root) {
      visit(root, [&](Expr node) {
        const auto* apply = as<Apply>(node);
        found = found || as<Invoke>(node) || (apply && info(apply->prim).prim_class == PrimClass::Function);
      });
    });
    for_each_code(statement,
                  [&](const Code& inside) { found = found || std::ranges::any_of(inside, calls); });
    return found;
  }

  void keep(Code& list, const std::vector<Kept>& all, const Survey& survey) {
    Code result;
    for (std::size_t s = 0; s < list.size(); ++s) {
      for (const Kept& kept : all)
        if (kept.first == s) begin(kept, result);
      std::vector<const Kept*> used;
      for (const Kept& kept : all)
        if (kept.first <= s && s <= kept.last) used.push_back(&kept);
      for (const Kept* kept : used) learn(*kept, list, s, result);
      if (!used.empty()) use(list[s], used, survey);
      result.push_back(std::move(list[s]));
    }
    list = std::move(result);
  }

  /// In front of the first statement that uses it.
  void begin(const Kept& kept, Code& code) {
    const Expr nothing = t_.pool().cast(kept.value->type, t_.number(0));
    code.push_back({Local{kept.variable, kept.condition || kept.known ? nothing : kept.value}});
    if (kept.known) code.push_back({Local{*kept.known, t_.pool().boolean(false)}});
    if (kept.condition) code.push_back({If{kept.condition, {t_.put(kept.variable, {}, kept.value)}, {}}});
  }

  /// In front of a statement that may be the first to need it.
  void learn(const Kept& kept, const Code& list, std::size_t position, Code& code) {
    if (!kept.known || std::ranges::find(kept.at, std::pair(&list, position)) == kept.at.end()) return;
    code.push_back(
        {If{t_.pool().apply(Prim::Not, {t_.read(*kept.known)}),
            {t_.put(kept.variable, {}, kept.value), t_.put(*kept.known, {}, t_.pool().boolean(true))},
            {}}});
  }

  /// Reads variables instead of computing their values, in the statement and the code inside of it. Of values
  /// that are none, nothing is replaced.
  void use(Statement& statement, const std::vector<const Kept*>& used, const Survey& survey) {
    edit_expressions(statement, [&](Expr& e) {
      e = rewrite(t_.pool(), e, [&](Expr node) -> Expr {
        for (const Kept* kept : used)
          if (node == kept->value) return t_.read(kept->variable);
        return survey.is_value(node) ? node : Expr{};
      });
    });
    for_each_code(statement, [&](Code& inside) {
      Code result;
      for (std::size_t k = 0; k < inside.size(); ++k) {
        for (const Kept* kept : used) learn(*kept, inside, k, result);
        use(inside[k], used, survey);
        result.push_back(std::move(inside[k]));
      }
      inside = std::move(result);
    });
  }

  Tables& t_;
};

}  // namespace

void hoist_values(Tables& tables, Code& code) { Hoister(tables).code(code); }

}  // namespace twill::nest
