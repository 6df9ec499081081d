// Lengths that are equal by construction. Collections that take elements at the same points under the same
// condition have the same length: where somebody needs the shorter one of them, as a zip does, they become
// outputs of one stage that share their length.
#include "simplify/passes.h"

#include "simplify/rewriting.h"

#include <algorithm>
#include <map>
#include <set>

namespace twill {

namespace {

class Zips {
 public:
  Zips(Region& region, Notes& notes) : region_(region), program_(region.program), notes_(notes) {}

  bool run() {
    bool changed = false;
    while (unite_any()) changed = true;
    return changed;
  }

 private:
  using Pair = std::pair<SymbolId, SymbolId>;

  /// A collection that is appended to: its stage and its output.
  struct Where {
    std::size_t stage, output;
  };

  /// By their lengths.
  std::map<SymbolId, Where> collections() const {
    std::map<SymbolId, Where> found;
    for (std::size_t s = 0; s < region_.stages.size(); ++s) {
      const std::vector<Output>& outputs = region_.stages[s].outputs;
      for (std::size_t o = 0; o < outputs.size(); ++o) {
        const bool flat = !outputs[o].combine.empty() && !outputs[o].offsets &&
                          std::ranges::all_of(outputs[o].combine, is<Append>);
        const auto* size = flat ? as<SizeRef>(program_[outputs[o].array].shape.front()) : nullptr;
        if (size) found.try_emplace(size->symbol, Where{s, o});
      }
    }
    return found;
  }

  /// Lengths of which ranges need the shorter one.
  std::set<Pair> pairs(const std::map<SymbolId, Where>& lengths) const {
    std::set<Pair> found;
    for (const Stage& stage : region_.stages) {
      for (const Dim& dim : stage.dims) {
        const auto* shorter = as<Apply>(dim.hi);
        if (!shorter || shorter->prim != Prim::Min) continue;
        std::set<SymbolId> here;
        visit(dim.hi, [&](Expr node) {
          const auto* size = as<SizeRef>(node);
          if (size && lengths.contains(size->symbol)) here.insert(size->symbol);
        });
        for (auto a = here.begin(); a != here.end(); ++a)
          for (auto b = std::next(a); b != here.end(); ++b) found.emplace(*a, *b);
      }
    }
    return found;
  }

  bool unite_any() {
    const std::map<SymbolId, Where> lengths = collections();
    for (const auto& [one, other] : pairs(lengths))
      if (tried_.emplace(one, other).second && unite(one, lengths.at(one), other, lengths.at(other)))
        return true;
    return false;
  }

  bool unite(SymbolId one, Where first, SymbolId other, Where second) {
    if (region_.kept_sizes.contains(one) || region_.kept_sizes.contains(other)) return false;
    if (second.stage < first.stage) {
      std::swap(first, second);
      std::swap(one, other);
    }
    const Stage &mine = region_.stages[first.stage], &theirs = region_.stages[second.stage];
    const Output &a = mine.outputs[first.output], &b = theirs.outputs[second.output];
    const std::string text = "'" + program_[a.array].name + "' and '" + program_[b.array].name +
                             "' have elements at the same points, and so one length";
    const Reason reason{"length", {mine.name, theirs.name}, text, theirs.place};
    if (first.stage == second.stage) {
      if (a.guard != b.guard || a.combine != b.combine) return false;
    } else {
      if (a.guard != at_points_of(program_, mine, theirs, b.guard) ||
          !join_siblings(region_, first.stage, second.stage))
        return false;
    }
    Renaming renaming;
    renaming.sizes[other] = one;
    rename_reads(program_, region_.stages, renaming);
    notes_.done.push_back(reason);
    return true;
  }

  Region& region_;
  Program& program_;
  Notes& notes_;
  std::set<Pair> tried_;
};

}  // namespace

bool unite_lengths(Region& region, Notes& notes) { return Zips(region, notes).run(); }

}  // namespace twill
