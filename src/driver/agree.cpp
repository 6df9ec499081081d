#include "driver/agree.h"

#include "base/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace twill {

namespace {

/// Counts the values that are combined, one after the other at worst, on the way to a result.
class Lengths {
 public:
  Lengths(const Program& program, const std::map<std::string, std::int64_t>& sizes)
      : program_(program), sizes_(sizes) {
    for (const auto& [name, size] : sizes) largest_ = std::max(largest_, static_cast<double>(size));
  }

  double of(std::span<const Stage> stages) const {
    double sum = 0;
    for (const Stage& stage : stages) sum += of(stage);
    return sum;
  }

 private:
  double of(const Stage& stage) const {
    double steps = 1;
    for (std::size_t d = 0; d < stage.dims.size(); ++d)
      if (std::ranges::any_of(stage.outputs, [&](const Output& o) {
            return !is<Cat>(o.combine[d]) && !is<Append>(o.combine[d]);
          }))
        steps *= std::max(1.0, extent(stage.dims[d]));
    double inside = 1;
    if (const auto* nested = std::get_if<Nested>(&stage.body)) inside += of(nested->block->stages);
    if (const auto* branch = std::get_if<Branch>(&stage.body))
      inside += std::max(of(branch->then->stages), of(branch->otherwise->stages));
    return steps * inside;
  }

  /// A bound that is not a number or a size is taken for the largest size.
  double extent(const Dim& dim) const {
    if (const auto* literal = as<Literal>(dim.hi)) return literal->value.as_double();
    if (const auto* size = as<SizeRef>(dim.hi))
      if (const auto found = sizes_.find(program_[size->symbol].name); found != sizes_.end())
        return static_cast<double>(found->second);
    return largest_;
  }

  const Program& program_;
  const std::map<std::string, std::int64_t>& sizes_;
  double largest_ = 1;
};

double unit_of(Scalar type) {
  switch (type) {
    case Scalar::F16: return 0x1.0p-11;
    case Scalar::BF16: return 0x1.0p-8;
    case Scalar::F32: return 0x1.0p-24;
    default: return 0x1.0p-53;
  }
}

bool has(const Type& type, Scalar scalar) {
  return std::ranges::any_of(leaves_of(type), [&](const TypeLeaf& leaf) { return leaf.scalar == scalar; });
}

/// The coarsest rounding on the way to a result of a type: of the result itself, and of f32 if the program
/// computes with it.
double rounding(const Program& program, Scalar type) {
  double unit = unit_of(type);
  for (const Array& array : program.arrays)
    if (has(array.type, Scalar::F32)) unit = std::max(unit, unit_of(Scalar::F32));
  return unit;
}

std::string position_text(std::int64_t position, const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> at(shape.size());
  for (std::size_t d = shape.size(); d-- > 0;) {
    at[d] = position % shape[d];
    position /= shape[d];
  }
  return at.empty() ? "" : fmt::format("[{}]", fmt::join(at, ", "));
}

/// Compares two arrays of one type and shape, leaf by leaf.
class Comparison {
 public:
  Comparison(const std::string& name, const Data& expected, const Data& actual, Agreement& agreement)
      : name_(name), expected_(expected), actual_(actual), agreement_(agreement) {}

  void leaf(const TypeLeaf& leaf, double tolerance) {
    const std::size_t stride = byte_size(expected_.type());
    const auto get = [&](const Data& data, std::int64_t k) {
      return load(leaf.scalar, data.bytes() + static_cast<std::size_t>(k) * stride + leaf.offset);
    };
    double scale = 1;
    if (is_float(leaf.scalar))
      for (std::int64_t k = 0; k < expected_.count(); ++k)
        if (const double value = std::abs(get(expected_, k).f); std::isfinite(value))
          scale = std::max(scale, value);
    std::int64_t wrong = 0, first = -1;
    for (std::int64_t k = 0; k < expected_.count(); ++k) {
      const Number want = get(expected_, k), got = get(actual_, k);
      if (want == got || (is_float(leaf.scalar) && std::isnan(want.f) && std::isnan(got.f))) continue;
      agreement_.identical = false;
      const double error = is_float(leaf.scalar) ? std::abs(want.f - got.f) / scale : INFINITY;
      if (error <= tolerance) {
        agreement_.error = std::max(agreement_.error, error);
        continue;
      }
      if (wrong++ == 0) first = k;
    }
    if (wrong == 0 || !agreement_.difference.empty()) return;
    const Number want = get(expected_, first), got = get(actual_, first);
    agreement_.difference =
        fmt::format("'{}{}' is {}, the interpreter says {} ({} of {} elements differ)", name_,
                    position_text(first, expected_.shape()), value_text(leaf.scalar, std::span(&got, 1)),
                    value_text(leaf.scalar, std::span(&want, 1)), wrong, expected_.count());
  }

 private:
  const std::string& name_;
  const Data &expected_, &actual_;
  Agreement& agreement_;
};

}  // namespace

Agreement agreement(const Program& program, const Outcome& expected, const Outcome& actual) {
  Agreement result;
  const double length = Lengths(program, expected.sizes).of(program.stages);
  for (std::size_t r = 0; r < expected.results.size(); ++r) {
    const std::string& name = program[program.results[r]].name;
    const Data &want = expected.results[r], &got = actual.results[r];
    if (want.shape() != got.shape()) {
      result.difference = fmt::format("'{}' has the shape [{}], the interpreter says [{}]", name,
                                      fmt::join(got.shape(), ", "), fmt::join(want.shape(), ", "));
      result.identical = false;
      return result;
    }
    Comparison comparison(name, want, got, result);
    for (const TypeLeaf& leaf : leaves_of(want.type())) {
      // Some roundings for each operation of a formula, and one for each value that is combined.
      const double tolerance =
          program.strict || !is_float(leaf.scalar) ? 0 : rounding(program, leaf.scalar) * (32 + 4 * length);
      result.tolerance = std::max(result.tolerance, tolerance);
      comparison.leaf(leaf, tolerance);
    }
  }
  if (expected.effects != actual.effects && result.difference.empty()) {
    result.identical = false;
    std::size_t k = 0;
    const auto text = [](const std::vector<EffectEvent>& events, std::size_t at) {
      return at < events.size() ? "'" + events[at].text + "'" : "nothing";
    };
    while (k < expected.effects.size() && k < actual.effects.size() &&
           expected.effects[k] == actual.effects[k])
      ++k;
    result.difference = fmt::format("effect {} is {}, the interpreter says {}", k + 1,
                                    text(actual.effects, k), text(expected.effects, k));
  }
  return result;
}

void fail_disagreement(const Program& program, const std::string& how) {
  fail(Fault::Bug, "B0002", program.place, "the kernel and the interpreter disagree: " + how,
       program.strict ? "please report it with the program and its inputs"
                      : "a condition that depends on a rounding can do this: with --strict the results "
                        "must be identical");
}

Agreement require_agreement(const Program& program, const Outcome& expected, const Outcome& actual) {
  Agreement result = agreement(program, expected, actual);
  if (!result.difference.empty()) fail_disagreement(program, result.difference);
  return result;
}

std::string to_string(const Agreement& agreement) {
  if (!agreement.difference.empty()) return agreement.difference;
  if (agreement.identical) return "identical to the interpreter, bit by bit";
  return fmt::format("the interpreter's, up to an error of {:.2g} ({:.2g} is allowed)", agreement.error,
                     agreement.tolerance);
}

}  // namespace twill
