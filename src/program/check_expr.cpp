// Expressions: every node refers to what exists and is visible, and fits it. That operands fit operations
// is the pool's business, which builds nothing else.
#include "program/checker.h"

#include <algorithm>

namespace twill {

bool Checker::check_expr(Expr root, const Site& site) {
  bool good = true;
  visit(root, [&](Expr node) { good = check_node(node, site) && good; });
  return good;
}

bool Checker::check_typed(Expr root, const Type& type, const std::string& what, const Site& site) {
  if (!root) {
    report("E0308", site.place, fmt::format("{} is missing; it has to be {}", what, to_string(type)));
    return false;
  }
  if (!check_expr(root, site)) return false;
  if (root->type == type) return true;
  report("E0308", first_place({root->place, site.place}),
         fmt::format("{} is {}, but has to be {}", what, to_string(root->type), to_string(type)),
         fmt::format("convert it: {}({})", to_string(type), describe(program_, root)));
  return false;
}

bool Checker::check_node(Expr node, const Site& site) {
  const Place place = first_place({node->place, site.place});
  const auto not_in_function = [&](const std::string& what) {
    if (site.function)
      report("E0324", place, fmt::format("function '{}' uses {}", site.function->name, what),
             "a function sees its parameters only: pass it as an argument");
    return !site.function;
  };
  if (const auto* index = as<IndexRef>(node)) {
    const std::string name = name_of(program_, index->dim);
    if (!not_in_function("the index " + name)) return false;
    if (site.scope->sees(index->dim)) return true;
    report(
        "E0301", place, fmt::format("{} is not an index of this stage", name),
        "an expression sees the indices of its stage and of the stages around it, a bound those before it");
    return false;
  }
  if (const auto* size = as<SizeRef>(node)) {
    const std::string name = name_of(program_, size->symbol);
    if (!not_in_function("the size " + name)) return false;
    if (site.scope->sees(size->symbol)) return true;
    if (!has(size->symbol))
      report("E0301", place, fmt::format("the program has no size with id {}", size->symbol.value));
    else if (program_[size->symbol].origin == Symbol::Origin::Input)
      report("E0325", place, fmt::format("size {} is bound by no input", name),
             "some input has to have it as an extent, alone or with a constant added");
    else
      report("E0325", place, fmt::format("size {} is used before the stage that it is born in", name));
    return false;
  }
  if (const auto* arg = as<ArgRef>(node)) {
    if (site.function) {
      const auto& parameters = site.function->parameters;
      const auto position = static_cast<std::size_t>(arg->position);
      if (position < parameters.size() && parameters[position].type == node->type) return true;
    }
    report("E0324", place,
           site.function ? fmt::format("function '{}' has no parameter {} of type {}", site.function->name,
                                       arg->position + 1, to_string(node->type))
                         : fmt::format("parameter {} is used outside of a function", arg->position + 1));
    return false;
  }
  if (const auto* read = as<Read>(node))
    return not_in_function("the array " + quoted(read->array)) && check_read(*read, node, site);
  if (const auto* invoke = as<Invoke>(node)) return check_invoke(*invoke, node, site);
  return true;
}

bool Checker::check_read(const Read& read, Expr node, const Site& site) {
  const Place place = first_place({node->place, site.place});
  if (!has(read.array)) {
    report("E0301", place,
           fmt::format("it reads an array that the program does not have (id {})", read.array.value));
    return false;
  }
  if (!site.scope->sees(read.array) && !own_output(read.array, *site.scope)) {
    report_invisible(read.array, place);
    return false;
  }
  const Array& array = program_[read.array];
  if (read.rules.size() == array.shape.size() && node->type == array.type) return true;
  report("E0309", place,
         fmt::format("{} is read as {} with {} subscripts, but is {}", quoted(read.array),
                     to_string(node->type), read.rules.size(), describe_type(program_, array)),
         "one subscript for each dimension");
  return false;
}

bool Checker::needs(const Stage& stage, const Stage& other) const {
  std::set<const Stage*> seen;
  std::vector<const Stage*> waiting{&stage};
  while (!waiting.empty()) {
    const Stage* next = waiting.back();
    waiting.pop_back();
    if (next == &other) return true;
    if (!seen.insert(next).second) continue;
    for (const ArrayId array : reads_of(program_, *next))
      if (const auto at = stage_of_.find(array); at != stage_of_.end()) waiting.push_back(at->second);
  }
  return false;
}

void Checker::report_invisible(ArrayId array, const Place& place) {
  const auto by = defined_by_.find(array);
  const auto at = stage_of_.find(array);
  if (by == defined_by_.end()) {
    report("E0304", place, fmt::format("{} is read, but nothing defines it", quoted(array)));
  } else if (at == stage_of_.end()) {
    report("E0304", place, fmt::format("{} is read outside of the loop that carries it", quoted(array)));
  } else if (at->second == stage_) {
    report("E0304", place, fmt::format("{} is read by the stage that defines it", quoted(array)),
           "only a seq stage reads its own, earlier results");
  } else if (stage_ && needs(*at->second, *stage_)) {
    report("E0304", place,
           fmt::format("{} comes from stage '{}', which needs this stage: a cycle", quoted(array),
                       at->second->name),
           "break the cycle: carry the value from step to step (seq), or compute it before both");
  } else {
    report("E0304", place,
           fmt::format("{} is read, but stage '{}', which defines it, is not before this one", quoted(array),
                       at->second->name),
           "stages come after those that they read, and what a block defines is seen inside of it only");
  }
}

bool Checker::check_invoke(const Invoke& invoke, Expr node, const Site& site) {
  const Place place = first_place({node->place, site.place});
  if (!has(invoke.function)) {
    report("E0301", place, fmt::format("the program has no function with id {}", invoke.function.value));
    return false;
  }
  const Function& function = program_[invoke.function];
  if (static_cast<std::size_t>(invoke.function.value) >= site.functions) {
    report("E0324", place,
           fmt::format("function '{}' calls '{}', which does not come before it", site.function->name,
                       function.name),
           "functions call earlier functions only: there is no recursion");
    return false;
  }
  bool fits = function.parameters.size() == node->args.size() && function.result == node->type;
  for (std::size_t k = 0; fits && k < node->args.size(); ++k)
    fits = function.parameters[k].type == node->args[k]->type;
  if (!fits)
    report("E0307", place,
           fmt::format("'{}' does not fit the parameters and the result of function '{}'",
                       describe(program_, node), function.name));
  return fits;
}

}  // namespace twill
