#include "program/regroup.h"

#include <algorithm>

namespace twill {

bool has_float(const Type& type) {
  if (type.is_scalar()) return is_float(type.scalar());
  return std::any_of(type.record().fields.begin(), type.record().fields.end(),
                     [](const Field& field) { return has_float(field.type); });
}

bool regroups(const Program& program, const Operator& op) {
  return op.associative && !(program.strict && has_float(op.type));
}

bool keeps_order(const Program& program, const Operator& op) {
  return !op.commutative || !regroups(program, op);
}

bool runs_either_way(const Program& program, const Output& output, std::size_t dim) {
  const Combine& combine = output.combine[dim];
  if (is<Cat>(combine)) return !output.offsets;
  if (!is<Fold>(combine) && !is<Scatter>(combine)) return false;
  const Operator* op = operator_of(combine);
  return op && !keeps_order(program, *op);
}

}  // namespace twill
