// Asks isl for a schedule and reads off its tree what is in one band.
#include "poly/fusion.h"

#include "base/error.h"
#include "base/isolate.h"
#include "poly/isl.h"

#include <isl/schedule.h>
#include <isl/schedule_node.h>
#include <isl/union_map.h>
#include <isl/union_set.h>

#include <charconv>
#include <sstream>

namespace twill::poly {

namespace {

using OwnedUnionSet = Owned<isl_union_set, isl_union_set_free>;
using OwnedUnionMap = Owned<isl_union_map, isl_union_map_free>;
using OwnedSchedule = Owned<isl_schedule, isl_schedule_free>;
using OwnedNode = Owned<isl_schedule_node, isl_schedule_node_free>;
using OwnedSetList = Owned<isl_set_list, isl_set_list_free>;

std::string name_of(std::size_t statement) { return "S" + std::to_string(statement); }

OwnedUnionSet instances_of(const Context& context, std::span<const Domain> statements) {
  OwnedUnionSet all(isl_union_set_empty_ctx(context.state()->ctx));
  for (std::size_t s = 0; s < statements.size(); ++s) {
    isl_set* set = make_set(*context.state(), statements[s].tuple, statements[s].condition).release();
    set = isl_set_set_tuple_name(set, name_of(s).c_str());
    all.reset(isl_union_set_union(all.release(), isl_union_set_from_set(set)));
  }
  return all;
}

OwnedUnionMap pairs_of(const Context& context, std::span<const Domain> statements,
                       std::span<const Dependence> dependences) {
  OwnedUnionMap all(isl_union_map_empty_ctx(context.state()->ctx));
  for (const Dependence& dependence : dependences) {
    std::vector<Var> both = statements[dependence.from].tuple;
    const std::size_t first = both.size();
    const std::vector<Var>& to = statements[dependence.to].tuple;
    both.insert(both.end(), to.begin(), to.end());
    const Condition condition =
        dependence.condition && statements[dependence.from].condition && statements[dependence.to].condition;
    isl_map* map = isl_map_from_range(make_set(*context.state(), both, condition).release());
    map = isl_map_move_dims(map, isl_dim_in, 0, isl_dim_out, 0, static_cast<unsigned>(first));
    map = isl_map_set_tuple_name(map, isl_dim_in, name_of(dependence.from).c_str());
    map = isl_map_set_tuple_name(map, isl_dim_out, name_of(dependence.to).c_str());
    all.reset(isl_union_map_union(all.release(), isl_union_map_from_map(map)));
  }
  return all;
}

void choose(isl_ctx* ctx, Fusion fusion) {
  isl_options_set_schedule_serialize_sccs(ctx, fusion == Fusion::Min ? 1 : 0);
  isl_options_set_schedule_maximize_coincidence(ctx, fusion == Fusion::Smart ? 1 : 0);
  isl_options_set_schedule_maximize_band_depth(ctx, fusion == Fusion::Smart ? 1 : 0);
  isl_options_set_schedule_whole_component(ctx, fusion == Fusion::Max ? 1 : 0);
}

/// Numbers the statements below a node: filters of sequences and sets are apart, all else is together. False
/// if the tree cannot be read.
bool number_groups(isl_schedule_node* node, int& next, std::vector<int>& groups) {
  const isl_schedule_node_type type = isl_schedule_node_get_type(node);
  if (type == isl_schedule_node_sequence || type == isl_schedule_node_set) {
    for (int k = 0; k < isl_schedule_node_n_children(node); ++k) {
      const OwnedNode filter(isl_schedule_node_get_child(node, k));
      const OwnedNode below(isl_schedule_node_get_child(filter.get(), 0));
      if (!below || !number_groups(below.get(), next, groups)) return false;
    }
    return true;
  }
  if (type == isl_schedule_node_domain || type == isl_schedule_node_filter) {
    const OwnedNode below(isl_schedule_node_get_child(node, 0));
    return below && number_groups(below.get(), next, groups);
  }
  const OwnedUnionSet together(isl_schedule_node_get_domain(node));
  const OwnedSetList sets(isl_union_set_get_set_list(together.get()));
  if (!sets) return false;
  for (int k = 0; k < isl_set_list_n_set(sets.get()); ++k) {
    const OwnedSet set(isl_set_list_get_set(sets.get(), k));
    const std::string name = isl_set_get_tuple_name(set.get());
    std::size_t statement = 0;
    std::from_chars(name.data() + 1, name.data() + name.size(), statement);
    groups.at(statement) = next;
  }
  ++next;
  return true;
}

/// The groups, in this process.
std::optional<std::vector<int>> groups_of_schedule(const Context& context, std::span<const Domain> statements,
                                                   std::span<const Dependence> dependences, Fusion fusion) {
  context.state()->restart();
  choose(context.state()->ctx, fusion);
  const OwnedUnionMap pairs = pairs_of(context, statements, dependences);
  isl_schedule_constraints* wishes =
      isl_schedule_constraints_on_domain(instances_of(context, statements).release());
  wishes = isl_schedule_constraints_set_validity(wishes, isl_union_map_copy(pairs.get()));
  wishes = isl_schedule_constraints_set_coincidence(wishes, isl_union_map_copy(pairs.get()));
  wishes = isl_schedule_constraints_set_proximity(wishes, isl_union_map_copy(pairs.get()));
  const OwnedSchedule schedule(isl_schedule_constraints_compute_schedule(wishes));
  const OwnedNode root(schedule ? isl_schedule_get_root(schedule.get()) : nullptr);
  // Statements without any instance are in no node: each is alone.
  std::vector<int> groups(statements.size());
  int next = static_cast<int>(statements.size());
  for (std::size_t s = 0; s < groups.size(); ++s) groups[s] = static_cast<int>(s);
  if (!root || !number_groups(root.get(), next, groups)) return std::nullopt;
  return groups;
}

}  // namespace

std::optional<std::vector<int>> fused_groups(std::span<const Domain> statements,
                                             std::span<const Dependence> dependences, Fusion fusion,
                                             SchedulingLimits limits) {
  const auto work = [&] {
    std::string numbers;
    for (const int group : groups_of_schedule(Context(limits.steps), statements, dependences, fusion)
                               .value_or(std::vector<int>{}))
      numbers += std::to_string(group) + " ";
    return numbers;
  };
  const Isolated end = Isolation(work, limits.patience).wait();
  // Who takes too much memory is killed as well.
  const bool killed = end.died && end.died->starts_with("signal 9 ");
  ensure(!end.died || end.late || killed, "isl's scheduler ends or takes too long");
  std::istringstream numbers(end.died ? "" : end.text);
  std::vector<int> groups(statements.size());
  for (int& group : groups) {
    if (!(numbers >> group)) return std::nullopt;
  }
  return groups;
}

}  // namespace twill::poly
