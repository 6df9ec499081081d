// Calls a compiled kernel: sizes from shapes, memory for results, errors in words.
#include "run/kernel.h"

#include "base/error.h"
#include "program/known.h"

#include <algorithm>
#include <cstddef>

namespace twill {

namespace {

/// The host's side of what emitted C declares; see host_interface() in emit/c_prelude.h.
struct Host {
  void* self;
  void* (*allocate)(void* self, std::size_t bytes);
  void (*release)(void* self, void* memory);
  void (*effect)(void* self, std::int32_t effect, std::int32_t count, const Number* numbers);
};
using Entry = std::int32_t(const Host*, void* const*);

/// How many points the interpreter may compute to explain a failure: a few seconds' worth.
constexpr std::int64_t points_to_explain = 10'000'000;

/// Says why a run failed. A kernel knows the stage and the array; which element it was is not worth a
/// register in the loops of all the runs that do not fail. Inputs are never changed, so the interpreter finds
/// it again, with the words it has for it; only what lies too deep for it is told as the kernel knows it.
[[noreturn]] void fail_run(const Program& program, std::span<const Data> inputs, const std::string& text) {
  if (text == out_of_memory) fail(Fault::System, "E0510", program.place, text);
  find_fault(program, inputs, points_to_explain);
  fail(Fault::User, "E0520", program.place, text, "`twill run --target interp` says at which point");
}

static_assert(sizeof(Number) == 16 && offsetof(Number, i) == 8,
              "emitted C hands numbers over in this layout");

}  // namespace

struct Invocation::State {
  std::shared_ptr<const Program> program;
  CSource source;
  Library library;
  std::span<const Data> inputs;
  std::vector<Data> defaults;       // scalars that were left out
  std::vector<std::int64_t> sizes;  // of the symbols that inputs bind, in order
  std::map<SymbolId, std::int64_t> bound;
  std::vector<Data> results;
  std::vector<void*> born;  // per result: memory that the kernel made
  std::vector<std::vector<std::int64_t>> born_shapes;
  std::vector<EffectEvent> effects;
  Pool pool;
  Host host{};
  std::vector<void*> arguments;  // as the entry point expects them

  State(std::shared_ptr<const Program> p, CSource s, Library l)
      : program(std::move(p)), source(std::move(s)), library(std::move(l)) {
    host = {this, [](void* self, std::size_t bytes) { return static_cast<State*>(self)->pool.take(bytes); },
            [](void* self, void* memory) { static_cast<State*>(self)->pool.give(memory); },
            [](void* self, std::int32_t effect, std::int32_t count, const Number* numbers) {
              static_cast<State*>(self)->perform(effect, count, numbers);
            }};
  }

  void perform(std::int32_t number, std::int32_t count, const Number* numbers) {
    const Effect& effect = source.effects[static_cast<std::size_t>(number)];
    effects.push_back(
        {effect.kind, effect_text(*program, effect, std::span(numbers, static_cast<std::size_t>(count)))});
  }

  const Data& input(std::size_t position) const {
    return position < inputs.size() ? inputs[position] : defaults[position - inputs.size()];
  }
};

Kernel::Kernel(std::shared_ptr<const Program> program, CSource source, const CompileOptions& options)
    : program_(std::move(program)),
      source_(std::move(source)),
      library_(compile_and_load(source_.text, options)) {}

Outcome Kernel::run(std::span<const Data> inputs) const {
  Invocation invocation = prepare(inputs);
  invocation.run();
  Outcome outcome;
  outcome.results = std::move(invocation.results());
  outcome.effects = invocation.effects();
  return outcome;
}

Invocation Kernel::prepare(std::span<const Data> inputs) const {
  auto state = std::make_unique<Invocation::State>(program_, source_, library_);
  state->inputs = inputs;
  state->bound = bind_sizes(*program_, inputs);
  for (std::size_t i = inputs.size(); i < program_->inputs.size(); ++i)
    state->defaults.push_back(Data::scalar(*program_->inputs[i].fallback));
  for (const Symbol& symbol : program_->symbols) {
    if (symbol.origin == Symbol::Origin::Input) state->sizes.push_back(state->bound.at(symbol.id));
  }
  state->results.resize(program_->results.size());
  state->born.resize(program_->results.size(), nullptr);
  state->born_shapes.resize(program_->results.size());
  const auto pass = [&](const void* pointer) { state->arguments.push_back(const_cast<void*>(pointer)); };
  for (const CParameter& parameter : source_.parameters) {
    const auto position = static_cast<std::size_t>(parameter.position);
    switch (parameter.kind) {
      case CParameter::Kind::Input:
      case CParameter::Kind::Scalar: pass(state->input(position).bytes()); break;
      case CParameter::Kind::Size: pass(&state->sizes[position]); break;
      case CParameter::Kind::Output: {
        const Array& array = (*program_)[program_->results[position]];
        std::vector<std::int64_t> shape;
        for (Expr extent : parameter.shape) {
          const std::optional<Number> size = known_value(extent, {state->bound, {}});
          if (!size)
            fail_run(*program_, inputs, "the extent of the result '" + array.name + "' is divided by zero");
          shape.push_back(std::max<std::int64_t>(0, size->i));
        }
        state->results[position] = Data(array.type, std::move(shape));
        pass(state->results[position].bytes());
        break;
      }
      case CParameter::Kind::BornOutput: pass(&state->born[position]); break;
      case CParameter::Kind::BornShape:
        state->born_shapes[position].resize(
            static_cast<std::size_t>((*program_)[program_->results[position]].rank()));
        pass(state->born_shapes[position].data());
        break;
    }
  }
  return Invocation(std::move(state));
}

Invocation::Invocation(std::unique_ptr<State> state) : state_(std::move(state)) {}
Invocation::Invocation(Invocation&&) noexcept = default;
Invocation::~Invocation() = default;

void Invocation::run() {
  State& s = *state_;
  s.effects.clear();
  std::fill(s.born.begin(), s.born.end(), nullptr);
  const std::int32_t code =
      s.library.function<Entry>(s.source.function + "_call")(&s.host, s.arguments.data());
  for (std::size_t r = 0; r < s.born.size(); ++r) {
    if (!s.born[r]) continue;  // after an error there are none
    const Type type = (*s.program)[s.program->results[r]].type;
    s.results[r] = Data::adopt(type, s.born_shapes[r], s.born[r]);
  }
  if (code != 0) {
    const bool known = code > 0 && code <= static_cast<std::int32_t>(s.source.errors.size());
    fail_run(*s.program, s.inputs,
             known ? s.source.errors[static_cast<std::size_t>(code - 1)] : "the kernel failed");
  }
}

std::vector<Data>& Invocation::results() { return state_->results; }
const std::vector<EffectEvent>& Invocation::effects() const { return state_->effects; }

}  // namespace twill
