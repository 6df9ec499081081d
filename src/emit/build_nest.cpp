// build_nest: from a schedule to loops, buffers and statements. This file handles lists of passes, memory and
// carried state; stage_nest.* handles one stage.
#include "emit/hoist_values.h"
#include "emit/shared_nest.h"
#include "emit/split_loops.h"
#include "emit/split_records.h"
#include "plan/lifetimes.h"
#include "program/choice.h"

#include <algorithm>

namespace twill::nest {

namespace {

class Builder {
 public:
  Builder(Nest& nest, const Schedule& schedule) : nest_(nest), t_(nest), schedule_(schedule) {}

  void build() {
    find_results();
    share_memory(schedule_.body);
    nest_.body = block(schedule_.body);
    for (std::size_t r = 0; r < nest_.results.size(); ++r) {
      const ArrayId from = t_.program().results[r], to = nest_.results[r];
      if (from == to) continue;
      if (nest_.born.contains(to)) nest_.body.push_back({Allocate{to, true}});
      nest_.body.push_back({Copy{to, from}});
    }
    split_records(t_, nest_.body);
    hoist_values(t_, nest_.body);
    split_loops(t_, nest_.body);
  }

 private:
  /// A result that a stage of the program itself computes is written to its place at once; one that is an
  /// input, a constant or mentioned twice is copied at the end.
  void find_results() {
    std::set<ArrayId> computed;
    for (const Stage& stage : schedule_.program->stages) {
      for (const Output& output : stage.outputs) {
        for (ArrayId array : defined_arrays(output)) computed.insert(array);
      }
    }
    for (ArrayId result : schedule_.program->results) {
      ArrayId place = result;
      if (computed.erase(result) == 0) {
        const Array array = t_.program()[result];
        place = t_.new_array(array.name + "_result", array.type, array.shape);
      }
      nest_.results.push_back(place);
      if (depends_on_run_time(t_.program(), t_.program()[place])) nest_.born.insert(place);
    }
  }

  bool is_result(ArrayId array) const {
    return std::find(nest_.results.begin(), nest_.results.end(), array) != nest_.results.end();
  }

  /// Outputs that are kept in the memory of other arrays, and results of blocks in the place of the outputs
  /// that they are.
  void share_memory(const BlockSchedule& schedule) {
    for (const Pass& pass : schedule.passes) {
      for (const StageSchedule& stage : pass.stages) {
        for (std::size_t o = 0; o < stage.outputs.size(); ++o) {
          const std::optional<ArrayId> over = stage.outputs[o].over;
          if (!over) continue;
          const Output& output = stage.stage->outputs[o];
          taken_over_.insert(output.array);
          if (is_result(output.array))
            nest_.memory_of[nest_.memory(*over)] = output.array;
          else
            nest_.memory_of[output.array] = *over;
        }
        for (const BlockSchedule& inner : stage.blocks) share_memory(inner);
        for (const Block* inner : blocks_of(*stage.stage)) make_in_place(*stage.stage, *inner);
      }
    }
  }

  /// What a block computes for the stage around it is written to its place at once.
  void make_in_place(const Stage& stage, const Block& inner) {
    for (std::size_t o = 0; o < stage.outputs.size(); ++o) {
      if (!is_made_in_place(t_.program(), stage, inner, o)) continue;
      nest_.memory_of[inner.results[o]] = stage.outputs[o].array;
      (is_chosen(t_.program(), stage, stage.outputs[o]) ? handed_on_ : standing_).insert(inner.results[o]);
    }
  }

  bool needs_memory(ArrayId array) const {
    if (taken_over_.contains(array) || standing_.contains(array)) return false;
    const ArrayId memory = nest_.memory(array);
    return !is_result(memory) || nest_.born.contains(memory);
  }

  Code block(const BlockSchedule& schedule) {
    Code code;
    for (const Pass& pass : schedule.passes) {
      append(code, pass.stages.size() == 1 ? one_stage(pass, pass.stages.front()) : shared(pass));
      for (ArrayId array : pass.dies) {
        const ArrayId memory = nest_.memory(array);
        const bool own = needs_memory(memory) && !carried_.contains(memory);
        if (own && t_.program()[array].rank() > 0) code.push_back({Free{memory}});
      }
    }
    return code;
  }

  Code one_stage(const Pass& pass, const StageSchedule& schedule) {
    const Stage& stage = *schedule.stage;
    Code code;
    code.push_back({Remark{stage.name, to_string(stage.place)}});
    const Nested* nested = std::get_if<Nested>(&stage.body);
    if (nested && !nested->block->carries.empty()) {
      append(code, carried(schedule, *nested->block));
      return code;
    }
    Surroundings around = surroundings();
    around.block = [this, &schedule](int branch) { return block(schedule.blocks[branch]); };
    around.release = [this, &stage](int branch) { return release(stage, branch); };
    std::set<ArrayId> awaited;
    for (const Output& output : stage.outputs)
      if (is_chosen(t_.program(), stage, output) && awaited_.insert(nest_.memory(output.array)).second)
        awaited.insert(output.array);
    around.is_awaited = [&awaited](ArrayId array) { return awaited.contains(array); };
    append(code, StageNest(t_, schedule, pass.loops.chains.front(), pass.grain, std::move(around)).lower());
    for (const ArrayId array : awaited) awaited_.erase(nest_.memory(array));
    return code;
  }

  Surroundings surroundings() const {
    Surroundings around;
    around.needs_memory = [this](ArrayId array) { return needs_memory(array); };
    around.outlives = [this](ArrayId array) { return is_result(nest_.memory(array)); };
    return around;
  }

  /// Stages, without blocks, that share their outer loops.
  Code shared(const Pass& pass) {
    Code code;
    for (const StageSchedule& schedule : pass.stages)
      code.push_back({Remark{schedule.stage->name, to_string(schedule.stage->place)}});
    append(code, SharedNest(t_, pass, surroundings()).lower());
    return code;
  }

  /// What a block leaves to its stage in memory of its own is freed when the stage has used it.
  Code release(const Stage& stage, int branch) {
    const Block* inner = nullptr;
    if (const Nested* nested = std::get_if<Nested>(&stage.body)) inner = nested->block.get();
    if (const Branch* split = std::get_if<Branch>(&stage.body))
      inner = (branch == 0 ? split->then : split->otherwise).get();
    std::set<ArrayId> own;
    for (const Stage& s : inner->stages) {
      for (const Output& output : s.outputs) {
        for (ArrayId array : defined_arrays(output)) own.insert(array);
      }
    }
    for (const Carry& carry : inner->carries) own.erase(carry.next);  // it is handed on
    Code code;
    for (ArrayId result : stages_of(stage, *inner).results) {
      if (own.erase(result) > 0 && t_.program()[result].rank() > 0 && needs_memory(result) &&
          !handed_on_.contains(result))
        code.push_back({Free{result}});
    }
    return code;
  }

  /// Does a stage of the block compute the next state into memory of its own, so that the state before and
  /// after a step can change places?
  bool changes_places(const Block& inner, const Carry& carry) const {
    const auto uses = std::count_if(inner.carries.begin(), inner.carries.end(),
                                    [&](const Carry& c) { return c.next == carry.next; });
    if (uses != 1 || nest_.memory_of.contains(carry.next)) return false;
    for (const Stage& stage : inner.stages) {
      for (const Output& output : stage.outputs) {
        if (output.array == carry.next) return true;
      }
    }
    return false;
  }

  Code carried(const StageSchedule& schedule, const Block& inner) {
    const Stage& stage = *schedule.stage;
    const Dim& dim = stage.dims.front();
    Code code;
    std::vector<Carry> swapped, copied, assigned;
    for (const Carry& carry : inner.carries) {
      if (t_.program()[carry.inside].rank() == 0) {
        code.push_back({Local{carry.inside, t_.read(carry.init)}});
        assigned.push_back(carry);
        continue;
      }
      carried_.insert(carry.inside);
      code.push_back({Allocate{carry.inside}});
      code.push_back({Copy{carry.inside, carry.init}});
      if (nest_.memory(carry.next) == carry.inside) continue;  // updated in place
      if (changes_places(inner, carry)) {
        code.push_back({Allocate{carry.next}});
        standing_.insert(carry.next);
        swapped.push_back(carry);
      } else {
        copied.push_back(carry);
      }
    }
    for (const Output& output : stage.outputs) {
      if (std::get<Seq>(output.combine.front()).last) continue;
      append(code, make_room(output.array));
      if (output.into) code.push_back({Copy{output.array, *output.into}});
    }

    Code body = block(schedule.blocks.front());
    for (std::size_t o = 0; o < stage.outputs.size(); ++o) {
      if (!std::get<Seq>(stage.outputs[o].combine.front()).last)
        append(body, guarded(stage.outputs[o].guard, kept(stage.outputs[o], inner.results[o])));
    }
    for (const Effect& effect : stage.effects) {
      Effect here = effect;
      here.guard = {};
      Code perform;
      perform.push_back({Perform{std::move(here)}});
      append(body, guarded(effect.guard, std::move(perform)));
    }
    append(body, release(stage, 0));
    append(body, step(inner, swapped, copied, assigned));

    if (!dim.condition) {
      For loop{.index = dim.id, .lo = dim.lo, .hi = dim.hi};
      loop.body = std::move(body);
      code.push_back({std::move(loop)});
    } else {
      // The index of a while loop is a variable that the body sees under the dimension's name.
      const ArrayId counter = t_.new_variable(dim.name + "_next", Scalar::I64);
      code.push_back({Local{counter, dim.lo ? dim.lo : t_.number(0)}});
      While loop{dim.condition, {}};
      if (dim.hi)
        loop.condition =
            t_.pool().apply(Prim::And, {t_.compare(Prim::Lt, t_.read(counter), dim.hi), dim.condition});
      loop.body.push_back({Let{dim.id, t_.read(counter)}});
      append(loop.body, std::move(body));
      loop.body.push_back(t_.put(counter, {}, t_.add(t_.read(counter), t_.number(1))));
      code.push_back({std::move(loop)});
    }
    append(code, finish(stage, inner));
    for (const Carry& carry : swapped) code.push_back({Free{carry.next}});
    code.push_back({Stop{}});
    return code;
  }

  /// What a step yields for an output that keeps all steps: a value, or the block's result.
  Code kept(const Output& output, ArrayId result) {
    const std::vector<Expr> shape = output.value ? std::vector<Expr>{} : t_.program()[result].shape;
    return over_elements(t_, "e", shape, [&](std::vector<Expr> indices) {
      std::vector<Expr> at = output.at;
      at.insert(at.end(), indices.begin(), indices.end());
      Code put;
      put.push_back(t_.put(output.array, at, output.value ? output.value : t_.read(result, indices)));
      return put;
    });
  }

  static Code guarded(Expr condition, Code body) {
    if (!condition) return body;
    Code code;
    code.push_back({If{condition, std::move(body), {}}});
    return code;
  }

  Code make_room(ArrayId array) {
    Code code;
    if (!needs_memory(array)) return code;
    if (t_.program()[array].rank() == 0)
      code.push_back({Local{array, {}}});
    else
      code.push_back({Allocate{array, is_result(nest_.memory(array))}});
    return code;
  }

  /// The state after a step becomes the state before the next, for all carries at once.
  Code step(const Block& inner, const std::vector<Carry>& swapped, const std::vector<Carry>& copied,
            const std::vector<Carry>& assigned) {
    Code code;
    std::vector<std::pair<ArrayId, ArrayId>> second;  // from, to
    for (const std::vector<Carry>* list : {&copied, &assigned}) {
      for (const Carry& carry : *list) {
        const bool from_state = std::any_of(inner.carries.begin(), inner.carries.end(), [&](const Carry& c) {
          return nest_.memory(c.inside) == nest_.memory(carry.next);
        });
        const Array next = t_.program()[carry.next];
        if (!from_state) {
          second.push_back({carry.next, carry.inside});
          continue;
        }
        // The next state is another part of the old state: keep it before that changes.
        const ArrayId kept = t_.new_array(next.name + "_kept", next.type, next.shape);
        if (next.rank() == 0) {
          code.push_back({Local{kept, t_.read(carry.next)}});
        } else {
          code.push_back({Allocate{kept}});
          code.push_back({Copy{kept, carry.next}});
        }
        second.push_back({kept, carry.inside});
      }
    }
    for (const auto& [from, to] : second) {
      if (t_.program()[to].rank() == 0)
        code.push_back(t_.put(to, {}, t_.read(from)));
      else
        code.push_back({Copy{to, from}});
    }
    std::set<ArrayId> freed;
    for (const auto& [from, to] : second) {
      const bool kept =
          t_.program()[to].rank() > 0 && std::none_of(inner.carries.begin(), inner.carries.end(),
                                                      [&](const Carry& c) { return c.next == from; });
      const bool computed =
          t_.program()[to].rank() > 0 && !kept && defined_inside(inner, from) && needs_memory(from);
      if ((kept || computed) && freed.insert(from).second) code.push_back({Free{from}});
    }
    for (const Carry& carry : swapped) code.push_back({Swap{carry.inside, carry.next}});
    return code;
  }

  static bool defined_inside(const Block& inner, ArrayId array) {
    for (const Stage& stage : inner.stages) {
      for (const Output& output : stage.outputs) {
        for (ArrayId defined : defined_arrays(output)) {
          if (defined == array) return true;
        }
      }
    }
    return false;
  }

  /// The final state goes to the outputs.
  Code finish(const Stage& stage, const Block& inner) {
    Code code;
    std::set<ArrayId> taken;
    for (std::size_t o = 0; o < stage.outputs.size(); ++o) {
      const Output& output = stage.outputs[o];
      if (!std::get<Seq>(output.combine.front()).last) continue;
      const auto carry = std::find_if(inner.carries.begin(), inner.carries.end(),
                                      [&](const Carry& c) { return c.next == inner.results[o]; });
      ensure(carry != inner.carries.end(), "the final state of a loop is not one of its carried states");
      // The code of a block may be built a second time, for the pass that writes.
      const auto memory = nest_.memory_of.find(output.array);
      const bool took = memory != nest_.memory_of.end() && memory->second == carry->inside;
      const bool has_place = !took && (!needs_memory(output.array) || handed_on_.contains(output.array));
      if (t_.program()[output.array].rank() == 0) {
        append(code, make_room(output.array));
        code.push_back(t_.put(output.array, {}, t_.read(carry->inside)));
      } else if (has_place || is_result(nest_.memory(output.array)) || taken.contains(carry->inside)) {
        append(code, make_room(output.array));
        code.push_back({Copy{output.array, carry->inside}});
      } else {
        taken.insert(carry->inside);
        nest_.memory_of[output.array] = carry->inside;
        taken_over_.insert(output.array);
        carried_.erase(carry->inside);  // the output has it now
      }
    }
    for (const Carry& carry : inner.carries) {
      if (t_.program()[carry.inside].rank() > 0 && !taken.contains(carry.inside))
        code.push_back({Free{carry.inside}});
    }
    return code;
  }

  Nest& nest_;
  Tables t_;
  const Schedule& schedule_;
  std::set<ArrayId> taken_over_;  // arrays that live in memory that an earlier one had
  std::set<ArrayId> standing_;    // arrays whose memory was made outside of the block that computes them
  std::set<ArrayId> handed_on_;   // arrays of a block that are what a choice leaves behind
  std::set<ArrayId> awaited_;     // memory that the blocks of the choices around here make
  std::set<ArrayId> carried_;     // states of loops: they live as long as their loop
};

}  // namespace

}  // namespace twill::nest

namespace twill {

ArrayId nest::Nest::memory(ArrayId array) const {
  for (auto found = memory_of.find(array); found != memory_of.end(); found = memory_of.find(array))
    array = found->second;
  return array;
}

nest::Nest build_nest(const Schedule& schedule) {
  nest::Nest nest;
  nest.program = std::make_shared<Program>(*schedule.program);
  nest.workers = nest.program->add_symbol("workers", Symbol::Origin::Born);
  nest::Builder(nest, schedule).build();
  return nest;
}

}  // namespace twill
