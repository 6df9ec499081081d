// RAII for isl's objects, and the translation of conditions to them. Only poly/*.cpp may include this.
#pragma once

#include "poly/set.h"

#include <isl/aff.h>
#include <isl/constraint.h>
#include <isl/ctx.h>
#include <isl/ilp.h>
#include <isl/map.h>
#include <isl/options.h>
#include <isl/point.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/val.h>

namespace twill::poly {

template <auto Free>
struct Freed {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};

template <class T, auto Free>
using Owned = std::unique_ptr<T, Freed<Free>>;

using OwnedSet = Owned<isl_set, isl_set_free>;
using OwnedMap = Owned<isl_map, isl_map_free>;
using OwnedAff = Owned<isl_aff, isl_aff_free>;
using OwnedPwAff = Owned<isl_pw_aff, isl_pw_aff_free>;
using OwnedPoint = Owned<isl_point, isl_point_free>;
using OwnedVal = Owned<isl_val, isl_val_free>;
using OwnedSpace = Owned<isl_space, isl_space_free>;

struct Context::State {
  explicit State(unsigned long limit);
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { isl_ctx_free(ctx); }

  /// Every public operation starts its own count of steps.
  void restart() const {
    isl_ctx_reset_error(ctx);
    isl_ctx_reset_operations(ctx);
  }

  isl_ctx* ctx;
};

/// The set over `tuple` of all points that satisfy the condition; null if that took too long.
OwnedSet make_set(const Context::State& state, std::span<const Var> tuple, const Condition& condition);

/// An expression over the tuple (null in, null out); `space` is that of the set.
OwnedAff make_aff(isl_space* space, std::span<const Var> tuple, const Affine& affine);

/// The other way; nothing if a variable is unknown to us or a number is not a small integer.
std::optional<Affine> affine_of_aff(isl_aff* aff, std::span<const Var> tuple);

/// The variable that a parameter's name stands for.
std::optional<Var> var_of_name(const char* name);

std::optional<std::int64_t> integer_of(isl_val* value);

inline Answer answer(isl_bool value) {
  return value == isl_bool_error ? Answer::Unknown : value == isl_bool_true ? Answer::Yes : Answer::No;
}

}  // namespace twill::poly
