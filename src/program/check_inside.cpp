// Subscripts: every read with rule Inside and every write stays inside its array.
//
// A subscript is proven under what is known where it stands: the ranges of all dimensions around it, the
// guard, and the conditions of `if`, `and` and `or` on the way to it. One that depends on data is left to
// the run time if the proof fails.
#include "program/affine_of.h"
#include "program/checker.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_set>

namespace twill {

using poly::Affine;
using poly::Answer;
using poly::Condition;
using poly::Var;

void Checker::check_inside(const Stage& stage, const Scope& scope, const Scope& outer) {
  Condition facts = outer.facts;
  for (const Dim& dim : stage.dims) {
    for (const Expr bound : {dim.lo, dim.hi})
      if (bound) check_reads(bound, facts, scope, dim.place);
    facts = std::move(facts) && prover_.range(dim);
    if (dim.condition) check_reads(dim.condition, facts, scope, dim.place);
  }
  if (const auto* branch = std::get_if<Branch>(&stage.body))
    check_reads(branch->condition, facts, scope, stage.place);
  const auto under = [&](Expr guard, const Place& place) {
    if (!guard) return facts;
    check_reads(guard, facts, scope, place);
    return facts && prover_.conditions().when(guard, true);
  };
  for (const Output& output : stage.outputs) {
    const Condition guarded = under(output.guard, output.place);
    for (const Expr at : output.at) check_reads(at, guarded, scope, output.place);
    for (const Expr part : {output.key, output.value})
      if (part) check_reads(part, guarded, scope, output.place);
    check_write_inside(output, scope);
  }
  for (const Effect& effect : stage.effects) {
    const Condition guarded = under(effect.guard, effect.place);
    for (const auto& argument : effect.arguments)
      if (const Expr* value = std::get_if<Expr>(&argument)) check_reads(*value, guarded, scope, effect.place);
  }
}

void Checker::check_reads_of(const Stage& stage) {
  Scope scope;
  scope.dims = stage.dims;
  check_inside(stage, scope, {});
}

// ---- the way to a read --------------------------------------------------------------------------------

void Checker::check_reads(Expr root, const Condition& facts, const Scope& scope, const Place& place) {
  // Most reads are proven by the domain alone, without integer sets; only the others are looked for under
  // their conditions.
  std::unordered_set<const Node*> open;
  visit(root, [&](Expr node) {
    const bool below = std::ranges::any_of(node->args, [&](Expr arg) { return open.contains(arg.get()); });
    if (below || (as<Read>(node) && !is_plainly_in_order(node, facts, scope))) open.insert(node.get());
  });
  if (!open.contains(root.get())) return;

  struct Step {
    Expr node;
    std::size_t facts;  // index of what is known there
  };
  std::vector<Condition> known{facts};
  std::vector<Step> waiting{{root, 0}};
  std::set<std::pair<const Node*, std::size_t>> seen;
  const auto under = [&](std::size_t around, Expr condition, bool truth) {
    Condition more = prover_.conditions().when(condition, truth);
    if (more.is_always()) return around;
    known.push_back(known[around] && std::move(more));
    return known.size() - 1;
  };
  constexpr std::size_t patience = 2'000;
  while (!waiting.empty()) {
    const Step step = waiting.back();
    waiting.pop_back();
    if (!open.contains(step.node.get()) || !seen.emplace(step.node.get(), step.facts).second) continue;
    if (seen.size() > patience && !options_.prove_inside) {
      for (const Node* node : open) {
        const auto* read = std::get_if<Read>(&node->kind);
        for (std::size_t k = 0; read && k < read->rules.size(); ++k)
          if (read->rules[k] == Boundary::Inside) run_time.reads.emplace(node, static_cast<int>(k));
      }
      return;
    }
    if (seen.size() > patience) {
      report("E0330", first_place({root->place, place}),
             "its conditions are nested too deeply to prove that all reads stay inside",
             "compute parts of the expression in stages of their own", Fault::Limit);
      return;
    }
    const auto& args = step.node->args;
    if (as<Read>(step.node)) check_read_at(step.node, known[step.facts], scope, place);
    const auto* apply = as<Apply>(step.node);
    const bool is_and = apply && apply->prim == Prim::And;
    if (as<Select>(step.node)) {
      waiting.push_back({args[2], under(step.facts, args[0], false)});
      waiting.push_back({args[1], under(step.facts, args[0], true)});
      waiting.push_back({args[0], step.facts});
    } else if (is_and || (apply && apply->prim == Prim::Or)) {
      waiting.push_back({args[1], under(step.facts, args[0], is_and)});
      waiting.push_back({args[0], step.facts});
    } else {
      for (auto arg = args.rbegin(); arg != args.rend(); ++arg) waiting.push_back({*arg, step.facts});
    }
  }
}

bool Checker::is_plainly_in_order(Expr node, const Condition& facts, const Scope& scope) {
  const Read& read = *as<Read>(node);
  for (std::size_t k = 0; k < read.rules.size(); ++k)
    if (read.rules[k] == Boundary::Inside &&
        !is_plainly_inside({"read", read.array, k, node->args, {}}, facts))
      return false;
  const auto own = own_output(read.array, scope);
  return !own || !own_read_violation(*own, node, facts);
}

/// Equal expressions are one node with the place of their first occurrence. A part's place is good only if
/// it lies within that of the whole.
void Checker::check_read_at(Expr node, const Condition& facts, const Scope& scope, const Place& place) {
  const Read& read = *as<Read>(node);
  const std::span<const Expr> subscripts = std::span(node->args).first(read.rules.size());
  for (std::size_t k = 0; k < read.rules.size(); ++k) {
    if (read.rules[k] != Boundary::Inside || reported_.contains({node.get(), k})) continue;
    const Place whole = first_place({node->place, place});
    const Place part = subscripts[k]->place;
    const Access access{"read", read.array, k, subscripts, lies_within(part, whole) || !whole ? part : whole};
    const std::size_t before = diagnostics.size();
    if (!decide_inside(access, facts, scope)) run_time.reads.emplace(node.get(), static_cast<int>(k));
    if (diagnostics.size() != before) reported_.emplace(node.get(), k);
  }
  const auto own = own_output(read.array, scope);
  const std::size_t order = read.rules.size();  // stands for the order of an own read among its subscripts
  if (!own || reported_.contains({node.get(), order})) return;
  const std::size_t before = diagnostics.size();
  check_own_read(*own, node, facts, scope, first_place({node->place, place}));
  if (diagnostics.size() != before) reported_.emplace(node.get(), order);
}

void Checker::check_write_inside(const Output& output, const Scope& scope) {
  const Condition facts =
      output.guard ? scope.facts && prover_.conditions().when(output.guard, true) : scope.facts;
  for (std::size_t k = 0; k < output.at.size(); ++k) {
    // An index alone is one expression wherever it stands: its place may be that of a read.
    const Place own = as<IndexRef>(output.at[k]) && output.place ? output.place : output.at[k]->place;
    const Access access{"write", output.array, k, output.at, first_place({own, output.place})};
    if (!is_plainly_inside(access, facts) && !decide_inside(access, facts, scope))
      run_time.writes.emplace(output.array, static_cast<int>(k));
  }
}

// ---- one subscript ------------------------------------------------------------------------------------

bool Checker::is_plainly_inside(const Access& access, const Condition& facts) {
  const Affine value = prover_.conditions().value(access.subscripts[access.position]);
  const Affine extent = prover_.conditions().value(program_[access.array].shape[access.position]);
  return prover_.is_plainly_non_negative(facts, value) &&
         prover_.is_plainly_non_negative(facts, extent - 1 - value);
}

bool Checker::decide_inside(const Access& access, const Condition& facts, const Scope& scope) {
  const Affine value = prover_.conditions().value(access.subscripts[access.position]);
  const Affine extent = prover_.conditions().value(program_[access.array].shape[access.position]);
  const Answer low = prover_.is_non_negative(facts, value);
  const Answer high = prover_.is_non_negative(facts, extent - 1 - value);
  if (low == Answer::Yes && high == Answer::Yes) return true;
  if (depends_on_data(value, scope) || depends_on_data(extent, scope)) return false;
  if (!options_.prove_inside) return false;
  if (low == Answer::No || high == Answer::No) {
    report_outside(access, low == Answer::No, facts, scope);
  } else {
    report("E0330", access.place,
           fmt::format("cannot prove that the {} of {} at {} stays inside the array", access.what,
                       quoted(access.array), describe(program_, access.subscripts[access.position])),
           access.what == std::string_view("read")
               ? "use simpler subscripts and conditions, or name a boundary: " + call_with_clamp(access)
               : "use simpler subscripts and conditions",
           Fault::Limit);
  }
  return true;
}

bool Checker::depends_on_data(const Affine& affine, const Scope& scope) {
  const Conditions& conditions = prover_.conditions();
  std::set<Var> seen;
  std::vector<Affine> waiting{affine};
  while (!waiting.empty()) {
    const Affine next = waiting.back();
    waiting.pop_back();
    if (conditions.depends_on_free_term(next)) return true;
    std::vector<Var> mentioned = next.variables();
    std::ranges::copy(conditions.definitions(Condition::non_negative(next)).variables(),
                      std::back_inserter(mentioned));
    for (const Var var : mentioned) {
      if (var.kind != Var::Kind::Index || !seen.insert(var).second) continue;
      const auto dim = std::ranges::find_if(scope.dims, [&](const Dim& d) { return var_of(d.id) == var; });
      if (dim == scope.dims.end()) continue;
      if (!dim->hi) return true;
      waiting.push_back(prover_.conditions().value(dim->lo));
      waiting.push_back(prover_.conditions().value(dim->hi));
    }
  }
  return false;
}

// ---- messages -----------------------------------------------------------------------------------------

std::string Checker::text_of(const Access& access, const std::string& rule) const {
  std::string text;
  for (std::size_t k = 0; k < access.subscripts.size(); ++k) {
    const std::string subscript = describe(program_, access.subscripts[k]);
    const bool ruled = k == access.position && !rule.empty();
    text += (k ? ", " : "") + (ruled ? rule + "(" + subscript + ")" : subscript);
  }
  return name_of(program_, access.array) + "[" + text + "]";
}

/// An index runs over one size and walks an array of another: what to do about it, or nothing.
std::string Checker::help_for_sizes(const Access& access, const Scope& scope) const {
  const auto* extent = as<SizeRef>(program_[access.array].shape[access.position]);
  const auto* index = as<IndexRef>(access.subscripts[access.position]);
  if (!extent || !index) return {};
  const auto dim = std::ranges::find_if(scope.dims, [&](const Dim& d) { return d.id == index->dim; });
  const auto* range = dim == scope.dims.end() ? nullptr : as<SizeRef>(dim->hi);
  if (!range || program_[extent->symbol].origin != Symbol::Origin::Input) return {};
  return fmt::format(
      "if {1} and {2} are always the same, use one name for both; otherwise bound the index by both: {0} < "
      "min({1}, {2})",
      name_of(program_, index->dim), program_[range->symbol].name, program_[extent->symbol].name);
}

/// How the subscript gets outside: in symbols if it is a single index that is off by something, else by an
/// example.
std::string Checker::why_outside(const Access& access, bool below, const Condition& facts,
                                 const Scope& scope) {
  Conditions& conditions = prover_.conditions();
  const Affine value = conditions.value(access.subscripts[access.position]);
  const Affine extent = conditions.value(program_[access.array].shape[access.position]);
  const Condition violation = facts && Condition::non_negative(below ? -value - 1 : value - extent);
  const std::string at = describe(program_, access.subscripts[access.position]);
  for (const Dim& dim : scope.dims) {
    const Affine index(var_of(dim.id));
    if (value.factor_of(var_of(dim.id)) != 1 || (value - index).mentions(Var::Kind::Index)) continue;
    const Affine edge = below ? conditions.value(dim.lo) : conditions.value(dim.hi) - 1;
    if (prover_.is_possible(violation && equal(index, edge)) != Answer::Yes) break;
    std::string why = fmt::format("{} {} {}", name_of(program_, dim.id), below ? "starts at" : "goes up to",
                                  prover_.describe(edge));
    if (value != index) why += fmt::format(", so {} can be {}", at, prover_.describe(value - index + edge));
    if (!below) why += ", and the last element is at " + prover_.describe(extent - 1);
    return why;
  }
  const auto point = prover_.example(violation);
  if (!point) return below ? "it can be negative" : "it can be too large";
  std::vector<Var> variables;
  for (const Var::Kind kind : {Var::Kind::Index, Var::Kind::Size})
    for (const auto& [var, unused] : *point)
      if (var.kind == kind) variables.push_back(var);
  const auto value_of = [&](Var var) {
    const auto held = point->find(var);
    return held == point->end() ? 0 : held->second;
  };
  const std::string example = values(*point, variables);
  const std::int64_t elements = extent.evaluate(value_of);
  const std::string reached = std::to_string(value.evaluate(value_of));
  const std::string last =
      elements <= 0 ? "the array has no elements" : fmt::format("the last element is at {}", elements - 1);
  if (below) return example.empty() ? "it is negative" : fmt::format("for {} it is {}", example, reached);
  if (example.empty()) return at == reached ? last : fmt::format("it is {}, and {}", reached, last);
  if (elements <= 0) return fmt::format("for {} {}", example, last);
  return fmt::format("for {} it is {}, and {}", example, reached, last);
}

/// What has to hold for the subscript to be inside, as it is written in a program; nothing if it never is, or
/// if that is too long to say.
std::string Checker::condition_inside(const Access& access, bool below, const Condition& facts,
                                      const Scope& scope) {
  Conditions& conditions = prover_.conditions();
  const Affine value = conditions.value(access.subscripts[access.position]);
  const Affine extent = conditions.value(program_[access.array].shape[access.position]);
  if (prover_.is_possible(facts && between(0, value, extent)) == Answer::No) return {};
  const Answer other = prover_.is_non_negative(facts, below ? extent - 1 - value : value);
  const std::string at = describe(program_, access.subscripts[access.position]);
  std::string text;
  if (other != Answer::Yes) {
    text = fmt::format("0 <= {} < {}", at, prover_.describe(extent));
  } else {
    // Inside is what makes this positive. One index, or else one size, stands alone on the left.
    const Affine positive = below ? value + 1 : extent - value;
    text = below ? at + " >= 0" : fmt::format("{} < {}", at, prover_.describe(extent));
    std::vector<Var> alone;
    for (const Dim& dim : scope.dims) alone.push_back(var_of(dim.id));
    if (!positive.mentions(Var::Kind::Index)) alone = positive.variables();
    for (const Var var : alone) {
      const std::int64_t factor = positive.factor_of(var);
      const Affine rest = positive - Affine(var) * factor;
      if ((factor != 1 && factor != -1) || rest.mentions(Var::Kind::Index)) continue;
      if (var.kind == Var::Kind::Size && !rest.is_constant()) continue;
      text = fmt::format("{} {} {}", prover_.describe(var), factor > 0 ? ">" : "<",
                         prover_.describe(rest * -factor));
      break;
    }
  }
  return text.find("…") == std::string::npos ? text : std::string{};
}

/// Is it right to leave out points of the stage by a condition on this subscript? Every element of a new
/// array needs a value, so it is only where these indices do not number its elements.
bool Checker::may_leave_out_points(const Affine& subscript) const {
  if (!stage_) return false;
  const auto is_free = [&](const Output& output) {
    if (output.into) return true;
    bool all = subscript.mentions(Var::Kind::Index);
    for (const Var var : subscript.variables()) {
      if (var.kind != Var::Kind::Index) continue;
      const auto dim = std::ranges::find_if(stage_->dims, [&](const Dim& d) { return var_of(d.id) == var; });
      if (dim == stage_->dims.end()) return false;
      const Combine& combine = output.combine[static_cast<std::size_t>(dim - stage_->dims.begin())];
      all = all && !is<Cat>(combine) && !is<Scan>(combine) && !is<Seq>(combine);
    }
    return all;
  };
  return std::ranges::all_of(stage_->outputs, is_free);
}

std::string Checker::help_outside(const Access& access, bool below, const Condition& facts,
                                  const Scope& scope) {
  const Affine value = prover_.conditions().value(access.subscripts[access.position]);
  const Affine extent = prover_.conditions().value(program_[access.array].shape[access.position]);
  const std::string inside = condition_inside(access, below, facts, scope);
  const bool leaves_out = !inside.empty() && may_leave_out_points(value);
  if (access.what != std::string_view("read")) {
    if (leaves_out) return fmt::format("restrict the stage to {}", inside);
    return below ? "subscripts count from 0: let it start there" : "declare a larger array";
  }
  std::vector<std::string> ways;
  const Type& type = program_[access.array].type;
  if (leaves_out)
    ways.push_back("restrict the stage to " + inside);
  else if (!inside.empty())
    ways.push_back(fmt::format("choose the value outside: if {} then {} else {}", inside, text_of(access),
                               type.is(Scalar::Bool) ? "false"
                               : type.is_scalar()    ? "0"
                                                     : "…"));
  // The nearest element of an own result may be one that is still to come, and of no elements none is
  // nearest.
  if (value.mentions(Var::Kind::Index) && !own_output(access.array, scope))
    ways.push_back("name a boundary: " + call_with_clamp(access));
  if (!ways.empty()) return fmt::format("{}", fmt::join(ways, ", or "));
  return "subscripts go from 0 to " + prover_.describe(extent - 1);
}

void Checker::report_outside(const Access& access, bool below, const Condition& facts, const Scope& scope) {
  const bool is_read = access.what == std::string_view("read");
  const std::string sizes = is_read && !below ? help_for_sizes(access, scope) : "";
  report(
      is_read ? "E0310" : "E0311", access.place,
      fmt::format("{} of {} at {} leaves the array{}: {}", access.what, quoted(access.array),
                  describe(program_, access.subscripts[access.position]),
                  program_[access.array].rank() == 1 ? "" : fmt::format(" in dimension {}", access.position),
                  why_outside(access, below, facts, scope)),
      sizes.empty() ? help_outside(access, below, facts, scope) : sizes);
}

}  // namespace twill
