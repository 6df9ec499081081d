// Bytes that a schedule moves: every array once per pass that reads or writes it.
#include "plan/traffic.h"

#include "program/evaluate.h"

#include <algorithm>
#include <optional>
#include <set>

namespace twill {

namespace {

class Counter {
 public:
  Counter(const Schedule& schedule, const std::map<SymbolId, std::int64_t>& sizes,
          const std::map<ArrayId, Number>& scalars)
      : program_(*schedule.program), sizes_(sizes), scalars_(scalars) {}

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
    std::set<ArrayId> reads, writes, local;
    for (const StageSchedule& stage : pass.stages) {
      for (std::size_t o = 0; o < stage.outputs.size(); ++o)
        for (ArrayId array : defined_arrays(stage.stage->outputs[o]))
          (stage.outputs[o].keep == Keep::Local ? local : writes).insert(array);
      // What blocks read is counted by their own passes.
      if (stage.blocks.empty())
        for (ArrayId array : reads_of(program_, *stage.stage)) reads.insert(array);
    }
    for (ArrayId array : local) reads.erase(array);
    for (ArrayId array : reads)
      if (!writes.contains(array)) traffic.read += bytes(array);
    for (ArrayId array : writes) traffic.written += bytes(array);
    seen_.insert(reads.begin(), reads.end());
    seen_.insert(writes.begin(), writes.end());
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

  /// Nothing if it depends on more than sizes and scalars that are known.
  std::optional<Number> value(Expr e) const {
    if (const auto* literal = as<Literal>(e)) return literal->value;
    if (const auto* size = as<SizeRef>(e)) {
      const auto found = sizes_.find(size->symbol);
      return found == sizes_.end() ? std::nullopt : std::optional(Number::of(Scalar::I64, found->second));
    }
    if (const auto* read = as<Read>(e)) {
      const auto found = scalars_.find(read->array);
      return found == scalars_.end() ? std::nullopt : std::optional(found->second);
    }
    std::vector<Number> operands;
    for (Expr arg : e->args) {
      const auto operand = value(arg);
      if (!operand) return std::nullopt;
      operands.push_back(*operand);
    }
    if (as<Cast>(e)) return convert(operands[0], e->type.scalar());
    if (as<Select>(e)) return operands[operands[0].i != 0 ? 1 : 2];
    const auto* apply = as<Apply>(e);
    if (!apply || !is_defined(apply->prim, operands)) return std::nullopt;
    return evaluate(apply->prim, operands);
  }

  const Program& program_;
  const std::map<SymbolId, std::int64_t>& sizes_;
  const std::map<ArrayId, Number>& scalars_;
  Traffic traffic_;
  std::set<ArrayId> seen_;
};

}  // namespace

Traffic traffic_of(const Schedule& schedule, const std::map<SymbolId, std::int64_t>& sizes,
                   const std::map<ArrayId, Number>& scalars) {
  return Counter(schedule, sizes, scalars).run(schedule);
}

}  // namespace twill
