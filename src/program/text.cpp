// The text form of programs: from a text to a checked module.
#include "program/text.h"

#include "program/check.h"
#include "program/text_module.h"
#include "program/text_parse.h"

#include <algorithm>

namespace twill {
namespace {

/// Keeps the functions up to the last one that the program uses.
void drop_unused_functions(Program& program) {
  int last = -1;
  const auto note = [&](Expr e) {
    if (e)
      visit(e, [&](Expr node) {
        if (const auto* invoke = as<Invoke>(node)) last = std::max(last, invoke->function.value);
      });
  };
  const auto note_operator = [&](const Operator& op) {
    last = std::max(last, op.function.value);
    note(op.identity);
  };
  for_each_stage(program.stages, [&](const Stage& stage) {
    for_each_expr(stage, note);
    for (const Output& output : stage.outputs)
      for (const Combine& combine : output.combine)
        if (const Operator* op = operator_of(combine)) note_operator(*op);
  });
  program.functions.resize(static_cast<std::size_t>(last + 1));
}

/// Errors in the order of the text, each once; of those caused by a call, the place in the callee counts.
void sort_errors(std::vector<Diagnostic>& errors) {
  const auto key = [](const Diagnostic& d) { return std::pair(d.place.line, d.place.column); };
  std::stable_sort(errors.begin(), errors.end(),
                   [&](const Diagnostic& a, const Diagnostic& b) { return key(a) < key(b); });
  const auto same = [&](const Diagnostic& a, const Diagnostic& b) {
    return key(a) == key(b) && a.code == b.code && a.message == b.message;
  };
  errors.erase(std::unique(errors.begin(), errors.end(), same), errors.end());
}

void throw_if_any(std::vector<Diagnostic>& errors) {
  if (errors.empty()) return;
  sort_errors(errors);
  throw Error(std::move(errors));
}

void check_into(const Program& program, std::vector<Diagnostic>& errors, const CheckOptions& options = {}) {
  std::vector<Diagnostic> found = diagnose(program, options);
  errors.insert(errors.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
}

/// What a definition sees. Its expressions are its own: an expression that is shared has the place where it
/// stood first, and that must not be in another definition.
text::Vocabulary with_own_pool(text::Vocabulary vocabulary) {
  const auto pool = std::make_shared<ExprPool>();
  for (Function& function : vocabulary.functions) function.body = pool->adopt(function.body);
  for (auto& [name, op] : vocabulary.operators) op.identity = pool->adopt(op.identity);
  vocabulary.pool = pool;
  return vocabulary;
}

}  // namespace

Module text::module_of(const File& file) {
  std::vector<Diagnostic> errors;
  Module module;
  text::Vocabulary vocabulary = text::vocabulary_of(file, errors);
  for (const text::Definition& definition : file.definitions) {
    const std::size_t before = errors.size();
    vocabulary.later.erase(definition.name);
    const text::Vocabulary own = with_own_pool(vocabulary);
    if (vocabulary.definitions.contains(definition.name) || vocabulary.broken.contains(definition.name))
      errors.push_back({Fault::User, "E0203", definition.place,
                        "'" + definition.name + "' is already defined", "choose another name"});
    std::optional<Program> program = text::Lowering(own, errors).definition(definition);
    if (program && errors.size() == before) {
      drop_unused_functions(*program);
      check_into(*program, errors);
    }
    if (program && errors.size() == before) {
      vocabulary.definitions.emplace(definition.name, &definition);
      module.programs.push_back(std::move(*program));
    } else {
      vocabulary.broken.insert(definition.name);
    }
  }
  for (const text::TestDecl& declaration : file.tests) {
    const std::size_t before = errors.size();
    Test test = text::test_of(declaration, vocabulary, module, errors);
    if (errors.size() == before)
      for (auto& expectation : test.expectations)
        if (auto* value = std::get_if<ValueExpectation>(&expectation)) {
          drop_unused_functions(value->holds);
          check_into(value->holds, errors, {.prove_inside = false, .unused_inputs = false});
        }
    module.tests.push_back(std::move(test));
  }
  throw_if_any(errors);
  return module;
}

Module parse(std::string name, std::string text) {
  const auto source = std::make_shared<const SourceText>(SourceText{std::move(name), std::move(text)});
  std::vector<Diagnostic> errors;
  const text::File file = text::parse_file(source, errors);
  throw_if_any(errors);
  return text::module_of(file);
}

Program parse_program(std::string name, std::string text) {
  Module module = parse(std::move(name), std::move(text));
  if (module.programs.size() != 1)
    fail(Fault::User, "E0130", module.programs.empty() ? Place{} : module.programs[1].place,
         "expected one definition, found " + std::to_string(module.programs.size()));
  return std::move(module.programs[0]);
}

}  // namespace twill
