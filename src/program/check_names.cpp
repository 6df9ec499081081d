// Names: a program can be written down, because no two things that a text would confuse have one name.
#include "program/checker.h"

#include <utility>

namespace twill {
namespace {

/// Can the name stand in a text, in backquotes if need be?
bool is_writable(const std::string& name) {
  return !name.empty() && name.find_first_of("`\n") == std::string::npos;
}

}  // namespace

void Checker::check_name(const std::string& what, const std::string& name, const Place& place) {
  if (is_writable(name)) return;
  report("E0337", place,
         name.empty() ? what + " has no name" : fmt::format("{} is called \"{}\"", what, name),
         "a name has at least one character, no backquote and no end of line");
}

void Checker::check_type_names(const Type& type, const Place& place, std::map<std::string, Type>& known) {
  if (!type.is_record()) return;
  for (const Field& field : type.record().fields) check_type_names(field.type, place, known);
  const std::string& name = type.record().name;
  if (name.empty()) return;  // a tuple
  const auto [at, is_new] = known.try_emplace(name, type);
  if (!is_new && at->second != type)
    report("E0337", place, fmt::format("two different types are called '{}'", name), "rename one");
}

void Checker::check_names() {
  const char* const unique = "names are unique in a program, blocks included: rename one";
  std::set<std::string> sizes, arrays, functions;
  for (const Symbol& symbol : program_.symbols) {
    check_name("a size", symbol.name, {});
    if (!sizes.insert(symbol.name).second)
      report("E0337", {}, fmt::format("two sizes are called '{}'", symbol.name), unique);
  }
  std::map<std::string, Type> types;
  for (const Array& array : program_.arrays) {
    check_name("an array", array.name, array.place);
    check_type_names(array.type, array.place, types);
    if (sizes.contains(array.name))
      report("E0337", array.place, fmt::format("a size and an array are called '{}'", array.name), unique);
    if (!arrays.insert(array.name).second)
      report("E0337", array.place, fmt::format("two arrays are called '{}'", array.name), unique);
  }
  for (const Function& function : program_.functions) {
    check_name("a function", function.name, function.place);
    for (const Parameter& parameter : function.parameters)
      check_type_names(parameter.type, function.place, types);
    check_type_names(function.result, function.place, types);
    if (!functions.insert(function.name).second)
      report("E0337", function.place, fmt::format("two functions are called '{}'", function.name), unique);
  }
  check_index_names(program_.stages, sizes, {});
}

/// `around`: the indices of the stages around.
void Checker::check_index_names(std::span<const Stage> stages, const std::set<std::string>& sizes,
                                const std::map<std::string, DimId>& around) {
  const char* const hides = "an index hides what has its name: choose another one";
  for (const Stage& stage : stages) {
    for (const Output& output : stage.outputs)
      for (const ArrayId array : defined_arrays(output))
        if (around.contains(program_[array].name))
          report("E0337", first_place({output.place, stage.place}),
                 fmt::format("the array {} has the name of an index around it", quoted(array)), hides);
    std::map<std::string, DimId> visible = around;
    std::set<DimId> own, hidden;
    for (const Dim& dim : stage.dims) {
      const Place place = first_place({dim.place, stage.place});
      const std::string index = fmt::format("the index '{}' of stage '{}'", dim.name, stage.name);
      check_name("an index of stage '" + stage.name + "'", dim.name, place);
      if (sizes.contains(dim.name)) report("E0337", place, index + " has the name of a size", hides);
      const auto [at, is_new] = visible.try_emplace(dim.name, dim.id);
      if (!is_new && own.contains(at->second))
        report("E0337", place, fmt::format("two indices of stage '{}' are called '{}'", stage.name, dim.name),
               "rename one");
      else if (!is_new)
        hidden.insert(std::exchange(at->second, dim.id));
      own.insert(dim.id);
    }
    check_hidden(stage, hidden);
    for (const Block* block : blocks_of(stage)) check_index_names(block->stages, sizes, visible);
  }
}

/// Indices of stages around have no name where an index of this stage has theirs.
void Checker::check_hidden(const Stage& stage, std::set<DimId> hidden) {
  if (hidden.empty()) return;
  for_each_stage({&stage, 1}, [&](const Stage& inner) {
    for_each_expr(inner, [&](Expr root) {
      visit(root, [&](Expr node) {
        const auto* index = as<IndexRef>(node);
        if (index && hidden.erase(index->dim))
          report("E0337", first_place({node->place, stage.place}),
                 fmt::format("the index '{}' of a stage around is used inside of stage '{}', which has an "
                             "index of that name",
                             name_of(program_, index->dim), stage.name),
                 "rename one");
      });
    });
  });
}

}  // namespace twill
