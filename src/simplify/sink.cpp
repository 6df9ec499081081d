// What is computed outside of a choice or of a loop, and read by stages inside of it, is computed in there
// only if the user asks for that: it may be computed at every step. It never is if the world would see it.
#include "simplify/passes.h"

#include "fuse/inline.h"
#include "fuse/profit.h"
#include "program/edit.h"

#include <algorithm>

namespace twill {

namespace {

class Sink {
 public:
  Sink(Region& region, Notes& notes)
      : region_(region), program_(region.program), uses_(region), notes_(notes) {}

  bool run() {
    bool changed = false;
    for (std::size_t p = 0; p < region_.stages.size(); ++p)
      for (const Output& output : std::vector<Output>(region_.stages[p].outputs))
        changed = sink(p, output) || changed;
    return changed;
  }

 private:
  /// Whoever reads the output is inside of other stages, and computes it there from now on.
  bool sink(std::size_t p, const Output& output) {
    const Stage& producer = region_.stages[p];
    if (has_effects(producer) || has_hint(producer, Hint::Never) || output.force ||
        !uses_.is_held(output.array) || region_.kept.contains(output.array))
      return false;
    const bool asked = has_hint(producer, Hint::Always) || has_hint(producer, Hint::Recompute);
    std::vector<Stage> after(region_.stages.begin() + static_cast<std::ptrdiff_t>(p) + 1,
                             region_.stages.end());
    std::vector<Reason> done;
    edit_stages(after, [&](Stage& stage) {
      const bool is_inside =
          std::ranges::none_of(region_.stages, [&](const Stage& other) { return other.name == stage.name; });
      if (!is_inside || !(asked || has_hint(stage, Hint::Always)) || has_hint(stage, Hint::Never) ||
          !reads_itself(stage, output.array) || why_not_inline(program_, producer, output, stage))
        return;
      inline_reads(program_, producer, output, stage);
      done.push_back({"asked",
                      {producer.name, stage.name},
                      "'" + producer.name + "' is computed inside of '" + stage.name +
                          "', at every step around it: the user says so",
                      stage.place});
    });
    if (done.empty() ||
        std::ranges::any_of(after, [&](const Stage& stage) { return needs(program_, stage, output.array); }))
      return false;
    std::ranges::move(after, region_.stages.begin() + static_cast<std::ptrdiff_t>(p) + 1);
    notes_.done.insert(notes_.done.end(), done.begin(), done.end());
    return true;
  }

  static bool reads_itself(const Stage& stage, ArrayId array) {
    bool found = false;
    for_each_expr(stage, [&](Expr root) {
      visit(root, [&](Expr node) {
        const auto* read = as<Read>(node);
        found = found || (read && read->array == array);
      });
    });
    return found;
  }

  Region& region_;
  Program& program_;
  const UseTable uses_;  // of the past: what is new is looked at the next time
  Notes& notes_;
};

}  // namespace

bool sink_as_asked(Region& region, Notes& notes) {
  bool asked = false;
  for_each_stage(region.stages, [&](const Stage& stage) { asked = asked || !stage.hints.empty(); });
  return asked && Sink(region, notes).run();
}

}  // namespace twill
