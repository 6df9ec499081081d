#include "emit/shared_nest.h"

#include "fuse/share.h"
#include "program/edit.h"

#include <algorithm>

namespace twill::nest {

namespace {

/// Local arrays up to this size need no memory from the host.
constexpr std::int64_t stack_bytes = 4096;

void append(Code& code, Code more) {
  code.insert(code.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

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
      shared_(pass.loops.chains.front().begin(),
              pass.loops.chains.front().begin() + static_cast<std::ptrdiff_t>(pass.loops.shared)),
      depth_(shared_dims(pass.loops)),
      schedules_(pass.stages) {
  use_one_index(pass);
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
}

/// Shared dimensions have the index that the first stage gives them.
void SharedNest::use_one_index(const Pass& pass) {
  for (const StageSchedule& schedule : pass.stages) {
    Stage stage = *schedule.stage;
    std::map<DimId, DimId> names;
    for (std::size_t d = 0; d < static_cast<std::size_t>(depth_) && !stages_.empty(); ++d) {
      names[stage.dims[d].id] = stages_.front().dims[d].id;
      stage.dims[d].id = stages_.front().dims[d].id;
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
  struct Part {
    ArrayId array;
    std::vector<int> dropped;
  };
  std::map<ArrayId, Part> parts;
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

/// A member that runs through its points twice needs what it reads of the others each time.
void SharedNest::find_early() {
  for (std::size_t i = stages_.size(); i-- > 0;) {
    bool runs = members_[i].needs_two_passes();
    for (const Output& output : stages_[i].outputs) {
      if (!early_.contains(output.array)) continue;
      members_[i].need_early(output.array);
      runs = true;
    }
    if (!runs) continue;
    for (std::size_t k = 0; k < i; ++k)
      for (const Output& output : stages_[k].outputs)
        if (members_[i].reads_early(output.array)) early_.insert(output.array);
  }
}

Expr SharedNest::enough_points() {
  Expr total = members_.front().total_points();
  for (std::size_t i = 1; i < members_.size(); ++i) total = t_.add(total, members_[i].total_points());
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
  for (StageNest& member : members_) {
    member.share(shared_.size(), part_, parts_);
    append(code, member.before());
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
  for (int d = 0; d < depth_; ++d) {
    const Dim& dim = stages_.front().dims[static_cast<std::size_t>(d)];
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
  auto bytes = static_cast<std::int64_t>(byte_size(t_.program()[array].type));
  for (Expr extent : t_.program()[array].shape) {
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
      if (!is_on_stack(array) && (!first_pass_ || early_.contains(array))) memory.push_back(array);
  }
  for (ArrayId array : memory) code.push_back({Allocate{array}});
  if (level == shared_.size()) {
    append(code, iteration());
  } else {
    const bool parts = shared_[level].cut.kind == Cut::Kind::Parts;
    for (StageNest& member : members_)
      if (!parts) append(code, member.open_all(static_cast<int>(level)));
    code.push_back({parts ? part_loop(level) : point_loop(level)});
    for (StageNest& member : members_)
      if (!parts) append(code, member.close_all(static_cast<int>(level)));
  }
  for (ArrayId array : memory) code.push_back({Free{array}});
  return code;
}

For SharedNest::part_loop(std::size_t level) {
  const std::string& name = stages_.front().dims[static_cast<std::size_t>(shared_[level].dim)].name;
  const StageNest::Range range = members_.front().range(shared_[level].dim);
  For loop{.index = *part_, .lo = t_.number(0), .hi = parts_, .by = shared_[level].by};
  if (loop.by == By::Core) loop.enough = t_.compare(Prim::Gt, parts_, t_.number(1));
  const DimId begin = t_.new_index(name + "_begin"), end = t_.new_index(name + "_end");
  const Expr part = t_.index(*part_);
  loop.body.push_back({Let{begin, t_.start_of_part(range.lo, range.hi, part, parts_)}});
  loop.body.push_back({Let{end, t_.start_of_part(range.lo, range.hi, t_.add(part, t_.number(1)), parts_)}});
  for (StageNest& member : members_)
    append(loop.body, member.enter_part(shared_[level].dim, {t_.index(begin), t_.index(end)}));
  append(loop.body, from(level + 1));
  for (StageNest& member : members_) member.set_range(shared_[level].dim, range);
  return loop;
}

For SharedNest::point_loop(std::size_t level) {
  const StageNest::Range range = members_.front().range(shared_[level].dim);
  For loop{.index = stages_.front().dims[static_cast<std::size_t>(shared_[level].dim)].id,
           .lo = range.lo,
           .hi = range.hi,
           .by = shared_[level].by};
  if (loop.by == By::Core && grain_ > 0) loop.enough = enough_points();
  loop.body = from(level + 1);
  return loop;
}

Code SharedNest::iteration() {
  Code code;
  for (ArrayId array : locals_)
    if (is_on_stack(array) && (!first_pass_ || early_.contains(array))) code.push_back({Local{array, {}}});
  for (StageNest& member : members_) append(code, member.inside());
  return code;
}

}  // namespace twill::nest
