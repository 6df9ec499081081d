// Reading C loops: where they begin, how they count, and where they end.
#include "base/error.h"
#include "import/c_depend.h"
#include "import/c_read.h"

#include <fmt/format.h>

#include <set>

namespace twill::c {

struct Reader::LoopHead {
  unsigned key = 0;  // of the variable that counts
  std::string name;
  Scalar type = Scalar::I32;
  Tree first;           // its first value
  std::int64_t by = 0;  // what is added in every step
};

bool Reader::is_variable(CXCursor cursor, unsigned key) const {
  const CXCursor inner = plain(cursor);
  return inner.kind == CXCursor_DeclRefExpr && clang_.location(clang_.referenced(inner)) == key;
}

/// `for (i = first; …` or `for (int i = first; …`
Reader::LoopHead Reader::loop_start(CXCursor start) {
  LoopHead head;
  const auto sides = clang_.children(start);
  if (start.kind == CXCursor_DeclStmt) {
    if (sides.size() != 1 || clang_.span(clang_.initializer(sides[0])).end == 0)
      refuse("E0811", start, "this loop declares more than its index", "write for (int i = lo; i < hi; i++)");
    head.key = clang_.location(sides[0]);
    head.name = clang_.spelling(sides[0]);
    const auto type = scalar(clang_.type(sides[0]));
    if (!type || !is_integer(*type))
      refuse("E0811", start, fmt::format("the loop index '{}' is no integer", head.name));
    head.type = *type;
    head.first = convert(expression(clang_.initializer(sides[0])), head.type);
    return head;
  }
  const bool assigns = start.kind == CXCursor_BinaryOperator && sides.size() == 2 &&
                       binary_operator(sides) == "=" && plain(sides[0]).kind == CXCursor_DeclRefExpr;
  if (!assigns)
    refuse("E0811", start, fmt::format("'{}' does not say where the loop begins", source(start)),
           "write for (i = lo; i < hi; i++)");
  const CXCursor target = plain(sides[0]);
  head.key = clang_.location(clang_.referenced(target));
  head.name = clang_.spelling(target);
  const Variable* known = find(target);
  if (!known || known->kind == Variable::Kind::Param ||
      (known->kind == Variable::Kind::Array &&
       (nest_.array(known->id).is_argument || is_float(nest_.array(known->id).type))))
    refuse("E0811", start, fmt::format("the loop index '{}' is no local integer variable", head.name));
  if (known->kind == Variable::Kind::Index && known->value)
    refuse("E0811", start, fmt::format("the loop index '{}' is that of a loop around this one", head.name),
           "give each loop an index of its own");
  head.type = scalar(clang_.type(target)).value_or(Scalar::I32);
  head.first = convert(expression(sides[1]), head.type);
  return head;
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

/// `…; i < bound; …`: the range of the loop's own index, which counts up by one, and what the variable is in
/// terms of it.
Tree Reader::loop_range(CXCursor test, const LoopHead& head, int id) {
  const auto ends = clang_.children(test);
  const bool compares = test.kind == CXCursor_BinaryOperator && ends.size() == 2;
  std::string op = compares ? binary_operator(ends) : "";
  const bool left = compares && is_variable(ends[0], head.key),
             right = compares && is_variable(ends[1], head.key);
  if (!is_comparison(op) || op == "==" || left == right)
    refuse("E0811", test,
           fmt::format("'{}' does not compare the loop index '{}' with a bound", source(test), head.name),
           "write i < hi");
  if (right && op[0] != '!') op[0] = op[0] == '<' ? '>' : '<';
  const Tree written = expression(ends[left ? 1 : 0]);
  if (!is_integer(written->type))
    refuse("E0811", test, fmt::format("the bound of the loop over '{}' is no integer", head.name),
           fmt::format("convert it: (int){}", source(ends[left ? 1 : 0])));
  const bool up = head.by > 0;
  const std::int64_t size = up ? head.by : -head.by;
  if (op == "!=" ? size != 1 : (op[0] == '<') != up)
    refuse("E0811", test, fmt::format("the loop over '{}' counts away from its bound", head.name),
           "count up to an upper bound or down to a lower one, by one with !=");
  if (is_unsigned(written->type) && is_signed(head.type) && op != "!=") {
    const auto first = affine_of(nest_, head.first);
    if (!first || !is_never_negative(*first))
      refuse("E0811", test,
             fmt::format("'{}' compares as unsigned numbers, and '{}' may be less than zero", source(test),
                         head.name),
             fmt::format("compare as numbers with a sign: (int){}", source(ends[left ? 1 : 0])));
  }
  const Place at = nest_.loop(id).place;
  const Tree start = op == "!=" ? widen(head.first)
                     : up       ? lower_end(head.first)
                                : upper_end(head.first),
             bound = op == "!=" ? widen(written)
                     : up       ? upper_end(written)
                                : lower_end(written);
  const auto sum = [&](const Tree& a, const Tree& b) { return apply("+", {a, b}, Scalar::I64, at); };
  const auto difference = [&](const Tree& a, const Tree& b) { return apply("-", {a, b}, Scalar::I64, at); };
  const bool inclusive = op == "<=" || op == ">=";
  Tree lo = start, hi = inclusive ? sum(bound, integer(1, at)) : bound, value = index_of(id, at);
  if (head.by != 1) {
    // Steps are counted: i = first + by * step.
    Tree distance = up ? difference(bound, start) : difference(start, bound);
    if (inclusive) distance = sum(distance, integer(1, at));
    lo = integer(0, at);
    hi = size == 1
             ? distance
             : apply("floor_div", {sum(distance, integer(size - 1, at)), integer(size, at)}, Scalar::I64, at);
    const Tree way = apply("*", {integer(size, at), value}, Scalar::I64, at);
    value = up ? sum(start, way) : difference(start, way);
  }
  bool affine = true, data = is_converted(head.first) || is_converted(written);
  for (const Tree& end : {lo, hi}) {
    affine = affine && affine_of(nest_, end);
    visit(nest_, end, [&](const Tree& node) { data = data || node->kind == Kind::Read; });
  }
  if (!affine && !data)
    refuse("E0808", test,
           fmt::format(
               "the bounds of the loop over '{}' are not affine: no sums of outer indices and parameters "
               "times constants",
               head.name),
           "make such a bound an argument of the function");
  nest_.loop(id).lo = tidy(nest_, lo);
  nest_.loop(id).hi = tidy(nest_, hi);
  return tidy(nest_, value);
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
  LoopHead head = loop_start(plain(parts[0]));
  head.by = loop_step(plain(parts[2]), head);
  auto inner = std::make_shared<For>();
  inner->loop = nest_.add_loop({head.name, {}, {}, place(cursor)});
  const Tree value = loop_range(plain(parts[1]), head, inner->loop);
  variables_[head.key] = {Variable::Kind::Index, -1, value};
  open(inner->loop, value, head.type);
  statement(parts[3], inner->body);
  close();
  variables_[head.key] = {Variable::Kind::Index, -1, {}};
  check_bounds_stay(inner->body, inner->loop, cursor);
  items.emplace_back(std::move(inner));
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
  const Tree value = loop_range(test, head, inner->loop);
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
