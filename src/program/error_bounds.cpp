// How far float results may be off: ranges and errors of values, through all stages.
#include "program/error_bounds.h"

#include "program/choice.h"
#include "program/rounding_rules.h"

#include <algorithm>
#include <cmath>

namespace twill {

using namespace rounding_rules;

ErrorBounds::ErrorBounds(const Program& program, std::map<SymbolId, std::int64_t> sizes, std::int64_t unknown)
    : program_(program), sizes_(std::move(sizes)), unknown_(unknown) {}

Facts ErrorBounds::anything(const Type& type) {
  Facts facts;
  for (const TypeLeaf& leaf : leaves_of(type)) {
    const bool floats = is_float(leaf.scalar);
    facts.push_back(Fact::up_to(floats ? infinite : highest_magnitude(leaf.scalar), 0, !floats));
  }
  return facts;
}

Facts ErrorBounds::of(const Data& data) {
  const std::vector<TypeLeaf> leaves = leaves_of(data.type());
  Facts facts;
  const std::size_t bytes = byte_size(data.type());
  for (std::size_t l = 0; l < leaves.size(); ++l) {
    Fact fact;
    for (std::int64_t k = 0; k < data.count(); ++k) {
      const Fact element = exactly(
          load(leaves[l].scalar, data.bytes() + static_cast<std::size_t>(k) * bytes + leaves[l].offset)
              .as_double());
      fact = k == 0 ? element : join(fact, element);
    }
    facts.push_back(fact);
  }
  return facts;
}

void ErrorBounds::see(ArrayId array, const Data& data) {
  if (data.count() == 0) return;
  Facts& seen = seen_[array];
  seen = join(seen, of(data));
}

Facts ErrorBounds::within_seen(ArrayId array, Facts facts) const {
  const auto seen = seen_.find(array);
  if (seen != seen_.end())
    for (std::size_t k = 0; k < facts.size(); ++k) facts[k] = within(facts[k], seen->second[k]);
  return facts;
}

void ErrorBounds::constants() {
  for (const Constant& constant : program_.constants) {
    Facts facts;
    for (const Number& number : constant.elements) facts = join(facts, {exactly(number.as_double())});
    arrays_[constant.array] = facts.empty() ? Facts(1) : facts;
  }
}

void ErrorBounds::program(std::span<const Data> inputs) {
  constants();
  for (std::size_t k = 0; k < program_.inputs.size(); ++k) {
    const Input& input = program_.inputs[k];
    set(input.array, of(k < inputs.size() ? inputs[k] : Data::scalar(*input.fallback)));
  }
  for (const Stage& each : program_.stages) stage(each);
}

// ---- expressions -----------------------------------------------------------------------------------------

Facts ErrorBounds::of(Expr expr) {
  Frame frame;
  return evaluate(expr, frame);
}

Facts ErrorBounds::evaluate(Expr expr, Frame& frame) {
  if (const auto known = frame.known.find(expr.get()); known != frame.known.end()) return known->second;
  Facts facts = compute(expr, frame);
  frame.known.emplace(expr.get(), facts);
  return facts;
}

Facts ErrorBounds::compute(Expr expr, Frame& frame) {
  if (const auto* literal = as<Literal>(expr)) return {exactly(literal->value.as_double())};
  if (as<IndexRef>(expr) || as<SizeRef>(expr)) {
    const Range range = this->range(expr);
    Fact fact;
    fact.low = range.low;
    fact.high = range.high;
    fact.least = std::max({0.0, range.low, -range.high});
    return {fact};
  }
  if (const auto* arg = as<ArgRef>(expr)) return frame.arguments.at(static_cast<std::size_t>(arg->position));
  std::vector<Facts> args;
  for (const Expr arg : expr->args) args.push_back(evaluate(arg, frame));
  if (const auto* read = as<Read>(expr)) {
    Facts facts = arrays_.at(read->array);
    return args.size() > read->rules.size() ? join(facts, args.back()) : facts;
  }
  if (const auto* applied = as<Apply>(expr)) {
    std::vector<Fact> operands;
    for (const Facts& arg : args) operands.push_back(arg[0]);
    return {apply(applied->prim, expr->args[0]->type.scalar(), operands)};
  }
  if (as<Select>(expr)) return join(args[1], args[2]);
  if (as<Cast>(expr)) return {cast(args[0][0], expr->args[0]->type.scalar(), expr->type.scalar())};
  if (as<Make>(expr)) {
    Facts facts;
    for (const Facts& arg : args) facts.insert(facts.end(), arg.begin(), arg.end());
    return facts;
  }
  if (const auto* get = as<GetField>(expr)) {
    const auto& fields = expr->args[0]->type.record().fields;
    std::size_t first = 0;
    for (int k = 0; k < get->field; ++k) first += leaves_of(fields[static_cast<std::size_t>(k)].type).size();
    const auto begin = args[0].begin() + static_cast<std::ptrdiff_t>(first);
    return Facts(begin, begin + static_cast<std::ptrdiff_t>(leaves_of(expr->type).size()));
  }
  Frame call{std::move(args), {}};
  return evaluate(program_[std::get<Invoke>(expr->kind).function].body, call);
}

Fact ErrorBounds::cast(const Fact& fact, Scalar from, Scalar to) {
  if (is_float(to)) return converted(fact, from, to);
  if (is_float(from) && fact.error > 0) decided_ = false;
  const double most = highest_magnitude(to);
  Fact result;
  result.low = std::clamp(std::floor(fact.low), -most, most);
  result.high = std::clamp(std::ceil(fact.high), -most, most);
  if (!is_float(from) && fact.magnitude() > most) {  // it wraps around
    result.low = -most;
    result.high = most;
  }
  return result;
}

Fact ErrorBounds::apply(Prim prim, Scalar type, const std::vector<Fact>& operands) {
  const bool exact = std::ranges::all_of(operands, [](const Fact& fact) { return fact.error == 0; });
  const PrimClass prim_class = info(prim).prim_class;
  const bool truth = prim_class == PrimClass::Comparison || prim_class == PrimClass::Question ||
                     prim_class == PrimClass::Logic;
  const bool steps = prim == Prim::Floor || prim == Prim::Ceil || prim == Prim::Round || prim == Prim::Trunc;
  if (!exact && (truth || steps)) decided_ = false;
  if (truth) return Fact::up_to(1, 0, true);
  if (!is_float(type)) return integer_operation(prim, type, operands);
  Fact fact = float_operation(prim, type, operands);
  fact.unit = rounding(type);
  for (const Fact& operand : operands) {
    fact.terms = std::max(fact.terms, operand.terms + 1);
    fact.unit = std::max(fact.unit, operand.unit);
  }
  return fact;
}

// ---- combining -------------------------------------------------------------------------------------------

/// Nothing is known about floats behind the last step that was followed; about integers as well, if these
/// were so few that they may still have grown.
void ErrorBounds::give_up(Facts& facts, const Type& type, bool early) {
  const Facts widest = anything(type);
  for (std::size_t leaf = 0; leaf < facts.size(); ++leaf) {
    if (!facts[leaf].integral) facts[leaf] = Fact::up_to(infinite, infinite, false);
    if (facts[leaf].integral && early) facts[leaf] = join(facts[leaf], widest[leaf]);
  }
}

Facts ErrorBounds::combine(const Operator& op, const Facts& values, double count) {
  if (op.prim) {
    Fact result = folded(*op.prim, op.type.scalar(), values[0], std::max(count, 1.0));
    result.terms = values[0].terms + count;
    result.unit = is_float(op.type.scalar()) ? std::max(values[0].unit, rounding(op.type.scalar())) : 0;
    result.scale = std::max(result.scale, values[0].magnitude());
    // The identity is a result as well; that of min and max is larger than any value, but exact.
    const bool bounded = *op.prim == Prim::Min || *op.prim == Prim::Max || !op.identity;
    return {bounded ? result : join(result, of(op.identity)[0])};
  }
  Facts sum = op.identity ? join(of(op.identity), values) : values;
  const Facts start = sum;
  const Expr body = program_[op.function].body;
  double k = 0;
  for (; k < count && k < most_steps && steps_ < most_steps_in_all; ++k, ++steps_) {
    Frame frame{{sum, values}, {}};
    Facts next = join(sum, evaluate(body, frame));
    if (next == sum) return sum;
    sum = std::move(next);
    // Integers that still grow may be anything: only floats are worth every step.
    if (k != 64) continue;
    const Facts widest = anything(op.type);
    for (std::size_t leaf = 0; leaf < sum.size(); ++leaf)
      if (sum[leaf].integral) sum[leaf] = join(sum[leaf], widest[leaf]);
  }
  // Regrouped, the same operations meet in another order.
  for (Fact& fact : sum) {
    fact.error *= 2;
    fact.relative *= 2;
  }
  if (k < count) give_up(sum, op.type, k <= 64);
  const std::vector<TypeLeaf> leaves = leaves_of(op.type);
  for (std::size_t leaf = 0; leaf < sum.size(); ++leaf) {
    Fact& fact = sum[leaf];
    fact.terms = std::max(fact.terms, count * (values[0].terms + 1));
    if (is_float(leaves[leaf].scalar)) fact.unit = std::max(fact.unit, rounding(leaves[leaf].scalar));
    // What is combined on the way is seldom larger than all values together.
    fact.scale = std::min(fact.scale, count * start[leaf].magnitude());
  }
  return sum;
}

Facts ErrorBounds::output(const Stage& stage, const Output& output, const Facts& value) {
  Facts facts = value;
  const Operator* op = nullptr;
  double count = 1;
  const auto fold_pending = [&] {
    if (op) facts = combine(*op, facts, count + 1);
    op = nullptr;
    count = 1;
  };
  if (output.into && arrays_.contains(*output.into)) facts = join(facts, arrays_.at(*output.into));
  for (std::size_t d = stage.dims.size(); d-- > 0;) {
    const Operator* here = operator_of(output.combine[d]);
    if (!here) continue;
    if (op && !(*op == *here)) fold_pending();
    op = here;
    count *= static_cast<double>(most(stage.dims[d]));
  }
  fold_pending();
  return facts;
}

// ---- stages ----------------------------------------------------------------------------------------------

ErrorBounds::Range ErrorBounds::range(Expr expr) {
  const auto cap = static_cast<double>(unknown_);
  if (const auto* literal = as<Literal>(expr))
    return {literal->value.as_double(), literal->value.as_double()};
  if (const auto* size = as<SizeRef>(expr)) {
    const auto known = sizes_.find(size->symbol);
    const auto least = least_sizes_.find(size->symbol);
    return {least == least_sizes_.end() ? 0 : static_cast<double>(least->second),
            known == sizes_.end() ? cap : static_cast<double>(known->second)};
  }
  if (const auto* index = as<IndexRef>(expr)) {
    const auto known = ranges_.find(index->dim);
    return known == ranges_.end() ? Range{-cap, cap} : known->second;
  }
  if (const auto* applied = as<Apply>(expr);
      applied && expr->args.size() == 2 && expr->type.is(Scalar::I64)) {
    const Range a = range(expr->args[0]), b = range(expr->args[1]);
    switch (applied->prim) {
      case Prim::Add: return {a.low + b.low, a.high + b.high};
      case Prim::Sub: return {a.low - b.high, a.high - b.low};
      case Prim::Min: return {std::min(a.low, b.low), std::min(a.high, b.high)};
      case Prim::Max: return {std::max(a.low, b.low), std::max(a.high, b.high)};
      case Prim::Mul: {
        const auto [low, high] =
            std::minmax({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
        return {low, high};
      }
      case Prim::Div: return {std::min(a.low, -std::abs(a.high)), std::max(std::abs(a.low), a.high)};
      default: return {-cap, cap};
    }
  }
  if (as<Cast>(expr) && expr->args[0]->type.is_integer()) return range(expr->args[0]);
  if (const auto* read = as<Read>(expr); read && arrays_.contains(read->array) && expr->type.is_integer()) {
    const Fact& fact = arrays_.at(read->array)[0];
    return {std::max(-cap, fact.low), std::min(cap, fact.high)};
  }
  return {-cap, cap};
}

std::int64_t ErrorBounds::most(const Dim& dim) {
  if (!dim.hi) return unknown_;
  const Range low = range(dim.lo), high = range(dim.hi);
  return static_cast<std::int64_t>(std::clamp(high.high - low.low, 0.0, 1e9));
}

void ErrorBounds::block(const Block& block) {
  for (const Stage& inner : block.stages) stage(inner);
}

namespace {

/// Are the elements of the finished array all that a recurrence can have seen of it?
bool is_written_once(const Stage& stage, const Output& output) {
  if (output.into) return false;
  for (std::size_t d = 0; d < stage.dims.size(); ++d) {
    const auto* seq = std::get_if<Seq>(&output.combine[d]);
    const auto own = [&](Expr at) { return as<IndexRef>(at) && as<IndexRef>(at)->dim == stage.dims[d].id; };
    if (seq && !seq->last && std::ranges::none_of(output.at, own)) return false;
  }
  return true;
}

}  // namespace

Fact ErrorBounds::shown(const std::string& kind) const {
  const auto known = shown_.find(kind);
  return known == shown_.end() ? Fact{} : known->second;
}

void ErrorBounds::stage(const Stage& stage) {
  double points = 1;
  double steps = 0;  // of loops that see their own past
  for (std::size_t d = 0; d < stage.dims.size(); ++d) {
    const Dim& dim = stage.dims[d];
    ranges_[dim.id] = {range(dim.lo).low, dim.hi ? range(dim.hi).high - 1 : static_cast<double>(unknown_)};
    points *= static_cast<double>(most(dim));
    const bool sequential =
        std::ranges::any_of(stage.outputs, [&](const Output& o) { return is<Seq>(o.combine[d]); });
    if (sequential) steps = std::max(steps, 1.0) * static_cast<double>(most(dim));
  }
  const auto* nested = std::get_if<Nested>(&stage.body);
  if (nested) {
    for (const Carry& carry : nested->block->carries) arrays_[carry.inside] = arrays_.at(carry.init);
  }
  for (const Output& output : stage.outputs) {
    // Before the first step a state of its own is the old version, or nothing.
    arrays_[output.array] =
        output.into ? arrays_.at(*output.into) : Facts(leaves_of(program_[output.array].type).size());
    if (nested && !output.value) {
      const ArrayId result = nested->block->results[static_cast<std::size_t>(&output - stage.outputs.data())];
      for (const Carry& carry : nested->block->carries)
        if (carry.next == result) arrays_[output.array] = arrays_.at(carry.init);
    }
    if (output.offsets) arrays_[*output.offsets] = {Fact::up_to(points, 0, true)};
    const bool collects =
        !output.combine.empty() && (is<Append>(output.combine.back()) || is<Group>(output.combine.back()));
    if (!collects) continue;
    for (const ArrayId array : defined_arrays(output))
      if (const auto* size = as<SizeRef>(program_[array].shape.front()))
        sizes_[size->symbol] = static_cast<std::int64_t>(std::min(points, 1e9));
  }
  bool exhausted = false;
  for (double step = 0; step <= std::min(steps, most_steps); ++step) {
    if (step > 1 && steps_++ > most_steps_in_all) {
      exhausted = true;
      decided_ = false;
      break;
    }
    if (nested) block(*nested->block);
    if (const auto* branch = std::get_if<Branch>(&stage.body)) {
      of(branch->condition);
      block(*branch->then);
      block(*branch->otherwise);
      for (const ChosenSize& chosen : chosen_sizes(program_, stage))
        sizes_[chosen.size] = static_cast<std::int64_t>(
            std::clamp(std::max(range(chosen.then).high, range(chosen.otherwise).high), 0.0, 1e9));
    }
    bool changed = false;
    const auto learn = [&](ArrayId array, const Facts& facts) {
      Facts joined = join(arrays_.at(array), facts);
      changed = changed || joined != arrays_.at(array);
      arrays_[array] = std::move(joined);
    };
    for (std::size_t o = 0; o < stage.outputs.size(); ++o) {
      const Output& output = stage.outputs[o];
      Facts value;
      if (output.value) {
        value = of(output.value);
      } else if (nested) {
        value = arrays_.at(nested->block->results[o]);
      } else {
        const auto& branch = std::get<Branch>(stage.body);
        value = join(arrays_.at(branch.then->results[o]), arrays_.at(branch.otherwise->results[o]));
      }
      if (output.guard) of(output.guard);
      for (const Expr at : output.at) of(at);
      Facts facts = this->output(stage, output, value);
      learn(output.array, is_written_once(stage, output) ? within_seen(output.array, facts) : facts);
      if (output.keys) arrays_[*output.keys] = of(output.key);
    }
    if (nested)
      for (const Carry& carry : nested->block->carries) learn(carry.inside, arrays_.at(carry.next));
    for (const Effect& effect : stage.effects) {
      if (effect.guard) of(effect.guard);
      for (const auto& argument : effect.arguments)
        if (const Expr* value = std::get_if<Expr>(&argument))
          for (const Fact& fact : of(*value)) {
            if (fact.error == 0) continue;
            const auto [known, is_new] = shown_.try_emplace(effect.kind, fact);
            if (!is_new) known->second = join(known->second, fact);
          }
    }
    for (const Dim& dim : stage.dims) {
      if (dim.lo) of(dim.lo);
      if (dim.hi) of(dim.hi);
      if (dim.condition) of(dim.condition);
    }
    if (!changed && step > 0) break;
  }
  if (steps > most_steps || exhausted)
    for (const Output& output : stage.outputs)
      give_up(arrays_[output.array], program_[output.array].type, exhausted);
  for (const Output& output : stage.outputs) {
    Facts& facts = arrays_[output.array];
    facts = within_seen(output.array, facts);
    const bool combines = steps > 0 || std::ranges::any_of(output.combine, operator_of);
    const std::vector<TypeLeaf> leaves = leaves_of(program_[output.array].type);
    for (std::size_t leaf = 0; leaf < facts.size(); ++leaf) {
      Fact& fact = facts[leaf];
      fact.terms = std::max(fact.terms, steps);
      if (combines && is_float(leaves[leaf].scalar) && fact.error > 0)
        fact.error = std::min(fact.error, plausible_error(fact, leaves[leaf].scalar));
    }
  }
}

}  // namespace twill
