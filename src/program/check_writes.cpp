// Writes: no element is written twice, none is left out, and a stage that reads its own output reads what
// earlier points wrote.
//
// Two points of a stage are compared by a second copy of its variables: the indices of its own dimensions,
// and the terms whose value is another one at another point.
#include "program/affine_of.h"
#include "program/checker.h"

#include <algorithm>

namespace twill {

using poly::Affine;
using poly::Answer;
using poly::Condition;
using poly::Var;

namespace {

/// The copy of a variable at the other point.
Var other(Var var) { return {var.kind, var.id + (1 << 28)}; }

/// Does the value of a term come from elements of arrays, or from a block of the stage?
bool is_data(Expr term, const Scope& outer) {
  bool found = !term;
  if (term)
    visit(term, [&](Expr node) {
      const auto* read = as<Read>(node);
      found = found || (read && (!read->rules.empty() || !outer.sees(read->array)));
    });
  return found;
}

/// The dimensions that say where a value goes.
std::vector<Var> written_indices(const Stage& stage, const Output& output) {
  std::vector<Var> indices;
  for (std::size_t k = 0; k < stage.dims.size(); ++k)
    if (is_written(output.combine[k])) indices.push_back(var_of(stage.dims[k].id));
  return indices;
}

}  // namespace

void Checker::check_writes(const Stage& stage, const Scope& outer) {
  for (const Output& output : stage.outputs) {
    if (!is_dense(output) || any_is<Scatter>(output) || is_running(output)) continue;
    const std::size_t before = diagnostics.size();
    check_written_once(stage, output, outer);
    if (!output.into && diagnostics.size() == before) check_complete(stage, output, outer);
  }
}

Condition Checker::written_domain(const Stage& stage, const Output& output) {
  // From the inside out, because bounds mention outer dimensions: those are needed as well then.
  Condition domain;
  for (std::size_t k = stage.dims.size(); k-- > 0;) {
    const Var index = var_of(stage.dims[k].id);
    const auto* seq = std::get_if<Seq>(&output.combine[k]);
    const bool some_step = seq && std::holds_alternative<Formula>(stage.body);
    const Condition completed = domain && prover_.conditions().definitions(domain);
    const bool needed = std::ranges::count(completed.variables(), index) > 0;
    if (is_written(output.combine[k]) || some_step || needed)
      domain = prover_.range(stage.dims[k]) && std::move(domain);
  }
  return domain;
}

bool Checker::varies(Var term, const Stage& stage, const Scope& outer) const {
  const Expr expr = prover_.conditions().expr_of(term);
  bool found = !expr;
  if (expr)
    visit(expr, [&](Expr node) {
      if (const auto* index = as<IndexRef>(node))
        found = found || std::ranges::any_of(stage.dims, [&](const Dim& d) { return d.id == index->dim; });
      if (const auto* read = as<Read>(node)) found = found || !outer.sees(read->array);
    });
  return found;
}

Condition Checker::at_other_point(const Condition& condition, const Stage& stage, const Scope& outer) const {
  Condition moved = condition && prover_.conditions().definitions(condition);
  for (const Var var : moved.variables()) {
    const bool own = var.kind == Var::Kind::Index
                         ? std::ranges::any_of(stage.dims, [&](const Dim& d) { return var_of(d.id) == var; })
                         : var.kind == Var::Kind::Term && varies(var, stage, outer);
    if (own) moved = substitute(moved, var, other(var));
  }
  return moved;
}

// ---- written once -------------------------------------------------------------------------------------

namespace {

/// Do the subscripts determine all indices, one after the other, as an equation solved for it?
bool determines(const std::vector<Affine>& at, std::vector<Var> indices) {
  for (bool progress = true; progress && !indices.empty();) {
    progress = false;
    for (const Affine& subscript : at) {
      std::vector<Var> unknown;
      for (const Var var : subscript.variables())
        if (std::ranges::count(indices, var) > 0) unknown.push_back(var);
      if (unknown.size() != 1 || subscript.factor_of(unknown[0]) == 0) continue;
      const Affine rest = subscript - Affine(unknown[0]) * subscript.factor_of(unknown[0]);
      if (rest.mentions(unknown[0])) continue;
      std::erase(indices, unknown[0]);
      progress = true;
    }
  }
  return indices.empty();
}

}  // namespace

void Checker::check_written_once(const Stage& stage, const Output& output, const Scope& outer) {
  Conditions& conditions = prover_.conditions();
  const std::vector<Var> indices = written_indices(stage, output);
  std::vector<Affine> at;
  bool plain = true;
  for (const Expr subscript : output.at) {
    at.push_back(conditions.value(subscript));
    bool data = false, product = false;
    for (const Var var : at.back().variables()) {
      if (var.kind != Var::Kind::Term || !varies(var, stage, outer)) continue;
      plain = false;
      if (!conditions.depends_on_free_term(Affine(var))) continue;
      (is_data(conditions.expr_of(var), outer) ? data : product) = true;
    }
    if (!data && !product) continue;
    if (!data) {
      report("E0330", first_place({subscript->place, output.place}),
             fmt::format("cannot prove that no element of {} is written twice: its position {} is no sum of "
                         "indices times constants",
                         quoted(output.array), describe(program_, subscript)),
             "give each index a dimension of its own, or scatter with an operator", Fault::Limit);
      return;
    }
    report("E0331", first_place({subscript->place, output.place}),
           fmt::format("the position {} at which {} is written depends on data",
                       describe(program_, subscript), quoted(output.array)),
           "scatter along its dimensions: then it is said what happens when two values meet");
    return;
  }
  if (plain && determines(at, indices)) return;
  Condition domain = written_domain(stage, output);
  if (output.guard && !any_is<Fold>(output))
    domain = std::move(domain) && conditions.when(output.guard, true);
  Condition here = domain;
  for (std::size_t k = 0; k < at.size(); ++k)
    here = std::move(here) && equal(Var{Var::Kind::Element, static_cast<int>(k)}, at[k]);
  Condition later = Condition::never();
  Condition same;
  for (const Var index : indices) {
    later = std::move(later) || (same && less(index, other(index)));
    same = std::move(same) && equal(index, other(index));
  }
  const Condition twice = outer.facts && here && at_other_point(here, stage, outer) && later;
  const Answer answer = prover_.is_possible(twice);
  if (answer == Answer::No) return;
  if (answer == Answer::Unknown) {
    report("E0330", output.place,
           fmt::format("cannot prove that no element of {} is written twice", quoted(output.array)),
           "use a simpler write map, or scatter", Fault::Limit);
    return;
  }
  std::string who = "two points write the same element";
  if (const auto point = prover_.example(twice)) {
    poly::Point second;
    for (const Var index : indices) second[index] = point->at(other(index));
    std::string element;
    for (std::size_t k = 0; k < at.size(); ++k)
      element += fmt::format("{}{}", k ? ", " : "", point->at({Var::Kind::Element, static_cast<int>(k)}));
    who = fmt::format("{} and {} both write {}{}", values(*point, indices), values(second, indices),
                      name_of(program_, output.array), at.empty() ? "" : "[" + element + "]");
  }
  report("E0312", output.place,
         fmt::format("an element of {} is written twice: {}", quoted(output.array), who),
         "fold the dimension that does not say where the value goes, or scatter with an operator");
}

// ---- written completely -------------------------------------------------------------------------------

void Checker::check_complete(const Stage& stage, const Output& output, const Scope& outer) {
  Conditions& conditions = prover_.conditions();
  const Array& array = program_[output.array];
  const bool guarded = output.guard && !any_is<Fold>(output);
  const std::vector<Var> indices = written_indices(stage, output);
  std::vector<Affine> at;
  for (const Expr subscript : output.at) at.push_back(conditions.value(subscript));

  // The common case: each subscript is an index plus something, and runs from 0 to the extent.
  const auto runs_over_all = [&](std::size_t k) {
    for (const Dim& dim : stage.dims) {
      const Var var = var_of(dim.id);
      if (at[k].factor_of(var) != 1 || std::ranges::count(indices, var) == 0) continue;
      const Affine shift = at[k] - Affine(var);
      const Affine lo = conditions.value(dim.lo);
      const Affine extent = conditions.value(array.shape[k]);
      if (!dim.hi) return false;
      const Affine hi = conditions.value(dim.hi);
      for (const Affine* part : {&shift, &lo, &hi})
        for (const Var mentioned : part->variables())
          if (mentioned.kind == Var::Kind::Term
                  ? varies(mentioned, stage, outer)
                  : std::ranges::any_of(stage.dims, [&](const Dim& d) { return var_of(d.id) == mentioned; }))
            return false;
      return lo + shift == Affine(0) &&
             (hi + shift == extent || (shift == Affine(0) && same_size(dim.hi, array.shape[k])));
    }
    return false;
  };
  const bool some_step =
      std::holds_alternative<Formula>(stage.body) &&
      std::ranges::any_of(output.combine, [](const Combine& c) { return is<Seq>(c) && !is_written(c); });
  bool simple = !guarded && !some_step && at.size() == indices.size();
  for (std::size_t k = 0; simple && k < at.size(); ++k) simple = runs_over_all(k);
  if (simple) return;

  // In general: the array without the image of the domain is empty.
  std::vector<Var> elements;
  Condition image = outer.facts && written_domain(stage, output);
  Condition box = outer.facts;
  for (std::size_t k = 0; k < at.size(); ++k) {
    elements.push_back({Var::Kind::Element, static_cast<int>(k)});
    image = std::move(image) && equal(elements[k], at[k]);
    box = std::move(box) && between(0, elements[k], conditions.value(array.shape[k]));
  }
  const auto missing = [&](const Condition& written) -> std::optional<poly::Set> {
    const Condition all = prover_.complete(written);
    std::vector<Var> bound, tuple = elements;
    for (const Var var : all.variables()) {
      const bool own = var.kind == Var::Kind::Index &&
                       std::ranges::any_of(stage.dims, [&](const Dim& d) { return var_of(d.id) == var; });
      const bool term = var.kind == Var::Kind::Term && varies(var, stage, outer);
      if (term && conditions.depends_on_free_term(Affine(var))) return std::nullopt;
      if (own || term) bound.push_back(var);
    }
    tuple.insert(tuple.end(), bound.begin(), bound.end());
    const poly::Set shadow = poly::Set(prover_.context(), tuple, all).project_out(bound);
    return poly::Set(prover_.context(), elements, prover_.complete(box)).subtract(shadow);
  };
  // A condition that is not understood counts as failing: the complement of what is known when it fails.
  const Condition passed = guarded ? image && !conditions.when(output.guard, false) : image;
  std::optional<poly::Set> left = missing(passed);
  const Answer complete = left ? left->is_empty() : Answer::Unknown;
  if (complete == Answer::Yes) return;
  if (guarded) {
    const auto without = missing(image);
    if (without && without->is_empty() == Answer::Yes) {
      report("E0314", first_place({output.guard->place, output.place}),
             fmt::format("{} has no value where its condition fails", quoted(output.array)),
             "give it one (if … then … else …), or make a new version of an array (into)");
      return;
    }
  }
  if (complete == Answer::Unknown) {
    report("E0330", output.place,
           fmt::format("cannot prove that every element of {} is written", quoted(output.array)),
           "let each index run over one dimension of the array, or make a new version of an array (into)",
           Fault::Limit);
    return;
  }
  std::string which;
  if (const auto point = left->sample()) {
    for (const Var element : elements)
      which += fmt::format("{}{}", which.empty() ? "" : ", ", point->at(element));
    std::vector<Var> sizes;
    for (const auto& [var, unused] : *point)
      if (var.kind == Var::Kind::Size) sizes.push_back(var);
    which = fmt::format(": no point writes {}{}", array.name, elements.empty() ? "" : "[" + which + "]");
    if (!sizes.empty()) which += " when " + values(*point, sizes);
  }
  report("E0313", output.place,
         fmt::format("'{}' is {}, but is not written completely{}", array.name,
                     describe_type(program_, array), which),
         "let the indices run over the whole array, declare the shape that is written, or make a new version "
         "of an array (into)");
}

// ---- own reads ----------------------------------------------------------------------------------------

std::optional<Checker::Own> Checker::own_output(ArrayId array, const Scope& scope) {
  for (const Running& running : scope.running)
    for (const Output& output : running.stage->outputs)
      if (output.array == array && any_is<Seq>(output)) return Own{&output, running};
  return std::nullopt;
}

std::optional<Condition> Checker::own_read_violation(const Own& own, Expr node, const Condition& facts) {
  Conditions& conditions = prover_.conditions();
  const Stage& stage = *own.by.stage;
  const Output& output = *own.output;
  const Array& array = program_[output.array];
  const Read& read = *as<Read>(node);
  // The element that is read, by rule.
  std::vector<Affine> element;
  Condition reads = facts;
  bool exact = true;
  for (std::size_t k = 0; k < output.at.size(); ++k) {
    const Affine subscript = conditions.value(node->args[k]);
    const Affine extent = conditions.value(array.shape[k]);
    const Condition inside = between(0, subscript, extent);
    if (read.rules[k] == Boundary::Inside || read.rules[k] == Boundary::Constant) {
      element.push_back(subscript);
      reads = std::move(reads) && inside;
      continue;
    }
    exact = false;
    const Affine at(Var{Var::Kind::Element, static_cast<int>(k)});
    element.push_back(at);
    const Condition outside =
        read.rules[k] == Boundary::Clamp
            ? (less(subscript, 0) && equal(at, 0)) || (at_most(extent, subscript) && equal(at, extent - 1))
            : !inside && between(0, at, extent);
    reads = std::move(reads) && ((inside && equal(at, subscript)) || outside);
  }
  // The common case: written at the indices themselves, read at a constant distance from them.
  const std::vector<Var> indices = written_indices(stage, output);
  bool earlier = false;
  for (std::size_t d = 0; exact && d < stage.dims.size(); ++d) {
    if (!is_written(output.combine[d])) continue;
    const Var index = var_of(stage.dims[d].id);
    std::optional<Affine> distance;
    for (std::size_t k = 0; k < output.at.size(); ++k)
      if (conditions.value(output.at[k]) == Affine(index)) distance = element[k] - Affine(index);
    if (!distance || !distance->is_constant()) break;
    if (distance->constant() == 0) continue;
    earlier = distance->constant() < 0 && is<Seq>(output.combine[d]);
    break;
  }
  if (earlier) return std::nullopt;
  // Another point writes that element, and is not earlier in the first dimension in which it differs.
  Condition writes = written_domain(stage, output);
  if (output.guard) writes = std::move(writes) && conditions.when(output.guard, true);
  const auto position = [](std::size_t k) { return Var{Var::Kind::Element, static_cast<int>(1000 + k)}; };
  for (std::size_t k = 0; k < output.at.size(); ++k)
    writes = std::move(writes) && equal(position(k), conditions.value(output.at[k]));
  Condition violation = std::move(reads) && at_other_point(writes, stage, *own.by.outer);
  for (std::size_t k = 0; k < output.at.size(); ++k)
    violation = std::move(violation) && equal(position(k), element[k]);
  Condition not_earlier = Condition::never();
  Condition same;
  for (std::size_t d = 0; d < stage.dims.size(); ++d) {
    if (!is_written(output.combine[d])) continue;
    const Var index = var_of(stage.dims[d].id);
    const Condition wrong =
        is<Seq>(output.combine[d]) ? less(index, other(index)) : !equal(index, other(index));
    not_earlier = std::move(not_earlier) || (same && wrong);
    same = std::move(same) && equal(index, other(index));
  }
  return std::move(violation) && (std::move(not_earlier) || std::move(same));
}

void Checker::check_own_read(const Own& own, Expr node, const Condition& facts, const Scope& scope,
                             const Place& place) {
  const auto violation = own_read_violation(own, node, facts);
  if (!violation) return;
  const Answer answer = prover_.is_possible(*violation);
  if (answer == Answer::No) return;
  const std::string text = describe(program_, node);
  const std::string help = "a seq stage may read what earlier steps of its seq dimensions wrote";
  const bool data = std::ranges::any_of(node->args, [&](Expr subscript) {
    return depends_on_data(prover_.conditions().value(subscript), scope);
  });
  if (data) {
    report("E0330", place,
           fmt::format("cannot prove that {} was written by an earlier step: that depends on data", text),
           "read it under a condition that says so (if … < … then …)", Fault::Limit);
    return;
  }
  const auto point = answer == Answer::Yes ? prover_.example(*violation) : std::nullopt;
  if (!point) {
    report("E0330", place,
           fmt::format("cannot prove that {} was written by an earlier step when it is read", text), help,
           Fault::Limit);
    return;
  }
  const std::vector<Var> indices = written_indices(*own.by.stage, *own.output);
  if (indices.empty()) {
    report("E0315", place, fmt::format("{} is read by its own stage, which keeps only the last value", text),
           help);
    return;
  }
  poly::Point writer;
  bool same = true;
  for (const Var index : indices) {
    writer[index] = point->at(other(index));
    const auto mine = point->find(index);
    same = same && mine != point->end() && mine->second == writer[index];
  }
  std::vector<Var> reader = indices;  // and the indices of the stages in its block on the way to the read
  for (const Dim& dim : scope.dims) {
    const bool around = std::ranges::any_of(own.by.outer->dims, [&](const Dim& d) { return d.id == dim.id; });
    const bool own_dim =
        std::ranges::any_of(own.by.stage->dims, [&](const Dim& d) { return d.id == dim.id; });
    if (!around && !own_dim) reader.push_back(var_of(dim.id));
  }
  same = same && reader.size() == indices.size();
  report("E0315", place,
         fmt::format("{} is no earlier result: {} reads what {}", text, values(*point, reader),
                     same ? "it writes itself" : values(writer, indices) + " writes"),
         help);
}

}  // namespace twill
