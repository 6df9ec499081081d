#include "plan/predict.h"

#include "fuse/guess.h"
#include "fuse/inline.h"
#include "fuse/join.h"
#include "fuse/profit.h"
#include "plan/tiles.h"
#include "plan/traffic.h"

#include <algorithm>
#include <map>

namespace twill {

namespace {

/// To compute a stage again saves at least this share of the whole time.
constexpr double least_saving = 0.01;

/// What takes one point after the other, instead of as many at once as there are lanes, takes so much longer.
constexpr double without_lanes = 8;

/// What stages and arrays cost.
class Prices {
 public:
  Prices(const Program& program, const TimeModel& model, const KnownSizes& known)
      : program_(program), guess_(program, known), model_(model) {}

  /// A single value costs nothing.
  double read(ArrayId array) const {
    if (program_[array].rank() == 0) return 0;
    return model_.read_time(guess_.bytes(program_[array]), guess_.knows(program_[array]));
  }
  double write(ArrayId array) const {
    if (program_[array].rank() == 0) return 0;
    return model_.write_time(guess_.bytes(program_[array]), guess_.knows(program_[array]));
  }
  bool knows(const Stage& stage) const {
    return std::all_of(stage.outputs.begin(), stage.outputs.end(),
                       [&](const Output& output) { return guess_.knows(program_[output.array]); });
  }
  double points(const Stage& stage) const { return guess_.points(stage); }
  double work(const Stage& stage) const {
    const Work work = guess_.work(stage);
    return model_.work_time(work.operations, work.calls);
  }

 private:
  const Program& program_;
  Guess guess_;
  TimeModel model_;
};

/// By stage of the pass, the share of its points that is computed more than once, for tiles that overlap.
std::vector<double> computed_again(const Pass& pass) {
  std::vector<const Stage*> stages;
  for (const StageSchedule& stage : pass.stages) stages.push_back(stage.stage);
  if (std::ranges::none_of(pass.loops.sliced, std::identity())) return std::vector<double>(stages.size(), 0);
  return computed_again(stages, pass.loops, pass.stages.front().outputs.front().keep);
}

double time_of(const BlockSchedule& block, const Program& program, const Prices& prices) {
  double time = 0;
  for (const Pass& pass : block.passes) {
    const PassArrays arrays = arrays_of(program, pass);
    for (const ArrayId array : arrays.read) time += prices.read(array);
    for (const ArrayId array : arrays.written) time += prices.write(array);
    const std::vector<double> again = computed_again(pass);
    for (std::size_t i = 0; i < pass.stages.size(); ++i) {
      const StageSchedule& stage = pass.stages[i];
      time += prices.work(*stage.stage) * (1 + again[i]);
      for (const BlockSchedule& inner : stage.blocks)
        time += prices.points(*stage.stage) * time_of(inner, program, prices);
    }
  }
  return time;
}

/// Who runs the stages of the program, and what is in memory.
class Passes {
 public:
  explicit Passes(const Schedule& schedule) { add(schedule.body, *schedule.program); }

  /// Nothing if the stage is in no pass.
  const PassArrays* of(const std::string& stage) const {
    const auto found = pass_of_.find(stage);
    return found == pass_of_.end() ? nullptr : &arrays_[found->second];
  }
  bool same(const std::string& a, const std::string& b) const { return pass_of_.at(a) == pass_of_.at(b); }

 private:
  void add(const BlockSchedule& block, const Program& program) {
    for (const Pass& pass : block.passes) {
      for (const std::string& name : pass.names) pass_of_[name] = arrays_.size();
      arrays_.push_back(arrays_of(program, pass));
      for (const StageSchedule& stage : pass.stages)
        for (const BlockSchedule& inner : stage.blocks) add(inner, program);
    }
  }

  std::map<std::string, std::size_t> pass_of_;
  std::vector<PassArrays> arrays_;
};

/// Compares, for a stage of a region, what its arrays cost in memory with what it costs to do without.
class Comparison {
 public:
  Comparison(Region& region, const Passes& passes, const Prices& prices)
      : region_(region), uses_(region), passes_(passes), prices_(prices) {}

  /// The time that is saved if the stage at a position is computed again where it is read.
  double saved(int position) const {
    const Stage& stage = at(position);
    const PassArrays* own = passes_.of(stage.name);
    const bool in_memory =
        own && std::any_of(stage.outputs.begin(), stage.outputs.end(),
                           [&](const Output& output) { return own->written.contains(output.array); });
    if (!in_memory || has_hint(stage, Hint::Remember) || why_not_recompute(region_, uses_, position) ||
        is_chosen_from(region_, uses_, position))
      return 0;
    double saved = prices_.work(stage);
    std::set<const PassArrays*> readers;
    std::set<int> stages;
    for (const Output& output : stage.outputs) {
      if (own->written.contains(output.array)) saved += prices_.write(output.array);
      std::set<const PassArrays*> passes;
      for (const int r : uses_.readers(output.array)) {
        const PassArrays* pass = passes_.of(at(r).name);
        if (!pass || why_worse(region_.program, stage, operations_of(stage), at(r))) return 0;
        // How often elements are read that data choose, only sizes can tell.
        if (!gathered_outputs(stage, at(r)).empty() && !(prices_.knows(stage) && prices_.knows(at(r))))
          return 0;
        stages.insert(r);
        passes.insert(pass);
      }
      for (const PassArrays* pass : passes)
        if (pass->read.contains(output.array)) saved += prices_.read(output.array);
      readers.insert(passes.begin(), passes.end());
    }
    for (const int r : stages) saved -= more_work(at(r), stage);
    const bool read_here = readers.contains(own);
    for (const ArrayId array : uses_.reads(position)) {
      const int maker = uses_.definer(array);
      const PassArrays* made = maker < 0 ? nullptr : passes_.of(at(maker).name);
      // What is not in memory now would have to be.
      if (made && !made->written.contains(array)) return 0;
      const bool needed_here = read_here || made == own || is_read_by_another(array, position);
      if (!needed_here) saved += prices_.read(array);
      for (const PassArrays* pass : readers)
        if (pass != own && !pass->read.contains(array) && !pass->written.contains(array))
          saved -= prices_.read(array);
    }
    return saved;
  }

  bool reads(int reader, int stage) const {
    const auto& outputs = at(stage).outputs;
    return std::any_of(outputs.begin(), outputs.end(),
                       [&](const Output& output) { return uses_.readers(output.array).contains(reader); });
  }

 private:
  const Stage& at(int position) const { return region_.stages[static_cast<std::size_t>(position)]; }

  /// What it costs the reader to compute all that it reads of the stage.
  double more_work(Stage reader, const Stage& stage) const {
    const double before = prices_.work(reader);
    for (const Output& output : stage.outputs) inline_reads(region_.program, stage, output, reader);
    const double more = prices_.work(reader) - before;
    return takes_single_points(reader) ? without_lanes * more : more;
  }

  /// Does another stage of the same pass read the array as well?
  bool is_read_by_another(ArrayId array, int position) const {
    const std::set<int>& readers = uses_.readers(array);
    return std::any_of(readers.begin(), readers.end(), [&](int r) {
      return r != position && passes_.of(at(r).name) && passes_.same(at(r).name, at(position).name);
    });
  }

  const Region& region_;
  UseTable uses_;
  const Passes& passes_;
  const Prices& prices_;
};

}  // namespace

double predicted_time(const Schedule& schedule, const TimeModel& model, const KnownSizes& known) {
  return time_of(schedule.body, *schedule.program, Prices(*schedule.program, model, known));
}

std::vector<Reason> better_recomputed(const Program& program, const Schedule& schedule,
                                      const TimeModel& model, const KnownSizes& known) {
  std::vector<Reason> chosen;
  const Prices prices(program, model, known);
  const Passes passes(schedule);
  const double time = predicted_time(schedule, model, known);
  Program scratch = program;
  in_all_regions(scratch, [&](Region& region) {
    const Comparison comparison(region, passes, prices);
    std::vector<std::pair<double, int>> worth;
    for (int s = 0; s < static_cast<int>(region.stages.size()); ++s)
      if (const double saved = comparison.saved(s); saved > least_saving * time) worth.push_back({-saved, s});
    std::sort(worth.begin(), worth.end());
    std::vector<int> taken;
    for (const auto& [saved, s] : worth) {
      if (std::any_of(taken.begin(), taken.end(),
                      [&, s = s](int t) { return comparison.reads(s, t) || comparison.reads(t, s); }))
        continue;
      taken.push_back(s);
      chosen.push_back(recomputed(region.stages[static_cast<std::size_t>(s)]));
    }
    return false;
  });
  return chosen;
}

}  // namespace twill
