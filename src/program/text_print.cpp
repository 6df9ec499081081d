// Printing of programs: declarations, inputs, constants and results.
#include "program/text.h"
#include "program/text_printer.h"
#include "program/typing.h"

#include <algorithm>

namespace twill::text {

Printer::Printer(const Program& program) : program_(program) {
  for (const Symbol& symbol : program_.symbols) symbols_.push_back(quoted(symbol.name));
  for (const Array& array : program_.arrays) names_.push_back(quoted(array.name));
  for (const std::string& dim : program_.dim_names) dims_.push_back(quoted(dim));
  for (const auto* names : {&symbols_, &names_, &dims_}) taken_.insert(names->begin(), names->end());
  for_each_stage(program_.stages, [&](const Stage& stage) {
    for (const Output& output : stage.outputs)
      if (output.offsets) nested_.insert(output.array);
  });
}

// ---- declarations
// -------------------------------------------------------------------------------------------

void Printer::note_type(const Type& type) {
  if (!type.is_record()) return;
  for (const Field& field : type.record().fields) note_type(field.type);
  const std::string& record = type.record().name;
  if (record.empty()) return;
  if (std::none_of(types_.begin(), types_.end(), [&](const auto& known) { return known.first == record; }))
    types_.emplace_back(record, type);
}

void Printer::note_types() {
  for (const Array& array : program_.arrays) note_type(array.type);
  for (const Function& function : program_.functions) {
    for (const Parameter& parameter : function.parameters) note_type(parameter.type);
    note_type(function.result);
    visit(function.body, [&](Expr node) { note_type(node->type); });
  }
  for_each_stage(program_.stages, [&](const Stage& stage) {
    for_each_expr(stage, [&](Expr e) { visit(e, [&](Expr node) { note_type(node->type); }); });
  });
}

/// Operators that are not simply a built-in one get a name: that of their function, or a new one.
void Printer::note_operators() {
  for_each_stage(program_.stages, [&](const Stage& stage) {
    for (const Output& output : stage.outputs)
      for (const Combine& combine : output.combine) {
        const Operator* op = operator_of(combine);
        if (!op || (op->prim && *op == builtin_operator(*program_.pool, *op->prim, op->type))) continue;
        if (std::any_of(operators_.begin(), operators_.end(),
                        [&](const auto& known) { return known.second == *op; }))
          continue;
        std::string name = op->prim ? "combine" : program_[op->function].name;
        const auto known = [&](const std::string& text) {
          const bool used = std::any_of(operators_.begin(), operators_.end(),
                                        [&](const auto& other) { return other.first == text; });
          const bool function =
              std::any_of(program_.functions.begin(), program_.functions.end(), [&](const Function& f) {
                return f.name == text && (op->prim || &f != &program_[op->function]);
              });
          return used || function;
        };
        const std::string base = name;
        for (int n = 2; known(name); ++n) name = base + "_" + std::to_string(n);
        operators_.emplace_back(name, *op);
      }
  });
}

std::string Printer::name(const Operator& op) const {
  for (const auto& [name, known] : operators_)
    if (known == op) return quoted(name);
  return std::string(info(*op.prim).name);
}

std::string Printer::function(std::size_t number) {
  const Function& f = program_.functions[number];
  function_ = &f;
  std::string signature = quoted(f.name) + "(";
  for (std::size_t i = 0; i < f.parameters.size(); ++i)
    signature += (i ? ", " : "") + quoted(f.parameters[i].name) + ": " + to_string(f.parameters[i].type);
  signature += ") -> " + to_string(f.result);
  const std::string body = expr(f.body, 0, false);
  function_ = nullptr;
  const auto properties = [](const Operator& op) {
    return std::string(op.associative ? " associative" : "") + (op.commutative ? " commutative" : "");
  };
  std::string text;
  bool declared = false;
  for (const auto& [name, op] : operators_) {
    if (op.prim || op.function.value != static_cast<int>(number)) continue;
    if (!declared && name == f.name) {
      declared = true;
      text += "op " + signature + properties(op) + " {\n";
      if (op.identity) text += "  identity " + expr(op.identity, 0, true) + "\n";
      text += "  " + body + "\n}\n";
    } else {
      text += "op " + quoted(name) + " = " + quoted(f.name) + properties(op) +
              (op.identity ? " { identity " + expr(op.identity, 0, true) + " }" : "") + "\n";
    }
  }
  if (!declared) text = "fn " + signature + " = " + body + "\n" + text;
  return text;
}

std::string Printer::declarations() {
  note_types();
  note_operators();
  std::string text;
  for (const auto& [name, type] : types_) {
    text += "type " + quoted(name) + " = { ";
    const std::vector<Field>& fields = type.record().fields;
    for (std::size_t i = 0; i < fields.size(); ++i)
      text += (i ? ", " : "") + quoted(fields[i].name) + ": " + to_string(fields[i].type);
    text += " }\n";
  }
  std::set<std::string> effects;
  for_each_stage(program_.stages, [&](const Stage& stage) {
    for (const Effect& effect : stage.effects) effects.insert(effect.kind);
  });
  effects.erase("print");
  for (const std::string& kind : effects) text += "effect " + quoted(kind) + "\n";
  for (std::size_t i = 0; i < program_.functions.size(); ++i) text += function(i);
  for (const auto& [name, op] : operators_)
    if (op.prim)
      text += "op " + quoted(name) + "(" + to_string(op.type) + ") = " + std::string(info(*op.prim).name) +
              (op.associative ? " associative" : "") + (op.commutative ? " commutative" : "") +
              (op.identity ? " { identity " + expr(op.identity, 0, true) + " }" : "") + "\n";
  return text;
}

/// `f32[N, M]`; with `born`, lengths in the set are declared here.
std::string Printer::array_type(const Array& array, std::set<SymbolId>* born) {
  std::string text = to_string(array.type);
  if (array.shape.empty()) return text;
  text += "[";
  for (std::size_t i = 0; i < array.shape.size(); ++i) {
    const auto* size = as<SizeRef>(array.shape[i]);
    const bool declares = born && size && born->erase(size->symbol) > 0;
    text += (i ? ", " : "") + std::string(declares ? "born " : "") + extent(array.shape[i]);
  }
  return text + "]";
}

std::string Printer::constant(const Constant& constant) {
  const Array& array = program_[constant.array];
  std::vector<std::int64_t> shape;
  for (const Expr e : array.shape) shape.push_back(as<Literal>(e) ? as<Literal>(e)->value.i : 0);
  std::size_t next = 0;
  const std::function<std::string(std::size_t)> rows = [&](std::size_t depth) -> std::string {
    if (depth == shape.size()) return literal(constant.elements[next++], true);
    std::string text = "[";
    for (std::int64_t i = 0; i < shape[depth]; ++i) text += (i ? ", " : "") + rows(depth + 1);
    return text + "]";
  };
  const std::string value = constant.elements.empty() && !shape.empty() ? "[]" : rows(0);
  return "const " + name(constant.array) + ": " + array_type(array) + " = " + value;
}

std::string Printer::results() {
  std::vector<std::string> list;
  for (std::size_t i = 0; i < program_.results.size(); ++i) {
    const ArrayId array = program_.results[i];
    std::vector<ArrayId> parts;
    for (const Stage& stage : program_.stages)
      for (const Output& output : stage.outputs)
        if (output.array == array) parts = defined_arrays(output);
    const bool all =
        parts.size() > 1 && i + parts.size() <= program_.results.size() &&
        std::equal(parts.begin(), parts.end(), program_.results.begin() + static_cast<std::ptrdiff_t>(i));
    list.push_back(name(array) + (parts.size() > 1 && !all ? ".values" : ""));
    if (all) i += parts.size() - 1;
  }
  if (list.empty()) return {};
  if (list.size() == 1) return " -> " + list[0];
  std::string text = " -> (";
  for (std::size_t i = 0; i < list.size(); ++i) text += (i ? ", " : "") + list[i];
  return text + ")";
}

std::string Printer::program() {
  std::string header = declarations();
  if (!header.empty()) header += "\n";
  header += (program_.strict ? "strict def " : "def ") + quoted(program_.name) + "(";
  for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
    const Input& input = program_.inputs[i];
    header += (i ? ", " : "") + name(input.array) + ": " + array_type(program_[input.array]);
    if (input.fallback) header += " = " + literal(*input.fallback, true);
  }
  header += ")" + results() + " {\n";
  indent_ = 1;
  for (const Constant& c : program_.constants) line(constant(c));
  stages(program_.stages);
  return header + text_ + "}\n";
}

}  // namespace twill::text

namespace twill {

std::string print(const Program& program) { return text::Printer(program).program(); }

std::string print(const Program& program, Expr expr) {
  return expr ? text::Printer(program).expr(expr) : std::string{};
}

}  // namespace twill
