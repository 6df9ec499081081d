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

}  // namespace twill
