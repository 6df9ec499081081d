// Integer sets and relations on top of isl.
#include "poly/isl.h"

#include <algorithm>
#include <cstdlib>

namespace twill::poly {

Context::Context(unsigned long operation_limit) : state_(std::make_shared<State>(operation_limit)) {}

// ---- sets ---------------------------------------------------------------------------------------------

struct Set::Handle {
  std::shared_ptr<Context::State> state;
  OwnedSet set;  // null: unknown

  isl_set* copy() const { return isl_set_copy(set.get()); }
  const Context::State& restarted() const {
    state->restart();
    return *state;
  }
  std::shared_ptr<const Handle> with(isl_set* other) const {
    return std::make_shared<const Handle>(state, OwnedSet(other));
  }
};

struct Map::Handle {
  std::shared_ptr<Context::State> state;
  OwnedMap map;  // null: unknown

  isl_map* copy() const { return isl_map_copy(map.get()); }
  const Context::State& restarted() const {
    state->restart();
    return *state;
  }
  std::shared_ptr<const Handle> with(isl_map* other) const {
    return std::make_shared<const Handle>(state, OwnedMap(other));
  }
};

Set::Set(std::vector<Var> tuple, std::shared_ptr<const Handle> handle)
    : tuple_(std::move(tuple)), handle_(std::move(handle)) {}

Set::Set(const Context& context, std::vector<Var> tuple, const Condition& condition)
    : tuple_(std::move(tuple)) {
  context.state()->restart();
  handle_ = std::make_shared<const Handle>(context.state(), make_set(*context.state(), tuple_, condition));
}

bool Set::is_known() const { return handle_->set != nullptr; }

Set Set::intersect(const Set& other) const {
  handle_->restarted();
  return {tuple_, handle_->with(isl_set_intersect(handle_->copy(), other.handle_->copy()))};
}

Set Set::unite(const Set& other) const {
  handle_->restarted();
  return {tuple_, handle_->with(isl_set_union(handle_->copy(), other.handle_->copy()))};
}

Set Set::subtract(const Set& other) const {
  handle_->restarted();
  return {tuple_, handle_->with(isl_set_subtract(handle_->copy(), other.handle_->copy()))};
}

Set Set::project_out(std::span<const Var> variables) const {
  handle_->restarted();
  std::vector<Var> left = tuple_;
  isl_set* set = handle_->copy();
  for (const Var v : variables) {
    const auto at = std::ranges::find(left, v);
    if (at == left.end()) continue;
    set = isl_set_project_out(set, isl_dim_set, static_cast<unsigned>(at - left.begin()), 1);
    left.erase(at);
  }
  return {std::move(left), handle_->with(set)};
}

Set Set::simple_hull() const {
  handle_->restarted();
  return {tuple_, handle_->with(isl_set_from_basic_set(isl_set_simple_hull(handle_->copy())))};
}

Answer Set::is_empty() const {
  handle_->restarted();
  return answer(isl_set_is_empty(handle_->set.get()));
}

Answer Set::is_subset_of(const Set& other) const {
  handle_->restarted();
  return answer(isl_set_is_subset(handle_->set.get(), other.handle_->set.get()));
}

Answer Set::is_equal_to(const Set& other) const {
  handle_->restarted();
  return answer(isl_set_is_equal(handle_->set.get(), other.handle_->set.get()));
}

std::optional<Point> Set::sample() const {
  handle_->restarted();
  if (is_empty() != Answer::No) return std::nullopt;
  // Parameters become coordinates, so that the smallest point has small parameters too.
  std::vector<Var> coordinates;
  const int parameters = isl_set_dim(handle_->set.get(), isl_dim_param);
  for (int k = 0; k < parameters; ++k) {
    const auto var =
        var_of_name(isl_set_get_dim_name(handle_->set.get(), isl_dim_param, static_cast<unsigned>(k)));
    coordinates.push_back(var.value_or(Var{}));
  }
  coordinates.insert(coordinates.end(), tuple_.begin(), tuple_.end());
  OwnedSet flat(isl_set_move_dims(handle_->copy(), isl_dim_set, 0, isl_dim_param, 0,
                                  static_cast<unsigned>(std::max(parameters, 0))));
  OwnedSet least(isl_set_lexmin(isl_set_copy(flat.get())));
  if (!least) handle_->restarted();  // no smallest point, or too hard: any will do
  OwnedPoint point(isl_set_sample_point(least ? least.release() : flat.release()));
  if (!point || isl_point_is_void(point.get()) != isl_bool_false) return std::nullopt;
  Point values;
  for (std::size_t k = 0; k < coordinates.size(); ++k) {
    OwnedVal value(isl_point_get_coordinate_val(point.get(), isl_dim_set, static_cast<int>(k)));
    const auto number = integer_of(value.get());
    if (!number) return std::nullopt;
    values[coordinates[k]] = *number;
  }
  return values;
}

std::optional<std::int64_t> Set::min(const Affine& affine) const {
  const auto negated = max(-affine);
  return negated ? std::optional(-*negated) : std::nullopt;
}

std::optional<std::int64_t> Set::max(const Affine& affine) const {
  const Context::State& state = handle_->restarted();
  // A coordinate for the value: parameters of the expression that the set does not have are free.
  const Var value{Var::Kind::Element, -1};
  std::vector<Var> tuple = tuple_;
  tuple.push_back(value);
  OwnedSet graph = make_set(state, tuple, equal(affine, value));
  OwnedSet wide(isl_set_add_dims(handle_->copy(), isl_dim_set, 1));
  OwnedSet values(isl_set_intersect(wide.release(), graph.release()));
  values.reset(isl_set_project_out(values.release(), isl_dim_set, 0, static_cast<unsigned>(tuple_.size())));
  const int parameters = values ? isl_set_dim(values.get(), isl_dim_param) : 0;
  values.reset(isl_set_project_out(values.release(), isl_dim_param, 0, static_cast<unsigned>(parameters)));
  if (!values || isl_set_is_empty(values.get()) != isl_bool_false) return std::nullopt;
  OwnedSpace space(isl_set_get_space(values.get()));
  const std::vector<Var> only{value};
  OwnedVal largest(isl_set_max_val(values.get(), make_aff(space.get(), only, value).get()));
  return integer_of(largest.get());
}

namespace {

/// The expression of a piecewise one that has a single piece.
std::optional<Affine> single_piece(OwnedPwAff pieces) {
  pieces.reset(isl_pw_aff_coalesce(pieces.release()));
  if (!pieces || isl_pw_aff_n_piece(pieces.get()) != 1) return std::nullopt;
  std::optional<Affine> found;
  const auto take = [](isl_set* set, isl_aff* aff, void* user) {
    OwnedSet where(set);
    OwnedAff what(aff);
    *static_cast<std::optional<Affine>*>(user) = affine_of_aff(what.get(), {});
    return isl_stat_ok;
  };
  isl_pw_aff_foreach_piece(pieces.get(), take, &found);
  return found;
}

std::optional<unsigned> position_of(std::span<const Var> tuple, Var variable) {
  const auto at = std::ranges::find(tuple, variable);
  if (at == tuple.end()) return std::nullopt;
  return static_cast<unsigned>(at - tuple.begin());
}

}  // namespace

std::optional<Affine> Set::lower_bound(Var variable) const {
  handle_->restarted();
  const auto position = position_of(tuple_, variable);
  if (!position) return std::nullopt;
  return single_piece(OwnedPwAff(isl_set_dim_min(handle_->copy(), static_cast<int>(*position))));
}

std::optional<Affine> Set::upper_bound(Var variable) const {
  handle_->restarted();
  const auto position = position_of(tuple_, variable);
  if (!position) return std::nullopt;
  return single_piece(OwnedPwAff(isl_set_dim_max(handle_->copy(), static_cast<int>(*position))));
}

namespace {

std::string take_string(char* text) {
  std::string result = text ? text : "unknown";
  std::free(text);
  return result;
}

}  // namespace

std::string Set::to_string() const {
  handle_->restarted();
  OwnedSet named(handle_->copy());
  for (std::size_t k = 0; k < tuple_.size(); ++k)
    named.reset(isl_set_set_dim_name(named.release(), isl_dim_set, static_cast<unsigned>(k),
                                     default_name(tuple_[k]).c_str()));
  return take_string(isl_set_to_str(named.get()));
}

// ---- relations ----------------------------------------------------------------------------------------

Map::Map(std::vector<Var> from, std::vector<Var> to, std::shared_ptr<const Handle> handle)
    : from_(std::move(from)), to_(std::move(to)), handle_(std::move(handle)) {}

Map::Map(const Context& context, std::vector<Var> from, std::vector<Var> to, const Condition& condition)
    : from_(std::move(from)), to_(std::move(to)) {
  context.state()->restart();
  std::vector<Var> both = from_;
  both.insert(both.end(), to_.begin(), to_.end());
  OwnedSet pairs = make_set(*context.state(), both, condition);
  OwnedMap map(isl_map_from_range(pairs.release()));
  map.reset(
      isl_map_move_dims(map.release(), isl_dim_in, 0, isl_dim_out, 0, static_cast<unsigned>(from_.size())));
  handle_ = std::make_shared<const Handle>(context.state(), std::move(map));
}

Map Map::function(const Context& context, std::vector<Var> from, const Condition& domain,
                  std::span<const Affine> values) {
  std::vector<Var> to;
  Condition graph = domain;
  for (std::size_t k = 0; k < values.size(); ++k) {
    to.push_back({Var::Kind::Element, static_cast<int>(k)});
    graph = std::move(graph) && equal(to.back(), values[k]);
  }
  return Map(context, std::move(from), std::move(to), graph);
}

bool Map::is_known() const { return handle_->map != nullptr; }

Set Map::domain() const {
  handle_->restarted();
  return {from_,
          std::make_shared<const Set::Handle>(handle_->state, OwnedSet(isl_map_domain(handle_->copy())))};
}

Set Map::range() const {
  handle_->restarted();
  return {to_, std::make_shared<const Set::Handle>(handle_->state, OwnedSet(isl_map_range(handle_->copy())))};
}

Set Map::apply(const Set& points) const {
  handle_->restarted();
  return {to_, points.handle_->with(isl_set_apply(points.handle_->copy(), handle_->copy()))};
}

Map Map::inverse() const {
  handle_->restarted();
  return {to_, from_, handle_->with(isl_map_reverse(handle_->copy()))};
}

Map Map::then(const Map& other) const {
  handle_->restarted();
  return {from_, other.to_, handle_->with(isl_map_apply_range(handle_->copy(), other.handle_->copy()))};
}

Map Map::intersect(const Map& other) const {
  handle_->restarted();
  return {from_, to_, handle_->with(isl_map_intersect(handle_->copy(), other.handle_->copy()))};
}

Map Map::unite(const Map& other) const {
  handle_->restarted();
  return {from_, to_, handle_->with(isl_map_union(handle_->copy(), other.handle_->copy()))};
}

Map Map::subtract(const Map& other) const {
  handle_->restarted();
  return {from_, to_, handle_->with(isl_map_subtract(handle_->copy(), other.handle_->copy()))};
}

Map Map::intersect_domain(const Set& points) const {
  handle_->restarted();
  return {from_, to_, handle_->with(isl_map_intersect_domain(handle_->copy(), points.handle_->copy()))};
}

Map Map::intersect_range(const Set& points) const {
  handle_->restarted();
  return {from_, to_, handle_->with(isl_map_intersect_range(handle_->copy(), points.handle_->copy()))};
}

Answer Map::is_empty() const {
  handle_->restarted();
  return answer(isl_map_is_empty(handle_->map.get()));
}

Answer Map::is_subset_of(const Map& other) const {
  handle_->restarted();
  return answer(isl_map_is_subset(handle_->map.get(), other.handle_->map.get()));
}

Answer Map::is_injective() const {
  handle_->restarted();
  return answer(isl_map_is_injective(handle_->map.get()));
}

Answer Map::is_single_valued() const {
  handle_->restarted();
  return answer(isl_map_is_single_valued(handle_->map.get()));
}

std::string Map::to_string() const {
  handle_->restarted();
  OwnedMap named(handle_->copy());
  const auto name = [&](isl_dim_type type, const std::vector<Var>& tuple) {
    for (std::size_t k = 0; k < tuple.size(); ++k)
      named.reset(isl_map_set_dim_name(named.release(), type, static_cast<unsigned>(k),
                                       default_name(tuple[k]).c_str()));
  };
  name(isl_dim_in, from_);
  name(isl_dim_out, to_);
  return take_string(isl_map_to_str(named.get()));
}

}  // namespace twill::poly
