#include "fuse/first_pass.h"

#include "program/index_use.h"

#include <algorithm>

namespace twill {

namespace {

class Needs {
 public:
  Needs(std::span<const Stage* const> stages, const FirstPass& does) : stages_(stages), does_(does) {
    for (const Stage* stage : stages)
      for (const Output& output : stage->outputs)
        for (const ArrayId array : defined_arrays(output)) own_.insert(array);
  }

  std::set<ArrayId> run() {
    if (!any()) return {};
    // What a stage needs of those before it, and of its own outputs.
    for (std::size_t s = stages_.size(); s-- > 0;)
      for (std::size_t known = found_.size() + 1; known != found_.size();) {
        known = found_.size();
        look_at(s);
      }
    return std::move(found_);
  }

 private:
  bool any() const {
    for (std::size_t s = 0; s < stages_.size(); ++s)
      for (std::size_t o = 0; o < stages_[s]->outputs.size(); ++o)
        if (does_(s, o) != InFirstPass::Nothing) return true;
    return false;
  }

  void look_at(std::size_t s) {
    const Stage& stage = *stages_[s];
    bool runs = false;
    for (std::size_t o = stage.outputs.size(); o-- > 0;) {
      const Output& output = stage.outputs[o];
      const bool needed =
          std::ranges::any_of(defined_arrays(output), [&](ArrayId array) { return found_.contains(array); });
      // A recurrence reads what it wrote at earlier points.
      const bool recurs = std::ranges::any_of(output.combine, is<Seq>) && reads(stage, output.array);
      const InFirstPass here = needed || recurs ? InFirstPass::Computes : does_(s, o);
      if (here == InFirstPass::Nothing) continue;
      runs = true;
      for (const Expr e : {output.guard, output.key}) need(e);
      for (const Expr at : output.at) need(at);
      if (here == InFirstPass::Computes) need(output.value);
    }
    if (!runs) return;
    for (const Dim& dim : stage.dims)
      for (const Expr e : {dim.lo, dim.hi, dim.condition}) need(e);
    if (std::holds_alternative<Formula>(stage.body)) return;
    for (const ArrayId array : own_)
      if (reads(stage, array)) found_.insert(array);
  }

  void need(Expr e) {
    if (!e) return;
    visit(e, [&](Expr node) {
      const Read* read = as<Read>(node);
      if (read && own_.contains(read->array)) found_.insert(read->array);
    });
  }

  std::span<const Stage* const> stages_;
  const FirstPass& does_;
  std::set<ArrayId> own_, found_;
};

}  // namespace

bool decides_by_running(const Stage& stage, const Output& output) {
  return std::ranges::any_of(stage.outputs, [&](const Output& other) {
    return is_running(other) && mentions(output.guard, other.array);
  });
}

std::set<ArrayId> needed_in_first_pass(std::span<const Stage* const> stages, const FirstPass& does) {
  return Needs(stages, does).run();
}

std::optional<ArrayId> not_learnt_yet(
    std::span<const Stage* const> stages, const FirstPass& does,
    const std::function<bool(std::size_t stage, std::size_t output)>& in_parts) {
  const std::set<ArrayId> needed = needed_in_first_pass(stages, does);
  for (std::size_t s = 0; s < stages.size(); ++s)
    for (std::size_t o = 0; o < stages[s]->outputs.size(); ++o) {
      const ArrayId array = stages[s]->outputs[o].array;
      if (needed.contains(array) && in_parts(s, o)) return array;
    }
  return std::nullopt;
}

}  // namespace twill
