// Bytes that a schedule moves: every array once per pass that reads or writes it.
#include "plan/traffic.h"

#include <algorithm>
#include <optional>

namespace twill {

namespace {

class Counter {
 public:
  Counter(const Schedule& schedule, const KnownSizes& known) : program_(*schedule.program), known_(known) {}

  Traffic run(const Schedule& schedule) {
    block(schedule.body, 1);
    for (const Input& input : program_.inputs) traffic_.least += bytes(input.array);
    for (ArrayId result : std::set(program_.results.begin(), program_.results.end()))
      traffic_.least += bytes(result);
    for (ArrayId array : seen_) traffic_.footprint += bytes(array);
    return std::move(traffic_);
  }

 private:
  void block(const BlockSchedule& schedule, double times) {
    for (const Pass& pass : schedule.passes) this->pass(pass, times);
  }

  void pass(const Pass& pass, double times) {
    PassTraffic traffic;
    traffic.times = times;
    traffic.stages = pass.names;
    const PassArrays arrays = arrays_of(program_, pass);
    for (ArrayId array : arrays.read) {
      traffic.read += bytes(array);
      if (program_[array].rank() > 0) traffic_.arrays[program_[array].name].read += times * bytes(array);
    }
    for (ArrayId array : arrays.written) {
      traffic.written += bytes(array);
      if (program_[array].rank() > 0) traffic_.arrays[program_[array].name].written += times * bytes(array);
    }
    seen_.insert(arrays.read.begin(), arrays.read.end());
    seen_.insert(arrays.written.begin(), arrays.written.end());
    traffic_.read += times * traffic.read;
    traffic_.written += times * traffic.written;
    traffic_.passes.push_back(std::move(traffic));
    for (const StageSchedule& stage : pass.stages)
      for (const BlockSchedule& inner : stage.blocks) block(inner, times * points(*stage.stage));
  }

  double points(const Stage& stage) {
    double count = 1;
    for (const Dim& dim : stage.dims) {
      const auto lo = value(dim.lo), hi = dim.hi ? value(dim.hi) : std::nullopt;
      if (dim.condition || !lo || !hi)
        traffic_.complete = false;
      else
        count *= static_cast<double>(std::max<std::int64_t>(0, hi->i - lo->i));
    }
    return count;
  }

  double bytes(ArrayId id) {
    const Array& array = program_[id];
    auto size = static_cast<double>(byte_size(array.type));
    for (Expr extent : array.shape) {
      const auto count = value(extent);
      if (!count) {
        traffic_.complete = false;
        return 0;
      }
      size *= static_cast<double>(std::max<std::int64_t>(0, count->i));
    }
    return size;
  }

  std::optional<Number> value(Expr e) const { return known_value(e, known_); }

  const Program& program_;
  const KnownSizes& known_;
  Traffic traffic_;
  std::set<ArrayId> seen_;
};

}  // namespace

PassArrays arrays_of(const Program& program, const Pass& pass) {
  PassArrays arrays;
  std::set<ArrayId> local;
  for (const StageSchedule& stage : pass.stages) {
    for (std::size_t o = 0; o < stage.outputs.size(); ++o)
      for (ArrayId array : stage.outputs[o].arrays(stage.stage->outputs[o]))
        (is_local(stage.outputs[o].keep) ? local : arrays.written).insert(array);
    if (stage.blocks.empty())
      for (ArrayId array : reads_of(program, *stage.stage)) arrays.read.insert(array);
  }
  std::erase_if(arrays.read,
                [&](ArrayId array) { return local.contains(array) || arrays.written.contains(array); });
  return arrays;
}

Traffic traffic_of(const Schedule& schedule, const KnownSizes& known) {
  return Counter(schedule, known).run(schedule);
}

}  // namespace twill
