// Reading C loops: where they begin and how they count.
#include "base/error.h"
#include "import/c_depend.h"
#include "import/c_read.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace twill::c {

bool Reader::is_variable(CXCursor cursor, unsigned key) const {
  const CXCursor inner = plain(cursor);
  return inner.kind == CXCursor_DeclRefExpr && clang_.location(clang_.referenced(inner)) == key;
}

/// `for (i = first; …` or `for (int i = first; …`; one of several, if there are several.
Reader::LoopHead Reader::loop_start(CXCursor start) {
  LoopHead head;
  const auto sides = clang_.children(start);
  if (start.kind == CXCursor_VarDecl) {
    check_storage(start);
    head.name = clang_.spelling(start);
    if (clang_.span(clang_.initializer(start)).end == 0)
      refuse("E0811", start, fmt::format("'{}' does not say where the loop begins", source(start)),
             "write for (int i = lo; i < hi; i++)");
    const auto type = scalar(clang_.type(start));
    if (!type || !is_integer(*type))
      refuse("E0811", start, fmt::format("the loop index '{}' is no integer", head.name));
    head.key = clang_.location(start);
    head.type = *type;
    head.first = convert(expression(clang_.initializer(start)), head.type);
    return head;
  }
  const CXCursor target = plain(sides.at(0));
  head.key = clang_.location(clang_.referenced(target));
  head.name = clang_.spelling(target);
  const Variable* known = find(target);
  if (!known || known->kind == Variable::Kind::Param ||
      (known->kind == Variable::Kind::Array &&
       (nest_.array(known->id).is_argument || !is_integer(nest_.array(known->id).type))))
    refuse("E0811", start, fmt::format("the loop index '{}' is no local integer variable", head.name));
  if (known->kind == Variable::Kind::Index && known->value)
    refuse("E0811", start, fmt::format("the loop index '{}' is that of a loop around this one", head.name),
           "give each loop an index of its own");
  head.type = scalar(clang_.type(target)).value_or(Scalar::I32);
  head.first = convert(expression(sides.at(1)), head.type);
  return head;
}

/// The variable that a part of `for (…; …; …)` declares or assigns to; 0: none.
unsigned Reader::changed_by(CXCursor part) const {
  if (part.kind == CXCursor_VarDecl) return clang_.location(part);
  const auto sides = clang_.children(part);
  const bool changes =
      part.kind == CXCursor_UnaryOperator || part.kind == CXCursor_CompoundAssignOperator ||
      (part.kind == CXCursor_BinaryOperator && sides.size() == 2 && binary_operator(sides) == "=");
  if (!changes || sides.empty() || plain(sides[0]).kind != CXCursor_DeclRefExpr) return 0;
  return clang_.location(clang_.referenced(plain(sides[0])));
}

/// The operands of `a, b` or `a && b`, however many; the variables of a declaration.
std::vector<CXCursor> Reader::operands(CXCursor cursor, const std::string& op) const {
  const CXCursor whole = plain(cursor);
  const auto parts = clang_.children(whole);
  if (whole.kind == CXCursor_DeclStmt) return parts;
  if (whole.kind != CXCursor_BinaryOperator || parts.size() != 2 || binary_operator(parts) != op)
    return {whole};
  std::vector<CXCursor> all = operands(parts[0], op);
  for (const CXCursor part : operands(parts[1], op)) all.push_back(part);
  return all;
}

/// `…; i++)`, `…; i -= 2)`, `…; i = i + 1)`
std::int64_t Reader::loop_step(CXCursor advance, const LoopHead& head) {
  std::int64_t by = 0;
  const auto sides = clang_.children(advance);
  const std::string text = source(advance);
  const auto amount = [&](CXCursor at, std::int64_t sign) {
    const auto value = affine_of(nest_, expression(at));
    if (value && value->is_constant()) by = sign * value->constant();
  };
  if (advance.kind == CXCursor_UnaryOperator && !sides.empty() && is_variable(sides[0], head.key)) {
    by = text.find("++") != std::string::npos ? 1 : text.find("--") != std::string::npos ? -1 : 0;
  } else if (sides.size() == 2 && is_variable(sides[0], head.key)) {
    const std::string op = binary_operator(sides);
    const CXCursor sum = plain(sides[1]);
    const auto terms = clang_.children(sum);
    if (op == "+=") amount(sides[1], 1);
    if (op == "-=") amount(sides[1], -1);
    if (op == "=" && sum.kind == CXCursor_BinaryOperator && terms.size() == 2) {
      const std::string inner = binary_operator(terms);
      if (inner == "+" && is_variable(terms[0], head.key)) amount(terms[1], 1);
      if (inner == "+" && is_variable(terms[1], head.key)) amount(terms[0], 1);
      if (inner == "-" && is_variable(terms[0], head.key)) amount(terms[1], -1);
    }
  }
  if (by == 0)
    refuse("E0811", advance,
           fmt::format("'{}' does not add a constant to the loop index '{}'", text, head.name),
           "write i++, i-- or i += 2");
  return by;
}

void Reader::open(int loop, const Tree& value, Scalar type) {
  const auto affine = affine_of(nest_, value);
  open_loops_.push_back(loop);
  open_ranges_.push_back(affine ? range_of_type(*affine, type) : poly::Condition());
}

void Reader::close() {
  open_loops_.pop_back();
  open_ranges_.pop_back();
}

void Reader::loop(CXCursor cursor, std::vector<Item>& items) {
  const auto parts = clang_.children(cursor);
  if (states_)
    refuse("E0812", cursor, "a loop inside of a while loop",
           "a while loop computes scalars; let it stand innermost");
  if (parts.size() != 4)
    refuse("E0811", cursor, "a part of this loop is missing", "write for (i = lo; i < hi; i++)");
  const auto starts = operands(parts[0], ","), steps = operands(parts[2], ","),
             tests = operands(parts[1], "&&");
  // Of several variables that change, the one counts that the first test compares.
  const auto counts = [&](CXCursor step) {
    const unsigned key = changed_by(step);
    return key != 0 && std::ranges::any_of(clang_.children(tests[0]),
                                           [&](CXCursor side) { return is_variable(side, key); });
  };
  const auto found = std::ranges::find_if(steps, counts);
  const CXCursor advance = found == steps.end() ? steps[0] : *found;
  const unsigned key = changed_by(advance);
  LoopHead head;
  for (const CXCursor start : starts) {
    if (changed_by(start) == key && key != 0) {
      head = loop_start(start);
      continue;
    }
    const std::size_t before = items.size();
    if (start.kind == CXCursor_VarDecl)
      declare_variable(start, items);
    else if (changed_by(start) != 0)
      statement(start, items);
    std::set<int> written;
    for (std::size_t k = before; k < items.size(); ++k) written_arrays({items[k]}, written);
    if (head.first &&
        std::ranges::any_of(written, [&](int id) { return reads_array(nest_, head.first, id); }))
      refuse("E0811", start, fmt::format("'{}' changes what the loop begins with", source(start)),
             "write it before the loop");
  }
  if (!head.first)
    refuse("E0811", parts[0],
           key == 0 ? fmt::format("'{}' does not count", source(parts[2]))
                    : fmt::format("'{}' does not say where the loop begins", source(parts[0])),
           "write for (i = lo; i < hi; i++)");
  head.by = loop_step(advance, head);
  auto inner = std::make_shared<For>();
  inner->loop = nest_.add_loop({head.name, {}, {}, place(cursor)});
  variables_[head.key] = {Variable::Kind::Index, -1, {}};
  const Tree value = loop_range(tests, head, inner->loop);
  variables_[head.key] = {Variable::Kind::Index, -1, value};
  open(inner->loop, value, head.type);
  statement(parts[3], inner->body);
  bool counted = false;
  for (const CXCursor step : steps) {
    if (counted && mentions(step, key))
      refuse("E0811", step, fmt::format("'{}' uses '{}' after it has changed", source(step), head.name),
             "write it at the end of the loop");
    if (changed_by(step) == key)
      counted = true;
    else
      statement(step, inner->body);
  }
  close();
  variables_[head.key] = {Variable::Kind::Index, -1, {}};
  check_bounds_stay(inner->body, inner->loop, cursor);
  items.emplace_back(std::move(inner));
}

bool Reader::mentions(CXCursor at, unsigned key) const {
  if (is_variable(at, key)) return true;
  const auto parts = clang_.children(at);
  return std::any_of(parts.begin(), parts.end(), [&](CXCursor part) { return mentions(part, key); });
}

/// Does something below assign to the variable?
bool Reader::assigns(CXCursor at, unsigned key) const {
  const auto parts = clang_.children(at);
  const bool assignment =
      at.kind == CXCursor_CompoundAssignOperator ||
      (at.kind == CXCursor_BinaryOperator && parts.size() == 2 && binary_operator(parts) == "=");
  const bool step = at.kind == CXCursor_UnaryOperator && (source(at).find("++") != std::string::npos ||
                                                          source(at).find("--") != std::string::npos);
  if ((assignment || step) && is_variable(parts.at(0), key)) return true;
  return std::any_of(parts.begin(), parts.end(), [&](CXCursor part) { return assigns(part, key); });
}

/// `while (e < bound) { …; e++; }` counts like a for loop if nothing else in it changes e or the bound. Only
/// then it is read.
bool Reader::counted_while(CXCursor cursor, std::vector<Item>& items) {
  const auto parts = clang_.children(cursor);
  const CXCursor test = plain(parts.at(0)), body = parts.at(1);
  const auto ends = clang_.children(test);
  const auto statements = clang_.children(body);
  if (test.kind != CXCursor_BinaryOperator || ends.size() != 2 || body.kind != CXCursor_CompoundStmt ||
      statements.empty() || plain(ends[0]).kind != CXCursor_DeclRefExpr)
    return false;
  const std::string op = binary_operator(ends);
  const CXCursor counter = plain(ends[0]), advance = plain(statements.back());
  const Variable* known = find(counter);
  const unsigned key = clang_.location(clang_.referenced(counter));
  const auto counted = clang_.children(advance);
  if ((op != "<" && op != "<=") || !known || known->kind != Variable::Kind::Array ||
      !nest_.array(known->id).shape.empty() || nest_.array(known->id).is_argument ||
      is_float(nest_.array(known->id).type) || advance.kind != CXCursor_UnaryOperator ||
      counted.size() != 1 || !is_variable(counted[0], key) || source(advance).find("++") == std::string::npos)
    return false;
  const auto rest = std::span(statements).first(statements.size() - 1);
  bool changes = std::any_of(rest.begin(), rest.end(), [&](CXCursor at) { return assigns(at, key); });
  const std::function<void(CXCursor)> look = [&](CXCursor at) {
    changes =
        changes || (at.kind == CXCursor_DeclRefExpr && assigns(body, clang_.location(clang_.referenced(at))));
    for (const CXCursor child : clang_.children(at)) look(child);
  };
  look(ends[1]);
  if (changes) return false;

  const Variable before = *known;
  const int array = known->id;
  LoopHead head{key, clang_.spelling(counter), nest_.array(array).type,
                read_of(nest_, array, {}, place(counter)), 1};
  // Where the line before says what it starts with, the loop starts with that.
  if (const Assign* start = items.empty() ? nullptr : std::get_if<Assign>(&items.back());
      start && start->array == array && !start->guard) {
    bool reads_itself = false;  // e = e + 1
    visit(nest_, start->value, [&](const Tree& node) {
      reads_itself = reads_itself || (node->kind == Kind::Read && node->id == array);
    });
    if (!reads_itself) head.first = start->value;
  }
  auto inner = std::make_shared<For>();
  inner->loop = nest_.add_loop({head.name, {}, {}, place(cursor)});
  const Tree value = loop_range({test}, head, inner->loop);
  variables_[key] = {Variable::Kind::Index, -1, value};
  open(inner->loop, value, head.type);
  for (const CXCursor at : rest) statement(at, inner->body);
  close();
  variables_[key] = before;
  check_bounds_stay(inner->body, inner->loop, cursor);
  const Tree lo = nest_.loop(inner->loop).lo, end = nest_.loop(inner->loop).hi;
  items.emplace_back(std::move(inner));
  Assign last;
  last.array = array;
  last.place = place(cursor);
  last.value = apply("max", {lo, end}, Scalar::I64, last.place);
  add(std::move(last), items);
  return true;
}

void Reader::check_bounds_stay(const std::vector<Item>& body, int loop, CXCursor cursor) {
  std::set<int> written;
  written_arrays(body, written);
  for (const Tree& end : {nest_.loop(loop).lo, nest_.loop(loop).hi})
    visit(nest_, end, [&](const Tree& node) {
      if (node->kind == Kind::Read && written.contains(node->id))
        refuse(
            "E0811", cursor,
            fmt::format("the bound of the loop over '{}' changes inside of the loop: '{}' is written there",
                        nest_.loop(loop).name, nest_.array(node->id).name),
            "use a variable that stays as it is");
    });
}

}  // namespace twill::c
