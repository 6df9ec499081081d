// Whether a kernel and the interpreter agree.
#include "driver/agree.h"

#include "base/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>

namespace twill {

namespace {

using Texts = std::vector<std::string>;

std::map<std::string, Texts> by_kind(const std::vector<EffectEvent>& events) {
  std::map<std::string, Texts> kinds;
  for (const EffectEvent& event : events) kinds[event.kind].push_back(event.text);
  return kinds;
}

std::string position_text(std::int64_t position, const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> at(shape.size());
  for (std::size_t d = shape.size(); d-- > 0;) {
    at[d] = position % shape[d];
    position /= shape[d];
  }
  return at.empty() ? "" : fmt::format("[{}]", fmt::join(at, ", "));
}

/// Do two texts differ in floats only, and in these by no more than is allowed?
bool says_the_same(const std::string& want, const std::string& got, const Fact& fact, Agreement& agreement) {
  std::istringstream wanted(want), made(got);
  std::string a, b;
  while (true) {
    const bool more = static_cast<bool>(wanted >> a);
    if (more != static_cast<bool>(made >> b)) return false;
    if (!more) return true;
    if (a == b) continue;
    char *end_a = nullptr, *end_b = nullptr;
    const double x = std::strtod(a.c_str(), &end_a), y = std::strtod(b.c_str(), &end_b);
    if (*end_a != 0 || *end_b != 0) return false;
    // Integers are exact, whatever stands beside them.
    const auto is_float = [](const std::string& number) {
      return number.find_first_of(".eni") != std::string::npos;
    };
    if (!is_float(a) && !is_float(b)) return false;
    const double error = std::abs(x - y), allowed = allowed_error(fact, Scalar::F64, x);
    if (!(error <= allowed)) return false;
    if (error * agreement.allowed < agreement.error * allowed) continue;
    agreement.error = error;
    agreement.allowed = allowed;
  }
}

/// Compares two arrays of one type and shape, leaf by leaf.
class Comparison {
 public:
  Comparison(const std::string& name, const Data& expected, const Data& actual, Agreement& agreement)
      : name_(name), expected_(expected), actual_(actual), agreement_(agreement) {}

  void leaf(const TypeLeaf& leaf, const Fact& fact, bool strict) {
    const std::size_t stride = byte_size(expected_.type());
    const auto get = [&](const Data& data, std::int64_t k) {
      return load(leaf.scalar, data.bytes() + static_cast<std::size_t>(k) * stride + leaf.offset);
    };
    const bool floats = is_float(leaf.scalar);
    std::int64_t wrong = 0, first = -1;
    for (std::int64_t k = 0; k < expected_.count(); ++k) {
      const Number want = get(expected_, k), got = get(actual_, k);
      const bool same_bits = std::bit_cast<std::uint64_t>(want.f) == std::bit_cast<std::uint64_t>(got.f);
      if (floats ? same_bits || (std::isnan(want.f) && std::isnan(got.f)) : want == got) continue;
      agreement_.identical = false;
      const double error = floats ? std::abs(want.f - got.f) : INFINITY;
      const double allowed = floats && !strict ? allowed_error(fact, leaf.scalar, want.f) : 0;
      const bool near = !strict && (error == 0 || (std::isfinite(error) && error <= allowed));
      if (!near && wrong++ == 0) first = k;
      if (!near || error == 0 || error * agreement_.allowed < agreement_.error * allowed) continue;
      agreement_.error = error;
      agreement_.allowed = allowed;
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

Reference reference_of(const Program& program, std::span<const Data> inputs) {
  ErrorBounds bounds(program, {});
  const Watch watch{nullptr, [&](ArrayId array, const Data& data) { bounds.see(array, data); }};
  Outcome outcome = program.strict ? interpret(program, inputs) : interpret_watched(program, inputs, watch);
  if (program.strict) return {std::move(outcome), std::move(bounds)};
  for (const Symbol& symbol : program.symbols)
    if (const auto size = outcome.sizes.find(symbol.name); size != outcome.sizes.end())
      symbol.origin == Symbol::Origin::Input ? bounds.know(symbol.id, size->second)
                                             : bounds.set(symbol.id, size->second);
  bounds.program(inputs);
  return {std::move(outcome), std::move(bounds)};
}

Agreement agreement(const Program& program, const Reference& reference, const Outcome& actual) {
  Agreement result;
  const Outcome& expected = reference.outcome;
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
    const std::vector<TypeLeaf> leaves = leaves_of(want.type());
    for (std::size_t l = 0; l < leaves.size(); ++l)
      comparison.leaf(leaves[l], program.strict ? Fact{} : reference.bounds[program.results[r]][l],
                      program.strict);
  }
  // Effects of different kinds may pass each other.
  const std::map<std::string, Texts> want = by_kind(expected.effects), got = by_kind(actual.effects);
  if (want != got) result.identical = false;
  if (want != got && result.difference.empty()) {
    std::set<std::string> kinds;
    for (const auto* side : {&want, &got})
      for (const auto& [kind, texts] : *side) kinds.insert(kind);
    for (const std::string& kind : kinds) {
      const Texts wanted = want.contains(kind) ? want.at(kind) : Texts{},
                  made = got.contains(kind) ? got.at(kind) : Texts{};
      if (wanted == made) continue;
      const auto text = [](const Texts& texts, std::size_t at) {
        return at < texts.size() ? "'" + texts[at] + "'" : "nothing";
      };
      const Fact fact = program.strict ? Fact{} : reference.bounds.shown(kind);
      std::size_t k = 0;
      while (k < wanted.size() && k < made.size() &&
             (wanted[k] == made[k] || (!program.strict && says_the_same(wanted[k], made[k], fact, result))))
        ++k;
      if (k == wanted.size() && k == made.size()) continue;
      result.difference =
          fmt::format("{} {} is {}, the interpreter says {}", kind == "print" ? "effect" : "'" + kind + "'",
                      k + 1, text(made, k), text(wanted, k));
      break;
    }
  }
  return result;
}

void fail_disagreement(const Program& program, const std::string& how) {
  fail(Fault::Bug, "B0002", program.place, "the kernel and the interpreter disagree: " + how,
       program.strict ? "please report it with the program and its inputs"
                      : "a condition that depends on a rounding can do this, and so can a recurrence that "
                        "amplifies roundings: with --strict the results must be identical");
}

Agreement require_agreement(const Program& program, const Reference& expected, const Outcome& actual) {
  Agreement result = agreement(program, expected, actual);
  if (!result.difference.empty()) fail_disagreement(program, result.difference);
  return result;
}

std::string to_string(const Agreement& agreement) {
  if (!agreement.difference.empty()) return agreement.difference;
  if (agreement.identical) return "identical to the interpreter, bit by bit";
  if (agreement.allowed == 0) return "the interpreter's, up to the signs of zeros";
  return fmt::format("the interpreter's, up to an error of {:.2g} ({:.2g} is allowed)", agreement.error,
                     agreement.allowed);
}

}  // namespace twill
