// Which elements a stage reads again at neighbouring points.
#pragma once

#include "program/program.h"

namespace twill {

/// Does the stage read the same rows of an array at neighbouring points of a dimension? True for u[y-1, x]
/// with u[y+1, x], and for u[y+k, x] if `unrolled` holds for k: a subscript other than the last one moves
/// with the dimension and takes several values at one point of it.
bool reads_neighbours(const Stage& stage, int dim, const std::function<bool(DimId)>& unrolled);

}  // namespace twill
