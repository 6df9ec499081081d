// Running a program, and the text of effects.
#include "program/interpret.h"

#include "base/error.h"
#include "program/inputs.h"
#include "program/interpret_stage.h"

#include <fmt/format.h>
#include <cmath>

namespace twill {

namespace {

void run_program(Interpreter& interpreter, const Program& program, std::span<const Data> inputs) {
  Environment& environment = interpreter.environment;
  take_inputs(environment, inputs, Elements::Copied);
  for (const Constant& constant : program.constants) {
    const Array& array = program[constant.array];
    std::vector<std::int64_t> shape;
    for (Expr extent : array.shape) shape.push_back(std::get<Literal>(extent->kind).value.as_int());
    environment[array.id] = Data::of(array.type.scalar(), std::move(shape), constant.elements);
  }
  interpreter.run(program.stages);
}

}  // namespace

Outcome interpret(const Program& program, std::span<const Data> inputs) {
  return interpret_watched(program, inputs, {});
}

Outcome interpret_watched(const Program& program, std::span<const Data> inputs, const Watch& watch) {
  Interpreter interpreter(program);
  interpreter.defined = watch.defined;
  try {
    run_program(interpreter, program, inputs);
  } catch (...) {
    if (watch.effects) *watch.effects = std::move(interpreter.effects);
    throw;
  }
  Environment& environment = interpreter.environment;
  Outcome outcome;
  for (ArrayId result : program.results) outcome.results.push_back(environment[result]);
  for (const Symbol& symbol : program.symbols)
    if (const auto& size = environment.sizes[static_cast<std::size_t>(symbol.id.value)])
      outcome.sizes[symbol.name] = *size;
  outcome.effects = std::move(interpreter.effects);
  if (watch.effects) *watch.effects = outcome.effects;
  return outcome;
}

void find_fault(const Program& program, std::span<const Data> inputs, std::int64_t points) {
  Interpreter interpreter(program);
  interpreter.points_left = points;
  try {
    run_program(interpreter, program, inputs);
  } catch (const Interpreter::Enough&) {}
}

namespace {

std::string number_text(const Number& number) {
  switch (info(number.type).number_class) {
    case NumberClass::Bool: return number.i ? "true" : "false";
    case NumberClass::Signed: return std::to_string(number.i);
    case NumberClass::Unsigned: return std::to_string(number.u);
    case NumberClass::Float: break;
  }
  if (std::isnan(number.f)) return "nan";  // whatever its sign
  return number.type == Scalar::F64 ? fmt::format("{}", number.f)
                                    : fmt::format("{}", static_cast<float>(number.f));
}

/// The text of a value; takes its leaves from the front of `numbers`.
std::string take_text(const Type& type, std::span<const Number>& numbers) {
  if (type.is_scalar()) {
    ensure(!numbers.empty(), "value_text: a number for every leaf");
    const Number first = numbers.front();
    numbers = numbers.subspan(1);
    return number_text(first);
  }
  const bool is_tuple = type.record().name.empty();
  std::string text;
  for (const Field& field : type.record().fields) {
    if (!text.empty()) text += ", ";
    if (!is_tuple) text += field.name + ": ";
    text += take_text(field.type, numbers);
  }
  return is_tuple ? "(" + text + ")" : "{ " + text + " }";
}

}  // namespace

std::string value_text(const Type& type, std::span<const Number> leaves) { return take_text(type, leaves); }

std::string effect_text(const Program&, const Effect& effect, std::span<const Number> numbers) {
  std::string text;
  for (const auto& argument : effect.arguments) {
    if (&argument != &effect.arguments.front()) text += ' ';
    if (const auto* plain = std::get_if<std::string>(&argument)) {
      text += *plain;
    } else {
      text += take_text(std::get<Expr>(argument)->type, numbers);
    }
  }
  return text;
}

}  // namespace twill
