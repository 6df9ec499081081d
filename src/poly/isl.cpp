// Our affine expressions and conditions as objects of isl, and back.
#include "poly/isl.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace twill::poly {

Context::State::State(unsigned long limit) : ctx(isl_ctx_alloc()) {
  isl_options_set_on_error(ctx, ISL_ON_ERROR_CONTINUE);
  isl_ctx_set_max_operations(ctx, limit);
}

namespace {

isl_val* make_val(isl_space* space, std::int64_t value) {
  return isl_val_int_from_si(isl_space_get_ctx(space), value);
}

OwnedAff var_aff(isl_space* space, std::span<const Var> tuple, Var var) {
  isl_local_space* local = isl_local_space_from_space(isl_space_copy(space));
  const auto at = std::ranges::find(tuple, var);
  if (at != tuple.end())
    return OwnedAff(isl_aff_var_on_domain(local, isl_dim_set, static_cast<unsigned>(at - tuple.begin())));
  const int position = isl_space_find_dim_by_name(space, isl_dim_param, default_name(var).c_str());
  return OwnedAff(isl_aff_var_on_domain(local, isl_dim_param, static_cast<unsigned>(position)));
}

OwnedSet condition_set(isl_space* space, std::span<const Var> tuple, const Condition& condition) {
  switch (condition.kind()) {
    case Condition::Kind::NonNegative:
      return OwnedSet(
          isl_set_from_basic_set(isl_aff_ge_basic_set(make_aff(space, tuple, condition.affine()).release(),
                                                      isl_aff_zero_on_domain_space(isl_space_copy(space)))));
    case Condition::Kind::Zero:
      return OwnedSet(isl_set_from_basic_set(
          isl_aff_zero_basic_set(make_aff(space, tuple, condition.affine()).release())));
    case Condition::Kind::All: {
      OwnedSet all(isl_set_universe(isl_space_copy(space)));
      for (const Condition& part : condition.parts())
        all.reset(isl_set_intersect(all.release(), condition_set(space, tuple, part).release()));
      return all;
    }
    case Condition::Kind::Any: {
      OwnedSet any(isl_set_empty(isl_space_copy(space)));
      for (const Condition& part : condition.parts())
        any.reset(isl_set_union(any.release(), condition_set(space, tuple, part).release()));
      return any;
    }
  }
  return nullptr;
}

}  // namespace

OwnedAff make_aff(isl_space* space, std::span<const Var> tuple, const Affine& affine) {
  OwnedAff sum(isl_aff_val_on_domain_space(isl_space_copy(space), make_val(space, affine.constant())));
  for (const Affine::Term& term : affine.terms()) {
    OwnedAff atom;
    if (const Var* var = std::get_if<Var>(&term.atom)) {
      atom = var_aff(space, tuple, *var);
    } else {
      const Affine::Division& division = *std::get<1>(term.atom);
      atom = make_aff(space, tuple, division.numerator);
      atom.reset(isl_aff_floor(isl_aff_scale_down_val(atom.release(), make_val(space, division.divisor))));
    }
    atom.reset(isl_aff_scale_val(atom.release(), make_val(space, term.factor)));
    sum.reset(isl_aff_add(sum.release(), atom.release()));
  }
  return sum;
}

OwnedSet make_set(const Context::State& state, std::span<const Var> tuple, const Condition& condition) {
  std::vector<Var> parameters = condition.variables();
  std::erase_if(parameters, [&](Var v) { return std::ranges::find(tuple, v) != tuple.end(); });
  OwnedSpace space(isl_space_set_alloc(state.ctx, static_cast<unsigned>(parameters.size()),
                                       static_cast<unsigned>(tuple.size())));
  for (std::size_t k = 0; k < parameters.size(); ++k)
    space.reset(isl_space_set_dim_name(space.release(), isl_dim_param, static_cast<unsigned>(k),
                                       default_name(parameters[k]).c_str()));
  return condition_set(space.get(), tuple, condition);
}

std::optional<Var> var_of_name(const char* name) {
  static constexpr char letters[] = "inte";
  const char* kind = name && *name ? std::strchr(letters, *name) : nullptr;
  if (!kind) return std::nullopt;
  int id = 0;
  const char* end = name + std::strlen(name);
  if (std::from_chars(name + 1, end, id).ptr != end) return std::nullopt;
  return Var{static_cast<Var::Kind>(kind - letters), id};
}

std::optional<std::int64_t> integer_of(isl_val* value) {
  if (!value || isl_val_is_int(value) != isl_bool_true) return std::nullopt;
  // Numbers of more than 62 bits do not occur as sizes; they count as not known.
  OwnedVal bound(isl_val_int_from_si(isl_val_get_ctx(value), std::int64_t{1} << 62));
  OwnedVal size(isl_val_abs(isl_val_copy(value)));
  if (isl_val_lt(size.get(), bound.get()) != isl_bool_true) return std::nullopt;
  return isl_val_get_num_si(value);
}

std::optional<Affine> affine_of_aff(isl_aff* aff, std::span<const Var> tuple) {
  if (!aff) return std::nullopt;
  // aff = floor-free sum / denominator; we accept integer results only.
  OwnedVal denominator(isl_aff_get_denominator_val(aff));
  if (integer_of(denominator.get()) != 1) return std::nullopt;
  OwnedVal constant(isl_aff_get_constant_val(aff));
  const auto value = integer_of(constant.get());
  if (!value) return std::nullopt;
  Affine sum(*value);
  // Adds factor * atom(k) for every dimension of a type; atoms with factor 0 are not looked at.
  const auto add = [&](isl_dim_type type, const std::function<std::optional<Affine>(int)>& atom_of) {
    for (int k = 0; k < isl_aff_dim(aff, type); ++k) {
      OwnedVal held(isl_aff_get_coefficient_val(aff, type, k));
      const auto factor = integer_of(held.get());
      if (!factor) return false;
      if (*factor == 0) continue;
      const std::optional<Affine> atom = atom_of(k);
      if (!atom) return false;
      sum = sum + *atom * *factor;
    }
    return true;
  };
  const auto tuple_atom = [&](int k) { return std::optional<Affine>(tuple[static_cast<std::size_t>(k)]); };
  const auto parameter_atom = [&](int k) -> std::optional<Affine> {
    const auto var = var_of_name(isl_aff_get_dim_name(aff, isl_dim_param, static_cast<unsigned>(k)));
    return var ? std::optional<Affine>(*var) : std::nullopt;
  };
  const auto division_atom = [&](int k) -> std::optional<Affine> {
    OwnedAff inner(isl_aff_get_div(aff, k));
    OwnedVal scale(isl_aff_get_denominator_val(inner.get()));
    const auto divisor = integer_of(scale.get());
    if (!divisor) return std::nullopt;
    inner.reset(isl_aff_scale_val(inner.release(), scale.release()));
    const auto numerator = affine_of_aff(inner.get(), tuple);
    return numerator ? std::optional(floor_div(*numerator, *divisor)) : std::nullopt;
  };
  if (!add(isl_dim_in, tuple_atom) || !add(isl_dim_param, parameter_atom) || !add(isl_dim_div, division_atom))
    return std::nullopt;
  return sum;
}

}  // namespace twill::poly
