// What is known when the program is compiled: elements of constant arrays, elements of arrays that have one
// value everywhere, calls of functions with literals. Operations on literals are literals already (see
// ExprPool).
#include "simplify/passes.h"

#include "program/affine_of.h"
#include "simplify/rewriting.h"
#include "simplify/rules.h"

#include <algorithm>
#include <map>

namespace twill {

namespace {

class Constants {
 public:
  explicit Constants(Program& program)
      : program_(program), pool_(*program.pool), rewrite_(pool_, [this](Expr node) { return step(node); }) {
    for (const Constant& constant : program.constants) tables_[constant.array] = &constant;
    for_each_stage(program.stages, [&](const Stage& stage) {
      for (const Output& output : stage.outputs) {
        if (!as<Literal>(output.value) || output.guard || output.into || output.force) continue;
        if (std::all_of(output.combine.begin(), output.combine.end(), is<Cat>))
          everywhere_[output.array] = pool_.cast(program[output.array].type, output.value);
      }
    });
  }

  bool run() {
    bool calls = false;
    if (tables_.empty() && everywhere_.empty()) {
      for_each_stage(program_.stages, [&](const Stage& stage) {
        for_each_expr(stage,
                      [&](Expr root) { visit(root, [&](Expr node) { calls = calls || as<Invoke>(node); }); });
      });
      if (!calls) return false;
    }
    replace_everywhere(program_, [&](Expr root) {
      const Expr now = rewrite_(root);
      changed_ = changed_ || now != root;
      return now;
    });
    return changed_;
  }

 private:
  Expr step(Expr node) {
    if (const auto* read = as<Read>(node)) return element(*read, node);
    if (const auto* call = as<Invoke>(node)) return called(*call, node);
    return node;
  }

  Expr element(const Read& read, Expr node) {
    for (const Boundary rule : read.rules)
      if (rule != Boundary::Inside) return node;
    if (const auto found = everywhere_.find(read.array); found != everywhere_.end()) {
      // Data may point outside, and that is an error.
      const bool proven = std::all_of(node->args.begin(), node->args.end(), [](Expr subscript) {
        const auto at = affine_of(subscript);
        return at && !at->mentions(poly::Var::Kind::Term);
      });
      return proven ? found->second : node;
    }
    const auto found = tables_.find(read.array);
    if (found == tables_.end()) return node;
    std::int64_t position = 0;
    for (std::size_t k = 0; k < node->args.size(); ++k) {
      const auto at = integer_of(node->args[k]), extent = integer_of(program_[read.array].shape[k]);
      if (!at || !extent || *at < 0 || *at >= *extent) return node;
      position = position * *extent + *at;
    }
    return pool_.literal(found->second->elements[static_cast<std::size_t>(position)]);
  }

  /// The value of a function of literals, if it has one.
  Expr called(const Invoke& call, Expr node) {
    if (!std::all_of(node->args.begin(), node->args.end(), [](Expr arg) { return as<Literal>(arg); }))
      return node;
    Rewriter body(pool_, [&](Expr inner) -> Expr {
      if (const auto* arg = as<ArgRef>(inner)) return node->args[static_cast<std::size_t>(arg->position)];
      if (const auto* deeper = as<Invoke>(inner)) return called(*deeper, inner);
      return simplified(pool_, inner, program_.functions);
    });
    const Expr value = body(program_[call.function].body);
    return as<Literal>(value) ? value : node;
  }

  Program& program_;
  ExprPool& pool_;
  Rewriter rewrite_;
  std::map<ArrayId, const Constant*> tables_;
  std::map<ArrayId, Expr> everywhere_;
  bool changed_ = false;
};

}  // namespace

bool fold_constants(Program& program, Notes&) { return Constants(program).run(); }

}  // namespace twill
