// Reading C statements: loops, choices, assignments.
#include "import/c_depend.h"
#include "import/c_read.h"

#include "base/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace twill::c {

struct Reader::States {
  std::map<int, Tree> now;  // scalars that the loop changes
};

Tree Reader::state_of(int array) const {
  if (!states_) return {};
  const auto found = states_->now.find(array);
  return found == states_->now.end() ? Tree() : found->second;
}

void Reader::add(Assign assign, std::vector<Item>& items) {
  for (const Tree& guard : guards_) assign.guard = both(assign.guard, guard);
  items.emplace_back(std::move(assign));
}

void Reader::statement(CXCursor cursor, std::vector<Item>& items) {
  const auto parts = clang_.children(cursor);
  switch (cursor.kind) {
    case CXCursor_CompoundStmt:
      for (const CXCursor child : parts) statement(child, items);
      return;
    case CXCursor_NullStmt: return;
    case CXCursor_ParenExpr: return statement(parts.at(0), items);
    case CXCursor_DeclStmt: return declare(cursor, items);
    case CXCursor_ForStmt: return loop(cursor, items);
    case CXCursor_IfStmt: return branch(cursor, items);
    case CXCursor_WhileStmt: return while_loop(cursor, items, false);
    case CXCursor_DoStmt: return while_loop(cursor, items, true);
    case CXCursor_BinaryOperator: {
      const std::string op = binary_operator(parts);
      if (op == ",") {
        statement(parts[0], items);
        return statement(parts[1], items);
      }
      if (op != "=") break;
      return assign(parts[0], "", parts[1], cursor, items);
    }
    case CXCursor_CompoundAssignOperator: {
      std::string op = binary_operator(parts);
      op.pop_back();
      return assign(parts[0], op, parts[1], cursor, items);
    }
    case CXCursor_UnaryOperator: {
      const std::string text = source(cursor);
      if (text.starts_with("++") || text.ends_with("++")) return step(cursor, "+", parts.at(0), items);
      if (text.starts_with("--") || text.ends_with("--")) return step(cursor, "-", parts.at(0), items);
      break;
    }
    case CXCursor_GotoStmt:
    case CXCursor_IndirectGotoStmt:
      refuse("E0810", cursor, "'goto' leaves the order of the loops", "write a loop or an if");
    case CXCursor_LabelStmt:
      refuse("E0810", cursor, "a label is the target of a 'goto'", "write a loop or an if");
    case CXCursor_BreakStmt:
      refuse("E0810", cursor, "'break' makes the number of steps a matter of data",
             "use a while loop over scalars");
    case CXCursor_ContinueStmt:
      refuse("E0810", cursor, "'continue' leaves the order of the statements", "write an if");
    case CXCursor_ReturnStmt:
      if (!open_calls_.empty())
        refuse("E0810", cursor, "'return' leaves a function that is called",
               "write an if around what follows");
      refuse("E0810", cursor, "'return' leaves the region '#pragma scop'", "write an if around what follows");
    case CXCursor_SwitchStmt: refuse("E0810", cursor, "'switch' is not supported", "write if and else");
    case CXCursor_CallExpr: return inline_statement(cursor, items);
    default: break;
  }
  refuse("E0810", cursor, fmt::format("the statement '{}' is not understood", source(cursor)),
         "statements are loops, if, assignments and declarations");
}

void Reader::assign(CXCursor target, const std::string& op, CXCursor value, CXCursor at,
                    std::vector<Item>& items) {
  const CXCursor name = plain(target);
  if (name.kind == CXCursor_DeclRefExpr)
    if (const Variable* variable = find(name);
        variable && variable->kind == Variable::Kind::Index && variable->value)
      refuse("E0811", at, fmt::format("the loop index '{}' is changed inside of its loop", source(name)),
             "count with another variable");
  const auto to = element(target);
  if (!to)
    refuse("E0806", at, fmt::format("'{}' is no element of an array that is known by name", source(target)),
           "assign to a local variable or to an element of an array: a[i]");
  Assign assign;
  assign.array = to->array;
  assign.at = to->at;
  assign.place = place(at);
  const Scalar type = nest_.array(to->array).type;
  // a = b = e
  const CXCursor inner = plain(value);
  const auto sides = clang_.children(inner);
  const bool chained =
      inner.kind == CXCursor_BinaryOperator && sides.size() == 2 && binary_operator(sides) == "=";
  if (chained) this->assign(sides[0], "", sides[1], inner, items);
  Tree right = expression(chained ? sides[0] : value);
  if (!op.empty()) {
    const Tree state = state_of(to->array);
    const Tree old = state ? state : read_of(nest_, to->array, to->at, place(target));
    right = operate(op, old, right, at);
  }
  assign.value = type == Scalar::Bool ? truth(right) : convert(right, type);
  if (states_) {
    states_->now[to->array] = assign.value;
    return;
  }
  add(std::move(assign), items);
}

void Reader::step(CXCursor cursor, const std::string& op, CXCursor target, std::vector<Item>& items) {
  const CXCursor name = plain(target);
  if (name.kind == CXCursor_DeclRefExpr)
    if (const Variable* variable = find(name);
        variable && variable->kind == Variable::Kind::Index && variable->value)
      refuse("E0811", cursor, fmt::format("the loop index '{}' is changed inside of its loop", source(name)),
             "count with another variable");
  const auto to = element(target);
  if (!to)
    refuse("E0806", cursor,
           fmt::format("'{}' is no element of an array that is known by name", source(target)));
  Assign assign;
  assign.array = to->array;
  assign.at = to->at;
  assign.place = place(cursor);
  const Tree state = state_of(to->array);
  const Tree old = state ? state : read_of(nest_, to->array, to->at, place(target));
  assign.value =
      convert(operate(op, old, integer(1, place(cursor), Scalar::I32), cursor), nest_.array(to->array).type);
  if (states_) {
    states_->now[to->array] = assign.value;
    return;
  }
  add(std::move(assign), items);
}

// ---- choices ------------------------------------------------------------------------------------

void Reader::branch(CXCursor cursor, std::vector<Item>& items) {
  const auto parts = clang_.children(cursor);
  Tree condition = truth(expression(parts.at(0)));
  const auto read = [&](std::vector<Item>& into) {
    guards_.push_back(condition);
    statement(parts.at(1), into);
    guards_.back() = negated(condition);
    if (parts.size() > 2) statement(parts[2], into);
    guards_.pop_back();
  };
  std::vector<Item> inner;
  if (states_) {
    // Both ways see the same state, and the condition decides at the end.
    const auto before = states_->now;
    std::map<int, Tree> sides[2];
    std::vector<Tree> guards;
    std::swap(guards, guards_);
    for (std::size_t side = 0; side < 2; ++side) {
      states_->now = before;
      if (parts.size() > side + 1) statement(parts[side + 1], inner);
      sides[side] = states_->now;
    }
    std::swap(guards, guards_);
    for (auto& [array, value] : states_->now) {
      value = sides[0][array] == sides[1][array] ? sides[0][array]
                                                 : choose(condition, sides[0][array], sides[1][array]);
    }
    return;
  }
  read(inner);
  std::set<int> written;
  written_arrays(inner, written);
  bool changes = false;
  visit(nest_, condition, [&](const Tree& node) {
    changes = changes || (node->kind == Kind::Read && written.contains(node->id));
  });
  if (changes) {
    Array kept;
    kept.name = "condition";
    kept.type = Scalar::Bool;
    kept.place = condition->place;
    Assign assign;
    assign.array = nest_.add_array(std::move(kept));
    assign.value = condition;
    assign.place = place(cursor);
    condition = read_of(nest_, assign.array, {}, condition->place);
    add(std::move(assign), items);
    inner.clear();
    read(inner);
  }
  for (Item& item : inner) items.push_back(std::move(item));
}

void Reader::while_loop(CXCursor cursor, std::vector<Item>& items, bool runs_first) {
  const auto parts = clang_.children(cursor);
  const CXCursor test = runs_first ? parts.at(1) : parts.at(0), body = runs_first ? parts.at(0) : parts.at(1);
  // do { … } while (0): what macros write around their statements.
  if (runs_first && is_number(expression(test), 0)) return statement(body, items);
  if (states_) refuse("E0812", cursor, "a while loop inside of a while loop", "nest loops with a counter");
  if (!runs_first && counted_while(cursor, items)) return;
  if (runs_first) statement(body, items);
  States states;
  auto made = std::make_shared<WhileLoop>();
  std::vector<int> arrays;
  const std::function<void(CXCursor)> find_states = [&](CXCursor at) {
    if (at.kind == CXCursor_DeclRefExpr)
      if (const Variable* variable = find(at); variable && variable->kind == Variable::Kind::Array &&
                                               nest_.array(variable->id).shape.empty() &&
                                               assigned_.contains(clang_.location(clang_.referenced(at))))
        if (!states.now.contains(variable->id)) {
          const int local = nest_.locals++;
          arrays.push_back(variable->id);
          made->locals.push_back(local);
          made->names.push_back(nest_.array(variable->id).name);
          made->first.push_back(read_of(nest_, variable->id, {}, place(at)));
          states.now[variable->id] = make(
              {.kind = Kind::Local, .type = nest_.array(variable->id).type, .place = place(at), .id = local});
        }
    for (const CXCursor child : clang_.children(at)) find_states(child);
  };
  find_states(body);
  const auto before = states.now;
  std::vector<Tree> guards;
  std::swap(guards, guards_);
  states_ = &states;
  made->condition = truth(expression(test));
  std::vector<Item> none;
  const std::size_t known = nest_.arrays.size();
  statement(body, none);
  states_ = nullptr;
  std::swap(guards, guards_);
  if (nest_.arrays.size() != known)
    refuse("E0812", cursor, "a declaration inside of a while loop", "declare it before the loop");
  for (const auto& [array, value] : states.now)
    if (!before.contains(array))
      refuse("E0812", cursor,
             fmt::format("'{}' is written inside of a while loop, which computes scalars only",
                         nest_.array(array).name),
             "compute a scalar in the loop and store it behind it");
  for (const int array : arrays) made->next.push_back(states.now[array]);
  for (const Tree& guard : guards_) made->condition = both(guard, made->condition);
  // States that stay what they are need not be carried.
  std::vector<Assign> stores;
  for (std::size_t k = 0; k < arrays.size(); ++k) {
    if (same(made->next[k], before.at(arrays[k]))) continue;
    Array copy = nest_.array(arrays[k]);
    copy.is_argument = copy.is_value = false;
    const int id = nest_.add_array(copy);
    Assign assign;
    assign.array = id;
    assign.place = place(cursor);
    assign.value = make({.kind = Kind::While,
                         .type = nest_.array(arrays[k]).type,
                         .place = place(cursor),
                         .id = static_cast<int>(k),
                         .loop = made});
    add(assign, items);
    assign.value = read_of(nest_, id, {}, place(cursor));
    assign.array = arrays[k];
    stores.push_back(std::move(assign));
  }
  for (Assign& store : stores) add(std::move(store), items);
}

}  // namespace twill::c
