// What a cluster does in two passes: the first one counts, or learns with what each part begins.
#pragma once

#include "fuse/first_pass.h"
#include "plan/plan.h"
#include "program/reason.h"

namespace twill {

/// What the first pass of a cluster does for each output by itself, if the cluster has two.
FirstPass first_pass_of(std::span<const Stage* const> stages, const Cluster& cluster);

/// Does a first pass need a running fold that it has yet to learn?
std::optional<Reason> why_not_learnt(const Program& program, std::span<const Stage* const> stages,
                                     const Cluster& cluster);

}  // namespace twill
