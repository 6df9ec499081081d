#include "bench/fit.h"

#include "bench/arrays.h"
#include "bench/case.h"
#include "bench/contest.h"
#include "driver/compile.h"
#include "plan/predict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace twill::bench {

namespace {

/// What a coefficient that is twice what it was counts, beside a sample that is wrong by its whole time.
constexpr double trust_in_start = 0.02;

constexpr int rounds = 20000;

/// A model that is more wrong than this about what it was fitted to says nothing.
constexpr double most_wrong = 0.4;

struct Probe {
  std::string name, text;
  std::int64_t count;  // of elements of every array
  bool apart = false;  // every stage in a pass of its own
};

/// Multiplies and adds, so often, starting with an expression.
std::string computed(std::string start, int times) {
  for (int k = 0; k < times; ++k) start = fmt::format("({} * 0.75 + 0.25)", start);
  return start;
}

std::string map_text(const char* type, int read, int written, int times) {
  std::vector<std::string> inputs, results;
  std::string sum, body;
  for (int r = 0; r < read; ++r) {
    inputs.push_back(fmt::format("x{}: {}[N]", r, type));
    sum += fmt::format("{}x{}[i]", r == 0 ? "" : " + ", r);
  }
  for (int w = 0; w < written; ++w) {
    results.push_back(fmt::format("y{}", w));
    body += fmt::format("  y{}[i] = {} + {}\n", w, computed(fmt::format("({})", sum), times), w);
  }
  return fmt::format("def probe({}) -> ({}) {{\n{}}}\n", fmt::join(inputs, ", "), fmt::join(results, ", "),
                     body);
}

std::string sum_text(const char* type, int times) {
  return fmt::format("def probe(x: {}[N]) -> s {{\n  s = sum(i) {}\n}}\n", type, computed("x[i]", times));
}

/// Maps, each of the one before.
std::string chain_text(int length) {
  std::string text = "def probe(x: f32[N]) -> y {\n", last = "x";
  for (int k = 0; k + 1 < length; ++k) {
    text += fmt::format("  a{}[i] = {}[i] * 0.75 + 0.25\n", k, last);
    last = fmt::format("a{}", k);
  }
  return text + fmt::format("  y[i] = {}[i] * 0.75 + 0.25\n}}\n", last);
}

/// Functions of functions, of numbers that stay between 0 and 1.
std::string call_text(const char* type, int calls) {
  std::string value = "x[i]";
  for (int k = 0; k < calls; ++k) value = (k % 2 == 0 ? "exp(-" : "log(1 + ") + value + ")";
  return fmt::format("def probe(x: {}[N]) -> y {{\n  y[i] = {}\n}}\n", type, value);
}

std::vector<Probe> probes(const Machine& machine, bool small) {
  const MemoryLayer* cache = machine.last_level_cache();
  std::int64_t cached = cache ? cache->bytes * cache->instances : std::int64_t{1} << 25;
  if (small) cached = 1 << 14;
  std::vector<Probe> all;
  for (const auto& [where, bytes] : {std::pair("caches", cached / 16), std::pair("memory", 3 * cached)}) {
    for (const auto& [type, size] : {std::pair("f32", 4), std::pair("f64", 8)}) {
      const std::int64_t count = bytes / size;
      for (const int times : {1, 8, 32})
        all.push_back({fmt::format("{} map, {} operations, {}", type, 2 * times, where),
                       map_text(type, 1, 1, times), count});
      for (const int times : {0, 8})
        all.push_back({fmt::format("{} sum, {} operations, {}", type, 2 * times + 1, where),
                       sum_text(type, times), count});
    }
    for (const auto& [type, size] : {std::pair("f32", 4), std::pair("f64", 8)})
      all.push_back({fmt::format("{} map, exp and log, {}", type, where), call_text(type, 2), bytes / size});
    all.push_back({fmt::format("f32 map, 3 arrays to 1, {}", where), map_text("f32", 3, 1, 1), bytes / 4});
    all.push_back({fmt::format("f32 map, 1 array to 3, {}", where), map_text("f32", 1, 3, 1), bytes / 4});
    all.push_back({fmt::format("f32, 4 maps apart, {}", where), chain_text(4), bytes / 4, true});
  }
  for (const int length : {16, 32})
    all.push_back({fmt::format("f32, {} short maps apart", length), chain_text(length), 20000, true});
  return all;
}

FitSample measured(const Probe& probe, const Machine& machine, TimeModel model, double patience) {
  const auto program = program_from("probe", probe.text);
  std::vector<Data> inputs;
  for (const Input& input : program->inputs) {
    const Scalar type = (*program)[input.array].type.scalar();
    inputs.push_back(type == Scalar::F32 ? uniform({probe.count}, 1)
                                         : random_integers(type, {probe.count}, 1, 0, 1000, 1000));
  }
  Options options;
  options.known = known_sizes(*program, inputs);
  if (probe.apart) {
    options.simplify = false;
    options.clusters = Clusters::None;
  }
  const Compilation compilation = compile(program, machine, options);
  Invocation invocation = compilation.kernel->prepare(inputs);
  const Contender contender{probe.name, [&] { invocation.run(); }};
  FitSample result{probe.name, 1e6 * contest({&contender, 1}, patience).front().best, {}};
  const auto coefficients = model.coefficients();
  for (double& coefficient : coefficients) coefficient = 0;
  for (double& coefficient : coefficients) {
    coefficient = 1;
    result.counts.push_back(predicted_time(*compilation.schedule, model, options.known));
    coefficient = 0;
  }
  return result;
}

}  // namespace

double predicted(const FitSample& sample, TimeModel model) {
  double ns = 0;
  std::size_t k = 0;
  for (const double coefficient : model.coefficients()) ns += sample.counts[k++] * coefficient;
  return ns;
}

/// One coefficient after the other is made the best one for what the others are.
TimeModel least_squares(const std::vector<FitSample>& samples, const TimeModel& start) {
  TimeModel model = start, before = start;
  const auto coefficients = model.coefficients(), from = before.coefficients();
  const double trust = trust_in_start * static_cast<double>(samples.size());
  for (int round = 0; round < rounds; ++round)
    for (std::size_t k = 0; k < coefficients.size(); ++k) {
      const double scale = from[k] > 0 ? from[k].get() : 1;
      double slope = trust * (from[k] - coefficients[k]) / (scale * scale), curve = trust / (scale * scale);
      for (const FitSample& sample : samples) {
        const double share = sample.counts[k] / sample.ns;
        slope += share * (1 - predicted(sample, model) / sample.ns);
        curve += share * share;
      }
      coefficients[k].get() = std::max(0.0, coefficients[k] + slope / curve);
    }
  return model;
}

Fit fit_time_model(const Machine& machine, const FitOptions& options) {
  Machine unfitted = machine;
  unfitted.fitted.reset();
  Fit fit{time_model_of(unfitted), {}, {}};
  const std::vector<Probe> all = probes(machine, options.small);
  for (const Probe& probe : all) {
    if (options.progress)
      options.progress(probe.name, static_cast<int>(fit.samples.size()), static_cast<int>(all.size()));
    fit.samples.push_back(measured(probe, unfitted, fit.by_rates, options.patience));
  }
  fit.fitted = least_squares(fit.samples, fit.by_rates);
  return fit;
}

double wrong_by(const std::vector<FitSample>& samples, const TimeModel& model) {
  double sum = 0;
  for (const FitSample& sample : samples) sum += std::abs(predicted(sample, model) / sample.ns - 1);
  return sum / static_cast<double>(std::max<std::size_t>(samples.size(), 1));
}

std::string why_not_kept(const Fit& fit) {
  const double wrong = wrong_by(fit.samples, fit.fitted);
  if (wrong <= most_wrong) return "";
  return fmt::format("it is wrong by {:.0f} % in the mean, more than {:.0f} %", 100 * wrong,
                     100 * most_wrong);
}

std::string to_string(const Fit& fit) {
  std::string text =
      fmt::format("{:<36}{:>14}{:>14}{:>14}\n", "milliseconds", "measured", "by rates", "fitted");
  for (const FitSample& sample : fit.samples) {
    const double first = predicted(sample, fit.by_rates), second = predicted(sample, fit.fitted);
    text += fmt::format("{:<36}{:>14.4f}{:>14.4f}{:>14.4f}\n", sample.name, 1e-6 * sample.ns, 1e-6 * first,
                        1e-6 * second);
  }
  text += fmt::format("{:<36}{:>14}{:>13.0f}%{:>13.0f}%\n\n", "wrong by, in the mean", "",
                      100 * wrong_by(fit.samples, fit.by_rates), 100 * wrong_by(fit.samples, fit.fitted));
  for (const TimeModel::Layer& layer : fit.fitted.layers)
    text +=
        fmt::format("{}: {:.4f} ns to read a byte, {:.4f} ns to write one\n",
                    std::isfinite(layer.bytes) ? fmt::format("arrays of up to {:.0f} MB", 1e-6 * layer.bytes)
                                               : "larger ones",
                    layer.read_ns, layer.write_ns);
  return text + fmt::format("an operation: {:.5f} ns; a call: {:.4f} ns; an array in memory: {:.0f} ns\n",
                            fit.fitted.operation_ns, fit.fitted.call_ns, fit.fitted.array_ns);
}

}  // namespace twill::bench
