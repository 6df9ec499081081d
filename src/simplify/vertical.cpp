// Vertical fusion where there is no choice: what a producer computes for an element is computed where its only
// consumer reads that element.
//
// Two kinds of producer can be consumed so. A map (all dimensions Cat, every element from one point) is
// substituted for the read of its element. A collection (all dimensions Append) lends the consumer its
// dimensions and its guard: the consumer's dimension over the collection becomes the dimensions that fill it.
#include "simplify/passes.h"

#include "program/edit.h"
#include "program/index_use.h"

#include <algorithm>
#include <optional>

namespace twill {

namespace {

/// Operations that cost less than to write an element to memory and to read it back.
constexpr int cheap_operations = 16;

/// A function counts as many operations.
int operations(Expr node) {
  if (as<Invoke>(node)) return cheap_operations;
  const auto* apply = as<Apply>(node);
  if (!apply) return 0;
  return info(apply->prim).prim_class == PrimClass::Function ? cheap_operations : 1;
}

bool has_hint(const Stage& stage, Hint hint) {
  return std::find(stage.hints.begin(), stage.hints.end(), hint) != stage.hints.end();
}

template <class C>
bool any_is(const Stage& stage) {
  return std::any_of(stage.outputs.begin(), stage.outputs.end(), [](const Output& output) {
    return std::any_of(output.combine.begin(), output.combine.end(),
                       [](const Combine& combine) { return is<C>(combine); });
  });
}

template <class C>
bool all_are(const Output& output) {
  return std::all_of(output.combine.begin(), output.combine.end(),
                     [](const Combine& combine) { return is<C>(combine); });
}

class Vertical {
 public:
  Vertical(Scope& scope, Notes& notes)
      : scope_(scope), notes_(notes), uses_(scope), weight_(scope.stages.size(), 1) {
    for (const Stage& stage : scope.stages) {
      int count = 0;
      for_each_expr(stage, [&](Expr root) { visit(root, [&](Expr node) { count += operations(node); }); });
      operations_.push_back(count);
    }
  }

  bool run() {
    for (std::size_t c = 0; c < scope_.stages.size(); ++c) absorb_all(static_cast<int>(c));
    std::size_t kept = 0;
    for (std::size_t s = 0; s < scope_.stages.size(); ++s) {
      if (gone_.contains(static_cast<int>(s))) continue;
      if (kept != s) scope_.stages[kept] = std::move(scope_.stages[s]);
      ++kept;
    }
    scope_.stages.resize(kept);
    return !gone_.empty();
  }

 private:
  /// A producer with the one expression that reads it.
  struct Edge {
    int producer;
    ArrayId array;
    Expr read;
  };

  Stage& stage(int position) { return scope_.stages[static_cast<std::size_t>(position)]; }
  const std::string& name_of(ArrayId array) const { return scope_.program[array].name; }

  void absorb_all(int consumer) {
    std::vector<Edge> maps;
    std::optional<Edge> collection;
    for (const auto& [array, reads] : reads_in(stage(consumer))) {
      const int producer = uses_.definer(array);
      if (producer < 0 || producer == consumer) continue;
      const bool collects = all_are<Append>(stage(producer).outputs.front());
      std::optional<Reason> reason = why_apart(producer, array, consumer, reads);
      if (!reason) {
        const Edge edge{producer, array, reads.front()};
        reason = collects ? why_not_over(edge, consumer) : why_not_at(edge, consumer);
        if (!reason && !collects) maps.push_back(edge);
        if (!reason && collects && !collection) collection = edge;
      }
      if (reason) notes_.not_done.push_back(std::move(*reason));
    }
    if (!maps.empty()) substitute(maps, consumer);
    // A map that was substituted may use the index that the collection replaces: the next round sees that.
    else if (collection)
      iterate_over(*collection, consumer);
  }

  /// The expressions that read each array, in order of first mention.
  static std::vector<std::pair<ArrayId, std::vector<Expr>>> reads_in(const Stage& stage) {
    std::vector<std::pair<ArrayId, std::vector<Expr>>> all;
    std::map<ArrayId, std::size_t> position;
    std::set<const Node*> seen;
    for_each_expr(stage, [&](Expr root) {
      visit(root, [&](Expr node) {
        const auto* read = as<Read>(node);
        if (!read || !seen.insert(node.get()).second) return;
        const auto [at, is_new] = position.emplace(read->array, all.size());
        if (is_new) all.push_back({read->array, {}});
        all[at->second].second.push_back(node);
      });
    });
    return all;
  }

  static Reason apart(std::string code, const Stage& producer, const Stage& consumer, const std::string& why) {
    return {std::move(code),
            {producer.name, consumer.name},
            "'" + producer.name + "' is not computed inside of '" + consumer.name + "': " + why,
            consumer.place};
  }

  /// What keeps the two apart whatever the kind of the producer.
  std::optional<Reason> why_apart(int p, ArrayId array, int c, const std::vector<Expr>& reads) {
    const Stage &producer = stage(p), &consumer = stage(c);
    const auto no = [&](std::string code, const std::string& why) {
      return apart(std::move(code), producer, consumer, why);
    };
    const Output& output = producer.outputs.front();
    if (producer.outputs.size() > 1) return no("several-outputs", "it has several outputs");
    if (output.array != array) return no("offsets", "'" + name_of(array) + "' is not its values");
    if (uses_.is_held(array) || uses_.readers(array).size() > 1)
      return no("shared", "'" + name_of(array) + "' is needed elsewhere as well");
    if (output.force) return no("forced", "'" + name_of(array) + "' is forced");
    if (has_hint(producer, Hint::Never) || has_hint(consumer, Hint::Never))
      return no("never", "the program says never");
    if (!producer.effects.empty()) return no("effect", "it has effects of its own");
    if (!std::holds_alternative<Formula>(producer.body)) return no("block", "it is a block");
    if (!std::holds_alternative<Formula>(consumer.body))
      return no("block", "'" + consumer.name + "' is a block");
    if (output.into) return no("version", "it is a new version of an array");
    if (reads.size() > 1)
      return no("several-elements", "'" + name_of(array) + "' is read at several places");
    const auto& rules = as<Read>(reads.front())->rules;
    if (std::any_of(rules.begin(), rules.end(), [](Boundary rule) { return rule != Boundary::Inside; }))
      return no("boundary", "'" + name_of(array) + "' is read beyond its boundary");
    return std::nullopt;
  }

  /// A loop that is one after the other stays short.
  std::optional<Reason> why_worse(int p, int c) {
    const Stage &producer = stage(p), &consumer = stage(c);
    if (any_is<Seq>(consumer) || any_is<Group>(consumer) || !consumer.effects.empty())
      return apart("parallelism", producer, consumer, "'" + consumer.name + "' runs in order");
    const bool two_passes = any_is<Scan>(consumer) || any_is<Append>(consumer);
    if (two_passes && operations_[static_cast<std::size_t>(p)] > cheap_operations)
      return apart("twice", producer, consumer,
                   "'" + consumer.name + "' would compute its values in both of its passes");
    return std::nullopt;
  }

  /// Why a map cannot be substituted for the read of its element.
  std::optional<Reason> why_not_at(const Edge& edge, int c) {
    const Stage &producer = stage(edge.producer), &consumer = stage(c);
    const Output& output = producer.outputs.front();
    const auto no = [&](std::string code, const std::string& why) {
      return apart(std::move(code), producer, consumer, why);
    };
    if (!all_are<Cat>(output) || output.guard || output.at.size() != producer.dims.size())
      return no("not-a-map", "it is not one value per element");
    if (!plain_indices(output.at, producer)) return no("not-a-map", "it does not write at its indices");
    if (!plain_indices(edge.read->args, consumer))
      return no("other-element", "'" + name_of(edge.array) + "' is read at another place than its own");
    if (edge.read->args.size() != consumer.dims.size())
      return no("repeated", "every element would be computed again and again");
    return why_worse(edge.producer, c);
  }

  /// Is each expression an index of the stage, and each index used at most once?
  static bool plain_indices(std::span<const Expr> list, const Stage& stage) {
    std::set<DimId> used;
    return std::all_of(list.begin(), list.end(), [&](Expr e) {
      const auto* index = as<IndexRef>(e);
      return index &&
             std::any_of(stage.dims.begin(), stage.dims.end(),
                         [&](const Dim& dim) { return dim.id == index->dim; }) &&
             used.insert(index->dim).second;
    });
  }

  /// Why the consumer's outermost dimension cannot become the dimensions that fill the collection.
  std::optional<Reason> why_not_over(const Edge& edge, int c) {
    const Stage &producer = stage(edge.producer), &consumer = stage(c);
    const Output& output = producer.outputs.front();
    const auto no = [&](std::string code, const std::string& why) {
      return apart(std::move(code), producer, consumer, why);
    };
    const std::string elements = "the elements of '" + name_of(edge.array) + "'";
    const auto* length = as<SizeRef>(scope_.program[edge.array].shape.front());
    if (output.offsets || !length) return no("nested", "its values belong to rows");
    const Dim* over = consumer.dims.empty() ? nullptr : &consumer.dims.front();
    const auto* from = over ? as<Literal>(over->lo) : nullptr;
    if (!over || !from || from->value.i != 0 || !over->hi ||
        over->hi != scope_.program[edge.array].shape.front() ||
        edge.read->args.front() != scope_.program.pool->index(over->id))
      return no("other-element", "'" + consumer.name + "' does not go through " + elements + " in order");
    // The position in the collection, and its length, are not known before it is complete.
    bool position = false, length_used = false;
    const auto look = [&](Expr root) {
      const Expr rest = rewrite(*scope_.program.pool, root,
                                [&](Expr node) { return node == edge.read ? placeholder(node) : Expr{}; });
      position = position || mentions(rest, over->id);
      visit(rest, [&](Expr node) {
        const auto* size = as<SizeRef>(node);
        length_used = length_used || (size && size->symbol == length->symbol);
      });
    };
    for (std::size_t d = 1; d < consumer.dims.size(); ++d) {
      look(consumer.dims[d].lo);
      if (consumer.dims[d].hi) look(consumer.dims[d].hi);
    }
    bool takes_length = false;
    for (const Output& out : consumer.outputs) {
      for (const Expr e : {out.value, out.guard, out.key})
        if (e) look(e);
      const Combine& combine = out.combine.front();
      const bool maps = is<Cat>(combine) && consumer.dims.size() == 1 && out.at.size() == 1 &&
                        out.at.front() == scope_.program.pool->index(over->id) && !out.into && !out.guard;
      if (maps) {
        if (takes_length) return no("lengths", "several outputs would have its length");
        takes_length = true;
        continue;
      }
      if (!is<Fold>(combine) && !is<Append>(combine) && !is<Scatter>(combine) && !is<Group>(combine))
        return no("combine", "'" + name_of(out.array) + "' has one element for each of " + elements);
      for (const Expr e : out.at) look(e);
      for (const Expr extent : scope_.program[out.array].shape) look(extent);
    }
    for (const Effect& effect : consumer.effects) {
      if (effect.guard) look(effect.guard);
      for (const auto& argument : effect.arguments)
        if (const Expr* e = std::get_if<Expr>(&argument)) look(*e);
    }
    if (position) return no("position", "the position of an element is used");
    if (length_used) return no("length", "the length of '" + name_of(edge.array) + "' is used");
    for (const int user : uses_.users(length->symbol)) {
      if (user == edge.producer || user == c) continue;
      if (!takes_length || user < c)
        return no("length", "the length of '" + name_of(edge.array) + "' is needed elsewhere as well");
    }
    if (consumer.dims.size() > 1 && output.guard)
      return no("guard", "its condition would not guard the loops inside of '" + consumer.name + "'");
    if (any_is<Seq>(consumer))
      return no("parallelism", "'" + consumer.name + "' runs in order");
    return std::nullopt;
  }

  /// Stands for a read while its surroundings are looked at.
  Expr placeholder(Expr node) { return scope_.program.pool->arg(0, node->type); }

  Expr renamed(Expr e, const std::map<DimId, DimId>& names) {
    return rewrite(*scope_.program.pool, e, [&](Expr node) {
      const auto* index = as<IndexRef>(node);
      const auto found = index ? names.find(index->dim) : names.end();
      return found == names.end() ? Expr{} : scope_.program.pool->index(found->second, node->place);
    });
  }

  /// The element as the array would hold it.
  Expr element(const Edge& edge, Expr value) {
    return scope_.program.pool->cast(scope_.program[edge.array].type, value);
  }

  /// Replaces the reads of maps by their values. The dimensions keep the ids of the producer with the most
  /// stages in it, so that long chains are not rewritten again and again.
  void substitute(const std::vector<Edge>& maps, int c) {
    Stage& consumer = stage(c);
    const Edge& heaviest = *std::max_element(maps.begin(), maps.end(), [&](const Edge& a, const Edge& b) {
      return weight_[static_cast<std::size_t>(a.producer)] < weight_[static_cast<std::size_t>(b.producer)];
    });
    std::map<DimId, DimId> names;
    const Stage& kept = stage(heaviest.producer);
    for (std::size_t k = 0; k < heaviest.read->args.size(); ++k)
      names[as<IndexRef>(heaviest.read->args[k])->dim] = as<IndexRef>(kept.outputs.front().at[k])->dim;
    std::map<const Node*, Expr> values;
    for (const Edge& edge : maps) {
      const Output& output = stage(edge.producer).outputs.front();
      std::map<DimId, DimId> own;
      for (std::size_t k = 0; k < edge.read->args.size(); ++k)
        own[as<IndexRef>(output.at[k])->dim] = names.at(as<IndexRef>(edge.read->args[k])->dim);
      const Expr value = edge.producer == heaviest.producer ? output.value : renamed(output.value, own);
      values[edge.read.get()] = element(edge, value);
    }
    for_each_slot(consumer, [&](Expr& slot) {
      slot = rewrite(*scope_.program.pool, slot, [&](Expr node) -> Expr {
        if (const auto found = values.find(node.get()); found != values.end()) return found->second;
        const auto* index = as<IndexRef>(node);
        const auto name = index ? names.find(index->dim) : names.end();
        return name == names.end() ? Expr{} : scope_.program.pool->index(name->second, node->place);
      });
    });
    for (Dim& dim : consumer.dims) dim.id = names.at(dim.id);
    for (Dim& dim : consumer.dims)
      scope_.program.dim_names[static_cast<std::size_t>(dim.id.value)] = dim.name;
    for (const Edge& edge : maps) absorbed(edge, c);
  }

  void iterate_over(const Edge& edge, int c) {
    ExprPool& pool = *scope_.program.pool;
    const Stage& producer = stage(edge.producer);
    Stage& consumer = stage(c);
    const Output& filled = producer.outputs.front();
    const Expr value = element(edge, filled.value);
    const auto both = [&](Expr guard) {
      if (!filled.guard) return guard;
      return guard ? pool.apply(Prim::And, {filled.guard, guard}) : filled.guard;
    };
    consumer.dims.erase(consumer.dims.begin());
    consumer.dims.insert(consumer.dims.begin(), producer.dims.begin(), producer.dims.end());
    for_each_slot(consumer, [&](Expr& slot) {
      slot = rewrite(pool, slot, [&](Expr node) { return node == edge.read ? value : Expr{}; });
    });
    for (Output& output : consumer.outputs) {
      output.guard = both(output.guard);
      Combine combine = output.combine.front();
      if (is<Cat>(combine)) {
        combine = Append{};
        output.at.clear();
      }
      output.combine.erase(output.combine.begin());
      output.combine.insert(output.combine.begin(), producer.dims.size(), combine);
    }
    for (Effect& effect : consumer.effects) effect.guard = both(effect.guard);
    absorbed(edge, c);
  }

  void absorbed(const Edge& edge, int c) {
    const auto from = static_cast<std::size_t>(edge.producer), to = static_cast<std::size_t>(c);
    notes_.done.push_back({"inlined",
                           {stage(edge.producer).name, stage(c).name},
                           "'" + stage(edge.producer).name + "' is computed inside of '" + stage(c).name +
                               "', and '" + name_of(edge.array) + "' needs no memory",
                           stage(edge.producer).place});
    weight_[to] += weight_[from];
    operations_[to] += operations_[from];
    uses_.merge(edge.producer, c);
    gone_.insert(edge.producer);
  }

  Scope& scope_;
  Notes& notes_;
  Uses uses_;
  std::vector<int> weight_;      // how many stages each has become
  std::vector<int> operations_;  // per point
  std::set<int> gone_;
};

}  // namespace

bool fuse_vertically(Scope& scope, Notes& notes) { return Vertical(scope, notes).run(); }

}  // namespace twill
