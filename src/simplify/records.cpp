// Records that are stored between stages. Who reads one field of every record walks past the others, and
// lanes have to take records apart: the stage stores one array for each field. Records that are gathered stay
// whole, because their fields are needed together, from one place.
#include "simplify/passes.h"

#include "program/affine_of.h"
#include "program/edit.h"
#include "simplify/rewriting.h"

#include <algorithm>

namespace twill {

namespace {

bool has_storage_type(const Type& type) {
  if (type.is_scalar()) return is_storage_only(type.scalar());
  const std::vector<Field>& fields = type.record().fields;
  return std::any_of(fields.begin(), fields.end(),
                     [](const Field& field) { return has_storage_type(field.type); });
}

template <class Kind>
bool all_of(const Output& output) {
  return std::all_of(output.combine.begin(), output.combine.end(), is<Kind>);
}

class Records {
 public:
  Records(Region& region, Notes& notes)
      : region_(region),
        program_(region.program),
        pool_(*region.program.pool),
        notes_(notes),
        names_(program_) {}

  bool run() {
    bool changed = false;
    for (Stage& stage : region_.stages)
      for (std::size_t o = 0; o < stage.outputs.size();) {
        if (!can_split(stage, stage.outputs[o])) {
          ++o;
          continue;
        }
        split(stage, o);  // a field may be a record again
        changed = true;
      }
    return changed;
  }

 private:
  bool can_split(const Stage& stage, const Output& output) {
    const Type& type = program_[output.array].type;
    if (type.is_scalar() || has_storage_type(type) || !std::holds_alternative<Formula>(stage.body))
      return false;
    // Appended fields share their length.
    const bool appended = !output.combine.empty() && !output.offsets && all_of<Append>(output);
    const bool dense = !output.at.empty() && !output.into && all_of<Cat>(output);
    if (!appended && !dense) return false;
    const UseTable uses(region_);
    return !uses.is_held(output.array) && only_walked_over(output.array);
  }

  /// Is every element that is read the one that belongs to a point, in some affine way?
  bool only_walked_over(ArrayId array) {
    bool walked = true;
    for (const Stage& stage : region_.stages) {
      for_each_expr(stage, [&](Expr root) {
        visit(root, [&](Expr node) {
          const Read* read = as<Read>(node);
          if (!read || read->array != array) return;
          const auto subscripts = std::span(node->args).first(read->rules.size());
          walked = walked && std::all_of(subscripts.begin(), subscripts.end(),
                                         [](Expr subscript) { return affine_of(subscript).has_value(); });
        });
      });
    }
    return walked;
  }

  /// A field of a value, looked up where the value is made.
  Expr field_of(Expr value, int field) {
    if (as<Make>(value)) return value->args[static_cast<std::size_t>(field)];
    if (as<Select>(value))
      return pool_.select(value->args[0], field_of(value->args[1], field), field_of(value->args[2], field),
                          value->place);
    return pool_.field(value, field, value->place);
  }

  void split(Stage& stage, std::size_t o) {
    const Output whole = stage.outputs[o];
    const Array records = program_[whole.array];
    const std::vector<Field>& fields = records.type.record().fields;
    std::vector<Output> parts;
    for (std::size_t f = 0; f < fields.size(); ++f) {
      Output part = whole;
      part.array = program_.add_array(names_.like(records.name + "_" + fields[f].name), fields[f].type,
                                      records.shape, records.place);
      part.value = field_of(whole.value, static_cast<int>(f));
      parts.push_back(std::move(part));
    }
    const auto at = stage.outputs.erase(stage.outputs.begin() + static_cast<std::ptrdiff_t>(o));
    stage.outputs.insert(at, parts.begin(), parts.end());
    notes_.done.push_back({"records",
                           {stage.name},
                           "'" + records.name + "' is stored as one array for each field",
                           stage.place});
    read_parts(whole.array, parts);
  }

  /// Every read of a record becomes reads of its fields.
  void read_parts(ArrayId array, const std::vector<Output>& parts) {
    Rewriter rewriter(pool_, [&](Expr node) {
      if (const GetField* get = as<GetField>(node)) {
        const Expr record = node->args.front();
        return as<Make>(record) ? record->args[static_cast<std::size_t>(get->field)] : node;
      }
      const Read* read = as<Read>(node);
      if (!read || read->array != array) return node;
      const auto end = node->args.begin() + static_cast<std::ptrdiff_t>(read->rules.size());
      std::vector<Expr> fields;
      for (std::size_t f = 0; f < parts.size(); ++f) {
        const Expr fallback = end == node->args.end() ? Expr{} : field_of(*end, static_cast<int>(f));
        fields.push_back(pool_.read(parts[f].array, program_[parts[f].array].type, {node->args.begin(), end},
                                    read->rules, fallback, node->place));
      }
      return pool_.make(node->type, std::move(fields), node->place);
    });
    for (Stage& stage : region_.stages) for_each_slot(stage, [&](Expr& slot) { slot = rewriter(slot); });
  }

  Region& region_;
  Program& program_;
  ExprPool& pool_;
  Notes& notes_;
  NewNames names_;
};

}  // namespace

bool split_records(Region& region, Notes& notes) {
  bool changed = false;
  for (; Records(region, notes).run(); changed = true)
    remove_dead(region, notes);  // fields that nobody reads
  return changed;
}

}  // namespace twill
