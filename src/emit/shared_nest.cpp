#include "emit/shared_nest.h"

#include "fuse/share.h"
#include "plan/rooms.h"
#include "program/affine_of.h"
#include "program/edit.h"

#include <algorithm>
#include <bit>
#include <set>

namespace twill::nest {

namespace {

/// Local arrays up to this size need no memory from the host.
constexpr std::int64_t stack_bytes = 4096;

/// The list without the elements at some positions.
template <class T>
std::vector<T> without(const std::vector<T>& list, const std::vector<int>& positions) {
  std::vector<T> rest;
  for (std::size_t i = 0; i < list.size(); ++i)
    if (std::find(positions.begin(), positions.end(), static_cast<int>(i)) == positions.end())
      rest.push_back(list[i]);
  return rest;
}

}  // namespace

SharedNest::SharedNest(Tables& tables, const Pass& pass, Surroundings surroundings)
    : t_(tables),
      grain_(pass.grain),
      loops_(pass.loops),
      shared_(loops_.shared_levels().begin(), loops_.shared_levels().end()),
      depth_(static_cast<int>(shared_dims(loops_).size())),
      leader_(loops_.leader()),
      schedules_(pass.stages) {
  use_one_index(pass);
  if (loops_.tiles())
    keep_slices(pass);
  else
    keep_local(pass);
  for (std::size_t l = 0; l < shared_.size(); ++l)
    if (shared_[l].by == By::Core) memory_level_ = l + 1;
  const std::set<ArrayId> local(locals_.begin(), locals_.end());
  const auto needs_memory = surroundings.needs_memory;
  surroundings.needs_memory = [local, needs_memory](ArrayId array) {
    return !local.contains(array) && needs_memory(array);
  };
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    schedules_[i].stage = &stages_[i];
    members_.emplace_back(t_, schedules_[i], pass.loops.chains[i], pass.grain, surroundings);
  }
  find_early();
  share_rooms();
}

const Dim& SharedNest::dim_of(const ChainLevel& level) const {
  return stages_[leader_].dims[static_cast<std::size_t>(level.dim)];
}

/// Shared dimensions have the index that the leader gives them.
void SharedNest::use_one_index(const Pass& pass) {
  for (const StageSchedule& schedule : pass.stages) {
    Stage stage = *schedule.stage;
    std::map<DimId, DimId> names;
    for (std::size_t d = 0; d < static_cast<std::size_t>(depth_) && stages_.size() > leader_; ++d) {
      names[stage.dims[d].id] = stages_[leader_].dims[d].id;
      stage.dims[d].id = stages_[leader_].dims[d].id;
    }
    for_each_slot(stage, [&](Expr& slot) {
      if (!slot) return;
      slot = rewrite(t_.pool(), slot, [&](Expr node) -> Expr {
        const IndexRef* index = as<IndexRef>(node);
        const auto found = index ? names.find(index->dim) : names.end();
        return found == names.end() ? Expr{} : t_.index(found->second);
      });
    });
    stages_.push_back(std::move(stage));
  }
}

/// The part of an array that an iteration computes has the dimensions that the shared loops do not run over.
void SharedNest::keep_local(const Pass& pass) {
  struct Dropped {
    ArrayId array;
    std::vector<int> dropped;
  };
  std::map<ArrayId, Dropped> parts;
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    for (std::size_t o = 0; o < stages_[i].outputs.size(); ++o) {
      if (pass.stages[i].outputs[o].keep != Keep::Local) continue;
      Output& output = stages_[i].outputs[o];
      const std::vector<int> dropped = *places_of_shared(stages_[i], output, depth_);
      const Array whole = t_.program()[output.array];
      const ArrayId part = t_.new_array(whole.name, whole.type, without(whole.shape, dropped));
      parts[output.array] = {part, dropped};
      output.at = without(output.at, dropped);
      output.array = part;
      locals_.push_back(part);
    }
  }
  const std::function<Expr(Expr)> local = [&](Expr root) {
    return rewrite(t_.pool(), root, [&](Expr node) -> Expr {
      const Read* read = as<Read>(node);
      const auto found = read ? parts.find(read->array) : parts.end();
      if (found == parts.end()) return {};
      const auto& [part, dropped] = found->second;
      const auto rank = static_cast<std::ptrdiff_t>(read->rules.size());
      std::vector<Expr> subscripts;
      for (Expr e : without(std::vector<Expr>(node->args.begin(), node->args.begin() + rank), dropped))
        subscripts.push_back(local(e));
      const bool falls_back = static_cast<std::ptrdiff_t>(node->args.size()) > rank;
      return t_.pool().read(part, node->type, std::move(subscripts), without(read->rules, dropped),
                            falls_back ? local(node->args.back()) : Expr{});
    });
  };
  for (Stage& stage : stages_)
    for_each_slot(stage, [&](Expr& slot) {
      if (slot) slot = local(slot);
    });
}

/// Of a sliced stage, memory holds what an iteration needs.
void SharedNest::keep_slices(const Pass& pass) {
  for (const ChainLevel& level : shared_) {
    const bool points = level.cut == Cut{};
    origins_.push_back(points ? dim_of(level).id : t_.new_index(dim_of(level).name + "_tile"));
  }
  std::vector<const Stage*> stages;
  for (const Stage& stage : stages_) stages.push_back(&stage);
  std::vector<Slice> slices =
      slices_of(stages, loops_, [&](std::size_t level) { return var_of(origins_[level]); });
  std::map<ArrayId, ArrayId> boxed;
  for (std::size_t i = 0; i < leader_; ++i) {
    const Stage& stage = stages_[i];
    Part& part = parts_of_[i];
    part.slice = std::move(slices[i]);
    if (pass.stages[i].outputs.front().keep == Keep::Ring) {
      part.slides = ring_dim(stage, part.slice, var_of(origins_.back()));
      part.done = t_.new_variable(stage.name + "_done", Scalar::I64);
    }
    for (const Dim& dim : stage.dims) part.origin.push_back(t_.new_index(stage.name + "_" + dim.name));
    for (const Output& output : stage.outputs) {
      Box box;
      for (std::size_t s = 0; s < output.at.size(); ++s) {
        std::size_t d = 0;
        while (stage.dims[d].id != as<IndexRef>(output.at[s])->dim) ++d;
        const auto width = part.slice[d] ? width_of(*part.slice[d]) : std::nullopt;
        const bool slides = part.slides == static_cast<int>(d);
        if (slides) box.ring = static_cast<int>(s);
        box.origin.push_back(width && !slides ? t_.index(part.origin[d]) : Expr{});
        box.extents.push_back(!width   ? t_.program()[output.array].shape[s]
                              : slides ? t_.number(static_cast<std::int64_t>(std::bit_ceil(
                                             static_cast<std::uint64_t>(std::max<std::int64_t>(*width, 1)))))
                                       : t_.number(std::max<std::int64_t>(*width, 1)));
      }
      boxed[output.array] = in_box(output.array, std::move(box));
    }
  }
  // What the shared loops run over has one tile in memory, of what nobody else reads.
  for (std::size_t i = leader_; i < stages_.size(); ++i)
    for (std::size_t o = 0; o < stages_[i].outputs.size(); ++o) {
      if (pass.stages[i].outputs[o].keep != Keep::Local) continue;
      const Output& output = stages_[i].outputs[o];
      Box box{.origin = std::vector<Expr>(output.at.size()), .extents = t_.program()[output.array].shape};
      const std::vector<int> places = *places_of_shared(stages_[i], output, depth_);
      for (int d = 0; d < depth_; ++d) {
        const Span& tile = *slices[i][static_cast<std::size_t>(d)];
        const auto s = static_cast<std::size_t>(places[static_cast<std::size_t>(d)]);
        box.origin[s] = expr_of(t_.pool(), tile.lo);
        box.extents[s] = t_.number(*width_of(tile));
      }
      boxed[output.array] = in_box(output.array, std::move(box));
    }
  for (Stage& stage : stages_) {
    for (Output& output : stage.outputs)
      if (const auto found = boxed.find(output.array); found != boxed.end()) output.array = found->second;
    for_each_slot(stage, [&](Expr& slot) {
      if (slot) slot = read_instead(slot, boxed);
    });
  }
}

/// An array of which only a box has memory. The code may be built again, with other origins: the box has an
/// array of its own.
ArrayId SharedNest::in_box(ArrayId array, Box box) {
  const Array whole = t_.program()[array];
  const ArrayId own = t_.new_array(whole.name, whole.type, whole.shape);
  t_.nest().boxes[own] = std::move(box);
  locals_.push_back(own);
  return own;
}

/// The expression with other arrays read in the same way.
Expr SharedNest::read_instead(Expr root, const std::map<ArrayId, ArrayId>& arrays) {
  return rewrite(t_.pool(), root, [&](Expr node) -> Expr {
    const Read* read = as<Read>(node);
    const auto found = read ? arrays.find(read->array) : arrays.end();
    if (found == arrays.end()) return {};
    std::vector<Expr> subscripts;
    for (std::size_t s = 0; s < read->rules.size(); ++s)
      subscripts.push_back(read_instead(node->args[s], arrays));
    const bool falls_back = node->args.size() > read->rules.size();
    return t_.pool().read(found->second, node->type, std::move(subscripts), read->rules,
                          falls_back ? read_instead(node->args.back(), arrays) : Expr{});
  });
}

/// Members that run through their points twice need what they read of the others each time.
void SharedNest::find_early() {
  std::vector<const Stage*> stages;
  for (const Stage& stage : stages_) stages.push_back(&stage);
  early_ = needed_in_first_pass(
      stages, [&](std::size_t i, std::size_t output) { return members_[i].in_first_pass(output); });
  for (StageNest& member : members_) member.need_early(early_);
}

/// What lives as long as an iteration, and is read for the last time before something else is computed, lends
/// its memory to that.
void SharedNest::share_rooms() {
  if (!early_.empty()) return;  // the first pass has memory for other arrays than the second one
  std::vector<ArrayId> arrays;
  std::vector<Life> lives;
  for (std::size_t i = 0; i < stages_.size(); ++i)
    for (const Output& output : stages_[i].outputs) {
      const auto box = t_.nest().boxes.find(output.array);
      const bool in_ring = box != t_.nest().boxes.end() && box->second.ring >= 0;
      const Array& array = t_.program()[output.array];
      if (std::ranges::find(locals_, output.array) == locals_.end() || in_ring || !array.type.is_scalar() ||
          is_on_stack(output.array))
        continue;
      Life life{i, i};
      for (std::size_t k = i + 1; k < stages_.size(); ++k)
        if (reads(stages_[k], output.array)) life.last = k;
      arrays.push_back(output.array);
      lives.push_back(life);
    }
  const std::vector<std::size_t> rooms = rooms_of(lives, [&](std::size_t one, std::size_t other) {
    return t_.program()[arrays[one]].type == t_.program()[arrays[other]].type &&
           has_room(arrays[other], arrays[one]);
  });
  for (std::size_t a = 0; a < arrays.size(); ++a)
    if (rooms[a] != a) t_.nest().memory_of[arrays[a]] = arrays[rooms[a]];
}

const std::vector<Expr>& SharedNest::extents_of(ArrayId array) const {
  const auto box = t_.nest().boxes.find(array);
  return box == t_.nest().boxes.end() ? t_.program()[array].shape : box->second.extents;
}

/// Has the memory of the one array at least as many elements as that of the other, for all sizes?
bool SharedNest::has_room(ArrayId array, ArrayId other) const {
  const auto split = [&](ArrayId of) {
    double known = 1;
    std::multiset<const Node*> unknown;
    for (const Expr extent : extents_of(of)) {
      if (const Literal* literal = as<Literal>(extent))
        known *= static_cast<double>(literal->value.i);
      else
        unknown.insert(extent.get());
    }
    return std::pair(known, unknown);
  };
  const auto [most, sizes] = split(array);
  const auto [needed, others] = split(other);
  return needed <= most && sizes == others;
}

Expr SharedNest::enough_points() {
  Expr total = members_.front().total_points(locals_);
  for (std::size_t i = 1; i < members_.size(); ++i) total = t_.add(total, members_[i].total_points(locals_));
  return t_.compare(Prim::Ge, total, t_.number(std::max<std::int64_t>(grain_, 1)));
}

Code SharedNest::lower() {
  Code code;
  if (shared_.front().cut.kind == Cut::Kind::Parts) {
    part_ = t_.new_index("part");
    const DimId parts = t_.new_index("parts");
    const Expr many = shared_.front().cut.count > 0 ? t_.number(shared_.front().cut.count) : t_.workers();
    code.push_back({Let{parts, t_.pool().select(enough_points(), many, t_.number(1))}});
    parts_ = t_.index(parts);
  }
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (!loops_.is_sliced(i)) members_[i].share(shared_.size(), part_, parts_);
    append(code, members_[i].before());
  }
  const bool twice = std::any_of(members_.begin(), members_.end(),
                                 [](const StageNest& member) { return member.needs_two_passes(); });
  if (twice) {
    append(code, loops(true));
    code.push_back({Stop{}});  // a part that failed has learnt nothing
    for (StageNest& member : members_) append(code, member.between());
  }
  append(code, loops(false));
  for (StageNest& member : members_) append(code, member.after());
  return code;
}

Code SharedNest::loops(bool first_pass) {
  first_pass_ = first_pass;
  Within within;
  for (const ChainLevel& level : shared_) {
    const Dim& dim = dim_of(level);
    const Literal* lo = as<Literal>(dim.lo);
    if (lo && lo->value.i >= 0) within.positive.push_back(dim.hi);
  }
  for (StageNest& member : members_) member.begin(first_pass);
  within.body = from(0);
  for (StageNest& member : members_) member.begin(false);
  first_pass_ = false;
  Code code;
  code.push_back({std::move(within)});
  return code;
}

bool SharedNest::is_on_stack(ArrayId array) const {
  const auto box = t_.nest().boxes.find(array);
  if (box != t_.nest().boxes.end()) {
    if (box->second.ring >= 0) return false;  // others go on with it
    if (!t_.program()[array].type.is_scalar()) return false;  // fields may get boxes of their own
  }
  auto bytes = static_cast<std::int64_t>(byte_size(t_.program()[array].type));
  for (Expr extent : extents_of(array)) {
    const Literal* literal = as<Literal>(extent);
    if (!literal || literal->value.i < 1 || literal->value.i > stack_bytes) return false;
    bytes *= literal->value.i;
    if (bytes > stack_bytes) return false;
  }
  return true;
}

Code SharedNest::from(std::size_t level) {
  Code code;
  std::vector<ArrayId> memory;
  if (level == memory_level_) {
    for (ArrayId array : locals_)
      if (!is_on_stack(array) && t_.nest().memory(array) == array && (!first_pass_ || early_.contains(array)))
        memory.push_back(array);
  }
  for (ArrayId array : memory) code.push_back({Allocate{array}});
  if (level == shared_.size()) {
    append(code, iteration());
  } else {
    const Cut& cut = shared_[level].cut;
    if (level + 1 == shared_.size())
      for (const auto& [member, part] : parts_of_)
        if (part.slides) code.push_back({Local{part.done, t_.number(0)}});
    if (cut.kind == Cut::Kind::Parts) {
      code.push_back({part_loop(level)});
    } else {
      for (std::size_t i = leader_; i < members_.size(); ++i)
        append(code, members_[i].open_all(static_cast<int>(level)));
      code.push_back({cut.count > 1 ? tile_loop(level) : point_loop(level)});
      for (std::size_t i = leader_; i < members_.size(); ++i)
        append(code, members_[i].close_all(static_cast<int>(level)));
    }
  }
  for (ArrayId array : memory) code.push_back({Free{array}});
  return code;
}

/// All parts that some member has to visit in the first pass.
StageNest::Range SharedNest::parts_to_learn() const {
  std::optional<StageNest::Range> range;
  for (const StageNest& member : members_) {
    if (!member.needs_two_passes()) continue;
    const StageNest::Range own = member.parts_to_learn();
    if (range && (range->lo != own.lo || range->hi != own.hi)) return {t_.number(0), parts_};
    range = own;
  }
  return range.value_or(StageNest::Range{t_.number(0), parts_});
}

For SharedNest::part_loop(std::size_t level) {
  const std::string& name = dim_of(shared_[level]).name;
  const StageNest::Range range = members_[leader_].range(shared_[level].dim);
  const StageNest::Range visited = first_pass_ ? parts_to_learn() : StageNest::Range{t_.number(0), parts_};
  For loop{.index = *part_, .lo = visited.lo, .hi = visited.hi, .by = shared_[level].by};
  if (loop.by == By::Core) loop.enough = t_.compare(Prim::Gt, parts_, t_.number(1));
  loop.in_turns = shared_[level].cut.count > 0;
  const DimId begin = t_.new_index(name + "_begin"), end = t_.new_index(name + "_end");
  const Expr part = t_.index(*part_);
  loop.body.push_back({Let{begin, t_.start_of_part(range.lo, range.hi, part, parts_)}});
  loop.body.push_back({Let{end, t_.start_of_part(range.lo, range.hi, t_.add(part, t_.number(1)), parts_)}});
  for (std::size_t i = leader_; i < members_.size(); ++i)
    append(loop.body, members_[i].enter_part(shared_[level].dim, {t_.index(begin), t_.index(end)}));
  append(loop.body, from(level + 1));
  for (std::size_t i = leader_; i < members_.size(); ++i) members_[i].set_range(shared_[level].dim, range);
  return loop;
}

For SharedNest::tile_loop(std::size_t level) {
  const ChainLevel& here = shared_[level];
  const StageNest::Range range = members_[leader_].range(here.dim);
  For loop{.index = origins_[level], .lo = range.lo, .hi = range.hi, .step = here.cut.count, .by = here.by};
  if (loop.by == By::Core && grain_ > 0) loop.enough = enough_points();
  const DimId end = t_.new_index(dim_of(here).name + "_end");
  const Expr first = t_.index(loop.index);
  loop.body.push_back({Let{end, t_.min(t_.add(first, t_.number(here.cut.count)), range.hi)}});
  for (std::size_t i = leader_; i < members_.size(); ++i)
    members_[i].set_range(here.dim, {first, t_.index(end)});
  append(loop.body, from(level + 1));
  for (std::size_t i = leader_; i < members_.size(); ++i) members_[i].set_range(here.dim, range);
  return loop;
}

For SharedNest::point_loop(std::size_t level) {
  const StageNest::Range range = members_[leader_].range(shared_[level].dim);
  For loop{.index = dim_of(shared_[level]).id, .lo = range.lo, .hi = range.hi, .by = shared_[level].by};
  if (loop.by == By::Core && grain_ > 0) loop.enough = enough_points();
  loop.learns = first_pass_;
  loop.down = !loops_.tiles() && std::ranges::any_of(stages_, [&](const Stage& stage) {
    return std::ranges::any_of(stage.outputs, [&](const Output& output) {
      return scans_from_right(output, static_cast<std::size_t>(shared_[level].dim));
    });
  });
  loop.body = from(level + 1);
  return loop;
}

Code SharedNest::iteration() {
  Code code;
  for (ArrayId array : locals_)
    if (is_on_stack(array) && (!first_pass_ || early_.contains(array))) code.push_back({Local{array, {}}});
  for (std::size_t i = 0; i < members_.size(); ++i)
    append(code, loops_.is_sliced(i) ? slice(i) : members_[i].inside());
  return code;
}

/// What the members after this one read of it. Of a ring, only what is new is computed.
Code SharedNest::slice(std::size_t member) {
  const Part& part = parts_of_.at(member);
  const Stage& stage = stages_[member];
  const auto is_early = [&](const Output& output) { return early_.contains(output.array); };
  if (first_pass_ && std::none_of(stage.outputs.begin(), stage.outputs.end(), is_early)) return {};
  Code code, afterwards;
  for (std::size_t d = 0; d < stage.dims.size(); ++d) {
    if (!part.slice[d]) continue;
    const Expr zero = t_.number(0), one = t_.number(1), extent = stage.dims[d].hi;
    const Expr lo = expr_of(t_.pool(), part.slice[d]->lo), hi = expr_of(t_.pool(), part.slice[d]->hi);
    Expr first = t_.max(t_.min(lo, t_.sub(extent, one)), zero);
    if (part.slides == static_cast<int>(d)) first = t_.max(t_.read(part.done), first);
    const DimId end = t_.new_index(stage.name + "_" + stage.dims[d].name + "_end");
    code.push_back({Let{part.origin[d], first}});
    code.push_back({Let{end, t_.min(t_.add(t_.max(hi, zero), one), extent)}});
    members_[member].set_range(static_cast<int>(d), {t_.index(part.origin[d]), t_.index(end)});
    if (part.slides == static_cast<int>(d))
      afterwards.push_back(t_.put(part.done, {}, t_.max(t_.read(part.done), t_.index(end))));
  }
  append(code, members_[member].inside());
  append(code, std::move(afterwards));
  return code;
}

}  // namespace twill::nest
