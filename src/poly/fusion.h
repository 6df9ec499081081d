// Which statements share their outermost loop in the order that isl's scheduler finds for them, under the
// strategies that polyhedral compilers have for it.
#pragma once

#include "poly/set.h"

#include <chrono>
#include <span>

namespace twill::poly {

/// The instances of a statement: one for each point of the tuple that satisfies the condition.
struct Domain {
  std::vector<Var> tuple;
  Condition condition;
};

/// An instance of `to` needs an instance of `from` if the condition holds between their variables, which must
/// differ.
struct Dependence {
  std::size_t from = 0, to = 0;
  Condition condition;
};

enum class Fusion : std::uint8_t {
  Min,    // nothing is fused that does not depend on each other in a circle
  Smart,  // what is fused loses no parallel loop
  Max,    // as much as possible
};

/// How long isl may look for a schedule. Its own count of steps leaves out the pivots of its tableau, which
/// can have numbers of a thousand digits, so it works in a process of its own.
struct SchedulingLimits {
  unsigned long steps = 0;
  std::chrono::seconds patience{5};
};

/// A number for each statement: equal if they share their outermost loop. Nothing if it takes too long.
std::optional<std::vector<int>> fused_groups(std::span<const Domain> statements,
                                             std::span<const Dependence> dependences, Fusion fusion,
                                             SchedulingLimits limits);

}  // namespace twill::poly
