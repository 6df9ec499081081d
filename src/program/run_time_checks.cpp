// What the checker leaves to the run time, as programs say it that are about to be emitted.
#include "program/check.h"
#include "program/checker.h"
#include "program/edit.h"
#include "program/prover.h"

#include <algorithm>

namespace twill {

namespace {

/// Marks the reads of one program; expressions that several stages hold are rewritten once.
class Marker {
 public:
  Marker(ExprPool& pool, const RunTimeChecks& checks) : pool_(pool), checks_(checks) {}

  Expr mark(Expr root) {
    visit(root, [&](Expr node) {  // operands first
      if (marked_.contains(node.get())) return;
      std::vector<Expr> args;
      for (const Expr arg : node->args) args.push_back(marked_.at(arg.get()));
      marked_.emplace(node.get(), with(node, std::move(args)));
    });
    return marked_.at(root.get());
  }

 private:
  Expr with(Expr node, std::vector<Expr> args) {
    const Read* read = as<Read>(node);
    std::vector<Boundary> rules = read ? read->rules : std::vector<Boundary>{};
    for (std::size_t k = 0; k < rules.size(); ++k)
      if (checks_.reads.contains({node.get(), static_cast<int>(k)})) rules[k] = Boundary::Checked;
    if (!read || rules == read->rules)
      return args == node->args ? node : pool_.with_args(node, std::move(args));
    const bool falls_back = args.size() > rules.size();
    const Expr fallback = falls_back ? args.back() : Expr{};
    args.resize(rules.size());
    return pool_.read(read->array, node->type, std::move(args), std::move(rules), fallback, node->place);
  }

  ExprPool& pool_;
  const RunTimeChecks& checks_;
  std::map<const Node*, Expr> marked_;
};

}  // namespace

std::shared_ptr<const Program> with_run_time_checks(std::shared_ptr<const Program> program) {
  const RunTimeChecks checks = run_time_checks(*program, rewritten);
  if (checks.reads.empty()) return program;
  auto marked = std::make_shared<Program>(*program);
  Marker marker(*marked->pool, checks);
  edit_stages(marked->stages, [&](Stage& stage) {
    for_each_slot(stage, [&](Expr& slot) {
      if (slot) slot = marker.mark(slot);
    });
  });
  return marked;
}

std::set<std::pair<const Node*, int>> unproven_reads(const Program& program, const Stage& stage,
                                                     ArrayId array) {
  Checker checker(program, rewritten);
  checker.check_reads_of(stage);
  std::set<std::pair<const Node*, int>> reads = std::move(checker.run_time.reads);
  std::erase_if(reads, [&](const auto& read) { return std::get<Read>(read.first->kind).array != array; });
  return reads;
}

std::vector<bool> unproven_writes(const Program& program, const Stage& stage, const Output& output) {
  std::vector<bool> unproven(output.at.size());
  const std::vector<Expr>& shape = program[output.array].shape;
  // Mostly the array is as long as the range.
  const auto is_whole = [&](std::size_t k) {
    const IndexRef* index = as<IndexRef>(output.at[k]);
    return index && std::any_of(stage.dims.begin(), stage.dims.end(), [&](const Dim& dim) {
             const Literal* lo = as<Literal>(dim.lo);
             return dim.id == index->dim && lo && lo->value.i >= 0 && dim.hi == shape[k];
           });
  };
  const bool folds = std::any_of(output.combine.begin(), output.combine.end(), is<Fold>);
  std::optional<Prover> prover;
  poly::Condition facts;
  for (std::size_t k = 0; k < output.at.size(); ++k) {
    if (is_whole(k)) continue;
    if (!prover) {
      prover.emplace(program);
      for (const Dim& dim : stage.dims) facts = std::move(facts) && prover->range(dim);
      // An element into which nothing is folded is written as well.
      if (output.guard && !folds) facts = std::move(facts) && prover->conditions().when(output.guard, true);
    }
    const poly::Affine value = prover->conditions().value(output.at[k]);
    const poly::Affine extent = prover->conditions().value(shape[k]);
    unproven[k] = prover->is_non_negative(facts, value) != poly::Answer::Yes ||
                  prover->is_non_negative(facts, extent - 1 - value) != poly::Answer::Yes;
  }
  return unproven;
}

}  // namespace twill
