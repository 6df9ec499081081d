// Comparison of programs up to ids: a bijection between the ids of both is built while they are walked
// side by side.
#include "program/program.h"

#include <map>

namespace twill {

namespace {

/// A partial one-to-one map between the ids of two programs.
template <class Key>
class Bijection {
 public:
  enum class Met { Known, New, Conflict };

  /// Relates the two, if that contradicts nothing.
  Met relate(Key a, Key b) {
    const auto [forth, added_forth] = forth_.try_emplace(a, b);
    const auto [back, added_back] = back_.try_emplace(b, a);
    if (forth->second != b || back->second != a) return Met::Conflict;
    return added_forth ? Met::New : Met::Known;
  }

 private:
  std::map<Key, Key> forth_, back_;
};

class Comparison {
 public:
  Comparison(const Program& a, const Program& b) : a_(a), b_(b) {}

  bool programs() {
    return a_.name == b_.name && a_.strict == b_.strict && all(a_.inputs, b_.inputs, &Comparison::inputs) &&
           all(a_.constants, b_.constants, &Comparison::constants) &&
           all(a_.stages, b_.stages, &Comparison::stages) && all(a_.results, b_.results, &Comparison::arrays);
  }

 private:
  template <class T>
  bool all(const std::vector<T>& a, const std::vector<T>& b,
           bool (Comparison::*compare)(const T&, const T&)) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i)
      if (!(this->*compare)(a[i], b[i])) return false;
    return true;
  }

  template <class T>
  bool optional(const std::optional<T>& a, const std::optional<T>& b,
                bool (Comparison::*compare)(const T&, const T&)) {
    return a.has_value() == b.has_value() && (!a || (this->*compare)(*a, *b));
  }

  // ---- things with ids ----

  bool arrays(const ArrayId& a, const ArrayId& b) {
    if (!a || !b) return !a && !b;
    using Met = Bijection<ArrayId>::Met;
    const Met met = arrays_.relate(a, b);
    if (met != Met::New) return met == Met::Known;
    return a_[a].name == b_[b].name && a_[a].type == b_[b].type &&
           all(a_[a].shape, b_[b].shape, &Comparison::exprs);
  }

  bool symbols(const SymbolId& a, const SymbolId& b) {
    using Met = Bijection<SymbolId>::Met;
    const Met met = symbols_.relate(a, b);
    if (met != Met::New) return met == Met::Known;
    return a_[a].name == b_[b].name && a_[a].origin == b_[b].origin;
  }

  bool dim_ids(const DimId& a, const DimId& b) {
    return dims_.relate(a, b) != Bijection<DimId>::Met::Conflict;
  }

  bool functions(const FunctionId& a, const FunctionId& b) {
    if (!a || !b) return !a && !b;
    using Met = Bijection<FunctionId>::Met;
    const Met met = functions_.relate(a, b);
    if (met != Met::New) return met == Met::Known;
    return a_[a].name == b_[b].name && all(a_[a].parameters, b_[b].parameters, &Comparison::parameters) &&
           a_[a].result == b_[b].result && exprs(a_[a].body, b_[b].body);
  }

  bool parameters(const Parameter& a, const Parameter& b) { return a.name == b.name && a.type == b.type; }

  // ---- expressions ----

  /// Pairs of nodes still to be compared are kept on a stack: expressions may be deep. Nodes are unique
  /// in their pools, so that equal expressions are related one to one as well.
  bool exprs(const Expr& a, const Expr& b) {
    if (!a || !b) return !a && !b;
    std::vector<std::pair<const Node*, const Node*>> open = {{a.get(), b.get()}};
    while (!open.empty()) {
      const auto [x, y] = open.back();
      open.pop_back();
      using Met = Bijection<const Node*>::Met;
      const Met met = nodes_.relate(x, y);
      if (met == Met::Known) continue;
      if (met == Met::Conflict || x->type != y->type || x->args.size() != y->args.size() ||
          x->kind.index() != y->kind.index() || !kinds(x->kind, y->kind))
        return false;
      for (std::size_t i = 0; i < x->args.size(); ++i) open.emplace_back(x->args[i].get(), y->args[i].get());
    }
    return true;
  }

  bool kinds(const NodeKind& a, const NodeKind& b) {
    return std::visit([&](const auto& x) { return kind(x, std::get<std::decay_t<decltype(x)>>(b)); }, a);
  }

  bool kind(const Literal& a, const Literal& b) { return a.value == b.value; }
  bool kind(const IndexRef& a, const IndexRef& b) { return dim_ids(a.dim, b.dim); }
  bool kind(const SizeRef& a, const SizeRef& b) { return symbols(a.symbol, b.symbol); }
  bool kind(const ArgRef& a, const ArgRef& b) { return a.position == b.position; }
  bool kind(const Read& a, const Read& b) { return a.rules == b.rules && arrays(a.array, b.array); }
  bool kind(const Apply& a, const Apply& b) { return a.prim == b.prim; }
  bool kind(const Select&, const Select&) { return true; }
  bool kind(const Cast&, const Cast&) { return true; }
  bool kind(const Make&, const Make&) { return true; }
  bool kind(const GetField& a, const GetField& b) { return a.field == b.field; }
  bool kind(const Invoke& a, const Invoke& b) { return functions(a.function, b.function); }

  // ---- the parts of a program ----

  bool inputs(const Input& a, const Input& b) { return a.fallback == b.fallback && arrays(a.array, b.array); }

  bool constants(const Constant& a, const Constant& b) {
    return a.elements == b.elements && arrays(a.array, b.array);
  }

  bool dims(const Dim& a, const Dim& b) {
    return a.name == b.name && dim_ids(a.id, b.id) && exprs(a.lo, b.lo) && exprs(a.hi, b.hi) &&
           exprs(a.condition, b.condition);
  }

  bool operators(const Operator& a, const Operator& b) {
    return a.type == b.type && a.prim == b.prim && functions(a.function, b.function) &&
           exprs(a.identity, b.identity) && a.associative == b.associative && a.commutative == b.commutative;
  }

  bool combines(const Combine& a, const Combine& b) {
    if (a.index() != b.index()) return false;
    return std::visit([&](const auto& x) { return combine(x, std::get<std::decay_t<decltype(x)>>(b)); }, a);
  }

  bool combine(const Cat&, const Cat&) { return true; }
  bool combine(const Fold& a, const Fold& b) { return operators(a.op, b.op); }
  bool combine(const Scan& a, const Scan& b) { return a.from == b.from && operators(a.op, b.op); }
  bool combine(const Append&, const Append&) { return true; }
  bool combine(const Scatter& a, const Scatter& b) { return optional(a.op, b.op, &Comparison::operators); }
  bool combine(const Group& a, const Group& b) { return optional(a.op, b.op, &Comparison::operators); }
  bool combine(const Seq& a, const Seq& b) { return a.last == b.last; }

  bool outputs(const Output& a, const Output& b) {
    return arrays(a.array, b.array) && all(a.combine, b.combine, &Comparison::combines) &&
           all(a.at, b.at, &Comparison::exprs) && exprs(a.value, b.value) && exprs(a.guard, b.guard) &&
           optional(a.into, b.into, &Comparison::arrays) && exprs(a.key, b.key) &&
           optional(a.offsets, b.offsets, &Comparison::arrays) &&
           optional(a.keys, b.keys, &Comparison::arrays) && a.force == b.force &&
           a.accumulates == b.accumulates;
  }

  bool arguments(const std::variant<std::string, Expr>& a, const std::variant<std::string, Expr>& b) {
    if (a.index() != b.index()) return false;
    return a.index() == 0 ? std::get<0>(a) == std::get<0>(b) : exprs(std::get<1>(a), std::get<1>(b));
  }

  bool effects(const Effect& a, const Effect& b) {
    return a.kind == b.kind && exprs(a.guard, b.guard) &&
           all(a.arguments, b.arguments, &Comparison::arguments);
  }

  bool carries(const Carry& a, const Carry& b) {
    return arrays(a.inside, b.inside) && arrays(a.init, b.init) && arrays(a.next, b.next);
  }

  /// A result counts if its output has no value of its own.
  bool blocks(const Block& a, const Block& b, const std::vector<Output>& outputs) {
    if (!all(a.carries, b.carries, &Comparison::carries) || !all(a.stages, b.stages, &Comparison::stages) ||
        a.results.size() != b.results.size())
      return false;
    for (std::size_t i = 0; i < a.results.size(); ++i) {
      const bool counts = i >= outputs.size() || !outputs[i].value;
      if (counts && !arrays(a.results[i], b.results[i])) return false;
    }
    return true;
  }

  bool body(const Formula&, const Formula&, const std::vector<Output>&) { return true; }
  bool body(const Nested& a, const Nested& b, const std::vector<Output>& outputs) {
    return blocks(*a.block, *b.block, outputs);
  }
  bool body(const Branch& a, const Branch& b, const std::vector<Output>& outputs) {
    return exprs(a.condition, b.condition) && blocks(*a.then, *b.then, outputs) &&
           blocks(*a.otherwise, *b.otherwise, outputs);
  }

  bool stages(const Stage& a, const Stage& b) {
    return a.name == b.name && a.hints == b.hints && all(a.dims, b.dims, &Comparison::dims) &&
           a.body.index() == b.body.index() &&
           std::visit(
               [&](const auto& x) { return body(x, std::get<std::decay_t<decltype(x)>>(b.body), a.outputs); },
               a.body) &&
           all(a.outputs, b.outputs, &Comparison::outputs) && all(a.effects, b.effects, &Comparison::effects);
  }

  const Program& a_;
  const Program& b_;
  Bijection<ArrayId> arrays_;
  Bijection<SymbolId> symbols_;
  Bijection<DimId> dims_;
  Bijection<FunctionId> functions_;
  Bijection<const Node*> nodes_;
};

}  // namespace

bool same(const Program& a, const Program& b) { return Comparison(a, b).programs(); }

}  // namespace twill
