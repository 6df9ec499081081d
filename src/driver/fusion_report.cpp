#include "driver/fusion_report.h"

#include "driver/plain_words.h"
#include "plan/lifetimes.h"
#include "plan/traffic.h"

#include "program/describe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

namespace twill {

namespace {

/// Which stages have become one.
class Together {
 public:
  std::string of(std::string stage) {
    std::vector<std::string*> way;
    for (auto found = into_.find(stage); found != into_.end(); found = into_.find(stage)) {
      way.push_back(&found->second);
      stage = found->second;
    }
    // It is short the next time.
    for (std::string* step : way) *step = stage;
    return stage;
  }
  void join(const std::string& first, const std::string& second) {
    const std::string a = of(first), b = of(second);
    if (a != b) into_[a] = b;
  }

 private:
  std::map<std::string, std::string> into_;
};

std::string lines(const std::string& title, const std::vector<std::pair<std::string, std::string>>& rows) {
  if (rows.empty()) return "";
  std::size_t width = 0;
  for (const auto& [left, right] : rows) width = std::max(width, left.size());
  std::string text = "\n" + title + "\n";
  for (const auto& [left, right] : rows) text += fmt::format("  {:<{}}  {}\n", left, width, right);
  return text;
}

std::string count(int number, const std::string& what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : what.ends_with('s') ? "es" : "s");
}

}  // namespace

namespace {

/// What has no loop walks over nothing, and has no number.
bool has_loop(const Pass& pass) {
  return std::ranges::any_of(pass.loops.chains, [](const auto& chain) { return !chain.empty(); });
}

/// Arrays that a pass leaves in memory for others, and who these are: what fusion did not save.
std::vector<std::pair<std::string, std::string>> arrays_between(const Schedule& schedule) {
  const Program& program = *schedule.program;
  const std::set<ArrayId> results(program.results.begin(), program.results.end());
  struct Made {
    std::string pass;
    ArrayId array;
  };
  std::vector<Made> made;
  std::set<ArrayId> in_place;
  std::map<ArrayId, std::vector<std::string>> readers;
  int number = 0;
  const std::function<void(const BlockSchedule&)> look = [&](const BlockSchedule& block) {
    for (const Pass& pass : block.passes) {
      if (has_loop(pass)) ++number;
      const std::string label = has_loop(pass) ? std::to_string(number) : "-";
      std::set<ArrayId> reads, own;
      for (const StageSchedule& stage : pass.stages) {
        for (std::size_t o = 0; o < stage.outputs.size(); ++o)
          for (const ArrayId array : stage.outputs[o].arrays(stage.stage->outputs[o])) {
            own.insert(array);
            if (!is_local(stage.outputs[o].keep) && !results.contains(array) && !in_place.contains(array) &&
                program[array].rank() > 0)
              made.push_back({label, array});
          }
        if (stage.blocks.empty())
          for (const ArrayId array : reads_of(program, *stage.stage)) reads.insert(array);
      }
      for (const ArrayId array : reads)
        if (!own.contains(array)) readers[array].push_back(label);
      for (const StageSchedule& stage : pass.stages) {
        for (const Block* inner : blocks_of(*stage.stage))
          for (std::size_t o = 0; o < stage.outputs.size(); ++o)
            if (is_made_in_place(program, *stage.stage, *inner, o)) in_place.insert(inner->results[o]);
        for (const BlockSchedule& inner : stage.blocks) look(inner);
      }
    }
  };
  look(schedule.body);
  std::vector<std::pair<std::string, std::string>> rows;
  for (const Made& one : made) {
    std::vector<std::string> extents;
    for (const Expr extent : program[one.array].shape) extents.push_back(describe(program, extent));
    const std::vector<std::string>& by = readers[one.array];
    rows.emplace_back(fmt::format("{}[{}]", program[one.array].name, fmt::join(extents, ", ")),
                      by.empty() ? fmt::format("pass {}", one.pass)
                                 : fmt::format("pass {}, read by {} {}", one.pass,
                                               by.size() == 1 ? "pass" : "passes", fmt::join(by, ", ")));
  }
  return rows;
}

}  // namespace

std::string proof_text(const Proof& proof, std::optional<GraphCost> cost) {
  const double gap = proof.gap();
  const std::string of = proof.left_out ? " of the stages that are left" : "",
                    ended = std::string(proof.before_slices ? ", but for what slices save" : "") +
                            (proof.out_of_time ? "; the time limit ended the search" : "");
  if (cost)
    return fmt::format("the clusters cost {} by ({}), and {}{}", proof.cost, letter_of(*cost),
                       gap == 0 ? "no others less" : fmt::format("none less than {}", proof.bound), ended);
  return gap == 0
             ? fmt::format("no other clusters{} take less time{}", of, ended)
             : fmt::format("other clusters{} might take less time, {:.1f} % at most{}", of, 100 * gap, ended);
}

std::string fusion_report(const Compilation& c) {
  const Schedule& schedule = *c.schedule;
  int stages = 0;
  for_each_stage(c.source_program->stages, [&](const Stage&) { ++stages; });
  std::string text =
      fmt::format("{}: {} in {} over memory, with {}\n", c.program->name, count(stages, "stage"),
                  count(schedule.passes, "pass"), count(schedule.buffers, "buffer"));

  if (c.proof) text += proof_text(*c.proof, c.options.cost) + "\n";

  Together one_loop, together;
  for (const Reason& reason : c.fused) {
    if (reason.stages.size() != 2) continue;
    together.join(reason.stages[0], reason.stages[1]);
    if (reason.code != "shared" && reason.code != "sliced") one_loop.join(reason.stages[0], reason.stages[1]);
  }
  std::map<std::string, std::vector<std::string>>
      written;  // stages as they were written, by what they are now
  for_each_stage(c.source_program->stages,
                 [&](const Stage& stage) { written[one_loop.of(stage.name)].push_back(stage.name); });
  const auto members_of = [&](const Stage& stage) {
    std::vector<std::string> members = written[one_loop.of(stage.name)];
    std::erase(members, stage.name);
    members.push_back(stage.name);
    return fmt::format("{}", fmt::join(members, ", "));
  };
  std::vector<std::pair<std::string, std::string>> passes, laid_out, fused, apart;
  int number = 0;
  const std::function<void(const BlockSchedule&)> list_passes = [&](const BlockSchedule& block) {
    for (const Pass& pass : block.passes) {
      std::vector<std::string> parts;
      for (const StageSchedule& stage : pass.stages) parts.push_back(members_of(*stage.stage));
      if (has_loop(pass)) ++number;
      passes.emplace_back(has_loop(pass) ? std::to_string(number) : "-",
                          fmt::format("{}", fmt::join(parts, "; ")));
      for (const StageSchedule& stage : pass.stages)
        for (const BlockSchedule& inner : stage.blocks) list_passes(inner);
    }
  };
  list_passes(schedule.body);
  for (const Reason& reason : c.fused)
    fused.emplace_back(fmt::format("{}", fmt::join(reason.stages, ", ")), reason.text);
  for (const Reason& reason : c.reasons)
    if (reason.code == "layout" || reason.code == "records")
      laid_out.emplace_back(reason.stages.front(), reason.text);
  // That a stage has others inside is the last thing to say about two stages.
  std::vector<Reason> reasons = c.apart;
  std::ranges::stable_partition(reasons, [](const Reason& reason) { return reason.code != "block"; });
  const std::vector<Reason> wishes = wishes_not_granted(c);
  reasons.insert(reasons.end(), wishes.begin(), wishes.end());
  std::set<std::pair<std::string, std::string>> said;
  for (const Reason& each : reasons) {
    const Reason reason = in_plain_words(*c.program, each);
    // A wish that was not granted.
    if (reason.stages.size() == 1)
      apart.emplace_back(reason.stages[0], reason.text + " (" + reason.code + ")");
    // That a value of a single number has no loop to share goes without saying.
    if (reason.stages.size() != 2 || reason.code == "no-loop") continue;
    const std::pair<std::string, std::string> pair{together.of(reason.stages[0]),
                                                   together.of(reason.stages[1])};
    if (pair.first == pair.second || !said.insert(pair).second) continue;
    apart.emplace_back(fmt::format("{} | {}", reason.stages[0], reason.stages[1]),
                       reason.text + " (" + reason.code + ")");
  }
  return text + lines("stages that share their loops", passes) +
         lines("in memory between them", arrays_between(schedule)) + lines("laid out for lanes", laid_out) +
         lines("fused or removed", fused) + lines("apart, and why", apart);
}

namespace {

/// What fusion saves of every array, the most first.
std::string saved_by_array(const Traffic& before, const Traffic& now,
                           const std::function<std::string(double)>& amount) {
  struct Saved {
    std::string name;
    ArrayTraffic before, now;
    double bytes() const { return before.moved() - now.moved(); }
  };
  std::vector<Saved> saved;
  for (const auto& [name, traffic] : before.arrays) {
    const auto left = now.arrays.find(name);
    saved.push_back({name, traffic, left == now.arrays.end() ? ArrayTraffic{} : left->second});
  }
  std::erase_if(saved, [](const Saved& array) { return array.bytes() <= 0; });
  std::stable_sort(saved.begin(), saved.end(),
                   [](const Saved& a, const Saved& b) { return a.bytes() > b.bytes(); });
  std::vector<std::pair<std::string, std::string>> rows;
  for (const Saved& array : saved) {
    const std::string was =
        array.before.written == 0
            ? amount(array.before.read) + " read"
            : fmt::format("{} written and {} read", amount(array.before.written), amount(array.before.read));
    const std::string is =
        array.now.moved() == 0   ? "none of them"
        : array.now.written == 0 ? amount(array.now.read) + " read"
        : array.now.read == 0
            ? amount(array.now.written) + " written"
            : fmt::format("{} written and {} read", amount(array.now.written), amount(array.now.read));
    rows.emplace_back(array.name, fmt::format("{}: {}, now {}", amount(array.bytes()), was, is));
  }
  return lines("saved, array by array", rows);
}

}  // namespace

std::string traffic_report(const Compilation& compilation, const Compilation& unfused,
                           const std::map<std::string, std::int64_t>& sizes, std::int64_t assumed) {
  const auto traffic = [&](const Compilation& c) {
    const Program& program = *c.schedule->program;
    KnownSizes known;
    for (std::size_t s = 0; s < program.symbols.size(); ++s) {
      const auto given = sizes.find(program.symbols[s].name);
      known.sizes[SymbolId{static_cast<int>(s)}] = given == sizes.end() ? assumed : given->second;
    }
    return traffic_of(*c.schedule, known);
  };
  const auto amount = [](double bytes) {
    return bytes < 1e6   ? fmt::format("{:.1f} kB", bytes / 1e3)
           : bytes < 1e9 ? fmt::format("{:.1f} MB", bytes / 1e6)
                         : fmt::format("{:.1f} GB", bytes / 1e9);
  };
  const Traffic now = traffic(compilation), before = traffic(unfused);
  std::vector<std::string> taken;
  for (const auto& [name, size] : sizes) taken.push_back(fmt::format("{} = {}", name, size));
  const std::vector<Symbol>& all = compilation.schedule->program->symbols;
  const bool others = std::ranges::any_of(all, [&](const Symbol& s) { return !sizes.contains(s.name); });
  if (others) taken.push_back(fmt::format("every {}size is {}", sizes.empty() ? "" : "other ", assumed));
  std::vector<std::pair<std::string, std::string>> rows;
  const auto row = [&](const std::string& what, const Traffic& moved, int passes) {
    rows.emplace_back(what, fmt::format("{} in {}, {} of memory", amount(moved.read + moved.written),
                                        count(passes, "pass"), amount(moved.footprint)));
  };
  row("stage by stage", before, unfused.schedule->passes);
  row("now", now, compilation.schedule->passes);
  rows.emplace_back("at least", amount(now.least) + " of inputs and results");
  if (!now.complete || !before.complete)
    rows.emplace_back("left out", "arrays and loops whose size depends on data");
  return saved_by_array(before, now, amount) +
         lines("bytes moved" + (taken.empty() ? "" : fmt::format(", if {}", fmt::join(taken, ", "))), rows);
}

}  // namespace twill
