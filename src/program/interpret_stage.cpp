// The walk over a stage's domain, its blocks and its effects.
#include "program/interpret_stage.h"

#include "base/error.h"
#include "program/choice.h"

#include <fmt/format.h>
#include <algorithm>
#include <limits>

namespace twill {

Interpreter::Interpreter(const Program& program) : environment(program) {}

Interpreter::~Interpreter() = default;

void Interpreter::run(std::span<const Stage> stages) {
  for (const Stage& stage : stages) {
    std::unique_ptr<StageRun>& ready = ready_[&stage];
    if (!ready) ready = std::make_unique<StageRun>(*this, stage);
    ready->run();
    if (!defined) continue;
    for (const Output& output : stage.outputs)
      for (const ArrayId array : defined_arrays(output)) defined(array, environment[array]);
  }
}

// ---- making ready
// ---------------------------------------------------------------------------------------------

StageRun::StageRun(Interpreter& interpreter, const Stage& stage)
    : interpreter_(interpreter),
      environment_(interpreter.environment),
      stage_(stage),
      formulas_(interpreter.environment) {
  const auto ready = [&](Expr e) { return e ? formulas_.add(e) : -1; };
  for (const Dim& dim : stage.dims)
    loops_.push_back({ready(dim.lo), ready(dim.hi), ready(dim.condition), false});
  choose_directions();
  for (const Output& output : stage.outputs)
    results_.push_back(
        {ready(output.guard), ready(output.value), make_collector(environment_, formulas_, stage, output)});
  for (std::size_t i = 0; i < stage.outputs.size(); ++i)
    (is_running(stage.outputs[i]) ? running_ : others_).push_back(i);
  for (const Effect& effect : stage.effects) {
    Print print{ready(effect.guard), {}};
    for (const auto& argument : effect.arguments)
      if (const Expr* value = std::get_if<Expr>(&argument)) print.values.push_back(ready(*value));
    prints_.push_back(std::move(print));
  }

  std::vector<const Block*> blocks;
  if (const auto* nested = std::get_if<Nested>(&stage.body)) blocks = {nested->block.get()};
  if (const auto* branch = std::get_if<Branch>(&stage.body)) {
    branch_ = ready(branch->condition);
    blocks = {branch->then.get(), branch->otherwise.get()};
    for (const ChosenSize& chosen : chosen_sizes(environment_.program, stage))
      chosen_.push_back({chosen.size, ready(chosen.then), ready(chosen.otherwise)});
  }
  for (const Block* inner : blocks)
    for (const Carry& carry : inner->carries)
      state_shapes_.try_emplace(carry.inside, environment_, formulas_, carry.inside);
  if (state_shapes_.empty()) return;
  ensure(branch_ < 0, "interpret: a branch carries no state");
  for (std::size_t k = 0; k < stage.dims.size() && !first_seq_; ++k)
    if (std::ranges::any_of(stage.outputs, [&](const Output& output) { return is<Seq>(output.combine[k]); }))
      first_seq_ = k;
  ensure(first_seq_.has_value(), "interpret: a carried state needs a Seq dimension");
}

/// A scan from the right runs its dimension backwards.
void StageRun::choose_directions() {
  for (std::size_t k = 0; k < loops_.size(); ++k) {
    bool left = false;
    for (const Output& output : stage_.outputs) {
      const auto* scan = std::get_if<Scan>(&output.combine[k]);
      if (!scan) continue;
      (scan->from == Direction::Right ? loops_[k].backwards : left) = true;
    }
    if (left && loops_[k].backwards)
      fail(Fault::Limit, "E0515", stage_.place,
           fmt::format("stage '{}' scans dimension '{}' from both ends", stage_.name, stage_.dims[k].name),
           "make it two stages");
    for (const Output& output : stage_.outputs)
      if (loops_[k].backwards && output.offsets && is<Cat>(output.combine[k]))
        fail(Fault::Limit, "E0515", stage_.place,
             fmt::format(
                 "stage '{}' scans dimension '{}' from the right, but collects the rows of '{}' in order",
                 stage_.name, stage_.dims[k].name, environment_.program[output.array].name),
             "make it two stages");
  }
}

// ---- walking
// -----------------------------------------------------------------------------------------------------

void StageRun::run() {
  environment_.active.push_back({&stage_, 0});
  formulas_.forget();
  for (Result& result : results_) result.collector->begin();
  walk(0);
  formulas_.forget();
  for (Result& result : results_) result.collector->finish();
  environment_.active.pop_back();
}

void StageRun::walk(std::size_t depth) {
  if (depth == loops_.size()) {
    point();
    return;
  }
  const bool starts_state = first_seq_ == depth;
  if (starts_state) {
    for (const Carry& carry : block()->carries) set_state(carry.inside, environment_[carry.init]);
    steps_ = 0;
  }
  for (Result& result : results_) result.collector->enter(depth);
  const Loop& loop = loops_[depth];
  const std::int64_t lo = formulas_.integer(loop.lo);
  const std::int64_t hi =
      loop.hi >= 0 ? formulas_.integer(loop.hi) : std::numeric_limits<std::int64_t>::max();
  for (std::int64_t count = 0; lo < hi && count < hi - lo; ++count) {
    environment_[stage_.dims[depth].id] = loop.backwards ? hi - 1 - count : lo + count;
    environment_.active.back().dims = depth + 1;
    formulas_.forget();
    if (loop.condition >= 0 && !formulas_.truth(loop.condition)) break;
    walk(depth + 1);
    for (Result& result : results_) result.collector->next(depth);
  }
  environment_.active.back().dims = depth;
  formulas_.forget();
  if (starts_state && steps_ == 0) yield_initial_state();
  for (Result& result : results_) result.collector->leave(depth);
}

// ---- one point
// ------------------------------------------------------------------------------------------------------

/// The block runs first; all values are computed before any of them is stored, but running values at once;
/// effects come last.
void StageRun::point() {
  if (interpreter_.points_left-- <= 0) throw Interpreter::Enough{};
  const bool has_block = !std::holds_alternative<Formula>(stage_.body);
  if (has_block) {
    interpreter_.run(block()->stages);
    formulas_.forget();
    settle_sizes();
  }
  const auto decide = [&](std::size_t i) {
    holds_[i] = results_[i].guard < 0 || formulas_.truth(results_[i].guard);
  };
  holds_.assign(results_.size(), false);
  for (const std::size_t i : running_) {
    decide(i);
    yield(i);
    formulas_.forget();
  }
  for (const std::size_t i : others_) decide(i);
  for (const std::size_t i : others_)
    if (holds_[i] && results_[i].value >= 0) formulas_.value(results_[i].value);
  for (const std::size_t i : others_) yield(i);
  if (!prints_.empty()) happen();
  if (first_seq_) hand_on_state();
}

const Block* StageRun::block() {
  if (const auto* branch = std::get_if<Branch>(&stage_.body))
    return (formulas_.truth(branch_) ? branch->then : branch->otherwise).get();
  return std::get<Nested>(stage_.body).block.get();
}

/// The sizes of what the chosen side has computed.
void StageRun::settle_sizes() {
  if (chosen_.empty()) return;
  const bool then = formulas_.truth(branch_);
  for (const Chosen& chosen : chosen_)
    environment_.sizes[static_cast<std::size_t>(chosen.size.value)] =
        std::max<std::int64_t>(0, formulas_.integer(then ? chosen.then : chosen.otherwise));
  formulas_.forget();
}

void StageRun::set_state(ArrayId inside, const Data& value) {
  Data copy = value;
  state_shapes_.at(inside).settle(copy.shape());
  environment_[inside] = std::move(copy);
}

/// All next states are taken before any state changes: one's next may be another's state.
void StageRun::hand_on_state() {
  const std::vector<Carry>& carries = block()->carries;
  std::vector<Data> next;
  for (const Carry& carry : carries) next.push_back(environment_[carry.next]);
  for (std::size_t i = 0; i < next.size(); ++i) set_state(carries[i].inside, next[i]);
  formulas_.forget();
  ++steps_;
}

void StageRun::yield(std::size_t i) {
  if (!holds_[i]) {
    results_[i].collector->skip();
  } else if (results_[i].value >= 0) {
    results_[i].collector->take({formulas_.value(results_[i].value)});
  } else {
    const Data& data = environment_[block()->results[i]];
    results_[i].collector->take({leaves_of_elements(data), data.shape()});
  }
}

/// There was no step: what would be the next state is the initial one.
void StageRun::yield_initial_state() {
  const Block& inner = *block();
  for (std::size_t i = 0; i < results_.size(); ++i) {
    const std::vector<Combine>& combine = stage_.outputs[i].combine;
    const bool only_last =
        std::all_of(combine.begin() + static_cast<std::ptrdiff_t>(*first_seq_), combine.end(),
                    [](const Combine& c) { return is<Seq>(c) && std::get<Seq>(c).last; });
    const auto carry = std::ranges::find(inner.carries, inner.results[i], &Carry::next);
    if (!only_last || carry == inner.carries.end()) continue;
    const Data& data = environment_[carry->init];
    results_[i].collector->take({leaves_of_elements(data), data.shape()});
  }
}

void StageRun::happen() {
  formulas_.forget();
  for (std::size_t i = 0; i < prints_.size(); ++i) {
    if (prints_[i].guard >= 0 && !formulas_.truth(prints_[i].guard)) continue;
    std::vector<Number> numbers;
    for (int value : prints_[i].values) {
      const std::span<const Number> leaves = formulas_.value(value);
      numbers.insert(numbers.end(), leaves.begin(), leaves.end());
    }
    const Effect& effect = stage_.effects[i];
    interpreter_.effects.push_back({effect.kind, effect_text(environment_.program, effect, numbers)});
  }
}

}  // namespace twill
