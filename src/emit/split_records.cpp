#include "emit/split_records.h"

#include "emit/uses.h"

#include <algorithm>

namespace twill::nest {

namespace {

/// Applies an action to every array that a statement names other than by reading it.
void for_each_array(const Statement& statement, const std::function<void(ArrayId)>& action) {
  std::visit(
      [&](const auto& s) {
        if constexpr (requires { action(s.array); }) action(s.array);
        if constexpr (requires { action(s.a); }) action(s.a), action(s.b);
        if constexpr (requires { action(s.to); }) action(s.to), action(s.from);
        if constexpr (requires { s.windows; })
          for (const Window& window : s.windows) action(window.array);
        if constexpr (requires { s.reductions; })
          for (const Reduction& reduction : s.reductions) action(reduction.variable);
      },
      statement.kind);
}

class Splitter {
 public:
  explicit Splitter(Tables& tables) : t_(tables) {
    for (const auto& [array, box] : t_.nest().boxes) {
      const Type& type = t_.program()[array].type;
      if (!type.is_scalar() && std::all_of(type.record().fields.begin(), type.record().fields.end(),
                                           [](const Field& field) { return field.type.is_scalar(); }))
        fields_[array];
    }
    for (const auto& [array, memory] : t_.nest().memory_of) {
      fields_.erase(array);
      fields_.erase(memory);
    }
  }

  void run(Code& list) {
    if (!fields_.empty()) leave_out(list);
    std::erase_if(fields_, [&](const auto& one) { return !folded_.contains(one.first); });
    if (fields_.empty()) return;
    for (auto& [array, fields] : fields_) {
      const Array whole = t_.program()[array];
      for (const Field& field : whole.type.record().fields) {
        fields.push_back(t_.new_array(whole.name + "_" + field.name, field.type, whole.shape));
        t_.nest().boxes[fields.back()] = t_.nest().boxes.at(array);
      }
    }
    code(list);
  }

 private:
  /// What is more than read, written, allocated and freed stays as it is; so does what is read where data
  /// say: a record is found there in one go.
  void leave_out(Code& list) {
    for (Statement& statement : list) {
      edit_expressions(statement, [&](Expr& e) { leave_out_gathered(e); });
      const Put* put = std::get_if<Put>(&statement.kind);
      if (put && put->op) folded_.insert(put->array);
      const bool plain = (put && put->checked.empty()) || std::holds_alternative<Allocate>(statement.kind) ||
                         std::holds_alternative<Free>(statement.kind);
      if (!plain) for_each_array(statement, [&](ArrayId array) { fields_.erase(array); });
      for_each_code(statement, [&](Code& inside) { leave_out(inside); });
    }
  }

  void leave_out_gathered(Expr root) {
    visit(root, [&](Expr node) {
      const Read* read = as<Read>(node);
      if (!read || !fields_.contains(read->array)) return;
      const auto subscripts = std::span(node->args).first(read->rules.size());
      if (std::any_of(subscripts.begin(), subscripts.end(), reads_data)) fields_.erase(read->array);
    });
  }

  void code(Code& list) {
    Code result;
    for (Statement& statement : list) {
      edit_expressions(statement, [&](Expr& e) { e = apart(e); });
      for_each_code(statement, [&](Code& inside) { code(inside); });
      if (const auto* given = std::get_if<Allocate>(&statement.kind);
          given && fields_.contains(given->array)) {
        for (const ArrayId field : fields_.at(given->array)) result.push_back({Allocate{field, given->keep}});
      } else if (const auto* freed = std::get_if<Free>(&statement.kind);
                 freed && fields_.contains(freed->array)) {
        for (const ArrayId field : fields_.at(freed->array)) result.push_back({Free{field}});
      } else if (const auto* put = std::get_if<Put>(&statement.kind); put && fields_.contains(put->array)) {
        append(result, puts(*put));
      } else {
        result.push_back(std::move(statement));
      }
    }
    list = std::move(result);
  }

  /// The expression, with records made of their fields where they are read.
  Expr apart(Expr root) {
    return rewrite(t_.pool(), root, [&](Expr node) -> Expr {
      const Read* read = as<Read>(node);
      if (!read || !fields_.contains(read->array)) return {};
      const auto end = node->args.begin() + static_cast<std::ptrdiff_t>(read->rules.size());
      std::vector<Expr> at;
      for (auto arg = node->args.begin(); arg != end; ++arg) at.push_back(apart(*arg));
      const Expr fallback = end == node->args.end() ? Expr{} : apart(*end);
      std::vector<Expr> values;
      for (const ArrayId field : fields_.at(read->array))
        values.push_back(
            t_.pool().read(field, t_.program()[field].type, at, read->rules,
                           fallback ? field_of(fallback, static_cast<int>(values.size())) : Expr{}));
      return t_.pool().make(node->type, std::move(values));
    });
  }

  /// A field of a record, without the record where that can be.
  Expr field_of(Expr record, int field) {
    const auto known = found_.find({record.get(), field});
    if (known != found_.end()) return known->second;
    Expr value;
    if (as<Select>(record)) {
      value = t_.pool().select(record->args[0], field_of(record->args[1], field),
                               field_of(record->args[2], field));
    } else if (const Invoke* call = as<Invoke>(record)) {
      const std::vector<Expr> arguments(record->args.begin(), record->args.end());
      value = field_of(rewrite(t_.pool(), t_.program()[call->function].body,
                               [&](Expr node) {
                                 const ArgRef* argument = as<ArgRef>(node);
                                 return argument ? arguments[static_cast<std::size_t>(argument->position)]
                                                 : Expr{};
                               }),
                       field);
    } else {
      value = t_.pool().field(record, field);
    }
    // So do fields of what its operands are called with.
    value = rewrite(t_.pool(), value, [&](Expr node) {
      const GetField* inner = as<GetField>(node);
      const bool computed = inner && (as<Invoke>(node->args[0]) || as<Select>(node->args[0]));
      return computed ? field_of(node->args[0], inner->field) : Expr{};
    });
    return found_[{record.get(), field}] = value;
  }

  /// All fields are computed before the first one changes.
  Code puts(const Put& put) {
    const std::vector<ArrayId>& fields = fields_.at(put.array);
    const Expr old = apart(t_.read(put.array, put.at));
    const Expr value = put.op ? t_.combine(*put.op, old, put.value) : put.value;
    std::vector<Expr> values;
    for (std::size_t f = 0; f < fields.size(); ++f) values.push_back(field_of(value, static_cast<int>(f)));
    const bool reads_itself = std::any_of(values.begin(), values.end(), [&](Expr e) {
      bool found = false;
      visit(e, [&](Expr node) {
        const Read* read = as<Read>(node);
        found = found || (read && std::find(fields.begin(), fields.end(), read->array) != fields.end());
      });
      return found;
    });
    Code before, code;
    for (std::size_t f = 0; f < fields.size(); ++f) {
      Expr now = values[f];
      if (reads_itself) {
        const Array array = t_.program()[fields[f]];
        const ArrayId next = t_.new_variable(array.name + "_next", array.type);
        before.push_back({Local{next, now}});
        now = t_.read(next);
      }
      code.push_back(t_.put(fields[f], put.at, now));
    }
    append(before, std::move(code));
    return before;
  }

  Tables& t_;
  std::map<ArrayId, std::vector<ArrayId>> fields_;  // of the arrays that are split
  std::set<ArrayId> folded_;                        // those that values are folded into, one after the other
  std::map<std::pair<const Node*, int>, Expr> found_;
};

}  // namespace

void split_records(Tables& tables, Code& code) { Splitter(tables).run(code); }

}  // namespace twill::nest
