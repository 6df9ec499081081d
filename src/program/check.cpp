// The order of the checks, and those of the program as a whole.
#include "program/check.h"

#include "program/affine_of.h"
#include "program/checker.h"

#include <algorithm>

namespace twill {

std::vector<Diagnostic> diagnose(const Program& program, const CheckOptions& options) {
  Checker checker(program, options);
  checker.run();
  return std::move(checker.diagnostics);
}

void check(const Program& program, const CheckOptions& options) {
  std::vector<Diagnostic> diagnostics = diagnose(program, options);
  if (!diagnostics.empty()) throw Error(std::move(diagnostics));
}

RunTimeChecks run_time_checks(const Program& program, const CheckOptions& options) {
  Checker checker(program, options);
  checker.run();
  return std::move(checker.run_time);
}

// ---- helpers ------------------------------------------------------------------------------------------

bool Scope::sees(DimId id) const {
  return std::ranges::any_of(dims, [&](const Dim& dim) { return dim.id == id; });
}

Place Checker::first_place(std::initializer_list<Place> places) {
  for (const Place& place : places)
    if (place) return place;
  return {};
}

void Checker::report(const char* code, const Place& place, std::string message, std::string help,
                     Fault fault) {
  if (stage_) message = "in stage '" + stage_->name + "': " + message;
  const Place at = first_place({place, stage_ ? stage_->place : Place{}, program_.place});
  diagnostics.push_back({fault, code, at, std::move(message), std::move(help)});
}

std::string Checker::values(const poly::Point& point, std::span<const poly::Var> variables) const {
  std::string text;
  for (const poly::Var var : variables) {
    const auto at = point.find(var);
    if (at == point.end()) continue;
    text += (text.empty() ? "" : ", ") + fmt::format("{} = {}", prover_.describe(var), at->second);
  }
  return text;
}

// ---- the program --------------------------------------------------------------------------------------

bool Checker::check_blocks_present(std::span<const Stage> stages) {
  return std::ranges::all_of(stages, [&](const Stage& stage) {
    return std::ranges::all_of(blocks_of(stage), [&](const Block* block) {
      if (block) return check_blocks_present(block->stages);
      report("E0332", stage.place, fmt::format("stage '{}' has a body without a block", stage.name));
      return false;
    });
  });
}

void Checker::run() {
  if (!check_blocks_present(program_.stages)) return;
  check_tables();
  Scope scope;
  scope.arrays.resize(program_.arrays.size());
  scope.symbols.resize(program_.symbols.size());
  for (const Input& input : program_.inputs) define(input.array, "an input", program_.place);
  for (const Constant& constant : program_.constants) define(constant.array, "a constant", program_.place);
  find_definitions(program_.stages);
  // With ids that mean nothing, or two things, there is no more to say.
  if (std::ranges::any_of(diagnostics, [](const Diagnostic& d) { return d.code != "E0302"; })) return;
  check_names();
  for (std::size_t k = 0; k < program_.functions.size(); ++k) check_function(k);
  check_inputs(scope);
  check_constants(scope);
  check_stages(program_.stages, scope);
  check_results(scope);
  if (options_.unused_inputs) check_unused_inputs();
}

void Checker::check_tables() {
  for (std::size_t k = 0; k < program_.arrays.size(); ++k)
    if (program_.arrays[k].id.value != static_cast<int>(k))
      report("E0301", program_.arrays[k].place,
             fmt::format("array '{}' stands at position {} of the table but has the id {}",
                         program_.arrays[k].name, k, program_.arrays[k].id.value),
             "add arrays with Program::add_array");
  for (std::size_t k = 0; k < program_.symbols.size(); ++k)
    if (program_.symbols[k].id.value != static_cast<int>(k))
      report("E0301", {},
             fmt::format("size '{}' stands at position {} of the table but has the id {}",
                         program_.symbols[k].name, k, program_.symbols[k].id.value),
             "add sizes with Program::add_symbol");
  std::set<std::string> names;
  for_each_stage(program_.stages, [&](const Stage& stage) {
    if (stage.name.empty()) {
      report("E0302", stage.place, "a stage has no name", "plans refer to stages by name: give it one");
    } else if (!names.insert(stage.name).second) {
      report("E0302", stage.place, fmt::format("two stages are called '{}'", stage.name),
             "names of stages are unique in a program, blocks included");
    }
  });
}

void Checker::define(ArrayId array, const std::string& by, const Place& place) {
  if (!has(array)) {
    report("E0301", place,
           fmt::format("{} defines an array that the program does not have (id {})", by, array.value));
    return;
  }
  const auto [at, is_new] = defined_by_.try_emplace(array, by);
  if (!is_new)
    report("E0303", first_place({place, program_[array].place}),
           fmt::format("{} is defined twice: by {} and by {}", quoted(array), at->second, by),
           "an array is a value: give the second one a name of its own");
}

void Checker::find_definitions(std::span<const Stage> stages) {
  for_each_stage(stages, [&](const Stage& stage) {
    const std::string by = "stage '" + stage.name + "'";
    for (const Output& output : stage.outputs)
      for (const ArrayId array : defined_arrays(output)) {
        define(array, by, output.place);
        stage_of_.try_emplace(array, &stage);
      }
    for (const Block* block : blocks_of(stage))
      if (block)
        for (const Carry& carry : block->carries)
          define(carry.inside, by + " as a carried state", stage.place);
    for (const Dim& dim : stage.dims) {
      if (dim.id.value < 0 || static_cast<std::size_t>(dim.id.value) >= program_.dim_names.size())
        report("E0301", dim.place,
               fmt::format("{} has a dimension that the program does not have (id {})", by, dim.id.value));
      else if (const auto [at, is_new] = dims_of_.try_emplace(dim.id, stage.name); !is_new)
        report("E0334", first_place({dim.place, stage.place}),
               fmt::format("dimension {} belongs to two stages, '{}' and '{}'", name_of(program_, dim.id),
                           at->second, stage.name),
               "every dimension of every stage has an id of its own");
    }
  });
}

bool Checker::check_shape(const Array& array, const Scope& scope) {
  bool good = true;
  for (const Expr extent : array.shape) {
    const std::string what = fmt::format("the shape of '{}'", array.name);
    Site site{&scope, nullptr, program_.functions.size(), array.place};
    if (!check_typed(extent, Scalar::I64, what, site)) {
      good = false;
      continue;
    }
    bool simple = true;
    visit(extent, [&](Expr node) {
      const auto* read = as<Read>(node);
      simple = simple && !as<IndexRef>(node) && (!read || read->rules.empty());
    });
    if (!simple) {
      report("E0335", first_place({extent->place, array.place}),
             fmt::format("{} depends on more than sizes and scalars: {}", what, describe(program_, extent)),
             "use a size, or a scalar that an earlier stage computes");
      good = false;
    }
  }
  return good;
}

void Checker::check_function(std::size_t number) {
  const Function& function = program_.functions[number];
  const Site site{nullptr, &function, number, function.place};
  if (!function.body) {
    report("E0324", function.place, fmt::format("function '{}' has no body", function.name));
    return;
  }
  check_typed(function.body, function.result, fmt::format("the result of function '{}'", function.name),
              site);
}

/// The size that an extent of an input binds: it stands alone in it, or with a constant added.
std::optional<SymbolId> Checker::symbol_bound_by(Expr extent) const {
  const auto affine = affine_of(extent);
  if (!affine || affine->terms().size() != 1 || affine->terms()[0].factor != 1) return std::nullopt;
  const auto* var = std::get_if<poly::Var>(&affine->terms()[0].atom);
  if (!var || var->kind != poly::Var::Kind::Size || !has(SymbolId{var->id})) return std::nullopt;
  if (program_[SymbolId{var->id}].origin != Symbol::Origin::Input) return std::nullopt;
  return SymbolId{var->id};
}

void Checker::check_inputs(Scope& scope) {
  for (const Input& input : program_.inputs) {
    if (!has(input.array)) continue;
    for (const Expr extent : program_[input.array].shape)
      if (const auto symbol = symbol_bound_by(extent)) scope.add(*symbol);
  }
  for (const Input& input : program_.inputs) {
    if (!has(input.array)) continue;
    const Array& array = program_[input.array];
    check_shape(array, scope);
    scope.add(input.array);
    if (!input.fallback) continue;
    if (array.rank() != 0 || !array.type.is(input.fallback->type))
      report("E0308", array.place,
             fmt::format("the default of input '{}' is {}, the input is {}", array.name,
                         to_string(Type(input.fallback->type)), describe_type(program_, array)),
             "only scalar inputs have defaults, of their own type");
  }
}

void Checker::check_constants(Scope& scope) {
  for (const Constant& constant : program_.constants) {
    if (!has(constant.array)) continue;
    const Array& array = program_[constant.array];
    scope.add(constant.array);
    std::int64_t count = 1;
    bool literal = true;
    for (const Expr extent : array.shape) {
      const auto affine = extent ? affine_of(extent) : std::nullopt;
      literal = literal && affine && affine->is_constant() && affine->constant() >= 0;
      if (literal) count *= affine->constant();
    }
    if (!literal) {
      report("E0326", array.place,
             fmt::format("the shape of constant '{}' is not made of numbers: {}", array.name,
                         describe_type(program_, array)));
    } else if (count != static_cast<std::int64_t>(constant.elements.size())) {
      report("E0326", array.place,
             fmt::format("constant '{}' is {} and needs {} elements, but has {}", array.name,
                         describe_type(program_, array), count, constant.elements.size()));
    }
    const auto wrong =
        std::ranges::find_if(constant.elements, [&](const Number& n) { return !array.type.is(n.type); });
    if (wrong != constant.elements.end())
      report(
          "E0308", array.place,
          fmt::format("element {} of constant '{}' is {}, the array is {}", wrong - constant.elements.begin(),
                      array.name, to_string(Type(wrong->type)), describe_type(program_, array)));
  }
}

void Checker::check_results(const Scope& scope) {
  bool effects = false;
  for (const Stage& stage : program_.stages) effects = effects || has_effects(stage);
  if (program_.results.empty() && !effects)
    report("E0305", program_.place,
           fmt::format("program '{}' has neither results nor effects", program_.name),
           "name a result, or print something");
  for (const ArrayId result : program_.results) {
    if (!has(result)) {
      report("E0301", program_.place,
             fmt::format("a result is an array that the program does not have (id {})", result.value));
    } else if (!scope.sees(result)) {
      const auto at = defined_by_.find(result);
      report("E0305", first_place({program_[result].place, program_.place}),
             at == defined_by_.end()
                 ? fmt::format("result {} is not defined", quoted(result))
                 : fmt::format("result {} is defined inside a block, by {}", quoted(result), at->second),
             at == defined_by_.end() ? "define it with a stage, or take it out of the results"
                                     : "make it a result of the block");
    }
  }
}

void Checker::check_unused_inputs() {
  std::set<ArrayId> arrays(program_.results.begin(), program_.results.end());
  std::set<SymbolId> symbols;
  const auto use = [&](Expr root) {
    if (!root) return;
    visit(root, [&](Expr node) {
      if (const auto* read = as<Read>(node)) arrays.insert(read->array);
      if (const auto* size = as<SizeRef>(node)) symbols.insert(size->symbol);
    });
  };
  for_each_stage(program_.stages, [&](const Stage& stage) {
    for_each_expr(stage, use);
    for (const ArrayId array : reads_of(program_, stage)) arrays.insert(array);
    for (const Output& output : stage.outputs)
      for (const ArrayId array : defined_arrays(output))
        if (has(array))
          for (const Expr extent : program_[array].shape) use(extent);
  });
  // A scalar is used if it is an extent of another input; an array, if it gives a size that is used (also in
  // the shape of an input) and that no input that is used gives.
  std::set<SymbolId> bound;
  std::set<SymbolId> needed;
  for (const Input& input : program_.inputs) {
    if (!has(input.array)) continue;
    const bool is_used = arrays.contains(input.array);
    for (const Expr extent : program_[input.array].shape) {
      if (!extent) continue;
      if (const auto symbol = symbol_bound_by(extent); symbol && is_used) bound.insert(*symbol);
      visit(extent, [&](Expr node) {
        if (const auto* read = as<Read>(node)) arrays.insert(read->array);
        if (const auto* size = as<SizeRef>(node); size && is_used) needed.insert(size->symbol);
      });
    }
  }
  symbols.merge(needed);
  std::erase_if(symbols, [&](SymbolId symbol) { return bound.contains(symbol); });
  for (const Input& input : program_.inputs) {
    if (!has(input.array) || arrays.contains(input.array)) continue;
    bool gives_size = false;
    for (const Expr extent : program_[input.array].shape)
      if (extent)
        visit(extent, [&](Expr node) {
          if (const auto* size = as<SizeRef>(node)) gives_size = gives_size || symbols.contains(size->symbol);
        });
    for (const Expr extent : program_[input.array].shape)
      if (const auto symbol = extent ? symbol_bound_by(extent) : std::nullopt) symbols.erase(*symbol);
    if (!gives_size)
      report("E0306", program_[input.array].place, fmt::format("input {} is never used", quoted(input.array)),
             "use it, or take it out of the inputs");
  }
}

}  // namespace twill
