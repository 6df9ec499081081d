// Simpler expressions: the rules of rules.h on every expression, bounds and subscripts that cancel out, and
// conditions that are known.
#include "simplify/passes.h"

#include "program/affine_of.h"
#include "program/choice.h"
#include "program/edit.h"
#include "simplify/rewriting.h"
#include "simplify/rules.h"

#include <algorithm>

namespace twill {

namespace {

class Expressions {
 public:
  Expressions(Program& program, Notes& notes)
      : program_(program),
        pool_(*program.pool),
        notes_(notes),
        simpler_(pool_, [this](Expr node) { return step(node); }) {}

  bool run() {
    edit_stages(program_.stages, [&](Stage& stage) {
      for_each_slot(stage, [&](Expr& slot) { replace(slot, simpler_(slot)); });
      for (Dim& dim : stage.dims) {
        replace(dim.lo, settled(dim.lo));
        if (dim.hi) replace(dim.hi, settled(dim.hi));
      }
      for (Output& output : stage.outputs)
        for (Expr& at : output.at) replace(at, settled(at));
      drop_conditions(stage);
    });
    // How the sizes of inputs are written says how they are bound.
    std::set<ArrayId> inputs;
    for (const Input& input : program_.inputs) inputs.insert(input.array);
    for (Array& array : program_.arrays)
      if (!inputs.contains(array.id))
        for (Expr& extent : array.shape) replace(extent, settled(simpler_(extent)));
    return changed_;
  }

 private:
  void replace(Expr& slot, Expr by) {
    changed_ = changed_ || slot != by;
    slot = by;
  }

  Expr step(Expr node) {
    const auto* read = as<Read>(node);
    const auto* apply = as<Apply>(node);
    if (apply && node->args.size() == 2 && node->type.is(Scalar::Bool) && node->args[0]->type.is(Scalar::I64))
      node = pool_.apply(apply->prim, {settled(node->args[0]), settled(node->args[1])}, node->place);
    if (!read) return simplified(pool_, node, program_.functions);
    std::vector<Expr> args = node->args;
    for (std::size_t k = 0; k < read->rules.size(); ++k) args[k] = settled(args[k]);
    return pool_.with_args(node, std::move(args));
  }

  /// An index expression in which all but a number or a single index cancels out.
  Expr settled(Expr e) {
    const auto* apply = as<Apply>(e);
    if (!apply || (apply->prim != Prim::Add && apply->prim != Prim::Sub)) return e;
    // Quotients of numbers that wrapped around do not cancel out.
    bool divides = false;
    visit(e, [&](Expr node) {
      const auto* inner = as<Apply>(node);
      divides = divides || (inner && (inner->prim == Prim::Div || inner->prim == Prim::Mod));
    });
    if (divides) return e;
    const auto affine = affine_of(e);
    if (!affine) return e;
    if (affine->is_constant()) return pool_.integer(affine->constant());
    const auto var = affine->as_var();
    if (!var) return e;
    if (var->kind == poly::Var::Kind::Index) return pool_.index(DimId{var->id});
    return var->kind == poly::Var::Kind::Size ? pool_.size(SymbolId{var->id}) : e;
  }

  static bool is(Expr e, bool truth) {
    const auto* literal = as<Literal>(e);
    return literal && literal->value.type == Scalar::Bool && (literal->value.i != 0) == truth;
  }

  void drop_conditions(Stage& stage) {
    const auto drop = [&](Expr& guard) {
      if (is(guard, true)) replace(guard, {});
    };
    for (Output& output : stage.outputs) drop(output.guard);
    for (Effect& effect : stage.effects) drop(effect.guard);
    const auto* branch = std::get_if<Branch>(&stage.body);
    if (!branch || !as<Literal>(branch->condition)) return;
    if (!chosen_sizes(program_, stage).empty()) return;  // its stages need to be outside: see `branches`
    const bool truth = is(branch->condition, true);
    // A program has results or effects, even if these never happen.
    const Block& other = truth ? *branch->otherwise : *branch->then;
    if (program_.results.empty() && std::any_of(other.stages.begin(), other.stages.end(), has_effects))
      return;
    notes_.done.push_back(
        {"branch",
         {stage.name},
         "'" + stage.name + "' always takes its " + (truth ? "first" : "second") + " branch",
         stage.place});
    stage.body = Nested{truth ? branch->then : branch->otherwise};
    changed_ = true;
  }

  Program& program_;
  ExprPool& pool_;
  Notes& notes_;
  Rewriter simpler_;
  bool changed_ = false;
};

}  // namespace

bool simplify_expressions(Program& program, Notes& notes) { return Expressions(program, notes).run(); }

}  // namespace twill
