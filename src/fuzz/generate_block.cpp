// Random stages with nested blocks: collections of arrays, branches, loops that carry states.
#include "fuzz/generator.h"
#include "program/typing.h"

#include <algorithm>

namespace twill {

std::vector<ArrayId> Generator::defined_in(const std::vector<Stage>& stages) const {
  std::vector<ArrayId> arrays;
  for (const Stage& stage : stages)
    for (const Output& output : stage.outputs)
      for (const ArrayId id : defined_arrays(output))
        if (!hidden_.contains(id)) arrays.push_back(id);
  return arrays;
}

/// Is the shape of an array known outside of the block that begins with this symbol?
bool Generator::is_fixed(ArrayId id, int first_inner_symbol) const {
  bool fixed = true;
  for (const Expr e : program_[id].shape)
    visit(e, [&](Expr node) {
      const auto* size = as<SizeRef>(node);
      fixed = fixed && !(size && size->symbol.value >= first_inner_symbol);
    });
  return fixed;
}

ArrayId Generator::computed(Type type, const std::vector<Extent>& shape, const Surroundings& around,
                            std::vector<Stage>& into, bool is_state) {
  Surroundings inside = around;
  Stage stage;
  Output output;
  for (const Extent& e : shape) {
    const NewDim dim = rectangular_dim(index_name("i", around), e, 0);
    use(dim, inside);
    stage.dims.push_back(dim.dim);
    output.combine.push_back(Cat{});
    output.at.push_back(pool_.index(dim.dim.id));
  }
  output.array = array(array_name("a"), type, shape);
  output.value = value(type, inside);
  if (is_state) output.value = bounded(output.value);
  const ArrayId id = output.array;
  stage.outputs.push_back(std::move(output));
  finish(std::move(stage), into);
  return id;
}

ArrayId Generator::collected(const Type& type, const Surroundings& around, std::vector<Stage>& into) {
  Surroundings inside = around;
  Stage stage;
  for (const NewDim& dim : new_dims(1 + rng_.weighted({75, 25}), inside)) stage.dims.push_back(dim.dim);
  Output output;
  const std::string name = array_name("c");
  output.array = born(name, type, name + "_len");
  output.combine.assign(stage.dims.size(), Append{});
  output.value = value(type, inside);
  if (rng_.chance(70)) output.guard = condition(inside, 6);
  const ArrayId id = output.array;
  stage.outputs.push_back(std::move(output));
  finish(std::move(stage), into);
  return id;
}

/// A truth about all elements of something.
ArrayId Generator::folded_truth(const Surroundings& around, std::vector<Stage>& into) {
  Surroundings inside = around;
  const NewDim dim = rectangular_dim(index_name("i", around), any_extent(), 0);
  use(dim, inside);
  Stage stage;
  stage.dims.push_back(dim.dim);
  Output output;
  output.array = array(array_name("a"), Scalar::Bool, {});
  output.combine.push_back(Fold{builtin_operator(pool_, rng_.pick({Prim::And, Prim::Or}), Scalar::Bool)});
  output.value = bool_expr(inside, 4);
  const ArrayId id = output.array;
  stage.outputs.push_back(std::move(output));
  finish(std::move(stage), into);
  return id;
}

Block Generator::block(const Surroundings& around, int depth, int count) {
  Block block;
  // Something that is the same at every point.
  if (rng_.chance(25)) stages(1, {}, 0, block.stages);
  stages(count, around, depth, block.stages);
  return block;
}

void Generator::choose_lengths(Stage& stage, Branch& branch, const Surroundings& around, int depth) {
  const std::size_t visible = visible_.size(), extents = extents_.size();
  const Type type = any_type(), other = any_type();
  // Another output with as many elements, or one more.
  const bool another = rng_.chance(40);
  const int more = rng_.below(2);
  for (const bool truth : {true, false}) {
    Block block = this->block(around, depth, rng_.below(2));
    const ArrayId first = rng_.chance(60) ? collected(type, around, block.stages)
                                          : computed(type, {any_extent()}, around, block.stages);
    block.results = {first};
    if (another) {
      const Extent length = held_.at(first).shape[0];
      block.results.push_back(
          computed(other, {extent(length.base, length.mul, length.add + more)}, around, block.stages));
    }
    (truth ? branch.then : branch.otherwise) = std::make_shared<const Block>(std::move(block));
    visible_.resize(visible);
    extents_.resize(extents);
  }
  const std::string name = array_name("b");
  Output output;
  output.array = born(name, type, name + "_len");
  const Extent length = held_.at(output.array).shape[0];
  stage.outputs.push_back(output);
  if (!another) return;
  output.array = array(array_name("b"), other, {extent(length.base, 1, more)});
  stage.outputs.push_back(output);
}

/// A nested program or a choice between two, at every point of a few dimensions; with a condition, a choice
/// that is made once.
Stage Generator::block_stage(Surroundings around, int depth, Expr condition) {
  Stage stage;
  std::vector<NewDim> dims;
  const int count = condition ? 0 : rng_.weighted({30, 52, 18});
  for (int k = 0; k < count; ++k) {
    dims.push_back(rectangular_dim(index_name("i", around), any_extent(), 0));
    use(dims.back(), around);
    stage.dims.push_back(dims.back().dim);
  }
  const std::size_t visible = visible_.size();
  const std::size_t extents = extents_.size();
  const int symbols = static_cast<int>(program_.symbols.size());
  const auto leave = [&] {
    visible_.resize(visible);
    extents_.resize(extents);
  };
  const auto output_for = [&](const Type& type, const std::vector<Extent>& inner) {
    Output output;
    for (std::size_t d = 0; d < dims.size(); ++d) output.combine.push_back(Cat{});
    if (inner.empty() && !dims.empty() && rng_.chance(35)) {
      // A fold over the points: of scalars, in the last dimension or in all.
      const Operator op = some_operator(type, rng_.chance(85));
      const std::size_t first = rng_.chance(50) ? 0 : dims.size() - 1;
      for (std::size_t d = first; d < dims.size(); ++d) output.combine[d] = Fold{op};
    }
    std::vector<Extent> shape;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      if (!is<Cat>(output.combine[d])) continue;
      shape.push_back(dims[d].extent);
      output.at.push_back(pool_.index(dims[d].dim.id));
    }
    shape.insert(shape.end(), inner.begin(), inner.end());
    output.array = array(array_name("b"), type, std::move(shape));
    return output;
  };
  if (condition || rng_.chance(35)) {
    Branch branch;
    branch.condition = condition ? condition : this->condition(around, 5);
    if (dims.empty() && rng_.chance(50)) {
      choose_lengths(stage, branch, around, depth);
      stage.body = std::move(branch);
      return stage;
    }
    const Type type = any_type();
    std::vector<Extent> shape;
    const int rank = rng_.weighted({50, 40, 10});
    for (int d = 0; d < rank; ++d) shape.push_back(any_extent());
    for (const bool truth : {true, false}) {
      Block block = this->block(around, depth, rng_.below(2));
      block.results = {computed(type, shape, around, block.stages)};
      (truth ? branch.then : branch.otherwise) = std::make_shared<const Block>(std::move(block));
      leave();
    }
    stage.outputs.push_back(output_for(type, shape));
    stage.body = std::move(branch);
    return stage;
  }
  Block block = this->block(around, depth, 1 + rng_.below(2));
  std::vector<ArrayId> candidates;
  for (const ArrayId id : defined_in(block.stages))
    if (is_fixed(id, symbols) && program_[id].rank() <= 2) candidates.push_back(id);
  if (candidates.empty()) candidates.push_back(computed(any_type(), {}, around, block.stages));
  if (rng_.chance(10)) stage.effects.push_back(effect(around));
  const int outputs = stage.effects.empty() || rng_.chance(50) ? 1 + rng_.below(2) : 0;
  for (int k = 0; k < outputs; ++k) {
    if (rng_.chance(25)) {
      // A value of its own, from what the block computed.
      const int kind = rng_.below(3);
      std::optional<Output> output = kind == 0 ? append_output(dims, around) : std::nullopt;
      if (kind == 1 && !dims.empty()) output = group_output(dims, around);
      block.results.push_back(ArrayId{});
      stage.outputs.push_back(output ? std::move(*output) : dense_output(dims, around));
      continue;
    }
    const ArrayId result = rng_.pick(candidates);
    block.results.push_back(result);
    stage.outputs.push_back(output_for(program_[result].type, held_.at(result).shape));
  }
  stage.body = Nested{std::make_shared<const Block>(std::move(block))};
  leave();
  return stage;
}

/// A loop that hands states from step to step. What it starts from is computed before it.
Stage Generator::loop_stage(const Surroundings& outer, int depth, std::vector<Stage>& before) {
  Stage stage;
  Surroundings around = outer;
  const bool while_loop = rng_.chance(35);
  NewDim step = rectangular_dim(index_name("t", around),
                                rng_.chance(60) ? extent({}, 0, rng_.between(0, 4)) : any_extent(), 0);
  std::vector<ArrayId> starts;
  for (const ArrayId id : visible_)
    if (may_carry(program_[id].type) && acceptable(bounds_[id])) starts.push_back(id);
  struct State {
    Carry carry;
    std::vector<Extent> shape;
  };
  std::vector<State> states;
  const int count = 1 + rng_.weighted({50, 40, 10});
  for (int k = 0; k < count; ++k) {
    ArrayId start =
        starts.empty() || rng_.chance(30) ? computed(number_type(), {}, outer, before) : rng_.pick(starts);
    if (k > 0 && rng_.chance(40)) start = states.back().carry.init;
    const std::vector<Extent> shape = held_.at(start).shape;
    const ArrayId inside = array(array_name("u"), program_[start].type, shape);
    expect(inside, bounds_[start]);
    states.push_back({{inside, start, {}}, shape});
  }
  const std::size_t extents = extents_.size();
  const int symbols = static_cast<int>(program_.symbols.size());
  std::optional<State> counter, truth;
  if (while_loop) {
    // A counter makes sure that it ends.
    Stage zero;
    Output output;
    output.array = array(array_name("a"), Scalar::I64, {});
    output.value = pool_.integer(0);
    const ArrayId start = output.array;
    zero.outputs.push_back(std::move(output));
    finish(std::move(zero), before);
    const ArrayId inside = array(array_name("u"), Scalar::I64, {});
    expect(inside, {});
    counter = State{{inside, start, {}}, {}};
    const Expr now = pool_.read(inside, Scalar::I64, {});
    step.dim.condition = pool_.apply(Prim::Lt, {now, pool_.integer(rng_.between(0, 4))});
    if (rng_.chance(50)) step.dim.hi = {};
    if (rng_.chance(40)) {
      const ArrayId first = folded_truth(outer, before);
      const ArrayId goes_on = array(array_name("u"), Scalar::Bool, {});
      expect(goes_on, {});
      truth = State{{goes_on, first, {}}, {}};
      step.dim.condition =
          pool_.apply(Prim::And, {step.dim.condition, pool_.read(goes_on, Scalar::Bool, {})});
    }
  } else {
    use(step, around);
  }
  const std::size_t outside = visible_.size();
  for (const State& state : states) visible_.push_back(state.carry.inside);
  if (while_loop && rng_.chance(40))
    step.dim.condition = pool_.apply(Prim::And, {step.dim.condition, condition(outer, 4)});
  stage.dims.push_back(step.dim);

  Block block = this->block(around, depth, rng_.below(2));
  for (std::size_t k = 0; k < states.size(); ++k) {
    State& state = states[k];
    const State& other = states[(k + 1) % states.size()];
    const bool swaps = states.size() > 1 && other.carry.init == state.carry.init && rng_.chance(50);
    state.carry.next =
        swaps ? other.carry.inside
              : computed(program_[state.carry.inside].type, state.shape, around, block.stages, true);
  }
  if (counter) {
    Stage next;
    Output output;
    output.array = array(array_name("a"), Scalar::I64, {});
    output.value =
        pool_.apply(Prim::Add, {pool_.read(counter->carry.inside, Scalar::I64, {}), pool_.integer(1)});
    counter->carry.next = output.array;
    next.outputs.push_back(std::move(output));
    finish(std::move(next), block.stages);
    states.push_back(*counter);
  }
  if (truth) {
    truth->carry.next = folded_truth(around, block.stages);
    states.push_back(*truth);
  }
  for (const State& state : states) block.carries.push_back(state.carry);
  const auto add_output = [&](ArrayId result, bool last) {
    Output output;
    output.combine.push_back(Seq{last});
    std::vector<Extent> shape = held_.at(result).shape;
    if (!last) {
      output.at.push_back(pool_.index(step.dim.id));
      shape.insert(shape.begin(), step.extent);
    }
    output.array = array(array_name("u"), program_[result].type, std::move(shape));
    block.results.push_back(result);
    stage.outputs.push_back(std::move(output));
  };
  for (const State& state : states)
    if (stage.outputs.empty() || rng_.chance(60)) add_output(state.carry.next, true);
  if (!while_loop && rng_.chance(30)) {
    std::vector<ArrayId> kept;
    for (const ArrayId id : defined_in(block.stages))
      if (is_fixed(id, symbols) && program_[id].rank() <= 1) kept.push_back(id);
    if (!kept.empty()) add_output(rng_.pick(kept), false);
  }
  if (!while_loop && rng_.chance(20)) {
    // A value of every step, from what the block computed.
    Output output;
    const Type type = any_type();
    output.combine.push_back(Seq{});
    output.at.push_back(pool_.index(step.dim.id));
    output.array = array(array_name("u"), type, {step.extent});
    output.value = value(type, around);
    block.results.push_back(ArrayId{});
    stage.outputs.push_back(std::move(output));
  }
  if (!while_loop && rng_.chance(8)) stage.effects.push_back(effect(around));
  stage.body = Nested{std::make_shared<const Block>(std::move(block))};
  visible_.resize(outside);
  extents_.resize(extents);
  return stage;
}

}  // namespace twill
