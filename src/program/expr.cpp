// The expression pool, and walks over expressions. All walks keep their own stack, so that an expression
// may be as deep as memory allows.
#include "program/expr.h"

#include "base/error.h"
#include "program/evaluate.h"
#include "program/program.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>

namespace twill {

namespace {

// ---- identity of nodes -----------------------------------------------------------------------------------

std::size_t mix(std::size_t seed, std::size_t value) {
  return seed ^ (value + 0x9e3779b97f4a7c15u + (seed << 12) + (seed >> 4));
}

std::size_t hash_of(const Type& type) {
  if (type.is_scalar()) return static_cast<std::size_t>(type.scalar());
  std::size_t hash = std::hash<std::string>{}(type.record().name);
  for (const Field& field : type.record().fields)
    hash = mix(mix(hash, std::hash<std::string>{}(field.name)), hash_of(field.type));
  return hash;
}

struct KindHash {
  std::size_t operator()(const Literal& k) const {
    return mix(static_cast<std::size_t>(k.value.type), static_cast<std::size_t>(k.value.u));
  }
  std::size_t operator()(const IndexRef& k) const { return static_cast<std::size_t>(k.dim.value); }
  std::size_t operator()(const SizeRef& k) const { return static_cast<std::size_t>(k.symbol.value); }
  std::size_t operator()(const ArgRef& k) const { return static_cast<std::size_t>(k.position); }
  std::size_t operator()(const Read& k) const {
    auto hash = static_cast<std::size_t>(k.array.value);
    for (Boundary rule : k.rules) hash = mix(hash, static_cast<std::size_t>(rule));
    return hash;
  }
  std::size_t operator()(const Apply& k) const { return static_cast<std::size_t>(k.prim); }
  std::size_t operator()(const Select&) const { return 0; }
  std::size_t operator()(const Cast&) const { return 0; }
  std::size_t operator()(const Make&) const { return 0; }
  std::size_t operator()(const GetField& k) const { return static_cast<std::size_t>(k.field); }
  std::size_t operator()(const Invoke& k) const { return static_cast<std::size_t>(k.function.value); }
};

struct KindEqual {
  bool operator()(const Literal& a, const Literal& b) const { return a.value == b.value; }
  bool operator()(const IndexRef& a, const IndexRef& b) const { return a.dim == b.dim; }
  bool operator()(const SizeRef& a, const SizeRef& b) const { return a.symbol == b.symbol; }
  bool operator()(const ArgRef& a, const ArgRef& b) const { return a.position == b.position; }
  bool operator()(const Read& a, const Read& b) const { return a.array == b.array && a.rules == b.rules; }
  bool operator()(const Apply& a, const Apply& b) const { return a.prim == b.prim; }
  bool operator()(const Select&, const Select&) const { return true; }
  bool operator()(const Cast&, const Cast&) const { return true; }
  bool operator()(const Make&, const Make&) const { return true; }
  bool operator()(const GetField& a, const GetField& b) const { return a.field == b.field; }
  bool operator()(const Invoke& a, const Invoke& b) const { return a.function == b.function; }
  template <class A, class B>
  bool operator()(const A&, const B&) const {
    return false;
  }
};

// ---- the small simplifications of `apply`
// -------------------------------------------------------------------

const Number* literal_value(Expr e) {
  const auto* literal = as<Literal>(e);
  return literal ? &literal->value : nullptr;
}

bool is_integer_literal(Expr e, std::int64_t value) {
  const Number* number = literal_value(e);
  return number && is_integer(number->type) && *number == Number::of(number->type, value);
}

/// The value of an operation on literals, if there is one.
std::optional<Number> folded(Prim prim, const std::vector<Expr>& operands) {
  std::vector<Number> numbers;
  for (Expr operand : operands) {
    const Number* number = literal_value(operand);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return is_defined(prim, numbers) ? std::optional(evaluate(prim, numbers)) : std::nullopt;
}

/// The operand that the operation is equal to by an identity of integers, or null.
Expr neutral(Prim prim, const std::vector<Expr>& operands) {
  if (!operands[0]->type.is_integer() || operands.size() != 2) return {};
  const auto& [a, b] = std::tie(operands[0], operands[1]);
  switch (prim) {
    case Prim::Add:
      if (is_integer_literal(b, 0)) return a;
      return is_integer_literal(a, 0) ? b : Expr{};
    case Prim::Sub: return is_integer_literal(b, 0) ? a : Expr{};
    case Prim::Min:
    case Prim::Max: return a == b ? a : Expr{};
    case Prim::Mul:
      if (is_integer_literal(b, 1) || is_integer_literal(a, 0)) return a;
      return is_integer_literal(a, 1) || is_integer_literal(b, 0) ? b : Expr{};
    default: return {};
  }
}

bool same_place(const Place& a, const Place& b) {
  return a.source == b.source && a.line == b.line && a.column == b.column && a.length == b.length;
}

}  // namespace

// ---- building
// --------------------------------------------------------------------------------------------------

Expr ExprPool::intern(NodeKind kind, Type type, std::vector<Expr> args, Place place) {
  std::size_t hash = mix(kind.index(), std::visit(KindHash{}, kind));
  hash = mix(hash, hash_of(type));
  for (Expr arg : args) hash = mix(hash, arg->hash);

  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    const Node& node = *it->second;
    if (node.args != args || node.type != type || !std::visit(KindEqual{}, node.kind, kind)) continue;
    if (place && node.place && !same_place(place, node.place) && (!args.empty() || node.as<Literal>()))
      node.place = {};
    return Expr(&node);
  }
  const int number = static_cast<int>(nodes_.size());
  nodes_.push_back(std::make_unique<const Node>(
      Node{std::move(kind), std::move(type), std::move(args), std::move(place), hash, number}));
  by_hash_.emplace(hash, nodes_.back().get());
  return Expr(nodes_.back().get());
}

Expr ExprPool::literal(Number value, Place place) {
  if (is_float(value.type) && std::isnan(value.f))
    value = Number::of_double(value.type, std::numeric_limits<double>::quiet_NaN());
  return intern(Literal{value}, value.type, {}, std::move(place));
}

Expr ExprPool::integer(std::int64_t value, Place place) {
  return literal(Number::of(Scalar::I64, value), std::move(place));
}

Expr ExprPool::boolean(bool value, Place place) {
  return literal(Number::of(Scalar::Bool, value), std::move(place));
}

Expr ExprPool::index(DimId dim, Place place) {
  return intern(IndexRef{dim}, Scalar::I64, {}, std::move(place));
}

Expr ExprPool::size(SymbolId symbol, Place place) {
  return intern(SizeRef{symbol}, Scalar::I64, {}, std::move(place));
}

Expr ExprPool::arg(int position, Type type, Place place) {
  return intern(ArgRef{position}, std::move(type), {}, std::move(place));
}

Expr ExprPool::read(ArrayId array, Type element, std::vector<Expr> subscripts, std::vector<Boundary> rules,
                    Expr fallback, Place place) {
  ensure(rules.size() == subscripts.size(), "read: one boundary rule per subscript");
  for (Expr subscript : subscripts)
    ensure(subscript && subscript->type.is(Scalar::I64), "read: subscripts are i64");
  const bool needs_fallback = std::ranges::find(rules, Boundary::Constant) != rules.end();
  ensure(needs_fallback == static_cast<bool>(fallback), "read: a fallback exactly if a rule is Constant");
  if (fallback) {
    ensure(fallback->type == element, "read: the fallback has the element's type");
    subscripts.push_back(fallback);
  }
  return intern(Read{array, std::move(rules)}, std::move(element), std::move(subscripts), std::move(place));
}

Expr ExprPool::read(ArrayId array, Type element, std::vector<Expr> subscripts, Place place) {
  std::vector<Boundary> rules(subscripts.size(), Boundary::Inside);
  return read(array, std::move(element), std::move(subscripts), std::move(rules), {}, std::move(place));
}

Expr ExprPool::apply(Prim prim, std::vector<Expr> operands, Place place) {
  ensure(static_cast<int>(operands.size()) == info(prim).arity, "apply: wrong number of operands");
  for (Expr operand : operands)
    ensure(operand && operand->type.is_scalar() && operand->type == operands[0]->type,
           "apply: operands are scalars of one type");
  const Scalar type = operands[0]->type.scalar();
  ensure(accepts(prim, type), "apply: the operation does not take this type");
  if (const std::optional<Number> value = folded(prim, operands)) return literal(*value, std::move(place));
  if (const Expr same = neutral(prim, operands)) return same;
  return intern(Apply{prim}, result_type(prim, type), std::move(operands), std::move(place));
}

Expr ExprPool::select(Expr condition, Expr then, Expr otherwise, Place place) {
  ensure(condition && condition->type.is(Scalar::Bool), "select: the condition is bool");
  ensure(then && otherwise && then->type == otherwise->type, "select: the branches have one type");
  return intern(Select{}, then->type, {condition, then, otherwise}, std::move(place));
}

Expr ExprPool::cast(Type to, Expr value, Place place) {
  ensure(static_cast<bool>(value), "cast: a value");
  if (value->type == to) return value;
  ensure(to.is_scalar() && value->type.is_scalar(), "cast: between scalars");
  if (const Number* number = literal_value(value))
    return literal(convert(*number, to.scalar()), std::move(place));
  return intern(Cast{}, std::move(to), {value}, std::move(place));
}

Expr ExprPool::make(Type record, std::vector<Expr> fields, Place place) {
  ensure(record.is_record() && record.record().fields.size() == fields.size(), "make: one value per field");
  for (std::size_t i = 0; i < fields.size(); ++i)
    ensure(fields[i] && fields[i]->type == record.record().fields[i].type,
           "make: values have the fields' types");
  return intern(Make{}, std::move(record), std::move(fields), std::move(place));
}

Expr ExprPool::field(Expr record, int field, Place place) {
  ensure(record && record->type.is_record(), "field: of a record");
  const std::vector<Field>& fields = record->type.record().fields;
  ensure(field >= 0 && static_cast<std::size_t>(field) < fields.size(), "field: within the record");
  const auto position = static_cast<std::size_t>(field);
  if (as<Make>(record)) return record->args[position];
  return intern(GetField{field}, fields[position].type, {record}, std::move(place));
}

Expr ExprPool::invoke(FunctionId function, Type result, std::vector<Expr> arguments, Place place) {
  return intern(Invoke{function}, std::move(result), std::move(arguments), std::move(place));
}

Expr ExprPool::with_args(Expr node, std::vector<Expr> args) {
  if (node->args == args) return node;
  if (const auto* read_node = as<Read>(node)) {
    Expr fallback;
    if (args.size() > read_node->rules.size()) {
      fallback = args.back();
      args.pop_back();
    }
    return read(read_node->array, node->type, std::move(args), read_node->rules, fallback, node->place);
  }
  if (const auto* applied = as<Apply>(node)) return apply(applied->prim, std::move(args), node->place);
  if (as<Select>(node)) return select(args.at(0), args.at(1), args.at(2), node->place);
  if (as<Cast>(node)) return cast(node->type, args.at(0), node->place);
  if (as<Make>(node)) return make(node->type, std::move(args), node->place);
  if (const auto* get = as<GetField>(node)) return field(args.at(0), get->field, node->place);
  if (const auto* call = as<Invoke>(node))
    return invoke(call->function, node->type, std::move(args), node->place);
  ensure(args.empty(), "with_args: the node has no operands");
  return node;
}

Expr ExprPool::adopt(Expr root) {
  std::unordered_map<const Node*, Expr> made;
  visit(root, [&](Expr node) {
    std::vector<Expr> args;
    for (const Expr arg : node->args) args.push_back(made.at(arg.get()));
    made[node.get()] = intern(node->kind, node->type, std::move(args), node->place);
  });
  return root ? made.at(root.get()) : root;
}

// ---- walking
// -----------------------------------------------------------------------------------------------------

void visit(Expr root, const std::function<void(Expr)>& action) {
  if (!root) return;
  struct Frame {
    Expr node;
    std::size_t next = 0;  // operand to look at
  };
  std::unordered_set<const Node*> seen = {root.get()};
  std::vector<Frame> stack = {{root}};
  while (!stack.empty()) {
    Frame& top = stack.back();
    if (top.next == top.node->args.size()) {
      const Expr done = top.node;
      stack.pop_back();
      action(done);
      continue;
    }
    const Expr operand = top.node->args[top.next++];
    if (seen.insert(operand.get()).second) stack.push_back({operand});
  }
}

namespace {

/// Users before operands; `enter` says how many operands of a node are visited.
template <class Enter>
void descend_to_operands(Expr root, const Enter& enter) {
  if (!root) return;
  std::unordered_set<const Node*> seen = {root.get()};
  std::vector<Expr> open = {root};
  while (!open.empty()) {
    const Expr node = open.back();
    open.pop_back();
    const std::size_t count = enter(node);
    for (std::size_t k = 0; k < count; ++k)
      if (seen.insert(node->args[k].get()).second) open.push_back(node->args[k]);
  }
}

}  // namespace

void descend(Expr root, const std::function<bool(Expr)>& enter) {
  descend_to_operands(root, [&](Expr node) { return enter(node) ? node->args.size() : 0; });
}

void visit_surely(Expr root, const std::function<void(Expr)>& action) {
  descend_to_operands(root, [&](Expr node) -> std::size_t {
    action(node);
    const auto* apply = as<Apply>(node);
    const auto* read = as<Read>(node);
    const bool lazy = as<Select>(node) || (apply && (apply->prim == Prim::And || apply->prim == Prim::Or));
    return lazy ? 1 : read ? read->rules.size() : node->args.size();
  });
}

Expr rewrite(ExprPool& pool, Expr root, const std::function<Expr(Expr)>& replace) {
  if (!root) return root;
  struct Frame {
    Expr node;
    std::size_t next = 0;
  };
  std::unordered_map<const Node*, Expr> rewritten;
  std::vector<Frame> stack;
  const auto enter = [&](Expr node) {
    if (rewritten.contains(node.get())) return;
    if (const Expr replacement = replace(node)) {
      rewritten.emplace(node.get(), replacement);
    } else {
      stack.push_back({node});
    }
  };
  enter(root);
  while (!stack.empty()) {
    Frame& top = stack.back();
    if (top.next < top.node->args.size()) {
      enter(top.node->args[top.next++]);
      continue;
    }
    const Expr node = top.node;
    stack.pop_back();
    std::vector<Expr> args;
    for (Expr arg : node->args) args.push_back(rewritten.at(arg.get()));
    rewritten.emplace(node.get(), pool.with_args(node, std::move(args)));
  }
  return rewritten.at(root.get());
}

// ---- questions
// ---------------------------------------------------------------------------------------------------

namespace {

/// Whether the body of a function contains a partial operation; each function is looked at once.
class PartialFunctions {
 public:
  explicit PartialFunctions(std::span<const Function> functions)
      : functions_(functions), known_(functions.size()) {}

  bool is_partial(Expr node) {
    if (const auto* read = as<Read>(node))
      return std::ranges::any_of(read->rules, [](Boundary rule) { return rule != Boundary::Constant; });
    if (const auto* applied = as<Apply>(node)) {
      if (applied->prim == Prim::Within) return true;
      if (applied->prim != Prim::Div && applied->prim != Prim::Mod) return false;
      const Number* divisor = literal_value(node->args[1]);
      return node->type.is_integer() && (!divisor || divisor->u == 0);
    }
    if (const auto* call = as<Invoke>(node)) return contains_partial(call->function);
    return false;
  }

 private:
  /// Functions call only functions before them, so the recursion ends.
  bool contains_partial(FunctionId id) {
    const auto position = static_cast<std::size_t>(id.value);
    ensure(position < functions_.size(), "is_partial: a function of the program");
    if (!known_[position]) {
      bool found = false;
      visit(functions_[position].body, [&](Expr node) { found = found || is_partial(node); });
      known_[position] = found;
    }
    return *known_[position];
  }

  std::span<const Function> functions_;
  std::vector<std::optional<bool>> known_;
};

}  // namespace

bool is_partial(Expr node, std::span<const Function> functions) {
  return PartialFunctions(functions).is_partial(node);
}

bool is_sum_or_product(Expr node) {
  const Apply* apply = as<Apply>(node);
  return apply && (apply->prim == Prim::Add || apply->prim == Prim::Sub || apply->prim == Prim::Mul ||
                   apply->prim == Prim::Neg);
}

bool reads_data(Expr root) {
  bool found = false;
  visit(root, [&](Expr node) { found = found || as<Read>(node); });
  return found;
}

std::optional<std::int64_t> integer_of(Expr e) {
  const auto* literal = as<Literal>(e);
  return literal && literal->value.type == Scalar::I64 ? std::optional(literal->value.i) : std::nullopt;
}

}  // namespace twill
