// Evaluation of scalar expressions.
#include "program/formulas.h"

#include "base/error.h"
#include "program/evaluate.h"

#include <algorithm>
#include <limits>
#include <unordered_set>

namespace twill {

// ---- the environment
// ---------------------------------------------------------------------------------------

Environment::Environment(const Program& p)
    : program(p),
      arrays(p.arrays.size()),
      sizes(p.symbols.size()),
      indices(p.dim_names.size()),
      written(p.arrays.size()) {
  for (const Function& function : p.functions) {
    auto formulas = std::make_unique<Formulas>(*this, function.parameters);
    const int root = formulas->add(function.body);
    functions.push_back({std::move(formulas), root});
  }
}

Environment::~Environment() = default;

Where Environment::where(const Place& place) const {
  Where where;
  where.place = place;
  for (const auto& [stage, dims] : active) {
    where.stage = stage->name;
    for (std::size_t k = 0; k < dims; ++k) {
      if (!where.point.empty()) where.point += ", ";
      const auto id = static_cast<std::size_t>(stage->dims[k].id.value);
      where.point += stage->dims[k].name + " = " + std::to_string(indices[id]);
    }
  }
  if (!where.place && !active.empty()) where.place = active.back().stage->place;
  return where;
}

std::span<const Number> Environment::call(FunctionId function, std::span<const Number> arguments) {
  const auto& [formulas, root] = functions[static_cast<std::size_t>(function.value)];
  formulas->set_arguments(arguments);
  formulas->forget();
  return formulas->value(root);
}

void accumulate(Environment& environment, const Operator& op, std::span<Number> a,
                std::span<const Number> b) {
  if (op.prim) {
    const Number operands[] = {a[0], b[0]};
    a[0] = evaluate(*op.prim, operands);
    return;
  }
  std::vector<Number> arguments(a.begin(), a.end());
  arguments.insert(arguments.end(), b.begin(), b.end());
  std::ranges::copy(environment.call(op.function, arguments), a.begin());
}

// ---- making ready
// --------------------------------------------------------------------------------------------

namespace {

constexpr std::uint64_t always = std::numeric_limits<std::uint64_t>::max();

/// How many of the operands are evaluated whenever the node is.
std::size_t strict_operands(const Node& node) {
  if (node.as<Select>()) return 1;
  if (const auto* applied = node.as<Apply>())
    if (applied->prim == Prim::And || applied->prim == Prim::Or) return 1;
  if (const auto* read = node.as<Read>()) return read->rules.size();
  return node.args.size();
}

}  // namespace

int Formulas::add(Expr root) {
  std::vector<int> roots = {};
  visit(root, [&](Expr node) {
    if (numbers_.contains(node.get())) return;
    const int number = step_of(node);
    const std::vector<int>& operands = steps_[static_cast<std::size_t>(number)].operands;
    roots.insert(roots.end(), operands.begin() + static_cast<std::ptrdiff_t>(strict_operands(*node)),
                 operands.end());
  });
  const int number = numbers_.at(root.get());
  roots.push_back(number);
  for (int lazy : roots) make_root(lazy);
  return number;
}

int Formulas::step_of(Expr node) {
  const int number = static_cast<int>(steps_.size());
  Step step;
  step.node = node.get();
  step.home = frame_.size();
  step.leaves = leaves_of(node->type);
  for (Expr operand : node->args) step.operands.push_back(numbers_.at(operand.get()));
  if (const auto* get = as<GetField>(node)) {
    const std::vector<Field>& fields = node->args[0]->type.record().fields;
    for (int i = 0; i < get->field; ++i)
      step.offset += leaves_of(fields[static_cast<std::size_t>(i)].type).size();
  } else if (const auto* arg = as<ArgRef>(node)) {
    for (int i = 0; i < arg->position; ++i)
      step.offset += leaves_of(parameters_[static_cast<std::size_t>(i)].type).size();
  } else if (const auto* read = as<Read>(node)) {
    const Type& element = environment_.program[read->array].type;
    step.stored = leaves_of(element);
    step.element_bytes = byte_size(element);
  }
  for (const TypeLeaf& leaf : step.leaves) frame_.push_back(Number::of(leaf.scalar, 0));
  done_.push_back(0);
  if (const auto* literal = as<Literal>(node)) {
    frame_[step.home] = literal->value;
    done_.back() = always;
  }
  steps_.push_back(std::move(step));
  numbers_.emplace(node.get(), number);
  return number;
}

/// Operands have smaller numbers than their users, so the order of numbers is an order of evaluation.
void Formulas::make_root(int root) {
  Step& step = steps_[static_cast<std::size_t>(root)];
  if (step.is_root) return;
  std::unordered_set<int> seen = {root};
  std::vector<int> open = {root};
  std::vector<int> list;
  while (!open.empty()) {
    const int number = open.back();
    open.pop_back();
    const Step& needed = steps_[static_cast<std::size_t>(number)];
    if (!needed.node->as<Literal>()) list.push_back(number);
    for (std::size_t i = 0; i < strict_operands(*needed.node); ++i)
      if (seen.insert(needed.operands[i]).second) open.push_back(needed.operands[i]);
  }
  std::ranges::sort(list);
  step.list = std::move(list);
  step.is_root = true;
}

// ---- evaluating
// ------------------------------------------------------------------------------------------------

std::span<const Number> Formulas::value(int root) {
  run(root);
  const Step& step = steps_[static_cast<std::size_t>(root)];
  return {frame_.data() + step.home, step.leaves.size()};
}

void Formulas::run(int root) {
  for (int number : steps_[static_cast<std::size_t>(root)].list) {
    std::uint64_t& done = done_[static_cast<std::size_t>(number)];
    if (done >= now_) continue;
    execute(steps_[static_cast<std::size_t>(number)]);
    done = now_;
  }
}

void Formulas::copy(int from, std::size_t first, std::size_t count, std::size_t to) {
  const std::size_t begin = steps_[static_cast<std::size_t>(from)].home + first;
  for (std::size_t i = 0; i < count; ++i) frame_[to + i] = frame_[begin + i];
}

void Formulas::execute(Step& step) {
  const Node& node = *step.node;
  const auto operand = [&](std::size_t i) -> const Number& {
    return frame_[steps_[static_cast<std::size_t>(step.operands[i])].home];
  };
  Number& result = frame_[step.home];

  if (const auto* applied = node.as<Apply>()) {
    if (applied->prim == Prim::And || applied->prim == Prim::Or) {
      const bool decided = (operand(0).i != 0) == (applied->prim == Prim::Or);
      if (!decided) run(step.operands[1]);
      result = decided ? operand(0) : operand(1);
      return;
    }
    Number operands[3];
    for (std::size_t i = 0; i < step.operands.size(); ++i) operands[i] = operand(i);
    const std::span<const Number> all(operands, step.operands.size());
    if (!is_defined(applied->prim, all) && applied->prim == Prim::Within)
      fail_index_outside(environment_.where(node.place), operands[0].i, operands[1].i);
    if (!is_defined(applied->prim, all))
      fail_division_by_zero(environment_.where(node.place), std::string(info(applied->prim).name));
    result = evaluate(applied->prim, all);
  } else if (const auto* read = node.as<Read>()) {
    execute_read(step, *read);
  } else if (const auto* index = node.as<IndexRef>()) {
    result.i = environment_[index->dim];
  } else if (const auto* size = node.as<SizeRef>()) {
    const auto& bound = environment_.sizes[static_cast<std::size_t>(size->symbol.value)];
    ensure(bound.has_value(), "interpret: a size is used before it is known");
    result.i = *bound;
  } else if (node.as<Select>()) {
    const int chosen = step.operands[operand(0).i != 0 ? 1 : 2];
    run(chosen);
    copy(chosen, 0, step.leaves.size(), step.home);
  } else if (node.as<Cast>()) {
    result = convert(operand(0), step.leaves[0].scalar);
  } else if (node.as<Make>()) {
    std::size_t to = step.home;
    for (int field : step.operands) {
      const std::size_t count = steps_[static_cast<std::size_t>(field)].leaves.size();
      copy(field, 0, count, to);
      to += count;
    }
  } else if (node.as<GetField>()) {
    copy(step.operands[0], step.offset, step.leaves.size(), step.home);
  } else if (node.as<ArgRef>()) {
    std::copy_n(arguments_.begin() + static_cast<std::ptrdiff_t>(step.offset), step.leaves.size(),
                frame_.begin() + static_cast<std::ptrdiff_t>(step.home));
  } else if (const auto* call = node.as<Invoke>()) {
    scratch_.clear();
    for (int argument : step.operands) {
      const Step& from = steps_[static_cast<std::size_t>(argument)];
      for (std::size_t i = 0; i < from.leaves.size(); ++i) scratch_.push_back(frame_[from.home + i]);
    }
    std::ranges::copy(environment_.call(call->function, scratch_),
                      frame_.begin() + static_cast<std::ptrdiff_t>(step.home));
  }
}

// ---- reads
// -------------------------------------------------------------------------------------------------------

namespace {

std::int64_t floor_mod(std::int64_t a, std::int64_t b) {
  const std::int64_t rest = a % b;
  return rest < 0 ? rest + b : rest;
}

/// The subscript that a boundary rule makes of one outside of a dimension that is not empty.
std::int64_t bring_inside(Boundary rule, std::int64_t index, std::int64_t extent) {
  switch (rule) {
    case Boundary::Clamp: return index < 0 ? 0 : extent - 1;
    case Boundary::Wrap: return floor_mod(index, extent);
    case Boundary::Mirror: {
      const std::int64_t folded = floor_mod(index, 2 * extent);
      return folded < extent ? folded : 2 * extent - 1 - folded;
    }
    default: return index;
  }
}

}  // namespace

/// The flat position that is read; none if the fallback is meant, which a Constant subscript decides
/// before anything is said about the others.
std::optional<std::int64_t> Formulas::position(const Step& step, const Read& read, const Data& data) {
  const auto subscript = [&](std::size_t d) {
    return frame_[steps_[static_cast<std::size_t>(step.operands[d])].home].i;
  };
  const auto outside = [&](std::size_t d) { return subscript(d) < 0 || subscript(d) >= data.shape()[d]; };
  for (std::size_t d = 0; d < read.rules.size(); ++d)
    if (read.rules[d] == Boundary::Constant && outside(d)) return std::nullopt;

  std::int64_t flat = 0;
  for (std::size_t d = 0; d < read.rules.size(); ++d) {
    const std::int64_t extent = data.shape()[d];
    std::int64_t index = subscript(d);
    if (outside(d)) {
      const std::string& name = environment_.program[read.array].name;
      // A subscript is one expression wherever it stands: its place may be that of another read.
      const Place &whole = step.node->place, &part = step.node->args[d]->place;
      const Place& place = lies_within(part, whole) || !whole ? part : whole;
      if (read.rules[d] == Boundary::Inside)
        fail_read_outside(environment_.where(place), name, static_cast<int>(d), index, extent);
      if (extent == 0) fail_empty_array(environment_.where(place), name, static_cast<int>(d));
      index = bring_inside(read.rules[d], index, extent);
    }
    flat = flat * extent + index;
  }
  return flat;
}

void Formulas::execute_read(const Step& step, const Read& read) {
  const Data& data = environment_[read.array];
  ensure(data.bytes() != nullptr && data.shape().size() == read.rules.size(),
         "interpret: an array is read before it is defined");
  const std::optional<std::int64_t> flat = position(step, read, data);
  if (!flat) {
    const int fallback = step.operands.back();
    run(fallback);
    copy(fallback, 0, step.leaves.size(), step.home);
    return;
  }
  const std::vector<bool>* written = environment_.written[static_cast<std::size_t>(read.array.value)];
  if (written && !(*written)[static_cast<std::size_t>(*flat)])
    fail_not_yet_written(environment_.where(step.node->place), environment_.program[read.array].name, *flat);
  const std::byte* element = data.bytes() + static_cast<std::size_t>(*flat) * step.element_bytes;
  for (std::size_t i = 0; i < step.leaves.size(); ++i) {
    const Number stored = load(step.stored[i].scalar, element + step.stored[i].offset);
    frame_[step.home + i] = convert(stored, step.leaves[i].scalar);
  }
}

}  // namespace twill
