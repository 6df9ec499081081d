// The interpreter: slow, obvious, complete. It defines what a program means.
#pragma once

#include "program/data.h"
#include "program/program.h"

#include <functional>
#include <map>

namespace twill {

/// One thing the world saw.
struct EffectEvent {
  std::string kind;
  std::string text;
  friend bool operator==(const EffectEvent&, const EffectEvent&) = default;
};

/// The values of a program's results (in order), everything it defined on the way, and its effects.
struct Outcome {
  std::vector<Data> results;
  std::map<std::string, std::int64_t> sizes;  // values of all size symbols by name
  std::vector<EffectEvent> effects;
};

/// Binds size symbols from the shapes of inputs (one Data per input, in order; scalars with a default
/// may be left out at the end). Throws E05xx if a shape does not fit.
std::map<SymbolId, std::int64_t> bind_sizes(const Program& program, std::span<const Data> inputs);

/// Runs the program. Throws a user error for what only shows at run time (an index out of range, an
/// integer division by zero, a fold of nothing without identity), naming stage and index.
Outcome interpret(const Program& program, std::span<const Data> inputs);

/// What else can be seen of a run.
struct Watch {
  std::vector<EffectEvent>* effects = nullptr;        // also if an error is thrown: those before it
  std::function<void(ArrayId, const Data&)> defined;  // called whenever a stage has defined an array
};

Outcome interpret_watched(const Program& program, std::span<const Data> inputs, const Watch& watch);

/// Looks for what goes wrong in a run: interprets the program until it does and throws that error, or until
/// so many points are computed or the end is reached.
void find_fault(const Program& program, std::span<const Data> inputs, std::int64_t points);

/// How a value is written: numbers with the shortest text that reads back, records as { field: value } and
/// tuples as (value, value). `leaves` are its numbers in order (see leaves_of).
std::string value_text(const Type& type, std::span<const Number> leaves);

/// How an effect's arguments are written: strings as they are, values as value_text does, joined by single
/// spaces. `numbers` are the leaves (see leaves_of) of all arguments that are expressions, in order.
std::string effect_text(const Program& program, const Effect& effect, std::span<const Number> numbers);

}  // namespace twill
