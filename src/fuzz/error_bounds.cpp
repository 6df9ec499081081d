// How far float results may be off: magnitudes and errors, from the inputs through all stages.
#include "fuzz/error_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace twill {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

/// Twice the rounding error of one operation on numbers of magnitude one.
double rounding(Scalar type) {
  switch (type) {
    case Scalar::BF16: return 0x1.0p-7;
    case Scalar::F16: return 0x1.0p-10;
    case Scalar::F32: return 0x1.0p-23;
    default: return 0x1.0p-52;
  }
}

/// Integers up to this are exact.
double exact_limit(Scalar type) { return type == Scalar::F32 ? 0x1.0p24 : 0x1.0p53; }

double highest_magnitude(Scalar type) {
  switch (type) {
    case Scalar::Bool: return 1;
    case Scalar::F16: return 65504;
    default: return std::max(std::abs(highest(type).as_double()), std::abs(lowest(type).as_double()));
  }
}

/// Functions of libm and their vector versions may be off by a few units in the last place.
constexpr double function_error = 8;

Fact join(const Fact& a, const Fact& b) {
  return {std::max(a.magnitude, b.magnitude), std::max(a.error, b.error), a.integral && b.integral};
}

Facts join(const Facts& a, const Facts& b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  Facts joined;
  for (std::size_t k = 0; k < a.size(); ++k) joined.push_back(join(a[k], b[k]));
  return joined;
}

/// 0 * infinity is 0 here: a number that is not there has no error.
double times(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

/// The result of an operation that rounds.
Fact rounded(Fact fact, Scalar type) {
  if (!is_float(type)) {
    fact.magnitude = std::min(fact.magnitude, highest_magnitude(type));
    return fact;
  }
  if (fact.integral && fact.magnitude <= exact_limit(type)) return fact;
  fact.integral = false;
  fact.error += times(rounding(type), fact.magnitude);
  return fact;
}

std::size_t leaf_count(const Type& type) { return leaves_of(type).size(); }

/// The larger bound of max(min(e, high), low), with literal bounds.
std::optional<double> clamped(Expr expr) {
  const auto* outer = as<Apply>(expr);
  if (!outer || outer->prim != Prim::Max) return std::nullopt;
  const auto* inner = as<Apply>(expr->args[0]);
  if (!inner || inner->prim != Prim::Min) return std::nullopt;
  const auto* high = as<Literal>(expr->args[0]->args[1]);
  const auto* low = as<Literal>(expr->args[1]);
  if (!high || !low) return std::nullopt;
  return std::max(std::abs(high->value.as_double()), std::abs(low->value.as_double()));
}

}  // namespace

ErrorBounds::ErrorBounds(const Program& program, std::map<SymbolId, std::int64_t> sizes, std::int64_t unknown)
    : program_(program), sizes_(std::move(sizes)), unknown_(unknown) {}

Facts ErrorBounds::anything(const Type& type) {
  Facts facts;
  for (const TypeLeaf& leaf : leaves_of(type)) {
    const bool floats = is_float(leaf.scalar);
    facts.push_back({floats ? infinite : highest_magnitude(leaf.scalar), 0, !floats});
  }
  return facts;
}

Facts ErrorBounds::of(const Data& data) {
  const std::vector<TypeLeaf> leaves = leaves_of(data.type());
  Facts facts(leaves.size());
  const std::size_t bytes = byte_size(data.type());
  for (std::int64_t k = 0; k < data.count(); ++k) {
    for (std::size_t l = 0; l < leaves.size(); ++l) {
      const double value =
          load(leaves[l].scalar, data.bytes() + static_cast<std::size_t>(k) * bytes + leaves[l].offset)
              .as_double();
      facts[l] =
          join(facts[l], {std::isnan(value) ? infinite : std::abs(value), 0, std::floor(value) == value});
    }
  }
  return facts;
}

void ErrorBounds::constants() {
  for (const Constant& constant : program_.constants) {
    Fact fact;
    for (const Number& number : constant.elements) {
      const double value = number.as_double();
      fact = join(fact, {std::isnan(value) ? infinite : std::abs(value), 0, std::floor(value) == value});
    }
    arrays_[constant.array] = {fact};
  }
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
  if (const auto* literal = as<Literal>(expr)) {
    const double value = literal->value.as_double();
    return {{std::isnan(value) ? infinite : std::abs(value), 0, std::floor(value) == value}};
  }
  if (as<IndexRef>(expr) || as<SizeRef>(expr)) {
    const Range range = this->range(expr);
    return {{std::max(std::abs(range.low), std::abs(range.high)), 0, true}};
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
    if (const auto most = clamped(expr))
      return {{*most, operands[0].error, operands[0].integral && operands[1].integral}};
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
    for (int k = 0; k < get->field; ++k) first += leaf_count(fields[static_cast<std::size_t>(k)].type);
    const auto begin = args[0].begin() + static_cast<std::ptrdiff_t>(first);
    return Facts(begin, begin + static_cast<std::ptrdiff_t>(leaf_count(expr->type)));
  }
  Frame call{std::move(args), {}};
  return evaluate(program_[std::get<Invoke>(expr->kind).function].body, call);
}

Fact ErrorBounds::cast(const Fact& fact, Scalar from, Scalar to) {
  if (!is_float(to)) {
    if (is_float(from) && fact.error > 0) decided_ = false;
    return rounded({fact.magnitude, 0, true}, to);
  }
  // A conversion of the same number gives the same number; one that is off can round another way.
  Fact result = fact;
  const bool narrows = !is_float(from) || info(to).bytes < info(from).bytes || is_storage_only(to);
  if (narrows && fact.error > 0) {
    result.error += times(rounding(to), fact.magnitude);
    if (fact.magnitude > highest_magnitude(to)) result.error = infinite;
  }
  return result;
}

Fact ErrorBounds::apply(Prim prim, Scalar type, const std::vector<Fact>& operands) {
  const Fact& a = operands[0];
  const Fact& b = operands.size() > 1 ? operands[1] : operands[0];
  const bool exact = std::ranges::all_of(operands, [](const Fact& fact) { return fact.error == 0; });
  const PrimClass prim_class = info(prim).prim_class;
  if (prim_class == PrimClass::Comparison || prim_class == PrimClass::Question ||
      prim_class == PrimClass::Logic) {
    if (!exact) decided_ = false;
    return {1, 0, true};
  }
  if (prim_class == PrimClass::Bits) return {highest_magnitude(type), 0, true};
  if (!is_float(type) && prim != Prim::Add && prim != Prim::Sub && prim != Prim::Mul && prim != Prim::Min &&
      prim != Prim::Max)
    return {prim == Prim::Mod   ? std::min(b.magnitude, highest_magnitude(type))
            : prim == Prim::Div ? std::min(a.magnitude, highest_magnitude(type))
                                : highest_magnitude(type),
            0, true};
  const auto function = [&](double magnitude, double slope) {
    return Fact{magnitude, times(slope, a.error) + function_error * times(rounding(type), magnitude), false};
  };
  const auto unknown = [&] { return Fact{infinite, infinite, false}; };
  switch (prim) {
    case Prim::Neg:
    case Prim::Abs: return a;
    case Prim::Add:
    case Prim::Sub:
      return rounded({a.magnitude + b.magnitude, a.error + b.error, a.integral && b.integral}, type);
    case Prim::Mul:
      return rounded({times(a.magnitude, b.magnitude),
                      times(a.error, b.magnitude) + times(b.error, a.magnitude) + times(a.error, b.error),
                      a.integral && b.integral},
                     type);
    case Prim::Fma: return apply(Prim::Add, type, {apply(Prim::Mul, type, {a, b}), operands[2]});
    case Prim::Min:
    case Prim::Max: return join(a, b);
    case Prim::Floor:
    case Prim::Ceil:
    case Prim::Round:
    case Prim::Trunc:
      if (!exact) decided_ = false;
      return {a.magnitude + 1, 0, true};
    case Prim::Sin:
    case Prim::Cos:
    case Prim::Tanh:
    case Prim::Erf: return function(1, 1.2);
    case Prim::Atan: return function(1.6, 1);
    case Prim::Hypot:
      return {a.magnitude + b.magnitude,
              a.error + b.error + function_error * times(rounding(type), a.magnitude + b.magnitude), false};
    case Prim::Exp: return function(std::exp(a.magnitude), std::exp(a.magnitude + a.error));
    case Prim::Exp2: return function(std::exp2(a.magnitude), std::exp2(a.magnitude + a.error));
    default: return unknown();
  }
}

// ---- combining -------------------------------------------------------------------------------------------

Fact ErrorBounds::fold(Prim prim, Scalar type, const Fact& value, double count) {
  switch (prim) {
    case Prim::Add: {
      Fact sum{times(count, value.magnitude), times(count, value.error), value.integral};
      if (!is_float(type)) return rounded(sum, type);
      if (sum.integral && sum.magnitude <= exact_limit(type)) return sum;
      sum.integral = false;
      sum.error += times(count * rounding(type), sum.magnitude);
      return sum;
    }
    case Prim::Mul: {
      if (!is_float(type)) return {highest_magnitude(type), 0, true};
      const double most = std::max(1.0, value.magnitude + value.error);
      Fact product{std::pow(most, count), count * std::pow(most, count) * value.error, value.integral};
      if (product.integral && product.magnitude <= exact_limit(type)) return product;
      product.integral = false;
      product.error += times(count * rounding(type), product.magnitude);
      return product;
    }
    case Prim::Min:
    case Prim::Max: return value;
    default: return {highest_magnitude(type), 0, true};
  }
}

Facts ErrorBounds::combine(const Operator& op, const Facts& values, double count) {
  if (op.prim) {
    const Fact folded = fold(*op.prim, op.type.scalar(), values[0], std::max(count, 1.0));
    // The identity is a result as well; that of min and max is larger than any value, but exact.
    const bool bounded = *op.prim == Prim::Min || *op.prim == Prim::Max || !op.identity;
    return {bounded ? folded : join(folded, of(op.identity)[0])};
  }
  Facts sum = op.identity ? join(of(op.identity), values) : values;
  const Expr body = program_[op.function].body;
  for (double k = 0; k < count && k < 4096; ++k) {
    Frame frame{{sum, values}, {}};
    Facts next = join(sum, evaluate(body, frame));
    if (next == sum) return sum;
    sum = std::move(next);
  }
  // Regrouped, the same operations meet in another order.
  for (Fact& fact : sum) fact.error *= 2;
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
    const Combine& combine = output.combine[d];
    const Operator* here = nullptr;
    if (const auto* fold = std::get_if<Fold>(&combine)) here = &fold->op;
    if (const auto* scan = std::get_if<Scan>(&combine)) here = &scan->op;
    if (const auto* scatter = std::get_if<Scatter>(&combine); scatter && scatter->op) here = &*scatter->op;
    if (const auto* group = std::get_if<Group>(&combine); group && group->op) here = &*group->op;
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
    return {0, known == sizes_.end() ? cap : static_cast<double>(known->second)};
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
    const double most = std::min(cap, arrays_.at(read->array)[0].magnitude);
    return {-most, most};
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
        output.into ? arrays_.at(*output.into) : Facts(leaf_count(program_[output.array].type));
    if (nested && !output.value) {
      const ArrayId result = nested->block->results[static_cast<std::size_t>(&output - stage.outputs.data())];
      for (const Carry& carry : nested->block->carries)
        if (carry.next == result) arrays_[output.array] = arrays_.at(carry.init);
    }
    if (output.offsets) arrays_[*output.offsets] = {{points, 0, true}};
    for (const ArrayId array : defined_arrays(output)) {
      for (const Expr extent : program_[array].shape) {
        const auto* size = as<SizeRef>(extent);
        if (size && program_[size->symbol].origin == Symbol::Origin::Born)
          sizes_[size->symbol] = static_cast<std::int64_t>(std::min(points, 1e9));
      }
    }
  }
  for (double step = 0; step <= std::min(steps, 4096.0); ++step) {
    if (nested) block(*nested->block);
    if (const auto* branch = std::get_if<Branch>(&stage.body)) {
      of(branch->condition);
      block(*branch->then);
      block(*branch->otherwise);
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
      learn(output.array, this->output(stage, output, value));
      if (output.key) arrays_[*output.keys] = of(output.key);
    }
    if (nested)
      for (const Carry& carry : nested->block->carries) learn(carry.inside, arrays_.at(carry.next));
    for (const Effect& effect : stage.effects) {
      if (effect.guard) of(effect.guard);
      for (const auto& argument : effect.arguments)
        if (const Expr* value = std::get_if<Expr>(&argument))
          for (const Fact& fact : of(*value))
            if (fact.error > 0) decided_ = false;
    }
    for (const Dim& dim : stage.dims) {
      if (dim.lo) of(dim.lo);
      if (dim.hi) of(dim.hi);
      if (dim.condition) of(dim.condition);
    }
    if (!changed && step > 0) return;
  }
  if (steps > 4096)
    for (const Output& output : stage.outputs)
      for (Fact& fact : arrays_[output.array])
        if (!fact.integral) fact = {infinite, infinite, false};
}

}  // namespace twill
