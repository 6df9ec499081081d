// In which order and grouping the values of a fold may meet.
#pragma once

#include "program/program.h"

namespace twill {

/// Does the type contain a float?
bool has_float(const Type& type);

/// May values be grouped differently (so that parts can be combined)?
bool regroups(const Program& program, const Operator& op);

/// Must the values that meet in this operator do so in the order of the program?
bool keeps_order(const Program& program, const Operator& op);

/// Does the output come out the same if a dimension runs from the right?
bool runs_either_way(const Program& program, const Output& output, std::size_t dim);

}  // namespace twill
