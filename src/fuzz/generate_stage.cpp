// Random stages that are formulas: dimensions, outputs of all kinds, effects.
#include "fuzz/generator.h"

#include <algorithm>

namespace twill {

// ---- dimensions ------------------------------------------------------------------------------------------

Generator::NewDim Generator::rectangular_dim(const std::string& name, const Extent& e, std::int64_t low) {
  const DimId id = program_.add_dim(name);
  const Direction direction = rng_.chance(60) ? Direction::Left : Direction::Right;
  return {{id, name, pool_.integer(low), e.expr, {}, {}}, e, shorter(e, low), true, low, direction};
}

/// A few steps, as an array says that has an element for each value of an index; null if there is none.
Expr Generator::counted_by_data(const VisibleIndex& index) {
  std::vector<ArrayId> arrays;
  for (const ArrayId id : visible_) {
    const std::vector<Extent>& shape = held_.at(id).shape;
    if (shape.size() == 1 && program_[id].type.is_integer() && shape[0].base == index.cap.base &&
        shape[0].mul == index.cap.mul && shape[0].add == index.cap.add)
      arrays.push_back(id);
  }
  if (arrays.empty()) return {};
  const ArrayId id = rng_.pick(arrays);
  const Expr element =
      pool_.cast(Scalar::I64, pool_.read(id, program_[id].type, std::vector<Expr>{pool_.index(index.dim)}));
  return pool_.apply(Prim::Min, {pool_.apply(Prim::Mod, {element, pool_.integer(4)}), index.cap.expr});
}

/// Mostly a range of its own; else one that depends on an index around it, or on data.
Generator::NewDim Generator::new_dim(const std::string& name, const Surroundings& around) {
  if (!around.indices.empty() && rng_.chance(25)) {
    const VisibleIndex& other = rng_.pick(around.indices);
    const Expr i = pool_.index(other.dim);
    for (const ArrayId id : visible_) {
      // The rows of a collection.
      const Held& held = held_.at(id);
      if (!held.rows_of || held.shape[0].base != other.cap.base || held.shape[0].mul != other.cap.mul ||
          held.shape[0].add != other.cap.add + 1 || rng_.chance(30))
        continue;
      const auto offset = [&](Expr at) {
        return pool_.cast(Scalar::I64, pool_.read(id, program_[id].type, {at}));
      };
      const Expr lo = offset(i), hi = offset(pool_.apply(Prim::Add, {i, pool_.integer(1)}));
      return {{program_.add_dim(name), name, lo, hi, {}, {}}, *held.rows_of, {}, false};
    }
    const Expr next = pool_.apply(Prim::Add, {i, pool_.integer(1)});
    const Expr count = rng_.chance(40) ? counted_by_data(other) : Expr{};
    const DimId id = program_.add_dim(name);
    if (count) return {{id, name, pool_.integer(0), count, {}, {}}, other.cap, {}, false};
    switch (rng_.below(3)) {
      case 0: return {{id, name, pool_.integer(0), next, {}, {}}, other.cap, {}, false};
      case 1: return {{id, name, pool_.integer(0), i, {}, {}}, other.cap, {}, false};
      default: return {{id, name, i, other.cap.expr, {}, {}}, other.cap, {}, false};
    }
  }
  return rectangular_dim(name, any_extent(), rng_.chance(12) ? 1 : 0);
}

void Generator::use(const NewDim& dim, Surroundings& around) {
  around.indices.push_back({dim.dim.id, dim.cap});
  bounds_.set(dim.dim.id, 0, 64);
}

std::vector<Generator::NewDim> Generator::new_dims(int count, Surroundings& around) {
  std::vector<NewDim> dims;
  for (int k = 0; k < count; ++k) {
    dims.push_back(new_dim(index_name("i", around), around));
    use(dims.back(), around);
  }
  return dims;
}

// ---- dense outputs ---------------------------------------------------------------------------------------

/// Combines of an output that is neither scattered nor sequential. `complete`: it has to be written
/// completely.
std::vector<Combine> Generator::dense_combines(const std::vector<NewDim>& dims, const Type& type,
                                               bool complete) {
  std::vector<Combine> combines;
  const Operator op = some_operator(type, rng_.chance(85));
  const std::optional<Operator> other = rng_.chance(25) ? any_operator(type, true) : std::nullopt;
  bool scanned = false;
  bool folded = false;
  for (const NewDim& dim : dims) {
    const int kind = complete && !dim.rectangular ? 1 : rng_.weighted({55, 33, 12});
    if (kind == 1) {
      combines.push_back(Fold{op});
      folded = true;
    } else if (kind == 2 && !scanned && !folded) {
      combines.push_back(Scan{rng_.chance(50) || !other ? op : *other, dim.direction});
      scanned = true;
    } else {
      combines.push_back(Cat{});
    }
  }
  // Beside a scan, nothing but folds follows the first fold.
  if (scanned)
    for (auto at = std::ranges::find_if(combines, is<Fold>); at != combines.end(); ++at) *at = Fold{op};
  if (!other) return combines;
  // The inner folds may have an operator of their own if nothing but folds follows the first one.
  const auto first = std::ranges::find_if(combines, is<Fold>);
  if (std::all_of(first, combines.end(), is<Fold>) && combines.end() - first > 1)
    for (auto at = first + 1; at != combines.end(); ++at) *at = Fold{*other};
  return combines;
}

/// A new array that has an element for every index of the dimensions that are not folded.
void Generator::write_everywhere(Output& output, const std::vector<NewDim>& dims, const Type& type) {
  std::vector<std::size_t> written;
  for (std::size_t d = 0; d < dims.size(); ++d)
    if (!is<Fold>(output.combine[d])) written.push_back(d);
  if (rng_.chance(25)) rng_.shuffle(written);
  std::vector<Extent> shape;
  for (const std::size_t d : written) {
    const NewDim& dim = dims[d];
    shape.push_back(dim.extent);
    Expr at = pool_.apply(Prim::Sub, {pool_.index(dim.dim.id), pool_.integer(dim.low)});
    if (dim.low == 0 && rng_.chance(8))
      at = pool_.apply(Prim::Sub, {pool_.apply(Prim::Sub, {dim.extent.expr, pool_.integer(1)}), at});
    output.at.push_back(at);
  }
  output.array = array(array_name("a"), type, std::move(shape));
}

Output Generator::dense_output(const std::vector<NewDim>& dims, const Surroundings& around) {
  const Type type = any_type();
  Output output;
  output.combine = dense_combines(dims, type, true);
  write_everywhere(output, dims, type);
  output.value = value(type, around);
  const bool folds = std::ranges::any_of(output.combine, is<Fold>);
  const bool guardable = folds && std::ranges::all_of(output.combine, [](const Combine& c) {
                           const auto* fold = std::get_if<Fold>(&c);
                           return is<Cat>(c) || (fold && fold->op.identity);
                         });
  if (guardable && rng_.chance(30)) output.guard = condition(around, 5);
  return output;
}

/// Subscripts that are inside of an array, no two points alike; nothing if the dimensions do not fit.
std::optional<std::vector<Expr>> Generator::places_in(ArrayId id, const std::vector<NewDim>& dims,
                                                      const std::vector<Combine>& combines) {
  const std::vector<Extent>& shape = held_.at(id).shape;
  std::vector<Expr> at(shape.size());
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (is<Fold>(combines[d])) continue;
    Surroundings alone;
    alone.indices.push_back({dims[d].dim.id, dims[d].cap});
    bool placed = false;
    for (std::size_t k = 0; k < shape.size() && !placed; ++k) {
      if (at[k]) continue;
      const Expr e = fitting(shape[k], alone);
      if (!e || as<Literal>(e)) continue;
      at[k] = e;
      placed = true;
    }
    if (!placed) return std::nullopt;
  }
  for (std::size_t k = 0; k < shape.size(); ++k) {
    if (!at[k]) at[k] = fitting(shape[k], {});
    if (!at[k]) return std::nullopt;
  }
  return at;
}

/// Perhaps outside: nobody knows before the run.
void Generator::move_by_data(std::vector<Expr>& at) {
  for (const ArrayId array : visible_) {
    const Type type = program_[array].type;
    if (at.empty() || hidden_.contains(array) || !held_.at(array).shape.empty() || !type.is_integer())
      continue;
    const Expr number = pool_.cast(Scalar::I64, pool_.read(array, type, {}));
    Expr& moved = at[static_cast<std::size_t>(rng_.below(static_cast<int>(at.size())))];
    moved = pool_.apply(Prim::Add, {moved, pool_.apply(Prim::Mod, {number, pool_.integer(2)})});
    return;
  }
}

std::optional<Output> Generator::new_version(const std::vector<NewDim>& dims, const Surroundings& around) {
  std::vector<ArrayId> candidates = visible_;
  rng_.shuffle(candidates);
  for (const ArrayId old : candidates) {
    if (hidden_.contains(old)) continue;
    const Type type = program_[old].type;
    Output output;
    output.combine = dense_combines(dims, type, false);
    const auto at = places_in(old, dims, output.combine);
    if (!at) continue;
    output.at = *at;
    if (rng_.chance(20)) move_by_data(output.at);
    output.into = old;
    output.array = array(array_name("v"), type, std::vector(held_.at(old).shape));
    const bool folds = std::ranges::any_of(output.combine, is<Fold>);
    const auto identities = [](const Combine& c) {
      const auto* fold = std::get_if<Fold>(&c);
      return !fold || fold->op.identity;
    };
    const bool nests = std::ranges::any_of(output.combine, [&](const Combine& c) {
      const auto* first = std::get_if<Fold>(&*std::ranges::find_if(output.combine, is<Fold>));
      const auto* fold = std::get_if<Fold>(&c);
      return fold && !(fold->op == first->op);
    });
    const bool scans = std::ranges::any_of(output.combine, is<Scan>);
    output.accumulates = folds && !nests && !scans && rng_.chance(50);
    output.value = value(type, around);
    if (std::ranges::all_of(output.combine, identities) && std::ranges::none_of(output.combine, is<Scan>) &&
        rng_.chance(40))
      output.guard = condition(around, 5);
    return output;
  }
  return std::nullopt;
}

Output Generator::scatter_output(const std::vector<NewDim>& dims, const Surroundings& around) {
  const bool into = rng_.chance(35);
  std::vector<ArrayId> targets;
  for (const ArrayId id : visible_)
    if (program_[id].rank() > 0) targets.push_back(id);
  Output output;
  Type type = any_type();
  std::vector<Extent> shape;
  // Rows that plain subscripts choose, and what is scattered into them.
  std::size_t rows = 0;
  if (into && !targets.empty()) {
    output.into = rng_.pick(targets);
    type = program_[*output.into].type;
    shape = held_.at(*output.into).shape;
  } else {
    while (rows + 1 < dims.size() && dims[rows].rectangular && dims[rows].low == 0 && rng_.chance(40))
      shape.push_back(dims[rows++].extent);
    const int rank = rng_.weighted({0, 75, 25});
    for (int k = 0; k < rank; ++k) shape.push_back(any_extent());
  }
  const std::optional<Operator> op = rng_.chance(70) ? any_operator(type, true) : std::nullopt;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (d < rows)
      output.combine.push_back(Cat{});
    else
      output.combine.push_back(Scatter{op});
  }
  output.accumulates = output.into && op;
  output.array = array(array_name("h"), type, shape);
  Expr guard;
  for (std::size_t k = 0; k < rows; ++k) output.at.push_back(pool_.index(dims[k].dim.id));
  for (std::size_t k = rows; k < shape.size(); ++k) {
    const Extent& e = shape[k];
    Expr at = index_value(around, 5);
    if (e.add > 0 && !e.base && rng_.chance(50)) {
      at = pool_.apply(Prim::Mod, {at, pool_.integer(e.add)});
    } else {
      const Expr inside = pool_.apply(
          Prim::And, {pool_.apply(Prim::Le, {pool_.integer(0), at}), pool_.apply(Prim::Lt, {at, e.expr})});
      guard = guard ? pool_.apply(Prim::And, {guard, inside}) : inside;
    }
    output.at.push_back(at);
  }
  output.value = value(type, around);
  output.guard = guard;
  return output;
}

// ---- collections -----------------------------------------------------------------------------------------

std::optional<Output> Generator::append_output(const std::vector<NewDim>& dims, const Surroundings& around) {
  if (dims.empty()) return std::nullopt;
  // Rows are counted in a size, which must not be negative.
  std::size_t rows = 0;
  while (rows + 1 < dims.size() && dims[rows].rectangular && dims[rows].extent.add >= 0 &&
         (!dims[rows].extent.base || !reads_data(dims[rows].extent.base)))
    ++rows;
  rows = rows == 0 || rng_.chance(40)
             ? 0
             : static_cast<std::size_t>(rng_.between(1, static_cast<std::int64_t>(rows)));
  const Type type = any_type();
  Output output;
  const std::string name = array_name("c");
  output.array = born(name, type, name + "_len");
  Expr count = pool_.integer(1);
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (d < rows) {
      output.combine.push_back(Cat{});
      count = pool_.apply(Prim::Mul, {count, dims[d].extent.expr});
    } else {
      output.combine.push_back(Append{});
    }
  }
  if (rows > 0) {
    Extent length = rows == 1 ? extent(dims[0].extent.base, dims[0].extent.mul, dims[0].extent.add + 1)
                              : extent(count, 1, 1);
    output.offsets = array(name + "_offsets", Scalar::I64, {length});
    if (rows == 1) held_[*output.offsets].rows_of = held_.at(output.array).shape[0];
  }
  output.value = value(type, around);
  if (rng_.chance(70)) output.guard = condition(around, 6);
  return output;
}

Output Generator::group_output(const std::vector<NewDim>& dims, const Surroundings& around) {
  const Type type = any_type();
  const Type key = key_type();
  const std::optional<Operator> op = rng_.chance(50) ? any_operator(type, rng_.chance(80)) : std::nullopt;
  Output output;
  const std::string name = array_name("g");
  for (std::size_t d = 0; d < dims.size(); ++d) output.combine.push_back(Group{op});
  if (op) {
    output.keys = born(name + "_keys", key, name + "_len");
    output.array = array(name, type, held_.at(*output.keys).shape);
  } else {
    output.array = born(name, type, name + "_total");
    output.keys = born(name + "_keys", key, name + "_len");
    const Extent buckets = held_.at(*output.keys).shape[0];
    output.offsets = array(name + "_offsets", Scalar::I64, {extent(buckets.base, 1, 1)});
    held_[*output.offsets].rows_of = held_.at(output.array).shape[0];
    if (rng_.chance(60)) hidden_.insert({output.array, *output.offsets});
  }
  const auto part = [&](const Type& t) {
    const Expr e = expr(t, around, 4);
    return t.is_integer() && rng_.chance(70) ? apply(Prim::Mod, {e, pool_.literal(Number::of(t.scalar(), 3))})
                                             : e;
  };
  if (key.is_record()) {
    std::vector<Expr> parts;
    for (const Field& field : key.record().fields) parts.push_back(part(field.type));
    output.key = pool_.make(key, std::move(parts));
  } else {
    output.key = part(key);
  }
  output.value = value(type, around);
  if (rng_.chance(40)) output.guard = condition(around, 5);
  return output;
}

/// What the outputs after it may read; all scans of the stage run from the left then.
Output Generator::running_output(std::vector<NewDim>& dims, const Surroundings& around) {
  for (NewDim& dim : dims) dim.direction = Direction::Left;
  const std::optional<Operator> some = any_operator(rng_.chance(60) ? integer_type() : any_type(), true);
  const Operator op = some ? *some : *any_operator(Scalar::I64, true);
  Output output;
  output.combine.assign(dims.size(), Scan{op, Direction::Left});
  output.value = value(op.type, around);
  if (rng_.chance(60)) output.guard = condition(around, 5);
  output.array = array(array_name("r"), op.type, {});
  return output;
}

Output Generator::any_output(const std::vector<NewDim>& dims, const Surroundings& around) {
  switch (rng_.weighted({60, 12, 8, 10, 10})) {
    case 1:
      if (auto output = new_version(dims, around)) return *output;
      break;
    case 2:
      if (!dims.empty()) return scatter_output(dims, around);
      break;
    case 3:
      if (auto output = append_output(dims, around)) return *output;
      break;
    case 4:
      if (!dims.empty()) return group_output(dims, around);
      break;
    default: break;
  }
  return dense_output(dims, around);
}

// ---- stages ----------------------------------------------------------------------------------------------

Effect Generator::effect(const Surroundings& around) {
  Effect effect;
  effect.kind = rng_.chance(60) ? "print" : rng_.chance(50) ? "note" : "warn";
  effect.arguments.emplace_back(
      rng_.pick({std::string("at"), std::string("value of"), std::string("\"quoted\"")}));
  const int count = rng_.below(3);
  for (int k = 0; k < count; ++k)
    effect.arguments.emplace_back(rng_.chance(20) ? bool_expr(around, 3)
                                                  : integer_expr(integer_type(), around, 4));
  if (rng_.chance(60)) effect.guard = condition(around, 4);
  return effect;
}

Stage Generator::plain_stage(Surroundings around) {
  Stage stage;
  std::vector<NewDim> dims = new_dims(rng_.weighted({10, 35, 40, 15}), around);
  for (const NewDim& dim : dims) stage.dims.push_back(dim.dim);
  const std::size_t seen = visible_.size();
  while (!dims.empty() && rng_.chance(10)) {
    stage.outputs.push_back(running_output(dims, around));
    bounds_.stage(stage);
    visible_.push_back(stage.outputs.back().array);
    hidden_.insert(stage.outputs.back().array);
  }
  const int outputs = 1 + rng_.weighted({70, 22, 8});
  for (int k = 0; k < outputs; ++k) stage.outputs.push_back(any_output(dims, around));
  if (rng_.chance(20)) {
    if (auto beside = group_beside(stage.outputs, around)) stage.outputs.push_back(std::move(*beside));
  }
  if (rng_.chance(6)) stage.effects.push_back(effect(around));
  visible_.resize(seen);
  return stage;
}

/// A stage that reads what the last one computed: with the same outermost index, so that the two may share
/// their outer loop, or element by element, if that was a block. Nothing if the last one is not of the kind.
std::optional<Stage> Generator::companion(const std::vector<Stage>& stages, const Surroundings& outside) {
  if (stages.empty()) return std::nullopt;
  const Stage& last = stages.back();
  for (const Output& output : last.outputs) {
    const Held held = held_.at(output.array);
    if (held.shape.empty() || !program_[output.array].type.is_integer()) continue;
    Surroundings around = outside;
    std::vector<NewDim> dims;
    std::vector<Expr> subscripts;
    if (last.dims.empty()) {
      for (const Extent& extent : held.shape) {
        dims.push_back(rectangular_dim(index_name("i", around), extent, 0));
        use(dims.back(), around);
        subscripts.push_back(pool_.index(dims.back().dim.id));
      }
    } else {
      const Dim& outer = last.dims.front();
      const auto at = std::ranges::find_if(output.at, [&](Expr e) {
        const auto* index = as<IndexRef>(e);
        return index && index->dim == outer.id;
      });
      const auto place = static_cast<std::size_t>(at - output.at.begin());
      if (at == output.at.end() || outer.hi != held.shape[place].expr) continue;
      const int inner = rng_.weighted({25, 50, 25});
      dims.push_back(rectangular_dim(index_name("i", around), held.shape[place], 0));
      use(dims.back(), around);
      for (NewDim& dim : new_dims(inner, around)) dims.push_back(std::move(dim));
      for (std::size_t s = 0; s < held.shape.size(); ++s)
        subscripts.push_back(s == place ? pool_.index(dims.front().dim.id) : fitting(held.shape[s], around));
      if (std::ranges::any_of(subscripts, [](Expr e) { return !e; })) continue;
    }
    const Expr element =
        pool_.cast(Scalar::I64, pool_.read(output.array, program_[output.array].type, subscripts));
    Stage stage;
    for (const NewDim& dim : dims) stage.dims.push_back(dim.dim);
    const int outputs = 1 + rng_.weighted({70, 30});
    for (int k = 0; k < outputs; ++k) {
      Output next = any_output(dims, around);
      const Expr small = pool_.apply(Prim::Lt, {element, pool_.integer(rng_.between(-3, 3))});
      if (next.value) next.value = pool_.select(small, next.value, literal(next.value->type));
      if (next.guard && rng_.chance(50)) next.guard = pool_.apply(Prim::And, {small, next.guard});
      stage.outputs.push_back(std::move(next));
    }
    return stage;
  }
  return std::nullopt;
}

/// Floats that go round a loop are kept within bounds.
Expr Generator::bounded(Expr value) {
  if (budget_.strict || !value->type.is_float()) return value;
  const Scalar type = value->type.scalar();
  const Scalar wide = is_storage_only(type) ? Scalar::F32 : type;
  const auto number = [&](double x) { return pool_.literal(Number::of_double(wide, x)); };
  const Expr least = pool_.apply(Prim::Min, {pool_.cast(wide, value), number(64)});
  return pool_.cast(type, pool_.apply(Prim::Max, {least, number(-64)}));
}

bool Generator::may_carry(const Type& type) const {
  if (budget_.strict || type.is_scalar()) return true;
  return std::ranges::all_of(type.record().fields, [&](const Field& field) {
    return !field.type.is_float() && may_carry(field.type);
  });
}

/// Before the facts about an array that depends on itself are known: it starts with these.
void Generator::expect(ArrayId array, const Facts& start) {
  Facts facts = ErrorBounds::anything(program_[array].type);
  for (std::size_t k = 0; k < facts.size(); ++k)
    if (!facts[k].integral)
      facts[k] = Fact::up_to(std::max(64.0, k < start.size() ? start[k].magnitude() : 0.0), 1e-5, false);
  bounds_.set(array, std::move(facts));
}

void Generator::finish(Stage stage, std::vector<Stage>& into) {
  stage.name =
      stage.outputs.empty() || rng_.chance(20) ? fresh("stage") : program_[stage.outputs[0].array].name;
  if (rng_.chance(8))
    stage.hints.push_back(rng_.pick({Hint::Never, Hint::Always, Hint::Recompute, Hint::Remember}));
  for (Output& output : stage.outputs) output.force = !is_running(output) && rng_.chance(5);
  bounds_.stage(stage);
  if (!budget_.strict) {
    for (Output& output : stage.outputs) {
      if (!output.value || acceptable(bounds_[output.array])) continue;
      output.value = literal(program_[output.array].type);
    }
    bounds_.stage(stage);
  }
  for (const Output& output : stage.outputs) {
    for (const ArrayId id : defined_arrays(output)) {
      if (hidden_.contains(id)) continue;
      visible_.push_back(id);
      const Extent* length = held_.at(id).shape.size() == 1 ? &held_.at(id).shape[0] : nullptr;
      const auto* size = length ? as<SizeRef>(length->expr) : nullptr;
      if (size && program_[size->symbol].origin == Symbol::Origin::Born) extents_.push_back(*length);
    }
  }
  into.push_back(std::move(stage));
}

void Generator::stages(int count, Surroundings around, int depth, std::vector<Stage>& into) {
  for (int k = 0; k < count; ++k) {
    if (rng_.chance(6)) {
      if (auto again = twin(into)) finish(std::move(*again), into);
    }
    if (rng_.chance(50)) {
      if (auto folds = bucket_stage(into, around)) finish(std::move(*folds), into);
    }
    if (rng_.chance(8)) pipeline(around, into);
    if (rng_.chance(4)) histograms(around, into);
    if (rng_.chance(5)) concats(around, into);
    if (rng_.chance(8)) collections(around, into);
    if (rng_.chance(6)) gathers(around, into);
    if (rng_.chance(12)) stencils(around, into);
    if (rng_.chance(4)) choices(around, into);
    if (rng_.chance(3)) flat_rows(around, into);
    const int kind = rng_.weighted({65, 15, depth > 0 ? 10 : 0, depth > 0 ? 10 : 0});
    Stage stage = kind == 0   ? plain_stage(around)
                  : kind == 1 ? sequential_stage(around, depth)
                  : kind == 2 ? block_stage(around, depth - 1)
                              : loop_stage(around, depth - 1, into);
    const auto* choice = stage.dims.empty() ? std::get_if<Branch>(&stage.body) : nullptr;
    const Expr condition = choice ? choice->condition : Expr{};
    finish(std::move(stage), into);
    if ((kind == 0 || choice) && rng_.chance(35)) {
      if (auto beside = companion(into, around)) finish(std::move(*beside), into);
    }
    // Another choice for the same reason.
    if (condition && rng_.chance(50)) finish(block_stage(around, depth - 1, condition), into);
  }
}

}  // namespace twill
