// Comparing the outcome of a kernel with the interpreter's.
#include "fuzz/error_bounds.h"
#include "fuzz/verdict.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>

namespace twill {

namespace {

std::string text_of(const Number& number) {
  if (is_float(number.type)) return fmt::format("{}", number.f);
  if (is_unsigned(number.type)) return fmt::format("{}", number.u);
  return fmt::format("{}", number.i);
}

std::string text_of(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

/// The position of an element as subscripts.
std::string place_of(std::int64_t position, const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> subscripts(shape.size());
  for (std::size_t d = shape.size(); d-- > 0;) {
    subscripts[d] = position % shape[d];
    position /= shape[d];
  }
  return shape.empty() ? std::string{} : text_of(subscripts);
}

bool close(const Number& a, const Number& b, bool strict, double error) {
  if (!is_float(a.type)) return a == b;
  if (std::isnan(a.f) || std::isnan(b.f)) return std::isnan(a.f) && std::isnan(b.f);
  if (strict) return std::bit_cast<std::uint64_t>(a.f) == std::bit_cast<std::uint64_t>(b.f);
  return a.f == b.f || std::abs(a.f - b.f) <= error;
}

std::optional<std::string> difference(const std::string& name, const Data& expected, const Data& actual,
                                      bool strict, const Facts& facts) {
  if (!(expected.type() == actual.type())) return fmt::format("'{}' has another type", name);
  if (expected.shape() != actual.shape())
    return fmt::format("'{}' has the shape {} instead of {}", name, text_of(actual.shape()),
                       text_of(expected.shape()));
  const std::vector<TypeLeaf> leaves = leaves_of(expected.type());
  const std::size_t bytes = byte_size(expected.type());
  for (std::int64_t k = 0; k < expected.count(); ++k) {
    for (std::size_t l = 0; l < leaves.size(); ++l) {
      const std::size_t at = static_cast<std::size_t>(k) * bytes + leaves[l].offset;
      const Number want = load(leaves[l].scalar, expected.bytes() + at),
                   is = load(leaves[l].scalar, actual.bytes() + at);
      if (close(want, is, strict, facts[l].error)) continue;
      const std::string part =
          leaves.size() > 1 ? fmt::format(", number {} of the record", l) : std::string{};
      const std::string bound = is_float(want.type) && !strict
                                    ? fmt::format(" (it may be off by {})", facts[l].error)
                                    : std::string{};
      return fmt::format("'{}'{}{} is {} instead of {}{}", name, place_of(k, expected.shape()), part,
                         text_of(is), text_of(want), bound);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> difference(const Program& program, std::span<const Data> inputs,
                                      const Outcome& expected, const Outcome& actual) {
  std::map<SymbolId, std::int64_t> sizes = bind_sizes(program, inputs);
  for (const Symbol& symbol : program.symbols)
    if (const auto known = expected.sizes.find(symbol.name); known != expected.sizes.end())
      sizes[symbol.id] = known->second;
  ErrorBounds bounds(program, std::move(sizes));
  bounds.constants();
  for (std::size_t k = 0; k < program.inputs.size(); ++k) {
    const Input& input = program.inputs[k];
    bounds.set(input.array, ErrorBounds::of(k < inputs.size() ? inputs[k] : Data::scalar(*input.fallback)));
  }
  for (const Stage& stage : program.stages) bounds.stage(stage);
  // Where a condition hangs on a float that may be off, there is nothing to compare.
  if (!program.strict && !bounds.decided()) return std::nullopt;
  for (std::size_t k = 0; k < program.results.size(); ++k) {
    const ArrayId result = program.results[k];
    if (auto found = difference(program[result].name, expected.results[k], actual.results[k], program.strict,
                                bounds[result]))
      return found;
  }
  const std::size_t events = std::min(expected.effects.size(), actual.effects.size());
  for (std::size_t k = 0; k < events; ++k) {
    const EffectEvent &want = expected.effects[k], &is = actual.effects[k];
    if (!(want == is))
      return fmt::format("effect {} is {} \"{}\" instead of {} \"{}\"", k, is.kind, is.text, want.kind,
                         want.text);
  }
  if (expected.effects.size() != actual.effects.size())
    return fmt::format("there are {} effects instead of {}", actual.effects.size(), expected.effects.size());
  return std::nullopt;
}

}  // namespace twill
