#include "program/buckets.h"

#include <algorithm>

namespace twill {

bool is_group(const Output& output) { return !output.combine.empty() && is<Group>(output.combine.front()); }

const Operator* bucket_operator(const Output& group) {
  const auto& op = std::get<Group>(group.combine.front()).op;
  return op ? &*op : nullptr;
}

Expr bucket_count(const Program& program, const Output& group) {
  const ArrayId counted = group.keys ? *group.keys : group.offsets ? *group.offsets : group.array;
  const std::vector<Expr>& shape = program[counted].shape;
  if (shape.empty()) return {};
  if (group.keys || !group.offsets) return shape.front();
  Expr count;  // offsets are one more
  visit(shape.front(), [&](Expr node) {
    if (as<SizeRef>(node)) count = node;
  });
  return count;
}

bool have_same_buckets(const Output& a, const Output& b) {
  return is_group(a) && is_group(b) && a.key && a.key == b.key && a.guard == b.guard;
}

bool share_buckets(const Program& program, const Output& a, const Output& b) {
  return have_same_buckets(a, b) && bucket_count(program, a) == bucket_count(program, b);
}

bool share_length(const Program& program, const Output& a, const Output& b) {
  if (is_group(a)) return share_buckets(program, a, b);
  return !a.combine.empty() && a.combine == b.combine && a.guard == b.guard &&
         std::all_of(a.combine.begin(), a.combine.end(), is<Append>) &&
         program[a.array].shape == program[b.array].shape;
}

}  // namespace twill
